//! A keyed permutation of 0..n in constant memory: spreads the popular ranks of a distribution over all addresses.

use units::Stream;

/// A bijection of 0..n. Rounds of add, multiply by an odd number and xor-shift permute the w-bit numbers, w the
/// least with 2^w >= n: each step is invertible modulo 2^w. Results beyond n are sent through again (cycle walking:
/// J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002), less than twice on average.
pub(crate) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); 3],
}

impl Scatter {
    /// Invariant: 0 < `n` <= 2^63.
    pub(crate) fn new(n: u64, stream: Stream) -> Scatter {
        let width = 64 - (n - 1).leading_zeros();
        let mask = (1u64 << width) - 1;
        let key = |i| stream.bits(i);
        Scatter {
            n,
            mask,
            shift: width.div_ceil(2).max(1),
            rounds: [(key(0), key(1) | 1), (key(2), key(3) | 1), (key(4), key(5) | 1)],
        }
    }

    /// Another permutation for each `key`.
    pub(crate) fn varied(&self, key: u64) -> Scatter {
        let mut rounds = self.rounds;
        for ((add, multiply), turned) in rounds.iter_mut().zip([0, 21, 42]) {
            let part = key.rotate_left(turned);
            *add = add.wrapping_add(part);
            // The product of odd numbers is odd.
            *multiply = multiply.wrapping_mul(part | 1);
        }
        Scatter { rounds, ..*self }
    }

    /// Where `x`, below n, goes.
    #[inline]
    pub(crate) fn permuted(&self, mut x: u64) -> u64 {
        loop {
            for (add, multiply) in self.rounds {
                x = x.wrapping_add(add).wrapping_mul(multiply) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for n in (1..70).chain([255, 256, 257, 1000, 65_537]) {
            let scatter = Scatter::new(n, Stream::new(n, "test"));
            let mut places: Vec<u64> = (0..n).map(|x| scatter.permuted(x)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn neighbours_are_spread_evenly() {
        const N: u64 = 1_000_003;
        let one = Scatter::new(N, Stream::new(3, "test"));
        for scatter in [one.varied(0), one.varied(7), one] {
            let mut tenths = [0u32; 10];
            for x in 0..10_000 {
                tenths[(scatter.permuted(x) * 10 / N) as usize] += 1;
            }
            assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
        }
    }

    /// Of two orders as many places as by chance are in the same half (a thousand pairs: within four deviations).
    #[test]
    fn varied_permutations_are_permutations_that_differ() {
        const N: u64 = 1000;
        let stream = Stream::new(5, "test");
        let one = Scatter::new(N, stream);
        let orders: Vec<Vec<u64>> =
            (0..8).map(|pass| (0..N).map(|x| one.varied(stream.bits(pass)).permuted(x)).collect()).collect();
        for (number, order) in orders.iter().enumerate() {
            let mut places = order.clone();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..N));
            for other in &orders[..number] {
                let same = order.iter().zip(other).filter(|(a, b)| (**a < N / 2) == (**b < N / 2)).count();
                assert!((436..=564).contains(&same), "{same}");
            }
        }
    }
}
