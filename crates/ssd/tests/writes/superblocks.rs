//! Superblocks (`ftl.allocation`): the blocks of one number on all planes of a die, opened, filled and collected as
//! one.

use ssd::{Config, Device, Drive};
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

/// Plays writes of pages of 4 KiB, this many at once; the time that it takes.
fn write(device: &mut Device, offsets: impl Iterator<Item = u64>, depth: u64) -> f64 {
    let start = device.now();
    for offset in offsets {
        while device.outstanding() >= depth {
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
    // Planes collected each by itself seldom program together: up to the number of planes is to be gained, at the same
    // amplification.
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
    let large = refused(&["geometry.planes=8", "geometry.blocks=40000", "geometry.pages=8193", "mapping.unit=16KiB"]);
    assert!(large.contains("ftl.allocation") && large.contains("2 147 483 648"), "{large}");
}

/// Pages that are copied back stay on their plane of the flash, and those that would have to leave it go through the
/// controller: no place is left empty for that, so that collection costs as much as without.
#[test]
fn most_of_what_moves_within_superblocks_is_copied_back() {
    for (unit, streams) in [("page", 1), ("page", 2), ("wordline", 2), ("wordline", 3)] {
        let play = |copyback: bool| {
            let settings = [
                "ftl.allocation=superblock".to_owned(),
                "mapping.unit=page".into(),
                "geometry.page_size=4KiB".into(),
                "ftl.over_provisioning=0.4".into(),
                format!("chip.program_unit={unit}"),
                format!("ftl.streams={streams}"),
                format!("gc.copyback={copyback}"),
            ];
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            let mut device = Device::new(&config(&settings), 1).unwrap();
            let offsets = random(&device, 2 * device.capacity().0 / 4096, "overwritten");
            write(&mut device, offsets, 64);
            device.flush().unwrap();
            device.check_mapping().unwrap();
            device.counters()
        };
        let (controller, copies) = (play(false), play(true));
        let moved = |counters: &ssd::stats::Counters| counters.pages_relocated.iter().sum::<u64>() as f64;
        assert!((moved(&copies) / moved(&controller) - 1.0).abs() < 0.02, "{unit} {streams}");
        let share = copies.pages_copied_back as f64 / moved(&copies);
        assert!((0.6..0.9).contains(&share), "{unit} {streams}: {share} is copied back");
        let (before, now) = (controller.pages_padded, copies.pages_padded);
        assert!(now < before + before / 20 + 50, "{unit} {streams}: {before} padded, and {now} with copies");
    }
}
