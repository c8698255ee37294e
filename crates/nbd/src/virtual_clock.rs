//! The virtual clock: replies leave at once, and simulated time goes on as the drive needs, whatever the machine does.
//!
//! A client that waits for a reply makes its next request because of it. So a completion that is delivered at a simulated time
//! gives its connection a *slot* of that time, and the connection's next request takes its oldest slot: it comes at the slot's
//! time and the think time after it; a connection begins with slots that need no thinking. A request without a slot takes another
//! connection's, as programs spread their requests over connections; where there is none, it comes at the drive's present. While a
//! connection has slots it *owes* requests, and the drive's time stands still until it
//! has made them, has left, or has been silent for `grace` of machine time. A connection that has been silent loses its slots and
//! gets none until its next request: so a client that only waits for what is under way costs one grace, not one for each reply.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use units::value::{Scalar, Value};
use units::{Span, Time};

use crate::connection::Message;
use crate::drive::{Drive, before};
use crate::outlet::Answers;
use crate::request::Job;

/// The simulated time between a reply and the request that it causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Always the same.
    Fixed(Span),
    /// The machine's time between them.
    Measured,
}

impl Value for Think {
    fn expects() -> String {
        format!("{}, 0, or \"measured\" (the client's own)", Span::expects())
    }
    fn read(scalar: &Scalar) -> Option<Think> {
        match scalar {
            Scalar::Text(word) if word == "measured" => Some(Think::Measured),
            Scalar::Text(word) if word == "0" => Some(Think::Fixed(Span::ZERO)),
            _ => Span::read(scalar).map(Think::Fixed),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            Think::Fixed(Span::ZERO) => Scalar::Text("0".into()),
            Think::Fixed(think) => think.write(),
            Think::Measured => Scalar::Text("measured".into()),
        }
    }
}

/// How time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between a reply and a request.
    pub think: Think,
    /// How long of the machine's time a connection that owes requests may be silent; none is for ever.
    pub grace: Option<Span>,
    /// Slots that a connection begins with.
    pub depth: u32,
}

struct VirtualClock {
    drive: Drive,
    pace: Pace,
    peers: BTreeMap<u64, Peer>,
    /// Requests that have not come in simulated time, by that time, their connection and their order in it.
    coming: BTreeMap<(Time, u64, u64), Job>,
    /// Requests read so far.
    read: u64,
    /// How often a connection has been silent for too long.
    silences: u64,
}

struct Peer {
    answers: Answers,
    outstanding: u32,
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

/// Serves requests until it is stopped; also returns how often a connection was silent for too long.
pub(crate) fn play(drive: Drive, pace: Pace, inbox: &Receiver<Message>) -> (Drive, u64) {
    let (peers, coming) = (BTreeMap::new(), BTreeMap::new());
    let mut clock = VirtualClock { drive, pace, peers, coming, read: 0, silences: 0 };
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
    (clock.drive, clock.silences)
}

enum Next {
    Message(Message),
    /// The drive's time may go on.
    Step,
    Stop,
}

impl VirtualClock {
    fn works(&self) -> bool {
        !self.coming.is_empty() || self.drive.works()
    }

    /// What is next. Messages that are there come first.
    fn wait(&mut self, inbox: &Receiver<Message>) -> Next {
        if let Ok(message) = inbox.try_recv() {
            return Next::Message(message);
        }
        let received = if !self.works() {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else if let Some(heard) = self.owing().map(|peer| peer.heard).max() {
            match self.pace.grace {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(grace) => {
                    let until = heard + Duration::from_nanos(grace.0);
                    inbox.recv_timeout(until.saturating_duration_since(Instant::now()))
                }
            }
        } else {
            return Next::Step;
        };
        match received {
            Ok(message) => Next::Message(message),
            Err(RecvTimeoutError::Disconnected) => Next::Stop,
            Err(RecvTimeoutError::Timeout) => {
                self.silence();
                Next::Step
            }
        }
    }

    /// Connections that owe requests.
    fn owing(&self) -> impl Iterator<Item = &Peer> {
        self.peers.values().filter(|peer| !peer.slots.is_empty())
    }

    /// Nobody who owes requests has made one for too long.
    fn silence(&mut self) {
        for peer in self.peers.values_mut().filter(|peer| !peer.slots.is_empty()) {
            peer.fall_silent();
            self.silences += 1;
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
        match message {
            Message::Opened { connection, answers } => {
                let slot = Slot { time: self.drive.now(), answered: None };
                let peer = Peer {
                    answers,
                    outstanding: 0,
                    closed: false,
                    slots: std::iter::repeat_n(slot, self.pace.depth as usize).collect(),
                    silent: false,
                    heard: Instant::now(),
                };
                self.peers.insert(connection, peer);
            }
            Message::Request { connection, job, read } => {
                let now = self.drive.now();
                let slot = self.slot(connection);
                let peer = self.peers.get_mut(&connection).expect("Invariant: who asks is there");
                let time = slot.map_or(now, |slot| slot.request_time(read, self.pace.think)).max(now);
                peer.outstanding += 1;
                (peer.silent, peer.heard) = (false, read);
                self.coming.insert((time, connection, self.read), job);
                self.read += 1;
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

    /// Time goes on: until a request comes, or until one is done and answered.
    fn step(&mut self) {
        let next = self.coming.first_key_value().map(|((time, _, _), _)| *time);
        self.drive.advance_to_done(next.map_or(Time::NEVER, before));
        let done = self.drive.take_done();
        if done.is_empty() {
            if let Some(((time, connection, _), job)) = self.coming.pop_first() {
                self.drive.submit(time, connection, job);
            }
            return;
        }
        for done in done {
            let peer = self.peers.get_mut(&done.connection).expect("Invariant: who waits is there");
            peer.outstanding -= 1;
            peer.heard = peer.answers.answer(done.job, done.outcome, None);
            if !peer.silent {
                peer.slots.push_back(Slot { time: done.finish, answered: Some(peer.heard) });
            }
            self.leave(done.connection);
        }
    }

    /// Forgets a connection that has ended.
    fn leave(&mut self, connection: u64) {
        if self.peers.get(&connection).is_some_and(|peer| peer.closed && peer.outstanding == 0) {
            self.peers.remove(&connection);
        }
    }
}
