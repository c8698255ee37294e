//! What is being relocated, plane by plane, and what is asked for.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

use nand::{DieId, PlaneId};
use schemes::Price;
use units::{PerId, Ppn, Time};

use super::merging::Merging;
use super::stationary::VictimState;
use crate::config::Plan;
use crate::observe::stats::{Victims, relocation_causes};
use crate::persist::{state, stored};

/// Data that is to move, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    pub block: u32,
    pub cause: usize,
    /// A page of the only wordline of it that moves; none where the whole block does.
    pub wordline: Option<u32>,
}

impl Relocation {
    /// A whole block.
    pub fn block(block: u32, cause: usize) -> Relocation {
        Relocation { block, cause, wordline: None }
    }

    /// Whether it waits for its block to be full, since nothing asks for it again. Wordlines are asked for with each
    /// read beside them.
    pub fn waits_to_be_full(&self) -> bool {
        self.cause == relocation_causes::READ_RECLAIM && self.wordline.is_none()
    }
}

/// What is going on in a plane.
#[derive(Default)]
pub(crate) struct PlaneRelocation {
    /// The plane has broken: nothing is written to it or relocated in it any more.
    pub broken: bool,
    /// Whose pages move.
    pub victim: Option<Relocation>,
    /// It was under way when the run began.
    pub from_start: bool,
    /// Its data is gathered by logical blocks.
    pub merging: Option<Box<Merging>>,
    /// Its pages that are to be looked at, and whether all have been.
    pub pages: Range<u32>,
    pub scanned: bool,
    /// Valid pages elsewhere whose stripes end with the block that is being emptied (`ftl.raid`).
    pub orphans: VecDeque<Ppn>,
    /// It was taken by collection: it gives a free block.
    pub collecting: bool,
    /// Pages being read, and pages waiting for their programs or in them.
    pub reading: u32,
    pub writing: u32,
    /// Pages that have moved.
    pub moved: u32,
    /// Free blocks fell below `gc.start` and have not come up to `gc.stop`.
    pub running: bool,
    /// Nothing could be gained when it was looked for last: for collection, in the background.
    pub no_victim: bool,
    pub no_background_victim: bool,
    /// The reclaimed block waits for its erase or is in it.
    pub erasing: bool,
    /// Blocks whose data shall move, and whether one of them was the last to.
    pub served: bool,
    /// One of them has begun to move since a block of the SLC cache was folded last.
    pub fold_is_next: bool,
    pub requests: VecDeque<Relocation>,
    /// Blocks that failed: they are out of the candidates and wait to be emptied.
    pub failed: Vec<u32>,
    /// No block of the plane has been erased less often.
    pub least_erases: u32,
    /// Pages of host data that the plane has taken; and that it had taken when a block last moved for wear levelling.
    pub host_pages: u64,
    pub levelled_at: u64,
    /// Host data is paid for by relocated pages (`gc.pacing`), and this many of its pages are paid for [2^-20 pages].
    pub paced: bool,
    credit: u64,
    /// Valid pages of the block that is collected, when it began.
    valid: u32,
}

/// A page of credit.
const PAGE: u64 = 1 << 20;

impl PlaneRelocation {
    /// Whether it neither moves a block nor erases one.
    pub fn rests(&self) -> bool {
        self.victim.is_none() && !self.erasing
    }

    /// Whether a block has failed, and waits to be emptied.
    pub fn has_failed(&self, block: u32) -> bool {
        self.failed.contains(&block) || self.requests.contains(&Relocation::block(block, relocation_causes::BAD_BLOCK))
    }

    /// Nothing is relocated any more.
    fn break_down(&mut self) {
        (self.broken, self.running) = (true, false);
        self.requests.clear();
        self.failed.clear();
        self.set_paced(false);
    }

    /// Whether this many pages of host data are paid for, or need not be.
    #[inline]
    pub fn pays_for(&self, pages: u32) -> bool {
        !self.paced || self.credit >= u64::from(pages) * PAGE
    }

    /// This many pages of host data are programmed.
    #[inline]
    pub fn spend(&mut self, pages: u32) {
        self.credit = self.credit.saturating_sub(u64::from(pages) * PAGE);
    }

    /// A block with this many valid pages begins to be collected.
    pub fn begin_collection(&mut self, valid: u32) {
        self.valid = valid;
    }

    /// A block goes on being collected that had come so far when the run began.
    pub fn resume(&mut self, moving: Relocation, state: VictimState, plan: &Plan) {
        (self.victim, self.collecting) = (Some(moving), true);
        (self.pages, self.scanned) = (0..plan.layout.pages, false);
        (self.valid, self.moved) = (state.began, state.moved);
    }

    /// Of this many pages of a block those that its collection has gained by now, as if every page moved gave its part.
    pub fn done(&self, pages: u32) -> u32 {
        if self.erasing {
            pages
        } else if self.collects() && self.valid > 0 {
            (u64::from(pages) * u64::from(self.moved.min(self.valid)) / u64::from(self.valid)) as u32
        } else {
            0
        }
    }

    /// Valid pages of the block that is collected, when it began.
    pub fn valid(&self) -> u32 {
        self.valid
    }

    /// Host data is paid for from now on, or is not.
    #[inline]
    pub fn set_paced(&mut self, paced: bool) {
        if self.paced != paced {
            (self.paced, self.credit) = (paced, 0);
        }
    }

    /// A page has been relocated, which pays for host data; not for more than this many pages in store.
    pub fn earn(&mut self, price: Price, pages: u32) {
        let earned = price.host * PAGE / price.relocated.max(1);
        self.credit = (self.credit + earned).min(u64::from(pages) * PAGE);
    }

    /// Whether it moves a block that collection has taken: of the chip's own cells, or of a dynamic SLC cache.
    pub fn collects(&self) -> bool {
        self.collecting && self.victim.is_some()
    }

    /// Whether it moves a block for that cause.
    pub fn relocates_for(&self, cause: usize) -> bool {
        self.victim.is_some_and(|moving| moving.cause == cause)
    }
}

/// What relocates data, plane by plane.
pub(crate) struct Relocator {
    pub planes: Vec<PlaneRelocation>,
    /// Planes that have broken.
    pub broken_planes: u32,
    /// Valid pages of the blocks that were collected.
    pub victims: Victims,
    /// By die: a block has begun to move for refresh or read reclaim, and nothing of the host's since then.
    pub host_is_next: PerId<DieId, bool>,
}

impl Relocator {
    pub fn new(plan: &Plan) -> Relocator {
        Relocator {
            planes: (0..plan.layout.planes).map(|_| PlaneRelocation::default()).collect(),
            broken_planes: 0,
            victims: Victims::default(),
            host_is_next: (0..plan.layout.dies).map(|_| false).collect(),
        }
    }
}

impl Relocator {
    /// A plane has broken: whether it had not before.
    pub fn breaks(&mut self, plane: PlaneId) -> bool {
        if self[plane].broken {
            return false;
        }
        self[plane].break_down();
        self.broken_planes += 1;
        true
    }
}

/// Visits for refresh: which is next.
pub(crate) struct Visits {
    /// When: never where nothing is refreshed.
    pub next: Time,
    /// Visits before it.
    pub done: u64,
}

impl Visits {
    /// Where anything is refreshed they begin with time.
    pub fn new(plan: &Plan) -> Visits {
        Visits { next: plan.config.refresh.period.map_or(Time::NEVER, |_| Time::ZERO), done: 0 }
    }
}

impl Index<PlaneId> for Relocator {
    type Output = PlaneRelocation;
    #[inline]
    fn index(&self, plane: PlaneId) -> &PlaneRelocation {
        &self.planes[plane.0 as usize]
    }
}

impl IndexMut<PlaneId> for Relocator {
    #[inline]
    fn index_mut(&mut self, plane: PlaneId) -> &mut PlaneRelocation {
        &mut self.planes[plane.0 as usize]
    }
}

state! {
    Visits { stored { next, done } }
    Relocator { stored { planes, broken_planes, victims, host_is_next } }
}

stored! {
    Relocation { block, cause, wordline }
    PlaneRelocation {
        broken, orphans, victim, merging, collecting, pages, scanned, reading, writing, moved, running, no_victim, no_background_victim, erasing, served,
        fold_is_next, requests, failed, from_start, least_erases, host_pages, levelled_at, paced, credit, valid,
    }
}
