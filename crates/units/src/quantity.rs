//! Quantities with their unit in the type: simulated time, sizes, bandwidth, page addresses.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant of simulated time [ns since the start of the run].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of simulated time \[ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than any instant that a run can reach: "not scheduled".
    pub const NEVER: Time = Time(u64::MAX);

    /// The span from `earlier` to `self`. Invariant: `earlier` is not later.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        debug_assert!(earlier <= self, "Invariant: time runs forward");
        Span(self.0 - earlier.0)
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// The span in seconds, for rates.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0 * n)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        Span(spans.map(|s| s.0).sum())
    }
}

/// A size \[bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// A size of whole KiB.
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib << 10)
    }

    /// A size of whole MiB.
    pub const fn from_mib(mib: u64) -> Bytes {
        Bytes(mib << 20)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if value.fract() == 0.0 {
            write!(f, "{value:.0} {}", UNITS[unit])
        } else {
            write!(f, "{value:.1} {}", UNITS[unit])
        }
    }
}

/// A transfer rate [bytes/s].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// Time to move `bytes`, rounded up to whole nanoseconds.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Span {
        debug_assert!(self.0 > 0, "Invariant: a validated bandwidth is positive");
        if bytes.0 < 1 << 34 {
            Span((bytes.0 * 1_000_000_000).div_ceil(self.0))
        } else {
            Span((bytes.0 as u128 * 1_000_000_000).div_ceil(self.0 as u128) as u64)
        }
    }
}

/// A bandwidth with the precomputed time of one common size: divisions are slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    bandwidth: Bandwidth,
    common: Bytes,
    common_time: Span,
}

impl Rate {
    /// A rate at which mostly `common` bytes are moved.
    pub fn new(bandwidth: Bandwidth, common: Bytes) -> Rate {
        Rate { bandwidth, common, common_time: bandwidth.time_for(common) }
    }

    /// Time to move `bytes`, rounded up to whole nanoseconds.
    #[inline]
    pub fn time_for(&self, bytes: Bytes) -> Span {
        if bytes == self.common { self.common_time } else { self.bandwidth.time_for(bytes) }
    }
}

/// A number between 0 and 1: a share of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Fraction(pub f64);

/// A logical page number: the host's address divided by the page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u64);

/// A physical page number: plane, block and page packed by the geometry that issued it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_rounded_up_to_whole_nanoseconds() {
        assert_eq!(Bandwidth(1_000_000_000).time_for(Bytes(16_384)), Span(16_384));
        assert_eq!(Bandwidth(3_000_000_000).time_for(Bytes(1)), Span(1));
        assert_eq!(Bandwidth(1_200_000_000).time_for(Bytes(16_384)), Span(13_654));
        assert_eq!(Bandwidth(1).time_for(Bytes(u32::MAX as u64)), Span(u32::MAX as u64 * 1_000_000_000));
    }

    #[test]
    fn sizes_print_in_binary_units() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(16_384).to_string(), "16 KiB");
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
    }
}
