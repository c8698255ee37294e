//! Where the first sense of a read begins: the read references that it uses.
//!
//! Contract: a policy sees the step of the retry table that last read a similar page, if one did, and whether a failure
//! is followed by a walk along the table; a tree sees what `learned` lists, and the oracle the page; nothing else. It
//! gives the step whose references the first sense uses; 0 are the chip's default ones.

mod recorded;
mod tracked;

units::choices! {
    /// The references of a read's first sense.
    pub enum Start {
        /// The chip's default ones.
        Default = "default",
        /// Those that last read a similar page, set back by a guard where the table is walked from there (PSO of
        /// asplos21 section 7.3, SWR+ of hpca24 section VI-A).
        Tracked = "tracked",
        /// As tracked, on a drive that has read its blocks in the background before the run: where no similar page has
        /// been read yet, with those that another page of its kind needs (`assumed`: what makers say of patrol reads
        /// and calibration).
        Patrolled = "patrolled",
        /// Those recorded of the same block and group of layers, in a table of bounded size (Nie et al., IEEE Trans.
        /// Reliability 2025).
        Recorded = "recorded",
        /// Those that a decision tree says (read.trees).
        Learned = "learned",
        /// The table's best ones for that very page: with hindsight, which no controller has. It is the limit of what
        /// can be learned.
        Oracle = "oracle",
    }
}

/// A read that is about to sense a page for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSense {
    /// The step that last read a similar page, if one did.
    pub last: Option<u8>,
    /// A failure is followed by a walk along the table.
    pub walks: bool,
    /// The last step of the table.
    pub table: u8,
    /// P/E cycles of the page's block.
    pub pec: u32,
    /// For how long the page has held its data, as the controller knows it: whole days at 30 °C.
    pub days: u32,
    /// Its group of layers.
    pub layer: u32,
    /// Which page of its wordline it is: 0 is the LSB page.
    pub kind: u32,
}

impl Start {
    /// The step of the table that the first sense uses, after `last` has read a similar page.
    pub fn step(self, last: Option<u8>, walks: bool) -> u8 {
        match self {
            // What a tree or hindsight says follows from other things.
            Start::Default | Start::Learned | Start::Oracle => 0,
            Start::Tracked | Start::Patrolled => tracked::step(last, walks),
            Start::Recorded => recorded::step(last, walks),
        }
    }

    /// Whether the policy asks for what has read similar pages.
    pub fn tracks(self) -> bool {
        matches!(self, Start::Tracked | Start::Patrolled | Start::Recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_begins_before_what_last_worked() {
        assert_eq!(Start::Tracked.step(None, true), 0);
        // asplos21: at 0, 1K and 2K cycles and 3 months, and at 2K and a year, pages need about 4, 9, 11 and 20 steps.
        let starts = [2, 4, 9, 11, 12, 15, 20, 40].map(|last| Start::Tracked.step(Some(last), true));
        assert_eq!(starts, [0, 1, 6, 7, 8, 10, 14, 28]);
        assert_eq!(Start::Tracked.step(Some(20), false), 20);
        assert_eq!([true, false].map(|walks| Start::Patrolled.step(Some(20), walks)), [14, 20]);
        assert_eq!(Start::Default.step(Some(20), true), 0);
        assert_eq!([None, Some(0), Some(20)].map(|last| Start::Recorded.step(last, true)), [0, 0, 19]);
        assert_eq!(Start::Recorded.step(Some(20), false), 20);
    }
}
