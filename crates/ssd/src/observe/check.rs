//! A probe that keeps a [`Ledger`] of what the drive promises and books of its dies, buses and servers. A device that
//! it watches is compared with them after every event (`device/check.rs`, `back_end/check.rs`).

use nand::{DieId, PlaneId};
use units::{Id as _, Lpn, Ppn, Time};

use crate::arena::SlotId;
use crate::config::Plan;
use crate::observe::ledger::Ledger;
use crate::observe::probe::{DataFrom, Event, Probe, Server};
use crate::violation::Invariant;

/// What the array of a die is booked for.
#[derive(Clone, Default)]
struct Array {
    /// A program or an erase, until then.
    busy: Time,
    /// Whether what began last is an erase, and whether an operation is suspended: an erase, beside which there may be
    /// programs.
    erases: bool,
    suspended: Option<Paused>,
    /// The sense of each plane, until then.
    senses: [Time; nand::geometry::MAX_PLANES as usize],
}

/// What is suspended.
#[derive(Clone, Copy, PartialEq)]
enum Paused {
    Program,
    Erase,
}

/// See the [module documentation](self).
pub struct Checker {
    ledger: Ledger,
    dies: Vec<Array>,
    buses: Vec<Time>,
    servers: [Time; 3],
}

impl Checker {
    /// For a drive of this plan.
    pub fn new(plan: &Plan) -> Checker {
        let layout = plan.layout;
        Checker {
            ledger: Ledger::new(plan),
            dies: vec![Array::default(); layout.dies as usize],
            buses: vec![Time::ZERO; layout.channels as usize],
            servers: [Time::ZERO; 3],
        }
    }

    /// A program or an erase has the array of a die.
    fn array(&mut self, start: Time, end: Time, die: DieId, erases: bool) {
        let array = &mut self.dies[die.index()];
        let latest = array.senses.iter().copied().max().unwrap_or(array.busy).max(array.busy);
        let suspended = array.suspended.is_some_and(|paused| paused == Paused::Program || erases);
        let free = !suspended && latest <= start && start <= end;
        (array.busy, array.erases) = (end, erases);
        if !free {
            let expected = if suspended {
                "none while another one is suspended, or programs beside an erase".into()
            } else {
                format!("not before {} ns, when what the array does has ended", latest.0)
            };
            let found = format!("{} begins at {} ns", if erases { "an erase" } else { "a program" }, start.0);
            self.ledger.violated(Invariant::Die, format!("the array of die {}", die.0), found, expected);
        }
    }
}

impl Probe for Checker {
    const EXPLAINS: bool = true;

    fn notes_waits(&self) -> bool {
        false
    }

    fn ledger(&mut self) -> Option<&mut Ledger> {
        Some(&mut self.ledger)
    }

    fn explain(&mut self, now: Time, event: Event) {
        self.ledger.at(now);
        match event {
            Event::Started { request, .. } => self.ledger.open_request(request),
            Event::Completed { request } => self.ledger.end_request(request),
            Event::Reads { request, part } => self.ledger.open_part(part, request),
            Event::Sent { request, part: Some((part, _)), .. } => self.ledger.end_part(part, request),
            Event::Die { die, .. } => self.ledger.touched.dies.push(die),
            Event::Bus { channel, until, .. } => {
                let busy = &mut self.buses[channel.index()];
                let before = *busy;
                *busy = until.map_or(before, |(end, _)| end);
                if now < before {
                    let expected = format!("not before {} ns, when what it carries has ended", before.0);
                    let place = format!("the bus of channel {}", channel.0);
                    self.ledger.violated(Invariant::Bus, place, format!("granted at {} ns", now.0), expected);
                }
            }
            Event::Serves { server, from, to } => {
                let before = std::mem::replace(&mut self.servers[server as usize], to);
                if from < before {
                    let place = match server {
                        Server::LinkIn => "the link into the drive",
                        Server::LinkOut => "the link out of the drive",
                        Server::Dram => "the DRAM",
                    };
                    let (found, expected) = (format!("served from {} ns", from.0), format!("from {} ns on", before.0));
                    self.ledger.violated(Invariant::Bus, place, found, expected);
                }
            }
            Event::Resets { die, plane, end, .. } => self.dies[die.index()].senses[usize::from(plane)] = end,
            _ => {}
        }
    }

    fn read(&mut self, time: Time, request: u64, lpn: Lpn, from: DataFrom) {
        self.ledger.at(time);
        let (slot, ppn) = match from {
            DataFrom::Nothing | DataFrom::Cache => (None, None),
            DataFrom::Buffer(slot) => (Some(slot), None),
            DataFrom::Flash(ppn) => (None, Some(ppn)),
            DataFrom::Merged(ppn, slot) => (Some(slot), Some(ppn)),
        };
        self.ledger.read(request, lpn, slot, ppn, from == DataFrom::Cache);
    }

    fn cached(&mut self, _: Time, request: u64, lpn: Lpn, _: u64) {
        self.ledger.cache(request, lpn);
    }

    fn buffered(&mut self, _: Time, _: u64, lpn: Lpn, slot: SlotId, _: Option<SlotId>) {
        self.ledger.fill(lpn, slot, true);
    }

    fn joined(&mut self, _: Time, lpn: Lpn, slot: SlotId, _: DataFrom) {
        self.ledger.fill(lpn, slot, false);
    }

    fn programmed(&mut self, _: Time, lpn: Lpn, slot: SlotId, ppn: Ppn) {
        self.ledger.program(lpn, slot, ppn);
    }

    fn moved(&mut self, _: Time, lpn: Lpn, from: Ppn, to: Ppn) {
        self.ledger.relocate(lpn, from, to);
    }

    fn mapped(&mut self, _: Time, lpn: Lpn, ppn: Ppn) {
        self.ledger.map(lpn, ppn);
    }

    fn rescued(&mut self, _: Time, lpn: Lpn, slot: SlotId, from: Ppn) {
        self.ledger.rescue(lpn, slot, from);
    }

    fn dropped(&mut self, _: Time, lpn: Lpn) {
        self.ledger.drop_page(lpn);
    }

    fn trimmed(&mut self, _: Time, _: u64, lpn: Lpn) {
        self.ledger.trim(lpn);
    }

    fn erased(&mut self, _: Time, plane: PlaneId, block: u32) {
        self.ledger.erase(plane, block);
    }

    fn cut(&mut self, _: Time) {
        self.ledger.forget();
        self.dies.fill(Array::default());
        self.buses.fill(Time::ZERO);
        self.servers.fill(Time::ZERO);
    }

    fn sense(&mut self, start: Time, end: Time, die: DieId, ppn: Ppn) {
        let plane = usize::from(self.ledger.layout.place_of(ppn).1);
        let array = &mut self.dies[die.index()];
        let free = array.busy.max(array.senses[plane]);
        array.senses[plane] = end;
        if start < free {
            let (place, found) =
                (format!("the array of die {}, plane {plane}", die.0), format!("a sense at {} ns", start.0));
            let expected = format!("not before {} ns, when what the array does has ended", free.0);
            self.ledger.violated(Invariant::Die, place, found, expected);
        }
    }

    fn program(&mut self, start: Time, end: Time, die: DieId, _: u8) {
        self.array(start, end, die, false);
    }

    fn erase(&mut self, start: Time, end: Time, die: DieId, _: u8) {
        self.array(start, end, die, true);
    }

    fn suspend(&mut self, now: Time, die: DieId) {
        let array = &mut self.dies[die.index()];
        let runs = array.suspended.is_none() && array.busy >= now;
        (array.suspended, array.busy) = (Some(if array.erases { Paused::Erase } else { Paused::Program }), now);
        if !runs {
            let place = format!("the array of die {}", die.0);
            self.ledger.violated(Invariant::Die, place, "an operation is suspended", "one that runs");
        }
    }

    fn resume(&mut self, now: Time, end: Time, die: DieId) {
        let array = &mut self.dies[die.index()];
        let free = array.suspended.is_some() && array.busy <= now && array.senses.iter().all(|sensed| *sensed <= now);
        (array.busy, array.erases) = (end, array.suspended == Some(Paused::Erase));
        array.suspended = None;
        if !free {
            let place = format!("the array of die {}", die.0);
            self.ledger.violated(
                Invariant::Die,
                place,
                "an operation goes on",
                "it was suspended, and nothing is sensed or programmed",
            );
        }
    }
}
