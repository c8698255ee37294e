//! The vendor's retry table, step by step (asplos21 section 2.4). A read that began further on turns to the steps
//! before its start when the table ends; one that has tried something better begins behind its start.

use super::contract::{Failed, ReadReference};

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    let step = if let ReadReference::Step(step) = failed.v_ref { step } else { failed.start };
    let next = if step >= failed.last { 0 } else { step + 1 };
    (next != failed.start).then_some(ReadReference::Step(next))
}
