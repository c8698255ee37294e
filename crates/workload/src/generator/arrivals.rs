//! When requests arrive.

use units::value::{Scalar, Value};
use units::{Span, Stream};

/// How arrivals are spaced at a given mean rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponentially distributed gaps: independent users.
    Poisson,
    /// Equal gaps.
    Fixed,
    /// Hyperexponential gaps of two phases with this squared coefficient of variation, above 1: the gaps of a Poisson
    /// process that is switched on and off at random (A. Kuczura, "The interrupted Poisson process as an overflow
    /// process", BSTJ 52(3), 1973), and the distribution that fits the gaps of block traces best (M. Wajahat et al.,
    /// Performance Evaluation 142, 2020). The phases carry equal load.
    Bursty(f64),
    /// Batches of requests, this many in a batch on average (geometrically distributed): within a batch gaps have this
    /// mean (none: all come at once), between batches a longer one. Both are exponential: hyperexponential gaps again,
    /// with the short ones as short as one likes.
    Batches(f64, Span),
}

impl Value for Arrivals {
    fn expects() -> String {
        "\"poisson\", \"fixed\", \"bursty:C2\" (the squared coefficient of variation of the gaps, above 1), \"batches:N\" \
         (N requests at once on average, 1 or more) or \"batches:N/GAP\" (one every GAP within a batch, such as 100us)"
            .into()
    }

    fn read(scalar: &Scalar) -> Option<Arrivals> {
        let Scalar::Text(text) = scalar else { return None };
        match text.split_once(':') {
            None if text == "poisson" => Some(Arrivals::Poisson),
            None if text == "fixed" => Some(Arrivals::Fixed),
            Some(("bursty", variation)) => {
                variation.trim().parse().ok().filter(|c2| *c2 > 1.0 && *c2 <= 1e6).map(Arrivals::Bursty)
            }
            Some(("batches", words)) => {
                let (size, gap) = words.split_once('/').unwrap_or((words, "0ns"));
                let size = size.trim().parse().ok().filter(|size: &f64| *size >= 1.0 && *size <= 1e6)?;
                Some(Arrivals::Batches(size, Span::read(&Scalar::Text(gap.trim().into()))?))
            }
            _ => None,
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Arrivals::Poisson => "poisson".into(),
            Arrivals::Fixed => "fixed".into(),
            Arrivals::Bursty(c2) => format!("bursty:{c2}"),
            Arrivals::Batches(size, Span(0)) => format!("batches:{size}"),
            Arrivals::Batches(size, gap) => match gap.write() {
                Scalar::Text(gap) => format!("batches:{size}/{gap}"),
                _ => format!("batches:{size}"),
            },
        })
    }
}

/// Arrival times in ns with a 32-bit fraction carried along, so that no rate drifts, however many requests.
pub(super) struct Clock {
    /// The arrival of the current request \[ns].
    pub now: u64,
    fraction: u32,
    /// Mean gap \[ns]; 0 where there is no rate.
    mean: f64,
    /// The mean gap in whole ns and fraction, which is every gap of fixed arrivals.
    gap: (u64, u32),
    arrivals: Arrivals,
    mixture: Mixture,
}

/// Gaps of two kinds: those within bursts, and those between them.
struct Mixture {
    /// The share of short gaps.
    share: f64,
    /// The mean of short gaps \[ns].
    short: f64,
    /// The mean of long gaps \[ns].
    long: f64,
}

impl Clock {
    pub fn new(rate: Option<f64>, arrivals: Arrivals) -> Clock {
        let mean = rate.map_or(0.0, |rate| 1e9 / rate);
        // Nothing is drawn where all gaps are 0.
        let arrivals = if rate.is_none() { Arrivals::Fixed } else { arrivals };
        let mixture = match arrivals {
            Arrivals::Bursty(c2) => {
                let share = 0.5 * (1.0 + libm::sqrt((c2 - 1.0) / (c2 + 1.0)));
                Mixture { share, short: mean / (2.0 * share), long: mean / (2.0 * (1.0 - share)) }
            }
            Arrivals::Batches(size, gap) => {
                let share = 1.0 - 1.0 / size;
                let short = gap.0 as f64;
                Mixture { share, short, long: size * (mean - share * short) }
            }
            _ => Mixture { share: 1.0, short: mean, long: mean },
        };
        Clock { now: 0, fraction: 0, mean, gap: split(mean), arrivals, mixture }
    }

    #[inline]
    pub fn advance(&mut self, stream: Stream, counter: u64) {
        let (whole, fraction) = match self.arrivals {
            Arrivals::Fixed => self.gap,
            Arrivals::Poisson => split(stream.exponential(counter) * self.mean),
            Arrivals::Bursty(_) | Arrivals::Batches(..) => {
                let Mixture { share, short, long } = self.mixture;
                let mean = if stream.entity(0).uniform(counter) < share { short } else { long };
                split(stream.exponential(counter) * mean)
            }
        };
        self.add(whole, fraction);
    }

    /// Lets a gap pass \[ns].
    pub fn pass(&mut self, gap: f64) {
        let (whole, fraction) = split(gap);
        self.add(whole, fraction);
    }

    #[inline]
    fn add(&mut self, whole: u64, fraction: u32) {
        let (fraction, carry) = self.fraction.overflowing_add(fraction);
        self.fraction = fraction;
        self.now += whole + u64::from(carry);
    }
}

/// A gap in whole ns and 2^-32 ns.
#[inline]
fn split(gap: f64) -> (u64, u32) {
    let whole = gap as u64;
    (whole, ((gap - whole as f64) * 4_294_967_296.0) as u32)
}
