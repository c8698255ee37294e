//! Commands are taken up here; reads look for their pages' newest data, in the buffer or on flash.

use units::Lpn;
use workload::Op;

use super::Device;

use crate::arena::{CommandId, OpId};
use crate::config::Transfer;
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
            let at_hand = self.ftl.cmt.is_none() || matches!(self.ftl.locate(lpn), Location::Buffer(_));
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
        let PageOp { host_bytes, seq, sense, .. } = self.flash.ops[id];
        self.flash.ops.release(id);
        let entry = &mut self.host.commands[command];
        entry.uncorrectable |= !corrected;
        let request = entry.id;
        let sent = self.host.send(&mut self.core, host_bytes, true);
        if P::EXPLAINS {
            let part = Some((seq, sense.attempt));
            self.core.probe.explain(self.core.now, Event::Sent { request, part, arrives: sent });
        }
        self.host.part_sent(&mut self.core, command, sent);
    }

    /// Bytes that a read of bytes `from..to` of a page moves over the bus.
    pub(super) fn read_transfer(&self, from: u32, to: u32) -> u32 {
        match self.core.plan.config.bus.transfer {
            Transfer::Page => self.core.plan.layout.page_size.0 as u32,
            Transfer::Codeword => {
                let codeword = self.core.plan.config.ecc.codeword.0 as u32;
                to.next_multiple_of(codeword) - from / codeword * codeword
            }
        }
    }
}
