//! What was measured at each point of a grid.

/// A value, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over seeds.
    pub value: f64,
    /// Half the width of the interval, over seeds; None where there is one seed. Between points of the grid it is that
    /// of the points around, in proportion: it does not contain the error of the interpolation.
    pub half_width: Option<f64>,
}

/// What a surface has of each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Throughput \[B/s].
    BytesPerS,
    /// Requests a second.
    RequestsPerS,
    /// Mean latency of reads \[ns].
    ReadMean,
    /// Their median \[ns].
    ReadP50,
    /// Their 99th percentile \[ns].
    ReadP99,
    /// Their 99.9th percentile \[ns].
    ReadP999,
    /// Mean latency of writes \[ns].
    WriteMean,
    /// Their median \[ns].
    WriteP50,
    /// Their 99th percentile \[ns].
    WriteP99,
    /// Their 99.9th percentile \[ns].
    WriteP999,
}

impl Quantity {
    /// All of them, in the order of the file.
    pub const ALL: [Quantity; 10] = [
        Quantity::BytesPerS,
        Quantity::RequestsPerS,
        Quantity::ReadMean,
        Quantity::ReadP50,
        Quantity::ReadP99,
        Quantity::ReadP999,
        Quantity::WriteMean,
        Quantity::WriteP50,
        Quantity::WriteP99,
        Quantity::WriteP999,
    ];

    /// Its name in the file.
    ///
    /// ```
    /// assert_eq!(tier::Quantity::ReadP999.name(), "read.latency_ns.p99_9");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Quantity::BytesPerS => "bytes_per_s",
            Quantity::RequestsPerS => "requests_per_s",
            Quantity::ReadMean => "read.latency_ns.mean",
            Quantity::ReadP50 => "read.latency_ns.p50",
            Quantity::ReadP99 => "read.latency_ns.p99",
            Quantity::ReadP999 => "read.latency_ns.p99_9",
            Quantity::WriteMean => "write.latency_ns.mean",
            Quantity::WriteP50 => "write.latency_ns.p50",
            Quantity::WriteP99 => "write.latency_ns.p99",
            Quantity::WriteP999 => "write.latency_ns.p99_9",
        }
    }

    /// The quantity of that name.
    ///
    /// ```
    /// assert_eq!(tier::Quantity::named("bytes_per_s"), Some(tier::Quantity::BytesPerS));
    /// ```
    pub fn named(name: &str) -> Option<Quantity> {
        Quantity::ALL.into_iter().find(|quantity| quantity.name() == name)
    }
}

/// Latencies of reads, or of writes \[ns].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// The mean.
    pub mean: Estimate,
    /// The median.
    pub p50: Estimate,
    /// The 99th percentile.
    pub p99: Estimate,
    /// The 99.9th percentile.
    pub p99_9: Estimate,
}

/// What a surface says of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Throughput \[B/s].
    pub bytes_per_s: Estimate,
    /// Requests a second.
    pub requests_per_s: Estimate,
    /// Latencies of reads; None where a point of the grid that the answer is made from has none.
    pub read: Option<Latencies>,
    /// Latencies of writes, likewise.
    pub write: Option<Latencies>,
    /// The kinds of what puts the numbers in doubt that the answer is made from (docs/warnings.md).
    pub findings: Vec<String>,
}
