//! What is under way: requests of the host, what is done for them stripe by stripe, and the requests to drives that
//! this takes.

use ssd::Status;
use ssd::persist::{stored, stored_enum};
use units::{Bytes, Span, Time};
use workload::Request;

use crate::layout::{Code, Piece};
use crate::log::Batch;
use crate::rewrite::WriteKind;
use crate::slab::Key;
use crate::unit_set::UnitSet;

/// A request of the host.
pub(crate) struct Open {
    pub id: u64,
    pub request: Request,
    /// Operations that it still waits for.
    pub parts: u32,
    pub uncorrectable: bool,
    pub refused: bool,
    pub aborted: bool,
    /// Why it is not done, if it is not.
    pub status: Status,
    /// Of a write in order: the zone, and its first byte.
    pub in_order: Option<(u32, Bytes)>,
    /// It is one of the array's own: what is done when it has ended. None where the host is answered.
    pub then: Option<Box<Then>>,
}

/// What follows a request of the array's own.
#[derive(Debug)]
pub(crate) enum Then {
    /// The host's request is written: the rest of blocks that it writes in part has been read.
    Gather { request: Key },
    /// Blocks of a stripe that is cleaned, each with its place, are moved.
    Moves { stripe: u64, blocks: Vec<(u64, u64)> },
    /// Slices are written.
    Written { batch: Batch },
}

/// What a request to a drive is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Data that the host asked for.
    ReadData,
    /// What missing data is reconstructed from.
    ReadReconstruct,
    /// A hedge: a second way to data whose read has not completed.
    ReadHedge,
    /// Late binding: more than is needed.
    ReadExtra,
    /// Old data, old parity or the rest of a stripe, before a write.
    ReadBeforeWrite,
    /// What a lost drive is rebuilt from.
    ReadRebuild,
    /// Whether the data can still be read.
    ReadScrub,
    /// Data of the host.
    WriteData,
    /// Parity.
    WriteParity,
    /// What is rebuilt, to the spare drive.
    WriteRebuild,
    /// Data that a drive could not correct, again.
    WriteRepair,
    /// Trims, flushes, and what is done to zones.
    Other,
}

impl Purpose {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Purpose::ReadData => "read",
            Purpose::ReadReconstruct => "read to reconstruct",
            Purpose::ReadHedge => "hedge",
            Purpose::ReadExtra => "extra read",
            Purpose::ReadBeforeWrite => "read before the write",
            Purpose::ReadRebuild => "read of a rebuild",
            Purpose::ReadScrub => "read of a scrub",
            Purpose::WriteData => "write",
            Purpose::WriteParity => "write of parity",
            Purpose::WriteRebuild => "write of a rebuild",
            Purpose::WriteRepair => "repair",
            Purpose::Other => "trim, flush or zone management",
        }
    }

    /// How many there are.
    pub(crate) const COUNT: usize = Purpose::Other as usize + 1;
}

/// A request to a drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sub {
    pub op: Key,
    pub piece: Piece,
    pub purpose: Purpose,
    /// The drive that it went to.
    pub drive: usize,
    /// Its operation held the lock of the stripe when it was sent.
    pub is_locked: bool,
    /// The drive may give up early.
    pub limited: bool,
    /// The number of the request, of all to drives.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
}

impl Sub {
    /// A request that is to be sent.
    pub fn new(op: Key, piece: Piece, purpose: Purpose) -> Sub {
        Sub { op, piece, purpose, drive: usize::MAX, is_locked: true, limited: false, number: 0, sent: Time::ZERO }
    }
}

/// What became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub uncorrectable: bool,
    /// The drive gave up early, as it might.
    pub gave_up: bool,
    pub refused: bool,
    pub aborted: bool,
    /// The drive has failed: nothing became of it.
    pub dead: bool,
    pub status: Status,
    pub latency: Span,
}

impl Reply {
    pub const DEAD: Reply = Reply {
        uncorrectable: false,
        gave_up: false,
        refused: false,
        aborted: false,
        dead: true,
        status: Status::Success,
        latency: Span::ZERO,
    };

    /// Whether what was asked has been done.
    pub fn is_done(&self) -> bool {
        !(self.uncorrectable || self.gave_up || self.refused || self.aborted || self.dead) && self.status.is_success()
    }
}

/// A request to a drive that it has answered.
pub(crate) struct Answer {
    pub sub: Sub,
    pub reply: Reply,
    pub request: Request,
    /// Its number in the drive.
    pub id: u64,
}

/// A range of a drive.
pub(crate) struct OnDrive {
    pub drive: usize,
    pub offset: Bytes,
    pub bytes: Bytes,
}

impl Open {
    /// A request that has just come, of the host or of the array's own.
    pub fn new(number: u64, request: Request, then: Option<Box<Then>>) -> Open {
        let (uncorrectable, refused, aborted, status) = (false, false, false, Status::Success);
        let id = number;
        Open { id, request, parts: 1, uncorrectable, refused, aborted, status, in_order: None, then }
    }
}

impl Op {
    /// The host's request that it is a part of.
    pub fn request(&self) -> Option<Key> {
        match self {
            Op::Plain(PlainOp { request, .. })
            | Op::Read(ReadOp { request, .. })
            | Op::Write(WriteOp { request, .. }) => Some(*request),
            Op::Row(_) | Op::Repair(_) | Op::Scrub(_) | Op::Finish(_) => None,
        }
    }
}

/// An operation of the array.
pub(crate) enum Op {
    /// Requests to drives that need no others: those of stripes without redundancy, of zones that are written in order,
    /// trims, flushes.
    Plain(PlainOp),
    Read(ReadOp),
    Write(WriteOp),
    Row(RowOp),
    Repair(RepairOp),
    Scrub(ScrubOp),
    Finish(FinishOp),
}

/// Drives are done with their parts of a zone that can be written no further.
pub(crate) struct FinishOp {
    pub outstanding: usize,
}

pub(crate) struct PlainOp {
    pub request: Key,
    pub outstanding: usize,
    /// A drive has done its part.
    pub done: bool,
}

/// How an operation stands with the lock that it needs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lock {
    #[default]
    None,
    Waits,
    Held,
}

/// A piece that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPiece {
    pub piece: Piece,
    /// It was asked for under the lock of the stripe: pieces of several units fit together only if all of them were.
    pub is_locked: bool,
}

/// A read of pieces of one stripe.
#[derive(Default)]
pub(crate) struct ReadOp {
    pub request: Key,
    pub stripe: u64,
    pub wanted: Vec<Piece>,
    /// Under way, and read.
    pub asked: Vec<ReadPiece>,
    pub got: Vec<ReadPiece>,
    /// Units that were read first, and those that could not be read.
    pub first: UnitSet,
    pub failed: UnitSet,
    /// Units of which drives gave up early, or whose power was cut: they may be read again without that limit.
    pub given_up: UnitSet,
    pub lock: Lock,
    pub hedged: bool,
    pub extra: bool,
}

impl ReadOp {
    /// One that has not begun, in the same memory.
    pub fn cleared(self) -> ReadOp {
        let ReadOp { mut wanted, mut asked, mut got, .. } = self;
        wanted.clear();
        asked.clear();
        got.clear();
        ReadOp { wanted, asked, got, ..ReadOp::default() }
    }

    /// Whether a wanted piece can be had from what has been read, and from what is under way, if that counts.
    fn has(&self, code: Code, wanted: Piece, asked: bool) -> bool {
        let read = self.got.iter().chain(self.asked.iter().filter(|_| asked));
        let covers = |read: &&ReadPiece| read.piece.unit == wanted.unit && read.piece.covers(wanted);
        read.clone().any(|read| covers(&read)) || units_that_cover(code, read, wanted).count() >= code.data
    }

    /// Whether what has been read is enough.
    pub fn is_complete(&self, code: Code) -> bool {
        self.wanted.iter().all(|wanted| self.has(code, *wanted, false))
    }

    /// The wanted pieces that cannot be had from what has been read, and with `asked` neither from what is under way.
    pub fn missing(&self, code: Code, asked: bool) -> Vec<Piece> {
        self.wanted.iter().filter(|wanted| !self.has(code, **wanted, asked)).copied().collect()
    }

    /// The units of which all bytes of a range have been read or are under way so that they fit together.
    pub fn covering(&self, code: Code, start: u64, end: u64) -> UnitSet {
        units_that_cover(code, self.asked.iter().chain(&self.got), Piece { unit: 0, start, end })
    }

    /// The units of which anything is under way, has been read or could not be read.
    pub fn tried(&self) -> UnitSet {
        let read = UnitSet::of(self.asked.iter().chain(&self.got).map(|read| &read.piece));
        read.or(self.failed).or(self.given_up)
    }
}

/// The units that are read with all bytes of a range and so that they fit together: copies always do.
fn units_that_cover<'a>(code: Code, read: impl Iterator<Item = &'a ReadPiece>, range: Piece) -> UnitSet {
    let fits = |read: &&ReadPiece| read.piece.covers(range) && (read.is_locked || code.copies());
    UnitSet::of(read.filter(fits).map(|read| &read.piece))
}

/// Where a write of a stripe, or a row that is rebuilt, has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Locking,
    Reading,
    Writing,
}

/// A write of pieces of one stripe, or a trim that leaves its parity right.
pub(crate) struct WriteOp {
    pub request: Key,
    pub is_trim: bool,
    pub stripe: u64,
    pub pieces: Vec<Piece>,
    /// How it is written, as it was planned last.
    pub kind: WriteKind,
    pub writes: Vec<Piece>,
    pub phase: Phase,
    pub outstanding: usize,
    /// Units that could not be read.
    pub failed: UnitSet,
    /// A read has failed: it is planned once more.
    pub again: bool,
}

/// A unit of a lost drive that is rebuilt.
pub(crate) struct RowOp {
    pub place: usize,
    /// The spare drive.
    pub drive: usize,
    pub row: u64,
    pub stripe: u64,
    pub unit: usize,
    pub phase: Phase,
    pub outstanding: usize,
    pub failed: UnitSet,
    pub again: bool,
    /// It could not be written.
    pub lost: bool,
}

/// A stripe that is read to see whether it can be.
pub(crate) struct ScrubOp {
    pub stripe: u64,
    pub phase: Phase,
    pub outstanding: usize,
    /// Units that could not be read.
    pub failed: UnitSet,
}

/// Pieces that a drive could not correct are written again.
pub(crate) struct RepairOp {
    pub stripe: u64,
    pub outstanding: usize,
}

/// Scrubs of an array.
pub(crate) struct Scrub {
    /// The stripe that is read next.
    pub next: u64,
    /// When it may be.
    pub allowed: Time,
    /// Nothing else goes on.
    pub sleeps: bool,
}

/// The windows of an array's places.
pub(crate) struct Windows {
    /// When the first turn began.
    pub began: Time,
    /// Nothing goes on, and the turns are not followed.
    pub sleeps: bool,
    /// Whether the window of each place is open.
    pub open: Vec<bool>,
}

/// What happens at a time.
#[derive(Clone, Copy)]
pub(crate) enum Timer {
    /// A request arrives at a drive.
    Deliver { drive: usize, request: Request, sub: Sub },
    /// Its data, or its acknowledgement, arrives at the host.
    Reply { sub: Sub, reply: Reply },
    /// A read is hedged, unless it is complete.
    Hedge(Key),
    /// A drive fails.
    Fail(usize),
    /// A rebuild goes on.
    Rebuild(usize),
    /// The next stripe is scrubbed.
    Scrub,
    /// The next turn of windows begins.
    Turn,
    /// Blocks have waited for others to fill a slice of the log.
    Gather,
}

/// A timer in the order of time, those of one time as they were set.
pub(crate) struct Due {
    pub time: Time,
    pub number: u64,
    pub what: Timer,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    /// The earliest is the greatest: a heap gives it first.
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

stored! {
    Open { id, request, parts, uncorrectable, refused, aborted, status, in_order, then }
    Sub { op, piece, purpose, drive, is_locked, limited, number, sent }
    Reply { uncorrectable, gave_up, refused, aborted, dead, status, latency }
    PlainOp { request, outstanding, done }
    ReadPiece { piece, is_locked }
    ReadOp { request, stripe, wanted, asked, got, first, failed, given_up, lock, hedged, extra }
    WriteOp { request, is_trim, stripe, pieces, kind, writes, phase, outstanding, failed, again }
    RowOp { place, drive, row, stripe, unit, phase, outstanding, failed, again, lost }
    ScrubOp { stripe, phase, outstanding, failed }
    RepairOp { stripe, outstanding }
    FinishOp { outstanding }
    Scrub { next, allowed, sleeps }
    Windows { began, sleeps, open }
    Due { time, number, what }
}

stored_enum! {
    Then { 0 = Gather { request }, 1 = Moves { stripe, blocks }, 2 = Written { batch }, }
    Purpose {
        0 = ReadData, 1 = ReadReconstruct, 2 = ReadHedge, 3 = ReadExtra, 4 = ReadBeforeWrite, 5 = ReadRebuild,
        6 = ReadScrub, 7 = WriteData, 8 = WriteParity, 9 = WriteRebuild, 10 = WriteRepair, 11 = Other,
    }
    Op { 0 = Plain(op), 1 = Read(op), 2 = Write(op), 3 = Row(op), 4 = Repair(op), 5 = Scrub(op), 6 = Finish(op), }
    WriteKind { 0 = Full, 1 = ReadModifyWrite, 2 = Reconstruct, 3 = Decode, }
    Lock { 0 = None, 1 = Waits, 2 = Held, }
    Phase { 0 = Locking, 1 = Reading, 2 = Writing, }
    Timer {
        0 = Deliver { drive, request, sub }, 1 = Reply { sub, reply }, 2 = Hedge(op), 3 = Fail(drive),
        4 = Rebuild(place), 5 = Scrub, 6 = Turn, 7 = Gather,
    }
}
