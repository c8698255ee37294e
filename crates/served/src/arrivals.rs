//! Clients between their call and their first request: simulated time waits while the server has something to do for
//! them.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::stream::{Listener, Stream, has_input};

/// How long a client is listened to that is told why it is left.
const FAREWELL: Duration = Duration::from_millis(200);

/// Who arrives, and what is read of anybody.
#[derive(Default)]
pub(crate) struct Arrivals {
    listener: OnceLock<OwnedFd>,
    /// Clients that are just being let in.
    accepted: AtomicUsize,
    /// Those that have not chosen what they want, by connection.
    clients: Mutex<BTreeMap<u64, Reading>>,
    /// How often something was read, of any client.
    reads: AtomicU64,
}

/// How far the server has read what a client sends.
#[derive(Clone)]
pub struct Reading {
    stream: Arc<Stream>,
    /// Its thread has something to do.
    busy: Arc<AtomicBool>,
    /// Its thread waits until the client takes what it is sent.
    stuck: Arc<AtomicBool>,
    /// How long its client may be silent [ms of the machine's time]; 0 for ever.
    patience: Arc<AtomicU64>,
}

impl Reading {
    /// Whether everything that was sent has been read and dealt with. In this order: what is being read is either still
    /// there, or its reader is busy with it. Who takes nothing keeps nobody waiting.
    pub(crate) fn is_done(&self) -> bool {
        if self.stuck.load(Ordering::SeqCst) {
            return true;
        }
        self.stream.has_arrived() && !self.stream.has_input() && !self.busy.load(Ordering::SeqCst)
    }

    /// Its thread waits, or does so no more, until the client takes what it is sent.
    pub(crate) fn is_stuck(&self, stuck: bool) {
        self.stuck.store(stuck, Ordering::SeqCst);
    }

    /// Waits for input, and is busy from then on.
    fn wait(&self, arrivals: &Arrivals) -> io::Result<()> {
        let patience = self.patience.load(Ordering::SeqCst);
        let patience = (patience > 0).then(|| Duration::from_millis(patience));
        self.busy.store(false, Ordering::SeqCst);
        let came = self.stream.await_input(patience);
        self.busy.store(true, Ordering::SeqCst);
        arrivals.reads.fetch_add(1, Ordering::SeqCst);
        if came { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
    }
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Reading>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clients come to a listener.
    pub fn come_to(&self, listener: &Listener) {
        if self.listener.get().is_none()
            && let Ok(listener) = listener.as_fd().try_clone_to_owned()
        {
            // Another thread cannot have been faster: there is one that lets clients in.
            let _ = self.listener.set(listener);
        }
    }

    /// A client may be let in from now on until this is dropped.
    pub fn letting_in(&self) -> impl Drop + '_ {
        self.accepted.fetch_add(1, Ordering::SeqCst);
        LettingIn(&self.accepted)
    }

    /// A client has come in.
    pub fn begins(&self, connection: u64, stream: &Arc<Stream>) -> Reading {
        let busy = Arc::new(AtomicBool::new(true));
        let reading = Reading { stream: stream.clone(), busy, stuck: Arc::default(), patience: Arc::default() };
        self.lock().insert(connection, reading.clone());
        reading
    }

    /// A client has chosen, or left.
    pub fn ends(&self, connection: u64) {
        self.lock().remove(&connection);
    }

    /// How often something was read, if nobody arrives for whom the server has something to do.
    pub fn none(&self) -> Option<u64> {
        let reads = self.reads.load(Ordering::SeqCst);
        // In the order that clients take.
        let calls = self.listener.get().is_some_and(has_input);
        let comes = calls || self.accepted.load(Ordering::SeqCst) > 0;
        (!comes && self.lock().values().all(Reading::is_done)).then_some(reads)
    }
}

/// A client as its protocol serves it.
pub struct Caller {
    /// Its number.
    pub connection: u64,
    /// Its socket.
    pub stream: Arc<Stream>,
    /// How far it is read.
    pub reading: Reading,
    arrivals: Arc<Arrivals>,
}

impl Caller {
    pub(crate) fn new(connection: u64, stream: &Arc<Stream>, arrivals: &Arc<Arrivals>) -> Caller {
        let reading = arrivals.begins(connection, stream);
        Caller { connection, stream: stream.clone(), reading, arrivals: arrivals.clone() }
    }

    /// What it sends.
    pub fn input(&self) -> Input<'_> {
        Input(self)
    }

    /// It is left when it has been silent for so long, from when it is waited for next; none is for ever.
    pub fn hurry(&self, patience: Option<Duration>) {
        let patience = patience.map_or(0, |patience| patience.as_millis().max(1) as u64);
        self.reading.patience.store(patience, Ordering::SeqCst);
    }

    /// Passes over what it still sends, for a moment at most.
    pub fn drain(&self) {
        let (end, mut input) = (Instant::now() + FAREWELL, &*self.stream);
        while self.stream.await_input(Some(end.saturating_duration_since(Instant::now())))
            && input.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0)
        {}
    }

    /// It has chosen what it wants: its engine sees from now on how far it is read, and simulated time waits for it no
    /// more otherwise.
    pub fn chose(&self) {
        self.arrivals.ends(self.connection);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.arrivals.ends(self.connection);
        self.stream.shut(Shutdown::Both);
    }
}

/// What a client sends, as it comes.
pub struct Input<'a>(&'a Caller);

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Caller { stream, reading, arrivals, .. } = self.0;
        reading.wait(arrivals)?;
        (&mut &**stream).read(into)
    }
}

struct LettingIn<'a>(&'a AtomicUsize);

impl Drop for LettingIn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
