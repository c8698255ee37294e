//! Stores of entries that are named by ids of their own kind, and first-in-first-out lists through them.

use std::io;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use units::Id;

use crate::persist::{Reader, Stored, Writer};

units::ids! {
    /// A page operation.
    OpId,
    /// An attempt of a read.
    AttemptId,
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
    /// A stripe of parity.
    StripeId,
    /// A page that is worked out of the rest of its stripe.
    RebuildId,
}

/// A place of an arena.
enum Place<T> {
    Used(T),
    /// The place that was released before, as a number: that of a new place where there is none.
    Free(usize),
}

/// A store of `T` whose places are used again after release, the one that was released last first: a checkpoint keeps
/// this order, since places of the write buffer go to flash in the order of their numbers.
pub(crate) struct Arena<I, T> {
    places: Vec<Place<T>>,
    /// The place that is used next.
    free: usize,
    used: usize,
    kind: PhantomData<I>,
}

impl<I: Id, T> Arena<I, T> {
    pub fn new() -> Arena<I, T> {
        Arena { places: Vec::new(), free: 0, used: 0, kind: PhantomData }
    }

    #[inline]
    pub fn insert(&mut self, entry: T) -> I {
        let place = self.free;
        self.used += 1;
        match self.places.get_mut(place) {
            None => {
                self.places.push(Place::Used(entry));
                self.free = place + 1;
            }
            Some(free) => match std::mem::replace(free, Place::Used(entry)) {
                Place::Free(next) => self.free = next,
                Place::Used(_) => unreachable!("Invariant: a place that is free holds nothing"),
            },
        }
        I::new(place)
    }

    #[inline]
    pub fn release(&mut self, id: I) {
        let released = self.places.get_mut(id.index()).filter(|place| matches!(place, Place::Used(_)));
        *released.expect("Invariant: an entry is released once") = Place::Free(self.free);
        self.free = id.index();
        self.used -= 1;
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.used
    }

    /// The entries in use, by place.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        let used = self.places.iter().enumerate().filter(|(_, place)| matches!(place, Place::Used(_)));
        used.map(|(place, _)| I::new(place))
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        let Some(Place::Used(entry)) = self.places.get(id.index()) else {
            panic!("Invariant: a released entry is not read");
        };
        entry
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let Some(Place::Used(entry)) = self.places.get_mut(id.index()) else {
            panic!("Invariant: a released entry is not changed");
        };
        entry
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

impl<T: Stored> Stored for Place<T> {
    fn write(&self, to: &mut Writer) {
        match self {
            Place::Used(entry) => {
                true.write(to);
                entry.write(to);
            }
            Place::Free(next) => {
                false.write(to);
                next.write(to);
            }
        }
    }
    fn read(from: &mut Reader) -> io::Result<Place<T>> {
        Ok(if bool::read(from)? { Place::Used(T::read(from)?) } else { Place::Free(usize::read(from)?) })
    }
}

impl<I, T: Stored> Stored for Arena<I, T> {
    fn write(&self, to: &mut Writer) {
        let Arena { places, free, used, kind: PhantomData } = self;
        places.write(to);
        free.write(to);
        used.write(to);
    }
    fn read(from: &mut Reader) -> io::Result<Arena<I, T>> {
        let (places, free, used) = Stored::read(from)?;
        Ok(Arena { places, free, used, kind: PhantomData })
    }
}

impl<I: Stored> Stored for List<I> {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> io::Result<List<I>> {
        Stored::read(from).map(List)
    }
}

/// Ids by their places.
macro_rules! ids {
    ($($type:ident),+) => {$(
        impl Stored for $type {
            #[inline]
            fn write(&self, to: &mut Writer) {
                (self.index() as u32).write(to);
            }
            #[inline]
            fn read(from: &mut Reader) -> io::Result<$type> {
                let place = u32::read(from)?;
                (place < u32::MAX).then(|| $type::new(place as usize)).ok_or(io::ErrorKind::InvalidData.into())
            }
        }
    )+};
}
ids!(OpId, AttemptId, CommandId, SlotId, WaiterId, FetchId, AwaitedId, StripeId, RebuildId);
