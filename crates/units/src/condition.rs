//! The operating conditions that flash physics depends on: wear, retention age, temperature.

use crate::quantity::Span;
use crate::random::Stream;

/// Program/erase cycles that a block has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeCycles(pub u32);

/// A temperature [°C].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Temperature(pub f64);

impl Temperature {
    /// The temperature that retention ages are stated at (30 °C: asplos21 §4).
    pub const REFERENCE: Temperature = Temperature(30.0);

    /// How many times faster charge leaks at this temperature than at 30 °C, by Arrhenius' law.
    ///
    /// Activation energy 1.108 eV: the value at which 13 h at 85 °C stand for one year at 30 °C
    /// (asplos21 §4); `fitted` to that pair.
    pub fn acceleration(self) -> f64 {
        const ACTIVATION_EV: f64 = 1.108;
        const BOLTZMANN_EV_PER_K: f64 = 8.617_333_262e-5; // CODATA 2018
        const KELVIN: f64 = 273.15;
        let inverse = 1.0 / (Self::REFERENCE.0 + KELVIN) - 1.0 / (self.0 + KELVIN);
        libm::exp(ACTIVATION_EV / BOLTZMANN_EV_PER_K * inverse)
    }
}

/// How old the data of a preconditioned drive is, at 30 °C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Every page has the same age.
    Fixed(Span),
    /// Ages are spread evenly between two bounds; one draw a block, whose pages were written together.
    Uniform(Span, Span),
    /// The drive has been overwritten. Where the order of blocks is not known ages are spread evenly over a turnover.
    Turnover(Overwritten),
}

/// How old the data of a drive is that has been overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwritten {
    /// In which all of the flash was programmed once: a block was as old as what had been programmed since.
    pub turnover: Span,
    /// No data was older.
    pub most: Span,
    /// For how long the host has rested since then.
    pub rested: Span,
}

impl Overwritten {
    /// The age of a block of which `programmed` is the time that what was programmed since has taken.
    #[inline]
    pub fn age(self, programmed: Span) -> Span {
        Span(programmed.0.min(self.most.0).saturating_add(self.rested.0))
    }
}

impl Retention {
    /// The age of the oldest data.
    pub fn oldest(self) -> Span {
        match self {
            Retention::Fixed(age) | Retention::Uniform(_, age) => age,
            Retention::Turnover(of) => of.age(of.turnover),
        }
    }

    /// The age of the data in block number `block`.
    #[inline]
    pub fn of_block(self, ages: Stream, block: u64) -> Span {
        match self {
            Retention::Fixed(age) => age,
            Retention::Uniform(from, to) => Span(from.0 + ages.below(block, to.0 - from.0 + 1)),
            Retention::Turnover(of) => of.age(Span(ages.below(block, of.turnover.0 + 1))),
        }
    }
}

/// The conditions under which one page is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Wear of the page's block.
    pub pec: PeCycles,
    /// Retention age of the page's data, as if kept at 30 °C.
    pub retention: Span,
    /// Temperature of the read.
    pub temperature: Temperature,
    /// Reads of the page's block since it was erased.
    pub reads: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_blocks_one_has_the_oldest_data() {
        let (ages, at_most) = (Stream::new(1, "ages"), Span(700));
        let overwritten = Overwritten { turnover: Span(1_000), most: at_most, rested: Span(50) };
        for retention in
            [Retention::Fixed(Span(9)), Retention::Uniform(Span(3), Span(90)), Retention::Turnover(overwritten)]
        {
            let oldest = (0..1_000).map(|block| retention.of_block(ages, block)).max();
            assert_eq!(oldest, Some(retention.oldest()), "{retention:?}");
        }
    }

    #[test]
    fn thirteen_hours_at_85_degrees_stand_for_a_year_at_30() {
        let days = 13.0 / 24.0 * Temperature(85.0).acceleration();
        assert!((355.0..=375.0).contains(&days), "{days}");
        assert_eq!(Temperature(30.0).acceleration(), 1.0);
    }

    #[test]
    fn uniform_retention_stays_between_its_bounds_and_fills_them() {
        let (from, to) = (Span(10), Span(20));
        let ages: Vec<u64> =
            (0..1000).map(|b| Retention::Uniform(from, to).of_block(Stream::new(1, "age"), b).0).collect();
        assert_eq!((ages.iter().min(), ages.iter().max()), (Some(&10), Some(&20)));
    }
}
