//! Deallocation (trim) and flush.
//!
//! A trim takes effect when it is started: whole pages within it, or whole units of the map where these are larger, are
//! unmapped at once, as a read started later sees; parts of them are left alone. Versions of the page that are on their
//! way to flash become stale when they arrive. A flush completes when everything that was in the buffer when it was
//! started is on flash.

use units::Lpn;

use super::BackEnd;
use crate::arena::CommandId;
use crate::buffer::SlotState;
use crate::core::Marks;
use crate::ftl::Location;
use crate::observe::probe::Probe;

impl<P: Probe> BackEnd<P> {
    pub(super) fn start_trim(&mut self, command: CommandId) {
        let (id, request) = (self.commands[command].id, self.commands[command].request);
        let page = self.core.plan.layout.page_size.0;
        self.core.counters.trim_requests += 1;
        let unit = u64::from(self.core.plan.unit_of_map);
        let first = request.offset.0.div_ceil(page * unit) * unit;
        let end = (request.offset.0 + request.bytes.0) / (page * unit) * unit;
        for lpn in (first..end).map(Lpn) {
            self.trim(id, lpn);
        }
        self.commands.acknowledge_now(&mut self.core, command);
        self.core.marks.set |= Marks::POOLS | Marks::WRITES;
    }

    pub(super) fn start_flush(&mut self, command: CommandId) {
        self.core.counters.flush_requests += 1;
        if let Some(power) = &mut self.power {
            power.flush_begins(self.commands[command].id);
        }
        let pending = self.writes.buffer.pending();
        if pending.is_empty() {
            return self.end_flush(command);
        }
        self.commands[command].remaining = pending.len() as u32;
        self.writes.flushing += 1;
        self.flash.flush_units(true);
        pending.into_iter().for_each(|slot| self.writes.buffer.await_slot(slot, command));
        self.destage_all();
    }

    /// A request trims a page: it has no data any more, if it had any. The table's order, but that nothing is newest.
    pub(super) fn trim(&mut self, request: u64, lpn: Lpn) {
        let location = self.ftl.locate(lpn);
        let stale = match location {
            Location::Unmapped => return,
            Location::Flash(ppn) => Some(ppn),
            Location::Buffer(slot) => {
                // Every version, also those that are programs under way.
                let stale = self.writes.buffer.overtake(slot);
                self.writes.buffer[slot].outdated = true;
                stale
            }
        };
        self.core.counters.pages_trimmed += 1;
        self.core.probe.trimmed(self.core.now, request, lpn);
        self.ftl.trim(lpn);
        if let Some(stale) = stale {
            self.mark_stale(stale);
        }
        if let Location::Buffer(slot) = location
            && matches!(self.writes.buffer[slot].state, SlotState::Dirty | SlotState::Gathering)
        {
            // A slot whose read is under way goes when that has come.
            self.discard_slot(slot);
        }
        self.ftl.repair(lpn);
        if let Some(cache) = &mut self.read_cache {
            cache.invalidate(lpn);
        }
        self.map_at().map_changed(lpn);
        if let Some(power) = &mut self.power {
            power.forgets(request, lpn);
        }
    }
}
