//! Ideal: the references of the second sense are right (hpca24 section III, SSDone).

use super::{Failed, References};

pub(super) fn after(failed: Failed) -> Option<References> {
    (failed.references != References::Best).then_some(References::Best)
}
