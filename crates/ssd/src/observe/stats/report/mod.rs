//! The statistics of a run, each with name, unit and description; JSON, terminal table, time series and plots take them
//! from here. Plain counts are declared in `counters.rs`; what is worked out of several stands here, in the order of
//! the report.

mod flash;
mod ftl;
mod host;
mod power;
mod resources;
mod smart;
mod statistic;

use super::Measured;

pub use statistic::{Report, Statistic};

/// The statistics of a run.
pub fn report(measured: &Measured) -> Report {
    let mut report = Report::default();
    host::add(&mut report, measured);
    flash::add(&mut report, measured);
    ftl::add(&mut report, measured);
    power::add(&mut report, measured);
    smart::add(&mut report, measured);
    resources::add(&mut report, measured);
    report
}
