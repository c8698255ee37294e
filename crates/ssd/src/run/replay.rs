//! The replay of a workload: its requests handed to the device as they fall due, and what completes booked.

use units::{Bytes, ConfigError, Span, Time};
use workload::{Beyond, Op, Request, Source};

use super::options::{Replay, RunOptions};
use super::precondition::Overwriting;
use super::request_log::RequestLog;
use super::steady::{Steady, totals};
use crate::config::Config;
use crate::device::{Completion, Device};
use crate::error::RunError;
use crate::observe::probe::{Probe, Unwatched};
use crate::observe::stats::Totals;
use crate::observe::stats::latency::ByQueue;
use crate::observe::stats::series::Series;

/// Most arrivals handed to the device ahead of its time: enough to hide its cache misses, few enough to stay in cache.
const WINDOW: usize = 64;

/// A run in progress.
pub struct Run<P: Probe = Unwatched> {
    pub(super) device: Device<P>,
    pub(super) source: Box<dyn Source>,
    options: RunOptions,
    /// Requests read ahead, in reverse order.
    batch: Vec<Request>,
    ended: bool,
    submitted: u64,
    first_time: Option<Time>,
    pub(super) latencies: ByQueue,
    pub(super) series: Series,
    pub(super) log: Option<Box<dyn RequestLog>>,
    pub(super) baseline: Option<Totals>,
    preconditioning: Option<Overwriting>,
    /// When the device began with the workload, and the number of its first request.
    origin: Time,
    first_id: u64,
    pub(super) steady: Option<Steady>,
    last_completion: Time,
    pub(super) wrapped: u64,
    queues: u16,
    /// Requests of the source wait for completions.
    closed_loop: bool,
    /// The drive's life has ended, and the run with it.
    end_of_life: Option<RunError>,
    /// Requests asked for that the source no longer had.
    pub(super) missing: Option<u64>,
}

impl Run {
    /// Prepares a run.
    pub fn new(
        config: &Config,
        source: Box<dyn Source>,
        options: RunOptions,
        log: Option<Box<dyn RequestLog>>,
    ) -> Result<Run, ConfigError> {
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
    ) -> Result<Run<P>, ConfigError> {
        let closed_loop = source.closed_loop().is_some();
        if closed_loop && options.replay != Replay::Timed(1.0) {
            return Err(ConfigError {
                origin: "--replay".into(),
                line: None,
                key: None,
                problem: "is given, and the workload paces itself by its iodepth".into(),
                remedy: "leave it out, or set workload.iodepth to \"none\"".into(),
            });
        }
        let mut device = Device::watched(config, options.seed, probe)?;
        let queues = config.host.queues;
        let steady = options.until_steady.map(|round| Steady::new(round, usize::from(queues), &device));
        let device_plan = device.plan().clone();
        let preconditioning = Overwriting::new(&device_plan, options.seed);
        if preconditioning.is_none() {
            device.workload_begins();
        }
        Ok(Run {
            device,
            source,
            baseline: None,
            preconditioning,
            origin: Time::ZERO,
            first_id: 0,
            steady,
            options,
            batch: Vec::new(),
            ended: false,
            submitted: 0,
            first_time: None,
            latencies: ByQueue::new(usize::from(queues)),
            series: Series::new(),
            log,
            last_completion: Time::ZERO,
            wrapped: 0,
            queues,
            closed_loop,
            end_of_life: None,
            missing: None,
        })
    }

    /// Why the run ended before its workload, where the drive's life has ended: what was found out until then is its result.
    pub fn end_of_life(&self) -> Option<&RunError> {
        self.end_of_life.as_ref()
    }

    /// The device as it stands.
    pub fn into_device(self) -> Device<P> {
        self.device
    }

    /// The device.
    pub fn device(&self) -> &Device<P> {
        &self.device
    }

    /// Requests submitted and completed so far.
    pub fn counts(&self) -> (u64, u64) {
        // While the drive is overwritten before the workload, those writes are outstanding.
        (self.submitted, self.submitted.saturating_sub(self.device.outstanding().0))
    }

    /// How much of the workload has been submitted, from 0 to 1, where that can be known.
    pub fn progress(&self) -> Option<f64> {
        let by_count = self.options.requests.map(|limit| self.submitted as f64 / limit.max(1) as f64);
        if self.preconditioning.is_some() || self.steady.is_some() {
            return None;
        }
        let now = self.device.now().since(self.origin);
        let by_time = self.options.duration.map(|limit| now.0 as f64 / limit.0.max(1) as f64);
        [by_count, by_time, self.source.progress()].into_iter().flatten().reduce(f64::max).map(|p| p.min(1.0))
    }

    /// Plays on for some `requests` more; returns whether the workload has been played to its end.
    pub fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        if self.preconditioning.is_some() {
            self.precondition(requests)?;
            return Ok(false);
        }
        let target = self.submitted + requests;
        let played = match self.options.replay {
            _ if self.end_of_life.is_some() => return Ok(true),
            _ if self.closed_loop => self.step_by_completions(target),
            Replay::Timed(speed) => self.step_timed(speed, target),
            Replay::Closed(depth) => self.step_closed(u64::from(depth), target),
        };
        if let Err(end @ RunError::EndOfLife { .. }) = played {
            self.collect()?;
            self.end_of_life = Some(end);
            return Ok(true);
        }
        played
    }

    fn step_timed(&mut self, speed: f64, target: u64) -> Result<bool, RunError> {
        while self.submitted < target {
            while self.device.pending_arrivals() < WINDOW
                && let Some(request) = self.next_request()?
            {
                let first = *self.first_time.get_or_insert(request.time);
                let since = request.time.since(first);
                let since = if speed == 1.0 { since } else { Span((since.0 as f64 / speed) as u64) };
                if self.options.duration.is_some_and(|limit| since > limit) {
                    self.ended = true;
                    break;
                }
                self.submit(request, self.origin + since)?;
            }
            if self.ended {
                return self.finish_all();
            }
            // Some are always ahead: time never goes beyond a request that has not been handed over.
            self.advance_by(Time::NEVER, |device, limit| device.advance_to_arrivals(WINDOW / 2, limit))?;
        }
        Ok(false)
    }

    /// A source that wants to know of completions before it says what comes next.
    fn step_by_completions(&mut self, target: u64) -> Result<bool, RunError> {
        while self.submitted < target {
            let now = self.device.now();
            if self.options.duration.is_some_and(|limit| now.since(self.origin) > limit) {
                return self.finish_all();
            }
            let next = self.source.closed_loop().and_then(|source| source.next_time());
            match next.map(|time| self.origin + time.since(Time::ZERO)) {
                Some(time) if time <= now => {
                    let Some(request) = self.next_request()? else { return self.finish_all() };
                    self.submit(request, now)?;
                }
                None if self.device.outstanding().0 == 0 => return Ok(true),
                time => self.advance_to_completion(time.unwrap_or(Time::NEVER))?,
            }
        }
        Ok(false)
    }

    fn step_closed(&mut self, depth: u64, target: u64) -> Result<bool, RunError> {
        while self.submitted < target {
            while self.device.outstanding().0 < depth {
                let now = self.device.now();
                if self.options.duration.is_some_and(|limit| now.since(self.origin) > limit) {
                    self.ended = true;
                }
                let Some(request) = self.next_request()? else {
                    return self.finish_all();
                };
                self.submit(request, now)?;
            }
            self.advance_to_completion(Time::NEVER)?;
        }
        Ok(false)
    }

    /// The next request of the workload, brought within the device's capacity.
    fn next_request(&mut self) -> Result<Option<Request>, RunError> {
        if self.ended || self.options.requests.is_some_and(|limit| self.submitted >= limit) {
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
            self.missing = self.options.requests.map(|limit| limit - self.submitted);
            return Ok(None);
        };
        let capacity = self.device.capacity().0;
        if request.offset.0 + request.bytes.0 > capacity && request.op != Op::Flush {
            if self.options.beyond == Beyond::Refuse {
                let (offset, bytes, capacity) = (request.offset, request.bytes, self.device.capacity());
                return Err(RunError::OutOfRange { offset, bytes, capacity });
            }
            self.wrapped += 1;
            request.bytes = Bytes(request.bytes.0.min(capacity));
            request.offset = Bytes((request.offset.0 % capacity).min(capacity - request.bytes.0));
        }
        Ok(Some(request))
    }

    fn submit(&mut self, mut request: Request, time: Time) -> Result<(), RunError> {
        request.time = time;
        if self.submitted == self.options.warmup {
            if self.options.warmup > 0 {
                self.advance(time)?;
            }
            self.baseline = Some(totals(&self.device));
        }
        self.device.submit(request)?;
        self.submitted += 1;
        Ok(())
    }

    /// Overwrites the drive before the workload, some requests at a time.
    fn precondition(&mut self, requests: u64) -> Result<(), RunError> {
        let Some(mut writes) = self.preconditioning.take() else { return Ok(()) };
        if !writes.play(&mut self.device, requests)? {
            self.preconditioning = Some(writes);
            return Ok(());
        }
        self.origin = self.device.now();
        self.first_id = writes.written();
        self.device.workload_begins();
        self.last_completion = self.origin;
        self.series.start(self.origin, self.device.idle_time());
        if let Some(steady) = &mut self.steady {
            steady.start(&self.device);
        }
        Ok(())
    }

    /// When the time series or a round needs to look at the device next.
    fn next_look(&self) -> Time {
        let round = self.steady.as_ref().map_or(Time::NEVER, |steady| steady.round_end());
        self.series.next_end().min(round)
    }

    /// The device has been played up to the time of the next look.
    fn look(&mut self) {
        let now = self.device.now();
        if now >= self.series.next_end() {
            self.close_interval();
        }
        if let Some(steady) = &mut self.steady
            && now >= steady.round_end()
            && (steady.close(&self.device) || self.device.end_of_life().is_some())
        {
            self.ended = true;
        }
    }

    /// Plays up to `time`, closing the time series' intervals on the way.
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        while self.next_look() <= time {
            self.device.advance(self.next_look())?;
            self.collect()?;
            self.look();
        }
        self.device.advance(time)?;
        self.collect()
    }

    /// Plays until something completes, or to `time`.
    fn advance_to_completion(&mut self, time: Time) -> Result<(), RunError> {
        self.advance_by(time, |device, limit| device.advance_to_completion(limit))
    }

    /// Plays until `play` says that what it plays to has come, or to `time`, closing intervals on the way.
    fn advance_by(
        &mut self,
        time: Time,
        play: impl Fn(&mut Device<P>, Time) -> Result<bool, RunError>,
    ) -> Result<(), RunError> {
        loop {
            let limit = self.next_look().min(time);
            if play(&mut self.device, limit)? {
                return self.collect();
            }
            if time == Time::NEVER && self.device.outstanding().0 == 0 {
                return Ok(());
            }
            if time == Time::NEVER && self.device.idle() {
                return Err(RunError::Broken("requests are outstanding and nothing is going to happen".into()));
            }
            self.device.advance(limit)?;
            self.collect()?;
            self.look();
            if limit == time {
                return Ok(());
            }
        }
    }

    pub(super) fn close_interval(&mut self) {
        let outstanding = self.device.outstanding().0 - self.device.pending_arrivals() as u64;
        let idle = self.device.idle_time();
        let free = self.device.free_blocks();
        self.series.close(self.device.now(), outstanding, self.device.buffered_pages(), free, idle);
    }

    fn finish_all(&mut self) -> Result<bool, RunError> {
        while self.device.outstanding().0 > 0 {
            self.advance_to_completion(Time::NEVER)?;
        }
        Ok(true)
    }

    /// Books what has completed.
    fn collect(&mut self) -> Result<(), RunError> {
        for mut completion in self.device.take_completions() {
            self.last_completion = completion.finish;
            completion.id -= self.first_id;
            completion.finish = Time(completion.finish.0 - self.origin.0);
            completion.request.time = Time(completion.request.time.0 - self.origin.0);
            let Completion { id, request, .. } = completion;
            if let Some(source) = self.source.closed_loop() {
                source.completed(request.queue, completion.finish);
            }
            let latency = completion.latency();
            if !completion.refused {
                self.series.completed(request.op, request.bytes.0);
            }
            if id >= self.options.warmup && !completion.refused {
                let queue = usize::from(request.queue % self.queues);
                self.latencies.record(queue, request.op, latency, request.bytes.0);
                if let Some(steady) = &mut self.steady {
                    steady.latencies().record(queue, request.op, latency, request.bytes.0);
                }
            }
            if let Some(log) = &mut self.log {
                log.push(&completion)?;
            }
        }
        Ok(())
    }
}
