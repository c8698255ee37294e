//! Flexible Data Placement as its host sees it (TP 4146): how much a reclaim unit handle can still write to its reclaim
//! unit, what was written and erased, and what has happened to reclaim units.
//!
//! Handles of reclaim groups are streams (`config/groups.rs`). A reclaim unit is a block on every plane of its group:
//! so much a handle writes to one. Planes open their blocks one by one, so that the unit is counted, not kept: where
//! planes have been written alike, it is the blocks that are open.

use std::collections::VecDeque;

use nand::PlaneId;
use units::{Bytes, Lpn, Time};

use crate::config::{Groups, Isolation, Plan};
use crate::observe::stats::Counters;
use crate::persist::{state, stored, stored_enum};
use crate::streams::StreamId;

/// Events that are kept: older ones are forgotten, as in a log page of 4 KiB.
const KEPT: usize = 63;

/// What an event tells (TP 4146, FDP Event Types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FdpEventKind {
    /// A handle was given another reclaim unit before it had written all of the last one.
    NotWrittenToCapacity,
    /// A write named a handle that there is not.
    InvalidPlacement,
    /// The drive has moved data.
    MediaReallocated,
    /// A handle has written all of its reclaim unit, and was given another one.
    ImplicitlyModified,
}

impl FdpEventKind {
    /// Its number in an event.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            FdpEventKind::NotWrittenToCapacity => 0x00,
            FdpEventKind::InvalidPlacement => 0x03,
            FdpEventKind::MediaReallocated => 0x80,
            FdpEventKind::ImplicitlyModified => 0x81,
        }
    }

    /// Whether the host causes it: it is in the log of host events, and not in that of the controller's.
    #[must_use]
    pub const fn is_of_host(self) -> bool {
        self.code() < 0x80
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FdpEvent {
    /// What has happened.
    pub kind: FdpEventKind,
    /// When.
    pub time: Time,
    /// The placement identifier, as a request gives it (`hint`); where data was moved, that of its handle if handles
    /// are persistently isolated, and 0 otherwise.
    pub handle: u16,
    /// Pages that were moved; those that were left of a reclaim unit.
    pub pages: u64,
}

/// What was written and erased (FDP Statistics log page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FdpStatistics {
    /// Host Bytes with Metadata Written.
    pub host_written: Bytes,
    /// Media Bytes with Metadata Written.
    pub media_written: Bytes,
    /// Media Bytes Erased.
    pub media_erased: Bytes,
}

/// What became of the data of a placement handle. Padding is nobody's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandleStatistics {
    /// The placement identifier: of each group the handles in turn.
    pub identifier: u16,
    /// What was programmed of the data that the host wrote with it.
    pub written: Bytes,
    /// What was relocated of that data, each time that it was: of initially isolated handles also among data of others.
    pub relocated: Bytes,
    /// Reclaim units that were written to their end.
    pub filled: u64,
    /// Reclaim units that the host has left before.
    pub left: u64,
}

impl HandleStatistics {
    /// Bytes programmed for each byte that the host wrote; none where it wrote nothing.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        (self.written.0 > 0).then(|| (self.written.0 + self.relocated.0) as f64 / self.written.0 as f64)
    }

    /// Those of each handle of a drive.
    pub(crate) fn of(plan: &Plan, counters: &Counters) -> Vec<HandleStatistics> {
        let (groups, page) = (plan.groups, plan.layout.page_size.0);
        let of = |number: u16| {
            let at = usize::from(number);
            HandleStatistics {
                identifier: groups.identifier(number),
                written: Bytes(counters.handle_written[at] * page),
                relocated: Bytes(counters.handle_relocated[at] * page),
                filled: counters.handle_filled[at],
                left: counters.handle_left[at],
            }
        };
        (0..groups.streams()).map(of).collect()
    }
}

/// The reclaim units of handles, and what has happened to them.
pub(crate) struct Fdp {
    /// Pages of a reclaim unit.
    unit: u64,
    groups: Groups,
    /// By group and handle: pages that are left of its unit.
    left: Vec<u64>,
    /// By plane: pages that have moved of the block that is being emptied, and their stream.
    moved: Vec<(u64, u16)>,
    /// By logical page: the stream that its newest data on flash was written in, and 1. Data keeps its handle wherever
    /// it is relocated to, also among data of others.
    of: Vec<u8>,
    events: VecDeque<FdpEvent>,
}

impl Fdp {
    /// Of a drive that takes placement hints.
    pub fn new(plan: &Plan) -> Option<Box<Fdp>> {
        let (groups, planes) = (plan.groups, plan.layout.planes as usize);
        let handles = usize::from(groups.streams());
        let unit = u64::from(plan.layout.planes) / u64::from(groups.count) * u64::from(plan.layout.pages);
        let new = || Fdp {
            unit,
            groups,
            left: vec![unit; handles],
            moved: vec![(0, 0); planes],
            of: vec![0; plan.logical_pages as usize],
            events: VecDeque::new(),
        };
        (handles > 0).then(|| Box::new(new()))
    }

    fn tell(&mut self, event: FdpEvent) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The number of the handle of a group whose data a stream takes: what goes past an SLC cache has streams of its
    /// own.
    fn number_of(&self, writes: StreamId) -> usize {
        writes.index() % self.left.len()
    }

    /// A handle of a group writes this many pages in a stream, padding included.
    pub fn writes(&mut self, writes: StreamId, pages: u64, time: Time, counters: &mut Counters) {
        let number = self.number_of(writes);
        let left = &mut self.left[number];
        if *left > pages {
            *left -= pages;
            return;
        }
        *left = self.unit - (pages - *left);
        counters.reclaim_units_filled += 1;
        counters.handle_filled[number] += 1;
        let handle = self.groups.identifier(number as u16);
        self.tell(FdpEvent { kind: FdpEventKind::ImplicitlyModified, time, handle, pages: 0 });
    }

    /// A request names a handle.
    pub fn names(&mut self, handle: u16, time: Time, counters: &mut Counters) {
        if !self.has(handle) {
            counters.invalid_handles += 1;
            self.tell(FdpEvent { kind: FdpEventKind::InvalidPlacement, time, handle, pages: 0 });
        }
    }

    /// A handle is given another reclaim unit; whether it has written to its last one.
    pub fn updates(&mut self, handle: u16, time: Time, counters: &mut Counters) -> bool {
        let Some(number) = self.groups.number(handle) else { return false };
        let left = &mut self.left[usize::from(number)];
        let pages = std::mem::replace(left, self.unit);
        if pages == self.unit {
            return false;
        }
        counters.reclaim_units_left += 1;
        counters.handle_left[usize::from(number)] += 1;
        self.tell(FdpEvent { kind: FdpEventKind::NotWrittenToCapacity, time, handle, pages });
        true
    }

    /// Whether there is such a handle.
    pub fn has(&self, handle: u16) -> bool {
        self.groups.number(handle).is_some()
    }

    /// A page of host data, the newest on flash or not, has been programmed in a stream; what was saved from a broken
    /// part has the handle that it had.
    pub fn programmed(
        &mut self,
        (lpn, is_newest): (Lpn, bool),
        writes: StreamId,
        rescued: bool,
        counters: &mut Counters,
    ) {
        if rescued {
            return self.relocates(lpn, counters);
        }
        let number = self.number_of(writes);
        counters.handle_written[number] += 1;
        if let Some(of) = self.of.get_mut(lpn.0 as usize).filter(|_| is_newest) {
            *of = number as u8 + 1;
        }
    }

    fn relocates(&self, lpn: Lpn, counters: &mut Counters) {
        // Of pages of the map, of parity, and of the initial state nobody knows a handle.
        let of = self.of.get(lpn.0 as usize).copied().unwrap_or(0);
        if let Some(number) = usize::from(of).checked_sub(1) {
            counters.handle_relocated[number] += 1;
        }
    }

    /// A page has moved within a plane: its block's data is of that stream, or of none that is known.
    pub fn moves(&mut self, lpn: Lpn, (plane, number): (PlaneId, u16), counters: &mut Counters) {
        self.relocates(lpn, counters);
        let (pages, of) = &mut self.moved[plane.0 as usize];
        (*pages, *of) = (*pages + 1, number);
    }

    /// What was to move of a block of a plane has.
    pub fn has_moved(&mut self, plane: PlaneId, time: Time) {
        let (pages, number) = std::mem::take(&mut self.moved[plane.0 as usize]);
        if pages > 0 {
            let handle = self.groups.identifier(number);
            self.tell(FdpEvent { kind: FdpEventKind::MediaReallocated, time, handle, pages });
        }
    }
}

/// Placement handles of a drive that takes hints, to be looked at.
#[derive(Clone, Copy)]
pub struct FdpSeen<'a> {
    pub(crate) fdp: &'a Fdp,
    pub(crate) plan: &'a Plan,
    pub(crate) counters: Counters,
}

impl FdpSeen<'_> {
    /// Reclaim unit handles.
    #[must_use]
    pub fn handles(&self) -> u16 {
        self.fdp.groups.handles
    }

    /// Reclaim groups: each has a unit for each handle.
    #[must_use]
    pub fn groups(&self) -> u16 {
        self.fdp.groups.count
    }

    /// Bits of a placement identifier that name the group, which are its most significant ones (Reclaim Group
    /// Identifier Format).
    #[must_use]
    pub fn group_bits(&self) -> u32 {
        self.fdp.groups.bits()
    }

    /// The placement identifiers, group by group.
    pub fn identifiers(&self) -> impl Iterator<Item = u16> + use<'_> {
        (0..self.fdp.groups.streams()).map(|number| self.fdp.groups.identifier(number))
    }

    /// Whether they are initially or persistently isolated (Reclaim Unit Handle Type).
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.plan.config.ftl.isolation
    }

    /// Nominal size of a reclaim unit.
    #[must_use]
    pub fn unit(&self) -> Bytes {
        Bytes(self.fdp.unit * self.plan.layout.page_size.0)
    }

    /// What can still be written to the reclaim unit of a placement identifier (Reclaim Unit Available Media Writes),
    /// if it names one.
    #[must_use]
    pub fn available(&self, identifier: u16) -> Option<Bytes> {
        let left = self.fdp.left[usize::from(self.fdp.groups.number(identifier)?)];
        Some(Bytes(left * self.plan.layout.page_size.0))
    }

    /// What was written and erased since the start.
    #[must_use]
    pub fn statistics(&self) -> FdpStatistics {
        let (layout, counters) = (&self.plan.layout, &self.counters);
        let block = u64::from(layout.pages / layout.stripe) * layout.page_size.0;
        FdpStatistics {
            host_written: Bytes(counters.write_bytes),
            media_written: Bytes(counters.pages_programmed * layout.page_size.0),
            media_erased: Bytes(counters.blocks_erased * block),
        }
    }

    /// What became of the data of each placement identifier, group by group.
    #[must_use]
    pub fn by_handle(&self) -> Vec<HandleStatistics> {
        HandleStatistics::of(self.plan, &self.counters)
    }

    /// The newest events, the oldest first.
    pub fn events(&self) -> impl Iterator<Item = FdpEvent> {
        self.fdp.events.iter().copied()
    }
}

state! {
    Fdp { stored { left, moved, of, events } rebuilt { unit, groups } }
}

stored! {
    FdpEvent { kind, time, handle, pages }
}

stored_enum! {
    FdpEventKind { 0 = NotWrittenToCapacity, 1 = InvalidPlacement, 2 = MediaReallocated, 3 = ImplicitlyModified, }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn data_keeps_the_handle_of_its_newest_write_whichever_program_ends_last() {
        let mut config = Config::default();
        config.set("ftl.hints=2").unwrap();
        let mut fdp = Fdp::new(&config.plan().unwrap()).unwrap();
        let (mut counters, lpn) = (Counters::default(), Lpn(7));
        fdp.programmed((lpn, true), StreamId::new(1), false, &mut counters);
        // The older data of the page, which comes to flash after the newer one.
        fdp.programmed((lpn, false), StreamId::new(0), false, &mut counters);
        fdp.moves(lpn, (PlaneId(0), 0), &mut counters);
        assert_eq!((&counters.handle_written[..2], &counters.handle_relocated[..2]), (&[1, 1][..], &[0, 1][..]));
    }
}
