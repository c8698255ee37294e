//! The drive is overwritten before the workload (`age.precondition = "write:N"`).

use units::{Bytes, Stream, Time};
use workload::{Op, Request};

use super::Run;
use crate::config::{Plan, Precondition};
use crate::error::RunError;
use crate::observe::probe::Probe;

/// Random writes of whole pages before the workload (`age.precondition = "write:N"`).
pub(super) struct Overwriting {
    next: u64,
    total: u64,
    pages: u64,
    page: Bytes,
    depth: u64,
    random: Stream,
}

impl Overwriting {
    pub fn new(plan: &Plan, seed: u64) -> Option<Overwriting> {
        let Precondition::Write(times) = plan.config.age.precondition else { return None };
        let pages = ((f64::from(plan.logical_pages) * plan.config.age.fill.0) as u64).max(1);
        let layout = &plan.layout;
        Some(Overwriting {
            next: 0,
            total: (pages as f64 * times).ceil() as u64,
            pages,
            page: layout.page_size,
            // Two programs' worth of pages for each plane.
            depth: 2 * u64::from(layout.planes) * u64::from(plan.unit_pages),
            random: Stream::new(seed, "precondition"),
        })
    }

    fn request(&mut self, time: Time) -> Request {
        let offset = Bytes(self.random.below(self.next, self.pages) * self.page.0);
        self.next += 1;
        Request { time, offset, bytes: self.page, op: Op::Write, queue: 0 }
    }
}

impl<P: Probe> Run<P> {
    /// Overwrites the drive before the workload, some requests at a time.
    pub(super) fn precondition(&mut self, requests: u64) -> Result<(), RunError> {
        let Some(mut writes) = self.preconditioning.take() else { return Ok(()) };
        let target = writes.next + requests;
        while writes.next < target.min(writes.total) {
            while writes.next < writes.total && self.device.outstanding().0 < writes.depth {
                self.device.submit(writes.request(self.device.now()))?;
            }
            self.device.advance_to_completion(Time::NEVER)?;
            self.device.take_completions();
        }
        if writes.next < writes.total {
            self.preconditioning = Some(writes);
            return Ok(());
        }
        self.device.flush()?;
        self.device.take_completions();
        self.origin = self.device.now();
        self.first_id = writes.next;
        self.device.workload_begins();
        self.last_completion = self.origin;
        self.series.start(self.origin, &self.device.usage());
        if let Some(steady) = &mut self.steady {
            steady.start(&self.device);
        }
        Ok(())
    }
}
