//! A drive that serves one request after another, each in a time that is known.

use std::collections::{BTreeSet, VecDeque};
use std::sync::OnceLock;
use std::vec::Drain;

use array::{Array, ArrayConfig, MemberDrive};
use ssd::persist::{Reader, Writer};
use ssd::stats::series::Sample;
use ssd::stats::{Counters, DriveState, Totals};
use ssd::{Completion, Drive, Plan, RunDrive, RunError, Window};
use units::{Bytes, Span, Temperature, Time};
use workload::{Op, Request};

/// How long the service of a request takes, by its number.
pub type Service = Box<dyn Fn(u64, &Request) -> Span + Send>;

/// The drive: one server, first come, first served.
pub struct Server {
    capacity: Bytes,
    service: Service,
    /// Which reads it cannot correct, by their numbers.
    uncorrectable: Box<dyn Fn(u64) -> bool + Send>,
    /// Which requests the cut of its power aborts, by their numbers.
    aborted: Box<dyn Fn(u64) -> bool + Send>,
    /// Reads that it could not correct.
    lost: u64,
    /// Where reads meet an error until the place is written.
    pub errors_at: BTreeSet<u64>,
    /// Which it gives up where their host has another way, by their numbers, and after what share of their time.
    given_up: Box<dyn Fn(u64) -> Option<f64> + Send>,
    /// When its life ends: it is played no further.
    ends: Time,
    /// It refuses all but reads.
    read_only: bool,
    now: Time,
    free_at: Time,
    /// Its window is open: each request takes 10 ms more.
    window: bool,
    /// It serves all requests at once.
    is_parallel: bool,
    submitted: u64,
    waiting: VecDeque<Completion>,
    completions: Vec<Completion>,
    /// Reads and writes that it was asked for, and their bytes.
    pub reads: (u64, u64),
    pub writes: (u64, u64),
}

impl Server {
    pub fn new(capacity: Bytes, service: impl Fn(u64, &Request) -> Span + Send + 'static) -> Server {
        Server {
            capacity,
            service: Box::new(service),
            uncorrectable: Box::new(|_| false),
            aborted: Box::new(|_| false),
            lost: 0,
            errors_at: BTreeSet::new(),
            given_up: Box::new(|_| None),
            ends: Time::NEVER,
            read_only: false,
            now: Time::ZERO,
            free_at: Time::ZERO,
            window: false,
            is_parallel: false,
            submitted: 0,
            waiting: VecDeque::new(),
            completions: Vec::new(),
            reads: (0, 0),
            writes: (0, 0),
        }
    }

    pub fn that_fails(mut self, uncorrectable: impl Fn(u64) -> bool + Send + 'static) -> Server {
        self.uncorrectable = Box::new(uncorrectable);
        self
    }

    pub fn that_aborts(mut self, aborted: impl Fn(u64) -> bool + Send + 'static) -> Server {
        self.aborted = Box::new(aborted);
        self
    }

    pub fn in_parallel(self) -> Server {
        Server { is_parallel: true, ..self }
    }

    pub fn with_errors_at(mut self, errors_at: BTreeSet<u64>) -> Server {
        self.errors_at = errors_at;
        self
    }

    pub fn that_gives_up(mut self, given_up: impl Fn(u64) -> Option<f64> + Send + 'static) -> Server {
        self.given_up = Box::new(given_up);
        self
    }

    pub fn whose_life_ends(self, ends: Time) -> Server {
        Server { ends, ..self }
    }

    pub fn that_is_read_only(self, read_only: bool) -> Server {
        Server { read_only, ..self }
    }

    /// Its life does not end before that.
    fn lives(&mut self, until: Time) -> Result<(), RunError> {
        if until < self.ends {
            return Ok(());
        }
        self.now = self.ends;
        Err(RunError::EndOfLife { time: self.ends, written: 0, retired: 1 })
    }

    fn play(&mut self, limit: Time, stops: bool) {
        while let Some(completion) = self.waiting.pop_front_if(|next| next.finish <= limit) {
            self.now = completion.finish;
            self.completions.push(completion);
            if stops {
                return;
            }
        }
    }
}

fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| ssd::presets::load("tlc-page").unwrap().config.plan().unwrap())
}

impl Drive for Server {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn now(&self) -> Time {
        self.now
    }
    fn latest(&self) -> Time {
        Time(u64::MAX / 2)
    }
    fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        assert!(request.time >= self.now, "in the order of time");
        assert!(request.offset.0 + request.bytes.0 <= self.capacity.0, "within the drive");
        let id = self.submitted;
        self.submitted += 1;
        let of_kind = if request.op == Op::Read { &mut self.reads } else { &mut self.writes };
        *of_kind = (of_kind.0 + 1, of_kind.1 + request.bytes.0);
        let given_up = (self.given_up)(id).filter(|_| request.limited);
        let more = if self.window { 10_000_000 } else { 0 };
        let service = ((self.service)(id, &request).0 + more) as f64 * given_up.unwrap_or(1.0);
        let begins = if self.is_parallel { request.time } else { self.free_at.max(request.time) };
        self.free_at = begins + Span(service as u64);
        let range = request.offset.0..request.offset.0 + request.bytes.0;
        if request.op == Op::Write {
            self.errors_at.retain(|at| !range.contains(at));
        }
        let meets = self.errors_at.range(range).next().is_some() || (self.uncorrectable)(id);
        let uncorrectable = request.op == Op::Read && meets && given_up.is_none();
        let (finish, gave_up) = (self.free_at, given_up.is_some());
        let (refused, aborted) = (self.read_only && request.op != Op::Read, (self.aborted)(id));
        self.lost += u64::from(uncorrectable);
        let place = self.waiting.partition_point(|other| other.finish <= finish);
        self.waiting.insert(
            place,
            Completion { uncorrectable, gave_up, refused, aborted, ..Completion::new(id, request, finish) },
        );
        Ok(id)
    }
    fn submitted(&self) -> u64 {
        self.submitted
    }
    fn outstanding(&self) -> u64 {
        self.waiting.len() as u64
    }
    fn pending_arrivals(&self) -> usize {
        0
    }
    fn next_event(&self) -> Option<Time> {
        self.waiting.front().map(|next| next.finish)
    }
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.lives(time)?;
        self.play(time, false);
        self.now = self.now.max(time);
        Ok(())
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, true);
        Ok(!self.completions.is_empty())
    }
    fn advance_to_arrivals(&mut self, _: usize, _: Time) -> Result<bool, RunError> {
        Ok(true)
    }
    fn take_completions(&mut self) -> Drain<'_, Completion> {
        self.completions.drain(..)
    }
    fn flush(&mut self) -> Result<(), RunError> {
        self.lives(Time(self.now.0 + 1_000_000))
    }
    fn rest(&mut self, span: Span, _: Option<Temperature>) -> Result<(), RunError> {
        self.lives(self.now + span)
    }
    fn write_state(&self, _: &mut Writer) {
        unimplemented!("no test saves it")
    }
    fn read_state(&mut self, _: &mut Reader) -> std::io::Result<()> {
        unimplemented!("no test saves it")
    }
    fn set_window(&mut self, window: Window) {
        self.window = window == Window::Open;
    }
    fn plan(&self) -> &Plan {
        plan()
    }
    fn counters(&self) -> Counters {
        Counters { host_pages_lost: self.lost, ..Counters::default() }
    }
    fn totals(&self) -> Totals {
        Totals::default()
    }
    fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }
    fn sample(&self) -> Sample {
        unimplemented!("no test makes a time series")
    }
    fn state(&self) -> DriveState {
        unimplemented!("no test makes a report")
    }
    fn check_all(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}

impl RunDrive for Server {
    fn header(&self) -> serde_json::Value {
        unimplemented!("no test saves it")
    }
}

/// An array's section with keys set.
pub fn config(words: &[&str]) -> ArrayConfig {
    let mut config = ArrayConfig::default();
    for word in words {
        units::document::apply_word(&format!("array.{word}"), &mut [&mut config]).unwrap();
    }
    config
}

/// An array of drives in use.
pub fn array(words: &[&str], drives: Vec<Server>) -> Array<Server> {
    let member = |drive| MemberDrive {
        name: "drive".into(),
        drive: Box::new(drive),
        spare: false,
        fails_at: None,
        mean_life: None,
    };
    Array::new(&config(words), drives.into_iter().map(member).collect(), 1).unwrap()
}

/// Plays requests to the end; the completions in the order in which they came.
pub fn played<D: RunDrive>(array: &mut Array<D>, requests: &[Request]) -> Vec<Completion> {
    let mut completions = Vec::new();
    for request in requests {
        array.submit(*request).unwrap();
    }
    while array.advance_to_completion(Time::NEVER).unwrap() {
        completions.extend(array.take_completions());
    }
    completions
}
