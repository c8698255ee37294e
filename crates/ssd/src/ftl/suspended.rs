//! How often the programs of pages have been suspended: each time adds errors to their data
//! (`chip.suspended_program_errors`).

use foldhash::{HashMap, HashMapExt as _};
use nand::Layout;
use units::Ppn;

use crate::config::Plan;
use crate::persist::state;

/// Suspensions by page. Memory: a byte for each page of the blocks that hold such data.
pub(crate) struct Suspended {
    layout: Layout,
    /// Errors per KiB that each adds.
    errors: f64,
    /// By block of the flash, numbered over the device.
    blocks: HashMap<usize, Box<[u8]>>,
}

impl Suspended {
    /// Where suspensions leave errors.
    pub fn new(plan: &Plan) -> Option<Suspended> {
        let errors = plan.config.chip.suspended_program_errors;
        (errors > 0.0).then(|| Suspended { layout: plan.layout, errors, blocks: HashMap::new() })
    }

    /// A page's program has been suspended this many times more.
    pub fn programmed(&mut self, ppn: Ppn, times: u32) {
        let (block, page) = self.layout.flash_block_and_page(ppn);
        let pages = self.layout.flash_pages() as usize;
        let of_block = self.blocks.entry(block).or_insert_with(|| vec![0; pages].into());
        let suspensions = &mut of_block[page as usize];
        *suspensions = suspensions.saturating_add(times.min(u8::MAX.into()) as u8);
    }

    /// A block of the flash, by its number over the device, has been erased.
    pub fn erased(&mut self, block: usize) {
        self.blocks.remove(&block);
    }

    /// Errors per KiB of a page that suspensions of its program have added.
    #[inline]
    pub fn errors(&self, ppn: Ppn) -> f64 {
        if self.blocks.is_empty() {
            return 0.0;
        }
        let (block, page) = self.layout.flash_block_and_page(ppn);
        self.blocks.get(&block).map_or(0.0, |of_block| self.errors * f64::from(of_block[page as usize]))
    }
}

state! {
    Suspended { stored { blocks } rebuilt { layout, errors } }
}
