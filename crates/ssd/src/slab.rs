//! Page operations and requests: slabs of small entries named by a `u32`, and queues through them.

use nand::DieId;
use nand::model::outcomes::PageRead;
use schemes::{Class, References};
use units::{Lpn, Ppn};

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// A store of `T` whose entries are named by a `u32` and reused after release.
pub(crate) struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
    /// One bit an entry: in use.
    used: Vec<u64>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new(), used: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, entry: T) -> u32 {
        let id = if let Some(id) = self.free.pop() {
            self.entries[id as usize] = entry;
            id
        } else {
            self.entries.push(entry);
            self.used.resize(self.entries.len().div_ceil(64), 0);
            (self.entries.len() - 1) as u32
        };
        self.used[id as usize / 64] |= 1 << (id % 64);
        id
    }

    #[inline]
    pub fn release(&mut self, id: u32) {
        let used = &mut self.used[id as usize / 64];
        assert!(*used >> (id % 64) & 1 != 0, "Invariant: an entry is released once");
        *used &= !(1 << (id % 64));
        self.free.push(id);
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: u32) -> &T {
        debug_assert!(self.used[id as usize / 64] >> (id % 64) & 1 != 0, "Invariant: a released entry is not read");
        &self.entries[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut T {
        debug_assert!(self.used[id as usize / 64] >> (id % 64) & 1 != 0, "Invariant: a released entry is not changed");
        &mut self.entries[id as usize]
    }
}

/// What a page operation is part of, and so what happens when it is done and what its owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A part of a host request; owner: the command.
    Host,
    /// A page of the write buffer, the old half of which is read or which is programmed; owner: the slot.
    Slot,
    /// A page that moves within its plane; owner: the plane.
    Move,
    /// A line of the map that is read into its cache; owner: the fetch, if something waits for it.
    MapFetch,
    /// A mapping page that is read, changed and programmed.
    MapRewrite,
    /// A block that is erased; the page is its first.
    Erase,
}

/// One page to be read, one page to be programmed, or one block to be erased.
#[derive(Clone, Copy)]
pub(crate) struct PageOp {
    /// The next operation of the queue or command that this one is in.
    pub next: u32,
    /// Who waits for it, by its kind.
    pub owner: u32,
    pub lpn: Lpn,
    /// The page to sense; for programs the page that was given to it when it was issued.
    pub ppn: Ppn,
    /// Where a page that moves comes from.
    pub source: Ppn,
    /// Bytes that cross the channel's bus.
    pub bus_bytes: u32,
    /// Bytes that go to the host.
    pub host_bytes: u32,
    pub die: DieId,
    /// Place of the plane in its die.
    pub plane: u8,
    pub class: Class,
    pub kind: Kind,
    /// Where the data goes (see [`crate::space::lane`]).
    pub lane: u8,
    /// Age: operations are numbered as they enter their die's queues.
    pub seq: u64,
    pub sense: Sense,
}

impl PageOp {
    /// What it is for, where that is not a host's request.
    pub fn purpose(&self) -> &'static str {
        if self.sense.references == References::Sentinel {
            return "sentinel cells";
        }
        match self.kind {
            Kind::Host => "",
            Kind::Slot if matches!(self.class, Class::UserProgram) => "",
            Kind::Slot => "partial write",
            Kind::Move => "move",
            Kind::MapFetch | Kind::MapRewrite => "map",
            Kind::Erase => "erase",
        }
    }
}

/// What becomes of a sensed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its data will be corrected.
    Corrected,
    /// It will not.
    Uncorrectable,
    /// It matters no more: the data has been read.
    Void,
}

/// Which sense of a page a read is at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sense {
    /// What reading the page comes to; known when the first sense has been decoded.
    pub read: PageRead,
    /// With which references.
    pub references: References,
    /// The step of the retry table at which the read began.
    pub start: u8,
    /// Senses before this one.
    pub tries: u16,
    /// The die has predicted a failure, and sensed it again by itself.
    pub again: bool,
    /// The next step follows already (`read.pipeline`).
    pub followed: bool,
    /// Every step has failed with the RPT's tPRE: again with the default one.
    pub repeated: bool,
    /// Known when it is sensed.
    pub fate: Fate,
    /// How long the die senses, and how long its decoding takes [ns].
    pub took: u32,
    pub decoding: u32,
}

impl Sense {
    pub const FIRST: Sense = Sense {
        read: PageRead { first: 0, last: 0, weak: false },
        references: References::Step(0),
        start: 0,
        tries: 0,
        again: false,
        followed: false,
        repeated: false,
        fate: Fate::Corrected,
        took: 0,
        decoding: 0,
    };

    /// Whether it belongs to a read whose first sense has left the die and failed.
    pub fn is_retry(&self) -> bool {
        self.tries > 0
    }

    /// Whether planes can sense both in one command: first senses; or retries with the same references and timing.
    pub fn goes_with(&self, other: &Sense) -> bool {
        let retries = (self.is_retry(), other.is_retry());
        retries == (false, false)
            || retries == (true, true) && (self.references, self.repeated) == (other.references, other.repeated)
    }

    /// Whether the page has been sensed before, for the controller or by the die itself.
    pub fn is_repeat(&self) -> bool {
        self.tries > 0 || self.again
    }
}

/// A first-in-first-out queue through the slab of page operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub head: u32,
    tail: u32,
    pub len: u32,
    /// The age of the head, kept here so that choosing among queues touches no operation.
    pub head_seq: u64,
}

impl Queue {
    pub const EMPTY: Queue = Queue { head: NONE, tail: NONE, len: 0, head_seq: u64::MAX };

    #[inline]
    pub fn push(&mut self, ops: &mut Slab<PageOp>, id: u32) {
        ops[id].next = NONE;
        if self.head == NONE {
            self.head = id;
            self.head_seq = ops[id].seq;
        } else {
            ops[self.tail].next = id;
        }
        self.tail = id;
        self.len += 1;
    }

    #[inline]
    pub fn pop(&mut self, ops: &mut Slab<PageOp>) -> u32 {
        let id = self.head;
        debug_assert_ne!(id, NONE, "Invariant: only queues with an entry are popped");
        self.head = ops[id].next;
        self.head_seq = if self.head == NONE { u64::MAX } else { ops[self.head].seq };
        self.len -= 1;
        ops[id].next = NONE;
        id
    }

    /// Puts an entry in at its age: before everything younger.
    pub fn insert(&mut self, ops: &mut Slab<PageOp>, id: u32) {
        if self.head == NONE || ops[id].seq >= ops[self.tail].seq {
            return self.push(ops, id);
        }
        self.len += 1;
        if ops[id].seq < self.head_seq {
            ops[id].next = self.head;
            (self.head, self.head_seq) = (id, ops[id].seq);
            return;
        }
        let mut before = self.head;
        while ops[ops[before].next].seq <= ops[id].seq {
            before = ops[before].next;
        }
        ops[id].next = ops[before].next;
        ops[before].next = id;
    }

    /// Takes the entry of an age out of a queue that stands in the order of ages.
    pub fn remove(&mut self, ops: &mut Slab<PageOp>, seq: u64) -> Option<u32> {
        if self.head == NONE || self.head_seq > seq {
            return None;
        }
        if self.head_seq == seq {
            return Some(self.pop(ops));
        }
        let mut before = self.head;
        while ops[before].next != NONE && ops[ops[before].next].seq < seq {
            before = ops[before].next;
        }
        let found = ops[before].next;
        if found == NONE || ops[found].seq != seq {
            return None;
        }
        ops[before].next = ops[found].next;
        if self.tail == found {
            self.tail = before;
        }
        self.len -= 1;
        Some(found)
    }

    /// Takes the entries out that `chosen` holds of, and gives them to `found`.
    pub fn take(
        &mut self,
        ops: &mut Slab<PageOp>,
        chosen: impl Fn(&PageOp) -> bool,
        mut found: impl FnMut(&mut Slab<PageOp>, u32),
    ) {
        let mut kept = Queue::EMPTY;
        while !self.is_empty() {
            let id = self.pop(ops);
            if chosen(&ops[id]) { found(ops, id) } else { kept.push(ops, id) }
        }
        *self = kept;
    }

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// Fetches an entry that will be needed soon into the cache; does nothing where there is no such entry.
#[inline]
pub(crate) fn prefetch<T>(entries: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = entries.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and changes nothing, and `entry` is a valid reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entries, index);
}
