//! The latencies of recent reads.

use ssd::persist::state;
use units::Span;

/// Reads that are remembered (assumed: enough for a 99th percentile).
const MOST: usize = 1024;
/// Reads after which the percentile is worked out again (assumed: some tens of times before all remembered reads are
/// others).
const STRETCH: usize = 64;

/// The latencies of the last reads, and a percentile of them as they were when the last stretch of 64 reads ended: it
/// is worked out when it is asked for.
#[derive(Clone, Debug)]
pub struct RecentReads {
    share: f64,
    /// A ring: those that are remembered, and those of the stretch that has not ended.
    latencies: Vec<Span>,
    added: u64,
    /// The percentile, and after how many reads that was.
    known: (u64, Span),
}

state! {
    RecentReads {
        stored { latencies, added }
        rebuilt { share, known }
    }
}

impl RecentReads {
    /// For a percentile, more than 0 and less than 100.
    pub fn new(percentile: f64) -> RecentReads {
        RecentReads { share: percentile / 100.0, latencies: Vec::new(), added: 0, known: (0, Span::ZERO) }
    }

    /// A read has completed.
    #[inline]
    pub fn add(&mut self, latency: Span) {
        let place = (self.added % (MOST + STRETCH) as u64) as usize;
        match self.latencies.get_mut(place) {
            Some(oldest) => *oldest = latency,
            None => self.latencies.push(latency),
        }
        self.added += 1;
    }

    /// The percentile, once 64 reads have completed.
    pub fn percentile(&mut self) -> Option<Span> {
        let ended = self.added - self.added % STRETCH as u64;
        if ended == 0 {
            return None;
        }
        if self.known.0 != ended {
            let ring = (MOST + STRETCH) as u64;
            let places = ended.saturating_sub(MOST as u64)..ended;
            let mut last: Vec<Span> = places.map(|read| self.latencies[(read % ring) as usize]).collect();
            let rank = (last.len() as f64 * self.share).ceil() as usize;
            let index = rank.clamp(1, last.len()) - 1;
            self.known = (ended, *last.select_nth_unstable(index).1);
        }
        Some(self.known.1)
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
