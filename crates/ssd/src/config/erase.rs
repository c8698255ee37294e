//! Erasing.

use nand::Layout;
use schemes::{Margin, Pulses, Voltage};
use units::Fraction;

use super::refusal::{Check, Refusal, refuse};

units::section! {
    /// How blocks are erased: pulse by pulse, by what the chip model says of each block and of the stress that its
    /// erases have left.
    pub struct EraseConfig in "erase" {
        /// The pulses of an erase: ispe, i-ispe or felp; "none" erases every block in chip.t_bers, or in
        /// chip.erase_loops. How a block is erased is the virtual chip's of chip.model, or without one that of the
        /// geometry's cells (assumed).
        pulse: Option<Pulses> = None,
        /// What felp may leave to the ECC: none, ecc where it has room by the profiled table, or tracked where it has
        /// by the errors that reads of the block have found.
        margin: Margin = Margin::None,
        /// The erase voltages: nominal, scaled (DPES) or per-wordline (SEVA).
        voltage: Voltage = Voltage::Nominal,
        /// Share of felp's pulses that prove too short and are followed by one more grain (electronics25 section 7.4).
        mispredictions: Fraction = Fraction(0.0),
        /// Errors per KiB up to which a block may be used, from which the ECC's margin follows; "none" takes the chip
        /// model's.
        requirement: Option<f64> = None,
        /// A block that all loops do not erase goes out of service; otherwise it is used, and the fail bits that are
        /// left add errors.
        retire: bool = false,
    }
}

impl Check for EraseConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        let felp = self.pulse == Some(Pulses::Felp);
        if self.margin != Margin::None && !felp {
            return refuse(
                "margin",
                format!("is {}, and only felp uses it", self.margin.word()),
                "set erase.pulse to \"felp\", or this to \"none\"",
            );
        }
        if self.mispredictions.0 > 0.0 && !felp {
            let remedy = "set erase.pulse to \"felp\", or this to 0";
            return refuse("mispredictions", "is set, and only felp predicts", remedy);
        }
        if self.requirement.is_some_and(|errors| !(errors > 0.0 && errors < 1e6)) {
            return refuse("requirement", "is no number of errors", "write errors per KiB, such as 63");
        }
        for (key, set) in [("voltage", self.voltage != Voltage::Nominal), ("retire", self.retire)] {
            if set && self.pulse.is_none() {
                return refuse(key, "is set, and erase.pulse is not", "set erase.pulse, to \"ispe\" say");
            }
        }
        Ok(())
    }
}
