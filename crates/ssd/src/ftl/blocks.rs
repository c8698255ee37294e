//! The blocks: which are free, which is open on each plane, and what their pages hold.

use nand::{Address, Layout, PlaneId};
use units::{Conditions, Lpn, PeCycles, Ppn, Span, Stream, Time};

use super::aged::Aged;
use crate::config::{EraseWhen, Plan};

/// Program times are kept in steps of 2^24 ns (17 ms), which reach over two years.
const TICK_BITS: u32 = 24;
/// A page of a written block that holds no live data.
const STALE: Lpn = Lpn(u32::MAX);

/// What a block that was opened in the run holds.
struct Written {
    lpns: Vec<Lpn>,
    programmed: Vec<u32>,
}

/// The open block of a plane.
#[derive(Clone, Copy)]
struct Open {
    block: u32,
    next_page: u32,
    erased: bool,
}

/// One block's record.
#[derive(Clone, Copy, Default)]
struct Block {
    /// 1 + the place of what it holds in `written`; 0 while it holds what it held at the start.
    written: u32,
    /// Live pages of the start that were overwritten since.
    stale: u32,
    erases: u32,
}

/// Every block of the drive. Memory: 12 bytes a block, and 8 bytes a page of the blocks written in the run.
pub(crate) struct Blocks {
    layout: Layout,
    open: Vec<Open>,
    /// Next block of each plane that was never used.
    fresh: Vec<u32>,
    blocks: Vec<Block>,
    written: Vec<Written>,
    erase_when: EraseWhen,
    ages: Stream,
    /// How many times faster than at 30 °C data ages at the drive's temperature.
    acceleration: f64,
    /// Pages programmed on each plane, padding included.
    programmed: Vec<u64>,
    pub pages_programmed: u64,
}

impl Blocks {
    pub fn new(plan: &Plan, aged: &Aged, seed: u64) -> Blocks {
        let layout = plan.layout;
        let count = layout.planes as usize * layout.blocks as usize;
        let full = Open { block: 0, next_page: layout.pages, erased: true };
        Blocks {
            layout,
            open: vec![full; layout.planes as usize],
            fresh: (0..layout.planes).map(|plane| aged.used_blocks(PlaneId(plane))).collect(),
            blocks: vec![Block::default(); count],
            written: Vec::new(),
            erase_when: plan.config.ftl.erase_when,
            ages: Stream::new(seed, "retention"),
            acceleration: plan.config.age.temperature.acceleration(),
            programmed: vec![0; layout.planes as usize],
            pages_programmed: 0,
        }
    }

    /// Opens a block where the plane's present one is full. False when no free block is left.
    pub fn make_room(&mut self, plane: PlaneId) -> bool {
        let index = plane.0 as usize;
        if self.open[index].next_page == self.layout.pages {
            let block = self.fresh[index];
            if block == self.layout.blocks {
                return false;
            }
            self.fresh[index] += 1;
            self.open[index] = Open { block, next_page: 0, erased: self.erase_when == EraseWhen::Reclaimed };
            let pages = self.layout.pages as usize;
            self.written.push(Written { lpns: Vec::with_capacity(pages), programmed: Vec::with_capacity(pages) });
            self.blocks[self.layout.block_index(plane, block)].written = self.written.len() as u32;
        }
        true
    }

    /// Whether the plane's next program must wait for an erase.
    pub fn needs_erase(&self, plane: PlaneId) -> bool {
        let open = self.open[plane.0 as usize];
        if open.next_page == self.layout.pages { self.erase_when == EraseWhen::Opened } else { !open.erased }
    }

    /// The place of the plane's next page in its block, without opening a block.
    pub fn next_place(&self, plane: PlaneId) -> u32 {
        self.open[plane.0 as usize].next_page % self.layout.pages
    }

    /// The plane's open block has been erased.
    pub fn erased(&mut self, plane: PlaneId) {
        let open = &mut self.open[plane.0 as usize];
        open.erased = true;
        self.blocks[self.layout.block_index(plane, open.block)].erases += 1;
    }

    /// Gives the plane's next page to `lpn`, or to padding. Invariant: [`Blocks::make_room`] succeeded.
    pub fn take_page(&mut self, plane: PlaneId, lpn: Option<Lpn>, now: Time) -> Ppn {
        let open = &mut self.open[plane.0 as usize];
        debug_assert!(
            open.erased && open.next_page < self.layout.pages,
            "Invariant: programs go to erased open blocks"
        );
        let (block, page) = (open.block, open.next_page);
        open.next_page += 1;
        let record = &mut self.written[self.blocks[self.layout.block_index(plane, block)].written as usize - 1];
        record.lpns.push(lpn.unwrap_or(STALE));
        record.programmed.push((now.0 >> TICK_BITS) as u32);
        self.programmed[plane.0 as usize] += 1;
        self.pages_programmed += 1;
        self.layout.pack(Address { plane, block, page })
    }

    /// Pages programmed on a plane since the start.
    pub fn programmed(&self, plane: PlaneId) -> u64 {
        self.programmed[plane.0 as usize]
    }

    /// The data in a page has become stale.
    pub fn invalidate(&mut self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        let index = self.layout.block_index(address.plane, address.block);
        match self.blocks[index].written {
            0 => self.blocks[index].stale += 1,
            record => self.written[record as usize - 1].lpns[address.page as usize] = STALE,
        }
    }

    /// The logical page whose live data a page holds, as far as the blocks know: `Err` where the initial
    /// state's formula decides.
    pub fn holder(&self, address: Address) -> Result<Option<Lpn>, ()> {
        match self.blocks[self.layout.block_index(address.plane, address.block)].written {
            0 => Err(()),
            record => {
                let lpns = &self.written[record as usize - 1].lpns;
                Ok(lpns.get(address.page as usize).copied().filter(|lpn| *lpn != STALE))
            }
        }
    }

    /// Overwritten pages of a block of the initial state.
    pub fn stale_in_block(&self, plane: PlaneId, block: u32) -> u32 {
        self.blocks[self.layout.block_index(plane, block)].stale
    }

    /// The conditions under which a page is read, and whether its data is from before the run.
    #[inline]
    pub fn conditions(&self, ppn: Ppn, now: Time, plan: &Plan) -> (Conditions, bool) {
        let age = &plan.config.age;
        let address = self.layout.unpack(ppn);
        let index = self.layout.block_index(address.plane, address.block);
        let block = self.blocks[index];
        let elapsed = |ns: u64| Span((ns as f64 * self.acceleration) as u64);
        let retention = match block.written {
            0 => Span(age.retention.of_block(self.ages, index as u64).0.saturating_add(elapsed(now.0).0)),
            record => {
                let programmed = &self.written[record as usize - 1].programmed;
                let tick = programmed.get(address.page as usize).copied().unwrap_or(0);
                elapsed(now.0.saturating_sub(u64::from(tick) << TICK_BITS))
            }
        };
        let pec = PeCycles(age.pec.0 + block.erases);
        (Conditions { pec, retention, temperature: age.temperature }, block.written == 0)
    }

    /// Fetches the record of a page's block into the cache.
    #[inline]
    pub fn prefetch(&self, ppn: Ppn) {
        let address = self.layout.unpack(ppn);
        crate::slab::prefetch(&self.blocks, self.layout.block_index(address.plane, address.block));
    }
}
