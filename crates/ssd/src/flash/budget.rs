//! What the drive may use: senses, programs and erases wait for a token by their energy (`energy.power_states`).
//!
//! A token bucket: whatever is used is owed, and the limit of the power state pays it off. While more is owed than the
//! limit pays in `energy.window`, no die begins anything; operations under way, and pages that leave, go on and are
//! owed too. So the mean power keeps to the limit whatever an operation draws, and no operation needs a share of the
//! power for as long as it lasts, as it would in a budget of concurrent powers, in which reads would wait for the end
//! of programs and erases.

use nand::DieId;
use units::{PerId, Span, Time};

use super::heat::{Heat, LEVELS};
use crate::config::Plan;
use crate::observe::stats::throttling::Throttling;
use crate::persist::state;

/// What has been used, and what is owed of it. A milliwatt is a picojoule in a nanosecond.
pub(crate) struct Budget {
    /// What may be used, by how far the drive is throttled \[mW].
    limits: Option<[f64; LEVELS]>,
    window: Span,
    /// Power of the rest of the drive \[mW].
    idle: f64,
    /// Energy used so far but for the rest of the drive, and of this what is still owed at a time \[pJ].
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

    /// What the limit pays now \[mW].
    fn rate(&self) -> f64 {
        self.limits.map_or(f64::INFINITY, |limits| limits[self.heat.as_ref().map_or(0, Heat::level)])
    }

    /// Whether nothing may begin, since too much has been used.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether what the drive uses is limited.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// The drive has rested for so long at a moment of its own time.
    pub fn rest(&mut self, now: Time, span: Span) {
        if let Some(heat) = &mut self.heat {
            heat.cool(now, span);
        }
    }

    /// The drive's temperature, where it is followed.
    #[inline]
    pub fn heat(&self) -> Option<&Heat> {
        self.heat.as_ref()
    }

    /// The array of a die draws a power \[mW] between two times. Returns the energy that has not been counted yet
    /// \[pJ], below 0 where less is used than was thought.
    pub fn array_energy(&mut self, die: DieId, power: f64, from: Time, until: Time) -> f64 {
        let before = std::mem::replace(&mut self.arrays[die], until).max(from);
        power * (until.0 as f64 - before.0 as f64)
    }

    /// The array of a die senses until a time, beside what it senses already: as above, and nothing is given back.
    pub fn sense_energy(&mut self, die: DieId, power: f64, from: Time, until: Time) -> f64 {
        let longer = until.max(self.arrays[die]);
        self.array_energy(die, power, from, longer)
    }

    /// The array of a die stops, which draws a power \[mW], or was to from a later time on: what it does not use \[pJ],
    /// below 0.
    pub fn stops(&mut self, die: DieId, power: f64, began: Time, now: Time) -> f64 {
        let until = std::mem::replace(&mut self.arrays[die], now);
        -power * until.0.saturating_sub(now.max(began).0) as f64
    }

    /// Energy is used now, or less than was thought \[pJ]. Returns when something may begin again, where nothing may
    /// now.
    pub fn take(&mut self, now: Time, energy: f64) -> Option<Time> {
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
    pub fn release(&mut self, now: Time) {
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

state! {
    Budget { stored { used, owed, at, held, held_before, arrays } parts { heat } rebuilt { limits, window, idle } }
}
