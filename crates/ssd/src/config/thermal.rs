//! The drive's temperature.

use nand::Layout;
use units::{Span, Temperature};

use super::refusal::{Check, Refusal, positive, refuse};

units::section! {
    /// The drive as one body that what it uses heats and the air cools: dT/dt = (P * resistance - (T - ambient)) /
    /// time_constant. Above a threshold it goes to lower power states, as NVMe's host controlled thermal management
    /// does (NVM Express Base Specification). Data ages and is read at the drive's temperature (chip.model).
    pub struct ThermalConfig in "thermal" {
        /// Kelvins above the air for each watt; "none": the temperature is not followed.
        resistance: Option<f64> = None,
        /// Time in which the drive comes within 1/e of where its power takes it (assumed: a minute, an M.2 drive
        /// without a heat sink).
        time_constant: Span = Span(60_000_000_000),
        /// Temperature of the air, and of the drive's body at rest but for energy.idle_mw.
        ambient: Temperature = Temperature(30.0),
        /// From this temperature on the drive is one power state lower (light throttling; assumed: of the order of
        /// client drives).
        light: Temperature = Temperature(75.0),
        /// From this temperature on it is in the lowest power state (heavy throttling; assumed: the same).
        heavy: Temperature = Temperature(80.0),
        /// Kelvins below a threshold at which its throttling ends (assumed).
        hysteresis: f64 = 3.0,
    }
}

impl ThermalConfig {
    /// The temperature that the drive comes to at rest, which uses so much.
    pub(crate) fn at_rest(&self, idle_mw: f64) -> Temperature {
        Temperature(self.ambient.0 + self.resistance.unwrap_or(0.0) * idle_mw / 1e3)
    }
}

impl Check for ThermalConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if let Some(resistance) = self.resistance
            && !(0.001..=1000.0).contains(&resistance)
        {
            let remedy = "write kelvins a watt from 0.001 to 1000, or \"none\"";
            return refuse("resistance", format!("is {resistance}"), remedy);
        }
        positive(&[("time_constant", self.time_constant.0)])?;
        if !(0.0..=100.0).contains(&self.hysteresis) {
            return refuse("hysteresis", format!("is {}", self.hysteresis), "write kelvins from 0 to 100");
        }
        if self.heavy.0 < self.light.0 {
            let problem = format!("is {} C, below thermal.light of {} C", self.heavy.0, self.light.0);
            return refuse("heavy", problem, "write thermal.light or more");
        }
        Ok(())
    }
}
