//! What is on flash: all that survives a power cut, and all that recovery is given.
//!
//! Each page has an out-of-band area that says what it holds: the logical page, the sequence number of that version of
//! it, and the number of the program that wrote it (assumed, as in the field). What the host's data is, is a number
//! that the host's side gave it ([`super::oracle`]); the drive carries it along and never looks at it.

use std::collections::HashMap;

use nand::{Address, Layout, PlaneId};
use units::{Lpn, Ppn};

use crate::config::Plan;
use crate::persist::{state, stored, stored_enum};
use crate::streams::{MOST, Series, StreamId};

/// Data of the host, as a number that the host's side gave it; 0 is what was there before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    pub number: u64,
}

impl Data {
    /// A page of zeros: what an address that holds nothing reads as.
    pub const ZEROS: Data = Data { number: u64::MAX };
    /// What a page holds whose data could not be read when it was relocated or merged: reading it is an error.
    pub const LOST: Data = Data { number: u64::MAX - 2 };
}

/// Where a version of a logical page is: on a flash page, or unmapped by a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub place: Option<Ppn>,
    /// The sequence number of the version: of two, the larger is the newer.
    pub version: u64,
}

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub lpn: Lpn,
    pub to: Mapped,
}

/// A page of the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalPage {
    /// Its number in the journal.
    pub index: u64,
    /// What programs up to this number have changed is in the journal up to here, or in the checkpoint.
    pub horizon: u64,
    pub entries: Entries,
}

/// Where pages of the host are, as it was written down at some time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    /// Programs that had begun by then: a block that a later one has opened is not the one that is named.
    pub begun: u64,
    pub changes: Vec<Change>,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Host(Data),
    /// A page of the map: entries that are not as at the start.
    Map(Entries),
    Journal(JournalPage),
    /// Parity of these pages (`ftl.raid`).
    Parity(Vec<Member>),
}

/// A page of a stripe, as the out-of-band area of the stripe's parity names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub place: Ppn,
    /// The program that wrote it; 0 for what was there before the run.
    pub number: u64,
}

/// A page that was programmed with data.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub lpn: Lpn,
    pub version: u64,
    /// The program that wrote it.
    pub number: u64,
    pub content: Content,
}

impl Page {
    /// Of two pages that stand for the same, the larger is the newer: a page that has moved keeps its version.
    pub fn age(&self) -> (u64, u64) {
        (self.version, self.number)
    }
}

/// A block that has been written since its last erase.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The first program in it.
    pub opened: u64,
    pub of: Series,
    /// Pages up to here have been programmed; those without data are padding, or cannot be read.
    pub programmed: u32,
    pub pages: Vec<Option<Page>>,
}

/// A block of the flash.
#[derive(Clone, Debug)]
pub(crate) enum BlockState {
    /// As at the start: it holds initial data, or nothing.
    Initial,
    Blank,
    Written(Block),
    /// Its erase was interrupted: it holds nothing, and must be erased before it is programmed.
    HalfErased,
}

/// The controller's own small memory that keeps its contents (assumed): where recovery begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchor {
    /// How often the power has come back.
    pub boots: u64,
    /// Where the list of the last checkpoint is; nowhere any more, what could not be read after a cut.
    pub list: Vec<Option<Ppn>>,
    /// The first page of the journal that matters, and the places of those from there on that have been programmed.
    pub first: u64,
    pub journal: Vec<(u64, Ppn)>,
    /// Bad blocks found in the run, by plane and place.
    pub bad: Vec<(u32, u32)>,
    /// Pages that are lost, until they are written or trimmed: by the cut that has lost them.
    pub lost: HashMap<Lpn, u64>,
}

impl Anchor {
    /// A page of the journal, or of a list, has moved.
    pub fn moved(&mut self, before: Option<Ppn>, to: Ppn) {
        let places = self.journal.iter_mut().map(|(_, place)| place).chain(self.list.iter_mut().flatten());
        places.filter(|place| Some(**place) == before).for_each(|place| *place = to);
    }
}

/// How the blocks of streams are programmed.
struct Modes {
    /// Pages of a program on a plane, by stream.
    units: [u32; MOST],
    /// Streams whose blocks are in the SLC cache's mode, and what blocks are in it.
    cached: [bool; MOST],
    slc: Option<Layout>,
}

impl Modes {
    fn new(plan: &Plan) -> Modes {
        let mut modes = Modes { units: [plan.unit_pages; MOST], cached: [false; MOST], slc: None };
        modes.slc = plan.slc.as_ref().map(|slc| slc.layout);
        for stream in plan.streams.iter() {
            (modes.units[stream.id.index()], modes.cached[stream.id.index()]) = (stream.unit, stream.slc);
        }
        modes
    }

    fn layout_of<'a>(&'a self, native: &'a Layout, stream: StreamId) -> &'a Layout {
        self.slc.as_ref().filter(|_| self.cached[stream.index()]).unwrap_or(native)
    }
}

/// All that survives a cut.
pub(crate) struct OnFlash {
    layout: Layout,
    modes: Modes,
    blocks: Vec<BlockState>,
    pub anchor: Anchor,
}

impl OnFlash {
    pub fn new(plan: &Plan) -> OnFlash {
        let layout = plan.layout;
        let blocks = vec![BlockState::Initial; layout.planes as usize * layout.blocks as usize];
        OnFlash { layout, modes: Modes::new(plan), blocks, anchor: Anchor::default() }
    }

    /// Pages of a block that a stream fills.
    pub fn pages_of(&self, stream: StreamId) -> u32 {
        self.modes.layout_of(&self.layout, stream).pages
    }

    pub fn block(&self, plane: PlaneId, block: u32) -> &BlockState {
        &self.blocks[self.layout.block_index(plane, block)]
    }

    /// What a page holds, if any program has ended in it: whether that can still be read, parts that break decide.
    pub fn page(&self, ppn: Ppn) -> Option<&Page> {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        match self.block(plane, block) {
            BlockState::Written(block) => block.pages.get(page as usize)?.as_ref(),
            _ => None,
        }
    }

    /// The host's data of a page; what was there before the run, where no program has ended in it.
    pub fn host_data(&self, ppn: Ppn) -> Data {
        match self.page(ppn) {
            Some(Page { content: Content::Host(data), .. }) => *data,
            _ => Data::default(),
        }
    }

    /// What a stripe's parity says of one of its pages, if that page holds data.
    pub fn member(&self, place: Ppn) -> Option<Member> {
        let number = if self.is_initial(place) { 0 } else { self.page(place)?.number };
        Some(Member { place, number })
    }

    /// Whether a block holds what it held at the start.
    pub fn is_initial(&self, ppn: Ppn) -> bool {
        let Address { plane, block, .. } = self.layout.unpack(ppn);
        matches!(self.block(plane, block), BlockState::Initial)
    }

    /// A program has ended in the unit that a page is in: so far the unit holds nothing.
    pub fn program(&mut self, ppn: Ppn, of: Series, number: u64) {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let unit = self.modes.units[of.stream.index()];
        let end = page / unit * unit + unit;
        let written = self.written(plane, block, of, number);
        written.programmed = written.programmed.max(end);
    }

    fn written(&mut self, plane: PlaneId, block: u32, of: Series, number: u64) -> &mut Block {
        let state = &mut self.blocks[self.layout.block_index(plane, block)];
        if !matches!(state, BlockState::Written(_)) {
            *state = BlockState::Written(Block { opened: number, of, programmed: 0, pages: Vec::new() });
        }
        let BlockState::Written(written) = state else { unreachable!("Invariant: it was just made so") };
        written
    }

    /// A page of a unit whose program has ended holds this.
    pub fn write(&mut self, ppn: Ppn, held: Page) {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let BlockState::Written(written) = &mut self.blocks[self.layout.block_index(plane, block)] else { return };
        if written.pages.len() <= page as usize {
            written.pages.resize(page as usize + 1, None);
        }
        written.pages[page as usize] = Some(held);
    }

    /// A program was interrupted: nothing in its unit can be read, nor in the pages of the same wordline that were
    /// programmed before. Returns how many pages held data.
    pub fn tear(&mut self, ppn: Ppn, of: Series, number: u64) -> u64 {
        self.program(ppn, of, number);
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let wordline = self.modes.layout_of(&self.layout, of.stream).wordline(page);
        let BlockState::Written(written) = &mut self.blocks[self.layout.block_index(plane, block)] else { return 0 };
        written.programmed = written.programmed.max(wordline.end);
        let pages = written.pages.iter_mut().take(wordline.end as usize).skip(wordline.start as usize);
        pages.filter_map(Option::take).count() as u64
    }

    /// A block that was opened before the run, with nothing in it that matters.
    pub fn staggered(&mut self, plane: PlaneId, block: u32, of: Series, programmed: u32) {
        self.written(plane, block, of, 0).programmed = programmed;
    }

    pub fn erase(&mut self, plane: PlaneId, block: u32, whole: bool) {
        let state = if whole { BlockState::Blank } else { BlockState::HalfErased };
        self.blocks[self.layout.block_index(plane, block)] = state;
    }
}

/// Whether an interrupted program destroys nothing that was programmed before it: capacitors let it end, or it has
/// wordlines to itself.
pub(crate) fn keeps_what_is_programmed(plan: &Plan) -> bool {
    let layout = &plan.layout;
    let whole = |unit: u32, bits: u32| unit == bits * layout.stripe * layout.shared();
    let of_cache = plan.slc.as_ref().is_none_or(|slc| whole(slc.unit_pages, slc.layout.bits));
    plan.config.power.plp || whole(plan.unit_pages, layout.bits) && of_cache
}

state! {
    OnFlash { stored { blocks, anchor } rebuilt { layout, modes } }
}

stored! {
    Data { number }
    Mapped { place, version }
    Change { lpn, to }
    JournalPage { index, horizon, entries }
    Entries { begun, changes }
    Page { lpn, version, number, content }
    Member { place, number }
    Block { opened, of, programmed, pages }
    Anchor { boots, list, first, journal, bad, lost }
}

stored_enum! {
    Content { 0 = Host(data), 1 = Map(entries), 2 = Journal(page), 3 = Parity(members), }
    BlockState { 0 = Initial, 1 = Blank, 2 = Written(block), 3 = HalfErased, }
}
