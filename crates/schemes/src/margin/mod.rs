//! Whether an erase may end before the block is erased completely.
//!
//! Contract: a policy sees the profiled erase timing table ([`nand::ept`]), which says what may be left of an erase by
//! the errors of its block, and the errors that reads of the block have found; nothing else. It gives by how much an
//! erase may fall short.

mod tracked;

use nand::ept::{Ept, Spare};

units::choices! {
    /// What an erase may leave to the ECC.
    pub enum Margin {
        /// Nothing: every cell is erased.
        None = "none",
        /// Fail bits whose errors, after retention, the ECC has room for (electronics25 section 5.3, C1 and C2).
        Ecc = "ecc",
        /// As ecc, but by the errors that the block's reads have found since its last erase; by the table where it was
        /// not read (electronics25 section 5.3).
        Tracked = "tracked",
    }
}

impl Margin {
    /// Whether shorter pulses are used.
    pub fn spares(self) -> bool {
        self != Margin::None
    }

    /// Whether the errors that reads find are kept for each block.
    pub fn tracks(self) -> bool {
        self == Margin::Tracked
    }

    /// By how much an erase may fall short of a block with these errors per KiB, where they are known.
    pub fn spare(self, ept: &Ept, found: Option<f64>) -> Spare {
        match self {
            Margin::None => Spare::None,
            Margin::Ecc => Spare::Profiled,
            Margin::Tracked => tracked::spare(ept, found),
        }
    }
}
