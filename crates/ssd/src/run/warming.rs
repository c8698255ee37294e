//! A drive that is to start in the middle of its life (`age.precondition = "closed-form"`) under a load that has no
//! closed form: the load's own writes, of a past that goes before the run, are played through the FTL alone
//! (`ftl/warming.rs`), from the state that uniform overwriting leaves, until the write amplification stays the same
//! from turnover to turnover.
//!
//! A turnover is as many pages of the host as the flash has for what the load writes: those pages, and their part of
//! the spare ones. A load that leaves a part of the drive alone does not collect all that is stale there: from where
//! the blocks of that part hold no more valid pages than its own, it collects its own. A load that would take too long
//! is not played: its drive starts as uniform overwriting leaves it, and the result says so.

use std::sync::Arc;

use units::{Bytes, Lpn, Span};
use workload::{Op, Past, Request, Source, TraceError};

use super::kept::{self, Kept, Key};
use crate::config::{Plan, SlcCache};
use crate::device::Device;
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::ftl::Ftl;
use crate::ftl::warming::{self, StandsStill};
use crate::observe::probe::Probe;
use crate::observe::stats::Warmed;

/// Rounds of half a turnover.
const ROUNDS: usize = 4;
/// Half turnovers that are played at least: one to leave the state that uniform overwriting leaves, and two that are
/// compared (assumed).
pub(super) const LEAST: u64 = 3;
/// How much the write amplification of half a turnover may differ from that of the one before (assumed: from one to the
/// next a change becomes a third or less), beside twice what it differs by by chance.
pub(super) const SAME: f64 = 0.01;
/// Pages that are programmed at most, relocated ones included (assumed: some seconds, and less than 1 GiB of memory).
pub(super) const MOST: u64 = 1 << 24;

/// Requests of the past for each page that may be played, at most (assumed): of a past that hardly writes no more is
/// read.
const REQUESTS_OF_PAGE: u64 = 16;
/// Requests that are taken at a time.
const BATCH: usize = 256;
/// Requests ahead of the one that is played whose map entries are fetched (assumed: as many as hide a miss of the
/// cache, twice).
const AHEAD: usize = 32;
/// How long a request that another one waits for is under way: jobs at the same depth then take turns.
const SERVED: Span = Span::from_us(1);

/// Whether a load has overwritten all the data alike of a drive of this plan, or of several with this `capacity`
/// together.
pub(super) fn is_uniform(past: &dyn Past, capacity: Bytes, plan: &Plan) -> bool {
    let unit = plan.layout.page_size;
    let filled = Bytes(((capacity.0 / unit.0) as f64 * plan.config.age.fill.0) as u64 * unit.0);
    past.is_uniform(filled, unit)
}

/// A load that is played through the FTL of a drive.
pub struct Warming {
    past: Box<dyn Source>,
    batch: Vec<Request>,
    alone: warming::Warming,
    turnover: u64,
    /// Requests of the past, and pages that these have written or trimmed, whatever became of them.
    requests: u64,
    played: u64,
    /// Pages of host data, and of all data, that had been programmed when the present round began.
    began: (u64, u64),
    /// The write amplification of each round.
    rounds: Vec<f64>,
    /// What came of it, once it has ended.
    warmed: Option<Warmed>,
    /// Nothing more is to be played, or can be.
    reached: bool,
    stands_still: bool,
    /// Under which its end is kept for other runs, and the end that another one has kept.
    key: Option<Key>,
    kept: Option<Arc<Kept>>,
}

/// What is to be played before a run.
pub enum Played {
    /// Nothing: the closed form is the state of this load, or the drive has none that can be played.
    Nothing,
    /// Nothing, because it would take too long.
    TooLong(Warmed),
    /// The load.
    Load(Box<Warming>),
}

impl Warming {
    /// How a device is brought to the state of a load, of which the past is known. Requests that are `paced` leave the
    /// drive time.
    pub(super) fn of<P: Probe>(past: &dyn Past, paced: bool, device: &mut Device<P>) -> Result<Played, RunError> {
        let plan = device.plan();
        let page = plan.layout.page_size.0;
        let written: u64 = past.written().iter().map(|range| (range.end - range.start).div_ceil(page)).sum();
        let has_closed_form = plan.config.ftl.slc_cache == SlcCache::None && is_uniform(past, plan.capacity(), plan);
        // How much of the cache is folded in that time the FTL alone does not tell.
        let rests = paced && plan.fold_idle().is_some();
        if written == 0 || has_closed_form || rests || !plan.config.plays_past() {
            return Ok(Played::Nothing);
        }
        let (turnover, amplification) =
            device.play_ftl(|ftl, plan| (warming::turnover(ftl, plan, written), warming::amplification(ftl, plan)));
        let needed = ((LEAST * turnover / 2) as f64 * amplification) as u64;
        if needed > MOST {
            return Ok(Played::TooLong(Warmed { turnover, needed, ..Warmed::default() }));
        }
        let key = Key::of(past, device);
        Ok(Played::Load(Box::new(Warming {
            kept: key.and_then(kept::recall),
            key,
            past: past.source(false)?,
            batch: Vec::new(),
            alone: warming::Warming::new(device.plan()),
            turnover,
            requests: 0,
            played: 0,
            began: (0, device.play_ftl(|ftl, _| warming::programmed(ftl))),
            rounds: Vec::new(),
            warmed: None,
            reached: false,
            stands_still: false,
        })))
    }

    fn request(&mut self, ftl: &mut Ftl, plan: &Plan, request: &Request) -> Result<(), StandsStill> {
        let unit = plan.layout.page_size.0 * u64::from(plan.unit_of_map);
        let (from, to) = (request.offset.0, request.offset.0 + request.bytes.0);
        let units = match request.op {
            Op::Read | Op::Flush | Op::Append | Op::Zone(_) | Op::ZoneReport | Op::HandleUpdate => return Ok(()),
            Op::Write => from / unit..to.div_ceil(unit),
            Op::Trim => from.div_ceil(unit)..to / unit,
        };
        let pages = u64::from(plan.unit_of_map);
        self.played += (units.end.saturating_sub(units.start)) * pages;
        for lpn in (units.start * pages..(units.end * pages).min(plan.logical_pages)).map(Lpn) {
            match request.op {
                Op::Trim => self.alone.trim(ftl, lpn),
                _ => self.alone.write(ftl, plan, lpn, request.hint)?,
            }
        }
        if (self.alone.written - self.began.0) * 2 * ROUNDS as u64 >= self.turnover {
            self.close_round(ftl);
        }
        Ok(())
    }

    fn close_round(&mut self, ftl: &Ftl) {
        let now = (self.alone.written, warming::programmed(ftl));
        self.rounds.push((now.1 - self.began.1) as f64 / (now.0 - self.began.0) as f64);
        self.began = now;
        self.reached |= self.rounds.len() >= LEAST as usize * ROUNDS
            && self.change().is_some_and(|(change, chance)| change.abs() <= SAME.max(2.0 * chance));
    }

    /// By how much the write amplification of the last half turnover differs from that of the one before, and by how
    /// much it does by chance, as the rounds of each differ.
    fn change(&self) -> Option<(f64, f64)> {
        let last = self.rounds.len().checked_sub(2 * ROUNDS).map(|first| &self.rounds[first..])?;
        let (before, after) = last.split_at(ROUNDS);
        let ((before, varies), (after, varies_after)) = (mean(before), mean(after));
        let both = f64::midpoint(before, after);
        Some(((after - before) / both, varies.hypot(varies_after) / both))
    }

    /// The past has ended.
    fn end<P: Probe>(&mut self, device: &mut Device<P>) -> Warmed {
        let pages = self.alone.written;
        let ended = device.play_ftl(|ftl, plan| self.alone.end(ftl, plan));
        device.begin_ledger();
        let last = &self.rounds[self.rounds.len().saturating_sub(ROUNDS)..];
        Warmed {
            pages,
            turnover: self.turnover,
            needed: 0,
            reached: self.reached && ended.is_ok(),
            waf: last.iter().sum::<f64>() / last.len().max(1) as f64,
            change: self.change().map_or(0.0, |(change, _)| change),
        }
    }
}

impl Warming {
    /// Plays some requests more; whether it has ended.
    pub(super) fn play<P: Probe>(&mut self, device: &mut Device<P>, requests: u64) -> Result<bool, RunError> {
        if let Some(kept) = self.kept.take() {
            kept.restore(device);
            device.begin_ledger();
            self.warmed = Some(kept.warmed);
            return Ok(true);
        }
        for _ in 0..requests.div_ceil(BATCH as u64) {
            self.batch.clear();
            fill_past(self.past.as_mut(), self.requests, &mut self.batch, BATCH)?;
            let mut batch = std::mem::take(&mut self.batch);
            // As those of the run itself (`--beyond`).
            let capacity = device.capacity();
            batch.iter_mut().for_each(|request| *request = request.within(capacity));
            let played = device.play_ftl(|ftl, plan| {
                let first_page = |request: &Request| Lpn(request.offset.0 / plan.layout.page_size.0);
                let all = batch.iter().enumerate().try_for_each(|(at, request)| {
                    batch.get(at + AHEAD).iter().for_each(|later| ftl.prefetch(first_page(later)));
                    batch.get(at + AHEAD / 2).iter().for_each(|later| ftl.prefetch_further(first_page(later)));
                    self.request(ftl, plan, request)
                });
                all.map(|()| warming::programmed(ftl))
            });
            self.stands_still = played.is_err() || batch.is_empty();
            self.requests += batch.len() as u64;
            self.batch = batch;
            let most = played.unwrap_or(0).max(self.played).max(self.requests / REQUESTS_OF_PAGE);
            if self.reached || self.stands_still || most >= MOST {
                let warmed = self.end(device);
                if let Some(key) = self.key {
                    kept::keep(key, device, warmed);
                }
                self.warmed = Some(warmed);
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// What came of it, once it has ended.
    pub(super) fn warmed(&self) -> Option<Warmed> {
        self.warmed
    }

    /// Pages of host data that have been played so far, and the write amplification then.
    pub(super) fn so_far(&self) -> Option<(u64, f64)> {
        Some((self.alone.written, self.rounds.last().copied().unwrap_or(0.0)))
    }
}

/// Takes up to this many requests of a past, of which this many were taken before. Those that wait for completions have
/// them at once, one after another.
///
/// # Errors
/// The source cannot be read.
pub fn fill_past(past: &mut dyn Source, taken: u64, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
    if past.closed_loop().is_none() {
        return past.fill(batch, most);
    }
    for number in taken..taken + most as u64 {
        let count = batch.len();
        past.fill(batch, 1)?;
        let Some(request) = batch.get(count).copied() else { break };
        if let Some(source) = past.closed_loop() {
            source.completed(number, request.queue, request.time + SERVED);
        }
    }
    Ok(())
}

/// The mean of some numbers, and by how much it varies by chance, as they do.
fn mean(of: &[f64]) -> (f64, f64) {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    let squares: f64 = of.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}
