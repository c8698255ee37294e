//! Writes random codewords as a die stores them, rearranged, with errors, and what the predictor says of each, for the
//! co-simulation of `hardware/`: `cargo run --release -p ssdlab-ecc --example codewords -- WORDS SEED`.
//!
//! In 32-bit numbers, the lowest byte first: the threshold; then of each word its 1152 numbers, its pruned syndrome
//! weight and whether it is predicted to fail.

use std::io::Write;

use ecc::code::LIMBS;
use ecc::prediction::{Syndromes, expected_weight, predicts_failure, rearranged};
use ecc::{Code, Encoder};
use units::Stream;

/// The RBER that the code corrects (hpca24 section IV-B).
const CAPABILITY: f64 = 0.0085;

/// The RBERs of the words: evenly from the first to the last.
const RBER: (f64, f64) = (0.002, 0.02);

fn main() -> std::io::Result<()> {
    let [words, seed] = [1, 2].map(|at| std::env::args().nth(at).and_then(|word| word.parse::<u64>().ok()));
    let (Some(words), Some(seed)) = (words, seed) else {
        eprintln!("error: two numbers are needed\n  help: codewords WORDS SEED");
        std::process::exit(2);
    };
    let code = Code::default();
    let encoder = Encoder::new(&code).expect("Invariant: the code's parity part can be inverted");
    let draws = Stream::new(seed, "codewords");
    let threshold = expected_weight(&code, CAPABILITY, Syndromes::Pruned).round() as u32;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    out.write_all(&threshold.to_le_bytes())?;
    for number in 0..words {
        let (data, errors) = (draws.entity(2 * number), draws.entity(2 * number + 1));
        let segment = |at: usize| std::array::from_fn(|limb| data.bits((at * LIMBS + limb) as u64));
        let mut word = encoder.encode(&std::array::from_fn(segment));
        // Counters 0 and up place the errors.
        word.add_errors(RBER.0 + (RBER.1 - RBER.0) * errors.uniform(u64::MAX), errors);
        for limb in rearranged(&code, &word).0.iter().flatten() {
            out.write_all(&limb.to_le_bytes())?;
        }
        out.write_all(&code.weight(&word, 1).to_le_bytes())?;
        let fails = predicts_failure(&code, &word, Syndromes::Pruned, threshold);
        out.write_all(&u32::from(fails).to_le_bytes())?;
    }
    out.flush()
}
