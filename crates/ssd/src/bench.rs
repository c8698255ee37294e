//! Timing for the micro-benchmarks, which are ignored tests.

use std::time::Instant;

/// Calls `work` this many times and prints how long one call takes.
pub(crate) fn report(what: &str, times: u64, mut work: impl FnMut(u64)) {
    let start = Instant::now();
    (0..times).for_each(&mut work);
    println!("{what:<60} {:>8.1} ns", start.elapsed().as_nanos() as f64 / times as f64);
}
