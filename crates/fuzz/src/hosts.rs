//! What hosts of NVMe/TCP send, taken as a connection takes it, without a socket and without a drive.

use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use nvme::tcp::{End, Framing, Queue, Unit, Waits};
use nvme::{
    Access, Area, Command, Connected, ControllerId, Does, FABRICS, Hash, Io, Kind, LARGEST_TRANSFER, Lba, Secret,
    Secrets, Snapshot, Subsystem, Target, Zones, fabrics,
};
use served::{Did, Store};
use units::Bytes;

/// The size of the drive, and what its store keeps at most \[B].
const SIZE: u64 = 1 << 20;

static DRIVE: LazyLock<Subsystem> =
    LazyLock::new(|| Subsystem { queues: 4, handles: 4, ..Subsystem::new("drive", "fuzzed", "1", Bytes(SIZE)) });

/// Where such a drive has its zones.
const SEQUENTIAL: u64 = SIZE / 4;

/// Zones of such a drive.
const ZONES: Zones = Zones {
    count: 6,
    size: SIZE / 8,
    max_open: 4,
    max_active: 4,
    append_limit: Some(16_384),
    read_across: false,
    random_area: 16_384,
    commit_unit: 4096,
};

/// Units that connections have taken: a request to agree on one, or what was read behind it.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// How many units the target `nvme` has taken in this process.
pub fn units_taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// See [`crate::TARGETS`]. The first byte chooses whether the drive has zones, whether hosts prove who they are, and
/// what is there before: nothing, or a queue that has connected and, by the second byte, its number.
pub fn nvme(data: &[u8]) {
    let Some(([begins, number], rest)) = data.split_first_chunk() else { return };
    let mut input = Cursor::new(rest);
    let framing = match begins & 3 {
        0 => match Framing::agree(&mut input) {
            Ok((framing, _)) => {
                TAKEN.fetch_add(1, Ordering::Relaxed);
                framing
            }
            Err(end) => return told(&end),
        },
        digests => Framing { header_digest: digests == 2, data_digest: digests == 3, alignment: 4 },
    };
    let zoned =
        [Area { range: 0..SEQUENTIAL, kind: Kind::Nvm }, Area { range: SEQUENTIAL..SIZE, kind: Kind::Zoned(ZONES) }];
    let areas = if begins & 4 == 0 { DRIVE.areas.clone() } else { zoned.to_vec() };
    let secret = Secret { hash: Hash::of(begins >> 4 & 3), key: vec![7; 32] };
    let secrets = Secrets { host: secret.clone(), controller: Some(secret) };
    let access =
        Access { hosts: None, secrets: (begins & 8 != 0).then(|| ("h".to_owned(), secrets)).into_iter().collect() };
    let target = Target::new(vec![Subsystem { areas, ..DRIVE.clone() }], access);
    let mut of = Host {
        target: &target,
        queue: Queue::new(framing),
        connected: None,
        store: Arc::new(Store::in_memory(Bytes(SIZE))),
    };
    if begins & 3 != 0 {
        of.has_connected(u16::from(number % 5));
    }
    loop {
        match framing.read(&mut input) {
            Ok(unit) => {
                TAKEN.fetch_add(1, Ordering::Relaxed);
                if !of.take(unit) {
                    return;
                }
            }
            Err(end) => return told(&end),
        }
    }
}

fn told(end: &End) {
    if let End::Fatal(fatal) = end {
        TAKEN.fetch_add(1, Ordering::Relaxed);
        assert!(!fatal.header.is_empty(), "a host is told which header was wrong");
    }
}

struct Host<'a> {
    target: &'a Target,
    queue: Queue,
    connected: Option<Connected>,
    store: Arc<Store>,
}

/// The command and the data of Connect.
fn connects(number: u16, controller: ControllerId) -> (Command, Vec<u8>) {
    let mut command = [0; 64];
    (command[0], command[4], command[44]) = (FABRICS, fabrics::CONNECT, 31);
    command[42..44].copy_from_slice(&number.to_le_bytes());
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&controller.0.to_le_bytes());
    data[256..256 + DRIVE.nqn.len()].copy_from_slice(DRIVE.nqn.as_bytes());
    data[512] = b'h';
    (Command(command), data)
}

impl Host<'_> {
    /// The admin queue has connected and enabled the controller, and the queue of a number has.
    fn has_connected(&mut self, number: u16) {
        let connect = |number, controller| {
            let (command, data) = connects(number, controller);
            self.target.connect(&command, &data, Box::new(|| {})).expect("so it may connect")
        };
        let admin = connect(0, ControllerId(0xffff));
        let mut enables = [0; 64];
        (enables[0], enables[44], enables[48]) = (FABRICS, 0x14, 1);
        // Without a proof nothing is enabled.
        if admin.admits(&Command(enables)).is_ok() {
            drop(self.target.command(&admin, &Command(enables), &[], &|| None, &|| None, None));
        }
        let id = admin.controller.id;
        let connected = if number == 0 || !admin.controller.is_enabled() { admin } else { connect(number, id) };
        self.queue.connected(&connected.controller, connected.queue, connected.size);
        self.connected = Some(connected);
    }

    /// Takes a unit as a connection does; returns whether others may follow.
    fn take(&mut self, unit: Unit) -> bool {
        match self.queue.take(unit) {
            Err(fatal) => {
                assert!(!fatal.header.is_empty(), "a host is told which header was wrong");
                return false;
            }
            Ok(waits) => waits.into_iter().for_each(|waits| self.sees(waits)),
        }
        true
    }

    /// Does what a command waits for.
    fn sees(&mut self, waits: Waits) {
        match waits {
            Waits::Data { command, transfer, length } => {
                assert!(length <= LARGEST_TRANSFER, "no more is asked for than a transfer has");
                self.queue.side.framing.ready(command.id(), transfer, length);
            }
            Waits::Refused { command, refused } => {
                drop(self.queue.answers(&command).units(Err(refused), Lba::default()))
            }
            Waits::Fused { commands, planned: [of_first, of_second], data: [compared, written] } => {
                let io = of_first.with(compared).and_then(|first| Io::fused(first, of_second.with(written)?));
                let Ok(io) = io else { return };
                let outcomes = io.of_both(io.carry_out(&self.store, &Did::default()));
                for (command, outcome) in commands.iter().zip(outcomes) {
                    drop(self.queue.answers(command).units(outcome.map_err(Into::into), Lba::default()));
                }
            }
            Waits::Ready { command, planned, data } => {
                assert!(data.len() <= LARGEST_TRANSFER as usize);
                let answers = self.queue.answers(&command);
                let outcome = match planned {
                    Some(planned) => planned.with(data).map_err(Into::into).and_then(|io| self.does(&io)),
                    None => match self.other(&command, &data) {
                        Some(outcome) => outcome,
                        None => return,
                    },
                };
                let units = answers.units(outcome, Lba::default());
                assert!(units.len() <= LARGEST_TRANSFER as usize + 1024, "an answer is no longer than a transfer");
            }
        }
    }

    /// Does what the drive would.
    fn does(&self, io: &Io) -> nvme::Outcome {
        let _ = io.work(&self.store);
        let did = Did { offset: io.begin().unwrap_or(0), ..Did::default() };
        io.carry_out(&self.store, &did).map_err(Into::into)
    }

    /// Answers what is no command of I/O.
    fn other(&mut self, command: &Command, data: &[u8]) -> Option<nvme::Outcome> {
        if let Some(of) = &self.connected {
            if let Err(status) = of.admits(command) {
                return Some(Err(status.into()));
            }
            return match self.target.command(
                of,
                command,
                data,
                &|| Some(Snapshot::default()),
                &|| Some(vec![SEQUENTIAL]),
                None,
            ) {
                Does::Answer(outcome) => Some(outcome),
                Does::Waits => None,
                Does::Drive(io) => Some(self.does(&io)),
                Does::Sanitize(io) => {
                    of.controller.sanitized(self.does(&io).is_ok());
                    Some(Ok(nvme::Answer::default()))
                }
            };
        }
        if command.opcode() != FABRICS || command.fabrics_type() != fabrics::CONNECT {
            return Some(Err(nvme::Status::COMMAND_SEQUENCE_ERROR.into()));
        }
        Some(self.target.connect(command, data, Box::new(|| {})).map(|connected| {
            self.queue.connected(&connected.controller, connected.queue, connected.size);
            let result = connected.result();
            self.connected = Some(connected);
            nvme::Answer { result: result.into(), data: Vec::new() }
        }))
    }
}
