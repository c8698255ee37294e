//! What every component of the device may use: the plan, the time, the agenda, the counters, the probe.

use nand::{ChannelId, DieId};
use units::{Id as _, Time};

use crate::agenda::Agenda;
use crate::config::{EndOfLife, Plan};
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Counters;

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
        let slots = Slots::new(plan.layout.channels as usize, plan.layout.dies as usize);
        Core {
            now: Time::ZERO,
            agenda: Agenda::new(slots.arrival + 1),
            slots,
            life: DriveLife::new(&plan),
            counters: Counters::default(),
            probe,
            plan,
        }
    }

    /// Sets the next event of a slot, or leaves it without one.
    #[inline]
    pub fn schedule(&mut self, slot: usize, time: Option<Time>) {
        match time {
            Some(time) => self.agenda.set(slot, time),
            None => self.agenda.clear(slot),
        }
    }

    /// The drive has too few good blocks to go on.
    #[cold]
    pub fn wear_out(&mut self) {
        self.life.wear_out(self.now, &self.plan, &self.counters);
    }
}

/// The agenda's slots, by rank.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub bus: usize,
    pub die: usize,
    pub write_arrivals: usize,
    pub read_completions: usize,
    pub write_completions: usize,
    pub arrival: usize,
}

impl Slots {
    /// A decoder's slot.
    #[inline]
    pub fn of_decoder(self, channel: ChannelId) -> usize {
        channel.index()
    }

    /// A bus's slot.
    #[inline]
    pub fn of_bus(self, channel: ChannelId) -> usize {
        self.bus + channel.index()
    }

    /// A die's slot.
    #[inline]
    pub fn of_die(self, die: DieId) -> usize {
        self.die + die.index()
    }

    /// The decoders' slots are those of the channels, from 0 on.
    fn new(channels: usize, dies: usize) -> Slots {
        let write_arrivals = 2 * channels + dies;
        let last = write_arrivals + 3;
        let (read_completions, write_completions) = (write_arrivals + 1, write_arrivals + 2);
        Slots { bus: channels, die: 2 * channels, write_arrivals, read_completions, write_completions, arrival: last }
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
