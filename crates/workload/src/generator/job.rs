//! The requests of one job.

use units::{Bytes, Stream, Time};

use super::arrivals::Clock;
use super::chain::{Chain, DrawnRequest};
use super::distribution::SlotSampler;
use super::options::{Generator, Rw};
use super::phases::Phases;
use super::sizes::SizeOf;
use super::zoned::{Asked, Zoned};
use crate::request::{Op, Request};

/// A part of the addresses, and which of it are accessed.
struct AddressRange {
    /// First byte.
    start: u64,
    length: u64,
    slots: SlotSampler,
}

impl AddressRange {
    fn new(start: u64, length: u64, generator: &Generator, scatter: Stream) -> AddressRange {
        let align = generator.alignment();
        let least = generator.bs.bounds(align).0.0;
        let count = length.saturating_sub(least) / align.0 + 1;
        AddressRange { start, length, slots: SlotSampler::new(&generator.random_distribution, count, scatter) }
    }

    /// Where draw number `counter` of `bytes` begins. Larger requests than the smallest are moved to fit.
    #[inline]
    fn draw(&self, stream: Stream, counter: u64, align: u64, bytes: u64) -> u64 {
        let offset = self.slots.draw(stream, counter) * align;
        if offset + bytes <= self.length {
            return self.start + offset;
        }
        self.start + (self.length - bytes) / align * align
    }
}

/// Where the requests go.
enum Addresses {
    /// One part for reads and writes.
    Random(AddressRange),
    /// A written part and one that is only read; the share of reads that go there.
    Cold(AddressRange, AddressRange, f64),
    /// In sequence: the range and where the next request begins in it.
    Sequential(u64, u64, u64),
    /// Zones, which are written in order.
    Zoned(Box<Zoned>),
}

/// The requests of one job.
pub(super) struct Job {
    pub(super) requests: u64,
    pub(super) next: u64,
    op: Op,
    /// Share of reads; below 0 where `op` determines it.
    reads: f64,
    writes: u64,
    targets: Addresses,
    align: u64,
    size: SizeOf,
    pub(super) first_queue: u16,
    queues: u16,
    /// The queue of the next request.
    queue: u16,
    hint: u16,
    clock: Clock,
    /// Requests of a task, of which the first has an arrival; each one has where it is 1.
    of_task: u64,
    /// Tasks that have begun, where there are any.
    tasks: u64,
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
    pub(super) fn new(
        generator: &Generator,
        phases: Option<&Phases>,
        capacity: Bytes,
        copy: u16,
        first_queue: u16,
        stream: impl Fn(&str) -> Stream,
    ) -> Job {
        let range = generator.range(capacity);
        let start = generator.offset.0 + u64::from(copy) * range.0;
        let targets = match generator.cold_read_ratio {
            _ if generator.zone_size.is_some() && phases.is_none() && generator.rw != Rw::Read => {
                Addresses::Zoned(Box::new(generator.zoned(start, range)))
            }
            _ if generator.rw.is_sequential() || phases.is_some() => Addresses::Sequential(start, range.0, 0),
            None => Addresses::Random(AddressRange::new(start, range.0, generator, stream("scatter"))),
            Some(cold) => {
                let written = generator.written_bytes(range).0;
                Addresses::Cold(
                    AddressRange::new(start, written, generator, stream("scatter")),
                    AddressRange::new(start + written, range.0 - written, generator, stream("scatter").entity(1)),
                    cold.0,
                )
            }
        };
        let of_task = generator.requests_of_task();
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
            targets,
            align: generator.alignment().0,
            size: SizeOf::new(&generator.bs, generator.alignment()),
            first_queue,
            queues: generator.queues,
            queue: 0,
            hint: generator.hint,
            clock: Clock::new(generator.rate_iops.map(|rate| rate / of_task as f64), generator.arrivals),
            of_task,
            tasks: 0,
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
    pub(super) fn next_time(&self) -> Option<Time> {
        (self.next < self.requests).then_some(Time(self.clock.now))
    }

    /// The next request. Invariant: there is one.
    #[inline]
    pub(super) fn request(&mut self) -> Request {
        let i = self.next;
        if self.chain.is_some() {
            return self.chained(i);
        }
        let op = if self.reads >= 0.0 && self.kinds.uniform(i) < self.reads { Op::Read } else { self.op };
        let bytes = self.size.draw(self.sizes, i);
        let Asked { op, offset, bytes } = self.asked(i, op, bytes);
        let queue = self.queue;
        self.queue = if queue + 1 == self.queues { 0 } else { queue + 1 };
        let time = Time(self.clock.now);
        // The first request is at time 0; the gap before request i is draw i.
        self.next = i + 1;
        if self.of_task == 1 {
            self.clock.advance(self.arrivals, i + 1);
        }
        Request::new(time, op, Bytes(offset), Bytes(bytes)).on(self.first_queue.wrapping_add(queue)).hinted(self.hint)
    }

    /// A task begins: when it has arrived.
    pub(super) fn begin_task(&mut self) -> Time {
        let time = Time(self.clock.now);
        self.tasks += 1;
        self.clock.advance(self.arrivals, self.tasks);
        time
    }

    /// Request number `i` of a chain of phases. Invariant: there is one.
    fn chained(&mut self, i: u64) -> Request {
        let Some(chain) = &mut self.chain else { unreachable!("Invariant: the caller has seen it") };
        let DrawnRequest { op, offset, bytes } = chain.request(i);
        let queue = self.queue;
        self.queue = if queue + 1 == self.queues { 0 } else { queue + 1 };
        let time = Time(self.clock.now);
        self.next = i + 1;
        self.clock.pass(chain.step(i + 1));
        Request::new(time, op, Bytes(offset), Bytes(bytes)).on(self.first_queue.wrapping_add(queue)).hinted(self.hint)
    }

    #[inline]
    fn asked(&mut self, i: u64, op: Op, bytes: u64) -> Asked {
        let Addresses::Zoned(zones) = &mut self.targets else {
            return Asked { op, offset: self.offset(i, op, bytes), bytes };
        };
        match op {
            Op::Read => zones.read(self.addresses, i, self.align, bytes),
            Op::Trim => zones.reset(self.addresses, i),
            _ => zones.write(self.addresses, i, bytes),
        }
    }

    #[inline]
    fn offset(&mut self, i: u64, op: Op, bytes: u64) -> u64 {
        match &mut self.targets {
            Addresses::Random(part) => part.draw(self.addresses, i, self.align, bytes),
            Addresses::Zoned(_) => unreachable!("Invariant: the caller has asked its zones"),
            Addresses::Sequential(start, length, next) => {
                let at = if *next + bytes <= *length { *next } else { 0 };
                *next = (at + bytes).next_multiple_of(self.align);
                *start + at
            }
            Addresses::Cold(written, read, cold) => match op {
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
