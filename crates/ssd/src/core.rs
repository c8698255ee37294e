//! What every component of the device may use: the plan, the time, the agenda, the counters, the probe.

use nand::{ChannelId, DieId};
use units::{Span, Time};

use crate::agenda::{Agenda, EventSlot};
use crate::config::{EndOfLife, Plan};
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Counters;
use crate::persist::state;

/// What every component of the device may use.
pub(crate) struct Core<P: Probe> {
    pub plan: Plan,
    pub now: Time,
    pub agenda: Agenda,
    pub slots: Slots,
    pub life: DriveLife,
    pub counters: Counters,
    pub probe: P,
}

impl<P: Probe> Core<P> {
    pub fn new(plan: Plan, probe: P) -> Core<P> {
        let firmware = plan.config.host.t_firmware > Span::ZERO;
        let slots = Slots::new(plan.layout.channels, plan.layout.dies, firmware, plan.fold_idle().is_some());
        Core {
            now: Time::ZERO,
            agenda: Agenda::new(slots.len()),
            slots,
            life: DriveLife::new(&plan),
            counters: Counters::default(),
            probe,
            plan,
        }
    }

    /// The same, watched by a probe from now on.
    pub fn watched_by<Q: Probe>(self, probe: Q) -> Core<Q> {
        let Core { plan, now, agenda, slots, life, counters, probe: _ } = self;
        Core { plan, now, agenda, slots, life, counters, probe }
    }

    /// The drive has too few good blocks to go on.
    #[cold]
    pub fn wear_out(&mut self) {
        self.life.wear_out(self.now, &self.plan, &self.counters);
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
    /// A part breaks.
    Fault,
}

/// The agenda's slots, by rank.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    channels: u32,
    dies: u32,
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
    fn new(channels: u32, dies: u32, firmware: bool, host_idle: bool) -> Slots {
        let others = 2 * channels + dies;
        let slot = |rank| EventSlot(others + u32::from(firmware) + rank);
        let (write_data, read_completion, write_completion, arrival) = (slot(0), slot(1), slot(2), slot(3));
        let host_idle = host_idle.then_some(slot(4));
        let firmware = firmware.then_some(EventSlot(others));
        Slots { channels, dies, firmware, write_data, read_completion, write_completion, arrival, host_idle }
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
            _ if slot == self.write_data => Resource::WriteData,
            _ if slot == self.read_completion => Resource::ReadCompletion,
            _ if slot == self.write_completion => Resource::WriteCompletion,
            _ if slot == self.arrival => Resource::Arrival,
            _ if Some(slot) == self.host_idle => Resource::HostIdle,
            _ => Resource::Firmware,
        }
    }
}

/// Whether the drive gets on, and how its life ends.
pub(crate) struct DriveLife {
    /// When the host's progress is looked at next, and how far it had come when it was looked at last.
    pub progress_due: Time,
    pub progress_seen: u64,
    pub failure: Option<RunError>,
    /// When the drive became read-only, and whether that is still to be carried out.
    pub read_only: Option<Time>,
    pub becomes_read_only: bool,
}

impl DriveLife {
    pub fn new(plan: &Plan) -> DriveLife {
        DriveLife {
            progress_due: plan.config.host.timeout.map_or(Time::NEVER, |span| Time::ZERO + span),
            progress_seen: 0,
            failure: None,
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

    /// The end of life, if blocks have failed.
    pub fn worn_out(now: Time, counters: &Counters) -> Option<RunError> {
        let (written, retired) = (counters.write_bytes, counters.blocks_retired);
        let failed = retired > 0 || counters.pages_failed > 0;
        failed.then_some(RunError::EndOfLife { time: now, written, retired })
    }
}

state! {
    [P: Probe] Core<P> { stored { now, counters } parts { agenda, life } rebuilt { plan, slots, probe } }
    // A device that has failed is not saved.
    DriveLife { stored { progress_due, progress_seen, read_only, becomes_read_only } rebuilt { failure } }
}
