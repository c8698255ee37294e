//! Schemes after the four papers, on an idle drive: each read takes its senses one after another, to the nanosecond,
//! and as many as the scheme promises.

use ssd::{Config, Device, Drive};
use testing::lone_page_reads;
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

const T_R: u64 = 40_000;
const T_DMA: u64 = 13_000;
const T_ECC: u64 = 5_000;

fn config(scheme: &str, settings: &[&str]) -> Config {
    let words = schemes::presets::words(scheme).unwrap();
    let base = ["geometry.pages=48", "ecc.t_decode=5us", "age.pec=2000", "age.retention=6mo"];
    lone_page_reads(base.into_iter().chain(words.iter().map(String::as_str)).chain(settings.iter().copied()))
}

/// Lone reads of pages, one after another: the retry steps that each took. Latencies are what the steps take.
fn steps(config: &Config, pages: &[u64]) -> Vec<u64> {
    let mut device = Device::new(config, 1).unwrap();
    let mut found = Vec::new();
    for (number, page) in (1..).zip(pages) {
        device.submit(Request::new(Time(number * 100_000_000), Op::Read, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        device.flush().unwrap();
        let done = device.take_completions().next_back().unwrap();
        assert!(!done.uncorrectable);
        let before: u64 = found.iter().sum();
        let took = device.counters().retry_steps - before;
        if config.ecc.code.is_none() {
            assert_eq!(done.latency().0 - 2 * 17, (took + 1) * (T_R + T_DMA + T_ECC), "page {page}");
        }
        found.push(took);
    }
    device.check().unwrap();
    found
}

/// The first page of each of thirty blocks: one layer, one kind.
fn same_layer() -> Vec<u64> {
    (0..30).map(|block| block * 48).collect()
}

#[test]
fn a_recorded_reference_reads_the_block_and_its_layers_again() {
    let baseline = steps(&config("baseline", &[]), &[0, 0, 3]);
    assert!(baseline.iter().all(|steps| *steps > 8), "{baseline:?}");
    // One step before what read the page: the table is walked from there.
    let recorded = steps(&config("recorded", &["read.record_groups=1"]), &[0, 0, 3, 6]);
    assert_eq!(recorded[0], baseline[0]);
    assert!(recorded[1..].iter().all(|steps| *steps <= 3), "{recorded:?}");
    // Of another group nothing is recorded.
    let groups = steps(&config("recorded", &["read.record_groups=48"]), &[0, 0, 24]);
    assert!(groups[1] <= 1 && groups[2] > 8, "{groups:?}");
}

#[test]
fn records_make_room_for_others() {
    // Room for eight; pages of one kind of ten blocks in turn.
    let pages: Vec<u64> = (0..20).map(|read| read % 10 * 48).collect();
    let few = steps(&config("recorded", &["read.records=64B"]), &pages);
    let many = steps(&config("recorded", &["read.records=1KiB"]), &pages);
    assert!(few[10..].iter().all(|steps| *steps > 8), "{few:?}");
    assert!(many[10..].iter().all(|steps| *steps <= 1), "{many:?}");
}

#[test]
fn a_table_made_for_the_chip_needs_fewer_steps_and_from_a_near_start_hardly_any() {
    let pages = same_layer();
    let sum = |scheme: &str| steps(&config(scheme, &[]), &pages).iter().sum::<u64>();
    let (vendor, tailored, near) = (sum("baseline"), sum("next=tailored"), sum("near-zero"));
    assert!(tailored * 2 < vendor, "{tailored} for {vendor}");
    assert!(near * 3 < tailored, "{near} for {tailored}");
}

#[test]
fn the_syndrome_weight_leads_to_the_references_in_a_few_steps() {
    let coded = ["ecc.code=qc-ldpc", "ecc.t_decode=1us"];
    let pages = same_layer();
    let sum = |scheme: &str| steps(&config(scheme, &coded), &pages).iter().sum::<u64>();
    let (vendor, search, near) = (sum("baseline"), sum("next=syndrome"), sum("syndrome"));
    // From the default references the weight says little: half of the checks see an odd number of errors wherever one
    // is far off.
    assert!(search < vendor && near * 4 < search, "{near}, {search} for {vendor}");
    // Without a code the weights are those of hpca24's, and the chip's capability says what is corrected.
    let uncoded = |scheme: &str| steps(&config(scheme, &[]), &pages).iter().sum::<u64>();
    assert!(uncoded("syndrome") * 4 < uncoded("next=syndrome"));
    assert!(uncoded("next=syndrome") < uncoded("baseline"));
}

/// Reads of a page each, of pages drawn from a whole drive of the preset `tlc` whose data is a year old: steps of each.
fn aged(settings: &[&str]) -> Vec<u64> {
    let mut config = ssd::presets::load("tlc").unwrap().config;
    for word in ["age.pec=1000", "age.retention=12mo"].iter().chain(settings) {
        config.set(word).unwrap();
    }
    let mut device = Device::new(&config, 1).unwrap();
    let (draws, pages) = (Stream::new(1, "pages"), device.capacity().0 / 16_384);
    let mut steps = Vec::new();
    for n in 0..1500 {
        let before = device.counters().retry_steps;
        let at = Bytes(draws.below(n, pages) * 16_384);
        device.submit(Request::new(device.now(), Op::Read, at, Bytes(4096))).unwrap();
        device.flush().unwrap();
        device.take_completions();
        steps.push(device.counters().retry_steps - before);
    }
    steps
}

#[test]
fn a_patrolled_drive_reads_old_data_as_one_that_has_long_tracked_its_reads() {
    let retried = |steps: &[u64]| steps.iter().filter(|steps| **steps > 0).count();
    let (patrolled, tracked) = (aged(&[]), aged(&["read.start=tracked"]));
    // Nearly each of so few reads is the first of its die, layer, kind and age.
    assert!(retried(&tracked) > 1000, "{}", retried(&tracked));
    // What another page needs serves nearly every page of the kind, and no table is walked where it does not.
    assert!(retried(&patrolled) < 40 && patrolled.iter().sum::<u64>() < 60, "{}", retried(&patrolled));
    // It is no oracle: a page that differs from its kind is retried.
    let worn = aged(&["age.pec=3000"]);
    assert!((10..150).contains(&retried(&worn)), "{}", retried(&worn));
    // Where the table is walked a read begins before what the other page needs: the guard's steps are left.
    let walked = aged(&["read.next=table"]);
    assert!(walked.iter().all(|steps| (1..12).contains(steps)), "{walked:?}");
}
