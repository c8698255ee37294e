//! What a mapping by blocks with a log (FAST) needs, and what it has nothing to do with.

use super::refusal::{Refusal, refuse};
use super::{Config, MapTable, MappedBy, Placement, Precondition, SlcCache};

impl Config {
    /// Blocks of a plane that the log takes beside its open ones: the random log blocks, and a sequential one that was
    /// left before its end.
    pub(super) fn log_blocks(&self) -> u32 {
        if self.ftl.mapping == MappedBy::Fast { self.ftl.log_blocks.saturating_add(1) } else { 0 }
    }
}

/// Refuses what a mapping by blocks cannot be with.
pub(super) fn check(config: &Config) -> Result<(), Refusal> {
    if config.ftl.mapping != MappedBy::Fast {
        return Ok(());
    }
    match of_ftl(config).into_iter().chain(of_others(config)).find(|reason| reason.is_so) {
        Some(Reason { key, problem, remedy, .. }) => refuse(key, problem, remedy),
        None => Ok(()),
    }
}

/// A key that has a value that cannot be, if that is so: what is wrong with it, and what to write.
struct Reason {
    is_so: bool,
    key: &'static str,
    problem: &'static str,
    remedy: &'static str,
}

const fn reason(is_so: bool, key: &'static str, problem: &'static str, remedy: &'static str) -> Reason {
    Reason { is_so, key, problem, remedy }
}

/// Where data goes.
fn of_ftl(config: &Config) -> [Reason; 6] {
    let Config { ftl, .. } = config;
    [
        reason(
            ftl.log_blocks == 0,
            "ftl.log_blocks",
            "is 0, and what is not written in order goes into random log blocks",
            "write at least 1",
        ),
        reason(
            ftl.placement == Placement::Dynamic,
            "ftl.placement",
            "lets a page go to any plane, and the pages of a block that is mapped as a whole stay in theirs",
            "write \"static\"",
        ),
        reason(
            ftl.streams != 2,
            "ftl.streams",
            "is not 2: the log has streams of its own, and data blocks have",
            "write 2",
        ),
        reason(
            ftl.hints != 0,
            "ftl.hints",
            "puts data of a handle into blocks of its own, and a merge puts all of a logical block into one",
            "write 0",
        ),
        reason(
            ftl.slc_cache != SlcCache::None,
            "ftl.slc_cache",
            "folds page by page what is written first, and here it goes into log blocks that are merged",
            "write \"none\"",
        ),
        reason(
            ftl.raid.wide().is_some(),
            "ftl.raid",
            "puts parity among the pages of blocks that are mapped as a whole",
            "write \"none\"",
        ),
    ]
}

/// The map, the state at the start, collection and policies.
fn of_others(config: &Config) -> [Reason; 7] {
    let Config { mapping, age, gc, policies, .. } = config;
    [
        reason(
            mapping.table != MapTable::Ideal || mapping.checkpoint.is_some(),
            "mapping.table",
            "is of entries for pages, and a table of blocks is small: it is in memory",
            "write \"ideal\", and mapping.checkpoint = \"none\"",
        ),
        reason(
            mapping.spans_pages(),
            "mapping.unit",
            "is larger than a page, and blocks are mapped as a whole",
            "write \"page\", or less than a page",
        ),
        reason(
            age.precondition == Precondition::ClosedForm || age.is_staggered(),
            "age.precondition",
            "is the state that a mapping by pages is left in",
            "write \"none\" (and age.staggered = false), or \"write:1.0\"",
        ),
        reason(
            age.invalid.0 > 0.0,
            "age.invalid",
            "spreads data over more blocks than it fills, and a data block has its pages at their places",
            "write 0",
        ),
        reason(
            gc.copyback,
            "gc.copyback",
            "moves pages as their planes suit, and a merge gathers them in their order",
            "write false",
        ),
        reason(
            policies.ftl.is_some(),
            "ftl.mapping",
            "is \"fast\", and an FTL of one's own is given",
            "leave the policy out, or write \"page\"",
        ),
        reason(
            policies.victim.is_some(),
            "policies.victim",
            "is given, and the oldest log block is merged (ftl.mapping = \"fast\")",
            "leave the policy out",
        ),
    ]
}
