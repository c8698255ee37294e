//! A log over the stripes of an array (`rewrite = "log"`): what the host writes is put behind what was written last, in
//! whole slices of a stripe, so that no old data and no old parity is read. A map says where each block is. Stripes of
//! which little is valid are cleaned: what is valid is moved to the end of the log (Rosenblum and Ousterhout, "The
//! Design and Implementation of a Log-Structured File System", SOSP 1991; Menon, "A Performance Comparison of RAID-5
//! and Log-Structured Arrays", HPDC 1995; Ioannou et al., "Elevating Commodity Storage with the SALSA Host Translation
//! Layer", MASCOTS 2018).
//!
//! A slice is the same 4 KiB of all data units of a stripe: its parity follows from it alone. What is written together
//! lies together on a drive, as far as that goes. Here is the state of the log; `logging.rs` reads and writes.
//!
//! At the start the address space lies in the first stripes, as it does without a log, and the others are free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ssd::persist::{state, stored, stored_enum};
use units::Bytes;

use crate::layout::{Layout, Piece};
use crate::slab::Key;

/// What the map says the place of (assumed: what usual map entries stand for).
pub(crate) const BLOCK: u64 = 4096;
/// Stripes that are cleaned at once, at most (assumed).
const CLEANED: usize = 2;
/// Stripes that the host does not write to: what is moved out of as many that are cleaned finds room in them.
const RESERVE: u64 = CLEANED as u64 + 1;
/// With fewer free stripes than this cleaning begins (assumed: a few that the host can write meanwhile).
const START: u64 = RESERVE + 3;

/// Where a block comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The host writes it, with this request; the how manieth block that is written.
    Host { request: Key, number: u64 },
    /// It is moved out of a stripe that is cleaned: it was here, and has been read for that operation.
    Moved { from: u64, read: u64 },
    /// Nothing: a slice has to be full.
    Padding,
}

/// A block that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub block: u64,
    pub origin: Origin,
}

/// Slices of a stripe that are written together.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub stripe: u64,
    /// The first slice, and how many there are.
    pub first: u64,
    pub slices: u64,
    /// Blocks of the first data unit, then of the next one.
    pub entries: Vec<Entry>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There in the log.
    Slot(u64),
    /// It has not been written by this request yet: the host has it.
    Memory(u64),
    /// Nowhere: this request has trimmed it.
    Trimmed(u64),
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// The request that has written or trimmed it last.
    request: u64,
    /// The newest that the map knows of.
    mapped: u64,
    is_trim: bool,
    /// How many have not been written.
    outstanding: u32,
}

#[derive(Clone, Copy, Debug)]
struct OpenStripe {
    stripe: u64,
    slices: u64,
    /// The host may write to it.
    of_host: bool,
}

/// The log.
pub(crate) struct Log {
    data: u64,
    slices: u64,
    stripes: u64,
    /// Stripes as many as the address space fills.
    used: u64,
    /// Where blocks are that are not where they were at the start.
    places: BTreeMap<u64, Found>,
    in_flight: BTreeMap<u64, InFlight>,
    /// The blocks of stripes that have been written.
    contents: BTreeMap<u64, Vec<u64>>,
    /// Valid blocks, where that is not what it was at the start.
    valid: BTreeMap<u64, u64>,
    /// Stripes that can be cleaned, by their valid blocks.
    victims: BTreeSet<(u64, u64)>,
    /// Stripes that were never written, from here on, and those that were cleaned.
    unwritten: u64,
    free: VecDeque<u64>,
    open: Option<OpenStripe>,
    /// What waits to be written: for the host, and what is moved.
    of_host: VecDeque<Entry>,
    moves: VecDeque<Entry>,
    /// Stripes that are cleaned, and how many of their blocks have not been written elsewhere.
    cleaned: BTreeMap<u64, u64>,
    /// Stripes whose valid blocks could not all be read or written elsewhere: they keep them.
    kept: BTreeSet<u64>,
    /// Stripes without a valid block, free once nobody reads them.
    emptied: BTreeSet<u64>,
    /// Reads and writes under way in a stripe.
    pinned: BTreeMap<u64, u32>,
    writing: BTreeMap<u64, u32>,
    numbers: u64,
    /// Somebody is woken to write what does not fill a slice.
    pub woken: bool,
}

stored! {
    Entry { block, origin }
    Batch { stripe, first, slices, entries }
    InFlight { request, mapped, is_trim, outstanding }
    OpenStripe { stripe, slices, of_host }
}

stored_enum! {
    Origin { 0 = Host { request, number }, 1 = Moved { from, read }, 2 = Padding, }
    Found { 0 = Slot(slot), 1 = Memory(request), 2 = Trimmed(request), }
}

state! {
    Log {
        stored {
            places, in_flight, contents, valid, victims, unwritten, free, open, of_host, moves, cleaned, kept, emptied, pinned, writing, numbers, woken,
        }
        rebuilt { data, slices, stripes, used }
    }
}

/// Why a log cannot be cleaned.
pub(crate) struct TooSmall {
    pub problem: String,
    pub remedy: String,
}

/// The block that fills a slice.
const NONE: u64 = u64::MAX;

impl Log {
    /// A log over the stripes of a layout, of which this share is no address space.
    ///
    /// # Errors
    /// So few stripes are spare that none may be worth cleaning: how many these are, and what helps.
    pub fn new(layout: &Layout, spare: f64) -> Result<Log, TooSmall> {
        let (stripes, slices, data) = (layout.stripes(), layout.chunk / BLOCK, layout.code.data as u64);
        let spared = (stripes as f64 * spare).ceil() as u64;
        // With all free stripes but the reserve written, some stripe has a slice's worth of blocks that are not valid.
        let fixed = RESERVE + CLEANED as u64 + 1;
        if spared.saturating_sub(fixed) * slices < stripes || spared >= stripes {
            let least = (stripes.div_ceil(slices) + fixed) as f64 / stripes as f64;
            let problem = format!("is {spare}, which spares {spared} of {stripes} stripes of {slices} slices of 4 KiB");
            let remedy = match least < 0.95 {
                true => format!("write {:.2} or more, or a larger chunk", (least * 100.0).ceil() / 100.0),
                false => "write a larger chunk (array.chunk = \"64KiB\")".into(),
            };
            return Err(TooSmall { problem, remedy });
        }
        let used = stripes - spared;
        Ok(Log {
            data,
            slices,
            stripes,
            used,
            places: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            contents: BTreeMap::new(),
            valid: BTreeMap::new(),
            victims: BTreeSet::new(),
            unwritten: used,
            free: VecDeque::new(),
            open: None,
            of_host: VecDeque::new(),
            moves: VecDeque::new(),
            cleaned: BTreeMap::new(),
            kept: BTreeSet::new(),
            emptied: BTreeSet::new(),
            pinned: BTreeMap::new(),
            writing: BTreeMap::new(),
            numbers: 0,
            woken: false,
        })
    }

    /// Bytes of the address space.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.used * self.full() * BLOCK)
    }

    /// Blocks of a stripe.
    fn full(&self) -> u64 {
        self.slices * self.data
    }

    /// The stripe of a place in the log, and where in it that lies.
    pub fn piece(&self, slot: u64) -> (u64, Piece) {
        let within = slot % self.full();
        let start = within % self.slices * BLOCK;
        (slot / self.full(), Piece { unit: (within / self.slices) as usize, start, end: start + BLOCK })
    }

    /// The places of the blocks of a batch.
    pub fn slots(&self, batch: &Batch) -> impl Iterator<Item = u64> + use<> {
        let (slices, of_unit, first) = (batch.slices, self.slices, batch.stripe * self.full() + batch.first);
        (0..batch.entries.len() as u64).map(move |entry| first + entry / slices * of_unit + entry % slices)
    }

    /// Where a block is.
    pub fn find(&self, block: u64) -> Found {
        match self.in_flight.get(&block) {
            Some(InFlight { request, is_trim: true, .. }) => Found::Trimmed(*request),
            Some(InFlight { request, .. }) => Found::Memory(*request),
            None => self.place(block),
        }
    }

    fn place(&self, block: u64) -> Found {
        self.places.get(&block).copied().unwrap_or(Found::Slot(block))
    }

    fn valid(&self, stripe: u64) -> u64 {
        let at_the_start = if stripe < self.used { self.full() } else { 0 };
        self.valid.get(&stripe).copied().unwrap_or(at_the_start)
    }

    /// As many blocks of a stripe are valid now: whether it is worth cleaning.
    fn set_valid(&mut self, stripe: u64, valid: u64) {
        self.victims.remove(&(self.valid(stripe), stripe));
        self.valid.insert(stripe, valid);
        self.may_be_cleaned(stripe);
    }

    fn may_be_cleaned(&mut self, stripe: u64) {
        let valid = self.valid(stripe);
        let is_closed = self.open.is_none_or(|open| open.stripe != stripe) && !self.writing.contains_key(&stripe);
        let is_idle = !self.cleaned.contains_key(&stripe) && !self.emptied.contains(&stripe);
        let is_worth_it = valid + self.data <= self.full() && (valid == 0 || !self.kept.contains(&stripe));
        if is_closed && is_idle && is_worth_it {
            self.victims.insert((valid, stripe));
        }
    }

    fn free(&self) -> u64 {
        self.stripes - self.unwritten + self.free.len() as u64
    }

    /// The host writes a block with a request: the place in memory is the newest.
    pub fn gather(&mut self, block: u64, request: Key, id: u64) {
        self.numbers += 1;
        let number = self.numbers;
        let none = InFlight { request: 0, mapped: 0, is_trim: false, outstanding: 0 };
        let in_flight = self.in_flight.entry(block).or_insert(none);
        *in_flight = InFlight { request: id, is_trim: false, outstanding: in_flight.outstanding + 1, ..*in_flight };
        self.of_host.push_back(Entry { block, origin: Origin::Host { request, number } });
    }

    /// The host trims a block with a request.
    pub fn trim(&mut self, block: u64, id: u64) {
        self.numbers += 1;
        if let Some(in_flight) = self.in_flight.get_mut(&block) {
            *in_flight = InFlight { request: id, mapped: self.numbers, is_trim: true, ..*in_flight };
        }
        self.put(block, Found::Trimmed(id));
    }

    /// A block is somewhere else from now on.
    fn put(&mut self, block: u64, place: Found) {
        if let Found::Slot(slot) = self.place(block) {
            let stripe = slot / self.full();
            self.set_valid(stripe, self.valid(stripe) - 1);
        }
        if let Found::Slot(slot) = place {
            let stripe = slot / self.full();
            self.set_valid(stripe, self.valid(stripe) + 1);
        }
        self.places.insert(block, place);
    }

    /// Slices that can be written now, as many of a stripe as there are blocks for; one that is not full where it is to
    /// be `padded`.
    pub fn next_batch(&mut self, padded: bool) -> Option<Batch> {
        let OpenStripe { stripe, slices, of_host } = self.opened(padded)?;
        let of_the_host = if of_host { self.of_host.len() } else { 0 };
        let whole = (self.moves.len() + of_the_host) as u64 / self.data;
        let count = whole.max(1).min(self.slices - slices) * self.data;
        let mut entries = Vec::with_capacity(count as usize);
        while (entries.len() as u64) < count {
            let next = self.moves.pop_front().or_else(|| if of_host { self.of_host.pop_front() } else { None });
            entries.push(next.unwrap_or(Entry { block: NONE, origin: Origin::Padding }));
        }
        *self.writing.entry(stripe).or_default() += 1;
        let after = slices + count / self.data;
        self.open = (after < self.slices).then_some(OpenStripe { stripe, slices: after, of_host });
        let batch = Batch { stripe, first: slices, slices: count / self.data, entries };
        for (slot, entry) in self.slots(&batch).zip(&batch.entries) {
            let within = (slot % self.full()) as usize;
            self.contents.get_mut(&stripe).expect("Invariant: an open stripe has contents")[within] = entry.block;
        }
        Some(batch)
    }

    /// Whether the host may write: to the stripe that is open, or to another one.
    fn takes_host(&self) -> bool {
        self.free() > RESERVE || self.open.is_some_and(|open| open.of_host)
    }

    /// Blocks that wait and could be written.
    fn waiting(&self) -> usize {
        let of_host = if self.takes_host() { self.of_host.len() } else { 0 };
        if self.open.is_some() || self.free() > 0 { self.moves.len() + of_host } else { 0 }
    }

    /// The stripe that is written next, if there is a slice for it.
    fn opened(&mut self, padded: bool) -> Option<OpenStripe> {
        let least = if padded { 1 } else { self.data as usize };
        if self.waiting() < least {
            return None;
        }
        let of_host = self.takes_host();
        if let Some(open) = &mut self.open {
            open.of_host = of_host;
            return Some(*open);
        }
        let stripe = self.free.pop_front().unwrap_or_else(|| {
            self.unwritten += 1;
            self.unwritten - 1
        });
        self.valid.insert(stripe, 0);
        self.contents.insert(stripe, vec![NONE; self.full() as usize]);
        let open = OpenStripe { stripe, slices: 0, of_host };
        self.open = Some(open);
        Some(open)
    }

    /// Whether something waits that does not fill a slice and could be written.
    pub fn has_less_than_a_slice(&self) -> bool {
        self.waiting() > 0
    }

    /// Slices have been written, or could not be.
    pub fn written(&mut self, batch: &Batch, is_stored: bool) {
        for (slot, entry) in self.slots(batch).zip(&batch.entries) {
            match entry.origin {
                Origin::Host { number, .. } => self.host_written(entry.block, number, slot, is_stored),
                Origin::Moved { from, .. } => {
                    if is_stored && self.place(entry.block) == Found::Slot(from) {
                        self.put(entry.block, Found::Slot(slot));
                    }
                    self.has_moved(from / self.full());
                }
                Origin::Padding => {}
            }
        }
        count_down(&mut self.writing, batch.stripe);
        self.may_be_cleaned(batch.stripe);
    }

    fn host_written(&mut self, block: u64, number: u64, slot: u64, is_stored: bool) {
        let in_flight = self.in_flight.get_mut(&block).expect("Invariant: a block that is written is in flight");
        in_flight.outstanding -= 1;
        // One that comes late is older than what the map knows of.
        let is_newer = is_stored && number > in_flight.mapped;
        if is_newer {
            in_flight.mapped = number;
        }
        if in_flight.outstanding == 0 {
            self.in_flight.remove(&block);
        }
        if is_newer {
            self.put(block, Found::Slot(slot));
        }
    }

    /// A block of a stripe that is cleaned has been written elsewhere, or was overwritten meanwhile.
    fn has_moved(&mut self, stripe: u64) {
        let left = self.cleaned.get_mut(&stripe).expect("Invariant: it is cleaned");
        *left -= 1;
        if *left == 0 {
            self.cleaning_ends(stripe);
        }
    }

    fn cleaning_ends(&mut self, stripe: u64) {
        self.cleaned.remove(&stripe);
        if self.valid(stripe) > 0 {
            self.kept.insert(stripe);
            return self.may_be_cleaned(stripe);
        }
        self.emptied.insert(stripe);
        self.may_be_free(stripe);
    }

    fn may_be_free(&mut self, stripe: u64) {
        if !self.pinned.contains_key(&stripe) && self.emptied.remove(&stripe) {
            self.kept.remove(&stripe);
            self.contents.insert(stripe, Vec::new());
            self.free.push_back(stripe);
        }
    }

    /// The stripe that is cleaned next, if one is to be, and its valid blocks with their places.
    pub fn next_victim(&mut self) -> Option<(u64, Vec<(u64, u64)>)> {
        if self.cleaned.len() == CLEANED || self.free() + self.emptied.len() as u64 >= START {
            return None;
        }
        let (valid, stripe) = self.victims.pop_first()?;
        let first = stripe * self.full();
        let slots = first..first + self.full();
        let of_stripe: Vec<u64> = self.contents.get(&stripe).cloned().unwrap_or_else(|| slots.clone().collect());
        let is_valid = |(block, slot): &(u64, u64)| *block != NONE && self.place(*block) == Found::Slot(*slot);
        let blocks: Vec<(u64, u64)> = of_stripe.into_iter().zip(slots).filter(is_valid).collect();
        debug_assert_eq!(blocks.len() as u64, valid);
        self.cleaned.insert(stripe, valid);
        if valid == 0 {
            self.cleaning_ends(stripe);
        }
        Some((stripe, blocks))
    }

    /// The blocks of a stripe that is cleaned have been read, by that operation: they wait to be written.
    pub fn moves(&mut self, blocks: &[(u64, u64)], read: u64) {
        let entry = |(block, from): &(u64, u64)| Entry { block: *block, origin: Origin::Moved { from: *from, read } };
        self.moves.extend(blocks.iter().map(entry));
    }

    /// They could not be read: the stripe keeps what is valid.
    pub fn keeps(&mut self, stripe: u64) {
        self.cleaning_ends(stripe);
    }

    /// What the host writes cannot be written, now or later: there is no room and nothing that makes any.
    pub fn refused(&mut self) -> Vec<Entry> {
        let goes_on = !self.cleaned.is_empty() || !self.emptied.is_empty() || !self.writing.is_empty();
        if self.of_host.is_empty() || self.takes_host() || goes_on || !self.victims.is_empty() {
            return Vec::new();
        }
        let refused: Vec<Entry> = self.of_host.drain(..).collect();
        for entry in &refused {
            if let Origin::Host { number, .. } = entry.origin {
                self.host_written(entry.block, number, NONE, false);
            }
        }
        refused
    }

    /// A stripe is read, or written again: it is not overwritten meanwhile.
    pub fn pin(&mut self, stripe: u64) {
        *self.pinned.entry(stripe).or_default() += 1;
    }

    /// That is over.
    pub fn unpin(&mut self, stripe: u64) {
        count_down(&mut self.pinned, stripe);
        self.may_be_free(stripe);
    }

    /// Checks that each block is in one place, and that the counts are those of the places.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self) -> Result<(), String> {
        if let Some(block) = self.in_flight.keys().find(|_| self.of_host.is_empty() && self.writing.is_empty()) {
            return Err(format!("block {block} is to be written, and nothing is"));
        }
        // Of each stripe that anything has happened to, blocks that lie there, and those that lay there at the start
        // and are elsewhere.
        let mut counts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (block, place) in &self.places {
            counts.entry(block / self.full()).or_default().1 += 1;
            let Found::Slot(slot) = place else { continue };
            let (stripe, within) = (slot / self.full(), (slot % self.full()) as usize);
            counts.entry(stripe).or_default().0 += 1;
            let there = self.contents.get(&stripe).and_then(|blocks| blocks.get(within));
            if there != Some(block) {
                return Err(format!("block {block} is at {slot} of the log, where {there:?} is"));
            }
        }
        let free: BTreeSet<u64> = self.free.iter().copied().collect();
        for stripe in counts.keys().chain(self.valid.keys()).chain(self.contents.keys()).chain(&free).copied() {
            let (there, elsewhere) = counts.get(&stripe).copied().unwrap_or_default();
            let of_start = if stripe < self.used { self.full() - elsewhere } else { 0 };
            if of_start > 0 && self.contents.contains_key(&stripe) {
                return Err(format!("stripe {stripe} was overwritten with {of_start} blocks that are nowhere else"));
            }
            let (counted, is) = (self.valid(stripe), there + of_start);
            if counted != is {
                return Err(format!("stripe {stripe} has {is} valid blocks, and {counted} are counted"));
            }
            if is > 0 && (stripe >= self.unwritten || free.contains(&stripe)) {
                return Err(format!("stripe {stripe} is free and has {is} valid blocks"));
            }
        }
        Ok(())
    }
}

fn count_down(counts: &mut BTreeMap<u64, u32>, stripe: u64) {
    let count = counts.get_mut(&stripe).expect("Invariant: it was counted");
    *count -= 1;
    if *count == 0 {
        counts.remove(&stripe);
    }
}
