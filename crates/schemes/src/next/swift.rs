//! Swift-Read (Cho et al., ISSCC'22, as hpca24 section III-B describes it). What then still fails walks the table.

use super::{Failed, References, table};

pub(super) fn after(failed: Failed) -> Option<References> {
    if failed.references == References::Step(failed.start) { Some(References::Best) } else { table::after(failed) }
}

pub(super) fn senses(references: References, counted: bool) -> u32 {
    if references == References::Best && !counted { 2 } else { 1 }
}
