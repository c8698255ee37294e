//! How long a sense precharges.
//!
//! Contract: a policy sees whether the sense is a retry's and whether a retry with reduced timing has failed already, and of a
//! first sense how many more of similar pages take the default timing, since one of them failed by the reduced one; a tree sees what
//! `learned` lists, and the oracle what becomes of the sense; nothing else.
//! The read-timing parameter table (RPT), which is profiled, gives the reduction of tPRE.

mod adaptive;
mod adaptive_first;
mod adaptive_oracle;

pub use adaptive_first::RESTS;
pub use adaptive_oracle::Hindsight;

units::choices! {
    /// The timing of senses.
    pub enum Sensing {
        /// The chip's default tPRE.
        Default = "default",
        /// In retries tPRE by the RPT, changed with SET FEATURE before and after (AR2, asplos21 section 6.2).
        Adaptive = "adaptive",
        /// In first senses too, unless one of a similar page has failed by it lately; a first sense that fails so is repeated with the default one
        /// before anything else is tried (asplos21 section 8).
        AdaptiveFirst = "adaptive-first",
        /// As adaptive-first, where a decision tree says so (read.trees).
        AdaptiveLearned = "adaptive-learned",
        /// As adaptive-first, with hindsight: where it is the faster timing of that very sense. No controller can; it is the limit of what can be learned.
        AdaptiveOracle = "adaptive-oracle",
    }
}

impl Sensing {
    /// Whether a sense takes the RPT's tPRE.
    pub fn reduces(self, retry: bool, failed: bool) -> bool {
        match self {
            Sensing::Default => false,
            _ => adaptive::reduces(retry, failed),
        }
    }

    /// Whether first senses can take the RPT's tPRE.
    pub fn hastens(self) -> bool {
        matches!(self, Sensing::AdaptiveFirst | Sensing::AdaptiveLearned | Sensing::AdaptiveOracle)
    }

    /// Whether a first sense takes it, where the timing is to rest for this many more.
    pub fn reduces_first(self, rests: u8) -> bool {
        self == Sensing::AdaptiveFirst && adaptive_first::reduces_first(rests)
    }

    /// Whether a first sense takes it, of which that is known.
    pub fn reduces_by(self, hindsight: Hindsight) -> bool {
        self == Sensing::AdaptiveOracle && adaptive_oracle::reduces_first(hindsight)
    }
}
