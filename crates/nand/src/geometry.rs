//! How a device's flash is divided: channels, chips, dies, planes, blocks, pages; and the packed physical
//! page number that names one page.

use std::ops::Range;

use units::{Bytes, Ppn};

units::choices! {
    /// Bits a cell.
    pub enum Cell {
        /// One bit a cell.
        Slc = "SLC",
        /// Two bits a cell.
        Mlc = "MLC",
        /// Three bits a cell.
        Tlc = "TLC",
        /// Four bits a cell.
        Qlc = "QLC",
        /// Five bits a cell.
        Plc = "PLC",
    }
}

/// The most bits that a cell holds.
pub const MAX_BITS: usize = 5;

impl Cell {
    /// Pages that share a wordline.
    pub fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
            Cell::Plc => 5,
        }
    }
}

units::section! {
    /// Raw flash geometry. Logical capacity is raw capacity / (1 + over-provisioning).
    pub struct Geometry in "geometry" {
        /// Channels (buses) of the device.
        channels: u32 = 8,
        /// Chips (ways) on each channel.
        chips: u32 = 2,
        /// Dies in each chip. A channel has chips x dies of them: that product is what a device in a line calls dies
        /// (`16 ch x 4 dies`).
        dies: u32 = 2,
        /// Planes in each die, at most 8.
        planes: u32 = 4,
        /// Blocks in each plane.
        blocks: u32 = 480,
        /// Pages in each block; a multiple of the bits a cell when whole wordlines are programmed.
        pages: u32 = 1152,
        /// Data bytes of a page, a power of two.
        page_size: Bytes = Bytes::from_kib(16),
        /// Bits a cell, which is also how many pages share a wordline.
        cell: Cell = Cell::Tlc,
    }
}

/// A die, counted over the whole device: channel-major, then chip, then die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DieId(pub u16);

impl units::Id for DieId {
    fn new(index: usize) -> DieId {
        DieId(u16::try_from(index).expect("Invariant: a device has fewer dies"))
    }
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId(pub u16);

impl units::Id for ChannelId {
    fn new(index: usize) -> ChannelId {
        ChannelId(u16::try_from(index).expect("Invariant: a device has fewer channels"))
    }
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A plane as the FTL counts them, over the whole device: die-major. With superblocks all planes of a die are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaneId(pub u32);

/// A plane of the flash, counted over the whole device: die-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlashPlaneId(pub u32);

/// A block, counted over the whole device: what the numbers of its pages begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockId(pub u32);

/// The place of one logical page, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The plane, over the whole device.
    pub plane: PlaneId,
    /// The block within the plane.
    pub block: u32,
    /// The page within the block.
    pub page: u32,
}

/// A validated geometry with everything the hot paths need worked out.
///
/// Pages are counted as the map counts them: several logical pages share a flash page, the unit of sensing and
/// programming, where they are smaller ([`Layout::divided`]); otherwise both are the same. Blocks and planes are
/// counted as the FTL counts them: with superblocks ([`Layout::superblocks`]) a block is one of each plane of a die,
/// and these planes are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Channels of the device.
    pub channels: u32,
    /// Chips on each channel.
    pub chips: u32,
    /// Dies in each chip.
    pub dies_per_chip: u32,
    /// Planes in each die, as the FTL counts them.
    pub planes_per_die: u32,
    /// Planes of the flash over which each block extends: 1, or all of a die.
    pub stripe: u32,
    /// Blocks in each plane.
    pub blocks: u32,
    /// Logical pages in each block.
    pub pages: u32,
    /// Data bytes of a logical page.
    pub page_size: Bytes,
    /// Data bytes of a flash page.
    pub flash_page_size: Bytes,
    /// Flash pages that share a wordline.
    pub bits: u32,
    /// Dies of the device.
    pub dies: u32,
    /// Planes of the device, as the FTL counts them.
    pub planes: u32,
    /// Bits that number the logical pages of a block.
    pub page_bits: u32,
    block_bits: u32,
    /// Bits that number the logical pages of a flash page.
    share_bits: u32,
}

/// The most planes that a die may have: plane sets are 8-bit masks.
pub const MAX_PLANES: u32 = 8;
/// The most dies that a channel may have: die sets are 64-bit masks.
pub const MAX_DIES_PER_CHANNEL: u32 = 64;

/// The most pages that a device may have: operations keep numbers of logical pages in 40 bits, and of physical ones,
/// whose parts are rounded up to whole bits, in 48.
pub const MAX_PAGES: u64 = 1 << 40;
/// The most pages that a plane may have: places within a plane are counted in 32 bits.
pub const MAX_PAGES_PER_PLANE: u64 = 1 << 31;

/// Why a geometry or a chip cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key at fault, without its section.
    pub key: &'static str,
    /// What is wrong with its value.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl Refusal {
    /// Of a key.
    pub fn of(key: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal { key, problem: problem.into(), remedy: remedy.into() }
    }
}

/// Refuses a key.
pub(crate) fn refuse<T>(
    key: &'static str,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal::of(key, problem, remedy))
}

impl Geometry {
    /// Checks the geometry and works out its layout.
    pub fn layout(&self) -> Result<Layout, Refusal> {
        let dies = self.count_dies()?;
        let (page_bits, block_bits) = (bits_for(self.pages), bits_for(self.blocks));
        let planes = dies * u64::from(self.planes);
        self.check_pages(planes)?;
        // 2^26 blocks would already be a petabyte of today's chips; each costs a table entry.
        let all_blocks = planes * u64::from(self.blocks);
        if all_blocks > 1 << 26 {
            return refuse(
                "blocks",
                format!("the device has {all_blocks} blocks, whose table would take {}", Bytes(all_blocks * 12)),
                "a device can have at most 67 million blocks: use larger blocks",
            );
        }
        Ok(Layout {
            channels: self.channels,
            chips: self.chips,
            dies_per_chip: self.dies,
            planes_per_die: self.planes,
            stripe: 1,
            blocks: self.blocks,
            pages: self.pages,
            page_size: self.page_size,
            flash_page_size: self.page_size,
            bits: self.cell.bits(),
            dies: dies as u32,
            planes: planes as u32,
            page_bits,
            block_bits,
            share_bits: 0,
        })
    }

    /// Checks that the pages of a plane and those of the device can be counted.
    fn check_pages(&self, planes: u64) -> Result<(), Refusal> {
        let in_plane = u64::from(self.blocks) * u64::from(self.pages);
        if in_plane > MAX_PAGES_PER_PLANE {
            return refuse(
                "blocks",
                format!("{} blocks of {} pages make {in_plane} pages a plane", self.blocks, self.pages),
                "a plane can have at most 2 147 483 648 pages: use fewer or smaller blocks",
            );
        }
        let pages = planes * in_plane;
        if pages > MAX_PAGES {
            return refuse(
                "blocks",
                format!("the device has {pages} pages"),
                "a device can have at most 1 099 511 627 776 pages (2^40): use fewer or larger pages",
            );
        }
        Ok(())
    }

    /// Checks counts and the page size, and gives the number of dies.
    fn count_dies(&self) -> Result<u64, Refusal> {
        let positive = [
            ("channels", self.channels),
            ("chips", self.chips),
            ("dies", self.dies),
            ("planes", self.planes),
            ("blocks", self.blocks),
            ("pages", self.pages),
        ];
        for (key, value) in positive {
            if value == 0 {
                return refuse(key, "is 0", "write 1 or more");
            }
        }
        if self.planes > MAX_PLANES {
            return refuse("planes", format!("is {}", self.planes), format!("write at most {MAX_PLANES}"));
        }
        let per_channel = u64::from(self.chips) * u64::from(self.dies);
        if per_channel > u64::from(MAX_DIES_PER_CHANNEL) {
            return refuse(
                "chips",
                format!("{} chips of {} dies make {per_channel} dies a channel", self.chips, self.dies),
                format!("a channel can hold at most {MAX_DIES_PER_CHANNEL} dies: use more channels"),
            );
        }
        let dies = u64::from(self.channels) * per_channel;
        if dies > 4096 {
            return refuse("channels", format!("makes {dies} dies"), "a device can hold at most 4096 dies");
        }
        let size = self.page_size.0;
        if !size.is_power_of_two() || !(512..=65_536).contains(&size) {
            return refuse("page_size", format!("is {}", self.page_size), "write a power of two from 512 B to 64 KiB");
        }
        Ok(dies)
    }
}

fn bits_for(values: u32) -> u32 {
    32 - values.saturating_sub(1).leading_zeros()
}

impl Layout {
    /// This flash with logical pages of `size` bytes, a power of two and no more than a flash page: problem and remedy,
    /// where this many pages cannot be counted.
    pub fn divided(&self, size: Bytes) -> Result<Layout, (String, String)> {
        let share_bits = self.page_size.0.trailing_zeros() - size.0.trailing_zeros();
        let pages = u64::from(self.pages) << share_bits;
        let (in_plane, all) = (pages * u64::from(self.blocks), self.raw_pages() << share_bits);
        for (of, count, most) in [("a plane", in_plane, MAX_PAGES_PER_PLANE), ("the device", all, MAX_PAGES)] {
            if count > most {
                let problem = format!("is {size}, which makes {count} pages of {of}");
                return Err((problem, format!("{of} can have at most {most}: write a larger size")));
            }
        }
        let page_bits = self.page_bits + share_bits;
        Ok(Layout { pages: pages as u32, page_size: size, page_bits, share_bits, ..*self })
    }

    /// This flash with superblocks: a block is the blocks of a number on all planes of a die, its flash pages are dealt
    /// to these in turn, and the planes of a die count as one. Problem and remedy, where the pages of a die cannot be
    /// counted.
    pub fn superblocks(&self) -> Result<Layout, (String, String)> {
        let stripe = self.planes_per_die;
        let pages = u64::from(self.pages) * u64::from(stripe);
        let in_die = pages * u64::from(self.blocks);
        if in_die > MAX_PAGES_PER_PLANE {
            let problem = format!("makes {in_die} pages of the planes of a die, which count as one");
            return Err((problem, "one can have at most 2 147 483 648: write \"plane\"".into()));
        }
        let (pages, page_bits) = (pages as u32, bits_for(pages as u32));
        Ok(Layout { planes: self.dies, planes_per_die: 1, stripe, pages, page_bits, ..*self })
    }

    /// This flash with blocks that hold `bits` bits a cell, fewer than the chip's own: they use the first of their
    /// pages, so that page numbers stay.
    pub fn in_mode(&self, bits: u32) -> Layout {
        Layout { bits, pages: self.pages / self.bits * bits, ..*self }
    }

    /// The number that names one page.
    #[inline]
    pub fn pack(&self, address: Address) -> Ppn {
        self.page(self.block(address.plane, address.block), address.page)
    }

    /// The number that names one page of a block.
    #[inline]
    pub fn page(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(u64::from(block.0) << self.page_bits | u64::from(page))
    }

    /// The block in place `place` of a plane.
    #[inline]
    pub fn block(&self, plane: PlaneId, place: u32) -> BlockId {
        BlockId(plane.0 << self.block_bits | place)
    }

    /// The page that a number names.
    #[inline]
    pub fn unpack(&self, ppn: Ppn) -> Address {
        Address {
            plane: self.plane_of(ppn),
            block: (ppn.0 >> self.page_bits) as u32 & ((1 << self.block_bits) - 1),
            page: self.page_of(ppn),
        }
    }

    /// The plane of a page.
    #[inline]
    pub fn plane_of(&self, ppn: Ppn) -> PlaneId {
        PlaneId((ppn.0 >> (self.page_bits + self.block_bits)) as u32)
    }

    /// The page's number in its block.
    #[inline]
    pub fn page_of(&self, ppn: Ppn) -> u32 {
        ppn.0 as u32 & ((1 << self.page_bits) - 1)
    }

    /// Logical pages that share a flash page.
    #[inline]
    pub fn shared(&self) -> u32 {
        1 << self.share_bits
    }

    /// Flash pages in each block of a plane of the flash.
    pub fn flash_pages(&self) -> u32 {
        (self.pages >> self.share_bits) / self.stripe
    }

    /// The flash page of a logical page of a block, by its number in its block of the flash.
    #[inline]
    pub fn flash_page(&self, page: u32) -> u32 {
        let page = page >> self.share_bits;
        if self.stripe == 1 { page } else { page / self.stripe }
    }

    /// The die of a page, and the number of its plane of the flash there.
    #[inline]
    pub fn place_of(&self, ppn: Ppn) -> (DieId, u8) {
        let (die, plane) = self.die_of(self.plane_of(ppn));
        if self.stripe == 1 { (die, plane) } else { (die, self.in_stripe(ppn) as u8) }
    }

    /// Which of the blocks of its superblock a page is in; 0 where there are none.
    #[inline]
    pub fn in_stripe(&self, ppn: Ppn) -> u32 {
        if self.stripe == 1 { 0 } else { (self.page_of(ppn) >> self.share_bits) % self.stripe }
    }

    /// The plane of the flash that a page is in.
    #[inline]
    pub fn flash_plane_of(&self, ppn: Ppn) -> FlashPlaneId {
        FlashPlaneId(self.plane_of(ppn).0 * self.stripe + self.in_stripe(ppn))
    }

    /// Planes of the flash in each die.
    #[inline]
    pub fn flash_planes_per_die(&self) -> u32 {
        self.planes_per_die * self.stripe
    }

    /// Plane number `place` of the flash of a die.
    #[inline]
    pub fn flash_plane(&self, die: DieId, place: u8) -> FlashPlaneId {
        FlashPlaneId(u32::from(die.0) * self.flash_planes_per_die() + u32::from(place))
    }

    /// The planes of the flash that make up one of the FTL's.
    pub fn flash_planes_of(&self, plane: PlaneId) -> impl Iterator<Item = FlashPlaneId> + use<> {
        (plane.0 * self.stripe..(plane.0 + 1) * self.stripe).map(FlashPlaneId)
    }

    /// The planes of the flash of a die, as a set, of a set of the FTL's.
    #[inline]
    pub fn flash_set(&self, set: u8) -> u8 {
        if self.stripe == 1 || set == 0 { set } else { u8::MAX >> (MAX_PLANES - self.stripe) }
    }

    /// The flash page's number in its block.
    #[inline]
    pub fn flash_page_of(&self, ppn: Ppn) -> u32 {
        self.flash_page(self.page_of(ppn))
    }

    /// The block of the flash that a page is in, by its number over the whole device, and the flash page's number
    /// there.
    #[inline]
    pub fn flash_block_and_page(&self, ppn: Ppn) -> (usize, u32) {
        let Address { block, page, .. } = self.unpack(ppn);
        (self.flash_block_index(self.flash_plane_of(ppn), block), self.flash_page(page))
    }

    /// The pages that share a wordline with one of a block, with superblocks those on each of its planes.
    pub fn wordline(&self, page: u32) -> Range<u32> {
        let wordline = (self.bits * self.stripe) << self.share_bits;
        let first = page / wordline * wordline;
        first..(first + wordline).min(self.pages)
    }

    /// Whether two pages stand in the same flash page.
    #[inline]
    pub fn together(&self, one: Ppn, other: Ppn) -> bool {
        (one.0 ^ other.0) >> self.share_bits == 0
    }

    /// The first page of the next flash page of a block, after the one that holds `page`.
    #[inline]
    pub fn after_flash_page(&self, page: u32) -> u32 {
        ((page >> self.share_bits) + 1) << self.share_bits
    }

    /// Which of its wordline's flash pages a page is in: 0 = LSB, then CSB and MSB. Pages of a wordline are neighbours.
    #[inline]
    pub fn page_type(&self, ppn: Ppn) -> u32 {
        // Invariant: `bits` is 1 to MAX_BITS; written out, so that no division stands in the read path.
        let page = self.flash_page_of(ppn);
        match self.bits {
            1 => 0,
            2 => page % 2,
            3 => page % 3,
            4 => page % 4,
            _ => page % 5,
        }
    }

    /// The die of a plane, and the plane's number in it, as the FTL counts planes.
    #[inline]
    pub fn die_of(&self, plane: PlaneId) -> (DieId, u8) {
        if self.planes_per_die.is_power_of_two() {
            let shift = self.planes_per_die.trailing_zeros();
            (DieId((plane.0 >> shift) as u16), (plane.0 & (self.planes_per_die - 1)) as u8)
        } else {
            (DieId((plane.0 / self.planes_per_die) as u16), (plane.0 % self.planes_per_die) as u8)
        }
    }

    /// Plane number `plane` of a die, as the FTL counts planes.
    #[inline]
    pub fn plane(&self, die: DieId, plane: u8) -> PlaneId {
        PlaneId(u32::from(die.0) * self.planes_per_die + u32::from(plane))
    }

    /// The channel of a die.
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId((u32::from(die.0) / (self.chips * self.dies_per_chip)) as u16)
    }

    /// Of this many logical pages those of the plane that has the most, where they are dealt to the planes by flash
    /// pages.
    pub fn most_of_a_plane(&self, pages: u64) -> u64 {
        pages.div_ceil(u64::from(self.shared())).div_ceil(u64::from(self.planes)) << self.share_bits
    }

    /// Logical pages of the whole device.
    pub fn raw_pages(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks) * u64::from(self.pages)
    }

    /// Raw capacity.
    pub fn raw_bytes(&self) -> Bytes {
        Bytes(self.raw_pages() * self.page_size.0)
    }

    /// The number of a block over the whole device.
    #[inline]
    pub fn block_index(&self, plane: PlaneId, block: u32) -> usize {
        plane.0 as usize * self.blocks as usize + block as usize
    }

    /// The number of a block of the flash over the whole device.
    #[inline]
    pub fn flash_block_index(&self, plane: FlashPlaneId, block: u32) -> usize {
        plane.0 as usize * self.blocks as usize + block as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_pack_and_unpack() {
        let layout = Geometry { blocks: 1888, pages: 576, ..Geometry::default() }.layout().unwrap();
        for plane in [0, 1, 17, layout.planes - 1] {
            for block in [0, 1, 1887] {
                for page in [0, 575] {
                    let address = Address { plane: PlaneId(plane), block, page };
                    assert_eq!(layout.unpack(layout.pack(address)), address);
                }
            }
        }
        // The most pages that a device may have, in blocks whose counts are no powers of two.
        let (dies, planes) = (Geometry { channels: 16, chips: 4, dies: 8, ..Geometry::default() }, 2048);
        let large = Geometry { planes: 4, blocks: 32_767, pages: 16_383, ..dies }.layout().unwrap();
        assert!(large.planes == planes && large.raw_pages() > MAX_PAGES / 1024 * 1023);
        let address = Address { plane: PlaneId(planes - 1), block: 32_766, page: 16_382 };
        assert!(large.unpack(large.pack(address)) == address && large.pack(address).0 < 1 << 48);
        let (die, plane) = layout.die_of(PlaneId(13));
        assert_eq!((die, plane), (DieId(3), 1));
        assert_eq!(layout.plane(die, plane), PlaneId(13));
        assert_eq!(layout.channel_of(DieId(8)), ChannelId(2));
    }

    #[test]
    fn flash_pages_of_a_superblock_are_dealt_to_the_planes_of_its_die() {
        for (planes, unit) in [(4, 4096), (3, 16_384), (1, 4096), (8, 1024)] {
            let flash = Geometry { planes, blocks: 100, pages: 36, ..Geometry::default() }.layout().unwrap();
            let layout = flash.divided(Bytes(unit)).unwrap().superblocks().unwrap();
            assert_eq!((layout.raw_bytes(), layout.planes), (flash.raw_bytes(), flash.dies));
            assert_eq!((layout.flash_pages(), layout.flash_planes_per_die()), (36, planes));
            let mut pages_of_planes = vec![0; planes as usize];
            for page in (0..layout.pages).step_by(layout.shared() as usize) {
                let (last, plane) = (page + layout.shared() - 1, PlaneId(5));
                let ppn = layout.pack(Address { plane, block: 77, page: last });
                assert!(layout.together(ppn, layout.pack(Address { plane, block: 77, page })));
                let (die, place) = layout.place_of(ppn);
                assert_eq!((die, layout.flash_plane_of(ppn)), (DieId(5), layout.flash_plane(die, place)));
                // A multi-plane command takes pages of one number.
                let number = &mut pages_of_planes[usize::from(place)];
                assert_eq!(layout.flash_page_of(ppn), *number);
                assert_eq!(layout.page_type(ppn), *number % 3);
                *number += 1;
            }
            assert_eq!(pages_of_planes, vec![36; planes as usize]);
            let of_flash = layout.flash_planes_of(PlaneId(5)).collect::<Vec<_>>();
            let places = 0..planes as u8;
            assert_eq!(of_flash, places.map(|place| layout.flash_plane(DieId(5), place)).collect::<Vec<_>>());
            assert_eq!((layout.flash_set(1).count_ones(), layout.flash_set(0)), (planes, 0));
        }
    }

    #[test]
    fn impossible_geometry_is_refused_with_the_key() {
        let key = |geometry: Geometry| geometry.layout().unwrap_err().key;
        assert_eq!(key(Geometry { pages: 0, ..Geometry::default() }), "pages");
        assert_eq!(key(Geometry { planes: 9, ..Geometry::default() }), "planes");
        assert_eq!(key(Geometry { page_size: Bytes(10_000), ..Geometry::default() }), "page_size");
        assert_eq!(key(Geometry { chips: 65, ..Geometry::default() }), "chips");
        assert_eq!(key(Geometry { channels: 4_000_000_000, ..Geometry::default() }), "channels");
        assert_eq!(key(Geometry { blocks: 4_000_000_000, ..Geometry::default() }), "blocks");
        assert_eq!(key(Geometry { blocks: 1 << 22, pages: 1, ..Geometry::default() }), "blocks");
        assert_eq!(key(Geometry { blocks: 1 << 16, pages: 1 << 16, ..Geometry::default() }), "blocks");
        assert_eq!(key(Geometry { channels: 64, blocks: 1 << 15, pages: 1 << 16, ..Geometry::default() }), "blocks");
    }
}
