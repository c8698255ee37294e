//! The simulated drive with the requests that it works on.

use std::collections::BTreeMap;

use ssd::run::Live;
use ssd::{Completion, RunError};
use units::{Bytes, Span, Time};
use workload::{Op, Request};

use crate::request::{Command, Job};
use crate::wire::Errno;

/// What is left of a drive that is served no more.
pub struct Ended {
    /// The run.
    pub live: Live,
    /// Why it could not go on, if it could not.
    pub failure: Option<RunError>,
    /// The requests, where they were wanted.
    pub record: Option<Vec<Request>>,
}

/// A drive that works on requests of connections. Once it has failed, it answers every request with an I/O error.
pub(crate) struct Drive {
    live: Live,
    /// Requests by the numbers that the drive gave them.
    flights: BTreeMap<u64, Flight>,
    done: Vec<Done>,
    failure: Option<RunError>,
    /// The time of the last request: the next one is not earlier.
    last: Time,
    /// All requests, where they are wanted.
    record: Option<Vec<Request>>,
    /// How long it is left alone when its first clients have left.
    after_load: Option<Span>,
}

/// A submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue(pub u16);

/// A request that the drive works on.
struct Flight {
    connection: u64,
    queue: Queue,
    job: Job,
    /// What it wrote is being put on flash.
    flushes: bool,
}

/// A request that is to be answered.
pub(crate) struct Done {
    pub connection: u64,
    pub job: Job,
    pub outcome: Result<(), Errno>,
    pub finish: Time,
}

impl Drive {
    pub fn new(live: Live, records: bool, after_load: Option<Span>) -> Drive {
        Drive {
            live,
            flights: BTreeMap::new(),
            done: Vec::new(),
            failure: None,
            last: Time::ZERO,
            record: records.then(Vec::new),
            after_load,
        }
    }

    pub fn now(&self) -> Time {
        self.live.now()
    }

    /// Whether requests are worked on, or wait to be answered.
    pub fn works(&self) -> bool {
        !self.flights.is_empty() || !self.done.is_empty()
    }

    /// When something happens next, if nothing is submitted before.
    pub fn next_event(&self) -> Option<Time> {
        if self.failure.is_some() { None } else { self.live.next_event() }
    }

    /// Begins with a request at `time`, or as soon after as the drive's time allows.
    pub fn submit(&mut self, time: Time, connection: u64, queue: Queue, job: Job) {
        self.begin(time, Flight { connection, queue, job, flushes: false });
    }

    fn begin(&mut self, time: Time, flight: Flight) {
        let time = time.max(self.last).max(self.now());
        if self.failure.is_some() {
            self.done.push(flight.ends(Err(Errno::InputOutput), time));
            return;
        }
        let request = flight.request(time);
        self.last = time;
        match self.live.submit(request) {
            Ok(id) => {
                self.flights.insert(id, flight);
                self.record.iter_mut().for_each(|record| record.push(request));
            }
            Err(error) => {
                self.done.push(flight.ends(Err(Errno::InputOutput), time));
                self.fails(error);
            }
        }
    }

    /// Plays up to `time`.
    pub fn advance(&mut self, time: Time) {
        if self.failure.is_none() {
            let played = self.live.advance(time);
            self.collect(played);
        }
    }

    /// Plays until a request is to be answered, or up to `limit`.
    pub fn advance_to_done(&mut self, limit: Time) {
        while self.done.is_empty() && self.failure.is_none() {
            let played = self.live.advance_to_completion(limit);
            let goes_on = matches!(played, Ok(true));
            self.collect(played.map(|_| ()));
            if !goes_on {
                break;
            }
        }
    }

    /// Plays until every request is to be answered.
    pub fn advance_to_end(&mut self) {
        while !self.flights.is_empty() && self.failure.is_none() {
            let played = self.live.advance_to_completion(Time::NEVER);
            self.collect(played.map(|_| ()));
        }
    }

    /// All clients have left. The first ones to do so that have asked for something have loaded the drive.
    pub fn is_left(&mut self) {
        if self.live.device().outstanding().0 == 0
            && self.live.submitted() > 0
            && self.failure.is_none()
            && let Some(span) = self.after_load.take()
            && let Err(error) = self.live.rest(span, None)
        {
            self.fails(error);
        }
    }

    /// Takes the requests that are to be answered, in order of completion.
    pub fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }

    /// What is left of it when it is served no more.
    pub fn end(self) -> Ended {
        Ended { live: self.live, failure: self.failure, record: self.record }
    }

    fn collect(&mut self, played: Result<(), RunError>) {
        let completions: Vec<Completion> = self.live.take_completions().collect();
        for completion in completions {
            let Completion { id, finish, uncorrectable, refused, .. } = completion;
            let flight = self.flights.remove(&id).expect("Invariant: what completes was submitted");
            if refused {
                self.done.push(flight.ends(Err(Errno::Permission), finish));
            } else if uncorrectable || !completion.is_done() {
                self.done.push(flight.ends(Err(Errno::InputOutput), finish));
            } else if flight.writes_durably() {
                // As Linux does for drives without FUA.
                self.begin(finish, Flight { flushes: true, ..flight });
            } else {
                self.done.push(flight.ends(Ok(()), finish));
            }
        }
        if let Err(error) = played {
            self.fails(error);
        }
    }

    fn fails(&mut self, error: RunError) {
        let now = self.now();
        let flights = std::mem::take(&mut self.flights);
        self.done.extend(flights.into_values().map(|flight| flight.ends(Err(Errno::InputOutput), now)));
        self.failure.get_or_insert(error);
    }
}

impl Flight {
    fn ends(self, outcome: Result<(), Errno>, finish: Time) -> Done {
        Done { connection: self.connection, job: self.job, outcome, finish }
    }

    fn writes_durably(&self) -> bool {
        let writes = matches!(self.job.command, Command::Write(_) | Command::Trim | Command::Zero { .. });
        writes && self.job.durable && !self.flushes
    }

    /// What the drive is asked for.
    fn request(&self, time: Time) -> Request {
        let op = match self.job.command {
            _ if self.flushes => Op::Flush,
            Command::Flush => Op::Flush,
            Command::Read => Op::Read,
            Command::Write(_) | Command::Zero { allocates: true } => Op::Write,
            Command::Trim | Command::Zero { allocates: false } => Op::Trim,
            Command::Status { .. } => unreachable!("Invariant: a connection answers this itself"),
        };
        let (offset, bytes) = if op.has_address() { (self.job.offset, self.job.length.into()) } else { (0, 0) };
        Request::new(time, op, Bytes(offset), Bytes(bytes)).on(self.queue.0)
    }
}

/// The instant before `time`: the last one that can be played before a request comes at `time`.
pub(crate) fn before(time: Time) -> Time {
    if time == Time::ZERO { time } else { time - Span(1) }
}
