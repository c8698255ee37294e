//! Blocks cycled to the end of their lives under an erase scheme (electronics25 section 7.2).

use nand::ept::Ept;
use nand::model::erasing::{BlockErase, Erasing};
use schemes::{Margin, Pulse, Pulses, Verified, Voltage};
use units::{Span, Stream};

use crate::persist::stored;

/// How blocks are erased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EraseScheme {
    /// The pulses.
    pub pulses: Pulses,
    /// What is left to the ECC.
    pub margin: Margin,
    /// The voltages.
    pub voltage: Voltage,
    /// Share of the predicted pulses that turn out to be too short and are followed by one more grain (section 7.4).
    pub mispredictions: f64,
}

impl EraseScheme {
    /// The conventional scheme.
    pub const ISPE: EraseScheme =
        EraseScheme { pulses: Pulses::Ispe, margin: Margin::None, voltage: Voltage::Nominal, mispredictions: 0.0 };
}

/// One erase of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Erase {
    /// Its pulses; a verify read follows each.
    pub pulses: Vec<Pulse>,
    /// Loops that it took, skipped ones left out.
    pub loops: u32,
    /// Grains that are still to go: left to the ECC, or for want of loops.
    pub left: f64,
    /// All loops did not suffice, the last one repeated.
    pub exhausted: bool,
    /// A predicted pulse was too short.
    pub mispredicted: bool,
    /// The wear that it has left, the programs of a cycle included.
    pub wear: f64,
}

impl Erase {
    /// What it takes: its pulses and verify reads (Eq. 2 and 3).
    pub fn time(&self, erasing: &Erasing) -> Span {
        self.pulses
            .iter()
            .fold(Span::ZERO, |sum, pulse| sum + erasing.t_grain * u64::from(pulse.grains) + erasing.t_verify)
    }
}

/// What a block's erases have made of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WearState {
    /// The stress that they have left.
    pub wear: f64,
    /// The loop, from 0, that ended the last one.
    pub before: u32,
    /// The most errors per KiB, and one, that reads have found since the last one; 0 where there were none, or where
    /// nobody keeps that.
    tracked: u8,
}

impl WearState {
    /// Reads have found this many errors per KiB.
    pub fn track(&mut self, errors: f64) {
        self.tracked = self.tracked.max(1 + errors.ceil().clamp(0.0, 254.0) as u8);
    }

    /// The most errors per KiB that reads have found.
    fn found(&self) -> Option<f64> {
        self.tracked.checked_sub(1).map(f64::from)
    }
}

/// A chip, and how its blocks are erased.
#[derive(Clone, Debug, PartialEq)]
pub struct Eraser {
    /// The chip's constants.
    pub erasing: Erasing,
    /// The scheme.
    pub scheme: EraseScheme,
    /// The profiled table.
    ept: Ept,
}

impl Eraser {
    /// Profiles the table for a requirement in errors per KiB.
    pub fn new(erasing: &Erasing, scheme: EraseScheme, requirement: f64) -> Eraser {
        // What a lower voltage adds is no room for incomplete erasure.
        let taken = if scheme.voltage == Voltage::Scaled { erasing.scaled_errors } else { 0.0 };
        Eraser { erasing: erasing.clone(), scheme, ept: Ept::profile(erasing, requirement - taken) }
    }

    /// Erases a block that needs `needed` grains after this many cycles. `before` is the loop, from 0, that ended its
    /// last erase; `draw` decides about a misprediction.
    pub fn erase(&self, needed: f64, pec: u32, before: u32, draw: f64) -> Erase {
        self.erase_in(needed, pec, WearState { before, ..WearState::default() }, draw)
    }

    fn erase_in(&self, needed: f64, pec: u32, state: WearState, draw: f64) -> Erase {
        let (erasing, scheme, before) = (&self.erasing, &self.scheme, state.before);
        let spare = scheme.margin.spare(&self.ept, state.found());
        let (mut pulses, mut done): (Vec<Pulse>, f64) = (Vec::new(), 0.0);
        let stress = if scheme.voltage.is_scaled(pec) { erasing.scaled_stress } else { 1.0 };
        let (mut wear, mut loops, mut at_highest) = (erasing.program_stress, 0, 0);
        loop {
            let (last, left) = (pulses.last().copied(), needed - done);
            let seen = Verified {
                last,
                pulses: pulses.len() as u32,
                at_highest,
                erased: left <= 1e-9,
                range: Ept::range(erasing, erasing.fail_bits(left)),
                before,
                grains: erasing.grains,
                loops: erasing.loops,
                ept: &self.ept,
                spare,
            };
            let next = scheme.pulses.next(seen);
            let predicted = next.is_none() && self.predicted(seen, left);
            let mispredicted = predicted && draw < scheme.mispredictions;
            let pulse = match (next, mispredicted) {
                (Some(pulse), _) => pulse,
                // The last pulse was a predicted one, and wrong: half a millisecond more at its voltage. So was the
                // prediction that none is needed after a whole loop.
                (None, true) => Pulse { index: last.map_or(0, |last| last.index), grains: 1, last: true },
                (None, false) => {
                    let exhausted = left > 1e-9 && !predicted;
                    return Erase { pulses, loops, left: left.max(0.0), exhausted, mispredicted, wear: wear / 1e3 };
                }
            };
            wear += stress * erasing.pulse_stress(pulse.index, f64::from(pulse.grains));
            // The rest of the first loop, and the grain after a misprediction, are no loops of their own.
            let rest =
                pulses.len() == 1 && last.is_some_and(|last| last.grains < erasing.grains && last.index == pulse.index);
            loops += u32::from(!rest && !mispredicted);
            // The short pulse that a first loop may begin with counts with its rest.
            let begins = last.is_none() && pulse.grains < erasing.grains;
            at_highest += u32::from(!begins && pulse.index + 1 == erasing.loops);
            pulses.push(pulse);
            if mispredicted {
                let left = left.max(0.0);
                return Erase { pulses, loops, left, exhausted: false, mispredicted, wear: wear / 1e3 };
            }
            done += erasing.work(last.map(|last| last.index), pulse.index, pulse.grains);
        }
    }

    /// Whether an erase that has `left` this many grains has ended by a prediction: by a pulse that was to be the last,
    /// or before a loop that could have followed.
    fn predicted(&self, seen: Verified<'_>, left: f64) -> bool {
        let skips = left > 0.0 && self.scheme.margin.spares() && seen.may_go_on();
        self.scheme.pulses == Pulses::Felp && seen.last.is_some_and(|last| last.last || skips)
    }

    /// Erases a block after `pec` cycles; its life goes on by `cycles` of them.
    pub fn cycle(&self, block: &BlockErase, state: &mut WearState, pec: u32, cycles: u32, draw: f64) -> Erase {
        let erase = self.erase_in(self.erasing.needed(block, state.wear), pec, *state, draw);
        state.wear += erase.wear * f64::from(cycles);
        state.tracked = 0;
        state.before = erase.pulses.last().map_or(0, |pulse| pulse.index);
        erase
    }

    /// A block has been read after a year at 30 °C, where somebody keeps what that finds.
    pub fn reads_after_a_year(&self, block: &BlockErase, state: &mut WearState) {
        if self.scheme.margin.tracks() {
            state.track(self.erasing.rber(self.erasing.needed(block, state.wear) - block.fresh));
        }
    }

    /// Errors per KiB that an erase after `pec` cycles adds to the worst page programmed next: those of the fail bits
    /// that it has left to the ECC, or for want of loops, and those of a lower voltage.
    pub fn added_errors(&self, erase: &Erase, pec: u32) -> f64 {
        let scaled = if self.scheme.voltage.is_scaled(pec) { self.erasing.scaled_errors } else { 0.0 };
        self.erasing.incomplete(erase.left) + scaled
    }
}

/// Blocks of a population after this many cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct After {
    /// P/E cycles.
    pub pec: u32,
    /// Mean and largest M_RBER after a year at 30 °C [errors per KiB].
    pub mean: f64,
    /// The largest.
    pub most: f64,
    /// Mean loops of an erase.
    pub loops: f64,
    /// Share of the blocks that two loops erase.
    pub within_two: f64,
    /// Mean time of an erase \[ns].
    pub time: f64,
    /// Share of the blocks that all loops did not erase.
    pub failed: f64,
}

/// Cycles blocks in steps of `step` cycles up to `last` and looks at all of them after each.
pub fn cycle(eraser: &Eraser, blocks: &[BlockErase], (step, last): (u32, u32), seed: u64) -> Vec<After> {
    let erasing = &eraser.erasing;
    let draws = Stream::new(seed, "mispredictions");
    let mut lives = vec![WearState::default(); blocks.len()];
    let mut found = Vec::new();
    for pec in (0..=last).step_by(step.max(1) as usize) {
        let mut after = After { pec, ..After::default() };
        for (number, (block, state)) in (0..).zip(blocks.iter().zip(&mut lives)) {
            let needed = erasing.needed(block, state.wear);
            eraser.reads_after_a_year(block, state);
            let erase = eraser.cycle(block, state, pec, step, draws.entity(number).uniform(pec.into()));
            let rber = erasing.rber(needed - block.fresh) + eraser.added_errors(&erase, pec);
            let share = 1.0 / blocks.len() as f64;
            after.mean += rber * share;
            after.most = after.most.max(rber);
            after.loops += f64::from(erase.loops) * share;
            after.within_two += f64::from(u8::from(erase.loops <= 2)) * share;
            after.time += erase.time(erasing).0 as f64 * share;
            after.failed += f64::from(u8::from(erase.exhausted)) * share;
        }
        found.push(after);
    }
    found
}

stored! {
    WearState { wear, before, tracked }
}
