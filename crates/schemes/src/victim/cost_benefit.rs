//! The block with the largest (1 - u) / 2u x age, u its share of valid pages, age the pages programmed on the
//! plane since it last lost one: Kawaguchi, Nishioka, Motoda, "A flash-memory based file system", USENIX'95.
//!
//! Among blocks of equal u the oldest is best, so one look at each u finds the best of all.

use super::contract::Candidates;

pub(super) fn pick(blocks: &impl Candidates) -> Option<u32> {
    let least = blocks.least_valid()?;
    if least == 0 {
        return blocks.oldest(0);
    }
    let mut best: Option<(u64, u64, u32)> = None;
    for valid in least..blocks.victim_valid_limit() {
        let Some(block) = blocks.oldest(valid) else { continue };
        // Compared as fractions: gain / cost > best gain / best cost.
        let gain = u64::from(blocks.pages() - valid) * u64::from(blocks.block(block).1);
        let cost = u64::from(valid);
        let better = best.is_none_or(|(g, c, _)| u128::from(gain) * u128::from(c) > u128::from(g) * u128::from(cost));
        if better {
            best = Some((gain, cost, block));
        }
    }
    best.map(|(_, _, block)| block)
}
