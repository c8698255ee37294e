//! Parity over dies (`ftl.raid`) as the FTL decides it: which stripe a page joins, and which plane takes the parity
//! that waits in the controller.

use std::collections::VecDeque;

use nand::{Address, DieId, PlaneId};
use units::{Id as _, Lpn, Ppn};

use super::Ftl;
use super::moves::{Moving, most_on_the_move};
use crate::arena::StripeId;
use crate::buffer::Buffer;
use crate::config::{Placement, Plan};
use crate::streams::StreamId;

/// A program of parity.
pub(crate) struct ParityProgram {
    pub plane: PlaneId,
    /// Whose parity it is, and the pages of the map that stand for it.
    pub stripes: Vec<(StripeId, Lpn)>,
}

/// What is done for the valid pages that the stripes of a block have elsewhere, before it is erased.
pub(crate) enum Orphans {
    /// This one is read, to join another stripe.
    Reads { lpn: Lpn, source: Ppn },
    /// Nothing until one that is being read has come.
    Waits,
    /// All have left: the block's stripes end.
    Leave(Vec<StripeId>),
}

impl Ftl {
    /// A page has been programmed and is valid: it joins a stripe. Parity is in none.
    #[inline]
    pub fn joins_stripe(&mut self, lpn: Lpn, ppn: Ppn, plan: &Plan) {
        if self.stripes.as_ref().is_some_and(|stripes| !stripes.is_parity(lpn)) {
            self.join_stripe(lpn, ppn, plan);
        }
    }

    fn join_stripe(&mut self, lpn: Lpn, ppn: Ppn, plan: &Plan) {
        let dies = self.working_dies(plan);
        let Some(stripes) = &mut self.stripes else { return };
        let Some(zones) = &plan.zones else { return stripes.join(ppn, None, dies) };
        let zone = zones.sequential(lpn);
        // Its pages are on its own dies alone, and its parity is on another one.
        let wide = if zone.is_some() { dies.min(zones.dies + 1) } else { dies };
        stripes.join(ppn, zone, wide);
        stripes.close_ended(zones.max_active, |zone| self.blocks.fills_zone(zone));
    }

    /// A page of the flash is stale: the stripe that has ended with it, which nothing needs any more.
    #[inline]
    pub(super) fn leaves_stripe(&mut self, ppn: Ppn) -> Option<StripeId> {
        self.stripes.as_ref()?;
        self.knows_stripes(ppn, 1);
        self.stripes.as_mut()?.leave(ppn)
    }

    /// The next plane that takes a program of the parity that waits in the controller, if there is one's worth and a
    /// plane does: that parity is on its way from now on. `is_free`: no other parity waits on a plane.
    #[inline]
    pub fn next_parity(&mut self, is_free: impl Fn(PlaneId) -> bool, plan: &Plan) -> Option<ParityProgram> {
        let stripes = self.stripes.as_ref()?;
        if stripes.waiting() < plan.unit_pages as usize {
            return None;
        }
        let (last, planes) = (stripes.plane, plan.layout.planes);
        (1..=planes)
            .map(|step| PlaneId((last + step) % planes))
            .find_map(|plane| if is_free(plane) { self.parity_on(plane, plan) } else { None })
    }

    /// A program of parity on a plane, if it takes one.
    fn parity_on(&mut self, plane: PlaneId, plan: &Plan) -> Option<ParityProgram> {
        if !self.takes_parity(plane, plan) {
            return None;
        }
        let (die, dies) = (plan.layout.die_of(plane).0, self.working_dies(plan));
        let stripes = self.stripes.as_mut()?;
        let taken = stripes.take_waiting(die, plan.unit_pages as usize, dies)?;
        stripes.plane = plane.0;
        taken.iter().for_each(|_| stripes.holds(plane));
        Some(ParityProgram { plane, stripes: taken.into_iter().map(|stripe| (stripe, stripes.lpn(stripe))).collect() })
    }

    /// Whether a plane takes a program of parity. With static placement nothing limits what a plane takes from the
    /// host: it takes no more than its part of all parity.
    fn takes_parity(&self, plane: PlaneId, plan: &Plan) -> bool {
        let stream = plan.streams.opened_by(StreamId::PARITY);
        self.blocks.room(plane, stream, false)
            && match plan.config.ftl.placement {
                Placement::Static => self.stripes.as_ref().is_some_and(|stripes| stripes.has_room(plane)),
                Placement::Dynamic => self.stays_collectable(plane, plan),
            }
    }

    /// Dies of which a plane works.
    pub(super) fn working_dies(&self, plan: &Plan) -> u32 {
        let layout = &plan.layout;
        if self.relocator.broken_planes == 0 {
            return layout.dies;
        }
        let works = |die: &u32| {
            let places = 0..layout.planes_per_die as u8;
            places.map(|place| layout.plane(DieId::new(*die as usize), place)).any(|plane| !self.is_broken(plane))
        };
        (0..layout.dies).filter(works).count() as u32
    }

    /// The page whose valid data a page of the flash holds that may join a stripe: another plane may have let it join
    /// one meanwhile.
    fn orphan(&self, ppn: Ppn, buffer: &Buffer, plan: &Plan) -> Option<Lpn> {
        let is_free = self.stripes.as_ref().is_some_and(|stripes| stripes.is_free(ppn));
        self.valid_page(ppn, buffer, plan).filter(|_| is_free)
    }

    /// The logical page whose valid data a page of the flash holds.
    fn valid_page(&self, ppn: Ppn, buffer: &Buffer, plan: &Plan) -> Option<Lpn> {
        let Address { plane, block, page } = plan.layout.unpack(ppn);
        let is_here = |lpn| self.flash_version(lpn, buffer);
        self.next_valid(plane, block, page..page + 1, plan, is_here).map(|valid| valid.lpn)
    }
}

impl Moving<'_> {
    /// The next step for the pages that the stripes of an empty block have elsewhere. A page that is read counts as
    /// being so from now on.
    pub fn next_orphan(&mut self, block: u32) -> Orphans {
        let (plane, buffer, plan) = (self.plane, self.buffer, self.plan);
        let number = u64::from(plan.layout.block(plane, block).0);
        loop {
            while self.ftl.relocator[plane].reading < most_on_the_move(plan)
                && let Some(source) = self.ftl.relocator[plane].orphans.pop_front()
            {
                if let Some(lpn) = self.ftl.orphan(source, buffer, plan) {
                    self.ftl.relocator[plane].reading += 1;
                    return Orphans::Reads { lpn, source };
                }
            }
            if self.ftl.relocator[plane].reading > 0 {
                return Orphans::Waits;
            }
            self.ftl.knows_stripes(plan.layout.pack(Address { plane, block, page: 0 }), plan.layout.pages);
            let Some(stripes) = &mut self.ftl.stripes else { return Orphans::Leave(Vec::new()) };
            let doomed = stripes.doom(number);
            let pages: Vec<Ppn> = doomed.iter().flat_map(|stripe| stripes.pages_of(*stripe)).collect();
            let is_valid = |ppn: &Ppn| self.ftl.valid_page(*ppn, buffer, plan).is_some();
            let orphans: VecDeque<Ppn> = pages.into_iter().filter(is_valid).collect();
            if orphans.is_empty() {
                return Orphans::Leave(doomed);
            }
            self.ftl.relocator[plane].orphans = orphans;
        }
    }

    /// Such a page has been read, or could not be: it joins another stripe, or is in none. The block of its plane for
    /// which others are still read, if any are.
    pub fn orphan_has_been_read(&mut self, ppn: Ppn, lost: bool) -> Option<u32> {
        let (plane, buffer, plan) = (self.plane, self.buffer, self.plan);
        match self.ftl.orphan(ppn, buffer, plan) {
            Some(_) if lost => self.ftl.stripes.iter_mut().for_each(|stripes| stripes.give_up(ppn)),
            Some(lpn) => self.ftl.joins_stripe(lpn, ppn, plan),
            None => {}
        }
        let relocation = &mut self.ftl.relocator[plane];
        relocation.reading -= 1;
        let goes_on = relocation.reading > 0 && !relocation.broken;
        relocation.victim.filter(|_| goes_on).map(|moving| moving.block)
    }
}
