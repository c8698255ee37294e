//! A run on an array, from what a user gives.

use std::path::PathBuf;

use serde_json::{Map, Value};
use ssd::probe::{Probe, Unwatched};
use ssd::run::findings;
use ssd::run::{Inputs, OtherDrive, Playing, PreparedOn, RunOptions, prepare_on};
use ssd::stats::SteadyState;
use ssd::{Checker, Config, Device, Drive, Outcome, RequestLog, Run, RunError};
use units::Span;

use crate::array::Array;
use crate::given::ArrayGiven;

/// A run on an array whose input has been read and checked.
pub struct PreparedArray {
    array: ArrayGiven,
    /// The workload, the options and what is to be known of them.
    pub prepared: PreparedOn,
}

/// Reads and checks what a run on the array of a file needs. Its drives are not built.
///
/// # Errors
/// A mistake in what is given: where, and what to write instead.
pub fn prepare(inputs: &Inputs, path: &str) -> Result<PreparedArray, RunError> {
    let mut options = RunOptions::default();
    for (name, given) in inputs.drive.options {
        options.set(name, given)?;
    }
    let array = ArrayGiven::read(path, &inputs.drive, options.seed)?;
    if let Some(path) = &options.checkpoint {
        array.saved(path)?;
    }
    let manifest = ("array", array.manifest(&inputs.drive)?);
    let other = OtherDrive { manifest, device: &array.first, capacity: array.capacity };
    let mut prepared = prepare_on(inputs, other)?;
    let notes: Vec<String> = [prepared.note.take(), array.note.clone()].into_iter().flatten().collect();
    prepared.note = (!notes.is_empty()).then(|| notes.join("; "));
    findings::add(&mut prepared.findings, array.findings.iter().cloned());
    Ok(PreparedArray { array, prepared })
}

impl PreparedArray {
    /// The configuration of the first drive: its queues are those of the array's host.
    pub fn config(&self) -> &Config {
        &self.array.first.config
    }

    /// Builds the drives and begins the run. With `check` each drive verifies its invariants after every event.
    ///
    /// # Errors
    /// The run cannot begin.
    pub fn open(self, log: Option<Box<dyn RequestLog>>, check: bool) -> Result<Box<dyn Playing>, RunError> {
        let RunOptions { seed, checkpoint, .. } = self.prepared.options.clone();
        let from = checkpoint.as_deref();
        if !check {
            let array = self.array.build(seed, from, |_| Ok(Unwatched))?;
            return Ok(Box::new(self.on(array, log)?));
        }
        let array = self.array.build(seed, from, |config| Ok(Checker::new(&config.plan()?)))?;
        Ok(Box::new(self.on(array, log)?))
    }

    fn on<P: Probe>(
        self,
        array: Array<Device<P>>,
        log: Option<Box<dyn RequestLog>>,
    ) -> Result<ArrayRun<Device<P>>, RunError> {
        let PreparedOn { source, options, .. } = self.prepared;
        Ok(ArrayRun(Run::on(array, source, options, log)?))
    }
}

/// A run on an array.
struct ArrayRun<D: Drive>(Run<Array<D>>);

impl<D: Drive + Send + 'static> Playing for ArrayRun<D> {
    fn save_after(&mut self, after: Span, path: PathBuf) {
        self.0.save_after(after, path);
    }
    fn saves(&self) -> bool {
        self.0.saves()
    }
    fn end_of_life(&self) -> Option<&RunError> {
        self.0.end_of_life()
    }
    fn counts(&self) -> (u64, u64) {
        self.0.counts()
    }
    fn progress(&self) -> Option<f64> {
        self.0.progress()
    }
    fn steady(&self) -> Option<SteadyState> {
        self.0.steady()
    }
    fn warms(&self) -> Option<(u64, f64)> {
        self.0.warms()
    }
    fn step(&mut self, requests: u64) -> Result<bool, RunError> {
        self.0.step(requests)
    }
    fn sections(&self) -> Map<String, Value> {
        Map::from_iter([("array".to_owned(), self.0.device().section())])
    }
    fn finish(self: Box<Self>) -> Result<Outcome<Box<dyn Drive + Send>>, RunError> {
        Ok(self.0.finish()?.with(|array| -> Box<dyn Drive + Send> { Box::new(array) }))
    }
}
