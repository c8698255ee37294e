//! The blocks of zones ([`crate::ftl::zones`]): which is open on a plane, which are closed, and which are to be erased.

use std::cmp::Reverse;
use std::collections::VecDeque;

use nand::{Address, PlaneId};
use units::Ppn;

use super::Blocks;
use crate::config::ZonePlan;
use crate::ftl::open::Open;
use crate::ftl::zones::{Apart, IN_ORDER, NONE, ZoneBlocks};
use crate::streams::{RELOCATED, StreamId};

impl Blocks {
    /// A stream's open block that has no room.
    fn full(&self) -> Open {
        Open { block: 0, next_page: self.pages_of_stream(IN_ORDER), erased: true, barrier: 0 }
    }

    /// A page of a zone is about to wait for its program on a plane. Pages come in whole programs.
    pub fn zone_waits(&mut self, zone: u32, plane: PlaneId) {
        let full = self.full();
        let Some(zones) = &mut self.zones else { return };
        let begun = &mut zones.begun[plane.0 as usize];
        let first = *begun == 0;
        *begun = (*begun + 1) % zones.unit;
        if !first {
            return;
        }
        let filling = zones.begin(zone, full);
        zones.fillings[filling as usize].waiting += 1;
        zones.waiting[plane.0 as usize].push_back(filling);
        if zones.waiting[plane.0 as usize].len() == 1 {
            self.turn(plane);
        }
    }

    /// The zone of which pages wait on a plane that are no whole program, and how many these lack.
    pub fn zone_lacks(&self, plane: PlaneId) -> Option<(u32, u32)> {
        let zones = self.zones.as_ref()?;
        let begun = zones.begun[plane.0 as usize];
        let last = zones.waiting[plane.0 as usize].back().filter(|_| begun > 0)?;
        Some((zones.fillings[*last as usize].zone, zones.unit - begun))
    }

    /// The plane's open block is that of the zone whose program is next.
    fn turn(&mut self, plane: PlaneId) {
        let full = self.full();
        let Some(zones) = &self.zones else { return };
        let next = zones.waiting[plane.0 as usize].front();
        let open = next.map(|filling| zones.fillings[*filling as usize].open[zones.place[plane.0 as usize] as usize]);
        self.set_open(plane, IN_ORDER, open.unwrap_or(full));
    }

    /// A page of a block has been given out in a stream.
    pub fn zone_takes(&mut self, plane: PlaneId, stream: StreamId, ppn: Ppn) {
        let Address { block, page, .. } = self.layout().unpack(ppn);
        let index = self.layout().block_index(plane, block);
        let Some(zones) = &mut self.zones else { return };
        if stream != IN_ORDER {
            let moving = zones.moving[plane.0 as usize];
            if stream.is_relocated() && moving != NONE {
                zones.takes(moving, plane, block, index);
            }
            return;
        }
        let id = *zones.waiting[plane.0 as usize].front().expect("Invariant: programs of zones wait in order");
        let filling = &zones.fillings[id as usize];
        let (zone, in_vain) = (filling.zone, filling.in_vain);
        if !in_vain {
            zones.takes(zone, plane, block, index);
        } else if page == 0 {
            zones.doomed[plane.0 as usize].push(block);
        }
        if (page + 1).is_multiple_of(zones.unit) {
            self.zone_has_taken(plane, id);
        }
    }

    /// The pages of a program of a zone have been given out.
    fn zone_has_taken(&mut self, plane: PlaneId, id: u32) {
        let open = self.open_of(plane, IN_ORDER);
        let Some(zones) = &mut self.zones else { return };
        zones.waiting[plane.0 as usize].pop_front();
        let place = zones.place[plane.0 as usize] as usize;
        let filling = &mut zones.fillings[id as usize];
        filling.open[place] = open;
        filling.waiting -= 1;
        if filling.ends {
            self.zone_closes(plane, id);
        }
        self.turn(plane);
    }

    /// The open block of an ended filling on a plane is closed, if nothing waits for it; the filling is forgotten with
    /// the last.
    fn zone_closes(&mut self, plane: PlaneId, id: u32) {
        let full = self.full();
        let Some(zones) = &mut self.zones else { return };
        if !zones.waits(plane, id) {
            let place = zones.place[plane.0 as usize] as usize;
            let open = std::mem::replace(&mut zones.fillings[id as usize].open[place], full);
            if open.next_page < full.next_page {
                self.close(plane, open.block);
            }
        }
        let Some(zones) = &mut self.zones else { return };
        if zones.fillings[id as usize].waiting == 0 && zones.fillings[id as usize].ends {
            zones.fillings[id as usize].ends = false;
            zones.spare.push(id);
        }
    }

    /// No further program of a zone comes: its blocks are closed.
    pub fn zone_ends(&mut self, zone: u32, plan: &ZonePlan) {
        let Some(zones) = &mut self.zones else { return };
        let id = std::mem::replace(&mut zones.filling[zone as usize], NONE);
        if id == NONE {
            return;
        }
        let busy = zones.fillings[id as usize].waiting > 0;
        for plane in plan.planes_of(zone) {
            self.zone_closes(plane, id);
        }
        let Some(zones) = &mut self.zones else { return };
        if busy {
            zones.fillings[id as usize].ends = true;
        } else {
            zones.spare.push(id);
        }
    }

    /// Whether further programs of a zone may come.
    pub fn fills_zone(&self, zone: u32) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.filling[zone as usize] != NONE)
    }

    /// The zone is reset: its blocks, in which nothing is valid any more, are to be erased.
    pub fn zone_resets(&mut self, zone: u32, plan: &ZonePlan) {
        let Some(zones) = &mut self.zones else { return };
        let id = zones.filling[zone as usize];
        if id != NONE {
            zones.fillings[id as usize].in_vain = true;
        }
        for filling in zones.fillings.iter_mut().filter(|filling| filling.zone == zone && filling.ends) {
            filling.in_vain = true;
        }
        self.zone_ends(zone, plan);
        let Some(zones) = &mut self.zones else { return };
        for moving in zones.moving.iter_mut().filter(|moving| **moving == zone) {
            *moving = NONE;
        }
        for (plane, block) in std::mem::take(&mut zones.blocks[zone as usize]) {
            let index = self.layout().block_index(plane, block);
            for relocated in RELOCATED {
                let open = self.open_of(plane, relocated);
                if open.block == block && open.next_page < self.pages_of_stream(relocated) {
                    self.abandon(plane, relocated);
                }
            }
            self.abandon_apart(plane, block);
            let Some(zones) = &mut self.zones else { return };
            zones.owners[index] = NONE;
            zones.doomed[plane.0 as usize].push(block);
            self.becomes_candidate(plane, block);
        }
    }

    /// A block of a plane that was a reset zone's and can be erased, if there is one: it is no candidate any more.
    pub fn take_doomed(&mut self, plane: PlaneId) -> Option<u32> {
        let zones = self.zones.as_ref()?;
        let can = |block: &&u32| self.is_full(plane, **block) && self.live_of_run(plane, **block) == Some(0);
        let block = *zones.doomed[plane.0 as usize].iter().find(can)?;
        let zones = self.zones.as_mut()?;
        zones.doomed[plane.0 as usize].retain(|doomed| *doomed != block);
        self.no_candidate(plane, block);
        Some(block)
    }

    /// Whether blocks of reset zones of a plane wait for their erase.
    #[inline]
    pub fn has_doomed(&self, plane: PlaneId) -> bool {
        self.zones.as_ref().is_some_and(|zones| !zones.doomed[plane.0 as usize].is_empty())
    }

    /// The zone that has a block.
    #[inline]
    pub fn zone_of(&self, plane: PlaneId, block: u32) -> Option<u32> {
        let owner = |zones: &ZoneBlocks| zones.owners[self.layout().block_index(plane, block)];
        self.zones.as_deref().map(owner).filter(|owner| *owner != NONE)
    }

    /// The data of a block begins to move: what is relocated on its plane is of one zone, or of none, from now on.
    pub fn zone_moves(&mut self, plane: PlaneId, block: u32) {
        let from = self.layout().block_index(plane, block);
        if let Some(zones) = &self.zones {
            self.zone_relocates(plane, zones.owners[from]);
        }
    }

    /// What is relocated on a plane is of that zone, or of none, from now on.
    fn zone_relocates(&mut self, plane: PlaneId, owner: u32) {
        let Some(zones) = &mut self.zones else { return };
        zones.moving[plane.0 as usize] = owner;
        // What was converted into the cache is folded again.
        if self.begun(plane, StreamId::CONVERTED).is_some_and(|of| of.zone != owner) {
            self.abandon(plane, StreamId::CONVERTED);
        }
        let begun = self.begun(plane, StreamId::RELOCATED);
        if begun.is_some_and(|of| of.zone == owner) {
            return;
        }
        let Some(mut zones) = self.zones.take() else { return };
        let (waits, next) = zones.relocates(plane, begun, owner, |block| self.in_slc(plane, block));
        self.zones = Some(zones);
        if begun.is_some() && !waits {
            self.abandon(plane, StreamId::RELOCATED);
        }
        if let Some(open) = next.or(begun.map(|of| Open { next_page: self.layout().pages, ..of.open })) {
            self.set_open(plane, StreamId::RELOCATED, open);
        }
    }

    /// The block that a stream of relocated data has begun on a plane, if that has room, and whose data it holds.
    fn begun(&self, plane: PlaneId, stream: StreamId) -> Option<Apart> {
        let open = self.open_of(plane, stream);
        let zone = self.zones.as_ref()?.owners[self.layout().block_index(plane, open.block)];
        (open.next_page < self.pages_of_stream(stream)).then_some(Apart { zone, open })
    }

    /// A plane is written for a zone that is full when the run begins, or for the conventional ones, not by way of the
    /// SLC cache; the zone before has all of its data.
    pub fn zone_is_filled(&mut self, plane: PlaneId, zone: Option<u32>) {
        let begun = self.begun(plane, StreamId::RELOCATED);
        let Some(zones) = &mut self.zones else { return };
        let before = std::mem::replace(&mut zones.moving[plane.0 as usize], zone.unwrap_or(NONE));
        if before != zone.unwrap_or(NONE) && begun.is_some() {
            self.abandon(plane, StreamId::RELOCATED);
        }
    }

    /// The SLC cache has too few blocks left on a plane, and none of them is full: of those that zones have begun the
    /// fullest is written no further, so that it can be folded.
    pub fn closes_for_folding(&mut self, plane: PlaneId) {
        let (Some(slc), Some(zones)) = (&self.slc, &self.zones) else { return };
        let cache = slc.plane(plane);
        let is_needed = cache.full.is_empty() && cache.kept.is_empty() && slc.is_short(plane, self.free(plane));
        if !is_needed {
            return;
        }
        let (full, next) = (self.full().next_page, zones.waiting[plane.0 as usize].front());
        // What is being programmed becomes full by itself, or is looked at when that has ended.
        let can = |(id, open): &(u32, Open)| {
            Some(id) != next && open.next_page < full && self.pending_in(plane, open.block) == 0
        };
        if let Some((id, open)) =
            zones.open_on(plane).filter(can).max_by_key(|(id, open)| (open.next_page, Reverse(*id)))
        {
            let full = self.full();
            if let Some(zones) = &mut self.zones {
                zones.fillings[id as usize].open[zones.place[plane.0 as usize] as usize] = full;
            }
            self.close(plane, open.block);
        }
    }

    /// A program of a zone has failed in a block: nothing more goes into it.
    pub fn zone_fails(&mut self, plane: PlaneId, block: u32) {
        let full = self.full();
        let Some(zones) = &mut self.zones else { return };
        let place = zones.place[plane.0 as usize] as usize;
        let current = zones.waiting[plane.0 as usize].front().copied();
        let is_open = |open: Open| open.block == block && open.next_page < full.next_page;
        let found = zones.open_on(plane).find(|(_, open)| is_open(*open)).map(|(id, _)| id);
        if let Some(id) = found {
            zones.fillings[id as usize].open[place] = full;
        }
        if current.is_some() && is_open(self.open_of(plane, IN_ORDER)) {
            self.abandon(plane, IN_ORDER);
        } else if found.is_some() {
            self.close(plane, block);
        }
    }

    /// Whether a zone fills a block.
    pub(super) fn is_filled_by_zone(&self, plane: PlaneId, block: u32) -> bool {
        let Some(zones) = &self.zones else { return false };
        let full = self.full().next_page;
        let waits = zones.open_on(plane).any(|(_, open)| open.block == block && open.next_page < full);
        waits || self.is_filled_by(plane, block) == Some(IN_ORDER)
    }

    /// A plane has broken: no zone writes to it any more, and no program of one waits there.
    pub(super) fn zones_leave(&mut self, plane: PlaneId) {
        let full = self.full();
        let Some(zones) = &mut self.zones else { return };
        let place = zones.place[plane.0 as usize] as usize;
        let open: Vec<(u32, Open)> = zones.open_on(plane).filter(|(_, open)| open.next_page < full.next_page).collect();
        let waiting = std::mem::take(&mut zones.waiting[plane.0 as usize]);
        zones.begun[plane.0 as usize] = 0;
        zones.moving[plane.0 as usize] = NONE;
        zones.doomed[plane.0 as usize].clear();
        for id in waiting {
            let filling = &mut zones.fillings[id as usize];
            filling.waiting -= 1;
            if filling.waiting == 0 && std::mem::take(&mut filling.ends) {
                zones.spare.push(id);
            }
        }
        for (id, open) in open {
            if let Some(zones) = &mut self.zones {
                zones.fillings[id as usize].open[place] = full;
            }
            self.close(plane, open.block);
        }
    }

    /// A block holds nothing any more.
    pub(super) fn zone_loses(&mut self, plane: PlaneId, block: u32) {
        let index = self.layout().block_index(plane, block);
        if let Some(zones) = &mut self.zones {
            zones.leaves(plane, block, index);
        }
    }

    /// The open block of a zone on a plane, and its next page, if that block is not full.
    pub fn open_of_zones(&self, plane: PlaneId, block: u32) -> Option<u32> {
        let zones = self.zones.as_ref()?;
        let full = self.full().next_page;
        if zones.waiting[plane.0 as usize].front().is_some() {
            let open = self.open_of(plane, IN_ORDER);
            if open.block == block && open.next_page < full {
                return Some(open.next_page);
            }
        }
        let mut opens = zones.open_on(plane).map(|(_, open)| open);
        opens.find(|open| open.block == block && open.next_page < full).map(|open| open.next_page)
    }

    /// The power is cut: nothing waits any more. The table of zones, which is kept by capacitors, says which blocks are
    /// open for each.
    pub fn zones_stop(&mut self) {
        let full = self.full();
        let Some(zones) = &self.zones else { return };
        let planes = (0..zones.place.len() as u32).map(PlaneId);
        let open: Vec<Open> = planes.map(|plane| self.open_of(plane, IN_ORDER)).collect();
        let Some(zones) = &mut self.zones else { return };
        for (plane, open) in open.into_iter().enumerate() {
            if let Some(filling) = zones.waiting[plane].front().filter(|_| open.next_page < full.next_page) {
                zones.fillings[*filling as usize].open[zones.place[plane] as usize] = open;
            }
        }
        zones.waiting.iter_mut().for_each(VecDeque::clear);
        zones.begun.fill(0);
        self.relocated_stop();
        let Some(zones) = &mut self.zones else { return };
        zones.moving.fill(NONE);
        for (id, filling) in (0..).zip(&mut zones.fillings) {
            filling.waiting = 0;
            if std::mem::take(&mut filling.ends) {
                filling.open.fill(full);
                zones.spare.push(id);
            }
        }
    }

    /// The blocks are as they were found after a power cut: those of zones that are being written go on being so. What
    /// was erased is nobody's.
    pub fn zones_go_on(&mut self) {
        let full = self.full();
        let Some(mut zones) = self.zones.take() else { return };
        for plane in (0..zones.place.len() as u32).map(PlaneId) {
            let open = self.open_of(plane, IN_ORDER);
            if open.next_page < full.next_page {
                self.set_open(plane, IN_ORDER, full);
                self.close(plane, open.block);
            }
            for block in 0..self.layout().blocks {
                if self.live_of_run(plane, block).is_none() {
                    let index = self.layout().block_index(plane, block);
                    zones.leaves(plane, block, index);
                }
            }
            self.relocated_go_on(plane, &mut zones);
            let here: Vec<(u32, Open)> =
                zones.open_on(plane).filter(|(_, open)| open.next_page < full.next_page).collect();
            for (id, open) in here {
                let next_page = self.reopen(plane, open.block).unwrap_or(full.next_page);
                let place = zones.place[plane.0 as usize] as usize;
                zones.fillings[id as usize].open[place] = Open { next_page, erased: true, barrier: 0, ..open };
            }
        }
        self.zones = Some(zones);
    }

    /// Where zones are written by way of the SLC cache: the table says which block relocated data of each goes on with.
    fn relocated_stop(&mut self) {
        let planes = self.zones.as_ref().filter(|zones| zones.cached).map_or(0, |zones| zones.place.len() as u32);
        for plane in (0..planes).map(PlaneId) {
            self.zone_relocates(plane, NONE);
            let begun = self.begun(plane, StreamId::RELOCATED);
            if let Some(zones) = &mut self.zones {
                zones.apart[plane.0 as usize].extend(begun);
            }
        }
    }

    /// See [`Blocks::relocated_stop`].
    fn relocated_go_on(&mut self, plane: PlaneId, zones: &mut ZoneBlocks) {
        if !zones.cached {
            return;
        }
        let open = self.open_of(plane, StreamId::RELOCATED);
        if open.next_page < self.layout().pages {
            self.abandon(plane, StreamId::RELOCATED);
        }
        for of in std::mem::take(&mut zones.apart[plane.0 as usize]) {
            if let Some(next_page) = self.reopen(plane, of.open.block) {
                let open = Open { next_page, erased: true, barrier: 0, ..of.open };
                zones.apart[plane.0 as usize].push(Apart { open, ..of });
            }
        }
    }
}
