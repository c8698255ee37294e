//! The bounded form of fuzzing: every input of the corpus, and some thousand mutations of it, which depend on their
//! number alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fuzz::mutate::mutated;
use fuzz::{TARGETS, Target, inputs};

/// Mutations of each target; `FUZZ_MUTATIONS` asks for more.
fn mutations() -> u64 {
    std::env::var("FUZZ_MUTATIONS").ok().and_then(|number| number.parse().ok()).unwrap_or(1500)
}

/// Longer than any input takes, however busy the machine is.
const TOO_LONG: Duration = Duration::from_secs(20);

fn feed(target: &Target, what: &str, input: &[u8]) {
    let began = Instant::now();
    let fed = catch_unwind(AssertUnwindSafe(|| (target.feed)(input)));
    assert!(fed.is_ok(), "{}: {what}: {:?}", target.name, String::from_utf8_lossy(input));
    assert!(began.elapsed() < TOO_LONG, "{}: {what} takes {:?}", target.name, began.elapsed());
}

#[test]
fn no_reader_panics_or_hangs() {
    for target in TARGETS {
        let inputs = inputs(target);
        assert!(!inputs.is_empty(), "{} has a corpus", target.name);
        for (name, input) in &inputs {
            feed(target, name, input);
        }
        for number in 0..mutations() {
            let of = |number: u64| &inputs[(number % inputs.len() as u64) as usize].1;
            let input = mutated(of(number), of(number / 7 + 1), number);
            feed(target, &format!("mutation {number}"), &input);
        }
    }
}

#[test]
fn mutations_depend_on_their_number_alone() {
    assert_eq!(mutated(b"one input", b"another", 7), mutated(b"one input", b"another", 7));
    assert_ne!(mutated(b"one input", b"another", 7), mutated(b"one input", b"another", 8));
}
