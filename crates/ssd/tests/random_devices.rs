//! Random devices under random concurrent requests: everything drains, no law is broken, the order of
//! hand-over does not matter, and every read returns data that a host may expect.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use proptest::prelude::*;
use ssd::{Completion, Config, DataFrom, Device, Probe};
use units::{Bytes, Lpn, Ppn, Time};
use workload::{Op, Request};

/// Follows which write's data is where: a version is the number of the write request, plus one; 0 is old data.
#[derive(Default)]
struct Versions {
    slots: HashMap<u32, u64>,
    flash: HashMap<u32, u64>,
    /// Newest version of each page in the order in which writes reached the buffer.
    newest: HashMap<u32, u64>,
    /// What each page of each read returned: request, page, version.
    reads: Vec<(u64, u32, u64)>,
}

#[derive(Clone, Default)]
struct Watch(Rc<RefCell<Versions>>);

impl Probe for Watch {
    fn read(&mut self, _: Time, request: u64, lpn: Lpn, from: DataFrom) {
        let mut versions = self.0.borrow_mut();
        // A merged read returns the sectors it lacks from flash; the slot's own are the newer ones.
        let version = match from {
            DataFrom::Nothing => 0,
            DataFrom::Buffer(slot) | DataFrom::Merged(_, slot) => versions.slots[&slot],
            DataFrom::Flash(ppn) => versions.flash.get(&ppn.0).copied().unwrap_or(0),
        };
        versions.reads.push((request, lpn.0, version));
    }
    fn buffered(&mut self, _: Time, request: u64, lpn: Lpn, slot: u32, _: Option<u32>) {
        let mut versions = self.0.borrow_mut();
        versions.slots.insert(slot, request + 1);
        versions.newest.insert(lpn.0, request + 1);
    }
    fn programmed(&mut self, _: Time, _: Lpn, slot: u32, ppn: Ppn) {
        let mut versions = self.0.borrow_mut();
        let version = versions.slots[&slot];
        versions.flash.insert(ppn.0, version);
    }
}

/// A small device with every policy drawn at random. Its buffer holds a few pages.
fn devices() -> impl Strategy<Value = Vec<String>> {
    let geometry = (1..3u32, 1..3u32, 1..3u32, 1..4u32);
    let policies = (
        prop::sample::select(vec!["page", "wordline"]),
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["write-back", "write-through"]),
        prop::sample::select(vec!["independent", "lockstep", "single"]),
        prop::sample::select(vec!["single", "lockstep"]),
        prop::sample::select(vec!["reclaimed", "opened"]),
        prop::sample::select(vec!["fifo", "read-first", "user-first"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW"]),
    );
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (3..12u64, 0..3u32, 1..4u32, 1..4u32, 0..2u32, 1..6u32);
    (geometry, policies, switches, sizes).prop_map(
        |((channels, chips, dies, planes), policies, (cache_read, cache_program, interleave, codeword), sizes)| {
            let (unit, placement, mode, reads, programs, erase, order, page_order) = policies;
            let (slots, dirty, decoders, ecc_buffer, queues, commands) = sizes;
            [
                format!("geometry.channels={channels}"),
                format!("geometry.chips={chips}"),
                format!("geometry.dies={dies}"),
                format!("geometry.planes={planes}"),
                "geometry.blocks=40".into(),
                "geometry.pages=30".into(),
                "ftl.over_provisioning=3.0".into(),
                "age.fill=0.7".into(),
                "age.invalid=0.2".into(),
                "chip.t_read=[40us,60us,50us]".into(),
                format!("chip.program_unit={unit}"),
                format!("ftl.placement={placement}"),
                format!("buffer.mode={mode}"),
                format!("chip.plane_reads={reads}"),
                format!("chip.plane_programs={programs}"),
                format!("ftl.erase_when={erase}"),
                format!("schedule.order={order}"),
                format!("ftl.page_order={page_order}"),
                format!("chip.cache_read={cache_read}"),
                format!("chip.cache_program={cache_program}"),
                format!("bus.die_interleaving={interleave}"),
                format!("bus.transfer={}", if codeword { "codeword" } else { "page" }),
                format!("buffer.size={}KiB", slots * 16),
                format!("buffer.dirty_limit=0.{}", dirty * 4),
                format!("ecc.decoders={decoders}"),
                format!("ecc.buffer={ecc_buffer}"),
                format!("host.queues={}", queues + 1),
                format!("host.commands={}", commands * 3),
                format!("host.queue_depth={}", commands * 4),
            ]
            .into()
        },
    )
}

/// Requests on few pages, so that they meet: gap to the one before, write or read, 512-B sector, sectors.
fn loads() -> impl Strategy<Value = Vec<(u64, bool, u64, u64)>> {
    let gap = prop_oneof![Just(0u64), 1..3_000u64, 1_000..400_000u64];
    prop::collection::vec((gap, any::<bool>(), 0..40 * 32u64, 1..100u64), 1..120)
}

fn requests(load: &[(u64, bool, u64, u64)]) -> Vec<Request> {
    let mut time = 0;
    load.iter()
        .enumerate()
        .map(|(index, &(gap, write, sector, sectors))| {
            time += gap;
            let op = if write { Op::Write } else { Op::Read };
            let queue = index as u16 % 3;
            Request { time: Time(time), offset: Bytes(sector * 512), bytes: Bytes(sectors * 512), op, queue }
        })
        .collect()
}

fn config(settings: &[String]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config
}

/// Hands everything over at once and plays to the end.
fn play(device: &mut Device<Watch>, requests: &[Request]) -> Vec<Completion> {
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
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_drains_and_reads_return_what_a_host_may_expect(settings in devices(), load in loads()) {
        let (config, requests) = (config(&settings), requests(&load));
        let watch = Watch::default();
        let mut device = Device::watched(&config, 1, watch.clone()).unwrap();
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
                let whole = write.offset.0 <= u64::from(lpn) * page
                    && write.offset.0 + write.bytes.0 >= (u64::from(lpn) + 1) * page;
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
            let conditions = device.conditions(Lpn(*lpn));
            prop_assert!(conditions.is_some());
            prop_assert!(versions.flash.values().any(|held| held == version));
        }
    }

    #[test]
    fn the_order_of_hand_over_changes_nothing(settings in devices(), load in loads(), steps in prop::collection::vec(1..300_000u64, 1..40)) {
        let (config, requests) = (config(&settings), requests(&load));
        let at_once = play(&mut Device::watched(&config, 1, Watch::default()).unwrap(), &requests);

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
        device.advance(Time(1 << 50)).unwrap();
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
        device.advance(Time(1 << 50)).unwrap();
        stepped.extend(device.take_completions());
        prop_assert_eq!(&at_once, &stepped);
    }
}
