//! A drive as connections see it, and what its engine is told.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use ssd::RunError;
use ssd::run::Attended;

use crate::drive::Drive;
use crate::outlet::Answers;
use crate::store::Store;
use crate::work::{Asked, Queue};

/// A client that will have requests.
pub struct Opened {
    /// Its number.
    pub connection: u64,
    /// Where it is answered.
    pub answers: Answers,
    /// The process that it is, or why that is not known.
    pub process: Result<u32, String>,
    /// The submission queue that it is, where its protocol says so.
    pub queue: Option<Queue>,
}

/// What somebody does who looks at a drive; whether requests are worked on then.
pub(crate) type Look = Box<dyn FnOnce(&mut Drive, bool) + Send>;

/// Why nothing was done to a drive.
#[derive(Debug)]
pub enum NotDone {
    /// Requests are worked on.
    Busy,
    /// The power is off.
    Off,
    /// The power is on.
    On,
    /// The drive is served no more.
    Ended,
    /// It cannot be done, or the drive has failed.
    Failed(RunError),
}

/// What an engine is told.
pub(crate) enum Message {
    /// A client has come.
    Opened(Opened),
    /// A client asks for something; when that was read.
    Request { connection: u64, asked: Asked, read: Instant },
    /// Somebody asks for something who is no client: no reply causes further requests.
    Command(Asked),
    /// No request of a client will come any more.
    Closed { connection: u64 },
    /// Somebody looks at the drive, or does something to it that is no request. Simulated time stands still.
    Look(Look),
    /// What has been asked for is done at once, and then all ends.
    Stop,
}

/// A drive as connections see it. An engine that has ended takes no message: these then return false.
#[derive(Clone)]
pub struct Export {
    /// Its data.
    pub store: Arc<Store>,
    pub(crate) engine: Sender<Message>,
}

impl Export {
    /// A client has come.
    pub fn open(&self, opened: Opened) -> bool {
        self.engine.send(Message::Opened(opened)).is_ok()
    }

    /// A client asks for something that was read just now.
    pub fn ask(&self, connection: u64, asked: Asked) -> bool {
        self.engine.send(Message::Request { connection, asked, read: Instant::now() }).is_ok()
    }

    /// Somebody asks for something who is no client, such as a controller: time does not wait for what follows.
    pub fn command(&self, asked: Asked) -> bool {
        self.engine.send(Message::Command(asked)).is_ok()
    }

    /// No request of a client will come any more.
    pub fn close(&self, connection: u64) -> bool {
        self.engine.send(Message::Closed { connection }).is_ok()
    }

    /// Looks at the drive as it is now; none if its engine has ended.
    pub fn look<T: Send + 'static>(&self, look: impl FnOnce(&dyn Attended) -> T + Send + 'static) -> Option<T> {
        let (tells, told) = channel();
        let look = move |drive: &mut Drive, _| drop(tells.send(look(drive.live())));
        self.engine.send(Message::Look(Box::new(look))).ok()?;
        told.recv().ok()
    }

    /// Does something to the drive that is no request, while it has none to work on, and power.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut Drive) -> Result<(), RunError> + Send + 'static,
    ) -> Result<(), NotDone> {
        self.engine_does(move |drive, works| match works {
            _ if drive.is_off() => Err(NotDone::Off),
            true => Err(NotDone::Busy),
            false => change(drive).map_err(NotDone::Failed),
        })
    }

    /// Does something to the drive that is no request, whatever it works on, while it has power.
    pub(crate) fn disturb(
        &self,
        disturb: impl FnOnce(&mut Drive) -> Result<(), RunError> + Send + 'static,
    ) -> Result<(), NotDone> {
        self.engine_does(
            move |drive, _| if drive.is_off() { Err(NotDone::Off) } else { disturb(drive).map_err(NotDone::Failed) },
        )
    }

    /// The power comes back.
    pub(crate) fn restore(&self) -> Result<(), NotDone> {
        self.engine_does(|drive, _| {
            if !drive.is_off() {
                return Err(NotDone::On);
            }
            drive.restore();
            Ok(())
        })
    }

    fn engine_does(
        &self,
        what: impl FnOnce(&mut Drive, bool) -> Result<(), NotDone> + Send + 'static,
    ) -> Result<(), NotDone> {
        let (tells, told) = channel();
        let look = move |drive: &mut Drive, works| drop(tells.send(what(drive, works)));
        let sent = self.engine.send(Message::Look(Box::new(look)));
        sent.ok().and_then(|()| told.recv().ok()).unwrap_or(Err(NotDone::Ended))
    }
}
