//! A channel's state: its bus, and its ECC engine.

use std::collections::VecDeque;

use units::{Span, Time};

use super::op::{Fate, Ops, Queue};
use crate::arena::OpId;
use crate::meter::Meter;
use crate::observe::stats::channel;
use crate::persist::stored;

pub struct Channel {
    pub free_at: Time,
    /// The page that is leaving a die.
    pub transfer_out: Option<OpId>,
    /// Dies of the channel that want to start a command, and that want data for a program.
    pub wants_command: u64,
    pub wants_data: u64,
    /// The first die of the channel, and the place of the one that was granted last.
    pub first_die: u32,
    pub last_die: u32,
    /// Sensed pages that wait to leave, oldest first.
    pub out: Queue,
    pub ecc: EccState,
    /// The bus's event in the agenda.
    pub event: Time,
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
            event: Time::NEVER,
            meter: Meter::new(),
        }
    }

    /// Whether the bus is in use or wanted and has no event. Dies may want it and have to wait until what was used is paid for.
    pub fn forgotten(&self, ecc_buffer: u32, held: bool) -> bool {
        let out_ready = !self.out.is_empty() && self.ecc.reserved < ecc_buffer;
        let wanted = self.wants_command | self.wants_data != 0 && !held || out_ready;
        (wanted || self.transfer_out.is_some()) && self.event == Time::NEVER
    }
}

#[derive(Default)]
pub struct EccState {
    /// Pages in the engine or on their way into it.
    pub reserved: u32,
    /// Pages being decoded, the first to finish first.
    pub decoding: VecDeque<(Time, OpId)>,
    pub waiting: VecDeque<OpId>,
    /// Time that decoders were busy, summed over them, until the ends of the pages being decoded.
    pub busy: Span,
}

impl EccState {
    /// The pages in the engine.
    pub fn pages(&self) -> impl Iterator<Item = OpId> {
        self.decoding.iter().map(|(_, op)| *op).chain(self.waiting.iter().copied())
    }

    /// Lets a page that has been decoded take the place of the last other page of its read to be decoded, where there is one:
    /// returns that one, which belongs to the caller. If that one will be corrected, nothing takes its place.
    pub fn succeed(&mut self, ops: &Ops, id: OpId) -> Option<OpId> {
        let (seq, die) = (ops[id].seq, ops[id].die);
        let of_read = |(_, op): &&mut (Time, OpId)| {
            (ops[*op].seq, ops[*op].die) == (seq, die) && ops[*op].sense.fate != Fate::Cancelled
        };
        let mut last = None;
        for entry in self.decoding.iter_mut().filter(of_read) {
            if ops[entry.1].sense.fate.is_decoded() {
                return Some(entry.1);
            }
            last = Some(entry);
        }
        last.map(|entry| std::mem::replace(&mut entry.1, id))
    }

    /// Time that decoders were busy until `now`, summed over them.
    pub fn busy_until(&self, now: Time) -> Span {
        let ahead: u64 = self.decoding.iter().map(|(end, _)| end.0.saturating_sub(now.0)).sum();
        Span(self.busy.0 - ahead)
    }
}

stored! {
    Channel {
        free_at, transfer_out, wants_command, wants_data, first_die, last_die, out, ecc, event, meter,
    }
    EccState { reserved, decoding, waiting, busy }
}
