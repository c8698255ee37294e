//! An FTL of one's own: it decides where host data goes and which blocks are reclaimed, and keeps a map, on flash that
//! ages.
//!
//! What flash demands stays the drive's: pages of a block are programmed in their order, a block is erased before it is
//! programmed again, relocated data stays in its plane. A map is tried at every read of the host's, and at the drive's
//! end for all that was written: a wrong answer ends the run with the request that shows it.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use ssdlab::ftl::{Answer, Blocks, DriveLayout, Lpn, OwnFtl, Place, PlaneId, Ppn};
//! use ssdlab::{Bytes, Config, Device, Op, Request, Time};
//!
//! /// Any page may be anywhere: a map, the plane that an address is dealt to, and greedy collection.
//! struct PageMapped(HashMap<Lpn, Ppn>);
//!
//! impl OwnFtl for PageMapped {
//!     fn write(&mut self, _: Lpn, _hint: u16, dealt: PlaneId) -> Answer<Place> {
//!         Ok(Place { plane: dealt, stream: 0 })
//!     }
//!     fn placed(&mut self, lpn: Lpn, ppn: Ppn, _moved: bool) -> Answer<()> {
//!         self.0.insert(lpn, ppn);
//!         Ok(())
//!     }
//!     fn trimmed(&mut self, lpn: Lpn) -> Answer<()> {
//!         self.0.remove(&lpn);
//!         Ok(())
//!     }
//!     fn locate(&mut self, lpn: Lpn) -> Answer<Option<Ppn>> {
//!         Ok(self.0.get(&lpn).copied())
//!     }
//!     fn reclaim(&mut self, _: PlaneId, blocks: Blocks) -> Answer<Option<u32>> {
//!         let of = blocks.candidates;
//!         Ok(of.least_valid().filter(|valid| *valid < of.victim_valid_limit()).and_then(|valid| of.oldest(valid)))
//!     }
//! }
//!
//! let mine = |_: DriveLayout| -> Answer<Box<dyn OwnFtl>> { Ok(Box::new(PageMapped(HashMap::new()))) };
//! let small = Config::named("tlc").set("geometry.blocks", "64").set("geometry.pages", "96").set("ftl.over_provisioning", "0.4");
//! let small = small.set("ftl.placement", "static").set("gc.victim", "greedy");
//! let end = |config: &Config| {
//!     let mut device = Device::open(config)?;
//!     let writes: Vec<Request> =
//!         (0..2000).map(|n| Request::new(Time(n << 14), Op::Write, Bytes(n * 7919 % 4096 << 14), Bytes(1 << 14))).collect();
//!     device.submit_all(&writes)?;
//!     device.flush()?;
//!     Ok::<_, ssdlab::Error>(device.take_completions().map(|done| done.finish).collect::<Vec<Time>>())
//! };
//! // It decides as the drive's own does, and so everything takes as long.
//! assert_eq!(end(&small.clone().ftl("page-mapped 1", mine))?, end(&small)?);
//! # Ok::<(), ssdlab::Error>(())
//! ```

/// What an FTL answers, or what is wrong: the run ends with it.
///
/// ```
/// use ssdlab::ftl::{Answer, wrong};
/// let answer: Answer<()> = Err(wrong("page-mapped 1", "the map is full", "give the drive more over-provisioning"));
/// assert!(answer.unwrap_err().to_string().contains("the map is full"));
/// ```
#[doc(inline)]
pub use ssd::policies::Answer;
/// The full blocks of a plane, as they are when one is to be chosen.
///
/// ```
/// fn fewest_valid(blocks: &ssdlab::ftl::Blocks) -> Option<u32> {
///     blocks.candidates.least_valid()
/// }
/// ```
#[doc(inline)]
pub use ssd::policies::Blocks;
/// Where a page of the flash is: its plane, its block there, and its number in the block.
///
/// ```
/// use ssdlab::ftl::{Address, PlaneId};
/// assert_eq!(Address { plane: PlaneId(1), block: 7, page: 5 }.block, 7);
/// ```
#[doc(inline)]
pub use ssd::policies::own_ftl::Address;
/// The drive as an FTL sees it when it is made.
///
/// ```
/// use ssdlab::ftl::{DriveLayout, Ppn};
/// fn block(drive: &DriveLayout, ppn: Ppn) -> u32 {
///     drive.address(ppn).block
/// }
/// ```
#[doc(inline)]
pub use ssd::policies::own_ftl::DriveLayout;
/// The contract of an FTL: the [module's example](self) is one.
///
/// ```
/// fn is_one<T: ssdlab::ftl::OwnFtl>() {}
/// ```
#[doc(inline)]
pub use ssd::policies::own_ftl::OwnFtl;
/// Where a page of host data goes.
///
/// ```
/// use ssdlab::ftl::{Place, PlaneId};
/// assert_eq!(Place { plane: PlaneId(3), stream: 0 }.plane, PlaneId(3));
/// ```
#[doc(inline)]
pub use ssd::policies::own_ftl::Place;
/// A plane of the drive, from 0. Planes whose blocks make a superblock are one.
///
/// ```
/// assert_eq!(ssdlab::ftl::PlaneId(2).0, 2);
/// ```
#[doc(inline)]
pub use ssd::policies::own_ftl::PlaneId;
/// A logical page, from 0.
///
/// ```
/// assert_eq!(ssdlab::ftl::Lpn(9).0, 9);
/// ```
#[doc(inline)]
pub use units::Lpn;
/// A page of the flash: [`DriveLayout::address`] says where it is.
///
/// ```
/// assert_eq!(ssdlab::ftl::Ppn(9).0, 9);
/// ```
#[doc(inline)]
pub use units::Ppn;

/// What ends the run: what is wrong with an FTL of such a name, and what would mend it.
///
/// ```
/// let wrong = ssdlab::ftl::wrong("mine 1", "there is no such page", "give it another map");
/// assert!(wrong.to_string().contains("help: give it another map"));
/// ```
pub fn wrong(name: &str, problem: &str, remedy: &str) -> units::ConfigError {
    ssd::policies::PolicySource::named(name).mistake("ftl", problem.into(), remedy.into())
}
