//! Which windows of drives are open.

use units::Time;

/// The windows of an array's places.
pub(crate) struct Windows {
    /// When the first turn began.
    pub began: Time,
    /// Nothing goes on, and the turns are not followed.
    pub sleeps: bool,
    /// Whether the window of each place is open.
    pub open: Vec<bool>,
}
