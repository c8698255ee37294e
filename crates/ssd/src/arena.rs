//! Stores of entries that are named by ids of their own kind, and first-in-first-out lists through them.

use units::Id;

units::ids! {
    /// A page operation.
    OpId,
    /// A command: a request that the device has taken from the host.
    CommandId,
    /// A slot of the write buffer.
    SlotId,
    /// A command that waits for a slot to be on flash.
    WaiterId,
    /// A line of the map on its way into its cache.
    FetchId,
    /// What waits for a line of the map.
    AwaitedId,
}

/// A store of `T` whose places are used again after release.
pub(crate) struct Arena<I, T> {
    entries: Vec<T>,
    free: Vec<I>,
    /// One bit an entry: in use.
    used: Vec<u64>,
}

impl<I: Id, T> Arena<I, T> {
    pub fn new() -> Arena<I, T> {
        Arena { entries: Vec::new(), free: Vec::new(), used: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, entry: T) -> I {
        let id = if let Some(id) = self.free.pop() {
            self.entries[id.index()] = entry;
            id
        } else {
            self.entries.push(entry);
            self.used.resize(self.entries.len().div_ceil(64), 0);
            I::new(self.entries.len() - 1)
        };
        self.used[id.index() / 64] |= 1 << (id.index() % 64);
        id
    }

    #[inline]
    pub fn release(&mut self, id: I) {
        let used = &mut self.used[id.index() / 64];
        assert!(*used >> (id.index() % 64) & 1 != 0, "Invariant: an entry is released once");
        *used &= !(1 << (id.index() % 64));
        self.free.push(id);
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// The entries in use, by place.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        (0..self.entries.len()).map(I::new).filter(|id| self.holds(*id))
    }

    /// Fetches an entry that will be needed soon into the cache.
    pub fn prefetch(&self, id: I) {
        prefetch(&self.entries, id.index());
    }

    #[inline]
    fn holds(&self, id: I) -> bool {
        self.used[id.index() / 64] >> (id.index() % 64) & 1 != 0
    }
}

impl<I: Id, T> std::ops::Index<I> for Arena<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        debug_assert!(self.holds(id), "Invariant: a released entry is not read");
        &self.entries[id.index()]
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        debug_assert!(self.holds(id), "Invariant: a released entry is not changed");
        &mut self.entries[id.index()]
    }
}

/// An entry that can stand in one list at a time.
pub(crate) trait Linked<I> {
    /// The next entry of its list.
    fn next(&mut self) -> &mut Option<I>;
}

/// A first-in-first-out list through an arena: its first entry and its last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<I>(Option<(I, I)>);

impl<I: Id> List<I> {
    pub const EMPTY: List<I> = List(None);

    pub fn first(&self) -> Option<I> {
        self.0.map(|(first, _)| first)
    }

    #[inline]
    pub fn push<T: Linked<I>>(&mut self, arena: &mut Arena<I, T>, id: I) {
        *arena[id].next() = None;
        if let Some((_, last)) = self.0 {
            *arena[last].next() = Some(id);
        }
        self.0 = Some((self.first().unwrap_or(id), id));
    }

    #[inline]
    pub fn pop<T: Linked<I>>(&mut self, arena: &mut Arena<I, T>) -> Option<I> {
        let (first, last) = self.0?;
        self.0 = arena[first].next().take().map(|next| (next, last));
        Some(first)
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
