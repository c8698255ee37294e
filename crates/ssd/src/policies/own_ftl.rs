//! An FTL of one's own: it stands in for where the drive's FTL puts host data, for which blocks it collects, and for
//! its map.
//!
//! What flash demands stays the drive's: pages of a block are programmed in their order, a block is erased before it is
//! programmed again, data that is relocated stays in its plane, and free blocks are kept for collection . So an FTL
//! says to which *plane* and *stream* a page goes, is told on which page of the flash it has come to be, and names the
//! block that is reclaimed next. Its map is tried at each read of the host's: an answer that does not lead to the
//! newest data is refused, with the request that shows it.

use nand::Layout;
use units::{Lpn, Ppn};

pub use nand::{Address, PlaneId};

use super::blocks::{Answer, Blocks};

/// The drive as an FTL of one's own sees it when it is made.
#[derive(Clone, Debug)]
pub struct DriveLayout {
    layout: Layout,
    /// Logical pages: they are numbered from 0.
    pub logical_pages: u64,
    /// Streams of host data, numbered from 0: each fills blocks of its own.
    pub streams: u16,
}

impl DriveLayout {
    /// Of a drive with such a layout.
    pub(crate) fn new(layout: Layout, logical_pages: u64, streams: u16) -> DriveLayout {
        DriveLayout { layout, logical_pages, streams }
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u64 {
        self.layout.page_size.0
    }

    /// Planes of the drive: data is relocated within its plane. Those whose blocks make a superblock are one.
    pub fn planes(&self) -> u32 {
        self.layout.planes
    }

    /// Planes of a die, which are numbered one after the other.
    pub fn planes_per_die(&self) -> u32 {
        self.layout.planes_per_die
    }

    /// Blocks of a plane.
    pub fn blocks(&self) -> u32 {
        self.layout.blocks
    }

    /// Pages of a block, as the map knows pages (`mapping.unit`).
    pub fn pages(&self) -> u32 {
        self.layout.pages
    }

    /// The number of a page of the flash (PPN).
    pub fn page(&self, address: Address) -> Ppn {
        self.layout.pack(address)
    }

    /// The plane of a page of the flash, its block there, and its number in the block.
    pub fn address(&self, ppn: Ppn) -> Address {
        self.layout.unpack(ppn)
    }
}

/// Where a page of host data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The plane.
    pub plane: PlaneId,
    /// The stream.
    pub stream: u16,
}

/// An FTL of one's own.
///
/// Contract: what it answers follows from what it has been told and asked, in order. Logical pages are numbered from 0;
/// places on flash are pages of the flash ([`DriveLayout::address`]). What was on the drive before the run it is not
/// told of.
pub trait OwnFtl: Send {
    /// A page of host data leaves the write buffer: the plane that it goes to, and the stream. `hint` is its placement
    /// handle, or 0; `dealt` the plane that static placement deals it to, on which its data was before the run, if it
    /// had any.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn write(&mut self, lpn: Lpn, hint: u16, dealt: PlaneId) -> Answer<Place>;

    /// The newest data of a page is on a page of the flash now; what was there of it before is stale. `moved`: it was
    /// relocated.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn placed(&mut self, lpn: Lpn, ppn: Ppn, moved: bool) -> Answer<()>;

    /// A page has no data any more.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn trimmed(&mut self, lpn: Lpn) -> Answer<()>;

    /// The page of the flash that has the newest data of a page. None where it was not told of that page: the data is
    /// where it was before the run.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn locate(&mut self, lpn: Lpn) -> Answer<Option<Ppn>>;

    /// A plane has too few free blocks: which of its full blocks is reclaimed next. None: none now; it is asked again
    /// when a page of the plane has become stale.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn reclaim(&mut self, plane: PlaneId, blocks: Blocks) -> Answer<Option<u32>>;

    /// A block of a plane has been erased.
    ///
    /// # Errors
    /// Its own: the run ends.
    fn erased(&mut self, _plane: PlaneId, _block: u32) -> Answer<()> {
        Ok(())
    }

    /// Its state, for a checkpoint. None: whoever goes on from there begins with a new one, which is told where each
    /// page is, as after a power cut.
    ///
    /// # Errors
    /// Its own: there is no checkpoint.
    fn save(&self) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Takes a state that was saved.
    ///
    /// # Errors
    /// It is none.
    fn load(&mut self, _state: &[u8]) -> Answer<()> {
        Ok(())
    }
}

/// Makes an FTL for a drive.
pub type NewFtl = dyn Fn(DriveLayout) -> Answer<Box<dyn OwnFtl>> + Send + Sync;
