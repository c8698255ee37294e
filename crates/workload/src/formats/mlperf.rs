//! What the KV-cache benchmark of MLPerf Storage logs in place of doing it (`--io-trace-log`): reads and writes of
//! named objects in three tiers.
//!
//! MLCommons, storage, "Using --io-trace-log Trace Mode": columns, tiers, and that an object's key links its writes to
//! its reads. Those of `Tier-2` (NVMe) are requests. The log says no addresses: objects lie one behind the other here,
//! in the order in which they are met; one that has grown lies again.

use std::collections::HashMap;

use super::columns::{decimal, request, whole};
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use crate::request::{Op, Request};

pub(super) static MLPERF_KV: Entry = Entry {
    name: "mlperf-kv",
    title: "MLPerf Storage KV-cache log",
    layout: "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase: seconds, bytes; those of Tier-2 are requests",
    units: None,
    separator: Separator::Comma,
    columns: &[
        Column { name: "Timestamp", expects: "a number of seconds" },
        Column { name: "Operation", expects: "Read or Write" },
        Column { name: "Object_Size_Bytes", expects: "a whole number of bytes" },
        Column { name: "Tier", expects: "Tier-0, Tier-1 or Tier-2" },
        Column { name: "Key", expects: "a name" },
    ],
    time_column: 0,
    looks_like: |lines| lines[0] == HEADER,
    read: Reader::Own(|_| Box::new(Log { objects: HashMap::new(), end: 0 })),
};

const HEADER: &[u8] = b"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase";

/// What objects lie at multiples of \[B] (assumed: a block of a file system).
const ALIGNMENT: u64 = 4096;

struct Log {
    /// Where objects lie, and how large they were.
    objects: HashMap<Vec<u8>, (u64, u64)>,
    /// Where the last one ends.
    end: u64,
}

impl Log {
    /// Where an object lies that has this many bytes.
    fn place(&mut self, key: &[u8], bytes: u64) -> Result<u64, Fault> {
        match self.objects.get(key) {
            Some((at, size)) if bytes <= *size => return Ok(*at),
            _ => {}
        }
        let end = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|bytes| self.end.checked_add(bytes));
        let at = std::mem::replace(&mut self.end, end.ok_or(Fault { column: 2, why: Why::PastEnd })?);
        self.objects.insert(key.to_vec(), (at, bytes));
        Ok(at)
    }
}

impl LineReader for Log {
    fn read(&mut self, line: &[u8]) -> Result<Option<Request>, Fault> {
        if line == HEADER {
            return Ok(None);
        }
        let mut texts = line.split(|byte| *byte == b',');
        let mut text = |column: usize| texts.next().ok_or(Fault { column, why: Why::Missing });
        let all = |text: &[u8], at: usize, column| {
            if at == text.len() { Ok(()) } else { Err(Fault { column, why: Why::Malformed }) }
        };
        let (seconds, mut at) = (text(0)?, 0);
        let time = decimal(seconds, &mut at, 9, 0)?;
        all(seconds, at, 0)?;
        let op = match text(1)? {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ => return Err(Fault { column: 1, why: Why::Malformed }),
        };
        let (size, mut at) = (text(2)?, 0);
        let bytes = whole(size, &mut at, 2)?;
        all(size, at, 2)?;
        match text(3)? {
            b"Tier-0" | b"Tier-1" => return Ok(None),
            b"Tier-2" => {}
            _ => return Err(Fault { column: 3, why: Why::Malformed }),
        }
        let key = text(4)?;
        let offset = if bytes == 0 { 0 } else { self.place(key, bytes)? };
        request(time, (offset, 2), (bytes, 2), op, 0)
    }
}
