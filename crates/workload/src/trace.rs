//! A trace file as a [`Source`].

use std::collections::VecDeque;
use std::path::Path;

use units::Time;

use crate::error::TraceError;
use crate::formats::{Detected, Fault, Format, LineReader, Why, is_blank, names_columns};
use crate::input::{FIRST_LINES, Input};
use crate::request::{LARGEST_REQUEST, ReadCounts, Request, Source};

/// How a trace with malformed or misplaced lines is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Malformed lines that may be skipped, counted; one more is an error.
    pub skip_bad_lines: u64,
    /// Requests that are held back to be put in order of time, so that a line may come this many requests too late.
    pub sort_window: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { skip_bad_lines: 0, sort_window: 1024 }
    }
}

/// A trace file, plain or compressed, delivered request by request in order of time. The first request is at time 0.
pub struct TraceFile {
    input: Input,
    format: Format,
    note: Option<String>,
    /// Other formats that the content fits.
    others: Vec<&'static str>,
    lines: Box<dyn LineReader>,
    /// The length of a record, where it is no text.
    record: Option<usize>,
    reading: ReadOptions,
    /// Requests read ahead, in order of time as the trace counts it.
    window: VecDeque<Request>,
    /// Nothing further can be read.
    ended: bool,
    /// The time column of the first request: what is time 0 to the device.
    origin: Option<u64>,
    /// The time of the request delivered last.
    last: u64,
    counts: ReadCounts,
    keep_times: bool,
    /// Why nothing further can be read, and the same after it has been reported.
    pending: Option<TraceError>,
    failed: Option<TraceError>,
    /// A request has been read.
    begun: bool,
}

impl TraceFile {
    /// Opens `path` as `format`, or as the format that its first lines show.
    pub fn open(path: &Path, format: Option<Format>) -> Result<TraceFile, TraceError> {
        TraceFile::open_with(path, format, ReadOptions::default())
    }

    /// Opens `path` as `format`, or as the format that its first lines show, with options.
    pub fn open_with(path: &Path, format: Option<Format>, reading: ReadOptions) -> Result<TraceFile, TraceError> {
        let mut input = Input::open(path)?;
        // Text has no zeros.
        let is_text = !input.head().iter().take(64).any(|byte| *byte == 0);
        let binary = match format {
            Some(format) => format.record().map(|_| Detected::chosen(format)),
            None if !is_text => Some(Format::detect_binary(input.head()).ok_or_else(|| unknown_records(&input))?),
            None => None,
        };
        if let Some(detected) = binary {
            return Ok(TraceFile::new(input, detected, reading));
        }
        let first = input.first_lines()?;
        if first.is_empty() {
            return Err(no_requests(&input));
        }
        let detected = match format {
            Some(format) => Detected::chosen(format),
            None => match detected(&input, &first)? {
                Some(detected) => detected,
                None if first.len() < FIRST_LINES && first.iter().all(|line| is_blank(line)) => {
                    return Err(no_requests(&input));
                }
                None => return Err(undetectable(&input, &first)),
            },
        };
        Ok(TraceFile::new(input, detected, reading))
    }

    fn new(input: Input, detected: Detected, reading: ReadOptions) -> TraceFile {
        let note = detected.note();
        let Detected { format, others, .. } = detected;
        TraceFile {
            input,
            format,
            note,
            others,
            lines: format.lines(),
            record: format.record(),
            reading,
            window: VecDeque::new(),
            ended: false,
            origin: None,
            last: 0,
            counts: ReadCounts::default(),
            keep_times: false,
            pending: None,
            failed: None,
            begun: false,
        }
    }

    /// This trace with the times of its file: the first request is not at time 0.
    pub fn with_its_own_times(self) -> TraceFile {
        TraceFile { keep_times: true, ..self }
    }

    /// The format it is read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the user should know about the choice of format, where it was detected.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Other formats that its content fits, where the format was detected.
    pub(crate) fn others(&self) -> &[&'static str] {
        &self.others
    }

    /// Goes through the first `most` requests in the order of the file instead of that of their times, with the line or
    /// record of each.
    pub(crate) fn scan(&mut self, most: u64, mut each: impl FnMut(u64, &Request)) -> Result<(), TraceError> {
        for _ in 0..most {
            let Some(request) = self.next_in_file()? else { break };
            each(self.input.number(), &request);
        }
        Ok(())
    }

    fn read_batch(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        for _ in 0..max {
            while !self.ended && self.window.len() <= self.reading.sort_window {
                // What stands before a faulty line is delivered first.
                if let Err(error) = self.read_ahead() {
                    (self.ended, self.pending) = (true, Some(error));
                }
            }
            let Some(request) = self.window.pop_front() else {
                if let Some(error) = self.pending.take() {
                    return Err(error);
                }
                return if self.origin.is_some() { Ok(()) } else { Err(no_requests(&self.input)) };
            };
            let time = request.time.0;
            let origin = *self.origin.get_or_insert(if self.keep_times { 0 } else { time });
            self.last = time;
            batch.push(Request { time: Time(time - origin), ..request });
        }
        Ok(())
    }

    /// Puts the next request of the file into the window.
    #[inline]
    fn read_ahead(&mut self) -> Result<(), TraceError> {
        let Some(request) = self.next_in_file()? else {
            self.ended = true;
            return Ok(());
        };
        if self.window.back().is_none_or(|last| last.time <= request.time) && request.time.0 >= self.last {
            self.window.push_back(request);
            return Ok(());
        }
        self.sort_in(request)
    }

    /// The next request of the file, if there is one.
    #[inline]
    fn next_in_file(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            let more = match self.record {
                None => self.input.advance()?,
                Some(length) => self.input.advance_record(length)?,
            };
            if !more {
                return Ok(None);
            }
            let line = self.input.line();
            match self.lines.read(line) {
                Ok(Some(request)) => {
                    self.begun = true;
                    return Ok(Some(request));
                }
                Ok(None) => {
                    self.counts.other_lines += 1;
                    continue;
                }
                Err(_) if self.record.is_none() && is_blank(line) => continue,
                Err(_) if self.is_head() => {
                    self.counts.other_lines += 1;
                    continue;
                }
                Err(_) if self.counts.bad_lines < self.reading.skip_bad_lines => {
                    self.counts.bad_lines += 1;
                    continue;
                }
                Err(fault) if self.is_cut(fault) => {
                    self.counts.bad_lines += 1;
                    self.counts.cut_lines += 1;
                    return Ok(None);
                }
                Err(fault) => return Err(self.explain(fault)),
            }
        }
    }

    /// Whether the current line names the columns of those behind it.
    #[cold]
    fn is_head(&self) -> bool {
        let first = !self.begun && self.counts.other_lines == 0 && self.counts.bad_lines == 0;
        first && self.record.is_none() && names_columns(self.input.line())
    }

    /// Whether the current line is the last one and ends before its columns do, behind requests that are whole:
    /// whatever wrote the file was stopped.
    #[cold]
    fn is_cut(&self, fault: Fault) -> bool {
        let last = matches!(fault.why, Why::Missing | Why::Malformed)
            && self.format.words(self.input.line()) <= fault.column + 1;
        self.begun && self.record.is_none() && self.input.is_unended() && last
    }

    /// A request that stands too late in the file.
    #[cold]
    fn sort_in(&mut self, request: Request) -> Result<(), TraceError> {
        if request.time.0 < self.last {
            return Err(self.backwards(self.last - request.time.0));
        }
        self.counts.reordered += 1;
        let place = self.window.partition_point(|other| other.time <= request.time);
        self.window.insert(place, request);
        Ok(())
    }

    #[cold]
    fn explain(&self, fault: Fault) -> TraceError {
        let line = self.input.line();
        let title = self.format.title();
        let columns = self.format.columns();
        let declare =
            if line.contains(&b',') { format!(", or declare its columns: {DECLARED}") } else { String::new() };
        let other_format = match self.format.is_declared() {
            true => "if every line looks like this, name the file's columns in their order in --format".to_owned(),
            false => format!("if every line looks like this it is not {title}: choose another with --format{declare}"),
        };
        let text = self.format.field(line, fault.column);
        let (problem, remedy) = match fault.why {
            Why::Malformed | Why::Missing if self.format.has_open_quote(line) => (
                "expected the quote to be closed on this line".into(),
                "close it, or write a quote inside quotes twice; requests do not go over several lines".into(),
            ),
            Why::Malformed if is_grouped(text) => (
                format!("expected {}", columns[fault.column].expects),
                format!(
                    "write numbers without marks for thousands, and with one mark for decimals: a point, or a comma in files whose \
                     columns are parted by semicolons or tabs; {other_format}"
                ),
            ),
            Why::Malformed => (
                format!("expected {}", columns[fault.column].expects),
                format!("correct the line or drop it; {other_format}"),
            ),
            Why::Missing => (
                format!("expected {} columns and this is where column {} is missing", columns.len(), fault.column + 1),
                format!("drop the line if the file was cut short; {other_format}"),
            ),
            Why::Extra => (
                format!("expected {} columns and nothing behind them", columns.len()),
                format!("correct the line or drop it; {other_format}"),
            ),
            Why::Overflow => (
                "expected a number that fits 64 bits in ns or bytes".into(),
                "check the column, and the unit it is read in".into(),
            ),
            Why::Zero => ("expected at least one byte".into(), "drop requests of no bytes from the trace".into()),
            Why::TooLarge => (
                format!("expected at most {LARGEST_REQUEST} a request"),
                format!(
                    "check the unit of the column: this is read as {}, and ASCII traces in bytes need `:offset=B,size=B`",
                    self.format
                ),
            ),
            Why::PastEnd => (
                "expected the request to end within 64 bits of bytes".into(),
                "check the offset, and the unit it is read in".into(),
            ),
        };
        // A column that is not there has no text: show how the line ends instead.
        let text = match fault.why {
            Why::Missing => &line[line.len().saturating_sub(40)..],
            _ => text,
        };
        let error = TraceError::new(self.input.file(), problem, remedy).at(self.input.number());
        match columns.get(fault.column) {
            Some(column) if self.record.is_none() => error.in_column(fault.column, column.name, text),
            Some(column) => error.in_field(column.name, text),
            None => error.in_field("end of line", text),
        }
    }

    #[cold]
    fn backwards(&self, by: u64) -> TraceError {
        let column = self.format.time_column();
        let text = self.format.field(self.input.line(), column);
        TraceError::new(
            self.input.file(),
            format!("expected it no more than {} requests too late: it goes back by {by} ns", self.reading.sort_window),
            "widen the window (--sort-window), or sort the trace by its time column first (such as with `sort -s -n`)",
        )
        .at(self.input.number())
        .in_column(column, self.format.columns()[column].name, text)
    }
}

impl Source for TraceFile {
    /// The requests before a faulty line are delivered; the error then comes again at every call.
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.read_batch(batch, max).inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn progress(&self) -> Option<f64> {
        self.input.progress()
    }

    fn counts(&self) -> ReadCounts {
        self.counts
    }
}

/// The format that the first lines of a file show. Names of columns that tell a unit, or which word is a write, say
/// more than what the lines look like; other ones say less.
fn detected(input: &Input, first: &[Vec<u8>]) -> Result<Option<Detected>, TraceError> {
    let by_names = match Format::of_names(first) {
        Some(Ok((detected, true))) => return Ok(Some(detected)),
        by_names => by_names,
    };
    if let Some(detected) = Format::detect(first).or_else(|| Format::detect(without_names(first))) {
        return Ok(Some(detected));
    }
    match by_names {
        None => Ok(None),
        Some(Ok((detected, _))) => Ok(Some(detected)),
        Some(Err((problem, remedy))) => {
            let at = first.iter().position(|line| !is_blank(line)).unwrap_or(0);
            Err(TraceError::new(input.file(), problem, remedy).at(at as u64 + 1))
        }
    }
}

/// The first lines of a file without the one that names its columns.
fn without_names(first: &[Vec<u8>]) -> &[Vec<u8>] {
    let at = first.iter().position(|line| !is_blank(line)).filter(|at| names_columns(&first[*at]));
    at.map_or(&[], |at| &first[at + 1..])
}

/// Whether a text is digits with marks between them.
fn is_grouped(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'\'' | b' ');
    text.first().is_some_and(u8::is_ascii_digit) && text.iter().all(is_part)
}

fn no_requests(input: &Input) -> TraceError {
    TraceError::new(input.file(), "holds no requests", "check that this is the trace, and that it was written whole")
}

/// How a user declares the columns of a file.
const DECLARED: &str =
    "--format csv:time=us,op=R/W,offset=B,size=B,device,hint,skip, in the order of the file's columns";

/// Bytes that are no text and of no known records.
fn unknown_records(input: &Input) -> TraceError {
    TraceError::new(
        input.file(),
        "is no text, and its bytes are of no format that can be told from its content",
        "check the file; if it is a trace of binary records, choose with --format: vscsi, oracle",
    )
}

fn undetectable(input: &Input, first: &[Vec<u8>]) -> TraceError {
    let list: Vec<String> = Format::list().map(|format| format!("{} ({})", format.name, format.title)).collect();
    let at = first.iter().position(|line| !is_blank(line)).unwrap_or(0);
    let choose = format!("choose the format with --format: {}", list.join(", "));
    let columns = |start: &str| format!("declare its columns: {}", DECLARED.replace("csv:", start));
    let has = |byte: u8| first[at].contains(&byte);
    // Commas may stand before decimals.
    let remedy = match (has(b';'), has(b'\t'), has(b',')) {
        _ if first[at].starts_with(b"{") => {
            "prompts of a language model are no requests yet: give a file that is called NAME.jsonl as --workload \
                                            of `ssdlab run` (docs/tier.md)"
                .into()
        }
        (true, _, _) => format!("{}; or {choose}", columns("semicolons:")),
        (_, true, _) => format!("{}; or {choose}", columns("tabs:")),
        (_, _, true) => format!("{}; or {choose}", columns("csv:")),
        _ => format!("{choose}; or {}", columns("blanks:")),
    };
    let mut error = TraceError::new(input.file(), "which is of no format that can be told from its content", remedy)
        .at(at as u64 + 1);
    error.found = Some(crate::error::excerpt(&first[at]));
    error
}
