//! Sets of units of a stripe.

use ssd::persist::stored;

use crate::layout::{Code, Piece};

const WORDS: usize = Code::WIDEST.div_ceil(64);

/// A set of units, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitSet {
    words: [u64; WORDS],
}

stored! {
    UnitSet { words }
}

impl UnitSet {
    /// No unit.
    pub const EMPTY: UnitSet = UnitSet { words: [0; WORDS] };

    /// One unit.
    pub fn one(unit: usize) -> UnitSet {
        UnitSet::EMPTY.with(unit)
    }

    /// Those of pieces.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> UnitSet {
        pieces.into_iter().map(|piece| piece.unit).collect()
    }

    /// And this one.
    pub fn with(mut self, unit: usize) -> UnitSet {
        self.insert(unit);
        self
    }

    pub fn insert(&mut self, unit: usize) {
        self.words[unit / 64] |= 1 << (unit % 64);
    }

    pub fn has(self, unit: usize) -> bool {
        self.words[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(self) -> bool {
        self == UnitSet::EMPTY
    }

    /// Those of either.
    pub fn or(self, other: UnitSet) -> UnitSet {
        UnitSet { words: std::array::from_fn(|word| self.words[word] | other.words[word]) }
    }

    /// Those of both.
    pub fn and(self, other: UnitSet) -> UnitSet {
        UnitSet { words: std::array::from_fn(|word| self.words[word] & other.words[word]) }
    }

    /// Those that the other does not have.
    pub fn without(self, other: UnitSet) -> UnitSet {
        UnitSet { words: std::array::from_fn(|word| self.words[word] & !other.words[word]) }
    }
}

impl FromIterator<usize> for UnitSet {
    fn from_iter<T: IntoIterator<Item = usize>>(units: T) -> UnitSet {
        units.into_iter().fold(UnitSet::EMPTY, UnitSet::with)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::Stream;

    use super::*;

    #[test]
    fn sets_are_those_of_the_standard_library() {
        let random = Stream::new(3, "units");
        let drawn = |of: u64| (0..40).map(move |draw| random.below(of * 40 + draw, Code::WIDEST as u64) as usize);
        for case in 0..100 {
            let [one, other] = [2 * case, 2 * case + 1].map(|of| drawn(of).collect::<BTreeSet<usize>>());
            let [a, b] = [&one, &other].map(|set| set.iter().copied().collect::<UnitSet>());
            let same = |set: UnitSet, of: BTreeSet<usize>| {
                assert_eq!((set.count(), set.is_empty()), (of.len(), of.is_empty()));
                assert!((0..Code::WIDEST).all(|unit| set.has(unit) == of.contains(&unit)));
            };
            same(a.or(b), &one | &other);
            same(a.and(b), &one & &other);
            same(a.without(b), &one - &other);
        }
    }
}
