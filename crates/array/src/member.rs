//! A drive of the array, with what the array keeps of it.

use std::collections::VecDeque;

use ssd::Drive;
use ssd::persist::state;
use ssd::run::{Overwriting, PartCourse};
use ssd::stats::latency::ByQueue;
use ssd::stats::{Finding, Measured, Totals};
use units::{Span, Time};
use workload::{ReadCounts, Request};

use crate::ops::{Answer, Purpose, Reply, Sub};

/// A drive as it is given to an array.
pub struct MemberDrive<D> {
    /// What it is called in results.
    pub name: String,
    /// The drive.
    pub drive: D,
    /// It stands by, to take over from one that fails.
    pub spare: bool,
    /// When it fails, from the beginning of the workload on.
    pub fails_at: Option<Span>,
    /// The mean of its life, which is drawn, from when it is in use on.
    pub mean_life: Option<Span>,
}

/// A drive in the array.
pub(crate) struct Member<D> {
    pub name: String,
    pub drive: D,
    pub fails_at: Option<Span>,
    pub mean_life: Option<Span>,
    /// What it is overwritten with before the workload, until that has been done.
    pub overwriting: Option<Overwriting>,
    /// When it has failed.
    pub failed: Option<Time>,
    /// Requests to it that have not been answered, those on their way to it included.
    pub outstanding: u64,
    /// Those of them that wait to arrive at it.
    pub pending: usize,
    /// Those that it has, by its numbers from `first` on.
    subs: VecDeque<Option<Sub>>,
    first: u64,
    /// When the last request came.
    last: Time,
    /// What it has answered, at the present time or, played ahead, later.
    pub answers: VecDeque<Answer>,
    pub latencies: ByQueue,
    /// Requests by their purposes.
    pub requests: [u64; Purpose::COUNT],
    pub bytes: [u64; Purpose::COUNT],
    /// What it had counted when counting began.
    pub baseline: Totals,
    /// How it went since then.
    course: PartCourse,
}

state! {
    [D: Drive] Member<D> {
        stored { failed, outstanding, pending, subs, first, last, answers }
        rebuilt { name, drive, fails_at, mean_life, overwriting, latencies, requests, bytes, baseline, course }
    }
}

impl<D: Drive> Member<D> {
    pub fn new(given: MemberDrive<D>) -> Member<D> {
        let MemberDrive { name, drive, fails_at, mean_life, .. } = given;
        Member {
            name,
            fails_at,
            mean_life,
            overwriting: None,
            failed: None,
            outstanding: 0,
            pending: 0,
            subs: VecDeque::new(),
            first: drive.submitted(),
            last: Time::ZERO,
            answers: VecDeque::new(),
            latencies: ByQueue::new(1),
            requests: [0; Purpose::COUNT],
            bytes: [0; Purpose::COUNT],
            baseline: drive.totals(),
            course: PartCourse::default(),
            drive,
        }
    }

    /// Hands a request over, which comes at its time, or where that has passed as early as can be.
    pub fn submit(&mut self, mut request: Request, sub: Sub) -> Result<(), ssd::RunError> {
        let is_first = self.drive.pending_arrivals() == 0;
        let earliest = if is_first { self.last.max(self.drive.now()) } else { self.last };
        request.time = request.time.max(earliest);
        self.last = request.time;
        let id = self.drive.submit(request)?;
        if self.subs.is_empty() {
            self.first = id;
        }
        self.subs.push_back(Some(sub));
        Ok(())
    }

    /// When something happens next that matters: nothing does while no request is there. One that was played ahead may have come to its
    /// end: that is when it did.
    pub fn next_that_matters(&self) -> Time {
        if let Some(answer) = self.answers.front() {
            return answer.finish;
        }
        if self.subs.is_empty() {
            return Time::NEVER;
        }
        let next = self.drive.next_event();
        next.unwrap_or_else(|| self.drive.failure().map_or(Time::NEVER, |_| self.drive.now()))
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        self.answers.front().map(|answer| answer.finish).or_else(|| self.drive.next_event())
    }

    /// Takes the answers from the drive.
    pub fn take_answers(&mut self) {
        for completion in self.drive.take_completions() {
            let index = (completion.id - self.first) as usize;
            let sub = self.subs[index].take().expect("Invariant: a request completes once");
            while let Some(None) = self.subs.front() {
                self.subs.pop_front();
                self.first += 1;
            }
            let reply = Reply {
                uncorrectable: completion.uncorrectable,
                gave_up: completion.gave_up && !completion.uncorrectable,
                refused: completion.refused,
                aborted: completion.aborted,
                dead: false,
                latency: completion.latency(),
            };
            let (request, id, finish) = (completion.request, completion.id, completion.finish);
            self.answers.push_back(Answer { sub, reply, request, id, finish });
        }
    }

    /// The next answer, if it has come until then.
    pub fn next_answer(&mut self, until: Time) -> Option<Answer> {
        let answer = self.answers.pop_front_if(|answer| answer.finish <= until)?;
        if !(answer.reply.refused || answer.reply.aborted) {
            let Request { op, bytes, .. } = answer.request;
            self.latencies.record(0, op, answer.reply.latency, bytes.0);
        }
        self.outstanding -= 1;
        Some(answer)
    }

    /// Fails: what it was asked for is not answered.
    pub fn fail(&mut self, now: Time) -> Vec<Sub> {
        self.failed = Some(now);
        let answered = self.answers.drain(..).map(|answer| answer.sub);
        let subs: Vec<Sub> = answered.chain(self.subs.drain(..).flatten()).collect();
        self.outstanding -= subs.len() as u64;
        subs
    }

    /// Whether its drive rests, or is none any more.
    pub fn rests(&self) -> bool {
        self.failed.is_some() || self.drive.header()["rests"] == true
    }

    /// The same with what `other` makes of the drive.
    pub fn map<E>(self, other: impl FnOnce(D) -> E) -> Member<E> {
        let Member { name, drive, fails_at, mean_life, overwriting, failed, outstanding, pending, .. } = self;
        let Member { subs, first, last, answers, latencies, requests, bytes, baseline, course, .. } = self;
        let drive = other(drive);
        Member {
            name,
            drive,
            fails_at,
            mean_life,
            overwriting,
            failed,
            outstanding,
            pending,
            subs,
            first,
            last,
            answers,
            latencies,
            requests,
            bytes,
            baseline,
            course,
        }
    }

    /// What is counted begins now.
    pub fn counting_begins(&mut self) {
        self.latencies = ByQueue::new(1);
        self.requests = [0; Purpose::COUNT];
        self.bytes = [0; Purpose::COUNT];
        self.baseline = self.drive.totals();
        self.course.start(&self.drive);
    }

    /// It is looked at, some hundred times in a run.
    pub fn is_looked_at(&mut self) {
        self.course.look(&self.drive);
    }

    /// What was measured of it alone.
    pub fn measured(&self) -> Measured {
        Measured {
            latencies: self.latencies.clone(),
            totals: self.drive.totals().since(&self.baseline),
            wrapped: 0,
            settled: 0,
            missing: None,
            over: false,
            past_assumed: false,
            read: ReadCounts::default(),
            of_source: Vec::new(),
            steady: None,
            drive: self.drive.state(),
            findings: Vec::new(),
        }
    }

    /// What puts that in doubt.
    pub fn findings(&self) -> Vec<Finding> {
        self.course.findings(&self.drive, &self.measured())
    }
}
