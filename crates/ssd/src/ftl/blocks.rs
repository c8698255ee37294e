//! The blocks: which are free, open, full or out of service (`allocation.rs`), what their pages hold (`contents.rs`),
//! and their erases, reads and ages (`history.rs`).

mod allocation;
mod check;
mod contents;
mod history;
mod isolation;
mod restore;
mod zones;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use nand::{Address, BlockId, Layout, PlaneId};
use units::{Ppn, Retention, Stream};

use super::aged::Aged;
use super::ageing::Ageing;
use super::candidates::FullBlocks;
use super::open::{Open, Released};
use super::slc::SlcBlocks;
use super::stationary::Turnovers;
use super::zones::ZoneBlocks;
use crate::config::{EraseWhen, FreeBlock, MappedBy, Plan};
use crate::flash::AgeClock;
use crate::persist::{state, stored};
use crate::streams::{MOST, RELOCATED, StreamId};

pub(crate) use allocation::Breaks;
pub(crate) use contents::WrittenPage;
pub(crate) use restore::{FoundBlocks, Holds};

/// A page of a written block that holds no live data.
const STALE: u32 = u32::MAX;
/// A page of an open block that was written before the run: the initial state's formula says what it holds.
const FROM_BEFORE: u32 = u32::MAX - 1;
/// What a page holds is kept in 32 bits: the logical page modulo this. Of those that share a number the map says which
/// it is.
const HELD: u64 = FROM_BEFORE as u64;
/// `Block::written` of a block that holds what it held at the start, and of one that holds nothing.
const INITIAL: u32 = u32::MAX;
const EMPTY: u32 = u32::MAX - 1;

/// What a block that was opened in the run holds.
#[derive(Default)]
struct Written {
    /// For each page given out the logical page, modulo [`HELD`], `STALE` or `FROM_BEFORE`.
    held: Vec<u32>,
    /// When each of its flash pages was programmed, as [`Ageing`] keeps it.
    programmed: Vec<u32>,
    live: u32,
    /// Pages given out whose programs have not ended.
    pending: u32,
    block: BlockId,
    stream: StreamId,
    /// The placement handle of its data, where relocated data of each stays apart; `handles` for none.
    handle: u8,
    /// No further page is given out.
    closed: bool,
}

const _: () = assert!(size_of::<Written>() <= 64, "what is found through an entry of the map is in one cache line");

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
    open: [Open; MOST],
    /// Pages given out in each stream.
    taken: [u64; MOST],
    /// Next block that was never used; those from `usable` on are bad since the factory.
    fresh: u32,
    usable: u32,
    released: BinaryHeap<Reverse<Released>>,
    /// Where relocated data of placement handles stays apart: whose is in the open blocks of the streams of relocated
    /// data, and for each handle, and for data without one, the open blocks that it will go on with.
    handle: u8,
    apart: Vec<[Open; RELOCATED.len()]>,
    /// Blocks that went out of service in the run.
    retired: u32,
    live: u32,
    /// Log blocks, in the order in which they were opened, where the mapping has any.
    logs: VecDeque<u32>,
    /// The full blocks; made when the plane is first collected.
    candidates: Option<Box<FullBlocks>>,
}

/// Every block of the drive. Memory: 16 bytes a block of the flash, 4 bytes a logical page and 4 a flash page of the
/// blocks that hold data written in the run, and 16 bytes a block of planes that have been collected.
pub(crate) struct Blocks {
    layout: Layout,
    /// Pages that each stream puts into a block.
    pages: [u32; MOST],
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
    /// Placement handles whose relocated data stays apart.
    handles: u8,
    /// The stream of the host whose open block relocated data shares.
    shared: Option<StreamId>,
    /// The stream that fills log blocks.
    logged: Option<StreamId>,
    by_valid: bool,
    victim_valid_limit: u32,
    ages: Stream,
    /// How old the data of each block was at the start, where `age.retention` follows from that and it is known.
    turnovers: Vec<Turnovers>,
    ageing: Ageing,
    releases: u64,
    pub pages_programmed: u64,
    /// The SLC cache's blocks, where there is one.
    pub slc: Option<Box<SlcBlocks>>,
    /// The blocks of zones, where there are any.
    pub zones: Option<Box<ZoneBlocks>>,
}

impl Blocks {
    /// `usable` blocks of each plane are good.
    pub fn new(plan: &Plan, aged: &Aged, usable: &[u32], seed: u64) -> Blocks {
        let layout = plan.layout;
        let count = layout.planes as usize * layout.blocks as usize * layout.stripe as usize;
        let pages = plan.streams.pages(layout.pages);
        let full = |next_page: u32| Open { block: 0, next_page, erased: true, barrier: 0 };
        let handles = plan.config.ftl.persistent_handles() as u8;
        let plane = |plane: PlaneId| Plane {
            open: pages.map(full),
            taken: [0; MOST],
            fresh: aged.used_blocks(plane),
            usable: usable[plane.0 as usize] - plan.space.fixed,
            released: BinaryHeap::new(),
            handle: handles,
            apart: Blocks::none_apart(handles, &pages),
            retired: 0,
            logs: VecDeque::new(),
            live: aged.live_in_plane(plane),
            candidates: None,
        };
        let planes: Vec<Plane> = (0..layout.planes).map(|number| plane(PlaneId(number))).collect();
        let mut blocks = Blocks {
            layout,
            pages,
            free: planes.iter().map(|plane| plane.usable - plane.fresh).collect(),
            planes,
            blocks: vec![Block { written: INITIAL, stale: 0, erases: 0, reads: 0 }; count],
            written: Vec::new(),
            spare: Vec::new(),
            most_written: plan.space.most_written,
            erase_when: plan.config.ftl.erase_when,
            free_block: plan.config.wear.free_block,
            reserve: plan.space.reserve,
            handles,
            shared: Some(plan.streams.opened_by(StreamId::RELOCATED)).filter(|stream| stream.is_of_host()),
            logged: (plan.config.ftl.mapping == MappedBy::Fast).then_some(StreamId::RANDOM_LOG),
            by_valid: plan.config.gc.victim.asks_for_valid(),
            victim_valid_limit: plan.space.victim_valid_limit,
            ages: Stream::new(seed, "retention"),
            turnovers: turnovers(plan, aged),
            ageing: Ageing::new(plan),
            releases: 0,
            pages_programmed: 0,
            slc: SlcBlocks::new(plan, usable).map(Box::new),
            zones: ZoneBlocks::new(plan),
        };
        blocks.empty_cache();
        if plan.config.age.reads > 0 {
            blocks.read_before(plan.config.age.reads);
        }
        if plan.config.age.is_staggered() {
            blocks.stagger(plan, aged, Stream::new(seed, "open-blocks"));
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
            for block in 0..self.plane(plane).fresh {
                if self.block(plane, block).written != EMPTY {
                    let records = self.records(plane, block);
                    self.blocks[records].iter_mut().for_each(|record| record.reads = reads);
                }
            }
        }
    }

    /// Opens a block for every stream and takes it as written up to some place, the same on all planes of a die;
    /// nothing in it is live. Where planes begin at places of their own, blocks that the initial state has open go on
    /// from there.
    fn stagger(&mut self, plan: &Plan, aged: &Aged, draws: Stream) {
        let units = u64::from(self.layout.pages / plan.unit_pages);
        for plane in (0..self.layout.planes).map(PlaneId) {
            let die = u64::from(plane.0 / self.layout.planes_per_die);
            for stream in plan.streams.open() {
                if let Some(start) = aged.start(plane)
                    && stream != StreamId::MAP
                {
                    if let Some((block, written)) = start.open[stream.index()] {
                        self.go_on_with(plane, stream, (block, written), aged);
                    }
                    continue;
                }
                if self.opens_slc(stream) {
                    // The cache is empty at the start.
                    continue;
                }
                let used = draws.entity(die).below(plan.streams.draw_of(stream), units) as u32 * plan.unit_pages;
                self.make_room(plane, stream);
                let open = &mut self.planes[plane.0 as usize].open[stream.index()];
                (open.next_page, open.erased) = (used, true);
                let block = open.block;
                let record = self.blocks[self.index(plane, block)].written;
                let written = &mut self.written[record as usize];
                written.held.resize(used as usize, STALE);
                written.programmed.resize(self.layout.flash_page(used) as usize, 0);
            }
        }
    }

    /// A stream goes on with a block that was open before the run.
    fn go_on_with(&mut self, plane: PlaneId, stream: StreamId, (block, used): (u32, u32), aged: &Aged) {
        self.enter(plane, stream, block);
        self.planes[plane.0 as usize].open[stream.index()] = Open { block, next_page: used, erased: true, barrier: 0 };
        let held = |page| if aged.is_filled(Address { plane, block, page }) { FROM_BEFORE } else { STALE };
        let record = self.block(plane, block).written;
        let written = &mut self.written[record as usize];
        written.held.extend((0..used).map(held));
        written.live = aged.live_in_block(plane, block);
        written.programmed.resize(self.layout.flash_page(used) as usize, Ageing::BEFORE);
    }

    /// The run begins: what has been written until now was written before it, and nothing has been counted.
    pub fn begin_run(&mut self, plan: &Plan) {
        self.written.iter_mut().for_each(|written| written.programmed.fill(Ageing::BEFORE));
        for plane in &mut self.planes {
            // Of programs the place in a block tells which planes lag behind.
            for (taken, pages) in plane.taken.iter_mut().zip(self.pages) {
                *taken %= u64::from(pages);
            }
        }
        self.pages_programmed = 0;
        if plan.config.age.reads > 0 {
            self.blocks.iter_mut().for_each(|block| block.reads = 0);
            self.read_before(plan.config.age.reads);
        }
    }

    /// Whether a stream opens blocks of the SLC cache.
    #[inline]
    fn opens_slc(&self, stream: StreamId) -> bool {
        self.pages[stream.index()] < self.layout.pages
    }

    /// The SLC cache, if a stream opens its blocks.
    #[inline]
    fn slc_of(&self, stream: StreamId) -> Option<&SlcBlocks> {
        self.slc.as_deref().filter(|_| self.opens_slc(stream))
    }

    /// Whether a block is in the SLC cache's mode, or was when it last held something.
    #[inline]
    pub fn in_slc(&self, plane: PlaneId, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(plane, block))
    }

    /// Whether a block is the SLC cache's for good.
    pub fn is_of_cache(&self, plane: PlaneId, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.plane(plane).owns(block))
    }

    /// Whether a page's block is in the SLC cache's mode, or was when it last held something.
    #[inline]
    pub fn page_in_slc(&self, ppn: Ppn) -> bool {
        self.slc.is_some() && {
            let Address { plane, block, .. } = self.layout.unpack(ppn);
            self.in_slc(plane, block)
        }
    }

    /// Whether a plane's part of the SLC cache has blocks that can be folded for a stream, now or later: not only
    /// blocks that other streams of the host's or converted data fill.
    pub fn folds_for(&self, plane: PlaneId, stream: StreamId) -> bool {
        let fills = |other: StreamId| other.is_of_host() || other == StreamId::CONVERTED;
        let others = StreamId::all().filter(|other| fills(*other) && *other != stream && self.opens_slc(*other));
        let open = |other: &StreamId| self.plane(plane).open[other.index()].next_page < self.pages[other.index()];
        let open = others.filter(open).count() as u32;
        self.slc.as_ref().is_some_and(|slc| slc.plane(plane).used > open)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Pages that a stream puts into a block.
    pub(super) fn pages_of_stream(&self, stream: StreamId) -> u32 {
        self.pages[stream.index()]
    }

    /// The open block of a stream.
    pub(super) fn open_of(&self, plane: PlaneId, stream: StreamId) -> Open {
        self.plane(plane).open[stream.index()]
    }

    /// The stream goes on with another block.
    pub(super) fn set_open(&mut self, plane: PlaneId, stream: StreamId, open: Open) {
        self.planes[plane.0 as usize].open[stream.index()] = open;
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

    /// The log blocks of a plane, in the order in which they were opened.
    pub fn logs(&self, plane: PlaneId) -> &VecDeque<u32> {
        &self.plane(plane).logs
    }

    /// Valid pages of a plane, pages under way included.
    pub fn live(&self, plane: PlaneId) -> u32 {
        self.plane(plane).live
    }

    /// Fetches the record of a page's block into the cache.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        crate::arena::prefetch(&self.blocks, self.index(address.plane, address.block));
    }
}

/// How old the data of each block was at the start; nothing where its age does not follow from that, or it is not
/// known.
fn turnovers(plan: &Plan, aged: &Aged) -> Vec<Turnovers> {
    let Retention::Turnover(..) = plan.retention else { return Vec::new() };
    let layout = plan.layout;
    let of_plane = |plane| (0..layout.blocks).map(move |block| aged.age(PlaneId(plane), block));
    (0..layout.planes).flat_map(of_plane).collect::<Option<_>>().unwrap_or_default()
}

state! {
    Blocks {
        stored { planes, free, blocks, written, spare, releases, pages_programmed }
        parts { slc, zones, ageing }
        rebuilt { layout, pages, most_written, erase_when, free_block, reserve, handles, shared, logged, by_valid, victim_valid_limit, ages, turnovers }
    }
}

stored! {
    Written { held, programmed, live, pending, block, stream, handle, closed }
    Block { written, stale, erases, reads }
    Plane { open, taken, fresh, usable, released, handle, apart, retired, live, logs, candidates }
}

#[cfg(test)]
mod tests {
    use units::{Lpn, Span};

    use super::*;
    use crate::config::Config;
    use crate::streams::Series;

    #[test]
    fn more_blocks_of_data_than_can_be_numbered_are_noticed_and_numbers_name_their_pages() {
        let mut plan = Config::default().plan().unwrap();
        plan.space.most_written = 3;
        let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
        let aged = Aged::new(&plan, &usable, 1);
        let mut blocks = Blocks::new(&plan, &aged, &usable, 1);
        for plane in (0..4).map(|number| PlaneId(number * 7)) {
            assert_eq!(blocks.too_much_written(), None);
            assert!(blocks.make_room(plane, StreamId::new(0)));
            blocks.open_erased(plane, StreamId::new(0));
            for lpn in [Some(Lpn(5)), None, Some(Lpn(6))] {
                let ppn = blocks.take_page(plane, StreamId::new(0), lpn, AgeClock::warmer_by(Span::ZERO, 0.0));
                assert_eq!(blocks.page(blocks.written_page(ppn)), ppn);
                let held = blocks.holder(plan.layout.unpack(ppn)).unwrap();
                assert_eq!(held.map(|held| held.lpn(100, |_| false)), lpn);
            }
        }
        assert_eq!(blocks.too_much_written(), Some(4 * u64::from(plan.layout.pages)));
    }

    #[test]
    fn converted_data_that_fills_a_block_of_the_cache_is_nothing_to_wait_for() {
        let mut config = Config::default();
        for word in ["ftl.slc_cache=dynamic", "slc.convert=hot:20", "age.fill=0"] {
            config.set(word).unwrap();
        }
        let plan = config.plan().unwrap();
        let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
        let mut blocks = Blocks::new(&plan, &Aged::new(&plan, &usable, 1), &usable, 1);
        let (plane, host) = (PlaneId(0), StreamId::new(0));
        for (stream, folds) in [(StreamId::CONVERTED, false), (host, true)] {
            assert!(blocks.make_room(plane, stream));
            blocks.open_erased(plane, stream);
            blocks.take_page(plane, stream, Some(Lpn(5)), AgeClock::warmer_by(Span::ZERO, 0.0));
            assert_eq!(blocks.folds_for(plane, host), folds);
        }
    }

    #[test]
    fn behind_a_block_that_has_failed_no_older_one_goes_on_after_a_power_cut() {
        let mut config = Config::default();
        config.set("age.fill=0").unwrap();
        let plan = config.plan().unwrap();
        let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
        let aged = Aged::new(&plan, &usable, 1);
        let (plane, stream) = (PlaneId(0), StreamId::new(0));
        for (failed, goes_on) in [(None, Some(1)), (Some(0), Some(1)), (Some(1), None)] {
            let mut blocks = Blocks::new(&plan, &aged, &usable, 1);
            for _ in 0..2 {
                assert!(blocks.make_room(plane, stream));
                blocks.open_erased(plane, stream);
                blocks.abandon(plane, stream);
            }
            let of = Series { stream, handle: 0 };
            let holds = |at: PlaneId, block: u32| match at == plane && block < 2 {
                true => Holds::Pages { of, opened: u64::from(block) + 1, programmed: 6 },
                false => Holds::AtStart,
            };
            let has_failed = |_, block| failed == Some(block);
            let (is_bad, is_broken) = (|_, _| false, |_| false);
            let found = FoundBlocks { holds: &holds, is_bad: &is_bad, has_failed: &has_failed, is_broken: &is_broken };
            blocks.restore(&found, &aged);
            let open = blocks.open_of(plane, stream);
            let opened = (open.next_page < blocks.pages_of_stream(stream)).then_some(open.block);
            assert_eq!(opened, goes_on, "{failed:?}");
        }
    }

    #[test]
    fn a_dynamic_cache_erases_its_next_block_after_the_reads_that_may_still_want_it() {
        let mut config = Config::default();
        for word in ["ftl.slc_cache=dynamic", "ftl.erase_when=opened", "age.fill=0"] {
            config.set(word).unwrap();
        }
        let plan = config.plan().unwrap();
        let usable = vec![plan.layout.blocks; plan.layout.planes as usize];
        let mut blocks = Blocks::new(&plan, &Aged::new(&plan, &usable, 1), &usable, 1);
        let (plane, stream) = (PlaneId(0), StreamId::new(0));
        assert!(blocks.opens_slc(stream));
        // A block that nothing was written to is erased at once. Of others the cache, which has no blocks of its own,
        // takes what any stream takes.
        assert!(blocks.needs_erase(plane, stream));
        assert_eq!(blocks.erase_barrier(plane, stream), 0);
        blocks.planes[0].fresh = blocks.planes[0].usable;
        blocks.release(plane, 3, Some(77));
        assert!(blocks.needs_erase(plane, stream));
        assert_eq!(blocks.erase_barrier(plane, stream), 77);
        assert!(blocks.make_room(plane, stream));
        assert_eq!((blocks.open_block(plane, stream), blocks.erase_barrier(plane, stream)), (3, 77));
    }
}
