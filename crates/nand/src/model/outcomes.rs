//! Precomputed read outcomes of simulated pages.
//!
//! As the papers map measured blocks onto simulated ones, every block of a drive stands for one of a few hundred
//! archetypes drawn from the population. The retry steps of an archetype's pages are computed once for each bin of
//! wear, age and reads that a run meets, so memory does not grow with the drive.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::{HashMap, HashMapExt as _};
use units::{Span, Stream};

use super::VirtualChip;
use super::cells::{KIB_BITS, MONTH_NS};
use super::ladder::{Ladder, Shelf};
use super::measured::MeasuredSteps;
use super::sensing::Cuts;
use super::variation::{Draws, Place};
use crate::characterize::CODEWORDS;
use crate::rpt::Rpt;

/// Blocks drawn from the population.
pub const ARCHETYPES: u64 = 256;
/// Cycles of a bin of wear: a quarter of a retry step at most on the chips of asplos21.
const CYCLES: u32 = 50;
/// Bins of age to each doubling of 1 + age / shift_time: a seventh of a step.
const AGES: f64 = 36.0;
/// Bins of reads to each doubling of 1 + reads / the unit: a read count is right to a twentieth.
const READS: f64 = 8.0;
/// The unit of reads, and what is taken for none: those that lift a fresh block's erased state so far [half pitches].
const LIFT: f64 = 0.01;
/// Chunks kept at most; then all are dropped and computed again when they are needed.
const CHUNKS: usize = 1 << 16;
/// Bytes that the tables of all drives of a process take at most: one that needs more then drops its own first, and
/// works them out again as they are needed (assumed: with it a thousand drives fit in 4 GiB).
const TABLES: usize = 2_500 << 20;
/// No codeword of a page lies further above their mean \[deviations]: one in 10^15 would.
const WORST: f64 = 8.0;
/// Kelvins of a step in which the drive's temperature is followed: a thirtieth of a retry step of cross-temperature.
pub const WARMER: f64 = 2.0;
/// In place of a step: none reads the page.
pub const UNCORRECTABLE: u8 = u8::MAX;
/// Layers of a block where their number is not known: those of asplos21's chips (`assumed` of measured ones).
const LAYERS: u32 = 48;

/// Which of the blocks drawn from the population the blocks of a drive stand for.
#[derive(Clone, Copy, Debug)]
pub struct Archetypes(Stream);

impl Archetypes {
    /// Those of `seed`.
    pub fn new(seed: u64) -> Archetypes {
        Archetypes(Stream::new(seed, "archetypes"))
    }

    /// The archetype of block `block` of plane `plane`: the first block of the chip of that number in the population.
    #[inline]
    pub fn of(&self, plane: u32, block: u32) -> usize {
        (self.0.bits(Archetypes::name(plane, block)) % ARCHETYPES) as usize
    }

    /// A block of the drive, as [`Outcomes`] names it.
    pub fn name(plane: u32, block: u32) -> u64 {
        u64::from(plane) << 32 | u64::from(block)
    }
}

/// The state in which a page is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageState {
    /// Wear, as P/E cycles.
    pub pec: u32,
    /// Age of its data, as if kept at 30 °C.
    pub retention: Span,
    /// Reads of its block, as far as they disturb it.
    pub reads: u32,
    /// Steps of [`WARMER`] that it is read warmer than the drive is at rest.
    pub warmer: u8,
    /// Steps of [`WARMER`] that it was programmed warmer than the drive is at rest; none if it was programmed at
    /// [`Outcomes::programmed_at`].
    pub programmed: Option<u8>,
    /// Errors per KiB that incomplete erasure or narrower states add in its worst codeword.
    pub extra: f64,
}

/// The outcome of reading a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// The first step of the table, counted from the default references, that reads it, or [`UNCORRECTABLE`].
    pub first: u8,
    /// The last one. Of measured pages only the first is known; all later ones are taken to read it as well.
    pub last: u8,
    /// No step reads it with the tPRE of the RPT.
    pub weak: bool,
}

impl PageRead {
    /// A page that the default references read.
    const EASY: PageRead = PageRead { first: 0, last: 0, weak: false };
    /// A page that no step reads.
    const LOST: PageRead = PageRead { first: UNCORRECTABLE, last: 0, weak: true };
    /// In place of a page that has not been asked for: the last step of one that can be read is not before its first.
    const UNKNOWN: PageRead = PageRead { first: UNCORRECTABLE - 1, last: 0, weak: false };

    /// A page of which it was measured which step is the first that reads it, if any does.
    fn measured(first: Option<u8>) -> PageRead {
        first.map_or(PageRead::LOST, |first| PageRead { first, last: u8::MAX, weak: false })
    }

    /// Whether a sense with the references of a step, with the RPT's tPRE or the default one, is corrected.
    #[inline]
    pub fn by(&self, step: u8, reduced: bool) -> bool {
        self.first <= step && step <= self.last && !(reduced && self.weak)
    }
}

/// With which references a page is sensed, as far as they matter to its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensed {
    /// A read begins with those of a step of the table.
    First(u8),
    /// A retry with those of a step.
    Retry(u8),
    /// A retry with near-optimal ones.
    NearOptimal,
}

/// How retries are sensed faster (AR2).
#[derive(Clone, Debug, PartialEq)]
pub struct ReducedTpre {
    /// The table that gives the reduction.
    pub rpt: Arc<Rpt>,
    /// The chip's default tPRE \[ns].
    pub t_pre: u32,
    /// What is added to the table's tPRE \[ns]: a table that is wrong.
    pub error: f64,
    /// The recorded retention age, by which the table is asked, over the true one.
    pub age_error: f64,
}

impl ReducedTpre {
    /// tPRE under some conditions \[ns].
    fn t_pre(&self, pec: u32, age_ns: f64) -> u32 {
        let cut = self.rpt.cut(pec, Span((age_ns * self.age_error) as u64));
        (f64::from(self.t_pre) * (1.0 - cut) + self.error).round().clamp(0.0, f64::from(self.t_pre)) as u32
    }
}

/// Where the outcomes come from.
#[derive(Clone, Debug, PartialEq)]
pub enum OutcomeSource {
    /// A virtual chip.
    Virtual(Box<VirtualChip>),
    /// Measured steps.
    Measured(MeasuredSteps),
}

/// Bytes that the tables of all drives take now.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Bytes that the tables of one drive take.
#[derive(Default)]
struct Taken(usize);

impl Taken {
    fn add(&mut self, bytes: usize) {
        self.0 += bytes;
        TAKEN.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether this many more are too many for the process.
    fn is_short_of(&self, bytes: usize) -> bool {
        self.0 > 0 && TAKEN.load(Ordering::Relaxed) + bytes > TABLES
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The outcomes of reading the pages of a drive.
pub struct Outcomes {
    reading: OutcomeSource,
    /// The chip's ladders that have been worked out before.
    shelf: Shelf,
    faster: Option<ReducedTpre>,
    /// Pages of the drive's wordlines, and a bit for each of those whose boundaries include the sentinel's.
    bits: u32,
    sentinels: u32,
    /// The age that bins are counted in \[ns].
    unit: f64,
    /// Bins of reads are counted in one over this.
    per_read: f64,
    draws: Draws,
    archetypes: Archetypes,
    /// The temperature of the drive at rest.
    celsius: f64,
    /// Where pages were programmed before the run, if elsewhere.
    programmed_at: f64,
    /// Wordlines of the drive's blocks.
    wordlines: u32,
    /// For each archetype that was met the log factors and worst codewords of its pages; no numbers where a page was
    /// not asked for.
    pages: Vec<Box<[(f64, f64)]>>,
    /// The bins of wear, age and reads that have been met, and where they are in `bins`.
    index: HashMap<Key, usize>,
    bins: Vec<Bin>,
    /// The bins of the last read, and where they are: most reads of a run meet the same few.
    last: (Key, usize),
    chunks: usize,
    taken: Taken,
}

/// A bin of wear, one of age, one of reads and those of the temperatures.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    wear: u32,
    age: u32,
    reads: u32,
    warmer: u8,
    programmed: Option<u8>,
}

const _: () = assert!(size_of::<Key>() == 16, "the key of a read is compared with the last one");

impl Key {
    /// None that is ever met.
    const NONE: Key = Key { wear: u32::MAX, age: u32::MAX, reads: u32::MAX, warmer: 0, programmed: None };
}

/// What is known for one bin of wear, one of age and one of reads.
struct Bin {
    /// No page needs a retry: data is young, and nothing more need be known.
    easy: bool,
    /// tPRE of retries \[ns]; 0 where they are not sensed faster.
    t_pre: u32,
    /// For each page type, and the errors that the retries' tPRE adds to it.
    ladders: Vec<(Arc<Ladder>, f64)>,
    /// The outcomes of each archetype's pages, as far as they were asked for.
    reads: Vec<Option<Box<[PageRead]>>>,
}

impl Outcomes {
    /// For a drive whose blocks have `wordlines` wordlines of `bits` pages, which is at `celsius`, or at rest where its
    /// temperature changes.
    pub fn new(
        reading: OutcomeSource,
        faster: Option<ReducedTpre>,
        bits: u32,
        wordlines: u32,
        celsius: f64,
        seed: u64,
    ) -> Outcomes {
        let unit = match &reading {
            OutcomeSource::Virtual(chip) => chip.cells.shift_time.0 as f64,
            OutcomeSource::Measured(_) => MONTH_NS / 2.0,
        };
        let per_read = match &reading {
            OutcomeSource::Virtual(chip) => chip.cells.disturb / 1e6 / LIFT,
            OutcomeSource::Measured(_) => 0.0,
        };
        let has_sentinel = |page: u32| match &reading {
            OutcomeSource::Virtual(chip) => chip.cells.boundaries(page).contains(&chip.cells.sentinel_boundary()),
            OutcomeSource::Measured(_) => page == 0,
        };
        let sentinels = (0..bits).filter(|page| has_sentinel(*page)).fold(0, |set, page| set | 1 << page);
        let shelf = match &reading {
            OutcomeSource::Virtual(chip) => Shelf::of(chip),
            OutcomeSource::Measured(_) => Shelf::default(),
        };
        let (draws, archetypes) = (Draws::new(seed), Archetypes::new(seed));
        let (index, bins, last) = (HashMap::new(), Vec::new(), (Key::NONE, 0));
        let pages = vec![Box::default(); ARCHETYPES as usize];
        Outcomes {
            reading,
            shelf,
            faster,
            bits,
            sentinels,
            unit,
            per_read,
            draws,
            archetypes,
            celsius,
            programmed_at: celsius,
            wordlines,
            pages,
            index,
            bins,
            last,
            chunks: 0,
            taken: Taken::default(),
        }
    }

    /// These outcomes where pages from before the run were programmed at another temperature.
    pub fn programmed_at(self, celsius: f64) -> Outcomes {
        Outcomes { programmed_at: celsius, ..self }
    }

    /// The temperatures [°C] of a read and of its page's program, as [`PageState`] has them.
    pub fn temperatures(&self, warmer: u8, programmed: Option<u8>) -> [f64; 2] {
        let warmed = |steps: u8| self.celsius + WARMER * f64::from(steps);
        [warmed(warmer), programmed.map_or(self.programmed_at, warmed)]
    }

    /// The archetype of a block of the drive.
    fn archetype(&self, block: u64) -> usize {
        self.archetypes.of((block >> 32) as u32, block as u32)
    }

    /// The last step of the retry table.
    pub fn last_step(&self) -> u8 {
        match &self.reading {
            OutcomeSource::Virtual(chip) => chip.cells.retry_steps as u8,
            OutcomeSource::Measured(steps) => steps.most(),
        }
    }

    /// The layer of a page of the drive, and how many layers there are.
    pub fn layer(&self, page: u32) -> (u32, u32) {
        let layers = match &self.reading {
            OutcomeSource::Virtual(chip) => chip.variation.layers,
            OutcomeSource::Measured(_) => LAYERS,
        };
        ((u64::from(page / self.bits) * u64::from(layers) / u64::from(self.wordlines.max(1))) as u32, layers)
    }

    /// The wordlines of the drive's blocks on the layer of a page: the first, and the one behind the last.
    pub fn wordlines_beside(&self, page: u32) -> [u32; 2] {
        let (layer, layers) = self.layer(page);
        let first =
            |layer: u32| (u64::from(layer) * u64::from(self.wordlines.max(1))).div_ceil(u64::from(layers)) as u32;
        [first(layer), first(layer + 1)]
    }

    /// A class of similar ages: quarters of a doubling.
    pub fn age_class(&self, retention: Span) -> u32 {
        bin(retention.0 as f64 / self.unit, AGES) / (AGES as u32 / 4)
    }

    /// The bins of a state.
    #[inline]
    fn key(&self, at: PageState) -> Key {
        let reads = if at.reads == 0 { 0 } else { bin(f64::from(at.reads) * self.per_read, READS) };
        let age = bin(at.retention.0 as f64 / self.unit, AGES);
        Key { wear: at.pec / CYCLES, age, reads, warmer: at.warmer, programmed: at.programmed }
    }

    /// tPRE of retries of a page in such a state \[ns], where retries are sensed faster.
    pub fn retry_t_pre(&mut self, at: PageState) -> Option<u32> {
        self.faster.as_ref()?;
        let at = self.find(self.key(at));
        Some(self.bins[at].t_pre)
    }

    /// The outcome of reading page `page` of a block.
    #[inline]
    pub fn read(&mut self, block: u64, page: u32, at: PageState) -> PageRead {
        let key = self.key(at);
        if key != self.last.0 {
            self.last = (key, self.find(key));
        }
        let bin = &self.bins[self.last.1];
        if bin.easy && at.extra == 0.0 {
            return PageRead::EASY;
        }
        let archetype = self.archetype(block);
        let read = match &bin.reads[archetype] {
            Some(reads) if reads[page as usize] != PageRead::UNKNOWN => reads[page as usize],
            _ => self.compute(key, archetype, page),
        };
        if at.extra == 0.0 { read } else { self.with_extra(read, archetype, page, at.extra) }
    }

    /// What is left of a page's steps when its worst codeword has `extra` errors more. As with the errors of a reduced
    /// tPRE, which steps pass follows from the table; but those of the best references, which a step that passes has,
    /// must leave room for them (see [`Ladder`]), and the default references' own errors must.
    fn with_extra(&mut self, read: PageRead, archetype: usize, page: u32, extra: f64) -> PageRead {
        self.draw(archetype, page);
        let (OutcomeSource::Virtual(chip), false) = (&self.reading, read.first == UNCORRECTABLE) else { return read };
        let (ladder, added) = &self.bins[self.last.1].ladders[(page % self.bits) as usize];
        let (log_factor, worst) = self.pages[archetype][page as usize];
        let limit = f64::from(chip.cells.capability) + 0.5 - extra;
        let fits = |errors: f64| in_worst(errors, worst) <= limit;
        let least = ladder.least(log_factor);
        if !fits(least) {
            return PageRead::LOST;
        }
        let first = if read.first > 0 || fits(ladder.default(log_factor)) { read.first } else { 1 };
        PageRead { first, last: read.last.max(first), weak: read.weak || !fits(least + added) }
    }

    /// Whether a first sense with the references of a step and the RPT's tPRE is corrected, of a page of a virtual chip
    /// that they read with the default one: the errors of that step and what the cut adds leave room for the page's
    /// worst codeword.
    pub fn first_in_haste(&mut self, block: u64, page: u32, at: PageState, step: u8) -> bool {
        let read = self.read(block, page, at);
        let archetype = self.archetype(block);
        self.draw(archetype, page);
        let Some((ladder, added)) = self.bins[self.last.1].ladders.get((page % self.bits) as usize) else {
            return false;
        };
        let OutcomeSource::Virtual(chip) = &self.reading else { return false };
        let (log_factor, worst) = self.pages[archetype][page as usize];
        let errors = ladder.errors(log_factor, step.into()) + added + at.extra;
        let limit = f64::from(chip.cells.capability) + 0.5;
        read.by(step, false) && in_worst(errors, worst) <= limit
    }

    /// Errors per KiB that the RPT's tPRE adds to a page.
    pub fn added_in_haste(&mut self, block: u64, page: u32, at: PageState) -> f64 {
        self.read(block, page, at);
        self.bins[self.last.1].ladders.get((page % self.bits) as usize).map_or(0.0, |(_, added)| *added)
    }

    /// The raw bit error rate of page `page` of a block, sensed with some references and the RPT's tPRE or the default
    /// one; and the step of the table next to the page's best references. None where nothing but steps has been
    /// measured.
    ///
    /// A retry that passes leaves the errors of the best references (see [`Ladder`]).
    pub fn rber(&mut self, block: u64, page: u32, at: PageState, sensed: Sensed, reduced: bool) -> Option<(f64, u8)> {
        let read = self.read(block, page, at);
        let archetype = self.archetype(block);
        self.draw(archetype, page);
        // The bins of the read that was just looked up.
        let (ladder, added) = self.bins[self.last.1].ladders.get((page % self.bits) as usize)?;
        let (log_factor, _) = self.pages[archetype][page as usize];
        let errors = match sensed {
            Sensed::NearOptimal => ladder.least(log_factor),
            Sensed::Retry(step) if read.by(step, false) => ladder.least(log_factor),
            Sensed::Retry(step) | Sensed::First(step) => ladder.errors(log_factor, step.into()),
        };
        let added = if reduced { *added } else { 0.0 };
        Some(((errors + added + at.extra) / KIB_BITS, ladder.best(log_factor) as u8))
    }

    /// Errors per KiB in the worst codeword of a page that is sensed so, which decoding it finds; see
    /// [`Outcomes::rber`].
    pub fn found(&mut self, block: u64, page: u32, at: PageState, sensed: Sensed, reduced: bool) -> Option<f64> {
        let (rate, _) = self.rber(block, page, at, sensed, reduced)?;
        let (_, worst) = self.pages[self.archetype(block)][page as usize];
        Some(in_worst(rate * KIB_BITS - at.extra, worst) + at.extra)
    }

    /// That of `pages` of a block which has the most errors in its worst codeword with the best references, and these
    /// per KiB. None where nothing but steps has been measured.
    pub fn worst_page(&mut self, block: u64, pages: Range<u32>, at: PageState) -> Option<(u32, f64)> {
        let (bin, archetype) = (self.find(self.key(at)), self.archetype(block));
        let errors = |page: u32| {
            self.draw(archetype, page);
            let (ladder, _) = self.bins[bin].ladders.get((page % self.bits) as usize)?;
            let (log_factor, worst) = self.pages[archetype][page as usize];
            Some((page, in_worst(ladder.least(log_factor), worst) + at.extra))
        };
        pages.filter_map(errors).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The error rate of codeword `index`, of `kib` KiB, of a page, relative to the page's.
    pub fn codeword_rate(&self, block: u64, page: u32, index: u32, kib: f64) -> f64 {
        let OutcomeSource::Virtual(chip) = &self.reading else { return 1.0 };
        let place = Place { chip: self.archetype(block) as u64, block: 0, wordline: page / self.bits };
        chip.variation.chunk_rate(&self.draws, place, page % self.bits, index, kib)
    }

    /// Whether the boundaries of a page include the sentinel's.
    #[inline]
    pub fn has_sentinel(&self, page: u32) -> bool {
        self.sentinels >> (page % self.bits) & 1 != 0
    }

    /// Where the bins of a key are, made if they are met for the first time.
    fn find(&mut self, key: Key) -> usize {
        if let Some(at) = self.index.get(&key) {
            return *at;
        }
        if self.chunks + self.bins.len() >= CHUNKS {
            self.forget();
        }
        let x = (f64::from(key.wear) + if key.wear == 0 { 0.0 } else { 0.5 }) * f64::from(CYCLES) / 1e3;
        let age_ns = middle_of(key.age, AGES) * self.unit;
        let reads = if key.reads == 0 { 0.0 } else { middle_of(key.reads, READS) / self.per_read };
        let months = age_ns / MONTH_NS;
        let t_pre = self.faster.as_ref().map_or(0, |faster| {
            // A bin takes its mildest condition: what is asked for is often the end of a profiled range.
            faster.t_pre(key.wear * CYCLES, value_at(f64::from(key.age), AGES) * self.unit)
        });
        let [celsius, programmed_at] = self.temperatures(key.warmer, key.programmed);
        let mut ladders: Vec<(Arc<Ladder>, f64)> = Vec::new();
        let mut easy = false;
        if let OutcomeSource::Virtual(chip) = &self.reading {
            let cut =
                self.faster.as_ref().map_or(0.0, |faster| 1.0 - f64::from(t_pre) / f64::from(faster.t_pre.max(1)));
            let (cuts, relative) = (Cuts { pre: cut, ..Cuts::default() }, chip.relative_shift(x, months));
            ladders.extend((0..self.bits).map(|page| {
                let added = chip.sensing.added(cuts, chip.senses(page), x, relative, celsius);
                (self.shelf.crossed(chip, page, [x, months, reads], celsius, programmed_at), added)
            }));
            let (middle, half) = chip.variation.bounds();
            easy = ladders.iter().all(|(ladder, _)| ladder.steps(middle + half, WORST) == Some(0));
        }
        self.bins.push(Bin { easy, t_pre, ladders, reads: vec![None; ARCHETYPES as usize] });
        self.index.insert(key, self.bins.len() - 1);
        self.bins.len() - 1
    }

    /// Drops what has been worked out.
    fn forget(&mut self) {
        self.pages.iter_mut().for_each(|pages| *pages = Box::default());
        (self.index, self.bins, self.chunks) = (HashMap::new(), Vec::new(), 0);
        self.last = (Key::NONE, 0);
        self.taken = Taken::default();
    }

    #[cold]
    fn compute(&mut self, key: Key, archetype: usize, page: u32) -> PageRead {
        let mut at = self.find(key);
        let chunk = (self.wordlines * self.bits) as usize * size_of::<PageRead>();
        if self.bins[at].reads[archetype].is_none() {
            if self.taken.is_short_of(chunk + self.bytes_of_pages()) {
                self.forget();
                at = self.find(key);
            }
            self.taken.add(chunk);
        }
        self.draw(archetype, page);
        let Outcomes { reading, pages, bins, archetypes, wordlines, bits, unit, .. } = self;
        let Bin { reads, ladders, .. } = &mut bins[at];
        self.chunks += usize::from(reads[archetype].is_none());
        let chunk = reads[archetype].get_or_insert_with(|| match reading {
            OutcomeSource::Virtual(_) => vec![PageRead::UNKNOWN; (*wordlines * *bits) as usize].into(),
            OutcomeSource::Measured(steps) => {
                let retention = Span((middle_of(key.age, AGES) * *unit) as u64);
                let draws = archetypes.0.entity(1);
                let first =
                    steps.of_archetype(draws, archetype as u64, *wordlines * *bits, key.wear * CYCLES, retention);
                first.map(PageRead::measured).collect()
            }
        });
        let read = &mut chunk[page as usize];
        if let OutcomeSource::Virtual(chip) = reading {
            *read = page_read(chip, &ladders[(page % *bits) as usize], pages[archetype][page as usize]);
        }
        let read = *read;
        self.last = (key, at);
        read
    }

    /// Bytes of what is drawn of an archetype's pages.
    fn bytes_of_pages(&self) -> usize {
        (self.wordlines * self.bits) as usize * size_of::<(f64, f64)>()
    }

    /// Draws the log factor and the worst codeword of an archetype's page, if that has not been done: the first block
    /// of a chip of its own.
    fn draw(&mut self, archetype: usize, page: u32) {
        let bytes = self.bytes_of_pages();
        let OutcomeSource::Virtual(chip) = &self.reading else { return };
        let pages = &mut self.pages[archetype];
        if pages.is_empty() {
            self.taken.add(bytes);
            *pages = vec![(f64::NAN, f64::NAN); (self.wordlines * self.bits) as usize].into();
        }
        if !pages[page as usize].0.is_nan() {
            return;
        }
        let (variation, wordline) = (&chip.variation, page / self.bits);
        let place = Place { chip: archetype as u64, block: 0, wordline };
        // The drive's wordlines are spread over the model's layers.
        let own = u64::from(wordline) * u64::from(variation.block_wordlines()) / u64::from(self.wordlines);
        let shared = variation.log_of_block(&self.draws, place.chip, place.block);
        let log_factor = shared + variation.log_of_wordline(&self.draws, Place { wordline: own as u32, ..place });
        pages[page as usize] = (log_factor, self.draws.worst(place, page % self.bits, CODEWORDS));
    }

    /// Bytes that the tables of outcomes take.
    pub fn memory(&self) -> usize {
        let reads = self.bins.iter().flat_map(|bin| bin.reads.iter().flatten());
        reads.map(|reads| size_of_val::<[PageRead]>(reads)).sum()
    }
}

/// The outcomes of a page with such a log factor and worst codeword.
fn page_read(chip: &VirtualChip, (ladder, added): &(Arc<Ladder>, f64), (log_factor, worst): (f64, f64)) -> PageRead {
    let limit = f64::from(chip.cells.capability) + 0.5;
    let Some(first) = ladder.steps(log_factor, worst) else { return PageRead::LOST };
    let last = ladder.last_from(log_factor, worst, first);
    // The errors of the passing step are those of the best references (see `Ladder`), and what the cut adds.
    let errors = ladder.least(log_factor) + added;
    let weak = (limit - errors) / libm::sqrt(errors.max(1e-9)) < worst;
    PageRead { first: first as u8, last: last as u8, weak }
}

/// The bin of an age, in units of the chip's shift_time, or of a number of reads: `steps` to each doubling of 1 +
/// value, the logarithm taken piecewise straight between powers of two, as the bits of a number hold it.
#[inline]
fn bin(value: f64, steps: f64) -> u32 {
    let bits = (1.0 + value).to_bits() - 1.0f64.to_bits();
    (bits as f64 * (steps / (1u64 << 52) as f64)) as u32
}

/// The value in the middle of a bin; 0 in the first.
fn middle_of(bin: u32, steps: f64) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    value_at(f64::from(bin) + 0.5, steps)
}

/// The value at an index among the bins.
fn value_at(place: f64, steps: f64) -> f64 {
    f64::from_bits((place / steps * (1u64 << 52) as f64) as u64 + 1.0f64.to_bits()) - 1.0
}

/// Errors per KiB of a codeword that lies `worst` deviations above the mean of its page.
fn in_worst(errors: f64, worst: f64) -> f64 {
    errors + worst * libm::sqrt(errors.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_their_middles_and_grow() {
        for steps in [AGES, READS] {
            for index in 1..steps as u32 * 25 {
                assert_eq!(bin(middle_of(index, steps), steps), index);
            }
            let mut last = 0;
            for step in 0..10_000 {
                let index = bin(f64::from(step) * 0.01, steps);
                assert!(index >= last);
                last = index;
            }
            assert_eq!(bin(0.0, steps), 0);
        }
    }

    #[test]
    fn drives_with_the_same_chip_share_its_ladders_and_pages_are_worked_out_as_they_are_met() {
        let chip = |capability| {
            let mut chip = VirtualChip::preset("tlc48").unwrap();
            chip.cells.capability = capability;
            chip
        };
        let of = |capability| {
            let chip = OutcomeSource::Virtual(Box::new(chip(capability)));
            Outcomes::new(chip, None, 3, 64, 30.0, 1)
        };
        let at =
            PageState { pec: 1_000, retention: Span(1 << 53), reads: 0, warmer: 0, programmed: Some(0), extra: 0.0 };
        let (mut first, mut second, mut other) = (of(72), of(72), of(71));
        let forwards: Vec<PageRead> = (0..192).map(|page| first.read(5, page, at)).collect();
        let met = first.bins[0].reads.iter().flatten().flatten().filter(|read| **read != PageRead::UNKNOWN).count();
        assert_eq!(met, 192);
        assert_eq!(second.read(5, 7, at), forwards[7]);
        let met = second.bins[0].reads.iter().flatten().flatten().filter(|read| **read != PageRead::UNKNOWN).count();
        assert_eq!(met, 1);
        let mut backwards: Vec<PageRead> = (0..192).rev().map(|page| second.read(5, page, at)).collect();
        backwards.reverse();
        assert_eq!(backwards, forwards);
        other.read(5, 7, at);
        let ladder = |of: &Outcomes| Arc::clone(&of.bins[0].ladders[1].0);
        assert!(Arc::ptr_eq(&ladder(&first), &ladder(&second)));
        assert!(!Arc::ptr_eq(&ladder(&first), &ladder(&other)));
    }

    #[test]
    fn what_an_erase_has_left_costs_steps_and_the_margin_of_reduced_timing() {
        let chip = VirtualChip::preset("tlc48").unwrap();
        let rpt = Rpt::of(&chip);
        let faster = ReducedTpre { rpt, t_pre: 24_000, error: 0.0, age_error: 1.0 };
        let mut outcomes = Outcomes::new(OutcomeSource::Virtual(Box::new(chip)), Some(faster), 3, 64, 30.0, 1);
        let mut sums = [0u32; 3];
        let mut weak = [0u32; 3];
        for (place, extra) in [0.0, 20.0, 40.0].into_iter().enumerate() {
            for page in 0..192 {
                for days in [0, 1, 10, 30, 200] {
                    let retention = Span(days * 86_400_000_000_000);
                    let at =
                        |extra| PageState { pec: 1_000, retention, reads: 0, warmer: 0, programmed: Some(0), extra };
                    let (plain, read) = (outcomes.read(3, page, at(0.0)), outcomes.read(3, page, at(extra)));
                    assert!(read.first >= plain.first && read.weak >= plain.weak, "{plain:?} {read:?}");
                    assert!(read.first == UNCORRECTABLE || read.first <= read.last);
                    sums[place] += u32::from(read.first);
                    weak[place] += u32::from(read.weak);
                    // No errors fit beside this many.
                    assert_eq!(outcomes.read(3, page, at(73.0)).first, UNCORRECTABLE);
                }
            }
        }
        assert!(sums[0] < sums[1] && sums[1] <= sums[2], "{sums:?}");
        assert!(weak[0] == 0 && weak[2] > weak[1], "{weak:?}");
    }
}
