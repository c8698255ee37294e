//! The vendor's retry table, step by step (asplos21 section 2.4). A read that began further on turns to the steps before
//! its start when the table ends.

use super::Failed;

pub(super) fn step(failed: Failed) -> Option<u8> {
    let next = if failed.step == failed.last { 0 } else { failed.step + 1 };
    (next != failed.start).then_some(next)
}
