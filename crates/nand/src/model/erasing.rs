//! Incremental-step pulse erasing: how many pulses a block needs, its fail bits, the stress that pulses leave, and what
//! insufficient erasure costs.
//!
//! Pulses are counted in grains of 0.5 ms, of which a loop of the default tEP has seven. Wear is the stress that erases
//! and programs have really left, not a cycle count: 1 is that of a thousand cycles of one default loop each, without
//! programs.

use units::Span;

use super::variation::Draws;
use crate::geometry::Refusal;

units::section! {
    /// Incremental-step pulse erasing, its fail bits and its stress.
    pub struct Erasing in "erasing" {
        /// Grain of the erase pulse.
        t_grain: Span = Span(500_000),
        /// Grains of a loop by default: tEP over t_grain.
        grains: u32 = 7,
        /// tVR: verify read of a loop.
        t_verify: Span = Span(100_000),
        /// Loops, each of a higher voltage. The last one's is the highest, and is repeated, as often as there are
        /// loops.
        loops: u32 = 5,
        /// delta: fail bits that each grain removes.
        delta: f64 = 5_000.0,
        /// gamma over delta: fail bits before the last grain.
        gamma: f64 = 0.3,
        /// Grains that a fresh block needs.
        fresh: f64 = 3.6,
        /// Standard deviation of that between blocks.
        fresh_spread: f64 = 0.036,
        /// Standard deviation of the log of a block's growth of erase time.
        growth_spread: f64 = 0.1,
        /// Standard deviation of the log of a block's wear, with the same draw.
        wear_spread: f64 = 0.08,
        /// Wear at the knots of the growth curve.
        knots_wear: Vec<f64> = vec![0.0, 1.0],
        /// Grains that wear adds at the knots.
        knots_grains: Vec<f64> = vec![0.0, 1.0],
        /// Stress that programs leave, in thousand cycles' worth.
        program_stress: f64 = 0.33,
        /// Log of the factor by which each loop's higher voltage multiplies its stress.
        loop_stress: f64 = 1.13,
        /// Share of a skipped loop's work that the next loop's higher voltage does not make up for.
        skip_loss: f64 = 0.29,
        /// Stress of a pulse whose V_ERASE is 8 to 10 % lower, over the nominal one's.
        scaled_stress: f64 = 0.41,
        /// Errors per KiB that the lower V_ERASE adds: program states have less room.
        scaled_errors: f64 = 20.0,
        /// M_RBER of a fresh block after a year at 30 C [errors per KiB].
        rber_fresh: f64 = 16.0,
        /// M_RBER that wear adds: this times (grains added) ^ rber_power.
        rber_wear: f64 = 0.13,
        /// The power in that.
        rber_power: f64 = 1.7,
        /// Errors that incomplete erasure adds to what is programmed next, with delta fail bits left.
        rber_incomplete: f64 = 30.0,
        /// The power of the fail bits left, over delta, in that.
        incomplete_power: f64 = 0.63,
        /// Errors per KiB up to which a block is used (electronics25 section 5.3: 63 of 72).
        requirement: f64 = 63.0,
        /// How much faster the fastest wordline of a block is erased than the slowest.
        wordline_speed: f64 = 0.4,
        /// Log of the factor by which the erase shift falls per volt of V_WG.
        gate_shift: f64 = 2.36,
        /// Log of the factor by which the stress of an erase falls per volt of V_WG.
        gate_stress: f64 = 45.0,
        /// Grain of V_WG [V].
        gate_grain: f64 = 0.05,
    }
}

/// A block in a population, as far as erasing goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockErase {
    /// Grains that it needs when fresh.
    pub fresh: f64,
    /// Its growth, relative to the typical one.
    pub growth: f64,
    /// Its wear, relative to the typical one.
    pub wear: f64,
}

impl Erasing {
    /// Block `block` of chip `chip` in the population of `seed`.
    pub fn block(&self, seed: u64, chip: u64, block: u64) -> BlockErase {
        let hardness = Draws::of_block(seed, "erase-hardness", chip, block);
        BlockErase {
            fresh: self.fresh + self.fresh_spread * Draws::of_block(seed, "erase-fresh", chip, block),
            growth: libm::exp(self.growth_spread * hardness),
            wear: libm::exp(self.wear_spread * hardness),
        }
    }

    /// Grains that wear adds to a typical block: a monotone cubic through the knots (F. N. Fritsch, R. E. Carlson,
    /// "Monotone piecewise cubic interpolation", SIAM J. Numer. Anal. 17(2), 1980), straight beyond them.
    pub fn added_grains(&self, wear: f64) -> f64 {
        let (xs, ys) = (&self.knots_wear, &self.knots_grains);
        let last = xs.len() - 1;
        let slope = |i: usize| (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]);
        if wear >= xs[last] {
            return ys[last] + slope(last - 1) * (wear - xs[last]);
        }
        let i = xs.iter().rposition(|x| *x <= wear).unwrap_or(0).min(last - 1);
        let tangent = |k: usize| {
            if k == 0 {
                return slope(0);
            }
            if k == last {
                return slope(last - 1);
            }
            let (left, right) = (slope(k - 1), slope(k));
            // The harmonic mean keeps the curve monotone.
            if left * right <= 0.0 { 0.0 } else { 2.0 * left * right / (left + right) }
        };
        let width = xs[i + 1] - xs[i];
        let t = (wear - xs[i]) / width;
        let (t2, t3) = (t * t, t * t * t);
        ys[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
            + width * tangent(i) * (t3 - 2.0 * t2 + t)
            + ys[i + 1] * (3.0 * t2 - 2.0 * t3)
            + width * tangent(i + 1) * (t3 - t2)
    }

    /// Grains that a block needs at `wear`.
    pub fn needed(&self, block: &BlockErase, wear: f64) -> f64 {
        block.fresh + block.growth * self.added_grains(wear * block.wear)
    }

    /// Whole grains of the least erase: what m-ISPE finds (electronics25 section 5.1).
    pub fn least_grains(&self, needed: f64) -> u32 {
        libm::ceil(needed - 1e-9).max(1.0) as u32
    }

    /// Loops of the conventional scheme for this many grains, the repetitions of the last one among them.
    pub fn loops_for(&self, grains: u32) -> u32 {
        grains.div_ceil(self.grains)
    }

    /// Loops of the conventional scheme at most: all, of which the last one as often as there are loops.
    pub fn most_loops(&self) -> u32 {
        2 * self.loops - 1
    }

    /// Fail bits when `left` grains are still to go: linear down to the last grain, which ends at gamma (electronics25
    /// Fig. 15).
    pub fn fail_bits(&self, left: f64) -> f64 {
        if left <= 0.0 {
            0.0
        } else if left <= 1.0 {
            self.delta * self.gamma * left
        } else {
            self.delta * (self.gamma + left - 1.0)
        }
    }

    /// Stress of a pulse of `grains` in loop `index`, from 0, in units of a thousandth of a default first loop's
    /// thousand cycles: it grows exponentially with the loop's voltage.
    pub fn pulse_stress(&self, index: u32, grains: f64) -> f64 {
        libm::exp(self.loop_stress * f64::from(index)) * grains / f64::from(self.grains)
    }

    /// Grains that a pulse of `grains` in loop `index` is worth after loop `last`: those of the loops that were skipped
    /// are partly made up for by the higher voltage.
    pub fn work(&self, last: Option<u32>, index: u32, grains: u32) -> f64 {
        let skipped = index - last.map_or(0, |last| (last + 1).min(index));
        f64::from(grains) + (1.0 - self.skip_loss) * f64::from(skipped * self.grains)
    }

    /// Wear that one cycle of the conventional scheme leaves on a block that needs this many grains.
    pub fn cycle_wear(&self, least: u32) -> f64 {
        let loops = self.loops_for(least).min(self.most_loops());
        let highest = self.loops - 1;
        let pulses: f64 = (0..loops).map(|index| self.pulse_stress(index.min(highest), f64::from(self.grains))).sum();
        (self.program_stress + pulses) / 1e3
    }

    /// M_RBER of a block that wear has made need `added` grains more, after a year at 30 °C: the most errors per KiB of
    /// any page, when it was erased completely.
    pub fn rber(&self, added: f64) -> f64 {
        self.rber_fresh + self.rber_wear * libm::pow(added.max(0.0), self.rber_power)
    }

    /// Errors per KiB that `left` grains too few add to the pages that are programmed next.
    pub fn incomplete(&self, left: f64) -> f64 {
        let bits = self.fail_bits(left);
        if bits <= 0.0 { 0.0 } else { self.rber_incomplete * libm::pow(bits / self.delta, self.incomplete_power) }
    }

    /// The erase shift of a wordline relative to the slowest, by its layer's profile (1 the slowest).
    pub fn wordline_shift(&self, profile: f64) -> f64 {
        1.0 + self.wordline_speed * (1.0 - profile) / 2.0
    }

    /// The erase shift under a wordline gate voltage, relative to that at 0 V (electronics25 Fig. 18a: exponential).
    pub fn gate(&self, volts: f64) -> f64 {
        libm::exp(-self.gate_shift * volts)
    }

    /// V_WG of a wordline by its layer's profile: the most that leaves it erased as far as the slowest one, in whole
    /// grains (electronics25 sections 4 and 5.4: 0 to 1 V by 0.05 V).
    pub fn gate_volts(&self, profile: f64) -> f64 {
        let volts = libm::log(self.wordline_shift(profile)) / self.gate_shift.max(1e-9);
        (volts / self.gate_grain.max(1e-9) + 1e-9).floor().min(1.0 / self.gate_grain.max(1e-9)) * self.gate_grain
    }

    /// The stress of an erase under a wordline gate voltage, relative to that at 0 V: damage to the oxide grows
    /// exponentially with the voltage (electronics25 section 3.1).
    pub fn gate_stress(&self, volts: f64) -> f64 {
        libm::exp(-self.gate_stress * volts)
    }

    /// What is wrong with the constants: key, problem, remedy.
    pub fn refusal(&self) -> Option<Refusal> {
        let (xs, ys) = (&self.knots_wear, &self.knots_grains);
        if xs.len() < 2 || xs.len() != ys.len() {
            let problem = format!("has {} knots, and knots_grains {}", xs.len(), ys.len());
            return Some(Refusal::of("knots_wear", problem, "write as many of both, at least two"));
        }
        if xs[0] != 0.0 || ys[0] != 0.0 {
            return Some(Refusal::of(
                "knots_wear",
                "does not begin at 0",
                "begin both lists with 0: no wear adds no grains",
            ));
        }
        for (key, knots) in [("knots_wear", xs), ("knots_grains", ys)] {
            if knots.windows(2).any(|pair| pair[0].partial_cmp(&pair[1]) != Some(std::cmp::Ordering::Less)) {
                return Some(Refusal::of(
                    key,
                    "does not rise",
                    "write rising numbers: wear never makes erasing easier",
                ));
            }
        }
        if self.grains == 0 || self.loops == 0 || self.grains > 1000 || self.loops > 100 {
            return Some(Refusal::of(
                "grains",
                format!("is {} in {} loops", self.grains, self.loops),
                "write 1 to 1,000 in 1 to 100 loops",
            ));
        }
        if self.t_grain.0 == 0 || self.t_grain.0 > 1_000_000_000 || self.t_verify.0 > 1_000_000_000 {
            return Some(Refusal::of("t_grain", format!("is {} ns", self.t_grain.0), "write a time of up to 1s"));
        }
        let positive =
            [("delta", self.delta), ("gamma", self.gamma), ("fresh", self.fresh), ("requirement", self.requirement)];
        if let Some((key, value)) = positive.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1e9)) {
            return Some(Refusal::of(key, format!("is {value}"), "write a positive number"));
        }
        let not_negative = [
            ("fresh_spread", self.fresh_spread),
            ("growth_spread", self.growth_spread),
            ("wear_spread", self.wear_spread),
            ("program_stress", self.program_stress),
            ("loop_stress", self.loop_stress),
            ("skip_loss", self.skip_loss),
            ("scaled_stress", self.scaled_stress),
            ("scaled_errors", self.scaled_errors),
            ("rber_fresh", self.rber_fresh),
            ("rber_wear", self.rber_wear),
            ("rber_power", self.rber_power),
            ("rber_incomplete", self.rber_incomplete),
            ("incomplete_power", self.incomplete_power),
            ("wordline_speed", self.wordline_speed),
            ("gate_shift", self.gate_shift),
            ("gate_stress", self.gate_stress),
            ("gate_grain", self.gate_grain),
        ];
        not_negative
            .into_iter()
            .find(|(_, value)| !(*value >= 0.0 && *value < 1e6))
            .map(|(key, value)| Refusal::of(key, format!("is {value}"), "write 0 or more"))
    }
}
