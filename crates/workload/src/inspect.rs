//! What a trace file is read as, and what about it looks as if it were read wrong: a second look at the choice of
//! format and units, which the content rarely settles.

use std::path::Path;

use units::{Bytes, Span};

use crate::error::TraceError;
use crate::formats::{BY_NAMES, Format, Scales};
use crate::request::{Request, Source as _};
use crate::trace::{ReadOptions, TraceFile};

/// What a trace file is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Format and units, and other formats that the content fits.
    pub read_as: String,
    /// What looks wrong.
    pub doubts: Vec<Doubt>,
    /// Requests that were looked at.
    pub requests: u64,
}

/// What looks wrong in a trace, by what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Units or columns.
    Units(String),
    /// All requests have one time.
    AtOnce(String),
    /// The clock jumps.
    Clock(String),
    /// The file ends within a line.
    Cut(String),
}

impl Doubt {
    /// A line for people.
    pub fn text(&self) -> &str {
        let (Doubt::Units(text) | Doubt::AtOnce(text) | Doubt::Clock(text) | Doubt::Cut(text)) = self;
        text
    }
}

/// Looks through a whole trace, in the order of its lines.
pub fn inspect(path: &Path, format: Option<Format>, reading: ReadOptions) -> Result<Inspection, TraceError> {
    inspect_head(path, format, reading, u64::MAX)
}

/// Looks through the first `most` requests of a trace, in the order of its lines.
pub fn inspect_head(
    path: &Path,
    format: Option<Format>,
    reading: ReadOptions,
    most: u64,
) -> Result<Inspection, TraceError> {
    let mut trace = TraceFile::open_with(path, format, reading)?;
    let mut seen = Seen::default();
    trace.scan(most, |line, request| seen.add(line, request))?;
    let format = trace.format();
    let mut read_as = format.describe_columns();
    if !trace.others().is_empty() {
        read_as += &format!("; it also fits {}", trace.others().join(" and "));
    }
    read_as += match (trace.note(), format.remedy("time=us,offset=B,size=B")) {
        // A declared format that nobody has declared: by the names of its columns, with which the note may end.
        (Some(note), _) if note == format!("{BY_NAMES}: {read_as}") => format!(" ({BY_NAMES})"),
        (Some(note), _) if format.is_declared() => format!("; {note}"),
        (Some(_), Some(words)) => format!("; the file does not tell its units: {words} gives others"),
        (Some(_), None) => "; --format chooses another".into(),
        (None, _) => ", as --format says".into(),
    }
    .as_str();
    let mut doubts = seen.doubts(format);
    if trace.counts().cut_lines > 0 {
        doubts.push(Doubt::Cut("the file ends within a line, which is left out: was it written whole?".into()));
    }
    Ok(Inspection { read_as, doubts, requests: seen.requests })
}

/// Forward steps of the clock from here on may be jumps.
const JUMP: Span = Span(600 * 1_000_000_000);
/// A jump is this many times the mean of the other gaps. The nights of the servers of MSR Cambridge are up to 3,200
/// times theirs.
const JUMP_RATIO: f64 = 10_000.0;
/// This many jumps are named.
const JUMPS: usize = 3;
/// Backward steps from here on are named; shorter ones are requests logged out of order.
const BACK: Span = Span(1_000_000_000);
/// Means over a whole trace that hardly a drive is asked for [requests/s], [B/s].
const MOST_RATE: f64 = 250e3;
const MOST_BANDWIDTH: f64 = 4e9;
/// Mean gaps from here on \[s] look like a smaller unit of time.
const LONGEST_GAP: f64 = 1000.0;
/// Means are judged from this many requests on.
const MANY: u64 = 100;
/// More than a drive holds.
const LARGEST_DRIVE: Bytes = Bytes(1 << 49);
/// Where addresses are bytes, they and sizes are multiples of this.
const SECTOR: u64 = 512;
/// The share of sizes that are no multiples of a sector, from which on they are in another unit: block devices are
/// asked for sectors.
const RAGGED: f64 = 0.5;

/// What has been seen of a trace.
#[derive(Default)]
struct Seen {
    requests: u64,
    bytes: u64,
    first: u64,
    earliest: u64,
    latest: u64,
    last: u64,
    /// The longest forward steps of the clock with their lines, the longest first.
    jumps: Vec<(u64, u64)>,
    /// The longest backward step and its line.
    back: (u64, u64),
    /// The greatest common divisor of the offsets, and of the sizes.
    offsets: u64,
    sizes: u64,
    largest: u64,
    end: u64,
    /// Sizes that are no multiples of a sector.
    ragged: u64,
}

impl Seen {
    fn add(&mut self, line: u64, request: &Request) {
        let time = request.time.0;
        if self.requests == 0 {
            (self.first, self.earliest, self.latest, self.last) = (time, time, time, time);
        }
        self.requests += 1;
        let (ahead, back) = (time.saturating_sub(self.last), self.last.saturating_sub(time));
        if ahead >= JUMP.0 {
            let place = self.jumps.partition_point(|(jump, _)| *jump >= ahead);
            self.jumps.insert(place, (ahead, line));
            self.jumps.truncate(JUMPS);
        }
        self.back = if back > self.back.0 { (back, line) } else { self.back };
        (self.earliest, self.latest, self.last) = (self.earliest.min(time), self.latest.max(time), time);
        if request.op.has_address() {
            let (offset, bytes) = (request.offset.0, request.bytes.0);
            self.bytes = self.bytes.saturating_add(bytes);
            self.offsets = divisor(self.offsets, offset);
            self.sizes = divisor(self.sizes, bytes);
            self.largest = self.largest.max(bytes);
            self.ragged += u64::from(!bytes.is_multiple_of(SECTOR));
            self.end = self.end.max(offset + bytes);
        }
    }

    fn doubts(&self, format: Format) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = self.addresses(format).into_iter().map(Doubt::Units).collect();
        self.clock(format, &mut doubts);
        doubts
    }

    /// What looks wrong about offsets and sizes.
    fn addresses(&self, format: Format) -> Vec<String> {
        let mut doubts = Vec::new();
        // Where a format has units of its own, what is read of it is compared as it is: in bytes.
        let Scales { offset, size } = format.scales().unwrap_or(Scales { offset: 1, size: 1 });
        let in_bytes = |unit: u64, all: u64| unit > 1 && all > 0 && (all / unit).is_multiple_of(SECTOR);
        match (in_bytes(offset, self.offsets), in_bytes(size, self.sizes)) {
            (true, true) => doubts.push(ask(
                format,
                format!("all offsets and sizes, read in units of {}, are multiples of {SECTOR}", Bytes(offset)),
                "offset=B,size=B",
            )),
            (_, true) => doubts.push(ask(
                format,
                format!("all sizes, read in units of {}, are multiples of {SECTOR}", Bytes(size)),
                "size=B",
            )),
            (true, _) if self.end > LARGEST_DRIVE.0 || self.requests >= MANY => doubts.push(ask(
                format,
                format!("all offsets, read in units of {}, are multiples of {SECTOR}", Bytes(offset)),
                "offset=B",
            )),
            _ => {}
        }
        let sectors = if offset == 1 { "offset=sector,size=sector" } else { "size=sector" };
        if size == 1 && self.largest > 0 && self.largest < SECTOR {
            let problem = format!("no request reaches {SECTOR} bytes, the largest has {}", self.largest);
            doubts.push(ask(format, problem, sectors));
        } else if size == 1 && self.requests >= MANY && self.ragged as f64 > RAGGED * self.requests as f64 {
            let problem = format!("{} of {} sizes are no whole sectors of {SECTOR} bytes", self.ragged, self.requests);
            doubts.push(ask(format, problem, sectors));
        }
        if self.end > LARGEST_DRIVE.0 {
            doubts.push(format!("addresses reach {}, more than a drive holds", Bytes(self.end)));
        }
        doubts
    }

    /// What looks wrong about times.
    fn clock(&self, format: Format, doubts: &mut Vec<Doubt>) {
        let mut seconds = (self.latest - self.earliest) as f64 / 1e9;
        let jumps = self.jumps.iter().map(|(jump, line)| (*jump as f64 / 1e9, line));
        let others = self.requests.saturating_sub(1 + self.jumps.len() as u64).max(1) as f64;
        let rest = (seconds - jumps.clone().map(|(jump, _)| jump).sum::<f64>()).max(0.0) / others;
        for (jump, line) in jumps.filter(|(jump, _)| *jump > JUMP_RATIO * rest) {
            doubts.push(Doubt::Clock(format!("the clock jumps ahead by {jump:.0} s at line {line}")));
            seconds -= jump;
        }
        if self.requests >= MANY {
            let (rate, bandwidth) = (self.requests as f64 / seconds, self.bytes as f64 / seconds);
            if seconds <= 0.0 {
                doubts.push(Doubt::AtOnce("all requests come at once: the times say nothing".into()));
            } else if rate > MOST_RATE || bandwidth > MOST_BANDWIDTH {
                let gigabytes = bandwidth / 1e9;
                let problem =
                    format!("{rate:.0} requests/s and {gigabytes:.1} GB/s on average: hardly a drive takes that");
                doubts.push(Doubt::Units(ask(format, problem, "time=us")));
            } else if rate < 1.0 / LONGEST_GAP {
                let problem = format!("a request comes every {:.0} s on average", 1.0 / rate);
                doubts.push(Doubt::Units(ask(format, problem, "time=ns")));
            }
        }
        if self.back.0 >= BACK.0 {
            let (back, line) = (self.back.0 as f64 / 1e9, self.back.1);
            doubts.push(Doubt::Clock(format!("the clock goes back by {back:.3} s at line {line}")));
        }
    }
}

/// A problem, with the option that would read other units where there is one.
fn ask(format: Format, problem: String, options: &str) -> String {
    match format.remedy(options) {
        Some(words) => format!("{problem}: {words}?"),
        None => problem,
    }
}

/// The greatest common divisor; that of 0 and a number is the number.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
