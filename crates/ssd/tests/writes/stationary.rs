//! A drive of closed form starts in the middle of its life: its first requests are served as those of a long run are.

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Device, Drive};
use units::Time;
use workload::{Generated, PastOfGenerator, Request};

use testing::eight_planes;

fn config(settings: &[&str]) -> Config {
    let own = ["geometry.blocks=60", "ftl.allocation=superblock", "gc.pacing=token", "buffer.size=2MiB"];
    eight_planes(&[&own, settings].concat())
}

/// What a closed loop of random writes meets in a window of requests.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    waf: f64,
    iops: f64,
    mean: f64,
}

/// A run plays its load before it counts, until in a stretch of this many requests the write buffer fills no further.
const STRETCH: usize = 256;

/// The first windows of a run whose load has settled.
fn windows(config: &Config, seed: u64, requests: usize, count: usize) -> Vec<Window> {
    let mut drive = Device::new(config, seed).unwrap();
    let words = ["workload.rw=randwrite", "workload.bs=16KiB", "workload.align=16KiB", "workload.requests=10000000"];
    let mut source = workload::presets::get("default", &words).unwrap().source(drive.capacity(), seed).unwrap();
    let (mut batch, mut windows): (Vec<Request>, Vec<Window>) = (Vec::new(), Vec::new());
    let (mut before, mut from, mut latencies, mut settled) = (drive.counters(), Time::ZERO, Vec::new(), false);
    let (mut most, mut earlier) = (0, None);
    while windows.len() < count {
        while drive.outstanding() < 32 {
            if batch.is_empty() {
                source.fill(&mut batch, 256).unwrap();
            }
            let mut request = batch.pop().unwrap();
            request.time = drive.now();
            drive.submit(request).unwrap();
        }
        drive.advance_to_completion(Time::NEVER).unwrap();
        latencies.extend(drive.take_completions().map(|done| done.finish.since(done.request.time).as_s()));
        most = most.max(drive.buffered_pages());
        if !settled && latencies.len() >= STRETCH {
            settled = earlier.is_some_and(|earlier| most <= earlier);
            (earlier, most) = (Some(earlier.unwrap_or(0).max(most)), 0);
            (before, from) = (drive.counters(), drive.now());
            latencies.clear();
        }
        if latencies.len() >= requests {
            let (now, n) = (drive.counters(), latencies.len() as f64);
            let done = now.since(&before);
            windows.push(Window {
                waf: done.pages_programmed as f64 * 16_384.0 / done.bytes_settled as f64,
                iops: n / drive.now().since(from).as_s(),
                mean: latencies.iter().sum::<f64>() / n,
            });
            (before, from) = (now, drive.now());
            latencies.clear();
        }
    }
    drive.check().unwrap();
    windows
}

/// The mean of some windows.
fn mean(all: &[Window]) -> Window {
    let of = |value: fn(&Window) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    Window { waf: of(|w| w.waf), iops: of(|w| w.iops), mean: of(|w| w.mean) }
}

/// Write amplification, requests a second and mean latency of the first requests, over five seeds, are those of a long
/// run: of the first 400, half a block's worth of a plane, and of the first 6,000. Without blocks under collection at
/// the start the former would find free blocks: a write amplification near one.
#[test]
fn the_first_requests_meet_the_drive_of_a_long_run() {
    let of_policies = [
        &["gc.victim=greedy"][..],
        &["gc.victim=fifo"],
        &["gc.victim=d-choices:8"],
        &["gc.victim=cost-benefit"],
        &["gc.pacing=proportional"],
        &["gc.pacing=none"],
        &["ftl.streams=1"],
        &["ftl.over_provisioning=0.2"],
        // Data goes by where its last version was: the blocks of the start have streams.
        &["ftl.streams=3"],
        &["ftl.streams=4", "ftl.over_provisioning=0.4"],
        // Collection comes and goes: moments are weighted by how long they last.
        &["ftl.over_provisioning=0.5"],
        // The host has the next program ready only most of the time.
        &["buffer.size=1MiB"],
    ];
    for settings in of_policies {
        let config = config(settings);
        let first = |requests| -> Vec<Window> { (1..=5).map(|seed| windows(&config, seed, requests, 1)[0]).collect() };
        let later = mean(&windows(&config, 7, 6_000, 5)[1..]);
        for (requests, bound) in [(400, 0.1), (6_000, 0.03)] {
            let first = mean(&first(requests));
            println!("{settings:?}: {requests} requests {first:.4?}, later {later:.4?}");
            let off = [first.waf / later.waf, first.iops / later.iops, first.mean / later.mean];
            let off = if requests < 1_000 { &off[..1] } else { &off[..] };
            assert!(off.iter().all(|off| (off - 1.0).abs() < bound), "{settings:?}: {first:?}, and later {later:?}");
        }
        assert!(later.waf > 1.5, "{settings:?}: there is something to be collected: {later:?}");
    }
}

/// The formula still maps every page once, where planes differ and blocks are open or half collected.
#[test]
fn a_drive_in_the_middle_of_its_life_holds_together() {
    let kinds = [
        &["gc.pacing=none", "gc.preemptible=false"][..],
        &["ftl.allocation=plane", "ftl.placement=static"],
        &["mapping.unit=4KiB", "gc.victim=cost-benefit"],
        &["mapping.table=cached", "ftl.streams=4", "ftl.over_provisioning=0.6"],
        &["wear.factory_bad=0.03", "ftl.over_provisioning=0.5"],
        &["age.fill=0.4"],
    ];
    for settings in kinds {
        let config = config(settings);
        let device = Device::new(&config, 3).unwrap();
        device.check().unwrap_or_else(|problem| panic!("{settings:?}: {problem}"));
        windows(&config, 3, 500, 3);
    }
}

/// A load that leaves dies idle meets as many free blocks as collection leaves it, and not as few as a full one: of
/// windows of two blocks' worth of a plane and more from the first request on, the write amplification and the free
/// blocks are those of a long run.
#[test]
fn a_load_that_leaves_dies_idle_meets_a_drive_whose_collection_has_kept_up() {
    let config = config(&["gc.start=4", "gc.stop=5"]);
    let capacity = config.plan().unwrap().capacity();
    let free_blocks_and_waf = |words: &[&str], replay: Replay, seed: u64, (warmup, requests): (u64, u64)| {
        let load = [&["workload.bs=16KiB", "workload.requests=10000000"], words].concat();
        let load = workload::presets::get("default", &load).unwrap();
        let past = Some(Box::new(PastOfGenerator::new(&load, capacity, seed)) as _);
        let source = Box::new(Generated { source: load.source(capacity, seed).unwrap(), leads: false, past });
        let options = RunOptions { seed, replay, warmup, requests: Some(requests), ..RunOptions::default() };
        let mut run = Run::new(&config, source, options, None).unwrap();
        let free = run.device().free_blocks().0 as f64 / f64::from(run.device().plan().layout.planes);
        while !run.step(1000).unwrap() {}
        let outcome = run.finish().unwrap();
        let later = outcome.device.free_blocks().0 as f64 / f64::from(outcome.device.plan().layout.planes);
        let counters = outcome.measured.totals.counters;
        let waf = counters.pages_programmed as f64 * 16_384.0 / counters.bytes_settled as f64;
        (free, later, waf)
    };
    // The drive takes some 3,000 random writes a second.
    let loads: [(&[&str], Replay); 4] = [
        (&["workload.rw=randwrite", "workload.rate_iops=500"], Replay::Timed(1.0)),
        (&["workload.rw=randwrite", "workload.rate_iops=1500"], Replay::Timed(1.0)),
        (&["workload.rw=randrw", "workload.rate_iops=3000", "workload.read_ratio=0.5"], Replay::Timed(1.0)),
        (&["workload.rw=randrw"], Replay::Closed(1)),
    ];
    for (words, replay) in loads {
        let first: Vec<(f64, f64, f64)> =
            (1..=5).map(|seed| free_blocks_and_waf(words, replay, seed, (0, 12_000))).collect();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| first.iter().map(of).sum::<f64>() / 5.0;
        let (free, waf) = (mean(|run| run.0), mean(|run| run.2));
        let (_, later, long) = free_blocks_and_waf(words, replay, 7, (20_000, 80_000));
        println!("{words:?}: {free:.2} free, later {later:.2}; {waf:.3}, in the long run {long:.3}");
        assert!((waf / long - 1.0).abs() < 0.1, "{words:?}: {waf:.3}, in the long run {long:.3}");
        assert!((3.0..5.0).contains(&free), "{words:?}: {free:.2} free blocks, later {later:.2}");
    }
    let full = free_blocks_and_waf(&["workload.rw=randwrite"], Replay::Closed(32), 1, (0, 2_000));
    assert!(full.0 < 2.0 && full.1 < 2.0, "as few blocks are free as the drive leaves: {full:?}");
}
