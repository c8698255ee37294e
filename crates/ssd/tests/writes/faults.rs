//! Parts that break: what is lost with them, what the drive goes on with, and when it cannot.

use ssd::{Completion, Config, Device, Drive};
use testing::worn_out_soon;
use units::{Bytes, Lpn, Stream, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;

/// Two channels of two dies of two planes of 40 blocks of 24 pages.
pub fn config(settings: &[&str]) -> Config {
    let mut config = worn_out_soon(&["wear.erase_fail=0", "wear.end_of_life=read-only"]);
    let small = ["geometry.channels=2", "geometry.planes=2", "age.precondition=none", "age.fill=0.5"];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Plays requests one after another; what completed.
pub fn play(device: &mut Device, requests: impl IntoIterator<Item = (Op, u64)>) -> Vec<Completion> {
    let mut done = Vec::new();
    for (op, page) in requests {
        let bytes = Bytes(if op == Op::Flush { 0 } else { PAGE });
        device.submit(Request::new(device.now(), op, Bytes(page * PAGE), bytes)).unwrap();
        while device.outstanding() > 0 {
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            done.extend(device.take_completions());
        }
    }
    device.check().unwrap();
    done
}

/// Random writes of this many of the first pages.
pub fn writes(pages: u64, count: u64) -> impl Iterator<Item = (Op, u64)> {
    let random = Stream::new(5, "writes");
    (0..count).map(move |index| (Op::Write, random.below(index, pages)))
}

pub fn reads(pages: u64) -> impl Iterator<Item = (Op, u64)> {
    (0..pages).map(|page| (Op::Read, page))
}

#[test]
fn what_stands_on_a_broken_die_is_reported_and_all_else_is_read() {
    for part in ["channel 1", "die 2", "plane 5"] {
        let settings = ["ftl.over_provisioning=2", &format!("faults.at=1s {part}")];
        let mut device = Device::new(&config(&settings), 1).unwrap();
        let pages = device.plan().logical_pages;
        play(&mut device, writes(pages, 2000));
        device.flush().unwrap();
        let layout = device.plan().layout;
        let before: Vec<_> = (0..pages).map(|page| device.flash_page(Lpn(page))).collect();
        device.advance(Time(1_000_000_001)).unwrap();
        let done = play(&mut device, reads(pages));
        let reported: Vec<bool> = done.iter().map(|completion| completion.uncorrectable).collect();
        let broken = |plane: u32| match part {
            "channel 1" => plane >= 4,
            "die 2" => (4..6).contains(&plane),
            _ => plane == 5,
        };
        let lost: Vec<bool> = before.iter().map(|ppn| ppn.is_some_and(|ppn| broken(layout.plane_of(ppn).0))).collect();
        assert_eq!(reported, lost, "{part}");
        assert!(lost.contains(&true));
        // Written again, it is all there again, on the planes that are left.
        let done =
            play(&mut device, (0..pages).map(|page| (Op::Write, page)).chain([(Op::Flush, 0)]).chain(reads(pages)));
        assert!(done.iter().all(|completion| !completion.uncorrectable && !completion.refused), "{part}");
        assert!((0..pages).all(|page| !broken(layout.plane_of(device.flash_page(Lpn(page)).unwrap()).0)));
        play(&mut device, writes(pages, 4000));
        device.check_mapping().unwrap();
        assert_eq!(device.end_of_life(), None, "its data fits on half of the drive");
    }
}

#[test]
fn a_drive_whose_data_has_no_room_any_more_turns_read_only() {
    // Raw capacity is 2.2 times the logical one: three dies of four hold the data, two do not.
    let mut device = Device::new(&config(&["ftl.over_provisioning=1.2", "faults.at=[1s die 0, 2s die 1]"]), 1).unwrap();
    device.advance(Time(1_500_000_000)).unwrap();
    assert_eq!(device.end_of_life(), None);
    device.advance(Time(2_500_000_000)).unwrap();
    assert_eq!(device.end_of_life(), Some(Time(2_000_000_000)));
    let done = play(&mut device, [(Op::Write, 1), (Op::Read, 1)]);
    assert!(done[0].refused && !done[1].refused);
    // Under static placement a plane's addresses have no other place.
    let mut device = Device::new(&config(&["ftl.placement=static", "faults.at=1s plane 3"]), 1).unwrap();
    device.advance(Time(1_500_000_000)).unwrap();
    assert_eq!(device.end_of_life(), Some(Time(1_000_000_000)));
}

#[test]
fn broken_blocks_are_emptied_and_leave_service_and_what_they_held_stays_lost() {
    let mut device = Device::new(&config(&["faults.at=[1s blocks 0:6, 1s blocks 5:1, 1s block 3:0]"]), 1).unwrap();
    let pages = device.plan().logical_pages / 2;
    play(&mut device, writes(pages, 3000));
    device.flush().unwrap();
    device.advance(Time(3_000_000_000)).unwrap();
    let counters = device.counters();
    // Draws may meet a block twice.
    assert!((4..=8).contains(&counters.blocks_broken), "{}", counters.blocks_broken);
    assert_eq!(counters.blocks_retired, counters.blocks_broken);
    let lost = play(&mut device, reads(pages)).iter().filter(|completion| completion.uncorrectable).count() as u64;
    assert!(lost > 0 && lost == counters.pages_lost, "{lost} reported, {} lost", counters.pages_lost);
    // Half of a page leaves the rest lost; all of it does not.
    let done = play(&mut device, reads(pages));
    let page = done.iter().position(|completion| completion.uncorrectable).unwrap() as u64;
    let half = Request::new(device.now(), Op::Write, Bytes(page * PAGE), Bytes(PAGE / 2));
    device.submit(half).unwrap();
    device.flush().unwrap();
    device.take_completions();
    assert!(play(&mut device, [(Op::Read, page)])[0].uncorrectable);
    play(&mut device, [(Op::Write, page), (Op::Flush, 0)]);
    assert!(!play(&mut device, [(Op::Read, page)])[0].uncorrectable);
    device.check_mapping().unwrap();
}

#[test]
fn half_of_a_page_that_a_power_cut_has_left_nowhere_leaves_the_rest_lost() {
    // The host writes half of a lost page before the cut, which capacitors keep, or after it.
    for before in [true, false] {
        let plp = format!("power.plp={before}");
        let cut = ["faults.at=1s blocks 0:30", "power.cut_at=[1000001us]", "mapping.checkpoint=1MiB", &plp];
        let mut device = Device::new(&config(&cut), 1).unwrap();
        let pages = device.plan().logical_pages / 2;
        play(&mut device, writes(pages, 3000).chain([(Op::Flush, 0)]));
        let half = |page: u64, time: Time| Request::new(time, Op::Write, Bytes(page * PAGE), Bytes(PAGE / 2));
        let written: Vec<u64> = (0..pages).step_by(3).collect();
        if before {
            for page in &written {
                device.submit(half(*page, Time(999_000_000))).unwrap();
            }
        }
        device.advance(Time(2_000_000_000)).unwrap();
        assert!(device.counters().cuts == 1 && device.counters().blocks_broken > 10);
        device.take_completions();
        let lost: Vec<u64> = if before {
            written
        } else {
            let done = play(&mut device, reads(pages));
            let lost = (0..).zip(&done).filter(|(_, read)| read.uncorrectable).map(|(page, _)| page);
            let lost: Vec<u64> = lost.collect();
            let now = device.now();
            for page in &lost {
                device.submit(half(*page, now)).unwrap();
            }
            lost
        };
        device.flush().unwrap();
        device.take_completions();
        let read = play(&mut device, lost.iter().map(|page| (Op::Read, *page)));
        let reported = read.iter().filter(|read| read.uncorrectable).count();
        assert!(if before { reported > 10 } else { reported == lost.len() && reported > 10 }, "{before}: {reported}");
        // All of it is there again when all of it has been written.
        play(&mut device, lost.iter().map(|page| (Op::Write, *page)).chain([(Op::Flush, 0)]));
        assert!(play(&mut device, lost.iter().map(|page| (Op::Read, *page))).iter().all(|read| !read.uncorrectable));
    }
}

#[test]
fn a_stuck_program_and_a_stuck_erase_cost_a_block_each() {
    for (part, failed) in [("program 1", 3), ("erase 1", 0)] {
        let config = config(&["age.precondition=closed-form", "age.fill=1", &format!("faults.at=0ns {part}")]);
        let mut device = Device::new(&config, 1).unwrap();
        let pages = device.plan().logical_pages;
        play(&mut device, writes(pages, 3000));
        assert_eq!((device.counters().pages_failed, device.counters().blocks_retired), (failed, 1), "{part}");
        let done = play(&mut device, reads(pages));
        assert!(done.iter().all(|completion| !completion.uncorrectable), "{part}: nothing is lost");
    }
}

#[test]
fn rates_are_met_and_grow_with_wear() {
    // Of failing erases, and so of blocks that go out of service: without wear, and after 1000 and 3000 cycles.
    let share = |settings: &[&str]| {
        let base = ["age.precondition=closed-form", "age.fill=1", "wear.erase_fail=0.01", "geometry.blocks=600"];
        let mut device = Device::new(&config(&[&base, settings].concat()), 3).unwrap();
        let pages = device.plan().logical_pages;
        play(&mut device, writes(pages, 120_000));
        let counters = device.counters();
        counters.blocks_retired as f64 / counters.blocks_erased as f64
    };
    for (settings, expected) in [
        (&["wear.erase_fail=0.01"][..], 0.01),
        (&["wear.erase_fail=0.01", "faults.growth=1000", "age.pec=1000"], 0.02),
        (&["wear.erase_fail=0.01", "faults.growth=1000", "age.pec=3000"], 0.04),
        (&["wear.erase_fail=0", "faults.blocks=0.01"], 0.01),
        (&["wear.erase_fail=0", "faults.blocks=0.005", "faults.burst=4"], 0.02),
    ] {
        let measured = share(settings);
        assert!((measured / expected - 1.0).abs() < 0.2, "{settings:?}: {measured:.4}, {expected} expected");
    }
}
