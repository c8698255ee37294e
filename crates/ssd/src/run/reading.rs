//! What came of reading a workload.

use workload::{ReadCounts, SourceStatistic};

/// What came of reading a workload.
#[derive(Default)]
pub(super) struct Reading {
    /// What was left out or put in order.
    pub counts: ReadCounts,
    /// Requests that were wrapped.
    pub wrapped: u64,
    /// Requests that were asked for and it no longer had.
    pub missing: Option<u64>,
    /// It has ended, and no option makes it longer.
    pub over: bool,
    /// What it reports of itself.
    pub statistics: Vec<SourceStatistic>,
}
