//! The seam between what users bring and what the device replays: a stream of [`Request`]s.

use std::ops::Range;

use units::{Bytes, ConfigError, Time};

use crate::error::TraceError;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read `bytes` at `offset`.
    Read,
    /// Write `bytes` at `offset`.
    Write,
    /// Deallocate `bytes` at `offset` (NVMe Dataset Management, ATA TRIM).
    Trim,
    /// Put all data that was acknowledged on flash (NVMe Flush). Offset and length have no meaning.
    Flush,
    /// Write `bytes` at the write pointer of the zone that begins at `offset`; the completion says where (NVMe Zone
    /// Append).
    Append,
    /// What a host does to zones, in whose bytes `offset` and `bytes` lie (NVMe Zone Management Send).
    Zone(ZoneAction),
    /// The states of zones are read: `bytes` of descriptors of 64 bytes each, from the zone on that has the byte at
    /// `offset` (NVMe Zone Management Receive, Report Zones).
    ZoneReport,
    /// The reclaim unit handle that the request's hint names is given another reclaim unit (NVMe I/O Management Send,
    /// Reclaim Unit Handle Update). Offset and length have no meaning.
    HandleUpdate,
}

/// What a host does to a zone: the Zone Send Actions of the NVMe Zoned Namespace Command Set Specification 1.1,
/// Figure 29.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneAction {
    /// An open zone is open no more, and stays active.
    Close,
    /// The zone is full from now on: the part that was not written cannot be.
    Finish,
    /// The zone is open until it is closed, finished or reset.
    Open,
    /// The zone is empty again.
    Reset,
    /// A read-only zone is given up.
    Offline,
    /// What the zone random write area has up to the end of the request is final (Commit ZRWA).
    Flush,
    /// Open, with a zone random write area (Zone Send Action Specific Option bit ZRWAA).
    OpenRandom,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; Op::COUNT] = [
        Op::Read,
        Op::Write,
        Op::Trim,
        Op::Flush,
        Op::Append,
        Op::Zone(ZoneAction::Close),
        Op::Zone(ZoneAction::Finish),
        Op::Zone(ZoneAction::Open),
        Op::Zone(ZoneAction::Reset),
        Op::Zone(ZoneAction::Offline),
        Op::Zone(ZoneAction::Flush),
        Op::Zone(ZoneAction::OpenRandom),
        Op::ZoneReport,
        Op::HandleUpdate,
    ];

    /// How many there are.
    pub const COUNT: usize = 14;

    /// Its place among [`Op::ALL`].
    #[inline]
    #[must_use]
    pub const fn number(self) -> usize {
        match self {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush => 3,
            Op::Append => 4,
            Op::Zone(action) => 5 + action as usize,
            Op::ZoneReport => 12,
            Op::HandleUpdate => 13,
        }
    }

    /// What it is called in fio's words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Append => "append",
            Op::Zone(ZoneAction::Close) => "zone-close",
            Op::Zone(ZoneAction::Finish) => "zone-finish",
            Op::Zone(ZoneAction::Open) => "zone-open",
            Op::Zone(ZoneAction::Reset) => "zone-reset",
            Op::Zone(ZoneAction::Offline) => "zone-offline",
            Op::Zone(ZoneAction::Flush) => "zone-flush",
            Op::Zone(ZoneAction::OpenRandom) => "zone-open-random",
            Op::ZoneReport => "zone-report",
            Op::HandleUpdate => "handle-update",
        }
    }

    /// The operation of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether the data of its pages crosses the link: page by page it is done.
    #[inline]
    #[must_use]
    pub fn moves_data(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Append)
    }

    /// Whether it brings data to the drive.
    #[inline]
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }

    /// Whether drives without zones know it.
    #[inline]
    #[must_use]
    pub fn is_of_every_drive(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Trim | Op::Flush)
    }

    /// Whether offset and length say what it is done to.
    #[inline]
    #[must_use]
    pub fn has_address(self) -> bool {
        !matches!(self, Op::Flush | Op::HandleUpdate)
    }
}

/// One host request. Addresses are bytes and may be unaligned; the device splits requests at its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival, counted from the first request of the source.
    pub time: Time,
    /// First byte.
    pub offset: Bytes,
    /// Length, more than zero but for a flush.
    pub bytes: Bytes,
    /// What is asked.
    pub op: Op,
    /// The submission queue it goes to, modulo the number of queues.
    pub queue: u16,
    /// What its data belongs to, as the host tells the drive (the placement handle of NVMe Flexible Data Placement, the
    /// stream of the Streams directive); 0 where it does not.
    pub hint: u16,
    /// Of a read: the drive may give up early (the bit Limited Retry of NVMe), since its host has another way to the
    /// data.
    pub limited: bool,
}

impl Request {
    /// A request to the first submission queue.
    #[inline]
    pub fn new(time: Time, op: Op, offset: Bytes, bytes: Bytes) -> Request {
        Request { time, offset, bytes, op, queue: 0, hint: 0, limited: false }
    }

    /// This request, to another submission queue.
    #[inline]
    #[must_use]
    pub fn on(self, queue: u16) -> Request {
        Request { queue, ..self }
    }

    /// This request with another placement hint.
    #[inline]
    #[must_use]
    pub fn hinted(self, hint: u16) -> Request {
        Request { hint, ..self }
    }

    /// This request within a drive of `capacity`: one that goes beyond wraps around, and is no longer than the drive.
    #[inline]
    #[must_use]
    pub fn within(self, capacity: Bytes) -> Request {
        if self.offset.0 + self.bytes.0 <= capacity.0 || !self.op.has_address() {
            return self;
        }
        let bytes = Bytes(self.bytes.0.min(capacity.0));
        Request { offset: Bytes((self.offset.0 % capacity.0).min(capacity.0 - bytes.0)), bytes, ..self }
    }

    /// This read, marked so that the drive need not try everything (Limited Retry).
    #[inline]
    #[must_use]
    pub fn with_limited_retry(self) -> Request {
        Request { limited: true, ..self }
    }
}

/// Larger requests than any host sends: in a trace, most likely a column in another unit.
pub(crate) const LARGEST_REQUEST: Bytes = Bytes(1 << 30);

/// A stream of requests in time order.
///
/// Contract: times never decrease; the same source built again gives the same requests; memory does not
/// grow with the number of requests delivered.
pub trait Source: Send {
    /// Appends up to `max` further requests to `batch`. Appending none means that the source has ended.
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError>;

    /// How much has been delivered, from 0 to 1, where that can be known: for progress bars.
    fn progress(&self) -> Option<f64>;

    /// The source as one whose requests wait for completions, where it has such.
    fn closed_loop(&mut self) -> Option<&mut dyn ClosedLoop> {
        None
    }

    /// Whether it is a load that goes on: requests of its beginning may be played before those that count, and it has
    /// as many more.
    fn leads(&self) -> bool {
        false
    }

    /// The load that it is a part of, where it is known how that went on before.
    fn past(&self) -> Option<&dyn Past> {
        None
    }

    /// What it reports of itself so far.
    fn statistics(&self) -> Vec<SourceStatistic> {
        Vec::new()
    }

    /// What reading it has left out or put in order so far.
    fn counts(&self) -> ReadCounts {
        ReadCounts::default()
    }
}

/// A load that has gone on before a run begins, on a device of some capacity.
pub trait Past {
    /// Its requests; without `reads` perhaps only those that write or trim.
    ///
    /// # Errors
    /// A parameter of the load cannot be met.
    fn source(&self, reads: bool) -> Result<Box<dyn Source>, ConfigError>;

    /// The addresses that it writes, in order and apart from one another.
    fn written(&self) -> Vec<Range<u64>>;

    /// Whether every write is as likely to go to any `unit` of the first `filled` bytes as to any other, and nowhere
    /// else, and nothing is trimmed.
    fn is_uniform(&self, filled: Bytes, unit: Bytes) -> bool;

    /// What decides the requests that write or trim, but for their times: of two pasts with the same words these
    /// requests are the same, in the same order, until one of them ends. None where nobody can tell.
    fn identity(&self) -> Option<String> {
        None
    }
}

/// A source some of whose requests are made only when others have completed. Of such a source one request is taken at a
/// time, at [`ClosedLoop::next_time`]; every completion is reported to it before time goes on. It may make none then:
/// it is asked again for a time.
pub trait ClosedLoop {
    /// When it is to be asked for the next request, if nothing else completes before; none if that needs a completion,
    /// or at the end.
    fn next_time(&self) -> Option<Time>;

    /// Request number `number` of the source, of `queue`, has completed.
    fn completed(&mut self, number: u64, queue: u16, time: Time);

    /// Tasks that have ended since this was asked last.
    fn take_ended(&mut self) -> Vec<TaskEnd> {
        Vec::new()
    }
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A task: what a program waits for as a whole.
    Whole,
    /// The reads that a task begins with.
    Load,
}

/// A number that a source reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// How many.
    Count(u64),
    /// How much.
    Amount(f64),
}

/// What a source reports of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceStatistic {
    /// Its name, below `host`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The number.
    pub value: Number,
}

/// A task has ended: requests of which a program waits for all, or a chain of batches of them, each of which waits for
/// all of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// Whether it is the whole.
    pub kind: TaskKind,
    /// The number of its first request.
    pub first: u64,
    /// When it arrived.
    pub began: Time,
    /// When its last request had completed.
    pub ended: Time,
}

/// What reading a trace has left out or put in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Malformed lines that were left out.
    pub bad_lines: u64,
    /// Last lines that end before their columns do: whatever wrote the trace was stopped. They count as malformed too.
    pub cut_lines: u64,
    /// Lines that are no requests: headers, other events.
    pub other_lines: u64,
    /// Requests that stood too late in the file and were put in order.
    pub reordered: u64,
    /// Requests beyond their namespace whose address was wrapped around.
    pub wrapped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_beyond_a_drive_wraps_around_and_is_no_longer_than_it() {
        let within = |op, offset, bytes| {
            let request = Request::new(Time(7), op, Bytes(offset), Bytes(bytes)).hinted(3).within(Bytes(100));
            assert_eq!((request.time, request.op, request.hint), (Time(7), op, 3));
            (request.offset.0, request.bytes.0)
        };
        assert_eq!(within(Op::Write, 90, 10), (90, 10));
        assert_eq!(within(Op::Write, 90, 11), (89, 11));
        assert_eq!(within(Op::Read, 230, 10), (30, 10));
        assert_eq!(within(Op::Trim, 30, 400), (0, 100));
        assert_eq!(within(Op::Flush, 230, 0), (230, 0));
    }
}
