//! A connection: one thread reads requests, another one sends what the socket does not take at once.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use served::{
    Answers, Asked, Caller, Clock, Did, Export, Exported, Failure, Input, Message, Opened, Outlet, Place, Protocol,
    Reply, SENT_AT_ONCE, Served, Server, Store,
};

use crate::handshake::{Offer, Session, handshake};
use crate::request::{Command, Content, Frame, Job, reply};
use crate::wire::{self, Errno, command};

/// Most extents of a reply.
const MOST_EXTENTS: usize = 1024;

/// Begins to serve drives, each as clients are to see it.
pub fn serve(drives: Vec<(Offer, Exported)>, clock: Clock) -> Server {
    let (offers, drives) = drives.into_iter().unzip();
    Server::start(Arc::new(Nbd { offers }), drives, clock)
}

/// Where clients find an export, as they write it.
pub fn uri(place: &Place, export: &str) -> String {
    match place {
        Place::Unix(path) => format!("nbd+unix:///{export}?socket={}", path.display()),
        Place::Tcp(address) => {
            let address = address.map_or_else(|| "?".into(), |address| address.to_string());
            format!("nbd://{address}/{export}")
        }
    }
}

struct Nbd {
    offers: Vec<Offer>,
}

impl Protocol for Nbd {
    /// Where a client breaks the protocol, it is left.
    fn serve(&self, client: &Caller, exports: &[Export]) -> Option<Served> {
        let mut input = BufReader::new(client.input());
        let agreed = handshake(&mut input, &mut &*client.stream, &self.offers);
        agreed.ok().flatten().map(|agreed| transmit(client, input, agreed, &self.offers, exports))
    }
}

/// The transmission phase: requests and their replies.
fn transmit(
    client: &Caller,
    mut input: BufReader<Input>,
    (session, last): (Session, Vec<u8>),
    offers: &[Offer],
    exports: &[Export],
) -> Served {
    let export = &exports[session.export];
    let connection = client.connection;
    let outlet = Arc::new(Outlet::new(client.stream.clone(), client.reading.clone()));
    let sender = thread::spawn({
        let outlet = outlet.clone();
        move || outlet.send_waiting()
    });
    let mut requested = false;
    // The drive knows of the client before the client knows that it may begin. An engine that has ended takes no
    // message: the connection ends with it.
    let (answers, process) = (Answers::through(&outlet), client.stream.process());
    let opened = export.open(Opened { connection, answers, process, queue: None });
    let begun = opened && (&*client.stream).write_all(&last).is_ok();
    client.chose();
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
            let work = outcome.map(|()| job.work());
            let answers = Answer { outlet: outlet.clone(), session, store: export.store.clone(), job };
            match work {
                Ok(Some(work)) => {
                    requested = true;
                    let answer = |outcome: Result<Did, Failure>, due| answers.give(outcome.map_err(refused), due);
                    io::Result::Ok(export.ask(connection, Asked { work, answer: Box::new(answer) }))
                }
                outcome => {
                    answers.give(outcome.map(|_| Did::default()), None);
                    Ok(true)
                }
            }
        };
        // However it ends, the requests before are still answered.
        while let Ok(frame) = Frame::read(&mut input)
            && frame.kind != command::DISCONNECT
            && each(frame, &mut input).is_ok_and(|goes_on| goes_on)
        {}
    }
    export.close(connection);
    let (lag, errors) = sender.join().expect("Invariant: the sending thread does not panic");
    Served { export: session.export, requested, lag, errors }
}

/// What a request is answered with.
struct Answer {
    outlet: Arc<Outlet>,
    session: Session,
    store: Arc<Store>,
    job: Job,
}

impl Answer {
    /// Answers it; where it could be done, does to the data what it asks for.
    fn give(self, outcome: Result<Did, Errno>, due: Option<Instant>) -> Instant {
        let Answer { outlet, session, store, job } = self;
        // By the real clock the drive's thread does not wait for the machine's disk; by the virtual one no time passes
        // meanwhile.
        let waits_for_disk = due.is_some() && job.is_durable() && store.is_file();
        let later = job.length > SENT_AT_ONCE || waits_for_disk;
        let held = job.held();
        let make = move || {
            let content = outcome.and_then(|did| content(&store, &job, &did).map_err(errno));
            Message { failed: content.is_err(), bytes: reply(&session, job.cookie, job.offset, content) }
        };
        outlet.answer(Reply { held, later, due, make })
    }
}

fn content(store: &Store, job: &Job, did: &Did) -> io::Result<Content> {
    let (offset, bytes, change) = (job.offset, u64::from(job.length), store.by(did.request));
    match &job.command {
        Command::Read => {
            let mut data = vec![0; job.length as usize];
            store.read(offset, &mut data)?;
            return Ok(Content::Data(data));
        }
        Command::Status { one } => {
            let most = if *one { 1 } else { MOST_EXTENTS };
            return Ok(Content::Extents(store.extents(offset, bytes, most)?));
        }
        Command::Write(data) => change.write(offset, data)?,
        Command::Zero { allocates: true } => change.write_zeros(offset, bytes)?,
        Command::Trim | Command::Zero { allocates: false } => change.discard(offset, bytes)?,
        Command::Flush => {}
    }
    if job.is_durable() {
        store.sync()?;
    }
    Ok(Content::None)
}

/// What a client hears of what the drive has not done.
fn refused(failure: Failure) -> Errno {
    match failure {
        Failure::ReadOnly => Errno::Permission,
        Failure::Uncorrectable | Failure::PowerCut | Failure::Unlike | Failure::Refused(_) | Failure::Failed => {
            Errno::InputOutput
        }
    }
}

/// What a client hears of a failure of the machine.
fn errno(error: io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Errno::NoSpace,
        _ => Errno::InputOutput,
    }
}
