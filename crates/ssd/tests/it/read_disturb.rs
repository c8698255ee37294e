//! Read disturb: a block that is read over and over loses its pages, unless its data is moved in time.

use std::sync::OnceLock;

use crate::common::one_plane;
use nand::VirtualChip;
use nand::model::ladder::Ladder;
use ssd::Device;
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
/// So many reads of the preset's chip is one of the tests' chip worth.
const STRONGER: f64 = 2_000.0;

/// The path of a TLC chip that reads disturb as strongly.
fn disturbed_chip() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let text = include_str!("../../../../presets/chips/tlc48.toml");
        let strong = text.replace("\ndisturb = 0.1\n", &format!("\ndisturb = {}\n", 0.1 * STRONGER));
        assert_ne!(text, strong);
        let path = std::env::temp_dir().join(format!("ssdlab-disturbed-{}.toml", std::process::id()));
        std::fs::write(&path, strong).unwrap();
        path.display().to_string()
    })
}

fn device(settings: &[&str]) -> Device {
    let mut config = one_plane();
    for word in
        ["geometry.pages=12", "ftl.over_provisioning=1.0", "age.pec=1000", &format!("chip.model={}", disturbed_chip())]
    {
        config.set(word).unwrap();
    }
    settings.iter().for_each(|word| config.set(word).unwrap());
    Device::new(&config, 1).unwrap()
}

/// Reads the first three pages in turn, `most` times at most: which read was the first that failed.
fn first_lost(device: &mut Device, most: u64) -> Option<u64> {
    for index in 0..most {
        let at = Time(index * 10_000_000);
        device.submit(Request::new(at, Op::Read, Bytes(index % 3 * PAGE), Bytes(PAGE))).unwrap();
        device.advance(Time(at.0 + 9_999_999)).unwrap();
        if device.take_completions().any(|completion| completion.uncorrectable) {
            return Some(index);
        }
    }
    None
}

#[test]
fn a_hot_block_is_lost_without_reclaim_and_lives_on_with_it() {
    const MOST: u64 = 6_000;
    let mut device_off = device(&[]);
    assert_eq!(first_lost(&mut device_off, 2 * MOST), None, "reads are counted, and nothing else");
    assert_eq!(device_off.conditions(Lpn(0)).unwrap().reads, 2 * MOST as u32);

    let mut lost = device(&["chip.read_disturb=true"]);
    let first = first_lost(&mut lost, MOST).expect("a hot block is lost");
    // Where the model says: the default references no longer read a page of the block, nor do lower ones.
    let chip = VirtualChip::preset("tlc48").unwrap();
    let fails =
        |reads: f64| (0..3).any(|page| Ladder::new(&chip, page, 1.025, 0.0, reads, 30.0).steps(0.0, 2.0).is_none());
    let expected = (1..1_000).map(|step| f64::from(step) * 10.0).find(|reads| fails(reads * STRONGER)).unwrap();
    println!("lost after {first} reads; by the model {expected}");
    assert!((first as f64 / expected - 1.0).abs() < 0.15, "lost after {first} reads, and {expected} were expected");

    let mut saved = device(&["chip.read_disturb=true", "refresh.reads=400"]);
    assert_eq!(first_lost(&mut saved, 5 * MOST), None);
    assert!(saved.counters().pages_relocated[3] >= 12 * (5 * MOST / 400 - 2), "the block moves every 400 reads");
    assert!(saved.conditions(Lpn(0)).unwrap().reads < 420);
    saved.check_mapping().unwrap();
}

#[test]
fn reads_before_the_run_count_until_the_block_is_erased() {
    let mut worn = device(&["chip.read_disturb=true", "age.reads=1000"]);
    let mut new = device(&["chip.read_disturb=true"]);
    assert_eq!(worn.conditions(Lpn(0)).unwrap().reads, 1_000);
    let (sooner, later) = (first_lost(&mut worn, 6_000).unwrap(), first_lost(&mut new, 6_000).unwrap());
    assert!((sooner + 1_000).abs_diff(later) <= 3, "{sooner} reads after 1,000, {later} without");
    // Data that is written again lies in an erased block.
    worn.submit(Request::new(worn.now(), Op::Write, Bytes(0), Bytes(PAGE))).unwrap();
    worn.flush().unwrap();
    assert!(worn.conditions(Lpn(0)).unwrap().reads < 10);
}

#[test]
fn every_failing_read_adds_its_retries() {
    let mut lost = device(&["chip.read_disturb=true"]);
    let first = first_lost(&mut lost, 6_000).unwrap() as u32;
    let before = lost.conditions(Lpn(0)).unwrap().reads;
    let steps = lost.counters().retry_steps as u32;
    assert_eq!(before, first + 1 + steps);
    assert!(steps >= 40, "all steps of the table have been tried");
}
