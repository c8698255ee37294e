//! What the tests share: scratch files and draining a source.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use workload::{Format, ReadOptions, Request, Source, TraceError, TraceFile};

/// A file in the temporary folder that goes when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(content: &[u8]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("workload-test-{}-{number}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

/// All requests of a source, fetched `batch` at a time.
pub fn drain(source: &mut dyn Source, batch: usize) -> Result<Vec<Request>, TraceError> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        source.fill(&mut all, batch)?;
        if all.len() == before {
            return Ok(all);
        }
    }
}

pub fn read_path(path: &Path, format: Option<&str>) -> Result<Vec<Request>, TraceError> {
    drain(&mut TraceFile::open(path, format.map(|word| Format::parse(word).unwrap()))?, 1000)
}

/// The requests of a file of this content.
pub fn read(content: impl AsRef<[u8]>, format: Option<&str>) -> Result<Vec<Request>, TraceError> {
    let file = Scratch::new(content.as_ref());
    read_path(&file.0, format)
}

/// The error of a file of this content, printed, without the path of the file.
pub fn refused(content: impl AsRef<[u8]>, format: Option<&str>) -> String {
    refused_with(content, format, ReadOptions::default())
}

/// The error of a file of this content, as [`refused`] gives it, where the file is read with these options.
pub fn refused_with(content: impl AsRef<[u8]>, format: Option<&str>, reading: ReadOptions) -> String {
    let file = Scratch::new(content.as_ref());
    let format = format.map(|word| Format::parse(word).unwrap());
    let read = TraceFile::open_with(&file.0, format, reading).and_then(|mut trace| drain(&mut trace, 1000));
    let error = read.expect_err("a faulty trace");
    assert!(!error.remedy.is_empty(), "{error}");
    error.to_string().replace(&file.0.display().to_string(), "FILE")
}
