//! The zones of a drive as its host sees them: states, write pointers, and which may be open (NVMe Zoned Namespace
//! Command Set Specification 1.1, section 2.1.1.3 and Figure 8, the zone state machine; the zone random write area of
//! TP 4076b).
//!
//! What is asked is allowed or refused here, with the status of the specification. Of time, flash and buffer nothing is
//! known: how far the data of a zone has come is told by the caller, who is told in turn which pages of a zone make
//! whole programs of a die (`gathering.rs`).

mod finishing;
mod gathering;
mod spread;

use std::collections::VecDeque;

use nand::PlaneId;
use workload::ZoneAction;

use crate::arena::CommandId;
use crate::config::ZonePlan;
use crate::persist::{state, stored, stored_enum};
use crate::status::Status;
use finishing::Finishing;
pub(crate) use finishing::Padding;
pub use spread::{Allowed, SpreadZones};

/// The state of a zone (Figure 37, Zone State).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneState {
    /// It has no write pointer: it is conventional.
    Conventional,
    /// Nothing is written in it.
    #[default]
    Empty,
    /// A write has opened it.
    ImplicitlyOpen,
    /// The host has opened it.
    ExplicitlyOpen,
    /// It is active and not open.
    Closed,
    /// It can be read.
    ReadOnly,
    /// It is written to its end, or finished.
    Full,
    /// It can be neither read nor written.
    Offline,
}

impl ZoneState {
    /// All of them.
    pub const ALL: [ZoneState; 8] = [
        ZoneState::Conventional,
        ZoneState::Empty,
        ZoneState::ImplicitlyOpen,
        ZoneState::ExplicitlyOpen,
        ZoneState::Closed,
        ZoneState::ReadOnly,
        ZoneState::Full,
        ZoneState::Offline,
    ];

    /// Its number in a zone descriptor. That of a conventional zone, which NVMe does not have, is that of ZBC ("not
    /// write pointer").
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            ZoneState::Conventional => 0x0,
            ZoneState::Empty => 0x1,
            ZoneState::ImplicitlyOpen => 0x2,
            ZoneState::ExplicitlyOpen => 0x3,
            ZoneState::Closed => 0x4,
            ZoneState::ReadOnly => 0xD,
            ZoneState::Full => 0xE,
            ZoneState::Offline => 0xF,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ZoneState::Conventional => "conventional",
            ZoneState::Empty => "empty",
            ZoneState::ImplicitlyOpen => "implicitly-open",
            ZoneState::ExplicitlyOpen => "explicitly-open",
            ZoneState::Closed => "closed",
            ZoneState::ReadOnly => "read-only",
            ZoneState::Full => "full",
            ZoneState::Offline => "offline",
        }
    }

    /// Whether it is open.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen)
    }

    /// Whether it takes one of the active resources.
    #[must_use]
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, ZoneState::Closed)
    }
}

/// What a report of zones says of one (Figure 37, Zone Descriptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneDescriptor {
    /// Its state.
    pub state: ZoneState,
    /// Its first byte.
    pub start: u64,
    /// Bytes that can be written.
    pub capacity: u64,
    /// Where the next write goes \[B]. Of a full, read-only or offline zone it says nothing.
    pub write_pointer: u64,
    /// It has a zone random write area.
    pub has_random_area: bool,
}

/// A zone.
#[derive(Clone, Default)]
pub(crate) struct Zone {
    state: ZoneState,
    /// Bytes behind its beginning.
    write_pointer: u64,
    /// It was opened with a zone random write area.
    random: bool,
    /// Bytes behind its beginning up to which its random area was written.
    reached: u64,
    /// When it was opened, counted in openings.
    opened: u64,
    /// How much of its data has come, in order; and bytes that have not. With a random area also where each write of
    /// these goes, in the order in which they come.
    arrived: u64,
    under_way: u64,
    coming: VecDeque<Coming>,
    /// Pages that wait for programs, or have been programmed.
    sent: u64,
    finishing: Option<Box<Finishing>>,
    /// What it held at its last reset has versions up to this one.
    reset_at: u64,
}

/// Bytes of a zone that a write is to bring.
#[derive(Clone, Copy)]
struct Coming {
    from: u64,
    to: u64,
}

impl Zone {
    /// Makes final what has come of its random area: as far as the write pointer lets go, and no write is under way.
    fn commits_what_has_come(&mut self) {
        if self.random {
            let under_way = self.coming.iter().map(|coming| coming.from).min();
            self.arrived = self.write_pointer.min(under_way.unwrap_or(u64::MAX));
        }
    }

    /// Nothing is under way to it any more.
    fn expects_nothing(&mut self) {
        self.under_way = 0;
        self.coming.clear();
    }

    /// All that was written to it is before its write pointer.
    fn commits_all(&mut self) {
        self.write_pointer = self.write_pointer.max(self.reached);
    }
}

/// What a host's action does to a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing beyond its state.
    State,
    /// What it holds is no more.
    Emptied { pages: u64, finishing: Option<CommandId> },
    /// It is full: the rest is padded.
    Finished,
    /// More of its random area is final.
    Committed,
}

/// What becomes of a write that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// The zone, if it is one that is written in order.
    pub zone: Option<u32>,
    /// Its first byte.
    pub offset: u64,
}

/// The zones of a drive, to be looked at.
#[derive(Clone, Copy)]
pub struct ZonesSeen<'a> {
    pub(crate) zones: &'a Zones,
    pub(crate) plan: &'a ZonePlan,
}

impl ZonesSeen<'_> {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.plan.zones
    }

    /// Bytes from the beginning of a zone to that of the next one.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.plan.size_bytes()
    }

    /// How many zones may be open, and active, at once.
    #[must_use]
    pub fn limits(&self) -> (u32, u32) {
        (self.plan.max_open, self.plan.max_active)
    }

    /// What a report of zones says of one (Zone Management Receive), if there is one of that number. It takes no time:
    /// a request with [`workload::Op::ZoneReport`] takes that of its data.
    #[must_use]
    pub fn zone(&self, zone: u32) -> Option<ZoneDescriptor> {
        (zone < self.plan.zones).then(|| self.zones.descriptor(zone, self.plan))
    }

    /// How many zones there are in each state, in the order of [`ZoneState::ALL`].
    #[must_use]
    pub fn states(&self) -> [u32; ZoneState::ALL.len()] {
        ZoneState::ALL.map(|state| self.zones.zones.iter().filter(|zone| zone.state == state).count() as u32)
    }
}

/// How often zones have changed their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub opened_by_writes: u64,
    pub opened_by_host: u64,
    pub closed_by_host: u64,
    pub closed_by_drive: u64,
}

/// A block of a zone that was reset, and the command that completes with its erase.
struct Erasing {
    plane: PlaneId,
    block: u32,
    command: CommandId,
}

/// All zones of a drive.
pub(crate) struct Zones {
    zones: Vec<Zone>,
    open: u32,
    active: u32,
    openings: u64,
    finishes: u32,
    /// Commands that wait until what is under way to their zones has come.
    pub waiting: Vec<CommandId>,
    /// Blocks whose erase a reset waits for.
    erasing: Vec<Erasing>,
    pub changes: Changes,
}

impl Zones {
    /// All empty, but for a share of them that are full from the start.
    pub fn new(plan: &ZonePlan, share: f64) -> Zones {
        let of = |zone: u32| {
            let state = if plan.is_sequential(zone) { ZoneState::Empty } else { ZoneState::Conventional };
            Zone { state, ..Zone::default() }
        };
        let zones = (0..plan.zones).map(of).collect();
        let mut all = Zones {
            zones,
            open: 0,
            active: 0,
            openings: 0,
            finishes: 0,
            waiting: Vec::new(),
            erasing: Vec::new(),
            changes: Changes::default(),
        };
        let full = plan.filled(share);
        (0..full).filter(|zone| plan.is_sequential(*zone)).for_each(|zone| all.starts_full(zone, plan));
        all
    }

    fn starts_full(&mut self, zone: u32, plan: &ZonePlan) {
        let entry = &mut self.zones[zone as usize];
        (entry.state, entry.write_pointer, entry.arrived) =
            (ZoneState::Full, plan.capacity_bytes(), plan.capacity_bytes());
        entry.sent = plan.capacity;
    }

    /// What a report says of a zone.
    pub fn descriptor(&self, zone: u32, plan: &ZonePlan) -> ZoneDescriptor {
        let entry = &self.zones[zone as usize];
        let capacity = if plan.is_sequential(zone) { plan.capacity_bytes() } else { plan.size_bytes() };
        let start = plan.start(zone);
        let (write_pointer, has_random_area) = (start + entry.write_pointer, entry.random && entry.state.is_active());
        ZoneDescriptor { state: entry.state, start, capacity, write_pointer, has_random_area }
    }

    /// A zone changes its state.
    fn becomes(&mut self, zone: u32, state: ZoneState) {
        let before = std::mem::replace(&mut self.zones[zone as usize].state, state);
        self.open = self.open + u32::from(state.is_open()) - u32::from(before.is_open());
        self.active = self.active + u32::from(state.is_active()) - u32::from(before.is_active());
        if state.is_open() && !before.is_open() {
            self.openings += 1;
            self.zones[zone as usize].opened = self.openings;
        }
    }

    /// Whether a zone that is not active can be so too, and one that is not open open: for that the drive closes the
    /// zone that a write has opened longest ago (section 2.1.1.4.1).
    fn may_open(&mut self, zone: u32, plan: &ZonePlan) -> Result<(), Status> {
        let state = self.zones[zone as usize].state;
        if !state.is_active() && self.active >= plan.max_active {
            return Err(Status::TooManyActive);
        }
        if state.is_open() || self.open < plan.max_open {
            return Ok(());
        }
        let implicit = self.zones.iter().enumerate().filter(|(_, other)| other.state == ZoneState::ImplicitlyOpen);
        let Some((oldest, _)) = implicit.min_by_key(|(_, other)| other.opened) else { return Err(Status::TooManyOpen) };
        self.becomes(oldest as u32, ZoneState::Closed);
        self.changes.closed_by_drive += 1;
        Ok(())
    }

    /// A reset waits until a block has been erased.
    pub fn waits_for_erase(&mut self, plane: PlaneId, block: u32, command: CommandId) {
        self.erasing.push(Erasing { plane, block, command });
    }

    /// A block of a plane has been erased or is out of service, or all of them, or of all planes: the commands that
    /// have waited for that, for each block one.
    pub fn has_erased(&mut self, plane: Option<PlaneId>, block: Option<u32>) -> Vec<CommandId> {
        let is_one = |erasing: &mut Erasing| {
            plane.is_none_or(|plane| erasing.plane == plane) && block.is_none_or(|block| erasing.block == block)
        };
        self.erasing.extract_if(.., is_one).map(|erasing| erasing.command).collect()
    }

    /// Whether a read is allowed.
    pub fn reads(&self, offset: u64, bytes: u64, plan: &ZonePlan) -> Result<(), Status> {
        let size = plan.size_bytes();
        let (first, last) = (offset / size, (offset + bytes - 1) / size);
        if first != last && !plan.read_across {
            return Err(Status::ZoneBoundary);
        }
        match (first..=last).any(|zone| self.zones[zone as usize].state == ZoneState::Offline) {
            true => Err(Status::ZoneOffline),
            false => Ok(()),
        }
    }

    /// A write, or an append, of this many bytes: where it goes, if it is allowed. The write pointer is behind it then.
    pub fn writes(&mut self, offset: u64, bytes: u64, append: bool, plan: &ZonePlan) -> Result<Admitted, Status> {
        let size = plan.size_bytes();
        let (zone, within) = ((offset / size) as u32, offset % size);
        if !plan.is_sequential(zone) {
            // Conventional zones are as one range.
            let ends_there = offset + bytes <= u64::from(plan.conventional) * size;
            return match (append, ends_there) {
                (true, _) => Err(Status::InvalidField),
                (false, false) => Err(Status::ZoneBoundary),
                (false, true) => Ok(Admitted { zone: None, offset }),
            };
        }
        let entry = &self.zones[zone as usize];
        match entry.state {
            ZoneState::Full => return Err(Status::ZoneFull),
            ZoneState::ReadOnly => return Err(Status::ZoneReadOnly),
            ZoneState::Offline => return Err(Status::ZoneOffline),
            _ => {}
        }
        if append {
            // Section 3.4.1: the address of the zone, and no more than the Zone Append Size Limit; not to a zone with a
            // random area.
            let too_long = plan.append_limit.is_some_and(|limit| bytes > limit.0);
            if within != 0 || too_long {
                return Err(Status::InvalidField);
            }
            if entry.random {
                return Err(Status::InvalidZoneOperation);
            }
        }
        let begins = if append { entry.write_pointer } else { within };
        let pointer = entry.write_pointer;
        let area = if entry.random { plan.random_area.0 } else { 0 };
        let fits =
            if entry.random { begins >= pointer && begins + bytes <= pointer + 2 * area } else { begins == pointer };
        if !fits {
            return Err(Status::ZoneInvalidWrite);
        }
        if begins + bytes > plan.capacity_bytes() {
            return Err(Status::ZoneBoundary);
        }
        self.opens_for_write(zone, plan)?;
        let entry = &mut self.zones[zone as usize];
        entry.under_way += bytes;
        if entry.random {
            entry.reached = entry.reached.max(begins + bytes);
            entry.coming.push_back(Coming { from: begins, to: begins + bytes });
            let page = size / plan.size;
            let commits = (begins + bytes).saturating_sub(pointer + area).next_multiple_of(page);
            self.advances(zone, pointer + commits, plan);
        } else {
            self.advances(zone, begins + bytes, plan);
        }
        Ok(Admitted { zone: Some(zone), offset: plan.start(zone) + begins })
    }

    fn opens_for_write(&mut self, zone: u32, plan: &ZonePlan) -> Result<(), Status> {
        if self.zones[zone as usize].state.is_open() {
            return Ok(());
        }
        self.may_open(zone, plan)?;
        self.becomes(zone, ZoneState::ImplicitlyOpen);
        self.changes.opened_by_writes += 1;
        Ok(())
    }

    /// The write pointer moves; at the end of the zone it is full.
    fn advances(&mut self, zone: u32, to: u64, plan: &ZonePlan) {
        self.zones[zone as usize].write_pointer = to.min(plan.capacity_bytes());
        if self.zones[zone as usize].write_pointer == plan.capacity_bytes() {
            self.becomes(zone, ZoneState::Full);
        }
    }

    /// An action of the host's on the zones of a range: which of them it has an effect on. Of a range of several zones
    /// those are left alone whose state does not have the action (Select All, section 3.4.3.1).
    pub fn act(
        &mut self,
        action: ZoneAction,
        offset: u64,
        bytes: u64,
        plan: &ZonePlan,
    ) -> Result<Vec<(u32, Effect)>, Status> {
        let size = plan.size_bytes();
        if action == ZoneAction::Flush {
            return self.commit(offset, bytes, plan).map(|zone| vec![(zone, Effect::Committed)]);
        }
        if !offset.is_multiple_of(size) {
            return Err(Status::InvalidField);
        }
        let (first, last) = plan.zones_in(offset, bytes);
        if first == last {
            return self.act_on(first, action, plan).map(|effect| vec![(first, effect)]);
        }
        if action == ZoneAction::OpenRandom && plan.random_area.0 == 0 {
            return Err(Status::InvalidField);
        }
        let chosen: Vec<u32> = (first..=last).filter(|zone| self.selects(*zone, action)).collect();
        if matches!(action, ZoneAction::Open | ZoneAction::OpenRandom) {
            // All or none of them.
            let closed = chosen.len() as u32;
            if self.open + closed > plan.max_open {
                return Err(Status::TooManyOpen);
            }
        }
        chosen.into_iter().map(|zone| Ok((zone, self.act_on(zone, action, plan)?))).collect()
    }

    /// Whether Select All has an action done to a zone.
    pub(super) fn selects(&self, zone: u32, action: ZoneAction) -> bool {
        let Zone { state, random, .. } = self.zones[zone as usize];
        match action {
            ZoneAction::Close => state.is_open(),
            ZoneAction::Finish => state.is_active(),
            ZoneAction::Open => state == ZoneState::Closed,
            // Of those that are not empty only what has an area is opened with one.
            ZoneAction::OpenRandom => state == ZoneState::Closed && random,
            ZoneAction::Reset => state.is_active() || state == ZoneState::Full,
            ZoneAction::Offline => state == ZoneState::ReadOnly,
            ZoneAction::Flush => false,
        }
    }

    fn act_on(&mut self, zone: u32, action: ZoneAction, plan: &ZonePlan) -> Result<Effect, Status> {
        let state = self.zones[zone as usize].state;
        match (action, state) {
            (_, ZoneState::Conventional) => Err(Status::InvalidField),
            (ZoneAction::Open | ZoneAction::OpenRandom, _) => self.open(zone, action == ZoneAction::OpenRandom, plan),
            (ZoneAction::Close, ZoneState::Closed) => Ok(Effect::State),
            (ZoneAction::Close, _) if state.is_open() => {
                self.becomes(zone, ZoneState::Closed);
                self.changes.closed_by_host += 1;
                Ok(Effect::State)
            }
            (ZoneAction::Finish, ZoneState::Full) => Ok(Effect::State),
            (ZoneAction::Finish, ZoneState::Empty) => self.finish(zone),
            (ZoneAction::Finish, _) if state.is_active() => self.finish(zone),
            (ZoneAction::Reset, ZoneState::Empty) => Ok(Effect::State),
            (ZoneAction::Reset, _) if state.is_active() || state == ZoneState::Full => {
                let emptied = self.emptied(zone, plan);
                self.becomes(zone, ZoneState::Empty);
                let opened = self.zones[zone as usize].opened;
                self.zones[zone as usize] = Zone { opened, ..Zone::default() };
                Ok(emptied)
            }
            (ZoneAction::Offline, ZoneState::Offline) => Ok(Effect::State),
            (ZoneAction::Offline, ZoneState::ReadOnly) => {
                let emptied = self.emptied(zone, plan);
                self.becomes(zone, ZoneState::Offline);
                Ok(emptied)
            }
            _ => Err(Status::InvalidTransition),
        }
    }

    /// What was in a zone, by the pages up to which it may have been.
    fn emptied(&mut self, zone: u32, plan: &ZonePlan) -> Effect {
        let finishing = self.zones[zone as usize].finishing.take().map(|finishing| finishing.command());
        let (entry, page) = (&self.zones[zone as usize], plan.size_bytes() / plan.size);
        let pages = entry.write_pointer.max(entry.reached).div_ceil(page);
        Effect::Emptied { pages, finishing }
    }

    fn open(&mut self, zone: u32, random: bool, plan: &ZonePlan) -> Result<Effect, Status> {
        let state = self.zones[zone as usize].state;
        if !(state == ZoneState::Empty || state.is_active()) {
            return Err(Status::InvalidTransition);
        }
        if random && plan.random_area.0 == 0 {
            return Err(Status::InvalidField);
        }
        // TP 4076b: only from the empty state; an explicitly open zone that has an area keeps it.
        if random && state != ZoneState::Empty && !self.zones[zone as usize].random {
            return Err(Status::InvalidTransition);
        }
        if state != ZoneState::ExplicitlyOpen {
            self.may_open(zone, plan)?;
            self.becomes(zone, ZoneState::ExplicitlyOpen);
            self.changes.opened_by_host += 1;
        }
        self.zones[zone as usize].random |= random;
        Ok(Effect::State)
    }

    /// A zone is full. What its random area holds is final: the host was told that it is written.
    fn finish(&mut self, zone: u32) -> Result<Effect, Status> {
        self.zones[zone as usize].commits_all();
        self.becomes(zone, ZoneState::Full);
        Ok(Effect::Finished)
    }

    /// What a zone random write area holds up to the end of a range is final (TP 4076b, Flush Explicit ZRWA Range).
    fn commit(&mut self, offset: u64, bytes: u64, plan: &ZonePlan) -> Result<u32, Status> {
        let size = plan.size_bytes();
        let (zone, page) = ((offset / size) as u32, size / plan.size);
        let entry = &self.zones[zone as usize];
        if !entry.state.is_active() {
            return Err(Status::InvalidTransition);
        }
        let to = offset % size + bytes;
        let within = to > entry.write_pointer && to <= entry.write_pointer + plan.random_area.0;
        if !entry.random || !within || to > plan.capacity_bytes() {
            return Err(Status::InvalidZoneOperation);
        }
        if !to.is_multiple_of(page) {
            return Err(Status::InvalidField);
        }
        self.advances(zone, to, plan);
        Ok(zone)
    }

    /// The power was cut: what had not come is not written, and no zone is open (section 2.1.1.3: an NVM Subsystem
    /// Reset closes them).
    pub fn power_cut(&mut self, plan: &ZonePlan) {
        self.waiting.clear();
        self.erasing.clear();
        for zone in 0..self.zones.len() as u32 {
            let entry = &mut self.zones[zone as usize];
            entry.finishing = None;
            entry.expects_nothing();
            if entry.random {
                entry.arrived = entry.write_pointer;
            }
            let lost = !entry.random && entry.state != ZoneState::Empty && entry.write_pointer > entry.arrived;
            let was_full = entry.state == ZoneState::Full && entry.write_pointer == plan.capacity_bytes();
            if lost {
                entry.write_pointer = entry.arrived;
            }
            if lost && was_full || entry.state.is_active() {
                let empty = self.zones[zone as usize].write_pointer == 0;
                self.becomes(zone, if empty { ZoneState::Empty } else { ZoneState::Closed });
            }
        }
    }

    /// The drive has become read-only: every zone that has data can be read, and none can be written. Finishes are not
    /// waited for any more: the commands that did, for each zone one.
    pub fn become_read_only(&mut self) -> Vec<CommandId> {
        let mut finishing = Vec::new();
        for zone in 0..self.zones.len() as u32 {
            let entry = &mut self.zones[zone as usize];
            entry.expects_nothing();
            finishing.extend(entry.finishing.take().map(|finishing| finishing.command()));
            if !matches!(self.zones[zone as usize].state, ZoneState::Conventional | ZoneState::Offline) {
                self.becomes(zone, ZoneState::ReadOnly);
            }
        }
        finishing
    }

    /// A part of the flash on which a zone lies has broken (section 2.1.1.3: transitions ZSRO and ZSO): it can be read
    /// if anything is in it. The command that waited for its finish is given. Its random area is final.
    pub fn fails(&mut self, zone: u32) -> Option<CommandId> {
        let entry = &mut self.zones[zone as usize];
        let state = entry.state;
        let finishing = entry.finishing.take().map(|finishing| finishing.command());
        entry.commits_all();
        match state {
            ZoneState::Empty => self.becomes(zone, ZoneState::Offline),
            ZoneState::Offline | ZoneState::Conventional => {}
            _ => self.becomes(zone, ZoneState::ReadOnly),
        }
        finishing
    }

    /// Checks that as many zones are open and active as are counted, and no more than may be.
    pub fn check(&self, plan: &ZonePlan) -> Result<(), String> {
        let count = |is: fn(ZoneState) -> bool| self.zones.iter().filter(|zone| is(zone.state)).count() as u32;
        let found = (count(ZoneState::is_open), count(ZoneState::is_active));
        if found != (self.open, self.active) {
            return Err(format!("{found:?} zones are open and active, ({}, {}) are counted", self.open, self.active));
        }
        if self.open > plan.max_open || self.active > plan.max_active {
            return Err(format!("{} zones are open and {} active, more than may be", self.open, self.active));
        }
        for (number, zone) in self.zones.iter().enumerate() {
            let page = plan.size_bytes() / plan.size;
            let ends = zone.write_pointer.max(zone.arrived).div_ceil(page);
            // A zone that was finished counts as sent to its end, also when it has become read-only or offline since.
            let may_be_finished = matches!(zone.state, ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline);
            if zone.arrived > zone.write_pointer || zone.sent > ends && !may_be_finished {
                return Err(format!(
                    "zone {number} is {:?} at {}: {} bytes have come, {} pages are on their way to flash",
                    zone.state, zone.write_pointer, zone.arrived, zone.sent
                ));
            }
        }
        Ok(())
    }
}

state! {
    Zones { stored { zones, open, active, openings, finishes, waiting, erasing, changes } }
}

stored! {
    Zone { state, write_pointer, random, reached, opened, arrived, under_way, coming, sent, finishing, reset_at }
    Coming { from, to }
    Erasing { plane, block, command }
    Changes { opened_by_writes, opened_by_host, closed_by_host, closed_by_drive }
}

stored_enum! {
    ZoneState {
        0 = Conventional, 1 = Empty, 2 = ImplicitlyOpen, 3 = ExplicitlyOpen, 4 = Closed, 5 = ReadOnly, 6 = Full, 7 = Offline,
    }
}
