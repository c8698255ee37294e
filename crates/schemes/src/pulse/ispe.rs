//! Incremental-step pulse erasing (electronics25 section 3.2).

use super::contract::{Pulse, Verified};

pub(super) fn next(seen: Verified<'_>) -> Option<Pulse> {
    Some(Pulse { index: seen.last.map_or(0, |last| last.index + 1), grains: seen.grains, last: false })
}
