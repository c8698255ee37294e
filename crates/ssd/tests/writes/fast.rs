//! A mapping by blocks with a log (FAST): what each merge costs, page by page, and what a load of each kind makes of it
//! beside a mapping by pages.

use ssd::stats::Counters;
use ssd::{Config, Device, Drive};
use testing::{Watch, Watched, watched};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
/// Pages of a block.
const BLOCK: u64 = 12;

/// One plane, full of data, on which pages are programmed one by one, and each write completes when it is on flash.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = [
        "ftl.mapping=fast",
        "ftl.placement=static",
        "ftl.log_blocks=1",
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=48",
        "geometry.pages=12",
        "chip.program_unit=page",
        "chip.model=none",
        "age.fill=1",
        "age.precondition=none",
        "age.staggered=false",
        "ftl.over_provisioning=1.0",
        "buffer.size=1MiB",
        "buffer.mode=write-through",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

fn write(device: &mut Device<Watched>, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        device.submit(Request::new(device.now(), Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        while !device.advance_to_completion(Time::NEVER).unwrap() {}
        device.take_completions();
    }
}

/// What was written, and all merges that it has led to.
fn played(config: &Config, pages: impl IntoIterator<Item = u64>) -> (Device<Watched>, Counters, Vec<(u64, u64)>) {
    let watch = Watch::default();
    let mut device = watched(config, 1, watch.clone());
    write(&mut device, pages);
    device.flush().unwrap();
    device.advance(Time(device.now().0 + 1_000_000_000)).unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
    let programs =
        watch.0.borrow().iter().filter(|entry| entry.0 == "program").map(|entry| (entry.1, entry.2)).collect();
    let counters = device.counters();
    (device, counters, programs)
}

fn merges(counters: &Counters) -> [u64; 3] {
    [counters.switch_merges, counters.partial_merges, counters.full_merges]
}

fn relocated(counters: &Counters) -> u64 {
    counters.pages_relocated.iter().sum()
}

/// Pages of a logical block stand at their places in one block.
fn stands_in_order(device: &Device<Watched>, logical: u64) -> bool {
    let at = |place: u64| device.plan().layout.unpack(device.flash_page(Lpn(logical * BLOCK + place)).unwrap());
    (0..BLOCK).all(|place| (at(place).block, u64::from(at(place).page)) == (at(0).block, place))
}

#[test]
fn a_logical_block_that_is_written_in_order_costs_nothing_more() {
    let (device, counters, programs) = played(&config(&[]), BLOCK..4 * BLOCK);
    assert_eq!((merges(&counters), relocated(&counters), programs.len() as u64), ([3, 0, 0], 0, 3 * BLOCK));
    assert!((0..5).all(|logical| stands_in_order(&device, logical)));
}

#[test]
fn the_rest_of_a_logical_block_is_copied_when_another_one_begins() {
    let (device, counters, programs) = played(&config(&[]), (BLOCK..BLOCK + 5).chain([2 * BLOCK]));
    assert_eq!((merges(&counters), relocated(&counters)), ([0, 1, 0], BLOCK - 5));
    assert_eq!((counters.pages_padded, programs.len() as u64), (0, 6 + BLOCK - 5));
    assert!(stands_in_order(&device, 1));
    // Data that is newer in the log comes along.
    let (device, counters, _) = played(&config(&[]), [BLOCK, BLOCK + 1, BLOCK + 7, 2 * BLOCK]);
    assert_eq!((merges(&counters), relocated(&counters)), ([0, 1, 0], BLOCK - 2));
    assert!(stands_in_order(&device, 1));
}

#[test]
fn a_full_log_block_is_merged_with_every_logical_block_that_it_has_data_of() {
    // The second page of this many logical blocks fills the log; one write more, and all of them are copied.
    let pages = |writes: u64| (0..writes).map(|logical| logical * BLOCK + 1);
    let (_, counters, _) = played(&config(&[]), pages(BLOCK));
    assert_eq!(
        (merges(&counters), relocated(&counters)),
        ([0, 0, BLOCK], BLOCK * BLOCK),
        "it is emptied when it is full"
    );
    let (device, counters, programs) = played(&config(&[]), pages(BLOCK + 1));
    assert_eq!((merges(&counters), relocated(&counters)), ([0, 0, BLOCK], BLOCK * BLOCK));
    assert_eq!(programs.len() as u64, BLOCK + 1 + BLOCK * BLOCK);
    assert!((0..BLOCK).all(|logical| stands_in_order(&device, logical)) && !stands_in_order(&device, BLOCK));
    // The last write has waited for all of it: programs and reads of one plane do not overlap.
    let timings = &device.plan().timings;
    let (last, before) = (programs[programs.len() - 1], programs[BLOCK as usize - 1]);
    let merged = BLOCK * BLOCK * timings.slowest_program().0;
    assert!(last.0 >= before.1 + merged, "{last:?} after {before:?}");
    // Pages without data are programmed empty, up to the last one that has any.
    let (_, counters, _) = played(&config(&["age.fill=0"]), pages(BLOCK));
    assert_eq!((merges(&counters), relocated(&counters), counters.pages_padded), ([0, 0, BLOCK], BLOCK, BLOCK));
}

#[test]
fn what_is_written_at_random_costs_a_block_a_page_and_by_pages_next_to_nothing() {
    // Rounds of one page of each of twelve logical blocks, another page each time: as many merges as pages.
    let round = |number: u64| (0..BLOCK).map(move |logical| logical * BLOCK + 1 + number % (BLOCK - 1));
    let random = || (0..10).flat_map(round);
    let in_order = || (0..10).flat_map(|_| 0..2 * BLOCK);
    let amplification = |settings: &[&str], random_load: bool| {
        let pages: Vec<u64> = if random_load { random().collect() } else { in_order().collect() };
        let (_, counters, _) = played(&config(settings), pages.iter().copied());
        counters.pages_programmed as f64 / pages.len() as f64
    };
    assert_eq!(amplification(&[], false), 1.0);
    assert_eq!(amplification(&[], true), 1.0 + BLOCK as f64);
    let by_page = ["ftl.mapping=page"];
    assert_eq!(amplification(&by_page, false), 1.0);
    assert!(amplification(&by_page, true) < 1.5);
    // With more log blocks than are written in, pages are out of date before their block is merged.
    assert_eq!(amplification(&["ftl.log_blocks=12"], true), 1.0);
}

#[test]
fn what_a_mapping_by_blocks_cannot_be_with_is_refused_with_its_key() {
    for (setting, key) in [
        ("ftl.placement=dynamic", "ftl.placement"),
        ("ftl.log_blocks=0", "ftl.log_blocks"),
        ("ftl.log_blocks=40", "ftl.over_provisioning"),
        ("ftl.streams=3", "ftl.streams"),
        ("ftl.hints=2", "ftl.hints"),
        ("ftl.slc_cache=dynamic", "ftl.slc_cache"),
        ("mapping.table=cached", "mapping.table"),
        ("mapping.unit=64KiB", "mapping.unit"),
        ("age.precondition=closed-form", "age.precondition"),
        ("age.invalid=0.1", "age.invalid"),
        ("gc.copyback=true", "gc.copyback"),
    ] {
        let error = config(&[setting]).plan().unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key), "{setting}: {error}");
    }
}
