//! A run in steps, so that Python can show progress and be interrupted.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use array::{ArrayExplanation, ArrayStage, PreparedArray, Purpose};
use logs::{Table, series_parquet};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;
use ssd::bounds;
use ssd::run::checkpoint::{self, SaveAt};
use ssd::run::findings;
use ssd::run::{
    DeviceWord, DriveInputs, Given, Inputs, Outcome, OutputOptions, Playing, Prepared, RunOptions, TraceOptions, open,
    parse, prepare, refused, result,
};
use ssd::stats::report::Report;
use ssd::stats::{Finding, SteadyState, Trend, die};
use ssd::watch::{seen_by, shared};
use ssd::{
    AnyDrive, Checker, Config, Explainer, Explanation, FirstSense, RequestLog, RunError, Stage, Timeline, Watch,
};
use units::{ConfigError, Span, Time};

use crate::error::{SimulationError, raise, refuse};
use crate::policies::{GivenPolicy, Raised, policies_of};

/// A window of a timeline, `FROM:TO`.
fn window(word: &str) -> Result<(Time, Time), ConfigError> {
    let remedy = "write two times with their units, such as 10ms:12ms";
    let (from, to) =
        word.split_once(':').ok_or_else(|| refused(&format!("--window {word}"), "is not accepted", remedy))?;
    let from: Span = parse("--window", from)?;
    let to: Span = parse("--window", to)?;
    if from >= to {
        return Err(refused(&format!("--window {word}"), "ends before it begins", remedy));
    }
    Ok((Time(from.0), Time(to.0)))
}

/// The fingerprint of a trace's content, computed once for each state of a file: a sweep asks for it with every case.
pub(crate) fn content_hash(path: &Path) -> io::Result<String> {
    /// A state of a file.
    #[derive(PartialEq, Eq, Hash)]
    struct FileState {
        path: PathBuf,
        bytes: u64,
        modified: SystemTime,
    }
    static KNOWN: LazyLock<Mutex<HashMap<FileState, String>>> = LazyLock::new(Mutex::default);
    let about = path.metadata()?;
    let key = FileState { path: path.canonicalize()?, bytes: about.len(), modified: about.modified()? };
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = known().get(&key) {
        return Ok(hash.clone());
    }
    let hash = workload::content_hash(path)?;
    known().insert(key, hash.clone());
    Ok(hash)
}

/// Options of a run.
#[derive(Default)]
pub(crate) struct Options {
    /// Those of the run itself, by name.
    pub run: Vec<(String, Given)>,
    /// The file of an array.
    pub array: Option<String>,
    pub traces: TraceOptions,
    pub output: OutputOptions,
}

impl Options {
    /// Those that are given by name; what is None is left at its default.
    pub fn of(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
        let mut options = Options::default();
        for (name, value) in given.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
            let name: String = name.extract()?;
            if name == "array" {
                options.array = Some(value.extract()?);
                continue;
            }
            let value = match value.extract() {
                Ok(text) => Given::Text(text),
                Err(_) => Given::Number(value.extract()?),
            };
            let known = |names: &[&str]| names.contains(&name.as_str());
            if known(RunOptions::NAMES) {
                options.run.push((name, value));
            } else if known(TraceOptions::NAMES) {
                options.traces.set(&name, &value).map_err(refuse)?;
            } else if known(OutputOptions::NAMES) {
                options.output.set(&name, &value).map_err(refuse)?;
            } else {
                return Err(PyTypeError::new_err(format!(
                    "Simulation.__new__() got an unexpected keyword argument '{name}'"
                )));
            }
        }
        Ok(options)
    }
}

/// A replay of a workload on a device, played in steps.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Simulation {
    run: Mutex<RunState>,
    manifest: Value,
    note: Option<String>,
    /// What the input says of the result.
    findings: Vec<Finding>,
    /// Why the run ended before its workload, with its result.
    ended: OnceLock<String>,
    /// What a policy in Python has raised.
    raised: Raised,
    /// Where the device is saved at the end of the run; and the device, from then on.
    save: Option<(PathBuf, SaveAt)>,
    device: Mutex<Option<Box<AnyDrive>>>,
    /// How long a run was that was over before it was to be saved.
    unsaved: OnceLock<Span>,
}

/// How far a run has come. The device is built with the first step: the manifest alone costs next to nothing.
enum RunState {
    Ready(Box<Ready>),
    Running(Box<dyn Playing>),
    Finished,
}

/// A run whose input has been read and checked: on one device, or on an array of them.
pub(crate) enum OnWhat {
    Device(Box<Prepared>),
    Array(Box<PreparedArray>),
}

impl OnWhat {
    /// What is run.
    fn manifest(&self) -> Value {
        match self {
            OnWhat::Device(prepared) => prepared.manifest.clone(),
            OnWhat::Array(array) => array.prepared.manifest.clone(),
        }
    }

    /// Begins the run. `watch` says who watches a drive, by its name and configuration.
    fn open(
        self,
        log: Option<Box<dyn RequestLog>>,
        mut watch: impl FnMut(&str, &Config) -> Result<Option<Watch>, RunError>,
    ) -> Result<Box<dyn Playing>, RunError> {
        Ok(match self {
            OnWhat::Device(prepared) => {
                let Prepared { config, source, options, .. } = *prepared;
                open(&config, source, options, log, watch("drive", &config)?)?
            }
            OnWhat::Array(array) => Box::new(array.open(log, watch)?),
        })
    }

    /// How its input was understood, and what that says of the result.
    fn understood(&self) -> (Option<String>, Vec<Finding>) {
        match self {
            OnWhat::Device(prepared) => (prepared.note.clone(), prepared.findings.clone()),
            OnWhat::Array(array) => (array.prepared.note.clone(), array.prepared.findings.clone()),
        }
    }
}

/// A prepared run, and where its requests are logged.
struct Ready {
    prepared: OnWhat,
    log: Option<Box<dyn RequestLog>>,
    /// A checkpoint that is written during the run, and when.
    save_after: Option<(PathBuf, Span)>,
    /// The drive verifies its invariants after every event.
    check: bool,
}

impl RunState {
    /// The run, begun if it had not been; none once it has been finished.
    fn run(&mut self, raised: &Raised) -> PyResult<Option<&mut dyn Playing>> {
        if let RunState::Ready(_) = self
            && let RunState::Ready(ready) = std::mem::replace(self, RunState::Finished)
        {
            let Ready { prepared, log, save_after, check } = *ready;
            let watch = |_: &str, config: &Config| {
                Ok(if check { Some(Watch::checking(Checker::new(&config.plan()?))) } else { None })
            };
            let mut run = prepared.open(log, watch).map_err(|error| raised.raise(error))?;
            if let Some((path, after)) = save_after {
                run.save_after(after, path);
            }
            *self = RunState::Running(run);
        }
        Ok(if let RunState::Running(run) = self { Some(&mut **run) } else { None })
    }
}

/// Requests that are played before progress is told and a signal is looked for: some hundredths of a second.
const EXPLAINED_AT_ONCE: u64 = 10_000;

/// A stretch of a request's time.
#[derive(IntoPyObject)]
struct Stretch {
    /// What it went into.
    what: &'static str,
    /// Senses of the page before.
    step: u16,
    from_ns: u64,
    to_ns: u64,
    /// Of a wait for a die, what that did (cause and ns).
    die: Vec<(&'static str, u64)>,
    /// In an array, the drive that it went to, and what that was asked for.
    drive: Option<String>,
    purpose: Option<&'static str>,
}

impl Stretch {
    fn of(stage: &Stage) -> Stretch {
        let spent = stage.die.map_or(Vec::new(), |spent| {
            let named = die::names().zip(spent).map(|(name, span)| (name, span.0));
            named.filter(|(_, span)| *span > 0).collect()
        });
        let Stage { what, step, from, to, .. } = *stage;
        Stretch { what, step, from_ns: from.0, to_ns: to.0, die: spent, drive: None, purpose: None }
    }
}

/// A request, and where its time went.
#[derive(IntoPyObject)]
struct Explained {
    request: u64,
    op: String,
    bytes: u64,
    arrival_ns: u64,
    finish_ns: u64,
    stages: Vec<Stretch>,
    /// Of a read, the stages of each of its pages that came from flash.
    parts: Vec<Vec<Stretch>>,
    /// How the first senses of these pages went, on a drive with decision trees: features, and what came of it.
    first_senses: Vec<BTreeMap<&'static str, u32>>,
}

impl Explained {
    fn of(explained: &Explanation) -> Explained {
        let stages = |of: &Vec<Stage>| of.iter().map(Stretch::of).collect();
        Explained {
            request: explained.request,
            op: format!("{:?}", explained.op).to_lowercase(),
            bytes: explained.bytes,
            arrival_ns: explained.arrival.0,
            finish_ns: explained.finish.0,
            stages: stages(&explained.stages),
            parts: explained.parts.iter().map(stages).collect(),
            first_senses: explained.first_senses.iter().map(named).collect(),
        }
    }

    /// Of an array, whose drives have these names.
    fn of_array(explained: &ArrayExplanation, names: &[String]) -> Explained {
        let stretch = |of: &ArrayStage| {
            let drive = of.drive.map(|drive| names[drive].clone());
            Stretch { drive, purpose: of.purpose.map(Purpose::words), ..Stretch::of(&of.stage) }
        };
        Explained {
            request: explained.number,
            op: format!("{:?}", explained.request.op).to_lowercase(),
            bytes: explained.request.bytes.0,
            arrival_ns: explained.arrival.0,
            finish_ns: explained.finish.0,
            stages: explained.stages.iter().map(stretch).collect(),
            parts: Vec::new(),
            first_senses: Vec::new(),
        }
    }
}

/// A first sense by the names of what is known of it; `read_by` is missing where nothing read the page.
fn named(first: &FirstSense) -> BTreeMap<&'static str, u32> {
    let of = [("hasty", first.hasty), ("ahead", first.ahead), ("corrected", first.corrected)];
    let all = first.known.named().chain(of.map(|(name, is)| (name, u32::from(is))));
    all.chain(first.read_by.map(|step| ("read_by", step.into()))).collect()
}

/// What a run has shown that was played to be explained.
#[derive(IntoPyObject)]
struct ExplainedRun {
    requests: Vec<Explained>,
    /// The run's findings, as JSON.
    findings: String,
    /// A signal ended it before its workload.
    interrupted: bool,
}

/// A pattern of access and its bounds, the tightest first.
#[derive(IntoPyObject)]
struct AccessRow {
    what: String,
    bytes: u64,
    bounds: Vec<BoundRow>,
    lone_ns: Option<u64>,
    reached: bool,
}

/// What a resource allows.
#[derive(IntoPyObject)]
struct BoundRow {
    resource: &'static str,
    /// Requests a second.
    per_s: f64,
    formula: String,
}

/// How far a run has come.
#[derive(IntoPyObject)]
struct Progress {
    /// The share of the workload that has been played, where it can be known.
    share: Option<f64>,
    /// Requests.
    submitted: u64,
    /// Requests.
    completed: u64,
}

impl Simulation {
    /// A run that has not begun.
    pub(crate) fn on(prepared: OnWhat) -> Simulation {
        Simulation::ready(Ready { prepared, log: None, save_after: None, check: false })
    }

    fn ready(ready: Ready) -> Simulation {
        let manifest = ready.prepared.manifest();
        let (note, findings) = ready.prepared.understood();
        Simulation {
            run: Mutex::new(RunState::Ready(Box::new(ready))),
            manifest,
            note,
            findings,
            ended: OnceLock::new(),
            save: None,
            device: Mutex::new(None),
            unsaved: OnceLock::new(),
            raised: Raised::default(),
        }
    }
}

/// Where requests are logged: in a file, in memory or nowhere.
pub(crate) fn request_log(output: &OutputOptions, config: &Config) -> PyResult<Option<Box<dyn RequestLog>>> {
    let queues = config.host.queues;
    let log = match &output.requests_out {
        Some(path) => Some(Table::of_requests(Some(path), queues).map_err(raise)?),
        None if output.keep_requests => Some(Table::of_requests(None, queues).map_err(raise)?),
        None => None,
    };
    Ok(log.map(|table| Box::new(table) as Box<dyn RequestLog>))
}

/// A statistic of a result.
#[derive(IntoPyObject)]
pub(crate) struct Described {
    name: String,
    unit: &'static str,
    about: String,
}

/// What is known at the end of a run.
#[derive(IntoPyObject)]
pub(crate) struct FinishedRun<'py> {
    /// The result as JSON.
    result: String,
    /// Its statistics.
    described: Vec<Described>,
    /// The time series as Parquet bytes, where they were asked for.
    series: Option<Bound<'py, PyBytes>>,
    /// The request log: rows, and Parquet bytes, which are empty where it went to a file.
    requests: Option<(u64, Bound<'py, PyBytes>)>,
    /// Latencies of reads and of writes \[ns], and the share of requests up to each.
    distributions: [Vec<(u64, f64)>; 2],
}

/// What Python keeps of a run's outcome.
pub(crate) fn finished_run<'py, D>(
    py: Python<'py>,
    outcome: &mut Outcome<D>,
    report: Report,
    result: &Value,
    keep_series: bool,
) -> PyResult<FinishedRun<'py>> {
    let of_run = report.0.into_iter();
    let of_run = of_run.map(|s| Described { name: s.name, unit: s.unit, about: s.description });
    let of_array = array::described(result).into_iter();
    let of_array = of_array.map(|array::Described { name, unit, about }| Described { name, unit, about });
    let described = of_run.chain(of_array).collect();
    let series = keep_series.then(|| series_parquet(outcome.series.rows())).transpose().map_err(raise)?;
    let log = outcome.log.take().map(|log| log.close()).transpose().map_err(raise)?;
    let [reads, writes, ..] = outcome.measured.latencies.total();
    let distributions = [reads.distribution(), writes.distribution()];
    Ok(FinishedRun {
        result: result.to_string(),
        described,
        series: series.map(|series| PyBytes::new(py, &series)),
        requests: log.map(|(rows, bytes)| (rows, PyBytes::new(py, &bytes))),
        distributions,
    })
}

/// What rounds have in common.
#[derive(IntoPyObject)]
struct RoundsTrend {
    /// Mean requests/s.
    iops: f64,
    /// Mean write amplification.
    waf: f64,
    /// The larger of their ranges, relative to the mean.
    spread: f64,
    /// The larger of their rises from the first round to the last, relative to the mean.
    slope: f64,
}

/// A file that several write to, each a whole packet at a time.
#[derive(Clone)]
struct OneFile(Arc<Mutex<BufWriter<File>>>);

impl io::Write for OneFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

impl Simulation {
    /// Plays a run to its end, or until a signal ends it: whether one has.
    fn play_through(
        &self,
        py: Python<'_>,
        run: &mut dyn Playing,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let mut interrupted = false;
        while !interrupted && !py.detach(|| run.step(EXPLAINED_AT_ONCE)).map_err(|error| self.raised.raise(error))? {
            let (submitted, completed) = run.counts();
            let told = progress.map_or(Ok(()), |tell| tell.call1((run.progress(), submitted, completed)).map(drop));
            interrupted = match told.and_then(|()| py.check_signals()) {
                Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
                told => told.is_err(),
            };
        }
        Ok(interrupted)
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (device, workload, *, scheme = None, age = None, settings = Vec::new(), policies = Vec::new(), merge = Vec::new(), **options))]
    fn new(
        device: &str,
        workload: &str,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        policies: Vec<GivenPolicy>,
        merge: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Simulation> {
        let Options { run, array, traces, output } = Options::of(options)?;
        let (policies, raised) = policies_of(policies)?;
        let drive = DriveInputs {
            version: env!("CARGO_PKG_VERSION"),
            device: DeviceWord::Named(device),
            scheme,
            age,
            settings: &settings,
            policies: &policies,
            options: &run,
            fingerprint: content_hash,
        };
        let inputs = Inputs { drive, workload, merge: &merge, traces };
        let prepared = match &array {
            None => prepare(&inputs).map(|prepared| OnWhat::Device(Box::new(prepared))),
            Some(file) => array::prepare(&inputs, file).map(|array| OnWhat::Array(Box::new(array))),
        };
        let prepared = prepared.map_err(|error| raised.raise(error))?;
        let config = match &prepared {
            OnWhat::Device(prepared) => &prepared.config,
            OnWhat::Array(array) => array.config(),
        };
        let log = request_log(&output, config)?;
        let OutputOptions { check, save, save_at, .. } = output;
        let (save, save_after) = match save_at {
            SaveAt::After(after) => (None, save.map(|path| (path, after))),
            at => (save.map(|path| (path, at)), None),
        };
        Ok(Simulation { save, raised, ..Simulation::ready(Ready { prepared, log, save_after, check }) })
    }

    /// Plays the whole run and reports where the time of some requests went: the `slowest` slowest, and those numbered
    /// in `wanted`. Where a signal ended it before its workload, what is given is of the requests until there.
    /// `progress` is called with what [`Simulation::progress`] gives: share, submitted, completed.
    #[pyo3(signature = (slowest, wanted, progress=None))]
    fn explain(
        &self,
        py: Python<'_>,
        slowest: usize,
        wanted: Vec<u64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<ExplainedRun> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let RunState::Ready(ready) = std::mem::replace(&mut *state, RunState::Finished) else {
            return Err(SimulationError::new_err("the run has been begun already"));
        };
        let Ready { prepared, log, .. } = *ready;
        let raised = |error| self.raised.raise(error);
        let (explained, interrupted, completed, mut findings) = match prepared {
            OnWhat::Device(prepared) => {
                let Prepared { config, source, options, .. } = *prepared;
                let explainer = shared(Explainer::new(slowest, wanted, options.warmup));
                let watch = Some(Watch::explaining(&explainer));
                let mut run = open(&config, source, options, log, watch).map_err(raised)?;
                let interrupted = self.play_through(py, &mut *run, progress.as_ref())?;
                let explained = seen_by(&explainer).explanations().iter().map(Explained::of).collect();
                let (_, completed) = run.counts();
                (explained, interrupted, completed, run.finish().map_err(raise)?.measured.findings)
            }
            OnWhat::Array(array) => {
                let mut run = array.explained(slowest, wanted).map_err(raised)?;
                let interrupted = self.play_through(py, &mut run, progress.as_ref())?;
                let (names, explained) = (run.names(), run.explanations());
                let explained = explained.iter().map(|of| Explained::of_array(of, &names)).collect();
                let (_, completed) = run.counts();
                (explained, interrupted, completed, Box::new(run).finish().map_err(raise)?.measured.findings)
            }
        };
        let interruption = interrupted.then(|| findings::interrupted(completed));
        findings::add(&mut findings, self.findings.iter().cloned().chain(interruption));
        let findings = findings.iter().map(Finding::to_json).collect::<Value>().to_string();
        Ok(ExplainedRun { requests: explained, findings, interrupted })
    }

    /// Plays the run and writes a timeline of what happened in some windows, `FROM:TO` each, or in all of it if there
    /// are none; returns the file's size [B]. The run is not played on when no window shows what is to come.
    fn timeline(&self, py: Python<'_>, path: PathBuf, windows: Vec<String>) -> PyResult<u64> {
        let mut shown = windows.iter().map(|word| window(word)).collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        if shown.is_empty() {
            shown.push((Time::ZERO, Time::NEVER));
        }
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let RunState::Ready(ready) = std::mem::replace(&mut *state, RunState::Finished) else {
            return Err(SimulationError::new_err("the run has been begun already"));
        };
        let Ready { prepared, log, .. } = *ready;
        let raised = |error| self.raised.raise(error);
        let unwritable = |error: io::Error| {
            SimulationError::new_err(format!(
                "{}: cannot be written: {error}\n  help: make room, or choose a shorter --window",
                path.display()
            ))
        };
        let file = File::create(&path).map_err(unwritable)?;
        let (file, mut timelines) = (OneFile(Arc::new(Mutex::new(BufWriter::new(file)))), Vec::new());
        let watch = |name: &str, config: &Config| {
            let (number, out) = (timelines.len() as u32, Box::new(file.clone()));
            let timeline = shared(Timeline::of_drive(name, number, &config.plan()?, shown.clone(), out));
            timelines.push(timeline.clone());
            Ok(Some(Watch::drawing(&timeline)))
        };
        let mut run = prepared.open(log, watch).map_err(raised)?;
        while !py.detach(|| run.step(1000)).map_err(raised)? && !timelines.iter().all(|one| seen_by(one).done()) {
            py.check_signals()?;
        }
        let now = run.drive().now();
        timelines.iter().map(|one| seen_by(one).finish(now)).sum::<io::Result<u64>>().map_err(unwritable)
    }

    /// What is run, as JSON: everything that decides the result.
    #[getter]
    fn manifest(&self) -> String {
        self.manifest.to_string()
    }

    /// Why the run ended before its workload, where it did and there is a result all the same; known once it is
    /// finished.
    #[getter]
    fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// What the device can do at most, before the run has begun: an array has none, and gives those of its first drive.
    #[getter]
    fn bounds(&self) -> PyResult<Vec<AccessRow>> {
        let state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let RunState::Ready(ready) = &*state else {
            return Err(SimulationError::new_err("the run has been begun already"));
        };
        let config = match &ready.prepared {
            OnWhat::Device(prepared) => &prepared.config,
            OnWhat::Array(array) => array.config(),
        };
        let bound = |of: bounds::Bound| BoundRow { resource: of.resource, per_s: of.per_s, formula: of.formula };
        let access = |of: bounds::Access| AccessRow {
            what: of.what,
            bytes: of.bytes.0,
            bounds: of.bounds.into_iter().map(bound).collect(),
            lone_ns: of.lone.map(|span| span.0),
            reached: of.reached,
        };
        Ok(bounds::bounds(config).into_iter().map(access).collect())
    }

    /// How the workload was read.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Plays some `requests` more; returns whether the workload has been played to its end.
    fn step(&self, py: Python<'_>, requests: u64) -> PyResult<bool> {
        py.detach(|| {
            let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            state
                .run(&self.raised)?
                .map_or(Ok(true), |run| run.step(requests).map_err(|error| self.raised.raise(error)))
        })
    }

    /// How far the run has come.
    fn progress(&self) -> Progress {
        match &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            RunState::Ready(_) => Progress { share: Some(0.0), submitted: 0, completed: 0 },
            RunState::Running(run) => {
                let (submitted, completed) = run.counts();
                Progress { share: run.progress(), submitted, completed }
            }
            RunState::Finished => Progress { share: Some(1.0), submitted: 0, completed: 0 },
        }
    }

    /// Completes the checkpoint of a run that has been finished.
    fn save(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(end) = self.unsaved.get() {
            let problem = format!("lies behind the end of the run, which is over after {:.6} s", end.as_s());
            let remedy = "give an earlier time, or \"end\"";
            return Err(refuse(refused("--save-at", &problem, remedy)));
        }
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(mut device), Some((path, at))) = (device, &self.save) else { return Ok(()) };
        py.detach(|| {
            let rests = if *at == SaveAt::Rest { device.flush() } else { Ok(()) };
            rests.and_then(|()| checkpoint::write(&*device, path)).map_err(|error| self.raised.raise(error))
        })
    }

    /// How far the search for a steady state has come, where there is one: rounds; and once two have been run, their
    /// trend.
    fn rounds(&self) -> Option<(u64, Option<RoundsTrend>)> {
        let RunState::Running(run) = &*self.run.lock().unwrap_or_else(PoisonError::into_inner) else { return None };
        let SteadyState { rounds, trend, .. } = run.steady()?;
        let told = |of: Trend| RoundsTrend { iops: of.iops, waf: of.waf, spread: of.spread, slope: of.slope };
        Some((rounds, trend.map(told)))
    }

    /// Pages that have been played through the FTL alone so far, and the write amplification then, while that goes on
    /// before the run.
    fn warms(&self) -> Option<(u64, f64)> {
        match &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            RunState::Running(run) => run.warms(),
            RunState::Ready(_) | RunState::Finished => None,
        }
    }

    /// Ends the run; with `interrupted` before its workload, which its result says. `keep_series`: its time series is
    /// wanted.
    #[pyo3(signature = (interrupted = false, keep_series = true))]
    fn finish<'py>(&self, py: Python<'py>, interrupted: bool, keep_series: bool) -> PyResult<FinishedRun<'py>> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        state.run(&self.raised)?;
        let RunState::Running(run) = std::mem::replace(&mut *state, RunState::Finished) else {
            return Err(SimulationError::new_err("the run has been finished already"));
        };
        if let Some(end) = run.end_of_life() {
            let _ = self.ended.set(end.to_string());
        }
        let unsaved = run.saves();
        let (_, completed) = run.counts();
        let sections = run.sections();
        let mut outcome = py.detach(|| run.finish().map_err(raise))?;
        if unsaved {
            let _ = self.unsaved.set(outcome.measured.totals.usage.elapsed);
        }
        let interruption = interrupted.then(|| findings::interrupted(completed));
        findings::add(&mut outcome.measured.findings, self.findings.iter().cloned().chain(interruption));
        let report = outcome.report();
        let mut result = result(&self.manifest, &outcome.measured, &report);
        if let Some(all) = result.as_object_mut() {
            all.extend(sections);
        }
        let finished = finished_run(py, &mut outcome, report, &result, keep_series)?;
        if self.save.is_some() {
            *self.device.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.device);
        }
        Ok(finished)
    }
}
