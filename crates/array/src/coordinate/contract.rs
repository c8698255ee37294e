//! What a policy of windows sees.

/// A place for a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number among the places that share stripes.
    pub number: usize,
    /// How many these are.
    pub sharing: usize,
    /// Drives that a stripe can do without: at least one.
    pub spare: usize,
    /// How many of those that share stripes have fewer requests under way, or as few and a lower number.
    pub rank: usize,
}

impl Place {
    /// Turns until all have had one.
    pub(super) fn turns(self) -> u64 {
        self.sharing.div_ceil(self.spare) as u64
    }
}
