//! A drive that other programs drive, without anything of C: what is done, and what went wrong.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use logs::{Table, series_parquet};
use serde_json::Value;
use ssd::run::findings;
use ssd::run::{DriveInputs, Live, PreparedLive, as_json, prepare_live, result};
use ssd::stats::Finding;
use ssd::stats::report::report;
use ssd::{BatchError, RequestLog, RunError, Unwatched};

/// What the manifest calls the programs behind this interface.
const DRIVER: &str = "libssdlab";

/// What became of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    Ok,
    /// A pointer that may not be null is null.
    NullPointer,
    /// What was given cannot be used, or a callback has called; nothing has changed.
    InvalidInput,
    /// The drive's life has ended: too few good blocks are left. What completed before is valid.
    EndOfLife,
    /// The run cannot go on, or a file cannot be written.
    Failed,
    /// The run has been finished.
    Finished,
    /// A defect of ssdlab: the drive can only be freed.
    Panic,
}

/// What went wrong, and how to mend it.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub text: String,
}

impl Failure {
    pub fn input(text: impl Into<String>) -> Failure {
        Failure { status: Status::InvalidInput, text: text.into() }
    }

    fn panic(payload: &(dyn Any + Send)) -> Failure {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let help = "this is a defect of ssdlab: please report it; the drive can only be freed";
        Failure { status: Status::Panic, text: format!("Invariant: {said}\n  help: {help}") }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let status = match error {
            RunError::Config(_) | RunError::Trace(_) | RunError::OutOfRange { .. } => Status::InvalidInput,
            RunError::BackInTime { .. } | RunError::BeyondHorizon { .. } => Status::InvalidInput,
            RunError::EndOfLife { .. } => Status::EndOfLife,
            _ => Status::Failed,
        };
        Failure { status, text: error.to_string() }
    }
}

impl From<BatchError> for Failure {
    fn from(refused: BatchError) -> Failure {
        let text = refused.to_string();
        Failure { text, ..Failure::from(refused.error) }
    }
}

/// A run under way.
pub struct Playing {
    pub live: Live,
    manifest: Value,
    findings: Vec<Finding>,
    series_out: Option<PathBuf>,
}

impl Playing {
    /// Builds a drive, and brings it into its initial state.
    pub fn open(
        inputs: &DriveInputs,
        requests_out: Option<&Path>,
        series_out: Option<&Path>,
    ) -> Result<Playing, Failure> {
        let PreparedLive { config, options, manifest, findings } = prepare_live(inputs, DRIVER)?;
        let log = requests_out.map(|path| Table::of_requests(Some(path), config.host.queues)).transpose()?;
        let log = log.map(|table| Box::new(table) as Box<dyn RequestLog>);
        let live = Live::open(&config, &options, log, Unwatched)?;
        Ok(Playing { live, manifest, findings, series_out: series_out.map(Path::to_owned) })
    }

    /// The result up to now, as JSON.
    pub fn result(&self) -> String {
        let mut measured = self.live.measured();
        findings::add(&mut measured.findings, self.findings.iter().cloned());
        as_json(&result(&self.manifest, &measured, &report(&measured)))
    }

    /// Ends the run: checks it, completes the request log and writes the time series.
    fn finish(self) -> Result<(), Failure> {
        let outcome = self.live.finish()?;
        if let Some(log) = outcome.log {
            log.close()?;
        }
        if let Some(path) = self.series_out {
            let bytes = series_parquet(outcome.series.rows())?;
            std::fs::write(&path, bytes)
                .map_err(|error| RunError::Output { path: path.display().to_string(), problem: error.to_string() })?;
        }
        Ok(())
    }
}

enum Stage<T> {
    Open(Box<T>),
    Finished,
    /// After a panic nothing is known of its state.
    Broken,
}

struct State<T> {
    stage: Stage<T>,
    error: Option<String>,
}

/// What a program holds: one call at a time is played, others wait, and a panic breaks it.
pub(crate) struct Handle<T>(Mutex<State<T>>);

/// A simulated SSD. One call at a time is played: others wait.
pub struct Drive(pub(crate) Handle<Playing>);

impl Drive {
    /// Ends the run.
    pub(crate) fn finish(&self) -> Result<(), Status> {
        self.0.end(Playing::finish)
    }
}

impl<T> Handle<T> {
    /// Of what is open.
    pub fn new(open: T) -> Handle<T> {
        Handle(Mutex::new(State { stage: Stage::Open(Box::new(open)), error: None }))
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the last failure was. A callback is not told: the drive that asks it is under way.
    pub fn last_error(&self) -> Option<String> {
        if asking() {
            return None;
        }
        self.lock().error.clone()
    }

    /// Does something with what is open.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> Result<R, Failure>) -> Result<R, Status> {
        if asking() {
            return Err(Status::InvalidInput);
        }
        let mut state = self.lock();
        let done = match &mut state.stage {
            Stage::Open(open) => guarded(|| act(open)),
            Stage::Finished => Err(finished()),
            Stage::Broken => Err(broken()),
        };
        done.map_err(|failure| state.fail(failure))
    }

    /// Ends it.
    fn end(&self, end: impl FnOnce(T) -> Result<(), Failure>) -> Result<(), Status> {
        if asking() {
            return Err(Status::InvalidInput);
        }
        let mut state = self.lock();
        let done = match std::mem::replace(&mut state.stage, Stage::Finished) {
            Stage::Open(open) => guarded(|| end(*open)),
            Stage::Finished => Err(finished()),
            Stage::Broken => Err(broken()),
        };
        done.map_err(|failure| state.fail(failure))
    }
}

impl<T> State<T> {
    fn fail(&mut self, failure: Failure) -> Status {
        if failure.status == Status::Panic {
            self.stage = Stage::Broken;
        }
        self.error = Some(failure.text);
        failure.status
    }
}

/// Does something; a panic is a failure.
pub fn guarded<T>(act: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|payload| Err(Failure::panic(&*payload)))
}

fn finished() -> Failure {
    let text = "the run has been finished\n  help: open another drive";
    Failure { status: Status::Finished, text: text.into() }
}

fn broken() -> Failure {
    let text = "it broke in an earlier call\n  help: free it, and open another one";
    Failure { status: Status::Panic, text: text.into() }
}

thread_local! {
    /// Whether a callback is being asked on this thread.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a callback is being asked on this thread: what it calls would wait for its own drive for ever.
fn asking() -> bool {
    ASKING.get()
}

/// Calls back.
pub(crate) fn called<T>(call: impl FnOnce() -> T) -> T {
    let before = ASKING.replace(true);
    let answer = call();
    ASKING.set(before);
    answer
}
