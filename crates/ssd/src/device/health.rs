//! How many blocks are left, and when they are too few: the end of the drive's life.

use units::PeCycles;

use super::Device;
use crate::ftl::seen::Seen;
use crate::observe::probe::Probe;
use crate::observe::stats::smart::Smart;

impl<P: Probe> Device<P> {
    /// The drive's health as it would report it.
    pub fn smart(&self) -> Smart {
        let config = &self.core.plan.config;
        let used = |limit: PeCycles| 100.0 * self.seen().mean_pec(&self.core.counters) / f64::from(limit.0.max(1));
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
    pub(crate) fn seen(&self) -> Seen<'_> {
        Seen { ftl: &self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan }
    }
}
