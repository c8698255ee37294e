//! The drive rests for a long time: its data grows old, and what is too old is refreshed
//! (docs/decisions/0023-a-rest-adds-to-ages.md).

use nand::PlaneId;
use units::{Span, Temperature};

use super::Device;
use crate::error::RunError;
use crate::ftl::relocator::Relocation;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;

impl<P: Probe> Device<P> {
    /// The drive, powered and idle, is left alone for `span`, at a temperature or at that of its rest. First everything buffered is
    /// written. Then all data grows older by the span (by Arrhenius' law, at the temperature), and blocks are visited for refresh as
    /// configured; what that moves is played. The drive's time goes on by what it plays alone: the times of requests, power
    /// cuts and faults do not count the rest.
    pub fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.flush()?;
        let faster = at.unwrap_or(self.core.plan.at_rest).acceleration();
        let mut left = span;
        while let Some((until, plane, block)) = self.refreshed_within(left, faster) {
            self.grows_old(until, faster);
            let before = self.core.now;
            self.request_move(plane, Relocation::block(block, relocation_causes::REFRESH));
            self.settle();
            self.flush()?;
            // What was moved took its time, too.
            let moved = self.core.now.since(before);
            left = Span(left.0.saturating_sub(until.0 + moved.0));
        }
        self.grows_old(left, faster);
        Ok(())
    }

    /// The data ages, and the drive cools down.
    fn grows_old(&mut self, span: Span, faster: f64) {
        let now = self.flash.age_clock(self.core.now);
        // Where nothing is left, nothing is noted.
        if span > Span::ZERO {
            self.ftl.blocks.rest(now, Span((span.0 as f64 * faster) as u64));
            self.flash.rest(self.core.now, span);
        }
    }

    /// The next visit for refresh that finds data which is too old, if it comes within `span` of the present: when, and where.
    /// Those before it are done, and so are all of the span where there is none.
    fn refreshed_within(&mut self, span: Span, faster: f64) -> Option<(Span, PlaneId, u32)> {
        let period = self.core.plan.config.refresh.period?;
        let layout = self.core.plan.layout;
        let (planes, blocks) = (u64::from(layout.planes), u64::from(layout.blocks));
        let (now, clock) = (self.core.now, self.flash.age_clock(self.core.now));
        let step = period.0 / (planes * blocks);
        let mut at = self.ftl.relocator.patrol.0.saturating_sub(now.0);
        while at <= span.0 {
            let visit = self.ftl.relocator.visited % (planes * blocks);
            let (plane, block) = (PlaneId((visit % planes) as u32), (visit / planes) as u32);
            self.ftl.relocator.visited += 1;
            let older = (at as f64 * faster) as u64;
            let is_due = self.ftl.blocks.is_full(plane, block)
                && self.ftl.blocks.age(plane, block, clock, &self.core.plan).0.saturating_add(older) > period.0;
            if is_due {
                self.ftl.relocator.patrol = now + Span(step);
                return Some((Span(at), plane, block));
            }
            at += step.max(1);
        }
        self.ftl.relocator.patrol = now + Span(at - span.0);
        None
    }
}
