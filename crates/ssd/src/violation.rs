//! Invariants of a drive that is checked ([`crate::Checker`]), and how one that does not hold is reported.

use std::fmt;

use units::Time;

/// The invariants, by the names that violations carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Simulated time never goes back.
    Time,
    /// The map is a bijection on valid data: each page's newest copy is where it was programmed last, and that page of
    /// the flash holds it; a page of the flash is programmed once between erases.
    Mapping,
    /// A read is given the newest data.
    Data,
    /// Valid pages by block and plane, and blocks that are free, open, full and out of service, are what they are
    /// counted as.
    Counts,
    /// An array does one thing at a time, a register is of one operation.
    Die,
    /// A bus carries one thing at a time; so do the link and the DRAM. A decoder's room is not overbooked.
    Bus,
    /// Each request and each operation ends once.
    Once,
    /// Slots of the write buffer are neither lost nor made.
    Buffer,
    /// What has gone in has come out or is under way.
    Conservation,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// Where.
    pub place: String,
    /// What was found there.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// When.
    pub time: Time,
    /// The number of the event after which it was found, and whose event that was.
    pub event: (u64, String),
}

impl Violation {
    /// Found in the state of a drive; when and after which event is known to who asks.
    pub(crate) fn new(
        invariant: Invariant,
        place: impl fmt::Display,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Violation {
        let (place, found, expected) = (place.to_string(), found.to_string(), expected.to_string());
        Violation { invariant, place, found, expected, time: Time::ZERO, event: (0, String::new()) }
    }

    /// A law of the whole drive that is stated in a sentence.
    pub(crate) fn law(invariant: Invariant, sentence: String) -> Violation {
        Violation::new(invariant, "the drive", sentence, "that the two agree")
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.invariant).to_lowercase();
        write!(
            f,
            "Invariant ({name}) does not hold, {}: {}\n  expected: {}\n  when: at {} ns, after event {} ({})",
            self.place, self.found, self.expected, self.time.0, self.event.0, self.event.1
        )
    }
}
