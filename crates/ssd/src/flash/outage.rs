//! The power is cut: what is under way in the arrays stops, and everything else of the flash's is forgotten.

use nand::{DieId, PlaneId};
use units::Time;

use super::backend::{Flash, FlashAt};
use super::channel::Channel;
use super::placement::Placement;
use super::state::{Active, DieState};
use crate::arena::OpId;
use crate::config::Plan;
use crate::observe::probe::Probe;
use crate::observe::stats::{channel, die};

/// What was under way in the array of a die.
pub(crate) enum Interrupted {
    /// A program, by its first operation.
    Program(OpId),
    /// The erase of these blocks.
    Erase(Vec<(PlaneId, u32)>),
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// What is under way in the array of a die: what it does now, and programs of which a pass has been done and
    /// another one has not.
    pub fn under_way(&self, die: DieId) -> Vec<Interrupted> {
        let state = &self.flash.dies[die];
        let now = state.operation();
        let mut known: Vec<OpId> = match now {
            Some(Active::Program(program)) => vec![program.ops],
            _ => Vec::new(),
        };
        let mut all: Vec<Interrupted> = self.in_array(die).into_iter().collect();
        if let Some(Interrupted::Program(first)) = all.first() {
            known.push(*first);
        }
        if let (Some(_), Some(paused)) = (state.active, &state.suspended) {
            all.push(Interrupted::Erase(self.blocks_of(die, paused.active)));
        }
        let loaded = state.loaded.iter().filter(|program| program.pass > 0);
        for program in state.next_pass.iter().chain(loaded).chain(&state.coarse) {
            if !known.contains(&program.ops) {
                known.push(program.ops);
                all.push(Interrupted::Program(program.ops));
            }
        }
        all
    }

    /// What a die's array does now.
    fn in_array(&self, die: DieId) -> Option<Interrupted> {
        let state = &self.flash.dies[die];
        let active = state.operation();
        let next_pass = state.next_pass.map(Active::Program);
        let array = active.or(next_pass)?;
        // Data may still be on its way into the registers; further passes go over what has been programmed.
        let first_pass = !matches!(array, Active::Program(program) if program.pass > 0);
        if state.active.is_some() && first_pass && state.work.began >= self.core.now {
            return None;
        }
        Some(match array {
            Active::Program(program) => Interrupted::Program(program.ops),
            erase => Interrupted::Erase(self.blocks_of(die, erase)),
        })
    }

    /// Everything stops.
    pub fn power_off(&mut self) {
        let now = self.core.now;
        for die in self.flash.dies.ids() {
            self.die_enters(die, die::IDLE, None);
            // What its array would have used after this.
            match self.flash.dies[die].active {
                // The data of a program may be on its way into the registers.
                Some((Active::Program(program), _)) => {
                    self.array_stops(die, |plan| plan.config.energy.program_mw, program.ready);
                }
                Some((active, _)) => self.array_stops(die, Active::power(active), now),
                None => self.array_stops(die, |plan| plan.config.energy.sense_mw, now),
            }
        }
        for channel in self.flash.channels.ids() {
            self.bus_enters(channel, channel::IDLE, None);
        }
        self.flash.power_off(now, &self.core.plan);
        // What is owed stays owed, and its event is gone.
        self.use_energy(|_| 0.0);
    }
}

impl Flash {
    fn power_off(&mut self, now: Time, plan: &Plan) {
        for (number, die) in self.dies.iter_mut().enumerate() {
            let place = die.bit.trailing_zeros();
            let mut fresh = DieState::new(die.channel, place, number / plan.layout.dies_per_chip as usize);
            (fresh.meter, fresh.waits) = (die.meter, die.waits);
            fresh.waits.enter(now, 0, None);
            *die = fresh;
        }
        for channel in self.channels.iter_mut() {
            let mut fresh = Channel::new(channel.first_die);
            fresh.meter = channel.meter;
            fresh.ecc.busy = channel.ecc.busy_until(now);
            *channel = fresh;
        }
        self.forget(plan);
    }
}
