//! Wrong states and wrong reports are planted in a drive at work: each is caught.

use crate::drive::Drive as _;
use nand::{Address, DieId, PlaneId};
use units::{Bytes, Lpn, Ppn, Time};
use workload::{Op, Request};

use crate::arena::SlotId;
use crate::config::Config;
use crate::device::Device;
use crate::error::RunError;
use crate::ftl::Location;
use crate::observe::check::Checker;
use crate::observe::probe::{DataFrom, Event, Probe as _};
use crate::observe::stats::channel;
use crate::observe::watch::Watch;
use crate::violation::Invariant;

type Drive = Device<Watch>;

const PAGE: u64 = 16_384;
const PAGES: u64 = 400;

/// A drive that is overwritten and collected, with reads in between, after `requests` of them.
fn at_work(requests: u64, more: &[&str]) -> Drive {
    let mut config = Config::default();
    let small = ["geometry.channels=2", "geometry.chips=1", "geometry.dies=1", "geometry.planes=2"];
    let blocks = ["geometry.blocks=30", "geometry.pages=12", "ftl.over_provisioning=1.2", "age.fill=1.0"];
    for word in small.iter().chain(&blocks).chain(more) {
        config.set(word).unwrap();
    }
    let mut drive = Device::watched(&config, 1, Watch::checking(Checker::new(&config.plan().unwrap()))).unwrap();
    play(&mut drive, requests).unwrap();
    drive
}

/// Plays this many requests more, four at once.
fn play(drive: &mut Drive, requests: u64) -> Result<(), RunError> {
    let draws = units::Stream::new(7, "planted");
    for _ in 0..requests {
        let number = drive.submitted();
        let op = if draws.bits(2 * number).is_multiple_of(3) { Op::Read } else { Op::Write };
        let page = draws.below(2 * number + 1, PAGES);
        drive.submit(Request::new(drive.now(), op, Bytes(page * PAGE), Bytes(PAGE)))?;
        while drive.outstanding() >= 4 {
            drive.advance_to_completion(Time::NEVER)?;
            drive.take_completions();
        }
    }
    Ok(())
}

/// The invariant that is found not to hold when a drive goes on with what was planted.
fn found(mut drive: Drive, plant: impl FnOnce(&mut Drive)) -> Invariant {
    plant(&mut drive);
    let played = play(&mut drive, 50).and_then(|()| drive.check_all());
    match played {
        Err(RunError::Violated(violation)) => {
            assert!(violation.event.0 > 0 && !violation.event.1.is_empty(), "{violation}");
            violation.invariant
        }
        // The laws of the whole drive, which every run holds to.
        Err(RunError::Broken(_)) => Invariant::Conservation,
        other => panic!("not caught: {other:?}"),
    }
}

/// Pages that were written and are on flash, and where.
fn all_on_flash(drive: &Drive) -> impl Iterator<Item = (Lpn, Ppn)> {
    drive.back.seen().changed().filter_map(|lpn| match drive.back.ftl.locate(lpn) {
        Location::Flash(ppn) if lpn.0 < PAGES => Some((lpn, ppn)),
        _ => None,
    })
}

/// The first of them.
fn on_flash(drive: &Drive) -> (Lpn, Ppn) {
    all_on_flash(drive).next().unwrap()
}

/// Two pages change places in the map.
fn exchange_entries(drive: &mut Drive) {
    let pages: Vec<(Lpn, Ppn)> = all_on_flash(drive).take(2).collect();
    drive.back.ftl.place(pages[0].0, pages[1].1);
    drive.back.ftl.place(pages[1].0, pages[0].1);
}

#[test]
fn a_drive_at_work_passes() {
    let mut drive = at_work(2000, &[]);
    assert!(drive.counters().blocks_erased > 20);
    drive.check_all().unwrap();
    drive.flush().unwrap();
    drive.check_all().unwrap();
}

#[test]
fn drives_whose_parts_break_pass() {
    let parity = ["age.fill=0.0", "ftl.raid=parity:3", "buffer.mode=write-through"];
    for more in [&[][..], &parity] {
        let faults = "faults.at=[5ms plane 1, 20ms blocks 2:5, 30ms program 0]";
        let mut drive = at_work(1000, &[more, &["geometry.dies=3", "ftl.over_provisioning=6", faults]].concat());
        play(&mut drive, 3000).unwrap();
        assert_eq!((drive.counters().planes_broken, drive.counters().parity_programs > 0), (1, !more.is_empty()));
        drive.check_all().unwrap();
        drive.flush().unwrap();
        drive.check_all().unwrap();
    }
}

#[test]
fn what_is_rescued_from_elsewhere_or_dropped_or_left_in_service_is_caught() {
    let rescue = |drive: &mut Drive| {
        let (lpn, ppn) = on_flash(drive);
        drive.back.core.probe.rescued(drive.back.core.now, lpn, units::Id::new(1000), Ppn(ppn.0 ^ 1));
    };
    assert_eq!(found(at_work(500, &[]), rescue), Invariant::Data);
    let unknown = |drive: &mut Drive| {
        let (lpn, ppn) = on_flash(drive);
        drive.back.core.probe.rescued(drive.back.core.now, lpn, units::Id::new(1000), ppn);
    };
    assert_eq!(found(at_work(500, &[]), unknown), Invariant::Mapping);
    let drop = |drive: &mut Drive| drive.back.core.probe.dropped(drive.back.core.now, on_flash(drive).0);
    assert_eq!(found(at_work(500, &[]), drop), Invariant::Mapping);
    let broken = |drive: &mut Drive| assert!(drive.back.ftl.plane_breaks(PlaneId(1)));
    assert_eq!(found(at_work(500, &[]), broken), Invariant::Counts);
}

#[test]
fn a_wrong_entry_of_the_map_is_caught() {
    assert_eq!(found(at_work(500, &[]), exchange_entries), Invariant::Mapping);
    let lose = |drive: &mut Drive| {
        let (lpn, _) = on_flash(drive);
        drive.back.ftl.trim(lpn);
    };
    assert_eq!(found(at_work(500, &[]), lose), Invariant::Counts);
}

#[test]
fn data_that_is_erased_programmed_over_or_read_from_elsewhere_is_caught() {
    let erase = |drive: &mut Drive| {
        let (_, ppn) = on_flash(drive);
        let Address { plane, block, .. } = drive.back.core.plan.layout.unpack(ppn);
        drive.back.core.probe.erased(drive.back.core.now, plane, block);
    };
    assert_eq!(found(at_work(500, &[]), erase), Invariant::Mapping);
    let overwrite = |drive: &mut Drive| {
        let (lpn, ppn) = on_flash(drive);
        drive.back.core.probe.moved(drive.back.core.now, lpn, ppn, ppn);
    };
    assert_eq!(found(at_work(500, &[]), overwrite), Invariant::Mapping);
    let stale = |drive: &mut Drive| {
        let (lpn, ppn) = on_flash(drive);
        drive.back.core.probe.read(drive.back.core.now, 7, lpn, DataFrom::Flash(Ppn(ppn.0 ^ 1)));
    };
    assert_eq!(found(at_work(500, &[]), stale), Invariant::Data);
}

#[test]
fn wrong_counts_of_blocks_and_pages_are_caught() {
    let valid = |drive: &mut Drive| {
        let (_, ppn) = on_flash(drive);
        drive.back.ftl.blocks_to_be_wrong().invalidate(ppn);
    };
    assert!(matches!(found(at_work(500, &[]), valid), Invariant::Counts | Invariant::Mapping));
    let free = |drive: &mut Drive| drive.back.ftl.blocks_to_be_wrong().retire(PlaneId(1), 0);
    assert_eq!(found(at_work(500, &[]), free), Invariant::Counts);
    let cached = |drive: &mut Drive| {
        let slc = drive.back.ftl.blocks_to_be_wrong().slc.as_mut().expect("Invariant: it has a cache");
        slc.plane_mut(PlaneId(1)).used += 1;
    };
    assert_eq!(found(at_work(500, &["ftl.slc_cache=static", "slc.blocks=2"]), cached), Invariant::Counts);
    let copied = |drive: &mut Drive| {
        let (lpn, ppn) = on_flash(drive);
        (0..2).for_each(|_| drive.back.ftl.copied(ppn, ppn, lpn.0 as f64));
    };
    assert_eq!(found(at_work(500, &["gc.copyback=true", "gc.copyback_limit=1"]), copied), Invariant::Counts);
}

#[test]
fn two_operations_of_an_array_are_caught() {
    let program = |drive: &mut Drive| {
        let (now, end) = (drive.back.core.now, Time(drive.back.core.now.0 + 1_000_000));
        drive.back.core.probe.program(now, end, DieId(0), 1);
        drive.back.core.probe.program(now, end, DieId(0), 1);
    };
    assert_eq!(found(at_work(500, &[]), program), Invariant::Die);
    let sense = |drive: &mut Drive| {
        let (now, end) = (drive.back.core.now, Time(drive.back.core.now.0 + 1_000_000));
        drive.back.core.probe.erase(end, end, DieId(0), 1);
        drive.back.core.probe.sense(
            now,
            end,
            DieId(0),
            drive.back.core.plan.layout.pack(Address { plane: PlaneId(0), block: 0, page: 0 }),
        );
    };
    assert_eq!(found(at_work(500, &[]), sense), Invariant::Die);
    let resume = |drive: &mut Drive| drive.back.core.probe.resume(drive.back.core.now, drive.back.core.now, DieId(0));
    assert_eq!(found(at_work(500, &[]), resume), Invariant::Die);
    let mut drive = at_work(500, &[]);
    drive.flush().unwrap();
    drive.back.flash.sense_into_full_register(DieId(0));
    assert_eq!(drive.back.view().check_die(DieId(0), drive.back.core.now).unwrap_err().invariant, Invariant::Die);
    // No attempt of a read is in that register.
    assert_eq!(drive.back.view().check_registers().unwrap_err().invariant, Invariant::Die);
}

#[test]
fn a_bus_that_is_booked_twice_is_caught() {
    let book = |drive: &mut Drive| {
        let (now, end) = (drive.back.core.now, Time(drive.back.core.now.0 + 1_000_000));
        for _ in 0..2 {
            let event =
                Event::Bus { channel: nand::ChannelId(0), cause: channel::COMMAND, until: Some((end, channel::IDLE)) };
            drive.back.core.probe.explain(now, event);
        }
    };
    assert_eq!(found(at_work(500, &[]), book), Invariant::Bus);
    let room = |drive: &mut Drive| drive.back.flash.reserve_in_vain(nand::ChannelId(1));
    assert_eq!(found(at_work(500, &[]), room), Invariant::Bus);
}

#[test]
fn time_that_goes_back_is_caught() {
    let back = |drive: &mut Drive| {
        drive.back.core.probe.explain(Time(drive.back.core.now.0 - 1), Event::Arrives { arrival: Time(0) });
    };
    assert_eq!(found(at_work(500, &[]), back), Invariant::Time);
}

#[test]
fn what_ends_twice_is_caught() {
    let request = |drive: &mut Drive| {
        drive.back.core.probe.explain(drive.back.core.now, Event::Completed { request: 1 });
    };
    assert_eq!(found(at_work(500, &[]), request), Invariant::Once);
    let part = |drive: &mut Drive| {
        let event = Event::Sent { request: 1, part: Some((1, 0)), arrives: drive.back.core.now };
        drive.back.core.probe.explain(drive.back.core.now, event);
    };
    assert_eq!(found(at_work(500, &[]), part), Invariant::Once);
    let program = |drive: &mut Drive| {
        let place = Address { plane: PlaneId(0), block: 29, page: 11 };
        let (slot, ppn): (SlotId, Ppn) = (units::Id::new(1000), drive.back.core.plan.layout.pack(place));
        drive.back.core.probe.programmed(drive.back.core.now, Lpn(0), slot, ppn);
    };
    assert_eq!(found(at_work(500, &[]), program), Invariant::Once);
}

#[test]
fn slots_that_are_lost_or_made_are_caught() {
    let more = |drive: &mut Drive| drive.back.writes.buffer.reserve(1);
    assert_eq!(found(at_work(500, &[]), more), Invariant::Buffer);
    let lost = |drive: &mut Drive| {
        drive.back.writes.buffer.add(Lpn(3), 1, 1, None);
    };
    assert_eq!(found(at_work(500, &["buffer.dirty_limit=1.0"]), lost), Invariant::Buffer);
}

#[test]
fn a_checked_drive_goes_on_from_any_state() {
    let mut drive = at_work(777, &["mapping.table=cached", "mapping.cache=4KiB"]);
    let mut state = Vec::new();
    drive.save(&mut state).unwrap();
    let config = drive.plan().config.clone();
    let mut loaded =
        Device::load(&config, &mut &state[..]).unwrap().watched_by(Watch::checking(Checker::new(drive.plan())));
    play(&mut drive, 500).unwrap();
    play(&mut loaded, 500).unwrap();
    loaded.check_all().unwrap();
    assert_eq!(loaded.counters(), drive.counters());
}
/// docs/inspect.md shows this one.
#[test]
fn a_violation_says_where_and_when() {
    let mut drive = at_work(500, &[]);
    exchange_entries(&mut drive);
    let text = "Invariant (mapping) does not hold, page 3: mapped to page 11 of block 14, plane 3\n  expected: a page of the \
                flash that holds it\n  when: at 27698586 ns, after event 1955 (the decoders of channel 0)";
    assert_eq!(play(&mut drive, 5000).unwrap_err().to_string(), text);
}
