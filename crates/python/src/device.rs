//! The device as a library: submit requests, advance the time, take completions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ssd::run::{DeviceWord, device_given};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

use crate::error::{InputError, raise, refuse};

/// A simulated SSD that is driven request by request.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Device {
    inner: Mutex<ssd::Device>,
}

impl Device {
    fn lock(&self) -> MutexGuard<'_, ssd::Device> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (device = "tlc", *, scheme = None, age = None, settings = Vec::new(), seed = 1))]
    fn new(
        device: &str,
        scheme: Option<&str>,
        age: Option<&str>,
        settings: Vec<String>,
        seed: u64,
    ) -> PyResult<Device> {
        let spec = device_given(DeviceWord::Named(device), scheme, age, &settings).map_err(refuse)?;
        Ok(Device { inner: Mutex::new(ssd::Device::new(&spec.config, seed).map_err(refuse)?) })
    }

    /// Hands a request to the device: time [ns], "read" or "write", offset [B], bytes, queue, placement hint; returns its number.
    #[pyo3(signature = (time, op, offset, bytes, queue = 0, hint = 0))]
    fn submit(&self, time: u64, op: &str, offset: u64, bytes: u64, queue: u16, hint: u16) -> PyResult<u64> {
        let op = match op {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "flush" => Op::Flush,
            other => {
                let help = "write \"read\", \"write\", \"trim\" or \"flush\"";
                return Err(InputError::new_err(format!("op is {other:?}\n  help: {help}")));
            }
        };
        let request = Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(queue).hinted(hint);
        self.lock().submit(request).map_err(raise)
    }

    /// Plays up to `time` [ns]; returns (request, finish [ns], uncorrectable) of all that completed, in order.
    fn advance(&self, py: Python<'_>, time: u64) -> PyResult<Vec<(u64, u64, bool)>> {
        py.detach(|| {
            let mut device = self.lock();
            device.advance(Time(time)).map_err(raise)?;
            Ok(device.take_completions().map(|c| (c.id, c.finish.0, c.uncorrectable)).collect())
        })
    }

    /// Plays until something completes, or until nothing is left to do; returns what completed.
    fn advance_to_completion(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, bool)>> {
        py.detach(|| {
            let mut device = self.lock();
            device.advance_to_completion(Time::NEVER).map_err(raise)?;
            Ok(device.take_completions().map(|c| (c.id, c.finish.0, c.uncorrectable)).collect())
        })
    }

    /// Writes everything buffered to flash and plays until all is idle.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().flush().map_err(raise))
    }

    /// The conditions of the flash page behind a byte address: P/E cycles, retention age [s], temperature [C], reads;
    /// None where it was never written.
    fn conditions(&self, offset: u64) -> PyResult<Option<(u32, f64, f64, u32)>> {
        let device = self.lock();
        let capacity = device.capacity().0;
        if offset >= capacity {
            return Err(InputError::new_err(format!("byte {offset} lies beyond the device's {capacity} B")));
        }
        let lpn = Lpn(offset / device.plan().layout.page_size.0);
        Ok(device.conditions(lpn).map(|c| (c.pec.0, c.retention.as_s(), c.temperature.0, c.reads)))
    }

    /// The present simulated time [ns].
    #[getter]
    fn now(&self) -> u64 {
        self.lock().now().0
    }

    /// Logical capacity [B].
    #[getter]
    fn capacity(&self) -> u64 {
        self.lock().capacity().0
    }

    /// Capacity of the flash, spare blocks included [B].
    #[getter]
    fn raw_capacity(&self) -> u64 {
        self.lock().plan().layout.raw_bytes().0
    }

    /// Requests that were submitted and have not completed.
    #[getter]
    fn outstanding(&self) -> u64 {
        self.lock().outstanding().0
    }
}
