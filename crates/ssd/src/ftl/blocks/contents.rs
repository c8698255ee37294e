//! What the pages of a block hold, and which blocks are full.

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::{Aged, Blocks, EMPTY, FROM_BEFORE, FullBlocks, HELD, INITIAL, STALE};
use crate::policies::BlockFacts;
use crate::streams::StreamId;

/// What a page that was written in the run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held(u32);

impl Held {
    /// Which of a drive's `pages` it is: the one that is mapped here, where several share the number.
    #[inline]
    pub fn lpn(self, pages: u64, is_here: impl Fn(Lpn) -> bool) -> Lpn {
        let first = u64::from(self.0);
        if pages <= HELD {
            return Lpn(first);
        }
        let mut candidates = (first..pages).step_by(HELD as usize).map(Lpn);
        candidates.find(|lpn| is_here(*lpn)).expect("Invariant: live data of a full block is mapped")
    }

    /// Whether it may be that page.
    pub fn may_be(self, lpn: Lpn) -> bool {
        u64::from(self.0) == lpn.0 % HELD
    }
}

/// The number of a page that was written in the run, in 32 bits: the place of its block in `Blocks::written`, and the
/// page's in the block. It holds until the block is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenPage(pub u32);

impl Blocks {
    /// The number of a page that was written in the run.
    #[inline]
    pub fn written_page(&self, ppn: Ppn) -> WrittenPage {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let record = self.blocks[self.index(plane, block)].written;
        debug_assert!(record < EMPTY, "Invariant: the map is told of pages that were written in the run");
        WrittenPage(record << self.layout.page_bits | page)
    }

    /// The page that a number names.
    #[inline]
    pub fn page(&self, WrittenPage(number): WrittenPage) -> Ppn {
        let record = &self.written[(number >> self.layout.page_bits) as usize];
        self.layout.page(record.block, number & ((1 << self.layout.page_bits) - 1))
    }

    /// The data in a page has become stale.
    pub fn invalidate(&mut self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        let index = self.index(address.plane, address.block);
        match self.blocks[index].written {
            INITIAL => self.blocks[index].stale += 1,
            record => {
                let written = &mut self.written[record as usize];
                written.held[address.page as usize] = STALE;
                written.live -= 1;
            }
        }
        let plane = &mut self.planes[address.plane.0 as usize];
        plane.live -= 1;
        if let Some(candidates) = &mut plane.candidates {
            candidates.lose(address.block);
        }
    }

    /// The full blocks of a plane, to choose one from.
    pub fn candidates(&mut self, plane: PlaneId, aged: &Aged) -> &mut FullBlocks {
        if self.planes[plane.0 as usize].candidates.is_none() {
            self.planes[plane.0 as usize].candidates = Some(Box::new(self.list_candidates(plane, aged)));
        }
        let candidates = self.planes[plane.0 as usize].candidates.as_mut();
        let candidates = candidates.expect("Invariant: the list was just made");
        candidates.settle();
        candidates
    }

    /// In the order in which they were filled: the initial state's, then the run's, which were opened in that order.
    #[cold]
    fn list_candidates(&self, plane: PlaneId, aged: &Aged) -> FullBlocks {
        let mut candidates = FullBlocks::new(&self.layout, self.by_valid, self.victim_valid_limit);
        for block in 0..self.plane(plane).fresh {
            if self.is_full(plane, block) && !self.in_slc(plane, block) && self.zone_of(plane, block).is_none() {
                candidates.now = 0u32.wrapping_sub(aged.untouched(plane, block));
                candidates.insert(block, self.live_in_block(plane, block, aged), self.facts(plane, block));
            }
        }
        candidates.now = 0;
        candidates
    }

    /// Pages of a block whose programs have not ended.
    pub(super) fn pending_in(&self, plane: PlaneId, block: u32) -> u32 {
        let record = self.block(plane, block).written;
        if record < EMPTY { self.written[record as usize].pending } else { 0 }
    }

    /// Whether a block holds data and nothing more is written to it.
    pub fn is_full(&self, plane: PlaneId, block: u32) -> bool {
        match self.block(plane, block).written {
            EMPTY => false,
            INITIAL => block < self.plane(plane).fresh,
            record => {
                let written = &self.written[record as usize];
                written.closed && written.pending == 0
            }
        }
    }

    /// Whether a block holds data of the run and no further page of it is given out.
    pub(super) fn is_closed(&self, plane: PlaneId, block: u32) -> bool {
        let record = self.block(plane, block).written;
        record < EMPTY && self.written[record as usize].closed
    }

    /// Whether a block holds data of the run, and more is written to it or on its way there.
    pub fn is_being_filled(&self, plane: PlaneId, block: u32) -> bool {
        self.block(plane, block).written < EMPTY && !self.is_full(plane, block)
    }

    /// The data of a block has been moved: it holds nothing now.
    pub fn empty(&mut self, plane: PlaneId, block: u32) {
        let index = self.index(plane, block);
        let record = std::mem::replace(&mut self.blocks[index].written, EMPTY);
        self.blocks[index].stale = 0;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(plane, block)) {
            slc.plane_mut(plane).used -= 1;
        }
        if record < EMPTY {
            let written = &mut self.written[record as usize];
            debug_assert_eq!((written.live, written.pending), (0, 0), "Invariant: only stale blocks are emptied");
            written.held.clear();
            written.programmed.clear();
            self.spare.push(record);
        }
        if self.zones.is_some() {
            // Its zone may have been reset while its data was moved.
            self.no_candidate(plane, block);
            self.zone_loses(plane, block);
        }
        if self.logged.is_some() {
            self.planes[plane.0 as usize].logs.retain(|log| *log != block);
        }
    }

    /// Where a page's data was written: the stream of its block, or none for data from before the run.
    pub fn stream_of(&self, ppn: Ppn) -> Option<StreamId> {
        let Address { plane, block, .. } = self.layout.unpack(ppn);
        self.stream_of_block(plane, block)
    }

    /// What policies from outside are told of a block.
    pub fn facts(&self, plane: PlaneId, block: u32) -> BlockFacts {
        BlockFacts {
            erases: self.block(plane, block).erases,
            stream: self.stream_of_block(plane, block).and_then(StreamId::of_host),
        }
    }

    /// The full blocks of a plane, for policies from outside to choose one from.
    pub fn shown(&mut self, plane: PlaneId, aged: &Aged) -> &mut FullBlocks {
        if !self.candidates(plane, aged).is_shown() {
            let facts = (0..self.layout.blocks).map(|block| self.facts(plane, block)).collect();
            self.candidates(plane, aged).show(facts);
        }
        self.candidates(plane, aged)
    }

    /// The stream whose data a block has, or none for data from before the run.
    pub fn stream_of_block(&self, plane: PlaneId, block: u32) -> Option<StreamId> {
        match self.block(plane, block).written {
            INITIAL | EMPTY => None,
            record => Some(self.written[record as usize].stream),
        }
    }

    /// The next page of a block from `page` on that may hold live data, and what it holds: `None` for data of the
    /// initial state, where the formula decides.
    pub fn next_held(&self, plane: PlaneId, block: u32, page: u32) -> Option<(u32, Option<Held>)> {
        match self.block(plane, block).written {
            EMPTY => None,
            INITIAL => (page < self.layout.pages).then_some((page, None)),
            record => {
                let held = self.written[record as usize].held.get(page as usize..)?;
                let skipped = held.iter().position(|held| *held != STALE)?;
                let from_before = held[skipped] == FROM_BEFORE;
                Some((page + skipped as u32, (!from_before).then_some(Held(held[skipped]))))
            }
        }
    }

    /// The logical page whose live data a page holds, as far as the blocks know: `Err` where the initial
    /// state's formula decides.
    pub fn holder(&self, address: Address) -> Result<Option<Held>, ()> {
        match self.block(address.plane, address.block).written {
            INITIAL => Err(()),
            EMPTY => Ok(None),
            record => {
                let held = &self.written[record as usize].held;
                if held.get(address.page as usize) == Some(&FROM_BEFORE) {
                    return Err(());
                }
                Ok(held.get(address.page as usize).copied().filter(|held| *held != STALE).map(Held))
            }
        }
    }

    /// Valid pages of a block by the initial state or by what was written.
    pub fn live_in_block(&self, plane: PlaneId, block: u32, aged: &Aged) -> u32 {
        let entry = self.block(plane, block);
        match entry.written {
            EMPTY => 0,
            INITIAL => aged.live_in_block(plane, block) - entry.stale,
            record => self.written[record as usize].live,
        }
    }

    /// Pages whose programs have not ended.
    pub fn pending(&self) -> u64 {
        self.written.iter().map(|written| u64::from(written.pending)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_share_a_number_are_told_apart_by_the_map() {
        let (first, far) = (7, 7 + 5 * HELD);
        let held = Held((far % HELD) as u32);
        assert!(held.may_be(Lpn(first)) && held.may_be(Lpn(far)) && !held.may_be(Lpn(far + 1)));
        assert_eq!(held.lpn(1 << 40, |lpn| lpn == Lpn(far)), Lpn(far));
        assert_eq!(held.lpn(HELD, |_| false), Lpn(first));
    }
}
