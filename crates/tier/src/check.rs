//! Leave-one-out cross-validation: how well the points of a grid are predicted by their neighbours.

use crate::axes::{Axis, Place};
use crate::interpolate::{mixed, part};
use crate::surface::Tier;
use crate::values::Quantity;

/// How well a quantity is predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Which.
    pub quantity: Quantity,
    /// Along which axis; None is along each.
    pub axis: Option<Axis>,
    /// Predictions: one for each point and axis on which it has neighbours on both sides.
    pub predictions: usize,
    /// The median of their relative errors: of \|predicted / measured - 1\|.
    pub median: f64,
    /// The largest of them.
    pub worst: f64,
    /// Where that is.
    pub worst_at: Place,
}

/// A prediction's point and its relative error.
type Error = (Place, f64);

impl Tier {
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
        let mut checks = Vec::new();
        for quantity in Quantity::ALL {
            let by_axis = Axis::ALL.map(|axis| errors(self, quantity, axis));
            checks.extend(check(quantity, None, by_axis.iter().flatten().copied().collect()));
            for (axis, errors) in Axis::ALL.into_iter().zip(by_axis) {
                checks.extend(check(quantity, Some(axis), errors));
            }
        }
        checks
    }
}

/// The errors of predictions of a quantity along an axis.
fn errors(tier: &Tier, quantity: Quantity, axis: Axis) -> Vec<Error> {
    let last = tier.axes.steps(axis) - 1;
    let inner = tier.axes.places().filter(|place| (1..last).contains(&place.on[axis as usize]));
    inner.filter_map(|place| Some((place, error(tier, quantity, axis, place)?))).collect()
}

/// The error of a point that is predicted by its two neighbours on an axis; None where one of them was not measured.
fn error(tier: &Tier, quantity: Quantity, axis: Axis, place: Place) -> Option<f64> {
    let step = place.on[axis as usize];
    let beside = |step| {
        let mut place = place;
        place.on[axis as usize] = step;
        place
    };
    let [from, at, to] = [step - 1, step, step + 1].map(|step| tier.axes.number(axis, step));
    let share = part(axis, at, from, to);
    let predicted = mixed(tier, quantity, &[(beside(step - 1), 1.0 - share), (beside(step + 1), share)]).ok()?;
    Some((predicted.value / tier.at(quantity, place)?.value - 1.0).abs())
}

fn check(quantity: Quantity, axis: Option<Axis>, mut errors: Vec<Error>) -> Option<Check> {
    errors.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let (worst_at, worst) = *errors.last()?;
    let (upper, lower) = (errors[errors.len() / 2].1, errors[(errors.len() - 1) / 2].1);
    let median = lower.midpoint(upper);
    Some(Check { quantity, axis, predictions: errors.len(), median, worst, worst_at })
}
