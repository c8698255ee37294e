//! Features (Base 2.0, 5.27.1; NVM Command Set 1.0, 4.1.3).

use std::collections::BTreeSet;

use crate::command::{Answer, Command, Outcome};
use crate::fdp;
use crate::status::Status;
use crate::subsystem::Subsystem;

/// Feature identifiers.
pub(crate) mod feature {
    pub const ARBITRATION: u8 = 0x01;
    pub const POWER_MANAGEMENT: u8 = 0x02;
    pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
    pub const ERROR_RECOVERY: u8 = 0x05;
    pub const VOLATILE_WRITE_CACHE: u8 = 0x06;
    pub const NUMBER_OF_QUEUES: u8 = 0x07;
    pub const WRITE_ATOMICITY: u8 = 0x0a;
    pub const ASYNC_EVENTS: u8 = 0x0b;
    pub const KEEP_ALIVE: u8 = 0x0f;
    pub const COMMAND_SETS: u8 = 0x19;
    pub const PLACEMENT: u8 = 0x1d;
    pub const PLACEMENT_EVENTS: u8 = 0x1e;
    pub const HOST_IDENTIFIER: u8 = 0x81;
}

/// Those of a drive's controller.
const ALL: [u8; 11] = [
    feature::ARBITRATION,
    feature::POWER_MANAGEMENT,
    feature::TEMPERATURE_THRESHOLD,
    feature::ERROR_RECOVERY,
    feature::VOLATILE_WRITE_CACHE,
    feature::NUMBER_OF_QUEUES,
    feature::WRITE_ATOMICITY,
    feature::ASYNC_EVENTS,
    feature::KEEP_ALIVE,
    feature::COMMAND_SETS,
    feature::HOST_IDENTIFIER,
];

/// Those of a drive with placement handles.
const OF_PLACEMENT: [u8; 2] = [feature::PLACEMENT, feature::PLACEMENT_EVENTS];

/// Those of a drive: which there are, and whether each is of the endurance group and not of a controller.
pub(crate) fn all(drive: &Subsystem) -> impl Iterator<Item = (u8, bool)> {
    let of_placement = OF_PLACEMENT.into_iter().filter(|_| drive.handles > 0).map(|feature| (feature, true));
    let there = ALL.into_iter().filter(|feature| *feature != feature::VOLATILE_WRITE_CACHE || drive.volatile_cache);
    there.map(|feature| (feature, false)).chain(of_placement)
}

/// What a host has set.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    /// Above this temperature there is a warning \[K].
    pub too_warm: u16,
    /// Below this one.
    pub too_cold: u16,
    /// Namespaces whose deallocated blocks are errors when they are read (DULBE).
    pub deallocated_is_error: BTreeSet<u32>,
    /// Writes are done when they are in the volatile write cache.
    pub caches: bool,
    /// I/O queues that the host may have.
    pub queues: u16,
    /// Which events it wants to hear of.
    pub events: u32,
    /// How often the host speaks \[ms]; 0 for whenever it likes.
    pub keep_alive: u32,
    arbitration: u32,
    host: [u8; 16],
}

/// Critical warnings of which a host is told (Base 2.0, 5.27.1.8, bits 7:0).
pub(crate) const WARNINGS: u32 = 0xff;
/// What namespaces changed (bit 8), and what zones changed (bit 27: ZNS 1.1).
pub(crate) const NAMESPACES: u32 = 1 << 8;
pub(crate) const ZONES: u32 = 1 << 27;

impl Features {
    pub fn new(host: [u8; 16], keep_alive: u32, drive: Option<&Subsystem>) -> Features {
        Features {
            too_warm: 273 + 75,
            too_cold: 0,
            deallocated_is_error: BTreeSet::new(),
            caches: true,
            queues: drive.map_or(0, Subsystem::most_queues),
            events: WARNINGS,
            keep_alive,
            arbitration: 7,
            host,
        }
    }

    /// Get Features: the current value, whichever is selected, since none is saved (ONCS bit 4 is 0).
    pub fn get(&self, command: &Command, drive: Option<&Subsystem>) -> Outcome {
        let eleven = command.dword(11);
        let value = match command.dword(10) as u8 {
            feature::ASYNC_EVENTS => self.events,
            feature::KEEP_ALIVE => self.keep_alive,
            _ if drive.is_none() => return Err(Status::INVALID_FIELD.into()),
            feature::ARBITRATION => self.arbitration,
            feature::POWER_MANAGEMENT | feature::WRITE_ATOMICITY | feature::COMMAND_SETS => 0,
            feature::TEMPERATURE_THRESHOLD => match Threshold::of(eleven)? {
                Threshold::Over => self.too_warm.into(),
                Threshold::Under => self.too_cold.into(),
            },
            feature::ERROR_RECOVERY => u32::from(self.deallocated_is_error.contains(&command.namespace())) << 16,
            feature::VOLATILE_WRITE_CACHE if drive.is_some_and(|drive| drive.volatile_cache) => u32::from(self.caches),
            feature::NUMBER_OF_QUEUES => queues(self.queues),
            // Over Fabrics it has 128 bits: EXHID, bit 0 (Base 2.0, 5.27.1.25).
            feature::HOST_IDENTIFIER if eleven & 1 != 0 => return Ok(Answer::data(self.host.to_vec())),
            // Enabled, with the one configuration (TP 4146, "Flexible Data Placement (Feature Identifier 1Dh)").
            feature::PLACEMENT if has_handles(drive) && eleven as u16 == fdp::GROUP => 1,
            _ => return Err(Status::INVALID_FIELD.into()),
        };
        Ok(Answer::result(value))
    }

    /// Set Features. `begun` says whether the host has I/O queues already, `named` which namespaces the command names,
    /// or why it names none.
    pub fn set(
        &mut self,
        command: &Command,
        drive: Option<&Subsystem>,
        begun: bool,
        named: Result<Vec<u32>, Status>,
    ) -> Outcome {
        let (ten, eleven) = (command.dword(10), command.dword(11));
        if ten & 1 << 31 != 0 {
            return Err(Status::FEATURE_NOT_SAVEABLE.into());
        }
        match ten as u8 {
            feature::ASYNC_EVENTS => self.events = eleven,
            feature::KEEP_ALIVE => self.keep_alive = eleven,
            _ if drive.is_none() => return Err(Status::INVALID_FIELD.into()),
            feature::ARBITRATION => self.arbitration = eleven,
            // There is one power state, and one combination of command sets.
            feature::POWER_MANAGEMENT if eleven & 0x1f == 0 => {}
            feature::COMMAND_SETS if eleven & 0x1ff == 0 => {}
            feature::TEMPERATURE_THRESHOLD => match Threshold::of(eleven)? {
                Threshold::Over => self.too_warm = eleven as u16,
                Threshold::Under => self.too_cold = eleven as u16,
            },
            // The time for recovery is the drive's own.
            feature::ERROR_RECOVERY => {
                for number in named? {
                    if eleven & 1 << 16 != 0 {
                        self.deallocated_is_error.insert(number);
                    } else {
                        self.deallocated_is_error.remove(&number);
                    }
                }
            }
            feature::VOLATILE_WRITE_CACHE if drive.is_some_and(|drive| drive.volatile_cache) => {
                self.caches = eleven & 1 != 0;
            }
            feature::NUMBER_OF_QUEUES => return self.set_queues(eleven, drive, begun),
            feature::WRITE_ATOMICITY => {}
            feature::HOST_IDENTIFIER => return Err(Status::FEATURE_NOT_CHANGEABLE.into()),
            // Not while there are namespaces.
            feature::PLACEMENT if has_handles(drive) && eleven as u16 == fdp::GROUP => {
                return Err(Status::COMMAND_SEQUENCE_ERROR.into());
            }
            _ => return Err(Status::INVALID_FIELD.into()),
        }
        Ok(Answer::default())
    }

    /// Submission and completion queues from 0, 65,535 being too many (Base 2.0, 5.27.1.5).
    fn set_queues(&mut self, asked: u32, drive: Option<&Subsystem>, begun: bool) -> Outcome {
        let (submission, completion) = (asked as u16, (asked >> 16) as u16);
        if submission == u16::MAX || completion == u16::MAX {
            return Err(Status::INVALID_FIELD.into());
        }
        if begun {
            return Err(Status::COMMAND_SEQUENCE_ERROR.into());
        }
        let most = drive.map_or(0, Subsystem::most_queues);
        // Over Fabrics each submission queue has its completion queue.
        self.queues = most.min(submission.min(completion) + 1);
        Ok(Answer::result(queues(self.queues)))
    }
}

fn has_handles(drive: Option<&Subsystem>) -> bool {
    drive.is_some_and(|drive| drive.handles > 0)
}

fn queues(number: u16) -> u32 {
    let from_zero = u32::from(number.max(1) - 1);
    from_zero << 16 | from_zero
}

/// Which threshold of temperature: dword 11, bits 21:20, of the composite temperature or of all sensors (19:16) (Base
/// 2.0, 5.27.1.3).
enum Threshold {
    Over,
    Under,
}

impl Threshold {
    fn of(eleven: u32) -> Result<Threshold, Status> {
        match (eleven >> 20 & 3, eleven >> 16 & 0xf) {
            (0, 0 | 1 | 0xf) => Ok(Threshold::Over),
            (1, 0 | 1 | 0xf) => Ok(Threshold::Under),
            _ => Err(Status::INVALID_FIELD),
        }
    }
}
