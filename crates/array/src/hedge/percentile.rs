//! A percentile of the latencies of recent reads; before these are known, the fixed time.

use units::Span;

use super::contract::HedgeParameters;
use super::recent::RecentReads;

pub(super) fn after(parameters: &HedgeParameters, recent: &mut RecentReads) -> Span {
    recent.percentile().unwrap_or(parameters.delay)
}
