//! The phases of a program or an erase: pulses, each followed by a verify.

use units::Span;

use crate::persist::stored;

/// The phases of an operation: pulses, each followed by a verify.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Phases {
    /// Pulses, and how many of each follow one another.
    pulses: Vec<(Span, u32)>,
    /// The verify after each.
    pub verify: Span,
}

impl Phases {
    /// `loops` equal pulses.
    pub fn even(loops: u32, pulse: Span, verify: Span) -> Phases {
        Phases { pulses: vec![(pulse, loops)], verify }
    }

    /// Pulses of lengths of their own.
    pub fn each(pulses: impl Iterator<Item = Span>, verify: Span) -> Phases {
        Phases { pulses: pulses.map(|pulse| (pulse, 1)).collect(), verify }
    }

    /// Those of a program that is known as a whole: eight loops, a fifth of each its verify (`assumed`; fast12 Table 1:
    /// a quarter of each of five on SLC).
    pub fn of_program(total: Span) -> Phases {
        Phases::parts(total, 8, 5)
    }

    /// Those of an erase that is known as a whole: one pulse, a fiftieth its verify (`assumed`: as the preset
    /// asplos21).
    pub fn of_erase(total: Span) -> Phases {
        Phases::parts(total, 1, 50)
    }

    /// A time as this many loops, of each of which one part in `verify` is its verify. What does not divide goes to the
    /// last pulse.
    fn parts(total: Span, loops: u32, verify: u64) -> Phases {
        let each = total.0 / u64::from(loops);
        let (verify, rest) = (each / verify, total.0 - each * u64::from(loops));
        let pulse = each - verify;
        Phases { pulses: vec![(Span(pulse), loops - 1), (Span(pulse + rest), 1)], verify: Span(verify) }
    }

    /// All of them.
    pub fn total(&self) -> Span {
        self.pulses.iter().fold(Span::ZERO, |sum, (pulse, loops)| sum + (*pulse + self.verify) * u64::from(*loops))
    }

    /// Adds the phases of another plane of the die, both made by [`Phases::each`]: a pulse lasts until both planes'
    /// have ended, and planes that are done wait.
    pub fn join(&mut self, other: &Phases) {
        let most = self.pulses.len().max(other.pulses.len());
        self.pulses.resize(most, (Span::ZERO, 1));
        for (pulse, beside) in self.pulses.iter_mut().zip(&other.pulses) {
            pulse.0 = pulse.0.max(beside.0);
        }
    }

    /// Phases that take `factor` as long.
    pub fn slower(&self, factor: f64) -> Phases {
        let pulses = self.pulses.iter().map(|(pulse, loops)| (slower(*pulse, factor), *loops)).collect();
        Phases { pulses, verify: slower(self.verify, factor) }
    }

    /// Whether `position` is in a pulse, where its phase began and where it ends, and the number of the pulse.
    pub fn phase(&self, position: u64) -> (bool, u64, u64, u64) {
        let (mut began, mut number) = (0, 1);
        for (pulse, loops) in &self.pulses {
            let cycle = pulse.0 + self.verify.0;
            let all = cycle * u64::from(*loops);
            if position < began + all {
                number += (position - began) / cycle;
                began += (position - began) / cycle * cycle;
                let verify = began + pulse.0;
                let pulses = position < verify;
                let (from, to) = if pulses { (began, verify) } else { (verify, began + cycle) };
                return (pulses, from, to, number);
            }
            began += all;
            number += u64::from(*loops);
        }
        (false, began, began, number)
    }
}

/// A time that is `factor` as long.
pub(crate) fn slower(span: Span, factor: f64) -> Span {
    Span((span.0 as f64 * factor).round() as u64)
}

stored! {
    Phases { pulses, verify }
}
