//! What programs ask of the file system, and what that asks of the drive, request by request.

use std::collections::VecDeque;

use units::{Bytes, Stream, Time};

use super::options::LogFs;
use super::shape::{BLOCK, LOGS, Shape};
use super::volume::{Act, Counts, Volume};
use crate::error::TraceError;
use crate::generator::SlotSampler;
use crate::request::{Number, Op, Request, Source, SourceStatistic};

/// The largest request that blocks next to one another make (assumed: max_sectors_kb of many drives).
const LARGEST: u64 = 512 << 10;

/// See the [module documentation](super).
pub(super) struct FileSystem {
    options: LogFs,
    volume: Volume,
    /// Which file is read, and which one updated.
    read: SlotSampler,
    updated: SlotSampler,
    /// Operations that have been made, and when the next one comes \[ns].
    made: u64,
    now: f64,
    next_checkpoint: f64,
    /// Operations of the past come before those of the run.
    past: u64,
    requests: VecDeque<Request>,
    arrivals: Stream,
    kinds: Stream,
    files: Stream,
    parts: Stream,
    syncs: Stream,
}

impl FileSystem {
    /// Invariant: the options have been checked, and make that volume.
    pub fn new(options: &LogFs, shape: Shape, seed: u64) -> FileSystem {
        let stream = |what: &str| Stream::new(seed, what);
        let sampler =
            |files: u64| SlotSampler::new(&options.random_distribution, files.max(1), stream("log_fs scatter"));
        let mut system = FileSystem {
            volume: Volume::new(options, shape),
            read: sampler(shape.files),
            updated: sampler(shape.first_cold),
            made: 0,
            now: 0.0,
            next_checkpoint: 0.0,
            past: 0,
            requests: VecDeque::new(),
            arrivals: stream("log_fs arrivals"),
            kinds: stream("log_fs kinds"),
            files: stream("log_fs files"),
            parts: stream("log_fs parts"),
            syncs: stream("log_fs syncs"),
            options: options.clone(),
        };
        system.live_before();
        system
    }

    /// Operations come until the main area was written so often.
    fn live_before(&mut self) {
        let Shape { sections, blocks_of_section, .. } = self.volume.shape;
        let main = f64::from(sections) * f64::from(blocks_of_section);
        let until = self.volume.written() + (main * self.options.past) as u64;
        let writes = self.options.read_ratio.0 < 1.0;
        while writes && self.volume.written() < until {
            self.operate();
            self.volume.acts.clear();
        }
        self.volume.begin();
        self.past = std::mem::take(&mut self.made);
        (self.now, self.next_checkpoint) = (0.0, self.options.checkpoint.0 as f64);
    }

    /// The next operation, which comes now; then time goes on.
    fn operate(&mut self) {
        let number = self.past + self.made;
        if self.now >= self.next_checkpoint {
            self.volume.checkpoint();
            self.next_checkpoint = self.now + self.options.checkpoint.0 as f64;
        }
        let of_file = self.volume.shape.blocks_of_file;
        let blocks = self.options.bs.0 / BLOCK;
        let first = self.parts.below(number, of_file - blocks + 1);
        let part = first..first + blocks;
        let reads = self.options.read_ratio.0;
        let kind = self.kinds.uniform(number);
        if kind < reads {
            self.volume.read(self.read.draw(self.files, number), part);
        } else if kind < reads + (1.0 - reads) * self.options.replaced.0 {
            let file = self.files.below(number, self.volume.shape.files);
            self.volume.rewrite(file, self.options.files_of_directory.into());
        } else {
            let file = self.updated.draw(self.files, number);
            self.volume.update(file, part, self.syncs.uniform(number) < self.options.fsync.0);
        }
        self.made += 1;
        self.now += self.arrivals.exponential(number) / self.options.rate * 1e9;
    }

    /// What an operation has asked of the drive becomes requests: blocks next to one another make one.
    fn ask(&mut self, time: Time) {
        // By log, and of reads and tables: the request that the next block may lengthen.
        let mut last = [None; LOGS + 2];
        for act in std::mem::take(&mut self.volume.acts) {
            let (lane, op, offset, bytes) = match act {
                Act::Read(place) => (LOGS, Op::Read, self.main(place), BLOCK),
                Act::Write(place, log) => (log, Op::Write, self.main(place), BLOCK),
                Act::Table(block) => (LOGS + 1, Op::Write, self.options.offset.0 + block * BLOCK, BLOCK),
                Act::Flush | Act::Renew(_) => {
                    last = [None; LOGS + 2];
                    let request = self.of_section(act, time);
                    self.requests.push_back(request);
                    continue;
                }
            };
            // No request goes over the end of a section.
            if let Act::Read(place) | Act::Write(place, _) = act
                && place.is_multiple_of(self.volume.shape.blocks_of_section)
            {
                last[lane] = None;
            }
            let grows = last[lane].filter(|at: &usize| {
                let Request { offset: from, bytes: so_far, .. } = self.requests[*at];
                from.0 + so_far.0 == offset && so_far.0 < LARGEST
            });
            if let Some(at) = grows {
                self.requests[at].bytes.0 += bytes;
                continue;
            }
            last[lane] = Some(self.requests.len());
            let hint = if lane < LOGS { lane as u16 + 1 } else { 0 };
            self.requests.push_back(Request::new(time, op, Bytes(offset), Bytes(bytes)).hinted(hint));
        }
    }

    /// A flush, or what the drive is told of a section.
    fn of_section(&self, act: Act, time: Time) -> Request {
        let Act::Renew(section) = act else { return Request::new(time, Op::Flush, Bytes(0), Bytes(0)) };
        let first = self.main(section * self.volume.shape.blocks_of_section);
        Request::new(time, self.options.section_reset.op(), Bytes(first), self.options.section_size)
    }

    /// Where a place of the main area is on the drive.
    fn main(&self, place: u32) -> u64 {
        let begins = self.options.offset.0 + u64::from(self.volume.shape.tables) * self.options.section_size.0;
        begins + u64::from(place) * BLOCK
    }
}

impl Source for FileSystem {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        for _ in 0..max {
            while self.requests.is_empty() && self.made < self.options.operations {
                let time = Time(self.now as u64);
                self.operate();
                self.ask(time);
            }
            let Some(request) = self.requests.pop_front() else { break };
            batch.push(request);
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.made as f64 / self.options.operations as f64)
    }

    fn statistics(&self) -> Vec<SourceStatistic> {
        let Counts { data, nodes, cleaned, tables, sections_cleaned, checkpoints } = self.volume.counts;
        let count = |name, unit, about, value: u64| SourceStatistic { name, unit, about, value: Number::Count(value) };
        let all = data + nodes + cleaned + tables;
        vec![
            count("log_fs.operations", "operations", "reads, updates and files written again", self.made),
            count("log_fs.written_bytes", "B", "data that programs wrote", data * BLOCK),
            count("log_fs.node_bytes", "B", "nodes and directories that were written for that", nodes * BLOCK),
            count("log_fs.cleaned_bytes", "B", "live blocks that cleaning has moved", cleaned * BLOCK),
            count("log_fs.table_bytes", "B", "tables and packs that checkpoints wrote in place", tables * BLOCK),
            count("log_fs.sections_cleaned", "sections", "sections that were cleaned", sections_cleaned),
            count(
                "log_fs.checkpoints",
                "checkpoints",
                "checkpoints, those that free cleaned sections included",
                checkpoints,
            ),
            SourceStatistic {
                name: "log_fs.amplification",
                unit: "",
                about: "bytes that the file system wrote for a byte that programs wrote",
                value: Number::Amount(all as f64 / data.max(1) as f64),
            },
        ]
    }
}
