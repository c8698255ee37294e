//! Sentinel (Li et al., MICRO'20, as hpca24 section III-B describes it): a page whose boundaries do not include the
//! sentinel's is read once more for the sentinel cells, off the chip, before it is read with the best references. What
//! then still fails walks the table.

use super::{Failed, References, table};

pub(super) fn after(failed: Failed) -> Option<References> {
    let first = failed.references == References::Step(failed.start);
    if failed.references == References::Sentinel || first && failed.sentinel {
        Some(References::Best)
    } else if first {
        Some(References::Sentinel)
    } else {
        table::after(failed)
    }
}
