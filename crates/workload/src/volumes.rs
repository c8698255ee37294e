//! Several volumes on one drive, and several traces as one.

use std::path::Path;

use units::{Bytes, Time};

use crate::error::TraceError;
use crate::formats::Format;
use crate::request::{ReadCounts, Request, Source};
use crate::trace::{ReadOptions, TraceFile};

units::choices! {
    /// Where a trace's volumes (devices, ASUs, LUNs) lie on the drive.
    pub enum Volumes {
        /// All from address 0, over each other.
        Overlay = "overlay",
        /// Each in a namespace of its own: equal parts of the drive.
        Namespaces = "namespaces",
        /// One after another, each as large as its highest address.
        Concatenate = "concatenate",
    }
}

units::choices! {
    /// What becomes of a request beyond the drive, or beyond its namespace.
    pub enum Beyond {
        /// Its address wraps around; counted.
        Wrap = "wrap",
        /// The run stops with an error.
        Refuse = "refuse",
    }
}

/// Volumes start at multiples of this when they lie one after another.
const ALIGNMENT: u64 = 1 << 20;

/// Several traces as one, merged by time: of requests at the same time those of the first trace go first.
pub struct Merged {
    traces: Vec<TraceFile>,
    /// The next request of each, and whether there is none.
    next: Vec<Option<Request>>,
    batches: Vec<Vec<Request>>,
    origin: Option<u64>,
}

impl Merged {
    /// Opens the traces, each in the format that it shows, or all in `format`.
    pub fn open(paths: &[&Path], format: Option<Format>, reading: ReadOptions) -> Result<Merged, TraceError> {
        let open = |path: &&Path| TraceFile::open_with(path, format, reading).map(TraceFile::with_its_own_times);
        let traces = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let count = traces.len();
        Ok(Merged { traces, next: vec![None; count], batches: vec![Vec::new(); count], origin: None })
    }

    /// The traces' notes on the choice of format.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.traces.iter().filter_map(TraceFile::note)
    }

    /// Makes sure that the next request of every trace that has one is known.
    fn fill_next(&mut self) -> Result<(), TraceError> {
        for (index, trace) in self.traces.iter_mut().enumerate() {
            if self.next[index].is_none() {
                if self.batches[index].is_empty() {
                    trace.fill(&mut self.batches[index], 256)?;
                    self.batches[index].reverse();
                }
                self.next[index] = self.batches[index].pop();
            }
        }
        Ok(())
    }
}

impl Source for Merged {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        for _ in 0..max {
            self.fill_next()?;
            let first =
                self.next.iter().enumerate().filter_map(|(index, next)| Some((next.as_ref()?.time, index))).min();
            let Some((time, index)) = first else { return Ok(()) };
            let origin = *self.origin.get_or_insert(time.0);
            let request = self.next[index].take();
            batch.extend(request.map(|request| Request { time: Time(time.0 - origin), ..request }));
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self.traces.iter().map(Source::progress).collect();
        shares.map(|shares| shares.iter().sum::<f64>() / self.traces.len() as f64)
    }

    fn counts(&self) -> ReadCounts {
        self.traces.iter().map(Source::counts).fold(ReadCounts::default(), |sum, part| ReadCounts {
            bad_lines: sum.bad_lines + part.bad_lines,
            cut_lines: sum.cut_lines + part.cut_lines,
            other_lines: sum.other_lines + part.other_lines,
            reordered: sum.reordered + part.reordered,
            wrapped: sum.wrapped + part.wrapped,
        })
    }
}

/// Where one volume lies.
#[derive(Clone, Copy)]
struct VolumeExtent {
    queue: u16,
    base: u64,
    size: u64,
}

/// A source whose volumes lie apart on the drive.
pub struct Apart<S> {
    source: S,
    extents: Vec<VolumeExtent>,
    beyond: Beyond,
    name: String,
    wrapped: u64,
}

impl<S: Source> Apart<S> {
    /// Lays out the volumes of `source` on a drive of `capacity`. `survey` is the same source once more, to be read for
    /// the volumes and their sizes first; `name` is what errors call it.
    pub fn new(
        source: S,
        survey: S,
        volumes: Volumes,
        beyond: Beyond,
        capacity: Bytes,
        name: &str,
    ) -> Result<Apart<S>, TraceError> {
        let mut extents = volume_extents(survey)?;
        let count = extents.len().max(1) as u64;
        let mut base = 0;
        for (index, extent) in extents.iter_mut().enumerate() {
            if volumes == Volumes::Namespaces {
                let size = capacity.0 / count / ALIGNMENT * ALIGNMENT;
                let size = if size == 0 { capacity.0 / count } else { size };
                (extent.base, extent.size) = (size * index as u64, size);
            } else {
                extent.base = base;
                base = base.saturating_add(extent.size).div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT);
            }
        }
        Ok(Apart { source, extents, beyond, name: name.to_owned(), wrapped: 0 })
    }
}

/// The volumes of a source in the order of their numbers, each with the end of its last request as its size.
fn volume_extents(mut source: impl Source) -> Result<Vec<VolumeExtent>, TraceError> {
    let (mut extents, mut batch): (Vec<VolumeExtent>, Vec<Request>) = (Vec::new(), Vec::new());
    loop {
        batch.clear();
        source.fill(&mut batch, 4096)?;
        if batch.is_empty() {
            return Ok(extents);
        }
        for request in &batch {
            let end = request.offset.0 + request.bytes.0;
            match extents.binary_search_by_key(&request.queue, |extent| extent.queue) {
                Ok(at) => extents[at].size = extents[at].size.max(end),
                Err(at) => extents.insert(at, VolumeExtent { queue: request.queue, base: 0, size: end }),
            }
        }
    }
}

impl<S: Source> Source for Apart<S> {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let from = batch.len();
        let filled = self.source.fill(batch, max);
        for request in &mut batch[from..] {
            let Ok(at) = self.extents.binary_search_by_key(&request.queue, |extent| extent.queue) else { continue };
            let VolumeExtent { base, size, .. } = self.extents[at];
            if request.offset.0 + request.bytes.0 > size && request.op.has_address() {
                if self.beyond == Beyond::Refuse {
                    let end = request.offset.0 + request.bytes.0;
                    return Err(TraceError::new(
                        &self.name,
                        format!("a request of volume {} ends at byte {end}, beyond its {}", request.queue, Bytes(size)),
                        "choose a larger device, volumes = concatenate, or let addresses wrap (--beyond wrap)",
                    ));
                }
                self.wrapped += 1;
                request.bytes = Bytes(request.bytes.0.min(size));
                request.offset = Bytes((request.offset.0 % size).min(size - request.bytes.0));
            }
            request.offset = Bytes(request.offset.0 + base);
        }
        filled
    }

    fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    fn counts(&self) -> ReadCounts {
        ReadCounts { wrapped: self.wrapped, ..self.source.counts() }
    }
}
