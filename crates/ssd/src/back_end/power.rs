//! Power cuts: everything in flight stops, what was in memory is gone, and the drive finds out from the flash alone
//! what it holds.
//!
//! Recovery's result is known at once (`crate::power::recover`); the pages that it reads for it are then read on dies
//! and buses like any others, step by step, and until the last of them has come the drive takes no request.

use std::collections::VecDeque;

use nand::{DieId, PlaneId};
use units::{Lpn, Ppn};

use super::BackEnd;
use super::kept::{PowerAt, ProgramEnd};
use crate::buffer::Slot;
use crate::config::Plan;
use crate::error::RunError;
use crate::flash::Interrupted;
use crate::ftl::Location;
use crate::ftl::blocks::{FoundBlocks, Holds};
use crate::ftl::seen::Seen;
use crate::observe::probe::{Event, Probe};
use crate::power::media::{BlockState, Content, Data, Mapped, OnFlash, Page, keeps_what_is_programmed};
use crate::power::oracle::{Reads, Verdict};
use crate::power::recover::{KeptJournal, Recovered, Remains, STEPS, recover};
use crate::power::{Power, Recovering, Stamp};
use crate::read_cache::ReadCache;
use crate::translation::TranslationPages;
use crate::writes::Writes;
use crate::zones::Zones;

/// Reads of recovery under way on each plane: one is sensed while the other crosses the bus.
const AHEAD: u32 = 2;

/// A page of the write buffer that capacitors have kept.
pub(crate) struct Kept {
    lpn: Lpn,
    dirty: u64,
    valid: u64,
    hint: u16,
    rescued: bool,
    stamp: Stamp,
}

impl<P: Probe> PowerAt<'_, P> {
    /// What is under way in a die's array ends, or is destroyed.
    fn interrupt(&mut self, die: DieId) {
        let plp = self.core.plan.config.power.plp;
        for interrupted in self.flash().under_way(die) {
            match interrupted {
                Interrupted::Program(first) if plp => self.record_program(die, first, ProgramEnd::Ended { failed: 0 }),
                Interrupted::Program(first) => self.record_program(die, first, ProgramEnd::Torn),
                Interrupted::Erase(blocks) => {
                    let power = &mut *self.power;
                    self.core.counters.blocks_half_erased += blocks.len() as u64;
                    blocks.into_iter().for_each(|(plane, block)| power.flash.erase(plane, block, false));
                }
            }
        }
    }

    /// What the write buffer holds, if capacitors keep it; otherwise it is lost.
    fn keep_buffer(&mut self) -> Vec<Kept> {
        let power = &*self.power;
        let keeps = self.core.plan.config.power.plp;
        let (mut kept, mut lost) = (Vec::new(), 0);
        for id in self.writes.buffer.slots_in_use() {
            let Slot { lpn, dirty, valid, rescued, outdated, next_version, host_bytes, .. } = self.writes.buffer[id];
            self.core.counters.bytes_settled += host_bytes;
            if !outdated && next_version.is_none() {
                lost += u64::from(!keeps);
                let hint = Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan }.hint_of_slot(id);
                kept.push(Kept { lpn, dirty, valid, hint, rescued, stamp: power.stamp_of(id) });
            }
        }
        self.core.counters.buffer_lost += lost;
        kept.sort_unstable_by_key(|page| page.stamp.version);
        if keeps { kept } else { Vec::new() }
    }

    /// Puts what capacitors have kept into the buffer again.
    fn restore_buffer(&mut self, kept: Vec<Kept>) {
        for Kept { lpn, dirty, valid, hint, rescued, stamp } in kept {
            let under = match self.ftl.locate(lpn) {
                Location::Flash(ppn) => Some(ppn),
                _ => None,
            };
            if dirty == self.writes.buffer.full {
                self.ftl.repair(lpn);
            }
            // Where nothing is under it, the rest is zeros, or was lost.
            let valid = if under.is_none() { self.writes.buffer.full } else { valid };
            self.writes.buffer.reserve(1);
            let slot = self.writes.buffer.fill(lpn, dirty, valid, under);
            (self.writes.buffer[slot].hint, self.writes.buffer[slot].rescued) = (hint, rescued);
            self.ftl.buffer(lpn, slot);
            self.writes.gather(lpn, slot, &self.core.plan);
            let power = &mut *self.power;
            let version = power.next_version();
            power.set_stamp(slot, Stamp { version, ..stamp });
        }
    }

    /// Finds out what is where, from the flash and the journal's changes that capacitors have kept.
    /// By plane `failed` has the blocks that have failed, and whether it has broken.
    fn recover(&mut self, failed: &[(Vec<u32>, bool)], zones: Option<&Zones>) -> Recovered {
        let lossy = self.core.has_lost_data() || !keeps_what_is_programmed(&self.core.plan);
        let power = &mut *self.power;
        let plan = &self.core.plan;
        let kept = if plan.config.power.plp { power.unwritten() } else { KeptJournal::default() };
        let broken = |ppn: Ppn| self.flash.is_broken(ppn);
        let remains = Remains { flash: &power.flash, is_broken: &broken, lossy };
        let recovered = recover(remains, &kept, self.ftl, plan);
        let is_listed = |place: Ppn| {
            !broken(place) && matches!(power.flash.page(place), Some(Page { content: Content::Journal(_), .. }))
        };
        let list = power.flash.anchor.list.iter().map(|place| place.filter(|place| is_listed(*place))).collect();
        power.flash.anchor.list = list;
        power.forget(plan);
        power.resume(&recovered, plan, self.core.cuts.done);
        let flash = &power.flash;
        let is_bad = |plane: PlaneId, block: u32| flash.anchor.bad.contains(&(plane.0, block));
        let has_failed = |plane: PlaneId, block: u32| failed[plane.0 as usize].0.contains(&block);
        let holds = |plane: PlaneId, block: u32| holds(flash, plane, block);
        let is_broken = |plane: PlaneId| failed[plane.0 as usize].1;
        let found = FoundBlocks { holds: &holds, is_bad: &is_bad, has_failed: &has_failed, is_broken: &is_broken };
        let of_journal = recovered.journal.iter().map(|(_, place)| place).chain(flash.anchor.list.iter().flatten());
        let journal = of_journal.filter_map(|place| Some((flash.page(*place)?.lpn, Some(*place))));
        let is_written = |lpn: Lpn, version: u64| match (zones, &plan.zones) {
            (Some(zones), Some(plan)) => zones.holds(lpn, version, plan),
            _ => true,
        };
        let found_at =
            |(lpn, mapped): (&Lpn, &Mapped)| (*lpn, mapped.place.filter(|_| is_written(*lpn, mapped.version)));
        let places = recovered.found.iter().map(found_at).chain(journal);
        let stripes = recovered.stripes.clone();
        self.ftl.restore(places, &found, |ppn| flash.is_initial(ppn), stripes, plan);
        recovered
    }

    /// Pages on flash, or in the buffer that capacitors have kept, that say that their data was lost, and pages whose
    /// data is nowhere.
    fn recover_damage(&mut self, recovered: &Recovered, kept: &[Kept]) {
        let power = &*self.power;
        let says_lost =
            |place: &Ppn| matches!(power.flash.page(*place), Some(Page { content: Content::Host(Data::LOST), .. }));
        let found = recovered.found.iter().filter(|(_, mapped)| mapped.place.as_ref().is_some_and(says_lost));
        let nowhere = power.flash.anchor.lost.keys();
        self.ftl.recover_damage(found.map(|(lpn, _)| lpn).chain(nowhere).copied(), kept.iter().map(|page| page.lpn));
    }

    /// What each page reads as is held against what the host's side was promised.
    fn consult_oracle(&mut self) {
        let Some(mut oracle) = self.power.oracle.take() else { return };
        let Verdict { checked, lost, reported, violation } = oracle.check(self.core.has_lost_data(), |lpn| {
            let held = self.ftl.initial_place(lpn).is_some() || self.core.plan.fills_zone_with(lpn);
            (self.reads_as(lpn), !held)
        });
        self.power.oracle = Some(oracle);
        self.core.counters.pages_checked += checked;
        self.core.counters.checked_lost += lost;
        self.core.counters.pages_reported += reported;
        if let Some(text) = violation {
            self.core.life.failure.get_or_insert(RunError::Broken(text));
        }
    }

    /// What a page would read as now.
    fn reads_as(&self, lpn: Lpn) -> Reads {
        let power = &*self.power;
        let data = |data: Data| match data {
            Data::ZEROS => Reads::Zeros,
            Data::LOST => Reads::Lost,
            data => Reads::Data(data),
        };
        match self.ftl.locate(lpn) {
            Location::Unmapped if power.flash.anchor.lost.contains_key(&lpn) => Reads::Lost,
            Location::Unmapped => Reads::Zeros,
            Location::Buffer(slot) => data(power.stamp_of(slot).data),
            Location::Flash(ppn) if self.flash.is_broken(ppn) => Reads::Lost,
            Location::Flash(ppn) if power.flash.is_initial(ppn) => {
                if self.ftl.initial_place(lpn) == Some(ppn) {
                    Reads::Data(Data::default())
                } else {
                    Reads::Damaged
                }
            }
            Location::Flash(ppn) => match power.flash.page(ppn) {
                Some(Page { lpn: held, content: Content::Host(held_data), .. }) if *held == lpn => data(*held_data),
                Some(Page { lpn: held, .. }) if *held != lpn => Reads::Another(*held),
                _ => Reads::Damaged,
            },
        }
    }

    /// The power is cut: what is under way in the dies ends there, and nothing is going to happen any more. What
    /// capacitors have kept of the write buffer.
    #[cold]
    pub fn power_goes(&mut self) -> Vec<Kept> {
        self.core.cuts.done += 1;
        self.core.counters.cuts += 1;
        self.core.cuts.ready = false;
        self.core.next_cut();
        for die in self.flash.die_ids() {
            self.interrupt(die);
        }
        self.core.counters.pages_cut += self.seen().pages_under_way();
        let kept = self.keep_buffer();
        if P::EXPLAINS {
            let (requests, buffered) = (0, kept.len() as u32);
            self.core.probe.explain(self.core.now, Event::State { requests, buffered });
        }
        self.core.agenda.clear();
        self.flash().power_off();
        kept
    }

    /// Begins the next reads of recovery; whether there are none left, so that the drive is ready.
    pub fn recovery_goes_on(&mut self) -> bool {
        loop {
            let Some(recovering) = &mut self.power.recovering else { return false };
            if recovering.under_way > 0 {
                return false;
            }
            if recovering.step == STEPS {
                return true;
            }
            let runs = std::mem::take(&mut recovering.runs[recovering.step]);
            let layout = self.core.plan.layout;
            recovering.left = vec![VecDeque::new(); layout.planes as usize];
            for run in runs {
                recovering.left[layout.plane_of(run.first).0 as usize].push_back(run);
            }
            recovering.step += 1;
            for plane in (0..layout.planes).map(PlaneId) {
                (0..AHEAD).for_each(|_| self.read_next(plane));
            }
        }
    }

    /// Recovery has ended, and the drive is ready.
    fn has_recovered(&mut self) {
        let Some(recovering) = self.power.recovering.take() else { return };
        let took = self.core.now.since(recovering.began);
        self.power.ready.push(took);
        self.core.counters.recovery_ns += took.0;
        self.core.cuts.ready = true;
        self.core.next_cut();
    }
}

impl<P: Probe> BackEnd<P> {
    /// The power is back: what was in memory is found again on flash, whose pages are read for that; whether the drive
    /// is ready at once, as [`PowerAt::recovery_goes_on`] says.
    #[cold]
    pub fn power_returns(&mut self, kept: Vec<Kept>) -> bool {
        let plan = &self.core.plan;
        self.writes = Writes::new(plan);
        self.read_cache = ReadCache::new(plan);
        let failed = self.ftl.stop_relocating();
        if let (Some(zones), Some(plan)) = (&mut self.zones, &self.core.plan.zones) {
            zones.power_cut(plan);
        }
        let zones = self.zones.take();
        let recovered = self.power_at().recover(&failed, zones.as_deref());
        self.zones = zones;
        self.power_at().recover_damage(&recovered, &kept);
        let plan = &self.core.plan;
        self.map = TranslationPages::new(plan, self.ftl.map_pages_of_planes(plan));
        self.learning().learns_again();
        self.power_at().restore_buffer(kept);
        self.core.probe.cut(self.core.now);
        self.begin_ledger();
        self.power_at().consult_oracle();
        let Some(power) = &mut self.power else { return false };
        power.recovering = Some(Recovering::new(self.core.now, recovered.reads));
        self.power_at().recovery_goes_on()
    }

    /// The drive becomes ready again: what a cut has interrupted goes on.
    pub fn become_ready(&mut self) {
        self.power_at().has_recovered();
        let layout = self.core.plan.layout;
        for plane in (0..layout.planes).map(PlaneId) {
            self.moving(plane).request_needless(layout.blocks);
            self.collect(plane);
        }
        if self.core.plan.has_parity() {
            self.rebuild_planes();
        }
        if self.zones.is_some() {
            self.zoning().go_on();
        }
        self.destage();
        self.map_survives();
    }
}

impl Power {
    /// The part of the journal that is not on flash.
    fn unwritten(&mut self) -> KeptJournal {
        let page = |own: &(u64, Content)| match &own.1 {
            Content::Journal(page) => Some((page.index, page.entries.changes.clone())),
            _ => None,
        };
        let pages = self.own.values().filter_map(page).collect();
        KeptJournal { pages, tail: std::mem::take(&mut self.journal.tail) }
    }

    /// Goes on from what was recovered after this many cuts.
    fn resume(&mut self, recovered: &Recovered, plan: &Plan, cuts: u64) {
        let Recovered { found, lost, news, changed, journal, horizon, .. } = recovered;
        let trimmed = found.iter().filter(|(_, mapped)| mapped.place.is_none());
        self.trims = trimmed.map(|(lpn, mapped)| (*lpn, mapped.version)).collect();
        self.flash.anchor.lost.extend(lost.iter().map(|lpn| (*lpn, cuts)));
        let first = self.flash.anchor.first;
        self.flash.anchor.journal.clone_from(journal);
        let behind = plan.logical_pages + u64::from(plan.space.map_pages);
        let place_of = |ppn: &Ppn| self.flash.page(*ppn).map(|page| (page.lpn.0 - behind) as u32);
        let pages: Vec<(u64, u32)> =
            journal.iter().filter_map(|(index, place)| Some((*index, place_of(place)?))).collect();
        let list: Vec<u32> = self.flash.anchor.list.iter().flatten().filter_map(place_of).collect();
        self.journal.resume(pages, list, first, *horizon);
        self.journal.add_found(news);
        changed.iter().for_each(|page| self.checkpoints.page_changes(*page));
    }
}

/// What a block holds, as its pages say. One whose erase was interrupted holds nothing that can be read, and must be
/// erased before it is programmed: as one that is full of what is out of date.
fn holds(flash: &OnFlash, plane: PlaneId, block: u32) -> Holds {
    match flash.block(plane, block) {
        BlockState::Initial => Holds::AtStart,
        BlockState::Blank => Holds::Nothing,
        BlockState::HalfErased => Holds::Rubbish,
        BlockState::Written(block) => Holds::Pages { of: block.of, opened: block.opened, programmed: block.programmed },
    }
}
