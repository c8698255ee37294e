//! Requests made by rule, in fio's words and those of the papers' tables.
//!
//! Request i is a pure function of (parameters, capacity, seed, i) and of how many of those before it were writes:
//! random draws come from named streams with counters, so that the choice of a distribution does not disturb the
//! arrivals, nor these the reads.

pub mod aliases;
mod arrivals;
mod chain;
mod distribution;
mod job;
mod jobs;
mod options;
mod past;
pub mod phases;
mod scatter;
pub mod shares;
mod sizes;
mod tasks;
mod without_effect;
mod zoned;

mod zipf;

pub use arrivals::Arrivals;
pub use distribution::Distribution;
pub(crate) use distribution::SlotSampler;
pub use jobs::{PROGRAMS, Program, Workload};
pub(crate) use options::LONGEST_RUN_S;
pub use options::{Generator, Rw, ZoneReset};
pub use past::{Generated, PastOfGenerator};
pub use phases::Phases;
pub use sizes::{Alignment, Sizes};
