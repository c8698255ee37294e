//! A load that has no closed form: the drive is brought to the state that the load leaves, by playing the FTL alone.

use std::ops::Range;

use ssd::run::{Outcome, Replay, Run, RunOptions, open};
use ssd::stats::Warmed;
use ssd::{Checker, Config, Device, Drive, Watch};
use units::{Bytes, ConfigError, Time};
use workload::{Generated, Past, PastOfGenerator, Request, Source, Workload};

use testing::eight_planes;

fn config(settings: &[&str]) -> Config {
    eight_planes(&[&["geometry.blocks=100", "buffer.size=256KiB"], settings].concat())
}

const ZIPF: &str = "workload.random_distribution=zipf:0.9";
const HOT_AND_COLD: &str = "workload.random_distribution=zoned:90/10:10/90";

fn load(words: &[&str]) -> Workload {
    let all = ["workload.rw=randwrite", "workload.bs=16KiB", "workload.align=16KiB", "workload.requests=10000000"];
    workload::presets::get("default", &[&all, words].concat()).unwrap()
}

/// Uniform overwriting whose closed form is not known.
struct NotTold(PastOfGenerator);

impl Past for NotTold {
    fn source(&self, reads: bool) -> Result<Box<dyn Source>, ConfigError> {
        self.0.source(reads)
    }
    fn written(&self) -> Vec<Range<u64>> {
        self.0.written()
    }
    fn is_uniform(&self, _: Bytes, _: Bytes) -> bool {
        false
    }
}

/// Requests, and the load that they are a part of, where that is known.
fn known(source: Box<dyn Source>, past: Option<Box<dyn Past + Send>>) -> Box<dyn Source> {
    Box::new(Generated { source, leads: false, past })
}

/// A load on a drive, with its past or without.
fn source(config: &Config, load: &Workload, seed: u64, warmed: bool) -> Box<dyn Source> {
    let capacity = config.plan().unwrap().capacity();
    let past = PastOfGenerator::new(load, capacity, seed);
    known(load.source(capacity, seed).unwrap(), warmed.then(|| Box::new(past) as _))
}

fn options(seed: u64, requests: u64) -> RunOptions {
    RunOptions { seed, requests: Some(requests), replay: Replay::Closed(32), ..RunOptions::default() }
}

fn outcome(config: &Config, source: Box<dyn Source>, options: RunOptions) -> Outcome {
    let mut run = Run::new(config, source, options, None).unwrap();
    while !run.step(1000).unwrap() {}
    run.finish().unwrap()
}

/// The drive as the run begins.
fn drive(config: &Config, load: &Workload, seed: u64, warmed: bool) -> Device {
    let mut run = Run::new(config, source(config, load, seed, warmed), options(seed, 1), None).unwrap();
    while run.warms().is_some() {
        run.step(4096).unwrap();
    }
    run.into_device()
}

/// Write amplification and requests a second of a window, after some requests.
fn window(config: &Config, load: &Workload, seed: u64, warmed: bool, requests: Range<usize>) -> (f64, f64) {
    let mut drive = drive(config, load, seed, warmed);
    let mut source = load.source(drive.capacity(), seed).unwrap();
    let mut batch: Vec<Request> = Vec::new();
    let (mut before, mut from, mut done) = (drive.counters(), Time::ZERO, 0);
    while done < requests.end {
        while drive.outstanding() < 32 {
            if batch.is_empty() {
                source.fill(&mut batch, 256).unwrap();
                batch.reverse();
            }
            let mut request = batch.pop().unwrap();
            request.time = drive.now();
            drive.submit(request).unwrap();
        }
        drive.advance_to_completion(Time::NEVER).unwrap();
        let had = done;
        done += drive.take_completions().count();
        if had < requests.start && done >= requests.start {
            (before, from) = (drive.counters(), drive.now());
        }
    }
    drive.check().unwrap();
    let counted = drive.counters().since(&before);
    let waf = counted.pages_programmed as f64 * 16_384.0 / counted.bytes_settled as f64;
    (waf, requests.len() as f64 / drive.now().since(from).as_s())
}

/// Kinds of loads and drives: settings of the drive, settings of the load.
const KINDS: [(&[&str], &[&str]); 6] = [
    (&[], &[ZIPF]),
    (&["gc.victim=cost-benefit", "ftl.streams=3"], &[HOT_AND_COLD]),
    (&["ftl.allocation=plane", "ftl.placement=static", "gc.victim=fifo"], &[ZIPF, "workload.footprint=600MiB"]),
    (&["ftl.slc_cache=dynamic", "gc.pacing=none", "ftl.allocation=plane"], &[]),
    (&["ftl.slc_cache=static", "gc.pacing=none", "ftl.allocation=plane", "ftl.over_provisioning=0.4"], &[ZIPF]),
    (&[], &["workload.rw=write"]),
];

/// Write amplification and requests a second of the first requests, over four seeds, are those of a long run; without
/// the warm-up the former is further off.
#[test]
fn the_first_requests_of_a_skewed_load_meet_the_drive_of_a_long_run() {
    let mut wrong = Vec::new();
    for (settings, words) in KINDS {
        let (config, load) = (config(settings), load(words));
        let mean = |warmed, requests: Range<usize>, seeds: Range<u64>| {
            let n = seeds.clone().count() as f64;
            let of = |seed| window(&config, &load, seed, warmed, requests.clone());
            seeds.map(of).fold((0.0, 0.0), |sum, (waf, iops)| (sum.0 + waf / n, sum.1 + iops / n))
        };
        let later = mean(true, 100_000..200_000, 9..10);
        // The first fill the write buffer.
        let [first, cold] = [true, false].map(|warmed| mean(warmed, 256..10_256, 1..5));
        let off = |of: (f64, f64)| [of.0 / later.0 - 1.0, of.1 / later.1 - 1.0];
        println!("{settings:?} {words:?}: {later:.3?}, first {:.3?}, cold {:.3?}", off(first), off(cold));
        let [waf, iops] = off(first);
        if waf.abs() > 0.04 || iops.abs() > 0.06 || off(cold)[0].abs() < 0.05 {
            wrong.push((settings, words));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A skewed load at times of its own that leaves dies idle, but would not if it overwrote uniformly: planes are
/// collecting as at a random moment, so that the first requests meet the write amplification of a long run; with every
/// collection at its end they met a sixth less.
#[test]
fn a_skewed_load_that_leaves_dies_idle_meets_collections_that_go_on() {
    let config = config(&["ftl.allocation=plane", "ftl.placement=static", "geometry.pages=768"]);
    let load = load(&[ZIPF, "workload.rw=randrw", "workload.read_ratio=0.5", "workload.rate_iops=2000"]);
    let waf = |seed, warmup, requests| {
        let options = RunOptions { warmup, replay: Replay::Timed(1.0), ..options(seed, requests) };
        let outcome = outcome(&config, source(&config, &load, seed, true), options);
        let counters = outcome.measured.totals.counters;
        counters.pages_programmed as f64 * 16_384.0 / counters.bytes_settled as f64
    };
    let first = (1..=16).map(|seed| waf(seed, 0, 12_000)).sum::<f64>() / 16.0;
    let long = waf(17, 50_000, 150_000);
    println!("{first:.3}, in the long run {long:.3}");
    assert!((first / long - 1.0).abs() < 0.08, "{first:.3}, in the long run {long:.3}");
}

/// Uniform overwriting played so has the write amplification of a drive that starts in the closed form.
#[test]
fn uniform_overwriting_comes_to_the_closed_form() {
    for victim in ["gc.victim=fifo", "gc.victim=greedy"] {
        let config = config(&[victim, "geometry.blocks=300", "age.load=full"]);
        let load = load(&[]);
        let closed: f64 = (1..6).map(|seed| window(&config, &load, seed, false, 256..20_256).0 / 5.0).sum();
        let capacity = config.plan().unwrap().capacity();
        let past = NotTold(PastOfGenerator::new(&load, capacity, 1));
        let known = known(load.source(capacity, 1).unwrap(), Some(Box::new(past)));
        let warmed = outcome(&config, known, options(1, 2_000)).measured.drive.warmed.unwrap();
        assert!(warmed.reached && warmed.pages * 2 >= 3 * warmed.turnover, "{warmed:?}");
        assert!((warmed.waf / closed - 1.0).abs() < 0.03, "{victim}: {warmed:?}, and {closed:.3} in the closed form");
        let raw = config.plan().unwrap().layout.raw_pages();
        assert!(warmed.turnover.abs_diff(raw) < raw / 50, "all of the flash is one turnover: {warmed:?}");
    }
}

/// One seed gives one drive. Nothing of the warm-up is counted, and what it wrote is as old as all other data.
#[test]
fn a_warm_up_leaves_no_trace_but_the_state() {
    let config = config(&["chip.model=tlc48", "age.retention=1y", "age.pec=1000", "age.reads=5"]);
    let load = load(&[ZIPF]);
    let warm = |seed| drive(&config, &load, seed, true);
    let first = warm(1);
    assert_eq!(first.counters(), Device::new(&config, 1).unwrap().counters());
    assert!(first.erases().all(|erases| erases == 0));
    let run = |seed| {
        let outcome = outcome(&config, source(&config, &load, seed, true), options(seed, 3_000));
        (outcome.measured.totals.counters, outcome.device.now(), outcome.measured.drive.warmed)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
    // Reads find what they find on a drive that was not warmed.
    let steps = |warmed: bool| {
        let reads = self::load(&["workload.rw=randread"]);
        let capacity = config.plan().unwrap().capacity();
        let past = warmed.then(|| Box::new(PastOfGenerator::new(&load, capacity, 1)) as _);
        let source = known(reads.source(capacity, 1).unwrap(), past);
        let outcome = outcome(&config, source, options(1, 4_000));
        assert_eq!(outcome.measured.drive.warmed.is_some(), warmed);
        let pages = outcome.measured.totals.steps.pages;
        let steps: u64 = (0u64..).zip(&pages).map(|(steps, pages)| steps * pages).sum();
        steps as f64 / pages.iter().sum::<u64>() as f64
    };
    let (old, warmed) = (steps(false), steps(true));
    assert!(old > 1.0 && (warmed / old - 1.0).abs() < 0.05, "{old} steps, and {warmed} after the warm-up");
}

/// The drive holds together after it, and what is played on it goes by its rules.
#[test]
fn a_warmed_drive_is_checked_like_any_other() {
    let others: [(&[&str], &[&str]); 7] = [
        (&["mapping.table=cached", "mapping.entry=64B", "ftl.over_provisioning=0.6"], &[ZIPF]),
        (&["mapping.unit=4KiB", "gc.victim=cost-benefit"], &[HOT_AND_COLD, "workload.bs=4KiB", "workload.align=4KiB"]),
        (&["mapping.unit=32KiB", "buffer.dirty_limit=0.5"], &[ZIPF, "workload.bs=4KiB", "workload.align=4KiB"]),
        (&["gc.preemptible=false", "gc.copyback=true", "ftl.hints=2"], &[ZIPF, "workload.hint=1"]),
        (&["wear.factory_bad=0.03", "age.fill=0.5", "ftl.erase_when=reclaimed"], &[ZIPF, "workload.footprint=700MiB"]),
        (
            &["ftl.slc_cache=dynamic", "slc.fold_idle=none", "ftl.hints=2", "ftl.reclaim_groups=2", "age.fill=0.4"],
            &[ZIPF, "workload.hint=0", "workload.footprint=100MiB"],
        ),
        (&["ftl.over_provisioning=0.5", "ftl.streams=4"], &[ZIPF, "workload.numjobs=4", "workload.iodepth=4"]),
    ];
    for (settings, words) in KINDS.into_iter().chain(others) {
        let (config, load) = (config(settings), load(words));
        let source = source(&config, &load, 2, true);
        // A load that paces itself is not paced by the replay.
        let paces_itself = words.iter().any(|word| word.starts_with("workload.iodepth"));
        let replay = if paces_itself { Replay::Timed(1.0) } else { options(2, 3_000).replay };
        let watch = Some(Watch::checking(Checker::new(&config.plan().unwrap())));
        let mut run = open(&config, source, RunOptions { replay, ..options(2, 3_000) }, None, watch).unwrap();
        assert!(run.warms().is_some(), "{settings:?} {words:?}");
        while !run.step(1000).unwrap_or_else(|error| panic!("{settings:?} {words:?}: {error}")) {}
        run.finish().unwrap_or_else(|error| panic!("{settings:?} {words:?}: {error}"));
    }
}

/// A load that would take too long is not played, and the result says so; one that has a closed form is not either, and
/// need not be.
#[test]
fn a_drive_that_is_too_large_to_be_warmed_is_marked() {
    let marked = |config: &Config, words: &[&str]| -> (Option<Warmed>, bool) {
        let load = load(words);
        let measured = outcome(config, source(config, &load, 1, true), options(1, 2_000)).measured;
        (measured.drive.warmed, measured.findings.iter().any(|finding| finding.id == "start-not-stationary"))
    };
    let mut large = Config::default();
    large.set("age.precondition=closed-form").unwrap();
    let (warmed, says) = marked(&large, &[ZIPF]);
    let warmed = warmed.unwrap();
    assert!(says && warmed.pages == 0 && !warmed.reached && warmed.turnover > 1 << 25, "{warmed:?}");
    assert_eq!(marked(&large, &[]), (None, false));
    assert_eq!(marked(&config(&[]), &["workload.rw=randtrim"]), (None, false));
    let (warmed, says) = marked(&config(&[]), &[ZIPF]);
    assert!(!says && warmed.unwrap().reached, "{warmed:?}");
    // Its cache is folded when the host leaves it time, which the FTL alone does not tell.
    let cached = config(&["ftl.slc_cache=dynamic", "gc.pacing=none", "ftl.allocation=plane"]);
    let paced = load(&["workload.rate_iops=2000"]);
    let timed = RunOptions { requests: Some(2_000), ..RunOptions::default() };
    let measured = outcome(&cached, source(&cached, &paced, 1, true), timed).measured;
    assert!(
        measured.drive.warmed.is_none() && measured.findings.iter().any(|finding| finding.id == "start-not-stationary")
    );
}

#[test]
fn a_run_that_is_stopped_while_its_drive_is_warmed_has_measured_nothing() {
    let (config, load) = (config(&[]), load(&[ZIPF]));
    let mut run = Run::new(&config, source(&config, &load, 1, true), options(1, 1000), None).unwrap();
    run.step(1).unwrap();
    assert!(run.warms().is_some(), "it is warmed");
    let outcome = run.finish().unwrap();
    assert_eq!(outcome.measured.latencies.total().iter().map(|kind| kind.count()).sum::<u64>(), 0);
    assert!(outcome.measured.findings.iter().any(|finding| finding.id == "nothing-measured"));
}
