//! What is seen of a drive: what it counts, how far it has come, where its time has gone. Nothing changes here.

use units::{Conditions, Lpn, PeCycles, Span, Time};

use super::Device;
use crate::drive::Drive as _;
use crate::flash::Placement as _;
use crate::observe::probe::Probe;
use crate::observe::stats::smart::Smart;
use crate::observe::stats::throttling::Throttling;
use crate::observe::stats::{Steps, Usage, Victims};

impl<P: Probe> Device<P> {
    /// The seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.back.core.seed
    }

    /// The drive's health as it would report it.
    pub fn smart(&self) -> Smart {
        let config = &self.back.core.plan.config;
        let used =
            |limit: PeCycles| 100.0 * self.back.seen().mean_pec(&self.back.core.counters) / f64::from(limit.0.max(1));
        Smart {
            // The time series asks at each of its intervals: what cannot change is not worked out.
            available_spare: if config.blocks_fail() { self.back.seen().available_spare() } else { 100.0 },
            available_spare_threshold: 100.0 * config.wear.spare_threshold.0,
            percentage_used: config.wear.endurance.map(used),
            media_errors: self.back.core.counters.media_errors,
            read_only: self.back.core.life.read_only.is_some(),
        }
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        self.back.flash.steps()
    }

    /// Valid pages of the blocks that were collected.
    pub fn victims(&self) -> &Victims {
        self.back.seen().victims()
    }

    /// Erases in the run of every block that the factory found good.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        self.back.seen().erases()
    }

    /// The wear of every block, as P/E cycles of conventional erases that would have left as much stress; where erases
    /// go pulse by pulse.
    pub fn effective_pec(&self) -> Option<impl Iterator<Item = f64>> {
        self.back.seen().effective_pec()
    }

    /// Free blocks: of all planes, and of the plane that has the fewest.
    pub fn free_blocks(&self) -> (u64, u32) {
        self.back.seen().free_blocks()
    }

    /// How power and temperature have kept it from working since the start, where they are limited or followed.
    pub fn throttling(&self) -> Option<Throttling> {
        self.back.flash.throttling(self.back.core.now)
    }

    /// Where the time of every resource has gone since the start.
    pub fn usage(&self) -> Usage {
        let now = self.back.core.now;
        let decoders = u64::from(self.back.core.plan.config.ecc.decoders);
        Usage {
            elapsed: now.since(Time::ZERO),
            dies: self.back.flash.die_times(now).collect(),
            channels: self.back.flash.bus_times(now).collect(),
            decoders: self.back.flash.decoder_times(now).map(|busy| Span(busy.0 / decoders)).collect(),
            host: self.host.meter.at(now)[1],
            firmware: self.host.firmware.busy_until(now, &self.back.core.plan),
            link_in: self.back.commands.link_in.busy_until(now),
            link_out: self.back.commands.link_out.busy_until(now),
            dram: self.back.commands.dram.busy_until(now),
        }
    }

    /// The conditions under which a page's flash copy would be read now, if it has one.
    pub fn conditions_of(&self, lpn: Lpn) -> Option<Conditions> {
        let now = self.back.flash.age_clock(self.back.core.now);
        self.back
            .seen()
            .flash_version(lpn)
            .map(|ppn| self.back.ftl.conditions(ppn, now, &self.back.core.plan).conditions)
    }

    /// The flash page that holds the newest data of a page that is on flash, if any is.
    pub fn flash_page(&self, lpn: Lpn) -> Option<units::Ppn> {
        self.back.seen().flash_version(lpn)
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.back.core.probe
    }

    /// Whether nothing is under way: no request, no page, nothing in an array, a bus or a decoder.
    pub fn rests(&self) -> bool {
        self.quiet() && self.back.flash.working().0 == 0
    }

    /// Whether no page is on its way anywhere but from the write buffer, where units may wait for company.
    pub(super) fn quiet(&self) -> bool {
        self.outstanding() == 0
            && self.idle()
            && self.back.writes.buffer.leaving() == 0
            && self.back.progress() == 0
            && self.back.seen().rests()
            && self.back.map.quiet()
            && self.back.power.as_ref().is_none_or(|power| power.quiet())
    }

    /// Checks every logical page against every physical page. Slow: for tests, at any moment between events.
    pub fn check_mapping(&self) -> Result<(), String> {
        self.back.map.learned.as_ref().map_or(Ok(()), |learned| learned.check())?;
        for lpn in self.back.seen().changed() {
            self.back.seen().check_learned(self.back.map.learned.as_ref(), lpn)?;
        }
        self.back.seen().check()
    }
}
