//! A connection: one thread reads commands, another one sends what the socket does not take at once.

use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use served::{
    Answers as Replies, Asked, Caller, Clock, Did, Export, Exported, Failure, Input, Message, Opened, Outlet, Place,
    Protocol, Queue as DriveQueue, Reply, SENT_AT_ONCE, Served, Server, Store, Work,
};

use crate::auth::Access;
use crate::command::{Answer, Command, FABRICS, Lba, Outcome, QueueId, Refused, fabrics};
use crate::controller::{Controller, Does};
use crate::fdp::Placement;
use crate::health::{Health, Snapshot, broken_zones};
use crate::io::{self, Io, Planned};
use crate::status::Status;
use crate::subsystem::Subsystem;
use crate::target::{Connected, Target};
use crate::tcp::pdu::{End, Framing, terminate};
use crate::tcp::queue::{Answers, Queue, Waits};

/// How long a host may take from its call to its first commands.
const UNKNOWN: Duration = Duration::from_secs(30);
/// How much longer than it has said a host may be silent: its timer and its way here.
const LENIENCE: Duration = Duration::from_secs(2);

/// Begins to serve drives to hosts.
pub fn serve(drives: Vec<(Subsystem, Exported)>, access: Access, clock: Clock) -> Server {
    let (subsystems, drives) = drives.into_iter().unzip();
    Server::start(Arc::new(Tcp { target: Target::new(subsystems, access) }), drives, clock)
}

/// Where hosts find a subsystem.
pub fn uri(place: &Place, nqn: &str) -> String {
    match place {
        Place::Tcp(Some(address)) => format!("nvme+tcp://{address}/{nqn}"),
        Place::Tcp(None) => format!("nvme+tcp://?/{nqn}"),
        Place::Unix(path) => format!("{}: {nqn}", path.display()),
    }
}

struct Tcp {
    target: Target,
}

impl Protocol for Tcp {
    fn serve(&self, client: &Caller, exports: &[Export]) -> Option<Served> {
        client.hurry(Some(UNKNOWN));
        let mut input = BufReader::new(client.input());
        let framing = match Framing::agree(&mut input) {
            Ok((framing, answer)) => (&*client.stream).write_all(&answer).ok().map(|()| framing)?,
            Err(end) => {
                say_goodbye(client, end);
                return None;
            }
        };
        let outlet = Arc::new(Outlet::new(client.stream.clone(), client.reading.clone()));
        let sender = thread::spawn({
            let outlet = outlet.clone();
            move || outlet.send_waiting()
        });
        let mut connection = Connection {
            client,
            target: &self.target,
            exports,
            queue: Queue::new(framing),
            outlet: outlet.clone(),
            replies: Some(Replies::through(&outlet)),
            connected: None,
            requested: false,
            refused: 0,
        };
        let end = connection.read(&mut input);
        let served = connection.leaves();
        let (lag, errors) = sender.join().expect("Invariant: the sending thread does not panic");
        say_goodbye(client, end);
        served.map(|Left { export, requested, refused }| Served { export, requested, lag, errors: errors + refused })
    }
}

/// Tells a host why the connection ends, where it has broken the protocol.
fn say_goodbye(client: &Caller, end: End) {
    if let End::Fatal(fatal) = end {
        let _ = (&*client.stream).write_all(&terminate(&fatal));
        // It may still send: what is unread would take the message away from it.
        client.stream.shut(Shutdown::Write);
        client.drain();
    }
}

struct Connection<'a> {
    client: &'a Caller,
    target: &'a Target,
    exports: &'a [Export],
    queue: Queue,
    outlet: Arc<Outlet>,
    /// Without it no further reply comes; an engine has it once the queue is one of a drive.
    replies: Option<Replies>,
    connected: Option<Connected>,
    /// It has asked the drive for something.
    requested: bool,
    /// Commands of an I/O queue that did not reach the drive.
    refused: u64,
}

impl Connection<'_> {
    /// Takes commands until the end.
    fn read(&mut self, input: &mut BufReader<Input>) -> End {
        loop {
            let read = self.queue.side.framing.read(input);
            let taken = read.and_then(|unit| self.queue.take(unit).map_err(End::Fatal));
            let goes_on = match taken {
                Err(end) => return end,
                Ok(waits) => waits.into_iter().all(|waits| self.sees(waits)),
            };
            if !goes_on {
                return End::Gone;
            }
        }
    }

    /// Does what a command waits for; returns whether others may follow.
    fn sees(&mut self, waits: Waits) -> bool {
        match waits {
            Waits::Data { command, transfer, length } => {
                self.outlet.say(self.queue.side.framing.ready(command.id(), transfer, length));
                true
            }
            Waits::Refused { command, refused } => {
                self.refuse(&command, refused);
                true
            }
            Waits::Ready { command, planned, data } => self.command(command, planned, data),
            Waits::Fused { commands: [first, second], planned: [of_first, of_second], data: [compared, written] } => {
                if let Some(Err(status)) = self.connected.as_ref().map(|of| of.admits(&first)) {
                    [first, second].iter().for_each(|command| self.refuse(command, status.into()));
                    return true;
                }
                let io = of_first.with(compared).and_then(|first| Io::fused(first, of_second.with(written)?));
                match io {
                    Ok(io) => self.ask(Some(self.queue.answers(&first)), self.queue.answers(&second), io),
                    Err(status) => {
                        [first, second].iter().for_each(|command| self.refuse(command, status.into()));
                        true
                    }
                }
            }
        }
    }

    /// Answers a command; returns whether others may follow.
    fn command(&mut self, command: Command, planned: Option<Planned>, data: Vec<u8>) -> bool {
        if let Some(Err(status)) = self.connected.as_ref().map(|of| of.admits(&command)) {
            self.refuse(&command, status.into());
            return true;
        }
        let answers = self.queue.answers(&command);
        if let Some(planned) = planned {
            return match planned.with(data) {
                Ok(io) => self.ask(None, answers, io),
                Err(status) => {
                    self.refuse(&command, status.into());
                    true
                }
            };
        }
        let head = answers.head;
        let outcome = match (&self.connected, command.opcode()) {
            (None, FABRICS) if command.fabrics_type() == fabrics::CONNECT => {
                let outcome = self.connect(&command, &data);
                let opened = outcome.is_ok();
                self.answer(answers, outcome);
                return !opened || self.opens();
            }
            // The first command of a queue (Base 2.0, 6.3).
            (None, _) => Err(Status::COMMAND_SEQUENCE_ERROR.into()),
            (Some(of), _) => {
                let (snapshot, broken) = (|| self.export()?.look(Snapshot::of), || self.export()?.look(broken_zones));
                let at = self.client.stream.local();
                let does = self.target.command(of, &command, &data, &snapshot, &broken, at);
                if of.queue.is_admin() {
                    self.queue.side.forgets(of.controller.takes_ended_events());
                    self.client.hurry(patience(&of.controller));
                }
                match does {
                    Does::Answer(outcome) => outcome,
                    Does::Waits => return self.tells(head),
                    Does::Drive(io) => return self.has_done(answers, io),
                    Does::Sanitize(io) => {
                        let controller = of.controller.clone();
                        self.answer(answers, Ok(Answer::default()));
                        return self.export().is_some_and(|export| sanitize(export.clone(), controller, io));
                    }
                }
            }
        };
        self.answer(answers, outcome);
        self.tells(head)
    }

    /// A command that the drive has a part in, and the one before it that it is fused with.
    fn ask(&mut self, first: Option<Answers>, answers: Answers, io: Io) -> bool {
        let Some(export) = self.export() else { return false };
        let connection = self.client.connection;
        let Some(Connected { controller, .. }) = &self.connected else { return false };
        let (begins, changes) = (controller.begins(io.changes()), io.changes());
        let (work, handles) = (io.work(&export.store), io.asks_for_handles());
        let mut given = self.given(export, first, answers, io);
        match begins {
            Ok(begun) => given.begun = changes.then(|| (controller.clone(), begun)),
            Err(status) => {
                given.give(Err(status), None);
                return true;
            }
        }
        match work {
            Some(work) => {
                let asked = export.ask(connection, given.asked(work));
                self.requested = true;
                asked
            }
            None => {
                let placement = if handles { export.look(Placement::of).flatten() } else { None };
                let handles = placement.map_or_else(Vec::new, |placement| placement.available);
                given.give(Ok(Did { handles, ..Did::default() }), None);
                true
            }
        }
    }

    /// An admin command that the drive has a part in.
    fn has_done(&self, answers: Answers, io: Io) -> bool {
        let Some(export) = self.export() else { return false };
        let Some(work) = io.work(&export.store) else { return false };
        export.command(self.given(export, None, answers, io).asked(work))
    }

    /// What a command of the drive is answered with, for which there is room until then.
    fn given(&self, export: &Export, first: Option<Answers>, answers: Answers, io: Io) -> Given {
        self.outlet.admit(io.bytes());
        Given { outlet: self.outlet.clone(), store: export.store.clone(), first, answers, io, begun: None }
    }

    fn export(&self) -> Option<&Export> {
        self.exports.get(self.connected.as_ref()?.controller.drive?)
    }

    fn connect(&mut self, command: &Command, data: &[u8]) -> Outcome {
        let stream = self.client.stream.clone();
        let end = Box::new(move || stream.shut(Shutdown::Both));
        let connected = self.target.connect(command, data, end)?;
        let Connected { controller, queue, size, .. } = &connected;
        self.queue.connected(controller, *queue, *size);
        let result = connected.result();
        self.client.hurry(if queue.is_admin() { patience(controller) } else { None });
        let begins = queue.is_admin().then(|| controller.clone());
        self.connected = Some(connected);
        if let (Some(controller), Some(export)) = (begins, self.export()) {
            controller.begins_with(export.look(broken_zones).unwrap_or_default());
        }
        Ok(Answer::result(result))
    }

    /// An I/O queue is one of the drive's. The drive knows of it before the next command comes.
    fn opens(&mut self) -> bool {
        let Some(queue) = self.connected.as_ref().map(|of| of.queue).filter(|queue| !queue.is_admin()) else {
            return true;
        };
        let Some(answers) = self.replies.take() else { return false };
        let Some(export) = self.export() else { return false };
        let (connection, process) = (self.client.connection, self.client.stream.process());
        let opened = export.open(Opened { connection, answers, process, queue: Some(DriveQueue(queue.0 - 1)) });
        self.client.chose();
        opened
    }

    /// Tells the host of an event, if it wants to be told and there is one.
    fn tells(&self, head: u16) -> bool {
        let Some(Connected { controller, queue: QueueId::ADMIN, .. }) = &self.connected else { return true };
        if controller.awaits_events()
            && let Some((health, broken)) =
                self.export().and_then(|export| export.look(|live| (Health::of(live), broken_zones(live))))
        {
            while let Some((command, result)) = controller.event(&health, &broken) {
                self.outlet.say(self.queue.side.event(command, result, head));
            }
        }
        true
    }

    /// Refuses a command.
    fn refuse(&mut self, command: &Command, refused: Refused) {
        self.refused += u64::from(!self.queue.side.number.is_admin());
        self.answer(self.queue.answers(command), Err(refused));
    }

    /// Answers a command that the drive has no part in.
    fn answer(&self, answers: Answers, outcome: Outcome) {
        self.outlet.say(answers.units(outcome, Lba::default()));
    }

    /// The connection has ended. Commands before are still answered.
    fn leaves(self) -> Option<Left> {
        let connected = self.connected?;
        self.target.leave(&connected);
        let drive = connected.controller.drive?;
        if !connected.queue.is_admin() {
            self.exports[drive].close(self.client.connection);
        }
        Some(Left { export: drive, requested: self.requested, refused: self.refused })
    }
}

/// What a connection has left behind: the export that it chose, whether it has asked the drive for something, and how
/// often in vain.
struct Left {
    export: usize,
    requested: bool,
    refused: u64,
}

/// How long a host may be silent.
fn patience(controller: &Controller) -> Option<Duration> {
    let keep_alive = controller.keep_alive();
    (keep_alive > 0).then(|| Duration::from_millis(keep_alive.into()) + LENIENCE)
}

/// A sanitize operation, which has been answered. After a power cut it goes on (Base 2.0, 8.20).
fn sanitize(export: Export, controller: Arc<Controller>, io: Io) -> bool {
    let (Some(work), drive) = (io.work(&export.store), export.clone()) else { return false };
    let answer = move |outcome: Result<Did, Failure>, _| {
        match outcome {
            Err(Failure::PowerCut) => drop(sanitize(drive, controller, io)),
            outcome => controller.sanitized(outcome.is_ok_and(|did| io.carry_out(&drive.store, &did).is_ok())),
        }
        Instant::now()
    };
    export.command(Asked { work, answer: Box::new(answer) })
}

/// What a command of the drive is answered with.
struct Given {
    outlet: Arc<Outlet>,
    store: Arc<Store>,
    /// Of the command before it that it is fused with.
    first: Option<Answers>,
    answers: Answers,
    io: Io,
    /// Of a command that changes data: the controller, and how many sanitize operations had begun before it.
    begun: Option<(Arc<Controller>, u64)>,
}

impl Given {
    /// What the drive is asked to do, which is answered when that has been done.
    fn asked(self, work: Work) -> Asked {
        Asked { work, answer: Box::new(|outcome, due| self.give(outcome.map_err(io::of_drive), due)) }
    }

    /// Answers it; where the drive has done it, does to the data what it asks for.
    fn give(self, outcome: Result<Did, Status>, due: Option<Instant>) -> Instant {
        let Given { outlet, store, first, answers, io, begun } = self;
        // By the real clock the drive's thread does not wait for the machine's disk; by the virtual one no time passes
        // meanwhile.
        let waits_for_disk = due.is_some() && io.is_durable() && store.is_file();
        let held = io.bytes();
        let later = held > SENT_AT_ONCE || waits_for_disk;
        let make = move || {
            let outcome = outcome.and_then(|did| {
                begun.map_or(Ok(()), |(controller, begun)| controller.has_kept(begun))?;
                io.carry_out(&store, &did)
            });
            let failed = outcome.is_err();
            let says =
                |answers: &Answers, outcome: Result<_, _>| answers.units(outcome.map_err(Refused::from), io.block());
            let bytes = match first {
                None => says(&answers, outcome),
                Some(first) => {
                    let [of_first, outcome] = io.of_both(outcome);
                    [says(&first, of_first), says(&answers, outcome)].concat()
                }
            };
            Message { bytes, failed }
        };
        outlet.answer(Reply { held, later, due, make })
    }
}
