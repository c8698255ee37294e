//! Data that a power cut can still undo: what a client was told is written, and no flush has followed. The drive says
//! what of it is gone; the store then holds what was there before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ssd::Undone;

/// Units that are kept at most: of those beyond, the ones of the lowest places count as settled. A client that never
/// flushes leaves no more.
const MOST: usize = 1 << 15;

/// Changes that are not settled, by units of the drive: its logical pages.
pub(crate) struct Unsettled {
    unit: u64,
    units: BTreeMap<u64, Unit>,
    /// Changes that are undone before they have come here.
    undone: BTreeSet<Change>,
}

/// A change of a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    request: u64,
    unit: u64,
}

/// A unit as it was, and what has become of it since. None is a hole.
struct Unit {
    before: Option<Vec<u8>>,
    /// In the order of requests.
    changes: BTreeMap<u64, Changed>,
}

/// Which bytes, and what they are; none for a hole of the whole unit.
struct Changed {
    range: Range<usize>,
    data: Option<Vec<u8>>,
}

/// What a unit holds now.
pub(crate) struct Holds {
    pub offset: u64,
    /// None where it is a hole.
    pub data: Option<Vec<u8>>,
}

impl Unsettled {
    /// Of a drive with such units.
    pub fn new(unit: u64) -> Unsettled {
        Unsettled { unit, units: BTreeMap::new(), undone: BTreeSet::new() }
    }

    /// The units of a range, with the part of each that lies in it.
    pub fn units_of(&self, offset: u64, bytes: u64) -> impl Iterator<Item = (u64, Range<usize>)> + use<> {
        let (unit, end) = (self.unit, offset + bytes);
        (offset / unit..end.div_ceil(unit)).map(move |number| {
            let begin = number * unit;
            (number, (offset.max(begin) - begin) as usize..(end.min(begin + unit) - begin) as usize)
        })
    }

    /// Bytes of a unit.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// A request changes a part of a unit, which held `before`: to data, or to a hole. Gives what the unit holds then;
    /// none where the change was undone already.
    pub fn changes(
        &mut self,
        request: u64,
        unit: u64,
        range: Range<usize>,
        data: Option<Vec<u8>>,
        before: impl FnOnce() -> std::io::Result<Option<Vec<u8>>>,
    ) -> std::io::Result<Option<Holds>> {
        if self.undone.remove(&Change { request, unit }) {
            return Ok(None);
        }
        if !self.units.contains_key(&unit) {
            if self.units.len() >= MOST {
                self.units.pop_first();
            }
            self.units.insert(unit, Unit { before: before()?, changes: BTreeMap::new() });
        }
        let of = self.units.get_mut(&unit).expect("Invariant: it is there");
        of.changes.insert(request, Changed { range, data });
        Ok(Some(Holds { offset: unit * self.unit, data: of.holds(self.unit as usize) }))
    }

    /// All requests before one are settled.
    pub fn settle(&mut self, first: u64) {
        let size = self.unit as usize;
        self.units.retain(|_, unit| {
            let later = unit.changes.split_off(&first);
            if !unit.changes.is_empty() {
                unit.before = unit.holds(size);
            }
            unit.changes = later;
            !unit.changes.is_empty()
        });
    }

    /// A power cut has undone these, and everything else is settled. Gives what the units hold that have changed.
    pub fn cut(&mut self, undone: &[Undone]) -> Vec<Holds> {
        let mut changed = BTreeSet::new();
        self.undone.clear();
        for Undone { request, lpn } in undone {
            let of = self.units.get_mut(&lpn.0);
            if of.and_then(|unit| unit.changes.remove(request)).is_some() {
                changed.insert(lpn.0);
            } else {
                self.undone.insert(Change { request: *request, unit: lpn.0 });
            }
        }
        let size = self.unit as usize;
        let units = std::mem::take(&mut self.units);
        let holds = |number: u64| Holds { offset: number * self.unit, data: units[&number].holds(size) };
        changed.into_iter().map(holds).collect()
    }
}

impl Unit {
    fn holds(&self, size: usize) -> Option<Vec<u8>> {
        let mut data = self.before.clone();
        for Changed { range, data: changed } in self.changes.values() {
            match changed {
                None if range.len() == size => data = None,
                None => {
                    if let Some(data) = &mut data {
                        data[range.clone()].fill(0);
                    }
                }
                Some(changed) => data.get_or_insert_with(|| vec![0; size])[range.clone()].copy_from_slice(changed),
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{Bytes, Lpn};

    use super::*;
    use crate::store::Store;

    const UNIT: u64 = 8192;
    const SIZE: u64 = 4 * UNIT;

    #[derive(Clone, Debug)]
    enum Act {
        Change {
            offset: u64,
            bytes: u64,
            value: Option<u8>,
        },
        /// All requests before the present one, less this many, are settled.
        Settle(u64),
        /// The power is cut: of each unit this many changes are undone, of those that are not settled.
        Cut([usize; 4]),
    }

    fn act() -> impl Strategy<Value = Act> {
        let range = (0..SIZE, 1..2 * UNIT).prop_map(|(offset, bytes)| (offset, bytes.min(SIZE - offset)));
        prop_oneof![
            6 => (range, proptest::option::weighted(0.8, 1..255u8))
                .prop_map(|((offset, bytes), value)| Act::Change { offset, bytes, value }),
            1 => (0..4u64).prop_map(Act::Settle),
            1 => proptest::array::uniform4(0..3usize).prop_map(Act::Cut),
        ]
    }

    /// All of the store by the changes that have not been undone: of each unit by request, the bytes and their value.
    struct Model(Vec<Vec<(u64, Range<usize>, u8)>>);

    impl Model {
        fn flat(&self) -> Vec<u8> {
            let unit = |changes: &Vec<(u64, Range<usize>, u8)>| {
                let mut bytes = vec![0; UNIT as usize];
                changes.iter().for_each(|(_, range, value)| bytes[range.clone()].fill(*value));
                bytes
            };
            self.0.iter().flat_map(unit).collect()
        }
    }

    proptest! {
        #[test]
        fn a_cut_undoes_what_it_says_and_nothing_else(acts in proptest::collection::vec(act(), 1..60)) {
            let store = Store::in_memory(Bytes(SIZE));
            store.can_be_cut(Bytes(UNIT));
            let mut model = Model(vec![Vec::new(); 4]);
            let mut settled = 0;
            for (request, act) in (0u64..).zip(acts) {
                match act {
                    Act::Change { offset, bytes, value } => {
                        let change = store.by(Some(request));
                        match value {
                            Some(value) => change.write(offset, &vec![value; bytes as usize]).unwrap(),
                            None => change.discard(offset, bytes).unwrap(),
                        }
                        for (unit, range) in Unsettled::new(UNIT).units_of(offset, bytes) {
                            model.0[unit as usize].push((request, range, value.unwrap_or(0)));
                        }
                    }
                    Act::Settle(less) => {
                        settled = settled.max(request.saturating_sub(less));
                        store.settle(settled);
                    }
                    Act::Cut(newest) => {
                        let mut undone = Vec::new();
                        for (unit, changes) in model.0.iter_mut().enumerate() {
                            let unsettled = changes.iter().filter(|(by, ..)| *by >= settled).count();
                            let from = changes.len() - newest[unit].min(unsettled);
                            undone.extend(changes.drain(from..).map(|(request, ..)| Undone { request, lpn: Lpn(unit as u64) }));
                        }
                        store.cut(&undone).unwrap();
                        settled = request;
                    }
                }
                let mut found = vec![1; SIZE as usize];
                store.read(0, &mut found).unwrap();
                prop_assert!(found == model.flat());
            }
        }
    }

    #[test]
    fn a_change_that_is_undone_before_it_comes_leaves_nothing() {
        let store = Store::in_memory(Bytes(SIZE));
        store.can_be_cut(Bytes(UNIT));
        store.by(Some(0)).write(0, &[1; 2 * UNIT as usize]).unwrap();
        store.cut(&[Undone { request: 1, lpn: Lpn(1) }]).unwrap();
        store.by(Some(1)).write(0, &[2; 2 * UNIT as usize]).unwrap();
        let mut found = vec![0; 2 * UNIT as usize];
        store.read(0, &mut found).unwrap();
        assert!(found[..UNIT as usize].iter().all(|byte| *byte == 2), "the unit that was not undone");
        assert!(found[UNIT as usize..].iter().all(|byte| *byte == 1));
    }
}
