//! When drives may do what need not be done now, such as collecting garbage ahead of need (the Non-Deterministic Window
//! of NVMe's Predictable Latency Mode, NVM Express Base 2.0, 8.16), so that the others answer without it meanwhile.
//!
//! Contract: a policy sees which turn it is, the number of a place among those that share stripes, how many these are,
//! how many of them a stripe can do without, and how many of them have fewer requests under way. It answers whether the
//! window of the drive in that place is open.

mod contract;
mod shortest_queue;
mod staggered;
mod together;

pub use contract::Place;

units::choices! {
    /// When the windows of drives are open.
    pub enum Coordinate {
        /// There are no windows: each drive collects when it must.
        None = "none",
        /// By turns, as many at a time as a stripe can do without.
        Staggered = "staggered",
        /// In each turn those with the fewest requests under way, as many at a time as a stripe can do without.
        ShortestQueue = "shortest-queue",
        /// All at the same time, as long in all as staggered ones.
        Together = "together",
    }
}

impl Coordinate {
    /// Whether the window of a place is open in a turn.
    pub fn is_open(self, turn: u64, place: Place) -> bool {
        match self {
            Coordinate::None => false,
            Coordinate::Staggered => staggered::is_open(turn, place),
            Coordinate::ShortestQueue => shortest_queue::is_open(place),
            Coordinate::Together => together::is_open(turn, place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_open_by_turns_or_together_and_as_long() {
        let open = |policy: Coordinate, turn: u64, sharing: usize, spare: usize| -> Vec<usize> {
            let rank = |number: usize| sharing - 1 - number;
            let place = |number| Place { number, sharing, spare, rank: rank(number) };
            (0..sharing).filter(|number| policy.is_open(turn, place(*number))).collect()
        };
        let of = |policy, sharing, spare| (0..4).map(|turn| open(policy, turn, sharing, spare)).collect::<Vec<_>>();
        assert_eq!(of(Coordinate::Staggered, 3, 1), [vec![0], vec![1], vec![2], vec![0]]);
        assert_eq!(of(Coordinate::Staggered, 5, 2), [vec![0, 1], vec![2, 3], vec![4], vec![0, 1]]);
        assert_eq!(of(Coordinate::Together, 3, 1), [vec![0, 1, 2], vec![], vec![], vec![0, 1, 2]]);
        assert_eq!(of(Coordinate::ShortestQueue, 5, 2), [[3, 4]; 4]);
        assert_eq!(of(Coordinate::None, 3, 1), [const { Vec::<usize>::new() }; 4]);
    }
}
