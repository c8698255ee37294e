//! AR2 (asplos21 section 6.2): a retry whose every step failed is repeated with the default timing.

pub(super) fn reduces(retry: bool, failed: bool) -> bool {
    retry && !failed
}
