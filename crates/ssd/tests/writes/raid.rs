//! Parity over dies: what it costs, and what it gives back.

use crate::faults::{play, reads, writes};
use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

/// Eight dies on four channels, of one plane of 60 blocks of 24 pages each.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=4",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=1",
        "geometry.blocks=60",
        "geometry.pages=24",
        "chip.program_unit=page",
        "ftl.over_provisioning=1.5",
        "buffer.size=1MiB",
        "age.fill=0",
        "wear.end_of_life=read-only",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

#[test]
fn parity_of_n_pages_amplifies_sequential_writes_by_n_over_n_minus_1() {
    for wide in [2, 4, 8] {
        let mut device =
            Device::new(&config(&[&format!("ftl.raid=parity:{wide}"), "ftl.over_provisioning=3"]), 1).unwrap();
        let pages = device.plan().logical_pages / 7 / 8 * 7 * 8;
        play(&mut device, (0..pages).map(|page| (Op::Write, page)));
        device.flush().unwrap();
        let counters = device.counters();
        let expected = pages / (wide - 1);
        // A stripe may be open on each die.
        assert!(
            (expected - 8..=expected).contains(&counters.parity_programs),
            "{} of {expected}",
            counters.parity_programs
        );
        assert_eq!(counters.pages_programmed, pages + counters.parity_programs);
        assert_eq!(counters.parity_reads, 0);
    }
}

#[test]
fn a_page_that_cannot_be_read_is_worked_out_of_the_n_minus_1_others() {
    for wide in [2, 4, 8] {
        let raid = format!("ftl.raid=parity:{wide}");
        let mut device = Device::new(&config(&[&raid, "ftl.over_provisioning=3", "faults.at=1s die 3"]), 1).unwrap();
        let pages = device.plan().logical_pages / 2;
        play(&mut device, (0..pages).map(|page| (Op::Write, page)));
        device.flush().unwrap();
        let layout = device.plan().layout;
        let on_die =
            |device: &Device, page: u64| device.flash_page(Lpn(page)).is_some_and(|ppn| layout.place_of(ppn).0.0 == 3);
        let lost = (0..pages).filter(|page| on_die(&device, *page)).count() as u64;
        let before = device.counters();
        device.advance(Time(20_000_000_000)).unwrap();
        let after = device.counters();
        let parity = before.parity_programs / 8;
        // The parity that stood there is worked out as well; that of stripes that are open is in the controller.
        let rebuilt = after.pages_rebuilt;
        assert!(
            rebuilt >= lost && rebuilt <= lost + 2 * parity + 8,
            "{rebuilt} rebuilt of {lost} pages and {parity} of parity"
        );
        let most = rebuilt * (wide - 1);
        assert!(
            (most - 8 * wide..=most).contains(&after.parity_reads),
            "{} reads, {most} expected",
            after.parity_reads
        );
        let done = play(&mut device, reads(pages));
        assert!(done.iter().all(|completion| !completion.uncorrectable));
        assert!((0..pages).all(|page| !on_die(&device, page)), "what the die held is on others");
        device.flush().unwrap();
        assert_eq!((device.counters().pages_rescued, device.counters().media_errors), (lost, 0));
        device.check_mapping().unwrap();
    }
}

#[test]
fn with_static_placement_a_lost_die_is_read_on_and_what_is_rebuilt_stays_on_its_plane() {
    let settings = ["ftl.raid=parity:4", "ftl.placement=static", "ftl.over_provisioning=3"];
    for part in ["blocks 3:12", "die 2"] {
        let fault = format!("faults.at=0ms {part}");
        let mut device = Device::new(&config(&[&settings[..], &[&fault]].concat()), 1).unwrap();
        device.workload_is_to_come();
        let pages = device.plan().logical_pages * 3 / 4;
        play(&mut device, (0..pages).map(|page| (Op::Write, page)).chain(writes(pages, 6 * pages)));
        device.flush().unwrap();
        let before = device.counters();
        assert!(before.pages_relocated[0] > 0 && before.parity_programs > 0);
        device.workload_begins();
        let done = play(&mut device, reads(pages));
        let lost = done.iter().filter(|completion| completion.uncorrectable).count();
        let after = device.counters();
        assert_eq!((lost, after.media_errors), (0, 0), "{part}");
        assert!(after.pages_rebuilt > 0, "{part}");
        // A plane that is gone has no place for its addresses: the drive is read alone from then on.
        assert_eq!(device.end_of_life().is_some(), part == "die 2", "{part}");
        device.check_mapping().unwrap();
    }
}

/// The drive is read-only by then, so that nothing is rebuilt in the background: what is read is what the host's reads
/// need. Each asks for the four pages of a flash page.
#[test]
fn pages_of_a_flash_page_that_cannot_be_read_are_each_worked_out_of_their_own_stripes() {
    let settings = ["ftl.placement=static", "ftl.over_provisioning=3", "mapping.unit=4KiB", "faults.at=1s die 2"];
    for wide in [2, 4, 8] {
        let mut device =
            Device::new(&config(&[&settings[..], &[&format!("ftl.raid=parity:{wide}")]].concat()), 1).unwrap();
        let written = device.plan().logical_pages / 4 / 2;
        play(&mut device, (0..written).map(|page| (Op::Write, page)));
        device.flush().unwrap();
        device.advance(Time(1_000_000_001)).unwrap();
        let layout = device.plan().layout;
        let die = |page: u64| layout.place_of(device.flash_page(Lpn(4 * page)).unwrap()).0.0;
        // The last stripes are not full.
        let pages = written - 8 * wide;
        let lost = (0..pages).filter(|page| die(*page) == 2).count() as u64;
        assert!(lost > 0);
        let done = play(&mut device, reads(pages));
        assert!(done.iter().all(|completion| !completion.uncorrectable));
        let counters = device.counters();
        assert_eq!(counters.parity_reads, lost * (wide - 1), "{wide}: four pages come with each sense");
        assert_eq!(counters.pages_read, pages + counters.parity_reads, "{wide}: no page is sensed twice");
        assert_eq!(counters.media_errors, 0);
    }
}

/// What waits for a plane that breaks, and is not bound to it, is programmed elsewhere: nothing is left over. The first
/// channel has parity and pages of the map alone.
#[test]
fn parity_and_map_pages_that_wait_for_a_die_that_breaks_go_elsewhere_with_static_placement() {
    let map = ["mapping.table=cached", "mapping.cache=16KiB", "ftl.over_provisioning=6"];
    let parity = ["ftl.raid=parity:2", "ftl.placement=static", "ftl.over_provisioning=6"];
    let page = Config::default().geometry.page_size;
    for more in [&[][..], &map] {
        for at in 1..=30 {
            let fault = format!("faults.at={}us channel 0", at * 1111);
            let mut device = Device::new(&config(&[&parity[..], more, &[&fault]].concat()), 1).unwrap();
            let others = |lpn: &u64| !lpn.is_multiple_of(4);
            for lpn in (0..device.plan().logical_pages).cycle().filter(others).take(600) {
                device.submit(Request::new(device.now(), Op::Write, Bytes(lpn * page.0), page)).unwrap();
                while device.outstanding() > 100 {
                    device.advance_to_completion(Time::NEVER).unwrap();
                }
                device.take_completions();
            }
            device.flush().unwrap();
            assert!(device.end_of_life().is_some());
            device.check_all().unwrap();
        }
    }
}

#[test]
fn what_was_there_before_the_run_has_parity_as_if_it_had_been_written_in_stripes() {
    for (wide, part, settings) in [
        (4, "die 3", &["age.fill=0.9"][..]),
        (8, "die 0", &["age.fill=1.0", "age.precondition=closed-form"]),
        (3, "die 6", &["age.fill=0.7", "age.invalid=0.2", "mapping.unit=4KiB"]),
        (5, "blocks 2:40", &["age.fill=0.9", "mapping.table=cached", "mapping.cache=64KiB"]),
        (4, "die 2", &["age.fill=0.9", "ftl.placement=static"]),
        (2, "die 2", &["age.fill=0.9", "geometry.channels=5", "geometry.dies=1"]),
    ] {
        let raid = format!("ftl.raid=parity:{wide}");
        for overwritten in [0, 1] {
            let fault = format!("faults.at=0ms {part}");
            let spare = if wide == 2 { "ftl.over_provisioning=5" } else { "ftl.over_provisioning=3" };
            let mut device = Device::new(&config(&[&[&raid, &fault, spare], settings].concat()), 1).unwrap();
            device.workload_is_to_come();
            let pages = device.capacity().0 / 16_384;
            // What is written is spread over all stripes, of which it leaves parts.
            play(&mut device, writes(pages, overwritten * pages / 2));
            device.flush().unwrap();
            device.workload_begins();
            let done = play(&mut device, reads(pages));
            let lost = done.iter().filter(|completion| completion.uncorrectable).count();
            let counters = device.counters();
            assert_eq!((lost, counters.media_errors), (0, 0), "{wide} {part} {settings:?} {overwritten}");
            assert!(counters.pages_rebuilt > 0, "{wide} {part} {settings:?}");
            device.check_mapping().unwrap();
            if device.end_of_life().is_none() {
                // What was rebuilt is there, and its stripes are collected like others.
                play(&mut device, writes(pages, 3 * pages));
                device.flush().unwrap();
                let done = play(&mut device, reads(pages));
                assert!(done.iter().all(|completion| !completion.uncorrectable), "{wide} {part} {settings:?}");
                device.check_mapping().unwrap();
            }
        }
    }
}

/// A map that is kept for power cuts lets the drive compare each stripe with what its parity on flash was worked out
/// of.
#[test]
fn parity_on_flash_is_that_of_the_pages_of_its_stripe() {
    for wide in [4, 8] {
        let raid = format!("ftl.raid=parity:{wide}");
        let settings = [&raid, "mapping.checkpoint=4MiB"];
        let mut device = Device::new(&config(&settings), 1).unwrap();
        let pages = device.capacity().0 / 16_384;
        let all: Vec<_> = (0..pages).map(|page| (Op::Write, page)).chain(writes(pages, 4 * pages)).collect();
        for some in all.chunks(100) {
            play(&mut device, some.iter().copied());
            device.check().unwrap();
        }
        device.check_mapping().unwrap();
    }
}

/// After a power cut the stripes are those that were closed before it: the loss of a die costs what it held of open
/// stripes, and no more.
#[test]
fn stripes_are_found_again_after_a_power_cut() {
    for (wide, settings) in [
        (4, &["age.fill=0"][..]),
        (4, &["age.fill=0.9"]),
        (3, &["age.fill=0.9", "mapping.unit=4KiB", "ftl.streams=3"]),
        (8, &["age.fill=1.0", "mapping.checkpoint=none", "mapping.journal=false"]),
    ] {
        let raid = format!("ftl.raid=parity:{wide}");
        let power = ["power.cut_at=[900s]", "faults.at=910s die 3", "mapping.checkpoint=4MiB", "mapping.journal=true"];
        let words = [&[&raid, "ftl.over_provisioning=4"], &power[..], settings].concat();
        let mut device = Device::new(&config(&words), 1).unwrap();
        let pages = device.capacity().0 / 16_384;
        play(&mut device, (0..pages).map(|page| (Op::Write, page)).chain(writes(pages, 3 * pages)));
        device.flush().unwrap();
        device.advance(Time(905_000_000_000)).unwrap();
        assert_eq!(device.counters().cuts, 1);
        device.check().unwrap();
        device.check_mapping().unwrap();
        device.advance(Time(930_000_000_000)).unwrap();
        let done = play(&mut device, reads(pages));
        let lost = done.iter().filter(|completion| completion.uncorrectable).count() as u64;
        let counters = device.counters();
        assert!(
            counters.planes_broken > 0 && counters.pages_rebuilt > pages / 10,
            "{settings:?}: {}",
            counters.pages_rebuilt
        );
        assert!(100 * lost < pages, "{settings:?}: {lost} of {pages} pages are lost");
        device.check().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn without_parity_it_is_lost() {
    let mut device = Device::new(&config(&["faults.at=1s die 3"]), 1).unwrap();
    let pages = device.plan().logical_pages / 2;
    play(&mut device, (0..pages).map(|page| (Op::Write, page)));
    device.flush().unwrap();
    device.advance(Time(2_000_000_000)).unwrap();
    let lost = play(&mut device, reads(pages)).iter().filter(|completion| completion.uncorrectable).count() as u64;
    assert!(lost.abs_diff(pages / 8) < pages / 50, "{lost} of {pages}");
}

#[test]
fn what_random_writes_leave_survives_the_loss_of_a_die_and_of_blocks() {
    for (part, settings) in [
        ("die 2", &["ftl.raid=parity:8"][..]),
        ("die 2", &["ftl.raid=parity:4", "gc.pacing=token"]),
        ("plane 7", &["ftl.raid=parity:5", "ftl.streams=3", "ftl.erase_when=reclaimed"]),
        ("die 3", &["ftl.raid=parity:4", "ftl.streams=4"]),
        ("die 2", &["ftl.raid=parity:4", "mapping.unit=4KiB"]),
        ("die 7", &["ftl.raid=parity:4", "ftl.slc_cache=dynamic", "slc.blocks=6", "ftl.over_provisioning=3"]),
        (
            "die 0",
            &["ftl.raid=parity:4", "ftl.slc_cache=static", "slc.blocks=6", "ftl.over_provisioning=3", "ftl.hints=2"],
        ),
        ("blocks 3:12", &["ftl.raid=parity:4"]),
        ("die 1", &["ftl.raid=parity:4", "chip.program_unit=wordline", "ftl.over_provisioning=3"]),
        ("die 5", &["ftl.raid=parity:4", "mapping.table=cached", "mapping.cache=64KiB", "ftl.over_provisioning=3"]),
        (
            "die 0",
            &[
                "ftl.raid=parity:4",
                "geometry.planes=2",
                "chip.plane_programs=lockstep",
                "ftl.allocation=superblock",
                "ftl.over_provisioning=3",
            ],
        ),
    ] {
        let fault = format!("faults.at=0ms {part}");
        let mut device = Device::new(&config(&[settings, &[&fault]].concat()), 1).unwrap();
        // The fault comes with the workload: what is played before it is not.
        device.workload_is_to_come();
        let pages = device.capacity().0 / 16_384 * 3 / 4;
        play(&mut device, (0..pages).map(|page| (Op::Write, page)).chain(writes(pages, 8 * pages)));
        device.check_mapping().unwrap();
        let before = device.counters();
        assert!(before.pages_relocated[0] > 0 && before.parity_programs > 0, "{part} {settings:?}");
        device.workload_begins();
        play(&mut device, writes(pages, pages));
        device.flush().unwrap();
        let done = play(&mut device, reads(pages));
        let lost = done.iter().filter(|completion| completion.uncorrectable).count();
        assert_eq!((lost, device.end_of_life()), (0, None), "{part} {settings:?}: {:?}", device.counters());
        assert!(device.counters().pages_rebuilt > 0 && device.counters().media_errors == 0);
        device.check_mapping().unwrap();
    }
}
