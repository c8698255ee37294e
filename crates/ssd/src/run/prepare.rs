//! A run is prepared: what its user gives is read and checked, and what decides its result is written down.

use schemes::FailBusy;
use serde_json::{Map, Value, json};
use units::{Bytes, ConfigError};
use workload::Source;

use super::checkpoint::Checkpoint;
use super::device_given::{DeviceWord, device_given, undone};
use super::findings;
use super::fingerprint::{Fingerprint, fingerprint_of};
use super::live::{Attended, Live};
use super::manifest;
use super::options::{Given, Replay, RunOptions, TraceOptions};
use super::refusal::refused;
use super::request_log::RequestLog;
use super::workload_given::{self, Opened, Wanted, WorkloadGiven, is_workload_key};
use crate::RESULTS_VERSION;
use crate::config::{Config, Plan};
use crate::error::RunError;
use crate::observe::probe::Unwatched;
use crate::observe::stats::Finding;
use crate::policies::Policies;
use crate::presets::DeviceSpec;

/// The widest window in which a trace is sorted \[requests]: 640 MB.
const WIDEST_SORT_WINDOW: u64 = 1 << 24;

/// A drive and how it is played, as a user gives them.
pub struct DriveInputs<'a> {
    /// The version of the program, for the manifest.
    pub version: &'a str,
    /// The device.
    pub device: DeviceWord<'a>,
    /// A named scheme or choices.
    pub scheme: Option<&'a str>,
    /// Keys of the section `age`, with commas between.
    pub age: Option<&'a str>,
    /// `section.key=value` each, of the device and of generators.
    pub settings: &'a [String],
    /// What stands in for policies of the device.
    pub policies: &'a Policies,
    /// Options of the run by name.
    pub options: &'a [(String, Given)],
    /// How files are told apart.
    pub fingerprint: Fingerprint,
}

/// What decides a run, as its user gives it.
pub struct Inputs<'a> {
    /// The drive.
    pub drive: DriveInputs<'a>,
    /// A preset, a file that describes a generator, or a trace.
    pub workload: &'a str,
    /// Further traces, merged with it by time.
    pub merge: &'a [String],
    /// How traces are read.
    pub traces: TraceOptions,
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
    /// How the input was understood.
    pub note: Option<String>,
    /// What in the input puts the result in doubt.
    pub findings: Vec<Finding>,
}

/// What [`prepare_live`] has read and checked of a run whose requests come from outside.
#[derive(Clone)]
pub struct PreparedLive {
    /// The device.
    pub config: Config,
    /// The options.
    pub options: RunOptions,
    /// What is run, but for the requests.
    pub manifest: Value,
    /// What in the input puts the result in doubt.
    pub findings: Vec<Finding>,
}

impl PreparedLive {
    /// Builds the device and brings it into the state in which it meets its first request.
    ///
    /// # Errors
    /// The run cannot begin.
    pub fn open(&self, log: Option<Box<dyn RequestLog>>) -> Result<Box<dyn Attended>, RunError> {
        Ok(Box::new(Live::open(&self.config, &self.options, log, Unwatched)?))
    }
}

/// A drive that is not one device, for a run on it.
pub struct OtherDrive<'a> {
    /// Its name in the manifest, and everything that decides what it does.
    pub manifest: (&'a str, Value),
    /// The device that it is made of, or the first of those.
    pub device: &'a DeviceSpec,
    /// Its capacity.
    pub capacity: Bytes,
}

/// A run on another drive than one device, whose input has been read and checked.
pub struct PreparedOn {
    /// The workload.
    pub source: Box<dyn Source>,
    /// The options.
    pub options: RunOptions,
    /// What is run: everything that decides the result.
    pub manifest: Value,
    /// How the input was understood.
    pub note: Option<String>,
    /// What in the input puts the result in doubt.
    pub findings: Vec<Finding>,
}

/// Reads and checks what a run needs. Its device is not built: the manifest alone costs next to nothing.
pub fn prepare(inputs: &Inputs) -> Result<Prepared, RunError> {
    let Drive { spec, plan, options } = drive(&inputs.drive)?;
    let Loaded { opened, mut options } = load(inputs, plan.capacity(), &spec.config, options)?;
    let Opened { source, manifest: workload, note, findings: mut found, requests, .. } = opened;
    let manifest = manifest_of(&inputs.drive, &spec, &plan, workload, &options)?;
    if source.leads() {
        // The source makes more.
        options.requests = options.requests.or(requests);
    }
    findings::add(&mut found, findings_of_settings(inputs.drive.scheme, inputs.drive.settings, &spec)?);
    findings::add(&mut found, findings_without_other_way(&spec));
    Ok(Prepared { config: spec.config, source, options, manifest: Value::Object(manifest), note, findings: found })
}

/// [`prepare`] for a run on another drive than one device: the inputs that choose a device are not read.
pub fn prepare_on(inputs: &Inputs, drive: OtherDrive) -> Result<PreparedOn, RunError> {
    let mut options = RunOptions::default();
    for (name, given) in inputs.drive.options {
        options.set(name, given)?;
    }
    let Loaded { opened, mut options } = load(inputs, drive.capacity, &drive.device.config, options)?;
    let Opened { source, manifest: workload, note, findings, requests, .. } = opened;
    let plan = drive.device.config.plan()?;
    let mut manifest = manifest_of(&inputs.drive, drive.device, &plan, workload, &options)?;
    manifest.insert(drive.manifest.0.into(), drive.manifest.1);
    if source.leads() {
        options.requests = options.requests.or(requests);
    }
    Ok(PreparedOn { source, options, manifest: Value::Object(manifest), note, findings })
}

/// A workload that has been opened, and the options as it leaves them.
struct Loaded {
    opened: Opened,
    options: RunOptions,
}

/// Opens the workload for a drive of some capacity.
fn load(inputs: &Inputs, capacity: Bytes, config: &Config, mut options: RunOptions) -> Result<Loaded, RunError> {
    check_sort_window(inputs.traces.sort_window)?;
    let wanted = match (options.until_steady, options.requests) {
        (Some(_), _) => Wanted::Endless,
        (None, Some(requests)) => Wanted::AtLeast(requests),
        (None, None) => Wanted::Own,
    };
    let mut opened = workload_given::open(&WorkloadGiven {
        word: inputs.workload,
        merge: inputs.merge,
        settings: inputs.drive.settings,
        traces: &inputs.traces,
        beyond: options.beyond,
        wanted,
        seed: options.seed,
        capacity,
        fingerprint: inputs.drive.fingerprint,
        takes_hints: config.takes_hints(),
    })?;
    check_warmup(&options, opened.requests)?;
    if let Some(depth) = opened.closed
        && !inputs.drive.options.iter().any(|(name, _)| name == "replay")
    {
        options.replay = Replay::Closed(depth);
    }
    if matches!(options.replay, Replay::Timed(_)) {
        let requests = opened.at_once.min(options.requests.unwrap_or(u64::MAX));
        findings::add(&mut opened.findings, findings::at_once(requests));
    }
    Ok(Loaded { opened, options })
}

/// Reads and checks what a run needs whose requests come from outside: from `driver`, as the manifest calls it.
pub fn prepare_live(inputs: &DriveInputs, driver: &str) -> Result<PreparedLive, RunError> {
    without_workload(inputs)?;
    let Drive { spec, plan, options } = drive(inputs)?;
    let manifest = manifest_of(inputs, &spec, &plan, json!({ "driver": driver }), &options)?;
    let manifest = Value::Object(manifest);
    let findings = findings_of_settings(inputs.scheme, inputs.settings, &spec)?;
    Ok(PreparedLive { findings, config: spec.config, options, manifest })
}

/// [`prepare_live`] for a run on another drive than one device: the inputs that choose a device are not read.
pub fn prepare_live_on(inputs: &DriveInputs, driver: &str, drive: OtherDrive) -> Result<PreparedLive, RunError> {
    without_workload(inputs)?;
    let mut options = RunOptions::default();
    for (name, given) in inputs.options {
        options.set(name, given)?;
    }
    let plan = drive.device.config.plan()?;
    let mut manifest = manifest_of(inputs, drive.device, &plan, json!({ "driver": driver }), &options)?;
    manifest.insert(drive.manifest.0.into(), drive.manifest.1);
    let (config, manifest) = (drive.device.config.clone(), Value::Object(manifest));
    Ok(PreparedLive { config, options, manifest, findings: Vec::new() })
}

fn without_workload(inputs: &DriveInputs) -> Result<(), ConfigError> {
    let Some(word) = inputs.settings.iter().find(|word| is_workload_key(word)) else { return Ok(()) };
    Err(refused(word, "is a generator's key, and requests come from outside", "leave it out"))
}

/// A drive whose input has been checked.
struct Drive {
    spec: DeviceSpec,
    plan: Plan,
    options: RunOptions,
}

fn drive(inputs: &DriveInputs) -> Result<Drive, RunError> {
    let mut options = RunOptions::default();
    for (name, given) in inputs.options {
        options.set(name, given)?;
    }
    options.checkpoint = options.checkpoint.or_else(|| inputs.device.checkpoint());
    let checkpoint = options.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
    let mut spec = device_given(inputs.device, inputs.scheme, inputs.age, inputs.settings)?;
    spec.config.policies = inputs.policies.clone();
    let plan = spec.config.plan()?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.check(&plan)?;
    }
    Ok(Drive { spec, plan, options })
}

fn manifest_of(
    inputs: &DriveInputs,
    spec: &DeviceSpec,
    plan: &Plan,
    workload: Value,
    options: &RunOptions,
) -> Result<Map<String, Value>, RunError> {
    let mut manifest = Map::new();
    manifest.insert("ssdlab".into(), json!(inputs.version));
    manifest.insert("results_version".into(), json!(RESULTS_VERSION));
    manifest.insert("device".into(), manifest::device(&spec.name, plan, inputs.fingerprint)?);
    manifest.insert("workload".into(), workload);
    manifest.insert("scheme".into(), json!(inputs.scheme));
    manifest.extend(manifest::policies(inputs.policies).map(|policies| ("policies".into(), policies)));
    // What becomes of requests beyond the drive stands beside the trace that may hold some.
    let values = options.values().into_iter().filter(|(name, _)| !["beyond", "checkpoint"].contains(name));
    manifest.extend(values.map(|(name, value)| (name.to_owned(), value)));
    if let Some(path) = &options.checkpoint {
        manifest.insert("checkpoint".into(), json!(fingerprint_of(path, inputs.fingerprint)?));
    }
    Ok(manifest)
}

/// What a drive's scheme and settings say of its results.
///
/// # Errors
/// There is no such scheme.
pub fn findings_of_settings(
    scheme: Option<&str>,
    settings: &[String],
    spec: &DeviceSpec,
) -> Result<Vec<Finding>, ConfigError> {
    let undone = findings::scheme_undone(&undone(scheme, settings)?);
    let idle = spec.config.idle_settings(&spec.inherited, &spec.described);
    Ok(undone.into_iter().chain(findings::without_effect(&idle)).collect())
}

/// What is to be said of a drive whose host has no other way to its data: of such reads none may end early.
pub fn findings_without_other_way(spec: &DeviceSpec) -> Option<Finding> {
    let read = &spec.config.read;
    let ends = [("read.fail_fast", read.fail_fast.is_some()), ("read.fail_busy", read.fail_busy != FailBusy::None)];
    let idle = |key| {
        format!(
            "{key} without a host that has another way to the data: an array with redundancy (--array), or an NVMe host that asks for \
             Limited Retry (serve --nvme)"
        )
    };
    let all: Vec<String> = ends.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| idle(key)).collect();
    findings::without_effect(&all)
}

fn check_sort_window(requests: u64) -> Result<(), ConfigError> {
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
