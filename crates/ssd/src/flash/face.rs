//! What the layers above see of the flash, and what they set in it, besides page operations and parts that break.

use nand::{ChannelId, DieId, Layout, PlaneId};
use units::{Span, Time};

use super::backend::Flash;
use super::queues::QueueId;
use crate::observe::stats::series::IdleTime;
use crate::observe::stats::throttling::Throttling;
use crate::observe::stats::{Steps, channel, die};

impl Flash {
    /// The times of parts that break count from then.
    pub fn faults_count_from(&mut self, begin: Time) {
        if let Some(faults) = &mut self.faults {
            faults.begin(begin);
            self.fault_due = faults.due();
        }
    }

    /// Whether a block of any plane of the flash that makes up a block of a plane has broken.
    pub fn has_broken(&self, plane: PlaneId, block: u32, layout: &Layout) -> bool {
        let mut planes = layout.flash_planes_of(plane);
        self.faults.as_ref().is_some_and(|faults| planes.any(|plane| faults.is_broken(plane, block)))
    }

    /// All dies.
    pub fn die_ids(&self) -> impl Iterator<Item = DieId> + use<> {
        self.dies.ids()
    }

    /// All channels.
    pub fn channel_ids(&self) -> impl Iterator<Item = ChannelId> + use<> {
        self.channels.ids()
    }

    /// How many dies work, and how many there are.
    pub fn working(&self) -> (usize, usize) {
        (self.dies.iter().filter(|die| die.works()).count(), self.dies.len())
    }

    /// Whether a read or a program of the host's waits for nothing but its turn on a die.
    pub fn host_waits(&self, die: DieId) -> bool {
        self.dies[die].host_waits()
    }

    /// Whether anything waits in a queue of programs.
    pub fn waits_in(&self, die: DieId, queue: QueueId) -> bool {
        self.dies[die].waits_in(queue)
    }

    /// Whether what waits in a queue of programs goes in a partly filled unit.
    pub fn is_forced(&self, die: DieId, queue: QueueId) -> bool {
        self.dies[die].flush_partial.has(queue)
    }

    /// A collection begins on a die that nothing else may interrupt.
    pub fn begin_exclusive(&mut self, die: DieId) {
        self.dies[die].exclusive += 1;
    }

    /// Such a collection has ended.
    pub fn end_exclusive(&mut self, die: DieId) {
        self.dies[die].exclusive -= 1;
    }

    /// Whether partly filled units of host data go as they are.
    pub fn flush_units(&mut self, flush: bool) {
        self.flush_units = flush;
    }

    /// Whole units of host data in the dies' queues, and programs of host data.
    pub fn host_units(&self) -> u32 {
        self.host_units
    }

    /// Whether the erase of a block fails, of which such a share does.
    pub fn erase_fails(&mut self, share: f64) -> bool {
        self.failures.erase_fails(share)
    }

    /// The age that the next operation will be given.
    pub fn next_number(&self) -> u64 {
        self.last_seq + 1
    }

    /// Attempts of reads that are under way.
    pub fn attempts_under_way(&self) -> usize {
        self.attempts.len()
    }

    /// Retry steps of the pages read.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Memory of what is remembered of references \[B].
    pub fn reference_bytes(&self) -> usize {
        self.references.bytes()
    }

    /// How power and temperature have kept it from working so far, where they are limited or followed.
    pub fn throttling(&self, now: Time) -> Option<Throttling> {
        self.budget.as_ref().map(|budget| budget.throttling(now))
    }

    /// Where the time of each die has gone.
    pub fn die_times(&self, now: Time) -> impl Iterator<Item = [Span; die::CAUSES.len()]> {
        self.dies.iter().map(move |die| die.meter.at(now))
    }

    /// Where the time of each bus has gone.
    pub fn bus_times(&self, now: Time) -> impl Iterator<Item = [Span; channel::CAUSES.len()]> {
        self.channels.iter().map(move |channel| channel.meter.at(now))
    }

    /// Time that the decoders of each channel were busy, summed over them.
    pub fn decoder_times(&self, now: Time) -> impl Iterator<Item = Span> {
        self.channels.iter().map(move |channel| channel.ecc.busy_until(now))
    }

    /// Time that dies and channels had nothing to do, summed over them.
    pub fn idle_time(&self, now: Time) -> IdleTime {
        IdleTime {
            dies: self.dies.iter().map(|of| of.meter.in_state(die::IDLE, now).0).sum(),
            channels: self.channels.iter().map(|of| of.meter.in_state(channel::IDLE, now).0).sum(),
            counts: (self.dies.len(), self.channels.len()),
        }
    }
}
