//! The page-level map: where the newest data of each logical page is.
//!
//! Only what was written in the run is stored, sixteen neighbouring pages a cache line; everything else is
//! the initial state's formula. Memory grows with what the workload touches: one line of 64 bytes for each
//! group of 16 pages written in, beside a directory of a quarter byte a logical page, whose untouched parts
//! the operating system never backs with memory.

use units::{Id, Lpn, Ppn};

use super::aged::Aged;
use crate::arena::SlotId;

/// Where a logical page's newest data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Nowhere: it was never written, or was deallocated.
    Unmapped,
    /// On flash.
    Flash(Ppn),
    /// In the write buffer, at this slot.
    Buffer(SlotId),
}

const GROUP_BITS: u32 = 4;
const GROUP: usize = 1 << GROUP_BITS;
/// Lines are kept in chunks, so that growing never copies them.
const CHUNK_BITS: u32 = 16;

/// An entry of a line. All ones = as in the initial state, one less = deallocated; otherwise top bit = buffer slot, of
/// which there are at most 2^24; otherwise a physical page, which may need all of the 31 other bits.
const INITIAL: u32 = u32::MAX;
const UNMAPPED: u32 = u32::MAX - 1;
const BUFFER: u32 = 1 << 31;

pub(crate) struct Map {
    /// For each group: 0, or the number of its line plus 1.
    directory: Vec<u32>,
    chunks: Vec<Vec<[u32; GROUP]>>,
    lines: u32,
}

impl Map {
    pub fn new(pages: u32) -> Map {
        Map { directory: vec![0; (pages as usize).div_ceil(GROUP)], chunks: Vec::new(), lines: 0 }
    }

    #[inline]
    pub fn get(&self, lpn: Lpn, aged: &Aged) -> Location {
        let line = self.directory[(lpn.0 >> GROUP_BITS) as usize];
        let entry = if line == 0 { INITIAL } else { self.line(line - 1)[lpn.0 as usize % GROUP] };
        if entry == INITIAL {
            aged.physical(lpn).map_or(Location::Unmapped, Location::Flash)
        } else if entry == UNMAPPED {
            Location::Unmapped
        } else if entry & BUFFER != 0 {
            Location::Buffer(SlotId::new((entry & !BUFFER) as usize))
        } else {
            Location::Flash(Ppn(entry))
        }
    }

    #[inline]
    pub fn set(&mut self, lpn: Lpn, location: Location) {
        let entry = match location {
            Location::Flash(ppn) => ppn.0,
            Location::Buffer(slot) => BUFFER | slot.index() as u32,
            Location::Unmapped => UNMAPPED,
        };
        let group = (lpn.0 >> GROUP_BITS) as usize;
        let mut line = self.directory[group];
        if line == 0 {
            line = self.add_line();
            self.directory[group] = line;
        }
        let line = line - 1;
        self.chunks[(line >> CHUNK_BITS) as usize][line as usize & ((1 << CHUNK_BITS) - 1)][lpn.0 as usize % GROUP] =
            entry;
    }

    #[inline]
    fn line(&self, line: u32) -> &[u32; GROUP] {
        &self.chunks[(line >> CHUNK_BITS) as usize][line as usize & ((1 << CHUNK_BITS) - 1)]
    }

    #[cold]
    fn add_line(&mut self) -> u32 {
        if self.lines as usize == self.chunks.len() << CHUNK_BITS {
            self.chunks.push(Vec::with_capacity(1 << CHUNK_BITS));
        }
        self.chunks.last_mut().expect("Invariant: a chunk was just made if there was none").push([INITIAL; GROUP]);
        self.lines += 1;
        self.lines
    }

    /// Fetches the directory entry of a page that will be looked up soon into the cache.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        crate::arena::prefetch(&self.directory, (lpn.0 >> GROUP_BITS) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::collections::HashMap;

    #[test]
    #[ignore = "a micro-benchmark: make bench"]
    fn bench_map() {
        let plan = crate::presets::load("mqsim").unwrap().config.plan().unwrap();
        let aged = Aged::new(&plan, plan.layout.blocks);
        let mut map = Map::new(plan.logical_pages);
        let random = units::Stream::new(4, "map");
        let page = |i: u64| Lpn(random.below(i, u64::from(plan.logical_pages)) as u32);
        crate::bench::report("map: lookup of a random page, nothing written", 5_000_000, |i| {
            std::hint::black_box(map.get(page(i), &aged));
        });
        crate::bench::report("map: the same, prefetched 16 lookups ahead", 5_000_000, |i| {
            map.prefetch(page(i + 16));
            std::hint::black_box(map.get(page(i), &aged));
        });
        crate::bench::report("map: update of a random page", 2_000_000, |i| {
            map.set(page(i), Location::Buffer(SlotId::new(1)))
        });
        crate::bench::report("map: lookup of a random page, 2 million written", 2_000_000, |i| {
            std::hint::black_box(map.get(page(i), &aged));
        });
    }

    #[test]
    fn the_first_and_the_last_page_number_are_pages() {
        let plan = Config::default().plan().unwrap();
        let (aged, mut map) = (Aged::new(&plan, plan.layout.blocks), Map::new(plan.logical_pages));
        let extremes =
            [Location::Flash(Ppn(0)), Location::Flash(Ppn((1 << 31) - 1)), Location::Buffer(SlotId::new(1 << 24))];
        for location in extremes.into_iter().chain([Location::Unmapped]) {
            map.set(Lpn(5), location);
            assert_eq!(map.get(Lpn(5), &aged), location);
            assert_eq!(map.get(Lpn(6), &aged), Location::Flash(aged.physical(Lpn(6)).unwrap()));
        }
    }

    #[test]
    fn a_map_agrees_with_a_hash_map_over_random_settings() {
        let plan = Config::default().plan().unwrap();
        let aged = Aged::new(&plan, plan.layout.blocks);
        let mut map = Map::new(plan.logical_pages);
        let mut plain = HashMap::new();
        let random = units::Stream::new(3, "map");
        for i in 0..200_000u64 {
            let lpn = Lpn((random.bits(2 * i) % 300_000) as u32 * 7);
            let expected = plain.get(&lpn).copied().unwrap_or(Location::Flash(aged.physical(lpn).unwrap()));
            assert_eq!(map.get(lpn, &aged), expected);
            let value = (random.bits(2 * i + 1) & 0x0FFF_FFFF) as u32;
            let location = if value.is_multiple_of(2) {
                Location::Flash(Ppn(value))
            } else {
                Location::Buffer(SlotId::new(value as usize))
            };
            map.set(lpn, location);
            plain.insert(lpn, location);
        }
    }
}
