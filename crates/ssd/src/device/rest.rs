//! The drive rests for a long time: its data grows old, and what is too old is refreshed
//! (docs/decisions/0023-a-rest-adds-to-ages.md).

use units::{Span, Temperature};

use super::Device;
use crate::error::RunError;
use crate::ftl::relocator::Relocation;
use crate::ftl::visits::Overdue;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;

impl<P: Probe> Device<P> {
    /// The drive, powered and idle, is left alone for `span`, at a temperature or at that of its rest. First everything
    /// buffered is written. Then all data grows older by the span (by Arrhenius' law, at the temperature), and blocks
    /// are visited for refresh as configured; what that moves is played. The drive's time goes on by what it plays
    /// alone: the times of requests, power cuts and faults do not count the rest.
    pub fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.flush()?;
        let faster = at.unwrap_or(self.back.core.plan.at_rest).acceleration();
        let mut left = span;
        loop {
            let (now, clock) = (self.back.core.now, self.back.flash.age_clock(self.back.core.now));
            let overdue = self.back.ftl.overdue_within(left, faster, now, clock, &self.back.core.plan);
            let Some(Overdue { plane, block, after }) = overdue else { break };
            self.grows_old(after, faster);
            let before = self.back.core.now;
            self.back.request_move(plane, Relocation::block(block, relocation_causes::REFRESH));
            self.back.settle();
            self.flush()?;
            // What was moved took its time, too.
            let moved = self.back.core.now.since(before);
            left = Span(left.0.saturating_sub(after.0 + moved.0));
        }
        self.grows_old(left, faster);
        Ok(())
    }

    /// The data ages, and the drive cools down.
    fn grows_old(&mut self, span: Span, faster: f64) {
        let now = self.back.flash.age_clock(self.back.core.now);
        // Where nothing is left, nothing is noted.
        if span > Span::ZERO {
            let age = Span((span.0 as f64 * faster) as u64);
            self.back.ftl.grows_old(now, age);
            self.back.flash.rest(self.back.core.now, span, age);
        }
    }
}
