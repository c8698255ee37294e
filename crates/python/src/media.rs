//! Flash without a drive: its host names pages and blocks.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt as _;
use ssd::RunError;
use ssd::media::{MediaBatchError, MediaCommand, MediaCompletion, MediaOp, PageAddress};
use ssd::run::{DeviceWord, open_media, parse, write_media};
use units::{Span, Temperature, Time};

use crate::error::{InputError, raise, raise_as, refuse};
use crate::policies::{GivenPolicy, Raised, policies_of};

/// A command that has ended.
#[derive(IntoPyObject)]
struct Ended {
    command: u64,
    finish_ns: u64,
    status: &'static str,
    retries: u16,
    problem: Option<String>,
    miscorrected: bool,
}

impl Ended {
    fn of(done: MediaCompletion) -> Ended {
        Ended {
            command: done.id,
            finish_ns: done.finish.0,
            status: done.status.name(),
            retries: done.retries,
            problem: done.problem(),
            miscorrected: done.miscorrected,
        }
    }
}

/// What the flash is made of.
#[derive(IntoPyObject)]
struct Shape {
    channels: u32,
    dies: u32,
    planes: u32,
    blocks: u32,
    pages: u32,
    page_size: u64,
    program_pages: u32,
}

/// Flash that its host manages.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Media {
    inner: Mutex<ssd::Media>,
    raised: Raised,
}

impl Media {
    fn lock<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, ssd::Media> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays the flash without the GIL.
    fn play<T: Send>(
        &self,
        py: Python<'_>,
        play: impl FnOnce(&mut ssd::Media) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        py.detach(|| play(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
            .map_err(|error| self.raised.raise(error))
    }
}

#[pymethods]
impl Media {
    #[new]
    #[pyo3(signature = (device = "tlc", *, scheme = None, age = None, settings = Vec::new(), policies = Vec::new(), seed = 1))]
    fn new(
        device: &str,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        policies: Vec<GivenPolicy>,
        seed: u64,
    ) -> PyResult<Media> {
        let (policies, raised) = policies_of(policies)?;
        let media = open_media(DeviceWord::Named(device), scheme, age, &settings, &policies, seed);
        Ok(Media { inner: Mutex::new(media.map_err(|error| raised.raise(error.into()))?), raised })
    }

    /// Hands commands to the flash, given as columns of one length; returns the number of the first. Up to the first
    /// that is refused, which the error names by its index, they are submitted.
    fn submit_many(
        &self,
        py: Python<'_>,
        time: Vec<u64>,
        op: Vec<PyBackedStr>,
        die: Vec<u32>,
        plane: Vec<u32>,
        block: Vec<u32>,
        page: Vec<u32>,
        bytes: Vec<u32>,
    ) -> PyResult<u64> {
        let known: Vec<MediaOp> = op.iter().map_while(|name| MediaOp::named(name)).collect();
        let of = |(index, op): (usize, &MediaOp)| {
            let at = PageAddress { die: die[index], plane: plane[index], block: block[index], page: page[index] };
            MediaCommand { time: Time(time[index]), op: *op, at, bytes: bytes[index] }
        };
        let commands: Vec<MediaCommand> = known.iter().enumerate().map(of).collect();
        let submitted = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).submit_all(&commands));
        let refused = |refused: MediaBatchError| raise_as(refused.to_string(), &refused.error);
        let numbers = submitted.map_err(refused)?;
        match op.get(known.len()) {
            Some(odd) => {
                let help = "write one of read, program, erase";
                Err(InputError::new_err(format!("commands[{}]: op is {odd:?}\n  help: {help}", known.len())))
            }
            None => Ok(numbers.start),
        }
    }

    /// Plays up to `time` [ns]; returns all that ended, in order.
    fn advance(&self, py: Python<'_>, time: u64) -> PyResult<Vec<Ended>> {
        self.play(py, |media| {
            media.advance(Time(time))?;
            Ok(media.take_completions().map(Ended::of).collect())
        })
    }

    /// Plays until something ends, or until nothing is left to do; returns what ended.
    fn advance_to_completion(&self, py: Python<'_>) -> PyResult<Vec<Ended>> {
        self.play(py, |media| {
            media.advance_to_completion(Time::NEVER)?;
            Ok(media.take_completions().map(Ended::of).collect())
        })
    }

    /// What is under way is played; then all data grows older by a span such as "6mo", at a temperature such as "40C"
    /// or at that of its rest.
    #[pyo3(signature = (span, at = None))]
    fn rest(&self, py: Python<'_>, span: &str, at: Option<&str>) -> PyResult<()> {
        let span = parse::<Span>("--for", span).map_err(refuse)?;
        let at = at.map(|at| parse::<Temperature>("--at", at)).transpose().map_err(refuse)?;
        self.play(py, |media| media.rest(span, at))
    }

    /// Writes the whole state to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.play(py, |media| write_media(media, &path))
    }

    /// The page of a block that is programmed next; None where it is full, not erased or bad.
    fn next_page(&self, py: Python<'_>, die: u32, plane: u32, block: u32) -> PyResult<Option<u32>> {
        self.lock(py).next_page(PageAddress { die, plane, block, page: 0 }).map_err(raise)
    }

    /// Whether the factory found a block bad.
    fn is_bad(&self, py: Python<'_>, die: u32, plane: u32, block: u32) -> PyResult<bool> {
        self.lock(py).is_bad(PageAddress { die, plane, block, page: 0 }).map_err(raise)
    }

    /// What it is made of.
    #[getter]
    fn shape(&self, py: Python<'_>) -> Shape {
        let ssd::media::MediaShape { channels, dies, planes, blocks, pages, page_size, program_pages } =
            self.lock(py).shape();
        Shape { channels, dies, planes, blocks, pages, page_size: page_size.0, program_pages }
    }

    /// The present simulated time [ns].
    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.lock(py).now().0
    }

    /// When something happens next [ns], if nothing is submitted before.
    #[getter]
    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).next_event().map(|time| time.0)
    }

    /// Commands that were submitted and have not ended.
    #[getter]
    fn outstanding(&self, py: Python<'_>) -> u64 {
        self.lock(py).outstanding()
    }
}
