//! Ids: numbers that name one kind of thing and nothing else.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that names one kind of thing, from 0 up.
pub trait Id: Copy + Eq {
    /// The id of an index.
    fn new(index: usize) -> Self;
    /// The index of an id.
    fn index(self) -> usize;
}

/// As many of a kind of thing as there are, each by its id.
#[derive(Clone, Debug)]
pub struct PerId<I, T> {
    things: Vec<T>,
    kind: PhantomData<I>,
}

impl<I: Id, T> PerId<I, T> {
    /// How many there are.
    #[allow(clippy::len_without_is_empty)] // There always are some.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.things.len()).map(I::new)
    }

    /// All of them in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.things.iter()
    }

    /// All of them in the order of their ids, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.things.iter_mut()
    }
}

impl<I, T> FromIterator<T> for PerId<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(things: S) -> PerId<I, T> {
        PerId { things: things.into_iter().collect(), kind: PhantomData }
    }
}

impl<I: Id, T> Index<I> for PerId<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.things[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for PerId<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.things[id.index()]
    }
}

/// Declares ids. An `Option` of one is as large as one: four bytes.
#[macro_export]
macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);

        impl $crate::id::Id for $name {
            #[inline]
            fn new(index: usize) -> $name {
                let next = u32::try_from(index).ok().and_then(|index| index.checked_add(1));
                $name(next.and_then(std::num::NonZeroU32::new).expect("Invariant: nothing is there 2^32 times"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), $crate::id::Id::index(*self))
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::Id;

    crate::ids! {
        /// Of a test.
        ThingId,
    }

    #[test]
    fn an_id_is_its_place_and_an_option_of_one_costs_nothing() {
        assert_eq!(
            [0, 7, u32::MAX as usize - 1].map(|place| ThingId::new(place).index()),
            [0, 7, u32::MAX as usize - 1]
        );
        assert_eq!(size_of::<Option<ThingId>>(), 4);
        assert_eq!(format!("{:?}", ThingId::new(3)), "ThingId(3)");
    }
}
