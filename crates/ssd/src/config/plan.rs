//! What follows from a configuration that has been checked.

use std::ops::Range;
use std::sync::Arc;

use nand::model::cells::KIB_BITS;
use nand::model::outcomes::{OutcomeSource, Outcomes, ReducedTpre};
use nand::model::variation::Variation;
use nand::rpt::Rpt;
use nand::{Layout, ProgramUnit, TailoredTable, Timings};
use schemes::learned::Trees;
use schemes::{Class, Next, Predictor, SuspendErase, SuspendProgram};
use units::{Bytes, ConfigError, Fraction, Lpn, Ppn, Rate, Retention, Span, Temperature};

use super::bus::{PageTime, Transfer};
use super::chip_model::Decoding;
use super::combinations;
use super::groups::Groups;
use super::modes::SlcPlan;
use super::refusal::{Refusal, dotted, in_section};
use super::space::Space;
use super::streams;
use super::zone_plan::ZonePlan;
use super::{Config, Placement, Raid};
use crate::lifetime::Eraser;
use crate::phases::Phases;
use crate::streams::{StreamId, Streams};

/// Programs of host data of each die that the write buffer has room for, from which on it has the next one ready most
/// of the time, and with twice as many always (assumed; measured on `tlc` with half as much spare capacity as data: at
/// 2.7 it has not always, at 5.3 it has).
const STORED: u64 = 2;

impl Config {
    /// Whether what the drive has been through before the run can be played: neither parity, nor a map that is kept for
    /// power cuts.
    pub(crate) fn plays_past(&self) -> bool {
        let Config { age, ftl: placing, mapping, power, .. } = self;
        let kept_for_cuts = !power.cut_at.is_empty() || mapping.checkpoint.is_some();
        age.is_stationary() && placing.raid.wide().is_none() && !kept_for_cuts
    }
}

/// A checked configuration with what follows from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The geometry, worked out.
    pub layout: Layout,
    /// Logical capacity \[pages].
    pub logical_pages: u64,
    /// Logical pages that one program command writes on a plane, or into a superblock.
    pub unit_pages: u32,
    /// Logical pages that are written together, where the unit of the map is larger than a flash page.
    pub unit_of_map: u32,
    /// Pages that the write buffer holds.
    pub slots: u32,
    /// tR, tPROG, tBERS.
    pub timings: Timings,
    /// The configuration this comes from.
    pub config: Config,
    pub(crate) page_time: PageTime,
    pub(crate) link: Rate,
    pub(crate) dram: Rate,
    pub(crate) space: Space,
    /// The SLC cache, where there is one.
    pub(crate) slc: Option<SlcPlan>,
    /// Where written data goes.
    pub(crate) streams: Streams,
    /// Reclaim groups and their handles.
    pub(crate) groups: Groups,
    /// The zones, where the drive has any.
    pub(crate) zones: Option<ZonePlan>,
    /// The phases of programs and of erases, where they are known; whether they are assumed where they are not; and
    /// whether any may be suspended.
    pub(crate) program_phases: Option<Phases>,
    pub(crate) erase_phases: Option<Phases>,
    pub(crate) assumes_phases: AssumesPhases,
    pub(crate) suspends: bool,
    /// Whether what similar pages have needed is kept for reads to come.
    pub(crate) remembers: bool,
    /// Whether what becomes of a retry with a step of the table follows from what its page is like alone: nobody
    /// predicts it, no code is given, and nothing is learned of it.
    pub(crate) plain_retries: bool,
    /// Whether any policy is from outside: it may make a mistake.
    pub(crate) asks: bool,
    /// Whether each page of host data is dealt to a plane before it waits for its program: by its address, or by an FTL
    /// of one's own.
    pub(crate) deals: bool,
    /// The rank of each class of operations: the smaller goes first.
    pub(crate) ranks: [u8; Class::COUNT],
    /// The temperature of the drive, where it stays; otherwise at rest, as at the start.
    pub(crate) at_rest: Temperature,
    /// How old the data is that the run starts with, at which temperature it was programmed, and whether that is
    /// another.
    pub(crate) retention: Retention,
    pub(crate) written_at: Temperature,
    pub(crate) crossed: bool,
    /// Whether there is a chip model.
    pub(crate) modelled: bool,
    /// What decides which errors reads meet; none also where none of them can yet.
    pub(crate) cells: Option<Arc<OutcomeSource>>,
    /// What is asked as soon as data is older than a fresh drive's ([`EASY_AGE`](super::chip_model::EASY_AGE)); none
    /// where it is asked from the start, or has been since.
    pub(crate) later: Option<Asked>,
    /// How blocks are erased, where it goes pulse by pulse, and how the wordlines of such a block differ.
    pub(crate) eraser: Option<(Eraser, Variation)>,
    /// How retries are sensed faster, if they are.
    pub(crate) faster: Option<ReducedTpre>,
    /// The retry table made for the chip, where reads take it.
    pub(crate) tailored: Option<Arc<TailoredTable>>,
    /// Decision trees for what is learned of first senses.
    pub(crate) trees: Option<Arc<Trees>>,
    /// What the code's decoder makes of pages, where one is given and reads can fail.
    pub(crate) code: Option<Arc<Decoding>>,
    /// Share of the predictions that are right, where it does not follow from the code.
    pub(crate) prediction_accuracy: Option<Fraction>,
}

/// What decides what reads meet, and how retries are sensed faster, if they are.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub cells: Arc<OutcomeSource>,
    pub faster: Option<ReducedTpre>,
}

/// Which operations are suspended at phases that nothing says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssumesPhases {
    pub of_programs: bool,
    pub of_erases: bool,
}

impl Plan {
    /// Whether an FTL of one's own stands in for the drive's.
    pub(crate) fn has_own_ftl(&self) -> bool {
        self.config.policies.ftl.is_some()
    }

    /// The RBER up to which hard decoding corrects a page, and how many errors per KiB more two bits a cell correct; 0
    /// where that is not known.
    pub(crate) fn capability(&self) -> (f64, f64) {
        match (&self.code, self.reading()) {
            (Some(code), _) => {
                let [hard, soft] = code.capabilities();
                (hard, (soft - hard).max(0.0) * self.config.ecc.strength * KIB_BITS)
            }
            (None, Some(OutcomeSource::Virtual(chip))) => (f64::from(chip.cells.capability) / KIB_BITS, 0.0),
            (None, _) => (0.0, 0.0),
        }
    }

    /// What decides what reads meet, if there is anything.
    pub fn reading(&self) -> Option<&OutcomeSource> {
        self.cells.as_deref()
    }

    /// Data has become older than a fresh drive's: its cells decide what reads meet from now on. Whether they had not
    /// before, and there are any.
    pub(crate) fn ask_cells(&mut self) -> bool {
        let Some(Asked { cells, faster }) = self.later.take() else { return false };
        (self.cells, self.faster) = (Some(cells), faster);
        true
    }

    /// What decides what reads of the SLC cache meet, where that holds more than one bit a cell: the virtual chip in
    /// its mode; and these bits.
    pub(crate) fn cells_of_slc(&self) -> Option<(OutcomeSource, u32)> {
        let bits = self.slc.as_ref()?.layout.bits;
        match self.reading()? {
            OutcomeSource::Virtual(chip) if bits > 1 => {
                Some((OutcomeSource::Virtual(Box::new(chip.in_mode(bits))), bits))
            }
            _ => None,
        }
    }

    /// The outcomes of reads of the drive's own cells, where any can fail.
    pub(crate) fn outcomes(&self, seed: u64) -> Option<Outcomes> {
        Some(self.outcomes_of(self.cells.as_deref()?.clone(), self.faster.clone(), self.layout.bits, seed))
    }

    /// The outcomes of reads of such cells, where they hold `bits` bits.
    pub(crate) fn outcomes_of(
        &self,
        cells: OutcomeSource,
        faster: Option<ReducedTpre>,
        bits: u32,
        seed: u64,
    ) -> Outcomes {
        let wordlines = self.layout.flash_pages().div_ceil(self.layout.bits);
        Outcomes::new(cells, faster, bits, wordlines, self.at_rest.0, seed).programmed_at(self.written_at.0)
    }

    /// Whether there is parity over dies.
    #[inline]
    pub(crate) fn has_parity(&self) -> bool {
        self.config.ftl.raid != Raid::None
    }

    /// Whether it depends on where relocated data comes from whether it is copied back.
    #[inline]
    pub(crate) fn copies_vary(&self) -> bool {
        let superblocks = self.layout.stripe > 1 && self.config.gc.copyback;
        self.slc.is_some() || self.config.gc.copyback_limit.is_some() || superblocks
    }

    /// Whether data is copied back whose errors are known.
    pub(crate) fn copies_errors(&self) -> bool {
        self.config.copies_back() && matches!(self.reading(), Some(OutcomeSource::Virtual(_)))
    }

    /// Whether it is kept which data was copied back, and how often: for its errors, or to limit them.
    pub(crate) fn counts_copies(&self) -> bool {
        self.copies_errors() || self.config.copies_back() && self.config.gc.copyback_limit.is_some()
    }

    /// By how much retries are sensed faster, where they are.
    pub fn rpt(&self) -> Option<&Rpt> {
        self.faster.as_ref().map(|faster| faster.rpt.as_ref())
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.logical_pages * self.layout.page_size.0)
    }

    /// Programs of relocated data that go before one of host data, which takes its turn with them: as many as wait on
    /// the die when its data comes; one where the write buffer has the next one ready, most of the time. None where it
    /// always has: relocation waits for its reads, which a busy die puts off, and goes on when pacing or the last free
    /// blocks keep the host out.
    pub(crate) fn relocations_between(&self) -> u32 {
        let layout = &self.layout;
        let of_dies = layout.page_size.0 * u64::from(self.unit_pages) * u64::from(layout.dies);
        let stored = self.config.buffer.size.0 / of_dies.max(1);
        if stored >= STORED {
            return u32::from(stored < 2 * STORED);
        }
        let flash_pages = (self.unit_pages / layout.shared() / layout.stripe).max(1);
        (self.config.gc.relocations / flash_pages).saturating_sub(1).max(1)
    }

    /// How long the host is idle before data of the SLC cache is folded, if it ever is for that.
    pub(crate) fn fold_idle(&self) -> Option<Span> {
        self.config.slc.fold_idle.filter(|_| self.slc.is_some())
    }

    /// Bytes from the beginning of a zone to that of the next one, where there are zones.
    pub fn zone_size(&self) -> Option<Bytes> {
        self.zones.as_ref().map(|zones| Bytes(zones.size_bytes()))
    }

    /// Whether a page is in a zone that is full at the start.
    pub(crate) fn fills_zone_with(&self, lpn: Lpn) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.holds_at_start(lpn, self.config.age.fill.0))
    }

    /// Blocks that a plane must have to hold its share of the data and still be collected; what it has beyond are its
    /// spares.
    pub fn needed_blocks(&self) -> u32 {
        self.space.needed
    }

    /// The page at a byte of the drive.
    #[inline]
    pub(crate) fn page_at(&self, offset: u64) -> Lpn {
        Lpn(offset >> self.layout.page_size.0.trailing_zeros())
    }

    /// The bytes of a page that cross the bus where bytes `from..to` are read.
    #[inline]
    pub(crate) fn transferred(&self, from: u32, to: u32) -> Range<u32> {
        match self.config.bus.transfer {
            Transfer::Page => 0..self.layout.flash_page_size.0 as u32,
            Transfer::Codeword | Transfer::Uncorrected => {
                let codeword = self.config.ecc.codeword.0 as u32;
                from / codeword * codeword..to.next_multiple_of(codeword)
            }
        }
    }

    /// How many these are.
    #[inline]
    pub(crate) fn read_transfer(&self, from: u32, to: u32) -> u32 {
        let moved = self.transferred(from, to);
        moved.end - moved.start
    }

    /// How many more of them cross for a page than for one `before` it in the same flash page, which crosses as well.
    #[inline]
    pub(crate) fn further_transfer(&self, before: Ppn, ppn: Ppn, from: u32, to: u32) -> u32 {
        let codeword_of = |ppn: Ppn| (ppn.0 * self.layout.page_size.0) / self.config.ecc.codeword.0;
        match self.config.bus.transfer {
            Transfer::Page => 0,
            Transfer::Codeword | Transfer::Uncorrected if codeword_of(before) == codeword_of(ppn) => 0,
            Transfer::Codeword | Transfer::Uncorrected => self.read_transfer(from, to),
        }
    }

    /// The page that stands for a translation page.
    pub(crate) fn map_page(&self, page: u32) -> Lpn {
        Lpn(self.logical_pages + u64::from(page))
    }

    /// The page that stands for a place of the journal.
    pub(crate) fn journal_page(&self, place: u32) -> Lpn {
        Lpn(self.logical_pages + u64::from(self.space.map_pages) + u64::from(place))
    }

    /// The number of the first page of the map that stands for parity.
    pub(crate) fn first_parity(&self) -> u64 {
        self.logical_pages + u64::from(self.space.map_pages) + u64::from(self.space.journal_pages)
    }

    /// Time on the bus for `bytes`.
    #[inline]
    pub fn t_dma(&self, bytes: u32) -> Span {
        self.page_time.of(bytes)
    }
}

impl Plan {
    /// Time on the bus for the data of a program of this many logical pages, which fill flash pages.
    #[inline]
    pub(crate) fn t_data_in(&self, pages: u64) -> Span {
        self.t_dma(self.layout.flash_page_size.0 as u32) * (pages / u64::from(self.layout.shared()))
    }

    /// tR of a page, in the mode of its block.
    #[inline]
    pub(crate) fn t_read(&self, ppn: Ppn, in_slc: bool) -> Span {
        let (timings, layout) = match &self.slc {
            Some(slc) if in_slc => (&slc.timings, &slc.layout),
            _ => (&self.timings, &self.layout),
        };
        timings.read(layout, ppn)
    }

    /// The times of programs of a stream; and their tPROG over that of the chip's own cells.
    #[inline]
    pub(crate) fn program_times(&self, writes: Option<StreamId>) -> (&Timings, f64) {
        match &self.slc {
            Some(slc) if writes.is_some_and(|writes| self.streams.in_slc(writes)) => (&slc.timings, slc.program_factor),
            _ => (&self.timings, 1.0),
        }
    }

    /// Flash pages that one program command writes on a plane, or into a superblock.
    pub(crate) fn flash_unit(&self) -> u32 {
        self.unit_pages / self.layout.shared()
    }
}

/// What the pages and blocks of a plane are for.
type SpaceOf = fn(&Config, &Layout, u64, &Streams, Option<&SlcPlan>) -> Result<Space, Refusal>;

impl Config {
    /// Checks everything together and works it out.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        self.plan_with(Space::new)
    }

    /// [`plan`](Self::plan) of flash without an FTL: no space is kept for one.
    pub(crate) fn plan_of_media(&self) -> Result<Plan, ConfigError> {
        self.plan_with(|_, _, _, _, _| Ok(Space::default()))
    }

    /// The geometry, in pages and blocks as the map and the FTL count them.
    fn layout(&self) -> Result<Layout, ConfigError> {
        let layout = self.geometry.layout().map_err(in_section("geometry"))?;
        let layout = self.mapping.divide(&layout).map_err(in_section("mapping"))?;
        self.ftl.joined(&layout).map_err(in_section("ftl"))
    }

    fn plan_with(&self, space: SpaceOf) -> Result<Plan, ConfigError> {
        let layout = self.layout()?;
        let timings = self.chip.timings(layout.bits).map_err(in_section("chip"))?;
        for section in self.checks() {
            section.check(&layout).map_err(in_section(section.name()))?;
        }
        combinations::check(self, &layout, &timings).map_err(dotted)?;
        let (unit_of_map, unit_pages) = (self.mapping.unit_of(&layout), self.unit_pages(&layout));
        let slc = SlcPlan::new(self, &layout, &timings).map_err(dotted)?;
        let zones = ZonePlan::new(self, &layout, unit_pages, slc.as_ref()).map_err(dotted)?;
        let (logical_pages, stored_pages) = self.pages(&layout, unit_of_map, zones.as_ref());
        let groups = Groups::new(self, &layout).map_err(dotted)?;
        streams::check(self).map_err(dotted)?;
        let streams = streams::table(self, &layout, unit_pages, slc.as_ref());
        let space = space(self, &layout, stored_pages, &streams, slc.as_ref()).map_err(dotted)?;
        let page_time = self.bus.page_time(layout.flash_page_size).map_err(in_section("bus"))?;
        let model = self.chip_model(&layout)?;
        if model.is_some() {
            combinations::check_modelled(self, &timings).map_err(dotted)?;
        }
        let eraser = self.eraser(&layout, model.as_deref())?;
        let faster = self.reduced_t_pre(&layout, &timings, model.as_deref())?;
        let (tailored, trees) = (self.tailored(model.as_deref())?, self.trees(model.as_deref())?);
        let (code, modelled) = (self.code(&layout, model.as_deref())?, model.is_some());
        let (asked, later) = self.asked(model.map(|cells| Asked { cells, faster }));
        let (at_rest, written_at) = (self.at_rest(), self.age.written_at.unwrap_or(self.at_rest()));
        let ([program_phases, erase_phases], ranks) = (self.phases(), self.policies.ranks(self.schedule.order)?);
        Ok(Plan {
            layout,
            logical_pages,
            unit_pages,
            unit_of_map,
            slots: self.buffer.slots(&layout) as u32,
            timings,
            page_time,
            link: Rate::new(self.host.link_bandwidth, layout.page_size),
            dram: Rate::new(self.buffer.dram_bandwidth, layout.page_size),
            space,
            slc,
            streams,
            groups,
            zones,
            assumes_phases: AssumesPhases {
                of_programs: self.schedule.suspend_program != SuspendProgram::None && program_phases.is_none(),
                of_erases: self.schedule.suspend_erase != SuspendErase::None && erase_phases.is_none(),
            },
            program_phases,
            erase_phases,
            remembers: self.read.remembers(),
            plain_retries: code.is_none() && trees.is_none() && self.retries_plainly(),
            suspends: !self.schedule.suspends_nothing(),
            asks: !self.policies.sources().is_empty(),
            deals: self.ftl.placement == Placement::Static || self.policies.ftl.is_some(),
            ranks,
            at_rest,
            retention: self.age.data_age(),
            written_at,
            crossed: written_at != at_rest,
            modelled,
            cells: asked.as_ref().map(|of| Arc::clone(&of.cells)),
            later,
            eraser,
            faster: asked.and_then(|of| of.faster),
            tailored,
            trees,
            prediction_accuracy: self.prediction_accuracy(),
            code,
            config: self.clone(),
        })
    }

    /// What is asked of the chip from the start, and what later.
    fn asked(&self, of: Option<Asked>) -> (Option<Asked>, Option<Asked>) {
        if self.meets_no_errors() { (None, of) } else { (of, None) }
    }

    /// Whether no predictor, no weight and no miscorrection says more of a retry than what its page is like.
    fn retries_plainly(&self) -> bool {
        let Config { read, ecc, .. } = self;
        read.predictor == Predictor::None && read.next != Next::Syndrome && ecc.miscorrection.0 == 0.0
    }

    /// Pages that are addressed, and those that the flash holds when all are written.
    fn pages(&self, layout: &Layout, unit: u32, zones: Option<&ZonePlan>) -> (u64, u64) {
        let paged = self.ftl.logical_pages(layout) / u64::from(unit) * u64::from(unit);
        zones.map_or((paged, paged), |zones| (zones.logical_pages(), zones.stored_pages()))
    }

    /// The mean tR of the chip's pages.
    pub fn mean_read(&self) -> Result<Span, ConfigError> {
        let layout = self.geometry.layout().map_err(in_section("geometry"))?;
        Ok(self.chip.timings(layout.bits).map_err(in_section("chip"))?.mean_read(layout.bits))
    }

    /// Logical pages that one program command writes on a plane, or into a superblock.
    pub(super) fn unit_pages(&self, layout: &Layout) -> u32 {
        layout.stripe * layout.shared() * if self.chip.program_unit == ProgramUnit::Wordline { layout.bits } else { 1 }
    }

    /// The temperature of the drive, where it stays; otherwise at rest.
    fn at_rest(&self) -> Temperature {
        let followed = self.thermal.resistance.is_some();
        if followed { self.thermal.at_rest(self.energy.idle_mw) } else { self.age.temperature }
    }

    /// The phases of programs and of erases, where they are known.
    fn phases(&self) -> [Option<Phases>; 2] {
        let chip = &self.chip;
        let even = |loops: Option<u32>, pulse, verify| loops.map(|loops| Phases::even(loops, pulse, verify));
        [
            even(chip.program_loops, chip.t_program_pulse, chip.t_program_verify),
            even(chip.erase_loops, chip.t_erase_pulse, chip.t_erase_verify),
        ]
    }
}
