//! The blocks of flash that its host manages: how far each has been programmed, how often it was erased and read, and
//! how old its data is. What a chip allows follows from it, and so do the conditions of reads.

use std::collections::{BTreeSet, VecDeque};

use foldhash::{HashMap, HashMapExt as _};
use nand::{Address, DieId, FlashPlaneId, Layout, PlaneId};
use units::{Conditions, Lpn, PeCycles, Ppn, Span, Stream};

use super::command::{MediaOp, PageAddress, Rule};
use crate::config::Plan;
use crate::flash::{AgeClock, PageConditions, Placement};
use crate::ftl::ageing::Ageing;
use crate::ftl::disturb::Disturb;
use crate::ftl::suspended::Suspended;
use crate::ftl::wear::WearTable;
use crate::lifetime::Erase;
use crate::persist::{state, stored, stored_enum};
use crate::streams::StreamId;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Data from before the start, in all of its pages.
    Initial,
    /// Pages that were programmed since it was erased.
    Programmed,
    /// Nothing that can be told: its erase has begun and not ended, or has failed.
    Undefined,
    /// The factory found it bad.
    Bad,
}

/// A block.
#[derive(Clone, Copy, Debug)]
struct MediaBlock {
    holds: Holds,
    /// Pages whose program has been taken up; and of these, those whose program has ended.
    begun: u32,
    ended: u32,
    /// Erases since the start; and reads since the last one.
    erases: u32,
    reads: u32,
}

/// All blocks. Memory: 20 bytes a block, and 4 bytes for each page of those that were programmed since the start.
pub(crate) struct MediaBlocks {
    layout: Layout,
    blocks: Vec<MediaBlock>,
    /// By block: when each page was programmed, as [`Ageing`] keeps it.
    stamps: HashMap<usize, Box<[u32]>>,
    /// Pages whose program has failed, by their numbers.
    failed: BTreeSet<u64>,
    /// By plane: pages that wait for their program, by their numbers, in the order of the plane's queue.
    queued: Vec<VecDeque<u64>>,
    ageing: Ageing,
    /// Random draws of the ages of initial data.
    ages: Stream,
    wear: Option<WearTable>,
    disturb: Option<Disturb>,
    suspended: Option<Suspended>,
}

impl MediaBlocks {
    pub fn new(plan: &Plan, seed: u64) -> MediaBlocks {
        let layout = plan.layout;
        let (age, bad) = (&plan.config.age, Stream::new(seed, "factory-bad"));
        let full = (f64::from(layout.blocks) * age.fill.0).round() as u32;
        let is_bad = |index: usize| bad.uniform(index as u64) < plan.config.wear.factory_bad.0;
        let block = |index: usize| {
            let empty = MediaBlock { holds: Holds::Programmed, begun: 0, ended: 0, erases: 0, reads: 0 };
            match index as u32 % layout.blocks < full {
                _ if is_bad(index) => MediaBlock { holds: Holds::Bad, ..empty },
                true => {
                    let (begun, ended, reads) = (layout.pages, layout.pages, age.reads);
                    MediaBlock { holds: Holds::Initial, begun, ended, reads, ..empty }
                }
                false => empty,
            }
        };
        MediaBlocks {
            layout,
            blocks: (0..layout.planes as usize * layout.blocks as usize).map(block).collect(),
            stamps: HashMap::new(),
            failed: BTreeSet::new(),
            queued: vec![VecDeque::new(); layout.planes as usize],
            ageing: Ageing::new(plan),
            ages: Stream::new(seed, "retention"),
            wear: WearTable::new(plan, seed),
            disturb: Disturb::new(plan),
            suspended: Suspended::new(plan),
        }
    }

    fn index(&self, plane: PlaneId, block: u32) -> usize {
        self.layout.flash_block_index(FlashPlaneId(plane.0), block)
    }

    /// The number of an address's block over the device.
    pub fn index_of(&self, at: PageAddress) -> usize {
        self.index(self.layout.plane(DieId(at.die as u16), at.plane as u8), at.block)
    }

    /// The page of an address.
    pub fn ppn(&self, at: PageAddress) -> Ppn {
        let plane = self.layout.plane(DieId(at.die as u16), at.plane as u8);
        self.layout.pack(Address { plane, block: at.block, page: at.page })
    }

    /// The page's number among all of the flash.
    fn number(&self, index: usize, page: u32) -> u64 {
        index as u64 * u64::from(self.layout.pages) + u64::from(page)
    }

    /// The logical page that stands for a page of the flash: here they are the same.
    pub fn lpn(&self, at: PageAddress) -> Lpn {
        Lpn(self.number(self.index_of(at), at.page))
    }

    /// The rule that a command would break that is taken up now, where everything before it that it depends on has
    /// ended.
    pub fn rule_against(&self, op: MediaOp, at: PageAddress) -> Option<Rule> {
        let index = self.index_of(at);
        let MediaBlock { holds, begun, .. } = self.blocks[index];
        match (op, holds) {
            (_, Holds::Bad) => Some(Rule::FactoryBad),
            (MediaOp::Erase, _) => None,
            (MediaOp::Program, Holds::Undefined) => Some(Rule::EraseFirst),
            (MediaOp::Program, _) if at.page < begun || begun == self.layout.pages => Some(Rule::EraseFirst),
            (MediaOp::Program, _) => (at.page != begun).then_some(Rule::InOrder { next: begun }),
            (MediaOp::Read, Holds::Undefined) => Some(Rule::Unwritten),
            (MediaOp::Read, _) => {
                let failed = || self.failed.contains(&self.number(index, at.page));
                (at.page >= begun || failed()).then_some(Rule::Unwritten)
            }
        }
    }

    /// Whether a page's program is under way.
    pub fn is_being_programmed(&self, at: PageAddress) -> bool {
        let MediaBlock { begun, ended, .. } = self.blocks[self.index_of(at)];
        (ended..begun).contains(&at.page)
    }

    /// Whether the factory found a block bad.
    pub fn is_bad(&self, at: PageAddress) -> bool {
        self.blocks[self.index_of(at)].holds == Holds::Bad
    }

    /// The next page of a block to be programmed; none where it is to be erased first, or is bad.
    pub fn next_page(&self, at: PageAddress) -> Option<u32> {
        let MediaBlock { holds, begun, .. } = self.blocks[self.index_of(at)];
        (holds == Holds::Programmed && begun < self.layout.pages).then_some(begun)
    }

    /// A program of this many pages waits in the queue of its plane.
    pub fn queue(&mut self, at: PageAddress, pages: u32) {
        let index = self.index_of(at);
        self.blocks[index].begun += pages;
        let first = self.number(index, at.page);
        let plane = self.layout.plane(DieId(at.die as u16), at.plane as u8);
        self.queued[plane.0 as usize].extend(first..first + u64::from(pages));
    }

    /// A program has ended.
    pub fn programmed(&mut self, ppn: Ppn, failed: bool) {
        let (index, page) = self.layout.flash_block_and_page(ppn);
        self.blocks[index].ended += 1;
        if failed {
            self.failed.insert(self.number(index, page));
        }
    }

    /// The erase of a block begins: what it held is gone.
    pub fn erase_begins(&mut self, at: PageAddress) {
        let index = self.index_of(at);
        let block = &mut self.blocks[index];
        (block.holds, block.begun, block.ended) = (Holds::Undefined, 0, 0);
        self.stamps.remove(&index);
        let first = self.number(index, 0);
        let gone: Vec<u64> = self.failed.range(first..first + u64::from(self.layout.pages)).copied().collect();
        gone.iter().for_each(|page| _ = self.failed.remove(page));
    }

    /// An erase has ended: whether the block has come to the end of its life with it (`wear.endurance`,
    /// `erase.retire`).
    pub fn erase_ended(&mut self, plane: PlaneId, block: u32, plan: &Plan) -> bool {
        let index = self.index(plane, block);
        let of_block = &mut self.blocks[index];
        (of_block.erases, of_block.reads) = (of_block.erases + 1, 0);
        if let Some(disturb) = &mut self.disturb {
            disturb.erased(index);
        }
        if let Some(suspended) = &mut self.suspended {
            suspended.erased(index);
        }
        let exhausted = |wear: &WearTable| wear.exhausted(FlashPlaneId(plane.0), block);
        let exhausted = plan.config.erase.retire && self.wear.as_ref().is_some_and(exhausted);
        let pec = self.cycles(plane, block, plan);
        exhausted || plan.config.wear.endurance.is_some_and(|limit| pec >= limit.0)
    }

    /// Whether a block can be programmed after its erase.
    pub fn is_erased(&mut self, plane: PlaneId, block: u32, failed: bool) {
        let index = self.index(plane, block);
        self.blocks[index].holds = if failed { Holds::Undefined } else { Holds::Programmed };
    }

    /// A page has been read, with this many retries.
    pub fn count_read(&mut self, ppn: Ppn, retries: u32, plan: &Plan) {
        let senses = if plan.config.chip.read_disturb { 1 + retries } else { 1 };
        if let Some(disturb) = &mut self.disturb {
            disturb.read(ppn, false, senses);
        }
        let (index, _) = self.layout.flash_block_and_page(ppn);
        let reads = &mut self.blocks[index].reads;
        *reads = reads.saturating_add(senses);
    }

    /// All data ages by `age`, as if kept at 30 °C.
    pub fn rest(&mut self, now: AgeClock, age: Span) {
        self.ageing.rest(now, age);
    }
}

impl Placement for MediaBlocks {
    fn has_room(&self, _: PlaneId, _: StreamId, _: bool) -> bool {
        true // What waits has its page.
    }

    fn pays(&self, _: PlaneId, _: u32, _: &Plan) -> bool {
        true
    }

    fn spend(&mut self, _: PlaneId, _: u32) {}

    fn needs_erase(&self, _: PlaneId, _: StreamId) -> bool {
        false
    }

    fn erase_barrier(&self, _: PlaneId, _: StreamId) -> u64 {
        unreachable!("Invariant: no block is erased because a stream opens it")
    }

    fn next_place(&self, plane: PlaneId, _: StreamId) -> u32 {
        let next = self.queued[plane.0 as usize].front();
        next.map_or(0, |page| (page % u64::from(self.layout.pages)) as u32)
    }

    fn open_block(&self, plane: PlaneId, _: StreamId) -> u32 {
        let next = self.queued[plane.0 as usize].front().expect("Invariant: a program waits");
        (next / u64::from(self.layout.pages) % u64::from(self.layout.blocks)) as u32
    }

    fn take_page(&mut self, plane: PlaneId, _: StreamId, lpn: Option<Lpn>, now: AgeClock) -> Ppn {
        let next = self.queued[plane.0 as usize].pop_front();
        assert!(next.is_some() && lpn.map(|lpn| lpn.0) == next, "Invariant: a plane's programs go in their order");
        let Lpn(number) = lpn.expect("Invariant: programs are whole");
        let (index, page) = (number / u64::from(self.layout.pages), (number % u64::from(self.layout.pages)) as u32);
        let block = (index % u64::from(self.layout.blocks)) as u32;
        let ppn = self.layout.pack(Address { plane, block, page });
        let pages = self.layout.pages as usize;
        let stamp = self.ageing.stamp(now);
        self.stamps.entry(index as usize).or_insert_with(|| vec![stamp; pages].into())[page as usize] = stamp;
        if let Some(disturb) = &mut self.disturb {
            disturb.programmed(ppn, false, self.blocks[index as usize].reads);
        }
        ppn
    }

    fn in_slc(&self, _: PlaneId, _: u32) -> bool {
        false
    }

    fn page_in_slc(&self, _: Ppn) -> bool {
        false
    }

    fn cycles(&self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
        plan.config.age.pec.0 + self.blocks[self.index(plane, block)].erases
    }

    fn aged(&self, now: AgeClock) -> Span {
        self.ageing.in_run(now)
    }

    fn conditions(&self, ppn: Ppn, now: AgeClock, plan: &Plan) -> PageConditions {
        let Address { plane, block, page } = self.layout.unpack(ppn);
        let index = self.index(plane, block);
        let MediaBlock { holds, reads, .. } = self.blocks[index];
        let programmed = match holds {
            Holds::Initial => None,
            _ => Some(self.stamps.get(&index).map_or_else(|| self.ageing.stamp(now), |stamps| stamps[page as usize])),
        };
        let before = || plan.retention.of_block(self.ages, index as u64).0.saturating_add(self.ageing.in_run(now).0);
        let retention = programmed.map_or_else(|| Span(before()), |stamp| self.ageing.since(stamp, now));
        let reads = self.disturb.as_ref().map_or(reads, |disturb| disturb.effective(ppn, false, reads));
        let pec = self.cycles(plane, block, plan);
        let of_page = |wear: &WearTable| wear.of_page(FlashPlaneId(plane.0), block, page, pec);
        let (pec, of_erase) = self.wear.as_ref().map_or((pec, 0.0), of_page);
        let of_program = self.suspended.as_ref().map_or(0.0, |suspended| suspended.errors(ppn));
        PageConditions {
            conditions: Conditions { pec: PeCycles(pec), retention, temperature: self.ageing.temperature(now), reads },
            programmed: programmed.map(|stamp| self.ageing.warmer_at(stamp)),
            added_errors: of_erase + of_program,
        }
    }

    fn wants_background(&self, _: DieId, _: &Plan) -> bool {
        false
    }

    fn host_is_next(&self, _: DieId) -> bool {
        false
    }

    fn erase(&mut self, plane: FlashPlaneId, block: u32, pec: u32) -> Erase {
        let wear = self.wear.as_mut().expect("Invariant: where blocks are erased pulse by pulse their wear is kept");
        wear.erase(plane, block, pec)
    }

    fn wears_by(&mut self, plane: FlashPlaneId, block: u32, cycles: f64) {
        if let Some(wear) = &mut self.wear {
            wear.wears_by(plane, block, cycles);
        }
    }

    fn read_with(&mut self, ppn: Ppn, errors: f64) {
        if let Some(wear) = &mut self.wear {
            wear.read_with(ppn, errors);
        }
    }

    fn program_suspended(&mut self, ppn: Ppn, times: u32) {
        if let Some(suspended) = &mut self.suspended {
            suspended.programmed(ppn, times);
        }
    }
}

state! {
    MediaBlocks {
        stored { blocks, stamps, failed, queued }
        parts { ageing, wear, disturb, suspended }
        rebuilt { layout, ages }
    }
}

stored! {
    MediaBlock { holds, begun, ended, erases, reads }
}

stored_enum! {
    Holds { 0 = Initial, 1 = Programmed, 2 = Undefined, 3 = Bad, }
}
