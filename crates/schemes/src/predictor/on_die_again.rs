//! RiF whose die predicts the page that it has sensed again as well, and goes on with the next references until one is
//! predicted to be correctable. hpca24 section IV-C does not predict again, since its references are near the best
//! ones; a die that walks a table needs to know when it has arrived.

pub(super) fn retries_on_die(predicted: bool) -> bool {
    predicted
}
