//! The best timing of each first sense, with hindsight: what any rule or policy of first senses is compared with.

/// What becomes of a first sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hindsight {
    /// It is corrected by the RPT's tPRE.
    pub in_haste: bool,
    /// It is corrected by the default one.
    pub by_default: bool,
    /// The die repeats by itself what it predicts to fail, with other references: haste costs nothing where either
    /// timing fails.
    pub on_die: bool,
}

impl Hindsight {
    /// Whether it fails by one of the timings.
    pub fn fails(self, hasty: bool) -> bool {
        if hasty { !self.in_haste } else { !self.by_default }
    }
}

pub(super) fn reduces_first(Hindsight { in_haste, by_default, on_die }: Hindsight) -> bool {
    in_haste || on_die && !by_default
}

#[cfg(test)]
mod tests {
    use super::super::Sensing;
    use super::Hindsight;

    #[test]
    fn haste_is_taken_where_it_costs_nothing() {
        let says = |in_haste, by_default, on_die| {
            Sensing::AdaptiveOracle.reduces_by(Hindsight { in_haste, by_default, on_die })
        };
        assert_eq!([false, true].map(|on_die| says(true, true, on_die)), [true; 2]);
        assert_eq!([false, true].map(|on_die| says(false, true, on_die)), [false; 2]);
        assert_eq!([false, true].map(|on_die| says(false, false, on_die)), [false, true]);
        assert!(!Sensing::AdaptiveFirst.reduces_by(Hindsight { in_haste: true, by_default: true, on_die: false }));
    }
}
