//! The host's interface: arrivals, submission queues, which command is taken up next, completions that the host has
//! seen.

use std::collections::VecDeque;

use units::{Bytes, Span, Time};
use workload::Request;

use crate::arbitration::Arbiter;
use crate::arena::CommandId;
use crate::commands::{Command, Commands, parts};
use crate::config::HostConfig;
use crate::core::Core;
use crate::firmware::Firmware;
use crate::meter::Meter;
use crate::observe::probe::{Event, Probe};
use crate::persist::{state, stored};
use crate::status::Status;

/// A finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that [`Drive::submit`](crate::Drive::submit) gave it.
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

#[derive(Clone, Copy, Default)]
pub(crate) struct HostQueue {
    outstanding: u32,
    /// The first command that waits, and the last.
    ends: Option<(CommandId, CommandId)>,
}

/// The host's interface: what arrives, what waits in the submission queues, what has completed.
pub(crate) struct HostSide {
    /// Requests that have not arrived yet, with their numbers.
    pub arrivals: VecDeque<(u64, Request)>,
    pub last_arrival: Time,
    queues: Vec<HostQueue>,
    arbiter: Arbiter,
    in_flight: u32,
    /// Time without a request and with one.
    pub meter: Meter<2>,
    /// The queue that the next arrival waits for.
    pub stalled: Option<usize>,
    pub firmware: Firmware,
    pub completions: Vec<Completion>,
}

impl HostSide {
    pub fn new(config: &HostConfig) -> HostSide {
        HostSide {
            arrivals: VecDeque::new(),
            last_arrival: Time::ZERO,
            queues: vec![HostQueue::default(); config.queues.into()],
            arbiter: Arbiter::new(config),
            in_flight: 0,
            meter: Meter::new(),
            stalled: None,
            firmware: Firmware::default(),
            completions: Vec::new(),
        }
    }

    fn queue_of(&self, request: &Request) -> usize {
        let (queue, queues) = (usize::from(request.queue), self.queues.len());
        if queue < queues { queue } else { queue % queues }
    }

    /// A request reaches its queue, or stays in the host until the queue has room. Returns it if the drive works on it
    /// at once.
    pub fn arrive<P: Probe>(&mut self, core: &mut Core<P>, commands: &mut Commands) -> Option<CommandId> {
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
        let command = commands.take(Command {
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
        self.enqueue(commands, queue, command);
        None
    }

    fn enqueue(&mut self, commands: &mut Commands, queue: usize, command: CommandId) {
        let entry = &mut self.queues[queue];
        if let Some((first, last)) = entry.ends {
            entry.ends = Some((first, command));
            commands[last].next = Some(command);
        } else {
            entry.ends = Some((command, command));
            self.arbiter.set_waiting(queue, true);
        }
    }

    /// Takes the next command from the submission queues.
    fn fetch(&mut self, commands: &Commands) -> Option<CommandId> {
        let queue = self.arbiter.next()?;
        let (command, last) = self.queues[queue].ends?;
        self.queues[queue].ends = commands[command].next.map(|next| (next, last));
        if self.queues[queue].ends.is_none() {
            self.arbiter.set_waiting(queue, false);
        }
        Some(command)
    }

    /// A read's completion reaches the host. Returns the command that the drive works on next.
    pub fn read_completed<P: Probe>(&mut self, core: &mut Core<P>, commands: &mut Commands) -> Option<CommandId> {
        let command = commands.read_completed(core);
        self.complete(core, commands, command)
    }

    /// A completion without data reaches the host. Returns the command that the drive works on next.
    pub fn write_completed<P: Probe>(&mut self, core: &mut Core<P>, commands: &mut Commands) -> Option<CommandId> {
        let command = commands.write_completed(core);
        self.complete(core, commands, command)
    }

    fn complete<P: Probe>(
        &mut self,
        core: &mut Core<P>,
        commands: &mut Commands,
        command: CommandId,
    ) -> Option<CommandId> {
        let Command { id, request, queue, uncorrectable, gave_up, refused, status, asked, .. } = commands[command];
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
        commands.release(command);
        let queue = usize::from(queue);
        self.queues[queue].outstanding -= 1;
        if self.stalled == Some(queue) {
            self.stalled = None;
            core.agenda.set(core.slots.arrival, core.now);
        }
        let next = self.fetch(commands);
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
    pub fn power_off<P: Probe>(&mut self, core: &mut Core<P>, commands: &mut Commands) {
        let mut aborted: Vec<(u64, Request)> =
            commands.ids().map(|id| (commands[id].id, commands[id].asked_for())).collect();
        aborted.sort_unstable_by_key(|(id, _)| *id);
        for (id, request) in aborted {
            self.completions.push(Completion { aborted: true, ..Completion::new(id, request, core.now) });
            core.counters.requests_aborted += 1;
            if P::EXPLAINS {
                core.probe.explain(core.now, Event::Completed { request: id });
            }
        }
        commands.power_off(core.now);
        self.queues.iter_mut().for_each(|queue| *queue = HostQueue::default());
        self.arbiter = Arbiter::new(&core.plan.config.host);
        self.in_flight = 0;
        self.meter.enter(core.now, 0, None);
        self.stalled = Some(NO_POWER);
        self.firmware.power_off(core.now, &core.plan);
    }

    /// The drive takes requests again.
    pub fn power_on<P: Probe>(&mut self, core: &mut Core<P>) {
        self.stalled = None;
        if let Some((_, first)) = self.arrivals.front() {
            core.agenda.set(core.slots.arrival, core.now.max(first.time + core.plan.config.host.t_submit));
        }
    }
}

state! {
    HostSide {
        stored { arrivals, last_arrival, queues, in_flight, meter, stalled, completions }
        parts { arbiter, firmware }
    }
}

stored! {
    Completion { id, request, finish, uncorrectable, gave_up, refused, aborted, status, at }
    HostQueue { outstanding, ends }
}
