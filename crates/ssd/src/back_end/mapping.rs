//! The map on flash, behind its cache: misses, fetches, write-backs.
//!
//! A host read whose entry is not cached waits for a read of its translation page; so does a page on its way from the
//! buffer to flash, since its old place must be known, before what it lacks is read there. What programs and trims
//! change is entered at once, and the read of its group is only counted. A dirty group that goes has its translation
//! page read, changed and programmed; while too many of these are under way, host requests that miss wait.
//!
//! Collection never waits for the map. The new place of a moved page whose group is not cached is kept in memory until
//! its translation page is rewritten, and collections spend at most half of the pages that they gain on such rewrites:
//! so they always gain, however small the cache. Nor do these rewrites keep host requests waiting: they start only
//! while a further translation page could be on its way.

use units::Lpn;

use super::BackEnd;
use super::placed::Because;
use crate::arena::{AwaitedId, FetchId, OpId};
use crate::commands::Part;
use crate::core::Marks;
use crate::flash::op::Owner;
use crate::observe::probe::Probe;
use crate::translation::{Awaited, Fetch, Wait, Waiting};

impl<P: Probe> BackEnd<P> {
    /// Fetches the memory that the look-up of a page will ask.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.ftl.prefetch(lpn);
        if let Some(cache) = &self.map.cache {
            cache.prefetch(lpn);
        }
    }

    /// Fetches the memory that what was fetched before leads to.
    #[inline]
    pub fn prefetch_further(&self, lpn: Lpn) {
        self.ftl.prefetch_further(lpn);
        if let Some(cache) = &self.map.cache {
            cache.prefetch_further(lpn);
        }
    }

    /// Something waits for its map entry.
    pub(super) fn await_map(&mut self, what: Waiting) {
        let id = self.map.waiting.insert(Awaited { what, next: None });
        if self.map.learned.is_some() {
            if !self.learning().reads_prediction(id) {
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
            Waiting::Part { command, lpn, .. } => (lpn, Some(self.commands[command].queue)),
            Waiting::Program(op) => (self.flash.ops[op].lpn.get(), None),
            Waiting::Fill(slot) => (self.writes.buffer[slot].lpn, None),
        };
        match self.map.wait(id, lpn, owner) {
            Wait::Over => self.resume(id, &mut None),
            Wait::Joins => {}
            Wait::Reads(fetch) => {
                let group = self.map.fetches[fetch].group;
                if self.map_at().read_line(group, Some(fetch)) {
                    let page = self.map.page_of(group) as usize;
                    self.map.reading[page] = Some(fetch);
                } else {
                    self.line_fetched(fetch);
                }
            }
        }
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
        self.map_at().enter_line(group, owner, dirty);
        let mut sensed = None;
        while let Some(id) = waiting.pop(&mut self.map.waiting) {
            self.resume(id, &mut sensed);
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
            Waiting::Fill(slot) => {
                self.writes.located.push(slot);
                self.core.marks.set |= Marks::WRITES;
            }
            Waiting::Program(op) => {
                self.writes.progress -= 1;
                self.dispatch().place(op);
                self.dispatch().pools();
            }
        }
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
            return self.map_at().start_rewrite(page);
        }
        if let Some(power) = &mut self.power {
            power.checkpoints.page_rests(page);
        }
        self.resume_stalled();
        self.map_at().rewrite_touched(0);
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
