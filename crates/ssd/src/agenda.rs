//! What happens next: one slot for each resource, in a tournament tree.
//!
//! A resource has at most one pending event, so rescheduling overwrites its slot: there are no stale
//! events, and the agenda's size is the number of resources, whatever the load.
//!
//! Order of events: by time; at the same time by slot number, which the device assigns by rank (ECC
//! engines, buses, dies, energy, firmware, host data, completions, arrivals, idle host). The order is a function of the
//! present state only, never of the history of insertions: see docs/decisions/0002-order-of-events.md.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::persist::{Reader, State, Stored, Writer, stored};

/// Slots that change with nearly every event are kept beside the tree: a store is cheaper than a replay.
const DIRECT: usize = 4;

/// A resource's place in the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventSlot(pub u32);

/// A tournament of four over slots. A key packs (time, slot), so that the winner is the next event.
pub(crate) struct Agenda {
    /// An implicit tree: group 0 is the final, the groups below group `g` are `4g + 1` to `4g + 4`, and the
    /// last ones hold the slots' keys.
    groups: Vec<[u64; 4]>,
    first_leaf: usize,
    direct: [u64; DIRECT],
    /// The first of these.
    first_direct: u64,
    /// The event that happens next, at the present time, if [`Agenda::set_from`] has set one.
    at_once: u64,
    /// Slots of the tree; further ones are direct.
    in_tree: usize,
    slot_bits: u32,
    /// The latest time that fits beside the slot number.
    horizon: Time,
}

impl Agenda {
    /// An agenda of `slots` slots, of which the last four are direct.
    pub fn new(slots: usize) -> Agenda {
        let in_tree = slots - DIRECT;
        let (mut first_leaf, mut leaves) = (0, 1);
        while leaves * 4 < in_tree {
            first_leaf = 4 * first_leaf + 1;
            leaves *= 4;
        }
        let slot_bits = slots.next_power_of_two().trailing_zeros();
        Agenda {
            groups: vec![[u64::MAX; 4]; first_leaf + leaves],
            first_leaf,
            direct: [u64::MAX; DIRECT],
            first_direct: u64::MAX,
            at_once: u64::MAX,
            in_tree,
            slot_bits,
            horizon: Time((u64::MAX >> slot_bits) - 1),
        }
    }

    /// The latest time that fits beside the slot number: 4.5 years for 128 slots, 52 days for 4096.
    pub fn horizon(&self) -> Time {
        self.horizon
    }

    /// Sets the slot's next event; none at [`Time::NEVER`], and beyond the horizon it counts as at the horizon.
    #[inline]
    pub fn set(&mut self, slot: EventSlot, time: Time) {
        let key = match time {
            Time::NEVER => u64::MAX,
            time => time.min(self.horizon).0 << self.slot_bits | u64::from(slot.0),
        };
        let slot = slot.0 as usize;
        if slot >= self.in_tree {
            self.direct[slot - self.in_tree] = key;
            self.look_at_direct();
        } else {
            self.replay(slot, key);
        }
    }

    /// Sets the next event of a slot. If it happens at `now` it has to be the very next one, before those of all other
    /// slots: then it is kept beside the tree, until [`Agenda::set_next`].
    #[inline]
    pub fn set_from(&mut self, now: Time, slot: EventSlot, time: Time) {
        if time == now && self.at_once == u64::MAX {
            self.at_once = time.0 << self.slot_bits | u64::from(slot.0);
        } else {
            self.set(slot, time);
        }
    }

    /// The event of a slot happens that [`Agenda::set_from`] has set: sets the one after it.
    #[inline]
    pub fn set_next(&mut self, slot: EventSlot, time: Time) {
        self.at_once = u64::MAX;
        self.set(slot, time);
    }

    #[inline]
    fn look_at_direct(&mut self) {
        let [a, b, c, d] = self.direct;
        self.first_direct = a.min(b).min(c.min(d));
    }

    fn replay(&mut self, slot: usize, mut key: u64) {
        let (mut group, mut leaf) = (self.first_leaf + slot / 4, slot % 4);
        loop {
            let keys = &mut self.groups[group];
            if keys[leaf] == key {
                return; // Nobody further up sees a difference.
            }
            keys[leaf] = key;
            if group == 0 {
                return;
            }
            key = keys[0].min(keys[1]).min(keys[2].min(keys[3]));
            (group, leaf) = ((group - 1) / 4, (group - 1) % 4);
        }
    }

    /// Nothing is going to happen.
    pub fn clear(&mut self) {
        self.groups.iter_mut().for_each(|group| *group = [u64::MAX; 4]);
        self.direct = [u64::MAX; DIRECT];
        (self.first_direct, self.at_once) = (u64::MAX, u64::MAX);
    }

    /// The next event, if any: its time and slot.
    #[inline]
    pub fn peek(&self) -> Option<(Time, EventSlot)> {
        let [a, b, c, d] = self.groups[0];
        let key = a.min(b).min(c.min(d)).min(self.first_direct).min(self.at_once);
        if key == u64::MAX {
            return None;
        }
        Some((Time(key >> self.slot_bits), EventSlot((key & ((1 << self.slot_bits) - 1)) as u32)))
    }
}

/// A server that serves in order of arrival, one after the other, at a known cost: nothing needs
/// scheduling, since a customer's end is known when it arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct FifoServer {
    free_at: Time,
    /// Service given since the start, and service to be given.
    busy: Span,
    /// Times ahead at which the server will have nothing to do: it waits for customers that are known already.
    gaps: VecDeque<(Time, Time)>,
}

impl FifoServer {
    /// Serves a customer that arrives at `now`; returns when it is done.
    #[inline]
    pub fn serve(&mut self, now: Time, service: Span) -> Time {
        self.free_at = self.free_at.max(now) + service;
        self.busy += service;
        self.free_at
    }

    /// Serves a customer that is known at `now` and arrives at `ready`; returns when it is done.
    #[inline]
    pub fn serve_later(&mut self, now: Time, ready: Time, service: Span) -> Time {
        while self.gaps.front().is_some_and(|(_, end)| *end <= now) {
            self.gaps.pop_front();
        }
        if ready > self.free_at.max(now) {
            self.gaps.push_back((self.free_at.max(now), ready));
        }
        self.serve(ready, service)
    }

    /// Whoever is served or waits is dropped.
    pub fn stop(&mut self, now: Time) {
        *self = FifoServer { free_at: now, busy: self.busy_until(now), gaps: VecDeque::new() };
    }

    /// Service given until `now`, not counting what still lies ahead.
    pub fn busy_until(&self, now: Time) -> Span {
        let ahead = self.free_at.0.saturating_sub(now.0);
        let idle: u64 = self.gaps.iter().map(|(from, to)| to.0.max(now.0) - from.0.max(now.0)).sum();
        Span(self.busy.0 - (ahead - idle))
    }
}

impl State for Agenda {
    fn save(&self, to: &mut Writer) {
        let Agenda { groups, direct, first_direct: _, at_once, first_leaf: _, in_tree: _, slot_bits: _, horizon: _ } =
            self;
        debug_assert_eq!(*at_once, u64::MAX, "Invariant: what happens at once has happened before anything is saved");
        groups.write(to);
        direct.write(to);
    }
    fn load(&mut self, from: &mut Reader) -> std::io::Result<()> {
        (self.groups, self.direct) = Stored::read(from)?;
        self.look_at_direct();
        Ok(())
    }
}

stored! {
    FifoServer { free_at, busy, gaps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_by_slot() {
        let mut agenda = Agenda::new(6);
        assert_eq!(agenda.peek(), None);
        agenda.set(EventSlot(5), Time(10));
        agenda.set(EventSlot(1), Time(10));
        agenda.set(EventSlot(0), Time(9));
        assert_eq!(agenda.peek(), Some((Time(9), EventSlot(0))));
        agenda.set(EventSlot(0), Time::NEVER);
        assert_eq!(agenda.peek(), Some((Time(10), EventSlot(1))));
        agenda.set(EventSlot(1), Time(20));
        assert_eq!(agenda.peek(), Some((Time(10), EventSlot(5))));
        agenda.set(EventSlot(5), Time::NEVER);
        agenda.set(EventSlot(1), Time::NEVER);
        assert_eq!(agenda.peek(), None);
    }

    #[test]
    fn what_happens_at_once_comes_first_and_makes_way() {
        let mut agenda = Agenda::new(6);
        agenda.set(EventSlot(1), Time(10));
        agenda.set_from(Time(10), EventSlot(0), Time(10));
        assert_eq!(agenda.peek(), Some((Time(10), EventSlot(0))));
        agenda.set_next(EventSlot(0), Time(11));
        assert_eq!(agenda.peek(), Some((Time(10), EventSlot(1))));
        agenda.set(EventSlot(1), Time::NEVER);
        assert_eq!(agenda.peek(), Some((Time(11), EventSlot(0))));
    }

    #[test]
    fn a_tournament_agrees_with_a_scan_over_random_settings() {
        let random = units::Stream::new(1, "agenda");
        let mut agenda = Agenda::new(100);
        let mut plain = vec![Time::NEVER; 100];
        for i in 0..20_000u64 {
            let slot = random.below(2 * i, 100) as u32;
            if random.below(2 * i + 1, 4) == 0 {
                agenda.set(EventSlot(slot), Time::NEVER);
                plain[slot as usize] = Time::NEVER;
            } else {
                let time = Time(random.bits(2 * i + 1) >> 40);
                agenda.set(EventSlot(slot), time);
                plain[slot as usize] = time;
            }
            let expected =
                plain.iter().zip(0..).min().map(|(t, s)| (*t, EventSlot(s))).filter(|(t, _)| *t != Time::NEVER);
            assert_eq!(agenda.peek(), expected);
        }
    }

    #[test]
    #[ignore = "a micro-benchmark: make bench"]
    fn bench_agenda() {
        let random = units::Stream::new(1, "agenda");
        let mut agenda = Agenda::new(84);
        (0..80).for_each(|slot| agenda.set(EventSlot(slot), Time(random.below(slot.into(), 100_000))));
        crate::bench::report("agenda: one hold operation, 80 slots", 5_000_000, |i| {
            let (time, slot) = agenda.peek().unwrap();
            agenda.set(slot, time + Span(1 + random.below(i, 100_000)));
        });
    }

    #[test]
    fn a_fifo_server_serves_back_to_back() {
        let mut server = FifoServer::default();
        assert_eq!(server.serve(Time(10), Span(5)), Time(15));
        assert_eq!(server.serve(Time(11), Span(5)), Time(20));
        assert_eq!(server.serve(Time(30), Span(5)), Time(35));
        assert_eq!(server.busy_until(Time(32)), Span(12));
        assert_eq!(server.serve_later(Time(32), Time(40), Span(5)), Time(45));
        assert_eq!(server.serve_later(Time(33), Time(50), Span(5)), Time(55));
        let busy = [34, 35, 40, 42, 45, 47, 50, 53, 55, 60].map(|now| server.busy_until(Time(now)).0);
        assert_eq!(busy, [14, 15, 15, 17, 20, 20, 20, 23, 25, 25]);
    }
}
