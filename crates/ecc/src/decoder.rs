//! The decoder: normalised min-sum, at most 20 iterations (hpca24 section II-B), layered for speed or flooding; of a
//! word as it was sensed (hard input), or of beliefs in its bits (soft input, [`crate::soft`]).
//!
//! Beliefs and messages are bytes. Rows of a block row are worked on `LANES` at a time, each lane a check: since blocks
//! are circulants, the bits of neighbouring checks lie side by side. A layered pass updates the beliefs after each
//! block row, so that the next one already works with them; a flooding pass updates them at its end.

#![allow(clippy::needless_range_loop)] // Loops over lanes are written so that they become vectors.

use crate::code::{COLUMNS, Code, ROWS, SIZE, Word, ZERO};

/// The magnitude of a received bit's belief. `assumed`: of those tried (5 to 24) the one that takes the fewest
/// iterations at RBER 0.008.
pub const CHANNEL_BELIEF: i8 = 24;
/// The largest magnitude of beliefs and messages.
pub const MAX_BELIEF: i8 = 127;
/// Most iterations (hpca24 section II-B).
pub const ITERATIONS: u32 = 20;
/// Checks at a time.
const LANES: usize = 64;

/// In which order beliefs are updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// After each block row.
    Layered,
    /// After all of them.
    Flooding,
}

/// The result of decoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The word when it ended.
    pub word: Word,
    /// Iterations taken.
    pub iterations: u32,
    /// Whether that is a codeword.
    pub converged: bool,
}

/// What is decoded.
#[derive(Clone, Copy, Debug)]
pub enum Received<'a> {
    /// A word: all its bits are believed alike.
    Hard(&'a Word),
    /// The belief in each of the word's bits, 36,864 of them: positive where it is rather 0, [`MAX_BELIEF`] at most.
    Soft(&'a [i8]),
}

/// The magnitude of a message from the least magnitude of the others: normalised by 3/4 (`assumed`: hpca24 gives no
/// factor; codes of such weights are decoded with 0.65 to 0.8).
#[inline]
pub fn scaled(least: u8) -> u8 {
    least - (least >> 2)
}

/// The bytes of a segment and, once more, its first [`LANES`], so that lanes never wrap around.
type Bytes = [i8; SIZE + LANES];
type Lanes = [i8; LANES];
/// Lanes that share no line of a cache with others.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Aligned(Lanes);
/// The messages of a block row, in the order in which they are worked on.
type Messages = [[Aligned; COLUMNS]; SIZE / LANES];

/// A decoder and its memory.
pub struct Decoder {
    code: Code,
    belief: Box<[Bytes; COLUMNS]>,
    /// The beliefs after a flooding pass.
    next: Box<[Bytes; COLUMNS]>,
    messages: Box<[Messages; ROWS]>,
}

impl Decoder {
    /// A decoder of a code.
    pub fn new(code: &Code) -> Decoder {
        Decoder {
            code: code.clone(),
            belief: zeroed(),
            next: zeroed(),
            messages: vec![[[Aligned([0; LANES]); COLUMNS]; SIZE / LANES]; ROWS]
                .try_into()
                .expect("Invariant: this many rows were made"),
        }
    }

    /// Decodes what was received.
    ///
    /// # Panics
    /// If beliefs are fewer than the bits of a word.
    pub fn decode<'a>(&mut self, received: impl Into<Received<'a>>, schedule: Schedule, iterations: u32) -> Decoded {
        let received = received.into();
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.decode_avx2(received, schedule, iterations) };
        }
        self.decode_anywhere(received, schedule, iterations)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn decode_avx2(&mut self, received: Received<'_>, schedule: Schedule, iterations: u32) -> Decoded {
        self.decode_anywhere(received, schedule, iterations)
    }

    // No closures below: they would not be compiled for the processor's vectors.
    #[inline(always)]
    fn decode_anywhere(&mut self, received: Received<'_>, schedule: Schedule, iterations: u32) -> Decoded {
        received.spread(&mut self.belief);
        let word = match received {
            Received::Hard(word) => word.clone(),
            Received::Soft(_) => signs(&self.belief),
        };
        if self.code.is_codeword(&word) {
            return Decoded { word, iterations: 0, converged: true };
        }
        for iteration in 1..=iterations {
            if schedule == Schedule::Flooding {
                received.spread(&mut self.next);
            }
            for row in 0..ROWS {
                let (shifts, messages) = (&self.code.shifts[row], &mut self.messages[row]);
                let (belief, next) = (&mut *self.belief, &mut *self.next);
                match (schedule, iteration) {
                    (Schedule::Layered, 1) => pass::<false, true>(shifts, belief, next, messages),
                    (Schedule::Layered, _) => pass::<false, false>(shifts, belief, next, messages),
                    (Schedule::Flooding, 1) => pass::<true, true>(shifts, belief, next, messages),
                    (Schedule::Flooding, _) => pass::<true, false>(shifts, belief, next, messages),
                }
            }
            if schedule == Schedule::Flooding {
                std::mem::swap(&mut self.belief, &mut self.next);
            }
            let mut converged = true;
            for row in 0..ROWS {
                converged = converged && satisfied(&self.code.shifts[row], &self.belief);
            }
            if converged || iteration == iterations {
                return Decoded { word: signs(&self.belief), iterations: iteration, converged };
            }
        }
        Decoded { word, iterations: 0, converged: false }
    }
}

impl<'a> From<&'a Word> for Received<'a> {
    fn from(word: &'a Word) -> Received<'a> {
        Received::Hard(word)
    }
}

impl Received<'_> {
    /// The beliefs that decoding begins with.
    #[inline(always)]
    fn spread(self, belief: &mut [Bytes; COLUMNS]) {
        match self {
            Received::Hard(word) => spread(word, belief),
            Received::Soft(beliefs) => {
                for (bytes, beliefs) in belief.iter_mut().zip(beliefs.chunks_exact(SIZE)) {
                    bytes[..SIZE].copy_from_slice(beliefs);
                    bytes.copy_within(..LANES, SIZE);
                }
            }
        }
    }
}

fn zeroed() -> Box<[Bytes; COLUMNS]> {
    vec![[0; SIZE + LANES]; COLUMNS].try_into().expect("Invariant: this many columns were made")
}

/// The beliefs in eight received bits.
const SPREAD: [[i8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut place = 0;
        while place < 8 {
            table[bits][place] = if bits >> place & 1 != 0 { -CHANNEL_BELIEF } else { CHANNEL_BELIEF };
            place += 1;
        }
        bits += 1;
    }
    table
};

/// The beliefs in the bits of a received word.
#[inline(always)]
fn spread(received: &Word, belief: &mut [Bytes; COLUMNS]) {
    for (segment, beliefs) in received.0.iter().zip(belief.iter_mut()) {
        for (limb, beliefs) in segment.iter().zip(beliefs.chunks_exact_mut(64)) {
            for (byte, beliefs) in limb.to_le_bytes().iter().zip(beliefs.chunks_exact_mut(8)) {
                beliefs.copy_from_slice(&SPREAD[usize::from(*byte)]);
            }
        }
        beliefs.copy_within(..LANES, SIZE);
    }
}

/// The signs of the beliefs.
#[inline(always)]
fn signs(belief: &[Bytes; COLUMNS]) -> Word {
    let mut word = Word::zero();
    for (segment, beliefs) in word.0.iter_mut().zip(belief.iter()) {
        for (limb, beliefs) in segment.iter_mut().zip(beliefs.chunks_exact(64)) {
            let mut bits = 0;
            for (place, eight) in beliefs.chunks_exact(8).enumerate() {
                let mut bytes = 0u64;
                for (byte, belief) in eight.iter().enumerate() {
                    bytes |= u64::from(*belief as u8) << (8 * byte);
                }
                // The eight signs, gathered by a product into the highest byte.
                let gathered = (bytes >> 7 & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                bits |= gathered << (8 * place);
            }
            *limb = bits;
        }
    }
    word
}

#[inline(always)]
fn lanes(bytes: &[i8], from: usize) -> &Lanes {
    bytes[from..].first_chunk().expect("Invariant: after each place come this many lanes")
}

#[inline(always)]
fn lanes_mut(bytes: &mut [i8], from: usize) -> &mut Lanes {
    bytes[from..].first_chunk_mut().expect("Invariant: after each place come this many lanes")
}

/// All ones in its first half: a window of it is a mask of some first lanes.
static FIRST_LANES: [i8; 2 * LANES] = {
    let mut masks = [0; 2 * LANES];
    let mut lane = 0;
    while lane < LANES {
        masks[lane] = -1;
        lane += 1;
    }
    masks
};

/// One pass over a block row: messages from the bits, their least magnitudes and signs, and messages back, which are
/// added to what came from the bits, or when `FLOODING` to the next beliefs. When `FIRST`, there are no messages yet.
#[inline(always)]
fn pass<const FLOODING: bool, const FIRST: bool>(
    shifts: &[u16; COLUMNS],
    belief: &mut [Bytes; COLUMNS],
    next: &mut [Bytes; COLUMNS],
    messages: &mut Messages,
) {
    for (group, messages) in messages.iter_mut().enumerate() {
        let check = group * LANES;
        let mut least = [MAX_BELIEF as u8; LANES];
        let mut second = [MAX_BELIEF as u8; LANES];
        let mut negative = [0i8; LANES];
        for column in 0..COLUMNS {
            if shifts[column] == ZERO {
                continue;
            }
            let mut value = *lanes(&belief[column], (check + usize::from(shifts[column])) % SIZE);
            if !FIRST {
                let old = &messages[column].0;
                for lane in 0..LANES {
                    value[lane] = value[lane].saturating_sub(old[lane]);
                }
            }
            for lane in 0..LANES {
                let size = value[lane].unsigned_abs();
                second[lane] = second[lane].min(size.max(least[lane]));
                least[lane] = least[lane].min(size);
                negative[lane] ^= value[lane];
            }
            // The message from the bits is kept where the one back will be.
            messages[column].0 = value;
        }
        // What goes back, before the sign of the bit's own message: to all bits, and what those that sent the least
        // magnitude get on top.
        let (mut to_all, mut added) = ([0i8; LANES], [0i8; LANES]);
        for lane in 0..LANES {
            // All ones where the signs together make it negative.
            let sign = -i8::from(negative[lane] < 0);
            let size = scaled(least[lane]);
            to_all[lane] = (size as i8 ^ sign).wrapping_sub(sign);
            added[lane] = ((scaled(second[lane]) - size) as i8 ^ sign).wrapping_sub(sign);
        }
        for column in 0..COLUMNS {
            if shifts[column] == ZERO {
                continue;
            }
            let at = (check + usize::from(shifts[column])) % SIZE;
            let value = messages[column].0;
            let mut message = [0i8; LANES];
            for lane in 0..LANES {
                // Masks, all ones or none, and a sum: a choice between two bytes would take longer.
                let it = -i8::from(value[lane].unsigned_abs() == least[lane]);
                let sign = -i8::from(value[lane] < 0);
                message[lane] = ((to_all[lane] + (added[lane] & it)) ^ sign).wrapping_sub(sign);
            }
            messages[column].0 = message;
            let place = lanes_mut(if FLOODING { &mut next[column] } else { &mut belief[column] }, at);
            let mut sum = if FLOODING { *place } else { value };
            for lane in 0..LANES {
                sum[lane] = sum[lane].saturating_add(message[lane]).max(-MAX_BELIEF);
            }
            *place = sum;
        }
    }
    wrap_around(shifts, if FLOODING { next } else { belief });
}

/// Makes the lanes beyond the end of each column and its first lanes the same again, after a pass over a block row.
#[inline(always)]
fn wrap_around(shifts: &[u16; COLUMNS], beliefs: &mut [Bytes; COLUMNS]) {
    for column in 0..COLUMNS {
        if shifts[column] != ZERO {
            let bytes = &mut beliefs[column];
            // What was written beyond the end belongs to the beginning; the rest of the beginning to the end. A mask,
            // since copies of any length take longer.
            let beyond = lanes(&FIRST_LANES, LANES - usize::from(shifts[column]) % LANES);
            let (start, end) = (*lanes(bytes, 0), *lanes(bytes, SIZE));
            let mut newest = start;
            for lane in 0..LANES {
                newest[lane] = end[lane] & beyond[lane] | start[lane] & !beyond[lane];
            }
            *lanes_mut(bytes, 0) = newest;
            *lanes_mut(bytes, SIZE) = newest;
        }
    }
}

/// Whether the signs satisfy every check of a block row; ends with the first that does not.
#[inline(always)]
fn satisfied(shifts: &[u16; COLUMNS], belief: &[Bytes; COLUMNS]) -> bool {
    let mut check = 0;
    while check < SIZE {
        let mut negative = [0i8; LANES];
        for column in 0..COLUMNS {
            if shifts[column] != ZERO {
                let beliefs = lanes(&belief[column], (check + usize::from(shifts[column])) % SIZE);
                for lane in 0..LANES {
                    negative[lane] ^= beliefs[lane];
                }
            }
        }
        let mut any = 0;
        for sign in negative {
            any |= sign;
        }
        if any < 0 {
            return false;
        }
        check += LANES;
    }
    true
}
