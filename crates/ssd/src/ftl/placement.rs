//! What the flash asks of the FTL ([`Placement`]).

use nand::{Address, DieId, FlashPlaneId, PlaneId};
use units::{Lpn, PeCycles, Ppn, Span};

use super::Ftl;
use super::mapping::Mapping as _;
use crate::config::Plan;
use crate::flash::{AgeClock, PageConditions, Placement};
use crate::lifetime::Erase;
use crate::streams::StreamId;
use crate::window::Window;

impl Placement for Ftl {
    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        self.blocks.prefetch(ppn);
    }

    #[inline]
    fn has_room(&self, plane: PlaneId, stream: StreamId, relocated: bool) -> bool {
        self.blocks.room(plane, stream, relocated) && self.mapping.has_room(plane, stream, &self.blocks)
    }

    fn is_relocating(&self, plane: PlaneId) -> bool {
        !self.relocator[plane].rests()
    }

    /// While its window is open, and the plane has nothing to relocate.
    #[inline]
    fn next_to_erase(&mut self, plane: PlaneId, plan: &Plan) -> Option<u32> {
        if self.window != Window::Open {
            return None;
        }
        let relocation = &self.relocator[plane];
        if relocation.broken || !relocation.rests() || self.blocks.free(plane) <= plan.config.gc.start {
            return None;
        }
        let block = self.blocks.take_unerased(plane)?;
        self.relocator[plane].erasing = true;
        Some(block)
    }

    #[inline]
    fn pays(&self, plane: PlaneId, price: u32, plan: &Plan) -> bool {
        Ftl::pays(self, plane, price, plan)
    }

    fn spend(&mut self, plane: PlaneId, pages: u32) {
        self.relocator[plane].spend(pages);
    }

    #[inline]
    fn needs_erase(&self, plane: PlaneId, stream: StreamId) -> bool {
        self.blocks.needs_erase(plane, stream)
    }

    fn erase_barrier(&self, plane: PlaneId, stream: StreamId) -> u64 {
        self.blocks.erase_barrier(plane, stream)
    }

    #[inline]
    fn next_place(&self, plane: PlaneId, stream: StreamId) -> u32 {
        self.blocks.next_place(plane, stream)
    }

    fn open_block(&self, plane: PlaneId, stream: StreamId) -> u32 {
        self.blocks.open_block(plane, stream)
    }

    fn take_page(&mut self, plane: PlaneId, stream: StreamId, lpn: Option<Lpn>, now: AgeClock) -> Ppn {
        let ppn = self.blocks.take_page(plane, stream, lpn, now);
        if self.blocks.zones.is_some() {
            self.blocks.zone_takes(plane, stream, ppn);
        }
        if let Some(disturb) = &mut self.disturb {
            disturb.programmed(ppn, self.blocks.page_in_slc(ppn), self.blocks.reads_of(ppn));
        }
        ppn
    }

    #[inline]
    fn in_slc(&self, plane: PlaneId, block: u32) -> bool {
        self.blocks.in_slc(plane, block)
    }

    #[inline]
    fn page_in_slc(&self, ppn: Ppn) -> bool {
        self.blocks.page_in_slc(ppn)
    }

    #[inline]
    fn cycles(&self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
        self.blocks.cycles(plane, block, plan)
    }

    fn aged(&self, now: AgeClock) -> Span {
        self.blocks.aged(now)
    }

    #[inline]
    fn conditions(&self, ppn: Ppn, now: AgeClock, plan: &Plan) -> PageConditions {
        let (mut conditions, programmed) = self.blocks.conditions(ppn, now, plan);
        let in_slc = self.blocks.page_in_slc(ppn);
        if let Some(disturb) = &self.disturb {
            conditions.reads = disturb.effective(ppn, in_slc, conditions.reads);
        }
        let suspended = self.suspended.as_ref().map_or(0.0, |suspended| suspended.errors(ppn));
        let own = self.copies.as_ref().map_or(suspended, |copies| suspended + copies.errors(ppn));
        // The stress of blocks that are always in the SLC cache's mode is none of their cells'.
        let Some(wear) = self.wear.as_ref().filter(|_| !in_slc || plan.space.fixed == 0) else {
            return PageConditions { conditions, programmed, added_errors: own };
        };
        let Address { block, page, .. } = plan.layout.unpack(ppn);
        let (plane, page) = (plan.layout.flash_plane_of(ppn), plan.layout.flash_page(page));
        // The first page of the same wordline.
        let page = match &plan.slc {
            Some(slc) if in_slc => page / slc.layout.bits * plan.layout.bits,
            _ => page,
        };
        let (cycles, added) = wear.of_page(plane, block, page, conditions.pec.0);
        conditions.pec = PeCycles(cycles);
        // What an erase of the cache leaves is not known pulse by pulse.
        PageConditions { conditions, programmed, added_errors: if in_slc { own } else { added + own } }
    }

    fn wants_background(&self, die: DieId, plan: &Plan) -> bool {
        Ftl::wants_background(self, die, plan)
    }

    #[inline]
    fn host_is_next(&self, die: DieId) -> bool {
        self.relocator.host_is_next[die]
    }

    fn erase(&mut self, plane: FlashPlaneId, block: u32, pec: u32) -> Erase {
        let wear = self.wear.as_mut().expect("Invariant: where blocks are erased pulse by pulse their wear is kept");
        wear.erase(plane, block, pec)
    }

    fn wears_by(&mut self, plane: FlashPlaneId, block: u32, cycles: f64) {
        if let Some(wear) = &mut self.wear {
            wear.wears_by(plane, block, cycles);
        }
    }

    fn read_with(&mut self, ppn: Ppn, errors: f64) {
        if let Some(wear) = &mut self.wear {
            wear.read_with(ppn, errors);
        }
    }

    fn program_suspended(&mut self, ppn: Ppn, times: u32) {
        if let Some(suspended) = &mut self.suspended {
            suspended.programmed(ppn, times);
        }
    }
}
