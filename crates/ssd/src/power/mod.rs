//! Power cuts: what is on flash, how the map gets there, when the power is cut, recovery, and the host's side that
//! checks it.
//!
//! | file | what |
//! |---|---|
//! | `media.rs` | what is on flash, and so survives |
//! | `journal.rs` | changes of the map on their way to flash |
//! | `checkpoint.rs` | translation pages that are programmed from time to time |
//! | `recover.rs` | the newest version of every page from what is on flash alone |
//! | `oracle.rs` | the host's own log, and what it was promised |
//! | `seen.rs` | what is seen of power cuts |
//!
//! What crosses components is in `back_end/power.rs`.

pub(crate) mod checkpoint;
pub(crate) mod journal;
pub(crate) mod media;
pub(crate) mod oracle;
pub(crate) mod recover;
mod seen;

use std::collections::{HashMap, VecDeque};

use nand::DieId;
use units::{Id as _, Lpn, PerId, Span, Time};

use crate::arena::{OpId, SlotId};
use crate::config::Plan;
use crate::ftl::{Ftl, Location, ParityAtStart};
use crate::persist::{state, stored};
use crate::streams::StreamId;
use checkpoint::Checkpoints;
use journal::Journal;
use media::{Content, Data, OnFlash, Page};
use oracle::Oracle;
use recover::{Run, STEPS};
pub use seen::PowerSeen;

/// Bits of sequence numbers below the number of boots: numbers of before a cut are smaller than all that come after it.
const BOOT_BITS: u32 = 40;

/// What a slot of the write buffer holds: the version of its page, and the data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub version: u64,
    pub data: Data,
}

/// The drive reads what it recovers from.
pub(crate) struct Recovering {
    pub began: Time,
    /// Which step is under way, and what is left of it, by plane.
    pub step: usize,
    pub left: Vec<VecDeque<Run>>,
    pub under_way: u32,
    /// The steps to come.
    pub runs: Vec<Vec<Run>>,
}

/// Everything that has to do with power cuts and with what survives them.
pub(crate) struct Power {
    pub flash: OnFlash,
    pub journal: Journal,
    pub checkpoints: Checkpoints,
    /// Where the power is cut.
    pub oracle: Option<Oracle>,
    /// By slot of the write buffer.
    slots: Vec<Stamp>,
    /// Trims that no write has followed on flash: the version of each.
    pub trims: HashMap<Lpn, u64>,
    /// Pages of the drive's own on their way to flash: their versions and what they hold.
    pub own: HashMap<Lpn, (u64, Content)>,
    versions: u64,
    numbers: u64,
    /// The programs that a die has begun, by their first operation, and their numbers, the oldest first.
    running: PerId<DieId, VecDeque<(OpId, u64)>>,
    pub recovering: Option<Recovering>,
    /// How long recovery took after each cut.
    pub ready: Vec<Span>,
}

impl Power {
    /// Where the power is cut, or the map is kept for the case.
    pub fn new(plan: &Plan, ftl: &Ftl) -> Option<Box<Power>> {
        let cuts = !plan.config.power.cut_at.is_empty();
        if !cuts && plan.config.mapping.checkpoint.is_none() {
            return None;
        }
        let (mut flash, at_start) = (OnFlash::new(plan), ftl.at_start(plan));
        for open in &at_start.open {
            flash.staggered(open.plane, open.block, open.of, open.next_page);
        }
        for lpn in (0..plan.logical_pages).map(Lpn).filter(|lpn| plan.fills_zone_with(*lpn)) {
            if let (Location::Flash(ppn), Some(zones)) = (ftl.locate(lpn), &plan.zones) {
                flash.program(ppn, ftl.series(ppn, zones.stream_at_start(lpn)), 1);
                flash.write(ppn, Page { lpn, version: 1, number: 1, content: Content::Host(Data::default()) });
            }
        }
        // Their parity, which is in blocks outside zones.
        for ParityAtStart { lpn, ppn, pages } in at_start.parity {
            let members = pages.iter().filter_map(|place| flash.member(*place)).collect();
            flash.program(ppn, ftl.series(ppn, plan.streams.opened_by(StreamId::PARITY)), 1);
            flash.write(ppn, Page { lpn, version: 1, number: 1, content: Content::Parity(members) });
        }
        let mut power = Power {
            flash,
            journal: Journal::new(plan),
            checkpoints: Checkpoints::new(plan),
            oracle: cuts.then(|| Oracle::new(plan)),
            slots: Vec::new(),
            trims: HashMap::new(),
            own: HashMap::new(),
            versions: 0,
            numbers: 0,
            running: PerId::from_iter((0..plan.layout.dies).map(|_| VecDeque::new())),
            recovering: None,
            ready: Vec::new(),
        };
        power.boot();
        Some(Box::new(power))
    }

    /// Numbers begin again, above all that were given before.
    fn boot(&mut self) {
        self.flash.anchor.boots += 1;
        let first = self.flash.anchor.boots << BOOT_BITS;
        (self.versions, self.numbers) = (first, first);
    }

    /// What is in the memory of the controller is gone.
    pub fn forget(&mut self, plan: &Plan) {
        self.boot();
        self.slots.clear();
        self.trims.clear();
        self.own.clear();
        self.running.iter_mut().for_each(VecDeque::clear);
        self.journal = Journal::new(plan);
        self.checkpoints = Checkpoints::new(plan);
    }

    /// A version of a page.
    pub fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    /// What a slot holds from now on.
    pub fn stamp(&mut self, slot: SlotId, data: Data) {
        let version = self.next_version();
        self.set_stamp(slot, Stamp { version, data });
    }

    pub fn set_stamp(&mut self, slot: SlotId, stamp: Stamp) {
        if self.slots.len() <= slot.index() {
            self.slots.resize(slot.index() + 1, Stamp::default());
        }
        self.slots[slot.index()] = stamp;
    }

    /// What a slot holds.
    pub fn stamp_of(&self, slot: SlotId) -> Stamp {
        self.slots.get(slot.index()).copied().unwrap_or_default()
    }

    /// A die begins a program.
    pub fn program_begins(&mut self, die: DieId, first: OpId) {
        self.numbers += 1;
        self.running[die].push_back((first, self.numbers));
    }

    /// Programs that have begun.
    pub fn begun(&self) -> u64 {
        self.numbers
    }

    /// The number of a program of a die that has not ended.
    pub fn program_of(&self, die: DieId, first: OpId) -> u64 {
        let running = self.running[die].iter().find(|(of, _)| *of == first);
        running.map_or(self.numbers, |(_, number)| *number)
    }

    /// A program of a die has ended, and what it has changed has been entered.
    pub fn program_ended(&mut self, die: DieId, first: OpId) {
        if let Some(place) = self.running[die].iter().position(|(of, _)| *of == first) {
            self.running[die].remove(place);
        }
    }

    /// Programs up to this number have ended, and what they have changed has been entered.
    pub fn horizon(&self) -> u64 {
        let oldest = self.running.iter().filter_map(VecDeque::front).map(|(_, number)| number).min();
        oldest.map_or(self.numbers, |oldest| oldest - 1)
    }

    /// Whether nothing is under way.
    pub fn quiet(&self) -> bool {
        self.own.is_empty() && self.checkpoints.running.is_none() && self.recovering.is_none()
    }
}

impl Recovering {
    /// Recovery begins.
    pub fn new(began: Time, reads: [Vec<Run>; STEPS]) -> Recovering {
        Recovering { began, step: 0, left: Vec::new(), under_way: 0, runs: reads.into() }
    }
}

state! {
    Power {
        stored { slots, trims, own, versions, numbers, running, recovering, ready }
        parts { flash, journal, checkpoints, oracle }
    }
}

stored! {
    Stamp { version, data }
    Recovering { began, step, left, under_way, runs }
}
