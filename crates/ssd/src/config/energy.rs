//! Energy.

use nand::Layout;

use super::refusal::{Check, Refusal, refuse};

units::section! {
    /// What flash, buses and ECC engines use. The array draws its power for as long as a die senses, programs or erases.
    pub struct EnergyConfig in "energy" {
        /// Power of a die that senses [mW]: 25 mA at 3.3 V, a usual figure of datasheets (assumed).
        sense_mw: f64 = 82.5,
        /// Power of a die that programs [mW] (assumed: the same).
        program_mw: f64 = 82.5,
        /// Power of a die that erases [mW] (assumed: the same).
        erase_mw: f64 = 82.5,
        /// A KiB over a channel [nJ]: 907 nJ for 16 KiB (hpca24 section VI-C).
        transfer_nj: f64 = 56.69,
        /// Decoding a KiB [nJ] (assumed: 10 pJ a bit, of the order of published LDPC decoders).
        decode_nj: f64 = 81.9,
        /// A prediction [nJ]: 1.28 mW for 2.5 us (hpca24 section VI-C).
        prediction_nj: f64 = 3.2,
    }
}

impl Check for EnergyConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        for (key, value) in [
            ("sense_mw", self.sense_mw),
            ("program_mw", self.program_mw),
            ("erase_mw", self.erase_mw),
            ("transfer_nj", self.transfer_nj),
            ("decode_nj", self.decode_nj),
            ("prediction_nj", self.prediction_nj),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return refuse(key, format!("is {value}"), "write 0 or more");
            }
        }
        Ok(())
    }
}
