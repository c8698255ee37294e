//! Zones: what management commands cost, to the nanosecond, and what later reads feel of it; random write areas;
//! refusals.

use std::collections::BTreeSet;

use ssd::stats::relocation_causes::{FOLD, WEAR_LEVELLING};
use ssd::zones::{ZoneDescriptor, ZoneState};
use ssd::{Completion, Config, Device, Drive, Status};
use testing::{Watch, Watched, watched};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request, ZoneAction};

const PAGE: u64 = 16_384;

/// One die of one plane, whose zones have a block of 24 pages each.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = [
        "ftl.mapping=zoned",
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=40",
        "geometry.pages=24",
        "chip.model=none",
        "power.plp=true",
        "age.fill=0",
        "age.precondition=none",
        "ftl.over_provisioning=0.6",
        "ftl.erase_when=reclaimed",
        "buffer.size=1MiB",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

fn at_once(device: &mut Device<Watched>, requests: &[(Op, u64, u64)]) -> Vec<Completion> {
    for (op, offset, bytes) in requests {
        device.submit(Request::new(device.now(), *op, Bytes(*offset), Bytes(*bytes))).unwrap();
    }
    let mut done = Vec::new();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        done.extend(device.take_completions());
    }
    done
}

fn zone(device: &Device<Watched>, number: u32) -> ZoneDescriptor {
    device.zones().unwrap().zone(number).unwrap()
}

fn times(watch: &Watch, what: &str) -> Vec<(u64, u64)> {
    watch.0.borrow().iter().filter(|entry| entry.0 == what).map(|entry| (entry.1, entry.2)).collect()
}

#[test]
fn a_reset_completes_before_its_erase_which_a_read_of_the_die_waits_for() {
    let watch = Watch::default();
    let mut device = watched(&config(&[]), 1, watch.clone());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &[(Op::Write, 0, size), (Op::Write, size, size)]);
    device.flush().unwrap();
    watch.0.borrow_mut().clear();
    let began = device.now().0;
    let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size), (Op::Read, size, PAGE)]);
    let host = &device.plan().config.host;
    let (reset, read) = (done[0], done[1]);
    assert_eq!(reset.finish.0, began + host.t_submit.0 + host.t_firmware.0 + host.t_complete.0);
    let (erases, senses) = (times(&watch, "erase"), times(&watch, "sense"));
    assert_eq!((erases.len(), senses.len()), (1, 1));
    let plan = device.plan();
    assert_eq!(erases[0].1 - erases[0].0, plan.timings.erase.0);
    let command = plan.config.bus.t_command.0;
    assert_eq!(senses[0].0, erases[0].1 + command, "the read command goes to the die when the erase has ended");
    assert!(read.finish.0 > erases[0].1 && reset.finish.0 < erases[0].1);
    assert_eq!(zone(&device, 0).state, ZoneState::Empty);
    device.check_all().unwrap();
}

#[test]
fn a_reset_that_waits_for_its_erases_completes_with_the_last_of_them() {
    let watch = Watch::default();
    let settings = ["zones.reset_completes=erased", "ftl.erase_when=reclaimed", "zones.blocks=3", "geometry.planes=2"];
    let mut device = watched(&config(&settings), 1, watch.clone());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &[(Op::Write, 0, size), (Op::Write, size, size / 2)]);
    device.flush().unwrap();
    for (zone_of, blocks) in [(0, 3), (size, 2)] {
        watch.0.borrow_mut().clear();
        let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), zone_of, size)]);
        let erases = times(&watch, "erase");
        assert_eq!(erases.len(), blocks, "both planes are erased together; half a zone has taken two blocks of each");
        let last = erases.iter().map(|(_, end)| *end).max().unwrap();
        assert_eq!(done[0].finish.0, last + device.plan().config.host.t_complete.0);
        // Blocks of a plane one after another.
        let (first, erase) = (erases.iter().map(|(begin, _)| *begin).min().unwrap(), device.plan().timings.erase.0);
        assert!(last - first >= blocks as u64 * erase, "{erases:?}");
    }
    // Nothing is to be erased of an empty zone.
    let began = device.now().0;
    let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size)]);
    let host = &device.plan().config.host;
    assert_eq!(done[0].finish.0, began + host.t_submit.0 + host.t_firmware.0 + host.t_complete.0);
    device.check_all().unwrap();
}

#[test]
fn a_finish_programs_the_rest_of_a_zone_or_of_its_program_and_a_read_goes_between() {
    // Of eight programs of three pages one is written and a part of the second.
    for (finish, programs) in [("pad", 7), ("close", 1)] {
        let watch = Watch::default();
        let setting = format!("zones.finish={finish}");
        let mut device = watched(&config(&[&setting]), 1, watch.clone());
        let size = device.zones().unwrap().size();
        at_once(&mut device, &[(Op::Write, 0, 4 * PAGE)]);
        watch.0.borrow_mut().clear();
        let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Finish), 0, size), (Op::Read, 0, PAGE)]);
        let (padded, senses) = (times(&watch, "program"), times(&watch, "sense"));
        assert_eq!((padded.len(), senses.len()), (programs, 1), "{finish}");
        let of = |op: Op| *done.iter().find(|done| done.request.op == op).unwrap();
        let complete = device.plan().config.host.t_complete.0;
        assert_eq!(of(Op::Zone(ZoneAction::Finish)).finish.0, padded[programs - 1].1 + complete, "{finish}");
        let command = device.plan().config.bus.t_command.0;
        assert_eq!(senses[0].0, padded[0].1 + command, "{finish}: the read goes behind the first program");
        assert_eq!(device.counters().zone_padding, 3 * programs as u64 - 1);
        let found = zone(&device, 0);
        assert_eq!((found.state, found.write_pointer), (ZoneState::Full, 4 * PAGE));
        device.flush().unwrap();
        device.check_all().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn zones_take_other_dies_in_turn_and_each_has_blocks_of_its_own() {
    let watch = Watch::default();
    let settings = ["geometry.dies=4", "geometry.planes=2", "zones.dies=2", "buffer.size=4MiB"];
    let mut device = watched(&config(&settings), 1, watch.clone());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &(0..6).map(|zone| (Op::Write, zone * size, size)).collect::<Vec<_>>());
    device.flush().unwrap();
    let layout = device.plan().layout;
    let place = |device: &Device<Watched>, page: u64| {
        let ppn = device.flash_page(Lpn(page)).unwrap();
        (layout.die_of(layout.plane_of(ppn)).0.0, layout.plane_of(ppn).0, layout.unpack(ppn).block)
    };
    let pages = size / PAGE;
    let mut owners = std::collections::BTreeMap::new();
    for page in 0..6 * pages {
        let (die, plane, block) = place(&device, page);
        assert_eq!(*owners.entry((plane, block)).or_insert(page / pages), page / pages, "a block has one zone's data");
        assert_eq!(u64::from(die) / 2, page / pages % 2, "groups of two dies take zones in turn");
        if page % 6 != 0 {
            assert_eq!(die, place(&device, page - 1).0, "a program of a die comes before that of the next");
        }
    }
    device.check_all().unwrap();
}

#[test]
fn a_random_area_is_written_in_any_order_and_again_until_it_is_committed() {
    let watch = Watch::default();
    let mut device = watched(&config(&["zones.random_area=96KiB", "buffer.size=4MiB"]), 1, watch.clone());
    let size = device.zones().unwrap().size();
    let mut ask = |op: Op, offset: u64, bytes: u64| at_once(&mut device, &[(op, offset, bytes)])[0].status;
    assert_eq!(ask(Op::Zone(ZoneAction::OpenRandom), 0, size), Status::Success);
    // Backwards, and again; nothing is programmed.
    for page in (0..6).rev().chain([2, 2]) {
        assert_eq!(ask(Op::Write, page * PAGE, PAGE), Status::Success);
    }
    assert_eq!(ask(Op::Append, 0, PAGE), Status::InvalidZoneOperation);
    assert_eq!(ask(Op::Write, 12 * PAGE, PAGE), Status::ZoneInvalidWrite);
    assert_eq!(times(&watch, "program").len(), 0);
    // Explicitly: the first program's worth.
    assert_eq!(ask(Op::Zone(ZoneAction::Flush), 0, 3 * PAGE), Status::Success);
    assert_eq!(times(&watch, "program").len(), 1);
    assert_eq!(ask(Op::Write, 0, PAGE), Status::ZoneInvalidWrite);
    // Implicitly: a write behind the area moves it.
    assert_eq!(ask(Op::Write, 11 * PAGE, PAGE), Status::Success);
    let found = zone(&device, 0);
    assert_eq!((found.write_pointer, found.has_random_area), (6 * PAGE, true));
    assert_eq!(times(&watch, "program").len(), 2);
    // What was left out reads as nothing was written there.
    let mut ask = |op: Op, offset: u64, bytes: u64| at_once(&mut device, &[(op, offset, bytes)])[0].status;
    assert_eq!(ask(Op::Zone(ZoneAction::Flush), 6 * PAGE, 6 * PAGE), Status::Success);
    assert_eq!(ask(Op::Read, 0, 12 * PAGE), Status::Success);
    assert_eq!(device.counters().unmapped_reads, 5);
    let mut ask = |op: Op, offset: u64, bytes: u64| at_once(&mut device, &[(op, offset, bytes)])[0].status;
    assert_eq!(ask(Op::Zone(ZoneAction::Reset), 0, size), Status::Success);
    assert_eq!(ask(Op::Write, 0, PAGE), Status::Success);
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_random_area_lets_go_what_is_final_however_many_writes_are_outstanding() {
    // A zone of 144 pages, more than the buffer has slots; the area has six.
    let settings = ["zones.random_area=96KiB", "zones.blocks=6", "zones.max_open=2", "zones.max_active=2"];
    let in_order: Vec<u64> = (0..144).collect();
    let backwards: Vec<u64> = in_order.chunks(6).flat_map(|area| area.iter().rev().copied()).collect();
    for pages in [in_order, backwards] {
        let watch = Watch::default();
        let mut device = watched(&config(&settings), 1, watch.clone());
        let size = device.zones().unwrap().size();
        assert_eq!(device.plan().slots, 64);
        assert_eq!(at_once(&mut device, &[(Op::Zone(ZoneAction::OpenRandom), 0, size)])[0].status, Status::Success);
        let writes: Vec<_> = pages.iter().map(|page| (Op::Write, page * PAGE, PAGE)).collect();
        let done = at_once(&mut device, &writes);
        assert_eq!(done.iter().filter(|done| done.status == Status::Success).count(), 144);
        // All but the area is final, and whole programs of it have left the buffer.
        assert_eq!(zone(&device, 0).write_pointer, 138 * PAGE);
        device.flush().unwrap();
        assert_eq!((times(&watch, "program").len(), device.counters().zone_padding), (138 / 3, 0));
        assert_eq!(at_once(&mut device, &[(Op::Zone(ZoneAction::Finish), 0, size)])[0].status, Status::Success);
        assert!((0..144).all(|page| device.flash_page(Lpn(page)).is_some()));
        device.check_all().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn a_command_waits_for_the_writes_to_its_zones_that_came_before_and_what_comes_behind_waits_for_it() {
    let mut device = watched(&config(&["zones.max_open=4"]), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let [open, close, reset] = [ZoneAction::Open, ZoneAction::Close, ZoneAction::Reset].map(Op::Zone);
    let all_good = |done: &[Completion]| done.iter().all(|done| done.status == Status::Success);
    // Of all zones one is closed, and nothing is under way to it.
    at_once(&mut device, &[(Op::Write, 5 * size, PAGE), (close, 5 * size, size)]);
    let done = at_once(&mut device, &[(Op::Write, 0, 20 * PAGE), (open, 0, 8 * size)]);
    let finish = |op: Op| done.iter().find(|done| done.request.op == op).unwrap().finish;
    assert!(all_good(&done) && finish(open) < finish(Op::Write), "{done:?}");
    assert_eq!([0, 5].map(|at| zone(&device, at).state), [ZoneState::ImplicitlyOpen, ZoneState::ExplicitlyOpen]);
    // Two writes come before it and two behind it, which open the zone again.
    let before = (device.counters().zones_opened_by_writes, device.counters().zones_closed_by_host);
    let write = |page: u64| (Op::Write, size + page * PAGE, PAGE);
    let done = at_once(&mut device, &[write(0), write(1), (close, size, size), write(2), write(3)]);
    assert!(all_good(&done), "{done:?}");
    let counters = device.counters();
    assert_eq!((counters.zones_opened_by_writes - before.0, counters.zones_closed_by_host - before.1), (2, 1));
    assert_eq!(zone(&device, 1).state, ZoneState::ImplicitlyOpen);
    // What is written behind a reset begins the zone again, also where the reset is of several zones and the zone is
    // none of those that it waits for.
    let done = at_once(&mut device, &[write(4), (reset, size, size), write(0), write(1)]);
    assert!(all_good(&done), "{done:?}");
    assert_eq!(zone(&device, 1).write_pointer, size + 2 * PAGE);
    let second = (Op::Write, 2 * size, PAGE);
    let done = at_once(&mut device, &[write(2), (reset, 0, 3 * size), second, write(0)]);
    assert!(all_good(&done), "{done:?}");
    assert_eq!([0, 1, 2].map(|at| zone(&device, at).write_pointer), [0, size + PAGE, 2 * size + PAGE]);
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn of_several_zones_all_or_none_are_opened_with_their_random_areas() {
    let settings = ["zones.random_area=96KiB", "zones.max_open=2", "zones.max_active=4", "buffer.size=4MiB"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let [open, close, random] = [ZoneAction::Open, ZoneAction::Close, ZoneAction::OpenRandom].map(Op::Zone);
    // Two closed zones have an area, the third has none.
    for (number, op) in [(0, random), (1, random), (2, open)] {
        let at = number * size;
        let done = at_once(&mut device, &[(op, at, size), (Op::Write, at, PAGE), (close, at, size)]);
        assert!(done.iter().all(|done| done.status == Status::Success), "{done:?}");
    }
    let mut ask = |op: Op, offset: u64, bytes: u64| {
        let status = at_once(&mut device, &[(op, offset, bytes)])[0].status;
        (status, [0, 1, 2].map(|at| zone(&device, at).state))
    };
    let (is_open, is_closed) = (ZoneState::ExplicitlyOpen, ZoneState::Closed);
    assert_eq!(ask(random, 0, 4 * size), (Status::Success, [is_open, is_open, is_closed]));
    assert_eq!(ask(close, 0, 4 * size), (Status::Success, [is_closed; 3]));
    assert_eq!(ask(open, 3 * size, size), (Status::Success, [is_closed; 3]));
    assert_eq!(ask(random, 0, 4 * size), (Status::TooManyOpen, [is_closed; 3]));
    device.check_all().unwrap();
}

#[test]
fn several_zones_at_once_are_those_whose_state_has_the_action() {
    let mut device = watched(&config(&["zones.max_open=3"]), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let mut all = |op: Op| at_once(&mut device, &[(op, 0, 6 * size)])[0].status;
    assert_eq!(all(Op::Zone(ZoneAction::Open)), Status::Success, "none of them is closed");
    let writes: Vec<_> = (0..4).map(|zone| (Op::Write, zone * size, PAGE)).collect();
    at_once(&mut device, &writes);
    let states = |device: &Device<Watched>| (0..5).map(|number| zone(device, number).state).collect::<Vec<_>>();
    let open = ZoneState::ImplicitlyOpen;
    assert_eq!(states(&device), [ZoneState::Closed, open, open, open, ZoneState::Empty], "the oldest was closed");
    let mut all = |op: Op| at_once(&mut device, &[(op, 0, 6 * size)])[0].status;
    assert_eq!(all(Op::Zone(ZoneAction::Open)), Status::TooManyOpen);
    assert_eq!(all(Op::Zone(ZoneAction::Close)), Status::Success);
    assert_eq!(all(Op::Zone(ZoneAction::Finish)), Status::Success);
    assert_eq!(states(&device)[3..], [ZoneState::Full, ZoneState::Empty]);
    let mut all = |op: Op| at_once(&mut device, &[(op, 0, 6 * size)])[0].status;
    assert_eq!(all(Op::Zone(ZoneAction::Reset)), Status::Success);
    assert!(states(&device).iter().all(|state| *state == ZoneState::Empty));
    assert_eq!(device.counters().zones_reset, 4);
}

#[test]
fn requests_that_zones_do_not_have_get_a_status_and_so_do_zones_of_drives_without_any() {
    let limited = config(&["zones.append_limit=32KiB", "zones.read_across=false", "zones.conventional=1"]);
    let mut device = watched(&limited, 1, Watch::default());
    let size = device.zones().unwrap().size();
    let reset = Op::Zone(ZoneAction::Reset);
    for (op, offset, bytes, status) in [
        (Op::Write, 3 * PAGE, PAGE, Status::Success),
        (Op::Trim, 0, size, Status::Success),
        (Op::Append, 0, PAGE, Status::InvalidField),
        (reset, 0, size, Status::InvalidField),
        (Op::Write, size - PAGE, 2 * PAGE, Status::ZoneBoundary),
        (Op::Append, size, 3 * PAGE, Status::InvalidField),
        (Op::Append, size + PAGE, PAGE, Status::InvalidField),
        (Op::Append, size, 2 * PAGE, Status::Success),
        (Op::Trim, size, PAGE, Status::InvalidField),
        (Op::Read, size - PAGE, 2 * PAGE, Status::ZoneBoundary),
        (reset, size + PAGE, PAGE, Status::InvalidField),
        (Op::Zone(ZoneAction::Offline), size, size, Status::InvalidTransition),
        (Op::Zone(ZoneAction::OpenRandom), 2 * size, size, Status::InvalidField),
        (Op::ZoneReport, 0, 4096, Status::Success),
        (reset, size, size, Status::Success),
    ] {
        assert_eq!(at_once(&mut device, &[(op, offset, bytes)])[0].status, status, "{op:?} of {bytes} at {offset}");
    }
    assert_eq!(device.counters().requests_failed, 10);
    let mut without = watched(&Config::default(), 1, Watch::default());
    for op in [Op::Append, reset, Op::ZoneReport] {
        assert_eq!(at_once(&mut without, &[(op, 0, PAGE)])[0].status, Status::InvalidOpcode);
    }
    assert!(without.zones().is_none());
}

#[test]
fn data_of_a_zone_that_is_refreshed_moves_into_blocks_of_the_same_zone() {
    let settings = ["refresh.reads=100", "chip.read_disturb=false", "gc.start=4", "buffer.size=4MiB"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &[(Op::Write, 0, size), (Op::Write, size, size)]);
    device.flush().unwrap();
    let block = |device: &Device<Watched>, page: u64| {
        let ppn = device.flash_page(Lpn(page)).unwrap();
        device.plan().layout.unpack(ppn).block
    };
    let before = (block(&device, 0), block(&device, size / PAGE));
    for _ in 0..120 {
        at_once(&mut device, &[(Op::Read, 0, PAGE), (Op::Read, size, PAGE)]);
    }
    let pages = size / PAGE;
    let after: Vec<u32> = (0..2 * pages).map(|page| block(&device, page)).collect();
    assert!(after[..pages as usize].iter().all(|block| *block == after[0] && *block != before.0));
    assert!(after[pages as usize..].iter().all(|block| *block == after[pages as usize] && *block != before.1));
    assert_ne!(after[0], after[pages as usize]);
    at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size), (Op::Write, 0, size)]);
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

/// A zone that is written once stands on blocks that wear as the others do.
#[test]
fn data_of_a_zone_moves_where_its_block_has_worn_least() {
    let mut device =
        watched(&config(&["wear.static_spread=2", "gc.start=4", "wear.free_block=least-worn"]), 1, Watch::default());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &[(Op::Write, 0, size)]);
    for _ in 0..400 {
        at_once(&mut device, &[(Op::Write, size, size)]);
        at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), size, size)]);
    }
    device.flush().unwrap();
    let (fewest, most) = (device.erases().min().unwrap(), device.erases().max().unwrap());
    let moved = device.counters().blocks_relocated[WEAR_LEVELLING];
    assert!(moved > 0 && most - fewest <= 2 + 2, "{moved} moved; {fewest} to {most} erases");
    let block = |page: u64| device.plan().layout.unpack(device.flash_page(Lpn(page)).unwrap()).block;
    assert!((0..size / PAGE).all(|page| block(page) == block(0)));
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn zones_on_a_broken_die_are_read_only_or_offline_and_what_the_controller_has_of_them_is_kept() {
    let settings = [
        "geometry.dies=4",
        "zones.dies=1",
        "buffer.size=4MiB",
        "gc.start=4",
        "ftl.over_provisioning=1.5",
        "faults.at=[1s die 1]",
    ];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let (count, size) = (device.zones().unwrap().count(), device.zones().unwrap().size());
    // On the die that breaks: a full zone, one of which two pages are on flash in no whole program, and empty ones.
    at_once(&mut device, &[(Op::Write, size, size), (Op::Write, 5 * size, 5 * PAGE), (Op::Write, 2 * size, 4 * PAGE)]);
    device.flush().unwrap();
    device.advance(Time(1_000_000_001)).unwrap();
    let state = |device: &Device<Watched>, number| zone(device, number).state;
    assert_eq!([1, 5].map(|number| state(&device, number)), [ZoneState::ReadOnly; 2]);
    assert_eq!(state(&device, 2), ZoneState::ImplicitlyOpen);
    for number in (0..count).filter(|number| ![1, 2, 5].contains(number)) {
        let expected = if number % 4 == 1 { ZoneState::Offline } else { ZoneState::Empty };
        assert_eq!(state(&device, number), expected, "zone {number}");
    }
    let ask =
        |device: &mut Device<Watched>, op: Op, offset: u64, bytes: u64| at_once(device, &[(op, offset, bytes)])[0];
    // What was programmed is lost and reported; what waited in the buffer for the rest of its program is not.
    for (page, lost) in
        [(size, true), (5 * size + 2 * PAGE, true), (5 * size + 3 * PAGE, false), (5 * size + 4 * PAGE, false)]
    {
        assert_eq!(ask(&mut device, Op::Read, page, PAGE).uncorrectable, lost, "{page}");
    }
    assert_eq!(ask(&mut device, Op::Write, 5 * size + 5 * PAGE, PAGE).status, Status::ZoneReadOnly);
    assert_eq!(ask(&mut device, Op::Write, 9 * size, PAGE).status, Status::ZoneOffline);
    assert_eq!(ask(&mut device, Op::Zone(ZoneAction::Reset), size, size).status, Status::InvalidTransition);
    assert_eq!(ask(&mut device, Op::Zone(ZoneAction::Offline), size, size).status, Status::Success);
    assert_eq!(device.counters().zones_reset, 0, "what goes offline is no reset");
    // The kept pages are on another die by now, and all other zones go on.
    device.flush().unwrap();
    let layout = device.plan().layout;
    let die = |lpn: u64| layout.die_of(layout.plane_of(device.flash_page(Lpn(lpn)).unwrap())).0.0;
    assert!([3, 4].iter().all(|page| die(5 * size / PAGE + page) != 1));
    assert_eq!(ask(&mut device, Op::Write, 2 * size + 4 * PAGE, size - 4 * PAGE).status, Status::Success);
    assert_eq!(state(&device, 2), ZoneState::Full);
    assert_eq!(device.end_of_life(), None);
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_zone_with_parity_over_dies_is_read_whole_when_one_of_them_breaks_and_its_stripes_end_with_it() {
    for (dies, wide, fill) in [(4, 4, 0.0), (2, 4, 0.0), (1, 2, 0.0), (4, 3, 0.2)] {
        let settings = [
            "geometry.dies=4".to_owned(),
            format!("zones.dies={dies}"),
            format!("ftl.raid=parity:{wide}"),
            format!("age.fill={fill}"),
            "buffer.size=4MiB".into(),
            "gc.start=4".into(),
            "ftl.over_provisioning=4".into(),
            "faults.at=[10s die 1]".into(),
            "geometry.blocks=80".into(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut device = watched(&config(&settings), 1, Watch::default());
        let (count, size) = (u64::from(device.zones().unwrap().count()), device.zones().unwrap().size());
        let full = (count as f64 * fill).round() as u64;
        let written: Vec<u64> = (0..count / 2).collect();
        let writes: Vec<_> =
            written.iter().filter(|zone| **zone >= full).map(|zone| (Op::Write, zone * size, size)).collect();
        at_once(&mut device, &writes);
        device.flush().unwrap();
        // A page of parity for each stripe, of which the last of a zone may be open.
        let pages = writes.len() as u64 * size / PAGE;
        let data = (wide - 1).min(dies);
        let parity = device.counters().parity_programs;
        let open = writes.len() as u64 * 2 * data;
        assert!((pages / data - open..=pages / data + open).contains(&parity), "{parity} of {}", pages / data);
        device.advance(Time(20_000_000_000)).unwrap();
        let reads: Vec<_> = written.iter().map(|zone| (Op::Read, zone * size, size)).collect();
        let done = at_once(&mut device, &reads);
        assert!(done.iter().all(|completion| !completion.uncorrectable), "{dies} dies, {wide} pages a stripe");
        assert!(device.counters().pages_rebuilt > 0);
        device.flush().unwrap();
        // What is reset takes its stripes with it: no page of another zone needs them.
        let kept = zone(&device, 0).state == ZoneState::Full;
        let resets: Vec<_> =
            (0..count).filter(|number| zone(&device, *number as u32).state == ZoneState::Full).collect();
        assert!(kept || dies > 1 || !resets.is_empty());
        let asks: Vec<_> = resets.iter().map(|number| (Op::Zone(ZoneAction::Reset), number * size, size)).collect();
        assert!(at_once(&mut device, &asks).iter().all(|completion| completion.status == Status::Success));
        assert_eq!(device.counters().pages_lost, 0);
        device.check_all().unwrap();
        device.check_mapping().unwrap();
    }
}

/// Four dies with parity, a fifth of whose zones are full at the start.
fn full_with_parity(settings: &[&str]) -> Device<Watched> {
    let parity = [
        "geometry.dies=4",
        "zones.dies=4",
        "ftl.raid=parity:4",
        "age.fill=0.2",
        "buffer.size=4MiB",
        "gc.start=4",
        "ftl.over_provisioning=4",
        "geometry.blocks=80",
    ];
    watched(&config(&[&parity[..], settings].concat()), 1, Watch::default())
}

#[test]
fn parity_of_zones_that_are_full_at_the_start_is_that_of_its_stripe_where_it_moves() {
    let mut device = full_with_parity(&["power.cut_at=[10s]", "faults.at=[1ms blocks 1:60]"]);
    at_once(&mut device, &[(Op::Read, 0, PAGE)]);
    device.advance(Time(2_000_000_000)).unwrap();
    let counters = device.counters();
    assert!(counters.blocks_broken > 20 && counters.pages_rebuilt > 10, "{}", counters.pages_rebuilt);
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn parity_of_zones_that_are_full_at_the_start_is_known_after_a_power_cut() {
    let mut device = full_with_parity(&["power.cut_at=[1s]", "faults.at=[10s die 1]"]);
    let (count, size) = (u64::from(device.zones().unwrap().count()), device.zones().unwrap().size());
    let full = (count as f64 * 0.2).round() as u64;
    device.advance(Time(20_000_000_000)).unwrap();
    assert_eq!(device.counters().cuts, 1);
    let pages: Vec<u64> =
        (0..full).flat_map(|zone| (0..size / PAGE).map(move |page| zone * size + page * PAGE)).collect();
    let reads: Vec<_> = pages.iter().map(|offset| (Op::Read, *offset, PAGE)).collect();
    let lost = at_once(&mut device, &reads).iter().filter(|completion| completion.uncorrectable).count() as u64;
    // A die in four has broken. The parity of a stripe that is open was in the controller.
    let (rebuilt, of_die) = (device.counters().pages_rebuilt, pages.len() as u64 / 4);
    assert!(lost <= 3 && rebuilt + lost >= of_die, "{lost} lost and {rebuilt} rebuilt of {of_die}");
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_finish_of_a_drive_that_becomes_read_only_is_refused_and_its_padding_stays_behind() {
    let settings = ["zones.finish=pad", "wear.end_of_life=read-only", "faults.at=[3ms blocks 0:38]"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let done = at_once(&mut device, &[(Op::Write, 0, PAGE), (Op::Zone(ZoneAction::Finish), 0, size)]);
    assert!(device.end_of_life().is_some(), "the drive has too few blocks left");
    assert_eq!(done.iter().map(Completion::is_done).collect::<Vec<_>>(), [true, false]);
    let programs = device.counters().zone_padding;
    assert!((1..23).contains(&programs), "{programs} of 23 pages are padded");
    device.check().unwrap();
}

#[test]
fn padding_that_a_power_cut_interrupts_takes_nothing_of_the_next_zone() {
    // Zones of four pages, programs of three: the second program of a zone has two pages of padding, whose addresses
    // are those of the next zone.
    let settings = ["zones.capacity=64KiB", "power.cut_at=[200us]", "buffer.size=4MiB"];
    let watch = Watch::default();
    let mut device = watched(&config(&settings), 1, watch.clone());
    for (offset, bytes) in [(0, 4 * PAGE), (4 * PAGE, PAGE)] {
        device.submit(Request::new(device.now(), Op::Write, Bytes(offset), Bytes(bytes))).unwrap();
    }
    device.advance(Time(300_000)).unwrap();
    device.flush().unwrap();
    assert_eq!((device.counters().cuts, zone(&device, 0).state), (1, ZoneState::Full));
    assert_eq!(times(&watch, "program").len(), 3, "the first was under way at the cut, and both were done after it");
    let on_flash = |device: &Device<Watched>, page: u64| device.flash_page(Lpn(page));
    assert!((0..4).all(|page| on_flash(&device, page).is_some()));
    assert_eq!((on_flash(&device, 4), device.buffered_pages()), (None, 1), "the next zone waits for its program");
    at_once(&mut device, &[(Op::Write, 5 * PAGE, 2 * PAGE)]);
    device.flush().unwrap();
    let block = |page: u64| device.plan().layout.unpack(on_flash(&device, page).unwrap()).block;
    assert!((4..7).all(|page| block(page) == block(4)) && block(4) != block(0));
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_finish_commits_the_random_area_which_power_cuts_then_leave() {
    let settings = ["zones.random_area=96KiB", "buffer.size=4MiB", "power.cut_at=[30ms, 60ms]", "zones.finish=close"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let asked = [(Op::Zone(ZoneAction::OpenRandom), 0, size), (Op::Write, 0, PAGE), (Op::Write, 4 * PAGE, PAGE)];
    for request in asked.into_iter().chain([(Op::Zone(ZoneAction::Finish), 0, size)]) {
        assert_eq!(at_once(&mut device, &[request])[0].status, Status::Success, "{request:?}");
    }
    let found =
        |device: &Device<Watched>| (0..6).map(|page| device.flash_page(Lpn(page)).is_some()).collect::<Vec<_>>();
    let expected = [true, false, false, false, true, false];
    assert_eq!(
        (found(&device), device.buffered_pages()),
        (expected.to_vec(), 0),
        "and the rest of two programs is padding"
    );
    for cut in 1..=2 {
        device.advance(Time(cut * 30_000_000 + 20_000_000)).unwrap();
        assert_eq!((device.counters().cuts, zone(&device, 0).state), (cut, ZoneState::Full));
        assert_eq!(found(&device), expected);
    }
    let before = device.counters().unmapped_reads;
    at_once(&mut device, &[(Op::Read, 0, 6 * PAGE)]);
    assert_eq!(device.counters().unmapped_reads - before, 4);
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_reset_that_a_power_cut_meets_waiting_is_aborted_and_its_zone_is_empty() {
    // Written to its end at 60 ms; the erases of a reset at 100 ms take until some milliseconds later.
    let settings =
        ["zones.reset_completes=erased", "ftl.erase_when=reclaimed", "zones.blocks=3", "power.cut_at=[101ms]"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    at_once(&mut device, &[(Op::Write, 0, size)]);
    device.flush().unwrap();
    assert!(device.now() < Time(100_000_000), "{:?}", device.now());
    device.advance(Time(100_000_000)).unwrap();
    let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size)]);
    assert_eq!((done[0].aborted, device.counters().cuts), (true, 1), "{:?}", done[0]);
    assert_eq!((zone(&device, 0).state, zone(&device, 0).write_pointer), (ZoneState::Empty, 0));
    assert!((0..size / PAGE).all(|page| device.flash_page(Lpn(page)).is_none()));
    // Again, and with the drive to itself: nothing waits for what was to be erased before the cut.
    at_once(&mut device, &[(Op::Write, 0, size)]);
    let done = at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size)]);
    assert_eq!(done[0].status, Status::Success);
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

/// What a configuration is refused for, by its key.
#[test]
fn what_zones_cannot_be_with_is_refused_with_its_key() {
    for (setting, key) in [
        ("buffer.mode=write-through", "buffer.mode"),
        ("power.plp=false", "power.plp"),
        ("age.precondition=closed-form", "age.precondition"),
        ("ftl.streams=4", "ftl.streams"),
        ("ftl.hints=2", "ftl.hints"),
        ("mapping.table=cached", "mapping.table"),
        ("mapping.unit=64KiB", "mapping.unit"),
        ("zones.dies=3", "zones.dies"),
        ("zones.blocks=0", "zones.blocks"),
        ("zones.blocks=200", "zones.blocks"),
        ("zones.capacity=1000KB", "zones.capacity"),
        ("zones.capacity=1GiB", "zones.capacity"),
        ("zones.size=16KiB", "zones.size"),
        ("zones.max_open=20", "zones.max_open"),
        ("zones.random_area=100B", "zones.random_area"),
        ("buffer.size=256KiB", "buffer.size"),
    ] {
        let error = config(&[setting]).plan().unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key), "{setting}: {error}");
    }
    let error = config(&["zones.reset_completes=erased", "ftl.erase_when=opened"]).plan().unwrap_err();
    assert_eq!(error.key.as_deref(), Some("zones.reset_completes"), "{error}");
}

#[test]
fn a_zone_is_written_into_blocks_of_the_cache_that_are_its_own_and_folded_into_its_own() {
    let watch = Watch::default();
    let cache = ["ftl.slc_cache=static", "slc.blocks=4", "slc.t_prog=200us", "slc.fold_idle=none"];
    let mut device = watched(&config(&cache), 1, watch.clone());
    let size = device.zones().unwrap().size();
    // The blocks of a zone's first pages.
    let blocks = |device: &Device<Watched>, zone: u64, pages: u64| -> BTreeSet<u32> {
        let lpns = (0..pages).map(|page| Lpn(zone * size / PAGE + page));
        lpns.filter_map(|lpn| Some(device.plan().layout.unpack(device.flash_page(lpn)?).block)).collect()
    };
    let both = |from: u64, to: u64| -> Vec<(Op, u64, u64)> {
        (from..to).flat_map(|page| [0, size].map(|zone| (Op::Write, zone + page * PAGE, PAGE))).collect()
    };
    // Two zones in turn, page by page: each fills a block of eight pages, and no program waits for others.
    at_once(&mut device, &both(0, 8));
    device.flush().unwrap();
    let programs = times(&watch, "program");
    assert_eq!(programs.len(), 16);
    assert!(programs.iter().all(|(begin, end)| end - begin == 200_000), "{programs:?}");
    let [first, second] = [0, 1].map(|zone| blocks(&device, zone, 8));
    assert_eq!((first.len(), second.len(), first.is_disjoint(&second)), (1, 1, true));
    assert_eq!(device.counters().pages_relocated[FOLD], 0);
    // No block is left for the cache: what was written first is folded, and other zones wait for that.
    at_once(&mut device, &both(8, 24));
    device.flush().unwrap();
    let counters = device.counters();
    assert_eq!((counters.slc_pages, counters.native_pages), (48, 0));
    assert!(counters.pages_relocated[FOLD] >= 16, "{:?}", counters.pages_relocated);
    let [first, second] = [0, 1].map(|zone| blocks(&device, zone, 24));
    assert!(first.is_disjoint(&second), "{first:?} {second:?}");
    // Of each zone one block has what was folded, however often they took turns.
    let native = |blocks: &BTreeSet<u32>| blocks.iter().filter(|block| **block < 36).count();
    assert_eq!((native(&first), native(&second)), (1, 1), "{first:?} {second:?}");
    watch.0.borrow_mut().clear();
    at_once(&mut device, &[(Op::Zone(ZoneAction::Reset), 0, size), (Op::Read, size, size)]);
    assert_eq!(times(&watch, "erase").len(), first.len(), "blocks of both kinds");
    at_once(&mut device, &[(Op::Write, 0, size)]);
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_finish_that_a_drive_without_a_cache_cannot_pad_any_more_is_refused() {
    // Nothing of a zone goes past a static cache, and both of its blocks fail when they are erased to be opened.
    let settings = [
        "ftl.slc_cache=static",
        "slc.blocks=2",
        "ftl.erase_when=opened",
        "wear.end_of_life=read-only",
        "faults.at=[0ns erase 0, 0ns erase 0]",
    ];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let done = at_once(&mut device, &[(Op::Write, 0, PAGE), (Op::Zone(ZoneAction::Finish), 0, size)]);
    assert_eq!(done.iter().map(|completion| completion.refused).collect::<Vec<_>>(), [false, true]);
    assert!(device.end_of_life().is_some());
    assert_eq!(zone(&device, 0).state, ZoneState::ReadOnly);
    let done = at_once(&mut device, &[(Op::Read, 0, PAGE)]);
    assert!(!done[0].refused && !done[0].uncorrectable, "the buffer still has it");
    device.check_all().unwrap();
}

#[test]
fn a_block_of_the_cache_whose_plane_breaks_while_it_is_erased_is_not_folded() {
    // Without zones as with them: a block that has been opened, and holds nothing when its plane breaks.
    let cache = ["ftl.slc_cache=static", "slc.blocks=2", "geometry.dies=2", "ftl.erase_when=opened"];
    for mapping in [&["zones.dies=1"][..], &["ftl.mapping=page", "ftl.over_provisioning=3"]] {
        let mut device =
            watched(&config(&[&cache, mapping, &["faults.at=[1ms plane 0]"]].concat()), 1, Watch::default());
        at_once(&mut device, &[(Op::Write, 0, PAGE)]);
        device.flush().unwrap();
        device.advance(Time(100_000_000)).unwrap();
        assert_eq!(device.counters().planes_broken, 1);
        device.check_all().unwrap();
    }
}

#[test]
fn a_program_that_waits_behind_a_failed_one_of_a_zone_that_was_reset_waits_for_a_block() {
    // Of three blocks of the cache another zone has filled two, and this zone's first program fails in the third.
    let cache = ["ftl.slc_cache=static", "slc.blocks=3", "slc.fold_start=1", "slc.t_prog=200us", "slc.fold_idle=none"];
    let mut device = watched(
        &config(&[&cache[..], &["faults.at=[50ms program 0]", "ftl.over_provisioning=1"]].concat()),
        1,
        Watch::default(),
    );
    let size = device.zones().unwrap().size();
    let writes = |zone: u64, pages: u64| -> Vec<(Op, u64, u64)> {
        (0..pages).map(|page| (Op::Write, zone * size + page * PAGE, PAGE)).collect()
    };
    at_once(&mut device, &writes(1, 16));
    device.flush().unwrap();
    device.advance(Time(60_000_000)).unwrap();
    at_once(&mut device, &[writes(0, 2), vec![(Op::Zone(ZoneAction::Reset), 0, size)]].concat());
    device.flush().unwrap();
    let counters = device.counters();
    assert_eq!((counters.pages_failed, counters.blocks_retired), (1, 1));
    assert!(counters.pages_relocated[FOLD] >= 8, "a block of the other zone is folded to make room");
    at_once(&mut device, &writes(0, 2));
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn where_a_block_of_a_superblock_breaks_the_pages_that_it_was_to_hold_wait_for_a_whole_program() {
    // Two zones write at once, and one of the two blocks of the first zone's superblock breaks in its first program.
    let superblock = ["geometry.planes=2", "chip.plane_programs=lockstep", "ftl.allocation=superblock"];
    let faults = ["faults.at=[400us block 0:0]", "ftl.over_provisioning=1", "buffer.size=2MiB"];
    let mut device = watched(&config(&[&superblock[..], &faults].concat()), 1, Watch::default());
    let size = device.zones().unwrap().size();
    let writes: Vec<(Op, u64, u64)> =
        (0..24).flat_map(|page| [0, 1].map(|zone| (Op::Write, zone * size + page * PAGE, PAGE))).collect();
    at_once(&mut device, &writes);
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
    let counters = device.counters();
    assert_eq!((counters.blocks_broken, counters.pages_failed), (1, 3), "half of a program");
    assert_eq!(counters.zone_padding, 3, "with which they make a program again");
    let done = at_once(&mut device, &[(Op::Read, 0, 24 * PAGE), (Op::Read, size, 24 * PAGE)]);
    assert!(done.iter().all(|done| done.status == Status::Success));
}
