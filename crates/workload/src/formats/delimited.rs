//! Formats that are layouts: each column has one meaning and one unit.

use super::columns::split;
use super::entry::{Column, Entry, Reader};
use super::layout::{ColumnMeaning, Layout, OpWords};
use super::line::Separator;
use super::unit::{SizeUnit, TimeUnit};
use crate::request::Op;

macro_rules! column {
    ($name:literal, $expects:literal) => {
        Column { name: $name, expects: $expects }
    };
}

/// Columns of a line parted by commas.
fn commas(line: &[u8]) -> Vec<&[u8]> {
    split(line, Separator::Comma).collect()
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
        ColumnMeaning::Device,
        ColumnMeaning::Op(OpWords::LETTERS),
        ColumnMeaning::Offset(SizeUnit::BYTE),
        ColumnMeaning::Size(SizeUnit::BYTE),
        ColumnMeaning::Time(TimeUnit::Us),
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
    read: Reader::Columns(&ALIBABA_LAYOUT),
};

layout!(
    SYSTOR_LAYOUT = Comma,
    false,
    Some("Timestamp,"),
    [
        ColumnMeaning::Time(TimeUnit::S),
        ColumnMeaning::Other,
        ColumnMeaning::Op(OpWords::LETTERS),
        ColumnMeaning::Device,
        ColumnMeaning::Offset(SizeUnit::BYTE),
        ColumnMeaning::Size(SizeUnit::BYTE),
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
    read: Reader::Columns(&SYSTOR_LAYOUT),
};

layout!(
    SPC_LAYOUT = Comma,
    true,
    None,
    [
        ColumnMeaning::Device,
        ColumnMeaning::Offset(SizeUnit::SECTOR),
        ColumnMeaning::Size(SizeUnit::BYTE),
        ColumnMeaning::Op(OpWords::LETTERS),
        ColumnMeaning::Time(TimeUnit::S),
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
    read: Reader::Columns(&SPC_LAYOUT),
};

layout!(
    TENCENT_LAYOUT = Comma,
    false,
    Some("Timestamp,"),
    [
        ColumnMeaning::Time(TimeUnit::S),
        ColumnMeaning::Offset(SizeUnit::SECTOR),
        ColumnMeaning::Size(SizeUnit::SECTOR),
        ColumnMeaning::Op(OpWords::Words(&[("0", Op::Read), ("1", Op::Write)])),
        ColumnMeaning::Device,
    ]
);

/// Y. Zhang, P. Huang, K. Zhou, H. Wang, J. Hu, Y. Ji, B. Cheng, "OSCA: An Online-Model Based Cache Allocation Scheme
/// in Cloud Block Storage Systems", ATC'20. Its operation codes are the reverse of MQSim's.
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
    read: Reader::Columns(&TENCENT_LAYOUT),
};

/// Reads are 1 and writes 0, as in MQSim's traces.
const ONE_READS: OpWords = OpWords::Words(&[("1", Op::Read), ("0", Op::Write)]);

layout!(
    FLASHNET_LAYOUT = Comma,
    false,
    None,
    [
        ColumnMeaning::Time(TimeUnit::Ms),
        ColumnMeaning::Device,
        ColumnMeaning::Offset(SizeUnit::BYTE),
        ColumnMeaning::Size(SizeUnit::BYTE),
        ColumnMeaning::Op(ONE_READS),
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
    read: Reader::Columns(&FLASHNET_LAYOUT),
};

layout!(
    FLASHNET_LOG_LAYOUT = Comma,
    false,
    None,
    [
        ColumnMeaning::Time(TimeUnit::Ms),
        ColumnMeaning::Other,
        ColumnMeaning::Op(ONE_READS),
        ColumnMeaning::Size(SizeUnit::BYTE),
        ColumnMeaning::Offset(SizeUnit::BYTE),
        ColumnMeaning::Other,
        ColumnMeaning::Other,
    ]
);

/// What FlashNet's replayer writes and its data sets hold, replayed requests with their latencies: io_replayer.c,
/// "format: ts_record(ms),latency(us),io_type(r=1/w=0),size(B),offset,ts_submit(ms),size(B)".
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
    read: Reader::Columns(&FLASHNET_LOG_LAYOUT),
};

layout!(
    BIOTRACER_LAYOUT = Blanks,
    true,
    None,
    [
        ColumnMeaning::Offset(SizeUnit::SECTOR),
        ColumnMeaning::Other,
        ColumnMeaning::Size(SizeUnit::BYTE),
        ColumnMeaning::Op(OpWords::LowBit),
        ColumnMeaning::Time(TimeUnit::S),
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
    read: Reader::Columns(&BIOTRACER_LAYOUT),
};
