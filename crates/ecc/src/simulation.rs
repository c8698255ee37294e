//! Counts of decoding and prediction over many words, on several threads. The counts do not depend on the number of
//! threads.

use std::sync::atomic::{AtomicU64, Ordering};

use units::Stream;

use crate::code::{BITS, Code, Word};
use crate::decoder::{Decoder, ITERATIONS, Received, Schedule};
use crate::prediction::Syndromes;
use crate::soft::{Channel, Fineness};

/// How errors fall on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Every bit by itself (binary symmetric channel).
    Independent,
    /// Exactly RBER × bits of them, as hpca24 section IV-B generates test pages of the same RBER.
    Exact,
}

/// Counts over words with the same RBER.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Words.
    pub words: u64,
    /// Words that were not decoded to what was stored: not converged, or to another codeword.
    pub failures: u64,
    /// Of these, words that were decoded to another codeword.
    pub miscorrected: u64,
    /// Iterations, of all words.
    pub iterations: u64,
    /// Words by iterations, 0 to the most.
    pub by_iterations: Vec<u64>,
    /// Words by syndrome weight of the first block row, then by whether they failed.
    pub pruned: Vec<[u64; 2]>,
    /// Words by the weight of all syndromes, then by whether they failed.
    pub all: Vec<[u64; 2]>,
}

impl Counts {
    fn new() -> Counts {
        Counts {
            by_iterations: vec![0; ITERATIONS as usize + 1],
            pruned: vec![[0; 2]; Syndromes::Pruned.count() + 1],
            all: vec![[0; 2]; Syndromes::All.count() + 1],
            ..Counts::default()
        }
    }

    /// Adds what others have counted.
    pub fn add(&mut self, other: &Counts) {
        self.words += other.words;
        self.failures += other.failures;
        self.miscorrected += other.miscorrected;
        self.iterations += other.iterations;
        let sums = self.by_iterations.iter_mut().zip(&other.by_iterations);
        sums.for_each(|(sum, count)| *sum += count);
        for (mine, theirs) in [(&mut self.pruned, &other.pruned), (&mut self.all, &other.all)] {
            for (sum, count) in mine.iter_mut().zip(theirs) {
                (sum[0], sum[1]) = (sum[0] + count[0], sum[1] + count[1]);
            }
        }
    }

    /// Words whose decoding a threshold predicts correctly: a weight above the threshold predicts a failure.
    pub fn correct_predictions(&self, syndromes: Syndromes, threshold: u32) -> u64 {
        let weights = match syndromes {
            Syndromes::All => &self.all,
            Syndromes::Pruned => &self.pruned,
        };
        let correct =
            |(weight, [fine, failed]): (usize, &[u64; 2])| if weight > threshold as usize { *failed } else { *fine };
        weights.iter().enumerate().map(correct).sum()
    }
}

/// Words that a thread takes at a time.
const BATCH: u64 = 16;

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// Raw bit error rate.
    pub rber: f64,
    /// How errors fall. What is sensed more than once has independent ones.
    pub errors: Errors,
    /// How finely pages are sensed.
    pub fineness: Fineness,
    /// The decoder's schedule.
    pub schedule: Schedule,
    /// Seed of all draws.
    pub seed: u64,
}

impl Simulation {
    /// Decodes the words numbered `from..to` on `threads` threads. The code is linear and its decoder symmetric, so the
    /// stored word is that of all zeros (the tests check others).
    pub fn run(&self, code: &Code, from: u64, to: u64, threads: usize) -> Counts {
        let next = AtomicU64::new(from);
        let errors = (self.rber * BITS as f64).round() as usize;
        let draws = Stream::new(self.seed, "frames").entity(self.rber.to_bits());
        let zero = Word::zero();
        let channel = Channel::new(self.rber, self.fineness);
        let work = || {
            let mut decoder = Decoder::new(code);
            let mut counts = Counts::new();
            loop {
                let first = next.fetch_add(BATCH, Ordering::Relaxed);
                if first >= to {
                    return counts;
                }
                for number in first..to.min(first + BATCH) {
                    let draws = draws.entity(number);
                    let (word, beliefs) = if self.fineness == Fineness::Hard {
                        let mut word = Word::zero();
                        match self.errors {
                            Errors::Independent => {
                                word.add_errors(self.rber, draws);
                            }
                            Errors::Exact => word.add_exact_errors(errors, draws),
                        }
                        (word, None)
                    } else {
                        let (beliefs, word) = channel.sense(draws);
                        (word, Some(beliefs))
                    };
                    let (pruned, all) = (code.weight(&word, 1), code.weight(&word, 4));
                    let received = beliefs.as_deref().map_or(Received::Hard(&word), Received::Soft);
                    let decoded = decoder.decode(received, self.schedule, ITERATIONS);
                    let failed = !decoded.converged || decoded.word != zero;
                    counts.words += 1;
                    counts.failures += u64::from(failed);
                    counts.miscorrected += u64::from(failed && decoded.converged);
                    counts.iterations += u64::from(decoded.iterations);
                    counts.by_iterations[decoded.iterations as usize] += 1;
                    counts.pruned[pruned as usize][usize::from(failed)] += 1;
                    counts.all[all as usize][usize::from(failed)] += 1;
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            let mut sum = Counts::new();
            for worker in workers {
                sum.add(&worker.join().expect("Invariant: decoding does not panic"));
            }
            sum
        })
    }
}
