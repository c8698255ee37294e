//! The SLC cache (`ftl.slc_cache`): what the host writes goes into blocks of fewer bits a cell; where these have no room it goes to
//! blocks of the chip's own cells. When the host is idle, or where folding is forced, blocks of the cache are relocated into the
//! chip's own cells like any other block (`collect.rs`).

use nand::{Address, PlaneId};
use schemes::BlockReads;
use units::{Ppn, Time};

use super::Device;
use crate::arena::{CommandId, OpId};
use crate::config::{Full, Placement};
use crate::flash::QueueId;
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
        if let Some(slc) = &mut self.ftl.blocks.slc {
            slc.folding = true;
        }
        for plane in 0..self.core.plan.layout.planes {
            self.collect(PlaneId(plane));
        }
    }

    /// A request has come: only what has begun to be folded is folded to its end.
    #[inline]
    pub(super) fn host_is_back(&mut self) {
        let Some(slot) = self.core.slots.host_idle else { return };
        self.core.agenda.set(slot, Time::NEVER);
        if let Some(slc) = &mut self.ftl.blocks.slc {
            slc.folding = false;
        }
    }

    /// A part of a host read is sent, whose data came from a page of the flash.
    #[inline]
    pub(super) fn count_mode(&mut self, command: CommandId, ppn: Ppn, sent: Time) {
        if self.core.plan.slc.is_some() {
            let mode = usize::from(!self.ftl.blocks.page_in_slc(ppn));
            self.core.counters.parts_by_mode[mode] += 1;
            self.core.counters.part_ns_by_mode[mode] += sent.since(self.host.commands[command].request.time).0;
        }
    }

    /// Blocks that hold data of the cache or are open for it, where there is one.
    pub fn slc_blocks(&self) -> Option<u64> {
        self.ftl.blocks.slc.as_ref().map(|slc| slc.in_use())
    }

    /// Whether a plane's part of the cache takes data of a stream, now or when a block of it has been folded.
    fn cache_takes(&self, plane: PlaneId, stream: StreamId) -> bool {
        let waits = self.core.plan.config.slc.full == Full::Wait;
        let folds = || self.ftl.blocks.folds_for(plane, stream);
        let broken = self.ftl.relocator[plane].broken;
        !broken && (self.ftl.blocks.room(plane, stream, false) || waits && folds())
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
            if self.flash.waits_in(die, queue) && !self.cache_takes(plane, stream) {
                for op in self.flash().empty_queue(die, queue) {
                    self.go_past(op, past);
                }
            }
        }
        let queue = QueueId::of_programs(StreamId::CONVERTED, place.into());
        if self.flash.waits_in(die, queue) && !self.converts_more(plane) {
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
        let Address { plane, block, .. } = self.core.plan.layout.unpack(ppn);
        let Some(slc) = &mut self.ftl.blocks.slc else { return };
        let retries = slc.retried(plane, block, retries);
        let wanted = self.core.plan.config.slc.convert.converts(BlockReads { reads, retries });
        let moves = self.ftl.relocator[plane].victim.is_some_and(|moving| moving.block == block);
        if wanted
            && !moves
            && self.ftl.blocks.is_full(plane, block)
            && self.ftl.may_convert(plane, block, &self.core.plan)
        {
            self.request_move(plane, Relocation::block(block, relocation_causes::CONVERSION));
        }
    }

    /// Whether the block of a plane that is relocated is converted, and the cache has room for more of it.
    pub(super) fn is_converted(&self, plane: PlaneId) -> bool {
        self.ftl.relocator[plane].relocates_for(relocation_causes::CONVERSION) && self.converts_more(plane)
    }

    fn converts_more(&self, plane: PlaneId) -> bool {
        self.ftl.blocks.room(plane, StreamId::CONVERTED, true)
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
            if !planes.any(|plane| self.cache_takes(plane, writes)) {
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
