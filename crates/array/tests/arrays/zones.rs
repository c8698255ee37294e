//! Arrays of drives with zones: against one drive with zones of their size, and with many requests at once, whose
//! drives never refuse anything.

use array::{Array, MemberDrive};
use ssd::zones::ZoneState;
use ssd::{Completion, Config, Device, Drive, Status};
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request, ZoneAction};

use crate::server::config;

const PAGE: u64 = 16_384;

/// A drive of this many channels of two dies, over all of which a zone lies.
fn drive(channels: u32, settings: &[&str]) -> Config {
    let mut config = ssd::presets::load("tlc-page").unwrap().config;
    let base = [
        "ftl.mapping=zoned",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=40",
        "geometry.pages=24",
        "zones.max_open=3",
        "zones.max_active=4",
        "power.plp=true",
        "age.fill=0.1",
        "age.precondition=none",
        "ftl.over_provisioning=0.6",
        "buffer.size=4MiB",
    ];
    config.set(&format!("geometry.channels={channels}")).unwrap();
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Two drives, of which one fails, if any, at that time.
fn pair(words: &[&str], settings: &[&str], fails_at: Option<Span>) -> Array<Device> {
    with_failures(words, settings, [None, fails_at])
}

/// Two drives that fail at these times, if they do.
fn with_failures(words: &[&str], settings: &[&str], fails_at: [Option<Span>; 2]) -> Array<Device> {
    let member = |number: u64| MemberDrive {
        name: format!("drive-{number}"),
        drive: Box::new(Device::new(&drive(1, settings), number).unwrap()),
        spare: false,
        fails_at: fails_at[number as usize - 1],
        mean_life: None,
    };
    let mut array = Array::new(&config(words), (1..=2).map(member).collect(), 1).unwrap();
    array.workload_begins();
    array
}

fn play(drive: &mut impl Drive, requests: &[Request]) -> Vec<Completion> {
    for request in requests {
        drive.submit(*request).unwrap();
    }
    let mut done = Vec::new();
    while drive.outstanding() > 0 {
        assert!(drive.advance_to_completion(Time::NEVER).unwrap(), "{} requests wait for ever", drive.outstanding());
        done.extend(drive.take_completions());
    }
    done
}

fn play_now(drive: &mut impl Drive, request: Request) -> Completion {
    let now = Request { time: drive.now(), ..request };
    play(drive, &[now])[0]
}

/// A random request to some of the first zones: often one that is refused.
fn drawn(random: &Stream, number: u64, drive: &impl Drive) -> Request {
    let draw = |what: u64, below: u64| random.below(number * 8 + what, below);
    let zones = drive.zones().unwrap();
    let zone = zones.zone(draw(0, 6) as u32).unwrap();
    let bytes = (1 + draw(1, 40)) * 4096;
    let (op, offset, bytes) = match draw(2, 20) {
        0 => (Op::Zone(ZoneAction::Open), zone.start, zones.size()),
        1 => (Op::Zone(ZoneAction::Close), zone.start, zones.size()),
        2 => (Op::Zone(ZoneAction::Finish), zone.start, zones.size()),
        3 | 4 => (Op::Zone(ZoneAction::Reset), zone.start, zones.size()),
        // Select All, of the zone and the next ones.
        5 => (Op::Zone(ZoneAction::Close), zone.start, 3 * zones.size()),
        6 => (Op::Zone(ZoneAction::Reset), zone.start, 2 * zones.size()),
        7 => (Op::Write, zone.start + draw(3, 4) * PAGE, bytes),
        8 | 9 => (Op::Append, zone.start, bytes),
        10 | 11 => (Op::Read, zone.start + draw(3, 100) * 4096, bytes),
        12 => (Op::Trim, zone.start, bytes),
        13 => (Op::ZoneReport, 0, 4096),
        14 => (Op::Zone(ZoneAction::Flush), zone.start, bytes),
        // To the end, now and then.
        15 => {
            (Op::Write, zone.write_pointer, (zone.start + zone.capacity).saturating_sub(zone.write_pointer).max(4096))
        }
        _ => (Op::Write, zone.write_pointer, bytes),
    };
    Request::new(drive.now(), op, Bytes(offset), Bytes(bytes))
}

/// Of each of its drives' zones, how many bytes are written, and that no drive was asked for what it refuses.
fn check(array: &mut Array<Device>, copies: bool) {
    array.check_all().unwrap();
    let seen = |drive: &dyn Fn(u32) -> u64| (0..array.zones().unwrap().count()).map(drive).collect::<Vec<u64>>();
    let written = |zone: ssd::zones::ZoneDescriptor| match zone.state {
        ZoneState::Full => zone.capacity,
        _ => zone.write_pointer - zone.start,
    };
    let of_array = seen(&|zone| written(array.zones().unwrap().zone(zone).unwrap()));
    let of_drives =
        |zone: u32| array.drives().map(move |drive| written(Drive::zones(drive).unwrap().zone(zone).unwrap()));
    let together = seen(&|zone| if copies { of_drives(zone).next().unwrap() } else { of_drives(zone).sum() });
    assert_eq!(of_array, together);
    assert!(!copies || (0..of_array.len() as u32).all(|zone| of_drives(zone).min() == of_drives(zone).max()));
    let needless = array.drives().map(|drive| drive.counters().requests_failed).sum::<u64>();
    assert_eq!(needless, 0, "a drive was asked for what it refuses");
}

#[test]
fn an_array_of_zoned_drives_answers_as_one_drive_with_zones_of_their_size() {
    for (layout, channels) in [("stripe", 2), ("mirror", 1)] {
        for conventional in ["zones.conventional=0", "zones.conventional=1"] {
            let mut array = pair(&[&format!("layout={layout}"), "chunk=32KiB"], &[conventional], None);
            let mut one = Device::new(&drive(channels, &[conventional]), 1).unwrap();
            assert_eq!(Drive::zones(&one).unwrap().size(), array.zones().unwrap().size());
            assert_eq!((Drive::capacity(&one), array.zones().unwrap().limits()), (array.capacity(), (3, 4)));
            let random = Stream::new(7, layout);
            let mut statuses = Vec::new();
            for number in 0..3000 {
                let request = drawn(&random, number, &one);
                let expected = play_now(&mut one, request);
                let found = play_now(&mut array, request);
                assert_eq!((found.status, found.at), (expected.status, expected.at), "{number}: {request:?}");
                assert!(!found.refused && !found.uncorrectable);
                for zone in 0..8 {
                    let [expected, found] = [Drive::zones(&one), array.zones()].map(|zones| zones.unwrap().zone(zone));
                    assert_eq!(found, expected, "{number}: {request:?}");
                }
                statuses.push(found.status.name());
            }
            array.check_all().unwrap();
            statuses.sort_unstable();
            statuses.dedup();
            assert!(statuses.len() > 6, "{statuses:?}");
        }
    }
}

#[test]
fn writes_and_appends_at_once_meet_the_write_pointers_of_all_drives() {
    for words in [["layout=stripe", "chunk=16KiB"], ["layout=mirror", "link_latency=5us"]] {
        let mut array = pair(&words, &["host.queues=4", "host.queue_depth=4"], None);
        let (size, first) = (array.zones().unwrap().size(), array.zones().unwrap().count() / 2);
        let random = Stream::new(3, "at once");
        let mut pointers = [0; 3];
        let mut requests = Vec::new();
        for number in 0..300_u64 {
            let at = random.below(number, 3) as usize;
            let (start, bytes) = ((u64::from(first) + at as u64) * size, 4096 * (1 + random.below(number + 1000, 4)));
            let append = random.below(number + 2000, 2) == 0;
            let offset = if append { start } else { start + pointers[at] };
            let op = if append { Op::Append } else { Op::Write };
            requests.push(Request::new(array.now(), op, Bytes(offset), Bytes(bytes)).on(number as u16 % 4));
            pointers[at] += bytes;
            // A reset waits for what came before it.
            if number % 100 == 99 {
                requests.push(Request::new(array.now(), Op::Zone(ZoneAction::Finish), Bytes(start), Bytes(size)));
                pointers[at] = 0;
                requests.push(Request::new(array.now(), Op::Zone(ZoneAction::Reset), Bytes(start), Bytes(size)));
                let done = play(&mut array, &std::mem::take(&mut requests));
                assert!(done.iter().all(Completion::is_done));
                let mut appended: Vec<(u64, u64)> = done
                    .iter()
                    .filter(|done| done.request.op == Op::Append)
                    .map(|done| (done.at.0, done.request.bytes.0))
                    .collect();
                appended.sort_unstable();
                assert!(appended.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{appended:?}");
                check(&mut array, words[0] == "layout=mirror");
            }
        }
    }
}

#[test]
fn a_mirror_of_zones_goes_on_without_a_drive_and_a_stripe_can_be_written_no_further() {
    for (layout, goes_on) in [("mirror", true), ("stripe", false)] {
        let mut array = pair(&[&format!("layout={layout}")], &[], Some(Span::from_ms(1)));
        let zone = array.zones().unwrap().zone(7).unwrap();
        let write =
            |offset: u64, time: Time| Request::new(time, Op::Write, Bytes(zone.start + offset), Bytes(256 << 10));
        assert!(play(&mut array, &[write(0, Time::ZERO)])[0].is_done());
        let later = Time(5_000_000);
        let done = play(&mut array, &[write(256 << 10, later), Request { op: Op::Read, ..write(0, later) }]);
        let is_done = done.iter().all(|done| done.is_done() && !done.uncorrectable);
        assert_eq!((done.len(), is_done), (2, goes_on), "{layout}");
        let state = array.zones().unwrap().zone(7).unwrap().state;
        assert_eq!(state, if goes_on { ZoneState::ImplicitlyOpen } else { ZoneState::ReadOnly });
        let reset = Request::new(
            array.now(),
            Op::Zone(ZoneAction::Reset),
            Bytes(zone.start),
            Bytes(array.zones().unwrap().size()),
        );
        let status = play(&mut array, &[reset])[0].status;
        assert_eq!(status, if goes_on { Status::Success } else { Status::InvalidTransition });
    }
}

/// The link is busy with the writes of a zone when the next one is opened, which no other zone may be beside.
#[test]
fn actions_on_zones_do_not_overtake_the_writes_before_them() {
    for layout in ["layout=stripe", "layout=mirror"] {
        let mut array = pair(&[layout, "chunk=16KiB", "link_bandwidth=300MB/s"], &["zones.max_open=1"], None);
        let (size, first) = (array.zones().unwrap().size(), array.zones().unwrap().count() / 2);
        let zone = array.zones().unwrap().zone(first).unwrap();
        let at = |op, offset, bytes| Request::new(Time::ZERO, op, Bytes(zone.start + offset), Bytes(bytes));
        let step = 256 << 10;
        let mut requests = vec![at(Op::Zone(ZoneAction::Open), 0, size)];
        let writes = (0..zone.capacity.div_ceil(step)).map(|index| index * step);
        requests.extend(writes.map(|offset| at(Op::Write, offset, step.min(zone.capacity - offset))));
        requests.extend([at(Op::Zone(ZoneAction::Open), size, size), at(Op::Write, size, step)]);
        let done = play(&mut array, &requests);
        let statuses: Vec<Status> = done.iter().map(|done| done.status).collect();
        assert_eq!(statuses, vec![Status::Success; requests.len()], "{layout}");
        assert_eq!(array.counters_so_far().drives_failed, 0);
        check(&mut array, layout == "layout=mirror");
    }
}

#[test]
fn a_zone_that_is_full_on_one_drive_only_is_closed_and_opened_again() {
    let mut array = pair(&["layout=stripe", "chunk=16KiB"], &[], None);
    let (size, zone) = (array.zones().unwrap().size(), array.zones().unwrap().zone(7).unwrap());
    let at = |op, offset, bytes| Request::new(Time::ZERO, op, Bytes(zone.start + offset), Bytes(bytes));
    let last = zone.capacity - 4096;
    let (close, open) = (Op::Zone(ZoneAction::Close), Op::Zone(ZoneAction::Open));
    for (request, state) in [
        (at(Op::Write, 0, last), ZoneState::ImplicitlyOpen),
        (at(close, 0, size), ZoneState::Closed),
        (at(open, 0, size), ZoneState::ExplicitlyOpen),
        (at(Op::Write, last, 4096), ZoneState::Full),
    ] {
        assert_eq!(play_now(&mut array, request).status, Status::Success, "{request:?}");
        assert_eq!(array.zones().unwrap().zone(7).unwrap().state, state, "{request:?}");
    }
}

/// Both zones of the die that has broken fail. Those of the other die are sound, and the other drive has room for them.
#[test]
fn zones_that_fail_take_nothing_of_what_may_be_open_and_active_on_other_drives() {
    let settings = ["zones.max_open=2", "zones.max_active=2", "zones.dies=1", "age.fill=0.0"];
    let broken = [&settings[..], &["faults.at=[\"101ms die 0\"]"]].concat();
    let member = |(number, settings): (u64, &[&str])| MemberDrive {
        name: format!("drive-{number}"),
        drive: Box::new(Device::new(&drive(1, settings), number).unwrap()),
        spare: false,
        fails_at: None,
        mean_life: None,
    };
    let drives = [(1, &settings[..]), (2, &broken)].into_iter().map(member).collect();
    let mut array = Array::new(&config(&["layout=stripe", "chunk=16KiB"]), drives, 1).unwrap();
    array.workload_begins();
    let size = array.zones().unwrap().size();
    let write =
        |zone: u64, part: u64| Request::new(Time::ZERO, Op::Write, Bytes(zone * size + part * 65_536), Bytes(65_536));
    assert!([0, 2].iter().all(|zone| play_now(&mut array, write(*zone, 0)).is_done()));
    array.advance(Time(150_000_000)).unwrap();
    assert!([0, 2].iter().all(|zone| !play_now(&mut array, write(*zone, 1)).is_done()));
    for zone in [1, 3] {
        assert_eq!(play_now(&mut array, write(zone, 0)).status, Status::Success, "zone {zone}");
        assert_eq!(array.zones().unwrap().zone(zone as u32).unwrap().state, ZoneState::ImplicitlyOpen);
    }
    array.check_all().unwrap();
}

/// What is asked of zones whose drives have all failed is refused, and they can be written no further.
#[test]
fn actions_on_zones_that_no_drive_has_done_are_refused() {
    for layout in ["layout=stripe", "layout=mirror"] {
        let mut array = with_failures(&[layout], &[], [Some(Span::from_ms(1)); 2]);
        array.advance(Time(2_000_000)).unwrap();
        let size = array.zones().unwrap().size();
        let at = |op, bytes| Request::new(Time::ZERO, op, Bytes(7 * size), Bytes(bytes));
        for request in [at(Op::Zone(ZoneAction::Open), size), at(Op::Flush, 0), at(Op::ZoneReport, 4096)] {
            assert!(play_now(&mut array, request).refused, "{layout}, {request:?}");
        }
        assert!(!array.zones().unwrap().zone(7).unwrap().state.is_open());
    }
}

#[test]
fn what_is_done_to_zones_moves_no_data() {
    let mut array = pair(&["layout=mirror"], &[], None);
    let size = array.zones().unwrap().size();
    let reset = Request::new(Time::ZERO, Op::Zone(ZoneAction::Reset), Bytes(7 * size), Bytes(size));
    assert!(play_now(&mut array, reset).is_done());
    let section = array.section();
    assert_eq!(section["requests_to_drives"]["other"], 2);
    assert_eq!(section["bytes_to_drives"]["other"], 0);
    let bytes = |drive| array.latencies_of(drive).iter().map(|latencies| latencies.bytes).sum::<u64>();
    assert_eq!([0, 1].map(bytes), [0, 0]);
}

#[test]
fn what_arrays_of_zones_cannot_be_with_is_refused_with_its_key() {
    let refused = |words: &[&str], settings: [&[&str]; 3]| {
        let member = |settings: &&[&str]| MemberDrive {
            name: "drive".into(),
            drive: Box::new(Device::new(&drive(1, settings), 1).unwrap()),
            spare: false,
            fails_at: None,
            mean_life: None,
        };
        let error = Array::new(&config(words), settings.iter().map(member).collect(), 1).err().unwrap();
        error.key.unwrap()
    };
    let same: [&[&str]; 3] = [&[]; 3];
    assert_eq!(refused(&["layout=raid5"], same), "array.layout");
    assert_eq!(refused(&["layout=mirror", "placement=declustered"], same), "array.placement");
    assert_eq!(refused(&["layout=mirror", "scrub_rate=1MB/s"], same), "array.scrub_rate");
    assert_eq!(refused(&["layout=stripe", "chunk=20KiB"], same), "array.chunk");
    assert_eq!(refused(&["layout=stripe"], [&[], &[], &["zones.blocks=2"]]), "array.layout");
    assert_eq!(refused(&["layout=stripe"], [&["power.cut_at=[1s]"], &[], &[]]), "power.cut_at");
}
