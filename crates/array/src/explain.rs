//! Where the time of an array's requests went: from arrival to completion without a gap, along the request to a drive
//! that was answered last, with what that drive says of it, and before it the one that it had waited for.

use std::collections::HashMap;

use ssd::{Explanation, Followed, Stage};
use units::Time;
use workload::Request;

use crate::ops::{Purpose, Sub};
use crate::slab::Key;

/// The stages that an array adds to those of its drives (`ssd::explain::STAGES`), with what they mean.
pub const STAGES: [(&str, &str); 4] = [
    ("stripe", "until the array may, or has to, ask a drive: locks of the stripe, a hedge's delay"),
    ("to drive", "over the array's link, with written data"),
    ("from drive", "over the array's link, with read data"),
    ("drive", "in a drive that says no more of it"),
];

/// A stretch of a request's time, and the drive that it went to, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayStage {
    /// The stretch.
    pub stage: Stage,
    /// The drive.
    pub drive: Option<usize>,
    /// What that was asked for.
    pub purpose: Option<Purpose>,
}

/// A request of an array and its stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayExplanation {
    /// Its number in the workload.
    pub number: u64,
    /// What was asked.
    pub request: Request,
    /// When the host sent it, from the beginning of the workload on.
    pub arrival: Time,
    /// When the host saw it complete.
    pub finish: Time,
    /// Where its time went, in order, without a gap.
    pub stages: Vec<ArrayStage>,
}

/// A request to a drive.
#[derive(Clone, Debug)]
struct Leg {
    op: Key,
    drive: usize,
    purpose: Purpose,
    sent: Time,
    delivered: Time,
    answered: Time,
    received: Time,
    of_drive: Option<Explanation>,
}

/// What explains the slowest requests of an array, or those that are asked for.
pub(crate) struct Explaining {
    slowest: usize,
    wanted: Vec<u64>,
    /// Requests from here on may be among the slowest.
    first: u64,
    /// The workload's first request and when it began.
    origin: (u64, Time),
    /// What drives say of their requests.
    followed: Vec<Followed>,
    /// Requests to drives under way, by their numbers, and those of requests of the host that have been answered.
    legs: HashMap<u64, Leg>,
    answered: HashMap<u64, Vec<Leg>>,
    asked: Vec<ArrayExplanation>,
    slow: Vec<ArrayExplanation>,
}

impl Explaining {
    pub fn new(slowest: usize, wanted: Vec<u64>, warmup: u64, followed: Vec<Followed>) -> Explaining {
        Explaining {
            slowest,
            wanted,
            first: warmup,
            origin: (0, Time::ZERO),
            followed,
            legs: HashMap::new(),
            answered: HashMap::new(),
            asked: Vec::new(),
            slow: Vec::new(),
        }
    }

    /// The workload begins with this request of the array.
    pub fn begin(&mut self, now: Time, first: u64) {
        self.origin = (first, now);
    }

    /// What was kept: what was asked for in the order of its numbers, then the slowest, the slowest first.
    pub fn explanations(&self) -> Vec<ArrayExplanation> {
        let (mut asked, mut slow) = (self.asked.clone(), self.slow.clone());
        asked.sort_by_key(|of| self.wanted.iter().position(|number| *number == of.number));
        slow.sort_by_key(|of| (std::cmp::Reverse(of.finish.since(of.arrival)), of.number));
        asked.append(&mut slow);
        asked
    }

    pub fn sent(&mut self, now: Time, sub: &Sub) {
        let Sub { op, drive, purpose, number, .. } = *sub;
        let never = Time::ZERO;
        let leg =
            Leg { op, drive, purpose, sent: now, delivered: never, answered: never, received: never, of_drive: None };
        self.legs.insert(number, leg);
    }

    pub fn delivered(&mut self, time: Time, sub: &Sub) {
        if let Some(leg) = self.legs.get_mut(&sub.number) {
            leg.delivered = time;
        }
    }

    /// What is measured begins with this request, by its number in the array: slow ones before it were not.
    pub fn counts_from(&mut self, number: u64) {
        self.first = number.saturating_sub(self.origin.0);
        self.slow.retain(|of| of.number >= self.first);
    }

    /// A drive has answered; the request has this number there.
    pub fn answered(&mut self, now: Time, sub: &Sub, number: u64) {
        let of_drive = self.followed[sub.drive].take(number);
        if let Some(leg) = self.legs.get_mut(&sub.number) {
            (leg.answered, leg.of_drive) = (now, of_drive);
        }
    }

    /// What was answered has reached the host, for one of its requests or for none.
    pub fn received(&mut self, now: Time, sub: &Sub, request: Option<u64>) {
        if let Some(mut leg) = self.legs.remove(&sub.number)
            && let Some(request) = request
        {
            leg.received = now;
            self.answered.entry(request).or_default().push(leg);
        }
    }

    /// A request of the host completes, by its number in the array.
    pub fn completes(&mut self, now: Time, number: u64, request: &Request) {
        let legs = self.answered.remove(&number).unwrap_or_default();
        let Some(number) = number.checked_sub(self.origin.0) else { return };
        let latency = now.since(request.time);
        let is_wanted = self.wanted.contains(&number);
        let latency_of = |of: &ArrayExplanation| of.finish.since(of.arrival);
        let least = (0..self.slow.len()).min_by_key(|place| latency_of(&self.slow[*place]));
        let has_room = self.slow.len() < self.slowest;
        let is_slow =
            number >= self.first && (has_room || least.is_some_and(|place| latency_of(&self.slow[place]) < latency));
        if !is_wanted && !is_slow {
            return;
        }
        let since = |time: Time| Time(time.0.saturating_sub(self.origin.1.0));
        let mut stages = stages(&legs, request.time, now);
        for ArrayStage { stage, .. } in &mut stages {
            (stage.from, stage.to) = (since(stage.from), since(stage.to));
        }
        let (arrival, finish) = (since(request.time), since(now));
        let explanation = ArrayExplanation { number, request: *request, arrival, finish, stages };
        match least {
            _ if is_wanted => self.asked.push(explanation),
            Some(place) if !has_room => self.slow[place] = explanation,
            _ => self.slow.push(explanation),
        }
    }
}

/// Stages one after the other.
struct Path {
    at: Time,
    stages: Vec<ArrayStage>,
}

impl Path {
    fn until(&mut self, to: Time, of: Option<&Leg>, stage: Stage) {
        let to = to.min(stage.to);
        if to > self.at {
            let stage = Stage { from: self.at, to, ..stage };
            self.stages.push(ArrayStage { stage, drive: of.map(|leg| leg.drive), purpose: of.map(|leg| leg.purpose) });
            self.at = to;
        }
    }

    fn plain(&mut self, what: &'static str, to: Time, of: Option<&Leg>) {
        self.until(to, of, Stage { what, step: 0, from: self.at, to, die: None });
    }
}

/// The stages of a request, from the legs that had been answered when it completed: the last of them, and before each
/// the last one of its operation that had been answered when it was sent.
fn stages(legs: &[Leg], arrival: Time, finish: Time) -> Vec<ArrayStage> {
    let mut chain: Vec<&Leg> = legs.iter().max_by_key(|leg| leg.received).into_iter().collect();
    while let Some(first) = chain.last()
        && let Some(before) = legs
            .iter()
            .filter(|leg| leg.op == first.op && leg.received <= first.sent && leg.sent < first.sent)
            .max_by_key(|leg| leg.received)
    {
        chain.push(before);
    }
    let mut path = Path { at: arrival, stages: Vec::new() };
    for leg in chain.into_iter().rev() {
        path.plain("stripe", leg.sent.min(finish), None);
        path.plain("to drive", leg.delivered.min(finish), Some(leg));
        for stage in leg.of_drive.iter().flat_map(|of| &of.stages) {
            path.until(finish, Some(leg), stage.clone());
        }
        path.plain("drive", leg.answered.min(finish), Some(leg));
        path.plain("from drive", leg.received.min(finish), Some(leg));
    }
    path.plain("stripe", finish, None);
    path.stages
}
