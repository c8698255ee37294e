//! A store of what is under way. A key names one entry, and none that has its place later.

use ssd::persist::{Stored, stored};

/// The name of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    place: u32,
    generation: u32,
}

stored! {
    Key { place, generation }
}

impl Key {
    /// One number for both.
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.place)
    }

    #[cfg(test)]
    pub fn of_number(place: u32) -> Key {
        Key { place, generation: 0 }
    }
}

/// The store; places are used again, the one released last first.
pub(crate) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

stored! {
    [T: Stored] Slab<T> { places, free }
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, entry: T) -> Key {
        match self.free.pop() {
            Some(place) => {
                let (generation, free) = &mut self.places[place as usize];
                *free = Some(entry);
                Key { place, generation: *generation }
            }
            None => {
                self.places.push((0, Some(entry)));
                Key { place: self.places.len() as u32 - 1, generation: 0 }
            }
        }
    }

    /// The entry, unless it has been removed.
    pub fn get(&self, key: Key) -> Option<&T> {
        let (generation, entry) = &self.places[key.place as usize];
        if *generation == key.generation { entry.as_ref() } else { None }
    }

    /// The entry, unless it has been removed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, entry) = &mut self.places[key.place as usize];
        if *generation == key.generation { entry.as_mut() } else { None }
    }

    /// Takes an entry out; none where that was done before.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, entry) = &mut self.places[key.place as usize];
        if *generation != key.generation {
            return None;
        }
        *generation = generation.wrapping_add(1);
        self.free.push(key.place);
        entry.take()
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
