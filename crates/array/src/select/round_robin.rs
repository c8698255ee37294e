//! The candidates take turns.

use super::contract::Candidate;

pub(super) fn order(candidates: &mut [Candidate], chosen: u64) {
    if !candidates.is_empty() {
        candidates.rotate_left((chosen % candidates.len() as u64) as usize);
    }
}
