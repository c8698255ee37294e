//! Blocks cycled to the end of their lives under an erase scheme (electronics25 section 7.2).

use nand::ept::Ept;
use nand::model::erasing::{BlockErase, Erasing};
use schemes::{Margin, Pulse, Pulses, Verified, Voltage};
use units::{Span, Stream};

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

/// One erase of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Erase {
    /// Its pulses; a verify read follows each.
    pub pulses: Vec<Pulse>,
    /// Grains that are still to go.
    pub left: f64,
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

    /// Loops that it took.
    pub fn loops(&self) -> u32 {
        self.pulses.last().map_or(0, |pulse| pulse.index + 1)
    }
}

/// Erases a block that needs `needed` grains after so many cycles. `before` is the loop, from 0, that ended its last erase; `draw`
/// decides about a misprediction.
pub fn erase(
    erasing: &Erasing,
    ept: &Ept,
    scheme: &EraseScheme,
    needed: f64,
    pec: u32,
    before: u32,
    draw: f64,
) -> Erase {
    let (mut pulses, mut done): (Vec<Pulse>, f64) = (Vec::new(), 0.0);
    let stress = if scheme.voltage.is_scaled(pec) { erasing.scaled_stress } else { 1.0 };
    let mut wear = erasing.program_stress;
    loop {
        let (last, left) = (pulses.last().copied(), needed - done);
        let seen = Verified {
            last,
            erased: left <= 1e-9,
            range: Ept::range(erasing, erasing.fail_bits(left)),
            before,
            grains: erasing.grains,
            loops: erasing.loops,
            ept,
            margin: scheme.margin.spares(),
        };
        let next = match scheme.pulses.next(seen) {
            Some(pulse) => pulse,
            // The last pulse was a predicted one, and wrong: half a millisecond more at its voltage. So was the prediction that
            // none is needed after a whole loop.
            None if predicted(erasing, scheme, last, left) && draw < scheme.mispredictions => {
                let index = last.map_or(0, |last| last.index);
                wear += stress * erasing.pulse_stress(index, 1.0);
                pulses.push(Pulse { index, grains: 1, last: true });
                return Erase { pulses, left: left.max(0.0), wear: wear / 1e3 };
            }
            None => return Erase { pulses, left: left.max(0.0), wear: wear / 1e3 },
        };
        done += erasing.work(last.map(|last| last.index), next.index, next.grains);
        wear += stress * erasing.pulse_stress(next.index, f64::from(next.grains));
        pulses.push(next);
    }
}

/// Whether an erase that has `left` so many grains has ended by a prediction: by a pulse that was to be the last, or before a
/// loop that could have followed.
fn predicted(erasing: &Erasing, scheme: &EraseScheme, last: Option<Pulse>, left: f64) -> bool {
    let skips = |last: Pulse| left > 0.0 && scheme.margin.spares() && last.index + 1 < erasing.loops;
    scheme.pulses == Pulses::Felp && last.is_some_and(|last| last.last || skips(last))
}

/// Blocks of a population after so many cycles.
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
    /// Mean time of an erase [ns].
    pub time: f64,
    /// Share of the blocks that all loops did not erase.
    pub failed: f64,
}

/// Cycles blocks in steps of `step` cycles up to `last` and looks at all of them after each.
pub fn cycle(
    erasing: &Erasing,
    scheme: &EraseScheme,
    requirement: f64,
    blocks: &[BlockErase],
    (step, last): (u32, u32),
    seed: u64,
) -> Vec<After> {
    let ept = Ept::profile(erasing, requirement);
    let draws = Stream::new(seed, "mispredictions");
    let mut lives: Vec<(f64, u32)> = vec![(0.0, 0); blocks.len()];
    let mut found = Vec::new();
    for pec in (0..=last).step_by(step.max(1) as usize) {
        let mut after = After { pec, ..After::default() };
        for (number, (block, (wear, before))) in (0..).zip(blocks.iter().zip(&mut lives)) {
            let needed = erasing.needed(block, *wear);
            let draw = draws.entity(number).uniform(pec.into());
            let erase = erase(erasing, &ept, scheme, needed, pec, *before, draw);
            let scaled = if scheme.voltage.is_scaled(pec) { erasing.scaled_errors } else { 0.0 };
            // A block that all loops do not erase is out of service: what counts is how it would be if they did.
            let chosen = predicted(erasing, scheme, erase.pulses.last().copied(), erase.left);
            let failed = erase.left > 0.0 && erase.loops() == erasing.loops && !chosen;
            let left = if failed { 0.0 } else { erase.left };
            let rber = erasing.rber(needed - block.fresh) + erasing.incomplete(left) + scaled;
            let share = 1.0 / blocks.len() as f64;
            after.mean += rber * share;
            after.most = after.most.max(rber);
            after.loops += f64::from(erase.loops()) * share;
            after.within_two += f64::from(u8::from(erase.loops() <= 2)) * share;
            after.time += erase.time(erasing).0 as f64 * share;
            after.failed += f64::from(u8::from(failed)) * share;
            *wear += erase.wear * f64::from(step);
            *before = erase.loops().saturating_sub(1);
        }
        found.push(after);
    }
    found
}
