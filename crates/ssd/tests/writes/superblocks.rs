//! Superblocks (`ftl.allocation`): the blocks of one number on all planes of a die, opened, filled and collected as one.

use ssd::{Config, Device};
use testing::one_plane;
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// One die of four planes.
fn config(settings: &[&str]) -> Config {
    let mut config = one_plane();
    let base = [
        "geometry.planes=4",
        "geometry.blocks=120",
        "geometry.pages=48",
        "mapping.unit=4KiB",
        "chip.t_prog=500us",
        "chip.t_read=40us",
        "chip.t_bers=3ms",
        "buffer.size=4MiB",
        "gc.relocations=12",
        "ftl.over_provisioning=0.28",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Plays writes of pages of 4 KiB, so many at once; the time that it takes.
fn write(device: &mut Device, offsets: impl Iterator<Item = u64>, depth: u64) -> f64 {
    let start = device.now();
    for offset in offsets {
        while device.outstanding().0 >= depth {
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
        device.submit(Request::new(device.now(), Op::Write, Bytes(offset), Bytes(4096))).unwrap();
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions();
    }
    device.check().unwrap();
    device.now().since(start).as_s()
}

/// Random offsets of pages of 4 KiB.
fn random(device: &Device, count: u64, name: &str) -> impl Iterator<Item = u64> + use<> {
    let (random, pages) = (Stream::new(7, name), device.capacity().0 / 4096);
    (0..count).map(move |index| random.below(index, pages) * 4096)
}

#[test]
fn a_program_fills_all_planes_and_goes_on_where_it_was_read_from() {
    let mut device = Device::new(&config(&["ftl.allocation=superblock", "age.fill=0"]), 1).unwrap();
    // A wordline of three pages on each of four planes, four units each: one tPROG, and one more for what comes after.
    let program = 3 * 4 * 4;
    write(&mut device, (0..program).map(|unit| unit * 4096), 64);
    device.flush().unwrap();
    let done = device.counters();
    assert_eq!((done.operations, done.pages_programmed, done.pages_padded), (2, program, 0), "an erase and a program");
    let layout = device.plan().layout;
    for unit in 0..program {
        let ppn = device.flash_page(units::Lpn(unit)).unwrap();
        // Units fill a flash page, and flash pages go round the planes.
        let flash_page = unit as u32 / 4;
        assert_eq!(layout.place_of(ppn).1, (flash_page % 4) as u8, "{unit}");
        assert_eq!(layout.flash_page_of(ppn), flash_page / 4, "{unit}");
    }
    // What is left of the next one is padded on all planes.
    write(&mut device, [0, 4096].into_iter(), 64);
    device.flush().unwrap();
    assert_eq!(device.counters().pages_padded, program - 2);
}

#[test]
fn every_block_of_a_superblock_is_erased_and_worn() {
    let settings = ["ftl.allocation=superblock", "age.precondition=closed-form", "gc.victim=greedy"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let writes = random(&device, 40_000, "worn");
    write(&mut device, writes, 32);
    let (done, erases) = (device.counters(), device.erases().map(u64::from).sum::<u64>());
    assert!(done.blocks_erased > 40 && done.blocks_erased == 4 * erases, "{} of {erases}", done.blocks_erased);
    device.check_mapping().unwrap();
}

#[test]
fn steady_random_writes_use_all_planes() {
    let steady = |settings: &[&str]| {
        let mut device = Device::new(&config(&[settings, &["age.precondition=closed-form"]].concat()), 1).unwrap();
        let pages = device.capacity().0 / 4096;
        let warm_up = random(&device, 2 * pages, "warm-up");
        write(&mut device, warm_up, 64);
        let before = device.counters();
        let writes = random(&device, pages, "measured");
        let took = write(&mut device, writes, 64);
        let done = device.counters().since(&before);
        (pages as f64 / took, done.pages_programmed as f64 / pages as f64)
    };
    let (planes, superblocks) = (steady(&[]), steady(&["ftl.allocation=superblock"]));
    println!(
        "steady 4-KiB writes: {planes:.0?} by planes, {superblocks:.0?} with superblocks [1/s, write amplification]"
    );
    let (gain, amplification) = (superblocks.0 / planes.0, superblocks.1 / planes.1);
    // Planes collected each by itself seldom program together: up to the number of planes is to be gained, at the same amplification.
    assert!((1.8..4.0).contains(&gain), "{gain}");
    assert!((0.97..1.06).contains(&amplification), "{amplification}");
}

#[test]
fn what_superblocks_cannot_do_is_refused() {
    let refused = |words: &[&str]| {
        let error = config(&[&["ftl.allocation=superblock"], words].concat()).plan().unwrap_err();
        format!("{error}")
    };
    let single = refused(&["chip.plane_programs=single"]);
    assert!(single.contains("ftl.allocation") && single.contains("lockstep"), "{single}");
    let copyback = refused(&["gc.copyback=true", "mapping.unit=page"]);
    assert!(copyback.contains("gc.copyback") && copyback.contains("change their plane"), "{copyback}");
    let large = refused(&["geometry.planes=8", "geometry.blocks=40000", "geometry.pages=8193", "mapping.unit=16KiB"]);
    assert!(large.contains("ftl.allocation") && large.contains("2 147 483 648"), "{large}");
}
