//! What the flash translation layer has done.

use serde_json::json;
use units::Time;

use super::super::counters::{
    BROKEN_PARTS, FDP, MAP_LEARNED, MAP_LOOKUPS, MAP_PAGES, MERGES, PARITY, RELOCATION, SLC_CACHE, WEAR, ZONES,
};
use super::super::{Counters, Measured, relocation_causes};
use super::statistic::Report;
use crate::config::{MappedBy, Plan, Raid};
use crate::streams::StreamId;
use crate::zones::ZoneState;

pub(super) fn add(report: &mut Report, measured: &Measured) {
    let counters = &measured.totals.counters;
    amplification(report, counters, &measured.drive.plan);
    report.add(
        "ftl.waf_before",
        "",
        "write amplification, in the long run, of the load that the drive has been through before: as its planes (age.precondition = closed-form) or its FTL were played, without padding; null without",
        measured.drive.waf_before,
    );
    relocation(report, measured);
    wear(report, measured);
    if measured.drive.plan.config.ftl.raid != Raid::None {
        report.counts(PARITY, counters);
    }
    if measured.drive.plan.config.faults.break_parts() {
        report.counts(BROKEN_PARTS, counters);
    }
    slc(report, measured);
    zones(report, measured);
    if measured.drive.plan.config.ftl.hints > 0 {
        report.counts(FDP, counters);
        handles(report, &measured.drive.plan, counters);
    }
    if measured.drive.plan.config.ftl.mapping == MappedBy::Fast {
        report.counts(MERGES, counters);
    }
    map(report, counters);
    learned(report, measured);
}

/// What became of the data of each placement handle.
fn handles(report: &mut Report, plan: &Plan, counters: &Counters) {
    let page = plan.layout.page_size.0;
    let of = |number: u16| {
        let at = usize::from(number);
        let (written, relocated) = (counters.handle_written[at] * page, counters.handle_relocated[at] * page);
        json!({
            "hint": plan.groups.identifier(number),
            "written": written,
            "relocated": relocated,
            "waf": (written > 0).then(|| (written + relocated) as f64 / written as f64),
            "filled": counters.handle_filled[at],
            "left": counters.handle_left[at],
        })
    };
    let rows: Vec<_> = (0..plan.groups.streams()).map(of).collect();
    let about = "of each placement handle, by the hint that names it: bytes programmed of what the host wrote, bytes of that data relocated, the write \
                 amplification of both, reclaim units that were written to their end, and that the host has left before";
    report.add("fdp.handles", "", about, rows);
}

/// What was done to zones, and in which states they are at the end.
fn zones(report: &mut Report, measured: &Measured) {
    let Some(states) = measured.drive.zones else { return };
    report.counts(ZONES, &measured.totals.counters);
    for (state, count) in ZoneState::ALL.into_iter().zip(states) {
        let (name, what) = (state.name().replace('-', "_"), state.name().replace('-', " "));
        report.add(format!("zones.states.{name}"), "zones", format!("{what} zones at the end"), count);
    }
}

/// The causes of relocation that a drive may have.
fn causes(plan: &Plan) -> impl Iterator<Item = (usize, &'static (&'static str, &'static str))> {
    let (slc, converts) = (plan.slc.is_some(), plan.streams.has(StreamId::CONVERTED));
    let zoned = plan.zones.is_some();
    relocation_causes::CAUSES.iter().enumerate().filter(move |(cause, _)| match *cause {
        relocation_causes::FOLD => slc,
        relocation_causes::CONVERSION => converts,
        relocation_causes::RESET => zoned,
        _ => true,
    })
}

/// Write amplification, and its parts.
fn amplification(report: &mut Report, counters: &Counters, plan: &Plan) {
    let config = &plan.config;
    // Both count a page when it is given to a program.
    let (written, page) = (counters.bytes_settled, plan.layout.page_size.0);
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
    part("padding", "padding of flash pages and wordlines", counters.pages_padded);
    part("map", "translation pages", counters.map_programs);
    if config.mapping.checkpoint.is_some() {
        part("checkpoint", "translation pages of checkpoints (mapping.checkpoint)", counters.checkpoint_programs);
        part(
            "journal",
            "the map's journal (mapping.journal), with the lists of checkpoints",
            counters.journal_programs,
        );
    }
    if !config.power.cut_at.is_empty() {
        part("cut", "programs that power cuts interrupted", counters.pages_cut);
    }
    part("failed", "programs that failed", counters.pages_failed);
    for (cause, (name, what)) in causes(plan) {
        part(name, what, counters.pages_relocated[cause]);
    }
    if plan.slc.is_some() {
        part("slc", "host data in the SLC cache, which is a part of that of host data", counters.slc_pages);
        part("direct", "host data past the SLC cache, which is the rest of that of host data", counters.native_pages);
    }
    if plan.config.ftl.raid != Raid::None {
        part("parity", "parity", counters.parity_programs);
    }
    if plan.config.faults.break_parts() || plan.config.ftl.raid != Raid::None {
        part(
            "rescued",
            "data programmed elsewhere because its plane had broken or it could not be read",
            counters.pages_rescued,
        );
    }
}

/// Blocks reclaimed and data relocated.
fn relocation(report: &mut Report, measured: &Measured) {
    let counters = &measured.totals.counters;
    let (runs, relocated) =
        (counters.blocks_relocated[relocation_causes::COLLECTION], counters.pages_relocated.iter().sum::<u64>());
    report.add("ftl.gc_runs", "blocks", "blocks that garbage collection reclaimed", runs);
    report.add("ftl.pages_relocated", "logical pages", "logical pages relocated, for whatever reason", relocated);
    for (cause, (name, what)) in causes(&measured.drive.plan) {
        let (blocks, pages) = (counters.blocks_relocated[cause], counters.pages_relocated[cause]);
        report.add(
            format!("ftl.relocated_by.{name}.blocks"),
            "blocks",
            format!("blocks whose data was relocated: {what}"),
            blocks,
        );
        report.add(
            format!("ftl.relocated_by.{name}.pages"),
            "logical pages",
            format!("logical pages relocated: {what}"),
            pages,
        );
    }
    report.counts(RELOCATION, counters);
    let [copied, thousandths] = counters.copied_errors;
    if measured.drive.plan.copies_errors() {
        let mean = (copied > 0).then(|| thousandths as f64 / 1e3 / copied as f64);
        let what = "mean errors per KiB that data took along when it was copied back";
        report.add("ftl.copied_back_errors", "errors/KiB", what, mean);
    }
    let victims = &measured.totals.victims;
    let valid = (victims.pages > 0).then(|| victims.valid as f64 / victims.pages as f64);
    report.add("ftl.victim_valid", "", "mean share of valid pages in the blocks collected", valid);
    report.add(
        "ftl.victim_valid_histogram",
        "blocks",
        "blocks collected by their share of valid pages, in twentieths",
        victims.blocks.to_vec(),
    );
    let (free, fewest) = measured.drive.free_blocks;
    report.add("ftl.free_blocks", "blocks", "free blocks at the end", free);
    report.add("ftl.free_blocks_min", "blocks", "free blocks of the plane that has the fewest, at the end", fewest);
}

fn wear(report: &mut Report, measured: &Measured) {
    let drive = &measured.drive;
    let (erases, mean) = (&drive.erases, drive.erases.mean());
    let pec = f64::from(drive.plan.config.age.pec.0);
    report.add(
        "ftl.wear.pec",
        "cycles",
        "mean P/E cycles of a block at the end, those before the run included",
        pec + mean,
    );
    for (name, what, value) in [
        ("mean", "mean erases of a block", json!(mean)),
        ("deviation", "standard deviation of the blocks' erases", json!(erases.deviation())),
        ("min", "fewest erases of any block", json!(erases.at(0.0))),
        ("p50", "erases that half of the blocks do not exceed", json!(erases.at(0.5))),
        ("p99", "erases that 99 % of the blocks do not exceed", json!(erases.at(0.99))),
        ("max", "most erases of any block", json!(erases.at(1.0))),
    ] {
        report.add(format!("ftl.wear.erases.{name}"), "cycles", format!("{what}, from the start of the run"), value);
    }
    let effective = drive.effective_pec.as_ref();
    let mean = effective.map(|of| of.iter().sum::<f64>() / of.len().max(1) as f64);
    let what = "of a block at the end, as P/E cycles of conventional erases that leave as much stress (erase.pulse)";
    report.add("ftl.wear.effective_pec.mean", "cycles", format!("mean wear {what}"), mean);
    let most = effective.map(|of| of.iter().copied().fold(0.0, f64::max));
    report.add("ftl.wear.effective_pec.max", "cycles", format!("largest wear {what}"), most);
    let ended = drive.end_of_life.map(|time| time.since(Time::ZERO).as_s());
    let what =
        "when too few good blocks were left, from the start of the device; null where enough are (wear.end_of_life)";
    report.add("ftl.wear.ended_s", "s", what, ended);
    report.counts(WEAR, &measured.totals.counters);
}

/// The SLC cache.
fn slc(report: &mut Report, measured: &Measured) {
    let counters = &measured.totals.counters;
    let Some(blocks) = measured.drive.slc_blocks else { return };
    report.counts(SLC_CACHE, counters);
    let written = counters.slc_pages + counters.native_pages;
    let taken = (written > 0).then(|| counters.slc_pages as f64 / written as f64);
    report.add("ftl.slc.taken", "", "share of the pages of host data that the SLC cache took", taken);
    report.add(
        "ftl.slc.blocks",
        "blocks",
        "blocks that hold data of the SLC cache or are open for it, at the end",
        blocks,
    );
    let [of_slc, of_native] = counters.parts_by_mode;
    let read = of_slc + of_native;
    let hits = (read > 0).then(|| of_slc as f64 / read as f64);
    report.add("ftl.slc.read_hits", "", "share of the pages of host reads from flash that were in the SLC cache", hits);
    for (name, what, mode) in [("slc", "the SLC cache", 0), ("native", "the chip's own cells", 1)] {
        let parts = counters.parts_by_mode[mode];
        let mean = (parts > 0).then(|| counters.part_ns_by_mode[mode] as f64 / parts as f64 / 1e3);
        let what = format!("mean time from a host read to the data of a page from {what}");
        report.add(format!("ftl.slc.read_us.{name}"), "us", what, mean);
    }
    let wear = measured.drive.plan.config.slc.wear;
    let cycles = (counters.blocks_erased - counters.slc_erases) as f64 + counters.slc_erases as f64 * wear;
    let mean = cycles / measured.drive.erases.blocks().max(1) as f64 / f64::from(measured.drive.plan.layout.stripe);
    report.add(
        "ftl.slc.native_cycles",
        "cycles",
        "mean erases of a block as cycles of the chip's own cells (slc.wear)",
        mean,
    );
}

/// The learned mapping table.
fn learned(report: &mut Report, measured: &Measured) {
    let Some(size) = measured.drive.learned else { return };
    let plan = &measured.drive.plan;
    report.counts(MAP_LEARNED, &measured.totals.counters);
    let entries = plan.logical_pages / u64::from(plan.unit_of_map) * plan.config.mapping.entry.0;
    let at_end = "at the end; of what stands as at the start extrapolated from 1024 groups of 256 logical pages";
    for (name, unit, what, value) in [
        ("bytes", "B", format!("memory of the learned mapping table {at_end}"), size.bytes),
        ("entry_bytes", "B", "what a table with an entry (mapping.entry) for each unit takes".into(), entries),
        ("segments", "segments", format!("segments {at_end}"), size.segments),
        ("approximate", "segments", format!("approximate ones among the segments {at_end}"), size.approximate),
        ("levels", "levels", "levels of the group of segments that has most, at the end".into(), size.levels),
    ] {
        report.add(format!("ftl.map.learned.{name}"), unit, what, value);
    }
}

fn map(report: &mut Report, counters: &Counters) {
    let hits = (counters.map_lookups > 0).then(|| counters.map_hits as f64 / counters.map_lookups as f64);
    report.counts(MAP_LOOKUPS, counters);
    report.add(
        "ftl.map.hit_ratio",
        "",
        "share of the look-ups that found their entry in the cache, or were led to the right page by a learned table",
        hits,
    );
    report.counts(MAP_PAGES, counters);
}
