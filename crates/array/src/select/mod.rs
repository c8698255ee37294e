//! Which units are read where several would do: the copies of a mirror, the units that a missing one is reconstructed
//! from.
//!
//! Contract: a policy sees the candidates in the order of their units, each with the requests under way to its drive,
//! and how many reads have been chosen so far. It answers with the candidates in the order in which they are taken.

mod contract;
mod primary;
mod round_robin;
mod shortest_queue;

pub use contract::Candidate;

units::choices! {
    /// Which of several drives is read.
    pub enum Select {
        /// The first that has it.
        Primary = "primary",
        /// One after another.
        RoundRobin = "round-robin",
        /// That with the fewest requests under way; the first of those.
        ShortestQueue = "shortest-queue",
    }
}

impl Select {
    /// Puts the candidates in the order in which they are taken, after `chosen` such choices before.
    pub fn order(self, candidates: &mut [Candidate], chosen: u64) {
        match self {
            Select::Primary => primary::order(candidates),
            Select::RoundRobin => round_robin::order(candidates, chosen),
            Select::ShortestQueue => shortest_queue::order(candidates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_order_what_could_be_read() {
        let units = |select: Select, chosen| {
            let mut candidates = [(1, 4), (2, 0), (5, 0)].map(|(unit, outstanding)| Candidate { unit, outstanding });
            select.order(&mut candidates, chosen);
            candidates.map(|candidate| candidate.unit)
        };
        assert_eq!(units(Select::Primary, 1), [1, 2, 5]);
        assert_eq!([0, 1, 2, 3].map(|chosen| units(Select::RoundRobin, chosen)[0]), [1, 2, 5, 1]);
        assert_eq!(units(Select::ShortestQueue, 1), [2, 5, 1]);
    }
}
