//! At the end of the phase, when the voltages have been reset anyway.

use super::{Goes, InPhase, LetsGo};

pub(super) fn lets_go(at: InPhase) -> LetsGo {
    Some((at.left, Goes::On))
}
