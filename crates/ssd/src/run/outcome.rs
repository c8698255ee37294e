//! What a run has found out.

use units::Time;

use super::course::Point;
use super::drive::RunDrive;
use super::findings::{self, Evidence};
use super::measured::MeasuredDrive;
use super::reading::Reading;
use super::replay::Run;
use super::request_log::RequestLog;
use super::steady::SteadyWindow;
use crate::device::Device;
use crate::error::RunError;
use crate::observe::probe::{Probe, Unwatched};
use crate::observe::stats::latency::ByQueue;
use crate::observe::stats::report::{self, Report};
use crate::observe::stats::series::Series;
use crate::observe::stats::{DriveState, Finding, Measured, Totals, Unserved};

/// What a run has found out.
pub struct Outcome<D = Device> {
    /// What its statistics are made of, without the warm-up.
    pub measured: Measured,
    /// Over time, warm-up included.
    pub series: Series,
    /// The drive in its final state.
    pub device: D,
    /// The per-request log, if one was kept.
    pub log: Option<Box<dyn RequestLog>>,
}

impl<D> Outcome<D> {
    /// The statistics.
    pub fn report(&self) -> Report {
        report::report(&self.measured)
    }
}

impl<D> Outcome<D> {
    /// This outcome with another final state of the drive, or none.
    pub fn with<E>(self, device: impl FnOnce(D) -> E) -> Outcome<E> {
        let Outcome { measured, series, device: drive, log } = self;
        Outcome { measured, series, device: device(drive), log }
    }
}

impl<P: Probe> Outcome<Device<P>> {
    /// This outcome, with a device that no probe watches.
    pub fn unwatched(self) -> Outcome {
        self.with(|device| device.watched_by(Unwatched))
    }
}

impl<D: RunDrive> Run<D> {
    /// Ends the run, checks the conservation laws and gives what was found out. What has completed so far is
    /// valid also where the workload was not played to its end.
    pub fn finish(self) -> Result<Outcome<D>, RunError> {
        let reading = self.reading();
        self.measured.finish(reading)
    }
}

/// What a drive has counted, but of requests that were not served as asked those that count: the drive knows no
/// warm-up, some of whose requests end after it.
fn counted(mut totals: Totals, latencies: &ByQueue) -> Totals {
    let Unserved { uncorrectable, until_uncorrectable, given_up, refused, refusals } = latencies.unserved;
    let counters = &mut totals.counters;
    (counters.requests_uncorrectable, counters.requests_until_uncorrectable) = (uncorrectable, until_uncorrectable);
    (counters.requests_given_up, counters.requests_refused) = (given_up, refused);
    counters.requests_failed = refusals.all();
    totals
}

impl<D: RunDrive> MeasuredDrive<D> {
    /// What was measured up to now and what puts it in doubt, with what came of reading the workload.
    pub(super) fn so_far(&self, reading: Reading) -> Measured {
        let mut measured = self.counted_so_far(reading);
        measured.findings = self.findings(&measured);
        measured
    }

    fn findings(&self, measured: &Measured) -> Vec<Finding> {
        let course = self.course.until(Point::of(&self.drive));
        let mut found = findings::find(&Evidence { measured, course: &course, arrivals: self.course.arrivals() });
        if let Some(of_parts) = self.drive.findings_of_parts() {
            // Whether rounds have come to a steady state is found of all drives together.
            let of_rounds = |finding: &Finding| finding.id == "not-steady" && measured.steady.is_some();
            found.retain(|finding| !findings::is_of_one_drive(finding.id) || of_rounds(finding));
            let of_parts =
                of_parts.into_iter().filter(|finding| finding.id != "not-steady" || measured.steady.is_none());
            findings::add(&mut found, of_parts);
        }
        found
    }

    fn counted_so_far(&self, reading: Reading) -> Measured {
        let before = self.baseline.as_ref().unwrap_or(&self.begun);
        Measured {
            latencies: self.latencies.clone(),
            totals: counted(self.drive.totals().since(before), &self.latencies),
            wrapped: reading.wrapped + reading.counts.wrapped,
            settled: self.settled,
            missing: reading.missing,
            over: reading.over,
            past_assumed: self.past_assumed,
            outside: self.outside,
            read: reading.counts,
            of_source: reading.statistics,
            steady: None,
            drive: self.drive_state(),
            findings: Vec::new(),
        }
    }

    /// How the drive stands, with what is known of how it was brought to its start.
    fn drive_state(&self) -> DriveState {
        let state = self.drive.state();
        let waf_before = match self.warmed {
            None => state.waf_before,
            Some(warmed) => warmed.reached.then_some(warmed.waf),
        };
        DriveState { start: self.start(), warmed: self.warmed, waf_before, ..state }
    }

    /// Ends the run, and checks the conservation laws.
    pub(super) fn finish(mut self, reading: Reading) -> Result<Outcome<D>, RunError> {
        self.close_interval();
        if self.preconditions() {
            // It is on its way to its state: nothing of that is measured.
            self.baseline = Some(self.drive.totals());
        } else {
            self.drive.check_all()?;
        }
        let mut measured = self.counted_so_far(reading);
        if let Some(steady) = self.steady.take() {
            let (mut state, window) = steady.finish();
            let since = |time: Time| Time(time.0 - self.origin.0);
            state.window = state.window.map(|(began, ended)| (since(began), since(ended)));
            if let Some(SteadyWindow { start, end, latencies }) = window {
                (measured.totals, measured.latencies) = (counted(end.since(&start), &latencies), latencies);
            }
            measured.steady = Some(state);
        }
        measured.findings = self.findings(&measured);
        Ok(Outcome { measured, series: self.series, device: self.drive, log: self.log })
    }
}
