//! Which blocks of the chip's own cells have their data relocated into blocks of fewer bits a cell.
//!
//! Contract: a policy sees how often a block has been read since it was erased, and how many retries that took. It says
//! whether its data is to be relocated; nothing is relocated where the cache has no room for it.

mod contract;
mod hot;
mod retries;

pub use contract::BlockReads;

units::choices! {
    /// Data of the chip's own cells that is relocated into the SLC cache.
    pub enum Convert {
        /// None.
        None = "none",
        /// That of blocks which were read so often, a thousand times or N (the number is assumed).
        Hot(u32 = 1_000 in 1..=1_000_000_000) = "hot",
        /// That of blocks whose reads took this many retries, a hundred or N (after RARO, which converts blocks of
        /// hybrid QLC drives by their retries; the number is assumed).
        Retries(u32 = 100 in 1..=1_000_000_000) = "retries",
    }
}

impl Convert {
    /// Whether a block's data is to be relocated.
    pub fn converts(self, block: BlockReads) -> bool {
        match self {
            Convert::None => false,
            Convert::Hot(reads) => hot::converts(block, reads),
            Convert::Retries(many) => retries::converts(block, many),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_blocks_and_blocks_with_retries_are_told_apart() {
        let (hot, slow) = (BlockReads { reads: 1_000, retries: 0 }, BlockReads { reads: 30, retries: 100 });
        let of = |policy: Convert| [hot, slow].map(|block| policy.converts(block));
        assert_eq!(of(Convert::None), [false, false]);
        assert_eq!(of(Convert::Hot(1_000)), [true, false]);
        assert_eq!(of(Convert::Hot(1_001)), [false, false]);
        assert_eq!(of(Convert::Retries(100)), [false, true]);
    }
}
