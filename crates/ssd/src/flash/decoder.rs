//! The ECC engines: one a channel, with a bounded number of pages in it or on their way into it.

use nand::ChannelId;
use schemes::ReadReference;
use units::Span;

use super::layer::FlashAt;
use super::op::{Fate, PageOp};
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};

impl<P: Probe> FlashAt<'_, P> {
    /// A page has arrived at its channel's engine.
    pub fn enter_ecc(&mut self, channel: ChannelId, op: OpId) {
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

    pub(super) fn start_decoding(&mut self, channel: ChannelId, op: OpId) {
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
            self.core.agenda.set(self.core.slots.of_decoder(channel), end);
        }
        if P::EXPLAINS {
            let PageOp { seq: part, sense, ppn, .. } = self.flash.ops[op];
            let event = Event::Decodes { part, attempt: sense.attempt, end, channel, ppn: ppn.get() };
            self.core.probe.explain(self.core.now, event);
        }
    }

    /// A decoding has ended. The read whose data is in the controller, or is known to be lost, where it ends with that.
    pub fn decoded(&mut self, channel: ChannelId) -> Option<(OpId, bool)> {
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
        self.core.schedule(self.core.slots.of_decoder(channel), next);
        self.corrected(op).map(|corrected| (op, corrected))
    }
}
