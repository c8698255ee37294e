//! The host side: arrivals, submission queues with round-robin arbitration, the link, completions.

use std::collections::VecDeque;

use units::{Bytes, Lpn, Span, Time};
use workload::{Op, Request};

use super::mapping::Waiting;
use super::{Completion, Device, part, parts};
use crate::agenda::FifoServer;
use crate::arena::{Arena, CommandId, OpId};
use crate::config::Transfer;
use crate::flash::op::{Owner, PageOp};
use crate::ftl::Location;
use crate::meter::Meter;
use crate::observe::probe::{DataFrom, Event, Probe, Server};

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

/// The host side of the drive: what has arrived, what is worked on, what is on its way back.
pub(super) struct HostSide {
    /// Requests that have not arrived yet, with their numbers.
    pub arrivals: VecDeque<(u64, Request)>,
    pub last_arrival: Time,
    pub commands: Arena<CommandId, Command>,
    queues: Vec<HostQueue>,
    /// Queues with commands to fetch.
    waiting_queues: [u64; 4],
    turn: usize,
    burst: u16,
    in_flight: u32,
    /// Time without a request and with one.
    pub meter: Meter<2>,
    /// The queue that the next arrival waits for.
    pub stalled: Option<usize>,
    pub link_in: FifoServer,
    pub link_out: FifoServer,
    pub dram: FifoServer,
    read_completions: VecDeque<(Time, CommandId)>,
    write_completions: VecDeque<(Time, CommandId)>,
    pub completions: Vec<Completion>,
    /// Pages that went to the host.
    pub parts_sent: u64,
}

impl HostSide {
    pub fn new(queues: usize) -> HostSide {
        HostSide {
            arrivals: VecDeque::new(),
            last_arrival: Time::ZERO,
            commands: Arena::new(),
            queues: vec![HostQueue::default(); queues],
            waiting_queues: [0; 4],
            turn: 0,
            burst: 0,
            in_flight: 0,
            meter: Meter::new(),
            stalled: None,
            link_in: FifoServer::default(),
            link_out: FifoServer::default(),
            dram: FifoServer::default(),
            read_completions: VecDeque::new(),
            write_completions: VecDeque::new(),
            completions: Vec::new(),
            parts_sent: 0,
        }
    }
}

impl<P: Probe> Device<P> {
    pub(super) fn queue_of(&self, request: &Request) -> usize {
        let (queue, queues) = (usize::from(request.queue), self.host.queues.len());
        if queue < queues { queue } else { queue % queues }
    }

    /// A request reaches its queue, or stays in the host until the queue has room.
    pub(super) fn on_arrival(&mut self) {
        let &(id, request) = self.host.arrivals.front().expect("Invariant: the arrival event is a pending arrival");
        let queue = self.queue_of(&request);
        if self.host.queues[queue].outstanding == self.core.plan.config.host.queue_depth {
            self.host.stalled = Some(queue);
            self.core.agenda.clear(self.core.slots.arrival);
            return;
        }
        self.host.arrivals.pop_front();
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Arrives { arrival: request.time });
        }
        let next = self
            .host
            .arrivals
            .front()
            .map(|(_, next)| self.core.now.max(next.time + self.core.plan.config.host.t_submit));
        self.core.schedule(self.core.slots.arrival, next);
        self.host.queues[queue].outstanding += 1;
        let remaining = match request.op {
            Op::Read | Op::Write => parts(&request, self.core.plan.layout.page_size.0),
            Op::Trim | Op::Flush => 0,
        };
        let command = self.host.commands.insert(Command {
            id,
            request,
            remaining,
            queue: queue as u16,
            next_part: 0,
            uncorrectable: false,
            refused: false,
            next: None,
        });
        if self.host.in_flight < self.core.plan.config.host.commands {
            self.host.meter.enter(self.core.now, 1);
            self.host.in_flight += 1;
            self.start(command);
        } else {
            self.enqueue(queue, command);
        }
    }

    fn enqueue(&mut self, queue: usize, command: CommandId) {
        let entry = &mut self.host.queues[queue];
        if let Some((first, last)) = entry.ends {
            entry.ends = Some((first, command));
            self.host.commands[last].next = Some(command);
        } else {
            entry.ends = Some((command, command));
            self.host.waiting_queues[queue / 64] |= 1 << (queue % 64);
        }
    }

    /// Takes the next command from the submission queues: round robin, a burst from each.
    fn fetch(&mut self) -> Option<CommandId> {
        if self.host.waiting_queues == [0; 4] {
            return None;
        }
        let waiting = |queue: usize| self.host.waiting_queues[queue / 64] >> (queue % 64) & 1 != 0;
        if self.host.burst == 0 || !waiting(self.host.turn) {
            let count = self.host.queues.len();
            self.host.turn = (1..=count).map(|step| (self.host.turn + step) % count).find(|queue| waiting(*queue))?;
            self.host.burst = self.core.plan.config.host.arbitration_burst;
        }
        self.host.burst -= 1;
        let (command, last) = self.host.queues[self.host.turn].ends?;
        self.host.queues[self.host.turn].ends = self.host.commands[command].next.map(|next| (next, last));
        if self.host.queues[self.host.turn].ends.is_none() {
            self.host.waiting_queues[self.host.turn / 64] &= !(1 << (self.host.turn % 64));
        }
        Some(command)
    }

    /// Works on a fetched command.
    fn start(&mut self, command: CommandId) {
        if P::EXPLAINS {
            let Command { id, request, queue, .. } = self.host.commands[command];
            let (op, bytes, arrival) = (request.op, request.bytes.0, request.time);
            self.core.probe.explain(self.core.now, Event::Started { request: id, op, bytes, arrival, queue });
        }
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
    pub(super) fn read_part(&mut self, command: CommandId, id: u64, lpn: Lpn, from: u32, to: u32) {
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
        self.core.probe.read(self.core.now, id, lpn, source);
        if let Some(ppn) = ppn {
            let bytes = (self.read_transfer(from, to), to - from);
            self.queue_read(schemes::Class::UserRead, Owner::Host(command), lpn, ppn, bytes);
        } else {
            let sent = self.send(to - from, source != DataFrom::Nothing);
            if P::EXPLAINS {
                self.core.probe.explain(self.core.now, Event::Sent { request: id, part: None, arrives: sent });
            }
            self.part_sent(command, sent);
        }
    }

    /// Sends a part of a read to the host, which its operation has read.
    pub(super) fn send_part(&mut self, id: OpId, command: CommandId, corrected: bool) {
        let PageOp { host_bytes, seq, sense, .. } = self.flash.ops[id];
        self.flash.ops.release(id);
        let entry = &mut self.host.commands[command];
        entry.uncorrectable |= !corrected;
        let request = entry.id;
        let sent = self.send(host_bytes, true);
        if P::EXPLAINS {
            let part = Some((seq, sense.attempt));
            self.core.probe.explain(self.core.now, Event::Sent { request, part, arrives: sent });
        }
        self.part_sent(command, sent);
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

    /// Moves read data to the host, through the DRAM if it was there; returns when it has arrived.
    pub(super) fn send(&mut self, bytes: u32, through_dram: bool) -> Time {
        let bytes = Bytes(u64::from(bytes));
        let ready = if through_dram { self.through_dram(bytes) } else { self.core.now };
        let service = self.core.plan.link.time_for(bytes);
        let end = self.host.link_out.serve_later(self.core.now, ready, service);
        self.tell_service(Server::LinkOut, service, end);
        end
    }

    /// Moves data through the DRAM; returns when it has.
    pub(super) fn through_dram(&mut self, bytes: Bytes) -> Time {
        let service = self.core.plan.dram.time_for(bytes);
        let end = self.host.dram.serve(self.core.now, service);
        self.tell_service(Server::Dram, service, end);
        end
    }

    /// Tells the probe that a server serves until `end`.
    #[inline]
    pub(super) fn tell_service(&mut self, server: Server, service: Span, end: Time) {
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Serves { server, from: Time(end.0 - service.0), to: end });
        }
    }

    /// A part of a read has been sent, to arrive at `sent`. Parts arrive in the order in which they are
    /// sent, so the last one completes the request.
    pub(super) fn part_sent(&mut self, command: CommandId, sent: Time) {
        self.host.parts_sent += 1;
        let entry = &mut self.host.commands[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            let time = sent + self.core.plan.config.host.t_complete;
            if self.host.read_completions.is_empty() {
                self.core.agenda.set(self.core.slots.read_completions, time);
            }
            self.host.read_completions.push_back((time, command));
        }
    }

    /// A read's completion reaches the host.
    pub(super) fn on_read_completion(&mut self) {
        let (_, command) = self.host.read_completions.pop_front().expect("Invariant: the event is a sent completion");
        let next = self.host.read_completions.front().map(|(time, _)| *time);
        self.core.schedule(self.core.slots.read_completions, next);
        self.complete(command);
    }

    /// A completion that carries no data will reach the host at `time`.
    pub(super) fn acknowledge(&mut self, command: CommandId, time: Time) {
        // Nearly always the latest: a trim or a flush may overtake writes whose data is still entering the DRAM.
        let later = self.host.write_completions.iter().rev().take_while(|(other, _)| *other > time).count();
        self.host.write_completions.insert(self.host.write_completions.len() - later, (time, command));
        if self.host.write_completions[0].1 == command {
            self.core.agenda.set(self.core.slots.write_completions, time);
        }
    }

    /// A write's completion reaches the host.
    pub(super) fn on_write_completion(&mut self) {
        let (_, command) = self.host.write_completions.pop_front().expect("Invariant: the event is an acknowledgement");
        let next = self.host.write_completions.front().map(|(time, _)| *time);
        self.core.schedule(self.core.slots.write_completions, next);
        self.complete(command);
    }

    fn complete(&mut self, command: CommandId) {
        let Command { id, request, queue, uncorrectable, refused, .. } = self.host.commands[command];
        self.host.completions.push(Completion { id, request, finish: self.core.now, uncorrectable, refused });
        self.core.counters.requests_uncorrectable += u64::from(uncorrectable);
        self.core.counters.requests_refused += u64::from(refused);
        self.core.counters.requests_completed += 1;
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Completed { request: id });
        }
        self.host.commands.release(command);
        let queue = usize::from(queue);
        self.host.queues[queue].outstanding -= 1;
        if self.host.stalled == Some(queue) {
            self.host.stalled = None;
            self.core.agenda.set(self.core.slots.arrival, self.core.now);
        }
        match self.fetch() {
            Some(next) => self.start(next),
            None => {
                self.host.in_flight -= 1;
                if self.host.in_flight == 0 {
                    self.host.meter.enter(self.core.now, 0);
                }
            }
        }
    }
}
