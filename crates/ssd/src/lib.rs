//! The simulated drive.
//!
//! [`Drive`] is the library's face: submit requests, advance the time, take completions. [`Device`] is one, which
//! [`Config`] describes. [`run`] is a loop over it that replays a workload and reports statistics.
//!
//! Architecture invariants: the event loop knows time only in whole nanoseconds and draws no random number
//! that is not counter-based; policies are asked and never told; nothing here reads a clock but
//! [`run`]'s report of its own speed.

mod agenda;
mod arbitration;
mod arena;
mod back_end;
#[cfg(test)]
mod bench;
pub mod bounds;
mod buffer;
mod commands;
pub mod config;
mod core;
pub mod device;
mod drive;
mod error;
mod fdp;
mod firmware;
mod flash;
mod ftl;
mod host;
pub mod lifetime;
pub mod media;
mod meter;
mod observe;
pub mod persist;
mod phases;
pub mod policies;
mod power;
pub mod presets;
mod read_cache;
pub mod run;
mod status;
mod streams;
mod translation;
mod violation;
mod window;
mod writes;
pub mod zones;

/// The version of what runs compute: raised when a change to the model changes results, and only then. Results that are
/// kept carry it, and those of another version are computed again. `tests/golden` holds results that must not change
/// without it.
pub const RESULTS_VERSION: u32 = 17;

pub use arena::SlotId;
pub use config::{Config, Plan};
pub use device::{Completion, Device};
pub use drive::{BatchError, Drive};
pub use error::RunError;
pub use fdp::{FdpEvent, FdpEventKind, FdpSeen, FdpStatistics, HandleStatistics};
pub use media::Media;
pub use observe::check::Checker;
pub use observe::explain::{Explainer, Explanation, FirstSense, Followed, Stage};
pub use observe::probe::{DataFrom, Event, Probe, Server, Unwatched};
pub use observe::timeline::Timeline;
pub use observe::watch::Watch;
pub use observe::{check, explain, ledger, probe, stats, timeline, watch};
pub use power::PowerSeen;
pub use power::oracle::Undone;
pub use presets::DeviceSpec;
pub use run::{AnyDrive, Outcome, Replay, RequestLog, Run, RunDrive};
pub use status::Status;
pub use violation::{Invariant, Violation};
pub use window::Window;
