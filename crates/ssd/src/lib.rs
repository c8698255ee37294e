//! The simulated drive.
//!
//! [`Device`] is the library's face: submit requests, advance the time, take completions. [`run`] is a loop
//! over it that replays a workload and reports statistics. [`Config`] describes a device.
//!
//! Architecture invariants: the event loop knows time only in whole nanoseconds and draws no random number
//! that is not counter-based; policies are asked and never told; nothing here reads a clock but
//! [`run`]'s report of its own speed.

mod agenda;
mod arena;
#[cfg(test)]
mod bench;
mod buffer;
pub mod config;
pub mod device;
mod error;
pub mod explain;
mod ftl;
pub mod lifetime;
mod meter;
mod op;
mod phases;
pub mod presets;
pub mod probe;
mod request_log;
pub mod run;
mod sections;
mod space;
pub mod stats;
pub mod timeline;
mod write_class;

/// The version of what runs compute: raised when a change to the model changes results, and only then. Results that are
/// kept carry it, and those of another version are computed again. `tests/golden` holds results that must not change
/// without it.
pub const RESULTS_VERSION: u32 = 9;

pub use arena::SlotId;
pub use config::{Config, Plan};
pub use device::{Completion, Device};
pub use error::RunError;
pub use explain::{Explainer, Explanation, Stage};
pub use presets::DeviceSpec;
pub use probe::{DataFrom, Event, Probe, Server, Unwatched};
pub use request_log::RequestLog;
pub use run::{Outcome, Replay, Run};
pub use timeline::Timeline;
