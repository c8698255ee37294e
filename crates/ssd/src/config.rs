//! The device's one configuration schema: every crate's parameters, composed, checked together and worked
//! out into what the simulation needs.

use std::path::Path;
use std::sync::Arc;

use ecc::Profile;
use nand::chip::{AUTO, LONGEST};
use nand::model::measured::MeasuredSteps;
use nand::model::outcomes::{Reading, ReducedTpre};
use nand::rpt::Rpt;
use nand::{Chip, Geometry, Layout, PlanePrograms, PlaneReads, ProgramUnit, Timings, VirtualChip};
use schemes::{Margin, Next, Predictor, Pulses, Sensing, SuspendErase, SuspendProgram, Voltage};
use units::document::{Document, apply_word};
use units::section::Section;
use units::{Bytes, ConfigError, Rate, Retention, Span};

use crate::lifetime::{EraseScheme, Eraser};
use crate::phases::Phases;
pub use crate::sections::*;
use crate::space::Space;

/// Everything that describes a device and the state it starts in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Flash geometry.
    pub geometry: Geometry,
    /// Chip timings.
    pub chip: Chip,
    /// Channel buses.
    pub bus: Bus,
    /// ECC engines.
    pub ecc: Ecc,
    /// Host interface.
    pub host: Host,
    /// Write buffer.
    pub buffer: Buffer,
    /// Flash translation layer.
    pub ftl: Ftl,
    /// Garbage collection.
    pub gc: Gc,
    /// Wear levelling and failing blocks.
    pub wear: Wear,
    /// Logical-to-physical map.
    pub mapping: Mapping,
    /// Refresh and read reclaim.
    pub refresh: Refresh,
    /// Reading.
    pub read: Read,
    /// Scheduling.
    pub schedule: Schedule,
    /// Erasing.
    pub erase: Erase,
    /// Energy.
    pub energy: Energy,
    /// Initial state.
    pub age: Age,
}

impl Config {
    /// The sections, in the order in which they are documented.
    pub fn sections(&self) -> [&dyn Section; 16] {
        [
            &self.geometry,
            &self.chip,
            &self.bus,
            &self.ecc,
            &self.host,
            &self.buffer,
            &self.ftl,
            &self.gc,
            &self.wear,
            &self.mapping,
            &self.refresh,
            &self.read,
            &self.schedule,
            &self.erase,
            &self.energy,
            &self.age,
        ]
    }

    /// The sections, to be changed.
    pub fn sections_mut(&mut self) -> [&mut dyn Section; 16] {
        [
            &mut self.geometry,
            &mut self.chip,
            &mut self.bus,
            &mut self.ecc,
            &mut self.host,
            &mut self.buffer,
            &mut self.ftl,
            &mut self.gc,
            &mut self.wear,
            &mut self.mapping,
            &mut self.refresh,
            &mut self.read,
            &mut self.schedule,
            &mut self.erase,
            &mut self.energy,
            &mut self.age,
        ]
    }

    /// Applies a TOML document.
    pub fn apply(&mut self, document: &Document, top_level: &[&str]) -> Result<(), ConfigError> {
        document.apply(&mut self.sections_mut(), top_level)
    }

    /// Sets one `section.key=value`.
    pub fn set(&mut self, word: &str) -> Result<(), ConfigError> {
        apply_word(word, &mut self.sections_mut())
    }

    /// The whole configuration as TOML that reads back.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for section in self.sections() {
            text.push_str(&format!("[{}]\n", section.name()));
            for key in section.keys() {
                let value = section.get(key.name).expect("Invariant: a section has every key that it lists");
                text.push_str(&format!("{} = {value}\n", key.name));
            }
            text.push('\n');
        }
        text
    }

    /// Checks everything together and works it out.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        let named = |section: &str| {
            let section = section.to_owned();
            move |(key, problem, remedy): (&str, String, String)| ConfigError {
                origin: "device".into(),
                line: None,
                key: Some(format!("{section}.{key}")),
                problem,
                remedy,
            }
        };
        let layout = self.geometry.layout().map_err(named("geometry"))?;
        let timings = self.chip.timings(layout.bits).map_err(named("chip"))?;
        let refuse = |section: &str, key: &str, problem: String, remedy: &str| {
            Err(named(section)((key, problem, remedy.into())))
        };

        if self.chip.program_unit == ProgramUnit::Wordline && layout.pages % layout.bits != 0 {
            let problem = format!("is {}, not a multiple of the {} pages of a wordline", layout.pages, layout.bits);
            return refuse("geometry", "pages", problem, "change it, or set chip.program_unit to \"page\"");
        }
        for (section, key, value) in [
            ("host", "queues", u64::from(self.host.queues)),
            ("host", "queue_depth", u64::from(self.host.queue_depth)),
            ("host", "commands", u64::from(self.host.commands)),
            ("host", "arbitration_burst", u64::from(self.host.arbitration_burst)),
            ("host", "link_bandwidth", self.host.link_bandwidth.0),
            ("buffer", "dram_bandwidth", self.buffer.dram_bandwidth.0),
            ("ecc", "decoders", u64::from(self.ecc.decoders)),
            ("ecc", "buffer", u64::from(self.ecc.buffer)),
        ] {
            if value == 0 {
                return refuse(section, key, "is 0".into(), "write a positive value");
            }
        }
        if self.host.queues > 256 {
            return refuse("host", "queues", format!("is {}", self.host.queues), "write at most 256");
        }
        if u64::from(self.host.queues) * u64::from(self.host.queue_depth) > 1 << 24 {
            let entries = u64::from(self.host.queues) * u64::from(self.host.queue_depth);
            let problem = format!("makes {entries} queue entries, {} of memory", Bytes(entries * 64));
            return refuse("host", "queue_depth", problem, "keep queues x depth within 16 million");
        }
        if self.ecc.decoders > 64 {
            return refuse("ecc", "decoders", format!("is {}", self.ecc.decoders), "write at most 64");
        }
        let page = layout.page_size;
        let codeword = self.ecc.codeword;
        if !codeword.0.is_power_of_two() || codeword > page || codeword.0 < 512 {
            return refuse(
                "ecc",
                "codeword",
                format!("is {codeword}"),
                "write a power of two from 512 B up to the page size",
            );
        }
        let slots = self.buffer.size.0 / page.0;
        let unit_pages = if self.chip.program_unit == ProgramUnit::Wordline { layout.bits } else { 1 };
        if slots < u64::from(unit_pages) {
            let need = Bytes(page.0 * u64::from(unit_pages));
            return refuse(
                "buffer",
                "size",
                format!("is {}", self.buffer.size),
                &format!("it must hold one program unit: at least {need}"),
            );
        }
        if slots > 1 << 24 {
            let problem = format!("is {}, which takes {} of memory to track", self.buffer.size, Bytes(slots * 64));
            return refuse("buffer", "size", problem, "a buffer can have at most 16 million pages");
        }
        let page_time = match (self.bus.bandwidth, self.bus.t_dma) {
            (Some(bandwidth), None) if bandwidth.0 > 0 => PageTime::Rate(Rate::new(bandwidth, page)),
            (None, Some(t_dma)) => PageTime::Page(t_dma, page),
            (Some(_), None) => return refuse("bus", "bandwidth", "is 0".into(), "write a positive value"),
            (None, None) => return refuse("bus", "bandwidth", "is \"none\"".into(), "give bus.bandwidth or bus.t_dma"),
            (Some(_), Some(_)) => {
                return refuse(
                    "bus",
                    "t_dma",
                    "is given beside bandwidth".into(),
                    "set one of bus.bandwidth and bus.t_dma to \"none\"",
                );
            }
        };
        if !(0.0..=10.0).contains(&self.ftl.over_provisioning) {
            return refuse(
                "ftl",
                "over_provisioning",
                format!("is {}", self.ftl.over_provisioning),
                "write a number from 0 to 10, such as 0.07",
            );
        }
        let logical_pages = (layout.raw_pages() as f64 / (1.0 + self.ftl.over_provisioning)) as u32;
        if logical_pages == 0 {
            let problem = format!("is {}, which leaves no page to the host", self.ftl.over_provisioning);
            return refuse("ftl", "over_provisioning", problem, "lower it, or give the device more pages");
        }
        // A chip must be able to rewrite itself in half a period, one plane after another.
        let read = timings.slowest_read();
        let block =
            timings.program * u64::from(layout.pages / unit_pages) + read * u64::from(layout.pages) + timings.erase;
        let shortest = Span::from_us(100_000)
            .max(block * (2 * u64::from(layout.blocks) * u64::from(layout.planes_per_die * layout.dies_per_chip)));
        if let Some(span) = self.refresh.period.filter(|span| *span < shortest) {
            let problem = format!(
                "is {:.3} s, and refreshing every block of a chip takes half of {:.3} s",
                span.as_s(),
                shortest.as_s()
            );
            return refuse("refresh", "period", problem, "write a longer period, or \"none\"");
        }
        // Moving a block changes the map, and may read as many translation pages as the block has pages.
        let fewest = 4 * layout.pages;
        if let Some(reads) = self.refresh.reads.filter(|reads| *reads < fewest) {
            let problem = format!("is {reads}, and moving a block may cause {} reads", layout.pages);
            return refuse("refresh", "reads", problem, &format!("write at least {fewest}, or \"none\""));
        }
        let space = Space::new(self, &layout, logical_pages, unit_pages).map_err(|(key, problem, remedy)| {
            let (section, key) = key.split_once('.').expect("Invariant: keys are dotted");
            named(section)((key, problem, remedy))
        })?;
        let (link, dram) = (Rate::new(self.host.link_bandwidth, page), Rate::new(self.buffer.dram_bandwidth, page));
        let page_key = if self.bus.t_dma.is_some() { "t_dma" } else { "bandwidth" };
        for (section, key, span) in [
            ("host", "t_submit", self.host.t_submit),
            ("host", "t_complete", self.host.t_complete),
            ("host", "link_bandwidth", link.time_for(page)),
            ("buffer", "dram_bandwidth", dram.time_for(page)),
            ("bus", "t_command", self.bus.t_command),
            ("bus", page_key, page_time.of(page.0 as u32)),
            ("ecc", "t_decode", self.ecc.t_decode),
            ("ecc", "t_failed", self.ecc.t_failed.unwrap_or_default()),
            ("ecc", "t_retried", self.ecc.t_retried.unwrap_or_default()),
            ("read", "t_pred", self.read.t_pred),
        ] {
            if span > LONGEST {
                let problem = format!("makes {:.0} s a page", span.as_s());
                return refuse(section, key, problem, &format!("a page may take {:.0} s at most", LONGEST.as_s()));
            }
        }
        for (key, value) in [
            ("sense_mw", self.energy.sense_mw),
            ("program_mw", self.energy.program_mw),
            ("erase_mw", self.energy.erase_mw),
            ("transfer_nj", self.energy.transfer_nj),
            ("decode_nj", self.energy.decode_nj),
            ("prediction_nj", self.energy.prediction_nj),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return refuse("energy", key, format!("is {value}"), "write 0 or more");
            }
        }
        let chip = &self.chip;
        let phases = |loops: Option<u32>, pulse, verify| loops.map(|loops| Phases::even(loops, pulse, verify));
        let program_phases = phases(chip.program_loops, chip.t_program_pulse, chip.t_program_verify);
        let erase_phases = phases(chip.erase_loops, chip.t_erase_pulse, chip.t_erase_verify);
        let (programs, erases) = (self.schedule.suspend_program, self.schedule.suspend_erase);
        for (key, wanted, phases, parts) in [
            ("suspend_program", programs != SuspendProgram::None, &program_phases, "chip.program_loops"),
            ("suspend_erase", erases != SuspendErase::None, &erase_phases, "chip.erase_loops"),
        ] {
            let empty = phases.as_ref().is_none_or(|phases| phases.total() == Span::ZERO);
            if wanted && empty && !(key == "suspend_erase" && self.erase.pulse.is_some()) {
                let problem = "is set, and the chip's phases are not known".to_owned();
                return refuse(
                    "schedule",
                    key,
                    problem,
                    &format!("give {parts} and its pulse and verify, or set it to \"none\""),
                );
            }
        }
        if self.schedule.suspensions == Some(0) {
            return refuse(
                "schedule",
                "suspensions",
                "is 0".into(),
                "write a positive number, or set suspend_program and suspend_erase to \"none\"",
            );
        }
        let suspends = programs != SuspendProgram::None || erases != SuspendErase::None;
        let cells = self.cells(&layout)?;
        // Of reads that can fail each sense and each decoding is kept in 32 bits of nanoseconds.
        let senses = ("chip", "t_read", timings.slowest_read());
        for (section, key, span) in [
            senses,
            ("ecc", "t_decode", self.ecc.t_decode),
            ("ecc", "t_failed", self.ecc.t_failed.unwrap_or_default()),
            ("ecc", "t_retried", self.ecc.t_retried.unwrap_or_default()),
            ("read", "t_pred", self.read.t_pred),
        ] {
            if cells.is_some() && span > Span::from_us(200_000) {
                let problem = format!("makes {:.3} s", span.as_s());
                return refuse(section, key, problem, "with chip.model it may be 0.2 s at most");
            }
        }
        let eraser = self.eraser(cells.as_deref())?;
        let faster = self.faster(cells.as_deref())?;
        let code = self.code(cells.as_deref())?;
        let modelled = cells.is_some();
        let (cells, faster) = if self.meets_no_errors() { (None, None) } else { (cells, faster) };
        Ok(Plan {
            layout,
            program_phases,
            erase_phases,
            suspends,
            modelled,
            cells,
            eraser,
            faster,
            code,
            logical_pages,
            link,
            dram,
            page_time,
            t_command: self.bus.t_command,
            unit_pages,
            slots: slots as u32,
            reads: self.chip.plane_reads,
            programs: self.chip.plane_programs,
            timings,
            space,
            config: self.clone(),
        })
    }
}

impl Config {
    /// Whether no read can fail, and nothing but reads asks the chip: on every chip of `auto` data reads without a retry that is
    /// a week old at 30 C, after some hundred P/E cycles. A drive that begins fresh need not ask its chip.
    fn meets_no_errors(&self) -> bool {
        self.chip.model.as_deref() == Some(AUTO)
            && self.age.pec.0 == 0
            && self.age.retention == Retention::Fixed(Span::ZERO)
            && self.age.map_retention == Span::ZERO
            && self.age.temperature.0 <= 30.0
            && self.ecc.code.is_none()
            && self.read.predictor == Predictor::None
            && self.erase.pulse.is_none()
    }

    /// Settings of the present configuration that have no effect, each with the reason.
    pub fn idle_settings(&self) -> Vec<String> {
        let default = Config::default();
        let mut idle = Vec::new();
        let changed = |section: &dyn Section, base: &dyn Section, keys: &[&str]| -> Vec<String> {
            let differ = keys.iter().filter(|key| section.get(key) != base.get(key));
            differ.map(|key| format!("{}.{key}", section.name())).collect()
        };
        if self.geometry.layout().is_ok_and(|layout| self.chip.model_for(layout.bits).is_none()) {
            let mut keys = changed(&self.read, &default.read, &["start", "next", "pipeline", "sensing", "predictor"]);
            let wears = self.wear.endurance.is_some();
            keys.extend(changed(&self.age, &default.age, if wears { &[] } else { &["pec"] }));
            let ages = self.refresh.period.is_some();
            keys.extend(changed(&self.age, &default.age, if ages { &[] } else { &["retention"] }));
            if !keys.is_empty() {
                idle.push(format!("{} without a chip model (chip.model), whose pages could fail", keys.join(", ")));
            }
        }
        if self.erase.pulse.is_none() {
            let mut keys = changed(&self.erase, &default.erase, &["requirement"]);
            keys.extend(changed(&self.age, &default.age, &["worn_under"]));
            if !keys.is_empty() {
                idle.push(format!(
                    "{} without erase.pulse, by which blocks are erased pulse by pulse",
                    keys.join(", ")
                ));
            }
        }
        idle
    }

    /// The virtual chip or the measured steps, if there are any.
    fn cells(&self, layout: &Layout) -> Result<Option<Arc<Reading>>, ConfigError> {
        let Some(name) = self.chip.model_for(layout.bits) else { return Ok(None) };
        let refuse = |problem: String, remedy: String| ConfigError {
            origin: "device".into(),
            line: None,
            key: Some("chip.model".into()),
            problem,
            remedy,
        };
        let read = || {
            units::file::read_text(Path::new(name)).map_err(|problem| {
                refuse(format!("{name} {problem}"), "give the path of a chip file or of measured steps".into())
            })
        };
        if name.ends_with(".csv") {
            return Ok(Some(Arc::new(Reading::Measured(MeasuredSteps::parse(&read()?, name)?))));
        }
        let chip =
            if name.ends_with(".toml") { VirtualChip::parse(&read()?, name)? } else { VirtualChip::preset(name)? };
        if chip.cells.bits != layout.bits {
            let problem =
                format!("is a chip of {} bits a cell, and geometry.cell has {}", chip.cells.bits, layout.bits);
            return Err(refuse(problem, "choose a chip of the same cells".into()));
        }
        Ok(Some(Arc::new(Reading::Virtual(Box::new(chip)))))
    }
}

impl Config {
    /// How blocks are erased, where it goes pulse by pulse.
    fn eraser(&self, cells: Option<&Reading>) -> Result<Option<Eraser>, ConfigError> {
        let Erase { pulse, margin, voltage, mispredictions, requirement, retire } = self.erase;
        let refuse = |key: &str, problem: &str, remedy: &str| {
            Err(ConfigError {
                origin: "device".into(),
                line: None,
                key: Some(format!("erase.{key}")),
                problem: problem.into(),
                remedy: remedy.into(),
            })
        };
        if margin == Margin::Ecc && pulse != Some(Pulses::Felp) {
            return refuse(
                "margin",
                "is ecc, and only felp uses it",
                "set erase.pulse to \"felp\", or this to \"none\"",
            );
        }
        if mispredictions.0 > 0.0 && pulse != Some(Pulses::Felp) {
            return refuse(
                "mispredictions",
                "is set, and only felp predicts",
                "set erase.pulse to \"felp\", or this to 0",
            );
        }
        if requirement.is_some_and(|errors| !(errors > 0.0 && errors < 1e6)) {
            return refuse("requirement", "is no number of errors", "write errors per KiB, such as 63");
        }
        let Some(pulses) = pulse else {
            if voltage != Voltage::Nominal {
                return refuse("voltage", "is set, and erase.pulse is not", "set erase.pulse, to \"ispe\" say");
            }
            if retire {
                return refuse("retire", "is set, and erase.pulse is not", "set erase.pulse, to \"ispe\" say");
            }
            return Ok(None);
        };
        if self.age.pec.0 > 100_000 {
            return Err(ConfigError {
                origin: "device".into(),
                line: None,
                key: Some("age.pec".into()),
                problem: format!("is {}, and with erase.pulse every cycle is lived", self.age.pec.0),
                remedy: "write at most 100000".into(),
            });
        }
        let Some(Reading::Virtual(chip)) = cells else {
            let remedy = "set chip.model to a virtual chip such as \"tlc48-reo\", or this to \"none\"";
            return refuse("pulse", "is set, and chip.model says nothing about erasing", remedy);
        };
        let erasing = &chip.erasing;
        let scheme = EraseScheme { pulses, margin, voltage, mispredictions: mispredictions.0 };
        Ok(Some(Eraser::new(erasing, scheme, requirement.unwrap_or(erasing.requirement))))
    }
}

impl Config {
    /// How retries are sensed faster, where they are and where any read can fail.
    fn faster(&self, cells: Option<&Reading>) -> Result<Option<ReducedTpre>, ConfigError> {
        let refuse = |key: &str, problem: String, remedy: &str| ConfigError {
            origin: "device".into(),
            line: None,
            key: Some(key.into()),
            problem,
            remedy: remedy.into(),
        };
        for (key, value, expected) in [
            ("rpt_error", self.read.rpt_error.abs(), "write nanoseconds, such as -2000"),
            ("age_error", self.read.age_error, "write a positive number: 2 for twice the true age"),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(refuse(&format!("read.{key}"), format!("is {value}"), expected));
            }
        }
        let (Some(cells), Sensing::Adaptive) = (cells, self.read.sensing) else { return Ok(None) };
        if self.chip.t_pre == Span::ZERO {
            let remedy = "give chip.t_pre (the part of tR that is precharge), or chip.senses and the phases of a sense, or set read.sensing to \"default\"";
            return Err(refuse("read.sensing", "is adaptive, and tPRE is not known".into(), remedy));
        }
        let rpt = match (&self.read.rpt, cells) {
            (Some(name), _) => {
                let text = units::file::read_text(Path::new(name)).map_err(|problem| {
                    let remedy = "give the path of a CSV file with the columns pec, months, cut";
                    refuse("read.rpt", format!("{name} {problem}"), remedy)
                })?;
                Arc::new(Rpt::parse(&text, name)?)
            }
            (None, Reading::Virtual(chip)) => Rpt::of(chip),
            (None, Reading::Measured(_)) => {
                let remedy = "give a table in read.rpt";
                return Err(refuse("read.rpt", "is \"none\", and measured steps give no RPT".into(), remedy));
            }
        };
        let (error, age_error) = (self.read.rpt_error, self.read.age_error);
        Ok(Some(ReducedTpre { rpt, t_pre: self.chip.t_pre.0 as u32, error, age_error }))
    }
}

impl Config {
    /// The profile of the ECC's code, where any read can fail.
    fn code(&self, cells: Option<&Reading>) -> Result<Option<Arc<Profile>>, ConfigError> {
        let refuse = |key: &str, problem: String, remedy: &str| ConfigError {
            origin: "device".into(),
            line: None,
            key: Some(key.into()),
            problem,
            remedy: remedy.into(),
        };
        if !(0.01..=100.0).contains(&self.ecc.strength) {
            let remedy = "write 2 for a code that corrects twice as many errors";
            return Err(refuse("ecc.strength", format!("is {}", self.ecc.strength), remedy));
        }
        if cells.is_none() {
            return Ok(None);
        }
        let read = &self.read;
        if read.predictor != Predictor::None && self.ecc.code.is_none() && read.prediction_accuracy.is_none() {
            let problem = format!("is {}, and nothing says how good predictions are", read.predictor.word());
            return Err(refuse("read.predictor", problem, "give ecc.code, or read.prediction_accuracy"));
        }
        if read.predictor == Predictor::OnDie && read.next == Next::Sentinel {
            let problem = "is on-die, and the sentinel's cells are evaluated in the controller".to_owned();
            return Err(refuse("read.predictor", problem, "set read.next to swift, table or oracle"));
        }
        let Some(name) = &self.ecc.code else { return Ok(None) };
        if matches!(cells, Some(Reading::Measured(_))) {
            let problem = "is given, and measured steps give no RBER".to_owned();
            return Err(refuse("ecc.code", problem, "set it to \"none\", or chip.model to a virtual chip"));
        }
        if name == "qc-ldpc" {
            return Ok(Some(Arc::new(Profile::preset())));
        }
        if !name.ends_with(".csv") {
            let remedy = "write qc-ldpc, \"none\", or the path of a .csv file of `ssdlab ecc simulate`";
            return Err(refuse("ecc.code", format!("there is no code `{name}`"), remedy));
        }
        let text = units::file::read_text(Path::new(name)).map_err(|problem| {
            refuse("ecc.code", format!("{name} {problem}"), "give a file of `ssdlab ecc simulate`")
        })?;
        Ok(Some(Arc::new(Profile::parse(&text, name)?)))
    }
}

/// How long a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PageTime {
    Rate(Rate),
    /// A whole page takes this long, parts in proportion.
    Page(Span, Bytes),
}

impl PageTime {
    #[inline]
    fn of(&self, bytes: u32) -> Span {
        match self {
            PageTime::Rate(rate) => rate.time_for(Bytes(u64::from(bytes))),
            PageTime::Page(span, page) => Span((span.0.saturating_mul(u64::from(bytes))).div_ceil(page.0)),
        }
    }
}

/// A checked configuration with what follows from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The geometry, worked out.
    pub layout: Layout,
    /// Logical capacity [pages].
    pub logical_pages: u32,
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
    pub(crate) t_command: Span,
    pub(crate) reads: PlaneReads,
    pub(crate) programs: PlanePrograms,
    pub(crate) space: Space,
    /// The phases of programs and of erases, where they are known, and whether any may be suspended.
    pub(crate) program_phases: Option<Phases>,
    pub(crate) erase_phases: Option<Phases>,
    pub(crate) suspends: bool,
    /// Whether there is a chip model.
    pub(crate) modelled: bool,
    /// What decides which errors reads meet; none also where none of them can.
    pub(crate) cells: Option<Arc<Reading>>,
    /// How blocks are erased, where it goes pulse by pulse.
    pub(crate) eraser: Option<Eraser>,
    /// How retries are sensed faster, if they are.
    pub(crate) faster: Option<ReducedTpre>,
    /// What the code's decoder makes of pages, where one is given and reads can fail.
    pub(crate) code: Option<Arc<Profile>>,
}

impl Plan {
    /// What decides what reads meet, if there is anything.
    pub fn reading(&self) -> Option<&Reading> {
        self.cells.as_deref()
    }

    /// By how much retries are sensed faster, where they are.
    pub fn rpt(&self) -> Option<&Rpt> {
        self.faster.as_ref().map(|faster| faster.rpt.as_ref())
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.logical_pages) * self.layout.page_size.0)
    }

    /// Time on the bus for `bytes`.
    #[inline]
    pub fn t_dma(&self, bytes: u32) -> Span {
        self.page_time.of(bytes)
    }
}
