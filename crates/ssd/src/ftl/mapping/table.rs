//! The table of the page mapping: an entry for each logical page.
//!
//! Only what was written in the run is stored, sixteen neighbouring pages a cache line; everything else is
//! the initial state's formula. Memory grows with what the workload touches: one line of 64 bytes for each
//! group of 16 pages written in, and a leaf of the directory of 256 bytes for each 1024 pages written in. Four bytes
//! for each 1024 pages of the drive name the leaves; the operating system never backs untouched parts of them with
//! memory.

use std::io;
use std::sync::Arc;

use units::{Id, Lpn};

use crate::arena::SlotId;
use crate::config::WRITTEN_PAGES;
use crate::ftl::blocks::WrittenPage;
use crate::persist::{Reader, State, Stored as _, Table, Writer, stored};

/// What the map says of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Its data is where the initial state has it.
    Initial,
    /// It was deallocated.
    Unmapped,
    /// On flash, in a page that was written in the run.
    Written(WrittenPage),
    /// In the write buffer, at this slot.
    Buffer(SlotId),
}

const GROUP_BITS: u32 = 4;
const GROUP: usize = 1 << GROUP_BITS;
/// Groups of a leaf of the directory.
const LEAF_BITS: u32 = 6;
const LEAF: usize = 1 << LEAF_BITS;
/// Lines are kept in chunks, so that growing never copies them.
const CHUNK_BITS: u32 = 16;

/// An entry as it is stored: all ones = as in the initial state, one less = deallocated; otherwise, from `BUFFER` on, a
/// buffer slot, of which there are at most 2^24; otherwise a written page.
const INITIAL: u32 = u32::MAX;
const UNMAPPED: u32 = u32::MAX - 1;
const BUFFER: u32 = UNMAPPED - (1 << 24) - 1;

const _: () = assert!(WRITTEN_PAGES <= BUFFER as u64, "entries can name every written page");

/// What is known of the pages that were written in.
#[derive(Clone)]
struct Lines {
    /// For each `LEAF` groups: their leaf. Leaf 0 is that of all groups that were never written in.
    directory: Vec<u32>,
    /// For each group of a leaf: 0, or the number of its line plus 1.
    leaves: Vec<[u32; LEAF]>,
    chunks: Vec<Vec<[u32; GROUP]>>,
    lines: u32,
}

impl Lines {
    /// None, for as many `LEAF` groups.
    fn none(leaves: usize) -> Lines {
        Lines { directory: vec![0; leaves], leaves: vec![[0; LEAF]], chunks: Vec::new(), lines: 0 }
    }

    /// The number of a group's line, from 1 on; 0 where it has none.
    #[inline]
    fn number(&self, leaf: usize, group: usize) -> u32 {
        self.leaves[self.directory[leaf] as usize][group]
    }

    #[inline]
    fn at(&self, line: u32) -> &[u32; GROUP] {
        let (chunk, line) = chunk_of(line);
        &self.chunks[chunk][line]
    }

    /// A group's line, where it has one.
    #[inline]
    fn line(&self, leaf: usize, group: usize) -> Option<&[u32; GROUP]> {
        let line = self.number(leaf, group);
        (line != 0).then(|| self.at(line))
    }

    #[inline]
    fn at_mut(&mut self, line: u32) -> &mut [u32; GROUP] {
        let (chunk, line) = chunk_of(line);
        &mut self.chunks[chunk][line]
    }

    #[cold]
    fn add(&mut self, leaf: usize, group: usize, entries: [u32; GROUP]) -> u32 {
        if self.lines as usize == self.chunks.len() << CHUNK_BITS {
            self.chunks.push(Vec::with_capacity(1 << CHUNK_BITS));
        }
        self.chunks.last_mut().expect("Invariant: a chunk was just made if there was none").push(entries);
        self.lines = self.lines.checked_add(1).expect("Invariant: no memory holds the lines of 2^32 groups");
        if self.directory[leaf] == 0 {
            // No more than lines.
            self.directory[leaf] = self.leaves.len() as u32;
            self.leaves.push([0; LEAF]);
        }
        self.leaves[self.directory[leaf] as usize][group] = self.lines;
        self.lines
    }
}

pub(crate) struct Map {
    own: Lines,
    /// What was known in a state that other drives have gone on from too, where it is: a group that is written in has
    /// its line there copied first.
    before: Option<Arc<Lines>>,
}

impl Map {
    pub fn new(pages: u64) -> Map {
        Map { own: Lines::none(pages.div_ceil((GROUP * LEAF) as u64) as usize), before: None }
    }

    /// All pages are as in the initial state again.
    pub fn clear(&mut self) {
        *self = Map { own: Lines::none(self.own.directory.len()), before: None };
    }

    #[inline]
    pub fn get(&self, lpn: Lpn) -> Entry {
        let (leaf, group, page) = places(lpn);
        let line = self.own.number(leaf, group);
        if line == 0 {
            return self
                .before
                .as_ref()
                .and_then(|before| before.line(leaf, group))
                .map_or(Entry::Initial, |line| entry_of(line[page]));
        }
        entry_of(self.own.at(line)[page])
    }

    #[inline]
    pub fn set(&mut self, lpn: Lpn, entry: Entry) {
        let entry = match entry {
            Entry::Written(WrittenPage(number)) => number,
            Entry::Buffer(slot) => BUFFER + slot.index() as u32,
            Entry::Unmapped => UNMAPPED,
            Entry::Initial => INITIAL,
        };
        let (leaf, group, page) = places(lpn);
        let mut line = self.own.number(leaf, group);
        if line == 0 {
            let before = self.before.as_ref().and_then(|before| before.line(leaf, group));
            line = self.own.add(leaf, group, before.copied().unwrap_or([INITIAL; GROUP]));
        }
        self.own.at_mut(line)[page] = entry;
    }

    /// The pages that the map says something of: those of groups that were written in.
    pub fn known(&self) -> impl Iterator<Item = Lpn> {
        let both = move || [Some(&self.own), self.before.as_deref()].into_iter().flatten();
        let leaves = (0..self.own.directory.len()).filter(move |leaf| both().any(|of| of.directory[*leaf] != 0));
        let groups = leaves.flat_map(move |leaf| {
            let known = (0..LEAF).filter(move |group| both().any(|of| of.number(leaf, *group) != 0));
            known.map(move |group| leaf * LEAF + group)
        });
        groups.flat_map(|group| (0..GROUP).map(move |page| Lpn((group * GROUP + page) as u64)))
    }

    /// Fetches the directory entry of a page that will be looked up soon into the cache.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        let (leaf, group, _) = places(lpn);
        if let Some(leaf) = self.own.directory.get(leaf).and_then(|leaf| self.own.leaves.get(*leaf as usize)) {
            crate::arena::prefetch(leaf, group);
        }
    }

    /// Fetches the line of a page, whose directory entry has been fetched.
    #[inline]
    pub fn prefetch_further(&self, lpn: Lpn) {
        let (leaf, group, _) = places(lpn);
        let line = self.own.number(leaf, group);
        if line != 0 {
            let (chunk, line) = chunk_of(line);
            crate::arena::prefetch(&self.own.chunks[chunk], line);
        }
    }

    /// As one table: that of before with what has changed since.
    fn whole(&self, before: &Lines) -> Lines {
        let mut whole = before.clone();
        let mut own: Vec<(u32, usize, usize)> = Vec::with_capacity(self.own.lines as usize);
        for leaf in (0..self.own.directory.len()).filter(|leaf| self.own.directory[*leaf] != 0) {
            own.extend((0..LEAF).map(|group| (self.own.number(leaf, group), leaf, group)).filter(|of| of.0 != 0));
        }
        own.sort_unstable();
        for (line, leaf, group) in own {
            match whole.number(leaf, group) {
                0 => drop(whole.add(leaf, group, *self.own.at(line))),
                there => *whole.at_mut(there) = *self.own.at(line),
            }
        }
        whole
    }
}

/// What an entry says.
#[inline]
fn entry_of(entry: u32) -> Entry {
    if entry < BUFFER {
        Entry::Written(WrittenPage(entry))
    } else if entry == INITIAL {
        Entry::Initial
    } else if entry == UNMAPPED {
        Entry::Unmapped
    } else {
        Entry::Buffer(SlotId::new((entry - BUFFER) as usize))
    }
}

/// A page's leaf of the directory, its group in the leaf, its place in the group.
#[inline]
fn places(lpn: Lpn) -> (usize, usize, usize) {
    ((lpn.0 >> (GROUP_BITS + LEAF_BITS)) as usize, (lpn.0 >> GROUP_BITS) as usize % LEAF, lpn.0 as usize % GROUP)
}

/// The chunk of a line and its place there; lines are numbered from 1 on.
#[inline]
fn chunk_of(line: u32) -> (usize, usize) {
    let line = line as usize - 1;
    (line >> CHUNK_BITS, line & ((1 << CHUNK_BITS) - 1))
}

/// The state is one table, whether that of before is shared or not.
impl State for Map {
    fn save(&self, to: &mut Writer) {
        match &self.before {
            None => self.own.write(to),
            Some(before) => self.whole(before).write(to),
        }
    }
    fn load(&mut self, from: &mut Reader) -> io::Result<()> {
        *self = match from.table(Lines::read)? {
            Table::Own(own) => Map { own, before: None },
            Table::Shared(before) => Map { own: Lines::none(before.directory.len()), before: Some(before) },
        };
        Ok(())
    }
}

stored! {
    Lines { directory, leaves, chunks, lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::SharedState;
    use std::collections::HashMap;

    const PAGES: u64 = 1 << 25;

    #[test]
    #[ignore = "a micro-benchmark: make bench"]
    fn bench_map() {
        let mut map = Map::new(PAGES);
        let random = units::Stream::new(4, "map");
        let page = |i: u64| Lpn(random.below(i, PAGES));
        crate::bench::report("map: lookup of a random page, nothing written", 5_000_000, |i| {
            std::hint::black_box(map.get(page(i)));
        });
        crate::bench::report("map: the same, prefetched 16 lookups ahead", 5_000_000, |i| {
            map.prefetch(page(i + 16));
            std::hint::black_box(map.get(page(i)));
        });
        crate::bench::report("map: update of a random page", 2_000_000, |i| {
            map.set(page(i), Entry::Buffer(SlotId::new(1)))
        });
        crate::bench::report("map: lookup of a random page, 2 million written", 2_000_000, |i| {
            std::hint::black_box(map.get(page(i)));
        });
    }

    #[test]
    fn the_first_and_the_last_number_of_every_kind_are_told_apart() {
        let mut map = Map::new(PAGES);
        let written = [0, (1 << 31) - 1, WRITTEN_PAGES as u32 - 1].map(|page| Entry::Written(WrittenPage(page)));
        let buffered = [0, 1 << 24].map(|slot| Entry::Buffer(SlotId::new(slot)));
        for entry in written.into_iter().chain(buffered).chain([Entry::Unmapped, Entry::Initial]) {
            map.set(Lpn(5), entry);
            assert_eq!((map.get(Lpn(5)), map.get(Lpn(6)), map.get(Lpn(5000))), (entry, Entry::Initial, Entry::Initial));
        }
    }

    #[test]
    fn a_map_agrees_with_a_hash_map_over_random_settings() {
        // Neighbours; and beyond 2^32 pages, where only the leaves that are written in take memory.
        for factor in [1, 1 << 20] {
            let mut map = Map::new(300_000 * factor);
            let mut plain = HashMap::new();
            let random = units::Stream::new(3, "map");
            for i in 0..200_000u64 {
                let lpn = Lpn(random.bits(2 * i) % 300_000 * factor);
                assert_eq!(map.get(lpn), plain.get(&lpn).copied().unwrap_or(Entry::Initial));
                let value = (random.bits(2 * i + 1) & 0x00FF_FFFF) as u32;
                let entry = match value % 2 {
                    0 => Entry::Written(WrittenPage(value << 7)),
                    _ => Entry::Buffer(SlotId::new(value as usize)),
                };
                map.set(lpn, entry);
                plain.insert(lpn, entry);
            }
        }
    }

    #[test]
    fn a_map_that_shares_what_was_before_is_the_same_map() {
        let pages = 300_000;
        let (mut alone, random) = (Map::new(pages), units::Stream::new(5, "map"));
        let change = |map: &mut Map, i: u64| {
            let entry = if i.is_multiple_of(7) { Entry::Unmapped } else { Entry::Written(WrittenPage(i as u32)) };
            map.set(Lpn(random.below(i, pages)), entry);
        };
        (0..20_000).for_each(|i| change(&mut alone, i));
        let bytes = |map: &Map| {
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&mut bytes);
            map.save(&mut writer);
            writer.finish().unwrap();
            bytes
        };
        let (saved, mut state) = (bytes(&alone), SharedState::default());
        let mut first = Map::new(pages);
        let mut from = saved.as_slice();
        Reader::noting(&mut from, &mut state).whole(|state| first.load(state)).unwrap();
        assert_eq!(state.bytes(), saved.len());
        let again = || {
            let mut map = Map::new(pages);
            Reader::again(&state, &mut &[][..]).whole(|state| map.load(state)).unwrap();
            map
        };
        // Another one's changes are not seen.
        let mut other = again();
        (50_000..60_000).for_each(|i| change(&mut other, i));
        for mut map in [first, again()] {
            assert_eq!(bytes(&map), saved);
            let mut alone = {
                let mut own = Map::new(pages);
                own.load(&mut Reader::new(&mut saved.as_slice())).unwrap();
                own
            };
            for i in 20_000..30_000 {
                change(&mut map, i);
                change(&mut alone, i);
            }
            assert!((0..pages).all(|lpn| map.get(Lpn(lpn)) == alone.get(Lpn(lpn))));
            assert!(map.known().eq(alone.known()));
            assert!(bytes(&map) == bytes(&alone));
        }
    }
}
