//! PR2 from the first sense on where a failure is likely (asplos21 section 8, "Further Reduction of Read-Retry
//! Latency", which asks for a model that predicts failures): the last read of a similar page needed other references
//! than this one begins with.

pub(super) fn speculates(retry: bool, likely: bool) -> bool {
    retry || likely
}
