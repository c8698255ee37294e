//! Reads look for their pages' newest data, in the write buffer, in the read cache or on
//! flash.

use schemes::{Class, FailBusy};
use units::{Bytes, Lpn, Ppn};
use workload::Request;

use crate::arena::{CommandId, OpId, SlotId};
use crate::commands::{Commands, Part, part, parts, parts_from};
use crate::core::Core;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::flash::{Flash, FlashAt, Placement as _};
use crate::ftl::{Ftl, Location};
use crate::observe::probe::{DataFrom, Event, Probe};
use crate::power::Power;
use crate::read_cache::ReadCache;
use crate::writes::Writes;

/// Where parts of the host's reads find their data.
pub(super) struct ReadsAt<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub commands: &'a mut Commands,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a mut Writes,
    pub read_cache: &'a mut Option<ReadCache>,
    pub power: Option<&'a Power>,
}

impl<P: Probe> ReadsAt<'_, P> {
    /// Queues a page of a command to be sensed.
    #[inline]
    pub fn queue(&mut self, class: Class, command: CommandId, (lpn, ppn): (Lpn, Ppn), bytes: (u32, u32)) -> OpId {
        if P::EXPLAINS {
            let (request, part) = (self.commands[command].id, self.flash.next_number());
            self.core.probe.explain(self.core.now, Event::Reads { request, part });
        }
        let mut flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
        let op = flash.queue_read(class, Owner::Host(command), lpn, ppn, bytes);
        self.flash.ops[op].read.limited = self.commands[command].request.limited;
        op
    }

    /// Whether a die that a request reads from does work for which it is given up (`read.fail_busy`).
    #[cold]
    pub fn meets_work(&mut self, request: &Request) -> bool {
        let policy = self.core.plan.config.read.fail_busy;
        let page_size = self.core.plan.layout.page_size.0;
        policy != FailBusy::None
            && (0..parts(request, page_size)).any(|index| {
                let part = part(request, page_size, index);
                let at = match self.ftl.locate(part.lpn) {
                    Location::Flash(ppn) => Some(ppn),
                    Location::Buffer(slot) => self.writes.buffer[slot].flash_copy,
                    Location::Unmapped => None,
                };
                let Some(ppn) = at else { return false };
                let (die, _) = self.core.plan.layout.die_of(self.core.plan.layout.plane_of(ppn));
                let flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
                policy.gives_up(flash.view().own_work(die)) && !self.is_in_dram(part)
            })
    }

    /// Reads bytes `from..to` of a page whose map entry is at hand. `sensed` is the last of the command's reads that no
    /// die can have begun yet, and the last page that comes with it: the next one does where it stands behind in the
    /// same flash page.
    pub fn read_part(&mut self, command: CommandId, part: Part, sensed: &mut Option<(OpId, Lpn)>) {
        let (request, Part { lpn, from, to }) = (self.commands[command].id, part);
        let (ppn, source) = match self.ftl.locate(lpn) {
            Location::Unmapped => {
                self.core.counters.unmapped_reads += 1;
                if self.power.is_some_and(|power| power.flash.anchor.lost.contains_key(&lpn)) {
                    self.commands[command].uncorrectable = true;
                }
                (None, DataFrom::Nothing)
            }
            Location::Flash(_) if self.is_cached(part) => {
                self.core.counters.read_cache_hits += 1;
                (None, DataFrom::Cache)
            }
            Location::Flash(ppn) => {
                if let Some(mut map) = self.ftl.tried_map() {
                    map.reads(request, lpn, ppn);
                }
                (Some(ppn), DataFrom::Flash(ppn))
            }
            Location::Buffer(slot) => {
                let wanted = self.writes.buffer.sectors(from, to);
                if wanted & !self.writes.buffer[slot].valid == 0 {
                    self.core.counters.buffer_hits += 1;
                    (None, DataFrom::Buffer(slot))
                } else {
                    let under = self.writes.buffer[slot].flash_copy.expect("Invariant: what a slot lacks is on flash");
                    (Some(under), DataFrom::Merged(under, slot))
                }
            }
        };
        match self.ftl.condition_with(|| [lpn], self.writes.buffer.sectors(from, to), &self.writes.buffer) {
            PageData::Right => {}
            // It is counted with what the flash says.
            data if ppn.is_some() => self.commands[command].uncorrectable |= data == PageData::Lost,
            _ if source == DataFrom::Cache => {}
            data => self.host_reads(command, data),
        }
        self.core.probe.read(self.core.now, request, lpn, source);
        if let Some(ppn) = ppn {
            if let Some((op, last)) = *sensed
                && last.0 + 1 == lpn.0
                && self.goes_along(op, ppn)
            {
                *sensed = Some((op, lpn));
                return self.read_along(op, command, ppn, part);
            }
            let bytes = (self.core.plan.read_transfer(from, to), to - from);
            let op = self.queue(Class::UserRead, command, (lpn, ppn), bytes);
            *sensed = Some((op, lpn));
        } else {
            let sent = self.commands.send(self.core, to - from, source != DataFrom::Nothing);
            if P::EXPLAINS {
                self.core.probe.explain(self.core.now, Event::Sent { request, part: None, arrives: sent });
            }
            self.commands.part_sent(self.core, command, sent);
        }
    }

    /// Whether a page follows what a waiting operation reads in the same flash page.
    #[inline]
    fn goes_along(&self, op: OpId, ppn: Ppn) -> bool {
        let before = self.flash.ops[op].ppn.get();
        before < ppn && self.core.plan.layout.together(before, ppn)
    }

    /// Bytes `from..to` of a page come with the sense of an earlier part of the command.
    fn read_along(&mut self, op: OpId, command: CommandId, ppn: Ppn, Part { from, to, .. }: Part) {
        let crosses = self.core.plan.further_transfer(self.flash.ops[op].ppn.get(), ppn, from, to);
        let entry = &mut self.flash.ops[op];
        entry.ppn = ppn.into();
        entry.bus_bytes += crosses;
        entry.host_bytes += to - from;
        self.commands[command].remaining -= 1;
    }

    /// Sends a part of a read to the host, which its operation has read.
    pub fn send_part(&mut self, id: OpId, command: CommandId, data: PageData) {
        let PageOp { host_bytes, seq, read, lpn, ppn, .. } = self.flash.ops[id];
        self.flash.ops.release(id);
        let was_read = data == PageData::Right;
        let pages = || {
            let (request, page_size) = (self.commands[command].request, self.core.plan.layout.page_size.0);
            parts_from(request, page_size, lpn.get(), host_bytes).map(|part| part.lpn)
        };
        let data = if was_read { self.ftl.condition_with(pages, u64::MAX, &self.writes.buffer) } else { data };
        self.host_reads(command, data);
        let request = self.commands[command].id;
        let through_dram = self.core.plan.config.buffer.read_through;
        let sent = self.commands.send(self.core, host_bytes, through_dram);
        if P::EXPLAINS {
            let part = Some((seq, read.retries));
            self.core.probe.explain(self.core.now, Event::Sent { request, part, arrives: sent });
        }
        if self.core.plan.slc.is_some() {
            let mode = usize::from(!self.ftl.page_in_slc(ppn.get()));
            self.core.counters.parts_by_mode[mode] += 1;
            self.core.counters.part_ns_by_mode[mode] += sent.since(self.commands[command].request.time).0;
        }
        self.commands.part_sent(self.core, command, sent);
        if was_read && self.read_cache.is_some() {
            self.fill_cache(command, lpn.get(), ppn.get(), host_bytes);
        }
    }

    /// Parts of a command that came with one sense, which could not be read, are read where their data is by now.
    pub fn read_again(&mut self, command: CommandId, parts: &[Part]) {
        self.commands[command].remaining += parts.len() as u32 - 1;
        let mut sensed = None;
        for part in parts {
            self.read_part(command, *part, &mut sensed);
        }
    }

    /// What a page of a host's read is like.
    fn host_reads(&mut self, command: CommandId, data: PageData) {
        match data {
            PageData::Right => {}
            PageData::Wrong => self.core.counters.host_pages_wrong += 1,
            PageData::GivenUp => self.commands[command].gave_up = true,
            PageData::Lost => {
                self.commands[command].uncorrectable = true;
                self.core.counters.host_pages_lost += 1;
            }
        }
    }

    /// Whether all of a part is in the write buffer or, where its newest data is on flash, in the read cache.
    pub fn is_in_dram(&mut self, part: Part) -> bool {
        match self.ftl.locate(part.lpn) {
            Location::Buffer(slot) => {
                self.writes.buffer.sectors(part.from, part.to) & self.writes.buffer.lacks(slot) == 0
            }
            Location::Flash(_) => self.is_cached(part),
            Location::Unmapped => false,
        }
    }

    /// What a slot lacks of its page is read.
    pub fn fill(&mut self, slot: SlotId) {
        let missing = self.writes.buffer.lacks(slot);
        let under = self.writes.buffer[slot].flash_copy.expect("Invariant: what a slot lacks is on flash");
        let sector = (self.core.plan.layout.page_size.0 / u64::from(self.writes.buffer.full.count_ones())) as u32;
        let (from, to) = (missing.trailing_zeros() * sector, (64 - missing.leading_zeros()) * sector);
        let bus_bytes = self.core.plan.read_transfer(from, to);
        self.core.counters.fill_reads += 1;
        let lpn = self.writes.buffer[slot].lpn;
        let mut flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
        flash.queue_read(Class::InternalRead, Owner::Slot(slot), lpn, under, (bus_bytes, 0));
    }

    /// Whether the read cache holds bytes `from..to` of a page.
    #[inline]
    fn is_cached(&mut self, Part { lpn, from, to }: Part) -> bool {
        let sectors = self.writes.buffer.sectors(from, to);
        self.read_cache.as_mut().is_some_and(|cache| cache.holds(lpn, sectors))
    }

    /// Keeps what a command has read of a flash page in the read cache: `bytes` of it from the page `first` on.
    fn fill_cache(&mut self, command: CommandId, first: Lpn, ppn: Ppn, bytes: u32) {
        let page_size = self.core.plan.layout.page_size.0;
        for part in parts_from(self.commands[command].request, page_size, first, bytes) {
            let here = |at| self.core.plan.layout.together(at, ppn);
            if matches!(self.ftl.locate(part.lpn), Location::Flash(at) if here(at)) {
                self.keep_part(command, part);
            }
        }
    }

    /// Keeps a part of a read in the read cache, which holds what the map's flash page does.
    fn keep_part(&mut self, command: CommandId, Part { lpn, from, to }: Part) {
        if self.ftl.condition_with(|| [lpn], u64::MAX, &self.writes.buffer) != PageData::Right {
            return;
        }
        let id = self.commands[command].id;
        let moved = self.core.plan.transferred(from, to);
        let moved = moved.start..moved.end.min(self.core.plan.layout.page_size.0 as u32);
        let sectors = self.writes.buffer.sectors(moved.start, moved.end);
        let Some(cache) = self.read_cache.as_mut() else { return };
        cache.keep(lpn, sectors);
        self.core.probe.cached(self.core.now, id, lpn, sectors);
        let crossed = if self.core.plan.config.buffer.read_through { to - from } else { 0 };
        let further = moved.end - moved.start - crossed;
        if further > 0 {
            self.commands.through_dram(self.core, Bytes(further.into()));
        }
    }
}
