//! What a policy of this axis is asked, and what it answers.

use units::Span;

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPhase {
    /// In a pulse (program phase, erase pulse) rather than in a verify.
    pub pulse: bool,
    /// How far the phase has come.
    pub done: Span,
    /// What is left of the phase, the voltage reset at its end included.
    pub left: Span,
    /// T_voltage_reset: what resetting the voltages takes.
    pub reset: Span,
    /// How far apart the safe points of a pulse are, where it has any.
    pub safe: Option<Span>,
}

/// What becomes of the phase that an operation is suspended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeMode {
    /// It ends; the operation goes on with the next one.
    NextPhase,
    /// It is cancelled and done again.
    RepeatPhase,
    /// It is cancelled; a verify decides that it must be done again.
    VerifyThenRepeat,
    /// It goes on until its voltages are reset; its remainder is done later, when they are set again.
    RestOfPhase,
}

impl ResumeMode {
    /// Every mode, and its word.
    pub const ALL: [(ResumeMode, &'static str); 4] = [
        (ResumeMode::NextPhase, "next-phase"),
        (ResumeMode::RepeatPhase, "repeat-phase"),
        (ResumeMode::VerifyThenRepeat, "verify-then-repeat"),
        (ResumeMode::RestOfPhase, "rest-of-phase"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        ResumeMode::ALL[self as usize].1
    }
}

/// For how long the array is still busy, and what becomes of the phase.
pub type SuspendPoint = Option<(Span, ResumeMode)>;
