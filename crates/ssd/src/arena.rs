//! Stores of entries that are named by ids of their own kind, and first-in-first-out lists through them.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use slab::Slab;
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

/// A store of `T` whose places are used again after release: a slab that is asked by ids of its own kind only.
pub(crate) struct Arena<I, T> {
    entries: Slab<T>,
    kind: PhantomData<I>,
}

impl<I: Id, T> Arena<I, T> {
    pub fn new() -> Arena<I, T> {
        Arena { entries: Slab::new(), kind: PhantomData }
    }

    #[inline]
    pub fn insert(&mut self, entry: T) -> I {
        I::new(self.entries.insert(entry))
    }

    #[inline]
    pub fn release(&mut self, id: I) {
        assert!(self.entries.try_remove(id.index()).is_some(), "Invariant: an entry is released once");
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in use, by place.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        self.entries.iter().map(|(place, _)| I::new(place))
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        self.entries.get(id.index()).expect("Invariant: a released entry is not read")
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        self.entries.get_mut(id.index()).expect("Invariant: a released entry is not changed")
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
