//! Which addresses are accessed how often: fio's `random_distribution`.

use units::Stream;
use units::value::{Scalar, Value};

use super::scatter::Scatter;
use super::zipf::Zipf;

/// How random accesses are distributed over the addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Every address alike.
    Random,
    /// Address k in popularity is chosen in proportion to 1/k^theta; the popular ones are scattered.
    Zipf(f64),
    /// A share h of the addresses gets 1 - h of the accesses, and so on within that share; scattered. J. Gray et al.,
    /// "Quickly generating billion-record synthetic databases", SIGMOD'94, its self-similar distribution.
    Pareto(f64),
    /// A bell around the middle; the deviation in % of the range.
    Normal(f64),
    /// Zones in address order, each with its share of the accesses and of the range, in %.
    Zoned(Vec<(f64, f64)>),
}

impl Value for Distribution {
    fn expects() -> String {
        "\"random\", \"zipf:THETA\" (above 0, at most 100), \"pareto:H\" (between 0 and 1), \"normal:DEVIATION\" (in % of \
         the range), or \"zoned:ACCESSES/RANGE:...\" (in %, both adding to 100), such as \"zipf:0.99\" or \"zoned:80/20:20/80\""
            .into()
    }

    fn read(scalar: &Scalar) -> Option<Distribution> {
        let Scalar::Text(text) = scalar else { return None };
        if text == "random" {
            return Some(Distribution::Random);
        }
        let (kind, parameters) = text.split_once(':')?;
        let number = |low: f64, high: f64| parameters.trim().parse().ok().filter(|v: &f64| *v > low && *v <= high);
        match kind {
            "zipf" => number(0.0, 100.0).map(Distribution::Zipf),
            "pareto" => number(0.0, 1.0).filter(|h| *h < 1.0).map(Distribution::Pareto),
            "normal" => number(0.0, 100.0).map(Distribution::Normal),
            "zoned" => {
                let zone = |part: &str| {
                    let (accesses, range) = part.split_once('/')?;
                    let (accesses, range): (f64, f64) = (accesses.trim().parse().ok()?, range.trim().parse().ok()?);
                    (accesses >= 0.0 && range > 0.0).then_some((accesses, range))
                };
                let zones = parameters.split(':').map(zone).collect::<Option<Vec<_>>>()?;
                let whole = |sum: f64| (sum - 100.0).abs() < 1e-6;
                (whole(zones.iter().map(|z| z.0).sum()) && whole(zones.iter().map(|z| z.1).sum()))
                    .then_some(Distribution::Zoned(zones))
            }
            _ => None,
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Distribution::Random => "random".into(),
            Distribution::Zipf(theta) => format!("zipf:{theta}"),
            Distribution::Pareto(h) => format!("pareto:{h}"),
            Distribution::Normal(deviation) => format!("normal:{deviation}"),
            Distribution::Zoned(zones) => {
                let zones: Vec<String> = zones.iter().map(|(accesses, range)| format!("{accesses}/{range}")).collect();
                format!("zoned:{}", zones.join(":"))
            }
        })
    }
}

/// Draws places from 0..slots.
pub(super) struct Places {
    slots: u64,
    law: Law,
}

enum Law {
    Random,
    Zipf(Zipf, Scatter),
    /// The exponent ln h / ln (1 - h).
    Pareto(f64, Scatter),
    Normal(f64),
    /// For each zone the upper end of its accesses, its first place and its number of places.
    Zoned(Vec<(f64, u64, u64)>),
}

impl Places {
    /// Invariant: 0 < `slots` <= 2^63.
    pub fn new(distribution: &Distribution, slots: u64, scatter: Stream) -> Places {
        let scatter = || Scatter::new(slots, scatter);
        let law = match distribution {
            Distribution::Random => Law::Random,
            Distribution::Zipf(theta) => Law::Zipf(Zipf::new(slots, *theta), scatter()),
            Distribution::Pareto(h) => Law::Pareto(libm::log(*h) / libm::log(1.0 - h), scatter()),
            Distribution::Normal(deviation) => Law::Normal(deviation / 100.0),
            Distribution::Zoned(zones) => {
                let (mut accesses, mut range) = (0.0, 0.0);
                let zone = |(share, part): &(f64, f64)| {
                    let first = (range / 100.0 * slots as f64) as u64;
                    accesses += share / 100.0;
                    range += part;
                    let end = ((range / 100.0 * slots as f64) as u64).min(slots);
                    let first = first.min(slots - 1);
                    (accesses, first, end.saturating_sub(first).max(1))
                };
                Law::Zoned(zones.iter().map(zone).collect())
            }
        };
        Places { slots, law }
    }

    /// The place of draw number `counter`.
    #[inline]
    pub fn draw(&self, stream: Stream, counter: u64) -> u64 {
        match &self.law {
            Law::Random => stream.below(counter, self.slots),
            Law::Zipf(zipf, scatter) => scatter.place(zipf.rank(stream, counter) - 1),
            Law::Pareto(power, scatter) => {
                let rank = libm::pow(stream.uniform(counter), *power) * self.slots as f64;
                scatter.place((rank as u64).min(self.slots - 1))
            }
            Law::Normal(deviation) => self.normal(*deviation, stream, counter),
            Law::Zoned(zones) => {
                let u = stream.uniform(counter);
                let zone = zones.iter().find(|(end, _, _)| u < *end).or(zones.last());
                let (_, first, places) = *zone.unwrap_or(&(1.0, 0, self.slots));
                first + stream.entity(1).below(counter, places)
            }
        }
    }

    /// Box and Muller's transform; what falls outside of the range is drawn again.
    fn normal(&self, deviation: f64, stream: Stream, counter: u64) -> u64 {
        let mut attempt = 0;
        loop {
            let radius = libm::sqrt(2.0 * stream.entity(2 * attempt).exponential(counter));
            let angle = std::f64::consts::TAU * stream.entity(2 * attempt + 1).uniform(counter);
            let at = 0.5 + deviation * radius * libm::cos(angle);
            if (0.0..1.0).contains(&at) {
                return ((at * self.slots as f64) as u64).min(self.slots - 1);
            }
            attempt += 1;
        }
    }
}
