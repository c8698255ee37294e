//! The map and the blocks held to their invariants, for drives that are checked.

use nand::{Address, PlaneId};
use units::{Id as _, Lpn, Ppn};

use super::mapping::Mapping as _;
use super::moves::most_on_the_move;
use super::seen::Seen;
use super::{Location, all_pages};
use crate::translation::LearnedTable;
use crate::violation::{Invariant, Violation};

impl<'a> Seen<'a> {
    /// Whether a page of the flash holds that logical page, as far as the blocks know.
    pub fn holds(&self, ppn: Ppn, lpn: Lpn) -> bool {
        let address = self.plan.layout.unpack(ppn);
        match self.ftl.blocks.holder(address) {
            Ok(held) => held.is_some_and(|held| held.may_be(lpn)),
            Err(()) => self.ftl.mapping.held_initially(address) == Some(lpn),
        }
    }

    /// A learned mapping table leads to a page's data on flash, to within its bound.
    pub fn check_learned(&self, learned: Option<&LearnedTable>, lpn: Lpn) -> Result<(), String> {
        match (learned, self.flash_version(lpn)) {
            (Some(learned), Some(ppn)) if lpn.0 < self.plan.logical_pages => {
                learned.leads(lpn, ppn, self.ftl.mapping.initially(lpn))
            }
            _ => Ok(()),
        }
    }

    /// The valid pages of a block that was written in the run are those that are mapped to it and those under way.
    pub fn check_valid(&self, ppn: Ppn, mapped: u32) -> Result<(), Violation> {
        let at = self.plan.layout.unpack(ppn);
        let Some((valid, pending, before)) = self.ftl.blocks.counts(at.plane, at.block) else { return Ok(()) };
        // Of what is left from before the run a ledger knows only what was touched: all pages are looked at later.
        if before > 0 || valid == mapped + pending {
            return Ok(());
        }
        let place = format!("block {}, plane {}", at.block, at.plane.0);
        let expected = format!("{mapped} that are mapped to it and {pending} under way");
        Err(Violation::new(Invariant::Counts, place, format!("counts {valid} valid pages"), expected))
    }

    /// Every slot of the buffer is a version of its page: the newest one, which the map names, or one that it came
    /// after.
    pub fn check_slots(&self) -> Result<(), Violation> {
        for slot in self.buffer.slots_in_use() {
            let entry = &self.buffer[slot];
            if entry.outdated {
                continue;
            }
            let leads_to_it = match self.ftl.locate(entry.lpn) {
                Location::Buffer(newest) => self.buffer.is_version(slot, newest),
                _ => false,
            };
            if !leads_to_it {
                let place = format!("slot {} of the buffer", slot.index());
                let (found, expected) =
                    (format!("data of page {}", entry.lpn.0), "that the map of that page leads to it");
                return Err(Violation::new(Invariant::Buffer, place, found, expected));
            }
        }
        Ok(())
    }

    /// Checks every page of the map that was changed, and every block; returns how many things were looked at.
    pub fn check_tables(&self) -> Result<u64, Violation> {
        self.check_blocks()?;
        self.check_changed()
    }

    /// Pages of which the map says something else than the initial state.
    pub fn changed(&self) -> impl Iterator<Item = Lpn> + use<'a> {
        self.ftl.mapping.changed()
    }

    /// Checks that logical and physical pages agree in both directions, as [`Seen::check`] does, by the pages that were
    /// changed: the others are where the formula of the initial state has them. Returns how many things were looked at.
    pub fn check_changed(&self) -> Result<u64, Violation> {
        let layout = self.plan.layout;
        let block_of = |ppn: Ppn| {
            let at = layout.unpack(ppn);
            layout.block_index(at.plane, at.block)
        };
        let blocks = layout.planes as usize * layout.blocks as usize;
        let (mut mapped, mut left, mut pages) = (vec![0; blocks], vec![0; blocks], 0);
        for lpn in self.changed() {
            pages += 1;
            let (before, now) = (self.ftl.initial_place(lpn), self.flash_version(lpn));
            // A page may come back to its first place, in a block that was erased since.
            let stays = before == now && now.is_none_or(|ppn| self.ftl.blocks.holder(layout.unpack(ppn)).is_err());
            if let Some(before) = before.filter(|_| !stays) {
                left[block_of(before)] += 1;
            }
            let Some(now) = now.filter(|_| !stays) else { continue };
            mapped[block_of(now)] += 1;
            if !self.holds(now, lpn) {
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

    /// Checks the valid pages of a block to which this many changed pages are mapped, and which as many have left that
    /// it held at the start.
    fn check_count(&self, plane: PlaneId, block: u32, mapped: u32, left: u32) -> Result<(), Violation> {
        let valid = self.ftl.valid(plane, block);
        let (held, pending) = match self.ftl.blocks.counts(plane, block) {
            Some((_, pending, before)) => (before, pending),
            None => (
                self.ftl.mapping.start().live_in_block(plane, block)
                    - left.min(self.ftl.mapping.start().live_in_block(plane, block)),
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

    /// Every plane's blocks are free, open, full or out of service, as they are counted, and count their valid pages
    /// right.
    pub fn check_blocks(&self) -> Result<(), Violation> {
        for plane in self.planes() {
            let relocation = &self.ftl.relocator[plane];
            self.ftl.blocks.check(plane, relocation.erasing, relocation.broken, self.ftl.mapping.start()).map_err(
                |(place, found, expected)| {
                    Violation::new(Invariant::Counts, format!("{place}, plane {}", plane.0), found, expected)
                },
            )?;
        }
        match self.ftl.copies.as_ref().and_then(|copies| copies.beyond_limit()) {
            Some(times) => {
                let found = format!("copied back {times} times in a row");
                Err(Violation::new(Invariant::Counts, "a block's data", found, "at most gc.copyback_limit times"))
            }
            None => Ok(()),
        }
    }

    /// Checks that logical and physical pages agree in both directions. Visits every page: for tests, at any moment
    /// between events.
    pub fn check(&self) -> Result<(), String> {
        let layout = self.plan.layout;
        let mut mapped = 0u64;
        let mut of_blocks = vec![0; layout.planes as usize * layout.blocks as usize];
        for lpn in (0..all_pages(self.plan)).map(Lpn) {
            let Some(ppn) = self.flash_version(lpn) else { continue };
            mapped += 1;
            let address = layout.unpack(ppn);
            of_blocks[layout.block_index(address.plane, address.block)] += 1;
            if !self.holds(ppn, lpn) {
                let Address { plane, block, page } = address;
                let place = format!("page {page} of block {block}, plane {}", plane.0);
                return Err(format!("page {} is mapped to {place}, which holds another page or none", lpn.0));
            }
        }
        let mut live = 0u64;
        for plane in (0..layout.planes).map(PlaneId) {
            let mut here = 0;
            for block in 0..layout.blocks {
                let (valid, mapped) = (self.ftl.valid(plane, block), of_blocks[layout.block_index(plane, block)]);
                let pending = self.ftl.blocks.counts(plane, block).map_or(0, |(_, pending, _)| pending);
                if valid != mapped + pending {
                    let block = format!("block {block}, plane {}", plane.0);
                    return Err(format!(
                        "{block} counts {valid} valid pages, {mapped} are mapped to it and {pending} under way"
                    ));
                }
                here += valid;
            }
            if here != self.ftl.blocks.live(plane) {
                let counted = self.ftl.blocks.live(plane);
                return Err(format!("plane {} counts {counted} valid pages, its blocks {here}", plane.0));
            }
            live += u64::from(here);
        }
        if self.ftl.gathers() {
            self.check_merges()?;
        }
        let pending = self.ftl.blocks.pending();
        if live == mapped + pending {
            Ok(())
        } else {
            Err(format!("{mapped} pages are mapped and {pending} under way, {live} physical pages are live"))
        }
    }

    /// Checks that nothing is left over of what has moved.
    pub fn check_moves(&self) -> Result<(), String> {
        for (plane, relocation) in self.ftl.relocator.planes.iter().enumerate() {
            let on_the_move = relocation.reading + relocation.writing;
            if on_the_move >= most_on_the_move(self.plan).saturating_add(self.plan.layout.shared())
                || (relocation.victim.is_none() && on_the_move > 0)
            {
                return Err(format!("{on_the_move} pages of plane {plane} are in relocation"));
            }
        }
        Ok(())
    }
}
