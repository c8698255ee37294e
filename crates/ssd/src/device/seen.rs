//! What is seen of a drive: what it counts, how far it has come, where its time has gone. Nothing changes here.

use units::{Bytes, Conditions, Lpn, PeCycles, Span, Time};

use super::Device;
use super::power::PowerSeen;
use crate::buffer::is_full;
use crate::commands::{Command, parts};
use crate::config::{Plan, Precondition};
use crate::error::RunError;
use crate::fdp::FdpSeen;
use crate::flash::Placement as _;
use crate::observe::probe::Probe;
use crate::observe::stats::series::IdleTime;
use crate::observe::stats::smart::Smart;
use crate::observe::stats::throttling::Throttling;
use crate::observe::stats::{Counters, LearnedSize, Start, Steps, Usage, Victims};
use crate::zones::ZonesSeen;

impl<P: Probe> Device<P> {
    /// The worked-out configuration.
    pub fn plan(&self) -> &Plan {
        &self.back.core.plan
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        self.back.core.plan.capacity()
    }

    /// The seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.back.core.seed
    }

    /// The present simulated time.
    pub fn now(&self) -> Time {
        self.back.core.now
    }

    /// The latest time for which a request can be submitted.
    pub fn latest(&self) -> Time {
        Time(self.back.core.agenda.horizon().0 / 2)
    }

    /// Why it cannot go on, if it has failed.
    pub fn failure(&self) -> Option<&RunError> {
        self.back.core.life.failure.as_ref()
    }

    /// Where in its life it was at the start.
    pub fn start_of_life(&self) -> Start {
        match self.back.core.plan.config.age.precondition {
            Precondition::ClosedForm if self.back.seen().starts_in_mid_life() => Start::MidLife,
            Precondition::ClosedForm => Start::BetweenCollections,
            Precondition::None | Precondition::Write(_) => Start::AsWritten,
        }
    }

    /// When too few good blocks were left, if that has come.
    pub fn end_of_life(&self) -> Option<Time> {
        match self.back.core.life.failure {
            Some(RunError::EndOfLife { time, .. }) => Some(time),
            _ => self.back.core.life.read_only,
        }
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

    /// Counts of what has happened since the start.
    pub fn counters(&self) -> Counters {
        let mut counters = self.back.core.counters;
        counters.pages_programmed = self.back.seen().pages_programmed();
        counters
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        self.back.flash.steps()
    }

    /// Memory of the table of what last read similar pages \[B], and what the learned mapping table takes, where there
    /// is one.
    pub fn tables(&self) -> (usize, Option<LearnedSize>) {
        (
            self.back.flash.reference_bytes(),
            self.back.map.learned.as_ref().map(|learned| self.back.seen().learned_size(learned)),
        )
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

    /// Blocks that hold data of the cache or are open for it, where there is one.
    pub fn slc_blocks(&self) -> Option<u64> {
        self.back.seen().cache_blocks()
    }

    /// Time that dies and channels had nothing to do since the start, summed over them.
    pub fn idle_time(&self) -> IdleTime {
        self.back.flash.idle_time(self.back.core.now)
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

    /// The reclaim units of placement handles, where the drive takes hints (`ftl.hints`).
    pub fn fdp(&self) -> Option<FdpSeen<'_>> {
        let (plan, counters) = (&self.back.core.plan, self.counters());
        self.back.fdp.as_deref().map(|fdp| FdpSeen { fdp, plan, counters })
    }

    /// The zones of a drive that has any.
    pub fn zones(&self) -> Option<ZonesSeen<'_>> {
        let (zones, plan) = (self.back.zones.as_deref()?, self.back.core.plan.zones.as_ref()?);
        Some(ZonesSeen { zones, plan })
    }

    /// What power cuts have done, where the power is cut or the map is kept for the case.
    pub fn power_seen(&self) -> Option<PowerSeen<'_>> {
        self.back.power.as_deref().map(PowerSeen)
    }

    /// The conditions under which a page's flash copy would be read now, if it has one.
    pub fn conditions(&self, lpn: Lpn) -> Option<Conditions> {
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

    /// Requests that have been submitted.
    pub(crate) fn submitted(&self) -> u64 {
        self.next_id
    }

    /// Requests that were submitted and have not completed, and arrivals among them that still wait in the host.
    pub fn outstanding(&self) -> (u64, u64) {
        (self.back.commands.len() as u64 + self.host.arrivals.len() as u64, self.host.arrivals.len() as u64)
    }

    /// Submitted requests that have not arrived at the device yet: what a caller keeps small.
    pub fn pending_arrivals(&self) -> usize {
        self.host.arrivals.len()
    }

    /// What has been done of the requests that the drive works on, in requests: of each the share of its pages.
    pub fn partly_served(&self) -> f64 {
        let page = self.back.core.plan.layout.page_size.0;
        let served = |of: &Command| 1.0 - f64::from(of.remaining) / f64::from(parts(&of.request, page));
        let commands = self.back.commands.ids().map(|id| &self.back.commands[id]);
        commands.filter(|command| command.request.op.moves_data()).map(served).sum()
    }

    /// Pages in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.back.writes.buffer.in_use()
    }

    /// Whether hardly a page of the write buffer is free.
    pub(crate) fn buffer_is_full(&self) -> bool {
        is_full(self.back.writes.buffer.in_use().into(), self.plan().slots.into())
    }

    /// Whether nothing is going to happen until a request is submitted.
    pub fn idle(&self) -> bool {
        self.back.core.agenda.peek().is_none()
    }

    /// Whether nothing is under way: no request, no page, nothing in an array, a bus or a decoder.
    pub fn rests(&self) -> bool {
        self.quiet() && self.back.flash.working().0 == 0
    }

    /// Whether no page is on its way anywhere but from the write buffer, where units may wait for company.
    pub(super) fn quiet(&self) -> bool {
        self.outstanding().0 == 0
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
