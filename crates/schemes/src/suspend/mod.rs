//! At which point a program or an erase is suspended for a user read, and where it is resumed.
//!
//! Contract: a policy sees where the operation is within its phase, and nothing else. It answers how long the array is
//! still busy, and what becomes of the phase; none where the operation is not suspended.

mod contract;
mod inter_phase;
mod intra_phase;
mod reset_and_resume;
mod safe_points;

pub use contract::{InPhase, ResumeMode, SuspendPoint};

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
        /// At the next of several safe points of a pulse, or at the end of a verify (SSR, J. KICS 2025).
        SafePoints = "safe-points",
    }
}

units::choices! {
    /// For which host operations of its die an erase is suspended. What a chip can do meanwhile is a matter of its
    /// design: chips whose erases are suspended read, and program other blocks (ONFI; MQSim suspends erases for writes
    /// as well).
    pub enum SuspendEraseFor {
        /// Reads.
        Reads = "reads",
        /// Reads, and programs of host data into other blocks (fast12 section 6: suspension for foreground writes).
        ReadsAndWrites = "reads-and-writes",
    }
}

impl SuspendProgram {
    /// What a program does when a user read comes.
    pub fn suspend_point(self, at: InPhase) -> SuspendPoint {
        match self {
            SuspendProgram::None => None,
            SuspendProgram::InterPhase => inter_phase::suspend_point(at),
            SuspendProgram::IntraPhase => intra_phase::suspend_point(at),
        }
    }
}

impl SuspendErase {
    /// Whether what goes on gets on before it is suspended again.
    pub fn gets_on(self) -> bool {
        self == SuspendErase::SafePoints
    }

    /// What an erase does when a user read comes.
    pub fn suspend_point(self, at: InPhase) -> SuspendPoint {
        match self {
            SuspendErase::None => None,
            SuspendErase::ResetAndResume => reset_and_resume::suspend_point(at),
            SuspendErase::PulseBoundary => inter_phase::suspend_point(at),
            SuspendErase::SafePoints => safe_points::suspend_point(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    #[test]
    fn a_voltage_reset_that_has_begun_ends_the_phase() {
        let at = |pulse, left| InPhase { pulse, done: Span(0), left: Span(left), reset: Span(4), safe: None };
        for (pulse, left) in [(true, 4), (false, 1)] {
            let ends = Some((Span(left), ResumeMode::NextPhase));
            assert_eq!(SuspendProgram::IntraPhase.suspend_point(at(pulse, left)), ends);
            assert_eq!(SuspendProgram::InterPhase.suspend_point(at(pulse, left)), ends);
            assert_eq!(SuspendErase::ResetAndResume.suspend_point(at(pulse, left)), ends);
        }
        assert_eq!(SuspendProgram::InterPhase.suspend_point(at(true, 16)), Some((Span(16), ResumeMode::NextPhase)));
        assert_eq!(
            SuspendProgram::IntraPhase.suspend_point(at(true, 16)),
            Some((Span(4), ResumeMode::VerifyThenRepeat))
        );
        assert_eq!(SuspendProgram::IntraPhase.suspend_point(at(false, 6)), Some((Span(4), ResumeMode::RepeatPhase)));
        assert_eq!(SuspendErase::ResetAndResume.suspend_point(at(true, 900)), Some((Span(4), ResumeMode::RestOfPhase)));
        assert_eq!(SuspendErase::ResetAndResume.suspend_point(at(false, 6)), Some((Span(4), ResumeMode::RepeatPhase)));
        assert_eq!(SuspendErase::PulseBoundary.suspend_point(at(true, 900)), Some((Span(900), ResumeMode::NextPhase)));
        assert_eq!(SuspendProgram::None.suspend_point(at(true, 4)), None);
    }

    #[test]
    fn safe_points_are_met_one_after_another() {
        // A pulse of 70 with a safe point every 10; the voltages are reset in 4.
        let at = |done| {
            let safe = Some(Span(10));
            InPhase { pulse: true, done: Span(done), left: Span(70 - done), reset: Span(4), safe }
        };
        let goes = |done| SuspendErase::SafePoints.suspend_point(at(done)).unwrap();
        assert_eq!(goes(0), (Span(14), ResumeMode::RestOfPhase));
        assert_eq!(goes(10), (Span(14), ResumeMode::RestOfPhase));
        assert_eq!(goes(11), (Span(9 + 4), ResumeMode::RestOfPhase));
        assert_eq!(goes(59), (Span(1 + 4), ResumeMode::RestOfPhase));
        // The next one is the end.
        assert_eq!(goes(61), (Span(9), ResumeMode::NextPhase));
        let verify = InPhase { pulse: false, ..at(50) };
        assert_eq!(SuspendErase::SafePoints.suspend_point(verify), Some((Span(20), ResumeMode::NextPhase)));
    }
}
