//! Parts that break (`faults`).
//!
//! The pages of a broken part cannot be read any more, and nothing is programmed or erased there. A broken block goes
//! the way of every block that fails: its data is relocated, as far as it can be had, and it goes out of service. Of a
//! broken plane, which is never collected again, the data stays where it is until the host writes it again; what was on
//! its way there goes to other planes. The drive goes on with what is left, if that holds its data and can be
//! collected.

use nand::{DieId, FlashPlaneId, PlaneId};

use super::BackEnd;
use crate::arena::OpId;
use crate::config::{Part, Placement};
use crate::core::Marks;
use crate::flash::{FlashAt, Placement as _, QueueId};
use crate::ftl::Ftl;
use crate::ftl::blocks::Breaks;
use crate::observe::probe::Probe;
use crate::streams::StreamId;

impl<P: Probe> BackEnd<P> {
    /// A part breaks.
    #[cold]
    pub fn on_fault(&mut self) {
        let layout = self.core.plan.layout;
        let Some(faults) = &mut self.flash.faults else { return };
        let part = faults.next();
        self.flash.fault_due = faults.due();
        let planes_per_die = layout.flash_planes_per_die();
        match part {
            Part::Program(die) => faults.fail_next(DieId(die as u16), true),
            Part::Erase(die) => faults.fail_next(DieId(die as u16), false),
            Part::Block { plane, block } => self.break_block(FlashPlaneId(plane), block),
            Part::Blocks { plane, count } => {
                for _ in 0..count {
                    let block = self.flash.faults.as_mut().map_or(0, |faults| faults.below(layout.blocks));
                    self.break_block(FlashPlaneId(plane), block);
                }
            }
            Part::Plane(plane) => self.break_planes(plane..plane + 1),
            Part::Die(die) => self.break_planes(die * planes_per_die..(die + 1) * planes_per_die),
            Part::Channel(channel) => {
                let of_channel = layout.chips * layout.dies_per_chip * planes_per_die;
                self.break_planes(channel * of_channel..(channel + 1) * of_channel);
            }
        }
        self.map_is_damaged();
        self.core.marks.set |= Marks::WAITING;
    }

    /// Planes of the flash break.
    fn break_planes(&mut self, planes: std::ops::Range<u32>) {
        let stripe = self.core.plan.layout.stripe;
        let mut broken = Vec::new();
        for plane in planes {
            let Some(faults) = &mut self.flash.faults else { return };
            self.core.counters.planes_broken += u64::from(faults.break_plane(FlashPlaneId(plane)));
            // Superblocks have a block on every plane of their die.
            let plane = PlaneId(plane / stripe);
            if self.ftl.plane_breaks(plane) {
                broken.push(plane);
            }
        }
        // Those that are left may take more.
        self.flash.stir_all();
        // What was on its way to one of them goes to none of the others.
        for plane in broken {
            self.leave_plane(plane);
        }
    }

    /// Nothing is written to a plane any more: what waits for it goes elsewhere.
    fn leave_plane(&mut self, plane: PlaneId) {
        let layout = self.core.plan.layout;
        let (die, place) = layout.die_of(plane);
        let retired = self.ftl.retire_plane(plane);
        self.core.counters.blocks_retired += u64::from(retired * layout.stripe);
        if self.map.plane == plane.0 {
            self.map.filled = 0;
        }
        // With static placement data of the host has no other plane; the map's pages and parity have.
        let is_bound = self.core.plan.config.ftl.placement == Placement::Static && self.core.plan.zones.is_none();
        let leaves = |writes: &StreamId| {
            self.core.plan.streams.has(*writes) && (!is_bound || [StreamId::MAP, StreamId::PARITY].contains(writes))
        };
        for writes in StreamId::all().filter(leaves).collect::<Vec<_>>() {
            for op in self.flash().empty_queue(die, QueueId::of_programs(writes, place.into())) {
                self.redirect(op);
            }
        }
        self.flash().update_plane_eligibility(die, place);
        self.continue_relocation(plane);
        self.zoning().lose(plane);
        if self.seen().is_worn_out(plane) {
            self.core.wear_out();
        }
        self.rebuild_plane(plane);
    }

    /// A block of the flash breaks, with its data.
    fn break_block(&mut self, flash_plane: FlashPlaneId, block: u32) {
        let plane = PlaneId(flash_plane.0 / self.core.plan.layout.stripe);
        let (Some(faults), Some(block)) = (&mut self.flash.faults, self.ftl.stands_for(plane, block)) else { return };
        if !faults.break_block(flash_plane, block) {
            return;
        }
        self.core.counters.blocks_broken += 1;
        match self.ftl.breaks(plane, block) {
            Breaks::Free => {
                self.retire(plane, block);
                self.freed(plane);
            }
            Breaks::Open => {
                // What waits for the stream may have no room now.
                self.dispatch().room_changed(plane);
                self.collect(plane);
            }
            Breaks::Closed => self.collect(plane),
            Breaks::Erased => {}
        }
    }
}

impl<P: Probe> FlashAt<'_, P, Ftl> {
    /// Whether a program that has ended wrote into a part that has broken.
    #[inline]
    pub fn is_written_in_vain(&self, op: OpId) -> bool {
        self.flash.faults.is_some() && {
            let ppn = self.flash.ops[op].ppn.get();
            self.flash.is_broken(ppn) || self.placement.is_broken(self.core.plan.layout.plane_of(ppn))
        }
    }

    /// A block has been erased: whether it is broken, or its erase was to fail. Parts that break with that do so next.
    #[cold]
    pub fn breaks_with_erase(&mut self, plane: PlaneId, block: u32) -> bool {
        let layout = self.core.plan.layout;
        let broken = self.placement.is_broken(plane) || self.flash.has_broken(plane, block, &layout);
        let pec = self.placement.cycles(plane, block, &self.core.plan);
        let Some(faults) = &mut self.flash.faults else { return false };
        for flash_plane in layout.flash_planes_of(plane) {
            faults.erased(&self.core.plan.config.faults, flash_plane, pec);
        }
        self.flash.fault_due = faults.due();
        faults.fails(layout.die_of(plane).0, false) || broken
    }
}
