//! Where the resources' time went, and energy.

use serde_json::{Value, json};
use workload::Op;

use super::super::energy::Energy;
use super::super::latency::Latencies;
use super::super::throttling::Throttling;
use super::super::{Measured, Totals, Usage, channel, die};
use super::statistic::Report;

pub(super) fn add(report: &mut Report, measured: &Measured) {
    let Totals { usage, throttling, .. } = &measured.totals;
    time(report, usage, measured.drive.plan.config.host.t_firmware > units::Span::ZERO);
    energy(report, measured);
    if let Some(throttling) = throttling {
        limits(report, throttling, usage.elapsed);
    }
}

/// What limits of power and temperature have come to.
fn limits(report: &mut Report, throttling: &Throttling, elapsed: units::Span) {
    let elapsed = elapsed.0 as f64;
    let percent = |time: units::Span| if elapsed > 0.0 { 100.0 * time.0 as f64 / elapsed } else { 0.0 };
    let what = "share of the time in which nothing could begin, since too much had been used (energy.power_states)";
    report.add("energy.held", "%", what, percent(throttling.held));
    let Some((celsius, highest)) = throttling.celsius else { return };
    report.add("thermal.temperature", "C", "temperature of the drive at the end", celsius);
    report.add("thermal.highest", "C", "its highest temperature since the start of the device", highest);
    report.add("thermal.light", "%", "share of the time under light throttling", percent(throttling.light));
    report.add("thermal.heavy", "%", "share of the time under heavy throttling", percent(throttling.heavy));
}

/// Where the resources' time went.
fn time(report: &mut Report, usage: &Usage, firmware: bool) {
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
    if firmware {
        let about = "share of the cores' time spent processing commands (host.t_firmware)";
        report.add("usage.firmware", "%", about, percent(usage.firmware.0 as f64));
    }
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

/// Energy by what it went into, and all of it for each GB that the host moved.
fn energy(report: &mut Report, measured: &Measured) {
    let Totals { counters, usage, energy, .. } = &measured.totals;
    let plan = &measured.drive.plan;
    let used = energy.unwrap_or_else(|| Energy::of(plan, counters, usage));
    for (name, what, value) in [
        ("sense", "sensing", used.sense),
        ("transfer", "moving data over the channels", used.transfer),
        ("program", "programming", used.program),
        ("erase", "erasing", used.erase),
        ("decode", "decoding", used.decode),
        ("predict", "predicting whether pages can be corrected", used.predict),
        ("idle", "the rest of the drive (energy.idle_mw)", used.idle),
        ("total", "all of these", used.total()),
    ] {
        if name == "idle" && plan.config.energy.idle_mw == 0.0 {
            continue;
        }
        report.add(format!("energy.{name}"), "mJ", format!("energy of {what}"), value / 1e6);
    }
    if plan.config.energy.limits_mw().is_some() || plan.config.thermal.resistance.is_some() {
        let watts = (usage.elapsed > units::Span::ZERO).then(|| used.total() / usage.elapsed.0 as f64);
        report.add("energy.mean_power", "W", "mean power of all of these", watts);
    }
    // Several drives are asked for other data than their host.
    let of_host = || Latencies::together(Op::ALL.into_iter().zip(&measured.latencies.total())).bytes;
    let host = if energy.is_some() { of_host() } else { counters.read_bytes + counters.write_bytes };
    let speculative = counters.speculative_ns as f64 * plan.config.energy.sense_mw / 1e9;
    report.add("energy.speculative", "mJ", "the part of the sensing that was not needed (PR2)", speculative);
    let reads = counters.pages_read;
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
