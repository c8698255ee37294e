//! Reading pages step by step along the retry table: under one condition a page's outcome is a function of its log
//! factor and its worst codeword, and is tabulated over the former.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt as _};

use super::VirtualChip;

/// Points of the table over the log factors: straight lines between them are right to a fifth of an error.
const POINTS: usize = 64;

/// Ladders that a process keeps, of all chips (assumed: some 25 MB); then all are dropped and worked out again when
/// they are needed.
const KEPT: usize = 1 << 11;

/// Of which pages a ladder is, and under which conditions: the page of the wordline, then cycles, months and reads, and
/// the temperatures of the read and of the program, by their bits.
type Of = (u32, [u64; 5]);

/// The ladders of a chip that this process has worked out: the cases of a sweep meet the same conditions.
#[derive(Clone, Default)]
pub(super) struct Shelf(Arc<Mutex<HashMap<Of, Arc<Ladder>>>>);

impl Shelf {
    /// That of a chip: the same for chips that are alike.
    pub fn of(chip: &VirtualChip) -> Shelf {
        static KNOWN: Mutex<Vec<(VirtualChip, Shelf)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shelf)) = known.iter().find(|(other, _)| other == chip) {
            return shelf.clone();
        }
        let kept: usize = known.iter().map(|(_, shelf)| shelf.lock().len() + 1).sum();
        if kept >= KEPT {
            known.clear();
        }
        let shelf = Shelf(Arc::new(Mutex::new(HashMap::new())));
        known.push((chip.clone(), shelf.clone()));
        shelf
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Of, Arc<Ladder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`Ladder::crossed`]; the chip is the one that the shelf is of.
    pub fn crossed(
        &self,
        chip: &VirtualChip,
        page: u32,
        at: [f64; 3],
        celsius: f64,
        programmed_at: f64,
    ) -> Arc<Ladder> {
        let [x, months, reads] = at.map(f64::to_bits);
        let key = (page, [x, months, reads, celsius.to_bits(), programmed_at.to_bits()]);
        if let Some(ladder) = self.lock().get(&key) {
            return Arc::clone(ladder);
        }
        let ladder = Arc::new(Ladder::crossed(chip, page, at, celsius, programmed_at));
        let mut kept = self.lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&ladder));
        ladder
    }
}

/// The outcomes of pages of one type (LSB, CSB, … of the wordline) under one condition.
///
/// What passes and how many errors the passing step leaves follow from different references. Vendors profile their
/// tables so that the last step lies close to the best references (asplos21 section 2.4 and 3.2.2); if reading stopped
/// at the first table step with few enough errors, the errors left would fill up everything to the capability, at every
/// condition, and no margin of section 5.1 could be. So whether a step passes follows from the table's references, and
/// the errors of the passing step are those of the best ones.
pub struct Ladder {
    /// The middle of the log factors, and half their range.
    middle: f64,
    half: f64,
    steps: usize,
    /// The chip's capability, halfway to the next error [per KiB].
    limit: f64,
    /// By point, then by step: up to how many deviations the worst codeword may lie above the mean to be decoded.
    margins: Vec<f32>,
    /// By point: the first step at which any page passes.
    first: Vec<u16>,
    /// By point: mean errors per KiB with the best references.
    least: Vec<f32>,
    /// By point: mean errors per KiB of the default read.
    default: Vec<f32>,
    /// By point: the position in the table, in steps, of the best references.
    best: Vec<f32>,
}

impl Ladder {
    /// The table for pages at `page` in their wordlines after `x` thousand cycles, `months` at 30 °C and `reads` of the
    /// block, read at `celsius`.
    pub fn new(chip: &VirtualChip, page: u32, x: f64, months: f64, reads: f64, celsius: f64) -> Ladder {
        Ladder::crossed(chip, page, [x, months, reads], celsius, celsius)
    }

    /// The ladder of pages that were programmed at another temperature than they are read; `at` is cycles, months and
    /// reads as in [`Ladder::new`].
    pub fn crossed(chip: &VirtualChip, page: u32, at: [f64; 3], celsius: f64, programmed_at: f64) -> Ladder {
        let (cells, [x, months, reads]) = (&chip.cells, at);
        let (middle, half) = chip.variation.bounds();
        let steps = cells.retry_steps as usize + 1;
        let cold = cells.cold(celsius);
        let limit = f64::from(cells.capability) + 0.5;
        let mut ladder = Ladder {
            middle,
            half,
            steps,
            limit,
            margins: Vec::with_capacity(POINTS * steps),
            first: Vec::with_capacity(POINTS),
            least: Vec::with_capacity(POINTS),
            default: Vec::with_capacity(POINTS),
            best: Vec::with_capacity(POINTS),
        };
        for point in 0..POINTS {
            let log_factor = middle + half * (2.0 * point as f64 / (POINTS - 1) as f64 - 1.0);
            let shape = cells.crossed(cells.shape(x, months, reads, libm::exp(log_factor)), celsius - programmed_at);
            let mut first = steps;
            for step in 0..steps {
                let errors = cells.errors(shape, page, step as f64 * cells.retry_step) + cold;
                let margin = ((limit - errors) / libm::sqrt(errors.max(1e-9))).clamp(-1e6, 1e6);
                if margin > LEAST_WORST && first == steps {
                    first = step;
                }
                if step == 0 {
                    ladder.default.push(errors as f32);
                }
                ladder.margins.push(margin as f32);
            }
            ladder.first.push(first as u16);
            ladder.least.push((cells.least_errors(shape, page) + cold) as f32);
            ladder.best.push((shape.shift / cells.retry_step) as f32);
        }
        ladder
    }

    fn point(&self, log_factor: f64) -> (usize, f32) {
        let at = ((log_factor - self.middle) / self.half + 1.0) * 0.5 * (POINTS - 1) as f64;
        let point = (at.max(0.0) as usize).min(POINTS - 2);
        (point, (at - point as f64) as f32)
    }

    /// Retry steps that a page needs whose worst codeword lies `worst` deviations above its mean; None where it is not
    /// read even in the last.
    #[inline]
    pub fn steps(&self, log_factor: f64, worst: f64) -> Option<u32> {
        self.steps_from(log_factor, worst, 0)
    }

    /// Retry steps of a read that begins at step `from` of the table.
    #[inline]
    pub fn steps_from(&self, log_factor: f64, worst: f64, from: u32) -> Option<u32> {
        let (point, part) = self.point(log_factor);
        let start = usize::from(self.first[point].min(self.first[point + 1])).max(from as usize);
        let (low, high) = (&self.margins[point * self.steps..], &self.margins[(point + 1) * self.steps..]);
        (start..self.steps)
            .find(|step| low[*step] + part * (high[*step] - low[*step]) >= worst as f32)
            .map(|step| step as u32)
    }

    /// The last step of those that read the page without a break from step `first` on: past it the references have gone
    /// too far.
    #[inline]
    pub fn last_from(&self, log_factor: f64, worst: f64, first: u32) -> u32 {
        let (point, part) = self.point(log_factor);
        let (low, high) = (&self.margins[point * self.steps..], &self.margins[(point + 1) * self.steps..]);
        let reads = |step: &usize| low[*step] + part * (high[*step] - low[*step]) >= worst as f32;
        (first as usize + 1..self.steps).take_while(reads).last().map_or(first, |step| step as u32)
    }

    /// Mean errors per KiB with the references of a step of the table: those of its margin.
    pub fn errors(&self, log_factor: f64, step: u32) -> f64 {
        let (point, part) = self.point(log_factor);
        let step = (step as usize).min(self.steps - 1);
        let (low, high) = (self.margins[point * self.steps + step], self.margins[(point + 1) * self.steps + step]);
        // margin = (limit - errors) / sqrt(errors)
        let margin = f64::from(low + part * (high - low));
        let root = libm::sqrt(margin * margin + 4.0 * self.limit);
        let deviation = if margin > 0.0 { 2.0 * self.limit / (root + margin) } else { (root - margin) / 2.0 };
        deviation * deviation
    }

    /// The step of the table that lies next to the best references.
    pub fn best(&self, log_factor: f64) -> u32 {
        (self.between(&self.best, log_factor).round() as u32).min(self.steps as u32 - 1)
    }

    /// Mean errors per KiB in the passing step.
    #[inline]
    pub fn least(&self, log_factor: f64) -> f64 {
        self.between(&self.least, log_factor)
    }

    /// Mean errors per KiB of the default read.
    #[inline]
    pub fn default(&self, log_factor: f64) -> f64 {
        self.between(&self.default, log_factor)
    }

    fn between(&self, values: &[f32], log_factor: f64) -> f64 {
        let (point, part) = self.point(log_factor);
        f64::from(values[point] + part * (values[point + 1] - values[point]))
    }
}

/// The largest of sixteen normal variables is practically never below this.
const LEAST_WORST: f64 = -3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_back_from_their_margins() {
        let chip = VirtualChip::preset("tlc48").unwrap();
        for (x, months) in [(0.0, 0.0), (0.0, 0.5), (1.0, 1.0), (2.0, 12.0)] {
            for page in 0..3 {
                let ladder = Ladder::new(&chip, page, x, months, 0.0, 30.0);
                for log_factor in [-0.05, 0.0, 0.03] {
                    let (found, meant) = (ladder.errors(log_factor, 0), ladder.default(log_factor));
                    assert!((found / meant - 1.0).abs() < 0.02, "{found} for {meant}");
                    // The best references leave the fewest errors of all, and lie next to the best step.
                    let best = ladder.best(log_factor);
                    assert!(ladder.errors(log_factor, best) < 1.5 * ladder.least(log_factor) + 1.0);
                    assert!(ladder.least(log_factor) <= ladder.errors(log_factor, best) + 0.5);
                }
            }
        }
    }
}
