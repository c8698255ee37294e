//! Which blocks are on the drive, and where; and which are in memory too. Of both the least recently used block makes
//! way; of a drive that is written by zones all blocks of a zone do, those of the one that was written first.

use std::collections::{HashSet, VecDeque};

use lru::LruCache;

/// A block, named by all tokens of its prompt up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockId(pub u64);

/// A place for a block on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub u32);

/// Where a block is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In memory, or not written yet.
    Memory,
    /// In a place of the drive.
    Drive(Slot),
}

/// A block on the drive.
#[derive(Clone, Copy)]
struct Place {
    slot: Slot,
    written: bool,
}

/// The zones of the cache on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zones {
    pub count: u32,
    /// Blocks of each.
    pub blocks: u32,
    /// Bytes from the beginning of a zone to that of the next one, and of a block.
    pub size: u64,
    pub block: u64,
}

/// What zones hold.
struct Written {
    zones: Zones,
    /// By zone: its blocks, in order, and reads of them under way.
    blocks: Vec<Vec<BlockId>>,
    reads: Vec<u32>,
    /// The zone that is written, and the others in the order in which they are next.
    open: u32,
    next: VecDeque<u32>,
    /// Zones, the first ones, that hold blocks of before the run, until one of them is written.
    before: u32,
}

/// The place of a block that has none on the drive yet.
const NOWHERE: Slot = Slot(u32::MAX);

/// The blocks that are known.
pub(super) struct Cache {
    drive: LruCache<BlockId, Place>,
    /// Those in memory too, and how many there may be.
    memory: LruCache<BlockId, ()>,
    in_memory: u64,
    /// Places that have not been used, from this one on, of this many.
    unused: u32,
    slots: u32,
    /// Blocks that the run has met, where some were on the drive before it.
    seen: Option<HashSet<BlockId>>,
    /// Where it is written by zones: what these hold.
    written: Option<Written>,
}

impl Cache {
    /// This many places on the drive, and this many blocks in memory; whether there were blocks on the drive before the
    /// run.
    pub fn new(slots: u32, memory: u64, has_stored: bool, zones: Option<Zones>) -> Cache {
        let written = zones.map(|zones| {
            let before = if has_stored { zones.count / 2 } else { 0 };
            Written {
                zones,
                blocks: vec![Vec::new(); zones.count as usize],
                reads: vec![0; zones.count as usize],
                open: before,
                next: (before..zones.count).chain(0..before).collect(),
                before,
            }
        });
        Cache {
            drive: LruCache::unbounded(),
            memory: LruCache::unbounded(),
            in_memory: memory,
            unused: 0,
            slots,
            seen: has_stored.then(HashSet::new),
            written,
        }
    }

    /// Where a block is, which has been used now. Whether it is one of those that were there before the run, if that
    /// has not met it yet.
    pub fn find(&mut self, block: BlockId, was_stored: bool) -> Option<Found> {
        let is_new = self.seen.as_mut().is_some_and(|seen| seen.insert(block));
        let slots = self.written.as_ref().map_or(self.slots, |written| written.before * written.zones.blocks);
        if is_new && was_stored && self.unused < slots {
            self.drive.put(block, Place { slot: Slot(self.unused), written: true });
            if let Some(written) = &mut self.written {
                written.blocks[(self.unused / written.zones.blocks) as usize].push(block);
            }
            self.unused += 1;
        }
        let place = *self.drive.get(&block)?;
        let in_memory = self.memory.contains(&block);
        self.keep(block);
        Some(if in_memory || !place.written { Found::Memory } else { Found::Drive(place.slot) })
    }

    /// Whether a block is known, which counts as no use.
    pub fn knows(&self, block: BlockId) -> bool {
        self.drive.contains(&block)
    }

    /// A block that was not known is going to be computed, and written: where to.
    pub fn insert(&mut self, block: BlockId) -> Slot {
        let slot = if self.written.is_some() {
            NOWHERE
        } else if self.unused < self.slots {
            self.unused += 1;
            Slot(self.unused - 1)
        } else {
            let oldest = self.drive.pop_lru().expect("Invariant: all places are in use, and there are some");
            self.memory.pop(&oldest.0);
            oldest.1.slot
        };
        self.drive.put(block, Place { slot, written: false });
        if let Some(seen) = &mut self.seen {
            seen.insert(block);
        }
        self.keep(block);
        slot
    }

    /// A block begins to be written: where to, and the zone that is to be reset before.
    pub fn places(&mut self, block: BlockId, slot: Slot) -> (Slot, Option<u32>) {
        let Some(written) = self.written.as_mut().filter(|_| slot == NOWHERE) else { return (slot, None) };
        let mut reset = None;
        let full = written.blocks[written.open as usize].len() as u32 == written.zones.blocks;
        if full || written.next.len() as u32 == written.zones.count {
            // One that is being read keeps its data, unless all are.
            let quiet = written.next.iter().position(|zone| written.reads[*zone as usize] == 0).unwrap_or(0);
            if let Some(zone) = written.next.remove(quiet) {
                if full {
                    written.next.push_back(written.open);
                }
                (written.open, reset) = (zone, Some(zone));
                if zone < written.before {
                    written.before = 0;
                }
                let of_zone = zone * written.zones.blocks..(zone + 1) * written.zones.blocks;
                for gone in std::mem::take(&mut written.blocks[zone as usize]) {
                    // It may have been computed again since, and written elsewhere.
                    if self.drive.peek(&gone).is_some_and(|place| of_zone.contains(&place.slot.0)) {
                        self.drive.pop(&gone);
                        self.memory.pop(&gone);
                    }
                }
            }
        }
        let of_zone = &mut written.blocks[written.open as usize];
        let slot = Slot(written.open * written.zones.blocks + of_zone.len() as u32);
        of_zone.push(block);
        if let Some(place) = self.drive.peek_mut(&block) {
            place.slot = slot;
        }
        (slot, reset)
    }

    /// Where a place is, behind the beginning of the cache \[B], of blocks of that size.
    pub fn at(&self, slot: Slot, block_bytes: u64) -> u64 {
        match self.written.as_ref().map(|written| written.zones) {
            Some(zones) => {
                u64::from(slot.0 / zones.blocks) * zones.size + u64::from(slot.0 % zones.blocks) * zones.block
            }
            None => u64::from(slot.0) * block_bytes,
        }
    }

    /// Reads of a place are under way, or are not any more.
    pub fn reads(&mut self, slot: Slot, under_way: bool) {
        if let Some(written) = &mut self.written {
            let reads = &mut written.reads[(slot.0 / written.zones.blocks) as usize];
            *reads = if under_way { *reads + 1 } else { *reads - 1 };
        }
    }

    /// A block is in memory now, if any are.
    fn keep(&mut self, block: BlockId) {
        if self.in_memory == 0 {
            return;
        }
        self.memory.put(block, ());
        if self.memory.len() as u64 > self.in_memory {
            self.memory.pop_lru();
        }
    }

    /// A block has been written, unless it has made way before.
    pub fn written(&mut self, block: BlockId, slot: Slot) {
        if let Some(place) = self.drive.peek_mut(&block).filter(|place| place.slot == slot) {
            place.written = true;
        }
    }
}
