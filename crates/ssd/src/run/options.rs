//! What a run is asked for, beside device and workload.

use units::Span;
use units::value::{Scalar, Value};
use workload::Beyond;

use super::steady::Round;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// At their times, so many times faster.
    Timed(f64),
    /// As soon as another completes, so many at once, whatever their times.
    Closed(u32),
}

impl Value for Replay {
    fn expects() -> String {
        "\"timed\", \"timed:xN\" (N times faster) or \"closed:QD\" (QD requests at once)".into()
    }
    fn read(scalar: &Scalar) -> Option<Replay> {
        let Scalar::Text(text) = scalar else { return None };
        match text.split_once(':') {
            None if text == "timed" => Some(Replay::Timed(1.0)),
            Some(("timed", speed)) => {
                let speed: f64 = speed.strip_prefix('x')?.parse().ok()?;
                (speed.is_finite() && (1e-6..=1e9).contains(&speed)).then_some(Replay::Timed(speed))
            }
            Some(("closed", depth)) => {
                depth.parse().ok().filter(|depth| (1..=1 << 20).contains(depth)).map(Replay::Closed)
            }
            _ => None,
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Replay::Timed(1.0) => "timed".into(),
            Replay::Timed(speed) => format!("timed:x{speed}"),
            Replay::Closed(depth) => format!("closed:{depth}"),
        })
    }
}

/// What to run, beside device and workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// How requests are paced.
    pub replay: Replay,
    /// Stop after so many requests.
    pub requests: Option<u64>,
    /// Submit nothing after this simulated time.
    pub duration: Option<Span>,
    /// Requests at the start that are played but left out of the statistics.
    pub warmup: u64,
    /// Seed of the device's random streams.
    pub seed: u64,
    /// What becomes of requests beyond the drive.
    pub beyond: Beyond,
    /// Play until the drive is in a steady state by rounds of at least so long; the last rounds are the result.
    pub until_steady: Option<Round>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            replay: Replay::Timed(1.0),
            requests: None,
            duration: None,
            warmup: 0,
            seed: 1,
            until_steady: None,
            beyond: Beyond::Wrap,
        }
    }
}
