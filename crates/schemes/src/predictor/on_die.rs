//! RiF (hpca24 section IV): a page that is predicted to fail does not leave the die.

pub(super) fn retries_on_die(predicted: bool, again: bool) -> bool {
    predicted && !again
}
