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
use super::learned::Learning;
use super::placed::Because;
use crate::arena::{AwaitedId, FetchId, OpId};
use crate::flash::op::{Owner, PageOp};
use crate::flash::{QueueId, QueueSet};
use crate::ftl::Location;
use crate::host::Part;
use crate::observe::probe::Probe;
use crate::power::Power;
use crate::streams::StreamId;
use crate::translation::{Awaited, Fetch, Wait, Waiting};

impl<P: Probe> Device<P> {
    /// Something waits for its map entry.
    pub(super) fn await_map(&mut self, what: Waiting) {
        let id = self.map.waiting.insert(Awaited { what, next: None });
        if self.map.learned.is_some() {
            if !Learning::of(self).reads_prediction(id) {
                self.resume(id, &mut None);
            }
            return;
        }
        if self.map.rewrites >= self.core.plan.config.mapping.writes && self.core.life.read_only.is_none() {
            self.map.stalled.push(&mut self.map.waiting, id);
        } else {
            self.fetch_for(id);
        }
    }

    fn fetch_for(&mut self, id: AwaitedId) {
        // What is read for a command is of its submission queue.
        let (lpn, owner) = match self.map.waiting[id].what {
            Waiting::Part { command, lpn, .. } => {
                (lpn, Some(self.host.queue_of(&self.host.commands[command].request) as u16))
            }
            Waiting::Program(op) => (self.flash.ops[op].lpn.get(), None),
        };
        match self.map.wait(id, lpn, owner) {
            Wait::Over => self.resume(id, &mut None),
            Wait::Joins => {}
            Wait::Reads(fetch) => {
                let group = self.map.fetches[fetch].group;
                if self.read_line(group, Some(fetch)) {
                    let page = self.map.page_of(group) as usize;
                    self.map.reading[page] = Some(fetch);
                } else {
                    self.line_fetched(fetch);
                }
            }
        }
    }

    /// Reads a group from its translation page; whether there is one to read.
    fn read_line(&mut self, group: u32, fetch: Option<FetchId>) -> bool {
        let lpn = self.core.plan.map_page(self.map.page_of(group));
        let Location::Flash(ppn) = self.ftl.locate(lpn) else { return false };
        let bytes = self.core.plan.read_transfer(0, self.core.plan.config.mapping.entry_group.0 as u32);
        self.core.counters.map_reads += 1;
        self.flash().queue_read(Class::InternalRead, Owner::MapFetch(fetch), lpn, ppn, (bytes, 0));
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
        let page = self.map.page_of(group) as usize;
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
        let cache = self.map.cache.as_mut().expect("Invariant: only groups of a cached map are entered");
        if let Some(page) = cache.insert(group, owner, dirty) {
            self.rewrite(page);
        }
    }

    /// The map entry that something waited for is here. `sensed`: see [`super::read::ReadsAt::read_part`].
    pub(super) fn resume(&mut self, id: AwaitedId, sensed: &mut Option<(OpId, Lpn)>) {
        let what = self.map.waiting[id].what;
        self.map.waiting.release(id);
        match what {
            Waiting::Part { command, lpn, from, to } => {
                *sensed = sensed.filter(|(op, _)| self.flash.ops[*op].owner == Owner::Host(command));
                self.reads().read_part(command, Part { lpn, from, to }, sensed);
            }
            Waiting::Program(op) => {
                self.writes.progress -= 1;
                self.dispatch().place(op);
                self.dispatch().pools();
            }
        }
    }

    /// The drive has changed a page's entry.
    #[inline]
    pub(super) fn map_changed(&mut self, lpn: Lpn) {
        if let Some(group) = self.map.changed(lpn) {
            self.map.unawaited += u32::from(self.read_line(group, None));
            self.enter_line(group, None, true);
        }
    }

    /// A collection has gained this many pages: the map may have half of them.
    pub(super) fn rewrite_touched(&mut self, gained: u32) {
        // Of a map that is all in memory no page is behind, whatever `mapping.writes` would be.
        if self.map.cache.is_none() {
            return;
        }
        self.map.earn(gained);
        while let Some(page) = self.map.next_behind(self.core.counters.user_pages_programmed, &self.core.plan) {
            self.rewrite(page);
        }
    }

    /// A translation page with changed entries goes to flash.
    pub(super) fn rewrite(&mut self, page: u32) {
        if self.map.rewrite(page) {
            self.start_rewrite(page);
        }
    }

    fn start_rewrite(&mut self, page: u32) {
        let lpn = self.core.plan.map_page(page);
        let bytes = self.core.plan.read_transfer(0, self.core.plan.layout.page_size.0 as u32);
        // A map that is all in memory needs nothing of its old page.
        if let Location::Flash(ppn) = self.ftl.locate(lpn)
            && self.map.cache.is_some()
        {
            self.core.counters.map_reads += 1;
            self.flash().queue_read(Class::InternalRead, Owner::MapRewrite(page), lpn, ppn, (bytes, 0));
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
        if let Owner::MapRewrite(page) = owner
            && self.power.is_some()
        {
            self.power_at().compose_map_page(page, lpn.get());
        }
        self.program_own(id);
    }

    /// Programs a page of the drive's own: a translation page, or one of the journal.
    pub(super) fn program_own(&mut self, id: OpId) {
        let unit = self.core.plan.unit_pages;
        if self.map.filled == 0 {
            self.map.plane = self.ftl.next_map_plane(self.map.plane, &self.map.held, &self.core.plan).0;
        }
        self.map.filled = (self.map.filled + 1) % unit;
        self.map.held[self.map.plane as usize] += 1;
        let (die, plane) = self.core.plan.layout.die_of(nand::PlaneId(self.map.plane));
        let seq = self.flash.number();
        let op = &mut self.flash.ops[id];
        (op.die, op.queue, op.seq) = (die, QueueId::of_programs(StreamId::MAP, plane.into()), seq);
        self.flash().queue_program(id);
        let many = self.map.rewrites >= self.core.plan.config.mapping.writes;
        let most = self.map.most_for_checkpoint(&self.core.plan);
        let awaited = |power: &Power| power.awaits_map(most) || power.awaits_journal();
        if many || self.power.as_deref().is_some_and(awaited) {
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

    /// A translation page is on flash.
    pub(super) fn map_rewritten(&mut self, id: OpId, page: u32) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.is_placed(lpn, ppn, Because::Rewritten);
        if self.power.as_ref().is_some_and(|power| power.checkpoints.waits_for(page)) {
            self.core.counters.checkpoint_programs += 1;
        } else {
            self.core.counters.map_programs += 1;
        }
        if self.map.rewritten(page) {
            return self.start_rewrite(page);
        }
        if let Some(power) = &mut self.power {
            power.checkpoints.page_rests(page);
        }
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
