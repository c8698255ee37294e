//! What a block may keep to the ECC by its own errors, which its reads have shown (electronics25 section 5.3: "another
//! approach is to measure the current RBER online dynamically … less than 1 byte per block"), in place of those of the
//! worst block that needs as long an erase. The paper profiles and leaves this to others.

use nand::ept::{Ept, Spare};

/// Errors per KiB that reads of the block have found at most since its last erase, without those that this erase is
/// known to have left; none where it was not read.
pub(super) fn spare(ept: &Ept, found: Option<f64>) -> Spare {
    found.map_or(Spare::Profiled, |errors| Spare::Grains(ept.spared(errors)))
}
