//! Why a run cannot go on.

use std::fmt;

use units::{Bytes, ConfigError, Time};
use workload::TraceError;

/// A failure of a device or a run. A device that has failed stays failed; what completed before is valid.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// A request came earlier than one before it, or earlier than the present.
    BackInTime {
        /// The request's time.
        time: Time,
        /// The earliest time that was possible.
        earliest: Time,
    },
    /// A request lies so late that simulated time would run out.
    BeyondHorizon {
        /// The request's time.
        time: Time,
        /// The latest time that is possible.
        latest: Time,
    },
    /// A request reaches beyond the device, or is empty.
    OutOfRange {
        /// First byte.
        offset: Bytes,
        /// Length.
        bytes: Bytes,
        /// The device's capacity.
        capacity: Bytes,
    },
    /// Every block has been written; nothing reclaims blocks yet.
    OutOfBlocks {
        /// When.
        time: Time,
        /// Pages programmed until then.
        programmed: u64,
    },
    /// The workload could not be read.
    Trace(String),
    /// The configuration cannot be used.
    Config(ConfigError),
    /// A file could not be written.
    Output {
        /// Which.
        path: String,
        /// Why.
        problem: String,
    },
    /// A conservation law does not hold: a defect of the simulator.
    Broken(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::BackInTime { time, earliest } => write!(
                f,
                "a request at {} ns came after {} ns had been reached\n  help: submit requests in time order",
                time.0, earliest.0
            ),
            RunError::BeyondHorizon { time, latest } => write!(
                f,
                "a request at {:.0} s lies beyond the longest run of {:.0} s\n  help: cut the trace, speed the replay up (timed:x10), or use fewer dies",
                time.0 as f64 / 1e9,
                latest.0 as f64 / 1e9
            ),
            RunError::OutOfRange { offset, bytes, capacity } => write!(
                f,
                "a request of {} B at byte {} does not lie within the device's {} B\n  help: keep offset + bytes within the capacity, and bytes above 0",
                bytes.0, offset.0, capacity.0
            ),
            RunError::OutOfBlocks { time, programmed } => write!(
                f,
                "no free block is left after {programmed} pages programmed, at {:.3} s; this device has no garbage collection yet\n  help: write less (fewer requests), start emptier (age.fill, age.invalid), or raise ftl.over_provisioning",
                time.0 as f64 / 1e9
            ),
            RunError::Trace(message) => f.write_str(message),
            RunError::Config(error) => error.fmt(f),
            RunError::Output { path, problem } => {
                write!(f, "{path}: cannot be written: {problem}\n  help: check that the folder exists and has room")
            }
            RunError::Broken(law) => write!(f, "Invariant: {law}; please report this with the command and its seed"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<TraceError> for RunError {
    fn from(error: TraceError) -> RunError {
        RunError::Trace(error.to_string())
    }
}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> RunError {
        RunError::Config(error)
    }
}
