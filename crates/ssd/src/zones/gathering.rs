//! How far the data of zones has come: which pages of a zone make whole programs of a die, and so leave the write
//! buffer.

use std::ops::Range;

use nand::DieId;
use units::Lpn;
use workload::ZoneAction;

use super::finishing::{Finishing, Padding, Written};
use super::{ZoneState, Zones};
use crate::arena::CommandId;
use crate::config::ZonePlan;

impl Zones {
    /// This many bytes of the oldest write under way to a zone have arrived in the buffer, in their order. Whether all
    /// that is under way to it has.
    pub fn arrives(&mut self, zone: u32, bytes: u64) -> bool {
        let entry = &mut self.zones[zone as usize];
        entry.under_way = entry.under_way.saturating_sub(bytes);
        if !entry.random {
            entry.arrived += bytes;
        } else if let Some(oldest) = entry.coming.front_mut() {
            oldest.from += bytes;
            if oldest.from == oldest.to {
                entry.coming.pop_front();
            }
        }
        entry.commits_what_has_come();
        entry.under_way == 0
    }

    /// The random area of a zone is final up to its write pointer, as far as its data has come.
    pub fn is_committed(&mut self, zone: u32) {
        self.zones[zone as usize].commits_what_has_come();
    }

    /// Whether data is under way to any zone of a range of bytes to which an action is done: it waits for that.
    pub fn is_under_way(&self, action: ZoneAction, offset: u64, bytes: u64, plan: &ZonePlan) -> bool {
        let (first, last) = plan.zones_in(offset, bytes);
        let is_concerned = |zone: &u32| first == last || self.selects(*zone, action);
        (first..=last).filter(is_concerned).any(|zone| self.zones[zone as usize].under_way > 0)
    }

    /// The pages of a zone that leave the buffer now: whole programs of a die; and the last ones of a zone that is
    /// written to its end, or is lost.
    pub fn leave(&mut self, zone: u32, lost: bool, plan: &ZonePlan) -> Option<Range<u64>> {
        let page = plan.size_bytes() / plan.size;
        let entry = &mut self.zones[zone as usize];
        let (come, row) = (entry.arrived / page, u64::from(plan.row));
        let to = if lost && entry.under_way == 0 {
            entry.arrived.div_ceil(page)
        } else if entry.arrived == plan.capacity_bytes() {
            plan.capacity
        } else {
            come / row * row
        };
        let from = entry.sent;
        entry.sent = from.max(to);
        (from < to).then_some(from..to)
    }

    /// The pages of a zone from which on none has left the buffer, and behind which none has come.
    pub fn gathered(&self, zone: u32, plan: &ZonePlan) -> Range<u64> {
        let entry = &self.zones[zone as usize];
        let page = plan.size_bytes() / plan.size;
        entry.sent..entry.arrived.div_ceil(page)
    }

    /// A zone is finished, for that command: what is programmed first.
    pub fn finishes(&mut self, zone: u32, command: CommandId, plan: &ZonePlan) -> Vec<Padding> {
        self.finishes += 1;
        self.is_committed(zone);
        let Range { start: sent, end: come } = self.gathered(zone, plan);
        let written = Written { sent, come };
        let (finishing, first) = Finishing::begin(zone, self.finishes, command, written, plan);
        let entry = &mut self.zones[zone as usize];
        entry.sent = plan.capacity.max(come);
        entry.finishing = Some(Box::new(finishing));
        first
    }

    /// A page of padding has been programmed on a die: what is next there.
    pub fn is_padded(&mut self, zone: u32, number: u32, die: DieId, plan: &ZonePlan) -> Option<Padding> {
        let place = plan.dies_of(zone).iter().position(|other| *other == die)?;
        self.zones[zone as usize].finishing.as_mut()?.is_padded(number, place, plan)
    }

    /// The command of a zone all of whose padding has been programmed.
    pub fn has_finished(&mut self, zone: u32) -> Option<CommandId> {
        let command = self.zones[zone as usize].finishing.as_ref()?.ended()?;
        self.zones[zone as usize].finishing = None;
        Some(command)
    }

    /// Whether that version of a page may be data of its zone: what is behind the write pointer, or older than the last
    /// reset, was there before that.
    pub fn holds(&self, lpn: Lpn, version: u64, plan: &ZonePlan) -> bool {
        plan.sequential(lpn).is_none_or(|zone| {
            let is_before = lpn.0 - plan.first(zone).0 < self.gathered(zone, plan).end;
            is_before && version >= self.zones[zone as usize].reset_at
        })
    }

    /// A zone was reset: what is written to it from now on has this version or a newer one.
    pub fn was_reset(&mut self, zone: u32, version: u64) {
        self.zones[zone as usize].reset_at = version;
    }

    /// Whether everything that a zone is to hold has left the buffer: no further program of it comes.
    pub fn is_sent(&self, zone: u32, plan: &ZonePlan) -> bool {
        let entry = &self.zones[zone as usize];
        let full = entry.state == ZoneState::Full && entry.finishing.is_none() && entry.sent >= plan.capacity;
        full || matches!(entry.state, ZoneState::ReadOnly | ZoneState::Offline)
    }
}
