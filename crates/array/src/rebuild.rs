//! How far a rebuild has come.

use std::collections::BTreeSet;

use ssd::persist::stored;
use units::Time;

use crate::slab::Key;

/// A rebuild that goes on.
pub(crate) struct Rebuild {
    /// The row that is begun next; those before `ended` have ended, and further ones are in `ahead`.
    pub next: u64,
    pub ended: u64,
    ahead: BTreeSet<u64>,
    /// Rows whose data is lost.
    lost: BTreeSet<u64>,
    pub under_way: Vec<Key>,
    /// When the next row may begin.
    pub allowed: Time,
    /// It waits for that.
    pub waits: bool,
}

/// A rebuild, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildRecord {
    /// The drive that is rebuilt on, by its number.
    pub drive: usize,
    /// When it began.
    pub began: Time,
    /// When all was rebuilt that could be, if it was.
    pub ended: Option<Time>,
    /// Rows that were rebuilt.
    pub rows: u64,
    /// Rows whose data was lost.
    pub lost: u64,
}

stored! {
    Rebuild { next, ended, ahead, lost, under_way, allowed, waits }
    RebuildRecord { drive, began, ended, rows, lost }
}

impl Rebuild {
    /// One that begins now.
    pub fn new(now: Time) -> Rebuild {
        Rebuild {
            next: 0,
            ended: 0,
            ahead: BTreeSet::new(),
            lost: BTreeSet::new(),
            under_way: Vec::new(),
            allowed: now,
            waits: false,
        }
    }

    /// Whether a row has been rebuilt.
    pub fn has(&self, row: u64) -> bool {
        (row < self.ended || self.ahead.contains(&row)) && !self.lost.contains(&row)
    }

    /// Whether the data of a row is lost.
    pub fn has_lost(&self, row: u64) -> bool {
        self.lost.contains(&row)
    }

    /// A row is written again whose data was lost.
    pub fn is_written(&mut self, row: u64) {
        self.lost.remove(&row);
    }

    /// Whether all rows hold their data.
    pub fn is_whole(&self, rows: u64) -> bool {
        self.ended == rows && self.lost.is_empty()
    }

    /// A row has been rebuilt, or is lost.
    pub fn row_ends(&mut self, key: Key, row: u64, is_lost: bool) {
        self.under_way.retain(|other| *other != key);
        self.ahead.insert(row);
        while self.ahead.remove(&self.ended) {
            self.ended += 1;
        }
        if is_lost {
            self.lost.insert(row);
        }
    }
}
