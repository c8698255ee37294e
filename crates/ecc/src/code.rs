//! The code: a parity-check matrix of 4 × 36 circulants of 1024 × 1024 (hpca24 section V-A, footnote 6).
//!
//! Block (i, j) is the identity shifted to the right by C(i, j): its row r has its one in column (r + C) mod 1024. So
//! the syndrome of block row i is the XOR of all segments, each rotated to the left by its C. The 32 segments of data
//! have four circulants each; of the four of parity, three have one zero block, without which the matrix could not have
//! full rank: a square of permutations has as many ones in every row, and over GF(2) their sums depend on each other.

use units::Stream;

pub use crate::shifts::SHIFTS;

/// Block rows.
pub const ROWS: usize = 4;
/// Block columns: segments of a codeword.
pub const COLUMNS: usize = 36;
/// Segments with data.
pub const DATA: usize = COLUMNS - ROWS;
/// Rows and columns of a circulant: bits of a segment.
pub const SIZE: usize = 1024;
/// 64-bit words of a segment.
pub const LIMBS: usize = SIZE / 64;
/// Bits of a codeword.
pub const BITS: usize = COLUMNS * SIZE;
/// In place of a shift: the block is zero.
pub const ZERO: u16 = u16::MAX;

/// A segment: bit b is bit b mod 64 of limb b / 64.
pub type Segment = [u64; LIMBS];

/// A codeword, or one with errors: 36 segments, data first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(pub Box<[Segment; COLUMNS]>);

impl Word {
    /// All zeros, which is a codeword.
    pub fn zero() -> Word {
        Word(Box::new([[0; LIMBS]; COLUMNS]))
    }

    /// The bit at a place.
    pub fn bit(&self, place: usize) -> bool {
        self.0[place / SIZE][place % SIZE / 64] >> (place % 64) & 1 != 0
    }

    /// Flips a bit.
    pub fn flip(&mut self, place: usize) {
        self.0[place / SIZE][place % SIZE / 64] ^= 1 << (place % 64);
    }

    /// Flips every bit with probability `rber`, independently; returns how many.
    pub fn add_errors(&mut self, rber: f64, draws: Stream) -> usize {
        // Gaps between errors are geometric.
        let scale = 1.0 / (1.0 - rber).ln();
        let (mut place, mut count, mut errors) = (0usize, 0, 0);
        loop {
            let gap = ((1.0 - draws.uniform(count)).ln() * scale) as usize;
            count += 1;
            place = place.saturating_add(gap);
            if place >= BITS {
                return errors;
            }
            self.flip(place);
            (place, errors) = (place + 1, errors + 1);
        }
    }

    /// Flips exactly `errors` bits, drawn at random.
    pub fn add_exact_errors(&mut self, errors: usize, draws: Stream) {
        let (mut done, mut count) = (0, 0);
        let mut seen = Word::zero();
        while done < errors {
            let place = draws.below(count, BITS as u64) as usize;
            count += 1;
            if !seen.bit(place) {
                seen.flip(place);
                self.flip(place);
                done += 1;
            }
        }
    }

    /// Bits in which two words differ.
    pub fn distance(&self, other: &Word) -> usize {
        let pairs = self.0.iter().flatten().zip(other.0.iter().flatten());
        pairs.map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }
}

/// A segment rotated to the left: its bit b is bit (b + shift) mod 1024 of the given one.
#[inline]
pub fn rotated(segment: &Segment, shift: usize) -> Segment {
    let (limbs, bits) = (shift / 64, shift % 64);
    std::array::from_fn(|index| {
        let low = segment[(index + limbs) % LIMBS];
        if bits == 0 { low } else { low >> bits | segment[(index + limbs + 1) % LIMBS] << (64 - bits) }
    })
}

/// A parity-check matrix by its shifts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The shift of every block, or [`ZERO`].
    pub shifts: [[u16; COLUMNS]; ROWS],
}

impl Default for Code {
    fn default() -> Code {
        Code { shifts: SHIFTS }
    }
}

impl Code {
    /// The zero blocks: one in each but the first row, in parity segments.
    pub fn is_zero(row: usize, column: usize) -> bool {
        row > 0 && column == DATA + row - 1
    }

    /// A code without cycles of length 4, by random search: column by column and row by row a shift is drawn until it
    /// closes no cycle with those before. The committed one is that of seed 1.
    pub fn search(seed: u64) -> Code {
        let draws = Stream::new(seed, "qc-ldpc");
        let mut code = Code { shifts: [[ZERO; COLUMNS]; ROWS] };
        let mut count = 0;
        for column in 0..COLUMNS {
            for row in (0..ROWS).filter(|row| !Code::is_zero(*row, column)) {
                loop {
                    code.shifts[row][column] = draws.below(count, SIZE as u64) as u16;
                    count += 1;
                    if !code.closes(row, column) {
                        break;
                    }
                }
            }
        }
        code
    }

    /// Whether a block lies on a cycle of length 4 with blocks before it.
    fn closes(&self, row: usize, column: usize) -> bool {
        let shift = |row: usize, column: usize| i32::from(self.shifts[row][column]);
        (0..row).filter(|other| self.shifts[*other][column] != ZERO).any(|other| {
            let here = shift(row, column) - shift(other, column);
            (0..column)
                .filter(|before| self.shifts[row][*before] != ZERO && self.shifts[other][*before] != ZERO)
                .any(|before| (here - shift(row, before) + shift(other, before)).rem_euclid(SIZE as i32) == 0)
        })
    }

    /// Whether there is no cycle of length 4.
    pub fn has_girth_6(&self) -> bool {
        let places = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
        !places.filter(|(row, column)| self.shifts[*row][*column] != ZERO).any(|(row, column)| self.closes(row, column))
    }

    /// The syndromes of a block row.
    #[inline]
    pub fn syndrome(&self, word: &Word, row: usize) -> Segment {
        let mut sum = [0; LIMBS];
        for (segment, shift) in word.0.iter().zip(self.shifts[row]) {
            if shift != ZERO {
                let part = rotated(segment, shift.into());
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum ^= part);
            }
        }
        sum
    }

    /// Ones among the syndromes of the first `rows` block rows.
    pub fn weight(&self, word: &Word, rows: usize) -> u32 {
        (0..rows).map(|row| self.syndrome(word, row).iter().map(|limb| limb.count_ones()).sum::<u32>()).sum()
    }

    /// Whether a word is a codeword.
    pub fn is_codeword(&self, word: &Word) -> bool {
        (0..ROWS).all(|row| self.syndrome(word, row) == [0; LIMBS])
    }
}
