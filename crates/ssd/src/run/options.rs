//! What a run is asked for, beside device and workload.

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use units::value::{Scalar, Value};
use units::{ConfigError, Span};
use workload::Beyond;

use super::manifest::to_json;
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

/// A value of an option, as its user gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A count.
    Number(u64),
    /// Anything else, in words.
    Text(String),
}

/// The type of an option.
trait OptionValue: Sized {
    fn read(option: &str, given: &Given) -> Result<Self, ConfigError>;
    /// As a run's manifest has it.
    fn json(&self) -> Json;
}

impl OptionValue for u64 {
    fn read(option: &str, given: &Given) -> Result<u64, ConfigError> {
        match given {
            Given::Number(number) => Ok(*number),
            Given::Text(word) => parse(option, word),
        }
    }
    fn json(&self) -> Json {
        json!(self)
    }
}

impl OptionValue for PathBuf {
    fn read(_: &str, given: &Given) -> Result<PathBuf, ConfigError> {
        Ok(match given {
            Given::Number(number) => number.to_string().into(),
            Given::Text(path) => path.into(),
        })
    }
    fn json(&self) -> Json {
        json!(self.display().to_string())
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn read(option: &str, given: &Given) -> Result<Option<T>, ConfigError> {
        T::read(option, given).map(Some)
    }
    fn json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::json)
    }
}

macro_rules! in_words {
    ($($type:ty),+) => {$(
        impl OptionValue for $type {
            fn read(option: &str, given: &Given) -> Result<$type, ConfigError> {
                match given {
                    Given::Number(number) => parse(option, &number.to_string()),
                    Given::Text(word) => parse(option, word),
                }
            }
            fn json(&self) -> Json {
                to_json(&self.write())
            }
        }
    )+};
}
in_words!(Replay, Span, Round, Beyond);

/// Declares the options of a run once, in the order in which a manifest has them.
macro_rules! options {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $option:ident: $type:ty = $default:expr,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $doc])+ pub $option: $type,)+ }

        impl Default for $name {
            fn default() -> Self { $name { $($option: $default,)+ } }
        }

        impl $name {
            /// The options by name.
            pub const NAMES: &[&str] = &[$(stringify!($option)),+];

            /// Sets an option by its name.
            pub fn set(&mut self, name: &str, given: &Given) -> Result<(), ConfigError> {
                let option = format!("--{}", name.replace('_', "-"));
                match name {
                    $(stringify!($option) => self.$option = OptionValue::read(&option, given)?,)+
                    _ => {
                        let remedy = format!("the options of a run are {}", Self::NAMES.join(", "));
                        return Err(refused(&option, "is no option of a run", &remedy));
                    }
                }
                Ok(())
            }

            /// Names and values, as a run's manifest has them.
            pub(super) fn values(&self) -> Vec<(&'static str, Json)> {
                vec![$((stringify!($option), self.$option.json())),+]
            }
        }
    };
}

options! {
    /// What to run, beside device and workload.
    RunOptions {
        /// How requests are paced.
        replay: Replay = Replay::Timed(1.0),
        /// Stop after so many requests.
        requests: Option<u64> = None,
        /// Submit nothing after this simulated time.
        duration: Option<Span> = None,
        /// Requests at the start that are played but left out of the statistics.
        warmup: u64 = 0,
        /// Play until the drive is in a steady state by rounds of at least so long; the last rounds are the result.
        until_steady: Option<Round> = None,
        /// Seed of the device's random streams.
        seed: u64 = 1,
        /// What becomes of requests beyond the drive.
        beyond: Beyond = Beyond::Wrap,
        /// The checkpoint whose device goes on.
        checkpoint: Option<PathBuf> = None,
    }
}

/// The error of an option or a word that was given on a command line.
pub fn refused(origin: &str, problem: &str, remedy: &str) -> ConfigError {
    ConfigError { origin: origin.into(), line: None, key: None, problem: problem.into(), remedy: remedy.into() }
}

/// A value that was given on a command line, as `T`.
pub fn parse<T: Value>(origin: &str, word: &str) -> Result<T, ConfigError> {
    T::read(&Scalar::Text(word.into()))
        .ok_or_else(|| refused(&format!("{origin} {word}"), "is not accepted", &format!("expected {}", T::expects())))
}
