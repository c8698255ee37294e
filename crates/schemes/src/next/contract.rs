//! What a policy of this axis is asked, and what it answers.

use crate::soft::Fine;

/// With which references a page is sensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadReference {
    /// Those of a step of the vendor's retry table; those of step 0 are the default ones.
    Step(u8),
    /// Near-optimal ones, found for this page.
    NearOptimal,
    /// The sentinel's boundary alone: the errors of its cells show where the best references are.
    Sentinel,
    /// Several around the best ones, for soft decoding ([`crate::Soft`]).
    Soft(Fine),
}

impl ReadReference {
    /// Bits a cell that the controller has when what is sensed so is in it, of those sensed with the best references.
    pub fn known_bits(self) -> u8 {
        match self {
            ReadReference::NearOptimal => 1,
            ReadReference::Soft(fine) => fine.bits(),
            ReadReference::Step(_) | ReadReference::Sentinel => 0,
        }
    }

    /// How finely it is sensed, where it is decoded softly.
    pub fn fine(self) -> Option<Fine> {
        match self {
            ReadReference::Soft(fine) => Some(fine),
            _ => None,
        }
    }

    /// Pages that cross the bus.
    pub fn pages(self) -> u32 {
        self.fine().map_or(1, Fine::pages)
    }

    /// Whether what is sensed is a page to be decoded; the sentinel's cells hold a known pattern.
    pub fn decodes(self) -> bool {
        self != ReadReference::Sentinel
    }

    /// Whether a single boundary of the page is sensed.
    pub fn senses_one_boundary(self) -> bool {
        self == ReadReference::Sentinel
    }
}

/// When the references are known that follow failed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// As soon as the page is sensed: the next step can be sensed while this one is transferred and decoded.
    Sensed,
    /// When what was sensed is in the controller.
    Transferred,
    /// When its decoding has failed.
    Decoded,
}

/// The syndrome weight of what a step has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// The step.
    pub step: u8,
    /// Syndromes that are not 0, of all the page's codewords.
    pub weight: u32,
}

/// A read whose last sense could not be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed<'a> {
    /// The step at which the read began.
    pub start: u8,
    /// The references that have just failed.
    pub v_ref: ReadReference,
    /// The last step of the table.
    pub last: u8,
    /// The page's boundaries include the sentinel's.
    pub sentinel: bool,
    /// The steps that the read has sensed so far, in their order, and how much the syndrome of each weighs; empty where
    /// no policy asks for it.
    pub weighed: &'a [Weighed],
    /// The steps of a table made for the chip, in their order; empty where there is none.
    pub table: &'a [u8],
}
