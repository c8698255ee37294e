//! Page operations, and the queues of them that dies and channels keep.

use std::ops::{Index, IndexMut};

use nand::DieId;
use schemes::Class;
use units::{Lpn, Ppn};

use super::attempt::Read;
use super::queues::{QUEUES, QueueId};
use crate::arena::{Arena, AttemptId, AwaitedId, CommandId, FetchId, Linked, OpId, RebuildId, SlotId, StripeId};
use crate::persist::{Reader, Stored, Writer, stored, stored_enum};

pub(crate) type Ops = Arena<OpId, PageOp>;

/// A logical page number in five bytes, and a physical one in six, so that an operation stays in a cache line.
/// Invariant: the geometry allows no larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed)]
pub(crate) struct PackedLpn {
    low: u32,
    high: u8,
}

/// See [`PackedLpn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub(crate) struct PackedPpn {
    low: u32,
    high: u16,
}

impl PackedLpn {
    #[inline]
    pub fn get(self) -> Lpn {
        Lpn(u64::from(self.low) | u64::from(self.high) << 32)
    }
}

impl PackedPpn {
    #[inline]
    pub fn get(self) -> Ppn {
        Ppn(u64::from(self.low) | u64::from(self.high) << 32)
    }
}

impl From<Lpn> for PackedLpn {
    #[inline]
    fn from(lpn: Lpn) -> PackedLpn {
        debug_assert!(lpn.0 >> 40 == 0, "Invariant: a device has no more pages");
        PackedLpn { low: lpn.0 as u32, high: (lpn.0 >> 32) as u8 }
    }
}

impl From<Ppn> for PackedPpn {
    #[inline]
    fn from(ppn: Ppn) -> PackedPpn {
        debug_assert!(ppn.0 >> 48 == 0, "Invariant: a device has no more pages");
        PackedPpn { low: ppn.0 as u32, high: (ppn.0 >> 32) as u16 }
    }
}

/// What a page operation is part of, and so who goes on when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A part of a host's read.
    Host(CommandId),
    /// A page of the write buffer, the old half of which is read or which is programmed.
    Slot(SlotId),
    /// A page that moves within its plane, from that place.
    Relocation(PackedPpn),
    /// A line of the map that is read into its cache, with what waits for it, if anything does.
    MapFetch(Option<FetchId>),
    /// A page to which a learned table has led in place of the one that is wanted, with what waits for that.
    Mispredicted(AwaitedId),
    /// A translation page, by its number, that is read, changed and programmed.
    MapRewrite(u32),
    /// A page of the map's journal, by its place among the drive's own pages, that is programmed.
    Journal(u32),
    /// A page that is read after a power cut, to find out what is where.
    Recovery,
    /// A block that is erased; the page is its first.
    Erase,
    /// The parity of a stripe.
    Parity(StripeId),
    /// A page of the rest of a stripe, of which another one is worked out.
    Rebuild(RebuildId),
    /// A page whose stripe ends with a block that this plane is to erase.
    Orphan(u32),
    /// Padding of a zone that is finished, by the number of that.
    Padding(u32),
}

/// One page to be read, one page to be programmed, or one block to be erased.
#[derive(Clone, Copy)]
pub(crate) struct PageOp {
    /// The next operation of the queue or program that this one is in.
    pub next: Option<OpId>,
    pub owner: Owner,
    pub lpn: PackedLpn,
    /// The page to sense; for programs the page that was given to it when it was issued.
    pub ppn: PackedPpn,
    /// Bytes that cross the channel's bus.
    pub bus_bytes: u32,
    /// Bytes that go to the host.
    pub host_bytes: u32,
    pub die: DieId,
    /// The queue of its die that it waits in: its class, its plane, and what it writes.
    pub queue: QueueId,
    /// Age: operations are numbered as they enter their die's queues.
    pub seq: u64,
    /// Of reads: their page, and their attempts.
    pub read: Read,
}

impl Linked<OpId> for PageOp {
    fn next(&mut self) -> &mut Option<OpId> {
        &mut self.next
    }
}

impl PageOp {
    /// An operation for a queue of a die.
    pub fn new(owner: Owner, lpn: Lpn, ppn: Ppn, (die, queue): (DieId, QueueId), bus_bytes: u32) -> PageOp {
        let (lpn, ppn) = (lpn.into(), ppn.into());
        PageOp { next: None, owner, lpn, ppn, bus_bytes, host_bytes: 0, die, queue, seq: 0, read: Read::NONE }
    }

    /// The attempt of a read that was queued last. Invariant: the read has not ended.
    #[inline]
    pub fn newest(&self) -> AttemptId {
        self.read.newest.expect("Invariant: a read that is under way has an attempt")
    }

    /// The logical page and the physical one.
    #[inline]
    pub fn pages(&self) -> (Lpn, Ppn) {
        (self.lpn.get(), self.ppn.get())
    }

    /// Whether it programs what the die has sensed itself, on the same plane of the flash: nothing of it crosses the
    /// bus.
    #[inline]
    pub fn is_copied(&self) -> bool {
        self.bus_bytes == 0 && matches!(self.owner, Owner::Relocation(_))
    }

    /// What it is for, where that is not a host's request.
    pub fn purpose(&self) -> &'static str {
        match self.owner {
            Owner::Host(_) => "",
            Owner::Padding(_) => "padding",
            Owner::Slot(_) if self.queue.class() == Class::UserProgram => "",
            Owner::Slot(_) => "partial write",
            Owner::Relocation(_) => "move",
            Owner::MapFetch(_) | Owner::Mispredicted(_) | Owner::MapRewrite(_) | Owner::Journal(_) => "map",
            Owner::Recovery => "recovery",
            Owner::Erase => "erase",
            Owner::Parity(_) | Owner::Rebuild(_) | Owner::Orphan(_) => "parity",
        }
    }
}

/// What a read that has ended has of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageData {
    /// Its data.
    Right,
    /// Nothing.
    Lost,
    /// Nothing: its read ended early, as its host allows.
    GivenUp,
    /// Other data, which nothing has noticed.
    Wrong,
}

/// A first-in-first-out queue of page operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub head: Option<OpId>,
    tail: Option<OpId>,
    pub len: u32,
    /// The age of the head, kept here so that choosing among queues touches no operation.
    pub head_seq: u64,
}

impl Queue {
    pub const EMPTY: Queue = Queue { head: None, tail: None, len: 0, head_seq: u64::MAX };

    #[inline]
    pub fn push(&mut self, ops: &mut Ops, id: OpId) {
        let op = &mut ops[id];
        op.next = None;
        match self.tail.replace(id) {
            Some(tail) => ops[tail].next = Some(id),
            None => (self.head, self.head_seq) = (Some(id), op.seq),
        }
        self.len += 1;
    }

    #[inline]
    pub fn pop(&mut self, ops: &mut Ops) -> Option<OpId> {
        let id = self.head?;
        self.head = ops[id].next.take();
        if let Some(head) = self.head {
            self.head_seq = ops[head].seq;
        } else {
            (self.tail, self.head_seq) = (None, u64::MAX);
        }
        self.len -= 1;
        Some(id)
    }

    /// Puts an entry before all others, whatever its age.
    pub fn push_front(&mut self, ops: &mut Ops, id: OpId) {
        let op = &mut ops[id];
        op.next = self.head;
        (self.head, self.head_seq) = (Some(id), op.seq);
        self.tail = self.tail.or(self.head);
        self.len += 1;
    }

    /// Puts an entry in at its age: before everything younger, but for a head that `keeps_head` says is to stay the
    /// head.
    pub fn insert(&mut self, ops: &mut Ops, id: OpId, keeps_head: bool) {
        let seq = ops[id].seq;
        let (Some(head), Some(tail)) = (self.head, self.tail) else { return self.push(ops, id) };
        if seq >= ops[tail].seq {
            return self.push(ops, id);
        }
        if seq < self.head_seq && !keeps_head {
            return self.push_front(ops, id);
        }
        let mut before = head;
        while let Some(next) = ops[before].next.filter(|next| ops[*next].seq <= seq) {
            before = next;
        }
        ops[id].next = ops[before].next;
        ops[before].next = Some(id);
        if before == tail {
            self.tail = Some(id);
        }
        self.len += 1;
    }

    /// Takes the entry of an age out of a queue that stands in the order of ages, its head excepted.
    pub fn remove(&mut self, ops: &mut Ops, seq: u64) -> Option<OpId> {
        if self.head_seq == seq {
            return self.pop(ops);
        }
        let mut before = self.head?;
        while let Some(next) = ops[before].next.filter(|next| ops[*next].seq < seq) {
            before = next;
        }
        let found = ops[before].next.filter(|next| ops[*next].seq == seq)?;
        ops[before].next = ops[found].next;
        if self.tail == Some(found) {
            self.tail = Some(before);
        }
        self.len -= 1;
        Some(found)
    }

    /// Takes the oldest entry that is wanted out of a queue.
    pub fn take_first(&mut self, ops: &mut Ops, is_wanted: impl Fn(&PageOp) -> bool) -> Option<OpId> {
        let (mut found, mut rest) = (None, Queue::EMPTY);
        while let Some(id) = self.pop(ops) {
            if found.is_none() && is_wanted(&ops[id]) {
                found = Some(id);
            } else {
                rest.push(ops, id);
            }
        }
        *self = rest;
        found
    }

    /// The entries, from the head on.
    pub fn entries<'a>(&self, ops: &'a Ops) -> impl Iterator<Item = &'a PageOp> + use<'a> {
        std::iter::successors(self.head, |id| ops[*id].next).map(|id| &ops[id])
    }

    /// The head of a queue that is not empty.
    #[inline]
    pub fn first(&self) -> OpId {
        self.head.expect("Invariant: ready queues are not empty")
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }
}

/// The queues of a die.
pub(super) struct Queues([Queue; QUEUES]);

impl Queues {
    pub const EMPTY: Queues = Queues([Queue::EMPTY; QUEUES]);
}

impl Index<QueueId> for Queues {
    type Output = Queue;
    #[inline]
    fn index(&self, queue: QueueId) -> &Queue {
        &self.0[usize::from(queue.0)]
    }
}

impl IndexMut<QueueId> for Queues {
    #[inline]
    fn index_mut(&mut self, queue: QueueId) -> &mut Queue {
        &mut self.0[usize::from(queue.0)]
    }
}

stored! {
    PageOp { next, owner, lpn, ppn, bus_bytes, host_bytes, die, queue, seq, read }
    Queue { head, tail, len, head_seq }
}

stored_enum! {
    Owner {
        0 = Host(command), 1 = Slot(slot), 2 = Relocation(from), 3 = MapFetch(fetch), 4 = MapRewrite(page), 5 = Erase,
        6 = Parity(stripe), 7 = Rebuild(number), 8 = Orphan(plane), 9 = Journal(place), 10 = Recovery,
        11 = Padding(number), 12 = Mispredicted(waits),
    }
}

impl Stored for Queues {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> std::io::Result<Queues> {
        Stored::read(from).map(Queues)
    }
}

/// What is packed, as it was before; what does not fit is damaged.
macro_rules! packed {
    ($($type:ident as $whole:ident of $bits:literal bits),+) => {$(
        impl Stored for $type {
            fn write(&self, to: &mut Writer) {
                self.get().write(to);
            }
            fn read(from: &mut Reader) -> std::io::Result<$type> {
                let whole = $whole::read(from)?;
                if whole.0 >> $bits == 0 { Ok(whole.into()) } else { Err(std::io::ErrorKind::InvalidData.into()) }
            }
        }
    )+};
}
packed!(PackedLpn as Lpn of 40 bits, PackedPpn as Ppn of 48 bits);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_number_that_does_not_fit_is_damaged() {
        for (number, fits) in [((1 << 40) - 1, true), (1 << 40, false), (u64::MAX, false)] {
            let bytes = u64::to_le_bytes(number);
            let mut from = &bytes[..];
            assert_eq!(PackedLpn::read(&mut Reader::new(&mut from)).is_ok(), fits);
        }
    }
}
