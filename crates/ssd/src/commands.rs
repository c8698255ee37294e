//! Commands that the drive has taken, and the ways of their data and of their completions: the links and the DRAM.
//!
//! The host's interface takes commands up and completes them (`host.rs`); what lies behind it knows them by number,
//! moves their data and says when they are done.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use units::{Bytes, Lpn, Span, Time};
use workload::Request;

use crate::agenda::FifoServer;
use crate::arena::{Arena, CommandId};
use crate::core::Core;
use crate::observe::probe::{Event, Probe, Server};
use crate::persist::{state, stored};
use crate::status::Status;

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
    pub next: Option<CommandId>,
}

impl Command {
    /// The request as the host made it.
    pub fn asked_for(&self) -> Request {
        Request { offset: self.asked, ..self.request }
    }
}

/// The commands that the drive has taken from its host: those that it works on, and those that wait in its submission
/// queues; and what moves their data and their completions.
pub(crate) struct Commands {
    taken: Arena<CommandId, Command>,
    pub link_in: FifoServer,
    pub link_out: FifoServer,
    pub dram: FifoServer,
    read_completions: VecDeque<(Time, CommandId)>,
    write_completions: VecDeque<(Time, CommandId)>,
    /// Pages that went to the host.
    pub parts_sent: u64,
}

impl Index<CommandId> for Commands {
    type Output = Command;

    #[inline]
    fn index(&self, command: CommandId) -> &Command {
        &self.taken[command]
    }
}

impl IndexMut<CommandId> for Commands {
    #[inline]
    fn index_mut(&mut self, command: CommandId) -> &mut Command {
        &mut self.taken[command]
    }
}

impl Commands {
    pub fn new() -> Commands {
        Commands {
            taken: Arena::new(),
            link_in: FifoServer::default(),
            link_out: FifoServer::default(),
            dram: FifoServer::default(),
            read_completions: VecDeque::new(),
            write_completions: VecDeque::new(),
            parts_sent: 0,
        }
    }

    /// A command is taken from the host.
    pub fn take(&mut self, command: Command) -> CommandId {
        self.taken.insert(command)
    }

    /// A command has completed.
    pub fn release(&mut self, command: CommandId) {
        self.taken.release(command);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// All of them.
    pub fn ids(&self) -> impl Iterator<Item = CommandId> {
        self.taken.ids()
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
        let entry = &mut self[command];
        entry.remaining -= 1;
        if entry.remaining == 0 {
            let time = sent + core.plan.config.host.t_complete;
            if self.read_completions.is_empty() {
                core.agenda.set(core.slots.read_completion, time);
            }
            self.read_completions.push_back((time, command));
        }
    }

    /// A read's completion has reached the host.
    pub fn read_completed<P: Probe>(&mut self, core: &mut Core<P>) -> CommandId {
        let (_, command) = self.read_completions.pop_front().expect("Invariant: the event is a sent completion");
        let next = self.read_completions.front().map_or(Time::NEVER, |(time, _)| *time);
        core.agenda.set(core.slots.read_completion, next);
        command
    }

    /// A command is refused.
    pub fn refuse<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId) {
        self[command].refused = true;
        self.acknowledge_now(core, command);
    }

    /// A command is not done, for that reason.
    pub fn fail<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId, status: Status) {
        self[command].status = status;
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

    /// A completion without data has reached the host.
    pub fn write_completed<P: Probe>(&mut self, core: &mut Core<P>) -> CommandId {
        let (_, command) = self.write_completions.pop_front().expect("Invariant: the event is an acknowledgement");
        let next = self.write_completions.front().map_or(Time::NEVER, |(time, _)| *time);
        core.agenda.set(core.slots.write_completion, next);
        command
    }

    /// The power is cut: nothing is on its way any more, and no command is left.
    pub fn power_off(&mut self, now: Time) {
        self.taken = Arena::new();
        [&mut self.link_in, &mut self.link_out, &mut self.dram].into_iter().for_each(|server| server.stop(now));
        self.read_completions.clear();
        self.write_completions.clear();
    }
}

/// Tells the probe that a server serves until `end`.
#[inline]
pub(crate) fn tell_service<P: Probe>(core: &mut Core<P>, server: Server, service: Span, end: Time) {
    if P::EXPLAINS {
        core.probe.explain(core.now, Event::Serves { server, from: Time(end.0 - service.0), to: end });
    }
}

/// The part of a request that lies in one page: bytes `from..to` of it.
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

/// The parts of a request that lie in `bytes` of its data, from those of the page `first` on.
pub(crate) fn parts_from(request: Request, page_size: u64, first: Lpn, bytes: u32) -> impl Iterator<Item = Part> {
    let mut left = bytes;
    let mut index = (first.0 - request.offset.0 / page_size) as u32;
    std::iter::from_fn(move || {
        (left > 0).then(|| {
            let part = part(&request, page_size, index);
            (index, left) = (index + 1, left - (part.to - part.from));
            part
        })
    })
}

/// Pages that a request touches.
#[inline]
pub(crate) fn parts(request: &Request, page_size: u64) -> u32 {
    let shift = page_size.trailing_zeros();
    (((request.offset.0 + request.bytes.0 - 1) >> shift) - (request.offset.0 >> shift) + 1) as u32
}

state! {
    Commands { stored { taken, link_in, link_out, dram, read_completions, write_completions, parts_sent } }
}

stored! {
    Command { id, request, remaining, queue, next_part, uncorrectable, gave_up, refused, trimmed, status, asked, next }
}
