//! The merge of a logical block that is under way: how far it has come.

use std::collections::BTreeMap;

use units::Ppn;

use crate::persist::stored;

/// What a merge costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeKind {
    /// The rest of a logical block is copied behind what was written in order.
    Partial,
    /// All of it is copied.
    Full,
}

/// Pages that a read brings, from one place of the logical block on.
pub(crate) struct Part {
    pub source: Ppn,
    pub first: u32,
    pub pages: u32,
}

/// A merge that is under way.
#[derive(Default)]
pub(crate) struct Merging {
    /// The logical block, once it is known, and the place behind its last page that has data.
    pub block: Option<u64>,
    pub end: Option<u32>,
    /// It goes on with a block that was left half written.
    pub partial: bool,
    /// The next place that is looked at, and the next one whose turn it is.
    pub next: u32,
    pub turn: u32,
    pub reads: Vec<Part>,
    /// Pages that wait for their turn, by their places: where the data came from, or none for padding.
    pub come: BTreeMap<u32, Option<Ppn>>,
}

stored! {
    Part { source, first, pages }
    Merging { block, end, partial, next, turn, reads, come }
}
