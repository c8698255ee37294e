//! At once: the phase is cancelled and the voltages are reset, unless that has begun. A cancelled program phase has not
//! charged its cells: the verify on resumption shows it, and it is done again.

use super::contract::{InPhase, ResumeMode, SuspendPoint};

pub(super) fn suspend_point(at: InPhase) -> SuspendPoint {
    if at.left <= at.reset {
        return Some((at.left, ResumeMode::NextPhase));
    }
    Some((at.reset, if at.pulse { ResumeMode::VerifyThenRepeat } else { ResumeMode::RepeatPhase }))
}
