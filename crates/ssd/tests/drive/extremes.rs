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

/// What the plan of a device with these settings is refused for, and for which seed 2 it is played otherwise.
fn refused(device: &str, settings: &[&str]) -> Option<String> {
    let mut config = small(device);
    settings.iter().for_each(|word| config.set(word).expect("a setting of every device"));
    match config.plan() {
        Err(error) => {
            assert!(!error.remedy.is_empty(), "{error}");
            error.key
        }
        Ok(_) => {
            play(&config, 2).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            None
        }
    }
}

#[test]
fn sizes_and_times_whose_products_are_beyond_64_bits_are_refused_or_played() {
    // Zones: 2^64 bytes of addresses and more, or tables of them that no memory holds.
    let zones = |settings: &[&str]| refused("zns", &[&["zones.dies=none"], settings].concat());
    for size in ["1TiB", "16TiB", "8000000TiB"] {
        assert_eq!(zones(&[&format!("zones.size={size}")]).as_deref(), Some("zones.size"), "{size}");
    }
    let conventional = ["zones.size=8000000TiB", "zones.conventional=4294967295"];
    assert_eq!(zones(&conventional).as_deref(), Some("zones.blocks"));
    let mut config = small("zns");
    config.set("zones.dies=none").expect("a key of every device");
    let plan = config.plan().expect("it is valid");
    let count = plan.capacity().0 / plan.zone_size().expect("it has zones").0;
    let largest = 16 * plan.layout.raw_pages() / count * plan.layout.page_size.0;
    assert_eq!(zones(&[&format!("zones.size={largest}B")]), None);
    let larger = largest + plan.layout.page_size.0;
    assert_eq!(zones(&[&format!("zones.size={larger}B")]).as_deref(), Some("zones.size"));
    // Power that is cut in some hundred years is not cut in the run.
    assert_eq!(refused("tlc", &["power.cut_at=[random:290y]"]), None);
    // A block of as many pages as a plane may have, and a program of the cache: 2^32 pages and more.
    let long = ["geometry.blocks=1", "geometry.pages=2147483646", "ftl.slc_cache=dynamic"];
    assert!(refused("tlc", &long).is_some());
    // Where nothing is refreshed, nobody asks how long that takes.
    let slow =
        ["ftl.allocation=plane", "chip.t_read=10s", "chip.t_prog=10s", "geometry.blocks=512", "geometry.pages=786432"];
    assert_ne!(refused("tlc", &[&slow[..], &["refresh.period=none"]].concat()).as_deref(), Some("refresh.period"));
    assert_eq!(
        refused("tlc", &[&slow[..], &["refresh.period=1y", "chip.model=none"]].concat()).as_deref(),
        Some("refresh.period")
    );
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
