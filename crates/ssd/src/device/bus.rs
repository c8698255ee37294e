//! The channel buses: commands, data out of the dies, data into the dies.
//!
//! Arbitration: commands first, since they are short and set a die to work, round robin over the dies;
//! then the oldest page that waits to leave a die against the oldest program, by the scheduling order. A
//! page leaves only when the ECC engine has room for it; without room it waits, and commands and programs
//! pass.

use units::Time;

use super::Device;
use super::die::BusRequest;
use super::ecc::EccState;
use crate::arena::OpId;
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;
use crate::op::{Fate, Queue};

pub(super) struct Channel {
    pub(super) free_at: Time,
    /// The page that is leaving a die.
    transfer_out: Option<OpId>,
    /// Dies of the channel that want to start a command, and that want data for a program.
    wants_command: u64,
    wants_data: u64,
    /// The first die of the channel, and the place of the one that was granted last.
    first_die: u32,
    last_die: u32,
    /// Sensed pages that wait to leave, oldest first.
    pub out: Queue,
    pub ecc: EccState,
    /// The bus's event in the agenda.
    event: Option<Time>,
    pub meter: Meter<{ channel::CAUSES.len() }>,
}

impl Channel {
    pub fn new(first_die: u32) -> Channel {
        Channel {
            free_at: Time::ZERO,
            transfer_out: None,
            wants_command: 0,
            wants_data: 0,
            first_die,
            last_die: 0,
            out: Queue::EMPTY,
            ecc: EccState::default(),
            event: None,
            meter: Meter::new(),
        }
    }

    /// The page that is on the bus on its way out.
    pub fn leaving(&self) -> Option<OpId> {
        self.transfer_out
    }

    /// Whether the bus is in use or wanted and has no event.
    pub fn forgotten(&self, ecc_buffer: u32) -> bool {
        let out_ready = !self.out.is_empty() && self.ecc.reserved < ecc_buffer;
        let wanted = self.wants_command | self.wants_data != 0 || out_ready;
        (wanted || self.transfer_out.is_some()) && self.event.is_none()
    }

    /// The next die of a set, round robin.
    fn turn(&self, set: u64) -> u32 {
        let later = set & (u64::MAX << self.last_die << 1);
        if later != 0 { later.trailing_zeros() } else { set.trailing_zeros() }
    }
}

impl<P: Probe> Device<P> {
    /// The bus is free again, or a page has left a die.
    pub(super) fn on_bus(&mut self, channel: usize) {
        if let Some(op) = self.channels[channel].transfer_out.take() {
            let (die, plane) = (self.ops[op].die, self.ops[op].plane);
            self.enter_ecc(channel, op);
            self.register_freed(die, plane);
            self.reschedule(usize::from(die.0));
        }
        self.arbitrate(channel);
        // A program that has just started makes its die take further pages from the pool.
        self.run_scheduler();
    }

    /// Grants the bus for as long as it is free and somebody can use it.
    pub(super) fn arbitrate(&mut self, index: usize) {
        loop {
            let ecc_buffer = self.plan.config.ecc.buffer;
            let channel = &mut self.channels[index];
            let waiting = !channel.out.is_empty();
            let out_ready = waiting && channel.ecc.reserved < ecc_buffer;
            let wanted = channel.wants_command | channel.wants_data != 0 || out_ready;
            // A page that arrives at this very moment has the bus until its event is played.
            if channel.free_at > self.now || channel.transfer_out.is_some() {
                // An event is needed for a page under way, for whoever waits, and to note an ECC wait.
                let event = (channel.transfer_out.is_some() || wanted || waiting).then_some(channel.free_at);
                return self.schedule_bus(index, event);
            }
            if !wanted {
                self.bus_enters(index, if waiting { channel::ECC_WAIT } else { channel::IDLE }, None);
                return self.schedule_bus(index, None);
            }
            self.grant(index, out_ready);
        }
    }

    #[inline]
    fn schedule_bus(&mut self, index: usize, event: Option<Time>) {
        if self.channels[index].event != event {
            self.channels[index].event = event;
            self.schedule(self.slots.bus + index, event);
        }
    }

    #[inline]
    fn grant(&mut self, index: usize, out_ready: bool) {
        let channel = &mut self.channels[index];
        if channel.wants_command != 0 {
            let place = channel.turn(channel.wants_command);
            channel.last_die = place;
            let die = channel.first_die + place;
            return self.start_command(die as usize);
        }
        if channel.wants_data != 0 {
            let place = channel.turn(channel.wants_data);
            let die = (channel.first_die + place) as usize;
            let goes_first = !out_ready || {
                let head = channel.out.head.map(|op| (self.ranks[self.ops[op].class as usize], channel.out.head_seq));
                self.program_priority(die) < head && head.is_some()
            };
            if goes_first {
                self.channels[index].last_die = place;
                return self.start_program(die);
            }
        }
        let channel = &mut self.channels[index];
        let op = channel.out.pop(&mut self.ops).expect("Invariant: a page waits to leave");
        let bytes = self.ops[op].bus_bytes;
        let end = self.now + self.plan.t_dma(bytes);
        channel.transfer_out = Some(op);
        channel.free_at = end;
        let corrected = self.ops[op].sense.fate == Fate::Corrected;
        let cause = if corrected { channel::READ_DATA } else { channel::UNCORRECTABLE };
        channel.ecc.reserved += 1;
        self.bus_enters(index, cause, Some((end, channel::IDLE)));
        self.counters.uncorrectable_transfers += u64::from(!corrected);
        self.counters.bytes_read += u64::from(bytes);
        if P::EXPLAINS {
            let (part, attempt) = (self.ops[op].seq, self.ops[op].sense.attempt);
            self.probe.explain(self.now, Event::Leaves { part, attempt, end, channel: index as u16 });
        }
    }

    /// Occupies the bus from now on; returns the end.
    #[inline]
    pub(super) fn occupy(&mut self, channel: usize, span: units::Span, cause: usize) -> Time {
        let end = self.now + span;
        self.channels[channel].free_at = end;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        end
    }

    /// A bus's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    fn bus_enters(&mut self, channel: usize, cause: usize, until: Option<(Time, usize)>) {
        let meter = &mut self.channels[channel].meter;
        match until {
            None => meter.enter(self.now, cause),
            Some((end, next)) => meter.enter_until(self.now, cause, end, next),
        }
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Bus { channel: channel as u16, cause, until });
        }
    }

    /// A die says what it would use the bus for.
    #[inline]
    pub(super) fn request_bus(&mut self, die: usize, choice: BusRequest) {
        let (channel, bit) = (self.dies[die].channel, self.dies[die].bit);
        let bus = &mut self.channels[usize::from(channel)];
        bus.wants_command &= !bit;
        bus.wants_data &= !bit;
        match choice {
            BusRequest::Nothing => {}
            BusRequest::Command => bus.wants_command |= bit,
            BusRequest::Data => bus.wants_data |= bit,
        }
    }
}
