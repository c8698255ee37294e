//! How data ages: when, and at which temperature of the drive, each page was programmed, in 32 bits; and how old it is
//! by now.
//!
//! A drive whose temperature stays ages its data by the time, times Arrhenius' acceleration. Where its temperature is
//! followed (`thermal`) the drive keeps one sum of time times acceleration ([`AgeClock`]), and the age of data is what
//! the sum has grown by since its program.
//!
//! A rest ([`Ageing::rest`]) adds to the ages of the data that is there, and not to the clock: so rests may be as long
//! as they like (docs/decisions/0023-a-rest-adds-to-ages.md). The first program after it gets a later stamp than the
//! last one before.

use nand::model::outcomes::WARMER;
use units::{Span, Temperature};

use crate::config::Plan;
use crate::flash::{AgeClock, WARMER_BITS};
use crate::persist::{state, stored};

/// How the ages of a drive's data are kept.
pub(crate) struct Ageing {
    /// The temperature of the drive at rest.
    at_rest: Temperature,
    /// How many times faster data ages than the clock goes.
    acceleration: f64,
    /// Program times are kept in steps of this power of two \[ns] ...
    tick_bits: u32,
    /// ... and this many bits of the temperature with them.
    warmer_bits: u32,
    /// The rests so far, in order.
    rests: Vec<Rested>,
}

/// A rest of the drive.
#[derive(Clone, Copy)]
struct Rested {
    /// The tick of the last programs before it.
    tick: u32,
    /// What data has aged by in it and in those before, as if kept at 30 °C.
    until_here: Span,
}

impl Ageing {
    /// The stamp of a program before the run, in a block that was open then. No time of a run has it.
    pub const BEFORE: u32 = u32::MAX;

    pub fn new(plan: &Plan) -> Ageing {
        let at_rest = plan.at_rest;
        if plan.config.thermal.resistance.is_some() {
            // Steps of 4.3 s at 30 °C reach over nine years.
            Ageing { at_rest, acceleration: 1.0, tick_bits: 32, warmer_bits: WARMER_BITS, rests: Vec::new() }
        } else {
            // Steps of 17 ms reach over two years.
            Ageing { at_rest, acceleration: at_rest.acceleration(), tick_bits: 24, warmer_bits: 0, rests: Vec::new() }
        }
    }

    /// What is kept of a program.
    #[inline]
    pub fn stamp(&self, at: AgeClock) -> u32 {
        self.tick(at).max(self.after_rests()) << self.warmer_bits | u32::from(at.warmer)
    }

    fn tick(&self, at: AgeClock) -> u32 {
        (at.elapsed.0 >> self.tick_bits).min(u64::from(self.last_tick())) as u32
    }

    /// The last tick that a stamp can have: all bits set are [`Ageing::BEFORE`].
    fn last_tick(&self) -> u32 {
        (u32::MAX >> self.warmer_bits) - 1
    }

    /// The first tick that no program before the last rest has.
    fn after_rests(&self) -> u32 {
        self.rests.last().map_or(0, |rest| rest.tick.saturating_add(1))
    }

    /// The drive rests: its data ages by `age`, as if kept at 30 °C, and its clock stands still.
    pub fn rest(&mut self, now: AgeClock, age: Span) {
        let (tick, before) = (self.tick(now).max(self.after_rests()), self.rested());
        let tick = tick.min(self.last_tick() - 1);
        self.rests.push(Rested { tick, until_here: Span(before.0.saturating_add(age.0)) });
    }

    /// What data that was there from the start has aged by in rests.
    fn rested(&self) -> Span {
        self.rests.last().map_or(Span::ZERO, |rest| rest.until_here)
    }

    /// What data has aged by since the start of the run, as if kept at 30 °C.
    #[inline]
    pub fn in_run(&self, now: AgeClock) -> Span {
        Span(self.aged(now.elapsed.0).0.saturating_add(self.rested().0))
    }

    /// What data has aged by since its program, as if kept at 30 °C.
    #[inline]
    pub fn since(&self, stamp: u32, now: AgeClock) -> Span {
        let tick = stamp >> self.warmer_bits;
        let programmed = u64::from(tick) << self.tick_bits;
        let age = self.aged(now.elapsed.0.saturating_sub(programmed));
        if self.rests.is_empty() { age } else { Span(age.0.saturating_add(self.rested_since(tick).0)) }
    }

    /// What data has aged by in the rests since a program.
    #[cold]
    fn rested_since(&self, tick: u32) -> Span {
        let before = self.rests.partition_point(|rest| rest.tick < tick);
        let until = before.checked_sub(1).map_or(Span::ZERO, |last| self.rests[last].until_here);
        Span(self.rested().0.saturating_sub(until.0))
    }

    /// How much warmer than at rest the drive was at a program, in steps of [`WARMER`].
    #[inline]
    pub fn warmer_at(&self, stamp: u32) -> u8 {
        (stamp & ((1 << self.warmer_bits) - 1)) as u8
    }

    /// The drive's temperature, in steps as a read meets it.
    #[inline]
    pub fn temperature(&self, now: AgeClock) -> Temperature {
        Temperature(self.at_rest.0 + WARMER * f64::from(now.warmer))
    }

    #[inline]
    fn aged(&self, elapsed: u64) -> Span {
        Span((elapsed as f64 * self.acceleration) as u64)
    }
}

stored! { Rested { tick, until_here } }
state! {
    Ageing { stored { rests } rebuilt { at_rest, acceleration, tick_bits, warmer_bits } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn ageing(settings: &[&str]) -> Ageing {
        let mut config = Config::default();
        settings.iter().for_each(|word| config.set(word).unwrap());
        Ageing::new(&config.plan().unwrap())
    }

    #[test]
    fn an_age_is_what_the_clock_has_grown_by_to_a_step_and_a_temperature_is_kept_with_it() {
        const HOUR: u64 = 3_600_000_000_000;
        let at = |hours: u64, kelvins: f64| AgeClock::warmer_by(Span(hours * HOUR), kelvins);
        let (fixed, followed) = (ageing(&["age.temperature=55C"]), ageing(&["thermal.resistance=5"]));
        for (ageing, step, faster) in [(fixed, 1u64 << 24, Temperature(55.0).acceleration()), (followed, 1 << 32, 1.0)]
        {
            let (stamp, now) = (ageing.stamp(at(3, 0.0)), at(1_003, 0.0));
            let (age, exact) = (ageing.since(stamp, now).0 as f64, 1e3 * HOUR as f64 * faster);
            assert!((exact - 1.0..=exact + step as f64 * faster).contains(&age), "{age} {exact}");
            assert_eq!(ageing.in_run(now).0, (1_003.0 * HOUR as f64 * faster) as u64);
            assert_eq!(ageing.since(stamp, at(2, 0.0)), Span::ZERO);
        }
        let followed = ageing(&["thermal.resistance=5", "thermal.ambient=25C"]);
        for (kelvins, steps) in [(0.0, 0), (0.99, 0), (1.0, 1), (44.0, 22), (126.0, 63), (1e6, 63)] {
            let stamp = followed.stamp(at(1_000_000, kelvins));
            assert_eq!(
                (followed.warmer_at(stamp), followed.temperature(at(0, kelvins)).0),
                (steps, 25.0 + 2.0 * f64::from(steps))
            );
        }
    }
    #[test]
    fn a_rest_ages_what_was_there_and_nothing_that_comes_after_it() {
        const MONTHS: u64 = 30 * 24 * 3_600_000_000_000;
        for settings in [&["age.temperature=30C"][..], &["thermal.resistance=5", "thermal.ambient=30C"]] {
            let mut ageing = ageing(settings);
            let now = AgeClock::warmer_by(Span(1_000), 0.0);
            let first = ageing.stamp(now);
            // Longer than stamps reach, and without any time between.
            ageing.rest(now, Span(50 * MONTHS));
            let second = ageing.stamp(now);
            ageing.rest(now, Span(3 * MONTHS));
            ageing.rest(now, Span(4 * MONTHS));
            let third = ageing.stamp(now);
            let ages = [first, second, third].map(|stamp| ageing.since(stamp, now).0 / MONTHS);
            assert_eq!(ages, [57, 7, 0]);
            assert_eq!(ageing.in_run(now), Span(57 * MONTHS + 1_000));
            assert!(first < second && second < third);
        }
    }
}
