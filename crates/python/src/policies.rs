//! Policies in Python: what they are given, how they are asked, and what becomes of their mistakes.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use nand::PlaneId;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTraceback;
use schemes::{Class, Price, ReadReference, ResumeMode};
use ssd::RunError;
use ssd::policies::own_ftl::{self, OwnFtl, Place};
use ssd::policies::{Answer, BlockFacts, Policies, PolicySource, StandIn};
use units::{ConfigError, Lpn, Ppn, Span};

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
    /// How often it has been erased in the run; 0 while a load is played before the run.
    erases: u32,
    /// The stream of host data that it holds; None of relocated data and of what was there before the run.
    stream: Option<u8>,
}

#[pymethods]
impl Candidate {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// The full blocks of a plane, as they were when the policy was asked.
///
/// The drive lends its own, and copies them only if the policy keeps them beyond its answer.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Blocks(ssd::policies::Blocks);

impl Blocks {
    fn candidate(&self, number: u32) -> Candidate {
        let (valid, age) = self.0.candidates.block(number);
        let BlockFacts { erases, stream } = self.0.candidates.facts(number);
        Candidate { number, valid, age, erases, stream }
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

    /// A block with this many valid pages or more gains nothing.
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

    /// The valid pages of a block; None where it is not one of them.
    fn valid(&self, number: u32) -> Option<u32> {
        Some(self.0.candidates.block(number).0).filter(|valid| *valid <= self.pages())
    }

    /// Of the blocks with this many valid pages, the one that has lost none for longest.
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

    /// All of them, by their numbers.
    fn all(&self) -> Vec<Candidate> {
        let numbers = 0..self.0.candidates.blocks();
        numbers.filter(|number| self.valid(*number).is_some()).map(|number| self.candidate(number)).collect()
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

/// A read that is about to sense a page for the first time.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct FirstSense {
    /// The step that last read a similar page; None where none has been read.
    last: Option<u8>,
    /// A failure is followed by a walk along the table.
    walks: bool,
    /// The last step of the table.
    table: u8,
    /// P/E cycles of the page's block.
    pec: u32,
    /// For how long the page has held its data, as the controller knows it [days at 30 °C].
    days: u32,
    /// Its group of layers.
    layer: u32,
    /// Which page of its wordline it is: 0 is the LSB page.
    kind: u32,
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
    /// Below this many the host's open block may be full while all the room is for relocated data.
    least: i64,
    /// Collection starts at about this many.
    start: i64,
    /// Pages of a block.
    pages: u32,
    /// Valid pages of the block that is collected.
    valid: u32,
}

#[pymethods]
impl FirstSense {
    #[new]
    #[pyo3(signature = (last, walks, table, pec = 0, days = 0, layer = 0, kind = 0))]
    fn new(last: Option<u8>, walks: bool, table: u8, pec: u32, days: u32, layer: u32, kind: u32) -> FirstSense {
        FirstSense { last, walks, table, pec, days, layer, kind }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
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

impl From<schemes::FirstSense> for FirstSense {
    fn from(sense: schemes::FirstSense) -> FirstSense {
        let schemes::FirstSense { last, walks, table, pec, days, layer, kind } = sense;
        FirstSense { last, walks, table, pec, days, layer, kind }
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

/// Where a page of the flash is.
#[derive(Debug)]
#[pyclass(module = "ssdlab._core", frozen, get_all)]
pub struct Address {
    /// The plane.
    plane: u32,
    /// Its block there.
    block: u32,
    /// Its number in the block.
    page: u32,
}

#[pymethods]
impl Address {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// The drive as an FTL in Python sees it.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct DriveLayout(own_ftl::DriveLayout);

#[pymethods]
impl DriveLayout {
    /// Planes of the drive: relocated data stays in its plane.
    #[getter]
    fn planes(&self) -> u32 {
        self.0.planes()
    }

    /// Planes of a die, which are numbered one after the other.
    #[getter]
    fn planes_per_die(&self) -> u32 {
        self.0.planes_per_die()
    }

    /// Blocks of a plane.
    #[getter]
    fn blocks(&self) -> u32 {
        self.0.blocks()
    }

    /// Pages of a block.
    #[getter]
    fn pages(&self) -> u32 {
        self.0.pages()
    }

    /// Logical pages: they are numbered from 0.
    #[getter]
    fn logical_pages(&self) -> u64 {
        self.0.logical_pages
    }

    /// Streams of host data, numbered from 0: each fills blocks of its own.
    #[getter]
    fn streams(&self) -> u16 {
        self.0.streams
    }

    /// Bytes of a page.
    #[getter]
    fn page_size(&self) -> u64 {
        self.0.page_size()
    }

    /// Where a page of the flash is.
    fn address(&self, ppn: u64) -> Address {
        let nand::Address { plane, block, page } = self.0.address(Ppn(ppn));
        Address { plane: plane.0, block, page }
    }

    /// The number of a page of the flash (PPN).
    fn ppn(&self, plane: u32, block: u32, page: u32) -> u64 {
        self.0.page(nand::Address { plane: PlaneId(plane), block, page }).0
    }

    fn __repr__(&self) -> String {
        let of = &self.0;
        let (planes, blocks, pages, logical) = (of.planes(), of.blocks(), of.pages(), of.logical_pages);
        format!("DriveLayout(planes={planes}, blocks={blocks}, pages={pages}, logical_pages={logical})")
    }
}

/// An FTL in Python.
struct Ftl(Asked);

/// A plane alone, or with a stream.
fn place_of(answer: &Bound<'_, PyAny>) -> Option<Place> {
    let (plane, stream) = answer.extract().ok().or_else(|| Some((answer.extract().ok()?, 0)))?;
    Some(Place { plane: PlaneId(plane), stream })
}

fn block_of(answer: &Bound<'_, PyAny>) -> Option<Option<u32>> {
    victim_of(answer).or_else(|| answer.extract().ok().map(Some))
}

impl OwnFtl for Ftl {
    fn write(&mut self, lpn: Lpn, hint: u16, dealt: PlaneId) -> Answer<Place> {
        self.0.call(Some("write"), (lpn.0, hint, dealt.0), "a plane, or a plane and a stream", place_of)
    }
    fn placed(&mut self, lpn: Lpn, ppn: Ppn, moved: bool) -> Answer<()> {
        self.0.call(Some("placed"), (lpn.0, ppn.0, moved), "nothing", |_| Some(()))
    }
    fn trimmed(&mut self, lpn: Lpn) -> Answer<()> {
        self.0.call(Some("trimmed"), (lpn.0,), "nothing", |_| Some(()))
    }
    fn locate(&mut self, lpn: Lpn) -> Answer<Option<Ppn>> {
        let expected = "the number of a page of the flash, or None";
        self.0.call(Some("locate"), (lpn.0,), expected, |answer| none_or(answer, |ppn| ppn.extract().ok().map(Ppn)))
    }
    fn reclaim(&mut self, plane: PlaneId, blocks: ssd::policies::Blocks) -> Answer<Option<u32>> {
        let expected = "None, or one of the blocks that it is given";
        self.0.call(Some("reclaim"), (plane.0, Blocks(blocks)), expected, block_of)
    }
    fn erased(&mut self, plane: PlaneId, block: u32) -> Answer<()> {
        if self.0.has("erased") {
            self.0.call(Some("erased"), (plane.0, block), "nothing", |_| Some(()))?;
        }
        Ok(())
    }
    fn save(&self) -> Answer<Option<Vec<u8>>> {
        if !self.0.has("save") {
            return Ok(None);
        }
        self.0.call(Some("save"), (), "bytes", |answer| answer.extract().ok()).map(Some)
    }
    fn load(&mut self, state: &[u8]) -> Answer<()> {
        self.0.call(Some("load"), (state,), "nothing", |_| Some(()))
    }
}

/// What a policy has raised: the exception itself.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The error of a run as Python's exception. What a policy has raised is its cause; what is no error of the
    /// policy's, such as Ctrl-C, is raised itself.
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
            "ftl" => {
                let ask = Arc::new(move |drive| {
                    let drive = DriveLayout(drive);
                    let ftl = asked.call(None, (drive,), "an object", |answer| Some(answer.clone().unbind()))?;
                    Ok(Box::new(Ftl(Asked { function: ftl, ..asked.clone() })) as Box<dyn OwnFtl>)
                });
                policies.ftl = Some(StandIn { source, ask });
            }
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
            "start" => {
                let expected = "a step of the table, a whole number from 0 up";
                let ask = Arc::new(move |sense: schemes::FirstSense| {
                    asked.ask(FirstSense::from(sense), expected, |answer| answer.extract().ok())
                });
                policies.start = Some(StandIn { source, ask });
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

/// A function of Python's that is asked, or an object whose methods are.
struct Asked {
    axis: &'static str,
    function: Py<PyAny>,
    source: PolicySource,
    raised: Raised,
}

impl Clone for Asked {
    fn clone(&self) -> Asked {
        let function = Python::attach(|py| self.function.clone_ref(py));
        Asked { axis: self.axis, function, source: self.source.clone(), raised: self.raised.clone() }
    }
}

impl Asked {
    /// Asks it; `read` understands what is `expected`.
    fn ask<Q, T>(&self, question: Q, expected: &str, read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>) -> Answer<T>
    where
        Q: for<'py> IntoPyObject<'py>,
    {
        self.call(None, (question,), expected, read)
    }

    /// Calls it, or a method of it; `read` understands what is `expected`.
    fn call<Q, T>(
        &self,
        method: Option<&str>,
        question: Q,
        expected: &str,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>,
    ) -> Answer<T>
    where
        Q: for<'py> PyCallArgs<'py>,
    {
        Python::attach(|py| {
            let before = ASKING.replace(true);
            let function = self.function.bind(py);
            let answer = match method {
                None => function.call1(question),
                Some(method) => function.call_method1(method, question),
            };
            ASKING.set(before);
            let answer = answer.map_err(|error| self.raised(py, error))?;
            read(&answer).ok_or_else(|| {
                let shown = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
                let of = method.map(|method| format!("{method} ")).unwrap_or_default();
                self.source.mistake(self.axis, format!("{of}answered {shown}"), format!("answer {expected}"))
            })
        })
    }

    /// Whether it has a method.
    fn has(&self, method: &str) -> bool {
        Python::attach(|py| self.function.bind(py).hasattr(method).unwrap_or(false))
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
            "correct the policy; help(ssdlab.policy) says what a policy is given and answers".into(),
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
