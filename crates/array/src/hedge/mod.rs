//! When a read that has not completed is also sent another way: to a further copy, or to the units that it can be
//! reconstructed from (hedged requests: Dean and Barroso, "The Tail at Scale", CACM 2013).
//!
//! Contract: a policy sees its parameters and the latencies of recent reads, and answers after how long; none where
//! never.

mod contract;
mod delay;
mod percentile;
mod recent;

pub use contract::HedgeParameters;
pub use recent::RecentReads;
use units::Span;

units::choices! {
    /// When a read is hedged.
    pub enum Hedge {
        /// Never.
        None = "none",
        /// After a fixed time.
        Delay = "delay",
        /// After a percentile of the latencies of recent reads.
        Percentile = "percentile",
    }
}

impl Hedge {
    /// After how long a read that begins now is hedged.
    pub fn after(self, parameters: &HedgeParameters, recent: &mut RecentReads) -> Option<Span> {
        match self {
            Hedge::None => None,
            Hedge::Delay => Some(delay::after(parameters)),
            Hedge::Percentile => Some(percentile::after(parameters, recent)),
        }
    }
}
