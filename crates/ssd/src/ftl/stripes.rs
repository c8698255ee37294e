//! Stripes of parity over dies (`ftl.raid`).
//!
//! A stripe is N - 1 flash pages of as many dies, in the order in which they were programmed, and a page of their
//! parity on yet another die. Pages join an open stripe when their programs have ended; its parity is in the controller
//! until there is a program's worth of such pages for a plane. A page of the flash belongs to one stripe. What is stale
//! of a stripe still counts for its parity: before a block is erased, the valid pages that its stripes have elsewhere
//! join other stripes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use nand::{DieId, Layout, PlaneId};
use units::{Id as _, Lpn, Ppn};

use super::aged::Aged;
use crate::arena::{Arena, OpId, RebuildId, StripeId};
use crate::config::{OPEN_STRIPES, Plan};
use crate::persist::{state, stored, stored_enum};

/// Where the parity of a stripe is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Parity {
    /// In the controller; pages may join.
    Open,
    /// In the controller, waiting for its program.
    Waiting,
    /// In the controller, on its way to flash.
    Programming,
    /// On flash: the map says where.
    #[default]
    Programmed,
}

#[derive(Default)]
struct Stripe {
    pages: Vec<Ppn>,
    valid: u32,
    parity: Parity,
    /// One of its blocks is to be erased: nothing joins it, and no parity of it is programmed any more.
    doomed: bool,
    /// The page of the map that stands for its parity, where it is one of the initial state.
    initial: Option<Lpn>,
}

/// A stripe whose parity recovery has found on flash after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundStripe {
    /// The page of the map that stands for its parity, and where that is.
    pub parity: Lpn,
    pub place: Ppn,
    /// Of two stripes, that with the larger version has its parity from later.
    pub version: u64,
    pub pages: Vec<Ppn>,
}

/// Who waits for the data of a page that could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rebuilt {
    /// A read of it.
    Read(OpId),
    /// The drive, which writes it elsewhere.
    Page(Lpn, Ppn),
}

/// A page whose data is worked out of the rest of its stripe.
#[derive(Clone, Copy)]
struct Rebuild {
    of: Rebuilt,
    left: u32,
    failed: bool,
}

/// The zone of a page that is written in order, if it is of one.
pub(crate) type ZoneOfPage = Option<u32>;

/// The stripes. Memory: some 60 bytes and 8 for each of its pages a stripe, 4 bytes for each page of blocks that hold
/// any.
pub(crate) struct Stripes {
    layout: Layout,
    /// Pages of a stripe, its parity included.
    wide: u32,
    /// The page of the map that stands for the parity of the first stripe, and that of the first one of the initial
    /// state.
    base: u64,
    initial: u64,
    /// Stripes of the initial state of which any page was touched, by the page of the map that stands for their parity:
    /// as long as there is anything of them.
    known: HashMap<Lpn, Option<StripeId>>,
    stripes: Arena<StripeId, Stripe>,
    /// Stripes that take further pages, by what these are of: a stripe has pages of one zone alone, so that it ends
    /// when that is reset.
    open: BTreeMap<ZoneOfPage, VecDeque<StripeId>>,
    waiting: VecDeque<StripeId>,
    /// By block: the stripe of each of its pages.
    of_block: HashMap<u64, Vec<Option<StripeId>>>,
    rebuilds: Arena<RebuildId, Rebuild>,
    /// Planes that have broken: the block and the page from which on their data is still to be rebuilt.
    pub broken: VecDeque<(u32, u32, u32)>,
    /// Pages of them that are being rebuilt.
    pub rebuilding: u32,
    /// The plane that took parity last.
    pub plane: u32,
    /// Pages of parity of each plane, and how many each may have where nothing else limits what it holds.
    held: Vec<u32>,
    most_held: u32,
}

impl Stripes {
    pub fn new(plan: &Plan, aged: &Aged) -> Option<Stripes> {
        let wide = plan.config.ftl.raid.wide()?;
        let base = plan.first_parity();
        Some(Stripes {
            layout: plan.layout,
            wide,
            base,
            initial: base + plan.layout.raw_pages(),
            known: HashMap::new(),
            stripes: Arena::new(),
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            of_block: HashMap::new(),
            rebuilds: Arena::new(),
            broken: VecDeque::new(),
            rebuilding: 0,
            plane: 0,
            held: (0..plan.layout.planes).map(|plane| aged.parity_of(PlaneId(plane))).collect(),
            most_held: plan.space.parity.saturating_sub(plan.unit_pages),
        })
    }

    /// Takes stripes as recovery has found them, of which none has a page of another one. Which of their pages are
    /// valid is counted next.
    pub fn take_found(&mut self, found: &[FoundStripe]) -> Vec<StripeId> {
        let (base, initial) = (self.base, self.initial);
        let own = |stripe: &FoundStripe| (stripe.parity.0 < initial).then(|| stripe.parity.0 - base);
        let numbers: BTreeSet<u64> = found.iter().filter_map(own).collect();
        let all: Vec<StripeId> =
            (0..numbers.last().map_or(0, |last| last + 1)).map(|_| self.stripes.insert(Stripe::default())).collect();
        let is_free = |id: &&StripeId| !numbers.contains(&(id.index() as u64));
        all.iter().rev().filter(is_free).for_each(|id| self.stripes.release(*id));
        let take = |stripe: &FoundStripe| {
            let id = match own(stripe) {
                Some(number) => all[number as usize],
                None => self.stripes.insert(Stripe::default()),
            };
            let initial = own(stripe).is_none().then_some(stripe.parity);
            self.known.extend(initial.map(|parity| (parity, Some(id))));
            stripe.pages.iter().for_each(|ppn| *self.slot(*ppn) = Some(id));
            self.stripes[id] = Stripe { pages: stripe.pages.clone(), initial, ..Stripe::default() };
            self.holds(self.layout.plane_of(stripe.place));
            id
        };
        found.iter().map(take).collect()
    }

    /// This many pages of a stripe that was found are valid. Whether it is of use.
    pub fn found_valid(&mut self, id: StripeId, valid: u32) -> bool {
        self.stripes[id].valid = valid;
        if valid == 0 {
            self.end(id);
        }
        valid > 0
    }

    /// Whether a page of the map stands for the parity of a stripe of the initial state.
    pub fn is_initial(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.initial
    }

    /// A stripe of the initial state that is no more.
    pub fn has_ended(&mut self, parity: Lpn) {
        self.known.insert(parity, None);
    }

    /// The stripes whose parity is on flash, of which no block is to be erased: the page of the map that stands for
    /// their parity, and their pages.
    pub fn protected(&self) -> impl Iterator<Item = (Lpn, &[Ppn])> {
        let kept = |id: &StripeId| self.stripes[*id].parity == Parity::Programmed && !self.stripes[*id].doomed;
        self.stripes.ids().filter(kept).map(|id| (self.lpn(id), &self.stripes[id].pages[..]))
    }

    /// The pages that the parity of a stripe is worked out of.
    pub fn all_pages_of(&self, id: StripeId) -> &[Ppn] {
        &self.stripes[id].pages
    }

    /// A plane takes a page of parity.
    pub fn holds(&mut self, plane: PlaneId) {
        self.held[plane.0 as usize] += 1;
    }

    /// A page of parity of a plane is of no use any more, or was not programmed.
    pub fn loses(&mut self, plane: PlaneId) {
        self.held[plane.0 as usize] -= 1;
    }

    /// Whether a plane has not its part of all parity.
    pub fn has_room(&self, plane: PlaneId) -> bool {
        self.held[plane.0 as usize] <= self.most_held
    }

    fn die_of(&self, ppn: Ppn) -> DieId {
        self.layout.die_of(self.layout.plane_of(ppn)).0
    }

    /// The page of the map that stands for a stripe's parity.
    pub fn lpn(&self, stripe: StripeId) -> Lpn {
        self.stripes[stripe].initial.unwrap_or(Lpn(self.base + stripe.index() as u64))
    }

    /// The stripe whose parity a page of the map is.
    pub fn of_parity(&self, lpn: Lpn) -> Option<StripeId> {
        if lpn.0 >= self.initial {
            return self.known.get(&lpn).copied().flatten();
        }
        lpn.0.checked_sub(self.base).map(|stripe| StripeId::new(stripe as usize))
    }

    /// Whether a page of the map stands for parity.
    pub fn is_parity(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.base
    }

    /// Whether the stripe of the initial state with that parity is kept like any other.
    pub fn knows(&self, parity: Lpn) -> bool {
        self.known.contains_key(&parity)
    }

    /// A page of a stripe of the initial state is touched for the first time: until now all of these were valid.
    pub fn adopt(&mut self, parity: Lpn, pages: Vec<Ppn>) {
        if pages.is_empty() {
            // Where a single die was left over.
            self.known.insert(parity, None);
            return;
        }
        let (members, valid) = (pages.clone(), pages.len() as u32);
        let stripe = Stripe { pages, valid, parity: Parity::Programmed, doomed: false, initial: Some(parity) };
        let id = self.stripes.insert(stripe);
        members.into_iter().for_each(|ppn| *self.slot(ppn) = Some(id));
        self.known.insert(parity, Some(id));
    }

    fn slot(&mut self, ppn: Ppn) -> &mut Option<StripeId> {
        let (block, page) = (ppn.0 >> self.layout.page_bits, self.layout.page_of(ppn) as usize);
        let pages = self.layout.pages as usize;
        &mut self.of_block.entry(block).or_insert_with(|| vec![None; pages])[page]
    }

    /// The stripe of a page of the flash.
    pub fn of(&self, ppn: Ppn) -> Option<StripeId> {
        self.of_block.get(&(ppn.0 >> self.layout.page_bits))?[self.layout.page_of(ppn) as usize]
    }

    /// No more zones than `most` are kept for further pages: where more are, the open stripes of one that takes none
    /// get their parity as they are.
    pub fn close_ended(&mut self, most: u32, takes_pages: impl Fn(u32) -> bool) {
        let zones = || self.open.keys().copied().flatten();
        if self.open.len() <= most as usize || zones().count() <= most as usize {
            return;
        }
        if let Some(ended) = zones().find(|zone| !takes_pages(*zone)) {
            self.open.remove(&Some(ended)).into_iter().flatten().for_each(|id| self.await_parity(id));
        }
    }

    /// A valid page joins an open stripe of its zone, or of none, that has no page on its die. A stripe has at most
    /// `wide` pages, its parity included.
    pub fn join(&mut self, ppn: Ppn, of: ZoneOfPage, wide: u32) {
        if let Some(before) = self.of(ppn) {
            self.stripes[before].valid -= 1;
        }
        let die = self.die_of(ppn);
        let has_none = |stripe: &StripeId| self.stripes[*stripe].pages.iter().all(|other| self.die_of(*other) != die);
        let found = self.open.get(&of).and_then(|open| open.iter().copied().find(has_none));
        let id = found.unwrap_or_else(|| self.open_one(of));
        *self.slot(ppn) = Some(id);
        let stripe = &mut self.stripes[id];
        stripe.pages.push(ppn);
        stripe.valid += 1;
        let is_full = stripe.pages.len() as u32 + 1 >= self.wide.min(wide);
        let open = self.open.entry(of).or_default();
        if is_full {
            open.retain(|other| *other != id);
            if open.is_empty() {
                self.open.remove(&of);
            }
            self.await_parity(id);
        } else if open.len() > OPEN_STRIPES
            && let Some(oldest) = open.pop_front()
        {
            self.await_parity(oldest);
        }
    }

    fn open_one(&mut self, of: ZoneOfPage) -> StripeId {
        let stripe = Stripe { pages: Vec::new(), valid: 0, parity: Parity::Open, doomed: false, initial: None };
        let id = self.stripes.insert(stripe);
        self.open.entry(of).or_default().push_back(id);
        id
    }

    fn await_parity(&mut self, id: StripeId) {
        self.stripes[id].parity = Parity::Waiting;
        self.waiting.push_back(id);
    }

    /// A page of the flash is stale. Its stripe, if that has no valid page any more and is not open.
    pub fn leave(&mut self, ppn: Ppn) -> Option<StripeId> {
        let id = self.of(ppn)?;
        let stripe = &mut self.stripes[id];
        stripe.valid -= 1;
        (stripe.valid == 0 && stripe.parity != Parity::Open && !stripe.doomed).then_some(id)
    }

    /// Ends a stripe; whether its parity is on flash. One whose parity is on its way there ends when it has come.
    pub fn end(&mut self, id: StripeId) -> bool {
        let pages = std::mem::take(&mut self.stripes[id].pages);
        for ppn in pages {
            if self.of(ppn) == Some(id) {
                *self.slot(ppn) = None;
            }
        }
        self.leave_open(|other| *other == id);
        self.waiting.retain(|other| *other != id);
        let stripe = &mut self.stripes[id];
        stripe.valid = 0;
        let (parity, initial) = (stripe.parity, stripe.initial);
        if parity != Parity::Programming {
            self.stripes.release(id);
            if let Some(lpn) = initial {
                self.known.insert(lpn, None);
            }
        }
        parity == Parity::Programmed
    }

    /// A block is to be erased: its stripes take no further pages. Returns them.
    pub fn doom(&mut self, block: u64) -> Vec<StripeId> {
        let of_block = self.of_block.get(&block).into_iter().flatten();
        let mut ids: Vec<StripeId> = of_block.copied().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        for id in &ids {
            self.stripes[*id].doomed = true;
        }
        self.leave_open(|id| ids.binary_search(id).is_ok());
        self.waiting.retain(|id| ids.binary_search(id).is_err());
        ids
    }

    /// Stripes that are open take no further pages.
    fn leave_open(&mut self, leaves: impl Fn(&StripeId) -> bool) {
        self.open.values_mut().for_each(|open| open.retain(|id| !leaves(id)));
        self.open.retain(|_, open| !open.is_empty());
    }

    /// A block holds nothing any more.
    pub fn forget_block(&mut self, block: u64) {
        self.of_block.remove(&block);
    }

    /// The pages that still belong to a stripe.
    pub fn pages_of(&self, id: StripeId) -> impl Iterator<Item = Ppn> {
        self.stripes[id].pages.iter().copied().filter(move |ppn| self.of(*ppn) == Some(id))
    }

    /// Whether a page may join a stripe: it is in none, or in one that is to end. Another plane may have let it join
    /// meanwhile.
    pub fn is_free(&self, ppn: Ppn) -> bool {
        self.of(ppn).is_none_or(|id| self.stripes[id].doomed)
    }

    /// The pages of a stripe but for one, stale ones included.
    pub fn rest(&self, id: StripeId, page: Ppn) -> Vec<Ppn> {
        self.stripes[id].pages.iter().copied().filter(|ppn| *ppn != page).collect()
    }

    /// A valid page could not be read, nor be worked out: it leaves its stripe.
    pub fn give_up(&mut self, ppn: Ppn) {
        if let Some(id) = self.of(ppn) {
            self.stripes[id].valid -= 1;
            *self.slot(ppn) = None;
        }
    }

    /// Stripes whose parity waits for its program.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes this many waiting stripes that have no page on a die, if there are so many. Where none of the working dies
    /// is without, any will do.
    pub fn take_waiting(&mut self, die: DieId, count: usize, dies: u32) -> Option<Vec<StripeId>> {
        let suits = |id: &StripeId| {
            let pages = &self.stripes[*id].pages;
            pages.len() as u32 >= dies || pages.iter().all(|ppn| self.die_of(*ppn) != die)
        };
        let taken: Vec<StripeId> = self.waiting.iter().copied().filter(suits).take(count).collect();
        if taken.len() < count {
            return None;
        }
        self.waiting.retain(|id| !taken.contains(id));
        taken.iter().for_each(|id| self.stripes[*id].parity = Parity::Programming);
        Some(taken)
    }

    /// The program of a stripe's parity has ended; whether the stripe still needs it.
    pub fn programmed(&mut self, id: StripeId) -> bool {
        let stripe = &mut self.stripes[id];
        stripe.parity = Parity::Programmed;
        if stripe.valid == 0 && !stripe.doomed || stripe.pages.is_empty() {
            self.end(id);
            return false;
        }
        true
    }

    /// The parity of a stripe was not programmed on a plane that was to take it.
    pub fn not_programmed(&mut self, id: StripeId, plane: PlaneId) {
        self.loses(plane);
        self.again(id);
    }

    /// The parity of a stripe is in the controller again: its program has failed, or it was worked out again.
    pub fn again(&mut self, id: StripeId) {
        let stripe = &mut self.stripes[id];
        stripe.parity = Parity::Waiting;
        if stripe.valid == 0 && !stripe.doomed || stripe.pages.is_empty() {
            self.end(id);
        } else if !stripe.doomed {
            self.waiting.push_back(id);
        }
    }

    /// A page is worked out of this many others.
    pub fn begin(&mut self, of: Rebuilt, left: u32) -> RebuildId {
        self.rebuilds.insert(Rebuild { of, left, failed: false })
    }

    /// One of these has been read; who waits, when it was the last, and whether the data is there.
    pub fn read(&mut self, id: RebuildId, right: bool) -> Option<(Rebuilt, bool)> {
        let rebuild = &mut self.rebuilds[id];
        rebuild.left -= 1;
        rebuild.failed |= !right;
        let Rebuild { of, left, failed } = *rebuild;
        (left == 0).then(|| {
            self.rebuilds.release(id);
            (of, !failed)
        })
    }
}

state! {
    Stripes {
        stored { stripes, known, open, waiting, of_block, rebuilds, broken, rebuilding, plane, held }
        rebuilt { layout, wide, base, initial, most_held }
    }
}

stored! {
    Stripe { pages, valid, parity, doomed, initial }
    Rebuild { of, left, failed }
}

stored_enum! {
    Parity { 0 = Open, 1 = Waiting, 2 = Programming, 3 = Programmed, }
    Rebuilt { 0 = Read(op), 1 = Page(lpn, ppn), }
}
