//! A trace as many files: one for each of its devices.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ssd::RunError;
use workload::Source;
use workload::convert::{Loss, Target, Writer};

/// What is held in memory of a file before it is written on \[bytes].
const HELD: usize = 1 << 14;

/// A file that is open only while it is written: a fleet has more volumes than a process may have files.
struct Spilled {
    path: PathBuf,
    held: Vec<u8>,
}

impl Write for Spilled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= HELD {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// Writes the requests of each device into a file of its own in `folder`: `N.mqsim` (MQSim ASCII, which keeps times)
/// for device N, at most its first `most`. Gives back how many each has got, and what that format could not hold. The
/// source is read once.
///
/// # Errors
/// The source cannot be read, or a file cannot be written.
pub fn split(source: &mut impl Source, folder: &Path, most: u64) -> Result<(Vec<(u16, u64)>, Loss), RunError> {
    let mut writers = BTreeMap::new();
    let mut batch = Vec::new();
    let failed = |error: io::Error| RunError::Output { path: folder.display().to_string(), problem: error.to_string() };
    loop {
        batch.clear();
        source.fill(&mut batch, 4096)?;
        if batch.is_empty() {
            break;
        }
        for request in &batch {
            let writer = writers.entry(request.queue).or_insert_with(|| {
                let path = folder.join(format!("{}.mqsim", request.queue));
                Writer::new(Spilled { path, held: Vec::new() }, Target::Mqsim)
            });
            if writer.written < most {
                writer.push(request).map_err(failed)?;
            }
        }
    }
    let (mut volumes, mut all) = (Vec::new(), Loss::default());
    for (device, writer) in writers {
        let (written, loss) = writer.finish().map_err(failed)?;
        volumes.push((device, written));
        all.times += loss.times;
        all.widened += loss.widened;
        all.left_out += loss.left_out;
        all.hints += loss.hints;
    }
    Ok((volumes, all))
}
