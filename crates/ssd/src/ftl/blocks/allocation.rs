//! Free and open blocks: which block a stream opens, which pages it gives out, and how a block becomes free again or
//! goes out of service.

use std::cmp::Reverse;

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::{AgeClock, Blocks, EMPTY, HELD, Open, Released, STALE, Written};
use crate::config::FreeBlock;
use crate::streams::{Stream, StreamId, Streams};

/// What a block was that has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// Free.
    Free,
    /// Filled by a stream.
    Open,
    /// Nothing more was written to it.
    Closed,
    /// Being erased, or out of service.
    Erased,
}

impl Blocks {
    /// Whether the plane can take a page in a stream. Relocated data may use the last free block.
    #[inline]
    pub fn room(&self, plane: PlaneId, stream: StreamId, moved: bool) -> bool {
        let open = self.plane(plane).open[stream.index()].next_page < self.pages[stream.index()];
        if let Some(slc) = self.slc_of(stream) {
            open || slc.openable(plane, self.free(plane)) > 0
        } else if moved {
            open || self.free(plane) > 0
        } else if open {
            // An open block that relocated data shares is kept for it when it has nothing else.
            self.shared != Some(stream) || self.free(plane) >= self.reserve
        } else {
            self.free(plane) > self.reserve
        }
    }

    /// Opens a block where the stream's present one is full; whether it did. Invariant: [`Blocks::room`] says yes.
    pub fn make_room(&mut self, plane: PlaneId, stream: StreamId) -> bool {
        let pages = self.pages[stream.index()];
        if self.planes[plane.0 as usize].open[stream.index()].next_page < pages {
            return false;
        }
        let (block, barrier) = self.take_free(plane, stream);
        self.planes[plane.0 as usize].open[stream.index()] =
            Open { block, next_page: 0, erased: barrier.is_none(), barrier: barrier.unwrap_or(0) };
        self.enter(plane, stream, block);
        let opens_slc = self.opens_slc(stream);
        if let Some(slc) = &mut self.slc {
            slc.opened(plane, block, opens_slc);
        }
        true
    }

    /// Keeps what a block holds from now on.
    pub(super) fn enter(&mut self, plane: PlaneId, stream: StreamId, block: u32) {
        let (pages, handle) = (self.pages[stream.index()], self.handle_of_new(plane, stream));
        let record = self.spare.pop().unwrap_or_else(|| {
            self.written.push(Written::default());
            (self.written.len() - 1) as u32
        });
        let written = &mut self.written[record as usize];
        written.held.reserve_exact(pages as usize);
        written.programmed.reserve_exact(self.layout.flash_pages() as usize);
        (written.block, written.stream, written.closed) = (self.layout.block(plane, block), stream, false);
        written.handle = handle;
        let index = self.index(plane, block);
        self.blocks[index].written = record;
        if self.logged == Some(stream) {
            self.planes[plane.0 as usize].logs.push_back(block);
        }
    }

    /// Takes the block that a stream opens next, and the number of the youngest read that may still want what it held;
    /// none where it has been erased.
    fn take_free(&mut self, plane: PlaneId, stream: StreamId) -> (u32, Option<u64>) {
        let fixed = self.opens_slc(stream).then_some(self.slc.as_mut()).flatten();
        let fixed = fixed.map(|slc| slc.plane_mut(plane)).filter(|cache| cache.fixed > 0);
        let entry = &mut self.planes[plane.0 as usize];
        let released = match fixed {
            Some(cache) => &mut cache.released,
            None => {
                self.free[plane.0 as usize] -= 1;
                if entry.fresh < entry.usable {
                    entry.fresh += 1;
                    return (entry.fresh - 1, Released::when_found(self.erase_when));
                }
                &mut entry.released
            }
        };
        let Reverse(next) = released.pop().expect("Invariant: a block is opened where there is room");
        (next.block, next.barrier)
    }

    /// The next block that would be opened before it has been erased, of those that have held something; and takes it
    /// out of the free ones.
    pub fn take_unerased(&mut self, plane: PlaneId) -> Option<u32> {
        let released = &self.plane(plane).released;
        let next =
            released.iter().filter(|Reverse(free)| free.barrier.is_some()).max().map(|Reverse(free)| free.block)?;
        self.planes[plane.0 as usize].released.retain(|Reverse(free)| free.block != next);
        self.free[plane.0 as usize] -= 1;
        Some(next)
    }

    /// Pages of the blocks that hold data of the run, where these are too many for the numbers of their pages.
    pub fn too_much_written(&self) -> Option<u64> {
        let blocks = self.written.len() - self.spare.len();
        (blocks > self.most_written as usize).then_some(blocks as u64 * u64::from(self.layout.pages))
    }

    /// Whether the stream's next program must wait for an erase.
    #[inline]
    pub fn needs_erase(&self, plane: PlaneId, stream: StreamId) -> bool {
        let open = &self.plane(plane).open[stream.index()];
        if open.next_page == self.pages[stream.index()] {
            self.next_barrier(plane, stream).is_some()
        } else {
            !open.erased
        }
    }

    /// The barrier of the block that the stream opens next: see [`Released::barrier`].
    fn next_barrier(&self, plane: PlaneId, stream: StreamId) -> Option<u64> {
        let fixed = self.slc_of(stream).map(|slc| slc.plane(plane)).filter(|cache| cache.fixed > 0);
        let (plane, found) = (self.plane(plane), Released::when_found(self.erase_when));
        match fixed {
            None if plane.fresh < plane.usable => found,
            None => plane.released.peek().map_or(found, |Reverse(next)| next.barrier),
            Some(cache) => cache.released.peek().map_or(found, |Reverse(next)| next.barrier),
        }
    }

    /// The number of the youngest read that may still want what the next erase of the stream destroys.
    pub fn erase_barrier(&self, plane: PlaneId, stream: StreamId) -> u64 {
        let open = &self.plane(plane).open[stream.index()];
        if open.next_page < self.pages[stream.index()] {
            open.barrier
        } else {
            self.next_barrier(plane, stream).unwrap_or(0)
        }
    }

    /// The place of the stream's next page in its block, without opening a block.
    #[inline]
    pub fn next_place(&self, plane: PlaneId, stream: StreamId) -> u32 {
        self.plane(plane).open[stream.index()].next_page % self.pages[stream.index()]
    }

    /// The block that the stream fills.
    pub fn open_block(&self, plane: PlaneId, stream: StreamId) -> u32 {
        self.plane(plane).open[stream.index()].block
    }

    /// The stream's open block has been erased.
    pub fn open_erased(&mut self, plane: PlaneId, stream: StreamId) {
        self.planes[plane.0 as usize].open[stream.index()].erased = true;
    }

    /// Gives the stream's next page to `lpn`, or to padding. Invariant: [`Blocks::make_room`] was called.
    pub fn take_page(&mut self, plane: PlaneId, stream: StreamId, lpn: Option<Lpn>, now: AgeClock) -> Ppn {
        let entry = &mut self.planes[plane.0 as usize];
        let open = &mut entry.open[stream.index()];
        debug_assert!(
            open.erased && open.next_page < self.pages[stream.index()],
            "Invariant: programs go to erased open blocks"
        );
        let (block, page) = (open.block, open.next_page);
        open.next_page += 1;
        entry.taken[stream.index()] += 1;
        entry.live += u32::from(lpn.is_some());
        if let Some(candidates) = &mut entry.candidates {
            candidates.now = candidates.now.wrapping_add(1);
        }
        let full = open.next_page == self.pages[stream.index()];
        let record = self.blocks[self.index(plane, block)].written;
        let written = &mut self.written[record as usize];
        written.held.push(lpn.map_or(STALE, |lpn| (lpn.0 % HELD) as u32));
        if written.programmed.len() == self.layout.flash_page(page) as usize {
            written.programmed.push(self.ageing.stamp(now));
        }
        written.live += u32::from(lpn.is_some());
        written.pending += u32::from(lpn.is_some());
        written.closed = full;
        self.pages_programmed += 1;
        if full && written.pending == 0 {
            self.filled(plane, block);
        }
        self.layout.pack(Address { plane, block, page })
    }

    /// Pages that are left in the open blocks of a plane's data, the map's aside.
    pub fn left_open(&self, plane: PlaneId, streams: &Streams) -> u32 {
        let open = &self.plane(plane).open;
        let left = |stream: &Stream| {
            let left = stream.pages - open[stream.id.index()].next_page;
            if stream.slc { stream.native_pages(left, self.layout.pages) } else { left }
        };
        streams.common().iter().map(left).sum()
    }

    /// Pages given out in a stream of a plane.
    pub fn taken(&self, plane: PlaneId, stream: StreamId) -> u64 {
        self.plane(plane).taken[stream.index()]
    }

    /// Pages given out in a plane.
    pub fn all_taken(&self, plane: PlaneId) -> u64 {
        self.plane(plane).taken.iter().sum()
    }

    /// The program of a page has ended; whether its block is full with it.
    #[inline]
    pub fn completed(&mut self, ppn: Ppn) -> bool {
        let address = self.layout.unpack(ppn);
        let record = self.blocks[self.index(address.plane, address.block)].written;
        let written = &mut self.written[record as usize];
        written.pending -= 1;
        let full = written.pending == 0 && written.closed;
        if full {
            self.filled(address.plane, address.block);
        }
        full
    }

    /// No further page of the stream's open block is used.
    pub fn abandon(&mut self, plane: PlaneId, stream: StreamId) {
        let open = &mut self.planes[plane.0 as usize].open[stream.index()];
        open.next_page = self.pages[stream.index()];
        let block = open.block;
        self.close(plane, block);
    }

    /// The open blocks of a stream, as far as it has begun to write them, are written no further.
    pub fn leave_open(&mut self, stream: StreamId) {
        for plane in (0..self.layout.planes).map(PlaneId) {
            let open = self.plane(plane).open[stream.index()];
            let pages = self.pages[stream.index()];
            if open.erased && open.next_page > 0 && open.next_page < pages {
                self.abandon(plane, stream);
                // Only its place in the block matters to whom it is compared with.
                let taken = &mut self.planes[plane.0 as usize].taken[stream.index()];
                *taken = taken.next_multiple_of(pages.into());
            }
        }
    }

    /// No further page of a block is given out.
    pub fn close(&mut self, plane: PlaneId, block: u32) {
        let record = self.blocks[self.index(plane, block)].written;
        let written = &mut self.written[record as usize];
        if !std::mem::replace(&mut written.closed, true) && written.pending == 0 {
            self.filled(plane, block);
        }
    }

    /// The stream's open block, in which nothing is programmed, cannot be used.
    pub fn discard_open(&mut self, plane: PlaneId, stream: StreamId) {
        let open = &mut self.planes[plane.0 as usize].open[stream.index()];
        open.next_page = self.pages[stream.index()];
        let block = open.block;
        // Where its plane has broken meanwhile it counts as full.
        self.no_candidate(plane, block);
        self.empty(plane, block);
    }

    /// Every page of a block is programmed: it can be reclaimed.
    fn filled(&mut self, plane: PlaneId, block: u32) {
        let record = self.block(plane, block).written;
        let valid = self.written[record as usize].live;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(plane, block)) {
            let converted = self.written[record as usize].stream == StreamId::CONVERTED;
            let cache = slc.plane_mut(plane);
            return if converted { &mut cache.kept } else { &mut cache.full }.push_back(block);
        }
        if self.zone_of(plane, block).is_some() {
            return;
        }
        let facts = self.facts(plane, block);
        if let Some(candidates) = &mut self.planes[plane.0 as usize].candidates {
            candidates.insert(block, valid, facts);
        }
    }

    /// A block that was closed goes on to be written, if it has been and has room: at which page.
    pub fn reopen(&mut self, plane: PlaneId, block: u32) -> Option<u32> {
        let (record, pages) = (self.block(plane, block).written, self.pages);
        let has_room = |written: &&mut Written| written.held.len() < pages[written.stream.index()] as usize;
        let written = self.written.get_mut(record as usize).filter(has_room)?;
        written.closed = false;
        Some(written.held.len() as u32)
    }

    /// A stream goes on with a block that was closed, if it has been and has room: at which page.
    pub fn goes_on_in(&mut self, plane: PlaneId, block: u32, stream: StreamId) -> Option<u32> {
        let next_page = self.reopen(plane, block)?;
        let record = self.block(plane, block).written;
        self.written[record as usize].stream = stream;
        self.set_open(plane, stream, Open { block, next_page, erased: true, barrier: 0 });
        Some(next_page)
    }

    /// A block that was a zone's can be reclaimed, if it is full; one of the SLC cache can be anyway.
    pub fn becomes_candidate(&mut self, plane: PlaneId, block: u32) {
        if self.is_full(plane, block) && !self.in_slc(plane, block) {
            self.filled(plane, block);
        }
    }

    /// A block is reclaimed: it is no candidate any more, nor is it to be folded.
    pub fn no_candidate(&mut self, plane: PlaneId, block: u32) {
        let candidates = &mut self.planes[plane.0 as usize].candidates;
        if let Some(candidates) = candidates.as_mut().filter(|candidates| candidates.contains(block)) {
            candidates.remove(block);
        }
        if let Some(slc) = &mut self.slc {
            slc.plane_mut(plane).claim(block);
        }
    }

    /// Valid pages of a block that was written in the run.
    pub fn live_of_run(&self, plane: PlaneId, block: u32) -> Option<u32> {
        let record = self.block(plane, block).written;
        (record < EMPTY).then(|| self.written[record as usize].live)
    }

    /// An empty block may be opened again; one that has not been erased for programs that start after the reads that
    /// are older than `barrier`.
    pub fn release(&mut self, plane: PlaneId, block: u32, barrier: Option<u64>) {
        let rank = match self.free_block {
            FreeBlock::LeastWorn => self.block(plane, block).erases,
            FreeBlock::Oldest => 0,
        };
        self.releases += 1;
        let free = Reverse(Released { rank, number: self.releases, block, barrier });
        let cache = self.slc.as_mut().map(|slc| slc.plane_mut(plane));
        if let Some(cache) = cache.filter(|cache| cache.owns(block)) {
            return cache.released.push(free);
        }
        self.free[plane.0 as usize] += 1;
        self.planes[plane.0 as usize].released.push(free);
    }

    /// An empty block may be opened again, of which nothing else is known.
    pub fn release_as_found(&mut self, plane: PlaneId, block: u32) {
        self.release(plane, block, Released::when_found(self.erase_when));
    }

    /// An empty block goes out of service.
    pub fn retire(&mut self, plane: PlaneId, block: u32) {
        let cache = self.slc.as_mut().map(|slc| slc.plane_mut(plane));
        match cache.filter(|cache| cache.owns(block)) {
            Some(cache) => cache.retired += 1,
            None => self.planes[plane.0 as usize].retired += 1,
        }
    }

    /// Every block of a plane goes out of service, with the data in it; returns how many were in service.
    pub fn retire_all(&mut self, plane: PlaneId) -> u32 {
        let mut in_service = self.in_service(plane).0;
        for stream in StreamId::all() {
            if self.plane(plane).open[stream.index()].next_page < self.pages[stream.index()] {
                self.abandon(plane, stream);
            }
        }
        for open in self.open_apart(plane).collect::<Vec<_>>() {
            self.abandon_apart(plane, open.block);
        }
        self.zones_leave(plane);
        self.free[plane.0 as usize] = 0;
        let entry = &mut self.planes[plane.0 as usize];
        entry.released.clear();
        entry.retired = entry.usable;
        if let Some(cache) = self.slc.as_mut().map(|slc| slc.plane_mut(plane)) {
            in_service += cache.fixed - cache.retired;
            cache.released.clear();
            cache.retired = cache.fixed;
        }
        in_service
    }

    /// A block breaks: a free one may not be opened any more, and nothing more goes into one that is filled.
    pub fn breaks(&mut self, plane: PlaneId, block: u32) -> Breaks {
        if self.take_out(plane, block) {
            Breaks::Free
        } else if self.is_filled_by_zone(plane, block) {
            self.zone_fails(plane, block);
            Breaks::Open
        } else if let Some(stream) = self.is_filled_by(plane, block) {
            self.abandon(plane, stream);
            Breaks::Open
        } else if self.abandon_apart(plane, block) || self.is_closed(plane, block) || self.is_full(plane, block) {
            Breaks::Closed
        } else {
            Breaks::Erased
        }
    }

    /// The erased block that a stream of a plane fills, if that is it: which stream.
    pub(super) fn is_filled_by(&self, plane: PlaneId, block: u32) -> Option<StreamId> {
        let fills = |(open, pages): (&Open, &u32)| open.block == block && open.erased && open.next_page < *pages;
        self.plane(plane).open.iter().zip(&self.pages).position(fills).map(StreamId::new)
    }

    /// The block that stands for one: blocks that were never opened are alike, and the next of them does. None that the
    /// factory found bad.
    pub fn stands_for(&self, plane: PlaneId, block: u32) -> Option<u32> {
        if self.slc.as_ref().is_some_and(|slc| slc.plane(plane).owns(block)) {
            return Some(block);
        }
        let plane = self.plane(plane);
        let never_opened = block >= plane.fresh;
        (block < plane.usable).then_some(if never_opened { plane.fresh } else { block })
    }

    /// Takes a free block out of those that may be opened; whether it was one.
    fn take_out(&mut self, plane: PlaneId, block: u32) -> bool {
        if let Some(cache) = self.slc.as_mut().map(|slc| slc.plane_mut(plane)).filter(|cache| cache.owns(block)) {
            let before = cache.released.len();
            cache.released.retain(|Reverse(free)| free.block != block);
            return cache.released.len() < before;
        }
        let entry = &mut self.planes[plane.0 as usize];
        let before = entry.released.len();
        entry.released.retain(|Reverse(free)| free.block != block);
        let taken = block == entry.fresh || entry.released.len() < before;
        if block == entry.fresh {
            entry.fresh += 1;
            let index = self.index(plane, block);
            self.blocks[index].written = EMPTY;
        }
        self.free[plane.0 as usize] -= u32::from(taken);
        taken
    }
}
