//! The SLC cache (`ftl.slc_cache`): what the host writes goes into blocks of fewer bits a cell; where these have no room it goes to
//! blocks of the chip's own cells. When the host is idle, or where folding is forced, blocks of the cache are relocated into the
//! chip's own cells like any other block (`collect.rs`).

use nand::PlaneId;
use units::Time;

use super::Device;
use crate::arena::OpId;
use crate::config::Placement;
use crate::flash::QueueId;
use crate::observe::probe::Probe;
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
        for stream in self.core.plan.streams.hosts().chain([StreamId::CONVERTED]) {
            let queue = QueueId::of_programs(stream, place.into());
            if self.flash.waits_in(die, queue)
                && let Some(past) = self.ftl.diverts(plane, stream, &self.core.plan)
            {
                for op in self.flash().empty_queue(die, queue) {
                    self.flash.ops[op].queue = QueueId::of_programs(past, place.into());
                    if past.is_of_host() {
                        self.wait_for_die(op);
                    } else {
                        self.flash().queue_program(op);
                    }
                }
            }
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
        if self.writes.pools[writes.index()].len == 0 {
            return;
        }
        let mut planes = (0..self.core.plan.layout.planes).map(PlaneId);
        let diverts = |plane| self.ftl.diverts(plane, writes, &self.core.plan);
        let Some(Some(past)) = planes.next().map(diverts) else { return };
        if planes.all(|plane| diverts(plane).is_some()) {
            while let Some(op) = self.writes.pools[writes.index()].pop(&mut self.flash.ops) {
                let place = self.flash.ops[op].queue.plane();
                self.flash.ops[op].queue = QueueId::of_programs(past, place);
                self.wait_for_die(op);
            }
        }
    }
}
