//! What follows from a configuration that has been checked.

use std::sync::Arc;

use ecc::Profile;
use nand::model::outcomes::{OutcomeSource, ReducedTpre};
use nand::rpt::Rpt;
use nand::{Layout, ProgramUnit, Timings};
use schemes::{SuspendErase, SuspendProgram};
use units::{Bytes, ConfigError, Rate, Span};

use super::Config;
use super::bus::PageTime;
use super::refusal::{dotted, in_section};
use super::space::Space;
use super::together;
use crate::lifetime::Eraser;
use crate::phases::Phases;

/// A checked configuration with what follows from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The geometry, worked out.
    pub layout: Layout,
    /// Logical capacity [pages].
    pub logical_pages: u64,
    /// Pages that one program command writes on a plane.
    pub unit_pages: u32,
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
    /// The phases of programs and of erases, where they are known, and whether any may be suspended.
    pub(crate) program_phases: Option<Phases>,
    pub(crate) erase_phases: Option<Phases>,
    pub(crate) suspends: bool,
    /// Whether there is a chip model.
    pub(crate) modelled: bool,
    /// What decides which errors reads meet; none also where none of them can.
    pub(crate) cells: Option<Arc<OutcomeSource>>,
    /// How blocks are erased, where it goes pulse by pulse.
    pub(crate) eraser: Option<Eraser>,
    /// How retries are sensed faster, if they are.
    pub(crate) faster: Option<ReducedTpre>,
    /// What the code's decoder makes of pages, where one is given and reads can fail.
    pub(crate) code: Option<Arc<Profile>>,
}

impl Plan {
    /// What decides what reads meet, if there is anything.
    pub fn reading(&self) -> Option<&OutcomeSource> {
        self.cells.as_deref()
    }

    /// By how much retries are sensed faster, where they are.
    pub fn rpt(&self) -> Option<&Rpt> {
        self.faster.as_ref().map(|faster| faster.rpt.as_ref())
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.logical_pages * self.layout.page_size.0)
    }

    /// Time on the bus for `bytes`.
    #[inline]
    pub fn t_dma(&self, bytes: u32) -> Span {
        self.page_time.of(bytes)
    }
}

impl Config {
    /// Checks everything together and works it out.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        let layout = self.geometry.layout().map_err(in_section("geometry"))?;
        let timings = self.chip.timings(layout.bits).map_err(in_section("chip"))?;
        for section in self.checks() {
            section.check(&layout).map_err(in_section(section.name()))?;
        }
        let phases = self.phases();
        together::check(self, &layout, &timings, &phases).map_err(dotted)?;
        let (logical_pages, unit_pages) = (self.ftl.logical_pages(&layout), self.unit_pages(&layout));
        let space = Space::new(self, &layout, logical_pages, unit_pages).map_err(dotted)?;
        let page = layout.page_size;
        let page_time = self.bus.page_time(page).map_err(in_section("bus"))?;
        let model = self.chip_model(&layout)?;
        if model.is_some() {
            together::check_modelled(self, &timings).map_err(dotted)?;
        }
        let eraser = self.eraser(model.as_deref())?;
        let faster = self.reduced_t_pre(model.as_deref())?;
        let code = self.code(model.as_deref())?;
        let modelled = model.is_some();
        let (cells, faster) = if self.meets_no_errors() { (None, None) } else { (model, faster) };
        let [program_phases, erase_phases] = phases;
        Ok(Plan {
            layout,
            logical_pages,
            unit_pages,
            slots: self.buffer.slots(&layout) as u32,
            timings,
            page_time,
            link: Rate::new(self.host.link_bandwidth, page),
            dram: Rate::new(self.buffer.dram_bandwidth, page),
            space,
            program_phases,
            erase_phases,
            suspends: self.schedule.suspend_program != SuspendProgram::None
                || self.schedule.suspend_erase != SuspendErase::None,
            modelled,
            cells,
            eraser,
            faster,
            code,
            config: self.clone(),
        })
    }

    /// Pages that one program command writes on a plane.
    pub(super) fn unit_pages(&self, layout: &Layout) -> u32 {
        if self.chip.program_unit == ProgramUnit::Wordline { layout.bits } else { 1 }
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
