//! A fixed time.

use units::Span;

use super::contract::HedgeParameters;

pub(super) fn after(parameters: &HedgeParameters) -> Span {
    parameters.delay
}
