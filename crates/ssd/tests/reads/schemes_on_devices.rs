//! Every named scheme runs on every preset device: what a device does not say of itself has a default, and that plays
//! as if it had been given.

use std::collections::BTreeMap;

use schemes::presets::ALL;
use ssd::run::{DeviceWord, Run, RunOptions, device_given};
use ssd::{Config, DeviceSpec, Drive, Replay, Unwatched, presets};
use testing::cases;

/// One die of a preset, with blocks of few pages: a whole wordline of two to five bits each.
const SMALL: [&str; 9] = [
    "geometry.channels=1",
    "geometry.chips=1",
    "geometry.dies=1",
    "geometry.blocks=64",
    "geometry.pages=60",
    "ftl.over_provisioning=1.0",
    "slc.blocks=4",
    "buffer.size=2MiB",
    "age.precondition=closed-form",
];

/// All but those with zones, which no overwriting has aged: `zns` reads as `tlc` does.
fn block_devices() -> impl Iterator<Item = &'static str> {
    presets::names().filter(|name| !["zns", "zn540"].contains(name))
}

fn spec(name: &str, scheme: &str, settings: &[&str]) -> DeviceSpec {
    let words: Vec<String> = SMALL.iter().chain(settings).map(|word| (*word).to_owned()).collect();
    let age = "pec=1500,retention=6mo";
    device_given(DeviceWord::Named(name), Some(scheme), Some(age), &words)
        .unwrap_or_else(|error| panic!("{scheme} on {name}: {error}"))
}

fn device(name: &str, scheme: &str, settings: &[&str]) -> Config {
    spec(name, scheme, settings).config
}

/// Statistics of random reads and writes of 64 KiB, eight at a time.
fn statistics(config: &Config, requests: u64) -> BTreeMap<String, String> {
    let capacity = config.plan().unwrap_or_else(|error| panic!("{error}")).capacity();
    let words = ["workload.rw=randrw", "workload.rwmixread=50", "workload.bs=64KiB"];
    let source = workload::presets::get("default", &words).unwrap().source(capacity, 1).unwrap();
    let options = RunOptions { replay: Replay::Closed(8), requests: Some(requests), ..RunOptions::default() };
    let mut run = Run::watched(config, source, options, None, Unwatched).unwrap();
    while !run.step(requests).unwrap() {}
    let outcome = run.finish().unwrap();
    assert_eq!(outcome.device.counters().requests_completed, requests);
    outcome.report().0.into_iter().map(|found| (found.name.to_string(), found.value.to_string())).collect()
}

/// Of fewer random cases than the whole, as large a part of the pairs is played.
#[test]
fn every_scheme_runs_on_every_device_or_says_that_it_changes_nothing() {
    let every = (256 / cases(256).cases).max(1) as usize;
    for (row, name) in block_devices().enumerate() {
        for (column, scheme) in ALL.iter().enumerate() {
            let DeviceSpec { config, inherited, .. } = spec(name, scheme.name, &[]);
            if (row + column).is_multiple_of(every) {
                statistics(&config, 60);
            }
            let reads = |(axis, choice): &&(&str, &str)| match *axis {
                "start" => *choice != "default",
                "next" => *choice != "table",
                "pipeline" | "predictor" => *choice != "off" && *choice != "none",
                "sensing" => *choice != "default",
                _ => false,
            };
            // A drive whose reads never fail has nothing to retry.
            let in_vain = scheme.choices.iter().any(|choice| reads(&choice)) && config.chip.model.is_none();
            let idle = config.idle_settings(&inherited, &inherited);
            let said = idle.iter().any(|said| said.contains("read."));
            assert_eq!(in_vain, said, "{} on {name}: {idle:?}", scheme.name);
        }
    }
}

#[test]
fn what_a_device_does_not_say_plays_as_if_the_assumed_had_been_given() {
    let same = |name: &str, scheme: &str, given: &[&str]| {
        let assumed = statistics(&device(name, scheme, &[]), 400);
        assert_eq!(assumed, statistics(&device(name, scheme, given), 400), "{scheme} on {name}");
        assumed
    };
    // tPROG = 1200 us as eight loops, tBERS = 3500 us as one.
    let programs =
        ["chip.t_prog=none", "chip.program_loops=8", "chip.t_program_pulse=120us", "chip.t_program_verify=30us"];
    let erases = ["chip.t_bers=none", "chip.erase_loops=1", "chip.t_erase_pulse=3430us", "chip.t_erase_verify=70us"];
    for scheme in ["pes-ips", "pes-ipc"] {
        let found = same("tlc", scheme, &[&programs[..], &erases[..]].concat());
        assert_ne!(found["flash.suspend.programs"], "0", "{scheme}");
    }
    let found = same("tlc", "ssr", &erases);
    assert_ne!(found["flash.suspend.erases"], "0");
    // tR = 90 us on hpca24, of which 24/39 are precharge.
    let t_read = device("hpca24", "ar2", &[]).mean_read().unwrap().0;
    same("hpca24", "ar2", &[&format!("chip.t_pre={}ns", t_read * 24 / 39)]);
    let rif = same("tlc", "rif", &["read.prediction_accuracy=0.987"]);
    assert_ne!(rif["flash.prediction.made"], "0");
    // Blocks of cells whose errors nobody knows are erased as the virtual chip of such cells.
    let pulses = |model: &str| {
        let found = statistics(&device("mqsim", "reo", &[model]), 400);
        ["latency_ns.mean", "loops.mean"].map(|of| found[&format!("flash.erase.{of}")].clone())
    };
    assert_eq!(pulses("chip.model=none"), pulses("chip.model=mlc"));
    assert_ne!(pulses("chip.model=none")[0], "null");
}
