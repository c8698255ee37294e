//! What a policy of this axis is asked, and what it answers.

/// The full blocks of a plane, as a policy may ask about them.
pub trait Candidates {
    /// Pages of a block.
    fn pages(&self) -> u32;
    /// Reclaiming a block gains something if it has fewer valid pages: programs may have to be padded.
    fn victim_valid_limit(&self) -> u32;
    /// The fewest valid pages that any block has.
    fn least_valid(&self) -> Option<u32>;
    /// Of the blocks with this many valid pages, the one that has lost none for longest.
    fn oldest(&self, valid: u32) -> Option<u32>;
    /// The block that was filled first.
    fn first_filled(&self) -> Option<u32>;
    /// Valid pages of a block, and pages programmed on the plane since it last lost one; of what is no full block more
    /// valid pages than there are.
    fn block(&self, block: u32) -> (u32, u32);
    /// A block chosen at random: the same for the same `draw`.
    fn random(&self, draw: u64) -> Option<u32>;
}
