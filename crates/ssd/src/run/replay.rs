//! The replay of a workload: its requests handed to the device as they fall due.

use std::path::PathBuf;

use units::{Bytes, Span, Time};
use workload::{Beyond, Op, Request, Source};

use super::measured::{MeasuredDevice, Played, Saving};
use super::options::{Replay, RunOptions, refused};
use super::request_log::RequestLog;
use super::steady::Steady;
use crate::config::Config;
use crate::device::{Completion, Device};
use crate::error::RunError;
use crate::observe::probe::{Probe, Unwatched};
use crate::observe::stats::SteadyState;

/// Most arrivals handed to the device ahead of its time: enough to hide its cache misses, few enough to stay in cache.
const WINDOW: usize = 64;

/// Most looks at the device (an interval of the time series each, some thousandth of what has been simulated) in a step: one that is
/// long because its requests are ends before them.
const LOOKS_OF_STEP: u64 = 16;

/// A run in progress.
pub struct Run<P: Probe = Unwatched> {
    pub(super) measured: MeasuredDevice<P>,
    pub(super) source: Box<dyn Source>,
    options: RunOptions,
    /// Requests read ahead, in reverse order.
    batch: Vec<Request>,
    ended: bool,
    first_time: Option<Time>,
    pub(super) wrapped: u64,
    /// Requests of the source wait for completions.
    closed_loop: bool,
    /// The drive's life has ended, and the run with it.
    end_of_life: Option<RunError>,
    /// Requests asked for that the source no longer had.
    pub(super) missing: Option<u64>,
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

impl<P: Probe> Run<P> {
    /// Prepares a run that a probe watches.
    pub fn watched(
        config: &Config,
        mut source: Box<dyn Source>,
        options: RunOptions,
        log: Option<Box<dyn RequestLog>>,
        probe: P,
    ) -> Result<Run<P>, RunError> {
        let closed_loop = source.closed_loop().is_some();
        if closed_loop && options.replay != Replay::Timed(1.0) {
            let problem = "is given, and the workload paces itself by its iodepth";
            let remedy = "leave it out, or set workload.iodepth to \"none\"";
            return Err(refused("--replay", problem, remedy).into());
        }
        let paced = !closed_loop && matches!(options.replay, Replay::Timed(_));
        let mut measured = MeasuredDevice::new(config, &options, log, probe, source.past().map(|past| (past, paced)))?;
        if source.leads() {
            measured.settle_first(options.requests.unwrap_or(u64::MAX));
        }
        Ok(Run {
            measured,
            source,
            options,
            batch: Vec::new(),
            ended: false,
            first_time: None,
            wrapped: 0,
            closed_loop,
            end_of_life: None,
            missing: None,
            looks: 0,
        })
    }

    /// Writes a checkpoint when the workload has gone on for so long, as the device stands then.
    pub fn save_after(&mut self, after: Span, path: PathBuf) {
        self.measured.saving = Some(Saving { after, path });
    }

    /// Whether a checkpoint is still to be written.
    pub fn saves(&self) -> bool {
        self.measured.saving.is_some()
    }

    /// Why the run ended before its workload, where the drive's life has ended: what was found out until then is its result.
    pub fn end_of_life(&self) -> Option<&RunError> {
        self.end_of_life.as_ref()
    }

    /// The device as it stands.
    pub fn into_device(self) -> Device<P> {
        self.measured.device
    }

    /// The device.
    pub fn device(&self) -> &Device<P> {
        &self.measured.device
    }

    /// Requests submitted and completed so far.
    pub fn counts(&self) -> (u64, u64) {
        // While the drive is overwritten before the workload, those writes are outstanding.
        (self.measured.submitted, self.measured.submitted.saturating_sub(self.measured.device.outstanding().0))
    }

    /// How much of the workload has been played, from 0 to 1, where that can be known. It moves while a single request is served, page
    /// by page.
    pub fn progress(&self) -> Option<f64> {
        if self.measured.preconditions() || self.measured.steady.is_some() {
            return None;
        }
        let served = self.counts().1 as f64 + self.measured.device.partly_served();
        let by_count = self.options.requests.map(|limit| served / self.measured.all_requests(limit).max(1) as f64);
        let now = self.measured.device.now().0.saturating_sub(self.measured.counts_from().0);
        let by_time = self.options.duration.map(|limit| now as f64 / limit.0.max(1) as f64);
        [by_count, by_time, self.source.progress()].into_iter().flatten().reduce(f64::max).map(|p| p.min(1.0))
    }

    /// Pages of host data that have been played through the FTL alone so far, and the write amplification then, while the drive is brought to the state that its
    /// load leaves.
    pub fn warms(&self) -> Option<(u64, f64)> {
        self.measured.warms()
    }

    /// How far the search for a steady state has come, where one was asked for.
    pub fn steady(&self) -> Option<SteadyState> {
        self.measured.steady.as_ref().map(Steady::state)
    }

    /// Plays on for some `requests` more, or for a part of them where they are long; returns whether the workload has been played to
    /// its end.
    pub fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        self.looks = LOOKS_OF_STEP;
        if self.measured.preconditions() {
            self.measured.precondition(requests)?;
            return Ok(false);
        }
        let target = self.measured.submitted + requests;
        let played = match self.options.replay {
            _ if self.end_of_life.is_some() => return Ok(true),
            _ if self.closed_loop => self.step_by_completions(target),
            Replay::Timed(speed) => self.step_timed(speed, target),
            Replay::Closed(depth) => self.step_closed(u64::from(depth), target),
        };
        if let Err(end @ RunError::EndOfLife { .. }) = played {
            self.measured.collect(reported(&mut *self.source))?;
            self.end_of_life = Some(end);
            return Ok(true);
        }
        played
    }

    fn step_timed(&mut self, speed: f64, target: u64) -> Result<bool, RunError> {
        while self.measured.submitted < target {
            while self.measured.device.pending_arrivals() < WINDOW
                && let Some(request) = self.next_request()?
            {
                let first = *self.first_time.get_or_insert(request.time);
                let since = request.time.since(first);
                let since = if speed == 1.0 { since } else { Span((since.0 as f64 / speed) as u64) };
                let time = self.measured.origin + since;
                if self.is_too_late(time) {
                    self.ended = true;
                    break;
                }
                self.submit(request, time)?;
            }
            if self.has_ended() {
                return self.finish_all();
            }
            // Some are always ahead: time never goes beyond a request that has not been handed over.
            let play = |device: &mut Device<P>, limit| device.advance_to_arrivals(WINDOW / 2, limit);
            if let Played::Paused = self.advance_by(Time::NEVER, play)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// A source that wants to know of completions before it says what comes next.
    fn step_by_completions(&mut self, target: u64) -> Result<bool, RunError> {
        while self.measured.submitted < target {
            let now = self.measured.device.now();
            if self.is_too_late(now) {
                return self.finish_all();
            }
            let next = self.source.closed_loop().and_then(|source| source.next_time());
            match next.map(|time| self.measured.origin + time.since(Time::ZERO)) {
                Some(time) if time <= now => {
                    let Some(request) = self.next_request()? else { return self.finish_all() };
                    self.submit(request, now)?;
                }
                None if self.measured.device.outstanding().0 == 0 => return Ok(true),
                time => {
                    if !self.advance_to_completion(time.unwrap_or(Time::NEVER))? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(false)
    }

    fn step_closed(&mut self, depth: u64, target: u64) -> Result<bool, RunError> {
        while self.measured.submitted < target {
            while self.measured.device.outstanding().0 < depth {
                let now = self.measured.device.now();
                if self.is_too_late(now) {
                    self.ended = true;
                }
                let Some(request) = self.next_request()? else {
                    return self.finish_all();
                };
                self.submit(request, now)?;
            }
            if !self.advance_to_completion(Time::NEVER)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Whether nothing is submitted at a time any more: what counts has lasted as long as was asked for.
    fn is_too_late(&self, time: Time) -> bool {
        let lasted = time.0.saturating_sub(self.measured.counts_from().0);
        self.options.duration.is_some_and(|limit| lasted > limit.0)
    }

    /// Whether nothing more is submitted.
    fn has_ended(&self) -> bool {
        self.ended || self.measured.steady_ended
    }

    /// The next request of the workload, brought within the device's capacity.
    fn next_request(&mut self) -> Result<Option<Request>, RunError> {
        let is_last = |limit| self.measured.submitted >= self.measured.all_requests(limit);
        if self.has_ended() || self.options.requests.is_some_and(is_last) {
            self.ended = true;
            self.batch.clear();
            return Ok(None);
        }
        if self.batch.is_empty() {
            self.source.fill(&mut self.batch, if self.closed_loop { 1 } else { 256 })?;
            self.batch.reverse();
        }
        let Some(mut request) = self.batch.pop() else {
            self.ended = true;
            let submitted = self.measured.submitted - self.measured.settled;
            self.missing = self.options.requests.map(|limit| limit.saturating_sub(submitted));
            return Ok(None);
        };
        let capacity = self.measured.device.capacity().0;
        if request.offset.0 + request.bytes.0 > capacity && request.op != Op::Flush {
            if self.options.beyond == Beyond::Refuse {
                let (offset, bytes, capacity) = (request.offset, request.bytes, self.measured.device.capacity());
                return Err(RunError::OutOfRange { offset, bytes, capacity });
            }
            self.wrapped += 1;
            request.bytes = Bytes(request.bytes.0.min(capacity));
            request.offset = Bytes((request.offset.0 % capacity).min(capacity - request.bytes.0));
        }
        Ok(Some(request))
    }

    fn submit(&mut self, request: Request, time: Time) -> Result<(), RunError> {
        self.measured.submit(request, time, reported(&mut *self.source)).map(|_| ())
    }

    /// Plays until something completes, or to `time`; returns whether it has come so far in this step.
    fn advance_to_completion(&mut self, time: Time) -> Result<bool, RunError> {
        match self.advance_by(time, |device, limit| device.advance_to_completion(limit))? {
            Played::Came => Ok(true),
            Played::Over => self.measured.look().map(|()| true),
            Played::Paused => Ok(false),
        }
    }

    /// Plays until `play` says that what it plays to has come, to `time`, or to the end of the step.
    fn advance_by(
        &mut self,
        time: Time,
        play: impl Fn(&mut Device<P>, Time) -> Result<bool, RunError>,
    ) -> Result<Played, RunError> {
        self.measured.advance_by(time, &mut self.looks, play, reported(&mut *self.source))
    }

    fn finish_all(&mut self) -> Result<bool, RunError> {
        while self.measured.device.outstanding().0 > 0 {
            if !self.advance_to_completion(Time::NEVER)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a source is told of completions.
fn reported(source: &mut dyn Source) -> impl FnMut(&Completion) {
    |completion| {
        if let Some(source) = source.closed_loop() {
            source.completed(completion.request.queue, completion.finish);
        }
    }
}
