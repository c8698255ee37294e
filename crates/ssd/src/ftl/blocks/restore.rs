//! The blocks as recovery has found them after a power cut.

use std::ops::Range;

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::{Aged, Blocks, EMPTY, HELD, INITIAL, Open, STALE, Written};
use crate::config::EraseWhen;
use crate::streams::{MOST, Series, StreamId};

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// As at the start: initial data, or nothing.
    AtStart,
    /// Nothing since it was erased.
    Nothing,
    /// Nothing that can be read, and it must be erased before it is programmed: as if it were full of what is out of
    /// date.
    Rubbish,
    /// Pages up to that one have been programmed since it was opened by that program.
    Pages { of: Series, opened: u64, programmed: u32 },
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
            let pages = self.pages;
            let entry = &mut self.planes[plane.0 as usize];
            entry.open = pages.map(|next_page| Open { block: 0, next_page, erased: true, barrier: 0 });
            entry.apart = Blocks::none_apart(self.handles, &pages);
            entry.released.clear();
            (entry.live, entry.candidates) = (0, None);
            if let Some(slc) = &mut self.slc {
                slc.forget(plane);
            }
            for block in self.ever_opened(plane) {
                self.restore_block(plane, block, self.as_pages(plane, block, found), aged);
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
            Holds::Pages { of: Series { stream, handle }, programmed, .. } => {
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
                (written.block, written.closed) = (self.layout.block(plane, block), true);
                (written.stream, written.handle) = (stream, handle);
                self.blocks[index].written = record;
                let opens_slc = self.opens_slc(stream);
                if let Some(slc) = &mut self.slc {
                    slc.opened(plane, block, opens_slc);
                }
            }
            Holds::AtStart | Holds::Nothing | Holds::Rubbish => self.hold_nothing(index),
        }
    }

    /// The blocks of a plane that may have been opened: those that have been, and those that are the SLC cache's for
    /// good.
    fn ever_opened(&self, plane: PlaneId) -> impl Iterator<Item = u32> + use<> {
        (0..self.plane(plane).fresh).chain(self.fixed_blocks(plane))
    }

    /// What was found of a block; rubbish as pages of the host's: of the chip's own cells, if the block is not the SLC
    /// cache's for good.
    fn as_pages(&self, plane: PlaneId, block: u32, found: &FoundBlocks) -> Holds {
        match (found.holds)(plane, block) {
            Holds::Rubbish => {
                let fixed = self.fixed_blocks(plane).contains(&block);
                let stream = StreamId::all().find(|stream| fixed || !self.opens_slc(*stream)).unwrap_or_default();
                let of = Series { stream, handle: self.handles };
                Holds::Pages { of, opened: 0, programmed: self.pages[stream.index()] }
            }
            holds => holds,
        }
    }

    /// The blocks of a plane that are the SLC cache's for good.
    fn fixed_blocks(&self, plane: PlaneId) -> Range<u32> {
        self.slc.as_ref().map(|slc| slc.plane(plane)).map_or(0..0, |of| of.first..of.first + of.fixed)
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
        for block in self.ever_opened(plane) {
            if let Holds::Pages { of: Series { stream, .. }, opened, programmed } = self.as_pages(plane, block, found)
                && !(found.is_bad)(plane, block)
            {
                let best = &mut youngest[stream.index()];
                *best = (*best).max(Some((opened, block, programmed)));
            }
        }
        let mut moved = None;
        for (stream, youngest) in youngest.into_iter().enumerate() {
            let pages = u64::from(self.pages[stream]);
            let Some((_, block, next_page)) = youngest.filter(|(.., programmed)| u64::from(*programmed) < pages) else {
                continue;
            };
            if (found.has_failed)(plane, block) {
                // Of an older one the next recovery would not ask what has been written since.
                continue;
            }
            let record = self.block(plane, block).written;
            let written = &mut self.written[record as usize];
            if self.handles > 0
                && StreamId::new(stream).is_relocated()
                && *moved.get_or_insert(written.handle) != written.handle
            {
                // Of streams of relocated data the open blocks have the data of one handle.
                continue;
            }
            written.closed = false;
            let entry = &mut self.planes[plane.0 as usize];
            entry.handle = moved.unwrap_or(entry.handle);
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

    /// Blocks that hold nothing are free: those that were found so and, where free blocks are erased when they are
    /// opened, those whose pages are all out of date, unless pages of stripes may be among these.
    pub fn release_empty(&mut self, found: &FoundBlocks, aged: &Aged, striped: bool) {
        let at_once = self.erase_when == EraseWhen::Opened && !striped;
        for plane in (0..self.layout.planes).map(PlaneId).filter(|plane| !(found.is_broken)(*plane)) {
            for block in self.ever_opened(plane) {
                let index = self.index(plane, block);
                let free = match self.as_pages(plane, block, found) {
                    _ if (found.is_bad)(plane, block) => {
                        self.hold_nothing(index);
                        false
                    }
                    Holds::Nothing | Holds::Rubbish => true,
                    Holds::AtStart if self.blocks[index].written == EMPTY => true,
                    Holds::AtStart => at_once && self.live_in_block(plane, block, aged) == 0,
                    Holds::Pages { .. } => {
                        let written = &self.written[self.blocks[index].written as usize];
                        let needless = written.closed && written.live == 0 && !(found.has_failed)(plane, block);
                        at_once && needless
                    }
                };
                if free {
                    self.hold_nothing(index);
                    self.zone_loses(plane, block);
                    self.release_as_found(plane, block);
                }
            }
            let entry = self.plane(plane);
            self.free[plane.0 as usize] = entry.usable - entry.fresh + entry.released.len() as u32;
            self.refill_cache(plane, found);
            self.list_logs(plane, found);
        }
    }

    /// The log blocks, in the order in which they were opened.
    fn list_logs(&mut self, plane: PlaneId, found: &FoundBlocks) {
        if self.logged.is_none() {
            return;
        }
        let mut logs = Vec::new();
        for block in self.ever_opened(plane) {
            if let Holds::Pages { of: Series { stream, .. }, opened, .. } = self.as_pages(plane, block, found)
                && self.block(plane, block).written < EMPTY
                && self.logged == Some(stream)
            {
                logs.push((opened, block));
            }
        }
        logs.sort_unstable();
        self.planes[plane.0 as usize].logs = logs.into_iter().map(|(_, block)| block).collect();
    }

    /// The blocks of the SLC cache: those that hold data, and the full ones of these in the order in which they were
    /// opened.
    fn refill_cache(&mut self, plane: PlaneId, found: &FoundBlocks) {
        let Some(slc) = &self.slc else { return };
        let holds = |block: &u32| slc.holds(plane, *block) && self.block(plane, *block).written < EMPTY;
        let held: Vec<u32> = (0..self.layout.blocks).filter(holds).collect();
        let mut full: Vec<(u64, u32, bool)> = Vec::new();
        for block in held.iter().filter(|block| self.is_full(plane, **block)) {
            if let Holds::Pages { of: Series { stream, .. }, opened, .. } = self.as_pages(plane, *block, found) {
                full.push((opened, *block, stream == StreamId::CONVERTED));
            }
        }
        full.sort_unstable();
        let Some(slc) = &mut self.slc else { return };
        let cache = slc.plane_mut(plane);
        cache.used = held.len() as u32;
        // What zones go on with was closed, and opened again.
        cache.full.clear();
        cache.kept.clear();
        for (_, block, kept) in full {
            if kept { &mut cache.kept } else { &mut cache.full }.push_back(block);
        }
    }
}
