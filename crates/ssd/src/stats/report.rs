//! The statistics of a run, each declared once with name, unit and description; JSON, terminal table, time
//! series and plots take them from here.

use serde_json::{Map, Value, json};

use super::energy::Energy;
use super::latency::{Latencies, PERCENTILES};
use super::{Counters, channel, die, relocation_causes};
use crate::run::Outcome;
use units::Time;

/// One number that a run reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Dotted name, which is also its place in the JSON result.
    pub name: String,
    /// Unit, empty for plain counts.
    pub unit: &'static str,
    /// What it says, in a line.
    pub description: String,
    /// The number; null where there was nothing to measure.
    pub value: Value,
}

/// A list of statistics in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report(pub Vec<Statistic>);

impl Report {
    fn add(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        description: impl Into<String>,
        value: impl Into<Value>,
    ) {
        self.0.push(Statistic { name: name.into(), unit, description: description.into(), value: value.into() });
    }

    /// The statistics as nested JSON objects.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut root = Map::new();
        for statistic in &self.0 {
            let mut parts = statistic.name.split('.').peekable();
            let mut place = &mut root;
            while let Some(part) = parts.next() {
                if parts.peek().is_none() {
                    place.insert(part.to_owned(), statistic.value.clone());
                } else {
                    let entry = place.entry(part).or_insert_with(|| Value::Object(Map::new()));
                    place = entry.as_object_mut().expect("Invariant: no statistic's name is another one's prefix");
                }
            }
        }
        root
    }
}

/// The statistics of a run.
pub fn report(outcome: &Outcome) -> Report {
    let mut report = Report::default();
    host(&mut report, outcome);
    flash(&mut report, outcome);
    usage(&mut report, outcome);
    energy(&mut report, outcome);
    report
}

fn host(report: &mut Report, outcome: &Outcome) {
    let seconds = outcome.usage.elapsed.as_s();
    let [reads, writes, trims, flushes] = outcome.latencies.total();
    let mut all = reads.clone();
    [&writes, &trims, &flushes].into_iter().for_each(|part| all.add(part));
    let always = [("read", "reads", &reads), ("write", "writes", &writes)];
    let used = [("trim", "trims", &trims), ("flush", "flushes", &flushes)].into_iter().filter(|row| row.2.count() > 0);
    for (kind, of, latencies) in always.into_iter().chain(used).chain([("all", "all requests", &all)]) {
        requests(report, &format!("host.{kind}"), of, latencies, seconds);
    }
    for (number, latencies) in outcome.latencies.used() {
        requests(
            report,
            &format!("host.queue.{number}"),
            &format!("the requests of queue {number}"),
            &latencies,
            seconds,
        );
    }
    if let Some(steady) = outcome.steady {
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
    }
    let written = outcome.written as f64 / outcome.device.capacity().0 as f64;
    let what = "bytes that the host wrote since the start of the device, preconditioning and warm-up included, over its capacity";
    report.add("host.drive_writes", "", what, written);
    report.add("host.elapsed_s", "s", "simulated time from the first counted request to the end", seconds);
    report.add(
        "host.wrapped",
        "requests",
        "requests whose address lay beyond the device and was wrapped around",
        outcome.wrapped,
    );
    let read = outcome.read;
    report.add("host.trace.bad_lines", "lines", "malformed lines of the trace that were left out", read.bad_lines);
    if let Some(missing) = outcome.missing {
        let about = "requests asked for (--requests) that the workload no longer had";
        report.add("host.trace.missing_requests", "requests", about, missing);
    }
    report.add("host.trace.other_lines", "lines", "lines of the trace that are no requests", read.other_lines);
    report.add(
        "host.uncorrectable",
        "requests",
        "requests some of whose data could not be corrected",
        outcome.counters.requests_uncorrectable,
    );
    report.add(
        "host.refused",
        "requests",
        "writes, trims and flushes that a read-only drive refused (wear.end_of_life)",
        outcome.counters.requests_refused,
    );
    report.add("host.trace.reordered", "requests", "requests that stood too late in the trace", read.reordered);
    report.add("host.buffer_hits", "pages", "page reads answered by the write buffer", outcome.counters.buffer_hits);
    report.add(
        "host.merged_writes",
        "pages",
        "page writes merged into a page that was still in the buffer",
        outcome.counters.merged_writes,
    );
    report.add(
        "host.unmapped_reads",
        "pages",
        "page reads of addresses that hold nothing",
        outcome.counters.unmapped_reads,
    );
    report.add("host.trimmed", "pages", "pages unmapped by trims", outcome.counters.pages_trimmed);
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
    let latency = format!("{name}.latency_ns");
    report.add(format!("{latency}.mean"), "ns", format!("mean latency of {of}"), latencies.mean());
    for (label, share) in PERCENTILES {
        let percent = label[1..].replacen('_', ".", 1);
        let description = format!("latency that {percent} % of {of} do not exceed, to three digits");
        report.add(format!("{latency}.{label}"), "ns", description, latencies.quantile(share));
    }
    report.add(format!("{latency}.max"), "ns", format!("largest latency of {of}"), latencies.max());
}

fn flash(report: &mut Report, outcome: &Outcome) {
    let counters = &outcome.counters;
    let mean = |sum: u64| (counters.pages_read > 0).then(|| sum as f64 / counters.pages_read as f64);
    report.add("flash.reads", "pages", "pages read from flash", counters.pages_read);
    report.add("flash.programs", "pages", "pages programmed, padding included", counters.pages_programmed);
    report.add("flash.erases", "blocks", "blocks erased", counters.blocks_erased);
    report.add("flash.rmw_reads", "pages", "pages read to complete partly written ones", counters.fill_reads);
    report.add("flash.padding", "pages", "pages programmed empty to fill a wordline", counters.pages_padded);
    report.add("flash.cold_reads", "pages", "pages read whose data is from before the run", counters.cold_reads);
    let days = mean(counters.read_retention_s).map(|seconds| seconds / 86_400.0);
    report.add("flash.read_retention_days", "d", "mean retention age of the pages read, as if kept at 30 C", days);
    report.add("flash.read_pec", "cycles", "mean P/E cycles of the pages read", mean(counters.read_pec));
    report.add(
        "flash.failed_programs",
        "pages",
        "pages whose program failed, programmed again elsewhere",
        counters.pages_failed,
    );
    retries(report, outcome);
    erases(report, counters);
    suspension(report, counters);
    ftl(report, outcome);
    wear(report, outcome);
    map(report, counters);
}

/// Erases that go pulse by pulse.
fn erases(report: &mut Report, counters: &Counters) {
    let count = counters.pulsed_erases;
    let mean = |sum: u64| (count > 0).then(|| sum as f64 / count as f64);
    let time = "mean time of a block's erase without suspensions (erase.pulse)";
    report.add("flash.erase.latency_ns.mean", "ns", time, mean(counters.erase_ns));
    report.add("flash.erase.loops.mean", "loops", "mean loops of a block's erase", mean(counters.erase_loops));
    let left = "blocks whose erase left fail bits to the ECC";
    report.add("flash.erase.incomplete", "blocks", left, counters.erases_incomplete);
    let wrong = "blocks whose last pulse was predicted too short and was followed by another";
    report.add("flash.erase.mispredicted", "blocks", wrong, counters.erases_mispredicted);
    report.add("flash.erase.exhausted", "blocks", "blocks that all loops did not erase", counters.erases_exhausted);
}

/// Programs and erases that let reads go first.
fn suspension(report: &mut Report, counters: &Counters) {
    report.add("flash.suspend.programs", "", "times that programs were suspended", counters.program_suspensions);
    report.add("flash.suspend.erases", "", "times that erases were suspended", counters.erase_suspensions);
    let share =
        (counters.operations > 0).then(|| 100.0 * counters.operations_suspended as f64 / counters.operations as f64);
    report.add("flash.suspend.share", "%", "share of the programs and erases that were suspended", share);
    let nominal = counters.suspended_nominal_ns as f64;
    let added = (nominal > 0.0).then(|| 100.0 * (counters.suspended_ns as f64 / nominal - 1.0));
    report.add("flash.suspend.overhead", "%", "time added to those, reads served included", added);
}

/// Reads whose data was not corrected at once.
fn retries(report: &mut Report, outcome: &Outcome) {
    let counters = &outcome.counters;
    let plan = outcome.device.plan();
    let modelled = plan.modelled && counters.pages_read > 0;
    let mean = modelled.then(|| counters.retry_steps as f64 / counters.pages_read as f64);
    report.add("flash.retry.steps.mean", "steps", "mean retry steps of the pages read", mean);
    for (name, share) in [("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let what = match name {
            "min" => "fewest retry steps of a page read".to_owned(),
            "max" => "most retry steps of a page read".to_owned(),
            _ => format!("retry steps of the pages read: {} percentile", &name[1..]),
        };
        // Where no read can fail, none is counted.
        let steps =
            modelled.then(|| if plan.cells.is_some() { outcome.steps.quantile(share) } else { Some(0) }).flatten();
        report.add(format!("flash.retry.steps.{name}"), "steps", what, steps);
    }
    let share = modelled.then(|| counters.pages_retried as f64 / counters.pages_read as f64);
    report.add("flash.retry.share", "", "share of the pages read that were retried", share);
    report.add("flash.retry.unreadable", "pages", "pages read that no sense could correct", counters.pages_unreadable);
    report.add(
        "flash.retry.t_pre_fallbacks",
        "pages",
        "pages whose retry failed with the RPT's tPRE and was repeated with the default one (AR2)",
        counters.reads_repeated,
    );
    let senses = (counters.senses > 0).then(|| counters.speculative_senses as f64 / counters.senses as f64);
    report.add("flash.retry.speculative", "", "senses begun and not needed, over all that ended (PR2)", senses);
    let times = outcome.usage.elapsed.0 as f64 * outcome.usage.dies.len() as f64;
    let share = (times > 0.0).then(|| 100.0 * counters.speculative_ns as f64 / times);
    report.add("flash.retry.speculative_time", "%", "share of the dies' time spent on such senses", share);
    report.add(
        "flash.retry.uncorrectable_transfers",
        "pages",
        "pages that left a die and could not be corrected, and sentinel cells",
        counters.uncorrectable_transfers,
    );
    let made = counters.predictions;
    report.add("flash.prediction.made", "pages", "pages predicted to be correctable or not", made);
    let what = "of these, pages predicted not to be correctable: read again by the die, or not decoded to the end";
    report.add("flash.prediction.failures", "pages", what, counters.predicted_failures);
    let right = (made > 0).then(|| counters.predictions_right as f64 / made as f64);
    report.add("flash.prediction.accuracy", "", "share of the predictions that were right", right);
    report.add(
        "flash.retry.set_features",
        "",
        "SET FEATURE commands that changed the timing of senses (AR2)",
        counters.set_features,
    );
    report.add(
        "flash.retry.tracked",
        "B",
        "memory for the references that last read similar pages (PSO)",
        outcome.device.tracked_bytes(),
    );
}

/// Energy by what it went into, and all of it for each GB that the host moved.
fn energy(report: &mut Report, outcome: &Outcome) {
    let used = Energy::of(outcome.device.plan(), &outcome.counters, &outcome.usage);
    for (name, what, value) in [
        ("sense", "sensing", used.sense),
        ("transfer", "moving data over the channels", used.transfer),
        ("program", "programming", used.program),
        ("erase", "erasing", used.erase),
        ("decode", "decoding", used.decode),
        ("predict", "predicting whether pages can be corrected", used.predict),
        ("total", "all of these", used.total()),
    ] {
        report.add(format!("energy.{name}"), "mJ", format!("energy of {what}"), value / 1e6);
    }
    let host = outcome.counters.read_bytes + outcome.counters.write_bytes;
    let speculative = outcome.counters.speculative_ns as f64 * outcome.device.plan().config.energy.sense_mw / 1e9;
    report.add("energy.speculative", "mJ", "the part of the sensing that was not needed (PR2)", speculative);
    let reads = outcome.counters.pages_read;
    let per_read =
        (reads > 0).then(|| (used.sense + used.transfer_out + used.decode + used.predict) / reads as f64 / 1e3);
    report.add(
        "energy.per_read",
        "uJ",
        "energy of sensing, prediction, transfer and decoding for each page read",
        per_read,
    );
    let per_gb = (host > 0).then(|| used.total() / host as f64);
    report.add("energy.per_gb", "J/GB", "energy for each GB that the host read or wrote", per_gb);
}

fn ftl(report: &mut Report, outcome: &Outcome) {
    let counters = &outcome.counters;
    let page = outcome.device.plan().layout.page_size.0;
    // Both count a page when it is given to a program.
    let written = counters.bytes_settled;
    let share =
        |pages: u64| (written > 0 && counters.pages_programmed > 0).then(|| (pages * page) as f64 / written as f64);
    report.add(
        "ftl.waf",
        "",
        "write amplification: bytes programmed over the bytes of the host writes that they hold; below 1 where data was written again in the buffer",
        share(counters.pages_programmed),
    );
    let mut part = |name: &str, what: &str, pages: u64| {
        report.add(
            format!("ftl.waf_by.{name}"),
            "",
            format!("the part of the write amplification due to {what}"),
            share(pages),
        );
    };
    part("host", "host data", counters.user_pages_programmed);
    part("padding", "padding of wordlines", counters.pages_padded);
    part("map", "translation pages", counters.map_programs);
    part("failed", "programs that failed", counters.pages_failed);
    for ((name, what), pages) in relocation_causes::CAUSES.iter().zip(counters.pages_relocated) {
        part(name, what, pages);
    }
    let (runs, moved) =
        (counters.blocks_relocated[relocation_causes::COLLECTION], counters.pages_relocated.iter().sum::<u64>());
    report.add("ftl.gc_runs", "blocks", "blocks that garbage collection reclaimed", runs);
    report.add("ftl.pages_relocated", "pages", "pages moved, for whatever reason", moved);
    for ((name, what), (blocks, pages)) in
        relocation_causes::CAUSES.iter().zip(counters.blocks_relocated.into_iter().zip(counters.pages_relocated))
    {
        report.add(
            format!("ftl.relocated_by.{name}.blocks"),
            "blocks",
            format!("blocks whose data was moved: {what}"),
            blocks,
        );
        report.add(format!("ftl.relocated_by.{name}.pages"), "pages", format!("pages moved: {what}"), pages);
    }
    report.add(
        "ftl.gc_background_runs",
        "blocks",
        "of the blocks collected, those that an idle die began",
        counters.background_runs,
    );
    report.add("ftl.copied_back", "pages", "pages moved without crossing a bus", counters.pages_copied_back);
    let victims = &outcome.victims;
    let valid = (victims.pages > 0).then(|| victims.valid as f64 / victims.pages as f64);
    report.add("ftl.victim_valid", "", "mean share of valid pages in the blocks collected", valid);
    report.add(
        "ftl.victim_valid_histogram",
        "blocks",
        "blocks collected by their share of valid pages, in twentieths",
        victims.blocks.to_vec(),
    );
    let (free, fewest) = outcome.device.free_blocks();
    report.add("ftl.free_blocks", "blocks", "free blocks at the end", free);
    report.add("ftl.free_blocks_min", "blocks", "free blocks of the plane that has the fewest, at the end", fewest);
}

fn wear(report: &mut Report, outcome: &Outcome) {
    let mut erases: Vec<u32> = outcome.device.erases().collect();
    erases.sort_unstable();
    let count = erases.len().max(1) as f64;
    let mean = erases.iter().map(|n| f64::from(*n)).sum::<f64>() / count;
    let variance = erases.iter().map(|n| (f64::from(*n) - mean).powi(2)).sum::<f64>() / count;
    let at = |share: f64| erases.get(((erases.len() as f64 * share) as usize).min(erases.len().saturating_sub(1)));
    let pec = f64::from(outcome.device.plan().config.age.pec.0);
    report.add(
        "ftl.wear.pec",
        "cycles",
        "mean P/E cycles of a block at the end, those before the run included",
        pec + mean,
    );
    for (name, what, value) in [
        ("mean", "mean erases of a block", json!(mean)),
        ("deviation", "standard deviation of the blocks' erases", json!(variance.sqrt())),
        ("min", "fewest erases of any block", json!(at(0.0))),
        ("p50", "erases that half of the blocks do not exceed", json!(at(0.5))),
        ("p99", "erases that 99 % of the blocks do not exceed", json!(at(0.99))),
        ("max", "most erases of any block", json!(at(1.0))),
    ] {
        report.add(format!("ftl.wear.erases.{name}"), "cycles", format!("{what}, from the start of the run"), value);
    }
    let lived: Option<Vec<f64>> = outcome.device.effective_pec().map(Iterator::collect);
    let mean = lived.as_ref().map(|of| of.iter().sum::<f64>() / of.len().max(1) as f64);
    let what = "of a block at the end, as P/E cycles of conventional erases that leave as much stress (erase.pulse)";
    report.add("ftl.wear.effective_pec.mean", "cycles", format!("mean wear {what}"), mean);
    let most = lived.as_ref().map(|of| of.iter().copied().fold(0.0, f64::max));
    report.add("ftl.wear.effective_pec.max", "cycles", format!("largest wear {what}"), most);
    let ended = outcome.device.end_of_life().map(|time| time.since(Time::ZERO).as_s());
    let what =
        "when too few good blocks were left, from the start of the device; null where enough are (wear.end_of_life)";
    report.add("ftl.wear.ended_s", "s", what, ended);
    report.add("ftl.wear.retired", "blocks", "blocks that went out of service", outcome.counters.blocks_retired);
}

fn map(report: &mut Report, counters: &Counters) {
    let hits = (counters.map_lookups > 0).then(|| counters.map_hits as f64 / counters.map_lookups as f64);
    report.add(
        "ftl.map.lookups",
        "entries",
        "look-ups of host requests in the cached mapping table",
        counters.map_lookups,
    );
    report.add("ftl.map.hit_ratio", "", "share of the look-ups that found their entry in the cache", hits);
    report.add("ftl.map.reads", "pages", "translation pages read", counters.map_reads);
    report.add("ftl.map.programs", "pages", "translation pages programmed", counters.map_programs);
}

fn usage(report: &mut Report, outcome: &Outcome) {
    let usage = &outcome.usage;
    let elapsed = usage.elapsed.0 as f64;
    let percent = |time: f64| if elapsed > 0.0 { 100.0 * time / elapsed } else { 0.0 };
    let mut each = |name: &str, plural: &str, what: &str, causes: &[(&str, &str)], times: Vec<Vec<u64>>| {
        for (cause, (label, meaning)) in causes.iter().enumerate() {
            let mean = times.iter().map(|t| t[cause] as f64).sum::<f64>() / times.len() as f64;
            report.add(format!("usage.{name}.{label}"), "%", format!("{what}: {meaning}"), percent(mean));
        }
        let rows: Vec<Value> = times
            .iter()
            .map(|times| {
                Value::Object(
                    causes
                        .iter()
                        .zip(times)
                        .map(|((label, _), t)| ((*label).into(), json!(percent(*t as f64))))
                        .collect(),
                )
            })
            .collect();
        report.add(format!("usage.{plural}"), "%", format!("the same for each {name}"), rows);
    };
    let plain = |times: &[units::Span]| times.iter().map(|span| span.0).collect::<Vec<u64>>();
    each(
        "channel",
        "channels",
        "share of a channel's time",
        &channel::CAUSES,
        usage.channels.iter().map(|t| plain(t)).collect(),
    );
    each("die", "dies", "share of a die's time", &die::CAUSES, usage.dies.iter().map(|t| plain(t)).collect());
    let decoders = usage.decoders.iter().map(|t| t.0 as f64).sum::<f64>() / usage.decoders.len().max(1) as f64;
    report.add("usage.ecc", "%", "share of the ECC decoders' time spent decoding", percent(decoders));
    report.add("usage.host", "%", "share of the time with a request in the drive", percent(usage.host.0 as f64));
    report.add(
        "usage.link_in",
        "%",
        "share of the time that the link from the host was busy",
        percent(usage.link_in.0 as f64),
    );
    report.add(
        "usage.link_out",
        "%",
        "share of the time that the link to the host was busy",
        percent(usage.link_out.0 as f64),
    );
    report.add("usage.dram", "%", "share of the time that the DRAM was busy", percent(usage.dram.0 as f64));
}
