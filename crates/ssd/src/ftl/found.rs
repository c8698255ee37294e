//! The errors that reads found in blocks before the run, where erases go by them (`erase.margin = "tracked"`).

use nand::Layout;
use nand::model::outcomes::{ARCHETYPES, Archetypes, Outcomes, PageState};
use units::Span;

use crate::config::Plan;

/// Of each archetype its worst page, as old as the drive's oldest data and read with the best references. That page is
/// taken to have been the worst one all along, and to wear as the whole block (`assumed`).
pub(super) struct Found {
    outcomes: Outcomes,
    age: Span,
    /// A block that stands for the archetype, and the page; none where no block does.
    worst: Vec<Option<(u64, u32)>>,
}

impl Found {
    /// Where erases go by the errors of reads.
    pub fn new(plan: &Plan, archetypes: Archetypes, seed: u64) -> Option<Found> {
        let outcomes = plan.outcomes(seed).filter(|_| plan.config.erase.margin.tracks())?;
        let worst = vec![None; ARCHETYPES as usize];
        let mut found = Found { outcomes, age: plan.config.age.data_age().oldest(), worst };
        let (state, layout) = (found.state(plan.config.age.pec.0.into()), &plan.layout);
        for (block, archetype) in blocks(layout, archetypes) {
            if found.worst[archetype].is_none() {
                let page = found.outcomes.worst_page(block, 0..layout.flash_pages(), state);
                found.worst[archetype] = page.map(|(page, _)| (block, page));
            }
        }
        Some(found)
    }

    /// Errors per KiB in the worst page of blocks that stand for an archetype and have worn by this many cycles;
    /// without those of their erase.
    pub fn errors(&mut self, archetype: usize, cycles: f64) -> Option<f64> {
        let ((block, page), state) = (self.worst[archetype]?, self.state(cycles));
        Some(self.outcomes.worst_page(block, page..page + 1, state)?.1)
    }

    fn state(&self, cycles: f64) -> PageState {
        let (pec, retention) = (cycles.round() as u32, self.age);
        PageState { pec, retention, reads: 0, warmer: 0, programmed: None, extra: 0.0 }
    }
}

/// The drive's blocks as [`Outcomes`] names them, with what they stand for.
fn blocks(layout: &Layout, archetypes: Archetypes) -> impl Iterator<Item = (u64, usize)> {
    let planes = 0..layout.dies * layout.flash_planes_per_die();
    let all = planes.flat_map(|plane| (0..layout.blocks).map(move |block| (plane, block)));
    all.map(move |(plane, block)| (Archetypes::name(plane, block), archetypes.of(plane, block)))
}
