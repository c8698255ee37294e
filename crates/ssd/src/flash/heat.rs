//! The drive's temperature, how much of its power that leaves it, and how its data ages by it (`thermal`).
//!
//! One body: dT/dt = (P R - (T - T_ambient)) / tau. Operations are short beside tau, so that each gives its energy at
//! once: it raises the temperature by E R / tau. Between them the temperature falls to that of the drive at rest, by
//! exp(-t / tau). Both are exact, and so is the time at which throttling ends. The data on the drive ages by one sum:
//! the integral of Arrhenius' acceleration.

use std::cell::Cell;

use nand::model::outcomes::WARMER;
use units::{Span, Temperature, Time};

use crate::config::Plan;
use crate::persist::state;

/// Degrees of throttling: none, light, heavy.
pub(crate) const LEVELS: usize = 3;
/// Where Gauss and Legendre's quadrature of three points looks, as shares of a step, and the weights.
const NODES: [(f64, f64); 3] =
    [(0.112_701_665_379_258_3, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];
/// Its longest step, in time constants: right to a millionth from 60 K above rest on.
const STEP: f64 = 0.125;
/// So near the temperature at rest the drive is at rest \[K]: its data ages by another ten-millionth at most.
const NEAR: f64 = 1e-6;

/// Bits of the temperature at a program, where it is followed: up to 126 K above that at rest.
pub(crate) const WARMER_BITS: u32 = 6;

/// What data ages by, at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AgeClock {
    /// The time since the start; as if at 30 °C where the temperature is followed.
    pub elapsed: Span,
    /// How much warmer the drive is than at rest, in steps of [`WARMER`].
    pub warmer: u8,
}

impl AgeClock {
    /// The clock at a temperature this many kelvins above that at rest.
    pub fn warmer_by(elapsed: Span, kelvins: f64) -> AgeClock {
        AgeClock { elapsed, warmer: ((kelvins / WARMER + 0.5) as u8).min((1 << WARMER_BITS) - 1) }
    }
}

/// What the drive comes to at a time if nothing is used until then.
#[derive(Clone, Copy, Debug)]
struct Later {
    now: Time,
    celsius: f64,
    /// What data ages by until then, as if kept at 30 °C \[ns].
    ages: f64,
}

impl Later {
    /// Of no time.
    const UNKNOWN: Later = Later { now: Time::NEVER, celsius: 0.0, ages: 0.0 };
}

/// The temperature of the drive.
#[derive(Clone)]
pub(crate) struct Heat {
    /// What a picojoule raises it by \[K].
    rise: f64,
    time_constant: f64,
    /// Where it falls to \[C].
    rest: f64,
    /// Where light and heavy throttling begin, and where they end \[C].
    begins: [f64; LEVELS - 1],
    ends: [f64; LEVELS - 1],
    /// The temperature at a time \[C].
    celsius: f64,
    at: Time,
    highest: f64,
    /// What data that the drive held from the start has aged by, as if kept at 30 °C \[ns].
    aged: f64,
    level: u8,
    /// Time in each level.
    spent: [Span; LEVELS],
    /// What was asked for last: a sense asks for the age of its page, then uses energy at the same time.
    later: Cell<Later>,
}

impl Heat {
    /// A drive at rest, where its temperature is followed.
    pub fn new(plan: &Plan) -> Option<Heat> {
        let thermal = &plan.config.thermal;
        let resistance = thermal.resistance?;
        let begins = [thermal.light.0, thermal.heavy.0];
        let rest = plan.at_rest.0;
        Some(Heat {
            rise: 1e-12 * resistance / thermal.time_constant.as_s(),
            time_constant: thermal.time_constant.0 as f64,
            rest,
            begins,
            ends: begins.map(|begins| begins - thermal.hysteresis),
            celsius: rest,
            at: Time::ZERO,
            highest: rest,
            aged: 0.0,
            level: 0,
            spent: [Span::ZERO; LEVELS],
            later: Cell::new(Later::UNKNOWN),
        })
    }

    /// The temperature at a time from the present one on \[C], if nothing is used until then.
    pub fn celsius(&self, now: Time) -> f64 {
        self.rest + (self.celsius - self.rest) * libm::exp(-(now.since(self.at).0 as f64) / self.time_constant)
    }

    /// What data ages by, at a time from the present one on.
    pub fn age_clock(&self, now: Time) -> AgeClock {
        let Later { celsius, ages, .. } = self.later(now);
        AgeClock::warmer_by(Span((self.aged + ages) as u64), celsius - self.rest)
    }

    fn later(&self, now: Time) -> Later {
        if self.later.get().now != now {
            self.later.set(Later { now, celsius: self.celsius(now), ages: self.ages_until(now) });
        }
        self.later.get()
    }

    /// What data ages by until then, as if kept at 30 °C \[ns].
    fn ages_until(&self, now: Time) -> f64 {
        let (mut left, mut above) = (now.since(self.at).0 as f64, self.celsius - self.rest);
        let at = |above: f64| Temperature(self.rest + above).acceleration();
        let mut ages = 0.0;
        while left > 0.0 && above > NEAR {
            let step = left.min(STEP * self.time_constant);
            let later = |share: f64| above * libm::exp(-share * step / self.time_constant);
            ages += step * NODES.iter().map(|(share, weight)| weight * at(later(*share))).sum::<f64>();
            left -= step;
            if left > 0.0 {
                above = later(1.0);
            }
        }
        ages + if left > 0.0 { left * at(above) } else { 0.0 }
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

    /// The highest temperature so far \[C].
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// Time in each level, up to a time from the present one on.
    pub fn spent(&self, now: Time) -> [Span; LEVELS] {
        let mut later = self.clone();
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

    /// The drive has rested for so long at a moment of its own time: it is cooler.
    pub fn cool(&mut self, now: Time, span: Span) {
        self.advance(now);
        self.celsius = self.rest + (self.celsius - self.rest) * libm::exp(-(span.0 as f64) / self.time_constant);
        while self.level > 0 && self.celsius <= self.ends[self.level() - 1] {
            self.level -= 1;
        }
        self.later.set(Later::UNKNOWN);
    }

    /// Time passes in the present level.
    fn pass(&mut self, now: Time) {
        self.spent[self.level()] += now.since(self.at);
        let Later { celsius, ages, .. } = self.later(now);
        (self.aged, self.celsius, self.at) = (self.aged + ages, celsius, now);
        self.later.set(Later::UNKNOWN);
    }

    /// The drive takes up energy \[pJ] now.
    pub fn absorb(&mut self, energy: f64) {
        self.celsius += energy * self.rise;
        self.later.set(Later::UNKNOWN);
        self.highest = self.highest.max(self.celsius);
        while self.level() < LEVELS - 1 && self.celsius >= self.begins[self.level()] {
            self.level += 1;
        }
    }
}

state! {
    Heat {
        stored { celsius, at, highest, aged, level, spent }
        rebuilt { rise, time_constant, rest, begins, ends, later }
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
            aged: 0.0,
            level: 0,
            spent: [Span::ZERO; LEVELS],
            later: Cell::new(Later::UNKNOWN),
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

    /// The integral of Arrhenius' acceleration while a body falls from one temperature to another [C], which stands at
    /// `rest` in the end: with v = B / T and a = B / T_rest time is tau (1/v + 1/(a - v)) dv, which leaves exponential
    /// integrals.
    fn ages_falling(tau: f64, rest: f64, from: f64, to: f64) -> f64 {
        const KELVIN: f64 = 273.15;
        let b = libm::log(Temperature(85.0).acceleration()) / (1.0 / (30.0 + KELVIN) - 1.0 / (85.0 + KELVIN));
        // E1 by its continued fraction, and Ei by its series.
        let e1 = |x: f64| libm::exp(-x) / (1..=60).rev().map(f64::from).fold(x, |below, n| x + n / (1.0 + n / below));
        let ei = |x: f64| {
            let terms = (1..200).scan(1.0, |term, n| {
                *term *= x / f64::from(n);
                Some(*term / f64::from(n))
            });
            0.577_215_664_901_532_9 + libm::log(x) + terms.sum::<f64>()
        };
        let [a, from, to] = [rest, from, to].map(|celsius| b / (celsius + KELVIN));
        let integral = e1(from) - e1(to) + libm::exp(-a) * (ei(a - from) - ei(a - to));
        tau * libm::exp(b / (30.0 + KELVIN)) * integral
    }

    #[test]
    fn data_ages_by_the_closed_form_at_rest_after_a_step_and_while_the_drive_cools() {
        // At rest, however often it is asked.
        let mut heat = Heat { rest: 55.0, celsius: 55.0, ..body() };
        (1..=1000).for_each(|step| heat.advance(Time(step * 3_600_000_000)));
        let (exact, clock) = (3.6e12 * Temperature(55.0).acceleration(), heat.age_clock(heat.at));
        assert!((clock.elapsed.0 as f64 / exact - 1.0).abs() < 1e-12);
        assert_eq!(clock.warmer, 0);
        // A step to 70 C, where every millisecond gives again what is lost.
        let mut heat = body();
        for step in 1..=1000 {
            heat.absorb((70.0 - heat.celsius) / heat.rise);
            heat.advance(Time(step * 1_000_000));
        }
        let each = ages_falling(1e9, 30.0, 70.0, 30.0 + 40.0 * libm::exp(-1e-3));
        assert!((heat.aged / (1e3 * each) - 1.0).abs() < 1e-9, "{} {each}", heat.aged);
        assert!((heat.aged / (1e9 * Temperature(70.0).acceleration()) - 1.0).abs() < 3e-3);
        // Cooling, whatever it is from, and in one span or many.
        for (from, within) in [(35.0, 1e-9), (60.0, 1e-7), (90.0, 1e-6), (130.0, 1e-5)] {
            for until in [0.01, 0.3, 2.0, 12.0] {
                let hot = || Heat { celsius: from, ..body() };
                let end = Time((until * 1e9) as u64);
                let exact = ages_falling(1e9, 30.0, from, 30.0 + (from - 30.0) * libm::exp(-until));
                assert!((hot().ages_until(end) / exact - 1.0).abs() < within, "{from} {until}");
                let mut often = hot();
                (1..=1000).for_each(|part| often.advance(Time(end.0 / 1000 * part)));
                assert!((often.aged / exact - 1.0).abs() < 1e-9 && often.at == end, "{from} {until}");
            }
        }
        // For good: what is left is the time at rest.
        let hot = Heat { celsius: 90.0, ..body() };
        let hour = hot.ages_until(Time(3_600_000_000_000));
        assert!(((hour - hot.ages_until(Time(1_800_000_000_000))) / 1.8e12 - 1.0).abs() < 2e-7);
    }
}
