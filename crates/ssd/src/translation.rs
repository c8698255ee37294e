//! The map's pages on flash, and the cached table of their entries: groups on their way into it, translation pages on
//! their way to flash, and what waits for them. A learned table, which is all in memory, is here too.

mod cmt;
mod group_table;
mod learned;

use std::collections::VecDeque;

use units::{Lpn, Ppn};

use crate::arena::{Arena, AwaitedId, CommandId, FetchId, Linked, List, OpId, SlotId};
use crate::config::Plan;
use crate::core::Core;
use crate::observe::probe::Probe;
use crate::persist::{state, stored, stored_enum};
pub(crate) use cmt::{CachedMap, GroupState};
pub(crate) use learned::LearnedTable;

/// Which parts of the map are on flash, in memory and between them.
pub(crate) struct TranslationPages {
    /// The cached table, where not all of the map is in memory.
    pub cache: Option<CachedMap>,
    /// The learned table, where there is one in place of entries.
    pub learned: Option<LearnedTable>,
    /// Pages from here on are the drive's own: nothing caches their entries.
    logical_pages: u64,
    /// Groups being read, with what waits for them.
    pub fetches: Arena<FetchId, Fetch>,
    /// For each translation page the group that a read of it was begun for: further groups of it come with that read.
    pub reading: Vec<Option<FetchId>>,
    /// What waits for a map entry.
    pub waiting: Arena<AwaitedId, Awaited>,
    /// What waits until fewer translation pages are on their way to flash, in order.
    pub stalled: List<AwaitedId>,
    /// For each translation page: whether it is being rewritten, and whether it must be again.
    pub rewriting: Vec<u8>,
    /// Translation pages being rewritten.
    pub rewrites: u32,
    /// Translation pages with entries of moved pages that are kept in memory: in order, and which.
    pub dirty: VecDeque<u32>,
    pub is_touched: Vec<bool>,
    /// Pages that collections have gained and that rewrites of these may take, and those that rewrites have taken.
    pub earned: u32,
    pub spent: u64,
    /// Reads of groups that nothing waits for.
    pub unawaited: u32,
    /// The plane that takes translation pages, until it has a program's worth.
    pub plane: u32,
    pub filled: u32,
    /// Translation pages that each plane holds, and those on their way to it.
    pub held: Vec<u32>,
}

/// A group on its way into the cache.
#[derive(Clone, Copy)]
pub(crate) struct Fetch {
    pub group: u32,
    pub dirty: bool,
    pub owner: Option<u16>,
    pub waiting: List<AwaitedId>,
    /// The next group that comes with the same read; of the first, the last one.
    pub next: Option<FetchId>,
    pub last: Option<FetchId>,
}

/// What becomes of something that waits for a map entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The entry is at hand.
    Over,
    /// It comes with a read that is under way.
    Joins,
    /// Its group is to be read, by this fetch.
    Reads(FetchId),
}

/// What goes on when a map entry is at hand.
#[derive(Clone, Copy)]
pub(crate) enum Waiting {
    /// A host's read of some bytes of a page.
    Part { command: CommandId, lpn: Lpn, from: u32, to: u32 },
    /// The program of a slot's page.
    Program(OpId),
    /// The read of what a slot lacks of its page.
    Fill(SlotId),
}

pub(crate) struct Awaited {
    pub what: Waiting,
    pub next: Option<AwaitedId>,
}

impl Linked<AwaitedId> for Awaited {
    fn next(&mut self) -> &mut Option<AwaitedId> {
        &mut self.next
    }
}

impl TranslationPages {
    /// `held`: the translation pages that each plane holds.
    pub fn new(plan: &Plan, held: Vec<u32>) -> TranslationPages {
        let pages = plan.space.map_pages as usize;
        TranslationPages {
            cache: CachedMap::new(plan),
            learned: LearnedTable::new(plan),
            logical_pages: plan.logical_pages,
            fetches: Arena::new(),
            reading: vec![None; pages],
            waiting: Arena::new(),
            stalled: List::EMPTY,
            rewriting: vec![0; pages],
            rewrites: 0,
            dirty: VecDeque::new(),
            is_touched: vec![false; pages],
            earned: 0,
            spent: 0,
            unawaited: 0,
            plane: 0,
            filled: 0,
            held,
        }
    }

    /// The cache. Invariant: there is one, where entries are waited for.
    fn cached(&mut self) -> &mut CachedMap {
        self.cache.as_mut().expect("Invariant: only a cached map is waited for")
    }

    /// Whether a page's map entry is at hand; counts the lookup.
    #[inline]
    pub fn looks_up<P: Probe>(&mut self, lpn: Lpn, core: &mut Core<P>) -> bool {
        let Some(cache) = &mut self.cache else { return true };
        core.counters.map_lookups += 1;
        let group = cache.group_of(lpn);
        let hit = cache.look_up(group, false);
        core.counters.map_hits += u64::from(hit);
        hit
    }

    /// Whether the entries of all pages are in memory.
    #[inline]
    pub fn has_entries(&self) -> bool {
        self.cache.is_none() && self.learned.is_none()
    }

    /// The newest data of a page on flash is there now: of the host's pages, what is learned tells a learned table.
    #[inline]
    pub fn placed(&mut self, lpn: Lpn, ppn: Ppn) {
        if let Some(learned) = &mut self.learned
            && lpn.0 < self.logical_pages
        {
            learned.placed(lpn, ppn);
        }
    }

    /// A program's pages have been placed.
    #[inline]
    pub fn learn(&mut self) {
        if let Some(learned) = &mut self.learned {
            learned.learn();
        }
    }

    /// The translation page that holds a group.
    pub fn page_of(&mut self, group: u32) -> u32 {
        self.cached().page_of(group)
    }

    /// Something waits for the entry of a page, brought in for `owner`, a submission queue, if it has to be.
    pub fn wait(&mut self, id: AwaitedId, lpn: Lpn, owner: Option<u16>) -> Wait {
        let group = self.cached().group_of(lpn);
        match self.cached().state(group) {
            GroupState::Here => return Wait::Over,
            GroupState::Fetching(fetch) => self.fetches[fetch].waiting.push(&mut self.waiting, id),
            GroupState::Absent => {
                let mut waiting = List::EMPTY;
                waiting.push(&mut self.waiting, id);
                let fetch = self.fetches.insert(Fetch { group, dirty: false, owner, waiting, next: None, last: None });
                self.cached().set_fetching(group, fetch);
                let page = self.page_of(group) as usize;
                let Some(first) = self.reading[page] else { return Wait::Reads(fetch) };
                let before = self.fetches[first].last.replace(fetch);
                self.fetches[before.unwrap_or(first)].next = Some(fetch);
            }
        }
        Wait::Joins
    }

    /// Whether a page's entry is one that is cached or not.
    #[inline]
    fn caches(&self, lpn: Lpn) -> bool {
        self.cache.is_some() && lpn.0 < self.logical_pages
    }

    /// The drive has changed a page's entry. Returns its group where that is neither in the cache nor on its way: it is
    /// to be entered.
    #[inline]
    pub fn changed(&mut self, lpn: Lpn) -> Option<u32> {
        if self.caches(lpn) { self.change(lpn) } else { None }
    }

    fn change(&mut self, lpn: Lpn) -> Option<u32> {
        let group = self.cached().group_of(lpn);
        match self.cached().state(group) {
            GroupState::Here => {
                self.cached().look_up(group, true);
            }
            GroupState::Fetching(fetch) => self.fetches[fetch].dirty = true,
            GroupState::Absent => return Some(group),
        }
        None
    }

    /// A page has moved: where its group is neither in the cache nor on its way, its translation page is behind until
    /// it is rewritten.
    #[inline]
    pub fn moved(&mut self, lpn: Lpn) {
        if self.caches(lpn)
            && let Some(group) = self.change(lpn)
        {
            let page = self.page_of(group);
            if !std::mem::replace(&mut self.is_touched[page as usize], true) {
                self.dirty.push_back(page);
            }
        }
    }

    /// A collection has gained this many pages, of which the map may have half: what it may spend.
    pub fn earn(&mut self, gained: u32) {
        self.earned += gained / 2;
    }

    /// The next translation page that is behind and may be rewritten now: what host requests wait for goes first, to
    /// which these leave the last of the translation pages that may be on their way to flash. They spend no more pages
    /// than the host has written, `written`: they would else make the next collection necessary, which would move the
    /// next pages, without end.
    pub fn next_behind(&mut self, written: u64, plan: &Plan) -> Option<u32> {
        // The fewer translation pages go to flash at once, the more of each program is padding.
        let (unit, most) = (plan.unit_pages, plan.config.mapping.writes);
        let cost = unit.div_ceil(unit.min(most));
        let limit = written + u64::from(plan.layout.pages);
        while self.earned >= cost && self.rewrites + 1 < most.max(2) && self.spent < limit {
            let Some(page) = self.dirty.pop_front() else {
                self.earned = 0;
                return None;
            };
            // It may have been rewritten for another reason since.
            if self.is_touched[page as usize] {
                self.earned -= cost;
                self.spent += u64::from(cost);
                return Some(page);
            }
        }
        None
    }

    /// A translation page with changed entries is to go to flash: whether its rewrite begins. Where one is under way,
    /// another follows.
    pub fn rewrite(&mut self, page: u32) -> bool {
        self.is_touched[page as usize] = false;
        let state = &mut self.rewriting[page as usize];
        *state = (*state + 1).min(2);
        let begins = *state == 1;
        self.rewrites += u32::from(begins);
        begins
    }

    /// A rewrite of a translation page has ended: whether the next one begins.
    pub fn rewritten(&mut self, page: u32) -> bool {
        let state = &mut self.rewriting[page as usize];
        *state -= 1;
        let again = *state > 0;
        self.rewrites -= u32::from(!again);
        again
    }

    /// Translation pages that may be on their way for a checkpoint: of a cached map, whose host requests wait for
    /// theirs, half as many as those may have.
    pub fn most_for_checkpoint(&self, plan: &Plan) -> usize {
        if self.cache.is_some() { (plan.config.mapping.writes as usize / 2).max(1) } else { usize::MAX }
    }

    /// Whether nothing is under way.
    pub fn quiet(&self) -> bool {
        self.fetches.len() == 0 && self.waiting.len() == 0 && self.rewrites == 0 && self.unawaited == 0
    }
}

state! {
    TranslationPages {
        stored {
            fetches, reading, waiting, stalled, rewriting, rewrites, dirty, is_touched, earned, spent, unawaited, plane, filled,
            held,
        }
        parts { cache, learned }
        rebuilt { logical_pages }
    }
}

stored! {
    Fetch { group, dirty, owner, waiting, next, last }
    Awaited { what, next }
}

stored_enum! {
    Waiting { 0 = Part { command, lpn, from, to }, 1 = Program(op), 2 = Fill(slot), }
}

#[cfg(test)]
mod tests {
    use units::Id as _;

    use super::*;
    use crate::config::Config;

    fn pages(settings: &[&str]) -> (TranslationPages, Plan) {
        let mut config = Config::default();
        let base = ["mapping.table=cached", "mapping.entry_group=1KiB", "mapping.cache=16KiB"];
        base.iter().chain(settings).for_each(|setting| config.set(setting).unwrap());
        let plan = config.plan().unwrap();
        (TranslationPages::new(&plan, vec![0; plan.layout.planes as usize]), plan)
    }

    fn waits(pages: &mut TranslationPages) -> AwaitedId {
        pages.waiting.insert(Awaited { what: Waiting::Program(OpId::new(0)), next: None })
    }

    #[test]
    fn what_waits_for_a_group_that_is_being_read_joins_it_and_what_changes_meanwhile_is_dirty() {
        let (mut pages, _) = pages(&[]);
        let (first, second, third) = (waits(&mut pages), waits(&mut pages), waits(&mut pages));
        let Wait::Reads(fetch) = pages.wait(first, Lpn(0), None) else { panic!("nothing was in the cache") };
        assert_eq!(pages.wait(second, Lpn(1), None), Wait::Joins);
        assert_eq!(pages.changed(Lpn(2)), None);
        assert!(pages.fetches[fetch].dirty);
        let group = pages.fetches[fetch].group;
        pages.reading[0] = Some(fetch);
        // Another group of the same page comes with that read.
        let far = Lpn(1024);
        assert_eq!(pages.wait(third, far, None), Wait::Joins);
        assert!(pages.fetches[fetch].next.is_some());
        pages.fetches.release(fetch);
        assert_eq!(pages.cache.as_mut().unwrap().insert(group, None, true), None);
        assert_eq!(pages.wait(first, Lpn(3), None), Wait::Over);
        assert_eq!(pages.changed(Lpn(1 << 20)), Some(pages.cache.as_ref().unwrap().group_of(Lpn(1 << 20))));
    }

    #[test]
    fn a_page_that_is_being_rewritten_is_so_once_more_however_often_it_changes() {
        let (mut pages, _) = pages(&[]);
        assert_eq!([1, 2, 3].map(|_| pages.rewrite(4)), [true, false, false]);
        assert_eq!((pages.rewrites, pages.rewritten(4)), (1, true));
        assert_eq!((pages.rewrites, pages.rewritten(4)), (1, false));
        assert_eq!(pages.rewrites, 0);
    }

    #[test]
    fn pages_that_are_behind_are_rewritten_for_half_of_what_collections_gain_and_of_what_the_host_writes() {
        let (mut pages, plan) = pages(&["mapping.writes=8"]);
        let cost = plan.unit_pages.div_ceil(plan.unit_pages.min(8));
        let entries = u64::from(plan.space.map_entries);
        (0..4).for_each(|page| pages.moved(Lpn(page * entries)));
        assert_eq!(pages.next_behind(0, &plan), None);
        pages.earn(4 * cost);
        assert_eq!(pages.next_behind(0, &plan), Some(0));
        // One that was rewritten for another reason is not any more.
        assert!(pages.rewrite(0) && pages.rewrite(1));
        assert_eq!(pages.next_behind(0, &plan), Some(2));
        assert_eq!(pages.next_behind(0, &plan), None);
        pages.earn(u32::MAX);
        pages.spent = u64::from(plan.layout.pages);
        assert_eq!((pages.next_behind(0, &plan), pages.next_behind(1, &plan)), (None, Some(3)));
        pages.rewrites = 7;
        pages.moved(Lpn(0));
        assert_eq!(pages.next_behind(u64::MAX / 2, &plan), None);
    }
}
