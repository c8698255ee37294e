//! RPSSD (hpca24 section VI-A): the page has been moved, but no long decoding in vain follows.

pub(super) fn ends_decoding(predicted: bool, again: bool) -> bool {
    predicted && !again
}
