//! Commands are taken up here; reads look for their pages' newest data, in the write buffer, in the read cache or on flash.

use std::ops::Range;

use units::{Bytes, Lpn, Ppn};
use workload::Op;

use super::Device;

use crate::arena::{CommandId, OpId};
use crate::config::{Plan, Transfer};
use crate::flash::op::{Owner, PageOp};
use crate::ftl::Location;
use crate::host::{Command, part, parts};
use crate::observe::probe::{DataFrom, Event, Probe};
use crate::translation::Waiting;

impl<P: Probe> Device<P> {
    /// Takes a fetched command up: the firmware processes it first, if that takes time.
    pub(super) fn take_up(&mut self, command: CommandId) {
        if P::EXPLAINS {
            let Command { id, request, queue, .. } = self.host.commands[command];
            let (op, bytes, arrival) = (request.op, request.bytes.0, request.time);
            self.core.probe.explain(self.core.now, Event::Started { request: id, op, bytes, arrival, queue });
        }
        if self.core.slots.firmware.is_some() {
            self.host.firmware.take(&mut self.core, command);
        } else {
            self.start(command);
        }
    }

    /// Works on a command.
    pub(super) fn start(&mut self, command: CommandId) {
        match self.host.commands[command].request.op {
            Op::Read => self.start_read(command),
            _ if self.core.life.read_only.is_some() => self.refuse(command),
            Op::Write => self.start_write(command),
            Op::Trim => self.start_trim(command),
            Op::Flush => self.start_flush(command),
        }
        self.run_scheduler();
    }

    fn start_read(&mut self, command: CommandId) {
        let (id, request) = (self.host.commands[command].id, self.host.commands[command].request);
        let page_size = self.core.plan.layout.page_size.0;
        self.core.counters.read_requests += 1;
        self.core.counters.read_bytes += request.bytes.0;
        for index in 0..parts(&request, page_size) {
            let (lpn, from, to) = part(&request, page_size, index);
            let at_hand = self.ftl.cmt.is_none()
                || matches!(self.ftl.locate(lpn), Location::Buffer(_))
                || self.is_cached(lpn, from, to);
            if at_hand || self.map_ready(lpn) {
                self.read_part(command, id, lpn, from, to);
            } else {
                self.flash.number();
                self.await_map(Waiting::Part { command, lpn, from, to });
            }
        }
    }

    /// Reads bytes `from..to` of a page whose map entry is at hand.
    pub(super) fn read_part(&mut self, command: CommandId, request: u64, lpn: Lpn, from: u32, to: u32) {
        let (ppn, source) = match self.ftl.locate(lpn) {
            Location::Unmapped => {
                self.core.counters.unmapped_reads += 1;
                (None, DataFrom::Nothing)
            }
            Location::Flash(_) if self.is_cached(lpn, from, to) => {
                self.core.counters.read_cache_hits += 1;
                (None, DataFrom::Cache)
            }
            Location::Flash(ppn) => (Some(ppn), DataFrom::Flash(ppn)),
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
        self.core.probe.read(self.core.now, request, lpn, source);
        if let Some(ppn) = ppn {
            let bytes = (self.read_transfer(from, to), to - from);
            self.queue_read(schemes::Class::UserRead, Owner::Host(command), lpn, ppn, bytes);
        } else {
            let sent = self.host.send(&mut self.core, to - from, source != DataFrom::Nothing);
            if P::EXPLAINS {
                self.core.probe.explain(self.core.now, Event::Sent { request, part: None, arrives: sent });
            }
            self.host.part_sent(&mut self.core, command, sent);
        }
    }

    /// Sends a part of a read to the host, which its operation has read.
    pub(super) fn send_part(&mut self, id: OpId, command: CommandId, corrected: bool) {
        let PageOp { host_bytes, seq, sense, lpn, ppn, .. } = self.flash.ops[id];
        self.flash.ops.release(id);
        let entry = &mut self.host.commands[command];
        entry.uncorrectable |= !corrected;
        let request = entry.id;
        let through_dram = self.core.plan.config.buffer.read_through;
        let sent = self.host.send(&mut self.core, host_bytes, through_dram);
        if P::EXPLAINS {
            let part = Some((seq, sense.attempt));
            self.core.probe.explain(self.core.now, Event::Sent { request, part, arrives: sent });
        }
        self.host.part_sent(&mut self.core, command, sent);
        if corrected && self.read_cache.is_some() {
            self.fill_cache(command, lpn.get(), ppn.get());
        }
    }

    /// Whether the read cache holds bytes `from..to` of a page.
    #[inline]
    fn is_cached(&mut self, lpn: Lpn, from: u32, to: u32) -> bool {
        let sectors = self.writes.buffer.sectors(from, to);
        self.read_cache.as_mut().is_some_and(|cache| cache.holds(lpn, sectors))
    }

    /// Keeps what a command has read of a page in the read cache, unless it has been written, trimmed or relocated since.
    fn fill_cache(&mut self, command: CommandId, lpn: Lpn, ppn: Ppn) {
        let Some(cache) = self.read_cache.as_mut().filter(|_| self.ftl.locate(lpn) == Location::Flash(ppn)) else {
            return;
        };
        let Command { id, request, .. } = self.host.commands[command];
        let page_size = self.core.plan.layout.page_size.0;
        let (_, from, to) = part(&request, page_size, (lpn.0 - request.offset.0 / page_size) as u32);
        let moved = transferred(&self.core.plan, from, to);
        let sectors = self.writes.buffer.sectors(moved.start, moved.end);
        cache.keep(lpn, sectors);
        self.core.probe.cached(self.core.now, id, lpn, sectors);
        let crossed = if self.core.plan.config.buffer.read_through { to - from } else { 0 };
        let further = moved.end - moved.start - crossed;
        if further > 0 {
            self.host.through_dram(&mut self.core, Bytes(further.into()));
        }
    }

    /// Bytes that a read of bytes `from..to` of a page moves over the bus.
    pub(super) fn read_transfer(&self, from: u32, to: u32) -> u32 {
        let moved = transferred(&self.core.plan, from, to);
        moved.end - moved.start
    }
}

/// The bytes of a page that cross the bus where bytes `from..to` are read.
#[inline]
fn transferred(plan: &Plan, from: u32, to: u32) -> Range<u32> {
    match plan.config.bus.transfer {
        Transfer::Page => 0..plan.layout.page_size.0 as u32,
        Transfer::Codeword => {
            let codeword = plan.config.ecc.codeword.0 as u32;
            from / codeword * codeword..to.next_multiple_of(codeword)
        }
    }
}
