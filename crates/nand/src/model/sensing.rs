//! What cutting the phases of a sense costs: bitlines that are charged, evaluated or discharged too late.

use crate::geometry::Refusal;

units::section! {
    /// Errors that cutting tPRE, tEVAL and tDISCH adds. Outlier bitlines need longer than others (asplos21 section
    /// 3.2.2); their times fall off exponentially, so that the added errors grow exponentially with the cut.
    pub struct Sensing in "sensing" {
        /// Errors per KiB by cutting tPRE: this times exp(cut / pre_scale) - 1.
        pre: f64 = 0.085,
        /// Cut of tPRE that multiplies them by e.
        pre_scale: f64 = 0.1,
        /// A cut of tDISCH weighs like this much of one of tPRE: what is not discharged precharges the next sense
        /// wrongly (asplos21 section 5.2.2).
        disch_in_pre: f64 = 0.37,
        /// Errors per KiB by cutting tEVAL.
        eval: f64 = 8.6,
        /// Cut of tEVAL that multiplies them by e.
        eval_scale: f64 = 0.2,
        /// Errors per KiB by cutting tDISCH.
        disch: f64 = 0.35,
        /// Cut of tDISCH that multiplies them by e.
        disch_scale: f64 = 0.09,
        /// Growth of all of these with 1,000 P/E cycles.
        wear: f64 = 0.18,
        /// Growth with retention: this at a year and 2,000 cycles, in proportion to the shift.
        retention: f64 = 1.4,
        /// Growth at 30 C, relative to 85 C.
        cold: f64 = 0.04,
        /// Cuts come in these parts of tPRE and tDISCH: asplos21 quotes 7, 14, 20, 27, 34, 40, 47, 54 %.
        grid: u32 = 15,
    }
}

/// Cuts of the phases of a sense, as shares of their default times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cuts {
    /// Of tPRE.
    pub pre: f64,
    /// Of tEVAL.
    pub eval: f64,
    /// Of tDISCH.
    pub disch: f64,
}

impl Sensing {
    /// Errors per KiB that cuts add to a page of `senses` sensings after `x` thousand cycles, read at `celsius`;
    /// `shift` is the typical shift relative to that of a year at 2,000 cycles.
    pub fn added(&self, cuts: Cuts, senses: u32, x: f64, shift: f64, celsius: f64) -> f64 {
        let exp = |cut: f64, scale: f64| libm::exp(cut / scale);
        let beside = exp(self.disch_in_pre * cuts.disch, self.pre_scale);
        let pre = self.pre * beside * (exp(cuts.pre, self.pre_scale) - 1.0);
        let eval = self.eval * (exp(cuts.eval, self.eval_scale) - 1.0);
        let disch = self.disch * (exp(cuts.disch, self.disch_scale) - 1.0);
        let growth = 1.0 + self.wear * x + self.retention * shift;
        let cold = 1.0 + self.cold * ((85.0 - celsius) / 55.0).max(0.0);
        // The most senses of a TLC page are three (asplos21 section 2.2).
        f64::from(senses) / 3.0 * growth * cold * (pre + eval + disch)
    }

    /// What is wrong with the constants: key, problem, remedy.
    pub fn refusal(&self) -> Option<Refusal> {
        let scales =
            [("pre_scale", self.pre_scale), ("eval_scale", self.eval_scale), ("disch_scale", self.disch_scale)];
        if let Some((key, value)) = scales.into_iter().find(|(_, value)| !(*value > 1e-3 && *value < 1e3)) {
            return Some(Refusal::of(key, format!("is {value}"), "write a positive share such as 0.1"));
        }
        let terms = [
            ("pre", self.pre),
            ("disch_in_pre", self.disch_in_pre),
            ("eval", self.eval),
            ("disch", self.disch),
            ("wear", self.wear),
            ("retention", self.retention),
            ("cold", self.cold),
        ];
        if let Some((key, value)) = terms.into_iter().find(|(_, value)| !(*value >= 0.0 && *value < 1e6)) {
            return Some(Refusal::of(key, format!("is {value}"), "write 0 or more: a cut never mends errors"));
        }
        (self.grid == 0 || self.grid > 1000).then(|| {
            Refusal::of("grid", format!("is {}", self.grid), "write how many steps tPRE is set in, such as 15")
        })
    }
}
