//! A drive as hosts see it: its names, and what it can do.

use std::ops::Range;

use units::Bytes;

use crate::limits::MOST_QUEUES;
use crate::zones::Zones;

/// What a namespace is: which I/O command set it takes (Base 2.0, 5.17 "I/O Command Set Identifier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The NVM command set.
    Nvm,
    /// That and the Zoned Namespace command set.
    Zoned(Zones),
}

impl Kind {
    /// Its command set identifier.
    pub fn command_set(self) -> u8 {
        match self {
            Kind::Nvm => 0,
            Kind::Zoned(_) => 2,
        }
    }

    /// Its zones, if it has some.
    pub fn zones(self) -> Option<Zones> {
        match self {
            Kind::Nvm => None,
            Kind::Zoned(zones) => Some(zones),
        }
    }
}

/// A part of a drive, and what namespaces that lie there are.
#[derive(Clone, Debug)]
pub struct Area {
    /// Its bytes of the drive.
    pub range: Range<u64>,
    /// What they are.
    pub kind: Kind,
}

/// A subsystem: a simulated drive.
#[derive(Clone, Debug)]
pub struct Subsystem {
    /// Its name (NQN).
    pub nqn: String,
    /// Serial number, 20 characters at most.
    pub serial: String,
    /// Model, 40 characters at most.
    pub model: String,
    /// Firmware revision, 8 characters at most.
    pub firmware: String,
    /// Its parts, at least one, in order. Each begins as a namespace.
    pub areas: Vec<Area>,
    /// What writes had best be multiples of: a page of the drive.
    pub preferred: Bytes,
    /// Submission queues of the drive.
    pub queues: u16,
    /// Placement handles that the drive tells apart; 0 for none.
    pub handles: u16,
    /// Bits of a placement identifier that name the reclaim group.
    pub group_bits: u32,
    /// What is in its write buffer does not survive a power cut.
    pub volatile_cache: bool,
}

impl Subsystem {
    /// A drive of a name, which its identifiers follow from.
    pub fn new(name: &str, model: &str, version: &str, size: Bytes) -> Subsystem {
        // ICANN keeps `internal` for private use: nobody else names subsystems by it (Base 2.0, 4.5).
        let nqn = format!("nqn.2026-01.internal.ssdlab:{}", if name.is_empty() { "drive" } else { name });
        let serial = digest(0, &[nqn.as_bytes(), model.as_bytes()]);
        Subsystem {
            nqn,
            serial: format!("{serial:016X}"),
            model: model.to_owned(),
            firmware: version.to_owned(),
            areas: vec![Area { range: 0..size.0, kind: Kind::Nvm }],
            preferred: Bytes(4096),
            queues: 1,
            handles: 0,
            group_bits: 0,
            volatile_cache: true,
        }
    }

    /// All bytes of it.
    pub fn size(&self) -> u64 {
        self.areas.iter().map(|area| area.range.end - area.range.start).sum()
    }

    /// Its zones, if it has some.
    pub fn zones(&self) -> Option<Zones> {
        self.areas.iter().find_map(|area| area.kind.zones())
    }

    /// The command sets that its namespaces can have, a bit each.
    pub fn command_sets(&self) -> u64 {
        1 | self.areas.iter().fold(0, |sets, area| sets | 1 << area.kind.command_set())
    }

    /// Whether its namespaces can have a command set.
    pub(crate) fn supports(&self, set: u8) -> bool {
        self.command_sets().checked_shr(set.into()).unwrap_or(0) & 1 != 0
    }

    /// What the size of a namespace of an area is rounded up to \[B]: pages, or whole zones.
    pub(crate) fn granularity(&self, area: &Area) -> u64 {
        area.kind.zones().map_or(self.preferred.0.max(4096), |zones| zones.size)
    }

    /// I/O queues that a host may have.
    pub fn most_queues(&self) -> u16 {
        self.queues.clamp(1, MOST_QUEUES)
    }

    /// The identifier of its namespace that was the `made`th, from 0.
    pub(crate) fn uuid(&self, made: u64) -> [u8; 16] {
        let number = made.to_be_bytes();
        let which: &[u8] = if made == 0 { &[] } else { &number };
        let [first, second] = [0, 1].map(|salt| digest(salt, &[self.nqn.as_bytes(), self.model.as_bytes(), which]));
        let mut uuid: [u8; 16] = [first.to_be_bytes(), second.to_be_bytes()].concat().try_into().expect("16 bytes");
        // Of version 8, which leaves the rest to who makes it (RFC 9562, 5.8).
        (uuid[6], uuid[8]) = (uuid[6] & 0x0f | 0x80, uuid[8] & 0x3f | 0x80);
        uuid
    }
}

/// The 64-bit FNV-1a digest of bytes, after a salt.
fn digest(salt: u8, parts: &[&[u8]]) -> u64 {
    let each = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    [salt].iter().chain(parts.iter().copied().flatten()).fold(0xcbf2_9ce4_8422_2325, each)
}
