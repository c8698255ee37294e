//! The map's pages on flash: lines on their way into the cached table, pages on their way to flash, and what waits for them.

use std::collections::VecDeque;

use units::Lpn;

use crate::arena::{Arena, AwaitedId, CommandId, FetchId, Linked, List, OpId};
use crate::persist::{state, stored, stored_enum};

/// What the device keeps beside the cache.
pub(crate) struct TranslationPages {
    /// Groups being read, with what waits for them.
    pub fetches: Arena<FetchId, Fetch>,
    /// For each translation page the group that a read of it was begun for: further groups of it come with that read.
    pub reading: Vec<Option<FetchId>>,
    /// What waits for a map entry.
    pub waiting: Arena<AwaitedId, Awaited>,
    /// What waits until fewer translation pages are on their way to flash, in order.
    pub stalled: List<AwaitedId>,
    /// For each translation page: whether it is being rewritten, and whether it must be again.
    pub rewriting: Vec<u8>,
    /// Translation pages being rewritten.
    pub rewrites: u32,
    /// Translation pages with entries of moved pages that are kept in memory: in order, and which.
    pub dirty: VecDeque<u32>,
    pub is_touched: Vec<bool>,
    /// Pages that collections have gained and that rewrites of these may take, and those that rewrites have taken.
    pub earned: u32,
    pub spent: u64,
    /// Reads of groups that nothing waits for.
    pub unawaited: u32,
    /// The plane that takes translation pages, until it has a program's worth.
    pub plane: u32,
    pub filled: u32,
    /// Translation pages that each plane holds, and those on their way to it.
    pub held: Vec<u32>,
}

/// A group on its way into the cache.
#[derive(Clone, Copy)]
pub(crate) struct Fetch {
    pub group: u32,
    pub dirty: bool,
    pub owner: Option<u16>,
    pub waiting: List<AwaitedId>,
    /// The next group that comes with the same read; of the first, the last one.
    pub next: Option<FetchId>,
    pub last: Option<FetchId>,
}

/// What goes on when a map entry is at hand.
#[derive(Clone, Copy)]
pub(crate) enum Waiting {
    /// A host's read of some bytes of a page.
    Part { command: CommandId, lpn: Lpn, from: u32, to: u32 },
    /// The program of a slot's page.
    Program(OpId),
}

pub(crate) struct Awaited {
    pub what: Waiting,
    pub next: Option<AwaitedId>,
}

impl Linked<AwaitedId> for Awaited {
    fn next(&mut self) -> &mut Option<AwaitedId> {
        &mut self.next
    }
}

impl TranslationPages {
    /// `held`: the translation pages that each plane holds.
    pub fn new(map_pages: u32, held: Vec<u32>) -> TranslationPages {
        TranslationPages {
            fetches: Arena::new(),
            reading: vec![None; map_pages as usize],
            waiting: Arena::new(),
            stalled: List::EMPTY,
            rewriting: vec![0; map_pages as usize],
            rewrites: 0,
            dirty: VecDeque::new(),
            is_touched: vec![false; map_pages as usize],
            earned: 0,
            spent: 0,
            unawaited: 0,
            plane: 0,
            filled: 0,
            held,
        }
    }

    /// Whether nothing is under way.
    pub fn quiet(&self) -> bool {
        self.fetches.len() == 0 && self.waiting.len() == 0 && self.rewrites == 0 && self.unawaited == 0
    }
}

state! {
    TranslationPages {
        stored {
            fetches, reading, waiting, stalled, rewriting, rewrites, dirty, is_touched, earned, spent, unawaited, plane, filled,
            held,
        }
    }
}

stored! {
    Fetch { group, dirty, owner, waiting, next, last }
    Awaited { what, next }
}

stored_enum! {
    Waiting { 0 = Part { command, lpn, from, to }, 1 = Program(op), }
}
