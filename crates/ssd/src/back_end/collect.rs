//! Moving the valid pages of a block elsewhere in its plane, so that it can be erased: garbage collection, static wear
//! levelling, refresh, read reclaim, and blocks that fail.
//!
//! One block of a plane at a time. Its valid pages are read and programmed like any others, a bounded number of them at
//! once; a page that is overwritten meanwhile is left behind. When the last has moved the block is erased (or, if
//! free blocks are erased when they are opened, it is free at once) after every older read of the plane.

use nand::{Address, DieId, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn, Time};

use super::BackEnd;
use crate::arena::StripeId;
use crate::flash::op::Owner;
use crate::flash::{Placement as _, QueueId, QueueSet};
use crate::ftl::Location;
use crate::ftl::failures::Erased;
use crate::ftl::merging::MergeKind;
use crate::ftl::moves::{Emptied, Next, Stale};
use crate::ftl::parity::Orphans;
use crate::ftl::reads::Reads;
use crate::ftl::relocator::Relocation;
use crate::ftl::stripes::Stripes;
use crate::ftl::visits::Overdue;
use crate::observe::probe::Probe;
use crate::observe::stats::{Counters, relocation_causes};
use crate::streams::StreamId;

impl<P: Probe> BackEnd<P> {
    /// Starts to move a block of a plane if there is reason to and none is moving.
    #[inline]
    pub(super) fn collect(&mut self, plane: PlaneId) {
        let paced = self.moving(plane).is_paced();
        let mut price_changed = false;
        if self.moving(plane).may_begin() {
            price_changed = self.collect_next(plane, paced);
        }
        if price_changed || self.moving(plane).is_paced() != paced {
            self.dispatch().host_pays(plane);
        }
        self.flash().erase_ahead(plane);
    }

    /// Starts to move a plane's next block, after all that are empty before they have begun: there may be any number of
    /// those, and each gives way to the next. Whether host data, which was `paced` or not, had to be paid for at some
    /// time and at another had not.
    fn collect_next(&mut self, plane: PlaneId, mut paced: bool) -> bool {
        let (mut price_changed, mut requested) = (false, None);
        loop {
            let now = self.flash.age_clock(self.core.now);
            let host_waits = self.flash.host_waits(self.core.plan.layout.die_of(plane).0);
            let Some(next) = self.moving(plane).begin_next(now, host_waits) else { break };
            if next.cause != relocation_causes::COLLECTION {
                requested = Some(next.cause);
            }
            let ends = self.begin(plane, next);
            let before = std::mem::replace(&mut paced, self.moving(plane).is_paced());
            price_changed |= paced != before;
            if !ends {
                break;
            }
            self.dispatch().room_changed(plane);
            if !self.moving(plane).may_begin() {
                break;
            }
        }
        // Empty blocks take no turn: collection's is next once a block has begun that is not.
        if let Some(cause) = requested {
            self.moving(plane).has_begun(cause);
        }
        price_changed
    }

    /// A read or a program of the host's has begun on a die: blocks that have waited for that may move.
    pub(super) fn host_was_next(&mut self, die: DieId) {
        if self.ftl.host_was_next(die) {
            for place in 0..self.core.plan.layout.planes_per_die as u8 {
                self.collect(self.core.plan.layout.plane(die, place));
            }
        }
    }

    /// A block of a plane begins to move; whether there was nothing in it, so that it has ended.
    fn begin(&mut self, plane: PlaneId, begun: Relocation) -> bool {
        self.core.counters.blocks_relocated[begun.cause] += u64::from(begun.wordline.is_none());
        if !self.core.plan.config.gc.preemptible {
            let die = self.core.plan.layout.die_of(plane).0;
            self.flash.begin_exclusive(die);
        }
        let ends = self.move_pages(plane);
        let die = self.core.plan.layout.die_of(plane).0;
        self.flash().mark_dirty(die);
        ends
    }

    /// Starts to move as many pages as may be on the move; ends the move of a block that is empty, and the next one
    /// begins.
    pub(super) fn continue_relocation(&mut self, plane: PlaneId) {
        if self.move_pages(plane) {
            self.freed(plane);
        }
    }

    /// Starts to move as many pages as may be on the move; ends the move of a block that is empty. Whether it has
    /// ended.
    fn move_pages(&mut self, plane: PlaneId) -> bool {
        let (die, place) = self.core.plan.layout.die_of(plane);
        loop {
            let next = match self.moving(plane).next() {
                Next::Copies { lpn, source, writes }
                    if !self.view().may_copy(die, QueueId::of_programs(writes, place.into()), source) =>
                {
                    self.moving(plane).begin_read(lpn, source)
                }
                next => next,
            };
            match next {
                Next::Copies { lpn, source, .. } => self.dispatch().relocate(lpn, source, true),
                Next::Reads { lpn, source, pages } => {
                    let page_size = self.core.plan.layout.page_size.0 as u32;
                    let bytes = self.core.plan.read_transfer(pages.start * page_size, pages.end * page_size);
                    let owner = Owner::Relocation(source.into());
                    self.flash().queue_read(Class::InternalRead, owner, lpn, source, (bytes, 0));
                }
                Next::Moves { lpn, source } => self.dispatch().relocate(lpn, source, false),
                Next::Pads { lpn } => self.dispatch().pad(plane, lpn),
                Next::Programs => {
                    self.flash().force_plane(die, place, QueueSet::RELOCATED);
                    return false;
                }
                Next::Ends(moving) => return self.emptied(plane, moving),
                Next::GivesUp => {
                    if !self.core.plan.config.gc.preemptible {
                        self.flash.end_exclusive(die);
                        self.flash().mark_dirty(die);
                    }
                    return false;
                }
                Next::Waits => return false,
            }
        }
    }

    /// Everything that was to move has moved: of a whole block nothing is left. Whether its move ends with that.
    fn emptied(&mut self, plane: PlaneId, moving: Relocation) -> bool {
        let Relocation { block, cause, wordline } = moving;
        if wordline.is_none() && self.protects_rest(plane, block) {
            return false;
        }
        let (die, _) = self.core.plan.layout.die_of(plane);
        let kind = self.moving(plane).kind();
        count_merge(&mut self.core.counters, kind);
        let emptied = self.moving(plane).end(moving);
        if let Some(fdp) = &mut self.fdp {
            fdp.has_moved(plane, self.core.now);
        }
        if !self.core.plan.config.gc.preemptible {
            self.flash.end_exclusive(die);
        }
        let Emptied::Gained(pages) = emptied else { return true };
        self.map_at().rewrite_touched(pages);
        if cause == relocation_causes::BAD_BLOCK || self.flash.has_broken(plane, block, &self.core.plan.layout) {
            self.retire(plane, block);
        } else if self.ftl.moving(plane, &self.writes.buffer, &self.core.plan).reclaim(moving, || self.flash.number()) {
            self.flash().queue_erase_of(plane, block);
        }
        true
    }

    /// A block that was reclaimed has been erased.
    pub(super) fn block_erased(&mut self, ppn: Ppn) {
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        let failed = self.erase_fails(plane, block);
        self.moving(plane).reclaimed(block, failed);
        if failed {
            self.retire(plane, block);
        }
        self.zoning().has_erased(Some(plane), Some(block));
        self.freed(plane);
    }

    /// A block that a stream has just opened has been erased.
    pub(super) fn open_block_erased(&mut self, plane: PlaneId, stream: StreamId) {
        let block = self.view().placement.open_block(plane, stream);
        let failed = self.erase_fails(plane, block);
        self.ftl.open_erased(plane, stream, failed);
        self.zoning().has_erased(Some(plane), Some(block));
        if failed {
            self.retire(plane, block);
            self.freed(plane);
        }
    }

    /// Counts an erase; whether it failed.
    fn erase_fails(&mut self, plane: PlaneId, block: u32) -> bool {
        let broken = self.flash.faults.is_some() && self.flash().breaks_with_erase(plane, block);
        let of_flash = self.core.plan.layout.stripe;
        self.core.counters.blocks_erased += u64::from(of_flash);
        self.core.probe.erased(self.core.now, plane, block);
        if let Some(power) = &mut self.power {
            power.flash.erase(plane, block, true);
        }
        let Erased { pec, worn, in_slc } = self.ftl.erased(plane, block, &self.core.plan);
        self.core.counters.slc_erases += u64::from(of_flash) * u64::from(in_slc);
        let erase_fail = self.core.plan.config.wear.erase_fail;
        let share = self.core.plan.config.faults.grown(erase_fail, pec);
        broken || worn || erase_fail.0 > 0.0 && (0..of_flash).any(|_| self.flash.erase_fails(share))
    }

    /// A plane has a free block more, or one less in service.
    pub(super) fn freed(&mut self, plane: PlaneId) {
        self.dispatch().room_changed(plane);
        self.collect(plane);
    }

    /// The host has been idle for long: blocks of the cache are folded until it comes back.
    pub fn host_is_idle(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            self.core.agenda.set(slot, Time::NEVER);
        }
        self.ftl.host_rests(true);
        for plane in 0..self.core.plan.layout.planes {
            self.collect(PlaneId(plane));
        }
    }

    /// A request of the host's has come: only what has begun to be folded is folded to its end.
    pub fn host_is_back(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            self.core.agenda.set(slot, Time::NEVER);
            self.ftl.host_rests(false);
        }
    }

    /// The die has been idle: every plane of it that wants to reclaims one block.
    pub(super) fn collect_in_background(&mut self, die: DieId) {
        for place in 0..self.core.plan.layout.planes_per_die as u8 {
            let plane = self.core.plan.layout.plane(die, place);
            let Some(next) = self.moving(plane).begin_in_background() else { continue };
            self.core.counters.background_runs += 1;
            if self.begin(plane, next) {
                self.freed(plane);
            }
        }
    }

    /// A page has been read so often that data may have to move.
    #[cold]
    pub(super) fn move_for(&mut self, ppn: Ppn, reads: Reads) {
        let plane = self.core.plan.layout.plane_of(ppn);
        for wanted in self.moving(plane).moved_for(ppn, reads) {
            self.request_move(plane, wanted);
        }
    }

    /// Data of a plane is to move, as soon as it is its turn.
    pub fn request_move(&mut self, plane: PlaneId, wanted: Relocation) {
        self.moving(plane).request(wanted);
        self.collect(plane);
    }

    /// Visits the next block: data that is too old is to move.
    pub fn on_patrol(&mut self) {
        let clock = self.flash.age_clock(self.core.now);
        if let Some(Overdue { plane, block, .. }) = self.ftl.visit(self.core.now, clock, &self.core.plan) {
            self.request_move(plane, Relocation::block(block, relocation_causes::REFRESH));
        }
    }

    /// A block goes out of service.
    pub(super) fn retire(&mut self, plane: PlaneId, block: u32) {
        self.zoning().has_erased(Some(plane), Some(block));
        if !self.ftl.retire(plane, block) {
            return;
        }
        if let Some(power) = &mut self.power {
            // Whatever it still holds has moved.
            power.flash.erase(plane, block, true);
            power.flash.anchor.bad.push((plane.0, block));
        }
        self.core.counters.blocks_retired += u64::from(self.core.plan.layout.stripe);
        if self.seen().is_worn_out(plane) {
            self.core.wear_out();
        }
    }

    /// A flash page's data is out of date.
    pub(super) fn mark_stale(&mut self, ppn: Ppn) {
        self.flash.stir(self.core.plan.layout.place_of(ppn).0);
        let Stale { looks_again, ended } = self.ftl.goes_stale(ppn, &self.core.plan);
        if let Some(stripe) = ended {
            self.end_stripe(stripe);
        }
        if looks_again {
            self.collect(self.core.plan.layout.plane_of(ppn));
        }
    }

    /// Nobody needs a page of the drive's own any more, which is on flash.
    pub(super) fn is_dropped(&mut self, lpn: Lpn, ppn: Ppn) {
        self.core.probe.dropped(self.core.now, lpn);
        self.ftl.trim(lpn);
        self.mark_stale(ppn);
    }

    pub(super) fn stripes(&mut self) -> &mut Stripes {
        self.ftl.stripes()
    }

    /// Nothing needs a stripe any more.
    fn end_stripe(&mut self, stripe: StripeId) {
        let stripes = self.stripes();
        let lpn = stripes.lpn(stripe);
        if stripes.end(stripe)
            && let Location::Flash(ppn) = self.ftl.locate(lpn)
        {
            self.drop_parity(lpn, ppn);
        }
    }

    /// Parity on flash is of no use any more.
    pub(super) fn drop_parity(&mut self, lpn: Lpn, ppn: Ppn) {
        let plane = self.core.plan.layout.plane_of(ppn);
        self.stripes().loses(plane);
        self.is_dropped(lpn, ppn);
    }

    /// A block is empty, and before it is erased the valid pages that its stripes have elsewhere join others. Whether
    /// any still have to.
    pub(super) fn protects_rest(&mut self, plane: PlaneId, block: u32) -> bool {
        if !self.core.plan.has_parity() {
            return false;
        }
        loop {
            match self.moving(plane).next_orphan(block) {
                Orphans::Reads { lpn, source } => {
                    self.core.counters.parity_reads += 1;
                    let bytes = self.core.plan.read_transfer(0, self.core.plan.layout.page_size.0 as u32);
                    self.flash().queue_read(Class::InternalRead, Owner::Orphan(plane.0), lpn, source, (bytes, 0));
                }
                Orphans::Waits => return true,
                Orphans::Leave(stripes) => {
                    stripes.into_iter().for_each(|stripe| self.end_stripe(stripe));
                    let number = u64::from(self.core.plan.layout.block(plane, block).0);
                    self.stripes().forget_block(number);
                    return false;
                }
            }
        }
    }

    /// A page of host data waits on a plane, or a program of it has begun: what has to be gathered with that begins to
    /// be so.
    #[inline]
    pub(super) fn begin_merge(&mut self, plane: PlaneId) {
        if self.moving(plane).is_due() {
            self.collect(plane);
        }
    }

    /// Padding of a logical block has been programmed, or will not be.
    pub(super) fn merge_is_padded(&mut self, plane: PlaneId) {
        self.moving(plane).moves_no_more();
        self.continue_relocation(plane);
    }
}

/// A relocation has ended: it is counted if it was a merge.
fn count_merge(counters: &mut Counters, kind: Option<MergeKind>) {
    match kind {
        Some(MergeKind::Partial) => counters.partial_merges += 1,
        Some(MergeKind::Full) => counters.full_merges += 1,
        None => {}
    }
}
