//! While it erases: the longest that a read waits for one operation.

use super::contract::DieWork;

pub(super) fn gives_up(work: DieWork) -> bool {
    work.erases
}
