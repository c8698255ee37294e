//! Reads of a block, and what is to move because of them: read reclaim of a block or of the wordlines beside one that
//! is read, and blocks that are read so often that they are converted into the SLC cache.

use std::ops::Range;

use nand::{Address, PlaneId};
use units::Ppn;

use super::Ftl;
use super::moves::Moving;
use super::relocator::Relocation;
use crate::buffer::Buffer;
use crate::config::{Plan, Reclaim};
use crate::flash::op::Owner;
use crate::observe::stats::relocation_causes;
use crate::streams::StreamId;

/// A page has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Reads of its block of the flash since it was erased, before and after.
    before: u32,
    after: u32,
    retries: u32,
    of_host: bool,
    /// A block that is being moved is reclaimed anyway.
    moves: bool,
}

impl Ftl {
    /// Counts a read of a page and, where reads disturb, its `retries`. Returns the reads where something may have to
    /// move because of them.
    #[inline]
    pub fn count_read(&mut self, ppn: Ppn, retries: u32, owner: Owner, plan: &Plan) -> Option<Reads> {
        let senses = if plan.config.chip.read_disturb { 1 + retries } else { 1 };
        if let Some(disturb) = &mut self.disturb {
            disturb.read(ppn, self.blocks.page_in_slc(ppn), senses);
        }
        let (before, after) = self.blocks.count_read(ppn, senses);
        let asks = plan.config.refresh.reads.is_some() || plan.streams.has(StreamId::CONVERTED);
        let (of_host, moves) = (matches!(owner, Owner::Host(_)), matches!(owner, Owner::Relocation(_)));
        asks.then_some(Reads { before, after, retries, of_host, moves })
    }

    /// The wordlines beside that of a page that has been read whose count has come to the limit are to move, where they
    /// hold anything.
    fn reclaim_neighbours(&self, ppn: Ppn, limit: u32, buffer: &Buffer, plan: &Plan, wanted: &mut Vec<Relocation>) {
        let Address { plane, block, page } = plan.layout.unpack(ppn);
        let own = self.wordline(plane, block, page, plan);
        for page in [own.start.checked_sub(1), Some(own.end)].into_iter().flatten() {
            let wordline = self.wordline(plane, block, page, plan);
            let is_here = |lpn| self.flash_version(lpn, buffer);
            if wordline != own
                && !wordline.is_empty()
                && self.reads_of_wordline(plane, block, wordline.start, plan) >= limit
                && self.next_valid(plane, block, wordline.clone(), plan, is_here).is_some()
            {
                let (cause, wordline) = (relocation_causes::READ_RECLAIM, Some(wordline.start));
                wanted.push(Relocation { block, cause, wordline });
            }
        }
    }

    /// The pages of a block that share a wordline with one: in the SLC cache fewer than in other blocks.
    pub(super) fn wordline(&self, plane: PlaneId, block: u32, page: u32, plan: &Plan) -> Range<u32> {
        let of_mode = plan.slc.as_ref().filter(|_| self.blocks.in_slc(plane, block));
        of_mode.map_or(&plan.layout, |slc| &slc.layout).wordline(page)
    }

    /// The reads that data of the wordline of a page has met, with superblocks on the plane where it has met most.
    pub(super) fn reads_of_wordline(&self, plane: PlaneId, block: u32, page: u32, plan: &Plan) -> u32 {
        let in_slc = self.blocks.in_slc(plane, block);
        let flash_pages = self.wordline(plane, block, page, plan).step_by(plan.layout.shared() as usize);
        let reads = |page| {
            let ppn = plan.layout.pack(Address { plane, block, page });
            let of_block = self.blocks.reads_of(ppn);
            self.disturb.as_ref().map_or(of_block, |disturb| disturb.effective(ppn, in_slc, of_block))
        };
        flash_pages.map(reads).max().unwrap_or(0)
    }
}

impl Moving<'_> {
    /// What is to move because a page has been read so often.
    pub fn moved_for(&mut self, ppn: Ppn, reads: Reads) -> Vec<Relocation> {
        let (buffer, plan) = (self.buffer, self.plan);
        let mut wanted = Vec::new();
        let Address { block, .. } = plan.layout.unpack(ppn);
        if plan.streams.has(StreamId::CONVERTED)
            && reads.of_host
            && self.ftl.converts(ppn, reads.after, reads.retries, plan)
        {
            wanted.push(Relocation::block(block, relocation_causes::CONVERSION));
        }
        if let Some(limit) = plan.config.refresh.reads.filter(|_| !reads.moves) {
            if reads.before < limit && limit <= reads.after {
                wanted.push(Relocation::block(block, relocation_causes::READ_RECLAIM));
            } else if plan.config.refresh.reclaim == Reclaim::Wordline && reads.after < limit {
                self.ftl.reclaim_neighbours(ppn, limit, buffer, plan, &mut wanted);
            }
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::CommandId;
    use crate::config::Config;
    use units::Id as _;

    #[test]
    fn a_block_is_reclaimed_by_the_read_that_comes_to_the_limit_and_by_no_relocation() {
        let mut config = Config::default();
        for setting in ["geometry.channels=1", "geometry.dies=1", "age.fill=0.5", "refresh.reads=5000"] {
            config.set(setting).unwrap();
        }
        let plan = config.plan().unwrap();
        let (mut ftl, buffer) = (Ftl::new(&plan, 1).unwrap(), Buffer::new(&plan));
        let ppn = ftl.initial_place(units::Lpn(0)).unwrap();
        let Address { plane, block, .. } = plan.layout.unpack(ppn);
        let reclaimed = vec![Relocation::block(block, relocation_causes::READ_RECLAIM)];
        let host = Owner::Host(CommandId::new(0));
        let mut read = |owner| {
            let reads = ftl.count_read(ppn, 0, owner, &plan).unwrap();
            ftl.moving(plane, &buffer, &plan).moved_for(ppn, reads)
        };
        assert!((1..5000).all(|_| read(host).is_empty()));
        assert_eq!(read(host), reclaimed);
        assert!(read(host).is_empty());
        ftl.count_erase(plane, block, &plan);
        let mut read = |owner| {
            let reads = ftl.count_read(ppn, 0, owner, &plan).unwrap();
            ftl.moving(plane, &buffer, &plan).moved_for(ppn, reads)
        };
        assert!((1..5000).all(|_| read(host).is_empty()));
        assert!(read(Owner::Relocation(ppn.into())).is_empty() && read(host).is_empty());
    }
}
