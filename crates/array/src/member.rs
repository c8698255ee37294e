//! A drive of the array, with what the array keeps of it.

use std::collections::VecDeque;

use ssd::persist::state;
use ssd::run::{Overwriting, PartCourse, Warming};
use ssd::stats::latency::ByQueue;
use ssd::stats::{DriveState, Finding, Measured, Outside, Start, Totals, Warmed};
use ssd::{RunDrive, RunError};
use units::{Span, Time};
use workload::{ReadCounts, Request};

use crate::ops::{Answer, Purpose, Reply, Sub};

/// A drive as it is given to an array.
pub struct MemberDrive<D: ?Sized> {
    /// What it is called in results.
    pub name: String,
    /// The drive.
    pub drive: Box<D>,
    /// It stands by, to take over from one that fails.
    pub spare: bool,
    /// When it fails, from the beginning of the workload on.
    pub fails_at: Option<Span>,
    /// The mean of its life, which is drawn, from when it is in use on.
    pub mean_life: Option<Span>,
}

/// A drive in the array.
pub(crate) struct Member<D: ?Sized> {
    pub name: String,
    pub drive: Box<D>,
    pub fails_at: Option<Span>,
    pub mean_life: Option<Span>,
    /// What it is overwritten with before the workload, until that has been done.
    pub overwriting: Option<Overwriting>,
    /// Its part of the load before, which is played through its FTL alone, until that has been done; and what came of
    /// it.
    pub warming: Option<Box<Warming>>,
    pub warmed: Option<Warmed>,
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
    [D: RunDrive + ?Sized] Member<D> {
        stored { failed, outstanding, pending, subs, first, last }
        rebuilt { name, drive, fails_at, mean_life, overwriting, warming, warmed, latencies, requests, bytes, baseline, course }
    }
}

impl<D: RunDrive + ?Sized> Member<D> {
    pub fn new(given: MemberDrive<D>) -> Member<D> {
        let MemberDrive { name, drive, fails_at, mean_life, .. } = given;
        Member {
            name,
            fails_at,
            mean_life,
            overwriting: None,
            warming: None,
            warmed: None,
            failed: None,
            outstanding: 0,
            pending: 0,
            subs: VecDeque::new(),
            first: drive.submitted(),
            last: Time::ZERO,
            latencies: ByQueue::new(1),
            requests: [0; Purpose::COUNT],
            bytes: [0; Purpose::COUNT],
            baseline: drive.totals(),
            course: PartCourse::default(),
            drive,
        }
    }

    /// Hands a request over, which comes at its time, or where that has passed as early as can be.
    pub fn submit(&mut self, mut request: Request, sub: Sub) -> Result<(), RunError> {
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

    /// When something happens next that matters: nothing does while no request is there.
    #[inline]
    pub fn next_that_matters(&self) -> Time {
        let next = if self.subs.is_empty() { None } else { self.drive.next_event() };
        next.unwrap_or(Time::NEVER)
    }

    /// Takes the answers.
    pub fn take_answers(&mut self, answers: &mut Vec<Answer>) {
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
                status: completion.status,
                latency: completion.latency(),
            };
            if completion.is_done() {
                let Request { op, bytes, .. } = completion.request;
                self.latencies.record(0, op, reply.latency, bytes.0);
            }
            self.outstanding -= 1;
            answers.push(Answer { sub, reply, request: completion.request, id: completion.id });
        }
    }

    /// Fails: what it was asked for is not answered.
    pub fn fail(&mut self, now: Time) -> Vec<Sub> {
        self.failed = Some(now);
        let subs: Vec<Sub> = self.subs.drain(..).flatten().collect();
        self.outstanding -= subs.len() as u64;
        subs
    }

    /// Whether its drive rests, or is none any more.
    pub fn rests(&self) -> bool {
        self.failed.is_some() || self.drive.header()["rests"] == true
    }

    /// What is counted begins now.
    pub fn counting_begins(&mut self) {
        self.latencies = ByQueue::new(1);
        self.requests = [0; Purpose::COUNT];
        self.bytes = [0; Purpose::COUNT];
        self.baseline = self.drive.totals();
        self.course.start(&*self.drive);
    }

    /// It is looked at, some hundred times in a run.
    pub fn is_looked_at(&mut self) {
        self.course.look(&*self.drive);
    }

    /// How it stands, with what is known of how it was brought to its start.
    fn state(&self) -> DriveState {
        let state = self.drive.state();
        let Some(warmed) = self.warmed else { return state };
        let start = if warmed.reached { Start::MidLife } else { Start::OnTheWay };
        DriveState { start, warmed: self.warmed, waf_before: warmed.reached.then_some(warmed.waf), ..state }
    }

    /// Plays some requests more of what brings it into its state before the workload; whether it is there.
    pub fn comes_into_its_state(&mut self, requests: u64) -> Result<bool, RunError> {
        if let Some(overwriting) = &mut self.overwriting
            && overwriting.play(&mut *self.drive, requests)?
        {
            self.overwriting = None;
        }
        if let Some(warming) = &mut self.warming
            && let Some(warmed) = self.drive.warm(warming, requests)?
        {
            (self.warming, self.warmed) = (None, Some(warmed));
        }
        Ok(!self.is_on_its_way())
    }

    /// Whether it is still to come into its state.
    pub fn is_on_its_way(&self) -> bool {
        self.overwriting.is_some() || self.warming.is_some()
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
            outside: Outside::default(),
            of_source: Vec::new(),
            read: ReadCounts::default(),
            steady: None,
            drive: self.state(),
            findings: Vec::new(),
        }
    }

    /// What puts that in doubt.
    pub fn findings(&self) -> Vec<Finding> {
        self.course.findings(&*self.drive, &self.measured())
    }
}
