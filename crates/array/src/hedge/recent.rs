//! The latencies of recent reads.

use ssd::persist::state;
use units::Span;

/// Reads that are remembered (assumed: enough for a 99th percentile).
const MOST: usize = 1024;
/// Reads after which the percentile is worked out again (assumed: some tens of times before all remembered reads are others).
const STRETCH: usize = 64;

/// The latencies of the last reads, and a percentile of them, which is brought up to date every 64 reads.
#[derive(Clone, Debug)]
pub struct RecentReads {
    share: f64,
    latencies: Vec<Span>,
    next: usize,
    percentile: Option<Span>,
}

state! {
    RecentReads {
        stored { latencies, next, percentile }
        rebuilt { share }
    }
}

impl RecentReads {
    /// For a percentile, more than 0 and less than 100.
    pub fn new(percentile: f64) -> RecentReads {
        RecentReads { share: percentile / 100.0, latencies: Vec::new(), next: 0, percentile: None }
    }

    /// A read has completed.
    pub fn add(&mut self, latency: Span) {
        if self.latencies.len() < MOST {
            self.latencies.push(latency);
        } else {
            self.latencies[self.next] = latency;
        }
        self.next = (self.next + 1) % MOST;
        if self.next.is_multiple_of(STRETCH) {
            let mut sorted = self.latencies.clone();
            let rank = (sorted.len() as f64 * self.share).ceil() as usize;
            let index = rank.clamp(1, sorted.len()) - 1;
            self.percentile = Some(*sorted.select_nth_unstable(index).1);
        }
    }

    /// The percentile, once 64 reads have completed.
    pub fn percentile(&self) -> Option<Span> {
        self.percentile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_that_of_the_last_reads() {
        let mut recent = RecentReads::new(95.0);
        (1..64).for_each(|n| recent.add(Span(n)));
        assert_eq!(recent.percentile(), None);
        (64..=1024).for_each(|n| recent.add(Span(n)));
        assert_eq!(recent.percentile(), Some(Span(973)), "the 973rd of 1,024");
        (0..1024).for_each(|_| recent.add(Span(7)));
        assert_eq!(recent.percentile(), Some(Span(7)));
    }
}
