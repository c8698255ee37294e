//! AR2 for regular reads (asplos21 section 8, "Latency Reduction for Regular Reads", which asks for a model of a page's
//! errors): the RPT says how far tPRE may be reduced by wear and age, and similar pages say whether a first sense still
//! is corrected then.

/// First senses of similar pages that take the default timing after one that failed by the reduced one (`assumed`: so
/// that what is read wrongly by it costs a twentieth of a read at most).
pub const RESTS: u8 = 20;

pub(super) fn reduces_first(rests: u8) -> bool {
    rests == 0
}
