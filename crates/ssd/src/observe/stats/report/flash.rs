//! What the flash has done.

use super::super::counters::{
    FAILED_PROGRAMS, FAILED_RETRIES, FLASH, FLASH_READS, HASTE, LEARNED, MISCORRECTIONS, PREDICTIONS, PULSED_ERASES,
    RETRY_COMMANDS, SUSPENSIONS,
};
use super::super::{Counters, Measured};
use super::statistic::Report;

pub(super) fn add(report: &mut Report, measured: &Measured) {
    let counters = &measured.totals.counters;
    let mean = |sum: u64| (counters.pages_read > 0).then(|| sum as f64 / counters.pages_read as f64);
    report.counts(FLASH_READS, counters);
    // A program fills whole flash pages, with padding where it must.
    let programs = counters.pages_programmed / u64::from(measured.drive.plan.layout.shared());
    report.add("flash.programs", "flash pages", "flash pages programmed, padding included", programs);
    report.counts(FLASH, counters);
    let days = mean(counters.read_retention_s).map(|seconds| seconds / 86_400.0);
    report.add("flash.read_retention_days", "d", "mean retention age of the pages read, as if kept at 30 C", days);
    report.add("flash.read_pec", "cycles", "mean P/E cycles of the pages read", mean(counters.read_pec));
    report.counts(FAILED_PROGRAMS, counters);
    retries(report, measured);
    erases(report, counters);
    suspension(report, counters);
}

/// Erases that go pulse by pulse.
fn erases(report: &mut Report, counters: &Counters) {
    let count = counters.pulsed_erases;
    let mean = |sum: u64| (count > 0).then(|| sum as f64 / count as f64);
    let time = "mean time of a block's erase without suspensions (erase.pulse)";
    report.add("flash.erase.latency_ns.mean", "ns", time, mean(counters.erase_ns));
    report.add("flash.erase.loops.mean", "loops", "mean loops of a block's erase", mean(counters.erase_loops));
    report.counts(PULSED_ERASES, counters);
}

/// Programs and erases that let reads go first.
fn suspension(report: &mut Report, counters: &Counters) {
    report.counts(SUSPENSIONS, counters);
    let share =
        (counters.operations > 0).then(|| 100.0 * counters.operations_suspended as f64 / counters.operations as f64);
    report.add("flash.suspend.share", "%", "share of the programs and erases that were suspended", share);
    let nominal = counters.suspended_nominal_ns as f64;
    let added = (nominal > 0.0).then(|| 100.0 * (counters.suspended_ns as f64 / nominal - 1.0));
    report.add("flash.suspend.overhead", "%", "time added to those, reads served included", added);
}

/// Reads whose data was not corrected at once.
fn retries(report: &mut Report, measured: &Measured) {
    let counters = &measured.totals.counters;
    let plan = &measured.drive.plan;
    let modelled = plan.modelled && counters.pages_read > 0;
    let mean = modelled.then(|| counters.retry_steps as f64 / counters.pages_read as f64);
    report.add("flash.retry.steps.mean", "steps", "mean retry steps of the pages read", mean);
    for (name, share) in [("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let what = match name {
            "min" => "fewest retry steps of a page read".to_owned(),
            "max" => "most retry steps of a page read".to_owned(),
            _ => format!("retry steps of the pages read: {} percentile", &name[1..]),
        };
        let steps = modelled.then(|| measured.totals.steps.quantile(share)).flatten();
        report.add(format!("flash.retry.steps.{name}"), "steps", what, steps);
    }
    let share = modelled.then(|| counters.pages_retried as f64 / counters.pages_read as f64);
    report.add("flash.retry.share", "", "share of the pages read that were retried", share);
    report.counts(FAILED_RETRIES, counters);
    if plan.config.ecc.miscorrection.0 > 0.0 {
        report.counts(MISCORRECTIONS, counters);
    }
    if plan.config.read.sensing.hastens() {
        report.counts(HASTE, counters);
    }
    if let Some(trees) = &plan.trees {
        report.counts(LEARNED, counters);
        let what = "memory for the decision trees, 5 B a node";
        report.add("flash.learned.memory", "B", what, trees.bytes());
    }
    let senses = (counters.senses > 0).then(|| counters.speculative_senses as f64 / counters.senses as f64);
    report.add("flash.retry.speculative", "", "senses begun and not needed, over all that ended (PR2)", senses);
    let usage = &measured.totals.usage;
    let times = usage.elapsed.0 as f64 * usage.dies.len() as f64;
    let share = (times > 0.0).then(|| 100.0 * counters.speculative_ns as f64 / times);
    report.add("flash.retry.speculative_time", "%", "share of the dies' time spent on such senses", share);
    report.counts(PREDICTIONS, counters);
    let made = counters.predictions;
    let right = (made > 0).then(|| counters.predictions_right as f64 / made as f64);
    report.add("flash.prediction.accuracy", "", "share of the predictions that were right", right);
    report.counts(RETRY_COMMANDS, counters);
    report.add(
        "flash.retry.tracked",
        "B",
        "memory for the references that last read similar pages (read.start)",
        measured.drive.tracked_bytes,
    );
}
