//! The logical-to-physical map.

use nand::Layout;
use units::Bytes;

use super::refusal::{Check, Refusal, refuse};

units::choices! {
    /// Where the logical-to-physical map is.
    pub enum MapTable {
        /// All of it in memory.
        Ideal = "ideal",
        /// On flash, behind a cache.
        Cached = "cached",
    }
}

units::choices! {
    /// How submission queues use the mapping cache.
    pub enum Sharing {
        /// All of it together.
        Shared = "shared",
        /// In equal parts, and one more for the drive's own work.
        Partitioned = "partitioned",
    }
}

units::section! {
    /// The logical-to-physical map: all in memory, or on flash behind a cache.
    pub struct MappingConfig in "mapping" {
        /// Ideal or cached.
        table: MapTable = MapTable::Ideal,
        /// Size of the cached mapping table.
        cache: Bytes = Bytes::from_mib(2),
        /// What a miss brings in and what is replaced at once.
        entry_group: Bytes = Bytes::from_kib(4),
        /// Size of one entry, on flash and in the cache.
        entry: Bytes = Bytes(4),
        /// Whether submission queues share the cache or have equal parts of it.
        sharing: Sharing = Sharing::Shared,
        /// Translation pages on their way to flash beyond which host requests wait for the map.
        writes: u32 = 64,
    }
}

impl Check for MappingConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        let (page, group, entry) = (layout.page_size.0, self.entry_group.0, self.entry.0);
        if self.table == MapTable::Ideal {
            return Ok(());
        }
        if !entry.is_power_of_two() || !(4..=64).contains(&entry) {
            return refuse("entry", format!("is {entry} B"), "write 4B, 8B, 16B, 32B or 64B");
        }
        if !group.is_power_of_two() || group < entry || group > page {
            let remedy = "write a power of two from mapping.entry up to the page size";
            return refuse("entry_group", format!("is {}", self.entry_group), remedy);
        }
        if self.writes == 0 {
            return refuse("writes", "is 0", "write a positive number of pages");
        }
        Ok(())
    }
}
