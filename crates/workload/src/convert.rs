//! Traces into other formats, and parts of traces.

use std::io::{self, Write};

use units::{Bytes, Span, Time};

use crate::error::TraceError;
use crate::request::{Op, ReadCounts, Request, Source};

units::choices! {
    /// Text formats that can be written.
    pub enum Target {
        /// MSR CSV: times in steps of 100 ns, reads and writes.
        Msr = "msr",
        /// MQSim ASCII: whole sectors of 512 B, reads and writes.
        Mqsim = "mqsim",
        /// fio iolog version 3: times in steps of 1 us.
        Fio = "fio",
    }
}

/// What a target could not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Requests whose time was rounded down to the target's step.
    pub times: u64,
    /// Requests that were widened to whole sectors.
    pub widened: u64,
    /// Trims and flushes that were left out.
    pub left_out: u64,
    /// Requests that were written without their placement hint.
    pub hints: u64,
}

/// Writes requests as text, one after another.
pub struct Writer<W: Write> {
    out: W,
    target: Target,
    /// The time of the last request \[us\], where files are closed.
    last: u64,
    /// Requests written.
    pub written: u64,
    /// What was lost.
    pub loss: Loss,
    begun: bool,
    files: Vec<u16>,
}

impl<W: Write> Writer<W> {
    /// A writer to `out`.
    pub fn new(out: W, target: Target) -> Writer<W> {
        Writer { out, target, last: 0, written: 0, loss: Loss::default(), begun: false, files: Vec::new() }
    }

    /// Adds a request. Times must not decrease.
    pub fn push(&mut self, request: &Request) -> io::Result<()> {
        let Request { time, offset, bytes, op, queue, hint, limited: _ } = *request;
        let carries = match op {
            Op::Read | Op::Write => true,
            Op::Trim | Op::Flush => self.target == Target::Fio,
            // None of these formats knows zones, or handles.
            Op::Append | Op::Zone(_) | Op::ZoneReport | Op::HandleUpdate => false,
        };
        if !carries {
            self.loss.left_out += 1;
            return Ok(());
        }
        let step = match self.target {
            Target::Msr => 100,
            Target::Mqsim => 1,
            Target::Fio => 1000,
        };
        self.loss.times += u64::from(time.0 % step != 0);
        self.loss.hints += u64::from(hint != 0);
        let time = time.0 / step;
        self.written += 1;
        match self.target {
            Target::Msr => {
                let kind = if op == Op::Read { "Read" } else { "Write" };
                writeln!(self.out, "{time},trace,{queue},{kind},{},{},0", offset.0, bytes.0)
            }
            Target::Mqsim => {
                let (first, end) = (offset.0 / 512, (offset.0 + bytes.0).div_ceil(512));
                self.loss.widened += u64::from(offset.0 % 512 != 0 || bytes.0 % 512 != 0);
                writeln!(self.out, "{time} {queue} {first} {} {}", end - first, u8::from(op == Op::Read))
            }
            Target::Fio => self.push_fio(time, request),
        }
    }

    fn push_fio(&mut self, time: u64, request: &Request) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            writeln!(self.out, "fio version 3 iolog")?;
        }
        let queue = request.queue;
        if let Err(at) = self.files.binary_search(&queue) {
            self.files.insert(at, queue);
            writeln!(self.out, "{time} device{queue} add\n{time} device{queue} open")?;
        }
        self.last = time;
        // A sync has an extent too, of nothing: fio passes over what has fewer words.
        let (action, offset, bytes) = match request.op {
            Op::Flush => ("sync", 0, 0),
            op => (op.name(), request.offset.0, request.bytes.0),
        };
        writeln!(self.out, "{time} device{queue} {action} {offset} {bytes}")
    }

    /// Completes the output.
    pub fn finish(mut self) -> io::Result<(u64, Loss)> {
        for queue in &self.files {
            writeln!(self.out, "{} device{queue} close", self.last)?;
        }
        self.out.flush()?;
        Ok((self.written, self.loss))
    }
}

/// A part of a source: what lies within all of these bounds. Times count from the part's first request.
pub struct Cut<S> {
    source: S,
    /// From this time on.
    pub from: Span,
    /// Up to this time, itself left out.
    pub until: Option<Span>,
    /// At most this many requests.
    pub requests: Option<u64>,
    /// Of this device (queue) alone.
    pub device: Option<u16>,
    /// Requests that touch bytes from the first up to the second, itself left out.
    pub range: Option<(Bytes, Bytes)>,
    taken: u64,
    origin: Option<u64>,
    ended: bool,
    batch: Vec<Request>,
}

impl<S: Source> Cut<S> {
    /// The whole source; set the bounds before it is read.
    pub fn new(source: S) -> Cut<S> {
        Cut {
            source,
            from: Span::ZERO,
            until: None,
            requests: None,
            device: None,
            range: None,
            taken: 0,
            origin: None,
            ended: false,
            batch: Vec::new(),
        }
    }

    fn within(&self, request: &Request) -> bool {
        let touches = |(from, to): (Bytes, Bytes)| {
            request.offset < to && request.offset.0 + request.bytes.0 > from.0 && request.op.has_address()
        };
        request.time.0 >= self.from.0
            && self.device.is_none_or(|device| device == request.queue)
            && self.range.is_none_or(touches)
    }
}

impl<S: Source> Source for Cut<S> {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let wanted = batch.len() + max;
        while batch.len() < wanted && !self.ended {
            self.batch.clear();
            self.source.fill(&mut self.batch, (wanted - batch.len()).min(4096))?;
            self.ended = self.batch.is_empty();
            for request in &self.batch {
                if self.until.is_some_and(|until| request.time.0 >= until.0)
                    || self.requests.is_some_and(|limit| self.taken >= limit)
                {
                    self.ended = true;
                    break;
                }
                if self.within(request) {
                    let origin = *self.origin.get_or_insert(request.time.0);
                    batch.push(Request { time: Time(request.time.0 - origin), ..*request });
                    self.taken += 1;
                }
            }
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    fn counts(&self) -> ReadCounts {
        self.source.counts()
    }
}
