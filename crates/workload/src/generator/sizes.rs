//! How large requests are.

use units::value::{Scalar, Value};
use units::{Bytes, Stream};

use crate::request::LARGEST_REQUEST;

/// Sizes of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// Several, each with its weight (fio's `bssplit`).
    Split(Vec<(Bytes, f64)>),
    /// Multiples of `workload.align` with this mean, geometrically distributed: of all distributions over the
    /// multiples with a given mean the one of greatest entropy. Sizes end at 16 times the mean, which one request in
    /// nine million would exceed.
    Mean(Bytes),
}

/// What requests start at multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Of the smallest size of requests, as with fio: random requests of one size cover every address.
    SmallestRequest,
    /// Of this many bytes.
    Of(Bytes),
}

impl Value for Alignment {
    fn expects() -> String {
        "a size with its unit, such as \"4KiB\", or \"bs\", the smallest size of requests".into()
    }

    fn read(scalar: &Scalar) -> Option<Alignment> {
        match scalar {
            Scalar::Text(text) if text == "bs" => Some(Alignment::SmallestRequest),
            _ => Bytes::read(scalar).map(Alignment::Of),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Alignment::SmallestRequest => Scalar::Text("bs".into()),
            Alignment::Of(bytes) => bytes.write(),
        }
    }
}

/// The largest size of `Sizes::Mean`, in means.
const LONGEST: u64 = 16;

impl Value for Sizes {
    fn expects() -> String {
        "a size such as \"16KiB\", sizes with their shares in % such as \"4KiB/60:64KiB/40\", or \"mean:54KiB\"".into()
    }

    fn read(scalar: &Scalar) -> Option<Sizes> {
        let Scalar::Text(text) = scalar else { return Bytes::read(scalar).map(Sizes::Fixed) };
        if let Some(mean) = text.strip_prefix("mean:") {
            return size(mean).map(Sizes::Mean);
        }
        if !text.contains('/') {
            return size(text).map(Sizes::Fixed);
        }
        let entry = |part: &str| {
            let (bytes, share) = part.split_once('/')?;
            let share: f64 = share.trim().parse().ok()?;
            (share > 0.0 && share.is_finite()).then_some((size(bytes)?, share))
        };
        text.split(':').map(entry).collect::<Option<Vec<_>>>().map(Sizes::Split)
    }

    fn write(&self) -> Scalar {
        let text = |bytes: &Bytes| match bytes.write() {
            Scalar::Text(text) => text,
            other => other.to_string(),
        };
        Scalar::Text(match self {
            Sizes::Fixed(bytes) => text(bytes),
            Sizes::Mean(bytes) => format!("mean:{}", text(bytes)),
            Sizes::Split(parts) => {
                parts.iter().map(|(bytes, share)| format!("{}/{share}", text(bytes))).collect::<Vec<_>>().join(":")
            }
        })
    }
}

/// A size with its unit; fio's `4k` is 4 KiB.
fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let fio =
        |unit: char, whole: &str| text.strip_suffix([unit, unit.to_ascii_uppercase()]).map(|n| format!("{n}{whole}"));
    let text = fio('k', "KiB").or_else(|| fio('m', "MiB")).unwrap_or_else(|| text.to_owned());
    Bytes::read(&Scalar::Text(text))
}

impl Sizes {
    /// What an alignment is, in bytes: sizes that only have a mean are multiples of 4 KiB.
    pub(super) fn aligned(&self, alignment: Alignment) -> Bytes {
        match alignment {
            Alignment::Of(bytes) => bytes,
            Alignment::SmallestRequest => self.bounds(Bytes::from_kib(4)).0,
        }
    }

    /// Whether requests at random multiples of that cover all addresses alike.
    pub(super) fn are_multiples_of(&self, align: Bytes) -> bool {
        let whole = |size: &Bytes| size.0.is_multiple_of(align.0);
        match self {
            Sizes::Fixed(size) => whole(size),
            Sizes::Mean(_) => true,
            Sizes::Split(parts) => parts.iter().all(|(size, _)| whole(size)),
        }
    }

    /// The smallest and the largest size.
    pub(super) fn bounds(&self, align: Bytes) -> (Bytes, Bytes) {
        match self {
            Sizes::Fixed(size) => (*size, *size),
            Sizes::Mean(mean) => (align, Bytes(mean.0.saturating_mul(LONGEST).next_multiple_of(align.0.max(1)))),
            Sizes::Split(parts) => {
                let sizes = || parts.iter().map(|(size, _)| *size);
                (sizes().min().unwrap_or(Bytes(0)), sizes().max().unwrap_or(Bytes(0)))
            }
        }
    }

    /// Why these sizes cannot be, and what to write.
    pub(super) fn refusal(&self, align: Bytes) -> Option<(String, &'static str)> {
        if let Sizes::Mean(mean) = self {
            let (lowest, highest) = (align.0, LARGEST_REQUEST.0 / LONGEST);
            let wrong = mean.0 < lowest || mean.0 > highest;
            return wrong.then(|| {
                (format!("{mean} is no mean of multiples of {align}"), "choose a mean from workload.align to 64MiB")
            });
        }
        let (least, most) = self.bounds(align);
        (least.0 == 0 || most > LARGEST_REQUEST).then(|| {
            (format!("{} is no size of a request", if least.0 == 0 { least } else { most }), "choose from 1B to 1GiB")
        })
    }
}

/// Draws sizes.
pub(super) enum SizeOf {
    Fixed(u64),
    /// Upper ends of the shares, up to 1, and their sizes.
    Split(Vec<(f64, u64)>),
    /// Unit, 1 / ln(1 - 1/mean in units), largest number of units.
    Geometric(u64, f64, u64),
}

impl SizeOf {
    pub fn new(sizes: &Sizes, align: Bytes) -> SizeOf {
        match sizes {
            Sizes::Fixed(size) => SizeOf::Fixed(size.0),
            Sizes::Split(parts) => {
                let total: f64 = parts.iter().map(|(_, share)| share).sum();
                let mut sum = 0.0;
                let ends = parts.iter().map(|(size, share)| {
                    sum += share / total;
                    (sum, size.0)
                });
                SizeOf::Split(ends.collect())
            }
            Sizes::Mean(mean) if *mean == align => SizeOf::Fixed(align.0),
            Sizes::Mean(mean) => {
                let p = align.0 as f64 / mean.0 as f64;
                SizeOf::Geometric(align.0, 1.0 / libm::log1p(-p), sizes.bounds(align).1.0 / align.0)
            }
        }
    }

    #[inline]
    pub fn draw(&self, stream: Stream, counter: u64) -> u64 {
        match self {
            SizeOf::Fixed(size) => *size,
            SizeOf::Split(ends) => {
                let u = stream.uniform(counter);
                ends.iter().find(|(end, _)| u < *end).or(ends.last()).map_or(0, |(_, size)| *size)
            }
            SizeOf::Geometric(unit, scale, most) => {
                let beyond = libm::log1p(-stream.uniform(counter)) * scale;
                unit * (1 + beyond as u64).min(*most)
            }
        }
    }
}
