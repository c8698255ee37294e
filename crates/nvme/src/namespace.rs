//! A drive as hosts see it: its names, and what it can do.

use units::Bytes;

use crate::limits::{BLOCK_SHIFT, MOST_QUEUES};
use crate::zoned::Zones;

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
}

/// A subsystem with one namespace, number 1: a simulated drive.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// The subsystem's name (NQN).
    pub nqn: String,
    /// Serial number, 20 characters at most.
    pub serial: String,
    /// Model, 40 characters at most.
    pub model: String,
    /// Firmware revision, 8 characters at most.
    pub firmware: String,
    /// Identifies the namespace.
    pub uuid: [u8; 16],
    /// What it is.
    pub kind: Kind,
    /// Its size.
    pub size: Bytes,
    /// What writes had best be multiples of: a page of the drive.
    pub preferred: Bytes,
    /// Submission queues of the drive.
    pub queues: u16,
    /// Placement handles that the drive tells apart; 0 for none.
    pub handles: u16,
    /// What is in its write buffer does not survive a power cut.
    pub volatile_cache: bool,
}

impl Namespace {
    /// A drive of a name, which its identifiers follow from.
    pub fn new(name: &str, model: &str, version: &str, size: Bytes) -> Namespace {
        // ICANN keeps `internal` for private use: nobody else names subsystems by it (Base 2.0, 4.5).
        let nqn = format!("nqn.2026-01.internal.ssdlab:{}", if name.is_empty() { "drive" } else { name });
        let [first, second] = [0, 1].map(|salt| digest(salt, &[nqn.as_bytes(), model.as_bytes()].concat()));
        let mut uuid: [u8; 16] = [first.to_be_bytes(), second.to_be_bytes()].concat().try_into().expect("16 bytes");
        // Of version 8, which leaves the rest to who makes it (RFC 9562, 5.8).
        (uuid[6], uuid[8]) = (uuid[6] & 0x0f | 0x80, uuid[8] & 0x3f | 0x80);
        Namespace {
            nqn,
            serial: format!("{first:016X}"),
            model: model.to_owned(),
            firmware: version.to_owned(),
            uuid,
            kind: Kind::Nvm,
            size,
            preferred: Bytes(4096),
            queues: 1,
            handles: 0,
            volatile_cache: true,
        }
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.size.0 >> BLOCK_SHIFT
    }

    /// I/O queues that a host may have.
    pub fn most_queues(&self) -> u16 {
        self.queues.clamp(1, MOST_QUEUES)
    }
}

/// The 64-bit FNV-1a digest of bytes, after a salt.
fn digest(salt: u8, bytes: &[u8]) -> u64 {
    let each = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    [salt].iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, each)
}
