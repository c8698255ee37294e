//! Wear levelling and failing blocks.

use units::{Fraction, PeCycles};

use super::refusal::Check;

units::choices! {
    /// Which free block is opened next.
    pub enum FreeBlock {
        /// The one with the fewest erases.
        LeastWorn = "least-worn",
        /// The one that has been free for longest.
        Oldest = "oldest",
    }
}

units::choices! {
    /// What a drive does that has too few good blocks left.
    pub enum EndOfLife {
        /// The run ends: what it has found out so far is its result.
        Stop = "stop",
        /// Reads go on; writes, trims and flushes are refused.
        ReadOnly = "read-only",
    }
}

units::section! {
    /// Wear levelling and failing blocks.
    pub struct WearConfig in "wear" {
        /// Which free block is opened next: the least worn one (dynamic wear levelling) or the oldest.
        free_block: FreeBlock = FreeBlock::LeastWorn,
        /// Static wear levelling: when a block has been erased this many times more than the least worn one of its
        /// plane, that one's data is relocated; "none" never does it.
        static_spread: Option<u32> = None,
        /// Share of bad blocks from the factory, drawn for each block.
        factory_bad: Fraction = Fraction(0.0),
        /// Probability that a program command fails on a plane; the block goes out of service.
        program_fail: Fraction = Fraction(0.0),
        /// Probability that an erase fails; the block goes out of service.
        erase_fail: Fraction = Fraction(0.0),
        /// P/E cycles after which a block's erase fails; "none" never does.
        endurance: Option<PeCycles> = None,
        /// Share of a new drive's spare blocks below which it warns (NVMe's available spare threshold).
        spare_threshold: Fraction = Fraction(0.1),
        /// What follows when too few good blocks are left: stop (the run ends with its result), or read-only (NVMe's
        /// critical warning "media placed in read only mode": reads go on, everything else is refused).
        end_of_life: EndOfLife = EndOfLife::Stop,
    }
}

impl Check for WearConfig {}
