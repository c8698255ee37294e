//! What brings a drive into its state before the workload.

use super::drive::RunDrive;
use super::warming::Warming;
use crate::device::Device;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Warmed;

/// Something that is played on a drive before the workload.
pub(super) trait Before<D: RunDrive>: Send {
    /// Plays some requests more; whether it has ended.
    fn play(&mut self, drive: &mut D, requests: u64) -> Result<bool, RunError>;

    /// What came of it, where it was a load of the past.
    fn warmed(&self) -> Option<Warmed>;

    /// Pages of host data that have been played through the FTL alone so far, and the write amplification then.
    fn so_far(&self) -> Option<(u64, f64)> {
        None
    }
}

impl<P: Probe> Before<Device<P>> for Warming {
    fn play(&mut self, device: &mut Device<P>, requests: u64) -> Result<bool, RunError> {
        Warming::play(self, device, requests)
    }
    fn warmed(&self) -> Option<Warmed> {
        Warming::warmed(self)
    }
    fn so_far(&self) -> Option<(u64, f64)> {
        Warming::so_far(self)
    }
}

/// What the drive itself does: one that is made of several brings each of them into its state.
pub(super) struct OfItsOwn;

impl<D: RunDrive> Before<D> for OfItsOwn {
    fn play(&mut self, drive: &mut D, requests: u64) -> Result<bool, RunError> {
        drive.comes_into_its_state(requests)
    }
    fn warmed(&self) -> Option<Warmed> {
        None
    }
}
