//! What a policy of this axis is asked.

/// A block of the chip's own cells, since it was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockReads {
    /// Reads of its pages.
    pub reads: u32,
    /// Retries that these took.
    pub retries: u32,
}
