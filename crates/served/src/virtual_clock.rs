//! The virtual clock: replies leave at once, and simulated time goes on as the drive needs, whatever the machine does.
//!
//! A client that waits for a reply makes its next request because of it. So simulated time stands still after each
//! reply until every client waits for the drive: all of its threads sleep (`watch.rs`), all that it has sent is read,
//! and all that it is sent has arrived. What it asks for until then comes at the time of the reply, and the think time
//! after it.
//!
//! Some clients cannot be watched: those of other machines or of this process, the kernel's, and who passes on what
//! others ask for. For them a completion that is delivered at a simulated time gives its connection a *slot* of that
//! time, and the connection's next request takes its oldest slot; a connection begins with slots that need no thinking.
//! A request without a slot takes another connection's, as programs spread their requests over connections; where there
//! is none, it comes at the drive's present. While such a connection has slots it *owes* requests, and the drive's time
//! stands still until it has made them, has left, or has been silent for `grace` of machine time. A connection that has
//! been silent loses its slots and gets none until its next request: so a client that only waits for what is under way
//! costs one grace, not one for each reply.
//!
//! Requests of the same simulated time are in the order of [`Turn`], which no race of a client's threads changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use units::Time;
use workload::Op;

use crate::arrivals::Arrivals;
use crate::drive::{Done, Drive, before};
use crate::export::{Message, Opened};
use crate::outlet::Answers;
use crate::pace::{Notes, Pace, Think, Watched};
use crate::watch::{Look, Program};
use crate::work::{Asked, Queue};

/// When somebody is told what is waited for, who may think that nothing goes on. No result depends on it.
const PATIENCE: Duration = Duration::from_secs(5);
/// A client that works is looked at without a pause for so long. It costs speed alone, as the next one does.
const LOOKS_ON: Duration = Duration::from_micros(200);
/// The longest time between two looks at clients that work.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

struct VirtualClock {
    drive: Drive,
    pace: Pace,
    peers: BTreeMap<u64, Peer>,
    /// The programs of clients that are watched, by their root.
    programs: BTreeMap<u32, Program>,
    /// Every watched client waits: nothing was sent or read since this was seen.
    still: bool,
    /// The last reply to a watched client, if no time has passed since.
    cause: Option<Slot>,
    /// A watched client has a reason to make requests: a reply, its begin, or that the drive has nothing to do.
    prompted: bool,
    /// Requests that have not come in simulated time, in their order, with their connections.
    coming: BTreeMap<Turn, (u64, Asked)>,
    /// What is done and is still to be answered.
    ready: VecDeque<Done>,
    /// Requests read so far.
    read: u64,
    /// The submission queues of clients, in order of their first requests.
    queues: BTreeMap<Client, Queue>,
    watched: Watched,
    notes: Notes,
    arrivals: Arc<Arrivals>,
}

/// When a request comes: by its time, at the same time by what it asks for (what is flushed comes last), and only then
/// by who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    time: Time,
    flushes: bool,
    offset: u64,
    length: u64,
    writes: bool,
    connection: u64,
    number: u64,
}

/// Who has a submission queue. A watched program chooses among its connections as its threads happen to run: they share
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Process(u32),
    Connection(u64),
}

struct Peer {
    answers: Answers,
    client: Client,
    /// The submission queue that it is, where its protocol says so.
    queue: Option<Queue>,
    /// The root of its program, while it is watched.
    program: Option<u32>,
    outstanding: u32,
    /// It has made a request.
    asked: bool,
    closed: bool,
    slots: VecDeque<Slot>,
    /// It gets no slots until its next request.
    silent: bool,
    /// When it was answered or asked last.
    heard: Instant,
}

impl Peer {
    /// No request is expected of it.
    fn fall_silent(&mut self) {
        self.slots.clear();
        self.silent = true;
    }
}

/// A completion that has caused no request yet.
#[derive(Clone, Copy)]
struct Slot {
    time: Time,
    /// When it was answered; a connection's first slots are answers to nothing.
    answered: Option<Instant>,
}

impl Slot {
    /// When a request comes that it causes and that was read at `read`.
    fn request_time(self, read: Instant, think: Think) -> Time {
        let think = match (self.answered, think) {
            (None, _) => 0,
            (Some(_), Think::Fixed(think)) => think.0,
            (Some(answered), Think::Measured) => read.saturating_duration_since(answered).as_nanos() as u64,
        };
        // The drive refuses what lies too late.
        Time(self.time.0.saturating_add(think))
    }
}

/// Serves requests until it is stopped.
pub(crate) fn play(
    drive: Drive,
    pace: Pace,
    inbox: &Receiver<Message>,
    notes: Notes,
    arrivals: Arc<Arrivals>,
) -> (Drive, Watched) {
    let mut clock = VirtualClock {
        drive,
        pace,
        peers: BTreeMap::new(),
        programs: BTreeMap::new(),
        still: false,
        cause: None,
        prompted: true,
        coming: BTreeMap::new(),
        ready: VecDeque::new(),
        read: 0,
        queues: BTreeMap::new(),
        watched: Watched::default(),
        notes,
        arrivals,
    };
    loop {
        match clock.wait(inbox) {
            Next::Message(message) => {
                if !clock.take(message) {
                    break;
                }
            }
            Next::Step => clock.step(),
            Next::Stop => break,
        }
    }
    while clock.works() {
        clock.step();
    }
    clock.watched.connections += clock.peers.values().filter(|peer| peer.program.is_some()).count() as u64;
    (clock.drive, clock.watched)
}

enum Next {
    Message(Message),
    /// The drive's time may go on.
    Step,
    Stop,
}

/// What the drive's time waits for.
enum Hindrance {
    /// A connection that cannot be watched owes requests, up to then or for ever.
    Owes(Option<Instant>),
    /// A message of or to a client that is watched is on its way.
    Message,
    /// A client that is watched works, of this root.
    Works(u32, Look),
}

impl VirtualClock {
    fn works(&self) -> bool {
        !self.coming.is_empty() || !self.ready.is_empty() || self.drive.works()
    }

    /// What is next. Messages that are there come first.
    fn wait(&mut self, inbox: &Receiver<Message>) -> Next {
        let (begun, mut told) = (Instant::now(), false);
        loop {
            match inbox.try_recv() {
                Ok(message) => return Next::Message(message),
                Err(TryRecvError::Disconnected) => return Next::Stop,
                Err(TryRecvError::Empty) if !self.works() => return inbox.recv().map_or(Next::Stop, Next::Message),
                Err(TryRecvError::Empty) => {}
            }
            let Some(hindrance) = self.hindrance() else {
                // What was sent before the look at who sent it.
                return inbox.try_recv().map_or(Next::Step, Next::Message);
            };
            if begun.elapsed() > PATIENCE && !std::mem::replace(&mut told, true) {
                self.note(format!("simulated time stands still: it waits for {}", self.in_words(&hindrance)));
            }
            let pause = match hindrance {
                Hindrance::Owes(None) => PATIENCE + Duration::from_millis(1),
                Hindrance::Owes(Some(until)) => until.saturating_duration_since(Instant::now()),
                Hindrance::Message | Hindrance::Works(..) => {
                    // A sleep takes some 60 us at least.
                    let worked = begun.elapsed();
                    if worked < LOOKS_ON {
                        thread::yield_now();
                        continue;
                    }
                    (worked / 8).min(BETWEEN_LOOKS)
                }
            };
            match inbox.recv_timeout(pause) {
                Ok(message) => return Next::Message(message),
                Err(RecvTimeoutError::Disconnected) => return Next::Stop,
                Err(RecvTimeoutError::Timeout) => {
                    if matches!(hindrance, Hindrance::Owes(Some(_))) {
                        self.silence();
                    }
                }
            }
        }
    }

    fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn in_words(&self, hindrance: &Hindrance) -> String {
        match hindrance {
            Hindrance::Owes(None) => {
                "requests of a client that cannot be watched: give --grace a time if it has no more of them".into()
            }
            Hindrance::Owes(Some(_)) => "requests of a client that cannot be watched, up to --grace".into(),
            Hindrance::Message => "a message on its way".into(),
            Hindrance::Works(root, look) => {
                let name = self.programs.get(root).map(Program::name).unwrap_or_default();
                format!("{name}: {}", Program::says(look))
            }
        }
    }

    /// What keeps time from going on, if anything does.
    fn hindrance(&mut self) -> Option<Hindrance> {
        let owing = self.peers.values().filter(|peer| !peer.slots.is_empty());
        if let Some(heard) = owing.map(|peer| peer.heard).max() {
            let until = self.pace.grace.map(|grace| heard + Duration::from_nanos(grace.0));
            return Some(Hindrance::Owes(until));
        }
        if !self.still && !self.programs.is_empty() {
            if let Some(works) = self.works_still() {
                return Some(works);
            }
            self.still = true;
        }
        None
    }

    /// Connections of clients that are watched.
    fn watched(&self) -> impl Iterator<Item = &Peer> {
        self.peers.values().filter(|peer| peer.program.is_some() && !peer.closed)
    }

    /// What a client that is watched still has to do before it waits, if there is something.
    fn works_still(&mut self) -> Option<Hindrance> {
        let Some(before) = self.all_dealt_with() else { return Some(Hindrance::Message) };
        let mut looks = self.programs.iter_mut().map(|(root, program)| (*root, program.look()));
        if let Some((root, look)) = looks.find(|(_, look)| *look != Look::Asleep) {
            match look {
                Look::Polls(what) => self.unwatch(root, Some(what)),
                Look::Gone => self.unwatch(root, None),
                look => return Some(Hindrance::Works(root, look)),
            }
            // Then it is to be seen whether it owes requests.
            return Some(Hindrance::Message);
        }
        // What they had sent before they slept is seen by now, and nothing was read meanwhile that they were told of.
        (self.all_dealt_with() != Some(before)).then_some(Hindrance::Message)
    }

    /// How often something was read so far, if everything that watched clients have sent has come to the drive, and
    /// everything that they are sent to them.
    fn all_dealt_with(&self) -> Option<u64> {
        let reads = self.arrivals.none()?;
        self.watched().all(|peer| peer.answers.outlet().all_sent() && peer.answers.outlet().all_read()).then_some(reads)
    }

    /// The clients of a program are not watched from now on.
    fn unwatch(&mut self, root: u32, why: Option<String>) {
        if let (Some(why), Some(program)) = (why, self.programs.get(&root)) {
            let name = program.name();
            self.cannot_watch(&format!("{name} {why}"));
        }
        self.programs.remove(&root);
        let first = Slot { time: self.drive.now(), answered: None };
        for peer in self.peers.values_mut().filter(|peer| peer.program == Some(root)) {
            (peer.program, peer.heard) = (None, Instant::now());
            if !peer.asked && !peer.closed {
                peer.slots.extend(std::iter::repeat_n(first, self.pace.depth as usize));
            }
        }
    }

    fn cannot_watch(&mut self, why: &str) {
        if self.watched.others.insert(why.into()) {
            let rule = "simulated time waits for its requests by --grace and --depth";
            self.note(format!("a client cannot be watched, as {why}: {rule}"));
        }
    }

    /// Nobody who owes requests has made one for too long.
    fn silence(&mut self) {
        for peer in self.peers.values_mut().filter(|peer| !peer.slots.is_empty()) {
            peer.fall_silent();
            self.watched.silences += 1;
        }
    }

    /// Takes the slot of a connection's request.
    fn slot(&mut self, connection: u64) -> Option<Slot> {
        let own = self.peers.get_mut(&connection).and_then(|peer| peer.slots.pop_front());
        let oldest = |peer: &Peer| peer.slots.front().map_or(Time::NEVER, |slot| slot.time);
        own.or_else(|| self.peers.values_mut().min_by_key(|peer| oldest(peer))?.slots.pop_front())
    }

    /// Takes a message; returns whether others may follow.
    fn take(&mut self, message: Message) -> bool {
        self.still = false;
        match message {
            Message::Opened(opened) => self.open(opened),
            Message::Request { connection, asked, read } => self.ask(connection, asked, read),
            Message::Command(asked) => self.drive.submit(self.drive.now(), None, Queue(0), asked),
            Message::Look(look) => {
                let works = self.works();
                look(&mut self.drive, works);
            }
            Message::Closed { connection } => {
                let peer = self.peers.get_mut(&connection).expect("Invariant: who leaves is there");
                peer.fall_silent();
                peer.closed = true;
                self.leave(connection);
            }
            Message::Stop => return false,
        }
        true
    }

    /// A client has come.
    fn open(&mut self, Opened { connection, answers, process, queue }: Opened) {
        let program = process.map_err(|why| Some(format!("it {why}"))).and_then(|process| {
            let root = Program::root_of(process);
            if let Entry::Vacant(place) = self.programs.entry(root) {
                place.insert(Program::watch(root)?);
            }
            Ok((process, root))
        });
        let (client, program) = match program {
            Ok((process, root)) => (Client::Process(process), Some(root)),
            Err(why) => {
                why.into_iter().for_each(|why| self.cannot_watch(&why));
                (Client::Connection(connection), None)
            }
        };
        let first = Slot { time: self.drive.now(), answered: None };
        let slots = if program.is_some() { 0 } else { self.pace.depth as usize };
        let peer = Peer {
            answers,
            client,
            queue,
            program,
            outstanding: 0,
            asked: false,
            closed: false,
            slots: std::iter::repeat_n(first, slots).collect(),
            silent: false,
            heard: Instant::now(),
        };
        self.peers.insert(connection, peer);
        self.prompted = true;
    }

    /// A client asks for something.
    fn ask(&mut self, connection: u64, request: Asked, read: Instant) {
        let peer = |clock: &Self| clock.peers.get(&connection).map(|peer| (peer.program, peer.asked));
        let (root, asked) = peer(self).expect("Invariant: who asks is there");
        if let Some(root) = root.filter(|_| !asked)
            && let Some(why) = self.programs.get(&root).and_then(Program::passes_on)
        {
            self.unwatch(root, Some(why));
        }
        let (now, think) = (self.drive.now(), self.pace.think);
        let slot = if let Some((Some(root), _)) = peer(self) {
            self.programs.get_mut(&root).into_iter().for_each(Program::heard);
            // A drive that has nothing to do lets its clients take their time.
            self.prompted |= !self.works();
            self.watched.unprompted += u64::from(!self.prompted);
            self.cause
        } else {
            self.slot(connection)
        };
        let time = slot.map_or(now, |slot| slot.request_time(read, think)).max(now);
        let peer = self.peers.get_mut(&connection).expect("Invariant: who asks is there");
        peer.outstanding += 1;
        (peer.silent, peer.asked, peer.heard) = (false, true, read);
        let first = request.work.first();
        let (flushes, writes) = (first.op == Op::Flush, first.op != Op::Read);
        let (offset, length, number) = (first.offset, first.bytes, self.read);
        self.coming.insert(Turn { time, flushes, offset, length, writes, connection, number }, (connection, request));
        self.read += 1;
    }

    /// Time goes on: until a request comes, or until one is done and answered. Of several that are done at once one is
    /// answered, then its client is waited for: so what follows does not depend on which of its threads are faster.
    fn step(&mut self) {
        if self.ready.is_empty() {
            (self.cause, self.prompted) = (None, false);
            let next = self.coming.first_key_value().map(|(turn, _)| turn.time);
            self.drive.advance_to_done(next.map_or(Time::NEVER, before));
            self.ready.extend(self.drive.take_done());
        }
        if self.ready.is_empty() {
            if let Some((turn, (connection, asked))) = self.coming.pop_first() {
                let queue = self.queue_of(connection);
                self.drive.submit(turn.time, Some(connection), queue, asked);
            }
            return;
        }
        while let Some(done) = self.ready.pop_front() {
            if self.answer(done) {
                break;
            }
        }
    }

    /// The submission queue of a connection's requests.
    fn queue_of(&mut self, connection: u64) -> Queue {
        let Peer { client, queue, .. } = &self.peers[&connection];
        let next = Queue(self.queues.len() as u16);
        queue.unwrap_or_else(|| *self.queues.entry(*client).or_insert(next))
    }

    /// Answers a request; returns whether its client is watched.
    fn answer(&mut self, done: Done) -> bool {
        let Some(connection) = done.connection else {
            (done.answer)(done.outcome, None);
            return false;
        };
        let peer = self.peers.get_mut(&connection).expect("Invariant: who waits is there");
        peer.outstanding -= 1;
        peer.heard = (done.answer)(done.outcome, None);
        let slot = Slot { time: done.finish, answered: Some(peer.heard) };
        let watched = peer.program.is_some();
        if watched {
            (self.cause, self.prompted, self.still) = (Some(slot), true, false);
        } else if !peer.silent {
            peer.slots.push_back(slot);
        }
        self.leave(connection);
        watched
    }

    /// Forgets a connection that has ended.
    fn leave(&mut self, connection: u64) {
        if let Some(peer) = self.peers.get(&connection).filter(|peer| peer.closed && peer.outstanding == 0) {
            let program = peer.program;
            self.peers.remove(&connection);
            if let Some(root) = program {
                self.watched.connections += 1;
                if !self.peers.values().any(|peer| peer.program == Some(root)) {
                    self.programs.remove(&root);
                }
            }
            if self.peers.is_empty() {
                self.drive.is_left();
            }
        }
    }
}
