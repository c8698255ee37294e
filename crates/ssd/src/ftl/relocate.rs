//! Which block's data is relocated next, and why: garbage collection, static wear levelling, refresh, read reclaim, blocks that
//! failed. One block of a plane at a time.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use nand::{DieId, PlaneId};
use units::Time;

use super::Ftl;
use crate::config::Plan;
use crate::observe::stats::{Victims, relocation_causes};

/// What is going on in a plane.
#[derive(Default)]
pub(crate) struct PlaneRelocation {
    /// The block whose pages move, and why.
    pub victim: Option<(u32, usize)>,
    /// Its next page to be looked at, and whether all have been.
    pub next_page: u32,
    pub scanned: bool,
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
    pub requests: VecDeque<(u32, usize)>,
    /// Blocks that failed: they are out of the candidates and wait to be emptied.
    pub failed: Vec<u32>,
    /// No block of the plane has been erased less often.
    pub least_erases: u32,
    /// Pages of host data that the plane has taken; and that it had taken when a block last moved for wear levelling.
    pub host_pages: u64,
    pub levelled_at: u64,
}

impl PlaneRelocation {
    /// Whether it neither moves a block nor erases one.
    pub fn rests(&self) -> bool {
        self.victim.is_none() && !self.erasing
    }

    /// Whether it moves a block for that cause.
    pub fn relocates_for(&self, cause: usize) -> bool {
        self.victim.is_some_and(|(_, moving)| moving == cause)
    }
}

/// What relocates data, plane by plane.
pub(crate) struct Relocator {
    pub planes: Vec<PlaneRelocation>,
    /// Valid pages of the blocks that were collected.
    pub victims: Victims,
    /// When the next block is visited for refresh, and how many have been.
    pub patrol: Time,
    pub visited: u64,
    /// By die: a block has begun to move for refresh or read reclaim, and nothing of the host's since then.
    pub host_is_next: Vec<bool>,
}

impl Relocator {
    pub fn new(plan: &Plan) -> Relocator {
        Relocator {
            planes: (0..plan.layout.planes).map(|_| PlaneRelocation::default()).collect(),
            victims: Victims::default(),
            patrol: plan.config.refresh.period.map_or(Time::NEVER, |_| Time::ZERO),
            visited: 0,
            host_is_next: vec![false; plan.layout.dies as usize],
        }
    }
}

impl Relocator {
    /// A block of a plane has begun to be relocated: if it was requested, collection is next to take its turn.
    pub fn has_begun(&mut self, plane: PlaneId, cause: usize) {
        self[plane].served |= cause != relocation_causes::COLLECTION;
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

impl Ftl {
    /// Whether there may be a block of a plane to relocate, and none is being relocated.
    #[inline]
    pub fn may_relocate(&mut self, plane: PlaneId, plan: &Plan) -> bool {
        let (free, gc) = (self.blocks.free(plane), &plan.config.gc);
        let relocation = &mut self.relocator[plane];
        relocation.running = free < gc.start || (relocation.running && free < gc.stop);
        let work = relocation.running || !relocation.requests.is_empty() || !relocation.failed.is_empty();
        work && relocation.rests()
    }

    /// The next block of a plane to relocate, and why; the caller says so once it has begun ([`Relocator::has_begun`]). `host_waits`: a read or a program of the host's waits for nothing but its
    /// turn on the plane's die.
    pub fn next_relocation(
        &mut self,
        plane: PlaneId,
        now: Time,
        plan: &Plan,
        host_waits: bool,
    ) -> Option<(u32, usize)> {
        // Failed blocks must never be picked: they give no free block back.
        for index in 0..self.relocator[plane].failed.len() {
            let block = self.relocator[plane].failed[index];
            if self.claim(plane, block) {
                self.relocator[plane].failed.swap_remove(index);
                self.relocator[plane].requests.push_front((block, relocation_causes::BAD_BLOCK));
                break;
            }
        }
        // Under lasting writes collection never rests: it takes turns with the blocks that are requested.
        let running = self.relocator[plane].running;
        if (!running || !self.relocator[plane].served)
            && let Some(requested) = self.next_requested(plane, now, plan, host_waits)
        {
            return Some(requested);
        }
        self.relocator[plane].served = false;
        if !running {
            return None;
        }
        let victim = self.pick_victim(plane, plan, false);
        self.relocator[plane].no_victim = victim.is_none();
        victim.map(|block| (block, relocation_causes::COLLECTION))
    }

    /// The next block whose relocation was requested, if it can begin. A block that failed gives no free one back: its data is
    /// relocated only while there are enough.
    fn next_requested(&mut self, plane: PlaneId, now: Time, plan: &Plan, host_waits: bool) -> Option<(u32, usize)> {
        let spare = self.blocks.free(plane) > plan.space.reserve + 1;
        for _ in 0..self.relocator[plane].requests.len() {
            let (block, cause) = self.relocator[plane].requests.pop_front()?;
            if cause == relocation_causes::BAD_BLOCK {
                if spare {
                    return Some((block, cause));
                }
                self.relocator[plane].requests.push_back((block, cause));
            } else if self.yields(plane, cause, plan, host_waits) {
                self.relocator[plane].requests.push_back((block, cause));
            } else if self.still_wanted(plane, block, cause, now, plan) && self.claim(plane, block) {
                if cause == relocation_causes::WEAR_LEVELLING {
                    let relocation = &mut self.relocator[plane];
                    relocation.levelled_at = relocation.host_pages;
                } else {
                    self.relocator.host_is_next[usize::from(plan.layout.die_of(plane).0.0)] = true;
                }
                return Some((block, cause));
            }
        }
        None
    }

    /// Whether a relocation must wait for the host. Levelling moves at most one block for each block's worth of pages that the
    /// plane takes from the host: otherwise the erases that it causes would keep it going by itself. Refresh and read reclaim
    /// take turns with what the host waits for on any plane of the die: relocations that nothing may interrupt would else
    /// follow one another without end.
    fn yields(&self, plane: PlaneId, cause: usize, plan: &Plan, host_waits: bool) -> bool {
        if cause == relocation_causes::WEAR_LEVELLING {
            let relocation = &self.relocator[plane];
            return relocation.host_pages < relocation.levelled_at + u64::from(plan.layout.pages);
        }
        host_waits && self.relocator.host_is_next[usize::from(plan.layout.die_of(plane).0.0)]
    }

    /// Whether the reason to relocate a block still holds: it may have been reclaimed and written again since.
    fn still_wanted(&self, plane: PlaneId, block: u32, cause: usize, now: Time, plan: &Plan) -> bool {
        match cause {
            relocation_causes::REFRESH => {
                let age = self.blocks.age(plane, block, now, plan);
                plan.config.refresh.period.is_some_and(|period| age > period)
            }
            relocation_causes::READ_RECLAIM => {
                plan.config.refresh.reads.is_some_and(|limit| self.blocks.reads(plane, block) >= limit)
            }
            _ => true,
        }
    }

    /// A block of so many `pages` begins to be relocated.
    pub fn begin_relocation(&mut self, plane: PlaneId, block: u32, cause: usize, pages: u32) {
        if cause == relocation_causes::COLLECTION {
            let valid = self.valid(plane, block);
            self.relocator.victims.add(valid, pages);
        }
        let relocation = &mut self.relocator[plane];
        (relocation.victim, relocation.next_page, relocation.scanned) = (Some((block, cause)), 0, false);
        relocation.moved = 0;
    }

    /// Whether a die that is idle should collect.
    pub fn wants_background(&self, die: DieId, plan: &Plan) -> bool {
        let layout = &plan.layout;
        (0..layout.planes_per_die as u8).map(|plane| layout.plane(die, plane)).any(|plane| {
            let relocation = &self.relocator[plane];
            relocation.rests() && !relocation.no_background_victim && self.blocks.free(plane) < plan.config.gc.idle_stop
        })
    }
}
