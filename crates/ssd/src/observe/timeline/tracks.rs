//! The tracks of a timeline: what each resource does now, and how it is written when it ends.

use units::{Span, Time};

use super::writer::{Slice, Writer};

/// The causes by which a resource's time is counted, as a meter keeps it, and what it does now.
pub(super) struct Track {
    pub id: u64,
    pub causes: &'static [(&'static str, &'static str)],
    /// Slices of the same cause that follow one another are one.
    pub joins: bool,
    pub state: usize,
    pub since: Time,
    pub until: Option<(Time, usize)>,
    /// What more is known of the present state.
    pub detail: Option<Slice>,
    pub last: Option<Slice>,
}

impl Track {
    pub fn new(track: u64, causes: &'static [(&'static str, &'static str)], joins: bool) -> Track {
        Track { id: track, causes, joins, state: 0, since: Time::ZERO, until: None, detail: None, last: None }
    }

    pub fn enter(&mut self, now: Time, state: usize, until: Option<(Time, usize)>, out: &mut Writer) {
        if self.state != state || self.until.is_some() || until.is_some() {
            self.settle(now, out);
            (self.state, self.until) = (state, until);
        }
    }

    pub fn settle(&mut self, now: Time, out: &mut Writer) {
        if let Some((end, next)) = self.until
            && now >= end
        {
            self.book(end, out);
            (self.state, self.until) = (next, None);
        }
        self.book(now, out);
    }

    /// The present state has lasted until `to`.
    pub fn book(&mut self, to: Time, out: &mut Writer) {
        let from = std::mem::replace(&mut self.since, to);
        let detail = self.detail.take();
        if self.state == 0 || from == to {
            return;
        }
        let name = self.causes[self.state].0;
        if self.joins
            && let Some(last) = &mut self.last
            && last.to == from
            && last.name == name
        {
            last.to = to;
            return;
        }
        self.flush(out);
        self.last = Some(Slice { from, to, name: name.into(), ..detail.unwrap_or_default() });
    }

    pub fn flush(&mut self, out: &mut Writer) {
        if let Some(last) = self.last.take() {
            out.slice(self.id, &last);
        }
    }
}

/// What stands in a plane, or is on its way into it.
pub(super) struct Open {
    pub slice: Slice,
    /// The part that it senses, and its senses before.
    pub part: Option<(u64, u16)>,
}

pub(super) struct Plane {
    pub track: u64,
    pub open: Option<Open>,
}

impl Plane {
    /// Begins a slice; the one before has ended.
    pub fn begin(&mut self, slice: Slice, part: Option<(u64, u16)>, out: &mut Writer) {
        self.end(slice.from, out);
        self.open = Some(Open { slice, part });
    }

    /// Ends what is open, at `at` at the latest.
    pub fn end(&mut self, at: Time, out: &mut Writer) {
        if let Some(Open { mut slice, .. }) = self.open.take() {
            slice.to = slice.to.min(at);
            if slice.from < slice.to {
                out.slice(self.track, &slice);
            }
        }
    }
}

/// The program or erase of a die.
#[derive(Default)]
pub(super) struct DieOperation {
    pub planes: Vec<usize>,
    pub name: String,
    pub suspended: Option<Time>,
}

pub(super) struct Die {
    pub track: Track,
    pub suspensions: u64,
    pub operation: DieOperation,
    /// The suspended erase beside which the operation is a program.
    pub paused: Option<DieOperation>,
}

/// Tracks beside each other for slices that overlap.
pub(super) struct Lanes {
    pub parent: u64,
    pub name: &'static str,
    /// Each with the end of its last slice.
    pub lanes: Vec<(u64, Time)>,
}

impl Lanes {
    pub fn slice(&mut self, slice: &Slice, out: &mut Writer) {
        if !out.shows(slice.from, slice.to) {
            return;
        }
        let free = self.lanes.iter().position(|(_, end)| *end <= slice.from);
        let lane = free.unwrap_or_else(|| {
            self.lanes.push((out.track(Some(self.parent), self.name), Time::ZERO));
            self.lanes.len() - 1
        });
        self.lanes[lane].1 = slice.to;
        out.slice(self.lanes[lane].0, slice);
    }
}

/// A number over time.
pub(super) struct Counter {
    pub track: u64,
    pub value: u32,
    pub shown: bool,
}

impl Counter {
    pub fn set(&mut self, now: Time, value: u32, out: &mut Writer) {
        let shows = out.shows(now, now + Span(1));
        if shows && (value != self.value || !self.shown) {
            out.count(self.track, now, value);
        }
        (self.value, self.shown) = (value, shows);
    }
}
