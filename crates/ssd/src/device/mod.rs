//! The device: submit requests, advance the time, take completions.
//!
//! Each component has its own state (`crate::host`, `crate::writes`, `crate::translation`, `crate::ftl`,
//! `crate::flash`) and names no other one; here is what crosses them:
//!
//! | file | what |
//! |---|---|
//! | `parts.rs` | views of some components |
//! | `seen.rs` | what is seen of a drive |
//! | `check.rs` | the whole compared with the ledger of a probe that checks |
//! | `dispatch.rs` | pages that wait for their program find their dies |
//! | `read.rs` | where a read finds its data |
//! | `learned.rs` | the learned map: what it leads to, and what a wrong answer costs |
//! | `zone_programs.rs` | the programs of zones |
//! | `kept.rs` | what is kept of the flash for power cuts |
//! | `map_pages.rs` | the map's pages, from flash and to it |
//! | `collect.rs` | relocating a block's data, for whatever cause; what is stale |
//! | `placed.rs` | data changes its place: who is told, in which order |
//! | `journaling.rs` | the map's journal and its checkpoints |
//! | `mapping.rs` | misses of the cached map: what waits for an entry |
//! | `write.rs`, `discard.rs` | host data into the buffer and on to flash; trims and flushes |
//! | `moved.rs` | who has read a page goes on; relocated data, programs that fail |
//! | `raid.rs` | parity over dies |
//! | `faults.rs` | parts that break, and data that is lost with them |
//! | `zones.rs` | what zones allow |
//! | `commands.rs` | commands are taken up, and complete |
//! | `power.rs` | power cuts and recovery |
//! | `health.rs` | whether the drive gets on, and the end of its life |
//! | `events.rs` | what an event tells the owner of what has ended or begun |
//! | `mod.rs` | requests come in, events are played, what they have marked goes on |
//! | `rest.rs` | the drive is left alone for months |
//!
//! Each file calls those before it alone (`crates/tidy/tests/tidy.rs`), so they can be read in this order.
//!
//! What crosses some components alone sees these alone: `dispatch::Dispatch`, `read::ReadsAt`, `power::PowerAt`,
//! `FlashAt`, `Seen`.
//!
//! An event changes its own object and the owner of what has ended with it, and marks what may go on; `Device::settle`
//! asks what was marked in a fixed order (docs/decisions/0025-one-settle.md). There is no recursion between handlers:
//! where one thing makes way for the next of its kind, as an empty block does for the next block to collect, a loop
//! takes them one after another. One is left, within `collect.rs`: a block that is erased may end a stripe, whose
//! parity is stale then, and its plane is collected at once.

mod check;
mod collect;
mod commands;
mod discard;
mod dispatch;
mod events;
mod faults;
mod health;
mod journaling;
mod kept;
mod learned;
mod map_pages;
mod mapping;
mod moved;
mod parts;
mod placed;
mod power;
mod raid;
mod read;
mod rest;
mod seen;
mod write;
mod zone_programs;
mod zones;

use nand::PlaneId;
use units::Time;
use workload::Request;

use crate::config::{Config, Plan, Precondition};
use crate::core::{Alone, Core, Marks, Resource};
use crate::error::RunError;
use crate::fdp::Fdp;
use crate::flash::Flash;
use crate::flash::op::PageOp;
use crate::ftl::Ftl;
use crate::ftl::moves::Resumes;
pub use crate::host::Completion;
use crate::host::HostSide;
use crate::observe::probe::{Event, Probe, Unwatched};
use crate::persist::{Reader, State as _, state};
use crate::power::Power;
use crate::read_cache::ReadCache;
use crate::translation::TranslationPages;
use crate::window::Window;
use crate::writes::Writes;
use crate::zones::Zones;
use dispatch::Standstill;
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
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    Never,
    /// When the drive has failed because it does not come to rest.
    AtRest,
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

    /// Something is played with the FTL alone, before time begins.
    pub(crate) fn play_ftl<T>(&mut self, play: impl FnOnce(&mut Ftl, &Plan) -> T) -> T {
        play(&mut self.ftl, &self.core.plan)
    }

    /// This device, watched by a probe from now on, which is told what dies and buses do.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> Device<Q> {
        let Device { core, next_id, resumed, seed, host, writes, read_cache, ftl, map, flash, power, zones, fdp } =
            self;
        let core = core.watched_by(probe);
        let mut device =
            Device { core, next_id, resumed, seed, host, writes, read_cache, ftl, map, flash, power, zones, fdp };
        device.flash.tell_meters(device.core.now, &mut device.core.probe);
        device.begin_ledger();
        device
    }

    /// Takes a state that was saved; the probe is told how the drive stands from then on.
    pub(crate) fn restore(&mut self, state: &mut Reader) -> std::io::Result<()> {
        self.load(state)?;
        self.flash.loaded(&mut self.core.plan);
        if self.core.life.becomes_read_only {
            self.core.marks.set |= Marks::LIFE;
        }
        self.flash.tell_meters(self.core.now, &mut self.core.probe);
        self.begin_ledger();
        Ok(())
    }

    /// When something happens next, if nothing is submitted before. Visits for refresh count while requests are
    /// outstanding.
    pub fn next_event(&self) -> Option<Time> {
        let next = self.upcoming(Time::NEVER).map(|(time, _)| time);
        let next = next.or_else(|| self.standstill().map(|_| self.core.now));
        next.filter(|_| self.core.life.failure.is_none())
    }

    /// Gives the probe back.
    pub fn into_probe(self) -> P {
        self.core.probe
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

    /// What is measured begins. The probe is told.
    pub fn counting_begins(&mut self) {
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Counts { first: self.next_id });
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
                Stop::Never | Stop::AtRest => false,
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
        let mut alone = Alone::default();
        while let Some((time, resource)) = self.upcoming(limit).or_else(|| self.event_after_standstill(limit))
            && time <= limit
        {
            if time == horizon {
                // Work takes so long that time runs out.
                self.core.life.failure = Some(RunError::BeyondHorizon { time, latest: horizon });
                break;
            }
            self.core.now = time;
            self.core.counters.events += 1;
            if time >= self.core.life.progress_due
                && !self.progresses(Some(&mut alone).filter(|_| stop == Stop::AtRest))
            {
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

    /// Nothing is going to happen: the next event after the end of the drive's life, if that has come and the drive
    /// goes on as a read-only one; or after what has waited in vain for the SLC cache has gone past it.
    #[cold]
    fn event_after_standstill(&mut self, limit: Time) -> Option<(Time, Resource)> {
        match self.standstill()? {
            Standstill::EndsLife => self.core.wear_out(),
            Standstill::HasWay(past) => self.dispatch().go_past_the_cache(past),
        }
        self.settle();
        self.upcoming(limit)
    }

    /// The next event, parts that break, power cuts and visits for refresh included: visits go on for ever, so they
    /// come only up to a time that was asked for, or while something happens to requests.
    #[inline(always)]
    fn upcoming(&self, limit: Time) -> Option<(Time, Resource)> {
        let next = self.core.agenda.peek().map(|(time, slot)| (time, self.core.slots.resource(slot)));
        let standing = self.ftl.visits.next.min(self.core.cuts.next);
        if standing == Time::NEVER && self.flash.fault_due == Time::NEVER {
            return next;
        }
        // A standstill ends now, up to whatever time the drive is played.
        let limit = if next.is_none() && self.standstill().is_some() { Time::NEVER } else { limit };
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

    /// Writes everything buffered to flash and plays until all is idle.
    pub fn flush(&mut self) -> Result<(), RunError> {
        self.play(Time::NEVER, Stop::AtRest)?;
        let before = std::mem::replace(&mut self.writes.draining, true);
        self.flash.flush_units(true);
        self.destage_all();
        self.settle();
        let played = self.play(Time::NEVER, Stop::AtRest);
        self.writes.draining = before;
        self.flash.flush_units(self.writes.draining());
        played
    }

    /// Collections that were under way before the run go on, as soon as time does; a learned table knows what is before
    /// it.
    #[inline]
    pub(crate) fn begin_life(&mut self) {
        if !std::mem::replace(&mut self.resumed, true) {
            self.learning().learns_again();
            self.resume_collection(None);
        }
    }

    /// Collections go on that were under way before the run; or, where a window has opened, each plane collects ahead
    /// of need.
    #[cold]
    pub(crate) fn resume_collection(&mut self, window: Option<Window>) {
        for plane in (0..self.core.plan.layout.planes).map(PlaneId) {
            match self.ftl.resumes(plane, window) {
                Resumes::Move => {
                    let die = self.core.plan.layout.die_of(plane).0;
                    if !self.core.plan.config.gc.preemptible {
                        self.flash.begin_exclusive(die);
                    }
                    self.continue_relocation(plane);
                    self.flash().mark_dirty(die);
                }
                Resumes::Collection => self.collect(plane),
                Resumes::Nothing => {}
            }
        }
        self.settle();
    }

    /// Whether a part breaks before anything else happens, until then. Without a time that was asked for, parts that
    /// break later than everything else do not.
    #[cold]
    pub(super) fn fault_comes(&self, until: Time) -> bool {
        let due = self.flash.fault_due;
        if self.power.as_ref().is_some_and(|power| power.recovering.is_some()) {
            // The drive finds it out when it is ready.
            return false;
        }
        due <= self.core.now || (due < until && until != Time::NEVER)
    }
}

state! {
    [P: Probe] Device<P> { stored { next_id, resumed } parts { core, host, writes, read_cache, ftl, map, flash, power, zones, fdp } rebuilt { seed } }
}

const _: () = assert!(size_of::<PageOp>() <= 64, "a page operation fits a cache line");
