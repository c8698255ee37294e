//! Zipf-distributed ranks in constant time and memory, for any exponent above 0.
//!
//! Rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996, doi:10.1145/235025.235029. The two functions that keep it exact near an
//! exponent of 1 are those of the sampler in Apache Commons RNG.

use units::Stream;

/// Ranks from 1 to `n`, rank k with probability proportional to k^-theta.
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    /// 1 / (1 - theta), which the inverse needs at every draw; not used near an exponent of 1.
    power: f64,
    /// H(1.5) - h(1): the lower end of the inverted range.
    lower: f64,
    /// H(n + 0.5): its upper end.
    upper: f64,
    /// Below this distance from the inverse every rank is accepted at once.
    at_once: f64,
    /// For each of [`CELLS`] equal parts of the uniform draws the rank that all of them give, or 0.
    popular: Vec<u32>,
}

/// Parts of the uniform draws: enough that popular ranks fill some, few enough to stay in cache.
const CELLS: usize = 4096;

impl Zipf {
    /// Invariant: `n` and `theta` are above 0.
    pub(crate) fn new(n: u64, theta: f64) -> Zipf {
        let power = 1.0 / (1.0 - theta);
        let mut zipf = Zipf { n: n as f64, theta, power, lower: 0.0, upper: 0.0, at_once: 0.0, popular: Vec::new() };
        zipf.lower = zipf.integral(1.5) - 1.0;
        zipf.upper = zipf.integral(zipf.n + 0.5);
        zipf.at_once = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        // The rank grows, and the draws accepted for one rank are all on one side: what both ends give all in between
        // do.
        let width = 1.0 / CELLS as f64;
        let of_cell = |cell: usize| {
            let (first, last) =
                (zipf.at(cell as f64 * width)?, zipf.at((cell + 1) as f64 * width - f64::EPSILON / 2.0)?);
            (first == last).then_some(first as u32)
        };
        zipf.popular = (0..CELLS).map(|cell| of_cell(cell).unwrap_or(0)).collect();
        zipf
    }

    /// The rank of a uniform draw, unless it is rejected.
    #[inline]
    fn at(&self, uniform: f64) -> Option<u64> {
        let u = self.upper + uniform * (self.lower - self.upper);
        let x = self.inverse(u);
        let k = ((x + 0.5) as u64 as f64).clamp(1.0, self.n);
        (k - x <= self.at_once || u >= self.integral(k + 0.5) - self.density(k)).then_some(k as u64)
    }

    /// The rank, from 1, of draw number `counter`.
    #[inline]
    pub(crate) fn rank(&self, stream: Stream, counter: u64) -> u64 {
        let mut uniform = stream.uniform(counter);
        let popular = self.popular[(uniform * CELLS as f64) as usize];
        if popular > 0 {
            return u64::from(popular);
        }
        let mut attempt = 0;
        loop {
            if let Some(rank) = self.at(uniform) {
                return rank;
            }
            // Another stream for each attempt, so that a draw stays a function of its counter alone.
            attempt += 1;
            uniform = stream.entity(attempt).uniform(counter);
        }
    }

    /// H(x): the integral of the density, up to a constant: (x^(1-theta) - 1) / (1-theta), or ln x at 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.theta) * log) * log
    }

    /// h(x): x^-theta.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The inverse of H.
    #[inline]
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may take it below -1, where there is no logarithm.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        if libm::fabs(t) > 1e-8 {
            libm::exp(libm::log1p(t) * self.power)
        } else {
            libm::exp(y * (1.0 - t * (1.0 / 2.0 - t * (1.0 / 3.0 - t / 4.0))))
        }
    }
}

/// (e^x - 1) / x, also near 0.
fn expm1_over(x: f64) -> f64 {
    if libm::fabs(x) > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_exact_law() {
        const DRAWS: u64 = 1_000_000;
        const RANKS: u64 = 500;
        for theta in [0.2, 0.8, 0.99, 1.0, 1.0 + 1e-10, 1.2, 2.5] {
            let zipf = Zipf::new(RANKS, theta);
            let stream = Stream::new(11, "test");
            let mut counts = vec![0u64; RANKS as usize];
            for i in 0..DRAWS {
                counts[zipf.rank(stream, i) as usize - 1] += 1;
            }
            let plain = Zipf { popular: vec![0; CELLS], ..Zipf::new(RANKS, theta) };
            assert!((0..100_000).all(|i| plain.rank(stream, i) == zipf.rank(stream, i)), "the table changes nothing");
            let weights: Vec<f64> = (1..=RANKS).map(|k| (k as f64).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let (mut chi_square, mut bins) = (0.0, 0.0f64);
            for (count, weight) in counts.iter().zip(&weights) {
                let expected = weight / total * DRAWS as f64;
                if expected >= 10.0 {
                    chi_square += (*count as f64 - expected).powi(2) / expected;
                    bins += 1.0;
                }
                if expected > 50_000.0 {
                    assert!((*count as f64 / expected - 1.0).abs() < 0.02, "theta {theta}");
                }
            }
            // Mean and deviation of the chi-square distribution, four deviations up.
            assert!(chi_square < bins + 4.0 * (2.0 * bins).sqrt(), "theta {theta}: {chi_square} over {bins} bins");
        }
    }

    #[test]
    fn extreme_ranges_and_exponents_stay_in_range() {
        let stream = Stream::new(12, "test");
        for n in [1, 2, 3, 1 << 20, 1 << 45] {
            for theta in [1e-12, 0.5, 1.0, 3.0, 100.0] {
                let zipf = Zipf::new(n, theta);
                assert!((0..2_000).all(|i| (1..=n).contains(&zipf.rank(stream, i))), "{n} ranks, theta {theta}");
            }
        }
    }
}
