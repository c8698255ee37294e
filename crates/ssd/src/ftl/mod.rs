//! The flash translation layer: which physical page holds which logical page, and where the next write goes.
//!
//! Architecture invariant: it decides and schedules nothing; it knows the time only as a value that callers
//! pass, and is tested as plain functions.

pub(crate) mod aged;
pub(crate) mod blocks;
pub(crate) mod map;

use nand::PlaneId;
use units::{Conditions, Lpn, Ppn, Time};

use crate::config::Plan;
use aged::Aged;
use blocks::Blocks;
pub use map::Location;
use map::Map;

/// The FTL's state: map, initial state, blocks.
pub(crate) struct Ftl {
    map: Map,
    aged: Aged,
    pub blocks: Blocks,
}

impl Ftl {
    pub fn new(plan: &Plan, seed: u64) -> Ftl {
        let aged = Aged::new(plan);
        Ftl { map: Map::new(plan.logical_pages), blocks: Blocks::new(plan, &aged, seed), aged }
    }

    /// Where a logical page's newest data is.
    #[inline]
    pub fn locate(&self, lpn: Lpn) -> Location {
        self.map.get(lpn, &self.aged)
    }

    /// Gets ready to locate a page soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
    }

    /// The newest data of a page is in a buffer slot.
    pub fn set_buffered(&mut self, lpn: Lpn, slot: u32) {
        self.map.set(lpn, Location::Buffer(slot));
    }

    /// The newest data of a page is on flash.
    pub fn set_flash(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map.set(lpn, Location::Flash(ppn));
    }

    /// The plane that an address is dealt to under static placement.
    pub fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.aged.plane_of(lpn)
    }

    /// The conditions under which a page is read, and whether its data is from before the run.
    #[inline]
    pub fn conditions(&self, ppn: Ppn, now: Time, plan: &Plan) -> (Conditions, bool) {
        self.blocks.conditions(ppn, now, plan)
    }

    /// Checks that logical and physical pages agree in both directions: `versions_of` names the flash page
    /// of every logical page, buffered or not. Visits every page: for tests.
    pub fn check(&self, plan: &Plan, flash_version: impl Fn(Lpn) -> Option<Ppn>) -> Result<(), String> {
        let layout = plan.layout;
        let mut mapped = 0u64;
        for lpn in (0..plan.logical_pages).map(Lpn) {
            let Some(ppn) = flash_version(lpn) else { continue };
            mapped += 1;
            let address = layout.unpack(ppn);
            let holder = self.blocks.holder(address).unwrap_or_else(|()| self.aged.logical(address));
            if holder != Some(lpn) {
                return Err(format!("{lpn:?} is mapped to {address:?}, which holds {holder:?}"));
            }
        }
        let mut live = 0u64;
        for plane in (0..layout.planes).map(PlaneId) {
            for block in 0..layout.blocks {
                let address = |page| nand::Address { plane, block, page };
                if self.blocks.holder(address(0)).is_ok() {
                    live += (0..layout.pages).filter(|p| matches!(self.blocks.holder(address(*p)), Ok(Some(_)))).count()
                        as u64;
                } else {
                    live += u64::from(self.aged.live_in_block(plane, block) - self.blocks.stale_in_block(plane, block));
                }
            }
        }
        if live == mapped {
            Ok(())
        } else {
            Err(format!("{mapped} logical pages are mapped, {live} physical pages are live"))
        }
    }
}
