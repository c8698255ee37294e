//! Whether the drive did what its host asked for.

use super::evidence::{Evidence, finding, grouped, percent};
use crate::observe::stats::Finding;
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
        let most = evidence.measured.refusals.most();
        let (why, remedy) = most.map_or((String::new(), RULES), |(status, _)| (reason(evidence, status), remedy(status)));
        let mut numbers = vec![("requests", failed as f64), ("share", share)];
        numbers.extend(most.map(|(_, count)| ("most_often", count as f64)));
        let text = format!(
            "{} of {} requests were refused ({}){why}: they moved no data, and are in no latency",
            grouped(failed),
            grouped(all),
            percent(share),
        );
        finding("refused", text, &numbers, remedy)
    })
}

const RULES: &str = "docs/zones.md says what zones allow and when";

/// Why most of them were refused, behind their number.
fn reason(evidence: &Evidence, status: Status) -> String {
    let zones = &evidence.measured.drive.plan.config.zones;
    let limit = |key: &str, most: Option<u32>| most.map_or(String::new(), |most| format!(", {key} is {most}"));
    let why = match status {
        Status::TooManyOpen => format!("no further zone may be open{}", limit("zones.max_open", zones.max_open)),
        Status::TooManyActive => format!("no further zone may be active{}", limit("zones.max_active", zones.max_active)),
        Status::ZoneInvalidWrite => "a write did not begin where its zone had been written to".into(),
        Status::ZoneBoundary => "a request went over the end of a zone".into(),
        Status::ZoneFull => "the zone was full".into(),
        Status::InvalidOpcode => "the drive has no zones".into(),
        Status::InvalidField => "a field is not allowed, such as the size of an append".into(),
        other => other.name().into(),
    };
    format!(", most often with {} ({why})", status.name())
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
