//! An oracle of where data is. It keeps of each block of each unit which versions of the data it holds: a data unit its own version, a
//! parity unit those of all data units that it was worked out of. It sees what the array reads and writes, works out what that gives, and
//! refuses what does not fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use array::{ArrayEvent, Code, Layout, Observer, OpId, Piece, WriteKind};
use units::Time;

/// The bytes of which versions are kept.
pub const BLOCK: u64 = 4096;

/// A block of a unit of a stripe.
type Place = (u64, usize, u64);

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Data(u64),
    Parity(Vec<u64>),
}

struct Write {
    version: u64,
    kind: WriteKind,
    pieces: Vec<Piece>,
}

/// The oracle. Versions are the numbers of requests, from 1; 0 is what was there before.
pub struct Oracle {
    code: Code,
    /// Drives that began with the data of the array.
    first: usize,
    drives: Vec<BTreeMap<Place, Content>>,
    failed: BTreeSet<usize>,
    /// What operations have read, and plan to write.
    reads: BTreeMap<OpId, BTreeMap<Place, Content>>,
    /// What was read without a lock: it stands for itself alone.
    alone: BTreeMap<OpId, BTreeMap<Place, Content>>,
    writes: BTreeMap<OpId, Write>,
    /// Versions that were read, by request and block of the address space; none where it was lost.
    pub served: BTreeMap<(u64, u64), Option<u64>>,
    /// Requests that were not stored.
    pub not_stored: BTreeSet<u64>,
}

impl Oracle {
    pub fn new(layout: &Layout, drives: usize) -> Oracle {
        Oracle {
            code: layout.code,
            first: layout.drives,
            drives: vec![BTreeMap::new(); drives],
            failed: BTreeSet::new(),
            reads: BTreeMap::new(),
            alone: BTreeMap::new(),
            writes: BTreeMap::new(),
            served: BTreeMap::new(),
            not_stored: BTreeSet::new(),
        }
    }

    /// The number of the block that lies there in the address space.
    fn block(&self, stripe: u64, unit: usize, start: u64, chunk: u64) -> u64 {
        ((stripe * self.code.data as u64 + unit as u64) * chunk + start) / BLOCK
    }

    fn blocks(piece: Piece) -> impl Iterator<Item = u64> {
        (piece.start / BLOCK..piece.end / BLOCK).map(|block| block * BLOCK)
    }

    fn content(&self, drive: usize, place: Place) -> Content {
        let there = self.drives[drive].get(&place).cloned();
        there.unwrap_or_else(|| {
            assert!(drive < self.first, "{place:?} was never written to spare drive {drive}, and is read from it");
            if place.1 < self.code.data { Content::Data(0) } else { Content::Parity(vec![0; self.code.data]) }
        })
    }

    /// All data of a block of a stripe, worked out of what is known of it; none where that is too little.
    fn decode(code: Code, known: &BTreeMap<Place, Content>, stripe: u64, start: u64) -> Option<Vec<u64>> {
        let units: Vec<(usize, &Content)> =
            (0..code.width()).filter_map(|unit| Some((unit, known.get(&(stripe, unit, start))?))).collect();
        if units.len() < code.data {
            return None;
        }
        let parity = units.iter().find_map(|(_, content)| match content {
            Content::Parity(versions) => Some(versions.clone()),
            Content::Data(_) => None,
        });
        let of_copies = units.iter().map(|(_, content)| match content {
            Content::Data(version) => *version,
            Content::Parity(versions) => versions[0],
        });
        if code.data == 1 {
            return of_copies.max().map(|version| vec![version]);
        }
        let versions = parity.unwrap_or_else(|| {
            units.iter().map(|(_, content)| if let Content::Data(version) = content { *version } else { 0 }).collect()
        });
        for (unit, content) in units {
            let fits = match content {
                Content::Data(version) => versions[unit] == *version,
                Content::Parity(other) => versions == *other,
            };
            assert!(fits, "unit {unit} of stripe {stripe} holds {content:?}, and the parity says {versions:?}");
        }
        Some(versions)
    }

    /// What is written to a block.
    fn written(&self, op: OpId, place: Place) -> Content {
        let (stripe, unit, start) = place;
        let Write { version, kind, pieces } = &self.writes[&op];
        let is_written =
            |unit: usize| pieces.iter().any(|piece| piece.unit == unit && piece.start <= start && start < piece.end);
        if unit < self.code.data {
            assert!(is_written(unit));
            return Content::Data(*version);
        }
        if self.code.data == 1 {
            return Content::Parity(vec![*version]);
        }
        let none = BTreeMap::new();
        let reads = self.reads.get(&op).unwrap_or(&none);
        let before: Option<Vec<u64>> = match kind {
            WriteKind::Full => None,
            WriteKind::Decode => Some(Oracle::decode(self.code, reads, stripe, start).expect("enough was read")),
            WriteKind::ReadModifyWrite => {
                let Some(Content::Parity(old)) = reads.get(&place) else { panic!("the old parity was not read") };
                for written in (0..self.code.data).filter(|unit| is_written(*unit)) {
                    assert_eq!(reads.get(&(stripe, written, start)), Some(&Content::Data(old[written])), "{place:?}");
                }
                Some(old.clone())
            }
            WriteKind::Reconstruct => {
                let rest = |unit: usize| match reads.get(&(stripe, unit, start)) {
                    Some(Content::Data(version)) => *version,
                    _ if is_written(unit) => 0,
                    other => panic!("unit {unit} at {place:?} was not read: {other:?}"),
                };
                Some((0..self.code.data).map(rest).collect())
            }
        };
        let after = |unit: usize| match &before {
            _ if is_written(unit) => *version,
            Some(before) => before[unit],
            None => panic!("unit {unit} at {place:?} is not known"),
        };
        Content::Parity((0..self.code.data).map(after).collect())
    }

    fn on_served(&mut self, op: OpId, request: u64, stripe: u64, wanted: &[Piece], is_whole: bool, chunk: u64) {
        let known = self.reads.remove(&op).unwrap_or_default();
        let alone = self.alone.remove(&op).unwrap_or_default();
        for piece in wanted {
            for start in Oracle::blocks(*piece) {
                let place = (stripe, piece.unit, start);
                let directly = match known.get(&place).or(alone.get(&place)) {
                    Some(Content::Data(version)) => Some(*version),
                    _ => None,
                };
                let version = directly
                    .filter(|_| self.code.data > 1)
                    .or_else(|| Oracle::decode(self.code, &known, stripe, start).map(|versions| versions[piece.unit]));
                assert!(!is_whole || version.is_some(), "request {request} has not read what it was given");
                let block = self.block(stripe, piece.unit, start, chunk);
                self.served.insert((request, block), version.filter(|_| is_whole));
            }
        }
    }

    /// Whether the data of all stripes can be had from the drives that are left, each block in the version that `current` says; and what
    /// drives hold that have all their data.
    pub fn check(&self, layout: &Layout, seats: &[usize], current: &BTreeMap<u64, u64>) {
        let stripes = layout.capacity().0 / layout.chunk / self.code.data as u64;
        for stripe in 0..stripes {
            for start in (0..layout.chunk).step_by(BLOCK as usize) {
                let known: BTreeMap<Place, Content> = (0..self.code.width())
                    .filter(|unit| !self.failed.contains(&seats[layout.spot(stripe, *unit).place]))
                    .map(|unit| {
                        let place = (stripe, unit, start);
                        (place, self.content(seats[layout.spot(stripe, unit).place], place))
                    })
                    .collect();
                let versions = Oracle::decode(self.code, &known, stripe, start).expect("enough drives are left");
                for (unit, version) in versions.iter().enumerate() {
                    let block = self.block(stripe, unit, start, layout.chunk);
                    assert_eq!(*version, current.get(&block).copied().unwrap_or(0), "block {block}");
                }
                if self.code.data == 1 {
                    let same = |content: &Content| match content {
                        Content::Data(version) => *version == versions[0],
                        Content::Parity(of) => of[0] == versions[0],
                    };
                    assert!(known.values().all(same), "copies of stripe {stripe} differ: {known:?}");
                }
            }
        }
    }

    fn sees(&mut self, event: &ArrayEvent, chunk: u64) {
        match *event {
            ArrayEvent::Read { op, drive, stripe, piece, is_locked } => {
                for start in Oracle::blocks(piece) {
                    let place = (stripe, piece.unit, start);
                    let content = self.content(drive, place);
                    let fits = is_locked || self.code.data == 1;
                    let reads = if fits { &mut self.reads } else { &mut self.alone };
                    reads.entry(op).or_default().insert(place, content);
                }
            }
            ArrayEvent::Planned { op, request, kind, pieces, .. } => {
                self.reads.remove(&op);
                self.writes.insert(op, Write { version: request + 1, kind, pieces: pieces.to_vec() });
            }
            ArrayEvent::Written { op, drive, stripe, piece } => {
                for start in Oracle::blocks(piece) {
                    let place = (stripe, piece.unit, start);
                    let content = self.written(op, place);
                    self.drives[drive].insert(place, content);
                }
            }
            ArrayEvent::Rebuilt { op, drive, stripe, unit } => {
                // An operation that rebuilds several units has read them once.
                let known = self.reads.get(&op).cloned().unwrap_or_default();
                for start in (0..chunk).step_by(BLOCK as usize) {
                    let versions = Oracle::decode(self.code, &known, stripe, start).expect("enough was read");
                    let is_data = unit < self.code.data;
                    let content = if is_data { Content::Data(versions[unit]) } else { Content::Parity(versions) };
                    self.drives[drive].insert((stripe, unit, start), content);
                }
            }
            ArrayEvent::Served { op, request, stripe, wanted, is_whole } => {
                self.on_served(op, request, stripe, wanted, is_whole, chunk);
            }
            ArrayEvent::NotStored { request, .. } => {
                self.not_stored.insert(request);
            }
            ArrayEvent::DriveFailed { drive } => {
                // What was read before may still be on its way.
                self.failed.insert(drive);
            }
        }
    }
}

/// The oracle as one who sees what an array does.
pub struct Watching {
    pub oracle: Arc<Mutex<Oracle>>,
    pub chunk: u64,
}

impl Observer for Watching {
    fn sees(&mut self, _: Time, event: &ArrayEvent) {
        self.oracle.lock().unwrap().sees(event, self.chunk);
    }
}
