//! Cells: distributions of threshold voltage, and the raw bit errors of a page read with any reference voltages.
//!
//! Voltages are in half pitches: right after programming state i lies at 2 i, and boundary j, between states j and j +
//! 1, is read at 2 j + 1. Retention shifts the states down and widens them. The bit of a page flips at the page's
//! boundaries (Gray code), so a cell is read wrongly where the parity of the boundaries below it is not that of its
//! state: no approximation by neighbouring states, which fails once the shift passes a pitch.

use super::normal::cdf;
use crate::geometry::{MAX_BITS, Refusal};

units::section! {
    /// Threshold voltages of the cells and the vendor's retry table. In half pitches between states, wear in units of
    /// 1,000 P/E cycles.
    pub struct Cells in "cells" {
        /// Bits of a cell: 1 to 5.
        bits: u32 = 3,
        /// Shift of the highest state of a typical page, per unit of ln(1 + age / shift_time), without wear.
        shift: f64 = 0.5,
        /// Retention age at which the loss of charge turns from linear to logarithmic.
        shift_time: Span = Span(1_209_600_000_000_000),
        /// How much the shift grows with the wear term.
        shift_wear: f64 = 0.3,
        /// Shift right after programming, relative to `shift`, per unit of the wear term: worn cells lose a part of
        /// their charge within seconds.
        shift_early: f64 = 0.0,
        /// The shift of the lowest state's upper boundary, relative to that of the highest boundary.
        shift_lowest: f64 = 0.8,
        /// Wear at which early wear saturates [1,000 P/E cycles]; wear = 1 - exp(-(x / wear_knee)^2) + wear_slope x.
        wear_knee: f64 = 0.4,
        /// What every further 1,000 P/E cycles add to the wear term.
        wear_slope: f64 = 1.0,
        /// Standard deviation of a state's voltages, fresh.
        width: f64 = 0.29,
        /// Relative growth of the width by early wear.
        width_wear: f64 = 0.04,
        /// Width that the shift adds, in quadrature, per unit of shift: cells leak differently.
        width_shift: f64 = 0.04,
        /// The power of a page's factor in its width.
        width_factor: f64 = 0.05,
        /// Errors per KiB that reading at 30 C adds to reading at 85 C.
        cold_errors: f64 = 2.4,
        /// The power of (85 C - T) / 55 C in that.
        cold_power: f64 = 0.8,
        /// Upward shift of the erased state by a million reads of the block, fresh.
        disturb: f64 = 0.1,
        /// What 1,000 P/E cycles add to that, relative to it.
        disturb_wear: f64 = 0.5,
        /// Voltage over which the current that reads drive into a cell falls by e: the shift grows with the logarithm
        /// of the reads, and reaches the states above. 0: the erased state alone, in proportion to the reads.
        disturb_scale: f64 = 0.0,
        /// Shift of the highest boundary by each kelvin that a page is read hotter than it was programmed; read colder
        /// its voltages are higher.
        cross_shift: f64 = 0.0025,
        /// Step of the vendor's retry table: step k reads boundaries k times this lower, in proportion to their shifts.
        retry_step: f64 = 0.16,
        /// Steps of the retry table behind the default read.
        retry_steps: u32 = 40,
        /// Errors per KiB that the ECC corrects.
        capability: u32 = 72,
    }
}

use units::Span;

/// How the cells of a page lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Shift of the highest boundary.
    pub shift: f64,
    /// Standard deviation of each state.
    pub width: f64,
    /// Upward shift of the erased state by reads, as if it did not slow down (see [`Cells::lift`]).
    pub disturb: f64,
}

/// Bits of a KiB.
pub const KIB_BITS: f64 = 8192.0;

/// A month of 30 days \[ns].
pub const MONTH_NS: f64 = 30.0 * 86_400e9;

impl Cells {
    /// States of a cell.
    pub fn states(&self) -> u32 {
        1 << self.bits
    }

    /// The boundaries at which the bit of a page flips, by page type: TLC <2, 3, 2> (asplos21 section
    /// 2.2), MLC <1, 2>, SLC <1>. QLC <4, 4, 4, 3>: of the Gray codes with so evenly many boundaries a page one whose
    /// boundaries lie farthest apart, by search (`assumed`; that QLC balances its pages so is usual, which code it
    /// takes is not public). PLC
    /// <6, 6, 6, 6, 7>: the same, by search of all Gray codes of five bits with these numbers (`assumed`).
    pub fn boundaries(&self, page: u32) -> &'static [u32] {
        match (self.bits, page) {
            (1, _) => &[0],
            (2, 0) => &[1],
            (2, _) => &[0, 2],
            (3, 0) => &[0, 4],
            (3, 1) => &[1, 3, 5],
            (3, _) => &[2, 6],
            (4, 0) => &[0, 3, 5, 10],
            (4, 1) => &[2, 6, 8, 12],
            (4, 2) => &[4, 9, 11, 14],
            (4, _) => &[1, 7, 13],
            (_, 0) => &[1, 7, 14, 20, 26, 30],
            (_, 1) => &[0, 4, 10, 18, 23, 27],
            (_, 2) => &[2, 6, 9, 13, 16, 24],
            (_, 3) => &[5, 11, 15, 19, 22, 28],
            _ => &[3, 8, 12, 17, 21, 25, 29],
        }
    }

    /// The cells of a block that holds `bits` bits a cell, fewer than the chip's own. Its states are spread evenly over
    /// the voltages of the chip's own, are as wide, and lose and gain as much charge as cells at these voltages do
    /// (`assumed`: makers tune each mode by itself, and publish none). So only the unit changes: half a pitch is
    /// `wider` times as many volts.
    pub fn in_mode(&self, bits: u32) -> Cells {
        let wider = f64::from(self.states() - 1) / f64::from((1u32 << bits) - 1);
        // The place of a boundary of the mode among the chip's own.
        let own = |boundary: u32| f64::from(boundary) * wider + (wider - 1.0) / 2.0;
        let highest = self.share(own(((1u32 << bits) - 2).max(1)));
        Cells {
            bits,
            shift: self.shift * highest / wider,
            shift_lowest: self.share(own(0)) / highest,
            width: self.width / wider,
            width_shift: self.width_shift / highest,
            disturb: self.disturb / wider,
            disturb_scale: self.disturb_scale / wider,
            cross_shift: self.cross_shift * highest / wider,
            retry_step: self.retry_step * highest / wider,
            ..self.clone()
        }
    }

    /// The wear term: it starts slowly, saturates, and grows on.
    pub fn wear(&self, x: f64) -> f64 {
        let early = x / self.wear_knee;
        1.0 - libm::exp(-early * early) + self.wear_slope * x
    }

    /// How the cells of a page with `factor` lie after `x` thousand P/E cycles, `months` at 30 °C and `reads` of its
    /// block.
    pub fn shape(&self, x: f64, months: f64, reads: f64, factor: f64) -> Shape {
        let time = months / (self.shift_time.0 as f64 / MONTH_NS);
        let wear = self.wear(x);
        let later = factor * self.shift * (1.0 + self.shift_wear * wear) * libm::log1p(time);
        let shift = later + factor * self.shift * self.shift_early * wear;
        let early = x / self.wear_knee;
        let own = self.width
            * libm::pow(factor, self.width_factor)
            * (1.0 + self.width_wear * (1.0 - libm::exp(-early * early)));
        let width = libm::sqrt(own * own + (self.width_shift * shift) * (self.width_shift * shift));
        Shape { shift, width, disturb: self.disturb * (1.0 + self.disturb_wear * x) * reads / 1e6 }
    }

    /// `shape` where it is read `kelvins` hotter than it was programmed: the chip's own compensation leaves a part of
    /// the shift of its voltages with temperature.
    pub fn crossed(&self, shape: Shape, kelvins: f64) -> Shape {
        Shape { shift: shape.shift + self.cross_shift * kelvins, ..shape }
    }

    /// The share of the highest boundary's shift that boundary j, or any voltage between, takes.
    fn share(&self, boundary: f64) -> f64 {
        let last = f64::from(self.states() - 2).max(1.0);
        self.shift_lowest + (1.0 - self.shift_lowest) * boundary / last
    }

    /// Where the mean of a state lies.
    pub fn mean(&self, shape: Shape, state: u32) -> f64 {
        2.0 * f64::from(state) - self.share(f64::from(state) - 0.5) * shape.shift + self.lift(shape, state)
    }

    /// How far reads have lifted a state: the solution of dV/dD = e^(-V / a), which begins at the state's own voltage,
    /// with the erased state's at 0, for a dose D. The higher a cell lies the weaker the field that fills it, so that
    /// states never change places.
    pub fn lift(&self, shape: Shape, state: u32) -> f64 {
        let (dose, scale) = (shape.disturb, self.disturb_scale);
        if dose == 0.0 {
            0.0
        } else if scale > 0.0 {
            scale * libm::log1p(dose / scale * libm::exp(-2.0 * f64::from(state) / scale))
        } else if state == 0 {
            dose
        } else {
            0.0
        }
    }

    /// The reference voltage of a boundary that is lowered along the retry table by `offset`, which equals the shift
    /// where it is best.
    pub fn reference(&self, boundary: u32, offset: f64) -> f64 {
        2.0 * f64::from(boundary) + 1.0 - self.share(f64::from(boundary)) * offset
    }

    /// The middle boundary, which sentinel cells lie beside (`assumed`: hpca24 section III-B states only that some page
    /// types are not read at it).
    pub fn sentinel_boundary(&self) -> u32 {
        self.states() / 2 - 1
    }

    /// The share of the cells just above a boundary that read as below it, and of those just below that read as above.
    pub fn crossings(&self, shape: Shape, boundary: u32, offset: f64) -> (f64, f64) {
        let reference = self.reference(boundary, offset);
        let below = |state: u32| below_reference((reference - self.mean(shape, state)) / shape.width);
        (below(boundary + 1), 1.0 - below(boundary))
    }

    /// The share of a page's bits that are read wrongly.
    pub fn error_rate(&self, shape: Shape, page: u32, offset: f64) -> f64 {
        let boundaries = self.boundaries(page);
        let mut wrong = 0.0;
        for state in 0..self.states() {
            let mean = self.mean(shape, state);
            let own = boundaries.iter().filter(|boundary| **boundary < state).count();
            let mut below = 0.0;
            for (place, boundary) in boundaries.iter().enumerate() {
                let up_to = below_reference((self.reference(*boundary, offset) - mean) / shape.width);
                if (place ^ own) & 1 == 1 {
                    wrong += up_to - below;
                }
                below = up_to;
            }
            if (boundaries.len() ^ own) & 1 == 1 {
                wrong += 1.0 - below;
            }
        }
        wrong / f64::from(self.states())
    }

    /// The share of bits that are read wrongly where cells hold one bit, in the two outermost states: a block in SLC
    /// mode. The one reference begins half-way between them and is lowered along the retry table like that of a
    /// boundary there.
    pub fn one_bit_error_rate(&self, shape: Shape, offset: f64) -> f64 {
        let highest = self.states() - 1;
        let middle = f64::from(highest);
        let reference = middle - self.share((middle - 1.0) / 2.0) * offset;
        let below = |state: u32| below_reference((reference - self.mean(shape, state)) / shape.width);
        (1.0 - below(0) + below(highest)) / 2.0
    }

    /// Mean errors per KiB with the references at `offset`, at 85 °C.
    pub fn errors(&self, shape: Shape, page: u32, offset: f64) -> f64 {
        KIB_BITS * self.error_rate(shape, page, offset)
    }

    /// Mean errors per KiB with the best references, at 85 °C.
    pub fn least_errors(&self, shape: Shape, page: u32) -> f64 {
        self.errors(shape, page, shape.shift)
    }

    /// Errors per KiB that reading at `celsius` adds (asplos21 section 5.1: fewer electrons get through a cold
    /// channel).
    pub fn cold(&self, celsius: f64) -> f64 {
        let cold = ((85.0 - celsius) / 55.0).max(0.0);
        self.cold_errors * libm::pow(cold, self.cold_power)
    }

    /// Reads one cell: whether its bit is wrong. `uniform` picks its state, `normal` its voltage in it.
    pub fn is_wrong(&self, shape: Shape, page: u32, offset: f64, uniform: f64, normal: f64) -> bool {
        let state = ((uniform * f64::from(self.states())) as u32).min(self.states() - 1);
        let voltage = self.mean(shape, state) + shape.width * normal;
        let boundaries = self.boundaries(page);
        let own = boundaries.iter().filter(|boundary| **boundary < state).count();
        let read = boundaries.iter().filter(|boundary| self.reference(**boundary, offset) < voltage).count();
        (own ^ read) & 1 == 1
    }

    /// What is wrong with the constants: key, problem, remedy.
    pub fn refusal(&self) -> Option<Refusal> {
        let positive = [
            ("width", self.width),
            ("wear_knee", self.wear_knee),
            ("retry_step", self.retry_step),
            ("cold_power", self.cold_power),
        ];
        let not_negative = [
            ("shift", self.shift),
            ("shift_wear", self.shift_wear),
            ("shift_early", self.shift_early),
            ("shift_lowest", self.shift_lowest),
            ("wear_slope", self.wear_slope),
            ("width_wear", self.width_wear),
            ("width_shift", self.width_shift),
            ("width_factor", self.width_factor),
            ("cold_errors", self.cold_errors),
            ("disturb", self.disturb),
            ("disturb_wear", self.disturb_wear),
            ("disturb_scale", self.disturb_scale),
            ("cross_shift", self.cross_shift),
        ];
        if !(1..=MAX_BITS as u32).contains(&self.bits) {
            return Some(Refusal::of(
                "bits",
                format!("is {}", self.bits),
                "write 1 (SLC), 2 (MLC), 3 (TLC), 4 (QLC) or 5 (PLC)",
            ));
        }
        if let Some((key, value)) = positive.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1e6)) {
            return Some(Refusal::of(key, format!("is {value}"), "write a positive number"));
        }
        if let Some((key, value)) = not_negative.into_iter().find(|(_, value)| !(*value >= 0.0 && *value < 1e6)) {
            return Some(Refusal::of(
                key,
                format!("is {value}"),
                "write 0 or more: wear, age and cold never mend errors",
            ));
        }
        if self.shift_lowest > 1.0 {
            let problem = format!("is {}: the lowest states would shift more than the highest", self.shift_lowest);
            return Some(Refusal::of("shift_lowest", problem, "write at most 1"));
        }
        // A year at 3,000 cycles on a page of factor 1.3: the states must stay in order.
        let pitch = 2.0 - (self.share(1.0) - self.share(0.0)) * self.shape(3.0, 12.0, 0.0, 1.3).shift;
        if pitch <= 0.0 {
            return Some(Refusal::of(
                "shift",
                format!("lets states change places after a year ({pitch:.2} between them)"),
                "lower it",
            ));
        }
        if self.shift_time.0 == 0 {
            return Some(Refusal::of("shift_time", "is 0", "write a time such as \"14d\""));
        }
        if self.capability == 0 || self.capability > 4096 {
            return Some(Refusal::of(
                "capability",
                format!("is {}", self.capability),
                "write 1 to 4096 errors per KiB",
            ));
        }
        (self.retry_steps > 250)
            .then(|| Refusal::of("retry_steps", format!("is {}", self.retry_steps), "write at most 250"))
    }
}

/// The share of a state's cells below a reference that lies `z` deviations above their mean. Most references are far
/// from most states.
#[inline]
fn below_reference(z: f64) -> f64 {
    const FAR: f64 = 8.0;
    if z > FAR {
        1.0
    } else if z < -FAR {
        0.0
    } else {
        cdf(z)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{VirtualChip, names};
    use super::*;

    #[test]
    fn a_block_in_slc_mode_needs_no_retry_in_the_life_of_its_chip_and_the_table_reads_it_beyond() {
        for name in names() {
            let cells = VirtualChip::preset(name).unwrap().cells;
            if cells.bits == 1 {
                continue;
            }
            let errors = |shape, offset| KIB_BITS * cells.one_bit_error_rate(shape, offset) + cells.cold(30.0);
            let corrected = f64::from(cells.capability);
            for (thousands, months, reads) in [(0.0, 0.0, 0.0), (1.0, 60.0, 1e6), (3.0, 12.0, 1e6)] {
                let found = errors(cells.shape(thousands, months, reads, 1.3), 0.0);
                assert!(found < corrected / 4.0, "{name}: {found} errors per KiB of {corrected} that are corrected");
            }
            if name == "tlc48" {
                let beyond = cells.shape(10.0, 60.0, 0.0, 1.3);
                assert!(errors(beyond, 0.0) > corrected && errors(beyond, beyond.shift) < corrected);
            }
        }
    }

    #[test]
    fn a_mode_is_the_same_cells_in_wider_pitches() {
        for name in names() {
            let own = VirtualChip::preset(name).unwrap().cells;
            let own = Cells { disturb_scale: 0.7, ..own };
            for bits in 1..own.bits {
                let mode = own.in_mode(bits);
                let wider = f64::from(own.states() - 1) / f64::from(mode.states() - 1);
                for (x, months, reads, factor) in [(0.0, 0.0, 0.0, 1.0), (1.5, 7.0, 3e6, 0.9), (4.0, 40.0, 1e5, 1.2)] {
                    let at = |cells: &Cells| cells.crossed(cells.shape(x, months, reads, factor), 20.0);
                    let (of_own, of_mode) = (at(&own), at(&mode));
                    assert!((of_mode.width * wider - of_own.width).abs() < 1e-12);
                    for state in 0..mode.states() {
                        // Where a state of the chip's own would lie that begins at the same voltage.
                        let place = f64::from(state) * wider;
                        let lifted = own.disturb_scale
                            * libm::log1p(
                                of_own.disturb / own.disturb_scale * libm::exp(-2.0 * place / own.disturb_scale),
                            );
                        let mean = 2.0 * place - own.share(place - 0.5) * of_own.shift + lifted;
                        assert!((mode.mean(of_mode, state) * wider - mean).abs() < 1e-9, "{name} {bits} {state}");
                    }
                    for step in [0.0, 1.0, 9.0] {
                        for boundary in 0..mode.states() - 1 {
                            let place = (f64::from(boundary) + 0.5) * wider - 0.5;
                            let reference = 2.0 * place + 1.0 - own.share(place) * step * own.retry_step;
                            let of_mode = mode.reference(boundary, step * mode.retry_step);
                            assert!((of_mode * wider - reference).abs() < 1e-9, "{name} {bits} {boundary}");
                        }
                        let one_bit = own.one_bit_error_rate(of_own, step * own.retry_step);
                        let found = mode.error_rate(of_mode, 0, step * mode.retry_step);
                        assert!(bits > 1 || (found - one_bit).abs() < 1e-12, "{name} {step}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_more_bits_a_cell_the_more_errors_at_the_same_age() {
        for name in ["plc", "qlc", "tlc48", "tlc48-rif", "tlc48-reo", "mlc"] {
            let own = VirtualChip::preset(name).unwrap().cells;
            // As they are, and so wide that even the two outermost states overlap.
            let wide = Cells { width: f64::from(own.states() - 1) / 7.5, ..own.clone() };
            for (own, strict) in [(own, false), (wide, true)] {
                let modes: Vec<Cells> = (1..own.bits).map(|bits| own.in_mode(bits)).chain([own.clone()]).collect();
                for (x, months, best) in [(0.0, 0.0, false), (0.5, 3.0, false), (1.0, 12.0, true), (1.5, 24.0, true)] {
                    // Of a bit of a typical page.
                    let errors = |cells: &Cells| {
                        let shape = cells.shape(x, months, 0.0, 1.0);
                        let offset = if best { shape.shift } else { 0.0 };
                        let pages = (0..cells.bits).map(|page| cells.error_rate(shape, page, offset));
                        pages.sum::<f64>() / f64::from(cells.bits)
                    };
                    let found: Vec<f64> = modes.iter().map(errors).collect();
                    let ordered = |pair: &[f64]| pair[0] < pair[1] || !strict && pair[0] <= pair[1];
                    assert!(found.windows(2).all(ordered), "{name} after {x} K cycles and {months} months: {found:?}");
                }
            }
        }
    }

    #[test]
    fn of_cells_that_have_one_bit_anyway_it_is_the_error_rate() {
        let cells = VirtualChip::preset("slc").unwrap().cells;
        let shape = cells.shape(50.0, 12.0, 0.0, 1.0);
        // The default reference stands half-way between the states.
        for offset in [0.0, 0.3] {
            assert!((cells.one_bit_error_rate(shape, offset) - cells.error_rate(shape, 0, offset)).abs() < 1e-12);
        }
    }
}
