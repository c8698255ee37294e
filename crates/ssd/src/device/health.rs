//! How many blocks are left, and when they are too few: the end of the drive's life.

use nand::PlaneId;
use units::PeCycles;

use super::Device;
use crate::config::Placement;
use crate::observe::probe::Probe;
use crate::observe::stats::smart::Smart;

impl<P: Probe> Device<P> {
    /// The drive's health as it would report it.
    pub fn smart(&self) -> Smart {
        let config = &self.core.plan.config;
        let used = |limit: PeCycles| 100.0 * self.mean_pec() / f64::from(limit.0.max(1));
        Smart {
            // The time series asks at each of its intervals: what cannot change is not worked out.
            available_spare: if config.blocks_fail() { self.available_spare() } else { 100.0 },
            available_spare_threshold: 100.0 * config.wear.spare_threshold.0,
            percentage_used: config.wear.endurance.map(used),
            media_errors: self.core.counters.media_errors,
            read_only: self.core.life.read_only.is_some(),
        }
    }

    /// P/E cycles of a block, on the mean.
    fn mean_pec(&self) -> f64 {
        let layout = &self.core.plan.layout;
        let fixed = u64::from(self.core.plan.space.fixed) * u64::from(layout.planes);
        let blocks = (self.usable_blocks() + fixed) * u64::from(layout.stripe);
        // In the SLC cache blocks wear less.
        let spared = self.core.counters.slc_erases as f64 * (1.0 - self.core.plan.config.slc.wear);
        let erases = (self.core.counters.blocks_erased as f64 - spared) / blocks.max(1) as f64;
        f64::from(self.core.plan.config.age.pec.0) + erases
    }

    fn planes(&self) -> impl Iterator<Item = PlaneId> + use<P> {
        (0..self.core.plan.layout.planes).map(PlaneId)
    }

    /// Blocks that the factory found good.
    fn usable_blocks(&self) -> u64 {
        let usable = |plane| {
            let (in_service, retired) = self.ftl.blocks.in_service(plane);
            u64::from(in_service + retired)
        };
        self.planes().map(usable).sum()
    }

    /// Spare blocks over those of the new drive [%]; under static placement of the plane that has lost most.
    fn available_spare(&self) -> f64 {
        let share = |left: i64, new: i64| if new > 0 { 100.0 * left.max(0) as f64 / new as f64 } else { 0.0 };
        let new_spare_of = |plane| {
            let (in_service, retired) = self.ftl.blocks.in_service(plane);
            i64::from(in_service + retired) - i64::from(self.core.plan.space.needed)
        };
        if self.planes().all(|plane| self.ftl.blocks.in_service(plane).1 == 0) {
            return 100.0;
        }
        match self.core.plan.config.ftl.placement {
            Placement::Dynamic => share(self.spare_blocks(), self.planes().map(new_spare_of).sum()),
            Placement::Static => {
                let shares = self.planes().map(|plane| share(self.spare_blocks_of(plane), new_spare_of(plane)));
                shares.fold(100.0, f64::min)
            }
        }
    }

    /// Ends the drive's life where a plane (static placement) or the drive (dynamic) has too few blocks left for its data.
    pub(super) fn check_spares(&mut self, plane: PlaneId) {
        let spares = match self.core.plan.config.ftl.placement {
            Placement::Static => self.spare_blocks_of(plane),
            Placement::Dynamic => self.spare_blocks(),
        };
        if spares < 0 {
            self.core.wear_out();
        }
    }

    /// Blocks of a plane beyond those that it needs for its data, and to be collected as long as it works.
    fn spare_blocks_of(&self, plane: PlaneId) -> i64 {
        let space = &self.core.plan.space;
        let broken = self.ftl.relocator[plane].broken;
        let needed = if broken { space.needed_for_data } else { space.needed };
        i64::from(self.ftl.blocks.in_service(plane).0) - i64::from(needed)
    }

    /// The same of all planes, which hold each other's data.
    fn spare_blocks(&self) -> i64 {
        self.planes().map(|plane| self.spare_blocks_of(plane)).sum()
    }
}
