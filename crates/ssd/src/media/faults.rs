//! Programs and erases that have ended: whether they failed; and parts that break.

use nand::{Address, DieId, FlashPlaneId, PlaneId};

use super::Media;
use super::command::MediaStatus;
use crate::arena::OpId;
use crate::config::Part;

impl Media {
    /// A program has ended, on a set of planes.
    pub(super) fn program_ended(&mut self, die: DieId, first: OpId, set: u8) {
        let page = self.flash.ops[first].ppn.get();
        let failed = self.flash().failed_programs(die, set, page);
        let mut next = Some(first);
        while let Some(op) = next {
            next = self.flash.ops[op].next;
            let (ppn, plane) = (self.flash.ops[op].ppn.get(), self.flash.ops[op].queue.plane());
            let command = self.owner(op);
            self.flash.ops.release(op);
            let failed = failed >> plane & 1 != 0 || self.flash.is_broken(ppn);
            self.blocks.programmed(ppn, failed);
            self.core.counters.pages_failed += u64::from(failed);
            let under_way = &mut self.commands[command];
            (under_way.left, under_way.failed) = (under_way.left - 1, under_way.failed | failed);
            if under_way.left == 0 {
                let status = if under_way.failed { MediaStatus::ProgramFailed } else { MediaStatus::Success };
                self.end(command, status, 0, false);
            }
        }
    }

    /// Blocks have been erased.
    pub(super) fn erase_ended(&mut self, first: OpId) {
        let mut next = Some(first);
        while let Some(op) = next {
            next = self.flash.ops[op].next;
            let Address { plane, block, .. } = self.core.plan.layout.unpack(self.flash.ops[op].ppn.get());
            let command = self.owner(op);
            self.flash.ops.release(op);
            self.core.counters.blocks_erased += 1;
            let failed = self.erase_fails(plane, block);
            self.blocks.is_erased(plane, block, failed);
            self.end(command, if failed { MediaStatus::EraseFailed } else { MediaStatus::Success }, 0, false);
        }
    }

    fn erase_fails(&mut self, plane: PlaneId, block: u32) -> bool {
        let layout = self.core.plan.layout;
        let worn = self.blocks.erase_ended(plane, block, &self.core.plan);
        let pec = crate::flash::Placement::cycles(&self.blocks, plane, block, &self.core.plan);
        let config = &self.core.plan.config;
        let broken = self.flash.has_broken(plane, block, &layout);
        let fails_next = self.flash.faults.as_mut().is_some_and(|faults| {
            faults.erased(&config.faults, FlashPlaneId(plane.0), pec);
            faults.fails(layout.die_of(plane).0, false)
        });
        self.flash.fault_due = self.flash.faults.as_ref().map_or(self.flash.fault_due, |faults| faults.due());
        let share = config.faults.grown(config.wear.erase_fail, pec);
        let fails = config.wear.erase_fail.0 > 0.0 && self.flash.erase_fails(share);
        broken || fails_next || worn || fails
    }

    /// A part breaks: its pages cannot be read any more, and nothing can be programmed or erased there.
    pub(super) fn on_fault(&mut self) {
        let layout = self.core.plan.layout;
        let (of_die, of_channel) = (layout.planes_per_die, layout.chips * layout.dies_per_chip * layout.planes_per_die);
        let Some(faults) = &mut self.flash.faults else { return };
        let mut planes = 0..0;
        let mut blocks = Vec::new();
        match faults.next() {
            Part::Program(die) => faults.fail_next(DieId(die as u16), true),
            Part::Erase(die) => faults.fail_next(DieId(die as u16), false),
            Part::Block { plane, block } => blocks.push((plane, block)),
            Part::Blocks { plane, count } => {
                blocks.extend((0..count).map(|_| (plane, faults.below(layout.blocks))).collect::<Vec<_>>());
            }
            Part::Plane(plane) => planes = plane..plane + 1,
            Part::Die(die) => planes = die * of_die..(die + 1) * of_die,
            Part::Channel(channel) => planes = channel * of_channel..(channel + 1) * of_channel,
        }
        for (plane, block) in blocks {
            self.core.counters.blocks_broken += u64::from(faults.break_block(FlashPlaneId(plane), block));
        }
        for plane in planes {
            self.core.counters.planes_broken += u64::from(faults.break_plane(FlashPlaneId(plane)));
        }
        self.flash.fault_due = faults.due();
    }
}
