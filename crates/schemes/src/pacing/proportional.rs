//! The price of [`super::token`], multiplied by a factor that grows in proportion to how far the room has shrunk: from
//! nothing where collection starts to one where the least is left, and on.

use super::contract::{Collection, Price};
use super::token;

pub(super) fn price(collection: Collection) -> Option<Price> {
    let range = (collection.start - collection.least).max(1);
    let missing = collection.start - collection.room;
    (missing > 0).then(|| token::fair(collection).times(missing, range))
}
