//! Slices and counters on tracks, written as they end.

use std::io::{self, Write};

use prost::Message;
use units::Time;

use super::perfetto::{CounterDescriptor, DebugAnnotation, EventType, Trace, TracePacket, TrackDescriptor, TrackEvent};

/// Tracks lie in the order in which they are made.
const EXPLICIT: i32 = 3;

/// A stretch of a track's time.
#[derive(Clone, Debug, Default)]
pub(super) struct Slice {
    pub from: Time,
    pub to: Time,
    pub name: String,
    pub notes: Vec<(&'static str, Note)>,
    /// Slices that share one of these are joined by arrows, in the order of time.
    pub flows: Vec<u64>,
    /// The request that it belongs to, from 0.
    pub request: Option<u64>,
    /// Slices within it, in order.
    pub inner: Vec<Slice>,
}

impl Slice {
    pub fn new(from: Time, to: Time, name: impl Into<String>) -> Slice {
        Slice { from, to, name: name.into(), ..Slice::default() }
    }

    pub fn note(mut self, name: &'static str, value: impl Into<Note>) -> Slice {
        self.notes.push((name, value.into()));
        self
    }
}

/// What a slice tells when it is selected.
#[derive(Clone, Debug)]
pub(super) enum Note {
    Number(u64),
    Text(String),
}

impl From<u64> for Note {
    fn from(number: u64) -> Note {
        Note::Number(number)
    }
}

impl From<String> for Note {
    fn from(text: String) -> Note {
        Note::Text(text)
    }
}

/// A trace file that grows.
pub(super) struct Writer {
    out: Box<dyn Write + Send>,
    /// The windows that are shown, from the workload's beginning on; when that was, once it has come.
    windows: Vec<(Time, Time)>,
    origin: Option<Time>,
    /// The number of the drive, of those that share the file.
    drive: u32,
    tracks: u64,
    written: u64,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

/// Tracks and arrows of drives that share a file are apart by this many.
const APART: u64 = 1 << 44;

impl Writer {
    pub fn new(out: Box<dyn Write + Send>, windows: Vec<(Time, Time)>, drive: u32) -> Writer {
        Writer {
            out,
            windows,
            origin: None,
            drive,
            tracks: u64::from(drive) * APART,
            written: 0,
            buffer: Vec::new(),
            error: None,
        }
    }

    /// The workload begins: times count from here, and nothing before is shown.
    pub fn begin(&mut self, origin: Time) {
        self.origin = Some(origin);
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.origin.is_some()
    }

    /// The end of the last window, from the workload's beginning on.
    pub fn end(&self) -> Time {
        self.windows.iter().map(|(_, to)| *to).max().unwrap_or(Time::ZERO)
    }

    /// Makes a track below another.
    pub fn track(&mut self, parent: Option<u64>, name: &str) -> u64 {
        self.make(parent, name, None)
    }

    /// Makes a track of a number over time.
    pub fn counter(&mut self, parent: u64, name: &str, unit: &str) -> u64 {
        self.make(Some(parent), name, Some(CounterDescriptor { unit_name: Some(unit.into()) }))
    }

    fn make(&mut self, parent: Option<u64>, name: &str, counter: Option<CounterDescriptor>) -> u64 {
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(self.tracks),
            name: Some(name.into()),
            parent_uuid: parent,
            counter,
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: Some(if parent.is_none() { self.drive as i32 } else { (self.tracks % APART) as i32 }),
        };
        self.put(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
        self.tracks
    }

    /// Whether anything between two times is shown.
    pub fn shows(&self, from: Time, to: Time) -> bool {
        let Some(origin) = self.origin else { return false };
        let since = |time: Time| Time(time.0.saturating_sub(origin.0));
        let (from, to) = (since(from), since(to));
        self.windows.iter().any(|(begin, end)| to > *begin && from < *end)
    }

    /// Writes a slice if a window shows any of it. The slices of a track come in order.
    pub fn slice(&mut self, track: u64, slice: &Slice) {
        if self.shows(slice.from, slice.to) {
            self.put_slice(track, slice, slice.from, slice.to);
        }
    }

    fn put_slice(&mut self, track: u64, slice: &Slice, from: Time, to: Time) {
        let annotation = |(name, value): &(&'static str, Note)| {
            let (uint_value, string_value) = match value {
                Note::Number(number) => (Some(*number), None),
                Note::Text(text) => (None, Some(text.clone())),
            };
            DebugAnnotation { name: Some((*name).into()), uint_value, string_value }
        };
        let begin = TrackEvent {
            r#type: Some(EventType::SliceBegin.into()),
            name: Some(slice.name.clone()),
            debug_annotations: slice.notes.iter().map(annotation).collect(),
            flow_ids: slice.flows.iter().map(|flow| flow + u64::from(self.drive) * APART).collect(),
            // 0 stands for none.
            correlation_id: slice.request.map(|number| number + 1),
            ..TrackEvent::default()
        };
        self.event(track, from, begin);
        for inner in &slice.inner {
            let (begins, ends) = (inner.from.max(from), inner.to.min(to));
            if begins < ends {
                self.put_slice(track, inner, begins, ends);
            }
        }
        self.event(track, to, TrackEvent { r#type: Some(EventType::SliceEnd.into()), ..TrackEvent::default() });
    }

    /// Writes the value that a counter has from now on.
    pub fn count(&mut self, track: u64, now: Time, value: u32) {
        let (kind, value) = (EventType::Counter.into(), i64::from(value));
        self.event(track, now, TrackEvent { r#type: Some(kind), counter_value: Some(value), ..TrackEvent::default() });
    }

    fn event(&mut self, track: u64, time: Time, event: TrackEvent) {
        let timestamp = time.0.saturating_sub(self.origin.unwrap_or(Time::ZERO).0);
        let event = TrackEvent { track_uuid: Some(track), ..event };
        self.put(TracePacket { timestamp: Some(timestamp), track_event: Some(event), ..TracePacket::default() });
    }

    fn put(&mut self, packet: TracePacket) {
        if self.error.is_some() {
            return;
        }
        let packet = TracePacket { trusted_packet_sequence_id: Some(self.drive + 1), ..packet };
        self.buffer.clear();
        // A file is a `Trace`: its packets one after the other.
        let encoded = Trace { packet: vec![packet] }.encode(&mut self.buffer).map_err(io::Error::other);
        match encoded.and_then(|()| self.out.write_all(&self.buffer)) {
            Ok(()) => self.written += self.buffer.len() as u64,
            Err(error) => self.error = Some(error),
        }
    }

    /// Ends the file; returns its size \[B].
    pub fn finish(&mut self) -> io::Result<u64> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.written),
        }
    }
}
