//! A die's state: its queues, its planes' registers, what its array does, and what it is reserved for.

use nand::ChannelId;
use units::{Span, Time};

use super::op::{Ops, Queue};
use super::queues::{HOST_PROGRAMS, PLANES, QUEUES, Ranks, USER_READS, planes};
use crate::arena::OpId;
use crate::meter::Meter;
use crate::observe::stats::die;
use crate::phases::Phases;

/// The reads that a die is held for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    /// Planes with such a read, and those of them where it is a host's.
    pub planes: u8,
    pub(super) user: u8,
    /// The read of each plane, by its age.
    pub(super) by: [u64; PLANES],
    /// By how much tPRE is shorter than by default [ns].
    pub(super) shorter: u32,
}

/// How far the active or suspended operation of a die has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// When it began, in the array.
    pub began: Time,
    /// When it goes on from `position`: setting voltages, loading the buffer and a verify that decides lie before.
    pub runs_from: Time,
    /// Where in its phases [ns].
    pub position: u64,
    /// What is to be done before it goes on, when it is suspended.
    pub before: Span,
    /// How often it has been suspended.
    pub suspensions: u32,
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
    /// When background collection starts, if the die stays idle.
    pub(super) idle_until: Option<Time>,
    pub(super) dirty: bool,
    /// What the die would start next, as of its last review.
    pub(super) picked: Pick,
    /// The die's event in the agenda.
    pub(super) event: Time,
    pub channel: ChannelId,
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
    pub fn new(channel: ChannelId, place: u32) -> DieState {
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
        self.ready & (USER_READS | HOST_PROGRAMS) != 0
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
