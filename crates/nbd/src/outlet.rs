//! What goes to a client: replies, with what they do to the data.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::arrivals::Reading;
use crate::handshake::{LARGEST_PAYLOAD, Session};
use crate::lag::Lag;
use crate::request::{Command, Content, Job, reply};
use crate::store::Store;
use crate::stream::Stream;
use crate::wire::Errno;

/// Most requests of a connection that are worked on.
pub const MOST_REQUESTS: u32 = 1024;
/// Most bytes of their data.
const MOST_BYTES: u32 = LARGEST_PAYLOAD;
/// Replies up to this length are sent by who has them, where the socket takes them at once \[B].
const SENT_AT_ONCE: u32 = 1 << 17;
/// Most extents of a reply.
const MOST_EXTENTS: usize = 1024;

/// The sending side of a connection. Replies go straight to the socket; what it does not take, or what is long, is sent by the
/// connection's second thread, so that no client keeps the drive from others.
pub(crate) struct Outlet {
    stream: Arc<Stream>,
    session: Session,
    store: Arc<Store>,
    reading: Reading,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Reply>,
    /// The second thread sends, so that nobody else may.
    sending: bool,
    /// No further reply comes.
    ended: bool,
    /// Requests that have been read and not answered, and bytes of their data.
    requests: u32,
    bytes: u32,
    /// The thread that reads waits until so many bytes of data have room.
    admits: Option<u32>,
    lag: Lag,
    errors: u64,
}

impl State {
    /// Whether another request may be worked on, whose data takes `held` bytes.
    fn has_room(&self, held: u32) -> bool {
        let bytes = self.bytes > 0 && self.bytes.saturating_add(held) > MOST_BYTES;
        !bytes && self.requests < MOST_REQUESTS
    }
}

/// A reply on its way.
struct Reply {
    what: What,
    /// When it should leave.
    due: Option<Instant>,
    /// Bytes of data that its request holds in memory.
    held: u32,
}

enum What {
    Job(Job, Result<(), Errno>),
    /// What the socket has not taken.
    Rest(Vec<u8>),
}

/// The sending side as who answers has it: without this, no further reply comes.
pub(crate) struct Answers(Arc<Outlet>);

impl Answers {
    pub fn through(outlet: &Arc<Outlet>) -> Answers {
        Answers(outlet.clone())
    }
}

impl Deref for Answers {
    type Target = Outlet;
    fn deref(&self) -> &Outlet {
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
    pub fn new(stream: Arc<Stream>, session: Session, store: Arc<Store>, reading: Reading) -> Outlet {
        Outlet { stream, session, store, reading, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Whether the client has been given all replies that there are, or does not take them.
    pub fn all_sent(&self) -> bool {
        let state = self.lock();
        (state.waiting.is_empty() && !state.sending) || !self.stream.takes_more()
    }

    /// Whether everything that the client has sent has gone to the drive, or has no room there.
    pub fn all_read(&self) -> bool {
        let full = {
            let state = self.lock();
            state.admits.is_some_and(|held| !state.has_room(held))
        };
        full || self.reading.is_done()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for another request, whose data takes `held` bytes ([`Job::held`]).
    pub fn admit(&self, held: u32) {
        let full = |state: &mut State| !state.has_room(held) && !state.ended;
        let mut state = self.lock();
        state.admits = Some(held);
        let mut state = self.changed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
        state.admits = None;
        state.requests += 1;
        state.bytes += held;
    }

    /// Answers a request that was admitted, which should happen at `due` where that is known. Returns a time before the client has the
    /// answer, and after the machine's disk was waited for.
    pub fn answer(&self, job: Job, outcome: Result<(), Errno>, due: Option<Instant>) -> Instant {
        let held = job.held();
        // By the real clock the drive's thread does not wait for the machine's disk; by the virtual one no time passes meanwhile.
        let waits_for_disk = due.is_some() && job.is_durable() && self.store.is_file();
        let mut state = self.lock();
        if state.sending || !state.waiting.is_empty() || job.length > SENT_AT_ONCE || waits_for_disk {
            state.waiting.push_back(Reply { what: What::Job(job, outcome), due, held });
            self.changed.notify_all();
            return Instant::now();
        }
        let mut message = self.carry_out(job, outcome, &mut state.errors);
        let ready = Instant::now();
        match self.stream.send_now(&message) {
            Ok(sent) if sent < message.len() => {
                message.drain(..sent);
                state.waiting.push_back(Reply { what: What::Rest(message), due, held });
                self.changed.notify_all();
            }
            // Where the client has gone, the thread that reads finds it out.
            Ok(_) | Err(_) => self.answered(&mut state, held, due),
        }
        ready
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
            let Some(Reply { what, due, held }) = state.waiting.pop_front() else {
                return (std::mem::take(&mut state.lag), state.errors);
            };
            state.sending = true;
            drop(state);
            let mut errors = 0;
            let message = match what {
                What::Rest(rest) => rest,
                What::Job(job, outcome) => self.carry_out(job, outcome, &mut errors),
            };
            let _ = (&*self.stream).write_all(&message);
            drop(message);
            let mut state = self.lock();
            state.sending = false;
            state.errors += errors;
            self.answered(&mut state, held, due);
        }
    }

    /// Does to the data what a request asks for, and makes the reply.
    fn carry_out(&self, job: Job, outcome: Result<(), Errno>, errors: &mut u64) -> Vec<u8> {
        let content = outcome.and_then(|()| self.content(&job).map_err(errno));
        *errors += u64::from(content.is_err());
        reply(&self.session, job.cookie, job.offset, content)
    }

    fn content(&self, job: &Job) -> io::Result<Content> {
        let (offset, bytes) = (job.offset, u64::from(job.length));
        match &job.command {
            Command::Read => {
                let mut data = vec![0; job.length as usize];
                self.store.read(offset, &mut data)?;
                return Ok(Content::Data(data));
            }
            Command::Status { one } => {
                let most = if *one { 1 } else { MOST_EXTENTS };
                return Ok(Content::Extents(self.store.extents(offset, bytes, most)?));
            }
            Command::Write(data) => self.store.write(offset, data)?,
            Command::Zero { allocates: true } => self.store.write_zeros(offset, bytes)?,
            Command::Trim | Command::Zero { allocates: false } => self.store.discard(offset, bytes)?,
            Command::Flush => {}
        }
        if job.is_durable() {
            self.store.sync()?;
        }
        Ok(Content::None)
    }
}

/// What a client hears of a failure of the machine.
fn errno(error: io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Errno::NoSpace,
        _ => Errno::InputOutput,
    }
}
