//! The price of [`super::token`], multiplied by a factor that grows in proportion to how far the free blocks have shrunk: from nothing
//! where collection starts to three halves where only the reserve is left (`assumed`: more than 1, so that the last blocks are not
//! used up).

use super::contract::{Collection, Price};
use super::token;

pub(super) fn price(collection: Collection) -> Option<Price> {
    // Free blocks move between the reserve and one less than the start.
    let range = (collection.start - 1).saturating_sub(collection.reserve).max(1);
    let missing = (collection.start - 1).saturating_sub(collection.free).min(range);
    let Price { relocated, host } = token::fair(collection);
    (missing > 0).then_some(Price { relocated: relocated * 3 * missing, host: host * 2 * range })
}
