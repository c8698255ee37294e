//! The map on its way to flash: its changes by way of the journal, its translation pages by way of checkpoints.

use super::BackEnd;
use super::map_pages::MapAt;
use super::placed::Because;
use crate::arena::{CommandId, OpId};
use crate::flash::QueueSet;
use crate::ftl::Location;
use crate::observe::probe::Probe;
use crate::streams::StreamId;

impl<P: Probe> MapAt<'_, P> {
    /// Programs what the journal has gathered, as far as it is due.
    fn journal_goes_on(&mut self) {
        while let Some(power) = self.power.as_deref_mut()
            && power.recovering.is_none()
            && self.core.life.read_only.is_none()
        {
            let (horizon, begun) = (power.horizon(), power.begun());
            let Some((place, page)) = power.journal.page(horizon, begun) else { break };
            self.program_journal(place, page);
        }
    }

    /// Begins a checkpoint that is due, and goes on with the one that is being taken; whether there may be one.
    fn checkpoint_goes_on(&mut self) -> bool {
        let Some(power) = self.power.as_deref_mut() else { return false };
        if power.recovering.is_some() || self.core.life.read_only.is_some() {
            return false;
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
        true
    }

    /// A partly filled unit of the map goes where a page of the journal, or of a list, is waited for.
    fn force_awaited(&mut self) {
        if self.map.filled > 0 && self.power.as_ref().is_some_and(|power| power.awaits_journal()) {
            self.force_map_unit();
        }
    }
}

impl<P: Probe> BackEnd<P> {
    /// A part of the flash has broken: translation pages that it held are programmed again, with a checkpoint that
    /// begins as soon as it can, after which no page of the journal matters that it held.
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
        loop {
            self.map_at().journal_goes_on();
            if !(self.map_at().checkpoint_goes_on() && self.end_checkpoint()) {
                break;
            }
        }
        self.map_at().force_awaited();
    }

    /// A page of the journal is on flash.
    pub(super) fn journal_programmed(&mut self, id: OpId, place: u32) {
        let (lpn, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        self.core.counters.journal_programs += 1;
        self.is_placed(lpn, ppn, Because::Journaled(place));
        while let Some(command) = self.power.as_mut().and_then(|power| power.journal.flushed()) {
            self.commands.acknowledge_now(&mut self.core, command);
        }
    }

    /// A flush's data is on flash: it ends when the map's changes are as well.
    pub(super) fn end_flush(&mut self, command: CommandId) {
        let waits = self.power.as_ref().is_some_and(|power| !power.journal.is_durable());
        if !waits {
            return self.commands.acknowledge_now(&mut self.core, command);
        }
        if let Some(power) = &mut self.power {
            power.journal.await_changes(command);
        }
        self.map_survives();
    }

    /// Ends a checkpoint whose list is on flash: the journal before it is needless. Whether it has ended.
    fn end_checkpoint(&mut self) -> bool {
        let Some(power) = &mut self.power else { return false };
        let Some(running) = &power.checkpoints.running else { return false };
        let first = running.first;
        if running.list.is_none() || !power.journal.is_programmed_before(first) {
            return false;
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
            match self.map_at().leaves_plane(lpn) {
                Some(ppn) => self.is_dropped(lpn, ppn),
                None => self.ftl.trim(lpn),
            }
        }
        true
    }
}
