//! Whether the drive did what its host asked for.

use super::evidence::{Evidence, finding, grouped, percent};
use crate::config::Cut;
use crate::observe::stats::{Finding, Refusals};
use crate::status::Status;

/// The share of the requests that were refused, from which on a throughput is not that of the load that was asked for.
pub const REFUSED: f64 = 0.01;

/// Requests that zones refused, or that a drive without zones does not know. What a read-only drive refuses is another
/// kind.
pub(super) fn refused(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let (failed, all) = (counters.requests_failed, counters.requests_completed.max(counters.requests_failed));
    let share = failed as f64 / all.max(1) as f64;
    (failed > 0 && share >= REFUSED).then(|| {
        let cause = cause(&evidence.measured.latencies.unserved.refusals);
        let (why, remedy) = cause.map_or((String::new(), RULES), |(status, count)| {
            let part = if count == failed { "all".to_owned() } else { grouped(count) };
            (format!(", {part} of them with {}", reason(evidence, status)), remedy(status))
        });
        let mut numbers = vec![("requests", failed as f64), ("share", share)];
        numbers.extend(cause.map(|(_, count)| ("of_this_cause", count as f64)));
        let text = format!(
            "{} of {} requests were refused ({}){why}: they moved no data, and are in no latency",
            grouped(failed),
            grouped(all),
            percent(share),
        );
        finding("refused", text, &numbers, remedy)
    })
}

/// The status of most refusals. Where a zone could not be opened, its host goes on behind what was refused, and those
/// writes are refused as well: the limit is the cause then.
fn cause(refusals: &Refusals) -> Option<(Status, u64)> {
    let most = refusals.most()?;
    let limits = [Status::TooManyOpen, Status::TooManyActive].map(|status| (status, refusals.of(status)));
    let limit = limits.into_iter().find(|(_, count)| *count > 0 && most.0 == Status::ZoneInvalidWrite);
    Some(limit.unwrap_or(most))
}

const RULES: &str = "docs/zones.md says what zones allow and when";

/// A status, and what it means.
fn reason(evidence: &Evidence, status: Status) -> String {
    let zones = &evidence.measured.drive.plan.config.zones;
    let limit = |what: &str, key: &str, most: Option<u32>| {
        let most = most.map_or(String::new(), |most| format!("; {key} is {most}"));
        format!("no further zone may be {what}, and what is written behind a refused write is refused too{most}")
    };
    let why = match status {
        Status::TooManyOpen => limit("open", "zones.max_open", zones.max_open),
        Status::TooManyActive => limit("active", "zones.max_active", zones.max_active),
        Status::ZoneInvalidWrite => "a write did not begin where its zone had been written to".into(),
        Status::ZoneBoundary => "a request went over the end of a zone".into(),
        Status::ZoneFull => "the zone was full".into(),
        Status::InvalidOpcode => "the drive has no zones".into(),
        Status::InvalidField => "a field is not allowed, such as the size of an append".into(),
        other => other.name().into(),
    };
    format!("{} ({why})", status.name())
}

fn remedy(status: Status) -> &'static str {
    match status {
        Status::TooManyOpen | Status::TooManyActive => {
            "write to fewer zones at a time (workload.open_zones), or allow more (zones.max_open, zones.max_active)"
        }
        Status::ZoneInvalidWrite | Status::ZoneBoundary | Status::ZoneFull => {
            "write each zone in order and reset it before it is written again: give a generator the size of the drive's zones \
             (workload.zone_size, workload.zone_capacity), or take a drive without zones (ftl.mapping = \"page\")"
        }
        Status::InvalidOpcode => {
            "take a drive with zones (--device zns), or let the workload trim in place of resets (workload.zone_reset = \"trim\")"
        }
        Status::InvalidField => "write smaller requests (workload.bs), or raise zones.append_limit",
        _ => RULES,
    }
}

/// Power cuts that were asked for and did not come.
pub(super) fn cuts_missing(evidence: &Evidence) -> Option<Finding> {
    let drive = &evidence.measured.drive;
    let asked = &drive.plan.config.power.cut_at;
    let fixed = asked.iter().filter(|cut| matches!(cut, Cut::After(_) | Cut::Operation(_))).count();
    let random = asked.iter().any(|cut| matches!(cut, Cut::Random(_)));
    let wanted = fixed.max(usize::from(random));
    let came = drive.recoveries.len();
    (came < wanted).then(|| {
        let text = format!(
            "the power was cut {came} times, and {wanted} cuts or more were asked for (power.cut_at): the run had ended before, or the drive was \
             still recovering from another one"
        );
        let remedy = "run more requests (--requests), or cut earlier (power.cut_at)";
        finding("cuts-missing", text, &[("cuts", came as f64), ("wanted_cuts", wanted as f64)], remedy)
    })
}

/// Writes whose hint names no handle.
pub(super) fn unknown_handles(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let (unknown, hints) = (counters.invalid_handles, evidence.measured.drive.plan.config.ftl.hints);
    (unknown > 0).then(|| {
        let text = format!(
            "{} of {} writes name a placement handle that the drive does not have (ftl.hints is {hints}): their data lies with that of the \
             handle of the hint modulo {hints}",
            grouped(unknown),
            grouped(counters.write_requests.max(unknown)),
        );
        let remedy = format!("name handles that there are (workload.hint: 0 to {} in each reclaim group), or give the drive more (ftl.hints)", hints.saturating_sub(1));
        finding("unknown-handles", text, &[("requests", unknown as f64)], remedy)
    })
}
