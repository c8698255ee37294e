//! What there is to choose from, as Python lists of dictionaries.

use std::path::PathBuf;

use pyo3::prelude::*;
use ssd::config::Config;
use ssd::presets;
use ssd::run::findings::{KINDS, Kind};
use ssd::run::{Declared, Kind as OptionKind, declared};
use ssd::stats::series::{self, Column};
use units::Document;
use units::section::Section;
use workload::ListedFormat;

use crate::error::refuse;

/// A device preset.
#[derive(IntoPyObject)]
pub struct DeviceRow {
    name: String,
    about: String,
    /// Where its values come from.
    source: String,
    /// Logical capacity \[B].
    capacity: u64,
    /// TOML.
    text: String,
}

/// A workload preset.
#[derive(IntoPyObject)]
pub struct WorkloadRow {
    name: &'static str,
    about: String,
    /// TOML.
    text: String,
}

/// A named scheme.
#[derive(IntoPyObject)]
pub struct SchemeRow {
    name: &'static str,
    about: &'static str,
    /// As (axis, choice).
    choices: Vec<(&'static str, &'static str)>,
}

/// A trace format.
#[derive(IntoPyObject)]
pub struct FormatRow {
    name: &'static str,
    title: &'static str,
    /// What its lines hold.
    layout: &'static str,
}

/// A configuration key.
#[derive(IntoPyObject)]
pub struct KeyRow {
    section: String,
    section_about: String,
    key: String,
    about: String,
    accepts: String,
    /// As TOML.
    default: String,
}

/// The device presets.
#[pyfunction]
pub fn devices() -> PyResult<Vec<DeviceRow>> {
    presets::names()
        .map(|name| {
            let spec = presets::load(name).map_err(refuse)?;
            let capacity = spec.config.plan().map_err(refuse)?.capacity().0;
            let text = spec.config.to_toml();
            Ok(DeviceRow { name: spec.name, about: spec.about, source: spec.source, capacity, text })
        })
        .collect()
}

/// The workload presets.
#[pyfunction]
pub fn workloads() -> PyResult<Vec<WorkloadRow>> {
    workload::presets::names()
        .map(|name| {
            let workload = workload::presets::get(name, &[]).map_err(refuse)?;
            let text = workload.to_toml();
            Ok(WorkloadRow { name, about: workload.about, text })
        })
        .collect()
}

/// The named schemes.
#[pyfunction]
pub fn schemes() -> Vec<SchemeRow> {
    let row = |scheme: &::schemes::presets::Scheme| SchemeRow {
        name: scheme.name,
        about: scheme.about,
        choices: scheme.choices.to_vec(),
    };
    ::schemes::presets::ALL.iter().map(row).collect()
}

/// The trace formats.
#[pyfunction]
pub fn formats() -> Vec<FormatRow> {
    let row = |ListedFormat { name, title, layout }: ListedFormat| FormatRow { name, title, layout };
    workload::Format::list().map(row).collect()
}

/// Every configuration key.
#[pyfunction]
pub fn schema() -> Vec<KeyRow> {
    let config = Config::default();
    let (generator, kv) = (workload::Generator::default(), workload::kv::Kv::default());
    let log_fs = workload::log_fs::LogFs::default();
    let (array, drive) = (array::ArrayConfig::default(), array::DriveSection::default());
    let mut sections: Vec<&dyn Section> = config.sections().to_vec();
    sections.push(&generator);
    sections.push(&kv);
    sections.push(&log_fs);
    sections.push(&array);
    sections.push(&drive);
    let mut rows = Vec::new();
    for section in sections {
        for key in section.keys() {
            let default = section.get(key.name).map(|value| value.to_string()).unwrap_or_default();
            rows.push(KeyRow {
                section: section.name().into(),
                section_about: section.doc().into(),
                key: key.name.into(),
                about: key.doc.into(),
                accepts: key.expects,
                default,
            });
        }
    }
    rows
}

/// A kind of finding.
#[derive(IntoPyObject)]
pub struct WarningRow {
    id: &'static str,
    meaning: &'static str,
    /// Its threshold.
    when: String,
    /// The threshold's reason.
    why: &'static str,
    /// Comparisons leave such results out.
    excludes: bool,
}

/// The kinds of findings, the gravest first.
#[pyfunction]
pub fn warnings() -> Vec<WarningRow> {
    let row = |kind: &Kind| WarningRow {
        id: kind.id,
        meaning: kind.meaning,
        when: (kind.when)(),
        why: kind.why,
        excludes: kind.excludes,
    };
    KINDS.iter().map(row).collect()
}

/// A column of a table.
#[derive(IntoPyObject)]
pub struct ColumnRow {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
}

/// The columns of the request log, and those of the time series.
#[pyfunction]
pub fn columns() -> (Vec<ColumnRow>, Vec<ColumnRow>) {
    let row = |Column { name, unit, about }: Column| ColumnRow { name, unit, about };
    (logs::REQUEST_COLUMNS.map(row).into(), series::COLUMNS.map(row).into())
}

/// An option of a run.
#[derive(IntoPyObject)]
pub struct OptionRow {
    name: &'static str,
    /// What it takes.
    kind: &'static str,
    /// The least number that it takes.
    least: u64,
    /// Its name on the command line, where that is another.
    flag: Option<&'static str>,
    /// What stands for its value there.
    metavar: &'static str,
    about: &'static str,
    /// What it means on the command line; None where that is the same.
    help: Option<&'static str>,
    default: Option<Fallback>,
    /// It says what a run writes.
    is_output: bool,
}

/// A default: a number or a word.
#[derive(IntoPyObject)]
pub enum Fallback {
    Number(u64),
    Word(&'static str),
}

/// The text of the device file that a description in a line stands for; none where it is a name or a path.
#[pyfunction]
pub fn described_device(word: &str) -> PyResult<Option<String>> {
    presets::described(word).transpose().map_err(refuse)
}

/// The device files that are read for a device, each before the one that it builds on, or its checkpoint.
#[pyfunction]
pub fn device_files(word: &str) -> PyResult<Vec<PathBuf>> {
    ssd::run::device_files(word).map_err(refuse)
}

/// The device files that are read for each kind of drive in an array that has any of its own.
#[pyfunction]
pub fn drive_files(array: &str, settings: Vec<String>) -> PyResult<Vec<(String, Vec<PathBuf>)>> {
    array::drive_files(array, &settings).map_err(refuse)
}

/// The text under a key of a TOML text, in a section or above all, as the core reads it; none where it is not there.
#[pyfunction]
pub fn text_in(text: &str, section: &str, key: &str) -> PyResult<Option<String>> {
    let document = Document::parse(text, "text").map_err(refuse)?;
    if section.is_empty() { document.text(key).map_err(refuse) } else { Ok(document.section_text(section, key)) }
}

/// Every option of a run, in the order of the command line's help.
#[pyfunction]
pub fn run_options() -> Vec<OptionRow> {
    let row = |option: Declared| {
        let (kind, least, number) = match option.kind {
            OptionKind::Text => ("text", 0, None),
            OptionKind::Path => ("path", 0, None),
            OptionKind::Workload => ("workload", 0, None),
            OptionKind::Number(least, default) => ("number", least, default),
            OptionKind::Flag => ("flag", 0, None),
            OptionKind::Age => ("age", 0, None),
            OptionKind::Settings => ("settings", 0, None),
            OptionKind::Precondition => ("precondition", 0, None),
            OptionKind::Policies => ("policies", 0, None),
            OptionKind::Ftl => ("ftl", 0, None),
        };
        let default = number.map(Fallback::Number).or(option.default.map(Fallback::Word));
        let Declared { name, flag, metavar, about, help, is_output, .. } = option;
        OptionRow { name, kind, least, flag, metavar, about, help, default, is_output }
    };
    declared().into_iter().map(row).collect()
}
