//! A die's state: its queues, its planes' registers, what its array does, and what it is reserved for.
//!
//! A die runs one program or erase at a time, or senses on its planes. A sensed page stands in its plane's
//! page register; with a cache register it moves on at once, or as soon as that register is empty, so that
//! the plane can sense again. Without one it stays until it has left over the bus.
//!
//! A program takes its data into empty registers: into the cache registers while another program or erase
//! runs (`chip.cache_program`), unless an operation that the scheduling order prefers waits for the die.

use nand::{ChannelId, PlaneReads};
use units::{Span, Time};

use super::attempt::Step;
use super::op::{Ops, Queues};
use super::queues::{HOST_PROGRAMS, PLANES, QueueId, QueueSet, READS, Ranks, USER_READS};
use crate::arena::{AttemptId, OpId};
use crate::config::Plan;
use crate::meter::Meter;
use crate::observe::stats::die;
use crate::persist::{stored, stored_enum};
use crate::phases::Phases;
use crate::streams::StreamId;

/// A read that has been sensed and has not ended: it may have to be sensed again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) seq: u64,
    pub(super) queue: QueueId,
    /// The command that sensed it first, by the age of the read that led it: what one command senses is one read to the
    /// die.
    pub(super) command: u64,
    /// That command has sensed no other page.
    pub(super) alone: bool,
}

/// A read that a die is reserved for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) read: Begun,
    /// Its data has left, and its plane is reset or gets its timing back.
    ended: bool,
}

/// The reads that a die is reserved for, from their first retry on: of those the die goes on with the last. Another
/// read's retries come behind it, or before it where they rank better; then it goes on when they have ended.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Reservation {
    /// Planes with such a read, and with one of the host's.
    pub planes: u8,
    planes_of_host: u8,
    /// By how much tPRE is shorter than by default \[ns].
    pub(super) shorter: u32,
    holders: Vec<Holder>,
}

impl Reservation {
    /// A retry is sensed. It goes on until its read ends, unless it is only sensed beside another one's.
    pub(super) fn reserve(&mut self, read: Begun, goes_along: bool) {
        let known = self.holders.iter().position(|holder| holder.read.seq == read.seq);
        if known.is_some_and(|at| goes_along || at + 1 == self.holders.len()) {
            return;
        }
        let holder = Holder { read, ended: false };
        match known {
            Some(at) => self.holders[at..].rotate_left(1),
            None if goes_along => self.holders.insert(0, holder),
            None => self.holders.push(holder),
        }
        self.note_planes();
    }

    fn note_planes(&mut self) {
        (self.planes, self.planes_of_host) = (0, 0);
        for Holder { read, .. } in &self.holders {
            let plane = 1 << read.queue.plane();
            self.planes |= plane;
            self.planes_of_host |= if USER_READS.has(read.queue) { plane } else { 0 };
        }
    }

    /// Whether a read of the host's is among those that it is reserved for.
    #[inline]
    pub(super) fn is_of_host(&self) -> bool {
        self.planes_of_host != 0
    }

    /// Whether the die is reserved for a read.
    pub(super) fn holds(&self, seq: u64) -> bool {
        self.holders.iter().any(|holder| holder.read.seq == seq && !holder.ended)
    }

    /// Whether a retry of a read finds the die reserved for it, which goes on with it.
    #[inline]
    pub(super) fn goes_on_with(&self, seq: u64) -> bool {
        self.holders.last().is_some_and(|holder| holder.read.seq == seq)
    }

    /// The read that it is reserved for, where there is one alone, whose command has sensed no other page.
    #[inline]
    pub(super) fn only(&self) -> Option<Begun> {
        match self.holders[..] {
            [Holder { read, .. }] if read.alone => Some(read),
            _ => None,
        }
    }

    /// Whether it is reserved for one read alone.
    pub(super) fn has_one(&self) -> bool {
        self.holders.len() == 1
    }

    /// The read that goes on, of those in a set of queues: one that ranks better, if there is any.
    pub(super) fn first_to_go_on(&self, of: QueueSet, better: QueueSet) -> Option<Begun> {
        match self.holders[..] {
            [Holder { read, .. }] => of.has(read.queue).then_some(read),
            _ => self.goes_on(of.and(better)).or_else(|| self.goes_on(of)),
        }
    }

    /// The read that goes on, of those in a set of queues.
    pub(super) fn goes_on(&self, of: QueueSet) -> Option<Begun> {
        self.holders.iter().rfind(|holder| of.has(holder.read.queue)).map(|holder| holder.read)
    }

    /// A read has ended; its plane is reserved still, until [`Reservation::release`].
    pub(super) fn ends(&mut self, seq: u64) {
        self.holders.iter_mut().filter(|holder| holder.read.seq == seq).for_each(|holder| holder.ended = true);
    }

    /// Whether a plane is reserved for a read that has ended.
    pub(super) fn has_ended(&self, plane: usize) -> bool {
        self.holders.iter().any(|holder| holder.ended && holder.read.queue.plane() == plane)
    }

    /// A plane is reserved no more for the read that has ended there.
    pub(super) fn release(&mut self, plane: usize) {
        self.holders.retain(|holder| !holder.ended || holder.read.queue.plane() != plane);
        self.note_planes();
    }
}

/// How far the active or suspended operation of a die has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// When it began, in the array.
    pub began: Time,
    /// When it goes on from `position`: setting voltages, loading the buffer and a verify that decides lie before.
    pub runs_from: Time,
    /// Where in its phases \[ns].
    pub position: u64,
    /// What is to be done before it goes on, when it is suspended.
    pub before: Span,
    /// How often it has been suspended.
    pub suspensions: u32,
    /// Of these, how often within a pulse.
    pub within_pulses: u32,
    /// Since when something of the host's has waited that would suspend it.
    pub waited_from: Option<Time>,
    /// It is suspended, and reads have kept it from going on for as long as they may.
    pub is_overdue: bool,
}

/// An operation that has let others go first, and how far it has come.
#[derive(Debug)]
pub(super) struct Paused {
    pub(super) active: Active,
    pub(super) work: Work,
    /// Its phases, where they are not those of every operation of its kind.
    pub(super) phases: Option<Phases>,
}

/// Pages that are programmed by one command, and where they go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// Page operations, linked.
    pub(super) ops: OpId,
    pub(super) planes: u8,
    /// When the data is in the registers.
    pub(super) ready: Time,
    /// How long the die senses pages that it copies back before it programs them.
    pub(super) sensing: Span,
    /// The pass that its data is for, from 0.
    pub(super) pass: u8,
    pub(super) passed: Passed,
}

/// What the passes of a program that have ended have come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// How often they were suspended.
    pub(super) suspensions: u32,
    /// How long they took, and would have taken without that.
    pub(super) took: Span,
    pub(super) nominal: Span,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Active {
    Program(Program),
    /// Blocks that were reclaimed: operations, linked.
    Erase(OpId),
    /// The blocks that a stream has just opened on these planes.
    EraseOpened(StreamId, u8),
}

impl Active {
    /// Whether it erases.
    pub(super) fn is_erase(self) -> bool {
        matches!(self, Active::Erase(_) | Active::EraseOpened(..))
    }

    /// What its passes that have ended have come to.
    pub(super) fn passed(self) -> Passed {
        match self {
            Active::Program(program) => program.passed,
            Active::Erase(_) | Active::EraseOpened(..) => Passed::default(),
        }
    }

    /// Whether its data is sent over the bus again before it goes on: of a suspended program, where the chip keeps no
    /// copy.
    pub(super) fn sends_again(self, shadow_buffer: bool) -> bool {
        !shadow_buffer && !self.is_erase()
    }

    /// What the array draws meanwhile \[mW].
    pub(super) fn power(self) -> impl FnOnce(&Plan) -> f64 {
        move |plan| match self {
            Active::Program(_) => plan.config.energy.program_mw,
            Active::Erase(_) | Active::EraseOpened(..) => plan.config.energy.erase_mw,
        }
    }
}

/// What has ended in the array of a die, for the layers above.
pub(crate) enum Ended {
    /// Nothing that concerns them.
    Nothing,
    /// The time for which background collection waits.
    Idleness,
    /// A program, by its first operation, on a set of planes.
    Program { first: OpId, planes: u8 },
    /// The erase of blocks that were reclaimed, by the first operation.
    Erase(OpId),
    /// The erase of the blocks that a stream has opened on a set of planes.
    EraseOpened { writes: StreamId, planes: u8 },
}

/// A die's state. What every read looks at stands together at the beginning, and a die at the beginning of a cache
/// line: of many dies no more than that has to stay in the cache.
#[repr(C, align(64))]
pub struct DieState {
    pub meter: Meter<{ die::CAUSES.len() }>,
    /// Queues with something to start: reads, erases, and programs that have room and whose unit is full or must go
    /// as it is.
    pub(super) ready: QueueSet,
    /// The die's event in the agenda.
    pub(super) event: Time,
    /// Queues of reads whose head is a retry.
    pub(super) retries: QueueSet,
    /// The die as a set of its channel's dies.
    pub bit: u64,
    /// Planes that sense, whose page register is full, whose cache register is full.
    pub(super) sensing: u8,
    pub(super) page_full: u8,
    pub(super) cache_full: u8,
    pub(super) dirty: bool,
    /// What the die would start next, as of its last review.
    pub(super) picked: Pick,
    pub channel: ChannelId,
    /// Collections on the die's planes that nothing else may interrupt.
    pub exclusive: u32,
    /// The reads for whose retries it is reserved.
    pub(super) reserved: Reservation,
    pub(super) active: Option<(Active, Time)>,
    /// The active or the last program, whose data has to be sent again for this pass.
    pub(super) next_pass: Option<Program>,
    /// Programs whose first pass has begun, and whose second follows the first one of the next wordline
    /// (`chip.pass_order`).
    pub(super) coarse: Vec<Program>,
    /// An operation that has let reads go first.
    pub(super) suspended: Option<Paused>,
    /// When background collection starts, if the die stays idle.
    pub(super) idle_until: Option<Time>,
    /// The attempt in each plane's page register, or on its way into it, and when its sense ends.
    pub(super) page_register: [Option<AttemptId>; PLANES],
    pub(super) sensed_at: [Time; PLANES],
    /// Queues of programs with anything in them.
    pub(super) waiting: QueueSet,
    /// Of these, those whose unit is full or must go as it is, whether there is room for it or not.
    pub(super) whole: QueueSet,
    /// Those whose partly filled unit must go.
    pub(super) flush_partial: QueueSet,
    /// When the active operation lets reads go first.
    pub(super) suspend_pending: Option<Time>,
    /// When it is asked again whether the active operation lets something of the host's go first.
    pub(super) look_again: Option<Time>,
    /// How far the active or suspended operation has come.
    pub(super) work: Work,
    /// Its phases, where they are not those of every operation of its kind.
    pub(super) phases: Option<Phases>,
    /// Reads that have been sensed and may have to be sensed again. Where reads can fail.
    pub(super) reads_in_progress: Vec<Begun>,
    /// Until when it has predicted, as far as that is counted.
    pub(super) predicting_until: Time,
    /// A program whose data is in, or on its way into, the cache registers.
    pub(super) loaded: Option<Program>,
    /// The number of its chip.
    pub(super) chip: usize,
    pub(super) queues: Queues,
    /// What it waits for while it is idle: 0 for nothing, else 1 and up by `die::WAITS`. Kept for probes that explain.
    pub(super) waits: Meter<{ die::WAITS.len() + 1 }>,
}

/// What a die would start next: the queue that leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pick {
    Nothing,
    Read(QueueId),
    Program(QueueId),
    Erase(QueueId),
    /// Sends the data of a suspended program again.
    Resume,
    /// Sends the data of a program again for its next pass.
    Pass,
}

/// Rank and age: the smaller goes first.
pub(super) type Precedence = (u8, u64);

impl DieState {
    pub fn new(channel: ChannelId, place: u32, chip: usize) -> DieState {
        DieState {
            queues: Queues::EMPTY,
            ready: QueueSet::NONE,
            retries: QueueSet::NONE,
            waiting: QueueSet::NONE,
            whole: QueueSet::NONE,
            flush_partial: QueueSet::NONE,
            sensing: 0,
            page_full: 0,
            cache_full: 0,
            page_register: [None; PLANES],
            sensed_at: [Time::NEVER; PLANES],
            active: None,
            suspend_pending: None,
            look_again: None,
            suspended: None,
            work: Work::default(),
            phases: None,
            reserved: Reservation::default(),
            reads_in_progress: Vec::new(),
            predicting_until: Time::ZERO,
            loaded: None,
            next_pass: None,
            coarse: Vec::new(),
            exclusive: 0,
            idle_until: None,
            dirty: false,
            picked: Pick::Nothing,
            event: Time::NEVER,
            channel,
            chip,
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
    pub(super) fn first(&self, set: QueueSet, ranks: &Ranks) -> Option<(Precedence, QueueId)> {
        if set.is_empty() {
            return None;
        }
        for (rank, level) in ranks.queues.iter().enumerate() {
            let mut queues = set.and(*level);
            let Some(mut best) = queues.pop() else { continue };
            while let Some(queue) = queues.pop() {
                if self.queues[queue].head_seq < self.queues[best].head_seq {
                    best = queue;
                }
            }
            return Some(((rank as u8, self.queues[best].head_seq), best));
        }
        None
    }

    /// Programs of host data that wait.
    pub(super) fn host_programs(&self) -> u32 {
        let (mut queues, mut programs) = (HOST_PROGRAMS, 0);
        while let Some(queue) = queues.pop() {
            programs += self.queues[queue].len;
        }
        programs
    }

    /// Whether anything waits in a queue of programs.
    pub fn waits_in(&self, queue: QueueId) -> bool {
        self.waiting.has(queue)
    }

    pub fn has_host_programs(&self) -> bool {
        self.waiting.meets(HOST_PROGRAMS)
    }

    /// Whether a read or a program of the host's waits for nothing but its turn.
    pub fn host_waits(&self) -> bool {
        self.ready.meets(USER_READS.or(HOST_PROGRAMS))
    }

    /// The program or erase that its array does, or has suspended.
    pub(super) fn operation(&self) -> Option<Active> {
        self.active.map(|(active, _)| active).or(self.suspended.as_ref().map(|paused| paused.active))
    }

    /// Whether its array does anything.
    pub fn works(&self) -> bool {
        !self.array_idle()
    }

    pub(super) fn array_idle(&self) -> bool {
        let between_passes = self.next_pass.is_some() || !self.coarse.is_empty();
        self.active.is_none() && self.suspended.is_none() && !between_passes && self.sensing == 0
    }

    /// Whether a page in a register keeps the array from an erase, or from what is suspended: in a page register, or
    /// without CACHE READ of every page in a cache register.
    #[inline]
    pub(super) fn holds_array(&self, cache_read: bool) -> bool {
        self.page_full | if cache_read { 0 } else { self.cache_full } != 0
    }

    /// The planes that may begin to sense, of an array that does nothing else.
    #[inline]
    pub(super) fn may_sense(&self, reads: PlaneReads) -> u8 {
        match reads {
            PlaneReads::Independent => !(self.sensing | self.page_full),
            PlaneReads::Single | PlaneReads::Lockstep if self.sensing == 0 => !self.page_full,
            PlaneReads::Single | PlaneReads::Lockstep => 0,
        }
    }

    /// Whether it plainly has nothing to start: nothing has begun that goes on, and what is ready finds no register or
    /// array, or waits for a read that is being retried.
    #[inline(always)] // Mostly so, by the first or the second question.
    pub(super) fn starts_nothing(&self, reads: PlaneReads, ranks: &Ranks) -> bool {
        if self.sensing != 0 && self.active.is_none() && reads != PlaneReads::Independent {
            return true;
        }
        if self.suspended.is_some() || self.next_pass.is_some() || !self.coarse.is_empty() {
            return false;
        }
        if self.ready.is_empty() {
            return true;
        }
        // Mostly while what the last retry has sensed is looked at.
        let looks = self.reserved.planes != 0 && self.retries.is_empty() && reads != PlaneReads::Independent;
        looks && !self.ready.meets(ranks.above_reads(self.reserved.is_of_host())) || self.ready_waits(reads, ranks)
    }

    /// The queue of reads that a die starts next which does nothing, holds nothing, and has nothing else to start.
    #[inline]
    pub(super) fn only_reads(&self) -> Option<QueueId> {
        let busy = u32::from(self.sensing | self.page_full | self.cache_full | self.reserved.planes) | self.exclusive;
        let begun = self.active.is_some() || self.suspended.is_some() || self.next_pass.is_some();
        if busy != 0 || begun || !self.coarse.is_empty() { None } else { self.ready.only_read() }
    }

    /// Whether what is ready finds no register or array, or waits for a read that is being retried.
    fn ready_waits(&self, reads: PlaneReads, ranks: &Ranks) -> bool {
        let may_sense = if self.active.is_some() { 0 } else { self.may_sense(reads) };
        let mut ready = self.ready.without(READS.without(QueueSet::on(may_sense)));
        if self.reserved.planes != 0 && reads != PlaneReads::Independent {
            let goes_on = match self.reserved.only() {
                Some(read) if self.queues[read.queue].head_seq != read.seq => QueueSet::NONE,
                _ => self.retries,
            };
            ready = ready.and(goes_on.or(ranks.above_reads(self.reserved.is_of_host())));
        }
        ready.is_empty()
    }

    /// The next time that something ends in the array.
    #[inline]
    pub(super) fn next_end(&self) -> Time {
        let mut next = self.idle_until.unwrap_or(Time::NEVER);
        if let Some((_, end)) = self.active {
            next = next.min(end).min(self.suspend_pending.unwrap_or(Time::NEVER));
            next = next.min(self.look_again.unwrap_or(Time::NEVER));
        }
        let of_active = self.suspend_pending.or(self.look_again);
        debug_assert!(of_active.is_none() || self.active.is_some(), "Invariant: only what is active is suspended");
        let mut sensing = self.sensing;
        while sensing != 0 {
            next = next.min(self.sensed_at[sensing.trailing_zeros() as usize]);
            sensing &= sensing - 1;
        }
        next
    }

    /// A plane senses until then: a page for an attempt, or it is reset.
    #[inline]
    pub(super) fn begin_sense(&mut self, plane: usize, attempt: Option<AttemptId>, end: Time) {
        self.sensing |= 1 << plane;
        (self.page_register[plane], self.sensed_at[plane]) = (attempt, end);
    }

    /// A plane has sensed: the attempt for which it has.
    #[inline]
    pub(super) fn end_sense(&mut self, plane: usize) -> Option<AttemptId> {
        self.sensing &= !(1 << plane);
        self.page_register[plane].take()
    }

    /// What a plane has sensed stays in its page register, or moves on where it `caches` and the cache register is
    /// empty. Which, and whether it waits there for the bus: a page behind one in the cache register waits for that
    /// register.
    #[inline]
    pub(super) fn hold(&mut self, plane: usize, attempt: AttemptId, caches: bool) -> (Step, bool) {
        let bit = 1 << plane;
        if caches && self.cache_full & bit == 0 {
            self.cache_full |= bit;
            return (Step::CacheRegister, true);
        }
        self.page_full |= bit;
        self.page_register[plane] = Some(attempt);
        (Step::PageRegister, self.cache_full & bit == 0)
    }

    /// The page that waits for the bus, or crosses it, has left its plane. The one that moves into the cache register
    /// now.
    #[inline]
    pub(super) fn free_register(&mut self, plane: usize) -> Option<AttemptId> {
        let bit = 1 << plane;
        if self.page_full & bit == 0 {
            self.cache_full &= !bit;
            return None;
        }
        let next = self.drop_page(plane);
        next.filter(|_| self.cache_full & bit != 0)
    }

    /// Empties the page register of a plane.
    #[inline]
    pub(super) fn drop_page(&mut self, plane: usize) -> Option<AttemptId> {
        self.page_full &= !(1 << plane);
        self.page_register[plane].take()
    }

    /// A read that has been sensed and has not ended.
    pub(super) fn begun(&self, seq: u64) -> Begun {
        let found = self.reads_in_progress.iter().find(|read| read.seq == seq);
        *found.expect("Invariant: what is retried has been sensed and has not ended")
    }

    /// The queues of the reads of one command whose retries wait.
    pub(super) fn retries_of(&self, read: Begun) -> QueueSet {
        let (mut retries, mut set) = (self.retries, QueueSet::NONE);
        while let Some(queue) = retries.pop() {
            let seq = self.queues[queue].head_seq;
            if seq == read.seq || self.begun(seq).command == read.command {
                set.set(queue, true);
            }
        }
        set
    }

    /// Keeps up to date what is known of a queue of reads whose head may be another one.
    #[inline]
    pub(super) fn read_head_changed(&mut self, queue: QueueId, ops: &Ops) {
        let head = self.queues[queue].head;
        self.ready.set(queue, head.is_some());
        self.retries.set(queue, head.is_some_and(|op| ops[op].read.retries > 0));
    }
}

stored! {
    DieState {
        meter, ready, event, retries, bit, sensing, page_full, cache_full, dirty, picked, channel, exclusive, reserved, active,
        next_pass, coarse, suspended, idle_until, page_register, sensed_at, waiting, whole, flush_partial, suspend_pending, look_again, work,
        phases, reads_in_progress, predicting_until, loaded, chip, queues, waits,
    }
    Begun { seq, queue, command, alone }
    Holder { read, ended }
    Reservation { planes, planes_of_host, shorter, holders }
    Work { began, runs_from, position, before, suspensions, within_pulses, waited_from, is_overdue }
    Paused { active, work, phases }
    Program { ops, planes, ready, sensing, pass, passed }
    Passed { suspensions, took, nominal }
}

stored_enum! {
    Active { 0 = Program(program), 1 = Erase(first), 2 = EraseOpened(writes, planes), }
    Pick { 0 = Nothing, 1 = Read(queue), 2 = Program(queue), 3 = Erase(queue), 4 = Resume, 5 = Pass, }
}
