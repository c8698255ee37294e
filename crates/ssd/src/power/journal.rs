//! Changes of the map on their way to flash: gathered until they fill a page, or until a flush wants them there.
//!
//! Pages of the journal are numbered, and each is programmed as a page of the drive's own behind the translation pages:
//! it takes one of a fixed number of places, which are free again when a checkpoint has made the page needless.

use std::collections::VecDeque;

use crate::arena::CommandId;
use crate::config::{CHANGE, Plan};
use crate::persist::{state, stored};
use crate::power::media::{Change, Entries, JournalPage};

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

/// A page of the list of a checkpoint.
#[derive(Clone, Copy, Debug)]
struct OfList {
    place: u32,
    programmed: bool,
    /// Its checkpoint is being taken.
    new: bool,
}

/// The journal, and the lists of checkpoints.
pub(crate) struct Journal {
    /// Changes are written into it.
    gathers: bool,
    /// Changes of a page.
    changes: usize,
    pub tail: Vec<Change>,
    /// Changes that have been gathered, those of them that are in pages, and those of these that are on flash.
    gathered: u64,
    paged: u64,
    durable: u64,
    next: u64,
    /// Up to this program what programs have changed is in pages ...
    horizon: u64,
    /// ... and further, once this many changes are.
    marks: VecDeque<(u64, u64)>,
    /// Of what has been gathered, what recovery has found.
    found: u64,
    live: VecDeque<Live>,
    free: Vec<u32>,
    lists: Vec<OfList>,
    free_of_lists: Vec<u32>,
    /// Flushes that wait for changes to be on flash.
    pub flushes: VecDeque<(CommandId, u64)>,
}

impl Journal {
    pub fn new(plan: &Plan) -> Journal {
        let changes = (plan.layout.page_size.0 / CHANGE) as usize;
        // Two lists: that of the last checkpoint and that of the one being taken.
        let of_lists = 2 * plan.space.map_pages.div_ceil(changes as u32).min(plan.space.journal_pages / 2);
        Journal {
            gathers: plan.config.mapping.journal,
            changes,
            tail: Vec::new(),
            gathered: 0,
            paged: 0,
            durable: 0,
            next: 0,
            horizon: 0,
            marks: VecDeque::new(),
            found: 0,
            live: VecDeque::new(),
            free: (of_lists..plan.space.journal_pages).rev().collect(),
            lists: Vec::new(),
            free_of_lists: (0..of_lists).rev().collect(),
            flushes: VecDeque::new(),
        }
    }

    /// The pages that recovery has found, with their places among the drive's own, and those of the last list;
    /// `horizon` is as they say.
    pub fn resume(&mut self, pages: Vec<(u64, u32)>, list: Vec<u32>, first: u64, horizon: u64) {
        (self.next, self.horizon) = (first, horizon);
        for (index, place) in pages {
            self.free.retain(|free| *free != place);
            self.live.push_back(Live { index, place, upto: 0, programmed: true });
            self.next = index + 1;
        }
        self.free_of_lists.retain(|free| !list.contains(free));
        self.lists = list.into_iter().map(|place| OfList { place, programmed: true, new: false }).collect();
    }

    /// Adds changes that recovery has found elsewhere. The next recovery need not look for them: they go to flash at
    /// once.
    pub fn add_found(&mut self, news: &[Change]) {
        news.iter().for_each(|change| self.add(*change));
        self.found = self.gathered;
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

    /// Changes up to this one are to be on flash soon: flushes wait for them, or recovery has found them.
    fn needed(&self) -> u64 {
        self.flushes.back().map_or(self.found, |(_, wanted)| self.found.max(*wanted))
    }

    /// Whether what is to be on flash soon is not there yet.
    pub fn is_awaited(&self) -> bool {
        self.durable < self.needed()
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

    /// The next page to be programmed, with its place, if there is a full one, or if part of one is waited for.
    /// `horizon`: programs up to there have ended, and what they have changed has been gathered.
    pub fn page(&mut self, horizon: u64, begun: u64) -> Option<(u32, JournalPage)> {
        self.marks.pop_back_if(|(gathered, _)| *gathered == self.gathered);
        self.marks.push_back((self.gathered, horizon));
        let wanted = self.tail.len() >= self.changes || self.paged < self.needed();
        let place = if wanted { self.free.pop()? } else { return None };
        let changes: Vec<Change> = self.tail.drain(..self.changes.min(self.tail.len())).collect();
        self.paged += changes.len() as u64;
        while let Some((_, horizon)) = self.marks.pop_front_if(|(gathered, _)| *gathered <= self.paged) {
            self.horizon = horizon;
        }
        let index = self.next;
        self.next += 1;
        self.live.push_back(Live { index, place, upto: self.paged, programmed: false });
        Some((place, JournalPage { index, horizon: self.horizon, entries: Entries { begun, changes } }))
    }

    /// The next page of a checkpoint's list, which is not empty. `horizon`: where programs had ended when it began.
    pub fn page_of_list(&mut self, list: &mut Vec<Change>, horizon: u64, begun: u64) -> (u32, JournalPage) {
        let place = self.free_of_lists.pop().expect("Invariant: there are places for two lists");
        let changes = list.split_off(list.len().saturating_sub(self.changes));
        self.lists.push(OfList { place, programmed: false, new: true });
        (place, JournalPage { index: u64::MAX, horizon, entries: Entries { begun, changes } })
    }

    /// The page in a place has been programmed; returns its number, unless it is one of a list.
    pub fn programmed(&mut self, place: u32) -> Option<u64> {
        if let Some(page) = self.lists.iter_mut().find(|page| page.place == place) {
            page.programmed = true;
            return None;
        }
        let page = self.live.iter_mut().find(|page| page.place == place)?;
        page.programmed = true;
        let index = page.index;
        let whole = self.live.iter().take_while(|page| page.programmed).last();
        self.durable = whole.map_or(self.durable, |page| self.durable.max(page.upto));
        Some(index)
    }

    /// Whether all pages of the lists are on flash, and those before that number.
    pub fn is_programmed_before(&self, index: u64) -> bool {
        let mut before = self.live.iter().take_while(|page| page.index < index);
        self.lists.iter().all(|page| page.programmed) && before.all(|page| page.programmed)
    }

    /// The new list takes the place of the old one, whose places are returned.
    pub fn switch_lists(&mut self) -> Vec<u32> {
        let (new, old): (Vec<OfList>, Vec<OfList>) = self.lists.iter().partition(|page| page.new);
        self.lists = new.into_iter().map(|page| OfList { new: false, ..page }).collect();
        self.free_of_lists.extend(old.iter().map(|page| page.place));
        old.into_iter().map(|page| page.place).collect()
    }

    /// The places of the list.
    pub fn list(&self) -> impl Iterator<Item = u32> {
        self.lists.iter().map(|page| page.place)
    }

    /// Drops the pages before a number, which are needless; returns their places.
    pub fn drop_before(&mut self, index: u64) -> Vec<u32> {
        let mut places = Vec::new();
        while let Some(page) = self.live.pop_front_if(|page| page.index < index) {
            places.push(page.place);
        }
        self.free.extend(&places);
        places
    }
}

state! {
    Journal {
        stored { tail, gathered, paged, durable, next, horizon, marks, found, live, free, lists, free_of_lists, flushes }
        rebuilt { gathers, changes }
    }
}

stored! {
    Live { index, place, upto, programmed }
    OfList { place, programmed, new }
}
