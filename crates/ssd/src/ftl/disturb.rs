//! How often pages have been read beside: a read disturbs the other wordlines of its block, its neighbours more than
//! the rest, and no data that was programmed after it (after M. Chun et al., "STRAW: A Stress-Aware WL-Based Read
//! Reclaim Technique for High-Density NAND Flash-Based SSDs", IEEE CAL 2025, whose effective count of reads this is).

use foldhash::{HashMap, HashMapExt as _};
use nand::Layout;
use units::Ppn;

use crate::config::Plan;
use crate::persist::{state, stored};

/// What reads have done to one wordline of a block of the flash.
#[derive(Clone, Copy, Default)]
struct Wordline {
    /// Reads of the block when it was programmed.
    before: u32,
    /// Reads of its neighbours since then.
    beside: u32,
}

/// What reads have done to wordlines. Memory: 8 bytes a wordline of the blocks that were read or programmed in part.
pub(crate) struct Disturb {
    layout: Layout,
    /// Bits of a cell in blocks of the SLC cache, which have as many wordlines as others.
    slc_bits: u32,
    /// By how much more a neighbour counts than another wordline.
    more: f64,
    /// By number over the device.
    blocks: HashMap<u32, Box<[Wordline]>>,
}

impl Disturb {
    /// Where reads disturb.
    pub fn new(plan: &Plan) -> Option<Disturb> {
        let chip = &plan.config.chip;
        let more = chip.neighbour_disturb - 1.0;
        let slc_bits = plan.slc.as_ref().map_or(0, |slc| slc.layout.bits);
        chip.read_disturb.then(|| Disturb { layout: plan.layout, slc_bits, more, blocks: HashMap::new() })
    }

    /// The block of the flash that a page is in, and its wordline there.
    fn place(&self, ppn: Ppn, in_slc: bool) -> (u32, usize) {
        let (block, page) = self.layout.flash_block_and_page(ppn);
        let bits = if in_slc { self.slc_bits } else { self.layout.bits };
        (block as u32, (page / bits) as usize)
    }

    fn block(&mut self, block: u32) -> &mut [Wordline] {
        let wordlines = self.layout.flash_pages().div_ceil(self.layout.bits) as usize;
        self.blocks.entry(block).or_insert_with(|| vec![Wordline::default(); wordlines].into())
    }

    /// A page, of a block of the SLC cache or not, has been sensed this many times.
    pub fn read(&mut self, ppn: Ppn, in_slc: bool, senses: u32) {
        if self.more == 0.0 {
            return;
        }
        let (block, wordline) = self.place(ppn, in_slc);
        let wordlines = self.block(block);
        for beside in [wordline.wrapping_sub(1), wordline + 1] {
            if let Some(neighbour) = wordlines.get_mut(beside) {
                neighbour.beside = neighbour.beside.saturating_add(senses);
            }
        }
    }

    /// A page is programmed in a block that has been read so often.
    pub fn programmed(&mut self, ppn: Ppn, in_slc: bool, reads: u32) {
        let (block, wordline) = self.place(ppn, in_slc);
        if reads > 0 || self.blocks.contains_key(&block) {
            self.block(block)[wordline] = Wordline { before: reads, beside: 0 };
        }
    }

    /// A block of the flash, by its number over the device, has been erased.
    pub fn erased(&mut self, block: usize) {
        self.blocks.remove(&(block as u32));
    }

    /// The reads of a page's block as the page's data has met them, of `reads` since the erase.
    pub fn effective(&self, ppn: Ppn, in_slc: bool, reads: u32) -> u32 {
        let (block, wordline) = self.place(ppn, in_slc);
        let Some(wordlines) = self.blocks.get(&block) else { return reads };
        let Wordline { before, beside } = wordlines[wordline];
        let more = (f64::from(beside) * self.more).round();
        (f64::from(reads.saturating_sub(before)) + more).min(f64::from(u32::MAX)) as u32
    }
}

state! {
    Disturb { stored { blocks } rebuilt { layout, slc_bits, more } }
}

stored! {
    Wordline { before, beside }
}
