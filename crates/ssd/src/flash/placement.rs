//! What the flash asks of the layer that places data on it: nothing else of that layer is known here.
//!
//! A stream fills one block of a plane after another; what the streams are for is nobody's concern below.

use nand::{DieId, FlashPlaneId, PlaneId};
use units::{Conditions, Lpn, Ppn, Span};

use super::heat::AgeClock;
use crate::config::Plan;
use crate::lifetime::Erase;
use crate::streams::StreamId;

/// What is known of a page's data when it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageConditions {
    /// Retention, reads of its block, and wear as effective P/E cycles.
    pub conditions: Conditions,
    /// How much warmer than at rest the drive was at its program, in steps of `nand::model::outcomes::WARMER`; none
    /// where that was before the run.
    pub programmed: Option<u8>,
    /// Errors per KiB that the last erase of its block, suspensions of its program and copies of its data add.
    pub added_errors: f64,
}

/// The layer that places data on the flash.
pub(crate) trait Placement {
    /// Whether a stream of a plane has room for a program; relocated data may take blocks that are kept for it.
    fn has_room(&self, plane: PlaneId, stream: StreamId, relocated: bool) -> bool;
    /// Whether a plane takes a program of host data now that costs this many pages: where collection is paced, each is
    /// paid for by relocated pages.
    fn pays(&self, plane: PlaneId, price: u32, plan: &Plan) -> bool;
    /// A program of host data takes this many pages of a plane.
    fn spend(&mut self, plane: PlaneId, pages: u32);
    /// Whether the next program of a stream must wait for an erase.
    fn needs_erase(&self, plane: PlaneId, stream: StreamId) -> bool;
    /// The age of the youngest read that may still want what the next erase of a stream destroys.
    fn erase_barrier(&self, plane: PlaneId, stream: StreamId) -> u64;
    /// The place in its block of the next page of a stream; 0 where a block is to be opened first.
    fn next_place(&self, plane: PlaneId, stream: StreamId) -> u32;
    /// The block that a stream fills.
    fn open_block(&self, plane: PlaneId, stream: StreamId) -> u32;
    /// Gives the next page of a stream to a logical page, or to padding. Invariant: the stream has room.
    fn take_page(&mut self, plane: PlaneId, stream: StreamId, lpn: Option<Lpn>, now: AgeClock) -> Ppn;

    /// Whether a block is in the mode of the SLC cache, or the block of a page.
    fn in_slc(&self, plane: PlaneId, block: u32) -> bool;
    /// See [`Placement::in_slc`].
    fn page_in_slc(&self, ppn: Ppn) -> bool;
    /// P/E cycles of a block: those before the run and those of it.
    fn cycles(&self, plane: PlaneId, block: u32, plan: &Plan) -> u32;
    /// What data from before the run has aged by since its start, as if kept at 30 °C.
    fn aged(&self, now: AgeClock) -> Span;
    /// The conditions under which a page is read.
    fn conditions(&self, ppn: Ppn, now: AgeClock, plan: &Plan) -> PageConditions;

    /// Whether a block of a plane is being relocated, or is erased after that.
    fn is_relocating(&self, _plane: PlaneId) -> bool {
        false
    }
    /// A free block of a plane that is erased ahead of need from now on.
    fn next_to_erase(&mut self, _plane: PlaneId, _plan: &Plan) -> Option<u32> {
        None
    }
    /// Whether an idle die has something to collect in the background.
    fn wants_background(&self, die: DieId, plan: &Plan) -> bool;
    /// Whether something of the drive's own waits until a die has begun a read of the host's.
    fn host_is_next(&self, die: DieId) -> bool;

    /// Gets ready for a read of a page.
    fn prefetch(&self, _ppn: Ppn) {}

    /// A block of the flash is erased pulse by pulse, for the cycle `pec`: how. Invariant: the plan says how blocks are
    /// erased.
    fn erase(&mut self, plane: FlashPlaneId, block: u32, pec: u32) -> Erase;
    /// A block of the flash wears as by this many cycles more: its erase has been suspended within pulses, or was one
    /// in the SLC cache's mode.
    fn wears_by(&mut self, plane: FlashPlaneId, block: u32, cycles: f64);
    /// A page was read with this many errors per KiB, where blocks keep the most of them.
    fn read_with(&mut self, ppn: Ppn, errors: f64);
    /// The program of a page has been suspended this many times.
    fn program_suspended(&mut self, ppn: Ppn, times: u32);
}
