//! Where the newest data of each logical page is: what a mapping is asked, and what it is told.
//!
//! A file of `mapping/` each, with its own state and its own `impl Mapping`: `page.rs` maps page by page, `fast.rs`
//! maps blocks and a log of pages. What an FTL is built with is [`Chosen`] (`chosen.rs`), the list of them, so that
//! calls are direct. Whether the entries of a mapping are all in memory, or most of them on flash behind a cache, is
//! not its concern (`translation.rs`).
//!
//! A mapping may also say where data has to be: which stream a page of host data goes into, what a stream has room for,
//! which blocks have to be emptied, and in what order the pages of a logical block lie (`ftl/merges.rs` gathers them
//! so). One by pages says nothing of this, and everything is as streams, policies and collection have it.
//!
//! A mapping knows logical pages, pages of the flash and which of these its blocks were opened for in the run
//! ([`Blocks`]). Of the time, of dies, of queues and of programs under way it is told nothing: it starts nothing, and
//! answers the same whenever it is asked. What follows from a page that has moved (older data is stale, a journal has a
//! further change) is not its work either.

mod chosen;
mod fast;
mod page;
mod table;
#[cfg(test)]
mod tests;

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::aged::Aged;
use super::blocks::Blocks;
use crate::arena::SlotId;
use crate::persist::State;
use crate::streams::StreamId;

pub(super) use chosen::Chosen;

/// Where a logical page's newest data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Nowhere: it was never written, or was deallocated.
    Unmapped,
    /// On flash.
    Flash(Ppn),
    /// In the write buffer, at this slot.
    Buffer(SlotId),
}

/// What has to be gathered next on a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gathers {
    /// The rest of the logical block whose first pages are in that block, which was left half written.
    Left(u32),
    /// The logical blocks that have pages in that full block, one after another.
    Full(u32),
}

/// Logical to physical. Its state is what it holds beside the initial state: what was placed, relocated and trimmed in
/// the run.
pub(super) trait Mapping: State {
    /// Where a page's newest data is.
    fn locate(&self, lpn: Lpn, blocks: &Blocks) -> Location;

    /// The slot of the write buffer that has a page's newest data, if it is there.
    fn slot(&self, lpn: Lpn) -> Option<SlotId>;

    /// The newest data of a page is in the write buffer.
    fn buffer(&mut self, lpn: Lpn, slot: SlotId);

    /// The newest data of a page is on a page of the flash, which was programmed in the run.
    fn place(&mut self, lpn: Lpn, ppn: Ppn, blocks: &Blocks);

    /// The newest data of a page, which is on flash, has moved from one page of it to another one.
    fn relocate(&mut self, lpn: Lpn, from: Ppn, to: Ppn, blocks: &Blocks);

    /// A page has no data any more.
    fn trim(&mut self, lpn: Lpn);

    /// Gets ready to locate a page soon.
    fn prefetch(&self, lpn: Lpn);

    /// The second step of [`prefetch`](Self::prefetch), some requests later: fetches what the fetched memory leads to.
    fn prefetch_further(&self, lpn: Lpn);

    /// Nothing was placed, relocated or trimmed: recovery tells it what it has found.
    fn forget(&mut self);

    /// Whether a page is as at the start.
    fn is_initial(&self, lpn: Lpn) -> bool;

    /// Pages that are not as at the start.
    fn changed(&self) -> impl Iterator<Item = Lpn>;

    /// Where a page's data was at the start, if it had any.
    fn initially(&self, lpn: Lpn) -> Option<Ppn>;

    /// The page whose data a page of the flash held at the start, if any.
    fn held_initially(&self, address: Address) -> Option<Lpn>;

    /// The plane that a page is dealt to under static placement.
    fn plane_of(&self, lpn: Lpn) -> PlaneId;

    /// The state at the start: what its blocks hold, open and collect, and its stripes.
    fn start(&self) -> &Aged;

    /// The stream that a page of host data, which is about to wait for its program on a plane, goes into, if that is
    /// for the mapping to say.
    fn writes(&mut self, _: Lpn, _: PlaneId, _: &mut Blocks) -> Option<StreamId> {
        None
    }

    /// What waits on a plane for the first of two streams goes into the second one, if so: asked once, after
    /// [`writes`](Self::writes).
    fn diverts(&mut self, _: PlaneId) -> Option<(StreamId, StreamId)> {
        None
    }

    /// Whether a stream may be given a further page of a plane, as far as the mapping limits its blocks.
    fn has_room(&self, _: PlaneId, _: StreamId, _: &Blocks) -> bool {
        true
    }

    /// What has to be gathered on a plane, however many free blocks there are.
    fn gathers(&self, _: PlaneId, _: &Blocks) -> Option<Gathers> {
        None
    }

    /// A block of a plane begins to be gathered: whether it is one that was left half written, and goes on with the
    /// rest of its logical block.
    fn goes_on_with(&mut self, _: PlaneId, _: u32) -> bool {
        false
    }

    /// The logical block of a page, by its number on the page's plane, and its place there: data that is relocated is
    /// gathered by these.
    fn home(&self, _: Lpn) -> Option<(u64, u32)> {
        None
    }

    /// The page of a plane that has a home, if there is one.
    fn page_of(&self, _: PlaneId, _: (u64, u32)) -> Option<Lpn> {
        None
    }

    /// Logical blocks that were written in order to their end, of which none has been counted.
    fn take_switches(&mut self) -> u32 {
        0
    }
}
