//! What can be seen of an array: which pieces of which stripes were read and written where, for tests that follow where
//! data is.

use units::Time;

use crate::layout::Piece;
use crate::rewrite::WriteKind;

/// Names an operation of an array as long as it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId(pub(crate) u64);

/// A block that a log writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The unit of the stripe.
    pub unit: usize,
    /// The first byte within the unit.
    pub start: u64,
    /// What is written there.
    pub from: LoggedFrom,
}

/// Where what a log writes comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedFrom {
    /// This request of the host writes it.
    Host {
        /// Its number.
        request: u64,
    },
    /// It was there in another stripe.
    Stripe {
        /// The array's own request that has read it.
        read: u64,
        /// The stripe.
        stripe: u64,
        /// The unit.
        unit: usize,
        /// The first byte within the unit.
        start: u64,
    },
    /// It fills a slice.
    Nothing,
}

/// Something that an array has done.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayEvent<'a> {
    /// A piece has been read for an operation.
    Read {
        /// The operation.
        op: OpId,
        /// The drive, by its number.
        drive: usize,
        /// The stripe.
        stripe: u64,
        /// The piece.
        piece: Piece,
        /// It was read under the lock of the stripe, and fits with others that were.
        is_locked: bool,
    },
    /// A write of pieces of a stripe has been planned; one that was planned before for the same operation counts no
    /// more.
    Planned {
        /// The operation.
        op: OpId,
        /// The request of the host.
        request: u64,
        /// The stripe.
        stripe: u64,
        /// The way in which the stripe is written.
        kind: WriteKind,
        /// What the host writes.
        pieces: &'a [Piece],
        /// Of a log, block by block, where that comes from.
        logged: &'a [Logged],
    },
    /// A request of the host reads a block of an array with a log.
    Found {
        /// The request.
        request: u64,
        /// The block of 4 KiB of the address space.
        block: u64,
        /// Stripe and piece where it is read; otherwise the request that has written or trimmed it last.
        found: Result<(u64, Piece), u64>,
    },
    /// A request of the host has trimmed a block of an array with a log.
    Trimmed {
        /// The request.
        request: u64,
        /// The block.
        block: u64,
    },
    /// A piece has been written for an operation.
    Written {
        /// The operation.
        op: OpId,
        /// The drive, by its number.
        drive: usize,
        /// The stripe.
        stripe: u64,
        /// The piece.
        piece: Piece,
    },
    /// A read of pieces of a stripe is complete.
    Served {
        /// The operation.
        op: OpId,
        /// The request of the host.
        request: u64,
        /// The stripe.
        stripe: u64,
        /// What the host wanted.
        wanted: &'a [Piece],
        /// Whether it got all of it.
        is_whole: bool,
    },
    /// Of a stripe so little is there that a write could not be stored.
    NotStored {
        /// The request of the host.
        request: u64,
        /// The stripe.
        stripe: u64,
    },
    /// A unit has been rebuilt on a spare drive.
    Rebuilt {
        /// The operation.
        op: OpId,
        /// The drive, by its number.
        drive: usize,
        /// The stripe.
        stripe: u64,
        /// The unit.
        unit: usize,
    },
    /// A drive has failed.
    DriveFailed {
        /// The drive, by its number.
        drive: usize,
    },
}

/// Sees what an array does.
pub trait Observer: Send {
    /// Something has happened now.
    fn sees(&mut self, now: Time, event: &ArrayEvent);
}
