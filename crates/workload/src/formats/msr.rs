//! MSR CSV: the MSR Cambridge traces and what imitates them.
//!
//! D. Narayanan, A. Donnelly, A. Rowstron, "Write Off-Loading: Practical Power Management for Enterprise Storage",
//! FAST'08. A header line that begins with `Timestamp,` is skipped wherever it stands.

use super::columns::{absent, request, whole};
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use crate::request::{Op, Request};

pub(super) static MSR: Entry = Entry {
    name: "msr",
    title: "MSR CSV",
    layout: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime: Windows filetime, Read/Write, bytes",
    units: None,
    separator: Separator::Comma,
    columns: &[
        Column { name: "Timestamp", expects: "a whole number of 100-ns ticks (Windows filetime)" },
        Column { name: "Hostname", expects: "a name" },
        Column { name: "DiskNumber", expects: "a whole number" },
        Column { name: "Type", expects: "Read or Write" },
        Column { name: "Offset", expects: "a whole number of bytes" },
        Column { name: "Size", expects: "a whole number of bytes" },
        Column { name: "ResponseTime", expects: "a number" },
    ],
    time_column: TIME,
    looks_like: |lines| lines.iter().find(|line| !is_header(line)).is_some_and(|line| has_type(line)),
    read: Reader::Own(|_| Box::new(Msr)),
};

const TIME: usize = 0;
const HOST: usize = 1;
const DISK: usize = 2;
const TYPE: usize = 3;
const OFFSET: usize = 4;
const SIZE: usize = 5;
const RESPONSE: usize = 6;

/// Nanoseconds in a tick of the Windows filetime.
const TICK: u64 = 100;

struct Msr;

impl LineReader for Msr {
    #[inline]
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        let mut at = 0;
        let ticks = match whole(line, &mut at, TIME) {
            Ok(ticks) => ticks,
            Err(_) if is_header(line) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let time = ticks.checked_mul(TICK).ok_or(Fault { column: TIME, why: Why::Overflow })?;
        comma(line, &mut at, TIME)?;
        while line.get(at).is_some_and(|byte| *byte != b',') {
            at += 1;
        }
        comma(line, &mut at, HOST)?;
        let disk = whole(line, &mut at, DISK)?;
        comma(line, &mut at, DISK)?;
        let op = op(line, &mut at)?;
        comma(line, &mut at, TYPE)?;
        let offset = whole(line, &mut at, OFFSET)?;
        comma(line, &mut at, OFFSET)?;
        let bytes = whole(line, &mut at, SIZE)?;
        comma(line, &mut at, SIZE)?;
        response(line, at)?;
        request(time, (offset, OFFSET), (bytes, SIZE), op, disk)
    }
}

/// Steps over the comma behind `column`.
#[inline]
fn comma(line: &[u8], at: &mut usize, column: usize) -> Result<(), Fault> {
    match line.get(*at) {
        Some(b',') => {
            *at += 1;
            Ok(())
        }
        Some(_) => Err(Fault { column, why: Why::Malformed }),
        None => Err(Fault { column: column + 1, why: Why::Missing }),
    }
}

#[inline]
fn op(line: &[u8], at: &mut usize) -> Result<Op, Fault> {
    let rest = &line[*at..];
    if rest.len() >= 4 && rest[..4].eq_ignore_ascii_case(b"read") {
        *at += 4;
        return Ok(Op::Read);
    }
    if rest.len() >= 5 && rest[..5].eq_ignore_ascii_case(b"write") {
        *at += 5;
        return Ok(Op::Write);
    }
    Err(absent(line, *at, TYPE))
}

/// The response time is not used, but a line that ends in something else is not one of this format.
#[inline]
fn response(line: &[u8], start: usize) -> Result<(), Fault> {
    let text = line[start..].trim_ascii_end();
    if !text.is_empty() && text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')) {
        return Ok(());
    }
    let why = match text {
        b"" => absent(line, start, RESPONSE).why,
        _ if text.contains(&b',') => return Err(Fault { column: RESPONSE + 1, why: Why::Extra }),
        _ => Why::Malformed,
    };
    Err(Fault { column: RESPONSE, why })
}

/// Whether a line has seven columns, of which the fourth says read or write.
fn has_type(line: &[u8]) -> bool {
    let columns: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
    columns.len() == RESPONSE + 1
        && (columns[TYPE].eq_ignore_ascii_case(b"read") || columns[TYPE].eq_ignore_ascii_case(b"write"))
}

#[cold]
fn is_header(line: &[u8]) -> bool {
    const START: &[u8] = b"timestamp,";
    line.len() >= START.len() && line[..START.len()].eq_ignore_ascii_case(START)
}
