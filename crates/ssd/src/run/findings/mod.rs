//! What puts the numbers of a run in doubt: one list, computed once at a run's end, that goes with the result
//! everywhere.
//!
//! [`KINDS`] says of each finding when it is made and why there; docs/warnings.md is written from it. What a run cannot
//! know of itself, such as a clock that depended on the machine, others add ([`add`]).

mod evidence;
mod input;
mod load;
mod reads;
mod served;
#[cfg(test)]
mod tests;
mod writes;

pub(super) use evidence::Evidence;
use evidence::{grouped, percent};
pub(super) use input::{at_once, of_trace, scheme_undone, without_effect};

use super::steady::{MOST_RISE, MOST_SPREAD, TURNOVERS};
use super::warming;
use crate::observe::stats::Finding;

/// One kind of finding.
pub struct Kind {
    /// What it is called everywhere.
    pub id: &'static str,
    /// What it says of the numbers.
    pub meaning: &'static str,
    /// When it is made.
    pub when: fn() -> String,
    /// Why there.
    pub why: &'static str,
    /// Comparisons, searches and fits leave such a result out, unless told otherwise: its numbers are not what they are
    /// taken for. The others say what to know about numbers that hold.
    pub excludes: bool,
    /// How it is found at a run's end; what is known only elsewhere is added there.
    test: Option<fn(&Evidence) -> Option<Finding>>,
}

/// Every kind, the gravest first: the order in which findings are shown.
pub const KINDS: &[Kind] = &[
    Kind {
        id: "interrupted",
        meaning: "the run was interrupted: these are the requests until then",
        when: || "a signal ended the run before its workload".into(),
        why: "what comes later in a workload is not in the numbers",
        excludes: true,
        test: None,
    },
    Kind {
        id: "nothing-measured",
        meaning: "no request was measured",
        when: || "no request counts".into(),
        why: "there is no number",
        excludes: true,
        test: Some(load::nothing_measured),
    },
    Kind {
        id: "worn-out",
        meaning: "the drive's life ended in the run",
        when: || "too few blocks are left for the data (wear.end_of_life = \"stop\")".into(),
        why: "the run ended before its workload",
        excludes: true,
        test: Some(writes::worn_out),
    },
    Kind {
        id: "read-only",
        meaning: "the drive refused writes",
        when: || "the drive is read-only at the end, or has refused a request (wear.end_of_life)".into(),
        why: "refused requests have no latency",
        excludes: true,
        test: Some(writes::read_only),
    },
    Kind {
        id: "refused",
        meaning: "the drive refused requests: its host breaks the rules of zones",
        when: || {
            format!(
                "{} of the requests or more are refused, by zones or for the want of them",
                percent(served::REFUSED)
            )
        },
        why: "refused requests move no data and have no latency; a hundredth changes a throughput by as much (fewer are said below the tables)",
        excludes: true,
        test: Some(served::refused),
    },
    Kind {
        id: "uncorrectable-reads",
        meaning: "data was lost: reads that nothing corrected",
        when: || "one read or more".into(),
        why: "drives are specified for less than one sector in 1e15 bits read (JESD218): in no run of this length one is expected",
        excludes: true,
        test: Some(reads::uncorrectable),
    },
    Kind {
        id: "overload",
        meaning: "requests arrive faster than the drive serves them: latencies grow with the run",
        when: || {
            format!(
                "at the last arrival {} of the requests or more wait, {} for each die or more, and the queue of the second half of the \
                 run is {} times that of the first or more; or as many waited when it began, and it adds {} of its requests to them; or all of them \
                 wait when it begins",
                percent(load::BACKLOG),
                load::QUEUED_PER_DIE,
                load::GROWTH,
                percent(load::BACKLOG)
            )
        },
        why: "a queue that grows all along is three times as long in the second half as in the first, one that does not is as long; a \
              burst in the middle is served before the end",
        excludes: true,
        test: Some(load::overload),
    },
    Kind {
        id: "buffer-fills",
        meaning: "writes come faster than flash takes them: the write buffer fills up, and latencies rise when it is full; until then more is written than in the long run",
        when: || {
            format!(
                "the dies are idle for {} of their time or less, and at the last arrival the write buffer holds {} of the pages written or more, {} \
                 for each die or more, beyond those of the first; it holds {} times as many of them in the second half of the run as in the first or \
                 more, or is full and has taken {} of the pages written; not where requests wait (overload)",
                percent(load::IDLE),
                percent(load::BUFFERED),
                load::QUEUED_PER_DIE,
                load::GROWTH,
                percent(load::FILLED)
            )
        },
        why: "a buffer that keeps up holds as much all along; what one of 64 MiB takes hides for seconds that a drive is overloaded by a few per \
              cent (the hundredths are assumed)",
        excludes: true,
        test: Some(load::buffer_fills),
    },
    Kind {
        id: "engine-overload",
        meaning: "prompts arrive faster than the engines of a KV cache compute them: times to the first token grow with the run",
        when: || {
            format!(
                "prompts ask for {} more computing than the engines can do from the first arrival to the last, or more than that, and {} prompts or \
                 more are left for each engine then (host.kv.engine_load, host.kv.backlog)",
                percent(load::BACKLOG),
                load::QUEUED_PER_ENGINE
            )
        },
        why: "what is asked for beyond what can be done waits at the end, in a run twice as long twice as much; the drive has no part in it",
        excludes: true,
        test: Some(load::engine_overload),
    },
    Kind {
        id: "held-off",
        meaning: "programs or erases hardly get on for what suspends them",
        when: || format!("each that was suspended was suspended {} times or more, in the mean", writes::HELD_OFF),
        why: "an erase of 5 ms that is suspended so often has let a read go first every 100 us: free blocks then run out, or writes wait (assumed)",
        excludes: false,
        test: Some(writes::held_off),
    },
    Kind {
        id: "start-not-stationary",
        meaning: "the drive could not be brought into the state that long overwriting leaves",
        when: || {
            format!(
                "age.precondition is closed-form, programs and erases take {} of the dies' time or more, and: the drive has parity, power cuts or \
                 a checkpointed map; or it has an SLC cache, or the load does not overwrite all data uniformly, and the FTL could not be \
                 warmed with the load: {} half turnovers of what that writes to take more than {} programmed pages, or after as many the write amplification of the last two differs by more than {} and twice \
                 what it differs by by chance",
                percent(writes::WRITES_MATTER),
                warming::LEAST,
                grouped(warming::MOST),
                percent(warming::SAME)
            )
        },
        why: "the numbers change until the run itself has brought the drive there",
        excludes: true,
        test: Some(writes::start_not_stationary),
    },
    Kind {
        id: "writes-beyond-fill",
        meaning: "the drive fills up: the workload writes where age.fill leaves it empty",
        when: || {
            format!(
                "age.fill is below 1 and above 0, a state of long overwriting is asked for (age.precondition, --until-steady), programs and erases \
                 take {} of the dies' time or more, and {} of the bytes written or more go to addresses behind the data of the start; not of \
                 zones, and not of a drive that goes on from a checkpoint",
                percent(writes::WRITES_MATTER),
                percent(writes::BEYOND_FILL)
            )
        },
        why: "in the long run it is a drive as full as the workload makes it that is measured, whatever age.fill says; a twentieth more data moves the write amplification by up to a tenth (assumed)",
        excludes: true,
        test: Some(writes::beyond_fill),
    },
    Kind {
        id: "start-of-another-load",
        meaning: "what was collected was left by the load that the drive's past is assumed to have been",
        when: || {
            format!(
                "age.precondition is closed-form, age.load is \"auto\" and nothing is known of the load's past (a trace, a program), {} of the \
                 pages programmed or more were relocated, the host wrote less than {TURNOVERS} blocks of each plane, and its programs take less than {} of the \
                 dies' time that those of the assumed load took (all programs and erases, where that wrote at full speed)",
                percent(writes::MOSTLY_RELOCATED),
                percent(writes::ANOTHER_LOAD)
            )
        },
        why: "collections that the past has begun then dominate the write amplification and the slow reads, and end after a while",
        excludes: true,
        test: Some(writes::start_of_another_load),
    },
    Kind {
        id: "not-steady",
        meaning: "writes were measured on the way to a state, not in it",
        when: || {
            format!(
                "programs and erases take {} of the dies' time or more, and: fewer than {TURNOVERS} blocks of each plane have been \
                 programmed since the start of a drive that did not start in the middle of its life; or {} of the blocks programmed or more came out of the stock of free ones, more \
                 than one of each plane; or the write amplification of the two halves differs by more than {} + 1/sqrt(n), n being the \
                 blocks programmed in each. With --until-steady: its rule is not met (PTS 2.0.1: five rounds within {}, without a slope \
                 above {})",
                percent(writes::WRITES_MATTER),
                percent(writes::STOCK),
                percent(MOST_RISE),
                percent(MOST_SPREAD),
                percent(MOST_RISE),
            )
        },
        why: "below 1 % fewer than one read in 25 meets a write, collection included, so that means hold (of a WAF without any collection the table says so: ~); 10 % is the slope that SNIA's rule accepts; before collection has come round on every plane a drive only looks steady",
        excludes: true,
        test: Some(writes::not_steady),
    },
    Kind {
        id: "machine-dependent-clock",
        meaning: "simulated times depend on how fast the machine was",
        when: || "a served drive's clock went on before its clients had asked for more (docs/serve.md)".into(),
        why: "the same session on another machine has other times",
        excludes: true,
        test: None,
    },
    Kind {
        id: "late-replies",
        meaning: "replies left later than the drive answered",
        when: || {
            "the real clock of a served drive, and 1 % of its replies left by more than `--lag-bound` (100us where it is not given) after \
             the simulated completion"
                .into()
        },
        why: "the program then met the machine, not the drive, and asked later; the bound is some tenth of a read (assumed)",
        excludes: true,
        test: None,
    },
    Kind {
        id: "trace-at-once",
        meaning: "all requests come at the same time",
        when: || {
            format!(
                "the first {} requests of a trace, {} or more, have one time; or so many requests of a generator have neither a rate nor a \
                 queue depth (workload.rate_iops, workload.iodepth, --qd)",
                input::HEAD,
                input::FEW_AT_ONCE
            )
        },
        why: "requests without times measure the host's queue",
        excludes: true,
        test: None,
    },
    Kind {
        id: "trace-units",
        meaning: "the units or columns of a trace look wrong",
        when: || {
            format!(
                "among the first {} requests: a mean rate or bandwidth that no drive takes, addresses beyond any drive, sizes below a \
                 sector, or multiples of 512 of a larger unit",
                input::HEAD
            )
        },
        why: "the limits are those of `ssdlab trace info`: no trace of the collections that docs/traces.md lists is beyond them",
        excludes: true,
        test: None,
    },
    Kind {
        id: "trace-clock",
        meaning: "the clock of a trace jumps",
        when: || {
            format!(
                "among the first {} requests it goes back by 1 s or more, or ahead as no pause of the trace does",
                input::HEAD
            )
        },
        why: "requests logged out of order are milliseconds apart; what is more is a clock that was set, or another order of lines",
        excludes: false,
        test: None,
    },
    Kind {
        id: "buffer-only",
        meaning: "writes were measured into the write buffer",
        when: || format!("less than {} of the bytes written was programmed", percent(writes::LEFT_BUFFER)),
        why: "with more than half of the writes in the DRAM it is the DRAM that is measured",
        excludes: true,
        test: Some(writes::buffer_only),
    },
    Kind {
        id: "slc-cache-only",
        meaning: "writes were measured into the SLC cache",
        when: || "all pages went into the SLC cache, and none has been folded".into(),
        why: "folding is what the cache costs later",
        excludes: true,
        test: Some(writes::slc_cache_only),
    },
    Kind {
        id: "cache-only",
        meaning: "reads were measured out of the DRAM",
        when: || {
            format!(
                "{} of the pages asked for or more came out of the write buffer or the read cache",
                percent(reads::CACHED)
            )
        },
        why: "the flash then has a tenth of the weight in the mean",
        excludes: true,
        test: Some(reads::cache_only),
    },
    Kind {
        id: "unwritten-reads",
        meaning: "reads of addresses that hold nothing, which cost no flash",
        when: || format!("{} of the pages asked for or more", percent(reads::UNWRITTEN)),
        why: "a hundredth moves a mean by as much at most",
        excludes: true,
        test: Some(reads::unwritten),
    },
    Kind {
        id: "start-approximate",
        meaning: "the drive started nearly in the state that long overwriting leaves",
        when: || {
            format!(
                "age.precondition is closed-form, programs and erases take {} of the dies' time or more, fewer than {} blocks of each plane \
                 have been programmed since the start, and: the write buffer has less than four programs for each die; or victims are \
                 cost-benefit and requests larger than a map unit; or there are {} streams or more; or gc.pacing is none. Fewer than {}, where \
                 planes are allocated as blocks and programmed in lockstep, with dynamic placement",
                percent(writes::WRITES_MATTER),
                writes::START_SHOWS,
                writes::MANY_STREAMS,
                writes::PLANES_COME_APART
            )
        },
        why: "the first windows of such runs are 5 to 30 % off, later ones are not: docs/model-state.md has what was measured",
        excludes: false,
        test: Some(writes::start_approximate),
    },
    Kind {
        id: "cuts-missing",
        meaning: "the power was not cut as often as it was to be",
        when: || {
            "power.cut_at has more times and operations than the power was cut, or only random cuts, of which none came"
                .into()
        },
        why: "what was to be cut ran to its end",
        excludes: false,
        test: Some(served::cuts_missing),
    },
    Kind {
        id: "unknown-handles",
        meaning: "writes name placement handles that the drive does not have",
        when: || "one write or more, where ftl.hints is set".into(),
        why: "their data lies with that of another handle: the drive takes the hint modulo ftl.hints",
        excludes: false,
        test: Some(served::unknown_handles),
    },
    Kind {
        id: "young-data",
        meaning: "what was read is younger than --age says",
        when: || {
            format!(
                "age.retention is set, and {} of the pages read or more were written in the run",
                percent(reads::YOUNG)
            )
        },
        why: "the age then says nothing about most of what was measured",
        excludes: false,
        test: Some(reads::young),
    },
    Kind {
        id: "few-requests",
        meaning: "too few requests for percentiles",
        when: || {
            format!(
                "fewer than {} requests lie beyond p99 of the reads or of the writes, where these are {} of the requests or more",
                load::BEYOND,
                percent(load::ASKED)
            )
        },
        why: "a percentile beyond which ten samples lie is known to a third (binomial); deeper ones are marked with ~ in the table",
        excludes: false,
        test: Some(load::few_requests),
    },
    Kind {
        id: "workload-ended",
        meaning: "the workload had fewer requests than were asked for",
        when: || "one request or more is missing".into(),
        why: "the run is shorter than its command says",
        excludes: false,
        test: Some(load::workload_ended),
    },
    Kind {
        id: "trace-cut",
        meaning: "a trace ends within a line",
        when: || "its last line has no end and lacks columns".into(),
        why: "whatever wrote the file was stopped, and requests may be missing",
        excludes: false,
        test: Some(load::trace_cut),
    },
    Kind {
        id: "addresses-wrapped",
        meaning: "addresses beyond the drive were wrapped around",
        when: || "one request or more".into(),
        why: "wrapped requests share addresses that in the trace are apart",
        excludes: false,
        test: Some(load::addresses_wrapped),
    },
    Kind {
        id: "scheme-undone",
        meaning: "settings take back what an ideal scheme sets",
        when: || "one setting or more".into(),
        why: "the scheme is not ideal any more",
        excludes: false,
        test: None,
    },
    Kind {
        id: "settings-without-effect",
        meaning: "settings have no effect",
        when: || "a key differs from its default, and what it needs is not set".into(),
        why: "a comparison over it would compare equal runs",
        excludes: false,
        test: None,
    },
];

/// Kinds that are about the state of one drive: where a run is on several, each of them is judged.
const OF_ONE_DRIVE: &[&str] = &[
    "start-not-stationary",
    "start-of-another-load",
    "not-steady",
    "buffer-only",
    "slc-cache-only",
    "cache-only",
    "unwritten-reads",
    "young-data",
];

/// Whether a kind is about the state of one drive.
pub(super) fn is_of_one_drive(id: &str) -> bool {
    OF_ONE_DRIVE.contains(&id)
}

/// A finding from outside, by its id.
///
/// # Panics
/// There is no kind of that id.
pub fn finding(id: &str, text: String, numbers: &[(&'static str, f64)], remedy: impl Into<String>) -> Finding {
    let kind = KINDS.iter().find(|kind| kind.id == id).expect("Invariant: KINDS names every finding");
    evidence::finding(kind.id, text, numbers, remedy)
}

/// The run was interrupted after this many requests had completed.
pub fn interrupted(completed: u64) -> Finding {
    let text = format!("the run was interrupted: {} requests had completed", grouped(completed));
    finding("interrupted", text, &[("requests", completed as f64)], "run it again to its end")
}

/// All findings of a run.
pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    KINDS.iter().filter_map(|kind| kind.test.and_then(|test| test(evidence))).collect()
}

/// Adds findings that were made elsewhere; all stay in the order of [`KINDS`].
pub fn add(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    findings.extend(more);
    findings.sort_by_key(|finding| KINDS.iter().position(|kind| kind.id == finding.id));
}
