//! The blocks as recovery has found them after a power cut.

use std::cmp::Reverse;

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::{Aged, Blocks, EMPTY, HELD, INITIAL, Open, STALE, Written};
use crate::config::{EraseWhen, FreeBlock};
use crate::streams::{MOST, StreamId};

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// As at the start: initial data, or nothing.
    AtStart,
    /// Nothing since it was erased.
    Nothing,
    /// Pages up to that one have been programmed since it was opened for a stream by that program.
    Pages { stream: StreamId, opened: u64, programmed: u32 },
}

/// What recovery has found out of the blocks.
pub(crate) struct FoundBlocks<'a> {
    pub holds: &'a dyn Fn(PlaneId, u32) -> Holds,
    /// Out of service.
    pub is_bad: &'a dyn Fn(PlaneId, u32) -> bool,
    /// Failed, and not emptied yet.
    pub has_failed: &'a dyn Fn(PlaneId, u32) -> bool,
    /// All of a plane, which is out of service.
    pub is_broken: &'a dyn Fn(PlaneId) -> bool,
}

impl Blocks {
    /// Takes blocks as they were found, none of whose pages holds live data yet; [`Blocks::holds_live`] says which do.
    pub fn restore(&mut self, found: &FoundBlocks, aged: &Aged) {
        for plane in (0..self.layout.planes).map(PlaneId) {
            let pages = self.layout.pages;
            let entry = &mut self.planes[plane.0 as usize];
            entry.open = [Open { block: 0, next_page: pages, erased: true, barrier: 0 }; MOST];
            entry.released.clear();
            (entry.live, entry.candidates) = (0, None);
            for block in 0..entry.fresh {
                self.restore_block(plane, block, (found.holds)(plane, block), aged);
            }
            if !(found.is_broken)(plane) {
                self.restore_open(plane, found);
            }
        }
    }

    fn restore_block(&mut self, plane: PlaneId, block: u32, holds: Holds, aged: &Aged) {
        let index = self.index(plane, block);
        match holds {
            Holds::AtStart if block < aged.used_blocks(plane) => {
                self.hold_nothing(index);
                self.blocks[index].written = INITIAL;
                self.planes[plane.0 as usize].live += aged.live_in_block(plane, block);
            }
            Holds::Pages { stream, programmed, .. } => {
                let record = match self.blocks[index].written {
                    EMPTY | INITIAL => self.spare.pop().unwrap_or_else(|| {
                        self.written.push(Written::default());
                        (self.written.len() - 1) as u32
                    }),
                    record => record,
                };
                let flash_pages = self.layout.flash_page(programmed.saturating_sub(1)) as usize + 1;
                let written = &mut self.written[record as usize];
                written.held.clear();
                written.held.resize(programmed as usize, STALE);
                written.programmed.resize(if programmed == 0 { 0 } else { flash_pages }, 0);
                (written.live, written.pending) = (0, 0);
                (written.block, written.stream, written.closed) = (self.layout.block(plane, block), stream, true);
                self.blocks[index].written = record;
            }
            Holds::AtStart | Holds::Nothing => self.hold_nothing(index),
        }
    }

    fn hold_nothing(&mut self, index: usize) {
        let record = std::mem::replace(&mut self.blocks[index].written, EMPTY);
        self.blocks[index].stale = 0;
        if record < EMPTY {
            let written = &mut self.written[record as usize];
            (written.live, written.pending) = (0, 0);
            written.held.clear();
            written.programmed.clear();
            self.spare.push(record);
        }
    }

    /// The youngest block of each stream goes on to be written, where it has room.
    fn restore_open(&mut self, plane: PlaneId, found: &FoundBlocks) {
        let mut youngest: [Option<(u64, u32, u32)>; MOST] = [None; MOST];
        for block in 0..self.plane(plane).fresh {
            if let Holds::Pages { stream, opened, programmed } = (found.holds)(plane, block)
                && !(found.is_bad)(plane, block)
                && !(found.has_failed)(plane, block)
            {
                let best = &mut youngest[stream.index()];
                *best = (*best).max(Some((opened, block, programmed)));
            }
        }
        let pages = u64::from(self.layout.pages);
        for (stream, youngest) in youngest.into_iter().enumerate() {
            let Some((_, block, next_page)) = youngest.filter(|(.., programmed)| u64::from(*programmed) < pages) else {
                continue;
            };
            let record = self.block(plane, block).written;
            self.written[record as usize].closed = false;
            let entry = &mut self.planes[plane.0 as usize];
            entry.open[stream] = Open { block, next_page, erased: true, barrier: 0 };
            // Only its place in the block matters to whom it is compared with.
            let taken = &mut entry.taken[stream];
            *taken += (u64::from(next_page) + pages - *taken % pages) % pages;
        }
    }

    /// A page of a written block holds live data.
    pub fn holds_live(&mut self, ppn: Ppn, lpn: Lpn) {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let record = self.block(plane, block).written;
        debug_assert!(record < EMPTY, "Invariant: data of the run is in blocks that were written in it");
        let written = &mut self.written[record as usize];
        written.held[page as usize] = (lpn.0 % HELD) as u32;
        written.live += 1;
        self.planes[plane.0 as usize].live += 1;
    }

    /// Blocks that hold nothing are free: those that were found so and, where free blocks are erased when they are opened, those
    /// whose pages are all out of date.
    pub fn release_empty(&mut self, found: &FoundBlocks, aged: &Aged) {
        for plane in (0..self.layout.planes).map(PlaneId).filter(|plane| !(found.is_broken)(*plane)) {
            for block in 0..self.plane(plane).fresh {
                let index = self.index(plane, block);
                let free = match (found.holds)(plane, block) {
                    _ if (found.is_bad)(plane, block) => {
                        self.hold_nothing(index);
                        false
                    }
                    Holds::Nothing => true,
                    Holds::AtStart if self.blocks[index].written == EMPTY => true,
                    Holds::AtStart => {
                        self.erase_when == EraseWhen::Opened && self.live_in_block(plane, block, aged) == 0
                    }
                    Holds::Pages { .. } => {
                        let written = &self.written[self.blocks[index].written as usize];
                        let needless = written.closed && written.live == 0 && !(found.has_failed)(plane, block);
                        self.erase_when == EraseWhen::Opened && needless
                    }
                };
                if free {
                    self.hold_nothing(index);
                    let rank = match self.free_block {
                        FreeBlock::LeastWorn => self.blocks[index].erases,
                        FreeBlock::Oldest => 0,
                    };
                    self.releases += 1;
                    self.planes[plane.0 as usize].released.push(Reverse((rank, self.releases, block, 0)));
                }
            }
            let entry = self.plane(plane);
            self.free[plane.0 as usize] = entry.usable - entry.fresh + entry.released.len() as u32;
        }
    }

    /// The block that a stream fills, and the next page in it.
    pub fn open_place(&self, plane: PlaneId, stream: StreamId) -> (u32, u32) {
        let open = &self.plane(plane).open[stream.index()];
        (open.block, open.next_page)
    }
}
