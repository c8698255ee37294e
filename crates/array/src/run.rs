//! A run on an array, from what a user gives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use ssd::run::findings;
use ssd::run::{
    Attended, DriveInputs, Inputs, Live, OtherDrive, Playing, PreparedLive, PreparedOn, RunOptions, prepare_live_on,
    prepare_on,
};
use ssd::stats::SteadyState;
use ssd::watch::shared;
use ssd::{AnyDrive, Config, Drive, Explainer, Outcome, RequestLog, Run, RunDrive, RunError, Watch};
use units::Span;
use workload::Source;

use crate::array::Array;
use crate::explain::ArrayExplanation;
use crate::given::ArrayGiven;

/// A run on an array whose input has been read and checked.
pub struct PreparedArray {
    array: Arc<ArrayGiven>,
    /// The workload, the options and what is to be known of them.
    pub prepared: PreparedOn,
}

/// Reads and checks what a run on the array of a file needs. Its drives are not built.
///
/// # Errors
/// A mistake in what is given: where, and what to write instead.
pub fn prepare(inputs: &Inputs, path: &str) -> Result<PreparedArray, RunError> {
    let array = read(&inputs.drive, path)?;
    let manifest = ("array", array.manifest(&inputs.drive)?);
    let other = OtherDrive { manifest, device: &array.first, capacity: array.capacity };
    let mut prepared = prepare_on(inputs, other)?;
    let notes: Vec<String> = [prepared.note.take(), array.note.clone()].into_iter().flatten().collect();
    prepared.note = (!notes.is_empty()).then(|| notes.join("; "));
    findings::add(&mut prepared.findings, array.findings.iter().cloned());
    Ok(PreparedArray { array: Arc::new(array), prepared })
}

/// What [`prepare_live`] has read and checked of an array whose requests come from outside.
#[derive(Clone)]
pub struct PreparedLiveArray {
    array: Arc<ArrayGiven>,
    /// The options, and what is to be known of them.
    pub prepared: PreparedLive,
    /// How the input was understood.
    pub note: Option<String>,
}

/// Reads and checks what an array needs whose requests come from outside: from `driver`, as the manifest calls it.
///
/// # Errors
/// A mistake in what is given: where, and what to write instead.
pub fn prepare_live(inputs: &DriveInputs, path: &str, driver: &str) -> Result<PreparedLiveArray, RunError> {
    let array = read(inputs, path)?;
    let manifest = ("array", array.manifest(inputs)?);
    let other = OtherDrive { manifest, device: &array.first, capacity: array.capacity };
    let mut prepared = prepare_live_on(inputs, driver, other)?;
    findings::add(&mut prepared.findings, array.findings.iter().cloned());
    Ok(PreparedLiveArray { note: array.note.clone(), array: Arc::new(array), prepared })
}

/// The array of a file, which is driven request by request: in the state in which a workload meets it, or in that of a
/// checkpoint.
///
/// # Errors
/// A mistake in what is given: where, and what to write instead. A drive cannot be built.
pub fn open(inputs: &DriveInputs, path: &str, seed: u64, checkpoint: Option<&Path>) -> Result<Box<AnyDrive>, RunError> {
    let mut array = ArrayGiven::read(path, inputs, seed)?.build(seed, checkpoint, |_, _| Ok(None))?;
    if array.is_on_its_way() {
        array.workload_is_to_come();
        while !array.comes_into_its_state(1 << 16)? {}
    }
    if checkpoint.is_none() {
        array.workload_begins();
    }
    Ok(Box::new(array))
}

/// The array of a file, which can go on from the checkpoint that is given.
fn read(inputs: &DriveInputs, path: &str) -> Result<ArrayGiven, RunError> {
    let mut options = RunOptions::default();
    for (name, given) in inputs.options {
        options.set(name, given)?;
    }
    let array = ArrayGiven::read(path, inputs, options.seed)?;
    if let Some(path) = &options.checkpoint {
        array.saved(path)?;
    }
    Ok(array)
}

impl PreparedLiveArray {
    /// Builds the drives and brings the array into the state in which it meets its first request.
    ///
    /// # Errors
    /// The run cannot begin.
    pub fn open(&self, log: Option<Box<dyn RequestLog>>) -> Result<Box<dyn Attended>, RunError> {
        let options = &self.prepared.options;
        let array = self.array.build(options.seed, options.checkpoint.as_deref(), |_, _| Ok(None))?;
        Ok(Box::new(Live::on(array, options, log)?))
    }

    /// A run of the same array on these requests.
    pub fn replay(&self, source: Box<dyn Source>) -> PreparedArray {
        let PreparedLive { options, manifest, findings, .. } = self.prepared.clone();
        PreparedArray {
            array: self.array.clone(),
            prepared: PreparedOn { source, options, manifest, note: None, findings },
        }
    }
}

impl PreparedArray {
    /// The configuration of the first drive: its queues are those of the array's host.
    pub fn config(&self) -> &Config {
        &self.array.first.config
    }

    /// Builds the drives and begins the run. `watch` says who watches a drive, by its name and configuration.
    ///
    /// # Errors
    /// The run cannot begin.
    pub fn open(
        self,
        log: Option<Box<dyn RequestLog>>,
        watch: impl FnMut(&str, &Config) -> Result<Option<Watch>, RunError>,
    ) -> Result<ArrayRun, RunError> {
        let PreparedOn { source, options, .. } = self.prepared;
        let array = self.array.build(options.seed, options.checkpoint.as_deref(), watch)?;
        Ok(ArrayRun(Run::on(array, source, options, log)?))
    }

    /// Builds the drives and begins a run that explains its `slowest` slowest requests and those numbered in `wanted`
    /// ([`ArrayRun::explanations`]).
    ///
    /// # Errors
    /// The run cannot begin.
    pub fn explained(self, slowest: usize, wanted: Vec<u64>) -> Result<ArrayRun, RunError> {
        let PreparedOn { source, options, .. } = self.prepared;
        let mut drives = Vec::new();
        let array = self.array.build(options.seed, options.checkpoint.as_deref(), |_, _| {
            let (explainer, followed) = Explainer::followed();
            drives.push(followed);
            Ok(Some(Watch::explaining(&shared(explainer))))
        })?;
        let array = array.explained(slowest, wanted, options.warmup, drives);
        Ok(ArrayRun(Run::on(array, source, options, None)?))
    }
}

/// A run on an array.
pub struct ArrayRun(Run<Array>);

impl ArrayRun {
    /// Where the time of requests went ([`PreparedArray::explained`]).
    pub fn explanations(&self) -> Vec<ArrayExplanation> {
        self.0.device().explanations()
    }

    /// What its drives are called.
    pub fn names(&self) -> Vec<String> {
        self.0.device().names().map(str::to_owned).collect()
    }
}

impl Playing for ArrayRun {
    fn save_after(&mut self, after: Span, path: PathBuf) {
        self.0.save_after(after, path);
    }
    fn saves(&self) -> bool {
        self.0.saves()
    }
    fn end_of_life(&self) -> Option<&RunError> {
        self.0.end_of_life()
    }
    fn drive(&self) -> &dyn Drive {
        self.0.device()
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
        self.0.device().sections()
    }
    fn finish(self: Box<Self>) -> Result<Outcome<Box<AnyDrive>>, RunError> {
        Ok(self.0.finish()?.with(|array| -> Box<AnyDrive> { Box::new(array) }))
    }
}
