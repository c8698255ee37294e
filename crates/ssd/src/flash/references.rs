//! What the controller remembers of the references that read pages: the step of the table that last read a page of each
//! group of similar ones (`read.start`).

use foldhash::{HashMap, HashMapExt as _};
use lru::LruCache;
use schemes::learned::{Context, Feature, Trees, UNKNOWN};
use schemes::sensing::RESTS;
use schemes::{Start, Weighed};

use super::attempt::Shown;
use crate::config::ReadConfig;
use crate::persist::state;

/// Memory of a record: the block, its layers and kind, the step, and its place among the others \[B]. `assumed`.
const RECORD: u64 = 8;

/// Marks what is remembered of the timing of similar pages, beside their steps: their words have no such bit.
const TIMING: u64 = 1 << 63;

/// Marks what first senses of similar pages have shown, by the default tPRE and by the RPT's: the weight of the last
/// one's syndrome, and which of the last eight have failed.
const WEIGHTS: [u64; 2] = [1 << 62, 1 << 62 | 1 << 60];
const FAILURES: [u64; 2] = [1 << 61, 1 << 61 | 1 << 60];

/// Pages that are taken to be similar: what they have in common, in two words.
pub(super) type Similar = (u64, u64);

/// The steps that last read similar pages.
pub(crate) struct References {
    steps: LruCache<Similar, u8>,
    /// Records that there is room for, where that is bounded.
    room: Option<usize>,
    /// Whether the steps are asked for, and what first senses have shown.
    kept: Kept,
    /// What reads under way have sensed, by their age, where the next reference follows from that: by any tPRE, and by
    /// the default one alone.
    weighed: HashMap<u64, Vec<Weighed>>,
    weighed_by_default: HashMap<u64, Vec<Weighed>>,
    /// Of reads under way, by their age, the codewords that no decoding has corrected, a bit each; all where it has
    /// none.
    uncorrected: HashMap<u64, u64>,
    /// Which pages are similar now, and were when the steps were kept: a drive may go on from a checkpoint by another
    /// rule.
    rule: u64,
    kept_by: u64,
}

/// What is kept of similar pages, since something asks for it: by the default tPRE and by the RPT's.
struct Kept {
    steps: bool,
    weights: [bool; 2],
    failures: [bool; 2],
}

impl Kept {
    fn new(read: &ReadConfig, trees: Option<&Trees>) -> Kept {
        let looks_at = |feature| trees.is_some_and(|trees| trees.looks_at(feature));
        Kept {
            steps: read.start.tracks() || read.pipeline.asks_similar() || looks_at(Feature::Last),
            weights: [Feature::Weight, Feature::HastyWeight].map(looks_at),
            failures: [Feature::Failed, Feature::HastyFailed].map(looks_at),
        }
    }
}

impl References {
    pub fn new(read: &ReadConfig, trees: Option<&Trees>) -> References {
        let room = (read.start == Start::Recorded).then_some((read.records.0 / RECORD) as usize);
        // Two bits hold the choices that there were when this was first kept.
        let start = read.start as u64;
        let rule = (start & 3 | start >> 2 << 60)
            | (read.tracking as u64) << 2
            | u64::from(read.record_groups) << 3
            | read.records.0 << 14;
        let kept = Kept::new(read, trees);
        let (weighed, weighed_by_default, uncorrected) = (HashMap::new(), HashMap::new(), HashMap::new());
        let steps = LruCache::unbounded();
        References { steps, room, kept, weighed, weighed_by_default, uncorrected, rule, kept_by: rule }
    }

    /// The step that last read a similar page.
    pub fn last(&mut self, similar: Similar) -> Option<u8> {
        if self.kept_by != self.rule {
            (self.steps, self.kept_by) = (LruCache::unbounded(), self.rule);
        }
        self.steps.get(&similar).copied()
    }

    /// For how many more first senses of similar pages the default timing is taken, this one included.
    pub fn rests(&mut self, similar: Similar) -> u8 {
        let place = (similar.0, similar.1 | TIMING);
        match self.last(place) {
            Some(rests) if rests > 0 => {
                self.steps.put(place, rests - 1);
                rests
            }
            _ => 0,
        }
    }

    /// A first sense has failed by the RPT's tPRE. Whether a record had to make room for that.
    pub fn rest(&mut self, similar: Similar) -> bool {
        self.keep((similar.0, similar.1 | TIMING), RESTS)
    }

    /// What similar pages have shown.
    pub fn known(&mut self, similar: Similar) -> Context {
        let mut known = Context::NONE;
        let mut at = |mark: u64| self.last((similar.0, similar.1 | mark)).map(u32::from);
        let weights = WEIGHTS.map(|mark| at(mark).unwrap_or(UNKNOWN));
        let failed = FAILURES.map(|mark| at(mark).map_or(0, u32::count_ones));
        known.set(Feature::Last, at(0).unwrap_or(UNKNOWN));
        for (of, [weight, failures]) in
            [[Feature::Weight, Feature::Failed], [Feature::HastyWeight, Feature::HastyFailed]].into_iter().enumerate()
        {
            known.set(weight, weights[of]);
            known.set(failures, failed[of]);
        }
        known
    }

    /// Keeps what a first sense has shown. How many records had to make room for that.
    pub fn note(&mut self, similar: Similar, shown: Shown) -> u64 {
        let (of, mut evicted) = (usize::from(shown.hasty), 0);
        if self.kept.weights[of] {
            evicted += u64::from(self.keep((similar.0, similar.1 | WEIGHTS[of]), shown.weight));
        }
        if self.kept.failures[of] {
            let place = (similar.0, similar.1 | FAILURES[of]);
            let before = self.last(place).unwrap_or(0);
            evicted += u64::from(self.keep(place, before << 1 | u8::from(!shown.corrected)));
        }
        evicted
    }

    /// Keeps the step that has read a page, where that is asked for. Whether a record had to make room.
    pub fn keep_step(&mut self, similar: Similar, step: u8) -> bool {
        self.kept.steps && self.keep(similar, step)
    }

    /// Keeps something of similar pages. Whether the record that was needed least recently had to make room.
    fn keep(&mut self, similar: Similar, step: u8) -> bool {
        self.steps.put(similar, step);
        self.room.is_some_and(|room| self.steps.len() > room) && self.steps.pop_lru().is_some()
    }

    /// A read has sensed a step, by a shorter tPRE or by the default one.
    pub fn weigh(&mut self, read: u64, weighed: Weighed, reduced: bool) {
        self.weighed.entry(read).or_default().push(weighed);
        if !reduced {
            self.weighed_by_default.entry(read).or_default().push(weighed);
        }
    }

    /// What a read has sensed so far; of one that has begun again by the default tPRE what it has sensed by that.
    pub fn weighed(&self, read: u64, by_default: bool) -> &[Weighed] {
        let of = if by_default { &self.weighed_by_default } else { &self.weighed };
        of.get(&read).map_or(&[], Vec::as_slice)
    }

    /// The codewords of a read that no decoding has corrected, a bit each.
    pub fn uncorrected(&self, read: u64) -> u64 {
        if self.uncorrected.is_empty() { u64::MAX } else { self.uncorrected.get(&read).copied().unwrap_or(u64::MAX) }
    }

    /// A decoding has not corrected these codewords of a read.
    pub fn not_corrected(&mut self, read: u64, failed: u64) {
        *self.uncorrected.entry(read).or_insert(u64::MAX) &= failed;
    }

    /// A read has ended.
    pub fn forget(&mut self, read: u64) {
        if !self.weighed.is_empty() {
            self.weighed.remove(&read);
            self.weighed_by_default.remove(&read);
        }
        if !self.uncorrected.is_empty() {
            self.uncorrected.remove(&read);
        }
    }

    /// Memory that they take \[B]: a byte a step in a table without bounds, whose places are known; or records.
    pub fn bytes(&self) -> usize {
        self.steps.len() * if self.room.is_some() { RECORD as usize } else { 1 }
    }
}

state! {
    References { stored { steps, weighed, weighed_by_default, uncorrected, kept_by } rebuilt { room, rule, kept } }
}
