//! The real clock: simulated time is the machine's since the first request was read. A request comes when it was read,
//! and its reply leaves when the simulated drive has done it.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use units::Time;

use crate::drive::Drive;
use crate::export::{Message, Opened};
use crate::outlet::Answers;
use crate::work::Queue;

/// What happens within this time is waited for awake: sleepers are late.
const AWAKE: Duration = Duration::from_micros(200);

struct RealClock {
    drive: Drive,
    peers: BTreeMap<u64, Peer>,
    /// When simulated time was 0: the first request was read.
    origin: Option<Instant>,
}

struct Peer {
    /// Without it no further reply comes.
    _answers: Answers,
    queue: Queue,
    outstanding: u32,
    closed: bool,
}

/// Serves requests as they come, until it is stopped.
pub(crate) fn play(drive: Drive, inbox: &Receiver<Message>) -> Drive {
    let mut clock = RealClock { drive, peers: BTreeMap::new(), origin: None };
    while let Some(message) = clock.wait(inbox) {
        if !clock.take(message) {
            break;
        }
    }
    if let Some(origin) = clock.origin {
        clock.drive.advance_to_end();
        clock.answer(origin);
    }
    clock.drive
}

impl RealClock {
    /// The next message, if there is one; until then the drive works.
    fn wait(&mut self, inbox: &Receiver<Message>) -> Option<Message> {
        loop {
            match inbox.try_recv() {
                Ok(message) => return Some(message),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            let Some(origin) = self.origin else { return inbox.recv().ok() };
            self.drive.advance(Time(origin.elapsed().as_nanos() as u64));
            self.answer(origin);
            let Some(next) = self.drive.next_event() else { return inbox.recv().ok() };
            let left = instant(origin, next).saturating_duration_since(Instant::now());
            if left <= AWAKE {
                std::hint::spin_loop();
                continue;
            }
            match inbox.recv_timeout(left - AWAKE) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Takes a message; returns whether others may follow.
    fn take(&mut self, message: Message) -> bool {
        match message {
            Message::Opened(Opened { connection, answers, queue, .. }) => {
                let queue = queue.unwrap_or(Queue(connection as u16));
                let peer = Peer { _answers: answers, queue, outstanding: 0, closed: false };
                self.peers.insert(connection, peer);
            }
            Message::Request { connection, asked, read } => {
                let origin = *self.origin.get_or_insert(read);
                let time = Time(read.saturating_duration_since(origin).as_nanos() as u64);
                let peer = self.peers.get_mut(&connection).expect("Invariant: who asks is there");
                peer.outstanding += 1;
                self.drive.submit(time, Some(connection), peer.queue, asked);
            }
            Message::Command(asked) => {
                let now = Instant::now();
                let time = now.saturating_duration_since(*self.origin.get_or_insert(now));
                self.drive.submit(Time(time.as_nanos() as u64), None, Queue(0), asked);
            }
            Message::Closed { connection } => {
                self.peers.get_mut(&connection).expect("Invariant: who leaves is there").closed = true;
                self.leave(connection);
            }
            Message::Look(look) => {
                let works = self.drive.works();
                look(&mut self.drive, works);
            }
            Message::Stop => return false,
        }
        true
    }

    /// Answers what is done.
    fn answer(&mut self, origin: Instant) {
        for done in self.drive.take_done() {
            let due = instant(origin, done.finish);
            let Some(connection) = done.connection else {
                (done.answer)(done.outcome, Some(due));
                continue;
            };
            let peer = self.peers.get_mut(&connection).expect("Invariant: who waits is there");
            peer.outstanding -= 1;
            (done.answer)(done.outcome, Some(due));
            self.leave(connection);
        }
    }

    /// Forgets a connection that has ended.
    fn leave(&mut self, connection: u64) {
        if self.peers.get(&connection).is_some_and(|peer| peer.closed && peer.outstanding == 0) {
            self.peers.remove(&connection);
            if self.peers.is_empty() {
                self.drive.is_left();
            }
        }
    }
}

/// The machine's time of a simulated one.
fn instant(origin: Instant, time: Time) -> Instant {
    origin + Duration::from_nanos(time.0)
}
