//! The drive's temperature, and how much of its power that leaves it (`thermal`).
//!
//! One body: dT/dt = (P R - (T - T_ambient)) / tau. Operations are short beside tau, so that each gives its energy at once: it raises
//! the temperature by E R / tau. Between them the temperature falls to that of the drive at rest, by exp(-t / tau). Both are exact,
//! and so is the time at which throttling ends.

use units::{Span, Time};

use crate::config::Plan;
use crate::persist::state;

/// Degrees of throttling: none, light, heavy.
pub(crate) const LEVELS: usize = 3;

/// The temperature of the drive.
pub(crate) struct Heat {
    /// What a picojoule raises it by [K].
    rise: f64,
    time_constant: f64,
    /// Where it falls to [C].
    rest: f64,
    /// Where light and heavy throttling begin, and where they end [C].
    begins: [f64; LEVELS - 1],
    ends: [f64; LEVELS - 1],
    /// The temperature at a time [C].
    celsius: f64,
    at: Time,
    highest: f64,
    level: u8,
    /// Time in each level.
    spent: [Span; LEVELS],
}

impl Heat {
    /// A drive at rest, where its temperature is followed.
    pub fn new(plan: &Plan) -> Option<Heat> {
        let thermal = &plan.config.thermal;
        let resistance = thermal.resistance?;
        let begins = [thermal.light.0, thermal.heavy.0];
        let rest = thermal.at_rest(plan.config.energy.idle_mw);
        Some(Heat {
            rise: 1e-12 * resistance / thermal.time_constant.as_s(),
            time_constant: thermal.time_constant.0 as f64,
            rest,
            begins,
            ends: begins.map(|begins| begins - thermal.hysteresis),
            celsius: rest,
            at: Time::ZERO,
            highest: rest,
            level: 0,
            spent: [Span::ZERO; LEVELS],
        })
    }

    /// The temperature at a time from the present one on [C], if nothing is used until then.
    pub fn celsius(&self, now: Time) -> f64 {
        self.rest + (self.celsius - self.rest) * libm::exp(-(now.since(self.at).0 as f64) / self.time_constant)
    }

    /// The time until a temperature is reached, which lies between the present one and that at rest.
    fn until(&self, celsius: f64) -> Span {
        let share = (self.celsius - self.rest) / (celsius - self.rest);
        Span(libm::ceil(self.time_constant * libm::log(share)) as u64)
    }

    /// How far the drive is throttled.
    pub fn level(&self) -> usize {
        self.level.into()
    }

    /// The highest temperature so far [C].
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// Time in each level, up to a time from the present one on.
    pub fn spent(&self, now: Time) -> [Span; LEVELS] {
        let mut later = Heat { ..*self };
        later.advance(now);
        later.spent
    }

    /// The drive rests until `now`.
    pub fn advance(&mut self, now: Time) {
        while self.level > 0 {
            let ends = self.ends[self.level() - 1];
            let until = if self.celsius > ends { self.at + self.until(ends) } else { self.at };
            if until > now {
                break;
            }
            self.pass(until);
            self.level -= 1;
        }
        self.pass(now);
    }

    /// Time passes in the present level.
    fn pass(&mut self, now: Time) {
        self.spent[self.level()] += now.since(self.at);
        self.celsius = self.celsius(now);
        self.at = now;
    }

    /// The drive takes up energy [pJ] now.
    pub fn absorb(&mut self, energy: f64) {
        self.celsius += energy * self.rise;
        self.highest = self.highest.max(self.celsius);
        while self.level() < LEVELS - 1 && self.celsius >= self.begins[self.level()] {
            self.level += 1;
        }
    }
}

state! {
    Heat {
        stored { celsius, at, highest, level, spent }
        rebuilt { rise, time_constant, rest, begins, ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 K/W with 1 s, at rest at 30 C, throttled at 50 and 70 C until 45 and 65 C.
    fn body() -> Heat {
        Heat {
            rise: 1e-12 * 10.0,
            time_constant: 1e9,
            rest: 30.0,
            begins: [50.0, 70.0],
            ends: [45.0, 65.0],
            celsius: 30.0,
            at: Time::ZERO,
            highest: 30.0,
            level: 0,
            spent: [Span::ZERO; LEVELS],
        }
    }

    #[test]
    fn a_constant_power_heats_by_the_closed_form() {
        // 1.5 W in operations of 1.5 uJ, one each microsecond, for two time constants.
        let (mut heat, steps) = (body(), 2_000_000u64);
        for step in 0..steps {
            heat.advance(Time(1000 * step));
            heat.absorb(1.5e6);
        }
        heat.advance(Time(1000 * steps));
        // Operations at the beginning of each step: the sum of a geometric series.
        let (step, two) = (libm::exp(-1e-6), libm::exp(-2.0));
        let series = 30.0 + 1.5e-6 * 10.0 * step * (1.0 - two) / (1.0 - step);
        assert!((heat.celsius - series).abs() < 1e-7, "{} {series}", heat.celsius);
        let continuous = 30.0 + 15.0 * (1.0 - two);
        assert!((heat.celsius - continuous).abs() < 1e-4, "{} {continuous}", heat.celsius);
    }

    #[test]
    fn throttling_begins_at_its_threshold_and_ends_below_it_at_the_very_time() {
        let mut heat = body();
        heat.absorb(2e12 - 1e3);
        assert_eq!(heat.level(), 0);
        heat.absorb(1e3);
        assert_eq!((heat.level(), heat.celsius), (1, 50.0));
        heat.absorb(3e12);
        assert_eq!((heat.level(), heat.highest()), (2, 80.0));
        // From 80 C to 65 C: 1 s * ln(50 / 35); to 45 C: 1 s * ln(50 / 15).
        let (to_light, to_none) = (1e9 * libm::log(50.0 / 35.0), 1e9 * libm::log(50.0 / 15.0));
        let end = Time(5_000_000_000);
        let [none, light, heavy] = heat.spent(end).map(|span| span.0 as f64);
        assert!((heavy - to_light).abs() < 2.0 && (light - (to_none - to_light)).abs() < 2.0);
        assert_eq!(none + light + heavy, 5e9);
        heat.advance(Time(to_none as u64 - 2));
        assert_eq!(heat.level(), 1);
        heat.advance(Time(to_none as u64 + 2));
        assert_eq!(heat.level(), 0);
    }
}
