//! At once: the phase is cancelled and the voltages are reset, unless that has begun. A cancelled program phase has not
//! charged its cells: the verify on resumption says so, and it is done again.

use super::{Goes, InPhase, LetsGo};

pub(super) fn lets_go(at: InPhase) -> LetsGo {
    if at.left <= at.reset {
        return Some((at.left, Goes::On));
    }
    Some((at.reset, if at.pulse { Goes::AgainAfterVerify } else { Goes::Again }))
}
