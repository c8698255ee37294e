//! A sense just long enough: a page is sensed with the RPT's tPRE, and the weight of its syndrome says what its failure
//! needs. Where the weight stands for no more errors above what the code corrects than the cut adds, the timing was at
//! fault: the same references by the default one. Where it stands for more, the references were: the next ones, in
//! haste again. Weight and errors are taken to be one to one (hpca24 section IV-B); what a cut adds is profiled with
//! the RPT (asplos21 section 5.2, Fig. 8 to 11). Nothing is remembered of other pages.

/// Errors per KiB above what the code corrects for which the weight of a hasty first sense stands, and those that the
/// cut adds.
pub(super) fn repeats(over: f64, added: f64) -> bool {
    over <= added
}

#[cfg(test)]
mod tests {
    use super::super::Sensing;

    #[test]
    fn what_the_cut_may_have_added_is_sensed_again_by_the_default_timing() {
        let says = |sensing: Sensing, over| sensing.repeats(over, 9.0);
        assert_eq!([-3.0, 9.0, 9.1].map(|over| says(Sensing::AdaptiveWeighed, over)), [true, true, false]);
        assert!(Sensing::AdaptiveWeighed.weighs() && Sensing::AdaptiveWeighed.hastens());
        assert!(Sensing::AdaptiveWeighed.reduces_first(20), "nothing is remembered of similar pages");
        assert!(!Sensing::AdaptiveFirst.weighs());
    }
}
