//! FAST, a hybrid mapping (Lee, Park, Chung, Lee, Park, Song, "A log buffer-based flash translation layer using
//! fully-associative sector translation", ACM TECS 6(3), 2007): data blocks are mapped by blocks, and what is written
//! goes into a few log blocks first.
//!
//! The pages that are dealt to a plane are divided, in their order, into *logical blocks* of a block each. The data
//! block of one has its pages at their places. A write goes
//!
//! - into the *sequential log block* of its plane, if it is the first page of a logical block or the next one of that
//!   which is being written there;
//! - otherwise into the *random log blocks*, of which there are `ftl.log_blocks`, behind what was written before,
//!   whatever its logical block.
//!
//! | merge | when | costs |
//! |---|---|---|
//! | switch | the sequential log block is full | nothing: it is the data block, and the old one is erased |
//! | partial | another logical block begins to be written in order | the rest of the logical block is copied behind what was written |
//! | full | no random log block has room: the oldest goes | of each logical block that it has data of, all pages are copied to an erased block |
//!
//! The paper programs the pages of an empty data block in any order; chips of today program a block in order, so that
//! here a data block is only ever the outcome of a merge. Pages that a merge finds no data for are programmed with
//! padding.
//!
//! Where each page is, is answered by page: what the table of data blocks and that of log pages say together. That they
//! suffice is checked (`check`).

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::page::PageMapping;
use super::{Gathers, Location, Mapping};
use crate::arena::SlotId;
use crate::config::Plan;
use crate::ftl::aged::Aged;
use crate::ftl::blocks::Blocks;
use crate::persist::{state, stored};
use crate::streams::StreamId;

const RANDOM: StreamId = StreamId::RANDOM_LOG;
const SEQUENTIAL: StreamId = StreamId::SEQUENTIAL_LOG;

/// How logical blocks lie.
struct Homes {
    planes: u64,
    /// Pages that are dealt to a plane together, as bits.
    bits: u32,
    /// By plane: its turn when pages are dealt.
    turn: Vec<u64>,
    pages: u64,
    logical_pages: u64,
}

impl Homes {
    fn new(plan: &Plan) -> Homes {
        let order = plan.config.ftl.page_order.planes(&plan.layout);
        let mut turn = vec![0; order.len()];
        order.iter().enumerate().for_each(|(position, plane)| turn[*plane as usize] = position as u64);
        let (planes, bits) = (u64::from(plan.layout.planes), plan.layout.shared().trailing_zeros());
        Homes { planes, bits, turn, pages: plan.layout.pages.into(), logical_pages: plan.logical_pages }
    }

    /// The logical block of a page, and its place there.
    fn of(&self, lpn: Lpn) -> (u64, u32) {
        let index = ((lpn.0 >> self.bits) / self.planes) << self.bits | lpn.0 & ((1 << self.bits) - 1);
        (index / self.pages, (index % self.pages) as u32)
    }

    /// The page at a place of a logical block of a plane, if the drive has this many.
    fn page(&self, plane: PlaneId, (block, place): (u64, u32)) -> Option<Lpn> {
        let index = block * self.pages + u64::from(place);
        let dealt = (index >> self.bits) * self.planes + self.turn[plane.0 as usize];
        Some(Lpn(dealt << self.bits | index & ((1 << self.bits) - 1))).filter(|lpn| lpn.0 < self.logical_pages)
    }
}

/// The logical block that is being written in order, and its next page.
#[derive(Clone, Copy)]
struct Sequence {
    block: u64,
    next: u32,
}

/// What is written in order on a plane.
#[derive(Clone, Default)]
struct InOrder {
    sequence: Option<Sequence>,
    /// A sequential log block that was left before its end.
    left: Option<u32>,
    /// Pages given to the stream, as blocks count those that were given out of it.
    given: u64,
    /// What waits for the sequential log block is not written in order any more.
    diverts: bool,
}

pub(crate) struct Fast {
    pages: PageMapping,
    homes: Homes,
    log_blocks: usize,
    planes: Vec<InOrder>,
    /// Switch merges that nobody has counted.
    switches: u32,
}

impl Fast {
    pub fn new(plan: &Plan, pages: PageMapping) -> Fast {
        let planes = vec![InOrder::default(); plan.layout.planes as usize];
        let log_blocks = plan.config.ftl.log_blocks as usize;
        Fast { pages, homes: Homes::new(plan), log_blocks, planes, switches: 0 }
    }

    pub(super) fn pages(&self) -> &PageMapping {
        &self.pages
    }

    /// A logical block begins to be written in order. What was written so before is left; whether that can be.
    fn begins(&mut self, plane: PlaneId, block: u64, blocks: &mut Blocks) -> bool {
        let of_plane = &mut self.planes[plane.0 as usize];
        let (open, full) = (blocks.open_of(plane, SEQUENTIAL), blocks.pages_of_stream(SEQUENTIAL));
        let waiting = of_plane.given - blocks.taken(plane, SEQUENTIAL);
        if let Some(Sequence { next, .. }) = of_plane.sequence {
            // One is left at a time; and the whole of one before it may still wait for its programs.
            if of_plane.left.is_some() || waiting > next.into() {
                return false;
            }
            of_plane.given -= waiting;
            of_plane.diverts = waiting > 0;
            if waiting < next.into() && open.next_page < full {
                of_plane.left = Some(open.block);
                blocks.abandon(plane, SEQUENTIAL);
            }
        } else if waiting == 0 && open.next_page > 0 && open.next_page < full {
            // It is not at the beginning of its block: something else was programmed there.
            blocks.abandon(plane, SEQUENTIAL);
        }
        of_plane.sequence = Some(Sequence { block, next: 0 });
        true
    }
}

impl Mapping for Fast {
    fn locate(&self, lpn: Lpn, blocks: &Blocks) -> Location {
        self.pages.locate(lpn, blocks)
    }

    fn slot(&self, lpn: Lpn) -> Option<SlotId> {
        self.pages.slot(lpn)
    }

    fn buffer(&mut self, lpn: Lpn, slot: SlotId) {
        self.pages.buffer(lpn, slot);
    }

    fn place(&mut self, lpn: Lpn, ppn: Ppn, blocks: &Blocks) {
        self.pages.place(lpn, ppn, blocks);
    }

    fn relocate(&mut self, lpn: Lpn, from: Ppn, to: Ppn, blocks: &Blocks) {
        self.pages.relocate(lpn, from, to, blocks);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.pages.trim(lpn);
    }

    fn prefetch(&self, lpn: Lpn) {
        self.pages.prefetch(lpn);
    }

    fn prefetch_further(&self, lpn: Lpn) {
        self.pages.prefetch_further(lpn);
    }

    fn forget(&mut self) {
        self.pages.forget();
        self.planes.fill(InOrder::default());
    }

    fn is_initial(&self, lpn: Lpn) -> bool {
        self.pages.is_initial(lpn)
    }

    fn changed(&self) -> impl Iterator<Item = Lpn> {
        self.pages.changed()
    }

    fn initially(&self, lpn: Lpn) -> Option<Ppn> {
        self.pages.initially(lpn)
    }

    fn held_initially(&self, address: Address) -> Option<Lpn> {
        self.pages.held_initially(address)
    }

    fn plane_of(&self, lpn: Lpn) -> PlaneId {
        self.pages.plane_of(lpn)
    }

    fn start(&self) -> &Aged {
        self.pages.start()
    }

    fn writes(&mut self, lpn: Lpn, plane: PlaneId, blocks: &mut Blocks) -> Option<StreamId> {
        let (block, place) = self.homes.of(lpn);
        let (taken, full) = (blocks.taken(plane, SEQUENTIAL), blocks.pages_of_stream(SEQUENTIAL));
        let of_plane = &mut self.planes[plane.0 as usize];
        if taken > of_plane.given {
            // Padding has come between, or a page that was programmed elsewhere first: what follows has not its place.
            of_plane.given = taken;
            if of_plane.sequence.take().is_some() && blocks.open_of(plane, SEQUENTIAL).next_page < full {
                blocks.abandon(plane, SEQUENTIAL);
            }
        }
        let goes_on = of_plane.sequence.is_some_and(|sequence| (sequence.block, sequence.next) == (block, place));
        if !goes_on && (place > 0 || !self.begins(plane, block, blocks)) {
            return Some(RANDOM);
        }
        let of_plane = &mut self.planes[plane.0 as usize];
        let next = place + 1;
        of_plane.given += 1;
        of_plane.sequence = (next < full).then_some(Sequence { block, next });
        self.switches += u32::from(next == full);
        Some(SEQUENTIAL)
    }

    fn diverts(&mut self, plane: PlaneId) -> Option<(StreamId, StreamId)> {
        std::mem::take(&mut self.planes[plane.0 as usize].diverts).then_some((SEQUENTIAL, RANDOM))
    }

    fn has_room(&self, plane: PlaneId, stream: StreamId, blocks: &Blocks) -> bool {
        let full = || blocks.open_of(plane, RANDOM).next_page == blocks.pages_of_stream(RANDOM);
        stream != RANDOM || !full() || blocks.logs(plane).len() < self.log_blocks
    }

    fn gathers(&self, plane: PlaneId, blocks: &Blocks) -> Option<Gathers> {
        if let Some(block) = self.planes[plane.0 as usize].left {
            return Some(Gathers::Left(block));
        }
        if self.has_room(plane, RANDOM, blocks) {
            return None;
        }
        let full = |block: &&u32| blocks.is_full(plane, **block);
        let logs = || blocks.logs(plane).iter().filter(full).copied();
        let needless = logs().find(|block| blocks.live_of_run(plane, *block) == Some(0));
        needless.or_else(|| logs().next()).map(Gathers::Full)
    }

    fn goes_on_with(&mut self, plane: PlaneId, block: u32) -> bool {
        self.planes[plane.0 as usize].left.take_if(|left| *left == block).is_some()
    }

    fn home(&self, lpn: Lpn) -> Option<(u64, u32)> {
        Some(self.homes.of(lpn))
    }

    fn page_of(&self, plane: PlaneId, home: (u64, u32)) -> Option<Lpn> {
        self.homes.page(plane, home)
    }

    fn take_switches(&mut self) -> u32 {
        std::mem::take(&mut self.switches)
    }
}

state! {
    Fast { stored { planes, switches } parts { pages } rebuilt { homes, log_blocks } }
}

stored! {
    Sequence { block, next }
    InOrder { sequence, left, given, diverts }
}
