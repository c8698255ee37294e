//! What a run is asked for: every option is declared here, once. The command line, the keyword arguments of Python with
//! their documentation and types, the options of sweep files and what a manifest keeps of them follow from
//! [`declared`].

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use units::value::{Scalar, Value};
use units::{ConfigError, Span};
use workload::{Beyond, ReadOptions, Volumes};

use super::checkpoint::SaveAt;
use super::manifest::to_json;
use super::refusal::{parse, refused};
use super::steady::Round;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// At their times, this many times faster.
    Timed(f64),
    /// As soon as another completes, this many at once, whatever their times.
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

impl OptionValue for bool {
    fn read(option: &str, given: &Given) -> Result<bool, ConfigError> {
        match given {
            Given::Number(0) => Ok(false),
            Given::Number(1) => Ok(true),
            Given::Number(other) => parse(option, &other.to_string()),
            Given::Text(word) => parse(option, word),
        }
    }
    fn json(&self) -> Json {
        json!(self)
    }
}

impl OptionValue for String {
    fn read(_: &str, given: &Given) -> Result<String, ConfigError> {
        Ok(match given {
            Given::Number(number) => number.to_string(),
            Given::Text(text) => text.clone(),
        })
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
in_words!(Replay, Span, Round, Beyond, Volumes, SaveAt);

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A word or several.
    Text,
    /// The path of a file or folder, or a preset's name.
    Path,
    /// A preset, a file, or traces.
    Workload,
    /// A whole number: the smallest that is accepted, and the default where there is one.
    Number(u64, Option<u64>),
    /// Yes or no.
    Flag,
    /// Keys of the section `age`.
    Age,
    /// Keys of the configuration.
    Settings,
    /// The key `age.precondition`.
    Precondition,
    /// Functions that stand in for choices of the drive.
    Policies,
    /// What makes an FTL.
    Ftl,
}

/// An option, as all that take it know it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its name on the command line, where that is not `--` and its own.
    pub flag: Option<&'static str>,
    /// What stands for its value in the command line's help.
    pub metavar: &'static str,
    /// What it means; Markdown.
    pub about: &'static str,
    /// What the command line's help says instead, if anything; empty where it has no such option.
    pub help: Option<&'static str>,
    /// Its default, where it is a word.
    pub default: Option<&'static str>,
    /// Whether it says what a run writes or keeps.
    pub is_output: bool,
}

/// Every option of a run, in the order of the command line's help.
pub fn declared() -> Vec<Declared> {
    [input_options(), RunOptions::declared(), TraceOptions::declared(), OutputOptions::declared()].concat()
}

macro_rules! row {
    ($name:ident, [$($about:literal)+], $kind:expr, $metavar:literal $(, $field:ident = $value:expr)*) => {
        #[allow(clippy::needless_update, reason = "some rows give all fields")]
        Declared {
            name: stringify!($name),
            kind: $kind,
            metavar: $metavar,
            about: concat!($($about),+).trim_ascii_start(),
            $($field: $value,)*
            ..Declared { name: "", kind: Kind::Text, flag: None, metavar: "", about: "", help: None, default: None, is_output: false }
        }
    };
}

/// Declares options: each with its kind, what stands for its value, and what else is said of it; its type and default.
macro_rules! options {
    ($(#[doc = $what:literal])+ $group:ident { $(
        $(#[doc = $doc:literal])+
        [$kind:expr, $metavar:literal $(, $field:ident = $value:expr)*] $option:ident: $type:ty = $default:expr,
    )+ }) => {
        $(#[doc = $what])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $group { $($(#[doc = $doc])+ pub $option: $type,)+ }

        impl Default for $group {
            fn default() -> Self { $group { $($option: $default,)+ } }
        }

        impl $group {
            /// The options by name.
            pub const NAMES: &[&str] = &[$(stringify!($option)),+];

            fn declared() -> Vec<Declared> {
                vec![$(row!($option, [$($doc)+], $kind, $metavar $(, $field = $value)*)),+]
            }

            /// Sets an option by its name.
            pub fn set(&mut self, name: &str, given: &Given) -> Result<(), ConfigError> {
                let option = format!("--{}", name.replace('_', "-"));
                match name {
                    $(stringify!($option) => self.$option = OptionValue::read(&option, given)?,)+
                    _ => {
                        let remedy = format!("the options are {}", Self::NAMES.join(", "));
                        return Err(refused(&option, "is no option of a run", &remedy));
                    }
                }
                Ok(())
            }

            /// Names and values, as a run's manifest has them.
            pub fn values(&self) -> Vec<(&'static str, Json)> {
                vec![$((stringify!($option), self.$option.json())),+]
            }
        }
    };
}

/// Those that say which drive is run, and under which load: what they mean is read where the drive is made.
fn input_options() -> Vec<Declared> {
    macro_rules! inputs {
        ($($(#[doc = $doc:literal])+ $name:ident [$kind:expr, $metavar:literal $(, $field:ident = $value:expr)*])+) => {
            vec![$(row!($name, [$($doc)+], $kind, $metavar $(, $field = $value)*)),+]
        };
    }
    inputs! {
        /// Preset (`ssdlab.presets()`), device file (TOML), a device in a line (`"2TB, 16 ch x 4 dies, TLC"`), or a
        /// dict of what a device file would hold: `{"base": "tlc", "geometry.channels": 4}`.
        device [Kind::Path, "NAME|FILE|LINE", default = Some("tlc"),
            help = Some("Preset, device file (TOML), or a device in a line: \"2TB, 16 ch x 4 dies, TLC\".")]
        /// File (TOML) of an array of drives, on which the workload is run: docs/arrays.md. `device`, `scheme`, `age`
        /// and `settings` are those of each of its drives, `array.KEY` in `settings` those of the array.
        array [Kind::Path, "FILE", help = Some("Run on an array of drives (TOML), such as examples/array.toml.")]
        /// Preset, workload file (.toml), trace (plain, gzip or zstd), or a dict of what a workload file would hold:
        /// `{"rw": "randread", "bs": "4KiB"}`; several traces are merged by time.
        workload [Kind::Workload, "NAME|FILE|TRACE", default = Some("default"),
            help = Some("Preset, workload file (.toml), or trace (plain, gzip or zstd); several traces are merged by time.")]
        /// Requests outstanding at once, each followed by another: queue depth N is `replay = "closed:N"`.
        qd [Kind::Number(1, None), "N", help = Some("Keep N requests outstanding (queue depth): --replay closed:N.")]
        /// Scheme's name, or `axis=choice` pairs with commas between.
        scheme [Kind::Text, "NAME|AXIS=CHOICE,…", help = Some("Scheme, or choices on its axes.")]
        /// State that the run starts from: `"pec=2000,retention=6mo"` or a dict of the same.
        age [Kind::Age, "KEY=VALUE,…", help = Some("State at the start, such as pec=2000,retention=6mo.")]
        /// `"closed-form"` starts as after long overwriting, `"write:N"` really overwrites the drive N times
        /// first; the same as `age.precondition`.
        precondition [Kind::Precondition, "closed-form|write:N",
            help = Some("Start as after long overwriting: by formula, or by really writing N times the capacity.")]
        /// Configuration keys: `{"chip.t_prog": "400us"}`, `{"chip": {"t_prog": "400us"}}` or
        /// `["chip.t_prog=400us"]`; `ssdlab.schema()` lists them.
        settings [Kind::Settings, "KEY=VALUE", flag = Some("--set"),
            help = Some("Any key of `ssdlab schema`; may be repeated.")]
        /// Functions that stand in for built-in choices: `{"victim": my_function}`, `{"victim":
        /// "my_policies.py:oldest"}` or `"victim=my_policies.py:oldest"`; see `ssdlab.policy`.
        policies [Kind::Policies, "AXIS=FILE:FUNCTION,…", flag = Some("--policy"),
            help = Some("Functions that stand in for built-in choices, such as victim=my_policies.py:oldest.")]
        /// An FTL of your own, a class in Python: `"mine.py:MyFtl"` or the class itself; the same as the policy `ftl`.
        /// See `ssdlab.policy.Ftl`.
        ftl [Kind::Ftl, "FILE:CLASS", help = Some("An FTL of your own, such as examples/own_ftl.py:PageMapped.")]
    }
}

options! {
    /// How a drive is played; in the order in which a manifest has them.
    RunOptions {
        /// `"timed"` (the default), `"timed:xN"` (N times faster) or `"closed:QD"` (QD requests at once).
        [Kind::Text, "timed|timed:xN|closed:QD", help = Some("Pace: trace times, N times faster, or QD at once.")]
        replay: Replay = Replay::Timed(1.0),
        /// Stop after this many requests.
        [Kind::Number(1, None), "N"]
        requests: Option<u64> = None,
        /// Submit nothing after this simulated time, such as 10s.
        [Kind::Text, "TIME"]
        duration: Option<Span> = None,
        /// Requests at the start that are played and left out of the statistics.
        [Kind::Number(0, Some(0)), "N", help = Some("Leave the first N out of the statistics.")]
        warmup: u64 = 0,
        /// Play until the drive is in a steady state by rounds of at least this simulated time (`"1s"`), after the PTS
        /// of SNIA; the last five rounds are the result, and `host.steady.reached` reports it. A generator goes on
        /// for as long as it takes.
        [Kind::Text, "TIME|auto",
            help = Some("Play until the state is steady by rounds of at least TIME (SNIA); the last five rounds are the result.")]
        until_steady: Option<Round> = None,
        /// Seed of all random streams; same inputs and seed, same result.
        [Kind::Number(0, Some(1)), "S", help = Some("Seed of all random streams.")]
        seed: u64 = 1,
        /// `"wrap"` (the default) or `"refuse"` requests beyond the drive or their namespace.
        [Kind::Text, "wrap|refuse", help = Some("Wrap addresses beyond the drive around, or refuse them  [default: wrap]")]
        beyond: Beyond = Beyond::Wrap,
        /// File that `save` or `Device.save()` has written: its drive goes on, and the run's times and
        /// statistics begin there. Without `device` it is the drive of the file; one that is given must be the
        /// same, but for policies where nothing was under way.
        [Kind::Path, "FILE", flag = Some("--from"), help = Some("Go on with the drive of a checkpoint (--save).")]
        checkpoint: Option<PathBuf> = None,
    }
}

options! {
    /// How traces are read and laid out.
    TraceOptions {
        /// Format of the trace, where it cannot be recognized from its content:
        /// `"disksim:time=ms,offset=B,size=B"`.
        [Kind::Text, "FORMAT", help = Some("Format of the trace, such as disksim:time=ms,offset=B,size=B.")]
        format: Option<String> = None,
        /// Malformed lines of a trace that may be left out, counted in `host.trace.bad_lines`.
        [Kind::Number(0, Some(0)), "N", help = Some("Leave out up to N malformed lines.")]
        skip_bad_lines: u64 = 0,
        /// How many requests too late a line of a trace may stand (1024): it is put in order, and counted.
        [Kind::Number(0, None), "N",
            help = Some("Reorder lines that stand up to N requests too late  [default: 1024]")]
        sort_window: u64 = ReadOptions::default().sort_window as u64,
        /// Where a trace's volumes lie: `"overlay"` (all from address 0; the default), `"namespaces"` (equal
        /// parts of the drive) or `"concatenate"` (one after another).
        [Kind::Text, "overlay|namespaces|concatenate",
            help = Some("Layout of a trace's volumes on the drive  [default: overlay]")]
        volumes: Volumes = Volumes::Overlay,
        /// Folder of real traces: a workload such as `"asplos21/stg_0"`, which is generated with the
        /// statistics of a real trace, is replaced by the file of that name (`stg_0.csv.gz`) where the folder has it.
        [Kind::Path, "DIR", help = Some("Folder of real traces: they replace the synthetic traces of the same name.")]
        traces: Option<PathBuf> = None,
    }
}

options! {
    /// What is checked, written and kept.
    OutputOptions {
        /// Verify the drive's invariants after every event; the result is the same. One that does not hold ends the
        /// run with a `SimulationError`, which says where, when and what was expected.
        [Kind::Flag, "", help = Some("Verify the drive's invariants after every event; the result is the same.")]
        check: bool = false,
        /// Write the request log here (Parquet). With `repeat`, `x.parquet` gives `x.seedN.parquet`.
        [Kind::Path, "FILE", help = Some("Write a row a request (Parquet)."), is_output = true]
        requests_out: Option<PathBuf> = None,
        /// Keep the request log in memory, for `Result.requests`.
        [Kind::Flag, "", help = Some(""), is_output = true]
        keep_requests: bool = false,
        /// Write the time series (Parquet).
        [Kind::Path, "FILE", is_output = true]
        series_out: Option<PathBuf> = None,
        /// Write the state of the drive here: a checkpoint. With `repeat`, `x.ckpt` gives `x.seedN.ckpt`.
        [Kind::Path, "FILE", help = Some("Write the drive's state at the end: a checkpoint, for --from."), is_output = true]
        save: Option<PathBuf> = None,
        /// When it is written: `"rest"` (the default: the run is over, everything buffered is on flash, and the
        /// drive has nothing more to do by itself), `"end"` (as it stands when the last request has completed) or
        /// a simulated time of the run (`"2s"`, as it stands).
        [Kind::Text, "rest|end|TIME",
            help = Some("Save at rest, when the last request has completed, or at a simulated time  [default: rest]"),
            is_output = true]
        save_at: SaveAt = SaveAt::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_declared_with_the_defaults_that_they_have() {
        let groups =
            [RunOptions::default().values(), TraceOptions::default().values(), OutputOptions::default().values()];
        let values: Vec<_> = groups.concat();
        for option in declared() {
            if let Kind::Number(least, Some(default)) = option.kind {
                assert!(values.contains(&(option.name, json!(default))) && least <= default, "{}", option.name);
            }
        }
    }
}
