//! What the host sees.

use units::Bytes;
use workload::{Number, Op, SourceStatistic, TaskKind, ZoneAction};

use super::super::Measured;
use super::super::counters::{BUFFERED, DATA_ERRORS, FAILED_REQUESTS, READ_CACHE};
use super::super::latency::{Latencies, PERCENTILES};
use super::statistic::Report;

pub(super) fn add(report: &mut Report, measured: &Measured) {
    let seconds = measured.totals.usage.elapsed.as_s();
    let kinds = measured.latencies.total();
    let all = Latencies::together(Op::ALL.into_iter().zip(&kinds).filter(|(_, kind)| kind.count() > 0));
    for (op, latencies) in Op::ALL.into_iter().zip(&kinds) {
        if matches!(op, Op::Read | Op::Write) || latencies.count() > 0 {
            let (name, of) = named(op);
            requests(report, &format!("host.{name}"), &of, latencies, seconds);
        }
    }
    requests(report, "host.all", "all requests", &all, seconds);
    for (number, latencies) in measured.latencies.used() {
        requests(
            report,
            &format!("host.queue.{number}"),
            &format!("the requests of queue {number}"),
            &latencies,
            seconds,
        );
    }
    for (kind, of) in [(TaskKind::Whole, "tasks"), (TaskKind::Load, "loads")] {
        if let Some(found) = measured.latencies.tasks(kind) {
            tasks(report, of, found, seconds);
        }
    }
    for SourceStatistic { name, unit, about, value } in &measured.of_source {
        match *value {
            Number::Count(count) => report.add(format!("host.{name}"), unit, *about, count),
            Number::Amount(amount) => report.add(format!("host.{name}"), unit, *about, amount),
        }
    }
    run(report, measured, seconds);
}

/// What a workload waits for as a whole (docs/tier.md).
fn tasks(report: &mut Report, of: &'static str, tasks: &Latencies, seconds: f64) {
    let name = format!("host.{}", of.trim_end_matches('s'));
    let rate = if seconds > 0.0 { tasks.count() as f64 / seconds } else { 0.0 };
    report.add(format!("{name}.count"), of, format!("{of} that ended"), tasks.count());
    report.add(format!("{name}.rate"), "1/s", format!("{of} that ended a second"), rate);
    times(report, &name, of, tasks);
}

/// How requests of a kind are called in names, and in words.
fn named(op: Op) -> (String, String) {
    let plural = match op {
        Op::Flush => "flushes".to_owned(),
        Op::Zone(ZoneAction::Reset) => "resets of zones".to_owned(),
        Op::Zone(ZoneAction::Finish) => "finishes of zones".to_owned(),
        other => format!("{}s", other.name().replace('-', " ")),
    };
    (op.name().replace('-', "_"), plural)
}

/// How the run went.
fn run(report: &mut Report, measured: &Measured, seconds: f64) {
    let counters = &measured.totals.counters;
    if let Some(steady) = measured.steady {
        report.add(
            "host.steady.reached",
            "",
            "whether a steady state was reached: the result is its last five rounds",
            steady.reached,
        );
        report.add(
            "host.steady.rounds",
            "rounds",
            "rounds played until then, or until the workload's end",
            steady.rounds,
        );
        report.add("host.steady.round_s", "s", "mean length of the last five rounds", steady.round.as_s());
        for (name, of, at) in [
            ("host.steady.from_ns", "began: requests that completed later count", steady.window.map(|of| of.0)),
            ("host.steady.to_ns", "ended: requests that completed later do not count", steady.window.map(|of| of.1)),
        ] {
            let about = format!("when the last five rounds {of}, from the start of the workload");
            report.add(name, "ns", about, at.map(|at| at.0));
        }
    }
    let written = measured.drive.written as f64 / measured.drive.plan.capacity().0 as f64;
    let what = "bytes that the host wrote since the start of the device, preconditioning and warm-up included, over its capacity";
    report.add("host.drive_writes", "", what, written);
    report.add("host.elapsed_s", "s", "simulated time from the first counted request to the end", seconds);
    report.add(
        "host.wrapped",
        "requests",
        "requests whose address lay beyond the device and was wrapped around",
        measured.wrapped,
    );
    report.add(
        "host.settled_requests",
        "requests",
        "requests of the load that were run before those that count, until the write buffer held what it holds under it",
        measured.settled,
    );
    report.add(
        "host.warmed_pages",
        "logical pages",
        "pages of the load that were played through the FTL alone before the run, to bring the drive to the state that this load leaves",
        measured.drive.warmed.map_or(0, |warmed| warmed.pages),
    );
    past(report, measured);
    let read = measured.read;
    report.add("host.trace.bad_lines", "lines", "malformed lines of the trace that were left out", read.bad_lines);
    if let Some(missing) = measured.missing {
        let about = "requests asked for (--requests) that the workload no longer had";
        report.add("host.trace.missing_requests", "requests", about, missing);
    }
    report.add("host.trace.other_lines", "lines", "lines of the trace that are no requests", read.other_lines);
    report.counts(FAILED_REQUESTS, counters);
    if measured.drive.plan.config.keeps_damage() {
        report.counts(DATA_ERRORS, counters);
        let (errors, bits) = (counters.host_pages_lost + counters.host_pages_wrong, 8.0 * counters.read_bytes as f64);
        let rate = (bits > 0.0).then(|| errors as f64 / bits);
        let what = "pages of host reads that were lost or wrong, for each bit read (UBER, JESD218)";
        report.add("host.data_errors.uber", "", what, rate);
    }
    report.add("host.trace.reordered", "requests", "requests that stood too late in the trace", read.reordered);
    report.counts(BUFFERED, counters);
    if measured.drive.plan.config.buffer.read_cache > Bytes(0) {
        report.counts(READ_CACHE, counters);
    }
}

/// Which load the drive started from, where it was in the middle of its life.
fn past(report: &mut Report, measured: &Measured) {
    let config = &measured.drive.plan.config;
    if config.plays_past() {
        report.add(
            "host.past_load",
            "",
            "share of a plane's time that programs took under the load before the run, with age.precondition = \"closed-form\" (age.load); 1: as fast \
             as the drive took them",
            config.age.partial_load().unwrap_or(1.0),
        );
        let about =
            "whether that load was assumed, since nothing is known of the workload before the run (a trace, a program)";
        report.add("host.past_assumed", "", about, measured.past_assumed);
    }
}

fn requests(report: &mut Report, name: &str, of: &str, latencies: &Latencies, seconds: f64) {
    let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    report.add(format!("{name}.requests"), "requests", format!("{of} that completed"), latencies.count());
    report.add(format!("{name}.bytes"), "B", format!("bytes of {of}"), latencies.bytes);
    report.add(format!("{name}.iops"), "1/s", format!("{of} completed a second"), rate(latencies.count() as f64));
    report.add(
        format!("{name}.bandwidth_mb_s"),
        "MB/s",
        format!("bytes of {of} a second"),
        rate(latencies.bytes as f64 / 1e6),
    );
    times(report, name, of, latencies);
}

/// The distribution of latencies.
fn times(report: &mut Report, name: &str, of: &str, latencies: &Latencies) {
    let latency = format!("{name}.latency_ns");
    report.add(format!("{latency}.mean"), "ns", format!("mean latency of {of}"), latencies.mean());
    for (label, share) in PERCENTILES {
        let percent = label[1..].replacen('_', ".", 1);
        let description = format!("latency that {percent} % of {of} do not exceed, to three digits");
        report.add(format!("{latency}.{label}"), "ns", description, latencies.quantile(share));
    }
    report.add(format!("{latency}.max"), "ns", format!("largest latency of {of}"), latencies.max());
}
