//! Arbitration: which submission queue the drive fetches its next command from (NVMe base specification, "Command
//! Arbitration"; the admin queue is not modelled).
//!
//! Every queue belongs to a class. The queues of a class take turns, a burst each. Urgent queues go first; the others
//! share what is left by weights: in a round, each class has as many commands as its weight. Plain round robin is the
//! case in which every queue belongs to the first class.

use crate::config::{Arbitration, HostConfig, QueuePriority};
use crate::persist::{state, stored};

/// A bit for each queue.
type Queues = [u64; 4];

/// Classes that share by weights; the urgent one stands before them.
const WEIGHTED: usize = 3;

/// The queues of a class, which take turns.
#[derive(Clone, Copy, Default)]
struct QueueClass {
    members: Queues,
    /// The queue that was served last.
    turn: usize,
    /// Commands that it may still have in its turn.
    burst: u16,
}

impl QueueClass {
    /// The queue that goes next of those that wait, if one of this class does.
    fn next(&mut self, waiting: &Queues, burst: u16, queues: usize) -> Option<usize> {
        let waits = |queue: usize| waiting[queue / 64] & self.members[queue / 64] & 1 << (queue % 64) != 0;
        if self.burst == 0 || !waits(self.turn) {
            self.turn = (1..=queues).map(|step| (self.turn + step) % queues).find(|queue| waits(*queue))?;
            self.burst = burst;
        }
        self.burst -= 1;
        Some(self.turn)
    }
}

/// The submission queues that wait, and whose turn it is.
pub(crate) struct Arbiter {
    queues: usize,
    /// Queues with commands to fetch.
    waiting: Queues,
    burst: u16,
    /// Urgent, and the weighted ones: high, medium, low.
    classes: [QueueClass; 1 + WEIGHTED],
    weights: [u16; WEIGHTED],
    /// The weighted class that is served, and the commands that it still has in this round.
    served: usize,
    credits: u16,
}

impl Arbiter {
    pub fn new(host: &HostConfig) -> Arbiter {
        let queues = usize::from(host.queues);
        let mut classes = [QueueClass::default(); 1 + WEIGHTED];
        for queue in 0..queues {
            let class = match host.arbitration {
                Arbitration::RoundRobin => 0,
                Arbitration::Weighted => host.priority(queue) as usize,
            };
            classes[class].members[queue / 64] |= 1 << (queue % 64);
        }
        let weights = std::array::from_fn(|class| host.weights.get(class).copied().unwrap_or(1));
        let burst = host.arbitration_burst;
        Arbiter { queues, waiting: [0; 4], burst, classes, weights, served: 0, credits: weights[0] }
    }

    /// A queue has commands to fetch, or none any more.
    pub fn set_waiting(&mut self, queue: usize, waits: bool) {
        let bit = 1 << (queue % 64);
        let word = &mut self.waiting[queue / 64];
        *word = if waits { *word | bit } else { *word & !bit };
    }

    /// The queue whose first command is fetched next.
    pub fn next(&mut self) -> Option<usize> {
        if self.waiting == [0; 4] {
            return None;
        }
        self.classes[QueuePriority::Urgent as usize]
            .next(&self.waiting, self.burst, self.queues)
            .or_else(|| self.next_weighted())
    }

    /// Serves the weighted classes in rounds, each for its credits or until none of its queues waits.
    fn next_weighted(&mut self) -> Option<usize> {
        // Once around, and the first one again with the credits of a new round.
        for _ in 0..=WEIGHTED {
            let class = &mut self.classes[1 + self.served];
            if self.credits > 0
                && let Some(queue) = class.next(&self.waiting, self.burst, self.queues)
            {
                self.credits -= 1;
                return Some(queue);
            }
            class.burst = 0;
            self.served = (self.served + 1) % WEIGHTED;
            self.credits = self.weights[self.served];
        }
        None
    }
}

state! {
    Arbiter { stored { waiting, classes, served, credits } rebuilt { queues, burst, weights } }
}

stored! {
    QueueClass { members, turn, burst }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn host(words: &[String]) -> HostConfig {
        let mut config = crate::Config::default();
        words.iter().for_each(|word| config.set(word).unwrap());
        config.host
    }

    /// The queues in the order in which their commands are fetched, when queue `q` has `left[q]` commands.
    fn order(host: &HostConfig, left: &[u32]) -> Vec<usize> {
        let (mut arbiter, mut left) = (Arbiter::new(host), left.to_vec());
        (0..left.len()).for_each(|queue| arbiter.set_waiting(queue, left[queue] > 0));
        std::iter::from_fn(|| {
            let queue = arbiter.next()?;
            left[queue] -= 1;
            arbiter.set_waiting(queue, left[queue] > 0);
            Some(queue)
        })
        .collect()
    }

    /// The expected order, written out: rings of queues with names for classes, and a list of the turns of a round.
    fn expected(classes: &[&str], weights: [u32; 3], burst: u32, left: &[u32]) -> Vec<usize> {
        let mut left = left.to_vec();
        let mut served = Vec::new();
        let mut rings = ["urgent", "high", "medium", "low"].map(|class| {
            // Queue 0 had its turn before the first command.
            let behind_first = (1..left.len()).chain([0]);
            behind_first.filter(|queue| classes[*queue] == class).collect::<VecDeque<_>>()
        });
        // Gives a class up to `credits` commands.
        let mut serve = |ring: &mut VecDeque<usize>, mut credits: u32, left: &mut Vec<u32>| {
            while credits > 0 && ring.iter().any(|queue| left[*queue] > 0) {
                let queue = ring.pop_front().unwrap();
                let count = burst.min(credits).min(left[queue]);
                served.extend(std::iter::repeat_n(queue, count as usize));
                (left[queue], credits) = (left[queue] - count, credits - count);
                ring.push_back(queue);
            }
        };
        serve(&mut rings[0], u32::MAX, &mut left);
        while left.iter().any(|count| *count > 0) {
            (0..3).for_each(|class| serve(&mut rings[1 + class], weights[class], &mut left));
        }
        served
    }

    const PRIORITIES: [&str; 4] = ["urgent", "high", "medium", "low"];

    proptest! {
        #[test]
        fn the_order_is_that_of_a_model(
            queues in prop::collection::vec((prop::sample::select(PRIORITIES.to_vec()), 0..40u32), 1..12),
            weights in [1..9u32, 1..9u32, 1..9u32],
            burst in 1..6u32,
        ) {
            let (classes, left): (Vec<&str>, Vec<u32>) = queues.into_iter().unzip();
            let host = host(&[
                "host.arbitration=weighted".into(),
                format!("host.queues={}", classes.len()),
                format!("host.priorities=[{}]", classes.join(",")),
                format!("host.weights={weights:?}"),
                format!("host.arbitration_burst={burst}"),
            ]);
            prop_assert_eq!(order(&host, &left), expected(&classes, weights, burst, &left));
        }
    }

    #[test]
    fn urgent_commands_go_first_and_the_others_by_their_weights() {
        let words = ["arbitration=weighted", "queues=5", "priorities=[low,urgent,high,medium,high]", "weights=[3,2,1]"];
        let host = host(&words.map(|word| format!("host.{word}")));
        let found = order(&host, &[3, 2, 4, 3, 2]);
        // Two of the urgent queue; rounds of three from the high ones in turn, two of medium, one of low.
        assert_eq!(found, [1, 1, 2, 4, 2, 3, 3, 0, 4, 2, 2, 3, 0, 0]);
    }

    #[test]
    fn an_urgent_command_interrupts_a_round_which_then_goes_on() {
        let words = ["arbitration=weighted", "queues=3", "priorities=[high,low,urgent]", "weights=[4,1,1]"];
        let host = host(&words.map(|word| format!("host.{word}")));
        let mut arbiter = Arbiter::new(&host);
        [0, 1].into_iter().for_each(|queue| arbiter.set_waiting(queue, true));
        let before: Vec<_> = (0..2).filter_map(|_| arbiter.next()).collect();
        arbiter.set_waiting(2, true);
        let urgent = arbiter.next();
        arbiter.set_waiting(2, false);
        let after: Vec<_> = (0..4).filter_map(|_| arbiter.next()).collect();
        assert_eq!((before, urgent, after), (vec![0, 0], Some(2), vec![0, 0, 1, 0]));
    }
}
