//! What every component of the device may use: the plan, the time, the agenda, the counters, the probe.

use nand::{ChannelId, DieId};
use units::{Span, Stream, Time};

use crate::agenda::{Agenda, EventSlot};
use crate::config::{Cut, EndOfLife, Plan};
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Counters;
use crate::persist::state;

/// What every component of the device may use.
pub(crate) struct Core<P: Probe> {
    pub plan: Plan,
    /// Of the drive's random streams.
    pub seed: u64,
    pub now: Time,
    pub agenda: Agenda,
    pub slots: Slots,
    pub life: DriveLife,
    pub cuts: Cuts,
    pub marks: Marks,
    pub counters: Counters,
    pub probe: P,
}

impl<P: Probe> Core<P> {
    pub fn new(plan: Plan, seed: u64, probe: P) -> Core<P> {
        let slots = Slots::new(&plan);
        Core {
            seed,
            now: Time::ZERO,
            agenda: Agenda::new(slots.len()),
            slots,
            life: DriveLife::new(&plan),
            cuts: Cuts::default(),
            marks: Marks::NONE,
            counters: Counters::default(),
            probe,
            plan,
        }
    }

    /// This core, watched by a probe from now on.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> Core<Q> {
        let Core { plan, seed, now, agenda, slots, life, cuts, marks, counters, probe: _ } = self;
        Core { plan, seed, now, agenda, slots, life, cuts, marks, counters, probe }
    }

    /// Something may begin again then, where power is limited.
    pub fn set_energy_event(&mut self, time: Time) {
        if let Some(slot) = self.slots.energy {
            self.agenda.set(slot, time);
        }
    }

    /// The drive has too few good blocks to go on.
    #[cold]
    pub fn wear_out(&mut self) {
        self.life.wear_out(self.now, &self.plan, &self.counters);
        self.marks.set |= Marks::LIFE;
    }

    /// Relocated data has found no room.
    #[cold]
    pub fn strand(&mut self) {
        self.life.stranded = true;
        self.marks.set |= Marks::LIFE;
    }
}

impl<P: Probe> Core<P> {
    /// Cuts are counted from now on.
    pub fn arm_cuts(&mut self) {
        (self.cuts.origin, self.cuts.begun) = (self.now, 0);
        self.next_cut();
    }

    /// When the power is cut next.
    pub fn next_cut(&mut self) {
        let Cuts { origin, begun, done, ready, .. } = self.cuts;
        let (now, draws) = (self.now, Stream::new(self.seed, "power-cuts"));
        // At random the power is cut only when the drive is ready: it would else never be, where cuts are frequent.
        let (mut next, mut operations) = (Time::NEVER, u64::MAX);
        // Later than any time is never.
        let after = |time: Time, span: u64| Time(time.0.saturating_add(span));
        for cut in &self.plan.config.power.cut_at {
            match *cut {
                Cut::After(span) if after(origin, span.0) > now => next = next.min(after(origin, span.0)),
                Cut::Operation(number) if number > begun => operations = operations.min(number),
                Cut::Random(mean) if ready => {
                    let span = (mean.0 as f64 * draws.exponential(done)) as u64;
                    next = next.min(after(now, span.saturating_add(1)));
                }
                _ => {}
            }
        }
        self.cuts.next = next;
        self.cuts.operations = if operations == u64::MAX { 0 } else { operations };
    }

    /// Whether flash has lost data by itself: parts of it have broken, or pages could not be corrected when they were
    /// relocated.
    pub fn has_lost_data(&self) -> bool {
        let counters = &self.counters;
        counters.planes_broken + counters.blocks_broken + counters.pages_lost > 0
    }
}

/// What has an event of its own. Events of the same time are played in this order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    /// An ECC engine: a page is decoded.
    Decoder(ChannelId),
    /// A bus: it is free again, or a page has left a die.
    Bus(ChannelId),
    /// A die: something in its array ends.
    Die(DieId),
    /// What was used is paid for: something may begin again.
    Energy,
    /// The firmware has processed a command.
    Firmware,
    /// Written data has crossed the link.
    WriteData,
    /// The completion of a read reaches the host.
    ReadCompletion,
    /// A completion without data reaches the host.
    WriteCompletion,
    /// A request arrives.
    Arrival,
    /// The host has been idle for so long that data of the SLC cache is folded.
    HostIdle,
    /// The next block is looked at, whether its data is too old.
    Patrol,
    /// The power is cut.
    Cut,
    /// A part breaks.
    Fault,
}

/// The agenda's slots, by rank.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    channels: u32,
    dies: u32,
    /// Only where power is limited.
    pub energy: Option<EventSlot>,
    /// Only where commands take the firmware time.
    pub firmware: Option<EventSlot>,
    pub write_data: EventSlot,
    pub read_completion: EventSlot,
    pub write_completion: EventSlot,
    pub arrival: EventSlot,
    /// Only where data of the SLC cache is folded when the host is idle.
    pub host_idle: Option<EventSlot>,
}

impl Slots {
    fn new(plan: &Plan) -> Slots {
        let (channels, dies) = (plan.layout.channels, plan.layout.dies);
        let (energy, firmware) = (plan.config.energy.limits_mw().is_some(), plan.config.host.t_firmware > Span::ZERO);
        let others = 2 * channels + dies;
        let slot = |rank| EventSlot(others + u32::from(energy) + u32::from(firmware) + rank);
        let (write_data, read_completion, write_completion, arrival) = (slot(0), slot(1), slot(2), slot(3));
        let host_idle = plan.fold_idle().is_some().then_some(slot(4));
        let firmware = firmware.then_some(EventSlot(others + u32::from(energy)));
        let energy = energy.then_some(EventSlot(others));
        Slots { channels, dies, energy, firmware, write_data, read_completion, write_completion, arrival, host_idle }
    }

    /// How many there are.
    fn len(self) -> usize {
        self.host_idle.unwrap_or(self.arrival).0 as usize + 1
    }

    /// A decoder's slot.
    #[inline]
    pub fn decoder(self, channel: ChannelId) -> EventSlot {
        EventSlot(channel.0.into())
    }

    /// A bus's slot.
    #[inline]
    pub fn bus(self, channel: ChannelId) -> EventSlot {
        EventSlot(self.channels + u32::from(channel.0))
    }

    /// A die's slot.
    #[inline]
    pub fn die(self, die: DieId) -> EventSlot {
        EventSlot(2 * self.channels + u32::from(die.0))
    }

    /// Whose slot it is.
    #[inline]
    pub fn resource(self, slot: EventSlot) -> Resource {
        let buses = self.channels;
        match slot.0 {
            place if place < buses => Resource::Decoder(ChannelId(place as u16)),
            place if place < 2 * buses => Resource::Bus(ChannelId((place - buses) as u16)),
            place if place < 2 * buses + self.dies => Resource::Die(DieId((place - 2 * buses) as u16)),
            place if place == self.write_data.0 => Resource::WriteData,
            place if place == self.read_completion.0 => Resource::ReadCompletion,
            place if place == self.write_completion.0 => Resource::WriteCompletion,
            place if place == self.arrival.0 => Resource::Arrival,
            _ if Some(slot) == self.energy => Resource::Energy,
            _ if Some(slot) == self.host_idle => Resource::HostIdle,
            _ => Resource::Firmware,
        }
    }
}

/// What may go on once an event has changed its own object: `settle` asks it, in the order of
/// docs/decisions/0025-one-settle.md. Between events nothing is marked.
pub(crate) struct Marks {
    /// Some of the constants.
    pub set: u8,
    /// The bus that is marked, if one is.
    pub bus: ChannelId,
}

impl Marks {
    pub const NONE: Marks = Marks { set: 0, bus: ChannelId(0) };
    /// Parity that waits in the controller for a plane.
    pub const PARITY: u8 = 1;
    /// Pages of the write buffer that go to whichever die can take them.
    pub const POOLS: u8 = 2;
    /// Written data that waits at the host for room.
    pub const WRITES: u8 = 4;
    /// All that waits for something to end.
    pub const WAITING: u8 = Marks::PARITY | Marks::POOLS | Marks::WRITES;
    /// Dies: those in `Flash::dirty`.
    pub const DIES: u8 = 8;
    /// A bus that is free again, or whose decoders have room for a page again.
    pub const BUS: u8 = 16;
    /// The buses of all dies that have waited for energy.
    pub const ENERGY: u8 = 32;
    /// The end of the drive's life: `stranded` or `becomes_read_only` in [`DriveLife`].
    pub const LIFE: u8 = 64;

    /// A bus is to be granted.
    #[inline]
    pub fn bus(&mut self, channel: ChannelId) {
        (self.set, self.bus) = (self.set | Marks::BUS, channel);
    }
}

/// Whether the drive gets on, and how its life ends.
pub(crate) struct DriveLife {
    /// When the host's progress is looked at next, and how far it had come when it was looked at last.
    pub progress_due: Time,
    pub progress_seen: u64,
    pub failure: Option<RunError>,
    /// Relocated data has found no room in the present event: the drive's life ends with that.
    pub stranded: bool,
    /// When the drive became read-only, and whether that is still to be carried out.
    pub read_only: Option<Time>,
    pub becomes_read_only: bool,
}

/// What a drive does of its own accord.
#[derive(Default)]
pub(crate) struct Alone {
    /// What it had done for the host, and the pages that it had programmed by then.
    done: u64,
    programmed: u64,
}

impl Alone {
    /// The pages that have been programmed, of this many in all, since the drive had done everything for the host; none
    /// while commands are under way.
    pub fn programs(&mut self, counters: &Counters, commands: usize, programmed: u64) -> Option<u64> {
        let done = counters.requests_completed + counters.user_pages_programmed;
        if commands > 0 || self.done != done {
            *self = Alone { done, programmed };
        }
        (commands == 0).then_some(programmed - self.programmed)
    }
}

impl DriveLife {
    pub fn new(plan: &Plan) -> DriveLife {
        DriveLife {
            progress_due: plan.config.host.timeout.map_or(Time::NEVER, |span| Time::ZERO + span),
            progress_seen: 0,
            failure: None,
            stranded: false,
            read_only: None,
            becomes_read_only: false,
        }
    }

    /// The drive has too few good blocks to go on.
    #[cold]
    pub fn wear_out(&mut self, now: Time, plan: &Plan, counters: &Counters) {
        if self.failure.is_some() || self.read_only.is_some() {
            return;
        }
        match DriveLife::worn_out(now, counters) {
            Some(_) if plan.config.wear.end_of_life == EndOfLife::ReadOnly => {
                (self.read_only, self.becomes_read_only) = (Some(now), true);
            }
            worn => {
                self.failure = Some(worn.unwrap_or_else(|| RunError::Broken("relocated data finds no room".into())))
            }
        }
    }

    /// Whether the drive's life has ended: it has failed for want of blocks, or is read-only.
    pub fn has_ended(&self) -> bool {
        self.read_only.is_some() || matches!(self.failure, Some(RunError::EndOfLife { .. }))
    }

    /// The end of life, if blocks have failed, or power cuts have taken the pages that collection would have gained.
    pub fn worn_out(now: Time, counters: &Counters) -> Option<RunError> {
        let (written, retired) = (counters.write_bytes, counters.blocks_retired);
        let broken = counters.blocks_broken + counters.planes_broken;
        let failed = retired + counters.pages_failed + broken + counters.cuts > 0;
        failed.then_some(RunError::EndOfLife { time: now, written, retired })
    }
}

/// When the power is cut.
pub(crate) struct Cuts {
    /// The next time.
    pub next: Time,
    /// Programs and erases until the one that is cut, which counts; 0 where none is.
    pub operations: u64,
    /// When the workload began, and programs and erases since then.
    pub origin: Time,
    pub begun: u64,
    /// Cuts so far, and whether the drive has recovered from the last.
    pub done: u64,
    pub ready: bool,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts { next: Time::NEVER, operations: 0, origin: Time::ZERO, begun: 0, done: 0, ready: true }
    }
}

impl Cuts {
    /// A program or an erase is in the array from now to then.
    #[inline]
    pub fn operation(&mut self, start: Time, end: Time) {
        if self.operations > 0 {
            self.count(start, end);
        }
    }

    #[cold]
    fn count(&mut self, start: Time, end: Time) {
        self.begun += 1;
        if self.begun == self.operations {
            self.next = self.next.min(start + Span(end.since(start).0 / 2));
        }
    }
}

state! {
    Cuts { stored { next, operations, origin, begun, done, ready } }
    [P: Probe] Core<P> { stored { now, counters } parts { agenda, life, cuts } rebuilt { plan, seed, slots, marks, probe } }
    // A device that has failed is not saved.
    DriveLife { stored { progress_due, progress_seen, read_only, becomes_read_only } rebuilt { failure, stranded } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_programmed_alone_counts_from_the_last_thing_that_was_done_for_the_host() {
        let (mut alone, mut counters) = (Alone::default(), Counters::default());
        assert_eq!(alone.programs(&counters, 1, 500), None, "a command is under way");
        assert_eq!(alone.programs(&counters, 0, 700), Some(200));
        assert_eq!(alone.programs(&counters, 0, 9000), Some(8500));
        counters.requests_completed += 1;
        assert_eq!(alone.programs(&counters, 0, 9100), Some(0), "a request has completed meanwhile");
        counters.user_pages_programmed += 1;
        assert_eq!(alone.programs(&counters, 0, 9300), Some(0), "a page of the host's has been programmed meanwhile");
        assert_eq!(alone.programs(&counters, 0, 9301), Some(1));
    }
}
