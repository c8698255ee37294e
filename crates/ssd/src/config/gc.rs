//! Garbage collection.

use nand::Layout;
use schemes::{Pacing, Victim};
use units::Span;

use super::refusal::{Check, Refusal, refuse};

units::section! {
    /// Garbage collection, plane by plane.
    pub struct GcConfig in "gc" {
        /// Which block is reclaimed next.
        victim: Victim = Victim::Greedy,
        /// Collection starts when a plane has fewer free blocks.
        start: u32 = 4,
        /// Collection goes on until the plane has this many free blocks.
        stop: u32 = 5,
        /// How fast host data may be programmed on a plane while its blocks are collected.
        pacing: Pacing = Pacing::None,
        /// Pages of a plane that may be in relocation at once.
        relocations: u32 = 12,
        /// Pages are copied within their plane (copyback), without bus and ECC; otherwise through the controller.
        copyback: bool = false,
        /// How often in a row the same data is copied back, by collection or by folding (slc.fold), before it goes once
        /// through the controller, which corrects its errors; "none" has no bound.
        copyback_limit: Option<u32> = None,
        /// Host operations may go between a collection's; otherwise a collecting die does nothing else until the block
        /// is reclaimed.
        preemptible: bool = true,
        /// A die that has been idle for this time collects in the background; "none" never does.
        idle: Option<Span> = None,
        /// Background collection keeps this many blocks of a plane free.
        idle_stop: u32 = 8,
    }
}

impl Check for GcConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if self.stop < self.start {
            let problem = format!("is {}, less than gc.start = {}", self.stop, self.start);
            return refuse("stop", problem, format!("write at least {}", self.start));
        }
        if self.copyback_limit == Some(0) {
            return refuse("copyback_limit", "is 0", "write 1 or more, or set gc.copyback to false");
        }
        if self.idle.is_some() && self.idle_stop < self.stop {
            let problem = format!("is {}, less than gc.stop = {}", self.idle_stop, self.stop);
            return refuse("idle_stop", problem, format!("write at least {}", self.stop));
        }
        Ok(())
    }
}
