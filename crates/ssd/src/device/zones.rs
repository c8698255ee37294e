//! Zones (`ftl.mapping = "zoned"`): what their state machine (`crate::zones`) allows and refuses becomes programs, erases and completions.
//!
//! A zone's data waits in the write buffer until it makes a whole program of a die; then its pages wait for the program on their planes. A
//! reset unmaps what the zone holds; its blocks are erased after that, plane by plane, like others that are reclaimed. A finish
//! programs padding. Commands that change a zone wait until the writes that came before them have arrived in the buffer.

use std::collections::BTreeSet;

use nand::PlaneId;
use units::{Bytes, Lpn, Ppn};
use workload::{Op, ZoneAction};

use super::Device;
use super::merges::Merges;
use crate::arena::{CommandId, OpId, SlotId};
use crate::config::{ResetCompletes, ZonePlan};
use crate::core::Marks;
use crate::flash::QueueId;
use crate::flash::op::{Owner, PageOp};
use crate::ftl::Location;
use crate::ftl::zones::IN_ORDER;
use crate::host::parts;
use crate::observe::probe::Probe;
use crate::observe::stats::Counters;
use crate::status::Status;
use crate::zones::{Changes, Effect, Padding, Zones, ZonesSeen};

/// The zones of a drive that has any, and how they are laid out.
macro_rules! zoned {
    ($device:expr) => {
        $device.zones.as_deref_mut().zip($device.core.plan.zones.as_ref())
    };
}

/// What crosses the drive's components for its zones.
pub(super) struct Zoning<'a, P: Probe>(pub(super) &'a mut Device<P>);

impl<P: Probe> Device<P> {
    /// The zones of a drive that has any.
    pub fn zones(&self) -> Option<ZonesSeen<'_>> {
        let (zones, plan) = (self.zones.as_deref()?, self.core.plan.zones.as_ref()?);
        Some(ZonesSeen { zones, plan })
    }
}

impl<P: Probe> Zoning<'_, P> {
    /// A request that zones may refuse, or that is for zones alone. Whether it goes on as on any drive.
    pub(super) fn allow(&mut self, command: CommandId) -> bool {
        let request = self.0.host.commands[command].request;
        let Some((zones, plan)) = zoned!(self.0) else {
            if request.op == Op::HandleUpdate {
                self.update_handle(command, request.hint);
                return false;
            }
            if request.op == Op::Append || matches!(request.op, Op::Zone(_) | Op::ZoneReport) {
                self.0.host.fail(&mut self.0.core, command, Status::InvalidOpcode);
                return false;
            }
            return true;
        };
        let (offset, bytes) = (request.offset.0, request.bytes.0);
        let allowed = match request.op {
            Op::Read => zones.reads(offset, bytes, plan).map(|()| request.offset),
            Op::Write | Op::Append => {
                let admitted = zones.writes(offset, bytes, request.op == Op::Append, plan);
                count(zones, &mut self.0.core.counters);
                admitted.map(|admitted| Bytes(admitted.offset))
            }
            // What zones hold is deallocated by resetting them.
            Op::Trim if plan.touches_sequential(offset, bytes) => Err(Status::InvalidField),
            Op::Trim | Op::Flush => Ok(request.offset),
            // A drive with zones has no placement handles.
            Op::HandleUpdate => Err(Status::InvalidOpcode),
            Op::Zone(action) => {
                self.act(command, action);
                return false;
            }
            Op::ZoneReport => {
                self.0.host.commands[command].remaining = 1;
                let sent = self.0.host.send(&mut self.0.core, bytes as u32, false);
                self.0.host.part_sent(&mut self.0.core, command, sent);
                return false;
            }
        };
        match allowed {
            Err(status) => {
                self.0.host.fail(&mut self.0.core, command, status);
                false
            }
            Ok(offset) => {
                let page = self.0.core.plan.layout.page_size.0;
                self.0.core.counters.zone_appends += u64::from(request.op == Op::Append);
                let entry = &mut self.0.host.commands[command];
                entry.request.offset = offset;
                if request.op == Op::Append {
                    entry.remaining = parts(&entry.request, page);
                }
                true
            }
        }
    }

    /// A placement handle is given another reclaim unit: the blocks that it has begun are written no further.
    fn update_handle(&mut self, command: CommandId, handle: u16) {
        let Device { fdp, core, ftl, .. } = &mut *self.0;
        let Some(fdp) = fdp.as_deref_mut().filter(|fdp| fdp.has(handle)) else {
            let status = if fdp.is_some() { Status::InvalidField } else { Status::InvalidOpcode };
            return self.0.host.fail(&mut self.0.core, command, status);
        };
        if fdp.updates(handle, core.now, &mut core.counters) {
            ftl.blocks.leave_open(core.plan.groups.stream_of(handle));
            for plane in (0..self.0.core.plan.layout.planes).map(PlaneId) {
                let (die, place) = self.0.core.plan.layout.die_of(plane);
                self.0.flash().update_plane_eligibility(die, place);
            }
        }
        self.0.host.acknowledge_now(&mut self.0.core, command);
    }

    fn act(&mut self, command: CommandId, action: ZoneAction) {
        let request = self.0.host.commands[command].request;
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let (offset, bytes) = (request.offset.0, request.bytes.0);
        if zones.is_under_way(offset, bytes, plan) {
            zones.waiting.push(command);
            return;
        }
        let effects = zones.act(action, offset, bytes, plan);
        count(zones, &mut self.0.core.counters);
        let effects = match effects {
            Ok(effects) => effects,
            Err(status) => return self.0.host.fail(&mut self.0.core, command, status),
        };
        // Of finishes: zones whose padding is to be programmed, and this one.
        self.0.host.commands[command].remaining = 1;
        let id = self.0.host.commands[command].id;
        for (zone, effect) in effects {
            match effect {
                Effect::State => {}
                Effect::Committed => self.has_come(zone),
                Effect::Emptied { pages, finishing } => {
                    self.empty(id, zone, pages, command);
                    finishing.into_iter().for_each(|command| self.end_part(command));
                    self.0.core.counters.zones_reset += 1;
                }
                Effect::Finished => {
                    self.0.host.commands[command].remaining += 1;
                    self.0.core.counters.zones_finished += 1;
                    self.finish(zone, command);
                }
            }
        }
        self.end_part(command);
        self.0.core.marks.set |= Marks::POOLS | Marks::WRITES;
    }

    /// A part of what a command does to zones has ended.
    fn end_part(&mut self, command: CommandId) {
        let entry = &mut self.0.host.commands[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            self.0.host.acknowledge_now(&mut self.0.core, command);
        }
    }

    /// What a zone holds is no more, and its blocks are to be erased.
    fn empty(&mut self, request: u64, zone: u32, pages: u64, command: CommandId) {
        let Some(first) = self.0.core.plan.zones.as_ref().map(|plan| plan.first(zone).0) else { return };
        let trimmed = self.0.core.counters.pages_trimmed;
        (first..first + pages).for_each(|lpn| self.0.trim(request, Lpn(lpn)));
        self.0.core.counters.pages_trimmed = trimmed;
        let mut blocks = Vec::new();
        if let Some(mut zone) = self.0.ftl.zone(zone, &self.0.core.plan) {
            blocks = zone.blocks();
            zone.resets();
        }
        self.wait_for_erases(&blocks, command);
        let planes: Vec<PlaneId> = self.0.core.plan.zones.iter().flat_map(|plan| plan.planes_of(zone)).collect();
        planes.into_iter().for_each(|plane| self.0.collect(plane));
    }

    /// A reset completes when these blocks have been erased, if it waits for that (`zones.reset_completes`).
    fn wait_for_erases(&mut self, blocks: &[(PlaneId, u32)], command: CommandId) {
        let Some((zones, plan)) = zoned!(self.0) else { return };
        if plan.reset_completes == ResetCompletes::Erased {
            blocks.iter().for_each(|(plane, block)| zones.waits_for_erase(*plane, *block, command));
            self.0.host.commands[command].remaining += blocks.len() as u32;
        }
    }

    /// A block of a plane has been erased or is out of service, or all of them, or of all planes.
    pub(super) fn has_erased(&mut self, plane: Option<PlaneId>, block: Option<u32>) {
        let Some(zones) = self.0.zones.as_deref_mut() else { return };
        for command in zones.has_erased(plane, block) {
            self.end_part(command);
        }
    }

    fn finish(&mut self, zone: u32, command: CommandId) {
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let parts = zones.finishes(zone, command, plan);
        parts.into_iter().for_each(|part| self.program(zone, &part));
        self.may_have_finished(zone);
    }

    fn may_have_finished(&mut self, zone: u32) {
        let Some((zones, _)) = zoned!(self.0) else { return };
        if let Some(command) = zones.has_finished(zone) {
            self.end_programs(zone);
            self.end_part(command);
        }
    }

    /// A page of a write to a zone is in a slot of the buffer: it waits for the rest of its program.
    pub(super) fn gather(&mut self, lpn: Lpn, slot: SlotId) {
        if self.0.core.plan.zones.as_ref().is_some_and(|plan| plan.sequential(lpn).is_some()) {
            self.0.writes.buffer.gather(slot);
        }
    }

    /// This many bytes of a write to a zone are in the buffer.
    pub(super) fn arrives(&mut self, lpn: Lpn, bytes: u64) {
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let Some(zone) = plan.sequential(lpn) else { return };
        let quiet = zones.arrives(zone, bytes);
        self.has_come(zone);
        if quiet {
            self.resume();
        }
    }

    /// What waited for writes to arrive goes on, or waits again.
    pub(super) fn resume(&mut self) {
        let Some(zones) = self.0.zones.as_deref_mut() else { return };
        for command in std::mem::take(&mut zones.waiting) {
            self.0.start(command);
        }
    }

    /// Pages of a zone that make whole programs leave the buffer.
    fn has_come(&mut self, zone: u32) {
        let lost = self.is_lost(zone);
        let Some((zones, plan)) = zoned!(self.0) else { return };
        zones.is_committed(zone);
        let Some(data) = zones.leave(zone, lost, plan) else { return };
        let padding = data.end..data.end.next_multiple_of(u64::from(plan.unit));
        let ends = zones.is_sent(zone, plan);
        self.program(zone, &Padding { number: 0, data, padding });
        if ends {
            self.end_programs(zone);
        }
    }

    /// No further program of a zone comes.
    fn end_programs(&mut self, zone: u32) {
        if let Some(mut zone) = self.0.ftl.zone(zone, &self.0.core.plan) {
            zone.ends();
        }
    }

    /// Pages of a zone, and padding behind them, wait for their programs. What a random area has left out is padding too.
    fn program(&mut self, zone: u32, part: &Padding) {
        let Some(first) = self.0.core.plan.zones.as_ref().map(|plan| plan.first(zone).0) else { return };
        for page in part.data.start..part.padding.end {
            let lpn = Lpn(first + page);
            // Padding may lie behind the addresses of the zone, and of the drive.
            let at = if page < part.data.end { self.0.ftl.locate(lpn) } else { Location::Unmapped };
            let owner = match at {
                Location::Buffer(slot) => {
                    self.0.writes.buffer.start_flushing(slot);
                    Owner::Slot(slot)
                }
                _ => Owner::Padding(part.number),
            };
            let lpn = if matches!(owner, Owner::Slot(_)) { lpn } else { Lpn(first) };
            let Some(plan) = &self.0.core.plan.zones else { return };
            let place = plan.place(zone, page);
            let (bytes, seq) = (self.0.core.plan.layout.page_size.0 as u32, self.0.flash.number());
            let queue = QueueId::of_programs(IN_ORDER, place.plane.into());
            let op = PageOp { seq, ..PageOp::new(owner, lpn, Ppn(0), (place.die, queue), bytes) };
            let op = self.0.flash.ops.insert(op);
            self.queue(zone, op);
        }
    }

    /// Whether a zone lies on a plane that has broken: it is out of service.
    fn is_lost(&self, zone: u32) -> bool {
        let broken = |plan: &ZonePlan| plan.planes_of(zone).any(|plane| self.0.ftl.is_broken(plane));
        self.0.core.plan.config.faults.break_parts() && self.0.core.plan.zones.as_ref().is_some_and(broken)
    }

    /// A plane has broken: the zones that lie on it can be read, as far as their data was elsewhere, and empty ones are offline. What is in the
    /// controller of their data goes among that of conventional zones.
    pub(super) fn lose(&mut self, plane: PlaneId) {
        self.has_erased(Some(plane), None);
        let Some(plan) = &self.0.core.plan.zones else { return };
        let lost: Vec<u32> = plan.zones_on(plane).collect();
        for zone in lost {
            let Some((zones, _)) = zoned!(self.0) else { return };
            let command = zones.fails(zone);
            command.into_iter().for_each(|command| self.end_part(command));
            self.has_come(zone);
            self.end_programs(zone);
        }
        self.0.core.marks.set |= Marks::POOLS | Marks::WRITES;
    }

    /// A page that is counted among those that wait for a program of its zone, which is out of service, is programmed elsewhere; padding is not.
    pub(super) fn redirect(&mut self, id: OpId) {
        let Owner::Slot(slot) = self.0.flash.ops[id].owner else {
            self.0.flash.ops.release(id);
            return self.0.flash().one_less_waits();
        };
        self.0.dispatch().find_place(id, slot);
        self.0.dispatch().wait(id);
        self.0.core.marks.set |= Marks::POOLS;
    }

    /// A page of a zone waits for its program.
    fn queue(&mut self, zone: u32, op: OpId) {
        let PageOp { die, queue, .. } = self.0.flash.ops[op];
        if self.is_lost(zone) {
            self.0.flash().one_more_waits();
            return self.redirect(op);
        }
        let plane = self.0.core.plan.layout.plane(die, queue.plane() as u8);
        if let Some(mut zone) = self.0.ftl.zone(zone, &self.0.core.plan) {
            zone.waits(plane);
        }
        self.0.flash().one_more_waits();
        self.0.flash().queue_program(op);
    }

    /// Padding of a zone has been programmed.
    pub(super) fn padded(&mut self, id: OpId, number: u32) {
        let PageOp { die, .. } = self.0.flash.ops[id];
        let (lpn, ppn) = self.0.flash.ops[id].pages();
        self.0.flash.ops.release(id);
        self.0.core.counters.pages_padded += 1;
        self.0.core.counters.zone_padding += u64::from(self.0.zones.is_some());
        self.0.mark_stale(ppn);
        self.0.ftl.blocks.completed(ppn);
        let Some((zones, plan)) = zoned!(self.0) else {
            let plane = self.0.core.plan.layout.plane_of(ppn);
            return Merges(self.0).padded(plane);
        };
        let zone = plan.zone_of(lpn);
        if let Some(next) = zones.is_padded(zone, number, die, plan) {
            self.program(zone, &next);
        }
        self.may_have_finished(zone);
    }

    /// The drive is ready after a power cut: what had left the buffer and was not programmed leaves it again, program by program.
    pub(super) fn go_on(&mut self) {
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let unit = u64::from(plan.unit);
        let mut programs = BTreeSet::new();
        for slot in self.0.writes.buffer.slots_in_use() {
            let lpn = self.0.writes.buffer[slot].lpn;
            let Some(zone) = plan.sequential(lpn) else { continue };
            let page = lpn.0 - plan.first(zone).0;
            if page < zones.gathered(zone, plan).start {
                programs.insert((zone, page / unit * unit));
            }
        }
        let mut touched: Vec<u32> = programs.iter().map(|(zone, _)| *zone).collect();
        touched.dedup();
        for (zone, begins) in programs {
            let Some(plan) = &self.0.core.plan.zones else { return };
            // What lies behind the capacity is padding: its addresses may be those of the next zone.
            let data = begins..plan.capacity.min(begins + unit);
            let padding = data.end..begins + unit;
            self.program(zone, &Padding { number: 0, data, padding });
        }
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let ended: Vec<u32> = (0..plan.zones).filter(|zone| zones.is_sent(*zone, plan)).collect();
        ended.into_iter().for_each(|zone| self.end_programs(zone));
        for zone in touched {
            self.has_come(zone);
        }
    }

    /// The program of a page of a zone has failed on that page of the flash, and nothing more goes into its block: it waits for another one, unless
    /// the zone was reset meanwhile.
    pub(super) fn program_again(&mut self, id: OpId, ppn: Ppn) {
        let lpn = self.0.flash.ops[id].lpn.get();
        let Some(plan) = &self.0.core.plan.zones else { return };
        let zone = plan.zone_of(lpn);
        let stays = self.0.ftl.zone(zone, &self.0.core.plan).is_some_and(|zone| zone.has(ppn));
        if !stays {
            let owner = self.0.flash.ops[id].owner;
            self.0.flash.ops.release(id);
            if let Owner::Slot(slot) = owner {
                self.0.release_slot(slot);
            }
            return;
        }
        self.queue(zone, id);
        if let Some((zones, plan)) = zoned!(self.0)
            && zones.is_sent(zone, plan)
        {
            self.end_programs(zone);
        }
    }
}

/// Counts how zones have changed their states.
fn count(zones: &mut Zones, counters: &mut Counters) {
    let Changes { opened_by_writes, opened_by_host, closed_by_host, closed_by_drive } =
        std::mem::take(&mut zones.changes);
    counters.zones_opened_by_writes += opened_by_writes;
    counters.zones_opened_by_host += opened_by_host;
    counters.zones_closed_by_host += closed_by_host;
    counters.zones_closed_by_drive += closed_by_drive;
}
