//! The device as a library: submit requests, advance the time, take completions.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt as _;
use ssd::run::{Checkpoint, DeviceWord, DriveInputs, build, checkpoint, device_given, parse};
use ssd::{AnyDrive, Completion, RunError};
use units::{Bytes, Span, Temperature, Time};
use workload::{Op, Request};

use crate::error::{InputError, raise, raise_in_batch, refuse};
use crate::policies::{GivenPolicy, Raised, asking, policies_of};
use crate::simulation::content_hash;

/// A request that has completed.
#[derive(IntoPyObject)]
struct Completed {
    request: u64,
    finish_ns: u64,
    uncorrectable: bool,
    status: &'static str,
    offset: u64,
}

/// Reclaim units of placement handles.
#[derive(IntoPyObject)]
struct Handles {
    unit: u64,
    groups: u16,
    identifiers: Vec<u16>,
    available: Vec<u64>,
    host_written: u64,
    media_written: u64,
    media_erased: u64,
    by_handle: Vec<OfHandle>,
    events: Vec<Event>,
}

/// What became of the data of a placement handle.
#[derive(IntoPyObject)]
struct OfHandle {
    hint: u16,
    written: u64,
    relocated: u64,
    filled: u64,
    left: u64,
}

/// What has happened to reclaim units.
#[derive(IntoPyObject)]
struct Event {
    code: u8,
    time_ns: u64,
    handle: u16,
    pages: u64,
}

/// A zone, as a report of zones has it.
#[derive(IntoPyObject)]
struct Zone {
    state: &'static str,
    start: u64,
    capacity: u64,
    write_pointer: u64,
    random_area: bool,
}

impl Completed {
    fn of(completion: Completion) -> Completed {
        let Completion { id, finish, uncorrectable, status, at, refused, aborted, .. } = completion;
        let status = match status.name() {
            _ if refused => "Namespace is Write Protected",
            _ if aborted => "Commands Aborted due to Power Loss Notification",
            name => name,
        };
        Completed { request: id, finish_ns: finish.0, uncorrectable, status, offset: at.0 }
    }
}

/// The conditions of a flash page.
#[derive(IntoPyObject)]
struct PageConditions {
    /// P/E cycles of its block.
    pec: u32,
    /// Age of its data, as if kept at 30 °C \[s].
    retention_s: f64,
    /// \[°C]
    temperature_c: f64,
    /// Reads of its block since it was erased.
    reads: u32,
}

/// A simulated SSD that is driven request by request, or an array of them.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Device {
    inner: Mutex<Box<AnyDrive>>,
    /// What a policy in Python has raised.
    raised: Raised,
}

impl Device {
    /// The device, when whoever plays it has done so.
    fn lock<'a>(&'a self, py: Python<'_>) -> PyResult<MutexGuard<'a, Box<AnyDrive>>> {
        refuse_policies()?;
        Ok(self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    /// Plays the device without the GIL.
    fn play<T: Send>(
        &self,
        py: Python<'_>,
        play: impl FnOnce(&mut AnyDrive) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        refuse_policies()?;
        py.detach(|| play(self.inner.lock().unwrap_or_else(PoisonError::into_inner).as_mut()))
            .map_err(|error| self.raised.raise(error))
    }
}

/// What is said of an operation that there is not.
fn unknown(op: &str) -> String {
    let names: Vec<&str> = Op::ALL.into_iter().map(Op::name).collect();
    format!("op is {op:?}\n  help: write one of {}", names.join(", "))
}

/// Refuses what a policy asks of a device: its own thread would wait for it for ever.
fn refuse_policies() -> PyResult<()> {
    if asking() {
        let help = "a policy answers from what it is given, and nothing else";
        return Err(InputError::new_err(format!("a policy asks a device\n  help: {help}")));
    }
    Ok(())
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (device = "tlc", *, scheme = None, age = None, settings = Vec::new(), policies = Vec::new(), seed = 1))]
    fn new(
        device: &str,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        policies: Vec<GivenPolicy>,
        seed: u64,
    ) -> PyResult<Device> {
        let mut spec = device_given(DeviceWord::Named(device), scheme, age, &settings).map_err(refuse)?;
        let (policies, raised) = policies_of(policies)?;
        spec.config.policies = policies;
        let inner = match checkpoint::given(device) {
            Some(path) => Checkpoint::open(&path).and_then(|saved| saved.drive(&spec.config)),
            None => build(&spec.config, seed, None),
        };
        let drive = inner.map_err(|error| raised.raise(error.into()))?;
        Ok(Device { inner: Mutex::new(drive), raised })
    }

    /// The array of a file, whose drives are in the state in which a workload meets them; `checkpoint` is a file that
    /// one like it has saved.
    #[staticmethod]
    #[pyo3(signature = (path, *, device = None, scheme = None, age = None, settings = Vec::new(), policies = Vec::new(), seed = 1, checkpoint = None))]
    fn of_array(
        path: &str,
        device: Option<&str>,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        policies: Vec<GivenPolicy>,
        seed: u64,
        checkpoint: Option<PathBuf>,
    ) -> PyResult<Device> {
        let (policies, raised) = policies_of(policies)?;
        let inputs = DriveInputs {
            version: env!("CARGO_PKG_VERSION"),
            device: DeviceWord::Named(device.unwrap_or(path)),
            scheme,
            age,
            settings: &settings,
            policies: &policies,
            options: &[],
            fingerprint: content_hash,
        };
        let opened = array::open(&inputs, path, seed, checkpoint.as_deref());
        let array = opened.map_err(|error| raised.raise(error))?;
        Ok(Device { inner: Mutex::new(array), raised })
    }

    /// Writes the whole state to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.play(py, |device| device.save_as(&path))
    }

    /// The zones of a range of them, all where none is given.
    #[pyo3(signature = (first = 0, count = None))]
    fn zones(&self, py: Python<'_>, first: u32, count: Option<u32>) -> PyResult<Vec<Zone>> {
        let device = self.lock(py)?;
        let Some(zones) = device.zones() else { return Ok(Vec::new()) };
        let end = count.map_or(zones.count(), |count| first.saturating_add(count));
        let of = |zone: ssd::zones::ZoneDescriptor| Zone {
            state: zone.state.name(),
            start: zone.start,
            capacity: zone.capacity,
            write_pointer: zone.write_pointer,
            random_area: zone.has_random_area,
        };
        Ok((first..end).map_while(|zone| zones.zone(zone)).map(of).collect())
    }

    /// Reclaim units of placement handles: of each what it can still write; the size of a unit; bytes written by the
    /// host, written to the flash and erased; the newest events, each with its code, time, handle and pages. None where
    /// the drive takes no hints.
    fn fdp(&self, py: Python<'_>) -> PyResult<Option<Handles>> {
        let device = self.lock(py)?;
        Ok(device.fdp().map(|fdp| {
            let written = fdp.statistics();
            let event = |event: ssd::FdpEvent| Event {
                code: event.kind.code(),
                time_ns: event.time.0,
                handle: event.handle,
                pages: event.pages,
            };
            let of_handle = |of: ssd::HandleStatistics| OfHandle {
                hint: of.identifier,
                written: of.written.0,
                relocated: of.relocated.0,
                filled: of.filled,
                left: of.left,
            };
            Handles {
                unit: fdp.unit().0,
                groups: fdp.groups(),
                identifiers: fdp.identifiers().collect(),
                available: fdp.identifiers().filter_map(|identifier| Some(fdp.available(identifier)?.0)).collect(),
                host_written: written.host_written.0,
                media_written: written.media_written.0,
                media_erased: written.media_erased.0,
                by_handle: fdp.by_handle().into_iter().map(of_handle).collect(),
                events: fdp.events().map(event).collect(),
            }
        }))
    }

    /// Hands a request to the device: time [ns], "read" or "write", offset [B], bytes, queue, placement hint; returns
    /// its number.
    #[pyo3(signature = (time, op, offset, bytes, queue = 0, hint = 0))]
    fn submit(
        &self,
        py: Python<'_>,
        time: u64,
        op: &str,
        offset: u64,
        bytes: u64,
        queue: u16,
        hint: u16,
    ) -> PyResult<u64> {
        let op = Op::named(op).ok_or_else(|| InputError::new_err(unknown(op)))?;
        let request = Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(queue).hinted(hint);
        self.lock(py)?.submit(request).map_err(raise)
    }

    /// Hands requests to the device, given as columns of one length; returns the number of the first. Up to the first
    /// that is refused, which the error names by its index, they are submitted.
    fn submit_many(
        &self,
        py: Python<'_>,
        time: Vec<u64>,
        op: Vec<PyBackedStr>,
        offset: Vec<u64>,
        bytes: Vec<u64>,
        queue: Vec<u16>,
        hint: Vec<u16>,
    ) -> PyResult<u64> {
        let known: Vec<Op> = op.iter().map_while(|name| Op::named(name)).collect();
        let of = |(index, op): (usize, &Op)| {
            let request = Request::new(Time(time[index]), *op, Bytes(offset[index]), Bytes(bytes[index]));
            request.on(queue[index]).hinted(hint[index])
        };
        let requests: Vec<Request> = known.iter().enumerate().map(of).collect();
        refuse_policies()?;
        let submitted = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).submit_all(&requests));
        let numbers = submitted.map_err(raise_in_batch)?;
        match op.get(known.len()) {
            Some(odd) => Err(InputError::new_err(format!("requests[{}]: {}", known.len(), unknown(odd)))),
            None => Ok(numbers.start),
        }
    }

    /// Plays up to `time` [ns]; returns all that completed, in order.
    fn advance(&self, py: Python<'_>, time: u64) -> PyResult<Vec<Completed>> {
        self.play(py, |device| {
            device.advance(Time(time))?;
            Ok(device.take_completions().map(Completed::of).collect())
        })
    }

    /// Plays until something completes, or until nothing is left to do; returns what completed.
    fn advance_to_completion(&self, py: Python<'_>) -> PyResult<Vec<Completed>> {
        self.play(py, |device| {
            device.advance_to_completion(Time::NEVER)?;
            Ok(device.take_completions().map(Completed::of).collect())
        })
    }

    /// Writes everything buffered to flash and plays until all is idle.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.play(py, |device| device.flush())
    }

    /// Everything buffered is written, and the drive left alone for a span such as "6mo", at a temperature such as
    /// "40C" or at that of its rest: its data grows old, and is refreshed as configured.
    #[pyo3(signature = (span, at = None))]
    fn rest(&self, py: Python<'_>, span: &str, at: Option<&str>) -> PyResult<()> {
        let span = parse::<Span>("--for", span).map_err(refuse)?;
        let at = at.map(|at| parse::<Temperature>("--at", at)).transpose().map_err(refuse)?;
        self.play(py, |device| device.rest(span, at))
    }

    /// The conditions of the flash page behind a byte address; None where it was never written.
    fn conditions(&self, py: Python<'_>, offset: u64) -> PyResult<Option<PageConditions>> {
        let device = self.lock(py)?;
        let capacity = device.capacity().0;
        if offset >= capacity {
            return Err(InputError::new_err(format!("byte {offset} lies beyond the device's {capacity} B")));
        }
        Ok(device.conditions(Bytes(offset)).map(|c| PageConditions {
            pec: c.pec.0,
            retention_s: c.retention.as_s(),
            temperature_c: c.temperature.0,
            reads: c.reads,
        }))
    }

    /// The present simulated time [ns].
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.now().0)
    }

    /// Logical capacity [B].
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.capacity().0)
    }

    /// Capacity of the flash, spare blocks included [B].
    #[getter]
    fn raw_capacity(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.raw_bytes().0)
    }

    /// Requests that were submitted and have not completed.
    #[getter]
    fn outstanding(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.outstanding())
    }
}

/// Checks that a checkpoint is whole and of this build.
#[pyfunction]
pub(crate) fn checkpoint_check(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    if !path.exists() {
        return Err(PyFileNotFoundError::new_err(path.display().to_string()));
    }
    py.detach(|| checkpoint::verify(&path).map_err(refuse))
}
