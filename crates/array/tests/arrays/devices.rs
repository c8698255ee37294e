//! Arrays of simulated drives.

use array::{Array, ArrayConfig, MemberDrive};
use proptest::prelude::*;
use ssd::run::{Replay, Run, RunOptions};
use ssd::stats::{Counters, relocation_causes};
use ssd::{Config, Device, Drive, RunDrive, Window};
use testing::{ROUND_TIMES, cases};
use units::{Bytes, Span, Time};
use workload::{Op, Request};

use crate::server::config;

pub fn small() -> Config {
    let mut config = ssd::presets::load("tlc-page").unwrap().config;
    for word in ["geometry.blocks=24", "ftl.over_provisioning=1.0", "age.precondition=none", "host.queue_depth=8"] {
        config.set(word).unwrap();
    }
    config
}

/// A drive of an array, which never fails.
fn of_array(number: usize, drive: Device) -> MemberDrive<Device> {
    let name = format!("drive-{number}");
    MemberDrive { name, drive: Box::new(drive), spare: false, fails_at: None, mean_life: None }
}

fn array(config: &ArrayConfig, count: u64) -> Array<Device> {
    let member = |seed| of_array(seed as usize, Device::new(&small(), seed).unwrap());
    Array::new(config, (1..=count).map(member).collect(), 1).unwrap()
}

/// The statistics of a run on a drive.
fn statistics(drive: impl RunDrive, words: &[String], replay: Replay, size: Bytes, warmup: u64) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let source = workload::presets::get("default", &words).unwrap().source(size, 7).unwrap();
    let options = RunOptions { requests: Some(400), replay, warmup, ..RunOptions::default() };
    let mut run = Run::on(drive, source, options, None).unwrap();
    while !run.step(37).unwrap() {}
    let outcome = run.finish().unwrap();
    format!("{}\n{:?}", serde_json::Value::Object(outcome.report().to_json()), outcome.series.rows())
}

fn loads() -> impl Strategy<Value = (Vec<String>, Replay)> {
    let rw = prop_oneof![Just("randread"), Just("randwrite"), Just("randrw")];
    let replay = prop_oneof![Just(Replay::Timed(1.0)), (1..40u32).prop_map(Replay::Closed)];
    let size = prop_oneof![Just("8KiB"), Just("100KiB"), Just("1MiB")];
    (rw, size, 1_000..200_000u32, replay).prop_map(|(rw, size, rate, replay)| {
        (vec![format!("workload.rw={rw}"), format!("workload.rate_iops={rate}"), format!("workload.bs={size}")], replay)
    })
}

proptest! {
    #![proptest_config(cases(24))]

    /// Of one drive it is that drive, statistics and time series, to the last byte.
    #[test]
    fn an_array_of_one_device_is_that_device((words, replay) in loads(), warmup in prop_oneof![Just(0u64), Just(50)]) {
        let device = Device::new(&small(), 1).unwrap();
        let size = Drive::capacity(&device);
        let alone = statistics(device, &words, replay, size, warmup);
        let array = array(&config(&["layout=stripe"]), 1);
        prop_assert_eq!(Drive::capacity(&array), size);
        prop_assert_eq!(statistics(array, &words, replay, size, warmup), alone);
    }

    /// Two runs of one array are equal.
    #[test]
    fn runs_of_arrays_are_repeatable((words, replay) in loads(), layout in prop_oneof![Just("stripe"), Just("mirror"), Just("raid5")]) {
        let config = config(&[&format!("layout={layout}"), "chunk=16KiB"]);
        let size = array(&config, 3).capacity();
        let once = statistics(array(&config, 3), &words, replay, size, 0);
        prop_assert_eq!(statistics(array(&config, 3), &words, replay, size, 0), once);
    }
}

/// A die whose reads take 40 us to be sensed.
const SENSED: [&str; 3] = ["geometry.pages=12", "ftl.over_provisioning=1.0", "chip.t_read=40us"];

/// A read of an old drive ends after a retry, and the stripe's other drives, which are young, give its data: to the
/// nanosecond.
#[test]
fn a_read_fails_fast_and_is_reconstructed_from_younger_drives() {
    let path = std::env::temp_dir().join(format!("ssdlab-array-{}.csv", std::process::id()));
    std::fs::write(&path, "pec,months,steps,pages\n0,0,0,1\n0,6,3,1\n").unwrap();
    let chip = format!("chip.model={}", path.display());
    let (sense, moved, decoded) = (40_000, 16_000, 20_000);
    let drive = |words: &[&str]| {
        let mut config = testing::one_plane();
        let shared = ["read.start=default", "read.next=table", &chip];
        ROUND_TIMES.iter().chain(&SENSED).chain(&shared).chain(words).for_each(|word| config.set(word).unwrap());
        Device::new(&config, 1).unwrap()
    };
    let attempt = sense + moved + decoded;
    // Through DRAM and link: next to nothing, for what was given up too.
    let to_host = 2 * 17;
    for (limit, took) in [("none", 4 * attempt), ("3", 4 * attempt), ("1", 3 * attempt), ("0", 2 * attempt)] {
        let limit = format!("read.fail_fast={limit}");
        let member = |number: usize| {
            let age = if number == 0 { "age.retention=6mo" } else { "age.retention=0d" };
            let drive = drive(&[age, &limit]);
            of_array(number, drive)
        };
        let config = config(&["layout=raid5", "chunk=16KiB"]);
        let mut array = Array::new(&config, (0..4).map(member).collect(), 1).unwrap();
        let read = Request::new(Time(0), Op::Read, Bytes(0), Bytes(16_384));
        let done = crate::server::played(&mut array, &[read])[0];
        let given_up = u64::from(took < 4 * attempt);
        let took = took + (1 + given_up) * to_host;
        assert_eq!((done.latency().0, done.uncorrectable), (took, false), "{limit}");
        let counters = array.counters_so_far();
        assert_eq!((counters.reads_given_up, counters.reads_reconstructed), (given_up, given_up), "{limit}");
    }
}

/// A read of a die that erases ends at once, and the stripe's other drives give its data: to the nanosecond.
#[test]
fn a_read_of_a_busy_die_fails_at_once_and_is_reconstructed() {
    let (sense, moved, decoded, erase, asked) = (40_000, 16_000, 20_000, 3_500_000, 1_000_000);
    let mut config = testing::one_plane();
    let words = ["ftl.erase_when=opened", "chip.t_bers=3500us"];
    ROUND_TIMES.iter().chain(&SENSED).chain(&words).for_each(|word| config.set(word).unwrap());
    let attempt = sense + moved + decoded;
    let to_host = 2 * 17;
    for (fail_busy, waits) in [("none", true), ("erase", false), ("collection", false)] {
        config.set(&format!("read.fail_busy={fail_busy}")).unwrap();
        let member = |number: usize| {
            let mut drive = Device::new(&config, 1).unwrap();
            if number == 0 {
                // Its program waits for the erase of the block that is opened for it.
                drive.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(16_384))).unwrap();
                assert!(drive.advance_to_completion(Time(asked)).unwrap());
                assert_eq!(drive.take_completions().len(), 1);
                drive.advance(Time(asked)).unwrap();
            }
            of_array(number, drive)
        };
        let layout = crate::server::config(&["layout=raid5", "chunk=16KiB"]);
        let mut array = Array::new(&layout, (0..4).map(member).collect(), 1).unwrap();
        let placement = array.placement().clone();
        let on_first = |stripe: &u64| placement.spot(*stripe, 1).place == 0;
        let stripe = (1..4).find(on_first).unwrap();
        let read = Request::new(Time(asked), Op::Read, Bytes((stripe * 3 + 1) * 16_384), Bytes(16_384));
        let done = crate::server::played(&mut array, &[read])[0];
        // The erase begins when the data has crossed the link.
        let begun = 17;
        let waited = if waits { begun + erase - asked } else { 0 };
        assert_eq!((done.latency().0, done.uncorrectable), (waited + attempt + to_host, false), "{fail_busy}");
        let counters = array.counters_so_far();
        assert_eq!((counters.reads_given_up, counters.reads_reconstructed), (u64::from(!waits), u64::from(!waits)));
    }
}

/// In its window a drive collects ahead of need, and outside it when it must.
#[test]
fn a_drive_collects_ahead_of_need_while_its_window_is_open() {
    let device = || {
        let mut config = small();
        let words =
            ["age.precondition=closed-form", "geometry.blocks=60", "geometry.pages=48", "ftl.over_provisioning=0.5"];
        words.iter().for_each(|word| config.set(word).unwrap());
        let mut device = Device::new(&config, 1).unwrap();
        device.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(16_384))).unwrap();
        device.advance(Time(1)).unwrap();
        (device, config.gc)
    };
    let fewest = |device: &Device| Drive::sample(device).free_blocks.1;
    let (mut open, gc) = device();
    Drive::set_window(&mut open, Window::Open);
    open.advance(Time(2_000_000_000)).unwrap();
    open.check().unwrap();
    assert!(fewest(&open) >= gc.idle_stop, "{}", fewest(&open));
    let (mut closed, gc) = device();
    closed.advance(Time(2_000_000_000)).unwrap();
    assert!((gc.start..gc.idle_stop).contains(&fewest(&closed)), "{}", fewest(&closed));
    // Once it is closed again nothing is collected before it must be.
    Drive::set_window(&mut closed, Window::Open);
    Drive::set_window(&mut closed, Window::Closed);
    closed.advance(Time(4_000_000_000)).unwrap();
    assert!(fewest(&closed) < gc.idle_stop, "{}", fewest(&closed));
}

/// Whatever they are usually: as soon as they are reclaimed while the window is open, and no free block is left that is
/// not.
#[test]
fn blocks_are_erased_in_windows_and_otherwise_when_they_are_opened() {
    for erase_when in ["opened", "reclaimed"] {
        let mut config = small();
        let words =
            ["age.precondition=closed-form", "geometry.blocks=60", "geometry.pages=48", "ftl.over_provisioning=0.5"];
        words.iter().for_each(|word| config.set(word).unwrap());
        config.set(&format!("ftl.erase_when={erase_when}")).unwrap();
        let mut device = Device::new(&config, 1).unwrap();
        let (random, pages) = (units::Stream::new(5, "pages"), Drive::capacity(&device).0 / 16_384);
        // Blocks that were collected in a window and have not been erased; or those that were erased beyond.
        let mut waiting = |window: Window, writes: u64| {
            Drive::set_window(&mut device, window);
            let counted = |device: &Device| {
                let counters = Drive::counters(device);
                let collected = counters.blocks_relocated[relocation_causes::COLLECTION];
                (collected as i64, counters.blocks_erased as i64)
            };
            let before = counted(&device);
            let now = device.now();
            for number in 0..writes {
                let page = random.below(number, pages);
                device.submit(Request::new(now, Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
            }
            device.advance(Time(now.0 + 60_000_000_000)).unwrap();
            device.take_completions();
            device.check().unwrap();
            let after = counted(&device);
            (after.0 - before.0, after.1 - before.1)
        };
        let (collected, erased) = waiting(Window::Open, 0);
        // And those that were free, or being collected, at the start.
        assert!(collected > 10 && erased >= collected, "{erase_when}: {collected}, {erased}");
        assert_eq!(waiting(Window::Closed, 0), (0, 0));
        assert_eq!(waiting(Window::Closed, 20_000), (0, 0), "{erase_when}: as many are free and erased");
        let (collected, in_closed) = waiting(Window::Closed, 40_000);
        assert!(collected > 100 && in_closed > 100, "{erase_when}: {collected}, {in_closed}");
        let (collected, erased) = waiting(Window::Open, 0);
        assert!(erased > collected, "{erase_when}: those that have waited too: {collected}, {erased}");
        assert_eq!(waiting(Window::Open, 0), (0, 0));
    }
}

/// Data that has grown too old is found in each step of the period, and moves in the drive's window.
#[test]
fn refresh_waits_for_the_window_of_its_drive() {
    let after = |windows: &[Window]| {
        let mut config = small();
        let words = ["age.precondition=closed-form", "age.retention=40d", "refresh.period=30d"];
        words.iter().for_each(|word| config.set(word).unwrap());
        let mut device = Device::new(&config, 1).unwrap();
        let steps = u64::from(device.plan().layout.planes * device.plan().layout.blocks);
        let refreshed = |(part, window): (u64, &Window)| {
            Drive::set_window(&mut device, *window);
            device.advance(Time((part + 1) * 30 * 86_400_000_000_000 / steps * 20)).unwrap();
            device.check().unwrap();
            Drive::counters(&device).blocks_relocated[relocation_causes::REFRESH]
        };
        (0..).zip(windows).map(refreshed).collect::<Vec<u64>>()
    };
    let freely = after(&[Window::Unused; 3]);
    assert!(freely[0] > 0 && freely[1] > freely[0], "{freely:?}");
    let held = after(&[Window::Closed, Window::Closed, Window::Unused]);
    assert_eq!(held[..2], [0, 0]);
    assert_eq!(held[2], freely[2], "what has waited is made up for");
}

/// Each drive is overwritten as a run on it alone would, and the run begins where that run begins.
#[test]
fn drives_of_an_array_are_overwritten_as_one_drive_is() {
    let mut config = small();
    config.set("age.precondition=write:0.5").unwrap();
    let source = |size: Bytes| {
        let words = ["workload.rw=randrw", "workload.rate_iops=20000", "workload.bs=16KiB"];
        workload::presets::get("default", &words).unwrap().source(size, 7).unwrap()
    };
    let options = || RunOptions { requests: Some(400), ..RunOptions::default() };
    let size = Drive::capacity(&Device::new(&config, 1).unwrap());
    let alone = Run::new(&config, source(size), options(), None).unwrap();
    let member = |seed: u64| MemberDrive {
        name: format!("drive-{seed}"),
        drive: Box::new(Device::new(&config, seed).unwrap()),
        spare: false,
        fails_at: None,
        mean_life: None,
    };
    let of = |seeds: &[u64], words: &[&str]| {
        let drives = seeds.iter().map(|seed| member(*seed)).collect();
        Array::new(&crate::server::config(words), drives, 1).unwrap().overwritten(seeds)
    };
    fn played<D: RunDrive>(mut run: Run<D>) -> (String, Run<D>) {
        while !run.step(997).unwrap() {}
        // An array's host has not made the requests that overwrite its drives.
        let of_host =
            Counters { requests_completed: 400, requests_until_uncorrectable: 400, ..run.device().counters() };
        (format!("{of_host:?}{:?}", run.device().totals().usage), run)
    }
    let (alone, run) = played(alone);
    let in_place = played(Run::on(of(&[1], &["layout=stripe"]), source(size), options(), None).unwrap()).0;
    assert_eq!(in_place, alone);
    let pair = of(&[1, 2], &["layout=mirror"]);
    let size = pair.capacity();
    let (_, pair) = played(Run::on(pair, source(size), options(), None).unwrap());
    let written: Vec<u64> = pair.device().drives().map(|drive| drive.counters().write_bytes).collect();
    let host = run.device().counters().write_bytes;
    assert_eq!(written[0], written[1], "both copies");
    assert!(written[0] >= size.0 / 2 && host >= size.0 / 2, "{written:?}, {host} of {size}");
}

/// A result's times count from the beginning of the workload, and the link's as all counts from that of counting. Time
/// goes on where no drive is left.
#[test]
fn times_of_a_result_are_those_of_its_run() {
    let member = |seed: u64| MemberDrive {
        name: format!("drive-{seed}"),
        drive: Box::new(Device::new(&small(), seed).unwrap()),
        spare: seed == 3,
        fails_at: (seed == 1).then_some(Span::from_ms(2)),
        mean_life: None,
    };
    let words = ["layout=mirror", "chunk=16KiB", "link_bandwidth=1GB/s"];
    let mut array = Array::new(&config(&words), (1..=3).map(member).collect(), 1).unwrap();
    array.advance(Time(5_000_000)).unwrap();
    array.workload_begins();
    array.advance(Time(6_000_000)).unwrap();
    let read = |time| Request::new(Time(time), Op::Read, Bytes(0), Bytes(16_384));
    for time in [6_000_000, 6_500_000] {
        array.counting_begins();
        array.submit(read(time)).unwrap();
        assert!(array.advance_to_completion(Time::NEVER).unwrap());
        assert!(array.take_completions().all(|done| !done.uncorrectable));
        assert_eq!(array.section()["link_busy_ns"], serde_json::json!({ "to_drives": 0, "from_drives": 16_384 }));
    }
    array.advance(Time(8_000_000)).unwrap();
    let section = array.section();
    assert_eq!(section["drives"][0]["failed_ns"], 2_000_000);
    assert_eq!(section["rebuilds"][0]["began_ns"], 2_000_000);
    // A workload that begins later has nothing before its beginning.
    array.workload_begins();
    assert_eq!(array.section()["drives"][0]["failed_ns"], 0);
    let member = |seed| MemberDrive { fails_at: Some(Span::from_ms(1)), spare: false, ..member(seed) };
    let mut array = Array::new(&config(&words), (1..=2).map(member).collect(), 1).unwrap();
    array.workload_begins();
    array.advance(Time(20_000_000)).unwrap();
    assert_eq!(array.totals().usage.elapsed, Span::from_ms(20));
}
