//! The references moved to where the syndrome weighs least: the weight of what was sensed shows how many errors it has,
//! though not which ("gradient of the syndrome weight", ACM TECS 2025, of which no text was at hand: the search is
//! `assumed`). From the lightest step outwards until it lies between heavier ones, then between those, then its nearest
//! neighbours.

use super::contract::{Failed, ReadReference, Weighed};

/// The first stride. `assumed`: about as wide as what passes.
const STRIDE: u8 = 4;

pub(super) fn after(failed: Failed<'_>) -> Option<ReadReference> {
    let best = failed.weighed.iter().min_by_key(|weighed| weighed.weight)?.step;
    let tried = |step: u8| failed.weighed.iter().any(|weighed| weighed.step == step);
    let steps = || failed.weighed.iter().map(|Weighed { step, .. }| *step);
    let below = steps().filter(|step| *step < best).max();
    let above = steps().filter(|step| *step > best).min();
    let further = match (below, above) {
        (None, None) => best.checked_add(STRIDE).filter(|step| *step <= failed.last).or(best.checked_sub(STRIDE)),
        // Still lighter on the way up, or down.
        (Some(below), None) if best < failed.last => Some(best.saturating_add(2 * (best - below)).min(failed.last)),
        (None, Some(above)) if best > 0 => Some(best.saturating_sub(2 * (above - best))),
        // Between two heavier ones: the middle of the wider gap.
        (below, above) => {
            let (low, high) = (below.unwrap_or(best), above.unwrap_or(best));
            if best - low >= high - best { Some(low + (best - low) / 2) } else { Some(best + (high - best) / 2) }
        }
    };
    let nearest = || (1..=failed.last).flat_map(|by| [best.checked_add(by), best.checked_sub(by)]).flatten();
    further
        .filter(|step| !tried(*step))
        .or_else(|| nearest().find(|step| *step <= failed.last && !tried(*step)))
        .map(ReadReference::Step)
}
