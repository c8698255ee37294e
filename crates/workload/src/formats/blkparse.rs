//! The text that blkparse prints of a blktrace: a request is a Q event (queued); everything else only describes.
//!
//! J. Axboe, A. D. Brunelle, "blktrace User Guide"; blkparse(1), "DEFAULT OUTPUT": device, CPU, sequence number, time
//! \[s], process, action, RWBS, and for requests `sector + sectors [process]`.

use super::columns::{decimal, request, whole};
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use crate::request::{Op, Request};

pub(super) static BLKPARSE: Entry = Entry {
    name: "blkparse",
    title: "blkparse text",
    layout: "major,minor cpu sequence time pid action rwbs sector + sectors [process]: seconds, sectors of 512 B, Q events",
    units: None,
    separator: Separator::Blanks,
    columns: &[
        Column { name: "device", expects: "major,minor" },
        Column { name: "cpu", expects: "a whole number" },
        Column { name: "sequence", expects: "a whole number" },
        Column { name: "time", expects: "a number of seconds" },
        Column { name: "pid", expects: "a whole number" },
        Column { name: "action", expects: "a letter" },
        Column { name: "rwbs", expects: "letters with R, W, D or F" },
        Column { name: "sector", expects: "a whole number of sectors" },
        Column { name: "+", expects: "+" },
        Column { name: "sectors", expects: "a whole number of sectors" },
    ],
    time_column: TIME,
    looks_like: |lines| lines.iter().any(|line| words(line).is_some_and(|words| is_event(&words))),
    read: Reader::Own(|_| Box::new(Blkparse)),
};

const TIME: usize = 3;
const ACTION: usize = 5;
const RWBS: usize = 6;
const SECTOR: usize = 7;
const SECTORS: usize = 9;
const SECTOR_BYTES: u64 = 512;

struct Blkparse;

type Words<'a> = [&'a [u8]; 10];

/// The first words of a line, where there are enough for an event.
fn words(line: &[u8]) -> Option<Words<'_>> {
    let mut words: Words = [b""; 10];
    let mut count = 0;
    for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(10) {
        words[count] = word;
        count += 1;
    }
    (count > RWBS).then_some(words)
}

/// Whether a line is an event: summaries at the end of the output are not.
fn is_event(words: &Words) -> bool {
    let mut parts = words[0].split(|byte| *byte == b',');
    let number = |part: Option<&[u8]>| part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    number(parts.next())
        && number(parts.next())
        && parts.next().is_none()
        && words[TIME].contains(&b'.')
        && words[ACTION].iter().all(u8::is_ascii_uppercase)
}

impl LineReader for Blkparse {
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        let Some(words) = words(line).filter(is_event) else { return Ok(None) };
        if words[ACTION] != b"Q" {
            return Ok(None);
        }
        let ends = |column: usize, at: usize, value: u64| {
            if at == words[column].len() { Ok(value) } else { Err(Fault { column, why: Why::Malformed }) }
        };
        let mut at = 0;
        let time = decimal(words[TIME], &mut at, 9, TIME)?;
        let time = ends(TIME, at, time)?;
        let has = |letter: u8| words[RWBS].contains(&letter);
        // The minor number is the device's.
        let minor = words[0].split(|byte| *byte == b',').nth(1).unwrap_or_default();
        let device = whole(minor, &mut 0, 0)?;
        // What has no sectors has its process there.
        let is_empty = !words[SECTOR].first().is_some_and(u8::is_ascii_digit);
        let op = match () {
            // A flush without data, which is a write by its letters (`fill_rwbs` in Linux's kernel/trace/blktrace.c).
            () if has(b'F') && is_empty => {
                let none = units::Bytes(0);
                return Ok(Some(Request::new(units::Time(time), Op::Flush, none, none).on(device as u16)));
            }
            () if has(b'D') => Op::Trim,
            () if has(b'R') => Op::Read,
            () if has(b'W') => Op::Write,
            () if has(b'N') => return Ok(None),
            () => return Err(Fault { column: RWBS, why: Why::Malformed }),
        };
        let sectors = |column: usize| {
            if words[column].is_empty() {
                return Err(Fault { column, why: Why::Missing });
            }
            let mut at = 0;
            let value = whole(words[column], &mut at, column)?;
            let value = ends(column, at, value)?;
            value.checked_mul(SECTOR_BYTES).ok_or(Fault { column, why: Why::Overflow })
        };
        let (offset, bytes) = (sectors(SECTOR)?, sectors(SECTORS)?);
        request(time, (offset, SECTOR), (bytes, SECTORS), op, device)
    }
}
