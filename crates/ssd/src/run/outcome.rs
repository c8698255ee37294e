//! What a run has found out.

use workload::ReadCounts;

use super::course::Point;
use super::findings::{self, Evidence};
use super::measured::MeasuredDevice;
use super::replay::Run;
use super::request_log::RequestLog;
use super::steady::{SteadyWindow, totals};
use crate::device::Device;
use crate::error::RunError;
use crate::observe::probe::{Probe, Unwatched};
use crate::observe::stats::report::{self, Report};
use crate::observe::stats::series::Series;
use crate::observe::stats::{DriveState, Finding, Measured};

/// What a run has found out.
pub struct Outcome {
    /// What its statistics are made of, without the warm-up.
    pub measured: Measured,
    /// Over time, warm-up included.
    pub series: Series,
    /// The device in its final state.
    pub device: Device,
    /// The per-request log, if one was kept.
    pub log: Option<Box<dyn RequestLog>>,
}

impl Outcome {
    /// The statistics.
    pub fn report(&self) -> Report {
        report::report(&self.measured)
    }
}

impl<P: Probe> Run<P> {
    /// Ends the run, checks the conservation laws and gives what was found out. What has completed so far is
    /// valid also where the workload was not played to its end.
    pub fn finish(self) -> Result<Outcome, RunError> {
        let ((wrapped, missing), counts) = (self.read(), self.read_counts());
        self.measured.finish(counts, wrapped, missing)
    }
}

impl<P: Probe> MeasuredDevice<P> {
    /// What was measured up to now and what puts it in doubt, with what came of reading the workload: what was left out, the requests that were wrapped,
    /// and those that it no longer had.
    pub(super) fn so_far(&self, read: ReadCounts, wrapped: u64, missing: Option<u64>) -> Measured {
        let mut measured = self.counted_so_far(read, wrapped, missing);
        measured.findings = self.findings(&measured);
        measured
    }

    fn findings(&self, measured: &Measured) -> Vec<Finding> {
        let course = self.course.until(Point::of(&self.device));
        findings::find(&Evidence { measured, course: &course, arrivals: self.course.arrivals() })
    }

    fn counted_so_far(&self, read: ReadCounts, wrapped: u64, missing: Option<u64>) -> Measured {
        let before = self.baseline.clone().unwrap_or_default();
        Measured {
            latencies: self.latencies.clone(),
            totals: totals(&self.device).since(&before),
            wrapped: wrapped + read.wrapped,
            settled: self.settled,
            missing,
            read,
            steady: None,
            drive: self.state(),
            findings: Vec::new(),
        }
    }

    /// Ends the run, and checks the conservation laws.
    pub(super) fn finish(mut self, read: ReadCounts, wrapped: u64, missing: Option<u64>) -> Result<Outcome, RunError> {
        self.close_interval();
        self.device.check_all()?;
        let mut measured = self.counted_so_far(read, wrapped, missing);
        if let Some(steady) = self.steady.take() {
            let (state, window) = steady.finish();
            if let Some(SteadyWindow { start, end, latencies }) = window {
                (measured.totals, measured.latencies) = (end.since(&start), latencies);
            }
            measured.steady = Some(state);
        }
        measured.findings = self.findings(&measured);
        Ok(Outcome { measured, series: self.series, device: self.device.watched_by(Unwatched), log: self.log })
    }
}

impl<P: Probe> MeasuredDevice<P> {
    /// How the drive stands.
    fn state(&self) -> DriveState {
        let device = &self.device;
        DriveState {
            plan: device.plan().clone(),
            start: self.start(),
            warmed: self.warmed,
            written: device.counters().write_bytes,
            erases: device.erases().collect(),
            effective_pec: device.effective_pec().map(Iterator::collect),
            end_of_life: device.end_of_life(),
            smart: device.smart(),
            free_blocks: device.free_blocks(),
            slc_blocks: device.slc_blocks(),
            tracked_bytes: device.tracked_bytes(),
            recoveries: device.recoveries().to_vec(),
        }
    }
}
