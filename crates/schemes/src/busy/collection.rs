//! While it relocates or erases: "SSDs are expected to quickly fail an I/O on purpose to allow predictable I/Os through
//! proactive data reconstruction" (Li et al., "IODA: A Host/Device Co-Design for Strong Predictability Contract on
//! Modern Flash Storage", SOSP 2021, abstract).

use super::contract::DieWork;

pub(super) fn gives_up(work: DieWork) -> bool {
    work.relocates || work.erases
}
