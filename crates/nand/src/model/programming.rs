//! Incremental-step pulse programming: pulses of a program phase and a verify phase.

use crate::geometry::Refusal;

use units::Span;

units::section! {
    /// Incremental-step pulse programming: every loop is a program phase, then a verify phase.
    pub struct Programming in "programming" {
        /// Loops of a program.
        loops: u32 = 12,
        /// Program phase of a loop.
        t_pulse: Span = Span(50_000),
        /// Verify phase of a loop.
        t_verify: Span = Span(8_000),
        /// First program voltage [V].
        v_start: f64 = 15.0,
        /// What every loop adds to it [V].
        v_step: f64 = 0.5,
    }
}

/// Where a program is after some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In the program phase of a loop, from 0, for so long.
    Pulse(u32, Span),
    /// In the verify phase of a loop, for so long.
    Verify(u32, Span),
    /// All loops are done.
    Done,
}

impl Programming {
    /// tPROG: fast12 Table 1, T_w_total = N_w_cycle x T_w_cycle.
    pub fn total(&self) -> Span {
        Span((self.t_pulse.0 + self.t_verify.0) * u64::from(self.loops))
    }

    /// The phase after `elapsed` of a program.
    pub fn phase(&self, elapsed: Span) -> Phase {
        let (cycle, done) = (self.t_pulse.0 + self.t_verify.0, elapsed.0);
        let (index, within) = ((done / cycle) as u32, done % cycle);
        if index >= self.loops {
            Phase::Done
        } else if within < self.t_pulse.0 {
            Phase::Pulse(index, Span(within))
        } else {
            Phase::Verify(index, Span(within - self.t_pulse.0))
        }
    }

    /// What is wrong with the constants: key, problem, remedy.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.loops == 0 || self.loops > 1000 {
            return Some(Refusal::of("loops", format!("is {}", self.loops), "write 1 to 1,000"));
        }
        let too_long = |span: Span| span.0 > 1_000_000_000;
        if self.t_pulse.0 == 0 || too_long(self.t_pulse) {
            return Some(Refusal::of("t_pulse", format!("is {} ns", self.t_pulse.0), "write a time of up to 1s"));
        }
        if too_long(self.t_verify) {
            return Some(Refusal::of("t_verify", format!("is {} ns", self.t_verify.0), "write a time of up to 1s"));
        }
        (!(self.v_start > 0.0 && self.v_step >= 0.0 && self.v_start < 100.0 && self.v_step < 10.0)).then(|| {
            Refusal::of(
                "v_start",
                format!("and v_step are {} and {} V", self.v_start, self.v_step),
                "write 0 < v_start < 100 and 0 <= v_step < 10",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_goes_through_its_phases() {
        let program = Programming { loops: 2, t_pulse: Span(10), t_verify: Span(4), ..Programming::default() };
        assert_eq!(program.total(), Span(28));
        for (elapsed, phase) in [
            (0, Phase::Pulse(0, Span(0))),
            (9, Phase::Pulse(0, Span(9))),
            (10, Phase::Verify(0, Span(0))),
            (14, Phase::Pulse(1, Span(0))),
            (27, Phase::Verify(1, Span(3))),
            (28, Phase::Done),
        ] {
            assert_eq!(program.phase(Span(elapsed)), phase);
        }
    }
}
