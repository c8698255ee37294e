//! How the first sense of a read goes: with which references, by which tPRE, and whether a retry follows at once.
//!
//! Rules say so from what similar pages have shown, trees (`read.trees`) from what a controller knows, the oracles from
//! what becomes of that very sense.

use nand::model::cells::MONTH_NS;
use nand::model::outcomes::{Archetypes, PageState, Sensed, UNCORRECTABLE};
use schemes::learned::{Answer, Context, Feature, Question};
use schemes::sensing::Hindsight;
use schemes::{Class, FirstSense, Pipeline, ReadReference, Sensing, Start};

use super::attempt::Attempt;
use super::backend::FlashAt;
use super::op::PageOp;
use super::placement::Placement;
use super::queues::{PLANES, QueueId};
use super::references::Similar;
use crate::arena::OpId;
use crate::config::Tracking;
use crate::observe::probe::{Event, Probe};

/// A day \[ns]: ages are in months at 30 °C.
const DAY_NS: f64 = MONTH_NS / 30.0;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// What is known of a read whose first sense begins: with which references, whether that is likely to fail, and
    /// whether it may be hasty.
    pub(super) fn recall(&mut self, read: OpId) {
        let mut op = self.flash.ops[read];
        if op.read.in_slc || self.flash.attempts[op.newest()].number > 0 {
            return;
        }
        let config = &self.core.plan.config.read;
        let (pipeline, sensing) = (config.pipeline, config.sensing);
        let Some(place) = self.similar(&op) else { return };
        let mut known = if self.core.plan.trees.is_some() { self.context(&op, place) } else { Context::NONE };
        op.read.start = self.first_step(&op, place, &known);
        known.set(Feature::Start, op.read.start.into());
        if sensing.hastens() {
            op.read.hasty = match sensing {
                Sensing::AdaptiveLearned => self.tree_says(&op, Question::Haste, &known),
                Sensing::AdaptiveOracle => self.hindsight(&op).is_some_and(|of| sensing.reduces_by(of)),
                _ => sensing.reduces_first(self.flash.references.rests(place)),
            };
            // Beyond the RPT it is no other sense.
            op.read.hasty = op.read.hasty && self.cut(&op) > 0;
        }
        known.set(Feature::Hasty, op.read.hasty.into());
        if pipeline.foresees() {
            op.read.likely_to_fail = match pipeline {
                Pipeline::CacheReadLearned => self.tree_says(&op, Question::Pipeline, &known),
                Pipeline::CacheReadOracle => self.hindsight(&op).is_some_and(|of| of.fails(op.read.hasty)),
                _ => self.flash.references.last(place).is_some_and(|step| step != op.read.start),
            };
        }
        if P::EXPLAINS && self.core.plan.trees.is_some() {
            let (part, ahead) = (op.seq, op.read.likely_to_fail);
            self.core.probe.explain(self.core.now, Event::Foresees { part, known, ahead });
        }
        self.flash.ops[read] = op;
    }

    /// The step of the table where a read begins; 0 where it is not remembered.
    fn first_step(&mut self, op: &PageOp, place: Similar, known: &Context) -> u8 {
        let read = &self.core.plan.config.read;
        match read.start {
            Start::Default => 0,
            Start::Learned => {
                let last = self.flash.outcomes.as_ref().map_or(0, |of| of.last_step());
                self.ask(Question::Start, known).map_or(0, |answer| (answer.value as u8).min(last))
            }
            Start::Oracle => self.best_step(op).unwrap_or(0),
            Start::Tracked | Start::Recorded => {
                let last = self.flash.references.last(place);
                self.tracked_step(op, last)
            }
            Start::Patrolled => {
                let last = self.flash.references.last(place).or_else(|| self.patrolled(op, place));
                self.tracked_step(op, last)
            }
        }
    }

    /// The step of the table where a read begins of which a similar page was last read with `last`.
    #[inline(never)]
    fn tracked_step(&self, op: &PageOp, last: Option<u8>) -> u8 {
        let config = &self.core.plan.config;
        let (start, walks) = (config.read.start, config.read.next.walks());
        let sense = || {
            let [pec, days, layer, kind] = self.known_of_page(op);
            let table = self.flash.outcomes.as_ref().map_or(0, |of| of.last_step());
            FirstSense { last, walks, table, pec, days, layer, kind }
        };
        config.policies.begins(start, sense, last, walks)
    }

    /// The answer of a tree. Invariant: a plan has a tree for each choice that is learned.
    fn ask(&mut self, question: Question, known: &Context) -> Option<Answer> {
        let answer = self.core.plan.trees.as_ref()?.answer(question, known)?;
        self.core.counters.trees_asked += 1;
        self.core.counters.tree_comparisons += u64::from(answer.comparisons);
        Some(answer)
    }

    /// Whether a tree says yes: always, never, or by a draw of this read while it explores.
    fn tree_says(&mut self, op: &PageOp, question: Question, known: &Context) -> bool {
        let share = self.ask(question, known).map_or(0.0, |answer| answer.value);
        share >= 1.0 || share > 0.0 && self.flash.explorations.entity(op.seq).uniform(question as u64) < share
    }

    /// What the controller knows of a page: its block's P/E cycles, the age of its data in days, its group of layers,
    /// and which page of its wordline it is.
    fn known_of_page(&self, op: &PageOp) -> [u32; 4] {
        let state = self.conditions_of(op);
        let (_, page) = self.place_of(op.ppn.get());
        let layer = self.flash.outcomes.as_ref().map_or(0, |of| of.layer(page).0);
        let age = state.retention.0 as f64 * self.core.plan.config.read.age_error;
        [state.pec, (age / DAY_NS) as u32, layer, self.core.plan.layout.page_type(op.ppn.get())]
    }

    /// What the controller knows of a read that begins.
    fn context(&mut self, op: &PageOp, place: Similar) -> Context {
        let [pec, days, layer, kind] = self.known_of_page(op);
        let queues = &self.flash.dies[op.die].queues;
        let of_plane = |plane| [Class::UserRead, Class::InternalRead].map(|class| QueueId::of_reads(class, plane));
        let mut known = self.flash.references.known(place);
        for (feature, value) in [
            (Feature::Pec, pec),
            (Feature::Days, days),
            (Feature::Layer, layer),
            (Feature::Kind, kind),
            (Feature::Waiting, (0..PLANES).flat_map(of_plane).map(|queue| queues[queue].len).sum()),
        ] {
            known.set(feature, value);
        }
        known
    }

    /// What becomes of the first sense of a read that begins now, by either timing; none where no read fails.
    fn hindsight(&mut self, op: &PageOp) -> Option<Hindsight> {
        let mut op = *op;
        let (state, (block, page)) = (self.conditions_of(&op), self.place_of(op.ppn.get()));
        op.read.page = self.flash.outcomes.as_mut()?.read(block, page, state);
        let on_die = self.core.plan.config.read.predictor.is_on_die();
        let first = Attempt { v_ref: ReadReference::Step(op.read.start), ..self.flash.attempts[op.newest()] };
        let [in_haste, by_default] =
            [true, false].map(|reduced| self.decoding_of(&op, &Attempt { reduced, ..first }).corrected);
        Some(Hindsight { in_haste, by_default, on_die })
    }

    /// The step of the table that reads a page with the fewest errors; none where no step reads it.
    fn best_step(&mut self, op: &PageOp) -> Option<u8> {
        let (state, (block, page)) = (self.conditions_of(op), self.place_of(op.ppn.get()));
        let outcomes = self.flash.outcomes.as_mut()?;
        let read = outcomes.read(block, page, state);
        let best = outcomes.rber(block, page, state, Sensed::NearOptimal, false).map_or(read.first, |(_, best)| best);
        (read.first != UNCORRECTABLE).then_some(if read.by(best, false) { best } else { read.first })
    }

    /// The step next to the best references of a page that a patrol has read before the run: another one drawn from
    /// those that are similar to an operation's. None where no step reads it.
    fn patrolled(&mut self, op: &PageOp, (group, of_layer): Similar) -> Option<u8> {
        let (state, layout) = (self.conditions_of(op), self.core.plan.layout);
        let (mut block, page) = self.place_of(op.ppn.get());
        let draws = self.flash.patrols.entity(group).entity(of_layer);
        let planes = u64::from(layout.flash_planes_per_die());
        if self.core.plan.config.read.tracking == Tracking::Age {
            let plane = u64::from(op.die.0) * planes + draws.below(0, planes);
            block = Archetypes::name(plane as u32, draws.below(1, layout.blocks.into()) as u32);
        }
        let outcomes = self.flash.outcomes.as_mut()?;
        let (wordline, kind, [first, end]) = (page / layout.bits, page % layout.bits, outcomes.wordlines_beside(page));
        debug_assert!((first..end).contains(&wordline));
        let page = (first + draws.below(2, u64::from(end - first)) as u32) * layout.bits + kind;
        let state = PageState { extra: 0.0, reads: 0, ..state };
        let needs = outcomes.read(block, page, state).first;
        let best = outcomes.rber(block, page, state, Sensed::NearOptimal, false).map_or(needs, |(_, best)| best);
        (needs != UNCORRECTABLE).then_some(best)
    }
}
