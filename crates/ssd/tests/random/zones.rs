//! A zoned drive against a model of the specification: random commands one after another, what each is answered, the
//! state and write pointer of each zone after it, and which addresses hold data. And several at once: what is appended
//! lies apart.

use ssd::zones::{ZoneDescriptor, ZoneState};
use ssd::{Checker, Completion, Config, Device, Drive, Status, Watch};
use units::{Bytes, Stream, Time};
use workload::{Op, Request, ZoneAction};

const PAGE: u64 = 16_384;

pub fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = [
        "ftl.mapping=zoned",
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=40",
        "geometry.pages=24",
        "zones.dies=2",
        "zones.max_open=2",
        "zones.max_active=3",
        "power.plp=true",
        "age.fill=0",
        "age.precondition=none",
        "ftl.over_provisioning=0.6",
        "buffer.size=1MiB",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// A zone as the specification has it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Zone {
    state: ZoneState,
    pointer: u64,
    opened: u64,
}

/// The drive as the specification has it.
struct Model {
    zones: Vec<Zone>,
    capacity: u64,
    size: u64,
    max_open: usize,
    max_active: usize,
    openings: u64,
}

impl Model {
    fn count(&self, is: fn(ZoneState) -> bool) -> usize {
        self.zones.iter().filter(|zone| is(zone.state)).count()
    }

    fn open(&mut self, zone: usize, state: ZoneState) -> Status {
        let before = self.zones[zone].state;
        if !before.is_active() && self.count(ZoneState::is_active) == self.max_active {
            return Status::TooManyActive;
        }
        if !before.is_open() {
            if self.count(ZoneState::is_open) == self.max_open {
                let oldest = (0..self.zones.len()).filter(|at| self.zones[*at].state == ZoneState::ImplicitlyOpen);
                let Some(oldest) = oldest.min_by_key(|at| self.zones[*at].opened) else { return Status::TooManyOpen };
                self.zones[oldest].state = ZoneState::Closed;
            }
            self.openings += 1;
            self.zones[zone].opened = self.openings;
        }
        self.zones[zone].state = state;
        Status::Success
    }

    fn write(&mut self, at: u64, bytes: u64, append: bool) -> Status {
        let (zone, within) = ((at / self.size) as usize, at % self.size);
        let Zone { state, pointer, .. } = self.zones[zone];
        if state == ZoneState::Full {
            return Status::ZoneFull;
        }
        if append && within != 0 {
            return Status::InvalidField;
        }
        if !append && within != pointer {
            return Status::ZoneInvalidWrite;
        }
        if pointer + bytes > self.capacity {
            return Status::ZoneBoundary;
        }
        if !state.is_open() {
            let status = self.open(zone, ZoneState::ImplicitlyOpen);
            if !status.is_success() {
                return status;
            }
        }
        self.zones[zone].pointer += bytes;
        if self.zones[zone].pointer == self.capacity {
            self.zones[zone].state = ZoneState::Full;
        }
        Status::Success
    }

    fn act(&mut self, zone: usize, action: ZoneAction) -> Status {
        let state = self.zones[zone].state;
        match action {
            ZoneAction::Open if state == ZoneState::Full => Status::InvalidTransition,
            ZoneAction::Open => self.open(zone, ZoneState::ExplicitlyOpen),
            ZoneAction::Close if state.is_active() => {
                self.zones[zone].state = ZoneState::Closed;
                Status::Success
            }
            ZoneAction::Finish => {
                self.zones[zone].state = ZoneState::Full;
                Status::Success
            }
            ZoneAction::Reset => {
                self.zones[zone] = Zone { state: ZoneState::Empty, pointer: 0, ..self.zones[zone] };
                Status::Success
            }
            _ => Status::InvalidTransition,
        }
    }
}

fn count_of(device: &Device<Watch>) -> u32 {
    device.zones().unwrap().count()
}

fn zone_of(device: &Device<Watch>, zone: u32) -> ZoneDescriptor {
    device.zones().unwrap().zone(zone).unwrap()
}

fn one(device: &mut Device<Watch>, op: Op, offset: u64, bytes: u64) -> Completion {
    let request = Request::new(device.now(), op, Bytes(offset), Bytes(bytes));
    device.submit(request).unwrap();
    assert!(device.advance_to_completion(Time::NEVER).unwrap(), "{op:?} of {bytes} at {offset} does not complete");
    let done: Vec<_> = device.take_completions().collect();
    assert_eq!(done.len(), 1);
    done[0]
}

const CACHED: [&str; 8] = [
    "ftl.slc_cache=static",
    "slc.blocks=4",
    "gc.start=6",
    "gc.stop=7",
    "gc.idle_stop=8",
    "geometry.cell=TLC",
    "geometry.blocks=60",
    "ftl.over_provisioning=3.0",
];

const CASES: [&[&str]; 7] = [
    &[],
    &["zones.finish=close", "ftl.erase_when=reclaimed"],
    &["zones.capacity=1200KiB", "zones.size=2MiB", "mapping.unit=4KiB"],
    &["zones.blocks=2", "ftl.allocation=superblock", "buffer.size=2MiB"],
    &["wear.program_fail=0.004", "wear.erase_fail=0.004", "ftl.over_provisioning=3.0"],
    &["age.fill=0.5", "zones.conventional=2", "chip.program_unit=page"],
    &["zones.reset_completes=erased", "ftl.erase_when=reclaimed", "zones.random_area=64KiB", "buffer.size=2MiB"],
];

/// All drives of [`CASES`], and each with an SLC cache.
fn cases() -> impl Iterator<Item = (u64, Vec<&'static str>)> {
    let cached = CASES.iter().enumerate().map(|(number, settings)| {
        let kind = if number % 2 == 0 { &[][..] } else { &["ftl.slc_cache=dynamic", "slc.blocks=3"][..] };
        let failing: &[_] = if number == 4 { &["wear.program_fail=0.0003", "wear.erase_fail=0.0003"] } else { &[] };
        [settings, &CACHED[..], kind, failing].concat()
    });
    (0..).zip(CASES.iter().map(|settings| settings.to_vec()).chain(cached))
}

#[test]
fn a_zoned_drive_answers_as_the_specification_says_and_keeps_what_was_written() {
    for (case, settings) in cases() {
        play(case, &config(&settings));
    }
}

fn play(case: u64, config: &Config) {
    let mut device = Device::watched(config, case, Watch::checking(Checker::new(&config.plan().unwrap()))).unwrap();
    let count = count_of(&device);
    let first = (0..count).find(|zone| zone_of(&device, *zone).state != ZoneState::Conventional).unwrap();
    let described = zone_of(&device, first);
    let size = device.capacity().0 / u64::from(count);
    let zones = (0..count).map(|zone| zone_of(&device, zone)).map(|zone| Zone {
        state: zone.state,
        pointer: zone.write_pointer - zone.start,
        opened: 0,
    });
    let (max_open, max_active) = (2, 3);
    let zones = zones.collect();
    let mut model = Model { zones, capacity: described.capacity, size, max_open, max_active, openings: 0 };
    let draws = Stream::new(case, "zones");
    for step in 0..4000 {
        let draw = |what: u64, below: u64| draws.below(step * 8 + what, below);
        // A few zones, so that they fill.
        let zone = first as usize + draw(0, 7.min(u64::from(count - first))) as usize;
        let at = zone as u64 * size;
        let bytes = 4096 * (1 + draw(1, [4, 40][draw(2, 2) as usize]));
        let before = device.counters().unmapped_reads;
        let (found, expected) = match draw(3, 40) {
            0 => (one(&mut device, Op::Zone(ZoneAction::Open), at, size), model.act(zone, ZoneAction::Open)),
            1 => (one(&mut device, Op::Zone(ZoneAction::Close), at, size), model.act(zone, ZoneAction::Close)),
            2 => (one(&mut device, Op::Zone(ZoneAction::Finish), at, size), model.act(zone, ZoneAction::Finish)),
            3..=5 => (one(&mut device, Op::Zone(ZoneAction::Reset), at, size), model.act(zone, ZoneAction::Reset)),
            6..=12 => {
                let begins = (at + 4096 * draw(4, model.capacity / 4096)).min(device.capacity().0 - bytes);
                (one(&mut device, Op::Read, begins, bytes), Status::Success)
            }
            13 => (
                one(&mut device, Op::Write, at + 4096 * draw(4, 8), bytes),
                model.write(at + 4096 * draw(4, 8), bytes, false),
            ),
            14..=20 => {
                let pointer = model.zones[zone].pointer;
                let done = one(&mut device, Op::Append, at, bytes);
                if done.status.is_success() {
                    assert_eq!((done.at.0, done.request.offset.0), (at + pointer, at));
                }
                (done, model.write(at, bytes, true))
            }
            21 => (one(&mut device, Op::Flush, 0, 0), Status::Success),
            _ => {
                let begins = at + model.zones[zone].pointer % size;
                (one(&mut device, Op::Write, begins, bytes), model.write(begins, bytes, false))
            }
        };
        assert_eq!(found.status, expected, "case {case}, step {step}: {:?}", found.request);
        if found.request.op == Op::Read {
            let page = device.plan().layout.page_size.0;
            let (from, to) = (found.request.offset.0 / page, (found.request.offset.0 + bytes).div_ceil(page));
            let unwritten = (from..to).filter(|lpn| {
                let (zone, within) = ((lpn * page / size) as usize, lpn * page % size);
                model.zones[zone].pointer <= within && model.zones[zone].state != ZoneState::Conventional
            });
            assert_eq!(device.counters().unmapped_reads - before, unwritten.count() as u64, "case {case}, step {step}");
        }
        for (number, zone) in model.zones.iter().enumerate() {
            let found = zone_of(&device, number as u32);
            assert_eq!((found.state, found.write_pointer - found.start), (zone.state, zone.pointer), "zone {number}");
        }
    }
    device.flush().unwrap();
    device.check_all().unwrap();
    device.check_mapping().unwrap();
    let counters = device.counters();
    assert!(counters.zones_reset > 20 && counters.zones_finished > 5 && counters.blocks_erased > 50, "case {case}");
}

#[test]
fn what_is_appended_at_once_lies_apart_and_without_gaps() {
    let config = config(&["host.queues=4"]);
    let mut device = Device::watched(&config, 1, Watch::checking(Checker::new(&config.plan().unwrap()))).unwrap();
    for n in 0..96u64 {
        let request = Request::new(Time::ZERO, Op::Append, Bytes(0), Bytes(PAGE)).on((n % 4) as u16);
        device.submit(request).unwrap();
    }
    let mut places = Vec::new();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        places.extend(device.take_completions().map(|done| (done.status, done.at.0)));
    }
    places.sort_by_key(|(_, at)| *at);
    let expected: Vec<_> = (0..96).map(|n| (Status::Success, n * PAGE)).collect();
    assert_eq!(places, expected);
    assert_eq!(zone_of(&device, 0).state, ZoneState::Full);
    device.check_all().unwrap();
}

/// Random writes, appends, resets and finishes, several at once, and the power is cut again and again.
#[test]
fn power_cuts_close_zones_and_take_nothing_that_was_acknowledged() {
    for (case, settings) in cases() {
        let config = config(&[&settings[..], &["power.cut_at=[\"random:4ms\"]"]].concat());
        let mut device =
            Device::watched(&config, case, Watch::checking(Checker::new(&config.plan().unwrap()))).unwrap();
        let (count, draws) = (u64::from(count_of(&device)), Stream::new(case, "cuts"));
        let size = device.capacity().0 / count;
        let first = (0..count).find(|zone| zone_of(&device, *zone as u32).state != ZoneState::Conventional).unwrap();
        let mut acknowledged = vec![0; count as usize];
        for round in 0..400 {
            let draw = |what: u64, below: u64| draws.below(round * 8 + what, below);
            let zone = first + draw(0, 5);
            for _ in 0..4 {
                let op = match draw(1, 12) {
                    0 => Op::Zone(ZoneAction::Reset),
                    1 => Op::Zone(ZoneAction::Finish),
                    _ => Op::Append,
                };
                let bytes = if op == Op::Append { 4096 * (1 + draw(2, 30)) } else { size };
                device.submit(Request::new(device.now(), op, Bytes(zone * size), Bytes(bytes))).unwrap();
            }
            let cuts = device.counters().cuts;
            while device.outstanding() > 0 && device.advance_to_completion(Time::NEVER).unwrap() {
                for done in device.take_completions().collect::<Vec<_>>() {
                    let zone = (done.request.offset.0 / size) as usize;
                    match done.request.op {
                        Op::Append if done.is_done() => acknowledged[zone] = done.at.0 + done.request.bytes.0,
                        Op::Zone(ZoneAction::Reset) => acknowledged[zone] = 0,
                        _ => {}
                    }
                }
            }
            if device.counters().cuts > cuts {
                let states = device.zones().unwrap().states();
                assert!(round == 0 || states.iter().sum::<u32>() == count as u32);
            }
            let found = zone_of(&device, zone as u32);
            assert!(found.write_pointer >= acknowledged[zone as usize].min(found.start + found.capacity));
            let (written, before) = (found.write_pointer - found.start, device.counters().unmapped_reads);
            if written > 0 && device.outstanding() == 0 {
                one(&mut device, Op::Read, found.start, written);
                assert_eq!(device.counters().unmapped_reads, before, "case {case}, round {round}: {found:?}");
            }
        }
        device.flush().unwrap();
        device.check_all().unwrap();
        device.check_mapping().unwrap();
        assert!(device.counters().cuts > 10, "case {case}");
    }
}
