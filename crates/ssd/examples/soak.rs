//! Plays random devices of every axis against every invariant: `make soak N=50000`.
//!
//! `soak N` plays seeds from 1 on until N devices were accepted; `soak seed S` plays one seed and prints its command;
//! further settings of its device may follow (`host.timeout=none`). `soak arrays N` and `soak array S` do the same with
//! random arrays of random devices. With `zones` before it only those that have zones are played, and with `from S`
//! behind it seeds from S on: `soak zones 1000 from 20000`, `soak zones arrays 1000`. `soak each FROM TO` and `soak
//! each arrays FROM TO` print a line for each of these seeds as soon as it has ended, for a campaign that goes on
//! behind a seed that hangs (`tests/campaigns.py devices N`). `soak digest N` prints a line for each of N seeds, `soak
//! zones digest N from S` for N of those that have zones: two versions of the simulator give the same results where
//! their lines are the same. No name of a key or a statistic goes into a digest.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Drive, RunError};
use testing::arrays;
use testing::soak::{self, Case, Seeds, Verdict};
use units::Time;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n > 0);
    let mut words = words.iter().map(String::as_str).collect::<Vec<_>>();
    let from = match words[..] {
        [.., "from", first] => number(first).inspect(|_| words.truncate(words.len() - 2)),
        _ => None,
    };
    let zones = words.first() == Some(&"zones");
    let words = words[usize::from(zones)..].to_vec();
    let seeds = Seeds { first: from.unwrap_or(1), ..Seeds::ALL };
    let seeds = if zones { Seeds::of_zones(seeds.first) } else { seeds };
    match words[..] {
        [wanted] if number(wanted).is_some() => campaign(soak::soak, seeds, number(wanted).unwrap_or(1)),
        ["arrays", wanted] if number(wanted).is_some() => campaign(arrays::soak, seeds, number(wanted).unwrap_or(1)),
        ["array", seed] if number(seed).is_some() => {
            let case = arrays::nth(number(seed).unwrap_or(1));
            println!("{}", case.how());
            tell(arrays::verdict(&case));
            ExitCode::SUCCESS
        }
        ["each", from, to] | ["each", "arrays", from, to] if number(from).is_some() && number(to).is_some() => {
            std::panic::set_hook(Box::new(|_| {}));
            for seed in number(from).unwrap_or(1)..=number(to).unwrap_or(0) {
                print!("{seed} ");
                tell(if words[1] == "arrays" {
                    arrays::verdict(&arrays::nth(seed))
                } else {
                    soak::verdict(&soak::nth(seed))
                });
            }
            ExitCode::SUCCESS
        }
        ["digest", wanted] if number(wanted).is_some() => {
            digests(seeds, number(wanted).unwrap_or(1));
            ExitCode::SUCCESS
        }
        ["seed", seed, ref settings @ ..] if number(seed).is_some() => {
            let mut case = soak::nth(number(seed).unwrap_or(1));
            case.device.extend(settings.iter().map(|word| (*word).to_owned()));
            println!("{}", case.command());
            tell(soak::verdict(&case));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: soak [zones] N [from S] (devices to accept), soak seed S [KEY=VALUE …], soak [zones] arrays N \
                 [from S], soak array S, soak each [arrays] FROM TO, or soak [zones] digest N [from S] (seeds)"
            );
            ExitCode::from(2)
        }
    }
}

fn tell(verdict: Verdict) {
    match verdict {
        Verdict::Passed => println!("passed"),
        Verdict::Refused(key) => println!("refused for {key}"),
        Verdict::Failed(text) => println!("failed: {text}"),
    }
}

/// Plays these seeds until this many cases were accepted, on all cores.
fn campaign(soak: fn(Seeds, u64, usize) -> (String, Vec<String>), seeds: Seeds, wanted: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (report, failures) = soak(seeds, wanted, threads);
    println!("{report}");
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the digests of this many of these seeds, in their order: of devices without zones, or of devices with zones.
fn digests(seeds: Seeds, wanted: u64) {
    let has_zones = seeds.step > 1;
    let case = |seed| if has_zones { soak::nth(seed) } else { soak::draw(seed) };
    let (next, lines) = (AtomicU64::new(0), Mutex::new(vec![String::new(); wanted as usize]));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= wanted {
                        break;
                    }
                    let drawn = case(seeds.first + at * seeds.step);
                    let line = digest(&drawn).unwrap_or_else(|error| error.to_string().replace('\n', " "));
                    lines.lock().expect("Invariant: no thread has panicked")[at as usize] = line;
                }
            });
        }
    });
    let lines = lines.into_inner().expect("Invariant: no thread has panicked");
    for (at, line) in (0..).zip(lines) {
        println!("{} {line}", seeds.first + at * seeds.step);
    }
}

/// How far a case was played within 100 simulated seconds, and the sum over its statistics of a hash of each value.
fn digest(case: &Case) -> Result<String, RunError> {
    let Ok(config) = soak::configuration(case) else { return Ok("refused".into()) };
    let source = soak::source(case, config.plan()?.capacity())?;
    let plan = RunOptions {
        replay: Replay::Closed(case.depth),
        requests: Some(case.requests),
        seed: case.seed,
        ..RunOptions::default()
    };
    let mut run = Run::new(&config, source, plan, None)?;
    let mut ended = false;
    while !ended && run.device().now() < Time(100_000_000_000) {
        // A step may end before this many requests.
        let target = run.counts().0 + 1 + case.requests / 5;
        while !ended && run.counts().0 < target {
            ended = run.step(target - run.counts().0)?;
        }
    }
    let outcome = run.finish()?;
    let values = outcome.report().0.into_iter().map(|statistic| statistic.value.to_string());
    let sum = values.fold(0, |sum: u64, value| sum.wrapping_add(hash(value.as_bytes())));
    let (events, now) = (outcome.device.counters().events, outcome.device.now().0);
    Ok(format!("{events} events, {now} ns, {sum:016x}"))
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
