//! One after another: in each turn as many neighbours as a stripe can do without (Li et al., "IODA: A Host/Device
//! Co-Design for Strong Predictability Contract on Modern Flash Storage", SOSP 2021: windows that do not overlap).

use super::contract::Place;

pub(super) fn is_open(turn: u64, place: Place) -> bool {
    (place.number / place.spare) as u64 == turn % place.turns()
}
