//! At the end of the phase, when the voltages have been reset anyway.

use super::contract::{InPhase, ResumeMode, SuspendPoint};

pub(super) fn suspend_point(at: InPhase) -> SuspendPoint {
    Some((at.left, ResumeMode::NextPhase))
}
