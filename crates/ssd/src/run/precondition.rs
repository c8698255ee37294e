//! The drive is overwritten before the workload (`age.precondition = "write:N"`).

use units::{Bytes, Stream, Time};
use workload::{Op, Request};

use super::before::Before;
use super::drive::RunDrive;
use crate::config::{Plan, Precondition};
use crate::drive::Drive;
use crate::error::RunError;
use crate::observe::stats::Warmed;

/// Random writes of whole pages, or of whole units of the map where these are larger, before the workload
/// (`age.precondition = "write:N"`).
#[derive(Clone)]
pub struct Overwriting {
    next: u64,
    total: u64,
    units: u64,
    unit: Bytes,
    depth: u64,
    random: Stream,
}

impl Overwriting {
    /// Those of a drive, where its configuration asks for them.
    pub fn new(plan: &Plan, seed: u64) -> Option<Overwriting> {
        let Precondition::Write(times) = plan.config.age.precondition else { return None };
        let (layout, unit) = (&plan.layout, u64::from(plan.unit_of_map));
        let units = ((plan.logical_pages as f64 * plan.config.age.fill.0) as u64 / unit).max(1);
        Some(Overwriting {
            next: 0,
            total: (units as f64 * times).ceil() as u64,
            units,
            unit: Bytes(layout.page_size.0 * unit),
            // Two programs' worth of pages for each plane.
            depth: 2 * u64::from(layout.planes) * u64::from(plan.unit_pages),
            random: Stream::new(seed, "precondition"),
        })
    }

    fn request(&mut self, time: Time) -> Request {
        let offset = Bytes(self.random.below(self.next, self.units) * self.unit.0);
        self.next += 1;
        Request::new(time, Op::Write, offset, self.unit)
    }

    /// Plays some requests more; whether all has been written, and lies on flash.
    ///
    /// # Errors
    /// The drive fails, or its life ends.
    pub fn play(&mut self, drive: &mut (impl Drive + ?Sized), requests: u64) -> Result<bool, RunError> {
        let target = self.next + requests;
        while self.next < target.min(self.total) {
            while self.next < self.total && drive.outstanding() < self.depth {
                drive.submit(self.request(drive.now()))?;
            }
            drive.advance_to_completion(Time::NEVER)?;
            drive.take_completions();
        }
        if self.next < self.total {
            return Ok(false);
        }
        drive.flush()?;
        drive.take_completions();
        Ok(true)
    }
}

impl<D: RunDrive> Before<D> for Overwriting {
    fn play(&mut self, drive: &mut D, requests: u64) -> Result<bool, RunError> {
        Overwriting::play(self, drive, requests)
    }
    fn warmed(&self) -> Option<Warmed> {
        None
    }
}
