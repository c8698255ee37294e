//! Moving the valid pages of a block elsewhere in its plane, so that it can be erased: garbage collection, static wear
//! levelling, refresh, read reclaim, and blocks that fail.
//!
//! One block of a plane at a time. Its valid pages are read and programmed like any others, a bounded number of them at
//! once; a page that is overwritten meanwhile is left behind. When the last has moved the block is erased (or, if
//! free blocks are erased when they are opened, it is free at once) after every older read of the plane.

use nand::{Address, DieId, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn, Time};

use super::Device;
use super::learned::Learning;
use super::merges::Merges;
use super::placed::Because;
use super::zones::Zoning;
use crate::arena::OpId;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Placement as _, QueueId, QueueSet};
use crate::ftl::ValidPage;
use crate::ftl::failures::Erased;
use crate::ftl::moves::{Emptied, Moved, Next, Resumes};
use crate::ftl::reads::Reads;
use crate::ftl::relocator::Relocation;
use crate::ftl::visits::Overdue;
use crate::ftl::zones::IN_ORDER;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

impl<P: Probe> Device<P> {
    /// Starts to move a block of a plane if there is reason to and none is moving.
    #[inline]
    pub(super) fn collect(&mut self, plane: PlaneId) {
        let paced = self.ftl.is_paced(plane);
        let mut price_changed = false;
        if self.ftl.may_relocate(plane, &self.core.plan) {
            price_changed = self.collect_next(plane, paced);
        }
        if price_changed || self.ftl.is_paced(plane) != paced {
            self.dispatch().host_pays(plane);
        }
    }

    /// Collections that were under way before the run go on, as soon as time does; a learned table knows what is before it.
    #[inline]
    pub(crate) fn begin_life(&mut self) {
        if !std::mem::replace(&mut self.resumed, true) {
            Learning::of(self).learns_again();
            self.resume_collection(None);
        }
    }

    /// Collections go on that were under way before the run; or, where a window has opened, each plane collects ahead of need.
    #[cold]
    pub(crate) fn resume_collection(&mut self, window: Option<bool>) {
        for plane in (0..self.core.plan.layout.planes).map(PlaneId) {
            match self.ftl.resumes(plane, window) {
                Resumes::Move => {
                    let die = self.core.plan.layout.die_of(plane).0;
                    if !self.core.plan.config.gc.preemptible {
                        self.flash.begin_exclusive(die);
                    }
                    self.continue_relocation(plane);
                    self.flash().mark_dirty(die);
                }
                Resumes::Collection => self.collect(plane),
                Resumes::Nothing => {}
            }
        }
        self.settle();
    }

    /// Starts to move a plane's next block, after all that are empty before they have begun: there may be any number of those,
    /// and each gives way to the next. Whether host data, which was `paced` or not, had to be paid for at some time and at
    /// another had not.
    fn collect_next(&mut self, plane: PlaneId, mut paced: bool) -> bool {
        let (mut price_changed, mut requested) = (false, None);
        loop {
            let now = self.flash.age_clock(self.core.now);
            let host_waits = self.flash.host_waits(self.core.plan.layout.die_of(plane).0);
            let Some(next) = self.ftl.next_relocation(plane, now, &self.core.plan, host_waits) else { break };
            if next.cause != relocation_causes::COLLECTION {
                requested = Some(next.cause);
            }
            let ends = self.begin(plane, next);
            let before = std::mem::replace(&mut paced, self.ftl.is_paced(plane));
            price_changed |= paced != before;
            if !ends {
                break;
            }
            self.dispatch().room_changed(plane);
            if !self.ftl.may_relocate(plane, &self.core.plan) {
                break;
            }
        }
        // Empty blocks take no turn: collection's is next once a block has begun that is not.
        if let Some(cause) = requested {
            self.ftl.has_begun(plane, cause);
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

    /// Starts to move as many pages as may be on the move; ends the move of a block that is empty, and the next one begins.
    pub(super) fn continue_relocation(&mut self, plane: PlaneId) {
        if self.move_pages(plane) {
            self.freed(plane);
        }
    }

    /// Starts to move as many pages as may be on the move; ends the move of a block that is empty. Whether it has ended.
    fn move_pages(&mut self, plane: PlaneId) -> bool {
        let (die, place) = self.core.plan.layout.die_of(plane);
        loop {
            let next = match self.ftl.next_of_move(plane, &self.writes.buffer, &self.core.plan) {
                Next::Copies { lpn, source, writes }
                    if !self.view().may_copy(die, QueueId::of_programs(writes, place.into()), source) =>
                {
                    self.ftl.begin_read(lpn, source, &self.writes.buffer, &self.core.plan)
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

    /// A flash page that moves has been read: what is still valid of it is programmed.
    pub(super) fn relocation_read(&mut self, id: OpId, source: Ppn, data: PageData) {
        let layout = self.core.plan.layout;
        let Address { plane, block, page } = layout.unpack(source);
        let works = self.ftl.has_read(plane, &self.core.plan);
        self.flash.ops.release(id);
        if self.ftl.moving(plane).is_under_way() {
            Merges(self).has_come(plane, source, data, works);
            return self.continue_relocation(plane);
        }
        let mut pages = page..layout.after_flash_page(page);
        while let Some(ValidPage { page, lpn, ppn }) = self.seen().next_valid(plane, block, pages.clone()) {
            pages.start = page + 1;
            if !works {
                if data == PageData::Right {
                    self.rescue(lpn, ppn);
                }
                continue;
            }
            if data != PageData::Right {
                self.damage(lpn, data);
            }
            self.dispatch().relocate(lpn, ppn, false);
        }
        self.continue_relocation(plane);
    }

    /// A page that moves has been programmed.
    pub(super) fn moved(&mut self, id: OpId, source: Ppn) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        let copied = self.flash.ops[id].is_copied();
        self.flash.ops.release(id);
        let layout = &self.core.plan.layout;
        debug_assert!(
            !copied || layout.flash_plane_of(source) == layout.flash_plane_of(ppn),
            "Invariant: what a die copies stays on its plane of the flash"
        );
        let plane = layout.plane_of(source);
        if copied {
            if self.flash.is_broken(source) {
                self.damage(lpn, PageData::Lost);
            }
            if self.core.plan.counts_copies() {
                let errors = self.flash().errors_of_copy(lpn, source);
                self.ftl.copied(source, ppn, errors);
            }
        }
        self.is_placed(lpn, ppn, Because::Relocated(source));
        let Moved { cause, pays, handle } = self.ftl.has_moved(source, &self.core.plan);
        self.core.counters.pages_relocated[cause] += 1;
        if let Some(fdp) = &mut self.fdp {
            fdp.moves(plane, handle.into());
        }
        if pays {
            self.dispatch().host_pays(plane);
        }
        self.continue_relocation(plane);
    }

    /// Everything that was to move has moved: of a whole block nothing is left. Whether its move ends with that.
    fn emptied(&mut self, plane: PlaneId, moving: Relocation) -> bool {
        let Relocation { block, cause, wordline } = moving;
        if wordline.is_none() && self.protects_rest(plane, block) {
            return false;
        }
        let (die, place) = self.core.plan.layout.die_of(plane);
        Merges(self).count(plane);
        let emptied = self.ftl.end_move(plane, moving, &self.core.plan);
        if let Some(fdp) = &mut self.fdp {
            fdp.has_moved(plane, self.core.now);
        }
        if !self.core.plan.config.gc.preemptible {
            self.flash.end_exclusive(die);
        }
        let Emptied::Gained(pages) = emptied else { return true };
        self.rewrite_touched(pages);
        if cause == relocation_causes::BAD_BLOCK || self.flash.has_broken(plane, block, &self.core.plan.layout) {
            self.retire(plane, block);
        } else if self.ftl.reclaim(plane, block, || self.flash.number(), &self.core.plan) {
            let ppn = self.core.plan.layout.pack(Address { plane, block, page: 0 });
            let seq = self.flash.number();
            let queue = QueueId::of_erases(place.into());
            let op = PageOp { seq, ..PageOp::new(Owner::Erase, Lpn(0), ppn, (die, queue), 0) };
            let op = self.flash.ops.insert(op);
            self.flash().queue_erase(op);
        }
        true
    }

    /// A block that was reclaimed has been erased.
    pub(super) fn block_erased(&mut self, ppn: Ppn) {
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        let failed = self.erase_fails(plane, block);
        self.ftl.reclaimed(plane, block, failed);
        if failed {
            self.retire(plane, block);
        }
        Zoning(self).has_erased(Some(plane), Some(block));
        self.freed(plane);
    }

    /// A block that a stream has just opened has been erased.
    pub(super) fn open_block_erased(&mut self, plane: PlaneId, stream: StreamId) {
        let block = self.view().placement.open_block(plane, stream);
        let failed = self.erase_fails(plane, block);
        self.ftl.open_erased(plane, stream, failed);
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
    pub(super) fn host_is_idle(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            self.core.agenda.set(slot, Time::NEVER);
        }
        self.ftl.host_rests(true);
        for plane in 0..self.core.plan.layout.planes {
            self.collect(PlaneId(plane));
        }
    }

    /// The die has been idle: every plane of it that wants to reclaims one block.
    pub(super) fn collect_in_background(&mut self, die: DieId) {
        for place in 0..self.core.plan.layout.planes_per_die as u8 {
            let plane = self.core.plan.layout.plane(die, place);
            let Some(next) = self.ftl.next_in_background(plane, &self.core.plan) else { continue };
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
        for wanted in self.ftl.moved_for(ppn, reads, &self.writes.buffer, &self.core.plan) {
            self.request_move(plane, wanted);
        }
    }

    /// Data of a plane is to move, as soon as it is its turn.
    pub(super) fn request_move(&mut self, plane: PlaneId, wanted: Relocation) {
        self.ftl.request_move(plane, wanted);
        self.collect(plane);
    }

    /// Visits the next block: data that is too old is to move.
    pub(super) fn on_patrol(&mut self) {
        let clock = self.flash.age_clock(self.core.now);
        if let Some(Overdue { plane, block, .. }) = self.ftl.visit(self.core.now, clock, &self.core.plan) {
            self.request_move(plane, Relocation::block(block, relocation_causes::REFRESH));
        }
    }

    /// The program of a page failed: its data goes elsewhere, and the block out of service.
    pub(super) fn program_failed(&mut self, id: OpId) {
        let PageOp { ppn, queue, owner, die, .. } = self.flash.ops[id];
        if let Owner::Parity(stripe) = owner {
            let plane = self.core.plan.layout.plane_of(ppn.get());
            self.parity_waits(stripe, plane);
        }
        let (ppn, writes) = (ppn.get(), queue.writes().expect("Invariant: a program writes something"));
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        let stream = self.core.plan.streams.opened_by(writes);
        self.core.counters.pages_failed += 1;
        self.ftl.program_failed(plane, block, stream);
        self.mark_stale(ppn);
        self.ftl.blocks.completed(ppn);
        if self.core.plan.zones.is_some() && stream == IN_ORDER {
            return Zoning(self).program_again(id, ppn);
        }
        if let Owner::Padding(_) = owner {
            // Nothing is lost, and what follows is not in its place either.
            self.flash.ops.release(id);
            return Merges(self).padded(plane);
        }
        if queue.class() == Class::UserProgram {
            self.flash().one_more_waits();
        }
        if matches!(owner, Owner::Parity(_)) {
            self.flash().update_plane_eligibility(die, queue.plane() as u8);
            return self.flash.ops.release(id);
        }
        if self.ftl.is_broken(plane) {
            return self.redirect(id);
        }
        self.flash().queue_program(id);
        // Nothing may come any more that could fill the unit it waits in now.
        match owner {
            Owner::Relocation(_) => self.continue_relocation(plane),
            Owner::MapRewrite(_) | Owner::Journal(_) => {
                self.flash().force_plane(die, queue.plane() as u8, QueueSet::of_programs(StreamId::MAP))
            }
            _ => {}
        }
    }

    /// A block goes out of service.
    pub(super) fn retire(&mut self, plane: PlaneId, block: u32) {
        Zoning(self).has_erased(Some(plane), Some(block));
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
}
