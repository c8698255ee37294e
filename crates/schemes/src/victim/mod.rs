//! Which block of a plane garbage collection reclaims next.
//!
//! Contract: a policy sees the full blocks of one plane and names one of them. It never names a block whose reclaiming
//! gains nothing, except where its order demands it (`fifo`), and changes nothing.

mod contract;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;

pub use contract::Candidates;

units::choices! {
    /// Which block garbage collection reclaims next.
    pub enum Victim {
        /// The block with the fewest valid pages (electronics25 Table 2).
        Greedy = "greedy",
        /// The block that was filled first.
        Fifo = "fifo",
        /// The block with the best ratio of space gained times age to pages relocated.
        CostBenefit = "cost-benefit",
        /// The best of this many blocks chosen at random: ten, or N.
        DChoices(u32 = 10 in 1..=1_000_000) = "d-choices",
    }
}

impl Victim {
    /// Whether the policy asks for blocks by their valid pages; otherwise by the order in which they were filled.
    pub fn asks_for_valid(self) -> bool {
        match self {
            Victim::Greedy | Victim::CostBenefit | Victim::DChoices(_) => true,
            Victim::Fifo => false,
        }
    }

    /// The block to reclaim, if any is worth it. `draw` gives random bits.
    pub fn pick(self, blocks: &impl Candidates, draw: impl FnMut() -> u64) -> Option<u32> {
        match self {
            Victim::Greedy => greedy::pick(blocks),
            Victim::Fifo => fifo::pick(blocks),
            Victim::CostBenefit => cost_benefit::pick(blocks),
            Victim::DChoices(choices) => d_choices::pick(blocks, choices, draw),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Valid pages and age of each block; blocks were filled in their order.
    struct Plane(Vec<(u32, u32)>);

    impl Candidates for Plane {
        fn pages(&self) -> u32 {
            100
        }
        fn victim_valid_limit(&self) -> u32 {
            100
        }
        fn least_valid(&self) -> Option<u32> {
            self.0.iter().map(|block| block.0).min()
        }
        fn oldest(&self, valid: u32) -> Option<u32> {
            let with = self.0.iter().zip(0..).filter(|(block, _)| block.0 == valid);
            with.max_by_key(|(block, _)| block.1).map(|(_, number)| number)
        }
        fn first_filled(&self) -> Option<u32> {
            (!self.0.is_empty()).then_some(0)
        }
        fn block(&self, block: u32) -> (u32, u32) {
            self.0[block as usize]
        }
        fn random(&self, draw: u64) -> Option<u32> {
            (!self.0.is_empty()).then(|| (draw % self.0.len() as u64) as u32)
        }
    }

    fn pick(victim: Victim, plane: &Plane) -> Option<u32> {
        let mut draws = 0..;
        victim.pick(plane, || draws.next().unwrap())
    }

    #[test]
    fn each_policy_takes_its_block() {
        let plane = Plane(vec![(70, 10), (40, 9), (10, 1), (50, 90), (10, 2)]);
        assert_eq!(pick(Victim::Greedy, &plane), Some(4));
        assert_eq!(pick(Victim::Fifo, &plane), Some(0));
        // (1-u)/(2u) x age: 2.1, 6.8, 4.5, 45, 9.
        assert_eq!(pick(Victim::CostBenefit, &plane), Some(3));
        // Blocks 0 and 1 are drawn.
        assert_eq!(pick(Victim::DChoices(2), &plane), Some(1));
    }

    #[test]
    fn a_full_block_is_reclaimed_by_fifo_only() {
        let plane = Plane(vec![(100, 5), (100, 3)]);
        let picked = Victim::ALL.iter().map(|choice| pick(choice.value, &plane)).collect::<Vec<_>>();
        assert_eq!(picked, [None, Some(0), None, None]);
        // d-choices that draws full blocks only still finds the one with a stale page.
        let plane = Plane(vec![(100, 5), (100, 3), (99, 1)]);
        assert_eq!(pick(Victim::DChoices(2), &plane), Some(2));
    }

    #[test]
    fn an_empty_block_costs_nothing_and_goes_first() {
        let plane = Plane(vec![(1, 1_000_000), (0, 0)]);
        assert_eq!(pick(Victim::CostBenefit, &plane), Some(1));
        assert_eq!(Victim::ALL.iter().filter_map(|choice| pick(choice.value, &Plane(vec![]))).count(), 0);
    }
}
