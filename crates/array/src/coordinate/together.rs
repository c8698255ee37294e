//! All at once in one turn, and none in the others.

use super::contract::Place;

pub(super) fn is_open(turn: u64, place: Place) -> bool {
    turn.is_multiple_of(place.turns())
}
