//! Recovery after a power cut: the newest version of every logical page from what is on flash, and from what capacitors
//! have kept.
//!
//! 1. The list of the last checkpoint is read, and the journal's pages from the one on that it names, as far as none is
//!    missing; the last one says up to which program all changes of the map are in it.
//! 2. The first page of every block says when the block was opened. In the blocks that may have been written later,
//!    every page is read: in each stream of a plane, and for each placement handle that it keeps apart, the youngest
//!    that was opened before, and all that were opened since.
//! 3. The translation pages are read: all of them where the map is in memory, otherwise those that have entries among
//!    these.
//!
//! Where there is parity, step 2 reads every page that has been programmed: pages of parity may be anywhere, and each
//! names those of its stripe.
//!
//! Of all versions of a page that are found the one with the largest sequence number counts. An entry that names a
//! block which has been erased since is no version: what it named has moved, or is out of date. Nor is one in a part of
//! the flash that has broken. If a page is known to have had a newer version than any that is left, it is lost, and
//! reading it is an error.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use nand::{Address, PlaneId};
use units::{Lpn, Ppn};

use super::media::{Block, BlockState, Change, Content, Entries, JournalPage, Mapped, Member, OnFlash, Page};
use crate::config::{MapTable, Plan};
use crate::ftl::Ftl;
use crate::ftl::stripes::FoundStripe;
use crate::persist::stored;
use crate::streams::Series;

/// What recovery reads pages for.
pub(crate) const STEPS: usize = 4;

/// This many flash pages from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub first: Ppn,
    pub flash_pages: u32,
}

/// What capacitors have kept of the journal: pages by number that are on their way to flash, and changes that no page
/// has yet.
#[derive(Default)]
pub(crate) struct KeptJournal {
    pub pages: BTreeMap<u64, Vec<Change>>,
    pub tail: Vec<Change>,
}

/// What recovery has found out.
pub(crate) struct Recovered {
    /// Pages that are not as at the start.
    pub found: BTreeMap<Lpn, Mapped>,
    /// Pages whose newest version cannot be read.
    pub lost: Vec<Lpn>,
    /// Of these pages neither the journal's nor the checkpoint's page knows: they are to go there.
    pub news: Vec<Change>,
    /// Translation pages that are out of date.
    pub changed: Vec<u32>,
    /// The pages of the journal that count, with what each holds.
    pub journal: Vec<(u64, Ppn)>,
    /// Up to this program the journal has what programs have changed.
    pub horizon: u64,
    /// Stripes whose parity is on flash, with all pages that it was worked out of; the newest first.
    pub stripes: Vec<FoundStripe>,
    /// What was read, step by step: headers of blocks, journal, young blocks, translation pages.
    pub reads: [Vec<Run>; STEPS],
}

/// What recovery is given of the flash.
pub(crate) struct Remains<'a> {
    pub flash: &'a OnFlash,
    /// Whether a page is in a part that has broken.
    pub is_broken: &'a dyn Fn(Ppn) -> bool,
    /// Whether pages may have been lost whose programs had ended.
    pub lossy: bool,
}

/// Recovery in progress.
struct Recovery<'a> {
    flash: &'a OnFlash,
    broken: &'a dyn Fn(Ppn) -> bool,
    lossy: bool,
    initial: &'a Ftl,
    plan: &'a Plan,
    found: BTreeMap<Lpn, Mapped>,
    /// The largest sequence number that is known of a page, whether that version is still there or not.
    known: BTreeMap<Lpn, u64>,
    /// The largest of a version that has been erased.
    erased: BTreeMap<Lpn, u64>,
    news: Vec<Change>,
    changed: BTreeSet<u32>,
    horizon: u64,
    /// There is no map, or only a part of one.
    without_map: bool,
    reads: [Vec<Run>; STEPS],
}

/// Recovers a drive. `kept` is what capacitors have kept of the journal, `initial` tells what was there at the start.
pub(crate) fn recover(
    Remains { flash, is_broken: broken, lossy }: Remains,
    kept: &KeptJournal,
    initial: &Ftl,
    plan: &Plan,
) -> Recovered {
    let mut recovery = Recovery {
        flash,
        broken,
        lossy,
        initial,
        plan,
        found: BTreeMap::new(),
        known: BTreeMap::new(),
        erased: BTreeMap::new(),
        news: Vec::new(),
        changed: BTreeSet::new(),
        horizon: 0,
        without_map: plan.config.mapping.checkpoint.is_none(),
        reads: std::array::from_fn(|_| Vec::new()),
    };
    recovery.read_headers();
    let journal = recovery.read_journal(&kept.pages);
    recovery.read_young_blocks();
    recovery.learn(&kept.tail, u64::MAX);
    if !recovery.read_map() {
        // Without a part of the map every page has to be asked what it holds.
        (recovery.horizon, recovery.without_map) = (0, true);
        recovery.reads[2].clear();
        recovery.read_young_blocks();
    }
    recovery.finish(journal)
}

impl<'a> Recovery<'a> {
    fn planes(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..self.plan.layout.planes).map(PlaneId)
    }

    fn at(&self, plane: PlaneId, block: u32, page: u32) -> Ppn {
        self.plan.layout.pack(Address { plane, block, page })
    }

    /// What a page holds, if that can be read.
    fn page(&self, ppn: Ppn) -> Option<&'a Page> {
        self.flash.page(ppn).filter(|_| !(self.broken)(ppn))
    }

    /// Whether any plane that a block is made of has its part of it.
    fn is_readable(&self, plane: PlaneId, block: u32) -> bool {
        let layout = &self.plan.layout;
        (0..layout.stripe * layout.shared()).any(|page| !(self.broken)(self.at(plane, block, page)))
    }

    /// The blocks of a plane that have been written in the run, as far as they can be read.
    fn written(&self, plane: PlaneId) -> impl Iterator<Item = (u32, &Block)> {
        (0..self.plan.layout.blocks).filter_map(move |number| match self.flash.block(plane, number) {
            BlockState::Written(block) if self.is_readable(plane, number) => Some((number, block)),
            _ => None,
        })
    }

    /// Reads the first page of every block.
    fn read_headers(&mut self) {
        for plane in self.planes() {
            for block in 0..self.plan.layout.blocks {
                self.reads[0].push(Run { first: self.at(plane, block, 0), flash_pages: 1 });
            }
        }
    }

    /// Reads the journal as far as no page of it is missing; returns those pages on flash up to the first that is not
    /// there.
    fn read_journal(&mut self, kept: &BTreeMap<u64, Vec<Change>>) -> Vec<(u64, Ppn)> {
        let places: BTreeMap<u64, Ppn> = self.flash.anchor.journal.iter().copied().collect();
        let (mut pages, mut broken) = (Vec::new(), false);
        for place in &self.flash.anchor.list {
            self.reads[1].extend(place.map(|first| Run { first, flash_pages: 1 }));
            let page = place.and_then(|place| self.page(place));
            if let Some(Page { content: Content::Journal(page), .. }) = page {
                self.horizon = page.horizon;
                let Entries { begun, changes } = &page.entries;
                changes.iter().for_each(|change| self.consider(*change, *begun));
            } else {
                self.without_map = true;
            }
        }
        for index in self.flash.anchor.first.. {
            let place = places.get(&index).copied();
            let page = place.and_then(|place| self.page(place)).map(|page| &page.content);
            match (page, kept.get(&index)) {
                (Some(Content::Journal(JournalPage { index: held, horizon, entries })), _) if *held == index => {
                    let Entries { begun, changes } = entries;
                    self.reads[1].extend(place.map(|first| Run { first, flash_pages: 1 }));
                    if broken {
                        self.learn(changes, *begun);
                        continue;
                    }
                    pages.extend(place.map(|place| (index, place)));
                    self.horizon = self.horizon.max(*horizon);
                    for change in changes {
                        self.touches(change.lpn);
                        self.consider(*change, *begun);
                    }
                }
                (_, Some(changes)) => {
                    broken = true;
                    self.learn(changes, u64::MAX);
                }
                _ => break,
            }
        }
        pages
    }

    /// Takes changes that the journal is to be told of again.
    fn learn(&mut self, changes: &[Change], by: u64) {
        for change in changes {
            self.news.push(*change);
            self.touches(change.lpn);
            self.consider(*change, by);
        }
    }

    /// Reads every page of the blocks that may have been written since the horizon.
    fn read_young_blocks(&mut self) {
        for plane in self.planes() {
            let mut blocks: Vec<(u64, Series, u32)> =
                self.written(plane).map(|(number, block)| (block.opened, block.of, number)).collect();
            blocks.sort_unstable();
            let youngest_before = |series: Series| {
                let mut before = blocks.iter().filter(|(opened, of, _)| *of == series && *opened <= self.horizon);
                before.next_back().map_or(0, |(opened, ..)| *opened)
            };
            let young: Vec<u32> = blocks
                .iter()
                .filter(|(opened, of, _)| self.horizon == 0 || *opened >= youngest_before(*of))
                .map(|(.., number)| *number)
                .collect();
            if self.has_parity() {
                let old = blocks.iter().map(|(.., number)| *number).filter(|number| !young.contains(number));
                old.for_each(|number| self.reads_pages(plane, number));
            }
            young.into_iter().for_each(|block| self.read_block(plane, block));
        }
        if self.without_map || self.has_parity() {
            self.read_initial_blocks();
        }
    }

    /// Reads a block page by page, up to the first that has not been programmed.
    fn read_block(&mut self, plane: PlaneId, number: u32) {
        let BlockState::Written(block) = self.flash.block(plane, number) else { return };
        self.reads_pages(plane, number);
        for (place, page) in (0..).zip(&block.pages) {
            let Some(page) = page.as_ref().filter(|_| !(self.broken)(self.at(plane, number, place))) else {
                continue;
            };
            if page.lpn.0 >= self.plan.logical_pages + u64::from(self.plan.space.map_pages) {
                // Where the pages of the journal are that matter, is known.
                continue;
            }
            let change = Change {
                lpn: page.lpn,
                to: Mapped { place: Some(self.at(plane, number, place)), version: page.version },
            };
            self.learn(&[change], u64::MAX);
        }
    }

    /// The pages of a block that are read, up to the first that has not been programmed.
    fn reads_pages(&mut self, plane: PlaneId, number: u32) {
        let BlockState::Written(block) = self.flash.block(plane, number) else { return };
        let layout = &self.plan.layout;
        let of_block = self.flash.pages_of(block.of.stream);
        let pages = (block.programmed + 1).next_multiple_of(layout.shared()).min(of_block) / layout.shared();
        self.reads[2].push(Run { first: self.at(plane, number, 0), flash_pages: pages });
    }

    fn places_of(&self, plane: PlaneId, number: u32, block: &Block) -> impl Iterator<Item = Ppn> + use<> {
        let first = self.at(plane, number, 0).0;
        (first..first + block.pages.len() as u64).map(Ppn)
    }

    fn has_parity(&self) -> bool {
        self.plan.config.ftl.raid.wide().is_some()
    }

    /// The stripes as their parity names them. One that names a page which has been erased since, or which an
    /// interrupted program has destroyed, has ended; of two that have a page in common the older one was about to.
    fn find_stripes(&self) -> Vec<FoundStripe> {
        let mut newest: BTreeMap<Lpn, (Ppn, &Page)> = BTreeMap::new();
        for plane in self.planes().filter(|_| self.has_parity()) {
            for place in self.written(plane).flat_map(|(number, block)| self.places_of(plane, number, block)) {
                if let Some(page) = self.page(place)
                    && matches!(page.content, Content::Parity(_))
                    && newest.get(&page.lpn).is_none_or(|(_, known)| known.age() < page.age())
                {
                    newest.insert(page.lpn, (place, page));
                }
            }
        }
        let is_there = |member: &Member| self.flash.member(member.place) == Some(*member);
        let whole = |(place, page): (Ppn, &Page)| match &page.content {
            Content::Parity(members) if !members.is_empty() && members.iter().all(is_there) => {
                let pages = members.iter().map(|member| member.place).collect();
                Some(FoundStripe { parity: page.lpn, place, version: page.version, pages })
            }
            _ => None,
        };
        let mut stripes: Vec<FoundStripe> = newest.into_values().filter_map(whole).collect();
        stripes.sort_by_key(|stripe| Reverse((stripe.version, stripe.parity)));
        stripes
    }

    /// Without a map, the blocks that hold what they held at the start are read as well; so they are where there is
    /// parity.
    fn read_initial_blocks(&mut self) {
        for plane in self.planes() {
            for block in 0..self.plan.layout.blocks {
                let first = self.at(plane, block, 0);
                if self.flash.is_initial(first) && self.initial.initial_pages(plane, block) > 0 {
                    let flash_pages = self.plan.layout.pages / self.plan.layout.shared();
                    self.reads[2].push(Run { first, flash_pages });
                }
            }
        }
    }

    /// Reads translation pages; whether all could be read.
    fn read_map(&mut self) -> bool {
        let all = self.plan.config.mapping.table != MapTable::Cached;
        let wanted: Vec<u32> = (0..self.plan.space.map_pages).filter(|page| all || self.is_changed(*page)).collect();
        let with_map = self.plan.config.mapping.checkpoint.is_some();
        let mut whole = true;
        let pages = if with_map { self.plan.space.map_pages } else { 0 };
        for page in 0..pages {
            let lpn = Lpn(self.plan.logical_pages + u64::from(page));
            let place = match self.found.get(&lpn) {
                Some(found) => found.place,
                None => self.initial.initial_place(lpn),
            };
            let Some(place) = place else { continue };
            if wanted.binary_search(&page).is_ok() {
                self.reads[3].push(Run { first: place, flash_pages: 1 });
            }
            if self.flash.is_initial(place) {
                continue;
            }
            let Some(Content::Map(Entries { begun, changes })) = self.page(place).map(|page| &page.content) else {
                whole = false;
                continue;
            };
            for change in changes {
                // This version may have been relocated since.
                if self.found.get(&change.lpn).is_none_or(|found| found.version < change.to.version) {
                    self.consider(*change, *begun);
                }
            }
        }
        whole
    }

    fn map_page(&self, lpn: Lpn) -> Option<u32> {
        let entries = u64::from(self.plan.space.map_entries);
        (lpn.0 < self.plan.logical_pages && entries > 0).then(|| (lpn.0 / entries) as u32)
    }

    /// The translation page of a logical page is out of date.
    fn touches(&mut self, lpn: Lpn) {
        self.changed.extend(self.map_page(lpn));
    }

    fn is_changed(&self, page: u32) -> bool {
        self.changed.contains(&page)
    }

    /// Takes a version of a page that was written down before the program behind `by` began, if it is newer than the
    /// one known.
    fn consider(&mut self, Change { lpn, to }: Change, by: u64) {
        let known = self.known.entry(lpn).or_insert(0);
        *known = to.version.max(*known);
        if to.place.is_some_and(|place| !self.still_there(place, by)) {
            if to.place.is_some_and(|place| !(self.broken)(place)) {
                let erased = self.erased.entry(lpn).or_insert(0);
                *erased = to.version.max(*erased);
            }
            return;
        }
        let newer = match self.found.get(&lpn) {
            None => true,
            Some(found) => to.version >= found.version,
        };
        if newer {
            self.found.insert(lpn, to);
        }
    }

    /// Whether the block of a page has not been erased since program `by` began, and can be read.
    fn still_there(&self, place: Ppn, by: u64) -> bool {
        if (self.broken)(place) {
            return false;
        }
        let Address { plane, block, .. } = self.plan.layout.unpack(place);
        match self.flash.block(plane, block) {
            BlockState::Initial => true,
            BlockState::Written(block) => block.opened <= by,
            BlockState::Blank | BlockState::HalfErased => false,
        }
    }

    fn finish(mut self, journal: Vec<(u64, Ppn)>) -> Recovered {
        self.initial_data_that_is_gone();
        self.trimmed_data_that_is_gone();
        let is_lost = |(lpn, known): (&Lpn, &u64)| {
            let Some(found) = self.found.get(lpn) else { return Some(*lpn) };
            let unreadable = found.place.is_some_and(|place| {
                !self.flash.is_initial(place) && self.page(place).is_none_or(|page| page.lpn != *lpn)
            });
            (found.version < *known || unreadable).then_some(*lpn)
        };
        let lost: Vec<Lpn> = self.known.iter().filter_map(is_lost).collect();
        for lpn in &lost {
            let version = self.known[lpn];
            self.found.insert(*lpn, Mapped { place: None, version });
            self.news.push(Change { lpn: *lpn, to: Mapped { place: None, version } });
            self.touches(*lpn);
        }
        // The journal is to know what counts, and nothing that is out of date.
        let mut news: Vec<Lpn> = self.news.iter().map(|change| change.lpn).collect();
        news.sort_unstable();
        news.dedup();
        let news = news.into_iter().map(|lpn| Change { lpn, to: self.found[&lpn] }).collect();
        let map_page = |lpn: &Lpn| lpn.0.checked_sub(self.plan.logical_pages).map(|page| page as u32);
        self.changed.extend(lost.iter().filter_map(map_page));
        let lost = lost.into_iter().filter(|lpn| lpn.0 < self.plan.logical_pages).collect();
        let stripes = self.find_stripes();
        let Recovery { found, changed, horizon, reads, .. } = self;
        Recovered { found, lost, news, changed: changed.into_iter().collect(), journal, horizon, stripes, reads }
    }

    /// The newest version of a page was erased, and none that is newer has been found: it was trimmed, since data is
    /// programmed before what it replaces is erased.
    fn trimmed_data_that_is_gone(&mut self) {
        if self.lossy {
            return;
        }
        for (lpn, version) in std::mem::take(&mut self.erased) {
            if version == self.known[&lpn] && self.found.get(&lpn).is_none_or(|found| found.version < version) {
                self.learn(&[Change { lpn, to: Mapped { place: None, version } }], u64::MAX);
            }
        }
    }

    /// Pages that held data at the start in blocks that were erased since, and of which nothing newer is known, were
    /// trimmed.
    fn initial_data_that_is_gone(&mut self) {
        for plane in self.planes() {
            for block in 0..self.plan.layout.blocks {
                if matches!(self.flash.block(plane, block), BlockState::Initial) {
                    continue;
                }
                for lpn in self.initial.initial_data(plane, block, self.plan.layout.pages) {
                    if !self.known.contains_key(&lpn) {
                        self.found.insert(lpn, Mapped { place: None, version: 0 });
                    }
                }
            }
        }
    }
}

stored! {
    Run { first, flash_pages }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::streams::StreamId;

    /// A translation page names a page of a block that was erased and opened again since; collection moves the
    /// translation page, unread, afterwards.
    #[test]
    fn what_was_trimmed_is_not_lost_because_its_translation_page_has_moved() {
        let mut config = Config::default();
        for word in ["mapping.checkpoint=1MiB", "power.cut_at=[on-demand]", "age.fill=0"] {
            config.set(word).unwrap();
        }
        let plan = config.plan().unwrap();
        let initial = Ftl::new(&plan, 1).unwrap();
        let mut flash = OnFlash::new(&plan);
        let at = |block: u32| plan.layout.pack(Address { plane: PlaneId(0), block, page: 0 });
        let of = |stream| Series { stream, handle: 0 };
        let mut write = |block: u32, stream, page: Page| {
            flash.program(at(block), of(stream), page.number);
            flash.write(at(block), page);
        };
        let (trimmed, other) = (Lpn(3), Lpn(7));
        let change = Change { lpn: trimmed, to: Mapped { place: Some(at(50)), version: 5 } };
        let entries = Entries { begun: 10, changes: vec![change] };
        let (host, map) = (StreamId::new(0), StreamId::MAP);
        let data = Content::Host(Default::default());
        write(50, host, Page { lpn: other, version: 9, number: 20, content: data });
        write(60, map, Page { lpn: plan.map_page(0), version: 8, number: 30, content: Content::Map(entries) });
        let remains = Remains { flash: &flash, is_broken: &|_| false, lossy: false };
        let recovered = recover(remains, &KeptJournal::default(), &initial, &plan);
        assert!(recovered.lost.is_empty(), "{:?}", recovered.lost);
        assert_eq!(recovered.found[&other].place, Some(at(50)));
        assert_eq!(recovered.found[&trimmed].place, None);
    }
}
