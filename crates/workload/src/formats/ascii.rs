//! Five columns of ASCII: time, device, offset, size, operation (1 = read, 0 = write).
//!
//! MQSim reads them with whole ns (A. Tavakkol et al., "MQSim", FAST'18), DiskSim with decimal ms (J. Bucy et al.,
//! "The DiskSim Simulation Environment Version 4.0 Reference Manual", CMU-PDL-08-101); both count sectors of 512 B.
//! Columns are parted by any blanks.

use super::columns::{POWERS, absent, decimal, plain_numbers, request, whole};
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use super::unit::{SizeUnit, TimeUnit, Units};
use crate::request::{Op, Request};

pub(super) static MQSIM: Entry = Entry {
    name: "mqsim",
    title: "MQSim ASCII",
    layout: "time device offset size op: ns, sectors of 512 B, 1 = read and 0 = write",
    units: Some(Units { time: TimeUnit::Ns, ..SECTORS }),
    separator: Separator::Blanks,
    columns: COLUMNS,
    time_column: TIME,
    looks_like: |lines| time_like(lines) == Some(false),
    read: Reader::Own(read_as),
};

pub(super) static DISKSIM: Entry = Entry {
    name: "disksim",
    title: "DiskSim ASCII",
    layout: "time device offset size op: ms with decimals, sectors of 512 B, 1 = read and 0 = write",
    units: Some(SECTORS),
    separator: Separator::Blanks,
    columns: COLUMNS,
    time_column: TIME,
    looks_like: |lines| time_like(lines) == Some(true),
    read: Reader::Own(read_as),
};

const SECTORS: Units = Units { time: TimeUnit::Ms, offset: SizeUnit::SECTOR, size: SizeUnit::SECTOR };

const COLUMNS: &[Column] = &[
    Column { name: "time", expects: "a number such as 12 or 12.345" },
    Column { name: "device", expects: "a whole number" },
    Column { name: "offset", expects: "a whole number" },
    Column { name: "size", expects: "a whole number" },
    Column { name: "op", expects: "1 (read) or 0 (write)" },
];

const TIME: usize = 0;
const DEVICE: usize = 1;
const OFFSET: usize = 2;
const SIZE: usize = 3;
const OP: usize = 4;

fn read_as(units: Option<Units>) -> Box<dyn LineReader> {
    let units = units.expect("Invariant: these formats have units");
    Box::new(Ascii { decimals: units.time.decimals(), offset: units.offset.bytes(), size: units.size.bytes() })
}

struct Ascii {
    /// Nanoseconds in the unit of time, as a power of ten.
    decimals: usize,
    /// Bytes in the unit of offsets.
    offset: u64,
    /// Bytes in the unit of sizes.
    size: u64,
}

impl LineReader for Ascii {
    #[inline]
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        if let Some([time, device, offset, size, op @ 0..=1]) = plain_numbers(line)
            && let Some(time) = time.checked_mul(POWERS[self.decimals])
        {
            return self.request([time, device, offset, size, op]);
        }
        let mut at = 0;
        skip_blanks(line, &mut at);
        let time = decimal(line, &mut at, self.decimals, TIME)?;
        gap(line, &mut at, TIME)?;
        let device = whole(line, &mut at, DEVICE)?;
        gap(line, &mut at, DEVICE)?;
        let offset = whole(line, &mut at, OFFSET)?;
        gap(line, &mut at, OFFSET)?;
        let size = whole(line, &mut at, SIZE)?;
        gap(line, &mut at, SIZE)?;
        let op = whole(line, &mut at, OP)?;
        if op > 1 {
            return Err(Fault { column: OP, why: Why::Malformed });
        }
        if at < line.len() {
            end(line, at)?;
        }
        self.request([time, device, offset, size, op])
    }
}

impl Ascii {
    /// The request of a line's numbers.
    #[inline]
    fn request(&self, [time, device, offset, size, op]: [u64; 5]) -> Result<Option<Request>, Fault> {
        let op = if op == 0 { Op::Write } else { Op::Read };
        let offset = offset.checked_mul(self.offset).ok_or(Fault { column: OFFSET, why: Why::Overflow })?;
        let bytes = size.checked_mul(self.size).ok_or(Fault { column: SIZE, why: Why::Overflow })?;
        request(time, (offset, OFFSET), (bytes, SIZE), op, device)
    }
}

#[inline]
fn skip_blanks(line: &[u8], at: &mut usize) {
    while line.get(*at).is_some_and(u8::is_ascii_whitespace) {
        *at += 1;
    }
}

/// Steps over the blanks behind `column`: one at least, and another column behind them.
#[inline]
fn gap(line: &[u8], at: &mut usize, column: usize) -> Result<(), Fault> {
    let start = *at;
    skip_blanks(line, at);
    if *at == line.len() {
        return Err(absent(line, *at, column + 1));
    }
    if *at == start { Err(Fault { column, why: Why::Malformed }) } else { Ok(()) }
}

#[cold]
fn end(line: &[u8], mut at: usize) -> Result<(), Fault> {
    if !line[at].is_ascii_whitespace() {
        return Err(Fault { column: OP, why: Why::Malformed });
    }
    skip_blanks(line, &mut at);
    if at == line.len() { Ok(()) } else { Err(Fault { column: OP + 1, why: Why::Extra }) }
}

/// Whether any time has a decimal point, where the first line has five columns and begins with a number.
fn time_like(lines: &[&[u8]]) -> Option<bool> {
    let columns = |line: &[u8]| line.split(u8::is_ascii_whitespace).filter(|text| !text.is_empty()).count();
    let time = |line: &[u8]| {
        let text = line.split(u8::is_ascii_whitespace).next()?;
        let number = text[0].is_ascii_digit() && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        number.then_some(text.contains(&b'.'))
    };
    if columns(lines[0]) != COLUMNS.len() {
        return None;
    }
    time(lines[0])?;
    Some(lines.iter().any(|line| time(line) == Some(true)))
}
