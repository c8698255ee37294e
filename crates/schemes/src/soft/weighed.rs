//! Hard or soft, and how finely, by the weight of what was sensed with the best references: no hard references read a
//! page that these do not, so that a die which weighs what it has sensed again (`read.predictor = "on-die-again"`) says
//! of such a page that it is to be sensed softly, and the controller decodes it but once. Two bits where the weight
//! stands for what they correct, otherwise three at once. The weight is that of Fig. 10 of hpca24, beyond the one
//! threshold that is used there.

/// Bits a cell of a page whose weight stands for `over` errors per KiB above what hard decoding corrects, where two
/// bits correct `reach` more.
pub(super) fn bits(over: f64, reach: f64) -> u8 {
    if over <= reach { 2 } else { 3 }
}
