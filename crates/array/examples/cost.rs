//! What a run of an array costs beside runs of its drives alone: CPU time an event, of the same reads of the same
//! drives. `cargo run --release -p array --example cost -- [DRIVES] [REQUESTS OF EACH] [1: alone, 2: as an array, 0:
//! both] [KEY=VALUE ... of the array]`

use std::time::Instant;

use array::{Array, ArrayConfig, MemberDrive};
use ssd::run::{Run, RunOptions};
use ssd::{Config, Device, RunDrive};
use units::Bytes;
use units::section::Section;
use units::value::Scalar;

/// Requests a second to each drive.
const RATE: u64 = 300_000;

fn main() {
    let (keys, numbers): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.contains('='));
    let mut words = numbers.iter().map(|word| word.parse().expect("a number"));
    let (drives, requests): (u64, u64) = (words.next().unwrap_or(8), words.next().unwrap_or(60_000));
    let only = words.next();
    let mut layout = ArrayConfig::default();
    for key in &keys {
        let (key, value) = key.split_once('=').expect("KEY=VALUE");
        layout.set(key, &Scalar::Text(value.into())).expect("a key of the section array");
    }
    let cost = |(seconds, events): (f64, u64)| seconds * 1e9 / events as f64;
    let mut config = ssd::presets::load("tlc").expect("the preset").config;
    config.set("age.pec=2000").expect("a key");
    config.set("age.retention=6mo").expect("a key");
    if only != Some(2) {
        let each = (1..=drives).map(|seed| played(device(&config, seed), 1, requests));
        let alone = each.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        println!("{drives} drives alone: {:.1} ns an event, {} events", cost(alone), alone.1);
    }
    if only != Some(1) {
        let member = |seed| MemberDrive {
            name: format!("drive-{seed}"),
            drive: Box::new(device(&config, seed)),
            spare: false,
            fails_at: None,
            mean_life: None,
        };
        let array = Array::new(&layout, (1..=drives).map(member).collect(), 1).expect("an array");
        let together = played(array, drives, requests);
        println!("as an array: {:.1} ns an event, {} events", cost(together), together.1);
    }
}

fn device(config: &Config, seed: u64) -> Device {
    Device::new(config, seed).expect("a device")
}

/// Wall time \[s] and events of random reads at this many times the rate.
fn played(drive: impl RunDrive, times: u64, requests: u64) -> (f64, u64) {
    let rate = format!("workload.rate_iops={}", RATE * times);
    let count = format!("workload.requests={}", requests * times);
    let words = ["workload.rw=randread", "workload.bs=16KiB", "workload.align=bs", rate.as_str(), count.as_str()];
    let Bytes(size) = drive.capacity();
    let workload = workload::presets::get("default", &words).expect("a workload");
    let source = workload.source(Bytes(size), 7).expect("a source");
    // With a warm-up nothing is played before: the same requests are played in both.
    let options = RunOptions { requests: Some(requests * times), warmup: 1, ..RunOptions::default() };
    let mut run = Run::on(drive, source, options, None).expect("a run");
    let began = Instant::now();
    while !run.step(1 << 20).expect("it plays") {}
    let seconds = began.elapsed().as_secs_f64();
    (seconds, run.device().counters().events)
}
