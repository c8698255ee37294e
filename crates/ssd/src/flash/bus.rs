//! The channel buses: commands, data out of the dies, data into the dies.
//!
//! Arbitration: commands first, since they are short and set a die to work, round robin over the dies;
//! then the oldest page that waits to leave a die against the oldest program, by the scheduling order. A
//! page leaves only when the ECC engine has room for it; without room it waits, and commands and programs
//! pass.

use units::Time;

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
    Command(usize),
    /// The data of a die's program.
    Program(usize),
}

impl<P: Probe> FlashAt<'_, P> {
    #[inline]
    pub(super) fn schedule_bus(&mut self, index: usize, event: Option<Time>) {
        if self.flash.channels[index].event != event {
            self.flash.channels[index].event = event;
            self.core.schedule(self.core.slots.bus + index, event);
        }
    }

    /// A page has left a die, or the bus is free again.
    pub fn bus_event(&mut self, channel: usize) {
        if let Some(op) = self.flash.channels[channel].transfer_out.take() {
            let (die, plane) = (self.flash.ops[op].die, self.flash.ops[op].plane);
            self.enter_ecc(channel, op);
            self.register_freed(die, plane);
            self.reschedule(usize::from(die.0));
        }
    }

    /// Gives the bus to whoever comes next, for as long as it is free and somebody can use it. Pages that leave a die take it
    /// here; what a die starts is the caller's to carry out.
    pub fn next_grant(&mut self, index: usize) -> Option<Grant> {
        loop {
            let ecc_buffer = self.core.plan.config.ecc.buffer;
            let channel = &mut self.flash.channels[index];
            let waiting = !channel.out.is_empty();
            let out_ready = waiting && channel.ecc.reserved < ecc_buffer;
            let wanted = channel.wants_command | channel.wants_data != 0 || out_ready;
            // A page that arrives at this very moment has the bus until its event is played.
            if channel.free_at > self.core.now || channel.transfer_out.is_some() {
                // An event is needed for a page under way, for whoever waits, and to note an ECC wait.
                let event = (channel.transfer_out.is_some() || wanted || waiting).then_some(channel.free_at);
                self.schedule_bus(index, event);
                return None;
            }
            if !wanted {
                self.bus_enters(index, if waiting { channel::ECC_WAIT } else { channel::IDLE }, None);
                self.schedule_bus(index, None);
                return None;
            }
            let grant = self.grant_die(index, out_ready);
            if grant.is_some() {
                return grant;
            }
            self.grant_page(index);
        }
    }

    /// The die that has the bus next, where that is not a page on its way out.
    #[inline]
    pub(super) fn grant_die(&mut self, index: usize, out_ready: bool) -> Option<Grant> {
        let channel = &mut self.flash.channels[index];
        if channel.wants_command != 0 {
            let die = channel.turn(channel.wants_command);
            channel.last_die = die;
            return Some(Grant::Command((channel.first_die + die) as usize));
        }
        if channel.wants_data == 0 {
            return None;
        }
        let place = channel.turn(channel.wants_data);
        let die = (channel.first_die + place) as usize;
        let channel = &self.flash.channels[index];
        let goes_first = !out_ready || {
            let rank = |op: OpId| self.flash.ranks.of[self.flash.ops[op].class as usize];
            let head = channel.out.head.map(|op| (rank(op), channel.out.head_seq));
            self.view().program_priority(die) < head && head.is_some()
        };
        goes_first.then(|| {
            self.flash.channels[index].last_die = place;
            Grant::Program(die)
        })
    }

    /// The oldest page that waits to leave a die has the bus.
    pub(super) fn grant_page(&mut self, index: usize) {
        let channel = &mut self.flash.channels[index];
        let op = channel.out.pop(&mut self.flash.ops).expect("Invariant: a page waits to leave");
        let bytes = self.flash.ops[op].bus_bytes;
        let end = self.core.now + self.core.plan.t_dma(bytes);
        channel.transfer_out = Some(op);
        channel.free_at = end;
        let corrected = self.flash.ops[op].sense.fate == Fate::Corrected;
        let cause = if corrected { channel::READ_DATA } else { channel::UNCORRECTABLE };
        channel.ecc.reserved += 1;
        self.bus_enters(index, cause, Some((end, channel::IDLE)));
        self.core.counters.uncorrectable_transfers += u64::from(!corrected);
        self.core.counters.bytes_read += u64::from(bytes);
        if P::EXPLAINS {
            let (part, attempt) = (self.flash.ops[op].seq, self.flash.ops[op].sense.attempt);
            self.core.probe.explain(self.core.now, Event::Leaves { part, attempt, end, channel: index as u16 });
        }
    }

    /// Occupies the bus from now on; returns the end.
    #[inline]
    pub fn occupy(&mut self, channel: usize, span: units::Span, cause: usize) -> Time {
        let end = self.core.now + span;
        self.flash.channels[channel].free_at = end;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        end
    }

    /// A bus's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn bus_enters(&mut self, channel: usize, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.flash.channels[channel].meter;
        match until {
            None => meter.enter(self.core.now, cause),
            Some((end, next)) => meter.enter_until(self.core.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Bus { channel: channel as u16, cause, until });
        }
    }

    /// A die says what it would use the bus for.
    #[inline]
    pub fn request_bus(&mut self, die: usize, choice: BusRequest) {
        let (channel, bit) = (self.flash.dies[die].channel, self.flash.dies[die].bit);
        let bus = &mut self.flash.channels[usize::from(channel)];
        bus.wants_command &= !bit;
        bus.wants_data &= !bit;
        match choice {
            BusRequest::Nothing => {}
            BusRequest::Command => bus.wants_command |= bit,
            BusRequest::Data => bus.wants_data |= bit,
        }
    }
}
