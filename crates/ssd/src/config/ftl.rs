//! The flash translation layer: where written pages go.

use nand::Layout;
use units::value::{Scalar, Value};

use super::refusal::{Check, Refusal, refuse};

units::choices! {
    /// How a written page finds its plane.
    pub enum Placement {
        /// By its address, in the page allocation order.
        Static = "static",
        /// The next die without a program takes the oldest waiting pages.
        Dynamic = "dynamic",
    }
}

units::choices! {
    /// How logical addresses are mapped to the flash.
    pub enum MappedBy {
        /// Page by page: any page may be anywhere.
        Page = "page",
        /// By zones, which are written in order and reset as a whole (zones.*).
        Zoned = "zoned",
        /// By blocks, and what is written goes into a log of a few of them first (FAST).
        Fast = "fast",
    }
}

units::choices! {
    /// What the FTL opens, fills and collects as one.
    pub enum Allocation {
        /// A block of a plane.
        Plane = "plane",
        /// A superblock: the blocks of one number on all planes of a die.
        Superblock = "superblock",
    }
}

units::choices! {
    /// When a free block is erased.
    pub enum EraseWhen {
        /// When it is reclaimed: free blocks are kept erased.
        Reclaimed = "reclaimed",
        /// Just before its first page is programmed.
        Opened = "opened",
    }
}

units::choices! {
    /// What stays apart of the data of placement handles (TP 4146, Reclaim Unit Handle Type).
    pub enum Isolation {
        /// What the host writes: relocated data of all handles goes together.
        Initial = "initial",
        /// Relocated data too: each handle has an open block of its own for it.
        Persistent = "persistent",
    }
}

units::choices! {
    /// Whether blocks hold fewer bits a cell (slc.cell) before their data is folded into the chip's own cells.
    pub enum SlcCache {
        /// Never.
        None = "none",
        /// Some blocks of each plane always do (slc.blocks); their capacity is taken off the over-provisioning.
        Static = "static",
        /// Free blocks do, as far as there are more of them than collection keeps; emptied, they are free for either.
        Dynamic = "dynamic",
    }
}

units::choices! {
    /// What protects data from the loss of a page, a block or a die.
    pub enum Raid {
        /// Nothing but the code of each page.
        None = "none",
        /// Of this many pages on different dies one is the parity of the others.
        Parity(u32 = 8 in 2..=64) = "parity",
    }
}

impl Raid {
    /// Pages of a stripe, its parity included.
    pub(crate) fn wide(self) -> Option<u32> {
        match self {
            Raid::None => None,
            Raid::Parity(wide) => Some(wide),
        }
    }
}

/// The order in which consecutive pages are dealt to channels, chips (ways), dies and planes: the first
/// letter changes fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOrder(pub [u8; 4]);

impl Value for PageOrder {
    fn expects() -> String {
        "the letters C (channel), W (chip), D (die), P (plane), each once, fastest first, such as \"CWDP\"".into()
    }
    fn read(scalar: &Scalar) -> Option<PageOrder> {
        let Scalar::Text(text) = scalar else { return None };
        let letters: [u8; 4] = text.as_bytes().try_into().ok()?;
        b"CWDP".iter().all(|letter| letters.contains(letter)).then_some(PageOrder(letters))
    }
    fn write(&self) -> Scalar {
        Scalar::Text(self.0.iter().map(|b| char::from(*b)).collect())
    }
}

impl PageOrder {
    /// The plane of each position: entry `i` is the plane of pages `i`, `i + planes`, ...
    pub fn planes(self, layout: &Layout) -> Vec<u32> {
        let sizes = |letter: u8| match letter {
            b'C' => layout.channels,
            b'W' => layout.chips,
            b'D' => layout.dies_per_chip,
            _ => layout.planes_per_die,
        };
        (0..layout.planes)
            .map(|position| {
                let (mut rest, mut at) = (position, [0; 4]);
                for letter in self.0 {
                    let place = b"CWDP".iter().position(|l| *l == letter).expect("Invariant: only these four letters");
                    at[place] = rest % sizes(letter);
                    rest /= sizes(letter);
                }
                ((at[0] * layout.chips + at[1]) * layout.dies_per_chip + at[2]) * layout.planes_per_die + at[3]
            })
            .collect()
    }
}

units::section! {
    /// The flash translation layer: where written pages go.
    pub struct FtlConfig in "ftl" {
        /// Raw capacity over logical capacity, minus 1.
        over_provisioning: f64 = 0.07,
        /// How addresses are mapped: page by page, by zones (zoned; zones.* say more), or by blocks with a log (fast).
        mapping: MappedBy = MappedBy::Page,
        /// Random log blocks of a plane (ftl.mapping = "fast").
        log_blocks: u32 = 8,
        /// How a written page finds its plane: static or dynamic.
        placement: Placement = Placement::Dynamic,
        /// What is opened, filled and collected as one: blocks plane by plane, or superblocks over all planes of a die.
        allocation: Allocation = Allocation::Plane,
        /// Page allocation order, fastest first: C channel, W chip, D die, P plane.
        page_order: PageOrder = PageOrder(*b"PCWD"),
        /// When a free block is erased: reclaimed or opened.
        erase_when: EraseWhen = EraseWhen::Opened,
        /// Write streams, each with an open block a plane. 1: everything together; 2: host data, relocated data; 3:
        /// host data whose last version was young, other host data, relocated data; 4: also data relocated more than
        /// once.
        streams: u32 = 2,
        /// Parity over dies: none, or parity:N, stripes of N pages of which one is the parity of the others. It has an
        /// open block a plane.
        raid: Raid = Raid::None,
        /// Placement handles: host data whose request has hint h goes into stream h modulo this number, each with an
        /// open block a plane (reclaim unit handles of NVMe Flexible Data Placement); 8 at most, 4 with an SLC cache; 0
        /// ignores hints.
        hints: u16 = 0,
        /// Reclaim groups: how many sets of dies there are, each with as many handles as ftl.hints says. A hint is a
        /// placement identifier, whose most significant bits name the group: with two, 0x8000 and more name the second.
        reclaim_groups: u16 = 1,
        /// What of the data of placement handles stays apart: initial (what the host writes) or persistent (relocated
        /// data as well).
        isolation: Isolation = Isolation::Initial,
        /// SLC cache: none, static or dynamic; slc.* say more. What goes past it has streams of its own.
        slc_cache: SlcCache = SlcCache::None,
    }
}

impl FtlConfig {
    /// Handles whose relocated data stays apart, of all groups.
    pub(crate) fn persistent_handles(&self) -> u16 {
        if self.isolation == Isolation::Persistent { self.hints.saturating_mul(self.reclaim_groups) } else { 0 }
    }

    /// The flash `layout` in blocks as the FTL counts them.
    pub(super) fn joined(&self, layout: &Layout) -> Result<Layout, Refusal> {
        match self.allocation {
            Allocation::Plane => Ok(*layout),
            Allocation::Superblock => {
                layout.superblocks().or_else(|(problem, remedy)| refuse("allocation", problem, remedy))
            }
        }
    }

    /// Pages that the host may address.
    pub(super) fn logical_pages(&self, layout: &Layout) -> u64 {
        (layout.raw_pages() as f64 / (1.0 + self.over_provisioning)) as u64
    }
}

impl Check for FtlConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        let spare = self.over_provisioning;
        if !(0.0..=10.0).contains(&spare) {
            return refuse("over_provisioning", format!("is {spare}"), "write a number from 0 to 10, such as 0.07");
        }
        if self.logical_pages(layout) == 0 {
            let problem = format!("is {spare}, which leaves no page to the host");
            return refuse("over_provisioning", problem, "lower it, or give the device more pages");
        }
        if !(1..=4).contains(&self.streams) {
            return refuse("streams", format!("is {}", self.streams), "write 1, 2, 3 or 4");
        }
        Ok(())
    }
}
