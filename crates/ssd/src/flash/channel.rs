//! A channel's state: its bus, and its ECC engine.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::arena::AttemptId;
use crate::meter::Meter;
use crate::observe::stats::channel;
use crate::persist::stored;

pub struct Channel {
    pub free_at: Time,
    /// The page that is leaving a die.
    pub transfer_out: Option<AttemptId>,
    /// Dies of the channel that want to start a command, and that want data for a program.
    pub wants_command: u64,
    pub wants_data: u64,
    /// Dies that may take programs that they did not take before.
    pub stirred: u64,
    /// The first die of the channel, and the place of the one that was granted last.
    pub first_die: u32,
    pub last_die: u32,
    /// Sensed pages that wait to leave, oldest first.
    pub out: VecDeque<AttemptId>,
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
            stirred: 0,
            first_die,
            last_die: 0,
            out: VecDeque::new(),
            ecc: EccState::default(),
            event: Time::NEVER,
            meter: Meter::new(),
        }
    }

    /// Whether a die wants the bus, or a page waits to leave or did so until now.
    pub fn is_wanted(&self) -> bool {
        self.wants_command | self.wants_data != 0 || !self.out.is_empty() || self.meter.state() == channel::ECC_WAIT
    }

    /// Whether the bus is in use or wanted and has no event. Dies may want it and have to wait until what was used is
    /// paid for.
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
    pub decoding: VecDeque<(Time, AttemptId)>,
    pub waiting: VecDeque<AttemptId>,
    /// Time that decoders were busy, summed over them, until the ends of the pages being decoded.
    pub busy: Span,
}

impl EccState {
    /// The pages in the engine.
    pub fn pages(&self) -> impl Iterator<Item = AttemptId> {
        self.decoding.iter().map(|(_, id)| *id).chain(self.waiting.iter().copied())
    }

    /// Time that decoders were busy until `now`, summed over them.
    pub fn busy_until(&self, now: Time) -> Span {
        let ahead: u64 = self.decoding.iter().map(|(end, _)| end.0.saturating_sub(now.0)).sum();
        Span(self.busy.0 - ahead)
    }
}

stored! {
    Channel {
        free_at, transfer_out, wants_command, wants_data, stirred, first_die, last_die, out, ecc, event, meter,
    }
    EccState { reserved, decoding, waiting, busy }
}
