//! Lines cut into columns by commas or blanks, each column with a declared meaning and unit: most public formats are rows
//! of this, and `csv:…` and `blanks:…` let users declare their own.

use super::columns::{decimal, request, whole};
use super::unit::{SizeUnit, TimeUnit, advice, unit};
use super::{Column, Entry, Fault, Lines, Read, Scales, Separator, Why};
use crate::request::{Op, Request};

macro_rules! column {
    ($name:literal, $expects:literal) => {
        Column { name: $name, expects: $expects }
    };
}

/// What the words of an operation column mean. Capitals do not matter.
#[derive(Clone, Copy)]
pub(super) enum OpWords {
    /// The words of reads and of writes.
    Words(&'static [(&'static str, Op)]),
    /// Whole numbers whose lowest bit is set for writes.
    LowBit,
}

/// A column's meaning.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    Time(TimeUnit),
    Offset(SizeUnit),
    Size(SizeUnit),
    Op(OpWords),
    /// A volume or device number.
    Device,
    /// Anything.
    Other,
}

/// A format's columns.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub separator: Separator,
    pub holds: &'static [Holds],
    /// Further columns may follow.
    pub open_ended: bool,
    /// Lines that begin with this word, in any case, only describe.
    pub header: Option<&'static str>,
}

impl Layout {
    /// Bytes in the units of offsets and sizes.
    pub(super) fn scales(&self) -> Scales {
        let mut scales = Scales { offset: 1, size: 1 };
        for holds in self.holds {
            match holds {
                Holds::Offset(unit) => scales.offset = unit.bytes(),
                Holds::Size(unit) => scales.size = unit.bytes(),
                _ => {}
            }
        }
        scales
    }
}

/// The reader of a layout.
pub(super) fn reader(layout: &Layout) -> Box<dyn Lines> {
    Box::new(Delimited(*layout))
}

struct Delimited(Layout);

impl Lines for Delimited {
    #[inline]
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        let layout = &self.0;
        if let Some(word) = layout.header
            && line.len() >= word.len()
            && line[..word.len()].eq_ignore_ascii_case(word.as_bytes())
        {
            return Ok(None);
        }
        let (mut time, mut offset, mut bytes, mut device, mut op) = (0, (0, 0), (0, 0), 0, Op::Read);
        let mut rest = Some(line);
        for (column, holds) in layout.holds.iter().enumerate() {
            let Some(text) = next(&mut rest, layout.separator) else {
                return Err(Fault { column, why: Why::Missing });
            };
            match holds {
                Holds::Time(unit) => time = all(text, column, |text, at| decimal(text, at, unit.decimals(), column))?,
                Holds::Offset(unit) => offset = (scaled(text, *unit, column)?, column),
                Holds::Size(unit) => bytes = (scaled(text, *unit, column)?, column),
                Holds::Device => device = all(text, column, |text, at| whole(text, at, column))?,
                Holds::Op(words) => op = words.op(text).ok_or(Fault { column, why: Why::Bad })?,
                Holds::Other => {}
            }
        }
        if !layout.open_ended && next(&mut rest, layout.separator).is_some() {
            return Err(Fault { column: layout.holds.len(), why: Why::Extra });
        }
        request(time, offset, bytes, op, device)
    }
}

impl OpWords {
    fn op(self, text: &[u8]) -> Option<Op> {
        match self {
            OpWords::Words(words) => {
                words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes())).map(|(_, op)| *op)
            }
            OpWords::LowBit => {
                let mut at = 0;
                let code = whole(text, &mut at, 0).ok().filter(|_| at == text.len())?;
                Some(if code % 2 == 1 { Op::Write } else { Op::Read })
            }
        }
    }
}

/// The next column's text, without blanks around it; nothing at the end of the line.
#[inline]
fn next<'a>(rest: &mut Option<&'a [u8]>, separator: Separator) -> Option<&'a [u8]> {
    match separator {
        Separator::Comma => {
            let line = (*rest)?;
            match memchr::memchr(b',', line) {
                Some(comma) => {
                    *rest = Some(&line[comma + 1..]);
                    Some(line[..comma].trim_ascii())
                }
                None => {
                    *rest = None;
                    Some(line.trim_ascii())
                }
            }
        }
        Separator::Blanks => {
            let line = (*rest)?.trim_ascii_start();
            if line.is_empty() {
                return None;
            }
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            *rest = Some(&line[end..]);
            Some(&line[..end])
        }
        Separator::Record(_) => None,
    }
}

/// What a reader makes of a whole column: nothing may follow it.
#[inline]
fn all(text: &[u8], column: usize, read: impl Fn(&[u8], &mut usize) -> Result<u64, Fault>) -> Result<u64, Fault> {
    let mut at = 0;
    let value = read(text, &mut at).map_err(|fault| match fault.why {
        // The column is there: what is missing is a number in it.
        Why::Missing => Fault { column, why: Why::Bad },
        _ => fault,
    })?;
    if at == text.len() { Ok(value) } else { Err(Fault { column, why: Why::Bad }) }
}

#[inline]
fn scaled(text: &[u8], unit: SizeUnit, column: usize) -> Result<u64, Fault> {
    let value = all(text, column, |text, at| whole(text, at, column))?;
    value.checked_mul(unit.bytes()).ok_or(Fault { column, why: Why::Overflow })
}

/// Read and write as words, as letters, and as numbers.
const LETTERS: OpWords = OpWords::Words(&[("R", Op::Read), ("W", Op::Write), ("Read", Op::Read), ("Write", Op::Write)]);

/// A format as users declare it: `csv:` or `blanks:`, then what each column holds, in order.
pub(super) fn declared(word: &str, separator: Separator, columns: &str) -> Result<&'static Entry, (String, String)> {
    let (mut holds, mut names) = (Vec::new(), Vec::new());
    let mut seen = [0; 5];
    for option in columns.split(',') {
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        let (place, hold, name, expects) = match key {
            "time" => (0, Holds::Time(unit(value.unwrap_or("s"), TimeUnit::ALL)?), "time", "a number"),
            "offset" => (1, Holds::Offset(SizeUnit::parse(value.unwrap_or("B"))?), "offset", "a whole number"),
            "size" => (2, Holds::Size(SizeUnit::parse(value.unwrap_or("B"))?), "size", "a whole number"),
            "op" => (3, Holds::Op(op_words(value)?), "op", "one of the declared words for reads and writes"),
            "device" => (4, Holds::Device, "device", "a whole number"),
            "skip" => {
                holds.push(Holds::Other);
                names.push(column!("column", "anything"));
                continue;
            }
            _ => {
                let keys = ["time", "offset", "size", "op", "device", "skip"];
                return Err((format!("`{option}` is not a column"), advice(key, &keys)));
            }
        };
        seen[place] += 1;
        holds.push(hold);
        names.push(Column { name, expects });
    }
    let words = ["time", "offset", "size", "op", "device"];
    if let Some(twice) = seen.iter().position(|count| *count > 1) {
        return Err((format!("`{}` is given twice", words[twice]), "give it once".into()));
    }
    if let Some(absent) = seen[..4].iter().position(|count| *count == 0) {
        let example = "write such as csv:time=us,op=R/W,offset=B,size=sector,device,skip";
        return Err((format!("no column holds `{}`", words[absent]), example.into()));
    }
    let time_column = holds.iter().position(|hold| matches!(hold, Holds::Time(_))).unwrap_or(0);
    // A declared format lives as long as the program: there is one a command line.
    let layout = Layout { separator, holds: Box::leak(holds.into()), open_ended: true, header: None };
    Ok(Box::leak(Box::new(Entry {
        name: Box::leak(word.into()),
        title: "declared columns",
        layout: "as declared",
        units: None,
        separator,
        columns: Box::leak(names.into()),
        time_column,
        looks_like: |_| false,
        read: Read::Columns(Box::leak(Box::new(layout))),
    })))
}

/// `R/W`: the word of reads, then that of writes.
fn op_words(words: Option<&str>) -> Result<OpWords, (String, String)> {
    let Some(words) = words else { return Ok(LETTERS) };
    match words.split_once('/') {
        Some((read, write)) if !read.is_empty() && !write.is_empty() && !read.eq_ignore_ascii_case(write) => {
            let of = |word: &str| -> &'static str { Box::leak(word.into()) };
            Ok(OpWords::Words(Box::leak(vec![(of(read), Op::Read), (of(write), Op::Write)].into())))
        }
        _ => Err((
            format!("`op={words}` is not two words"),
            "write the word of reads, then that of writes: op=R/W or op=0/1".into(),
        )),
    }
}

/// Columns of a line parted by commas.
fn commas(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect()
}

fn is_number(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit) && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

fn is_letter(text: &[u8]) -> bool {
    matches!(text, b"R" | b"W" | b"r" | b"w")
}

/// Every line but a header is like this.
fn every(lines: &[&[u8]], header: &str, like: impl Fn(&[&[u8]]) -> bool) -> bool {
    let mut some = false;
    for line in lines {
        let is_header = line.len() >= header.len() && line[..header.len()].eq_ignore_ascii_case(header.as_bytes());
        if header.is_empty() || !is_header {
            some = true;
            if !like(&commas(line)) {
                return false;
            }
        }
    }
    some
}

macro_rules! layout {
    ($name:ident = $separator:ident, $open:literal, $header:expr, [$($holds:expr),+ $(,)?]) => {
        static $name: Layout = Layout {
            separator: Separator::$separator,
            holds: &[$($holds),+],
            open_ended: $open,
            header: $header,
        };
    };
}

layout!(
    ALIBABA_LAYOUT = Comma,
    false,
    Some("device_id,"),
    [
        Holds::Device,
        Holds::Op(LETTERS),
        Holds::Offset(SizeUnit::BYTE),
        Holds::Size(SizeUnit::BYTE),
        Holds::Time(TimeUnit::Us),
    ]
);

/// J. Li, Q. Wang, P. P. C. Lee, C. Shi, "An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale
/// Production", IISWC'20.
pub(super) static ALIBABA: Entry = Entry {
    name: "alibaba",
    title: "Alibaba block traces",
    layout: "device_id,opcode,offset,length,timestamp: R/W, bytes, bytes, microseconds",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("device_id", "a whole number"),
        column!("opcode", "R or W"),
        column!("offset", "a whole number of bytes"),
        column!("length", "a whole number of bytes"),
        column!("timestamp", "a whole number of microseconds"),
    ],
    time_column: 4,
    looks_like: |lines| {
        every(lines, "device_id,", |columns| {
            columns.len() == 5 && is_letter(columns[1]) && [0, 2, 3, 4].iter().all(|at| is_number(columns[*at]))
        })
    },
    read: Read::Columns(&ALIBABA_LAYOUT),
};

layout!(
    SYSTOR_LAYOUT = Comma,
    false,
    Some("Timestamp,"),
    [
        Holds::Time(TimeUnit::S),
        Holds::Other,
        Holds::Op(LETTERS),
        Holds::Device,
        Holds::Offset(SizeUnit::BYTE),
        Holds::Size(SizeUnit::BYTE),
    ]
);

/// C. Lee, T. Kumano, T. Matsuki, H. Endo, N. Fukumoto, M. Sugawara, "Understanding storage traffic characteristics on
/// enterprise virtual desktop infrastructure", SYSTOR'17.
pub(super) static SYSTOR: Entry = Entry {
    name: "systor",
    title: "SYSTOR '17",
    layout: "Timestamp,Response,IOType,LUN,Offset,Size: seconds, seconds, R/W, bytes",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("Timestamp", "a number of seconds such as 1456236000.125"),
        column!("Response", "anything"),
        column!("IOType", "R or W"),
        column!("LUN", "a whole number"),
        column!("Offset", "a whole number of bytes"),
        column!("Size", "a whole number of bytes"),
    ],
    time_column: 0,
    looks_like: |lines| {
        every(lines, "Timestamp,Response", |columns| {
            columns.len() == 6 && is_letter(columns[2]) && [0, 3, 4, 5].iter().all(|at| is_number(columns[*at]))
        })
    },
    read: Read::Columns(&SYSTOR_LAYOUT),
};

layout!(
    SPC_LAYOUT = Comma,
    true,
    None,
    [
        Holds::Device,
        Holds::Offset(SizeUnit::SECTOR),
        Holds::Size(SizeUnit::BYTE),
        Holds::Op(LETTERS),
        Holds::Time(TimeUnit::S),
    ]
);

/// Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1; the UMass repository's traces.
pub(super) static SPC: Entry = Entry {
    name: "spc",
    title: "SPC (UMass)",
    layout: "ASU,LBA,Size,Opcode,Timestamp: sectors of 512 B, bytes, r/w, seconds; further columns are ignored",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("ASU", "a whole number"),
        column!("LBA", "a whole number of sectors"),
        column!("Size", "a whole number of bytes"),
        column!("Opcode", "R or W"),
        column!("Timestamp", "a number of seconds such as 12.345678"),
    ],
    time_column: 4,
    looks_like: |lines| {
        every(lines, "", |columns| {
            columns.len() >= 5 && is_letter(columns[3]) && [0, 1, 2, 4].iter().all(|at| is_number(columns[*at]))
        })
    },
    read: Read::Columns(&SPC_LAYOUT),
};

layout!(
    TENCENT_LAYOUT = Comma,
    false,
    Some("Timestamp,"),
    [
        Holds::Time(TimeUnit::S),
        Holds::Offset(SizeUnit::SECTOR),
        Holds::Size(SizeUnit::SECTOR),
        Holds::Op(OpWords::Words(&[("0", Op::Read), ("1", Op::Write)])),
        Holds::Device,
    ]
);

/// Y. Zhang, P. Huang, K. Zhou, H. Wang, J. Hu, Y. Ji, B. Cheng, "OSCA: An Online-Model Based Cache Allocation Scheme in
/// Cloud Block Storage Systems", ATC'20. Its operation codes are the reverse of MQSim's.
pub(super) static TENCENT: Entry = Entry {
    name: "tencent",
    title: "Tencent CBS",
    layout: "Timestamp,Offset,Size,IOType,VolumeID: seconds, sectors of 512 B, 0 = read and 1 = write",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("Timestamp", "a number of seconds"),
        column!("Offset", "a whole number of sectors"),
        column!("Size", "a whole number of sectors"),
        column!("IOType", "0 (read) or 1 (write)"),
        column!("VolumeID", "a whole number"),
    ],
    time_column: 0,
    looks_like: |lines| {
        every(lines, "Timestamp,Offset", |columns| {
            columns.len() == 5 && columns.iter().all(|column| is_number(column)) && matches!(columns[3], b"0" | b"1")
        })
    },
    read: Read::Columns(&TENCENT_LAYOUT),
};

/// Reads are 1 and writes 0, as in MQSim's traces.
const ONE_READS: OpWords = OpWords::Words(&[("1", Op::Read), ("0", Op::Write)]);

layout!(
    FLASHNET_LAYOUT = Comma,
    false,
    None,
    [
        Holds::Time(TimeUnit::Ms),
        Holds::Device,
        Holds::Offset(SizeUnit::BYTE),
        Holds::Size(SizeUnit::BYTE),
        Holds::Op(ONE_READS),
    ]
);

/// What the replayers of UCARE's projects (FlashNet, IODA) are given: github.com/huaicheng/replayer, README.
pub(super) static FLASHNET: Entry = Entry {
    name: "flashnet",
    title: "FlashNet replayer CSV",
    layout: "time,device,offset,size,op: milliseconds, bytes, bytes, 1 = read and 0 = write",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("time", "a number of milliseconds such as 12.345"),
        column!("device", "a whole number"),
        column!("offset", "a whole number of bytes"),
        column!("size", "a whole number of bytes"),
        column!("op", "1 (read) or 0 (write)"),
    ],
    time_column: 0,
    looks_like: |lines| {
        every(lines, "", |columns| {
            columns.len() == 5 && columns.iter().all(|column| is_number(column)) && matches!(columns[4], b"0" | b"1")
        })
    },
    read: Read::Columns(&FLASHNET_LAYOUT),
};

layout!(
    FLASHNET_LOG_LAYOUT = Comma,
    false,
    None,
    [
        Holds::Time(TimeUnit::Ms),
        Holds::Other,
        Holds::Op(ONE_READS),
        Holds::Size(SizeUnit::BYTE),
        Holds::Offset(SizeUnit::BYTE),
        Holds::Other,
        Holds::Other,
    ]
);

/// What FlashNet's replayer writes and its data sets hold, replayed requests with their latencies: io_replayer.c, "format:
/// ts_record(ms),latency(us),io_type(r=1/w=0),size(B),offset,ts_submit(ms),size(B)".
pub(super) static FLASHNET_LOG: Entry = Entry {
    name: "flashnet-log",
    title: "FlashNet trace with latencies",
    layout: "ts_record,latency,io_type,size,offset,ts_submit,size: milliseconds, 1 = read and 0 = write, bytes",
    units: None,
    separator: Separator::Comma,
    columns: &[
        column!("ts_record", "a number of milliseconds such as 12.345"),
        column!("latency", "anything"),
        column!("io_type", "1 (read) or 0 (write)"),
        column!("size", "a whole number of bytes"),
        column!("offset", "a whole number of bytes"),
        column!("ts_submit", "anything"),
        column!("size", "anything"),
    ],
    time_column: 0,
    looks_like: |lines| {
        every(lines, "", |columns| {
            columns.len() == 7 && columns.iter().all(|column| is_number(column)) && matches!(columns[2], b"0" | b"1")
        })
    },
    read: Read::Columns(&FLASHNET_LOG_LAYOUT),
};

layout!(
    BIOTRACER_LAYOUT = Blanks,
    true,
    None,
    [
        Holds::Offset(SizeUnit::SECTOR),
        Holds::Other,
        Holds::Size(SizeUnit::BYTE),
        Holds::Op(OpWords::LowBit),
        Holds::Time(TimeUnit::S),
    ]
);

/// D. Zhou, W. Pan, W. Wang, T. Xie, "I/O Characteristics of Smartphone Applications and Their Implications for eMMC
/// Design", IISWC'15.
pub(super) static BIOTRACER: Entry = Entry {
    name: "biotracer",
    title: "BIOTracer",
    layout: "sector sectors bytes type arrival …: the type's lowest bit is set for writes, seconds",
    units: None,
    separator: Separator::Blanks,
    columns: &[
        column!("sector", "a whole number of sectors"),
        column!("sectors", "a number"),
        column!("bytes", "a whole number of bytes"),
        column!("type", "a whole number, odd for writes"),
        column!("arrival", "a number of seconds"),
    ],
    time_column: 4,
    looks_like: |lines| {
        lines.iter().all(|line| {
            let columns: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|column| !column.is_empty()).collect();
            columns.len() >= 7 && columns.iter().all(|column| is_number(column)) && columns[4].contains(&b'.')
        })
    },
    read: Read::Columns(&BIOTRACER_LAYOUT),
};
