//! Requests made by rule, in fio's words and those of the papers' tables.
//!
//! Request i is a pure function of (parameters, capacity, seed, i) and of how many of those before it were writes:
//! random draws come from named streams with counters, so that the choice of a distribution does not disturb the
//! arrivals, nor these the reads.

mod arrivals;
mod distribution;
mod jobs;
pub mod phases;
mod scatter;
mod sizes;
pub mod words;
mod zipf;

use units::{Bytes, ConfigError, Fraction, Span, Stream, Time};

pub use arrivals::Arrivals;
pub use distribution::Distribution;
pub use jobs::Workload;
pub use phases::Phases;
pub use sizes::Sizes;

use crate::request::{LARGEST_REQUEST, Op, Request};
use arrivals::Clock;
use distribution::Places;
use phases::Chain;
use sizes::SizeOf;

units::section! {
    /// The requests of a generator. What stands in [workload] holds for every job; [job.NAME] sections hold what differs.
    pub struct Generator in "workload" {
        /// How many requests.
        requests: u64 = 200_000,
        /// What is done: reads, writes, trims, or reads and writes mixed (rw, randrw), in sequence or at random.
        rw: Rw = Rw::RandRw,
        /// Share of reads among the requests of rw and randrw; the others are writes.
        read_ratio: Fraction = Fraction(0.7),
        /// Share of the reads that go to data which the workload never writes; "none" lets reads and writes go to the same addresses.
        cold_read_ratio: Option<Fraction> = None,
        /// With a cold-read ratio: the share of the footprint, from its start, that is written.
        written: Fraction = Fraction(0.5),
        /// How random accesses are distributed over the footprint; uniform ("random") as in fio if nothing is said.
        random_distribution: Distribution = Distribution::Random,
        /// Size of requests.
        bs: Sizes = Sizes::Fixed(Bytes::from_kib(16)),
        /// Requests start at multiples of this; "1B" gives requests that are unaligned to everything.
        align: Bytes = Bytes::from_kib(4),
        /// Where on the device the addresses begin.
        offset: Bytes = Bytes(0),
        /// The requests stay within this much behind the offset; "none" is the rest of the device.
        footprint: Option<Bytes> = None,
        /// Mean arrivals a second; "none" puts all at time 0, which suits a closed loop only.
        rate_iops: Option<f64> = Some(40_000.0),
        /// How arrivals are spaced at that rate.
        arrivals: Arrivals = Arrivals::Poisson,
        /// At most so many requests are under way: a further one waits until another completes; "none" has no bound.
        iodepth: Option<u32> = None,
        /// With an iodepth: the time between a completion and the request that takes its place.
        thinktime: Span = Span(0),
        /// Submission queues, to which requests are dealt in turn.
        queues: u16 = 1,
        /// So many copies, each with queues, addresses (one behind the other) and random numbers of its own.
        numjobs: u16 = 1,
    }
}

units::choices! {
    /// What is done, in fio's words.
    pub enum Rw {
        /// Reads of one address after another, again from the start at the end of the footprint.
        Read = "read",
        /// Writes, likewise.
        Write = "write",
        /// Reads and writes in one sequence.
        Rw = "rw",
        /// Trims of one address after another.
        Trim = "trim",
        /// Reads at random addresses.
        RandRead = "randread",
        /// Writes at random addresses.
        RandWrite = "randwrite",
        /// Reads and writes at random addresses.
        RandRw = "randrw",
        /// Trims of random addresses.
        RandTrim = "randtrim",
    }
}

impl Rw {
    fn is_sequential(self) -> bool {
        matches!(self, Rw::Read | Rw::Write | Rw::Rw | Rw::Trim)
    }
}

impl Generator {
    /// Share of reads.
    fn reads(&self) -> f64 {
        match self.rw {
            Rw::Read | Rw::RandRead => 1.0,
            Rw::Write | Rw::RandWrite | Rw::Trim | Rw::RandTrim => 0.0,
            Rw::Rw | Rw::RandRw => self.read_ratio.0,
        }
    }

    /// The bytes that one copy of this job covers on a device of `capacity`.
    fn range(&self, capacity: Bytes) -> Bytes {
        let rest = capacity.0.saturating_sub(self.offset.0) / u64::from(self.numjobs.max(1));
        self.footprint.unwrap_or(Bytes(if self.numjobs > 1 { rest / self.align.0.max(1) * self.align.0 } else { rest }))
    }

    /// Which parameter of the job whose keys stand in `section` cannot be met.
    fn check(&self, capacity: Bytes, section: &str) -> Result<(), ConfigError> {
        let refuse = |wrong: bool, key: &str, problem: String, remedy: &str| {
            let error = || ConfigError {
                origin: "configuration".into(),
                line: None,
                key: Some(format!("{section}.{key}")),
                problem,
                remedy: remedy.to_owned(),
            };
            if wrong { Err(error()) } else { Ok(()) }
        };
        let range = self.range(capacity);
        refuse(self.requests == 0, "requests", "makes no requests".into(), "ask for at least 1")?;
        let share = |key, share: f64| {
            refuse(!(0.0..=1.0).contains(&share), key, format!("{share} is not a share"), "choose from 0 to 1")
        };
        share("read_ratio", self.read_ratio.0)?;
        share("cold_read_ratio", self.cold_read_ratio.map_or(0.0, |cold| cold.0))?;
        refuse(
            self.align.0 == 0 || self.align > LARGEST_REQUEST,
            "align",
            format!("{} is no alignment", self.align),
            "choose from 1B to 1GiB; \"1B\" lets requests start at any byte",
        )?;
        if let Some((problem, remedy)) = self.bs.refusal(self.align) {
            refuse(true, "bs", problem, remedy)?;
        }
        refuse(self.numjobs == 0, "numjobs", "is no job".into(), "choose at least 1")?;
        let wanted = range.0.checked_mul(u64::from(self.numjobs)).and_then(|all| all.checked_add(self.offset.0));
        refuse(
            wanted.is_none_or(|wanted| wanted > capacity.0 || wanted > 1 << 63),
            if self.footprint.is_some() { "footprint" } else { "offset" },
            match (self.footprint, self.numjobs) {
                (None, _) => format!("{} lies beyond the device's {capacity}", self.offset),
                (Some(_), 1) if self.offset.0 == 0 => format!("{range} is more than the device's {capacity}"),
                (Some(_), jobs) => {
                    format!("{jobs} times {range} behind {} is more than the device's {capacity}", self.offset)
                }
            },
            "choose a smaller footprint, or \"none\" for the whole device",
        )?;
        let most = self.bs.bounds(self.align).1;
        refuse(
            most > range,
            "bs",
            format!("{most} is more than the footprint of {range}"),
            "choose smaller requests or a larger footprint",
        )?;
        self.check_cold(range, most, refuse)?;
        if let Some(rate) = self.rate_iops {
            refuse(
                !(rate > 0.0 && rate <= 1e9),
                "rate_iops",
                format!("{rate} requests/s cannot be spaced"),
                "choose above 0 and at most 1e9, or \"none\" for a closed loop",
            )?;
            let within = if let Arrivals::Batches(_, gap) = self.arrivals { gap.0 as f64 / 1e9 } else { 0.0 };
            refuse(
                within > 0.0 && within >= 1.0 / rate,
                "arrivals",
                format!("has batches with gaps of {within} s, and requests come every {} s on average", 1.0 / rate),
                "make the gap within batches shorter than the mean one",
            )?;
            refuse(
                self.requests as f64 / rate > LONGEST_RUN_S,
                "rate_iops",
                format!("{} requests at {rate}/s take more than ten years", self.requests),
                "raise rate_iops or lower requests",
            )?;
        }
        refuse(
            self.iodepth.is_some_and(|depth| depth == 0 || depth > 1 << 20),
            "iodepth",
            "cannot be kept".into(),
            "choose from 1 to 1048576, or \"none\"",
        )?;
        refuse(
            self.iodepth.is_none() && self.thinktime.0 > 0,
            "thinktime",
            "is the time behind a completion, and nothing waits for completions".into(),
            "set iodepth too",
        )?;
        refuse(self.queues == 0, "queues", "has no queue for the requests".into(), "choose at least 1")
    }

    fn check_cold(
        &self,
        range: Bytes,
        most: Bytes,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(cold) = self.cold_read_ratio else { return Ok(()) };
        refuse(
            self.rw.is_sequential(),
            "cold_read_ratio",
            format!("is set, and \"{}\" reads what it writes", self.rw.word()),
            "set rw = \"randrw\", or cold_read_ratio = \"none\"",
        )?;
        refuse(
            self.reads() == 1.0 && cold.0 < 1.0,
            "cold_read_ratio",
            "asks for reads of data that is written, and nothing is".into(),
            "set it to 1 or \"none\", or lower read_ratio",
        )?;
        let written = self.written_bytes(range).0;
        let needed = |share: f64, room: u64| share > 0.0 && room < most.0;
        refuse(
            needed(1.0 - self.reads(), written) || needed(self.reads() * cold.0, range.0 - written.min(range.0)),
            "written",
            format!("{} of {range} leaves one of its parts less than a request of {most}", self.written.0),
            "choose between 0 and 1, with room for requests on both sides",
        )
    }

    /// What is written of a range, under a cold-read ratio.
    fn written_bytes(&self, range: Bytes) -> Bytes {
        Bytes((range.0 as f64 * self.written.0) as u64 / self.align.0 * self.align.0)
    }
}

/// Ten years: even with the longest gaps that can be drawn, times stay far below 64 bits of ns.
const LONGEST_RUN_S: f64 = 10.0 * 365.0 * 86_400.0;

/// A part of the addresses, and which of it are accessed.
struct Part {
    /// First byte.
    start: u64,
    length: u64,
    places: Places,
}

impl Part {
    fn new(start: u64, length: u64, generator: &Generator, scatter: Stream) -> Part {
        let least = generator.bs.bounds(generator.align).0.0;
        let slots = length.saturating_sub(least) / generator.align.0 + 1;
        Part { start, length, places: Places::new(&generator.random_distribution, slots, scatter) }
    }

    /// Where draw number `counter` of `bytes` begins. Larger requests than the smallest are moved to fit.
    #[inline]
    fn draw(&self, stream: Stream, counter: u64, align: u64, bytes: u64) -> u64 {
        let offset = self.places.draw(stream, counter) * align;
        if offset + bytes <= self.length {
            return self.start + offset;
        }
        self.start + (self.length - bytes) / align * align
    }
}

/// Where the requests go.
enum Place {
    /// One part for reads and writes.
    Random(Part),
    /// A written part and one that is only read; the share of reads that go there.
    Cold(Part, Part, f64),
    /// In sequence: the range and where the next request begins in it.
    Sequential(u64, u64, u64),
}

/// The requests of one job.
struct Job {
    requests: u64,
    next: u64,
    op: Op,
    /// Share of reads; below 0 where `op` says it all.
    reads: f64,
    writes: u64,
    place: Place,
    align: u64,
    size: SizeOf,
    first_queue: u16,
    queues: u16,
    /// The queue of the next request.
    queue: u16,
    clock: Clock,
    arrivals: Stream,
    addresses: Stream,
    kinds: Stream,
    sizes: Stream,
    temperatures: Stream,
    history: Stream,
    /// Requests by phases, instead of all that.
    chain: Option<Box<Chain>>,
}

impl Job {
    /// Copy number `copy` of a job. Invariant: the generator has been checked.
    fn new(
        generator: &Generator,
        phases: Option<&Phases>,
        capacity: Bytes,
        copy: u16,
        first_queue: u16,
        stream: impl Fn(&str) -> Stream,
    ) -> Job {
        let range = generator.range(capacity);
        let start = generator.offset.0 + u64::from(copy) * range.0;
        let place = match generator.cold_read_ratio {
            _ if generator.rw.is_sequential() || phases.is_some() => Place::Sequential(start, range.0, 0),
            None => Place::Random(Part::new(start, range.0, generator, stream("scatter"))),
            Some(cold) => {
                let written = generator.written_bytes(range).0;
                Place::Cold(
                    Part::new(start, written, generator, stream("scatter")),
                    Part::new(start + written, range.0 - written, generator, stream("scatter").entity(1)),
                    cold.0,
                )
            }
        };
        let (op, reads) = match generator.rw {
            Rw::Trim | Rw::RandTrim => (Op::Trim, -1.0),
            _ => (Op::Write, generator.reads()),
        };
        Job {
            requests: generator.requests,
            next: 0,
            op,
            reads,
            writes: 0,
            place,
            align: generator.align.0,
            size: SizeOf::new(&generator.bs, generator.align),
            first_queue,
            queues: generator.queues,
            queue: 0,
            clock: Clock::new(generator.rate_iops, generator.arrivals),
            chain: phases.map(|phases| Box::new(Chain::new(phases, generator, &stream))),
            arrivals: stream("arrivals"),
            addresses: stream("addresses"),
            kinds: stream("kinds"),
            sizes: stream("sizes"),
            temperatures: stream("temperatures"),
            history: stream("history"),
        }
    }

    /// When the next request arrives, if there is one.
    #[inline]
    fn next_time(&self) -> Option<Time> {
        (self.next < self.requests).then_some(Time(self.clock.now))
    }

    /// The next request. Invariant: there is one.
    #[inline]
    fn request(&mut self) -> Request {
        let i = self.next;
        if self.chain.is_some() {
            return self.chained(i);
        }
        let op = if self.reads >= 0.0 && self.kinds.uniform(i) < self.reads { Op::Read } else { self.op };
        let bytes = self.size.draw(self.sizes, i);
        let offset = self.offset(i, op, bytes);
        let queue = self.queue;
        self.queue = if queue + 1 == self.queues { 0 } else { queue + 1 };
        let time = Time(self.clock.now);
        // The first request is at time 0; the gap before request i is draw i.
        self.next = i + 1;
        self.clock.advance(self.arrivals, i + 1);
        Request { time, offset: Bytes(offset), bytes: Bytes(bytes), op, queue: self.first_queue.wrapping_add(queue) }
    }

    /// Request number `i` of a chain of phases. Invariant: there is one.
    fn chained(&mut self, i: u64) -> Request {
        let Some(chain) = &mut self.chain else { unreachable!("Invariant: the caller has seen it") };
        let (op, offset, bytes) = chain.request(i);
        let queue = self.queue;
        self.queue = if queue + 1 == self.queues { 0 } else { queue + 1 };
        let time = Time(self.clock.now);
        self.next = i + 1;
        self.clock.pass(chain.step(i + 1));
        Request { time, offset: Bytes(offset), bytes: Bytes(bytes), op, queue: self.first_queue.wrapping_add(queue) }
    }

    #[inline]
    fn offset(&mut self, i: u64, op: Op, bytes: u64) -> u64 {
        match &mut self.place {
            Place::Random(part) => part.draw(self.addresses, i, self.align, bytes),
            Place::Sequential(start, length, next) => {
                let at = if *next + bytes <= *length { *next } else { 0 };
                *next = (at + bytes).next_multiple_of(self.align);
                *start + at
            }
            Place::Cold(written, read, cold) => match op {
                // The address of write number w is draw w, so that a read can go where one before it went.
                Op::Read if self.temperatures.uniform(i) >= *cold => {
                    let write = if self.writes == 0 { 0 } else { self.history.below(i, self.writes) };
                    written.draw(self.addresses, write, self.align, bytes)
                }
                Op::Read => read.draw(self.addresses.entity(1), i, self.align, bytes),
                _ => {
                    self.writes += 1;
                    written.draw(self.addresses, self.writes - 1, self.align, bytes)
                }
            },
        }
    }
}
