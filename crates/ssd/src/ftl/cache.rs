//! The cached mapping table: lines of entries in memory, least recently used first out (Gupta, Kim, Urgaonkar,
//! "DFTL", ASPLOS'09). Dirty lines of one mapping page are written back together, as there.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use units::{Id, Lpn};

use crate::arena::FetchId;
use crate::config::{Plan, Sharing, Table};

const NONE: u32 = u32::MAX;

/// Where a line of the map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not in the cache.
    Absent,
    /// Being read.
    Fetching(FetchId),
    /// In the cache.
    Here,
}

/// `MapCache::places` of a line that is being read: this bit and the number of the fetch.
const FETCHING: u32 = 1 << 31;

struct Line {
    number: u32,
    owner: u16,
    prev: u32,
    next: u32,
    dirty: bool,
    /// The next dirty line of the mapping page.
    dirty_next: u32,
}

/// Spreads line numbers over a table: Fibonacci hashing. The table is only looked up, never walked.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }
    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// A part of the cache: the lines that one owner brought in, the least recently used first.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    last: u32,
    lines: u32,
}

/// The cache. It says what must be read and written; it does neither.
pub(crate) struct MapCache {
    /// Of each line that is here: its place in `lines`; of one that is being read: `FETCHING` and its fetch.
    places: HashMap<u32, u32, BuildHasherDefault<Spread>>,
    /// The first dirty line of each mapping page.
    dirty: Vec<u32>,
    lines: Vec<Line>,
    free: Vec<u32>,
    parts: Vec<Part>,
    /// Lines that a part may hold.
    quota: u32,
    shared: bool,
    line_bits: u32,
    /// Lines of a mapping page.
    lines_per_page: u32,
}

impl MapCache {
    pub fn new(plan: &Plan) -> Option<MapCache> {
        let mapping = &plan.config.mapping;
        if mapping.table == Table::Ideal {
            return None;
        }
        let entries_per_line = (mapping.line.0 / mapping.entry.0) as u32;
        let shared = mapping.sharing == Sharing::Shared;
        let parts = if shared { 1 } else { u64::from(plan.config.host.queues) + 1 };
        Some(MapCache {
            places: HashMap::default(),
            dirty: vec![NONE; plan.space.map_pages as usize],
            lines: Vec::new(),
            free: Vec::new(),
            parts: vec![Part { first: NONE, last: NONE, lines: 0 }; parts as usize],
            quota: u32::try_from(mapping.cache.0 / mapping.line.0 / parts).unwrap_or(NONE - 1),
            shared,
            line_bits: entries_per_line.trailing_zeros(),
            lines_per_page: plan.space.map_entries / entries_per_line,
        })
    }

    /// The line that holds a page's entry.
    pub fn line_of(&self, lpn: Lpn) -> u32 {
        lpn.0 >> self.line_bits
    }

    /// The mapping page that holds a line.
    pub fn page_of(&self, line: u32) -> u32 {
        line / self.lines_per_page
    }

    /// Whether a line is here; if so it is now the most recently used, and `dirty` if asked.
    pub fn mark_dirty(&mut self, line: u32, dirty: bool) -> bool {
        let Some(place) = self.places.get(&line).copied().filter(|place| place & FETCHING == 0) else { return false };
        if dirty {
            self.mark(place);
        }
        self.unlink(place);
        self.append(place);
        true
    }

    /// Brings in a line for `owner` (a submission queue; `None` is the drive itself). Returns the mapping page to
    /// write back, if a dirty line had to go: its other dirty lines go with it.
    pub fn insert(&mut self, line: u32, owner: Option<u16>, dirty: bool) -> Option<u32> {
        if self.mark_dirty(line, dirty) {
            return None;
        }
        let owner = match owner {
            _ if self.shared => 0,
            Some(queue) => queue,
            None => self.parts.len() as u16 - 1,
        };
        let write_back = if self.parts[usize::from(owner)].lines >= self.quota { self.evict(owner) } else { None };
        let entry = Line { number: line, owner, prev: NONE, next: NONE, dirty: false, dirty_next: NONE };
        let place = if let Some(place) = self.free.pop() {
            self.lines[place as usize] = entry;
            place
        } else {
            self.lines.push(entry);
            (self.lines.len() - 1) as u32
        };
        self.places.insert(line, place);
        self.append(place);
        if dirty {
            self.mark(place);
        }
        write_back
    }

    fn evict(&mut self, owner: u16) -> Option<u32> {
        let place = self.parts[usize::from(owner)].first;
        self.unlink(place);
        let Line { number, dirty, .. } = self.lines[place as usize];
        let write_back = dirty.then(|| self.clean(self.page_of(number)));
        self.places.remove(&number);
        self.free.push(place);
        write_back
    }

    /// A line has changed entries.
    fn mark(&mut self, place: u32) {
        let page = self.page_of(self.lines[place as usize].number) as usize;
        let line = &mut self.lines[place as usize];
        if std::mem::replace(&mut line.dirty, true) {
            return;
        }
        // A dirty line leaves the list with all of its page's.
        line.dirty_next = std::mem::replace(&mut self.dirty[page], place);
    }

    /// Every line of a mapping page is written back.
    fn clean(&mut self, page: u32) -> u32 {
        let mut place = std::mem::replace(&mut self.dirty[page as usize], NONE);
        while place != NONE {
            let line = &mut self.lines[place as usize];
            line.dirty = false;
            place = line.dirty_next;
        }
        page
    }

    /// Where a line is.
    pub fn state(&self, line: u32) -> State {
        match self.places.get(&line) {
            None => State::Absent,
            Some(fetch) if fetch & FETCHING != 0 => State::Fetching(FetchId::new((fetch & !FETCHING) as usize)),
            Some(_) => State::Here,
        }
    }

    /// A line is being read.
    pub fn set_fetching(&mut self, line: u32, fetch: FetchId) {
        self.places.insert(line, FETCHING | fetch.index() as u32);
    }

    /// A line that was being read has come, and is about to be brought in.
    pub fn set_absent(&mut self, line: u32) {
        self.places.remove(&line);
    }

    fn append(&mut self, place: u32) {
        let part = &mut self.parts[usize::from(self.lines[place as usize].owner)];
        let last = std::mem::replace(&mut part.last, place);
        part.lines += 1;
        if last == NONE {
            part.first = place;
        } else {
            self.lines[last as usize].next = place;
        }
        (self.lines[place as usize].prev, self.lines[place as usize].next) = (last, NONE);
    }

    fn unlink(&mut self, place: u32) {
        let Line { owner, prev, next, .. } = self.lines[place as usize];
        let part = &mut self.parts[usize::from(owner)];
        part.lines -= 1;
        if prev == NONE {
            part.first = next;
        } else {
            self.lines[prev as usize].next = next;
        }
        let part = &mut self.parts[usize::from(owner)];
        if next == NONE {
            part.last = prev;
        } else {
            self.lines[next as usize].prev = prev;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn cache(settings: &[&str]) -> MapCache {
        let mut config = Config::default();
        let base = ["mapping.table=cached", "mapping.line=1KiB", "mapping.cache=4KiB", "host.queues=2"];
        base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
        MapCache::new(&config.plan().unwrap()).unwrap()
    }

    #[test]
    fn the_least_recently_used_line_goes_and_dirty_lines_are_written_back_with_their_page() {
        let mut cache = cache(&[]);
        assert_eq!(
            (cache.line_of(Lpn(255)), cache.line_of(Lpn(256)), cache.page_of(15), cache.page_of(16)),
            (0, 1, 0, 1)
        );
        for line in [0, 1, 2, 16] {
            assert_eq!(cache.insert(line, Some(0), line < 2), None);
        }
        assert!(cache.mark_dirty(0, false) && cache.mark_dirty(16, true));
        // 1 is the oldest, dirty, and takes 0 with it; 2 is clean; then 0 is.
        assert_eq!(cache.insert(40, Some(1), false), Some(0));
        assert!(!cache.mark_dirty(1, false));
        assert_eq!(cache.insert(41, Some(1), false), None);
        assert_eq!(cache.insert(42, Some(1), false), None);
        assert_eq!(cache.insert(43, None, false), Some(1));
        assert_eq!(cache.insert(44, None, false), None);
        assert_eq!((cache.state(16), cache.state(44)), (State::Absent, State::Here));
    }

    #[test]
    fn a_queue_with_a_part_of_its_own_keeps_it() {
        let mut cache = cache(&["mapping.sharing=partitioned", "mapping.cache=6KiB"]);
        cache.insert(7, Some(1), true);
        for line in 100..200 {
            assert_eq!(cache.insert(line, Some(0), false), None);
            assert_eq!(cache.insert(line + 500, None, false), None);
        }
        assert!(
            cache.mark_dirty(7, false)
                && cache.mark_dirty(199, false)
                && cache.mark_dirty(198, false)
                && !cache.mark_dirty(197, false)
        );
        assert_eq!((cache.insert(8, Some(1), false), cache.insert(9, Some(1), false)), (None, Some(0)));
    }
}
