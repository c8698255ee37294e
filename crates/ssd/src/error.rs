//! Why a run cannot go on.

use std::fmt;

use units::{Bytes, ConfigError, Span, Time};
use workload::TraceError;

use crate::violation::Violation;

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
    /// The data does not fit any more, because of the blocks that went out of service.
    EndOfLife {
        /// When.
        time: Time,
        /// Bytes that the host had written.
        written: u64,
        /// Blocks out of service.
        retired: u64,
    },
    /// No command has made progress for `host.timeout`.
    NoProgress {
        /// When it was noticed.
        time: Time,
        /// For how long at least.
        span: Span,
        /// What waits, and what the drive is busy with.
        busy: String,
    },
    /// The drive is busy with itself for good: a flush does not end.
    Endless {
        /// When it was noticed.
        time: Time,
        /// Pages that work of its own has programmed since the host's data was on flash, over all that it has.
        times: u64,
        /// What it is busy with.
        busy: String,
    },
    /// More pages hold data of the run than can be numbered.
    TooMuchWritten {
        /// Pages of the blocks that do.
        pages: u64,
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
    /// An invariant that a [`crate::Checker`] watches does not hold.
    Violated(Box<Violation>),
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
            RunError::EndOfLife { time, written, retired } => write!(
                f,
                "the drive's life has ended at {:.3} s: {retired} blocks are out of service, after {:.3} GB of host writes\n  help: the result is that until then; for a longer life raise ftl.over_provisioning or wear.endurance, or lower wear.program_fail and wear.erase_fail",
                time.0 as f64 / 1e9,
                *written as f64 / 1e9
            ),
            RunError::NoProgress { time, span, busy } => write!(
                f,
                "no command has made progress for {:.3} s of simulated time, at {:.3} s: {busy}\n  help: give the drive more spare (ftl.over_provisioning) or less work of its own; if operations may take so long, raise host.timeout",
                span.as_s(),
                time.0 as f64 / 1e9
            ),
            RunError::Endless { time, times, busy } => write!(
                f,
                "the drive does not come to rest: since the host's data is on flash, work of its own has programmed {times} times as many pages as the drive has, at {:.3} s: {busy}\n  help: give the drive more spare (ftl.over_provisioning) or less work of its own (refresh.reads, mapping.checkpoint, wear.static_spread)",
                time.0 as f64 / 1e9
            ),
            RunError::TooMuchWritten { pages } => write!(
                f,
                "the blocks that hold data of the run have {pages} pages, more than can be kept track of\n  help: write to a smaller part of the drive, or shorten the run"
            ),
            RunError::Trace(message) => f.write_str(message),
            RunError::Config(error) => error.fmt(f),
            RunError::Output { path, problem } => {
                write!(f, "{path}: cannot be written: {problem}\n  help: check that the folder exists and has room")
            }
            RunError::Violated(violation) => violation.fmt(f),
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
