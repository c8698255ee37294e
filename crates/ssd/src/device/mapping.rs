//! The map on flash, behind its cache: misses, fetches, write-backs.
//!
//! A host read whose entry is not cached waits for a read of its translation page; so does a page on its way from the
//! buffer to flash, since its old place must be known. What programs and trims change is entered at once, and the read
//! of its group is only counted. A dirty group that goes has its translation page read, changed and programmed; while too
//! many of these are under way, host requests that miss wait.
//!
//! Collection never waits for the map. The new place of a moved page whose group is not cached is kept in memory until
//! its translation page is rewritten, and collections spend at most half of the pages that they gain on such rewrites: so
//! they always gain, however small the cache. Nor do these rewrites keep host requests waiting: they start only while a
//! further translation page could be on its way.

use schemes::Class;
use units::{Lpn, Ppn};

use super::Device;
use super::placed::Because;
use crate::arena::{AwaitedId, FetchId, List, OpId};
use crate::config::Placement;
use crate::flash::op::{Owner, PageOp};
use crate::flash::{QueueId, QueueSet};
use crate::ftl::Location;
use crate::ftl::cmt::GroupState;
use crate::observe::probe::Probe;
use crate::streams::StreamId;
use crate::translation::{Awaited, Fetch, Waiting};

impl<P: Probe> Device<P> {
    /// The page that holds a translation page.
    fn map_lpn(&self, page: u32) -> Lpn {
        Lpn(self.core.plan.logical_pages + u64::from(page))
    }

    /// Whether a page's map entry is at hand; counts the lookup.
    #[inline]
    pub(super) fn map_ready(&mut self, lpn: Lpn) -> bool {
        let Some(cache) = &mut self.ftl.cmt else { return true };
        self.core.counters.map_lookups += 1;
        let group = cache.group_of(lpn);
        let hit = cache.look_up(group, false);
        self.core.counters.map_hits += u64::from(hit);
        hit
    }

    /// Something waits for its map entry.
    pub(super) fn await_map(&mut self, what: Waiting) {
        let id = self.map.waiting.insert(Awaited { what, next: None });
        if self.map.rewrites >= self.core.plan.config.mapping.writes && self.core.life.read_only.is_none() {
            self.map.stalled.push(&mut self.map.waiting, id);
        } else {
            self.fetch_for(id);
        }
    }

    /// The page whose entry is waited for, and the submission queue of the command that waits.
    fn awaited(&self, id: AwaitedId) -> (Lpn, Option<u16>) {
        match self.map.waiting[id].what {
            Waiting::Part { command, lpn, .. } => {
                (lpn, Some(self.host.queue_of(&self.host.commands[command].request) as u16))
            }
            Waiting::Program(op) => (self.flash.ops[op].lpn.get(), None),
        }
    }

    fn fetch_for(&mut self, id: AwaitedId) {
        let (lpn, owner) = self.awaited(id);
        let group = self.cache().group_of(lpn);
        match self.cache().state(group) {
            GroupState::Here => self.resume(id, &mut None),
            GroupState::Fetching(fetch) => self.map.fetches[fetch].waiting.push(&mut self.map.waiting, id),
            GroupState::Absent => {
                let mut waiting = List::EMPTY;
                waiting.push(&mut self.map.waiting, id);
                let fetch =
                    self.map.fetches.insert(Fetch { group, dirty: false, owner, waiting, next: None, last: None });
                self.cache().set_fetching(group, fetch);
                let page = self.cache().page_of(group) as usize;
                if let Some(first) = self.map.reading[page] {
                    let before = self.map.fetches[first].last.replace(fetch);
                    self.map.fetches[before.unwrap_or(first)].next = Some(fetch);
                } else if self.read_line(group, Some(fetch)) {
                    self.map.reading[page] = Some(fetch);
                } else {
                    self.line_fetched(fetch);
                }
            }
        }
    }

    fn cache(&mut self) -> &mut crate::ftl::cmt::CachedMap {
        self.ftl.cmt.as_mut().expect("Invariant: only a cached map is waited for")
    }

    /// Reads a group from its translation page; whether there is one to read.
    fn read_line(&mut self, group: u32, fetch: Option<FetchId>) -> bool {
        let page = self.cache().page_of(group);
        let lpn = self.map_lpn(page);
        let Location::Flash(ppn) = self.ftl.locate(lpn) else { return false };
        let bytes = self.read_transfer(0, self.core.plan.config.mapping.entry_group.0 as u32);
        self.core.counters.map_reads += 1;
        self.queue_read(Class::InternalRead, Owner::MapFetch(fetch), lpn, ppn, (bytes, 0));
        true
    }

    /// A group has been read.
    pub(super) fn map_fetched(&mut self, id: OpId, first: Option<FetchId>) {
        self.flash.ops.release(id);
        let Some(first) = first else {
            self.map.unawaited -= 1;
            return;
        };
        let group = self.map.fetches[first].group;
        let page = self.cache().page_of(group) as usize;
        self.map.reading[page] = None;
        let mut fetches = Some(first);
        while let Some(fetch) = fetches {
            fetches = self.map.fetches[fetch].next;
            self.line_fetched(fetch);
        }
    }

    fn line_fetched(&mut self, fetch: FetchId) {
        let Fetch { group, dirty, owner, mut waiting, .. } = self.map.fetches[fetch];
        self.map.fetches.release(fetch);
        self.enter_line(group, owner, dirty);
        let mut sensed = None;
        while let Some(id) = waiting.pop(&mut self.map.waiting) {
            self.resume(id, &mut sensed);
        }
    }

    /// Puts a group into the cache; what has to go for it is written back.
    fn enter_line(&mut self, group: u32, owner: Option<u16>, dirty: bool) {
        if let Some(page) = self.cache().insert(group, owner, dirty) {
            self.rewrite(page);
        }
    }

    /// The map entry that something waited for is here. `sensed`: see [`Device::read_part`].
    fn resume(&mut self, id: AwaitedId, sensed: &mut Option<(OpId, Lpn)>) {
        let what = self.map.waiting[id].what;
        self.map.waiting.release(id);
        match what {
            Waiting::Part { command, lpn, from, to } => {
                *sensed = sensed.filter(|(op, _)| self.flash.ops[*op].owner == Owner::Host(command));
                self.read_part(command, self.host.commands[command].id, (lpn, from, to), sensed);
            }
            Waiting::Program(op) => {
                self.writes.progress -= 1;
                self.place_program(op);
                self.dispatch_pools();
            }
        }
    }

    /// The drive has changed a page's entry.
    #[inline]
    pub(super) fn map_changed(&mut self, lpn: Lpn) {
        if self.ftl.cmt.is_some() && lpn.0 < self.core.plan.logical_pages {
            self.change_entry(lpn);
        }
    }

    fn change_entry(&mut self, lpn: Lpn) {
        let group = self.cache().group_of(lpn);
        match self.cache().state(group) {
            GroupState::Here => {
                self.cache().look_up(group, true);
            }
            GroupState::Fetching(fetch) => self.map.fetches[fetch].dirty = true,
            GroupState::Absent => {
                self.map.unawaited += u32::from(self.read_line(group, None));
                self.enter_line(group, None, true);
            }
        }
    }

    /// A page has moved.
    #[inline]
    pub(super) fn map_moved(&mut self, lpn: Lpn) {
        if self.ftl.cmt.is_none() || lpn.0 >= self.core.plan.logical_pages {
            return;
        }
        let group = self.cache().group_of(lpn);
        if self.cache().state(group) != GroupState::Absent {
            return self.change_entry(lpn);
        }
        let page = self.cache().page_of(group);
        if !std::mem::replace(&mut self.map.is_touched[page as usize], true) {
            self.map.dirty.push_back(page);
        }
    }

    /// A collection has gained so many pages: the map may have half of them. What host requests wait for goes first: of the
    /// translation pages that may be on their way to flash, these rewrites leave the last to them.
    pub(super) fn rewrite_touched(&mut self, gained: u32) {
        // Of a map that is all in memory no page is behind, whatever `mapping.writes` would be.
        if self.ftl.cmt.is_none() {
            return;
        }
        // The fewer translation pages go to flash at once, the more of each program is padding.
        let unit = self.core.plan.unit_pages;
        let cost = unit.div_ceil(unit.min(self.core.plan.config.mapping.writes));
        self.map.earned += gained / 2;
        let most = self.core.plan.config.mapping.writes.max(2);
        // No more than the host writes: these rewrites would else make the next collection necessary, which would move the
        // next pages, without end.
        let limit = self.core.counters.user_pages_programmed + u64::from(self.core.plan.layout.pages);
        while self.map.earned >= cost && self.map.rewrites + 1 < most && self.map.spent < limit {
            let Some(page) = self.map.dirty.pop_front() else {
                self.map.earned = 0;
                return;
            };
            // It may have been rewritten for another reason since.
            if self.map.is_touched[page as usize] {
                self.rewrite(page);
                self.map.earned -= cost;
                self.map.spent += u64::from(cost);
            }
        }
    }

    /// A translation page with changed entries goes to flash.
    pub(super) fn rewrite(&mut self, page: u32) {
        self.map.is_touched[page as usize] = false;
        let state = &mut self.map.rewriting[page as usize];
        *state += 1;
        if *state > 1 {
            *state = 2;
            return;
        }
        self.map.rewrites += 1;
        self.start_rewrite(page);
    }

    fn start_rewrite(&mut self, page: u32) {
        let lpn = self.map_lpn(page);
        let bytes = self.read_transfer(0, self.core.plan.layout.page_size.0 as u32);
        // A map that is all in memory needs nothing of its old page.
        if let Location::Flash(ppn) = self.ftl.locate(lpn)
            && self.ftl.cmt.is_some()
        {
            self.core.counters.map_reads += 1;
            self.queue_read(Class::InternalRead, Owner::MapRewrite(page), lpn, ppn, (bytes, 0));
        } else {
            // Where it goes is decided next.
            let nowhere = (nand::DieId(0), QueueId::of_programs(StreamId::MAP, 0));
            let id = self.flash.ops.insert(PageOp::new(Owner::MapRewrite(page), lpn, Ppn(0), nowhere, bytes));
            self.rewrite_map(id);
        }
    }

    /// A translation page has been read: it is programmed with its changes.
    pub(super) fn rewrite_map(&mut self, id: OpId) {
        let PageOp { owner, lpn, .. } = self.flash.ops[id];
        if let Owner::MapRewrite(page) = owner {
            self.compose_map_page(page, lpn.get());
        }
        self.program_own(id);
    }

    /// Programs a page of the drive's own: a translation page, or one of the journal.
    pub(super) fn program_own(&mut self, id: OpId) {
        let unit = self.core.plan.unit_pages;
        if self.map.filled == 0 {
            self.map.plane = self.next_map_plane();
        }
        self.map.filled = (self.map.filled + 1) % unit;
        self.map.held[self.map.plane as usize] += 1;
        let (die, plane) = self.core.plan.layout.die_of(nand::PlaneId(self.map.plane));
        let seq = self.flash.number();
        let op = &mut self.flash.ops[id];
        (op.die, op.queue, op.seq) = (die, QueueId::of_programs(StreamId::MAP, plane.into()), seq);
        self.flash().queue_program(id);
        let many = self.map.rewrites >= self.core.plan.config.mapping.writes;
        if many || self.map_is_awaited() || self.journal_is_awaited() {
            // Something waits for these: partly filled units go.
            self.force_map_unit();
        }
    }

    /// The program unit that the drive's own pages go into is programmed as it is.
    pub(super) fn force_map_unit(&mut self) {
        let (die, plane) = self.core.plan.layout.die_of(nand::PlaneId(self.map.plane));
        self.flash().force_plane(die, plane, QueueSet::of_programs(StreamId::MAP));
        self.map.filled = 0;
    }

    /// Round robin over the planes that can take data and stay collectable (see `config::space`), those with room first.
    fn next_map_plane(&self) -> u32 {
        let planes = self.core.plan.layout.planes;
        let next = |step: u32| (self.map.plane + step) % planes;
        let stream = self.core.plan.streams.opened_by(StreamId::MAP);
        let works = |plane: &u32| !self.ftl.relocator[nand::PlaneId(*plane)].broken;
        let collectable = |plane: &u32| match self.core.plan.config.ftl.placement {
            Placement::Static => self.map.held[*plane as usize] < self.core.plan.space.map_limit,
            Placement::Dynamic => self.stays_collectable(nand::PlaneId(*plane)),
        };
        let room = |plane: &u32| self.ftl.blocks.room(nand::PlaneId(*plane), stream, false);
        let working = (1..=planes).map(next).filter(works);
        let mut planes = working.clone().filter(collectable);
        let first = planes.clone().next();
        planes.find(room).or(first).or(working.clone().next()).unwrap_or_else(|| next(1))
    }

    /// A translation page is on flash.
    pub(super) fn map_rewritten(&mut self, id: OpId, page: u32) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.is_placed(lpn, ppn, Because::Rewritten);
        if self.is_checkpointed(page) {
            self.core.counters.checkpoint_programs += 1;
        } else {
            self.core.counters.map_programs += 1;
        }
        let state = &mut self.map.rewriting[page as usize];
        *state -= 1;
        if *state > 0 {
            return self.start_rewrite(page);
        }
        self.map.rewrites -= 1;
        self.map_page_rests(page);
        self.resume_stalled();
        self.rewrite_touched(0);
    }

    /// A page of the drive's own does not stand any more where it does, if it is on flash: returns where.
    pub(super) fn leaves_plane(&mut self, lpn: Lpn) -> Option<Ppn> {
        let Location::Flash(ppn) = self.ftl.locate(lpn) else { return None };
        self.map.held[self.core.plan.layout.plane_of(ppn).0 as usize] -= 1;
        Some(ppn)
    }

    /// Lets go on what waited until fewer translation pages were on their way to flash.
    pub(super) fn resume_stalled(&mut self) {
        let most = if self.core.life.read_only.is_some() { u32::MAX } else { self.core.plan.config.mapping.writes };
        while self.map.rewrites < most
            && let Some(id) = self.map.stalled.pop(&mut self.map.waiting)
        {
            self.fetch_for(id);
        }
    }
}
