//! The channel buses: commands, data out of the dies, data into the dies.
//!
//! Arbitration: commands first, since they are short and set a die to work, round robin over the dies;
//! then the oldest page that waits to leave a die against the oldest program, by the scheduling order. A
//! page leaves only when the ECC engine has room for it; without room it waits, and commands and programs
//! pass.

use nand::{ChannelId, DieId};
use units::{Id as _, Time};

use super::layer::FlashAt;
use super::op::Fate;
use super::state::BusRequest;
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;

/// What the bus is given to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant {
    /// A die's command: a read or an erase.
    Command(DieId),
    /// The data of a die's program.
    Program(DieId),
}

impl<P: Probe> FlashAt<'_, P> {
    #[inline]
    pub(super) fn schedule_bus(&mut self, channel: ChannelId, event: Option<Time>) {
        if self.flash.channels[channel].event != event {
            self.flash.channels[channel].event = event;
            self.core.schedule(self.core.slots.of_bus(channel), event);
        }
    }

    /// A page has left a die, or the bus is free again.
    pub fn bus_event(&mut self, channel: ChannelId) {
        if let Some(op) = self.flash.channels[channel].transfer_out.take() {
            let (die, plane) = (self.flash.ops[op].die, self.flash.ops[op].plane);
            self.enter_ecc(channel, op);
            self.register_freed(die, plane);
            self.reschedule(die);
        }
    }

    /// Gives the bus to whoever comes next, for as long as it is free and somebody can use it. Pages that leave a die take it
    /// here; what a die starts is the caller's to carry out.
    pub fn next_grant(&mut self, channel: ChannelId) -> Option<Grant> {
        loop {
            let ecc_buffer = self.core.plan.config.ecc.buffer;
            let bus = &mut self.flash.channels[channel];
            let waiting = !bus.out.is_empty();
            let out_ready = waiting && bus.ecc.reserved < ecc_buffer;
            let wanted = bus.wants_command | bus.wants_data != 0 || out_ready;
            // A page that arrives at this very moment has the bus until its event is played.
            if bus.free_at > self.core.now || bus.transfer_out.is_some() {
                // An event is needed for a page under way, for whoever waits, and to note an ECC wait.
                let event = (bus.transfer_out.is_some() || wanted || waiting).then_some(bus.free_at);
                self.schedule_bus(channel, event);
                return None;
            }
            if !wanted {
                self.bus_enters(channel, if waiting { channel::ECC_WAIT } else { channel::IDLE }, None);
                self.schedule_bus(channel, None);
                return None;
            }
            let grant = self.grant_die(channel, out_ready);
            if grant.is_some() {
                return grant;
            }
            self.grant_page(channel);
        }
    }

    /// The die that has the bus next, where that is not a page on its way out.
    #[inline]
    pub(super) fn grant_die(&mut self, channel: ChannelId, out_ready: bool) -> Option<Grant> {
        let bus = &mut self.flash.channels[channel];
        if bus.wants_command != 0 {
            let place = bus.turn(bus.wants_command);
            bus.last_die = place;
            return Some(Grant::Command(DieId::new((bus.first_die + place) as usize)));
        }
        if bus.wants_data == 0 {
            return None;
        }
        let place = bus.turn(bus.wants_data);
        let die = DieId::new((bus.first_die + place) as usize);
        let bus = &self.flash.channels[channel];
        let goes_first = !out_ready || {
            let rank = |op: OpId| self.flash.ranks.of[self.flash.ops[op].class as usize];
            let head = bus.out.head.map(|op| (rank(op), bus.out.head_seq));
            self.view().program_priority(die) < head && head.is_some()
        };
        goes_first.then(|| {
            self.flash.channels[channel].last_die = place;
            Grant::Program(die)
        })
    }

    /// The oldest page that waits to leave a die has the bus.
    pub(super) fn grant_page(&mut self, channel: ChannelId) {
        let bus = &mut self.flash.channels[channel];
        let op = bus.out.pop(&mut self.flash.ops).expect("Invariant: a page waits to leave");
        let bytes = self.flash.ops[op].bus_bytes;
        let end = self.core.now + self.core.plan.t_dma(bytes);
        bus.transfer_out = Some(op);
        bus.free_at = end;
        let corrected = self.flash.ops[op].sense.fate == Fate::Corrected;
        let cause = if corrected { channel::READ_DATA } else { channel::UNCORRECTABLE };
        bus.ecc.reserved += 1;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        self.core.counters.uncorrectable_transfers += u64::from(!corrected);
        self.core.counters.bytes_read += u64::from(bytes);
        if P::EXPLAINS {
            let (part, attempt) = (self.flash.ops[op].seq, self.flash.ops[op].sense.attempt);
            self.core.probe.explain(self.core.now, Event::Leaves { part, attempt, end, channel });
        }
    }

    /// Occupies the bus from now on; returns the end.
    #[inline]
    pub fn occupy(&mut self, channel: ChannelId, span: units::Span, cause: usize) -> Time {
        let end = self.core.now + span;
        self.flash.channels[channel].free_at = end;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        end
    }

    /// A bus's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn bus_enters(&mut self, channel: ChannelId, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.flash.channels[channel].meter;
        match until {
            None => meter.enter(self.core.now, cause),
            Some((end, next)) => meter.enter_until(self.core.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Bus { channel, cause, until });
        }
    }

    /// A die says what it would use the bus for.
    #[inline]
    pub fn request_bus(&mut self, die: DieId, choice: BusRequest) {
        let (channel, bit) = (self.flash.dies[die].channel, self.flash.dies[die].bit);
        let bus = &mut self.flash.channels[channel];
        bus.wants_command &= !bit;
        bus.wants_data &= !bit;
        match choice {
            BusRequest::Nothing => {}
            BusRequest::Command => bus.wants_command |= bit,
            BusRequest::Data => bus.wants_data |= bit,
        }
    }
}
