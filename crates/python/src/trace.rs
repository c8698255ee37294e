//! Traces as tables and into other formats.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use logs::Table;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ssd::RunError;
use ssd::run::{parse, refused};
use units::{Bytes, Span};
use workload::convert::{Cut, Target, Writer};
use workload::{Format, Merged, ReadOptions, Source};

use crate::error::{raise, refuse};

/// Counts of a conversion: requests written, then what was left out or changed, by name.
type Counts = Vec<(&'static str, u64)>;

/// What came of a conversion.
#[derive(IntoPyObject)]
pub struct Converted<'py> {
    /// What was written, where it went to no file.
    data: Bound<'py, PyBytes>,
    counts: Counts,
    /// How the traces were read.
    notes: Vec<String>,
}

/// What came of a split: devices with their requests, what was left out or changed, and how the traces were read. A
/// tuple in Python.
#[derive(IntoPyObject)]
pub struct Split(Vec<(u16, u64)>, Counts, Vec<String>);

/// Reads traces, merged by time and cut to the given bounds, and writes them: to text in format `to`, or as Parquet
/// where `to` is None, in a file or, without `out`, as the bytes that are returned.
#[pyfunction]
#[pyo3(signature = (paths, out, to, *, format = None, skip_bad_lines = 0, sort_window = None, from_ = None, until = None, requests = None, device = None, range = None))]
pub fn convert<'py>(
    py: Python<'py>,
    paths: Vec<String>,
    out: Option<&str>,
    to: Option<&str>,
    format: Option<&str>,
    skip_bad_lines: u64,
    sort_window: Option<usize>,
    from_: Option<&str>,
    until: Option<&str>,
    requests: Option<u64>,
    device: Option<u16>,
    range: Option<(&str, &str)>,
) -> PyResult<Converted<'py>> {
    let format = format.map(Format::parse).transpose().map_err(refuse)?;
    let reading =
        ReadOptions { skip_bad_lines, sort_window: sort_window.unwrap_or(ReadOptions::default().sort_window) };
    let paths: Vec<&Path> = paths.iter().map(|path| Path::new(path.as_str())).collect();
    let target: Option<Target> = to.map(|word| parse("--to", word)).transpose().map_err(refuse)?;
    let merged = Merged::open(&paths, format, reading).map_err(|error| raise(error.into()))?;
    let notes = merged.notes().map(str::to_owned).collect();
    let mut cut = Cut::new(merged);
    let span = |name: &str, word: &str| parse::<Span>(name, word).map_err(refuse);
    if let Some(from) = from_ {
        cut.from = span("--from", from)?;
    }
    cut.until = until.map(|word| span("--until", word)).transpose()?;
    (cut.requests, cut.device) = (requests, device);
    if let Some((from, to)) = range {
        let bounds: (Bytes, Bytes) = (parse("--range", from).map_err(refuse)?, parse("--range", to).map_err(refuse)?);
        if bounds.0 >= bounds.1 {
            return Err(refuse(refused("--range", "is empty", "give the first byte and the one behind the last")));
        }
        cut.range = Some(bounds);
    }
    let (bytes, counts) = py.detach(|| write(cut, out, target)).map_err(raise)?;
    Ok(Converted { data: PyBytes::new(py, &bytes), counts, notes })
}

/// Writes the requests of each device of traces, merged by time, into a file of its own in a folder that is there, at
/// most `most` of each: `N.mqsim` for device N. What they have got, what was left out or changed, and how the traces
/// were read.
#[pyfunction]
#[pyo3(signature = (paths, folder, most, *, format = None, skip_bad_lines = 0, sort_window = None))]
pub fn split(
    py: Python<'_>,
    paths: Vec<String>,
    folder: &str,
    most: u64,
    format: Option<&str>,
    skip_bad_lines: u64,
    sort_window: Option<usize>,
) -> PyResult<Split> {
    let format = format.map(Format::parse).transpose().map_err(refuse)?;
    let reading =
        ReadOptions { skip_bad_lines, sort_window: sort_window.unwrap_or(ReadOptions::default().sort_window) };
    let paths: Vec<&Path> = paths.iter().map(|path| Path::new(path.as_str())).collect();
    let mut merged = Merged::open(&paths, format, reading).map_err(|error| raise(error.into()))?;
    let notes = merged.notes().map(str::to_owned).collect();
    let (volumes, loss) = py.detach(|| logs::split(&mut merged, Path::new(folder), most)).map_err(raise)?;
    let read = merged.counts();
    let counts = vec![
        ("widened", loss.widened),
        ("left_out", loss.left_out),
        ("hints_left_out", loss.hints),
        ("bad_lines", read.bad_lines),
        ("other_lines", read.other_lines),
        ("reordered", read.reordered),
    ];
    Ok(Split(volumes, counts, notes))
}

/// What a trace is read as: format and units with what else fits, and what looks wrong.
#[pyfunction]
#[pyo3(signature = (path, *, format = None, skip_bad_lines = 0))]
pub fn inspect(
    py: Python<'_>,
    path: &str,
    format: Option<&str>,
    skip_bad_lines: u64,
) -> PyResult<(String, Vec<String>)> {
    let format = format.map(Format::parse).transpose().map_err(refuse)?;
    let reading = ReadOptions { skip_bad_lines, ..ReadOptions::default() };
    let found = py.detach(|| workload::inspect(Path::new(path), format, reading));
    let found = found.map_err(|error| raise(error.into()))?;
    Ok((found.read_as, found.doubts.iter().map(|doubt| doubt.text().to_owned()).collect()))
}

/// How many requests a trace has, and where the farthest of them ends [bytes].
#[pyfunction]
#[pyo3(signature = (path, *, format = None))]
pub fn extent(py: Python<'_>, path: &str, format: Option<&str>) -> PyResult<(u64, u64)> {
    let format = format.map(Format::parse).transpose().map_err(refuse)?;
    let mut source =
        Merged::open(&[Path::new(path)], format, ReadOptions::default()).map_err(|error| raise(error.into()))?;
    let read = || -> Result<(u64, u64), RunError> {
        let (mut batch, mut requests, mut end) = (Vec::new(), 0, 0);
        loop {
            batch.clear();
            source.fill(&mut batch, 4096)?;
            if batch.is_empty() {
                return Ok((requests, end));
            }
            requests += batch.len() as u64;
            let ends = batch.iter().map(|request| request.offset.0.saturating_add(request.bytes.0));
            end = end.max(ends.max().unwrap_or(0));
        }
    };
    py.detach(read).map_err(raise)
}

fn write(mut source: impl Source, out: Option<&str>, target: Option<Target>) -> Result<(Vec<u8>, Counts), RunError> {
    let mut batch = Vec::new();
    let mut each = |use_it: &mut dyn FnMut(&workload::Request) -> Result<(), RunError>| loop {
        batch.clear();
        source.fill(&mut batch, 4096)?;
        if batch.is_empty() {
            return Ok::<_, RunError>(source.counts());
        }
        batch.iter().try_for_each(&mut *use_it)?;
    };
    let (bytes, read, mut counts) = match (target, out) {
        (Some(target), Some(path)) => {
            let failed = |error: std::io::Error| RunError::Output { path: path.into(), problem: error.to_string() };
            let mut writer = Writer::new(BufWriter::new(File::create(path).map_err(failed)?), target);
            let read = each(&mut |request| writer.push(request).map_err(failed))?;
            let (written, loss) = writer.finish().map_err(failed)?;
            let losses = [
                ("times_rounded", loss.times),
                ("widened", loss.widened),
                ("left_out", loss.left_out),
                ("hints_left_out", loss.hints),
            ];
            (Vec::new(), read, [&[("requests", written)][..], &losses].concat())
        }
        _ => {
            let mut table = Table::of_trace(out.map(Path::new))?;
            let read = each(&mut |request| table.push_request(request))?;
            let (rows, bytes) = table.finish()?;
            (bytes, read, vec![("requests", rows)])
        }
    };
    counts.extend([("bad_lines", read.bad_lines), ("other_lines", read.other_lines), ("reordered", read.reordered)]);
    Ok((bytes, counts))
}
