//! The page mapping: any logical page may be on any page of the flash. An entry of a table for what was written in the
//! run; everything else is where the formula of the initial state has it.

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::table::{Entry, Map};
use super::{Location, Mapping};
use crate::arena::SlotId;
use crate::ftl::aged::Aged;
use crate::ftl::blocks::Blocks;
use crate::persist::state;

pub(crate) struct PageMapping {
    map: Map,
    aged: Aged,
}

impl PageMapping {
    /// Of this many pages, as the initial state has them.
    pub fn new(pages: u64, aged: Aged) -> PageMapping {
        PageMapping { map: Map::new(pages), aged }
    }
}

impl Mapping for PageMapping {
    #[inline]
    fn locate(&self, lpn: Lpn, blocks: &Blocks) -> Location {
        match self.map.get(lpn) {
            Entry::Initial => self.aged.physical(lpn).map_or(Location::Unmapped, Location::Flash),
            Entry::Unmapped => Location::Unmapped,
            Entry::Written(page) => Location::Flash(blocks.page(page)),
            Entry::Buffer(slot) => Location::Buffer(slot),
        }
    }

    #[inline]
    fn slot(&self, lpn: Lpn) -> Option<SlotId> {
        match self.map.get(lpn) {
            Entry::Buffer(slot) => Some(slot),
            _ => None,
        }
    }

    #[inline]
    fn buffer(&mut self, lpn: Lpn, slot: SlotId) {
        self.map.set(lpn, Entry::Buffer(slot));
    }

    #[inline]
    fn place(&mut self, lpn: Lpn, ppn: Ppn, blocks: &Blocks) {
        self.map.set(lpn, Entry::Written(blocks.written_page(ppn)));
    }

    #[inline]
    fn relocate(&mut self, lpn: Lpn, from: Ppn, to: Ppn, blocks: &Blocks) {
        debug_assert_eq!(self.locate(lpn, blocks), Location::Flash(from), "Invariant: what moves is the newest data");
        self.place(lpn, to, blocks);
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        self.map.set(lpn, Entry::Unmapped);
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
    }

    #[inline]
    fn prefetch_further(&self, lpn: Lpn) {
        self.map.prefetch_further(lpn);
    }

    fn forget(&mut self) {
        self.map.clear();
    }

    #[inline]
    fn is_initial(&self, lpn: Lpn) -> bool {
        self.map.get(lpn) == Entry::Initial
    }

    fn changed(&self) -> impl Iterator<Item = Lpn> {
        self.map.known().filter(|lpn| !self.is_initial(*lpn))
    }

    #[inline]
    fn initially(&self, lpn: Lpn) -> Option<Ppn> {
        self.aged.physical(lpn)
    }

    #[inline]
    fn held_initially(&self, address: Address) -> Option<Lpn> {
        self.aged.logical(address)
    }

    #[inline]
    fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.aged.plane_of(lpn)
    }

    #[inline]
    fn start(&self) -> &Aged {
        &self.aged
    }
}

state! {
    PageMapping { stored {} parts { map } rebuilt { aged } }
}
