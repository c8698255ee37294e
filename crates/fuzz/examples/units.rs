//! Feeds the command layer of NVMe and its transport with mutations of the corpus, and says how many units it has taken: `units [MILLIONS] [FIRST]`.

use std::io::Cursor;

use fuzz::mutate::mutated;
use fuzz::{TARGETS, inputs};
use nvme::tcp::Framing;

/// Units that are read from an input as its connection would read them.
fn units_of(input: &[u8]) -> u64 {
    let Some((first, rest)) = input.get(2..).and_then(|rest| Some((input.first()?, rest))) else { return 0 };
    let mut input = Cursor::new(rest);
    let agreed = match first & 3 {
        0 => Framing::agree(&mut input).ok().map(|(framing, _)| framing),
        digests => Some(Framing { header_digest: digests == 2, data_digest: digests == 3, alignment: 4 }),
    };
    1 + agreed.map_or(0, |framing| std::iter::from_fn(|| framing.read(&mut input).ok()).count() as u64)
}

fn main() {
    let word = |place| std::env::args().nth(place).and_then(|word| word.parse::<u64>().ok());
    let (wanted, first) = (word(1).unwrap_or(1) * 1_000_000, word(2).unwrap_or(0));
    let target = TARGETS.iter().find(|target| target.name == "nvme").expect("Invariant: it is a target");
    let corpus = inputs(target);
    let (mut taken, mut number) = (0, first);
    while taken < wanted {
        let of = |number: u64| &corpus[(number % corpus.len() as u64) as usize].1;
        let input = mutated(of(number), of(number / 7 + 1), number);
        (target.feed)(&input);
        taken += units_of(&input);
        number += 1;
    }
    println!("{taken} units of inputs {first} to {number}");
}
