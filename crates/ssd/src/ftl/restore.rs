//! The FTL as recovery has found it after a power cut, and what recovery asks of the state at the start.

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::Ftl;
use super::blocks::FoundBlocks;
use super::mapping::Mapping as _;
use super::relocator::Relocation;
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
    ) {
        self.mapping.forget();
        self.blocks.restore(found, self.mapping.start());
        for (lpn, place) in places {
            let initial = self.mapping.initially(lpn);
            if place.is_some() && place == initial && place.is_some_and(&at_start) {
                continue;
            }
            if let Some(before) = initial.filter(|before| at_start(*before)) {
                self.blocks.invalidate(before);
            }
            match place {
                None => self.mapping.trim(lpn),
                Some(ppn) => {
                    self.blocks.holds_live(ppn, lpn);
                    self.mapping.place(lpn, ppn, &self.blocks);
                }
            }
        }
        self.blocks.release_empty(found, self.mapping.start());
    }

    /// The full blocks of a plane of which nothing is valid are erased first, whatever the victim policy: cuts leave many, and have taken
    /// the pages that collecting others would need.
    pub fn request_needless(&mut self, plane: PlaneId, blocks: u32) {
        for block in 0..blocks {
            if self.blocks.is_full(plane, block) && self.blocks.live_in_block(plane, block, self.mapping.start()) == 0 {
                let request = Relocation::block(block, relocation_causes::COLLECTION);
                self.relocator[plane].requests.push_back(request);
            }
        }
    }

    /// Nothing is being relocated any more. Blocks that have failed are still to be emptied: returns, by plane, which these are, and whether it has
    /// broken.
    pub fn stop_relocating(&mut self) -> Vec<(Vec<u32>, bool)> {
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
