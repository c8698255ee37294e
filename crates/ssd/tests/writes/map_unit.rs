//! Units of the map that are smaller or larger than a flash page: what they read and write, and write amplification
//! against theory.

use ssd::run::{Replay, Run, RunOptions};
use ssd::stats::Counters;
use ssd::{Config, Device, Drive};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// One plane of small blocks, whose pages of 16 KiB are written through as they come.
fn device(settings: &[&str]) -> Device {
    let mut config = Config::default();
    let base = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=1000",
        "geometry.pages=32",
        "chip.program_unit=page",
        "chip.t_prog=10us",
        "chip.t_read=1us",
        "chip.t_bers=10us",
        "ecc.t_decode=1us",
        "ecc.codeword=4KiB",
        "bus.transfer=codeword",
        "buffer.size=1MiB",
        "ftl.streams=1",
        "ftl.erase_when=reclaimed",
        "gc.start=2",
        "gc.stop=2",
        "gc.relocations=8",
        "ftl.over_provisioning=0.25",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    Device::new(&config, 1).unwrap()
}

/// Plays requests, this many at once; what they made the drive do.
fn play(device: &mut Device, requests: impl Iterator<Item = (Op, u64, u64)>, depth: u64) -> Counters {
    let before = device.counters();
    for (op, offset, bytes) in requests {
        while device.outstanding() >= depth {
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
        device.submit(Request::new(device.now(), op, Bytes(offset), Bytes(bytes))).unwrap();
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions();
    }
    device.check().unwrap();
    device.counters().since(&before)
}

/// Bytes programmed for each byte that the host wrote.
fn amplification(device: &Device, done: &Counters) -> f64 {
    (done.pages_programmed * device.plan().layout.page_size.0) as f64 / done.write_bytes as f64
}

/// Random writes of `bytes` each, aligned to their size.
fn random(device: &Device, bytes: u64, count: u64, name: &str) -> impl Iterator<Item = (Op, u64, u64)> + use<> {
    let (random, places) = (Stream::new(7, name), device.capacity().0 / bytes);
    (0..count).map(move |index| (Op::Write, random.below(index, places) * bytes, bytes))
}

#[test]
fn small_writes_to_an_empty_drive_cost_what_they_are() {
    for (unit, expected) in [("4KiB", 1.0..1.02), ("page", 3.99..4.01)] {
        let mut drive = device(&["age.fill=0", &format!("mapping.unit={unit}")]);
        let writes = random(&drive, 4096, 20_000, "empty");
        let done = play(&mut drive, writes, 64);
        let measured = amplification(&drive, &done);
        println!("4-KiB random writes to an empty drive, unit {unit}: {measured:.4}");
        assert!(expected.contains(&measured), "{unit}: {measured}");
    }
}

#[test]
fn write_amplification_is_the_closed_form_whatever_the_unit() {
    // A = 1 / (1 - exp(-alpha / A)), with the blocks that can hold data for each block of logical pages.
    let theory = |alpha: f64| (0..500).fold(2.0, |a: f64, _| 1.0 / (1.0 - (-alpha / a).exp()));
    for (unit, bytes) in [("4KiB", 4096), ("16KiB", 16_384), ("page", 16_384), ("32KiB", 32_768)] {
        // Blocks so large that what the last program of each collection pads is little.
        let blocks = ["geometry.blocks=400", "geometry.pages=128"];
        let settings = ["gc.victim=fifo", "age.precondition=closed-form", &format!("mapping.unit={unit}")];
        let settings = [&blocks[..], &settings].concat();
        let mut drive = device(&settings);
        let units = drive.capacity().0 / bytes;
        let warm_up = random(&drive, bytes, units, "warm-up");
        play(&mut drive, warm_up, 16);
        let writes = random(&drive, bytes, 2 * units, "measured");
        let done = play(&mut drive, writes, 16);
        let layout = drive.plan().layout;
        let alpha = f64::from((layout.blocks - 2) * layout.pages) / drive.plan().logical_pages as f64;
        let (measured, expected) = (amplification(&drive, &done), theory(alpha));
        println!("FIFO, unit {unit}: {measured:.3} measured, {expected:.3} expected");
        assert!((measured / expected - 1.0).abs() < 0.02, "{unit}: {measured:.3} measured, {expected:.3} expected");
    }
}

#[test]
fn a_flash_page_is_sensed_once_for_its_neighbours() {
    let mut drive = device(&["mapping.unit=4KiB"]);
    // Written in order before the run, 16 KiB fill a flash page.
    let reads = (0..100).map(|page| (Op::Read, page * 16_384, 16_384));
    let done = play(&mut drive, reads, 1);
    assert_eq!((done.pages_read, done.bytes_read), (100, 100 * 16_384));
    // Across a boundary: two senses, and no more of the pages than was asked for.
    let done = play(&mut drive, [(Op::Read, 8192, 16_384)].into_iter(), 1);
    assert_eq!((done.pages_read, done.bytes_read), (2, 16_384));
    // Written page by page in reverse, neighbours stand in one flash page, but none behind the other.
    let writes = (0..8).rev().map(|unit| (Op::Write, unit * 4096, 4096));
    play(&mut drive, writes, 1);
    let done = play(&mut drive, [(Op::Read, 0, 32_768)].into_iter(), 1);
    assert_eq!((done.pages_read, done.bytes_read), (8, 32_768));
}

#[test]
fn what_is_smaller_than_a_unit_reads_the_rest_and_writes_it_again() {
    // A sector of a unit of 4 KiB: the unit's flash page is sensed, one codeword crosses the bus.
    let mut drive = device(&["mapping.unit=4KiB", "ecc.codeword=1KiB"]);
    let done = play(&mut drive, (0..4).map(|unit| (Op::Write, unit * 4096, 512)), 1);
    assert_eq!((done.fill_reads, done.bytes_read, done.pages_programmed), (4, 4 * 4096, 4));
    // A flash page of a unit of four: the other three are read, and all four are programmed.
    let mut drive = device(&["mapping.unit=64KiB"]);
    let done = play(&mut drive, (0..10).map(|unit| (Op::Write, unit * 65_536 + 16_384, 16_384)), 1);
    assert_eq!((done.fill_reads, done.bytes_read, done.pages_programmed), (30, 30 * 16_384, 40));
    // A whole one reads nothing.
    let done = play(&mut drive, (0..10).map(|unit| (Op::Write, unit * 65_536, 65_536)), 1);
    assert_eq!((done.fill_reads, done.pages_programmed), (0, 40));
    // Only whole units are unmapped.
    let done = play(&mut drive, [(Op::Trim, 65_536 + 16_384, 2 * 65_536)].into_iter(), 1);
    assert_eq!(done.pages_trimmed, 4);
}

#[test]
fn relocation_senses_a_flash_page_once_and_packs_what_is_valid() {
    let mut drive = device(&["mapping.unit=4KiB", "age.precondition=closed-form", "ftl.streams=2"]);
    let writes = random(&drive, 4096, 60_000, "relocation");
    let done = play(&mut drive, writes, 16);
    let moved: u64 = done.pages_relocated.iter().sum();
    // Victims have some 40 % of valid pages: of flash pages with any, about half are.
    let share = moved as f64 / (4 * done.pages_read) as f64;
    println!("{moved} pages moved with {} senses: {share:.2} of each flash page", done.pages_read);
    assert!((0.4..0.75).contains(&share), "{share}");
    assert!(done.bytes_read < 4 * 4096 * done.pages_read && done.bytes_read >= moved * 4096);
}

#[test]
fn entries_of_larger_units_reach_further() {
    let cached = ["mapping.table=cached", "mapping.cache=4KiB", "mapping.entry_group=256B", "bus.transfer=page"];
    let hits = |unit: &str| {
        let mut drive = device(&[&cached[..], &[unit]].concat());
        let random = Stream::new(3, "reads");
        let places = drive.capacity().0 / 16_384;
        let done = play(&mut drive, (0..4000).map(|n| (Op::Read, random.below(n, places) * 16_384, 16_384)), 1);
        done.map_hits as f64 / done.map_lookups as f64
    };
    let (small, page, large) = (hits("mapping.unit=4KiB"), hits("mapping.unit=page"), hits("mapping.unit=64KiB"));
    println!("hits of the cached map: {small:.3}, {page:.3} and {large:.3} with units of 4, 16 and 64 KiB");
    // 1024 entries of 4 B: of 25,600 pages they reach a 25th, a quarter of that, or four times as many.
    for (hits, expected) in [(small, 0.01), (page, 0.04), (large, 0.16)] {
        assert!((hits / expected - 1.0).abs() < 0.2, "{hits} {expected}");
    }
}

/// What is reported of writes of 64 KiB, one after another.
fn reported(unit: &str) -> (f64, f64, u64) {
    let mut config = Config::default();
    let words = ["geometry.blocks=100", "buffer.size=2MiB", "ftl.over_provisioning=0.5"];
    words.iter().for_each(|word| config.set(word).unwrap());
    config.set(&format!("mapping.unit={unit}")).unwrap();
    let load = workload::presets::get("default", &["workload.rw=write", "workload.bs=64KiB"]).unwrap();
    let source = load.source(config.plan().unwrap().capacity(), 1).unwrap();
    let options = RunOptions { replay: Replay::Closed(4), requests: Some(4000), ..RunOptions::default() };
    let mut run = Run::new(&config, source, options, None).unwrap();
    while !run.step(1000).unwrap() {}
    let outcome = run.finish().unwrap();
    let value = |name: &str, unit: &str| {
        let found = outcome.report().0.into_iter().find(|statistic| statistic.name == name).unwrap();
        assert_eq!(found.unit, unit, "{name}");
        found.value.as_f64().unwrap()
    };
    (value("flash.programs", "flash pages"), value("ftl.waf", ""), outcome.measured.totals.counters.bytes_settled)
}

#[test]
fn programs_are_counted_in_flash_pages_whatever_the_unit_of_the_map() {
    for unit in ["4KiB", "page", "64KiB"] {
        let (programs, waf, settled) = reported(unit);
        let by_hand = programs * 16_384.0 / settled as f64;
        assert!((by_hand - waf).abs() < 1e-9 && (1.0..1.05).contains(&waf), "{unit}: {by_hand} and {waf}");
    }
}
