//! Written data: from the host into the buffer, and from the buffer to flash.
//!
//! A page's stream is decided when it leaves the buffer: by its hint (`ftl.hints`), or, with three
//! streams and more, by its age: data whose last version had never been moved is young, and goes apart from the rest
//! (after Chiang, Lee, Chang, "Using data clustering to improve cleaning performance for flash memory", SPE 1999).
//!
//! Order of accesses to one page: a write takes effect when its data is in the buffer, a read sees what has
//! taken effect when it is started. Data on its way to flash is still read from the buffer; a page written
//! again meanwhile gets a new slot, and the map follows the newest, whichever program ends first.

use units::{Bytes, Lpn, Ppn};
use workload::Op;

use super::BackEnd;
use super::placed::Because;
use crate::arena::{CommandId, OpId, SlotId};
use crate::buffer::{SlotState, Waiter};
use crate::commands::{part, parts, tell_service};
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Placement, QueueId, QueueSet};
use crate::ftl::Location;
use crate::observe::probe::{DataFrom, Event, Probe, Server};
use crate::translation::Waiting;
use crate::writes::WriteArrival;

impl<P: Probe> BackEnd<P> {
    pub(super) fn start_write(&mut self, command: CommandId) {
        let request = self.commands[command].request;
        self.core.counters.write_requests += 1;
        self.core.counters.write_bytes += request.bytes.0;
        if let Some(fdp) = &mut self.fdp {
            fdp.names(request.hint, self.core.now, &mut self.core.counters);
        }
        self.writes.pages_wanted += parts(&request, self.core.plan.layout.page_size.0);
        self.writes.queue.push_back(command);
        self.fetch_writes();
    }

    /// Fetches waiting data from the host, as far as the buffer has room; before that, pages that have been located are
    /// read as far as they lack data.
    pub(super) fn fetch_writes(&mut self) {
        for slot in std::mem::take(&mut self.writes.located) {
            if self.writes.buffer[slot].outdated || self.writes.buffer.lacks(slot) == 0 {
                // It was trimmed, or all written, while the map was read.
                self.filled(slot, PageData::Right);
            } else {
                self.reads().fill(slot);
            }
        }
        while let Some(&command) = self.writes.queue.front() {
            if self.writes.buffer.available() == 0 {
                self.destage();
                return;
            }
            let (request, first_part) = (self.commands[command].request, self.commands[command].next_part);
            let page_size = self.core.plan.layout.page_size.0;
            let left = parts(&request, page_size) - first_part;
            let (count, more) = self.writes.buffer.pages_with_room(part(&request, page_size, first_part).lpn, left);
            self.writes.buffer.reserve(count + more);
            self.writes.pages_wanted -= count;
            let bytes: u64 = (first_part..first_part + count)
                .map(|index| part(&request, page_size, index))
                .map(|part| u64::from(part.to - part.from))
                .sum();
            let service = self.core.plan.link.time_for(Bytes(bytes));
            let time = self.commands.link_in.serve(self.core.now, service);
            tell_service(&mut self.core, Server::LinkIn, service, time);
            if P::EXPLAINS {
                let id = self.commands[command].id;
                self.core.probe.explain(self.core.now, Event::Received { request: id, from: self.core.now, to: time });
            }
            if self.writes.arrivals.is_empty() {
                self.core.agenda.set(self.core.slots.write_data, time);
            }
            self.writes.arrivals.push_back(WriteArrival { time, command, first_part, count, more });
            if count == left {
                self.writes.queue.pop_front();
            } else {
                self.commands[command].next_part += count;
            }
        }
    }

    /// Puts written sectors of a page into the buffer; returns the slot that holds them.
    pub(super) fn insert(&mut self, request: u64, lpn: Lpn, bytes: u32, sectors: u64, hint: u16) -> SlotId {
        let (slot, over) = match self.ftl.locate(lpn) {
            Location::Buffer(slot) if self.writes.buffer[slot].state != SlotState::Flushing => {
                self.writes.buffer.merge(slot, sectors);
                self.writes.buffer.unreserve(1);
                self.core.counters.merged_writes += 1;
                (slot, None)
            }
            // The older data is on its way to flash and all here: the new slot starts as a copy of it.
            Location::Buffer(frozen) => {
                let slot = self.writes.buffer.fill(lpn, sectors, self.writes.buffer.full, None);
                self.writes.buffer.follow(frozen, slot);
                (slot, Some(frozen))
            }
            Location::Flash(ppn) => (self.writes.buffer.fill(lpn, sectors, sectors, Some(ppn)), None),
            Location::Unmapped => (self.writes.buffer.fill(lpn, sectors, self.writes.buffer.full, None), None),
        };
        let entry = &mut self.writes.buffer[slot];
        (entry.host_bytes, entry.hint) = (entry.host_bytes + u64::from(bytes), hint);
        self.ftl.buffer(lpn, slot);
        if let Some(cache) = &mut self.read_cache {
            cache.invalidate(lpn);
        }
        if let Some(power) = &mut self.power {
            power.stamp_write(request, lpn, slot);
        }
        if self.writes.buffer[slot].dirty == self.writes.buffer.full {
            self.ftl.repair(lpn);
        }
        self.core.probe.buffered(self.core.now, request, lpn, slot, over);
        slot
    }

    /// Sends the oldest dirty pages to flash: those above the limit, and as many as waiting writes need.
    pub(super) fn destage(&mut self) {
        while self.writes.buffer.dirty_pages > 0
            && (self.writes.draining()
                || self.writes.buffer.dirty_pages > self.writes.buffer.dirty_limit
                || self.writes.buffer.leaving() < self.writes.pages_wanted)
        {
            self.destage_oldest();
        }
        self.dispatch().pools();
        if self.writes.pages_wanted > 0 && self.progress() == 0 && self.writes.arrivals.is_empty() {
            self.dispatch().force_oldest();
        }
    }

    /// What brings pages of the buffer to flash without further ado.
    pub fn progress(&self) -> u32 {
        self.writes.progress + self.flash.host_units()
    }

    /// Sends everything dirty to flash, in partly filled units where need be.
    pub fn destage_all(&mut self) {
        while self.writes.buffer.dirty_pages > 0 {
            self.destage_oldest();
        }
        self.dispatch().pools();
        for die in self.flash.die_ids() {
            self.flash().force_die(die, QueueSet::NOT_RELOCATED);
        }
    }

    fn destage_oldest(&mut self) {
        let slot = self.writes.buffer.take_oldest().expect("Invariant: there is a dirty page");
        if self.core.plan.unit_of_map == 1 {
            self.send_slot(slot);
        } else {
            self.send_unit(slot);
        }
    }

    /// Sends every page of a slot's map unit to flash: an entry stands for the unit as a whole. What is on its way to
    /// flash without this write is written again.
    fn send_unit(&mut self, slot: SlotId) {
        let (written, unit) = (self.writes.buffer[slot].lpn, u64::from(self.core.plan.unit_of_map));
        let hint = self.writes.buffer[slot].hint;
        let first = written.0 / unit * unit;
        for lpn in (first..first + unit).map(Lpn) {
            let page = if lpn == written { Some(slot) } else { self.join(lpn, hint) };
            if let Some(page) = page {
                self.send_slot(page);
            }
        }
    }

    /// The slot with the data of a page whose unit is written: its own, or a new one. None where the page is being
    /// completed, and goes to flash with its unit. A page that the buffer has keeps its hint, another one takes that of
    /// the page written.
    fn join(&mut self, lpn: Lpn, hint: u16) -> Option<SlotId> {
        let full = self.writes.buffer.full;
        let mut hint = hint;
        let (slot, from) = match self.ftl.locate(lpn) {
            Location::Buffer(slot) if self.writes.buffer[slot].state == SlotState::Dirty => {
                self.writes.buffer.take(slot);
                return Some(slot);
            }
            Location::Buffer(slot) if self.writes.buffer[slot].state == SlotState::ReadModifyWrite => return None,
            Location::Buffer(frozen) => {
                let slot = self.writes.buffer.add(lpn, 0, full, None);
                self.writes.buffer.follow(frozen, slot);
                hint = self.writes.buffer[frozen].hint;
                (slot, DataFrom::Buffer(frozen))
            }
            Location::Flash(ppn) => (self.writes.buffer.add(lpn, 0, 0, Some(ppn)), DataFrom::Flash(ppn)),
            Location::Unmapped => (self.writes.buffer.add(lpn, 0, full, None), DataFrom::Nothing),
        };
        self.writes.buffer[slot].hint = hint;
        self.ftl.buffer(lpn, slot);
        if let Some(power) = &mut self.power {
            power.stamp_joined(slot, from, |ppn| self.flash.is_broken(ppn));
        }
        self.core.probe.joined(self.core.now, lpn, slot, from);
        Some(slot)
    }

    /// Sends a page that is not in the dirty list any more to flash.
    pub(super) fn send_slot(&mut self, slot: SlotId) {
        if self.writes.buffer.lacks(slot) == 0 {
            self.program_slot(slot, false);
            return;
        }
        // The old half of the page is read first, from where the map has it.
        self.writes.buffer[slot].state = SlotState::ReadModifyWrite;
        self.writes.progress += 1;
        let lpn = self.writes.buffer[slot].lpn;
        if self.learning().looks_up(lpn) {
            self.reads().fill(slot);
        } else {
            self.await_map(Waiting::Fill(slot));
        }
    }

    /// The old half of a partly written page has been read.
    pub(super) fn filled(&mut self, slot: SlotId, data: PageData) {
        self.writes.progress -= 1;
        if data != PageData::Right && !self.writes.buffer[slot].outdated {
            self.damage(self.writes.buffer[slot].lpn, data);
        }
        if self.writes.buffer[slot].outdated {
            self.discard_slot(slot);
        } else {
            self.writes.buffer[slot].valid = self.writes.buffer.full;
            self.program_slot(slot, true);
        }
        self.destage();
    }

    /// Sends a slot whose page is complete to flash, by way of the map unless it has been looked up there.
    fn program_slot(&mut self, slot: SlotId, located: bool) {
        self.writes.buffer.start_flushing(slot);
        let lpn = self.writes.buffer[slot].lpn;
        let (plane, class) = self.ftl.place_of_slot(slot, &self.writes.buffer, &self.core.plan);
        let (die, plane) = self.core.plan.layout.die_of(plane);
        let (queue, bytes) = (QueueId::of_programs(class, plane.into()), self.core.plan.layout.page_size.0 as u32);
        let seq = self.flash.number();
        let op = PageOp { seq, ..PageOp::new(Owner::Slot(slot), lpn, Ppn(0), (die, queue), bytes) };
        let id = self.flash.ops.insert(op);
        let plane = self.core.plan.layout.plane(die, plane);
        self.core.counters.switch_merges += u64::from(self.moving(plane).take_switches());
        if located || self.learning().looks_up(lpn) {
            self.dispatch().place(id);
            self.begin_merge(plane);
        } else {
            self.writes.progress += 1;
            self.await_map(Waiting::Program(id));
        }
    }

    /// Gets ready for the end of a page's program, which will change the map and the block of its older version.
    pub(super) fn prefetch_program_end(&self, op: OpId) {
        let lpn = self.flash.ops[op].lpn.get();
        self.prefetch(lpn);
        let older = match self.flash.ops[op].owner {
            Owner::Slot(slot) => self.writes.buffer[slot].flash_copy,
            Owner::Relocation(source) => Some(source.get()),
            _ => None,
        };
        if let Some(older) = older {
            Placement::prefetch(&self.ftl, older);
        }
    }

    /// A slot's page is on flash.
    pub(super) fn slot_programmed(&mut self, id: OpId, slot: SlotId) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        let rescued = self.writes.buffer[slot].rescued;
        if let (Some(fdp), Some(writes)) = (&mut self.fdp, self.flash.ops[id].queue.writes()) {
            let is_newest = !self.writes.buffer[slot].outdated;
            fdp.programmed((lpn, is_newest), writes, rescued, &mut self.core.counters);
        }
        self.flash.ops.release(id);
        self.core.counters.user_pages_programmed += u64::from(!rescued);
        self.core.counters.pages_rescued += u64::from(rescued);
        if let Some(power) = &mut self.power {
            power.checkpoints.written();
        }
        if self.core.plan.slc.is_some() && !rescued {
            let in_slc = self.ftl.page_in_slc(ppn);
            self.core.counters.slc_pages += u64::from(in_slc);
            self.core.counters.native_pages += u64::from(!in_slc);
        }
        self.is_placed(lpn, ppn, Because::Written(slot));
        self.release_slot(slot);
    }

    /// Acknowledges what waits for a slot, and frees it.
    pub(super) fn release_slot(&mut self, slot: SlotId) {
        self.core.counters.bytes_settled += self.writes.buffer.settles(slot);
        self.end_waiting(slot, false);
        self.writes.buffer.release(slot);
    }

    /// Commands need not wait for a slot any more: its data is on flash, or they are refused.
    pub(super) fn end_waiting(&mut self, slot: SlotId, refused: bool) {
        // What a trim has taken is gone for good when the trim is.
        let trimmed = self.writes.buffer[slot].outdated;
        let mut waiters = self.writes.buffer[slot].waiters.take();
        while let Some(waiter) = waiters {
            let Waiter { command, next } = self.writes.buffer.waiters[waiter];
            self.writes.buffer.waiters.release(waiter);
            let entry = &mut self.commands[command];
            entry.remaining -= 1;
            entry.refused |= refused;
            entry.trimmed |= trimmed;
            if entry.remaining == 0 {
                let is_flush = entry.request.op == Op::Flush;
                self.writes.flushing -= u32::from(is_flush);
                self.flash.flush_units(self.writes.draining());
                if (is_flush || entry.trimmed) && !refused {
                    self.end_flush(command);
                } else {
                    self.commands.acknowledge_now(&mut self.core, command);
                }
            }
            waiters = next;
        }
    }

    /// Frees a slot whose data nobody wants any more and that is not on its way to flash.
    pub(super) fn discard_slot(&mut self, slot: SlotId) {
        self.writes.buffer.forget(slot);
        self.release_slot(slot);
    }
}
