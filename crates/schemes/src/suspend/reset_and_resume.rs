//! At once: the pulse generator counts how much of the pulse is left; a verify is done again.

use super::{Goes, InPhase, LetsGo};

pub(super) fn lets_go(at: InPhase) -> LetsGo {
    if at.left <= at.reset {
        return Some((at.left, Goes::On));
    }
    Some((at.reset, if at.pulse { Goes::OnWithTheRest } else { Goes::Again }))
}
