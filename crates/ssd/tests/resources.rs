//! What dies, chips and buses may do at a time, watched from outside while random devices are under random load;
//! and what a device must not leave undone.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{config, devices, loads, requests};
use nand::{DieId, PlaneReads};
use proptest::prelude::*;
use ssd::{Config, Device, Probe};
use units::{Bytes, Ppn, Span, Time};
use workload::{Op, Request};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Sense(Ppn),
    Program,
    Erase,
}

/// Start, end, die, planes, what.
type Entry = (u64, u64, u16, u8, Work);

/// What the arrays did.
#[derive(Clone, Default)]
struct Arrays(Rc<RefCell<Vec<Entry>>>);

impl Probe for Arrays {
    fn sense(&mut self, start: Time, end: Time, die: DieId, ppn: Ppn) {
        self.0.borrow_mut().push((start.0, end.0, die.0, 0, Work::Sense(ppn)));
    }
    fn program(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        self.0.borrow_mut().push((start.0, end.0, die.0, planes, Work::Program));
    }
    fn erase(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        self.0.borrow_mut().push((start.0, end.0, die.0, planes, Work::Erase));
    }
}

/// The first pair of works that must not have overlapped.
fn conflict(config: &Config, works: &[Entry]) -> Option<String> {
    let layout = config.plan().unwrap().layout;
    let mut works = works.to_vec();
    works.sort_by_key(|work| (work.0, work.1));
    for (index, a) in works.iter().enumerate() {
        for b in works[index + 1..].iter().take_while(|b| b.0 < a.1) {
            let chip = |die: u16| u32::from(die) / layout.dies_per_chip;
            let bad = match (a.4, b.4) {
                _ if a.2 != b.2 => !config.bus.die_interleaving && chip(a.2) == chip(b.2),
                (Work::Sense(one), Work::Sense(other)) => {
                    layout.plane_of(one) == layout.plane_of(other)
                        || match config.chip.plane_reads {
                            PlaneReads::Single => true,
                            PlaneReads::Lockstep => {
                                (a.0, a.1) != (b.0, b.1) || layout.page_of(one) != layout.page_of(other)
                            }
                            PlaneReads::Independent => false,
                        }
                }
                _ => true,
            };
            if bad {
                return Some(format!("{a:?} and {b:?}"));
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arrays_never_do_two_things_that_exclude_each_other(settings in devices(), load in loads()) {
        let config = config(&settings);
        let arrays = Arrays::default();
        let mut device = Device::watched(&config, 1, arrays.clone()).unwrap();
        for request in requests(&load) {
            device.submit(request).unwrap();
        }
        device.advance(Time(1 << 50)).unwrap();
        device.flush().unwrap();
        let found = conflict(&config, &arrays.0.borrow());
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }

    #[test]
    fn busy_time_never_decreases_and_never_exceeds_the_time_that_passed(
        settings in devices(), load in loads(), steps in prop::collection::vec(1..60_000u64, 1..60),
    ) {
        // A slow DRAM and a slow decoder make work that lies ahead of the present.
        let mut config = config(&settings);
        config.set("buffer.dram_bandwidth=300MB/s").unwrap();
        config.set("ecc.t_decode=30us").unwrap();
        let mut device = Device::new(&config, 1).unwrap();
        for request in requests(&load) {
            device.submit(request).unwrap();
        }
        let mut before = device.usage();
        for step in steps {
            device.advance(Time(device.now().0 + step)).unwrap();
            let now = device.usage();
            let flat = |usage: &ssd::stats::Usage| -> Vec<Span> {
                let mut all = vec![usage.link_in, usage.link_out, usage.dram];
                all.extend(&usage.decoders);
                all.extend(usage.dies.iter().flatten().chain(usage.channels.iter().flatten()));
                all
            };
            for (now_busy, busy) in flat(&now).into_iter().zip(flat(&before)) {
                prop_assert!(now_busy >= busy && now_busy <= now.elapsed, "{now_busy:?} after {busy:?}: {now:?}");
                prop_assert!(now_busy.0 - busy.0 <= step, "more than the {step} ns that passed: {now:?}");
            }
            device.check().unwrap();
            before = now;
        }
    }
}

/// One die of one plane on one channel: 1 GB/s bus, so that a page takes 16.384 us.
fn one_die(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=20",
        "geometry.pages=30",
        "ftl.over_provisioning=1.0",
        "ftl.erase_when=reclaimed",
        "chip.program_unit=page",
        "chip.t_read=50us",
        "chip.t_prog=400us",
        "bus.bandwidth=1GB/s",
        "bus.t_command=200ns",
        "bus.transfer=page",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

fn request(time: u64, op: Op, page: u64, pages: u64) -> Request {
    Request { time: Time(time), offset: Bytes(page * 16_384), bytes: Bytes(pages * 16_384), op, queue: 0 }
}

#[test]
fn a_die_that_gets_a_second_page_loads_it_while_the_first_is_programmed() {
    // Both pages arrive while a sensed page leaves; nothing else happens for a long time.
    let settings = ["buffer.mode=write-through", "chip.cache_program=true", "ecc.t_decode=5ms"];
    let config = one_die(&[&settings[..], &["host.link_bandwidth=1000GB/s"]].concat());
    let mut device = Device::new(&config, 1).unwrap();
    device.submit(request(0, Op::Read, 3, 1)).unwrap();
    device.submit(request(60_000, Op::Write, 7, 2)).unwrap();
    device.advance(Time(1_000_000)).unwrap();
    let left = 1_000 + 200 + 50_000 + 16_384;
    let programmed = left + 200 + 16_384 + 2 * 400_000;
    assert_eq!(device.take_completions().map(|c| c.finish).collect::<Vec<_>>(), [Time(programmed + 1_000)]);
}

#[test]
fn a_flush_pads_what_is_buffered_and_nothing_later() {
    let config = one_die(&["chip.program_unit=wordline", "ftl.placement=static"]);
    let mut device = Device::new(&config, 1).unwrap();
    device.submit(request(0, Op::Write, 0, 1)).unwrap();
    device.flush().unwrap();
    assert_eq!((device.counters().pages_padded, device.counters().user_pages_programmed), (2, 1));
    device.flush().unwrap();
    device.submit(request(device.now().0, Op::Write, 1, 2)).unwrap();
    device.advance(Time(device.now().0 + 10_000_000)).unwrap();
    assert_eq!(
        (device.counters().pages_padded, device.buffered_pages()),
        (2, 2),
        "two of three pages wait for the third"
    );
    device.submit(request(device.now().0, Op::Write, 3, 1)).unwrap();
    device.advance(Time(device.now().0 + 10_000_000)).unwrap();
    assert_eq!((device.counters().pages_padded, device.buffered_pages()), (2, 0));
}
