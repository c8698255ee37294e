//! The dies: what each may start, what it is doing, and its planes' registers.
//!
//! A die runs one program or erase at a time, or senses on its planes. A sensed page stands in its plane's
//! page register; with a cache register it moves on at once, or as soon as that register is empty, so that
//! the plane can sense again. Without one it stays until it has left over the bus.
//!
//! A program takes its data into empty registers: into the cache registers while another program or erase
//! runs (`chip.cache_program`), unless an operation that the scheduling order prefers waits for the die.

use nand::{Address, DieId, PlaneReads};
use schemes::{Class, Order};
use units::{Lpn, Ppn, Span, Time};

use super::op::{Fate, Ops, Owner, PageOp, Queue, Sense};
use super::retry::Reservation;
use super::suspend::{self, Work};
use super::{FlashAt, FlashView};
use crate::arena::{List, OpId};
use crate::config::Config;
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::{channel, die};
use crate::phases::{Phases, slower};
use crate::write_class;

/// Queues are numbered row x 8 + plane, so that a set of queues is one word. Rows: host reads, the drive's own
/// reads, programs by lane, erases.
pub const PLANES: usize = nand::geometry::MAX_PLANES as usize;
pub(super) const QUEUES: usize = 8 * PLANES;
pub(super) const READS: u64 = 0xFFFF;
pub(super) const HOST_PROGRAMS: u64 = 0xFFFF << 16;
pub(super) const PROGRAMS: u64 = 0xFF_FFFF_FFFF << 16;
pub(super) const ERASES: u64 = 0xFF << 56;
/// Everything of the drive's own.
pub(super) const INTERNAL: u64 = 0xFF << 8 | (PROGRAMS & !HOST_PROGRAMS) | ERASES;
/// The row of lane 0, and of erases.
pub(super) const FIRST_WRITE_CLASS: usize = 2;
pub(super) const ERASE_ROW: usize = FIRST_WRITE_CLASS + write_class::COUNT;
const _: () = assert!(ERASE_ROW * PLANES + PLANES == QUEUES && QUEUES == 64);

/// The queue of a lane's programs on a plane.
pub(super) fn program_queue(write_class: usize, plane: usize) -> usize {
    (FIRST_WRITE_CLASS + write_class) * PLANES + plane
}

/// The lane of a queue of programs.
pub(crate) fn write_class_of(queue: usize) -> usize {
    queue / PLANES - FIRST_WRITE_CLASS
}

/// In which order a die serves its queues.
pub(super) struct Ranks {
    /// Of each class: the smaller goes first.
    pub of: [u8; Class::COUNT],
    /// The queues of each rank.
    queues: Vec<u64>,
    /// The queues that rank better than host reads, and than the drive's own reads.
    above_reads: [u64; 2],
}

impl Ranks {
    /// Behind a full write queue no read passes a write, as under FIFO.
    pub fn new(config: &Config, write_queue_full: bool) -> Ranks {
        let of = if write_queue_full { Order::Fifo.ranks() } else { config.schedule.order.ranks() };
        let levels = usize::from(*of.iter().max().expect("Invariant: there are classes")) + 1;
        let mut queues = vec![0; levels];
        for class in Class::ALL {
            queues[usize::from(of[class as usize])] |= match class {
                Class::UserRead => suspend::USER_READS,
                Class::InternalRead => 0xFF << 8,
                Class::UserProgram => HOST_PROGRAMS,
                Class::InternalProgram => PROGRAMS & !HOST_PROGRAMS,
                Class::Erase => ERASES,
            };
        }
        let above = |class: Class| queues[..usize::from(of[class as usize])].iter().sum();
        Ranks { of, above_reads: [Class::UserRead, Class::InternalRead].map(above), queues }
    }

    /// The queues that rank better than a read.
    #[inline]
    pub fn above_reads(&self, of_host: bool) -> u64 {
        self.above_reads[usize::from(!of_host)]
    }
}

/// Pages that are programmed by one command, and where they go.
#[derive(Clone, Copy)]
pub(super) struct Program {
    /// Page operations, linked.
    pub(super) ops: OpId,
    pub(super) planes: u8,
    /// When the data is in the registers.
    pub(super) ready: Time,
    /// How long the die senses pages that it copies back before it programs them.
    pub(super) sensing: Span,
}

#[derive(Clone, Copy)]
pub(super) enum Active {
    Program(Program),
    /// Blocks that were reclaimed: operations, linked.
    Erase(OpId),
    /// The blocks that a lane's stream has just opened on these planes.
    EraseOpened(usize, u8),
}

/// What has ended in the array of a die.
pub(crate) enum Ended {
    /// A program, by its first operation, on a set of planes.
    Program { first: OpId, planes: u8 },
    /// The erase of blocks that were reclaimed, by the first operation.
    Erase(OpId),
    /// The erase of the blocks that a write class has opened on a set of planes.
    EraseOpened { write_class: usize, planes: u8 },
}

/// What a die has started.
pub(crate) enum Started {
    Sense {
        of_host: bool,
    },
    Erase,
    /// Nothing yet: it erases blocks which are to be opened first.
    OpensBlocks {
        lead: usize,
    },
}

pub struct DieState {
    pub(super) queues: [Queue; QUEUES],
    /// Queues with something to start: reads, erases, and programs that have room and whose unit is full or must go
    /// as it is.
    pub(super) ready: u64,
    /// Queues of reads whose head is a retry.
    pub(super) retries: u64,
    /// Queues of programs with anything in them.
    pub(super) waiting: u64,
    /// Of these, those whose unit is full or must go as it is, whether there is room for it or not.
    pub(super) whole: u64,
    /// Those whose partly filled unit must go.
    pub(super) flush_partial: u64,
    /// Planes that sense, whose page register is full, whose cache register is full.
    pub(super) sensing: u8,
    pub(super) page_full: u8,
    pub(super) cache_full: u8,
    /// The read in each plane's page register, or on its way into it, and when its sense ends.
    pub(super) page_op: [Option<OpId>; PLANES],
    pub(super) sensed_at: [Time; PLANES],
    pub(super) active: Option<(Active, Time)>,
    /// When the active operation lets reads go first.
    pub(super) suspend_pending: Option<Time>,
    /// When the pulses of the active operation begin, if a read waits for them.
    pub(super) pulses_begin: Option<Time>,
    /// An operation that has let reads go first.
    pub(super) suspended: Option<Active>,
    /// How far the active or suspended operation has come.
    pub(super) work: Work,
    /// Its phases, where they are not those of every operation of its kind.
    pub(super) phases: Option<Phases>,
    /// The reads whose retries it is held for.
    pub(super) reserved: Reservation,
    /// Reads that have been sensed and may have to be sensed again: age and plane. Where reads can fail.
    pub(super) reads_in_progress: Vec<(u64, u8)>,
    /// A program whose data is in, or on its way into, the cache registers.
    pub(super) loaded: Option<Program>,
    /// Collections on the die's planes that nothing else may interrupt.
    pub exclusive: u32,
    /// A block has begun to move for refresh or read reclaim, and nothing of the host's since then.
    pub host_is_next: bool,
    /// When background collection starts, if the die stays idle.
    pub(super) idle_until: Option<Time>,
    pub(super) dirty: bool,
    /// What the die would start next, as of its last review.
    pub(super) picked: Pick,
    /// The die's event in the agenda.
    pub(super) event: Time,
    pub channel: u16,
    /// The die as a set of its channel's dies.
    pub bit: u64,
    pub meter: Meter<{ die::CAUSES.len() }>,
    /// What it waits for while it is idle: 0 for nothing, else 1 and up by `die::WAITS`. Kept for probes that explain.
    pub(super) waits: Meter<{ die::WAITS.len() + 1 }>,
}

/// What a die wants the bus for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusRequest {
    Nothing,
    Command,
    Data,
}

/// What a die would start next: the queue that leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pick {
    Nothing,
    Read(usize),
    Program(usize),
    Erase(usize),
    /// Sends the data of a suspended program again.
    Resume,
}

/// Rank and age: the smaller goes first.
pub(super) type Priority = (u8, u64);

impl DieState {
    pub fn new(channel: u16, place: u32) -> DieState {
        DieState {
            queues: [Queue::EMPTY; QUEUES],
            ready: 0,
            retries: 0,
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
            event: Time::NEVER,
            channel,
            bit: 1 << place,
            meter: Meter::new(),
            waits: Meter::new(),
        }
    }

    /// Where its time has gone.
    pub(super) fn spent(&self, now: Time) -> die::Spent {
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
    pub(super) fn first(&self, set: u64, ranks: &Ranks) -> Option<(Priority, usize)> {
        if set == 0 {
            return None;
        }
        let (rank, mut queues) =
            ranks.queues.iter().map(|mask| set & mask).enumerate().find(|(_, queues)| *queues != 0)?;
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

    pub(super) fn array_idle(&self) -> bool {
        self.active.is_none() && self.suspended.is_none() && self.sensing == 0
    }

    /// The next time that something ends in the array.
    pub(super) fn next_end(&self) -> Time {
        let never = Time::NEVER;
        let active = self.active.map_or(never, |(_, end)| end).min(self.suspend_pending.unwrap_or(never));
        let waiting = self.pulses_begin.unwrap_or(never).min(self.idle_until.unwrap_or(never));
        planes(self.sensing).fold(active.min(waiting), |next, plane| next.min(self.sensed_at[plane]))
    }

    /// Keeps up to date what is known of a queue of reads whose head may be another one.
    #[inline]
    pub(super) fn read_head_changed(&mut self, queue: usize, ops: &Ops) {
        let (bit, head) = (1 << queue, self.queues[queue].head);
        self.ready = self.ready & !bit | u64::from(head.is_some()) << queue;
        let retry = head.is_some_and(|op| ops[op].sense.is_retry());
        self.retries = self.retries & !bit | u64::from(retry) << queue;
    }
}

/// The planes of a set.
#[inline]
pub fn planes(set: u8) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let plane = left.trailing_zeros() as usize;
            left &= left - 1;
            plane
        })
    })
}

impl FlashView<'_> {
    pub(super) fn chip_taken(&self, die: usize) -> bool {
        if self.plan.config.bus.die_interleaving {
            return false;
        }
        let owner = self.flash.chip_owner[die / self.plan.layout.dies_per_chip as usize];
        owner != u16::MAX && usize::from(owner) != die
    }

    /// The queue that leads the program which the die picks; none where it sends the data of a suspended one again.
    pub fn program_lead(&self, die: usize) -> Option<usize> {
        match self.flash.dies[die].picked {
            Pick::Program(lead) => Some(lead),
            Pick::Resume => None,
            Pick::Nothing | Pick::Read(_) | Pick::Erase(_) => {
                unreachable!("Invariant: a die is rescheduled whenever what it can do changes")
            }
        }
    }
}

impl<P: Probe> FlashAt<'_, P> {
    /// Queues a page to be sensed.
    #[inline]
    pub fn queue_read(&mut self, class: Class, owner: Owner, lpn: Lpn, ppn: Ppn, bytes: (u32, u32)) {
        self.ftl.blocks.prefetch(ppn);
        let (die, plane) = self.core.plan.layout.die_of(self.core.plan.layout.plane_of(ppn));
        let seq = self.flash.number();
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
        let op = self.flash.ops.insert(op);
        let queue = class as usize * PLANES + usize::from(plane);
        self.waits(op);
        let state = &mut self.flash.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

    /// A page of host data more waits for its program.
    pub fn one_more_waits(&mut self) {
        self.count_waiting(self.flash.programs_waiting + 1);
    }

    /// Counts the pages of host data that wait for their program, and keeps the order that goes with their number.
    pub fn count_waiting(&mut self, programs: u32) {
        self.flash.programs_waiting = programs;
        let full = self.core.plan.config.schedule.write_queue.is_some_and(|most| programs >= most);
        if full != self.flash.write_queue_full {
            self.flash.write_queue_full = full;
            self.flash.ranks = Ranks::new(&self.core.plan.config, full);
            (0..self.flash.dies.len() as u16).for_each(|die| self.mark_dirty(DieId(die)));
        }
    }

    /// Tells the probe that a part of a host read waits for its die.
    #[inline]
    pub fn waits(&mut self, op: OpId) {
        let PageOp { owner, seq, sense, die, .. } = self.flash.ops[op];
        if P::EXPLAINS && matches!(owner, Owner::Host(_)) {
            let spent = self.flash.dies[usize::from(die.0)].spent(self.core.now);
            self.core.probe.explain(self.core.now, Event::Waits { part: seq, attempt: sense.attempt, spent });
        }
    }

    /// Queues a page to be programmed on a plane of a die.
    pub fn queue_program(&mut self, op: OpId) {
        let (die, plane, write_class) =
            (self.flash.ops[op].die, self.flash.ops[op].plane, self.flash.ops[op].write_class);
        let queue = program_queue(write_class.into(), plane.into());
        let state = &mut self.flash.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.waiting |= 1 << queue;
        self.update_eligibility(usize::from(die.0), queue);
        self.mark_dirty(die);
    }

    /// Queues a block to be erased.
    pub fn queue_erase(&mut self, op: OpId) {
        let (die, plane) = (self.flash.ops[op].die, self.flash.ops[op].plane);
        let queue = ERASE_ROW * PLANES + usize::from(plane);
        let state = &mut self.flash.dies[usize::from(die.0)];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready |= 1 << queue;
        self.mark_dirty(die);
    }

    /// Notes that a die may have something new to do.
    #[inline]
    pub fn mark_dirty(&mut self, die: DieId) {
        let state = &mut self.flash.dies[usize::from(die.0)];
        if !state.dirty {
            state.dirty = true;
            self.flash.dirty.push(die.0);
        }
    }

    /// Brings a die's event, its meter and its wish for the bus up to date.
    pub fn reschedule(&mut self, die: usize) {
        if self.core.plan.suspends {
            self.try_resume(die);
            self.consider_suspension(die);
        }
        let picked = self.view().pick(die);
        self.flash.dies[die].picked = picked;
        let choice = match picked {
            Pick::Nothing => BusRequest::Nothing,
            Pick::Read(_) | Pick::Erase(_) => BusRequest::Command,
            Pick::Program(_) | Pick::Resume => BusRequest::Data,
        };
        self.request_bus(die, choice);
        if self.core.plan.config.gc.idle.is_some() {
            self.watch_idle(die);
        }
        let state = &self.flash.dies[die];
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
        if self.flash.dies[die].event != next {
            self.flash.dies[die].event = next;
            self.core.agenda.set_or_clear(self.core.slots.die + die, next);
        }
    }

    /// Notes what a die waits for, if it is idle and has work.
    pub(super) fn note_wait(&mut self, die: usize) {
        let state = &self.flash.dies[die];
        let registers = state.page_full | state.cache_full | state.reserved.planes;
        let wait = if state.active.is_some() || state.sensing != 0 || registers != 0 {
            None
        } else if self.view().chip_taken(die) {
            Some(die::WAIT_CHIP)
        } else if state.picked != Pick::Nothing {
            Some(die::WAIT_BUS)
        } else if state.exclusive != 0 {
            Some(die::WAIT_COLLECTION)
        } else {
            None
        };
        let wait = wait.map_or(0, |wait| wait + 1 - die::CAUSES.len());
        self.flash.dies[die].waits.enter(self.core.now, wait);
    }

    /// Starts or stops the clock of background collection.
    pub(super) fn watch_idle(&mut self, die: usize) {
        let state = &self.flash.dies[die];
        let registers = state.page_full | state.cache_full;
        let idle = state.array_idle() && state.ready == 0 && registers | state.reserved.planes == 0;
        let until = match state.idle_until {
            _ if !idle || !self.relocator.wants_background(DieId(die as u16), &self.core.plan, self.ftl) => None,
            None => self.core.plan.config.gc.idle.map(|idle| self.core.now + idle),
            running => running,
        };
        self.flash.dies[die].idle_until = until;
    }

    /// Senses pages; whether one of them is the host's.
    pub(super) fn start_sense(&mut self, die: usize, lead: usize) -> bool {
        let layout = self.core.plan.layout;
        let state = &self.flash.dies[die];
        let place = layout.page_of(self.flash.ops[state.queues[lead].first()].ppn);
        let mut joined = [usize::MAX; PLANES];
        let mut count = 1;
        joined[0] = lead;
        if self.core.plan.config.chip.plane_reads == PlaneReads::Lockstep {
            let first = self.flash.ops[state.queues[lead].first()].sense;
            // A suspended die senses for users alone.
            let queues = if state.suspended.is_some() { suspend::USER_READS } else { READS };
            for plane in planes(!state.page_full)
                .filter(|plane| *plane != lead % PLANES && *plane < layout.planes_per_die as usize)
            {
                let here = state.ready & queues & (1 << plane | 1 << (plane + PLANES));
                if let Some((_, queue)) = state.first(here, &self.flash.ranks)
                    && layout.page_of(self.flash.ops[state.queues[queue].first()].ppn) == place
                    && self.flash.ops[state.queues[queue].first()].sense.goes_with(&first)
                {
                    joined[count] = queue;
                    count += 1;
                }
            }
        }
        let channel = usize::from(state.channel);
        let mut start = self.occupy(channel, self.core.plan.config.bus.t_command * count as u64, channel::COMMAND);
        // Planes that sense together end together: with the slowest of them, whose timing the die has.
        let (mut t_read, mut shorter) = (Span::ZERO, u32::MAX);
        for queue in &joined[..count] {
            let id = self.flash.dies[die].queues[*queue].first();
            if self.flash.outcomes.is_none() {
                t_read = t_read.max(self.core.plan.timings.read(&layout, self.flash.ops[id].ppn));
                continue;
            }
            if !self.flash.ops[id].sense.is_retry() {
                self.flash.ops[id].sense = self.first_sense(id);
            }
            let (took, less) = self.sense_time(id);
            (t_read, shorter) = (t_read.max(took), shorter.min(less));
            if self.flash.ops[id].sense.is_retry() {
                self.hold(id);
            } else {
                let (seq, plane) = (self.flash.ops[id].seq, self.flash.ops[id].plane);
                self.flash.dies[die].reads_in_progress.push((seq, plane));
            }
            self.flash.ops[id].sense.took = took.0 as u32;
        }
        let first = self.flash.ops[self.flash.dies[die].queues[lead].first()].sense;
        if self.flash.outcomes.is_some() && self.core.plan.config.read.predictor.looks_on_die(first.is_repeat()) {
            self.core.counters.predicting_ns += self.core.plan.config.read.t_pred.0;
        }
        if shorter != u32::MAX {
            start = start + self.set_timing(die, shorter);
        }
        let end = start + t_read;
        let state = &mut self.flash.dies[die];
        for queue in &joined[..count] {
            let op = state.queues[*queue].pop(&mut self.flash.ops).expect("Invariant: ready queues are not empty");
            state.read_head_changed(*queue, &self.flash.ops);
            let plane = queue % PLANES;
            state.sensing |= 1 << plane;
            state.page_op[plane] = Some(op);
            state.sensed_at[plane] = end;
            if P::EXPLAINS {
                let PageOp { seq: part, ppn, sense, .. } = self.flash.ops[op];
                let (attempt, spent, what) = (sense.attempt, state.spent(self.core.now), self.flash.ops[op].purpose());
                let event = Event::Senses { part, attempt, begins: start, ends: end, spent, ppn, what };
                self.core.probe.explain(self.core.now, event);
            }
            self.core.probe.sense(start, end, DieId(die as u16), self.flash.ops[op].ppn);
        }
        joined[..count].iter().any(|queue| suspend::USER_READS >> queue & 1 != 0)
    }

    /// Takes a unit of pages from a lane's queues of each plane of a set and gives them their physical pages; returns
    /// the linked operations, how many pages the command programs, padding included, and how long it senses the
    /// pages that it copies back.
    pub(super) fn gather(&mut self, die: usize, set: u8, write_class: usize, copyback: bool) -> (OpId, u64, Span) {
        let (mut ops, mut pages, mut sensing) = (List::EMPTY, 0, Span::ZERO);
        let stream = usize::from(self.core.plan.space.stream[write_class]);
        for plane in planes(set) {
            let physical = self.core.plan.layout.plane(DieId(die as u16), plane as u8);
            let queue = program_queue(write_class, plane);
            let mut here = Span::ZERO;
            for _ in 0..self.core.plan.unit_pages {
                pages += 1;
                let Some(op) = self.flash.dies[die].queues[queue].pop(&mut self.flash.ops) else {
                    self.ftl.blocks.take_page(physical, stream, None, self.core.now);
                    self.core.counters.pages_padded += 1;
                    continue;
                };
                self.flash.ops[op].ppn =
                    self.ftl.blocks.take_page(physical, stream, Some(self.flash.ops[op].lpn), self.core.now);
                match self.flash.ops[op].owner {
                    Owner::Slot(_) => self.count_waiting(self.flash.programs_waiting - 1),
                    Owner::Relocation(source) if copyback => {
                        here += self.core.plan.timings.read(&self.core.plan.layout, source)
                    }
                    _ => {}
                }
                ops.push(&mut self.flash.ops, op);
            }
            sensing = sensing.max(here);
            let state = &mut self.flash.dies[die];
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
    pub(super) fn program_factor(&self, program: Program) -> f64 {
        let mut factor: f64 = 1.0;
        let Some(lives) = &self.ftl.wear else { return factor };
        let mut next = Some(program.ops);
        while let Some(op) = next {
            let Address { plane, block, .. } = self.core.plan.layout.unpack(self.flash.ops[op].ppn);
            let pec = self.ftl.blocks.cycles(plane, block, &self.core.plan);
            factor = factor.max(lives.eraser().scheme.voltage.program_factor(pec));
            next = self.flash.ops[op].next;
        }
        factor
    }

    #[inline]
    pub(super) fn run_program(&mut self, die: usize, program: Program) {
        let start = program.ready.max(self.core.now);
        let factor = self.program_factor(program);
        let t_prog = slower(self.core.plan.timings.program, factor);
        let phases =
            self.core.plan.program_phases.as_ref().filter(|_| factor != 1.0).map(|phases| phases.slower(factor));
        let end = start + program.sensing + phases.as_ref().map_or(t_prog, Phases::total);
        let state = &mut self.flash.dies[die];
        state.phases = phases;
        state.active = Some((Active::Program(program), end));
        let runs_from = start + program.sensing;
        state.work = Work { began: runs_from, runs_from, ..Work::default() };
        self.die_enters(die, die::LOAD, Some((start, die::PROGRAM)));
        if P::EXPLAINS {
            let (pages, what) =
                (self.core.plan.unit_pages * program.planes.count_ones(), self.flash.ops[program.ops].purpose());
            self.core.probe.explain(self.core.now, Event::Programs { pages, what });
        }
        self.core.probe.program(start, end, DieId(die as u16), program.planes);
        self.tell_phases(die);
    }

    /// A die's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn die_enters(&mut self, die: usize, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.flash.dies[die].meter;
        match until {
            None => meter.enter(self.core.now, cause),
            Some((end, next)) => meter.enter_until(self.core.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Die { die: DieId(die as u16), cause, until });
        }
    }

    /// A plane's page register holds a sensed page.
    pub(super) fn sensed(&mut self, die: usize, plane: usize) {
        let state = &mut self.flash.dies[die];
        let bit = 1 << plane;
        state.sensing &= !bit;
        let Some(op) = state.page_op[plane] else {
            // The die was reset, or its timing set back.
            return self.release_plane(die, plane);
        };
        self.core.counters.senses += 1;
        if self.flash.ops[op].sense.fate == Fate::Cancelled {
            return self.flash.ops.release(op);
        }
        if self.flash.outcomes.is_some()
            && let Some(longer) = self.decide_outcome(op)
        {
            let state = &mut self.flash.dies[die];
            state.sensing |= bit;
            state.sensed_at[plane] = self.core.now + longer;
            return;
        }
        let state = &mut self.flash.dies[die];
        let retry = self.flash.ops[op].sense.is_retry();
        // A suspended die whose next program's data is in the cache registers reads without them.
        let caches = self.core.plan.config.chip.cache_read || self.core.plan.config.read.pipeline.speculates(retry);
        let caches = caches && state.loaded.is_none();
        if caches && state.cache_full & bit == 0 {
            state.cache_full |= bit;
        } else {
            state.page_full |= bit;
        }
        // What comes behind a page in the cache register waits for it.
        if state.page_full & state.cache_full & bit == 0 {
            let channel = usize::from(state.channel);
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        }
        if self.flash.outcomes.is_some() {
            self.issue_speculative(op);
        }
    }

    /// A page has left a plane of a die.
    pub fn register_freed(&mut self, die: DieId, plane: u8) {
        let state = &mut self.flash.dies[usize::from(die.0)];
        let bit = 1 << plane;
        if state.cache_full & bit == 0 {
            state.page_full &= !bit;
        } else if state.page_full & bit != 0 {
            state.page_full &= !bit;
            let op = state.page_op[usize::from(plane)].expect("Invariant: a full register holds a page");
            let channel = usize::from(state.channel);
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        } else {
            state.cache_full &= !bit;
        }
    }

    /// Keeps the other dies of a chip from working while this one does: they take their wishes back.
    pub(super) fn take_chip(&mut self, die: usize) {
        if self.core.plan.config.bus.die_interleaving || self.flash.dies[die].array_idle() {
            return;
        }
        let per_chip = self.core.plan.layout.dies_per_chip as usize;
        let chip = die / per_chip;
        if usize::from(self.flash.chip_owner[chip]) != die {
            self.flash.chip_owner[chip] = die as u16;
            for other in (chip * per_chip..(chip + 1) * per_chip).filter(|other| *other != die) {
                self.flash.dies[other].picked = Pick::Nothing;
                self.request_bus(other, BusRequest::Nothing);
                if P::EXPLAINS {
                    self.note_wait(other);
                }
            }
        }
    }

    /// Lets the other dies of a chip work when this one has stopped.
    pub(super) fn release_chip(&mut self, die: usize) {
        if self.core.plan.config.bus.die_interleaving || !self.flash.dies[die].array_idle() {
            return;
        }
        let per_chip = self.core.plan.layout.dies_per_chip as usize;
        let chip = die / per_chip;
        if usize::from(self.flash.chip_owner[chip]) == die {
            self.flash.chip_owner[chip] = u16::MAX;
            for step in 1..per_chip {
                self.mark_dirty(DieId((chip * per_chip + (die + step) % per_chip) as u16));
            }
        }
    }

    /// What in the array of a die has ended now, if anything has but senses.
    pub fn array_event(&mut self, die: usize) -> Option<Ended> {
        let state = &mut self.flash.dies[die];
        state.pulses_begin = state.pulses_begin.filter(|at| *at > self.core.now);
        if state.suspend_pending.is_some_and(|at| at <= self.core.now) {
            self.suspended(die);
        }
        let (active, _) = self.flash.dies[die].active.filter(|(_, end)| *end <= self.core.now)?;
        self.flash.dies[die].active = None;
        self.core.counters.operations += 1;
        self.count_suspended(die, active);
        Some(match active {
            Active::Program(program) => {
                let of_host = self.flash.ops[program.ops].class == Class::UserProgram;
                self.flash.host_units -= u32::from(of_host);
                Ended::Program { first: program.ops, planes: program.planes }
            }
            Active::Erase(first) => Ended::Erase(first),
            Active::EraseOpened(write_class, planes) => Ended::EraseOpened { write_class, planes },
        })
    }

    /// The program whose data is in the cache registers, if there is one, has the array.
    pub fn start_loaded(&mut self, die: usize) {
        if let Some(program) = self.flash.dies[die].loaded.take() {
            self.run_program(die, program);
        }
    }

    /// The senses of a die that end now.
    pub fn senses_ended(&mut self, die: usize) {
        for plane in planes(self.flash.dies[die].sensing) {
            if self.flash.dies[die].sensed_at[plane] <= self.core.now {
                self.sensed(die, plane);
            }
        }
    }

    /// Whether a die has been idle for as long as background collection waits.
    pub fn idle_elapsed(&mut self, die: usize) -> bool {
        let elapsed = self.flash.dies[die].idle_until.is_some_and(|until| until <= self.core.now);
        if elapsed {
            self.flash.dies[die].idle_until = None;
        }
        elapsed
    }

    /// Starts the read or erase that the die picks, unless that opens a block first. The bus is free.
    pub fn start_command(&mut self, die: usize) -> Started {
        match self.flash.dies[die].picked {
            Pick::Read(queue) => Started::Sense { of_host: self.start_sense(die, queue) },
            Pick::Erase(queue) if queue >= ERASE_ROW * PLANES => {
                self.start_erase(die, queue);
                Started::Erase
            }
            Pick::Erase(lead) => Started::OpensBlocks { lead },
            Pick::Nothing | Pick::Program(_) | Pick::Resume => {
                unreachable!("Invariant: a die is rescheduled whenever what it can do changes")
            }
        }
    }

    /// Moves the data of a program into the registers of a die, and starts it if the array is free. Returns its first
    /// operation, and whether the data is the host's.
    pub fn load_program(&mut self, die: usize, lead: usize, set: u8) -> (OpId, bool) {
        let copyback = self.view().copies_back(lead);
        let (ops, pages, sensing) = self.gather(die, set, write_class_of(lead), copyback);
        let commands = self.core.plan.config.bus.t_command * u64::from(set.count_ones());
        let channel = usize::from(self.flash.dies[die].channel);
        let ready = if copyback {
            self.core.counters.pages_copied_back += pages;
            // A command to sense and one to program.
            self.occupy(channel, commands * 2, channel::COMMAND)
        } else {
            self.core.counters.pages_transferred_in += pages;
            let page = self.core.plan.layout.page_size.0 as u32;
            self.occupy(channel, commands + self.core.plan.t_dma(page) * pages, channel::WRITE_DATA)
        };
        let program = Program { ops, planes: set, ready, sensing };
        let of_host = HOST_PROGRAMS >> lead & 1 != 0;
        self.flash.host_units += u32::from(of_host);
        if self.flash.dies[die].active.is_some() {
            self.flash.dies[die].loaded = Some(program);
        } else {
            self.run_program(die, program);
        }
        (ops, of_host)
    }

    /// A die has started something: the other dies of its chip may have to wait, and it may be able to do more.
    pub fn has_started(&mut self, die: usize) {
        self.take_chip(die);
        self.reschedule(die);
    }

    /// Brings the dies up to date that may have something new to do, `from` so many on in their list; returns where the list
    /// ends.
    pub fn reschedule_dirty(&mut self, from: usize) -> usize {
        let mut end = from;
        while end < self.flash.dirty.len() {
            // Marks the other dies of the chip: they say what they want before the bus is granted.
            self.release_chip(usize::from(self.flash.dirty[end]));
            end += 1;
        }
        for index in from..end {
            let die = usize::from(self.flash.dirty[index]);
            self.flash.dies[die].dirty = false;
            self.reschedule(die);
        }
        end
    }
}
