//! Ideal: the references of the second sense are right (hpca24 section III, SSDone).

use super::contract::{Failed, ReadReference};

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    (failed.v_ref != ReadReference::NearOptimal).then_some(ReadReference::NearOptimal)
}
