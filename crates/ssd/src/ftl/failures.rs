//! Blocks that are erased, that fail, and that go out of service.

use nand::PlaneId;

use super::blocks::Breaks;
use super::moves::Moving;
use super::relocator::Relocation;
use super::{Ftl, zones};
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
    /// It was in the SLC cache's mode.
    pub in_slc: bool,
}

impl Ftl {
    /// A block has been erased: it is counted, and where planes wear unevenly the data of the one that has worn least
    /// is to move.
    pub fn erased(&mut self, plane: PlaneId, block: u32, plan: &Plan) -> Erased {
        let in_slc = self.blocks.in_slc(plane, block);
        let erases = self.count_erase(plane, block, plan);
        let config = &plan.config.wear;
        let worn = self.blocks.worn_by(plane, block, erases);
        // Blocks that are a static cache's own never hold other data.
        if let Some(spread) = config.static_spread
            && worn > self.relocator[plane].least_erases.saturating_add(spread)
            && !self.blocks.is_of_cache(plane, block)
        {
            self.level(plane, worn, spread);
        }
        let exhausted = plan.config.erase.retire
            && self
                .wear
                .as_ref()
                .is_some_and(|wear| plan.layout.flash_planes_of(plane).any(|plane| wear.exhausted(plane, block)));
        let pec = self.blocks.cycles(plane, block, plan);
        Erased { pec, worn: exhausted || config.endurance.is_some_and(|limit| pec >= limit.0), in_slc }
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

    /// The block that a stream has opened has been erased: it can be used if that has not failed.
    pub fn open_erased(&mut self, plane: PlaneId, stream: StreamId, failed: bool) {
        self.blocks.open_erased(plane, stream);
        if failed {
            self.blocks.discard_open(plane, stream);
        }
    }

    /// A program has failed in a block that a stream has opened: nothing more goes into it, and it is to be emptied.
    pub fn program_failed(&mut self, plane: PlaneId, block: u32, stream: StreamId) {
        if !self.relocator[plane].broken && !self.relocator[plane].has_failed(block) {
            self.relocator[plane].failed.push(block);
            if self.blocks.zones.is_some() && stream == zones::IN_ORDER {
                self.blocks.zone_fails(plane, block);
            } else if self.blocks.open_block(plane, stream) == block {
                self.blocks.abandon(plane, stream);
            }
        }
    }

    /// The block that breaks where one is drawn: blocks that were never opened are alike, and the next of them does.
    /// None that the factory found bad, and none of a plane that has broken.
    pub fn stands_for(&self, plane: PlaneId, block: u32) -> Option<u32> {
        self.blocks.stands_for(plane, block).filter(|_| !self.relocator[plane].broken)
    }

    /// A block breaks: what it was. One that holds data is to be emptied, as far as that can be had.
    pub fn breaks(&mut self, plane: PlaneId, block: u32) -> Breaks {
        let was = self.blocks.breaks(plane, block);
        let relocation = &mut self.relocator[plane];
        let holds_data = matches!(was, Breaks::Open | Breaks::Closed);
        if holds_data && !relocation.has_failed(block) {
            relocation.failed.push(block);
        }
        was
    }

    /// A plane has broken: whether it had not before. Nothing is relocated in it any more.
    pub fn plane_breaks(&mut self, plane: PlaneId) -> bool {
        self.relocator.breaks(plane)
    }

    /// Every block of a plane goes out of service, with the data in it; returns how many were in service.
    pub fn retire_plane(&mut self, plane: PlaneId) -> u32 {
        self.blocks.retire_all(plane)
    }

    /// An empty block goes out of service; whether its plane still works, which would else be out of service as a
    /// whole.
    pub fn retire(&mut self, plane: PlaneId, block: u32) -> bool {
        let works = !self.relocator[plane].broken;
        if works {
            self.blocks.retire(plane, block);
        }
        works
    }
}

impl Moving<'_> {
    /// The erase of a reclaimed block has ended: it is free if it has not failed.
    pub fn reclaimed(&mut self, block: u32, failed: bool) {
        let plane = self.plane;
        self.ftl.relocator[plane].erasing = false;
        if !failed {
            self.ftl.blocks.release(plane, block, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use units::{Lpn, Span};

    use super::*;
    use crate::buffer::Buffer;
    use crate::config::Config;
    use crate::flash::AgeClock;
    use crate::ftl::Location;
    use crate::ftl::moves::Emptied;

    fn drive(settings: &[&str]) -> (Ftl, Plan) {
        let mut config = Config::default();
        let small = ["geometry.channels=1", "geometry.dies=1", "age.fill=0.5", "age.pec=100"];
        small.iter().chain(settings).for_each(|setting| config.set(setting).unwrap());
        let plan = config.plan().unwrap();
        (Ftl::new(&plan, 1).unwrap(), plan)
    }

    const PLANE: PlaneId = PlaneId(0);

    const FAST: [&str; 5] = [
        "ftl.mapping=fast",
        "ftl.placement=static",
        "ftl.log_blocks=4",
        "age.precondition=none",
        "age.staggered=false",
    ];

    #[test]
    fn a_block_that_breaks_while_it_waits_to_be_emptied_is_emptied_once() {
        let (mut ftl, _) = drive(&[]);
        assert_eq!(ftl.breaks(PLANE, 4), Breaks::Closed);
        ftl.relocator[PLANE].requests.push_back(Relocation::block(5, relocation_causes::BAD_BLOCK));
        assert_eq!(ftl.breaks(PLANE, 5), Breaks::Closed);
        assert_eq!(ftl.relocator[PLANE].failed, [4]);
    }

    #[test]
    fn a_block_that_breaks_while_it_is_merged_is_emptied_if_it_stays() {
        let (mut ftl, plan) = drive(&FAST);
        let full: Vec<u32> = (0..plan.layout.blocks).filter(|block| ftl.blocks.is_full(PLANE, *block)).collect();
        let merge = |ftl: &mut Ftl, block: u32, partial: bool| {
            assert!(ftl.claim(PLANE, block));
            let moving = Relocation::block(block, relocation_causes::COLLECTION);
            ftl.begin_relocation(PLANE, moving, &plan);
            assert_eq!(ftl.breaks(PLANE, block), Breaks::Closed);
            ftl.relocator[PLANE].merging.as_mut().unwrap().partial = partial;
            ftl.moving(PLANE, &Buffer::new(&plan), &plan).end(moving)
        };
        assert_eq!(merge(&mut ftl, full[0], true), Emptied::Stays);
        assert_eq!(merge(&mut ftl, full[1], false), Emptied::Stays);
        assert_eq!(ftl.relocator[PLANE].failed, [full[0], full[1]]);
        // Of the third all data is gone: it goes out of service, and nothing of it is left to be emptied.
        trim(&mut ftl, full[2], &plan);
        assert!(matches!(merge(&mut ftl, full[2], false), Emptied::Gained(_)));
        assert_eq!(ftl.relocator[PLANE].failed, [full[0], full[1]]);
    }

    /// The logical pages that a block holds are trimmed.
    fn trim(ftl: &mut Ftl, block: u32, plan: &Plan) {
        for lpn in (0..plan.logical_pages).map(Lpn) {
            if let Location::Flash(ppn) = ftl.locate(lpn)
                && (plan.layout.plane_of(ppn), plan.layout.unpack(ppn).block) == (PLANE, block)
            {
                ftl.trim(lpn);
                ftl.goes_stale(ppn, plan);
            }
        }
    }

    #[test]
    fn no_block_that_has_failed_is_collected_and_another_is() {
        let (mut ftl, plan) = drive(&FAST);
        let full: Vec<u32> = (0..plan.layout.blocks).filter(|block| ftl.blocks.is_full(PLANE, *block)).collect();
        (0..3).for_each(|place| trim(&mut ftl, full[place], &plan));
        ftl.relocator[PLANE].failed = vec![full[0], full[1]];
        ftl.claim_failed(PLANE);
        let bad = |block| Relocation::block(block, relocation_causes::BAD_BLOCK);
        assert_eq!(ftl.relocator[PLANE].requests, [bad(full[1]), bad(full[0])]);
        assert_eq!(ftl.pick_gathered(PLANE), Some(full[2]));
        assert_eq!(ftl.pick_gathered(PLANE), None);
    }

    #[test]
    fn of_a_block_that_has_failed_no_other_move_begins() {
        let (mut ftl, mut plan) = drive(&[]);
        // What would make its data movable is not there.
        plan.space.reserve = plan.layout.blocks;
        ftl.relocator[PLANE].requests.push_back(Relocation::block(5, relocation_causes::READ_RECLAIM));
        assert_eq!(ftl.breaks(PLANE, 5), Breaks::Closed);
        let now = AgeClock::warmer_by(Span::ZERO, 0.0);
        assert_eq!(ftl.moving(PLANE, &Buffer::new(&plan), &plan).begin_next(now, false), None);
        assert_eq!(ftl.relocator[PLANE].requests, [Relocation::block(5, relocation_causes::BAD_BLOCK)]);
    }

    #[test]
    fn a_block_that_breaks_while_it_moves_is_known_after_a_power_cut_and_forgotten_when_it_is_empty() {
        for cut in [true, false] {
            let (mut ftl, plan) = drive(&[]);
            assert!(ftl.claim(PLANE, 5));
            let moving = Relocation::block(5, relocation_causes::COLLECTION);
            ftl.begin_relocation(PLANE, moving, &plan);
            assert_eq!(ftl.breaks(PLANE, 5), Breaks::Closed);
            if cut {
                assert_eq!(ftl.stop_relocating()[0], (vec![5], false));
            } else {
                trim(&mut ftl, 5, &plan);
                assert!(matches!(ftl.moving(PLANE, &Buffer::new(&plan), &plan).end(moving), Emptied::Gained(_)));
                assert!(ftl.relocator[PLANE].failed.is_empty());
            }
        }
    }

    #[test]
    fn a_block_is_worn_at_its_endurance() {
        let (mut ftl, plan) = drive(&["wear.endurance=102"]);
        assert_eq!(ftl.erased(PLANE, 5, &plan), Erased { pec: 101, worn: false, in_slc: false });
        assert_eq!(ftl.erased(PLANE, 5, &plan), Erased { pec: 102, worn: true, in_slc: false });
        assert_eq!(ftl.erased(PLANE, 6, &plan), Erased { pec: 101, worn: false, in_slc: false });
    }

    #[test]
    fn the_least_worn_block_moves_once_when_another_is_ahead_by_more_than_the_spread() {
        let (mut ftl, plan) = drive(&["wear.static_spread=2"]);
        for (erases, asked) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
            ftl.erased(PLANE, 5, &plan);
            assert_eq!(ftl.relocator[PLANE].requests.len(), asked, "after {erases}");
        }
        let Relocation { block, cause, .. } = ftl.relocator[PLANE].requests[0];
        assert_eq!(cause, relocation_causes::WEAR_LEVELLING);
        assert!(block != 5 && ftl.valid(PLANE, block) > 0);
    }

    #[test]
    fn what_wears_a_static_cache_is_nothing_to_level_and_in_a_dynamic_one_a_tenth_of_an_erase_is() {
        let cache = ["ftl.slc_cache=static", "slc.blocks=6", "wear.static_spread=2"];
        let (mut ftl, plan) = drive(&cache);
        let own = ftl.blocks.slc.as_ref().unwrap().plane(PLANE).first;
        (0..100).for_each(|_| _ = ftl.erased(PLANE, own, &plan));
        assert!(ftl.relocator[PLANE].requests.is_empty());
        (0..3).for_each(|_| _ = ftl.erased(PLANE, 5, &plan));
        assert_eq!(ftl.relocator[PLANE].requests.len(), 1);
        let (mut ftl, plan) = drive(&["ftl.slc_cache=dynamic", "slc.wear=0.1", "wear.static_spread=2"]);
        ftl.blocks.slc.as_mut().unwrap().opened(PLANE, 5, true);
        for (erases, asked) in [(24, 0), (1, 0), (1, 1)] {
            (0..erases).for_each(|_| _ = ftl.erased(PLANE, 5, &plan));
            assert_eq!(ftl.relocator[PLANE].requests.len(), asked);
        }
    }

    #[test]
    fn static_wear_levelling_goes_on_after_a_power_cut_from_what_it_knew() {
        let (mut ftl, plan) = drive(&["wear.static_spread=2"]);
        // Every block has been erased at least four times.
        for block in (0..5).flat_map(|_| 0..plan.layout.blocks) {
            ftl.erased(PLANE, block, &plan);
        }
        let known = ftl.relocator[PLANE].least_erases;
        assert!(known > 0 && ftl.relocator[PLANE].requests.is_empty(), "{known}");
        (ftl.relocator[PLANE].host_pages, ftl.relocator[PLANE].levelled_at) = (9, 5);
        ftl.stop_relocating();
        let left = &ftl.relocator[PLANE];
        assert_eq!((left.least_erases, left.host_pages, left.levelled_at), (known, 9, 5));
    }

    #[test]
    fn a_full_block_that_breaks_is_to_be_emptied_and_a_free_one_is_not() {
        let (mut ftl, plan) = drive(&[]);
        let full = (0..plan.layout.blocks).find(|block| ftl.blocks.is_full(PLANE, *block)).unwrap();
        for _ in 0..2 {
            assert_eq!(ftl.breaks(PLANE, full), Breaks::Closed);
            assert_eq!(ftl.relocator[PLANE].failed, [full]);
        }
        let free = ftl.stands_for(PLANE, plan.layout.blocks - 1).unwrap();
        assert_eq!(ftl.breaks(PLANE, free), Breaks::Free);
        assert_eq!(ftl.relocator[PLANE].failed, [full]);
        assert!(ftl.retire(PLANE, free));
        ftl.relocator.breaks(PLANE);
        assert!(!ftl.retire(PLANE, full) && ftl.stands_for(PLANE, full).is_none());
    }
}
