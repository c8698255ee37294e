//! Moving the valid pages of a block elsewhere in its plane, so that it can be erased: garbage collection, static wear
//! levelling, refresh, read reclaim, and blocks that fail.
//!
//! One block of a plane at a time. Its valid pages are read and programmed like any others, a bounded number of them at
//! once; a page that is overwritten meanwhile is left behind. When the last has moved the block is erased (or, if
//! free blocks are erased when they are opened, it is free at once) after every older read of the plane.

use std::ops::Range;

use nand::{Address, DieId, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn};

use super::Device;
use crate::arena::OpId;
use crate::config::{EraseWhen, Reclaim};
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{QueueId, QueueSet};
use crate::ftl::Location;
use crate::ftl::relocator::Relocation;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

impl<P: Probe> Device<P> {
    /// Starts to move a block of a plane if there is reason to and none is moving.
    #[inline]
    pub(super) fn collect(&mut self, plane: PlaneId) {
        let paced = self.ftl.relocator[plane].paced;
        let mut price_changed = false;
        if self.ftl.may_relocate(plane, &self.core.plan) {
            price_changed = self.collect_next(plane, paced);
        }
        if price_changed || self.ftl.relocator[plane].paced != paced {
            self.host_pays(plane);
        }
    }

    /// Collections that were under way before the run go on, as soon as time does.
    #[inline]
    pub(super) fn begin_life(&mut self) {
        if !std::mem::replace(&mut self.resumed, true) {
            self.resume_collection();
        }
    }

    #[cold]
    fn resume_collection(&mut self) {
        for plane in (0..self.core.plan.layout.planes).map(PlaneId) {
            if self.ftl.relocator[plane].victim.is_some() {
                self.ftl.relocator[plane].from_start = true;
                let die = self.core.plan.layout.die_of(plane).0;
                if !self.core.plan.config.gc.preemptible {
                    self.flash.begin_exclusive(die);
                }
                self.continue_relocation(plane);
                self.flash().mark_dirty(die);
            } else if self.ftl.relocator[plane].running {
                self.collect(plane);
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
            let (now, host_waits) = (self.flash.age_clock(self.core.now), self.host_waits_for(plane));
            let Some(next) = self.ftl.next_relocation(plane, now, &self.core.plan, host_waits) else { break };
            if next.cause != relocation_causes::COLLECTION {
                requested = Some(next.cause);
            }
            let ends = self.begin(plane, next);
            let before = std::mem::replace(&mut paced, self.ftl.relocator[plane].paced);
            price_changed |= paced != before;
            if !ends {
                break;
            }
            self.room_changed(plane);
            if !self.ftl.may_relocate(plane, &self.core.plan) {
                break;
            }
        }
        // Empty blocks take no turn: collection's is next once a block has begun that is not.
        if let Some(cause) = requested {
            self.ftl.relocator.has_begun(plane, cause);
        }
        price_changed
    }

    /// Whether a read or a program of the host's waits for nothing but its turn on the die of a plane.
    fn host_waits_for(&self, plane: PlaneId) -> bool {
        self.flash.host_waits(self.core.plan.layout.die_of(plane).0)
    }

    /// What host data has to pay for on a plane has changed, and so whether the programs of its die can start.
    #[cold]
    fn host_pays(&mut self, plane: PlaneId) {
        let die = self.core.plan.layout.die_of(plane).0;
        for place in 0..self.core.plan.layout.planes_per_die as u8 {
            self.flash().update_plane_eligibility(die, place);
        }
    }

    /// A read or a program of the host's has begun on a die: blocks that have waited for that may move.
    pub(super) fn host_was_next(&mut self, die: DieId) {
        if std::mem::take(&mut self.ftl.relocator.host_is_next[die]) {
            for place in 0..self.core.plan.layout.planes_per_die as u8 {
                self.collect(self.core.plan.layout.plane(die, place));
            }
        }
    }

    /// Begins to move a block's data; whether there was none, so that it has ended.
    fn begin(&mut self, plane: PlaneId, begun: Relocation) -> bool {
        self.core.counters.blocks_relocated[begun.cause] += u64::from(begun.wordline.is_none());
        self.ftl.begin_relocation(plane, begun, &self.core.plan);
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
        let Some(moving) = self.ftl.relocator[plane].victim else { return false };
        if self.ftl.relocator[plane].broken {
            self.give_up_relocation(plane);
            return false;
        }
        loop {
            let relocation = &self.ftl.relocator[plane];
            if relocation.scanned || relocation.reading + relocation.writing >= self.most_on_the_move() {
                break;
            }
            match self.next_valid(plane, moving.block, relocation.pages.clone()) {
                Some((page, lpn, ppn)) => {
                    self.ftl.relocator[plane].pages.start = self.core.plan.layout.after_flash_page(page);
                    self.relocate_page(plane, lpn, ppn);
                }
                None => self.ftl.relocator[plane].scanned = true,
            }
        }
        let relocation = &self.ftl.relocator[plane];
        if relocation.scanned && relocation.reading == 0 {
            if relocation.writing == 0 {
                return self.emptied(plane, moving);
            }
            // No further page comes that could fill the last unit.
            let (die, place) = self.core.plan.layout.die_of(plane);
            self.flash().force_plane(die, place, QueueSet::RELOCATED);
        }
        false
    }

    /// The relocation of a block whose plane has broken ends when nothing of it is under way any more.
    #[cold]
    fn give_up_relocation(&mut self, plane: PlaneId) {
        let relocation = &mut self.ftl.relocator[plane];
        if relocation.reading + relocation.writing == 0 {
            relocation.orphans.clear();
            relocation.victim = None;
            relocation.from_start = false;
            if !self.core.plan.config.gc.preemptible {
                let die = self.core.plan.layout.die_of(plane).0;
                self.flash.end_exclusive(die);
                self.flash().mark_dirty(die);
            }
        }
    }

    /// Logical pages of a plane that may be on the move; one flash page more may have begun.
    pub(super) fn most_on_the_move(&self) -> u32 {
        let layout = &self.core.plan.layout;
        self.core.plan.config.gc.relocations.saturating_mul(layout.stripe * layout.shared())
    }

    /// The first valid page of a full block in a range of its pages.
    pub(super) fn next_valid(&self, plane: PlaneId, block: u32, pages: Range<u32>) -> Option<(u32, Lpn, Ppn)> {
        self.ftl.next_valid(plane, block, pages, &self.core.plan, |lpn| self.flash_version(lpn))
    }

    /// Starts to move the data of a flash page, of which `ppn` is the first valid page.
    fn relocate_page(&mut self, plane: PlaneId, lpn: Lpn, ppn: Ppn) {
        if self.ftl.copies_back(ppn, &self.core.plan) {
            let op = PageOp { bus_bytes: 0, ..self.relocation_op(plane, lpn, ppn) };
            if self.view().may_copy(op.die, op.queue, ppn) {
                self.ftl.relocator[plane].writing += 1;
                let op = self.flash.ops.insert(op);
                return self.flash().queue_program(op);
            }
        }
        self.ftl.relocator[plane].reading += self.core.plan.layout.shared();
        let bytes = self.bytes_that_move(ppn);
        self.queue_read(Class::InternalRead, Owner::Relocation(ppn.into()), lpn, ppn, (bytes, 0));
    }

    /// Bytes that cross the bus where a flash page moves: from its first valid page, which is given, to its last.
    fn bytes_that_move(&self, first: Ppn) -> u32 {
        let layout = self.core.plan.layout;
        let Address { plane, block, page } = layout.unpack(first);
        let (mut end, after) = (page + 1, layout.after_flash_page(page));
        while let Some((page, ..)) = self.next_valid(plane, block, end..after) {
            end = page + 1;
        }
        let (page_size, start) = (layout.page_size.0 as u32, after - layout.shared());
        self.read_transfer((page - start) * page_size, (end - start) * page_size)
    }

    /// The program of a page that moves.
    fn relocation_op(&mut self, plane: PlaneId, lpn: Lpn, source: Ppn) -> PageOp {
        let (die, place) = self.core.plan.layout.die_of(plane);
        let writes = self.ftl.relocated_class(source, &self.core.plan, self.is_converted(plane));
        let (queue, bytes) = (QueueId::of_programs(writes, place.into()), self.core.plan.layout.page_size.0 as u32);
        let seq = self.flash.number();
        PageOp { seq, ..PageOp::new(Owner::Relocation(source.into()), lpn, source, (die, queue), bytes) }
    }

    /// A flash page that moves has been read: what is still valid of it is programmed.
    pub(super) fn relocation_read(&mut self, id: OpId, source: Ppn, data: PageData) {
        let layout = self.core.plan.layout;
        let Address { plane, block, page } = layout.unpack(source);
        self.ftl.relocator[plane].reading -= layout.shared();
        self.flash.ops.release(id);
        let mut pages = page..layout.after_flash_page(page);
        while let Some((page, lpn, ppn)) = self.next_valid(plane, block, pages.clone()) {
            pages.start = page + 1;
            if self.ftl.relocator[plane].broken {
                if data == PageData::Right {
                    self.rescue(lpn, ppn);
                }
                continue;
            }
            if data != PageData::Right {
                self.damage(lpn, data);
            }
            self.ftl.relocator[plane].writing += 1;
            let op = self.relocation_op(plane, lpn, ppn);
            let op = self.flash.ops.insert(op);
            self.flash().queue_program(op);
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
        let cause = self.ftl.relocator[plane].victim.map_or(relocation_causes::COLLECTION, |moving| moving.cause);
        self.core.counters.pages_relocated[cause] += 1;
        if copied {
            if self.flash.is_broken(source) {
                self.damage(lpn, PageData::Lost);
            }
            if self.ftl.copies.is_some() {
                let errors = self.flash().errors_of_copy(lpn, source);
                self.ftl.copied(source, ppn, errors);
            }
        }
        self.core.probe.moved(self.core.now, lpn, source, ppn);
        if self.flash_version(lpn) == Some(source) {
            self.update_location(lpn, source, ppn);
            self.map_names(lpn, Some(source), ppn);
            self.join_moved(lpn, ppn);
            self.mark_stale(source);
            self.map_moved(lpn);
        } else {
            self.mark_stale(ppn);
        }
        self.ftl.blocks.completed(ppn);
        self.ftl.relocator[plane].writing -= 1;
        self.ftl.relocator[plane].moved += 1;
        if self.ftl.pay(plane, &self.core.plan) {
            self.host_pays(plane);
        }
        self.continue_relocation(plane);
    }

    /// The newest flash version of a page stands elsewhere now.
    fn update_location(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        match self.ftl.locate(lpn) {
            Location::Buffer(mut slot) => {
                while self.writes.buffer[slot].flash_copy != Some(from) {
                    slot = self.writes.buffer[slot]
                        .prev_version
                        .expect("Invariant: a version of the page has it under itself");
                }
                self.writes.buffer[slot].flash_copy = Some(to);
            }
            Location::Flash(_) | Location::Unmapped => self.ftl.set(lpn, Location::Flash(to)),
        }
    }

    /// Everything that was to move has moved: of a whole block nothing is left. Whether its move ends with that.
    fn emptied(&mut self, plane: PlaneId, Relocation { block, cause, wordline }: Relocation) -> bool {
        if wordline.is_none() && self.protects_rest(plane, block) {
            return false;
        }
        let (die, place) = self.core.plan.layout.die_of(plane);
        self.ftl.relocator[plane].victim = None;
        self.ftl.relocator[plane].from_start = false;
        if !self.core.plan.config.gc.preemptible {
            self.flash.end_exclusive(die);
        }
        if wordline.is_some() {
            self.ftl.stays_full(plane, block);
            return true;
        }
        self.ftl.blocks.empty(plane, block);
        self.rewrite_touched(self.core.plan.space.victim_valid_limit.saturating_sub(self.ftl.relocator[plane].moved));
        if cause == relocation_causes::BAD_BLOCK || self.is_broken_block(plane, block) {
            self.retire(plane, block);
        } else if self.core.plan.config.ftl.erase_when == EraseWhen::Reclaimed {
            self.ftl.relocator[plane].erasing = true;
            let ppn = self.core.plan.layout.pack(Address { plane, block, page: 0 });
            let seq = self.flash.number();
            let queue = QueueId::of_erases(place.into());
            let op = PageOp { seq, ..PageOp::new(Owner::Erase, Lpn(0), ppn, (die, queue), 0) };
            let op = self.flash.ops.insert(op);
            self.flash().queue_erase(op);
        } else {
            let barrier = self.flash.number();
            self.ftl.blocks.release(plane, block, barrier);
        }
        true
    }

    /// A block that was reclaimed has been erased.
    pub(super) fn block_erased(&mut self, ppn: Ppn) {
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        self.ftl.relocator[plane].erasing = false;
        if self.erase_fails(plane, block) {
            self.retire(plane, block);
        } else {
            self.ftl.blocks.release(plane, block, 0);
        }
        self.freed(plane);
    }

    /// A block that a stream has just opened has been erased.
    pub(super) fn open_block_erased(&mut self, plane: PlaneId, stream: StreamId) {
        self.ftl.blocks.open_erased(plane, stream);
        let block = self.ftl.blocks.open_block(plane, stream);
        if self.erase_fails(plane, block) {
            self.ftl.blocks.discard_open(plane, stream);
            self.retire(plane, block);
            self.freed(plane);
        }
    }

    /// Counts an erase; whether it failed.
    fn erase_fails(&mut self, plane: PlaneId, block: u32) -> bool {
        let broken = self.flash.faults.is_some() && self.breaks_with_erase(plane, block);
        let of_flash = self.core.plan.layout.stripe;
        self.core.counters.blocks_erased += u64::from(of_flash);
        let first = self.core.plan.layout.pack(Address { plane, block, page: 0 });
        self.core.counters.slc_erases += u64::from(of_flash) * u64::from(self.ftl.blocks.page_in_slc(first));
        self.core.probe.erased(self.core.now, plane, block);
        if let Some(power) = &mut self.power {
            power.flash.erase(plane, block, true);
        }
        let erases = self.ftl.count_erase(plane, block, &self.core.plan);
        let wear = &self.core.plan.config.wear;
        if let Some(spread) = wear.static_spread
            && erases > self.ftl.relocator[plane].least_erases.saturating_add(spread)
        {
            self.level(plane, erases, spread);
        }
        let wear = &self.core.plan.config.wear;
        let exhausted = self.core.plan.config.erase.retire
            && self.ftl.wear.as_ref().is_some_and(|wear| {
                self.core.plan.layout.flash_planes_of(plane).any(|plane| wear.exhausted(plane, block))
            });
        let pec = self.ftl.blocks.cycles(plane, block, &self.core.plan);
        let worn = exhausted || wear.endurance.is_some_and(|limit| pec >= limit.0);
        let share = self.core.plan.config.faults.grown(wear.erase_fail, pec);
        broken || worn || wear.erase_fail.0 > 0.0 && (0..of_flash).any(|_| self.flash.erase_fails(share))
    }

    /// Static wear levelling: the data of the least worn block moves, if it really is that far behind.
    fn level(&mut self, plane: PlaneId, erases: u32, spread: u32) {
        let Some((least, block)) = self.ftl.least_worn(plane) else { return };
        let relocation = &mut self.ftl.relocator[plane];
        relocation.least_erases = least;
        let asked = relocation.requests.iter().any(|next| next.cause == relocation_causes::WEAR_LEVELLING);
        if erases > least.saturating_add(spread) && !asked {
            relocation.requests.push_back(Relocation::block(block, relocation_causes::WEAR_LEVELLING));
        }
    }

    /// A plane has a free block more, or one less in service.
    pub(super) fn freed(&mut self, plane: PlaneId) {
        self.room_changed(plane);
        self.collect(plane);
    }

    /// What waits for a free block of a plane may start, or goes elsewhere.
    fn room_changed(&mut self, plane: PlaneId) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        self.flash().update_plane_eligibility(die, place);
        self.divert(plane);
    }

    /// A page of a plane has become stale: collection that found nothing to gain looks again.
    #[inline]
    pub(super) fn page_lost(&mut self, plane: PlaneId) {
        let relocation = &mut self.ftl.relocator[plane];
        relocation.no_background_victim = false;
        if relocation.no_victim {
            relocation.no_victim = false;
            self.collect(plane);
        }
    }

    /// The die has been idle: every plane of it that wants to reclaims one block.
    pub(super) fn collect_in_background(&mut self, die: DieId) {
        for place in 0..self.core.plan.layout.planes_per_die as u8 {
            let plane = self.core.plan.layout.plane(die, place);
            let free = self.ftl.blocks.free(plane);
            let relocation = &mut self.ftl.relocator[plane];
            if !relocation.rests() || free >= self.core.plan.config.gc.idle_stop {
                continue;
            }
            match self.ftl.pick_victim(plane, &self.core.plan, true) {
                Some(block) => {
                    self.core.counters.background_runs += 1;
                    if self.begin(plane, Relocation::block(block, relocation_causes::COLLECTION)) {
                        self.freed(plane);
                    }
                }
                None => self.ftl.relocator[plane].no_background_victim = true,
            }
        }
    }

    /// Counts a read of a page and, where reads disturb, its `retries`: for read reclaim. A block that is being moved is reclaimed
    /// anyway.
    #[inline]
    pub(super) fn count_read(&mut self, ppn: Ppn, retries: u32, owner: Owner) {
        let senses = if self.core.plan.config.chip.read_disturb { 1 + retries } else { 1 };
        let (before, after) = self.ftl.count_read(ppn, senses);
        if self.core.plan.streams.has(StreamId::CONVERTED) && matches!(owner, Owner::Host(_)) {
            self.consider_conversion(ppn, after, retries);
        }
        let config = &self.core.plan.config;
        if let Some(limit) = config.refresh.reads
            && !matches!(owner, Owner::Relocation(_))
        {
            let reclaim = config.refresh.reclaim;
            if before < limit && limit <= after {
                let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
                self.request_move(plane, Relocation::block(block, relocation_causes::READ_RECLAIM));
            } else if reclaim == Reclaim::Wordline && after < limit {
                self.reclaim_neighbours(ppn, limit);
            }
        }
    }

    /// A page has been read: the wordlines beside it whose count has come to the limit are to move.
    #[cold]
    fn reclaim_neighbours(&mut self, ppn: Ppn, limit: u32) {
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        for wordline in self.ftl.disturbed_beside(ppn, limit, &self.core.plan) {
            if self.next_valid(plane, block, wordline.clone()).is_some() {
                let (cause, wordline) = (relocation_causes::READ_RECLAIM, Some(wordline.start));
                self.request_move(plane, Relocation { block, cause, wordline });
            }
        }
    }

    pub(super) fn request_move(&mut self, plane: PlaneId, wanted: Relocation) {
        let requests = &mut self.ftl.relocator[plane].requests;
        let covers =
            |other: &Relocation| other.block == wanted.block && other.wordline.is_none_or(|_| *other == wanted);
        if !requests.iter().any(covers) {
            requests.push_back(wanted);
        }
        self.collect(plane);
    }

    /// Visits the next block, plane by plane: data that is too old is to move.
    pub(super) fn on_patrol(&mut self) {
        let Some(period) = self.core.plan.config.refresh.period else { return };
        let layout = self.core.plan.layout;
        let (planes, blocks) = (u64::from(layout.planes), u64::from(layout.blocks));
        let visit = self.ftl.relocator.visited % (planes * blocks);
        self.ftl.relocator.visited += 1;
        self.ftl.relocator.patrol = self.core.now + units::Span(period.0 / (planes * blocks));
        let (plane, block) = (PlaneId((visit % planes) as u32), (visit / planes) as u32);
        let now = self.flash.age_clock(self.core.now);
        if self.ftl.blocks.is_full(plane, block) && self.ftl.blocks.age(plane, block, now, &self.core.plan) > period {
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
        let broken = self.ftl.relocator[plane].broken;
        if !broken && !self.ftl.relocator[plane].failed.contains(&block) {
            self.ftl.relocator[plane].failed.push(block);
            if self.ftl.blocks.open_block(plane, stream) == block {
                self.ftl.blocks.abandon(plane, stream);
            }
        }
        self.mark_stale(ppn);
        self.ftl.blocks.completed(ppn);
        if queue.class() == Class::UserProgram {
            self.flash().one_more_waits();
        }
        if matches!(owner, Owner::Parity(_)) {
            self.flash().update_plane_eligibility(die, queue.plane() as u8);
            return self.flash.ops.release(id);
        }
        if broken {
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
        if self.ftl.relocator[plane].broken {
            return;
        }
        self.ftl.blocks.retire(plane, block);
        if let Some(power) = &mut self.power {
            // Whatever it still holds has moved.
            power.flash.erase(plane, block, true);
            power.flash.anchor.bad.push((plane.0, block));
        }
        self.core.counters.blocks_retired += u64::from(self.core.plan.layout.stripe);
        self.check_spares(plane);
    }

    /// Checks that nothing is left over of what has moved, when everything is quiet.
    pub(super) fn check_relocations(&self) -> Result<(), String> {
        for (plane, relocation) in self.ftl.relocator.planes.iter().enumerate() {
            let on_the_move = relocation.reading + relocation.writing;
            if on_the_move >= self.most_on_the_move().saturating_add(self.core.plan.layout.shared())
                || (relocation.victim.is_none() && on_the_move > 0)
            {
                return Err(format!("{on_the_move} pages of plane {plane} are in relocation"));
            }
        }
        Ok(())
    }
}
