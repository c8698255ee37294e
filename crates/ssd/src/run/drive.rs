//! A drive as runs take it: it is brought into its state before the workload, and kept in checkpoints.

use std::path::Path;

use serde_json::Value;
use units::ConfigError;
use workload::Past;

use super::checkpoint;
use super::warming::{Played, Warming};
use crate::config::Config;
use crate::device::Device;
use crate::drive::Drive;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Warmed;
use crate::observe::watch::Watch;

/// A drive of which there are runs.
pub trait RunDrive: Drive {
    /// What a checkpoint says of it: what it is built from, and where it stands (`time_ns`).
    fn header(&self) -> Value;
    /// Writes a checkpoint to a file.
    ///
    /// # Errors
    /// It has failed, or the file cannot be written.
    fn save_as(&self, path: &Path) -> Result<(), RunError> {
        checkpoint::write(self, path)
    }

    /// The part of a load that goes through the FTL alone, as if it had gone on before, where requests are
    /// `paced` or not ([`RunDrive::warm`]).
    ///
    /// # Errors
    /// A parameter of the load cannot be met.
    fn warming(&mut self, _past: &dyn Past, _paced: bool) -> Result<Played, RunError> {
        Ok(Played::Nothing)
    }
    /// Plays some requests more of it; what came of it, once that has ended.
    ///
    /// # Errors
    /// The load cannot be read.
    fn warm(&mut self, _load: &mut Warming, _requests: u64) -> Result<Option<Warmed>, RunError> {
        Ok(None)
    }
    /// It is made of several drives, which are to begin as a load has left them; whether anything is to be played for
    /// that ([`RunDrive::comes_into_its_state`]).
    ///
    /// # Errors
    /// See [`RunDrive::warming`].
    fn begins_after(&mut self, _past: &dyn Past, _paced: bool) -> Result<bool, RunError> {
        Ok(false)
    }
    /// What came of that.
    fn warmed(&self) -> Option<Warmed> {
        None
    }
    /// Whether it is still to bring itself into its state before the workload.
    fn is_on_its_way(&self) -> bool {
        false
    }
    /// Plays some requests more of what does; whether that has ended.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn comes_into_its_state(&mut self, _requests: u64) -> Result<bool, RunError> {
        Ok(true)
    }
}

/// Any drive.
pub type AnyDrive = dyn RunDrive + Send;

/// Builds a drive in its initial state, watched or not.
///
/// # Errors
/// The key at fault.
pub fn build(config: &Config, seed: u64, watch: Option<Watch>) -> Result<Box<AnyDrive>, ConfigError> {
    Ok(match watch {
        Some(watch) => Box::new(Device::watched(config, seed, watch)?),
        None => Box::new(Device::new(config, seed)?),
    })
}

impl<P: Probe> RunDrive for Device<P> {
    fn header(&self) -> Value {
        checkpoint::header_of(self)
    }

    fn warming(&mut self, past: &dyn Past, paced: bool) -> Result<Played, RunError> {
        Warming::of(past, paced, self)
    }
    fn warm(&mut self, load: &mut Warming, requests: u64) -> Result<Option<Warmed>, RunError> {
        let ended = load.play(self, requests)?;
        Ok(load.warmed().filter(|_| ended))
    }
}
