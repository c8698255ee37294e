//! Merges: where the mapping has logical blocks (`Mapping::home`), data that is relocated is gathered by these, each in
//! a block of its own whose pages stand at their places.
//!
//! A move of a block then is the merge of one logical block that has a page in it, and is asked for again while it has
//! others. The pages are read from wherever their newest data is, several at once, and wait for their turn; a page
//! without data is padding. A block that a sequence has left half written goes on with the rest.

use std::collections::BTreeMap;

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::Ftl;
use super::mapping::{Gathers, Mapping as _};
use super::merging::{MergeKind, Merging, Part};
use super::moves::{Moving, Next, most_on_the_move};
use super::relocator::Relocation;
use super::seen::Seen;
use crate::buffer::Buffer;
use crate::config::Plan;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

impl Ftl {
    /// Whether data is gathered by logical blocks.
    #[inline]
    pub(super) fn gathers(&self) -> bool {
        self.mapping.home(Lpn(0)).is_some()
    }

    /// Whether something has to be gathered on a plane.
    #[inline]
    pub(super) fn has_to_gather(&self, plane: PlaneId) -> bool {
        self.mapping.gathers(plane, &self.blocks).is_some()
    }

    /// The next block of a plane that has to move so that what is in it is gathered.
    pub(super) fn next_to_gather(&mut self, plane: PlaneId) -> Option<u32> {
        match self.mapping.gathers(plane, &self.blocks)? {
            Gathers::Left(block) => self.claim(plane, block).then_some(block),
            Gathers::Full(block) => {
                // Blocks that merges have left empty come first, where free ones are few.
                let empty = if self.relocator[plane].running { self.empty_blocks(plane) } else { Vec::new() };
                self.claim_first(plane, empty.into_iter().chain([block]))
            }
        }
    }

    /// The full blocks of a plane that hold nothing any more.
    fn empty_blocks(&self, plane: PlaneId) -> Vec<u32> {
        let is_empty = |block: &u32| self.blocks.is_full(plane, *block) && self.valid(plane, *block) == 0;
        (0..self.blocks.layout().blocks).filter(is_empty).collect()
    }

    /// Takes the first of these blocks that can be taken: those that have failed wait for their turn.
    fn claim_first(&mut self, plane: PlaneId, mut blocks: impl Iterator<Item = u32>) -> Option<u32> {
        blocks.find(|block| self.claim(plane, *block))
    }

    /// Takes the block of a plane that is reclaimed where free ones are few: one that holds nothing; otherwise the
    /// oldest log block; otherwise what is no data block.
    pub(super) fn pick_gathered(&mut self, plane: PlaneId) -> Option<u32> {
        let mut first = self.empty_blocks(plane);
        first.extend(self.blocks.logs(plane).iter().filter(|block| self.blocks.is_full(plane, **block)));
        self.claim_first(plane, first.into_iter()).or_else(|| {
            let disordered = self.disordered(plane);
            self.claim_first(plane, disordered.into_iter())
        })
    }

    /// Full blocks of a plane that are neither a log block nor the one data block of a logical block: programs that
    /// failed, padding and power cuts leave them.
    pub(super) fn disordered(&self, plane: PlaneId) -> Vec<u32> {
        let (mut held, mut found) = (BTreeMap::new(), Vec::new());
        for block in 0..self.blocks.layout().blocks {
            if !self.blocks.is_full(plane, block)
                || self.valid(plane, block) == 0
                || self.blocks.stream_of_block(plane, block) == Some(StreamId::RANDOM_LOG)
            {
                continue;
            }
            match self.in_order(plane, block) {
                Some(logical) if held.insert(logical, block).is_none() => {}
                _ => found.push(block),
            }
        }
        found
    }

    /// The logical block of which a block has pages alone, all at their places.
    fn in_order(&self, plane: PlaneId, block: u32) -> Option<u64> {
        let (mut from, mut logical) = (0, None);
        while let Some((page, held)) = self.blocks.next_held(plane, block, from) {
            from = page + 1;
            let address = Address { plane, block, page };
            let ppn = self.blocks.layout().pack(address);
            let is_here = |lpn: &Lpn| self.locate(*lpn) == super::Location::Flash(ppn);
            let lpn = match held {
                Some(held) => Some(held.lpn(0, |_| false)),
                None => {
                    self.mapping.held_initially(address).filter(|lpn| self.mapping.is_initial(*lpn) || is_here(lpn))
                }
            };
            let Some((of, place)) = lpn.and_then(|lpn| self.mapping.home(lpn)) else { continue };
            if place != page || *logical.get_or_insert(of) != of {
                return None;
            }
        }
        logical
    }

    /// A block of a plane begins to move: of what is gathered that is the first step.
    pub(super) fn begin_merge(&mut self, plane: PlaneId, block: u32, cause: usize) {
        let mut merging = Merging::default();
        let stream = StreamId::RELOCATED;
        let (open, full) = (self.blocks.open_of(plane, stream), self.blocks.pages_of_stream(stream));
        if open.next_page > 0 && open.next_page < full {
            self.blocks.abandon(plane, stream);
        }
        // Nothing more goes into a block that has failed.
        if self.mapping.goes_on_with(plane, block) && cause != relocation_causes::BAD_BLOCK {
            merging.partial = self.in_order(plane, block).is_some();
        }
        if merging.partial
            && let Some(at) = self.blocks.goes_on_in(plane, block, stream)
        {
            (merging.next, merging.turn) = (at, at);
        }
        self.relocator[plane].merging = Some(Box::new(merging));
    }

    /// The next step of a merge.
    pub(super) fn next_of_merge(&mut self, plane: PlaneId, moving: Relocation, buffer: &Buffer, plan: &Plan) -> Next {
        let Some(mut merging) = self.relocator[plane].merging.take() else { return Next::Waits };
        let logical = merging.block.or_else(|| {
            let pages = 0..plan.layout.pages;
            let first = self.next_valid(plane, moving.block, pages, plan, |lpn| self.flash_version(lpn, buffer))?;
            self.mapping.home(first.lpn).map(|home| home.0)
        });
        merging.block = logical;
        let next = match logical {
            Some(logical) => self.step(&mut merging, (plane, logical), moving, buffer, plan),
            // Nothing is left in it.
            None => Next::Ends(moving),
        };
        self.relocator[plane].merging = Some(merging);
        next
    }

    /// The page of the flash on a plane with the newest data of a place of a logical block, if there is any.
    fn newest_of(&self, (plane, logical): (PlaneId, u64), place: u32, buffer: &Buffer, plan: &Plan) -> Option<Ppn> {
        let lpn = self.mapping.page_of(plane, (logical, place))?;
        self.flash_version(lpn, buffer).filter(|ppn| plan.layout.plane_of(*ppn) == plane)
    }

    fn step(
        &mut self,
        merging: &mut Merging,
        of: (PlaneId, u64),
        moving: Relocation,
        buffer: &Buffer,
        plan: &Plan,
    ) -> Next {
        let plane = of.0;
        let end = merging.end.unwrap_or_else(|| {
            let last = (merging.next..plan.layout.pages)
                .rev()
                .find(|place| self.newest_of(of, *place, buffer, plan).is_some());
            last.map_or(0, |last| last + 1)
        });
        merging.end = Some(end);
        loop {
            if let Some(source) = merging.come.remove(&merging.turn)
                && let Some(lpn) = self.mapping.page_of(plane, (of.1, merging.turn))
            {
                merging.turn += 1;
                return source.map_or(Next::Pads { lpn }, |source| Next::Moves { lpn, source });
            }
            let relocation = &self.relocator[plane];
            if merging.next >= end {
                return match (relocation.reading, relocation.writing) {
                    (0, 0) => Next::Ends(moving),
                    (0, _) => Next::Programs,
                    _ => Next::Waits,
                };
            }
            if relocation.reading + relocation.writing + merging.come.len() as u32 >= most_on_the_move(plan) {
                return Next::Waits;
            }
            match self.newest_of(of, merging.next, buffer, plan) {
                Some(source) => return self.read_part(merging, of, (source, end), buffer, plan),
                None => merging.come.insert(merging.next, None),
            };
            merging.next += 1;
        }
    }

    /// The next page of a merge is read, which is there, with its neighbours in the same flash page.
    fn read_part(
        &mut self,
        merging: &mut Merging,
        of: (PlaneId, u64),
        (source, end): (Ppn, u32),
        buffer: &Buffer,
        plan: &Plan,
    ) -> Next {
        let (layout, first, mut pages) = (&plan.layout, merging.next, 1);
        let at = layout.unpack(source).page;
        let after = layout.after_flash_page(at);
        let beside = |ftl: &Ftl, step: u32| {
            ftl.newest_of(of, first + step, buffer, plan) == Some(Ppn(source.0 + u64::from(step)))
        };
        while at + pages < after && first + pages < end && beside(self, pages) {
            pages += 1;
        }
        merging.next += pages;
        merging.reads.push(Part { source, first, pages });
        self.relocator[of.0].reading += layout.shared();
        let (start, lpn) = (after - layout.shared(), self.mapping.page_of(of.0, (of.1, first)));
        Next::Reads { lpn: lpn.unwrap_or_default(), source, pages: at - start..at - start + pages }
    }

    /// A logical block has been gathered; whether the block that was to move stays, since it holds others, or is the
    /// one where they were gathered.
    pub(super) fn ends_merge(&mut self, plane: PlaneId, moved: Relocation, merging: Merging, plan: &Plan) -> bool {
        let stream = plan.streams.opened_by(StreamId::RELOCATED);
        let open = self.blocks.open_of(plane, stream);
        if open.next_page > 0 && open.next_page < self.blocks.pages_of_stream(stream) {
            self.blocks.abandon(plane, stream);
        }
        if merging.partial {
            return true;
        }
        let stays = self.valid(plane, moved.block) > 0;
        if stays && moved.cause != relocation_causes::BAD_BLOCK {
            self.stays_full(plane, moved.block);
        }
        if stays && moved.cause != relocation_causes::COLLECTION {
            self.relocator[plane].requests.push_front(Relocation { wordline: None, ..moved });
        }
        stays
    }
}

impl Moving<'_> {
    /// Whether something has to be gathered, and nothing else is needed for it.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.ftl.has_to_gather(self.plane)
    }

    /// Whether a block that is full now was to move once it is.
    #[cold]
    pub fn was_to_be_full(&self, block: u32) -> bool {
        self.ftl.relocator[self.plane].requests.iter().any(|next| next.block == block && next.waits_to_be_full())
    }

    /// What waits for the first of two streams goes into the second one, if so.
    #[inline]
    pub fn diverts(&mut self) -> Option<(StreamId, StreamId)> {
        self.ftl.mapping.diverts(self.plane)
    }

    /// Logical blocks that were written in order to their end, of which none has been counted.
    #[inline]
    pub fn take_switches(&mut self) -> u32 {
        self.ftl.mapping.take_switches()
    }

    /// Whether a merge is under way.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.ftl.relocator[self.plane].merging.is_some()
    }

    /// What is merged, once that is known.
    pub fn kind(&self) -> Option<MergeKind> {
        let merging = self.ftl.relocator[self.plane].merging.as_ref().filter(|merging| merging.block.is_some())?;
        Some(if merging.partial { MergeKind::Partial } else { MergeKind::Full })
    }

    /// A read has come: its pages wait for their turn, or where the data is newer elsewhere padding does. Returns those
    /// that are still the newest, and where they are.
    pub fn has_come(&mut self, source: Ppn) -> Vec<(Lpn, Ppn)> {
        let (plane, buffer) = (self.plane, self.buffer);
        let Some(mut merging) = self.ftl.relocator[plane].merging.take() else { return Vec::new() };
        let mut newest = Vec::new();
        if let Some(read) = merging.reads.iter().position(|read| read.source == source) {
            let Part { first, pages, .. } = merging.reads.swap_remove(read);
            for step in 0..pages {
                let (place, ppn) = (first + step, Ppn(source.0 + u64::from(step)));
                let lpn = merging.block.and_then(|block| self.ftl.mapping.page_of(plane, (block, place)));
                let stays = lpn.filter(|lpn| self.ftl.flash_version(*lpn, buffer) == Some(ppn));
                merging.come.insert(place, stays.map(|_| ppn));
                newest.extend(stays.map(|lpn| (lpn, ppn)));
            }
        }
        self.ftl.relocator[plane].merging = Some(merging);
        newest
    }

    /// Padding waits for its program.
    pub fn pads(&mut self) {
        self.ftl.relocator[self.plane].writing += 1;
    }

    /// A page is not programmed where it was to be, or it was padding.
    pub fn moves_no_more(&mut self) {
        self.ftl.relocator[self.plane].writing -= 1;
    }
}

impl Seen<'_> {
    /// There are no more log blocks than there may be, and what merges have gathered stands at its places; but for what
    /// power cuts and failed programs have left.
    pub(super) fn check_merges(&self) -> Result<(), String> {
        let config = &self.plan.config;
        if !config.power.cut_at.is_empty() || config.blocks_fail() {
            return Ok(());
        }
        for plane in self.planes() {
            let (logs, most) = (self.ftl.blocks.logs(plane).len(), config.ftl.log_blocks as usize);
            if logs > most {
                return Err(format!("plane {} has {logs} random log blocks, and may have {most}", plane.0));
            }
            for block in 0..self.plan.layout.blocks {
                let gathered = self.ftl.blocks.is_full(plane, block)
                    && self.ftl.blocks.stream_of_block(plane, block) == Some(StreamId::RELOCATED);
                if gathered && self.ftl.valid(plane, block) > 0 && self.ftl.in_order(plane, block).is_none() {
                    return Err(format!(
                        "block {block} of plane {} is a data block with a page out of its place",
                        plane.0
                    ));
                }
            }
        }
        Ok(())
    }
}
