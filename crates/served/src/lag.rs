//! How much later than the simulated drive answers a reply leaves.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// The percentiles that are reported: name and share.
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// The distribution of the lag \[ns].
pub struct Lag(Histogram<u64>);

impl Default for Lag {
    fn default() -> Lag {
        Lag(Histogram::new(3).expect("Invariant: a histogram can have three digits"))
    }
}

impl Lag {
    pub(crate) fn record(&mut self, lag: Duration) {
        self.0.record(lag.as_nanos() as u64).expect("Invariant: a histogram grows");
    }

    /// Adds what another one has.
    pub(crate) fn add(&mut self, other: &Lag) {
        self.0.add(&other.0).expect("Invariant: a histogram grows");
    }

    /// The lag that a share of the replies did not exceed \[ns].
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(share))
    }

    /// Its percentiles; null where nothing was recorded.
    pub fn json(&self) -> Value {
        let Some(max) = self.quantile(1.0) else { return Value::Null };
        let mut percentiles: Map<String, Value> =
            PERCENTILES.iter().map(|(name, share)| ((*name).into(), json!(self.quantile(*share)))).collect();
        percentiles.insert("max".into(), json!(max));
        Value::Object(percentiles)
    }
}
