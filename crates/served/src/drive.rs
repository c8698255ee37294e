//! The simulated drive with the requests that it works on.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use ssd::run::Attended;
use ssd::zones::ZoneDescriptor;
use ssd::{Completion, PowerSeen, RunError, Undone};
use units::{Span, Temperature, Time};
use workload::{Op, Request};

use crate::store::Store;
use crate::work::{Answer, Asked, Did, Failure, Queue, Stage, Work};

/// What is left of a drive that is served no more.
pub struct Ended {
    /// The run.
    pub live: Box<dyn Attended>,
    /// Why it could not go on, if it could not.
    pub failure: Option<RunError>,
    /// The requests, where they were wanted.
    pub record: Option<Vec<Request>>,
}

/// A drive that works on requests of connections. Once it has failed, it answers every request with an I/O error.
pub(crate) struct Drive {
    live: Box<dyn Attended>,
    /// Its data.
    store: Arc<Store>,
    /// Power cuts that the data has been through.
    cuts: u64,
    /// What it works on, by its number here.
    flights: BTreeMap<u64, Flight>,
    /// Whose each operation is, by the numbers that the drive gave them.
    operations: BTreeMap<u64, u64>,
    /// Requests so far.
    submitted: u64,
    done: Vec<Done>,
    failure: Option<RunError>,
    /// The time of the last request: the next one is not earlier.
    last: Time,
    /// All requests, where they are wanted.
    record: Option<Vec<Request>>,
    /// How long it is left alone when its first clients have left.
    after_load: Option<Span>,
    /// While the power is off: what somebody asks for who is no client, which waits until it is back. What clients ask
    /// for is aborted.
    off: Option<Vec<Flight>>,
}

/// A request that the drive works on.
struct Flight {
    /// Whose it is; none of who is no client.
    connection: Option<u64>,
    queue: Queue,
    /// What is to be done when what is under way is done.
    stages: VecDeque<Stage>,
    /// Operations under way.
    under_way: usize,
    outcome: Result<Did, Failure>,
    answer: Answer,
}

/// A request that is to be answered.
pub(crate) struct Done {
    pub connection: Option<u64>,
    pub answer: Answer,
    pub outcome: Result<Did, Failure>,
    pub finish: Time,
}

impl Drive {
    pub fn new(live: Box<dyn Attended>, store: Arc<Store>, records: bool, after_load: Option<Span>) -> Drive {
        if live.drive().power().is_some_and(PowerSeen::is_cut) {
            store.can_be_cut(live.drive().plan().layout.page_size);
        }
        Drive {
            cuts: live.drive().power().map_or(0, PowerSeen::cuts),
            store,
            live,
            flights: BTreeMap::new(),
            operations: BTreeMap::new(),
            submitted: 0,
            done: Vec::new(),
            failure: None,
            last: Time::ZERO,
            record: records.then(Vec::new),
            after_load,
            off: None,
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

    /// The run.
    pub fn live(&self) -> &dyn Attended {
        &*self.live
    }

    /// Begins with a request at `time`, or as soon after as the drive's time allows.
    pub fn submit(
        &mut self,
        time: Time,
        connection: Option<u64>,
        queue: Queue,
        Asked { work: Work(stages), answer }: Asked,
    ) {
        self.begin(time, Flight { connection, queue, stages, under_way: 0, outcome: Ok(Did::default()), answer });
    }

    /// Begins the next stage of a request.
    fn begin(&mut self, time: Time, mut flight: Flight) {
        let time = time.max(self.last).max(self.now());
        if self.failure.is_some() {
            self.done.push(flight.ends(Err(Failure::Failed), time));
            return;
        }
        if let Some(waiting) = &mut self.off {
            match flight.connection {
                Some(_) => self.done.push(flight.ends(Err(Failure::PowerCut), time)),
                None => waiting.push(flight),
            }
            return;
        }
        let Stage { steps, only_if } = flight.stages.pop_front().expect("Invariant: a further stage is there");
        if only_if.is_some_and(|is_so| !is_so()) {
            self.done.push(flight.ends(Err(Failure::Unlike), time));
            return;
        }
        let number = self.submitted;
        self.submitted += 1;
        for step in steps {
            let request = step.request(time, flight.queue);
            self.last = time;
            match self.live.submit(request) {
                Ok(id) => {
                    flight.under_way += 1;
                    if let Ok(did) = &mut flight.outcome
                        && !matches!(step.op, Op::Read | Op::Flush | Op::ZoneReport)
                    {
                        did.request.get_or_insert(id);
                    }
                    self.operations.insert(id, number);
                    self.record.iter_mut().for_each(|record| record.push(request));
                }
                Err(error) => {
                    self.done.push(flight.ends(Err(Failure::Failed), time));
                    self.fails(error);
                    return;
                }
            }
        }
        self.flights.insert(number, flight);
    }

    /// Plays up to `time`.
    pub fn advance(&mut self, time: Time) {
        while self.failure.is_none() {
            let to = self.next_stop(time);
            let played = self.live.advance(to);
            self.collect(played);
            if to >= time {
                break;
            }
        }
    }

    /// Up to when it is played at once: where the power can be cut, to what happens next, so that each cut is seen.
    fn next_stop(&self, limit: Time) -> Time {
        let stops = self.live.drive().power().is_some_and(PowerSeen::is_cut);
        let next = if stops { self.live.next_event() } else { None };
        next.map_or(limit, |next| next.max(self.now() + Span(1)).min(limit))
    }

    /// The power is cut now, and comes back at once, or stays off until it is restored: the drive recovers without what
    /// comes meanwhile.
    pub fn cut(&mut self, stays_off: bool) -> Result<(), RunError> {
        self.sound()?;
        let cut = self.live.cut();
        if let Err(RunError::Config(refused)) = cut {
            return Err(RunError::Config(refused));
        }
        self.off = stays_off.then(Vec::new);
        self.collect(cut);
        self.sound()
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.off.is_some()
    }

    /// The power comes back.
    pub fn restore(&mut self) {
        for flight in self.off.take().into_iter().flatten() {
            self.begin(self.now(), flight);
        }
    }

    /// What a power cut has undone is undone in the data, and what can be undone no more is known.
    fn follow_cuts(&mut self) {
        let Some(power) = self.live.drive().power().filter(|power| power.is_cut()) else { return };
        if std::mem::replace(&mut self.cuts, power.cuts()) == power.cuts() {
            return;
        }
        // The drive counts requests from its own beginning; of those before the run the data is settled.
        let of_run = |Undone { request, lpn }: &Undone| {
            request.checked_sub(self.live.first_id()).map(|request| Undone { request, lpn: *lpn })
        };
        let undone: Vec<Undone> = power.undone().iter().filter_map(of_run).collect();
        if let Err(error) = self.store.cut(&undone) {
            let error = format!("the data cannot be written back as the power cut has left it: {error}");
            self.failure.get_or_insert(RunError::Broken(error));
        }
    }

    /// A flush is done.
    fn settles(&self) {
        if let Some(power) = self.live.drive().power() {
            let under_way = self.operations.keys().next().copied().unwrap_or(u64::MAX);
            // While something from before the run is not settled, nothing of the run is known to be.
            let unsettled = power.first_unsettled().map(|request| request.saturating_sub(self.live.first_id()));
            self.store.settle(unsettled.unwrap_or(u64::MAX).min(under_way));
        }
    }

    /// Plays until a request is to be answered, or up to `limit`.
    pub fn advance_to_done(&mut self, limit: Time) {
        while self.done.is_empty() && self.failure.is_none() {
            let to = self.next_stop(limit);
            let played = self.live.advance_to_completion(to);
            let goes_on = matches!(played, Ok(true)) || (played.is_ok() && to < limit);
            self.collect(played.map(|_| ()));
            if !goes_on {
                break;
            }
        }
    }

    /// Plays until every request is to be answered.
    pub fn advance_to_end(&mut self) {
        while !self.flights.is_empty() && self.failure.is_none() {
            let played = self.live.advance_to_completion(self.next_stop(Time::NEVER));
            self.collect(played.map(|_| ()));
        }
    }

    /// It is left alone for so long, at a temperature or at that of its rest; what is measured begins then
    /// ([`Attended::rest`]).
    pub fn rests(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.sound()?;
        self.live.rest(span, at).inspect_err(|error| self.failure = Some(error.clone()))
    }

    /// Its checkpoint is written ([`Attended::save`]).
    pub fn saves(&mut self, path: &Path) -> Result<(), RunError> {
        self.sound()?;
        self.live.save(path)
    }

    fn sound(&self) -> Result<(), RunError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// All clients have left. The first ones to do so that have asked for something have loaded the drive.
    pub fn is_left(&mut self) {
        if self.live.drive().outstanding() == 0
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
        self.follow_cuts();
        let completions: Vec<Completion> = self.live.take_completions().collect();
        for completion in completions {
            let settles = completion.request.op == Op::Flush && completion.is_done();
            let Completion { id, finish, uncorrectable, gave_up, refused, aborted, .. } = completion;
            // Of a drive that has failed meanwhile all is answered.
            let Some(number) = self.operations.remove(&id) else { continue };
            if settles {
                self.settles();
            }
            let Some(flight) = self.flights.get_mut(&number) else { continue };
            flight.under_way -= 1;
            let failed = [
                (refused, Failure::ReadOnly),
                (aborted, Failure::PowerCut),
                (!completion.status.is_success(), Failure::Refused(completion.status)),
                (uncorrectable || gave_up, Failure::Uncorrectable),
            ];
            if let Ok(did) = &mut flight.outcome {
                match failed.into_iter().find(|(failed, _)| *failed) {
                    Some((_, failure)) => flight.outcome = Err(failure),
                    // It makes what was done durable, and is about no place.
                    None if completion.request.op == Op::Flush => {}
                    None => (did.offset, did.zones) = (completion.at.0, reported(self.live.drive(), &completion)),
                }
            }
            if flight.under_way > 0 {
                continue;
            }
            let flight = self.flights.remove(&number).expect("Invariant: it is there");
            if flight.outcome.is_ok() && !flight.stages.is_empty() {
                self.begin(finish, flight);
            } else {
                let outcome = flight.outcome.clone();
                self.done.push(flight.ends(outcome, finish));
            }
        }
        if let Err(error) = played {
            self.fails(error);
        }
    }

    fn fails(&mut self, error: RunError) {
        let now = self.now();
        self.operations.clear();
        let flights = std::mem::take(&mut self.flights);
        self.done.extend(flights.into_values().map(|flight| flight.ends(Err(Failure::Failed), now)));
        self.failure.get_or_insert(error);
    }
}

impl Flight {
    fn ends(self, outcome: Result<Did, Failure>, finish: Time) -> Done {
        Done { connection: self.connection, answer: self.answer, outcome, finish }
    }
}

/// The zones that a request has asked for, or done something to, as they are when it is done.
fn reported(drive: &dyn ssd::Drive, completion: &Completion) -> Vec<ZoneDescriptor> {
    let Some(zones) = drive.zones() else { return Vec::new() };
    let Request { op, offset, bytes, .. } = completion.request;
    let end = match op {
        Op::ZoneReport => zones.count(),
        Op::Zone(_) => (offset.0 + bytes.0).div_ceil(zones.size()) as u32,
        _ => return Vec::new(),
    };
    ((offset.0 / zones.size()) as u32..end).filter_map(|zone| zones.zone(zone)).collect()
}

/// The instant before `time`: the last one that can be played before a request comes at `time`.
pub(crate) fn before(time: Time) -> Time {
    if time == Time::ZERO { time } else { time - Span(1) }
}
