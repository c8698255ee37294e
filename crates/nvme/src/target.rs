//! What hosts connect to: subsystems, and the controllers that hosts have of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::auth::{Access, Authentication, Parties};
use crate::bytes::{name_at, u16_at, u32_at};
use crate::command::{Command, ControllerId, FABRICS, Outcome, QueueId, Refused, fabrics};
use crate::controller::{Controller, Does, Host, Surroundings};
use crate::discovery;
use crate::health::Snapshot;
use crate::identify::DISCOVERY;
use crate::limits::QUEUE_ENTRIES;
use crate::namespace::Namespaces;
use crate::sanitize::Shared;
use crate::status::Status;
use crate::subsystem::Subsystem;

/// Length of the data of Connect \[B].
const CONNECT_DATA: usize = 1024;
/// The first free controller is wanted: the dynamic controller model (Base 2.0, 6.3).
const ANY_CONTROLLER: u16 = 0xffff;
/// Controllers, at most.
const MOST_CONTROLLERS: usize = 64;

/// Subsystems with a drive each, and the discovery subsystem.
pub struct Target {
    /// The drives.
    pub drives: Vec<Subsystem>,
    /// Who may connect.
    access: Access,
    controllers: Mutex<BTreeMap<ControllerId, Arc<Controller>>>,
    /// By drive: what its controllers share.
    shared: Vec<Arc<Mutex<Shared>>>,
}

/// A queue that has connected.
pub struct Connected {
    /// Its controller.
    pub controller: Arc<Controller>,
    /// Its number, 0 for the admin queue.
    pub queue: QueueId,
    /// Commands that it holds at most, from 0: SQSIZE.
    pub size: u16,
    /// Its number among all queues that have connected to the controller.
    joined: u64,
    authentication: Mutex<Authentication>,
}

impl Connected {
    fn authentication(&self) -> MutexGuard<'_, Authentication> {
        self.authentication.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What Connect is answered with: the controller, and whether the host has to prove who it is (Base 2.0, 6.3:
    /// AUTHREQ.ATR).
    pub fn result(&self) -> u32 {
        u32::from(self.controller.id.0) | u32::from(!self.authentication().is_done()) << 17
    }

    /// Refuses commands of who has to prove first who it is.
    pub fn admits(&self, command: &Command) -> Result<(), Status> {
        let proves = command.opcode() == FABRICS
            && matches!(command.fabrics_type(), fabrics::AUTHENTICATION_SEND | fabrics::AUTHENTICATION_RECEIVE);
        if proves || self.authentication().is_done() { Ok(()) } else { Err(Status::AUTHENTICATION_REQUIRED) }
    }
}

/// Parameters of Connect that can be invalid: bytes of the command, or of its data (Base 2.0, 6.3: IATTR and IPO).
enum Invalid {
    Command(u16),
    Data(u16),
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Refused {
        let result = match invalid {
            Invalid::Command(at) => at.into(),
            Invalid::Data(at) => u32::from(at) | 1 << 16,
        };
        Refused { status: Status::CONNECT_INVALID_PARAMETERS, result }
    }
}

impl Target {
    /// One of these drives.
    pub fn new(drives: Vec<Subsystem>, access: Access) -> Target {
        let of = |drive| Arc::new(Mutex::new(Shared { namespaces: Namespaces::of(drive), ..Shared::default() }));
        let shared = drives.iter().map(of).collect();
        Target { drives, access, controllers: Mutex::default(), shared }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ControllerId, Arc<Controller>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The drive of a controller.
    pub fn drive(&self, controller: &Controller) -> Option<&Subsystem> {
        controller.drive.map(|drive| &self.drives[drive])
    }

    /// Controllers of the same subsystem.
    pub fn controllers_beside(&self, controller: &Controller) -> Vec<ControllerId> {
        let same = |(id, other): (&ControllerId, &Arc<Controller>)| (other.drive == controller.drive).then_some(*id);
        self.lock().iter().filter_map(same).collect()
    }

    /// Connects a queue (Base 2.0, 6.3 "Connect Command and Response"), which `end` ends.
    pub fn connect(&self, command: &Command, data: &[u8], end: Box<dyn Fn() + Send>) -> Result<Connected, Refused> {
        let at = |at: usize| u16_at(&command.0, at);
        let (format, queue, size) = (at(40), QueueId(at(42)), at(44));
        if format != 0 {
            return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.into());
        }
        if data.len() != CONNECT_DATA {
            return Err(Status::SGL_LENGTH_INVALID.into());
        }
        if size == 0 || size >= QUEUE_ENTRIES {
            return Err(Invalid::Command(44).into());
        }
        let id: [u8; 16] = data[..16].try_into().expect("Invariant: 16 bytes");
        let subsystem = name_at(data, 256).ok_or(Invalid::Data(256))?;
        let name = name_at(data, 512).filter(|name| !name.is_empty()).ok_or(Invalid::Data(512))?;
        let drive = match self.drives.iter().position(|drive| drive.nqn == subsystem) {
            None if subsystem == DISCOVERY => None,
            None => return Err(Invalid::Data(256).into()),
            drive => drive,
        };
        let listed = self.access.hosts.as_ref().is_none_or(|hosts| hosts.contains(name));
        // Who looks at what there is proves nothing.
        let has_secrets = !self.access.secrets.is_empty() && drive.is_some();
        if !listed || (has_secrets && !self.access.secrets.contains_key(name)) {
            return Err(Status::CONNECT_INVALID_HOST.into());
        }
        let authentication = Authentication::new(has_secrets);
        let host = Host { nqn: name.to_owned(), id };
        let wanted = u16_at(data, 16);
        let controller = if queue.is_admin() {
            if wanted != ANY_CONTROLLER {
                return Err(Invalid::Data(16).into());
            }
            self.begin(drive, host, u32_at(&command.0, 48))?
        } else {
            let found = self.lock().get(&ControllerId(wanted)).cloned();
            found.filter(|found| found.drive == drive && found.host == host).ok_or(Invalid::Data(16))?
        };
        if !queue.is_admin() && drive.is_none() {
            return Err(Invalid::Command(42).into());
        }
        match controller.join(queue, end) {
            Ok(joined) => Ok(Connected { controller, queue, size, joined, authentication: Mutex::new(authentication) }),
            Err(Status::CONNECT_INVALID_PARAMETERS) => Err(Invalid::Command(42).into()),
            Err(status) => Err(status.into()),
        }
    }

    /// Takes a command of a queue that is no command of I/O. `snapshot` and `broken_zones` tell how the drive is, `at`
    /// is the address that the host came to.
    pub fn command(
        &self,
        of: &Connected,
        command: &Command,
        data: &[u8],
        snapshot: &dyn Fn() -> Option<Snapshot>,
        broken_zones: &dyn Fn() -> Option<Vec<u64>>,
        at: Option<SocketAddr>,
    ) -> Does {
        let controller = &of.controller;
        if command.opcode() == FABRICS {
            let outcome = match command.fabrics_type() {
                fabrics::CONNECT => Err(Status::COMMAND_SEQUENCE_ERROR.into()),
                fabrics::AUTHENTICATION_SEND | fabrics::AUTHENTICATION_RECEIVE => self.proves(of, command, data),
                fabrics::PROPERTY_GET | fabrics::PROPERTY_SET if of.queue.is_admin() => controller.property(command),
                _ => Err(Status::INVALID_OPCODE.into()),
            };
            return outcome.into();
        }
        if !of.queue.is_admin() {
            return Does::Answer(Err(Status::INVALID_OPCODE.into()));
        }
        let around = Surroundings {
            drive: self.drive(controller),
            controllers: &|| self.controllers_beside(controller),
            snapshot,
            broken_zones,
            discovery: &|| discovery::log(&self.drives, at),
        };
        controller.admin(command, data, &around)
    }

    /// Authentication Send and Receive.
    fn proves(&self, of: &Connected, command: &Command, data: &[u8]) -> Outcome {
        let (host, drive) = (of.controller.host.nqn.as_str(), self.drive(&of.controller));
        let (Some(secrets), Some(drive)) = (self.access.secrets.get(host), drive) else {
            return Err(Status::INVALID_OPCODE.into());
        };
        let parties = Parties { secrets, host, subsystem: &drive.nqn };
        match command.fabrics_type() {
            fabrics::AUTHENTICATION_SEND => of.authentication().send(command, data, &parties),
            _ => of.authentication().receive(command),
        }
    }

    /// A new controller, of the lowest number that is free.
    fn begin(&self, drive: Option<usize>, host: Host, keep_alive: u32) -> Result<Arc<Controller>, Refused> {
        let mut controllers = self.lock();
        if controllers.len() >= MOST_CONTROLLERS {
            return Err(Status::CONNECT_CONTROLLER_BUSY.into());
        }
        let id = (1..)
            .map(ControllerId)
            .find(|id| !controllers.contains_key(id))
            .expect("Invariant: fewer are there than numbers");
        let of = drive.map(|drive| &self.drives[drive]);
        let shared = drive.map_or_else(Arc::default, |drive| self.shared[drive].clone());
        let controller = Arc::new(Controller::new(id, drive, host, keep_alive, of, shared));
        controllers.insert(id, controller.clone());
        Ok(controller)
    }

    /// A queue's connection has ended; a controller ends with its admin queue.
    pub fn leave(&self, connected: &Connected) {
        connected.controller.leave(connected.queue, connected.joined);
        if connected.queue.is_admin() {
            self.lock().remove(&connected.controller.id);
            connected.controller.ends();
        }
    }
}
