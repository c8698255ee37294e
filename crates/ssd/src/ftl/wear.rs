//! The wear of blocks that are erased pulse by pulse. A block's wear is the stress that its erases have left, not a
//! cycle count; how it is erased next, and which errors reads of its pages meet, follow from it.

use nand::model::erasing::{BlockErase, Erasing};
use nand::model::outcomes::{ARCHETYPES, Archetypes};
use nand::{FlashPlaneId, Layout};
use units::{Ppn, Stream};

use super::found::Found;
use crate::config::{Plan, WornUnder};
use crate::lifetime::{Erase, Eraser, WearState};
use crate::persist::{state, stored};

/// Cycles that are played at a time for the wear before the run.
const STEP: u32 = 50;
/// Steps at most, on chips that never come to the last repetition of their last loop.
const LONGEST: usize = 2_000;

/// A block's wear.
#[derive(Clone, Copy, Debug)]
struct BlockWear {
    state: WearState,
    /// The cycles of the conventional scheme that would have left as much wear.
    cycles: f32,
    /// Errors per KiB that its last erase adds to the worst of its pages.
    added: f32,
    /// All loops did not suffice for its last erase.
    exhausted: bool,
}

const _: () = assert!(size_of::<BlockWear>() == 32, "the stated memory of a block's wear");

/// The wear of all blocks. Memory: 32 bytes a block.
pub(crate) struct WearTable {
    layout: Layout,
    eraser: Eraser,
    archetypes: Archetypes,
    blocks: Vec<BlockErase>,
    /// By archetype: wear after every [`STEP`] cycles of the conventional scheme.
    conventional: Vec<Vec<f64>>,
    blocks_wear: Vec<BlockWear>,
    /// By wordline: the share of the erases' stress that reaches it.
    shares: Vec<f64>,
    draws: Stream,
}

impl WearTable {
    /// Where erases go pulse by pulse, blocks that have been through `age.pec` cycles.
    pub fn new(plan: &Plan, seed: u64) -> Option<WearTable> {
        let ((eraser, variation), layout) = (plan.eraser.clone()?, plan.layout);
        let pec = plan.config.age.pec.0;
        let erasing = &eraser.erasing;
        let archetypes = Archetypes::new(seed);
        let blocks: Vec<BlockErase> = (0..ARCHETYPES).map(|chip| erasing.block(seed, chip, 0)).collect();
        let draws = Stream::new(seed, "mispredictions");
        let conventional: Vec<Vec<f64>> = blocks.iter().map(|block| conventional(erasing, block)).collect();
        let mut found = Found::new(plan, archetypes, seed);
        let before = |(number, block): (u64, &BlockErase)| {
            let (mut state, draws) = (WearState::default(), draws.entity(number));
            let conventional = &conventional[number as usize];
            let mut read = |state: &mut WearState| {
                let errors =
                    found.as_mut().and_then(|found| found.errors(number as usize, cycles(conventional, state.wear)));
                errors.into_iter().for_each(|errors| state.track(errors));
            };
            match plan.config.age.worn_under {
                WornUnder::Scheme => (0..pec).step_by(STEP as usize).for_each(|at| {
                    read(&mut state);
                    eraser.cycle(block, &mut state, at, STEP.min(pec - at), draws.uniform(at.into()));
                }),
                WornUnder::Ispe => {
                    state.wear = wear_of(conventional, pec.into());
                    let loops = erasing.loops_for(erasing.least_grains(erasing.needed(block, state.wear)));
                    state.before = loops.min(erasing.loops) - 1;
                }
            }
            // The erase before the data was written.
            read(&mut state);
            let last = eraser.cycle(block, &mut state, pec, 0, draws.uniform(pec.into()));
            let cycles = cycles(conventional, state.wear) as f32;
            BlockWear { state, cycles, added: eraser.added_errors(&last, pec) as f32, exhausted: false }
        };
        let start: Vec<BlockWear> = (0..).zip(&blocks).map(before).collect();
        let planes = layout.dies * layout.flash_planes_per_die();
        let all = (0..planes).flat_map(|plane| (0..layout.blocks).map(move |block| (plane, block)));
        let blocks_wear = all.map(|(plane, block)| start[archetypes.of(plane, block)]).collect();
        let wordlines = layout.flash_pages().div_ceil(layout.bits);
        let share = |wordline: u32| {
            let own = u64::from(wordline) * u64::from(variation.block_wordlines()) / u64::from(wordlines);
            let profile = variation.profile(own as u32);
            erasing.gate_stress(eraser.scheme.voltage.at_gate(erasing.gate_volts(profile)))
        };
        let shares = (0..wordlines).map(share).collect();
        let draws = draws.entity(ARCHETYPES);
        Some(WearTable { layout, archetypes, blocks, conventional, blocks_wear, shares, draws, eraser })
    }

    /// Erases a block for the cycle `pec`.
    pub fn erase(&mut self, plane: FlashPlaneId, block: u32, pec: u32) -> Erase {
        let index = self.layout.flash_block_index(plane, block);
        let draw = self.draws.entity(index as u64).uniform(pec.into());
        let archetype = self.archetypes.of(plane.0, block);
        let worn = &mut self.blocks_wear[index];
        let erase = self.eraser.cycle(&self.blocks[archetype], &mut worn.state, pec, 1, draw);
        worn.cycles = cycles(&self.conventional[archetype], worn.state.wear) as f32;
        worn.added = self.eraser.added_errors(&erase, pec) as f32;
        worn.exhausted = erase.exhausted;
        erase
    }

    /// A block wears as by this many cycles more of the conventional scheme: its erase has been suspended within a
    /// pulse, or it was erased in the SLC cache's mode.
    pub fn wears_by(&mut self, plane: FlashPlaneId, block: u32, more: f64) {
        let conventional = &self.conventional[self.archetypes.of(plane.0, block)];
        let worn = &mut self.blocks_wear[self.layout.flash_block_index(plane, block)];
        let cycles = cycles(conventional, worn.state.wear) + more;
        worn.state.wear = wear_of(conventional, cycles);
        worn.cycles = cycles as f32;
    }

    /// A page was read with this many errors per KiB, of which those of its last erase are known.
    pub fn read_with(&mut self, ppn: Ppn, errors: f64) {
        let (plane, block) = (self.layout.flash_plane_of(ppn), self.layout.unpack(ppn).block);
        let worn = &mut self.blocks_wear[self.layout.flash_block_index(plane, block)];
        worn.state.track((errors - f64::from(worn.added)).max(0.0));
    }

    /// Whether all loops did not suffice for the last erase of a block.
    pub fn exhausted(&self, plane: FlashPlaneId, block: u32) -> bool {
        self.blocks_wear[self.layout.flash_block_index(plane, block)].exhausted
    }

    /// The wear of a page of a block that has been through `pec` cycles, as cycles of the conventional scheme; and the
    /// errors per KiB that the block's last erase adds to it.
    #[inline]
    pub fn of_page(&self, plane: FlashPlaneId, block: u32, page: u32, pec: u32) -> (u32, f64) {
        let worn = self.blocks_wear[self.layout.flash_block_index(plane, block)];
        let share = self.shares[(page / self.layout.bits) as usize];
        let cycles = if share == 1.0 {
            f64::from(worn.cycles)
        } else {
            // Programs stress all wordlines alike.
            let programs = self.eraser.erasing.program_stress / 1e3 * f64::from(pec);
            let wear = programs + share * (worn.state.wear - programs).max(0.0);
            cycles(&self.conventional[self.archetypes.of(plane.0, block)], wear)
        };
        (cycles.round() as u32, f64::from(worn.added))
    }

    /// The wear of the blocks of a plane, as cycles of the conventional scheme.
    pub fn cycles(&self, plane: FlashPlaneId) -> impl Iterator<Item = f64> {
        let first = self.layout.flash_block_index(plane, 0);
        self.blocks_wear[first..first + self.layout.blocks as usize].iter().map(|worn| f64::from(worn.cycles))
    }
}

/// A block's wear after every [`STEP`] cycles of the conventional scheme, up to where it takes all loops: from there
/// each adds the same.
fn conventional(erasing: &Erasing, block: &BlockErase) -> Vec<f64> {
    let mut all = vec![0.0];
    loop {
        let wear = all[all.len() - 1];
        let least = erasing.least_grains(erasing.needed(block, wear));
        all.push(wear + f64::from(STEP) * erasing.cycle_wear(least));
        if erasing.loops_for(least) >= erasing.most_loops() || all.len() > LONGEST {
            return all;
        }
    }
}

/// The wear after this many cycles, by the wear at every [`STEP`].
fn wear_of(wear: &[f64], pec: f64) -> f64 {
    let steps = pec / f64::from(STEP);
    let after = (steps as usize + 1).min(wear.len() - 1);
    let (low, high) = (wear[after - 1], wear[after]);
    low + (high - low) * (steps - (after - 1) as f64)
}

/// After how many cycles wear has reached so much, by the wear at every [`STEP`].
fn cycles(wear: &[f64], reached: f64) -> f64 {
    let after = wear.partition_point(|wear| *wear <= reached).clamp(1, wear.len() - 1);
    let (low, high) = (wear[after - 1], wear[after]);
    f64::from(STEP) * ((after - 1) as f64 + (reached - low) / (high - low).max(1e-12))
}

state! {
    WearTable {
        stored { blocks_wear }
        rebuilt { layout, eraser, archetypes, blocks, conventional, shares, draws }
    }
}

stored! {
    BlockWear { state, cycles, added, exhausted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_read_off_between_and_beyond_the_steps() {
        let wear = [0.0, 1.0, 4.0];
        for (reached, wanted) in [(0.0, 0.0), (0.5, 25.0), (1.0, 50.0), (2.5, 75.0), (4.0, 100.0), (7.0, 150.0)] {
            assert!((cycles(&wear, reached) - wanted).abs() < 1e-9, "{reached}");
            assert!((wear_of(&wear, wanted) - reached).abs() < 1e-9, "{wanted}");
        }
    }
}
