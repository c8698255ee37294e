//! What the array of a die works at: the phases of a program or an erase, the blocks of an erase.

use nand::{Address, DieId, PlaneId};
use schemes::Class;
use units::{Span, Time};

use super::backend::FlashAt;
use super::placement::Placement;
use super::queues::planes;
use super::state::{Active, Program, Work};
use crate::observe::probe::{Event, Probe};
use crate::phases::Phases;

/// The most phases of an operation that a probe gets.
pub(super) const MOST_TOLD: usize = 1000;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// The phases of what a die does, where they are known.
    pub(super) fn phases_of(&self, die: DieId, active: Active) -> Option<&Phases> {
        let planned = match active {
            Active::Program(_) => self.core.plan.program_phases.as_ref(),
            Active::Erase(_) | Active::EraseOpened(..) => self.core.plan.erase_phases.as_ref(),
        };
        self.flash.dies[die].phases.as_ref().or(planned)
    }

    /// The phases of what a die does, and its class; none where it is not to be suspended.
    pub(super) fn suspendable(&self, die: DieId, active: Active) -> Option<(&Phases, Class)> {
        let class = match active {
            Active::Program(program) => self.flash.ops[program.ops].queue.class(),
            Active::Erase(_) | Active::EraseOpened(..) => Class::Erase,
        };
        Some((self.phases_of(die, active)?, class))
    }

    /// Tells the probe which phases the active operation of a die has ahead.
    #[inline]
    pub fn tell_phases(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        if !P::EXPLAINS {
            return;
        }
        let Some((active, _)) = state.active else { return };
        let Some(phases) = self.phases_of(die, active).cloned() else { return };
        let (die, Work { runs_from, mut position, .. }) = (die, state.work);
        let origin = Time(runs_from.0 - position);
        let total = phases.total().0;
        for _ in 0..MOST_TOLD {
            if position >= total {
                break;
            }
            let (pulse, _, ends, number) = phases.phase(position);
            let (from, to) = (origin + Span(position), origin + Span(ends));
            self.core.probe.explain(self.core.now, Event::Phase { die, pulse, number, from, to });
            position = ends;
        }
    }

    /// The blocks that an erase erases.
    pub(super) fn blocks_of(&self, die: DieId, erase: Active) -> Vec<(PlaneId, u32)> {
        let layout = &self.core.plan.layout;
        match erase {
            Active::Erase(first) => {
                let ops = std::iter::successors(Some(first), |op| self.flash.ops[*op].next);
                let addresses = ops.map(|op| layout.unpack(self.flash.ops[op].ppn.get()));
                addresses.map(|Address { plane, block, .. }| (plane, block)).collect()
            }
            Active::EraseOpened(writes, set) => {
                let stream = self.core.plan.streams.opened_by(writes);
                let opened = planes(set).map(|plane| layout.plane(die, plane as u8));
                opened.map(|plane| (plane, self.placement.open_block(plane, stream))).collect()
            }
            Active::Program(_) => Vec::new(),
        }
    }

    /// Passes in which a program is done.
    #[inline]
    pub(super) fn passes(&self, program: &Program) -> u8 {
        match self.core.plan.slc {
            None => self.core.plan.timings.passes,
            Some(_) => self.core.plan.program_times(self.flash.ops[program.ops].queue.writes()).0.passes,
        }
    }
}
