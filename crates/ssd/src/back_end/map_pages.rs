//! The map's pages on flash: groups of entries that are read into its cache, translation pages that go to flash with
//! their changes, and pages of the drive's own in general, which share program units. What waits for an entry is in
//! `mapping.rs`.

use nand::DieId;
use schemes::Class;
use units::{Lpn, Ppn};

use crate::arena::{FetchId, OpId};
use crate::core::Core;
use crate::flash::op::{Owner, PageOp};
use crate::flash::{Flash, FlashAt, QueueId, QueueSet};
use crate::ftl::{Ftl, Location};
use crate::observe::probe::Probe;
use crate::power::Power;
use crate::power::media::{Change, Content, Entries, JournalPage, Mapped};
use crate::streams::StreamId;
use crate::translation::TranslationPages;
use crate::writes::Writes;

/// What a map's pages on flash have to do with.
pub(super) struct MapAt<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a Writes,
    pub map: &'a mut TranslationPages,
    pub power: Option<&'a mut Power>,
}

impl<P: Probe> MapAt<'_, P> {
    /// The flash as it stands now.
    pub fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: self.flash, core: self.core, placement: self.ftl }
    }

    /// The drive has changed a page's entry.
    #[inline]
    pub fn map_changed(&mut self, lpn: Lpn) {
        if let Some(group) = self.map.changed(lpn) {
            self.map.unawaited += u32::from(self.read_line(group, None));
            self.enter_line(group, None, true);
        }
    }

    /// Puts a group into the cache; what has to go for it is written back.
    pub fn enter_line(&mut self, group: u32, owner: Option<u16>, dirty: bool) {
        let cache = self.map.cache.as_mut().expect("Invariant: only groups of a cached map are entered");
        if let Some(page) = cache.insert(group, owner, dirty) {
            self.rewrite(page);
        }
    }

    /// Reads a group from its translation page; whether there is one to read.
    pub fn read_line(&mut self, group: u32, fetch: Option<FetchId>) -> bool {
        let lpn = self.core.plan.map_page(self.map.page_of(group));
        let Location::Flash(ppn) = self.ftl.locate(lpn) else { return false };
        let bytes = self.core.plan.read_transfer(0, self.core.plan.config.mapping.entry_group.0 as u32);
        self.core.counters.map_reads += 1;
        self.flash().queue_read(Class::InternalRead, Owner::MapFetch(fetch), lpn, ppn, (bytes, 0));
        true
    }

    /// A collection has gained this many pages: the map may have half of them.
    pub fn rewrite_touched(&mut self, gained: u32) {
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
    pub fn rewrite(&mut self, page: u32) {
        if self.map.rewrite(page) {
            self.start_rewrite(page);
        }
    }

    pub fn start_rewrite(&mut self, page: u32) {
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
            let nowhere = (DieId(0), QueueId::of_programs(StreamId::MAP, 0));
            let id = self.flash.ops.insert(PageOp::new(Owner::MapRewrite(page), lpn, Ppn(0), nowhere, bytes));
            self.rewrite_map(id);
        }
    }

    /// A translation page has been read: it is programmed with its changes.
    pub fn rewrite_map(&mut self, id: OpId) {
        let PageOp { owner, lpn, .. } = self.flash.ops[id];
        if let Owner::MapRewrite(page) = owner {
            self.compose_map_page(page, lpn.get());
        }
        self.program_own(id);
    }

    /// Programs a page of the drive's own: a translation page, or one of the journal.
    fn program_own(&mut self, id: OpId) {
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
    pub fn force_map_unit(&mut self) {
        let (die, plane) = self.core.plan.layout.die_of(nand::PlaneId(self.map.plane));
        self.flash().force_plane(die, plane, QueueSet::of_programs(StreamId::MAP));
        self.map.filled = 0;
    }

    /// A page of the drive's own does not stand any more where it does, if it is on flash: returns where.
    pub fn leaves_plane(&mut self, lpn: Lpn) -> Option<Ppn> {
        let Location::Flash(ppn) = self.ftl.locate(lpn) else { return None };
        self.map.held[self.core.plan.layout.plane_of(ppn).0 as usize] -= 1;
        Some(ppn)
    }

    /// A translation page is about to be programmed: it says where those of its pages are that are not as at the start.
    fn compose_map_page(&mut self, page: u32, lpn: Lpn) {
        let Some(power) = &mut self.power else { return };
        let entries = u64::from(self.core.plan.space.map_entries);
        let first = u64::from(page) * entries;
        let pages = (first..(first + entries).min(self.core.plan.logical_pages)).map(Lpn);
        let change = |lpn: Lpn| {
            let to = match self.ftl.flash_version(lpn, &self.writes.buffer) {
                Some(place) => Mapped { place: Some(place), version: power.flash.page(place)?.version },
                None => Mapped { place: None, version: *power.trims.get(&lpn)? },
            };
            Some(Change { lpn, to })
        };
        let entries = Entries { begun: power.begun(), changes: pages.filter_map(change).collect() };
        let version = power.next_version();
        power.own.insert(lpn, (version, Content::Map(entries)));
    }

    pub fn program_journal(&mut self, place: u32, page: JournalPage) {
        let lpn = self.core.plan.journal_page(place);
        let Some(power) = &mut self.power else { return };
        let version = power.next_version();
        power.own.insert(lpn, (version, Content::Journal(page)));
        let bytes = self.core.plan.layout.page_size.0 as u32;
        // Where it goes is decided next.
        let nowhere = (DieId(0), QueueId::of_programs(StreamId::MAP, 0));
        let id = self.flash.ops.insert(PageOp::new(Owner::Journal(place), lpn, Ppn(0), nowhere, bytes));
        self.program_own(id);
    }

    /// The pages of a checkpoint are on flash: where all translation pages are goes into the journal.
    pub fn list_map_pages(&mut self) {
        let running = self.power.as_ref().and_then(|power| power.checkpoints.running.as_ref());
        let Some(running) = running.filter(|running| running.todo.is_empty() && running.waiting.is_empty()) else {
            return;
        };
        if running.list.is_none() {
            let list = self.places_of_map_pages();
            if let Some(running) = self.power.as_mut().and_then(|power| power.checkpoints.running.as_mut()) {
                running.list = Some(list);
            }
        }
        while let Some(power) = &mut self.power
            && let begun = power.begun()
            && let Some(running) = &mut power.checkpoints.running
            && let Some(list) = &mut running.list
            && !list.is_empty()
        {
            let (place, page) = power.journal.page_of_list(list, running.horizon, begun);
            self.program_journal(place, page);
        }
    }

    pub(super) fn places_of_map_pages(&self) -> Vec<Change> {
        let pages = (0..self.core.plan.space.map_pages).map(|page| self.core.plan.map_page(page));
        let place = |lpn: Lpn| {
            let Location::Flash(place) = self.ftl.locate(lpn) else { return None };
            let version = self.power.as_ref()?.flash.page(place)?.version;
            Some(Change { lpn, to: Mapped { place: Some(place), version } })
        };
        pages.filter_map(place).collect()
    }
}
