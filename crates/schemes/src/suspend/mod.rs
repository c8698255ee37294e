//! When a program or an erase lets a user read go first, and where it goes on afterwards.
//!
//! Contract: a policy sees where the operation is within its phase, and nothing else. It says how long the array is still
//! held, and what becomes of the phase; none where it does not let go.

mod inter_phase;
mod intra_phase;
mod reset_and_resume;

use units::Span;

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPhase {
    /// In a pulse (program phase, erase pulse) rather than in a verify.
    pub pulse: bool,
    /// What is left of the phase, the voltage reset at its end included.
    pub left: Span,
    /// T_voltage_reset: what resetting the voltages takes.
    pub reset: Span,
}

/// What becomes of the phase that an operation is suspended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// It ends; the operation goes on with the next one.
    On,
    /// It is cancelled and done again.
    Again,
    /// It is cancelled; a verify decides that it must be done again.
    AgainAfterVerify,
    /// Its remainder is done later, when the voltages are set again.
    OnWithTheRest,
}

/// For how long the array is still held, and what becomes of the phase.
pub type LetsGo = Option<(Span, Goes)>;

units::choices! {
    /// Whether and where programs are suspended for user reads.
    pub enum SuspendProgram {
        /// Nowhere.
        None = "none",
        /// At the end of a program or verify phase (fast12 section 4.2, IPS).
        InterPhase = "inter-phase",
        /// At once: the phase is cancelled (fast12 section 4.2, IPC).
        IntraPhase = "intra-phase",
    }
}

units::choices! {
    /// Whether and where erases are suspended for user reads.
    pub enum SuspendErase {
        /// Nowhere.
        None = "none",
        /// At once: a pulse keeps its progress, a verify is done again (fast12 section 4.1).
        ResetAndResume = "reset-and-resume",
        /// At the end of a pulse or verify.
        PulseBoundary = "pulse-boundary",
    }
}

impl SuspendProgram {
    /// What a program does when a user read comes.
    pub fn lets_go(self, at: InPhase) -> LetsGo {
        match self {
            SuspendProgram::None => None,
            SuspendProgram::InterPhase => inter_phase::lets_go(at),
            SuspendProgram::IntraPhase => intra_phase::lets_go(at),
        }
    }
}

impl SuspendErase {
    /// What an erase does when a user read comes.
    pub fn lets_go(self, at: InPhase) -> LetsGo {
        match self {
            SuspendErase::None => None,
            SuspendErase::ResetAndResume => reset_and_resume::lets_go(at),
            SuspendErase::PulseBoundary => inter_phase::lets_go(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voltage_reset_that_has_begun_ends_the_phase() {
        let at = |pulse, left| InPhase { pulse, left: Span(left), reset: Span(4) };
        for (pulse, left) in [(true, 4), (false, 1)] {
            let ends = Some((Span(left), Goes::On));
            assert_eq!(SuspendProgram::IntraPhase.lets_go(at(pulse, left)), ends);
            assert_eq!(SuspendProgram::InterPhase.lets_go(at(pulse, left)), ends);
            assert_eq!(SuspendErase::ResetAndResume.lets_go(at(pulse, left)), ends);
        }
        assert_eq!(SuspendProgram::InterPhase.lets_go(at(true, 16)), Some((Span(16), Goes::On)));
        assert_eq!(SuspendProgram::IntraPhase.lets_go(at(true, 16)), Some((Span(4), Goes::AgainAfterVerify)));
        assert_eq!(SuspendProgram::IntraPhase.lets_go(at(false, 6)), Some((Span(4), Goes::Again)));
        assert_eq!(SuspendErase::ResetAndResume.lets_go(at(true, 900)), Some((Span(4), Goes::OnWithTheRest)));
        assert_eq!(SuspendErase::ResetAndResume.lets_go(at(false, 6)), Some((Span(4), Goes::Again)));
        assert_eq!(SuspendErase::PulseBoundary.lets_go(at(true, 900)), Some((Span(900), Goes::On)));
        assert_eq!(SuspendProgram::None.lets_go(at(true, 4)), None);
    }
}
