//! The blocks: which are free, open, full or out of service, and what their pages hold.

mod check;
mod restore;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use nand::{Address, BlockId, Layout, PlaneId};
use units::{Conditions, Lpn, PeCycles, Ppn, Span, Stream};

use super::aged::Aged;
use super::ageing::{AgeClock, Ageing};
use super::candidates::FullBlocks;
use super::slc::{Free, SlcBlocks};
use crate::config::{EraseWhen, FreeBlock, Plan, Space};
use crate::persist::{state, stored};
use crate::write_class::WriteClass;

pub(crate) use restore::{FoundBlocks, Holds};

/// A page of a written block that holds no live data.
const STALE: u32 = u32::MAX;
/// What a page holds is kept in 32 bits: the logical page modulo this. Of those that share a number the map says which it is.
const HELD: u64 = STALE as u64;
/// `Block::written` of a block that holds what it held at the start, and of one that holds nothing.
const INITIAL: u32 = u32::MAX;
const EMPTY: u32 = u32::MAX - 1;

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

/// The number of a page that was written in the run, in 32 bits: the place of its block in `Blocks::written`, and the page's
/// in the block. It holds until the block is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenPage(pub u32);

/// What a block that was opened in the run holds.
#[derive(Default)]
struct Written {
    /// For each page given out the logical page, modulo [`HELD`], or `STALE`.
    held: Vec<u32>,
    /// When each of its flash pages was programmed, as [`Ageing`] keeps it.
    programmed: Vec<u32>,
    live: u32,
    /// Pages given out whose programs have not ended.
    pending: u32,
    block: BlockId,
    stream: u8,
    /// No further page is given out.
    closed: bool,
}

const _: () = assert!(size_of::<Written>() <= 64, "what is found through an entry of the map is in one cache line");

/// The open block of a stream.
#[derive(Clone, Copy)]
struct Open {
    block: u32,
    next_page: u32,
    erased: bool,
    /// Reads that are older than this may still want what the block held.
    barrier: u64,
}

/// One block's record.
#[derive(Clone, Copy)]
struct Block {
    /// The place of what it holds in `written`, `INITIAL` or `EMPTY`.
    written: u32,
    /// Live pages of the initial state that have become stale.
    stale: u32,
    erases: u32,
    /// Reads since the last erase.
    reads: u32,
}

const _: () = assert!(size_of::<Block>() == 16, "the stated memory of a block");

struct Plane {
    open: [Open; WriteClass::COUNT],
    /// Pages given out in each stream.
    taken: [u64; WriteClass::COUNT],
    /// Next block that was never used; those from `usable` on are bad since the factory.
    fresh: u32,
    usable: u32,
    released: BinaryHeap<Free>,
    /// Blocks that went out of service in the run.
    retired: u32,
    live: u32,
    /// The full blocks; made when the plane is first collected.
    candidates: Option<Box<FullBlocks>>,
}

/// Every block of the drive. Memory: 16 bytes a block of the flash, 4 bytes a logical page and 4 a flash page of the blocks that hold data written
/// in the run, and 16 bytes a block of planes that have been collected.
pub(crate) struct Blocks {
    layout: Layout,
    /// Pages that each stream puts into a block.
    pages: [u32; WriteClass::COUNT],
    planes: Vec<Plane>,
    /// Free blocks of each plane.
    free: Vec<u32>,
    blocks: Vec<Block>,
    written: Vec<Written>,
    /// Entries of `written` that nothing uses.
    spare: Vec<u32>,
    /// Blocks that may hold data of the run at the same time.
    most_written: u32,
    erase_when: EraseWhen,
    free_block: FreeBlock,
    reserve: u32,
    shared: bool,
    by_valid: bool,
    victim_valid_limit: u32,
    ages: Stream,
    ageing: Ageing,
    releases: u64,
    pub pages_programmed: u64,
    /// The SLC cache's blocks, where there is one.
    pub slc: Option<Box<SlcBlocks>>,
}

impl Blocks {
    /// `usable` blocks of each plane are good.
    pub fn new(plan: &Plan, aged: &Aged, usable: &[u32], seed: u64) -> Blocks {
        let layout = plan.layout;
        let count = layout.planes as usize * layout.blocks as usize * layout.stripe as usize;
        let full = |next_page: u32| Open { block: 0, next_page, erased: true, barrier: 0 };
        let plane = |plane: PlaneId| Plane {
            open: plan.space.pages.map(full),
            taken: [0; WriteClass::COUNT],
            fresh: aged.used_blocks(plane),
            usable: usable[plane.0 as usize] - plan.space.fixed,
            released: BinaryHeap::new(),
            retired: 0,
            live: aged.live_in_plane(plane),
            candidates: None,
        };
        let planes: Vec<Plane> = (0..layout.planes).map(|number| plane(PlaneId(number))).collect();
        let mut blocks = Blocks {
            layout,
            pages: plan.space.pages,
            free: planes.iter().map(|plane| plane.usable - plane.fresh).collect(),
            planes,
            blocks: vec![Block { written: INITIAL, stale: 0, erases: 0, reads: 0 }; count],
            written: Vec::new(),
            spare: Vec::new(),
            most_written: plan.space.most_written,
            erase_when: plan.config.ftl.erase_when,
            free_block: plan.config.wear.free_block,
            reserve: plan.space.reserve,
            shared: plan.config.ftl.streams == 1,
            by_valid: plan.config.gc.victim.asks_for_valid(),
            victim_valid_limit: plan.space.victim_valid_limit,
            ages: Stream::new(seed, "retention"),
            ageing: Ageing::new(plan),
            releases: 0,
            pages_programmed: 0,
            slc: SlcBlocks::new(plan, usable).map(Box::new),
        };
        blocks.empty_cache();
        if plan.config.age.reads > 0 {
            blocks.read_before(plan.config.age.reads);
        }
        if plan.config.age.is_staggered() {
            blocks.stagger(plan, Stream::new(seed, "open-blocks"));
        }
        blocks
    }

    /// The blocks that are the SLC cache's for good hold nothing.
    fn empty_cache(&mut self) {
        let Some(slc) = &self.slc else { return };
        let fixed = |plane: u32| {
            let cache = slc.plane(PlaneId(plane));
            (cache.first..cache.first + cache.fixed).map(move |block| (PlaneId(plane), block))
        };
        let fixed: Vec<_> = (0..self.layout.planes).flat_map(fixed).collect();
        for (plane, block) in fixed {
            let index = self.index(plane, block);
            self.blocks[index].written = EMPTY;
        }
    }

    /// The blocks that hold data at the start were read so often before.
    fn read_before(&mut self, reads: u32) {
        for plane in (0..self.layout.planes).map(PlaneId) {
            let written = self.index(plane, 0)..self.index(plane, self.plane(plane).fresh);
            self.blocks[written].iter_mut().for_each(|block| block.reads = reads);
        }
    }

    /// Opens a block for every stream and takes it as written up to some place, the same on all planes of a die; nothing in it
    /// is live.
    fn stagger(&mut self, plan: &Plan, draws: Stream) {
        let units = u64::from(self.layout.pages / plan.unit_pages);
        for plane in (0..self.layout.planes).map(PlaneId) {
            let die = u64::from(plane.0 / self.layout.planes_per_die);
            for stream in plan.space.open_streams() {
                if self.opens_slc(stream.into()) {
                    // The cache is empty at the start.
                    continue;
                }
                let used = draws.entity(die).below(u64::from(stream), units) as u32 * plan.unit_pages;
                self.make_room(plane, usize::from(stream));
                let open = &mut self.planes[plane.0 as usize].open[usize::from(stream)];
                (open.next_page, open.erased) = (used, true);
                let block = open.block;
                let record = self.blocks[self.index(plane, block)].written;
                let written = &mut self.written[record as usize];
                written.held.resize(used as usize, STALE);
                written.programmed.resize(self.layout.flash_page(used) as usize, 0);
            }
        }
    }

    /// Whether a stream opens blocks of the SLC cache.
    #[inline]
    fn opens_slc(&self, stream: usize) -> bool {
        self.pages[stream] < self.layout.pages
    }

    /// The SLC cache, if a stream opens its blocks.
    #[inline]
    fn slc_of(&self, stream: usize) -> Option<&SlcBlocks> {
        self.slc.as_deref().filter(|_| self.opens_slc(stream))
    }

    /// Whether a block is in the SLC cache's mode, or was when it last held something.
    #[inline]
    pub fn in_slc(&self, plane: PlaneId, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(plane, block))
    }

    /// The same of a page's block.
    #[inline]
    pub fn page_in_slc(&self, ppn: Ppn) -> bool {
        self.slc.is_some() && {
            let Address { plane, block, .. } = self.layout.unpack(ppn);
            self.in_slc(plane, block)
        }
    }

    fn plane(&self, plane: PlaneId) -> &Plane {
        &self.planes[plane.0 as usize]
    }

    /// The record of a block; of a superblock's blocks the first's, those of the others count their reads alone.
    #[inline]
    fn index(&self, plane: PlaneId, block: u32) -> usize {
        self.layout.block_index(plane, block) * self.layout.stripe as usize
    }

    /// The records of a block: as many as it has blocks of the flash.
    fn records(&self, plane: PlaneId, block: u32) -> Range<usize> {
        let first = self.index(plane, block);
        first..first + self.layout.stripe as usize
    }

    fn block(&self, plane: PlaneId, block: u32) -> &Block {
        &self.blocks[self.index(plane, block)]
    }

    /// Free blocks of a plane.
    pub fn free(&self, plane: PlaneId) -> u32 {
        self.free[plane.0 as usize]
    }

    /// Free blocks of each plane.
    pub fn free_of_planes(&self) -> &[u32] {
        &self.free
    }

    /// Blocks of a plane in service, and blocks that went out of service in the run.
    pub fn in_service(&self, plane: PlaneId) -> (u32, u32) {
        let plane = self.plane(plane);
        (plane.usable - plane.retired, plane.retired)
    }

    /// Valid pages of a plane, pages under way included.
    pub fn live(&self, plane: PlaneId) -> u32 {
        self.plane(plane).live
    }

    /// Whether the plane can take a page in a stream. Relocated data may use the last free block.
    #[inline]
    pub fn room(&self, plane: PlaneId, stream: usize, moved: bool) -> bool {
        let open = self.plane(plane).open[stream].next_page < self.pages[stream];
        if let Some(slc) = self.slc_of(stream) {
            open || slc.openable(plane, self.free(plane)) > 0
        } else if moved {
            open || self.free(plane) > 0
        } else if open {
            // An open block that relocated data shares is kept for it when it has nothing else.
            !(self.shared && stream == 0) || self.free(plane) >= self.reserve
        } else {
            self.free(plane) > self.reserve
        }
    }

    /// Opens a block where the stream's present one is full; whether it did. Invariant: [`Blocks::room`] says yes.
    pub fn make_room(&mut self, plane: PlaneId, stream: usize) -> bool {
        let pages = self.pages[stream];
        if self.planes[plane.0 as usize].open[stream].next_page < pages {
            return false;
        }
        let (block, barrier) = self.take_free(plane, stream);
        self.planes[plane.0 as usize].open[stream] =
            Open { block, next_page: 0, erased: self.erase_when == EraseWhen::Reclaimed, barrier };
        let record = self.spare.pop().unwrap_or_else(|| {
            self.written.push(Written::default());
            (self.written.len() - 1) as u32
        });
        let written = &mut self.written[record as usize];
        written.held.reserve_exact(pages as usize);
        written.programmed.reserve_exact(self.layout.flash_pages() as usize);
        (written.block, written.stream, written.closed) = (self.layout.block(plane, block), stream as u8, false);
        let index = self.index(plane, block);
        self.blocks[index].written = record;
        let opens_slc = self.opens_slc(stream);
        if let Some(slc) = &mut self.slc {
            slc.opened(plane, block, opens_slc);
        }
        true
    }

    /// Takes the block that a stream opens next, and the number of the youngest read that may still want what it held.
    fn take_free(&mut self, plane: PlaneId, stream: usize) -> (u32, u64) {
        let fixed = self.opens_slc(stream).then_some(self.slc.as_mut()).flatten();
        let fixed = fixed.map(|slc| slc.plane_mut(plane)).filter(|cache| cache.fixed > 0);
        let entry = &mut self.planes[plane.0 as usize];
        let released = match fixed {
            Some(cache) => &mut cache.released,
            None => {
                self.free[plane.0 as usize] -= 1;
                if entry.fresh < entry.usable {
                    entry.fresh += 1;
                    return (entry.fresh - 1, 0);
                }
                &mut entry.released
            }
        };
        let Reverse((_, _, block, barrier)) = released.pop().expect("Invariant: a block is opened where there is room");
        (block, barrier)
    }

    /// Pages of the blocks that hold data of the run, where these are too many for the numbers of their pages.
    pub fn too_much_written(&self) -> Option<u64> {
        let blocks = self.written.len() - self.spare.len();
        (blocks > self.most_written as usize).then_some(blocks as u64 * u64::from(self.layout.pages))
    }

    /// Whether the stream's next program must wait for an erase.
    #[inline]
    pub fn needs_erase(&self, plane: PlaneId, stream: usize) -> bool {
        let open = &self.plane(plane).open[stream];
        if open.next_page == self.pages[stream] { self.erase_when == EraseWhen::Opened } else { !open.erased }
    }

    /// The number of the youngest read that may still want what the next erase of the stream destroys.
    pub fn erase_barrier(&self, plane: PlaneId, stream: usize) -> u64 {
        let fixed = self.slc_of(stream).map(|slc| slc.plane(plane)).filter(|cache| cache.fixed > 0);
        let plane = self.plane(plane);
        if plane.open[stream].next_page < self.pages[stream] {
            plane.open[stream].barrier
        } else if plane.fresh < plane.usable && fixed.is_none() {
            0
        } else {
            fixed
                .map_or(&plane.released, |cache| &cache.released)
                .peek()
                .map_or(0, |Reverse((_, _, _, barrier))| *barrier)
        }
    }

    /// The place of the stream's next page in its block, without opening a block.
    #[inline]
    pub fn next_place(&self, plane: PlaneId, stream: usize) -> u32 {
        self.plane(plane).open[stream].next_page % self.pages[stream]
    }

    /// The block that the stream fills.
    pub fn open_block(&self, plane: PlaneId, stream: usize) -> u32 {
        self.plane(plane).open[stream].block
    }

    /// The stream's open block has been erased.
    pub fn open_erased(&mut self, plane: PlaneId, stream: usize) {
        self.planes[plane.0 as usize].open[stream].erased = true;
    }

    /// A block has been erased; returns its P/E cycles in the run.
    pub fn count_erase(&mut self, plane: PlaneId, block: u32) -> u32 {
        let index = self.index(plane, block);
        let records = self.records(plane, block);
        self.blocks[records].iter_mut().for_each(|block| block.reads = 0);
        self.blocks[index].erases += 1;
        if let Some(slc) = &mut self.slc {
            slc.erased(plane, block);
        }
        self.blocks[index].erases
    }

    /// P/E cycles of a block, those before the run included.
    #[inline]
    pub fn cycles(&self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
        plan.config.age.pec.0 + self.worn_by(plane, block, self.block(plane, block).erases)
    }

    /// The erases of a block as cycles of the chip's own cells.
    #[inline]
    pub fn worn_by(&self, plane: PlaneId, block: u32, erases: u32) -> u32 {
        match &self.slc {
            None => erases,
            Some(slc) => (i64::from(erases) - slc.spared(plane, block)).clamp(0, u32::MAX.into()) as u32,
        }
    }

    /// Gives the stream's next page to `lpn`, or to padding. Invariant: [`Blocks::make_room`] was called.
    pub fn take_page(&mut self, plane: PlaneId, stream: usize, lpn: Option<Lpn>, now: AgeClock) -> Ppn {
        let entry = &mut self.planes[plane.0 as usize];
        let open = &mut entry.open[stream];
        debug_assert!(
            open.erased && open.next_page < self.pages[stream],
            "Invariant: programs go to erased open blocks"
        );
        let (block, page) = (open.block, open.next_page);
        open.next_page += 1;
        entry.taken[stream] += 1;
        entry.live += u32::from(lpn.is_some());
        if let Some(candidates) = &mut entry.candidates {
            candidates.now = candidates.now.wrapping_add(1);
        }
        let full = open.next_page == self.pages[stream];
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

    /// Pages that are left in the open blocks of a plane's data, the map's aside.
    pub fn left_open(&self, plane: PlaneId, space: &Space) -> u32 {
        let streams = &space.stream[..WriteClass::Map as usize];
        let left = |stream: u8| self.pages[usize::from(stream)] - self.plane(plane).open[usize::from(stream)].next_page;
        let first_of = |index: usize| !streams[..index].contains(&streams[index]);
        (0..streams.len()).filter(|index| first_of(*index)).map(|index| left(streams[index])).sum()
    }

    /// Pages given out in a stream of a plane.
    pub fn taken(&self, plane: PlaneId, stream: usize) -> u64 {
        self.plane(plane).taken[stream]
    }

    /// Pages given out in a plane.
    pub fn all_taken(&self, plane: PlaneId) -> u64 {
        self.plane(plane).taken.iter().sum()
    }

    /// The program of a page has ended.
    #[inline]
    pub fn completed(&mut self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        let record = self.blocks[self.index(address.plane, address.block)].written;
        let written = &mut self.written[record as usize];
        written.pending -= 1;
        if written.pending == 0 && written.closed {
            self.filled(address.plane, address.block);
        }
    }

    /// No further page of the stream's open block is used.
    pub fn abandon(&mut self, plane: PlaneId, stream: usize) {
        let open = &mut self.planes[plane.0 as usize].open[stream];
        open.next_page = self.pages[stream];
        let block = open.block;
        let record = self.blocks[self.index(plane, block)].written;
        let written = &mut self.written[record as usize];
        if !std::mem::replace(&mut written.closed, true) && written.pending == 0 {
            self.filled(plane, block);
        }
    }

    /// The stream's open block, in which nothing is programmed, cannot be used.
    pub fn discard_open(&mut self, plane: PlaneId, stream: usize) {
        let open = &mut self.planes[plane.0 as usize].open[stream];
        open.next_page = self.pages[stream];
        let block = open.block;
        // It is a candidate where its plane has broken meanwhile.
        let candidates = &mut self.planes[plane.0 as usize].candidates;
        if let Some(candidates) = candidates.as_mut().filter(|candidates| candidates.contains(block)) {
            candidates.remove(block);
        }
        self.empty(plane, block);
    }

    /// Every page of a block is programmed: it can be reclaimed.
    fn filled(&mut self, plane: PlaneId, block: u32) {
        let record = self.block(plane, block).written;
        let valid = self.written[record as usize].live;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(plane, block)) {
            let converted = usize::from(self.written[record as usize].stream) == WriteClass::RelocatedAgain as usize;
            let cache = slc.plane_mut(plane);
            return if converted { &mut cache.kept } else { &mut cache.full }.push_back(block);
        }
        if let Some(candidates) = &mut self.planes[plane.0 as usize].candidates {
            candidates.insert(block, valid);
        }
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
            if self.is_full(plane, block) && !self.in_slc(plane, block) {
                candidates.insert(block, self.live_in_block(plane, block, aged));
            }
        }
        candidates
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
    }

    /// An empty block may be opened again, for programs that start after the reads that are older than `barrier`.
    pub fn release(&mut self, plane: PlaneId, block: u32, barrier: u64) {
        let rank = match self.free_block {
            FreeBlock::LeastWorn => self.block(plane, block).erases,
            FreeBlock::Oldest => 0,
        };
        self.releases += 1;
        let cache = self.slc.as_mut().map(|slc| slc.plane_mut(plane));
        if let Some(cache) = cache.filter(|cache| cache.owns(block)) {
            return cache.released.push(Reverse((rank, self.releases, block, barrier)));
        }
        self.free[plane.0 as usize] += 1;
        self.planes[plane.0 as usize].released.push(Reverse((rank, self.releases, block, barrier)));
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
        for stream in 0..WriteClass::COUNT {
            if self.plane(plane).open[stream].next_page < self.pages[stream] {
                self.abandon(plane, stream);
            }
        }
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

    /// The erased block that a stream of a plane fills, if that is it: which stream.
    pub fn is_filled_by(&self, plane: PlaneId, block: u32) -> Option<usize> {
        let fills = |(open, pages): (&Open, &u32)| open.block == block && open.erased && open.next_page < *pages;
        self.plane(plane).open.iter().zip(&self.pages).position(fills)
    }

    /// The block that stands for one: blocks that were never opened are alike, and the next of them does. None that the factory found bad.
    pub fn stands_for(&self, plane: PlaneId, block: u32) -> Option<u32> {
        if self.slc.as_ref().is_some_and(|slc| slc.plane(plane).owns(block)) {
            return Some(block);
        }
        let plane = self.plane(plane);
        let never_opened = block >= plane.fresh;
        (block < plane.usable).then_some(if never_opened { plane.fresh } else { block })
    }

    /// Takes a free block out of those that may be opened; whether it was one.
    pub fn take_out(&mut self, plane: PlaneId, block: u32) -> bool {
        if let Some(cache) = self.slc.as_mut().map(|slc| slc.plane_mut(plane)).filter(|cache| cache.owns(block)) {
            let before = cache.released.len();
            cache.released.retain(|Reverse((_, _, free, _))| *free != block);
            return cache.released.len() < before;
        }
        let entry = &mut self.planes[plane.0 as usize];
        let before = entry.released.len();
        entry.released.retain(|Reverse((_, _, free, _))| *free != block);
        let taken = block == entry.fresh || entry.released.len() < before;
        if block == entry.fresh {
            entry.fresh += 1;
            let index = self.index(plane, block);
            self.blocks[index].written = EMPTY;
        }
        self.free[plane.0 as usize] -= u32::from(taken);
        taken
    }

    /// Whether a block holds data of the run and no further page of it is given out.
    pub fn is_closed(&self, plane: PlaneId, block: u32) -> bool {
        let record = self.block(plane, block).written;
        record < EMPTY && self.written[record as usize].closed
    }

    /// The full block of a plane with the fewest erases, and that number. A scan: for static wear levelling alone.
    pub fn least_worn(&mut self, plane: PlaneId, aged: &Aged) -> Option<(u32, u32)> {
        self.candidates(plane, aged);
        let candidates = self.plane(plane).candidates.as_ref()?;
        let full = (0..self.layout.blocks).filter(|block| candidates.contains(*block));
        full.map(|block| (self.block(plane, block).erases, block)).min()
    }

    /// Where a page's data was written: the stream of its block, or none for data from before the run.
    pub fn stream_of(&self, ppn: Ppn) -> Option<usize> {
        let address = self.layout.unpack(ppn);
        match self.block(address.plane, address.block).written {
            INITIAL | EMPTY => None,
            record => Some(self.written[record as usize].stream.into()),
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
                Some((page + skipped as u32, Some(Held(held[skipped]))))
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

    /// Counts `senses` of a page; returns the reads of its block of the flash since it was erased, before and after.
    #[inline]
    pub fn count_read(&mut self, ppn: Ppn, senses: u32) -> (u32, u32) {
        let address = self.layout.unpack(ppn);
        let index = self.index(address.plane, address.block) + self.layout.in_stripe(ppn) as usize;
        let reads = &mut self.blocks[index].reads;
        let before = *reads;
        *reads = before.saturating_add(senses);
        (before, *reads)
    }

    /// Reads of a page's block of the flash since it was erased.
    #[inline]
    pub fn reads_of(&self, ppn: Ppn) -> u32 {
        let address = self.layout.unpack(ppn);
        self.blocks[self.index(address.plane, address.block) + self.layout.in_stripe(ppn) as usize].reads
    }

    /// Reads since it was erased of that block of the flash which has been read most.
    pub fn reads(&self, plane: PlaneId, block: u32) -> u32 {
        let records = &self.blocks[self.records(plane, block)];
        records.iter().map(|record| record.reads).max().unwrap_or(0)
    }

    /// Erases of every block in service or out of it, but for the factory's bad ones.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        let planes = (0..self.layout.planes).map(PlaneId);
        planes.flat_map(move |plane| {
            let fixed = self.slc.as_ref().map_or(0, |slc| slc.plane(plane).fixed);
            let usable = 0..self.plane(plane).usable + fixed;
            usable.map(move |block| self.block(plane, block).erases)
        })
    }

    /// When the oldest data of a block was programmed, if in the run.
    fn first_programmed(&self, plane: PlaneId, block: u32) -> Option<u32> {
        match self.block(plane, block).written {
            INITIAL | EMPTY => None,
            record => self.written[record as usize].programmed.first().copied(),
        }
    }

    /// The retention age of a block's oldest data, as if kept at 30 °C.
    pub fn age(&self, plane: PlaneId, block: u32, now: AgeClock, plan: &Plan) -> Span {
        let index = self.index(plane, block);
        self.retention(index, self.first_programmed(plane, block), now, plan)
    }

    #[inline]
    fn retention(&self, index: usize, programmed: Option<u32>, now: AgeClock, plan: &Plan) -> Span {
        match programmed {
            None => {
                let before = plan.retention.of_block(self.ages, index as u64);
                Span(before.0.saturating_add(self.ageing.in_run(now).0))
            }
            Some(stamp) => self.ageing.since(stamp, now),
        }
    }

    /// The conditions under which a page is read, and how much warmer than at rest the drive was at its program, unless that was
    /// before the run.
    #[inline]
    pub fn conditions(&self, ppn: Ppn, now: AgeClock, plan: &Plan) -> (Conditions, Option<u8>) {
        let address = self.layout.unpack(ppn);
        let index = self.index(address.plane, address.block);
        let block = self.blocks[index];
        let programmed = match block.written {
            INITIAL => None,
            EMPTY => Some(self.ageing.stamp(now)),
            record => {
                let page = self.layout.flash_page(address.page) as usize;
                Some(self.written[record as usize].programmed.get(page).copied().unwrap_or(0))
            }
        };
        let retention = self.retention(index, programmed, now, plan);
        let pec = PeCycles(plan.config.age.pec.0 + self.worn_by(address.plane, address.block, block.erases));
        let reads = self.reads_of(ppn);
        let conditions = Conditions { pec, retention, temperature: self.ageing.temperature(now), reads };
        (conditions, programmed.map(|stamp| self.ageing.warmer_at(stamp)))
    }

    /// Fetches the record of a page's block into the cache.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        crate::arena::prefetch(&self.blocks, self.index(address.plane, address.block));
    }
}

state! {
    Blocks {
        stored { planes, free, blocks, written, spare, releases, pages_programmed }
        parts { slc }
        rebuilt {
            layout, pages, most_written, erase_when, free_block, reserve, shared, by_valid, victim_valid_limit, ages, ageing,
        }
    }
}

stored! {
    Written { held, programmed, live, pending, block, stream, closed }
    Open { block, next_page, erased, barrier }
    Block { written, stale, erases, reads }
    Plane { open, taken, fresh, usable, released, retired, live, candidates }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn more_blocks_of_data_than_can_be_numbered_are_noticed_and_numbers_name_their_pages() {
        let mut plan = Config::default().plan().unwrap();
        plan.space.most_written = 3;
        let aged = Aged::new(&plan, plan.layout.blocks);
        let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
        let mut blocks = Blocks::new(&plan, &aged, &usable, 1);
        for plane in (0..4).map(|number| PlaneId(number * 7)) {
            assert_eq!(blocks.too_much_written(), None);
            assert!(blocks.make_room(plane, 0));
            blocks.open_erased(plane, 0);
            for lpn in [Some(Lpn(5)), None, Some(Lpn(6))] {
                let ppn = blocks.take_page(plane, 0, lpn, AgeClock::warmer_by(Span::ZERO, 0.0));
                assert_eq!(blocks.page(blocks.written_page(ppn)), ppn);
                let held = blocks.holder(plan.layout.unpack(ppn)).unwrap();
                assert_eq!(held.map(|held| held.lpn(100, |_| false)), lpn);
            }
        }
        assert_eq!(blocks.too_much_written(), Some(4 * u64::from(plan.layout.pages)));
    }

    #[test]
    fn pages_that_share_a_number_are_told_apart_by_the_map() {
        let (first, far) = (7, 7 + 5 * HELD);
        let held = Held((far % HELD) as u32);
        assert!(held.may_be(Lpn(first)) && held.may_be(Lpn(far)) && !held.may_be(Lpn(far + 1)));
        assert_eq!(held.lpn(1 << 40, |lpn| lpn == Lpn(far)), Lpn(far));
        assert_eq!(held.lpn(HELD, |_| false), Lpn(first));
    }
}
