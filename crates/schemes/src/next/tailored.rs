//! A retry table made for the chip, in the order in which its steps read the most pages that are left
//! ([`nand::tailored`]); and from a start that is known to be near, the nearest steps first (M. Ye et al., ASPLOS'24,
//! from its abstract).

use super::contract::{Failed, ReadReference};

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    let ReadReference::Step(step) = failed.v_ref else { return None };
    let next = if failed.start == 0 {
        let tried = failed.table.iter().position(|known| *known == step).map_or(0, |place| place + 1);
        failed.table.get(tried).copied()
    } else {
        nearest(failed.start, step, failed.last)
    };
    next.map(ReadReference::Step)
}

/// The step after `step` in the order start, start + 1, start - 1, start + 2, … between 0 and `last`.
fn nearest(start: u8, step: u8, last: u8) -> Option<u8> {
    let above = |by: u8| start.checked_add(by).filter(|step| *step <= last);
    let below = |by: u8| start.checked_sub(by);
    let by = start.abs_diff(step);
    if step > start { below(by).or_else(|| above(by + 1)) } else { above(by + 1).or_else(|| below(by + 1)) }
}
