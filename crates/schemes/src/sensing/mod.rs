//! How long a sense precharges.
//!
//! Contract: a policy sees whether the sense is a retry's and whether a retry with reduced timing has failed already, and of a
//! first sense how many more of similar pages take the default timing, since one of them failed by the reduced one; nothing else.
//! The read-timing parameter table (RPT), which is profiled, gives the reduction of tPRE.

mod adaptive;
mod adaptive_first;

pub use adaptive_first::RESTS;

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
    }
}

impl Sensing {
    /// Whether a sense takes the RPT's tPRE.
    pub fn reduces(self, retry: bool, failed: bool) -> bool {
        match self {
            Sensing::Default => false,
            Sensing::Adaptive | Sensing::AdaptiveFirst => adaptive::reduces(retry, failed),
        }
    }

    /// Whether first senses can take the RPT's tPRE.
    pub fn hastens(self) -> bool {
        self == Sensing::AdaptiveFirst
    }

    /// Whether a first sense takes it, where the timing is to rest for so many more.
    pub fn reduces_first(self, rests: u8) -> bool {
        self.hastens() && adaptive_first::reduces_first(rests)
    }
}
