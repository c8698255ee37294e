//! The papers' profiling procedures on a population of virtual chips: every table of the schemes is measured here.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::VirtualChip;
use crate::model::cells::KIB_BITS;
use crate::model::ladder::Ladder;
use crate::model::normal::poisson_above;
use crate::model::sensing::Cuts;
use crate::model::variation::{Draws, Place};

/// Chips, blocks of each, and the seed that they are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Chips.
    pub chips: u64,
    /// Blocks of a chip.
    pub blocks: u64,
    /// Seed.
    pub seed: u64,
}

impl Population {
    /// The population of asplos21 (section 4) and electronics25 (section 5.1): 120 blocks of each of 160 chips.
    pub const PAPERS: Population = Population { chips: 160, blocks: 120, seed: 1 };
}

/// Codewords of a page: 16 KiB in codewords of 1 KiB (asplos21 section 2.4 and Table 1).
pub const CODEWORDS: f64 = 16.0;

/// Conditions under which pages are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Wear in thousand P/E cycles.
    pub x: f64,
    /// Months at 30 °C.
    pub months: f64,
    /// Temperature of the read [°C].
    pub celsius: f64,
}

/// How many pages needed how many steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// By retry steps; the last entry counts the pages that were not read even in the last step.
    pub pages: Vec<u64>,
}

impl Steps {
    fn total(&self) -> u64 {
        self.pages.iter().sum()
    }

    /// Mean steps.
    pub fn mean(&self) -> f64 {
        let sum: u64 = self.pages.iter().zip(0..).map(|(pages, steps)| pages * steps).sum();
        sum as f64 / self.total() as f64
    }

    /// The fewest steps of any page.
    pub fn fewest(&self) -> usize {
        self.pages.iter().position(|pages| *pages > 0).unwrap_or(0)
    }

    /// The most steps of any page.
    pub fn most(&self) -> usize {
        self.pages.iter().rposition(|pages| *pages > 0).unwrap_or(0)
    }

    /// The share of pages that needed this many steps or more.
    pub fn share_from(&self, steps: usize) -> f64 {
        self.pages.iter().skip(steps).sum::<u64>() as f64 / self.total() as f64
    }
}

/// Reads every page of a population under every condition, on `threads` threads, the caller's among them. `progress`
/// receives the share that is done.
pub fn retry_steps(
    chip: &VirtualChip,
    population: Population,
    conditions: &[Condition],
    threads: usize,
    progress: &(dyn Fn(f64) + Sync),
) -> Vec<Steps> {
    let pages = chip.cells.bits;
    let ladders: Vec<Vec<Ladder>> = conditions
        .iter()
        .map(|c| (0..pages).map(|page| Ladder::new(chip, page, c.x, c.months, 0.0, c.celsius)).collect())
        .collect();
    let draws = Draws::new(population.seed);
    let length = chip.cells.retry_steps as usize + 2;
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        let mut counts = vec![vec![0u64; length]; conditions.len()];
        loop {
            let chip_index = next.fetch_add(1, Ordering::Relaxed);
            if chip_index >= population.chips {
                return counts;
            }
            for block in 0..population.blocks {
                let shared = chip.variation.log_of_block(&draws, chip_index, block);
                for wordline in 0..chip.variation.block_wordlines() {
                    let place = Place { chip: chip_index, block, wordline };
                    let log_factor = shared + chip.variation.log_of_wordline(&draws, place);
                    for page in 0..pages {
                        let worst = draws.worst(place, page, CODEWORDS);
                        for (counts, ladders) in counts.iter_mut().zip(&ladders) {
                            let steps = ladders[page as usize].steps(log_factor, worst);
                            counts[steps.map_or(length - 1, |steps| steps as usize)] += 1;
                        }
                    }
                }
            }
            let chips = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(chips as f64 / population.chips as f64);
        }
    };
    // One thread is the caller's own: a module for browsers has no other.
    let parts: Vec<Vec<Vec<u64>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = workers.into_iter().map(|worker| worker.join().expect("Invariant: reading pages does not panic"));
        std::iter::once(own).chain(others).collect()
    });
    (0..conditions.len())
        .map(|condition| Steps {
            pages: (0..length).map(|steps| parts.iter().map(|part| part[condition][steps]).sum()).collect(),
        })
        .collect()
}

/// A block after some P/E cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockWear {
    /// Grains of erase pulse that it needs.
    pub needed: f64,
    /// Its wear.
    pub wear: f64,
    /// Its M_RBER when it is erased completely [errors per KiB].
    pub rber: f64,
}

/// Cycles every block of a population with the conventional erase scheme, in steps of `step` cycles, and looks at all
/// of them after each of the rising counts `pec`.
pub fn erase_lives(chip: &VirtualChip, population: Population, pec: &[u32], step: u32) -> Vec<Vec<BlockWear>> {
    let erasing = &chip.erasing;
    let mut found = vec![Vec::new(); pec.len()];
    for chip_index in 0..population.chips {
        for index in 0..population.blocks {
            let block = erasing.block(population.seed, chip_index, index);
            let (mut wear, mut cycles) = (0.0, 0);
            for (lives, target) in found.iter_mut().zip(pec) {
                while cycles < *target {
                    let count = step.min(target - cycles);
                    let least = erasing.least_grains(erasing.needed(&block, wear));
                    wear += f64::from(count) * erasing.cycle_wear(least);
                    cycles += count;
                }
                let needed = erasing.needed(&block, wear);
                lives.push(BlockWear { needed, wear, rber: erasing.rber(needed - block.fresh) });
            }
        }
    }
    found
}

/// How the log factors of a population's wordlines are distributed: all that extremes depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// Middles of bins, and how many wordlines fall into each.
    bins: Vec<(f64, u64)>,
    /// The largest and the smallest.
    range: (f64, f64),
}

const BINS: usize = 256;

/// Expected codewords with more than `m` errors, of this many with such means.
fn exceeding(codewords: &[(f64, f64)], m: u32) -> f64 {
    codewords.iter().map(|(errors, count)| count * poisson_above(*errors, m)).sum()
}

/// Mean errors and codewords of a last step without cuts, by page type, become those under cuts, of all pages.
fn with_cuts(chip: &VirtualChip, at: Condition, cuts: Cuts, uncut: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let relative = chip.relative_shift(at.x, at.months);
    let of_page = |(page, codewords): (u32, &Vec<(f64, f64)>)| {
        let added = chip.sensing.added(cuts, chip.senses(page), at.x, relative, at.celsius);
        codewords.iter().map(|(errors, count)| (errors + added, *count)).collect::<Vec<_>>()
    };
    (0..).zip(uncut).flat_map(of_page).collect()
}

impl Factors {
    /// Those of a population.
    pub fn new(chip: &VirtualChip, population: Population) -> Factors {
        let draws = Draws::new(population.seed);
        let (centre, half) = chip.variation.bounds();
        let mut counts = vec![0u64; BINS];
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for chip_index in 0..population.chips {
            for block in 0..population.blocks {
                let shared = chip.variation.log_of_block(&draws, chip_index, block);
                for wordline in 0..chip.variation.block_wordlines() {
                    let place = Place { chip: chip_index, block, wordline };
                    let log_factor = shared + chip.variation.log_of_wordline(&draws, place);
                    let bin = (((log_factor - centre) / half + 1.0) * 0.5 * BINS as f64) as usize;
                    counts[bin.min(BINS - 1)] += 1;
                    range = (range.0.min(log_factor), range.1.max(log_factor));
                }
            }
        }
        let middle = |bin: usize| centre + half * ((2.0 * bin as f64 + 1.0) / BINS as f64 - 1.0);
        let bins = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        Factors { bins: bins.map(|(bin, count)| (middle(bin), count)).collect(), range }
    }

    /// Pages of the population.
    pub fn pages(&self, chip: &VirtualChip) -> u64 {
        self.bins.iter().map(|(_, count)| count).sum::<u64>() * u64::from(chip.cells.bits)
    }

    /// Mean errors per KiB in the last retry step, with the number of codewords that have them, for every page type.
    fn last_step(&self, chip: &VirtualChip, condition: Condition, cuts: Cuts) -> Vec<(f64, f64)> {
        with_cuts(chip, condition, cuts, &self.last_step_uncut(chip, condition))
    }

    /// Mean errors per KiB in the last retry step without cuts, by page type.
    fn last_step_uncut(&self, chip: &VirtualChip, condition: Condition) -> Vec<Vec<(f64, f64)>> {
        let Condition { x, months, celsius } = condition;
        let cold = chip.cells.cold(celsius);
        let of_bin = |page: u32, (log_factor, count): &(f64, u64)| {
            let shape = chip.cells.shape(x, months, 0.0, libm::exp(*log_factor));
            (chip.cells.least_errors(shape, page) + cold, *count as f64 * CODEWORDS)
        };
        (0..chip.cells.bits).map(|page| self.bins.iter().map(|bin| of_bin(page, bin)).collect()).collect()
    }

    /// M_ERR: the most errors per KiB in the last retry step of any page; the least m that fewer than one of the
    /// population's codewords is expected to exceed. Computed, not sampled: sampled maxima are a matter of luck.
    pub fn m_err(&self, chip: &VirtualChip, condition: Condition, cuts: Cuts) -> u32 {
        libm::ceil(self.m_err_between(chip, condition, cuts)) as u32
    }

    /// M_ERR before it is rounded up: where the expected number of codewords beyond passes 1, interpolated in its
    /// logarithm. For fits, which need to see small changes.
    pub fn m_err_between(&self, chip: &VirtualChip, condition: Condition, cuts: Cuts) -> f64 {
        let last = self.last_step(chip, condition, cuts);
        let (mut low, mut high) = (0, KIB_BITS as u32);
        while low < high {
            let middle = (low + high) / 2;
            if exceeding(&last, middle) < 1.0 { high = middle } else { low = middle + 1 }
        }
        if low == 0 {
            return 0.0;
        }
        let (before, after) = (libm::log(exceeding(&last, low - 1)), libm::log(exceeding(&last, low).max(1e-300)));
        f64::from(low - 1) + (before / (before - after)).clamp(1e-9, 1.0)
    }

    /// Expected pages of the population that fail in the last retry step under cuts though they would be read without.
    pub fn failing(&self, chip: &VirtualChip, condition: Condition, cuts: Cuts) -> f64 {
        exceeding(&self.last_step(chip, condition, cuts), chip.cells.capability)
    }

    /// The largest cut of tPRE, in the chip's grid, that leaves `margin` errors to the capability in the last retry
    /// step.
    pub fn safe_pre_cut(&self, chip: &VirtualChip, condition: Condition, margin: u32) -> f64 {
        self.safe_cut(chip, condition, margin, chip.sensing.grid, |cut| Cuts { pre: cut, ..Cuts::default() })
    }

    /// The largest cut, a multiple of 1/`grid`, that leaves `margin` errors; `cuts` maps its share to the phases that
    /// are cut.
    pub fn safe_cut(
        &self,
        chip: &VirtualChip,
        condition: Condition,
        margin: u32,
        grid: u32,
        cuts: impl Fn(f64) -> Cuts,
    ) -> f64 {
        let Some(most) = chip.cells.capability.checked_sub(margin) else { return 0.0 };
        let share = |step: u32| f64::from(step) / f64::from(grid);
        let uncut = self.last_step_uncut(chip, condition);
        let safe = |step: &u32| exceeding(&with_cuts(chip, condition, cuts(share(*step)), &uncut), most) < 1.0;
        (1..grid).take_while(safe).last().map_or(0.0, share)
    }

    /// The first day of retention on which the default read of any page has more than `errors` per KiB on average; None
    /// within `days`.
    pub fn first_day(&self, chip: &VirtualChip, x: f64, errors: f64, days: u32) -> Option<f64> {
        let exceeds = |day: f64| {
            let shape = chip.cells.shape(x, day / 30.0, 0.0, libm::exp(self.range.1));
            (0..chip.cells.bits).any(|page| chip.cells.errors(shape, page, 0.0) > errors)
        };
        if !exceeds(f64::from(days)) {
            return None;
        }
        let (mut low, mut high) = (0.0, f64::from(days));
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if exceeds(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}
