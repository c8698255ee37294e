//! Zones (`ftl.mapping = "zoned"`): what their state machine (`crate::zones`) allows and refuses becomes programs,
//! erases and completions.
//!
//! A zone's data waits in the write buffer until it makes a whole program of a die; then its pages wait for the program
//! on their planes. A reset unmaps what the zone holds; its blocks are erased after that, plane by plane, like others
//! that are reclaimed. A finish programs padding. Commands that change zones wait until the writes to these that came
//! before them have arrived in the buffer; what comes behind a command that waits, to any zone of its range, waits for
//! it.

use nand::PlaneId;
use units::{Bytes, Lpn};
use workload::{Op, Request, ZoneAction};

use super::BackEnd;
use super::zone_programs::zoned;
use crate::arena::CommandId;
use crate::commands::parts;
use crate::core::Marks;
use crate::observe::probe::Probe;
use crate::observe::stats::Counters;
use crate::status::Status;
use crate::zones::{Changes, Effect, Zones};

impl<P: Probe> BackEnd<P> {
    /// A request to a drive with zones, which may refuse it, or that is for zones alone. Whether it goes on as on any
    /// drive.
    pub(super) fn allow(&mut self, command: CommandId) -> bool {
        let request = self.commands[command].request;
        let Some((zones, plan)) = zoned!(self) else { return true };
        let (offset, bytes) = (request.offset.0, request.bytes.0);
        let is_ordered = matches!(request.op, Op::Write | Op::Append | Op::Zone(_));
        if is_ordered && !zones.waiting.is_empty() && plan.touches_sequential(offset, bytes) {
            let of = |command: CommandId| {
                let Request { offset, bytes, .. } = self.commands[command].request;
                plan.zones_in(offset.0, bytes.0)
            };
            let (first, last) = of(command);
            let comes_behind = |other: &CommandId| of(*other).0 <= last && of(*other).1 >= first;
            if zones.waiting.iter().any(comes_behind) {
                zones.waiting.push(command);
                return false;
            }
        }
        let allowed = match request.op {
            Op::Read => zones.reads(offset, bytes, plan).map(|()| request.offset),
            Op::Write | Op::Append => {
                let admitted = zones.writes(offset, bytes, request.op == Op::Append, plan);
                count(zones, &mut self.core.counters);
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
                self.commands[command].remaining = 1;
                let sent = self.commands.send(&mut self.core, bytes as u32, false);
                self.commands.part_sent(&mut self.core, command, sent);
                return false;
            }
        };
        match allowed {
            Err(status) => {
                self.commands.fail(&mut self.core, command, status);
                false
            }
            Ok(offset) => {
                let page = self.core.plan.layout.page_size.0;
                self.core.counters.zone_appends += u64::from(request.op == Op::Append);
                let entry = &mut self.commands[command];
                entry.request.offset = offset;
                if request.op == Op::Append {
                    entry.remaining = parts(&entry.request, page);
                }
                true
            }
        }
    }

    fn act(&mut self, command: CommandId, action: ZoneAction) {
        let request = self.commands[command].request;
        let Some((zones, plan)) = zoned!(self) else { return };
        let (offset, bytes) = (request.offset.0, request.bytes.0);
        if zones.is_under_way(action, offset, bytes, plan) {
            zones.waiting.push(command);
            return;
        }
        let effects = zones.act(action, offset, bytes, plan);
        count(zones, &mut self.core.counters);
        let effects = match effects {
            Ok(effects) => effects,
            Err(status) => return self.commands.fail(&mut self.core, command, status),
        };
        // Of finishes: zones whose padding is to be programmed, and this one.
        self.commands[command].remaining = 1;
        let id = self.commands[command].id;
        for (zone, effect) in effects {
            match effect {
                Effect::State => {}
                Effect::Committed => self.zoning().has_come(zone),
                Effect::Emptied { pages, finishing } => {
                    self.empty(id, zone, pages, command);
                    finishing.into_iter().for_each(|command| self.zoning().end_part(command));
                    self.core.counters.zones_reset += u64::from(action == ZoneAction::Reset);
                }
                Effect::Finished => {
                    self.commands[command].remaining += 1;
                    self.core.counters.zones_finished += 1;
                    self.zoning().finish(zone, command);
                }
            }
        }
        self.zoning().end_part(command);
        self.core.marks.set |= Marks::POOLS | Marks::WRITES;
    }

    /// What a zone holds is no more, and its blocks are to be erased.
    fn empty(&mut self, request: u64, zone: u32, pages: u64, command: CommandId) {
        let Some(first) = self.core.plan.zones.as_ref().map(|plan| plan.first(zone).0) else { return };
        let trimmed = self.core.counters.pages_trimmed;
        (first..first + pages).for_each(|lpn| self.trim(request, Lpn(lpn)));
        self.core.counters.pages_trimmed = trimmed;
        if let (Some(power), Some(zones)) = (&mut self.power, &mut self.zones) {
            zones.was_reset(zone, power.next_version());
        }
        let mut blocks = Vec::new();
        if let Some(mut zone) = self.ftl.zone(zone, &self.core.plan) {
            blocks = zone.blocks();
            zone.resets();
        }
        self.zoning().wait_for_erases(&blocks, command);
        let planes: Vec<PlaneId> = self.core.plan.zones.iter().flat_map(|plan| plan.planes_of(zone)).collect();
        // Relocated data that waited for the zone's block waits for another one.
        planes.into_iter().for_each(|plane| self.freed(plane));
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
