//! Power cuts: everything in flight stops, what was in memory is gone, and the drive finds out from the flash alone what it holds.
//!
//! Requests that were under way are aborted; those that had not arrived wait until the drive is ready. Recovery's result is known
//! at once (`crate::power::recover`); the pages that it reads for it are then read on dies and buses like any others, step by
//! step, and until the last of them has come the drive takes no request.

use std::collections::VecDeque;

use nand::{DieId, PlaneId};
use schemes::Class;
use units::{ConfigError, Lpn, Ppn, Span};

use super::Device;
use super::learned::Learning;
use super::zones::Zoning;
use crate::arena::{OpId, SlotId};
use crate::buffer::Slot;
use crate::config::Plan;
use crate::core::Core;
use crate::error::RunError;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Flash, FlashAt, Interrupted};
use crate::ftl::blocks::{FoundBlocks, Holds};
use crate::ftl::stripes::Stripes;
use crate::ftl::{Ftl, Location};
use crate::host::Completion;
use crate::observe::probe::{DataFrom, Event, Probe};
use crate::power::checkpoint::Running;
use crate::power::media::{BlockState, Change, Content, Data, Mapped, Member, OnFlash, Page, keeps_what_is_programmed};
use crate::power::oracle::{Reads, Undone, Verdict};
use crate::power::recover::{KeptJournal, Recovered, Remains, Run, STEPS, recover};
use crate::power::{Power, Recovering, Stamp};
use crate::read_cache::ReadCache;
use crate::translation::TranslationPages;
use crate::writes::Writes;
use crate::zones::Zones;

/// Reads of recovery under way on each plane: one is sensed while the other crosses the bus.
const AHEAD: u32 = 2;

/// Power cuts, to be looked at.
#[derive(Clone, Copy)]
pub struct PowerSeen<'a>(&'a Power);

impl<'a> PowerSeen<'a> {
    /// How long recovery took after each.
    #[must_use]
    pub fn recoveries(self) -> &'a [Span] {
        &self.0.ready
    }

    /// Whether the power can be cut: `power.cut_at` is not empty.
    #[must_use]
    pub fn is_cut(self) -> bool {
        self.0.oracle.is_some()
    }

    /// Cuts since the device was made.
    #[must_use]
    pub fn cuts(self) -> u64 {
        self.0.oracle.as_ref().map_or(0, |oracle| oracle.cuts())
    }

    /// Changes that were acknowledged before the last cut and that it has undone.
    #[must_use]
    pub fn undone(self) -> &'a [Undone] {
        self.0.oracle.as_ref().map_or(&[], |oracle| oracle.undone())
    }

    /// The first request of which something was acknowledged and could still be undone.
    #[must_use]
    pub fn first_unsettled(self) -> Option<u64> {
        self.0.oracle.as_ref().and_then(|oracle| oracle.first_pending())
    }
}

/// Cuts the power of a drive now; it comes back at once, and the drive recovers.
///
/// # Errors
/// The drive does not keep what is on flash for it (`power.cut_at` is empty), or has failed.
pub(crate) fn cut_power<P: Probe>(device: &mut Device<P>) -> Result<(), RunError> {
    if !device.power_seen().is_some_and(PowerSeen::is_cut) {
        let remedy = "set power.cut_at to [\"on-demand\"] where the drive begins: it then keeps what is on flash";
        return Err(refusal("power.cut_at", "is [], so that the power cannot be cut", remedy));
    }
    device.core.counters.events += 1;
    device.on_cut();
    device.settle();
    device.core.life.failure.clone().map_or(Ok(()), Err)
}

fn refusal(key: &str, problem: &str, remedy: &str) -> RunError {
    let (key, problem, remedy) = (Some(key.to_owned()), problem.to_owned(), remedy.to_owned());
    RunError::Config(ConfigError { origin: "device".into(), line: None, key, problem, remedy })
}

/// How a die's program has ended.
#[derive(Clone, Copy)]
pub(super) enum ProgramEnd {
    /// As it should, but on planes where it failed.
    Ended { failed: u8 },
    /// The power was cut.
    Torn,
}

/// A page of the write buffer that capacitors have kept.
struct Kept {
    lpn: Lpn,
    dirty: u64,
    valid: u64,
    hint: u16,
    stamp: Stamp,
}

/// What is told of power cuts, and what they leave of the drive.
pub(super) struct PowerAt<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a mut Writes,
    pub zones: Option<&'a Zones>,
    pub power: &'a mut Power,
}

impl<P: Probe> PowerAt<'_, P> {
    /// A die's program has ended, or was interrupted: what its pages hold now.
    pub(super) fn record_program(&mut self, die: DieId, first: OpId, end: ProgramEnd) {
        let (ftl, flash, plan) = (&*self.ftl, &*self.flash, &self.core.plan);
        // Whether what is programmed could not be read before.
        let lost = |op: &PageOp, lpn: Lpn| match op.owner {
            Owner::Relocation(source) if op.is_copied() || lpn.0 >= plan.logical_pages => flash.is_broken(source.get()),
            Owner::Slot(_) | Owner::Relocation(_) => ftl.condition_of(lpn) == PageData::Lost,
            _ => false,
        };
        let power = &mut *self.power;
        let number = power.program_of(die, first);
        let mut next = Some(first);
        while let Some(id) = next {
            let op = &self.flash.ops[id];
            next = op.next;
            let writes = op.queue.writes().expect("Invariant: a program writes something");
            let (lpn, ppn) = op.pages();
            let stream = plan.streams.opened_by(writes);
            match end {
                ProgramEnd::Ended { .. } => power.flash.program(ppn, stream, number),
                ProgramEnd::Torn => self.core.counters.pages_torn += power.flash.tear(ppn, stream, number),
            }
            let content = match power.parity(op.owner, lpn, number, ftl) {
                None => power.content(op.owner, lpn, plan.logical_pages),
                parity => parity,
            };
            let left = content.and_then(|(version, content)| match end {
                ProgramEnd::Ended { failed } if failed >> op.queue.plane() & 1 != 0 => None,
                ProgramEnd::Ended { .. } if lost(op, lpn) => Some((version, Content::Host(Data::LOST))),
                ProgramEnd::Ended { .. } => Some((version, content)),
                ProgramEnd::Torn => None,
            });
            if let Some((version, content)) = left {
                power.flash.write(ppn, Page { lpn, version, number, content });
            }
        }
    }

    /// What is under way in a die's array ends, or is destroyed.
    fn interrupt(&mut self, die: DieId) {
        let plp = self.core.plan.config.power.plp;
        let flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
        for interrupted in flash.under_way(die) {
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
            let Slot { lpn, dirty, valid, hint, outdated, next_version, host_bytes, .. } = self.writes.buffer[id];
            self.core.counters.bytes_settled += host_bytes;
            if !outdated && next_version.is_none() {
                lost += u64::from(!keeps);
                kept.push(Kept { lpn, dirty, valid, hint, stamp: power.stamp_of(id) });
            }
        }
        self.core.counters.buffer_lost += lost;
        kept.sort_unstable_by_key(|page| page.stamp.version);
        if keeps { kept } else { Vec::new() }
    }

    /// Puts what capacitors have kept into the buffer again.
    fn restore_buffer(&mut self, kept: Vec<Kept>) {
        for Kept { lpn, dirty, valid, hint, stamp } in kept {
            let under = match self.ftl.locate(lpn) {
                Location::Flash(ppn) => Some(ppn),
                _ => None,
            };
            // Where nothing is under it, the rest is zeros.
            let valid = if under.is_none() { self.writes.buffer.full } else { valid };
            self.writes.buffer.reserve(1);
            let slot = self.writes.buffer.fill(lpn, dirty, valid, under);
            self.writes.buffer[slot].hint = hint;
            self.ftl.buffer(lpn, slot);
            if self.core.plan.zones.as_ref().is_some_and(|plan| plan.sequential(lpn).is_some()) {
                self.writes.buffer.gather(slot);
            }
            let power = &mut *self.power;
            let version = power.next_version();
            power.set_stamp(slot, Stamp { version, ..stamp });
        }
    }

    /// Finds out what is where, from the flash and the journal's changes that capacitors have kept.
    /// By plane `failed` has the blocks that have failed, and whether it has broken.
    fn recover(&mut self, failed: &[(Vec<u32>, bool)]) -> Recovered {
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
        let is_written = |lpn: Lpn| match (self.zones, &plan.zones) {
            (Some(zones), Some(plan)) => zones.holds(lpn, plan),
            _ => true,
        };
        let found_at = |(lpn, mapped): (&Lpn, &Mapped)| (*lpn, mapped.place.filter(|_| is_written(*lpn)));
        let places = recovered.found.iter().map(found_at).chain(journal);
        let stripes = recovered.stripes.clone();
        self.ftl.restore(places, &found, |ppn| flash.is_initial(ppn), stripes, plan);
        recovered
    }

    /// Pages on flash, or in the buffer that capacitors have kept, that say that their data was lost.
    fn recover_damage(&mut self, recovered: &Recovered, kept: &[Kept]) {
        let power = &*self.power;
        let says_lost =
            |place: &Ppn| matches!(power.flash.page(*place), Some(Page { content: Content::Host(Data::LOST), .. }));
        let found = recovered.found.iter().filter(|(_, mapped)| mapped.place.as_ref().is_some_and(says_lost));
        self.ftl.recover_damage(found.map(|(lpn, _)| *lpn), kept.iter().map(|page| page.lpn));
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
}

impl<P: Probe> Device<P> {
    /// What power cuts have done, where the power is cut or the map is kept for the case.
    pub fn power_seen(&self) -> Option<PowerSeen<'_>> {
        self.power.as_deref().map(PowerSeen)
    }

    /// What is told of power cuts. Invariant: the drive has any, or keeps its map for them.
    pub(super) fn power_at(&mut self) -> PowerAt<'_, P> {
        let Device { core, flash, ftl, writes, zones, power, .. } = self;
        let power = power.as_deref_mut().expect("Invariant: only drives with power cuts are told of them");
        PowerAt { core, flash, ftl, writes, zones: zones.as_deref(), power }
    }

    /// The power is cut, and comes back at once.
    #[cold]
    pub(super) fn on_cut(&mut self) {
        self.core.cuts.done += 1;
        self.core.counters.cuts += 1;
        self.core.cuts.ready = false;
        self.core.next_cut(self.seed);
        for die in self.flash.die_ids() {
            self.power_at().interrupt(die);
        }
        self.core.counters.pages_cut += self.seen().pages_under_way();
        let kept = self.power_at().keep_buffer();
        if P::EXPLAINS {
            let (requests, buffered) = (0, kept.len() as u32);
            self.core.probe.explain(self.core.now, Event::State { requests, buffered });
        }
        self.core.agenda.clear();
        self.flash().power_off();
        self.host.power_off(&mut self.core);
        let plan = &self.core.plan;
        self.writes = Writes::new(plan);
        self.read_cache = ReadCache::new(plan);
        let failed = self.ftl.stop_relocating();
        if let (Some(zones), Some(plan)) = (&mut self.zones, &self.core.plan.zones) {
            zones.power_cut(plan);
        }
        let recovered = self.power_at().recover(&failed);
        self.power_at().recover_damage(&recovered, &kept);
        let plan = &self.core.plan;
        self.map = TranslationPages::new(plan, self.ftl.map_pages_of_planes(plan));
        Learning::of(self).learns_again();
        self.power_at().restore_buffer(kept);
        self.core.probe.cut(self.core.now);
        self.begin_ledger();
        self.power_at().consult_oracle();
        let Some(power) = &mut self.power else { return };
        power.recovering = Some(Recovering::new(self.core.now, recovered.reads));
        self.recovery_goes_on();
    }

    /// Begins the next reads of recovery; ends it where there are none.
    fn recovery_goes_on(&mut self) {
        loop {
            let Some(recovering) = self.power.as_mut().and_then(|power| power.recovering.as_mut()) else { return };
            if recovering.under_way > 0 {
                return;
            }
            if recovering.step == STEPS {
                return self.ready();
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

    /// Begins the next read of recovery on a plane, if there is one.
    fn read_next(&mut self, plane: PlaneId) {
        let Some(recovering) = self.power.as_mut().and_then(|power| power.recovering.as_mut()) else { return };
        let left = &mut recovering.left[plane.0 as usize];
        let Some(Run { first, flash_pages }) = left.pop_front() else { return };
        if flash_pages > 1 {
            let shared = u64::from(self.core.plan.layout.shared());
            left.push_front(Run { first: Ppn(first.0 + shared), flash_pages: flash_pages - 1 });
        }
        recovering.under_way += 1;
        let step = recovering.step - 1;
        self.core.counters.recovery_reads[step] += 1;
        // Of headers and of pages whose place is not known the out-of-band area is enough.
        let whole = step == 1 || step == 3;
        let bytes = self.core.plan.read_transfer(0, if whole { self.core.plan.layout.page_size.0 as u32 } else { 1 });
        self.flash().queue_read(Class::InternalRead, Owner::Recovery, Lpn(0), first, (bytes, 0));
    }

    /// A page has been read for recovery.
    pub(super) fn recovery_read(&mut self, id: OpId) {
        let (_, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        let Some(recovering) = self.power.as_mut().and_then(|power| power.recovering.as_mut()) else { return };
        recovering.under_way -= 1;
        self.read_next(self.core.plan.layout.plane_of(ppn));
        self.recovery_goes_on();
    }

    /// The drive is ready again.
    fn ready(&mut self) {
        let Some(power) = &mut self.power else { return };
        let Some(recovering) = power.recovering.take() else { return };
        let took = self.core.now.since(recovering.began);
        power.ready.push(took);
        self.core.counters.recovery_ns += took.0;
        self.host.power_on(&mut self.core);
        self.core.cuts.ready = true;
        self.core.next_cut(self.seed);
        let layout = self.core.plan.layout;
        for plane in (0..layout.planes).map(PlaneId) {
            self.ftl.request_needless(plane, layout.blocks);
            self.collect(plane);
        }
        if self.core.plan.has_parity() {
            self.rebuild_planes();
        }
        if self.zones.is_some() {
            Zoning(self).go_on();
        }
        self.destage();
        self.map_survives();
    }
}

impl Power {
    /// What a program leaves on flash: the version of the page, and its content.
    fn content(&self, owner: Owner, lpn: Lpn, logical_pages: u64) -> Option<(u64, Content)> {
        match owner {
            Owner::Slot(slot) => {
                let Stamp { version, data } = self.stamp_of(slot);
                Some((version, Content::Host(data)))
            }
            Owner::Relocation(source) if self.flash.is_initial(source.get()) => {
                let content =
                    if lpn.0 < logical_pages { Content::Host(Data::default()) } else { Content::Map(Vec::new()) };
                Some((0, content))
            }
            Owner::Relocation(source) => self.flash.page(source.get()).map(|page| (page.version, page.content.clone())),
            Owner::MapRewrite(_) | Owner::Journal(_) => self.own.get(&lpn).cloned(),
            _ => None,
        }
    }

    /// The host has seen a completion.
    pub(super) fn host_saw(&mut self, completion: &Completion) {
        if let Some(oracle) = self.oracle.as_mut().filter(|_| completion.is_done()) {
            oracle.completed(completion.id);
        }
    }

    /// A flush is begun.
    pub(super) fn flush_begins(&mut self, request: u64) {
        if let Some(oracle) = &mut self.oracle {
            oracle.flush_begins(request);
        }
    }

    /// A page of a request's data is in a slot.
    pub(super) fn stamp_write(&mut self, request: u64, lpn: Lpn, slot: SlotId) {
        let data = self.oracle.as_mut().map_or(Data::default(), |oracle| oracle.writes(request, lpn));
        self.stamp(slot, data);
    }

    /// A slot holds what a page held before.
    pub(super) fn stamp_joined(&mut self, slot: SlotId, from: DataFrom, is_broken: impl Fn(Ppn) -> bool) {
        let data = match from {
            DataFrom::Nothing => Data::ZEROS,
            DataFrom::Buffer(frozen) => self.stamp_of(frozen).data,
            DataFrom::Flash(ppn) if is_broken(ppn) => Data::LOST,
            DataFrom::Flash(ppn) => self.flash.host_data(ppn),
            DataFrom::Cache | DataFrom::Merged(..) => Data::default(),
        };
        self.stamp(slot, data);
    }

    /// A slot holds what was on a page that is not programmed where it was to be.
    pub(super) fn stamp_rescued(&mut self, slot: SlotId, source: Ppn) {
        self.stamp(slot, self.flash.host_data(source));
    }

    /// A request has unmapped a page.
    pub(super) fn forgets(&mut self, request: u64, lpn: Lpn) {
        self.flash.anchor.lost.remove(&lpn);
        if let Some(oracle) = &mut self.oracle {
            oracle.trims(request, lpn);
        }
        let version = self.next_version();
        self.trims.insert(lpn, version);
        self.checkpoints.changes(lpn);
        self.journal.add(Change { lpn, to: Mapped { place: None, version } });
    }

    /// Whether pages of the map are waited for, of which at most this many are on their way for a checkpoint: then partly filled units go.
    pub(super) fn awaits_map(&self, most: usize) -> bool {
        let all = |running: &Running| running.waiting.len() >= most || running.todo.is_empty();
        self.checkpoints.running.as_ref().is_some_and(|running| running.list.is_none() && all(running))
    }

    /// Whether pages of the journal, or of a list, are waited for. Others fill program units with those that follow.
    pub(super) fn awaits_journal(&self) -> bool {
        self.journal.is_awaited() || self.checkpoints.is_ending()
    }

    /// What a program of parity leaves on flash: its stripe's pages, as long as all of them are there.
    fn parity(&self, owner: Owner, lpn: Lpn, number: u64, ftl: &Ftl) -> Option<(u64, Content)> {
        let (stripe, version) = match owner {
            Owner::Parity(stripe) => (Some(stripe), number),
            Owner::Relocation(source) if self.flash.is_initial(source.get()) => (None, 0),
            _ => return None,
        };
        let pages = ftl.pages_with_parity(stripe, lpn)?.into_iter().map(|place| self.flash.member(place));
        Some((version, Content::Parity(pages.collect::<Option<_>>().unwrap_or_default())))
    }

    /// Checks that what is on flash as the parity of a stripe was worked out of the pages that the stripe has, and that these are still
    /// there.
    pub(super) fn check_parity(&self, ftl: &Ftl) -> Result<(), String> {
        for (lpn, pages) in ftl.stripes.as_ref().into_iter().flat_map(Stripes::protected) {
            let Location::Flash(place) = ftl.locate(lpn) else {
                return Err(format!("parity of {pages:?} is on flash, and the map does not say where"));
            };
            let Some(Page { content: Content::Parity(members), .. }) = self.flash.page(place) else { continue };
            let is_there = |member: &Member| self.flash.member(member.place) == Some(*member);
            let same = pages.iter().eq(members.iter().map(|member| &member.place));
            if !same || !members.iter().all(is_there) {
                return Err(format!("a stripe has {pages:?}, and its parity is that of {members:?}"));
            }
        }
        Ok(())
    }

    /// What of the journal is not on flash.
    fn unwritten(&mut self) -> KeptJournal {
        let page = |own: &(u64, Content)| match &own.1 {
            Content::Journal(page) => Some((page.index, page.changes.clone())),
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

/// What a block holds, as its pages say. One whose erase was interrupted holds nothing that can be read, and must be erased before it
/// is programmed: as one that is full of what is out of date.
fn holds(flash: &OnFlash, plane: PlaneId, block: u32) -> Holds {
    match flash.block(plane, block) {
        BlockState::Initial => Holds::AtStart,
        BlockState::Blank => Holds::Nothing,
        BlockState::HalfErased => Holds::Rubbish,
        BlockState::Written(block) => {
            Holds::Pages { stream: block.stream, opened: block.opened, programmed: block.programmed }
        }
    }
}
