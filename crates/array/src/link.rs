//! The link or switch that all drives share: each direction moves one request's data after another, and each way takes
//! its time.

use ssd::persist::state;
use units::{Bandwidth, Bytes, Span, Time};

/// The link.
pub(crate) struct Link {
    bandwidth: Option<Bandwidth>,
    latency: Span,
    /// Until when the directions are busy: to the drives, from them.
    free_at: [Time; 2],
    /// For how long they have been busy.
    busy: [Span; 2],
    /// For how long they had been when counting began.
    busy_before: [Span; 2],
}

state! {
    Link {
        stored { free_at, busy, busy_before }
        rebuilt { bandwidth, latency }
    }
}

/// A direction.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    ToDrives,
    FromDrives,
}

impl Link {
    pub fn new(bandwidth: Option<Bandwidth>, latency: Span) -> Link {
        Link { bandwidth, latency, free_at: [Time::ZERO; 2], busy: [Span::ZERO; 2], busy_before: [Span::ZERO; 2] }
    }

    /// Whether it takes no time at all.
    pub fn is_ideal(&self) -> bool {
        self.bandwidth.is_none() && self.latency == Span::ZERO
    }

    /// What is counted begins now.
    pub fn counting_begins(&mut self) {
        self.busy_before = self.busy;
    }

    /// For how long the directions have been busy since counting began: to the drives, from them.
    pub fn busy(&self) -> [Span; 2] {
        [0, 1].map(|way| Span(self.busy[way].0 - self.busy_before[way].0))
    }

    /// When this many bytes arrive that are sent now.
    pub fn send(&mut self, now: Time, way: Way, bytes: Bytes) -> Time {
        let time = self.bandwidth.map_or(Span::ZERO, |bandwidth| bandwidth.time_for(bytes));
        let way = way as usize;
        self.free_at[way] = if bytes.0 > 0 { self.free_at[way].max(now) + time } else { self.free_at[way] };
        self.busy[way] += time;
        let ready = if bytes.0 > 0 { self.free_at[way] } else { now };
        ready + self.latency
    }

    /// When a command without data arrives that is sent now and overtakes nothing that was sent before.
    pub fn send_in_turn(&self, now: Time) -> Time {
        self.free_at[Way::ToDrives as usize].max(now) + self.latency
    }
}
