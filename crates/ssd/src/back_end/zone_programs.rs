//! Programs of zones: what has come of a zone's data becomes programs, and what a finish pads; erases that resets wait
//! for. Which commands zones allow is in `zones.rs`.

use std::collections::BTreeSet;

use nand::{DieId, PlaneId};
use units::{Lpn, Ppn};

use super::dispatch::Dispatch;
use crate::arena::{CommandId, OpId};
use crate::commands::Commands;
use crate::config::{ResetCompletes, ZonePlan};
use crate::core::{Core, Marks};
use crate::flash::op::{Owner, PageOp};
use crate::flash::{Flash, FlashAt, QueueId};
use crate::ftl::zones::IN_ORDER;
use crate::ftl::{Ftl, Location};
use crate::observe::probe::Probe;
use crate::writes::Writes;
use crate::zones::{Padding, Zones};

/// The zones of a drive that has any, and how they are laid out.
macro_rules! zoned {
    ($parts:expr) => {
        $parts.zones.as_deref_mut().zip($parts.core.plan.zones.as_ref())
    };
}
pub(super) use zoned;

/// What programs of zones have to do with, and what waits for them.
pub(super) struct Zoning<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub commands: &'a mut Commands,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a mut Writes,
    pub zones: Option<&'a mut Zones>,
}

impl<P: Probe> Zoning<'_, P> {
    /// The flash as it stands now.
    #[inline]
    fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: self.flash, core: self.core, placement: self.ftl }
    }

    /// Where pages find their dies.
    fn dispatch(&mut self) -> Dispatch<'_, P> {
        Dispatch { core: self.core, flash: self.flash, ftl: self.ftl, writes: self.writes }
    }

    /// A part of what a command does to zones has ended.
    pub(super) fn end_part(&mut self, command: CommandId) {
        let entry = &mut self.commands[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            self.commands.acknowledge_now(self.core, command);
        }
    }

    /// No further program of a zone comes.
    pub(super) fn end_programs(&mut self, zone: u32) {
        if let Some(mut zone) = self.ftl.zone(zone, &self.core.plan) {
            zone.ends();
        }
    }

    /// Whether a zone lies on a plane that has broken: it is out of service.
    fn is_lost(&self, zone: u32) -> bool {
        let broken = |plan: &ZonePlan| plan.planes_of(zone).any(|plane| self.ftl.is_broken(plane));
        self.core.plan.config.faults.break_parts() && self.core.plan.zones.as_ref().is_some_and(broken)
    }

    /// A block of a plane has been erased or is out of service, or all of them, or of all planes.
    pub(super) fn has_erased(&mut self, plane: Option<PlaneId>, block: Option<u32>) {
        let Some(zones) = self.zones.as_deref_mut() else { return };
        for command in zones.has_erased(plane, block) {
            self.end_part(command);
        }
    }

    /// A reset completes when these blocks have been erased, if it waits for that (`zones.reset_completes`).
    pub(super) fn wait_for_erases(&mut self, blocks: &[(PlaneId, u32)], command: CommandId) {
        let Some((zones, plan)) = zoned!(self) else { return };
        if plan.reset_completes == ResetCompletes::Erased {
            blocks.iter().for_each(|(plane, block)| zones.waits_for_erase(*plane, *block, command));
            self.commands[command].remaining += blocks.len() as u32;
        }
    }

    pub(super) fn may_have_finished(&mut self, zone: u32) {
        let Some((zones, _)) = zoned!(self) else { return };
        if let Some(command) = zones.has_finished(zone) {
            self.end_programs(zone);
            self.end_part(command);
        }
    }

    /// A page of a zone waits for its program.
    pub(super) fn queue(&mut self, zone: u32, op: OpId) {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        if self.is_lost(zone) {
            self.flash().one_more_waits();
            return self.redirect(op);
        }
        let plane = self.core.plan.layout.plane(die, queue.plane() as u8);
        if let Some(mut zone) = self.ftl.zone(zone, &self.core.plan) {
            zone.waits(plane);
        }
        self.flash().one_more_waits();
        self.flash().queue_program(op);
    }

    /// A page that is counted among those that wait for a program of its zone, which is out of service, is programmed
    /// elsewhere; padding is not.
    pub(super) fn redirect(&mut self, id: OpId) {
        let Owner::Slot(slot) = self.flash.ops[id].owner else {
            self.flash.ops.release(id);
            return self.flash().one_less_waits();
        };
        self.dispatch().find_place(id, slot);
        self.dispatch().wait(id);
        self.core.marks.set |= Marks::POOLS;
    }

    /// Pages of a zone, and padding behind them, wait for their programs. What a random area has left out is padding
    /// too.
    pub(super) fn program(&mut self, zone: u32, part: &Padding) {
        let Some(first) = self.core.plan.zones.as_ref().map(|plan| plan.first(zone).0) else { return };
        for page in part.data.start..part.padding.end {
            let lpn = Lpn(first + page);
            // Padding may lie behind the addresses of the zone, and of the drive.
            let at = if page < part.data.end { self.ftl.locate(lpn) } else { Location::Unmapped };
            let owner = match at {
                Location::Buffer(slot) => {
                    self.writes.buffer.start_flushing(slot);
                    Owner::Slot(slot)
                }
                // A finish waits for what is padded behind the data.
                _ => Owner::Padding(if page < part.data.end { 0 } else { part.number }),
            };
            let lpn = if matches!(owner, Owner::Slot(_)) { lpn } else { Lpn(first) };
            let Some(plan) = &self.core.plan.zones else { return };
            let place = plan.place(zone, page);
            self.queue_page(zone, owner, lpn, (place.die, place.plane));
        }
    }

    fn queue_page(&mut self, zone: u32, owner: Owner, lpn: Lpn, (die, plane): (DieId, u8)) {
        let (bytes, seq) = (self.core.plan.layout.page_size.0 as u32, self.flash.number());
        let queue = QueueId::of_programs(IN_ORDER, plane.into());
        let op = PageOp { seq, ..PageOp::new(owner, lpn, Ppn(0), (die, queue), bytes) };
        let op = self.flash.ops.insert(op);
        self.queue(zone, op);
    }

    /// Some pages of a program have failed, on one plane of a superblock, and wait again: padding makes a whole program
    /// of them.
    pub(super) fn whole_again(&mut self, plane: PlaneId) {
        let Some((zone, lacks)) = self.ftl.zone_lacks(plane) else { return };
        let Some(first) = self.core.plan.zones.as_ref().map(|plan| plan.first(zone)) else { return };
        let place = self.core.plan.layout.die_of(plane);
        (0..lacks).for_each(|_| self.queue_page(zone, Owner::Padding(0), first, place));
    }

    /// Pages of a zone that make whole programs leave the buffer.
    pub(super) fn has_come(&mut self, zone: u32) {
        let lost = self.is_lost(zone);
        let Some((zones, plan)) = zoned!(self) else { return };
        zones.is_committed(zone);
        let Some(data) = zones.leave(zone, lost, plan) else { return };
        let padding = data.end..data.end.next_multiple_of(u64::from(plan.unit));
        let ends = zones.is_sent(zone, plan);
        self.program(zone, &Padding { number: 0, data, padding });
        if ends {
            self.end_programs(zone);
        }
    }

    /// This many bytes of a write to a zone are in the buffer; whether commands that have waited for that may go on.
    pub(super) fn arrives(&mut self, lpn: Lpn, bytes: u64) -> bool {
        let Some((zones, plan)) = zoned!(self) else { return false };
        let Some(zone) = plan.sequential(lpn) else { return false };
        let quiet = zones.arrives(zone, bytes);
        self.has_come(zone);
        quiet
    }

    pub(super) fn finish(&mut self, zone: u32, command: CommandId) {
        let Some((zones, plan)) = zoned!(self) else { return };
        let parts = zones.finishes(zone, command, plan);
        parts.into_iter().for_each(|part| self.program(zone, &part));
        self.may_have_finished(zone);
    }

    /// A plane has broken: the zones that lie on it can be read, as far as their data was elsewhere, and empty ones are
    /// offline. What is in the controller of their data goes among that of conventional zones.
    pub(super) fn lose(&mut self, plane: PlaneId) {
        self.has_erased(Some(plane), None);
        let Some(plan) = &self.core.plan.zones else { return };
        let lost: Vec<u32> = plan.zones_on(plane).collect();
        for zone in lost {
            let Some((zones, _)) = zoned!(self) else { return };
            let command = zones.fails(zone);
            command.into_iter().for_each(|command| self.end_part(command));
            self.has_come(zone);
            self.end_programs(zone);
        }
        self.core.marks.set |= Marks::POOLS | Marks::WRITES;
    }

    /// The drive is ready after a power cut: what had left the buffer and was not programmed leaves it again, program
    /// by program.
    pub(super) fn go_on(&mut self) {
        let Some((zones, plan)) = zoned!(self) else { return };
        let unit = u64::from(plan.unit);
        let mut programs = BTreeSet::new();
        for slot in self.writes.buffer.slots_in_use() {
            let lpn = self.writes.buffer[slot].lpn;
            let Some(zone) = plan.sequential(lpn) else { continue };
            let page = lpn.0 - plan.first(zone).0;
            if page < zones.gathered(zone, plan).start {
                programs.insert((zone, page / unit * unit));
            }
        }
        let mut touched: Vec<u32> = programs.iter().map(|(zone, _)| *zone).collect();
        touched.dedup();
        for (zone, begins) in programs {
            let Some(plan) = &self.core.plan.zones else { return };
            // What lies behind the capacity is padding: its addresses may be those of the next zone.
            let data = begins..plan.capacity.min(begins + unit);
            let padding = data.end..begins + unit;
            self.program(zone, &Padding { number: 0, data, padding });
        }
        let Some((zones, plan)) = zoned!(self) else { return };
        let ended: Vec<u32> = (0..plan.zones).filter(|zone| zones.is_sent(*zone, plan)).collect();
        ended.into_iter().for_each(|zone| self.end_programs(zone));
        for zone in touched {
            self.has_come(zone);
        }
    }
}
