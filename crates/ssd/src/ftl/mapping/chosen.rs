//! The mapping of a drive, as it is chosen.

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::fast::Fast;
use super::page::PageMapping;
use super::{Gathers, Location, Mapping};
use crate::arena::SlotId;
use crate::config::{MappedBy, Plan};
use crate::ftl::aged::Aged;
use crate::ftl::blocks::Blocks;
use crate::persist::{Reader, State, Writer};
use crate::streams::StreamId;

/// One of the mappings.
pub(crate) enum Chosen {
    /// By pages; of zones too, which are lists of blocks.
    Page(PageMapping),
    /// By blocks and a log.
    Fast(Fast),
}

impl Chosen {
    /// Of this many pages, as the initial state has them.
    pub fn new(plan: &Plan, pages: u64, aged: Aged) -> Chosen {
        let by_page = PageMapping::new(pages, aged);
        match plan.config.ftl.mapping {
            MappedBy::Page | MappedBy::Zoned => Chosen::Page(by_page),
            MappedBy::Fast => Chosen::Fast(Fast::new(plan, by_page)),
        }
    }

    /// Where each page is, by page.
    #[inline]
    fn pages(&self) -> &PageMapping {
        match self {
            Chosen::Page(pages) => pages,
            Chosen::Fast(fast) => fast.pages(),
        }
    }
}

/// Asks, or tells, the one that there is.
macro_rules! each {
    ($chosen:expr, $mapping:ident => $ask:expr) => {
        match $chosen {
            Chosen::Page($mapping) => $ask,
            Chosen::Fast($mapping) => $ask,
        }
    };
}

impl Mapping for Chosen {
    #[inline]
    fn locate(&self, lpn: Lpn, blocks: &Blocks) -> Location {
        each!(self, mapping => mapping.locate(lpn, blocks))
    }

    #[inline]
    fn slot(&self, lpn: Lpn) -> Option<SlotId> {
        each!(self, mapping => mapping.slot(lpn))
    }

    #[inline]
    fn buffer(&mut self, lpn: Lpn, slot: SlotId) {
        each!(self, mapping => mapping.buffer(lpn, slot));
    }

    #[inline]
    fn place(&mut self, lpn: Lpn, ppn: Ppn, blocks: &Blocks) {
        each!(self, mapping => mapping.place(lpn, ppn, blocks));
    }

    #[inline]
    fn relocate(&mut self, lpn: Lpn, from: Ppn, to: Ppn, blocks: &Blocks) {
        each!(self, mapping => mapping.relocate(lpn, from, to, blocks));
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        each!(self, mapping => mapping.trim(lpn));
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        each!(self, mapping => mapping.prefetch(lpn));
    }

    #[inline]
    fn prefetch_further(&self, lpn: Lpn) {
        each!(self, mapping => mapping.prefetch_further(lpn));
    }

    fn forget(&mut self) {
        each!(self, mapping => mapping.forget());
    }

    #[inline]
    fn is_initial(&self, lpn: Lpn) -> bool {
        each!(self, mapping => mapping.is_initial(lpn))
    }

    fn changed(&self) -> impl Iterator<Item = Lpn> {
        self.pages().changed()
    }

    #[inline]
    fn initially(&self, lpn: Lpn) -> Option<Ppn> {
        each!(self, mapping => mapping.initially(lpn))
    }

    #[inline]
    fn held_initially(&self, address: Address) -> Option<Lpn> {
        each!(self, mapping => mapping.held_initially(address))
    }

    #[inline]
    fn plane_of(&self, lpn: Lpn) -> PlaneId {
        each!(self, mapping => mapping.plane_of(lpn))
    }

    #[inline]
    fn start(&self) -> &Aged {
        each!(self, mapping => mapping.start())
    }

    #[inline]
    fn writes(&mut self, lpn: Lpn, plane: PlaneId, blocks: &mut Blocks) -> Option<StreamId> {
        each!(self, mapping => mapping.writes(lpn, plane, blocks))
    }

    #[inline]
    fn diverts(&mut self, plane: PlaneId) -> Option<(StreamId, StreamId)> {
        each!(self, mapping => mapping.diverts(plane))
    }

    #[inline]
    fn has_room(&self, plane: PlaneId, stream: StreamId, blocks: &Blocks) -> bool {
        each!(self, mapping => mapping.has_room(plane, stream, blocks))
    }

    #[inline]
    fn gathers(&self, plane: PlaneId, blocks: &Blocks) -> Option<Gathers> {
        each!(self, mapping => mapping.gathers(plane, blocks))
    }

    fn goes_on_with(&mut self, plane: PlaneId, block: u32) -> bool {
        each!(self, mapping => mapping.goes_on_with(plane, block))
    }

    #[inline]
    fn home(&self, lpn: Lpn) -> Option<(u64, u32)> {
        each!(self, mapping => mapping.home(lpn))
    }

    fn page_of(&self, plane: PlaneId, home: (u64, u32)) -> Option<Lpn> {
        each!(self, mapping => mapping.page_of(plane, home))
    }

    #[inline]
    fn take_switches(&mut self) -> u32 {
        each!(self, mapping => mapping.take_switches())
    }
}

impl State for Chosen {
    fn save(&self, to: &mut Writer) {
        each!(self, mapping => mapping.save(to));
    }
    fn load(&mut self, from: &mut Reader) -> std::io::Result<()> {
        each!(self, mapping => mapping.load(from))
    }
}
