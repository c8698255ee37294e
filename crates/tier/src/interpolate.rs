//! Values between the points of a grid.

use units::Bytes;

use crate::axes::{Axes, Axis, Place};
use crate::error::TierError;
use crate::surface::Tier;
use crate::values::{Answer, Estimate, Latencies, Quantity};

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

/// A point of the grid, and its share in an answer.
type Corner = (Place, f64);

/// Step `lower` of an axis and, with this share, the one after it.
struct Between {
    lower: usize,
    share: f64,
}

impl Tier {
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
        let corners = corners(self, point)?;
        let of = |quantity| mixed(self, quantity, &corners);
        let latencies = |[mean, p50, p99, p99_9]: [Quantity; 4]| {
            Some(Latencies { mean: of(mean).ok()?, p50: of(p50).ok()?, p99: of(p99).ok()?, p99_9: of(p99_9).ok()? })
        };
        let mut findings: Vec<String> = corners.iter().flat_map(|(place, _)| self.findings(*place)).cloned().collect();
        findings.sort_unstable();
        findings.dedup();
        Ok(Answer {
            bytes_per_s: of(Quantity::BytesPerS)?,
            requests_per_s: of(Quantity::RequestsPerS)?,
            read: latencies([Quantity::ReadMean, Quantity::ReadP50, Quantity::ReadP99, Quantity::ReadP999]),
            write: latencies([Quantity::WriteMean, Quantity::WriteP50, Quantity::WriteP99, Quantity::WriteP999]),
            findings,
        })
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
        mixed(self, quantity, &corners(self, point)?)
    }
}

/// The value that lies between some points: the mean of logarithms, by their shares.
pub(crate) fn mixed(tier: &Tier, quantity: Quantity, corners: &[Corner]) -> Result<Estimate, TierError> {
    let at = |place: Place| {
        let missing = || TierError::Unmeasured { quantity: quantity.name(), at: tier.axes.shown(place).to_string() };
        tier.at(quantity, place).ok_or_else(missing)
    };
    if let [(place, _)] = corners {
        return at(*place); // as measured, to the digit
    }
    let (mut log, mut spread) = (0.0, Some(0.0));
    for (place, share) in corners {
        let Estimate { value, half_width } = at(*place)?;
        log += share * value.ln();
        // Points share their seeds, so their deviations may go together: they are added up.
        spread = spread.zip(half_width).map(|(spread, half_width)| spread + share * half_width / value);
    }
    let value = log.exp();
    Ok(Estimate { value, half_width: spread.map(|spread| spread * value) })
}

/// The points of the grid around a point, with their shares; those without any are left out.
fn corners(tier: &Tier, point: &Point) -> Result<Vec<Corner>, TierError> {
    let axes = &tier.axes;
    let age = named("age", point.age, &axes.age)?;
    let scheme = named("scheme", point.scheme, &axes.scheme)?;
    let mut corners = vec![(Place { age, scheme, on: [0; 3] }, 1.0)];
    for (number, axis) in Axis::ALL.into_iter().enumerate() {
        let asked = match axis {
            Axis::Reads => point.reads,
            Axis::Bytes => point.bytes.0 as f64,
            Axis::Qd => point.qd,
        };
        let Between { lower, share } = between(axes, axis, asked)?;
        let on = |(mut place, weight): Corner, step, share: f64| {
            place.on[number] = step;
            (place, weight * share)
        };
        let ends = |corner| [on(corner, lower, 1.0 - share), on(corner, lower + 1, share)];
        corners = corners.into_iter().flat_map(ends).filter(|(_, weight)| *weight > 0.0).collect();
    }
    Ok(corners)
}

fn named(axis: &'static str, asked: Option<&str>, known: &[String]) -> Result<usize, TierError> {
    let unknown = || TierError::Unknown { axis, asked: asked.map(str::to_owned), known: known.to_vec() };
    match asked {
        None if known.len() == 1 => Ok(0),
        None => Err(unknown()),
        Some(asked) => known.iter().position(|name| name == asked).ok_or_else(unknown),
    }
}

/// Between which steps of an axis a number lies.
fn between(axes: &Axes, axis: Axis, asked: f64) -> Result<Between, TierError> {
    let numbers: Vec<f64> = (0..axes.steps(axis)).map(|step| axes.number(axis, step)).collect();
    let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
    // A number that is none lies nowhere.
    if !(low..=high).contains(&asked) {
        return Err(TierError::Outside { axis: axis.name(), asked, low, high });
    }
    let lower = numbers.partition_point(|number| *number <= asked) - 1;
    let share = if numbers[lower] == asked { 0.0 } else { part(axis, asked, numbers[lower], numbers[lower + 1]) };
    Ok(Between { lower, share })
}

/// What part of the way from one number of an axis to another has been gone.
pub(crate) fn part(axis: Axis, at: f64, from: f64, to: f64) -> f64 {
    let [at, from, to] = [at, from, to].map(|number| axis.scaled(number));
    (at - from) / (to - from)
}
