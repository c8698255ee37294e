//! The move of a plane's block: which of its pages is next, how many are on the move, and what becomes of the block.
//!
//! What is read and programmed for it is the caller's; it tells when that has ended.

use std::ops::Range;

use nand::{Address, DieId, PlaneId};
use units::{Lpn, Ppn};

use super::relocator::{PlaneRelocation, Relocation};
use super::{Ftl, ValidPage};
use crate::arena::StripeId;
use crate::buffer::Buffer;
use crate::config::Plan;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;
use crate::window::Window;

/// What a plane that relocates a block does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Its die copies a page, if it can, for a program of that stream.
    Copies { lpn: Lpn, source: Ppn, writes: StreamId },
    /// A flash page is read: from its first valid page, which is given, to its last, by their places in it.
    Reads { lpn: Lpn, source: Ppn, pages: Range<u32> },
    /// What has been read of a page is programmed: it is its turn in its logical block.
    Moves { lpn: Lpn, source: Ppn },
    /// Padding is programmed in the place of a page that has no data.
    Pads { lpn: Lpn },
    /// Programs of what has been read, in partly filled units where need be: no further page comes that could fill
    /// them.
    Programs,
    /// All that was to move has moved.
    Ends(Relocation),
    /// The plane has broken, and nothing is under way any more.
    GivesUp,
    /// Nothing until something that is on the move has come further; or no block moves.
    Waits,
}

/// A page has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Why its block moves.
    pub cause: usize,
    /// It pays for a program of host data that was not paid for before.
    pub pays: bool,
    /// The placement handle of its data, where relocated data of each stays apart.
    pub handle: u8,
}

/// A page of the flash is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    /// Collection, which had found nothing to gain on its plane, looks again.
    pub looks_again: bool,
    /// The stripe that has ended with it.
    pub ended: Option<StripeId>,
}

/// What becomes of a block from which everything has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emptied {
    /// A part of it was to move: it is full of the rest.
    Stays,
    /// It is empty, and this many pages are gained.
    Gained(u32),
}

/// The collection that goes on when the run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumes {
    /// The move of a block.
    Move,
    /// A block is to be looked for.
    Collection,
    /// Nothing.
    Nothing,
}

/// Logical pages of a plane that may be on the move; one flash page more may have begun.
pub(crate) fn most_on_the_move(plan: &Plan) -> u32 {
    plan.config.gc.relocations.saturating_mul(plan.layout.stripe * plan.layout.shared())
}

/// What a plane relocates, as the layers above see it: which block is next and why, which of its pages, and what
/// becomes of it.
pub(crate) struct Moving<'a> {
    pub(super) ftl: &'a mut Ftl,
    pub(super) plane: PlaneId,
    pub(super) buffer: &'a Buffer,
    pub(super) plan: &'a Plan,
}

impl Ftl {
    /// What a plane relocates.
    #[inline]
    pub fn moving<'a>(&'a mut self, plane: PlaneId, buffer: &'a Buffer, plan: &'a Plan) -> Moving<'a> {
        Moving { ftl: self, plane, buffer, plan }
    }

    /// The stream in which the data of a page that moves is programmed.
    fn stream_of_move(&self, source: Ppn, plan: &Plan) -> StreamId {
        let plane = plan.layout.plane_of(source);
        let converted = self.relocator[plane].relocates_for(relocation_causes::CONVERSION) && self.converts_more(plane);
        self.relocated_class(source, plan, converted)
    }

    /// Whether blocks of a die have waited for a read or a program of the host's, which has begun.
    pub fn host_was_next(&mut self, die: DieId) -> bool {
        std::mem::take(&mut self.relocator.host_is_next[die])
    }

    /// A page of host data is on its way to a page of the flash.
    pub fn host_page_leaves(&mut self, lpn: Lpn, ppn: Ppn, plan: &Plan) {
        let plane = plan.layout.plane_of(ppn);
        self.relocator[plane].host_pages += 1;
        self.leaves_for(lpn);
    }

    /// A page of host data that waited for its program waits no longer.
    #[inline]
    pub(super) fn leaves_for(&mut self, lpn: Lpn) {
        if let Some(own) = &mut self.own.0 {
            own.leaves(lpn);
        }
    }

    /// A page of the flash is out of date.
    #[inline]
    pub fn goes_stale(&mut self, ppn: Ppn, plan: &Plan) -> Stale {
        self.blocks.invalidate(ppn);
        let relocation = &mut self.relocator[plan.layout.plane_of(ppn)];
        relocation.no_background_victim = false;
        let looks_again = std::mem::take(&mut relocation.no_victim);
        Stale { looks_again, ended: self.leaves_stripe(ppn) }
    }
}

impl Moving<'_> {
    /// The part of a plane's collection that was under way before the run, and goes on. Where a window has opened or
    /// closed: whether it collects ahead of need from now on.
    pub fn resumes(&mut self, window: Option<Window>) -> Resumes {
        if let Some(window) = window {
            self.ftl.window = window;
            return if window == Window::Closed { Resumes::Nothing } else { Resumes::Collection };
        }
        let relocation = &mut self.ftl.relocator[self.plane];
        relocation.from_start = relocation.victim.is_some();
        match relocation {
            PlaneRelocation { victim: Some(_), .. } => Resumes::Move,
            PlaneRelocation { running: true, .. } => Resumes::Collection,
            _ => Resumes::Nothing,
        }
    }

    /// A block of a plane has begun to move: if it was asked for, collection and the SLC cache are next to take their
    /// turns.
    pub fn has_begun(&mut self, cause: usize) {
        let relocation = &mut self.ftl.relocator[self.plane];
        if cause != relocation_causes::COLLECTION {
            (relocation.served, relocation.fold_is_next) = (true, cause != relocation_causes::FOLD);
        }
    }

    /// Whether host data on a plane is paid for by relocated pages.
    #[inline]
    pub fn is_paced(&self) -> bool {
        self.ftl.relocator[self.plane].paced
    }

    /// The next step of the move of a plane's block. A page that is read counts as being so from now on.
    pub fn next(&mut self) -> Next {
        let (plane, buffer, plan) = (self.plane, self.buffer, self.plan);
        let relocation = &mut self.ftl.relocator[plane];
        let Some(moving) = relocation.victim else { return Next::Waits };
        if relocation.broken {
            let quiet = relocation.reading + relocation.writing == 0;
            if quiet {
                relocation.orphans.clear();
                relocation.merging = None;
                (relocation.victim, relocation.from_start) = (None, false);
            }
            return if quiet { Next::GivesUp } else { Next::Waits };
        }
        if relocation.merging.is_some() {
            return self.ftl.next_of_merge(plane, moving, buffer, plan);
        }
        if !relocation.scanned && relocation.reading + relocation.writing < most_on_the_move(plan) {
            let pages = relocation.pages.clone();
            match self.ftl.next_valid(plane, moving.block, pages, plan, |lpn| self.ftl.flash_version(lpn, buffer)) {
                Some(ValidPage { page, lpn, ppn: source }) => {
                    self.ftl.relocator[plane].pages.start = plan.layout.after_flash_page(page);
                    return self.begin_page(lpn, source);
                }
                None => self.ftl.relocator[plane].scanned = true,
            }
        }
        match &self.ftl.relocator[plane] {
            PlaneRelocation { scanned: true, reading: 0, writing: 0, .. } => Next::Ends(moving),
            PlaneRelocation { scanned: true, reading: 0, .. } => Next::Programs,
            _ => Next::Waits,
        }
    }

    /// A flash page of which that is the first valid page begins to move.
    fn begin_page(&mut self, lpn: Lpn, source: Ppn) -> Next {
        let plan = self.plan;
        if self.ftl.copies_back(source, plan) {
            return Next::Copies { lpn, source, writes: self.ftl.stream_of_move(source, plan) };
        }
        self.begin_read(lpn, source)
    }

    /// A flash page, of which that is the first valid page, is read to move.
    pub fn begin_read(&mut self, lpn: Lpn, source: Ppn) -> Next {
        let (plane, buffer, plan) = (self.plane, self.buffer, self.plan);
        let layout = &plan.layout;
        let Address { block, page, .. } = layout.unpack(source);
        self.ftl.relocator[plane].reading += layout.shared();
        let (mut end, after) = (page + 1, layout.after_flash_page(page));
        let is_here = |lpn| self.ftl.flash_version(lpn, buffer);
        while let Some(ValidPage { page, .. }) = self.ftl.next_valid(plane, block, end..after, plan, is_here) {
            end = page + 1;
        }
        let start = after - layout.shared();
        Next::Reads { lpn, source, pages: page - start..end - start }
    }

    /// A flash page that moves has been read. Whether its plane still works.
    pub fn has_read(&mut self) -> bool {
        let relocation = &mut self.ftl.relocator[self.plane];
        relocation.reading -= self.plan.layout.shared();
        !relocation.broken
    }

    /// The data of a page of the plane waits for its program elsewhere in it: in which stream.
    pub fn moves_in(&mut self, source: Ppn) -> StreamId {
        self.ftl.relocator[self.plane].writing += 1;
        self.ftl.stream_of_move(source, self.plan)
    }

    /// A page has been programmed elsewhere in its plane.
    pub fn has_moved(&mut self, source: Ppn) -> Moved {
        let (plane, plan) = (self.plane, self.plan);
        let relocation = &mut self.ftl.relocator[plane];
        relocation.writing -= 1;
        relocation.moved += 1;
        let cause = relocation.victim.map_or(relocation_causes::COLLECTION, |moving| moving.cause);
        Moved { cause, pays: self.ftl.pay(plane, plan), handle: self.ftl.blocks.handle_of_page(source) }
    }

    /// Everything of a plane's block that was to move has moved.
    pub fn end(&mut self, moved: Relocation) -> Emptied {
        let (plane, plan) = (self.plane, self.plan);
        let Relocation { block, wordline, .. } = moved;
        let relocation = &mut self.ftl.relocator[plane];
        (relocation.victim, relocation.from_start) = (None, false);
        if let Some(merging) = relocation.merging.take()
            && self.ftl.ends_merge(plane, moved, *merging, plan)
        {
            return Emptied::Stays;
        }
        let relocation = &self.ftl.relocator[plane];
        if wordline.is_some() {
            self.ftl.stays_full(plane, block);
            return Emptied::Stays;
        }
        let gained = plan.space.victim_valid_limit.saturating_sub(relocation.moved);
        // It has broken meanwhile, if it has failed: nothing of it is left to be emptied.
        self.ftl.takes_failed(plane, block);
        self.ftl.blocks.empty(plane, block);
        Emptied::Gained(gained)
    }

    /// A block that was emptied for that cause is free: once it has been erased, if that is to be now, which is
    /// returned; otherwise for programs that start after the reads older than `barrier`.
    pub fn reclaim(&mut self, emptied: Relocation, barrier: impl FnOnce() -> u64) -> bool {
        let (plane, plan) = (self.plane, self.plan);
        let Relocation { block, cause, .. } = emptied;
        let erases = self.ftl.window.erases(cause, plan.config.ftl.erase_when);
        if erases {
            self.ftl.relocator[plane].erasing = true;
        } else {
            self.ftl.blocks.release(plane, block, Some(barrier()));
        }
        erases
    }

    /// The next block that is relocated in the background, where a plane has work for it and a block gains something:
    /// it begins to be so.
    pub fn begin_in_background(&mut self) -> Option<Relocation> {
        let (plane, plan) = (self.plane, self.plan);
        if !self.ftl.relocator[plane].rests() || self.ftl.blocks.free(plane) >= plan.config.gc.idle_stop {
            return None;
        }
        self.ftl.claim_failed(plane);
        let victim = self.ftl.pick_victim(plane, plan, true);
        self.ftl.relocator[plane].no_background_victim |= victim.is_none();
        let next = Relocation::block(victim?, relocation_causes::COLLECTION);
        self.ftl.begin_relocation(plane, next, plan);
        Some(next)
    }

    /// Data of a block is to move, unless that is asked for already.
    pub fn request(&mut self, wanted: Relocation) {
        let requests = &mut self.ftl.relocator[self.plane].requests;
        let covers =
            |other: &Relocation| other.block == wanted.block && other.wordline.is_none_or(|_| *other == wanted);
        if !requests.iter().any(covers) {
            requests.push_back(wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use units::Span;

    use super::*;
    use crate::config::Config;
    use crate::flash::{AgeClock, Placement as _};

    const PLANE: PlaneId = PlaneId(0);

    fn drive(settings: &[&str]) -> (Ftl, Buffer, Plan) {
        let mut config = Config::default();
        let small =
            ["geometry.channels=1", "geometry.dies=1", "geometry.blocks=200", "age.fill=0.5", "gc.relocations=3"];
        small.iter().chain(settings).for_each(|setting| config.set(setting).unwrap());
        let plan = config.plan().unwrap();
        (Ftl::new(&plan, 1).unwrap(), Buffer::new(&plan), plan)
    }

    /// A full block that begins to be collected.
    fn begin(ftl: &mut Ftl, plan: &Plan) -> Relocation {
        let block =
            (0..plan.layout.blocks).find(|block| ftl.valid(PLANE, *block) > 0 && ftl.claim(PLANE, *block)).unwrap();
        let moving = Relocation::block(block, relocation_causes::COLLECTION);
        ftl.begin_relocation(PLANE, moving, plan);
        moving
    }

    /// The program of a page that moves has ended.
    fn program(ftl: &mut Ftl, source: Ppn, stream: StreamId, lpn: Lpn, plan: &Plan) {
        let stream = plan.streams.opened_by(stream);
        if ftl.blocks.make_room(PLANE, stream) {
            ftl.blocks.open_erased(PLANE, stream);
        }
        let ppn = ftl.take_page(PLANE, stream, Some(lpn), AgeClock::warmer_by(Span::ZERO, 0.0));
        ftl.relocate(lpn, Some(source), ppn, &mut Buffer::new(plan));
        ftl.goes_stale(source, plan);
        ftl.blocks.completed(ppn);
        ftl.moving(PLANE, &Buffer::new(plan), plan).has_moved(source);
    }

    #[test]
    fn a_block_is_empty_when_its_move_ends_and_no_more_pages_move_at_once_than_may() {
        let (mut ftl, buffer, plan) = drive(&[]);
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).next(), Next::Waits);
        let moving = begin(&mut ftl, &plan);
        let valid = ftl.valid(PLANE, moving.block);
        let (mut reads, mut programs, mut moved) = (VecDeque::new(), VecDeque::new(), 0);
        loop {
            let most = most_on_the_move(&plan) as usize;
            assert!(reads.len() + programs.len() <= most);
            let next = ftl.moving(PLANE, &buffer, &plan).next();
            match next {
                Next::Reads { lpn, source, .. } => reads.push_back((lpn, source)),
                Next::Waits | Next::Programs => {
                    assert_eq!(next == Next::Programs, reads.is_empty());
                    assert!(next == Next::Programs || reads.len() + programs.len() == most || !reads.is_empty());
                    if let Some((lpn, source)) = reads.pop_front() {
                        assert!(ftl.moving(PLANE, &buffer, &plan).has_read());
                        programs.push_back((lpn, source, ftl.moving(PLANE, &buffer, &plan).moves_in(source)));
                    }
                    if reads.is_empty() || programs.len() > 1 {
                        let (lpn, source, stream) = programs.pop_front().unwrap();
                        program(&mut ftl, source, stream, lpn, &plan);
                        moved += 1;
                    }
                }
                Next::Ends(ended) => break assert_eq!(ended, moving),
                Next::Copies { .. } | Next::GivesUp | Next::Moves { .. } | Next::Pads { .. } => panic!("{next:?}"),
            }
        }
        assert_eq!((moved, ftl.valid(PLANE, moving.block)), (valid, 0));
        let gained = plan.space.victim_valid_limit.saturating_sub(moved);
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).end(moving), Emptied::Gained(gained));
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).next(), Next::Waits);
    }

    #[test]
    fn a_plane_that_breaks_gives_its_move_up_when_nothing_is_under_way() {
        let (mut ftl, buffer, plan) = drive(&[]);
        begin(&mut ftl, &plan);
        assert!(matches!(ftl.moving(PLANE, &buffer, &plan).next(), Next::Reads { .. }));
        assert!(ftl.relocator.breaks(PLANE) && !ftl.relocator.breaks(PLANE));
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).next(), Next::Waits);
        assert!(!ftl.moving(PLANE, &buffer, &plan).has_read());
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).next(), Next::GivesUp);
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).next(), Next::Waits);
    }

    #[test]
    fn a_block_of_which_a_wordline_has_moved_is_full_and_another_is_erased_now_or_when_it_is_opened() {
        let (mut ftl, buffer, plan) = drive(&["ftl.erase_when=reclaimed"]);
        let moving = Relocation { wordline: Some(0), ..begin(&mut ftl, &plan) };
        assert_eq!(ftl.moving(PLANE, &buffer, &plan).end(moving), Emptied::Stays);
        assert!(ftl.claim(PLANE, moving.block));
        let free = ftl.blocks.free(PLANE);
        assert!(ftl.moving(PLANE, &buffer, &plan).reclaim(moving, || unreachable!()));
        ftl.moving(PLANE, &buffer, &plan).reclaimed(moving.block, false);
        assert_eq!(ftl.blocks.free(PLANE), free + 1);
        let (mut ftl, buffer, plan) = drive(&["ftl.erase_when=opened"]);
        let moving = begin(&mut ftl, &plan);
        let free = ftl.blocks.free(PLANE);
        assert!(!ftl.moving(PLANE, &buffer, &plan).reclaim(moving, || 7));
        assert_eq!(ftl.blocks.free(PLANE), free + 1);
    }

    #[test]
    fn what_was_asked_for_is_not_asked_for_twice() {
        let (mut ftl, buffer, plan) = drive(&[]);
        let (block, wordline) = (Relocation::block(3, relocation_causes::REFRESH), Some(6));
        let part = Relocation { wordline, ..Relocation::block(3, relocation_causes::READ_RECLAIM) };
        for (asked, requests) in [(part, 1), (part, 1), (block, 2), (block, 2), (part, 2)] {
            ftl.moving(PLANE, &buffer, &plan).request(asked);
            assert_eq!(ftl.relocator[PLANE].requests.len(), requests, "{asked:?}");
        }
    }
}
