//! Refresh and read reclaim.

use nand::Layout;
use units::Span;

use super::refusal::{Check, Refusal, refuse};

units::choices! {
    /// What read reclaim relocates.
    pub enum Reclaim {
        /// A block.
        Block = "block",
        /// A wordline as soon as its own count has come so far; the block when all of it has.
        Wordline = "wordline",
    }
}

units::section! {
    /// Relocating data before it is lost: old data, and blocks that were read often.
    pub struct RefreshConfig in "refresh" {
        /// Every block is visited once in this time, and data older than that (at 30 C) is relocated; "none" never is.
        period: Option<Span> = None,
        /// Reads of a block after which its data is relocated (read reclaim); "none" never is. With chip.read_disturb
        /// retries count.
        reads: Option<u32> = None,
        /// What read reclaim relocates: the block; or a wordline whose neighbours were read that often
        /// (chip.neighbour_disturb), before the rest of its block.
        reclaim: Reclaim = Reclaim::Block,
    }
}

impl Check for RefreshConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        // Relocating a block changes the map, and may read as many translation pages as the block has pages.
        let fewest = 4 * layout.flash_pages();
        match self.reads {
            Some(reads) if reads < fewest => {
                let problem = format!("is {reads}, and relocating a block may cause {} reads", layout.flash_pages());
                refuse("reads", problem, format!("write at least {fewest}, or \"none\""))
            }
            _ => Ok(()),
        }
    }
}
