//! What there is to choose from, as plain Python lists.

use pyo3::prelude::*;
use ssd::config::Config;
use ssd::run::{Declared, Kind, declared};
use ssd::{presets, stats};
use units::section::Section;

use crate::error::refuse;

/// A device preset: name, about, source, capacity [B], TOML text.
type DeviceRow = (String, String, String, u64, String);
/// A named scheme: name, about, its choices as (axis, choice).
type SchemeRow = (&'static str, &'static str, Vec<(&'static str, &'static str)>);

/// The device presets: name, about, source, capacity [B], TOML text.
#[pyfunction]
pub fn devices() -> PyResult<Vec<DeviceRow>> {
    presets::names()
        .map(|name| {
            let spec = presets::load(name).map_err(refuse)?;
            let capacity = spec.config.plan().map_err(refuse)?.capacity().0;
            Ok((spec.name, spec.about, spec.source, capacity, spec.config.to_toml()))
        })
        .collect()
}

/// The workload presets: name, about, TOML text.
#[pyfunction]
pub fn workloads() -> PyResult<Vec<(&'static str, String, String)>> {
    workload::presets::names()
        .map(|name| {
            let workload = workload::presets::get(name, &[]).map_err(refuse)?;
            let text = workload.to_toml();
            Ok((name, workload.about, text))
        })
        .collect()
}

/// The named schemes: name, about, choices by axis.
#[pyfunction]
pub fn schemes() -> Vec<SchemeRow> {
    ::schemes::presets::ALL.iter().map(|scheme| (scheme.name, scheme.about, scheme.choices.to_vec())).collect()
}

/// The trace formats: name, title, layout of a line.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, &'static str, &'static str)> {
    workload::Format::list().collect()
}

/// Every configuration key: section, section's meaning, key, meaning, what it accepts, default.
#[pyfunction]
pub fn schema() -> Vec<(String, String, String, String, String, String)> {
    let config = Config::default();
    let generator = workload::Generator::default();
    let mut sections: Vec<&dyn Section> = config.sections().to_vec();
    sections.push(&generator);
    let mut rows = Vec::new();
    for section in sections {
        for key in section.keys() {
            let default = section.get(key.name).map(|value| value.to_string()).unwrap_or_default();
            rows.push((
                section.name().into(),
                section.doc().into(),
                key.name.into(),
                key.doc.into(),
                key.expects,
                default,
            ));
        }
    }
    rows
}

/// A kind of finding: id, meaning, threshold, its reason, whether comparisons leave such results out.
type WarningRow = (&'static str, &'static str, String, &'static str, bool);

/// The kinds of findings, the gravest first: id, meaning, threshold, its reason, whether comparisons leave such results out.
#[pyfunction]
pub fn warnings() -> Vec<WarningRow> {
    ssd::run::findings::KINDS
        .iter()
        .map(|kind| (kind.id, kind.meaning, (kind.when)(), kind.why, kind.excludes))
        .collect()
}

/// The columns of the request log and of the time series: name, unit, meaning.
type Columns = Vec<(&'static str, &'static str, &'static str)>;

/// The columns of the request log, and those of the time series.
#[pyfunction]
pub fn columns() -> (Columns, Columns) {
    (logs::REQUEST_COLUMNS.to_vec(), stats::series::COLUMNS.to_vec())
}

/// An option of a run: name, what it takes, its least number, name on the command line, what stands for its value there, what it
/// means, the same for the command line (None where that is the same), its default, and whether it says what a run writes.
type OptionRow = (
    &'static str,
    &'static str,
    u64,
    Option<&'static str>,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<Fallback>,
    bool,
);

/// A default: a number or a word.
#[derive(IntoPyObject)]
pub enum Fallback {
    Number(u64),
    Word(&'static str),
}

/// Every option of a run, in the order of the command line's help.
#[pyfunction]
pub fn run_options() -> Vec<OptionRow> {
    let row = |option: Declared| {
        let (kind, least, number) = match option.kind {
            Kind::Text => ("text", 0, None),
            Kind::Path => ("path", 0, None),
            Kind::Workload => ("workload", 0, None),
            Kind::Number(least, default) => ("number", least, default),
            Kind::Flag => ("flag", 0, None),
            Kind::Age => ("age", 0, None),
            Kind::Settings => ("settings", 0, None),
            Kind::Precondition => ("precondition", 0, None),
            Kind::Policies => ("policies", 0, None),
        };
        let default = number.map(Fallback::Number).or(option.default.map(Fallback::Word));
        let Declared { name, flag, metavar, about, help, is_output, .. } = option;
        (name, kind, least, flag, metavar, about, help, default, is_output)
    };
    declared().into_iter().map(row).collect()
}
