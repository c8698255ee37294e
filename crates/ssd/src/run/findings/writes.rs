//! Whether writes were measured as they go in the long run.

use nand::PlanePrograms;
use schemes::{Pacing, Victim};
use units::Time;

use super::super::course::Point;
use super::super::steady::{MOST_RISE, MOST_SPREAD, TURNOVERS};
use super::super::warming;
use super::evidence::{Evidence, finding, grouped, percent};
use super::load::KIND;
use crate::config::{Allocation, Placement, Precondition};
use crate::observe::stats::{Finding, Measured, Start, SteadyState, Warmed, relocation_causes};

/// The share of the dies' time that programs and erases take, from which on the state of collection moves what is
/// measured: with an amplification of 4 fewer than one read in 25 meets a write below it.
pub const WRITES_MATTER: f64 = 0.01;
/// The share of the blocks programmed that came out of the stock of free blocks, without that others were collected for
/// them.
pub const STOCK: f64 = 0.1;
/// Blocks of each plane programmed, below which a start that is not quite the long run's shows by 3 % or more
/// (measured; docs/model-state.md).
pub const START_SHOWS: f64 = 16.0;
/// [`START_SHOWS`] where the planes of a die have blocks of their own and are programmed together: their fill levels
/// drift apart slowly (measured; docs/model-state.md).
pub const PLANES_COME_APART: f64 = 160.0;
/// Streams of host data from which on the start is not quite the long run's (the same).
pub const MANY_STREAMS: u32 = 4;
/// The share of what was programmed that was relocated, from which on collection is most of what the dies write.
pub const MOSTLY_RELOCATED: f64 = 0.5;
/// A load that writes less than this share of what the drive's past is taken to have written is another one (assumed:
/// `age.load` is decided to a factor of 1.6).
pub const ANOTHER_LOAD: f64 = 0.5;
/// The share of the bytes written that has left the buffer, below which the buffer was measured.
pub const LEFT_BUFFER: f64 = 0.5;

/// The share of the bytes written that went to addresses behind the data of the start, from which on the drive fills up
/// (assumed).
pub const BEYOND_FILL: f64 = 0.05;

/// Suspensions of each operation that is suspended, in the mean, from which on these are held off (assumed).
pub const HELD_OFF: f64 = 50.0;

/// What is suspended hardly gets on.
pub(super) fn held_off(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let times = (counters.program_suspensions + counters.erase_suspensions) as f64;
    let each = times / counters.operations_suspended.max(1) as f64;
    (each >= HELD_OFF).then(|| {
        let text = format!("each program or erase that was suspended was suspended {each:.0} times, in the mean: they hardly get on");
        let remedy = "bound how often (schedule.suspensions) or for how long (schedule.suspend_budget), or let what goes on run for a while first (schedule.suspend_progress; with intra-phase \
                      for longer than a phase, since a cancelled one is repeated)";
        finding("held-off", text, &[("suspensions_each", each)], remedy)
    })
}

/// The workload fills a drive that was to be filled in part.
pub(super) fn beyond_fill(evidence: &Evidence) -> Option<Finding> {
    let Measured { drive, outside, steady, .. } = evidence.measured;
    let (age, fill) = (&drive.plan.config.age, drive.plan.config.age.fill.0);
    let asked = age.precondition != Precondition::None || steady.is_some();
    let in_part = fill > 0.0 && fill < 1.0 && drive.zones.is_none();
    if !asked || !in_part || outside.share() < BEYOND_FILL || evidence.write_share() < WRITES_MATTER {
        return None;
    }
    let text = format!(
        "{} of what was written went to addresses that held nothing at the start (age.fill is {fill}): the drive fills up, and in the long run \
         its state is not that of a drive filled to {}",
        percent(outside.share()),
        percent(fill)
    );
    let remedy = format!(
        "let the workload stay within the data (workload.footprint, at most {} of the drive), or begin with a full drive (age.fill=1)",
        percent(fill)
    );
    Some(finding("writes-beyond-fill", text, &[("share", outside.share()), ("fill", fill)], remedy))
}

/// The drive's life has ended.
pub(super) fn worn_out(evidence: &Evidence) -> Option<Finding> {
    let drive = &evidence.measured.drive;
    let end = drive.end_of_life.filter(|_| !drive.smart.read_only)?;
    let text = format!("the drive wore out after {:.3} s of simulated time, and the run ended with it", seconds(end));
    let remedy = "begin with fewer P/E cycles (age.pec), or give the drive more spare blocks (ftl.over_provisioning)";
    Some(finding("worn-out", text, &[("after_s", seconds(end))], remedy))
}

/// The drive takes no more writes.
pub(super) fn read_only(evidence: &Evidence) -> Option<Finding> {
    let refused = evidence.measured.totals.counters.requests_refused;
    (evidence.measured.drive.smart.read_only || refused > 0).then(|| {
        let text = format!("the drive wore out and became read-only: it refused {} requests", grouped(refused));
        let remedy =
            "begin with fewer P/E cycles (age.pec), or give the drive more spare blocks (ftl.over_provisioning)";
        finding("read-only", text, &[("requests_refused", refused as f64)], remedy)
    })
}

/// Whether what was measured of writes goes on so.
pub(super) fn not_steady(evidence: &Evidence) -> Option<Finding> {
    match evidence.measured.steady {
        Some(steady) if steady.reached => None,
        Some(steady) => Some(no_steady_state(&steady, evidence.measured.over)),
        None if evidence.write_share() < WRITES_MATTER => None,
        // Of zones nothing is collected.
        None if evidence.measured.drive.zones.is_some() => None,
        // In the middle of a life nothing has to come round first.
        None if evidence.measured.drive.start == Start::MidLife => {
            stock_used(evidence).or_else(|| amplification_moves(evidence))
        }
        None => too_short(evidence).or_else(|| stock_used(evidence)).or_else(|| amplification_moves(evidence)),
    }
}

fn no_steady_state(steady: &SteadyState, over: bool) -> Finding {
    let (rounds, round) = (steady.rounds, steady.round.as_s());
    let mut numbers = vec![("rounds", rounds as f64), ("round_s", round)];
    if rounds == 0 {
        let text = format!("no steady state: the run ended before a round of {round:.3} s had");
        let remedy = match over {
            false => "give a smaller round (--until-steady 100ms), or a longer load",
            true => {
                "give a smaller round (--until-steady 100ms), or, since the workload has ended, one that is longer (a trace: a generator fitted to it, by ssdlab trace fit)"
            }
        };
        return finding("not-steady", text, &numbers, remedy);
    }
    let mut text = format!("no steady state in {rounds} rounds of {round:.3} s; all of them are shown");
    if let Some(trend) = steady.trend {
        numbers.extend([("waf", trend.waf), ("iops", trend.iops), ("spread", trend.spread), ("slope", trend.slope)]);
        text += &format!(
            ": the last differ by {} and rise by {} (at most {} and {})",
            percent(trend.spread),
            percent(trend.slope),
            percent(MOST_SPREAD),
            percent(MOST_RISE)
        );
    }
    let remedy = match over {
        false => "run longer (--requests, --duration), or save the drive (--save) and go on from there (--from)",
        true => {
            "the workload has ended: save the drive (--save) and play it once more from there (--from), or make it longer (a trace: play a generator fitted to it, by ssdlab trace fit)"
        }
    };
    finding("not-steady", text, &numbers, remedy)
}

/// What helps a run that was too short.
fn longer(evidence: &Evidence) -> String {
    let written = match evidence.measured.drive.plan.config.age.precondition {
        Precondition::None => "begin with a drive that has been written (--precondition closed-form), or ",
        _ => "",
    };
    if evidence.measured.over {
        return format!(
            "the workload has ended: {written}make it longer (a trace: play a generator fitted to it, by ssdlab trace fit), or take the numbers for what \
             they are (comparisons do with --accept-warnings)"
        );
    }
    format!("{written}run until nothing changes (--until-steady auto), or longer, with a --warmup")
}

/// A drive that started in the middle of the life of a load that writes more than the run's own: it is that load's data
/// that is collected.
pub(super) fn start_of_another_load(evidence: &Evidence) -> Option<Finding> {
    let Measured { drive, totals, past_assumed, .. } = evidence.measured;
    let (plan, counters) = (&drive.plan, &totals.counters);
    let (all, host) = (counters.pages_programmed, counters.user_pages_programmed);
    let relocated = all.saturating_sub(host) as f64;
    let host_blocks = evidence.blocks(host) / evidence.planes();
    let starts = *past_assumed && drive.start == Start::MidLife && host_blocks < TURNOVERS as f64;
    if !starts || all == 0 || relocated < MOSTLY_RELOCATED * all as f64 {
        return None;
    }
    let units = host as f64 / f64::from(plan.unit_pages) / f64::from(plan.layout.planes);
    let elapsed = totals.usage.elapsed.as_s().max(1e-9);
    let own = units * plan.timings.mean_program(plan.layout.bits).as_s() / elapsed;
    // At full speed dies have nothing else to do, whether they program for the host or relocate.
    let (assumed, found, of) = match plan.config.age.partial_load() {
        Some(share) => (share, own, "programs of its data"),
        None => (1.0, evidence.write_share(), "programs and erases"),
    };
    (found < ANOTHER_LOAD * assumed).then(|| {
        let text = format!(
            "{} of the pages programmed were relocated, most of them for the load that the drive's past is assumed to have been: {of} took {} of \
             the dies' time then (age.load), and {} in this run",
            percent(relocated / all as f64),
            percent(assumed),
            percent(found),
        );
        let numbers = [("past_load", assumed), ("own_load", found), ("relocated_share", relocated / all as f64)];
        let nearest = own.clamp(1e-5, 0.9);
        let remedy = format!(
            "say how much the past wrote (--set age.load={nearest:.5}, as much as this run), or begin with a drive that was written once, in order \
             (--precondition none)"
        );
        finding("start-of-another-load", text, &numbers, remedy)
    })
}

/// A drive that was to start as after long overwriting starts with nothing under collection.
pub(super) fn start_not_stationary(evidence: &Evidence) -> Option<Finding> {
    let drive = &evidence.measured.drive;
    let matters = evidence.write_share() >= WRITES_MATTER;
    if let Some(warmed) = drive.warmed.filter(|warmed| !warmed.reached && matters) {
        return Some(warmed_in_part(&warmed));
    }
    (drive.start == Start::BetweenCollections && matters).then(|| {
        let text = "age.precondition = \"closed-form\" has no stationary state for this drive (an SLC cache, parity, power cuts or a checkpointed \
                    map): it starts with nothing under collection"
            .to_owned();
        let remedy = "run until nothing changes (--until-steady auto), or longer, with a --warmup";
        finding("start-not-stationary", text, &[], remedy)
    })
}

/// What a start in the middle of a life misses with some settings, as docs/model-state.md states it (measured there).
struct Miss {
    /// The run has these settings.
    is_so: bool,
    /// Blocks of each plane programmed, from which on it does not show.
    until: f64,
    /// By how much a number is off in the first requests, and which one.
    percent: f64,
    of: &'static str,
    /// What the settings are.
    with: &'static str,
}

/// A drive that started in the middle of its life with settings whose state there is known to be off, in a run that
/// shows it.
pub(super) fn start_approximate(evidence: &Evidence) -> Option<Finding> {
    let drive = &evidence.measured.drive;
    let programmed = evidence.blocks(evidence.last().programmed) / evidence.planes();
    let starts = drive.start == Start::MidLife && drive.warmed.is_none() && evidence.measured.steady.is_none();
    if !starts || evidence.write_share() < WRITES_MATTER {
        return None;
    }
    let (plan, counters) = (&drive.plan, &evidence.measured.totals.counters);
    let config = &plan.config;
    let written = counters.write_bytes as f64 / counters.write_requests.max(1) as f64;
    let together = plan.layout.planes_per_die > 1
        && config.chip.plane_programs == PlanePrograms::Lockstep
        && config.ftl.placement == Placement::Dynamic;
    let mean = "mean latency";
    let misses = [
        Miss {
            is_so: plan.relocations_between() > 0,
            until: START_SHOWS,
            percent: 30.0,
            of: mean,
            with: "a write buffer of less than four programs for each die",
        },
        Miss {
            is_so: together && config.ftl.allocation == Allocation::Plane,
            until: PLANES_COME_APART,
            percent: 25.0,
            of: mean,
            with: "planes that are collected one by one and programmed together",
        },
        Miss {
            is_so: config.gc.victim == Victim::CostBenefit && written > plan.layout.page_size.0 as f64,
            until: START_SHOWS,
            percent: 7.0,
            of: mean,
            with: "cost-benefit victims under requests of several map units",
        },
        Miss {
            is_so: config.ftl.streams >= MANY_STREAMS,
            until: START_SHOWS,
            percent: 5.0,
            of: mean,
            with: "four or more streams",
        },
        Miss {
            is_so: config.gc.pacing == Pacing::None,
            until: START_SHOWS,
            percent: 17.0,
            of: "99th percentile",
            with: "collection that is not paced",
        },
    ];
    let Miss { until, percent, of, with, .. } =
        misses.into_iter().find(|miss| miss.is_so && programmed < miss.until)?;
    let text = format!(
        "age.precondition = \"closed-form\" is off in the first requests with {with}: the {of} by up to {percent} %, until {until} \
         blocks of each plane have been programmed; {programmed:.1} have been"
    );
    let numbers = [("most_percent", percent), ("blocks_per_plane", programmed), ("needed_blocks_per_plane", until)];
    Some(finding("start-approximate", text, &numbers, "measure longer, or after a --warmup"))
}

/// A drive that was to be brought to the state that the load leaves is on the way there.
fn warmed_in_part(warmed: &Warmed) -> Finding {
    let Warmed { pages, turnover, needed, waf, change, .. } = *warmed;
    let mut numbers = vec![("warmed_pages", pages as f64), ("turnover_pages", turnover as f64)];
    let text = if needed > 0 {
        numbers.push(("needed_pages", needed as f64));
        format!(
            "age.precondition = \"closed-form\" starts with the state that uniform overwriting leaves: to warm the FTL with this load takes {} \
             programmed pages or more, and {} are played at most",
            grouped(needed),
            grouped(warming::MOST)
        )
    } else {
        numbers.extend([("waf", waf), ("change", change)]);
        format!(
            "age.precondition = \"closed-form\": the FTL was warmed with {} pages of this load, {:.1} turnovers, and its write amplification of \
             {waf:.2} still changed by {} in the last half of one",
            grouped(pages),
            pages as f64 / turnover.max(1) as f64,
            percent(change)
        )
    };
    let remedy = "run until nothing changes (--until-steady auto), or longer, with a --warmup; or take a smaller drive";
    finding("start-not-stationary", text, &numbers, remedy)
}

/// How much more it takes to program this many more blocks, at the pace of the run: in words, and as a number. Of a
/// drive of an array the requests are not those of the run.
fn more_for(evidence: &Evidence, blocks: f64) -> Option<(String, (&'static str, f64))> {
    let programmed = evidence.blocks(evidence.last().programmed - evidence.first().programmed);
    let times = blocks / programmed;
    if !times.is_finite() || times <= 0.0 {
        return None;
    }
    let requests = (times * evidence.arrivals.count() as f64).ceil();
    Some(match requests > 0.0 {
        true => (format!("{} more requests", grouped(requests as u64)), ("more_requests", requests)),
        false if times < 10.0 => (format!("{times:.1} times as much again"), ("more_runs", times)),
        false => (format!("{} times as much again", grouped(times.ceil() as u64)), ("more_runs", times)),
    })
}

/// Collection has not come round on every plane since the start of the drive: nothing tells the long run.
fn too_short(evidence: &Evidence) -> Option<Finding> {
    let (programmed, wanted) = (evidence.blocks(evidence.last().programmed), TURNOVERS as f64 * evidence.planes());
    (programmed < wanted).then(|| {
        let turns = programmed / evidence.planes();
        let mut text = format!(
            "too few writes to tell the long run: {turns:.1} blocks of each plane have been programmed since the start, and collection comes \
             round in {TURNOVERS} or more"
        );
        let mut numbers = vec![("blocks_per_plane", turns), ("needed_blocks_per_plane", TURNOVERS as f64)];
        if let Some((more, number)) = more_for(evidence, wanted - programmed) {
            text += &format!("; that takes {more}");
            numbers.push(number);
        }
        finding("not-steady", text, &numbers, longer(evidence))
    })
}

/// Blocks were written that nobody collected: the stock of free blocks falls, and the drive slows down when it is used
/// up.
fn stock_used(evidence: &Evidence) -> Option<Finding> {
    let (first, last) = (evidence.first(), evidence.last());
    let programmed = evidence.blocks(last.programmed - first.programmed);
    let used = first.free_blocks as f64 - last.free_blocks as f64;
    (used > evidence.planes() && used >= STOCK * programmed).then(|| {
        let config = &evidence.measured.drive.plan.config;
        let kept = f64::from(config.gc.start) * evidence.planes();
        let left = (last.free_blocks as f64 - kept).max(0.0);
        let mut text = format!(
            "free blocks fell from {} to {}: {} of what was programmed went into space that nobody had to collect",
            grouped(first.free_blocks),
            grouped(last.free_blocks),
            percent((used / programmed).min(1.0)),
        );
        let mut numbers = vec![
            ("free_blocks_before", first.free_blocks as f64),
            ("free_blocks_after", last.free_blocks as f64),
            ("share", used / programmed),
        ];
        if let Some((more, number)) = more_for(evidence, programmed * left / used) {
            text += &format!("; {more} use up the rest");
            numbers.push(number);
        }
        finding("not-steady", text, &numbers, longer(evidence))
    })
}

/// The write amplification of the second half of what was programmed differs from that of the first by more than
/// collection's chance.
fn amplification_moves(evidence: &Evidence) -> Option<Finding> {
    let (first, last) = (evidence.first(), evidence.last());
    let middle = u64::midpoint(first.programmed, last.programmed);
    let at = evidence.course.iter().find(|point| point.programmed >= middle)?;
    let page = evidence.measured.drive.plan.layout.page_size.0 as f64;
    let waf = |from: &Point, to: &Point| {
        let settled = to.settled - from.settled;
        (settled > 0).then(|| (to.programmed - from.programmed) as f64 * page / settled as f64)
    };
    let (early, late) = (waf(&first, at)?, waf(at, &last)?);
    // Collection goes block by block: of n blocks in each half the sums differ by chance by some 1 / sqrt(n).
    let blocks = evidence.blocks((last.programmed - first.programmed) / 2).max(1.0);
    let chance = 1.0 / blocks.sqrt();
    let change = (late - early) / f64::midpoint(early, late);
    (change.abs() > MOST_RISE + chance).then(|| {
        let text = format!(
            "the write amplification went from {early:.2} in the first half of the run to {late:.2} in the second: as many requests again would \
             tell where it ends"
        );
        let mut numbers = vec![("waf_first", early), ("waf_second", late)];
        numbers.extend(more_for(evidence, evidence.blocks(last.programmed - first.programmed)).map(|(_, number)| number));
        finding("not-steady", text, &numbers, longer(evidence))
    })
}

/// What was written stayed in the write buffer.
pub(super) fn buffer_only(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let requests = counters.read_requests + counters.write_requests;
    if counters.write_bytes == 0 || (counters.write_requests as f64) < KIND * requests as f64 {
        return None;
    }
    let page = evidence.measured.drive.plan.layout.page_size.0;
    let share = (counters.user_pages_programmed * page) as f64 / counters.write_bytes as f64;
    (share < LEFT_BUFFER).then(|| {
        let text = format!(
            "{} of what was written was programmed: writes were measured into the write buffer of {}, not onto flash",
            percent(share),
            evidence.measured.drive.plan.config.buffer.size,
        );
        let numbers = [("written_bytes", counters.write_bytes as f64), ("share", share)];
        finding(
            "buffer-only",
            text,
            &numbers,
            "write more than the buffer holds, to more addresses, or make it smaller (buffer.size)",
        )
    })
}

/// What was written stayed in the SLC cache.
pub(super) fn slc_cache_only(evidence: &Evidence) -> Option<Finding> {
    let counters = &evidence.measured.totals.counters;
    let folded = counters.blocks_relocated[relocation_causes::FOLD];
    let only = counters.slc_pages > 0 && counters.native_pages == 0 && folded == 0;
    (only && evidence.write_share() >= WRITES_MATTER).then(|| {
        let text = format!(
            "all {} pages written fit the SLC cache and none was folded: a longer run is slower",
            grouped(counters.slc_pages)
        );
        let remedy = "write more than the cache holds (slc.blocks), or run until nothing changes (--until-steady auto)";
        finding("slc-cache-only", text, &[("pages", counters.slc_pages as f64)], remedy)
    })
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e9
}
