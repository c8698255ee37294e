//! PAGE READ during decoding (asplos21 section 6.1, footnote 10): a retry is sensed as soon as the page of the one
//! before is in the controller, while that is decoded. It needs no cache register, and overlaps less than CACHE READ: N
//! retries take N (tR + tDMA) + tECC.

use crate::next::Known;

pub(super) fn speculates(retry: bool) -> bool {
    retry
}

/// When a page has left its register.
pub(super) const FROM: Known = Known::Transferred;
