//! Where a resource's time goes, by cause. Every nanosecond has exactly one cause, so shares add up to
//! 100 % by construction.

use units::{Span, Time};

use crate::persist::stored;

/// Time by cause, for a resource that is in one of `N` states at a time.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // What a look at one state needs stands together.
pub(crate) struct Meter<const N: usize> {
    since: Time,
    /// When the state will by itself give way to `next`.
    until: Time,
    state: u32,
    next: u32,
    totals: [u64; N],
}

impl<const N: usize> Meter<N> {
    /// State 0 is idleness.
    pub fn new() -> Meter<N> {
        Meter { since: Time::ZERO, until: Time::NEVER, state: 0, next: 0, totals: [0; N] }
    }

    /// Enters `state`, for as long as nothing else is said; or until a time, and another state from then on.
    #[inline]
    pub fn enter(&mut self, now: Time, state: usize, until: Option<(Time, usize)>) {
        if until.is_none() && self.state as usize == state && self.until == Time::NEVER {
            return;
        }
        self.settle(now);
        let (until, next) = until.unwrap_or((Time::NEVER, state));
        (self.state, self.until, self.next) = (state as u32, until, next as u32);
    }

    /// The state at `now`, and what it will by itself give way to.
    pub fn standing(&self, now: Time) -> (usize, Option<(Time, usize)>) {
        let ends = self.until != Time::NEVER;
        if ends && now >= self.until {
            return (self.next as usize, None);
        }
        (self.state(), ends.then_some((self.until, self.next as usize)))
    }

    /// The state that was entered last.
    #[inline]
    pub fn state(&self) -> usize {
        self.state as usize
    }

    /// Books everything up to `now`.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if now >= self.until {
            self.totals[self.state as usize] += self.until.since(self.since).0;
            (self.since, self.state, self.until) = (self.until, self.next, Time::NEVER);
        }
        self.totals[self.state as usize] += now.since(self.since).0;
        self.since = now;
    }

    /// Time in a state up to `now`.
    pub fn in_state(&self, state: usize, now: Time) -> Span {
        let passed = now.min(self.until);
        let mut total = self.totals[state];
        if self.state() == state {
            total += passed.since(self.since).0;
        }
        if self.next as usize == state {
            total += now.since(passed).0;
        }
        Span(total)
    }

    /// Time in each state up to `now`.
    pub fn at(&self, now: Time) -> [Span; N] {
        let mut copy = *self;
        copy.settle(now);
        copy.totals.map(Span)
    }
}

stored! {
    [const N: usize] Meter<N> { since, until, state, next, totals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nanosecond_has_one_cause() {
        let mut meter = Meter::<3>::new();
        meter.enter(Time(10), 1, None);
        meter.enter(Time(15), 2, Some((Time(18), 1)));
        assert_eq!(meter.at(Time(17)), [Span(10), Span(5), Span(2)]);
        assert_eq!(meter.at(Time(20)), [Span(10), Span(7), Span(3)]);
        meter.enter(Time(25), 0, None);
        assert_eq!(meter.at(Time(30)), [Span(15), Span(12), Span(3)]);
        meter.enter(Time(31), 1, Some((Time(35), 2)));
        for now in (31..40).map(Time) {
            assert_eq!([0, 1, 2].map(|state| meter.in_state(state, now)), meter.at(now));
        }
    }
}
