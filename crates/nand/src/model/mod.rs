//! The virtual chip: an explicit model in place of the papers' real ones, from which every table is profiled.
//!
//! A chip file holds the constants of the model, each with its source.

pub mod cells;
pub mod erasing;
pub mod ladder;
pub mod measured;
pub mod normal;
pub mod outcomes;
pub mod programming;
pub mod sensing;
pub mod variation;

use std::sync::OnceLock;

use units::section::Section;
use units::value::nearest;
use units::{ConfigError, Document};

use cells::Cells;
use erasing::Erasing;
use programming::Programming;
use sensing::Sensing;
use variation::Variation;

use crate::geometry::Refusal;

/// A virtual chip.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualChip {
    /// What it is, in a line.
    pub about: String,
    /// Threshold voltages.
    pub cells: Cells,
    /// Differences between pages.
    pub variation: Variation,
    /// Timing of senses.
    pub sensing: Sensing,
    /// Incremental-step programming.
    pub programming: Programming,
    /// Incremental-step erasing.
    pub erasing: Erasing,
    /// Where every constant comes from.
    pub sources: Vec<ConstantSource>,
}

/// Where a constant comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantSource {
    /// The section of its key.
    pub section: String,
    /// Its key.
    pub key: String,
    /// A publication, or `fitted` or `assumed` with to what or why.
    pub source: String,
}

macro_rules! preset {
    ($name:literal) => {
        ($name, include_str!(concat!("../../presets/", $name, ".toml")))
    };
}

/// Every chip preset: its name and its text.
const ALL: &[(&str, &str)] = &[
    preset!("tlc48"),
    preset!("tlc48-rif"),
    preset!("tlc48-reo"),
    preset!("slc"),
    preset!("mlc"),
    preset!("qlc"),
    preset!("plc"),
    preset!("tlc2x"),
];

/// The presets' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

impl VirtualChip {
    /// The chip called `name`, whose text is read once a process.
    pub fn preset(name: &str) -> Result<VirtualChip, ConfigError> {
        static READ: [OnceLock<VirtualChip>; ALL.len()] = [const { OnceLock::new() }; ALL.len()];
        let Some(place) = ALL.iter().position(|(known, _)| *known == name) else {
            let remedy = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the chips are {}; or give the path of a .toml file",
                    names().collect::<Vec<_>>().join(", ")
                ),
            };
            let origin = format!("chip `{name}`");
            return Err(ConfigError { origin, line: None, key: None, problem: "there is no such chip".into(), remedy });
        };
        if let Some(chip) = READ[place].get() {
            return Ok(chip.clone());
        }
        let chip = VirtualChip::parse(ALL[place].1, &format!("preset {name}"))?;
        Ok(READ[place].get_or_init(|| chip).clone())
    }

    /// Reads a chip file; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<VirtualChip, ConfigError> {
        let document = Document::parse(text, origin)?;
        let mut chip = VirtualChip {
            about: document.text("about")?.unwrap_or_default(),
            cells: Cells::default(),
            variation: Variation::default(),
            sensing: Sensing::default(),
            programming: Programming::default(),
            erasing: Erasing::default(),
            sources: Vec::new(),
        };
        document.apply(&mut chip.sections_mut(), &["about", "source"])?;
        chip.sources = chip.check_sources(&document)?;
        chip.check(origin)?;
        Ok(chip)
    }

    /// The sections, in the order in which they are written.
    pub fn sections(&self) -> [&dyn Section; 5] {
        [&self.cells, &self.variation, &self.sensing, &self.programming, &self.erasing]
    }

    fn sections_mut(&mut self) -> [&mut dyn Section; 5] {
        [&mut self.cells, &mut self.variation, &mut self.sensing, &mut self.programming, &mut self.erasing]
    }

    /// Every constant must be given, with its source.
    fn check_sources(&self, document: &Document) -> Result<Vec<ConstantSource>, ConfigError> {
        let mut sources = Vec::new();
        for section in self.sections() {
            let given = document.keys(section.name());
            for key in section.keys() {
                let full = format!("{}.{}", section.name(), key.name);
                if !given.iter().any(|known| known == key.name) {
                    let remedy = format!("write it: {} Expected {}", key.doc, key.expects);
                    return Err(document.error_at(section.name(), &full, "is missing", remedy));
                }
                let source = document.part_text("source", section.name(), key.name).unwrap_or_default();
                let known = ["fitted", "assumed"].iter().any(|word| source.starts_with(word));
                if source.len() < 6 || (known && !source.contains('(')) {
                    let remedy = format!(
                        "under [source.{}] write {} = \"fitted (to which claims)\", \"assumed (why)\", or a source",
                        section.name(),
                        key.name
                    );
                    return Err(document.error_at(section.name(), &full, "has no source", remedy));
                }
                sources.push(ConstantSource { section: section.name().to_owned(), key: key.name.to_owned(), source });
            }
        }
        Ok(sources)
    }

    /// Checks that the constants can be those of a chip.
    pub fn check(&self, origin: &str) -> Result<(), ConfigError> {
        let refusals = [
            ("cells", self.cells.refusal()),
            ("variation", self.variation.refusal()),
            ("sensing", self.sensing.refusal()),
            ("programming", self.programming.refusal()),
            ("erasing", self.erasing.refusal()),
        ];
        match refusals.into_iter().find_map(|(section, refusal)| Some((section, refusal?))) {
            None => Ok(()),
            Some((section, Refusal { key, problem, remedy })) => Err(ConfigError {
                origin: origin.to_owned(),
                line: None,
                key: Some(format!("{section}.{key}")),
                problem,
                remedy,
            }),
        }
    }

    /// This chip where its blocks hold `bits` bits a cell, fewer than its own.
    pub fn in_mode(&self, bits: u32) -> VirtualChip {
        VirtualChip { cells: self.cells.in_mode(bits), ..self.clone() }
    }

    /// The typical shift under some conditions, relative to that of a year at 2,000 cycles.
    pub fn relative_shift(&self, x: f64, months: f64) -> f64 {
        let full = self.cells.shape(2.0, 12.0, 0.0, 1.0).shift;
        if full > 0.0 { self.cells.shape(x, months, 0.0, 1.0).shift / full } else { 0.0 }
    }

    /// Senses of a page, by page type.
    pub fn senses(&self, page: u32) -> u32 {
        self.cells.boundaries(page).len() as u32
    }
}
