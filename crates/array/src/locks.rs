//! Locks of stripes. The parity at a byte of a unit follows from the data at that byte of the other units: whoever
//! changes data and parity, or reconstructs one from the other, has the range of bytes for itself. Ranges that do not
//! overlap do not meet.

use std::collections::{BTreeMap, VecDeque};

use ssd::persist::{stored, stored_enum};

use crate::slab::Key;

/// Who shares a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reconstruction: others that reconstruct may do so at the same time.
    Shared,
    /// A change of data and parity.
    Exclusive,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    who: Key,
    access: Access,
    start: u64,
    end: u64,
}

stored_enum! {
    Access { 0 = Shared, 1 = Exclusive, }
}

stored! {
    Claim { who, access, start, end }
    StripeLocks { held, waiting }
    Locks { stripes }
}

impl Claim {
    fn conflicts(&self, other: &Claim) -> bool {
        let overlaps = self.start < other.end && other.start < self.end;
        overlaps && (self.access == Access::Exclusive || other.access == Access::Exclusive)
    }
}

#[derive(Default)]
struct StripeLocks {
    held: Vec<Claim>,
    waiting: VecDeque<Claim>,
}

impl StripeLocks {
    fn is_free(&self, claim: &Claim, before: usize) -> bool {
        let waiting = self.waiting.iter().take(before);
        !self.held.iter().chain(waiting).any(|other| other.conflicts(claim))
    }
}

/// The stripes of which something is locked.
#[derive(Default)]
pub(crate) struct Locks {
    stripes: BTreeMap<u64, StripeLocks>,
}

impl Locks {
    /// Locks bytes of a stripe; whether that was possible at once. Otherwise `who` waits for it, behind those that came
    /// before.
    pub fn acquire(&mut self, stripe: u64, who: Key, access: Access, (start, end): (u64, u64)) -> bool {
        let claim = Claim { who, access, start, end };
        let locks = self.stripes.entry(stripe).or_default();
        let free = locks.is_free(&claim, usize::MAX);
        if free {
            locks.held.push(claim)
        } else {
            locks.waiting.push_back(claim)
        }
        free
    }

    /// Locks bytes of a stripe if that is possible at once; `who` does not wait otherwise.
    pub fn try_acquire(&mut self, stripe: u64, who: Key, access: Access, (start, end): (u64, u64)) -> bool {
        let claim = Claim { who, access, start, end };
        let free = self.stripes.get(&stripe).is_none_or(|locks| locks.is_free(&claim, usize::MAX));
        if free {
            self.stripes.entry(stripe).or_default().held.push(claim);
        }
        free
    }

    /// Releases what `who` holds of a stripe or waits for, and appends those that have waited for it and hold their
    /// locks now.
    pub fn release(&mut self, stripe: u64, who: Key, granted: &mut Vec<Key>) {
        let Some(locks) = self.stripes.get_mut(&stripe) else { return };
        locks.held.retain(|claim| claim.who != who);
        locks.waiting.retain(|claim| claim.who != who);
        let mut index = 0;
        while index < locks.waiting.len() {
            let claim = locks.waiting[index];
            if locks.is_free(&claim, index) {
                locks.waiting.remove(index);
                locks.held.push(claim);
                granted.push(claim.who);
            } else {
                index += 1;
            }
        }
        if locks.held.is_empty() && locks.waiting.is_empty() {
            self.stripes.remove(&stripe);
        }
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.stripes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_granted_in_order_and_readers_together() {
        let mut locks = Locks::default();
        let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(Key::of_number);
        assert!(locks.acquire(7, a, Access::Exclusive, (0, 10)));
        assert!(locks.acquire(7, b, Access::Exclusive, (10, 20)), "another range");
        assert!(!locks.acquire(7, c, Access::Shared, (5, 15)));
        assert!(!locks.try_acquire(7, d, Access::Shared, (0, 5)));
        assert!(!locks.acquire(7, d, Access::Shared, (0, 8)));
        assert!(!locks.acquire(7, e, Access::Exclusive, (12, 13)), "not past one that waits");
        let mut granted = Vec::new();
        locks.release(7, a, &mut granted);
        assert_eq!(granted, [d]);
        locks.release(7, b, &mut granted);
        assert_eq!(granted, [d, c]);
        locks.release(7, c, &mut granted);
        assert_eq!(granted, [d, c, e]);
        [d, e].into_iter().for_each(|who| locks.release(7, who, &mut granted));
        assert!(locks.is_empty());
    }
}
