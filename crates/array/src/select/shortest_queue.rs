//! The drive with the fewest requests under way first.

use super::contract::Candidate;

pub(super) fn order(candidates: &mut [Candidate]) {
    candidates.sort_by_key(|candidate| candidate.outstanding);
}
