//! Senses: pages from the array into the registers, and from there to the bus.

use nand::{DieId, PlaneReads};
use schemes::Known;
use units::{Ppn, Span};

use super::layer::{FlashAt, FlashView};
use super::op::{Fate, PageOp};
use super::queues::{PLANES, QueueId, QueueSet, READS, USER_READS, planes};
use super::state::DieState;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;

/// The queues whose heads one command senses: the leading one first.
struct Joined {
    queues: [QueueId; PLANES],
    count: usize,
}

impl FlashView<'_> {
    /// tR of a page, in the mode of its block.
    #[inline]
    pub(super) fn t_read(&self, ppn: Ppn) -> Span {
        let (timings, layout) = match &self.plan.slc {
            Some(slc) if self.ftl.blocks.page_in_slc(ppn) => (&slc.timings, &slc.layout),
            _ => (&self.plan.timings, &self.plan.layout),
        };
        timings.read(layout, ppn)
    }

    /// The queues whose heads are sensed by one command with a leading one's.
    fn joined_senses(&self, die: DieId, lead: QueueId) -> Joined {
        let mut joined = Joined { queues: [lead; PLANES], count: 1 };
        if self.plan.config.chip.plane_reads != PlaneReads::Lockstep {
            return joined;
        }
        let (layout, state) = (&self.plan.layout, &self.flash.dies[die]);
        let head = |queue: QueueId| &self.flash.ops[state.queues[queue].first()];
        let first = head(lead);
        // A suspended die senses for users alone.
        let queues = if state.suspended.is_some() { USER_READS } else { READS };
        // First senses go along if they could go alone, of a die that is reserved as well.
        let ready = if first.sense.is_retry() { state.ready } else { self.eligible(die, state.ready, queues) };
        let free =
            !state.page_full & !(1 << lead.plane()) & (u8::MAX >> (PLANES as u32 - layout.flash_planes_per_die()));
        for plane in planes(free) {
            let here = ready.and(queues).and(QueueSet::on(1 << plane));
            if let Some((_, queue)) = state.first(here, &self.flash.ranks)
                && layout.flash_page_of(head(queue).ppn.get()) == layout.flash_page_of(first.ppn.get())
                && head(queue).sense.goes_with(&first.sense)
                && (!first.sense.is_retry() || self.may_go_along(state, head(queue), first))
            {
                joined.queues[joined.count] = queue;
                joined.count += 1;
            }
        }
        joined
    }

    /// Whether a retry may go along with another one: it is of the same command, or of a plane that no read is retried on.
    fn may_go_along(&self, state: &DieState, op: &PageOp, lead: &PageOp) -> bool {
        state.reserved.planes >> op.queue.plane() & 1 == 0
            || state.begun(op.seq).command == state.begun(lead.seq).command
    }
}

impl<P: Probe> FlashAt<'_, P> {
    /// Senses pages; whether one of them is the host's.
    pub(super) fn start_sense(&mut self, die: DieId, lead: QueueId) -> bool {
        let Joined { queues, count } = self.view().joined_senses(die, lead);
        let channel = self.flash.dies[die].channel;
        let mut start = self.occupy(channel, self.core.plan.config.bus.t_command * count as u64, channel::COMMAND);
        // Planes that sense together end together: with the slowest of them, whose timing the die has.
        let (mut t_read, mut shorter) = (Span::ZERO, u32::MAX);
        let leader = self.flash.ops[self.flash.dies[die].queues[lead].first()].seq;
        for queue in &queues[..count] {
            let state = &mut self.flash.dies[die];
            let id = state.queues[*queue].pop(&mut self.flash.ops).expect("Invariant: ready queues are not empty");
            state.read_head_changed(*queue, &self.flash.ops);
            state.page_op[queue.plane()] = Some(id);
            if self.flash.outcomes.is_none() {
                t_read = t_read.max(self.view().t_read(self.flash.ops[id].ppn.get()));
            } else {
                let (took, less) = self.prepare_sense(id, leader);
                (t_read, shorter) = (t_read.max(took), shorter.min(less));
            }
        }
        if self.flash.outcomes.is_some() {
            self.count_prediction(self.flash.dies[die].page_op(lead.plane()));
            start = start + self.set_timing(die, shorter);
        }
        let end = start + t_read;
        self.array_draws(die, |plan| plan.config.energy.sense_mw, self.core.now, end);
        for queue in &queues[..count] {
            let plane = queue.plane();
            let state = &mut self.flash.dies[die];
            let id = state.page_op(plane);
            state.sensing |= 1 << plane;
            state.sensed_at[plane] = end;
            let PageOp { ppn, seq: part, sense, .. } = self.flash.ops[id];
            if P::EXPLAINS {
                let (attempt, spent, what) = (sense.attempt, state.spent(self.core.now), self.flash.ops[id].purpose());
                let speculative = self.view().is_speculative(id);
                let ppn = ppn.get();
                let event = Event::Senses { part, attempt, begins: start, ends: end, spent, ppn, what, speculative };
                self.core.probe.explain(self.core.now, event);
            }
            self.core.probe.sense(start, end, die, ppn.get());
        }
        queues[..count].iter().any(|queue| USER_READS.has(*queue))
    }

    /// A plane's page register holds a sensed page.
    pub(super) fn sensed(&mut self, die: DieId, plane: usize) {
        let state = &mut self.flash.dies[die];
        let bit = 1 << plane;
        state.sensing &= !bit;
        let Some(op) = state.page_op[plane] else {
            // The die was reset, or its timing set back.
            return state.reserved.release(plane);
        };
        self.core.counters.senses += 1;
        let sense = self.flash.ops[op].sense;
        if sense.fate == Fate::Cancelled {
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
        // A suspended die whose next program's data is in the cache registers reads without them.
        let pipeline = self.core.plan.config.read.pipeline;
        let caches = self.core.plan.config.chip.cache_read || pipeline.speculates(sense.attempt > 0);
        let caches = caches && state.loaded.is_none();
        if caches && state.cache_full & bit == 0 {
            state.cache_full |= bit;
        } else {
            state.page_full |= bit;
        }
        // What comes behind a page in the cache register waits for it.
        if state.page_full & state.cache_full & bit == 0 {
            let channel = state.channel;
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        }
        self.speculate(op, Known::Sensed);
    }

    /// A page has left a plane of a die.
    pub(super) fn register_freed(&mut self, die: DieId, plane: usize) {
        let state = &mut self.flash.dies[die];
        let bit = 1 << plane;
        if state.cache_full & bit == 0 {
            state.page_full &= !bit;
        } else if state.page_full & bit != 0 {
            state.page_full &= !bit;
            let op = state.page_op(plane);
            let channel = state.channel;
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        } else {
            state.cache_full &= !bit;
        }
    }
}
