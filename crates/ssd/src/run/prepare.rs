//! A run is prepared: what its user gives is read and checked, and what decides its result is written down.

use serde_json::{Map, Value, json};
use units::ConfigError;
use workload::Source;

use super::checkpoint::{self, Checkpoint};
use super::device_given::{device_given, undone};
use super::fingerprint::{Fingerprint, fingerprint_of};
use super::manifest;
use super::options::{Given, Replay, RunOptions, refused};
use super::workload_given::{self, Opened, TraceOptions, Wanted, WorkloadGiven};
use crate::RESULTS_VERSION;
use crate::config::Config;
use crate::error::RunError;

/// The widest window in which a trace is sorted [requests]: 640 MB.
const WIDEST_SORT_WINDOW: usize = 1 << 24;

/// What decides a run, as its user gives it.
pub struct Inputs<'a> {
    /// The version of the program, for the manifest.
    pub version: &'a str,
    /// A preset or a file.
    pub device: &'a str,
    /// A preset, a file that describes a generator, or a trace.
    pub workload: &'a str,
    /// A named scheme or choices.
    pub scheme: Option<&'a str>,
    /// Keys of the section `age`, with commas between.
    pub age: Option<&'a str>,
    /// `section.key=value` each, of the device and of generators.
    pub settings: &'a [String],
    /// Options of the run by name.
    pub options: &'a [(String, Given)],
    /// How traces are read.
    pub traces: TraceOptions,
    /// How files are told apart.
    pub fingerprint: Fingerprint,
}

/// A run whose input has been read and checked.
pub struct Prepared {
    /// The device.
    pub config: Config,
    /// The workload.
    pub source: Box<dyn Source>,
    /// The options.
    pub options: RunOptions,
    /// What is run: everything that decides the result.
    pub manifest: Value,
    /// What the user should know about how the input was understood.
    pub notes: Vec<String>,
}

/// Reads and checks what a run needs. Its device is not built: the manifest alone costs next to nothing.
pub fn prepare(inputs: &Inputs) -> Result<Prepared, RunError> {
    let mut options = RunOptions::default();
    for (name, given) in inputs.options {
        options.set(name, given)?;
    }
    options.checkpoint = options.checkpoint.or_else(|| checkpoint::given(inputs.device));
    let checkpoint = options.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
    let spec = device_given(inputs.device, inputs.scheme, inputs.age, inputs.settings)?;
    let plan = spec.config.plan()?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.check(&plan)?;
    }
    check_sort_window(inputs.traces.reading.sort_window)?;
    let wanted = match (options.until_steady, options.requests) {
        (Some(_), _) => Wanted::Endless,
        (None, Some(requests)) => Wanted::AtLeast(requests),
        (None, None) => Wanted::Own,
    };
    let Opened { source, manifest: workload, note, closed, requests } = workload_given::open(&WorkloadGiven {
        word: inputs.workload,
        settings: inputs.settings,
        traces: &inputs.traces,
        beyond: options.beyond,
        wanted,
        seed: options.seed,
        capacity: plan.capacity(),
        fingerprint: inputs.fingerprint,
    })?;
    check_warmup(&options, requests)?;
    if let Some(depth) = closed
        && !inputs.options.iter().any(|(name, _)| name == "replay")
    {
        options.replay = Replay::Closed(depth);
    }
    let mut manifest = Map::new();
    manifest.insert("ssdlab".into(), json!(inputs.version));
    manifest.insert("results_version".into(), json!(RESULTS_VERSION));
    manifest.insert("device".into(), manifest::device(&spec.name, &plan, inputs.fingerprint)?);
    manifest.insert("workload".into(), workload);
    manifest.insert("scheme".into(), json!(inputs.scheme));
    // What becomes of requests beyond the drive stands beside the trace that may hold some.
    let values = options.values().into_iter().filter(|(name, _)| !["beyond", "checkpoint"].contains(name));
    manifest.extend(values.map(|(name, value)| (name.to_owned(), value)));
    if let Some(path) = &options.checkpoint {
        manifest.insert("checkpoint".into(), json!(fingerprint_of(path, inputs.fingerprint)?));
    }
    let mut notes: Vec<String> = note.into_iter().collect();
    notes.extend(spec.config.idle_settings().iter().map(|idle| format!("no effect: {idle}")));
    notes.extend(undone(inputs.scheme, inputs.settings)?);
    Ok(Prepared { config: spec.config, source, options, manifest: Value::Object(manifest), notes })
}

fn check_sort_window(requests: usize) -> Result<(), ConfigError> {
    if requests > WIDEST_SORT_WINDOW {
        let problem = format!("would hold {requests} requests in memory");
        let remedy = format!("write at most {WIDEST_SORT_WINDOW}, or sort the trace first");
        return Err(refused("--sort-window", &problem, &remedy));
    }
    Ok(())
}

/// Refuses a warm-up that leaves nothing to be measured.
fn check_warmup(options: &RunOptions, requests: Option<u64>) -> Result<(), ConfigError> {
    let warmup = options.warmup;
    match options.requests.into_iter().chain(requests).min() {
        Some(most) if warmup >= most => {
            let problem = format!("leaves nothing to be measured: {most} requests are played");
            let remedy = format!("choose less than {most}, or play more (--requests)");
            Err(refused(&format!("--warmup {warmup}"), &problem, &remedy))
        }
        _ => Ok(()),
    }
}
