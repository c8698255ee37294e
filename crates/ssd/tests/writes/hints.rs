//! Placement hints: into which blocks written data goes.

use std::collections::BTreeSet;

use ssd::{Config, Device, Drive, FdpEventKind, HandleStatistics, Status};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

/// A small device that takes hints, with two dies of two planes.
fn device(settings: &[&str]) -> Device {
    let mut config = Config::default();
    let base = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=100",
        "geometry.pages=24",
        "chip.program_unit=page",
        "buffer.size=2MiB",
        "gc.relocations=6",
        "age.fill=0",
        "ftl.over_provisioning=0.5",
        "ftl.hints=2",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    Device::new(&config, 1).unwrap()
}

/// Writes logical pages with a hint, all at once.
fn write(device: &mut Device, pages: impl IntoIterator<Item = u64>, hint: u16) {
    let page = device.plan().layout.page_size.0;
    for lpn in pages {
        let request = Request::new(device.now(), Op::Write, Bytes(lpn * page), Bytes(page)).hinted(hint);
        device.submit(request).unwrap();
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions();
    }
}

fn flush(device: &mut Device) {
    device.flush().unwrap();
    device.check().unwrap();
    device.check_mapping().unwrap();
}

/// The blocks that logical pages are in, each by its plane and its place there.
fn blocks(device: &Device, pages: impl IntoIterator<Item = u64>) -> BTreeSet<(u32, u32)> {
    let block = |lpn| {
        let ppn = device.flash_page(Lpn(lpn)).unwrap();
        (device.plan().layout.plane_of(ppn).0, device.plan().layout.unpack(ppn).block)
    };
    pages.into_iter().map(block).collect()
}

const PLACEMENTS: [&str; 2] = ["ftl.placement=static", "ftl.placement=dynamic"];

#[test]
fn a_block_holds_the_data_of_one_handle_whatever_the_placement_and_the_unit_of_the_map() {
    for placement in PLACEMENTS {
        for unit in ["4KiB", "page", "64KiB"] {
            for streams in ["1", "2", "4"] {
                let streams = format!("ftl.streams={streams}");
                let unit = format!("mapping.unit={unit}");
                let mut drive = device(&[placement, &unit, &streams]);
                // Whole units of the map with one hint each, interleaved.
                for round in 0..120 {
                    write(&mut drive, round * 4..round * 4 + 4, round as u16 % 4);
                }
                flush(&mut drive);
                let of = |handle: u64| (0..480).filter(move |lpn| lpn / 4 % 2 == handle);
                let (even, odd) = (blocks(&drive, of(0)), blocks(&drive, of(1)));
                assert!(even.is_disjoint(&odd), "{placement} {unit} {streams}: {even:?} {odd:?}");
                assert!(even.len() > 1 && odd.len() > 1, "{placement} {unit} {streams}: planes have their own");
            }
        }
    }
}

#[test]
fn each_of_eight_handles_has_blocks_of_its_own_in_the_chips_own_cells_and_each_of_four_in_a_cache() {
    for (settings, handles) in [
        (&["ftl.hints=8"][..], 8),
        (&["ftl.hints=4", "ftl.slc_cache=static", "slc.blocks=8", "slc.fold_idle=none"], 4),
        (&["ftl.hints=3", "ftl.slc_cache=dynamic", "slc.blocks=12", "ftl.streams=4", "slc.fold_idle=none"], 3),
    ] {
        for placement in PLACEMENTS {
            let mut drive = device(&[settings, &[placement, "ftl.over_provisioning=1.5"]].concat());
            for lpn in 0..640 {
                write(&mut drive, [lpn], lpn as u16);
            }
            flush(&mut drive);
            let of = |handle: u64| (0..640).filter(move |lpn| lpn % handles == handle);
            let all: Vec<_> = (0..handles).map(|handle| blocks(&drive, of(handle))).collect();
            for (handle, own) in all.iter().enumerate() {
                assert!(own.len() > 1, "{settings:?} {placement}: planes have their own");
                assert!(all[..handle].iter().all(|other| other.is_disjoint(own)), "{settings:?} {placement}");
            }
        }
    }
    let refused = |settings: &[&str]| {
        let mut config = Config::default();
        settings.iter().for_each(|word| config.set(word).unwrap());
        config.plan().unwrap_err().to_string()
    };
    let text = refused(&["ftl.hints=9"]);
    assert!(
        text.contains("ftl.hints: is 9, and a plane has at most 8 open blocks") && text.contains("at most 8"),
        "{text}"
    );
    let text = refused(&["ftl.hints=5", "ftl.slc_cache=static"]);
    assert!(text.contains("what goes past the cache has a stream for each") && text.contains("at most 4"), "{text}");
}

#[test]
fn static_placement_chooses_the_plane_whatever_the_hint() {
    let plane_of = |hints: &str| {
        let mut drive = device(&["ftl.placement=static", hints]);
        (0..64).for_each(|lpn| write(&mut drive, [lpn], (lpn * 7 % 3) as u16));
        flush(&mut drive);
        (0..64).map(|lpn| blocks(&drive, [lpn]).first().unwrap().0).collect::<Vec<_>>()
    };
    assert_eq!(plane_of("ftl.hints=2"), plane_of("ftl.hints=0"));
}

#[test]
fn a_page_that_is_written_again_goes_where_its_newest_hint_says() {
    for placement in PLACEMENTS {
        let mut drive = device(&[placement, "buffer.dirty_limit=0.9"]);
        let (log, objects) = (0..16u64, 16..32u64);
        write(&mut drive, log.clone(), 0);
        write(&mut drive, objects.clone(), 1);
        flush(&mut drive);
        let (first, second) = (blocks(&drive, log.clone()), blocks(&drive, objects.clone()));
        assert!(first.is_disjoint(&second));
        // Both are small enough to stay in their first blocks.
        write(&mut drive, log.clone(), 1);
        write(&mut drive, objects.clone(), 0);
        flush(&mut drive);
        let (was_first, was_second) = (blocks(&drive, log), blocks(&drive, objects));
        assert!(was_first.is_subset(&second), "{placement}: {was_first:?} {second:?}");
        assert!(was_second.is_subset(&first), "{placement}: {was_second:?} {first:?}");
        // In the buffer the newest write decides, too.
        let merged = drive.counters().merged_writes;
        write(&mut drive, 40..44, 0);
        write(&mut drive, 40..44, 1);
        assert_eq!(drive.counters().merged_writes, merged + 4);
        flush(&mut drive);
        assert!(blocks(&drive, 40..44).is_subset(&second), "{placement}");
    }
}

#[test]
fn the_rest_of_a_large_unit_of_the_map_goes_with_the_page_that_is_written() {
    for placement in PLACEMENTS {
        let mut drive = device(&[placement, "mapping.unit=64KiB"]);
        write(&mut drive, 0..32, 0);
        write(&mut drive, 32..64, 1);
        flush(&mut drive);
        let second = blocks(&drive, 32..64);
        // One page of each unit of the first half.
        write(&mut drive, (0..8).map(|unit| unit * 4 + unit % 4), 1);
        flush(&mut drive);
        let moved = blocks(&drive, 0..32);
        assert!(moved.is_subset(&second), "{placement}: {moved:?} {second:?}");
    }
}

#[test]
fn a_handle_knows_what_is_left_of_its_reclaim_unit_and_what_has_happened_is_logged() {
    let mut drive = device(&["geometry.blocks=40", "host.queues=1"]);
    let page = drive.plan().layout.page_size.0;
    let unit = drive.fdp().unwrap().unit().0;
    assert_eq!(unit, 4 * 24 * page, "a block on each of four planes");
    let left = |drive: &Device, handle: u16| drive.fdp().unwrap().available(handle).unwrap().0 / page;
    let kinds = |drive: &Device| drive.fdp().unwrap().events().map(|event| event.kind).collect::<Vec<_>>();
    write(&mut drive, 0..20, 0);
    write(&mut drive, 100..130, 1);
    flush(&mut drive);
    assert_eq!((left(&drive, 0), left(&drive, 1)), (76, 66));
    assert!(drive.fdp().unwrap().available(2).is_none() && kinds(&drive).is_empty());
    // A unit that is full is followed by another one.
    write(&mut drive, 20..100, 0);
    flush(&mut drive);
    assert_eq!((left(&drive, 0), kinds(&drive)), (92, vec![FdpEventKind::ImplicitlyModified]));
    // The host leaves one: what it writes then is in other blocks.
    let before = blocks(&drive, 100..130);
    let mut ask = |hint: u16| {
        let request = Request::new(drive.now(), Op::HandleUpdate, Bytes(0), Bytes(0)).hinted(hint);
        drive.submit(request).unwrap();
        assert!(drive.advance_to_completion(Time::NEVER).unwrap());
        drive.take_completions().next().unwrap().status
    };
    assert_eq!((ask(1), ask(1), ask(2)), (Status::Success, Status::Success, Status::InvalidField));
    assert_eq!(left(&drive, 1), 96);
    write(&mut drive, 200..230, 1);
    flush(&mut drive);
    assert!(before.is_disjoint(&blocks(&drive, 200..230)));
    // A hint that names no handle is told of, and goes to the hint modulo their number.
    write(&mut drive, 300..301, 5);
    let full = FdpEventKind::ImplicitlyModified;
    assert_eq!(kinds(&drive), [full, FdpEventKind::NotWrittenToCapacity, FdpEventKind::InvalidPlacement]);
    let event = drive.fdp().unwrap().events().nth(1).unwrap();
    assert_eq!((event.handle, event.pages), (1, 66));
    // Collection moves data.
    for round in 0..30 {
        write(&mut drive, (0..400).map(|n| (n * 97 + round * 31) % 2400), (round % 2) as u16);
    }
    flush(&mut drive);
    assert!(kinds(&drive).contains(&FdpEventKind::MediaReallocated));
    let (written, counters) = (drive.fdp().unwrap().statistics(), drive.counters());
    assert_eq!(written.host_written.0, counters.write_bytes);
    assert_eq!(written.media_written.0, counters.pages_programmed * page);
    assert_eq!(written.media_erased.0, counters.blocks_erased * 24 * page);
    let none = Device::new(&Config::default(), 1).unwrap();
    assert!(none.fdp().is_none());
}

/// Of each block that holds pages of these, the handles that have data in it.
fn handles_of_blocks(device: &Device, pages: u64) -> Vec<BTreeSet<u64>> {
    let mut of_blocks: std::collections::BTreeMap<(u32, u32), BTreeSet<u64>> = std::collections::BTreeMap::new();
    for lpn in 0..pages {
        let Some(ppn) = device.flash_page(Lpn(lpn)) else { continue };
        let layout = &device.plan().layout;
        of_blocks.entry((layout.plane_of(ppn).0, layout.unpack(ppn).block)).or_default().insert(lpn % 3);
    }
    of_blocks.into_values().collect()
}

/// Overwrites pages at random until much has been relocated; each page always has the same one of three handles.
fn overwrite(device: &mut Device, rounds: u64) -> u64 {
    let pages = device.capacity().0 / device.plan().layout.page_size.0 * 9 / 10;
    let draws = units::Stream::new(3, "isolation");
    for round in 0..rounds {
        for handle in 0..3 {
            let lpns = (0..60).map(|page| draws.below((round * 3 + handle) * 60 + page, pages / 3) * 3 + handle);
            write(device, lpns.collect::<Vec<_>>(), handle as u16);
        }
    }
    pages
}

#[test]
fn data_keeps_its_handle_when_it_is_moved_again_and_only_that_of_lasting_data_is_amplified() {
    for isolation in ["initial", "persistent"] {
        let isolation = format!("ftl.isolation={isolation}");
        let mut drive = device(&["ftl.hints=2", "ftl.over_provisioning=0.6", "gc.start=8", "gc.stop=9", &isolation]);
        let pages = drive.capacity().0 / drive.plan().layout.page_size.0;
        // Lasting data once, then a log behind it, which is written from end to end again and again.
        let (lasting, log) = (pages * 6 / 10, pages * 3 / 10);
        write(&mut drive, 0..lasting, 0);
        let draws = units::Stream::new(5, "log");
        for round in 0..24 {
            let rest = (0..lasting / 20).map(|page| draws.below(round * 10_000 + page, lasting)).collect::<Vec<_>>();
            write(&mut drive, rest, 0);
            write(&mut drive, lasting..lasting + log, 1);
        }
        flush(&mut drive);
        let of = drive.fdp().unwrap().by_handle();
        let [rest, log] = [0, 1].map(|handle: usize| of[handle].write_amplification().unwrap());
        assert!(rest > 1.02 && log < 1.01, "{isolation}: {of:?}");
        assert!(of[0].filled > 0 && of[1].filled > of[0].filled && of[1].left == 0, "{of:?}");
        let counters = drive.counters();
        let moved: u64 = of.iter().map(|handle| handle.relocated.0).sum();
        assert_eq!(moved / drive.plan().layout.page_size.0, counters.pages_relocated.iter().sum::<u64>());
    }
}

#[test]
fn relocated_data_of_a_persistently_isolated_handle_stays_in_blocks_of_its_own() {
    for streams in ["2", "4"] {
        for placement in PLACEMENTS {
            let streams = format!("ftl.streams={streams}");
            let common = [placement, &streams, "ftl.hints=3", "ftl.over_provisioning=0.6", "gc.start=8", "gc.stop=9"];
            let mixed = |isolation: &str| {
                let mut drive = device(&[&common[..], &[isolation]].concat());
                let pages = overwrite(&mut drive, 200);
                flush(&mut drive);
                assert!(drive.counters().pages_relocated.iter().sum::<u64>() > 5000);
                let (fdp, page) = (drive.fdp().unwrap(), drive.plan().layout.page_size.0);
                // Every page has one of the handles, however often it has moved, and with whom.
                let of = fdp.by_handle();
                let sum = |of_each: fn(&HandleStatistics) -> u64| of.iter().map(of_each).sum::<u64>() / page;
                let counters = drive.counters();
                assert_eq!(sum(|handle| handle.written.0), counters.user_pages_programmed);
                assert_eq!(sum(|handle| handle.relocated.0), counters.pages_relocated.iter().sum::<u64>());
                let filled: u64 = of.iter().map(|handle| handle.filled).sum();
                assert_eq!(filled, counters.reclaim_units_filled);
                assert!(of.iter().all(|handle| handle.write_amplification().unwrap() > 1.2), "{of:?}");
                let moved: BTreeSet<u16> = fdp
                    .events()
                    .filter(|event| event.kind == FdpEventKind::MediaReallocated)
                    .map(|event| event.handle)
                    .collect();
                let mixed = handles_of_blocks(&drive, pages).iter().filter(|handles| handles.len() > 1).count();
                (mixed, moved)
            };
            let (initial, named) = mixed("ftl.isolation=initial");
            assert!(initial > 20 && named == BTreeSet::from([0]), "{placement} {streams}: {initial} {named:?}");
            let (persistent, named) = mixed("ftl.isolation=persistent");
            assert!(
                persistent == 0 && named == BTreeSet::from([0, 1, 2]),
                "{placement} {streams}: {persistent} {named:?}"
            );
        }
    }
}

#[test]
fn what_an_slc_cache_folds_and_takes_back_stays_with_its_handle() {
    for (cache, convert) in [("dynamic", "none"), ("static", "none"), ("static", "hot:20")] {
        let settings = [
            "geometry.cell=TLC".to_owned(),
            "ftl.hints=3".into(),
            "ftl.isolation=persistent".into(),
            "ftl.over_provisioning=2.0".into(),
            "gc.start=10".into(),
            "gc.stop=11".into(),
            format!("ftl.slc_cache={cache}"),
            "slc.blocks=12".into(),
            "slc.fold_start=8".into(),
            format!("slc.convert={convert}"),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut drive = device(&settings);
        let pages = overwrite(&mut drive, 60);
        // What is read is converted into the cache again.
        let page = drive.plan().layout.page_size.0;
        for lpn in (0..pages).chain(0..pages).chain(0..pages) {
            drive.submit(Request::new(drive.now(), Op::Read, Bytes(lpn * page), Bytes(page))).unwrap();
        }
        while drive.advance_to_completion(Time::NEVER).unwrap() {
            drive.take_completions();
        }
        flush(&mut drive);
        let converted = drive.counters().blocks_relocated[ssd::stats::relocation_causes::CONVERSION];
        assert_eq!(converted > 0, convert != "none", "{cache} {convert}");
        let folded = drive.counters().pages_relocated[ssd::stats::relocation_causes::FOLD];
        assert!(folded > 500, "{cache} {convert}: {folded}");
        let mixed = handles_of_blocks(&drive, pages).iter().filter(|handles| handles.len() > 1).count();
        assert_eq!(mixed, 0, "{cache} {convert}");
        drive.check_all().unwrap();
    }
}

#[test]
fn persistent_isolation_outlasts_power_cuts_and_broken_blocks() {
    let settings = [
        "ftl.hints=3",
        "ftl.isolation=persistent",
        "ftl.over_provisioning=1.0",
        "gc.start=8",
        "gc.stop=9",
        "power.plp=true",
        "power.cut_at=[300ms, 900ms, 1200ms]",
        "faults.at=[500ms block 0:7, 700ms blocks 1:2]",
    ];
    let mut drive = device(&settings);
    let pages = overwrite(&mut drive, 200);
    flush(&mut drive);
    assert_eq!(drive.counters().cuts, 3);
    assert!(drive.counters().blocks_broken > 1 && drive.counters().pages_relocated.iter().sum::<u64>() > 1000);
    let mixed = handles_of_blocks(&drive, pages).iter().filter(|handles| handles.len() > 1).count();
    assert_eq!(mixed, 0);
}

#[test]
fn after_a_power_cut_the_blocks_are_read_that_relocated_data_of_each_handle_goes_on_in() {
    let settings = [
        "geometry.cell=SLC",
        "ftl.hints=3",
        "ftl.isolation=persistent",
        "ftl.over_provisioning=1.0",
        "gc.start=8",
        "gc.stop=9",
        "mapping.checkpoint=1MiB",
        "mapping.journal=true",
        "power.cut_at=random:30ms",
    ];
    let mut drive = device(&settings);
    overwrite(&mut drive, 400);
    flush(&mut drive);
    // What the drive has promised is checked at each.
    assert!(drive.counters().cuts > 50, "{}", drive.counters().cuts);
    assert!(drive.counters().pages_relocated.iter().sum::<u64>() > 1000);
}

#[test]
fn what_cannot_stay_apart_is_refused() {
    let mut config = Config::default();
    ["ftl.hints=2", "ftl.isolation=persistent", "ftl.streams=1"].iter().for_each(|word| config.set(word).unwrap());
    assert_eq!(config.plan().unwrap_err().key.as_deref(), Some("ftl.isolation"));
}

/// Four dies in groups, each of two handles.
fn grouped(groups: u16, settings: &[&str]) -> Device {
    let groups = format!("ftl.reclaim_groups={groups}");
    device(&[&["ftl.placement=dynamic", "geometry.chips=2", &groups], settings].concat())
}

/// The dies that logical pages are on.
fn dies(device: &Device, pages: impl IntoIterator<Item = u64>) -> BTreeSet<u16> {
    let layout = &device.plan().layout;
    let die = |lpn| layout.die_of(layout.plane_of(device.flash_page(Lpn(lpn)).unwrap())).0.0;
    pages.into_iter().map(die).collect()
}

#[test]
fn the_data_of_a_reclaim_group_is_on_its_dies_also_when_it_has_moved() {
    for (groups, identifiers) in
        [(2u16, vec![0, 1, 0x8000, 0x8001]), (4, vec![0, 1, 0x4000, 0x4001, 0x8000, 0x8001, 0xC000, 0xC001])]
    {
        for isolation in ["initial", "persistent"] {
            let isolation = format!("ftl.isolation={isolation}");
            let mut drive = grouped(groups, &[&isolation, "ftl.over_provisioning=0.9", "gc.start=10", "gc.stop=11"]);
            let fdp = drive.fdp().unwrap();
            assert!(fdp.identifiers().eq(identifiers.iter().copied()) && fdp.groups() == groups && fdp.handles() == 2);
            let page = drive.plan().layout.page_size.0;
            assert_eq!(fdp.unit().0, u64::from(8 / groups) * 24 * page, "a block on each plane of a group");
            let (of, draws) = (identifiers.len() as u64, units::Stream::new(5, "groups"));
            // Each group gets as much as it can hold well.
            let pages = drive.capacity().0 / page * 8 / 10 / of * of;
            for round in 0..300u64 {
                for (number, identifier) in (0..).zip(&identifiers) {
                    let lpns = (0..40).map(|n| draws.below((round * of + number) * 40 + n, pages / of) * of + number);
                    write(&mut drive, lpns.collect::<Vec<_>>(), *identifier);
                }
            }
            flush(&mut drive);
            assert!(drive.counters().pages_relocated.iter().sum::<u64>() > 500, "{groups} {isolation}");
            assert_eq!(drive.counters().pages_of_full_groups, 0);
            for (number, identifier) in (0..of).zip(&identifiers) {
                let written = (0..pages).filter(|lpn| lpn % of == number && drive.flash_page(Lpn(*lpn)).is_some());
                let (dies, group) = (dies(&drive, written.collect::<Vec<_>>()), identifier >> (16 - groups.ilog2()));
                let of_each = 4 / groups;
                assert!(dies.iter().all(|die| die / of_each == group), "{groups} {isolation} {identifier:x}: {dies:?}");
                assert_eq!(dies.len(), usize::from(of_each));
            }
            let events = drive.fdp().unwrap().events().map(|event| event.handle).collect::<BTreeSet<u16>>();
            assert!(events.iter().all(|handle| identifiers.contains(handle)), "{events:?}");
        }
    }
}

#[test]
fn a_reclaim_group_that_is_full_lets_its_data_go_to_others_and_a_unit_is_its_own() {
    let mut drive =
        grouped(2, &["geometry.blocks=40", "ftl.over_provisioning=0.8", "gc.start=8", "gc.stop=9", "host.queues=1"]);
    let page = drive.plan().layout.page_size.0;
    let left = |drive: &Device, identifier: u16| drive.fdp().unwrap().available(identifier).map(|left| left.0 / page);
    write(&mut drive, 0..20, 0x8001);
    flush(&mut drive);
    let unit = 4 * 24;
    let all = [0, 1, 0x8000, 0x8001].map(|identifier| left(&drive, identifier).unwrap());
    assert_eq!(all, [unit, unit, unit, unit - 20]);
    assert_eq!((left(&drive, 2), left(&drive, 0x8002), left(&drive, 0x4000)), (None, None, None));
    // Another unit for that handle alone.
    let request = Request::new(drive.now(), Op::HandleUpdate, Bytes(0), Bytes(0)).hinted(0x8001);
    drive.submit(request).unwrap();
    assert!(drive.advance_to_completion(Time::NEVER).unwrap());
    assert_eq!(drive.take_completions().next().unwrap().status, Status::Success);
    assert_eq!(left(&drive, 0x8001), Some(unit));
    let event = drive.fdp().unwrap().events().next().unwrap();
    assert_eq!((event.kind, event.handle, event.pages), (FdpEventKind::NotWrittenToCapacity, 0x8001, unit - 20));
    // All of the drive's data, by one group.
    let pages = drive.capacity().0 / page;
    for lpn in (0..pages).step_by(32) {
        write(&mut drive, lpn..(lpn + 32).min(pages), 0);
    }
    flush(&mut drive);
    assert!(drive.counters().pages_of_full_groups > 100, "{}", drive.counters().pages_of_full_groups);
    assert_eq!(dies(&drive, 0..pages), BTreeSet::from([0, 1, 2, 3]));
    // What names no group is told of, and goes somewhere.
    let told = drive.counters().invalid_handles;
    write(&mut drive, 0..1, 0x4000);
    assert_eq!(drive.counters().invalid_handles, told + 1);
    flush(&mut drive);
}

/// A small SLC cache that is never folded; what it does not take goes past it.
const FULL_CACHE: [&str; 5] =
    ["ftl.slc_cache=dynamic", "slc.blocks=4", "slc.full=direct", "slc.fold_start=0", "slc.fold_idle=none"];

/// The two dies of a group are as fast as a drive that has these alone, whatever room the cache has on others.
#[test]
fn a_reclaim_group_whose_cache_is_full_goes_past_it_at_once() {
    let alone = ["ftl.placement=dynamic"];
    let drives = [grouped(2, &FULL_CACHE), device(&[&alone[..], &FULL_CACHE].concat())];
    let [group, all] = drives.map(|mut drive| {
        write(&mut drive, 0..400, 0);
        flush(&mut drive);
        (drive.now(), drive.counters().pages_programmed, dies(&drive, 0..400))
    });
    assert_eq!(group, all);
    assert_eq!(group.2, BTreeSet::from([0, 1]));
}

/// A unit has as many pages with a cache as without, wherever they go; a handle that leaves its unit leaves what it has
/// begun past the cache as well.
#[test]
fn what_goes_past_the_cache_is_written_to_the_reclaim_unit() {
    for cache in [&[][..], &FULL_CACHE] {
        for placement in PLACEMENTS {
            let mut drive = device(&[&[placement, "ftl.over_provisioning=0.8"], cache].concat());
            write(&mut drive, 0..500, 1);
            flush(&mut drive);
            let page = drive.plan().layout.page_size.0;
            let of = |drive: &Device| {
                let fdp = drive.fdp().unwrap();
                (fdp.available(1).unwrap().0 / page, fdp.by_handle()[1].filled)
            };
            let unit = 4 * 24;
            let pages = drive.counters().pages_programmed;
            assert_eq!(of(&drive), (unit - pages % unit, pages / unit), "{cache:?} {placement}");
            let before = blocks(&drive, 0..500);
            let request = Request::new(drive.now(), Op::HandleUpdate, Bytes(0), Bytes(0)).hinted(1);
            drive.submit(request).unwrap();
            assert!(drive.advance_to_completion(Time::NEVER).unwrap());
            drive.take_completions();
            write(&mut drive, 600..620, 1);
            flush(&mut drive);
            assert!(before.is_disjoint(&blocks(&drive, 600..620)), "{cache:?} {placement}");
            assert_eq!(of(&drive).0, unit - (drive.counters().pages_programmed - pages));
        }
    }
}

#[test]
fn what_reclaim_groups_cannot_be_with_is_refused_with_its_key() {
    for (settings, key) in [
        (&["ftl.reclaim_groups=0"][..], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=3"], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=2"], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=2", "ftl.hints=2", "ftl.placement=static"], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=2", "ftl.hints=2", "ftl.raid=parity:4"], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=2", "ftl.hints=5"], "ftl.hints"),
    ] {
        let mut config = Config::default();
        settings.iter().for_each(|word| config.set(word).unwrap());
        assert_eq!(config.plan().unwrap_err().key.as_deref(), Some(key), "{settings:?}");
    }
}
