//! What a load has written before a run: where its writes go, and whether they go everywhere alike.

use std::ops::Range;

use units::{Bytes, ConfigError};

use super::jobs::Workload;
use super::options::{Generator, Rw};
use crate::error::TraceError;
use crate::request::{ClosedLoop, Past, ReadCounts, Request, Source, SourceStatistic};

/// The past of a generator's load.
#[derive(Clone, Debug)]
pub struct PastOfGenerator {
    workload: Workload,
    capacity: Bytes,
    seed: u64,
}

/// More requests of a past than anything plays.
const LONG: u64 = 1 << 28;

/// By how much of the range the ends of what is written may differ from those of what holds data (assumed): too little
/// to tell in the write amplification.
const SAME_RANGE: f64 = 0.01;

impl PastOfGenerator {
    /// The past of a workload's requests.
    pub fn new(workload: &Workload, capacity: Bytes, seed: u64) -> PastOfGenerator {
        PastOfGenerator { workload: workload.clone(), capacity, seed }
    }

    /// The jobs that write or trim, where there are no phases.
    fn changing(&self) -> impl Iterator<Item = &Generator> {
        let jobs = if self.workload.phases.is_some() { &[] } else { self.workload.jobs.as_slice() };
        jobs.iter().map(|(_, job)| job).filter(|job| job.reads() < 1.0)
    }

    /// The addresses that a job writes, all copies of it.
    fn range_of(&self, job: &Generator) -> Range<u64> {
        let of_copy = job.range(self.capacity);
        let copies = u64::from(job.numjobs);
        // Copies stand one behind the other, each with what is only read behind what is written.
        let written = job.cold_read_ratio.map_or(of_copy, |_| job.written_bytes(of_copy));
        let length = of_copy.0 * (copies - 1) + written.0;
        job.offset.0..job.offset.0 + length
    }
}

impl Past for PastOfGenerator {
    fn source(&self, reads: bool) -> Result<Box<dyn Source>, ConfigError> {
        self.workload.source_before(self.capacity, self.seed, reads)
    }

    fn written(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = match &self.workload.phases {
            Some(phases) => phases.written(),
            None => {
                let writing = self.changing().filter(|job| !matches!(job.rw, Rw::Trim | Rw::RandTrim));
                writing.map(|job| self.range_of(job)).collect()
            }
        };
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => joined.push(range),
            }
        }
        joined
    }

    fn is_uniform(&self, filled: Bytes, unit: Bytes) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= SAME_RANGE * filled.0 as f64;
        // Phases write in streams, unless they write nothing.
        self.workload.phases.as_ref().is_none_or(|phases| phases.written().is_empty())
            && self.changing().all(|job| {
                let range = self.range_of(job);
                job.draws_evenly(unit) && near(range.start, 0) && near(range.end, filled.0)
            })
    }

    fn identity(&self) -> Option<String> {
        let mut workload = self.workload.endless(false);
        // Requests of one job stand in one order, whatever their times are.
        if let ([(_, job)], None) = (workload.jobs.as_mut_slice(), &workload.phases)
            && job.numjobs == 1
        {
            let any = Generator::default();
            (job.rate_iops, job.arrivals) = (any.rate_iops, any.arrivals);
            if job.requests >= LONG {
                job.requests = LONG;
            }
            if matches!(job.rw, Rw::RandWrite | Rw::RandTrim) {
                job.read_ratio = any.read_ratio;
            }
        }
        Some(format!("{} {}\n{}", self.seed, self.capacity.0, workload.to_toml()))
    }
}

/// A source with the load that it is a part of.
pub struct Generated {
    /// Its requests.
    pub source: Box<dyn Source>,
    /// Whether it makes more of them than count ([`Source::leads`]).
    pub leads: bool,
    /// How the load went on before, where that is known.
    pub past: Option<Box<dyn Past + Send>>,
}

impl Source for Generated {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        self.source.fill(batch, max)
    }
    fn progress(&self) -> Option<f64> {
        self.source.progress().filter(|_| !self.leads)
    }
    fn closed_loop(&mut self) -> Option<&mut dyn ClosedLoop> {
        self.source.closed_loop()
    }
    fn leads(&self) -> bool {
        self.leads
    }
    fn past(&self) -> Option<&dyn Past> {
        self.past.as_deref().map(|past| past as &dyn Past)
    }
    fn counts(&self) -> ReadCounts {
        self.source.counts()
    }
    fn statistics(&self) -> Vec<SourceStatistic> {
        self.source.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn past(words: &[&str]) -> PastOfGenerator {
        PastOfGenerator::new(&crate::presets::get("default", words).unwrap(), Bytes(8 * GIB), 1)
    }

    #[test]
    fn only_random_writes_of_all_that_holds_data_are_uniform() {
        let random = "workload.rw=randwrite";
        let uniform = |words: &[&str], filled: u64| past(words).is_uniform(Bytes(filled), Bytes(4 << 10));
        assert!(uniform(&[random], 8 * GIB));
        assert!(uniform(&["workload.rw=randrw", "workload.footprint=4GiB"], 4 * GIB));
        assert!(uniform(&["workload.rw=randread", "workload.footprint=1GiB"], 8 * GIB), "nothing is written");
        assert!(uniform(&[random, "workload.numjobs=4"], 8 * GIB), "copies stand one behind the other");
        assert!(!uniform(&[random], 4 * GIB), "what holds nothing is written too");
        assert!(!uniform(&[random, "workload.footprint=7GiB"], 8 * GIB));
        assert!(!uniform(&[random, "workload.offset=1GiB"], 8 * GIB));
        assert!(!uniform(&[random, "workload.random_distribution=zipf:0.9"], 8 * GIB));
        assert!(uniform(&[random, "workload.bs=4KiB"], 8 * GIB), "the preset's requests are aligned to their size");
        assert!(uniform(&[random, "workload.bs=4KiB", "workload.align=512B"], 8 * GIB), "less than a unit");
        assert!(uniform(&[random, "workload.bs=8KiB/50:16KiB/50"], 8 * GIB));
        assert!(
            !uniform(&[random, "workload.bs=4KiB", "workload.align=16KiB"], 8 * GIB),
            "three units of four are left out"
        );
        assert!(!uniform(&["workload.rw=randrw", "workload.cold_read_ratio=0.5"], 8 * GIB));
        assert!(!uniform(&["workload.rw=write"], 8 * GIB));
        assert!(!uniform(&["workload.rw=randtrim"], 8 * GIB));
    }

    #[test]
    fn the_past_writes_to_the_same_popular_addresses_in_another_order() {
        let words = ["workload.rw=randwrite", "workload.random_distribution=zipf:1.2", "workload.align=16KiB"];
        let workload = crate::presets::get("default", &words).unwrap();
        let most_written = |mut source: Box<dyn Source>| {
            let mut batch = Vec::new();
            source.fill(&mut batch, 20_000).unwrap();
            let mut offsets: Vec<u64> = batch.iter().map(|request| request.offset.0).collect();
            let first = offsets[..20].to_vec();
            offsets.sort_unstable();
            let longest = offsets.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).unwrap();
            (longest[0], first)
        };
        let (popular, first) = most_written(workload.source(Bytes(8 * GIB), 3).unwrap());
        let (before, first_before) =
            most_written(PastOfGenerator::new(&workload, Bytes(8 * GIB), 3).source(true).unwrap());
        assert_eq!(popular, before);
        assert_ne!(first, first_before);
    }

    #[test]
    fn what_jobs_write_is_joined() {
        let text = "[workload]\nrw = \"randwrite\"\nfootprint = \"1GiB\"\n[job.a]\n[job.b]\noffset = \"512MiB\"\n[job.c]\noffset = \"4GiB\"\nnumjobs = 2\n[job.d]\nrw = \"randread\"\noffset = \"7GiB\"\n";
        let workload = Workload::read(&units::Document::parse(text, "test").unwrap(), &[], None).unwrap();
        let past = PastOfGenerator::new(&workload, Bytes(8 * GIB), 1);
        assert_eq!(past.written(), [0..3 * GIB / 2, 4 * GIB..6 * GIB]);
    }
}
