//! The state that a run starts from.

use nand::Layout;
use units::value::{Scalar, Value};
use units::{Fraction, PeCycles, Retention, Span, Temperature};

use super::refusal::{Check, Refusal, refuse};

/// How a drive was brought into its initial state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Written once, in order.
    None,
    /// As after long uniform random overwriting, from the closed form.
    ClosedForm,
    /// Overwritten at random before the run, so many times its filled capacity.
    Write(f64),
}

impl Value for Precondition {
    fn expects() -> String {
        "\"none\", \"closed-form\" or \"write:N\" (N times the filled capacity, from 0.001 to 1000)".into()
    }
    fn read(scalar: &Scalar) -> Option<Precondition> {
        let Scalar::Text(text) = scalar else { return None };
        match text.as_str() {
            "none" => Some(Precondition::None),
            "closed-form" => Some(Precondition::ClosedForm),
            other => {
                let times: f64 = other.strip_prefix("write:")?.parse().ok()?;
                (0.001..=1000.0).contains(&times).then_some(Precondition::Write(times))
            }
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Precondition::None => "none".into(),
            Precondition::ClosedForm => "closed-form".into(),
            Precondition::Write(times) => format!("write:{times}"),
        })
    }
}

units::choices! {
    /// How blocks were erased before the run.
    pub enum WornUnder {
        /// As in the run, from their first cycle on.
        Scheme = "scheme",
        /// Conventionally: the records of blocks that electronics25's simulations look up by P/E count are of such (sections 5.1 and 7.1).
        Ispe = "ispe",
    }
}

units::section! {
    /// The state that a run starts from: a drive that has been written and has aged.
    pub struct AgeConfig in "age" {
        /// Program/erase cycles of every block.
        pec: PeCycles = PeCycles(0),
        /// How blocks were erased in these cycles, where erases go pulse by pulse (erase.pulse): by the run's own scheme, or by ispe.
        worn_under: WornUnder = WornUnder::Scheme,
        /// Age of the data at 30 C, such as "3mo" or "uniform:0..30d".
        retention: Retention = Retention::Fixed(Span::ZERO),
        /// Age of the translation pages at 30 C: a page of the map is written again whenever one of its thousands of entries changes (assumed: young).
        map_retention: Span = Span::ZERO,
        /// Reads of every block that holds data, since it was erased (chip.read_disturb, refresh.reads).
        reads: u32 = 0,
        /// Temperature of the drive during the run.
        temperature: Temperature = Temperature(30.0),
        /// Share of the logical capacity that holds data, from address 0 up.
        fill: Fraction = Fraction(1.0),
        /// Share of the pages of written blocks that hold stale data.
        invalid: Fraction = Fraction(0.0),
        /// How the drive was brought into its state: none (written once, in order, with `invalid` spread evenly),
        /// closed-form (as after long uniform overwriting) or write:N (really overwritten N times before the run).
        precondition: Precondition = Precondition::None,
        /// Every die starts at a place of its own in its open blocks, as in a drive that has been written for long; otherwise
        /// all planes open their first block at their first write. "none": where the precondition is closed-form.
        staggered: Option<bool> = None,
    }
}

impl AgeConfig {
    /// Whether dies start at places of their own.
    pub fn is_staggered(&self) -> bool {
        self.staggered.unwrap_or(self.precondition == Precondition::ClosedForm)
    }
}

impl Check for AgeConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if self.precondition == Precondition::ClosedForm && self.invalid.0 > 0.0 {
            let problem = "is set, and age.precondition = \"closed-form\" says where stale pages are";
            return refuse("invalid", problem, "leave it at 0, or set age.precondition to \"none\"");
        }
        Ok(())
    }
}
