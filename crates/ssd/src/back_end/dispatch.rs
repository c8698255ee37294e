//! Pages that wait for their program find their dies: each its own, or whichever takes it first (`ftl.placement`),
//! parity a plane that is free of it; where the SLC cache takes no more, what waits for it goes past it.

use nand::{DieId, PlaneId};
use units::{Lpn, Ppn};

use crate::arena::{OpId, SlotId};
use crate::core::Core;
use crate::flash::op::{Owner, PageOp};
use crate::flash::{Flash, FlashAt, FlashView, QueueId, QueueSet, planes};
use crate::ftl::Ftl;
use crate::ftl::moves::Moving;
use crate::observe::probe::Probe;
use crate::streams::StreamId;
use crate::writes::Writes;

/// What a page on its way to a die is given to, and asks.
pub(super) struct Dispatch<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a mut Writes,
}

impl<P: Probe> Dispatch<'_, P> {
    /// What is decided from.
    #[inline]
    fn view(&self) -> FlashView<'_, Ftl> {
        let read_only = self.core.life.read_only.is_some();
        FlashView { flash: self.flash, plan: &self.core.plan, placement: self.ftl, read_only }
    }

    /// The flash as it stands now.
    #[inline]
    fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: self.flash, core: self.core, placement: self.ftl }
    }

    /// Queues the program of a slot's page. Its plane may have broken while the map was read: an FTL of one's own says
    /// where it goes then.
    pub fn place(&mut self, op: OpId) {
        let mut plane = self.plane_of(op);
        if self.core.plan.has_own_ftl()
            && self.ftl.is_broken(plane)
            && let Owner::Slot(slot) = self.flash.ops[op].owner
        {
            self.find_place(op, slot);
            plane = self.plane_of(op);
        }
        if let Some((from, to)) = self.moving(plane).diverts() {
            self.send_elsewhere(plane, from, to);
        }
        self.flash().one_more_waits();
        self.wait(op);
        self.divert_waiting(op);
    }

    /// The plane that a program was given to.
    fn plane_of(&self, op: OpId) -> PlaneId {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        self.core.plan.layout.plane(die, queue.plane() as u8)
    }

    /// The program of a slot's page goes to another plane and stream than those that it was given before.
    pub fn find_place(&mut self, op: OpId, slot: SlotId) {
        let (plane, stream) = self.ftl.place_of_slot(slot, &self.writes.buffer, &self.core.plan);
        let (die, place) = self.core.plan.layout.die_of(plane);
        let op = &mut self.flash.ops[op];
        (op.die, op.queue) = (die, QueueId::of_programs(stream, place.into()));
    }

    /// A page that is counted among those that wait for their program waits for its die, or for any.
    pub fn wait(&mut self, op: OpId) {
        if self.core.plan.deals {
            return self.flash().queue_program(op);
        }
        let writes = self.flash.ops[op].queue.writes().expect("Invariant: host data is programmed");
        self.writes.pools[writes.index()].push(&mut self.flash.ops, op);
    }

    /// Gives pages of the pools to dies that have no program, in page allocation order.
    pub fn pools(&mut self) {
        for writes in self.core.plan.streams.hosts() {
            if self.writes.pools[writes.index()].len > 0 {
                self.pool(writes);
                self.divert_pool(writes);
            }
        }
    }

    fn pool(&mut self, writes: StreamId) {
        let layout = self.core.plan.layout;
        let planes = match self.core.plan.config.chip.plane_programs {
            nand::PlanePrograms::Single => 1,
            nand::PlanePrograms::Lockstep => layout.planes_per_die,
        };
        let unit = self.core.plan.streams.unit_of(writes);
        let whole = planes * unit;
        // Whole wordlines wait for a command's worth of pages; single flash pages go as soon as a die is free.
        let enough = match unit / layout.shared() {
            _ if self.writes.draining() => 1,
            1 => unit,
            _ => whole,
        };
        while self.writes.pools[writes.index()].len >= enough
            && let Some(die) = self.next_die(writes)
        {
            let pages = self.writes.pools[writes.index()].len.min(whole);
            self.give_pages(die, writes, pages - pages % enough);
        }
    }

    fn next_die(&mut self, writes: StreamId) -> Option<DieId> {
        self.flash.take_stirred(|die| self.writes.takers.stir(die));
        debug_assert!(self.refuse_rightly(writes), "Invariant: what lets a die take programs stirs it");
        while let Some(place) = self.writes.takers.next(writes, self.writes.pool_cursor) {
            let die = self.writes.die_order[place];
            if self.takes_host_data(die, writes) {
                self.writes.pool_cursor = (place + 1) % self.writes.die_order.len();
                return Some(die);
            }
            self.writes.takers.refuses(writes, place);
        }
        self.die_of_another_group(writes)
    }

    /// The next die that takes pages of a stream whose reclaim group is full.
    fn die_of_another_group(&mut self, writes: StreamId) -> Option<DieId> {
        if !self.view().placement.group_is_full(writes, &self.core.plan) {
            return None;
        }
        let (cursor, dies) = (self.writes.pool_cursor, self.writes.die_order.len());
        let place = (0..dies).map(|step| (cursor + step) % dies);
        let place = { place }.find(|place| has_room_for(&self.view(), self.writes.die_order[*place], writes))?;
        self.writes.pool_cursor = (place + 1) % dies;
        Some(self.writes.die_order[place])
    }

    fn refuse_rightly(&self, writes: StreamId) -> bool {
        let mut dies = self.writes.die_order.iter().enumerate();
        dies.all(|(place, die)| self.writes.takers.may(writes, place) || !self.takes_host_data(*die, writes))
    }

    fn takes_host_data(&self, die: DieId, writes: StreamId) -> bool {
        has_room_for(&self.view(), die, writes) && self.core.plan.groups.takes(writes, die)
    }

    /// Moves up to `pages` from a pool to a die, a unit for each of the planes that have been programmed least. Planes
    /// that lag behind catch up alone, so that afterwards all of them go together again.
    fn give_pages(&mut self, die: DieId, writes: StreamId, pages: u32) {
        let lagging = self.ftl.lagging(die, writes, &self.core.plan);
        let unit = self.core.plan.streams.unit_of(writes);
        if !self.core.plan.groups.takes(writes, die) {
            self.core.counters.pages_of_full_groups += u64::from(pages.min(lagging.count_ones() * unit));
        }
        let mut left = pages;
        for plane in planes(lagging) {
            let queue = QueueId::of_programs(writes, plane);
            for _ in 0..unit.min(left) {
                let op = self.writes.pools[writes.index()]
                    .pop(&mut self.flash.ops)
                    .expect("Invariant: no more is taken than the pool has");
                (self.flash.ops[op].die, self.flash.ops[op].queue) = (die, queue);
                self.flash().queue_program(op);
            }
            left -= unit.min(left);
        }
    }

    /// Writes wait for room and nothing is on its way to flash: lets a partly filled unit go.
    pub fn force_oldest(&mut self) {
        for writes in self.core.plan.streams.hosts() {
            let pages = self.writes.pools[writes.index()].len;
            if pages > 0
                && let Some(die) = self.next_die(writes)
            {
                self.give_pages(die, writes, pages);
                return self.flash().force_die(die, QueueSet::of_programs(writes));
            }
        }
        if let Some(die) = self.view().oldest_program_die() {
            // Those of relocated data end with their collection: padded before, they would take more room than was kept
            // for them.
            self.flash().force_die(die, QueueSet::NOT_RELOCATED);
        }
    }

    /// What waits for a free block of a plane may start, or goes elsewhere.
    pub fn room_changed(&mut self, plane: PlaneId) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        self.flash().update_plane_eligibility(die, place);
        self.divert(plane);
    }

    /// What host data has to pay for on a plane has changed, and so whether the programs of its die can start.
    #[cold]
    pub fn host_pays(&mut self, plane: PlaneId) {
        let die = self.core.plan.layout.die_of(plane).0;
        for place in 0..self.core.plan.layout.planes_per_die as u8 {
            self.flash().update_plane_eligibility(die, place);
        }
    }

    /// What a plane relocates.
    fn moving(&mut self, plane: PlaneId) -> Moving<'_> {
        self.ftl.moving(plane, &self.writes.buffer, &self.core.plan)
    }

    /// Queues the program of a page that moves: its die copies it back, or its data comes over the bus.
    pub fn relocate(&mut self, lpn: Lpn, source: Ppn, copied: bool) {
        let plane = self.core.plan.layout.plane_of(source);
        let (die, place) = self.core.plan.layout.die_of(plane);
        let writes = self.moving(plane).moves_in(source);
        let bytes = if copied { 0 } else { self.core.plan.layout.page_size.0 as u32 };
        let queue = QueueId::of_programs(writes, place.into());
        let seq = self.flash.number();
        let op = PageOp { seq, ..PageOp::new(Owner::Relocation(source.into()), lpn, source, (die, queue), bytes) };
        let op = self.flash.ops.insert(op);
        self.flash().queue_program(op);
    }

    /// Queues padding in the place of a page of a logical block that is gathered.
    pub fn pad(&mut self, plane: PlaneId, lpn: Lpn) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        let (bytes, seq) = (self.core.plan.layout.page_size.0 as u32, self.flash.number());
        let queue = QueueId::of_programs(StreamId::RELOCATED, place.into());
        let op = PageOp { seq, ..PageOp::new(Owner::Padding(0), lpn, Ppn(0), (die, queue), bytes) };
        let op = self.flash.ops.insert(op);
        self.moving(plane).pads();
        self.flash().queue_program(op);
    }

    /// Gives parity that waits in the controller to planes that can take a program of it.
    #[inline]
    pub fn parity(&mut self) {
        let layout = self.core.plan.layout;
        let place_of = |plane| {
            let (die, place) = layout.die_of(plane);
            (die, QueueId::of_programs(StreamId::PARITY, place.into()))
        };
        let is_free = |flash: &Flash, plane| {
            let (die, queue) = place_of(plane);
            !flash.waits_in(die, queue)
        };
        while let Some(next) = self.ftl.next_parity(|plane| is_free(self.flash, plane), &self.core.plan) {
            for (stripe, lpn) in next.stripes {
                let bytes = layout.page_size.0 as u32;
                let seq = self.flash.number();
                let place = place_of(next.plane);
                let op = PageOp { seq, ..PageOp::new(Owner::Parity(stripe), lpn, Ppn(0), place, bytes) };
                let op = self.flash.ops.insert(op);
                self.flash().queue_program(op);
            }
        }
    }

    /// What waits in a plane for the cache goes past it, where it takes no more.
    #[inline]
    pub fn divert(&mut self, plane: PlaneId) {
        if self.core.plan.slc.is_some() {
            self.divert_queue(plane);
        }
    }

    fn divert_queue(&mut self, plane: PlaneId) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        for stream in self.core.plan.streams.hosts().chain([StreamId::CONVERTED]) {
            let queue = QueueId::of_programs(stream, place.into());
            if self.flash.waits_in(die, queue)
                && let Some(past) = self.ftl.diverts(Some(plane), stream, &self.core.plan)
            {
                self.send_elsewhere(plane, stream, past);
            }
        }
    }

    /// What waits on a plane in a stream goes into another one: relocated data in a partly filled unit, if it was to.
    fn send_elsewhere(&mut self, plane: PlaneId, from: StreamId, to: StreamId) {
        let (die, place) = self.core.plan.layout.die_of(plane);
        let from = QueueId::of_programs(from, place.into());
        let is_forced = self.flash.is_forced(die, from);
        for op in self.flash().empty_queue(die, from) {
            self.flash.ops[op].queue = QueueId::of_programs(to, place.into());
            if to.is_of_host() {
                self.wait(op);
            } else {
                self.flash().queue_program(op);
            }
        }
        if is_forced && to.is_relocated() {
            self.flash().force_plane(die, place, QueueSet::of_programs(to));
        }
    }

    /// Diverts a page that has just begun to wait for its die.
    #[inline]
    fn divert_waiting(&mut self, op: OpId) {
        if self.core.plan.slc.is_some() && self.core.plan.deals {
            let (die, place) = (self.flash.ops[op].die, self.flash.ops[op].queue.plane() as u8);
            self.divert_queue(self.core.plan.layout.plane(die, place));
        }
    }

    /// Diverts what waits for any die, where no plane's part of the cache takes anything that it may be written to.
    #[inline]
    fn divert_pool(&mut self, writes: StreamId) {
        if self.core.plan.slc.is_some() && self.writes.pools[writes.index()].len > 0 {
            self.divert_whole_pool(writes);
        }
    }

    fn divert_whole_pool(&mut self, writes: StreamId) {
        if let Some(past) = self.ftl.diverts(None, writes, &self.core.plan) {
            self.send_pool(writes, past);
        }
    }

    /// What waits for any die in a stream waits in another one.
    fn send_pool(&mut self, from: StreamId, to: StreamId) {
        while let Some(op) = self.writes.pools[from.index()].pop(&mut self.flash.ops) {
            let place = self.flash.ops[op].queue.plane();
            self.flash.ops[op].queue = QueueId::of_programs(to, place);
            self.wait(op);
        }
    }

    /// Nothing else is going to happen: what waits in vain for the SLC cache on any die goes past it.
    #[cold]
    pub fn go_past_the_cache(&mut self, PastTheCache { from, to }: PastTheCache) {
        self.send_pool(from, to);
        self.force_oldest();
    }
}

/// What ends a standstill, in which something waits and nothing is going to happen.
pub(super) enum Standstill {
    /// Blocks have failed, and those that are left are too few: the drive's life ends.
    EndsLife,
    /// The planes that have room in the SLC cache can take no more data: what waits for them goes past the cache to
    /// others.
    HasWay(PastTheCache),
}

/// What waits for the SLC cache on any die could go past it, from one stream to another.
#[derive(Clone, Copy)]
pub(super) struct PastTheCache {
    from: StreamId,
    to: StreamId,
}

impl PastTheCache {
    /// The way past the cache that is open, if anything waits for the cache.
    #[cold]
    pub fn find(view: &FlashView<'_, Ftl>, writes: &Writes) -> Option<PastTheCache> {
        let streams = &view.plan.streams;
        let waiting = streams.hosts().filter(|stream| writes.pools[stream.index()].len > 0);
        let takes = |die: &DieId, stream| has_room_for(view, *die, stream) && view.plan.groups.takes(stream, *die);
        let is_open = |way: &PastTheCache| writes.die_order.iter().any(|die| takes(die, way.to));
        let mut ways = waiting.filter_map(|from| Some(PastTheCache { from, to: streams.past(from)? }));
        ways.find(is_open)
    }
}

/// Whether a die takes a program of host data of a stream, whatever reclaim group it is in.
#[inline(always)] // Of nearly every die that is asked.
fn has_room_for(view: &FlashView<'_, Ftl>, die: DieId, writes: StreamId) -> bool {
    view.takes_programs(die) && view.placement.planes_for_host(die, writes, view.plan) != 0
}

#[cfg(test)]
mod tests {
    use super::super::BackEnd;
    use super::*;
    use crate::config::Config;
    use crate::observe::probe::Unwatched;

    /// A block that is converted may have fewer valid pages than a program of the chip's own cells takes: nothing that
    /// comes later would fill it.
    #[test]
    fn what_was_to_go_in_a_partly_filled_unit_does_so_past_the_cache() {
        let mut config = Config::default();
        for word in ["ftl.slc_cache=dynamic", "slc.convert=hot:100"] {
            config.set(word).unwrap();
        }
        let (converted, relocated) =
            (QueueId::of_programs(StreamId::CONVERTED, 0), QueueId::of_programs(StreamId::RELOCATED, 0));
        for forced in [true, false] {
            let mut back = BackEnd::new(config.plan().unwrap(), 1, Unwatched).unwrap();
            let (source, bytes) = (Ppn(0), back.core.plan.layout.page_size.0 as u32);
            let op = PageOp::new(Owner::Relocation(source.into()), Lpn(0), source, (DieId(0), converted), bytes);
            let op = back.flash.ops.insert(op);
            back.flash().queue_program(op);
            if forced {
                back.flash().force_plane(DieId(0), 0, QueueSet::of_programs(StreamId::CONVERTED));
            }
            back.dispatch().send_elsewhere(PlaneId(0), StreamId::CONVERTED, StreamId::RELOCATED);
            assert!(back.flash.waits_in(DieId(0), relocated) && !back.flash.waits_in(DieId(0), converted));
            assert_eq!(back.flash.is_forced(DieId(0), relocated), forced);
        }
    }
}
