//! The full blocks of a plane, as they are shown to what picks one of them from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemes::{Candidates, Victim};
use units::{ConfigError, Stream};

/// What a stand-in answers, or its mistake.
pub type Answer<T> = Result<T, ConfigError>;

/// What is known of a block beside what built-in choices ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFacts {
    /// How often it has been erased in the run.
    pub erases: u32,
    /// The stream of host data that it holds; none of relocated data and of what was there before the run.
    pub stream: Option<u8>,
}

/// The full blocks of a plane, as policies from outside see them.
pub trait Shown: Candidates {
    /// How many blocks the plane has; their numbers are below that.
    fn blocks(&self) -> u32;
    /// What else is known of a full block.
    fn facts(&self, block: u32) -> BlockFacts;
}

/// The full blocks of a plane, as they are when a stand-in is asked for a victim.
pub struct Blocks {
    /// They, as every policy of the axis sees them: the drive's own, unless the stand-in keeps them beyond its answer.
    pub candidates: Arc<dyn Shown + Send + Sync>,
    /// Whether they can be asked for by their valid pages; otherwise for the one that was filled first.
    pub by_valid: bool,
    /// Random bits.
    pub draw: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// Lends the full blocks of a plane to what picks one. `draws` and `drawn` give random bits.
pub(crate) fn lend<C: Shown + Clone + Default + Send + Sync + 'static, T>(
    built_in: Victim,
    blocks: &mut C,
    draws: Stream,
    drawn: &mut u64,
    ask: impl FnOnce(Blocks) -> T,
) -> T {
    let counter = Arc::new(AtomicU64::new(*drawn));
    let counts = Arc::clone(&counter);
    let lent = Arc::new(std::mem::take(blocks));
    let answer = ask(Blocks {
        candidates: Arc::clone(&lent) as _,
        by_valid: built_in.asks_for_valid(),
        draw: Box::new(move || draws.bits(counts.fetch_add(1, Ordering::Relaxed) + 1)),
    });
    // Whoever has kept them keeps them as they are now.
    *blocks = Arc::try_unwrap(lent).unwrap_or_else(|kept| C::clone(&kept));
    *drawn = counter.load(Ordering::Relaxed);
    answer
}
