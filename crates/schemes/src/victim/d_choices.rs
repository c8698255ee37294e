//! The block with the fewest valid pages among d chosen at random: Van Houdt, "A mean field model for a class of
//! garbage collection algorithms in flash-based solid state drives", SIGMETRICS'13. Where none of them
//! gains anything the choice is greedy, so that collection always gains something.

use super::contract::Candidates;
use super::greedy;

pub(super) fn pick(blocks: &impl Candidates, choices: u32, mut draw: impl FnMut() -> u64) -> Option<u32> {
    let drawn = (0..choices).filter_map(|_| blocks.random(draw()));
    let best = drawn.map(|block| (blocks.block(block).0, block)).min_by_key(|(valid, _)| *valid);
    match best {
        Some((valid, block)) if valid < blocks.victim_valid_limit() => Some(block),
        _ => greedy::pick(blocks),
    }
}
