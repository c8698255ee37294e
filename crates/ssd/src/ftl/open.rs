//! The open block of a stream, or of a zone, on a plane, and blocks that may be opened.

use crate::config::EraseWhen;
use crate::persist::stored;

/// The open block of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub block: u32,
    pub next_page: u32,
    pub erased: bool,
    /// Reads that are older than this may still want what the block held.
    pub barrier: u64,
}

/// An empty block that may be opened. The least is opened next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Released {
    /// By what blocks are opened first (`wear.free_block`).
    pub rank: u32,
    /// Its place in the order in which blocks were released.
    pub number: u64,
    pub block: u32,
    /// Reads that are older than this may still want what it held; none where it has been erased.
    pub barrier: Option<u64>,
}

impl Released {
    /// The barrier of a block that nobody wants to read, where nothing but the time at which blocks are usually erased
    /// says whether it has been.
    pub fn when_found(erase_when: EraseWhen) -> Option<u64> {
        (erase_when == EraseWhen::Opened).then_some(0)
    }
}

stored! {
    Open { block, next_page, erased, barrier }
    Released { rank, number, block, barrier }
}
