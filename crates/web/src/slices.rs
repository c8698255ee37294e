//! A timeline as JSON: tracks, and what each resource did on them.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;
use serde_json::{Value, json};
use ssd::timeline::perfetto::{EventType, Trace, TrackDescriptor, TrackEvent};

/// Bytes that a timeline writes, kept in memory.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// What has been written.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tracks with their slices: of each slice its name, times \[ns] and depth, and the request that it belongs to.
pub(crate) fn tracks(written: &[u8]) -> Result<Value, prost::DecodeError> {
    let trace = Trace::decode(written)?;
    let mut tracks: Vec<Drawn> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for packet in trace.packet {
        if let Some(TrackDescriptor { uuid: Some(id), name, parent_uuid, .. }) = packet.track_descriptor {
            places.insert(id, tracks.len());
            let parent = parent_uuid.and_then(|parent| places.get(&parent)).copied();
            tracks.push(Drawn { name: name.unwrap_or_default(), parent, slices: Vec::new(), open: Vec::new() });
        }
        let Some(event) = packet.track_event else { continue };
        let track = event.track_uuid.and_then(|id| places.get(&id)).map(|place| &mut tracks[*place]);
        if let Some(track) = track {
            track.take(packet.timestamp.unwrap_or(0), event);
        }
    }
    Ok(tracks
        .into_iter()
        .map(|track| json!({ "name": track.name, "parent": track.parent, "slices": track.slices }))
        .collect())
}

/// A track as it is read.
struct Drawn {
    name: String,
    /// The place of the track above it.
    parent: Option<usize>,
    slices: Vec<Value>,
    /// Slices that have begun and not ended, by their places.
    open: Vec<usize>,
}

impl Drawn {
    fn take(&mut self, time: u64, event: TrackEvent) {
        match event.r#type.and_then(|kind| EventType::try_from(kind).ok()) {
            Some(EventType::SliceBegin) => {
                let number = |wanted: &str| {
                    let note = event.debug_annotations.iter().find(|note| note.name.as_deref() == Some(wanted))?;
                    note.uint_value
                };
                let slice = json!({
                    "name": event.name.unwrap_or_default(),
                    "from_ns": time,
                    "depth": self.open.len(),
                    "request": number("request"),
                    "step": number("step"),
                });
                self.open.push(self.slices.len());
                self.slices.push(slice);
            }
            Some(EventType::SliceEnd) => {
                if let Some(place) = self.open.pop() {
                    self.slices[place]["to_ns"] = json!(time);
                }
            }
            _ => {}
        }
    }
}
