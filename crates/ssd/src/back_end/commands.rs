//! Commands are begun. Whether zones allow one is in `zones.rs`, where a read finds its data in `read.rs`, how written
//! data goes on in `write.rs`.

use nand::PlaneId;
use units::{Bytes, Time};
use workload::Op;

use super::BackEnd;
use crate::arena::CommandId;
use crate::commands::{Part, part, parts};
use crate::config::BufferMode;
use crate::core::Marks;
use crate::observe::probe::{Event, Probe};
use crate::status::Status;
use crate::translation::Waiting;

impl<P: Probe> BackEnd<P> {
    /// Begins a command of any kind.
    pub fn start(&mut self, command: CommandId) {
        let op = self.commands[command].request.op;
        match op {
            Op::Read if self.zones.is_none() || self.allow(command) => self.start_read(command),
            Op::Read => {}
            _ if self.core.life.read_only.is_some() => self.commands.refuse(&mut self.core, command),
            _ if self.zones.is_some() && !self.allow(command) => {}
            Op::Write => self.start_write(command),
            Op::Append if self.zones.is_some() => self.start_write(command),
            Op::Trim => self.start_trim(command),
            Op::Flush => self.start_flush(command),
            Op::HandleUpdate => self.update_handle(command),
            Op::Append | Op::Zone(_) | Op::ZoneReport => {
                self.commands.fail(&mut self.core, command, Status::InvalidOpcode);
            }
        }
    }

    /// A placement handle is given another reclaim unit: the blocks that it has begun are written no further.
    fn update_handle(&mut self, command: CommandId) {
        let handle = self.commands[command].request.hint;
        let BackEnd { fdp, core, ftl, .. } = self;
        let Some(fdp) = fdp.as_deref_mut().filter(|fdp| fdp.has(handle)) else {
            let status = if fdp.is_some() { Status::InvalidField } else { Status::InvalidOpcode };
            return self.commands.fail(&mut self.core, command, status);
        };
        if fdp.updates(handle, core.now, &mut core.counters) {
            let stream = core.plan.groups.stream_of(handle);
            // What goes past an SLC cache has open blocks of its own.
            [Some(stream), core.plan.streams.past(stream)]
                .into_iter()
                .flatten()
                .for_each(|stream| ftl.leave_open(stream));
            for plane in (0..self.core.plan.layout.planes).map(PlaneId) {
                self.dispatch().room_changed(plane);
            }
        }
        self.commands.acknowledge_now(&mut self.core, command);
    }

    fn start_read(&mut self, command: CommandId) {
        let request = self.commands[command].request;
        let page_size = self.core.plan.layout.page_size.0;
        self.core.counters.read_requests += 1;
        self.core.counters.read_bytes += request.bytes.0;
        if request.limited && self.reads().meets_work(&request) {
            self.commands[command].gave_up = true;
            return self.commands.acknowledge_now(&mut self.core, command);
        }
        let mut sensed = None;
        for index in 0..parts(&request, page_size) {
            let part = part(&request, page_size, index);
            let Part { lpn, from, to } = part;
            if self.map.has_entries() || self.reads().is_in_dram(part) || self.learning().looks_up(lpn) {
                self.reads().read_part(command, part, &mut sensed);
            } else {
                self.flash.number();
                self.await_map(Waiting::Part { command, lpn, from, to });
            }
        }
    }

    /// Written data has crossed the link.
    pub fn on_write_data(&mut self) {
        let arrived = self.writes.arrivals.pop_front().expect("Invariant: the event is data under way");
        let next = self.writes.arrivals.front().map_or(Time::NEVER, |arriving| arriving.time);
        self.core.agenda.set(self.core.slots.write_data, next);
        let (id, request) = (self.commands[arrived.command].id, self.commands[arrived.command].request);
        let page_size = self.core.plan.layout.page_size.0;
        let mut bytes = 0;
        let through =
            self.core.plan.config.buffer.mode == BufferMode::WriteThrough && self.core.life.read_only.is_none();
        for index in arrived.first_part..arrived.first_part + arrived.count {
            let Part { lpn, from, to } = part(&request, page_size, index);
            bytes += u64::from(to - from);
            let slot = self.insert(id, lpn, to - from, self.writes.buffer.sectors(from, to), request.hint);
            if self.zones.is_some() {
                self.writes.gather(lpn, slot, &self.core.plan);
            }
            if through {
                self.writes.buffer.await_slot(slot, arrived.command);
            }
        }
        self.writes.buffer.unreserve(arrived.more);
        let stored = self.commands.through_dram(&mut self.core, Bytes(bytes));
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Stored { request: id, at: stored });
        }
        if !through {
            let entry = &mut self.commands[arrived.command];
            entry.remaining -= arrived.count;
            if entry.remaining == 0 {
                self.commands.acknowledge(&mut self.core, arrived.command, stored);
            }
        }
        if self.zones.is_some() && self.zoning().arrives(part(&request, page_size, arrived.first_part).lpn, bytes) {
            self.commands_go_on();
        }
        self.destage();
        self.core.marks.set |= Marks::WRITES;
    }

    /// What waited for writes to arrive goes on, or waits again, in its order.
    pub(super) fn commands_go_on(&mut self) {
        let Some(zones) = self.zones.as_deref_mut() else { return };
        for command in std::mem::take(&mut zones.waiting) {
            self.start(command);
        }
    }
}
