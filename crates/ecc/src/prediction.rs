//! Read-retry prediction (hpca24 sections IV-B and V): a page whose syndrome weight is above ρ_s is taken to be
//! uncorrectable.
//!
//! The pruned prediction looks at the 1024 syndromes of the first block row alone. Codewords are stored rearranged,
//! each segment rotated to the left by its shift in that row, so that on the die these syndromes are the plain XOR of
//! the 36 segments. At equal numbers of errors a larger weight means that fewer errors share a check, and so *more*
//! decodable: the prediction works because more errors make more weight, not because weight itself is bad.

use units::Stream;

use crate::code::{COLUMNS, Code, LIMBS, ROWS, SIZE, Segment, Word, ZERO, rotated};
use crate::encoder::Encoder;

/// Which syndromes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndromes {
    /// All 4096.
    All,
    /// The 1024 of the first block row (hpca24 section V-A).
    Pruned,
}

impl Syndromes {
    /// Block rows that are looked at.
    pub fn rows(self) -> usize {
        match self {
            Syndromes::All => ROWS,
            Syndromes::Pruned => 1,
        }
    }

    /// How many syndromes.
    pub fn count(self) -> usize {
        self.rows() * SIZE
    }
}

/// The expected weight of the syndromes of a word in which every bit is wrong with probability `rber`: a check of n
/// bits sees an odd number of errors with probability (1 - (1 - 2 rber)^n) / 2.
pub fn expected_weight(code: &Code, rber: f64, syndromes: Syndromes) -> f64 {
    let odd = |row: usize| {
        let bits = code.shifts[row].iter().filter(|shift| **shift != ZERO).count();
        (1.0 - (1.0 - 2.0 * rber).powi(bits as i32)) / 2.0 * SIZE as f64
    };
    (0..syndromes.rows()).map(odd).sum()
}

/// A codeword as it is stored: each segment rotated to the left by its shift in the first block row (hpca24 Fig. 15).
pub fn rearranged(code: &Code, word: &Word) -> Word {
    let mut stored = word.clone();
    for (segment, shift) in stored.0.iter_mut().zip(code.shifts[0]) {
        *segment = rotated(segment, shift.into());
    }
    stored
}

/// The codeword of what was stored.
pub fn restored(code: &Code, stored: &Word) -> Word {
    let mut word = stored.clone();
    for (segment, shift) in word.0.iter_mut().zip(code.shifts[0]) {
        *segment = rotated(segment, (SIZE - usize::from(shift)) % SIZE);
    }
    word
}

/// The pruned weight by the on-die datapath (hpca24 Fig. 16): 128-bit words of the page buffer, a segment register, a
/// syndrome register and an accumulator. Returns the weight and the words fetched.
pub fn on_die_weight(stored: &Word) -> (u32, u32) {
    let word = |segment: &Segment, at: usize| u128::from(segment[2 * at]) | u128::from(segment[2 * at + 1]) << 64;
    let (mut accumulator, mut fetched) = (0, 0);
    for at in 0..LIMBS / 2 {
        let mut syndrome_reg = 0u128;
        for segment in stored.0.iter() {
            let segment_reg = word(segment, at);
            fetched += 1;
            syndrome_reg ^= segment_reg;
        }
        accumulator += syndrome_reg.count_ones();
    }
    (accumulator, fetched)
}

/// Whether the prediction is that a word cannot be corrected.
pub fn predicts_failure(code: &Code, word: &Word, syndromes: Syndromes, threshold: u32) -> bool {
    code.weight(word, syndromes.rows()) > threshold
}

/// Words of the page buffer that a pruned prediction fetches. The 2.5 us of hpca24 section V-B are those of 4 KiB; with
/// the parity, which the syndromes need too, it is an eighth more.
pub const FETCHES: u32 = (COLUMNS * SIZE / 128) as u32;

/// The highest raw bit error rate of [`rearranged_differs`]: beyond what pages are read with.
const MOST_RBER: f64 = 0.02;

/// Of this many random codewords, each with errors at an RBER of its own, those whose pruned weight by the on-die
/// datapath is not that by the matrix, or that are not what was written when they are restored: none.
pub fn rearranged_differs(code: &Code, words: u64, seed: u64) -> u64 {
    let encoder = Encoder::new(code).expect("Invariant: the code's parity part can be inverted");
    let draws = Stream::new(seed, "rearranged");
    let differs = |number: &u64| {
        let (data, errors) = (draws.entity(2 * number), draws.entity(2 * number + 1));
        let segment = |at: usize| std::array::from_fn(|limb| data.bits((at * LIMBS + limb) as u64));
        let mut word = encoder.encode(&std::array::from_fn(segment));
        // Counters 0 and up place the errors.
        word.add_errors(MOST_RBER * (1.0 - errors.uniform(u64::MAX)), errors);
        let stored = rearranged(code, &word);
        on_die_weight(&stored) != (code.weight(&word, 1), FETCHES) || restored(code, &stored) != word
    };
    (0..words).filter(differs).count() as u64
}
