//! The replay of a workload: a host and a drive, played together.

use std::path::PathBuf;

use units::{Span, Time};
use workload::Source;

use super::drive::RunDrive;
use super::host::{Host, Next, Standing, Supply, replaying};
use super::measured::{MeasuredDrive, Played, Saving};
use super::options::{Replay, RunOptions};
use super::past_load;
use super::reading::Reading;
use super::refusal::refused;
use super::request_log::RequestLog;
use super::steady::Steady;
use super::warming;
use crate::config::Config;
use crate::device::Device;
use crate::error::RunError;
use crate::observe::probe::{Probe, Unwatched};
use crate::observe::stats::SteadyState;

/// Most looks at the device (an interval of the time series each, some thousandth of what has been simulated) in a
/// step: one that is long because its requests are ends before them.
const LOOKS_OF_STEP: u64 = 16;

/// A run in progress.
pub struct Run<D: RunDrive = Device> {
    pub(super) measured: MeasuredDrive<D>,
    host: Box<dyn Host>,
    options: RunOptions,
    /// The drive's life has ended, and the run with it.
    end_of_life: Option<RunError>,
    /// Looks at the device that the present step may still take.
    looks: u64,
}

impl Run {
    /// Prepares a run.
    pub fn new(
        config: &Config,
        source: Box<dyn Source>,
        options: RunOptions,
        log: Option<Box<dyn RequestLog>>,
    ) -> Result<Run, RunError> {
        Run::watched(config, source, options, log, Unwatched)
    }
}

impl<P: Probe> Run<Device<P>> {
    /// Prepares a run that a probe watches.
    pub fn watched(
        config: &Config,
        mut source: Box<dyn Source>,
        options: RunOptions,
        log: Option<Box<dyn RequestLog>>,
        probe: P,
    ) -> Result<Run<Device<P>>, RunError> {
        let paced = paced(source.as_mut(), &options);
        let decided = past_load::decided(config, &options, source.past(), paced);
        let past = source.past().map(|past| (past, paced));
        let mut measured = MeasuredDrive::of_device(&decided.config, &options, log, probe, past)?;
        measured.past_assumed = decided.assumed;
        Run::of(measured, source, options)
    }
}

/// Whether requests come at their times, whatever becomes of others.
fn paced(source: &mut dyn Source, options: &RunOptions) -> bool {
    source.closed_loop().is_none() && matches!(options.replay, Replay::Timed(_))
}

impl<D: RunDrive> Run<D> {
    /// Prepares a run on a drive as it stands. Of the options, `seed` and `checkpoint` are the drive's own.
    pub fn on(
        drive: D,
        mut source: Box<dyn Source>,
        options: RunOptions,
        log: Option<Box<dyn RequestLog>>,
    ) -> Result<Run<D>, RunError> {
        let mut measured = MeasuredDrive::new(drive, &options, log);
        let paced = paced(source.as_mut(), &options);
        if let Some(past) = source.past().filter(|_| options.checkpoint.is_none()) {
            measured.begin_after(past, paced)?;
        }
        measured.begin_in_its_state();
        Run::of(measured, source, options)
    }

    fn of(
        mut measured: MeasuredDrive<D>,
        mut source: Box<dyn Source>,
        options: RunOptions,
    ) -> Result<Run<D>, RunError> {
        if source.closed_loop().is_some() && options.replay != Replay::Timed(1.0) {
            let problem = "is given, and the workload paces itself by its iodepth";
            let remedy = "leave it out, or set workload.iodepth to \"none\"";
            return Err(refused("--replay", problem, remedy).into());
        }
        let (plan, capacity) = (measured.drive.plan(), measured.drive.capacity());
        let evenly =
            source.past().is_some_and(|past| !past.written().is_empty() && warming::is_uniform(past, capacity, plan));
        if source.leads() || evenly && options.until_steady.is_some() {
            measured.settle_first(options.requests.unwrap_or(u64::MAX), evenly);
        }
        let supply = Supply::new(source, measured.drive.capacity(), options.beyond);
        let host = replaying(supply, options.replay);
        Ok(Run { measured, host, options, end_of_life: None, looks: 0 })
    }

    /// Writes a checkpoint when the workload has gone on for so long, as the device stands then.
    pub fn save_after(&mut self, after: Span, path: PathBuf) {
        self.measured.saving = Some(Saving { after, path });
    }

    /// Whether a checkpoint is still to be written.
    pub fn saves(&self) -> bool {
        self.measured.saving.is_some()
    }

    /// Why the run ended before its workload, where the drive's life has ended: what was found out until then is its
    /// result.
    pub fn end_of_life(&self) -> Option<&RunError> {
        self.end_of_life.as_ref()
    }

    /// The drive as it stands.
    pub fn into_device(self) -> D {
        self.measured.drive
    }

    /// The drive.
    pub fn device(&self) -> &D {
        &self.measured.drive
    }

    /// Requests submitted and completed so far.
    pub fn counts(&self) -> (u64, u64) {
        // While the drive is overwritten before the workload, those writes are outstanding.
        (self.measured.submitted, self.measured.submitted.saturating_sub(self.measured.drive.outstanding()))
    }

    /// How much of the workload has been played, from 0 to 1, where that can be known. It moves while a single request
    /// is served, page by page.
    pub fn progress(&self) -> Option<f64> {
        if self.measured.preconditions() || self.measured.steady.is_some() {
            return None;
        }
        let served = self.counts().1 as f64 + self.measured.drive.partly_served();
        let by_count = self.options.requests.map(|limit| served / self.measured.all_requests(limit).max(1) as f64);
        let now = self.measured.drive.now().0.saturating_sub(self.measured.counts_from().0);
        let by_time = self.options.duration.map(|limit| now as f64 / limit.0.max(1) as f64);
        [by_count, by_time, self.host.supply().source.progress()]
            .into_iter()
            .flatten()
            .reduce(f64::max)
            .map(|p| p.min(1.0))
    }

    /// Pages of host data that have been played through the FTL alone so far, and the write amplification then, while
    /// the drive is brought to the state that its load leaves.
    pub fn warms(&self) -> Option<(u64, f64)> {
        self.measured.warms()
    }

    /// How far the search for a steady state has come, where one was asked for.
    pub fn steady(&self) -> Option<SteadyState> {
        self.measured.steady.as_ref().map(Steady::state)
    }

    /// Plays on for some `requests` more, or for a part of them where they are long; returns whether the workload has
    /// been played to its end.
    pub fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        self.looks = LOOKS_OF_STEP;
        if self.measured.preconditions() {
            self.measured.precondition(requests)?;
            return Ok(false);
        }
        if self.end_of_life.is_some() {
            return Ok(true);
        }
        let played = self.play(self.measured.submitted + requests);
        if let Err(end @ RunError::EndOfLife { .. }) = played {
            self.measured.collect(|completion| self.host.completed(completion))?;
            self.end_of_life = Some(end);
            return Ok(true);
        }
        played
    }

    /// Plays until this many requests have been submitted, or to the end of the step; returns whether the workload has
    /// been played to its end.
    fn play(&mut self, target: u64) -> Result<bool, RunError> {
        while self.measured.submitted < target {
            let next = self.host.next(&self.standing())?;
            match next {
                Next::Submit(request, time) => {
                    self.measured.submit(request, time, |completion| self.host.completed(completion))?;
                }
                Next::Completion(time) => {
                    if !self.advance_to_completion(time)? {
                        return Ok(false);
                    }
                }
                Next::Arrivals(few) => {
                    let play = |drive: &mut D, limit: Time| drive.advance_to_arrivals(few, limit);
                    if let Played::Paused = self.advance_by(Time::NEVER, play)? {
                        return Ok(false);
                    }
                }
                Next::Over => return self.finish_all(),
            }
        }
        Ok(false)
    }

    /// How the drive stands, for the host.
    #[inline]
    fn standing(&self) -> Standing {
        let measured = &self.measured;
        let is_last = |limit| measured.submitted >= measured.all_requests(limit);
        let latest = |limit: Span| Time(measured.counts_from().0.saturating_add(limit.0));
        Standing {
            now: measured.drive.now(),
            origin: measured.origin,
            latest: self.options.duration.map_or(Time::NEVER, latest),
            enough: measured.steady_ended || self.options.requests.is_some_and(is_last),
            outstanding: measured.drive.outstanding(),
            arrivals: measured.drive.pending_arrivals(),
        }
    }

    /// What came of reading the workload.
    pub(super) fn reading(&self) -> Reading {
        let supply = self.host.supply();
        let submitted = self.measured.submitted - self.measured.settled;
        let missing = self.options.requests.filter(|_| supply.exhausted).map(|limit| limit.saturating_sub(submitted));
        let source = &supply.source;
        Reading {
            counts: source.counts(),
            wrapped: supply.wrapped,
            missing,
            // A generator goes on for as many requests as are asked for.
            over: supply.exhausted && source.past().is_none(),
            statistics: source.statistics(),
        }
    }

    /// Plays until something completes, or to `time`; returns whether it has come so far in this step.
    fn advance_to_completion(&mut self, time: Time) -> Result<bool, RunError> {
        let played = self.advance_by(time, |drive, limit| drive.advance_to_completion(limit))?;
        self.measured.book(self.host.take_ended());
        match played {
            Played::Came => Ok(true),
            Played::Over => self.measured.look().map(|()| true),
            Played::Paused => Ok(false),
        }
    }

    /// Plays until `play` says that what it plays to has come, to `time`, or to the end of the step.
    fn advance_by(
        &mut self,
        time: Time,
        play: impl Fn(&mut D, Time) -> Result<bool, RunError>,
    ) -> Result<Played, RunError> {
        self.measured.advance_by(time, &mut self.looks, play, |completion| self.host.completed(completion))
    }

    fn finish_all(&mut self) -> Result<bool, RunError> {
        while self.measured.drive.outstanding() > 0 {
            if !self.advance_to_completion(Time::NEVER)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
