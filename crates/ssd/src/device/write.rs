//! Written data: from the host into the buffer, and from the buffer to flash.
//!
//! Order of accesses to one page: a write takes effect when its data is in the buffer, a read sees what has
//! taken effect when it is started. Data on its way to flash is still read from the buffer; a page written
//! again meanwhile gets a new slot, and the map follows the newest, whichever program ends first.

use schemes::Class;
use units::{Bytes, Lpn, Ppn, Time};

use super::{Device, part, parts};
use crate::buffer::State;
use crate::config::{BufferMode, Placement};
use crate::ftl::Location;
use crate::probe::Probe;
use crate::slab::{NONE, PageOp};

/// Parts of a write that are crossing the link.
pub(super) struct Arriving {
    time: Time,
    command: u32,
    first_part: u32,
    count: u32,
}

impl<P: Probe> Device<P> {
    pub(super) fn start_write(&mut self, command: u32) {
        let request = self.commands[command].request;
        self.counters.write_requests += 1;
        self.counters.write_bytes += request.bytes.0;
        self.pages_wanted += parts(&request, self.plan.layout.page_size.0);
        self.write_queue.push_back(command);
        self.kick_writes();
    }

    /// Fetches waiting data from the host, as far as the buffer has room.
    pub(super) fn kick_writes(&mut self) {
        while let Some(&command) = self.write_queue.front() {
            let room = self.buffer.available();
            if room == 0 {
                self.destage();
                return;
            }
            let (request, first_part) = (self.commands[command].request, self.commands[command].next_part);
            let page_size = self.plan.layout.page_size.0;
            let left = parts(&request, page_size) - first_part;
            let count = left.min(room);
            self.buffer.reserve(count);
            self.pages_wanted -= count;
            let bytes: u64 = (first_part..first_part + count)
                .map(|index| part(&request, page_size, index))
                .map(|(_, from, to)| u64::from(to - from))
                .sum();
            let time = self.link_in.serve(self.now, self.plan.link.time_for(Bytes(bytes)));
            if self.arriving.is_empty() {
                self.agenda.set(self.slots.arriving, time);
            }
            self.arriving.push_back(Arriving { time, command, first_part, count });
            if count == left {
                self.write_queue.pop_front();
            } else {
                self.commands[command].next_part += count;
            }
        }
    }

    /// Written data has crossed the link.
    pub(super) fn on_data(&mut self) {
        let arrived = self.arriving.pop_front().expect("Invariant: the event is data under way");
        let next = self.arriving.front().map(|arriving| arriving.time);
        self.schedule(self.slots.arriving, next);
        let (id, request) = (self.commands[arrived.command].id, self.commands[arrived.command].request);
        let page_size = self.plan.layout.page_size.0;
        let mut bytes = 0;
        for index in arrived.first_part..arrived.first_part + arrived.count {
            let (lpn, from, to) = part(&request, page_size, index);
            bytes += u64::from(to - from);
            let slot = self.insert(id, lpn, self.buffer.sectors(from, to));
            if self.plan.config.buffer.mode == BufferMode::WriteThrough {
                self.wait_for(slot, arrived.command);
            }
        }
        let stored = self.dram.serve(self.now, self.plan.dram.time_for(Bytes(bytes)));
        if self.plan.config.buffer.mode == BufferMode::WriteBack {
            let entry = &mut self.commands[arrived.command];
            entry.remaining -= arrived.count;
            if entry.remaining == 0 {
                self.acknowledge(arrived.command, stored + self.plan.config.host.t_complete);
            }
        }
        self.destage();
        self.kick_writes();
        self.kick_touched();
    }

    /// Puts written sectors of a page into the buffer; returns the slot that holds them.
    fn insert(&mut self, id: u64, lpn: Lpn, sectors: u64) -> u32 {
        let (slot, over) = match self.ftl.locate(lpn) {
            Location::Buffer(slot) if self.buffer[slot].state != State::Frozen => {
                self.buffer.merge(slot, sectors);
                self.buffer.unreserve();
                self.counters.merged_writes += 1;
                (slot, None)
            }
            // The older data is on its way to flash and all here: the new slot starts as a copy of it.
            Location::Buffer(frozen) => {
                let slot = self.buffer.fill(lpn, sectors, self.buffer.full, None);
                self.buffer[slot].older = frozen;
                self.buffer[frozen].newer = slot;
                (slot, Some(frozen))
            }
            Location::Flash(ppn) => (self.buffer.fill(lpn, sectors, sectors, Some(ppn)), None),
            Location::Unmapped => (self.buffer.fill(lpn, sectors, self.buffer.full, None), None),
        };
        self.ftl.set_buffered(lpn, slot);
        self.probe.buffered(self.now, id, lpn, slot, over);
        slot
    }

    /// Acknowledges one part of a write when a slot is on flash.
    fn wait_for(&mut self, slot: u32, command: u32) {
        let (lpn, next) = (self.buffer[slot].lpn, self.buffer[slot].waiters);
        let waiter = PageOp {
            next,
            owner: command,
            lpn,
            ppn: Ppn(0),
            bus_bytes: 0,
            host_bytes: 0,
            die: nand::DieId(0),
            plane: 0,
            class: Class::UserProgram,
            seq: 0,
        };
        self.buffer[slot].waiters = self.ops.insert(waiter);
    }

    /// Sends the oldest dirty pages to flash: those above the limit, and as many as waiting writes need.
    pub(super) fn destage(&mut self) {
        while self.buffer.dirty_pages > 0
            && (self.draining
                || self.buffer.dirty_pages > self.buffer.dirty_limit
                || self.buffer.leaving() < self.pages_wanted)
        {
            self.destage_oldest();
        }
        self.dispatch_pool();
        if self.pages_wanted > 0 && self.progress == 0 && self.arriving.is_empty() {
            self.force_oldest();
        }
    }

    /// Sends everything dirty to flash, in partly filled units where need be.
    pub(super) fn destage_all(&mut self) {
        while self.buffer.dirty_pages > 0 {
            self.destage_oldest();
        }
        self.dispatch_pool();
        for die in 0..self.dies.len() {
            self.force_die(die);
        }
        self.kick_touched();
    }

    fn destage_oldest(&mut self) {
        let slot = self.buffer.take_oldest().expect("Invariant: there is a dirty page");
        let missing = self.buffer.full & !self.buffer[slot].valid;
        if missing == 0 {
            self.program_slot(slot);
            return;
        }
        // The old half of the page is read first.
        self.buffer[slot].state = State::Filling;
        self.progress += 1;
        let under = self.buffer[slot].under.expect("Invariant: what a slot lacks is on flash");
        let sector = (self.plan.layout.page_size.0 / u64::from(self.buffer.full.count_ones())) as u32;
        let (from, to) = (missing.trailing_zeros() * sector, (64 - missing.leading_zeros()) * sector);
        let bus_bytes = self.read_transfer(from, to);
        self.counters.fill_reads += 1;
        self.queue_read(Class::InternalRead, slot, self.buffer[slot].lpn, under, bus_bytes, 0);
    }

    /// The old half of a partly written page has been read.
    pub(super) fn filled(&mut self, slot: u32, lpn: Lpn) {
        debug_assert_eq!(self.buffer[slot].lpn, lpn);
        self.progress -= 1;
        self.buffer[slot].valid = self.buffer.full;
        self.program_slot(slot);
        self.destage();
    }

    /// Queues a slot whose page is complete for programming.
    fn program_slot(&mut self, slot: u32) {
        self.buffer.freeze(slot);
        let lpn = self.buffer[slot].lpn;
        let seq = self.number();
        let (die, plane) = self.plan.layout.die_of(self.ftl.plane_of(lpn));
        let bus_bytes = self.plan.layout.page_size.0 as u32;
        let class = Class::UserProgram;
        let op = PageOp { next: NONE, owner: slot, lpn, ppn: Ppn(0), bus_bytes, host_bytes: 0, die, plane, class, seq };
        let op = self.ops.insert(op);
        match self.plan.config.ftl.placement {
            Placement::Static => self.queue_program(op),
            Placement::Dynamic => self.pool.push(&mut self.ops, op),
        }
    }

    /// Gives pages of the pool to dies that have no program, in page allocation order.
    pub(super) fn dispatch_pool(&mut self) {
        if self.pool.is_empty() {
            return;
        }
        let layout = self.plan.layout;
        let planes = match self.plan.programs {
            nand::PlanePrograms::Single => 1,
            nand::PlanePrograms::Lockstep => layout.planes_per_die,
        };
        let whole = planes * self.plan.unit_pages;
        // Whole wordlines wait for a command's worth of pages; single pages go as soon as a die is free.
        let enough = if self.plan.unit_pages == 1 || self.draining { 1 } else { whole };
        while self.pool.len >= enough
            && let Some(die) = self.next_pool_die()
        {
            self.give_pages(die, whole.min(self.pool.len));
        }
    }

    fn next_pool_die(&mut self) -> Option<usize> {
        let count = self.die_order.len();
        let step =
            (0..count).find(|step| self.takes_programs(self.die_order[(self.pool_cursor + step) % count].into()))?;
        let position = (self.pool_cursor + step) % count;
        self.pool_cursor = (position + 1) % count;
        Some(self.die_order[position].into())
    }

    /// Moves up to `pages` from the pool to a die, a unit for each of the planes that have been programmed least.
    /// Planes that lag behind catch up alone, so that afterwards all of them go together again.
    fn give_pages(&mut self, die: usize, pages: u32) {
        let layout = self.plan.layout;
        let id = nand::DieId(die as u16);
        let programmed = |plane: u8| self.ftl.blocks.programmed(layout.plane(id, plane));
        let planes = 0..layout.planes_per_die as u8;
        let least = planes.clone().map(programmed).min();
        let lagging: Vec<u8> = planes.filter(|plane| Some(programmed(*plane)) == least).collect();
        let pages = pages.min(lagging.len() as u32 * self.plan.unit_pages);
        for index in 0..pages {
            let op = self.pool.pop(&mut self.ops);
            let plane = lagging[(index / self.plan.unit_pages) as usize];
            (self.ops[op].die, self.ops[op].plane) = (id, plane);
            self.queue_program(op);
        }
    }

    /// Writes wait for room and nothing is on its way to flash: lets a partly filled unit go.
    fn force_oldest(&mut self) {
        if self.pool.is_empty() {
            if let Some(die) = self.oldest_program_die() {
                self.force_die(die);
            }
        } else if let Some(die) = self.next_pool_die() {
            let pages = self.pool.len;
            self.give_pages(die, pages);
            self.force_die(die);
        }
    }

    /// Gets ready for the end of a page's program, which will change the map and the block of its older version.
    pub(super) fn prefetch_programmed(&self, op: u32) {
        self.ftl.prefetch(self.ops[op].lpn);
        if let Some(under) = self.buffer[self.ops[op].owner].under {
            self.ftl.blocks.prefetch(under);
        }
    }

    /// A slot's page is on flash.
    pub(super) fn programmed(&mut self, id: u32) {
        let (slot, lpn, ppn) = (self.ops[id].owner, self.ops[id].lpn, self.ops[id].ppn);
        self.ops.release(id);
        self.probe.programmed(self.now, lpn, slot, ppn);
        self.counters.user_pages_programmed += 1;
        if self.buffer[slot].superseded {
            self.ftl.blocks.invalidate(ppn);
        } else {
            self.supersede(slot);
            let newer = self.buffer[slot].newer;
            if newer == NONE {
                debug_assert_eq!(self.ftl.locate(lpn), Location::Buffer(slot));
                self.ftl.set_flash(lpn, ppn);
            } else {
                (self.buffer[newer].under, self.buffer[newer].older) = (Some(ppn), NONE);
            }
        }
        let mut waiter = self.buffer[slot].waiters;
        while waiter != NONE {
            let (command, next) = (self.ops[waiter].owner, self.ops[waiter].next);
            self.ops.release(waiter);
            self.commands[command].remaining -= 1;
            if self.commands[command].remaining == 0 {
                self.acknowledge(command, self.now + self.plan.config.host.t_complete);
            }
            waiter = next;
        }
        self.buffer.release(slot);
    }

    /// A slot's data is on flash: every older version of the page is stale, on flash and on its way there.
    fn supersede(&mut self, slot: u32) {
        let mut version = slot;
        while version != NONE {
            if let Some(old) = self.buffer[version].under.take() {
                self.ftl.blocks.invalidate(old);
            }
            self.buffer[version].superseded = version != slot;
            version = self.buffer[version].older;
        }
    }

    /// The flash page with the newest programmed data of the page that a slot buffers.
    pub(super) fn under_chain(&self, mut slot: u32) -> Option<Ppn> {
        while slot != NONE {
            if self.buffer[slot].under.is_some() {
                return self.buffer[slot].under;
            }
            slot = self.buffer[slot].older;
        }
        None
    }
}
