//! Whether the drive keeps up with its load, and whether enough of it was measured.

use units::Time;

use super::super::course::Point;
use super::evidence::{Evidence, finding, grouped, percent};
use crate::buffer::is_full;
use crate::observe::stats::{Finding, die};

/// The share of a run's requests that wait at its last arrival, from which on it is overloaded. What a drive carries is
/// then as much less than what it is offered.
pub const BACKLOG: f64 = 0.05;
/// A queue that grows with the run from nothing has three times as many requests in the second half of it as in the
/// first, on the mean; one that does not grow has as many.
pub const GROWTH: f64 = 2.0;
/// The queue of a drive that keeps up holds some requests for each die.
pub const QUEUED_PER_DIE: f64 = 4.0;
/// The share of the pages written that a write buffer holds more of at the last arrival than at the first, from which
/// on what is measured is on the way to a full one. Flash then takes as much less than what is written.
pub const BUFFERED: f64 = 0.02;
/// The share of the pages written that a write buffer has taken when it is full, from which on a run shows the buffer:
/// as much more is written as flash takes (assumed).
pub const FILLED: f64 = 0.1;
/// Dies that take writes as fast as they can are idle for less of their time.
pub const IDLE: f64 = 0.1;
/// An engine that keeps up has some prompts to compute.
pub const QUEUED_PER_ENGINE: f64 = 4.0;
/// Requests beyond a percentile without which it says little.
pub const BEYOND: u64 = 10;
/// The percentile that has to be known at least.
pub const PERCENTILE: f64 = 0.99;
/// Of a kind with a smaller share of the requests no percentile is asked for.
pub const ASKED: f64 = 0.1;
/// A kind with a smaller share of the requests is not what is measured.
pub const KIND: f64 = 0.01;

/// How something stands at the last arrival, and its means over the halves of the time until then.
struct Growth {
    end: Point,
    early: f64,
    late: f64,
}

impl Growth {
    fn of(evidence: &Evidence, arrived: Time, amount: impl Fn(&Point) -> u64) -> Growth {
        let begin = evidence.first();
        let points: Vec<Point> = evidence.course.iter().filter(|point| point.time <= arrived).copied().collect();
        let end = points.last().copied().unwrap_or(begin);
        let middle = begin.time.0 + end.time.since(begin.time).0 / 2;
        let (early, late) = points.split_at(points.partition_point(|point| point.time.0 < middle));
        let mean =
            |half: &[Point]| half.iter().map(|point| amount(point) as f64).sum::<f64>() / half.len().max(1) as f64;
        Growth { end, early: mean(early), late: mean(late) }
    }
}

/// Arrivals exceed service: the queue grows for as long as requests arrive.
pub(super) fn overload(evidence: &Evidence) -> Option<Finding> {
    let (first, arrived) = evidence.arrivals.ends()?;
    if arrived <= first {
        return None;
    }
    let begin = evidence.first();
    let arrivals = evidence.arrivals;
    // Those of the warm-up that were under way are served first.
    let backlog = |point: &Point| {
        let arrived = begin.outstanding + arrivals.until(point.time);
        arrived.saturating_sub(point.completed - begin.completed)
    };
    let Growth { end, early, late } = Growth::of(evidence, arrived, backlog);
    let submitted = arrivals.count();
    let unserved = backlog(&end);
    let dies = f64::from(evidence.measured.drive.plan.layout.dies);
    let is_queue = |waiting: f64| waiting >= BACKLOG * submitted as f64 && waiting >= QUEUED_PER_DIE * dies;
    // A run whose warm-up has left a queue already adds to it.
    let adds = is_queue(backlog(&begin) as f64) && late - early >= BACKLOG * submitted as f64 / 2.0;
    let grows = unserved as f64 >= late && (late >= GROWTH * early || adds);
    // What is measured began only when all of it was waiting.
    let is_late = end.time <= begin.time;
    if !is_queue(unserved as f64) || !(grows || is_late) {
        return None;
    }
    let offered = submitted as f64 / arrived.since(first).as_s();
    let end = if is_late { evidence.last() } else { end };
    let carried = (end.completed - begin.completed) as f64 / end.time.since(begin.time).as_s().max(1e-9);
    let text = format!(
        "{offered:.0} requests/s arrive and the drive serves {carried:.0}: {} of {} requests wait at the last arrival, and latencies grow with \
         the length of the run",
        grouped(unserved.min(submitted)),
        grouped(submitted),
    );
    let numbers = [("offered_iops", offered), ("carried_iops", carried), ("waiting_requests", unserved as f64)];
    let remedy = "lower the rate (workload.rate_iops, --replay timed:x0.5), or measure what the drive can do at a queue depth \
                  (--replay closed:32)";
    Some(finding("overload", text, &numbers, remedy))
}

/// Writes come faster than flash takes them, and the write buffer has had room for the difference until now, or for
/// much of the run.
pub(super) fn buffer_fills(evidence: &Evidence) -> Option<Finding> {
    let (first, arrived) = evidence.arrivals.ends()?;
    if arrived <= first || evidence.die_share(die::IDLE) > IDLE || overload(evidence).is_some() {
        return None;
    }
    let layout = &evidence.measured.drive.plan.layout;
    let counters = &evidence.measured.totals.counters;
    let written = (counters.write_bytes / layout.page_size.0).max(counters.write_requests) as f64;
    let begin = evidence.first();
    let Growth { end, early, late } =
        Growth::of(evidence, arrived, |point| point.buffered.saturating_sub(begin.buffered));
    let gained = end.buffered.saturating_sub(begin.buffered) as f64;
    let is_much = gained >= BUFFERED * written && gained >= QUEUED_PER_DIE * f64::from(layout.dies);
    let slots = u64::from(evidence.measured.drive.plan.slots);
    let fills = late >= GROWTH * early && gained >= late;
    let has_filled = is_full(end.buffered, slots) && gained >= FILLED * written;
    if !is_much || !(fills || has_filled) {
        return None;
    }
    let requests = evidence.arrivals.count() as f64;
    if !fills {
        let more = (requests * gained / written / FILLED + 1.0).ceil();
        let text = format!(
            "the write buffer filled up meanwhile: it took {} of {} pages written; now that it is full, at most {} of the throughput of writes is left",
            grouped(gained as u64),
            grouped(written as u64),
            percent(1.0 - gained / written),
        );
        let numbers = [("buffered_pages", gained), ("written_pages", written), ("needed_requests", more)];
        let remedy = format!(
            "count from when the buffer is full (--warmup, --until-steady auto), or run {} requests",
            grouped(more as u64)
        );
        return Some(finding("buffer-fills", text, &numbers, remedy));
    }
    let taken = 100.0 * (1.0 - gained / written);
    let text = format!(
        "the write buffer fills up: the dies are busy and take {taken:.1} % of what is written, the buffer took {} of {} pages; writes will wait for \
         flash when it is full",
        grouped(gained as u64),
        grouped(written as u64),
    );
    let room = slots.saturating_sub(end.buffered) as f64;
    let more = (2.0 * (requests + room / gained * requests)).ceil();
    let numbers = [("buffered_pages", gained), ("written_pages", written), ("needed_requests", more)];
    let remedy = format!(
        "run {} requests, or count from when the buffer is full (--warmup, --until-steady auto); or lower the rate (workload.rate_iops)",
        grouped(more as u64)
    );
    Some(finding("buffer-fills", text, &numbers, remedy))
}

/// Prompts arrive faster than the engines of a KV cache compute them: each waits longer than the one before.
pub(super) fn engine_overload(evidence: &Evidence) -> Option<Finding> {
    let of = |name| evidence.of_source(name);
    let (load, backlog, wait) = (of("kv.engine_load")?, of("kv.backlog")?, of("kv.wait_ns")?);
    if load < 1.0 + BACKLOG || backlog < QUEUED_PER_ENGINE {
        return None;
    }
    let text = format!(
        "prompts ask for {load:.2} times what the engines compute: at the last arrival {backlog:.1} of them are left for each engine, and times \
         to the first token grow with the length of the run, whatever the drive does",
    );
    let numbers = [("engine_load", load), ("waiting_prompts", backlog), ("wait_ns", wait)];
    let remedy = "lower kv.rate (of a file of prompts kv.speed), or raise kv.prefill_rate or kv.engines";
    Some(finding("engine-overload", text, &numbers, remedy))
}

/// Nothing was measured at all.
pub(super) fn nothing_measured(evidence: &Evidence) -> Option<Finding> {
    let requests: u64 = evidence.measured.latencies.total().iter().map(|kind| kind.count()).sum();
    (requests == 0).then(|| {
        let text = "no request was measured: all belong to the warm-up, or none completed".to_owned();
        finding("nothing-measured", text, &[], "run more requests (--requests), or warm up with fewer (--warmup)")
    })
}

/// Fewer requests of a kind than its percentiles need.
pub(super) fn few_requests(evidence: &Evidence) -> Option<Finding> {
    let [reads, writes, ..] = evidence.measured.latencies.total().map(|kind| kind.count());
    let needed = (BEYOND as f64 / (1.0 - PERCENTILE)).round() as u64;
    let counts = |kind: u64| kind > 0 && kind as f64 >= ASKED * (reads + writes) as f64;
    let (kind, few) = [("reads", reads), ("writes", writes)]
        .into_iter()
        .filter(|(_, kind)| counts(*kind))
        .min_by_key(|(_, kind)| *kind)?;
    (few < needed).then(|| {
        let text = format!(
            "{} {kind} were measured: p99 needs {} to have {BEYOND} beyond it, p99.9 ten times as many",
            grouped(few),
            grouped(needed),
        );
        let numbers = [("requests", few as f64), ("needed_requests", needed as f64)];
        finding("few-requests", text, &numbers, "run more requests (--requests), or read the mean and p50 alone")
    })
}

/// The workload ended before the requests asked for.
pub(super) fn workload_ended(evidence: &Evidence) -> Option<Finding> {
    let missing = evidence.measured.missing.filter(|missing| *missing > 0)?;
    let text = format!("the workload ended {} requests before those asked for", grouped(missing));
    let remedy = "ask for fewer (--requests), or give a longer trace";
    Some(finding("workload-ended", text, &[("missing_requests", missing as f64)], remedy))
}

/// A trace ends within a line.
pub(super) fn trace_cut(evidence: &Evidence) -> Option<Finding> {
    let cut = evidence.measured.read.cut_lines;
    (cut > 0).then(|| {
        let text = "the trace ends within a line, which was left out".to_owned();
        finding("trace-cut", text, &[("lines", cut as f64)], "compare the file with its source: was it written whole?")
    })
}

/// Addresses lay beyond the drive.
pub(super) fn addresses_wrapped(evidence: &Evidence) -> Option<Finding> {
    let wrapped = evidence.measured.wrapped;
    (wrapped > 0).then(|| {
        let text = format!(
            "{} requests lay beyond the device and were wrapped around: they share addresses with others",
            grouped(wrapped)
        );
        let remedy = "take a drive that is large enough (geometry.blocks), or refuse such requests (--beyond refuse)";
        finding("addresses-wrapped", text, &[("requests", wrapped as f64)], remedy)
    })
}
