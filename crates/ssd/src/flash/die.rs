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
use units::{Id as _, Lpn, Ppn, Time};

use super::layer::{FlashAt, FlashView};
use super::op::{Owner, PageOp, Sense};
use super::queues::{ERASE_ROW, PLANES, Ranks, program_queue};
use super::state::{Active, BusRequest, Ended, Pick, Started};
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::die;

impl FlashView<'_> {
    pub(super) fn chip_taken(&self, die: DieId) -> bool {
        if self.plan.config.bus.die_interleaving {
            return false;
        }
        let chip = die.index() / self.plan.layout.dies_per_chip as usize;
        self.flash.chip_owner[chip].is_some_and(|owner| owner != die)
    }
}

impl<P: Probe> FlashAt<'_, P> {
    /// Queues a page to be sensed.
    #[inline]
    pub fn queue_read(&mut self, class: Class, owner: Owner, lpn: Lpn, ppn: Ppn, bytes: (u32, u32)) {
        self.ftl.blocks.prefetch(ppn);
        let (die, plane) = self.core.plan.layout.die_of(self.core.plan.layout.plane_of(ppn));
        let seq = self.flash.number();
        let (bus_bytes, host_bytes) = bytes;
        let op = PageOp {
            next: None,
            owner,
            lpn: lpn.into(),
            ppn: ppn.into(),
            bus_bytes,
            host_bytes,
            die,
            plane,
            class,
            write_class: 0,
            seq,
            sense: Sense::FIRST,
        };
        let op = self.flash.ops.insert(op);
        let queue = class as usize * PLANES + usize::from(plane);
        self.waits(op);
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

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
            self.flash.ranks = Ranks::new(&self.core.plan.config, full);
            self.flash.dies.ids().for_each(|die| self.mark_dirty(die));
        }
    }

    /// Tells the probe that a part of a host read waits for its die.
    #[inline]
    pub fn waits(&mut self, op: OpId) {
        let PageOp { owner, seq, sense, die, .. } = self.flash.ops[op];
        if P::EXPLAINS && matches!(owner, Owner::Host(_)) {
            let spent = self.flash.dies[die].spent(self.core.now);
            self.core.probe.explain(self.core.now, Event::Waits { part: seq, attempt: sense.attempt, spent });
        }
    }

    /// Queues a page to be programmed on a plane of a die.
    pub fn queue_program(&mut self, op: OpId) {
        let (die, plane, write_class) =
            (self.flash.ops[op].die, self.flash.ops[op].plane, self.flash.ops[op].write_class);
        let queue = program_queue(write_class.into(), plane.into());
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.waiting |= 1 << queue;
        self.update_eligibility(die, queue);
        self.mark_dirty(die);
    }

    /// Queues a block to be erased.
    pub fn queue_erase(&mut self, op: OpId) {
        let (die, plane) = (self.flash.ops[op].die, self.flash.ops[op].plane);
        let queue = ERASE_ROW * PLANES + usize::from(plane);
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

    /// Notes that a die may have something new to do.
    #[inline]
    pub fn mark_dirty(&mut self, die: DieId) {
        let state = &mut self.flash.dies[die];
        if !state.dirty {
            state.dirty = true;
            self.flash.dirty.push(die);
        }
    }

    /// Brings a die's event, its meter and its wish for the bus up to date.
    pub fn reschedule(&mut self, die: DieId) {
        if self.core.plan.suspends {
            if self.flash.dies[die].suspended.is_some() {
                self.try_resume(die);
            }
            if self.flash.dies[die].active.is_some() {
                self.consider_suspension(die);
            }
        }
        let picked = self.view().pick(die);
        self.flash.dies[die].picked = picked;
        let choice = match picked {
            Pick::Nothing => BusRequest::Nothing,
            Pick::Read(_) | Pick::Erase(_) => BusRequest::Command,
            Pick::Program(_) | Pick::Resume => BusRequest::Data,
        };
        self.request_bus(die, choice);
        if self.core.plan.config.gc.idle.is_some() {
            self.watch_idle(die);
        }
        let state = &self.flash.dies[die];
        let next = state.next_end();
        if state.active.is_none() {
            let cause = if state.sensing != 0 {
                die::READ
            } else if state.page_full | state.cache_full | state.reserved.planes != 0 {
                die::HOLD
            } else {
                die::IDLE
            };
            self.die_enters(die, cause, None);
        }
        if P::EXPLAINS {
            self.note_wait(die);
        }
        if self.flash.dies[die].event != next {
            self.flash.dies[die].event = next;
            self.core.agenda.set_or_clear(self.core.slots.of_die(die), next);
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
        } else if state.picked != Pick::Nothing {
            Some(die::WAIT_BUS)
        } else if state.exclusive != 0 {
            Some(die::WAIT_COLLECTION)
        } else {
            None
        };
        let wait = wait.map_or(0, |wait| wait + 1 - die::CAUSES.len());
        self.flash.dies[die].waits.enter(self.core.now, wait);
    }

    /// Starts or stops the clock of background collection.
    pub(super) fn watch_idle(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        let registers = state.page_full | state.cache_full;
        let idle = state.array_idle() && state.ready == 0 && registers | state.reserved.planes == 0;
        let until = match state.idle_until {
            _ if !idle || !self.ftl.wants_background(die, &self.core.plan) => None,
            None => self.core.plan.config.gc.idle.map(|idle| self.core.now + idle),
            running => running,
        };
        self.flash.dies[die].idle_until = until;
    }

    /// A die's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn die_enters(&mut self, die: DieId, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.flash.dies[die].meter;
        match until {
            None => meter.enter(self.core.now, cause),
            Some((end, next)) => meter.enter_until(self.core.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Die { die, cause, until });
        }
    }

    /// Keeps the other dies of a chip from working while this one does: they take their wishes back.
    pub(super) fn take_chip(&mut self, die: DieId) {
        if self.core.plan.config.bus.die_interleaving || self.flash.dies[die].array_idle() {
            return;
        }
        let per_chip = self.core.plan.layout.dies_per_chip as usize;
        let chip = die.index() / per_chip;
        if self.flash.chip_owner[chip] != Some(die) {
            self.flash.chip_owner[chip] = Some(die);
            for other in (chip * per_chip..(chip + 1) * per_chip).map(DieId::new).filter(|other| *other != die) {
                self.flash.dies[other].picked = Pick::Nothing;
                self.request_bus(other, BusRequest::Nothing);
                if P::EXPLAINS {
                    self.note_wait(other);
                }
            }
        }
    }

    /// Lets the other dies of a chip work when this one has stopped.
    pub(super) fn release_chip(&mut self, die: DieId) {
        if self.core.plan.config.bus.die_interleaving || !self.flash.dies[die].array_idle() {
            return;
        }
        let per_chip = self.core.plan.layout.dies_per_chip as usize;
        let chip = die.index() / per_chip;
        if self.flash.chip_owner[chip] == Some(die) {
            self.flash.chip_owner[chip] = None;
            for step in 1..per_chip {
                self.mark_dirty(DieId::new(chip * per_chip + (die.index() + step) % per_chip));
            }
        }
    }

    /// What in the array of a die has ended now, if anything has but senses.
    pub fn array_event(&mut self, die: DieId) -> Option<Ended> {
        let state = &mut self.flash.dies[die];
        state.pulses_begin = state.pulses_begin.filter(|at| *at > self.core.now);
        if state.suspend_pending.is_some_and(|at| at <= self.core.now) {
            self.suspended(die);
        }
        let (active, _) = self.flash.dies[die].active.filter(|(_, end)| *end <= self.core.now)?;
        self.flash.dies[die].active = None;
        self.core.counters.operations += 1;
        self.count_suspended(die, active);
        Some(match active {
            Active::Program(program) => {
                let of_host = self.flash.ops[program.ops].class == Class::UserProgram;
                self.flash.host_units -= u32::from(of_host);
                Ended::Program { first: program.ops, planes: program.planes }
            }
            Active::Erase(first) => Ended::Erase(first),
            Active::EraseOpened(write_class, planes) => Ended::EraseOpened { write_class, planes },
        })
    }

    /// Whether a die has been idle for as long as background collection waits.
    pub fn idle_elapsed(&mut self, die: DieId) -> bool {
        let elapsed = self.flash.dies[die].idle_until.is_some_and(|until| until <= self.core.now);
        if elapsed {
            self.flash.dies[die].idle_until = None;
        }
        elapsed
    }

    /// Starts the read or erase that the die picks, unless that opens a block first. The bus is free.
    pub fn start_command(&mut self, die: DieId) -> Started {
        match self.flash.dies[die].picked {
            Pick::Read(queue) => Started::Sense { of_host: self.start_sense(die, queue) },
            Pick::Erase(queue) if queue >= ERASE_ROW * PLANES => {
                self.start_erase(die, queue);
                Started::Erase
            }
            Pick::Erase(lead) => Started::OpensBlocks { lead },
            Pick::Nothing | Pick::Program(_) | Pick::Resume => {
                unreachable!("Invariant: a die is rescheduled whenever what it can do changes")
            }
        }
    }

    /// A die has started something: the other dies of its chip may have to wait, and it may be able to do more.
    pub fn has_started(&mut self, die: DieId) {
        self.take_chip(die);
        self.reschedule(die);
    }

    /// Brings the dies up to date that may have something new to do, `from` so many on in their list; returns where the list
    /// ends.
    pub fn reschedule_dirty(&mut self, from: usize) -> usize {
        let mut end = from;
        while end < self.flash.dirty.len() {
            // Marks the other dies of the chip: they say what they want before the bus is granted.
            self.release_chip(self.flash.dirty[end]);
            end += 1;
        }
        for index in from..end {
            let die = self.flash.dirty[index];
            self.flash.dies[die].dirty = false;
            self.reschedule(die);
        }
        end
    }
}
