//! The map and the blocks held to their invariants, for drives that are checked.

use nand::PlaneId;
use units::{Lpn, Ppn};

use super::Ftl;
use super::mapping::Mapping as _;
use crate::config::Plan;
use crate::violation::{Invariant, Violation};

impl Ftl {
    /// Whether a page of the flash holds that logical page, as far as the blocks know.
    pub fn holds(&self, ppn: Ppn, lpn: Lpn, plan: &Plan) -> bool {
        let address = plan.layout.unpack(ppn);
        match self.blocks.holder(address) {
            Ok(held) => held.is_some_and(|held| held.may_be(lpn)),
            Err(()) => self.mapping.held_initially(address) == Some(lpn),
        }
    }

    /// The valid pages of a block that was written in the run are those that are mapped to it and those under way.
    pub fn check_valid(&self, ppn: Ppn, mapped: u32, plan: &Plan) -> Result<(), Violation> {
        let at = plan.layout.unpack(ppn);
        let Some((valid, pending, before)) = self.blocks.counts(at.plane, at.block) else { return Ok(()) };
        // Of what is left from before the run a ledger knows only what was touched: all pages are looked at later.
        if before > 0 || valid == mapped + pending {
            return Ok(());
        }
        let place = format!("block {}, plane {}", at.block, at.plane.0);
        let expected = format!("{mapped} that are mapped to it and {pending} under way");
        Err(Violation::new(Invariant::Counts, place, format!("counts {valid} valid pages"), expected))
    }

    /// Pages of which the map says something else than the initial state.
    pub fn changed(&self) -> impl Iterator<Item = Lpn> {
        self.mapping.changed()
    }

    /// Checks that logical and physical pages agree in both directions, as [`Ftl::check`] does, by the pages that were changed: the
    /// others are where the formula of the initial state has them. Returns how many things were looked at.
    pub fn check_changed(&self, plan: &Plan, flash_version: impl Fn(Lpn) -> Option<Ppn>) -> Result<u64, Violation> {
        let layout = plan.layout;
        let block_of = |ppn: Ppn| {
            let at = layout.unpack(ppn);
            layout.block_index(at.plane, at.block)
        };
        let blocks = layout.planes as usize * layout.blocks as usize;
        let (mut mapped, mut left, mut pages) = (vec![0; blocks], vec![0; blocks], 0);
        for lpn in self.changed() {
            pages += 1;
            let (before, now) = (self.initial_place(lpn), flash_version(lpn));
            // A page may come back to its first place, in a block that was erased since.
            let stays = before == now && now.is_none_or(|ppn| self.blocks.holder(layout.unpack(ppn)).is_err());
            if let Some(before) = before.filter(|_| !stays) {
                left[block_of(before)] += 1;
            }
            let Some(now) = now.filter(|_| !stays) else { continue };
            mapped[block_of(now)] += 1;
            if !self.holds(now, lpn, plan) {
                let (at, place) = (layout.unpack(now), format!("page {}", lpn.0));
                let found = format!("mapped to page {} of block {}, plane {}", at.page, at.block, at.plane.0);
                return Err(Violation::new(Invariant::Mapping, place, found, "a page of the flash that holds it"));
            }
        }
        for plane in (0..layout.planes).map(PlaneId) {
            for block in 0..layout.blocks {
                let index = layout.block_index(plane, block);
                self.check_count(plane, block, mapped[index], left[index])?;
            }
        }
        Ok(pages + blocks as u64)
    }

    /// Checks the valid pages of a block to which so many changed pages are mapped, and which so many have left that it held at the
    /// start.
    fn check_count(&self, plane: PlaneId, block: u32, mapped: u32, left: u32) -> Result<(), Violation> {
        let valid = self.valid(plane, block);
        let (held, pending) = match self.blocks.counts(plane, block) {
            Some((_, pending, before)) => (before, pending),
            None => (
                self.mapping.start().live_in_block(plane, block)
                    - left.min(self.mapping.start().live_in_block(plane, block)),
                0,
            ),
        };
        if valid == held + mapped + pending {
            return Ok(());
        }
        let place = format!("block {block}, plane {}", plane.0);
        let expected = format!("{held} of the start, {mapped} that are mapped to it and {pending} under way");
        Err(Violation::new(Invariant::Counts, place, format!("counts {valid} valid pages"), expected))
    }

    /// Every plane's blocks are free, open, full or out of service, as they are counted, and count their valid pages right.
    pub fn check_blocks(&self, plan: &Plan) -> Result<(), Violation> {
        for plane in (0..plan.layout.planes).map(PlaneId) {
            let relocation = &self.relocator[plane];
            self.blocks.check(plane, relocation.erasing, relocation.broken, self.mapping.start()).map_err(
                |(place, found, expected)| {
                    Violation::new(Invariant::Counts, format!("{place}, plane {}", plane.0), found, expected)
                },
            )?;
        }
        match self.copies.as_ref().and_then(|copies| copies.beyond_limit()) {
            Some(times) => {
                let found = format!("copied back {times} times in a row");
                Err(Violation::new(Invariant::Counts, "a block's data", found, "at most gc.copyback_limit times"))
            }
            None => Ok(()),
        }
    }
}
