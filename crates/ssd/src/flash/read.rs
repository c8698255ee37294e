//! A read of a page: its attempts, and what follows when a step of one ends. The lifecycle of docs/lifecycle.md is
//! [`FlashAt::step_ends`].
//!
//! An attempt is one sense of the page, with some references and a tPRE, and what is done with what was sensed. The
//! first waits in the queue of its die; a retry waits there again, as old as its read, so that the scheduling order
//! finds its place. From the first retry's sense to the end of the read its die is reserved: what ranks no better
//! waits, other reads' retries too, since the die's reference and timing are set for the retry. Pages of one
//! multi-plane command are one read in that. With planes that read by themselves, and the default timing, the other
//! planes' reads go on.
//!
//! With `read.pipeline = "cache-read"` the next attempt is queued as soon as one is sensed, and so begins when a page
//! register is free and nothing better waits; a page that cannot leave its plane holds it up. Then several attempts of
//! a read are under way. When one is corrected the read has ended, and its other attempts are void, wherever they are:
//! a sense in the array is reset (tRST) unless another plane senses with it.

use nand::DieId;
use schemes::{Class, Known, ReadReference};
use units::{Lpn, Ppn, Span};

use super::attempt::{Attempt, Fate, Step};
use super::backend::{Flash, FlashAt};
use super::op::{Owner, PageData, PageOp};
use super::placement::Placement;
use super::queues::QueueId;
use crate::arena::{AttemptId, OpId};
use crate::config::{Config, Transfer};
use crate::observe::probe::{Event, Probe};

/// A read that has ended, and what it has of its page.
pub(crate) type ReadEnd = (OpId, PageData);

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Queues a page to be read: its first attempt waits for its die.
    #[inline]
    pub fn queue_read(&mut self, class: Class, owner: Owner, lpn: Lpn, ppn: Ppn, bytes: (u32, u32)) -> OpId {
        self.placement.prefetch(ppn);
        let (die, plane) = self.core.plan.layout.place_of(ppn);
        let seq = self.flash.number();
        let (bus_bytes, host_bytes) = bytes;
        let queue = QueueId::of_reads(class, plane.into());
        let op = PageOp { host_bytes, seq, ..PageOp::new(owner, lpn, ppn, (die, queue), bus_bytes) };
        let op = self.flash.ops.insert(op);
        let attempt = self.flash.attempts.insert(Attempt::first(op, die, queue));
        let read = &mut self.flash.ops[op].read;
        read.newest = Some(attempt);
        if self.core.plan.slc.is_some() {
            read.in_slc = self.placement.page_in_slc(ppn);
        }
        if P::EXPLAINS {
            self.waits(op);
        }
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.ready.set(queue, true);
        self.mark_dirty(die);
        op
    }

    /// The step of an attempt has ended, at which it is: what follows. The read that ends with it, if one does.
    #[inline(always)] // Callers know the step: of the match, their arm is left.
    pub(super) fn step_ends(&mut self, id: AttemptId, step: Step) -> Option<ReadEnd> {
        let attempt = &mut self.flash.attempts[id];
        debug_assert_eq!(attempt.step, step, "Invariant: what ends is the step that an attempt is at");
        let void = attempt.read.is_none();
        match step {
            // Its die has taken the commands.
            Step::Queued => attempt.step = Step::Sensing,
            Step::Sensing if void => self.sensed_in_vain(id),
            // A die that predicts a failure senses again by itself.
            Step::Sensing => {
                if !self.senses_again(id) {
                    self.enter_register(id);
                    self.speculate(id, Known::Sensed);
                }
            }
            // It has the bus; it keeps its register until it has left the die.
            Step::PageRegister | Step::CacheRegister => attempt.step = Step::Bus,
            Step::Bus if void => self.leave_ecc(id),
            // The controller looks at sentinel cells alone, and knows the next reference.
            Step::Bus if !attempt.v_ref.decodes() => {
                self.note_sentinel(id);
                return self.failed(id);
            }
            Step::Bus => {
                self.enter_ecc(id);
                self.speculate(id, Known::Transferred);
            }
            Step::WaitingForEcc if void => self.leave_ecc(id),
            Step::WaitingForEcc => self.decoder_freed(id),
            Step::Decoding => return self.decoded_page(id),
            Step::Exhausted => unreachable!("Invariant: nothing of an exhausted attempt is under way"),
        }
        None
    }

    /// A decoder has ended.
    #[inline]
    fn decoded_page(&mut self, id: AttemptId) -> Option<ReadEnd> {
        if self.flash.outcomes.is_none() {
            return self.read_without_outcome(id);
        }
        let attempt = self.flash.attempts[id];
        let soft = u64::from(attempt.v_ref.fine().is_some());
        self.core.counters.soft_decodings += soft;
        let Some(read) = attempt.read else {
            self.flash.attempts.release(id);
            return None;
        };
        if attempt.number == 0 && self.core.plan.trees.is_some() {
            self.note_first(read);
        }
        let data = match attempt.fate {
            Fate::Uncorrectable => {
                if attempt.number == 0 && self.flash.ops[read].read.hasty {
                    self.haste_failed(read);
                }
                return self.failed(id);
            }
            Fate::Corrected => PageData::Right,
            Fate::Miscorrected => PageData::Wrong,
        };
        self.core.counters.soft_corrected += soft;
        self.core.counters.reads_repeated += u64::from(attempt.t_pre_fallback);
        self.track(read, &attempt);
        if self.core.plan.config.erase.margin.tracks() {
            self.note_errors(read, &attempt);
        }
        self.read_ends(read, id);
        Some((read, data))
    }

    /// Where no read fails by what its cells hold, a page has been decoded.
    fn read_without_outcome(&mut self, id: AttemptId) -> Option<ReadEnd> {
        let read = self.flash.attempts[id].read?;
        self.flash.attempts.release(id);
        self.flash.steps.record(0);
        self.flash.ops[read].read.newest = None;
        let broken = self.flash.is_broken(self.flash.ops[read].ppn.get());
        self.core.counters.pages_unreadable += u64::from(broken);
        Some((read, if broken { PageData::Lost } else { PageData::Right }))
    }

    /// An attempt was not corrected: the next one waits for the die, unless it does already; or it was the last.
    #[inline(never)]
    fn failed(&mut self, id: AttemptId) -> Option<ReadEnd> {
        let attempt = self.flash.attempts[id];
        let read = attempt.read.expect("Invariant: void attempts are not looked at");
        if attempt.v_ref.decodes() && self.core.plan.config.bus.transfer == Transfer::Uncorrected {
            let (seq, failed) = (self.flash.ops[read].seq, attempt.failed);
            self.flash.references.not_corrected(seq, failed);
        }
        let op = &self.flash.ops[read];
        if op.read.newest != Some(id) {
            self.drop_earlier(read, id);
            let newest = self.flash.ops[read].read.newest.filter(|newest| {
                let newest = &self.flash.attempts[*newest];
                newest.step == Step::Exhausted && newest.earlier.is_none()
            });
            return newest.map(|last| self.read_is_lost(read, last));
        }
        if let Some((v_ref, t_pre_fallback)) = self.next_step(op, &attempt) {
            self.queue_attempt(id, v_ref, t_pre_fallback);
            return None;
        }
        if attempt.earlier.is_some() {
            // Decodings differ in length: the read ends with the last of them.
            self.flash.attempts[id].step = Step::Exhausted;
            return None;
        }
        Some(self.read_is_lost(read, id))
    }

    fn read_is_lost(&mut self, read: OpId, last: AttemptId) -> ReadEnd {
        let gives_up = self.gives_up(&self.flash.ops[read], &self.flash.attempts[last]);
        self.core.counters.pages_given_up += u64::from(gives_up);
        self.core.counters.pages_unreadable += u64::from(!gives_up);
        self.read_ends(read, last);
        (read, if gives_up { PageData::GivenUp } else { PageData::Lost })
    }

    /// An attempt has failed that a later one of its read follows already.
    fn drop_earlier(&mut self, read: OpId, id: AttemptId) {
        let earlier = self.flash.attempts[id].earlier;
        let mut next = self.flash.ops[read].read.newest;
        while let Some(later) = next {
            let later = &mut self.flash.attempts[later];
            next = later.earlier;
            if next == Some(id) {
                later.earlier = earlier;
                break;
            }
        }
        self.flash.attempts.release(id);
    }

    /// Queues the next attempt of a read, as old as it is, in the place of its newest one.
    fn queue_attempt(&mut self, id: AttemptId, v_ref: ReadReference, t_pre_fallback: bool) {
        let attempt = &mut self.flash.attempts[id];
        let number = attempt.number + 1;
        (attempt.step, attempt.number, attempt.repeats) = (Step::Queued, number, true);
        (attempt.v_ref, attempt.t_pre_fallback) = (v_ref, t_pre_fallback);
        (attempt.on_die_retries, attempt.failed, attempt.took) = (0, u64::MAX, 0);
        let Attempt { read, die, queue, .. } = *attempt;
        let read = read.expect("Invariant: a void attempt is followed by none");
        let op = &mut self.flash.ops[read];
        op.read.retries = number;
        let seq = op.seq;
        if P::EXPLAINS {
            self.waits(read);
        }
        let state = &mut self.flash.dies[die];
        // The read that the die is reserved for goes first, be another one older that has failed since.
        let waiting = &mut state.queues[queue];
        if state.reserved.holds(seq) {
            waiting.push_front(&mut self.flash.ops, read);
        } else {
            let keeps_head = state.reserved.holds(waiting.head_seq);
            waiting.insert(&mut self.flash.ops, read, keeps_head);
        }
        state.read_head_changed(queue, &self.flash.ops);
        self.mark_dirty(die);
    }

    /// A page is sensed, or in the controller: with CACHE READ the next attempt follows at once, if its references are
    /// known by now.
    #[inline]
    fn speculate(&mut self, id: AttemptId, now: Known) {
        if self.core.plan.config.read.pipeline.overlaps() {
            self.speculate_from(id, now);
        }
    }

    fn speculate_from(&mut self, id: AttemptId, now: Known) {
        let attempt = self.flash.attempts[id];
        let config = &self.core.plan.config.read;
        let retry = attempt.number > 0;
        if self.flash.outcomes.is_some()
            && let Some(read) = attempt.read
            && config.pipeline.speculates(retry, !retry && self.flash.ops[read].read.likely_to_fail)
            && config.next.known(attempt.v_ref).max(config.pipeline.from()) == now
            && let Some((v_ref, t_pre_fallback)) = self.next_step(&self.flash.ops[read], &attempt)
            && v_ref.fine().is_none()
        {
            let ahead = self.flash.attempts.insert(Attempt { earlier: Some(id), ..attempt });
            self.flash.ops[read].read.newest = Some(ahead);
            self.queue_attempt(ahead, v_ref, t_pre_fallback);
        }
    }

    /// A read ends with an attempt: it needs its plane no more, and its other attempts are void.
    fn read_ends(&mut self, read: OpId, id: AttemptId) {
        let attempt = self.flash.attempts[id];
        let op = &mut self.flash.ops[read];
        op.read.retries = attempt.number;
        let (die, seq) = (op.die, op.seq);
        self.core.counters.retry_steps += u64::from(attempt.number);
        self.core.counters.pages_retried += u64::from(attempt.number > 0);
        self.flash.steps.record(attempt.number.into());
        self.flash.references.forget(seq);
        let reads_in_progress = &mut self.flash.dies[die].reads_in_progress;
        if let Some(place) = reads_in_progress.iter().position(|read| read.seq == seq) {
            reads_in_progress.swap_remove(place);
        }
        self.mark_dirty(die);
        let ahead = attempt.number == 0 && self.flash.ops[read].read.newest != Some(id);
        let reset = self.void_attempts(read, id);
        if attempt.number > 0 || ahead {
            self.release_plane(die, attempt.queue.plane(), seq, reset);
        }
    }

    /// Takes the attempts of a read that has ended with one of them from it: they are void. What resetting the die
    /// takes.
    fn void_attempts(&mut self, read: OpId, ended: AttemptId) -> Span {
        let last = self.flash.attempts[ended].number;
        let (mut reset, mut wasted) = (Span::ZERO, 0);
        let mut next = self.flash.ops[read].read.newest.take();
        while let Some(id) = next {
            let attempt = self.flash.attempts[id];
            next = attempt.earlier;
            self.flash.attempts[id].read = None;
            let mut ran = u64::from(attempt.took);
            match attempt.step {
                Step::Queued => self.leave_queue(read, id),
                Step::Sensing => {
                    if let Some(so_far) = self.stop_sensing(id) {
                        reset = self.core.plan.config.chip.t_rst;
                        ran = so_far.0 + reset.0;
                    }
                }
                Step::PageRegister | Step::CacheRegister => self.leave_register(id),
                // Room before the decoders is its own until the bus or the decoder has done with it.
                Step::Bus | Step::WaitingForEcc | Step::Decoding if id != ended => {}
                Step::Bus | Step::WaitingForEcc | Step::Decoding | Step::Exhausted => self.flash.attempts.release(id),
            }
            if attempt.number > last && !matches!(attempt.step, Step::Queued | Step::Exhausted) {
                self.core.counters.speculative_senses += 1;
                wasted += ran;
            }
        }
        self.core.counters.speculative_ns += wasted;
        reset
    }

    /// A void attempt waits for its die no more.
    fn leave_queue(&mut self, read: OpId, id: AttemptId) {
        let PageOp { die, queue, seq, .. } = self.flash.ops[read];
        let state = &mut self.flash.dies[die];
        let removed = state.queues[queue].remove(&mut self.flash.ops, seq);
        debug_assert_eq!(removed, Some(read), "Invariant: a read whose attempt is queued waits for its die");
        state.read_head_changed(queue, &self.flash.ops);
        self.flash.attempts.release(id);
    }

    /// A void attempt leaves its register, whether it waited there for the bus or behind another page of its plane.
    fn leave_register(&mut self, id: AttemptId) {
        let Attempt { die, queue, .. } = self.flash.attempts[id];
        let state = &mut self.flash.dies[die];
        let out = &mut self.flash.channels[state.channel].out;
        match out.iter().position(|other| *other == id) {
            Some(place) => {
                out.remove(place);
                self.register_freed(die, queue.plane());
            }
            None => _ = state.drop_page(queue.plane()),
        }
        self.flash.attempts.release(id);
    }

    /// Stops the sense of a void attempt by a RESET, unless other planes sense with it or it ends before. How long it
    /// has run then.
    fn stop_sensing(&mut self, id: AttemptId) -> Option<Span> {
        let Attempt { die, queue, took, .. } = self.flash.attempts[id];
        let (plane, now) = (queue.plane(), self.core.now);
        let state = &mut self.flash.dies[die];
        let ends = state.sensed_at[plane];
        if state.sensing != 1 << plane || now + self.core.plan.config.chip.t_rst >= ends {
            return None;
        }
        state.page_register[plane] = None;
        self.flash.attempts.release(id);
        // It has run since its beginning, or is about to begin.
        Some(Span((now.0 + u64::from(took)).saturating_sub(ends.0)))
    }

    /// The plane of a read that has ended is free for others: after RESET, or when a sense of its own ends that is not
    /// reset; and SET FEATURE where nothing else is retried on the die.
    fn release_plane(&mut self, die: DieId, plane: usize, seq: u64, reset: Span) {
        let state = &mut self.flash.dies[die];
        if !state.reserved.holds(seq) {
            return;
        }
        state.reserved.ends(seq);
        let senses = state.page_register[plane].filter(|_| state.sensing >> plane & 1 != 0);
        if senses.is_some_and(|id| self.flash.attempts[id].read.is_none()) {
            return;
        }
        self.set_back(die, plane, reset);
    }

    /// A void attempt has been sensed to its end.
    fn sensed_in_vain(&mut self, id: AttemptId) {
        let Attempt { die, queue, .. } = self.flash.attempts[id];
        self.flash.attempts.release(id);
        if self.flash.dies[die].reserved.has_ended(queue.plane()) {
            self.set_back(die, queue.plane(), Span::ZERO);
        }
    }

    /// A plane that is reserved for a read that has ended senses nothing for it any more: what is left is RESET and SET
    /// FEATURE.
    fn set_back(&mut self, die: DieId, plane: usize, reset: Span) {
        // The die's timing is rolled back when nothing else is being retried on it; by the next sense, where something
        // that ranks better has the array, or another die the chip, or a void page of the read is on its way out.
        let state = &self.flash.dies[die];
        let keeps = self.core.plan.config.read.sensing.hastens();
        let rolls_back = state.reserved.has_one() && state.reserved.shorter != 0 && !keeps;
        let taken = state.active.is_some() || self.view().chip_taken(die);
        let leaves = state.page_full >> plane & 1 != 0;
        let busy = taken || leaves || state.sensing >> plane & 1 != 0 && reset == Span::ZERO;
        let set = if rolls_back && !busy { self.set_timing(die, 0) } else { Span::ZERO };
        if reset + set == Span::ZERO || busy {
            return self.flash.dies[die].reserved.release(plane);
        }
        let (now, end) = (self.core.now, self.core.now + reset + set);
        self.flash.dies[die].begin_sense(plane, None, end);
        self.die_enters(die, crate::observe::stats::die::READ, None);
        self.take_chip(die);
        if reset > Span::ZERO {
            // Nothing else was sensed, and what was is not brought to its end.
            self.array_draws(die, |plan| plan.config.energy.sense_mw, now, end);
        } else {
            self.senses(die, now, end);
        }
        self.core.probe.reset(now, end, die);
        if P::EXPLAINS {
            let plane = plane as u8;
            self.core.probe.explain(now, Event::Resets { die, plane, reset: now + reset, end });
        }
    }

    /// Decides what becomes of a page that has been sensed; whether the die has predicted a failure, and senses it
    /// again by itself.
    #[inline]
    fn senses_again(&mut self, id: AttemptId) -> bool {
        self.flash.outcomes.is_some() && self.decide_outcome(id)
    }

    /// What was sensed goes into a register of its plane.
    #[inline]
    pub(super) fn enter_register(&mut self, id: AttemptId) {
        let Flash { attempts, ops, dies, channels, .. } = &mut *self.flash;
        let attempt = &mut attempts[id];
        let state = &mut dies[attempt.die];
        let Config { chip, read, .. } = &self.core.plan.config;
        let retry = attempt.number > 0;
        let likely = !retry && attempt.read.is_some_and(|read| ops[read].read.likely_to_fail);
        // A suspended die whose next program's data is in the cache registers reads without them.
        let caches = (chip.cache_read || read.pipeline.caches(retry, likely)) && state.loaded.is_none();
        let (step, leaves) = state.hold(attempt.queue.plane(), id, caches);
        attempt.step = step;
        if leaves {
            channels[state.channel].out.push_back(id);
        }
    }

    /// A page has left a plane of a die.
    pub(super) fn register_freed(&mut self, die: DieId, plane: usize) {
        let state = &mut self.flash.dies[die];
        if let Some(next) = state.free_register(plane) {
            self.flash.attempts[next].step = Step::CacheRegister;
            self.flash.channels[state.channel].out.push_back(next);
        }
    }
}
