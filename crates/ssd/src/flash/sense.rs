//! Senses: pages from the array into the registers, and from there to the bus.

use nand::{DieId, PlaneReads};
use units::Span;

use super::layer::{FlashAt, FlashView};
use super::op::{Fate, PageOp};
use super::queues::{PLANES, READS, USER_READS, planes};
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;

impl FlashView<'_> {
    /// The queues whose heads are sensed by one command with a leading one's, and how many they are.
    fn joined_senses(&self, die: DieId, lead: usize) -> ([usize; PLANES], usize) {
        let layout = &self.plan.layout;
        let state = &self.flash.dies[die];
        let place = layout.page_of(self.flash.ops[state.queues[lead].first()].ppn.get());
        let mut joined = [usize::MAX; PLANES];
        let mut count = 1;
        joined[0] = lead;
        if self.plan.config.chip.plane_reads == PlaneReads::Lockstep {
            let first = self.flash.ops[state.queues[lead].first()].sense;
            // A suspended die senses for users alone.
            let queues = if state.suspended.is_some() { USER_READS } else { READS };
            for plane in planes(!state.page_full)
                .filter(|plane| *plane != lead % PLANES && *plane < layout.planes_per_die as usize)
            {
                let here = state.ready & queues & (1 << plane | 1 << (plane + PLANES));
                if let Some((_, queue)) = state.first(here, &self.flash.ranks)
                    && layout.page_of(self.flash.ops[state.queues[queue].first()].ppn.get()) == place
                    && self.flash.ops[state.queues[queue].first()].sense.goes_with(&first)
                {
                    joined[count] = queue;
                    count += 1;
                }
            }
        }
        (joined, count)
    }
}

impl<P: Probe> FlashAt<'_, P> {
    /// Senses pages; whether one of them is the host's.
    pub(super) fn start_sense(&mut self, die: DieId, lead: usize) -> bool {
        let layout = self.core.plan.layout;
        let (joined, count) = self.view().joined_senses(die, lead);
        let channel = self.flash.dies[die].channel;
        let mut start = self.occupy(channel, self.core.plan.config.bus.t_command * count as u64, channel::COMMAND);
        // Planes that sense together end together: with the slowest of them, whose timing the die has.
        let (mut t_read, mut shorter) = (Span::ZERO, u32::MAX);
        for queue in &joined[..count] {
            let id = self.flash.dies[die].queues[*queue].first();
            if self.flash.outcomes.is_none() {
                t_read = t_read.max(self.core.plan.timings.read(&layout, self.flash.ops[id].ppn.get()));
                continue;
            }
            if !self.flash.ops[id].sense.is_retry() {
                self.flash.ops[id].sense = self.first_sense(id);
            }
            let (took, less) = self.sense_time(id);
            (t_read, shorter) = (t_read.max(took), shorter.min(less));
            if self.flash.ops[id].sense.is_retry() {
                self.reserve(id);
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
                let event = Event::Senses { part, attempt, begins: start, ends: end, spent, ppn: ppn.get(), what };
                self.core.probe.explain(self.core.now, event);
            }
            self.core.probe.sense(start, end, die, self.flash.ops[op].ppn.get());
        }
        joined[..count].iter().any(|queue| USER_READS >> queue & 1 != 0)
    }

    /// The senses of a die that end now.
    pub fn senses_ended(&mut self, die: DieId) {
        for plane in planes(self.flash.dies[die].sensing) {
            if self.flash.dies[die].sensed_at[plane] <= self.core.now {
                self.sensed(die, plane);
            }
        }
    }

    /// A plane's page register holds a sensed page.
    pub(super) fn sensed(&mut self, die: DieId, plane: usize) {
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
            let channel = state.channel;
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        }
        if self.flash.outcomes.is_some() {
            self.issue_speculative(op);
        }
    }

    /// A page has left a plane of a die.
    pub fn register_freed(&mut self, die: DieId, plane: u8) {
        let state = &mut self.flash.dies[die];
        let bit = 1 << plane;
        if state.cache_full & bit == 0 {
            state.page_full &= !bit;
        } else if state.page_full & bit != 0 {
            state.page_full &= !bit;
            let op = state.page_op[usize::from(plane)].expect("Invariant: a full register holds a page");
            let channel = state.channel;
            self.flash.channels[channel].out.push(&mut self.flash.ops, op);
        } else {
            state.cache_full &= !bit;
        }
    }
}
