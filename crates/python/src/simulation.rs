//! A run in steps, so that Python can show progress and be interrupted.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use logs::{Table, series_parquet};
use nand::model::outcomes::Reading;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};
use ssd::run::Round;
use ssd::run::{Replay, Run, RunOptions};
use ssd::stats::die;
use ssd::{Config, DeviceSpec, Explainer, RequestLog, RunError, Stage, Timeline};
use units::section::Section;
use units::value::{Scalar, Value as _, nearest};
use units::{Bytes, ConfigError, Document, Span, Time};
use workload::generator::phases::SHARED;
use workload::{Apart, Beyond, Format, Merged, Source, TraceFile, Volumes, Workload};

use crate::{SimulationError, raise, refuse};

/// A window of a timeline, `FROM:TO`.
fn window(word: &str) -> Result<(Time, Time), ConfigError> {
    let remedy = "write two times with their units, such as 10ms:12ms";
    let (from, to) =
        word.split_once(':').ok_or_else(|| fail(&format!("--window {word}"), "is not accepted", remedy))?;
    let from: Span = parse("--window", from)?;
    let to: Span = parse("--window", to)?;
    if from >= to {
        return Err(fail(&format!("--window {word}"), "ends before it begins", remedy));
    }
    Ok((Time(from.0), Time(to.0)))
}

/// A device with its scheme, age and settings applied, in this order.
pub fn device_config(
    device: &str,
    scheme: Option<&str>,
    age: Option<&str>,
    settings: &[String],
) -> Result<DeviceSpec, ConfigError> {
    let mut spec = ssd::presets::load(device)?;
    for word in scheme.map(schemes::presets::words).transpose()?.into_iter().flatten() {
        spec.config.set(&filled_in(&word, &spec.config))?;
    }
    for pair in age.into_iter().flat_map(|age| age.split(',')).map(str::trim).filter(|pair| !pair.is_empty()) {
        spec.config
            .set(&format!("age.{pair}"))
            .map_err(|error| ConfigError { origin: format!("--age {pair}"), ..error })?;
    }
    for word in settings.iter().filter(|word| !is_workload_key(word)) {
        spec.config.set(word)?;
    }
    Ok(spec)
}

/// What of a scheme's ideal settings (such as `chip.model=none`) a setting changes again.
fn undone(scheme: Option<&str>, settings: &[String]) -> Result<Vec<String>, ConfigError> {
    let Some(scheme) = scheme else { return Ok(Vec::new()) };
    let set = schemes::presets::words(scheme)?;
    let ideal = set.iter().filter_map(|word| word.split_once('='));
    let ideal: Vec<(&str, &str)> = ideal.filter(|(key, _)| key.starts_with("chip.")).collect();
    let changes = settings.iter().filter_map(|word| word.split_once('='));
    let changes = changes.filter_map(|(key, value)| {
        let (_, was) = ideal.iter().find(|(other, _)| *other == key.trim())?;
        Some(format!("{key}={value} undoes {key}={was} of --scheme {scheme}: it is not ideal any more"))
    });
    Ok(changes.collect())
}

/// A word with `{section.key}` replaced by that key's value.
fn filled_in(word: &str, config: &Config) -> String {
    let value = || {
        let key = word.split_once('{')?.1.split_once('}')?.0;
        let (section, name) = key.split_once('.')?;
        let value = config.sections().iter().find(|known| known.name() == section)?.get(name)?;
        // As it stands in TOML, text without its quotes.
        Some(word.replace(&format!("{{{key}}}"), value.to_string().trim_matches('"')))
    };
    value().unwrap_or_else(|| word.to_owned())
}

/// Whether a setting is one of the workload rather than the device.
fn is_workload_key(word: &str) -> bool {
    ["workload.", "job."].iter().any(|section| word.trim_start().starts_with(section))
}

/// The widest window in which a trace is sorted [requests]: 640 MB.
const MOST_SORTED: usize = 1 << 24;

/// A workload, ready to be played, with what the manifest and the user should know about it.
struct Work {
    source: Box<dyn Source>,
    manifest: Value,
    note: Option<String>,
    /// Of a real trace in place of a twin that paces itself: the requests under way, unless a replay is asked for.
    closed: Option<u32>,
    /// How many requests there are; none where only reading a trace tells.
    requests: Option<u64>,
}

/// How traces are read and laid out.
struct TraceOptions {
    reading: workload::Reading,
    /// Further traces, merged by time.
    merge: Vec<String>,
    volumes: Volumes,
    beyond: Beyond,
    /// Where real traces are looked for by the names of twins.
    traces: Option<String>,
}

/// One trace or several, ready to be played.
fn trace(word: &str, format: Option<&str>, options: &TraceOptions, capacity: Bytes) -> Result<Work, RunError> {
    let format = format.map(Format::parse).transpose()?;
    let paths: Vec<&Path> =
        std::iter::once(word).chain(options.merge.iter().map(String::as_str)).map(Path::new).collect();
    let mut traces = Vec::new();
    let mut notes = Vec::new();
    for path in &paths {
        let opened = TraceFile::open_with(path, format, options.reading)?;
        let hash = content_hash(path).map_err(|error| RunError::Trace(format!("{}: {error}", path.display())))?;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let found = opened.format().to_string();
        traces.push(json!({ "trace": file, "format": found, "hash": format!("fnv1a64:{hash:016x}") }));
        notes.extend(
            opened.note().map(
                |note| {
                    if paths.len() == 1 { note.to_owned() } else { format!("{}: {note}", path.display()) }
                },
            ),
        );
    }
    let mut manifest = if traces.len() == 1 { traces.remove(0) } else { json!({ "traces": traces }) };
    manifest["skip_bad_lines"] = json!(options.reading.skip_bad_lines);
    manifest["sort_window"] = json!(options.reading.sort_window);
    manifest["volumes"] = json_of(&options.volumes.write());
    manifest["beyond"] = json_of(&options.beyond.write());
    let open = || Merged::open(&paths, format, options.reading);
    let source: Box<dyn Source> = match options.volumes {
        Volumes::Overlay if paths.len() == 1 => Box::new(TraceFile::open_with(paths[0], format, options.reading)?),
        Volumes::Overlay => Box::new(open()?),
        volumes => Box::new(Apart::new(open()?, open()?, volumes, options.beyond, capacity, word)?),
    };
    Ok(Work { source, manifest, note: (!notes.is_empty()).then(|| notes.join("\n")), closed: None, requests: None })
}

/// The fingerprint of a trace's content, computed once for each state of a file: a sweep asks for it with every case.
fn content_hash(path: &Path) -> io::Result<u64> {
    type Known = HashMap<(PathBuf, u64, SystemTime), u64>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let about = path.metadata()?;
    let key = (path.canonicalize()?, about.len(), about.modified()?);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = known().get(&key) {
        return Ok(*hash);
    }
    let hash = workload::content_hash(path)?;
    known().insert(key, hash);
    Ok(hash)
}

/// How many requests a generator makes at least.
#[derive(Clone, Copy)]
enum Wanted {
    /// As many as it says.
    Own,
    /// So many, if it says fewer.
    AtLeast(u64),
    /// It goes on for as long as it is asked.
    Endless,
}

fn work(
    word: &str,
    format: Option<&str>,
    options: &TraceOptions,
    settings: &[String],
    capacity: Bytes,
    seed: u64,
    wanted: Wanted,
) -> Result<Work, RunError> {
    let settings: Vec<&str> = settings.iter().map(String::as_str).filter(|word| is_workload_key(word)).collect();
    let preset = workload::presets::names().any(|name| name == word);
    let is_toml = word.ends_with(".toml");
    let folder = options.traces.as_deref();
    let real = folder.map(|folder| workload::presets::real(word, Path::new(folder))).transpose()?.flatten();
    let absent = folder.filter(|_| preset && word.contains('/') && real.is_none());
    let note = absent
        .zip(word.split_once('/'))
        .map(|(folder, (_, trace))| format!("no trace in {folder} is called {trace}: its twin {word} is played"));
    if real.is_some() || (!preset && !is_toml && Path::new(word).is_file()) {
        // Of the generator's keys the twin's own pace is kept, or what is asked for in its place.
        let pace = settings.iter().filter(|word| real.is_some() && word.starts_with("workload.iodepth="));
        let paced: Vec<&str> = pace.copied().collect();
        if let Some(word) = settings.iter().find(|word| !paced.contains(word)) {
            return Err(RunError::Config(fail(
                word,
                "is a generator's key, and the workload is a trace",
                "leave it out",
            )));
        }
        let closed = match real {
            Some(_) => workload::presets::get(word, &paced)?.jobs.first().and_then(|(_, job)| job.iodepth),
            None => None,
        };
        let path = real.map(|path| path.display().to_string());
        let work = trace(path.as_deref().unwrap_or(word), format, options, capacity)?;
        return Ok(Work { closed, ..work });
    }
    if let Some(more) = options.merge.first() {
        let problem = format!("is not a trace, and `{more}` is to be merged with it");
        return Err(RunError::Config(fail(
            &format!("workload `{word}`"),
            &problem,
            "give one workload, or traces only",
        )));
    }
    let mut workload = if preset {
        workload::presets::get(word, &settings)?
    } else if is_toml && Path::new(word).is_file() {
        let text = units::file::read_text(Path::new(word)).map_err(|problem| {
            RunError::Config(fail(word, &problem, "a workload file is TOML; docs/formats.md says what it holds"))
        })?;
        Workload::read(&Document::parse(&text, word)?, &settings, None)?
    } else {
        let names: Vec<&str> = workload::presets::names().collect();
        let remedy = match nearest(word, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? (or give the path of a trace or a .toml file)"),
            None => format!("the workloads are {}; or give the path of a trace or a .toml file", names.join(", ")),
        };
        return Err(RunError::Config(fail(
            &format!("workload `{word}`"),
            "there is no such workload or file",
            &remedy,
        )));
    };
    if format.is_some() {
        return Err(RunError::Config(fail("--format", "is given, and the workload is a generator", "leave it out")));
    }
    match wanted {
        Wanted::Own => {}
        Wanted::AtLeast(requests) => workload.extend(requests),
        Wanted::Endless => {
            for (_, job) in &mut workload.jobs {
                // Nine years of them, if they have times.
                job.requests = job.rate_iops.map_or(1 << 48, |rate| ((rate * 2.8e8) as u64).max(1));
            }
        }
    }
    let mut jobs: Map<String, Value> =
        workload.jobs.iter().map(|(name, job)| (name.clone(), Value::Object(values(job)))).collect();
    let manifest = match jobs.remove("") {
        Some(mut one) => match (&workload.phases, &mut one) {
            (Some(phases), Value::Object(keys)) => {
                keys.retain(|key, _| SHARED.contains(&key.as_str()));
                let parts = phases.sections().into_iter().map(|(name, part)| (name, Value::Object(values(part))));
                json!({ "generator": one, "phases": parts.collect::<Map<String, Value>>() })
            }
            _ => json!({ "generator": one }),
        },
        None => json!({ "jobs": jobs }),
    };
    let requests = Some(workload.requests());
    Ok(Work { source: workload.source(capacity, seed)?, manifest, note, closed: None, requests })
}

pub(crate) fn fail(origin: &str, problem: &str, remedy: &str) -> ConfigError {
    ConfigError { origin: origin.into(), line: None, key: None, problem: problem.into(), remedy: remedy.into() }
}

/// The values of a section's keys.
fn values(section: &dyn Section) -> Map<String, Value> {
    let keys = section.keys();
    keys.iter().filter_map(|key| Some((key.name.into(), json_of(&section.get(key.name)?)))).collect()
}

fn json_of(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Bool(v) => json!(v),
        Scalar::Int(v) => json!(v),
        Scalar::Float(v) => json!(v),
        Scalar::Text(v) => json!(v),
        Scalar::List(items) => items.iter().map(json_of).collect(),
    }
}

/// A value that was given on a command line, as `T`.
pub(crate) fn parse<T: units::value::Value>(origin: &str, word: &str) -> Result<T, ConfigError> {
    T::read(&Scalar::Text(word.into()))
        .ok_or_else(|| fail(&format!("{origin} {word}"), "is not accepted", &format!("expected {}", T::expects())))
}

/// A replay of a workload on a device, played in steps.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Simulation {
    run: Mutex<State>,
    manifest: Value,
    note: Option<String>,
    /// Why the run ended before its workload, with its result.
    ended: OnceLock<String>,
}

/// How far a run has come. The device is built with the first step: the manifest alone costs next to nothing.
enum State {
    Ready(Box<Prepared>),
    Running(Box<Run>),
    Finished,
}

/// A run whose input has been read and checked.
struct Prepared {
    config: Config,
    source: Box<dyn Source>,
    plan: RunOptions,
    log: Option<Box<dyn RequestLog>>,
}

impl State {
    /// The run, begun if it had not been; none once it has been finished.
    fn run(&mut self) -> PyResult<Option<&mut Run>> {
        if let State::Ready(_) = self
            && let State::Ready(prepared) = std::mem::replace(self, State::Finished)
        {
            let Prepared { config, source, plan, log } = *prepared;
            *self = State::Running(Box::new(Run::new(&config, source, plan, log).map_err(refuse)?));
        }
        Ok(if let State::Running(run) = self { Some(run) } else { None })
    }
}

/// What a stretch went into, step, from, to, and what the die did.
type Stretch = (&'static str, u16, u64, u64, Vec<(&'static str, u64)>);
/// Number, op, bytes, arrival, finish, stages, and those of each part.
type Explained = (u64, String, u64, u64, u64, Vec<Stretch>, Vec<Vec<Stretch>>);

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (device, workload, *, scheme = None, age = None, settings = Vec::new(), replay = None, requests = None, duration = None, warmup = 0, until_steady = None, seed = 1, format = None, skip_bad_lines = 0, sort_window = None, merge = Vec::new(), volumes = None, beyond = None, traces = None, requests_out = None, keep_requests = false))]
    fn new(
        device: &str,
        workload: &str,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        replay: Option<&str>,
        requests: Option<u64>,
        duration: Option<&str>,
        warmup: u64,
        until_steady: Option<&str>,
        seed: u64,
        format: Option<&str>,
        skip_bad_lines: u64,
        sort_window: Option<usize>,
        merge: Vec<String>,
        volumes: Option<&str>,
        beyond: Option<&str>,
        traces: Option<String>,
        requests_out: Option<&str>,
        keep_requests: bool,
    ) -> PyResult<Simulation> {
        let spec = device_config(device, scheme, age, &settings).map_err(refuse)?;
        let checked = spec.config.plan().map_err(refuse)?;
        let until_steady: Option<Round> =
            until_steady.map(|word| parse("--until-steady", word)).transpose().map_err(refuse)?;
        let window = sort_window.unwrap_or(workload::Reading::default().sort_window);
        let reading = workload::Reading { skip_bad_lines, sort_window: window };
        if reading.sort_window > MOST_SORTED {
            let problem = format!("would hold {} requests in memory", reading.sort_window);
            let remedy = format!("write at most {MOST_SORTED}, or sort the trace first");
            return Err(refuse(fail("--sort-window", &problem, &remedy)));
        }
        let options = TraceOptions {
            reading,
            merge,
            volumes: parse("--volumes", volumes.unwrap_or("overlay")).map_err(refuse)?,
            beyond: parse("--beyond", beyond.unwrap_or("wrap")).map_err(refuse)?,
            traces,
        };
        let beyond = options.beyond;
        let wanted = match (until_steady, requests) {
            (Some(_), _) => Wanted::Endless,
            (None, Some(requests)) => Wanted::AtLeast(requests),
            (None, None) => Wanted::Own,
        };
        let work = work(workload, format, &options, &settings, checked.capacity(), seed, wanted).map_err(raise)?;
        if let Some(most) = requests.into_iter().chain(work.requests).min()
            && warmup >= most
        {
            let problem = format!("leaves nothing to be measured: {most} requests are played");
            let remedy = format!("choose less than {most}, or play more (--requests)");
            return Err(refuse(fail(&format!("--warmup {warmup}"), &problem, &remedy)));
        }
        let paced = work.closed.map_or("timed".to_owned(), |depth| format!("closed:{depth}"));
        let replay: Replay = parse("--replay", replay.unwrap_or(&paced)).map_err(refuse)?;
        let duration: Option<Span> = duration.map(|word| parse("--duration", word)).transpose().map_err(refuse)?;
        let queues = spec.config.host.queues;
        let log = match requests_out {
            Some(path) => Some(Table::of_requests(Some(Path::new(path)), queues).map_err(raise)?),
            None if keep_requests => Some(Table::of_requests(None, queues).map_err(raise)?),
            None => None,
        };
        let log = log.map(|table| Box::new(table) as Box<dyn RequestLog>);
        let sections: Map<String, Value> = spec
            .config
            .sections()
            .iter()
            .map(|section| (section.name().to_owned(), Value::Object(values(*section))))
            .collect();
        // What the file of a virtual chip holds decides the result, not its name.
        let cells = checked.reading().map(|reading| match reading {
            Reading::Virtual(chip) => {
                let sections = chip.sections();
                let parts = sections.iter().map(|section| (section.name().to_owned(), values(*section).into()));
                Value::Object(parts.collect())
            }
            Reading::Measured(steps) => steps.rows().map(|row| json!([row.0, row.1, row.2, row.3])).collect(),
        });
        let rpt = checked.rpt().map(|rpt| rpt.rows().map(|row| json!([row.0, row.1, row.2])).collect::<Value>());
        let code = match &spec.config.ecc.code {
            Some(file) if file.ends_with(".csv") => {
                let failed = |error| raise(RunError::Trace(format!("{file}: {error}")));
                Some(format!("fnv1a64:{:016x}", content_hash(Path::new(file)).map_err(failed)?))
            }
            _ => None,
        };
        let manifest = json!({
            "ssdlab": env!("CARGO_PKG_VERSION"),
            "results_version": ssd::RESULTS_VERSION,
            "device": { "name": spec.name, "capacity_bytes": checked.capacity().0, "config": sections, "cells": cells, "rpt": rpt, "code": code },
            "workload": work.manifest,
            "scheme": scheme,
            "replay": json_of(&replay.write()),
            "requests": requests,
            "duration": duration.map(|span| json_of(&span.write())),
            "warmup": warmup,
            "until_steady": until_steady.map(|round| json_of(&round.write())),
            "seed": seed,
        });
        let mut notes: Vec<String> = work.note.into_iter().collect();
        notes.extend(spec.config.idle_settings().iter().map(|idle| format!("no effect: {idle}")));
        notes.extend(undone(scheme, &settings).map_err(refuse)?);
        let note = (!notes.is_empty()).then(|| notes.join("\n"));
        let plan = RunOptions { replay, requests, duration, warmup, seed, until_steady, beyond };
        let prepared = Prepared { config: spec.config, source: work.source, plan, log };
        let ended = OnceLock::new();
        Ok(Simulation { run: Mutex::new(State::Ready(Box::new(prepared))), manifest, note, ended })
    }

    /// Plays the whole run and tells where the time of some requests went: the `slowest` so many, and those numbered in
    /// `wanted`. Of each: number, op, bytes, arrival and finish [ns], and its stages: what, step, from, to [ns], and for waits
    /// for a die what that did (cause and ns).
    fn explain(&self, py: Python<'_>, slowest: usize, wanted: Vec<u64>) -> PyResult<Vec<Explained>> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Ready(prepared) = std::mem::replace(&mut *state, State::Finished) else {
            return Err(SimulationError::new_err("the run has been begun already"));
        };
        let Prepared { config, source, plan, log } = *prepared;
        let explainer = Explainer::new(slowest, wanted, plan.warmup);
        let mut run = Run::watched(&config, source, plan, log, explainer).map_err(refuse)?;
        while !py.detach(|| run.step(100_000)).map_err(raise)? {
            py.check_signals()?;
        }
        let stage = |stage: &Stage| {
            let spent = stage.die.map_or(Vec::new(), |spent| {
                let named = die::names().zip(spent).map(|(name, span)| (name, span.0));
                named.filter(|(_, span)| *span > 0).collect()
            });
            (stage.what, stage.step, stage.from.0, stage.to.0, spent)
        };
        let explained = run.device().probe().explanations();
        Ok(explained
            .iter()
            .map(|of| {
                let op = format!("{:?}", of.op).to_lowercase();
                let stages = |of: &Vec<Stage>| of.iter().map(stage).collect();
                let parts = of.parts.iter().map(stages).collect();
                (of.request, op, of.bytes, of.arrival.0, of.finish.0, stages(&of.stages), parts)
            })
            .collect())
    }

    /// Plays the run and writes a timeline of what happened in some windows, `FROM:TO` each, or in all of it if there are none;
    /// returns the file's size [B]. The run is not played on when no window shows what is to come.
    fn timeline(&self, py: Python<'_>, path: PathBuf, windows: Vec<String>) -> PyResult<u64> {
        let mut shown = windows.iter().map(|word| window(word)).collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        if shown.is_empty() {
            shown.push((Time::ZERO, Time::NEVER));
        }
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Ready(prepared) = std::mem::replace(&mut *state, State::Finished) else {
            return Err(SimulationError::new_err("the run has been begun already"));
        };
        let Prepared { config, source, plan, log } = *prepared;
        let unwritable = |error: io::Error| {
            SimulationError::new_err(format!(
                "{}: cannot be written: {error}\n  help: make room, or choose a shorter --window",
                path.display()
            ))
        };
        let file = BufWriter::new(File::create(&path).map_err(unwritable)?);
        let timeline = Timeline::new(&config.plan().map_err(refuse)?, shown, Box::new(file));
        let mut run = Run::watched(&config, source, plan, log, timeline).map_err(refuse)?;
        while !py.detach(|| run.step(1000)).map_err(raise)? && !run.device().probe().done() {
            py.check_signals()?;
        }
        let device = run.into_device();
        let now = device.now();
        device.into_probe().finish(now).map_err(unwritable)
    }

    /// What is run, as JSON: everything that decides the result.
    #[getter]
    fn manifest(&self) -> String {
        self.manifest.to_string()
    }

    /// Why the run ended before its workload, where it did and there is a result all the same; known once it is finished.
    #[getter]
    fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// What the user should know about how the workload was read, and which settings have no effect.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Plays some `requests` more; returns whether the workload has been played to its end.
    fn step(&self, py: Python<'_>, requests: u64) -> PyResult<bool> {
        py.detach(|| {
            let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            state.run()?.map_or(Ok(true), |run| run.step(requests).map_err(raise))
        })
    }

    /// Share of the workload played, where it can be known; requests submitted; requests completed.
    fn progress(&self) -> (Option<f64>, u64, u64) {
        match &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ready(_) => (Some(0.0), 0, 0),
            State::Running(run) => {
                let (submitted, completed) = run.counts();
                (run.progress(), submitted, completed)
            }
            State::Finished => (Some(1.0), 0, 0),
        }
    }

    /// Ends the run. Returns (JSON of manifest and statistics, statistics as (name, unit, description) lines, events,
    /// time series as Parquet bytes, request log as (rows, Parquet bytes; empty where it went to a file) or None, latency
    /// distributions of reads and writes).
    #[allow(clippy::type_complexity)] // One value for each thing that the Python side keeps.
    fn finish<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        String,
        Vec<(String, &'static str, String)>,
        u64,
        Bound<'py, PyBytes>,
        Option<(u64, Bound<'py, PyBytes>)>,
        [Vec<(u64, f64)>; 2],
    )> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        state.run()?;
        let State::Running(run) = std::mem::replace(&mut *state, State::Finished) else {
            return Err(SimulationError::new_err("the run has been finished already"));
        };
        if let Some(end) = run.end_of_life() {
            let _ = self.ended.set(end.to_string());
        }
        let mut outcome = py.detach(|| run.finish().map_err(raise))?;
        let report = outcome.report();
        let mut root = Map::new();
        root.insert("manifest".into(), self.manifest.clone());
        root.extend(report.to_json());
        let described = report.0.into_iter().map(|s| (s.name, s.unit, s.description)).collect();
        let series = series_parquet(outcome.series.rows()).map_err(raise)?;
        let log = outcome.log.take().map(|log| log.close()).transpose().map_err(raise)?;
        let [reads, writes, ..] = outcome.measured.latencies.total();
        let distributions = [reads.distribution(), writes.distribution()];
        Ok((
            Value::Object(root).to_string(),
            described,
            outcome.measured.totals.counters.events,
            PyBytes::new(py, &series),
            log.map(|(rows, bytes)| (rows, PyBytes::new(py, &bytes))),
            distributions,
        ))
    }
}
