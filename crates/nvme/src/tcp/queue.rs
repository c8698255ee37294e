//! A connection's queue: commands as they come, their data, and what they are answered with. It knows no socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{
    Command, CommandId, Direction, FABRICS, Fused, Lba, Outcome, Place, QueueId, Refused, completion,
};
use crate::controller::Controller;
use crate::io::Planned;
use crate::limits::{LARGEST_TRANSFER, QUEUE_ENTRIES};
use crate::log_pages::Failed;
use crate::status::Status;
use crate::tcp::pdu::{Fatal, Framing, Unit, fatal};

/// What a command waits for.
pub enum Waits {
    /// For nothing: with its data.
    Ready {
        /// The command.
        command: Command,
        /// What it asks a drive for, if it does.
        planned: Option<Planned>,
        /// Its data.
        data: Vec<u8>,
    },
    /// For data that the host is to be asked for.
    Data {
        /// The command.
        command: Command,
        /// The name of the transfer.
        transfer: u16,
        /// How many bytes.
        length: u32,
    },
    /// For nothing: two that are done as one, with their data.
    Fused {
        /// The commands, in their order.
        commands: [Command; 2],
        /// What they ask a drive for.
        planned: [Planned; 2],
        /// Their data.
        data: [Vec<u8>; 2],
    },
    /// For nothing more: it is refused.
    Refused {
        /// The command.
        command: Command,
        /// Why.
        refused: Refused,
    },
}

/// A command with what has come of its data.
struct Part {
    command: Command,
    planned: Option<Planned>,
    data: Vec<u8>,
    /// What is still to be transferred \[B].
    missing: u32,
    whole: bool,
}

/// A command, or two that are fused, for the data of one of which the host was asked.
struct Transfer {
    parts: Vec<Part>,
    at: usize,
    length: u32,
}

/// The part of a queue that is known where its commands are answered.
#[derive(Clone)]
pub struct Side {
    /// How units are framed.
    pub framing: Framing,
    /// Its number.
    pub number: QueueId,
    /// Commands that have come and have not been answered.
    outstanding: Arc<AtomicU32>,
    /// The controller; none before Connect.
    pub controller: Option<Arc<Controller>>,
}

/// A queue.
pub struct Queue {
    /// What answers need of it.
    pub side: Side,
    /// Entries, and which one comes next.
    entries: u16,
    head: u16,
    transfers: BTreeMap<u16, Transfer>,
    next: u16,
    /// The first of two fused commands, with what is in its capsule: the next command is the second one.
    first: Option<Capsule>,
}

/// A command as it has come.
struct Capsule {
    command: Command,
    data: Vec<u8>,
    whole: bool,
}

impl Queue {
    /// That of a connection that has just been agreed on.
    pub fn new(framing: Framing) -> Queue {
        let side = Side { framing, number: QueueId::ADMIN, outstanding: Arc::default(), controller: None };
        Queue { side, entries: QUEUE_ENTRIES, head: 0, transfers: BTreeMap::new(), next: 0, first: None }
    }

    /// It has connected: to a controller, as its queue of a number and of this many entries from 0.
    pub fn connected(&mut self, controller: &Arc<Controller>, number: QueueId, size: u16) {
        self.side.controller = Some(controller.clone());
        (self.side.number, self.entries) = (number, size + 1);
    }

    /// Takes what the host sends. Commands of I/O queues are checked before data for them is asked for.
    pub fn take(&mut self, unit: Unit) -> Result<Vec<Waits>, Fatal> {
        match unit {
            Unit::Command { header, data, whole } => {
                // A queue of n entries holds n - 1 commands (Base 2.0, 3.3.1.4 "Full Queue").
                if self.side.outstanding.fetch_add(1, Ordering::SeqCst) >= u32::from(self.entries) - 1 {
                    return Err(Fatal { status: fatal::SEQUENCE, information: 0, header });
                }
                self.head = (self.head + 1) % self.entries;
                let entry = header[8..].try_into().expect("Invariant: a command has 64 bytes");
                Ok(self.capsule(Capsule { command: Command(entry), data, whole }))
            }
            Unit::Data { command, transfer, offset, data, whole, last, header } => {
                let wrong = |status, information| Fatal { status, information, header };
                let Some(found) = self.transfers.get_mut(&transfer) else {
                    return Err(wrong(fatal::INVALID_HEADER, 10));
                };
                let part = &mut found.parts[found.at];
                if part.command.id() != command {
                    return Err(wrong(fatal::INVALID_HEADER, 8));
                }
                // In order (TCP Transport 1.0, 3.3.2), and not more than was asked for.
                if offset as usize != part.data.len() {
                    return Err(wrong(fatal::INVALID_HEADER, 12));
                }
                let ends = u64::from(offset) + data.len() as u64;
                if ends > found.length.into() {
                    return Err(wrong(fatal::OUT_OF_RANGE, 0));
                }
                if last != (ends == u64::from(found.length)) {
                    return Err(wrong(fatal::INVALID_HEADER, 1));
                }
                part.data.extend(data);
                part.whole &= whole;
                if !last {
                    return Ok(Vec::new());
                }
                part.missing = 0;
                let parts = self.transfers.remove(&transfer).map_or_else(Vec::new, |found| found.parts);
                Ok(self.goes_on(parts))
            }
        }
    }

    /// Takes a command. Behind the first of two that are fused comes the second one, or the first is aborted.
    fn capsule(&mut self, capsule: Capsule) -> Vec<Waits> {
        let first = self.first.take();
        let command = capsule.command;
        let fused = if self.is_io(&command) { command.fused() } else { Fused::Not };
        if let (Some(first), Fused::Second) = (first.as_ref(), fused) {
            return self.both([first, &capsule]);
        }
        let missed = first.map(|first| refused(first.command, Status::MISSING_FUSED));
        let now = match fused {
            Fused::First => {
                self.first = Some(capsule);
                Vec::new()
            }
            Fused::Second => vec![refused(command, Status::MISSING_FUSED)],
            _ => match self.part(&capsule) {
                Ok(part) => self.goes_on(vec![part]),
                Err(status) => vec![refused(command, status)],
            },
        };
        missed.into_iter().chain(now).collect()
    }

    /// Two that are fused: what is wrong with one aborts the other.
    fn both(&mut self, capsules: [&Capsule; 2]) -> Vec<Waits> {
        let commands = capsules.map(|capsule| capsule.command);
        let [first, second] = capsules.map(|capsule| self.part(capsule));
        let beside = |first: &Part, second: &Part| match (&first.planned, &second.planned) {
            (Some(first), Some(second)) => first.is_beside(second),
            _ => false,
        };
        let statuses = match (first, second) {
            (Ok(first), Ok(second)) if beside(&first, &second) => return self.goes_on(vec![first, second]),
            (Ok(_), Ok(_)) => [Status::INVALID_FIELD; 2],
            (Err(status), _) => [status, Status::FAILED_FUSED],
            (Ok(_), Err(status)) => [Status::FAILED_FUSED, status],
        };
        commands.into_iter().zip(statuses).map(|(command, status)| refused(command, status)).collect()
    }

    fn is_io(&self, command: &Command) -> bool {
        !self.side.number.is_admin() && command.opcode() != FABRICS
    }

    /// Checks a command, and what it says of its data.
    fn part(&self, Capsule { command, data, whole }: &Capsule) -> Result<Part, Status> {
        if !whole {
            return Err(Status::TRANSIENT_TRANSPORT_ERROR);
        }
        let controller = self.side.controller.as_ref().filter(|_| self.is_io(command));
        let planned = controller.map(|controller| controller.plan(command)).transpose()?;
        let length = wants(command, planned.as_ref())?;
        let part = |data, missing| Part { command: *command, planned, data, missing, whole: true };
        match command.place() {
            _ if length == 0 => Ok(part(Vec::new(), 0)),
            Place::Capsule { offset } => {
                let end = offset.checked_add(length.into()).filter(|end| *end <= data.len() as u64);
                let end = end.ok_or(Status::SGL_OFFSET_INVALID)?;
                Ok(part(data[offset as usize..end as usize].to_vec(), 0))
            }
            Place::Transport => Ok(part(Vec::new(), length)),
            Place::Unknown => Err(Status::INVALID_SGL_TYPE),
        }
    }

    /// Asks the host for data that is missing. There are fewer transfers than commands, and fewer of these than
    /// numbers.
    fn goes_on(&mut self, parts: Vec<Part>) -> Vec<Waits> {
        let Some(at) = parts.iter().position(|part| part.missing > 0) else { return ready(parts) };
        while self.transfers.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let (transfer, command, length) = (self.next, parts[at].command, parts[at].missing);
        self.next = self.next.wrapping_add(1);
        self.transfers.insert(transfer, Transfer { parts, at, length });
        vec![Waits::Data { command, transfer, length }]
    }

    /// The part of it that is known where a command that has just come is answered.
    pub fn answers(&self, command: &Command) -> Answers {
        Answers { side: self.side.clone(), head: self.head, command: *command }
    }
}

fn refused(command: Command, status: Status) -> Waits {
    Waits::Refused { command, refused: status.into() }
}

/// Commands whose data has come.
fn ready(mut parts: Vec<Part>) -> Vec<Waits> {
    if let Some(broken) = parts.iter().position(|part| !part.whole) {
        let status = |at| if at == broken { Status::TRANSIENT_TRANSPORT_ERROR } else { Status::FAILED_FUSED };
        return (0..).zip(parts).map(|(at, part)| refused(part.command, status(at))).collect();
    }
    let Some(Part { command, planned, data, .. }) = parts.pop() else { return Vec::new() };
    match parts.pop() {
        None => vec![Waits::Ready { command, planned, data }],
        Some(first) => match (first.planned, planned) {
            (Some(of_first), Some(planned)) => vec![Waits::Fused {
                commands: [first.command, command],
                planned: [of_first, planned],
                data: [first.data, data],
            }],
            _ => Vec::new(),
        },
    }
}

/// Bytes that the host is to send for a command; what it says of its data is checked.
fn wants(command: &Command, planned: Option<&Planned>) -> Result<u32, Status> {
    let (length, direction) = (command.length(), command.direction());
    if direction == Direction::None {
        return Ok(0);
    }
    if command.uses_prp() || direction == Direction::Both || (planned.is_none() && command.fused() != Fused::Not) {
        return Err(Status::INVALID_FIELD);
    }
    if planned.is_some_and(|planned| !planned.fits(length)) {
        return Err(Status::SGL_LENGTH_INVALID);
    }
    match direction {
        Direction::FromHost if length > LARGEST_TRANSFER => Err(Status::INVALID_FIELD),
        Direction::FromHost => Ok(length),
        _ if command.place() != Place::Transport => Err(Status::INVALID_SGL_TYPE),
        _ => Ok(0),
    }
}

impl Side {
    /// Commands that have come are answered no more.
    pub fn forgets(&self, commands: usize) {
        self.outstanding.fetch_sub(commands as u32, Ordering::SeqCst);
    }

    /// A completion that answers no command that is still counted: of a request for events.
    pub fn event(&self, command: CommandId, result: u64, head: u16) -> Vec<u8> {
        self.outstanding.fetch_sub(1, Ordering::SeqCst);
        let mut unit = Vec::new();
        self.framing.completion(&completion(head, command, result, 0), &mut unit);
        unit
    }
}

/// A command that is to be answered.
pub struct Answers {
    side: Side,
    /// The head of the queue then.
    pub head: u16,
    /// The command.
    pub command: Command,
}

impl Answers {
    /// What is sent: the data, then the completion. What has failed goes into the error log.
    pub fn units(&self, outcome: Outcome, block: Lba) -> Vec<u8> {
        let (side, command) = (&self.side, &self.command);
        let mut units = Vec::new();
        let (result, status) = match outcome {
            Ok(answer) if answer.data.len() > command.length() as usize => (0, Status::SGL_LENGTH_INVALID.field(false)),
            Ok(answer) => {
                if !answer.data.is_empty() {
                    side.framing.data(command.id(), &answer.data, &mut units);
                }
                (answer.result, 0)
            }
            Err(Refused { status, result }) => {
                if let Some(controller) = &side.controller {
                    let (queue, namespace) = (side.number, command.namespace());
                    let status = status.field(true);
                    controller.failed(Failed { queue, command: command.id(), status, block, namespace });
                }
                (result.into(), status.field(side.controller.is_some()))
            }
        };
        // Before the host can know: it may send another command for it.
        side.outstanding.fetch_sub(1, Ordering::SeqCst);
        side.framing.completion(&completion(self.head, command.id(), result, status), &mut units);
        units
    }
}
