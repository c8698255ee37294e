//! The vocabulary of ssdlab: quantities that carry their unit in their type, operating conditions,
//! configuration values that know how to read and print themselves, and counter-based random streams.
//!
//! Architecture invariant: this crate knows nothing of flash, traces or devices and depends on no other
//! crate of the workspace.

pub mod condition;
pub mod document;
pub mod file;
pub mod id;
pub mod quantity;
pub mod random;
pub mod section;
pub mod table;
pub mod value;

pub use condition::{Conditions, Overwritten, PeCycles, Retention, Temperature};
pub use document::{ConfigError, Document};
pub use id::{Id, PerId};
pub use quantity::{Bandwidth, Bytes, Fraction, Lpn, Ppn, Rate, Span, Time};
pub use random::Stream;
pub use table::Table;
