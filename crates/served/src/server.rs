//! The server: exports, each with the thread that owns its drive, and clients as they come and go.

use std::io;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ssd::RunError;
use ssd::run::Attended;
use units::{Span, Temperature};
use workload::Request;

use crate::arrivals::{Arrivals, Caller};
use crate::drive::{Drive, Ended};
use crate::export::{Export, Message, NotDone};
use crate::lag::Lag;
use crate::pace::{Notes, Pace, Watched};
use crate::store::Store;
use crate::stream::{Listener, Stream};
use crate::{real_clock, virtual_clock};

/// Most clients at a time: others are turned away.
const MOST_CLIENTS: usize = 64;
/// How long clients have to take their last replies.
const FAREWELL: Duration = Duration::from_secs(1);

/// What clients say, and are told.
pub trait Protocol: Send + Sync {
    /// Serves a client to its end; none if it only looked at what there is.
    fn serve(&self, client: &Caller, exports: &[Export]) -> Option<Served>;
}

/// What a client that chose an export has left behind.
pub struct Served {
    /// Which export it was.
    pub export: usize,
    /// It has asked for something.
    pub requested: bool,
    /// How much later than the drive its replies left, where the clock was real.
    pub lag: Lag,
    /// Requests that were answered with an error.
    pub errors: u64,
}

/// How simulated time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// As the machine's.
    Real,
    /// As the drive needs.
    Virtual(Pace),
}

/// A drive that is served.
pub struct Exported {
    /// The drive.
    pub live: Box<dyn Attended>,
    /// Its data.
    pub store: Store,
    /// Its requests are wanted at the end.
    pub records: bool,
    /// How long it is left alone when its first clients have left: they have loaded it.
    pub after_load: Option<Span>,
}

/// What an export has come to.
pub struct Finished {
    /// The run.
    pub live: Box<dyn Attended>,
    /// Why the drive could not go on, if it could not.
    pub failure: Option<RunError>,
    /// Its requests, where they were wanted.
    pub record: Option<Vec<Request>>,
    /// Clients that chose it.
    pub connections: u64,
    /// Requests that were answered with an error.
    pub errors: u64,
    /// How much later than the drive replies left, where the clock was real.
    pub lag: Lag,
    /// What its clients had to do with the machine's time, where the clock was virtual.
    pub watched: Watched,
}

/// A server at work.
pub struct Server {
    protocol: Arc<dyn Protocol>,
    exports: Arc<[Export]>,
    engines: Vec<JoinHandle<(Drive, Watched)>>,
    notes: Notes,
    arrivals: Arc<Arrivals>,
    /// Who comes first loads the drives.
    loads: bool,
    clients: Vec<(Arc<Stream>, JoinHandle<Option<Served>>)>,
    /// Clients so far.
    accepted: u64,
    tallies: Vec<Tally>,
}

/// What clients of an export that have left add up to.
#[derive(Default)]
struct Tally {
    connections: u64,
    requested: u64,
    errors: u64,
    lag: Lag,
}

impl Server {
    /// Begins to serve drives to the clients that [`Server::attend`] and [`Server::admit`] bring.
    pub fn start(protocol: Arc<dyn Protocol>, drives: Vec<Exported>, clock: Clock) -> Server {
        let tallies = drives.iter().map(|_| Tally::default()).collect();
        let mut exports = Vec::new();
        let mut engines = Vec::new();
        let (notes, arrivals) = (Notes::default(), Arc::<Arrivals>::default());
        let loads = drives.iter().any(|drive| drive.after_load.is_some());
        for Exported { live, store, records, after_load } in drives {
            let (engine, inbox) = channel();
            let store = Arc::new(store);
            let drive = Drive::new(live, store.clone(), records, after_load);
            engines.push(thread::spawn({
                let (notes, arrivals) = (notes.clone(), arrivals.clone());
                move || match clock {
                    Clock::Real => (real_clock::play(drive, &inbox), Watched::default()),
                    Clock::Virtual(pace) => virtual_clock::play(drive, pace, &inbox, notes, arrivals),
                }
            }));
            exports.push(Export { store, engine });
        }
        Server {
            protocol,
            exports: exports.into(),
            engines,
            notes,
            arrivals,
            loads,
            clients: Vec::new(),
            accepted: 0,
            tallies,
        }
    }

    /// Waits for a client for so long, and looks after those that have left.
    pub fn attend(&mut self, listener: &Listener, within: Duration) -> io::Result<()> {
        self.arrivals.come_to(listener);
        if listener.is_called(within)? {
            self.see_off();
            let arrivals = self.arrivals.clone();
            let _while_it_comes = arrivals.letting_in();
            if let Some(stream) = listener.accept()? {
                self.admit(stream);
            }
        }
        self.dismiss();
        Ok(())
    }

    /// Looks after clients that have left.
    fn dismiss(&mut self) {
        for (_, client) in self.clients.extract_if(.., |(_, client)| client.is_finished()) {
            tally(&mut self.tallies, client);
        }
    }

    /// Where who comes first loads the drives: sees to it that who has left does not count as there when the next one
    /// comes, however soon. Who has left with requests under way may keep the drive busy for as long as clients are
    /// given to take their replies.
    fn see_off(&mut self) {
        let end = Instant::now() + FAREWELL;
        let leaves = |(stream, client): &(Arc<Stream>, JoinHandle<_>)| stream.is_left() && !client.is_finished();
        while self.loads && self.clients.iter().any(leaves) && Instant::now() < end {
            thread::sleep(Duration::from_micros(100));
        }
        self.dismiss();
        self.is_loaded();
    }

    /// Whether some client has asked for something, and all have left.
    fn is_left(&self) -> bool {
        self.clients.is_empty() && self.tallies.iter().any(|tally| tally.requested > 0)
    }

    /// Whether this has just happened for the first time where it means that the drives are loaded.
    fn is_loaded(&mut self) -> bool {
        let loaded = self.is_left() && std::mem::take(&mut self.loads);
        if loaded {
            self.tallies.iter_mut().for_each(|tally| tally.requested = 0);
        }
        loaded
    }

    /// Serves a client.
    pub fn admit(&mut self, stream: Stream) {
        self.dismiss();
        if self.clients.len() >= MOST_CLIENTS {
            stream.shut(Shutdown::Both);
            return;
        }
        let stream = Arc::new(stream);
        let connection = self.accepted;
        self.accepted += 1;
        let (protocol, exports) = (self.protocol.clone(), self.exports.clone());
        let caller = Caller::new(connection, &stream, &self.arrivals);
        let client = thread::spawn(move || protocol.serve(&caller, &exports));
        self.clients.push((stream, client));
    }

    /// Looks at a drive as it is now; none if it is served no more.
    pub fn look<T: Send + 'static>(
        &self,
        export: usize,
        look: impl FnOnce(&dyn Attended) -> T + Send + 'static,
    ) -> Option<T> {
        self.exports[export].look(look)
    }

    /// A drive that has nothing to do is left alone for so long, at a temperature or at that of its rest; what is
    /// measured begins then ([`Attended::rest`]).
    pub fn rest(&self, export: usize, span: Span, at: Option<Temperature>) -> Result<(), NotDone> {
        self.exports[export].change(move |drive| drive.rests(span, at))
    }

    /// Cuts the power of a drive: what it works on is aborted, and what was not durable is gone ([`Attended::cut`]). It
    /// comes back at once, or stays off, and requests are aborted, until it is restored.
    pub fn cut(&self, export: usize, stays_off: bool) -> Result<(), NotDone> {
        self.exports[export].disturb(move |drive| drive.cut(stays_off))
    }

    /// The power of a drive comes back.
    pub fn restore(&self, export: usize) -> Result<(), NotDone> {
        self.exports[export].restore()
    }

    /// Writes a checkpoint of a drive that has nothing to do ([`Attended::save`]).
    pub fn save(&self, export: usize, path: PathBuf) -> Result<(), NotDone> {
        self.exports[export].change(move |drive| drive.saves(&path))
    }

    /// What users should be told of what goes on, since this was asked last.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether some client has asked for something, and all have left; where drives are loaded first, whether this has
    /// happened again since.
    pub fn abandoned(&mut self) -> bool {
        !self.is_loaded() && self.is_left()
    }

    /// Ends: what clients have asked for is done and answered.
    pub fn stop(mut self) -> Vec<Finished> {
        for export in self.exports.iter() {
            // An engine ends only here.
            let _ = export.engine.send(Message::Stop);
        }
        let engines = std::mem::take(&mut self.engines);
        let drives: Vec<(Drive, Watched)> = engines.into_iter().map(joined).collect();
        for (stream, _) in &self.clients {
            stream.shut(Shutdown::Read);
        }
        let end = Instant::now() + FAREWELL;
        while Instant::now() < end && self.clients.iter().any(|(_, client)| !client.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
        for (stream, client) in self.clients.drain(..) {
            stream.shut(Shutdown::Both);
            tally(&mut self.tallies, client);
        }
        let tallies = std::mem::take(&mut self.tallies);
        let finished = drives.into_iter().zip(tallies).map(|((drive, watched), tally)| {
            let Ended { live, failure, record } = drive.end();
            let Tally { connections, errors, lag, .. } = tally;
            Finished { live, failure, record, connections, errors, lag, watched }
        });
        finished.collect()
    }
}

fn tally(tallies: &mut [Tally], client: JoinHandle<Option<Served>>) {
    if let Some(Served { export, requested, lag, errors }) = joined(client) {
        let tally = &mut tallies[export];
        tally.connections += 1;
        tally.requested += u64::from(requested);
        tally.errors += errors;
        tally.lag.add(&lag);
    }
}

/// What a thread has come to; where it has panicked, so does this one.
fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
