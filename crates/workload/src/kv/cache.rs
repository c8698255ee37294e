//! Which blocks are on the drive, and where; and which are in memory too. Of both the least recently used block makes way.

use std::collections::HashSet;

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
}

impl Cache {
    /// This many places on the drive, and this many blocks in memory; whether there were blocks on the drive before the run.
    pub fn new(slots: u32, memory: u64, has_stored: bool) -> Cache {
        Cache {
            drive: LruCache::unbounded(),
            memory: LruCache::unbounded(),
            in_memory: memory,
            unused: 0,
            slots,
            seen: has_stored.then(HashSet::new),
        }
    }

    /// Where a block is, which has been used now. Whether it is one of those that were there before the run, if that has not met it yet.
    pub fn find(&mut self, block: BlockId, was_stored: bool) -> Option<Found> {
        let is_new = self.seen.as_mut().is_some_and(|seen| seen.insert(block));
        if is_new && was_stored && self.unused < self.slots {
            self.drive.put(block, Place { slot: Slot(self.unused), written: true });
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
        let slot = if self.unused < self.slots {
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
