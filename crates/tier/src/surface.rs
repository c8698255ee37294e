//! The surfaces of a drive: what their file holds.

use serde_json::{Map, Value};

use crate::axes::{Axes, Place};
use crate::values::{Estimate, Quantity};

/// The surfaces of one drive. See the [crate's documentation](crate).
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// What the file says of the drive and of how it was measured.
    pub(crate) assumed: Map<String, Value>,
    pub(crate) axes: Axes,
    /// By [`Quantity::ALL`], then by [`Axes::places`].
    pub(crate) cells: Vec<Vec<Option<Estimate>>>,
    /// By place: the kinds of what puts its numbers in doubt.
    pub(crate) findings: Vec<Vec<String>>,
}

impl Tier {
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

    /// A value at a point of the grid; None where nothing was measured, such as a write's latency where every request
    /// reads.
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
}
