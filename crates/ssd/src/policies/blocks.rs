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

/// The full blocks of a plane, as they are when a stand-in is asked for a victim.
pub struct Blocks {
    /// They, as every policy of the axis sees them.
    pub candidates: Box<dyn Candidates + Send + Sync>,
    /// Whether they can be asked for by their valid pages; otherwise for the one that was filled first.
    pub by_valid: bool,
    /// By the number of a block.
    pub facts: Vec<BlockFacts>,
    /// Random bits.
    pub draw: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// Shows the full blocks of a plane to what picks one. `draws` and `drawn` give random bits.
pub(crate) fn lend<C: Candidates + Clone + Send + Sync + 'static, T>(
    built_in: Victim,
    blocks: &C,
    facts: Vec<BlockFacts>,
    draws: Stream,
    drawn: &mut u64,
    ask: impl FnOnce(Blocks) -> T,
) -> T {
    let counter = Arc::new(AtomicU64::new(*drawn));
    let counts = Arc::clone(&counter);
    let answer = ask(Blocks {
        candidates: Box::new(blocks.clone()),
        by_valid: built_in.asks_for_valid(),
        facts,
        draw: Box::new(move || draws.bits(counts.fetch_add(1, Ordering::Relaxed) + 1)),
    });
    *drawn = counter.load(Ordering::Relaxed);
    answer
}
