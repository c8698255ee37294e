//! A run in progress, whoever watches it.

use std::path::PathBuf;

use serde_json::{Map, Value};
use units::Span;
use workload::Source;

use super::drive::AnyDrive;
use super::options::RunOptions;
use super::outcome::Outcome;
use super::replay::Run;
use super::request_log::RequestLog;
use crate::config::Config;
use crate::device::Device;
use crate::drive::Drive;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::SteadyState;
use crate::observe::watch::Watch;

/// What is done with a [`Run`] that is watched by any probe.
pub trait Playing: Send {
    /// See [`Run::save_after`].
    fn save_after(&mut self, after: Span, path: PathBuf);
    /// See [`Run::saves`].
    fn saves(&self) -> bool;
    /// See [`Run::end_of_life`].
    fn end_of_life(&self) -> Option<&RunError>;
    /// The drive.
    fn drive(&self) -> &dyn Drive;
    /// See [`Run::counts`].
    fn counts(&self) -> (u64, u64);
    /// See [`Run::progress`].
    fn progress(&self) -> Option<f64>;
    /// See [`Run::steady`].
    fn steady(&self) -> Option<SteadyState>;
    /// See [`Run::warms`].
    fn warms(&self) -> Option<(u64, f64)>;
    /// See [`Run::step`].
    fn step(&mut self, requests: u64) -> Result<bool, RunError>;
    /// Sections of the result that the drive adds.
    fn sections(&self) -> Map<String, Value> {
        Map::new()
    }
    /// See [`Run::finish`].
    fn finish(self: Box<Self>) -> Result<Outcome<Box<AnyDrive>>, RunError>;
}

impl<P: Probe + Send> Playing for Run<Device<P>> {
    fn save_after(&mut self, after: Span, path: PathBuf) {
        Run::save_after(self, after, path);
    }
    fn saves(&self) -> bool {
        Run::saves(self)
    }
    fn end_of_life(&self) -> Option<&RunError> {
        Run::end_of_life(self)
    }
    fn drive(&self) -> &dyn Drive {
        self.device()
    }
    fn counts(&self) -> (u64, u64) {
        Run::counts(self)
    }
    fn progress(&self) -> Option<f64> {
        Run::progress(self)
    }
    fn steady(&self) -> Option<SteadyState> {
        Run::steady(self)
    }
    fn warms(&self) -> Option<(u64, f64)> {
        Run::warms(self)
    }
    fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        Run::step(self, requests)
    }
    fn finish(self: Box<Self>) -> Result<Outcome<Box<AnyDrive>>, RunError> {
        Ok(Run::finish(*self)?.unwatched().with(|device| -> Box<AnyDrive> { Box::new(device) }))
    }
}

/// Prepares a run. Whoever watches it, what comes of it is the same.
pub fn open(
    config: &Config,
    source: Box<dyn Source>,
    options: RunOptions,
    log: Option<Box<dyn RequestLog>>,
    watch: Option<Watch>,
) -> Result<Box<dyn Playing>, RunError> {
    Ok(match watch {
        Some(watch) => Box::new(Run::watched(config, source, options, log, watch)?),
        None => Box::new(Run::new(config, source, options, log)?),
    })
}
