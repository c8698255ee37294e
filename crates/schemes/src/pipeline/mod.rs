//! Whether a retry step is sensed while the one before is still transferred and decoded.
//!
//! Contract: a policy sees whether the sense that has just ended was a retry's, and whether similar pages make it
//! likely that it has failed, or what a tree (`learned`) or hindsight says of that; nothing else. Registers decide when
//! the next sense can really begin.

mod cache_read;
mod cache_read_likely;
mod page_read;

use crate::next::Known;

units::choices! {
    /// Whether retry steps overlap.
    pub enum Pipeline {
        /// A step begins when the one before could not be corrected (asplos21 Fig. 12a).
        Off = "off",
        /// A step begins as soon as the one before is sensed, with CACHE READ; success resets what was begun in vain
        /// (PR2, asplos21 section 6.1).
        CacheRead = "cache-read",
        /// As cache-read, and from the first sense on where the last read of a similar page needed other references
        /// than this one begins with (asplos21 section 8).
        CacheReadLikely = "cache-read-likely",
        /// As cache-read, and from the first sense on where a decision tree says so (read.trees).
        CacheReadLearned = "cache-read-learned",
        /// As cache-read, and from the first sense on where that fails: with hindsight, which no controller has. It is
        /// the limit of what can be learned.
        CacheReadOracle = "cache-read-oracle",
        /// As cache-read, from the first sense of every page on: the others are compared with it.
        CacheReadFirst = "cache-read-first",
        /// A step begins as soon as the page of the one before is in the controller, while it is decoded (asplos21
        /// footnote 10).
        PageRead = "page-read",
    }
}

impl Pipeline {
    /// Whether the next step is sensed before it is known to be needed.
    pub fn speculates(self, retry: bool, likely: bool) -> bool {
        match self {
            Pipeline::Off => false,
            Pipeline::CacheRead => cache_read::speculates(retry),
            Pipeline::CacheReadLikely | Pipeline::CacheReadLearned | Pipeline::CacheReadOracle => {
                cache_read_likely::speculates(retry, likely)
            }
            Pipeline::CacheReadFirst => true,
            Pipeline::PageRead => page_read::speculates(retry),
        }
    }

    /// From when on the next step can be sensed.
    pub fn from(self) -> Known {
        if self == Pipeline::PageRead { page_read::FROM } else { Known::Sensed }
    }

    /// Whether a page that the next step is sensed after leaves its plane from the cache register.
    pub fn caches(self, retry: bool, likely: bool) -> bool {
        self != Pipeline::PageRead && self.speculates(retry, likely)
    }

    /// Whether any steps overlap.
    pub fn overlaps(self) -> bool {
        !matches!(self, Pipeline::Off)
    }

    /// Whether it asks what similar pages needed.
    pub fn asks_similar(self) -> bool {
        self == Pipeline::CacheReadLikely
    }

    /// Whether anything says of a first sense that it is likely to fail.
    pub fn foresees(self) -> bool {
        matches!(self, Pipeline::CacheReadLikely | Pipeline::CacheReadLearned | Pipeline::CacheReadOracle)
    }
}
