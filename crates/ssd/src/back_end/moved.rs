//! Data that has come from a page of the flash, or was to go to one: who has read it goes on; what was read to be
//! relocated is programmed; a program that has failed, or whose plane has broken, is done again elsewhere.

use nand::{Address, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn};

use super::BackEnd;
use super::placed::Because;
use super::zone_programs::zoned;
use crate::arena::{OpId, StripeId};
use crate::buffer::SlotState;
use crate::core::Marks;
use crate::flash::QueueSet;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::ftl::moves::Moved;
use crate::ftl::zones::IN_ORDER;
use crate::ftl::{Location, ValidPage};
use crate::observe::probe::Probe;
use crate::streams::StreamId;

impl<P: Probe> BackEnd<P> {
    /// Who has read a page goes on.
    pub(super) fn deliver(&mut self, id: OpId, data: PageData) {
        match self.flash.ops[id].owner {
            Owner::Host(command) => self.reads().send_part(id, command, data),
            Owner::Slot(slot) => {
                self.flash.ops.release(id);
                self.filled(slot, data);
            }
            Owner::Relocation(source) => self.relocation_read(id, source.get(), data),
            Owner::MapFetch(fetch) => self.map_fetched(id, fetch),
            Owner::Mispredicted(waits) => {
                self.flash.ops.release(id);
                self.resume(waits, &mut None);
            }
            Owner::MapRewrite(_) => self.map_at().rewrite_map(id),
            Owner::Recovery => self.power_at().has_read(id),
            Owner::Orphan(plane) => self.orphan_read(id, PlaneId(plane), data),
            Owner::Journal(_) | Owner::Erase | Owner::Parity(_) | Owner::Padding(_) | Owner::Rebuild(_) => {
                unreachable!("Invariant: these read nothing for themselves")
            }
        }
    }

    /// A flash page that moves has been read: what is still valid of it is programmed.
    fn relocation_read(&mut self, id: OpId, source: Ppn, data: PageData) {
        let layout = self.core.plan.layout;
        let Address { plane, block, page } = layout.unpack(source);
        let works = self.moving(plane).has_read();
        self.flash.ops.release(id);
        if self.moving(plane).is_under_way() {
            self.merge_has_come(plane, source, data, works);
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
        let Moved { cause, pays, handle } = self.moving(plane).has_moved(source);
        self.core.counters.pages_relocated[cause] += 1;
        if let Some(fdp) = &mut self.fdp {
            fdp.moves(lpn, (plane, handle.into()), &mut self.core.counters);
        }
        if pays {
            self.dispatch().host_pays(plane);
        }
        self.continue_relocation(plane);
    }

    /// A page whose stripe is to end has been read: it joins another one.
    fn orphan_read(&mut self, id: OpId, plane: PlaneId, data: PageData) {
        let (_, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        let lost = data == PageData::Lost;
        match self.moving(plane).orphan_has_been_read(ppn, lost) {
            Some(block) => {
                self.protects_rest(plane, block);
            }
            None => self.continue_relocation(plane),
        }
        self.core.marks.set |= Marks::PARITY;
    }

    /// The program of a page failed: its data goes elsewhere, and the block out of service.
    pub(super) fn program_failed(&mut self, id: OpId) {
        let PageOp { ppn, queue, owner, die, .. } = self.flash.ops[id];
        if let Owner::Parity(stripe) = owner {
            let plane = self.core.plan.layout.plane_of(ppn.get());
            self.stripes().not_programmed(stripe, plane);
        }
        let (ppn, writes) = (ppn.get(), queue.writes().expect("Invariant: a program writes something"));
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        let stream = self.core.plan.streams.opened_by(writes);
        self.core.counters.pages_failed += 1;
        self.ftl.program_failed(plane, block, stream);
        self.mark_stale(ppn);
        self.ftl.has_programmed(ppn);
        // What waits for the same stream may have no room now.
        self.dispatch().room_changed(plane);
        if self.core.plan.zones.is_some() && stream == IN_ORDER {
            return self.program_again(id, ppn);
        }
        if let Owner::Padding(_) = owner {
            // Nothing is lost, and what follows is not in its place either.
            self.flash.ops.release(id);
            return self.merge_is_padded(plane);
        }
        if queue.class() == Class::UserProgram {
            self.flash().one_more_waits();
        }
        if matches!(owner, Owner::Parity(_)) {
            return self.flash.ops.release(id);
        }
        if self.ftl.is_broken(plane) {
            return self.redirect(id);
        }
        self.flash().queue_program(id);
        self.dispatch().divert(plane);
        // Nothing may come any more that could fill the unit it waits in now.
        match owner {
            Owner::Relocation(_) => self.continue_relocation(plane),
            Owner::MapRewrite(_) | Owner::Journal(_) => {
                self.flash().force_plane(die, queue.plane() as u8, QueueSet::of_programs(StreamId::MAP))
            }
            _ => {}
        }
    }

    /// A page was to be programmed on a plane that has broken: it goes elsewhere.
    pub(super) fn redirect(&mut self, id: OpId) {
        let PageOp { owner, queue, die, lpn, .. } = self.flash.ops[id];
        if self.core.plan.zones.is_some() && queue.writes() == Some(IN_ORDER) {
            return self.zoning().redirect(id);
        }
        match owner {
            Owner::Slot(slot) => {
                // An FTL of one's own says where it goes; otherwise it waits as before.
                if self.core.plan.has_own_ftl() {
                    self.dispatch().find_place(id, slot);
                }
                self.dispatch().wait(id);
            }
            Owner::MapRewrite(_) | Owner::Journal(_) => {
                let plane = self.core.plan.layout.plane(die, queue.plane() as u8);
                self.map.held[plane.0 as usize] -= 1;
                self.map_at().rewrite_map(id);
            }
            Owner::Relocation(source) => {
                let source = source.get();
                let plane = self.core.plan.layout.plane_of(source);
                let copied = self.flash.ops[id].is_copied();
                self.flash.ops.release(id);
                self.moving(plane).moves_no_more();
                // A page that is copied back has not been read.
                if !copied {
                    self.rescue(lpn.get(), source);
                }
                self.continue_relocation(plane);
            }
            Owner::Padding(_) => {
                self.flash.ops.release(id);
                let plane = self.core.plan.layout.plane(die, queue.plane() as u8);
                self.merge_is_padded(plane);
            }
            Owner::Parity(stripe) => {
                self.flash.ops.release(id);
                let plane = self.core.plan.layout.plane(die, queue.plane() as u8);
                self.stripes().not_programmed(stripe, plane);
            }
            Owner::Host(_)
            | Owner::MapFetch(_)
            | Owner::Mispredicted(_)
            | Owner::Recovery
            | Owner::Erase
            | Owner::Rebuild(_)
            | Owner::Orphan(_) => {
                unreachable!("Invariant: nothing else is programmed")
            }
        }
    }

    /// The controller has the data of a page that cannot stay in its plane: by way of the write buffer it goes to
    /// another one.
    pub(super) fn rescue(&mut self, lpn: Lpn, source: Ppn) {
        if self.seen().flash_version(lpn) != Some(source) || self.core.life.read_only.is_some() {
            return;
        }
        if let Some(stripe) = self.ftl.stripe_of_parity(lpn) {
            return self.parity_is_back(stripe, lpn, source);
        }
        if let Some(page) = lpn.0.checked_sub(self.core.plan.logical_pages) {
            // A page of the journal stays: the next checkpoint, which is due, makes it needless.
            return if page < self.core.plan.space.map_pages.into() {
                self.map_at().rewrite(page as u32)
            };
        }
        let full = self.writes.buffer.full;
        match self.ftl.locate(lpn) {
            // What the newer data lacks.
            Location::Buffer(slot) if self.writes.buffer[slot].state != SlotState::Flushing => {
                self.writes.buffer[slot].valid = full;
                self.core.probe.rescued(self.core.now, lpn, slot, source);
            }
            Location::Buffer(_) | Location::Unmapped => {}
            Location::Flash(_) => {
                let slot = self.writes.buffer.add(lpn, 0, full, Some(source));
                self.writes.buffer[slot].rescued = true;
                self.ftl.buffer(lpn, slot);
                if let Some(power) = &mut self.power {
                    power.stamp_rescued(slot, source);
                }
                self.core.probe.rescued(self.core.now, lpn, slot, source);
                self.send_slot(slot);
            }
        }
    }

    /// The parity of a stripe is in the controller, and can be programmed elsewhere than where it stands.
    pub(super) fn parity_is_back(&mut self, stripe: StripeId, lpn: Lpn, ppn: Ppn) {
        self.drop_parity(lpn, ppn);
        self.stripes().again(stripe);
    }

    /// Data of a logical block has been read.
    fn merge_has_come(&mut self, plane: PlaneId, source: Ppn, data: PageData, works: bool) {
        for (lpn, ppn) in self.moving(plane).has_come(source) {
            match (works, data) {
                (false, PageData::Right) => self.rescue(lpn, ppn),
                (true, PageData::Right) | (false, _) => {}
                (true, data) => self.damage(lpn, data),
            }
        }
    }

    /// The program of a page of a zone has failed on that page of the flash, and nothing more goes into its block: it
    /// waits for another one, unless the zone was reset meanwhile.
    fn program_again(&mut self, id: OpId, ppn: Ppn) {
        let lpn = self.flash.ops[id].lpn.get();
        let Some(plan) = &self.core.plan.zones else { return };
        let zone = plan.zone_of(lpn);
        let stays = self.ftl.zone(zone, &self.core.plan).is_some_and(|zone| zone.has(ppn));
        if !stays {
            let owner = self.flash.ops[id].owner;
            self.flash.ops.release(id);
            if let Owner::Slot(slot) = owner {
                self.release_slot(slot);
            }
            return;
        }
        self.zoning().queue(zone, id);
        if let Some((zones, plan)) = zoned!(self)
            && zones.is_sent(zone, plan)
        {
            self.zoning().end_programs(zone);
        }
    }

    /// Padding of a zone has been programmed.
    pub(super) fn padded(&mut self, id: OpId, number: u32) {
        let PageOp { die, .. } = self.flash.ops[id];
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.core.counters.pages_padded += 1;
        self.core.counters.zone_padding += u64::from(self.zones.is_some());
        self.mark_stale(ppn);
        self.ftl.has_programmed(ppn);
        let Some((zones, plan)) = zoned!(self) else {
            let plane = self.core.plan.layout.plane_of(ppn);
            return self.merge_is_padded(plane);
        };
        let zone = plan.zone_of(lpn);
        if let Some(next) = zones.is_padded(zone, number, die, plan) {
            self.zoning().program(zone, &next);
        }
        self.zoning().may_have_finished(zone);
    }
}
