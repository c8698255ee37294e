//! Data that a power cut can still undo: what a client was told is written, and no flush has followed. The drive says
//! which part of it is gone; the store then holds what was there before.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ssd::Undone;

/// Changes that are kept at most: of those beyond, the oldest count as settled. A client that never flushes leaves no
/// more.
const MOST: usize = 1 << 15;

/// Changes that are not settled, by units of the drive: its logical pages.
pub(crate) struct Unsettled {
    unit: u64,
    units: BTreeMap<u64, Unit>,
    /// All changes of all units.
    all: BTreeSet<Change>,
    /// Changes that are undone before they have come here.
    undone: BTreeSet<Change>,
}

/// A change of a unit: a request has one of each that it changes.
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

/// Which bytes, and what they are; none for a hole.
struct Changed {
    range: Range<usize>,
    data: Option<Vec<u8>>,
}

/// What a part of the data becomes.
pub(crate) struct Becomes {
    pub offset: u64,
    pub bytes: u64,
    /// None where it is deallocated.
    pub data: Option<Vec<u8>>,
}

impl Unsettled {
    /// Of a drive with such units.
    pub fn new(unit: u64) -> Unsettled {
        Unsettled { unit, units: BTreeMap::new(), all: BTreeSet::new(), undone: BTreeSet::new() }
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

    /// A request changes a part of a unit, which held `before`: to data, or to a hole. Gives what becomes of the data;
    /// none where the change was undone already.
    pub fn changes(
        &mut self,
        request: u64,
        unit: u64,
        range: Range<usize>,
        data: Option<Vec<u8>>,
        before: impl FnOnce() -> std::io::Result<Option<Vec<u8>>>,
    ) -> std::io::Result<Option<Becomes>> {
        let change = Change { request, unit };
        if self.undone.remove(&change) {
            return Ok(None);
        }
        if let Entry::Vacant(new) = self.units.entry(unit) {
            new.insert(Unit { before: before()?, changes: BTreeMap::new() });
        }
        let of = self.units.get_mut(&unit).expect("Invariant: it is there");
        let newest = of.changes.last_key_value().is_none_or(|(last, _)| *last < request);
        let alone = newest.then(|| Becomes {
            offset: unit * self.unit + range.start as u64,
            bytes: range.len() as u64,
            data: data.clone(),
        });
        of.changes.insert(request, Changed { range, data });
        let becomes = alone.unwrap_or_else(|| of.becomes(unit, self.unit as usize));
        self.all.insert(change);
        if self.all.len() > MOST
            && let Some(oldest) = self.all.pop_first()
        {
            self.keep(oldest);
        }
        Ok(Some(becomes))
    }

    /// All requests before one are settled.
    pub fn settle(&mut self, first: u64) {
        while let Some(oldest) = self.all.first().copied().filter(|oldest| oldest.request < first) {
            self.all.remove(&oldest);
            self.keep(oldest);
        }
    }

    /// The oldest change of a unit is settled.
    fn keep(&mut self, Change { request, unit }: Change) {
        let Entry::Occupied(mut of) = self.units.entry(unit) else { return };
        if let Some(changed) = of.get_mut().changes.remove(&request) {
            changed.apply(&mut of.get_mut().before, self.unit as usize);
        }
        if of.get().changes.is_empty() {
            of.remove();
        }
    }

    /// A power cut has undone these, and everything else is settled. Gives what the units become that have changed.
    pub fn cut(&mut self, undone: &[Undone]) -> Vec<Becomes> {
        let mut changed = BTreeSet::new();
        self.undone.clear();
        self.all.clear();
        for Undone { request, lpn } in undone {
            let of = self.units.get_mut(&lpn.0);
            if of.and_then(|unit| unit.changes.remove(request)).is_some() {
                changed.insert(lpn.0);
            } else {
                self.undone.insert(Change { request: *request, unit: lpn.0 });
            }
        }
        let units = std::mem::take(&mut self.units);
        changed.into_iter().map(|number| units[&number].becomes(number, self.unit as usize)).collect()
    }
}

impl Unit {
    /// What it holds by all of its changes.
    fn becomes(&self, number: u64, size: usize) -> Becomes {
        let mut data = self.before.clone();
        self.changes.values().for_each(|changed| changed.apply(&mut data, size));
        Becomes { offset: number * size as u64, bytes: size as u64, data }
    }
}

impl Changed {
    fn apply(&self, to: &mut Option<Vec<u8>>, size: usize) {
        match &self.data {
            None if self.range.len() == size => *to = None,
            None => {
                if let Some(data) = to {
                    data[self.range.clone()].fill(0);
                }
            }
            Some(changed) => to.get_or_insert_with(|| vec![0; size])[self.range.clone()].copy_from_slice(changed),
        }
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

    #[test]
    fn a_request_has_one_change_of_a_unit_however_it_comes_to_it() {
        let size = 3 << 20;
        let store = Store::in_memory(Bytes(size));
        store.can_be_cut(Bytes(3 * UNIT));
        let read = |from: usize, to: usize| {
            let mut found = vec![9; to - from];
            store.read(from as u64, &mut found).unwrap();
            found
        };
        let holds = |from: usize, to: usize, value: u8| read(from, to).iter().all(|byte| *byte == value);
        let end = 5 << 19;
        store.by(Some(0)).write(0, &vec![1; end]).unwrap();
        // Zeros are written by pieces, whose edges lie in units.
        store.by(Some(1)).write_zeros(512, end as u64 - 1024).unwrap();
        assert!(holds(0, 512, 1) && holds(512, end - 512, 0) && holds(end - 512, end, 1));
        // Data with a hole in it has two parts.
        store.discard(4096, 4096).unwrap();
        store.by(Some(2)).write(8192, &[2; 4096]).unwrap();
        store.by(Some(3)).discard(0, 3 * UNIT).unwrap();
        assert!(holds(0, 3 * UNIT as usize, 0));
        let both = [Undone { request: 3, lpn: Lpn(0) }, Undone { request: 2, lpn: Lpn(0) }];
        store.cut(&both).unwrap();
        assert!(holds(0, 512, 1) && holds(512, 3 * UNIT as usize, 0));
    }

    #[test]
    fn what_is_kept_of_a_unit_that_is_written_again_and_again_is_bounded() {
        let mut of = Unsettled::new(UNIT);
        for request in 0..4 * MOST as u64 {
            let data = vec![request as u8; 512];
            let becomes = of.changes(request, 0, 0..512, Some(data), || Ok(None)).unwrap().unwrap();
            assert_eq!((becomes.offset, becomes.bytes), (0, 512), "no more than what has changed is written");
        }
        assert_eq!((of.all.len(), of.units[&0].changes.len()), (MOST, MOST));
        let newest = 4 * MOST as u64 - 1;
        let [Becomes { data: Some(data), .. }] = &of.cut(&[Undone { request: newest, lpn: Lpn(0) }])[..] else {
            unreachable!("one unit has changed")
        };
        assert_eq!((data[0], data[512]), (newest as u8 - 1, 0));
    }
}
