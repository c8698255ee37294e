//! Where the newest data of each logical page is: what a mapping is asked, and what it is told.
//!
//! A file of `mapping/` each: `page.rs` maps page by page. Another one (a mapping by zones, or one that maps blocks and a log of pages) is a second file
//! with its own state and its own `impl Mapping`; what an FTL is built with is the one name [`Chosen`], so that calls are direct. Whether the
//! entries of a mapping are all in memory, or most of them on flash behind a cache, is not its concern (`translation.rs`).
//!
//! A mapping knows logical pages, pages of the flash and which of these its blocks were opened for in the run ([`Blocks`]). Of the time, of dies, of
//! queues and of programs under way it is told nothing: it starts nothing, and answers the same whenever it is asked. What follows from a page that
//! has moved (older data is stale, a journal has a further change) is not its work either.

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

pub(super) use page::PageMapping as Chosen;

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

/// Logical to physical. Its state is what it holds beside the initial state: what was placed, relocated and trimmed in the run.
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
}
