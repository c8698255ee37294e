//! Swift-Read (Cho et al., ISSCC'22, as hpca24 section III-B describes it). What then still fails walks the table.

use super::contract::{Failed, ReadReference};
use super::table;

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    if failed.v_ref == ReadReference::Step(failed.start) {
        Some(ReadReference::NearOptimal)
    } else {
        table::after(failed)
    }
}

pub(super) fn senses(v_ref: ReadReference, counted: bool) -> u32 {
    if v_ref == ReadReference::NearOptimal && !counted { 2 } else { 1 }
}
