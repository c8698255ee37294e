//! The map on its way to flash: its changes by way of the journal, its translation pages by way of checkpoints.

use nand::DieId;
use units::{Lpn, Ppn};

use super::Device;
use super::placed::Because;
use super::power::PowerAt;
use crate::arena::{CommandId, OpId};
use crate::flash::op::{Owner, PageOp};
use crate::flash::{QueueId, QueueSet};
use crate::ftl::Location;
use crate::observe::probe::Probe;
use crate::power::media::{Change, Content, JournalPage, Mapped};
use crate::streams::StreamId;

impl<P: Probe> PowerAt<'_, P> {
    /// The data of a page is on a page of the flash now: what is to be known of that after a power cut.
    pub(super) fn map_names(&mut self, lpn: Lpn, ppn: Ppn, because: Because) {
        let power = &mut *self.power;
        let before = match because {
            Because::Written(_) => None,
            Because::Relocated(source) => Some(source),
            Because::Rewritten => {
                power.own.remove(&lpn);
                None
            }
            Because::Journaled(place) => {
                power.own.remove(&lpn);
                if let Some(index) = power.journal.programmed(place) {
                    power.flash.anchor.journal.push((index, ppn));
                }
                return;
            }
            // Its page on flash says what it is of; a page that moves is told of as any other.
            Because::Parity(_) => return,
        };
        if lpn.0 >= self.core.plan.logical_pages + u64::from(self.core.plan.space.map_pages) {
            return power.flash.anchor.moved(before, ppn);
        }
        let version = power.flash.page(ppn).map_or(0, |page| page.version);
        power.trims.remove(&lpn);
        power.flash.anchor.lost.remove(&lpn);
        power.checkpoints.changes(lpn);
        power.journal.add(Change { lpn, to: Mapped { place: Some(ppn), version } });
    }

    /// A translation page is about to be programmed: it says where those of its pages are that are not as at the start.
    pub(super) fn compose_map_page(&mut self, page: u32, lpn: Lpn) {
        let power = &mut *self.power;
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
        let content = Content::Map(pages.filter_map(change).collect());
        let version = power.next_version();
        power.own.insert(lpn, (version, content));
    }

    fn places_of_map_pages(&self) -> Vec<Change> {
        let pages = (0..self.core.plan.space.map_pages).map(|page| self.core.plan.map_page(page));
        let place = |lpn: Lpn| {
            let Location::Flash(place) = self.ftl.locate(lpn) else { return None };
            let version = self.power.flash.page(place)?.version;
            Some(Change { lpn, to: Mapped { place: Some(place), version } })
        };
        pages.filter_map(place).collect()
    }
}

impl<P: Probe> Device<P> {
    /// A part of the flash has broken: translation pages that it held are programmed again, with a checkpoint that begins as soon as it can,
    /// after which no page of the journal matters that it held.
    pub(super) fn map_is_damaged(&mut self) {
        let is_broken = |page: &u32| match self.ftl.locate(self.core.plan.map_page(*page)) {
            Location::Flash(ppn) => self.flash.is_broken(ppn),
            _ => false,
        };
        if self.power.is_none() {
            return;
        }
        let pages: Vec<u32> = (0..self.core.plan.space.map_pages).filter(is_broken).collect();
        let Some(power) = &mut self.power else { return };
        pages.into_iter().for_each(|page| power.checkpoints.page_changes(page));
        power.checkpoints.want();
        self.map_survives();
    }

    /// Programs what the journal has gathered, as far as it is due, and goes on with checkpoints.
    pub(super) fn map_survives(&mut self) {
        while let Some(power) = &mut self.power
            && power.recovering.is_none()
            && self.core.life.read_only.is_none()
        {
            let horizon = power.horizon();
            let Some((place, page)) = power.journal.page(horizon) else { break };
            self.program_journal(place, page);
        }
        self.checkpoint_goes_on();
        if self.map.filled > 0 && self.power.as_ref().is_some_and(|power| power.awaits_journal()) {
            self.force_map_unit();
        }
    }

    fn program_journal(&mut self, place: u32, page: JournalPage) {
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

    /// A page of the journal is on flash.
    pub(super) fn journal_programmed(&mut self, id: OpId, place: u32) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.core.counters.journal_programs += 1;
        self.is_placed(lpn, ppn, Because::Journaled(place));
        while let Some(command) = self.power.as_mut().and_then(|power| power.journal.flushed()) {
            self.host.acknowledge_now(&mut self.core, command);
        }
    }

    /// A flush's data is on flash: it ends when the map's changes are as well.
    pub(super) fn end_flush(&mut self, command: CommandId) {
        let waits = self.power.as_ref().is_some_and(|power| !power.journal.is_durable());
        if !waits {
            return self.host.acknowledge_now(&mut self.core, command);
        }
        if let Some(power) = &mut self.power {
            power.journal.await_changes(command);
        }
        self.map_survives();
    }

    /// Begins a checkpoint that is due, and goes on with the one that is being taken.
    fn checkpoint_goes_on(&mut self) {
        let Some(power) = &mut self.power else { return };
        if power.recovering.is_some() || self.core.life.read_only.is_some() {
            return;
        }
        let long = power.journal.is_long();
        if power.checkpoints.is_due(long) {
            power.checkpoints.begin(power.journal.next(), power.horizon());
        }
        let most = self.map.most_for_checkpoint(&self.core.plan);
        while let Some(running) = self.power.as_mut().and_then(|power| power.checkpoints.running.as_mut())
            && running.waiting.len() < most
            && let Some(page) = running.todo.pop()
        {
            running.waiting.push(page);
            self.rewrite(page);
        }
        if self.power.as_ref().is_some_and(|power| power.awaits_map(most)) {
            // Partly filled units of the map's pages go.
            self.flash.die_ids().for_each(|die| self.flash().force_die(die, QueueSet::of_programs(StreamId::MAP)));
        }
        self.list_map_pages();
        self.end_checkpoint();
    }

    /// The pages of a checkpoint are on flash: where all translation pages are goes into the journal.
    fn list_map_pages(&mut self) {
        let running = self.power.as_ref().and_then(|power| power.checkpoints.running.as_ref());
        let Some(running) = running.filter(|running| running.todo.is_empty() && running.waiting.is_empty()) else {
            return;
        };
        if running.list.is_none() {
            let list = self.power_at().places_of_map_pages();
            if let Some(running) = self.power.as_mut().and_then(|power| power.checkpoints.running.as_mut()) {
                running.list = Some(list);
            }
        }
        while let Some(power) = &mut self.power
            && let Some(running) = &mut power.checkpoints.running
            && let Some(list) = &mut running.list
            && !list.is_empty()
        {
            let (place, page) = power.journal.page_of_list(list, running.horizon);
            self.program_journal(place, page);
        }
    }

    /// Ends a checkpoint whose list is on flash: the journal before it is needless.
    fn end_checkpoint(&mut self) {
        let Some(power) = &mut self.power else { return };
        let Some(running) = &power.checkpoints.running else { return };
        let first = running.first;
        if running.list.is_none() || !power.journal.is_programmed_before(first) {
            return;
        }
        power.checkpoints.running = None;
        self.core.counters.checkpoints += 1;
        let mut needless = power.journal.switch_lists();
        needless.extend(power.journal.drop_before(first));
        power.flash.anchor.first = first;
        power.flash.anchor.journal.retain(|(index, _)| *index >= first);
        let list: Vec<u32> = power.journal.list().collect();
        let places = list.into_iter().filter_map(|place| match self.ftl.locate(self.core.plan.journal_page(place)) {
            Location::Flash(ppn) => Some(Some(ppn)),
            _ => None,
        });
        let places = places.collect();
        if let Some(power) = &mut self.power {
            power.flash.anchor.list = places;
        }
        for place in needless {
            let lpn = self.core.plan.journal_page(place);
            match self.leaves_plane(lpn) {
                Some(ppn) => self.is_dropped(lpn, ppn),
                None => self.ftl.trim(lpn),
            }
        }
        self.map_survives();
    }
}
