//! Erases: of blocks that were reclaimed or that a stream opens, on all planes of a die that go together. Where the
//! chip says how each block is erased (`erase.pulse`), planes go on with the next pulse together: each lasts until the
//! longest has ended.

use nand::{Address, DieId, PlaneId, PlanePrograms};

use units::{Lpn, Span};

use super::backend::FlashAt;
use super::op::{Owner, PageOp};
use super::placement::Placement;
use super::queues::QueueId;
use super::state::{Active, Work};
use crate::arena::OpId;
use crate::observe::probe::Probe;
use crate::observe::stats::{channel, die};
use crate::phases::Phases;
use crate::streams::StreamId;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Erases blocks that were reclaimed.
    pub(super) fn start_erase(&mut self, die: DieId, lead: QueueId) {
        let mut ops = None;
        let mut set = 0;
        for plane in 0..self.core.plan.layout.planes_per_die as usize {
            let queue = QueueId::of_erases(plane);
            let along = self.core.plan.config.chip.plane_programs == PlanePrograms::Lockstep
                && self.flash.dies[die].ready.has(queue)
                && self.view().may_erase(die, queue);
            if queue == lead || along {
                let op = self.flash.dies[die].queues[queue]
                    .pop(&mut self.flash.ops)
                    .expect("Invariant: ready queues are not empty");
                if self.flash.dies[die].queues[queue].is_empty() {
                    self.flash.dies[die].ready.set(queue, false);
                }
                self.flash.ops[op].next = ops;
                ops = Some(op);
                set |= 1 << plane;
            }
        }
        self.run_erase(die, Active::Erase(ops.expect("Invariant: a command has a block to erase")), set);
    }

    pub(super) fn run_erase(&mut self, die: DieId, erase: Active, set: u8) {
        let channel = self.flash.dies[die].channel;
        let start = self.occupy(channel, self.t_commands(set), channel::COMMAND);
        let phases = self.erase_phases(die, erase).or_else(|| self.phases_of_mode(die, erase));
        let assumed = || Phases::of_erase(self.core.plan.timings.erase);
        let phases = phases.or_else(|| self.core.plan.assumes_phases.of_erases.then(assumed));
        let end = start + phases.as_ref().map_or(self.core.plan.timings.erase, Phases::total);
        let state = &mut self.flash.dies[die];
        state.phases = phases;
        state.active = Some((erase, end));
        state.work = Work { began: start, runs_from: start, ..Work::default() };
        self.core.cuts.operation(start, end);
        self.die_enters(die, die::ERASE, None);
        self.array_draws(die, |plan| plan.config.energy.erase_mw, self.core.now, end);
        self.core.probe.erase(start, end, die, self.core.plan.layout.flash_set(set));
        self.tell_phases(die);
    }

    /// Erases blocks as far as the FTL is concerned; the phases that it takes, where they are the blocks' own. Blocks
    /// of a static SLC cache, which hold one bit a cell for good, are erased in `slc.t_bers`, beside the others if
    /// there are any.
    pub(super) fn erase_phases(&mut self, die: DieId, erase: Active) -> Option<Phases> {
        let (eraser, _) = self.core.plan.eraser.as_ref()?;
        let erasing = &eraser.erasing;
        let (t_grain, t_verify) = (erasing.t_grain, erasing.t_verify);
        let mut all: Option<Phases> = None;
        for (plane, block) in self.blocks_of(die, erase) {
            if let Some(slc) = self.core.plan.slc.as_ref().filter(|_| self.placement.in_slc(plane, block)) {
                if slc.fixed == 0 {
                    // Its cells are those of any block in another mode: they wear by a part of a cycle.
                    let wear = self.core.plan.config.slc.wear;
                    for flash_plane in self.core.plan.layout.flash_planes_of(plane) {
                        self.placement.wears_by(flash_plane, block, wear);
                    }
                }
                let pulse = Span(slc.timings.erase.0.saturating_sub(t_verify.0));
                let phases = Phases::each(std::iter::once(pulse), t_verify);
                match &mut all {
                    Some(joined) => joined.join(&phases),
                    None => all = Some(phases),
                }
                continue;
            }
            let pec = self.placement.cycles(plane, block, &self.core.plan) + 1;
            for flash_plane in self.core.plan.layout.flash_planes_of(plane) {
                let erase = self.placement.erase(flash_plane, block, pec);
                let counters = &mut self.core.counters;
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
        }
        all
    }

    /// The phases of an erase all of whose blocks are in the SLC cache's mode, or were: with blocks of both modes the
    /// longer one counts.
    fn phases_of_mode(&self, die: DieId, erase: Active) -> Option<Phases> {
        let slc = self.core.plan.slc.as_ref()?;
        let in_slc = |(plane, block): &(PlaneId, u32)| self.placement.in_slc(*plane, *block);
        let blocks = self.blocks_of(die, erase);
        let takes_slc = if slc.erase_factor > 1.0 { blocks.iter().any(in_slc) } else { blocks.iter().all(in_slc) };
        takes_slc.then(|| match &self.core.plan.erase_phases {
            Some(phases) => phases.slower(slc.erase_factor),
            None => Phases::even(1, slc.timings.erase, Span::ZERO),
        })
    }

    /// Erases the blocks that a write class has opened on a set of planes.
    pub fn start_erase_opened(&mut self, die: DieId, writes: StreamId, set: u8) {
        self.run_erase(die, Active::EraseOpened(writes, set), set);
    }

    /// Erases a free block of a plane ahead of need, if there is one that is to be.
    #[inline]
    pub fn erase_ahead(&mut self, plane: PlaneId) {
        if let Some(block) = self.placement.next_to_erase(plane, &self.core.plan) {
            self.queue_erase_of(plane, block);
        }
    }

    /// Queues an empty block to be erased, after the reads that came before.
    pub fn queue_erase_of(&mut self, plane: PlaneId, block: u32) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        let ppn = self.core.plan.layout.pack(Address { plane, block, page: 0 });
        let (seq, queue) = (self.flash.number(), QueueId::of_erases(place.into()));
        let op = PageOp { seq, ..PageOp::new(Owner::Erase, Lpn(0), ppn, (die, queue), 0) };
        let op = self.flash.ops.insert(op);
        self.queue_erase(op);
    }

    /// Queues a block to be erased.
    pub fn queue_erase(&mut self, op: OpId) {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready.set(queue, true);
        self.mark_dirty(die);
    }
}
