//! A drive's part of a load that has gone on before: what the host wrote to it, and with each write of a stripe its
//! parity.

use std::ops::Range;
use std::sync::Arc;

use ssd::run::fill_past;
use units::{Bytes, ConfigError};
use workload::{Op, Past, Request, Source, TraceError};

use crate::layout::{Layout, hull};

/// Requests of the whole load that are taken at once, and at most until one is for the drive: it has no part of the
/// load then.
const BATCH: usize = 256;
const MOST: u64 = 1 << 20;
/// Stripes of a range that are looked at one by one; of longer ranges every drive has the same share (assumed: what is
/// wrong at its ends is less than a thousandth).
const FEW: u64 = 4096;

/// A drive's part of a load.
pub(crate) struct Share<'a> {
    /// The load of the array.
    pub whole: &'a dyn Past,
    pub layout: Arc<Layout>,
    /// The place of the drive.
    pub place: usize,
}

impl Past for Share<'_> {
    fn source(&self, reads: bool) -> Result<Box<dyn Source>, ConfigError> {
        Ok(Box::new(ShareSource {
            whole: self.whole.source(reads)?,
            layout: self.layout.clone(),
            place: self.place,
            taken: 0,
            batch: Vec::new(),
            of_drive: Vec::new(),
        }))
    }

    fn written(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for range in self.whole.written() {
            self.add_written(range, &mut ranges);
        }
        ranges.sort_by_key(|range| range.start);
        ranges.dedup_by(|next, last| {
            let joins = next.start <= last.end;
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
        ranges
    }

    /// Parity is written with all data that it protects.
    fn is_uniform(&self, filled: Bytes, unit: Bytes) -> bool {
        let used = self.layout.rows_of(self.place) * self.layout.chunk;
        let whole = Bytes((self.layout.capacity().0 as f64 * filled.0 as f64 / used.max(1) as f64) as u64);
        (self.layout.code.parity == 0 || self.layout.code.copies()) && self.whole.is_uniform(whole, unit)
    }

    fn identity(&self) -> Option<String> {
        let Layout { code, drives, chunk, rows, .. } = &*self.layout;
        // The first units of all groups of stripes tell placements apart.
        let spots = (0..self.layout.stripes().min(FEW)).map(|stripe| self.layout.spot(stripe, 0));
        let spots: String = spots.map(|spot| format!("{}:{} ", spot.place, spot.row)).collect();
        let place = self.place;
        Some(format!("{} place {place} of {drives}, {code:?} {chunk} {rows} {spots}", self.whole.identity()?))
    }
}

impl Share<'_> {
    /// The addresses of the drive that are written where the host writes these.
    fn add_written(&self, range: Range<u64>, to: &mut Vec<Range<u64>>) {
        let Layout { chunk, .. } = *self.layout;
        let stripe_bytes = chunk * self.layout.code.data as u64;
        let stripes = range.start / stripe_bytes..range.end.div_ceil(stripe_bytes);
        if stripes.end - stripes.start > FEW {
            let rows = self.layout.rows_of(self.place);
            let row = |stripe: u64| u128::from(stripe) * u128::from(rows) / u128::from(self.layout.stripes().max(1));
            return to.push(row(stripes.start) as u64 * chunk..row(stripes.end) as u64 * chunk);
        }
        let any = Request::new(units::Time::ZERO, Op::Write, Bytes(range.start), Bytes(range.end - range.start));
        let mut requests = Vec::new();
        of_drive(&self.layout, self.place, &any, &mut requests);
        to.extend(requests.iter().map(|request| request.offset.0..request.offset.0 + request.bytes.0));
    }
}

/// What a request of the host becomes on the drive in a place.
fn of_drive(layout: &Layout, place: usize, request: &Request, to: &mut Vec<Request>) {
    let code = layout.code;
    layout.split(request.offset.0, request.bytes.0, |stripe, pieces| {
        let mut add = |unit: usize, start: u64, end: u64| {
            let spot = layout.spot(stripe, unit);
            if spot.place == place {
                let offset = Bytes(spot.row * layout.chunk + start);
                to.push(Request { offset, bytes: Bytes(end - start), ..*request });
            }
        };
        pieces.iter().for_each(|piece| add(piece.unit, piece.start, piece.end));
        if request.op == Op::Write {
            let (start, end) = hull(pieces);
            (code.data..code.width()).for_each(|unit| add(unit, start, end));
        } else if code.copies() {
            (code.data..code.width()).for_each(|unit| add(unit, pieces[0].start, pieces[0].end));
        }
    });
}

/// The requests of a drive's part of a load.
struct ShareSource {
    whole: Box<dyn Source>,
    layout: Arc<Layout>,
    place: usize,
    /// Requests of the whole load that were taken.
    taken: u64,
    batch: Vec<Request>,
    /// What they became on the drive, in reverse order.
    of_drive: Vec<Request>,
}

impl Source for ShareSource {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let most = self.taken + MOST;
        while self.of_drive.is_empty() && self.taken < most {
            self.batch.clear();
            fill_past(self.whole.as_mut(), self.taken, &mut self.batch, BATCH)?;
            if self.batch.is_empty() {
                break;
            }
            self.taken += self.batch.len() as u64;
            for request in &self.batch {
                let changes = match request.op {
                    Op::Write => true,
                    Op::Trim => self.layout.code.parity == 0 || self.layout.code.copies(),
                    _ => false,
                };
                if changes {
                    of_drive(&self.layout, self.place, &request.within(self.layout.capacity()), &mut self.of_drive);
                }
            }
            self.of_drive.reverse();
        }
        let left = self.of_drive.len().saturating_sub(max);
        batch.extend(self.of_drive.drain(left..).rev());
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.whole.progress()
    }
}
