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
mod copies;
mod damage;
pub(crate) mod disturb;
pub(crate) mod failures;
mod found;
pub(crate) mod mapping;
pub(crate) mod merges;
pub(crate) mod merging;
pub(crate) mod moves;
mod open;
mod own;
pub(crate) mod parity;
mod placement;
mod profile;
pub(crate) mod reads;
pub(crate) mod relocator;
mod restore;
mod room;
mod rows;
pub(crate) mod seen;
pub(crate) mod slc;
pub(crate) mod stationary;
pub(crate) mod stripes;
pub(crate) mod suspended;
mod victims;
pub(crate) mod visits;
pub(crate) mod warming;
pub(crate) mod wear;
pub(crate) mod zoned;
pub(crate) mod zones;

use std::ops::Range;

use nand::{Address, FlashPlaneId, PlaneId};
use schemes::Candidates as _;
use units::{ConfigError, Lpn, Ppn, Span, Stream};

use crate::arena::{SlotId, StripeId};
use crate::buffer::Buffer;
use crate::config::{Fold, Plan};
use crate::flash::AgeClock;
use crate::flash::op::PageData;
use crate::persist::state;
use crate::policies::lend;
use crate::streams::{Series, StreamId};
use crate::window::Window;
use aged::Aged;
use blocks::Blocks;
use copies::Copies;
use damage::Damage;
use disturb::Disturb;
pub(crate) use mapping::Location;
use mapping::{Chosen, Mapping as _};
use own::{Own, OwnPlace};
use relocator::{Relocator, Visits};
use stripes::Stripes;
use suspended::Suspended;
use wear::WearTable;

/// What flash holds at the start that a formula does not say.
pub(crate) struct AtStart<'a> {
    /// Blocks that are open, where they have been filled to some place.
    pub open: Vec<OpenAtStart>,
    /// Of stripes that are kept one by one.
    pub parity: Vec<ParityAtStart<'a>>,
}

/// Parity that is on flash at the start.
pub(crate) struct ParityAtStart<'a> {
    /// The page of the map that stands for it.
    pub lpn: Lpn,
    pub ppn: Ppn,
    /// What it is worked out of.
    pub pages: &'a [Ppn],
}

/// A block that is open at the start.
pub(crate) struct OpenAtStart {
    pub plane: PlaneId,
    pub block: u32,
    pub of: Series,
    /// The place of its next page.
    pub next_page: u32,
}

/// The FTL's state: the mapping, blocks, and what is kept of their data.
pub(crate) struct Ftl {
    mapping: Chosen,
    blocks: Blocks,
    /// What erases have made of the blocks, where they go pulse by pulse.
    wear: Option<WearTable>,
    /// What reads have done to wordlines, where they disturb.
    disturb: Option<Disturb>,
    /// How often programs were suspended, where that leaves errors.
    suspended: Option<Suspended>,
    /// What copying data back has left, where it does.
    copies: Option<Copies>,
    /// Pages whose data is damaged, where parts may break.
    damage: Option<Damage>,
    /// Where there is parity over dies, its stripes.
    stripes: Option<Stripes>,
    relocator: Relocator,
    /// Visits for refresh.
    pub visits: Visits,
    draws: Stream,
    drawn: u64,
    window: Window,
    /// What stands in for parts of it, if anything does.
    own: OwnPlace,
}

impl Ftl {
    pub fn new(plan: &Plan, seed: u64) -> Result<Ftl, ConfigError> {
        let usable = usable_blocks(plan, seed)?;
        let for_data: Vec<u32> = usable.iter().map(|blocks| blocks - plan.space.fixed).collect();
        let aged = Aged::new(plan, &for_data, seed);
        let mut ftl = Ftl {
            blocks: Blocks::new(plan, &aged, &usable, seed),
            wear: WearTable::new(plan, seed),
            disturb: Disturb::new(plan),
            suspended: Suspended::new(plan),
            copies: Copies::new(plan),
            damage: Damage::new(plan),
            stripes: Stripes::new(plan, &aged),
            mapping: Chosen::new(plan, all_pages(plan), aged),
            relocator: Relocator::new(plan),
            visits: Visits::new(plan),
            draws: Stream::new(seed, "victims"),
            drawn: 0,
            window: Window::Unused,
            own: OwnPlace(Own::new(plan)?),
        };
        ftl.resume_collection(plan);
        if plan.zones.is_some() {
            ftl.fill_zones(plan);
        }
        Ok(ftl)
    }

    /// Where a page's newest data is.
    #[inline]
    pub fn locate(&self, lpn: Lpn) -> Location {
        self.mapping.locate(lpn, &self.blocks)
    }

    /// The page of the flash with the newest programmed data of a page, which the write buffer may have newer data of.
    #[inline]
    pub fn flash_version(&self, lpn: Lpn, buffer: &Buffer) -> Option<Ppn> {
        match self.locate(lpn) {
            Location::Unmapped => None,
            Location::Flash(ppn) => Some(ppn),
            Location::Buffer(slot) => buffer.newest_flash_copy(slot),
        }
    }

    /// What has become of a page's data on flash, where parts may break or the decoder miscorrects.
    #[inline]
    pub fn condition_of(&self, lpn: Lpn) -> PageData {
        self.damage.as_ref().map_or(PageData::Right, |damage| damage.of(lpn))
    }

    /// What has become of pages' data before, of which some sectors are read: lost if that of one of them is, or wrong.
    /// Sectors that the host has written into the buffer are right.
    #[inline]
    pub fn condition_with<I: IntoIterator<Item = Lpn>>(
        &self,
        pages: impl FnOnce() -> I,
        sectors: u64,
        buffer: &Buffer,
    ) -> PageData {
        let Some(damage) = &self.damage else { return PageData::Right };
        let of = |lpn| match self.locate(lpn) {
            Location::Buffer(slot) if sectors & !buffer[slot].dirty == 0 => PageData::Right,
            _ => damage.of(lpn),
        };
        pages().into_iter().map(of).fold(PageData::Right, |worst, data| match (worst, data) {
            (PageData::Lost, _) | (_, PageData::Right) => worst,
            _ => data,
        })
    }

    /// The data of a page could not be read when it was relocated or merged, or was taken for other data: so it stays,
    /// unless the buffer has all of it. Whether it is kept so.
    #[cold]
    pub fn damages(&mut self, lpn: Lpn, data: PageData, buffer: &Buffer) -> bool {
        let whole = match self.locate(lpn) {
            Location::Buffer(slot) => buffer[slot].valid == buffer.full,
            _ => false,
        };
        let Some(damage) = self.damage.as_mut().filter(|_| !whole) else { return false };
        damage.set(lpn, data);
        true
    }

    /// The host has written or trimmed all of a page.
    #[inline]
    pub fn repair(&mut self, lpn: Lpn) {
        if let Some(damage) = &mut self.damage {
            damage.forget(lpn);
        }
    }

    /// After a power cut these pages say that their data was lost, or have none any more; of pages in the write buffer
    /// it stays known.
    pub fn recover_damage(&mut self, found: impl Iterator<Item = Lpn>, buffered: impl Iterator<Item = Lpn>) {
        if let Some(damage) = &mut self.damage {
            damage.recover(found, buffered);
        }
    }

    /// Whether a plane has broken: nothing is written to it or relocated in it any more.
    #[inline]
    pub fn is_broken(&self, plane: PlaneId) -> bool {
        self.relocator[plane].broken
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
        self.mapping.prefetch(lpn);
    }

    /// The second step of [`prefetch`](Self::prefetch), some requests later: fetches what the fetched parts lead to.
    #[inline]
    pub fn prefetch_further(&self, lpn: Lpn) {
        self.mapping.prefetch_further(lpn);
    }

    /// Gets ready to locate the page that a page of the flash may hold, in two steps.
    #[inline]
    pub fn prefetch_held(&self, address: Address, further: bool) {
        let lpn = match self.blocks.holder(address) {
            // Of pages that share a number the first stands for all.
            Ok(held) => held.map(|held| held.lpn(0, |_| false)),
            Err(()) => self.mapping.held_initially(address),
        };
        if let Some(lpn) = lpn {
            if further { self.mapping.prefetch_further(lpn) } else { self.mapping.prefetch(lpn) }
        }
    }

    /// The newest data of a page is in the write buffer.
    pub fn buffer(&mut self, lpn: Lpn, slot: SlotId) {
        self.mapping.buffer(lpn, slot);
    }

    /// The newest data of a page is on a page of the flash, which was programmed in the run.
    pub fn place(&mut self, lpn: Lpn, ppn: Ppn) {
        self.mapping.place(lpn, ppn, &self.blocks);
        self.tell(|own| own.placed(lpn, ppn, false));
    }

    /// The newest programmed data of a page, of which the write buffer may have newer data, has come to a page of the
    /// flash: it has moved from another one, to which the map leads or the slot with the newer data; or it has been
    /// programmed under newer data, which the map leads to.
    pub fn relocate(&mut self, lpn: Lpn, from: Option<Ppn>, to: Ppn, buffer: &mut Buffer) {
        match (self.mapping.slot(lpn), from) {
            (Some(slot), Some(from)) => buffer.moves_under(slot, from, to),
            (None, Some(from)) => self.mapping.relocate(lpn, from, to, &self.blocks),
            (_, None) => {}
        }
        self.tell(|own| own.placed(lpn, to, from.is_some()));
    }

    /// The program of a page has ended; whether its block is full with it.
    #[inline]
    pub fn has_programmed(&mut self, ppn: Ppn) -> bool {
        self.blocks.completed(ppn)
    }

    /// The open blocks of a stream, as far as it has begun to write them, are written no further.
    pub fn leave_open(&mut self, stream: StreamId) {
        self.blocks.leave_open(stream);
    }

    /// Opens a block where the stream's present one is full; whether it did. Invariant: the plane has room.
    #[inline]
    pub fn make_room(&mut self, plane: PlaneId, stream: StreamId) -> bool {
        self.blocks.make_room(plane, stream)
    }

    /// All data ages by `age`, as if kept at 30 °C.
    pub fn grows_old(&mut self, now: AgeClock, age: Span) {
        self.blocks.rest(now, age);
    }

    /// A page has no data any more.
    pub fn trim(&mut self, lpn: Lpn) {
        self.mapping.trim(lpn);
        self.tell(|own| own.trimmed(lpn));
    }

    /// The map of an FTL of one's own, to be tried.
    #[inline]
    pub fn tried_map(&mut self) -> Option<TriedMap<'_>> {
        if self.own.0.is_some() { Some(TriedMap(self)) } else { None }
    }

    /// Tells what stands in for parts of the FTL, if anything does.
    #[inline(always)]
    fn tell(&mut self, tell: impl FnOnce(&mut Own)) {
        if self.own.0.is_some()
            && let Some(own) = self.own()
        {
            tell(own);
        }
    }

    /// What stands in for parts of the FTL, if anything does. One that a checkpoint has left without its state learns
    /// first where each page is.
    #[cold]
    fn own(&mut self) -> Option<&mut Own> {
        if self.own.0.as_ref().is_some_and(|own| own.is_new()) {
            self.tells_again();
        }
        self.own.0.as_deref_mut()
    }

    /// An FTL of one's own that has lost its state is told where each page is.
    #[cold]
    fn tells_again(&mut self) {
        let Some(own) = &mut self.own.0 else { return };
        let place = |lpn: Lpn| match self.mapping.locate(lpn, &self.blocks) {
            Location::Unmapped => Some((lpn, None)),
            Location::Flash(ppn) => Some((lpn, Some(ppn))),
            Location::Buffer(_) => None,
        };
        own.begins_again(self.mapping.changed().filter_map(place));
    }

    /// The plane that an address is dealt to under static placement.
    fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.mapping.plane_of(lpn)
    }

    /// What flash holds at the start that a formula does not say.
    pub fn at_start(&self, plan: &Plan) -> AtStart<'_> {
        let planes = (0..plan.layout.planes).map(PlaneId).filter(|_| plan.config.age.is_staggered());
        let streams = planes.flat_map(|plane| plan.streams.open().map(move |stream| (plane, stream)));
        // The cache is empty at the start.
        let open = streams.filter(|(_, stream)| !plan.streams.in_slc(*stream)).map(|(plane, stream)| {
            let block = self.blocks.open_block(plane, stream);
            let of = Series { stream, handle: self.blocks.handle_of(plane, block) };
            OpenAtStart { plane, block, of, next_page: self.blocks.next_place(plane, stream) }
        });
        // Of zones; that of other data is where a formula says.
        let stripes = self.stripes.iter().filter(|_| plan.zones.is_some()).flat_map(|stripes| stripes.protected());
        let parity = stripes.filter_map(|(lpn, pages)| match self.locate(lpn) {
            Location::Flash(ppn) => Some(ParityAtStart { lpn, ppn, pages }),
            _ => None,
        });
        AtStart { open: open.collect(), parity: parity.collect() }
    }

    /// Whose block the page is in that a stream has programmed.
    pub fn series(&self, ppn: Ppn, stream: StreamId) -> Series {
        Series { stream, handle: self.blocks.handle_of_page(ppn) }
    }

    /// The stream that a page's data was written in, where that is known.
    pub fn stream_of(&self, ppn: Ppn) -> Option<StreamId> {
        self.blocks.stream_of(ppn).or_else(|| self.mapping.start().stream_of(ppn))
    }

    /// Where the page of a slot goes: the plane that it is dealt to under static placement, and the stream.
    pub fn place_of_slot(&mut self, slot: SlotId, buffer: &Buffer, plan: &Plan) -> (PlaneId, StreamId) {
        let (entry, on_flash) = (&buffer[slot], buffer.newest_flash_copy(slot));
        if plan.zones.is_some() {
            return (self.working_plane(entry.lpn, plan), zones::ANYWHERE);
        }
        let (lpn, on_its_way) = (entry.lpn, entry.prev_version.is_some());
        self.place_of_host_data(lpn, self.hint_of_slot(slot, buffer, plan), on_flash, on_its_way, plan)
    }

    /// The hint of a slot's page. What was saved from a broken plane stays with its handle.
    fn hint_of_slot(&self, slot: SlotId, buffer: &Buffer, plan: &Plan) -> u16 {
        let entry = &buffer[slot];
        match buffer.newest_flash_copy(slot).filter(|_| entry.rescued && plan.config.ftl.persistent_handles() > 0) {
            Some(ppn) => plan.groups.identifier(self.blocks.handle_of_page(ppn).into()),
            None => entry.hint,
        }
    }

    /// The plane that a page of host data is dealt to, and the stream. See [`Ftl::host_class`].
    fn place_of_host_data(
        &mut self,
        lpn: Lpn,
        hint: u16,
        on_flash: Option<Ppn>,
        on_its_way: bool,
        plan: &Plan,
    ) -> (PlaneId, StreamId) {
        let dealt = self.plane_of(lpn);
        if let Some(stream) = self.mapping.writes(lpn, dealt, &mut self.blocks) {
            return (self.works_from(dealt, plan), stream);
        }
        let answer = if self.own.0.is_some() { self.own_place(lpn, hint, (dealt, on_flash), plan) } else { None };
        answer.unwrap_or_else(|| (dealt, self.host_class(hint, on_flash, on_its_way, plan)))
    }

    /// Where an FTL of one's own sends a page of host data, which is dealt to a plane and may be on a page of the
    /// flash.
    fn own_place(
        &mut self,
        lpn: Lpn,
        hint: u16,
        (dealt, on_flash): (PlaneId, Option<Ppn>),
        plan: &Plan,
    ) -> Option<(PlaneId, StreamId)> {
        self.own();
        let mut own = self.own.0.take()?;
        let before = on_flash.map(|ppn| plan.layout.plane_of(ppn));
        let takes = |own: &Own, plane: PlaneId| {
            // A page that is written again does not make its plane fuller; and what is dealt to a plane it can hold,
            // for as long as nothing else is sent there.
            before == Some(plane)
                || plane == dealt && !own.strays()
                || self.is_broken(plane)
                || self.stays_collectable_with(plane, own.coming(plane), plan)
        };
        let answer = own.write((lpn, hint), (dealt, before), takes);
        self.own.0 = Some(own);
        answer.map(|place| (self.works_from(place.plane, plan), StreamId::new(place.stream.into())))
    }

    /// The plane that a page is dealt to under static placement, or the next one that works.
    fn working_plane(&self, lpn: Lpn, plan: &Plan) -> PlaneId {
        self.works_from(self.plane_of(lpn), plan)
    }

    /// A plane, or the next one that works.
    fn works_from(&self, dealt: PlaneId, plan: &Plan) -> PlaneId {
        let mut planes = (0..plan.layout.planes).map(|step| PlaneId((dealt.0 + step) % plan.layout.planes));
        planes.find(|plane| !self.is_broken(*plane)).unwrap_or(dealt)
    }

    /// What a page of host data is written as: by its hint, or by whether its last version was young, of which the
    /// newest copy on flash is given, and whether a version is on its way there.
    fn host_class(&self, hint: u16, on_flash: Option<Ppn>, on_its_way: bool, plan: &Plan) -> StreamId {
        let config = &plan.config.ftl;
        if config.hints > 0 {
            return plan.groups.stream_of(hint);
        }
        if config.streams <= 2 {
            return StreamId::new(0);
        }
        let young = |ppn| self.stream_of(ppn).is_some_and(|stream| stream.is_of_host());
        if on_its_way || on_flash.is_some_and(young) { StreamId::new(0) } else { StreamId::new(1) }
    }

    /// What relocated data is written as: the data of that page, which is `converted` into the SLC cache or not.
    fn relocated_class(&self, source: Ppn, plan: &Plan, converted: bool) -> StreamId {
        let again = || self.stream_of(source).is_some_and(|stream| !stream.is_of_host());
        if converted {
            StreamId::CONVERTED
        } else if plan.streams.has(StreamId::AGAIN) && again() {
            StreamId::AGAIN
        } else {
            StreamId::RELOCATED
        }
    }

    /// The stripes of parity over dies.
    ///
    /// # Panics
    /// There is no parity.
    pub fn stripes(&mut self) -> &mut Stripes {
        self.stripes.as_mut().expect("Invariant: only parity has stripes")
    }

    /// The stripes whose parity is on flash, of which no block is to be erased: the page of the map that stands for
    /// their parity, and their pages.
    pub fn protected(&self) -> impl Iterator<Item = (Lpn, &[Ppn])> {
        self.stripes.iter().flat_map(|stripes| stripes.protected())
    }

    /// The blocks, to be changed behind the drive's back by tests of its checks.
    #[cfg(test)]
    pub fn blocks_to_be_wrong(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    /// The stripes of this many pages of a block are kept one by one from now on, where they are the initial state's.
    pub fn knows_stripes(&mut self, first: Ppn, pages: u32) {
        (first.0..first.0 + u64::from(pages)).for_each(|ppn| self.knows_stripe(Ppn(ppn)));
    }

    fn knows_stripe(&mut self, ppn: Ppn) {
        if let Some(stripes) = self.stripes.as_mut().filter(|stripes| stripes.of(ppn).is_none())
            && let Some(parity) = self.mapping.start().parity_with(ppn)
            && !stripes.knows(parity)
        {
            stripes.adopt(parity, self.mapping.start().stripe_with(parity));
        }
    }

    /// The stripe whose parity a page of the map is.
    pub fn stripe_of_parity(&mut self, lpn: Lpn) -> Option<StripeId> {
        if let Some(before) = self.mapping.initially(lpn) {
            self.knows_stripe(before);
        }
        self.stripes.as_ref()?.of_parity(lpn)
    }

    /// The pages that parity is worked out of which is programmed: that of a stripe, or else parity of the initial
    /// state that moves.
    pub fn pages_with_parity(&self, stripe: Option<StripeId>, lpn: Lpn) -> Option<Vec<Ppn>> {
        let stripes = self.stripes.as_ref().filter(|stripes| stripes.is_parity(lpn))?;
        if stripe.is_none() && !stripes.is_initial(lpn) {
            // Of a zone that was full at the start, unless its stripe has ended meanwhile.
            let stands = matches!(self.locate(lpn), Location::Flash(_));
            let stripe = stripes.of_parity(lpn).filter(|_| stands);
            return Some(stripe.map_or_else(Vec::new, |stripe| stripes.all_pages_of(stripe).to_vec()));
        }
        Some(
            stripe
                .map_or_else(|| self.mapping.start().stripe_with(lpn), |stripe| stripes.all_pages_of(stripe).to_vec()),
        )
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
    fn pick_victim(&mut self, plane: PlaneId, plan: &Plan, background: bool) -> Option<u32> {
        let (policies, victim) = (&plan.config.policies, plan.config.gc.victim);
        if self.gathers() {
            return self.pick_gathered(plane);
        }
        self.own();
        let takes_data = self.blocks.free(plane) > plan.space.reserve;
        let start = self.mapping.start();
        let candidates = if self.own.0.is_some() || policies.pick_victims() {
            self.blocks.shown(plane, start)
        } else {
            self.blocks.candidates(plane, start)
        };
        let block = match &mut self.own.0 {
            Some(own) => {
                let reclaim = |blocks| own.reclaim(plane, blocks, takes_data);
                lend(victim, candidates, self.draws, &mut self.drawn, reclaim)?
            }
            None => policies.pick(victim, candidates, self.draws, &mut self.drawn)?,
        };
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

    /// The data of a page has been copied back to another one, with this many errors per KiB.
    pub fn copied(&mut self, source: Ppn, copy: Ppn, errors: f64) {
        if let Some(copies) = &mut self.copies {
            copies.copied(source, copy, errors);
        }
    }

    /// A block has been erased; returns its P/E cycles in the run.
    fn count_erase(&mut self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
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
        self.tell(|own| own.erased(plane, block));
        self.blocks.count_erase(plane, block)
    }

    /// A full block of which a part has moved is a candidate again; of the SLC cache it is folded next.
    fn stays_full(&mut self, plane: PlaneId, block: u32) {
        let written_by = self.blocks.stream_of_block(plane, block);
        if let Some(slc) = self.blocks.slc.as_mut().filter(|slc| slc.holds(plane, block)) {
            return slc.plane_mut(plane).folds_next(block, written_by == Some(StreamId::CONVERTED));
        }
        if self.blocks.zone_of(plane, block).is_some() {
            return;
        }
        let (valid, facts) = (self.valid(plane, block), self.blocks.facts(plane, block));
        self.blocks.candidates(plane, self.mapping.start()).insert_again(block, valid, facts);
    }

    /// Takes a block out of the candidates or of the full ones of the SLC cache, if it is one.
    pub fn claim(&mut self, plane: PlaneId, block: u32) -> bool {
        if let Some(slc) = &mut self.blocks.slc
            && slc.plane_mut(plane).claim(block)
        {
            return true;
        }
        if self.blocks.zone_of(plane, block).is_some() {
            return self.blocks.is_full(plane, block);
        }
        let candidates = self.blocks.candidates(plane, self.mapping.start());
        let is_one = candidates.contains(block);
        if is_one {
            candidates.remove(block);
        }
        is_one
    }

    /// The full block of a plane that has worn least, and by how many erases.
    fn least_worn(&mut self, plane: PlaneId) -> Option<(u32, u32)> {
        self.blocks.least_worn(plane, self.mapping.start())
    }

    /// Valid pages of a block.
    pub fn valid(&self, plane: PlaneId, block: u32) -> u32 {
        self.blocks.live_in_block(plane, block, self.mapping.start())
    }

    /// The first valid page of a full block in a range of its pages. `flash_version` names the place of a logical page.
    pub fn next_valid(
        &self,
        plane: PlaneId,
        block: u32,
        pages: Range<u32>,
        plan: &Plan,
        flash_version: impl Fn(Lpn) -> Option<Ppn>,
    ) -> Option<ValidPage> {
        let mut from = pages.start;
        while let Some((page, held)) = self.blocks.next_held(plane, block, from).filter(|(page, _)| *page < pages.end) {
            let address = Address { plane, block, page };
            let ppn = plan.layout.pack(address);
            let is_here = |lpn: Lpn| flash_version(lpn) == Some(ppn);
            let lpn = match held {
                Some(held) => Some(held.lpn(all_pages(plan), is_here)),
                // Nothing has become of most pages of the initial state: where they were they are.
                None => {
                    let before = self.mapping.held_initially(address);
                    before.filter(|lpn| self.mapping.is_initial(*lpn) || is_here(*lpn))
                }
            };
            if let Some(lpn) = lpn {
                return Some(ValidPage { page, lpn, ppn });
            }
            from = page + 1;
        }
        None
    }
}

/// The map of an FTL of one's own, beside that of the drive.
pub(crate) struct TriedMap<'a>(&'a mut Ftl);

impl TriedMap<'_> {
    /// A request reads a page whose newest data is on that page of the flash: the map must say so.
    pub fn reads(&mut self, request: u64, lpn: Lpn, ppn: Ppn) {
        let is_initial = self.0.mapping.is_initial(lpn);
        self.0.tell(|own| own.reads(Some(request), lpn, ppn, is_initial));
    }

    /// The end of a run: of all that was written in it the map must know where it is.
    pub fn all(&mut self) {
        let pages: Vec<(Lpn, Ppn)> = self
            .0
            .mapping
            .changed()
            .filter_map(|lpn| match self.0.locate(lpn) {
                Location::Flash(ppn) => Some((lpn, ppn)),
                _ => None,
            })
            .collect();
        self.0.tell(|own| pages.into_iter().for_each(|(lpn, ppn)| own.reads(None, lpn, ppn, false)));
    }
}

/// A page of a block with the newest programmed data of a logical page: its place in the block, that page, and its own
/// number.
#[derive(Clone, Copy)]
pub(crate) struct ValidPage {
    pub page: u32,
    pub lpn: Lpn,
    pub ppn: Ppn,
}

/// Logical pages, pages of the map and of its journal behind them, and those that stand for parity, of which there are
/// never more than pages of the flash; behind these the ones that stand for that of the initial state.
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
    Ftl { stored { drawn, window } parts { mapping, blocks, wear, disturb, suspended, copies, damage, stripes, relocator, visits, own } rebuilt { draws } }
}
