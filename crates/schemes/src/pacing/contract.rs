//! What a policy of this axis is asked, and what it answers.

/// A plane whose blocks are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Free blocks.
    pub free: u32,
    /// Those that only relocated data may open.
    pub reserve: u32,
    /// Collection started when fewer than these were free.
    pub start: u32,
    /// Pages of a block.
    pub pages: u32,
    /// Valid pages of the block that is collected: they are relocated; the others are gained.
    pub valid: u32,
}

/// So many pages of host data for so many relocated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Relocated pages.
    pub relocated: u32,
    /// Pages of host data that they pay for: more than none.
    pub host: u32,
}
