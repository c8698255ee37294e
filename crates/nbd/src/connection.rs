//! A connection: one thread reads requests, another one sends what the socket does not take at once.

use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use crate::arrivals::{Arrivals, Reading};
use crate::handshake::{Offer, Session, handshake};
use crate::lag::Lag;
use crate::outlet::{Answers, Outlet};
use crate::request::{Command, Frame, Job};
use crate::store::Store;
use crate::stream::Stream;
use crate::wire::{self, command};

/// What an engine is told.
pub(crate) enum Message {
    /// A client has come: the process that it is, or why that is not known.
    Opened { connection: u64, answers: Answers, process: Result<u32, String> },
    /// A client asks for something; when that was read.
    Request { connection: u64, job: Job, read: Instant },
    /// No request of a client will come any more.
    Closed { connection: u64 },
    /// What has been asked for is done at once, and then all ends.
    Stop,
}

/// An export as connections see it.
pub(crate) struct Export {
    pub store: Arc<Store>,
    pub engine: Sender<Message>,
}

/// What a client that chose an export has left behind.
pub(crate) struct Served {
    pub export: usize,
    /// It has asked for something.
    pub requested: bool,
    pub lag: Lag,
    /// Requests that were answered with an error.
    pub errors: u64,
}

/// What a connection's thread reads from.
struct Input<'a> {
    stream: &'a Stream,
    reading: Reading,
    arrivals: &'a Arrivals,
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reading.wait(self.arrivals);
        (&mut &*self.stream).read(into)
    }
}

/// Serves a client to its end; none if it only looked at what there is. Where it breaks the protocol, it is left.
pub(crate) fn serve(
    (stream, reading): (&Arc<Stream>, Reading),
    connection: u64,
    arrivals: &Arrivals,
    offers: &[Offer],
    exports: &[Export],
) -> Option<Served> {
    let mut input = BufReader::new(Input { stream, reading, arrivals });
    let agreed = handshake(&mut input, &mut &**stream, offers);
    let served = agreed.ok().flatten().map(|agreed| transmit(stream, input, connection, agreed, offers, exports));
    arrivals.ends(connection);
    stream.shut(Shutdown::Both);
    served
}

/// The transmission phase: requests and their replies.
fn transmit(
    stream: &Arc<Stream>,
    mut input: BufReader<Input>,
    connection: u64,
    (session, last): (Session, Vec<u8>),
    offers: &[Offer],
    exports: &[Export],
) -> Served {
    let Export { store, engine } = &exports[session.export];
    let (reading, arrivals) = (input.get_ref().reading.clone(), input.get_ref().arrivals);
    let outlet = Arc::new(Outlet::new(stream.clone(), session, store.clone(), reading));
    let sender = thread::spawn({
        let outlet = outlet.clone();
        move || outlet.send_waiting()
    });
    let mut requested = false;
    // The drive knows of the client before the client knows that it may begin. An engine that has ended takes no message: the
    // connection ends with it.
    let (answers, process) = (Answers::through(&outlet), stream.process());
    let opened = engine.send(Message::Opened { connection, answers, process }).is_ok();
    let begun = opened && (&**stream).write_all(&last).is_ok();
    arrivals.ends(connection);
    if begun {
        let size = offers[session.export].size.0;
        let mut each = |frame: Frame, input: &mut BufReader<Input>| {
            let (mut job, outcome) = frame.job(&session, size);
            outlet.admit(job.held());
            if let Command::Write(data) = &mut job.command {
                data.resize(job.length as usize, 0);
                input.read_exact(data)?;
            } else {
                wire::skip(input, frame.payload())?;
            }
            if outcome.is_err() || matches!(job.command, Command::Status { .. }) {
                outlet.answer(job, outcome, None);
                return Ok(true);
            }
            requested = true;
            io::Result::Ok(engine.send(Message::Request { connection, job, read: Instant::now() }).is_ok())
        };
        // However it ends, the requests before are still answered.
        while let Ok(frame) = Frame::read(&mut input)
            && frame.kind != command::DISCONNECT
            && each(frame, &mut input).is_ok_and(|goes_on| goes_on)
        {}
    }
    let _ = engine.send(Message::Closed { connection });
    let (lag, errors) = sender.join().expect("Invariant: the sending thread does not panic");
    Served { export: session.export, requested, lag, errors }
}
