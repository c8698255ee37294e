//! An oracle of where data is. It keeps of each block of each unit which versions of the data it holds: a data unit its
//! own version, a parity unit those of all data units that it was worked out of. It sees what the array reads and
//! writes, works out what that gives, and refuses what does not fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use array::{ArrayEvent, Code, Layout, Logged, LoggedFrom, Observer, OpId, Piece, WriteKind};
use units::Time;

/// The bytes of which versions are kept.
pub const BLOCK: u64 = 4096;

/// A block of a unit of a stripe.
type Place = (u64, usize, u64);

/// What drives hold, block by block of their own addresses, and of which place it is.
type Held = BTreeMap<u64, (Place, Content)>;

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Data(u64),
    Parity(Vec<u64>),
}

struct Write {
    version: u64,
    kind: WriteKind,
    pieces: Vec<Piece>,
    /// Of a log, the version of each block of units.
    logged: BTreeMap<(usize, u64), u64>,
}

impl Write {
    fn version(&self, unit: usize, start: u64) -> u64 {
        self.logged.get(&(unit, start)).copied().unwrap_or(self.version)
    }
}

/// The oracle. Versions are the numbers of requests, from 1; 0 is what was there before.
pub struct Oracle {
    layout: Layout,
    code: Code,
    drives: Vec<Held>,
    failed: BTreeSet<usize>,
    /// What operations have read, and plan to write.
    reads: BTreeMap<OpId, BTreeMap<Place, Content>>,
    /// What was read without a lock: it stands for itself alone.
    alone: BTreeMap<OpId, BTreeMap<Place, Content>>,
    writes: BTreeMap<OpId, Write>,
    /// Of a log, which blocks of the address space requests read at a place.
    found: BTreeMap<(u64, Place), u64>,
    /// Versions that were read, by request and block of the address space; none where it was lost.
    pub served: BTreeMap<(u64, u64), Option<u64>>,
    /// Requests, and the stripes of them that were not stored.
    pub not_stored: BTreeSet<(u64, u64)>,
    /// Requests, and the stripes that were written for them, or trimmed.
    pub planned: BTreeSet<(u64, u64)>,
    /// Where the host was told that data is lost: request and stripe.
    pub lost: BTreeSet<(u64, u64)>,
    /// What was told so though enough drives had it.
    pub given_up: Option<String>,
}

impl Oracle {
    /// For an array with this layout and this many drives, of which those in use come first.
    pub fn new(layout: &Layout, drives: usize) -> Oracle {
        Oracle {
            layout: layout.clone(),
            code: layout.code,
            drives: vec![BTreeMap::new(); drives],
            failed: BTreeSet::new(),
            reads: BTreeMap::new(),
            alone: BTreeMap::new(),
            writes: BTreeMap::new(),
            found: BTreeMap::new(),
            served: BTreeMap::new(),
            not_stored: BTreeSet::new(),
            planned: BTreeSet::new(),
            lost: BTreeSet::new(),
            given_up: None,
        }
    }

    /// The number of the block that lies there in the address space.
    fn block(&self, stripe: u64, unit: usize, start: u64) -> u64 {
        ((stripe * self.code.data as u64 + unit as u64) * self.layout.chunk + start) / BLOCK
    }

    /// Where a block of a unit lies on its drive.
    fn address(&self, (stripe, unit, start): Place) -> u64 {
        self.layout.spot(stripe, unit).row * self.layout.chunk + start
    }

    /// What a drive holds of a place; none where that was never put on it.
    fn held(&self, drive: usize, place: Place) -> Option<Content> {
        match self.drives[drive].get(&self.address(place)) {
            Some((of, content)) => (*of == place).then(|| content.clone()),
            // Drives in use began with the data of the array.
            None if self.layout.spot(place.0, place.1).place == drive => Some(self.old(place)),
            None => None,
        }
    }

    fn old(&self, place: Place) -> Content {
        if place.1 < self.code.data { Content::Data(0) } else { Content::Parity(vec![0; self.code.data]) }
    }

    fn put(&mut self, drive: usize, place: Place, content: Content) {
        let address = self.address(place);
        let before = self.drives[drive].insert(address, (place, content));
        assert!(before.is_none_or(|(of, _)| of == place), "two places share address {address} of drive {drive}");
    }

    /// Whether drives that have not failed hold enough of all blocks of a stripe.
    pub fn is_there(&self, stripe: u64) -> bool {
        let holds = |drive: usize, place| !self.failed.contains(&drive) && self.held(drive, place).is_some();
        (0..self.layout.chunk).step_by(BLOCK as usize).all(|start| {
            let any = |unit: &usize| (0..self.drives.len()).any(|drive| holds(drive, (stripe, *unit, start)));
            (0..self.code.width()).filter(any).count() >= self.code.data
        })
    }

    /// The host is told that it cannot have data, or that it could not be stored.
    fn is_told_of_loss(&mut self, request: u64, stripe: u64) {
        self.lost.insert((request, stripe));
        if self.given_up.is_none() && self.is_there(stripe) {
            self.given_up = Some(format!("request {request}: stripe {stripe} is given up, and its data is there"));
        }
    }

    fn blocks(piece: Piece) -> impl Iterator<Item = u64> {
        (piece.start / BLOCK..piece.end / BLOCK).map(|block| block * BLOCK)
    }

    fn content(&self, drive: usize, place: Place) -> Content {
        self.held(drive, place)
            .unwrap_or_else(|| panic!("{place:?} was never written to drive {drive}, and is read from it"))
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
        let write = &self.writes[&op];
        let Write { kind, pieces, .. } = write;
        let is_written =
            |unit: usize| pieces.iter().any(|piece| piece.unit == unit && piece.start <= start && start < piece.end);
        if unit < self.code.data {
            assert!(is_written(unit));
            return Content::Data(write.version(unit, start));
        }
        if self.code.data == 1 {
            return Content::Parity(vec![write.version(0, start)]);
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
            _ if is_written(unit) => write.version(unit, start),
            Some(before) => before[unit],
            None => panic!("unit {unit} at {place:?} is not known"),
        };
        Content::Parity((0..self.code.data).map(after).collect())
    }

    fn on_served(&mut self, op: OpId, request: u64, stripe: u64, wanted: &[Piece], is_whole: bool) {
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
                let block = self.block(stripe, piece.unit, start);
                let block = self.found.get(&(request, place)).copied().unwrap_or(block);
                self.served.insert((request, block), version.filter(|_| is_whole));
            }
        }
        if !is_whole {
            self.is_told_of_loss(request, stripe);
        }
    }

    /// Checks of each stripe of which enough is there that it gives each block in the version that `current` says, from
    /// the drives that are in the places, and that copies do not differ; without `current`, as of a log, that data and
    /// parity fit. Returns how many stripes there are such.
    pub fn check(&self, seats: &[usize], current: Option<&BTreeMap<u64, u64>>) -> u64 {
        let stripes = self.layout.stripes();
        let there: Vec<u64> = (0..stripes).filter(|stripe| self.is_there(*stripe)).collect();
        for stripe in there.iter().copied() {
            for start in (0..self.layout.chunk).step_by(BLOCK as usize) {
                self.check_block(seats, current, stripe, start);
            }
        }
        there.len() as u64
    }

    fn check_block(&self, seats: &[usize], current: Option<&BTreeMap<u64, u64>>, stripe: u64, start: u64) {
        let seat = |unit: usize| seats[self.layout.spot(stripe, unit).place];
        let alive = (0..self.code.width()).filter(|unit| !self.failed.contains(&seat(*unit)));
        let places = alive.map(|unit| (seat(unit), (stripe, unit, start)));
        let known: BTreeMap<Place, Content> =
            places.filter_map(|(drive, place)| Some((place, self.held(drive, place)?))).collect();
        let versions = Oracle::decode(self.code, &known, stripe, start).expect("enough drives are left");
        for (unit, version) in versions.iter().enumerate() {
            let Some(current) = current else { break };
            let block = self.block(stripe, unit, start);
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

    /// The version of a block that a log writes.
    fn version(&self, from: LoggedFrom) -> u64 {
        match from {
            LoggedFrom::Host { request } => request + 1,
            LoggedFrom::Stripe { read, stripe, unit, start } => {
                let served = self.served.get(&(read, self.block(stripe, unit, start))).copied().flatten();
                served.unwrap_or_else(|| panic!("{:?} is moved, and was not read", (stripe, unit, start)))
            }
            LoggedFrom::Nothing => 0,
        }
    }

    fn event(&mut self, event: &ArrayEvent) {
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
            ArrayEvent::Planned { op, request, stripe, kind, pieces, logged } => {
                self.reads.remove(&op);
                self.planned.insert((request, stripe));
                let version = |Logged { unit, start, from }: &Logged| ((*unit, *start), self.version(*from));
                let logged = logged.iter().map(version).collect();
                self.writes.insert(op, Write { version: request + 1, kind, pieces: pieces.to_vec(), logged });
            }
            ArrayEvent::Written { op, drive, stripe, piece } => {
                for start in Oracle::blocks(piece) {
                    let place = (stripe, piece.unit, start);
                    let content = self.written(op, place);
                    self.put(drive, place, content);
                }
            }
            ArrayEvent::Rebuilt { op, drive, stripe, unit } => {
                // An operation that rebuilds several units has read them once.
                let known = self.reads.get(&op).cloned().unwrap_or_default();
                for start in (0..self.layout.chunk).step_by(BLOCK as usize) {
                    let versions = Oracle::decode(self.code, &known, stripe, start).expect("enough was read");
                    let is_data = unit < self.code.data;
                    let content = if is_data { Content::Data(versions[unit]) } else { Content::Parity(versions) };
                    self.put(drive, (stripe, unit, start), content);
                }
            }
            ArrayEvent::Served { op, request, stripe, wanted, is_whole } => {
                self.on_served(op, request, stripe, wanted, is_whole);
            }
            ArrayEvent::NotStored { request, stripe } => {
                self.not_stored.insert((request, stripe));
                self.is_told_of_loss(request, stripe);
            }
            ArrayEvent::Found { request, block, found: Ok((stripe, piece)) } => {
                self.found.insert((request, (stripe, piece.unit, piece.start)), block);
            }
            ArrayEvent::Found { request, block, found: Err(writer) } => {
                self.served.insert((request, block), Some(writer + 1));
            }
            // The host's books say what it has trimmed.
            ArrayEvent::Trimmed { .. } => {}
            ArrayEvent::DriveFailed { drive } => {
                // What was read before may still be on its way.
                self.failed.insert(drive);
            }
        }
    }
}

/// The oracle as one who sees what an array does.
#[derive(Clone)]
pub struct Watching(pub Arc<Mutex<Oracle>>);

impl Watching {
    /// For an array with this layout and this many drives, of which those in use come first.
    pub fn new(layout: &Layout, drives: usize) -> Watching {
        Watching(Arc::new(Mutex::new(Oracle::new(layout, drives))))
    }

    /// What it has found out.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watching {
    fn sees(&mut self, _: Time, event: &ArrayEvent) {
        self.oracle().event(event);
    }
}
