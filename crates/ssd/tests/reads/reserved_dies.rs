//! A die that is reserved for a read's retries keeps other reads out until it ends, whatever came between (decision 6).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nand::PlaneReads;
use proptest::prelude::*;
use schemes::{Order, Sensing};
use ssd::{Device, Drive, Event};
use testing::{Watched, Watcher, cases, config, devices, loads, measured_steps, requests, watched};
use units::{Ppn, Time};
use workload::Op;

/// A sense, when the die is told of it.
#[derive(Clone, Copy, Debug)]
struct Begins {
    part: u64,
    attempt: u16,
    at: Time,
    ppn: Ppn,
    of_host: bool,
    /// It leads the command of its planes: it did not only go along with another read's sense.
    leads: bool,
}

#[derive(Clone, Default)]
struct Senses(Rc<RefCell<Vec<Begins>>>);

impl Watcher for Senses {
    fn explain(&mut self, at: Time, event: Event) {
        if let Event::Senses { part, attempt, ppn, what, .. } = event {
            self.0.borrow_mut().push(Begins { part, attempt, at, ppn, of_host: what.is_empty(), leads: true });
        }
    }
}

/// The senses of a read, from its first one on.
struct Read {
    plane: u8,
    senses: Vec<Begins>,
}

impl Read {
    fn of_host(&self) -> bool {
        self.senses[0].of_host
    }

    /// Of the senses of another read, but for those that go along with others', those that come between the first retry
    /// for which this one has the die and its last sense.
    fn between<'a>(&'a self, other: &'a Read) -> impl Iterator<Item = &'a Begins> {
        let from =
            self.senses.iter().find(|sense| sense.attempt > 0 && sense.leads).map_or(Time::NEVER, |sense| sense.at);
        let to = self.senses[self.senses.len() - 1].at;
        other.senses.iter().filter(move |sense| sense.leads && from < sense.at && sense.at < to)
    }
}

/// What two reads of a die do to one another that they must not; none if they keep apart.
fn alternate(one: &Read, other: &Read, device: &Device<Watched>) -> Option<String> {
    let config = &device.plan().config;
    let independent = config.chip.plane_reads == PlaneReads::Independent;
    let same_plane = one.plane == other.plane;
    let together = !independent && one.senses[0].at == other.senses[0].at;
    let passes = config.schedule.order == Order::UserFirst && one.of_host() != other.of_host();
    if together || passes || one.senses.len() == 1 {
        return None;
    }
    let found = |what: &str| Some(format!("{what}: {:?} and {:?}", one.senses, other.senses));
    if !independent || same_plane {
        let both = other.senses.len() > 1 && other.between(one).next().is_some();
        if one.between(other).next().is_some() && both {
            return found("two reads alternate");
        }
        if other.senses.len() == 1 && one.between(other).next().is_some() {
            return found("a first sense comes between retries");
        }
    } else if config.read.sensing == Sensing::Adaptive && one.between(other).any(|sense| sense.attempt == 0) {
        return found("a first sense by the default timing comes between retries by another");
    }
    None
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn reads_that_are_retried_on_a_die_never_alternate(settings in devices(), load in loads()) {
        let mut config = config(&settings);
        config.set(&format!("chip.model={}", measured_steps())).unwrap();
        let senses = Senses::default();
        let mut device = watched(&config, 1, senses.clone());
        for request in requests(&load).into_iter().filter(|request| request.op != Op::Trim) {
            device.submit(request).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        let mut dies: BTreeMap<u16, BTreeMap<u64, Read>> = BTreeMap::new();
        let mut last = BTreeMap::new();
        for sense in senses.0.borrow_mut().iter_mut() {
            let (die, _) = device.plan().layout.place_of(sense.ppn);
            // Of the planes of one command the leader's is told first.
            let together = last.insert(die.0, sense.at) == Some(sense.at);
            sense.leads = config.chip.plane_reads == PlaneReads::Independent || !together;
            let plane = device.plan().layout.flash_plane_of(sense.ppn).0 as u8;
            let read = || Read { plane, senses: Vec::new() };
            dies.entry(die.0).or_default().entry(sense.part).or_insert_with(read).senses.push(*sense);
        }
        for reads in dies.values() {
            for (part, one) in reads {
                for (_, other) in reads.iter().filter(|(of, _)| *of != part) {
                    prop_assert_eq!(alternate(one, other, &device), None);
                }
            }
        }
    }
}
