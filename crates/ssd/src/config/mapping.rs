//! The logical-to-physical map.

use nand::Layout;
use units::Bytes;
use units::value::{Scalar, Value};

use super::refusal::{Check, Refusal, refuse};

units::choices! {
    /// Where the logical-to-physical map is.
    pub enum MapTable {
        /// All of it in memory.
        Ideal = "ideal",
        /// On flash, behind a cache.
        Cached = "cached",
        /// All of it in memory, as learned segments in place of entries (LeaFTL).
        Learned = "learned",
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

/// What an entry of the map stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapUnit {
    /// A flash page, whatever its size.
    Page,
    /// This many bytes: several units share a flash page, or a unit takes several.
    Of(Bytes),
}

impl Value for MapUnit {
    fn expects() -> String {
        format!("\"page\" (a flash page), or {}", Bytes::expects())
    }
    fn read(scalar: &Scalar) -> Option<MapUnit> {
        match scalar {
            Scalar::Text(text) if text == "page" => Some(MapUnit::Page),
            other => Bytes::read(other).map(MapUnit::Of),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            MapUnit::Page => Scalar::Text("page".into()),
            MapUnit::Of(size) => size.write(),
        }
    }
}

units::section! {
    /// The logical-to-physical map: its unit, and whether it is all in memory or on flash behind a cache.
    pub struct MappingConfig in "mapping" {
        /// What an entry stands for, and so what is written, relocated and unmapped as a whole: page, or a power of two
        /// from 512B to 64KiB.
        unit: MapUnit = MapUnit::Page,
        /// Ideal, cached or learned.
        table: MapTable = MapTable::Ideal,
        /// Pages by which a learned segment may be off (LeaFTL's gamma), at most 16: a look-up that is costs one read
        /// more.
        error: u32 = 0,
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
        /// Whenever the host has written this amount, the translation pages that have changed are programmed, so that
        /// the map survives a power cut; "none" never does. A map that is all in memory has translation pages on flash
        /// for this alone.
        checkpoint: Option<Bytes> = None,
        /// Changes of the map go into a journal on flash, a page of it as soon as it is full and with each flush:
        /// beside the checkpoints.
        journal: bool = false,
    }
}

/// Bytes of a change of the map in its journal: the logical page, the flash page, the sequence number (assumed).
pub(crate) const CHANGE: u64 = 16;

/// The largest bound of a learned table: a spare area of 128 bytes has the logical numbers, of 4 bytes, of 16 pages
/// before a page and of 16 behind it (LeaFTL, with an entry less for the page itself: assumed).
const MOST_ERROR: u32 = 16;

impl MappingConfig {
    /// The layout with the pages that the map knows.
    pub(super) fn divide(&self, layout: &Layout) -> Result<Layout, Refusal> {
        let MapUnit::Of(unit) = self.unit else { return Ok(*layout) };
        if !unit.0.is_power_of_two() || !(512..=65_536).contains(&unit.0) {
            return refuse("unit", format!("is {unit}"), "write \"page\", or a power of two from 512B to 64KiB");
        }
        layout.divided(unit.min(layout.page_size)).or_else(|(problem, remedy)| refuse("unit", problem, remedy))
    }

    /// Pages of an entry: several where its unit is larger than a flash page.
    pub(super) fn unit_of(&self, layout: &Layout) -> u32 {
        match self.unit {
            MapUnit::Of(unit) if unit > layout.page_size => (unit.0 / layout.page_size.0) as u32,
            _ => 1,
        }
    }

    /// Whether an entry stands for several pages.
    pub(super) fn spans_pages(&self) -> bool {
        matches!(self.unit, MapUnit::Of(unit) if unit.0 > 4096)
    }

    /// Whether there are translation pages on flash.
    pub(crate) fn is_on_flash(&self) -> bool {
        self.table == MapTable::Cached || self.checkpoint.is_some()
    }

    /// Pages of the journal that may hold anything at the same time, for this many translation pages: twice what is
    /// written between two checkpoints, of which each lists the translation pages.
    pub(super) fn journal_pages(&self, layout: &Layout, map_pages: u32) -> u32 {
        let Some(interval) = self.checkpoint else { return 0 };
        let changes = layout.page_size.0 / CHANGE;
        let list = u64::from(map_pages).div_ceil(changes);
        // For each page of host data some more are relocated (assumed: three).
        let between =
            if self.journal { (4 * interval.0.div_ceil(layout.page_size.0)).div_ceil(changes) + 4 } else { 0 };
        u32::try_from(2 * (list + between)).unwrap_or(u32::MAX)
    }

    /// Logical pages whose entries a group has.
    pub(crate) fn pages_of_group(&self, layout: &Layout) -> u32 {
        (self.entry_group.0 / self.entry.0) as u32 * self.unit_of(layout)
    }
}

impl Check for MappingConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        let (page, group, entry) = (layout.page_size.0, self.entry_group.0, self.entry.0);
        if self.journal && self.checkpoint.is_none() {
            let remedy = "set mapping.checkpoint as well, such as \"64MiB\", or mapping.journal to false";
            return refuse("journal", "is true, and without checkpoints it would grow for ever", remedy);
        }
        if self.error > MOST_ERROR {
            let problem = format!(
                "is {}, and a page's spare area says what is in this many pages before and behind it",
                self.error
            );
            return refuse("error", problem, format!("write at most {MOST_ERROR}"));
        }
        if self.checkpoint.is_some_and(|interval| interval.0 < page) {
            let problem = format!("is {}, less than a page", self.checkpoint.unwrap_or_default());
            return refuse("checkpoint", problem, "write at least a page, or \"none\"");
        }
        if !self.is_on_flash() {
            return Ok(());
        }
        if !entry.is_power_of_two() || !(4..=64).contains(&entry) {
            return refuse("entry", format!("is {entry} B"), "write 4B, 8B, 16B, 32B or 64B");
        }
        if self.table == MapTable::Cached && (!group.is_power_of_two() || group < entry || group > page) {
            let remedy =
                "write a power of two from mapping.entry up to a page, or up to mapping.unit where that is smaller";
            return refuse("entry_group", format!("is {}", self.entry_group), remedy);
        }
        if self.writes == 0 {
            return refuse("writes", "is 0", "write a positive number of pages");
        }
        Ok(())
    }
}
