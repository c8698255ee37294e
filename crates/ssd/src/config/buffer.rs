//! The DRAM: the write buffer and the read cache.

use nand::Layout;
use units::{Bandwidth, Bytes, Fraction, Rate};

use super::refusal::{Check, Refusal, not_too_long, positive, refuse};

units::choices! {
    /// When a host write is acknowledged.
    pub enum BufferMode {
        /// When its data is in the buffer.
        WriteBack = "write-back",
        /// When its data is on flash.
        WriteThrough = "write-through",
    }
}

units::section! {
    /// The DRAM: the write buffer and the read cache.
    pub struct BufferConfig in "buffer" {
        /// Room for written data.
        size: Bytes = Bytes::from_mib(64),
        /// When a write is acknowledged: write-back or write-through.
        mode: BufferMode = BufferMode::WriteBack,
        /// Share of the buffer that may stay dirty: above it the oldest pages go to flash. 0 writes at once.
        dirty_limit: Fraction = Fraction(0.0),
        /// Room for data that was read from flash, which later reads find there; the least recently read page leaves
        /// first. 0: none.
        read_cache: Bytes = Bytes(0),
        /// Data that reads take from flash crosses the DRAM on its way to the host; otherwise it goes straight to the
        /// link.
        read_through: bool = true,
        /// Bandwidth of the DRAM, for all host data in and out.
        dram_bandwidth: Bandwidth = Bandwidth(12_800_000_000),
    }
}

impl BufferConfig {
    /// Pages that it holds.
    pub(super) fn slots(&self, layout: &Layout) -> u64 {
        self.size.0 / layout.page_size.0
    }
}

impl Check for BufferConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        positive(&[("dram_bandwidth", self.dram_bandwidth.0)])?;
        let slots = self.slots(layout);
        if slots > 1 << 24 {
            let problem = format!("is {}, which takes {} of memory to track", self.size, Bytes(slots * 64));
            return refuse("size", problem, "a buffer can have at most 16 million pages");
        }
        let page = layout.page_size;
        if (1..page.0).contains(&self.read_cache.0) {
            let problem = format!("is {}, less than a page", self.read_cache);
            return refuse("read_cache", problem, format!("write at least {page}, or 0B for none"));
        }
        if self.read_cache.0 / page.0 > 1 << 24 {
            let problem = format!("is {}, more than 16 million pages", self.read_cache);
            return refuse("read_cache", problem, format!("write at most {}", Bytes(page.0 << 24)));
        }
        not_too_long(&[("dram_bandwidth", Rate::new(self.dram_bandwidth, page).time_for(page))])
    }
}
