//! The cached mapping table: groups of entries in memory, least recently used first out (Gupta, Kim, Urgaonkar,
//! "DFTL", ASPLOS'09). Dirty groups of one translation page are written back together, as there.

use units::{Id, Lpn};

use super::group_table::Places;
use crate::arena::FetchId;
use crate::config::{MapTable, Plan, Sharing};
use crate::persist::{state, stored};

const NONE: u32 = u32::MAX;

/// Where a group of the map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupState {
    /// Not in the cache.
    Absent,
    /// Being read.
    Fetching(FetchId),
    /// In the cache.
    Here,
}

/// `CachedMap::places` of a group that is being read: this bit and the number of the fetch.
const FETCHING: u32 = 1 << 31;

struct EntryGroup {
    number: u32,
    owner: u16,
    prev: u32,
    next: u32,
    /// It is dirty if its translation page has been written back this many times, plus one.
    changed: u32,
}

/// A part of the cache: the groups that one owner brought in, the least recently used first.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    last: u32,
    groups: u32,
}

/// The cache. It says what must be read and written; it does neither.
pub(crate) struct CachedMap {
    /// Of each group that is here: its place in `groups`; of one that is being read: `FETCHING` and its fetch.
    places: Places,
    /// How often each translation page has been written back, plus one.
    written: Vec<u32>,
    groups: Vec<EntryGroup>,
    free: Vec<u32>,
    parts: Vec<Part>,
    /// Groups that a part may hold.
    quota: u32,
    shared: bool,
    group_bits: u32,
    /// Groups of a translation page.
    groups_per_page: u32,
}

impl CachedMap {
    pub fn new(plan: &Plan) -> Option<CachedMap> {
        let mapping = &plan.config.mapping;
        if mapping.table != MapTable::Cached {
            return None;
        }
        let pages_of_group = mapping.pages_of_group(&plan.layout);
        let shared = mapping.sharing == Sharing::Shared;
        let parts = if shared { 1 } else { u64::from(plan.config.host.queues) + 1 };
        Some(CachedMap {
            places: Places::new(),
            written: vec![1; plan.space.map_pages as usize],
            groups: Vec::new(),
            free: Vec::new(),
            parts: vec![Part { first: NONE, last: NONE, groups: 0 }; parts as usize],
            quota: u32::try_from(mapping.cache.0 / mapping.entry_group.0 / parts).unwrap_or(NONE - 1),
            shared,
            group_bits: pages_of_group.trailing_zeros(),
            groups_per_page: plan.space.map_entries / pages_of_group,
        })
    }

    /// The group that holds a page's entry.
    pub fn group_of(&self, lpn: Lpn) -> u32 {
        // Invariant: the plan has so few groups.
        (lpn.0 >> self.group_bits) as u32
    }

    /// The translation page that holds a group.
    pub fn page_of(&self, group: u32) -> u32 {
        group / self.groups_per_page
    }

    /// Whether a group is here; if so it is now the most recently used, and `dirty` if asked.
    pub fn look_up(&mut self, group: u32, dirty: bool) -> bool {
        let Some(place) = self.places.get(group).filter(|place| place & FETCHING == 0) else { return false };
        if dirty {
            self.mark(place);
        }
        self.unlink(place);
        self.append(place);
        true
    }

    /// Brings in a group, which may have been read for that, for `owner` (a submission queue; `None` is the drive
    /// itself). Returns the translation page to write back, if a dirty group had to go: its other dirty groups go with
    /// it.
    pub fn insert(&mut self, group: u32, owner: Option<u16>, dirty: bool) -> Option<u32> {
        if self.look_up(group, dirty) {
            return None;
        }
        let owner = match owner {
            _ if self.shared => 0,
            Some(queue) => queue,
            None => self.parts.len() as u16 - 1,
        };
        let write_back = if self.parts[usize::from(owner)].groups >= self.quota { self.evict(owner) } else { None };
        let entry = EntryGroup { number: group, owner, prev: NONE, next: NONE, changed: 0 };
        let place = if let Some(place) = self.free.pop() {
            self.groups[place as usize] = entry;
            place
        } else {
            self.groups.push(entry);
            (self.groups.len() - 1) as u32
        };
        self.places.insert(group, place);
        self.append(place);
        if dirty {
            self.mark(place);
        }
        write_back
    }

    fn evict(&mut self, owner: u16) -> Option<u32> {
        let place = self.parts[usize::from(owner)].first;
        self.unlink(place);
        let EntryGroup { number, changed, .. } = self.groups[place as usize];
        let page = self.page_of(number);
        let written = &mut self.written[page as usize];
        // Every group of the page is written back with it.
        let write_back = (changed == *written).then(|| {
            *written += 1;
            page
        });
        self.places.remove(number);
        self.free.push(place);
        // What goes next is known: two places of memory that nothing else has touched for long.
        if let Some(next) = self.groups.get(self.parts[usize::from(owner)].first as usize) {
            self.places.prefetch(next.number);
            crate::arena::prefetch(&self.groups, next.next as usize);
        }
        write_back
    }

    /// A group has changed entries.
    fn mark(&mut self, place: u32) {
        let page = self.page_of(self.groups[place as usize].number);
        self.groups[place as usize].changed = self.written[page as usize];
    }

    /// Gets ready to look up a page's group soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.places.prefetch(self.group_of(lpn));
    }

    /// The second step of [`prefetch`](Self::prefetch), some time later: what was fetched says which memory is needed
    /// next.
    #[inline]
    pub fn prefetch_further(&self, lpn: Lpn) {
        if let Some(place) = self.places.get(self.group_of(lpn)) {
            crate::arena::prefetch(&self.groups, place as usize);
        }
    }

    /// Where a group is.
    pub fn state(&self, group: u32) -> GroupState {
        match self.places.get(group) {
            None => GroupState::Absent,
            Some(fetch) if fetch & FETCHING != 0 => GroupState::Fetching(FetchId::new((fetch & !FETCHING) as usize)),
            Some(_) => GroupState::Here,
        }
    }

    /// A group is being read.
    pub fn set_fetching(&mut self, group: u32, fetch: FetchId) {
        self.places.insert(group, FETCHING | fetch.index() as u32);
    }

    fn append(&mut self, place: u32) {
        let part = &mut self.parts[usize::from(self.groups[place as usize].owner)];
        let last = std::mem::replace(&mut part.last, place);
        part.groups += 1;
        if last == NONE {
            part.first = place;
        } else {
            self.groups[last as usize].next = place;
        }
        (self.groups[place as usize].prev, self.groups[place as usize].next) = (last, NONE);
    }

    fn unlink(&mut self, place: u32) {
        let EntryGroup { owner, prev, next, .. } = self.groups[place as usize];
        let part = &mut self.parts[usize::from(owner)];
        part.groups -= 1;
        if prev == NONE {
            part.first = next;
        } else {
            self.groups[prev as usize].next = next;
        }
        let part = &mut self.parts[usize::from(owner)];
        if next == NONE {
            part.last = prev;
        } else {
            self.groups[next as usize].prev = prev;
        }
    }
}

state! {
    CachedMap {
        stored { places, written, groups, free, parts }
        rebuilt { quota, shared, group_bits, groups_per_page }
    }
}

stored! {
    EntryGroup { number, owner, prev, next, changed }
    Part { first, last, groups }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn cache(settings: &[&str]) -> CachedMap {
        let mut config = Config::default();
        let base = ["mapping.table=cached", "mapping.entry_group=1KiB", "mapping.cache=4KiB", "host.queues=2"];
        base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
        CachedMap::new(&config.plan().unwrap()).unwrap()
    }

    #[test]
    fn the_least_recently_used_line_goes_and_dirty_lines_are_written_back_with_their_page() {
        let mut cache = cache(&[]);
        assert_eq!(
            (cache.group_of(Lpn(255)), cache.group_of(Lpn(256)), cache.page_of(15), cache.page_of(16)),
            (0, 1, 0, 1)
        );
        for group in [0, 1, 2, 16] {
            assert_eq!(cache.insert(group, Some(0), group < 2), None);
        }
        assert!(cache.look_up(0, false) && cache.look_up(16, true));
        // 1 is the oldest, dirty, and takes 0 with it; 2 is clean; then 0 is.
        assert_eq!(cache.insert(40, Some(1), false), Some(0));
        assert!(!cache.look_up(1, false));
        assert_eq!(cache.insert(41, Some(1), false), None);
        assert_eq!(cache.insert(42, Some(1), false), None);
        assert_eq!(cache.insert(43, None, false), Some(1));
        assert_eq!(cache.insert(44, None, false), None);
        assert_eq!((cache.state(16), cache.state(44)), (GroupState::Absent, GroupState::Here));
    }

    #[test]
    fn a_queue_with_a_part_of_its_own_keeps_it() {
        let mut cache = cache(&["mapping.sharing=partitioned", "mapping.cache=6KiB"]);
        cache.insert(7, Some(1), true);
        for group in 100..200 {
            assert_eq!(cache.insert(group, Some(0), false), None);
            assert_eq!(cache.insert(group + 500, None, false), None);
        }
        assert!(
            cache.look_up(7, false)
                && cache.look_up(199, false)
                && cache.look_up(198, false)
                && !cache.look_up(197, false)
        );
        assert_eq!((cache.insert(8, Some(1), false), cache.insert(9, Some(1), false)), (None, Some(0)));
    }
}
