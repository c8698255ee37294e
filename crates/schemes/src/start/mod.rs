//! Where the first sense of a read begins: the read references that it uses.
//!
//! Contract: a policy sees the step of the retry table that last read a similar page, if one did, and nothing else. It gives
//! the step of the table whose references the first sense uses; 0 are the chip's default ones.

mod tracked;

units::choices! {
    /// The references of a read's first sense.
    pub enum Start {
        /// The chip's default ones.
        Default = "default",
        /// Those that last read a similar page, set back by a guard (PSO of asplos21 section 7.3).
        Tracked = "tracked",
    }
}

impl Start {
    /// The step of the table that the first sense uses, after `last` has read a similar page.
    pub fn step(self, last: Option<u8>) -> u8 {
        match self {
            Start::Default => 0,
            Start::Tracked => tracked::step(last),
        }
    }

    /// Whether the policy asks for what has read similar pages.
    pub fn tracks(self) -> bool {
        self == Start::Tracked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_begins_before_what_last_worked() {
        assert_eq!(Start::Tracked.step(None), 0);
        assert_eq!(Start::Tracked.step(Some(4)), 0);
        assert_eq!(Start::Tracked.step(Some(20)), 20 - tracked::GUARD);
        assert_eq!(Start::Default.step(Some(20)), 0);
    }
}
