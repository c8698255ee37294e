//! Intelligent ISPE (Lee et al., as electronics25 section 3.4 describes it): the loops before the one that ended the
//! block's last erase are skipped. When that one fails the next follows, and is where the next erase begins.

use super::contract::{Pulse, Verified};

pub(super) fn next(seen: Verified<'_>) -> Option<Pulse> {
    let index = seen.last.map_or(seen.before, |last| last.index + 1);
    Some(Pulse { index, grains: seen.grains, last: false })
}
