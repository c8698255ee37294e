//! What goes to a client: replies, and other messages of a connection.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::arrivals::Reading;
use crate::lag::Lag;
use crate::stream::Stream;

/// Most requests of a connection that are worked on.
pub const MOST_REQUESTS: u32 = 1024;
/// Most bytes of their data.
pub const MOST_BYTES: u32 = 32 << 20;
/// Replies up to this length are sent by who has them, where the socket takes them at once \[B].
pub const SENT_AT_ONCE: u32 = 1 << 17;
/// Messages that no request has asked for, beyond which who sends them waits.
const MOST_MESSAGES: usize = 256;

/// The sending side of a connection. Replies go straight to the socket; what it does not take, or what is long, is sent
/// by the connection's second thread, so that no client keeps the drive from others.
pub struct Outlet {
    stream: Arc<Stream>,
    reading: Reading,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The second thread sends, so that nobody else may.
    sending: bool,
    /// No further reply comes.
    ended: bool,
    /// Requests that have been read and not answered, and bytes of their data.
    requests: u32,
    bytes: u32,
    /// The thread that reads waits until this many bytes of data have room.
    admits: Option<u32>,
    lag: Lag,
    errors: u64,
}

/// What a reply says, and whether it says that the request has failed.
pub struct Message {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// It is an error.
    pub failed: bool,
}

/// A reply to a request that was admitted.
pub struct Reply<M> {
    /// Bytes of data that its request holds in memory.
    pub held: u32,
    /// It is long, or waits for the machine's disk: the second thread sends it.
    pub later: bool,
    /// When it should leave, where that is known.
    pub due: Option<Instant>,
    /// Does to the data what the request asks for, and makes the message.
    pub make: M,
}

/// A message on its way.
enum Waiting {
    Reply(Reply<Box<dyn FnOnce() -> Message + Send>>),
    /// What the socket has not taken of a reply.
    Rest {
        bytes: Vec<u8>,
        held: u32,
        due: Option<Instant>,
    },
    /// A message that answers no request.
    Other(Vec<u8>),
}

impl State {
    /// Whether another request may be worked on, whose data takes `held` bytes.
    fn has_room(&self, held: u32) -> bool {
        let bytes = self.bytes > 0 && self.bytes.saturating_add(held) > MOST_BYTES;
        !bytes && self.requests < MOST_REQUESTS
    }
}

/// The sending side as who answers has it: without this, no further reply comes.
pub struct Answers(Arc<Outlet>);

impl Answers {
    /// Those of an outlet.
    pub fn through(outlet: &Arc<Outlet>) -> Answers {
        Answers(outlet.clone())
    }

    pub(crate) fn outlet(&self) -> &Outlet {
        &self.0
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Outlet {
    /// That of a connection that is read as `reading` says.
    pub fn new(stream: Arc<Stream>, reading: Reading) -> Outlet {
        Outlet { stream, reading, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Whether the client has been given all replies that there are, or does not take them.
    pub(crate) fn all_sent(&self) -> bool {
        let state = self.lock();
        (state.waiting.is_empty() && !state.sending) || !self.stream.takes_more()
    }

    /// Whether everything that the client has sent has gone to the drive, or has no room there.
    pub(crate) fn all_read(&self) -> bool {
        let full = {
            let state = self.lock();
            state.admits.is_some_and(|held| !state.has_room(held))
        };
        full || self.reading.is_done()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for another request, whose data takes `held` bytes.
    pub fn admit(&self, held: u32) {
        let full = |state: &mut State| !state.has_room(held) && !state.ended;
        let mut state = self.lock();
        state.admits = Some(held);
        let mut state = self.changed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
        state.admits = None;
        state.requests += 1;
        state.bytes += held;
    }

    /// Answers a request that was admitted. Returns a time before the client has the answer, and after the machine's
    /// disk was waited for.
    pub fn answer(&self, reply: Reply<impl FnOnce() -> Message + Send + 'static>) -> Instant {
        let Reply { held, later, due, make } = reply;
        let mut state = self.lock();
        if state.sending || !state.waiting.is_empty() || later {
            state.waiting.push_back(Waiting::Reply(Reply { held, later, due, make: Box::new(make) }));
            self.changed.notify_all();
            return Instant::now();
        }
        let Message { mut bytes, failed } = make();
        state.errors += u64::from(failed);
        let ready = Instant::now();
        match self.stream.send_now(&bytes) {
            Ok(sent) if sent < bytes.len() => {
                bytes.drain(..sent);
                state.waiting.push_back(Waiting::Rest { bytes, held, due });
                self.changed.notify_all();
            }
            // Where the client has gone, the thread that reads finds it out.
            Ok(_) | Err(_) => self.answered(&mut state, held, due),
        }
        ready
    }

    /// Sends a message that answers no request that was admitted, after those that wait. The thread that reads calls
    /// this, and waits where the client does not take what it is sent.
    pub fn say(&self, mut bytes: Vec<u8>) {
        let full = |state: &mut State| state.waiting.len() >= MOST_MESSAGES && !state.ended;
        let mut state = self.lock();
        if full(&mut state) {
            self.reading.is_stuck(true);
            state = self.changed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
            self.reading.is_stuck(false);
        }
        if !state.sending && state.waiting.is_empty() {
            match self.stream.send_now(&bytes) {
                Ok(sent) if sent < bytes.len() => drop(bytes.drain(..sent)),
                Ok(_) | Err(_) => return,
            }
        }
        state.waiting.push_back(Waiting::Other(bytes));
        self.changed.notify_all();
    }

    fn answered(&self, state: &mut State, held: u32, due: Option<Instant>) {
        state.requests -= 1;
        state.bytes -= held;
        if let Some(due) = due {
            state.lag.record(Instant::now().saturating_duration_since(due));
        }
        self.changed.notify_all();
    }

    /// Sends what has to wait, until the end; returns the lag of all replies and how many were errors.
    pub fn send_waiting(&self) -> (Lag, u64) {
        loop {
            let idle = |state: &mut State| state.waiting.is_empty() && !state.ended;
            let mut state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            let Some(waiting) = state.waiting.pop_front() else {
                return (std::mem::take(&mut state.lag), state.errors);
            };
            state.sending = true;
            drop(state);
            let (message, answers) = match waiting {
                Waiting::Reply(Reply { held, due, make, .. }) => (make(), Some((held, due))),
                Waiting::Rest { bytes, held, due } => (Message { bytes, failed: false }, Some((held, due))),
                Waiting::Other(bytes) => (Message { bytes, failed: false }, None),
            };
            let _ = (&*self.stream).write_all(&message.bytes);
            let failed = message.failed;
            drop(message);
            let mut state = self.lock();
            state.sending = false;
            state.errors += u64::from(failed);
            match answers {
                Some((held, due)) => self.answered(&mut state, held, due),
                None => self.changed.notify_all(),
            }
        }
    }
}
