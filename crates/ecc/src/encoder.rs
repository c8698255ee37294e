//! The systematic encoder: four segments of parity from 32 of data.
//!
//! The parity part of the matrix is a 4 × 4 matrix over the polynomials modulo x^1024 - 1, which over GF(2) is
//! (x - 1)^1024; it can be inverted because it can be at x = 1. The inverse has dense circulants, so that parity is the
//! sum of the rotated syndromes of the data.

use crate::code::{COLUMNS, Code, DATA, LIMBS, ROWS, SIZE, Segment, Word, ZERO, rotated};

/// Encodes data.
pub struct Encoder {
    code: Code,
    /// The inverse of the parity part: block (i, j) is the sum of the identities shifted by the places of its ones.
    inverse: Vec<[Segment; ROWS]>,
}

/// A circulant's first row as a polynomial: the product of two.
fn product(a: &Segment, b: &Segment) -> Segment {
    let mut sum = [0; LIMBS];
    for shift in (0..SIZE).filter(|shift| a[shift / 64] >> (shift % 64) & 1 != 0) {
        // Multiplying by x^shift moves bits up.
        let part = rotated(b, (SIZE - shift) % SIZE);
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum ^= part);
    }
    sum
}

fn added(a: &Segment, b: &Segment) -> Segment {
    std::array::from_fn(|limb| a[limb] ^ b[limb])
}

/// 1 / a: modulo (x - 1)^1024 every a with a(1) = 1 has the order of a power of two, at most 1024: a^1024 = a(x^1024)
/// = 1.
fn inverse(a: &Segment) -> Segment {
    let (mut result, mut power) = (identity(0), *a);
    // a^1023, by squares.
    for _ in 0..10 {
        result = product(&result, &power);
        power = product(&power, &power);
    }
    result
}

fn identity(shift: usize) -> Segment {
    let mut one = [0; LIMBS];
    one[shift / 64] = 1 << (shift % 64);
    one
}

fn ones(a: &Segment) -> u32 {
    a.iter().map(|limb| limb.count_ones()).sum()
}

impl Encoder {
    /// The encoder of a code; none where its parity part cannot be inverted.
    pub fn new(code: &Code) -> Option<Encoder> {
        let mut rows: Vec<[Segment; 2 * ROWS]> = (0..ROWS)
            .map(|row| {
                std::array::from_fn(|column| match column.checked_sub(ROWS) {
                    None if code.shifts[row][DATA + column] == ZERO => [0; LIMBS],
                    None => identity(code.shifts[row][DATA + column].into()),
                    Some(unit) if unit == row => identity(0),
                    Some(_) => [0; LIMBS],
                })
            })
            .collect();
        // Gauss and Jordan; what has an odd number of ones can be divided by.
        for column in 0..ROWS {
            let pivot = (column..ROWS).find(|row| ones(&rows[*row][column]) % 2 == 1)?;
            rows.swap(column, pivot);
            let factor = inverse(&rows[column][column]);
            rows[column] = rows[column].map(|block| product(&factor, &block));
            for row in (0..ROWS).filter(|row| *row != column) {
                let factor = rows[row][column];
                let above = rows[column];
                rows[row] = std::array::from_fn(|at| added(&rows[row][at], &product(&factor, &above[at])));
            }
        }
        let inverse = rows.iter().map(|row| std::array::from_fn(|column| row[ROWS + column])).collect();
        Some(Encoder { code: code.clone(), inverse })
    }

    /// The codeword of 4 KiB of data.
    pub fn encode(&self, data: &[Segment; DATA]) -> Word {
        let mut word = Word::zero();
        word.0[..DATA].copy_from_slice(data);
        let syndromes: [Segment; ROWS] = std::array::from_fn(|row| self.code.syndrome(&word, row));
        for (row, segment) in self.inverse.iter().zip(&mut word.0[DATA..COLUMNS]) {
            for (block, syndrome) in row.iter().zip(&syndromes) {
                // The circulant's row r has its ones at (r + place): each rotates the syndrome to the left.
                for place in (0..SIZE).filter(|place| block[place / 64] >> (place % 64) & 1 != 0) {
                    let part = rotated(syndrome, place);
                    segment.iter_mut().zip(part).for_each(|(sum, part)| *sum ^= part);
                }
            }
        }
        word
    }
}
