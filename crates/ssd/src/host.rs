//! The host side of the drive: arrivals, submission queues, the link, the DRAM, completions.

use std::collections::VecDeque;

use units::{Bytes, Lpn, Span, Time};
use workload::Request;

use crate::agenda::FifoServer;
use crate::arbitration::Arbiter;
use crate::arena::{Arena, CommandId};
use crate::config::HostConfig;
use crate::core::Core;
use crate::firmware::Firmware;
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe, Server};
use crate::persist::{state, stored};
use crate::status::Status;

/// A finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that [`Device::submit`](crate::Device::submit) gave it.
    pub id: u64,
    /// What was asked.
    pub request: Request,
    /// When the host saw it complete.
    pub finish: Time,
    /// Some of the data that it asked for could not be corrected.
    pub uncorrectable: bool,
    /// Some of it was not read to the end: the drive gave up early, as the request allows (`read.fail_fast`). Without
    /// the limit it may be read.
    pub gave_up: bool,
    /// The drive is read-only (`wear.end_of_life`) and has not done, or not wholly done, what was asked.
    pub refused: bool,
    /// The power was cut (`power.cut_at`) before the host saw it complete: it may be done, in part, or not at all.
    pub aborted: bool,
    /// What an NVMe controller would say of it; anything but a success where the drive has not done what was asked.
    pub status: Status,
    /// Where its data begins: of an append where the drive has put it.
    pub at: Bytes,
}

impl Completion {
    /// A request that was done as asked.
    #[must_use]
    pub fn new(number: u64, request: Request, finish: Time) -> Completion {
        let at = request.offset;
        let (uncorrectable, gave_up, refused, aborted, status) = (false, false, false, false, Status::Success);
        Completion { id: number, request, finish, uncorrectable, gave_up, refused, aborted, status, at }
    }

    /// Whether what was asked was done: with data that could not be corrected, in the worst case.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !(self.refused || self.aborted) && self.status.is_success()
    }

    /// From the request's arrival to its completion.
    pub fn latency(&self) -> Span {
        self.finish.since(self.request.time)
    }
}

/// A request that the device has taken from the host.
pub(crate) struct Command {
    pub id: u64,
    pub request: Request,
    /// Parts that are not done yet.
    pub remaining: u32,
    pub queue: u16,
    /// The next part whose data is to be fetched from the host (writes).
    pub next_part: u32,
    /// Some of its data could not be corrected.
    pub uncorrectable: bool,
    /// A read of some of its data ended early, as it allows.
    pub gave_up: bool,
    /// The drive is read-only and does not do it, or not all of it.
    pub refused: bool,
    /// A trim has taken data of its before that was on flash.
    pub trimmed: bool,
    /// Why it is not done, if it is not.
    pub status: Status,
    /// Where an append was asked to: the zone. What it does stands in the request.
    pub asked: Bytes,
    /// The next command in the same submission queue.
    next: Option<CommandId>,
}

impl Command {
    /// The request as the host made it.
    fn asked_for(&self) -> Request {
        Request { offset: self.asked, ..self.request }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct HostQueue {
    outstanding: u32,
    /// The first command that waits, and the last.
    ends: Option<(CommandId, CommandId)>,
}

/// The host side of the drive: what has arrived, what is worked on, what is on its way back.
pub(crate) struct HostSide {
    /// Requests that have not arrived yet, with their numbers.
    pub arrivals: VecDeque<(u64, Request)>,
    pub last_arrival: Time,
    pub commands: Arena<CommandId, Command>,
    queues: Vec<HostQueue>,
    arbiter: Arbiter,
    in_flight: u32,
    /// Time without a request and with one.
    pub meter: Meter<2>,
    /// The queue that the next arrival waits for.
    pub stalled: Option<usize>,
    pub firmware: Firmware,
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
    pub fn new(config: &HostConfig) -> HostSide {
        HostSide {
            arrivals: VecDeque::new(),
            last_arrival: Time::ZERO,
            commands: Arena::new(),
            queues: vec![HostQueue::default(); config.queues.into()],
            arbiter: Arbiter::new(config),
            in_flight: 0,
            meter: Meter::new(),
            stalled: None,
            firmware: Firmware::default(),
            link_in: FifoServer::default(),
            link_out: FifoServer::default(),
            dram: FifoServer::default(),
            read_completions: VecDeque::new(),
            write_completions: VecDeque::new(),
            completions: Vec::new(),
            parts_sent: 0,
        }
    }

    pub fn queue_of(&self, request: &Request) -> usize {
        let (queue, queues) = (usize::from(request.queue), self.queues.len());
        if queue < queues { queue } else { queue % queues }
    }

    /// A request reaches its queue, or stays in the host until the queue has room. Returns it if the drive works on it
    /// at once.
    pub fn arrive<P: Probe>(&mut self, core: &mut Core<P>) -> Option<CommandId> {
        let &(id, request) = self.arrivals.front().expect("Invariant: the arrival event is a pending arrival");
        let queue = self.queue_of(&request);
        if self.queues[queue].outstanding == core.plan.config.host.queue_depth {
            self.stalled = Some(queue);
            core.agenda.set(core.slots.arrival, Time::NEVER);
            return None;
        }
        self.arrivals.pop_front();
        if P::EXPLAINS {
            core.probe.explain(core.now, Event::Arrives { arrival: request.time });
        }
        let t_submit = core.plan.config.host.t_submit;
        let next = self.arrivals.front().map_or(Time::NEVER, |(_, next)| core.now.max(next.time + t_submit));
        core.agenda.set(core.slots.arrival, next);
        self.queues[queue].outstanding += 1;
        let remaining = if request.op.moves_data() { parts(&request, core.plan.layout.page_size.0) } else { 0 };
        let command = self.commands.insert(Command {
            id,
            request,
            remaining,
            queue: queue as u16,
            next_part: 0,
            uncorrectable: false,
            gave_up: false,
            refused: false,
            trimmed: false,
            status: Status::Success,
            asked: request.offset,
            next: None,
        });
        if self.in_flight < core.plan.config.host.commands {
            self.meter.enter(core.now, 1, None);
            self.in_flight += 1;
            return Some(command);
        }
        self.enqueue(queue, command);
        None
    }

    fn enqueue(&mut self, queue: usize, command: CommandId) {
        let entry = &mut self.queues[queue];
        if let Some((first, last)) = entry.ends {
            entry.ends = Some((first, command));
            self.commands[last].next = Some(command);
        } else {
            entry.ends = Some((command, command));
            self.arbiter.set_waiting(queue, true);
        }
    }

    /// Takes the next command from the submission queues.
    fn fetch(&mut self) -> Option<CommandId> {
        let queue = self.arbiter.next()?;
        let (command, last) = self.queues[queue].ends?;
        self.queues[queue].ends = self.commands[command].next.map(|next| (next, last));
        if self.queues[queue].ends.is_none() {
            self.arbiter.set_waiting(queue, false);
        }
        Some(command)
    }

    /// Moves read data to the host, through the DRAM if it was there; returns when it has arrived.
    pub fn send<P: Probe>(&mut self, core: &mut Core<P>, bytes: u32, through_dram: bool) -> Time {
        let bytes = Bytes(u64::from(bytes));
        let ready = if through_dram { self.through_dram(core, bytes) } else { core.now };
        let service = core.plan.link.time_for(bytes);
        let end = self.link_out.serve_later(core.now, ready, service);
        tell_service(core, Server::LinkOut, service, end);
        end
    }

    /// Moves data through the DRAM; returns when it has.
    pub fn through_dram<P: Probe>(&mut self, core: &mut Core<P>, bytes: Bytes) -> Time {
        let service = core.plan.dram.time_for(bytes);
        let end = self.dram.serve(core.now, service);
        tell_service(core, Server::Dram, service, end);
        end
    }

    /// A part of a read has been sent, to arrive at `sent`. Parts arrive in the order in which they are
    /// sent, so the last one completes the request.
    pub fn part_sent<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId, sent: Time) {
        self.parts_sent += 1;
        let entry = &mut self.commands[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            let time = sent + core.plan.config.host.t_complete;
            if self.read_completions.is_empty() {
                core.agenda.set(core.slots.read_completion, time);
            }
            self.read_completions.push_back((time, command));
        }
    }

    /// A read's completion reaches the host. Returns the command that the drive works on next.
    pub fn read_completed<P: Probe>(&mut self, core: &mut Core<P>) -> Option<CommandId> {
        let (_, command) = self.read_completions.pop_front().expect("Invariant: the event is a sent completion");
        let next = self.read_completions.front().map_or(Time::NEVER, |(time, _)| *time);
        core.agenda.set(core.slots.read_completion, next);
        self.complete(core, command)
    }

    /// A command is refused.
    pub fn refuse<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId) {
        self.commands[command].refused = true;
        self.acknowledge_now(core, command);
    }

    /// A command is not done, for that reason.
    pub fn fail<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId, status: Status) {
        self.commands[command].status = status;
        core.counters.requests_failed += 1;
        self.acknowledge_now(core, command);
    }

    /// What a command asked for is done.
    pub fn acknowledge_now<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId) {
        self.acknowledge(core, command, core.now);
    }

    /// What a command asked for is done at `done`: a completion that carries no data is on its way to the host.
    pub fn acknowledge<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId, done: Time) {
        let time = done + core.plan.config.host.t_complete;
        // Nearly always the latest: a trim or a flush may overtake writes whose data is still entering the DRAM.
        let later = self.write_completions.iter().rev().take_while(|(other, _)| *other > time).count();
        self.write_completions.insert(self.write_completions.len() - later, (time, command));
        if self.write_completions[0].1 == command {
            core.agenda.set(core.slots.write_completion, time);
        }
    }

    /// A completion without data reaches the host. Returns the command that the drive works on next.
    pub fn write_completed<P: Probe>(&mut self, core: &mut Core<P>) -> Option<CommandId> {
        let (_, command) = self.write_completions.pop_front().expect("Invariant: the event is an acknowledgement");
        let next = self.write_completions.front().map_or(Time::NEVER, |(time, _)| *time);
        core.agenda.set(core.slots.write_completion, next);
        self.complete(core, command)
    }

    fn complete<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId) -> Option<CommandId> {
        let Command { id, request, queue, uncorrectable, gave_up, refused, status, asked, .. } = self.commands[command];
        let (at, request) = (request.offset, Request { offset: asked, ..request });
        let done = Completion::new(id, request, core.now);
        self.completions.push(Completion { uncorrectable, gave_up, refused, status, at, ..done });
        core.counters.requests_uncorrectable += u64::from(uncorrectable);
        core.counters.requests_given_up += u64::from(gave_up && !uncorrectable);
        core.counters.requests_until_uncorrectable += u64::from(core.counters.requests_uncorrectable == 0);
        core.counters.requests_refused += u64::from(refused);
        core.counters.requests_completed += 1;
        if P::EXPLAINS {
            core.probe.explain(core.now, Event::Completed { request: id });
        }
        self.commands.release(command);
        let queue = usize::from(queue);
        self.queues[queue].outstanding -= 1;
        if self.stalled == Some(queue) {
            self.stalled = None;
            core.agenda.set(core.slots.arrival, core.now);
        }
        let next = self.fetch();
        if next.is_none() {
            self.in_flight -= 1;
            if self.in_flight == 0 {
                self.meter.enter(core.now, 0, None);
                if let (Some(slot), Some(span)) = (core.slots.host_idle, core.plan.fold_idle()) {
                    core.agenda.set(slot, core.now + span);
                }
            }
        }
        next
    }
}

/// The queue that arrivals wait for while there is no power: none.
const NO_POWER: usize = usize::MAX;

impl HostSide {
    /// The power is cut: what the drive works on, and what is on its way to the host, is aborted. What has not arrived
    /// waits.
    pub fn power_off<P: Probe>(&mut self, core: &mut Core<P>) {
        let mut aborted: Vec<(u64, Request)> =
            self.commands.ids().map(|id| (self.commands[id].id, self.commands[id].asked_for())).collect();
        aborted.sort_unstable_by_key(|(id, _)| *id);
        for (id, request) in aborted {
            self.completions.push(Completion { aborted: true, ..Completion::new(id, request, core.now) });
            core.counters.requests_aborted += 1;
            if P::EXPLAINS {
                core.probe.explain(core.now, Event::Completed { request: id });
            }
        }
        self.commands = Arena::new();
        self.queues.iter_mut().for_each(|queue| *queue = HostQueue::default());
        self.arbiter = Arbiter::new(&core.plan.config.host);
        self.in_flight = 0;
        self.meter.enter(core.now, 0, None);
        self.stalled = Some(NO_POWER);
        self.firmware.power_off(core.now, &core.plan);
        [&mut self.link_in, &mut self.link_out, &mut self.dram].into_iter().for_each(|server| server.stop(core.now));
        self.read_completions.clear();
        self.write_completions.clear();
    }

    /// The drive takes requests again.
    pub fn power_on<P: Probe>(&mut self, core: &mut Core<P>) {
        self.stalled = None;
        if let Some((_, first)) = self.arrivals.front() {
            core.agenda.set(core.slots.arrival, core.now.max(first.time + core.plan.config.host.t_submit));
        }
    }
}

/// Tells the probe that a server serves until `end`.
#[inline]
pub(crate) fn tell_service<P: Probe>(core: &mut Core<P>, server: Server, service: Span, end: Time) {
    if P::EXPLAINS {
        core.probe.explain(core.now, Event::Serves { server, from: Time(end.0 - service.0), to: end });
    }
}

/// What of a request lies in one page: bytes `from..to` of it.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub lpn: Lpn,
    pub from: u32,
    pub to: u32,
}

/// The part of a request that lies in its `index`-th page.
#[inline]
pub(crate) fn part(request: &Request, page_size: u64, index: u32) -> Part {
    let shift = page_size.trailing_zeros();
    let lpn = (request.offset.0 >> shift) + u64::from(index);
    let start = lpn << shift;
    let from = request.offset.0.max(start) - start;
    let to = (request.offset.0 + request.bytes.0).min(start + page_size) - start;
    Part { lpn: Lpn(lpn), from: from as u32, to: to as u32 }
}

/// Pages that a request touches.
#[inline]
pub(crate) fn parts(request: &Request, page_size: u64) -> u32 {
    let shift = page_size.trailing_zeros();
    (((request.offset.0 + request.bytes.0 - 1) >> shift) - (request.offset.0 >> shift) + 1) as u32
}

state! {
    HostSide {
        stored {
            arrivals, last_arrival, commands, queues, in_flight, meter, stalled, link_in, link_out, dram, read_completions,
            write_completions, completions, parts_sent,
        }
        parts { arbiter, firmware }
    }
}

stored! {
    Completion { id, request, finish, uncorrectable, gave_up, refused, aborted, status, at }
    Command { id, request, remaining, queue, next_part, uncorrectable, gave_up, refused, trimmed, status, asked, next }
    HostQueue { outstanding, ends }
}
