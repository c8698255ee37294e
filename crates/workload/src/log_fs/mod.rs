//! A log-structured file system on flash, as F2FS is one (C. Lee et al., "F2FS: A New File System for Flash Storage",
//! FAST'15): what programs write goes to one of several logs by how long it is expected to live, and what is left of
//! old sections is cleaned.
//!
//! Of the paper: node and data blocks with hot, warm and cold logs of each (Table 1); sections that are written in
//! order; cleaning, greedy or by cost and benefit, whose data goes to the cold log (3.3, 3.4); a node address table
//! (NAT), by which a block that moves changes its direct node alone; checkpoints, which write NAT, segment information
//! (SIT) and checkpoint packs in place, and free what was cleaned before (3.5). Of the kernel's source
//! (fs/f2fs/segment.c): which log a block goes to where four or two are active, and the blocks of tables: 455 NAT
//! entries, 55 SIT entries.
//!
//! Left out: adaptive logging (writes into the holes of old sections), roll-forward marks, atomic writes and
//! compression; and that a program waits for anything: requests have times, and what cleaning reads is not waited for
//! before it is written.

mod options;
mod shape;
mod source;
mod volume;

use std::cell::OnceCell;

use units::{Bytes, ConfigError};

pub use options::{ActiveLogs, Cleaning, LogFs};
use shape::Shape;
use source::FileSystem;

use crate::error::TraceError;
use crate::request::{Request, Source, SourceStatistic};

impl LogFs {
    /// Its requests to a device of `capacity`.
    ///
    /// # Errors
    /// A parameter cannot be met.
    pub(crate) fn source(&self, capacity: Bytes, seed: u64) -> Result<Box<dyn Source>, ConfigError> {
        let shape = self.check(capacity)?;
        Ok(Box::new(Requests { options: self.clone(), shape, seed, system: OnceCell::new() }))
    }
}

/// The requests of a file system. Inputs are often looked at and not played, so it is not filled and overwritten
/// (`past`), which takes a second, before the first request is asked for.
struct Requests {
    options: LogFs,
    shape: Shape,
    seed: u64,
    system: OnceCell<FileSystem>,
}

impl Requests {
    fn system(&self) -> &FileSystem {
        self.system.get_or_init(|| FileSystem::new(&self.options, self.shape, self.seed))
    }
}

impl Source for Requests {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        self.system();
        self.system.get_mut().expect("Invariant: it has been made").fill(batch, max)
    }

    fn progress(&self) -> Option<f64> {
        self.system.get().map_or(Some(0.0), FileSystem::progress)
    }

    fn statistics(&self) -> Vec<SourceStatistic> {
        self.system().statistics()
    }
}

#[cfg(test)]
mod tests;
