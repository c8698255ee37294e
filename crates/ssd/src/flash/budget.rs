//! What the drive may use: senses, programs and erases wait for a token by their energy (`energy.power_states`).
//!
//! A token bucket: whatever is used is owed, and the limit of the power state pays it off. While more is owed than the limit pays in
//! `energy.window`, no die begins anything; operations under way, and pages that leave, go on and are owed too. So the mean power
//! keeps to the limit whatever an operation draws, and no operation needs a share of the power for as long as it lasts, as it
//! would in a budget of concurrent powers, in which reads would wait for the end of programs and erases.
//!
//! When something may begin again, the operation goes first that would go first at a die: by the rank of its class in
//! `schedule.order`, then by age. So reads wait for one token where they are preferred, and nothing waits for ever that would not
//! at a die.

use nand::{ChannelId, DieId};
use schemes::Class;
use units::{PerId, Span, Time};

use super::heat::{Heat, LEVELS};
use super::layer::{Flash, FlashAt, FlashView};
use super::state::{Pick, Precedence};
use crate::config::Plan;
use crate::observe::probe::Probe;
use crate::observe::stats::throttling::Throttling;
use crate::persist::state;

/// What has been used, and what is owed of it. A milliwatt is a picojoule in a nanosecond.
pub(crate) struct Budget {
    /// What may be used, by how far the drive is throttled [mW].
    limits: Option<[f64; LEVELS]>,
    window: Span,
    /// Power of the rest of the drive [mW].
    idle: f64,
    /// Energy used so far but for the rest of the drive, and of this what is still owed at a time [pJ].
    used: f64,
    owed: f64,
    at: Time,
    /// Since when nothing may begin, if so.
    held: Option<Time>,
    held_before: Span,
    /// Until when the energy of each die's array is used already.
    arrays: PerId<DieId, Time>,
    heat: Option<Heat>,
}

impl Budget {
    /// Where power is limited, or the temperature followed.
    pub fn new(plan: &Plan) -> Option<Box<Budget>> {
        let (limits, heat) = (plan.config.energy.limits_mw(), Heat::new(plan));
        (limits.is_some() || heat.is_some()).then(|| {
            Box::new(Budget {
                limits,
                window: plan.config.energy.window,
                idle: plan.config.energy.idle_mw,
                used: 0.0,
                owed: 0.0,
                at: Time::ZERO,
                held: None,
                held_before: Span::ZERO,
                arrays: (0..plan.layout.dies).map(|_| Time::ZERO).collect(),
                heat,
            })
        })
    }

    /// What the limit pays now [mW].
    fn rate(&self) -> f64 {
        self.limits.map_or(f64::INFINITY, |limits| limits[self.heat.as_ref().map_or(0, Heat::level)])
    }

    /// Energy is used now, or less than was thought [pJ]. Returns when something may begin again, where nothing may now.
    fn take(&mut self, now: Time, energy: f64) -> Option<Time> {
        self.pay(now);
        self.used += energy;
        self.owed = (self.owed + energy).max(0.0);
        if let Some(heat) = &mut self.heat {
            heat.absorb(energy);
        }
        let rate = self.limits.map(|_| self.rate())?;
        let wait = self.owed / rate - self.window.0 as f64;
        if wait <= 0.0 && self.held.is_none() {
            return None;
        }
        self.held = self.held.or(Some(now));
        Some(now + Span(libm::ceil(wait.max(0.0)) as u64))
    }

    /// What was owed has been paid in part.
    fn pay(&mut self, now: Time) {
        self.owed = (self.owed - self.rate() * now.since(self.at).0 as f64).max(0.0);
        self.at = now;
        if let Some(heat) = &mut self.heat {
            heat.advance(now);
        }
    }

    /// Something may begin again.
    fn release(&mut self, now: Time) {
        self.pay(now);
        let since = self.held.take().expect("Invariant: a budget that is released was held");
        self.held_before += now.since(since);
    }

    /// How it has been throttled so far.
    pub fn throttling(&self, now: Time) -> Throttling {
        let held = self.held.map_or(Span::ZERO, |since| now.since(since));
        let [_, light, heavy] = self.heat.as_ref().map_or([Span::ZERO; LEVELS], |heat| heat.spent(now));
        Throttling {
            used: self.used + self.idle * now.0 as f64,
            held: self.held_before + held,
            light,
            heavy,
            celsius: self.heat.as_ref().map(|heat| (heat.celsius(now), heat.highest())),
        }
    }
}

impl Flash {
    /// Whether nothing may begin, since too much has been used.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.held.is_some())
    }

    /// Whether what the drive uses is limited.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.limits.is_some())
    }
}

impl FlashView<'_> {
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

impl<P: Probe> FlashAt<'_, P> {
    /// Energy is used [pJ].
    #[inline]
    pub(super) fn use_energy(&mut self, energy: impl FnOnce(&Plan) -> f64) {
        if self.flash.budget.is_some() {
            self.take_energy(energy(&self.core.plan));
        }
    }

    /// The array of a die draws a power [mW] between two times: what of it is known already has been counted, and what will not be used
    /// after all is given back.
    #[inline]
    pub(super) fn array_draws(&mut self, die: DieId, power: impl FnOnce(&Plan) -> f64, from: Time, until: Time) {
        if let Some(budget) = &mut self.flash.budget {
            let before = std::mem::replace(&mut budget.arrays[die], until).max(from);
            let energy = power(&self.core.plan) * (until.0 as f64 - before.0 as f64);
            self.take_energy(energy);
        }
    }

    fn take_energy(&mut self, energy: f64) {
        let Some(budget) = &mut self.flash.budget else { return };
        let was_held = budget.held.is_some();
        if let Some(release) = budget.take(self.core.now, energy) {
            self.core.set_energy_event(release);
            if !was_held {
                self.note_energy_waits();
            }
        }
    }

    /// The channel whose bus is to be granted next, where something may begin again.
    pub fn next_channel(&self) -> Option<ChannelId> {
        if self.flash.is_held() {
            return None;
        }
        let free = |channel: &ChannelId| {
            let bus = &self.flash.channels[*channel];
            bus.free_at <= self.core.now && bus.transfer_out.is_none()
        };
        let (view, channels) = (self.view(), self.flash.channels.ids().filter(free));
        channels.filter_map(|channel| view.first_die(channel).map(|first| (first, channel))).min().map(|(_, of)| of)
    }

    /// Something may begin again.
    pub fn energy_is_paid(&mut self) {
        if let Some(budget) = &mut self.flash.budget {
            budget.release(self.core.now);
        }
        self.core.set_energy_event(Time::NEVER);
        self.note_energy_waits();
    }

    /// Dies that wait, wait for something else from now on.
    fn note_energy_waits(&mut self) {
        if P::NOTES_WAITS {
            self.flash.dies.ids().for_each(|die| self.note_wait(die));
        }
    }
}

state! {
    Budget { stored { used, owed, at, held, held_before, arrays } parts { heat } rebuilt { limits, window, idle } }
}
