//! What waits for energy, and what uses it (`budget.rs`).
//!
//! When something may begin again, the operation goes first that would go first at a die: by the rank of its class in
//! `schedule.order`, then by age. So reads wait for one token where they are preferred, and nothing waits for ever that
//! would not at a die.

use nand::{ChannelId, DieId};
use schemes::Class;
use units::Time;

use super::backend::{FlashAt, FlashView};
use super::placement::Placement;
use super::state::{Pick, Precedence};
use crate::config::Plan;
use crate::core::Marks;
use crate::observe::probe::Probe;

impl<L: Placement> FlashView<'_, L> {
    /// The place of what a die would start among what waits on all dies.
    fn pick_precedence(&self, die: DieId) -> Option<Precedence> {
        let state = &self.flash.dies[die];
        match state.picked {
            Pick::Nothing => None,
            Pick::Read(queue) | Pick::Program(queue) | Pick::Erase(queue) => {
                Some((self.flash.ranks.of[queue.class() as usize], state.queues[queue].head_seq))
            }
            // It has begun before anything that waits.
            Pick::Resume | Pick::Pass => Some((self.flash.ranks.of[Class::UserProgram as usize], 0)),
        }
    }

    /// Of the dies that want the bus of a channel, the one that goes first.
    pub(super) fn first_die(&self, channel: ChannelId) -> Option<(Precedence, DieId)> {
        let bus = &self.flash.channels[channel];
        let mut wanted = bus.wants_command | bus.wants_data;
        let mut first = None;
        while wanted != 0 {
            let die = DieId((bus.first_die + wanted.trailing_zeros()) as u16);
            wanted &= wanted - 1;
            if let Some(precedence) = self.pick_precedence(die)
                && first.is_none_or(|first| (precedence, die) < first)
            {
                first = Some((precedence, die));
            }
        }
        first
    }
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Energy is used \[pJ].
    #[inline]
    pub(super) fn use_energy(&mut self, energy: impl FnOnce(&Plan) -> f64) {
        if self.flash.budget.is_some() {
            self.take_energy(energy(&self.core.plan));
        }
    }

    /// The array of a die draws a power \[mW] between two times: what of it is known already has been counted, and what
    /// will not be used after all is given back.
    #[inline]
    pub(super) fn array_draws(&mut self, die: DieId, power: impl FnOnce(&Plan) -> f64, from: Time, until: Time) {
        if let Some(budget) = &mut self.flash.budget {
            let energy = budget.array_energy(die, power(&self.core.plan), from, until);
            self.take_energy(energy);
        }
    }

    /// A plane of a die senses between two times, beside others perhaps, whose array is the same.
    #[inline]
    pub(super) fn senses(&mut self, die: DieId, from: Time, until: Time) {
        if let Some(budget) = &mut self.flash.budget {
            let energy = budget.sense_energy(die, self.core.plan.config.energy.sense_mw, from, until);
            self.take_energy(energy);
        }
    }

    /// The array of a die stops, where it began at a time or was to.
    pub(super) fn array_stops(&mut self, die: DieId, power: impl FnOnce(&Plan) -> f64, began: Time) {
        if let Some(budget) = &mut self.flash.budget {
            let energy = budget.stops(die, power(&self.core.plan), began, self.core.now);
            self.take_energy(energy);
        }
    }

    fn take_energy(&mut self, energy: f64) {
        let Some(budget) = &mut self.flash.budget else { return };
        let was_held = budget.is_held();
        if let Some(release) = budget.take(self.core.now, energy) {
            self.core.set_energy_event(release);
            if !was_held {
                self.note_energy_waits();
            }
        }
    }

    /// Marks the bus that is to be granted next where dies may begin again, if any is: they do in the order of their
    /// operations, until too much has been used again.
    #[cold]
    pub(super) fn mark_next_paid(&mut self) -> bool {
        let free = |channel: &ChannelId| {
            let bus = &self.flash.channels[*channel];
            bus.free_at <= self.core.now && bus.transfer_out.is_none()
        };
        let (view, held) = (self.view(), self.flash.is_held());
        let channels = self.flash.channels.ids().filter(|channel| !held && free(channel));
        let next = channels.filter_map(|channel| view.first_die(channel).map(|first| (first, channel))).min();
        match next {
            Some((_, channel)) => self.core.marks.bus(channel),
            None => self.core.marks.set &= !Marks::ENERGY,
        }
        next.is_some()
    }

    /// Something may begin again.
    pub fn energy_is_paid(&mut self) {
        if let Some(budget) = &mut self.flash.budget {
            budget.release(self.core.now);
        }
        self.core.set_energy_event(Time::NEVER);
        self.core.marks.set |= Marks::ENERGY;
        self.note_energy_waits();
    }

    /// Dies that wait, wait for something else from now on.
    fn note_energy_waits(&mut self) {
        if P::EXPLAINS && self.core.probe.notes_waits() {
            self.flash.dies.ids().for_each(|die| self.note_wait(die));
        }
    }
}
