//! What copying data back leaves (`gc.copyback`, `slc.fold`): a die that programs what it has sensed itself programs
//! the errors along, so that those of copies in a row add up until the data goes through the controller, which corrects
//! them. And how often in a row data was copied, which firmware limits for that reason (D. Hong et al., "Improving SSD
//! Performance Using Adaptive Restricted-Copyback Operations", NVMSA 2019).

use foldhash::{HashMap, HashMapExt as _};

use nand::{Address, Layout};
use units::Ppn;

use crate::config::Plan;
use crate::persist::{state, stored};

/// What is known of a block's data.
struct Copied {
    /// The most copies in a row that any of it has been through.
    times: u32,
    /// Errors per KiB that the data of each page has brought along, where a chip model says how many.
    errors: Box<[f32]>,
}

/// Blocks with data that was copied back. Memory: 4 bytes for each page of these.
pub(crate) struct Copies {
    layout: Layout,
    limit: Option<u32>,
    /// Pages of a block whose errors are kept: all or none.
    pages: usize,
    /// By number over the device.
    blocks: HashMap<usize, Copied>,
}

impl Copies {
    /// Where data is copied back, and that matters.
    pub fn new(plan: &Plan) -> Option<Copies> {
        let counts_errors = plan.copies_errors();
        let limit = plan.config.gc.copyback_limit;
        plan.counts_copies().then(|| Copies {
            layout: plan.layout,
            limit,
            pages: if counts_errors { plan.layout.pages as usize } else { 0 },
            blocks: HashMap::new(),
        })
    }

    /// The block of a page, and its number there.
    fn place(&self, ppn: Ppn) -> (usize, usize) {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        (self.layout.block_index(plane, block), page as usize)
    }

    /// Whether what a page's block holds may be copied once more.
    #[inline]
    pub fn allows(&self, source: Ppn) -> bool {
        self.limit.is_none_or(|limit| self.times(source) < limit)
    }

    fn times(&self, ppn: Ppn) -> u32 {
        self.blocks.get(&self.place(ppn).0).map_or(0, |block| block.times)
    }

    /// The data of a page has been copied to another one, with this many errors per KiB.
    pub fn copied(&mut self, source: Ppn, copy: Ppn, errors: f64) {
        let ((block, page), times) = (self.place(copy), self.times(source) + 1);
        let pages = self.pages;
        let new = || Copied { times: 0, errors: vec![0.0; pages].into() };
        let block = self.blocks.entry(block).or_insert_with(new);
        block.times = block.times.max(times);
        if let Some(of_page) = block.errors.get_mut(page) {
            *of_page = errors as f32;
        }
    }

    /// A block has been erased, by its number over the device.
    pub fn erased(&mut self, block: usize) {
        self.blocks.remove(&block);
    }

    /// Errors per KiB that the data of a page has brought along.
    #[inline]
    pub fn errors(&self, ppn: Ppn) -> f64 {
        if self.blocks.is_empty() {
            return 0.0;
        }
        let (block, page) = self.place(ppn);
        self.blocks.get(&block).and_then(|block| block.errors.get(page)).map_or(0.0, |errors| f64::from(*errors))
    }

    /// The most copies in a row of any data, beyond the limit.
    pub fn beyond_limit(&self) -> Option<u32> {
        let most = self.blocks.values().map(|block| block.times).max();
        most.filter(|most| self.limit.is_some_and(|limit| *most > limit))
    }
}

state! {
    Copies { stored { blocks } rebuilt { layout, limit, pages } }
}

stored! {
    Copied { times, errors }
}
