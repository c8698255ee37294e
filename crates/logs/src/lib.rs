//! Parquet tables: one row a request, and the time series. Beside them, a trace as a file a device.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use ssd::stats::series::{Column, Row};
use ssd::{Completion, RequestLog, RunError};
use workload::Request;

mod split;

pub use split::split;

/// The columns of the request log.
pub const REQUEST_COLUMNS: [Column; 9] = [
    Column::new("request", "", "number of the request in the workload, from 0"),
    Column::new("queue", "", "submission queue that it went to"),
    Column::new("op", "", "0 for a read, 1 for a write, 2 for a trim, 3 for a flush; those of zones: docs/formats.md"),
    Column::new("offset", "B", "first byte"),
    Column::new("bytes", "B", "length"),
    Column::new("arrival_ns", "ns", "when it arrived"),
    Column::new("finish_ns", "ns", "when the host saw it complete"),
    Column::new("latency_ns", "ns", "from arrival to completion"),
    Column::new("hint", "", "placement hint, 0 for none"),
];

/// The columns of a trace as a table.
pub const TRACE_COLUMNS: [Column; 6] = [
    Column::new("time_ns", "ns", "when it arrives, from the first request"),
    Column::new("op", "", "0 for a read, 1 for a write, 2 for a trim, 3 for a flush; those of zones: docs/formats.md"),
    Column::new("offset", "B", "first byte"),
    Column::new("bytes", "B", "length"),
    Column::new("device", "", "device, ASU or volume, modulo 65,536"),
    Column::new("hint", "", "placement hint, modulo 65,536; 0 for none"),
];

/// Rows of a Parquet row group: what is held in memory before it is written.
const GROUP_ROWS: usize = 1 << 18;

/// A log of requests (in order of completion) or a trace as a table, streamed to a file or kept in memory as the file's
/// bytes.
pub struct Table {
    writer: SerializedFileWriter<Sink>,
    path: PathBuf,
    queues: usize,
    columns: Vec<Vec<i64>>,
    rows: u64,
}

enum Sink {
    File(File),
    Memory(Vec<u8>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Memory(memory) => memory.write(bytes),
        }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Memory(_) => Ok(()),
        }
    }
}

impl Table {
    /// A log of requests in a file or, without a path, in memory. A file is created now, so that a bad path is noticed
    /// before the run.
    pub fn of_requests(path: Option<&Path>, queues: u16) -> Result<Table, RunError> {
        Table::create(path, queues, &REQUEST_COLUMNS)
    }

    /// A trace's table, in a file or, without a path, in memory.
    pub fn of_trace(path: Option<&Path>) -> Result<Table, RunError> {
        Table::create(path, 1, &TRACE_COLUMNS)
    }

    fn create(path: Option<&Path>, queues: u16, columns: &[Column]) -> Result<Table, RunError> {
        let name = path.unwrap_or(Path::new("memory"));
        let sink = match path {
            Some(path) => Sink::File(File::create(path).map_err(|error| failed(path, &error))?),
            None => Sink::Memory(Vec::new()),
        };
        Table::new(sink, name, queues, columns)
    }

    fn new(sink: Sink, path: &Path, queues: u16, columns: &[Column]) -> Result<Table, RunError> {
        let names: Vec<(&str, &str)> = columns.iter().map(|column| (column.name, "INT64")).collect();
        let writer = open(sink, &names).map_err(|error| failed(path, &error))?;
        Ok(Table {
            writer,
            path: path.to_owned(),
            queues: usize::from(queues),
            columns: vec![Vec::new(); columns.len()],
            rows: 0,
        })
    }

    /// Adds a request of a trace.
    pub fn push_request(&mut self, request: &Request) -> Result<(), RunError> {
        let Request { time, offset, bytes, op, queue, hint, limited: _ } = *request;
        self.push_row(&[time.0, op.number() as u64, offset.0, bytes.0, u64::from(queue), u64::from(hint)])
    }

    fn push_row(&mut self, row: &[u64]) -> Result<(), RunError> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value as i64);
        }
        self.rows += 1;
        if self.columns[0].len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), RunError> {
        let write = |writer: &mut SerializedFileWriter<Sink>, columns: &[Vec<i64>]| -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            for column in columns {
                write_i64(&mut group, column)?;
            }
            group.close()?;
            Ok(())
        };
        write(&mut self.writer, &self.columns).map_err(|error| failed(&self.path, &error))?;
        self.columns.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Completes the table: how many rows it has, and its bytes where it was kept in memory.
    pub fn finish(mut self) -> Result<(u64, Vec<u8>), RunError> {
        if !self.columns[0].is_empty() {
            self.write_group()?;
        }
        match self.writer.into_inner().map_err(|error| failed(&self.path, &error))? {
            Sink::File(_) => Ok((self.rows, Vec::new())),
            Sink::Memory(bytes) => Ok((self.rows, bytes)),
        }
    }
}

impl RequestLog for Table {
    fn push(&mut self, completion: &Completion) -> Result<(), RunError> {
        let request = &completion.request;
        let row = [
            completion.id,
            (usize::from(request.queue) % self.queues) as u64,
            request.op.number() as u64,
            request.offset.0,
            request.bytes.0,
            request.time.0,
            completion.finish.0,
            completion.latency().0,
            u64::from(request.hint),
        ];
        self.push_row(&row)
    }

    fn close(self: Box<Self>) -> Result<(u64, Vec<u8>), RunError> {
        self.finish()
    }
}

/// A field of the time series: its name and where a row holds it.
type Field<T> = (&'static str, fn(&Row) -> T);

/// The time series as a Parquet file's bytes.
pub fn series_parquet(rows: &[Row]) -> Result<Vec<u8>, RunError> {
    let whole: [Field<u64>; 6] = [
        ("time_ns", |row| row.time_ns),
        ("reads", |row| row.reads),
        ("writes", |row| row.writes),
        ("read_bytes", |row| row.read_bytes),
        ("write_bytes", |row| row.write_bytes),
        ("media_errors", |row| row.media_errors),
    ];
    let mut real: Vec<Field<f64>> = vec![
        ("outstanding", |row| row.outstanding),
        ("buffered_pages", |row| row.buffered_pages),
        ("die_busy", |row| row.die_busy),
        ("channel_busy", |row| row.channel_busy),
        ("free_blocks", |row| row.free_blocks),
        ("free_blocks_min", |row| row.free_blocks_min),
        ("available_spare", |row| row.available_spare),
        ("percentage_used", |row| row.percentage_used),
    ];
    let of_some_drives: [Field<f64>; 2] = [("power_w", |row| row.power_w), ("temperature", |row| row.temperature)];
    real.extend(of_some_drives.into_iter().filter(|(_, value)| rows.iter().any(|row| value(row) != 0.0)));
    let names: Vec<(&str, &str)> =
        whole.iter().map(|(name, _)| (*name, "INT64")).chain(real.iter().map(|(name, _)| (*name, "DOUBLE"))).collect();
    let write = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = open(Sink::Memory(Vec::new()), &names)?;
        let mut group = writer.next_row_group()?;
        for (_, value) in whole {
            write_i64(&mut group, &rows.iter().map(|row| value(row) as i64).collect::<Vec<_>>())?;
        }
        for (_, value) in real {
            let values: Vec<f64> = rows.iter().map(value).collect();
            let mut column = group.next_column()?.expect("Invariant: the schema has this column");
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        match writer.into_inner()? {
            Sink::Memory(bytes) => Ok(bytes),
            Sink::File(_) => unreachable!("Invariant: the series is written to memory"),
        }
    };
    write().map_err(|error| failed(Path::new("time series"), &error))
}

fn open(sink: Sink, columns: &[(&str, &str)]) -> Result<SerializedFileWriter<Sink>, ParquetError> {
    let fields: String = columns.iter().map(|(name, kind)| format!("REQUIRED {kind} {name}; ")).collect();
    let schema = parse_message_type(&format!("message ssdlab {{ {fields} }}"))?;
    // No creation time or library version of the machine: same run, same bytes.
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("ssdlab".into()).build();
    SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))
}

fn write_i64(group: &mut SerializedRowGroupWriter<'_, Sink>, values: &[i64]) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("Invariant: the schema has this column");
    column.typed::<Int64Type>().write_batch(values, None, None)?;
    column.close()
}

fn failed(path: &Path, problem: &dyn std::fmt::Display) -> RunError {
    RunError::Output { path: path.display().to_string(), problem: problem.to_string() }
}
