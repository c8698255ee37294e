//! By queue: in each turn those drives, as many as a stripe can do without, that have the fewest requests under way
//! when it begins.

use super::contract::Place;

pub(super) fn is_open(place: Place) -> bool {
    place.rank < place.spare
}
