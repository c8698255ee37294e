//! With which references a read senses next, when a sense could not be corrected.
//!
//! Contract: a policy sees the references that failed, the ends of the vendor's retry table, one made for the chip
//! where there is one, the syndrome weights of what the read has sensed, and whether the failed sense has read the
//! sentinel's boundary; nothing else. It gives the next references, or none when it has tried all that it would, and
//! says when they are known: what is known early enough can be sensed ahead ([`crate::Pipeline`]).

mod contract;
mod oracle;
mod sentinel;
mod swift;
mod syndrome;
mod table;
mod tailored;

pub use contract::{Failed, Known, ReadReference, Weighed};

units::choices! {
    /// What follows a sense that could not be corrected.
    pub enum Next {
        /// The next step of the vendor's retry table (asplos21 section 2.4).
        Table = "table",
        /// Ideal: the second sense has the best references (hpca24 section III, SSDone).
        Oracle = "oracle",
        /// The best references by the errors of sentinel cells, which some pages must be read for first (hpca24 section
        /// III-B).
        Sentinel = "sentinel",
        /// One command that senses twice: the ones counted in the first sense give the references of the second
        /// (Swift-Read, hpca24 section III-B).
        Swift = "swift",
        /// A retry table made for the chip, and the nearest steps first where a read has begun near what is needed (Ye
        /// et al., ASPLOS'24).
        Tailored = "tailored",
        /// Towards the step whose syndrome weighs least (ACM TECS 2025).
        Syndrome = "syndrome",
    }
}

impl Next {
    /// The next references.
    pub fn after(self, failed: Failed<'_>) -> Option<ReadReference> {
        match self {
            Next::Table => table::after(failed),
            Next::Oracle => oracle::after(failed),
            Next::Sentinel => sentinel::after(failed),
            Next::Swift => swift::after(failed),
            Next::Tailored => tailored::after(failed),
            Next::Syndrome => syndrome::after(failed),
        }
    }

    /// When the references are known that follow some others.
    pub fn known(self, v_ref: ReadReference) -> Known {
        match self {
            Next::Sentinel => sentinel::known(v_ref),
            Next::Syndrome => Known::Transferred,
            Next::Table | Next::Oracle | Next::Swift | Next::Tailored => Known::Sensed,
        }
    }

    /// How often a command with some references senses; where the die has just sensed the page by itself it need not do
    /// so again to count its ones.
    pub fn senses(self, v_ref: ReadReference, counted: bool) -> u32 {
        match self {
            Next::Swift => swift::senses(v_ref, counted),
            Next::Table | Next::Oracle | Next::Sentinel | Next::Tailored | Next::Syndrome => 1,
        }
    }

    /// Whether a read walks the table from its start on.
    pub fn walks(self) -> bool {
        match self {
            Next::Table => true,
            Next::Oracle | Next::Sentinel | Next::Swift | Next::Tailored | Next::Syndrome => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(next: Next, start: u8, sentinel: bool) -> Vec<ReadReference> {
        let mut seen = vec![ReadReference::Step(start)];
        let table = &[3, 6, 1, 2, 4, 5, 7];
        let mut failed = Failed { start, v_ref: seen[0], last: 7, sentinel, weighed: &[], table };
        while let Some(v_ref) = next.after(failed) {
            seen.push(v_ref);
            failed.v_ref = v_ref;
        }
        seen
    }

    #[test]
    fn the_table_is_walked_once_from_wherever_it_begins_and_after_whatever_was_better() {
        for start in 0..=7 {
            let steps: Vec<ReadReference> = (0..=7).map(|step| ReadReference::Step((start + step) % 8)).collect();
            assert_eq!(walked(Next::Table, start, false), steps);
            for (next, sentinel, first) in [
                (Next::Swift, false, vec![ReadReference::NearOptimal]),
                (Next::Sentinel, true, vec![ReadReference::NearOptimal]),
                (Next::Sentinel, false, vec![ReadReference::Sentinel, ReadReference::NearOptimal]),
            ] {
                let expected = [&steps[..1], &first, &steps[1..]].concat();
                assert_eq!(walked(next, start, sentinel), expected, "{next:?} from {start}");
            }
        }
    }

    #[test]
    fn what_the_sentinel_says_is_known_when_its_cells_are_in_the_controller() {
        assert_eq!(Next::Sentinel.known(ReadReference::Sentinel), Known::Transferred);
        assert_eq!(Next::Sentinel.known(ReadReference::NearOptimal), Known::Sensed);
        assert_eq!(Next::Table.known(ReadReference::Step(3)), Known::Sensed);
        assert!(!ReadReference::Sentinel.decodes() && ReadReference::NearOptimal.decodes());
    }

    #[test]
    fn a_tailored_table_is_gone_through_from_its_beginning_or_outwards_from_a_start_that_is_known() {
        let steps = |order: &[u8]| order.iter().map(|step| ReadReference::Step(*step)).collect::<Vec<_>>();
        assert_eq!(walked(Next::Tailored, 0, false), steps(&[0, 3, 6, 1, 2, 4, 5, 7]));
        assert_eq!(walked(Next::Tailored, 2, false), steps(&[2, 3, 1, 4, 0, 5, 6, 7]));
        assert_eq!(walked(Next::Tailored, 6, false), steps(&[6, 7, 5, 4, 3, 2, 1, 0]));
    }

    /// The steps that a search by weight senses, where the weight at a step is given.
    fn searched(start: u8, last: u8, weight: impl Fn(u8) -> u32) -> Vec<u8> {
        let mut weighed = vec![Weighed { step: start, weight: weight(start) }];
        loop {
            let v_ref = ReadReference::Step(weighed[weighed.len() - 1].step);
            let failed = Failed { start, v_ref, last, sentinel: false, weighed: &weighed, table: &[] };
            let Some(ReadReference::Step(step)) = Next::Syndrome.after(failed) else { break };
            weighed.push(Weighed { step, weight: weight(step) });
        }
        weighed.iter().map(|weighed| weighed.step).collect()
    }

    #[test]
    fn a_search_by_weight_finds_the_lightest_step_soon_and_tries_all_in_the_end() {
        for start in 0..=40 {
            for lightest in 0..=40u8 {
                let order = searched(start, 40, |step| 100 + 3 * u32::from(step.abs_diff(lightest)));
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..=40).collect::<Vec<u8>>());
                let found = order.iter().position(|step| *step == lightest).unwrap();
                assert!(found <= 12, "{lightest} from {start}: {order:?}");
            }
        }
        assert_eq!(searched(0, 40, |step| step.abs_diff(17).into())[..6], [0, 4, 12, 28, 20, 16]);
    }

    #[test]
    fn the_oracle_needs_one_retry() {
        assert_eq!(walked(Next::Oracle, 3, false), [ReadReference::Step(3), ReadReference::NearOptimal]);
    }

    #[test]
    fn swift_read_senses_twice_unless_the_ones_are_counted() {
        // hpca24 section III-B and IV-C: inside RiF the failed sense supplies the count.
        assert_eq!(Next::Swift.senses(ReadReference::NearOptimal, false), 2);
        assert_eq!(Next::Swift.senses(ReadReference::NearOptimal, true), 1);
        assert_eq!(Next::Swift.senses(ReadReference::Step(3), false), 1);
        assert_eq!(Next::Sentinel.senses(ReadReference::NearOptimal, false), 1);
    }
}
