//! Feeds the command layer of NVMe and its transport with mutations of the corpus, and says how many units it has
//! taken: `units [MILLIONS] [FIRST]`.

use std::time::Instant;

use fuzz::mutate::mutated;
use fuzz::{TARGETS, inputs, units_taken};

/// An input of the corpus takes a power of a number of 2,048 bits, which is a thousand times as long as any other: it
/// has its turn as seldom.
const SLOW: &str = "auth-group";
const SELDOM: u64 = 20_000;

fn main() {
    let word = |place| std::env::args().nth(place).and_then(|word| word.parse::<u64>().ok());
    let (wanted, first) = (word(1).unwrap_or(1) * 1_000_000, word(2).unwrap_or(0));
    let target = TARGETS.iter().find(|target| target.name == "nvme").expect("Invariant: it is a target");
    let (slow, fast): (Vec<_>, Vec<_>) = inputs(target).into_iter().partition(|(name, _)| name == SLOW);
    let began = Instant::now();
    let mut number = first;
    while units_taken() < wanted {
        let corpus = if number % SELDOM == 0 { &slow } else { &fast };
        let of = |number: u64| &corpus[(number % corpus.len() as u64) as usize].1;
        let input = mutated(of(number), of(number / 7 + 1), number);
        (target.feed)(&input);
        number += 1;
    }
    let taken = units_taken();
    let each = taken as f64 / began.elapsed().as_secs_f64();
    println!("{taken} units of inputs {first} to {number}, {each:.0} a second");
}
