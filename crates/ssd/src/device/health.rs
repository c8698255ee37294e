//! How many blocks are left, and when they are too few: the end of the drive's life.

use nand::PlaneId;
use units::PeCycles;

use super::Device;
use crate::ftl::seen::Seen;
use crate::observe::probe::Probe;
use crate::observe::stats::smart::Smart;

impl<P: Probe> Device<P> {
    /// The drive's health as it would report it.
    pub fn smart(&self) -> Smart {
        let config = &self.core.plan.config;
        let used = |limit: PeCycles| 100.0 * self.mean_pec() / f64::from(limit.0.max(1));
        Smart {
            // The time series asks at each of its intervals: what cannot change is not worked out.
            available_spare: if config.blocks_fail() { self.seen().available_spare() } else { 100.0 },
            available_spare_threshold: 100.0 * config.wear.spare_threshold.0,
            percentage_used: config.wear.endurance.map(used),
            media_errors: self.core.counters.media_errors,
            read_only: self.core.life.read_only.is_some(),
        }
    }

    /// What is seen of the FTL.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { ftl: &self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan }
    }

    /// P/E cycles of a block, on the mean.
    fn mean_pec(&self) -> f64 {
        let layout = &self.core.plan.layout;
        let fixed = u64::from(self.core.plan.space.fixed) * u64::from(layout.planes);
        let blocks = (self.seen().usable_blocks() + fixed) * u64::from(layout.stripe);
        // In the SLC cache blocks wear less.
        let spared = self.core.counters.slc_erases as f64 * (1.0 - self.core.plan.config.slc.wear);
        let erases = (self.core.counters.blocks_erased as f64 - spared) / blocks.max(1) as f64;
        f64::from(self.core.plan.config.age.pec.0) + erases
    }

    /// Ends the drive's life where a plane (static placement) or the drive (dynamic) has too few blocks left for its data.
    pub(super) fn check_spares(&mut self, plane: PlaneId) {
        if self.seen().is_worn_out(plane) {
            self.core.wear_out();
        }
    }
}
