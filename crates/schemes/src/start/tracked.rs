//! PSO (Shim et al., MICRO'19, as asplos21 sections 3.1 and 7.3 describe it): pages on one layer of a chip, of one type
//! and age, need nearly the same references.

/// Steps before the one that last worked. A retry table is walked in one direction, so a start that lies too far fails to
/// the table's end; with fewer steps the similar pages' spread would lead there. `fitted` to asplos21 section 3.1: of 19.9
/// steps at 2K cycles and a year about 70 % are saved, and at least three remain.
pub(super) const GUARD: u8 = 6;

pub(super) fn step(last: Option<u8>, walks: bool) -> u8 {
    last.map_or(0, |step| if walks { step.saturating_sub(GUARD) } else { step })
}
