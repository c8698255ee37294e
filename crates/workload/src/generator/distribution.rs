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
    /// Every address alike, and none a second time before all have been accessed: in another order each time (fio
    /// without `norandommap`).
    RandomOnce,
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
        "\"random\", \"random-once\", \"zipf:THETA\" (above 0, at most 100), \"pareto:H\" (between 0 and 1), \"normal:DEVIATION\" (in % of \
         the range), or \"zoned:ACCESSES/RANGE:...\" (in %, both adding to 100), such as \"zipf:0.99\" or \"zoned:80/20:20/80\""
            .into()
    }

    fn read(scalar: &Scalar) -> Option<Distribution> {
        let Scalar::Text(text) = scalar else { return None };
        match text.as_str() {
            "random" => return Some(Distribution::Random),
            "random-once" => return Some(Distribution::RandomOnce),
            _ => {}
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
            Distribution::RandomOnce => "random-once".into(),
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

/// Draws slots, numbered from 0: where requests may begin.
pub(crate) struct SlotSampler {
    slots: u64,
    sampling: Sampling,
}

/// How a slot is drawn.
enum Sampling {
    Random,
    RandomOnce(Scatter),
    Zipf(Zipf, Scatter),
    /// The exponent ln h / ln (1 - h).
    Pareto(f64, Scatter),
    Normal(f64),
    Zoned(Vec<Zone>),
}

/// Slots that take a share of the accesses.
#[derive(Clone, Copy)]
struct Zone {
    /// The share of accesses that this zone and those before it take.
    upto: f64,
    /// Its first slot.
    first: u64,
    /// Its slots.
    slots: u64,
}

impl SlotSampler {
    /// Invariant: 0 < `slots` <= 2^63.
    pub fn new(distribution: &Distribution, slots: u64, scatter: Stream) -> SlotSampler {
        let scatter = || Scatter::new(slots, scatter);
        let sampling = match distribution {
            Distribution::Random => Sampling::Random,
            Distribution::RandomOnce => Sampling::RandomOnce(scatter()),
            Distribution::Zipf(theta) => Sampling::Zipf(Zipf::new(slots, *theta), scatter()),
            Distribution::Pareto(h) => Sampling::Pareto(libm::log(*h) / libm::log(1.0 - h), scatter()),
            Distribution::Normal(deviation) => Sampling::Normal(deviation / 100.0),
            Distribution::Zoned(zones) => {
                let (mut accesses, mut range) = (0.0, 0.0);
                let zone = |(share, part): &(f64, f64)| {
                    let first = (range / 100.0 * slots as f64) as u64;
                    accesses += share / 100.0;
                    range += part;
                    let end = ((range / 100.0 * slots as f64) as u64).min(slots);
                    let first = first.min(slots - 1);
                    Zone { upto: accesses, first, slots: end.saturating_sub(first).max(1) }
                };
                Sampling::Zoned(zones.iter().map(zone).collect())
            }
        };
        SlotSampler { slots, sampling }
    }

    /// The slot of draw number `counter`.
    #[inline]
    pub fn draw(&self, stream: Stream, counter: u64) -> u64 {
        match &self.sampling {
            Sampling::Random => stream.below(counter, self.slots),
            Sampling::RandomOnce(scatter) => self.once(scatter, stream, counter),
            Sampling::Zipf(zipf, scatter) => scatter.permuted(zipf.rank(stream, counter) - 1),
            Sampling::Pareto(power, scatter) => {
                let rank = libm::pow(stream.uniform(counter), *power) * self.slots as f64;
                scatter.permuted((rank as u64).min(self.slots - 1))
            }
            Sampling::Normal(deviation) => self.normal(*deviation, stream, counter),
            Sampling::Zoned(zones) => {
                let u = stream.uniform(counter);
                let zone = zones.iter().find(|zone| u < zone.upto).or(zones.last());
                let zone = zone.copied().unwrap_or(Zone { upto: 1.0, first: 0, slots: self.slots });
                zone.first + stream.entity(1).below(counter, zone.slots)
            }
        }
    }

    /// The slot of a draw of which each pass over the slots has another order.
    #[inline(never)]
    fn once(&self, scatter: &Scatter, stream: Stream, counter: u64) -> u64 {
        let (pass, place) = (counter / self.slots, counter % self.slots);
        scatter.varied(stream.bits(pass)).permuted(place)
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
