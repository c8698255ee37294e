//! The block with the fewest valid pages; of several the one that has lost none for longest.

use super::contract::Candidates;

pub(super) fn pick(blocks: &impl Candidates) -> Option<u32> {
    let least = blocks.least_valid().filter(|valid| *valid < blocks.victim_valid_limit())?;
    blocks.oldest(least)
}
