//! Latency histograms with three significant digits (HDR), by queue and by kind of request.

use hdrhistogram::Histogram;
use units::Span;
use workload::{Op, TaskKind};

use super::unserved::Unserved;

/// The percentiles that are reported: name and quantile.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999), ("p99_9999", 0.999_999)];

/// The latencies of one kind of request.
#[derive(Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    /// Exact, where the histogram is rounded.
    sum: u128,
    max: Span,
    /// Bytes that the requests moved.
    pub bytes: u64,
}

impl Latencies {
    /// No latencies yet.
    pub fn new() -> Latencies {
        let histogram = Histogram::new(3).expect("Invariant: three digits are within what HDR offers");
        Latencies { histogram, sum: 0, max: Span::ZERO, bytes: 0 }
    }

    /// Adds one request.
    #[inline]
    pub fn record(&mut self, latency: Span, bytes: u64) {
        self.histogram.record(latency.0).expect("Invariant: the histogram grows as needed");
        self.sum += u128::from(latency.0);
        self.max = self.max.max(latency);
        self.bytes += bytes;
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Latencies) {
        self.histogram.add(&other.histogram).expect("Invariant: the histogram grows as needed");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.bytes += other.bytes;
    }

    /// All of them together.
    pub fn sum<'a>(mut parts: impl Iterator<Item = &'a Latencies>) -> Latencies {
        let mut sum = parts.next().cloned().unwrap_or_default();
        parts.for_each(|part| sum.add(part));
        sum
    }

    /// Requests of several kinds together. Their bytes are those of data that has moved: a trim names many, and moves
    /// none.
    pub fn together<'a>(kinds: impl Iterator<Item = (Op, &'a Latencies)> + Clone) -> Latencies {
        let moved = kinds.clone().filter(|(op, _)| op.moves_data()).map(|(_, of)| of.bytes).sum();
        Latencies { bytes: moved, ..Latencies::sum(kinds.map(|(_, of)| of)) }
    }

    /// How many requests.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean \[ns], exact; nothing where there were no requests.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The latency that a share of the requests does not exceed \[ns], to three significant digits.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        // The histogram answers with the upper end of a bucket, which may lie above the largest sample.
        (self.count() > 0).then(|| self.histogram.value_at_quantile(share).min(self.max.0))
    }

    /// The largest latency \[ns], exact.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max.0)
    }

    /// The cumulative distribution: latency \[ns] and the share of requests up to it, a point a bucket.
    pub fn distribution(&self) -> Vec<(u64, f64)> {
        let total = self.count() as f64;
        let mut seen = 0;
        self.histogram
            .iter_recorded()
            .map(|bucket| {
                seen += bucket.count_at_value();
                (bucket.value_iterated_to().min(self.max.0), seen as f64 / total)
            })
            .collect()
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

/// Latencies by queue, reads and writes apart; what was not served as asked; and the times of tasks, from the arrival
/// to the last completion.
#[derive(Clone, Default)]
pub struct ByQueue {
    queues: Vec<[Option<Box<Latencies>>; Op::COUNT]>,
    /// Of whole tasks, and of the reads that they begin with.
    tasks: [Option<Box<Latencies>>; 2],
    /// Of all queues.
    pub unserved: Unserved,
}

impl ByQueue {
    /// For this many queues.
    pub fn new(queues: usize) -> ByQueue {
        ByQueue { queues: (0..queues).map(|_| [const { None }; Op::COUNT]).collect(), ..ByQueue::default() }
    }

    /// Adds one task.
    pub fn record_task(&mut self, kind: TaskKind, took: Span) {
        self.tasks[kind as usize].get_or_insert_default().record(took, 0);
    }

    /// The times of tasks, where the workload has any.
    pub fn tasks(&self, kind: TaskKind) -> Option<&Latencies> {
        self.tasks[kind as usize].as_deref()
    }

    /// Adds one request. What is done to a zone moves nothing, however large the zone is.
    #[inline]
    pub fn record(&mut self, queue: usize, op: Op, latency: Span, bytes: u64) {
        let bytes = if matches!(op, Op::Zone(_)) { 0 } else { bytes };
        self.queues[queue][op.number()].get_or_insert_default().record(latency, bytes);
    }

    /// Adds another one's requests, which completed later. Both have the same number of queues.
    pub fn add(&mut self, other: &ByQueue) {
        self.unserved.add(&other.unserved);
        for (sum, part) in self.tasks.iter_mut().zip(&other.tasks) {
            if let Some(part) = part {
                sum.get_or_insert_default().add(part);
            }
        }
        for (queue, more) in self.queues.iter_mut().zip(&other.queues) {
            for (sum, part) in queue.iter_mut().zip(more) {
                if let Some(part) = part {
                    sum.get_or_insert_default().add(part);
                }
            }
        }
    }

    /// All queues together, in the order of [`Op::ALL`]: reads, writes, trims, flushes, and what is done to zones.
    pub fn total(&self) -> [Latencies; Op::COUNT] {
        std::array::from_fn(|op| Latencies::sum(self.queues.iter().filter_map(|queue| queue[op].as_deref())))
    }

    /// The queues that were used: number and all their requests.
    pub fn used(&self) -> impl Iterator<Item = (usize, Latencies)> {
        self.queues.iter().enumerate().filter(|(_, queue)| queue.iter().any(Option::is_some)).map(|(number, queue)| {
            let kinds = Op::ALL.into_iter().zip(queue).filter_map(|(op, of)| Some((op, of.as_deref()?)));
            (number, Latencies::together(kinds))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_three_digits_and_extremes_are_exact() {
        let mut latencies = Latencies::new();
        (1..=1_000_000u64).for_each(|n| latencies.record(Span(n * 100), 1));
        for (_, share) in PERCENTILES {
            let exact = share * 1e8;
            let found = latencies.quantile(share).unwrap() as f64;
            assert!((found - exact).abs() <= exact * 1e-3, "{share}: {found} against {exact}");
        }
        assert_eq!(latencies.mean(), Some(50_000_050.0));
        assert_eq!((latencies.max(), latencies.count(), latencies.bytes), (Some(100_000_000), 1_000_000, 1_000_000));
        assert_eq!(latencies.distribution().last().unwrap().1, 1.0);
    }

    #[test]
    fn queues_add_up() {
        let mut queues = ByQueue::new(4);
        queues.record(1, Op::Read, Span(10), 1);
        queues.record(3, Op::Write, Span(20), 2);
        queues.record(3, Op::Read, Span(30), 4);
        let [reads, writes, ..] = queues.total();
        assert_eq!((reads.count(), reads.bytes, writes.count(), writes.max()), (2, 5, 1, Some(20)));
        assert_eq!(queues.used().map(|(number, sum)| (number, sum.count())).collect::<Vec<_>>(), [(1, 1), (3, 2)]);
    }
}
