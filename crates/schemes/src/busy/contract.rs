//! What a policy of this axis is asked.

/// Work of the drive's own on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieWork {
    /// An erase is in its array, and is not suspended.
    pub erases: bool,
    /// The data of a block of one of its planes is being relocated, for whatever cause, or such a block waits for its
    /// erase.
    pub relocates: bool,
}
