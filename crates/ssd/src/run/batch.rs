//! Many requests in one call.

use std::fmt;
use std::ops::Range;

use workload::Request;

use crate::error::RunError;

/// A batch of which a request was refused: those before it have been submitted, neither it nor those after it have
/// been.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchError {
    /// Which, from 0: this many have been submitted.
    pub index: usize,
    /// Why.
    pub error: RunError,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests[{}]: {}", self.index, self.error)
    }
}

impl std::error::Error for BatchError {}

/// Submits requests one after another; returns their numbers, which follow one another. `first` is the number of the
/// next one.
pub(super) fn submit_all(
    first: u64,
    requests: &[Request],
    mut submit: impl FnMut(Request) -> Result<u64, RunError>,
) -> Result<Range<u64>, BatchError> {
    for (index, request) in requests.iter().enumerate() {
        submit(*request).map_err(|error| BatchError { index, error })?;
    }
    Ok(first..first + requests.len() as u64)
}
