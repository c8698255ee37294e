//! When a drive is in a steady state: after SNIA's "Solid State Storage Performance Test Specification" (PTS 2.0.1,
//! section 2.1.24). Over the last five rounds the tracked number stays within 20 % of its mean, and the line fitted
//! to it within 10 %.
//!
//! Tracked are the requests completed a second and, where there are writes, the write amplification: a workload
//! with given arrival times would otherwise be steady at once.

use std::collections::VecDeque;

use units::{Span, Time};

use super::latency::ByQueue;
use super::{Counters, Steps, Usage, Victims};
use crate::device::Device;
use crate::probe::Probe;

/// Rounds of the measurement window.
pub const WINDOW: usize = 5;

/// The state of a device's statistics at one moment.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub counters: Counters,
    pub usage: Usage,
    pub victims: Victims,
    pub steps: Steps,
}

impl Snapshot {
    pub fn of<P: Probe>(device: &Device<P>) -> Snapshot {
        Snapshot {
            counters: device.counters(),
            usage: device.usage(),
            victims: device.victims().clone(),
            steps: device.steps().clone(),
        }
    }
}

/// What became of the search for a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Whether one was reached; the result is then that of its last five rounds.
    pub reached: bool,
    /// Rounds played.
    pub rounds: u64,
    /// Length of a round.
    pub round: Span,
}

struct Round {
    start: Snapshot,
    latencies: ByQueue,
    iops: f64,
    waf: f64,
}

/// Looks for a steady state.
pub(crate) struct Steady {
    round: Span,
    queues: usize,
    end: Time,
    rounds: VecDeque<Round>,
    played: u64,
    reached: Option<Snapshot>,
}

impl Steady {
    pub fn new(round: Span, queues: usize) -> Steady {
        let mut steady =
            Steady { round, queues, end: Time::ZERO + round, rounds: VecDeque::new(), played: 0, reached: None };
        steady.begin(Snapshot::default());
        steady
    }

    /// The first round starts now.
    pub fn start<P: Probe>(&mut self, now: Time, device: &Device<P>) {
        self.rounds.clear();
        self.end = now + self.round;
        self.begin(Snapshot::of(device));
    }

    fn begin(&mut self, start: Snapshot) {
        self.rounds.push_back(Round { start, latencies: ByQueue::new(self.queues), iops: 0.0, waf: 0.0 });
    }

    /// When the present round ends; never once a steady state was found.
    pub fn round_end(&self) -> Time {
        if self.reached.is_some() { Time::NEVER } else { self.end }
    }

    /// Where the present round's latencies go.
    pub fn latencies(&mut self) -> &mut ByQueue {
        &mut self.rounds.back_mut().expect("Invariant: there is a present round").latencies
    }

    /// Ends the present round; whether the state is steady.
    pub fn close<P: Probe>(&mut self, device: &Device<P>) -> bool {
        let now = Snapshot::of(device);
        let round = self.rounds.back_mut().expect("Invariant: there is a present round");
        let done = now.counters.since(&round.start.counters);
        round.iops = done.requests_completed as f64 / self.round.as_s();
        let pages = done.write_bytes as f64 / device.plan().layout.page_size.0 as f64;
        round.waf = if pages > 0.0 { done.pages_programmed as f64 / pages } else { 0.0 };
        self.played += 1;
        self.end = self.end + self.round;
        let of = |value: fn(&Round) -> f64| -> Vec<f64> { self.rounds.iter().map(value).collect() };
        if self.rounds.len() == WINDOW && is_steady(&of(|round| round.iops)) && is_steady(&of(|round| round.waf)) {
            self.reached = Some(now);
            // What still completes belongs to nothing.
            self.begin(Snapshot::default());
            return true;
        }
        if self.rounds.len() == WINDOW {
            self.rounds.pop_front();
        }
        self.begin(now);
        false
    }

    /// What was found, and where it was: start and end of the window, and its latencies.
    pub fn finish(mut self) -> (SteadyState, Option<(Snapshot, Snapshot, ByQueue)>) {
        let state = SteadyState { reached: self.reached.is_some(), rounds: self.played, round: self.round };
        let window = self.reached.take().map(|end| {
            let mut latencies = ByQueue::new(self.queues);
            self.rounds.iter().take(WINDOW).for_each(|round| latencies.add(&round.latencies));
            (self.rounds[0].start.clone(), end, latencies)
        });
        (state, window)
    }
}

/// The rule, for one number over the window's rounds.
fn is_steady(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let middle = (n - 1.0) / 2.0;
    let (mut above, mut below) = (0.0, 0.0);
    for (x, value) in values.iter().enumerate() {
        above += (x as f64 - middle) * (value - mean);
        below += (x as f64 - middle).powi(2);
    }
    let rise = (above / below * (n - 1.0)).abs();
    high - low <= 0.2 * mean && rise <= 0.1 * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_is_within_20_percent_and_without_a_trend_above_10() {
        assert!(is_steady(&[100.0, 95.0, 105.0, 99.0, 101.0]));
        assert!(!is_steady(&[100.0, 79.0, 100.0, 100.0, 100.0]), "one round is too far off");
        assert!(!is_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), "it rises by 12 %");
        assert!(is_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]));
        assert!(is_steady(&[0.0; 5]), "no writes, no amplification");
    }
}
