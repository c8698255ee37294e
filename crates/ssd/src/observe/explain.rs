//! Where the time of a request went: from its arrival to its completion without a gap, along the part that arrived
//! last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemes::learned::Context;
use units::{Span, Time};
use workload::Op;

use crate::observe::probe::{Event, Probe};
use crate::observe::stats::die;

/// A stretch of a request's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What it went into: one of [`STAGES`].
    pub what: &'static str,
    /// Retry steps of the page before it; 0 for the first sense and what is no sense.
    pub step: u16,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// While a part waited for its die: what that did or waited for, by [`die::names`].
    pub die: Option<die::Spent>,
}

impl Stage {
    /// How long it took.
    pub fn took(&self) -> Span {
        self.to.since(self.from)
    }
}

/// The stages by name, with what they mean.
pub const STAGES: [(&str, &str); 15] = [
    ("host queue", "until the device takes the request up, t_submit included"),
    ("firmware", "until a core is free, and t_firmware"),
    ("map", "until the map says where the data is"),
    ("die", "until the die takes the operation"),
    ("command", "the read command on the bus, and SET FEATURE"),
    ("sense", "tR, and on a die that predicts tPRED and what it senses again by itself"),
    ("bus", "until the bus and the ECC engine have room"),
    ("transfer", "tDMA"),
    ("ecc", "until a decoder is free"),
    ("decode", "tECC"),
    ("buffer", "until the write buffer has room"),
    ("receive", "written data over the link"),
    ("store", "written data into the DRAM"),
    ("program", "until written data is on flash"),
    ("send", "through DRAM and link, and t_complete"),
];

/// How the first sense of a page went, on a drive with decision trees (`read.trees`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSense {
    /// What the controller knew before.
    pub known: Context,
    /// It took the RPT's tPRE.
    pub hasty: bool,
    /// A retry followed at once.
    pub ahead: bool,
    /// It was corrected.
    pub corrected: bool,
    /// The step of the table that read the page, or the one next to the references that did; none where nothing did.
    pub read_by: Option<u8>,
}

/// A request and its stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Its number.
    pub request: u64,
    /// What it asked.
    pub op: Op,
    /// How much.
    pub bytes: u64,
    /// When the host sent it.
    pub arrival: Time,
    /// When the host saw it complete.
    pub finish: Time,
    /// Where its time went, in order, without a gap.
    pub stages: Vec<Stage>,
    /// Of a read, in their order, the stages of each of its pages that came from flash, from the request's arrival
    /// until it was decoded.
    pub parts: Vec<Vec<Stage>>,
    /// Of a read, how the first senses of these pages went, on a drive with decision trees.
    pub first_senses: Vec<FirstSense>,
}

impl Explanation {
    /// From arrival to completion.
    pub fn latency(&self) -> Span {
        self.finish.since(self.arrival)
    }
}

/// One sense of a part on its way.
#[derive(Clone, Copy, Default)]
struct Step {
    queued: Time,
    queued_die: die::Spent,
    granted: Time,
    granted_die: die::Spent,
    senses: Time,
    sensed: Time,
    leaves: Time,
    left: Time,
    decodes: Time,
    decoded: Time,
}

/// Stages one after the other.
struct Path {
    at: Time,
    stages: Vec<Stage>,
}

impl Path {
    fn new(tracked: &Tracked) -> Path {
        let mut path = Path { at: tracked.arrival, stages: Vec::new() };
        path.until("host queue", 0, tracked.started, None);
        path.until("firmware", 0, tracked.processed, None);
        path
    }

    fn until(&mut self, what: &'static str, step: u16, to: Time, die: Option<die::Spent>) {
        if to > self.at {
            self.stages.push(Stage { what, step, from: self.at, to, die });
            self.at = to;
        }
    }

    /// The senses of a page, the last of which was sent on by `finish`.
    fn read(&mut self, steps: &[Step], finish: Time) {
        for (number, step) in (0..).zip(steps) {
            // With CACHE READ the next step was queued before this one was decoded.
            let end = steps.get(usize::from(number) + 1).map_or(finish, |next| next.queued);
            if number == 0 {
                self.until("map", 0, step.queued, None);
            }
            let spent = std::array::from_fn(|cause| Span(step.granted_die[cause].0 - step.queued_die[cause].0));
            self.until("die", number, step.granted.min(end), Some(spent));
            self.until("command", number, step.senses.min(end), None);
            self.until("sense", number, step.sensed.min(end), None);
            self.until("bus", number, step.leaves.min(end), None);
            self.until("transfer", number, step.left.min(end), None);
            self.until("ecc", number, step.decodes.min(end), None);
            self.until("decode", number, step.decoded.min(end), None);
        }
        // With CACHE READ an earlier step may be decoded longer than the last one.
        let decoded = steps.iter().map(|step| step.decoded).max().unwrap_or_default();
        self.until("decode", (steps.len() as u16).saturating_sub(1), decoded.min(finish), None);
    }
}

#[derive(Default)]
struct Tracked {
    queue: u16,
    op: Option<Op>,
    bytes: u64,
    arrival: Time,
    started: Time,
    /// When the firmware had processed it: at once, where that takes no time.
    processed: Time,
    parts: Vec<u64>,
    /// The parts of a read that have been decoded, and their senses before the last.
    sent: Vec<(u64, u16)>,
    /// The part of a read that arrives last.
    last: Option<LastPart>,
    /// Of a write, how its last data came in.
    written: Option<Taken>,
}

/// The part of a read that arrives last.
struct LastPart {
    /// Its operation; none for buffered data.
    part: Option<u64>,
    /// Its senses before the last.
    attempt: u16,
    arrives: Time,
}

/// How a write's last data came in.
struct Taken {
    /// It began to cross the link.
    crosses: Time,
    /// It had crossed it.
    crossed: Time,
    /// It was in the buffer.
    stored: Time,
}

/// A request of the workload that completes.
pub(crate) struct Completing<'a> {
    /// Where its time went.
    pub explanation: Explanation,
    /// Its submission queue.
    pub queue: u16,
    /// The operations that read its pages.
    pub parts: &'a [u64],
}

/// Explanations of all requests of a device, for those who ask it for requests that are parts of others: by the
/// device's own numbers and times, each until it is taken.
#[derive(Clone, Default)]
pub struct Followed(Arc<Mutex<HashMap<u64, Explanation>>>);

impl Followed {
    /// Takes that of a request that has completed.
    pub fn take(&self, request: u64) -> Option<Explanation> {
        self.all().remove(&request)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Explanation>> {
        // Nothing is left half done in it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A probe that explains the slowest requests, or those that are asked for, or all to one who follows them.
pub struct Explainer {
    /// How many of the slowest are kept.
    slowest: usize,
    /// Requests that are kept whatever they take.
    wanted: Vec<u64>,
    /// Requests from here on may be among the slowest.
    first: u64,
    /// The workload's first request and when it began.
    origin: (u64, Time),
    requests: HashMap<u64, Tracked>,
    parts: HashMap<u64, Vec<Step>>,
    first_senses: HashMap<u64, FirstSense>,
    /// Those that were asked for, and the slowest others so far.
    asked: Vec<Explanation>,
    slow: Vec<Explanation>,
    /// Who follows all, from the beginning of the workload on.
    followed: Option<Followed>,
    has_begun: bool,
}

impl Explainer {
    /// Explains every request to one who follows, who takes each when it has completed.
    pub fn followed() -> (Explainer, Followed) {
        let followed = Followed::default();
        (Explainer { followed: Some(followed.clone()), ..Explainer::new(0, Vec::new(), 0) }, followed)
    }

    /// Keeps the `slowest` slowest requests, and those numbered in `wanted`; the first `warmup` are not among the
    /// slowest.
    pub fn new(slowest: usize, wanted: Vec<u64>, warmup: u64) -> Explainer {
        Explainer {
            slowest,
            wanted,
            first: warmup,
            origin: (0, Time::ZERO),
            requests: HashMap::new(),
            parts: HashMap::new(),
            first_senses: HashMap::new(),
            asked: Vec::new(),
            slow: Vec::new(),
            followed: None,
            has_begun: false,
        }
    }

    /// The workload begins with request `first` of the device: what came before brought the drive into its state.
    fn begin(&mut self, now: Time, first: u64) {
        self.asked.clear();
        self.slow.clear();
        self.has_begun = true;
        if self.followed.is_some() {
            return;
        }
        self.origin = (first, now);
    }

    /// Slow requests before this one were not measured.
    fn counts_from(&mut self, first: u64) {
        self.first = first.saturating_sub(self.origin.0);
        self.slow.retain(|of| of.request >= self.first);
    }

    /// What was kept: what was asked for in the order of its numbers, then the slowest, the slowest first.
    pub fn explanations(&self) -> Vec<Explanation> {
        let (mut asked, mut slow) = (self.asked.clone(), self.slow.clone());
        asked.sort_by_key(|of| self.wanted.iter().position(|number| *number == of.request));
        slow.sort_by_key(|of| (std::cmp::Reverse(of.latency()), of.request));
        asked.append(&mut slow);
        asked
    }

    fn step(&mut self, part: u64, attempt: u16) -> Option<&mut Step> {
        self.parts.get_mut(&part).and_then(|steps| steps.get_mut(usize::from(attempt)))
    }

    /// What is told of the first sense of a part.
    fn first_sense(&mut self, event: Event) {
        let senses = &mut self.first_senses;
        match event {
            Event::Foresees { part, known, ahead } => {
                let first = FirstSense { known, hasty: false, ahead, corrected: false, read_by: None };
                senses.insert(part, first);
            }
            Event::FirstSense { part, hasty, corrected } => {
                if let Some(first) = senses.get_mut(&part) {
                    (first.hasty, first.corrected) = (hasty, corrected);
                }
            }
            Event::ReadBy { part, step } => {
                if let Some(first) = senses.get_mut(&part) {
                    first.read_by = Some(step);
                }
            }
            _ => {}
        }
    }

    fn processed(&mut self, now: Time, request: u64) {
        if let Some(tracked) = self.requests.get_mut(&request) {
            tracked.processed = now;
        }
    }

    /// A part is on its way to the host.
    fn sent(&mut self, request: u64, part: Option<(u64, u16)>, arrives: Time) {
        let Some(tracked) = self.requests.get_mut(&request) else { return };
        tracked.sent.extend(part);
        if tracked.last.as_ref().is_none_or(|last| arrives >= last.arrives) {
            let (part, attempt) = part.map_or((None, 0), |(part, attempt)| (Some(part), attempt));
            tracked.last = Some(LastPart { part, attempt, arrives });
        }
    }

    fn completed(&mut self, now: Time, request: u64) {
        let Some(mut tracked) = self.requests.remove(&request) else { return };
        if let Some(number) = request.checked_sub(self.origin.0) {
            self.consider(now, number, &tracked);
        }
        for part in tracked.parts.drain(..) {
            self.parts.remove(&part);
            self.first_senses.remove(&part);
        }
    }

    /// Keeps a completed request if it was asked for or is among the slowest.
    fn consider(&mut self, now: Time, request: u64, tracked: &Tracked) {
        if let Some(followed) = self.followed.as_ref().filter(|_| self.has_begun) {
            followed.all().insert(request, self.explanation(now, request, tracked));
            return;
        }
        let latency = now.since(tracked.arrival);
        let wanted = self.wanted.contains(&request);
        let least = (0..self.slow.len()).min_by_key(|place| self.slow[*place].latency());
        let room = self.slow.len() < self.slowest;
        let slow = request >= self.first && (room || least.is_some_and(|place| self.slow[place].latency() < latency));
        if wanted || slow {
            let explanation = self.explanation(now, request, tracked);
            match least {
                _ if wanted => self.asked.push(explanation),
                Some(place) if !room => self.slow[place] = explanation,
                _ => self.slow.push(explanation),
            }
        }
    }

    /// Where the time of a request went that completes now.
    fn explanation(&self, now: Time, request: u64, tracked: &Tracked) -> Explanation {
        let op = tracked.op.unwrap_or(Op::Flush);
        let since = |time: Time| Time(time.0 - self.origin.1.0);
        let mut stages = self.stages(tracked, now);
        let mut parts = self.parts_of(tracked);
        for stage in stages.iter_mut().chain(parts.iter_mut().flatten()) {
            (stage.from, stage.to) = (since(stage.from), since(stage.to));
        }
        let (bytes, arrival, finish) = (tracked.bytes, since(tracked.arrival), since(now));
        let mut sent = tracked.sent.clone();
        sent.sort_unstable();
        let first_senses = sent.iter().filter_map(|(part, _)| self.first_senses.get(part).copied()).collect();
        Explanation { request, op, bytes, arrival, finish, stages, parts, first_senses }
    }

    /// A request of the workload that completes now.
    pub(crate) fn completing(&self, now: Time, request: u64) -> Option<Completing<'_>> {
        let tracked = self.requests.get(&request)?;
        let number = request.checked_sub(self.origin.0)?;
        let explanation = self.explanation(now, number, tracked);
        Some(Completing { explanation, queue: tracked.queue, parts: &tracked.parts })
    }

    /// The workload's first request, and when it began.
    pub(crate) fn origin(&self) -> (u64, Time) {
        self.origin
    }

    fn stages(&self, tracked: &Tracked, finish: Time) -> Vec<Stage> {
        let mut path = Path::new(tracked);
        if let Some(LastPart { part: Some(part), attempt, .. }) = tracked.last
            && let Some(steps) = self.parts.get(&part)
        {
            path.read(&steps[..steps.len().min(usize::from(attempt) + 1)], finish);
            path.until("send", 0, finish, None);
        } else if let Some(taken) = &tracked.written {
            path.until("buffer", 0, taken.crosses, None);
            path.until("receive", 0, taken.crossed.min(finish), None);
            path.until("store", 0, taken.stored.min(finish), None);
            path.until("program", 0, finish, None);
        } else {
            path.until("send", 0, finish, None);
        }
        path.stages
    }

    fn parts_of(&self, tracked: &Tracked) -> Vec<Vec<Stage>> {
        let path = |(part, attempt): &(u64, u16)| {
            let steps = self.parts.get(part)?;
            let mut path = Path::new(tracked);
            path.read(&steps[..steps.len().min(usize::from(*attempt) + 1)], Time::NEVER);
            Some(path.stages)
        };
        // In the order of the request's pages.
        let mut sent = tracked.sent.clone();
        sent.sort_unstable();
        sent.iter().filter_map(path).collect()
    }
}

impl Probe for Explainer {
    const EXPLAINS: bool = true;

    fn explain(&mut self, now: Time, event: Event) {
        match event {
            Event::Started { request, op, bytes, arrival, queue } => {
                let tracked = Tracked { queue, op: Some(op), bytes, arrival, started: now, ..Tracked::default() };
                self.requests.insert(request, tracked);
            }
            Event::Processed { request } => self.processed(now, request),
            Event::Reads { request, part } => {
                if let Some(tracked) = self.requests.get_mut(&request) {
                    tracked.parts.push(part);
                }
            }
            Event::Waits { part, attempt, spent } => {
                let step = Step { queued: now, queued_die: spent, ..Step::default() };
                let steps = self.parts.entry(part).or_default();
                steps.truncate(attempt.into());
                steps.push(step);
            }
            Event::Senses { part, attempt, begins, ends, spent, .. } => {
                if let Some(step) = self.step(part, attempt) {
                    (step.granted, step.granted_die, step.senses, step.sensed) = (now, spent, begins, ends);
                }
            }
            Event::Foresees { .. } | Event::FirstSense { .. } | Event::ReadBy { .. } => self.first_sense(event),
            Event::OnDieRetry { part, attempt, ends, .. } => {
                if let Some(step) = self.step(part, attempt) {
                    step.sensed = ends;
                }
            }
            Event::Leaves { part, attempt, end, .. } => {
                if let Some(step) = self.step(part, attempt) {
                    (step.leaves, step.left) = (now, end);
                }
            }
            Event::Decodes { part, attempt, end, .. } => {
                if let Some(step) = self.step(part, attempt) {
                    (step.decodes, step.decoded) = (now, end);
                }
            }
            Event::Sent { request, part, arrives } => self.sent(request, part, arrives),
            Event::Received { request, from, to } => {
                if let Some(tracked) = self.requests.get_mut(&request) {
                    tracked.written = Some(Taken { crosses: from, crossed: to, stored: to });
                }
            }
            Event::Stored { request, at } => {
                if let Some(written) = self.requests.get_mut(&request).and_then(|of| of.written.as_mut()) {
                    written.stored = at;
                }
            }
            Event::Completed { request } => self.completed(now, request),
            Event::Begins { first } => self.begin(now, first),
            Event::Counts { first } => self.counts_from(first),
            Event::Arrives { .. }
            | Event::Die { .. }
            | Event::Bus { .. }
            | Event::Serves { .. }
            | Event::Programs { .. }
            | Event::Phase { .. }
            | Event::Resets { .. }
            | Event::State { .. } => {}
        }
    }
}
