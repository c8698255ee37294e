//! A die is brought up to date: whether its program or erase is suspended or goes on, what it starts next and so what
//! it wants the bus for, where its time goes, and when something ends in its array. With dies of a chip that do not
//! overlap, one keeps the others waiting.

use nand::DieId;

use super::backend::{Flash, FlashAt};
use super::placement::Placement;
use super::state::Pick;
use crate::observe::probe::{Event, Probe};

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Brings the dies up to date that may have something new to do since this was asked last.
    pub(super) fn reschedule_dirty(&mut self) {
        let from = self.flash.rescheduled;
        self.flash.rescheduled = self.flash.dirty.len();
        if !self.core.plan.config.bus.die_interleaving {
            // Marks the other dies of the chip: they say what they want before the bus is granted.
            let mut next = from;
            while next < self.flash.dirty.len() {
                self.release_chip(self.flash.dirty[next]);
                next += 1;
            }
            self.flash.rescheduled = next;
        }
        for index in from..self.flash.rescheduled {
            let die = self.flash.dirty[index];
            self.flash.dies[die].dirty = false;
            self.reschedule(die);
        }
    }

    /// Brings a die up to date: whether its program or erase is suspended or goes on, what it would start next and so
    /// what it wants the bus for, where its time goes, and its next event.
    #[inline]
    pub fn reschedule(&mut self, die: DieId) {
        let (state, config) = (&self.flash.dies[die], &self.core.plan.config);
        if state.active.is_some() || state.suspended.is_some() || config.gc.idle.is_some() {
            self.watch(die);
        } else if state.starts_nothing(config.chip.plane_reads, &self.flash.ranks) {
            // Mostly so.
            self.stands(die, Pick::Nothing);
        } else {
            self.starts(die);
        }
    }

    /// Brings a die up to date on which more than reads goes on, or that is watched while it is idle.
    #[inline(never)]
    fn watch(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        if state.active.is_some() || state.suspended.is_some() {
            self.watch_array(die);
        }
        if self.core.plan.config.gc.idle.is_some() {
            self.watch_idle(die);
        }
        let picked = self.view().pick(die);
        self.stands(die, picked);
    }

    /// Brings a die up to date that has something to start.
    #[inline(never)]
    fn starts(&mut self, die: DieId) {
        let (state, view) = (&self.flash.dies[die], self.view());
        let alone = if state.retries.is_empty() { state.only_reads() } else { view.goes_on_alone(state) };
        let picked = match alone {
            Some(queue) if !view.chip_taken(die) => Pick::Read(queue),
            _ => view.pick_of_ready(die),
        };
        self.stands(die, picked);
    }

    /// What a die would start next is known: what it wants the bus for, where its time goes, and its next event.
    #[inline(always)]
    fn stands(&mut self, die: DieId, picked: Pick) {
        let Flash { dies, channels, .. } = &mut *self.flash;
        let state = &mut dies[die];
        let bus = &mut channels[state.channel];
        bus.stirred |= state.bit;
        if picked != state.picked {
            state.picks(picked, bus);
        }
        if state.active.is_none() {
            let cause = state.standing();
            state.meter.enter(self.core.now, cause, None);
            if P::EXPLAINS {
                self.core.probe.explain(self.core.now, Event::Die { die, cause, until: None });
            }
        }
        let state = &mut self.flash.dies[die];
        let next = state.next_end();
        if state.event != next {
            state.event = next;
            self.core.agenda.set(self.core.slots.die(die), next);
        }
        if P::EXPLAINS && self.core.probe.notes_waits() {
            self.note_wait(die);
        }
    }

    /// Whether the program or erase of a die is suspended or goes on.
    fn watch_array(&mut self, die: DieId) {
        if self.flash.dies[die].suspended.is_some() {
            if self.core.plan.config.schedule.suspend_budget.is_some() {
                self.note_overdue(die);
            }
            self.try_resume(die);
        }
        if self.core.plan.suspends && self.flash.dies[die].active.is_some() {
            self.consider_suspension(die);
        }
    }

    /// A die has started something: the other dies of its chip may have to wait, and it may be able to do more.
    pub fn has_started(&mut self, die: DieId) {
        self.take_chip(die);
        self.reschedule(die);
    }

    /// Starts or stops the clock of background collection.
    fn watch_idle(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        let registers = state.page_full | state.cache_full;
        let idle = state.array_idle() && state.ready.is_empty() && registers | state.reserved.planes == 0;
        let until = match state.idle_until {
            _ if !idle || !self.placement.wants_background(die, &self.core.plan) => None,
            None => self.core.plan.config.gc.idle.map(|idle| self.core.now + idle),
            running => running,
        };
        self.flash.dies[die].idle_until = until;
    }

    /// Lets the other dies of a chip work when this one has stopped.
    fn release_chip(&mut self, die: DieId) {
        if !self.flash.dies[die].array_idle() {
            return;
        }
        let chip = self.flash.dies[die].chip;
        if self.flash.chip_owner[chip] == Some(die) {
            self.flash.chip_owner[chip] = None;
            for other in self.flash.others_of_chip(die) {
                self.mark_dirty(other);
            }
        }
    }
}
