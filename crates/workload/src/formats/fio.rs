//! fio's I/O logs (`write_iolog`, `read_iolog`), versions 2 and 3.
//!
//! J. Axboe, "fio - Flexible I/O tester", documentation, section "Trace file format": version 2 has `file action
//! [offset length]` with `wait` lines that give microseconds in place of the offset; version 3 puts a time before each
//! line, of which the documentation tells no unit. It is in microseconds: fio writes `utime_since_now` and waits for
//! the difference of two times in microseconds (`log_io_u` and `iolog_delay` in its iolog.c). Each file is a device,
//! numbered as they appear.

use units::{Bytes, Time};

use super::columns::{request, whole};
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use crate::request::{Op, Request};

pub(super) static FIO2: Entry = Entry {
    name: "fio2",
    title: "fio iolog version 2",
    layout: "file action [offset length]: bytes; wait lines give microseconds",
    units: None,
    separator: Separator::Blanks,
    columns: &[
        Column { name: "file", expects: "a file name" },
        Column { name: "action", expects: "add, open, close, read, write, trim, sync, datasync or wait" },
        Column { name: "offset", expects: "a whole number of bytes" },
        Column { name: "length", expects: "a whole number of bytes" },
    ],
    time_column: 0,
    looks_like: |lines| lines[0] == b"fio version 2 iolog",
    read: Reader::Own(|_| Box::new(Iolog { timed: false, now: 0, files: Vec::new() })),
};

pub(super) static FIO3: Entry = Entry {
    name: "fio3",
    title: "fio iolog version 3",
    layout: "time file action [offset length]: microseconds, bytes",
    units: None,
    separator: Separator::Blanks,
    columns: &[
        Column { name: "time", expects: "a whole number of microseconds" },
        Column { name: "file", expects: "a file name" },
        Column { name: "action", expects: "add, open, close, read, write, trim, sync or datasync" },
        Column { name: "offset", expects: "a whole number of bytes" },
        Column { name: "length", expects: "a whole number of bytes" },
    ],
    time_column: 0,
    looks_like: |lines| lines[0] == b"fio version 3 iolog",
    read: Reader::Own(|_| Box::new(Iolog { timed: true, now: 0, files: Vec::new() })),
};

/// Files are told apart by name; more than these share the last number.
const MOST_FILES: usize = 4096;

struct Iolog {
    timed: bool,
    /// The time that version 2 has reached by waiting \[ns].
    now: u64,
    files: Vec<Vec<u8>>,
}

impl Iolog {
    fn device(&mut self, name: &[u8]) -> u64 {
        let known = self.files.iter().position(|file| file == name);
        known.unwrap_or_else(|| {
            if self.files.len() < MOST_FILES {
                self.files.push(name.to_vec());
            }
            self.files.len() - 1
        }) as u64
    }
}

impl LineReader for Iolog {
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        if line.starts_with(b"fio version ") {
            return Ok(None);
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let first = usize::from(self.timed);
        let mut word = |column: usize| words.next().ok_or(Fault { column, why: Why::Missing });
        if self.timed {
            self.now = number(word(0)?, 0)?.checked_mul(1_000).ok_or(Fault { column: 0, why: Why::Overflow })?;
        }
        let file = word(first)?;
        let (action, offset, length) = (first + 1, first + 2, first + 3);
        let op = match word(action)? {
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" if !self.timed => {
                let wait = number(word(offset)?, offset)?;
                let later = wait.checked_mul(1000).and_then(|wait| self.now.checked_add(wait));
                self.now = later.ok_or(Fault { column: offset, why: Why::Overflow })?;
                return Ok(None);
            }
            b"sync" | b"datasync" | b"sync_file_range" => {
                let queue = self.device(file) as u16;
                let (time, none) = (Time(self.now), Bytes(0));
                return Ok(Some(Request::new(time, Op::Flush, none, none).on(queue)));
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            _ => return Err(Fault { column: action, why: Why::Malformed }),
        };
        let (from, bytes) = (number(word(offset)?, offset)?, number(word(length)?, length)?);
        if words.next().is_some() {
            return Err(Fault { column: length + 1, why: Why::Extra });
        }
        let device = self.device(file);
        request(self.now, (from, offset), (bytes, length), op, device)
    }
}

fn number(text: &[u8], column: usize) -> Result<u64, Fault> {
    let mut at = 0;
    let value = whole(text, &mut at, column)?;
    if at == text.len() { Ok(value) } else { Err(Fault { column, why: Why::Malformed }) }
}
