//! The array: requests are split, drives are advanced in the order of their events, and what they answer goes on.
//!
//! Of what happens at one time the array's own comes first (timers in the order in which they were set, then arrivals),
//! then its drives in the order of their numbers. A drive without a request of the array is left behind, and played on
//! when it has one: nothing that it does meanwhile reaches the others.

use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use ssd::persist::{state, stored, stored_enum};
use ssd::run::Overwriting;
use ssd::{AnyDrive, Completion, Drive, Followed, RunDrive, RunError, Status};
use units::{Bytes, Conditions, ConfigError, Span, Stream, Time};
use workload::Request;

use crate::config::{ArrayConfig, refusal};
use crate::explain::{ArrayExplanation, Explaining};
use crate::hedge::{HedgeParameters, RecentReads};
use crate::layout::{Layout, Located};
use crate::link::{Link, Way};
use crate::locks::Locks;
use crate::log::{BLOCK, Found, Log};
use crate::member::{Member, MemberDrive};
use crate::nexts::Nexts;
use crate::observer::{ArrayEvent, Observer};
use crate::ops::{Answer, Due, OnDrive, Op, Open, ReadOp, Reply, Scrub, Sub, Timer, Windows};
use crate::rebuild::Rebuild;
use crate::select::Candidate;
use crate::slab::{Key, Slab};
use crate::stats::{ArrayCounters, SeenByHost};
use crate::zones::ArrayZones;

/// A place for a drive in the layout.
pub(crate) struct Seat {
    /// The drive in it, by its number.
    pub drive: usize,
    pub state: SeatState,
}

/// What a place holds.
pub(crate) enum SeatState {
    /// All of its data.
    Present,
    /// Nothing: its drive has failed, and no spare one has taken over.
    Missing,
    /// What has been rebuilt so far.
    Rebuilding(Rebuild),
}

/// What goes on at the present time.
pub(crate) enum Step {
    Reply(Sub, Reply),
    /// A lock is held that was waited for.
    Granted(Key),
    /// An operation of a request is done.
    Part(Key),
}

/// When playing ends before its time.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    Never,
    Completion,
    Arrivals(usize),
}

/// Many drives as one. See [`crate`].
pub struct Array<D: RunDrive + ?Sized = AnyDrive> {
    pub(crate) config: ArrayConfig,
    /// Of the placement of stripes and the lives of drives.
    pub(crate) seed: u64,
    pub(crate) layout: Arc<Layout>,
    pub(crate) members: Vec<Member<D>>,
    /// When something happens in each of them that may complete a request.
    pub(crate) nexts: Nexts,
    /// Requests that wait to arrive at them.
    pub(crate) pending: usize,
    pub(crate) seats: Vec<Seat>,
    /// All of them hold all of their data.
    pub(crate) is_whole: bool,
    pub(crate) spares: VecDeque<usize>,
    pub(crate) link: Link,
    pub(crate) now: Time,
    /// When the workload began: the times of a result count from then on.
    pub(crate) origin: Time,
    pub(crate) next_id: u64,
    pub(crate) last_arrival: Time,
    /// The latest time for which a request can be submitted to every drive.
    pub(crate) latest: Time,
    pub(crate) arrivals: VecDeque<(u64, Request)>,
    /// When the request has come that is begun now: before the present, where the drives' queues were full.
    arriving: Option<Time>,
    pub(crate) open: Slab<Open>,
    /// Requests of its own so far, and those of the open ones.
    pub(crate) own_requests: u64,
    pub(crate) own_open: usize,
    /// Where writes go, if they go to a log.
    pub(crate) log: Option<Box<Log>>,
    /// Its zones, if its drives have any.
    pub(crate) zones: Option<Box<ArrayZones>>,
    pub(crate) ops: Slab<Option<Op>>,
    pub(crate) locks: Locks,
    pub(crate) scrub: Option<Scrub>,
    pub(crate) windows: Option<Windows>,
    /// The lives of drives are drawn from it.
    lives: Stream,
    pub(crate) steps: VecDeque<Step>,
    /// Room for what a request becomes, and that of reads which are over.
    pub(crate) to_drives: Vec<OnDrive>,
    pub(crate) old_reads: Vec<ReadOp>,
    timers: BinaryHeap<Due>,
    timers_set: u64,
    pub(crate) completions: Vec<Completion>,
    answers: Vec<Answer>,
    pub(crate) recent: RecentReads,
    pub(crate) hedging: HedgeParameters,
    /// Reads for which something was chosen.
    pub(crate) chosen: u64,
    pub(crate) failure: Option<RunError>,
    pub(crate) counters: ArrayCounters,
    pub(crate) counters_before: ArrayCounters,
    pub(crate) seen: SeenByHost,
    observer: Option<Box<dyn Observer>>,
    /// Requests that have been sent to drives.
    subs_sent: u64,
    pub(crate) explaining: Option<Box<Explaining>>,
}

stored! {
    Seat { drive, state }
}

stored_enum! {
    SeatState { 0 = Present, 1 = Missing, 2 = Rebuilding(rebuild), }
    Step { 0 = Reply(sub, reply), 1 = Granted(op), 2 = Part(request), }
}

state! {
    [D: RunDrive + ?Sized] Array<D> {
        stored {
            seats, spares, now, origin, nexts, pending, next_id, last_arrival, arrivals, arriving, open, own_requests, own_open, ops, locks, scrub, windows, steps,
            timers, timers_set, completions, chosen, counters, counters_before, seen, subs_sent,
        }
        parts { link, recent, log, zones }
        rebuilt {
            config, seed, layout, members, is_whole, latest, lives, to_drives, old_reads, answers, hedging, failure, observer,
            explaining,
        }
    }
}

impl<D: RunDrive + ?Sized> Array<D> {
    /// The conditions of the flash page behind a byte address, on the drive that has the data; none where it was never
    /// written.
    pub(crate) fn conditions_at(&self, offset: Bytes) -> Option<Conditions> {
        let offset = match self.log.as_ref().map(|log| log.find(offset.0 / BLOCK)) {
            None => offset.0,
            Some(Found::Slot(slot)) => self.layout.offset(self.log.as_ref()?.piece(slot)) + offset.0 % BLOCK,
            Some(_) => return None,
        };
        let Located { stripe, unit, start } = self.layout.locate(offset);
        let spot = self.layout.spot(stripe, unit);
        let drive = &self.members[self.seats[spot.place].drive].drive;
        drive.conditions(Bytes(spot.row * self.layout.chunk + start))
    }

    /// Makes an array of drives; those that are spare stand by. The smallest drive rules how much of each is used.
    ///
    /// # Errors
    /// The configuration cannot be used, or not with this many drives.
    pub fn new(config: &ArrayConfig, drives: Vec<MemberDrive<D>>, seed: u64) -> Result<Array<D>, ConfigError> {
        let spare: Vec<bool> = drives.iter().map(|drive| drive.spare).collect();
        let in_use: Vec<usize> = (0..drives.len()).filter(|index| !spare[*index]).collect();
        let smallest = drives.iter().map(|member| member.drive.capacity()).min().unwrap_or(Bytes(0));
        let layout = config.layout(in_use.len(), smallest, seed)?;
        if in_use.len() < drives.len() && layout.code.parity == 0 {
            let remedy = "leave [drive.NAME] spare out, or choose a layout with redundancy";
            return Err(refusal("layout", "has no redundancy from which a spare drive could be rebuilt", remedy));
        }
        let log = config.log(&layout)?.map(Box::new);
        let zones = ArrayZones::new(
            config,
            &layout,
            drives.iter().map(|member| member.drive.plan()),
            in_use.len() < drives.len(),
        )?;
        let members: Vec<Member<D>> = drives.into_iter().map(Member::new).collect();
        let seats = in_use.iter().map(|drive| Seat { drive: *drive, state: SeatState::Present }).collect();
        let hedging = HedgeParameters { delay: config.hedge_delay, percentile: config.hedge_percentile };
        Ok(Array {
            config: config.clone(),
            seed,
            layout: Arc::new(layout),
            seats,
            is_whole: true,
            spares: (0..members.len()).filter(|index| spare[*index]).collect(),
            link: Link::new(config.link_bandwidth, config.link_latency),
            now: members.iter().map(|member| member.drive.now()).max().unwrap_or(Time::ZERO),
            origin: Time::ZERO,
            nexts: Nexts::new(members.len()),
            pending: 0,
            latest: members.iter().map(|member| member.drive.latest()).min().unwrap_or(Time::ZERO),
            members,
            next_id: 0,
            last_arrival: Time::ZERO,
            arrivals: VecDeque::new(),
            arriving: None,
            open: Slab::new(),
            own_requests: 0,
            own_open: 0,
            log,
            zones,
            ops: Slab::new(),
            locks: Locks::default(),
            scrub: None,
            windows: None,
            lives: Stream::new(seed, "array-life"),
            steps: VecDeque::new(),
            to_drives: Vec::new(),
            old_reads: Vec::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            completions: Vec::new(),
            answers: Vec::new(),
            recent: RecentReads::new(config.hedge_percentile),
            hedging,
            chosen: 0,
            failure: None,
            counters: ArrayCounters::default(),
            counters_before: ArrayCounters::default(),
            seen: SeenByHost::default(),
            observer: None,
            subs_sent: 0,
            explaining: None,
        })
    }

    /// Someone is told what the array does.
    pub fn observed_by(mut self, observer: Box<dyn Observer>) -> Array<D> {
        self.observer = Some(observer);
        self
    }

    /// Keeps where the time of its `slowest` slowest requests went, and that of those numbered in `wanted`; the first
    /// `warmup` are not among the slowest. What each drive says of its own requests comes from those whom it is
    /// followed by.
    pub fn explained(mut self, slowest: usize, wanted: Vec<u64>, warmup: u64, drives: Vec<Followed>) -> Array<D> {
        self.explaining = Some(Box::new(Explaining::new(slowest, wanted, warmup, drives)));
        self
    }

    /// What was kept of it.
    pub fn explanations(&self) -> Vec<ArrayExplanation> {
        self.explaining.as_ref().map_or(Vec::new(), |explaining| explaining.explanations())
    }

    /// What its drives are called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// Drives whose configuration asks for it (`age.precondition = "write:N"`) are overwritten before the workload:
    /// each by itself, with the addresses that a run on it alone would draw with its seed.
    pub fn overwritten(mut self, seeds: &[u64]) -> Array<D> {
        for (member, seed) in self.members.iter_mut().zip(seeds) {
            member.overwriting = Overwriting::new(member.drive.plan(), *seed);
        }
        self
    }

    /// The placement of its stripes.
    pub fn placement(&self) -> &Layout {
        &self.layout
    }

    /// Its drives, spare ones and those that have failed included.
    pub fn drives(&self) -> impl Iterator<Item = &D> {
        self.members.iter().map(|member| &*member.drive)
    }

    /// The drive, by its number, in each place of the layout.
    pub fn drives_in_place(&self) -> Vec<usize> {
        self.seats.iter().map(|seat| seat.drive).collect()
    }

    /// What has been counted so far, warm-up included.
    pub fn counters_so_far(&self) -> &ArrayCounters {
        &self.counters
    }

    /// Whether somebody is told what it does.
    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    pub(crate) fn tell(&mut self, event: &ArrayEvent) {
        if let Some(observer) = &mut self.observer {
            observer.sees(self.now, event);
        }
    }

    pub(crate) fn set_timer(&mut self, time: Time, what: Timer) {
        self.timers_set += 1;
        self.timers.push(Due { time, number: self.timers_set, what });
    }

    /// When the array itself does something next.
    pub(crate) fn next_own(&self) -> Time {
        if !self.steps.is_empty() {
            return self.now;
        }
        let timer = self.timers.peek().map_or(Time::NEVER, |due| due.time);
        timer.min(self.arrivals.front().map_or(Time::NEVER, |(_, request)| request.time))
    }

    /// Whether nothing goes on that ends: drives that will fail, and turns of windows, are not waited for.
    pub(crate) fn is_quiet(&self) -> bool {
        let is_over = |due: &Due| matches!(due.what, Timer::Fail(_) | Timer::Turn | Timer::Hedge(_));
        let nothing_waits = self.steps.is_empty() && self.arrivals.is_empty() && self.timers.iter().all(is_over);
        nothing_waits && self.open.len() == 0 && self.ops.len() == 0
    }

    fn stops(&self, stop: Stop) -> bool {
        match stop {
            Stop::Never => false,
            Stop::Completion => !self.completions.is_empty(),
            Stop::Arrivals(pending) => self.arrivals.len() < pending && Drive::pending_arrivals(self) < pending,
        }
    }

    /// Plays what happens up to `limit`, or until it stops.
    pub(crate) fn play(&mut self, limit: Time, stop: Stop) -> Result<(), RunError> {
        loop {
            while let Some(step) = self.steps.pop_front() {
                self.go_on(step);
            }
            if let Some(failure) = &self.failure {
                return Err(failure.clone());
            }
            if self.stops(stop) {
                return Ok(());
            }
            let own = self.next_own();
            let (time, index) = self.nexts.first();
            if own.min(time) > limit || own.min(time) == Time::NEVER {
                return Ok(());
            }
            if own <= time {
                self.now = self.now.max(own);
                self.own_event();
            } else if matches!(stop, Stop::Arrivals(pending) if self.arrivals.len() < pending) {
                // Fewer arrivals may wait at any time: from one event to the next.
                let drive = &mut self.members[index].drive;
                let played = drive.advance_to_arrivals(drive.pending_arrivals(), time);
                self.has_played(index, played);
            } else {
                self.play_members(own, limit);
            }
        }
    }

    /// Plays drives in the order of their events, until one has answered or the array itself has its turn.
    fn play_members(&mut self, own: Time, limit: Time) {
        // Of what happens at one time the array's own comes first.
        let bound = limit.min(if own == Time::NEVER { own } else { Time(own.0.saturating_sub(1)) });
        loop {
            let (time, index) = self.nexts.first();
            if time > bound || time == Time::NEVER {
                return;
            }
            let until = bound.min(self.nexts.until(index));
            match self.members[index].drive.advance_to_completion(until) {
                Ok(false) => self.is_looked_at_again(index),
                played => return self.has_played(index, played),
            }
        }
    }

    /// A drive was asked for something, or has gone on: something happens in it at another time.
    #[inline]
    pub(crate) fn is_looked_at_again(&mut self, drive: usize) {
        let member = &mut self.members[drive];
        let (pending, next) = match member.failed {
            Some(_) => (0, Time::NEVER),
            None => (member.drive.pending_arrivals(), member.next_that_matters()),
        };
        if pending != member.pending {
            self.pending = self.pending + pending - std::mem::replace(&mut member.pending, pending);
        }
        self.nexts.set(drive, next);
    }

    fn own_event(&mut self) {
        if self.timers.peek().is_some_and(|due| due.time <= self.now) {
            let due = self.timers.pop().expect("Invariant: it was there");
            return self.on_timer(due.what);
        }
        let (id, request) = self.arrivals.pop_front().expect("Invariant: an arrival is due");
        self.begin(id, request);
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Deliver { drive, request, sub } => self.deliver(drive, request, sub),
            Timer::Reply { sub, reply } => self.steps.push_back(Step::Reply(sub, reply)),
            Timer::Hedge(op) => self.hedge(op),
            Timer::Fail(drive) => self.drive_fails(drive),
            Timer::Rebuild(place) => self.rebuild_goes_on(place),
            Timer::Scrub => self.scrub_goes_on(),
            Timer::Turn => self.next_turn(),
            Timer::Gather => self.gathered(),
        }
    }

    /// A drive was played: what it has answered goes on.
    fn has_played(&mut self, index: usize, played: Result<bool, RunError>) {
        let member = &mut self.members[index];
        let mut answers = std::mem::take(&mut self.answers);
        member.take_answers(&mut answers);
        if !answers.is_empty() {
            self.now = self.now.max(member.drive.now());
        }
        self.is_looked_at_again(index);
        for Answer { sub, reply, request, id } in answers.drain(..) {
            if let Some(explaining) = &mut self.explaining {
                explaining.answered(self.now, &sub, id);
            }
            if self.link.is_ideal() {
                self.steps.push_back(Step::Reply(sub, reply));
                continue;
            }
            let bytes = if request.op == workload::Op::Read { request.bytes } else { Bytes(0) };
            let time = self.link.send(self.now, Way::FromDrives, bytes);
            self.set_timer(time, Timer::Reply { sub, reply });
        }
        self.answers = answers;
        if let Err(error) = played {
            self.cannot_go_on(index, error);
        }
    }

    /// A drive cannot be played on. Where its life has ended it counts as failed, and the others go on without it.
    ///
    /// # Errors
    /// They do not: what it has said.
    pub(crate) fn goes_on_without(&mut self, drive: usize, error: RunError) -> Result<(), RunError> {
        match error {
            RunError::EndOfLife { time, .. } if self.layout.code.parity > 0 => {
                self.now = self.now.max(time);
                self.drive_fails(drive);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// A drive cannot be played on, which ends what is played where the others do not go on without it.
    pub(crate) fn cannot_go_on(&mut self, drive: usize, error: RunError) {
        if let Err(error) = self.goes_on_without(drive, error) {
            self.failure.get_or_insert(error);
        }
    }

    /// A request arrives.
    fn begin(&mut self, id: u64, request: Request) {
        self.arriving = Some(request.time);
        let key = self.open.insert(Open::new(id, request, None));
        self.wake_windows();
        match self.zones {
            Some(_) => self.begin_zoned(key, request),
            None => self.begin_anywhere(key, request),
        }
        self.steps.push_back(Step::Part(key));
        self.arriving = None;
        self.wake_scrub();
    }

    /// What a request becomes where nothing of it is written in order.
    pub(crate) fn begin_anywhere(&mut self, key: Key, request: Request) {
        match request.op {
            workload::Op::Read if self.log.is_some() => self.begin_log_read(key, request),
            workload::Op::Write if self.log.is_some() => self.begin_log_write(key, request),
            workload::Op::Trim if self.log.is_some() => self.begin_log_trim(key, request),
            workload::Op::Read if self.layout.code.parity > 0 => self.begin_read(key, request),
            workload::Op::Write if self.layout.code.parity > 0 => self.begin_write(key, request),
            workload::Op::Trim if self.layout.code.parity > 0 => self.begin_trims(key, request),
            workload::Op::Read | workload::Op::Write | workload::Op::Trim => self.begin_plain(key, request),
            workload::Op::Flush => self.begin_flush(key, request),
            workload::Op::ZoneReport if self.zones.is_some() => self.begin_report(key, request),
            workload::Op::Append | workload::Op::Zone(_) | workload::Op::ZoneReport | workload::Op::HandleUpdate => {
                self.mark(key, |open| open.status = Status::InvalidOpcode);
            }
        }
    }

    /// A further operation that the request waits for.
    pub(crate) fn add_part(&mut self, request: Key) {
        self.open.get_mut(request).expect("Invariant: the request waits").parts += 1;
    }

    /// Something is to be known of a request when it completes.
    pub(crate) fn mark(&mut self, request: Key, mark: impl FnOnce(&mut Open)) {
        mark(self.open.get_mut(request).expect("Invariant: the request waits"));
    }

    fn go_on(&mut self, step: Step) {
        match step {
            Step::Reply(sub, reply) => self.on_reply(sub, reply),
            Step::Granted(op) => self.granted(op),
            Step::Part(request) => {
                let open = self.open.get_mut(request).expect("Invariant: the request waits");
                open.parts -= 1;
                if open.parts == 0 {
                    let open = self.open.remove(request).expect("Invariant: it is there");
                    let mut open = open;
                    if let Some(then) = open.then.take() {
                        return self.own_request_ends(open, *then);
                    }
                    self.zone_goes_on(&open);
                    let Open { id, request, uncorrectable, refused, aborted, status, in_order, .. } = open;
                    let at = in_order.map_or(request.offset, |(_, at)| at);
                    let done = Completion::new(id, request, self.now);
                    let done = Completion { uncorrectable, refused, aborted, status, at, ..done };
                    self.seen.completes(&done);
                    if let Some(explaining) = &mut self.explaining {
                        explaining.completes(self.now, id, &request);
                    }
                    self.completions.push(done);
                }
            }
        }
    }

    fn on_reply(&mut self, sub: Sub, reply: Reply) {
        let op = self.ops.get_mut(sub.op).and_then(Option::take);
        if let Some(explaining) = &mut self.explaining {
            let of_host = op.as_ref().and_then(Op::request).and_then(|request| self.open.get(request));
            let of_host = of_host.filter(|open| open.then.is_none());
            explaining.received(self.now, &sub, of_host.map(|open| open.id));
        }
        let Some(op) = op else {
            // The read is complete without it.
            self.counters.reads_unused += u64::from(reply.is_done());
            return;
        };
        let left = match op {
            Op::Plain(op) => self.plain_replied(op, sub, reply).map(Op::Plain),
            Op::Read(op) => self.read_replied(op, sub, reply).map(Op::Read),
            Op::Write(op) => self.write_replied(op, sub, reply).map(Op::Write),
            Op::Row(op) => self.row_replied(op, sub, reply).map(Op::Row),
            Op::Repair(op) => self.repair_replied(op, sub).map(Op::Repair),
            Op::Scrub(op) => self.scrub_replied(op, sub, reply).map(Op::Scrub),
            Op::Finish(op) => Self::finish_replied(op).map(Op::Finish),
        };
        self.put_back(sub.op, left);
    }

    fn granted(&mut self, key: Key) {
        let Some(op) = self.ops.get_mut(key).and_then(Option::take) else { return };
        let left = match op {
            Op::Read(op) => self.read_granted(op, key).map(Op::Read),
            Op::Write(op) => self.write_granted(op, key).map(Op::Write),
            Op::Row(op) => self.row_granted(op, key).map(Op::Row),
            Op::Scrub(op) => self.scrub_granted(op, key).map(Op::Scrub),
            Op::Repair(_) | Op::Plain(_) | Op::Finish(_) => unreachable!("Invariant: these wait for no lock"),
        };
        self.put_back(key, left);
    }

    /// Puts an operation back that goes on; one that does not is over.
    pub(crate) fn put_back(&mut self, key: Key, left: Option<Op>) {
        match left {
            Some(op) => *self.ops.get_mut(key).expect("Invariant: it is under way") = Some(op),
            None => drop(self.ops.remove(key)),
        }
    }

    /// Releases the locks of an operation.
    pub(crate) fn unlock(&mut self, stripe: u64, key: Key) {
        let mut granted = Vec::new();
        self.locks.release(stripe, key, &mut granted);
        self.steps.extend(granted.into_iter().map(Step::Granted));
    }

    /// Whether the place of a unit holds its data.
    #[inline]
    pub(crate) fn is_stored(&self, stripe: u64, unit: usize) -> bool {
        self.is_whole || self.is_stored_in_part(stripe, unit)
    }

    fn is_stored_in_part(&self, stripe: u64, unit: usize) -> bool {
        let spot = self.layout.spot(stripe, unit);
        match &self.seats[spot.place].state {
            SeatState::Present => true,
            SeatState::Missing => false,
            SeatState::Rebuilding(rebuild) => rebuild.has(spot.row),
        }
    }

    /// A place holds something else than before.
    pub(crate) fn seats_change(&mut self) {
        self.is_whole = self.seats.iter().all(|seat| matches!(seat.state, SeatState::Present));
    }

    /// The units, of those that are allowed, that hold their data, in the order in which they are to be taken.
    pub(crate) fn candidates(&mut self, stripe: u64, is_allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        let each = (0..self.layout.code.width()).filter(|unit| is_allowed(*unit));
        let mut candidates: Vec<Candidate> = each
            .filter(|unit| self.is_stored(stripe, *unit))
            .map(|unit| {
                let drive = self.seats[self.layout.spot(stripe, unit).place].drive;
                Candidate { unit, outstanding: self.members[drive].outstanding }
            })
            .collect();
        self.config.select.order(&mut candidates, self.chosen);
        self.chosen += 1;
        candidates.into_iter().map(|candidate| candidate.unit).collect()
    }

    /// Sends a request for a piece of a stripe to its drive.
    pub(crate) fn send(&mut self, op: workload::Op, stripe: u64, sub: Sub, host: Option<Request>) {
        let spot = self.layout.spot(stripe, sub.piece.unit);
        let offset = Bytes(spot.row * self.layout.chunk + sub.piece.start);
        let request = Request::new(self.now, op, offset, Bytes(sub.piece.bytes()));
        let (queue, hint) = host.map_or((0, 0), |host| (host.queue, host.hint));
        let request = Request { limited: sub.limited, ..request.on(queue).hinted(hint) };
        self.send_to(self.seats[spot.place].drive, request, sub);
    }

    /// Sends a request to a drive.
    pub(crate) fn send_to(&mut self, drive: usize, request: Request, sub: Sub) {
        self.subs_sent += 1;
        let sub = Sub { drive, number: self.subs_sent, sent: self.arriving.unwrap_or(self.now), ..sub };
        if let Some(explaining) = &mut self.explaining {
            explaining.sent(self.now, &sub);
        }
        let member = &mut self.members[drive];
        member.outstanding += 1;
        member.requests[sub.purpose as usize] += 1;
        let moves = request.op.moves_data() || request.op == workload::Op::ZoneReport;
        member.bytes[sub.purpose as usize] += if moves { request.bytes.0 } else { 0 };
        if self.link.is_ideal() {
            return self.deliver(drive, request, sub);
        }
        let time = match request.op {
            // What is done to zones comes after the writes before it.
            workload::Op::Zone(_) => self.link.send_in_turn(self.now),
            op if op.is_write() => self.link.send(self.now, Way::ToDrives, request.bytes),
            _ => self.link.send(self.now, Way::ToDrives, Bytes(0)),
        };
        self.set_timer(time, Timer::Deliver { drive, request, sub });
    }

    fn deliver(&mut self, drive: usize, request: Request, sub: Sub) {
        let member = &mut self.members[drive];
        if member.failed.is_some() {
            member.outstanding -= 1;
            return self.steps.push_back(Step::Reply(sub, Reply::DEAD));
        }
        let time = self.arriving.unwrap_or(self.now);
        if let Some(explaining) = &mut self.explaining {
            explaining.delivered(time, &sub);
        }
        match member.submit(Request { time, ..request }, sub) {
            Ok(()) => self.is_looked_at_again(drive),
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// The workload begins: drives fail at their times from now on, whatever a workload before would have had of them.
    pub(crate) fn set_failures(&mut self) {
        self.timers.retain(|due| !matches!(due.what, Timer::Fail(_)));
        for drive in 0..self.members.len() {
            if let Some(span) = self.members[drive].fails_at {
                self.set_timer(Time(self.now.0.saturating_add(span.0)), Timer::Fail(drive));
            }
        }
        (0..self.seats.len()).for_each(|place| self.life_begins(self.seats[place].drive));
    }

    /// A drive is in use from now on: if its life is drawn, it ends with that.
    pub(crate) fn life_begins(&mut self, drive: usize) {
        if let Some(mean) = self.members[drive].mean_life {
            let life = Span((self.lives.exponential(drive as u64) * mean.0 as f64) as u64);
            self.set_timer(Time(self.now.0.saturating_add(life.0)), Timer::Fail(drive));
        }
    }

    /// A drive fails: what it was asked for is not answered, and a spare one takes its place, if there is one.
    fn drive_fails(&mut self, drive: usize) {
        if self.members[drive].failed.is_some() {
            return;
        }
        let lost = self.members[drive].fail(self.now);
        self.is_looked_at_again(drive);
        self.counters.drives_failed += 1;
        self.spares.retain(|spare| *spare != drive);
        self.tell(&ArrayEvent::DriveFailed { drive });
        if let Some(place) = self.seats.iter().position(|seat| seat.drive == drive) {
            let was = std::mem::replace(&mut self.seats[place].state, SeatState::Missing);
            self.seats_change();
            if let SeatState::Rebuilding(rebuild) = was {
                self.rebuild_ends(rebuild);
            }
            if let Some(spare) = self.spares.pop_front() {
                self.begin_rebuild(place, spare);
            }
        }
        self.steps.extend(lost.into_iter().map(|sub| Step::Reply(sub, Reply::DEAD)));
        if self.has_lost_stripes() {
            self.data_is_lost();
        }
    }

    /// Whether enough drives are missing that some stripe cannot be had any more.
    fn has_lost_stripes(&self) -> bool {
        let code = self.layout.code;
        let stored = |stripe: u64| (0..code.width()).filter(|unit| self.is_stored(stripe, *unit)).count();
        let incomplete = self.seats.iter().filter(|seat| !matches!(seat.state, SeatState::Present)).count();
        incomplete > code.parity && (0..self.layout.stripes()).any(|stripe| stored(stripe) < code.data)
    }

    /// Data is lost, if not for the first time.
    pub(crate) fn data_is_lost(&mut self) {
        self.counters.data_lost.get_or_insert(self.now);
    }

    /// A drive that has become read-only takes no part any more.
    pub(crate) fn refuses(&mut self, drive: usize) {
        self.drive_fails(drive);
    }
}
