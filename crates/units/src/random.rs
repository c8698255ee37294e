//! Counter-based random streams: a draw is a pure function of (seed, stream name, counter), so adding a
//! component disturbs no other draw, and no state is kept for a hundred million pages.
//!
//! Generator: "squares", B. Widynski, "Squares: A Fast Counter-Based RNG", arXiv:2004.06278, the 64-bit
//! variant of five rounds. Keys come from SplitMix64 (Steele, Lea, Flood, OOPSLA'14).

/// A named random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream called `name` under `seed`. Different names give independent streams.
    pub fn new(seed: u64, name: &str) -> Stream {
        let mut state = splitmix(seed);
        for byte in name.bytes() {
            state = splitmix(state ^ u64::from(byte));
        }
        // The generator asks for an odd key with irregular digits.
        Stream { key: state | 1 }
    }

    /// The stream of one entity (a queue, a block, a worker) within this one.
    pub fn entity(self, index: u64) -> Stream {
        Stream { key: splitmix(self.key ^ splitmix(index)) | 1 }
    }

    /// 64 random bits: the `counter`-th draw.
    #[inline]
    pub fn bits(self, counter: u64) -> u64 {
        let y = counter.wrapping_mul(self.key);
        let z = y.wrapping_add(self.key);
        let mut x = y;
        x = x.wrapping_mul(x).wrapping_add(y).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(z).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(y).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(z);
        let t = x;
        x = x.rotate_left(32);
        t ^ (x.wrapping_mul(x).wrapping_add(y) >> 32)
    }

    /// A number in [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(self, counter: u64) -> f64 {
        (self.bits(counter) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number in [0, n), without noticeable bias (multiply-shift). Invariant: n > 0.
    #[inline]
    pub fn below(self, counter: u64, n: u64) -> u64 {
        ((self.bits(counter) as u128 * n as u128) >> 64) as u64
    }

    /// An exponentially distributed number of mean 1 (inverse transform; `libm` gives the same bits on every machine).
    #[inline]
    pub fn exponential(self, counter: u64) -> f64 {
        -libm::log(1.0 - self.uniform(counter))
    }
}

#[inline]
fn splitmix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_seed_name_entity_and_counter_only() {
        let stream = Stream::new(7, "arrivals");
        assert_eq!(stream.bits(3), Stream::new(7, "arrivals").bits(3));
        assert_ne!(stream.bits(3), stream.bits(4));
        assert_ne!(stream.bits(3), Stream::new(8, "arrivals").bits(3));
        assert_ne!(stream.bits(3), Stream::new(7, "addresses").bits(3));
        assert_ne!(stream.bits(3), stream.entity(0).bits(3));
    }

    #[test]
    fn uniform_draws_have_the_right_mean_variance_and_no_serial_correlation() {
        let stream = Stream::new(1, "test");
        let n = 1_000_000u64;
        let draws: Vec<f64> = (0..n).map(|i| stream.uniform(i)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        let serial = draws.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n as f64 / variance;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0f64).sqrt() / (n as f64).sqrt());
        assert!((variance - 1.0 / 12.0).abs() < 3e-4);
        assert!(serial.abs() < 4.0 / (n as f64).sqrt());
    }

    #[test]
    fn exponential_draws_have_mean_and_variance_one() {
        let stream = Stream::new(2, "test");
        let n = 1_000_000u64;
        let sum: f64 = (0..n).map(|i| stream.exponential(i)).sum();
        let squares: f64 = (0..n).map(|i| stream.exponential(i).powi(2)).sum();
        assert!((sum / n as f64 - 1.0).abs() < 0.005);
        assert!((squares / n as f64 - 2.0).abs() < 0.02);
    }
}
