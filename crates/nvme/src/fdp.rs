//! Flexible Data Placement (NVM Express Technical Proposal 4146, cited as TP 4146; Base 2.1, 8.1.10): log pages,
//! features, and the structures of I/O Management. Each drive is endurance group 1 with one configuration, which is
//! enabled; a placement identifier is a handle, below the number of a reclaim group where there are several.

use std::collections::{BTreeMap, BTreeSet};

use ssd::config::Isolation;
use ssd::run::Attended;
use ssd::{FdpEvent, FdpEventKind, FdpStatistics};
use units::Bytes;

use crate::bytes::Fields;
use crate::command::{Answer, Command, Outcome};
use crate::limits::{BLOCK_SHIFTS, MOST_NAMESPACES};
use crate::status::Status;

/// The endurance group that a drive is.
pub(crate) const GROUP: u16 = 1;

/// Placement handles of a drive as they are now.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Reclaim unit handles.
    pub handles: u16,
    /// Reclaim groups.
    pub groups: u16,
    /// Bits of a placement identifier that name the group.
    pub group_bits: u32,
    /// What can still be written to the reclaim unit of each placement identifier, group by group.
    pub available: Vec<(u16, Bytes)>,
    /// Whether relocated data of a handle stays apart.
    pub isolation: Isolation,
    /// The nominal size of a reclaim unit.
    pub unit: Bytes,
    /// What was written and erased.
    pub statistics: FdpStatistics,
    /// The newest events, the oldest first.
    pub events: Vec<FdpEvent>,
}

impl Placement {
    /// That of a drive now, if it has handles.
    pub fn of(live: &dyn Attended) -> Option<Placement> {
        live.drive().fdp().map(|fdp| Placement {
            handles: fdp.handles(),
            groups: fdp.groups(),
            group_bits: fdp.group_bits(),
            available: fdp
                .identifiers()
                .filter_map(|identifier| Some((identifier, fdp.available(identifier)?)))
                .collect(),
            isolation: fdp.isolation(),
            unit: fdp.unit(),
            statistics: fdp.statistics(),
            events: fdp.events().collect(),
        })
    }

    /// The reclaim group and the handle that a placement identifier names.
    fn named(&self, identifier: u16) -> (u16, u16) {
        let below = u16::BITS - self.group_bits;
        let group = identifier.checked_shr(below).unwrap_or(0);
        (group, identifier - group.checked_shl(below).unwrap_or(0))
    }

    /// FDP Configurations: a header of 16 bytes, a descriptor of 64, and 4 bytes a handle (TP 4146, Figure "FDP
    /// Configurations Log Page"). The drive's write cache is volatile or is not, as Identify Controller says it.
    pub(crate) fn configurations(&self, volatile_cache: bool) -> Vec<u8> {
        let descriptor = (64 + 4 * usize::from(self.handles)).next_multiple_of(8);
        let mut fields = Fields::new(16 + descriptor);
        // Configurations from 0; the size of all.
        fields.u16(0, 0).u32(4, (16 + descriptor) as u32);
        // Valid (7), a volatile write cache (4), bits of a placement identifier for the reclaim group (3:0); reclaim
        // groups.
        let attributes = 1 << 7 | u8::from(volatile_cache) << 4 | self.group_bits as u8;
        fields.u16(16, descriptor as u16).u8(18, attributes).u32(20, self.groups.into());
        // Handles; placement identifiers of a command from 0; namespaces.
        let identifiers = self.available.len() as u16;
        fields.u16(24, self.handles).u16(26, identifiers - 1).u32(28, MOST_NAMESPACES).u64(32, self.unit.0);
        let kind = match self.isolation {
            Isolation::Initial => 1,
            Isolation::Persistent => 2,
        };
        for handle in 0..usize::from(self.handles) {
            fields.u8(80 + 4 * handle, kind);
        }
        fields.take()
    }

    /// Reclaim Unit Handle Usage: a host has them all, by its namespace (TP 4146, Figure "Reclaim Unit Handle Usage Log
    /// Page").
    pub(crate) fn usage(&self) -> Vec<u8> {
        let mut fields = Fields::new(8 + 8 * usize::from(self.handles));
        fields.u16(0, self.handles);
        for handle in 0..usize::from(self.handles) {
            fields.u8(8 + 8 * handle, 1);
        }
        fields.take()
    }

    /// FDP Statistics: bytes of hosts, of the medium, and erased (TP 4146, Figure "FDP Statistics Log Page").
    pub(crate) fn statistics(&self) -> Vec<u8> {
        let FdpStatistics { host_written, media_written, media_erased } = self.statistics;
        let values = [host_written, media_written, media_erased];
        let mut fields = Fields::new(64);
        for (place, value) in values.into_iter().enumerate() {
            fields.u128(16 * place, value.0.into());
        }
        fields.take()
    }

    /// FDP Events, those of hosts or those of the controller: a header of 64 bytes, then 64 bytes an event (TP 4146,
    /// Figure "FDP Events Log Page"). The namespace is known where there is one alone.
    pub(crate) fn events(&self, of_host: bool, wanted: &Events, page: Bytes, namespace: Option<u32>) -> Vec<u8> {
        let chosen = |event: &&FdpEvent| {
            event.kind.is_of_host() == of_host && wanted.is_enabled(self.named(event.handle).1, event.kind.code())
        };
        let events: Vec<&FdpEvent> = self.events.iter().filter(chosen).collect();
        let mut fields = Fields::new(64 + 64 * events.len());
        fields.u32(0, events.len() as u32);
        for (index, event) in events.into_iter().enumerate() {
            let at = 64 + 64 * index;
            // The placement identifier (0), the namespace (1) and the place (2) are valid: of data that has moved the
            // handle is known where handles are persistently isolated.
            let moved = event.kind == FdpEventKind::MediaReallocated;
            let known = !moved || self.isolation == Isolation::Persistent;
            let place = event.kind != FdpEventKind::InvalidPlacement;
            let flags = u8::from(known) | u8::from(namespace.is_some()) << 1 | u8::from(place) << 2;
            fields.u8(at, event.kind.code()).u8(at + 1, flags).u32(at + 12, namespace.unwrap_or(0));
            // A timestamp [ms] that counts from the drive's begin (Base 2.0, 5.27.1.14).
            fields.u16(at + 2, event.handle).u64(at + 4, (event.time.0 / 1_000_000) & ((1 << 48) - 1));
            if moved {
                // How many blocks; which is not told (flag 0).
                let blocks = event.pages * (page.0 >> BLOCK_SHIFTS[0]);
                fields.u16(at + 18, blocks.min(u16::MAX.into()) as u16);
            }
            let (group, handle) = self.named(event.handle);
            fields.u16(at + 32, group).u8(at + 34, handle as u8);
        }
        fields.take()
    }
}

/// What can still be written by a placement identifier.
pub(crate) struct Left {
    pub identifier: u16,
    /// The drive's handle that it names.
    pub handle: u16,
    pub bytes: Bytes,
}

/// The status of handles that I/O Management Receive gives: 16 bytes, then 32 for each of each group: placement
/// identifier, handle, and how many blocks it can still write (TP 4146, Figure "Reclaim Unit Handle Status").
pub(crate) fn status(available: &[Left], length: usize, shift: u8) -> Vec<u8> {
    let mut fields = Fields::new(16 + 32 * available.len());
    fields.u16(14, available.len() as u16);
    for (index, Left { identifier, handle, bytes }) in available.iter().enumerate() {
        let at = 16 + 32 * index;
        fields.u16(at, *identifier).u16(at + 2, *handle).u64(at + 8, bytes.0 >> shift);
    }
    let mut data = fields.take();
    data.resize(length, 0);
    data
}

/// Which events hosts want: all but those that they have disabled, by handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(BTreeMap<u16, BTreeSet<u8>>);

/// All that there are.
const KINDS: [FdpEventKind; 4] = [
    FdpEventKind::NotWrittenToCapacity,
    FdpEventKind::InvalidPlacement,
    FdpEventKind::MediaReallocated,
    FdpEventKind::ImplicitlyModified,
];

impl Events {
    fn is_enabled(&self, handle: u16, kind: u8) -> bool {
        !self.0.get(&handle).is_some_and(|disabled| disabled.contains(&kind))
    }

    /// Get Features, FDP Events: a handle of the namespace in dword 11, bits 15:0, how many descriptors there is room
    /// for in 23:16. Each has 2 bytes: type, and whether it is enabled (TP 4146, "FDP Events (Feature Identifier
    /// 1Eh)").
    pub fn get(&self, command: &Command, handles: &[u16]) -> Outcome {
        let (handle, most) = asked(command, handles)?;
        let told = KINDS.iter().take(most).flat_map(|kind| [kind.code(), self.is_enabled(handle, kind.code()).into()]);
        Ok(Answer { result: KINDS.len() as u64, data: told.collect() })
    }

    /// Set Features: types in the data, a byte each, are enabled or disabled by dword 12, bit 0.
    pub fn set(&mut self, command: &Command, data: &[u8], handles: &[u16]) -> Outcome {
        let (handle, most) = asked(command, handles)?;
        let kinds = data.get(..most).ok_or(Status::INVALID_FIELD)?;
        if kinds.iter().any(|code| KINDS.iter().all(|kind| kind.code() != *code)) {
            return Err(Status::INVALID_FIELD.into());
        }
        let disabled = self.0.entry(handle).or_default();
        for code in kinds {
            if command.dword(12) & 1 != 0 {
                disabled.remove(code);
            } else {
                disabled.insert(*code);
            }
        }
        Ok(Answer::default())
    }
}

/// The drive's handle that one of a namespace's is, and how many descriptors.
fn asked(command: &Command, handles: &[u16]) -> Result<(u16, usize), Status> {
    let eleven = command.dword(11);
    let handle = handles.get((eleven & 0xffff) as usize).ok_or(Status::INVALID_FIELD)?;
    Ok((*handle, (eleven >> 16 & 0xff) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_says_whether_the_write_cache_is_volatile() {
        let statistics = FdpStatistics { host_written: Bytes(0), media_written: Bytes(0), media_erased: Bytes(0) };
        let placement = Placement {
            handles: 2,
            groups: 4,
            group_bits: 2,
            available: vec![(0, Bytes(4096)), (1, Bytes(4096))],
            isolation: Isolation::Initial,
            unit: Bytes(1 << 20),
            statistics,
            events: Vec::new(),
        };
        let attributes = |volatile| placement.configurations(volatile)[18];
        assert_eq!([attributes(false), attributes(true)], [0b1000_0010, 0b1001_0010]);
    }
}
