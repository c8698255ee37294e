//! The SLC cache's blocks (`ftl.slc_cache`): which blocks hold fewer bits a cell, which of them are full, and how many
//! a plane has.
//!
//! A block of the cache uses the first of its pages, so that page numbers mean the same in every mode. A block's mode
//! is that of the stream that opened it last: reads that are older than its erase still meet the mode in which their
//! data was written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use nand::PlaneId;

use super::open::Released;
use crate::config::Plan;
use crate::persist::{state, stored};

/// A block's mode, and what it has been through in it.
#[derive(Clone, Copy, Default)]
struct Mode {
    slc: bool,
    /// Erases of the run for, or of, data of the cache.
    erases: u32,
    /// Retries of reads since it was erased.
    retries: u32,
}

/// The cache's part of a plane.
#[derive(Default)]
pub(crate) struct PlaneCache {
    /// Blocks that are the cache's for good: from this one on, this many.
    pub first: u32,
    pub fixed: u32,
    /// Those of them that may be opened, and those out of service.
    pub released: BinaryHeap<Reverse<Released>>,
    pub retired: u32,
    /// Blocks that hold data, or are open.
    pub used: u32,
    /// Of these the full ones, the oldest first: those that the host has filled, and those of converted data, which
    /// stay for longer.
    pub full: VecDeque<u32>,
    pub kept: VecDeque<u32>,
}

impl PlaneCache {
    /// Whether a block is the cache's for good.
    pub fn owns(&self, block: u32) -> bool {
        (self.first..self.first + self.fixed).contains(&block)
    }

    /// Takes the block out that is folded next.
    pub fn oldest(&mut self) -> Option<u32> {
        self.full.pop_front().or_else(|| self.kept.pop_front())
    }

    /// A full block, of converted data or not, that was taken out of the lists comes before all others.
    pub fn folds_next(&mut self, block: u32, converted: bool) {
        if converted { &mut self.kept } else { &mut self.full }.push_front(block);
    }

    /// Takes a full block out of the lists; whether it was in it.
    pub fn claim(&mut self, block: u32) -> bool {
        [&mut self.full, &mut self.kept].into_iter().any(|blocks| {
            let place = blocks.iter().position(|full| *full == block);
            place.and_then(|place| blocks.remove(place)).is_some()
        })
    }
}

/// The cache's blocks. Memory: 12 bytes a block of the drive.
pub(crate) struct SlcBlocks {
    modes: Vec<Mode>,
    planes: Vec<PlaneCache>,
    /// The host has been idle for so long that data is folded.
    pub folding: bool,
    /// Blocks that a plane may have in a dynamic cache, and free ones that are left to the chip's own cells.
    most: u32,
    keep: u32,
    fold_start: u32,
    /// Native cycles that wear as much as one in the cache.
    wear: f64,
    blocks: u32,
}

impl SlcBlocks {
    /// `usable` blocks of each plane are good, of which a static cache takes the last.
    pub fn new(plan: &Plan, usable: &[u32]) -> Option<SlcBlocks> {
        let (slc, config) = (plan.slc.as_ref()?, &plan.config.slc);
        let barrier = Released::when_found(plan.config.ftl.erase_when);
        let plane = |usable: &u32| {
            let first = usable - slc.fixed;
            let released =
                (first..*usable).map(|block| Reverse(Released { rank: 0, number: 0, block, barrier })).collect();
            PlaneCache { first, fixed: slc.fixed, released, ..PlaneCache::default() }
        };
        Some(SlcBlocks {
            modes: vec![Mode::default(); plan.layout.planes as usize * plan.layout.blocks as usize],
            planes: usable.iter().map(plane).collect(),
            folding: false,
            most: config.blocks,
            keep: plan.config.gc.stop,
            // Nothing of a zone goes past the cache, so that it is folded where it is full.
            fold_start: config.fold_start.max(plan.zones.is_some().into()),
            wear: config.wear,
            blocks: plan.layout.blocks,
        })
    }

    fn mode(&self, plane: PlaneId, block: u32) -> &Mode {
        &self.modes[plane.0 as usize * self.blocks as usize + block as usize]
    }

    /// A plane's part of the cache.
    pub fn plane(&self, plane: PlaneId) -> &PlaneCache {
        &self.planes[plane.0 as usize]
    }

    pub fn plane_mut(&mut self, plane: PlaneId) -> &mut PlaneCache {
        &mut self.planes[plane.0 as usize]
    }

    /// Whether a block is in the cache's mode, or was when it last held something.
    #[inline]
    pub fn holds(&self, plane: PlaneId, block: u32) -> bool {
        self.mode(plane, block).slc
    }

    /// Blocks of a plane that may be opened for the cache, of which `free` are free for either mode.
    pub fn openable(&self, plane: PlaneId, free: u32) -> u32 {
        let plane = self.plane(plane);
        if plane.fixed > 0 {
            plane.released.len() as u32
        } else {
            self.most.saturating_sub(plane.used).min(free.saturating_sub(self.keep))
        }
    }

    /// The power was cut: what holds data is not known.
    pub(super) fn forget(&mut self, plane: PlaneId) {
        self.folding = false;
        let cache = self.plane_mut(plane);
        cache.used = 0;
        cache.released.clear();
        cache.full.clear();
        cache.kept.clear();
    }

    /// A block is opened, in one mode or the other.
    pub(super) fn opened(&mut self, plane: PlaneId, block: u32, slc: bool) {
        self.modes[plane.0 as usize * self.blocks as usize + block as usize].slc = slc;
        self.plane_mut(plane).used += u32::from(slc);
    }

    /// A block has been erased.
    pub(super) fn erased(&mut self, plane: PlaneId, block: u32) {
        let mode = &mut self.modes[plane.0 as usize * self.blocks as usize + block as usize];
        mode.erases += u32::from(mode.slc);
        mode.retries = 0;
    }

    /// Reads of a block took this many retries more; how many in all.
    pub fn retried(&mut self, plane: PlaneId, block: u32, retries: u32) -> u32 {
        let mode = &mut self.modes[plane.0 as usize * self.blocks as usize + block as usize];
        mode.retries = mode.retries.saturating_add(retries);
        mode.retries
    }

    /// How many cycles fewer than it was erased a block is worn by.
    #[inline]
    pub fn spared(&self, plane: PlaneId, block: u32) -> i64 {
        let erases = f64::from(self.mode(plane, block).erases);
        (erases * (1.0 - self.wear)).round() as i64
    }

    /// Whether the cache has too few blocks left on a plane.
    pub fn is_short(&self, plane: PlaneId, free: u32) -> bool {
        self.openable(plane, free) < self.fold_start
    }

    /// Whether data of a plane is to be folded: the host is idle, or the cache has too few blocks left. `free` blocks
    /// are free for either mode.
    pub fn folds(&self, plane: PlaneId, free: u32) -> bool {
        let (cache, forced) = (self.plane(plane), self.is_short(plane, free));
        !cache.full.is_empty() && (self.folding || forced) || !cache.kept.is_empty() && forced
    }

    /// Blocks of all planes that hold data of the cache or are open for it.
    pub fn in_use(&self) -> u64 {
        self.planes.iter().map(|plane| u64::from(plane.used)).sum()
    }
}

state! {
    SlcBlocks { stored { modes, planes, folding } rebuilt { most, keep, fold_start, wear, blocks } }
}

stored! {
    Mode { slc, erases, retries }
    PlaneCache { first, fixed, released, retired, used, full, kept }
}
