//! What becomes of a sensed page, and with which references the next attempt of its read senses it.
//!
//! What becomes of a sensed page is drawn when it is sensed: whether it will be corrected, how long that takes, and
//! whether a prediction says so. Where the die predicts (`read.predictor = "on-die"`), tPRED follows every first sense,
//! and after a predicted failure the plane senses once more before its page is ready; the other planes' pages are ready
//! and leave.

use nand::geometry::MAX_BITS;
use nand::model::cells::{KIB_BITS, MONTH_NS};
use nand::model::outcomes::{Archetypes, OutcomeSource, Outcomes, PageState, Sensed, UNCORRECTABLE};
use nand::{Address, DieId};
use schemes::{Failed, Fine, Next, ReadReference, Soft, Start, Weighed};
use units::{Lpn, Ppn, Span, Time};

use super::attempt::{Attempt, Fate, Shown};
use super::backend::{Flash, FlashAt};
use super::op::PageOp;
use super::placement::{PageConditions, Placement};
use super::references::Similar;
use super::state::Begun;
use crate::arena::{AttemptId, OpId};
use crate::config::{Config, Plan, Tracking, Transfer};
use crate::observe::probe::{Event, Probe};

/// How long a sense of a page takes, and what that is made of.
#[derive(Clone, Copy)]
pub(super) struct SenseTime {
    /// How long the die senses, a prediction included.
    pub took: Span,
    /// By how much tPRE is shorter than by default \[ns].
    pub shorter: u32,
    /// Whether the die predicts at its end whether it can be corrected.
    pub predicts: bool,
}

/// What becomes of a sensed page in the decoder.
pub(super) struct DecodeOutcome {
    /// It will be corrected.
    pub corrected: bool,
    /// It is predicted not to be, where anybody predicts.
    predicted: bool,
    /// How long that takes.
    time: Span,
    /// Its codewords that will not be corrected, a bit each; all where no code says which.
    failed: u64,
}

/// What a page needs that is predicted to fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// The next references.
    References,
    /// The references of the last sense by the default tPRE: the errors that the hasty sense added are too many.
    DefaultTiming,
    /// To be sensed finely, with this number of bits a cell: no references read it for hard decoding.
    SoftDecoding(u8),
}

/// With which references an attempt senses, as far as they matter to its errors.
fn sensed_with(attempt: &Attempt) -> Sensed {
    match attempt.v_ref {
        ReadReference::Step(step) if attempt.repeats => Sensed::Retry(step),
        ReadReference::Step(step) => Sensed::First(step),
        _ => Sensed::NearOptimal,
    }
}

/// The share of checks of hpca24's code that see an odd number of errors, by RBER.
fn odd_share(rber: f64) -> f64 {
    (1.0 - libm::pow(1.0 - 2.0 * rber.min(0.5), ecc::code::COLUMNS as f64)) / 2.0
}

/// A normal deviate for a uniform one.
fn deviate(uniform: f64) -> f64 {
    nand::model::normal::quantile(uniform.clamp(1e-12, 1.0 - 1e-12))
}

/// The RBER for which the weight of a codeword's pruned syndromes stands, one to one (hpca24 section IV-B): as
/// [`syndrome_weight`], of one block row.
fn weighed_rber(rber: f64, uniform: f64) -> f64 {
    let (checks, odd) = (ecc::code::SIZE as f64, odd_share(rber));
    let weight = checks * odd + libm::sqrt(checks * odd * (1.0 - odd)) * deviate(uniform);
    // From half of the checks on every RBER has that weight.
    let share = (weight.round() / checks).clamp(0.0, 0.499);
    (1.0 - libm::pow(1.0 - 2.0 * share, 1.0 / ecc::code::COLUMNS as f64)) / 2.0
}

/// How many syndromes of a page are not 0: of this many codewords with an RBER, each with the checks of hpca24's code,
/// which see an odd number of errors or not. Normal, as if checks were independent (`assumed`: they share few bits).
fn syndrome_weight(rber: f64, codewords: u32, draws: units::Stream, attempt: u64) -> u32 {
    let checks = f64::from(codewords) * ecc::code::SIZE as f64 * ecc::code::ROWS as f64;
    let odd = odd_share(rber);
    let deviation = libm::sqrt(checks * odd * (1.0 - odd));
    (checks * odd + deviation * deviate(draws.uniform(attempt))).round().clamp(0.0, checks) as u32
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Gets a page ready to be sensed by a command that a read of the age `lead` leads, `alone` or with others.
    pub(super) fn prepare_sense(&mut self, read: OpId, id: AttemptId, lead: u64, alone: bool) -> SenseTime {
        let op = self.flash.ops[read];
        let mut attempt = self.flash.attempts[id];
        let state = &mut self.flash.dies[op.die];
        if attempt.number > 0 {
            if !state.reserved.goes_on_with(op.seq) {
                let read = state.begun(op.seq);
                let goes_along = read.command != state.begun(lead).command;
                state.reserved.reserve(read, goes_along);
            }
        } else {
            state.reads_in_progress.push(Begun { seq: op.seq, queue: op.queue, command: lead, alone });
            attempt.v_ref = ReadReference::Step(op.read.start);
        }
        attempt.reduced = self.reduces(&op, &attempt);
        let sense = self.sense_time(&op, &attempt);
        let entry = &mut self.flash.attempts[id];
        (entry.v_ref, entry.reduced, entry.took) = (attempt.v_ref, sense.shorter > 0, sense.took.0 as u32);
        sense
    }

    /// The first sense of a read has failed with the RPT's tPRE: those of similar pages take the default one for a
    /// while.
    pub(super) fn haste_failed(&mut self, read: OpId) {
        let op = self.flash.ops[read];
        self.core.counters.first_senses_repeated += 1;
        if self.core.plan.config.read.sensing.rests()
            && let Some(place) = self.similar(&op)
        {
            self.core.counters.records_evicted += u64::from(self.flash.references.rest(place));
        }
    }

    /// A die senses a page until a time, and predicts at the end of that where it does. Meanwhile its array rests, for
    /// however many planes it predicts; while another plane is sensed for longer it does not.
    pub(super) fn count_prediction(&mut self, die: DieId, end: Time) {
        let (t_pred, state) = (self.core.plan.config.read.t_pred, &mut self.flash.dies[die]);
        let predicting = t_pred.0.min(end.0.saturating_sub(state.predicting_until.0));
        state.predicting_until = state.predicting_until.max(end);
        self.core.counters.predicting_ns += predicting;
        self.use_energy(|plan| -plan.config.energy.sense_mw * predicting as f64);
    }

    /// Where the step is kept that last read a page similar to an operation's.
    pub(super) fn similar(&mut self, op: &PageOp) -> Option<Similar> {
        let PageOp { ppn, die, .. } = *op;
        let conditions = self.conditions_of(op);
        let (block, page) = self.place_of(op.ppn.get());
        let outcomes = self.flash.outcomes.as_ref()?;
        let (layer, layers) = outcomes.layer(page);
        let (plan, ppn) = (&self.core.plan, ppn.get());
        let of_layer = |layer: u64| layer * MAX_BITS as u64 + u64::from(plan.layout.page_type(ppn));
        let (group, layer) = match (plan.config.read.start, plan.config.read.tracking) {
            (Start::Recorded, _) => {
                // What was recorded before a block's last erase is of other data.
                let Address { plane, block: own, .. } = plan.layout.unpack(ppn);
                let cycles = u64::from(self.placement.cycles(plane, own, plan));
                return Some((
                    block,
                    cycles << 32 | of_layer(u64::from(layer * plan.config.read.record_groups / layers)),
                ));
            }
            (_, Tracking::Age) => {
                (u64::from(outcomes.age_class(conditions.retention)) << 32 | u64::from(die.0), u64::from(layer))
            }
            (_, Tracking::Block) => (block, u64::from(layer)),
        };
        Some((group, of_layer(layer)))
    }

    fn sense_time(&mut self, op: &PageOp, attempt: &Attempt) -> SenseTime {
        let (once, shorter) = self.sense_once(op, attempt);
        let read = &self.core.plan.config.read;
        let hard = || read.next.senses(attempt.v_ref, attempt.on_die_retries > 0);
        let all = once * u64::from(attempt.v_ref.fine().map_or_else(hard, Fine::senses));
        // What a die counts are the syndromes of bits, which soft senses do not give.
        let predicts = read.predictor.looks_on_die(attempt.repeats) && attempt.v_ref.fine().is_none();
        SenseTime { took: if predicts { all + read.t_pred } else { all }, shorter, predicts }
    }

    fn sense_once(&mut self, op: &PageOp, attempt: &Attempt) -> (Span, u32) {
        let ppn = op.ppn.get();
        let full = self.core.plan.t_read(ppn, op.read.in_slc);
        if op.read.in_slc {
            return (full, 0);
        }
        let kind = self.core.plan.layout.page_type(ppn);
        if attempt.v_ref.senses_one_boundary() {
            let senses =
                self.core.plan.config.chip.senses.as_ref().map_or(1, |of| of.get(kind as usize).copied().unwrap_or(1));
            return (Span(full.0 / u64::from(senses.max(1))), 0);
        }
        if !attempt.reduced {
            return (full, 0);
        }
        let less = self.cut(op);
        let senses = self.core.plan.config.chip.senses.as_deref();
        if less == 0 { (full, 0) } else { (self.core.plan.timings.shorter(kind, senses, Span(less.into())), less) }
    }

    /// By how much the RPT's tPRE is shorter than the default one for an operation's page \[ns]; 0 beyond the RPT.
    pub(super) fn cut(&mut self, op: &PageOp) -> u32 {
        let conditions = self.conditions_of(op);
        let t_pre = self.flash.outcomes.as_mut().and_then(|of| of.retry_t_pre(conditions));
        let faster = self.core.plan.faster.as_ref();
        faster.zip(t_pre).map_or(0, |(faster, t_pre)| faster.t_pre.saturating_sub(t_pre))
    }

    /// Whether a sense takes the RPT's tPRE. The soft decoder is given what the cells hold, not what a hasty sense
    /// adds.
    fn reduces(&self, op: &PageOp, attempt: &Attempt) -> bool {
        let sensing = self.core.plan.config.read.sensing;
        let may = !op.read.in_slc && attempt.v_ref.fine().is_none();
        match (attempt.repeats, attempt.number) {
            (false, _) => may && op.read.hasty,
            // What has failed in haste is repeated.
            (true, 1) if op.read.hasty => false,
            _ => may && sensing.reduces(attempt.repeats, attempt.t_pre_fallback),
        }
    }

    /// What SET FEATURE takes before a sense, if the die's tPRE is to change.
    pub(super) fn set_timing(&mut self, die: DieId, shorter: u32) -> Span {
        let reserved = &mut self.flash.dies[die].reserved;
        if reserved.shorter == shorter {
            return Span::ZERO;
        }
        reserved.shorter = shorter;
        self.core.counters.set_features += 1;
        self.core.plan.config.chip.t_set
    }

    /// The next reference of a read, if there are any, and whether all are tried again with the default timing.
    #[inline]
    pub(super) fn next_step(&self, op: &PageOp, attempt: &Attempt) -> Option<(ReadReference, bool)> {
        if self.is_at_limit(op, attempt) { None } else { self.next_of_all(op, attempt) }
    }

    /// Whether a read may not go on after an attempt, since its host has another way to the data. A look at sentinel
    /// cells, which says where the data can be read, is none that it ends with.
    fn is_at_limit(&self, op: &PageOp, attempt: &Attempt) -> bool {
        let limit = self.core.plan.config.read.fail_fast;
        let may_end = op.read.limited && attempt.v_ref.decodes();
        may_end && limit.is_some_and(|limit| u32::from(attempt.number) >= limit)
    }

    /// Whether a read ends with an attempt, its last, although it could go on.
    pub(super) fn gives_up(&self, op: &PageOp, attempt: &Attempt) -> bool {
        self.is_at_limit(op, attempt) && self.next_of_all(op, attempt).is_some()
    }

    /// The next reference where none is the last before its time.
    fn next_of_all(&self, op: &PageOp, attempt: &Attempt) -> Option<(ReadReference, bool)> {
        // What sentinel cells say is for the sense that follows.
        if attempt.v_ref.decodes() && self.flash.is_broken(op.ppn.get()) {
            return None;
        }
        if attempt.number == 0 && op.read.hasty {
            return Some((attempt.v_ref, false));
        }
        if attempt.soft_bits > 0 && attempt.v_ref == ReadReference::NearOptimal {
            let fine = Fine::new(attempt.soft_bits, attempt.v_ref.known_bits());
            return Some((ReadReference::Soft(fine), attempt.t_pre_fallback));
        }
        let (v_ref, ecc) = (attempt.v_ref, &self.core.plan.config.ecc);
        let soft = || {
            let fine = ecc.soft.after(v_ref.known_bits(), v_ref.fine().is_some());
            fine.map(|fine| (ReadReference::Soft(fine), attempt.t_pre_fallback))
        };
        if v_ref.fine().is_some() {
            return soft();
        }
        if ecc.soft_after.is_some_and(|after| u32::from(attempt.number) >= after) {
            return soft().or_else(|| self.next_hard_step(op, attempt));
        }
        self.next_hard_step(op, attempt).or_else(soft)
    }

    /// The next reference for hard decoding.
    fn next_hard_step(&self, op: &PageOp, attempt: &Attempt) -> Option<(ReadReference, bool)> {
        let (ppn, start) = (op.ppn.get(), op.read.start);
        let outcomes = self.outcomes_of(op.read.in_slc)?;
        let (last, sentinel) = (outcomes.last_step(), outcomes.has_sentinel(self.core.plan.layout.flash_page_of(ppn)));
        let Plan { tailored, config: Config { read, policies, .. }, .. } = &self.core.plan;
        let table = tailored.as_ref().map_or(&[][..], |table| table.steps());
        let weighed = self.flash.references.weighed(op.seq, attempt.t_pre_fallback);
        let mut failed = Failed { start, v_ref: attempt.v_ref, last, sentinel, weighed, table };
        let mut t_pre_fallback = attempt.t_pre_fallback;
        let senses = attempt.number.saturating_add(attempt.on_die_retries);
        loop {
            let next = policies.after(read.next, read.predictor, failed, senses);
            // AR2: everything has failed with the reduced tPRE; the first reference were sensed with the default one.
            if next.is_some() || !op.read.reduced || !read.sensing.reduces(attempt.repeats, t_pre_fallback) {
                return next.map(|v_ref| (v_ref, t_pre_fallback));
            }
            // By their weights it goes on from what the default one has shown, if anything.
            failed.weighed = self.flash.references.weighed(op.seq, true);
            if read.next == Next::Syndrome && failed.weighed.is_empty() {
                return Some((ReadReference::Step(start), true));
            }
            (failed.v_ref, t_pre_fallback) = (ReadReference::Step(start), true);
        }
    }

    /// The data of a page has been copied back to another one: the errors per KiB that it has brought along, those of a
    /// sense by the default references.
    #[cold]
    pub fn errors_of_copy(&mut self, lpn: Lpn, source: Ppn) -> f64 {
        let errors = self.errors_by_default_references(lpn, source);
        let [pages, thousandths] = &mut self.core.counters.copied_errors;
        (*pages, *thousandths) = (*pages + 1, *thousandths + (errors * 1e3) as u64);
        errors
    }

    /// Errors per KiB that a die finds in a page by the default references; none where nothing says how many.
    fn errors_by_default_references(&mut self, lpn: Lpn, source: Ppn) -> f64 {
        let (state, in_slc) = (self.conditions_of_page(lpn, source), self.placement.page_in_slc(source));
        if self.flash.slc_outcomes.is_none() && in_slc {
            return self.errors_of_one_bit(state, ReadReference::Step(0)).unwrap_or(0.0);
        }
        let (block, page) = self.place_of(source);
        let Some(outcomes) = self.outcomes_of_mut(in_slc) else { return 0.0 };
        outcomes.rber(block, page, state, Sensed::First(0), false).map_or(0.0, |(rber, _)| KIB_BITS * rber)
    }

    /// The conditions under which an operation reads its page.
    pub(super) fn conditions_of(&self, op: &PageOp) -> PageState {
        let (lpn, ppn) = op.pages();
        self.conditions_of_page(lpn, ppn)
    }

    fn conditions_of_page(&self, lpn: Lpn, ppn: Ppn) -> PageState {
        let now = self.flash.age_clock(self.core.now);
        let PageConditions { conditions, programmed, added_errors: extra } =
            self.placement.conditions(ppn, now, &self.core.plan);
        let map = programmed.is_none() && lpn.0 >= self.core.plan.logical_pages;
        let before = || self.core.plan.config.age.map_retention.0.saturating_add(self.placement.aged(now).0);
        let retention = if map { Span(before()) } else { conditions.retention };
        let reads = if self.core.plan.config.chip.read_disturb { conditions.reads } else { 0 };
        // At rest, unless it is known that it was elsewhere.
        let programmed = programmed.or((!self.core.plan.crossed).then_some(0));
        PageState { pec: conditions.pec.0, retention, reads, warmer: now.warmer, programmed, extra }
    }

    /// Decides what becomes of a page that has been sensed; whether the die predicts a failure, and senses the page
    /// again by itself.
    pub(super) fn decide_outcome(&mut self, id: AttemptId) -> bool {
        if self.core.plan.plain_retries && self.retries_plainly(id) {
            return false;
        }
        let mut attempt = self.flash.attempts[id];
        let read = attempt.read.expect("Invariant: nothing becomes of a void attempt");
        let mut op = self.flash.ops[read];
        let ppn = op.ppn.get();
        if !attempt.v_ref.decodes() {
            self.flash.attempts[id].fate = Fate::Uncorrectable;
            return false;
        }
        if op.read.in_slc && self.flash.slc_outcomes.is_none() {
            self.reads_one_bit(id, &op);
            return false;
        }
        let again = attempt.repeats;
        if !again {
            let conditions = self.conditions_of(&op);
            let (block, page) = self.place_of(ppn);
            if let Some(outcomes) = self.outcomes_of_mut(op.read.in_slc) {
                op.read.page = outcomes.read(block, page, conditions);
                self.flash.ops[read].read.page = op.read.page;
            }
        }
        let DecodeOutcome { corrected: decodes, predicted, time: decoding, failed } = self.decoding_of(&op, &attempt);
        let corrected = decodes && !self.flash.is_broken(ppn);
        self.weigh(&op, &attempt, corrected);
        let read = &self.core.plan.config.read;
        let (predictor, t_pred) = (read.predictor, read.t_pred);
        let hard = attempt.v_ref.fine().is_none();
        if hard && predictor.predicts(again) {
            self.core.counters.predictions += 1;
            self.use_energy(|plan| plan.config.energy.prediction_nj * 1e3);
            self.core.counters.predicted_failures += u64::from(predicted);
            self.core.counters.predictions_right += u64::from(predicted != corrected);
        }
        let needs = if hard && predicted && predictor.predicts(again) && !self.flash.is_broken(ppn) {
            self.needs_by_weight(&mut op, &attempt)
        } else {
            Needs::References
        };
        if hard
            && predictor.retries_on_die(predicted, again)
            && !self.flash.is_broken(ppn)
            && self.sense_again_on_die(id, op, needs)
        {
            return true;
        }
        if let Needs::SoftDecoding(bits) = needs {
            // The controller keeps its bits, and decodes them with what is sensed next.
            let entry = &mut self.flash.attempts[id];
            (entry.fate, entry.decoding, entry.failed, entry.soft_bits) = (Fate::Uncorrectable, 0, u64::MAX, bits);
            return false;
        }
        let ends = predictor.ends_decoding(predicted, again) && decoding > t_pred;
        // A decoding that the controller ends has corrected nothing, whatever it would have come to.
        attempt.fate = if corrected && !ends { Fate::Corrected } else { Fate::Uncorrectable };
        attempt.decoding = if ends { t_pred } else { decoding }.0 as u32;
        if !corrected && !ends && self.miscorrects(&op, &attempt) {
            attempt.fate = Fate::Miscorrected;
        }
        let entry = &mut self.flash.attempts[id];
        (entry.fate, entry.decoding) = (attempt.fate, attempt.decoding);
        entry.failed = if ends || corrected != decodes { u64::MAX } else { failed };
        false
    }

    /// Decides what becomes of a page that has been sensed again, where that follows from what it is like alone.
    #[inline]
    fn retries_plainly(&mut self, id: AttemptId) -> bool {
        let Flash { attempts, ops, faults, .. } = &mut *self.flash;
        let attempt = &mut attempts[id];
        let (ReadReference::Step(step), true, Some(read)) = (attempt.v_ref, attempt.repeats, attempt.read) else {
            return false;
        };
        let read = &ops[read].read;
        if read.in_slc || faults.is_some() {
            return false;
        }
        let ecc = &self.core.plan.config.ecc;
        let (fate, time) = match read.page.by(step, attempt.reduced) {
            true => (Fate::Corrected, ecc.t_retried),
            false => (Fate::Uncorrectable, ecc.t_failed),
        };
        (attempt.fate, attempt.failed) = (fate, u64::MAX);
        attempt.decoding = time.unwrap_or(ecc.t_decode).0 as u32;
        true
    }

    /// What a page needs that is predicted to fail, where its weight says so.
    fn needs_by_weight(&mut self, op: &mut PageOp, attempt: &Attempt) -> Needs {
        let Config { read, ecc, .. } = &self.core.plan.config;
        let (sensing, soft) = (read.sensing, ecc.soft);
        let id = attempt.read.expect("Invariant: it is sensed for a read");
        if !attempt.repeats && op.read.hasty && sensing.weighs() {
            let added = self.added_in_haste(op);
            if sensing.repeats(self.errors_over(op, attempt), added) {
                return Needs::DefaultTiming;
            }
            // The controller does not repeat it either.
            op.read.hasty = false;
            self.flash.ops[id].read.hasty = false;
        }
        if attempt.v_ref == ReadReference::NearOptimal && soft.weighs() {
            let over = self.errors_over(op, attempt);
            return Needs::SoftDecoding(Soft::weighed(over, self.core.plan.capability().1));
        }
        Needs::References
    }

    /// Errors per KiB that the RPT's tPRE adds to an operation's page.
    fn added_in_haste(&mut self, op: &PageOp) -> f64 {
        let (state, (block, page)) = (self.conditions_of(op), self.place_of(op.ppn.get()));
        self.outcomes_of_mut(op.read.in_slc).map_or(0.0, |of| of.added_in_haste(block, page, state))
    }

    /// Errors per KiB above what hard decoding corrects for which the weight of a page's first codeword stands, whose
    /// 1,024 pruned syndromes are looked at.
    fn errors_over(&mut self, op: &PageOp, attempt: &Attempt) -> f64 {
        let rber = self.rber(op, sensed_with(attempt), attempt.reduced).map_or(0.0, |(rber, _)| rber);
        let ecc = &self.core.plan.config.ecc;
        let draw = self.flash.draws.entity(!op.seq).entity(1).uniform(attempt.draw());
        (weighed_rber(rber / ecc.strength, draw) - self.core.plan.capability().0) * ecc.strength * KIB_BITS
    }

    /// A die that has predicted a failure senses the page again by itself, if it has a way: so it does.
    fn sense_again_on_die(&mut self, id: AttemptId, mut op: PageOp, needs: Needs) -> bool {
        let attempt = self.flash.attempts[id];
        let step = match needs {
            Needs::DefaultTiming => Some((attempt.v_ref, attempt.t_pre_fallback)),
            Needs::References => self.next_hard_step(&op, &attempt),
            Needs::SoftDecoding(_) => None,
        };
        let Some((v_ref, t_pre_fallback)) = step else { return false };
        // It has another way than to repeat what has failed in haste.
        op.read.hasty = false;
        let read = attempt.read.expect("Invariant: it is sensed for a read");
        self.flash.ops[read].read.hasty = false;
        let on_die_retries = attempt.on_die_retries + 1;
        let mut attempt = Attempt { v_ref, t_pre_fallback, on_die_retries, repeats: true, ..attempt };
        let full = needs == Needs::DefaultTiming;
        self.core.counters.first_senses_repeated += u64::from(full);
        attempt.reduced = !full && self.reduces(&op, &attempt);
        let SenseTime { took, shorter, predicts } = self.sense_time(&op, &attempt);
        attempt.reduced = shorter > 0;
        attempt.took = attempt.took.saturating_add(took.0 as u32);
        self.flash.ops[read].read.reduced |= attempt.reduced;
        self.flash.attempts[id] = attempt;
        let PageOp { die, queue, seq, ppn, .. } = op;
        let (end, ppn) = (self.core.now + took, ppn.get());
        self.senses(die, self.core.now, end);
        if predicts {
            self.count_prediction(die, end);
        }
        self.core.probe.sense(self.core.now, end, die, ppn);
        if P::EXPLAINS {
            let event = Event::OnDieRetry { part: seq, attempt: attempt.number, ends: end, ppn };
            self.core.probe.explain(self.core.now, event);
        }
        self.flash.dies[die].begin_sense(queue.plane(), Some(id), end);
        true
    }

    /// A page of one bit a cell has been sensed, in the SLC cache: whether its errors are corrected follows from the
    /// chip's two outermost states, and from where the reference between them stands by now. Measured steps say nothing
    /// of the cache: no read fails (`assumed`).
    fn reads_one_bit(&mut self, id: AttemptId, op: &PageOp) {
        let errors = self.errors_of_one_bit(self.conditions_of(op), self.flash.attempts[id].v_ref);
        let corrected = match (errors, self.core.plan.reading()) {
            (Some(errors), Some(OutcomeSource::Virtual(chip))) => {
                errors <= f64::from(chip.cells.capability) * self.core.plan.config.ecc.strength
            }
            _ => true,
        };
        let corrected = corrected && !self.flash.is_broken(op.ppn.get());
        let t_decode = self.core.plan.config.ecc.t_decode;
        let attempt = &mut self.flash.attempts[id];
        attempt.fate = if corrected { Fate::Corrected } else { Fate::Uncorrectable };
        attempt.decoding = t_decode.0 as u32;
    }

    /// Mean errors per KiB of pages of one bit a cell, sensed with some references; none where nothing but steps has
    /// been measured.
    fn errors_of_one_bit(&self, state: PageState, v_ref: ReadReference) -> Option<f64> {
        let Some(OutcomeSource::Virtual(chip)) = self.core.plan.reading() else { return None };
        let outcomes = self.flash.outcomes.as_ref().expect("Invariant: where reads can fail their outcomes are kept");
        let [celsius, programmed_at] = outcomes.temperatures(state.warmer, state.programmed);
        let months = state.retention.0 as f64 / MONTH_NS;
        let shape = chip.cells.shape(f64::from(state.pec) / 1e3, months, state.reads.into(), 1.0);
        let shape = chip.cells.crossed(shape, celsius - programmed_at);
        let offset = match v_ref {
            ReadReference::Step(step) => f64::from(step) * chip.cells.retry_step,
            _ => shape.shift,
        };
        let errors = KIB_BITS * chip.cells.one_bit_error_rate(shape, offset) + state.extra;
        Some(errors + chip.cells.cold(celsius))
    }

    /// Whether the decoder takes a page that it cannot correct for another one, and no CRC notices. Of such a page one
    /// codeword fails (`assumed`).
    fn miscorrects(&mut self, op: &PageOp, attempt: &Attempt) -> bool {
        let (share, crc) = (self.core.plan.config.ecc.miscorrection.0, self.core.plan.config.ecc.crc);
        if share == 0.0 || self.flash.is_broken(op.ppn.get()) {
            return false;
        }
        let taken = self.flash.miscorrections.entity(op.seq).uniform(attempt.draw()) < share;
        self.core.counters.miscorrections_caught += u64::from(taken && crc);
        taken && !crc
    }

    /// Bytes of a page that is read again and crosses the bus: the codewords that are not corrected yet, which may all
    /// be now. None where that is all.
    #[cold]
    pub(super) fn left_of(&mut self, id: AttemptId) -> Option<u32> {
        let attempt = self.flash.attempts[id];
        let op = self.flash.ops[attempt.read.expect("Invariant: void attempts leave their registers")];
        let left = self.flash.references.uncorrected(op.seq);
        if left == u64::MAX || !attempt.v_ref.decodes() {
            return None;
        }
        let codeword = self.core.plan.config.ecc.codeword.0 as u32;
        let codewords = op.bus_bytes.div_ceil(codeword);
        let left = left & u64::MAX.checked_shr(64 - codewords).unwrap_or(0);
        if attempt.decoding > 0 && attempt.fate != Fate::Miscorrected && !self.flash.is_broken(op.ppn.get()) {
            // Some may have been corrected since this was sensed.
            let DecodeOutcome { corrected, time, failed, .. } = self.decoding_of(&op, &attempt);
            let entry = &mut self.flash.attempts[id];
            (entry.failed, entry.decoding) = (failed, time.0 as u32);
            if corrected {
                entry.fate = Fate::Corrected;
            }
        }
        Some(op.bus_bytes.min(left.count_ones() * codeword))
    }

    /// What becomes of a sensed page in the decoder: of those of its codewords that are not corrected yet.
    pub(super) fn decoding_of(&mut self, op: &PageOp, attempt: &Attempt) -> DecodeOutcome {
        let PageOp { seq, bus_bytes, .. } = *op;
        let again = attempt.repeats;
        let reduced = attempt.reduced;
        let (v_ref, fine, draw) = (attempt.v_ref, attempt.v_ref.fine(), attempt.draw());
        let ecc = &self.core.plan.config.ecc;
        let (t_decode, strength, codeword) = (ecc.t_decode, ecc.strength, ecc.codeword.0);
        // Those times are of hard decoding.
        let (t_failed, t_retried) =
            if fine.is_some() { (None, None) } else { (ecc.t_failed, ecc.t_retried.filter(|_| again)) };
        let sensed = match v_ref {
            ReadReference::Step(step) if again => Sensed::Retry(step),
            ReadReference::Step(step) => Sensed::First(step),
            _ => Sensed::NearOptimal,
        };
        let mut failed = u64::MAX;
        let (corrected, mut predicted, usual) = match self.core.plan.code.clone() {
            None => {
                let page = op.read.page;
                let corrected = match v_ref {
                    ReadReference::Step(step) if reduced && !again => self.reads_in_haste(op, step),
                    ReadReference::Step(step) => page.by(step, reduced),
                    _ => page.first != UNCORRECTABLE && !(reduced && page.weak),
                };
                (corrected, !corrected, t_decode)
            }
            Some(code) => {
                let codewords = u64::from(bus_bytes).div_ceil(codeword) as u32;
                let rber = self.rber(op, sensed, reduced).map_or(0.0, |(rber, _)| rber);
                let (block, page) = self.place_of(op.ppn.get());
                let (outcomes, kib) = (self.outcomes_of(op.read.in_slc), codeword as f64 / 1024.0);
                let rate = |index| outcomes.map_or(1.0, |of| of.codeword_rate(block, page, index, kib));
                // Of those beyond the last bit all are always looked at.
                let part = self.core.plan.config.bus.transfer == Transfer::Uncorrected;
                let uncorrected = if part { self.flash.references.uncorrected(seq) } else { u64::MAX };
                let left = (0..codewords).filter(|index| uncorrected >> index.min(&63) & 1 != 0);
                let rbers = left.map(|index| (index.into(), rber / strength * rate(index)));
                let page = code.of(fine.map_or(1, Fine::bits)).page(rbers, self.flash.draws.entity(seq).entity(draw));
                failed = page.failed;
                (page.corrected, page.predicted, t_decode * u64::from(page.iterations.max(1)))
            }
        };
        if self.core.plan.config.read.predictor.predicts(again)
            && let Some(accuracy) = self.core.plan.prediction_accuracy
        {
            let wrong = self.flash.draws.entity(seq).uniform(draw) >= accuracy.0;
            predicted = !corrected ^ wrong;
        }
        let decoding = if corrected { t_retried.unwrap_or(usual) } else { t_failed.unwrap_or(usual) };
        DecodeOutcome { corrected, predicted, time: decoding, failed }
    }

    /// Keeps how many syndromes of a sensed page are not 0, where the next reference follows from that; and what a
    /// first sense has shown, where trees look at that.
    fn weigh(&mut self, op: &PageOp, attempt: &Attempt, corrected: bool) {
        let ReadReference::Step(step) = attempt.v_ref else { return };
        let next = self.core.plan.config.read.next == Next::Syndrome;
        let first = !attempt.repeats && !op.read.in_slc && self.core.plan.trees.is_some();
        if !(next || first) {
            return;
        }
        let (weight, checks) = self.weight_of(op, attempt, step);
        if next {
            self.flash.references.weigh(op.seq, Weighed { step, weight }, attempt.reduced);
        }
        if first && let Some(read) = attempt.read {
            let share = (u64::from(weight) * 256).checked_div(checks).unwrap_or(0) as u8;
            self.flash.ops[read].read.shown = Some(Shown { weight: share, hasty: attempt.reduced, corrected });
            if P::EXPLAINS {
                let (part, hasty) = (op.seq, attempt.reduced);
                self.core.probe.explain(self.core.now, Event::FirstSense { part, hasty, corrected });
            }
        }
    }

    /// How many syndromes of a sensed page are not 0, and of how many. Without `ecc.code` they are those of hpca24's
    /// code (`assumed`).
    fn weight_of(&mut self, op: &PageOp, attempt: &Attempt, step: u8) -> (u32, u64) {
        let sensed = if attempt.repeats { Sensed::Retry(step) } else { Sensed::First(step) };
        let rber = self.rber(op, sensed, attempt.reduced).map_or(0.0, |(rber, _)| rber);
        let ecc = &self.core.plan.config.ecc;
        let codewords = u64::from(op.bus_bytes).div_ceil(ecc.codeword.0) as u32;
        let (rber, draws) = (rber / ecc.strength, self.flash.draws.entity(!op.seq));
        let checks = u64::from(codewords) * (ecc::code::SIZE * ecc::code::ROWS) as u64;
        (syndrome_weight(rber, codewords, draws, attempt.draw()), checks)
    }

    /// The decoder has corrected a page: how many errors it had, where blocks keep that. In the SLC cache's mode it
    /// says nothing of the next erase.
    pub(super) fn note_errors(&mut self, read: OpId, attempt: &Attempt) {
        let op = self.flash.ops[read];
        let conditions = self.conditions_of(&op);
        let (block, page) = self.place_of(op.ppn.get());
        if !op.read.in_slc
            && let Some(outcomes) = self.flash.outcomes.as_mut()
            && let Some(errors) = outcomes.found(block, page, conditions, sensed_with(attempt), attempt.reduced)
        {
            self.placement.read_with(op.ppn.get(), errors);
        }
    }

    /// A first sense has been decoded: what it has shown is known.
    pub(super) fn note_first(&mut self, read: OpId) {
        let op = self.flash.ops[read];
        if let Some(shown) = op.read.shown
            && let Some(place) = self.similar(&op)
        {
            self.core.counters.records_evicted += self.flash.references.note(place, shown);
        }
    }

    /// Whether a first sense with the references of a step and the RPT's tPRE is corrected.
    fn reads_in_haste(&mut self, op: &PageOp, step: u8) -> bool {
        let conditions = self.conditions_of(op);
        let (block, page) = self.place_of(op.ppn.get());
        self.outcomes_of_mut(op.read.in_slc).is_none_or(|of| of.first_in_haste(block, page, conditions, step))
    }

    /// The raw bit error rate of an operation's page sensed with some reference, and the table's step next to its best
    /// ones.
    fn rber(&mut self, op: &PageOp, sensed: Sensed, reduced: bool) -> Option<(f64, u8)> {
        let conditions = self.conditions_of(op);
        let (block, page) = self.place_of(op.ppn.get());
        self.outcomes_of_mut(op.read.in_slc)?.rber(block, page, conditions, sensed, reduced)
    }

    /// What decides what reads of a page meet, in the mode of its block.
    fn outcomes_of(&self, in_slc: bool) -> Option<&Outcomes> {
        let of_mode = self.flash.slc_outcomes.as_ref().filter(|_| in_slc);
        of_mode.or(self.flash.outcomes.as_ref())
    }

    fn outcomes_of_mut(&mut self, in_slc: bool) -> Option<&mut Outcomes> {
        let of_mode = self.flash.slc_outcomes.as_mut().filter(|_| in_slc);
        of_mode.or(self.flash.outcomes.as_mut())
    }

    /// A page's block and its number there as the outcomes name them.
    pub(super) fn place_of(&self, ppn: Ppn) -> (u64, u32) {
        let layout = &self.core.plan.layout;
        let Address { block, page, .. } = layout.unpack(ppn);
        (Archetypes::name(layout.flash_plane_of(ppn).0, block), layout.flash_page(page))
    }

    /// Keeps the step that has read a page, or the one next to the reference that have.
    pub(super) fn track(&mut self, read: OpId, attempt: &Attempt) {
        let op = self.flash.ops[read];
        let config = &self.core.plan.config.read;
        if !(config.start.tracks() || config.pipeline.asks_similar() || self.core.plan.trees.is_some())
            || op.read.in_slc
        {
            return;
        }
        let Some(place) = self.similar(&op) else { return };
        let step = match attempt.v_ref {
            ReadReference::Step(step) => step,
            _ => self.rber(&op, Sensed::NearOptimal, false).map_or(op.read.page.first, |(_, best)| best),
        };
        if P::EXPLAINS && self.core.plan.trees.is_some() {
            self.core.probe.explain(self.core.now, Event::ReadBy { part: op.seq, step });
        }
        self.core.counters.records_evicted += u64::from(self.flash.references.keep_step(place, step));
    }
}
