//! Random devices under random concurrent requests: everything drains, no law is broken, the order of
//! hand-over does not matter, and every read returns data that a host may expect.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use proptest::prelude::*;
use ssd::{Completion, DataFrom, Device, Drive, RunError, SlotId};
use testing::{Watched, Watcher, cases, config, devices, living_devices, loads, requests, watched, with_units};
use units::{Lpn, Ppn, Time};
use workload::{Op, Request};

/// Follows which write's data is where: a version is the number of the write request, plus one; 0 is old data.
#[derive(Default)]
struct Versions {
    slots: HashMap<SlotId, u64>,
    flash: HashMap<u64, u64>,
    /// What each read was given of each page, and what the read cache holds of pages.
    given: HashMap<(u64, u64), u64>,
    cache: HashMap<u64, u64>,
    /// Newest version of each page in the order in which writes reached the buffer.
    newest: HashMap<u64, u64>,
    /// What each page of each read returned: request, page, version.
    reads: Vec<(u64, u64, u64)>,
}

#[derive(Clone, Default)]
struct Watch(Rc<RefCell<Versions>>);

impl Watcher for Watch {
    fn read(&mut self, _: Time, request: u64, lpn: Lpn, from: DataFrom) {
        let mut versions = self.0.borrow_mut();
        // A merged read returns the sectors it lacks from flash; the slot's own are the newer ones.
        let version = match from {
            DataFrom::Nothing => 0,
            DataFrom::Buffer(slot) | DataFrom::Merged(_, slot) => versions.slots[&slot],
            DataFrom::Cache => versions.cache[&lpn.0],
            DataFrom::Flash(ppn) => versions.flash.get(&ppn.0).copied().unwrap_or(0),
        };
        versions.reads.push((request, lpn.0, version));
        versions.given.insert((request, lpn.0), version);
    }
    fn cached(&mut self, _: Time, request: u64, lpn: Lpn, _: u64) {
        let mut versions = self.0.borrow_mut();
        let version = versions.given[&(request, lpn.0)];
        versions.cache.insert(lpn.0, version);
    }
    fn buffered(&mut self, _: Time, request: u64, lpn: Lpn, slot: SlotId, _: Option<SlotId>) {
        let mut versions = self.0.borrow_mut();
        versions.slots.insert(slot, request + 1);
        versions.newest.insert(lpn.0, request + 1);
    }
    fn programmed(&mut self, _: Time, _: Lpn, slot: SlotId, ppn: Ppn) {
        let mut versions = self.0.borrow_mut();
        let version = versions.slots[&slot];
        versions.flash.insert(ppn.0, version);
    }
    fn moved(&mut self, _: Time, _: Lpn, from: Ppn, to: Ppn) {
        let mut versions = self.0.borrow_mut();
        let version = versions.flash.get(&from.0).copied().unwrap_or(0);
        versions.flash.insert(to.0, version);
    }
}

/// Small devices, living ones among them.
fn any_devices() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![devices(), living_devices()]
}

/// The load without its trims: what they do to data is followed in `data.rs`.
fn kept(load: &testing::Load) -> Vec<Request> {
    let mut requests = requests(load);
    requests.retain(|request| request.op != Op::Trim);
    requests
}

/// Hands everything over at once and plays to the end.
fn play(device: &mut Device<Watched>, requests: &[Request]) -> Vec<Completion> {
    requests.iter().for_each(|request| {
        device.submit(*request).unwrap();
    });
    let mut done = Vec::new();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        done.extend(device.take_completions());
        device.check().unwrap();
    }
    done
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn everything_drains_and_reads_return_what_a_host_may_expect(settings in any_devices(), load in loads()) {
        let (config, requests) = (config(&settings), kept(&load));
        let watch = Watch::default();
        let mut device = watched(&config, 1, watch.clone());
        let done = play(&mut device, &requests);
        prop_assert_eq!(done.len(), requests.len(), "every request completes");
        device.check_mapping().unwrap();
        device.flush().unwrap();
        device.check().unwrap();
        device.check_mapping().unwrap();
        prop_assert_eq!(device.buffered_pages(), 0, "a flushed buffer is empty");

        let mut finish = vec![Time::ZERO; requests.len()];
        done.iter().for_each(|completion| finish[completion.id as usize] = completion.finish);
        let page = config.geometry.page_size.0;
        let versions = watch.0.borrow();
        for &(read, lpn, version) in &versions.reads {
            let submitted = requests[read as usize].time;
            if version > 0 {
                prop_assert!(requests[version as usize - 1].time <= finish[read as usize], "data from the future");
            }
            // Of the writes to the whole page that were acknowledged before the read was submitted, no newer one
            // may be missing: "newer" where the older one's acknowledgement came before the newer's submission.
            for (number, write) in requests.iter().enumerate() {
                let whole = write.offset.0 <= lpn * page
                    && write.offset.0 + write.bytes.0 >= (lpn + 1) * page;
                if write.op == Op::Write && whole && finish[number] < submitted && version != number as u64 + 1 {
                    let returned_ended = version.checked_sub(1).map_or(Time::ZERO, |older| finish[older as usize]);
                    prop_assert!(
                        returned_ended >= write.time && version > 0,
                        "read {read} of page {lpn} returned version {version}, though write {number} was acknowledged"
                    );
                }
            }
        }
        // After a flush the newest version of every page is what its flash page holds.
        for (lpn, version) in &versions.newest {
            let conditions = device.conditions_of(Lpn(*lpn));
            prop_assert!(conditions.is_some());
            prop_assert!(versions.flash.values().any(|held| held == version));
        }
    }

    #[test]
    fn the_order_of_hand_over_changes_nothing(settings in any_devices(), load in loads(), steps in prop::collection::vec(1..300_000u64, 1..40)) {
        let (config, requests) = (config(&settings), requests(&load));
        let at_once = play(&mut watched(&config, 1, Watch::default()), &requests);

        // Each request is handed over as late as possible.
        let mut device = Device::new(&config, 1).unwrap();
        let mut late = Vec::new();
        for request in &requests {
            if request.time > device.now() {
                device.advance(Time(request.time.0 - 1)).unwrap();
            }
            device.submit(*request).unwrap();
            late.extend(device.take_completions());
        }
        device.advance(Time(1 << 36)).unwrap();
        late.extend(device.take_completions());
        prop_assert_eq!(&at_once, &late);

        // Time moves on in steps that have nothing to do with the events.
        let mut device = Device::new(&config, 1).unwrap();
        let mut stepped = Vec::new();
        requests.iter().for_each(|request| { device.submit(*request).unwrap(); });
        for step in steps {
            device.advance(Time(device.now().0 + step)).unwrap();
            device.check().unwrap();
            stepped.extend(device.take_completions());
        }
        device.advance(Time(1 << 36)).unwrap();
        stepped.extend(device.take_completions());
        prop_assert_eq!(&at_once, &stepped);
    }

}

/// Requests from a list.
struct List(Vec<Request>, usize);

impl workload::Source for List {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), workload::TraceError> {
        let end = self.0.len().min(self.1 + max);
        batch.extend_from_slice(&self.0[self.1..end]);
        self.1 = end;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        None
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_run_that_hands_over_little_by_little_plays_what_it_would_play_at_once(
        settings in any_devices(),
        gaps in prop::collection::vec(prop_oneof![9 => Just(0u64), 1 => 1..50u64, 1 => 1_000..60_000u64], 600),
        queue_depth in 1..200u32,
    ) {
        let mut config = config(&settings);
        config.set(&format!("host.queue_depth={queue_depth}")).unwrap();
        // A device by itself knows of no load; a run of paced requests starts as after a light one.
        config.set("age.load=full").unwrap();
        let random = units::Stream::new(1, "run");
        let mut time = 0;
        let requests: Vec<Request> = gaps.iter().enumerate().map(|(index, gap)| {
            let i = index as u64;
            // A run counts from its first request.
            time += if index == 0 { 0 } else { *gap };
            let op = if random.bits(4 * i).is_multiple_of(3) { Op::Write } else { Op::Read };
            let (offset, bytes) = (units::Bytes(random.below(4 * i + 1, 150) * 4096), units::Bytes(4096));
            Request::new(Time(time), op, offset, bytes).on(random.below(4 * i + 2, 4) as u16)
        }).collect();
        let mut device = watched(&config, 1, Watch::default());
        let at_once = play(&mut device, &requests).iter().map(|done| done.latency().0 as f64).sum::<f64>();
        let plan = ssd::run::RunOptions { seed: 1, ..Default::default() };
        let mut run = ssd::run::Run::new(&config, Box::new(List(requests, 0)), plan, None).unwrap();
        while !run.step(7).unwrap() {}
        let outcome = run.finish().unwrap();
        let [reads, writes, ..] = outcome.measured.latencies.total();
        let sum = |part: &ssd::stats::latency::Latencies| part.mean().unwrap_or(0.0) * part.count() as f64;
        let little = sum(&reads) + sum(&writes);
        prop_assert!((little - at_once).abs() < 1e-6 * at_once.max(1.0), "{little} ns instead of {at_once}");
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_map_is_a_bijection_at_every_step(settings in with_units(any_devices()), load in loads(), steps in prop::collection::vec(1..400_000u64, 1..80)) {
        let mut device = Device::new(&config(&settings), 1).unwrap();
        requests(&load).iter().for_each(|request| { device.submit(*request).unwrap(); });
        for step in steps {
            device.advance(Time(device.now().0 + step)).unwrap();
            device.check().unwrap();
            device.check_mapping().unwrap();
        }
    }

    #[test]
    fn a_full_drive_under_sustained_writes_never_stops(settings in with_units(living_devices()), load in loads(), full in any::<bool>()) {
        let mut config = config(&settings);
        if full {
            // As little spare as is accepted.
            config.set("age.fill=1.0").unwrap();
            let enough = (1..400).find(|spare| {
                config.set(&format!("ftl.over_provisioning={}", f64::from(*spare) / 100.0)).unwrap();
                config.plan().is_ok()
            });
            prop_assert!(enough.is_some());
        }
        let mut device = Device::new(&config, 1).unwrap();
        let pages = device.plan().logical_pages;
        let (requests, random) = (requests(&load), units::Stream::new(3, "sustained"));
        let mut time = Time::ZERO;
        for round in 0..8 {
            for (index, request) in requests.iter().enumerate() {
                let lpn = random.below(round * 1000 + index as u64, pages - 6);
                let offset = units::Bytes(lpn * 16_384 + request.offset.0 % 16_384);
                let op = if request.op == Op::Read { Op::Write } else { request.op };
                device.submit(Request { time: Time(time.0 + request.time.0), offset, op, ..*request }).unwrap();
            }
            time = Time(time.0 + requests.last().unwrap().time.0 + 1);
            device.advance(time).unwrap();
            device.check().unwrap();
            device.check_mapping().unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        device.check_mapping().unwrap();
        prop_assert_eq!(device.outstanding(), 0);
    }

    #[test]
    fn failing_blocks_lose_no_data_until_the_drive_ends(settings in with_units(living_devices()), load in loads(), often in 0..4u32) {
        let mut config = config(&settings);
        config.set(&format!("wear.program_fail=0.0{often}")).unwrap();
        config.set("wear.erase_fail=0.05").unwrap();
        let mut device = Device::new(&config, 1).unwrap();
        let requests = requests(&load);
        let mut time = Time::ZERO;
        for _ in 0..12 {
            for request in &requests {
                device.submit(Request { time: Time(time.0 + request.time.0), ..*request }).unwrap();
            }
            time = Time(time.0 + requests.last().unwrap().time.0 + 1_000_000_000);
            let outcome = device.advance(time);
            device.check().unwrap();
            device.check_mapping().unwrap();
            if let Err(error) = outcome {
                let stopped = (device.now(), device.counters());
                let ended = matches!(error, RunError::EndOfLife { .. });
                prop_assert!(ended, "{}", error);
                prop_assert_eq!(device.advance(Time(1 << 36)), Err(error));
                prop_assert_eq!((device.now(), device.counters()), stopped);
                return Ok(());
            }
            if device.outstanding() > 0 {
                // Too few blocks are left to go on.
                prop_assert!(!device.idle() || device.counters().blocks_retired > 0);
                return Ok(());
            }
        }
    }
}

/// The least spare that a plan is accepted with is enough for a device, whatever it rounds to.
#[test]
fn a_plan_with_all_blocks_good_is_a_device() {
    let mut accepted = 0;
    for pages in 14..120 {
        for spare in 1..200 {
            let over_provisioning = format!("ftl.over_provisioning={}", f64::from(spare) / 100.0);
            let geometry = format!("geometry.pages={pages}");
            let mut config = ssd::Config::default();
            for word in [
                "geometry.channels=1",
                "geometry.chips=1",
                "geometry.dies=1",
                "geometry.planes=1",
                "geometry.blocks=32",
                "buffer.size=48KiB",
                "ftl.streams=4",
                "gc.start=5",
                "gc.relocations=6",
                "wear.endurance=100000",
                "chip.program_unit=page",
                "gc.stop=5",
                "age.fill=1.0",
                "age.staggered=true",
                &geometry,
                &over_provisioning,
            ] {
                config.set(word).unwrap();
            }
            if config.plan().is_ok() {
                accepted += 1;
                Device::new(&config, 1).unwrap();
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}
