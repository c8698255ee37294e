//! Whether a retry step is sensed while the one before is still transferred and decoded.
//!
//! Contract: a policy sees whether the sense that has just ended was a retry's, and nothing else. Registers decide when the
//! next sense can really begin.

mod cache_read;

units::choices! {
    /// Whether retry steps overlap.
    pub enum Pipeline {
        /// A step begins when the one before could not be corrected (asplos21 Fig. 12a).
        Off = "off",
        /// A step begins as soon as the one before is sensed, with CACHE READ; success resets what was begun in vain
        /// (PR2, asplos21 section 6.1).
        CacheRead = "cache-read",
    }
}

impl Pipeline {
    /// Whether the next step is sensed before it is known to be needed.
    pub fn speculates(self, retry: bool) -> bool {
        match self {
            Pipeline::Off => false,
            Pipeline::CacheRead => cache_read::speculates(retry),
        }
    }
}
