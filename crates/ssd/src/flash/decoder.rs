//! The ECC engines: one a channel, with a bounded number of pages in it or on their way into it.

use std::collections::VecDeque;

use schemes::ReadReference;
use units::{Span, Time};

use super::FlashAt;
use super::op::{Fate, Ops, PageOp};
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};

#[derive(Default)]
pub struct EccState {
    /// Pages in the engine or on their way into it.
    pub reserved: u32,
    /// Pages being decoded, the first to finish first.
    pub(super) decoding: VecDeque<(Time, OpId)>,
    pub(super) waiting: VecDeque<OpId>,
    /// Time that decoders were busy, summed over them, until the ends of the pages being decoded.
    pub(super) busy: Span,
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
            if ops[entry.1].sense.fate == Fate::Corrected {
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

impl<P: Probe> FlashAt<'_, P> {
    /// A page has arrived at its channel's engine.
    pub fn enter_ecc(&mut self, channel: usize, op: OpId) {
        let sense = self.flash.ops[op].sense;
        if sense.fate == Fate::Cancelled || sense.v_ref == ReadReference::Sentinel {
            self.flash.channels[channel].ecc.reserved -= 1;
            if sense.fate == Fate::Cancelled {
                return self.flash.ops.release(op);
            }
            // The sentinel's cells hold a known pattern: there is nothing to decode.
            self.core.counters.sentinel_bytes += u64::from(self.flash.ops[op].bus_bytes);
            let read = self.corrected(op);
            debug_assert!(read.is_none(), "Invariant: the page is read after its sentinel cells");
            return;
        }
        let ecc = &mut self.flash.channels[channel].ecc;
        if (ecc.decoding.len() as u32) < self.core.plan.config.ecc.decoders {
            self.start_decoding(channel, op);
        } else {
            ecc.waiting.push_back(op);
        }
    }

    pub(super) fn start_decoding(&mut self, channel: usize, op: OpId) {
        let t_decode = match self.flash.outcomes {
            None => self.core.plan.config.ecc.t_decode,
            Some(_) => Span(self.flash.ops[op].sense.decoding.into()),
        };
        let end = self.core.now + t_decode;
        let ecc = &mut self.flash.channels[channel].ecc;
        // The first to finish first; at the same time the first that began.
        let place = ecc.decoding.iter().rposition(|(other, _)| *other <= end).map_or(0, |before| before + 1);
        ecc.decoding.insert(place, (end, op));
        ecc.busy += t_decode;
        if place == 0 {
            self.core.agenda.set(channel, end);
        }
        if P::EXPLAINS {
            let PageOp { seq: part, sense, ppn, .. } = self.flash.ops[op];
            let event = Event::Decodes { part, attempt: sense.attempt, end, channel: channel as u16, ppn };
            self.core.probe.explain(self.core.now, event);
        }
    }

    /// A decoding has ended. The read whose data is in the controller, or is known to be lost, where it ends with that.
    pub fn decoded(&mut self, channel: usize) -> Option<(OpId, bool)> {
        let ecc = &mut self.flash.channels[channel].ecc;
        let (_, op) = ecc.decoding.pop_front().expect("Invariant: the engine's event is a page being decoded");
        ecc.reserved -= 1;
        while let Some(next) = self.flash.channels[channel].ecc.waiting.pop_front() {
            if self.flash.ops[next].sense.fate != Fate::Cancelled {
                self.start_decoding(channel, next);
                break;
            }
            self.flash.channels[channel].ecc.reserved -= 1;
            self.flash.ops.release(next);
        }
        let next = self.flash.channels[channel].ecc.decoding.front().map(|(time, _)| *time);
        self.core.schedule(channel, next);
        self.corrected(op).map(|corrected| (op, corrected))
    }
}
