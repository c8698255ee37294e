//! What a policy of writes sees.

/// A way of writing a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// No parity has to be worked out of what is on the drives: all data units are written whole, or are copies, or
    /// there is no parity.
    Full,
    /// The old data and the old parity are read, and the difference is put into the parity (read-modify-write).
    ReadModifyWrite,
    /// The data units that are not written are read, and the parity is worked out again (reconstruct-write).
    Reconstruct,
    /// A unit is missing: as many as give all others are read.
    Decode,
}

/// A way of writing a part of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The way.
    pub kind: WriteKind,
    /// What it reads \[B].
    pub bytes: u64,
    /// In how many requests to drives.
    pub requests: usize,
}
