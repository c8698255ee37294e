//! Blocks that are erased, that fail, and that go out of service.

use nand::PlaneId;

use super::Ftl;
use super::blocks::Breaks;
use super::relocator::Relocation;
use crate::config::Plan;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

/// A block has been erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Erased {
    /// P/E cycles of it, those before the run included.
    pub pec: u32,
    /// It has come to the end of its life.
    pub worn: bool,
}

impl Ftl {
    /// A block has been erased: it is counted, and where planes wear unevenly the data of the one that has worn least is to move.
    pub fn erased(&mut self, plane: PlaneId, block: u32, plan: &Plan) -> Erased {
        let erases = self.count_erase(plane, block, plan);
        let config = &plan.config.wear;
        if let Some(spread) = config.static_spread
            && erases > self.relocator[plane].least_erases.saturating_add(spread)
        {
            self.level(plane, erases, spread);
        }
        let exhausted = plan.config.erase.retire
            && self
                .wear
                .as_ref()
                .is_some_and(|wear| plan.layout.flash_planes_of(plane).any(|plane| wear.exhausted(plane, block)));
        let pec = self.blocks.cycles(plane, block, plan);
        Erased { pec, worn: exhausted || config.endurance.is_some_and(|limit| pec >= limit.0) }
    }

    /// Static wear levelling: the data of the least worn block moves, if it really is that far behind.
    fn level(&mut self, plane: PlaneId, erases: u32, spread: u32) {
        let Some((least, block)) = self.least_worn(plane) else { return };
        let relocation = &mut self.relocator[plane];
        relocation.least_erases = least;
        let asked = relocation.requests.iter().any(|next| next.cause == relocation_causes::WEAR_LEVELLING);
        if erases > least.saturating_add(spread) && !asked {
            relocation.requests.push_back(Relocation::block(block, relocation_causes::WEAR_LEVELLING));
        }
    }

    /// The block that a stream has opened has been erased: which.
    pub fn open_erased(&mut self, plane: PlaneId, stream: StreamId) -> u32 {
        self.blocks.open_erased(plane, stream);
        self.blocks.open_block(plane, stream)
    }

    /// The block that a stream has opened cannot be used.
    pub fn discard_open(&mut self, plane: PlaneId, stream: StreamId) {
        self.blocks.discard_open(plane, stream);
    }

    /// The erase of a reclaimed block has ended: it is free if it has not failed.
    pub fn reclaimed(&mut self, plane: PlaneId, block: u32, failed: bool) {
        self.relocator[plane].erasing = false;
        if !failed {
            self.blocks.release(plane, block, 0);
        }
    }

    /// A program has failed in a block that a stream has opened: nothing more goes into it, and it is to be emptied.
    pub fn program_failed(&mut self, plane: PlaneId, block: u32, stream: StreamId) {
        if !self.relocator[plane].broken && !self.relocator[plane].failed.contains(&block) {
            self.relocator[plane].failed.push(block);
            if self.blocks.open_block(plane, stream) == block {
                self.blocks.abandon(plane, stream);
            }
        }
    }

    /// The block that breaks where one is drawn: blocks that were never opened are alike, and the next of them does. None that the factory
    /// found bad, and none of a plane that has broken.
    pub fn stands_for(&self, plane: PlaneId, block: u32) -> Option<u32> {
        self.blocks.stands_for(plane, block).filter(|_| !self.relocator[plane].broken)
    }

    /// A block breaks: what it was. One that holds data is to be emptied, as far as that can be had; one that is being relocated goes out of
    /// service after that anyway.
    pub fn breaks(&mut self, plane: PlaneId, block: u32) -> Breaks {
        let was = self.blocks.breaks(plane, block);
        let relocation = &mut self.relocator[plane];
        let moves = relocation.victim.is_some_and(|moving| moving.block == block && moving.wordline.is_none());
        let holds_data = matches!(was, Breaks::Open | Breaks::Closed);
        if holds_data && !moves && !relocation.failed.contains(&block) {
            relocation.failed.push(block);
        }
        was
    }

    /// An empty block goes out of service; whether its plane still works, which would else be out of service as a whole.
    pub fn retire(&mut self, plane: PlaneId, block: u32) -> bool {
        let works = !self.relocator[plane].broken;
        if works {
            self.blocks.retire(plane, block);
        }
        works
    }
}
