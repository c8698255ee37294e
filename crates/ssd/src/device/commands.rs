//! Commands: requests arrive, are taken up and begun, their data arrives, and their completions reach the host. Where a
//! read finds its data is in `read.rs`, how written data goes on in `write.rs`.

use units::{Bytes, Lpn, Time};
use workload::Op;

use super::Device;
use super::zone_programs::{Zoning, zoned};
use crate::arena::CommandId;
use crate::config::BufferMode;
use crate::core::Marks;
use crate::ftl::Location;
use crate::host::{Command, Part, part, parts};
use crate::observe::probe::{Event, Probe};
use crate::translation::Waiting;

/// How many arrivals ahead of the present one memory is fetched that fetched memory leads to.
const FURTHER: usize = 16;

impl<P: Probe> Device<P> {
    /// A request reaches the drive.
    pub(super) fn on_arrival(&mut self) {
        if let Some(slot) = self.core.slots.host_idle {
            // Only what has begun to be folded is folded to its end.
            self.core.agenda.set(slot, Time::NEVER);
            self.ftl.host_rests(false);
        }
        if let Some((_, ahead)) = self.host.arrivals.get(FURTHER) {
            let first = self.core.plan.page_at(ahead.offset.0);
            let pages = if ahead.bytes > self.core.plan.layout.page_size { 2 } else { 1 };
            for lpn in (first.0..first.0 + pages).map(Lpn) {
                self.ftl.prefetch_further(lpn);
                if let Some(cache) = &self.map.cache {
                    cache.prefetch_further(lpn);
                }
            }
        }
        if let Some(command) = self.host.arrive(&mut self.core) {
            self.take_up(command);
        }
    }

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

    /// The firmware has processed a command.
    pub(super) fn on_firmware(&mut self) {
        let command = self.host.firmware.processed(&mut self.core);
        if P::EXPLAINS {
            let request = self.host.commands[command].id;
            self.core.probe.explain(self.core.now, Event::Processed { request });
        }
        self.start(command);
    }

    /// Works on a command.
    pub(super) fn start(&mut self, command: CommandId) {
        let op = self.host.commands[command].request.op;
        match op {
            Op::Read if self.zones.is_none() || Zoning(self).allow(command) => self.start_read(command),
            Op::Read => {}
            _ if self.core.life.read_only.is_some() => self.host.refuse(&mut self.core, command),
            _ if (self.zones.is_some() || !op.is_of_every_drive()) && !Zoning(self).allow(command) => {}
            Op::Write | Op::Append => self.start_write(command),
            Op::Trim => self.start_trim(command),
            Op::Flush => self.start_flush(command),
            Op::Zone(_) | Op::ZoneReport | Op::HandleUpdate => unreachable!("Invariant: it has been done"),
        }
    }

    fn start_read(&mut self, command: CommandId) {
        let request = self.host.commands[command].request;
        let page_size = self.core.plan.layout.page_size.0;
        self.core.counters.read_requests += 1;
        self.core.counters.read_bytes += request.bytes.0;
        if request.limited && self.reads().meets_work(&request) {
            self.host.commands[command].gave_up = true;
            return self.host.acknowledge_now(&mut self.core, command);
        }
        let mut sensed = None;
        for index in 0..parts(&request, page_size) {
            let part = part(&request, page_size, index);
            let Part { lpn, from, to } = part;
            let at_hand = self.map.has_entries()
                || matches!(self.ftl.locate(lpn), Location::Buffer(_))
                || self.reads().is_cached(part);
            if at_hand || self.learning().looks_up(lpn) {
                self.reads().read_part(command, part, &mut sensed);
            } else {
                self.flash.number();
                self.await_map(Waiting::Part { command, lpn, from, to });
            }
        }
    }

    /// Written data has crossed the link.
    pub(super) fn on_write_data(&mut self) {
        let arrived = self.writes.arrivals.pop_front().expect("Invariant: the event is data under way");
        let next = self.writes.arrivals.front().map_or(Time::NEVER, |arriving| arriving.time);
        self.core.agenda.set(self.core.slots.write_data, next);
        let (id, request) = (self.host.commands[arrived.command].id, self.host.commands[arrived.command].request);
        let page_size = self.core.plan.layout.page_size.0;
        let mut bytes = 0;
        let through =
            self.core.plan.config.buffer.mode == BufferMode::WriteThrough && self.core.life.read_only.is_none();
        for index in arrived.first_part..arrived.first_part + arrived.count {
            let Part { lpn, from, to } = part(&request, page_size, index);
            bytes += u64::from(to - from);
            let slot = self.insert(id, lpn, to - from, self.writes.buffer.sectors(from, to), request.hint);
            if self.zones.is_some() {
                Zoning(self).gather(lpn, slot);
            }
            if through {
                self.writes.buffer.await_slot(slot, arrived.command);
            }
        }
        self.writes.buffer.unreserve(arrived.more);
        let stored = self.host.through_dram(&mut self.core, Bytes(bytes));
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Stored { request: id, at: stored });
        }
        if !through {
            let entry = &mut self.host.commands[arrived.command];
            entry.remaining -= arrived.count;
            if entry.remaining == 0 {
                self.host.acknowledge(&mut self.core, arrived.command, stored);
            }
        }
        if self.zones.is_some() {
            Zoning(self).arrives(part(&request, page_size, arrived.first_part).lpn, bytes);
        }
        self.destage();
        self.core.marks.set |= Marks::WRITES;
    }

    /// A read's completion reaches the host.
    pub(super) fn on_read_completion(&mut self) {
        let next = self.host.read_completed(&mut self.core);
        if let (Some(power), Some(completion)) = (&mut self.power, self.host.completions.last()) {
            power.host_saw(completion);
        }
        if let Some(next) = next {
            self.take_up(next);
        }
    }

    /// A completion without data reaches the host.
    pub(super) fn on_write_completion(&mut self) {
        let next = self.host.write_completed(&mut self.core);
        if let (Some(power), Some(completion)) = (&mut self.power, self.host.completions.last()) {
            power.host_saw(completion);
        }
        if let Some(next) = next {
            self.take_up(next);
        }
    }
}

impl<P: Probe> Zoning<'_, P> {
    /// This many bytes of a write to a zone are in the buffer.
    pub(super) fn arrives(&mut self, lpn: Lpn, bytes: u64) {
        let Some((zones, plan)) = zoned!(self.0) else { return };
        let Some(zone) = plan.sequential(lpn) else { return };
        let quiet = zones.arrives(zone, bytes);
        self.has_come(zone);
        if quiet {
            self.commands_go_on();
        }
    }

    /// What waited for writes to arrive goes on, or waits again, in its order.
    pub(super) fn commands_go_on(&mut self) {
        let Some(zones) = self.0.zones.as_deref_mut() else { return };
        for command in std::mem::take(&mut zones.waiting) {
            self.0.start(command);
        }
    }
}
