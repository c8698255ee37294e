//! A connection's queue: commands as they come, their data, and what they are answered with. It knows no socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{Command, CommandId, Direction, FABRICS, Lba, Outcome, Place, QueueId, Refused, completion};
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
    /// For nothing more: it is refused.
    Refused {
        /// The command.
        command: Command,
        /// Why.
        refused: Refused,
    },
    /// More data is to come.
    More,
}

/// A transfer from the host.
struct Transfer {
    command: Command,
    planned: Option<Planned>,
    length: u32,
    data: Vec<u8>,
    whole: bool,
}

/// What of a queue is known where its commands are answered.
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
}

impl Queue {
    /// That of a connection that has just been agreed on.
    pub fn new(framing: Framing) -> Queue {
        let side = Side { framing, number: QueueId::ADMIN, outstanding: Arc::default(), controller: None };
        Queue { side, entries: QUEUE_ENTRIES, head: 0, transfers: BTreeMap::new(), next: 0 }
    }

    /// It has connected: to a controller, as its queue of a number and of so many entries from 0.
    pub fn connected(&mut self, controller: &Arc<Controller>, number: QueueId, size: u16) {
        self.side.controller = Some(controller.clone());
        (self.side.number, self.entries) = (number, size + 1);
    }

    /// Takes what the host sends. Commands of I/O queues are checked before data for them is asked for.
    pub fn take(&mut self, unit: Unit) -> Result<Waits, Fatal> {
        match unit {
            Unit::Command { header, data, whole } => {
                // A queue of n entries holds n - 1 commands (Base 2.0, 3.3.1.4 "Full Queue").
                if self.side.outstanding.fetch_add(1, Ordering::SeqCst) >= u32::from(self.entries) - 1 {
                    return Err(Fatal { status: fatal::SEQUENCE, information: 0, header });
                }
                self.head = (self.head + 1) % self.entries;
                let entry = header[8..].try_into().expect("Invariant: a command has 64 bytes");
                Ok(self.command(Command(entry), data, whole))
            }
            Unit::Data { command, transfer, offset, data, whole, last, header } => {
                let wrong = |status, information| Fatal { status, information, header };
                let Some(found) = self.transfers.get_mut(&transfer) else {
                    return Err(wrong(fatal::INVALID_HEADER, 10));
                };
                if found.command.id() != command {
                    return Err(wrong(fatal::INVALID_HEADER, 8));
                }
                // In order (TCP Transport 1.0, 3.3.2), and not more than was asked for.
                if offset as usize != found.data.len() {
                    return Err(wrong(fatal::INVALID_HEADER, 12));
                }
                let ends = u64::from(offset) + data.len() as u64;
                if ends > found.length.into() {
                    return Err(wrong(fatal::OUT_OF_RANGE, 0));
                }
                if last != (ends == u64::from(found.length)) {
                    return Err(wrong(fatal::INVALID_HEADER, 1));
                }
                found.data.extend(data);
                found.whole &= whole;
                Ok(if last { self.transferred(transfer) } else { Waits::More })
            }
        }
    }

    fn transferred(&mut self, transfer: u16) -> Waits {
        let Transfer { command, planned, data, whole, .. } =
            self.transfers.remove(&transfer).expect("Invariant: it has just been found");
        if whole {
            Waits::Ready { command, planned, data }
        } else {
            Waits::Refused { command, refused: Status::TRANSIENT_TRANSPORT_ERROR.into() }
        }
    }

    fn command(&mut self, command: Command, data: Vec<u8>, whole: bool) -> Waits {
        let refused = |status: Status| Waits::Refused { command, refused: status.into() };
        if !whole {
            return refused(Status::TRANSIENT_TRANSPORT_ERROR);
        }
        let io = !self.side.number.is_admin() && command.opcode() != FABRICS;
        let planned = match self.side.controller.as_ref().filter(|_| io).map(|controller| controller.plan(&command)) {
            Some(Err(status)) => return refused(status),
            planned => planned.and_then(Result::ok),
        };
        let length = match wants(&command, planned.as_ref()) {
            Ok(length) => length,
            Err(status) => return refused(status),
        };
        if length == 0 {
            return Waits::Ready { command, planned, data: Vec::new() };
        }
        match command.place() {
            Place::Capsule { offset } => {
                let end = offset.checked_add(length.into()).filter(|end| *end <= data.len() as u64);
                let Some(end) = end else { return refused(Status::SGL_OFFSET_INVALID) };
                let data = data[offset as usize..end as usize].to_vec();
                Waits::Ready { command, planned, data }
            }
            Place::Transport => self.transfer(command, planned, length),
            Place::Unknown => refused(Status::INVALID_SGL_TYPE),
        }
    }

    /// Asks the host for data. There are fewer transfers than commands, and fewer of these than numbers.
    fn transfer(&mut self, command: Command, planned: Option<Planned>, length: u32) -> Waits {
        while self.transfers.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let transfer = self.next;
        self.next = self.next.wrapping_add(1);
        self.transfers.insert(transfer, Transfer { command, planned, length, data: Vec::new(), whole: true });
        Waits::Data { command, transfer, length }
    }

    /// What of it is known where a command is answered that has just come.
    pub fn answers(&self, command: &Command) -> Answers {
        Answers { side: self.side.clone(), head: self.head, command: *command }
    }
}

/// Bytes that the host is to send for a command; what it says of its data is checked.
fn wants(command: &Command, planned: Option<&Planned>) -> Result<u32, Status> {
    let (length, direction) = (command.length(), command.direction());
    if direction == Direction::None {
        return Ok(0);
    }
    if command.is_fused_or_prp() || direction == Direction::Both {
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
