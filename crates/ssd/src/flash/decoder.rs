//! The ECC engines: one a channel, with a bounded number of pages in it or on their way into it.

use nand::{ChannelId, DieId};
use schemes::Known;
use units::{Span, Time};

use super::layer::FlashAt;
use super::op::{Fate, PageOp};
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};

impl<P: Probe> FlashAt<'_, P> {
    /// A page has arrived at its channel's engine. Returns the plane that it has left.
    pub(super) fn enter_ecc(&mut self, channel: ChannelId, id: OpId) -> (DieId, usize) {
        let PageOp { die, queue, sense, bus_bytes, .. } = self.flash.ops[id];
        let ecc = &mut self.flash.channels[channel].ecc;
        if sense.fate == Fate::Cancelled {
            ecc.reserved -= 1;
            self.flash.ops.release(id);
        } else if !sense.v_ref.decodes() {
            ecc.reserved -= 1;
            self.core.counters.sentinel_bytes += u64::from(bus_bytes);
            let read = self.corrected(id);
            debug_assert!(read.is_none(), "Invariant: what is not decoded is followed by a sense of the page");
        } else {
            if ecc.decoding.len() < self.core.plan.config.ecc.decoders as usize {
                self.start_decoding(channel, id);
            } else {
                ecc.waiting.push_back(id);
            }
            self.speculate(id, Known::Transferred);
        }
        (die, queue.plane())
    }

    fn start_decoding(&mut self, channel: ChannelId, id: OpId) {
        let PageOp { seq: part, sense, ppn, .. } = self.flash.ops[id];
        let t_decode = match self.flash.outcomes {
            None => self.core.plan.config.ecc.t_decode,
            Some(_) => Span(sense.decoding.into()),
        };
        let end = self.core.now + t_decode;
        let ecc = &mut self.flash.channels[channel].ecc;
        ecc.busy += t_decode;
        // The first to finish first; at the same time the first that began, which is nearly always behind the others.
        if ecc.decoding.back().is_none_or(|(last, _)| *last <= end) {
            ecc.decoding.push_back((end, id));
        } else {
            let place = ecc.decoding.iter().rposition(|(other, _)| *other <= end).map_or(0, |before| before + 1);
            ecc.decoding.insert(place, (end, id));
        }
        if ecc.decoding[0].1 == id {
            self.core.agenda.set(self.core.slots.decoder(channel), end);
        }
        if P::EXPLAINS {
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
        let next = self.flash.channels[channel].ecc.decoding.front().map_or(Time::NEVER, |(end, _)| *end);
        self.core.agenda.set(self.core.slots.decoder(channel), next);
        self.corrected(op).map(|corrected| (op, corrected))
    }
}
