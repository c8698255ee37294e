//! Observation at compile time: a device is generic over a [`Probe`], whose methods are empty by default,
//! so that a device that nobody watches pays nothing.

use nand::{ChannelId, DieId, PlaneId};
use schemes::learned::Context;
use units::{Lpn, Ppn, Time};
use workload::Op;

use crate::arena::SlotId;
use crate::observe::ledger::Ledger;
use crate::observe::stats::die::Spent;

/// Where the data of a page read came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFrom {
    /// The page was never written: zeros.
    Nothing,
    /// The write buffer, at this slot.
    Buffer(SlotId),
    /// The read cache: what a read had taken from flash.
    Cache,
    /// Flash.
    Flash(Ppn),
    /// Flash, with what is newer in this buffer slot merged in.
    Merged(Ppn, SlotId),
}

/// What serves requests one after the other, outside the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Server {
    LinkIn,
    LinkOut,
    Dram,
}

/// What happens to a request on its way and to the resources, for those that explain where time goes. Parts of reads
/// are named by their operation's number; `attempt` counts their senses before.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The fields' names say what they are.
pub enum Event {
    /// The device takes a request up that the host sent at `arrival`.
    Started { request: u64, op: Op, bytes: u64, arrival: Time, queue: u16 },
    /// The firmware has processed it, which takes time in this device.
    Processed { request: u64 },
    /// A page of a host's read is read from flash: the part that the die is asked for next.
    Reads { request: u64, part: u64 },
    /// A part waits for its die; where that one's time has gone so far, and what it has waited for.
    Waits { part: u64, attempt: u16, spent: Spent },
    /// The die takes it. `what` says what the page is read for, where that is not a host's read; `speculative` that the
    /// sense before is still transferred or decoded.
    Senses {
        part: u64,
        attempt: u16,
        begins: Time,
        ends: Time,
        spent: Spent,
        ppn: Ppn,
        what: &'static str,
        speculative: bool,
    },
    /// A part of a drive with decision trees is about to be sensed for the first time: what the controller knows, and
    /// whether a retry follows at once.
    Foresees { part: u64, known: Context, ahead: bool },
    /// It has been sensed for the first time.
    FirstSense { part: u64, hasty: bool, corrected: bool },
    /// It has been read, with the references of a step of the table or those next to it.
    ReadBy { part: u64, step: u8 },
    /// The die has predicted a failure and senses it again.
    OnDieRetry { part: u64, attempt: u16, ends: Time, ppn: Ppn },
    /// The page has the bus.
    Leaves { part: u64, attempt: u16, end: Time, channel: ChannelId },
    /// It has a decoder.
    Decodes { part: u64, attempt: u16, end: Time, channel: ChannelId, ppn: Ppn },
    /// A part is on its way to the host: the operation that read it, if one did.
    Sent { request: u64, part: Option<(u64, u16)>, arrives: Time },
    /// Written data crosses the link.
    Received { request: u64, from: Time, to: Time },
    /// It is in the DRAM.
    Stored { request: u64, at: Time },
    /// The host sees the request complete.
    Completed { request: u64 },
    /// A request reaches the device, in the order of arrivals.
    Arrives { arrival: Time },
    /// A die's time goes into a cause of [`crate::observe::stats::die::CAUSES`] from now on; from `until.0` on into
    /// `until.1`.
    Die { die: DieId, cause: usize, until: Option<(Time, usize)> },
    /// The time of a channel's bus goes into a cause from now on; from `until.0` on into `until.1`.
    Bus { channel: ChannelId, cause: usize, until: Option<(Time, usize)> },
    /// A server serves.
    Serves { server: Server, from: Time, to: Time },
    /// What the die programs next is this many pages, for something else than the host if `what` says so.
    Programs { pages: u32, what: &'static str },
    /// The program or erase of a die has a phase ahead: a pulse, from 1 on, or the verify after it.
    Phase { die: DieId, pulse: bool, number: u64, from: Time, to: Time },
    /// A plane's senses are void: RESET until `reset`, then SET FEATURE until `end`, either of no length where it is
    /// not needed.
    Resets { die: DieId, plane: u8, reset: Time, end: Time },
    /// Something has happened: requests in the device, pages in its write buffer.
    State { requests: u32, buffered: u32 },
    /// The workload begins with this request: what came before brought the drive into its state.
    Begins { first: u64 },
    /// What is measured begins with this request.
    Counts { first: u64 },
}

/// Watches a device. Contract: a probe must not influence the run.
pub trait Probe {
    /// Whether [`Probe::explain`] is called; what it gets is not free to find out.
    const EXPLAINS: bool = false;
    /// Whether dies keep what they wait for while they are idle; those that explain are asked, and told.
    #[inline]
    fn notes_waits(&self) -> bool {
        Self::EXPLAINS
    }
    /// What the drive has promised as the probe keeps it, where the device is to be compared with it after every event.
    #[inline]
    fn ledger(&mut self) -> Option<&mut Ledger> {
        None
    }
    /// Something happens to a request.
    fn explain(&mut self, _now: Time, _event: Event) {}
    /// A page of a host read was looked up: request, page and where its data is.
    fn read(&mut self, _time: Time, _request: u64, _lpn: Lpn, _from: DataFrom) {}
    /// Sectors of a page that a host read has taken from flash are in the read cache.
    fn cached(&mut self, _time: Time, _request: u64, _lpn: Lpn, _sectors: u64) {}
    /// A page of a host write has reached the buffer. `over` is the frozen slot whose data it started from.
    fn buffered(&mut self, _time: Time, _request: u64, _lpn: Lpn, _slot: SlotId, _over: Option<SlotId>) {}
    /// A page that the host did not write is in a map unit of which it wrote others: it got a slot, whose data comes
    /// from there.
    fn joined(&mut self, _time: Time, _lpn: Lpn, _slot: SlotId, _from: DataFrom) {}
    /// A slot's page has been programmed.
    fn programmed(&mut self, _time: Time, _lpn: Lpn, _slot: SlotId, _ppn: Ppn) {}
    /// A page of the drive's own accord has been programmed elsewhere.
    fn moved(&mut self, _time: Time, _lpn: Lpn, _from: Ppn, _to: Ppn) {}
    /// The controller had the data of a page whose plane has broken, or worked it out: it is in a slot now, a new one
    /// or that of newer data that lacks it.
    fn rescued(&mut self, _time: Time, _lpn: Lpn, _slot: SlotId, _from: Ppn) {}
    /// A page of the map, numbered behind the logical pages, has been programmed.
    fn mapped(&mut self, _time: Time, _lpn: Lpn, _ppn: Ppn) {}
    /// A page of the map that was programmed is of no use any more: it stood for the parity of a stripe that has ended,
    /// or whose parity is in the controller again.
    fn dropped(&mut self, _time: Time, _lpn: Lpn) {}
    /// A page was unmapped by a trim.
    fn trimmed(&mut self, _time: Time, _request: u64, _lpn: Lpn) {}
    /// A block has been erased.
    fn erased(&mut self, _time: Time, _plane: PlaneId, _block: u32) {}
    /// A die starts to sense the page; it is done at `end`.
    fn sense(&mut self, _start: Time, _end: Time, _die: DieId, _ppn: Ppn) {}
    /// A die programs pages on the planes of a set.
    fn program(&mut self, _start: Time, _end: Time, _die: DieId, _planes: u8) {}
    /// A die erases blocks on the planes of a set.
    fn erase(&mut self, _start: Time, _end: Time, _die: DieId, _planes: u8) {}
    /// A die is reset, or its timing set back, until `end`; what it sensed is lost.
    fn reset(&mut self, _now: Time, _end: Time, _die: DieId) {}
    /// The program or erase of a die has been suspended: its array is free for reads.
    fn suspend(&mut self, _now: Time, _die: DieId) {}
    /// The power has been cut: what was in memory is gone, and the buffer holds what capacitors have kept.
    fn cut(&mut self, _time: Time) {}
    /// The suspended operation of a die goes on, and ends at `end` if it is not suspended again.
    fn resume(&mut self, _now: Time, _end: Time, _die: DieId) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Probe for Unwatched {}
