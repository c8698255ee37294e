//! What a policy of hedging sees.

use units::Span;

/// The parameters of hedging.
#[derive(Clone, Copy, Debug)]
pub struct HedgeParameters {
    /// A fixed time.
    pub delay: Span,
    /// A percentile, more than 0 and less than 100.
    pub percentile: f64,
}
