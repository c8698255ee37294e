//! Virtual chips for Python.

use nand::characterize::{Condition, Factors, Population, erase_lives, retry_steps};
use nand::ept::{Ept, EptEntry};
use nand::model::ConstantSource;
use nand::model::erasing::BlockErase;
use nand::model::sensing::Cuts;
use nand::model::variation::{Draws, Place};
use nand::rpt::{Rpt, RptEntry};
use nand::{VirtualChip, model};
use pyo3::prelude::*;
use ssd::lifetime::{After, EraseScheme, Eraser, cycle};

use crate::error::refuse;

/// A virtual chip and a population of it.
#[pyclass(module = "ssdlab._core", frozen, subclass)]
pub struct Chip {
    chip: VirtualChip,
    population: Population,
    factors: std::sync::OnceLock<Factors>,
}

/// A condition, in Python (thousand P/E cycles, months at 30 °C, °C of the read).
struct At(Condition);

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<At> {
        let [x, months, celsius] = three(given)?;
        Ok(At(Condition { x, months, celsius }))
    }
}

/// Shares that are cut, in Python (tPRE, tEVAL, tDISCH).
struct CutShares(Cuts);

impl CutShares {
    const NONE: CutShares = CutShares(Cuts { pre: 0.0, eval: 0.0, disch: 0.0 });
}

impl<'py> FromPyObject<'_, 'py> for CutShares {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<CutShares> {
        let [pre, eval, disch] = three(given)?;
        Ok(CutShares(Cuts { pre, eval, disch }))
    }
}

fn three(given: Borrowed<'_, '_, PyAny>) -> PyResult<[f64; 3]> {
    given.extract::<(f64, f64, f64)>().map(<[f64; 3]>::from)
}

/// A constant of a chip.
#[derive(IntoPyObject)]
struct Constant {
    section: String,
    key: String,
    value: String,
    about: &'static str,
    source: String,
}

/// A block after some cycles under the conventional erase scheme.
#[derive(IntoPyObject)]
struct BlockLife {
    /// Grains that its erase needs.
    needed: f64,
    wear: f64,
    /// M_RBER.
    rber: f64,
}

/// Blocks after some cycles under an erase scheme.
#[derive(IntoPyObject)]
struct BlockWear {
    /// P/E cycles.
    pec: u32,
    /// Mean M_RBER.
    mean: f64,
    /// The largest M_RBER.
    most: f64,
    /// Mean loops of an erase.
    loops: f64,
    /// The share that two loops erase.
    within_two: f64,
    /// Mean time of an erase \[ns].
    time_ns: f64,
    /// The share that could not be erased.
    failed: f64,
}

/// An entry of the erase-timing parameter table.
#[derive(IntoPyObject)]
struct EptRow {
    loops: u32,
    range: usize,
    /// Grains without the margin.
    safe: u32,
    /// Grains with it.
    spared: u32,
}

/// An entry of the read-timing parameter table.
#[derive(IntoPyObject)]
struct RptRow {
    /// P/E cycles.
    pec: u32,
    /// Months at 30 °C.
    months: f64,
    /// The share of tPRE that is cut.
    cut: f64,
}

/// How a block erases, relative to the typical one.
#[derive(IntoPyObject)]
struct ErasedBlock {
    /// Grains that it needs when fresh.
    fresh: f64,
    growth: f64,
    wear: f64,
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

    /// Every constant.
    #[getter]
    fn constants(&self) -> Vec<Constant> {
        let sections = self.chip.sections();
        let of = |ConstantSource { section, key, source }: &ConstantSource| {
            let part = sections.iter().find(|part| part.name() == section)?;
            let about = part.keys().into_iter().find(|known| known.name == key)?.doc;
            let value = part.get(key)?.to_string();
            Some(Constant { section: section.clone(), key: key.clone(), value, about, source: source.clone() })
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
        let conditions: Vec<Condition> = conditions.into_iter().map(|At(condition)| condition).collect();
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
    #[pyo3(signature = (at, cuts = CutShares::NONE))]
    fn m_err(&self, py: Python<'_>, at: At, cuts: CutShares) -> u32 {
        py.detach(|| self.factors().m_err(&self.chip, at.0, cuts.0))
    }

    /// M_ERR under cuts of (tPRE, tEVAL, tDISCH), before it is rounded up.
    #[pyo3(signature = (at, cuts = CutShares::NONE))]
    fn m_err_between(&self, py: Python<'_>, at: At, cuts: CutShares) -> f64 {
        py.detach(|| self.factors().m_err_between(&self.chip, at.0, cuts.0))
    }

    /// The largest cut of tPRE that leaves `margin` errors to the capability.
    fn safe_pre_cut(&self, py: Python<'_>, at: At, margin: u32) -> f64 {
        py.detach(|| self.factors().safe_pre_cut(&self.chip, at.0, margin))
    }

    /// Expected pages that fail in the last step under cuts.
    fn failing(&self, py: Python<'_>, at: At, cuts: CutShares) -> f64 {
        py.detach(|| self.factors().failing(&self.chip, at.0, cuts.0))
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
        let found = py.detach(|| nand::sentinel::read_all(&self.chip, self.population, at.0));
        (found.pages, found.failures)
    }

    /// Mean errors per KiB of a page with `log_factor`, with the references at `offset` (None: the best).
    fn errors(&self, page: u32, at: At, log_factor: f64, offset: Option<f64>) -> f64 {
        let cells = &self.chip.cells;
        let shape = cells.shape(at.0.x, at.0.months, 0.0, log_factor.exp());
        cells.errors(shape, page, offset.unwrap_or(shape.shift)) + cells.cold(at.0.celsius)
    }

    /// Every block after each of the rising P/E counts under the conventional erase scheme.
    #[pyo3(signature = (pec, step = 50))]
    fn erase_lives(&self, py: Python<'_>, pec: Vec<u32>, step: u32) -> Vec<Vec<BlockLife>> {
        let lives = py.detach(|| erase_lives(&self.chip, self.population, &pec, step.max(1)));
        lives
            .into_iter()
            .map(|blocks| {
                let blocks = blocks.into_iter();
                blocks.map(|of| BlockLife { needed: of.needed, wear: of.wear, rber: of.rber }).collect()
            })
            .collect()
    }

    /// Blocks under an erase scheme every `step` cycles up to `last`.
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
        let row = |a: After| BlockWear {
            pec: a.pec,
            mean: a.mean,
            most: a.most,
            loops: a.loops,
            within_two: a.within_two,
            time_ns: a.time,
            failed: a.failed,
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// The erase-timing parameter table for a requirement.
    fn ept(&self, requirement: f64) -> Vec<EptRow> {
        let row = |EptEntry { loops, range, safe, spared }| EptRow { loops, range, safe, spared };
        Ept::profile(&self.chip.erasing, requirement).rows().map(row).collect()
    }

    /// The read-timing parameter table that a drive with this chip has.
    fn rpt(&self, py: Python<'_>) -> Vec<RptRow> {
        let row = |RptEntry { pec, months, cut }| RptRow { pec, months, cut };
        py.detach(|| Rpt::of(&self.chip)).rows().map(row).collect()
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

    /// Loops of the conventional scheme for this many grains.
    fn loops_for(&self, grains: u32) -> u32 {
        self.chip.erasing.loops_for(grains)
    }

    /// Fail bits with this many grains still to go.
    fn fail_bits(&self, left: f64) -> f64 {
        self.chip.erasing.fail_bits(left)
    }

    /// Errors that this many grains too few add to what is programmed next.
    fn incomplete(&self, left: f64) -> f64 {
        self.chip.erasing.incomplete(left)
    }

    /// M_RBER of blocks that wear has made need this many grains more.
    fn m_rber(&self, added: f64) -> f64 {
        self.chip.erasing.rber(added)
    }

    /// The erase shift of a wordline relative to the slowest of its block, and the factor of a gate voltage on it.
    fn erase_shift(&self, wordline: u32, volts: f64) -> f64 {
        let erasing = &self.chip.erasing;
        erasing.wordline_shift(self.chip.variation.profile(wordline)) * erasing.gate(volts)
    }

    /// Every block of the population.
    fn erase_blocks(&self) -> Vec<ErasedBlock> {
        let Population { chips, blocks, seed } = self.population;
        (0..chips)
            .flat_map(|chip| (0..blocks).map(move |block| (chip, block)))
            .map(|(chip, block)| {
                let BlockErase { fresh, growth, wear } = self.chip.erasing.block(seed, chip, block);
                ErasedBlock { fresh, growth, wear }
            })
            .collect()
    }
}
