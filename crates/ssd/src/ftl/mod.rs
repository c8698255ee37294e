//! The flash translation layer: which physical page holds which logical page, and where the next write goes.
//!
//! Architecture invariant: it decides and schedules nothing; it knows the time only as a value that callers
//! pass, and is tested as plain functions.
//!
//! Pages of the map itself, where it is on flash, are numbered behind the logical pages and are kept, moved and
//! reclaimed like them.

pub(crate) mod aged;
pub(crate) mod ageing;
pub(crate) mod blocks;
pub(crate) mod candidates;
mod check;
pub(crate) mod cmt;
mod copies;
mod damage;
mod disturb;
mod group_table;
pub(crate) mod map;
mod placement;
mod profile;
pub(crate) mod relocator;
mod restore;
mod rows;
pub(crate) mod slc;
pub(crate) mod stationary;
pub(crate) mod stripes;
mod suspended;
mod victims;
pub(crate) mod warming;
pub(crate) mod wear;

use std::ops::Range;

use nand::{Address, FlashPlaneId, PlaneId};
use schemes::Candidates as _;
use units::{ConfigError, Lpn, Ppn, Stream};

use crate::arena::{SlotId, StripeId};
use crate::config::{Fold, Plan};
use crate::persist::state;
use crate::streams::StreamId;
use aged::Aged;
use blocks::Blocks;
use cmt::CachedMap;
use copies::Copies;
use damage::Damage;
use disturb::Disturb;
use map::{Entry, Map};
use relocator::Relocator;
use stripes::Stripes;
use suspended::Suspended;
use wear::WearTable;

/// Where a logical page's newest data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Nowhere: it was never written, or was deallocated.
    Unmapped,
    /// On flash.
    Flash(Ppn),
    /// In the write buffer, at this slot.
    Buffer(SlotId),
}

/// The FTL's state: map, its cache, initial state, blocks.
pub(crate) struct Ftl {
    map: Map,
    aged: Aged,
    pub blocks: Blocks,
    /// What erases have made of the blocks, where they go pulse by pulse.
    pub wear: Option<WearTable>,
    /// What reads have done to wordlines, where they disturb.
    disturb: Option<Disturb>,
    /// How often programs were suspended, where that leaves errors.
    suspended: Option<Suspended>,
    /// What copying data back has left, where it does.
    pub copies: Option<Copies>,
    /// Pages whose data is damaged, where parts may break.
    pub damage: Option<Damage>,
    /// Stripes of parity, where there are any.
    pub stripes: Option<Stripes>,
    /// The cached mapping table, where the map is on flash.
    pub cmt: Option<CachedMap>,
    pub relocator: Relocator,
    draws: Stream,
    drawn: u64,
}

impl Ftl {
    pub fn new(plan: &Plan, seed: u64) -> Result<Ftl, ConfigError> {
        let usable = usable_blocks(plan, seed)?;
        let for_data: Vec<u32> = usable.iter().map(|blocks| blocks - plan.space.fixed).collect();
        let aged = Aged::new(plan, &for_data, seed);
        let mut ftl = Ftl {
            map: Map::new(all_pages(plan)),
            blocks: Blocks::new(plan, &aged, &usable, seed),
            wear: WearTable::new(plan, seed),
            disturb: Disturb::new(plan),
            suspended: Suspended::new(plan),
            copies: Copies::new(plan),
            damage: Damage::new(plan),
            stripes: Stripes::new(plan, &aged),
            cmt: CachedMap::new(plan),
            aged,
            relocator: Relocator::new(plan),
            draws: Stream::new(seed, "victims"),
            drawn: 0,
        };
        ftl.resume_collection(plan);
        Ok(ftl)
    }

    /// Where a page's newest data is.
    #[inline]
    pub fn locate(&self, lpn: Lpn) -> Location {
        match self.map.get(lpn) {
            Entry::Initial => self.aged.physical(lpn).map_or(Location::Unmapped, Location::Flash),
            Entry::Unmapped => Location::Unmapped,
            Entry::Written(page) => Location::Flash(self.blocks.page(page)),
            Entry::Buffer(slot) => Location::Buffer(slot),
        }
    }

    /// Pages of the map that each plane holds.
    pub fn map_pages_of_planes(&self, plan: &Plan) -> Vec<u32> {
        let mut held = vec![0; plan.layout.planes as usize];
        for lpn in (plan.logical_pages..all_pages(plan)).map(Lpn) {
            if let Location::Flash(ppn) = self.locate(lpn) {
                held[plan.layout.plane_of(ppn).0 as usize] += 1;
            }
        }
        held
    }

    /// Gets ready to locate a page soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
        if let Some(cache) = &self.cmt {
            cache.prefetch(lpn);
        }
    }

    /// The same for what the fetched parts lead to, when they have come: some requests later.
    #[inline]
    pub fn prefetch_further(&self, lpn: Lpn) {
        self.map.prefetch_further(lpn);
        if let Some(cache) = &self.cmt {
            cache.prefetch_further(lpn);
        }
    }

    /// The same of the page that a page of the flash may hold, in two steps.
    #[inline]
    pub fn prefetch_held(&self, address: Address, further: bool) {
        let lpn = match self.blocks.holder(address) {
            // Of pages that share a number the first stands for all.
            Ok(held) => held.map(|held| held.lpn(0, |_| false)),
            Err(()) => self.aged.logical(address),
        };
        if let Some(lpn) = lpn {
            if further { self.map.prefetch_further(lpn) } else { self.map.prefetch(lpn) }
        }
    }

    /// The newest data of a page is there; on flash it was written in the run.
    pub fn set(&mut self, lpn: Lpn, location: Location) {
        let entry = match location {
            Location::Unmapped => Entry::Unmapped,
            Location::Flash(ppn) => Entry::Written(self.blocks.written_page(ppn)),
            Location::Buffer(slot) => Entry::Buffer(slot),
        };
        self.map.set(lpn, entry);
    }

    /// The plane that an address is dealt to under static placement.
    pub fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.aged.plane_of(lpn)
    }

    /// The stream that a page's data was written in, where that is known.
    pub fn stream_of(&self, ppn: Ppn) -> Option<StreamId> {
        self.blocks.stream_of(ppn).or_else(|| self.aged.stream_of(ppn))
    }

    /// What a page of host data is written as: by its hint, or by whether its last version was young, of which the newest copy on flash is
    /// given, and whether a version is on its way there.
    pub fn host_class(&self, hint: u16, on_flash: Option<Ppn>, on_its_way: bool, plan: &Plan) -> StreamId {
        let config = &plan.config.ftl;
        if config.hints > 0 {
            return StreamId::new(usize::from(hint % config.hints));
        }
        if config.streams <= 2 {
            return StreamId::new(0);
        }
        let young = |ppn| self.stream_of(ppn).is_some_and(|stream| stream.is_of_host());
        if on_its_way || on_flash.is_some_and(young) { StreamId::new(0) } else { StreamId::new(1) }
    }

    /// What relocated data is written as: the data of that page, which is `converted` into the SLC cache or not.
    pub fn relocated_class(&self, source: Ppn, plan: &Plan, converted: bool) -> StreamId {
        let again = || self.stream_of(source).is_some_and(|stream| !stream.is_of_host());
        if converted {
            StreamId::CONVERTED
        } else if plan.streams.has(StreamId::AGAIN) && again() {
            StreamId::AGAIN
        } else {
            StreamId::RELOCATED
        }
    }

    /// The stripes of so many pages of a block are kept one by one from now on, where they are the initial state's.
    pub fn knows_stripes(&mut self, first: Ppn, pages: u32) {
        (first.0..first.0 + u64::from(pages)).for_each(|ppn| self.knows_stripe(Ppn(ppn)));
    }

    fn knows_stripe(&mut self, ppn: Ppn) {
        if let Some(stripes) = self.stripes.as_mut().filter(|stripes| stripes.of(ppn).is_none())
            && let Some(parity) = self.aged.parity_with(ppn)
            && !stripes.knows(parity)
        {
            stripes.adopt(parity, self.aged.stripe_with(parity));
        }
    }

    /// The stripe whose parity a page of the map is.
    fn stripe_of_parity(&mut self, lpn: Lpn) -> Option<StripeId> {
        if let Some(before) = self.aged.physical(lpn) {
            self.knows_stripe(before);
        }
        self.stripes.as_ref()?.of_parity(lpn)
    }

    /// The pages that parity is worked out of which is programmed: that of a stripe, or else parity of the initial state that moves.
    pub fn pages_with_parity(&self, stripe: Option<StripeId>, lpn: Lpn) -> Option<Vec<Ppn>> {
        let stripes = self.stripes.as_ref().filter(|stripes| stripes.is_parity(lpn))?;
        Some(stripe.map_or_else(|| self.aged.stripe_with(lpn), |stripe| stripes.all_pages_of(stripe).to_vec()))
    }

    /// The other pages of the stripe of a page, as far as they are on flash; none where it has no stripe.
    pub fn rest_of_stripe(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        self.knows_stripe(ppn);
        let is_parity = self.stripes.as_ref()?.is_parity(lpn);
        let of_parity = if is_parity { self.stripe_of_parity(lpn) } else { None };
        // It stands elsewhere by now, or is of nothing.
        if is_parity && (of_parity.is_none() || self.locate(lpn) != Location::Flash(ppn)) {
            return Some(Vec::new());
        }
        let stripes = self.stripes.as_ref()?;
        let stripe = of_parity.or_else(|| stripes.of(ppn))?;
        let mut rest = stripes.rest(stripe, ppn);
        if of_parity.is_none()
            && let Location::Flash(parity) = self.locate(stripes.lpn(stripe))
        {
            rest.push(parity);
        }
        Some(rest)
    }

    /// The block of a plane that collection should reclaim, if any is worth it; it is no candidate any more.
    /// In the background a block that gains nothing is left alone, whatever the policy says.
    pub fn pick_victim(&mut self, plane: PlaneId, plan: &Plan, background: bool) -> Option<u32> {
        let (policies, victim) = (&plan.config.policies, plan.config.gc.victim);
        let candidates = self.blocks.candidates(plane, &self.aged);
        let is_one = |block| candidates.contains(block);
        let block = policies.pick(victim, candidates, is_one, self.draws, &mut self.drawn)?;
        if background && candidates.block(block).0 >= plan.space.victim_valid_limit {
            return None;
        }
        candidates.remove(block);
        Some(block)
    }

    /// Whether the data of a page that is relocated may move within its plane, without bus and ECC.
    #[inline]
    pub fn copies_back(&self, source: Ppn, plan: &Plan) -> bool {
        let copied = if self.blocks.page_in_slc(source) {
            plan.config.slc.fold == Fold::Copyback
        } else {
            plan.config.gc.copyback
        };
        copied && self.copies.as_ref().is_none_or(|copies| copies.allows(source))
    }

    /// The data of a page has been copied back to another one, with so many errors per KiB.
    pub fn copied(&mut self, source: Ppn, copy: Ppn, errors: f64) {
        if let Some(copies) = &mut self.copies {
            copies.copied(source, copy, errors);
        }
    }

    /// A block has been erased; returns its P/E cycles in the run.
    pub fn count_erase(&mut self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
        if self.disturb.is_some() || self.suspended.is_some() {
            for plane in plan.layout.flash_planes_of(plane) {
                let block = plan.layout.flash_block_index(plane, block);
                self.disturb.iter_mut().for_each(|disturb| disturb.erased(block));
                self.suspended.iter_mut().for_each(|suspended| suspended.erased(block));
            }
        }
        if let Some(copies) = &mut self.copies {
            copies.erased(plan.layout.block_index(plane, block));
        }
        self.blocks.count_erase(plane, block)
    }

    /// Counts `senses` of a page; returns the reads of its block of the flash since it was erased, before and after.
    #[inline]
    pub fn count_read(&mut self, ppn: Ppn, senses: u32) -> (u32, u32) {
        if let Some(disturb) = &mut self.disturb {
            disturb.read(ppn, self.blocks.page_in_slc(ppn), senses);
        }
        self.blocks.count_read(ppn, senses)
    }

    /// The pages of a block that share a wordline with one: in the SLC cache fewer than in other blocks.
    pub fn wordline(&self, plane: PlaneId, block: u32, page: u32, plan: &Plan) -> Range<u32> {
        let of_mode = plan.slc.as_ref().filter(|_| self.blocks.in_slc(plane, block));
        of_mode.map_or(&plan.layout, |slc| &slc.layout).wordline(page)
    }

    /// The wordlines beside that of a page whose data has met so many reads.
    pub fn disturbed_beside(&self, ppn: Ppn, limit: u32, plan: &Plan) -> impl Iterator<Item = Range<u32>> + use<> {
        let Address { plane, block, page } = plan.layout.unpack(ppn);
        let own = self.wordline(plane, block, page, plan);
        let beside = [own.start.checked_sub(1), Some(own.end)].map(|page| {
            let wordline = self.wordline(plane, block, page?, plan);
            let is_one = wordline != own
                && !wordline.is_empty()
                && self.reads_of_wordline(plane, block, wordline.start, plan) >= limit;
            is_one.then_some(wordline)
        });
        beside.into_iter().flatten()
    }

    /// The reads that data of the wordline of a page has met, with superblocks on the plane where it has met most.
    fn reads_of_wordline(&self, plane: PlaneId, block: u32, page: u32, plan: &Plan) -> u32 {
        let in_slc = self.blocks.in_slc(plane, block);
        let flash_pages = self.wordline(plane, block, page, plan).step_by(plan.layout.shared() as usize);
        let reads = |page| {
            let ppn = plan.layout.pack(Address { plane, block, page });
            let of_block = self.blocks.reads_of(ppn);
            self.disturb.as_ref().map_or(of_block, |disturb| disturb.effective(ppn, in_slc, of_block))
        };
        flash_pages.map(reads).max().unwrap_or(0)
    }

    /// A full block of which a part has moved is a candidate again; of the SLC cache it is folded next.
    pub fn stays_full(&mut self, plane: PlaneId, block: u32) {
        let written_by = self.blocks.stream_of_block(plane, block);
        if let Some(slc) = self.blocks.slc.as_mut().filter(|slc| slc.holds(plane, block)) {
            return slc.plane_mut(plane).folds_next(block, written_by == Some(StreamId::CONVERTED));
        }
        let valid = self.valid(plane, block);
        self.blocks.candidates(plane, &self.aged).insert(block, valid);
    }

    /// Takes a block out of the candidates or of the full ones of the SLC cache, if it is one.
    pub fn claim(&mut self, plane: PlaneId, block: u32) -> bool {
        if let Some(slc) = &mut self.blocks.slc
            && slc.plane_mut(plane).claim(block)
        {
            return true;
        }
        let candidates = self.blocks.candidates(plane, &self.aged);
        let is_one = candidates.contains(block);
        if is_one {
            candidates.remove(block);
        }
        is_one
    }

    /// The full block of a plane with the fewest erases, and that number.
    pub fn least_worn(&mut self, plane: PlaneId) -> Option<(u32, u32)> {
        self.blocks.least_worn(plane, &self.aged)
    }

    /// Valid pages of a block.
    pub fn valid(&self, plane: PlaneId, block: u32) -> u32 {
        self.blocks.live_in_block(plane, block, &self.aged)
    }

    /// The first valid page of a full block in a range of its pages. `flash_version` names the place of a logical page.
    pub fn next_valid(
        &self,
        plane: PlaneId,
        block: u32,
        pages: Range<u32>,
        plan: &Plan,
        flash_version: impl Fn(Lpn) -> Option<Ppn>,
    ) -> Option<(u32, Lpn, Ppn)> {
        let mut from = pages.start;
        while let Some((page, held)) = self.blocks.next_held(plane, block, from).filter(|(page, _)| *page < pages.end) {
            let address = Address { plane, block, page };
            let ppn = plan.layout.pack(address);
            let is_here = |lpn: Lpn| flash_version(lpn) == Some(ppn);
            let lpn = match held {
                Some(held) => Some(held.lpn(all_pages(plan), is_here)),
                None => self.aged.logical(address).filter(|lpn| is_here(*lpn)),
            };
            if let Some(lpn) = lpn {
                return Some((page, lpn, ppn));
            }
            from = page + 1;
        }
        None
    }

    /// Checks that logical and physical pages agree in both directions: `flash_version` names the flash page
    /// of every logical page, buffered or not. Visits every page: for tests, at any moment between events.
    pub fn check(&self, plan: &Plan, flash_version: impl Fn(Lpn) -> Option<Ppn>) -> Result<(), String> {
        let layout = plan.layout;
        let mut mapped = 0u64;
        let mut of_blocks = vec![0; layout.planes as usize * layout.blocks as usize];
        for lpn in (0..all_pages(plan)).map(Lpn) {
            let Some(ppn) = flash_version(lpn) else { continue };
            mapped += 1;
            let address = layout.unpack(ppn);
            of_blocks[layout.block_index(address.plane, address.block)] += 1;
            if !self.holds(ppn, lpn, plan) {
                let Address { plane, block, page } = address;
                let place = format!("page {page} of block {block}, plane {}", plane.0);
                return Err(format!("page {} is mapped to {place}, which holds another page or none", lpn.0));
            }
        }
        let mut live = 0u64;
        for plane in (0..layout.planes).map(PlaneId) {
            let mut here = 0;
            for block in 0..layout.blocks {
                let (valid, mapped) = (self.valid(plane, block), of_blocks[layout.block_index(plane, block)]);
                let pending = self.blocks.counts(plane, block).map_or(0, |(_, pending, _)| pending);
                if valid != mapped + pending {
                    let block = format!("block {block}, plane {}", plane.0);
                    return Err(format!(
                        "{block} counts {valid} valid pages, {mapped} are mapped to it and {pending} under way"
                    ));
                }
                here += valid;
            }
            if here != self.blocks.live(plane) {
                let counted = self.blocks.live(plane);
                return Err(format!("plane {} counts {counted} valid pages, its blocks {here}", plane.0));
            }
            live += u64::from(here);
        }
        let pending = self.blocks.pending();
        if live == mapped + pending {
            Ok(())
        } else {
            Err(format!("{mapped} pages are mapped and {pending} under way, {live} physical pages are live"))
        }
    }
}

/// Logical pages, pages of the map and of its journal behind them, and those that stand for parity, of which there are never more
/// than pages of the flash; behind these the ones that stand for that of the initial state.
fn all_pages(plan: &Plan) -> u64 {
    let kinds = if plan.config.age.fill.0 > 0.0 { 2 } else { 1 };
    let parity = plan.config.ftl.raid.wide().map_or(0, |_| kinds * plan.layout.raw_pages());
    plan.first_parity() + parity
}

/// Blocks of each plane that the factory found good. Bad ones are numbered last: where they stand changes nothing,
/// since a drive replaces their addresses.
fn usable_blocks(plan: &Plan, seed: u64) -> Result<Vec<u32>, ConfigError> {
    let (layout, share) = (plan.layout, plan.config.wear.factory_bad.0);
    if share == 0.0 {
        return Ok(vec![layout.blocks; layout.planes as usize]);
    }
    let draws = Stream::new(seed, "factory-bad");
    let good = |plane: FlashPlaneId| {
        let blocks = 0..layout.blocks;
        blocks.filter(|block| draws.uniform(layout.flash_block_index(plane, *block) as u64) >= share).count() as u32
    };
    // A superblock takes a good block of each of its planes.
    let fewest = |plane| layout.flash_planes_of(plane).map(good).min().unwrap_or(0);
    let usable: Vec<u32> = (0..layout.planes).map(PlaneId).map(fewest).collect();
    let needed = plan.space.needed_at_start(&plan.config, &layout);
    let fewest = usable.iter().copied().min().unwrap_or(0);
    if fewest < needed {
        return Err(ConfigError {
            origin: "device".into(),
            line: None,
            key: Some("wear.factory_bad".into()),
            problem: format!("leaves a plane {fewest} good blocks of {}, and it needs {needed}", layout.blocks),
            remedy: "lower it, or raise ftl.over_provisioning".into(),
        });
    }
    Ok(usable)
}

state! {
    Ftl { stored { drawn } parts { map, blocks, wear, disturb, suspended, copies, damage, stripes, cmt, relocator } rebuilt { aged, draws } }
}
