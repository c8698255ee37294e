//! Sentinel (Li et al., MICRO'20, as hpca24 section III-B describes it) on the virtual chip: how often a page that
//! failed is decoded without success before references estimated from its sentinel cells read it.
//!
//! Sentinel cells lie half in each of the two states beside the middle boundary. Charge loss makes the upper ones read
//! as lower: the difference of both kinds of errors shows how far the references are from the best ones, by a relation
//! that was profiled once, on a fresh typical page.

use units::Stream;

use crate::VirtualChip;
use crate::characterize::{CODEWORDS, Condition, Population};
use crate::model::cells::{Cells, Shape};
use crate::model::variation::{Draws, Place};

/// Sentinel cells of a wordline: 0.2 % of the cells of a 16-KiB page and its spare area (`assumed`: the share that
/// MICRO'20 reserves, of cells that hpca24 does not count).
pub const CELLS: u32 = 288;
/// Decodings after which the read is given up.
const MAX_DECODINGS: u32 = 20;

/// Counts of pages that were read by their sentinels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retried {
    /// Pages that the default references do not read.
    pub pages: u64,
    /// Decodings of them that failed, the first included.
    pub failures: u64,
}

/// The share of upper sentinels that read as lower, minus that of lower ones that read as upper.
fn difference(cells: &Cells, shape: Shape, offset: f64) -> f64 {
    let (down, up) = cells.crossings(shape, cells.sentinel_boundary(), offset);
    down - up
}

/// By how much lower the references should be, by the relation of a fresh typical page.
fn estimate(cells: &Cells, observed: f64) -> f64 {
    let fresh = cells.shape(0.0, 0.0, 0.0, 1.0);
    let (mut low, mut high) = (-2.0, 2.0);
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        // Lower references on fresh cells look like the contrary shift.
        if difference(cells, fresh, -middle) < observed { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Reads every page of a population under a condition.
pub fn read_all(chip: &VirtualChip, population: Population, condition: Condition) -> Retried {
    let cells = &chip.cells;
    let draws = Draws::new(population.seed);
    let noise = Stream::new(population.seed, "sentinel");
    let limit = f64::from(cells.capability) + 0.5;
    let cold = cells.cold(condition.celsius);
    // A table of the estimates: one for every difference that can be counted.
    let half = CELLS / 2;
    let estimates: Vec<f64> =
        (0..=2 * half).map(|count| estimate(cells, (f64::from(count) - f64::from(half)) / f64::from(half))).collect();
    let mut found = Retried::default();
    for chip_index in 0..population.chips {
        for block in 0..population.blocks {
            let shared = chip.variation.log_of_block(&draws, chip_index, block);
            for wordline in 0..chip.variation.block_wordlines() {
                let place = Place { chip: chip_index, block, wordline };
                let factor = libm::exp(shared + chip.variation.log_of_wordline(&draws, place));
                let shape = cells.shape(condition.x, condition.months, 0.0, factor);
                for page in 0..cells.bits {
                    let worst = draws.worst(place, page, CODEWORDS);
                    let fails = |offset: f64| {
                        let errors = cells.errors(shape, page, offset) + cold;
                        errors + worst * libm::sqrt(errors) > limit
                    };
                    let (mut offset, mut failures) = (0.0, 0);
                    let draw = noise.entity(chip_index).entity(block).entity(u64::from(wordline * cells.bits + page));
                    while failures < MAX_DECODINGS && fails(offset) {
                        let (down, up) = cells.crossings(shape, cells.sentinel_boundary(), offset);
                        // Cells one by one: each is on the wrong side or not.
                        let counted = |share: f64, first: u64| {
                            (0..u64::from(half)).filter(|cell| draw.uniform(first + cell) < share).count() as i64
                        };
                        let first = u64::from(failures * CELLS);
                        let seen = counted(down, first) - counted(up, first + u64::from(half));
                        offset += estimates[(seen + i64::from(half)) as usize];
                        failures += 1;
                    }
                    found.pages += u64::from(failures > 0);
                    found.failures += u64::from(failures);
                }
            }
        }
    }
    found
}
