//! The Zoned Namespace command set (NVM Express Zoned Namespace Command Set Specification 1.1, cited as ZNS 1.1). What
//! zones allow is the drive's affair (`ssd::zones`); here are the commands and the structures.

use std::ops::Range;

use served::Step;
use ssd::zones::{ZoneDescriptor, ZoneState};
use workload::{Op, ZoneAction};

use crate::bytes::Fields;
use crate::command::{Command, zones};
use crate::limits::LARGEST_TRANSFER;
use crate::namespace::Namespace;
use crate::status::Status;
use crate::zones::Zones;

/// The length of a zone descriptor, and of the header of a report \[B] (ZNS 1.1, 3.4.2.2).
const DESCRIPTOR: usize = 64;

/// A command of this set whose fields are valid, in bytes of the drive.
#[derive(Clone, Debug)]
pub(crate) enum Zoned {
    /// Data at the write pointer of the zone that begins at a byte.
    Append { zone: u64, bytes: u64 },
    /// Something is done to the zones of a range.
    Send { range: Range<u64>, action: ZoneAction },
    /// The zones from the one of a byte on.
    Report(Report),
}

/// A report of zones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    from: u64,
    /// Where the namespace ends.
    end: u64,
    /// Bytes that the host wants.
    length: u32,
    /// Zones of a state alone.
    only: Option<ZoneState>,
    /// The number of zones is that of those reported.
    partial: bool,
}

/// Checks a command; none of other sets.
pub(crate) fn plan(command: &Command, of: &Namespace, zones: &Zones) -> Option<Result<Zoned, Status>> {
    match command.opcode() {
        // Blocks from 0 in dword 12 (ZNS 1.1, 3.4.1).
        zones::APPEND => Some(append(command, of, zones)),
        zones::MANAGEMENT_SEND => Some(send(command, of, zones)),
        zones::MANAGEMENT_RECEIVE => Some(report(command, of)),
        _ => None,
    }
}

/// The zone that begins at the command's block.
fn zone(command: &Command, of: &Namespace, zones: &Zones) -> Result<Range<u64>, Status> {
    let start = of.bytes(command.dwords_10_11(), 1)?.start;
    if (start - of.range.start).is_multiple_of(zones.size) {
        Ok(start..start + zones.size)
    } else {
        Err(Status::INVALID_FIELD)
    }
}

fn append(command: &Command, of: &Namespace, zones: &Zones) -> Result<Zoned, Status> {
    let bytes = (u64::from(command.dword(12) & 0xffff) + 1) << of.shift();
    let zone = zone(command, of, zones)?;
    let longest = zones.append_limit.unwrap_or(u64::MAX).min(LARGEST_TRANSFER.into());
    if bytes <= longest { Ok(Zoned::Append { zone: zone.start, bytes }) } else { Err(Status::INVALID_FIELD) }
}

/// Zone Management Send: the action in dword 13, bits 7:0; Select All in bit 8; a zone random write area (TP 4076b) in
/// bit 9, of a zone that is opened (ZNS 1.1, 3.4.3). There are no descriptor extensions.
fn send(command: &Command, of: &Namespace, zones: &Zones) -> Result<Zoned, Status> {
    let thirteen = command.dword(13);
    let (all, random) = (thirteen & 1 << 8 != 0, thirteen & 1 << 9 != 0);
    let action = match thirteen & 0xff {
        0x01 => ZoneAction::Close,
        0x02 => ZoneAction::Finish,
        // To all zones none is given: only closed ones are opened by that.
        0x03 if random && (all || zones.random_area == 0) => return Err(Status::INVALID_FIELD),
        0x03 if random => ZoneAction::OpenRandom,
        0x03 => ZoneAction::Open,
        0x04 => ZoneAction::Reset,
        0x05 => ZoneAction::Offline,
        // Flush Explicit ZRWA Range: up to the block that is named, and with it.
        0x11 if !all && zones.random_area > 0 => {
            return Ok(Zoned::Send { range: of.bytes(command.dwords_10_11(), 1)?, action: ZoneAction::Flush });
        }
        _ => return Err(Status::INVALID_FIELD),
    };
    let range = if all { of.whole() } else { zone(command, of, zones)? };
    Ok(Zoned::Send { range, action })
}

/// Zone Management Receive: dwords from 0 in dword 12; in dword 13 the action in bits 7:0, of which there is Report
/// Zones, which states in bits 15:8, and in bit 16 whether the number is of those reported alone (ZNS 1.1, 3.4.2).
fn report(command: &Command, of: &Namespace) -> Result<Zoned, Status> {
    let thirteen = command.dword(13);
    let (from, end) = (of.bytes(command.dwords_10_11(), 1)?.start, of.whole().end);
    let length = (u64::from(command.dword(12)) + 1) * 4;
    let only = match thirteen >> 8 & 0xff {
        0 => None,
        1 => Some(ZoneState::Empty),
        2 => Some(ZoneState::ImplicitlyOpen),
        3 => Some(ZoneState::ExplicitlyOpen),
        4 => Some(ZoneState::Closed),
        5 => Some(ZoneState::Full),
        6 => Some(ZoneState::ReadOnly),
        7 => Some(ZoneState::Offline),
        _ => return Err(Status::INVALID_FIELD),
    };
    if thirteen & 0xff != 0 || length > LARGEST_TRANSFER.into() {
        return Err(Status::INVALID_FIELD);
    }
    Ok(Zoned::Report(Report { from, end, length: length as u32, only, partial: thirteen & 1 << 16 != 0 }))
}

/// Of the zones that an action was asked for, as they are then, those that hold nothing any more by it.
pub(crate) fn emptied(action: ZoneAction, zones: &[ZoneDescriptor]) -> impl Iterator<Item = &ZoneDescriptor> {
    let becomes = match action {
        ZoneAction::Reset => Some(ZoneState::Empty),
        ZoneAction::Offline => Some(ZoneState::Offline),
        _ => None,
    };
    zones.iter().filter(move |zone| Some(zone.state) == becomes)
}

impl Report {
    /// Bytes that the host gets.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// What the drive is asked for.
    pub fn step(&self) -> Step {
        Step::new(Op::ZoneReport, self.from, u64::from(self.length).min(self.end - self.from))
    }

    /// The structure: how many there are, then descriptors of 64 bytes (ZNS 1.1, 3.4.2.2.3).
    pub fn data(&self, found: &[ZoneDescriptor], of: &Namespace) -> Vec<u8> {
        let mut fields = Fields::new((self.length as usize).max(DESCRIPTOR));
        let wanted: Vec<&ZoneDescriptor> = found
            .iter()
            .filter(|zone| zone.start < self.end && self.only.is_none_or(|only| zone.state == only))
            .collect();
        let room = (self.length as usize / DESCRIPTOR).saturating_sub(1);
        let number = if self.partial { wanted.len().min(room) } else { wanted.len() };
        fields.u64(0, number as u64);
        for (index, zone) in wanted.into_iter().take(room).enumerate() {
            let at = DESCRIPTOR * (index + 1);
            let has_pointer = zone.state.is_active() || zone.state == ZoneState::Empty;
            // Sequential write required; the state in bits 7:4; a zone random write area in bit 3 of the attributes.
            fields.u8(at, 2).u8(at + 1, zone.state.code() << 4).u8(at + 2, u8::from(zone.has_random_area) << 3);
            fields.u64(at + 8, zone.capacity >> of.shift()).u64(at + 16, of.block(zone.start));
            fields.u64(at + 24, if has_pointer { of.block(zone.write_pointer) } else { u64::MAX });
        }
        let mut data = fields.take();
        data.truncate(self.length as usize);
        data
    }
}
