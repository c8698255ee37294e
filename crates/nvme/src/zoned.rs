//! The Zoned Namespace command set (NVM Express Zoned Namespace Command Set Specification 1.1, cited as ZNS 1.1). What zones allow is the
//! drive's affair (`ssd::zones`); here are the commands and the structures.

use std::ops::Range;

use served::Step;
use ssd::zones::{ZoneDescriptor, ZoneState};
use workload::{Op, ZoneAction};

use crate::bytes::Fields;
use crate::command::{Command, zones};
use crate::limits::{BLOCK_SHIFT, LARGEST_TRANSFER};
use crate::status::Status;

/// The length of a zone descriptor, and of the header of a report \[B] (ZNS 1.1, 3.4.2.2).
const DESCRIPTOR: usize = 64;

/// The zones of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// How many there are.
    pub count: u32,
    /// Blocks from the beginning of a zone to that of the next one.
    pub size: u64,
    /// Zones that may be open, and active, at once.
    pub max_open: u32,
    /// Zones that may be active at once.
    pub max_active: u32,
    /// The most that an append may bring \[B]; none has no limit but that of transfers.
    pub append_limit: Option<u64>,
    /// A read may go over the boundary between zones.
    pub read_across: bool,
}

impl Zones {
    /// The Identify Namespace data structure of the command set (ZNS 1.1, 4.1.5.1; bytes as in its table).
    pub(crate) fn identify(&self) -> Vec<u8> {
        let limit = |most: u32| if most >= self.count { u32::MAX } else { most - 1 };
        Fields::new(4096)
            // Reads across boundaries (OZCS, bit 0).
            .u16(2, u16::from(self.read_across))
            // Active and open resources, from 0; FFFFFFFFh for no limit.
            .u32(4, limit(self.max_active))
            .u32(8, limit(self.max_open))
            // The one format: the size of a zone, and no descriptor extensions.
            .u64(2816, self.size)
            .take()
    }

    /// The Identify Controller data structure of the command set (ZNS 1.1, 4.1.5.2): the append size limit as a power of two of 4 KiB, 0 for that
    /// of transfers.
    pub(crate) fn identify_controller(&self) -> Vec<u8> {
        let pages =
            self.append_limit.filter(|limit| *limit < LARGEST_TRANSFER.into()).map(|limit| (limit >> 12).max(1));
        Fields::new(4096).u8(0, pages.map_or(0, |pages| pages.ilog2() as u8)).take()
    }

    /// The zone that begins at a block.
    fn zone(&self, block: u64) -> Result<Range<u64>, Status> {
        let all = self.size * u64::from(self.count);
        if block >= all {
            return Err(Status::LBA_OUT_OF_RANGE);
        }
        if !block.is_multiple_of(self.size) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(block..block + self.size)
    }
}

/// A command of this set whose fields are valid.
#[derive(Clone, Debug)]
pub(crate) enum Zoned {
    /// Data at the write pointer of the zone that begins at a block.
    Append { zone: u64, blocks: u64 },
    /// Something is done to the zones of a range of blocks.
    Send { range: Range<u64>, action: ZoneAction },
    /// The zones from the one of a block on.
    Report(Report),
}

/// A report of zones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    from: u64,
    /// Blocks of the namespace.
    end: u64,
    /// Bytes that the host wants.
    length: u32,
    /// Zones of a state alone.
    only: Option<ZoneState>,
    /// The number of zones is that of those reported.
    partial: bool,
}

/// Checks a command; none of other sets.
pub(crate) fn plan(command: &Command, of: &Zones) -> Option<Result<Zoned, Status>> {
    let block = command.dwords_10_11();
    match command.opcode() {
        // Blocks from 0 in dword 12 (ZNS 1.1, 3.4.1).
        zones::APPEND => {
            let blocks = u64::from(command.dword(12) & 0xffff) + 1;
            let longest = of.append_limit.unwrap_or(u64::MAX).min(LARGEST_TRANSFER.into());
            let fits = blocks << BLOCK_SHIFT <= longest;
            let zone = of.zone(block).and_then(|zone| if fits { Ok(zone) } else { Err(Status::INVALID_FIELD) });
            Some(zone.map(|zone| Zoned::Append { zone: zone.start, blocks }))
        }
        zones::MANAGEMENT_SEND => Some(send(command, of)),
        zones::MANAGEMENT_RECEIVE => Some(report(command, of)),
        _ => None,
    }
}

/// Zone Management Send: the action in dword 13, bits 7:0; Select All in bit 8 (ZNS 1.1, 3.4.3). There are neither zone random write areas nor
/// descriptor extensions.
fn send(command: &Command, of: &Zones) -> Result<Zoned, Status> {
    let thirteen = command.dword(13);
    let action = match thirteen & 0xff {
        0x01 => ZoneAction::Close,
        0x02 => ZoneAction::Finish,
        0x03 if thirteen & 1 << 9 == 0 => ZoneAction::Open,
        0x04 => ZoneAction::Reset,
        0x05 => ZoneAction::Offline,
        _ => return Err(Status::INVALID_FIELD),
    };
    let range =
        if thirteen & 1 << 8 != 0 { 0..of.size * u64::from(of.count) } else { of.zone(command.dwords_10_11())? };
    Ok(Zoned::Send { range, action })
}

/// Zone Management Receive: dwords from 0 in dword 12; in dword 13 the action in bits 7:0, of which there is Report Zones, which states in bits 15:8,
/// and in bit 16 whether the number is of those reported alone (ZNS 1.1, 3.4.2).
fn report(command: &Command, of: &Zones) -> Result<Zoned, Status> {
    let (from, thirteen) = (command.dwords_10_11(), command.dword(13));
    let end = of.size * u64::from(of.count);
    if from >= end {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
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

impl Report {
    /// Bytes that the host gets.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// What the drive is asked for.
    pub fn step(&self) -> Step {
        let room = (self.end - self.from) << BLOCK_SHIFT;
        Step::new(Op::ZoneReport, self.from << BLOCK_SHIFT, u64::from(self.length).min(room))
    }

    /// The structure: how many there are, then descriptors of 64 bytes (ZNS 1.1, 3.4.2.2.3).
    pub fn data(&self, found: &[ZoneDescriptor]) -> Vec<u8> {
        let mut fields = Fields::new((self.length as usize).max(DESCRIPTOR));
        let wanted: Vec<&ZoneDescriptor> =
            found.iter().filter(|zone| self.only.is_none_or(|only| zone.state == only)).collect();
        let room = (self.length as usize / DESCRIPTOR).saturating_sub(1);
        let number = if self.partial { wanted.len().min(room) } else { wanted.len() };
        fields.u64(0, number as u64);
        for (index, zone) in wanted.into_iter().take(room).enumerate() {
            let at = DESCRIPTOR * (index + 1);
            let has_pointer = zone.state.is_active() || zone.state == ZoneState::Empty;
            // Sequential write required; the state in bits 7:4.
            fields.u8(at, 2).u8(at + 1, zone.state.code() << 4);
            fields.u64(at + 8, zone.capacity >> BLOCK_SHIFT).u64(at + 16, zone.start >> BLOCK_SHIFT);
            fields.u64(at + 24, if has_pointer { zone.write_pointer >> BLOCK_SHIFT } else { u64::MAX });
        }
        let mut data = fields.take();
        data.truncate(self.length as usize);
        data
    }
}
