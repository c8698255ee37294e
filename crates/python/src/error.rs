//! Errors as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use ssd::RunError;
use units::ConfigError;

create_exception!(
    ssdlab._core,
    InputError,
    PyValueError,
    "Bad input: file, line or key, what was expected, and the remedy."
);
create_exception!(ssdlab._core, SimulationError, PyRuntimeError, "A run that cannot go on.");

/// Bad input is the user's to mend; anything else is a run that cannot go on.
pub(crate) fn raise(error: RunError) -> PyErr {
    let text = error.to_string();
    match error {
        RunError::Config(_) | RunError::Trace(_) | RunError::OutOfRange { .. } | RunError::BackInTime { .. } => {
            InputError::new_err(text)
        }
        _ => SimulationError::new_err(text),
    }
}

pub(crate) fn refuse(error: ConfigError) -> PyErr {
    InputError::new_err(error.to_string())
}
