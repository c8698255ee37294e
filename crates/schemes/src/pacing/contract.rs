//! What a policy of this axis is asked, and what it answers.

/// A plane whose blocks are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Pages that data of the host and relocated data may still fill: of free blocks but the reserve, of open blocks,
    /// and of the block that is collected as much as it is done.
    pub room: i64,
    /// Below this many the host's open block may be full while all the room is for relocated data.
    pub least: i64,
    /// Collection starts at about this many.
    pub start: i64,
    /// Pages of a block.
    pub pages: u32,
    /// Valid pages of the block that is collected: they are relocated; the others are gained.
    pub valid: u32,
}

/// This many pages of host data for this many relocated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Relocated pages.
    pub relocated: u64,
    /// Pages of host data that they pay for: more than none.
    pub host: u64,
}

impl Price {
    /// `by / of` times as dear; three times at most (`assumed`), so that host data always goes on.
    pub(super) fn times(self, by: i64, of: i64) -> Price {
        let (by, of) = (by.clamp(0, 3 * of) as u64, of.max(1) as u64);
        Price { relocated: self.relocated * by, host: self.host * of }
    }
}
