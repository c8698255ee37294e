//! Fail-bit-count-based erase latency prediction (electronics25 section 4 and Table 1). The first loop begins with a
//! short pulse, whose fail bits determine how long the rest of it must be.

use nand::ept::{FIRST, Spare};

use super::contract::{Pulse, Verified};

pub(super) fn next(seen: Verified<'_>) -> Option<Pulse> {
    let Some(last) = seen.last else {
        return Some(Pulse { index: 0, grains: FIRST.min(seen.grains), last: false });
    };
    if last.last && seen.spare != Spare::None {
        return None; // What it has left was chosen.
    }
    // The rest of the first loop, or the next loop.
    let rest = seen.pulses == 1 && FIRST < seen.grains;
    let index = if rest { 0 } else { last.index + 1 };
    let full = if rest { seen.grains - FIRST } else { seen.grains };
    // Above the last range, and where the loop cannot end the erase, there is nothing to shorten (F_HIGH).
    let grains = seen.range.map(|range| seen.ept.grains(index, range, seen.spare)).filter(|grains| *grains < full);
    Some(Pulse { index, grains: grains.unwrap_or(full), last: grains.is_some() })
}
