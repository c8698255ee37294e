//! Normal and Poisson tails.

/// P(Z > x) of a standard normal variable.
#[inline]
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// P(Z < x).
#[inline]
pub fn cdf(x: f64) -> f64 {
    upper_tail(-x)
}

/// The x with P(Z < x) = p, for 0 < p < 1, to about 16 digits: M. J. Wichura, "Algorithm AS 241: the percentage points
/// of the normal distribution", Applied Statistics 37(3), 1988, PPND16.
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let x = if tail <= 5.0 { ratio(tail - 1.6, &MIDDLE) } else { ratio(tail - 5.0, &FAR) };
    if q < 0.0 { -x } else { x }
}

/// Numerator and denominator, the highest power last.
type Rational = ([f64; 8], [f64; 8]);

fn ratio(r: f64, (above, below): &Rational) -> f64 {
    let polynomial = |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * r + term);
    polynomial(above) / polynomial(below)
}

#[allow(clippy::excessive_precision)] // As published.
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ],
    [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_30,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_610,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561_0,
    ],
);
#[allow(clippy::excessive_precision)]
const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_90,
        5.769_497_221_460_691_405_50,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        0.241_780_725_177_450_611_770,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_40,
        0.689_767_334_985_100_004_550,
        0.148_103_976_427_480_074_590,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);
#[allow(clippy::excessive_precision)]
const FAR: Rational = (
    [
        6.657_904_643_501_103_777_20,
        5.463_784_911_164_114_369_90,
        1.784_826_539_917_291_335_80,
        0.296_560_571_828_504_891_230,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        0.599_832_206_555_887_937_690,
        0.136_929_880_922_735_805_310,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

/// P(X > m) of a Poisson variable of the given mean, by summing its terms.
pub fn poisson_above(mean: f64, m: u32) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    let first = f64::from(m) + 1.0;
    // The first term beyond m in logarithms, then by ratios.
    let mut term = libm::exp(first * libm::log(mean) - mean - libm::lgamma(first + 1.0));
    if first <= mean {
        // The tail is the larger part: sum the other.
        let (mut below, mut part, mut k) = (0.0, term * first / mean, f64::from(m));
        while k >= 0.0 && part > 1e-300 {
            below += part;
            part *= k / mean;
            k -= 1.0;
        }
        return (1.0 - below).max(0.0);
    }
    let (mut sum, mut k) = (0.0, first);
    while term > sum * 1e-16 {
        sum += term;
        k += 1.0;
        term *= mean / k;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for p in [1e-300, 1e-12, 0.001, 0.07, 0.3, 0.5, 0.77, 0.999] {
            assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-9, "{p}");
        }
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
    }

    #[test]
    fn poisson_tails_are_exact() {
        for mean in [0.1f64, 3.0, 20.0, 60.0] {
            let mut below = 0.0;
            let mut term = (-mean).exp();
            for m in 0..100 {
                below += term;
                term *= mean / f64::from(m + 1);
                let exact = 1.0 - below;
                assert!((poisson_above(mean, m) - exact).abs() < 1e-13, "{mean} {m}");
            }
        }
        assert!(poisson_above(20.0, 80) > 0.0 && poisson_above(20.0, 80) < 1e-20);
    }
}
