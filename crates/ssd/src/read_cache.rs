//! Data that was read from flash and stays in the DRAM: room for pages, of which the least recently read leaves first.

use lru::LruCache;
use units::Lpn;

use crate::config::Plan;
use crate::persist::state;

/// The read cache. What it holds is what the map's flash page holds: written and trimmed pages leave it.
pub(crate) struct ReadCache {
    /// Sectors that are here, by page.
    pages: LruCache<Lpn, u64>,
    room: usize,
}

impl ReadCache {
    /// The read cache of a configuration, if it has one.
    pub fn new(plan: &Plan) -> Option<ReadCache> {
        let room = plan.config.buffer.read_cache.0 / plan.layout.page_size.0;
        (room > 0).then(|| ReadCache { pages: LruCache::unbounded(), room: room as usize })
    }

    /// Whether all of these sectors of a page are here; looking at a page makes it the most recently read one.
    pub fn holds(&mut self, lpn: Lpn, sectors: u64) -> bool {
        self.pages.get(&lpn).is_some_and(|here| sectors & !here == 0)
    }

    /// Keeps sectors of a page.
    pub fn keep(&mut self, lpn: Lpn, sectors: u64) {
        *self.pages.get_or_insert_mut(lpn, || 0) |= sectors;
        if self.pages.len() > self.room {
            self.pages.pop_lru();
        }
    }

    /// The pages of which it holds anything.
    pub fn pages(&self) -> impl Iterator<Item = Lpn> {
        self.pages.iter().map(|(lpn, _)| *lpn)
    }

    /// A page is written or trimmed.
    pub fn invalidate(&mut self, lpn: Lpn) {
        self.pages.pop(&lpn);
    }
}

state! {
    ReadCache { stored { pages } rebuilt { room } }
}
