//! PSO (Shim et al., MICRO'19, as asplos21 sections 3.1 and 7.3 describe it): pages on one layer of a chip, of one type
//! and age, need nearly the same references.

/// Percent of the step that last worked by which a read begins before it. A retry table is walked in one direction, so
/// a start that lies too far fails to the table's end, and pages differ by the more steps the more they need. `fitted`
/// to asplos21 section 3.1: about 70 % of the steps are saved at 2K cycles and a year.
const GUARD_PERCENT: u32 = 30;

/// Steps by which it begins before it at least: three remain of every read of an aged drive (asplos21 section 1).
const GUARD_LEAST: u32 = 3;

pub(super) fn step(last: Option<u8>, walks: bool) -> u8 {
    let guard = |step: u8| (u32::from(step) * GUARD_PERCENT).div_ceil(100).max(GUARD_LEAST) as u8;
    last.map_or(0, |step| if walks { step.saturating_sub(guard(step)) } else { step })
}
