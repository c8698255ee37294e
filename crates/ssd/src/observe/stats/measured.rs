//! What a report is made of.

use units::Span;
use units::Time;
use workload::{ReadCounts, SourceStatistic};

use super::energy::Energy;
use super::finding::Finding;
use super::latency::ByQueue;
use super::smart::Smart;
use super::throttling::Throttling;
use super::{Counters, Erases, Steps, Usage, Victims};
use crate::config::Plan;

/// What a device has counted, up to a moment or between two.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Counts.
    pub counters: Counters,
    /// Time by cause.
    pub usage: Usage,
    /// Valid pages of the blocks collected.
    pub victims: Victims,
    /// Retry steps of the pages read.
    pub steps: Steps,
    /// What power and temperature have kept it from, where they are limited or followed.
    pub throttling: Option<Throttling>,
    /// Of several drives, the energy of all, each by its own configuration and for as long as it has gone on. That of
    /// one drive follows from the rest.
    pub energy: Option<Energy>,
}

impl Totals {
    /// What has been counted since `before`.
    pub fn since(&self, before: &Totals) -> Totals {
        Totals {
            counters: self.counters.since(&before.counters),
            usage: self.usage.since(&before.usage),
            victims: self.victims.since(&before.victims),
            steps: self.steps.since(&before.steps),
            throttling: self.throttling.map(|now| now.since(&before.throttling.unwrap_or_default())),
            energy: self.energy.map(|now| now.since(&before.energy.unwrap_or_default())),
        }
    }
}

/// What became of the search for a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Whether one was reached; the result is then that of its last five rounds.
    pub reached: bool,
    /// Rounds played.
    pub rounds: u64,
    /// Mean length of the last five rounds, or of all where there were fewer.
    pub round: Span,
    /// How the last rounds differ, once there are two.
    pub trend: Option<Trend>,
    /// When the rounds that are the result began and ended, where a steady state was reached: on the drive's clock
    /// while the run goes on, and from the beginning of the workload in its result. Requests count that completed later
    /// than the first, and not later than the second.
    pub window: Option<(Time, Time)>,
}

/// How the last rounds of a search for a steady state differ: five, or all where there were fewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Requests completed a second, mean of the rounds.
    pub iops: f64,
    /// Write amplification, mean of the rounds; 0 where nothing was written.
    pub waf: f64,
    /// Largest less smallest number of the rounds over their mean, of the number that has the larger one: at most 0.2
    /// in a steady state (PTS 2.0.1).
    pub spread: f64,
    /// The rise of the line fitted to the rounds over their mean, of the number that has the larger one: at most 0.1 in
    /// a steady state.
    pub slope: f64,
}

/// Where in its life a drive is at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As it was written, by the preconditioning that its configuration asks for.
    AsWritten,
    /// In the middle of the life of a drive that is overwritten uniformly at full speed: stationary under such a load.
    MidLife,
    /// As after long uniform overwriting, but nothing is being collected: not stationary.
    BetweenCollections,
    /// In the middle of the life of a drive under another load than that of the run, or not yet under that for long
    /// enough.
    OnTheWay,
}

/// The part of a load that went through the FTL alone, to bring the drive to the state that it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Warmed {
    /// Pages of host data.
    pub pages: u64,
    /// Pages that the flash has for what the load writes to.
    pub turnover: u64,
    /// Pages that would have to be programmed, relocated ones included, where that is more than are played.
    pub needed: u64,
    /// Whether the write amplification then stayed the same.
    pub reached: bool,
    /// Write amplification of the last half of a turnover.
    pub waf: f64,
    /// By how much of it that differs from that of the half before.
    pub change: f64,
}

/// What a learned mapping table takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearnedSize {
    /// Segments, and the approximate ones among them.
    pub segments: u64,
    /// See `segments`.
    pub approximate: u64,
    /// Their memory \[B].
    pub bytes: u64,
    /// Levels of the group that has most.
    pub levels: u64,
}

impl LearnedSize {
    /// What two tables take together.
    #[must_use]
    pub fn plus(self, other: LearnedSize) -> LearnedSize {
        LearnedSize {
            segments: self.segments + other.segments,
            approximate: self.approximate + other.approximate,
            bytes: self.bytes + other.bytes,
            levels: self.levels.max(other.levels),
        }
    }
}

/// How a drive stands at the end of a run.
#[derive(Clone, Debug)]
pub struct DriveState {
    /// What it is.
    pub plan: Plan,
    /// Where in its life it was at the start.
    pub start: Start,
    /// What was played through the FTL alone before, for a load that has no closed form.
    pub warmed: Option<Warmed>,
    /// The write amplification of the load that has brought it to its start, where that was played.
    pub waf_before: Option<f64>,
    /// Bytes that the host has written since its start.
    pub written: u64,
    /// Erases of blocks since its start.
    pub erases: Erases,
    /// Effective P/E cycles of each block, where blocks are erased pulse by pulse.
    pub effective_pec: Option<Vec<f64>>,
    /// When its life ended, if it has.
    pub end_of_life: Option<Time>,
    /// Its health as it would report it.
    pub smart: Smart,
    /// Free blocks of all planes, and of the plane that has the fewest.
    pub free_blocks: (u64, u32),
    /// Blocks that hold data of the SLC cache or are open for it, where there is one.
    pub slc_blocks: Option<u64>,
    /// What the learned mapping table takes, where there is one.
    pub learned: Option<LearnedSize>,
    /// Zones in each state, in the order of [`ZoneState::ALL`](crate::zones::ZoneState::ALL), where there are any.
    pub zones: Option<[u32; 8]>,
    /// Memory that tracked references take \[B].
    pub tracked_bytes: usize,
    /// How long recovery took after each power cut.
    pub recoveries: Vec<Span>,
}

/// What the host has written, by whether there was data at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Bytes of writes to addresses behind the data that the drive held at the start.
    pub bytes: u64,
    /// Bytes of all writes.
    pub of: u64,
}

impl Outside {
    /// The share that held no data.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.bytes as f64 / self.of.max(1) as f64
    }
}

/// What a run has measured, without its warm-up.
pub struct Measured {
    /// Latencies by queue.
    pub latencies: ByQueue,
    /// What the device counted.
    pub totals: Totals,
    /// Requests whose addresses lay beyond the device and were wrapped around.
    pub wrapped: u64,
    /// Requests that were run before those that count, until the load had settled.
    pub settled: u64,
    /// Requests asked for that the workload no longer had, where it ended before.
    pub missing: Option<u64>,
    /// The workload has ended, and no option makes it longer.
    pub over: bool,
    /// Of the load nothing was known before the run: the drive started as another one, which was assumed, had left it.
    pub past_assumed: bool,
    /// What was written, and where no data was at the start.
    pub outside: Outside,
    /// What reading the workload left out or put in order.
    pub read: ReadCounts,
    /// What the workload reports of itself.
    pub of_source: Vec<SourceStatistic>,
    /// Whether and when a steady state was reached, if one was asked for.
    pub steady: Option<SteadyState>,
    /// How the drive stands at the end.
    pub drive: DriveState,
    /// What puts these numbers in doubt, in the order of `run::findings::KINDS`.
    pub findings: Vec<Finding>,
}
