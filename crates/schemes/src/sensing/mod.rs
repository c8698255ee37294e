//! How long a sense precharges.
//!
//! Contract: a policy sees whether the sense is a retry's and whether a retry with reduced timing has failed already,
//! and of a first sense how many more of similar pages take the default timing, since one of them failed by the reduced
//! one; a tree sees what `learned` lists, the oracle what becomes of the sense, and `adaptive-weighed` what the weight
//! of the syndrome of a failed one stands for; nothing else. The read-timing parameter table (RPT), which is profiled,
//! gives the reduction of tPRE.

mod adaptive;
mod adaptive_first;
mod adaptive_oracle;
mod adaptive_weighed;

pub use adaptive_first::RESTS;
pub use adaptive_oracle::Hindsight;

units::choices! {
    /// The timing of senses.
    pub enum Sensing {
        /// The chip's default tPRE.
        Default = "default",
        /// In retries tPRE by the RPT, changed with SET FEATURE before and after (AR2, asplos21 section 6.2).
        Adaptive = "adaptive",
        /// In first senses too, unless one of a similar page has failed by it lately; a first sense that fails so is
        /// repeated with the default one before anything else is tried (asplos21 section 8).
        AdaptiveFirst = "adaptive-first",
        /// As adaptive-first, where a decision tree says so (read.trees).
        AdaptiveLearned = "adaptive-learned",
        /// As adaptive-first, with hindsight: where it is the faster timing of that very sense. No controller can; it
        /// is the limit of what can be learned.
        AdaptiveOracle = "adaptive-oracle",
        /// In every first sense; the weight of the syndrome says whether one that fails is repeated with the default
        /// timing, or followed by other references (hpca24's predictor, which chooses more than whether there is a
        /// retry).
        AdaptiveWeighed = "adaptive-weighed",
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
        matches!(
            self,
            Sensing::AdaptiveFirst | Sensing::AdaptiveLearned | Sensing::AdaptiveOracle | Sensing::AdaptiveWeighed
        )
    }

    /// Whether a first sense takes it, where the timing is to rest for this many more.
    pub fn reduces_first(self, rests: u8) -> bool {
        match self {
            Sensing::AdaptiveFirst => adaptive_first::reduces_first(rests),
            Sensing::AdaptiveWeighed => true,
            _ => false,
        }
    }

    /// Whether it keeps for how many more first senses of similar pages the timing rests.
    pub fn rests(self) -> bool {
        self == Sensing::AdaptiveFirst
    }

    /// Whether the weight of a first sense's syndrome says how its page is sensed again.
    pub fn weighs(self) -> bool {
        self == Sensing::AdaptiveWeighed
    }

    /// Whether a first sense that is predicted to fail is repeated with the default timing: its weight stands for
    /// `over` errors per KiB above what the code corrects, and the cut adds `added`.
    pub fn repeats(self, over: f64, added: f64) -> bool {
        self.weighs() && adaptive_weighed::repeats(over, added)
    }

    /// Whether a first sense takes it, of which that is known.
    pub fn reduces_by(self, hindsight: Hindsight) -> bool {
        self == Sensing::AdaptiveOracle && adaptive_oracle::reduces_first(hindsight)
    }
}
