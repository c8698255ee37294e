//! Virtual chips for Python.

use nand::characterize::{Condition, Factors, Population, erase_lives, retry_steps};
use nand::ept::Ept;
use nand::model::erasing::BlockErase;
use nand::model::sensing::Cuts;
use nand::model::variation::{Draws, Place};
use nand::rpt::Rpt;
use nand::{VirtualChip, model};
use pyo3::prelude::*;
use ssd::lifetime::{After, EraseScheme, Eraser, cycle};

use crate::error::refuse;

/// A virtual chip and a population of it.
#[pyclass(module = "ssdlab._core", frozen)]
pub struct Chip {
    chip: VirtualChip,
    population: Population,
    factors: std::sync::OnceLock<Factors>,
}

/// P/E cycles, mean and largest M_RBER, mean loops, share within two, mean time [ns], share that failed.
type BlockWear = (u32, f64, f64, f64, f64, f64, f64);

/// Wear [thousand cycles], months at 30 °C, °C of the read.
type At = (f64, f64, f64);

fn condition((x, months, celsius): At) -> Condition {
    Condition { x, months, celsius }
}

impl Chip {
    fn factors(&self) -> &Factors {
        self.factors.get_or_init(|| Factors::new(&self.chip, self.population))
    }
}

#[pymethods]
impl Chip {
    /// `text` is a chip file's content, called `name` in errors; without it, `name` is a preset.
    #[new]
    #[pyo3(signature = (name, text = None, *, chips = 160, blocks = 120, seed = 1))]
    fn new(name: &str, text: Option<&str>, chips: u64, blocks: u64, seed: u64) -> PyResult<Chip> {
        let chip = match text {
            Some(text) => VirtualChip::parse(text, name),
            None => VirtualChip::preset(name),
        }
        .map_err(refuse)?;
        Ok(Chip { chip, population: Population { chips, blocks, seed }, factors: std::sync::OnceLock::new() })
    }

    /// The names of the presets.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        model::names().collect()
    }

    /// What it is, in a line.
    #[getter]
    fn about(&self) -> &str {
        &self.chip.about
    }

    /// Every constant: section, key, value, meaning, source.
    #[getter]
    fn constants(&self) -> Vec<(String, String, String, &'static str, String)> {
        let sections = self.chip.sections();
        let of = |(section, key, source): &(String, String, String)| {
            let part = sections.iter().find(|part| part.name() == section)?;
            let doc = part.keys().into_iter().find(|known| known.name == key)?.doc;
            Some((section.clone(), key.clone(), part.get(key)?.to_string(), doc, source.clone()))
        };
        self.chip.sources.iter().filter_map(of).collect()
    }

    /// Pages by retry steps under each condition; the last entry counts those that are not read.
    #[pyo3(signature = (conditions, threads, progress = None))]
    fn retry_steps(
        &self,
        py: Python<'_>,
        conditions: Vec<At>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Vec<u64>>> {
        let conditions: Vec<Condition> = conditions.into_iter().map(condition).collect();
        let tell = |share: f64| {
            if let Some(progress) = &progress {
                // A listener that fails must not end the measurement.
                Python::attach(|py| drop(progress.call1(py, (share,))));
            }
        };
        let steps = py.detach(|| retry_steps(&self.chip, self.population, &conditions, threads, &tell));
        py.check_signals()?;
        Ok(steps.into_iter().map(|steps| steps.pages).collect())
    }

    /// M_ERR under cuts of (tPRE, tEVAL, tDISCH).
    #[pyo3(signature = (at, cuts = (0.0, 0.0, 0.0)))]
    fn m_err(&self, py: Python<'_>, at: At, cuts: (f64, f64, f64)) -> u32 {
        let cuts = Cuts { pre: cuts.0, eval: cuts.1, disch: cuts.2 };
        py.detach(|| self.factors().m_err(&self.chip, condition(at), cuts))
    }

    /// The same before it is rounded up.
    #[pyo3(signature = (at, cuts = (0.0, 0.0, 0.0)))]
    fn m_err_between(&self, py: Python<'_>, at: At, cuts: (f64, f64, f64)) -> f64 {
        let cuts = Cuts { pre: cuts.0, eval: cuts.1, disch: cuts.2 };
        py.detach(|| self.factors().m_err_between(&self.chip, condition(at), cuts))
    }

    /// The largest cut of tPRE that leaves `margin` errors to the capability.
    fn safe_pre_cut(&self, py: Python<'_>, at: At, margin: u32) -> f64 {
        py.detach(|| self.factors().safe_pre_cut(&self.chip, condition(at), margin))
    }

    /// Expected pages that fail in the last step under cuts.
    fn failing(&self, py: Python<'_>, at: At, cuts: (f64, f64, f64)) -> f64 {
        let cuts = Cuts { pre: cuts.0, eval: cuts.1, disch: cuts.2 };
        py.detach(|| self.factors().failing(&self.chip, condition(at), cuts))
    }

    /// The first day on which a default read of some page has more than `errors` per KiB on average.
    fn first_day(&self, py: Python<'_>, x: f64, errors: f64) -> Option<f64> {
        py.detach(|| self.factors().first_day(&self.chip, x, errors, 400))
    }

    /// The largest error rate of the chunks of a 16-KiB page over the smallest, of the first `pages` pages.
    fn chunk_spread(&self, kib: u32, pages: u32) -> f64 {
        let draws = Draws::new(self.population.seed);
        let variation = &self.chip.variation;
        let per_block = variation.block_wordlines() * self.chip.cells.bits;
        let spread = |number: u32| {
            let (block, page) = (u64::from(number / per_block), number % per_block);
            let place = Place { chip: 0, block, wordline: page / self.chip.cells.bits };
            let rate = |chunk| variation.chunk_rate(&draws, place, page % self.chip.cells.bits, chunk, kib.into());
            let (least, most) = (0..16 / kib).map(rate).fold((f64::MAX, 0.0f64), |(a, b), r| (a.min(r), b.max(r)));
            most / least
        };
        (0..pages).map(spread).fold(1.0, f64::max)
    }

    /// Pages that the default references do not read, and their failed decodings with Sentinel.
    fn sentinel(&self, py: Python<'_>, at: At) -> (u64, u64) {
        let found = py.detach(|| nand::sentinel::read_all(&self.chip, self.population, condition(at)));
        (found.pages, found.failures)
    }

    /// Mean errors per KiB of a page with `log_factor`, with the references at `offset` (None: the best).
    fn errors(&self, page: u32, at: At, log_factor: f64, offset: Option<f64>) -> f64 {
        let cells = &self.chip.cells;
        let shape = cells.shape(at.0, at.1, 0.0, log_factor.exp());
        cells.errors(shape, page, offset.unwrap_or(shape.shift)) + cells.cold(at.2)
    }

    /// Every block after each of the rising P/E counts under the conventional erase scheme: (grains needed, wear, M_RBER).
    #[pyo3(signature = (pec, step = 50))]
    fn erase_lives(&self, py: Python<'_>, pec: Vec<u32>, step: u32) -> Vec<Vec<(f64, f64, f64)>> {
        let lives = py.detach(|| erase_lives(&self.chip, self.population, &pec, step.max(1)));
        lives
            .into_iter()
            .map(|blocks| blocks.into_iter().map(|life| (life.needed, life.wear, life.rber)).collect())
            .collect()
    }

    /// Blocks under an erase scheme every `step` cycles up to `last`: P/E cycles, mean and largest M_RBER, mean loops, share
    /// that two loops erase, mean time [ns], share that could not be erased.
    #[allow(clippy::too_many_arguments)] // Plain values from the Python side.
    fn lifetime(
        &self,
        py: Python<'_>,
        pulses: &str,
        margin: &str,
        voltage: &str,
        mispredictions: f64,
        requirement: f64,
        step: u32,
        last: u32,
    ) -> PyResult<Vec<BlockWear>> {
        let scheme = EraseScheme {
            pulses: ssd::run::parse("pulse", pulses).map_err(refuse)?,
            margin: ssd::run::parse("margin", margin).map_err(refuse)?,
            voltage: ssd::run::parse("voltage", voltage).map_err(refuse)?,
            mispredictions,
        };
        let Population { chips, blocks, seed } = self.population;
        let erasing = &self.chip.erasing;
        let places = (0..chips).flat_map(|chip| (0..blocks).map(move |block| (chip, block)));
        let blocks: Vec<BlockErase> = places.map(|(chip, block)| erasing.block(seed, chip, block)).collect();
        let eraser = Eraser::new(erasing, scheme, requirement);
        let found = py.detach(|| cycle(&eraser, &blocks, (step, last), seed));
        let row = |a: After| (a.pec, a.mean, a.most, a.loops, a.within_two, a.time, a.failed);
        Ok(found.into_iter().map(row).collect())
    }

    /// The erase-timing parameter table for a requirement: loops, range, grains without and with the margin.
    fn ept(&self, requirement: f64) -> Vec<(u32, usize, u32, u32)> {
        Ept::profile(&self.chip.erasing, requirement).rows().collect()
    }

    /// The read-timing parameter table that a drive with this chip has: P/E cycles, months at 30 °C, the share of tPRE that is
    /// cut.
    fn rpt(&self, py: Python<'_>) -> Vec<(u32, f64, f64)> {
        py.detach(|| Rpt::of(&self.chip)).rows().collect()
    }

    /// The VPT: the gate voltage of every wordline of a block.
    fn vpt(&self) -> Vec<f64> {
        let variation = &self.chip.variation;
        (0..variation.block_wordlines()).map(|w| self.chip.erasing.gate_volts(variation.profile(w))).collect()
    }

    /// The EPT's range of some fail bits; None above the last.
    fn fail_range(&self, fail_bits: f64) -> Option<usize> {
        Ept::range(&self.chip.erasing, fail_bits)
    }

    /// Grains of the default erase pulse, and the most loops of an erase.
    #[getter]
    fn erase_shape(&self) -> (u32, u32) {
        (self.chip.erasing.grains, self.chip.erasing.loops)
    }

    /// A grain of the erase pulse [ms].
    #[getter]
    fn grain_ms(&self) -> f64 {
        self.chip.erasing.t_grain.0 as f64 / 1e6
    }

    /// Whole grains of the least erase of a block.
    fn least_grains(&self, needed: f64) -> u32 {
        self.chip.erasing.least_grains(needed)
    }

    /// Loops of the conventional scheme for so many grains.
    fn loops_for(&self, grains: u32) -> u32 {
        self.chip.erasing.loops_for(grains)
    }

    /// Fail bits with so many grains still to go.
    fn fail_bits(&self, left: f64) -> f64 {
        self.chip.erasing.fail_bits(left)
    }

    /// Errors that so many grains too few add to what is programmed next.
    fn incomplete(&self, left: f64) -> f64 {
        self.chip.erasing.incomplete(left)
    }

    /// M_RBER of blocks that wear has made need so many grains more.
    fn m_rber(&self, added: f64) -> f64 {
        self.chip.erasing.rber(added)
    }

    /// The erase shift of a wordline relative to the slowest of its block, and the factor of a gate voltage on it.
    fn erase_shift(&self, wordline: u32, volts: f64) -> f64 {
        let erasing = &self.chip.erasing;
        erasing.wordline_shift(self.chip.variation.profile(wordline)) * erasing.gate(volts)
    }

    /// For every block: grains it needs when fresh, growth, wear, each relative to the typical one.
    fn erase_blocks(&self) -> Vec<(f64, f64, f64)> {
        let Population { chips, blocks, seed } = self.population;
        (0..chips)
            .flat_map(|chip| (0..blocks).map(move |block| (chip, block)))
            .map(|(chip, block)| {
                let BlockErase { fresh, growth, wear } = self.chip.erasing.block(seed, chip, block);
                (fresh, growth, wear)
            })
            .collect()
    }
}
