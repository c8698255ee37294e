//! The blocks of a plane, counted again.

use std::cmp::Reverse;

use nand::PlaneId;
use schemes::Candidates as _;

use super::{Aged, Blocks, EMPTY, FROM_BEFORE, INITIAL, Released, STALE};
use crate::policies::Shown as _;

/// Where, what was found, what was expected.
type Found = (String, String, String);

impl Blocks {
    /// Valid pages of a block that holds data of the run, those of them that are under way, and those from before the
    /// run.
    pub fn counts(&self, plane: PlaneId, block: u32) -> Option<(u32, u32, u32)> {
        let record = self.block(plane, block).written;
        (record < EMPTY).then(|| {
            let written = &self.written[record as usize];
            let before = written.held.iter().filter(|held| **held == FROM_BEFORE).count();
            (written.live, written.pending, before as u32)
        })
    }

    /// Checks that every block of a plane is free, open, full or out of service, as many of each as are counted. All
    /// blocks of a plane that has broken are out of service, with what they hold.
    pub fn check(&self, plane: PlaneId, erasing: bool, broken: bool, aged: &Aged) -> Result<(), Found> {
        let entry = self.plane(plane);
        let mut is_free = vec![false; self.layout.blocks as usize];
        for Reverse(Released { block, .. }) in &entry.released {
            if std::mem::replace(&mut is_free[*block as usize], true) {
                return Err((format!("block {block}"), "it is free twice".into(), "once".into()));
            }
            if self.block(plane, *block).written != EMPTY {
                return Err((format!("block {block}"), "it is free and holds data".into(), "nothing in it".into()));
            }
        }
        let free = if broken { 0 } else { entry.usable - entry.fresh + entry.released.len() as u32 };
        if free != self.free(plane) {
            return Err(("free blocks".into(), format!("{} are counted", self.free(plane)), format!("{free}")));
        }
        let (mut empty, mut valid) = (0, 0);
        let cache =
            self.slc.as_ref().map_or((0, 0), |slc| (slc.plane(plane).released.len() as u32, slc.plane(plane).retired));
        for block in 0..self.layout.blocks {
            empty += u32::from(self.block(plane, block).written == EMPTY);
            valid += self.live_in_block(plane, block, aged);
            self.check_block(plane, block, aged)?;
        }
        self.check_cache(plane)?;
        let open = entry.open.iter().zip(&self.pages).filter(|(open, pages)| open.next_page < **pages).count();
        let open = open + self.open_apart(plane).count();
        let in_use = (entry.released.len(), open, entry.usable - entry.retired);
        if broken && in_use != (0, 0, 0) {
            let found = format!("{} free, {} open, {} in service", in_use.0, in_use.1, in_use.2);
            return Err(("blocks of a broken plane".into(), found, "none".into()));
        }
        let (released, retired) = (entry.released.len() as u32 + cache.0, entry.retired + cache.1);
        let expected = released + retired + u32::from(erasing);
        if empty != expected && !broken {
            let counted = (released, retired, u32::from(erasing));
            let expected =
                format!("{} that are free, {} out of service and {} being erased", counted.0, counted.1, counted.2);
            return Err(("empty blocks".into(), format!("{empty}"), expected));
        }
        if valid != entry.live {
            return Err((
                "valid pages".into(),
                format!("{} are counted", entry.live),
                format!("{valid} in its blocks"),
            ));
        }
        Ok(())
    }

    /// Checks a plane's part of the SLC cache: the blocks that hold data in its mode, those of them that are full, and
    /// its pages.
    fn check_cache(&self, plane: PlaneId) -> Result<(), Found> {
        let Some(slc) = &self.slc else { return Ok(()) };
        let (cache, mut used) = (slc.plane(plane), 0);
        for block in (0..self.layout.blocks).filter(|block| slc.holds(plane, *block)) {
            let record = self.block(plane, block).written;
            let pages = if record < EMPTY { self.written[record as usize].held.len() as u32 } else { 0 };
            used += u32::from(record < EMPTY);
            let most = self.pages.iter().copied().min().unwrap_or(0);
            if pages > most {
                return Err((format!("block {block}"), format!("{pages} pages in its mode"), format!("{most}")));
            }
        }
        if used != cache.used {
            return Err(("blocks of the SLC cache".into(), format!("{} are counted", cache.used), format!("{used}")));
        }
        let full = |block: &&u32| !slc.holds(plane, **block) || !self.is_full(plane, **block);
        match cache.full.iter().chain(&cache.kept).find(full) {
            Some(block) => {
                Err((format!("block {block}"), "it is to be folded".into(), "a full one in the cache".into()))
            }
            None => Ok(()),
        }
    }

    /// Checks what is known of one block.
    fn check_block(&self, plane: PlaneId, block: u32, aged: &Aged) -> Result<(), Found> {
        let entry = self.plane(plane);
        let at = || format!("block {block}");
        let record = self.block(plane, block).written;
        if record < EMPTY {
            let written = &self.written[record as usize];
            let live = written.held.iter().filter(|held| **held != STALE).count() as u32;
            if live != written.live {
                return Err((at(), format!("counts {} valid pages", written.live), format!("{live}")));
            }
            let open = self.open_with(plane, written, block);
            if let Some(next_page) = self.open_of_zones(plane, block).filter(|_| !written.closed) {
                if next_page as usize != written.held.len() {
                    return Err((
                        at(),
                        format!("it is open at page {}", written.held.len()),
                        format!("at {next_page}"),
                    ));
                }
            } else if !written.closed && (open.block != block || open.next_page as usize != written.held.len()) {
                let found = format!("it is open at page {}", written.held.len());
                return Err((at(), found, format!("block {} at page {} for that data", open.block, open.next_page)));
            }
        } else if record == INITIAL && self.block(plane, block).stale > aged.live_in_block(plane, block) {
            let found = format!("{} of its pages became stale", self.block(plane, block).stale);
            return Err((at(), found, format!("no more than {}", aged.live_in_block(plane, block))));
        }
        if let Some(candidates) = entry.candidates.as_ref().filter(|candidates| candidates.contains(block)) {
            let valid = self.live_in_block(plane, block, aged);
            if !self.is_full(plane, block) || candidates.block(block).0 != valid {
                let found = format!("a candidate for collection with {} valid pages", candidates.block(block).0);
                let full = if self.is_full(plane, block) { "full" } else { "not full" };
                return Err((at(), found, format!("{full}, with {valid}")));
            }
            let (shown, facts) = (candidates.facts(block), self.facts(plane, block));
            if candidates.is_shown() && shown != facts {
                return Err((at(), format!("shown to policies as {shown:?}"), format!("{facts:?}")));
            }
        }
        Ok(())
    }
}
