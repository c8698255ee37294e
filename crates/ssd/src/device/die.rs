//! The dies: what each may start, what it is doing, and its planes' registers.
//!
//! A die runs one program or erase at a time, or senses on its planes. A sensed page stands in its plane's
//! page register; with a cache register it moves on at once, or as soon as that register is empty, so that
//! the plane can sense again. Without one it stays until it has left over the bus.
//!
//! A program takes its data into empty registers: into the cache registers while another program or erase
//! runs (`chip.cache_program`), unless an operation that the scheduling order prefers waits for the die.

mod erase;
mod pick;
mod retry;
mod suspend;

use nand::{Address, DieId, PlaneReads};
use schemes::{Class, Order};
use units::{Lpn, Ppn, Span, Time};

use super::Device;
use crate::arena::{List, OpId};
use crate::config::Config;
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::{channel, die};
use crate::op::{Fate, Owner, PageOp, Queue, Sense};
use crate::phases::{Phases, slower};
use crate::write_class;
use retry::Reservation;
use suspend::Work;

/// Queues are numbered row x 8 + plane, so that a set of queues is one word. Rows: host reads, the drive's own
/// reads, programs by lane, erases.
pub(super) const PLANES: usize = nand::geometry::MAX_PLANES as usize;
const QUEUES: usize = 8 * PLANES;
const READS: u64 = 0xFFFF;
const HOST_PROGRAMS: u64 = 0xFFFF << 16;
const PROGRAMS: u64 = 0xFF_FFFF_FFFF << 16;
const ERASES: u64 = 0xFF << 56;
/// Everything of the drive's own.
const INTERNAL: u64 = 0xFF << 8 | (PROGRAMS & !HOST_PROGRAMS) | ERASES;
/// The row of lane 0, and of erases.
const FIRST_WRITE_CLASS: usize = 2;
const ERASE_ROW: usize = FIRST_WRITE_CLASS + write_class::COUNT;
const _: () = assert!(ERASE_ROW * PLANES + PLANES == QUEUES && QUEUES == 64);

/// The queue of a lane's programs on a plane.
fn program_queue(write_class: usize, plane: usize) -> usize {
    (FIRST_WRITE_CLASS + write_class) * PLANES + plane
}

/// The lane of a queue of programs.
fn write_class_of(queue: usize) -> usize {
    queue / PLANES - FIRST_WRITE_CLASS
}

/// The queues of each rank.
pub(super) fn rank_masks(ranks: &[u8; Class::COUNT]) -> Vec<u64> {
    let levels = usize::from(*ranks.iter().max().expect("Invariant: there are classes")) + 1;
    let mut masks = vec![0; levels];
    for class in Class::ALL {
        masks[usize::from(ranks[class as usize])] |= match class {
            Class::UserRead => suspend::USER_READS,
            Class::InternalRead => 0xFF << 8,
            Class::UserProgram => HOST_PROGRAMS,
            Class::InternalProgram => PROGRAMS & !HOST_PROGRAMS,
            Class::Erase => ERASES,
        };
    }
    masks
}

/// The rank of each class: behind a full write queue no read passes a write, as under FIFO.
pub(super) fn ranks(config: &Config, write_queue_full: bool) -> [u8; Class::COUNT] {
    if write_queue_full { Order::Fifo.ranks() } else { config.schedule.order.ranks() }
}

/// Pages that are programmed by one command, and where they go.
#[derive(Clone, Copy)]
struct Program {
    /// Page operations, linked.
    ops: OpId,
    planes: u8,
    /// When the data is in the registers.
    ready: Time,
    /// How long the die senses pages that it copies back before it programs them.
    sensing: Span,
}

#[derive(Clone, Copy)]
enum Active {
    Program(Program),
    /// Blocks that were reclaimed: operations, linked.
    Erase(OpId),
    /// The blocks that a lane's stream has just opened on these planes.
    EraseOpened(usize, u8),
}

pub(super) struct DieState {
    queues: [Queue; QUEUES],
    /// Queues with something to start: reads, erases, and programs that have room and whose unit is full or must go
    /// as it is.
    ready: u64,
    /// Queues of programs with anything in them.
    waiting: u64,
    /// Of these, those whose unit is full or must go as it is, whether there is room for it or not.
    whole: u64,
    /// Those whose partly filled unit must go.
    flush_partial: u64,
    /// Planes that sense, whose page register is full, whose cache register is full.
    sensing: u8,
    page_full: u8,
    cache_full: u8,
    /// The read in each plane's page register, or on its way into it, and when its sense ends.
    page_op: [Option<OpId>; PLANES],
    sensed_at: [Time; PLANES],
    active: Option<(Active, Time)>,
    /// When the active operation lets reads go first.
    suspend_pending: Option<Time>,
    /// When the pulses of the active operation begin, if a read waits for them.
    pulses_begin: Option<Time>,
    /// An operation that has let reads go first.
    suspended: Option<Active>,
    /// How far the active or suspended operation has come.
    work: Work,
    /// Its phases, where they are not those of every operation of its kind.
    phases: Option<Phases>,
    /// The reads whose retries it is held for.
    reserved: Reservation,
    /// Reads that have been sensed and may have to be sensed again: age and plane. Where reads can fail.
    reads_in_progress: Vec<(u64, u8)>,
    /// A program whose data is in, or on its way into, the cache registers.
    loaded: Option<Program>,
    /// Collections on the die's planes that nothing else may interrupt.
    pub exclusive: u32,
    /// A block has begun to move for refresh or read reclaim, and nothing of the host's since then.
    pub host_is_next: bool,
    /// When background collection starts, if the die stays idle.
    idle_until: Option<Time>,
    dirty: bool,
    /// What the die would start next, as of its last review.
    picked: Pick,
    /// The die's event in the agenda.
    event: Option<Time>,
    pub channel: u16,
    /// The die as a set of its channel's dies.
    pub bit: u64,
    pub meter: Meter<{ die::CAUSES.len() }>,
    /// What it waits for while it is idle: 0 for nothing, else 1 and up by `die::WAITS`. Kept for probes that explain.
    waits: Meter<{ die::WAITS.len() + 1 }>,
}

/// What a die wants the bus for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BusRequest {
    Nothing,
    Command,
    Data,
}

/// What a die would start next: the queue that leads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    Nothing,
    Read(usize),
    Program(usize),
    Erase(usize),
    /// Sends the data of a suspended program again.
    Resume,
}

/// Rank and age: the smaller goes first.
type Priority = (u8, u64);

impl DieState {
    pub fn new(channel: u16, place: u32) -> DieState {
        DieState {
            queues: [Queue::EMPTY; QUEUES],
            ready: 0,
            waiting: 0,
            whole: 0,
            flush_partial: 0,
            sensing: 0,
            page_full: 0,
            cache_full: 0,
            page_op: [None; PLANES],
            sensed_at: [Time::NEVER; PLANES],
            active: None,
            suspend_pending: None,
            pulses_begin: None,
            suspended: None,
            work: Work::default(),
            phases: None,
            reserved: Reservation::default(),
            reads_in_progress: Vec::new(),
            loaded: None,
            exclusive: 0,
            host_is_next: false,
            idle_until: None,
            dirty: false,
            picked: Pick::Nothing,
            event: None,
            channel,
            bit: 1 << place,
            meter: Meter::new(),
            waits: Meter::new(),
        }
    }

    /// Where its time has gone.
    fn spent(&self, now: Time) -> die::Spent {
        let (causes, waits) = (self.meter.at(now), self.waits.at(now));
        let mut spent = [Span::ZERO; die::SPENT];
        spent[..causes.len()].copy_from_slice(&causes);
        spent[causes.len()..].copy_from_slice(&waits[1..]);
        let waited: u64 = waits[1..].iter().map(|span| span.0).sum();
        spent[die::IDLE] = Span(causes[die::IDLE].0 - waited);
        spent
    }

    /// The queue among `set` whose head goes first.
    #[inline]
    fn first(&self, set: u64, rank_masks: &[u64]) -> Option<(Priority, usize)> {
        let (rank, mut queues) =
            rank_masks.iter().map(|mask| set & mask).enumerate().find(|(_, queues)| *queues != 0)?;
        let mut best = (u64::MAX, 0);
        while queues != 0 {
            let queue = queues.trailing_zeros() as usize;
            queues &= queues - 1;
            best = best.min((self.queues[queue].head_seq, queue));
        }
        Some(((rank as u8, best.0), best.1))
    }

    pub fn has_host_programs(&self) -> bool {
        self.waiting & HOST_PROGRAMS != 0
    }

    /// Whether a read or a program of the host's waits for nothing but its turn.
    pub fn host_waits(&self) -> bool {
        self.ready & (suspend::USER_READS | HOST_PROGRAMS) != 0
    }

    /// Whether its array does anything.
    pub fn works(&self) -> bool {
        !self.array_idle()
    }

    fn array_idle(&self) -> bool {
        self.active.is_none() && self.suspended.is_none() && self.sensing == 0
    }

    /// The next time that something ends in the array.
    fn next_end(&self) -> Option<Time> {
        let active = self.active.map(|(_, end)| end);
        let sensed = planes(self.sensing).map(|plane| self.sensed_at[plane]).min();
        active
            .into_iter()
            .chain(sensed)
            .chain(self.suspend_pending)
            .chain(self.pulses_begin)
            .chain(self.idle_until)
            .min()
    }
}

/// The planes of a set.
#[inline]
pub(super) fn planes(set: u8) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let plane = left.trailing_zeros() as usize;
            left &= left - 1;
            plane
        })
    })
}

impl<P: Probe> Device<P> {
    /// Queues a page to be sensed.
    #[inline]
    pub(super) fn queue_read(&mut self, class: Class, owner: Owner, lpn: Lpn, ppn: Ppn, bytes: (u32, u32)) {
        self.ftl.blocks.prefetch(ppn);
        let (die, plane) = self.plan.layout.die_of(self.plan.layout.plane_of(ppn));
        let seq = self.number();
        let (bus_bytes, host_bytes) = bytes;
        let op = PageOp {
            next: None,
            owner,
            lpn,
            ppn,
            bus_bytes,
            host_bytes,
            die,
            plane,
            class,
            write_class: 0,
            seq,
            sense: Sense::FIRST,
        };
        let op = self.ops.insert(op);
        let queue = class as usize * PLANES + usize::from(plane);
        self.waits(op);
        let state = &mut self.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

    /// Counts the pages of host data that wait for their program, and keeps the order that goes with their number.
    pub(super) fn count_waiting(&mut self, programs: u32) {
        self.programs_waiting = programs;
        let full = self.plan.config.schedule.write_queue.is_some_and(|most| programs >= most);
        if full != self.write_queue_full {
            self.write_queue_full = full;
            self.ranks = ranks(&self.plan.config, full);
            self.rank_masks = rank_masks(&self.ranks);
            (0..self.dies.len() as u16).for_each(|die| self.mark_dirty(DieId(die)));
        }
    }

    /// Tells the probe that a part of a host read waits for its die.
    #[inline]
    fn waits(&mut self, op: OpId) {
        let PageOp { owner, seq, sense, die, .. } = self.ops[op];
        if P::EXPLAINS
            && let Owner::Host(command) = owner
        {
            let spent = self.dies[usize::from(die.0)].spent(self.now);
            let request = self.commands[command].id;
            self.probe.explain(self.now, Event::Waits { request, part: seq, attempt: sense.attempt, spent });
        }
    }

    /// Queues a page to be programmed on a plane of a die.
    pub(super) fn queue_program(&mut self, op: OpId) {
        let (die, plane, write_class) = (self.ops[op].die, self.ops[op].plane, self.ops[op].write_class);
        let queue = program_queue(write_class.into(), plane.into());
        let state = &mut self.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.ops, op);
        state.waiting |= 1 << queue;
        self.update_eligibility(usize::from(die.0), queue);
        self.mark_dirty(die);
    }

    /// Queues a block to be erased.
    pub(super) fn queue_erase(&mut self, op: OpId) {
        let (die, plane) = (self.ops[op].die, self.ops[op].plane);
        let queue = ERASE_ROW * PLANES + usize::from(plane);
        let state = &mut self.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

    /// Notes that a die may have something new to do.
    #[inline]
    pub(super) fn mark_dirty(&mut self, die: DieId) {
        let state = &mut self.dies[usize::from(die.0)];
        if !state.dirty {
            state.dirty = true;
            self.dirty.push(die.0);
        }
    }

    /// Lets every touched die say what it wants, then grants their buses.
    pub(super) fn run_scheduler(&mut self) {
        let mut start = 0;
        while start < self.dirty.len() {
            let mut end = start;
            while end < self.dirty.len() {
                // Touches the other dies of the chip: they say what they want before the bus is granted.
                self.release_chip(usize::from(self.dirty[end]));
                end += 1;
            }
            for index in start..end {
                let die = usize::from(self.dirty[index]);
                self.dies[die].dirty = false;
                self.reschedule(die);
            }
            for index in start..end {
                let channel = usize::from(self.dies[usize::from(self.dirty[index])].channel);
                self.arbitrate(channel);
            }
            start = end;
        }
        self.dirty.clear();
    }

    /// Brings a die's event, its meter and its wish for the bus up to date.
    pub(super) fn reschedule(&mut self, die: usize) {
        if self.plan.suspends {
            self.try_resume(die);
            self.consider_suspension(die);
        }
        let picked = self.pick(die);
        self.dies[die].picked = picked;
        let choice = match picked {
            Pick::Nothing => BusRequest::Nothing,
            Pick::Read(_) | Pick::Erase(_) => BusRequest::Command,
            Pick::Program(_) | Pick::Resume => BusRequest::Data,
        };
        self.request_bus(die, choice);
        if self.plan.config.gc.idle.is_some() {
            self.watch_idle(die);
        }
        let state = &self.dies[die];
        let next = state.next_end();
        if state.active.is_none() {
            let cause = if state.sensing != 0 {
                die::READ
            } else if state.page_full | state.cache_full | state.reserved.planes != 0 {
                die::HOLD
            } else {
                die::IDLE
            };
            self.die_enters(die, cause, None);
        }
        if P::EXPLAINS {
            self.note_wait(die);
        }
        if self.dies[die].event != next {
            self.dies[die].event = next;
            self.schedule(self.slots.die + die, next);
        }
    }

    /// Notes what a die waits for, if it is idle and has work.
    fn note_wait(&mut self, die: usize) {
        let state = &self.dies[die];
        let registers = state.page_full | state.cache_full | state.reserved.planes;
        let wait = if state.active.is_some() || state.sensing != 0 || registers != 0 {
            None
        } else if self.chip_taken(die) {
            Some(die::WAIT_CHIP)
        } else if state.picked != Pick::Nothing {
            Some(die::WAIT_BUS)
        } else if state.exclusive != 0 {
            Some(die::WAIT_COLLECTION)
        } else {
            None
        };
        let wait = wait.map_or(0, |wait| wait + 1 - die::CAUSES.len());
        self.dies[die].waits.enter(self.now, wait);
    }

    /// Starts or stops the clock of background collection.
    fn watch_idle(&mut self, die: usize) {
        let state = &self.dies[die];
        let registers = state.page_full | state.cache_full;
        let idle = state.array_idle() && state.ready == 0 && registers | state.reserved.planes == 0;
        let until = match state.idle_until {
            _ if !idle || !self.wants_background(DieId(die as u16)) => None,
            None => self.plan.config.gc.idle.map(|idle| self.now + idle),
            running => running,
        };
        self.dies[die].idle_until = until;
    }

    /// Checks that between events every die's wish is up to date and every bus that is wanted has an event.
    pub(super) fn check_schedule(&self) -> Result<(), String> {
        if !self.dirty.is_empty() {
            return Err(format!("dies {:?} got work and were not reviewed", self.dirty));
        }
        let pooled: u32 = self.pools.iter().map(|pool| pool.len).sum();
        let host = FIRST_WRITE_CLASS * PLANES..(FIRST_WRITE_CLASS + 2) * PLANES;
        let queued: u32 = self.dies.iter().flat_map(|die| &die.queues[host.clone()]).map(|queue| queue.len).sum();
        if pooled + queued != self.programs_waiting {
            return Err(format!(
                "{} pages wait to be programmed, {} are counted",
                pooled + queued,
                self.programs_waiting
            ));
        }
        for (die, state) in self.dies.iter().enumerate() {
            let pick = self.pick(die);
            if state.suspended.is_some() && state.active.is_some() {
                return Err(format!("die {die} runs one operation while another is suspended"));
            }
            if state.suspended.is_some() && self.idle() {
                return Err(format!("die {die} will never go on with what it has suspended"));
            }
            if self.reserved_for_ever(die) {
                return Err(format!("die {die} is held for a retry that will never end"));
            }
            if pick != state.picked {
                return Err(format!("die {die} would start {pick:?} and stands at {:?}", state.picked));
            }
        }
        for (index, channel) in self.channels.iter().enumerate() {
            if channel.forgotten(self.plan.config.ecc.buffer) {
                return Err(format!("the bus of channel {index} is wanted and nothing will grant it"));
            }
        }
        Ok(())
    }

    /// Starts the read or erase that the die picks. The bus is free.
    pub(super) fn start_command(&mut self, die: usize) {
        match self.dies[die].picked {
            Pick::Read(queue) => self.start_sense(die, queue),
            Pick::Erase(queue) if queue >= ERASE_ROW * PLANES => self.start_erase(die, queue),
            Pick::Erase(queue) => self.start_erase_opened(die, queue),
            Pick::Nothing | Pick::Program(_) | Pick::Resume => {
                unreachable!("Invariant: a die's wish is reviewed whenever it changes")
            }
        }
        self.take_chip(die);
        self.reschedule(die);
    }

    fn start_sense(&mut self, die: usize, lead: usize) {
        let layout = self.plan.layout;
        let state = &self.dies[die];
        let place = layout.page_of(self.ops[state.queues[lead].first()].ppn);
        let mut joined = [usize::MAX; PLANES];
        let mut count = 1;
        joined[0] = lead;
        if self.plan.config.chip.plane_reads == PlaneReads::Lockstep {
            let first = self.ops[state.queues[lead].first()].sense;
            // A suspended die senses for users alone.
            let queues = if state.suspended.is_some() { suspend::USER_READS } else { READS };
            for plane in planes(!state.page_full)
                .filter(|plane| *plane != lead % PLANES && *plane < layout.planes_per_die as usize)
            {
                let here = state.ready & queues & (1 << plane | 1 << (plane + PLANES));
                if let Some((_, queue)) = state.first(here, &self.rank_masks)
                    && layout.page_of(self.ops[state.queues[queue].first()].ppn) == place
                    && self.ops[state.queues[queue].first()].sense.goes_with(&first)
                {
                    joined[count] = queue;
                    count += 1;
                }
            }
        }
        let channel = usize::from(state.channel);
        let mut start = self.occupy(channel, self.plan.config.bus.t_command * count as u64, channel::COMMAND);
        // Planes that sense together end together: with the slowest of them, whose timing the die has.
        let (mut t_read, mut shorter) = (Span::ZERO, u32::MAX);
        for queue in &joined[..count] {
            let id = self.dies[die].queues[*queue].first();
            if self.outcomes.is_none() {
                t_read = t_read.max(self.plan.timings.read(&layout, self.ops[id].ppn));
                continue;
            }
            if !self.ops[id].sense.is_retry() {
                self.ops[id].sense = self.first_sense(id);
            }
            let (took, less) = self.sense_time(id);
            (t_read, shorter) = (t_read.max(took), shorter.min(less));
            if self.ops[id].sense.is_retry() {
                self.hold(id);
            } else {
                let (seq, plane) = (self.ops[id].seq, self.ops[id].plane);
                self.dies[die].reads_in_progress.push((seq, plane));
            }
            self.ops[id].sense.took = took.0 as u32;
        }
        let first = self.ops[self.dies[die].queues[lead].first()].sense;
        if self.outcomes.is_some() && self.plan.config.read.predictor.looks_on_die(first.is_repeat()) {
            self.counters.predicting_ns += self.plan.config.read.t_pred.0;
        }
        if shorter != u32::MAX {
            start = start + self.set_timing(die, shorter);
        }
        let end = start + t_read;
        let state = &mut self.dies[die];
        for queue in &joined[..count] {
            let op = state.queues[*queue].pop(&mut self.ops).expect("Invariant: ready queues are not empty");
            if state.queues[*queue].is_empty() {
                state.ready &= !(1 << queue);
            }
            let plane = queue % PLANES;
            state.sensing |= 1 << plane;
            state.page_op[plane] = Some(op);
            state.sensed_at[plane] = end;
            if P::EXPLAINS {
                let PageOp { seq: part, ppn, sense, .. } = self.ops[op];
                let (attempt, spent, what) = (sense.attempt, state.spent(self.now), self.ops[op].purpose());
                let event = Event::Senses { part, attempt, begins: start, ends: end, spent, ppn, what };
                self.probe.explain(self.now, event);
            }
            self.probe.sense(start, end, DieId(die as u16), self.ops[op].ppn);
        }
        if joined[..count].iter().any(|queue| suspend::USER_READS >> queue & 1 != 0) {
            self.host_was_next(die);
        }
    }

    /// Opens blocks where the stream's present ones are full.
    fn make_room(&mut self, die: usize, set: u8, write_class: usize) {
        let stream = usize::from(self.plan.space.stream[write_class]);
        for plane in planes(set) {
            let id = self.plan.layout.plane(DieId(die as u16), plane as u8);
            if self.ftl.blocks.make_room(id, stream) {
                // Other streams that could have opened that block may have to wait now.
                self.update_plane_eligibility(DieId(die as u16), plane as u8);
                self.collect(id);
            }
        }
    }

    /// Starts to move the data of the program that the die picks. The bus is free.
    pub(super) fn start_program(&mut self, die: usize) {
        if self.dies[die].picked == Pick::Resume {
            return self.send_again(die);
        }
        let Pick::Program(lead) = self.dies[die].picked else {
            unreachable!("Invariant: a die's wish is reviewed whenever it changes")
        };
        let set = self.plane_group(die, lead, false);
        let write_class = write_class_of(lead);
        self.make_room(die, set, write_class);
        let copyback = self.copies_back(lead);
        let (ops, pages, sensing) = self.gather(die, set, write_class, copyback);
        let commands = self.plan.config.bus.t_command * u64::from(set.count_ones());
        let channel = usize::from(self.dies[die].channel);
        let ready = if copyback {
            self.counters.pages_copied_back += pages;
            // A command to sense and one to program.
            self.occupy(channel, commands * 2, channel::COMMAND)
        } else {
            self.counters.pages_transferred_in += pages;
            let page = self.plan.layout.page_size.0 as u32;
            self.occupy(channel, commands + self.plan.t_dma(page) * pages, channel::WRITE_DATA)
        };
        let program = Program { ops, planes: set, ready, sensing };
        let of_host = HOST_PROGRAMS >> lead & 1 != 0;
        self.progress += u32::from(of_host);
        if self.dies[die].active.is_some() {
            self.dies[die].loaded = Some(program);
        } else {
            self.run_program(die, program);
        }
        self.take_chip(die);
        self.reschedule(die);
        if of_host {
            self.host_was_next(die);
        }
        self.dispatch_pools();
    }

    /// Takes a unit of pages from a lane's queues of each plane of a set and gives them their physical pages; returns
    /// the linked operations, how many pages the command programs, padding included, and how long it senses the
    /// pages that it copies back.
    fn gather(&mut self, die: usize, set: u8, write_class: usize, copyback: bool) -> (OpId, u64, Span) {
        let (mut ops, mut pages, mut sensing) = (List::EMPTY, 0, Span::ZERO);
        let stream = usize::from(self.plan.space.stream[write_class]);
        for plane in planes(set) {
            let physical = self.plan.layout.plane(DieId(die as u16), plane as u8);
            let queue = program_queue(write_class, plane);
            let mut here = Span::ZERO;
            for _ in 0..self.plan.unit_pages {
                pages += 1;
                let Some(op) = self.dies[die].queues[queue].pop(&mut self.ops) else {
                    self.ftl.blocks.take_page(physical, stream, None, self.now);
                    self.counters.pages_padded += 1;
                    continue;
                };
                self.ops[op].ppn = self.ftl.blocks.take_page(physical, stream, Some(self.ops[op].lpn), self.now);
                self.prefetch_program_end(op);
                match self.ops[op].owner {
                    Owner::Slot(slot) => {
                        self.count_waiting(self.programs_waiting - 1);
                        self.relocations[physical.0 as usize].host_pages += 1;
                        self.settle(slot);
                    }
                    Owner::Relocation(source) if copyback => here += self.plan.timings.read(&self.plan.layout, source),
                    _ => {}
                }
                ops.push(&mut self.ops, op);
            }
            sensing = sensing.max(here);
            let state = &mut self.dies[die];
            if state.queues[queue].is_empty() {
                state.waiting &= !(1 << queue);
                state.flush_partial &= !(1 << queue);
            }
            self.update_eligibility(die, queue);
            self.update_plane_eligibility(DieId(die as u16), plane as u8);
        }
        (ops.first().expect("Invariant: a program has a page"), pages, sensing)
    }

    /// tPROG of a program over the nominal one: of the slowest of its blocks.
    fn program_factor(&self, program: Program) -> f64 {
        let mut factor: f64 = 1.0;
        let Some(lives) = &self.ftl.wear else { return factor };
        let mut next = Some(program.ops);
        while let Some(op) = next {
            let Address { plane, block, .. } = self.plan.layout.unpack(self.ops[op].ppn);
            let pec = self.ftl.blocks.cycles(plane, block, &self.plan);
            factor = factor.max(lives.eraser().scheme.voltage.program_factor(pec));
            next = self.ops[op].next;
        }
        factor
    }

    #[inline]
    fn run_program(&mut self, die: usize, program: Program) {
        let start = program.ready.max(self.now);
        let factor = self.program_factor(program);
        let t_prog = slower(self.plan.timings.program, factor);
        let phases = self.plan.program_phases.as_ref().filter(|_| factor != 1.0).map(|phases| phases.slower(factor));
        let end = start + program.sensing + phases.as_ref().map_or(t_prog, Phases::total);
        let state = &mut self.dies[die];
        state.phases = phases;
        state.active = Some((Active::Program(program), end));
        let runs_from = start + program.sensing;
        state.work = Work { reads_in_progress: runs_from, runs_from, ..Work::default() };
        self.die_enters(die, die::LOAD, Some((start, die::PROGRAM)));
        if P::EXPLAINS {
            let (pages, what) = (self.plan.unit_pages * program.planes.count_ones(), self.ops[program.ops].purpose());
            self.probe.explain(self.now, Event::Programs { pages, what });
        }
        self.probe.program(start, end, DieId(die as u16), program.planes);
        self.tell_phases(die);
    }

    /// A die's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    fn die_enters(&mut self, die: usize, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.dies[die].meter;
        match until {
            None => meter.enter(self.now, cause),
            Some((end, next)) => meter.enter_until(self.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Die { die: DieId(die as u16), cause, until });
        }
    }

    /// Something in the array has ended, or the die has been idle for long.
    pub(super) fn on_die(&mut self, die: usize) {
        self.dies[die].pulses_begin = self.dies[die].pulses_begin.filter(|at| *at > self.now);
        if self.dies[die].suspend_pending.is_some_and(|at| at <= self.now) {
            self.suspended(die);
        }
        if let Some((active, end)) = self.dies[die].active
            && end <= self.now
        {
            self.dies[die].active = None;
            self.counters.operations += 1;
            self.count_suspended(die, active);
            match active {
                Active::Program(program) => {
                    self.progress -= u32::from(self.ops[program.ops].class == Class::UserProgram);
                    self.program_ended(die, program);
                }
                Active::Erase(ops) => self.reclaimed_erased(ops),
                Active::EraseOpened(write_class, set) => self.opened_erased(die, write_class, set),
            }
            if let Some(program) = self.dies[die].loaded.take() {
                self.run_program(die, program);
            }
        }
        for plane in planes(self.dies[die].sensing) {
            if self.dies[die].sensed_at[plane] <= self.now {
                self.sensed(die, plane);
            }
        }
        if self.dies[die].idle_until.is_some_and(|until| until <= self.now) {
            self.dies[die].idle_until = None;
            self.collect_in_background(DieId(die as u16));
        }
        self.mark_dirty(DieId(die as u16));
        self.dispatch_pools();
        self.fetch_writes();
        self.run_scheduler();
    }

    fn program_ended(&mut self, die: usize, program: Program) {
        let failed = self.failed_programs(program.planes);
        let mut next = Some(program.ops);
        while let Some(op) = next {
            next = self.ops[op].next;
            if failed >> self.ops[op].plane & 1 != 0 {
                self.program_failed(op);
                continue;
            }
            match self.ops[op].owner {
                Owner::Slot(slot) => self.programmed(op, slot),
                Owner::Relocation(source) => self.moved(op, source),
                Owner::MapRewrite(page) => self.map_rewritten(op, page),
                Owner::Host(_) | Owner::MapFetch(_) | Owner::Erase => {
                    unreachable!("Invariant: nothing else is programmed")
                }
            }
        }
        for plane in planes(program.planes) {
            self.collect(self.plan.layout.plane(DieId(die as u16), plane as u8));
        }
    }

    /// A plane's page register holds a sensed page.
    fn sensed(&mut self, die: usize, plane: usize) {
        let state = &mut self.dies[die];
        let bit = 1 << plane;
        state.sensing &= !bit;
        let Some(op) = state.page_op[plane] else {
            // The die was reset, or its timing set back.
            return self.release_plane(die, plane);
        };
        self.counters.senses += 1;
        if self.ops[op].sense.fate == Fate::Cancelled {
            return self.ops.release(op);
        }
        if self.outcomes.is_some()
            && let Some(longer) = self.decide_outcome(op)
        {
            let state = &mut self.dies[die];
            state.sensing |= bit;
            state.sensed_at[plane] = self.now + longer;
            return;
        }
        let state = &mut self.dies[die];
        let retry = self.ops[op].sense.is_retry();
        // A suspended die whose next program's data is in the cache registers reads without them.
        let caches = self.plan.config.chip.cache_read || self.plan.config.read.pipeline.speculates(retry);
        let caches = caches && state.loaded.is_none();
        if caches && state.cache_full & bit == 0 {
            state.cache_full |= bit;
        } else {
            state.page_full |= bit;
        }
        // What comes behind a page in the cache register waits for it.
        if state.page_full & state.cache_full & bit == 0 {
            let channel = usize::from(state.channel);
            self.channels[channel].out.push(&mut self.ops, op);
        }
        if self.outcomes.is_some() {
            self.issue_speculative(op);
        }
    }

    /// A page has left a plane of a die.
    pub(super) fn register_freed(&mut self, die: DieId, plane: u8) {
        let state = &mut self.dies[usize::from(die.0)];
        let bit = 1 << plane;
        if state.cache_full & bit == 0 {
            state.page_full &= !bit;
        } else if state.page_full & bit != 0 {
            state.page_full &= !bit;
            let op = state.page_op[usize::from(plane)].expect("Invariant: a full register holds a page");
            let channel = usize::from(state.channel);
            self.channels[channel].out.push(&mut self.ops, op);
        } else {
            state.cache_full &= !bit;
        }
    }

    fn chip_taken(&self, die: usize) -> bool {
        if self.plan.config.bus.die_interleaving {
            return false;
        }
        let owner = self.chip_owner[die / self.plan.layout.dies_per_chip as usize];
        owner != u16::MAX && usize::from(owner) != die
    }

    /// Keeps the other dies of a chip from working while this one does: they take their wishes back.
    fn take_chip(&mut self, die: usize) {
        if self.plan.config.bus.die_interleaving || self.dies[die].array_idle() {
            return;
        }
        let per_chip = self.plan.layout.dies_per_chip as usize;
        let chip = die / per_chip;
        if usize::from(self.chip_owner[chip]) != die {
            self.chip_owner[chip] = die as u16;
            for other in (chip * per_chip..(chip + 1) * per_chip).filter(|other| *other != die) {
                self.dies[other].picked = Pick::Nothing;
                self.request_bus(other, BusRequest::Nothing);
                if P::EXPLAINS {
                    self.note_wait(other);
                }
            }
        }
    }

    /// Lets the other dies of a chip work when this one has stopped.
    fn release_chip(&mut self, die: usize) {
        if self.plan.config.bus.die_interleaving || !self.dies[die].array_idle() {
            return;
        }
        let per_chip = self.plan.layout.dies_per_chip as usize;
        let chip = die / per_chip;
        if usize::from(self.chip_owner[chip]) == die {
            self.chip_owner[chip] = u16::MAX;
            for step in 1..per_chip {
                self.mark_dirty(DieId((chip * per_chip + (die + step) % per_chip) as u16));
            }
        }
    }
}
