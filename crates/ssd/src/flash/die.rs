//! The dies' books: which may have something new to do, what their time goes into, what they wait for, and which have
//! their chips.

use nand::DieId;
use units::Time;

use super::backend::{FlashAt, FlashView};
use super::channel::Channel;
use super::op::{Owner, PageOp};
use super::placement::Placement;
use super::queues::Ranks;
use super::state::{DieState, Pick};
use crate::arena::OpId;
use crate::core::Marks;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::die;

impl<L: Placement> FlashView<'_, L> {
    pub(super) fn chip_taken(&self, die: DieId) -> bool {
        // Where the dies of a chip overlap, nobody has it for itself.
        self.flash.chip_owner[self.flash.dies[die].chip].is_some_and(|owner| owner != die)
    }
}

impl DieState {
    /// What its time goes into while its array works at no program and no erase.
    #[inline]
    pub(super) fn standing(&self) -> usize {
        match (self.sensing, self.page_full | self.cache_full | self.reserved.planes) {
            (0, 0) => die::IDLE,
            (0, _) => die::HOLD,
            _ => die::READ,
        }
    }

    /// What it would start next, and so what it wants the bus for.
    #[inline]
    pub(super) fn picks(&mut self, pick: Pick, bus: &mut Channel) {
        self.picked = pick;
        bus.wants_command &= !self.bit;
        bus.wants_data &= !self.bit;
        match pick {
            Pick::Nothing => {}
            Pick::Read(_) | Pick::Erase(_) => bus.wants_command |= self.bit,
            Pick::Program(_) | Pick::Resume | Pick::Pass => bus.wants_data |= self.bit,
        }
    }
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// A page of host data more waits for its program.
    pub fn one_more_waits(&mut self) {
        self.count_waiting(self.flash.programs_waiting + 1);
    }

    /// A page fewer of host data, or of padding of a zone, waits for its program.
    pub fn one_less_waits(&mut self) {
        self.count_waiting(self.flash.programs_waiting - 1);
    }

    /// Counts the pages of host data that wait for their program, and keeps the order that goes with their number.
    pub fn count_waiting(&mut self, programs: u32) {
        self.flash.programs_waiting = programs;
        let full = self.core.plan.config.schedule.write_queue.is_some_and(|most| programs >= most);
        if full != self.flash.write_queue_full {
            self.flash.write_queue_full = full;
            self.flash.ranks = Ranks::new(&self.core.plan, full);
            self.flash.dies.ids().for_each(|die| self.mark_dirty(die));
        }
    }

    /// Tells the probe that a part of a host read waits for its die.
    #[inline]
    pub fn waits(&mut self, op: OpId) {
        let PageOp { owner, seq, read, die, .. } = self.flash.ops[op];
        if matches!(owner, Owner::Host(_)) {
            let spent = self.flash.dies[die].spent(self.core.now);
            self.core.probe.explain(self.core.now, Event::Waits { part: seq, attempt: read.retries, spent });
        }
    }

    /// Notes that a die may have something new to do.
    #[inline]
    pub fn mark_dirty(&mut self, die: DieId) {
        let state = &mut self.flash.dies[die];
        self.flash.channels[state.channel].stirred |= state.bit;
        if !state.dirty {
            state.dirty = true;
            self.flash.dirty.push(die);
            self.core.marks.set |= Marks::DIES;
        }
    }

    /// Notes what a die waits for, if it is idle and has work.
    pub(super) fn note_wait(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        let registers = state.page_full | state.cache_full | state.reserved.planes;
        let wait = if state.active.is_some() || state.sensing != 0 || registers != 0 {
            None
        } else if self.view().chip_taken(die) {
            Some(die::WAIT_CHIP)
        } else if state.picked != Pick::Nothing && self.flash.is_held() {
            Some(die::WAIT_ENERGY)
        } else if state.picked != Pick::Nothing {
            Some(die::WAIT_BUS)
        } else if state.exclusive != 0 {
            Some(die::WAIT_COLLECTION)
        } else {
            None
        };
        let wait = wait.map_or(0, |wait| wait + 1 - die::CAUSES.len());
        self.flash.dies[die].waits.enter(self.core.now, wait, None);
    }

    /// A die's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn die_enters(&mut self, die: DieId, cause: usize, until: Option<(Time, usize)>) {
        self.flash.dies[die].meter.enter(self.core.now, cause, until);
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Die { die, cause, until });
        }
    }

    /// Keeps the other dies of a chip from working while this one does: they want the bus no more.
    pub(super) fn take_chip(&mut self, die: DieId) {
        if self.core.plan.config.bus.die_interleaving || self.flash.dies[die].array_idle() {
            return;
        }
        let chip = self.flash.dies[die].chip;
        if self.flash.chip_owner[chip] != Some(die) {
            self.flash.chip_owner[chip] = Some(die);
            for other in self.flash.others_of_chip(die) {
                let state = &mut self.flash.dies[other];
                state.picks(Pick::Nothing, &mut self.flash.channels[state.channel]);
                if P::EXPLAINS && self.core.probe.notes_waits() {
                    self.note_wait(other);
                }
            }
        }
    }
}
