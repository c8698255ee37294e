//! The DRAM write buffer: one slot a page, least recently written pages first to flash.

use units::{Lpn, Ppn};

use crate::arena::{Arena, CommandId, SlotId, WaiterId};
use crate::persist::{state, stored, stored_enum};

/// What is happening to a slot's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// Waits in the dirty list; further writes to the page merge into it.
    Dirty,
    /// The old half of the page is being read from flash; further writes merge.
    ReadModifyWrite,
    /// Waits for the rest of its zone's program; further writes merge.
    Gathering,
    /// On its way to flash: a further write to the page takes a new slot.
    Flushing,
}

pub(crate) struct Slot {
    pub lpn: Lpn,
    pub state: SlotState,
    /// Bytes that the host wrote into it, those included that it wrote again.
    pub host_bytes: u64,
    /// Sectors that the host wrote, and sectors whose data is here.
    pub dirty: u64,
    pub valid: u64,
    /// The page's newest data on flash.
    pub flash_copy: Option<Ppn>,
    /// The slot with older data of the same page that is still on its way to flash, and the one with newer
    /// data that was made while this one was.
    pub prev_version: Option<SlotId>,
    pub next_version: Option<SlotId>,
    /// The placement hint of the newest write to it.
    pub hint: u16,
    /// Its data was saved from a plane that has broken: the host has not written it.
    pub rescued: bool,
    /// Newer data reached flash first: this slot's page is stale as soon as it is programmed.
    pub outdated: bool,
    /// Writes to be acknowledged when this slot is on flash.
    pub waiters: Option<WaiterId>,
    prev: Option<SlotId>,
    next: Option<SlotId>,
}

/// A write, or a flush, that waits for a slot to be on flash.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub command: CommandId,
    /// What else waits for the slot.
    pub next: Option<WaiterId>,
}

/// The buffer's slots. Reserving comes before filling, so that data never arrives without room.
pub(crate) struct Buffer {
    slots: Arena<SlotId, Slot>,
    pub waiters: Arena<WaiterId, Waiter>,
    capacity: u32,
    reserved: u32,
    /// Pages that are written together: what is written of them has room for all.
    unit_of_map: u32,
    oldest: Option<SlotId>,
    newest: Option<SlotId>,
    /// Pages in the dirty list.
    pub dirty_pages: u32,
    /// Pages of zones that wait for the rest of a program.
    pub gathering: u32,
    /// Pages above which the oldest go to flash.
    pub dirty_limit: u32,
    /// All sectors of a page.
    pub full: u64,
    sector_bits: u32,
}

/// Whether hardly one of a buffer's slots is free (a sixteenth, assumed), of which so many are in use.
pub(crate) fn is_full(in_use: u64, slots: u64) -> bool {
    in_use * 16 >= slots * 15
}

impl Buffer {
    pub fn new(plan: &crate::config::Plan) -> Buffer {
        let page = plan.layout.page_size.0;
        // Sectors of 512 B, or larger ones where a page has more than 64.
        let sector_bits = 9.max(page.trailing_zeros().saturating_sub(6));
        let sectors = page >> sector_bits;
        Buffer {
            slots: Arena::new(),
            waiters: Arena::new(),
            capacity: plan.slots,
            reserved: 0,
            unit_of_map: plan.unit_of_map,
            oldest: None,
            newest: None,
            dirty_pages: 0,
            gathering: 0,
            dirty_limit: (f64::from(plan.slots) * plan.config.buffer.dirty_limit.0) as u32,
            full: if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 },
            sector_bits,
        }
    }

    /// The sectors that hold bytes `from..to` of a page.
    #[inline]
    pub fn sectors(&self, from: u32, to: u32) -> u64 {
        let (first, last) = (from >> self.sector_bits, (to - 1) >> self.sector_bits);
        (u64::MAX >> (63 - (last - first))) << first
    }

    /// Units of the map whose slots can be reserved now.
    pub fn available(&self) -> u32 {
        self.capacity.saturating_sub(self.in_use() + self.reserved) / self.unit_of_map
    }

    /// Slots that hold data.
    pub fn in_use(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Slots on their way to flash.
    pub fn leaving(&self) -> u32 {
        self.in_use() - self.dirty_pages - self.gathering
    }

    /// Sectors of its page that a slot does not have.
    pub fn lacks(&self, slot: SlotId) -> u64 {
        self.full & !self.slots[slot].valid
    }

    /// How many of `left` pages of a write, from `first` on, have room, where that is for whole units of the map; and
    /// the other pages of these units, which have to have room as well.
    #[inline]
    pub fn pages_with_room(&self, first: Lpn, left: u32) -> (u32, u32) {
        let (unit, room) = (self.unit_of_map, self.available());
        if unit == 1 {
            return (left.min(room), 0);
        }
        let before = (first.0 % u64::from(unit)) as u32;
        let count = left.min(room * unit - before);
        (count, (before + count).next_multiple_of(unit) - count)
    }

    /// A command waits until a slot is on flash.
    pub fn await_slot(&mut self, slot: SlotId, command: CommandId) {
        let next = self.slots[slot].waiters;
        self.slots[slot].waiters = Some(self.waiters.insert(Waiter { command, next }));
    }

    /// What the host wrote into a slot has left the buffer \[bytes\], which is said once.
    #[inline]
    pub fn settles(&mut self, slot: SlotId) -> u64 {
        std::mem::take(&mut self.slots[slot].host_bytes)
    }

    /// The slots in use, those of a page in the order in which they were filled.
    pub fn slots_by_age(&self) -> Vec<SlotId> {
        let mut slots: Vec<SlotId> = self.slots_in_use().collect();
        slots.sort_by_key(|slot| self.versions(*slot).count());
        slots
    }

    /// Whether a slot is a version of its page of which the newest is at `newest`.
    pub fn is_version(&self, slot: SlotId, newest: SlotId) -> bool {
        self.versions(newest).any(|version| version == slot)
    }

    pub fn reserve(&mut self, pages: u32) {
        self.reserved += pages;
    }

    /// Reserved slots were not needed: a write merged into an existing one, or did not bring the rest of its unit.
    pub fn unreserve(&mut self, pages: u32) {
        self.reserved -= pages;
    }

    /// Turns a reservation into a dirty slot.
    pub fn fill(&mut self, lpn: Lpn, dirty: u64, valid: u64, flash_copy: Option<Ppn>) -> SlotId {
        self.reserved -= 1;
        let id = self.add(lpn, dirty, valid, flash_copy);
        self.append(id);
        id
    }

    /// A slot outside of the dirty list.
    pub fn add(&mut self, lpn: Lpn, dirty: u64, valid: u64, flash_copy: Option<Ppn>) -> SlotId {
        self.slots.insert(Slot {
            lpn,
            state: SlotState::Dirty,
            host_bytes: 0,
            dirty,
            valid,
            flash_copy,
            prev_version: None,
            next_version: None,
            hint: 0,
            rescued: false,
            outdated: false,
            waiters: None,
            prev: None,
            next: None,
        })
    }

    /// A slot has newer data of the page of one that is on its way to flash.
    pub fn follow(&mut self, frozen: SlotId, newer: SlotId) {
        self.slots[newer].prev_version = Some(frozen);
        self.slots[frozen].next_version = Some(newer);
    }

    /// The flash page with the newest programmed data of the page that a slot buffers.
    pub fn newest_flash_copy(&self, slot: SlotId) -> Option<Ppn> {
        self.versions(slot).find_map(|version| self.slots[version].flash_copy)
    }

    /// A slot and those with older data of its page that are still on their way to flash, the newest first.
    fn versions(&self, slot: SlotId) -> impl Iterator<Item = SlotId> {
        std::iter::successors(Some(slot), |version| self.slots[*version].prev_version)
    }

    /// A slot's data is on flash, or is not wanted any more: older data of its page is out of date, on its way to
    /// flash, and on a page of the flash, which is returned.
    pub fn overtake(&mut self, slot: SlotId) -> Option<Ppn> {
        let (mut stale, mut versions) = (None, Some(slot));
        while let Some(version) = versions {
            let entry = &mut self.slots[version];
            debug_assert!(
                stale.is_none() || entry.flash_copy.is_none(),
                "Invariant: one page of the flash has newest data"
            );
            stale = stale.or(entry.flash_copy.take());
            entry.outdated = version != slot;
            // Those that are out of date may be done with in any order: none is looked for through another one.
            versions = entry.prev_version.take();
        }
        stale
    }

    /// A slot's data is on a page of the flash: whether a slot with newer data of its page knows it now.
    pub fn is_under(&mut self, slot: SlotId, ppn: Ppn) -> bool {
        let Some(newer) = self.slots[slot].next_version else { return false };
        let entry = &mut self.slots[newer];
        (entry.flash_copy, entry.prev_version) = (Some(ppn), None);
        true
    }

    /// The newest data on flash of a page that a slot buffers has moved.
    pub fn moves_under(&mut self, slot: SlotId, from: Ppn, to: Ppn) {
        let under = self.versions(slot).find(|version| self.slots[*version].flash_copy == Some(from));
        let under = under.expect("Invariant: a version of the page has it under itself");
        self.slots[under].flash_copy = Some(to);
    }

    /// Merges further sectors into a slot that is not frozen, and makes it the newest.
    pub fn merge(&mut self, id: SlotId, sectors: u64) {
        let slot = &mut self.slots[id];
        debug_assert_ne!(slot.state, SlotState::Flushing, "Invariant: frozen slots keep their data");
        slot.dirty |= sectors;
        slot.valid |= sectors;
        if slot.state == SlotState::Dirty && Some(id) != self.newest {
            self.unlink(id);
            self.append(id);
        }
    }

    /// Takes the least recently written page out of the dirty list.
    pub fn take_oldest(&mut self) -> Option<SlotId> {
        let id = self.oldest?;
        self.unlink(id);
        Some(id)
    }

    /// Takes a page out of the dirty list.
    pub fn take(&mut self, id: SlotId) {
        self.unlink(id);
    }

    /// Takes a page out of the dirty list that waits for the rest of its zone's program.
    pub fn gather(&mut self, id: SlotId) {
        if self.slots[id].state == SlotState::Dirty {
            self.unlink(id);
            self.slots[id].state = SlotState::Gathering;
            self.gathering += 1;
        }
    }

    /// The slot's data will not change any more.
    pub fn start_flushing(&mut self, id: SlotId) {
        let slot = &mut self.slots[id];
        self.gathering -= u32::from(slot.state == SlotState::Gathering);
        slot.state = SlotState::Flushing;
    }

    pub fn release(&mut self, id: SlotId) {
        self.slots.release(id);
    }

    /// The data of a slot that is not frozen is not wanted any more; it leaves the dirty list if it is in it.
    pub fn forget(&mut self, id: SlotId) {
        let slot = &self.slots[id];
        debug_assert!(slot.state != SlotState::Flushing, "Invariant: frozen slots are programmed");
        self.gathering -= u32::from(slot.state == SlotState::Gathering);
        if slot.state == SlotState::Dirty {
            self.unlink(id);
        }
    }

    /// Slots whose data is to reach flash.
    pub fn pending(&self) -> Vec<SlotId> {
        // What is gathered is kept by capacitors (`power.plp`).
        let leaves = |slot: &Slot| !slot.outdated && slot.state != SlotState::Gathering;
        let current = |slot: &SlotId| leaves(&self.slots[*slot]);
        self.slots_in_use().filter(current).collect()
    }

    /// Every slot that holds data.
    pub fn slots_in_use(&self) -> impl Iterator<Item = SlotId> {
        self.slots.ids()
    }

    /// Checks that as many slots are reserved as data is under way for, and that the dirty list holds what is dirty.
    pub fn check(&self, under_way: u32) -> Result<(), String> {
        if self.reserved != under_way {
            return Err(format!("{} slots of the buffer are reserved, for {under_way} pages under way", self.reserved));
        }
        let (mut listed, mut next, mut last) = (0, self.oldest, None);
        while let Some(slot) = next.filter(|_| listed <= self.dirty_pages) {
            if self[slot].prev != last || self[slot].state != SlotState::Dirty {
                return Err(format!("{slot:?} of the buffer stands in the dirty list as {:?}", self[slot].state));
            }
            (listed, next, last) = (listed + 1, self[slot].next, next);
        }
        if listed != self.dirty_pages || last != self.newest {
            return Err(format!("{} pages of the buffer are counted as dirty, {listed} are listed", self.dirty_pages));
        }
        Ok(())
    }

    fn append(&mut self, id: SlotId) {
        let newest = self.newest.replace(id);
        let slot = &mut self.slots[id];
        (slot.prev, slot.next) = (newest, None);
        match newest {
            None => self.oldest = Some(id),
            Some(newest) => self.slots[newest].next = Some(id),
        }
        self.dirty_pages += 1;
    }

    fn unlink(&mut self, id: SlotId) {
        let (prev, next) = (self.slots[id].prev, self.slots[id].next);
        match prev {
            None => self.oldest = next,
            Some(prev) => self.slots[prev].next = next,
        }
        match next {
            None => self.newest = prev,
            Some(next) => self.slots[next].prev = prev,
        }
        self.dirty_pages -= 1;
    }
}

impl std::ops::Index<SlotId> for Buffer {
    type Output = Slot;
    #[inline]
    fn index(&self, id: SlotId) -> &Slot {
        &self.slots[id]
    }
}

impl std::ops::IndexMut<SlotId> for Buffer {
    #[inline]
    fn index_mut(&mut self, id: SlotId) -> &mut Slot {
        &mut self.slots[id]
    }
}

state! {
    Buffer {
        stored { slots, waiters, reserved, oldest, newest, dirty_pages, gathering }
        rebuilt { capacity, unit_of_map, dirty_limit, full, sector_bits }
    }
}

stored! {
    Slot {
        lpn, state, host_bytes, dirty, valid, flash_copy, prev_version, next_version, hint, rescued, outdated, waiters, prev, next,
    }
    Waiter { command, next }
}

stored_enum! {
    SlotState { 0 = Dirty, 1 = ReadModifyWrite, 2 = Flushing, 3 = Gathering, }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_least_recently_written_page_leaves_first() {
        let mut buffer = Buffer::new(&Config::default().plan().unwrap());
        buffer.reserve(3);
        let slots = [1, 2, 3].map(|lpn| buffer.fill(Lpn(lpn), 1, 1, None));
        buffer.merge(slots[0], 6);
        assert_eq!(buffer.take_oldest(), Some(slots[1]));
        assert_eq!(buffer.take_oldest(), Some(slots[2]));
        assert_eq!(buffer[slots[0]].dirty, 7);
        assert_eq!(buffer.take_oldest(), Some(slots[0]));
        assert_eq!(buffer.take_oldest(), None);
    }

    #[test]
    fn a_byte_range_covers_every_sector_that_it_touches() {
        let buffer = Buffer::new(&Config::default().plan().unwrap());
        assert_eq!(buffer.full, (1 << 32) - 1);
        assert_eq!(buffer.sectors(0, 512), 1);
        assert_eq!(buffer.sectors(511, 513), 3);
        assert_eq!(buffer.sectors(0, 16_384), buffer.full);
        assert_eq!(buffer.sectors(16_383, 16_384), 1 << 31);
    }
}
