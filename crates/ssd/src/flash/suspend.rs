//! Programs and erases that let user reads go first: at or inside their phases, and on again afterwards.
//!
//! A suspended die takes user reads and nothing else, or also programs of host data where an erase is suspended for
//! these (`schedule.suspend_erase_for`); when none waits and pages have left the registers, the operation goes on. The
//! data of a suspended program is in the chip's shadow buffer, or is sent again over the bus.

use nand::DieId;
use schemes::{Class, InPhase, ResumeMode, SuspendPoint};
use units::{Ppn, Span, Time};

use super::backend::FlashAt;
use super::placement::Placement;
use super::state::{Active, Passed, Paused};
use crate::config::Config;
use crate::observe::probe::Probe;
use crate::observe::stats::channel;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Lets something of the host's go before the operation under way, if there is something to.
    pub fn consider_suspension(&mut self, die: DieId) {
        let state = &self.flash.dies[die];
        let Some((active, end)) = state.active else { return };
        if !self.core.plan.suspends
            || state.suspend_pending.is_some()
            || state.suspended.is_some()
            || state.exclusive != 0
        {
            return;
        }
        let Some((_, class)) = self.suspendable(die, active) else { return };
        if !self.view().is_waited_for(die, class) {
            self.flash.dies[die].work.waited_from = None;
            return;
        }
        let schedule = &self.core.plan.config.schedule;
        if schedule.suspensions.is_some_and(|most| active.passed().suspensions + state.work.suspensions >= most)
            || schedule.suspend_one_of_chip && self.view().chip_has_suspended(die)
        {
            return;
        }
        let now = self.core.now;
        let sends_again = active.sends_again(self.core.plan.config.chip.shadow_buffer);
        let work = &mut self.flash.dies[die].work;
        let waited_from = *work.waited_from.get_or_insert(now);
        let not_before = if work.suspensions == 0 {
            // Before that its data is still on the way, or it copies back.
            work.runs_from.max(waited_from + schedule.suspend_after)
        } else if schedule.suspend_progress > Span::ZERO {
            (work.runs_from + schedule.suspend_progress).max(waited_from + schedule.suspend_after)
        } else {
            waited_from + schedule.suspend_after
        };
        // Its data is sent again until then.
        let sent = if sends_again { Time(work.runs_from.0 - work.before.0) } else { now };
        let not_before = not_before.max(sent);
        if now < not_before {
            self.flash.dies[die].look_again = Some(not_before).filter(|at| *at < end);
            return;
        }
        let least = if class == Class::Erase { schedule.suspend_erase_left } else { schedule.suspend_program_left };
        if end.since(now) >= least {
            self.plan_suspension(die, active, end);
        }
    }

    /// Suspends the operation under way at the next point at which that can be done, unless it ends before.
    fn plan_suspension(&mut self, die: DieId, active: Active, end: Time) {
        let Some((phases, class)) = self.suspendable(die, active) else { return };
        let (work, total, verify) = (self.flash.dies[die].work, phases.total().0, phases.verify);
        let reset = self.core.plan.config.chip.t_voltage_reset;
        let gets_on = class == Class::Erase && self.core.plan.config.schedule.suspend_erase.gets_on();
        let (after, position, before) = if self.core.now < work.runs_from && !gets_on {
            // Suspended again before it has got on; a verify that is in its last voltage reset has shown what it shows.
            let left = work.runs_from.since(self.core.now);
            let verified = class != Class::Erase && left <= reset.min(work.before);
            if verified { (left, work.position, Span::ZERO) } else { (reset, work.position, work.before) }
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
        if self.resume_by(active, work.began, position, before).is_some_and(|by| self.core.now + after >= by) {
            return; // It could not wait.
        }
        let state = &mut self.flash.dies[die];
        (state.suspend_pending, state.look_again) = (Some(self.core.now + after), None);
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
        (state.work.suspensions, state.work.waited_from) = (state.work.suspensions + 1, None);
        let (first, position) = (active.passed().suspensions + state.work.suspensions == 1, state.work.position);
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
        let state = &mut self.flash.dies[die];
        state.suspended = Some(Paused { active, work: std::mem::take(&mut state.work), phases: state.phases.take() });
        self.array_draws(die, Active::power(active), self.core.now, self.core.now);
        self.core.probe.suspend(self.core.now, die);
    }

    /// When an operation is to go on from a position, so that suspensions do not prolong it by more than they may; none
    /// where that has no bound.
    fn resume_by(&self, active: Active, began: Time, position: u64, before: Span) -> Option<Time> {
        let Config { schedule, chip, .. } = &self.core.plan.config;
        let setup = match active {
            Active::Program(program) if active.sends_again(chip.shadow_buffer) => {
                self.t_program_data(program.planes, self.flash.ops[program.ops].queue.writes())
            }
            Active::Program(_) => chip.t_buffer,
            Active::Erase(_) | Active::EraseOpened(..) => Span::ZERO,
        };
        // What suspensions of earlier passes have prolonged it by.
        let Passed { took, nominal, .. } = active.passed();
        let left = schedule.suspend_budget?.0.saturating_sub(took.0.saturating_sub(nominal.0));
        let latest = began + Span(left + position);
        Some(Time(latest.0.saturating_sub((before + setup).0)))
    }

    /// A die has suspended something: whether that may wait for further reads.
    pub(super) fn note_overdue(&mut self, die: DieId) {
        let Some(Paused { active, work, .. }) = &self.flash.dies[die].suspended else { return };
        let by = self.resume_by(*active, work.began, work.position, work.before);
        if by.is_some_and(|by| self.core.now >= by)
            && let Some(paused) = &mut self.flash.dies[die].suspended
        {
            paused.work.is_overdue = true;
        }
    }

    /// Lets the suspended operation of a die go on, if it can without the bus; or a program whose data is in the
    /// registers, before that.
    pub fn try_resume(&mut self, die: DieId) {
        if self.view().loaded_goes_first(die) {
            return self.start_loaded(die);
        }
        if !self.view().may_resume(die) {
            return;
        }
        let chip = &self.core.plan.config.chip;
        let setup = match self.flash.dies[die].suspended.as_ref().map(|paused| paused.active) {
            Some(active) if active.is_erase() => Span::ZERO,
            Some(active) if !active.sends_again(chip.shadow_buffer) => chip.t_buffer,
            _ => return,
        };
        self.go_on(die, setup);
    }

    pub(super) fn go_on(&mut self, die: DieId, setup: Span) {
        let Some(Paused { active, work, phases }) = self.flash.dies[die].suspended.take() else { return };
        (self.flash.dies[die].work, self.flash.dies[die].phases) = (work, phases);
        let Some((phases, _)) = self.suspendable(die, active) else { return };
        let total = phases.total();
        let state = &mut self.flash.dies[die];
        state.work.runs_from = self.core.now + setup + state.work.before;
        state.work.is_overdue = false;
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
        if self.core.plan.config.schedule.suspend_one_of_chip {
            // What another die does may be suspended now.
            self.flash.others_of_chip(die).for_each(|other| self.mark_dirty(other));
        }
    }

    /// Sends the data of a suspended program again. The bus is free.
    pub fn send_again(&mut self, die: DieId) {
        let Some(Paused { active: Active::Program(program), .. }) = self.flash.dies[die].suspended else { return };
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
        if active.passed().suspensions + self.flash.dies[die].work.suspensions == 0 {
            return;
        }
        let Passed { took, nominal, .. } = self.passed_with(die, active);
        self.core.counters.suspended_nominal_ns += nominal.0;
        self.core.counters.suspended_ns += took.0;
    }
}
