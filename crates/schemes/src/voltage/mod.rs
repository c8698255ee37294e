//! The erase voltage and the voltages at the wordlines' gates.
//!
//! Contract: a policy sees the P/E cycles of the block, and of a wordline the profiled V_WG at which it is still
//! erased; nothing else. How much less stress a lower voltage leaves is the chip's.

mod per_wordline;
mod scaled;

units::choices! {
    /// What erases are stressed with.
    pub enum Voltage {
        /// V_ERASE as the manufacturer sets it, 0 V at all gates.
        Nominal = "nominal",
        /// V_ERASE 8 to 10 % lower until 3,000 P/E cycles, at the cost of slower programs (DPES, electronics25 section
        /// 7.1).
        Scaled = "scaled",
        /// V_WG by wordline, so that none is stressed more than the slowest needs (SEVA, electronics25 section 4).
        PerWordline = "per-wordline",
    }
}

impl Voltage {
    /// Whether V_ERASE is lower.
    pub fn is_scaled(self, pec: u32) -> bool {
        self == Voltage::Scaled && scaled::holds(pec)
    }

    /// V_WG of a wordline that is still erased at up to `most` \[V].
    pub fn at_gate(self, most: f64) -> f64 {
        if self == Voltage::PerWordline { per_wordline::volts(most) } else { 0.0 }
    }

    /// tPROG over the nominal one.
    pub fn program_factor(self, pec: u32) -> f64 {
        if self.is_scaled(pec) { scaled::program_factor(pec) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_slower_while_the_voltage_is_lower() {
        // electronics25 Table 2: 385 and 455 us for 350.
        let factors = [0, 500, 1500, 2500, 2999, 3000, 4500].map(|pec| Voltage::Scaled.program_factor(pec));
        let expected = [1.1, 1.1, 1.2, 1.3, 1.3, 1.0, 1.0];
        assert!(factors.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{factors:?}");
        assert_eq!(Voltage::PerWordline.program_factor(500), 1.0);
    }
}
