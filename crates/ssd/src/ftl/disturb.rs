//! How often pages have been read beside: a read disturbs the other wordlines of its block, its neighbours more than
//! the rest, and no data that was programmed after it (after M. Chun et al., "STRAW: A Stress-Aware WL-Based Read
//! Reclaim Technique for High-Density NAND Flash-Based SSDs", IEEE CAL 2025, whose effective count of reads this is).

use foldhash::{HashMap, HashMapExt as _};
use nand::Layout;
use nand::chip::ProgramUnit;
use units::Ppn;

use crate::config::Plan;
use crate::persist::{state, stored};

/// What reads have done to the pages of a block of the flash that are programmed together: a wordline's, or one page.
#[derive(Clone, Copy, Default)]
struct Programmed {
    /// Reads of the block when they were programmed.
    before: u32,
    /// Reads of the neighbours of their wordline since then.
    beside: u32,
}

/// What reads have done to wordlines. Memory: 8 bytes a wordline of the blocks that were read or programmed in part, or
/// a page of these where pages are programmed one by one (`chip.program_unit = "page"`).
pub(crate) struct Disturb {
    layout: Layout,
    /// Bits of a cell in blocks of the SLC cache, which have as many wordlines as others.
    slc_bits: u32,
    /// Pages of a wordline are programmed one by one, and have met different reads.
    by_pages: bool,
    /// By how much more a neighbour counts than another wordline.
    more: f64,
    /// By number over the device.
    blocks: HashMap<u32, Box<[Programmed]>>,
}

impl Disturb {
    /// Where reads disturb.
    pub fn new(plan: &Plan) -> Option<Disturb> {
        let chip = &plan.config.chip;
        let more = chip.neighbour_disturb - 1.0;
        let slc_bits = plan.slc.as_ref().map_or(0, |slc| slc.layout.bits);
        let by_pages = chip.program_unit == ProgramUnit::Page;
        let layout = plan.layout;
        chip.read_disturb.then(|| Disturb { layout, slc_bits, by_pages, more, blocks: HashMap::new() })
    }

    /// The pages of a wordline.
    fn bits(&self, in_slc: bool) -> u32 {
        if in_slc { self.slc_bits } else { self.layout.bits }
    }

    /// The block of the flash that a page is in, and where it has what was programmed together with the page.
    fn programmed_with(&self, ppn: Ppn, in_slc: bool) -> (u32, usize) {
        let (block, page) = self.layout.flash_block_and_page(ppn);
        (block as u32, if self.by_pages { page } else { page / self.bits(in_slc) } as usize)
    }

    fn block(&mut self, block: u32) -> &mut [Programmed] {
        let together = if self.by_pages { 1 } else { self.layout.bits };
        let all = self.layout.flash_pages().div_ceil(together) as usize;
        self.blocks.entry(block).or_insert_with(|| vec![Programmed::default(); all].into())
    }

    /// A page, of a block of the SLC cache or not, has been sensed this many times.
    pub fn read(&mut self, ppn: Ppn, in_slc: bool, senses: u32) {
        if self.more == 0.0 {
            return;
        }
        let ((block, page), bits) = (self.layout.flash_block_and_page(ppn), self.bits(in_slc));
        let (wordline, each) = (page / bits, if self.by_pages { bits as usize } else { 1 });
        let all = self.block(block as u32);
        for beside in [wordline.checked_sub(1), Some(wordline + 1)].into_iter().flatten() {
            for neighbour in all.iter_mut().skip(beside as usize * each).take(each) {
                neighbour.beside = neighbour.beside.saturating_add(senses);
            }
        }
    }

    /// A page is programmed in a block that has been read so often.
    pub fn programmed(&mut self, ppn: Ppn, in_slc: bool, reads: u32) {
        let (block, place) = self.programmed_with(ppn, in_slc);
        if reads > 0 || self.blocks.contains_key(&block) {
            self.block(block)[place] = Programmed { before: reads, beside: 0 };
        }
    }

    /// A block of the flash, by its number over the device, has been erased.
    pub fn erased(&mut self, block: usize) {
        self.blocks.remove(&(block as u32));
    }

    /// The reads of a page's block as the page's data has met them, of `reads` since the erase.
    pub fn effective(&self, ppn: Ppn, in_slc: bool, reads: u32) -> u32 {
        let (block, place) = self.programmed_with(ppn, in_slc);
        let Some(of_block) = self.blocks.get(&block) else { return reads };
        let Programmed { before, beside } = of_block[place];
        let more = (f64::from(beside) * self.more).round();
        (f64::from(reads.saturating_sub(before)) + more).min(f64::from(u32::MAX)) as u32
    }
}

state! {
    Disturb { stored { blocks } rebuilt { layout, slc_bits, by_pages, more } }
}

stored! {
    Programmed { before, beside }
}
