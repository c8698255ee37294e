//! Requests made by rule: a small generator with the words of the field's load tools.
//!
//! Request i is a pure function of (parameters, capacity, seed, i): random draws come from named streams whose
//! counter is the request's index, so the choice of pattern does not disturb the arrivals, nor these the reads.

use units::{Bytes, ConfigError, Fraction, Stream, Time};

use crate::error::TraceError;
use crate::request::{Op, Request, Source};
use crate::scatter::Scatter;
use crate::trace::LARGEST_REQUEST;
use crate::zipf::Zipf;

units::section! {
    /// The requests of a generator.
    pub struct Generator in "workload" {
        /// How many requests.
        requests: u64 = 200_000,
        /// Share of reads among the requests; the others are writes.
        read_ratio: Fraction = Fraction(0.7),
        /// Where the requests go.
        pattern: Pattern = Pattern::Zipf,
        /// Skew of the zipf pattern, above 0: address k in popularity is chosen in proportion to 1/k^theta (0.99 is YCSB's).
        zipf_theta: f64 = 0.99,
        /// Size of every request.
        size: Bytes = Bytes::from_kib(16),
        /// Requests start at multiples of this; "1B" gives requests that are unaligned to everything.
        align: Bytes = Bytes::from_kib(4),
        /// The requests stay within this much from the start of the device; "none" is the whole device.
        footprint: Option<Bytes> = None,
        /// Mean arrivals a second; "none" puts all at time 0, which suits a closed loop only.
        rate: Option<f64> = Some(40_000.0),
        /// How arrivals are spaced at that rate.
        arrivals: Arrivals = Arrivals::Poisson,
        /// Submission queues, to which requests are dealt in turn.
        queues: u16 = 1,
    }
}

units::choices! {
    /// Where requests go.
    pub enum Pattern {
        /// Every address alike.
        Random = "random",
        /// Few addresses get most requests; which ones is scattered over the footprint.
        Zipf = "zipf",
        /// One address after another, reads and writes in one sequence, again from the start at the end of the footprint.
        Sequential = "sequential",
    }
}

units::choices! {
    /// How arrivals are spaced.
    pub enum Arrivals {
        /// Exponentially distributed gaps: independent users.
        Poisson = "poisson",
        /// Equal gaps.
        Fixed = "fixed",
    }
}

impl Generator {
    /// The requests for a device of `capacity`, or which parameter cannot be met.
    pub fn source(&self, capacity: Bytes, seed: u64) -> Result<GeneratorSource, ConfigError> {
        let footprint = self.checked_footprint(capacity)?;
        let step = match self.pattern {
            Pattern::Sequential => self.size.0.div_ceil(self.align.0) * self.align.0,
            Pattern::Random | Pattern::Zipf => self.align.0,
        };
        let slots = (footprint.0 - self.size.0) / step + 1;
        let place = match self.pattern {
            Pattern::Random => Place::Random,
            Pattern::Sequential => Place::Sequential,
            Pattern::Zipf => {
                Place::Zipf(Zipf::new(slots, self.zipf_theta), Scatter::new(slots, Stream::new(seed, "scatter")))
            }
        };
        Ok(GeneratorSource {
            requests: self.requests,
            next: 0,
            reads: self.read_ratio.0,
            place,
            slots,
            step,
            size: self.size,
            queues: self.queues,
            queue: 0,
            clock: Clock::new(self.rate, self.arrivals),
            arrivals: Stream::new(seed, "arrivals"),
            addresses: Stream::new(seed, "addresses"),
            kinds: Stream::new(seed, "kinds"),
        })
    }

    fn checked_footprint(&self, capacity: Bytes) -> Result<Bytes, ConfigError> {
        let refuse = |wrong: bool, key: &str, problem: String, remedy: &str| {
            let error = || ConfigError {
                origin: "configuration".into(),
                line: None,
                key: Some(format!("workload.{key}")),
                problem,
                remedy: remedy.to_owned(),
            };
            if wrong { Err(error()) } else { Ok(()) }
        };
        let (size, theta) = (self.size, self.zipf_theta);
        let footprint = self.footprint.unwrap_or(capacity);
        refuse(self.requests == 0, "requests", "makes no requests".into(), "ask for at least 1")?;
        refuse(
            !(0.0..=1.0).contains(&self.read_ratio.0),
            "read_ratio",
            format!("{} is not a share", self.read_ratio.0),
            "choose from 0 (all writes) to 1 (all reads)",
        )?;
        refuse(
            !(theta > 0.0 && theta <= 100.0),
            "zipf_theta",
            format!("{theta} is no skew"),
            "choose above 0, such as 0.99, and at most 100; for no skew write pattern = \"random\"",
        )?;
        refuse(
            size.0 == 0 || size > LARGEST_REQUEST,
            "size",
            format!("{size} is no size of a request"),
            "choose from 1B to 1GiB",
        )?;
        refuse(
            self.align.0 == 0 || self.align > LARGEST_REQUEST,
            "align",
            format!("{} is no alignment", self.align),
            "choose from 1B to 1GiB; \"1B\" lets requests start at any byte",
        )?;
        refuse(
            footprint > capacity || footprint.0 > 1 << 63,
            "footprint",
            format!("{footprint} is more than the device's {capacity}"),
            "choose a smaller footprint, or \"none\" for the whole device",
        )?;
        refuse(
            size > footprint,
            "size",
            format!("{size} is more than the footprint of {footprint}"),
            "choose smaller requests or a larger footprint",
        )?;
        if let Some(rate) = self.rate {
            refuse(
                !(rate > 0.0 && rate <= 1e9),
                "rate",
                format!("{rate} requests/s cannot be spaced"),
                "choose above 0 and at most 1e9, or \"none\" for a closed loop",
            )?;
            refuse(
                self.requests as f64 / rate > LONGEST_RUN_S,
                "rate",
                format!("{} requests at {rate}/s take more than ten years", self.requests),
                "raise rate or lower requests",
            )?;
        }
        refuse(self.queues == 0, "queues", "has no queue for the requests".into(), "choose at least 1")?;
        Ok(footprint)
    }
}

/// Ten years: even with the longest gaps that can be drawn, times stay far below 64 bits of ns.
const LONGEST_RUN_S: f64 = 10.0 * 365.0 * 86_400.0;

/// The requests of a [`Generator`].
pub struct GeneratorSource {
    requests: u64,
    next: u64,
    /// Share of reads.
    reads: f64,
    place: Place,
    /// Places where a request can start, `step` bytes apart from address 0.
    slots: u64,
    step: u64,
    size: Bytes,
    queues: u16,
    /// The queue of the next request.
    queue: u16,
    clock: Clock,
    arrivals: Stream,
    addresses: Stream,
    kinds: Stream,
}

enum Place {
    Random,
    Zipf(Zipf, Scatter),
    Sequential,
}

impl GeneratorSource {
    #[inline]
    fn request(&mut self) -> Request {
        let i = self.next;
        // The first request is at time 0; the gap before request i is draw i.
        if i > 0 {
            self.clock.advance(self.arrivals, i);
        }
        let slot = match &self.place {
            Place::Random => self.addresses.below(i, self.slots),
            Place::Zipf(zipf, scatter) => scatter.place(zipf.rank(self.addresses, i) - 1),
            Place::Sequential => i % self.slots,
        };
        let op = if self.kinds.uniform(i) < self.reads { Op::Read } else { Op::Write };
        let queue = self.queue;
        self.queue = if queue + 1 == self.queues { 0 } else { queue + 1 };
        self.next = i + 1;
        Request { time: Time(self.clock.now), offset: Bytes(slot * self.step), bytes: self.size, op, queue }
    }
}

impl Source for GeneratorSource {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let count = (self.requests - self.next).min(max as u64);
        batch.extend((0..count).map(|_| self.request()));
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.next as f64 / self.requests as f64)
    }
}

/// Arrival times in ns with a 32-bit fraction carried along, so that no rate drifts, however many requests.
struct Clock {
    now: u64,
    fraction: u32,
    /// Mean gap [ns]; 0 where there is no rate.
    mean: f64,
    /// The mean gap in whole ns and fraction, which is every gap of fixed arrivals.
    gap: (u64, u32),
    arrivals: Arrivals,
}

impl Clock {
    fn new(rate: Option<f64>, arrivals: Arrivals) -> Clock {
        let mean = rate.map_or(0.0, |rate| 1e9 / rate);
        // Nothing is drawn where all gaps are 0.
        let arrivals = if rate.is_none() { Arrivals::Fixed } else { arrivals };
        Clock { now: 0, fraction: 0, mean, gap: split(mean), arrivals }
    }

    #[inline]
    fn advance(&mut self, stream: Stream, counter: u64) {
        let (whole, fraction) = match self.arrivals {
            Arrivals::Fixed => self.gap,
            Arrivals::Poisson => split(stream.exponential(counter) * self.mean),
        };
        let (fraction, carry) = self.fraction.overflowing_add(fraction);
        self.fraction = fraction;
        self.now += whole + u64::from(carry);
    }
}

/// A gap in whole ns and 2^-32 ns.
#[inline]
fn split(gap: f64) -> (u64, u32) {
    let whole = gap as u64;
    (whole, ((gap - whole as f64) * 4_294_967_296.0) as u32)
}
