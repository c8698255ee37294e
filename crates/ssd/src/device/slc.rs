//! The SLC cache (`ftl.slc_cache`): what the host writes goes into blocks of fewer bits a cell; where these have no room it goes to
//! blocks of the chip's own cells. When the host is idle, or where folding is forced, blocks of the cache are relocated into the
//! chip's own cells like any other block (`collect.rs`).

use nand::PlaneId;
use units::{Ppn, Time};

use super::Device;
use crate::arena::{CommandId, OpId};
use crate::config::Placement;
use crate::flash::{Placement as _, QueueId};
use crate::ftl::relocator::Relocation;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

impl<P: Probe> Device<P> {
    /// The host has been idle for long: blocks of the cache are folded until it comes back.
    pub(super) fn host_is_idle(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            self.core.agenda.set(slot, Time::NEVER);
        }
        self.ftl.host_rests(true);
        for plane in 0..self.core.plan.layout.planes {
            self.collect(PlaneId(plane));
        }
    }

    /// A request has come: only what has begun to be folded is folded to its end.
    pub(super) fn host_is_back(&mut self) {
        let Some(slot) = self.core.slots.host_idle else { return };
        self.core.agenda.set(slot, Time::NEVER);
        self.ftl.host_rests(false);
    }

    /// With an SLC cache: a part of a host read is sent, whose data came from a page of the flash.
    pub(super) fn count_mode(&mut self, command: CommandId, ppn: Ppn, sent: Time) {
        let mode = usize::from(!self.ftl.page_in_slc(ppn));
        self.core.counters.parts_by_mode[mode] += 1;
        self.core.counters.part_ns_by_mode[mode] += sent.since(self.host.commands[command].request.time).0;
    }

    /// Blocks that hold data of the cache or are open for it, where there is one.
    pub fn slc_blocks(&self) -> Option<u64> {
        self.seen().cache_blocks()
    }

    /// What waits in a plane for the cache goes past it, where it takes no more.
    #[inline]
    pub(super) fn divert(&mut self, plane: PlaneId) {
        if self.core.plan.slc.is_some() {
            self.divert_queue(plane);
        }
    }

    fn divert_queue(&mut self, plane: PlaneId) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        for stream in self.core.plan.streams.hosts() {
            let Some(past) = self.core.plan.streams.past(stream) else { break };
            let queue = QueueId::of_programs(stream, place.into());
            if self.flash.waits_in(die, queue) && !self.ftl.cache_takes(plane, stream, &self.core.plan) {
                for op in self.flash().empty_queue(die, queue) {
                    self.go_past(op, past);
                }
            }
        }
        let queue = QueueId::of_programs(StreamId::CONVERTED, place.into());
        if self.flash.waits_in(die, queue) && !self.ftl.converts_more(plane) {
            for op in self.flash().empty_queue(die, queue) {
                self.flash.ops[op].queue = QueueId::of_programs(StreamId::RELOCATED, place.into());
                self.flash().queue_program(op);
            }
        }
    }

    /// A page of a block of the host's data has been read: whether the block's data is to be moved into the cache, after so many reads
    /// of it.
    #[cold]
    pub(super) fn consider_conversion(&mut self, ppn: Ppn, reads: u32, retries: u32) {
        if let Some((plane, block)) = self.ftl.converts(ppn, reads, retries, &self.core.plan) {
            self.request_move(plane, Relocation::block(block, relocation_causes::CONVERSION));
        }
    }

    /// The same of a page that has just begun to wait for its die.
    #[inline]
    pub(super) fn divert_waiting(&mut self, op: OpId) {
        if self.core.plan.slc.is_some() && self.core.plan.config.ftl.placement == Placement::Static {
            let (die, place) = (self.flash.ops[op].die, self.flash.ops[op].queue.plane() as u8);
            self.divert_queue(self.core.plan.layout.plane(die, place));
        }
    }

    /// The same of what waits for any die, where no plane's part of the cache takes anything.
    #[inline]
    pub(super) fn divert_pool(&mut self, writes: StreamId) {
        let Some(past) = self.core.plan.streams.past(writes) else { return };
        if self.writes.pools[writes.index()].len > 0 {
            let mut planes = (0..self.core.plan.layout.planes).map(PlaneId);
            if !planes.any(|plane| self.ftl.cache_takes(plane, writes, &self.core.plan)) {
                while let Some(op) = self.writes.pools[writes.index()].pop(&mut self.flash.ops) {
                    self.go_past(op, past);
                }
            }
        }
    }

    /// A page of host data goes to a block of the chip's own cells.
    fn go_past(&mut self, op: OpId, past: StreamId) {
        let place = self.flash.ops[op].queue.plane();
        self.flash.ops[op].queue = QueueId::of_programs(past, place);
        self.wait_for_die(op);
    }
}
