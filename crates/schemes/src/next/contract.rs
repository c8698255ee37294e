//! What a policy of this axis is asked, and what it answers.

/// With which references a page is sensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadReference {
    /// Those of a step of the vendor's retry table; those of step 0 are the default ones.
    Step(u8),
    /// Near-optimal ones, found for this page.
    NearOptimal,
    /// The sentinel's boundary alone: the errors of its cells show where the best references are.
    Sentinel,
}

/// A read whose last sense could not be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The step at which the read began.
    pub start: u8,
    /// The references that have just failed.
    pub v_ref: ReadReference,
    /// The last step of the table.
    pub last: u8,
    /// The page's boundaries include the sentinel's.
    pub sentinel: bool,
}
