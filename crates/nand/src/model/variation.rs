//! How chips, blocks, layers and wordlines differ. Everything is a function of (seed, location): a hundred million
//! pages cost no memory.

use units::Stream;

use super::normal::{cdf, quantile};
use crate::geometry::Refusal;

units::section! {
    /// Differences between pages: the logarithm of a page's factor is the sum of five terms.
    pub struct Variation in "variation" {
        /// Standard deviation between chips.
        chip: f64 = 0.01,
        /// Standard deviation between the blocks of a chip.
        block: f64 = 0.01,
        /// Half the range over the layers of a block.
        layer: f64 = 0.045,
        /// Standard deviation between the wordlines of a layer.
        wordline: f64 = 0.005,
        /// Mean of an exponential term of a wordline that only raises its factor: weak wordlines. It ends at 5 means;
        /// 0: there are none.
        tail: f64 = 0.0,
        /// Standard deviation between the error rates of a page's KiBs, relative to the page's.
        kib: f64 = 0.016,
        /// Layers of a block.
        layers: u32 = 48,
        /// Wordlines of a layer.
        wordlines: u32 = 4,
    }
}

/// Normal variables end here: chips beyond are sorted out. Also keeps extremes finite however many pages there are.
pub const TRUNCATION: f64 = 2.5;

/// The exponential term of weak wordlines ends at this many of its means: one wordline in 150 would lie beyond. Keeps
/// extremes finite as [`TRUNCATION`] does.
pub const TAIL_END: f64 = 5.0;

/// A location in a population of chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chip.
    pub chip: u64,
    /// The block among those of its chip.
    pub block: u64,
    /// The wordline in its block.
    pub wordline: u32,
}

/// The random numbers of a population.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    chips: Stream,
    blocks: Stream,
    wordlines: Stream,
    tails: Stream,
    pages: Stream,
    kibs: Stream,
}

impl Draws {
    /// Those of `seed`.
    pub fn new(seed: u64) -> Draws {
        let stream = |name| Stream::new(seed, name);
        Draws {
            chips: stream("chip-variation"),
            blocks: stream("block-variation"),
            wordlines: stream("wordline-variation"),
            tails: stream("wordline-tail"),
            pages: stream("page-codewords"),
            kibs: stream("kib-variation"),
        }
    }

    /// The number of a block in the whole population.
    fn block(place: Place) -> u64 {
        (place.chip << 24) | place.block
    }

    /// The number of a page in its block: four a wordline, and a fifth far behind all of these.
    fn page(place: Place, page: u32) -> u64 {
        u64::from(page / 4) << 62 | u64::from(place.wordline * 4 + page % 4)
    }

    /// A truncated normal draw of a block, from the stream called `name`.
    pub fn of_block(seed: u64, name: &str, chip: u64, block: u64) -> f64 {
        truncated(Stream::new(seed, name).uniform(Draws::block(Place { chip, block, wordline: 0 })))
    }

    /// By how many standard deviations the worst of a page's codewords lies above their mean: the largest of
    /// `codewords` normal variables, frozen for the page.
    pub fn worst(&self, place: Place, page: u32, codewords: f64) -> f64 {
        let u = self.pages.uniform((Draws::block(place) << 12) | Draws::page(place, page));
        quantile(libm::pow(u.max(1e-300), 1.0 / codewords).min(1.0 - 1e-16))
    }
}

impl Variation {
    /// The error rate of chunk `chunk` of `kib` KiB of a page, relative to the page's; frozen for the page.
    pub fn chunk_rate(&self, draws: &Draws, place: Place, page: u32, chunk: u32, kib: f64) -> f64 {
        let kibs = draws.kibs.entity(Draws::block(place)).entity(Draws::page(place, page));
        let normal = quantile(kibs.uniform(chunk.into()).clamp(1e-12, 1.0 - 1e-12));
        (1.0 + self.kib / libm::sqrt(kib) * normal).max(0.0)
    }
}

/// An exponential variable of mean 1 that ends at [`TAIL_END`].
fn exponential(uniform: f64) -> f64 {
    -libm::log1p(-uniform * (1.0 - libm::exp(-TAIL_END)))
}

/// A normal variable that ends at ±[`TRUNCATION`].
fn truncated(uniform: f64) -> f64 {
    let below = cdf(-TRUNCATION);
    quantile(below + uniform * (1.0 - 2.0 * below))
}

impl Variation {
    /// Wordlines of a block.
    pub fn block_wordlines(&self) -> u32 {
        self.layers * self.wordlines
    }

    /// Where a layer lies between the best (-1) and the worst (1): channel holes narrow towards the bottom
    /// (electronics25 section 2.3), evenly (`assumed`).
    pub fn profile(&self, wordline: u32) -> f64 {
        let layer = wordline / self.wordlines;
        if self.layers < 2 { 0.0 } else { 2.0 * f64::from(layer) / f64::from(self.layers - 1) - 1.0 }
    }

    /// The part of a page's log factor that its block shares.
    pub fn log_of_block(&self, draws: &Draws, chip: u64, block: u64) -> f64 {
        let place = Place { chip, block, wordline: 0 };
        self.chip * truncated(draws.chips.uniform(chip))
            + self.block * truncated(draws.blocks.uniform(Draws::block(place)))
    }

    /// The part that is a wordline's own.
    pub fn log_of_wordline(&self, draws: &Draws, place: Place) -> f64 {
        let counter = (Draws::block(place) << 10) | u64::from(place.wordline);
        let tail = if self.tail > 0.0 { self.tail * exponential(draws.tails.uniform(counter)) } else { 0.0 };
        self.layer * self.profile(place.wordline) + self.wordline * truncated(draws.wordlines.uniform(counter)) + tail
    }

    /// The logarithm of the factor of a wordline's pages.
    pub fn log_factor(&self, draws: &Draws, place: Place) -> f64 {
        self.log_of_block(draws, place.chip, place.block) + self.log_of_wordline(draws, place)
    }

    /// Between which the log factors of all pages lie, as their middle and half their range.
    pub fn bounds(&self) -> (f64, f64) {
        let normal = TRUNCATION * (self.chip + self.block + self.wordline) + self.layer;
        let tail = TAIL_END * self.tail;
        (tail / 2.0, (normal + tail / 2.0).max(1e-6))
    }

    /// What is wrong with the constants: key, problem, remedy.
    pub fn refusal(&self) -> Option<Refusal> {
        let terms = [
            ("chip", self.chip),
            ("block", self.block),
            ("layer", self.layer),
            ("wordline", self.wordline),
            ("tail", self.tail),
            ("kib", self.kib),
        ];
        if let Some((key, value)) = terms.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Some(Refusal::of(key, format!("is {value}"), "write 0 to 1"));
        }
        if self.layers == 0 || self.wordlines == 0 || self.block_wordlines() > 1023 {
            let problem = format!("and wordlines make {} wordlines a block", self.layers * self.wordlines);
            return Some(Refusal::of("layers", problem, "write 1 to 1,023 wordlines a block"));
        }
        None
    }
}
