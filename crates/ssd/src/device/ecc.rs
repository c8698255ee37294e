//! The ECC engines: one a channel, with a bounded number of pages in it or on their way into it.

use std::collections::VecDeque;

use schemes::ReadReference;
use units::{Span, Time};

use super::Device;
use crate::arena::OpId;
use crate::observe::probe::{Event, Probe};
use crate::op::{Fate, Ops, Owner, PageOp};

#[derive(Default)]
pub(super) struct EccState {
    /// Pages in the engine or on their way into it.
    pub reserved: u32,
    /// Pages being decoded, the first to finish first.
    decoding: VecDeque<(Time, OpId)>,
    waiting: VecDeque<OpId>,
    /// Time that decoders were busy, summed over them, until the ends of the pages being decoded.
    busy: Span,
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

impl<P: Probe> Device<P> {
    /// A page has arrived at its channel's engine.
    pub(super) fn enter_ecc(&mut self, channel: usize, op: OpId) {
        let sense = self.ops[op].sense;
        if sense.fate == Fate::Cancelled || sense.v_ref == ReadReference::Sentinel {
            self.channels[channel].ecc.reserved -= 1;
            if sense.fate == Fate::Cancelled {
                return self.ops.release(op);
            }
            // The sentinel's cells hold a known pattern: there is nothing to decode.
            self.counters.sentinel_bytes += u64::from(self.ops[op].bus_bytes);
            let read = self.corrected(op);
            debug_assert!(read.is_none(), "Invariant: the page is read after its sentinel cells");
            return;
        }
        let ecc = &mut self.channels[channel].ecc;
        if (ecc.decoding.len() as u32) < self.plan.config.ecc.decoders {
            self.start_decoding(channel, op);
        } else {
            ecc.waiting.push_back(op);
        }
    }

    fn start_decoding(&mut self, channel: usize, op: OpId) {
        let t_decode = match self.outcomes {
            None => self.plan.config.ecc.t_decode,
            Some(_) => Span(self.ops[op].sense.decoding.into()),
        };
        let end = self.now + t_decode;
        let ecc = &mut self.channels[channel].ecc;
        // The first to finish first; at the same time the first that began.
        let place = ecc.decoding.iter().rposition(|(other, _)| *other <= end).map_or(0, |before| before + 1);
        ecc.decoding.insert(place, (end, op));
        ecc.busy += t_decode;
        if place == 0 {
            self.agenda.set(channel, end);
        }
        if P::EXPLAINS {
            let PageOp { seq: part, sense, ppn, .. } = self.ops[op];
            let event = Event::Decodes { part, attempt: sense.attempt, end, channel: channel as u16, ppn };
            self.probe.explain(self.now, event);
        }
    }

    /// A page is decoded.
    pub(super) fn on_decoded(&mut self, channel: usize) {
        let ecc = &mut self.channels[channel].ecc;
        let (_, op) = ecc.decoding.pop_front().expect("Invariant: the engine's event is a page being decoded");
        ecc.reserved -= 1;
        while let Some(next) = self.channels[channel].ecc.waiting.pop_front() {
            if self.ops[next].sense.fate != Fate::Cancelled {
                self.start_decoding(channel, next);
                break;
            }
            self.channels[channel].ecc.reserved -= 1;
            self.ops.release(next);
        }
        let next = self.channels[channel].ecc.decoding.front().map(|(time, _)| *time);
        self.schedule(channel, next);
        if let Some(corrected) = self.corrected(op) {
            self.read_done(op, corrected);
        }
        // It may have been the last thing under way that waiting writes could hope for.
        self.fetch_writes();
        // A completed page may have given its die a program: dies say what they want before the bus is granted.
        self.run_scheduler();
        if !self.channels[channel].out.is_empty() {
            self.arbitrate(channel);
            self.run_scheduler();
        }
    }

    /// A page's data is in the controller, or is known to be lost.
    fn read_done(&mut self, id: OpId, corrected: bool) {
        let PageOp { owner, host_bytes, ppn, .. } = self.ops[id];
        self.counters.pages_read += 1;
        let (conditions, cold, _) = self.ftl.conditions(ppn, self.now, &self.plan);
        self.counters.cold_reads += u64::from(cold);
        self.counters.read_retention_s += conditions.retention.0 / 1_000_000_000;
        self.counters.read_pec += u64::from(conditions.pec.0);
        self.count_read(ppn, owner);
        match owner {
            Owner::Host(command) => {
                let part = Some((self.ops[id].seq, self.ops[id].sense.attempt));
                self.ops.release(id);
                self.commands[command].uncorrectable |= !corrected;
                let sent = self.send(host_bytes, true);
                if P::EXPLAINS {
                    let request = self.commands[command].id;
                    self.probe.explain(self.now, Event::Sent { request, part, arrives: sent });
                }
                self.part_sent(command, sent);
            }
            Owner::Slot(slot) => {
                self.ops.release(id);
                self.filled(slot);
            }
            Owner::Relocation(source) => self.relocation_read(id, source),
            Owner::MapFetch(fetch) => self.map_fetched(id, fetch),
            Owner::MapRewrite(_) => self.rewrite_map(id),
            Owner::Erase => unreachable!("Invariant: erases read nothing"),
        }
    }
}
