//! Visits for refresh (`refresh.period`): block by block, of one plane after another, so that each block is visited
//! once in a period. A full block whose oldest data is older than the period is to move.

use nand::PlaneId;
use units::{Span, Time};

use super::Ftl;
use crate::config::Plan;
use crate::flash::AgeClock;

/// A block whose data is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    pub plane: PlaneId,
    pub block: u32,
    /// Time until it is visited.
    pub after: Span,
}

impl Ftl {
    /// Visits the next block; returns it if its data is too old. The one after it is visited a step later.
    pub fn visit(&mut self, now: Time, clock: AgeClock, plan: &Plan) -> Option<Overdue> {
        let period = plan.config.refresh.period?;
        self.visits.next = now + step(period, plan);
        let (plane, block) = self.next_visited(plan);
        self.is_older(plane, block, period, Span::ZERO, clock, plan).then_some(Overdue {
            plane,
            block,
            after: Span::ZERO,
        })
    }

    /// The next visit that finds data which is too old, if it comes within `span` of the present, in which data grows
    /// old this many times `faster` than at 30 °C. Those before it are done, and so are all of the span where there is
    /// none.
    pub fn overdue_within(
        &mut self,
        span: Span,
        faster: f64,
        now: Time,
        clock: AgeClock,
        plan: &Plan,
    ) -> Option<Overdue> {
        let period = plan.config.refresh.period?;
        let step = step(period, plan);
        let mut at = self.visits.next.0.saturating_sub(now.0);
        while at <= span.0 {
            let (plane, block) = self.next_visited(plan);
            let older = Span((at as f64 * faster) as u64);
            if self.is_older(plane, block, period, older, clock, plan) {
                self.visits.next = now + step;
                return Some(Overdue { plane, block, after: Span(at) });
            }
            at += step.0.max(1);
        }
        self.visits.next = now + Span(at - span.0);
        None
    }

    /// The block that is visited now.
    fn next_visited(&mut self, plan: &Plan) -> (PlaneId, u32) {
        let (planes, blocks) = (u64::from(plan.layout.planes), u64::from(plan.layout.blocks));
        let visit = self.visits.done % (planes * blocks);
        self.visits.done += 1;
        (PlaneId((visit % planes) as u32), (visit / planes) as u32)
    }

    /// Whether the data of a block, which may move, is older than the period once it is that much `older`.
    fn is_older(&self, plane: PlaneId, block: u32, period: Span, older: Span, clock: AgeClock, plan: &Plan) -> bool {
        self.blocks.is_full(plane, block)
            && self.blocks.age(plane, block, clock, plan).0.saturating_add(older.0) > period.0
    }
}

/// Time from one visit to the next.
fn step(period: Span, plan: &Plan) -> Span {
    Span(period.0 / (u64::from(plan.layout.planes) * u64::from(plan.layout.blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn aged(days: u64) -> (Ftl, Plan) {
        let mut config = Config::default();
        let age = format!("age.retention={days}d");
        for setting in ["geometry.channels=1", "geometry.dies=1", "refresh.period=30d", age.as_str()] {
            config.set(setting).unwrap();
        }
        let plan = config.plan().unwrap();
        (Ftl::new(&plan, 1).unwrap(), plan)
    }

    const CLOCK: fn() -> AgeClock = || AgeClock::warmer_by(Span::ZERO, 0.0);
    const DAY: u64 = 86_400_000_000_000;

    #[test]
    fn each_block_is_visited_once_in_a_period_and_named_where_its_data_is_too_old() {
        for (days, too_old) in [(29, false), (31, true)] {
            let (mut ftl, plan) = aged(days);
            let planes = u64::from(plan.layout.planes);
            let mut now = ftl.visits.next;
            for visit in 0..planes * u64::from(plan.layout.blocks) {
                let (plane, block) = (PlaneId((visit % planes) as u32), (visit / planes) as u32);
                let found = ftl.visit(now, CLOCK(), &plan);
                let wanted = Some(Overdue { plane, block, after: Span::ZERO });
                assert_eq!(found, wanted.filter(|_| too_old && ftl.blocks.is_full(plane, block)));
                now = ftl.visits.next;
            }
            assert!((29 * DAY..=30 * DAY).contains(&now.0), "{now:?}");
        }
    }

    #[test]
    fn within_a_rest_the_block_that_grows_too_old_is_found_when_it_has_and_later_ones_are_left() {
        let (mut ftl, plan) = aged(29);
        assert_eq!(ftl.overdue_within(Span(DAY / 2), 1.0, Time::ZERO, CLOCK(), &plan), None);
        let (mut ftl, plan) = aged(29);
        let found = ftl.overdue_within(Span(2 * DAY), 1.0, Time::ZERO, CLOCK(), &plan).unwrap();
        assert!((DAY - DAY / 100..2 * DAY).contains(&found.after.0), "{found:?}");
        // As much older in half the time.
        let (mut ftl, plan) = aged(29);
        let warm = ftl.overdue_within(Span(2 * DAY), 2.0, Time::ZERO, CLOCK(), &plan).unwrap();
        assert!(warm.after.0 < found.after.0 * 51 / 100 + DAY / 100, "{warm:?}");
        assert_eq!(ftl.visits.next, Time::ZERO + step(Span(30 * DAY), &plan));
    }
}
