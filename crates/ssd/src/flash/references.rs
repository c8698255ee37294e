//! What the controller remembers of the references that read pages: the step of the table that last read a page of each
//! group of similar ones (`read.start`).

use foldhash::{HashMap, HashMapExt as _};
use lru::LruCache;
use schemes::sensing::RESTS;
use schemes::{Start, Weighed};

use crate::config::ReadConfig;
use crate::persist::state;

/// Memory of a record: the block, its layers and kind, the step, and its place among the others \[B]. `assumed`.
const RECORD: u64 = 8;

/// Marks what is remembered of the timing of similar pages, beside their steps: their words have no such bit.
const TIMING: u64 = 1 << 63;

/// Pages that are taken to be similar: what they have in common, in two words.
pub(super) type Similar = (u64, u64);

/// The steps that last read similar pages.
pub(crate) struct References {
    steps: LruCache<Similar, u8>,
    /// Records that there is room for, where that is bounded.
    room: Option<usize>,
    /// What reads under way have sensed, by their age, where the next reference follows from that.
    weighed: HashMap<u64, Vec<Weighed>>,
    /// Which pages are similar now, and were when the steps were kept: a drive may go on from a checkpoint by another rule.
    rule: u64,
    kept_by: u64,
}

impl References {
    pub fn new(read: &ReadConfig) -> References {
        let room = (read.start == Start::Recorded).then_some((read.records.0 / RECORD) as usize);
        let rule = (read.start as u64)
            | (read.tracking as u64) << 2
            | u64::from(read.record_groups) << 3
            | read.records.0 << 14;
        References { steps: LruCache::unbounded(), room, weighed: HashMap::new(), rule, kept_by: rule }
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

    /// Keeps the step that has read a page. Whether the record that was needed least recently had to make room.
    pub fn keep(&mut self, similar: Similar, step: u8) -> bool {
        self.steps.put(similar, step);
        self.room.is_some_and(|room| self.steps.len() > room) && self.steps.pop_lru().is_some()
    }

    /// A read has sensed a step.
    pub fn weigh(&mut self, read: u64, weighed: Weighed) {
        self.weighed.entry(read).or_default().push(weighed);
    }

    /// What a read has sensed so far.
    pub fn weighed(&self, read: u64) -> &[Weighed] {
        self.weighed.get(&read).map_or(&[], Vec::as_slice)
    }

    /// A read has ended.
    pub fn forget(&mut self, read: u64) {
        if !self.weighed.is_empty() {
            self.weighed.remove(&read);
        }
    }

    /// Memory that they take \[B]: a byte a step in a table without bounds, whose places are known; or records.
    pub fn bytes(&self) -> usize {
        self.steps.len() * if self.room.is_some() { RECORD as usize } else { 1 }
    }
}

state! {
    References { stored { steps, weighed, kept_by } rebuilt { room, rule } }
}
