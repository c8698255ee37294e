//! Changes of the map on their way to flash: gathered until they fill a page, or until a flush wants them there.
//!
//! Pages of the journal are numbered, and each is programmed as a page of the drive's own behind the translation pages: it takes
//! one of a fixed number of places, which are free again when a checkpoint has made the page needless.

use std::collections::VecDeque;

use crate::arena::CommandId;
use crate::config::{CHANGE, Plan};
use crate::persist::{state, stored};
use crate::power::media::{Change, JournalPage};

/// A page of the journal that matters.
#[derive(Clone, Copy, Debug)]
struct Live {
    index: u64,
    /// Which of the drive's own pages it is.
    place: u32,
    /// Changes up to this one are in it or in a page before it.
    upto: u64,
    programmed: bool,
}

/// The journal.
pub(crate) struct Journal {
    /// Changes are written into it, not only the list of a checkpoint's pages.
    gathers: bool,
    /// Changes of a page.
    changes: usize,
    /// Pages that are kept for the list of a checkpoint.
    kept: usize,
    pub tail: Vec<Change>,
    /// Changes that have been gathered, those of them that are in pages, and those of these that are on flash.
    gathered: u64,
    paged: u64,
    durable: u64,
    next: u64,
    horizon: u64,
    live: VecDeque<Live>,
    free: Vec<u32>,
    /// Flushes that wait for changes to be on flash.
    pub flushes: VecDeque<(CommandId, u64)>,
}

impl Journal {
    pub fn new(plan: &Plan) -> Journal {
        let changes = (plan.layout.page_size.0 / CHANGE) as usize;
        Journal {
            gathers: plan.config.mapping.journal,
            changes,
            kept: (plan.space.map_pages as usize).div_ceil(changes),
            tail: Vec::new(),
            gathered: 0,
            paged: 0,
            durable: 0,
            next: 0,
            horizon: 0,
            live: VecDeque::new(),
            free: (0..plan.space.journal_pages).rev().collect(),
            flushes: VecDeque::new(),
        }
    }

    /// The pages that recovery has found, with their places among the drive's own; `horizon` is as they say.
    pub fn resume(&mut self, pages: impl Iterator<Item = (u64, u32)>, first: u64, horizon: u64) {
        (self.next, self.horizon) = (first, horizon);
        for (index, place) in pages {
            self.free.retain(|free| *free != place);
            self.live.push_back(Live { index, place, upto: 0, programmed: true });
            self.next = index + 1;
        }
    }

    /// The number of the next page.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether so much of it is in use that a checkpoint is due.
    pub fn is_long(&self) -> bool {
        self.live.len() > self.free.len()
    }

    pub fn add(&mut self, change: Change) {
        if self.gathers {
            self.tail.push(change);
            self.gathered += 1;
        }
    }

    /// Whether everything gathered so far is on flash.
    pub fn is_durable(&self) -> bool {
        self.durable >= self.gathered
    }

    /// A flush waits for what has been gathered so far.
    pub fn await_changes(&mut self, command: CommandId) {
        self.flushes.push_back((command, self.gathered));
    }

    /// The next flush whose changes are all on flash.
    pub fn flushed(&mut self) -> Option<CommandId> {
        let durable = self.durable;
        self.flushes.pop_front_if(|(_, wanted)| *wanted <= durable).map(|(command, _)| command)
    }

    /// The next page to be programmed, with its place, if there is a full one, or if a flush waits for part of one. `horizon`:
    /// programs up to there have ended.
    pub fn page(&mut self, horizon: u64) -> Option<(u32, JournalPage)> {
        let wanted = self.tail.len() >= self.changes || (!self.flushes.is_empty() && !self.tail.is_empty());
        if !wanted || self.free.len() <= self.kept {
            return None;
        }
        let changes: Vec<Change> = self.tail.drain(..self.changes.min(self.tail.len())).collect();
        self.paged += changes.len() as u64;
        if self.tail.is_empty() {
            self.horizon = horizon;
        }
        Some(self.number(changes))
    }

    /// The next page of a checkpoint's list. `horizon`: where the journal gathers nothing, programs up to there are in the
    /// checkpoint.
    pub fn page_of_list(&mut self, list: &mut Vec<Change>, horizon: u64) -> Option<(u32, JournalPage)> {
        if list.is_empty() || self.free.is_empty() {
            return None;
        }
        if !self.gathers {
            self.horizon = horizon;
        }
        let changes = list.split_off(list.len().saturating_sub(self.changes));
        Some(self.number(changes))
    }

    fn number(&mut self, changes: Vec<Change>) -> (u32, JournalPage) {
        let place = self.free.pop().expect("Invariant: a page has a place");
        let index = self.next;
        self.next += 1;
        self.live.push_back(Live { index, place, upto: self.paged, programmed: false });
        (place, JournalPage { index, horizon: self.horizon, changes })
    }

    /// The number of the page in a place, if that matters.
    pub fn index_of(&self, place: u32) -> Option<u64> {
        self.live.iter().find(|page| page.place == place).map(|page| page.index)
    }

    /// The page in a place has been programmed; returns its number.
    pub fn programmed(&mut self, place: u32) -> u64 {
        let page = self.live.iter_mut().find(|page| page.place == place);
        let page = page.expect("Invariant: a page that is programmed matters");
        page.programmed = true;
        let index = page.index;
        let whole = self.live.iter().take_while(|page| page.programmed).last();
        self.durable = whole.map_or(self.durable, |page| self.durable.max(page.upto));
        index
    }

    /// Whether the pages before that number are all on flash.
    pub fn reaches(&self, index: u64) -> bool {
        self.live.iter().take_while(|page| page.index < index).all(|page| page.programmed)
    }

    /// The next page before that number, which is needless: its place.
    pub fn drop_before(&mut self, index: u64) -> Option<u32> {
        let page = self.live.pop_front_if(|page| page.index < index)?;
        self.free.push(page.place);
        Some(page.place)
    }
}

state! {
    Journal {
        stored { tail, gathered, paged, durable, next, horizon, live, free, flushes }
        rebuilt { gathers, changes, kept }
    }
}

stored! {
    Live { index, place, upto, programmed }
}
