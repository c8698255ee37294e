//! The decoder in its plainest form, a bit and a check at a time, to hold the fast one against.

#![allow(clippy::needless_range_loop)] // As the matrix is read.

use crate::code::{BITS, COLUMNS, Code, ROWS, SIZE, Word, ZERO};
use crate::decoder::{CHANNEL_BELIEF, Decoded, MAX_BELIEF, Received, Schedule, scaled};

/// Decodes as [`crate::Decoder`] does.
pub fn decode(code: &Code, received: Received<'_>, schedule: Schedule, iterations: u32) -> Decoded {
    let of = |bit: usize| match received {
        Received::Hard(word) => if word.bit(bit) { -CHANNEL_BELIEF } else { CHANNEL_BELIEF }.into(),
        Received::Soft(beliefs) => beliefs[bit].into(),
    };
    let channel: Vec<i32> = (0..BITS).map(of).collect();
    let mut belief = channel.clone();
    let mut messages = vec![[[0i32; SIZE]; COLUMNS]; ROWS];
    let hard = |belief: &[i32]| {
        let mut word = Word::zero();
        (0..BITS).filter(|bit| belief[*bit] < 0).for_each(|bit| word.flip(bit));
        word
    };
    let clip = |value: i32| value.clamp(-i32::from(MAX_BELIEF), i32::from(MAX_BELIEF));
    let mut word = hard(&belief);
    for iteration in 0..=iterations {
        if code.is_codeword(&word) {
            return Decoded { word, iterations: iteration, converged: true };
        }
        if iteration == iterations {
            break;
        }
        let mut next = channel.clone();
        for row in 0..ROWS {
            for check in 0..SIZE {
                let at = |column: usize| column * SIZE + (check + usize::from(code.shifts[row][column])) % SIZE;
                let columns: Vec<usize> = (0..COLUMNS).filter(|column| code.shifts[row][*column] != ZERO).collect();
                let from: Vec<i32> = columns
                    .iter()
                    .map(|column| (belief[at(*column)] - messages[row][*column][check]).clamp(-128, 127))
                    .collect();
                for (place, column) in columns.iter().enumerate() {
                    let others = from.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, value)| *value);
                    let least = others.clone().map(i32::abs).min().unwrap_or(0).min(i32::from(MAX_BELIEF));
                    let negative = others.filter(|value| *value < 0).count() % 2 == 1;
                    let size = i32::from(scaled(least as u8));
                    let message = if negative { -size } else { size };
                    messages[row][*column][check] = message;
                    match schedule {
                        Schedule::Layered => belief[at(*column)] = clip(from[place] + message),
                        Schedule::Flooding => next[at(*column)] = clip(next[at(*column)] + message),
                    }
                }
            }
        }
        if schedule == Schedule::Flooding {
            belief = next;
        }
        word = hard(&belief);
    }
    Decoded { word, iterations, converged: false }
}
