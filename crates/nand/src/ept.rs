//! The erase-timing parameter table (electronics25 Table 1): how long the pulse of a loop must be that ends an erase,
//! by the fail bits before it; and how much shorter it may be where the ECC has room for the errors of incomplete
//! erasure.

use crate::model::erasing::Erasing;

/// Ranges of fail bits, by their upper ends: gamma, delta, 2 delta, … 7 delta (electronics25 Table 1).
pub const RANGES: usize = 8;
/// Grains of the short first pulse whose fail bits choose the rest where one loop suffices: 3.5 - 2.5 = 1 ms (Table 1,
/// first row).
pub const FIRST: u32 = 2;

/// How much shorter than just long enough the pulse that ends an erase may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Not at all.
    None,
    /// As the profiled table says, by the errors of the worst block that needs as long an erase.
    Profiled,
    /// By this many grains: the block's own errors are known.
    Grains(u32),
}

/// The table, in grains of pulse.
#[derive(Clone, Debug, PartialEq)]
pub struct Ept {
    /// The errors of incomplete erasure, after retention, by the grains that are left out; from one on.
    left: Vec<f64>,
    /// Errors per KiB that a block may have.
    requirement: f64,
    /// Grains of a pulse, of the first loop and of the others.
    most: [u32; 2],
    /// By loop, then by range: just long enough, and as much shorter as the margin leaves room for.
    rows: Vec<[(u32, u32); RANGES]>,
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EptEntry {
    /// The loop of the pulse, from 1 on.
    pub loops: u32,
    /// The range of the fail bits before it.
    pub range: usize,
    /// Grains of the pulse.
    pub safe: u32,
    /// Grains of the pulse where the ECC's margin is used.
    pub spared: u32,
}

impl Ept {
    /// Profiles a chip for a requirement in errors per KiB: fail bits fall by delta a grain, so that the range is the
    /// number of grains to go (Fig. 15); what may be left follows from the errors of a block that just needs the loop's
    /// last grain.
    pub fn profile(erasing: &Erasing, requirement: f64) -> Ept {
        let incomplete = |left: u32| {
            // With the fail bits of a range's upper end.
            let grains = if left == 0 { 1.0 } else { 1.0 + f64::from(left) - erasing.gamma };
            erasing.incomplete(grains)
        };
        let left: Vec<f64> = (0..erasing.grains).map(incomplete).collect();
        let most = [erasing.grains.saturating_sub(FIRST), erasing.grains];
        let mut ept = Ept { left, requirement, most, rows: Vec::new() };
        let row = |loops: u32| {
            let worst = erasing.rber(f64::from(erasing.grains * loops) - erasing.fresh);
            let (spared, most) = (ept.spared(worst), ept.most(loops - 1));
            std::array::from_fn(|range| {
                let needed = range as u32 + 1;
                (needed.min(most), needed.saturating_sub(spared).min(most))
            })
        };
        ept.rows = (1..=erasing.loops).map(row).collect();
        ept
    }

    /// Grains that may be left of the erase of a block with this many errors per KiB.
    pub fn spared(&self, errors: f64) -> u32 {
        self.left.iter().take_while(|left| errors + **left <= self.requirement).count() as u32
    }

    /// Grains of a pulse of loop `index`, from 0, whose length is chosen.
    fn most(&self, index: u32) -> u32 {
        self.most[usize::from(index > 0)]
    }

    /// The range of some fail bits; None above the last, where no reduced pulse suffices.
    pub fn range(erasing: &Erasing, fail_bits: f64) -> Option<usize> {
        if fail_bits <= erasing.delta * erasing.gamma + 1e-6 {
            return Some(0);
        }
        let range = libm::ceil(fail_bits / erasing.delta - 1e-9) as usize;
        (range < RANGES).then_some(range)
    }

    /// Grains of the pulse of loop `index`, from 0, after fail bits in a range; with the margin, maybe none.
    pub fn grains(&self, index: u32, range: usize, spare: Spare) -> u32 {
        let (safe, spared) = self.rows[(index as usize).min(self.rows.len() - 1)][range];
        match spare {
            Spare::None => safe,
            Spare::Profiled => spared,
            Spare::Grains(left) => (range as u32 + 1).saturating_sub(left).min(self.most(index)),
        }
    }

    /// Every entry.
    pub fn rows(&self) -> impl Iterator<Item = EptEntry> {
        let row = |(loops, row): (u32, &[(u32, u32); RANGES])| {
            let row = *row;
            (0..RANGES).map(move |range| EptEntry { loops, range, safe: row[range].0, spared: row[range].1 })
        };
        (1..).zip(&self.rows).flat_map(row)
    }
}
