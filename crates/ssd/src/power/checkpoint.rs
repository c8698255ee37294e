//! Checkpoints of the map: from time to time the translation pages that have changed are programmed, then a list of
//! where all of them are, which is programmed like pages of the journal; then the journal before the checkpoint's
//! beginning is needless.

use units::Lpn;

use super::media::Change;
use crate::config::Plan;
use crate::persist::{state, stored};

/// A checkpoint that is being taken.
pub(crate) struct Running {
    /// The journal is needed from this page on, and programs up to there have ended, when it began.
    pub first: u64,
    pub horizon: u64,
    /// Translation pages that are to be programmed, and those on their way.
    pub todo: Vec<u32>,
    pub waiting: Vec<u32>,
    /// Once it is made, what of the list is still to be programmed.
    pub list: Option<Vec<Change>>,
}

/// When checkpoints are taken, and what of the map has changed since the last.
pub(crate) struct Checkpoints {
    entries: u32,
    logical_pages: u64,
    interval: Option<u64>,
    page_size: u64,
    changed: Vec<bool>,
    list: Vec<u32>,
    /// Bytes of the host's that have been programmed since the last began.
    written: u64,
    /// One is due at once.
    wanted: bool,
    pub running: Option<Running>,
}

impl Checkpoints {
    pub fn new(plan: &Plan) -> Checkpoints {
        Checkpoints {
            entries: plan.space.map_entries,
            logical_pages: plan.logical_pages,
            interval: plan.config.mapping.checkpoint.map(|bytes| bytes.0),
            page_size: plan.layout.page_size.0,
            changed: vec![false; plan.space.map_pages as usize],
            list: Vec::new(),
            written: 0,
            wanted: false,
            running: None,
        }
    }

    /// The entry of a page has changed.
    pub fn changes(&mut self, lpn: Lpn) {
        if self.interval.is_some() && lpn.0 < self.logical_pages {
            self.page_changes((lpn.0 / u64::from(self.entries)) as u32);
        }
    }

    /// A translation page has to be programmed again.
    pub fn page_changes(&mut self, page: u32) {
        if !std::mem::replace(&mut self.changed[page as usize], true) {
            self.list.push(page);
        }
    }

    /// A page of the host's has been programmed.
    #[inline]
    pub fn written(&mut self) {
        self.written += self.page_size;
    }

    /// A part of the flash has broken, perhaps with pages of the map or of its journal: one is due.
    pub fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether one is due; `long`: the journal needs it.
    pub fn is_due(&self, long: bool) -> bool {
        let due = self.interval.is_some_and(|interval| self.written >= interval || long || self.wanted);
        due && self.running.is_none()
    }

    /// Whether the one that is being taken waits for a translation page.
    pub fn waits_for(&self, page: u32) -> bool {
        self.running.as_ref().is_some_and(|running| running.waiting.contains(&page))
    }

    /// No further rewrite of a translation page is under way.
    pub fn page_rests(&mut self, page: u32) {
        if let Some(running) = &mut self.running {
            running.waiting.retain(|waiting| *waiting != page);
        }
    }

    /// Whether one ends as soon as what is on its way has been programmed.
    pub fn is_ending(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.list.is_some())
    }

    /// One begins, while the next page of the journal is `first`.
    pub fn begin(&mut self, first: u64, horizon: u64) {
        let todo = std::mem::take(&mut self.list);
        todo.iter().for_each(|page| self.changed[*page as usize] = false);
        (self.written, self.wanted) = (0, false);
        self.running = Some(Running { first, horizon, todo, waiting: Vec::new(), list: None });
    }
}

state! {
    Checkpoints {
        stored { changed, list, written, wanted, running }
        rebuilt { entries, logical_pages, interval, page_size }
    }
}

stored! {
    Running { first, horizon, todo, waiting, list }
}
