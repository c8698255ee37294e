//! Formats of fixed-size little-endian records.

use units::{Bytes, Time};

use super::columns::request;
use super::entry::{Column, Entry, Reader};
use super::line::{Fault, LineReader, Separator, Why};
use crate::request::{Op, Request};

/// The CloudPhysics traces: C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC Construction with
/// SHARDS", FAST'15; version 1 of vscsiStats' records: sn u32, length u32 \[B], nSG u32, command u16, version u16, LBN
/// u64 \[512 B], time u64 \[us]. Commands that neither read nor write only describe.
pub(super) static VSCSI: Entry = Entry {
    name: "vscsi",
    title: "CloudPhysics vscsi",
    layout: "records of 32 bytes: bytes, SCSI command, sectors of 512 B, microseconds",
    units: None,
    separator: Separator::Record(VSCSI_RECORD),
    columns: &[
        Column { name: "time", expects: "microseconds" },
        Column { name: "LBN", expects: "a sector number" },
        Column { name: "length", expects: "a number of bytes" },
    ],
    time_column: 0,
    looks_like: |_| false,
    read: Reader::Own(|_| Box::new(Vscsi)),
};

const VSCSI_RECORD: usize = 32;

/// libCacheSim's oracleGeneral: time u32 \[s], object u64, size u32 \[B], next access i64. J. Yang, Y. Yue, K. V.
/// Rashmi, "A large-scale analysis of hundreds of in-memory key-value cache clusters at Twitter", ACM TOS 2021 (its
/// simulator).
///
/// Records are accesses to objects: each is a read, and object n is taken to lie at n x 512 B, modulo 1 TiB.
pub(super) static ORACLE: Entry = Entry {
    name: "oracle",
    title: "libCacheSim oracleGeneral",
    layout: "records of 24 bytes: seconds, object, bytes, next access; reads of object n at n x 512 B modulo 1 TiB",
    units: None,
    separator: Separator::Record(ORACLE_RECORD),
    columns: &[
        Column { name: "time", expects: "seconds" },
        Column { name: "object", expects: "an object number" },
        Column { name: "size", expects: "a number of bytes" },
    ],
    time_column: 0,
    looks_like: |_| false,
    read: Reader::Own(|_| Box::new(Oracle)),
};

const ORACLE_RECORD: usize = 24;
const ORACLE_SPACE: u64 = 1 << 40;

fn field<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record[at..at + N].try_into().expect("Invariant: a record has its full length")
}

struct Vscsi;

impl LineReader for Vscsi {
    fn read(&mut self, record: &[u8]) -> Result<Option<Request>, Fault> {
        let overflow = |column| Fault { column, why: Why::Overflow };
        // SCSI block commands (SBC-4): READ and WRITE of 6, 10, 12 and 16 bytes.
        let op = match u16::from_le_bytes(field(record, 12)) {
            0x08 | 0x28 | 0xA8 | 0x88 => Op::Read,
            0x0A | 0x2A | 0xAA | 0x8A => Op::Write,
            _ => return Ok(None),
        };
        let bytes = u64::from(u32::from_le_bytes(field(record, 4)));
        let offset = u64::from_le_bytes(field(record, 16)).checked_mul(512).ok_or(overflow(1))?;
        let time = u64::from_le_bytes(field(record, 24)).checked_mul(1000).ok_or(overflow(0))?;
        request(time, (offset, 1), (bytes, 2), op, 0)
    }
}

struct Oracle;

impl LineReader for Oracle {
    fn read(&mut self, record: &[u8]) -> Result<Option<Request>, Fault> {
        let time = u64::from(u32::from_le_bytes(field(record, 0))) * 1_000_000_000;
        let object = u64::from_le_bytes(field(record, 4));
        let bytes = u64::from(u32::from_le_bytes(field(record, 12)));
        if bytes == 0 {
            // Some of its traces know no sizes.
            return Ok(Some(Request::new(
                Time(time),
                Op::Read,
                Bytes((object % (ORACLE_SPACE / 512)) * 512),
                Bytes(512),
            )));
        }
        request(time, ((object % (ORACLE_SPACE / 512)) * 512, 1), (bytes, 2), Op::Read, 0)
    }
}

/// Whether the beginning of a file, and its size where it is known, are of these records.
pub(super) fn looks_like(entry: &Entry, head: &[u8]) -> bool {
    let records = |size: usize| head.chunks_exact(size).take(64);
    match entry.separator {
        Separator::Record(VSCSI_RECORD) => {
            // The version's high byte is 1.
            head.len() >= VSCSI_RECORD && records(VSCSI_RECORD).all(|record| record[15] == 1)
        }
        Separator::Record(ORACLE_RECORD) => {
            // The next access of record number n is a later one, or there is none: so zeros are no such records.
            let next = |record: &[u8]| i64::from_le_bytes(field(record, 16));
            let plausible = (0..)
                .zip(records(ORACLE_RECORD))
                .all(|(n, record)| next(record) == -1 || (n + 1..1 << 40).contains(&next(record)));
            let times = || records(ORACLE_RECORD).map(|record| u32::from_le_bytes(field(record, 0)));
            head.len() >= ORACLE_RECORD && plausible && times().is_sorted()
        }
        _ => false,
    }
}
