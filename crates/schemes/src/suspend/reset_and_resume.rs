//! At once: the pulse generator counts how much of the pulse is left; a verify is done again.

use super::contract::{InPhase, ResumeMode, SuspendPoint};

pub(super) fn suspend_point(at: InPhase) -> SuspendPoint {
    if at.left <= at.reset {
        return Some((at.left, ResumeMode::NextPhase));
    }
    Some((at.reset, if at.pulse { ResumeMode::RestOfPhase } else { ResumeMode::RepeatPhase }))
}
