//! Whether what was read is what a user means to read.

use units::{Retention, Span};

use super::evidence::{Evidence, finding, grouped, percent};
use super::load::KIND;
use crate::observe::stats::Finding;

/// The share of the pages asked for that were never written, from which on reads of nothing move the mean.
pub const UNWRITTEN: f64 = 0.01;
/// The share of the pages read that the run itself has written, from which on most of what was read is young.
pub const YOUNG: f64 = 0.5;
/// The share of the pages asked for that came out of the DRAM, from which on the flash was hardly measured.
pub const CACHED: f64 = 0.9;

/// Reads whose data could not be corrected.
pub(super) fn uncorrectable(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let failed = counters.requests_uncorrectable;
    (failed > 0).then(|| {
        // Drives of an array are asked for other reads than their host has made.
        let [reads, ..] = evidence.measured.latencies.total();
        let all = reads.count().max(failed);
        let share = failed as f64 / all as f64;
        let text = format!(
            "{} of {} reads could not be corrected ({}): the drive lost their data",
            grouped(failed),
            grouped(all),
            percent(share)
        );
        let config = &evidence.measured.drive.plan.config;
        let is_of_retries = |(axis, _): &(&str, _)| ["start", "next"].contains(axis);
        // Without a code the chip's capability says what is corrected.
        let remedy = match config.ecc.code {
            _ if config.policies.sources().iter().any(is_of_retries) => {
                "play it without the functions of your own (start, next), which may give up too early; where data is lost then too, choose a milder --age"
            }
            Some(_) => "a real drive is retired long before: choose a milder --age, a stronger code (ecc.strength) or a scheme with more retries",
            None => "a real drive is retired long before: choose a milder --age or a scheme with more retries",
        };
        finding("uncorrectable-reads", text, &[("requests", failed as f64), ("share", share)], remedy)
    })
}

/// Reads of addresses that hold nothing.
pub(super) fn unwritten(evidence: &Evidence) -> Option<Finding> {
    let (pages, asked) = (evidence.measured.totals.counters.unmapped_reads, evidence.pages_asked());
    let share = pages as f64 / asked.max(pages as f64).max(1.0);
    (share >= UNWRITTEN).then(|| {
        let text = format!(
            "{} of the pages that requests asked for were never written ({}): such reads cost no flash and are faster than any real one",
            grouped(pages),
            percent(share)
        );
        let remedy = "fill the drive (age.fill=1), or write before reading (--warmup)";
        finding("unwritten-reads", text, &[("pages", pages as f64), ("share", share)], remedy)
    })
}

/// Data younger than the age asked for.
pub(super) fn young(evidence: &Evidence) -> Option<Finding> {
    if evidence.measured.drive.plan.retention == Retention::Fixed(Span::ZERO) {
        return None;
    }
    let counters = &evidence.measured.totals.counters;
    let all = counters.pages_read + counters.buffer_hits;
    let young = all - counters.cold_reads;
    let share = young as f64 / all.max(1) as f64;
    (share >= YOUNG).then(|| {
        let text = format!(
            "{} of the pages that flash or the buffer gave were written in this run ({}): age.retention says nothing about them",
            grouped(young),
            percent(share)
        );
        let remedy = "read what the drive held before the run, or write first, save (--save), let the time pass, and go on from there (--from)";
        finding("young-data", text, &[("pages", young as f64), ("share", share)], remedy)
    })
}

/// Reads that the DRAM answered.
pub(super) fn cache_only(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let (cached, asked) = (counters.buffer_hits + counters.read_cache_hits, evidence.pages_asked());
    let requests = counters.read_requests + counters.write_requests;
    if (counters.read_requests as f64) < KIND * requests as f64 {
        return None;
    }
    let share = cached as f64 / asked.max(cached as f64).max(1.0);
    (share >= CACHED).then(|| {
        let text = format!(
            "{} of the pages read came out of the DRAM ({}): the flash was hardly read",
            grouped(cached),
            percent(share)
        );
        let remedy = "read a larger part of the drive (workload.footprint), or make the DRAM smaller (buffer.size, buffer.read_cache)";
        finding("cache-only", text, &[("pages", cached as f64), ("share", share)], remedy)
    })
}
