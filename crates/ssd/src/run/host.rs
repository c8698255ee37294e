//! The host: it stands between a source of requests and a drive and owns both ends of a request, when it is handed over
//! and what follows from its completion.

use units::{Bytes, Span, Time};
use workload::{Beyond, ClosedLoop, Request, Source, TaskEnd};

use super::options::Replay;
use crate::device::Completion;
use crate::error::RunError;

/// Most arrivals handed to the device ahead of its time: enough to hide its cache misses, few enough to stay in cache.
const WINDOW: usize = 64;

/// How the drive stands when the host is asked what comes next.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    /// The present, and when the workload began, in the drive's time.
    pub now: Time,
    pub origin: Time,
    /// After this nothing is handed over.
    pub latest: Time,
    /// As much has been handed over as was asked for.
    pub enough: bool,
    /// Requests that were handed over and have not completed, and those among them that have not arrived yet.
    pub outstanding: u64,
    pub arrivals: usize,
}

/// What the host does next.
pub(super) enum Next {
    /// It hands a request over, for a time of the drive.
    Submit(Request, Time),
    /// It waits until something has completed, or for a time.
    Completion(Time),
    /// It waits until fewer than this many requests are to arrive.
    Arrivals(usize),
    /// It hands nothing more over.
    Over,
}

/// A host.
pub(super) trait Host: Send {
    /// What it does next.
    fn next(&mut self, drive: &Standing) -> Result<Next, RunError>;

    /// A request has completed.
    fn completed(&mut self, _: &Completion) {}

    /// Tasks that have ended since this was asked last.
    fn take_ended(&mut self) -> Vec<TaskEnd> {
        Vec::new()
    }

    /// Where its requests come from.
    fn supply(&self) -> &Supply;
}

/// The host that replays a source.
pub(super) fn replaying(supply: Supply, replay: Replay) -> Box<dyn Host> {
    if supply.one_at_a_time {
        return Box::new(ByCompletions(supply));
    }
    match replay {
        Replay::Timed(speed) => Box::new(Timed { supply, speed, first: None }),
        Replay::Closed(depth) => Box::new(Closed { supply, depth: u64::from(depth) }),
    }
}

/// The requests of a source, brought within the drive's capacity.
pub(super) struct Supply {
    pub source: Box<dyn Source>,
    /// Requests read ahead, in reverse order.
    batch: Vec<Request>,
    /// Its requests wait for completions: one is taken at a time.
    one_at_a_time: bool,
    capacity: Bytes,
    beyond: Beyond,
    /// Requests whose address was wrapped around.
    pub wrapped: u64,
    /// It has no more.
    pub exhausted: bool,
    ended: bool,
}

impl Supply {
    pub fn new(mut source: Box<dyn Source>, capacity: Bytes, beyond: Beyond) -> Supply {
        let one_at_a_time = source.closed_loop().is_some();
        Supply {
            source,
            batch: Vec::new(),
            one_at_a_time,
            capacity,
            beyond,
            wrapped: 0,
            exhausted: false,
            ended: false,
        }
    }

    /// Gives no more requests.
    fn ends(&mut self) {
        self.ended = true;
        self.batch.clear();
    }

    /// The next request; none where as many were given as are wanted, or there is none.
    fn take(&mut self, enough: bool) -> Result<Option<Request>, RunError> {
        if self.ended || enough {
            self.ends();
            return Ok(None);
        }
        if self.batch.is_empty() {
            self.source.fill(&mut self.batch, if self.one_at_a_time { 1 } else { 256 })?;
            self.batch.reverse();
        }
        let Some(request) = self.batch.pop() else {
            // A source that waits for completions may make more after one.
            (self.ended, self.exhausted) = (!self.one_at_a_time, !self.one_at_a_time);
            return Ok(None);
        };
        let (capacity, within) = (self.capacity, request.within(self.capacity));
        if within != request {
            if self.beyond == Beyond::Refuse {
                let (offset, bytes) = (request.offset, request.bytes);
                return Err(RunError::OutOfRange { offset, bytes, capacity });
            }
            self.wrapped += 1;
        }
        Ok(Some(within))
    }
}

/// Requests come at their times, this many times faster.
struct Timed {
    supply: Supply,
    speed: f64,
    /// The time of the first request.
    first: Option<Time>,
}

impl Host for Timed {
    fn next(&mut self, drive: &Standing) -> Result<Next, RunError> {
        if drive.arrivals >= WINDOW {
            // Some are always ahead: time never goes beyond a request that has not been handed over.
            return Ok(Next::Arrivals(WINDOW / 2));
        }
        let Some(request) = self.supply.take(drive.enough)? else { return Ok(Next::Over) };
        let first = *self.first.get_or_insert(request.time);
        let since = request.time.since(first);
        let since = if self.speed == 1.0 { since } else { Span((since.0 as f64 / self.speed) as u64) };
        let time = drive.origin + since;
        if time > drive.latest {
            self.supply.ends();
            return Ok(Next::Over);
        }
        Ok(Next::Submit(request, time))
    }
    fn supply(&self) -> &Supply {
        &self.supply
    }
}

/// This many requests are under way at once, whatever their times.
struct Closed {
    supply: Supply,
    depth: u64,
}

impl Host for Closed {
    fn next(&mut self, drive: &Standing) -> Result<Next, RunError> {
        if drive.outstanding >= self.depth {
            return Ok(Next::Completion(Time::NEVER));
        }
        let over = drive.enough || drive.now > drive.latest;
        Ok(self.supply.take(over)?.map_or(Next::Over, |request| Next::Submit(request, drive.now)))
    }
    fn supply(&self) -> &Supply {
        &self.supply
    }
}

/// A source that wants to know of completions before it says what comes next.
struct ByCompletions(Supply);

impl ByCompletions {
    fn source(&mut self) -> Option<&mut dyn ClosedLoop> {
        self.0.source.closed_loop()
    }
}

impl Host for ByCompletions {
    fn next(&mut self, drive: &Standing) -> Result<Next, RunError> {
        if drive.now > drive.latest {
            return Ok(Next::Over);
        }
        loop {
            let next = self.source().and_then(|source| source.next_time());
            match next.map(|time| drive.origin + time.since(Time::ZERO)) {
                Some(time) if time <= drive.now => {
                    if let Some(request) = self.0.take(drive.enough)? {
                        return Ok(Next::Submit(request, drive.now));
                    }
                    if self.0.ended {
                        return Ok(Next::Over);
                    }
                }
                None if drive.outstanding == 0 => {
                    self.0.exhausted |= !drive.enough;
                    return Ok(Next::Over);
                }
                time => return Ok(Next::Completion(time.unwrap_or(Time::NEVER))),
            }
        }
    }
    fn completed(&mut self, completion: &Completion) {
        if let Some(source) = self.source() {
            source.completed(completion.id, completion.request.queue, completion.finish);
        }
    }
    fn take_ended(&mut self) -> Vec<TaskEnd> {
        self.source().map(ClosedLoop::take_ended).unwrap_or_default()
    }
    fn supply(&self) -> &Supply {
        &self.0
    }
}
