//! Data changes its place: a program has ended that had the newest data of a page, or nobody needs the data of a page
//! any more. Who is told, in one order, whatever the cause.
//!
//! | | is told | what follows |
//! |---|---|---|
//! | 1 | the probe | |
//! | 2 | the map; of a page with newer data in the write buffer, the slot above | reads find it there |
//! | 3 | the stripes of parity | it joins one; parity itself is in none |
//! | 4 | the block and the stripe of the page that had it before, and collection | that page is stale |
//! | 5 | the cached map | its entry is changed, or is to be; a learned one is told before that, and learns when the whole program has ended |
//! | 6 | the journal and the checkpoints | the change survives a power cut |
//! | 7 | the block | one page less of it is on its way |
//!
//! The map comes before what is stale (2, 4): a collection that begins with that must not find the page where it was.
//! The cached map comes behind (5): what it reads from flash queues behind what the collection reads. Data that is not
//! the newest any more when its program has ended is stale there: of the table only 1, 4 and 7 are told.

use nand::Address;
use units::{Lpn, Ppn};

use super::BackEnd;
use crate::arena::{OpId, SlotId, StripeId};
use crate::core::Core;
use crate::flash::op::PageData;
use crate::ftl::Location;
use crate::observe::probe::Probe;

/// Why data is on a page of the flash now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Because {
    /// It was in a slot of the write buffer: the host has written it, or it was saved or worked out there.
    Written(SlotId),
    /// It was moved from that page.
    Relocated(Ppn),
    /// It is a translation page with its changes.
    Rewritten,
    /// It is a page of the journal, at that place of it.
    Journaled(u32),
    /// It is the parity of a stripe.
    Parity(StripeId),
}

impl Because {
    /// Tells the probe.
    fn tell<P: Probe>(self, core: &mut Core<P>, lpn: Lpn, ppn: Ppn) {
        match self {
            Because::Written(slot) => core.probe.programmed(core.now, lpn, slot, ppn),
            Because::Relocated(source) => core.probe.moved(core.now, lpn, source, ppn),
            Because::Rewritten | Because::Journaled(_) | Because::Parity(_) => core.probe.mapped(core.now, lpn, ppn),
        }
    }
}

impl<P: Probe> BackEnd<P> {
    /// A page's data is on a page of the flash, whose program has ended. See the [table](self).
    #[inline]
    pub(super) fn is_placed(&mut self, lpn: Lpn, ppn: Ppn, because: Because) {
        because.tell(&mut self.core, lpn, ppn);
        if self.is_newest(lpn, ppn, because) {
            let stale = self.enter_place(lpn, ppn, because);
            self.map.placed(lpn, ppn);
            self.ftl.joins_stripe(lpn, ppn, &self.core.plan);
            if let Some(stale) = stale {
                self.mark_stale(stale);
            }
            match because {
                Because::Written(_) => self.map_at().map_changed(lpn),
                Because::Relocated(_) => self.map.moved(lpn),
                Because::Rewritten | Because::Journaled(_) | Because::Parity(_) => {}
            }
            if self.power.is_some() {
                self.power_at().map_names(lpn, ppn, because);
            }
        } else {
            self.mark_stale(ppn);
        }
        if self.ftl.has_programmed(ppn) {
            let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
            if self.moving(plane).was_to_be_full(block) {
                self.collect(plane);
            }
        }
    }

    /// Whether what has been programmed is the newest data of its page.
    fn is_newest(&mut self, lpn: Lpn, ppn: Ppn, because: Because) -> bool {
        match because {
            Because::Written(slot) => !self.writes.buffer[slot].outdated,
            Because::Relocated(source) => self.seen().is_at(lpn, source),
            Because::Rewritten | Because::Journaled(_) => true,
            Because::Parity(stripe) => self.is_of_use(stripe, lpn, ppn),
        }
    }

    /// The map, or the slot with newer data, leads to the page of the flash now; returns the one where the data was
    /// before.
    fn enter_place(&mut self, lpn: Lpn, ppn: Ppn, because: Because) -> Option<Ppn> {
        let before = match because {
            Because::Written(slot) => {
                let before = self.writes.buffer.overtake(slot);
                if self.writes.buffer.is_under(slot, ppn) {
                    self.ftl.relocate(lpn, None, ppn, &mut self.writes.buffer);
                    return before;
                }
                debug_assert_eq!(self.ftl.locate(lpn), Location::Buffer(slot));
                before
            }
            Because::Relocated(source) => {
                self.ftl.relocate(lpn, Some(source), ppn, &mut self.writes.buffer);
                return Some(source);
            }
            Because::Rewritten => self.map_at().leaves_plane(lpn),
            Because::Journaled(_) | Because::Parity(_) => None,
        };
        self.ftl.place(lpn, ppn);
        before
    }

    /// The parity of a stripe has been programmed: whether it is of use.
    fn is_of_use(&mut self, stripe: StripeId, lpn: Lpn, ppn: Ppn) -> bool {
        let of_use = self.stripes().programmed(stripe);
        if !of_use {
            let plane = self.core.plan.layout.plane_of(ppn);
            self.stripes().loses(plane);
            self.core.probe.dropped(self.core.now, lpn);
        }
        of_use
    }

    /// The data of a page could not be read when it was relocated or merged, or was taken for other data.
    #[cold]
    pub(super) fn damage(&mut self, lpn: Lpn, data: PageData) {
        let kept = self.ftl.damages(lpn, data, &self.writes.buffer);
        self.core.counters.pages_lost += u64::from(kept && data == PageData::Lost);
    }

    /// The parity of a stripe is on flash.
    pub(super) fn parity_programmed(&mut self, id: OpId, stripe: StripeId) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.core.counters.parity_programs += 1;
        self.is_placed(lpn, ppn, Because::Parity(stripe));
    }
}
