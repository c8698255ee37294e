//! Programs and erases that let user reads go first: at or inside their phases, and on again afterwards.
//!
//! A suspended die takes user reads and nothing else; when none waits and their pages have left the page registers, the
//! operation goes on. The data of a suspended program is in the chip's shadow buffer, or is sent again over the bus.

use nand::DieId;
use schemes::{Class, InPhase, ResumeMode, SuspendPoint};
use units::{Ppn, Span};

use super::backend::FlashAt;
use super::placement::Placement;
use super::queues::USER_READS;
use super::state::Active;
use crate::config::Config;
use crate::observe::probe::Probe;
use crate::observe::stats::channel;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Lets a user read go before the operation under way, if there is one to.
    pub fn consider_suspension(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        let Some((active, end)) = state.active else { return };
        let room = state.loaded.is_none() || self.core.plan.config.chip.shadow_buffer;
        let free = state.suspend_pending.is_none() && room && state.exclusive == 0;
        if !self.core.plan.suspends || !free || !state.ready.meets(USER_READS) {
            return;
        }
        let Some((phases, class)) = self.suspendable(die, active) else { return };
        if self.flash.ranks.of[Class::UserRead as usize] >= self.flash.ranks.of[class as usize] {
            return;
        }
        let (work, total, verify) = (state.work, phases.total().0, phases.verify);
        if self.core.plan.config.schedule.suspensions.is_some_and(|most| work.suspensions >= most) {
            return;
        }
        let reset = self.core.plan.config.chip.t_voltage_reset;
        if self.core.now < work.runs_from && work.suspensions == 0 {
            // Its data is still on the way, or it copies back: it is looked at again when its pulses begin.
            self.flash.dies[die].pulses_begin = Some(work.runs_from);
            return;
        }
        let gets_on = class == Class::Erase && self.core.plan.config.schedule.suspend_erase.gets_on();
        let (after, position, before) = if self.core.now < work.runs_from && !gets_on {
            // Suspended again before it has got on.
            (reset, work.position, work.before)
        } else {
            let from = self.core.now.max(work.runs_from);
            let position = work.position + from.since(work.runs_from).0;
            let (pulse, began, ends, _) = phases.phase(position);
            let points = self.core.plan.config.schedule.safe_points;
            let safe = Some(Span((ends - began) / u64::from(points))).filter(|_| class == Class::Erase);
            let at = InPhase { pulse, done: Span(position - began), left: Span(ends - position), reset, safe };
            let Some((after, goes)) = self.suspend_point(class, at) else { return };
            let ahead = from.since(self.core.now);
            match goes {
                ResumeMode::NextPhase => (ahead + after, ends, Span::ZERO),
                ResumeMode::RepeatPhase => (ahead + after, began, Span::ZERO),
                ResumeMode::VerifyThenRepeat => (ahead + after, began, verify),
                ResumeMode::RestOfPhase => (ahead + after, position + after.0 - reset.0, reset),
            }
        };
        if self.core.now + after >= end || position >= total {
            return; // It ends before it could be suspended.
        }
        let state = &mut self.flash.dies[die];
        state.suspend_pending = Some(self.core.now + after);
        (state.work.position, state.work.before) = (position, before);
    }

    pub(super) fn suspend_point(&self, class: Class, at: InPhase) -> SuspendPoint {
        let Config { schedule, policies, .. } = &self.core.plan.config;
        if class == Class::Erase {
            policies.suspend_erase(schedule.suspend_erase, at)
        } else {
            policies.suspend_program(schedule.suspend_program, at)
        }
    }

    /// The array is free for reads.
    pub fn suspended(&mut self, die: DieId) {
        let state = &mut self.flash.dies[die];
        state.suspend_pending = None;
        let Some((active, _)) = state.active.take() else { return };
        state.suspended = Some(active);
        state.work.suspensions += 1;
        let (first, position) = (state.work.suspensions == 1, state.work.position);
        match active {
            Active::Program(_) => self.core.counters.program_suspensions += 1,
            Active::Erase(_) | Active::EraseOpened(..) => {
                self.core.counters.erase_suspensions += 1;
                let phase = self.phases_of(die, active).map(|phases| phases.phase(position));
                let within = phase.is_some_and(|(pulse, began, ..)| pulse && position > began);
                self.flash.dies[die].work.within_pulses += u32::from(within);
                self.core.counters.pulse_suspensions += u64::from(within);
            }
        }
        self.core.counters.operations_suspended += u64::from(first);
        self.array_draws(die, Active::power(active), self.core.now, self.core.now);
        self.core.probe.suspend(self.core.now, die);
    }

    /// Lets the suspended operation of a die go on, if it can without the bus.
    pub fn try_resume(&mut self, die: DieId) {
        if !self.view().may_resume(die) {
            return;
        }
        let chip = &self.core.plan.config.chip;
        let setup = match self.flash.dies[die].suspended {
            Some(Active::Program(_)) if chip.shadow_buffer => chip.t_buffer,
            Some(Active::Program(_)) | None => return,
            Some(Active::Erase(_) | Active::EraseOpened(..)) => Span::ZERO,
        };
        self.go_on(die, setup);
    }

    pub(super) fn go_on(&mut self, die: DieId, setup: Span) {
        let Some(active) = self.flash.dies[die].suspended.take() else { return };
        let Some((phases, _)) = self.suspendable(die, active) else { return };
        let total = phases.total();
        let state = &mut self.flash.dies[die];
        state.work.runs_from = self.core.now + setup + state.work.before;
        let end = state.work.runs_from + Span(total.0 - state.work.position);
        state.active = Some((active, end));
        let cause = if matches!(active, Active::Program(_)) {
            crate::observe::stats::die::PROGRAM
        } else {
            crate::observe::stats::die::ERASE
        };
        self.die_enters(die, cause, None);
        self.array_draws(die, Active::power(active), self.core.now, end);
        self.core.probe.resume(self.core.now, end, die);
        self.tell_phases(die);
    }

    /// Sends the data of a suspended program again. The bus is free.
    pub fn send_again(&mut self, die: DieId) {
        let Some(Active::Program(program)) = self.flash.dies[die].suspended else { return };
        let channel = self.flash.dies[die].channel;
        let writes = self.flash.ops[program.ops].queue.writes();
        let ready = self.occupy(channel, self.t_program_data(program.planes, writes), channel::WRITE_DATA);
        self.go_on(die, ready.since(self.core.now));
    }

    /// What suspensions of an operation, or of a pass of one, leave behind: errors in pages, wear of blocks.
    pub(super) fn charge_suspensions(&mut self, die: DieId, active: Active) {
        let (chip, work) = (&self.core.plan.config.chip, self.flash.dies[die].work);
        let layout = self.core.plan.layout;
        match active {
            Active::Program(program) => {
                if chip.suspended_program_errors == 0.0 {
                    return;
                }
                let ops = std::iter::successors(Some(program.ops), |op| self.flash.ops[*op].next);
                let mut pages: Vec<Ppn> = ops.map(|op| self.flash.ops[op].ppn.get()).collect();
                // Units of the map that share a page are programmed together.
                pages.dedup_by_key(|ppn| (layout.flash_plane_of(*ppn), layout.flash_page_of(*ppn)));
                pages.into_iter().for_each(|ppn| self.placement.program_suspended(ppn, work.suspensions));
            }
            Active::Erase(_) | Active::EraseOpened(..) => {
                let worn = chip.suspended_erase_wear * f64::from(work.within_pulses);
                let blocks = if worn > 0.0 { self.blocks_of(die, active) } else { Vec::new() };
                for (plane, block) in blocks {
                    let planes = layout.flash_planes_of(plane);
                    planes.for_each(|plane| self.placement.wears_by(plane, block, worn));
                }
            }
        }
    }

    /// Counts what suspensions have added to an operation that ends now.
    pub(super) fn count_suspended(&mut self, die: DieId, active: Active) {
        let work = self.flash.dies[die].work;
        if work.suspensions == 0 {
            return;
        }
        let nominal = match (&self.flash.dies[die].phases, active) {
            (Some(phases), _) => phases.total(),
            // Only programs with phases are suspended, and these take equally long whatever the page.
            (None, Active::Program(_)) => self.core.plan.timings.slowest_program(),
            (None, Active::Erase(_) | Active::EraseOpened(..)) => self.core.plan.timings.erase,
        };
        self.core.counters.suspended_nominal_ns += nominal.0;
        self.core.counters.suspended_ns += self.core.now.since(work.began).0;
    }
}
