//! What dies, chips and buses may do at a time, watched from outside while random devices are under random load;
//! and what a device must not leave undone.

use std::cell::RefCell;
use std::rc::Rc;

use nand::{DieId, PlaneReads};
use proptest::prelude::*;
use ssd::{Config, Device, Drive};
use testing::{Watcher, cases, config, devices, living_devices, loads, requests, watched};
use units::{Ppn, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Sense(Ppn),
    Program,
    Erase,
    /// A reset, or SET FEATURE after a retry.
    Reset,
}

/// Start, end, die, planes, what.
type Entry = (u64, u64, u16, u8, Work);

/// What the arrays did.
#[derive(Clone, Default)]
struct Arrays(Rc<RefCell<Vec<Entry>>>);

impl Watcher for Arrays {
    fn sense(&mut self, start: Time, end: Time, die: DieId, ppn: Ppn) {
        self.0.borrow_mut().push((start.0, end.0, die.0, 0, Work::Sense(ppn)));
    }
    fn program(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        self.0.borrow_mut().push((start.0, end.0, die.0, planes, Work::Program));
    }
    fn erase(&mut self, start: Time, end: Time, die: DieId, planes: u8) {
        self.0.borrow_mut().push((start.0, end.0, die.0, planes, Work::Erase));
    }
    fn reset(&mut self, now: Time, end: Time, die: DieId) {
        let mut works = self.0.borrow_mut();
        // A sense whose command was still on the bus never begins.
        works.retain(|work| work.2 != die.0 || work.0 <= now.0);
        for work in works.iter_mut().filter(|work| work.2 == die.0 && work.1 > now.0) {
            assert!(matches!(work.4, Work::Sense(_)), "only senses are reset");
            work.1 = now.0;
        }
        works.push((now.0, end.0, die.0, 0, Work::Reset));
    }
    fn suspend(&mut self, now: Time, die: DieId) {
        let mut works = self.0.borrow_mut();
        let work = works.iter_mut().rev().find(|work| work.2 == die.0 && matches!(work.4, Work::Program | Work::Erase));
        let work = work.expect("what is suspended has begun");
        assert!(now.0 < work.1, "it has ended");
        work.1 = now.0;
    }
    fn resume(&mut self, now: Time, end: Time, die: DieId) {
        let mut works = self.0.borrow_mut();
        let work = works.iter().rev().find(|work| work.2 == die.0 && matches!(work.4, Work::Program | Work::Erase));
        let work = *work.expect("what goes on has begun");
        works.push((now.0, end.0, work.2, work.3, work.4));
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
                (Work::Reset, Work::Sense(_)) | (Work::Sense(_), Work::Reset)
                    if a.2 == b.2 && config.chip.plane_reads == PlaneReads::Independent =>
                {
                    false
                }
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
    #![proptest_config(cases(1500))]

    #[test]
    fn arrays_never_do_two_things_that_exclude_each_other(settings in prop_oneof![devices(), living_devices()], load in loads()) {
        let config = config(&settings);
        let arrays = Arrays::default();
        let mut device = watched(&config, 1, arrays.clone());
        for request in requests(&load) {
            device.submit(request).unwrap();
        }
        device.advance(Time(1 << 36)).unwrap();
        device.flush().unwrap();
        let found = conflict(&config, &arrays.0.borrow());
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }

    #[test]
    fn busy_time_never_decreases_and_never_exceeds_the_time_that_passed(
        settings in prop_oneof![devices(), living_devices()], load in loads(), steps in prop::collection::vec(1..60_000u64, 1..60),
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
