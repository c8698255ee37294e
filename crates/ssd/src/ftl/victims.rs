//! Which block's data is relocated next, and why: garbage collection, static wear levelling, refresh, read reclaim,
//! blocks that failed. One block of a plane at a time.

use nand::{Address, DieId, PlaneId, PlanePrograms};
use schemes::{BlockReads, Collection, Pacing, Price};
use units::Ppn;

use super::Ftl;
use super::mapping::Mapping as _;
use super::moves::Moving;
use super::relocator::{PlaneRelocation, Relocation};
use crate::config::{Plan, SlcCache};
use crate::flash::AgeClock;
use crate::observe::stats::relocation_causes;
use crate::window::Window;

impl Ftl {
    /// Whether host data has to be paid for on a plane, now that this many of its blocks are free.
    fn update_pacing(&mut self, plane: PlaneId, plan: &Plan) {
        let relocation = &self.relocator[plane];
        let collects = relocation.running && !relocation.no_victim;
        let paced = collects && self.price(plane, relocation.valid(), plan).is_some();
        self.relocator[plane].set_paced(paced);
    }

    fn choose(&mut self, plane: PlaneId, now: AgeClock, plan: &Plan, host_waits: bool) -> Option<Relocation> {
        if let Some(block) = self.blocks.take_doomed(plane) {
            let cause =
                if self.takes_failed(plane, block) { relocation_causes::BAD_BLOCK } else { relocation_causes::RESET };
            return Some(Relocation::block(block, cause));
        }
        self.claim_failed(plane);
        // Under lasting writes collection never rests: it takes turns with the blocks that are requested, and so do
        // these with those of the SLC cache.
        let running = self.relocator[plane].running;
        if !running || !self.relocator[plane].served {
            let next = if self.relocator[plane].fold_is_next {
                self.next_fold(plane, plan).or_else(|| self.next_requested(plane, now, plan, host_waits))
            } else {
                self.next_requested(plane, now, plan, host_waits).or_else(|| self.next_fold(plane, plan))
            };
            if next.is_some() {
                return next;
            }
        }
        self.relocator[plane].served = false;
        if let Some(block) = self.next_to_gather(plane) {
            return Some(Relocation::block(block, relocation_causes::COLLECTION));
        }
        if !running {
            return None;
        }
        // A block of a dynamic cache has few valid pages, and all of its own are won.
        if plan.config.ftl.slc_cache == SlcCache::Dynamic
            && let Some(block) = self.oldest_of_cache(plane)
        {
            return Some(Relocation::block(block, relocation_causes::FOLD));
        }
        let ahead = self.window == Window::Open && self.blocks.free(plane) >= plan.config.gc.start;
        let victim = self.pick_victim(plane, plan, ahead);
        self.relocator[plane].no_victim = victim.is_none();
        self.update_pacing(plane, plan);
        victim.map(|block| Relocation::block(block, relocation_causes::COLLECTION))
    }

    /// Failed blocks must never be picked, since they give no free block back: those that are full are to be emptied.
    pub(super) fn claim_failed(&mut self, plane: PlaneId) {
        for block in std::mem::take(&mut self.relocator[plane].failed) {
            let claimed = self.claim(plane, block);
            let relocation = &mut self.relocator[plane];
            if claimed {
                relocation.requests.push_front(Relocation::block(block, relocation_causes::BAD_BLOCK));
            } else {
                relocation.failed.push(block);
            }
        }
    }

    /// Whether a block has failed, and waits for its turn to be emptied: it does so no longer.
    pub(super) fn takes_failed(&mut self, plane: PlaneId, block: u32) -> bool {
        let PlaneRelocation { failed, requests, .. } = &mut self.relocator[plane];
        let before = failed.len() + requests.len();
        failed.retain(|other| *other != block);
        requests.retain(|request| *request != Relocation::block(block, relocation_causes::BAD_BLOCK));
        failed.len() + requests.len() < before
    }

    /// The next block whose relocation was requested, if it can begin. A block that failed gives no free one back: its
    /// data is relocated only while there are enough.
    fn next_requested(&mut self, plane: PlaneId, now: AgeClock, plan: &Plan, host_waits: bool) -> Option<Relocation> {
        let spare = self.blocks.free(plane) > plan.space.reserve + 1;
        let folds = self.has_room_to_fold(plane, plan);
        for _ in 0..self.relocator[plane].requests.len() {
            let next = self.relocator[plane].requests.pop_front()?;
            let Relocation { block, cause, .. } = next;
            if cause == relocation_causes::BAD_BLOCK {
                if spare {
                    return Some(next);
                }
                self.relocator[plane].requests.push_back(next);
            } else if self.window.holds_back(cause)
                || self.yields(plane, cause, plan, host_waits)
                || (!folds && self.blocks.in_slc(plane, block))
            {
                self.relocator[plane].requests.push_back(next);
            } else if !self.still_wanted(plane, next, now, plan) || self.relocator[plane].has_failed(block) {
                // It has been emptied since, or is another one's to be.
            } else if next.waits_to_be_full() && self.blocks.is_being_filled(plane, block) {
                self.relocator[plane].requests.push_back(next);
            } else if self.claim(plane, block) {
                if cause == relocation_causes::WEAR_LEVELLING {
                    let relocation = &mut self.relocator[plane];
                    relocation.levelled_at = relocation.host_pages;
                } else {
                    self.relocator.host_is_next[plan.layout.die_of(plane).0] = true;
                }
                return Some(next);
            }
        }
        None
    }

    /// Whether a block of the SLC cache is to be folded, and can be.
    fn folds(&self, plane: PlaneId, plan: &Plan) -> bool {
        let free = self.blocks.free(plane);
        self.blocks.slc.as_ref().is_some_and(|slc| slc.folds(plane, free)) && self.has_room_to_fold(plane, plan)
    }

    /// Whether a block of the SLC cache can be emptied. One of a static cache gives no free block back: its data takes
    /// room as the host's does.
    fn has_room_to_fold(&self, plane: PlaneId, plan: &Plan) -> bool {
        plan.space.fixed == 0 || self.blocks.free(plane) > plan.space.reserve
    }

    /// The block of the SLC cache that is folded next, if one is to be.
    fn next_fold(&mut self, plane: PlaneId, plan: &Plan) -> Option<Relocation> {
        let block = if self.folds(plane, plan) { self.oldest_of_cache(plane) } else { None };
        block.map(|block| Relocation::block(block, relocation_causes::FOLD))
    }

    /// Takes the block of the SLC cache out of its full ones that was filled first, one of converted data last.
    fn oldest_of_cache(&mut self, plane: PlaneId) -> Option<u32> {
        self.blocks.slc.as_mut()?.plane_mut(plane).oldest()
    }

    /// Whether a relocation must wait for the host. Levelling moves at most one block for each block's worth of pages
    /// that the plane takes from the host: otherwise the erases that it causes would keep it going by itself. Refresh
    /// and read reclaim take turns with what the host waits for on any plane of the die: relocations that nothing may
    /// interrupt would else follow one another without end.
    fn yields(&self, plane: PlaneId, cause: usize, plan: &Plan, host_waits: bool) -> bool {
        if cause == relocation_causes::WEAR_LEVELLING {
            let relocation = &self.relocator[plane];
            return relocation.host_pages < relocation.levelled_at + u64::from(plan.layout.pages);
        }
        host_waits && self.relocator.host_is_next[plan.layout.die_of(plane).0]
    }

    /// Whether the reason to relocate a block still holds: it may have been reclaimed and written again since.
    fn still_wanted(&self, plane: PlaneId, next: Relocation, now: AgeClock, plan: &Plan) -> bool {
        let Relocation { block, cause, wordline } = next;
        match cause {
            relocation_causes::REFRESH => {
                let age = self.blocks.age(plane, block, now, plan);
                plan.config.refresh.period.is_some_and(|period| age > period)
            }
            relocation_causes::READ_RECLAIM => {
                let reads = match wordline {
                    None => self.blocks.reads(plane, block),
                    Some(page) => self.reads_of_wordline(plane, block, page, plan),
                };
                plan.config.refresh.reads.is_some_and(|limit| reads >= limit)
            }
            relocation_causes::CONVERSION => self.may_convert(plane, block, plan),
            _ => true,
        }
    }

    /// A page of a block of the host's data has been read: whether the block's data is to move into the SLC cache,
    /// after this many reads of it.
    pub(super) fn converts(&mut self, ppn: Ppn, reads: u32, retries: u32, plan: &Plan) -> bool {
        let Address { plane, block, .. } = plan.layout.unpack(ppn);
        let Some(slc) = &mut self.blocks.slc else { return false };
        let retries = slc.retried(plane, block, retries);
        let wanted = plan.config.slc.convert.converts(BlockReads { reads, retries });
        let moves = self.relocator[plane].victim.is_some_and(|moving| moving.block == block);
        wanted && !moves && self.blocks.is_full(plane, block) && self.may_convert(plane, block, plan)
    }

    /// The host has been idle for long, so that blocks of the SLC cache are folded; or it is back.
    pub fn host_rests(&mut self, rests: bool) {
        if let Some(slc) = &mut self.blocks.slc {
            slc.folding = rests;
        }
    }

    /// Whether a block's data has room in the SLC cache, of which it takes as many blocks as a cell has bits.
    fn may_convert(&self, plane: PlaneId, block: u32, plan: &Plan) -> bool {
        let (Some(slc), Some(of_mode)) = (&self.blocks.slc, &plan.slc) else { return false };
        let needed = self.valid(plane, block).div_ceil(of_mode.layout.pages).max(1);
        !slc.holds(plane, block) && slc.openable(plane, self.blocks.free(plane)) >= needed
    }

    /// The blocks that were being collected when the run began go on being so.
    pub fn resume_collection(&mut self, plan: &Plan) {
        for plane in (0..plan.layout.planes).map(PlaneId) {
            let Some(start) = self.mapping.start().start(plane) else { continue };
            let (running, victim) = (start.running, start.victim);
            self.relocator[plane].running = running;
            if let Some((block, state)) = victim {
                let claimed = self.claim(plane, block);
                debug_assert!(claimed, "Invariant: a block that holds what it held at the start is full");
                self.relocator[plane].resume(Relocation::block(block, relocation_causes::COLLECTION), state, plan);
            }
            self.update_pacing(plane, plan);
        }
    }

    /// Data of a plane begins to be relocated.
    pub(super) fn begin_relocation(&mut self, plane: PlaneId, begun: Relocation, plan: &Plan) {
        let Relocation { block, cause, wordline } = begun;
        let pages = plan.layout.pages;
        if plan.zones.is_some() {
            self.blocks.zone_moves(plane, block);
        }
        self.blocks.handle_moves(plane, block);
        // Of a dynamic cache collection takes the blocks first.
        let folds = cause == relocation_causes::FOLD && plan.space.fixed == 0 && self.relocator[plane].running;
        let collecting = cause == relocation_causes::COLLECTION || folds;
        self.relocator[plane].collecting = collecting;
        if collecting {
            let valid = self.valid(plane, block);
            if !folds {
                self.relocator.victims.add(valid, pages);
            }
            self.relocator[plane].begin_collection(valid);
            self.update_pacing(plane, plan);
        }
        let range = wordline.map_or(0..pages, |page| self.wordline(plane, block, page, plan));
        let relocation = &mut self.relocator[plane];
        relocation.pages = range;
        (relocation.victim, relocation.scanned) = (Some(begun), false);
        relocation.moved = 0;
        if self.gathers() {
            self.begin_merge(plane, block, cause);
        }
    }

    /// What a page of host data costs on a plane that collects a block of this many valid pages.
    fn price(&self, plane: PlaneId, valid: u32, plan: &Plan) -> Option<Price> {
        if plan.config.gc.pacing == Pacing::None {
            return None;
        }
        let (pages, streams) = (plan.layout.pages, plan.config.ftl.streams);
        let block = i64::from(pages);
        let free = i64::from(self.blocks.free(plane)) - i64::from(plan.space.reserve);
        // What moving a page takes of the room comes back with the whole block, and more.
        let done = self.relocator[plane].done(pages);
        let room = free * block + i64::from(self.blocks.left_open(plane, &plan.streams)) + i64::from(done);
        // One open block may be relocated data's, and another the other host data's.
        let least = block * i64::from(streams.max(2) - 1);
        let start = least + block * (i64::from(plan.config.gc.start) - 1 - i64::from(plan.space.reserve)).max(1);
        let collection = Collection { room, least, start, pages, valid };
        plan.config.policies.price(plan.config.gc.pacing, collection)
    }

    /// Whether a program of host data on a plane is paid for, or need not be. Planes that are programmed together wait
    /// for one another: each by itself would take as long as all of them.
    #[inline]
    pub fn pays(&self, plane: PlaneId, price: u32, plan: &Plan) -> bool {
        if plan.config.gc.pacing == Pacing::None {
            return true;
        }
        let pays = |plane: PlaneId| self.relocator[plane].pays_for(price);
        match plan.config.chip.plane_programs {
            PlanePrograms::Single => pays(plane),
            PlanePrograms::Lockstep => {
                let die = plan.layout.die_of(plane).0;
                (0..plan.layout.planes_per_die as u8).all(|place| pays(plan.layout.plane(die, place)))
            }
        }
    }

    /// A page has been relocated: whether that pays for a program of host data that was not paid for before.
    pub fn pay(&mut self, plane: PlaneId, plan: &Plan) -> bool {
        let relocation = &self.relocator[plane];
        if !relocation.paced || !relocation.collects() {
            return false;
        }
        let (prices, price) = (plan.streams.prices(), self.price(plane, relocation.valid(), plan));
        let relocation = &mut self.relocator[plane];
        let paid = prices.iter().take_while(|price| relocation.pays_for(**price)).count();
        match price {
            Some(price) => relocation.earn(price, 2 * prices.last().copied().unwrap_or(0)),
            None => relocation.set_paced(false),
        }
        // What this plane pays for now, and the others of its program pay for as well.
        let now = prices[paid..].first().filter(|price| self.relocator[plane].pays_for(**price));
        now.is_some_and(|price| self.pays(plane, *price, plan))
    }

    /// Whether a die that is idle should collect.
    pub fn wants_background(&self, die: DieId, plan: &Plan) -> bool {
        let layout = &plan.layout;
        (0..layout.planes_per_die as u8).map(|plane| layout.plane(die, plane)).any(|plane| {
            let relocation = &self.relocator[plane];
            relocation.rests()
                && !relocation.broken
                && !relocation.no_background_victim
                && self.blocks.free(plane) < plan.config.gc.idle_stop
        })
    }
}

impl Moving<'_> {
    /// Whether there may be a block of a plane to relocate, and none is being relocated.
    #[inline]
    pub fn may_begin(&mut self) -> bool {
        let (plane, plan) = (self.plane, self.plan);
        let (free, gc) = (self.ftl.blocks.free(plane), &plan.config.gc);
        let relocation = &mut self.ftl.relocator[plane];
        if relocation.broken {
            return false;
        }
        let is_open = self.ftl.window == Window::Open;
        let stop = if is_open { gc.idle_stop.max(gc.stop) } else { gc.stop };
        relocation.running = free < gc.start || ((relocation.running || is_open) && free < stop);
        let work = relocation.running || !relocation.requests.is_empty() || !relocation.failed.is_empty();
        let work = work || self.ftl.blocks.has_doomed(plane) || self.ftl.has_to_gather(plane);
        if plan.zones.is_some() && self.ftl.relocator[plane].rests() {
            self.ftl.blocks.closes_for_folding(plane);
        }
        let work = work || self.ftl.blocks.slc.is_some() && self.ftl.folds(plane, plan);
        let may = work && self.ftl.relocator[plane].rests();
        self.ftl.update_pacing(plane, plan);
        may
    }

    /// The next block of a plane that is relocated, and why: it begins to be so. Once one has begun that is not empty,
    /// the caller tells [`Moving::has_begun`]. `host_waits`: a read or a program of the host's waits for nothing but
    /// its turn on the plane's die.
    pub fn begin_next(&mut self, now: AgeClock, host_waits: bool) -> Option<Relocation> {
        let (plane, plan) = (self.plane, self.plan);
        let next = self.ftl.choose(plane, now, plan, host_waits)?;
        self.ftl.begin_relocation(plane, next, plan);
        Some(next)
    }
}
