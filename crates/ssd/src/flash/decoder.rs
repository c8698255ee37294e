//! The ECC engines: one a channel, with a bounded number of pages in it or on their way into it.

use nand::ChannelId;
use units::Span;

use super::attempt::{Attempt, Step};
use super::backend::FlashAt;
use super::op::PageOp;
use super::placement::Placement;
use crate::arena::AttemptId;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::energy::Energy;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// A page has arrived at its channel's engine, where it has room.
    #[inline]
    pub(super) fn enter_ecc(&mut self, id: AttemptId) {
        let attempt = &mut self.flash.attempts[id];
        let channel = self.flash.dies[attempt.die].channel;
        let ecc = &mut self.flash.channels[channel].ecc;
        if ecc.decoding.len() < self.core.plan.config.ecc.decoders as usize {
            return self.start_decoding(id, channel);
        }
        ecc.waiting.push_back(id);
        attempt.step = Step::WaitingForEcc;
    }

    /// A void attempt leaves the engine, or the way into it: its page, which the decoder was to have, has none.
    #[cold]
    pub(super) fn leave_ecc(&mut self, id: AttemptId) {
        let Attempt { die, sent, v_ref, .. } = self.flash.attempts[id];
        let channel = self.flash.dies[die].channel;
        self.flash.channels[channel].ecc.reserved -= 1;
        self.core.counters.undecoded_bytes += u64::from(sent);
        if v_ref.decodes() {
            self.use_energy(|plan| -Energy::decodes(plan, sent.into()));
        }
        self.flash.attempts.release(id);
    }

    /// What has come is sentinel cells alone.
    #[cold]
    pub(super) fn note_sentinel(&mut self, id: AttemptId) {
        let Attempt { die, sent, .. } = self.flash.attempts[id];
        let channel = self.flash.dies[die].channel;
        self.flash.channels[channel].ecc.reserved -= 1;
        self.core.counters.undecoded_bytes += u64::from(sent);
    }

    /// A page that waited for a decoder has one.
    pub(super) fn decoder_freed(&mut self, id: AttemptId) {
        self.start_decoding(id, self.flash.dies[self.flash.attempts[id].die].channel);
    }

    fn start_decoding(&mut self, id: AttemptId, channel: ChannelId) {
        let attempt = &mut self.flash.attempts[id];
        attempt.step = Step::Decoding;
        let (number, read) = (attempt.number, attempt.read);
        let t_decode = match self.flash.outcomes {
            None => self.core.plan.config.ecc.t_decode,
            Some(_) => Span(attempt.decoding.into()),
        };
        let end = self.core.now + t_decode;
        let ecc = &mut self.flash.channels[channel].ecc;
        ecc.busy += t_decode;
        // The first to finish first; at the same time the first that began, which is nearly always behind the others.
        let place = match ecc.decoding.back() {
            Some((last, _)) if *last > end => {
                let before = ecc.decoding.iter().rposition(|(other, _)| *other <= end).map_or(0, |before| before + 1);
                ecc.decoding.insert(before, (end, id));
                before
            }
            _ => {
                ecc.decoding.push_back((end, id));
                ecc.decoding.len() - 1
            }
        };
        if place == 0 {
            self.core.agenda.set_from(self.core.now, self.core.slots.decoder(channel), end);
        }
        if P::EXPLAINS
            && let Some(read) = read
        {
            let PageOp { seq: part, ppn, .. } = self.flash.ops[read];
            let event = Event::Decodes { part, attempt: number, end, channel, ppn: ppn.get() };
            self.core.probe.explain(self.core.now, event);
        }
    }
}
