//! How far the first requests of a run are from its long run, where it starts in the middle of the drive's life:
//!
//! `cargo run --release -p ssdlab-drive --example stationary -- PRESET REQUESTS WINDOWS SEEDS DEPTH [section.key=value
//! ...]`
//!
//! For each seed one closed loop of that depth, or with a depth of 0 arrivals at the generator's times, in `WINDOWS`
//! windows of `REQUESTS` requests each. A row a window: write amplification, requests a second, mean latency and 99th
//! percentile, each with its ratio to the second half of the windows, which stands for the long run, as the mean of the
//! seeds; then free blocks a plane. As in a run, what is played until the write buffer has filled does not count.
//! Settings of the section `workload` are the generator's.

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Device, Drive};
use units::Time;
use workload::{Generated, PastOfGenerator, Request, Source, Workload};

/// Write amplification, requests a second, mean latency [us], 99th percentile [us], free blocks a plane.
type Row = [f64; 5];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [preset, requests, windows, seeds, depth, settings @ ..] = words.as_slice() else {
        panic!("PRESET REQUESTS WINDOWS SEEDS DEPTH [section.key=value ...]")
    };
    let number = |word: &String| word.parse::<u64>().expect("a number");
    let (requests, windows, seeds, depth) = (number(requests), number(windows), number(seeds), number(depth));
    let mut rows = vec![[0.0; 5]; windows as usize];
    for seed in 1..=seeds {
        let of_seed = play(preset, settings, (requests, windows, depth), seed);
        for (sum, row) in rows.iter_mut().zip(of_seed) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / seeds as f64);
        }
    }
    let later = &rows[windows as usize / 2..];
    let long: Vec<f64> = (0..5).map(|at| later.iter().map(|row| row[at]).sum::<f64>() / later.len() as f64).collect();
    println!(
        "long run: WAF {:.3}, {:.0} IOPS, mean {:.1} us, p99 {:.1} us, {:.2} free",
        long[0], long[1], long[2], long[3], long[4]
    );
    for (number, row) in rows.iter().enumerate() {
        let ratio = |at: usize| 100.0 * (row[at] / long[at] - 1.0);
        println!(
            "window {number:>3}: WAF {:>7.3} {:>+6.1} %  IOPS {:>+6.1} %  mean {:>+6.1} %  p99 {:>+6.1} %  free {:.2}",
            row[0],
            ratio(0),
            ratio(1),
            ratio(2),
            ratio(3),
            row[4]
        );
    }
}

/// The drive as a run with that load begins; without its warm-up where the environment has COLD.
fn start(config: &Config, load: &Workload, seed: u64, depth: u64) -> Device {
    let capacity = config.plan().expect("a possible device").capacity();
    let began = std::time::Instant::now();
    let source = load.source(capacity, seed).expect("a source");
    let source: Box<dyn Source> = match std::env::var("COLD") {
        Ok(_) => source,
        Err(_) => {
            let past = PastOfGenerator::new(load, capacity, seed);
            Box::new(Generated { source, leads: false, past: Some(Box::new(past)) })
        }
    };
    let replay = if depth == 0 { Replay::Timed(1.0) } else { Replay::Closed(depth as u32) };
    let options = RunOptions { seed, replay, ..RunOptions::default() };
    let mut run = Run::new(config, source, options, None).expect("a possible run");
    let mut warmed = (0, 0.0);
    while let Some(so_far) = run.warms() {
        warmed = so_far;
        run.step(65_536).expect("a drive that goes on");
    }
    let took = began.elapsed().as_secs_f64();
    let (pages, waf) = warmed;
    eprintln!(
        "started in {:.1} ms, after {pages} pages ({:.2} million/s) of a write amplification of {waf:.3}",
        took * 1e3,
        pages as f64 / took / 1e6
    );
    run.into_device()
}

fn play(preset: &str, settings: &[String], (requests, windows, depth): (u64, u64, u64), seed: u64) -> Vec<Row> {
    let mut config = ssd::presets::load(preset).expect("a preset").config;
    let (generator, device): (Vec<&str>, Vec<&str>) =
        settings.iter().map(String::as_str).partition(|word| word.starts_with("workload."));
    ["age.precondition=closed-form"].iter().chain(&device).for_each(|word| config.set(word).expect("a valid setting"));
    let endless = [&["workload.rw=randwrite", "workload.requests=1000000000"], generator.as_slice()].concat();
    let generator = workload::presets::get("default", &endless).expect("a generator");
    let mut drive = start(&config, &generator, seed, depth);
    let mut source = generator.source(drive.capacity(), seed).expect("a source");
    let mut batch: Vec<Request> = Vec::new();
    let mut rows = Vec::new();
    let (mut before, mut from) = (drive.counters(), Time::ZERO);
    let mut latencies: Vec<u64> = Vec::new();
    // As a run does, the load is played until the buffer fills no further.
    let (mut settled, mut most, mut before_stretch) = (false, 0, None);
    while rows.len() < windows as usize {
        while if depth == 0 { drive.pending_arrivals() < 32 } else { drive.outstanding() < depth } {
            if batch.is_empty() {
                source.fill(&mut batch, 256).expect("requests");
                batch.reverse();
            }
            let mut request = batch.pop().expect("an endless source");
            if depth > 0 {
                request.time = drive.now();
            }
            drive.submit(request).expect("a possible request");
        }
        drive.advance_to_completion(Time::NEVER).expect("a drive that goes on");
        latencies.extend(drive.take_completions().map(|done| done.finish.since(done.request.time).0));
        most = most.max(drive.buffered_pages());
        if !settled && latencies.len() >= 256 {
            settled = before_stretch.is_some_and(|before| most <= before);
            before_stretch = Some(before_stretch.unwrap_or(0).max(most));
            (before, from, most) = (drive.counters(), drive.now(), 0);
            latencies.clear();
        }
        if settled && latencies.len() as u64 >= requests {
            let now = drive.counters();
            let done = now.since(&before);
            latencies.sort_unstable();
            let (count, took) = (latencies.len(), drive.now().since(from).as_s());
            let waf = done.pages_programmed as f64 * config.plan().expect("a plan").layout.page_size.0 as f64
                / done.bytes_settled as f64;
            let mean = latencies.iter().sum::<u64>() as f64 / count as f64 / 1e3;
            let free = drive.free_blocks().0 as f64 / f64::from(drive.plan().layout.planes);
            rows.push([waf, count as f64 / took, mean, latencies[count * 99 / 100] as f64 / 1e3, free]);
            (before, from) = (now, drive.now());
            latencies.clear();
        }
    }
    rows
}
