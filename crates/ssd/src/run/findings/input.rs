//! Findings that are known before a run begins: of its settings and of the head of its traces.

use std::path::Path;

use workload::{Doubt, Format, ReadOptions, TraceError};

use super::evidence::{finding, grouped};
use crate::observe::stats::Finding;

/// Requests of a trace that are looked at before it is run: a hundredth of a second.
pub const HEAD: u64 = 10_000;
/// So few requests at once are a burst, not a load (as in the head of a trace).
pub const FEW_AT_ONCE: u64 = 100;
/// More requests than any run plays stand for a load without an end.
const ENDLESS: u64 = 1 << 40;

/// Settings without effect, each with the reason.
pub(in crate::run) fn without_effect(idle: &[String]) -> Option<Finding> {
    (!idle.is_empty()).then(|| {
        let text = format!("no effect: {}", idle.join("; "));
        let remedy = "leave them out, or set what they need";
        finding("settings-without-effect", text, &[("settings", idle.len() as f64)], remedy)
    })
}

/// Settings that take back what an ideal scheme sets.
pub(in crate::run) fn scheme_undone(changes: &[String]) -> Option<Finding> {
    (!changes.is_empty()).then(|| {
        let numbers = [("settings", changes.len() as f64)];
        finding("scheme-undone", changes.join("; "), &numbers, "leave the setting out, or the scheme")
    })
}

/// Requests of a generator that all come at time 0.
pub(in crate::run) fn at_once(requests: u64) -> Option<Finding> {
    (requests >= FEW_AT_ONCE).then(|| {
        let text = format!(
            "{} requests come at time 0 (workload.rate_iops is none, and there is no queue depth): it is the host's queue that is measured, and \
             latencies grow with the number of requests",
            if requests < ENDLESS { grouped(requests) } else { "all".to_owned() }
        );
        let remedy = "run them at a queue depth (--qd 32, or workload.iodepth), or give them a rate (workload.rate_iops)";
        finding("trace-at-once", text, &[("requests", requests as f64)], remedy)
    })
}

/// What looks wrong in the head of a trace.
pub(in crate::run) fn of_trace(
    path: &Path,
    format: Option<Format>,
    reading: ReadOptions,
) -> Result<Vec<Finding>, TraceError> {
    let head = workload::inspect_head(path, format, reading, HEAD)?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let of = |id, wanted: fn(&Doubt) -> bool, remedy: &str| {
        let doubts: Vec<&str> = head.doubts.iter().filter(|doubt| wanted(doubt)).map(Doubt::text).collect();
        (!doubts.is_empty()).then(|| {
            finding(id, format!("{name}: {}", doubts.join("; ")), &[("requests_seen", head.requests as f64)], remedy)
        })
    };
    let units = "compare `ssdlab trace info` with what the trace's source says of its columns; --format gives units and columns";
    let times = "give the column of times (--format csv:time=us,…), or run it at a queue depth (--replay closed:32)";
    let order = "sort the trace by its times, or cut it where the clock was set";
    let found = [
        of("trace-units", |doubt| matches!(doubt, Doubt::Units(_)), units),
        of("trace-at-once", |doubt| matches!(doubt, Doubt::AtOnce(_)), times),
        of("trace-clock", |doubt| matches!(doubt, Doubt::Clock(_)), order),
    ];
    Ok(found.into_iter().flatten().collect())
}
