//! What a drive has promised, kept beside it: where the newest data of each page must be, which operations are open.
//!
//! It is written from what probes are told, in words of its own, and knows nothing of the drive's tables:
//! `device/check.rs` and `back_end/check.rs` compare the two.

use std::collections::HashMap;
use std::fmt;

use nand::{DieId, Layout, PlaneId};
use units::{Id as _, Lpn, Ppn, Time};

use crate::arena::SlotId;
use crate::config::Plan;
use crate::violation::{Invariant, Violation};

/// Where the newest data of a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newest {
    Nowhere,
    Flash,
    Slot(SlotId),
}

/// A logical page that was written, relocated or trimmed since the ledger was begun. Slots are numbered in the order in
/// which they are filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub newest: Newest,
    /// Where its newest programmed data is, and the number of the slot that it came from.
    pub on_flash: Option<Ppn>,
    pub programmed: u64,
    /// What slots up to this number hold was trimmed.
    pub trimmed: u64,
    /// How often it was written or trimmed, and how often it had been when it came into the read cache.
    version: u64,
    cached: Option<u64>,
    /// Whether `on_flash` is known. Before, it is where it was when the ledger was begun.
    pub known: bool,
}

impl Page {
    /// As it was when the ledger was begun.
    pub const OLD: Page = Page {
        newest: Newest::Flash,
        on_flash: None,
        programmed: 0,
        trimmed: 0,
        version: 0,
        cached: None,
        known: false,
    };
}

/// What an event has touched.
#[derive(Default)]
pub(crate) struct Touched {
    pub pages: Vec<Lpn>,
    pub places: Vec<Ppn>,
    pub dies: Vec<DieId>,
}

impl Touched {
    pub fn clear(&mut self) {
        self.pages.clear();
        self.places.clear();
        self.dies.clear();
    }
}

/// A request that the drive works on.
#[derive(Default)]
struct Open {
    started: bool,
    /// Which versions of pages it was given.
    given: Vec<(Lpn, u64)>,
}

/// See the [module documentation](self). Memory: some 150 bytes for each page that is written or relocated.
pub struct Ledger {
    pub(crate) layout: Layout,
    pub(crate) violation: Option<Violation>,
    pub(crate) touched: Touched,
    /// How many dies, buses, planes and slots there are: when as many events have passed they are checked again.
    pub(crate) components: u64,
    /// After which event these are checked next; and the map and the blocks.
    pub(crate) parts_due: u64,
    pub(crate) tables_due: u64,
    now: Time,
    pages: HashMap<Lpn, Page>,
    /// What each page of the flash was programmed with since the last erase of its block, by block and page.
    programmed: HashMap<u64, HashMap<u32, Lpn>>,
    /// Of blocks, pages that hold the newest programmed data of a page.
    valid: HashMap<u64, u32>,
    slots: HashMap<SlotId, (Lpn, u64)>,
    filled: u64,
    requests: HashMap<u64, Open>,
    parts: HashMap<u64, u64>,
}

impl Ledger {
    pub(crate) fn new(plan: &Plan) -> Ledger {
        let layout = plan.layout;
        let components = u64::from(layout.dies + layout.channels + layout.planes + plan.slots);
        let blocks = u64::from(layout.planes) * u64::from(layout.blocks);
        Ledger {
            layout,
            components,
            parts_due: components,
            tables_due: blocks,
            violation: None,
            touched: Touched::default(),
            now: Time::ZERO,
            pages: HashMap::new(),
            programmed: HashMap::new(),
            valid: HashMap::new(),
            slots: HashMap::new(),
            filled: 0,
            requests: HashMap::new(),
            parts: HashMap::new(),
        }
    }

    /// The power has been cut: what was under way has ended before its time, and what the drive holds now, it says
    /// again.
    pub(crate) fn forget(&mut self) {
        self.violation = None;
        self.touched.clear();
        self.pages.clear();
        self.programmed.clear();
        self.valid.clear();
        self.slots.clear();
        self.requests.clear();
        self.parts.clear();
    }

    /// Keeps the first violation.
    #[cold]
    pub(crate) fn violated(
        &mut self,
        invariant: Invariant,
        place: impl fmt::Display,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        self.violation.get_or_insert_with(|| Violation::new(invariant, place, found, expected));
    }

    /// Something happens now.
    #[inline]
    pub(crate) fn at(&mut self, now: Time) {
        if now < self.now {
            let (before, then) = (self.now.0, now.0);
            self.violated(Invariant::Time, "the clock", format!("{then} ns"), format!("{before} ns or later"));
        }
        self.now = now;
    }

    /// What is known of a page; none where it is as it was when the ledger was begun.
    pub(crate) fn page(&self, lpn: Lpn) -> Option<&Page> {
        self.pages.get(&lpn)
    }

    /// Pages of a block that hold the newest programmed data of a page, of those programmed since the ledger was begun.
    pub(crate) fn valid_in(&self, ppn: Ppn) -> u32 {
        self.valid.get(&self.block_of(ppn)).copied().unwrap_or(0)
    }

    fn block_of(&self, ppn: Ppn) -> u64 {
        let at = self.layout.unpack(ppn);
        self.layout.block_index(at.plane, at.block) as u64
    }

    /// How a place reads in a message.
    pub(crate) fn place(&self, ppn: Ppn) -> String {
        let (at, (die, _)) = (self.layout.unpack(ppn), self.layout.place_of(ppn));
        format!("page {} of block {}, plane {} (die {})", at.page, at.block, at.plane.0, die.0)
    }

    /// How a place reads in a message, or that the page is not on flash.
    pub(crate) fn place_or_none(&self, ppn: Option<Ppn>) -> String {
        ppn.map_or_else(|| "nowhere on flash".into(), |ppn| self.place(ppn))
    }

    /// A page of which the map says something else than at the start of a drive: where its newest data and its newest
    /// copy on flash are.
    pub(crate) fn begin_with(&mut self, lpn: Lpn, newest: Newest, on_flash: Option<Ppn>) {
        if let Some(ppn) = on_flash {
            *self.valid.entry(self.block_of(ppn)).or_default() += 1;
        }
        self.pages.insert(lpn, Page { newest, on_flash, known: true, ..Page::OLD });
    }

    /// A slot that holds data already. They come in the order in which they were filled; what is outdated is given no
    /// number.
    pub(crate) fn begin_with_slot(&mut self, slot: SlotId, lpn: Lpn, outdated: bool) {
        self.filled += 1;
        self.slots.insert(slot, (lpn, if outdated { 0 } else { self.filled }));
    }

    /// A page that the read cache holds.
    pub(crate) fn begin_with_cached(&mut self, lpn: Lpn) {
        self.pages.entry(lpn).or_insert(Page::OLD).cached = Some(0);
    }

    /// A request that the drive works on already, and a part of one.
    pub(crate) fn begin_with_request(&mut self, request: u64) {
        self.requests.insert(request, Open::default());
    }

    pub(crate) fn begin_with_part(&mut self, part: u64, request: u64) {
        self.parts.insert(part, request);
    }

    /// The newest data of a page is in a slot. `written`: by the host; else what is there already joins a write.
    pub(crate) fn fill(&mut self, lpn: Lpn, slot: SlotId, written: bool) {
        self.touched.pages.push(lpn);
        let page = self.pages.entry(lpn).or_insert(Page::OLD);
        page.version += u64::from(written);
        if page.newest != Newest::Slot(slot) {
            self.filled += 1;
            page.newest = Newest::Slot(slot);
            self.slots.insert(slot, (lpn, self.filled));
        }
    }

    /// The page of a slot is on flash.
    pub(crate) fn program(&mut self, lpn: Lpn, slot: SlotId, ppn: Ppn) {
        self.programs(lpn, ppn);
        let Some((held, number)) = self.slots.remove(&slot) else {
            let place = format!("slot {} of the buffer", slot.index());
            return self.violated(
                Invariant::Once,
                place,
                "it is programmed",
                "it has ended before, or was never filled",
            );
        };
        if held != lpn {
            let (found, expected) = (format!("programmed as page {}", lpn.0), format!("page {}", held.0));
            return self.violated(Invariant::Data, format!("slot {} of the buffer", slot.index()), found, expected);
        }
        let page = self.pages.entry(lpn).or_insert(Page::OLD);
        if page.newest == Newest::Slot(slot) {
            page.newest = Newest::Flash;
        }
        if number > page.programmed && number > page.trimmed {
            page.programmed = number;
            self.settle(lpn, Some(ppn));
        }
    }

    /// A page was copied elsewhere by the drive. What was overwritten meanwhile is of no use.
    pub(crate) fn relocate(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        self.programs(lpn, to);
        self.touched.places.push(from);
        if self.pages.get(&lpn).is_none_or(|page| !page.known || page.on_flash == Some(from)) {
            self.pages.entry(lpn).or_insert(Page::OLD);
            self.settle(lpn, Some(to));
        }
    }

    /// The data of a page on flash, which is the newest there, is in a slot as well: a new one, or that of newer data.
    pub(crate) fn rescue(&mut self, lpn: Lpn, slot: SlotId, from: Ppn) {
        let page = self.pages.get(&lpn).copied().unwrap_or(Page::OLD);
        let has_newer = page.newest == Newest::Slot(slot);
        if page.known && page.on_flash != Some(from) || !has_newer && page.newest != Newest::Flash {
            let found = format!("what is in {} is taken into slot {}", self.place(from), slot.index());
            let expected = format!("its newest copy on flash, {}", self.place_or_none(page.on_flash));
            self.violated(Invariant::Data, format!("page {}", lpn.0), found, expected);
        }
        self.fill(lpn, slot, false);
    }

    /// A page of the map was programmed.
    pub(crate) fn map(&mut self, lpn: Lpn, ppn: Ppn) {
        self.programs(lpn, ppn);
        self.pages.entry(lpn).or_insert(Page::OLD).newest = Newest::Flash;
        self.settle(lpn, Some(ppn));
    }

    /// A page of the map is of no use any more.
    pub(crate) fn drop_page(&mut self, lpn: Lpn) {
        self.touched.pages.push(lpn);
        self.pages.entry(lpn).or_insert(Page::OLD).newest = Newest::Nowhere;
        self.settle(lpn, None);
    }

    /// A page was unmapped.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        self.touched.pages.push(lpn);
        let page = self.pages.entry(lpn).or_insert(Page::OLD);
        (page.newest, page.trimmed, page.version) = (Newest::Nowhere, self.filled, page.version + 1);
        self.settle(lpn, None);
    }

    /// A block was erased.
    pub(crate) fn erase(&mut self, plane: PlaneId, block: u32) {
        let index = self.layout.block_index(plane, block) as u64;
        self.programmed.remove(&index);
        let valid = self.valid.remove(&index).unwrap_or(0);
        if valid > 0 {
            let place = format!("block {block}, plane {}", plane.0);
            self.violated(Invariant::Mapping, place, format!("{valid} pages of valid data are erased"), "none");
        }
    }

    fn programs(&mut self, lpn: Lpn, ppn: Ppn) {
        self.touched.pages.push(lpn);
        self.touched.places.push(ppn);
        let (block, page) = (self.block_of(ppn), self.layout.unpack(ppn).page);
        if let Some(held) = self.programmed.entry(block).or_default().insert(page, lpn) {
            let found = format!("programmed with page {} over page {}", lpn.0, held.0);
            self.violated(Invariant::Mapping, self.place(ppn), found, "an erase between the two");
        }
    }

    /// The newest programmed copy of a page that is known.
    fn settle(&mut self, lpn: Lpn, ppn: Option<Ppn>) {
        let Some(page) = self.pages.get_mut(&lpn) else { return };
        page.known = true;
        let before = std::mem::replace(&mut page.on_flash, ppn);
        if let Some(before) = before {
            self.touched.places.push(before);
            // Blocks that held data before are not counted.
            let block = self.block_of(before);
            if let Some(valid) = self.valid.get_mut(&block) {
                *valid = valid.saturating_sub(1);
            }
        }
        if let Some(ppn) = ppn {
            *self.valid.entry(self.block_of(ppn)).or_default() += 1;
        }
    }

    /// A request is given a page: from a slot, from flash, or from the read cache.
    pub(crate) fn read(&mut self, request: u64, lpn: Lpn, slot: Option<SlotId>, ppn: Option<Ppn>, cached: bool) {
        self.touched.pages.push(lpn);
        let page = self.pages.get(&lpn).copied().unwrap_or(Page::OLD);
        if let Some(open) = self.requests.get_mut(&request) {
            open.given.push((lpn, page.version));
        }
        let at_its_place = !page.known || ppn == page.on_flash;
        let is_newest = match page.newest {
            Newest::Slot(newest) => slot == Some(newest) && (ppn.is_none() || at_its_place),
            Newest::Nowhere => (slot, ppn, cached) == (None, None, false),
            Newest::Flash if cached => page.cached == Some(page.version),
            Newest::Flash => slot.is_none() && at_its_place,
        };
        if !is_newest {
            let from = match (slot, ppn) {
                (Some(slot), _) => format!("slot {}", slot.index()),
                (None, Some(ppn)) => self.place(ppn),
                (None, None) if cached => "the read cache".into(),
                (None, None) => "nowhere".into(),
            };
            let expected = match page.newest {
                Newest::Slot(slot) => format!("slot {}", slot.index()),
                Newest::Flash => self.place_or_none(page.on_flash),
                Newest::Nowhere => "nowhere: it was trimmed".into(),
            };
            let found = format!("read {request} is given what is in {from}");
            self.violated(Invariant::Data, format!("page {}", lpn.0), found, expected);
        }
    }

    /// What a request was given of a page is in the read cache.
    pub(crate) fn cache(&mut self, request: u64, lpn: Lpn) {
        let given = self.requests.get(&request).and_then(|open| open.given.iter().rev().find(|(page, _)| *page == lpn));
        // What a request was given before the ledger was begun is as old as the ledger.
        let version = given.map_or(0, |(_, version)| *version);
        self.pages.entry(lpn).or_insert(Page::OLD).cached = Some(version);
    }

    /// The drive works on a request.
    pub(crate) fn open_request(&mut self, request: u64) {
        let open = self.requests.entry(request).or_default();
        if std::mem::replace(&mut open.started, true) {
            self.violated(Invariant::Once, format!("request {request}"), "it is taken up", "it is under way already");
        }
    }

    pub(crate) fn end_request(&mut self, request: u64) {
        if self.requests.remove(&request).is_none() {
            self.violated(Invariant::Once, format!("request {request}"), "it completes", "it has completed before");
        }
    }

    /// A part of a request is to be read from flash.
    pub(crate) fn open_part(&mut self, part: u64, request: u64) {
        self.parts.insert(part, request);
    }

    pub(crate) fn end_part(&mut self, part: u64, request: u64) {
        if self.parts.remove(&part) != Some(request) {
            let found = format!("operation {part} sends a part of it");
            self.violated(Invariant::Once, format!("request {request}"), found, "that part has been sent before");
        }
    }
}
