//! The open block of a stream, or of a zone, on a plane.

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

stored! {
    Open { block, next_page, erased, barrier }
}
