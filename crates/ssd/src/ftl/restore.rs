//! The FTL as recovery has found it after a power cut, and what recovery asks of the state at the start.

use std::collections::{BTreeSet, HashSet};

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::blocks::FoundBlocks;
use super::mapping::Mapping as _;
use super::moves::Moving;
use super::relocator::Relocation;
use super::stripes::{FoundStripe, Stripes};
use super::{Ftl, Location};
use crate::config::Plan;
use crate::observe::stats::relocation_causes;

impl Ftl {
    /// Where a page's data stood at the start, if it had any.
    pub fn initial_place(&self, lpn: Lpn) -> Option<Ppn> {
        self.mapping.initially(lpn)
    }

    /// The pages whose data a block held at the start.
    pub fn initial_data(&self, plane: PlaneId, block: u32, pages: u32) -> impl Iterator<Item = Lpn> {
        let pages = if self.initial_pages(plane, block) == 0 { 0 } else { pages };
        (0..pages).filter_map(move |page| self.mapping.held_initially(Address { plane, block, page }))
    }

    /// How many there were.
    pub fn initial_pages(&self, plane: PlaneId, block: u32) -> u32 {
        self.mapping.start().live_in_block(plane, block)
    }

    /// Takes what was found: where each page is that is not as at the start, and the blocks.
    pub fn restore(
        &mut self,
        places: impl Iterator<Item = (Lpn, Option<Ppn>)>,
        found: &FoundBlocks,
        at_start: impl Fn(Ppn) -> bool,
        stripes: Vec<FoundStripe>,
        plan: &Plan,
    ) {
        let mut touched = BTreeSet::new();
        self.mapping.forget();
        self.blocks.restore(found, self.mapping.start());
        for (lpn, place) in places {
            let initial = self.mapping.initially(lpn);
            if place.is_some() && place == initial && place.is_some_and(&at_start) {
                continue;
            }
            if let Some(before) = initial.filter(|before| at_start(*before)) {
                self.blocks.invalidate(before);
                touched.extend(self.mapping.start().parity_with(before));
            }
            match place {
                None => self.mapping.trim(lpn),
                Some(ppn) => {
                    self.blocks.holds_live(ppn, lpn);
                    self.mapping.place(lpn, ppn, &self.blocks);
                }
            }
        }
        self.restore_stripes(stripes, touched, at_start, plan);
        self.blocks.zones_go_on();
        self.blocks.release_empty(found, self.mapping.start(), self.stripes.is_some());
        self.tells_again();
    }

    /// Takes the stripes whose parity was found on flash, the newest first: of those that have a page in common the
    /// newest counts. Of the initial state those are as a formula says of which no page was `touched`: none has become
    /// stale, or was in a block that has been erased, and the parity has not moved.
    fn restore_stripes(
        &mut self,
        mut found: Vec<FoundStripe>,
        mut touched: BTreeSet<Lpn>,
        at_start: impl Fn(Ppn) -> bool,
        plan: &Plan,
    ) {
        let Some(mut stripes) = Stripes::new(plan, self.mapping.start()) else { return };
        let moved: BTreeSet<Lpn> = found.iter().map(|stripe| stripe.parity).collect();
        touched.extend(moved.iter().filter(|parity| stripes.is_initial(**parity)));
        touched.extend(self.stripes_of_gone_blocks(&at_start, plan));
        for parity in touched {
            let Some(before) = self.mapping.initially(parity) else { continue };
            stripes.loses(plan.layout.plane_of(before));
            let pages = self.mapping.start().stripe_with(parity);
            let is_whole = at_start(before) && !pages.is_empty() && pages.iter().all(|ppn| at_start(*ppn));
            if is_whole && !moved.contains(&parity) {
                found.push(FoundStripe { parity, place: before, version: 0, pages });
            } else {
                self.drop_initial(parity, &mut stripes, &at_start);
            }
        }
        let mut taken = HashSet::new();
        let (found, older): (Vec<_>, Vec<_>) = found.into_iter().partition(|stripe| {
            let alone = !stripe.pages.iter().any(|ppn| taken.contains(ppn));
            taken.extend(stripe.pages.iter().filter(|_| alone).copied());
            alone
        });
        older.iter().for_each(|stripe| self.drop_initial(stripe.parity, &mut stripes, &at_start));
        for (id, FoundStripe { parity, place, pages, .. }) in stripes.take_found(&found).into_iter().zip(found) {
            let valid = pages.iter().filter(|ppn| self.is_valid(**ppn, plan)).count() as u32;
            let stands = self.mapping.initially(parity) == Some(place) && at_start(place);
            if !stripes.found_valid(id, valid) {
                stripes.loses(plan.layout.plane_of(place));
                self.drop_initial(parity, &mut stripes, &at_start);
            } else if !stands {
                self.blocks.holds_live(place, parity);
                self.mapping.place(parity, place, &self.blocks);
            }
        }
        let broken = (0..plan.layout.planes).filter(|plane| self.relocator[PlaneId(*plane)].broken);
        stripes.broken.extend(broken.map(|plane| (plane, 0, 0)));
        self.stripes = Some(stripes);
    }

    /// The parity of a stripe, if of the initial state, is not where it stood then.
    fn drop_initial(&mut self, parity: Lpn, stripes: &mut Stripes, at_start: impl Fn(Ppn) -> bool) {
        if let Some(before) = self.mapping.initially(parity).filter(|_| stripes.is_initial(parity)) {
            if at_start(before) && self.mapping.is_initial(parity) {
                self.blocks.invalidate(before);
            }
            self.mapping.trim(parity);
            stripes.has_ended(parity);
        }
    }

    /// The stripes of the initial state that had a page in a block which has been erased since, by their parity.
    fn stripes_of_gone_blocks(&self, at_start: impl Fn(Ppn) -> bool, plan: &Plan) -> Vec<Lpn> {
        let mut gone = Vec::new();
        for plane in (0..plan.layout.planes).map(PlaneId) {
            for block in 0..self.mapping.start().used_blocks(plane) {
                let first = plan.layout.pack(Address { plane, block, page: 0 });
                if !at_start(first) {
                    let pages = (first.0..first.0 + u64::from(plan.layout.pages)).map(Ppn);
                    gone.extend(pages.filter_map(|ppn| self.mapping.start().parity_with(ppn)));
                }
            }
        }
        gone
    }

    /// Whether a page of the flash holds what the map says of a page.
    fn is_valid(&self, ppn: Ppn, plan: &Plan) -> bool {
        let Address { plane, block, page } = plan.layout.unpack(ppn);
        let on_flash = |lpn| match self.locate(lpn) {
            Location::Flash(place) => Some(place),
            _ => None,
        };
        self.next_valid(plane, block, page..page + 1, plan, on_flash).is_some()
    }

    /// Nothing is being relocated any more. Blocks that have failed are still to be emptied: returns, by plane, which
    /// these are, and whether it has broken.
    pub fn stop_relocating(&mut self) -> Vec<(Vec<u32>, bool)> {
        self.blocks.zones_stop();
        for relocation in &mut self.relocator.planes {
            let old = std::mem::take(relocation);
            let bad = |moving: &&Relocation| moving.cause == relocation_causes::BAD_BLOCK;
            (relocation.failed, relocation.broken) = (old.failed, old.broken);
            if old.broken {
                continue;
            }
            relocation.failed.extend(old.requests.iter().chain(&old.victim).filter(bad).map(|moving| moving.block));
            relocation.failed.sort_unstable();
            relocation.failed.dedup();
            relocation.least_erases = old.least_erases;
            (relocation.host_pages, relocation.levelled_at) = (old.host_pages, old.levelled_at);
        }
        self.relocator.host_is_next.iter_mut().for_each(|next| *next = false);
        self.relocator.planes.iter().map(|relocation| (relocation.failed.clone(), relocation.broken)).collect()
    }
}

impl Moving<'_> {
    /// The full blocks of a plane of which nothing is valid are erased first, whatever the victim policy: cuts leave
    /// many, and have taken the pages that collecting others would need.
    pub fn request_needless(&mut self, blocks: u32) {
        let plane = self.plane;
        for block in 0..blocks {
            if self.ftl.blocks.is_full(plane, block)
                && self.ftl.blocks.live_in_block(plane, block, self.ftl.mapping.start()) == 0
            {
                let request = Relocation::block(block, relocation_causes::COLLECTION);
                self.ftl.relocator[plane].requests.push_back(request);
            }
        }
    }
}
