//! How far a scrub has come.

use units::Time;

/// Scrubs of an array.
pub(crate) struct Scrub {
    /// The stripe that is read next.
    pub next: u64,
    /// When it may be.
    pub allowed: Time,
    /// Nothing else goes on.
    pub sleeps: bool,
}
