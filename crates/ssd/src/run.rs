//! A run: a loop over the device that replays a workload and collects statistics.

use units::value::{Scalar, Value};
use units::{Bytes, ConfigError, Span, Time};
use workload::{Op, Request, Source};

use crate::config::Config;
use crate::device::{Completion, Device};
use crate::error::RunError;
use crate::log::RequestLog;
use crate::stats::latency::ByQueue;
use crate::stats::series::Series;
use crate::stats::{Counters, Usage, Victims};

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// At their times, so many times faster.
    Timed(f64),
    /// As soon as another completes, so many at once, whatever their times.
    Closed(u32),
}

impl Value for Replay {
    fn expects() -> String {
        "\"timed\", \"timed:xN\" (N times faster) or \"closed:QD\" (QD requests at once)".into()
    }
    fn read(scalar: &Scalar) -> Option<Replay> {
        let Scalar::Text(text) = scalar else { return None };
        match text.split_once(':') {
            None if text == "timed" => Some(Replay::Timed(1.0)),
            Some(("timed", speed)) => {
                let speed: f64 = speed.strip_prefix('x')?.parse().ok()?;
                (speed.is_finite() && (1e-6..=1e9).contains(&speed)).then_some(Replay::Timed(speed))
            }
            Some(("closed", depth)) => {
                depth.parse().ok().filter(|depth| (1..=1 << 20).contains(depth)).map(Replay::Closed)
            }
            _ => None,
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Replay::Timed(1.0) => "timed".into(),
            Replay::Timed(speed) => format!("timed:x{speed}"),
            Replay::Closed(depth) => format!("closed:{depth}"),
        })
    }
}

/// What to run, beside device and workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How requests are paced.
    pub replay: Replay,
    /// Stop after so many requests.
    pub requests: Option<u64>,
    /// Submit nothing after this simulated time.
    pub duration: Option<Span>,
    /// Requests at the start that are played but left out of the statistics.
    pub warmup: u64,
    /// Seed of the device's random streams.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { replay: Replay::Timed(1.0), requests: None, duration: None, warmup: 0, seed: 1 }
    }
}

/// Arrivals handed to the device ahead of its time: enough to hide its cache misses, few enough to stay in cache.
const WINDOW: usize = 64;

/// A run in progress.
pub struct Run {
    device: Device,
    source: Box<dyn Source>,
    plan: Plan,
    /// Requests read ahead, in reverse order.
    batch: Vec<Request>,
    ended: bool,
    submitted: u64,
    first_time: Option<Time>,
    latencies: ByQueue,
    series: Series,
    log: Option<RequestLog>,
    baseline: Option<(Counters, Usage, Victims)>,
    last_completion: Time,
    wrapped: u64,
    queues: u16,
}

/// What a run has found out.
pub struct Outcome {
    /// Latencies by queue, without the warm-up.
    pub latencies: ByQueue,
    /// Over time, warm-up included.
    pub series: Series,
    /// Counts, without the warm-up.
    pub counters: Counters,
    /// Time by cause, without the warm-up.
    pub usage: Usage,
    /// Valid pages of the blocks collected, without the warm-up.
    pub victims: Victims,
    /// Requests whose addresses lay beyond the device and were wrapped around.
    pub wrapped: u64,
    /// Bytes that the host wrote and that are still in the buffer.
    pub buffered_bytes: u64,
    /// The device in its final state.
    pub device: Device,
    /// The per-request log, if one was kept.
    pub log: Option<RequestLog>,
}

impl Run {
    /// Prepares a run.
    pub fn new(
        config: &Config,
        source: Box<dyn Source>,
        plan: Plan,
        log: Option<RequestLog>,
    ) -> Result<Run, ConfigError> {
        let device = Device::new(config, plan.seed)?;
        let queues = config.host.queues;
        Ok(Run {
            device,
            source,
            baseline: None,
            plan,
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
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Requests submitted and completed so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.submitted, self.submitted - self.device.outstanding().0)
    }

    /// How much of the workload has been submitted, from 0 to 1, where that can be known.
    pub fn progress(&self) -> Option<f64> {
        let by_count = self.plan.requests.map(|limit| self.submitted as f64 / limit.max(1) as f64);
        let by_time = self.plan.duration.map(|limit| self.device.now().0 as f64 / limit.0.max(1) as f64);
        [by_count, by_time, self.source.progress()].into_iter().flatten().reduce(f64::max).map(|p| p.min(1.0))
    }

    /// Plays on for some `requests` more; returns whether the workload has been played to its end.
    pub fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        let target = self.submitted + requests;
        match self.plan.replay {
            Replay::Timed(speed) => self.step_timed(speed, target),
            Replay::Closed(depth) => self.step_closed(u64::from(depth), target),
        }
    }

    fn step_timed(&mut self, speed: f64, target: u64) -> Result<bool, RunError> {
        while self.submitted < target {
            // Saturated: arrivals that wait in the host are not added to.
            let mut last = None;
            while self.device.pending_arrivals() < WINDOW
                && let Some(request) = self.next_request()?
            {
                let first = *self.first_time.get_or_insert(request.time);
                let since = request.time.since(first);
                let time = if speed == 1.0 { Time(since.0) } else { Time((since.0 as f64 / speed) as u64) };
                if self.plan.duration.is_some_and(|limit| time.0 > limit.0) {
                    self.ended = true;
                    break;
                }
                self.submit(request, time)?;
                last = Some(time);
            }
            if self.ended {
                return self.finish_all();
            }
            match last {
                // What arrives before the last of the window is played now, the rest with the next window.
                Some(time) => self.advance(time)?,
                None => self.advance_to_completion()?,
            }
        }
        Ok(false)
    }

    fn step_closed(&mut self, depth: u64, target: u64) -> Result<bool, RunError> {
        while self.submitted < target {
            while self.device.outstanding().0 < depth {
                let now = self.device.now();
                if self.plan.duration.is_some_and(|limit| now.0 > limit.0) {
                    self.ended = true;
                }
                let Some(request) = self.next_request()? else {
                    return self.finish_all();
                };
                self.submit(request, now)?;
            }
            self.advance_to_completion()?;
        }
        Ok(false)
    }

    /// The next request of the workload, brought within the device's capacity.
    fn next_request(&mut self) -> Result<Option<Request>, RunError> {
        if self.ended || self.plan.requests.is_some_and(|limit| self.submitted >= limit) {
            self.ended = true;
            self.batch.clear();
            return Ok(None);
        }
        if self.batch.is_empty() {
            self.source.fill(&mut self.batch, 256)?;
            self.batch.reverse();
        }
        let Some(mut request) = self.batch.pop() else {
            self.ended = true;
            return Ok(None);
        };
        let capacity = self.device.capacity().0;
        if request.offset.0 + request.bytes.0 > capacity {
            self.wrapped += 1;
            request.bytes = Bytes(request.bytes.0.min(capacity));
            request.offset = Bytes((request.offset.0 % capacity).min(capacity - request.bytes.0));
        }
        Ok(Some(request))
    }

    fn submit(&mut self, mut request: Request, time: Time) -> Result<(), RunError> {
        request.time = time;
        if self.submitted == self.plan.warmup {
            if self.plan.warmup > 0 {
                self.advance(time)?;
            }
            self.baseline = Some((self.device.counters(), self.device.usage(), self.device.victims().clone()));
        }
        self.device.submit(request)?;
        self.submitted += 1;
        Ok(())
    }

    /// Plays up to `time`, closing the time series' intervals on the way.
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        while self.series.next_end() <= time {
            self.device.advance(self.series.next_end())?;
            self.collect()?;
            self.close_interval();
        }
        self.device.advance(time)?;
        self.collect()
    }

    /// Plays until something completes.
    fn advance_to_completion(&mut self) -> Result<(), RunError> {
        loop {
            let limit = self.series.next_end();
            if self.device.advance_to_completion(limit)? {
                return self.collect();
            }
            if self.device.outstanding().0 == 0 {
                return Ok(());
            }
            if self.device.idle() {
                if let Some(end) = self.device.worn_out() {
                    return Err(end);
                }
                return Err(RunError::Broken("requests are outstanding and nothing is going to happen".into()));
            }
            self.device.advance(limit)?;
            self.close_interval();
        }
    }

    fn close_interval(&mut self) {
        let outstanding = self.device.outstanding().0 - self.device.pending_arrivals() as u64;
        let usage = self.device.usage();
        self.series.close(self.device.now(), outstanding, self.device.buffered_pages(), &usage);
    }

    fn finish_all(&mut self) -> Result<bool, RunError> {
        while self.device.outstanding().0 > 0 {
            self.advance_to_completion()?;
        }
        Ok(true)
    }

    /// Books what has completed.
    fn collect(&mut self) -> Result<(), RunError> {
        for completion in self.device.take_completions() {
            let Completion { id, request, finish } = completion;
            let latency = completion.latency();
            self.last_completion = finish;
            self.series.completed(request.op == Op::Read, request.bytes.0);
            if id >= self.plan.warmup {
                let queue = usize::from(request.queue % self.queues);
                self.latencies.record(queue, request.op, latency, request.bytes.0);
            }
            if let Some(log) = &mut self.log {
                log.push(&completion)?;
            }
        }
        Ok(())
    }

    /// Ends the run, checks the conservation laws and gives what was found out. What has completed so far is
    /// valid also where the workload was not played to its end.
    pub fn finish(mut self) -> Result<Outcome, RunError> {
        self.close_interval();
        self.device.check().map_err(RunError::Broken)?;
        let (counters, usage) = (self.device.counters(), self.device.usage());
        let (before, before_usage, before_victims) = self.baseline.unwrap_or_default();
        Ok(Outcome {
            victims: self.device.victims().since(&before_victims),
            latencies: self.latencies,
            series: self.series,
            buffered_bytes: counters.buffered_bytes,
            counters: counters.since(&before),
            usage: usage.since(&before_usage),
            wrapped: self.wrapped,
            device: self.device,
            log: self.log,
        })
    }
}
