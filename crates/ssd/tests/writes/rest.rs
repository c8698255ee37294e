//! A drive that is left alone for months: what it keeps of its temperature, its SLC cache, its journal and its cuts of
//! power.

use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Span, Temperature, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
const DAY: u64 = 86_400_000_000_000;
const HALF_A_YEAR: Span = Span(182 * DAY);
/// What is played around a rest takes less.
const MINUTE: u64 = 60_000_000_000;

/// A small drive without a page of data.
fn drive(settings: &[&str]) -> Device {
    let mut config = Config::default();
    let small = [
        "geometry.channels=1",
        "geometry.chips=2",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=60",
        "geometry.pages=60",
        "ftl.over_provisioning=1.0",
        "buffer.size=1MiB",
        "chip.model=tlc48",
        "age.pec=1000",
        "age.fill=0",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    Device::new(&config, 7).unwrap()
}

fn write(device: &mut Device, pages: std::ops::Range<u64>) {
    for page in pages {
        device.submit(Request::new(device.now(), Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        while device.outstanding() > 0 {
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
    }
}

fn age(device: &Device, page: u64) -> u64 {
    device.conditions_of(Lpn(page)).expect("it is on flash").retention.0
}

#[test]
fn a_drive_that_is_warm_has_cooled_down_and_its_data_ages_at_rest() {
    let mut device = drive(&[
        "thermal.resistance=1000",
        "thermal.time_constant=1h",
        "thermal.light=125C",
        "thermal.heavy=125C",
        "energy.program_mw=20e6",
        "buffer.mode=write-through",
    ]);
    let celsius = |device: &Device| device.throttling().unwrap().celsius.unwrap().0;
    let at_rest = celsius(&device);
    write(&mut device, 0..6);
    assert!(celsius(&device) > at_rest + 10.0, "{} from {at_rest}", celsius(&device));
    // An hour later it has lost all but 1 / e of its heat; half a year later all of it.
    let warm = celsius(&device) - at_rest;
    device.rest(Span(DAY / 24), None).unwrap();
    let left = (celsius(&device) - at_rest) / warm;
    assert!((left - libm::exp(-1.0)).abs() < 0.01, "{left}");
    let before = age(&device, 0);
    device.rest(HALF_A_YEAR, None).unwrap();
    assert!(celsius(&device) - at_rest < 0.01);
    let faster = Temperature(at_rest).acceleration();
    let expected = HALF_A_YEAR.0 as f64 * faster;
    let found = (age(&device, 0) - before) as f64;
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
    device.check().unwrap();
}

/// How long reads of some pages take, one after another.
fn reads(device: &mut Device) -> Vec<u64> {
    let read = |page: u64| {
        let before = device.now();
        device.submit(Request::new(before, Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        while device.outstanding() > 0 {
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
        device.now().since(before).0
    };
    (0..40).map(|index| index * 37 % 1_000).map(read).collect()
}

/// A drive that begins fresh does not ask its chip before its data has become old: then it reads as one that begins
/// old, whether it has rested or its own time has gone on, from a checkpoint too.
#[test]
fn a_fresh_drive_that_has_rested_meets_the_errors_of_old_data() {
    let fresh = |more: &[&str]| {
        let settings = ["chip.model=auto", "age.pec=0", "age.fill=1", "age.temperature=30C", "read.next=table"];
        drive(&[&settings[..], more].concat())
    };
    let old = reads(&mut fresh(&["age.retention=182d"]));
    let easy = reads(&mut fresh(&[]));
    assert!(old.iter().sum::<u64>() > 2 * easy.iter().sum::<u64>(), "old data is retried: {old:?} {easy:?}");

    let mut rested = fresh(&[]);
    rested.rest(Span(6 * DAY), None).unwrap();
    assert_eq!(reads(&mut rested), easy, "data of a week reads without a retry");
    rested.rest(Span(176 * DAY), None).unwrap();
    let mut saved = Vec::new();
    rested.save(&mut saved).unwrap();
    let mut loaded = Device::load(&rested.plan().config, &mut saved.as_slice()).unwrap();
    for device in [&mut rested, &mut loaded] {
        assert_eq!(reads(device), old);
        assert!(device.counters().pages_retried > 0);
        device.check_mapping().unwrap();
    }
    // What is under way when it is saved goes on with the chip that it has asked.
    let request = Request::new(rested.now(), Op::Read, Bytes(0), Bytes(PAGE));
    rested.submit(request).unwrap();
    rested.advance(Time(rested.now().0 + 30_000)).unwrap();
    saved.clear();
    rested.save(&mut saved).unwrap();
    let loaded = Device::load(&rested.plan().config, &mut saved.as_slice()).unwrap();
    let ends = [rested, loaded].map(|mut device| {
        device.flush().unwrap();
        (device.now(), device.counters().retry_steps, device.steps().clone())
    });
    assert_eq!(ends[0], ends[1]);

    let mut waited = fresh(&[]);
    waited.advance(Time(HALF_A_YEAR.0)).unwrap();
    assert_eq!(reads(&mut waited), old);
}

/// Reads that are under way when the chip is asked first end as they would have.
#[test]
fn asking_the_chip_in_the_midst_of_reads_changes_none_of_them() {
    let ends = |retention: &str| {
        let planes = ["chip.model=auto", "age.pec=0", "age.fill=1", "age.temperature=30C", "geometry.planes=2"];
        let mut device = drive(&[&planes[..], &["read.next=table", &format!("age.retention={retention}")]].concat());
        let begin = 7 * DAY - 1_000_000;
        for index in 0..1_000 {
            let at = Time(begin + index * 3_000);
            device.submit(Request::new(at, Op::Read, Bytes(index * 7 % 2_000 * PAGE), Bytes(PAGE))).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        let ends: Vec<_> = device.take_completions().map(|completion| (completion.id, completion.finish)).collect();
        (ends, device.steps().clone())
    };
    assert_eq!(ends("0ns"), ends("1ns"));
}

/// Pages of the map grow old in a rest as the data does.
#[test]
fn pages_of_the_map_grow_old_in_a_rest() {
    let of = |more: &[&str], rest: Span| {
        let map = ["mapping.table=cached", "mapping.cache=16KiB", "age.fill=1", "age.temperature=30C"];
        let mut device = drive(&[&map[..], &["read.next=table"], more].concat());
        device.rest(rest, None).unwrap();
        reads(&mut device)
    };
    let old = of(&["age.retention=182d", "age.map_retention=182d"], Span::ZERO);
    assert_eq!(of(&[], HALF_A_YEAR), old);
    let of_young_map = of(&["age.retention=182d"], Span::ZERO);
    assert!(of_young_map.iter().sum::<u64>() < old.iter().sum::<u64>(), "they are read, and retried");
    assert_eq!(of(&["age.map_retention=82d"], Span(100 * DAY)).len(), old.len());
}

#[test]
fn data_of_the_slc_cache_grows_old_where_the_rest_finds_it() {
    // A cache that keeps what it has until it is full, and one that is folded as soon as nothing is to be done.
    for (fold_idle, folds) in [("none", false), ("1ms", true)] {
        let mut device = drive(&["ftl.slc_cache=static", "slc.blocks=10", &format!("slc.fold_idle={fold_idle}")]);
        write(&mut device, 0..400);
        device.rest(HALF_A_YEAR, None).unwrap();
        let moved = device.counters().pages_relocated.iter().sum::<u64>();
        assert_eq!(moved > 0, folds, "{moved} pages folded");
        for page in 0..400 {
            let age = age(&device, page);
            assert!((HALF_A_YEAR.0..HALF_A_YEAR.0 + MINUTE).contains(&age), "page {page} is {age} ns old");
        }
        write(&mut device, 0..1);
        device.flush().unwrap();
        assert!(age(&device, 0) < MINUTE);
        device.check().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn a_cut_after_a_rest_comes_at_its_own_time_and_loses_nothing_that_rested() {
    let settings = ["mapping.checkpoint=256KiB", "mapping.journal=true", "power.cut_at=[1s]", "power.plp=false"];
    let mut device = drive(&settings);
    write(&mut device, 0..200);
    device.rest(HALF_A_YEAR, None).unwrap();
    // A rest is no time of the run: the cut is still to come.
    assert!(device.now() < Time(1_000_000_000), "{:?}", device.now());
    assert_eq!(device.counters().cuts, 0);
    let before: Vec<u64> = (0..200).map(|page| age(&device, page)).collect();
    device.advance(Time(3_000_000_000)).unwrap();
    assert_eq!(device.counters().cuts, 1);
    for page in 0..200u64 {
        let found = age(&device, page);
        assert!((0..4_000_000_000).contains(&(found - before[page as usize])), "page {page}");
    }
    write(&mut device, 0..1);
    device.flush().unwrap();
    assert!(age(&device, 0) < MINUTE);
    device.check().unwrap();
    device.check_mapping().unwrap();
}
