//! Power cuts, as the host sees them: requests that were under way are aborted; those that had not arrived wait until
//! the drive is ready. What becomes of the data is in `crate::back_end`.

use units::ConfigError;

use super::Device;
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::power::PowerSeen;

/// Cuts the power of a drive now; it comes back at once, and the drive recovers.
///
/// # Errors
/// The drive does not keep what is on flash for it (`power.cut_at` is empty), or has failed.
pub(super) fn cut_power<P: Probe>(device: &mut Device<P>) -> Result<(), RunError> {
    if !device.power().is_some_and(PowerSeen::is_cut) {
        let remedy = "set power.cut_at to [\"on-demand\"] where the drive begins: it then keeps what is on flash";
        return Err(refusal("power.cut_at", "is [], so that the power cannot be cut", remedy));
    }
    device.back.core.counters.events += 1;
    device.on_cut();
    device.back.settle();
    device.back.core.life.failure.clone().map_or(Ok(()), Err)
}

fn refusal(key: &str, problem: &str, remedy: &str) -> RunError {
    let (key, problem, remedy) = (Some(key.to_owned()), problem.to_owned(), remedy.to_owned());
    RunError::Config(ConfigError { origin: "device".into(), line: None, key, problem, remedy })
}

impl<P: Probe> Device<P> {
    /// The power is cut, and comes back at once.
    #[cold]
    pub(super) fn on_cut(&mut self) {
        let kept = self.back.power_at().power_goes();
        self.host.power_off(&mut self.back.core, &mut self.back.commands);
        if self.back.power_returns(kept) {
            self.become_ready();
        }
    }

    /// The drive becomes ready again after a power cut.
    #[cold]
    pub(super) fn become_ready(&mut self) {
        self.host.power_on(&mut self.back.core);
        self.back.become_ready();
    }
}
