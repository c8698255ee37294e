//! Power cuts, and what the map's survival costs.

use super::super::Measured;
use super::statistic::Report;

/// What the pages are that recovery reads.
const STEPS: [(&str, &str); 4] = [
    ("headers", "first pages of blocks, which say when these were opened"),
    ("journal", "pages of the map's journal"),
    ("blocks", "pages of blocks that may have been written since"),
    ("map", "translation pages"),
];

pub(super) fn add(report: &mut Report, measured: &Measured) {
    let (counters, config) = (&measured.totals.counters, &measured.drive.plan.config);
    if config.mapping.checkpoint.is_some() {
        report.add("ftl.map.checkpoints", "", "checkpoints of the map (mapping.checkpoint)", counters.checkpoints);
    }
    if config.power.cut_at.is_empty() {
        return;
    }
    report.add("power.cuts", "", "times that the power was cut (power.cut_at)", counters.cuts);
    let about = "requests that were under way then: they did not complete, and are counted nowhere else";
    report.add("power.aborted", "requests", about, counters.requests_aborted);
    let recoveries = measured.drive.recoveries.len().min(counters.cuts as usize);
    let mean = (recoveries > 0).then(|| counters.recovery_ns as f64 / recoveries as f64);
    report.add("power.ready_ns.mean", "ns", "mean time from a cut until the drive took requests again", mean);
    let longest = measured.drive.recoveries.iter().rev().take(recoveries).map(|span| span.0).max();
    report.add("power.ready_ns.max", "ns", "longest time from a cut until the drive took requests again", longest);
    for ((name, what), pages) in STEPS.iter().zip(counters.recovery_reads) {
        report.add(format!("power.reads.{name}"), "flash pages", format!("pages read for recovery: {what}"), pages);
    }
    for (name, unit, about, count) in [
        ("buffer_lost", "logical pages", "pages of the write buffer that were lost", counters.buffer_lost),
        ("interrupted", "logical pages", "pages given to programs that had not ended", counters.pages_cut),
        ("torn", "logical pages", "pages programmed before in the wordlines of these", counters.pages_torn),
        ("half_erased", "blocks", "blocks whose erase was interrupted", counters.blocks_half_erased),
        ("checked", "logical pages", "pages that the host checked after cuts, each after each", counters.pages_checked),
        (
            "lost",
            "logical pages",
            "of these, pages whose newest acknowledged state was lost, as it may be",
            counters.checked_lost,
        ),
        (
            "reported",
            "logical pages",
            "of these, pages that the drive reports as lost when they are read",
            counters.pages_reported,
        ),
    ] {
        report.add(format!("power.{name}"), unit, about, count);
    }
}
