//! Identify: what there is and what it can do (Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5).

use crate::bytes::Fields;
use crate::command::{Answer, Command, ControllerId, Outcome};
use crate::fdp;
use crate::io;
use crate::limits::{BLOCK_SHIFT, CAPSULE_DATA, MDTS, QUEUE_ENTRIES};
use crate::namespace::{Kind, Namespace};
use crate::status::Status;

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
    pub const CONTROLLERS_OF_NAMESPACE: u8 = 0x12;
    pub const CONTROLLERS: u8 = 0x13;
    pub const ENDURANCE_GROUPS: u8 = 0x19;
    pub const COMMAND_SETS: u8 = 0x1c;
}

/// What is the controller's own.
pub(crate) struct Own<'a> {
    pub id: ControllerId,
    /// Controllers of the subsystem.
    pub controllers: &'a [ControllerId],
    /// The drive; none of a discovery controller.
    pub namespace: Option<&'a Namespace>,
}

/// Answers Identify.
pub(crate) fn identify(command: &Command, own: &Own) -> Outcome {
    let cns = command.dword(10) as u8;
    let set = (command.dword(11) >> 24) as u8;
    let (number, kind) = (command.namespace(), own.namespace.map(|namespace| namespace.kind.command_set()));
    let zones = own.namespace.and_then(|namespace| match namespace.kind {
        Kind::Nvm => None,
        Kind::Zoned(zones) => Some(zones),
    });
    let of_set = Some(set) == kind;
    let active = || match own.namespace {
        Some(namespace) if number == 1 => Ok(namespace),
        // A valid number, or the one that stands for all (Base 2.0, 5.17.2.1).
        _ => Err(Status::INVALID_NAMESPACE),
    };
    let data = match cns {
        structure::CONTROLLER => own.controller(),
        _ if own.namespace.is_none() => return Err(Status::INVALID_FIELD.into()),
        structure::NAMESPACE => namespace(active()?),
        structure::NAMESPACE_OF_COMMAND_SET if set == 2 && zones.is_some() => {
            active()?;
            zones.map_or_else(Vec::new, |zones| zones.identify())
        }
        structure::NAMESPACE_OF_COMMAND_SET if set == 0 => {
            active()?;
            // Nothing of it concerns a drive without protection information (NVM Command Set 1.0, 4.1.5.2).
            vec![0; LENGTH]
        }
        structure::NAMESPACE_OF_ANY_COMMAND_SET => any_namespace(active()?),
        structure::ACTIVE_NAMESPACES => after(number, &[1])?,
        structure::ACTIVE_NAMESPACES_OF_COMMAND_SET => after(number, if of_set { &[1] } else { &[] })?,
        structure::NAMESPACE_DESCRIPTORS => descriptors(active()?),
        structure::CONTROLLER_OF_COMMAND_SET if set == 2 && zones.is_some() => {
            zones.map_or_else(Vec::new, |zones| zones.identify_controller())
        }
        structure::CONTROLLER_OF_COMMAND_SET if set == 0 => limits(),
        structure::CONTROLLERS_OF_NAMESPACE => {
            active()?;
            own.controllers_from((command.dword(10) >> 16) as u16)
        }
        structure::CONTROLLERS => own.controllers_from((command.dword(10) >> 16) as u16),
        // Those from one on (Base 2.0, 5.17.2.15): how many, and which.
        structure::ENDURANCE_GROUPS => {
            let found = command.dword(11) as u16 <= fdp::GROUP;
            Fields::new(LENGTH).u16(0, found.into()).u16(2, if found { fdp::GROUP } else { 0 }).take()
        }
        structure::COMMAND_SETS => {
            // One combination of command sets: a bit a set (Base 2.0, 5.17.2.18).
            Fields::new(LENGTH).u64(0, 1 | 1 << kind.unwrap_or(0)).take()
        }
        _ => return Err(Status::INVALID_FIELD.into()),
    };
    Ok(Answer::data(data))
}

/// Numbers of namespaces above one, in order (Base 2.0, 5.17.2.3).
fn after(number: u32, all: &[u32]) -> Result<Vec<u8>, Status> {
    if number >= u32::MAX - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut fields = Fields::new(LENGTH);
    for (index, found) in all.iter().filter(|found| **found > number).enumerate() {
        fields.u32(4 * index, *found);
    }
    Ok(fields.take())
}

impl Own<'_> {
    /// The controllers' numbers from one on, with how many there are before them (Base 2.0, 5.17.2.14 "Controller List").
    fn controllers_from(&self, first: u16) -> Vec<u8> {
        let found: Vec<u16> = self.controllers.iter().map(|id| id.0).filter(|id| *id >= first).take(2047).collect();
        let mut fields = Fields::new(LENGTH);
        fields.u16(0, found.len() as u16);
        for (index, id) in found.iter().enumerate() {
            fields.u16(2 + 2 * index, *id);
        }
        fields.take()
    }

    /// The Identify Controller data structure (Base 2.0, 5.17.2.1; bytes as in its table).
    fn controller(&self) -> Vec<u8> {
        let mut fields = Fields::new(LENGTH);
        let (serial, model, firmware) = match self.namespace {
            Some(Namespace { serial, model, firmware, .. }) => (serial.as_str(), model.as_str(), firmware.as_str()),
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
        let Some(namespace) = self.namespace else {
            // A discovery controller.
            return fields.u8(111, 2).name(768, DISCOVERY).take();
        };
        let has_handles = namespace.handles > 0;
        fields
            // Several controllers, of several hosts.
            .u8(76, 0x02)
            .u8(111, 1)
            // A host identifier of 128 bits (0), endurance groups (4), Flexible Data Placement (19), where there are handles.
            .u32(96, 1 | 1 << 4 | if has_handles { 1 << 19 } else { 0 })
            // Format (1); directives (5), where there are some.
            .u16(256, 1 << 1 | if has_handles { 1 << 5 } else { 0 })
            // Commands to be aborted at once.
            .u8(258, 3)
            // One firmware slot, which cannot be written.
            .u8(260, 0x03)
            // Sanitize by block erase (1); media are not changed after it (31:30).
            .u32(328, 1 << 1 | 1 << 30)
            .u16(340, fdp::GROUP)
            // Temperatures of warnings \[K], and the capacity.
            .u16(266, 273 + 75)
            .u16(268, 273 + 80)
            .u128(280, namespace.size.0.into())
            .u32(516, 1)
            // Compare (0), Dataset Management (2), Write Zeroes (3), Verify (7), Copy (8).
            .u16(520, 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8)
            // A volatile write cache (0); a flush of all namespaces is a flush (2:1).
            .u8(525, u8::from(namespace.volatile_cache) | 0x06)
            // Copy descriptors of format 0.
            .u16(534, 1)
            .name(768, &namespace.nqn)
            // Capsules in units of 16 bytes, with their commands; no offset of data in them; one descriptor.
            .u32(1792, (64 + CAPSULE_DATA) / 16)
            .u32(1796, 1)
            .u8(1803, 1);
        // A power state of which nothing is known.
        fields.take()
    }
}

/// The Identify Namespace data structure (NVM Command Set 1.0, 4.1.5.1; bytes as in its table).
fn namespace(namespace: &Namespace) -> Vec<u8> {
    let blocks = namespace.blocks();
    let of_page = ((namespace.preferred.0 >> BLOCK_SHIFT).clamp(1, 1 << 16) - 1) as u16;
    let mut fields = Fields::new(LENGTH);
    fields.u64(0, blocks).u64(8, blocks).u64(16, blocks);
    fields
        // Atomic sizes are given (1); deallocated blocks may be errors (2); preferred sizes are given (4).
        .u8(24, 1 << 1 | 1 << 2 | 1 << 4)
        // Several controllers may have it.
        .u8(30, 1)
        .u16(102, fdp::GROUP)
        // Deallocated blocks read as zeros (2:0); Write Zeroes can deallocate (3).
        .u8(33, 1 | 1 << 3)
        .u128(48, namespace.size.0.into());
    // In blocks from 0: what is written whole or not at all, by itself and at a power cut, and within which boundaries: the pages that the
    // drive maps. Preferred sizes and alignments of writes and of deallocation.
    fields
        .u16s([34, 36, 40, 44], of_page)
        .u16s([64, 66, 68, 70, 72], of_page)
        .u16(74, io::MOST_COPIED_FROM_ONE)
        .u32(76, io::MOST_COPIED)
        .u8(80, io::MOST_COPY_RANGES as u8 - 1)
        // One format: blocks without metadata.
        .u8(128 + 2, BLOCK_SHIFT);
    fields.take()
}

/// What is said of a namespace whatever its command set is (Base 2.0, 5.17.2.8).
fn any_namespace(_: &Namespace) -> Vec<u8> {
    // Several controllers; its endurance group; it is ready.
    Fields::new(LENGTH).u8(1, 1).u16(12, fdp::GROUP).u8(14, 1).take()
}

/// Namespace identification descriptors: type, length, value (Base 2.0, 5.17.2.4).
fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut fields = Fields::new(LENGTH);
    fields.u8(0, 3).u8(1, 16).bytes(4, &namespace.uuid);
    fields.u8(20, 4).u8(21, 1).u8(24, namespace.kind.command_set());
    fields.take()
}

/// Limits of commands of the NVM command set (NVM Command Set 1.0, 4.1.5.4): Verify moves no data, and has the limit of those that do.
fn limits() -> Vec<u8> {
    Fields::new(LENGTH).u8(0, MDTS).take()
}
