//! A table from group numbers to places: open addressing with linear probing, so that a look-up touches one cache line,
//! which can be fetched ahead.

use crate::persist::stored;

/// The number of no group.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    group: u32,
    place: u32,
}

const EMPTY: Slot = Slot { group: NONE, place: 0 };

/// See the [module documentation](self). No more than half full: a search ends at an empty slot.
pub(super) struct Places {
    slots: Vec<Slot>,
    len: usize,
}

impl Places {
    pub fn new() -> Places {
        Places { slots: vec![EMPTY; 64], len: 0 }
    }

    /// Where a group's search begins: Fibonacci hashing of four neighbours at once, which a request is likely to look
    /// up together and which so share a cache line.
    #[inline]
    fn home(&self, group: u32) -> usize {
        let spread = u64::from(group >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let four = (spread >> (66 - self.slots.len().trailing_zeros())) as usize;
        four << 2 | group as usize & 3
    }

    /// The slot of a group, or the empty one where it would stand.
    #[inline]
    fn slot_of(&self, group: u32) -> usize {
        let mut slot = self.home(group);
        while self.slots[slot].group != group && self.slots[slot].group != NONE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[inline]
    pub fn get(&self, group: u32) -> Option<u32> {
        let slot = self.slots[self.slot_of(group)];
        (slot.group == group).then_some(slot.place)
    }

    pub fn insert(&mut self, group: u32, place: u32) {
        let slot = self.slot_of(group);
        self.len += usize::from(self.slots[slot].group == NONE);
        self.slots[slot] = Slot { group, place };
        if self.len > self.slots.len() / 2 {
            self.grow();
        }
    }

    pub fn remove(&mut self, group: u32) {
        let mut hole = self.slot_of(group);
        if self.slots[hole].group == NONE {
            return;
        }
        self.len -= 1;
        // What was pushed on by the group moves back.
        let last = self.slots.len() - 1;
        let mut next = hole;
        loop {
            next = (next + 1) & last;
            if self.slots[next].group == NONE {
                break;
            }
            let home = self.home(self.slots[next].group);
            // Not behind its home, counted from the hole on.
            if (next.wrapping_sub(home) & last) >= (next.wrapping_sub(hole) & last) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
        }
        self.slots[hole] = EMPTY;
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![EMPTY; self.slots.len() * 2];
        let slots = std::mem::replace(&mut self.slots, more);
        for held in slots.into_iter().filter(|slot| slot.group != NONE) {
            let slot = self.slot_of(held.group);
            self.slots[slot] = held;
        }
    }

    /// Fetches the slot of a group that will be looked up soon into the cache.
    #[inline]
    pub fn prefetch(&self, group: u32) {
        crate::arena::prefetch(&self.slots, self.home(group));
    }
}

stored! {
    Places { slots, len }
    Slot { group, place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_agrees_with_a_hash_map_over_random_operations() {
        let random = units::Stream::new(5, "places");
        for groups in [7, 100, 5_000] {
            let (mut places, mut plain) = (Places::new(), HashMap::new());
            for index in 0..100_000 {
                let group = random.below(3 * index, groups) as u32;
                assert_eq!(places.get(group), plain.get(&group).copied());
                if random.below(3 * index + 1, 5) < 3 {
                    let place = random.bits(3 * index + 2) as u32;
                    places.insert(group, place);
                    plain.insert(group, place);
                } else {
                    places.remove(group);
                    plain.remove(&group);
                }
                assert_eq!(places.len, plain.len());
            }
            (0..groups as u32).for_each(|group| assert_eq!(places.get(group), plain.get(&group).copied()));
        }
    }
}
