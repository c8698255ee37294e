//! The references that last read a page of the same block and group of layers (S. Nie et al., "Adaptive read level
//! recording", IEEE Trans. Reliability 2025, from its abstract).

/// Steps before the recorded one where the table is walked in one direction: pages of a group need a step more or less
/// (`assumed`).
const GUARD: u8 = 1;

pub(super) fn step(last: Option<u8>, walks: bool) -> u8 {
    last.map_or(0, |step| if walks { step.saturating_sub(GUARD) } else { step })
}
