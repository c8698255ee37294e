//! DPES (Jeong et al., as electronics25 sections 3.4 and 7.1 describe it).

/// P/E cycles from which a lower V_ERASE no longer meets the requirement (electronics25 section 7.1).
const LAST: u32 = 3_000;

pub(super) fn holds(pec: u32) -> bool {
    pec < LAST
}

/// 385 us at 500 cycles and 455 us at 2,500 for 350 us (electronics25 Table 2), straight between them (`assumed`).
pub(super) fn program_factor(pec: u32) -> f64 {
    1.1 + 0.2 * ((f64::from(pec) - 500.0) / 2_000.0).clamp(0.0, 1.0)
}
