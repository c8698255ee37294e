//! Erases: of blocks that were reclaimed or that a stream opens, on all planes of a die that go together. Where the chip says
//! how each block is erased (`erase.pulse`), planes go on with the next pulse together: each lasts until the longest has ended.

use nand::{Address, DieId, PlaneId, PlanePrograms};

use super::super::Device;
use super::{Active, ERASE_ROW, PLANES, Phases, Work, planes, write_class_of};
use crate::arena::OpId;
use crate::observe::probe::Probe;
use crate::observe::stats::{channel, die};

impl<P: Probe> Device<P> {
    /// Erases the blocks that a lane's stream opens.
    pub(super) fn start_erase_opened(&mut self, die: usize, lead: usize) {
        let set = self.plane_group(die, lead, true);
        let write_class = write_class_of(lead);
        self.make_room(die, set, write_class);
        self.run_erase(die, Active::EraseOpened(write_class, set), set);
    }

    /// Erases blocks that were reclaimed.
    pub(super) fn start_erase(&mut self, die: usize, lead: usize) {
        let mut ops = None;
        let mut set = 0;
        let row = ERASE_ROW * PLANES;
        for plane in 0..self.plan.layout.planes_per_die as usize {
            let queue = row + plane;
            let along = self.plan.config.chip.plane_programs == PlanePrograms::Lockstep
                && self.dies[die].ready >> queue & 1 != 0
                && self.may_erase(die, queue);
            if queue == lead || along {
                let op =
                    self.dies[die].queues[queue].pop(&mut self.ops).expect("Invariant: ready queues are not empty");
                if self.dies[die].queues[queue].is_empty() {
                    self.dies[die].ready &= !(1 << queue);
                }
                self.ops[op].next = ops;
                ops = Some(op);
                set |= 1 << plane;
            }
        }
        self.run_erase(die, Active::Erase(ops.expect("Invariant: a command has a block to erase")), set);
    }

    fn run_erase(&mut self, die: usize, erase: Active, set: u8) {
        let channel = usize::from(self.dies[die].channel);
        let start =
            self.occupy(channel, self.plan.config.bus.t_command * u64::from(set.count_ones()), channel::COMMAND);
        let phases = self.erase_phases(die, erase);
        let end = start + phases.as_ref().map_or(self.plan.timings.erase, Phases::total);
        let state = &mut self.dies[die];
        state.phases = phases;
        state.active = Some((erase, end));
        state.work = Work { reads_in_progress: start, runs_from: start, ..Work::default() };
        self.die_enters(die, die::ERASE, None);
        self.probe.erase(start, end, DieId(die as u16), set);
        self.tell_phases(die);
    }

    /// Erases blocks as far as the FTL is concerned; the phases that it takes, where they are the blocks' own.
    fn erase_phases(&mut self, die: usize, erase: Active) -> Option<Phases> {
        let erasing = &self.ftl.wear.as_ref()?.eraser().erasing;
        let (t_grain, t_verify) = (erasing.t_grain, erasing.t_verify);
        let mut all: Option<Phases> = None;
        let mut blocks = [(0, 0); PLANES];
        let mut count = 0;
        match erase {
            Active::Erase(first) => {
                let mut next = Some(first);
                while let Some(op) = next {
                    let Address { plane, block, .. } = self.plan.layout.unpack(self.ops[op].ppn);
                    (blocks[count], next, count) = ((plane.0, block), self.ops[op].next, count + 1);
                }
            }
            Active::EraseOpened(write_class, set) => {
                let stream = usize::from(self.plan.space.stream[write_class]);
                for plane in planes(set) {
                    let plane = self.plan.layout.plane(DieId(die as u16), plane as u8);
                    (blocks[count], count) = ((plane.0, self.ftl.blocks.open_block(plane, stream)), count + 1);
                }
            }
            Active::Program(_) => {}
        }
        for (plane, block) in &blocks[..count] {
            let erase = self.ftl.erase(PlaneId(*plane), *block, &self.plan)?;
            let counters = &mut self.counters;
            counters.pulsed_erases += 1;
            counters.erase_loops += u64::from(erase.loops);
            counters.erases_exhausted += u64::from(erase.exhausted);
            counters.erases_mispredicted += u64::from(erase.mispredicted);
            counters.erases_incomplete += u64::from(!erase.exhausted && erase.left > 0.0);
            let pulses = erase.pulses.iter().map(|pulse| t_grain * u64::from(pulse.grains));
            let phases = Phases::each(pulses, t_verify);
            counters.erase_ns += phases.total().0;
            match &mut all {
                Some(joined) => joined.join(&phases),
                None => all = Some(phases),
            }
        }
        all
    }

    pub(super) fn reclaimed_erased(&mut self, first: OpId) {
        let mut next = Some(first);
        while let Some(op) = next {
            let ppn = self.ops[op].ppn;
            next = self.ops[op].next;
            self.ops.release(op);
            self.block_erased(ppn);
        }
    }

    pub(super) fn opened_erased(&mut self, die: usize, write_class: usize, set: u8) {
        let stream = usize::from(self.plan.space.stream[write_class]);
        for plane in planes(set) {
            self.open_block_erased(self.plan.layout.plane(DieId(die as u16), plane as u8), stream);
        }
    }
}
