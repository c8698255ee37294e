//! Latency and throughput surfaces.

use std::path::PathBuf;

use pyo3::prelude::*;
use tier::{Axes, Estimate, Latencies, Place, Point, Quantity};
use units::Bytes;

use crate::error::InputError;

/// A value and half the width of its interval.
type Pair = (f64, Option<f64>);

fn pair(of: Estimate) -> Pair {
    (of.value, of.half_width)
}

fn refuse(error: tier::TierError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// What a surface says of a point.
#[derive(IntoPyObject)]
struct Answer {
    bytes_per_s: Pair,
    requests_per_s: Pair,
    read: Option<[Pair; 4]>,
    write: Option<[Pair; 4]>,
    findings: Vec<String>,
}

/// The values of the axes.
#[derive(IntoPyObject)]
struct Values {
    age: Vec<String>,
    scheme: Vec<String>,
    reads: Vec<f64>,
    bytes: Vec<u64>,
    qd: Vec<u32>,
}

/// How well a quantity is predicted by cross-validation.
#[derive(IntoPyObject)]
struct Check {
    value: &'static str,
    axis: Option<&'static str>,
    predictions: usize,
    median: f64,
    worst: f64,
    worst_at: At,
}

/// A point of the grid.
#[derive(IntoPyObject)]
struct At {
    age: String,
    scheme: String,
    reads: f64,
    bytes: u64,
    qd: u32,
}

impl At {
    fn of(axes: &Axes, place: Place) -> At {
        let Place { age, scheme, on: [reads, bytes, qd] } = place;
        let (age, scheme) = (axes.age[age].clone(), axes.scheme[scheme].clone());
        At { age, scheme, reads: axes.reads[reads], bytes: axes.bytes[bytes], qd: axes.qd[qd] }
    }
}

/// The surfaces of a drive.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Tier(tier::Tier);

#[pymethods]
impl Tier {
    /// Reads a surface's file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Tier> {
        tier::Tier::load(&path).map(Tier).map_err(refuse)
    }

    /// Reads the text of one; `origin` is how errors call it.
    #[staticmethod]
    fn parse(text: &str, origin: &str) -> PyResult<Tier> {
        tier::Tier::parse(text, origin).map(Tier).map_err(refuse)
    }

    /// The text of its file.
    #[getter]
    fn json(&self) -> String {
        self.0.json()
    }

    /// What was assumed, as JSON.
    #[getter]
    fn assumed(&self) -> PyResult<String> {
        serde_json::to_string(self.0.assumed()).map_err(|error| InputError::new_err(error.to_string()))
    }

    /// The values of the axes.
    #[getter]
    fn axes(&self) -> Values {
        let Axes { age, scheme, reads, bytes, qd } = self.0.axes().clone();
        Values { age, scheme, reads, bytes, qd }
    }

    /// All values at a point.
    fn ask(&self, bytes: u64, qd: f64, reads: f64, age: Option<&str>, scheme: Option<&str>) -> PyResult<Answer> {
        let found = self.0.ask(&Point { bytes: Bytes(bytes), qd, reads, age, scheme }).map_err(refuse)?;
        let of = |Latencies { mean, p50, p99, p99_9 }| [mean, p50, p99, p99_9].map(pair);
        Ok(Answer {
            bytes_per_s: pair(found.bytes_per_s),
            requests_per_s: pair(found.requests_per_s),
            read: found.read.map(of),
            write: found.write.map(of),
            findings: found.findings,
        })
    }

    /// One value at a point.
    fn value(
        &self,
        quantity: &str,
        bytes: u64,
        qd: f64,
        reads: f64,
        age: Option<&str>,
        scheme: Option<&str>,
    ) -> PyResult<Pair> {
        let of = Quantity::named(quantity).ok_or_else(|| {
            let names = Quantity::ALL.map(Quantity::name).join(", ");
            InputError::new_err(format!("a surface has no {quantity:?}\n  help: it has {names}"))
        })?;
        let point = Point { bytes: Bytes(bytes), qd, reads, age, scheme };
        self.0.value(of, &point).map(pair).map_err(refuse)
    }

    /// The errors of the interpolation.
    fn cross_validation(&self) -> Vec<Check> {
        let axes = self.0.axes();
        let of = |check: tier::Check| Check {
            value: check.quantity.name(),
            axis: check.axis.map(|axis| axis.name()),
            predictions: check.predictions,
            median: check.median,
            worst: check.worst,
            worst_at: At::of(axes, check.worst_at),
        };
        self.0.cross_validation().into_iter().map(of).collect()
    }
}
