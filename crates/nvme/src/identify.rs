//! Identify: what there is and what it can do (Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5).

use std::sync::Arc;

use units::Bytes;

use crate::bytes::Fields;
use crate::command::{Answer, Command, ControllerId, Outcome};
use crate::fdp;
use crate::io;
use crate::limits::{BLOCK_SHIFTS, CAPSULE_DATA, MDTS, MOST_NAMESPACES, QUEUE_ENTRIES};
use crate::namespace::{ALL, Namespace, Namespaces};
use crate::status::Status;
use crate::subsystem::Subsystem;

/// The version of the base specification that is followed: 2.0 (Base 2.0, 3.1.3.2 "VS").
pub(crate) const VERSION: u32 = 0x0002_0000;
/// The name of discovery subsystems (Base 2.0, 4.5).
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Async Event Requests that may wait.
pub(crate) const MOST_EVENTS: usize = 4;
/// Entries that the error log keeps.
pub(crate) const MOST_ERRORS: usize = 64;
/// The length of what Identify gives \[B].
const LENGTH: usize = 4096;

/// Which structure is asked for: CNS, dword 10 bits 7:0 (Base 2.0, 5.17).
mod structure {
    pub const NAMESPACE: u8 = 0x00;
    pub const CONTROLLER: u8 = 0x01;
    pub const ACTIVE_NAMESPACES: u8 = 0x02;
    pub const NAMESPACE_DESCRIPTORS: u8 = 0x03;
    pub const NAMESPACE_OF_COMMAND_SET: u8 = 0x05;
    pub const CONTROLLER_OF_COMMAND_SET: u8 = 0x06;
    pub const ACTIVE_NAMESPACES_OF_COMMAND_SET: u8 = 0x07;
    pub const NAMESPACE_OF_ANY_COMMAND_SET: u8 = 0x08;
    pub const NAMESPACE_OF_FORMAT: u8 = 0x09;
    pub const NAMESPACE_OF_FORMAT_AND_COMMAND_SET: u8 = 0x0a;
    pub const ALLOCATED_NAMESPACES: u8 = 0x10;
    pub const ALLOCATED_NAMESPACE: u8 = 0x11;
    pub const CONTROLLERS_OF_NAMESPACE: u8 = 0x12;
    pub const CONTROLLERS: u8 = 0x13;
    pub const NAMESPACE_GRANULARITY: u8 = 0x16;
    pub const ENDURANCE_GROUPS: u8 = 0x19;
    pub const ALLOCATED_NAMESPACES_OF_COMMAND_SET: u8 = 0x1a;
    pub const ALLOCATED_NAMESPACE_OF_COMMAND_SET: u8 = 0x1b;
    pub const COMMAND_SETS: u8 = 0x1c;
}

/// What is the controller's own.
pub(crate) struct Own<'a> {
    pub id: ControllerId,
    /// Controllers of the subsystem.
    pub controllers: &'a [ControllerId],
    /// The drive; none of a discovery controller.
    pub drive: Option<&'a Subsystem>,
    /// Its namespaces.
    pub namespaces: &'a Namespaces,
}

/// Answers Identify.
pub(crate) fn identify(command: &Command, own: &Own) -> Outcome {
    let cns = command.dword(10) as u8;
    let drive = match (own.drive, cns) {
        (_, structure::CONTROLLER) => return Ok(Answer::data(own.controller())),
        (None, _) => return Err(Status::INVALID_FIELD.into()),
        (Some(drive), _) => drive,
    };
    let number = command.namespace();
    let set = (command.dword(11) >> 24) as u8;
    let attached = || own.namespaces.attached(number, own.id);
    let allocated = || own.namespaces.allocated(number);
    let from = (command.dword(10) >> 16) as u16;
    let all_attached = own.namespaces.all_attached(own.id);
    let data = match cns {
        structure::NAMESPACE if number == ALL => common(drive, BLOCK_SHIFTS[0]),
        structure::NAMESPACE => filled(attached()?, namespace),
        structure::ALLOCATED_NAMESPACE => filled(allocated()?, namespace),
        structure::NAMESPACE_OF_COMMAND_SET if number == ALL => of_format(BLOCK_SHIFTS[0], set, drive)?,
        structure::NAMESPACE_OF_COMMAND_SET => of_command_set(attached()?, set, drive)?,
        structure::ALLOCATED_NAMESPACE_OF_COMMAND_SET => of_command_set(allocated()?, set, drive)?,
        structure::NAMESPACE_OF_ANY_COMMAND_SET if number == ALL => any_namespace(true),
        structure::NAMESPACE_OF_ANY_COMMAND_SET => filled(attached()?, |of| any_namespace(of.shared)),
        structure::ACTIVE_NAMESPACES => after(number, all_attached, None)?,
        structure::ACTIVE_NAMESPACES_OF_COMMAND_SET if drive.supports(set) && own.namespaces.takes(set, own.id) => {
            after(number, all_attached, Some(set))?
        }
        structure::ALLOCATED_NAMESPACES => after(number, own.namespaces.all(), None)?,
        structure::ALLOCATED_NAMESPACES_OF_COMMAND_SET if drive.supports(set) => {
            after(number, own.namespaces.all(), Some(set))?
        }
        structure::NAMESPACE_OF_FORMAT => common(drive, shift(command)?),
        structure::NAMESPACE_OF_FORMAT_AND_COMMAND_SET => of_format(shift(command)?, set, drive)?,
        structure::NAMESPACE_GRANULARITY => granularity(set, drive)?,
        structure::NAMESPACE_DESCRIPTORS => descriptors(attached()?.ok_or(Status::INVALID_FIELD)?),
        structure::CONTROLLER_OF_COMMAND_SET if set == 0 => limits(),
        structure::CONTROLLER_OF_COMMAND_SET if set == 2 => {
            drive.zones().ok_or(Status::INVALID_FIELD)?.identify_controller()
        }
        structure::CONTROLLERS_OF_NAMESPACE => controllers_from(from, &own.namespaces.controllers(number)?),
        structure::CONTROLLERS => controllers_from(from, own.controllers),
        // Those from one on (Base 2.0, 5.17.2.15): how many, and which.
        structure::ENDURANCE_GROUPS => {
            let found = command.dword(11) as u16 <= fdp::GROUP;
            Fields::new(LENGTH).u16(0, found.into()).u16(2, if found { fdp::GROUP } else { 0 }).take()
        }
        // One combination of command sets: a bit a set (Base 2.0, 5.17.2.18).
        structure::COMMAND_SETS => Fields::new(LENGTH).u64(0, drive.command_sets()).take(),
        _ => return Err(Status::INVALID_FIELD.into()),
    };
    Ok(Answer::data(data))
}

/// What is said of a namespace: zeros where there is none (Base 2.0, 5.17.2.1 and 5.17.2.10).
fn filled(of: Option<&Arc<Namespace>>, says: fn(&Namespace) -> Vec<u8>) -> Vec<u8> {
    of.map_or_else(|| vec![0; LENGTH], |of| says(of))
}

/// What a command set says of a namespace that has it.
fn of_command_set(of: Option<&Arc<Namespace>>, set: u8, drive: &Subsystem) -> Result<Vec<u8>, Status> {
    if !drive.supports(set) {
        return Err(Status::INVALID_FIELD);
    }
    // Of the NVM command set nothing concerns a drive without protection information (NVM Command Set 1.0, 4.1.5.2).
    let Some(of) = of.filter(|_| set == 2) else { return Ok(vec![0; LENGTH]) };
    of.kind.zones().map(|zones| zones.identify(of.shift())).ok_or(Status::INVALID_COMMAND_SET)
}

/// The size of blocks of the format whose index a command names: dword 11, bits 15:0 (NVM Command Set 1.0, 4.1.5.5).
fn shift(command: &Command) -> Result<u8, Status> {
    let index = usize::from(command.dword(11) as u16);
    BLOCK_SHIFTS.get(index).copied().ok_or(Status::INVALID_FIELD)
}

/// What a command set says of namespaces of a format.
fn of_format(shift: u8, set: u8, drive: &Subsystem) -> Result<Vec<u8>, Status> {
    match drive.zones().filter(|_| set == 2) {
        Some(zones) => Ok(zones.identify(shift)),
        None if set == 0 => Ok(vec![0; LENGTH]),
        None => Err(Status::INVALID_FIELD),
    }
}

/// The Namespace Granularity List (NVM Command Set 1.0, 4.1.5.8): one descriptor for all formats, of what the size of a
/// namespace, and its capacity, had best be a multiple of \[B].
fn granularity(set: u8, drive: &Subsystem) -> Result<Vec<u8>, Status> {
    let area = drive.areas.iter().find(|area| area.kind.command_set() == set).ok_or(Status::INVALID_COMMAND_SET)?;
    Ok(Fields::new(LENGTH).u64(32, drive.granularity(area)).u64(40, drive.granularity(area)).take())
}

/// Numbers of namespaces above one, in order, of all command sets or of one (Base 2.0, 5.17.2.3).
fn after<'a>(number: u32, all: impl Iterator<Item = &'a Arc<Namespace>>, set: Option<u8>) -> Result<Vec<u8>, Status> {
    if number >= ALL - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut fields = Fields::new(LENGTH);
    let wanted = |of: &&Arc<Namespace>| of.number > number && set.is_none_or(|set| of.kind.command_set() == set);
    for (index, found) in all.filter(wanted).enumerate() {
        fields.u32(4 * index, found.number);
    }
    Ok(fields.take())
}

/// The controllers' numbers from one on, with how many there are before them (Base 2.0, 5.17.2.14 "Controller List").
fn controllers_from(first: u16, all: &[ControllerId]) -> Vec<u8> {
    let found: Vec<u16> = all.iter().map(|id| id.0).filter(|id| *id >= first).take(2047).collect();
    let mut fields = Fields::new(LENGTH);
    fields.u16(0, found.len() as u16);
    for (index, id) in found.iter().enumerate() {
        fields.u16(2 + 2 * index, *id);
    }
    fields.take()
}

impl Own<'_> {
    /// The Identify Controller data structure (Base 2.0, 5.17.2.1; bytes as in its table).
    fn controller(&self) -> Vec<u8> {
        let mut fields = Fields::new(LENGTH);
        let (serial, model, firmware) = match self.drive {
            Some(Subsystem { serial, model, firmware, .. }) => (serial.as_str(), model.as_str(), firmware.as_str()),
            None => ("discovery", "ssdlab discovery controller", ""),
        };
        fields.ascii(4, 20, serial).ascii(24, 40, model).ascii(64, 8, firmware);
        fields
            .u8(77, MDTS)
            .u16(78, self.id.0)
            .u32(80, VERSION)
            // Controller attributes: a host identifier of 128 bits.
            .u32(96, 1)
            // Log pages by parts with their offset (2), and the effects log (1).
            .u8(261, 0x06)
            .u8(262, MOST_ERRORS as u8 - 1)
            .u8(259, MOST_EVENTS as u8 - 1)
            // Keep alive in units of 100 ms.
            .u16(320, 1)
            // Queue entries of 64 and 16 bytes, required and largest.
            .u8(512, 0x66)
            .u8(513, 0x44)
            .u16(514, QUEUE_ENTRIES)
            // SGLs without alignment (0), offsets in capsules (20), transport data blocks (21).
            .u32(536, 1 | 1 << 20 | 1 << 21);
        let Some(drive) = self.drive else {
            // A discovery controller.
            return fields.u8(111, 2).name(768, DISCOVERY).take();
        };
        let has_handles = drive.handles > 0;
        // What namespaces changed (8), what zones changed (27).
        let notices = 1 << 8 | if drive.zones().is_some() { 1 << 27 } else { 0 };
        fields
            // Several controllers, of several hosts.
            .u8(76, 0x02)
            .u8(111, 1)
            // A host identifier of 128 bits (0), endurance groups (4), granularities (7), FDP (19) with handles.
            .u32(96, 1 | 1 << 4 | 1 << 7 | if has_handles { 1 << 19 } else { 0 })
            .u32(92, notices)
            // Format (1); Namespace Management and Attachment (3); directives (5), where there are some.
            .u16(256, 1 << 1 | 1 << 3 | if has_handles { 1 << 5 } else { 0 })
            // Commands to be aborted at once.
            .u8(258, 3)
            // One firmware slot, which cannot be written.
            .u8(260, 0x03)
            // Sanitize by block erase (1), which deallocates all (NDI, 29); media are not changed after it (31:30).
            .u32(328, 1 << 1 | 1 << 29 | 1 << 30)
            .u16(340, fdp::GROUP)
            // Temperatures of warnings \[K], and the capacity.
            .u16(266, 273 + 75)
            .u16(268, 273 + 80)
            .u128(280, drive.size().into())
            .u128(296, self.namespaces.unallocated(drive).into())
            .u32(516, MOST_NAMESPACES)
            // Compare (0), Dataset Management (2), Write Zeroes (3), Verify (7), Copy (8).
            .u16(520, 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8)
            // Compare and Write can be fused (0).
            .u16(522, 1)
            // A volatile write cache (0); a flush of all namespaces is a flush (2:1).
            .u8(525, u8::from(drive.volatile_cache) | 0x06)
            // Copy descriptors of format 0.
            .u16(534, 1)
            .name(768, &drive.nqn)
            // Capsules in units of 16 bytes, with their commands; no offset of data in them; one descriptor.
            .u32(1792, (64 + CAPSULE_DATA) / 16)
            .u32(1796, 1)
            .u8(1803, 1);
        // A power state of which nothing is known.
        fields.take()
    }
}

/// The Identify Namespace data structure (NVM Command Set 1.0, 4.1.5.1; bytes as in its table).
fn namespace(of: &Namespace) -> Vec<u8> {
    let (blocks, shift) = (of.blocks, of.shift());
    let mut fields = Fields::new(LENGTH);
    fields.u64(0, blocks).u64(8, blocks).u64(16, blocks);
    fields.u8(26, of.format as u8).u8(30, of.shared.into());
    fields.u128(48, (of.range.end - of.range.start).into());
    formatted(&mut fields, shift, of.preferred);
    fields.take()
}

/// What all namespaces of a format have (NVM Command Set 1.0, 4.1.5.1: of the number that stands for all, that of the
/// first format; 4.1.5.5).
fn common(drive: &Subsystem, shift: u8) -> Vec<u8> {
    let mut fields = Fields::new(LENGTH);
    fields.u8(30, 1);
    formatted(&mut fields, shift, drive.preferred);
    fields.take()
}

/// What follows from the size of blocks.
fn formatted(fields: &mut Fields, shift: u8, preferred: Bytes) {
    let of_page = ((preferred.0 >> shift).clamp(1, 1 << 16) - 1) as u16;
    fields
        // Atomic sizes are given (1); deallocated blocks may be errors (2); preferred sizes are given (4).
        .u8(24, 1 << 1 | 1 << 2 | 1 << 4)
        .u16(102, fdp::GROUP)
        // Deallocated blocks read as zeros (2:0); Write Zeroes can deallocate (3).
        .u8(33, 1 | 1 << 3);
    // In blocks from 0: what is written whole or not at all, by itself and at a power cut, and within which boundaries:
    // the pages that the drive maps. Preferred sizes and alignments of writes and of deallocation.
    fields
        .u16s([34, 36, 40, 44], of_page)
        .u16s([64, 66, 68, 70, 72], of_page)
        .u16(74, (io::MOST_COPIED_FROM_ONE >> shift) as u16)
        .u32(76, (io::MOST_COPIED >> shift) as u32)
        .u8(80, io::MOST_COPY_RANGES as u8 - 1)
        // Formats from 0: blocks without metadata.
        .u8(25, BLOCK_SHIFTS.len() as u8 - 1);
    for (format, shift) in BLOCK_SHIFTS.into_iter().enumerate() {
        fields.u8(128 + 4 * format + 2, shift);
    }
}

/// What is said of a namespace whatever its command set is (Base 2.0, 5.17.2.8).
fn any_namespace(shared: bool) -> Vec<u8> {
    // Several controllers; its endurance group; it is ready.
    Fields::new(LENGTH).u8(1, shared.into()).u16(12, fdp::GROUP).u8(14, 1).take()
}

/// Namespace identification descriptors: type, length, value (Base 2.0, 5.17.2.4).
fn descriptors(of: &Namespace) -> Vec<u8> {
    let mut fields = Fields::new(LENGTH);
    fields.u8(0, 3).u8(1, 16).bytes(4, &of.uuid);
    fields.u8(20, 4).u8(21, 1).u8(24, of.kind.command_set());
    fields.take()
}

/// Limits of commands of the NVM command set (NVM Command Set 1.0, 4.1.5.4): Verify moves no data, and has the limit of
/// those that do.
fn limits() -> Vec<u8> {
    Fields::new(LENGTH).u8(0, MDTS).take()
}
