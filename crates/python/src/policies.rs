//! Policies in Python: what they are given, how they are asked, and what becomes of their mistakes.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTraceback;
use schemes::{Class, Price, ReadReference, ResumeMode};
use ssd::RunError;
use ssd::policies::{Answer, Policies, PolicySource, StandIn};
use units::{ConfigError, Span};

use crate::error::{InputError, raise};

/// A full block.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct Candidate {
    /// Its number in its plane.
    number: u32,
    /// Its valid pages.
    valid: u32,
    /// Pages programmed on the plane since it last lost one.
    age: u32,
}

#[pymethods]
impl Candidate {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// The full blocks of a plane, as they were when the policy was asked.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Blocks(ssd::policies::Blocks);

impl Blocks {
    fn candidate(&self, number: u32) -> Candidate {
        let (valid, age) = self.0.candidates.block(number);
        Candidate { number, valid, age }
    }

    /// Refuses what the drive does not keep.
    fn kept(&self, by_valid: bool) -> PyResult<()> {
        if self.0.by_valid == by_valid {
            return Ok(());
        }
        Err(PyValueError::new_err(if by_valid {
            "with gc.victim = \"fifo\" the drive keeps the order of filling only: ask for first_filled(), or set another"
        } else {
            "the drive keeps the order of filling only with gc.victim = \"fifo\""
        }))
    }
}

#[pymethods]
impl Blocks {
    /// Pages of a block.
    #[getter]
    fn pages(&self) -> u32 {
        self.0.candidates.pages()
    }

    /// A block with so many valid pages or more gains nothing.
    #[getter]
    fn limit(&self) -> u32 {
        self.0.candidates.victim_valid_limit()
    }

    /// The fewest valid pages that any block has; None where there is no block.
    #[getter]
    fn least_valid(&self) -> PyResult<Option<u32>> {
        self.kept(true)?;
        Ok(self.0.candidates.least_valid())
    }

    /// Of the blocks with so many valid pages, the one that has lost none for longest.
    fn oldest(&self, valid: u32) -> PyResult<Option<Candidate>> {
        self.kept(true)?;
        let candidates = &self.0.candidates;
        Ok((valid <= candidates.pages()).then(|| candidates.oldest(valid)).flatten().map(|block| self.candidate(block)))
    }

    /// Of each number of valid pages below the limit, from the fewest up, the block that has lost none for longest.
    fn contenders(&self) -> PyResult<Vec<Candidate>> {
        let least = self.least_valid()?.unwrap_or(u32::MAX);
        let oldest = (least..self.limit()).filter_map(|valid| self.0.candidates.oldest(valid));
        Ok(oldest.map(|block| self.candidate(block)).collect())
    }

    /// The block that was filled first.
    fn first_filled(&self) -> PyResult<Option<Candidate>> {
        self.kept(false)?;
        Ok(self.0.candidates.first_filled().map(|block| self.candidate(block)))
    }

    /// A block chosen at random, by the drive's seed.
    fn random(&self) -> Option<Candidate> {
        self.0.candidates.random((self.0.draw)()).map(|block| self.candidate(block))
    }
}

/// References as Python has them: a step of the table, or a word.
#[derive(Clone, Debug, IntoPyObject, IntoPyObjectRef)]
enum Reference {
    Step(u8),
    Word(&'static str),
}

/// A read whose last sense could not be corrected.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct Failed {
    /// The step at which the read began.
    start: u8,
    /// The references that have just failed: a step, "near-optimal" or "sentinel".
    reference: Reference,
    /// The last step of the table.
    last: u8,
    /// The page's boundaries include the sentinel's.
    sentinel: bool,
    /// The steps that the read has sensed so far and the weights of their syndromes, where `read.next` asks for them.
    weighed: Vec<(u8, u32)>,
    /// The steps of the table made for the chip, where `read.next` asks for one.
    table: Vec<u32>,
}

/// Where an operation is that a user read waits for.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct InPhase {
    /// In a pulse rather than in a verify.
    pulse: bool,
    /// How far the phase has come [ns].
    done_ns: u64,
    /// What is left of it, the voltage reset at its end included [ns].
    left_ns: u64,
    /// What resetting the voltages takes [ns].
    reset_ns: u64,
    /// How far apart the safe points of a pulse are, where it has any [ns].
    safe_ns: Option<u64>,
}

/// A plane whose blocks are collected.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct Collection {
    /// Pages that host data and relocated data may still fill.
    room: i64,
    /// Below so many the host's open block may be full while all the room is for relocated data.
    least: i64,
    /// Collection starts at about so many.
    start: i64,
    /// Pages of a block.
    pages: u32,
    /// Valid pages of the block that is collected.
    valid: u32,
}

#[pymethods]
impl Failed {
    #[new]
    #[pyo3(signature = (start, reference, last, sentinel = false, weighed = Vec::new(), table = Vec::new()))]
    fn new(
        start: u8,
        reference: &Bound<'_, PyAny>,
        last: u8,
        sentinel: bool,
        weighed: Vec<(u8, u32)>,
        table: Vec<u32>,
    ) -> PyResult<Failed> {
        let Some(Some(reference)) = reference_of(reference) else {
            return Err(PyValueError::new_err("a reference is a step of the table, \"near-optimal\" or \"sentinel\""));
        };
        Ok(Failed { start, reference: reference.into(), last, sentinel, weighed, table })
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

#[pymethods]
impl InPhase {
    #[new]
    #[pyo3(signature = (pulse, done_ns, left_ns, reset_ns, safe_ns = None))]
    fn new(pulse: bool, done_ns: u64, left_ns: u64, reset_ns: u64, safe_ns: Option<u64>) -> InPhase {
        InPhase { pulse, done_ns, left_ns, reset_ns, safe_ns }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

#[pymethods]
impl Collection {
    #[new]
    fn new(room: i64, least: i64, start: i64, pages: u32, valid: u32) -> Collection {
        Collection { room, least, start, pages, valid }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

const NEAR_OPTIMAL: &str = "near-optimal";
const SENTINEL: &str = "sentinel";

impl From<ReadReference> for Reference {
    fn from(v_ref: ReadReference) -> Reference {
        match v_ref {
            ReadReference::Step(step) => Reference::Step(step),
            ReadReference::Sentinel => Reference::Word(SENTINEL),
            // No policy of the axis is asked about soft decoding.
            ReadReference::NearOptimal | ReadReference::Soft(_) => Reference::Word(NEAR_OPTIMAL),
        }
    }
}

impl From<schemes::Failed<'_>> for Failed {
    fn from(failed: schemes::Failed) -> Failed {
        Failed {
            start: failed.start,
            reference: failed.v_ref.into(),
            last: failed.last,
            sentinel: failed.sentinel,
            weighed: failed.weighed.iter().map(|weighed| (weighed.step, weighed.weight)).collect(),
            table: failed.table.iter().copied().map(u32::from).collect(),
        }
    }
}

impl From<schemes::InPhase> for InPhase {
    fn from(at: schemes::InPhase) -> InPhase {
        InPhase {
            pulse: at.pulse,
            done_ns: at.done.0,
            left_ns: at.left.0,
            reset_ns: at.reset.0,
            safe_ns: at.safe.map(|safe| safe.0),
        }
    }
}

impl From<schemes::Collection> for Collection {
    fn from(of: schemes::Collection) -> Collection {
        Collection { room: of.room, least: of.least, start: of.start, pages: of.pages, valid: of.valid }
    }
}

/// A class of operations in a word.
fn class_word(class: Class) -> &'static str {
    match class {
        Class::UserRead => "user-read",
        Class::InternalRead => "internal-read",
        Class::UserProgram => "user-program",
        Class::InternalProgram => "internal-program",
        Class::Erase => "erase",
    }
}

/// An answer that may be None.
fn none_or<T>(answer: &Bound<'_, PyAny>, read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>) -> Option<Option<T>> {
    if answer.is_none() { Some(None) } else { read(answer).map(Some) }
}

fn victim_of(answer: &Bound<'_, PyAny>) -> Option<Option<u32>> {
    none_or(answer, |answer| answer.cast::<Candidate>().ok().map(|candidate| candidate.get().number))
}

fn reference_of(answer: &Bound<'_, PyAny>) -> Option<Option<ReadReference>> {
    none_or(answer, |answer| match answer.extract() {
        Ok(step) => Some(ReadReference::Step(step)),
        Err(_) => match answer.extract().ok()? {
            NEAR_OPTIMAL => Some(ReadReference::NearOptimal),
            SENTINEL => Some(ReadReference::Sentinel),
            _ => None,
        },
    })
}

fn suspend_point_of(answer: &Bound<'_, PyAny>) -> Option<schemes::SuspendPoint> {
    none_or(answer, |answer| {
        let (after, word): (u64, String) = answer.extract().ok()?;
        let (mode, _) = ResumeMode::ALL.into_iter().find(|(_, known)| *known == word)?;
        Some((Span(after), mode))
    })
}

fn price_of(answer: &Bound<'_, PyAny>) -> Option<Option<Price>> {
    none_or(answer, |answer| answer.extract().ok().map(|(relocated, host)| Price { relocated, host }))
}

const SUSPENDS: &str =
    "None, or nanoseconds from 0 up and one of next-phase, repeat-phase, verify-then-repeat, rest-of-phase";

/// A policy as the Python side has read and checked it.
#[derive(FromPyObject)]
pub struct GivenPolicy {
    axis: String,
    ask: Py<PyAny>,
    file: Option<String>,
    function: String,
    sha256: String,
    place: (String, Option<usize>),
}

/// What a policy has raised: the exception itself.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The error of a run as Python's exception. What a policy has raised is its cause; what is no error of the policy's, such
    /// as Ctrl-C, is raised itself.
    pub fn raise(&self, error: RunError) -> PyErr {
        let Some(cause) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return raise(error) };
        Python::attach(|py| {
            if !cause.is_instance_of::<PyException>(py) {
                return cause;
            }
            let error = raise(error);
            error.set_cause(py, Some(cause));
            error
        })
    }
}

/// The policies that Python gives, and where their exceptions are kept.
pub(crate) fn policies_of(given: Vec<GivenPolicy>) -> PyResult<(Policies, Raised)> {
    let (mut policies, raised) = (Policies::default(), Raised::default());
    for policy in given {
        let GivenPolicy { axis, ask, file, function, sha256, place } = policy;
        let source = PolicySource { file, function, sha256, place };
        let Some(axis) = Policies::AXES.iter().copied().find(|known| *known == axis) else {
            let remedy = format!("the axes are {}", Policies::AXES.join(", "));
            return Err(InputError::new_err(format!("policies.{axis}: there is no such axis\n  help: {remedy}")));
        };
        let asked = Asked { axis, function: ask, source: source.clone(), raised: raised.clone() };
        match axis {
            "victim" => {
                let expected = "None, or one of the blocks that it is given";
                let ask = Arc::new(move |blocks| asked.ask(Blocks(blocks), expected, victim_of));
                policies.victim = Some(StandIn { source, ask });
            }
            "order" => {
                let expected = "a whole number from 0 to 255";
                let ask = Arc::new(move |class| asked.ask(class_word(class), expected, |answer| answer.extract().ok()));
                policies.order = Some(StandIn { source, ask });
            }
            "next" => {
                let expected = "None, a step of the table, \"near-optimal\" or \"sentinel\"";
                let ask = Arc::new(move |failed: schemes::Failed<'_>| {
                    asked.ask(Failed::from(failed), expected, reference_of)
                });
                policies.next = Some(StandIn { source, ask });
            }
            "pacing" => {
                let expected = "None, or relocated pages and the pages of host data that they pay for, from 0 up";
                let ask = Arc::new(move |of: schemes::Collection| asked.ask(Collection::from(of), expected, price_of));
                policies.pacing = Some(StandIn { source, ask });
            }
            _ => {
                let ask =
                    Arc::new(move |at: schemes::InPhase| asked.ask(InPhase::from(at), SUSPENDS, suspend_point_of));
                let stand_in = Some(StandIn { source, ask: ask as _ });
                if axis == "suspend_erase" {
                    policies.suspend_erase = stand_in;
                } else {
                    policies.suspend_program = stand_in;
                }
            }
        }
    }
    Ok((policies, raised))
}

thread_local! {
    /// Whether a policy is being asked on this thread.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a policy is being asked on this thread: what it calls would wait for it for ever.
pub(crate) fn asking() -> bool {
    ASKING.get()
}

/// A function of Python's that is asked.
struct Asked {
    axis: &'static str,
    function: Py<PyAny>,
    source: PolicySource,
    raised: Raised,
}

impl Asked {
    /// Asks it; `read` understands what is `expected`.
    fn ask<Q, T>(&self, question: Q, expected: &str, read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>) -> Answer<T>
    where
        Q: for<'py> IntoPyObject<'py>,
    {
        Python::attach(|py| {
            let before = ASKING.replace(true);
            let answer = self.function.bind(py).call1((question,));
            ASKING.set(before);
            let answer = answer.map_err(|error| self.raised(py, error))?;
            read(&answer).ok_or_else(|| {
                let shown = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
                self.source.mistake(self.axis, format!("answered {shown}"), format!("answer {expected}"))
            })
        })
    }

    /// Keeps what it has raised, and says where.
    fn raised(&self, py: Python<'_>, error: PyErr) -> ConfigError {
        let traceback = error.traceback(py);
        let lines = traceback.as_ref().and_then(|traceback| traceback.format().ok()).unwrap_or_default();
        let lines: String = lines.lines().skip(1).map(|line| format!("\n  {line}")).collect();
        let mut source = self.source.clone();
        if let Some(line) = traceback.and_then(|traceback| line_in(&source.place.0, traceback)) {
            source.place.1 = Some(line);
        }
        let mistake = source.mistake(
            self.axis,
            format!("{error}{lines}"),
            "mend the policy; help(ssdlab.policy) says what it is given and what it answers".into(),
        );
        *self.raised.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        mistake
    }
}

/// The innermost line of a traceback that lies in a file.
fn line_in(file: &str, traceback: Bound<'_, PyTraceback>) -> Option<usize> {
    let mut at = Some(traceback.into_any());
    let mut found = None;
    while let Some(frame) = at {
        let name = frame.getattr("tb_frame").and_then(|of| of.getattr("f_code")?.getattr("co_filename")?.extract());
        if name.is_ok_and(|name: String| name == file) {
            found = frame.getattr("tb_lineno").and_then(|line| line.extract()).ok();
        }
        at = frame.getattr("tb_next").ok().filter(|next| !next.is_none());
    }
    found
}
