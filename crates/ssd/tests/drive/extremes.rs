//! Every key at the ends of what it accepts, on every preset: refused with a remedy, or played.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Checker, Config, Device, Probe, RunError, Watch, presets};
use units::Stream;

use testing::cases;

/// Ends of every kind of value, and what lies beside them: a key takes those of its own kind.
const ENDS: &[&str] = &[
    "0",
    "1",
    "2",
    "65535",
    "4294967295",
    "9223372036854775807",
    "-1e300",
    "-1.0",
    "1e-300",
    "0.5",
    "1e300",
    "0ns",
    "1ns",
    "100y",
    "0B",
    "1B",
    "512B",
    "64KiB",
    "7EiB",
    "8000000TiB",
    "0B/s",
    "1B/s",
    "9000000000GB/s",
    "-40C",
    "125C",
    "none",
    "[]",
    "[0]",
    "[1]",
    "[4294967295]",
    "[0ns]",
    "[100y]",
    "uniform:0..100y",
    "page",
];

/// Requests of each run, some of them longer than a small drive.
const REQUESTS: u64 = 200;

/// Small presets: a few dies, whose data is overwritten soon.
fn small(device: &str) -> Config {
    let mut config = presets::load(device).expect("a preset is valid").config;
    let words = ["geometry.channels=2", "geometry.chips=1", "geometry.dies=1", "geometry.blocks=64", "host.timeout=1s"];
    words.iter().for_each(|word| config.set(word).expect("a key of every preset"));
    if config.plan().is_err() {
        config.set("ftl.over_provisioning=2.0").expect("a key of every preset");
    }
    config
}

/// Plays some requests of a device; an error is one that says what is to be done about it.
fn play(config: &Config, seed: u64) -> Result<(), String> {
    let plan = match config.plan() {
        Ok(plan) => plan,
        Err(error) if error.remedy.is_empty() => return Err(format!("{error}: no remedy")),
        Err(_) => return Ok(()),
    };
    let words = ["workload.rw=randrw", "workload.bs=4KiB/80:64KiB/19:64MiB/1", "workload.align=4KiB"];
    let source = workload::presets::get("default", &words).and_then(|load| load.source(plan.capacity(), seed));
    let Ok(source) = source else { return Ok(()) };
    let options = RunOptions { replay: Replay::Closed(8), requests: Some(REQUESTS), seed, ..RunOptions::default() };
    // Every other one with its books kept and compared after every event.
    if seed.is_multiple_of(2) {
        played(Run::watched(config, source, options, None, Watch::checking(Checker::new(&plan))))
    } else {
        played(Run::new(config, source, options, None))
    }
}

/// Plays a run that has been begun.
fn played<P: Probe>(begun: Result<Run<Device<P>>, RunError>) -> Result<(), String> {
    let mut run = match begun {
        Ok(run) => run,
        Err(RunError::Config(_)) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    for _ in 0..2000 {
        match run.step(10) {
            Ok(false) => {}
            // Some of these drives are too slow for any host, or wear out with their first erase.
            Ok(true) | Err(RunError::NoProgress { .. } | RunError::BeyondHorizon { .. }) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    run.device().check()
}

/// Every setting that a key takes: preset, and what is set.
fn settings() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for device in presets::names() {
        let config = presets::load(device).expect("a preset is valid").config;
        for section in config.sections() {
            for key in section.keys() {
                let words = ENDS.iter().map(|end| format!("{}.{}={end}", section.name(), key.name));
                all.extend(words.filter(|word| config.clone().set(word).is_ok()).map(|word| (device, word)));
            }
        }
    }
    all
}

#[test]
fn every_key_at_its_ends_is_refused_or_played() {
    let (all, drawn) = (settings(), Stream::new(1, "extremes"));
    let (cases, mut failures) = (u64::from(cases(1000).cases), Vec::new());
    for place in 0..cases.min(all.len() as u64) {
        // A preset has some thousand settings: few cases meet all keys, and enough of them all settings.
        let (device, word) = &all[((place * 7919 + drawn.below(0, all.len() as u64)) % all.len() as u64) as usize];
        let mut config = small(device);
        config.set(word).expect("it was set before");
        let played = catch_unwind(AssertUnwindSafe(|| play(&config, place)));
        let played = played.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("?")))
        });
        if let Err(error) = played {
            failures.push(format!("{device}, {word}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
