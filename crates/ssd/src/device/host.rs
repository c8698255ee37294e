//! The host side: arrivals, submission queues with round-robin arbitration, the link, completions.

use units::{Bytes, Lpn, Span, Time};
use workload::{Op, Request};

use super::mapping::Waiting;
use super::{Completion, Device, part, parts};
use crate::arena::CommandId;
use crate::config::Transfer;
use crate::ftl::Location;
use crate::observe::probe::{DataFrom, Event, Probe, Server};
use crate::op::Owner;

/// A request that the device has taken from the host.
pub(super) struct Command {
    pub id: u64,
    pub request: Request,
    /// Parts that are not done yet.
    pub remaining: u32,
    queue: u16,
    /// The next part whose data is to be fetched from the host (writes).
    pub next_part: u32,
    /// Some of its data could not be corrected.
    pub uncorrectable: bool,
    /// The drive is read-only and does not do it, or not all of it.
    pub refused: bool,
    /// The next command in the same submission queue.
    next: Option<CommandId>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct HostQueue {
    outstanding: u32,
    /// The first command that waits, and the last.
    ends: Option<(CommandId, CommandId)>,
}

impl<P: Probe> Device<P> {
    pub(super) fn queue_of(&self, request: &Request) -> usize {
        let (queue, queues) = (usize::from(request.queue), self.queues.len());
        if queue < queues { queue } else { queue % queues }
    }

    /// A request reaches its queue, or stays in the host until the queue has room.
    pub(super) fn on_arrival(&mut self) {
        let &(id, request) = self.arrivals.front().expect("Invariant: the arrival event is a pending arrival");
        let queue = self.queue_of(&request);
        if self.queues[queue].outstanding == self.plan.config.host.queue_depth {
            self.stalled = Some(queue);
            self.agenda.clear(self.slots.arrival);
            return;
        }
        self.arrivals.pop_front();
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Arrives { arrival: request.time });
        }
        let next = self.arrivals.front().map(|(_, next)| self.now.max(next.time + self.plan.config.host.t_submit));
        self.schedule(self.slots.arrival, next);
        self.queues[queue].outstanding += 1;
        let remaining = match request.op {
            Op::Read | Op::Write => parts(&request, self.plan.layout.page_size.0),
            Op::Trim | Op::Flush => 0,
        };
        let command = self.commands.insert(Command {
            id,
            request,
            remaining,
            queue: queue as u16,
            next_part: 0,
            uncorrectable: false,
            refused: false,
            next: None,
        });
        if self.in_flight < self.plan.config.host.commands {
            self.host_meter.enter(self.now, 1);
            self.in_flight += 1;
            self.start(command);
        } else {
            self.enqueue(queue, command);
        }
    }

    fn enqueue(&mut self, queue: usize, command: CommandId) {
        let entry = &mut self.queues[queue];
        if let Some((first, last)) = entry.ends {
            entry.ends = Some((first, command));
            self.commands[last].next = Some(command);
        } else {
            entry.ends = Some((command, command));
            self.waiting_queues[queue / 64] |= 1 << (queue % 64);
        }
    }

    /// Takes the next command from the submission queues: round robin, a burst from each.
    fn fetch(&mut self) -> Option<CommandId> {
        if self.waiting_queues == [0; 4] {
            return None;
        }
        let waiting = |queue: usize| self.waiting_queues[queue / 64] >> (queue % 64) & 1 != 0;
        if self.burst == 0 || !waiting(self.turn) {
            let count = self.queues.len();
            self.turn = (1..=count).map(|step| (self.turn + step) % count).find(|queue| waiting(*queue))?;
            self.burst = self.plan.config.host.arbitration_burst;
        }
        self.burst -= 1;
        let (command, last) = self.queues[self.turn].ends?;
        self.queues[self.turn].ends = self.commands[command].next.map(|next| (next, last));
        if self.queues[self.turn].ends.is_none() {
            self.waiting_queues[self.turn / 64] &= !(1 << (self.turn % 64));
        }
        Some(command)
    }

    /// Works on a fetched command.
    fn start(&mut self, command: CommandId) {
        if P::EXPLAINS {
            let Command { id, request, queue, .. } = self.commands[command];
            let (op, bytes, arrival) = (request.op, request.bytes.0, request.time);
            self.probe.explain(self.now, Event::Started { request: id, op, bytes, arrival, queue });
        }
        match self.commands[command].request.op {
            Op::Read => self.start_read(command),
            _ if self.read_only.is_some() => self.refuse(command),
            Op::Write => self.start_write(command),
            Op::Trim => self.start_trim(command),
            Op::Flush => self.start_flush(command),
        }
        self.run_scheduler();
    }

    fn start_read(&mut self, command: CommandId) {
        let (id, request) = (self.commands[command].id, self.commands[command].request);
        let page_size = self.plan.layout.page_size.0;
        self.counters.read_requests += 1;
        self.counters.read_bytes += request.bytes.0;
        for index in 0..parts(&request, page_size) {
            let (lpn, from, to) = part(&request, page_size, index);
            let at_hand = self.ftl.cmt.is_none() || matches!(self.ftl.locate(lpn), Location::Buffer(_));
            if at_hand || self.map_ready(lpn) {
                self.read_part(command, id, lpn, from, to);
            } else {
                self.number();
                self.await_map(Waiting::Part { command, lpn, from, to });
            }
        }
    }

    /// Reads bytes `from..to` of a page whose map entry is at hand.
    pub(super) fn read_part(&mut self, command: CommandId, id: u64, lpn: Lpn, from: u32, to: u32) {
        let (ppn, source) = match self.ftl.locate(lpn) {
            Location::Unmapped => {
                self.counters.unmapped_reads += 1;
                (None, DataFrom::Nothing)
            }
            Location::Flash(ppn) => (Some(ppn), DataFrom::Flash(ppn)),
            Location::Buffer(slot) => {
                let wanted = self.buffer.sectors(from, to);
                if wanted & !self.buffer[slot].valid == 0 {
                    self.counters.buffer_hits += 1;
                    (None, DataFrom::Buffer(slot))
                } else {
                    let under = self.buffer[slot].flash_copy.expect("Invariant: what a slot lacks is on flash");
                    (Some(under), DataFrom::Merged(under, slot))
                }
            }
        };
        self.probe.read(self.now, id, lpn, source);
        if let Some(ppn) = ppn {
            let bytes = (self.read_transfer(from, to), to - from);
            self.queue_read(schemes::Class::UserRead, Owner::Host(command), lpn, ppn, bytes);
        } else {
            let sent = self.send(to - from, source != DataFrom::Nothing);
            if P::EXPLAINS {
                self.probe.explain(self.now, Event::Sent { request: id, part: None, arrives: sent });
            }
            self.part_sent(command, sent);
        }
    }

    /// Bytes that a read of bytes `from..to` of a page moves over the bus.
    pub(super) fn read_transfer(&self, from: u32, to: u32) -> u32 {
        match self.plan.config.bus.transfer {
            Transfer::Page => self.plan.layout.page_size.0 as u32,
            Transfer::Codeword => {
                let codeword = self.plan.config.ecc.codeword.0 as u32;
                to.next_multiple_of(codeword) - from / codeword * codeword
            }
        }
    }

    /// Moves read data to the host, through the DRAM if it was there; returns when it has arrived.
    pub(super) fn send(&mut self, bytes: u32, through_dram: bool) -> Time {
        let bytes = Bytes(u64::from(bytes));
        let ready = if through_dram { self.through_dram(bytes) } else { self.now };
        let service = self.plan.link.time_for(bytes);
        let end = self.link_out.serve_later(self.now, ready, service);
        self.tell_service(Server::LinkOut, service, end);
        end
    }

    /// Moves data through the DRAM; returns when it has.
    pub(super) fn through_dram(&mut self, bytes: Bytes) -> Time {
        let service = self.plan.dram.time_for(bytes);
        let end = self.dram.serve(self.now, service);
        self.tell_service(Server::Dram, service, end);
        end
    }

    /// Tells the probe that a server serves until `end`.
    #[inline]
    pub(super) fn tell_service(&mut self, server: Server, service: Span, end: Time) {
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Serves { server, from: Time(end.0 - service.0), to: end });
        }
    }

    /// A part of a read has been sent, to arrive at `sent`. Parts arrive in the order in which they are
    /// sent, so the last one completes the request.
    pub(super) fn part_sent(&mut self, command: CommandId, sent: Time) {
        self.parts_sent += 1;
        let entry = &mut self.commands[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            let time = sent + self.plan.config.host.t_complete;
            if self.read_completions.is_empty() {
                self.agenda.set(self.slots.read_completions, time);
            }
            self.read_completions.push_back((time, command));
        }
    }

    /// A read's completion reaches the host.
    pub(super) fn on_read_completion(&mut self) {
        let (_, command) = self.read_completions.pop_front().expect("Invariant: the event is a sent completion");
        let next = self.read_completions.front().map(|(time, _)| *time);
        self.schedule(self.slots.read_completions, next);
        self.complete(command);
    }

    /// A completion that carries no data will reach the host at `time`.
    pub(super) fn acknowledge(&mut self, command: CommandId, time: Time) {
        // Nearly always the latest: a trim or a flush may overtake writes whose data is still entering the DRAM.
        let later = self.write_completions.iter().rev().take_while(|(other, _)| *other > time).count();
        self.write_completions.insert(self.write_completions.len() - later, (time, command));
        if self.write_completions[0].1 == command {
            self.agenda.set(self.slots.write_completions, time);
        }
    }

    /// A write's completion reaches the host.
    pub(super) fn on_write_completion(&mut self) {
        let (_, command) = self.write_completions.pop_front().expect("Invariant: the event is an acknowledgement");
        let next = self.write_completions.front().map(|(time, _)| *time);
        self.schedule(self.slots.write_completions, next);
        self.complete(command);
    }

    fn complete(&mut self, command: CommandId) {
        let Command { id, request, queue, uncorrectable, refused, .. } = self.commands[command];
        self.completions.push(Completion { id, request, finish: self.now, uncorrectable, refused });
        self.counters.requests_uncorrectable += u64::from(uncorrectable);
        self.counters.requests_refused += u64::from(refused);
        self.counters.requests_completed += 1;
        if P::EXPLAINS {
            self.probe.explain(self.now, Event::Completed { request: id });
        }
        self.commands.release(command);
        let queue = usize::from(queue);
        self.queues[queue].outstanding -= 1;
        if self.stalled == Some(queue) {
            self.stalled = None;
            self.agenda.set(self.slots.arrival, self.now);
        }
        match self.fetch() {
            Some(next) => self.start(next),
            None => {
                self.in_flight -= 1;
                if self.in_flight == 0 {
                    self.host_meter.enter(self.now, 0);
                }
            }
        }
    }
}
