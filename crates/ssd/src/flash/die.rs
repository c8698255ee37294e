//! The dies: what each may start, what it is doing, and its planes' registers.
//!
//! A die runs one program or erase at a time, or senses on its planes. A sensed page stands in its plane's
//! page register; with a cache register it moves on at once, or as soon as that register is empty, so that
//! the plane can sense again. Without one it stays until it has left over the bus.
//!
//! A program takes its data into empty registers: into the cache registers while another program or erase
//! runs (`chip.cache_program`), unless an operation that the scheduling order prefers waits for the die.

use nand::DieId;
use schemes::Class;
use units::Time;

use super::backend::{FlashAt, FlashView};
use super::channel::Channel;
use super::op::{Owner, PageOp};
use super::placement::Placement;
use super::queues::{QueueId, Ranks};
use super::state::{Active, DieState, Ended, Pick, Program};
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
    /// What it would start next, and so what it wants the bus for.
    #[inline]
    fn picks(&mut self, pick: Pick, bus: &mut Channel) {
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
        if !P::EXPLAINS {
            return;
        }
        let PageOp { owner, seq, read, die, .. } = self.flash.ops[op];
        if matches!(owner, Owner::Host(_)) {
            let spent = self.flash.dies[die].spent(self.core.now);
            self.core.probe.explain(self.core.now, Event::Waits { part: seq, attempt: read.retries, spent });
        }
    }

    /// Queues a page to be programmed on a plane of a die.
    pub fn queue_program(&mut self, op: OpId) {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.waiting.set(queue, true);
        self.update_eligibility(die, queue);
        self.mark_dirty(die);
    }

    /// Takes the programs out of a queue of a die.
    pub fn empty_queue(&mut self, die: DieId, queue: QueueId) -> Vec<OpId> {
        let mut taken = Vec::new();
        while let Some(op) = self.flash.dies[die].queues[queue].pop(&mut self.flash.ops) {
            taken.push(op);
        }
        let state = &mut self.flash.dies[die];
        state.waiting.set(queue, false);
        state.flush_partial.set(queue, false);
        self.update_eligibility(die, queue);
        taken
    }

    /// Queues a block to be erased.
    pub fn queue_erase(&mut self, op: OpId) {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready.set(queue, true);
        self.mark_dirty(die);
    }

    /// Notes that a die may have something new to do.
    #[inline]
    pub fn mark_dirty(&mut self, die: DieId) {
        self.flash.stirred += 1;
        let state = &mut self.flash.dies[die];
        if !state.dirty {
            state.dirty = true;
            self.flash.dirty.push(die);
            self.core.marks.set |= Marks::DIES;
        }
    }

    /// Brings a die up to date: whether its program or erase is suspended or goes on, what it would start next and so what it
    /// wants the bus for, where its time goes, and its next event.
    pub fn reschedule(&mut self, die: DieId) {
        self.flash.stirred += 1;
        if self.core.plan.suspends {
            if self.flash.dies[die].suspended.is_some() {
                self.try_resume(die);
            }
            if self.flash.dies[die].active.is_some() {
                self.consider_suspension(die);
            }
        }
        if self.core.plan.config.gc.idle.is_some() {
            self.watch_idle(die);
        }
        let picked = self.view().pick(die);
        let state = &mut self.flash.dies[die];
        if picked != state.picked {
            state.picks(picked, &mut self.flash.channels[state.channel]);
        }
        if state.active.is_none() {
            let cause = if state.sensing != 0 {
                die::READ
            } else if state.page_full | state.cache_full | state.reserved.planes != 0 {
                die::HOLD
            } else {
                die::IDLE
            };
            state.meter.enter(self.core.now, cause, None);
            if P::EXPLAINS {
                self.core.probe.explain(self.core.now, Event::Die { die, cause, until: None });
            }
        }
        let next = state.next_end();
        if state.event != next {
            state.event = next;
            self.core.agenda.set(self.core.slots.die(die), next);
        }
        if P::NOTES_WAITS {
            self.note_wait(die);
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
                if P::NOTES_WAITS {
                    self.note_wait(other);
                }
            }
        }
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

    /// Something in the array of a die ends now, or its idle time. If that is no program and no erase, it has been dealt with.
    pub fn array_event(&mut self, die: DieId) -> Ended {
        let state = &mut self.flash.dies[die];
        state.pulses_begin = state.pulses_begin.filter(|at| *at > self.core.now);
        if state.suspend_pending.is_some_and(|at| at <= self.core.now) {
            self.suspended(die);
        }
        let Some((active, _)) = self.flash.dies[die].active.filter(|(_, end)| *end <= self.core.now) else {
            return self.senses_end(die);
        };
        self.flash.dies[die].active = None;
        // It can take programs again.
        self.flash.stirred += 1;
        if self.flash.dies[die].work.suspensions > 0 {
            self.charge_suspensions(die, active);
        }
        if let Active::Program(program) = active
            && program.pass + 1 < self.passes(&program)
        {
            self.start_loaded(die);
            return self.senses_end(die);
        }
        self.core.counters.operations += 1;
        self.count_suspended(die, active);
        match active {
            Active::Program(program) => {
                let of_host = self.flash.ops[program.ops].queue.class() == Class::UserProgram;
                self.flash.host_units -= u32::from(of_host);
                Ended::Program { first: program.ops, planes: program.planes }
            }
            Active::Erase(first) => Ended::Erase(first),
            Active::EraseOpened(writes, planes) => Ended::EraseOpened { writes, planes },
        }
    }

    /// Passes in which a program is done.
    #[inline]
    fn passes(&self, program: &Program) -> u8 {
        match self.core.plan.slc {
            None => self.core.plan.timings.passes,
            Some(_) => self.core.plan.program_times(self.flash.ops[program.ops].queue.writes()).0.passes,
        }
    }

    /// What has ended in the array has been dealt with: what waits for the array goes on, and the senses that end now end.
    pub fn after_array_event(&mut self, die: DieId) -> Ended {
        self.start_loaded(die);
        self.senses_end(die)
    }

    /// The senses of a die that end now, and its idle time.
    fn senses_end(&mut self, die: DieId) -> Ended {
        let mut sensing = self.flash.dies[die].sensing;
        while sensing != 0 {
            let plane = sensing.trailing_zeros() as usize;
            sensing &= sensing - 1;
            if self.flash.dies[die].sensed_at[plane] <= self.core.now {
                self.sensed(die, plane);
            }
        }
        let state = &mut self.flash.dies[die];
        if state.idle_until.is_some_and(|until| until <= self.core.now) {
            state.idle_until = None;
            return Ended::Idleness;
        }
        self.mark_dirty(die);
        Ended::Nothing
    }

    /// A die has started something: the other dies of its chip may have to wait, and it may be able to do more.
    pub fn has_started(&mut self, die: DieId) {
        self.take_chip(die);
        self.reschedule(die);
    }

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
}
