//! Latency and throughput surfaces of a drive, for tools that take only numbers: serving simulators, models of storage.
//!
//! `ssdlab tier` measures a drive on a grid of request size, queue depth and read share, at several ages and under
//! several schemes, and writes the surface to a JSON file. [`Tier`] reads that file and answers questions between the
//! grid's points:
//!
//! ```
//! use tier::{Point, Tier};
//! use units::Bytes;
//!
//! # let text = tier::doc::SURFACE;
//! let tier = Tier::parse(text, "tier.json")?;
//! let answer = tier.ask(&Point::new(Bytes(8192), 2.0, 1.0))?;
//! let read = answer.read.expect("every request reads");
//! assert!(read.mean.value > 60_000.0 && read.mean.value < 100_000.0); // [ns]
//! assert!(tier.ask(&Point::new(Bytes(1 << 20), 2.0, 1.0)).is_err()); // never extrapolated
//! # Ok::<(), tier::TierError>(())
//! ```
//!
//! **Interpolation** is multilinear within one age and scheme: in the logarithm of request size and of queue depth,
//! linear in the read share; of the logarithm of a value. A power law of size and depth is reproduced exactly. A
//! question outside the grid is an error that names the range.
//!
//! **Its error** is stated by leave-one-out cross-validation ([`Tier::cross_validation`]): each point that has
//! neighbours on both sides of an axis is predicted from these two, at twice the grid's step.
//!
//! Architecture invariant: this crate knows the file and arithmetic; it knows no drive, and no other crate but `units`.

mod axes;
mod check;
mod error;
mod file;
mod interpolate;
mod surface;
#[cfg(test)]
mod tests;
mod values;

pub use axes::{Axes, Axis, Place};
pub use check::Check;
pub use error::TierError;
pub use interpolate::Point;
pub use surface::Tier;
pub use values::{Answer, Estimate, Latencies, Quantity};

/// A small surface for the examples of these pages.
#[doc(hidden)]
pub mod doc {
    /// As `ssdlab tier` writes it.
    pub const SURFACE: &str = include_str!("example.json");
}
