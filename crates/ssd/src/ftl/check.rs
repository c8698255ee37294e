//! The map and the blocks held to their invariants, for drives that are checked.

use nand::PlaneId;
use units::{Lpn, Ppn};

use super::Ftl;
use super::map::Entry;
use crate::config::Plan;
use crate::violation::{Invariant, Violation};

impl Ftl {
    /// Whether a page is as the initial state has it.
    pub fn is_initial(&self, lpn: Lpn) -> bool {
        self.map.get(lpn) == Entry::Initial
    }

    /// Where the initial state has a page.
    pub fn initially(&self, lpn: Lpn) -> Option<Ppn> {
        self.aged.physical(lpn)
    }

    /// Whether a page of the flash holds that logical page, as far as the blocks know.
    pub fn holds(&self, ppn: Ppn, lpn: Lpn, plan: &Plan) -> bool {
        let address = plan.layout.unpack(ppn);
        match self.blocks.holder(address) {
            Ok(held) => held.is_some_and(|held| held.may_be(lpn)),
            Err(()) => self.aged.logical(address) == Some(lpn),
        }
    }

    /// The valid pages of a block that was written in the run are those that are mapped to it and those under way.
    pub fn check_valid(&self, ppn: Ppn, mapped: u32, plan: &Plan) -> Result<(), Violation> {
        let at = plan.layout.unpack(ppn);
        let Some((valid, pending)) = self.blocks.counts(at.plane, at.block) else { return Ok(()) };
        if valid == mapped + pending {
            return Ok(());
        }
        let place = format!("block {}, plane {}", at.block, at.plane.0);
        let expected = format!("{mapped} that are mapped to it and {pending} under way");
        Err(Violation::new(Invariant::Counts, place, format!("counts {valid} valid pages"), expected))
    }

    /// Every plane's blocks are free, open, full or out of service, as they are counted, and count their valid pages right.
    pub fn check_blocks(&self, plan: &Plan) -> Result<(), Violation> {
        for plane in (0..plan.layout.planes).map(PlaneId) {
            let erasing = self.relocator[plane].erasing;
            self.blocks.check(plane, erasing, &self.aged).map_err(|(place, found, expected)| {
                Violation::new(Invariant::Counts, format!("{place}, plane {}", plane.0), found, expected)
            })?;
        }
        Ok(())
    }
}
