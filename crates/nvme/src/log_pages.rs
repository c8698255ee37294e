//! Log pages (Base 2.0, 5.16 "Get Log Page").

use crate::bytes::Fields;
use crate::command::{Answer, Command, CommandId, Lba, Outcome, QueueId, admin, nvm, zones};
use crate::features;
use crate::health::Health;
use crate::limits::LARGEST_TRANSFER;
use crate::status::Status;
use crate::subsystem::Subsystem;

/// Log page identifiers (Base 2.0, 5.16.1; 20h to 23h: TP 4146).
pub(crate) mod page {
    pub const SUPPORTED: u8 = 0x00;
    pub const ERRORS: u8 = 0x01;
    pub const HEALTH: u8 = 0x02;
    pub const FIRMWARE: u8 = 0x03;
    pub const CHANGED_NAMESPACES: u8 = 0x04;
    pub const COMMANDS: u8 = 0x05;
    pub const ENDURANCE_GROUP: u8 = 0x09;
    pub const FEATURES: u8 = 0x12;
    pub const PLACEMENT_CONFIGURATIONS: u8 = 0x20;
    pub const PLACEMENT_USAGE: u8 = 0x21;
    pub const PLACEMENT_STATISTICS: u8 = 0x22;
    pub const PLACEMENT_EVENTS: u8 = 0x23;
    pub const DISCOVERY: u8 = 0x70;
    pub const SANITIZE: u8 = 0x81;
    pub const CHANGED_ZONES: u8 = 0xbf;
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub page: u8,
    /// Which command set is meant.
    pub set: u8,
    /// The Log Specific Parameter, and the Log Specific Identifier: which endurance group is meant.
    pub parameter: u8,
    pub specific: u16,
    /// Retain Asynchronous Event: what the page tells of stays news.
    pub retains: bool,
    length: u64,
    from: u64,
}

impl Asked {
    /// Reads dwords 10 to 14 of the command.
    pub fn of(command: &Command) -> Result<Asked, Status> {
        let dwords = u64::from(command.dword(10) >> 16) | u64::from(command.dword(11) & 0xffff) << 16;
        let length = 4 * (dwords + 1);
        let from = u64::from(command.dword(12)) | u64::from(command.dword(13)) << 32;
        // Offsets are in bytes and whole dwords; those by index (14, bit 23) are of no page here.
        if length > LARGEST_TRANSFER.into() || from % 4 != 0 || command.dword(14) & 1 << 23 != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let (ten, eleven) = (command.dword(10), command.dword(11));
        let (page, set) = (ten as u8, (command.dword(14) >> 24) as u8);
        let (parameter, specific) = ((ten >> 8) as u8 & 0x7f, (eleven >> 16) as u16);
        Ok(Asked { page, set, parameter, specific, retains: ten & 1 << 15 != 0, length, from })
    }

    /// The part of a page that is asked for; zeros behind its end.
    pub fn part(&self, page: &[u8]) -> Outcome {
        if self.from > page.len() as u64 {
            return Err(Status::INVALID_FIELD.into());
        }
        let rest = &page[self.from as usize..];
        let mut data = rest[..rest.len().min(self.length as usize)].to_vec();
        data.resize(self.length as usize, 0);
        Ok(Answer::data(data))
    }
}

/// A command that has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    pub queue: QueueId,
    pub command: CommandId,
    pub status: u16,
    pub block: Lba,
    pub namespace: u32,
}

/// The error log, the newest first (Base 2.0, 5.16.1.2): `count` have failed so far.
pub(crate) fn errors<'a>(newest_first: impl Iterator<Item = &'a Failed>, count: u64, most: usize) -> Vec<u8> {
    let mut fields = Fields::new(64 * most);
    for (index, failed) in newest_first.take(most).enumerate() {
        let at = 64 * index;
        fields.u64(at, count - index as u64).u16(at + 8, failed.queue.0).u16(at + 10, failed.command.0);
        // Which byte and bit were wrong is not told: FFFFh.
        fields.u16(at + 12, failed.status).u16(at + 14, 0xffff);
        fields.u64(at + 16, failed.block.0).u32(at + 24, failed.namespace);
        // Over TCP.
        fields.u8(at + 29, 3);
    }
    fields.take()
}

/// SMART / health information (Base 2.0, 5.16.1.3; bytes as in its table).
pub(crate) fn health(health: &Health, warning: u8, errors: u64) -> Vec<u8> {
    let percent = |value: f64, most: f64| value.clamp(0.0, most).floor() as u8;
    // Thousands of 512 bytes, rounded up.
    let units = |bytes: u64| u128::from(bytes.div_ceil(512_000));
    let hours = u128::from(health.now.0 / 3_600_000_000_000);
    let mut fields = Fields::new(512);
    fields
        .u8(0, warning)
        .u16(1, health.kelvin())
        .u8(3, percent(health.available_spare, 100.0))
        .u8(4, percent(health.available_spare_threshold, 100.0))
        .u8(5, percent(health.percentage_used, 255.0))
        .u128(32, units(health.read_bytes))
        .u128(48, units(health.write_bytes))
        .u128(64, health.reads.into())
        .u128(80, health.writes.into())
        .u128(112, u128::from(health.power_cuts) + 1)
        .u128(128, hours)
        .u128(144, health.power_cuts.into())
        .u128(160, health.media_errors.into())
        .u128(176, errors.into())
        .u16(200, health.kelvin());
    fields.take()
}

/// Endurance Group Information (Base 2.0, 5.16.1.10; bytes as in its table): the drive is the group. Data is counted in
/// 10^9 bytes, rounded up.
pub(crate) fn endurance_group(health: &Health, size: u64, unallocated: u64, errors: u64) -> Vec<u8> {
    let percent = |value: f64, most: f64| value.clamp(0.0, most).floor() as u8;
    let units = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000));
    let mut fields = Fields::new(512);
    fields
        .u8(0, health.critical_warning & 0x0d)
        .u8(3, percent(health.available_spare, 100.0))
        .u8(4, percent(health.available_spare_threshold, 100.0))
        .u8(5, percent(health.percentage_used, 255.0))
        .u128(48, units(health.read_bytes))
        .u128(64, units(health.write_bytes))
        .u128(80, units(health.media_bytes))
        .u128(96, health.reads.into())
        .u128(112, health.writes.into())
        .u128(128, health.media_errors.into())
        .u128(144, errors.into())
        .u128(160, size.into())
        .u128(176, unallocated.into());
    fields.take()
}

/// Firmware slot information (Base 2.0, 5.16.1.4): the first is active.
pub(crate) fn firmware(drive: &Subsystem) -> Vec<u8> {
    Fields::new(512).u8(0, 1).ascii(8, 8, &drive.firmware).take()
}

/// Commands supported and their effects (Base 2.0, 5.16.1.6): admin commands, then those of an I/O command set. Bit 0,
/// supported; 1, it changes data.
pub(crate) fn commands(drive: &Subsystem, set: u8) -> Vec<u8> {
    const CHANGES: u32 = 0x3;
    let mut fields = Fields::new(4096);
    // Nothing else is sent meanwhile (CSE, 010b in bits 18:16).
    const ALONE: u32 = 2 << 16;
    // What a namespace can do changes (NCC, bit 2), or which there are (NIC, bit 3).
    const CAN: u32 = 1 << 2;
    const THERE: u32 = 1 << 3;
    let plain = [
        admin::GET_LOG_PAGE,
        admin::IDENTIFY,
        admin::ABORT,
        admin::SET_FEATURES,
        admin::GET_FEATURES,
        admin::ASYNC_EVENT_REQUEST,
        admin::KEEP_ALIVE,
    ];
    let of =
        |opcodes: &[u8], from: usize| opcodes.iter().map(|opcode| from + 4 * usize::from(*opcode)).collect::<Vec<_>>();
    if drive.handles > 0 {
        fields
            .u32s(of(&[admin::DIRECTIVE_SEND, admin::DIRECTIVE_RECEIVE], 0), 1)
            .u32s(of(&[nvm::IO_MANAGEMENT_RECEIVE, nvm::IO_MANAGEMENT_SEND], 1024), 1);
    }
    if set == 2 && drive.zones().is_some() {
        fields
            .u32s(of(&[zones::MANAGEMENT_RECEIVE], 1024), 1)
            .u32s(of(&[zones::MANAGEMENT_SEND, zones::APPEND], 1024), CHANGES);
    }
    fields
        .u32s(of(&plain, 0), 1)
        .u32s(of(&[admin::FORMAT], 0), CHANGES | CAN | ALONE)
        .u32s(of(&[admin::SANITIZE], 0), CHANGES | ALONE)
        .u32s(of(&[admin::NAMESPACE_MANAGEMENT], 0), CHANGES | THERE)
        .u32s(of(&[admin::NAMESPACE_ATTACHMENT], 0), 1 | THERE)
        .u32s(of(&[nvm::FLUSH, nvm::READ, nvm::COMPARE, nvm::VERIFY], 1024), 1)
        .u32s(of(&[nvm::WRITE, nvm::WRITE_ZEROES, nvm::DATASET_MANAGEMENT, nvm::COPY], 1024), CHANGES);
    fields.take()
}

/// Log pages that there are (Base 2.0, 5.16.1.1).
pub(crate) fn supported(drive: Option<&Subsystem>) -> Vec<u8> {
    let of_drive = [
        page::HEALTH,
        page::FIRMWARE,
        page::CHANGED_NAMESPACES,
        page::COMMANDS,
        page::ENDURANCE_GROUP,
        page::FEATURES,
        page::SANITIZE,
    ];
    let of_placement =
        [page::PLACEMENT_CONFIGURATIONS, page::PLACEMENT_USAGE, page::PLACEMENT_STATISTICS, page::PLACEMENT_EVENTS];
    let own: &[u8] = if drive.is_none() { &[page::DISCOVERY] } else { &of_drive };
    let placed: &[u8] = if drive.is_some_and(|drive| drive.handles > 0) { &of_placement } else { &[] };
    let zoned: &[u8] = if drive.is_some_and(|drive| drive.zones().is_some()) { &[page::CHANGED_ZONES] } else { &[] };
    let all = [page::SUPPORTED, page::ERRORS].into_iter().chain([own, placed, zoned].into_iter().flatten().copied());
    let places = all.map(|page| 4 * usize::from(page));
    Fields::new(1024).u32s(places, 1).take()
}

/// The Changed Namespace List: numbers (Base 2.0, 5.16.1.5).
pub(crate) fn changed_namespaces(numbers: &[u32]) -> Vec<u8> {
    let mut fields = Fields::new(4096);
    for (index, number) in numbers.iter().enumerate() {
        fields.u32(4 * index, *number);
    }
    fields.take()
}

/// The Changed Zone List: how many, FFFFh where there are more than it has room for, and the first block of each (ZNS
/// 1.1, 5.2).
pub(crate) fn changed_zones(blocks: &[u64]) -> Vec<u8> {
    const MOST: usize = 511;
    let mut fields = Fields::new(4096);
    if blocks.len() > MOST {
        return fields.u16(0, u16::MAX).take();
    }
    fields.u16(0, blocks.len() as u16);
    for (index, block) in blocks.iter().enumerate() {
        fields.u64(8 + 8 * index, *block);
    }
    fields.take()
}

/// Features that there are, and what changing them affects (Base 2.0, 5.16.1.19): supported (0); their scope (31:20) is
/// the controller (21) or the endurance group (23).
pub(crate) fn features_supported(drive: &Subsystem) -> Vec<u8> {
    let mut fields = Fields::new(1024);
    for (feature, of_group) in features::all(drive) {
        fields.u32(4 * usize::from(feature), 1 | if of_group { 1 << 23 } else { 1 << 21 });
    }
    fields.take()
}
