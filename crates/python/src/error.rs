//! Errors as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use ssd::{BatchError, RunError};
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
    raise_as(error.to_string(), &error)
}

/// [`raise`] for requests that were submitted at once: the index of the refused one stands before the message.
pub(crate) fn raise_in_batch(refused: BatchError) -> PyErr {
    raise_as(refused.to_string(), &refused.error)
}

pub(crate) fn raise_as(text: String, error: &RunError) -> PyErr {
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
