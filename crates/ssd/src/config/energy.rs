//! Energy.

use nand::Layout;
use units::Span;

use super::refusal::{Check, Refusal, refuse};

units::section! {
    /// What flash, buses and ECC engines use. The array draws its power for as long as a die senses, programs or
    /// erases.
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
        /// Power of the drive whatever it does [mW]: controller, DRAM, link. 0 leaves it out of the energy.
        idle_mw: f64 = 0.0,
        /// What the drive may use on average in its power states [W], from the highest down, as in NVMe's table of
        /// power states; [] leaves it unlimited. Senses, programs and erases wait for their turn when more has been
        /// used.
        power_states: Vec<f64> = Vec::new(),
        /// The power state that the drive is in: the number of its row.
        power_state: u32 = 0,
        /// For how long the drive may use what it has saved: a rest that long lets it use as much at once as the limit
        /// allows in that time (assumed). 0ns: each operation waits until those before it have been paid for.
        window: Span = Span(1_000_000),
    }
}

impl EnergyConfig {
    /// What the flash, the buses and the decoders may use \[mW]: as the power state says, under light throttling and
    /// under heavy; none where nothing limits them.
    pub(crate) fn limits_mw(&self) -> Option<[f64; 3]> {
        let last = self.power_states.len().checked_sub(1)?;
        let state = self.power_state as usize;
        Some([state, (state + 1).min(last), last].map(|state| self.power_states[state] * 1e3 - self.idle_mw))
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
            ("idle_mw", self.idle_mw),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return refuse(key, format!("is {value}"), "write 0 or more");
            }
        }
        let (states, idle) = (&self.power_states, self.idle_mw / 1e3);
        // A milliwatt more: what operations have used is paid for in seconds.
        if let Some(watts) = states.iter().find(|watts| !(idle + 1e-3..=1e6).contains(*watts)) {
            let problem = format!("has a state of {watts} W");
            return refuse("power_states", problem, format!("write watts above the {idle} W of energy.idle_mw"));
        }
        if !states.is_sorted_by(|higher, lower| higher >= lower) {
            return refuse("power_states", "goes up", "write the states from the highest power down");
        }
        if !states.is_empty() && self.power_state as usize >= states.len() {
            let problem = format!("is {}, and energy.power_states has {} states", self.power_state, states.len());
            return refuse("power_state", problem, "write the number of a state, from 0");
        }
        if self.window > Span(10_000_000_000) {
            return refuse("window", format!("is {} s", self.window.as_s()), "write 10s at most");
        }
        Ok(())
    }
}
