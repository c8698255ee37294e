//! Written data on its way into the write buffer, and out of it.

use std::collections::VecDeque;

use nand::DieId;
use units::{Lpn, PerId, Time};

use crate::arena::{CommandId, SlotId};
use crate::buffer::Buffer;
use crate::config::{BufferMode, Plan};
use crate::flash::op::Queue;
use crate::persist::{state, stored};
use crate::streams::StreamId;

/// Parts of a write that are crossing the link.
pub(crate) struct WriteArrival {
    pub time: Time,
    pub command: CommandId,
    pub first_part: u32,
    pub count: u32,
    /// Slots that are reserved beyond these parts, for the rest of their units.
    pub more: u32,
}

/// Written data on its way into the buffer, and out of it.
pub(crate) struct Writes {
    pub buffer: Buffer,
    pub arrivals: VecDeque<WriteArrival>,
    /// Commands whose data waits for room in the buffer, first come first served.
    pub queue: VecDeque<CommandId>,
    /// Slots whose pages have been located in the map: what they lack is to be read.
    pub located: Vec<SlotId>,
    /// Pages that the write queue waits for.
    pub pages_wanted: u32,
    /// Pages to be programmed wherever a die is free (dynamic placement), by stream.
    pub pools: Vec<Queue>,
    /// Dies in page allocation order, and those of them that take pages from the pool.
    pub die_order: Vec<DieId>,
    pub pool_cursor: usize,
    pub takers: Takers,
    /// Partly filled program units are programmed, padded.
    pub draining: bool,
    /// Flushes that have not completed: as long as there are any, partly filled units go as well.
    pub flushing: u32,
    /// What brings pages of the buffer to flash without further ado: reads that fill them and fetch their map entries,
    /// whole program units, programs.
    pub progress: u32,
}

impl Writes {
    /// Whether partly filled units of host data go as they are.
    pub fn draining(&self) -> bool {
        self.draining || self.flushing > 0
    }

    /// A page is in a slot of the buffer: if it is one of a zone, it waits for the rest of its program.
    pub fn gather(&mut self, lpn: Lpn, slot: SlotId, plan: &Plan) {
        if plan.zones.as_ref().is_some_and(|plan| plan.sequential(lpn).is_some()) {
            self.buffer.gather(slot);
        }
    }

    /// Whether pages wait for any die, or data for room.
    #[inline]
    pub fn wait(&self) -> bool {
        !self.queue.is_empty() || self.pools.iter().any(|pool| pool.len > 0)
    }

    pub fn new(plan: &Plan) -> Writes {
        let (layout, config) = (&plan.layout, &plan.config);
        let planes = config.ftl.page_order.planes(layout);
        let firsts = planes.into_iter().filter(|plane| plane % layout.planes_per_die == 0);
        let die_order: Vec<DieId> = firsts.map(|plane| DieId((plane / layout.planes_per_die) as u16)).collect();
        let takers = Takers::new(&die_order, plan.streams.hosts().count());
        Writes {
            buffer: Buffer::new(plan),
            arrivals: VecDeque::new(),
            queue: VecDeque::new(),
            located: Vec::new(),
            pages_wanted: 0,
            pools: plan.streams.hosts().map(|_| Queue::EMPTY).collect(),
            die_order,
            pool_cursor: 0,
            takers,
            draining: config.buffer.mode == BufferMode::WriteThrough,
            flushing: 0,
            progress: 0,
        }
    }
}

/// Which dies may take pages of the pools, by their place in page allocation order: all but those that were found to
/// take none, and to which nothing has happened since.
pub(crate) struct Takers {
    /// Of each die its place.
    places: PerId<DieId, u32>,
    /// Of each stream the places, as a set.
    streams: Vec<Vec<u64>>,
}

impl Takers {
    fn new(die_order: &[DieId], streams: usize) -> Takers {
        let mut places: PerId<DieId, u32> = die_order.iter().map(|_| 0).collect();
        (0..).zip(die_order).for_each(|(place, die)| places[*die] = place);
        let mut all = vec![u64::MAX; die_order.len().div_ceil(64)];
        if let (Some(last), rest @ 1..) = (all.last_mut(), die_order.len() % 64) {
            *last = (1 << rest) - 1;
        }
        Takers { places, streams: vec![all; streams] }
    }

    /// Something has happened to a die.
    #[inline]
    pub fn stir(&mut self, die: DieId) {
        let place = self.places[die] as usize;
        self.streams.iter_mut().for_each(|set| set[place / 64] |= 1 << (place % 64));
    }

    /// The die at a place was found to take no pages of a stream.
    pub fn refuses(&mut self, stream: StreamId, place: usize) {
        self.streams[stream.index()][place / 64] &= !(1 << (place % 64));
    }

    /// Whether the die at a place may take pages of a stream.
    pub fn may(&self, stream: StreamId, place: usize) -> bool {
        self.streams[stream.index()][place / 64] >> (place % 64) & 1 != 0
    }

    /// The place of the next die, from a place on and round, that may take pages of a stream.
    #[inline]
    pub fn next(&self, stream: StreamId, from: usize) -> Option<usize> {
        let set = &self.streams[stream.index()];
        let first = set[from / 64] & (u64::MAX << (from % 64));
        if first != 0 {
            return Some(from / 64 * 64 + first.trailing_zeros() as usize);
        }
        let (before, behind) = (0..=from / 64, from / 64 + 1..set.len());
        let word = behind.chain(before).find(|word| set[*word] != 0)?;
        Some(64 * word + set[word].trailing_zeros() as usize)
    }
}

state! {
    Writes {
        stored { arrivals, queue, located, pages_wanted, pools, pool_cursor, draining, flushing, progress }
        parts { buffer }
        // Which dies take them is found out again.
        rebuilt { die_order, takers }
    }
}

stored! {
    WriteArrival { time, command, first_part, count, more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_die_is_found_from_anywhere_as_by_asking_each() {
        let count = 150usize;
        let order: Vec<DieId> = (0..count).map(|place| DieId((place * 7 % count) as u16)).collect();
        let (mut takers, stream) = (Takers::new(&order, 2), StreamId::new(1));
        let mut may = vec![true; count];
        let draws = units::Stream::new(1, "takers");
        for step in 0..20_000 {
            let place = draws.below(3 * step, count as u64) as usize;
            may[place] = draws.below(3 * step + 1, 12) == 0;
            if may[place] {
                takers.stir(order[place])
            } else {
                takers.refuses(stream, place)
            }
            let from = draws.below(3 * step + 2, count as u64) as usize;
            assert_eq!(takers.next(stream, from), (from..count).chain(0..from).find(|place| may[*place]));
        }
        assert!((0..count).all(|place| takers.may(StreamId::new(0), place)), "streams are apart");
    }
}
