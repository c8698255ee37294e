//! Which references a read tries next, when a sense could not be corrected.
//!
//! Contract: a policy sees the steps of the vendor's retry table that matter and nothing else; ideals also see a step that
//! reads the page. It gives the next step, or none when it has tried all that it would.

mod oracle;
mod table;

/// A read whose last sense could not be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The step at which the read began.
    pub start: u8,
    /// The step that has just failed.
    pub step: u8,
    /// The last step of the table.
    pub last: u8,
    /// A step that reads the page, if any does: for ideals.
    pub reads: Option<u8>,
}

units::choices! {
    /// What follows a sense that could not be corrected.
    pub enum Next {
        /// The next step of the vendor's retry table (asplos21 section 2.4).
        Table = "table",
        /// Ideal: the second sense reads the page (hpca24 section III, SSDone).
        Oracle = "oracle",
    }
}

impl Next {
    /// The next step.
    pub fn step(self, failed: Failed) -> Option<u8> {
        match self {
            Next::Table => table::step(failed),
            Next::Oracle => oracle::step(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_walked_once_from_wherever_it_begins() {
        for start in 0..=7 {
            let mut seen = vec![start];
            let mut failed = Failed { start, step: start, last: 7, reads: None };
            while let Some(step) = Next::Table.step(failed) {
                seen.push(step);
                failed.step = step;
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..=7).collect::<Vec<_>>(), "from {start}");
        }
    }

    #[test]
    fn the_oracle_knows_a_step_that_reads_the_page() {
        let failed = Failed { start: 0, step: 0, last: 25, reads: Some(19) };
        assert_eq!(Next::Oracle.step(failed), Some(19));
        assert_eq!(Next::Oracle.step(Failed { reads: None, ..failed }), None);
        assert_eq!(Next::Oracle.step(Failed { step: 19, ..failed }), None);
    }
}
