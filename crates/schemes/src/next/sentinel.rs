//! Sentinel (Li et al., MICRO'20, as hpca24 section III-B describes it): a page whose boundaries do not include the
//! sentinel's is read once more for the sentinel cells, off the chip, before it is read with the best references. What
//! then still fails walks the table.

use super::contract::{Failed, Known, ReadReference};
use super::table;

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    let first = failed.v_ref == ReadReference::Step(failed.start);
    if failed.v_ref == ReadReference::Sentinel || first && failed.sentinel {
        Some(ReadReference::NearOptimal)
    } else if first {
        Some(ReadReference::Sentinel)
    } else {
        table::after(failed)
    }
}

pub(super) fn known(v_ref: ReadReference) -> Known {
    if v_ref == ReadReference::Sentinel { Known::Transferred } else { Known::Sensed }
}
