//! The device: submit requests, advance the time, take completions.
//!
//! Each component has its own state (`crate::host`, `crate::writes`, `crate::translation`, `crate::ftl`, `crate::flash`) and names
//! no other one; here is what crosses them:
//!
//! | file | what |
//! |---|---|
//! | `events.rs` | what an event tells the owner of what has ended or begun |
//! | `read.rs` | commands are taken up; where a read finds its data |
//! | `zones.rs` | zones: what their state machine allows becomes programs and erases |
//! | `write.rs`, `discard.rs` | host data into the buffer and on to flash; trims and flushes |
//! | `dispatch.rs` | pages that wait for their program find their dies |
//! | `placed.rs` | data changes its place: who is told, in which order |
//! | `mapping.rs` | misses of the cached map, fetches, rewrites |
//! | `learned.rs` | the learned map: what it leads to, and what a wrong answer costs |
//! | `faults.rs` | parts that break, and data that is lost with them |
//! | `raid.rs` | parity over dies |
//! | `health.rs` | spare blocks, SMART, and the end of the drive's life |
//! | `collect.rs` | relocating a block's data, for whatever cause |
//! | `journaling.rs` | the map's journal and its checkpoints |
//! | `power.rs` | power cuts and recovery |
//! | `rest.rs` | the drive is left alone for months |
//! | `check.rs` | the whole compared with the ledger of a probe that checks |
//!
//! What crosses some components alone sees these alone: `dispatch::Dispatch`, `read::ReadsAt`, `power::PowerAt`,
//! `FlashAt`, `Seen`.
//!
//! An event changes its own object and the owner of what has ended with it, and marks what may go on; `Device::settle` asks what was
//! marked in a fixed order (docs/decisions/0025-one-settle.md). There is no recursion between handlers: where one thing makes way for the
//! next of its kind, as an empty block does for the next block to collect, a loop takes them one after another.

mod check;
mod collect;
mod discard;
mod dispatch;
mod events;
mod faults;
mod health;
mod journaling;
mod learned;
mod mapping;
mod merges;
mod placed;
mod power;
mod raid;
mod read;
mod rest;
mod write;
mod zones;

use units::{Bytes, Conditions, Lpn, Span, Time};
use workload::Request;

use crate::config::{Config, Plan, Precondition};
use crate::core::{Core, Marks, Resource};
use crate::error::RunError;
use crate::fdp::{Fdp, FdpSeen};
use crate::flash::op::PageOp;
use crate::flash::{Flash, Placement as _};
use crate::ftl::Ftl;
pub use crate::host::Completion;
use crate::host::{Command, HostSide, parts};
use crate::observe::probe::{Event, Probe, Unwatched};
use crate::observe::stats::series::IdleTime;
use crate::observe::stats::throttling::Throttling;
use crate::observe::stats::{Counters, LearnedSize, Start, Steps, Usage, Victims, relocation_causes};
use crate::persist::{Reader, State as _, state};
use crate::power::Power;
use crate::read_cache::ReadCache;
use crate::translation::TranslationPages;
use crate::writes::Writes;
use crate::zones::Zones;
pub use power::PowerSeen;
pub(crate) use power::cut_power;

/// A simulated SSD. See the [module documentation](self).
pub struct Device<P: Probe = Unwatched> {
    core: Core<P>,
    /// Number of the next request.
    next_id: u64,
    /// What was under way before the run goes on.
    resumed: bool,
    seed: u64,
    host: HostSide,
    writes: Writes,
    read_cache: Option<ReadCache>,
    ftl: Ftl,
    map: TranslationPages,
    flash: Flash,
    /// Where the power is cut, or the map is kept for the case.
    power: Option<Box<Power>>,
    /// The zones, where the drive has any.
    zones: Option<Box<Zones>>,
    /// Reclaim units, where the drive takes placement hints.
    fdp: Option<Box<Fdp>>,
}

impl Device<Unwatched> {
    /// Builds a device in its initial state. Errors name the key at fault.
    pub fn new(config: &Config, seed: u64) -> Result<Device, units::ConfigError> {
        Device::watched(config, seed, Unwatched)
    }
}

/// When playing ends before its time.
#[derive(Clone, Copy)]
enum Stop {
    Never,
    /// As soon as a request has completed.
    Completion,
    /// As soon as fewer arrivals wait.
    Arrivals(usize),
}

impl<P: Probe> Device<P> {
    /// Builds a device that a probe watches.
    pub fn watched(config: &Config, seed: u64, probe: P) -> Result<Device<P>, units::ConfigError> {
        let plan = config.plan()?;
        let ftl = Ftl::new(&plan, seed)?;
        let mut device = Device {
            next_id: 0,
            resumed: false,
            seed,
            host: HostSide::new(&config.host),
            writes: Writes::new(&plan),
            read_cache: ReadCache::new(&plan),
            map: TranslationPages::new(&plan, ftl.map_pages_of_planes(&plan)),
            power: Power::new(&plan, &ftl),
            zones: plan.zones.as_ref().map(|zones| Box::new(Zones::new(zones, plan.config.age.fill.0))),
            fdp: Fdp::new(&plan),
            ftl,
            flash: Flash::new(&plan, seed),
            core: Core::new(plan, probe),
        };
        if device.zones.is_some() {
            // Zones that are full at the start have been written as in a run.
            device.begin_ledger();
        }
        // What is written before the workload is written in peace.
        if !matches!(device.core.plan.config.age.precondition, Precondition::Write(_)) {
            device.core.arm_cuts(seed);
        }
        Ok(device)
    }

    /// The worked-out configuration.
    pub fn plan(&self) -> &Plan {
        &self.core.plan
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        self.core.plan.capacity()
    }

    /// Where in its life it was at the start.
    pub fn start_of_life(&self) -> Start {
        match self.core.plan.config.age.precondition {
            Precondition::ClosedForm if self.seen().starts_in_mid_life() => Start::MidLife,
            Precondition::ClosedForm => Start::BetweenCollections,
            Precondition::None | Precondition::Write(_) => Start::AsWritten,
        }
    }

    /// Something is played with the FTL alone, before time begins.
    pub(crate) fn play_ftl<T>(&mut self, play: impl FnOnce(&mut Ftl, &Plan) -> T) -> T {
        play(&mut self.ftl, &self.core.plan)
    }

    /// The reclaim units of placement handles, where the drive takes hints (`ftl.hints`).
    pub fn fdp(&self) -> Option<FdpSeen<'_>> {
        let (plan, counters) = (&self.core.plan, self.counters());
        self.fdp.as_deref().map(|fdp| FdpSeen { fdp, plan, counters })
    }

    /// Whether hardly a page of the write buffer is free.
    pub(crate) fn buffer_is_full(&self) -> bool {
        let slots = self.core.plan.config.buffer.size.0 / self.core.plan.layout.page_size.0;
        u64::from(self.writes.buffer.in_use()) * 16 >= slots * 15
    }

    /// The present simulated time.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// This device, watched by a probe from now on, which is told what dies and buses do.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> Device<Q> {
        let Device { core, next_id, resumed, seed, host, writes, read_cache, ftl, map, flash, power, zones, fdp } =
            self;
        let mut core = core.watched_by(probe);
        if Q::EXPLAINS {
            let now = core.now;
            flash.tell_meters(now, &mut core.probe);
        }
        let mut device =
            Device { core, next_id, resumed, seed, host, writes, read_cache, ftl, map, flash, power, zones, fdp };
        device.begin_ledger();
        device
    }

    /// Takes a state that was saved.
    pub(crate) fn restore(&mut self, state: &mut Reader) -> std::io::Result<()> {
        self.load(state)?;
        self.flash.rank(&self.core.plan);
        if self.core.life.becomes_read_only {
            self.core.marks.set |= Marks::LIFE;
        }
        Ok(())
    }

    /// The seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Why it cannot go on, if it has failed.
    pub fn failure(&self) -> Option<&RunError> {
        self.core.life.failure.as_ref()
    }

    /// Requests that have been submitted.
    pub(crate) fn submitted(&self) -> u64 {
        self.next_id
    }

    /// The latest time for which a request can be submitted.
    pub fn latest(&self) -> Time {
        Time(self.core.agenda.horizon().0 / 2)
    }

    /// When something happens next, if nothing is submitted before. Visits for refresh count while requests are outstanding.
    pub fn next_event(&self) -> Option<Time> {
        let next = self.upcoming(Time::NEVER).map(|(time, _)| time);
        let next = next.or_else(|| self.wears_out_now().then_some(self.core.now));
        next.filter(|_| self.core.life.failure.is_none())
    }

    /// Gives the probe back.
    pub fn into_probe(self) -> P {
        self.core.probe
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.core.probe
    }

    /// What is submitted now only brings the drive into its state: no part breaks until the workload begins.
    pub fn workload_is_to_come(&mut self) {
        self.flash.faults_count_from(Time::NEVER);
    }

    /// The workload begins: what was submitted before brought the drive into its state. The probe is told.
    pub fn workload_begins(&mut self) {
        self.flash.faults_count_from(self.core.now);
        self.core.arm_cuts(self.seed);
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Begins { first: self.next_id });
        }
    }

    /// Hands a request to the host side of the device at `request.time`; returns its number.
    ///
    /// Requests must come in time order, not before the present unless others still wait in the host, and lie
    /// within the capacity. Requests that the queues have no room for wait in the host, in order.
    pub fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        // Behind an arrival that still waits in the host, a late one changes nothing.
        let earliest = if self.host.arrivals.is_empty() {
            self.host.last_arrival.max(self.core.now)
        } else {
            self.host.last_arrival
        };
        if request.time < earliest {
            return Err(RunError::BackInTime { time: request.time, earliest });
        }
        let latest = self.latest();
        if request.time > latest {
            return Err(RunError::BeyondHorizon { time: request.time, latest });
        }
        let end = request.offset.0.checked_add(request.bytes.0);
        let empty = request.bytes.0 == 0 && request.op.has_address();
        if empty || end.is_none_or(|end| end > self.capacity().0) {
            return Err(RunError::OutOfRange {
                offset: request.offset,
                bytes: request.bytes,
                capacity: self.capacity(),
            });
        }
        let id = self.next_id;
        self.begin_life();
        self.next_id += 1;
        self.host.last_arrival = request.time;
        let first = self.core.plan.page_at(request.offset.0);
        self.ftl.prefetch(first);
        if let Some(cache) = &self.map.cache {
            cache.prefetch(first);
        }
        if self.host.arrivals.is_empty() && self.host.stalled.is_none() {
            self.core.agenda.set(self.core.slots.arrival, request.time + self.core.plan.config.host.t_submit);
        }
        self.host.arrivals.push_back((id, request));
        Ok(id)
    }

    /// Plays everything that happens up to and including `time`.
    pub fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, Stop::Never)?;
        self.core.now = self.core.now.max(time);
        Ok(())
    }

    /// Plays until requests complete, or until nothing happens up to `limit`; returns whether any completed.
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Completion)?;
        Ok(!self.host.completions.is_empty())
    }

    /// Plays until fewer than `pending` arrivals wait, or until nothing happens up to `limit`; returns whether so few
    /// wait. Time does not go on from there: what is submitted next is not too late.
    pub fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Arrivals(pending))?;
        Ok(self.host.arrivals.len() < pending)
    }

    #[inline]
    fn stops(&self, stop: Stop) -> bool {
        self.core.life.failure.is_some()
            || match stop {
                Stop::Never => false,
                Stop::Completion => !self.host.completions.is_empty(),
                Stop::Arrivals(pending) => self.host.arrivals.len() < pending,
            }
    }

    fn play(&mut self, limit: Time, stop: Stop) -> Result<(), RunError> {
        self.begin_life();
        if self.core.life.stranded {
            self.settle();
        }
        if self.stops(stop) {
            return self.core.life.failure.clone().map_or(Ok(()), Err);
        }
        let horizon = self.core.agenda.horizon();
        while let Some((time, resource)) = self.upcoming(limit).or_else(|| self.event_after_wear_out(limit))
            && time <= limit
        {
            if time == horizon {
                // Work takes so long that time runs out.
                self.core.life.failure = Some(RunError::BeyondHorizon { time, latest: horizon });
                break;
            }
            self.core.now = time;
            self.core.counters.events += 1;
            if time >= self.core.life.progress_due && !self.progresses() {
                break;
            }
            match resource {
                Resource::Decoder(channel) => self.on_decoded(channel),
                Resource::Bus(channel) => self.flash().bus_event(channel),
                Resource::Die(die) => self.on_die(die),
                Resource::Energy => self.flash().energy_is_paid(),
                Resource::Firmware => self.on_firmware(),
                Resource::WriteData => self.on_write_data(),
                Resource::ReadCompletion => self.on_read_completion(),
                Resource::WriteCompletion => self.on_write_completion(),
                Resource::Arrival => self.on_arrival(),
                Resource::HostIdle => self.host_is_idle(),
                Resource::Patrol => self.on_patrol(),
                Resource::Cut => self.on_cut(),
                Resource::Fault => self.on_fault(),
            }
            self.settle();
            if self.core.plan.asks
                && let Some(mistake) = self.core.plan.config.policies.mistake().or(self.seen().mistake())
            {
                self.core.life.failure = Some(RunError::Config(mistake.clone()));
            }
            if P::EXPLAINS {
                let (requests, buffered) = (self.host.commands.len() as u32, self.writes.buffer.in_use());
                self.core.probe.explain(time, Event::State { requests, buffered });
                self.check_event(resource);
            }
            if self.stops(stop) {
                break;
            }
        }
        self.core.life.failure.clone().map_or(Ok(()), Err)
    }

    /// Asks what was marked whether it goes on, until nothing is: once an event, in the order of
    /// docs/decisions/0025-one-settle.md.
    #[inline(always)] // Many events mark nothing.
    pub(super) fn settle(&mut self) {
        while self.core.marks.set != 0 {
            if self.core.marks.set & Marks::WAITING != 0 {
                self.waiting_go_on();
            }
            if let Some(begun) = self.flash().settle() {
                self.layers_above(begun);
            } else if self.core.marks.set & Marks::LIFE != 0 {
                self.life_ends();
            }
        }
    }

    /// Parity, pages and written data that wait, as far as they are marked.
    #[inline(never)]
    fn waiting_go_on(&mut self) {
        let marked = self.core.marks.set;
        self.core.marks.set = marked & !Marks::WAITING;
        if marked & Marks::PARITY != 0 {
            self.dispatch().parity();
        }
        if marked & Marks::POOLS != 0 {
            self.dispatch().pools();
        }
        if marked & Marks::WRITES != 0 {
            self.fetch_writes();
        }
    }

    /// Nothing is going to happen. Whether commands, or buffered pages that shall go, wait because of blocks that have failed:
    /// the drive's life ends now.
    #[cold]
    fn wears_out_now(&self) -> bool {
        let waits = self.host.commands.len() > 0
            || (self.writes.draining && self.writes.buffer.in_use() > self.writes.buffer.gathering);
        waits
            && crate::core::DriveLife::worn_out(self.core.now, &self.core.counters).is_some()
            && self.end_of_life().is_none()
    }

    /// Nothing is going to happen: the next event after the end of the drive's life, if that has come and the drive goes on as
    /// a read-only one.
    #[cold]
    fn event_after_wear_out(&mut self, limit: Time) -> Option<(Time, Resource)> {
        if !self.wears_out_now() {
            return None;
        }
        self.core.wear_out();
        self.settle();
        self.upcoming(limit)
    }

    /// Carries out what an event has found of the end of the drive's life: relocated data that finds no room ends it, and a drive that
    /// goes on as a read-only one refuses what waits.
    #[cold]
    fn life_ends(&mut self) {
        self.core.marks.set &= !Marks::LIFE;
        if std::mem::take(&mut self.core.life.stranded) {
            self.core.wear_out();
        }
        if std::mem::take(&mut self.core.life.becomes_read_only) {
            self.refuse_writes();
        }
    }

    /// Whether commands have made progress since this was asked last, or there are none; otherwise the device has failed.
    #[cold]
    fn progresses(&mut self) -> bool {
        let Some(span) = self.core.plan.config.host.timeout else { return true };
        let counters = &self.core.counters;
        let seen = counters.requests_completed + counters.user_pages_programmed + self.host.parts_sent;
        let done = seen != self.core.life.progress_seen || self.host.commands.len() == 0;
        (self.core.life.progress_seen, self.core.life.progress_due) = (seen, self.core.now + span);
        if !done {
            let busy = format!("{} commands wait; {}", self.host.commands.len(), self.busy_with());
            self.core.life.failure = Some(RunError::NoProgress { time: self.core.now, span, busy });
        }
        done
    }

    /// What the drive is doing, in words.
    fn busy_with(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (cause, (_, what)) in relocation_causes::CAUSES.iter().enumerate() {
            let planes = self.seen().planes_that_relocate(cause);
            let blocks = self.core.counters.blocks_relocated[cause];
            if blocks > 0 {
                parts.push(format!("{what} runs on {planes} planes ({blocks} blocks so far)"));
            }
        }
        let (busy, dies) = self.flash.working();
        parts.push(format!("{busy} of {dies} dies work"));
        parts.join(", ")
    }

    /// The next event, parts that break, power cuts and visits for refresh included: visits go on for ever, so they come only up to a
    /// time that was asked for, or while something happens to requests.
    #[inline(always)]
    fn upcoming(&self, limit: Time) -> Option<(Time, Resource)> {
        let next = self.core.agenda.peek().map(|(time, slot)| (time, self.core.slots.resource(slot)));
        let standing = self.ftl.visits.next.min(self.core.cuts.next);
        if standing == Time::NEVER && self.flash.fault_due == Time::NEVER {
            return next;
        }
        let next = self.or_standing(next, standing, limit);
        if self.fault_comes(next.map_or(limit, |(time, _)| time)) {
            return Some((self.flash.fault_due.max(self.core.now), Resource::Fault));
        }
        next
    }

    /// The next visit for refresh or power cut, if it comes before what is next.
    #[inline]
    fn or_standing(&self, next: Option<(Time, Resource)>, standing: Time, limit: Time) -> Option<(Time, Resource)> {
        let endless = limit == Time::NEVER && (next.is_none() || self.outstanding().0 == 0);
        let until = next.map_or(limit, |(time, _)| time);
        if standing < until && !endless {
            let what = if standing == self.core.cuts.next { Resource::Cut } else { Resource::Patrol };
            Some((standing.max(self.core.now), what))
        } else {
            next
        }
    }

    /// Takes the requests that have completed, in order of completion.
    pub fn take_completions(&mut self) -> std::vec::Drain<'_, Completion> {
        self.host.completions.drain(..)
    }

    /// Requests that were submitted and have not completed, and arrivals among them that still wait in the host.
    pub fn outstanding(&self) -> (u64, u64) {
        (self.host.commands.len() as u64 + self.host.arrivals.len() as u64, self.host.arrivals.len() as u64)
    }

    /// What has been done of the requests that the drive works on, in requests: of each the share of its pages.
    pub fn partly_served(&self) -> f64 {
        let page = self.core.plan.layout.page_size.0;
        let served = |of: &Command| 1.0 - f64::from(of.remaining) / f64::from(parts(&of.request, page));
        let commands = self.host.commands.ids().map(|id| &self.host.commands[id]);
        commands.filter(|command| command.request.op.moves_data()).map(served).sum()
    }

    /// Submitted requests that have not arrived at the device yet: what a caller keeps small.
    pub fn pending_arrivals(&self) -> usize {
        self.host.arrivals.len()
    }

    /// Whether nothing is going to happen until a request is submitted.
    pub fn idle(&self) -> bool {
        self.core.agenda.peek().is_none()
    }

    /// When too few good blocks were left, if that has come.
    pub fn end_of_life(&self) -> Option<Time> {
        match self.core.life.failure {
            Some(RunError::EndOfLife { time, .. }) => Some(time),
            _ => self.core.life.read_only,
        }
    }

    /// Pages in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.writes.buffer.in_use()
    }

    /// Writes everything buffered to flash and plays until all is idle.
    pub fn flush(&mut self) -> Result<(), RunError> {
        self.play(Time::NEVER, Stop::Never)?;
        let before = std::mem::replace(&mut self.writes.draining, true);
        self.flash.flush_units(true);
        self.destage_all();
        self.settle();
        let played = self.play(Time::NEVER, Stop::Never);
        self.writes.draining = before;
        self.flash.flush_units(self.writes.draining());
        played
    }

    /// Counts of what has happened since the start.
    pub fn counters(&self) -> Counters {
        let mut counters = self.core.counters;
        counters.pages_programmed = self.seen().pages_programmed();
        counters
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        self.flash.steps()
    }

    /// Memory of the table of what last read similar pages \[B], and what the learned mapping table takes, where there is one.
    pub fn tables(&self) -> (usize, Option<LearnedSize>) {
        (self.flash.reference_bytes(), self.map.learned.as_ref().map(|learned| self.seen().learned_size(learned)))
    }

    /// Valid pages of the blocks that were collected.
    pub fn victims(&self) -> &Victims {
        self.seen().victims()
    }

    /// Erases in the run of every block that the factory found good.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        self.seen().erases()
    }

    /// Free blocks: of all planes, and of the plane that has the fewest.
    pub fn free_blocks(&self) -> (u64, u32) {
        self.seen().free_blocks()
    }

    /// Time that dies and channels had nothing to do since the start, summed over them.
    pub fn idle_time(&self) -> IdleTime {
        self.flash.idle_time(self.core.now)
    }

    /// Blocks that hold data of the cache or are open for it, where there is one.
    pub fn slc_blocks(&self) -> Option<u64> {
        self.seen().cache_blocks()
    }

    /// How power and temperature have kept it from working since the start, where they are limited or followed.
    pub fn throttling(&self) -> Option<Throttling> {
        self.flash.throttling(self.core.now)
    }

    /// Where the time of every resource has gone since the start.
    pub fn usage(&self) -> Usage {
        let now = self.core.now;
        let decoders = u64::from(self.core.plan.config.ecc.decoders);
        Usage {
            elapsed: now.since(Time::ZERO),
            dies: self.flash.die_times(now).collect(),
            channels: self.flash.bus_times(now).collect(),
            decoders: self.flash.decoder_times(now).map(|busy| Span(busy.0 / decoders)).collect(),
            host: self.host.meter.at(now)[1],
            firmware: self.host.firmware.busy_until(now, &self.core.plan),
            link_in: self.host.link_in.busy_until(now),
            link_out: self.host.link_out.busy_until(now),
            dram: self.host.dram.busy_until(now),
        }
    }

    /// The wear of every block, as P/E cycles of conventional erases that would have left as much stress; where erases go pulse by
    /// pulse.
    pub fn effective_pec(&self) -> Option<impl Iterator<Item = f64>> {
        self.seen().effective_pec()
    }

    /// The conditions under which a page's flash copy would be read now, if it has one.
    pub fn conditions(&self, lpn: Lpn) -> Option<Conditions> {
        let now = self.flash.age_clock(self.core.now);
        self.seen().flash_version(lpn).map(|ppn| self.ftl.conditions(ppn, now, &self.core.plan).conditions)
    }

    /// The flash page that holds the newest data of a page that is on flash, if any is.
    pub fn flash_page(&self, lpn: Lpn) -> Option<units::Ppn> {
        self.seen().flash_version(lpn)
    }

    /// Checks the conservation laws that hold at every moment between events. Cheap: for every run.
    pub fn check(&self) -> Result<(), String> {
        let now = self.core.now;
        let elapsed = now.since(Time::ZERO);
        let counters = self.counters();
        let (outstanding, _) = self.outstanding();
        let ended = counters.requests_completed + counters.requests_aborted;
        if ended + outstanding != self.next_id {
            return Err(format!("{} requests came in, {ended} ended and {outstanding} are outstanding", self.next_id));
        }
        for (name, sums) in [
            ("die", self.flash.die_times(now).map(|times| times.into_iter().sum()).collect::<Vec<Span>>()),
            ("channel", self.flash.bus_times(now).map(|times| times.into_iter().sum()).collect()),
        ] {
            if let Some((index, sum)) = sums.iter().enumerate().find(|(_, sum)| **sum != elapsed) {
                return Err(format!("{name} {index} accounts for {} ns of {} ns", sum.0, elapsed.0));
            }
        }
        self.power.as_ref().map_or(Ok(()), |power| power.check_parity(&self.ftl))?;
        if let (Some(zones), Some(plan)) = (&self.zones, &self.core.plan.zones) {
            zones.check(plan)?;
        }
        let pooled: u32 = self.writes.pools.iter().map(|pool| pool.len).sum();
        if self.quiet() && self.flash.ops.len() != pooled as usize {
            return Err(format!("{} page operations are left over", self.flash.ops.len()));
        }
        if self.quiet() && self.flash.attempts_under_way() > 0 {
            return Err(format!("{} attempts of reads are left over", self.flash.attempts_under_way()));
        }
        if self.outstanding().0 == 0 && self.writes.buffer.waiters.len() > 0 {
            return Err("commands that have completed still wait for slots".into());
        }
        let programmed = counters.pages_programmed;
        if counters.pages_transferred_in + counters.pages_copied_back != programmed {
            let (moved, copied) = (counters.pages_transferred_in, counters.pages_copied_back);
            return Err(format!(
                "{moved} pages crossed the buses into dies and {copied} were copied in them, {programmed} were given to programs"
            ));
        }
        let moved: u64 = counters.pages_relocated.iter().sum();
        let done = counters.user_pages_programmed
            + counters.pages_padded
            + moved
            + counters.map_programs
            + counters.checkpoint_programs
            + counters.journal_programs
            + counters.pages_cut
            + counters.pages_rescued
            + counters.parity_programs
            + counters.pages_failed;
        let under_way = self.seen().pages_under_way();
        if done + under_way != programmed {
            return Err(format!(
                "{programmed} pages were programmed, {done} have a purpose and {under_way} are under way"
            ));
        }
        self.seen().check_moves()?;
        if self.core.life.failure.is_none() {
            self.view().check_schedule(pooled, self.idle())?;
        }
        let codewords = counters.bytes_read % self.core.plan.config.ecc.codeword.0;
        if codewords != 0 {
            return Err(format!("{} bytes left the dies, not whole codewords", counters.bytes_read));
        }
        Ok(())
    }

    /// Whether nothing is under way: no request, no page, nothing in an array, a bus or a decoder.
    pub fn rests(&self) -> bool {
        self.quiet() && self.flash.working().0 == 0
    }

    /// Whether no page is on its way anywhere but from the write buffer, where units may wait for company.
    fn quiet(&self) -> bool {
        self.outstanding().0 == 0
            && self.idle()
            && self.writes.buffer.leaving() == 0
            && self.progress() == 0
            && self.seen().rests()
            && self.map.quiet()
            && self.power.as_ref().is_none_or(|power| power.quiet())
    }

    /// Checks every logical page against every physical page. Slow: for tests, at any moment between events.
    pub fn check_mapping(&self) -> Result<(), String> {
        self.map.learned.as_ref().map_or(Ok(()), |learned| learned.check())?;
        for lpn in self.seen().changed() {
            self.seen().check_learned(self.map.learned.as_ref(), lpn)?;
        }
        self.seen().check()
    }

    /// What brings pages of the buffer to flash without further ado.
    fn progress(&self) -> u32 {
        self.writes.progress + self.flash.host_units()
    }
}

state! {
    [P: Probe] Device<P> { stored { next_id, resumed } parts { core, host, writes, read_cache, ftl, map, flash, power, zones, fdp } rebuilt { seed } }
}

const _: () = assert!(size_of::<PageOp>() <= 64, "a page operation fits a cache line");
