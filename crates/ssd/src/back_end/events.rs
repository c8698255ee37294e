//! The life of a read, a write and a relocation: what follows when something below the FTL has happened.
//!
//! Each event changes its own object and the owner of what has ended with it, and marks what may go on. `settle` asks
//! what was marked in a fixed order: waiting writes, the dies that may do more, their buses.

use nand::{ChannelId, DieId};
use schemes::Class;

use super::BackEnd;
use super::kept::ProgramEnd;
use crate::arena::OpId;
use crate::core::Marks;
use crate::error::RunError;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Begun, Ended, PageConditions, Placement as _, QueueId, planes};
use crate::ftl::stripes::Rebuilt;
use crate::observe::probe::Probe;
use crate::streams::StreamId;

impl<P: Probe> BackEnd<P> {
    /// Something in the array of a die has ended, or the die has been idle for long.
    #[inline]
    pub fn on_die(&mut self, die: DieId) {
        let mut ended = self.flash().array_event(die);
        loop {
            match ended {
                Ended::Program { first, planes } => self.program_ended(die, first, planes),
                Ended::Erase(first) => self.erase_ended(first),
                Ended::EraseOpened { writes, planes } => self.opened_erased(die, writes, planes),
                Ended::Idleness => {
                    self.collect_in_background(die);
                    break self.flash().mark_dirty(die);
                }
                Ended::Nothing => break,
            }
            ended = self.flash().after_array_event(die);
        }
        if self.writes.wait() || self.core.plan.has_parity() {
            self.core.marks.set |= Marks::WAITING;
        }
    }

    /// A page is decoded; whether it was the last that recovery from a power cut has waited for.
    pub fn on_decoded(&mut self, channel: ChannelId) -> bool {
        let mut is_ready = false;
        if let Some((op, data)) = self.flash().decoded(channel) {
            self.read_ended(op, data);
            if self.power.as_ref().is_some_and(|power| power.recovering.is_some()) {
                is_ready = self.power_at().recovery_goes_on();
            }
        }
        // It may have been the last thing under way that waiting writes could hope for.
        if !self.writes.queue.is_empty() {
            self.core.marks.set |= Marks::WRITES;
        }
        is_ready
    }

    /// What the layers above have to do with what a die has begun.
    #[inline(never)]
    pub(super) fn layers_above(&mut self, begun: Begun) {
        match begun {
            Begun::HostRead(die) => self.host_was_next(die),
            Begun::Erase { die, lead, writes } => {
                let set = self.view().plane_group(die, lead, writes, true);
                self.make_room(die, set, writes);
                self.flash().start_erase_opened(die, writes, set);
            }
            Begun::Program { die, lead, writes } => return self.start_program(die, lead, writes),
        }
        self.flash().has_started(begun.die());
    }

    /// Starts to move the data of the program that a die picks.
    fn start_program(&mut self, die: DieId, lead: QueueId, writes: StreamId) {
        let set = self.view().plane_group(die, lead, writes, false);
        self.make_room(die, set, writes);
        let first = self.flash().load_program(die, lead, writes, set);
        if let Some(power) = &mut self.power {
            power.program_begins(die, first);
        }
        let of_host = lead.class() == Class::UserProgram;
        self.pages_leave_buffer(first);
        self.flash().has_started(die);
        if of_host && let Some(fdp) = &mut self.fdp {
            let pages = self.core.plan.streams.unit_of(writes) * set.count_ones();
            fdp.writes(writes, pages.into(), self.core.now, &mut self.core.counters);
        }
        if of_host {
            self.host_was_next(die);
        }
        for place in planes(set) {
            let plane = self.core.plan.layout.plane(die, place as u8);
            self.dispatch().divert(plane);
            self.begin_merge(plane);
        }
        self.core.marks.set |= Marks::POOLS;
    }

    /// Opens blocks where the stream's present ones are full.
    fn make_room(&mut self, die: DieId, set: u8, writes: StreamId) {
        let stream = self.core.plan.streams.opened_by(writes);
        for place in planes(set) {
            let (die, place) = (die, place as u8);
            let plane = self.core.plan.layout.plane(die, place);
            if self.ftl.make_room(plane, stream) {
                // Other streams that could have opened that block may have to wait now.
                self.flash().update_plane_eligibility(die, place);
                self.dispatch().divert(plane);
                self.collect(plane);
                if let Some(pages) = self.seen().too_much_written() {
                    self.core.life.failure.get_or_insert(RunError::TooMuchWritten { pages });
                }
            }
        }
    }

    /// The pages of a program have been given their places on flash.
    fn pages_leave_buffer(&mut self, first: OpId) {
        let mut next = Some(first);
        while let Some(op) = next {
            next = self.flash.ops[op].next;
            self.prefetch_program_end(op);
            let PageOp { owner, ppn, lpn, .. } = self.flash.ops[op];
            if let Owner::Slot(slot) = owner {
                self.ftl.host_page_leaves(lpn.get(), ppn.get(), &self.core.plan);
                self.core.counters.bytes_settled += self.writes.buffer.settles(slot);
            }
        }
    }

    #[inline(never)]
    fn program_ended(&mut self, die: DieId, first: OpId, set: u8) {
        let page = self.flash.ops[first].ppn.get();
        let failed = self.flash().failed_programs(die, set, page);
        if self.power.is_some() {
            self.power_at().record_program(die, first, ProgramEnd::Ended { failed });
        }
        let mut next = Some(first);
        while let Some(op) = next {
            next = self.flash.ops[op].next;
            if failed >> self.flash.ops[op].queue.plane() & 1 != 0 || self.flash().is_written_in_vain(op) {
                self.program_failed(op);
                continue;
            }
            match self.flash.ops[op].owner {
                Owner::Slot(slot) => self.slot_programmed(op, slot),
                Owner::Relocation(source) => self.moved(op, source.get()),
                Owner::MapRewrite(page) => self.map_rewritten(op, page),
                Owner::Journal(place) => self.journal_programmed(op, place),
                Owner::Parity(stripe) => self.parity_programmed(op, stripe),
                Owner::Padding(number) => self.padded(op, number),
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
        self.map.learn();
        if let Some(power) = &mut self.power {
            power.program_ended(die, first);
            self.map_survives();
        }
        for plane in planes(set) {
            let plane = self.core.plan.layout.plane(die, plane as u8);
            if self.zones.is_some() {
                self.zoning().whole_again(plane);
            }
            self.collect(plane);
        }
    }

    fn erase_ended(&mut self, first: OpId) {
        let mut next = Some(first);
        while let Some(op) = next {
            let ppn = self.flash.ops[op].ppn.get();
            next = self.flash.ops[op].next;
            self.flash.ops.release(op);
            self.block_erased(ppn);
        }
    }

    fn opened_erased(&mut self, die: DieId, writes: StreamId, set: u8) {
        let stream = self.core.plan.streams.opened_by(writes);
        for plane in planes(set) {
            self.open_block_erased(self.core.plan.layout.plane(die, plane as u8), stream);
        }
    }

    /// A page's data is in the controller, or is known to be lost.
    fn read_ended(&mut self, id: OpId, data: PageData) {
        let PageOp { owner, ppn, read, .. } = self.flash.ops[id];
        let ppn = ppn.get();
        self.core.counters.pages_read += 1;
        let now = self.flash.age_clock(self.core.now);
        let PageConditions { conditions, programmed, .. } = self.ftl.conditions(ppn, now, &self.core.plan);
        self.core.counters.cold_reads += u64::from(programmed.is_none());
        self.core.counters.read_retention_s += conditions.retention.0 / 1_000_000_000;
        self.core.counters.read_pec += u64::from(conditions.pec.0);
        if let Some(reads) = self.ftl.count_read(ppn, read.retries.into(), owner, &self.core.plan) {
            self.move_for(ppn, reads);
        }
        if matches!(owner, Owner::Mispredicted(_)) {
            // Nobody needs that page's data.
            return self.deliver(id, data);
        }
        if data == PageData::Lost && self.is_rebuilt(id) {
            return;
        }
        // Where there is parity, what is in no stripe any more is stale.
        let is_lost =
            data == PageData::Lost && (!self.core.plan.has_parity() || !self.reads().still_there(id).is_empty());
        self.core.counters.media_errors += u64::from(is_lost);
        match owner {
            Owner::Rebuild(number) => self.rest_read(id, number, data),
            _ => self.deliver(id, data),
        }
    }

    /// Whether the data of a page that could not be read is worked out of other pages: it is delivered then.
    #[cold]
    fn is_rebuilt(&mut self, id: OpId) -> bool {
        let PageOp { owner, queue, .. } = self.flash.ops[id];
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.reads().reads_newer(id)
            || !matches!(owner, Owner::Rebuild(_)) && self.rebuild(Rebuilt::Read(id), queue.class(), lpn, ppn)
    }
}
