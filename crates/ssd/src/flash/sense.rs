//! Senses: which pages one command senses, how it begins and how it ends.

use nand::{DieId, PlaneReads};
use units::{Span, Time};

use super::attempt::{Attempt, Step};
use super::backend::{Flash, FlashAt, FlashView};
use super::op::PageOp;
use super::placement::Placement;
use super::queues::{PLANES, QueueId, QueueSet, READS, USER_READS, planes};
use super::retry::SenseTime;
use super::state::DieState;
use crate::arena::{AttemptId, OpId};
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;

/// The queues whose heads one command senses: the leading one first.
struct Joined {
    queues: [QueueId; PLANES],
    count: usize,
}

impl<L: Placement> FlashView<'_, L> {
    /// The queues whose heads are sensed by one command with a leading one's.
    fn joined_senses(&self, die: DieId, lead: QueueId) -> Joined {
        let mut joined = Joined { queues: [lead; PLANES], count: 1 };
        if self.plan.config.chip.plane_reads != PlaneReads::Lockstep {
            return joined;
        }
        let (layout, state) = (&self.plan.layout, &self.flash.dies[die]);
        // A suspended die senses for users alone.
        let queues = if state.suspended.is_some() { USER_READS } else { READS };
        let free =
            !state.page_full & !(1 << lead.plane()) & (u8::MAX >> (PLANES as u32 - layout.flash_planes_per_die()));
        let queues_on_free = queues.and(QueueSet::on(free));
        // Retries go with retries.
        let beside = if state.retries.has(lead) { state.retries } else { state.ready };
        if !beside.meets(queues_on_free) {
            return joined;
        }
        let head = |queue: QueueId| {
            let op = &self.flash.ops[state.queues[queue].first()];
            (op, &self.flash.attempts[op.newest()])
        };
        let (first, attempt) = head(lead);
        // First senses go along if they could go alone, of a die that is reserved as well.
        let ready = if attempt.number > 0 { state.ready } else { self.eligible(die, state.ready, queues) };
        for plane in planes(free) {
            let here = ready.and(queues).and(QueueSet::on(1 << plane));
            if let Some((_, queue)) = state.first(here, &self.flash.ranks)
                && let (op, other) = head(queue)
                && layout.flash_page_of(op.ppn.get()) == layout.flash_page_of(first.ppn.get())
                && other.goes_with(attempt)
                && (attempt.number == 0 || self.may_go_along(state, op, first))
            {
                joined.queues[joined.count] = queue;
                joined.count += 1;
            }
        }
        joined
    }

    /// Whether a retry may go along with another one: it is of the same command, or of a plane that no read is retried
    /// on.
    fn may_go_along(&self, state: &DieState, op: &PageOp, lead: &PageOp) -> bool {
        state.reserved.planes >> op.queue.plane() & 1 == 0
            || state.begun(op.seq).command == state.begun(lead.seq).command
    }
}

/// A read whose page is about to be sensed.
#[derive(Clone, Copy)]
struct Taken {
    read: OpId,
    attempt: AttemptId,
    plane: usize,
    time: SenseTime,
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Senses pages; whether one of them is the host's.
    pub(super) fn start_sense(&mut self, die: DieId, lead: QueueId) -> bool {
        let Joined { queues, count } = self.view().joined_senses(die, lead);
        let channel = self.flash.dies[die].channel;
        let start = self.occupy(channel, self.core.plan.config.bus.t_command * count as u64, channel::COMMAND);
        let leader = self.flash.dies[die].queues[lead].head_seq;
        let first = self.take_read(die, lead, leader, count == 1);
        if count == 1 {
            let start = self.set_timing_after(start, die, first.time.shorter);
            let end = start + first.time.took;
            self.senses(die, self.core.now, end);
            self.begins_sense(die, first, start, end);
            return USER_READS.has(lead);
        }
        self.start_joined(die, &queues[..count], first, start)
    }

    /// Senses pages of several planes. They end together: with the slowest of them, whose timing the die has.
    #[inline(never)]
    fn start_joined(&mut self, die: DieId, queues: &[QueueId], first: Taken, start: Time) -> bool {
        let leader = self.flash.ops[first.read].seq;
        let mut reads = [first; PLANES];
        for (queue, taken) in queues.iter().zip(&mut reads).skip(1) {
            *taken = self.take_read(die, *queue, leader, false);
        }
        let reads = &reads[..queues.len()];
        let (t_read, shorter) =
            (reads.iter().map(|taken| taken.time.took).max(), reads.iter().map(|taken| taken.time.shorter).min());
        let start = self.set_timing_after(start, die, shorter.unwrap_or(0));
        if self.flash.outcomes.is_some() && shorter == Some(0) {
            self.slow_down(reads);
        }
        let end = start + t_read.unwrap_or(Span::ZERO);
        self.senses(die, self.core.now, end);
        for taken in reads {
            self.begins_sense(die, *taken, start, end);
        }
        queues.iter().any(|queue| USER_READS.has(*queue))
    }

    /// Takes the read that a queue has first: its page is to be sensed by the command of one of an age, or by one of
    /// its own.
    #[inline]
    fn take_read(&mut self, die: DieId, queue: QueueId, leader: u64, alone: bool) -> Taken {
        if self.flash.outcomes.is_none() && self.core.now >= self.flash.asks_from {
            self.flash.ask_chip(&mut self.core.plan);
        }
        let Flash { dies, ops, outcomes, .. } = &mut *self.flash;
        let state = &mut dies[die];
        let read = state.queues[queue].pop(ops).expect("Invariant: ready queues are not empty");
        state.read_head_changed(queue, ops);
        let (op, plane) = (&ops[read], queue.plane());
        let attempt = op.newest();
        state.page_register[plane] = Some(attempt);
        let time = if outcomes.is_none() {
            SenseTime { took: self.core.plan.t_read(op.ppn.get(), op.read.in_slc), shorter: 0, predicts: false }
        } else {
            if self.core.plan.remembers {
                self.recall(read);
            }
            self.prepare_sense(read, attempt, leader, alone)
        };
        Taken { read, attempt, plane, time }
    }

    /// When a die senses whose commands have come, after SET FEATURE where it has another timing.
    #[inline]
    fn set_timing_after(&mut self, start: Time, die: DieId, shorter: u32) -> Time {
        if self.flash.outcomes.is_some() { start + self.set_timing(die, shorter) } else { start }
    }

    /// A plane of a die senses.
    #[inline]
    fn begins_sense(&mut self, die: DieId, taken: Taken, start: Time, end: Time) {
        let Taken { read, attempt, plane, time } = taken;
        self.step_ends(attempt, Step::Queued);
        self.flash.dies[die].begin_sense(plane, Some(attempt), end);
        let Attempt { reduced, number, .. } = self.flash.attempts[attempt];
        let op = &mut self.flash.ops[read];
        let ppn = op.ppn.get();
        if reduced {
            op.read.reduced = true;
            self.core.counters.first_senses_hastened += u64::from(number == 0);
        }
        if time.predicts {
            self.count_prediction(die, end);
        }
        if P::EXPLAINS {
            self.tell_sense(read, attempt, start, end);
        }
        self.core.probe.sense(start, end, die, ppn);
    }

    /// Senses that go along with one of the default timing take that.
    fn slow_down(&mut self, reads: &[Taken]) {
        for taken in reads {
            let (op, attempt) = (&mut self.flash.ops[taken.read], &mut self.flash.attempts[taken.attempt]);
            attempt.reduced = false;
            if attempt.number == 0 {
                op.read.hasty = false;
            }
        }
    }

    /// Tells the probe which page a die begins to sense, and for what.
    fn tell_sense(&mut self, read: OpId, id: AttemptId, begins: Time, ends: Time) {
        let Attempt { die, v_ref, number: attempt, earlier, .. } = self.flash.attempts[id];
        let PageOp { ppn, seq: part, .. } = self.flash.ops[read];
        let what = if v_ref.decodes() { self.flash.ops[read].purpose() } else { "sentinel cells" };
        let (ppn, spent, speculative) = (ppn.get(), self.flash.dies[die].spent(self.core.now), earlier.is_some());
        let event = Event::Senses { part, attempt, begins, ends, spent, ppn, what, speculative };
        self.core.probe.explain(self.core.now, event);
    }

    /// A plane has sensed: what follows.
    pub(super) fn sensed(&mut self, die: DieId, plane: usize) {
        let state = &mut self.flash.dies[die];
        let Some(id) = state.end_sense(plane) else {
            // The die was reset, or its timing set back.
            return state.reserved.release(plane);
        };
        self.core.counters.senses += 1;
        self.step_ends(id, Step::Sensing);
    }
}
