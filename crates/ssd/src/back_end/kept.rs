//! What is kept of the flash for power cuts, where there are any: what programs leave on it, and what the map's
//! journal, its pages and the oracle are told. What a cut does and how the drive recovers is in `power.rs`.

use nand::{DieId, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn};

use super::placed::Because;
use crate::arena::{OpId, SlotId};
use crate::core::Core;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Flash, FlashAt};
use crate::ftl::seen::Seen;
use crate::ftl::{Ftl, Location};
use crate::observe::probe::{DataFrom, Probe};
use crate::power::checkpoint::Running;
use crate::power::media::{Change, Content, Data, Entries, Mapped, Member, Page};
use crate::power::recover::Run;
use crate::power::{Power, Stamp};
use crate::writes::Writes;

/// How a die's program has ended.
#[derive(Clone, Copy)]
pub(super) enum ProgramEnd {
    /// As it should, but on planes where it failed.
    Ended { failed: u8 },
    /// The power was cut.
    Torn,
}

/// What is told of power cuts, and what they leave of the drive.
pub(crate) struct PowerAt<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a mut Writes,
    pub power: &'a mut Power,
}

impl<P: Probe> PowerAt<'_, P> {
    /// The flash as it stands now.
    pub fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: self.flash, core: self.core, placement: self.ftl }
    }

    /// What is seen of the FTL.
    pub fn seen(&self) -> Seen<'_> {
        Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan }
    }

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
            let of = ftl.series(ppn, plan.streams.opened_by(writes));
            match end {
                ProgramEnd::Ended { .. } => power.flash.program(ppn, of, number),
                ProgramEnd::Torn => self.core.counters.pages_torn += power.flash.tear(ppn, of, number),
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

    /// The data of a page is on a page of the flash now: what is to be known of that after a power cut.
    pub(super) fn map_names(&mut self, lpn: Lpn, ppn: Ppn, because: Because) {
        let power = &mut *self.power;
        let before = match because {
            Because::Written(_) => None,
            Because::Relocated(source) => Some(source),
            Because::Rewritten => {
                power.own.remove(&lpn);
                None
            }
            Because::Journaled(place) => {
                power.own.remove(&lpn);
                if let Some(index) = power.journal.programmed(place) {
                    power.flash.anchor.journal.push((index, ppn));
                }
                return;
            }
            // Its page on flash says what it is of; a page that moves is told of as any other.
            Because::Parity(_) => return,
        };
        if lpn.0 >= self.core.plan.logical_pages + u64::from(self.core.plan.space.map_pages) {
            return power.flash.anchor.moved(before, ppn);
        }
        let version = power.flash.page(ppn).map_or(0, |page| page.version);
        power.trims.remove(&lpn);
        power.flash.anchor.lost.remove(&lpn);
        power.checkpoints.changes(lpn);
        power.journal.add(Change { lpn, to: Mapped { place: Some(ppn), version } });
    }

    /// Begins the next read of recovery on a plane, if there is one.
    pub(super) fn read_next(&mut self, plane: PlaneId) {
        let Some(recovering) = &mut self.power.recovering else { return };
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
    pub(super) fn has_read(&mut self, id: OpId) {
        let (_, ppn) = self.flash.ops[id].pages();
        self.flash.ops.release(id);
        let Some(recovering) = &mut self.power.recovering else { return };
        recovering.under_way -= 1;
        self.read_next(self.core.plan.layout.plane_of(ppn));
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
                let content = if lpn.0 < logical_pages {
                    Content::Host(Data::default())
                } else {
                    Content::Map(Entries::default())
                };
                Some((0, content))
            }
            Owner::Relocation(source) => self.flash.page(source.get()).map(|page| (page.version, page.content.clone())),
            Owner::MapRewrite(_) | Owner::Journal(_) => self.own.get(&lpn).cloned(),
            _ => None,
        }
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

    /// The host has seen that a request is done.
    pub fn host_saw(&mut self, request: u64) {
        if let Some(oracle) = &mut self.oracle {
            oracle.completed(request);
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

    /// Whether pages of the map are waited for, of which at most this many are on their way for a checkpoint: then
    /// partly filled units go.
    pub(super) fn awaits_map(&self, most: usize) -> bool {
        let all = |running: &Running| running.waiting.len() >= most || running.todo.is_empty();
        self.checkpoints.running.as_ref().is_some_and(|running| running.list.is_none() && all(running))
    }

    /// Whether pages of the journal, or of a list, are waited for. Others fill program units with those that follow.
    pub(super) fn awaits_journal(&self) -> bool {
        self.journal.is_awaited() || self.checkpoints.is_ending()
    }

    /// Checks that what is on flash as the parity of a stripe was worked out of the pages that the stripe has, and that
    /// these are still there.
    pub fn check_parity(&self, ftl: &Ftl) -> Result<(), String> {
        for (lpn, pages) in ftl.protected() {
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
}
