//! Where requests come from: trace files in the field's formats, and generators. Both are a [`Source`].
//!
//! Architecture invariant: this crate knows nothing of flash or of the device; a source delivers requests in
//! time order and in constant memory, however long the trace.

pub mod convert;
mod error;
mod formats;
pub mod generator;
mod hash;
mod input;
mod inspect;
pub mod kv;
pub mod log_fs;
pub mod presets;
mod request;
mod trace;
mod volumes;

pub use error::TraceError;
pub use formats::{Format, ListedFormat};
pub use generator::{
    Alignment, Arrivals, Distribution, Generated, Generator, PROGRAMS, PastOfGenerator, Program, Rw, Sizes, Workload,
};
pub use hash::content_hash;
pub use inspect::{Doubt, Inspection, inspect, inspect_head};
pub use request::{
    ClosedLoop, Number, Op, Past, ReadCounts, Request, Source, SourceStatistic, TaskEnd, TaskKind, ZoneAction,
};
pub use trace::{ReadOptions, TraceFile};
pub use volumes::{Apart, Beyond, Merged, Volumes};
