//! Simulated NAND-flash SSDs for other programs.
//!
//! A [`Device`] is driven request by request: [`submit`](Device::submit) what the host asks,
//! [`advance`](Device::advance) the time, [take](Device::take_completions) what has completed. A [`Config`] says which
//! drive it is, how worn, and what it does about errors. [`Media`] is the flash of a drive without the drive: its host
//! names pages and blocks. [`Tier`] reads surfaces of latency and throughput for programs that want numbers in place of
//! a drive.
//!
//! ```
//! use ssdlab::{Bytes, Config, Device, Op, Request, Time};
//!
//! let mut device = Device::open(&Config::named("tlc"))?;
//! // A KV cache's block is read in parts of 128 KiB.
//! let parts: Vec<Request> =
//!     (0..16).map(|part| Request::new(Time(0), Op::Read, Bytes(part << 17), Bytes(1 << 17))).collect();
//! device.submit_all(&parts)?;
//! device.flush()?;
//! let last = device.take_completions().last().expect("all have completed");
//! assert!(last.finish > Time(100_000));
//! # Ok::<(), ssdlab::Error>(())
//! ```
//!
//! Time is whole nanoseconds; nothing reads a clock. The same configuration, seed and requests give the same
//! completions.

mod config;
mod device;
mod error;
pub mod ftl;
pub mod media;

/// A size or an address in bytes.
///
/// ```
/// assert_eq!(ssdlab::Bytes(4096).0, 4096);
/// ```
#[doc(inline)]
pub use units::Bytes;
/// A length of simulated time \[ns].
///
/// ```
/// use ssdlab::{Span, Time};
/// assert_eq!(Time(5_000).since(Time(2_000)), Span(3_000));
/// ```
#[doc(inline)]
pub use units::Span;
/// A point in simulated time: nanoseconds since the drive was opened.
///
/// ```
/// assert!(ssdlab::Time(1) < ssdlab::Time::NEVER);
/// ```
#[doc(inline)]
pub use units::Time;
/// What a request asks for.
///
/// ```
/// assert_eq!(ssdlab::Op::named("trim"), Some(ssdlab::Op::Trim));
/// ```
#[doc(inline)]
pub use workload::Op;
/// A request to a drive.
///
/// ```
/// use ssdlab::{Bytes, Op, Request, Time};
/// let request = Request::new(Time(0), Op::Write, Bytes(0), Bytes(65_536)).on(2).hinted(1);
/// assert_eq!(request.queue, 2);
/// ```
#[doc(inline)]
pub use workload::Request;
/// What is done to a zone, of drives that have any.
///
/// ```
/// use ssdlab::{Op, ZoneAction};
/// assert_eq!(Op::Zone(ZoneAction::Reset).name(), "zone-reset");
/// ```
#[doc(inline)]
pub use workload::ZoneAction;

/// A request that has completed.
///
/// ```
/// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
/// let mut device = Device::open(&Config::named("tlc"))?;
/// let number = device.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(4096)))?;
/// device.advance_to_completion(Time::NEVER)?;
/// let done = device.take_completions().next().expect("it completes");
/// assert!(done.id == number && done.is_done() && !done.uncorrectable);
/// # Ok::<(), ssdlab::Error>(())
/// ```
#[doc(inline)]
pub use ssd::Completion;
/// The version of what drives compute: results of different versions are not compared.
///
/// ```
/// assert!(ssdlab::RESULTS_VERSION > 0);
/// ```
pub use ssd::RESULTS_VERSION;
/// What an NVMe controller would say of a completed request.
///
/// ```
/// assert!(ssdlab::Status::Success.is_success());
/// ```
#[doc(inline)]
pub use ssd::Status;

/// What belongs to surfaces: points, answers, cross-validation.
///
/// ```
/// let error = ssdlab::Tier::parse("{}", "tier.json").unwrap_err();
/// assert!(matches!(error, ssdlab::tier::TierError::Malformed { .. }));
/// ```
pub use ::tier;
/// Surfaces of latency and throughput, as `ssdlab tier` writes them.
///
/// ```no_run
/// use ssdlab::tier::Point;
/// use ssdlab::{Bytes, Tier};
///
/// let tier = Tier::load("tier.json".as_ref())?;
/// let answer = tier.ask(&Point::new(Bytes(1 << 17), 8.0, 1.0))?;
/// println!("{} B/s", answer.bytes_per_s.value);
/// # Ok::<(), ssdlab::tier::TierError>(())
/// ```
#[doc(inline)]
pub use tier::Tier;

pub use config::Config;
pub use device::Device;
pub use error::Error;
#[doc(inline)]
pub use media::Media;

/// The names of the drives that come with the library.
///
/// ```
/// assert!(ssdlab::presets().any(|name| name == "qlc"));
/// ```
pub fn presets() -> impl Iterator<Item = &'static str> {
    ssd::presets::names()
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
