//! Soft sensing: what a page says of its bits when it is sensed several times around its best references.
//!
//! With n bits a cell 2^n - 1 senses, spaced evenly around each boundary, divide the cells' voltages into 2^n regions.
//! The further from the boundary a region lies, the surer its bit. Cells that lie at none of their page's boundaries
//! are in an outermost region whatever they hold.
//!
//! The channel: the voltages of two neighbouring states are normal with the same width, one to either side of the
//! boundary (crates/nand's cell model with the references at their best); the width follows from the RBER.

use units::Stream;

use crate::code::{BITS, Word};

/// How finely a page is sensed: bits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fineness {
    /// One sense: the bit alone.
    Hard,
    /// Three senses: the bit and one that says whether it is sure.
    TwoBit,
    /// Seven senses.
    ThreeBit,
}

/// The share of a page's cells that lie at one of its boundaries: seven boundaries between eight states, on three pages
/// (TLC). The mean of the page types; `assumed` of other cells.
pub const AT_A_BOUNDARY: f64 = 7.0 * 2.0 / 8.0 / 3.0;
/// The RBER for which the spacing of the senses and the LLRs are made. `assumed`: beyond what the hard decoder corrects
/// and within what the soft one does; a controller has tables, not the page's own rate.
pub const DESIGN_RBER: f64 = 0.0125;
/// Belief for each unit of LLR. `assumed`: that of the hard decoder at its capability, 24 for ln((1 - p) / p) at
/// 0.0085.
const SCALE: f64 = 5.04;
/// Most belief in a bit that was sensed, so that messages can still overrule it. `assumed`.
const MOST: f64 = 48.0;

impl Fineness {
    /// Bits a cell.
    pub fn bits(self) -> u32 {
        match self {
            Fineness::Hard => 1,
            Fineness::TwoBit => 2,
            Fineness::ThreeBit => 3,
        }
    }

    /// Regions on either side of a boundary.
    fn half(self) -> usize {
        1 << (self.bits() - 1)
    }
}

/// The upper tail of the normal distribution.
fn above(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The width of the states, in half pitches, at which the page's RBER is so high.
fn width(rber: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if AT_A_BOUNDARY * above(1.0 / middle) < rber { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probabilities of the regions, from the surest right one to the surest wrong one.
fn regions(rber: f64, fineness: Fineness, spacing: f64) -> Vec<f64> {
    let (half, width) = (fineness.half() as i32, width(rber));
    // Of a cell whose state lies at 1: the share below the sense at `step` spacings.
    let below = |step: i32| match step {
        _ if step >= half => 1.0,
        _ if step <= -half => 0.0,
        _ => above((1.0 - f64::from(step) * spacing) / width),
    };
    let mut found: Vec<f64> =
        (1 - half..=half).rev().map(|step| AT_A_BOUNDARY * (below(step) - below(step - 1))).collect();
    found[0] += 1.0 - AT_A_BOUNDARY;
    found
}

/// The mutual information of a bit and its region.
fn information(regions: &[f64]) -> f64 {
    let term = |(p, q): (&f64, &f64)| if *p > 0.0 { p * (2.0 * p / (p + q)).log2() } else { 0.0 };
    regions.iter().zip(regions.iter().rev()).map(term).sum()
}

/// The spacing of the senses, in half pitches, that tells most about the bits at the RBER for which it is made.
pub fn spacing(fineness: Fineness) -> f64 {
    let tells = |spacing: f64| information(&regions(DESIGN_RBER, fineness, spacing));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..80 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if tells(a) < tells(b) { low = a } else { high = b }
    }
    0.5 * (low + high)
}

/// What soft sensing makes of the bits of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The share of the cells that are not in the surest right region.
    unsure: f64,
    /// Of those, the share in each further region or one before it.
    up_to: Vec<f64>,
    /// The belief in the stored bit that each region gives, the surest right one first.
    beliefs: Vec<i8>,
}

impl Channel {
    /// Of pages with an RBER.
    pub fn new(rber: f64, fineness: Fineness) -> Channel {
        let spacing = spacing(fineness);
        let (found, design) = (regions(rber, fineness, spacing), regions(DESIGN_RBER, fineness, spacing));
        let beliefs = design.iter().zip(design.iter().rev());
        let beliefs = beliefs.map(|(p, q)| (SCALE * (p / q).ln()).clamp(-MOST, MOST).round() as i8).collect();
        let unsure = 1.0 - found[0];
        let mut sum = 0.0;
        let up_to = found[1..].iter().map(|share| {
            sum += share;
            sum / unsure
        });
        let up_to = up_to.collect();
        Channel { unsure, up_to, beliefs }
    }

    /// The beliefs in the bits of a page that holds zeros, in the order of a word's bits; and the word of their signs.
    pub fn sense(&self, draws: Stream) -> (Vec<i8>, Word) {
        let (mut beliefs, mut word) = (vec![self.beliefs[0]; BITS], Word::zero());
        // Gaps between unsure cells are geometric.
        let scale = 1.0 / (1.0 - self.unsure).ln();
        let (mut place, mut count) = (0usize, 0);
        loop {
            place = place.saturating_add(((1.0 - draws.uniform(count)).ln() * scale) as usize);
            if place >= BITS {
                return (beliefs, word);
            }
            let draw = draws.uniform(count + 1);
            let region = self.up_to.iter().position(|up_to| draw < *up_to).unwrap_or(self.up_to.len() - 1);
            beliefs[place] = self.beliefs[region + 1];
            if beliefs[place] < 0 {
                word.flip(place);
            }
            (place, count) = (place + 1, count + 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Fineness; 3] = [Fineness::Hard, Fineness::TwoBit, Fineness::ThreeBit];

    #[test]
    fn regions_are_all_there_is_and_the_wrong_half_is_the_rber() {
        for rber in [0.002, 0.0085, 0.02, 0.05] {
            for fineness in ALL {
                let found = regions(rber, fineness, 0.2);
                assert_eq!(found.len(), 1 << fineness.bits());
                assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let wrong: f64 = found[found.len() / 2..].iter().sum();
                assert!((wrong - rber).abs() < 1e-9, "{wrong} {rber}");
            }
        }
    }

    #[test]
    fn finer_sensing_tells_more_and_the_best_spacing_most() {
        let told: Vec<f64> =
            ALL.iter().map(|fineness| information(&regions(DESIGN_RBER, *fineness, spacing(*fineness)))).collect();
        assert!(told[0] < told[1] && told[1] < told[2], "{told:?}");
        for fineness in [Fineness::TwoBit, Fineness::ThreeBit] {
            let best = spacing(fineness);
            for other in [0.7 * best, 1.4 * best] {
                assert!(information(&regions(DESIGN_RBER, fineness, other)) < told[fineness.bits() as usize - 1]);
            }
        }
        // One sense: a binary symmetric channel.
        let p = DESIGN_RBER;
        let capacity = 1.0 + p * p.log2() + (1.0 - p) * (1.0 - p).log2();
        assert!((told[0] - capacity).abs() < 1e-9);
    }

    #[test]
    fn what_is_sensed_has_the_rber_and_belief_grows_with_distance() {
        for fineness in ALL {
            let channel = Channel::new(0.012, fineness);
            let ordered = channel.beliefs.windows(2).all(|pair| pair[0] > pair[1]);
            assert!(ordered, "{:?}", channel.beliefs);
            let errors: usize = (0..200)
                .map(|number| {
                    let (beliefs, word) = channel.sense(Stream::new(1, "soft").entity(number));
                    assert!(beliefs.iter().enumerate().all(|(bit, belief)| word.bit(bit) == (*belief < 0)));
                    word.distance(&Word::zero())
                })
                .sum();
            let mean = errors as f64 / 200.0;
            let expected = 0.012 * BITS as f64;
            assert!((mean - expected).abs() < 4.0 * (expected / 200.0).sqrt(), "{mean} {expected}");
        }
    }
}
