//! The life of a read, a write and a relocation: what follows when something below the FTL has happened.
//!
//! Each event changes its own object and the owner of what has ended with it, and marks what may go on. `settle` asks what was
//! marked in a fixed order: waiting writes, the dies that may do more, their buses.

use nand::{ChannelId, DieId, PlaneId};
use schemes::Class;
use units::{Lpn, Time};

use super::Device;
use super::dispatch::Dispatch;
use super::merges::Merges;
use super::power::ProgramEnd;
use super::read::ReadsAt;
use super::zones::Zoning;
use crate::arena::OpId;
use crate::core::Marks;
use crate::error::RunError;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Begun, Ended, FlashAt, FlashView, PageConditions, Placement as _, QueueId, planes};
use crate::ftl::Ftl;
use crate::ftl::stripes::Rebuilt;
use crate::observe::probe::{Event, Probe};
use crate::streams::StreamId;

/// How many arrivals ahead of the present one memory is fetched that fetched memory leads to.
const FURTHER: usize = 16;

impl<P: Probe> Device<P> {
    /// The flash as it stands now.
    #[inline]
    pub(super) fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: &mut self.flash, core: &mut self.core, placement: &mut self.ftl }
    }

    /// Where pages that wait for their program find their dies.
    #[inline]
    pub(super) fn dispatch(&mut self) -> Dispatch<'_, P> {
        Dispatch { core: &mut self.core, flash: &mut self.flash, ftl: &mut self.ftl, writes: &mut self.writes }
    }

    /// What is decided from.
    #[inline]
    pub(super) fn view(&self) -> FlashView<'_, Ftl> {
        let read_only = self.core.life.read_only.is_some();
        FlashView { flash: &self.flash, plan: &self.core.plan, placement: &self.ftl, read_only }
    }

    /// Where parts of the host's reads find their data.
    #[inline]
    pub(super) fn reads(&mut self) -> ReadsAt<'_, P> {
        let Device { core, host, flash, ftl, writes, read_cache, power, .. } = self;
        ReadsAt { core, host, flash, ftl, writes, read_cache, power: power.as_deref() }
    }

    /// A request reaches the drive.
    pub(super) fn on_arrival(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            // Only what has begun to be folded is folded to its end.
            self.core.agenda.set(slot, Time::NEVER);
            self.ftl.host_rests(false);
        }
        if let Some((_, ahead)) = self.host.arrivals.get(FURTHER) {
            let first = self.core.plan.page_at(ahead.offset.0);
            let pages = if ahead.bytes > self.core.plan.layout.page_size { 2 } else { 1 };
            for lpn in (first.0..first.0 + pages).map(Lpn) {
                self.ftl.prefetch_further(lpn);
                if let Some(cache) = &self.map.cache {
                    cache.prefetch_further(lpn);
                }
            }
        }
        if let Some(command) = self.host.arrive(&mut self.core) {
            self.take_up(command);
        }
    }

    /// The firmware has processed a command.
    pub(super) fn on_firmware(&mut self) {
        let command = self.host.firmware.processed(&mut self.core);
        if P::EXPLAINS {
            let request = self.host.commands[command].id;
            self.core.probe.explain(self.core.now, Event::Processed { request });
        }
        self.start(command);
    }

    /// A read's completion reaches the host.
    pub(super) fn on_read_completion(&mut self) {
        let next = self.host.read_completed(&mut self.core);
        if let (Some(power), Some(completion)) = (&mut self.power, self.host.completions.last()) {
            power.host_saw(completion);
        }
        if let Some(next) = next {
            self.take_up(next);
        }
    }

    /// A completion without data reaches the host.
    pub(super) fn on_write_completion(&mut self) {
        let next = self.host.write_completed(&mut self.core);
        if let (Some(power), Some(completion)) = (&mut self.power, self.host.completions.last()) {
            power.host_saw(completion);
        }
        if let Some(next) = next {
            self.take_up(next);
        }
    }

    /// Something in the array of a die has ended, or the die has been idle for long.
    #[inline]
    pub(super) fn on_die(&mut self, die: DieId) {
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

    /// A page is decoded.
    pub(super) fn on_decoded(&mut self, channel: ChannelId) {
        if let Some((op, data)) = self.flash().decoded(channel) {
            self.read_ended(op, data);
        }
        // It may have been the last thing under way that waiting writes could hope for.
        if !self.writes.queue.is_empty() {
            self.core.marks.set |= Marks::WRITES;
        }
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
            fdp.writes(writes.index(), pages.into(), self.core.now, &mut self.core.counters);
        }
        if of_host {
            self.host_was_next(die);
        }
        for place in planes(set) {
            let plane = self.core.plan.layout.plane(die, place as u8);
            self.dispatch().divert(plane);
            Merges(self).begin(plane);
        }
        self.core.marks.set |= Marks::POOLS;
    }

    /// Opens blocks where the stream's present ones are full.
    fn make_room(&mut self, die: DieId, set: u8, writes: StreamId) {
        let stream = self.core.plan.streams.opened_by(writes);
        for place in planes(set) {
            let (die, place) = (die, place as u8);
            let plane = self.core.plan.layout.plane(die, place);
            if self.ftl.blocks.make_room(plane, stream) {
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
                Owner::Slot(slot) => self.programmed(op, slot),
                Owner::Relocation(source) => self.moved(op, source.get()),
                Owner::MapRewrite(page) => self.map_rewritten(op, page),
                Owner::Journal(place) => self.journal_programmed(op, place),
                Owner::Parity(stripe) => self.parity_programmed(op, stripe),
                Owner::Padding(number) => Zoning(self).padded(op, number),
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
            self.collect(self.core.plan.layout.plane(die, plane as u8));
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
        let needed =
            || !self.core.plan.has_parity() || self.seen().flash_version(self.flash.ops[id].lpn.get()) == Some(ppn);
        self.core.counters.media_errors += u64::from(data == PageData::Lost && needed());
        self.deliver(id, data);
    }

    /// Whether the data of a page that could not be read is worked out of other pages: it is delivered then.
    #[cold]
    fn is_rebuilt(&mut self, id: OpId) -> bool {
        let PageOp { owner, queue, .. } = self.flash.ops[id];
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.reads_newer(id)
            || !matches!(owner, Owner::Rebuild(_)) && self.rebuild(Rebuilt::Read(id), queue.class(), lpn, ppn)
    }

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
            Owner::MapRewrite(_) => self.rewrite_map(id),
            Owner::Recovery => self.recovery_read(id),
            Owner::Rebuild(number) => self.rest_read(id, number, data),
            Owner::Orphan(plane) => self.orphan_read(id, PlaneId(plane), data),
            Owner::Journal(_) | Owner::Erase | Owner::Parity(_) | Owner::Padding(_) => {
                unreachable!("Invariant: these read nothing")
            }
        }
    }
}
