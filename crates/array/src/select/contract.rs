//! What a policy of selection sees.

/// A unit that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in the stripe.
    pub unit: usize,
    /// Requests under way to its drive.
    pub outstanding: u64,
}
