//! How a drive's power and temperature have kept it from working.

use units::Span;

/// Of a drive whose power is limited or whose temperature is followed, since its start or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttling {
    /// Energy used \[pJ], that of operations that have begun included.
    pub used: f64,
    /// Time in which nothing could begin, since too much had been used.
    pub held: Span,
    /// Time under light throttling.
    pub light: Span,
    /// Time under heavy throttling.
    pub heavy: Span,
    /// The temperature at the end and the highest since the start \[C], where it is followed.
    pub celsius: Option<(f64, f64)>,
}

impl Throttling {
    /// What has been counted since `before`.
    pub fn since(&self, before: &Throttling) -> Throttling {
        let less = |now: Span, before: Span| Span(now.0 - before.0);
        Throttling {
            used: self.used - before.used,
            held: less(self.held, before.held),
            light: less(self.light, before.light),
            heavy: less(self.heavy, before.heavy),
            celsius: self.celsius,
        }
    }
}
