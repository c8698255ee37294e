//! Read disturb: a block that is read over and over loses its pages, unless its data is moved in time.

use std::sync::OnceLock;

use nand::VirtualChip;
use nand::model::ladder::Ladder;
use ssd::stats::relocation_causes::{FOLD, READ_RECLAIM};
use ssd::{Device, Drive};
use testing::one_plane;
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
/// This many reads of the preset's chip is one of the tests' chip worth.
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
    assert_eq!(device_off.conditions_of(Lpn(0)).unwrap().reads, 2 * MOST as u32);

    let mut lost = device(&["chip.read_disturb=true"]);
    let first = first_lost(&mut lost, MOST).expect("a hot block is lost");
    assert_eq!(lost.counters().requests_until_uncorrectable, first);
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
    assert!(saved.conditions_of(Lpn(0)).unwrap().reads < 420);
    saved.check_mapping().unwrap();
}

#[test]
fn neighbours_are_disturbed_more_and_data_programmed_later_less() {
    let settings =
        ["chip.read_disturb=true", "chip.neighbour_disturb=5", "geometry.pages=24", "chip.program_unit=page"];
    let mut drive = device(&[&settings[..], &["buffer.mode=write-through", "age.fill=0.5"]].concat());
    // 300 reads of the first wordline: its neighbour counts five times as many, the rest as many as it was read.
    assert_eq!(first_lost(&mut drive, 300), None);
    let reads = |drive: &Device, page: u64| drive.conditions_of(Lpn(page)).unwrap().reads;
    assert_eq!([0, 2, 3, 5, 6, 23, 24].map(|page| reads(&drive, page)), [300, 300, 1500, 1500, 300, 300, 0]);
    // Three pages fill a wordline of a block, which is then read; what is programmed behind has met the reads that come
    // after it.
    let go = |drive: &mut Device, op: Op, page: u64| {
        drive.submit(Request::new(drive.now(), op, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        drive.advance_to_completion(Time::NEVER).unwrap();
        drive.take_completions();
    };
    (100..103).for_each(|page| go(&mut drive, Op::Write, page));
    (0..10).for_each(|_| go(&mut drive, Op::Read, 100));
    (103..109).for_each(|page| go(&mut drive, Op::Write, page));
    (0..4).for_each(|_| go(&mut drive, Op::Read, 101));
    assert_eq!([100, 103, 106].map(|page| reads(&drive, page)), [14, 20, 4]);
}

/// Pages of a wordline that are programmed one by one have met the reads since their own program, each.
#[test]
fn a_page_programmed_later_leaves_the_reads_that_others_of_its_wordline_have_met() {
    let settings = ["geometry.pages=24", "age.fill=0", "buffer.mode=write-through", "chip.read_disturb=true"];
    let of = |unit: &str| {
        let mut drive =
            device(&[&settings[..], &["chip.neighbour_disturb=5", &format!("chip.program_unit={unit}")]].concat());
        let mut go = |op: Op, page: u64| {
            drive.submit(Request::new(drive.now(), op, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
            drive.flush().unwrap();
            drive.take_completions().for_each(drop);
        };
        // Two wordlines, of which the first is read before the second has its last pages.
        (0..4).for_each(|page| go(Op::Write, page));
        (0..500).for_each(|_| go(Op::Read, 0));
        (4..6).for_each(|page| go(Op::Write, page));
        (0..10).for_each(|_| go(Op::Read, 0));
        drive.check_mapping().unwrap();
        [0, 2, 3, 4, 5].map(|page| drive.conditions_of(Lpn(page)).unwrap().reads)
    };
    // The page that was there all the time has met the reads before, five times as much since it is a neighbour.
    assert_eq!(of("page"), [510, 510, 2_550, 50, 50]);
}

#[test]
fn reclaim_by_wordline_moves_the_neighbours_alone() {
    const LIMIT: u32 = 600;
    let moved = |reclaim: &str, allocation: &str, planes: u64| {
        let settings = [
            "chip.read_disturb=true",
            "chip.neighbour_disturb=10",
            "geometry.pages=48",
            "geometry.planes=2",
            "buffer.size=1MiB",
            &format!("refresh.reads={LIMIT}"),
            &format!("refresh.reclaim={reclaim}"),
            &format!("ftl.allocation={allocation}"),
        ];
        let mut drive = device(&settings);
        // The middle wordline of the first block, on its first plane.
        let hot = [24, 25, 26].map(|page| page * planes);
        for index in 0..590 {
            let at = Time(index * 10_000_000);
            let page = hot[index as usize % 3];
            drive.submit(Request::new(at, Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
            drive.advance(Time(at.0 + 9_999_999)).unwrap();
            drive.take_completions();
        }
        drive.check_mapping().unwrap();
        let worst = (0..96).map(|page| drive.conditions_of(Lpn(page)).unwrap().reads).max().unwrap();
        (drive.counters().pages_relocated[3], drive.counters().blocks_relocated[3], worst)
    };
    // By block it is moved when it was read so often as a whole: neighbours have met ten times as many by then.
    assert_eq!(moved("block", "plane", 2), (0, 0, 5_900));
    // By wordline both neighbours are moved after 60 reads, and that is all.
    let (pages, blocks, worst) = moved("wordline", "plane", 2);
    assert!((pages, blocks) == (6, 0) && worst < 700, "{pages} pages, {blocks} blocks, at most {worst} reads");
    // A wordline of a superblock is one of each plane.
    let (pages, blocks, worst) = moved("wordline", "superblock", 2);
    assert!((pages, blocks) == (12, 0) && worst < 700, "{pages} pages, {blocks} blocks, at most {worst} reads");
}

/// Blocks of an SLC cache have as many wordlines as others, of a page each: the pages beside one that is read are
/// disturbed, and move.
#[test]
fn reclaim_by_wordline_moves_the_pages_beside_one_of_an_slc_cache() {
    let moved = |more: &[&str]| {
        let cache = ["ftl.slc_cache=static", "slc.blocks=4", "slc.fold_idle=1s", "ftl.over_provisioning=2.0"];
        let disturb = ["chip.read_disturb=true", "chip.neighbour_disturb=10", "geometry.pages=48", "age.fill=0"];
        let mut drive = device(&[&cache[..], &disturb, &["buffer.mode=write-through"], more].concat());
        let mut go = |op: Op, page: u64| {
            let at = Time(drive.now().0 + 10_000_000);
            drive.submit(Request::new(at, op, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
            drive.advance(Time(at.0 + 9_999_999)).unwrap();
            drive.take_completions().for_each(drop);
        };
        (0..17).for_each(|page| go(Op::Write, page));
        (0..300).for_each(|_| go(Op::Read, 8));
        drive.check().unwrap();
        drive.check_mapping().unwrap();
        let reads = [0, 6, 7, 8, 9, 10].map(|page| drive.conditions_of(Lpn(page)).unwrap().reads);
        // What is left of the block is folded as soon as the host is idle.
        drive.advance(Time(drive.now().0 + 5_000_000_000)).unwrap();
        let counters = drive.counters();
        (counters.pages_relocated[READ_RECLAIM], counters.pages_relocated[FOLD], reads)
    };
    assert_eq!(moved(&["refresh.reads=none"]), (0, 16, [300, 300, 3_000, 300, 3_000, 300]));
    let (pages, folded, reads) = moved(&["refresh.reads=600", "refresh.reclaim=wordline"]);
    assert_eq!((pages, folded), (2, 14));
    // The two that have moved were read for that, beside the others.
    let others = [0, 1, 3, 5].map(|which| reads[which]);
    assert!(others.iter().all(|reads| (300..=320).contains(reads)), "{reads:?}");
    assert!(reads[2] < 300 && reads[4] < 300, "what has moved is elsewhere: {reads:?}");
}

#[test]
fn reads_before_the_run_count_until_the_block_is_erased() {
    let mut worn = device(&["chip.read_disturb=true", "age.reads=1000"]);
    let mut new = device(&["chip.read_disturb=true"]);
    assert_eq!(worn.conditions_of(Lpn(0)).unwrap().reads, 1_000);
    let (sooner, later) = (first_lost(&mut worn, 6_000).unwrap(), first_lost(&mut new, 6_000).unwrap());
    assert!((sooner + 1_000).abs_diff(later) <= 3, "{sooner} reads after 1,000, {later} without");
    // Data that is written again lies in an erased block.
    worn.submit(Request::new(worn.now(), Op::Write, Bytes(0), Bytes(PAGE))).unwrap();
    worn.flush().unwrap();
    assert!(worn.conditions_of(Lpn(0)).unwrap().reads < 10);
}

#[test]
fn every_failing_read_adds_its_retries() {
    let mut lost = device(&["chip.read_disturb=true"]);
    let first = first_lost(&mut lost, 6_000).unwrap() as u32;
    let before = lost.conditions_of(Lpn(0)).unwrap().reads;
    let steps = lost.counters().retry_steps as u32;
    assert_eq!(before, first + 1 + steps);
    assert!(steps >= 40, "all steps of the table have been tried");
}
