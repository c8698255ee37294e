//! How a part of a stripe is written where there is more than one way to the new parity.
//!
//! Contract: a policy sees the ways that are possible, the reconstruct-write before the read-modify-write, each with
//! what it reads. It answers which one is taken.

mod contract;
mod fewest_reads;
mod preferred;

pub use contract::{Way, WriteKind};

units::choices! {
    /// Which way a part of a stripe is written.
    pub enum Rewrite {
        /// Whichever reads fewer bytes, as Linux md does.
        FewestReads = "fewest-reads",
        /// The old data and the old parity are read, wherever they can be.
        ReadModifyWrite = "read-modify-write",
        /// The data that is not written is read, wherever it can be.
        Reconstruct = "reconstruct",
        /// None: what is written goes to whole slices of other stripes.
        Log = "log",
    }
}

impl Rewrite {
    /// Which of the ways is taken, of which there is one at least.
    pub fn choose(self, ways: &[Way]) -> usize {
        match self {
            // What a log writes needs no old data; where it must, as few as can be.
            Rewrite::FewestReads | Rewrite::Log => fewest_reads::choose(ways),
            Rewrite::ReadModifyWrite => preferred::choose(ways, WriteKind::ReadModifyWrite),
            Rewrite::Reconstruct => preferred::choose(ways, WriteKind::Reconstruct),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_take_their_way_where_it_is_possible() {
        let way = |kind, bytes, requests| Way { kind, bytes, requests };
        let both = [way(WriteKind::Reconstruct, 96, 3), way(WriteKind::ReadModifyWrite, 64, 2)];
        let chosen = |policy: Rewrite, ways: &[Way]| ways[policy.choose(ways)].kind;
        assert_eq!(chosen(Rewrite::FewestReads, &both), WriteKind::ReadModifyWrite);
        assert_eq!(chosen(Rewrite::ReadModifyWrite, &both), WriteKind::ReadModifyWrite);
        assert_eq!(chosen(Rewrite::Reconstruct, &both), WriteKind::Reconstruct);
        assert_eq!(chosen(Rewrite::Reconstruct, &both[1..]), WriteKind::ReadModifyWrite);
        let same = [way(WriteKind::Reconstruct, 64, 2), way(WriteKind::ReadModifyWrite, 64, 2)];
        assert_eq!(chosen(Rewrite::FewestReads, &same), WriteKind::Reconstruct);
    }
}
