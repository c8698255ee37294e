//! Latency and throughput surfaces of a drive, for tools that take only numbers: serving simulators, models of storage.
//!
//! `ssdlab tier` measures a drive on a grid of request size, queue depth and read share, at several ages and under several
//! schemes, and writes the surface to a JSON file. [`Tier`] reads that file and answers questions between the grid's points:
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
//! **Interpolation** is multilinear within one age and scheme: in the logarithm of request size and of queue depth, linear in
//! the read share; of the logarithm of a value. A power law of size and depth is reproduced exactly. A question outside the grid
//! is an error that names the range.
//!
//! **Its error** is stated by leave-one-out cross-validation ([`Tier::cross_validation`]): each point that has neighbours on
//! both sides of an axis is predicted from these two, at twice the grid's step.
//!
//! Architecture invariant: this crate knows the file and arithmetic; it knows no drive, and no other crate but `units`.

mod axes;
mod check;
mod error;
mod file;
mod interpolate;
#[cfg(test)]
mod tests;
mod values;

use std::path::Path;

use serde_json::{Map, Value};
use units::Bytes;

pub use axes::{Axes, Axis, Place};
pub use check::Check;
pub use error::TierError;
pub use values::{Answer, Estimate, Latencies, Quantity};

/// A small surface for the examples of these pages.
#[doc(hidden)]
pub mod doc {
    /// As `ssdlab tier` writes it.
    pub const SURFACE: &str = include_str!("example.json");
}

/// What a surface is asked: requests of one size at a queue depth, of which a share reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<'a> {
    /// The size of a request.
    pub bytes: Bytes,
    /// Requests that are outstanding; it may lie between whole numbers, as a mean does.
    pub qd: f64,
    /// The share of requests that read, from 0 to 1; the others write.
    pub reads: f64,
    /// The age, as the surface's axis names it; None where it has one.
    pub age: Option<&'a str>,
    /// The scheme, likewise.
    pub scheme: Option<&'a str>,
}

impl<'a> Point<'a> {
    /// A point of a surface of one age and scheme.
    ///
    /// ```
    /// let point = tier::Point::new(units::Bytes(4096), 16.0, 0.5);
    /// assert_eq!(tier::Point { age: Some("pec=0"), ..point }.age, Some("pec=0"));
    /// ```
    pub fn new(bytes: Bytes, qd: f64, reads: f64) -> Point<'a> {
        Point { bytes, qd, reads, age: None, scheme: None }
    }
}

/// The surfaces of one drive. See the [crate's documentation](crate).
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// What the file says of the drive and of how it was measured.
    assumed: Map<String, Value>,
    axes: Axes,
    /// By [`Quantity::ALL`], then by [`Axes::places`].
    cells: Vec<Vec<Option<Estimate>>>,
    /// By place: the kinds of what puts its numbers in doubt.
    findings: Vec<Vec<String>>,
}

impl Tier {
    /// Reads a surface's file.
    ///
    /// ```no_run
    /// let tier = tier::Tier::load("tier.json".as_ref())?;
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn load(path: &Path) -> Result<Tier, TierError> {
        let origin = path.display().to_string();
        let read = std::fs::read_to_string(path);
        let text =
            read.map_err(|error| TierError::Unreadable { origin: origin.clone(), problem: error.to_string() })?;
        Tier::parse(&text, &origin)
    }

    /// Reads the text of a surface's file; `origin` is how errors call it.
    ///
    /// ```
    /// let error = tier::Tier::parse("{}", "tier.json").unwrap_err();
    /// assert!(error.to_string().starts_with("tier.json: format: "));
    /// ```
    pub fn parse(text: &str, origin: &str) -> Result<Tier, TierError> {
        file::parse(text, origin)
    }

    /// The text of its file, which [`Tier::parse`] reads back as an equal surface.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier::Tier::parse(&tier.json(), "again")?, tier);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn json(&self) -> String {
        file::json(self)
    }

    /// What was assumed: the drive, its settings, how it was measured, with which version.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier.assumed()["device"], "example");
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn assumed(&self) -> &Map<String, Value> {
        &self.assumed
    }

    /// The grid.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert_eq!(tier.axes().bytes, [4096, 8192, 16384]);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn axes(&self) -> &Axes {
        &self.axes
    }

    /// A value at a point of the grid; None where nothing was measured, such as a write's latency where every request reads.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// let place = tier.axes().places().next().expect("a grid has points");
    /// assert_eq!(tier.at(tier::Quantity::ReadMean, place).map(|of| of.value), Some(60_000.0));
    /// assert_eq!(tier.at(tier::Quantity::WriteMean, place), None);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn at(&self, quantity: Quantity, place: Place) -> Option<Estimate> {
        self.cells[quantity as usize][self.axes.index(place)]
    }

    /// The kinds of what puts the numbers of a point of the grid in doubt (docs/warnings.md).
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// assert!(tier.axes().places().all(|place| tier.findings(place).is_empty()));
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn findings(&self, place: Place) -> &[String] {
        &self.findings[self.axes.index(place)]
    }

    /// All values at a point within the grid, interpolated where it is none of its points.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// let answer = tier.ask(&tier::Point::new(units::Bytes(4096), 1.0, 1.0))?;
    /// assert_eq!(answer.read.map(|read| read.p99.value), Some(120_000.0));
    /// assert_eq!(answer.write, None);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn ask(&self, point: &Point) -> Result<Answer, TierError> {
        interpolate::ask(self, point)
    }

    /// One value at a point within the grid.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// let point = tier::Point::new(units::Bytes(4096), 1.0, 1.0);
    /// assert_eq!(tier.value(tier::Quantity::ReadP99, &point)?.value, 120_000.0);
    /// let error = tier.value(tier::Quantity::WriteMean, &point).unwrap_err();
    /// assert!(error.to_string().contains("write.latency_ns.mean was not measured"));
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn value(&self, quantity: Quantity, point: &Point) -> Result<Estimate, TierError> {
        interpolate::value(self, quantity, point)
    }

    /// The error of the interpolation: for each quantity over all axes, and over each axis that has inner points.
    ///
    /// ```
    /// # let text = tier::doc::SURFACE;
    /// let tier = tier::Tier::parse(text, "tier.json")?;
    /// let checks = tier.cross_validation();
    /// let of_reads = checks.iter().find(|check| check.quantity == tier::Quantity::ReadMean).expect("it was measured");
    /// assert!(of_reads.median <= of_reads.worst);
    /// # Ok::<(), tier::TierError>(())
    /// ```
    pub fn cross_validation(&self) -> Vec<Check> {
        check::checks(self)
    }
}
