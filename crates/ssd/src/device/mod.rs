//! The device: submit requests, advance the time, take completions.
//!
//! One struct owns all state; each file here holds the handlers of one resource:
//!
//! | file | resource | its event |
//! |---|---|---|
//! | `host.rs` | queues, link, completions | a request arrives; a completion reaches the host |
//! | `write.rs` | write buffer | written data has crossed the link |
//! | `discard.rs` | trims and flushes | – |
//! | `mapping.rs` | the map on flash and its cache | – |
//! | `collect.rs` | garbage collection and everything else that moves data | – |
//! | `die.rs` | dies and their registers | a sense, program or erase ends |
//! | `bus.rs` | channel buses | a page has left a die |
//! | `ecc.rs` | ECC engines | a page is decoded |
//!
//! A handler updates its own resource, then kicks its dependants in a fixed order (ECC, bus, die, host).
//! There is no recursion between handlers.
//!
//! Invariant: who holds a register never waits for its own die. A sensed page leaves over the bus whatever
//! the die does, and a program takes its registers only when no read needs them; so nothing deadlocks.

mod bus;
mod collect;
mod die;
mod discard;
mod ecc;
mod host;
mod mapping;
mod write;

use std::collections::{HashMap, VecDeque};

use nand::model::outcomes::Outcomes;
use nand::{DieId, PlaneId};
use units::{Bytes, Conditions, Lpn, Span, Stream, Time};
use workload::{Op, Request};

use crate::agenda::{Agenda, FifoServer};
use crate::arena::{Arena, CommandId};
use crate::buffer::Buffer;
use crate::config::{Config, Plan};
use crate::error::RunError;
use crate::ftl::{Ftl, Location};
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe, Unwatched};
use crate::observe::stats::{Counters, Steps, Usage, Victims, relocation_causes};
use crate::op::{Ops, PageOp, Queue};
use bus::Channel;
use collect::{Failures, PlaneRelocation};
use die::DieState;
use host::{Command, HostQueue};
use mapping::MapTraffic;
use write::WriteArrival;

/// A finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that [`Device::submit`] gave it.
    pub id: u64,
    /// What was asked.
    pub request: Request,
    /// When the host saw it complete.
    pub finish: Time,
    /// Some of the data that it asked for could not be corrected.
    pub uncorrectable: bool,
    /// The drive is read-only (`wear.end_of_life`) and has not done, or not wholly done, what was asked.
    pub refused: bool,
}

impl Completion {
    /// From the request's arrival to its completion.
    pub fn latency(&self) -> Span {
        self.finish.since(self.request.time)
    }
}

/// A simulated SSD. See the [module documentation](self).
pub struct Device<P: Probe = Unwatched> {
    plan: Plan,
    now: Time,
    agenda: Agenda,
    slots: Slots,
    /// Number of the next page operation and of the next request.
    next_seq: u64,
    next_id: u64,
    ops: Ops,

    arrivals: VecDeque<(u64, Request)>,
    last_arrival: Time,
    commands: Arena<CommandId, Command>,
    queues: Vec<HostQueue>,
    /// Queues with commands to fetch.
    waiting_queues: [u64; 4],
    turn: usize,
    burst: u16,
    in_flight: u32,
    /// Time without a request and with one.
    host_meter: Meter<2>,
    /// The queue that the next arrival waits for.
    stalled: Option<usize>,
    link_in: FifoServer,
    link_out: FifoServer,
    dram: FifoServer,
    read_completions: VecDeque<(Time, CommandId)>,
    write_completions: VecDeque<(Time, CommandId)>,
    completions: Vec<Completion>,
    /// What reads come to, where a virtual chip says it.
    outcomes: Option<Outcomes>,
    /// Where reads begin near what last worked: the step that last read a page of each group of similar ones.
    tracked: HashMap<u64, u8>,
    /// Retry steps of the pages read.
    steps: Steps,
    /// What decodings come to.
    draws: Stream,

    buffer: Buffer,
    write_arrivals: VecDeque<WriteArrival>,
    /// Commands whose data waits for room in the buffer, first come first served.
    write_queue: VecDeque<CommandId>,
    /// Pages that the write queue waits for.
    pages_wanted: u32,
    /// Pages to be programmed wherever a die is free (dynamic placement), by lane.
    pools: [Queue; 2],
    /// Dies in page allocation order, and those of them that take pages from the pool.
    die_order: Vec<u16>,
    pool_cursor: usize,
    /// Partly filled program units are programmed, padded.
    draining: bool,
    /// Flushes that have not completed: as long as there are any, partly filled units go as well.
    flushing: u32,
    /// What brings pages of the buffer to flash without further ado: reads that fill them and fetch their map entries, whole
    /// program units, programs.
    progress: u32,

    ftl: Ftl,
    map: MapTraffic,
    relocations: Vec<PlaneRelocation>,
    failures: Failures,
    /// Valid pages of the blocks that were collected.
    victims: Victims,
    /// When the next block is visited for refresh, and how many have been.
    patrol: Time,
    visited: u64,
    dies: Vec<DieState>,
    /// The busy die of each chip, where dies of a chip do not overlap.
    chip_owner: Vec<u16>,
    channels: Vec<Channel>,
    /// Dies that got work in the present event.
    dirty: Vec<u16>,
    /// Pages of host data that wait for their program, and whether there are so many that no read passes them.
    programs_waiting: u32,
    write_queue_full: bool,
    /// Rank of each class at present and, by rank, the queues of a die that have it.
    ranks: [u8; schemes::Class::COUNT],
    rank_masks: Vec<u64>,

    counters: Counters,
    /// Pages that went to the host.
    parts_sent: u64,
    /// When the host's progress is looked at next, and how far it had come when it was looked at last.
    progress_due: Time,
    progress_seen: u64,
    failure: Option<RunError>,
    /// When the drive became read-only, and whether that is still to be carried out.
    read_only: Option<Time>,
    becomes_read_only: bool,
    probe: P,
}

/// The agenda's slots, by rank.
#[derive(Clone, Copy)]
struct Slots {
    bus: usize,
    die: usize,
    write_arrivals: usize,
    read_completions: usize,
    write_completions: usize,
    arrival: usize,
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
        let layout = plan.layout;
        let (channels, dies) = (layout.channels as usize, layout.dies as usize);
        let slots = Slots {
            bus: channels,
            die: 2 * channels,
            write_arrivals: 2 * channels + dies,
            read_completions: 2 * channels + dies + 1,
            write_completions: 2 * channels + dies + 2,
            arrival: 2 * channels + dies + 3,
        };
        let outcomes = plan.cells.as_ref().map(|reading| {
            let wordlines = layout.pages.div_ceil(layout.bits);
            Outcomes::new(
                reading.as_ref().clone(),
                plan.faster.clone(),
                layout.bits,
                wordlines,
                config.age.temperature.0,
                seed,
            )
        });
        let write_queue_full = config.schedule.write_queue == Some(0);
        let ranks = die::ranks(config, write_queue_full);
        let mut die_order = Vec::new();
        for plane in config.ftl.page_order.planes(&layout) {
            let die = (plane / layout.planes_per_die) as u16;
            if plane % layout.planes_per_die == 0 {
                die_order.push(die);
            }
        }
        let ftl = Ftl::new(&plan, seed)?;
        Ok(Device {
            now: Time::ZERO,
            agenda: Agenda::new(slots.arrival + 1),
            slots,
            next_seq: 0,
            next_id: 0,
            ops: Arena::new(),
            arrivals: VecDeque::new(),
            last_arrival: Time::ZERO,
            commands: Arena::new(),
            queues: vec![HostQueue::default(); config.host.queues as usize],
            waiting_queues: [0; 4],
            turn: 0,
            burst: 0,
            in_flight: 0,
            host_meter: Meter::new(),
            stalled: None,
            link_in: FifoServer::default(),
            link_out: FifoServer::default(),
            dram: FifoServer::default(),
            read_completions: VecDeque::new(),
            write_completions: VecDeque::new(),
            completions: Vec::new(),
            outcomes,
            tracked: HashMap::new(),
            steps: Steps::default(),
            draws: Stream::new(seed, "decodings"),
            buffer: Buffer::new(&plan),
            write_arrivals: VecDeque::new(),
            write_queue: VecDeque::new(),
            pages_wanted: 0,
            pools: [Queue::EMPTY; 2],
            die_order,
            pool_cursor: 0,
            draining: config.buffer.mode == crate::config::BufferMode::WriteThrough,
            flushing: 0,
            progress: 0,
            map: MapTraffic::new(plan.space.map_pages, ftl.map_pages_of_planes(&plan)),
            ftl,
            relocations: (0..layout.planes).map(|_| PlaneRelocation::default()).collect(),
            failures: Failures::new(seed),
            victims: Victims::default(),
            patrol: config.refresh.period.map_or(Time::NEVER, |_| Time::ZERO),
            visited: 0,
            dies: (0..dies as u16)
                .map(|die| {
                    let channel = layout.channel_of(DieId(die));
                    DieState::new(channel as u16, u32::from(die) - channel * layout.chips * layout.dies_per_chip)
                })
                .collect(),
            chip_owner: vec![u16::MAX; (layout.channels * layout.chips) as usize],
            channels: (0..layout.channels)
                .map(|channel| Channel::new(channel * layout.chips * layout.dies_per_chip))
                .collect(),
            dirty: Vec::new(),
            programs_waiting: 0,
            write_queue_full,
            ranks,
            rank_masks: die::rank_masks(&ranks),
            counters: Counters::default(),
            parts_sent: 0,
            progress_due: config.host.timeout.map_or(Time::NEVER, |span| Time::ZERO + span),
            progress_seen: 0,
            failure: None,
            read_only: None,
            becomes_read_only: false,
            probe,
            plan,
        })
    }

    /// The worked-out configuration.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        self.plan.capacity()
    }

    /// The present simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Gives the probe back.
    pub fn into_probe(self) -> P {
        self.probe
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// Tells the probe that the workload begins: what was submitted before brought the drive into its state.
    pub fn workload_begins(&mut self) {
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Begins { first: self.next_id });
        }
    }

    /// Hands a request to the host side of the device at `request.time`; returns its number.
    ///
    /// Requests must come in time order, not before the present unless others still wait in the host, and lie
    /// within the capacity. Requests that the queues have no room for wait in the host, in order.
    pub fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        // Behind an arrival that still waits in the host, a late one changes nothing.
        let earliest = if self.arrivals.is_empty() { self.last_arrival.max(self.now) } else { self.last_arrival };
        if request.time < earliest {
            return Err(RunError::BackInTime { time: request.time, earliest });
        }
        let latest = Time(self.agenda.horizon().0 / 2);
        if request.time > latest {
            return Err(RunError::BeyondHorizon { time: request.time, latest });
        }
        let end = request.offset.0.checked_add(request.bytes.0);
        let empty = request.bytes.0 == 0 && request.op != Op::Flush;
        if empty || end.is_none_or(|end| end > self.capacity().0) {
            return Err(RunError::OutOfRange {
                offset: request.offset,
                bytes: request.bytes,
                capacity: self.capacity(),
            });
        }
        let id = self.next_id;
        self.next_id += 1;
        self.last_arrival = request.time;
        self.ftl.prefetch(self.lpn_of(request.offset.0));
        if self.arrivals.is_empty() && self.stalled.is_none() {
            self.agenda.set(self.slots.arrival, request.time + self.plan.config.host.t_submit);
        }
        self.arrivals.push_back((id, request));
        Ok(id)
    }

    /// Plays everything that happens up to and including `time`.
    pub fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, Stop::Never)?;
        self.now = self.now.max(time);
        Ok(())
    }

    /// Plays until requests complete, or until nothing happens up to `limit`; returns whether any completed.
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Completion)?;
        Ok(!self.completions.is_empty())
    }

    /// Plays until fewer than `pending` arrivals wait, or until nothing happens up to `limit`; returns whether so few
    /// wait. Time does not go on from there: what is submitted next is not too late.
    pub fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Arrivals(pending))?;
        Ok(self.arrivals.len() < pending)
    }

    #[inline]
    fn stops(&self, stop: Stop) -> bool {
        self.failure.is_some()
            || match stop {
                Stop::Never => false,
                Stop::Completion => !self.completions.is_empty(),
                Stop::Arrivals(pending) => self.arrivals.len() < pending,
            }
    }

    fn play(&mut self, limit: Time, stop: Stop) -> Result<(), RunError> {
        if self.stops(stop) {
            return self.failure.clone().map_or(Ok(()), Err);
        }
        let horizon = self.agenda.horizon();
        while let Some((time, slot)) = self.next_event(limit).or_else(|| self.event_after_wear_out(limit))
            && time <= limit
        {
            if time == horizon {
                // Work takes so long that time runs out.
                self.failure = Some(RunError::BeyondHorizon { time, latest: horizon });
                break;
            }
            self.now = time;
            self.counters.events += 1;
            if time >= self.progress_due && !self.progresses() {
                break;
            }
            if slot < self.slots.bus {
                self.on_decoded(slot);
            } else if slot < self.slots.die {
                self.on_bus(slot - self.slots.bus);
            } else if slot < self.slots.write_arrivals {
                self.on_die(slot - self.slots.die);
            } else if slot == self.slots.arrival {
                self.on_arrival();
            } else if slot == self.slots.write_arrivals {
                self.on_write_data();
            } else if slot == self.slots.read_completions {
                self.on_read_completion();
            } else if slot == self.slots.write_completions {
                self.on_write_completion();
            } else {
                self.on_patrol();
            }
            if std::mem::take(&mut self.becomes_read_only) {
                self.refuse_writes();
            }
            if P::EXPLAINS {
                let (requests, buffered) = (self.commands.len() as u32, self.buffer.in_use());
                self.probe.explain(time, Event::State { requests, buffered });
            }
            if self.stops(stop) {
                break;
            }
        }
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Nothing is going to happen. Where commands, or buffered pages that shall go, wait because of blocks that have failed, the
    /// drive's life has ended: the next event, if it goes on as a read-only one.
    #[cold]
    fn event_after_wear_out(&mut self, limit: Time) -> Option<(Time, usize)> {
        let waits = self.commands.len() > 0 || (self.draining && self.buffer.in_use() > 0);
        if !waits || self.worn_out().is_none() || self.end_of_life().is_some() {
            return None;
        }
        self.wear_out();
        if std::mem::take(&mut self.becomes_read_only) {
            self.refuse_writes();
        }
        self.next_event(limit)
    }

    /// Whether commands have made progress since this was asked last, or there are none; otherwise the device has failed.
    #[cold]
    fn progresses(&mut self) -> bool {
        let Some(span) = self.plan.config.host.timeout else { return true };
        let counters = &self.counters;
        let seen = counters.requests_completed + counters.user_pages_programmed + self.parts_sent;
        let done = seen != self.progress_seen || self.commands.len() == 0;
        (self.progress_seen, self.progress_due) = (seen, self.now + span);
        if !done {
            let busy = format!("{} commands wait; {}", self.commands.len(), self.busy_with());
            self.failure = Some(RunError::NoProgress { time: self.now, span, busy });
        }
        done
    }

    /// What the drive is doing, in words.
    fn busy_with(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (cause, (_, what)) in relocation_causes::CAUSES.iter().enumerate() {
            let planes = self.relocations.iter().filter(|relocation| relocation.relocates_for(cause)).count();
            let blocks = self.counters.blocks_relocated[cause];
            if blocks > 0 {
                parts.push(format!("{what} runs on {planes} planes ({blocks} blocks so far)"));
            }
        }
        let busy = self.dies.iter().filter(|die| die.works()).count();
        parts.push(format!("{busy} of {} dies work", self.dies.len()));
        parts.join(", ")
    }

    /// The next event, a visit for refresh included: these go on for ever, so they come only up to a
    /// time that was asked for, or while something happens to requests.
    #[inline]
    fn next_event(&self, limit: Time) -> Option<(Time, usize)> {
        let next = self.agenda.peek();
        if self.patrol == Time::NEVER {
            return next;
        }
        let endless = limit == Time::NEVER && (next.is_none() || self.outstanding().0 == 0);
        let until = next.map_or(limit, |(time, _)| time);
        if self.patrol < until && !endless { Some((self.patrol.max(self.now), usize::MAX)) } else { next }
    }

    /// Takes the requests that have completed, in order of completion.
    pub fn take_completions(&mut self) -> std::vec::Drain<'_, Completion> {
        self.completions.drain(..)
    }

    /// Requests that were submitted and have not completed, and arrivals among them that still wait in the host.
    pub fn outstanding(&self) -> (u64, u64) {
        (self.commands.len() as u64 + self.arrivals.len() as u64, self.arrivals.len() as u64)
    }

    /// Submitted requests that have not arrived at the device yet: what a caller keeps small.
    pub fn pending_arrivals(&self) -> usize {
        self.arrivals.len()
    }

    /// Whether nothing is going to happen until a request is submitted.
    pub fn idle(&self) -> bool {
        self.agenda.peek().is_none()
    }

    /// When too few good blocks were left, if that has come.
    pub fn end_of_life(&self) -> Option<Time> {
        match self.failure {
            Some(RunError::EndOfLife { time, .. }) => Some(time),
            _ => self.read_only,
        }
    }

    /// Pages in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.in_use()
    }

    /// Writes everything buffered to flash and plays until all is idle.
    pub fn flush(&mut self) -> Result<(), RunError> {
        self.advance_all()?;
        let before = std::mem::replace(&mut self.draining, true);
        self.destage_all();
        let played = self.advance_all();
        self.draining = before;
        played
    }

    fn advance_all(&mut self) -> Result<(), RunError> {
        self.play(Time::NEVER, Stop::Never)
    }

    /// Counts of what has happened since the start.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.pages_programmed = self.ftl.blocks.pages_programmed;
        counters
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Valid pages of the blocks that were collected.
    pub fn victims(&self) -> &Victims {
        &self.victims
    }

    /// Erases in the run of every block that the factory found good.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        self.ftl.blocks.erases()
    }

    /// Free blocks: of all planes, and of the plane that has the fewest.
    pub fn free_blocks(&self) -> (u64, u32) {
        let free = (0..self.plan.layout.planes).map(|plane| self.ftl.blocks.free(PlaneId(plane)));
        free.fold((0, u32::MAX), |(sum, least), free| (sum + u64::from(free), least.min(free)))
    }

    /// Of each plane, the pages programmed since the start, and those of host data among them.
    pub(crate) fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        let planes = self.relocations.iter().zip((0..).map(PlaneId));
        planes.map(|(relocation, plane)| (self.ftl.blocks.all_taken(plane), relocation.host_pages)).collect()
    }

    /// Where the time of every resource has gone since the start.
    pub fn usage(&self) -> Usage {
        let now = self.now;
        let decoders = u64::from(self.plan.config.ecc.decoders);
        Usage {
            elapsed: now.since(Time::ZERO),
            dies: self.dies.iter().map(|die| die.meter.at(now)).collect(),
            channels: self.channels.iter().map(|channel| channel.meter.at(now)).collect(),
            decoders: self.channels.iter().map(|c| Span(c.ecc.busy_until(now).0 / decoders)).collect(),
            host: self.host_meter.at(now)[1],
            link_in: self.link_in.busy_until(now),
            link_out: self.link_out.busy_until(now),
            dram: self.dram.busy_until(now),
        }
    }

    /// The wear of every block, as P/E cycles of conventional erases that would have left as much stress; where erases go pulse by
    /// pulse.
    pub fn effective_pec(&self) -> Option<impl Iterator<Item = f64>> {
        let usable = |plane| {
            let (in_service, retired) = self.ftl.blocks.in_service(plane);
            (in_service + retired) as usize
        };
        let planes = (0..self.plan.layout.planes).map(PlaneId);
        let lives = self.ftl.wear.as_ref()?;
        Some(planes.flat_map(move |plane| lives.cycles(plane).take(usable(plane))))
    }

    /// The conditions under which a page's flash copy would be read now, if it has one.
    pub fn conditions(&self, lpn: Lpn) -> Option<Conditions> {
        self.flash_version(lpn).map(|ppn| self.ftl.conditions(ppn, self.now, &self.plan).0)
    }

    /// The flash page that holds the newest data of a page that is on flash, if any is.
    pub fn flash_page(&self, lpn: Lpn) -> Option<units::Ppn> {
        self.flash_version(lpn)
    }

    /// Checks the conservation laws that hold at every moment between events. Cheap: for every run.
    pub fn check(&self) -> Result<(), String> {
        let now = self.now;
        let elapsed = now.since(Time::ZERO);
        let counters = self.counters();
        let (outstanding, _) = self.outstanding();
        if counters.requests_completed + outstanding != self.next_id {
            return Err(format!(
                "{} requests came in, {} completed and {outstanding} are outstanding",
                self.next_id, counters.requests_completed
            ));
        }
        for (name, sums) in [
            ("die", self.dies.iter().map(|d| d.meter.at(now).into_iter().sum()).collect::<Vec<Span>>()),
            ("channel", self.channels.iter().map(|c| c.meter.at(now).into_iter().sum()).collect()),
        ] {
            if let Some((index, sum)) = sums.iter().enumerate().find(|(_, sum)| **sum != elapsed) {
                return Err(format!("{name} {index} accounts for {} ns of {} ns", sum.0, elapsed.0));
            }
        }
        let pooled: u32 = self.pools.iter().map(|pool| pool.len).sum();
        if self.quiet() && self.ops.len() != pooled as usize {
            return Err(format!("{} page operations are left over", self.ops.len()));
        }
        if self.outstanding().0 == 0 && self.buffer.waiters.len() > 0 {
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
            + counters.pages_failed;
        let under_way = self.ftl.blocks.pending();
        if done + under_way != programmed {
            return Err(format!(
                "{programmed} pages were programmed, {done} have a purpose and {under_way} are under way"
            ));
        }
        self.check_relocations()?;
        if self.failure.is_none() {
            self.check_schedule()?;
        }
        let codewords = counters.bytes_read % self.plan.config.ecc.codeword.0;
        if codewords != 0 {
            return Err(format!("{} bytes left the dies, not whole codewords", counters.bytes_read));
        }
        Ok(())
    }

    /// Whether no page is on its way anywhere but from the write buffer, where units may wait for company.
    fn quiet(&self) -> bool {
        self.outstanding().0 == 0
            && self.idle()
            && self.buffer.in_use() == self.buffer.dirty_pages
            && self.progress == 0
            && self.relocations.iter().all(PlaneRelocation::rests)
            && self.map.quiet()
    }

    /// Checks every logical page against every physical page. Slow: for tests, at any moment between events.
    pub fn check_mapping(&self) -> Result<(), String> {
        self.ftl.check(&self.plan, |lpn| self.flash_version(lpn))
    }

    fn flash_version(&self, lpn: Lpn) -> Option<units::Ppn> {
        match self.ftl.locate(lpn) {
            Location::Unmapped => None,
            Location::Flash(ppn) => Some(ppn),
            Location::Buffer(slot) => self.newest_flash_copy(slot),
        }
    }

    #[inline]
    fn lpn_of(&self, offset: u64) -> Lpn {
        Lpn((offset >> self.plan.layout.page_size.0.trailing_zeros()) as u32)
    }

    #[inline]
    fn number(&mut self) -> u64 {
        self.next_seq += 1;
        self.next_seq
    }

    #[inline]
    fn schedule(&mut self, slot: usize, time: Option<Time>) {
        match time {
            Some(time) => self.agenda.set(slot, time),
            None => self.agenda.clear(slot),
        }
    }
}

/// The part of a request that lies in its `index`-th page: page, first byte in it, byte after the last.
#[inline]
fn part(request: &Request, page_size: u64, index: u32) -> (Lpn, u32, u32) {
    let shift = page_size.trailing_zeros();
    let lpn = (request.offset.0 >> shift) + u64::from(index);
    let start = lpn << shift;
    let from = request.offset.0.max(start) - start;
    let to = (request.offset.0 + request.bytes.0).min(start + page_size) - start;
    (Lpn(lpn as u32), from as u32, to as u32)
}

/// Pages that a request touches.
#[inline]
fn parts(request: &Request, page_size: u64) -> u32 {
    let shift = page_size.trailing_zeros();
    (((request.offset.0 + request.bytes.0 - 1) >> shift) - (request.offset.0 >> shift) + 1) as u32
}

const _: () = assert!(size_of::<PageOp>() <= 64, "a page operation fits a cache line");
