//! Power cuts, to be looked at.

use units::Span;

use super::Power;
use super::oracle::Undone;

/// Power cuts, to be looked at.
#[derive(Clone, Copy)]
pub struct PowerSeen<'a>(pub(crate) &'a Power);

impl<'a> PowerSeen<'a> {
    /// How long recovery took after each.
    #[must_use]
    pub fn recoveries(self) -> &'a [Span] {
        &self.0.ready
    }

    /// Whether the power can be cut: `power.cut_at` is not empty.
    #[must_use]
    pub fn is_cut(self) -> bool {
        self.0.oracle.is_some()
    }

    /// Cuts since the device was made.
    #[must_use]
    pub fn cuts(self) -> u64 {
        self.0.oracle.as_ref().map_or(0, |oracle| oracle.cuts())
    }

    /// Changes that were acknowledged before the last cut and that it has undone.
    #[must_use]
    pub fn undone(self) -> &'a [Undone] {
        self.0.oracle.as_ref().map_or(&[], |oracle| oracle.undone())
    }

    /// The first request of which something was acknowledged and could still be undone.
    #[must_use]
    pub fn first_unsettled(self) -> Option<u64> {
        self.0.oracle.as_ref().and_then(|oracle| oracle.first_pending())
    }
}
