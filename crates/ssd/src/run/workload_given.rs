//! The workload that a user asks for: a trace or several, a preset, or a file that describes a generator.

use std::path::Path;

use serde_json::{Map, Value, json};
use units::value::{Value as _, nearest};
use units::{Bytes, Document};
use workload::generator::phases::SHARED;
use workload::{
    Apart, Beyond, Format, Generated, Merged, PastOfGenerator, Program, ReadOptions, Source, TraceFile, Volumes,
    Workload,
};

use super::findings;
use super::fingerprint::{Fingerprint, fingerprint_of};
use super::manifest::{sections, to_json, values};
use super::options::TraceOptions;
use super::refusal::refused;
use super::settling;
use crate::error::RunError;
use crate::observe::stats::Finding;

/// How errors call the text of a workload file.
const TEXT: &str = "workload text";

/// How many requests a generator makes at least.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// As many as it says.
    Own,
    /// This many, if it says fewer.
    AtLeast(u64),
    /// It goes on for as long as it is asked.
    Endless,
}

/// What is asked for.
pub(super) struct WorkloadGiven<'a> {
    pub word: &'a str,
    /// Further traces, merged by time.
    pub merge: &'a [String],
    pub settings: &'a [String],
    pub traces: &'a TraceOptions,
    pub beyond: Beyond,
    pub wanted: Wanted,
    pub seed: u64,
    pub capacity: Bytes,
    pub fingerprint: Fingerprint,
    /// The drive takes placement hints.
    pub takes_hints: bool,
}

/// A workload, ready to be played, with what the manifest and the user should know about it.
pub(super) struct Opened {
    pub source: Box<dyn Source>,
    pub manifest: Value,
    pub note: Option<String>,
    /// What looks wrong in the heads of traces, and what of a generator's settings has no effect.
    pub findings: Vec<Finding>,
    /// Of a real trace in place of a twin that paces itself: the requests under way, unless a replay is asked for.
    pub closed: Option<u32>,
    /// Requests of a generator that all come at time 0, unless they are replayed in a closed loop.
    pub at_once: u64,
    /// How many requests there are; none where only reading a trace tells.
    pub requests: Option<u64>,
}

/// Whether a setting is one of the workload rather than the device.
pub fn is_workload_key(word: &str) -> bool {
    let section = word.trim_start().split('.').next();
    ["workload", "job"].iter().chain(&workload::PROGRAMS).any(|known| section == Some(*known))
}

/// Opens a workload.
pub(super) fn open(given: &WorkloadGiven) -> Result<Opened, RunError> {
    let word = given.word;
    let settings = of_workload(given.settings);
    let preset = workload::presets::names().any(|name| name == word);
    let folder = given.traces.traces.as_deref();
    let real = folder.map(|folder| workload::presets::real(word, folder)).transpose()?.flatten();
    let absent = folder.filter(|_| preset && word.contains('/') && real.is_none());
    let note = absent.zip(word.split_once('/')).map(|(folder, (_, trace))| {
        format!("no trace in {} is called {trace}: the synthetic {word} is run", folder.display())
    });
    if let Some(path) = real {
        return twins_trace(given, &path.display().to_string(), &settings);
    }
    if !preset && word.ends_with(PROMPTS) {
        let text = format!("[kv]\nprompts = {}\n", word.to_owned().write());
        return program(given, &Workload::read(&Document::parse(&text, word)?, &settings, None)?, note);
    }
    if !preset && !word.ends_with(".toml") && Path::new(word).is_file() {
        return match settings.first() {
            Some(word) => Err(not_of_a_trace(word)),
            None => trace(given, word),
        };
    }
    let mut workload = generator(given, preset, &settings)?;
    if workload.program.is_some() {
        return program(given, &workload, note);
    }
    let (requests, manifest, at_once) = (Some(workload.requests()), described(&workload), workload.at_once());
    let findings = findings_of_settings(given, preset, &settings, &workload)?.into_iter().collect();
    let past = PastOfGenerator::new(&workload, given.capacity, given.seed);
    // Of several jobs each would have to know how many of its requests are played before those that count.
    let leads = match (given.wanted, workload.jobs.as_slice()) {
        (Wanted::Endless, _) => false,
        (Wanted::AtLeast(wanted), jobs) => jobs.len() == 1 || wanted >= workload.requests(),
        (Wanted::Own, jobs) => jobs.len() == 1,
    };
    if leads {
        workload.extend(workload.requests().saturating_add(settling::MOST));
    }
    let source = workload.source(given.capacity, given.seed)?;
    let source = Box::new(Generated { source, leads, past: Some(Box::new(past)) });
    Ok(Opened { source, manifest, note, findings, closed: None, at_once, requests })
}

/// What the settings of a generator have no effect on.
fn findings_of_settings(
    given: &WorkloadGiven,
    preset: bool,
    settings: &[&str],
    workload: &Workload,
) -> Result<Option<Finding>, RunError> {
    if settings.is_empty() {
        return Ok(None);
    }
    let inherited = generator(given, preset, &[])?;
    Ok(findings::without_effect(&workload.idle_settings(&inherited, given.takes_hints)))
}

/// The settings that are the workload's.
fn of_workload(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).filter(|word| is_workload_key(word)).collect()
}

/// How the names of files of prompts end.
const PROMPTS: &str = ".jsonl";

/// A program that is modelled as a whole.
fn program(given: &WorkloadGiven, workload: &Workload, note: Option<String>) -> Result<Opened, RunError> {
    let Some(program) = &workload.program else { unreachable!("Invariant: the caller has seen it") };
    let source = workload.source(given.capacity, given.seed)?;
    let section = program.section();
    let mut manifest = json!({ section.name(): values(section) });
    if let Program::Kv(kv) = program
        && let Some(path) = kv.file()
    {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        manifest["kv"].as_object_mut().and_then(|keys| keys.shift_remove("prompts"));
        manifest["prompts"] = json!(name);
        manifest["hash"] = json!(fingerprint_of(path, given.fingerprint)?);
    }
    Ok(Opened { source, manifest, note, findings: Vec::new(), closed: None, at_once: 0, requests: None })
}

/// The real trace in place of a twin. Of the generator's keys the twin's own pace is kept, or what is asked for in its
/// place.
fn twins_trace(given: &WorkloadGiven, path: &str, settings: &[&str]) -> Result<Opened, RunError> {
    let (paced, others): (Vec<&str>, Vec<&str>) =
        settings.iter().partition(|word| word.starts_with("workload.iodepth="));
    if let Some(word) = others.first() {
        return Err(not_of_a_trace(word));
    }
    let twin = workload::presets::get(given.word, &paced)?;
    let closed = twin.jobs.first().and_then(|(_, job)| job.iodepth);
    Ok(Opened { closed, ..trace(given, path)? })
}

fn not_of_a_trace(setting: &str) -> RunError {
    RunError::Config(refused(setting, "is a generator's key, and the workload is a trace", "leave it out"))
}

/// One trace or several, ready to be played.
fn trace(given: &WorkloadGiven, word: &str) -> Result<Opened, RunError> {
    let TraceOptions { format, skip_bad_lines, sort_window, volumes, .. } = given.traces;
    let reading = ReadOptions { skip_bad_lines: *skip_bad_lines, sort_window: *sort_window as usize };
    let volumes = *volumes;
    let format = format.as_deref().map(Format::parse).transpose()?;
    let paths: Vec<&Path> =
        std::iter::once(word).chain(given.merge.iter().map(String::as_str)).map(Path::new).collect();
    let mut traces = Vec::new();
    let (mut notes, mut found) = (Vec::new(), Vec::new());
    for path in &paths {
        let opened = TraceFile::open_with(path, format, reading)?;
        let hash = fingerprint_of(path, given.fingerprint)?;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        traces.push(json!({ "trace": file, "format": opened.format().to_string(), "hash": hash }));
        let named = |note: &str| {
            if paths.len() == 1 { note.to_owned() } else { format!("{}: {note}", path.display()) }
        };
        notes.extend(opened.note().map(named));
        // What cannot be read is an error of the run, at its line.
        found.extend(findings::of_trace(path, format, reading).unwrap_or_default());
    }
    let mut manifest = if traces.len() == 1 { traces.remove(0) } else { json!({ "traces": traces }) };
    for (name, value) in given.traces.values() {
        // The format is known by now, and a folder of traces by the trace that was found there.
        if !["format", "traces"].contains(&name) {
            manifest[name] = value;
        }
    }
    manifest["beyond"] = to_json(&given.beyond.write());
    let open = || Merged::open(&paths, format, reading);
    let source: Box<dyn Source> = match volumes {
        Volumes::Overlay if paths.len() == 1 => Box::new(TraceFile::open_with(paths[0], format, reading)?),
        Volumes::Overlay => Box::new(open()?),
        volumes => Box::new(Apart::new(open()?, open()?, volumes, given.beyond, given.capacity, word)?),
    };
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    Ok(Opened { source, manifest, note, findings: found, closed: None, at_once: 0, requests: None })
}

/// A preset, a file that describes a generator, or, in several lines, the text of one.
fn generator(given: &WorkloadGiven, preset: bool, settings: &[&str]) -> Result<Workload, RunError> {
    let word = given.word;
    let refuse = |origin: &str, problem: &str, remedy: &str| RunError::Config(refused(origin, problem, remedy));
    if let Some(more) = given.merge.first() {
        let problem = format!("is not a trace, and `{more}` is to be merged with it");
        return Err(refuse(&format!("workload `{word}`"), &problem, "give one workload, or traces only"));
    }
    let mut workload = if preset {
        workload::presets::get(word, settings)?
    } else if word.contains('\n') {
        let read = Document::parse(word, TEXT).and_then(|document| Workload::read(&document, settings, None));
        read.map_err(|error| error.without_line_in(TEXT))?
    } else if word.ends_with(".toml") && Path::new(word).is_file() {
        let text = units::file::read_text(Path::new(word))
            .map_err(|problem| refuse(word, &problem, "a workload file is TOML; docs/formats.md says what it holds"))?;
        Workload::read(&Document::parse(&text, word)?, settings, None)?
    } else {
        let names: Vec<&str> = workload::presets::names().collect();
        let remedy = match nearest(word, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? (or give the path of a trace or a .toml file)"),
            None => format!("the workloads are {}; or give the path of a trace or a .toml file", names.join(", ")),
        };
        return Err(refuse(&format!("workload `{word}`"), "there is no such workload or file", &remedy));
    };
    if given.traces.format.is_some() {
        return Err(refuse("--format", "is given, and the workload is a generator", "leave it out"));
    }
    match given.wanted {
        Wanted::Own => {}
        Wanted::AtLeast(requests) => workload.extend(requests),
        Wanted::Endless => {
            workload.extend(1 << 32);
            for (_, job) in &mut workload.jobs {
                // Nine years of them, if they have times.
                job.requests = job.rate_iops.map_or(1 << 48, |rate| ((rate * 2.8e8) as u64).max(1));
            }
        }
    }
    Ok(workload)
}

/// A generator, as a run's manifest has it.
fn described(workload: &Workload) -> Value {
    let mut jobs: Map<String, Value> = workload.jobs.iter().map(|(name, job)| (name.clone(), values(job))).collect();
    match jobs.remove("") {
        Some(mut one) => match (&workload.phases, &mut one) {
            (Some(phases), Value::Object(keys)) => {
                keys.retain(|key, _| SHARED.contains(&key.as_str()));
                json!({ "generator": one, "phases": sections(phases.sections()) })
            }
            _ => json!({ "generator": one }),
        },
        None => json!({ "jobs": jobs }),
    }
}
