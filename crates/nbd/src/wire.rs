//! Numbers of the NBD protocol, and fields of its messages: all are big-endian.
//!
//! Names are those of the specification (`doc/proto.md` of the NBD project) without their prefix.

use std::io::{self, Read};

pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943; // "NBDMAGIC"
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054; // "IHAVEOPT"
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST: u32 = 0x2560_9513;
pub(crate) const SIMPLE_REPLY: u32 = 0x6744_6698;
pub(crate) const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// Flags of the handshake, the server's and the client's alike.
pub(crate) const FIXED_NEWSTYLE: u32 = 1;
pub(crate) const NO_ZEROES: u32 = 2;

pub(crate) mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

pub(crate) mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const ERR_UNSUPPORTED: u32 = (1 << 31) | 1;
    pub const ERR_INVALID: u32 = (1 << 31) | 3;
    pub const ERR_UNKNOWN: u32 = (1 << 31) | 6;
    pub const ERR_TOO_BIG: u32 = (1 << 31) | 9;
}

pub(crate) mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub(crate) mod transmission {
    pub const HAS_FLAGS: u16 = 1;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub const SEND_DF: u16 = 1 << 7;
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

pub(crate) mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;

    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DF: u16 = 1 << 2;
    pub const REQ_ONE: u16 = 1 << 3;
}

/// Chunks of a structured reply.
pub(crate) mod chunk {
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = (1 << 15) | 1;
}

/// States of an extent in the context `base:allocation`: a hole that reads as zeros.
pub(crate) const HOLE: u32 = 3;

/// Why a request fails, as NBD numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errno {
    /// The drive is read-only.
    Permission = 1,
    /// The data could not be read, or the drive has failed.
    InputOutput = 5,
    /// The request is malformed.
    Invalid = 22,
    /// A write beyond the end, or more data than can be kept.
    NoSpace = 28,
}

/// The next `N` bytes.
pub(crate) fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Passes over bytes that are of no use.
pub(crate) fn skip(input: &mut impl Read, bytes: u32) -> io::Result<()> {
    let skipped = io::copy(&mut input.take(bytes.into()), &mut io::sink())?;
    if skipped == u64::from(bytes) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The peer has broken the protocol.
pub(crate) fn violation(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The fields of a message's data, from its first on.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn u16(&mut self) -> Option<u16> {
        self.0.split_off(..2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.0.split_off(..4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A string with its length before it.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        self.0.split_off(..length)
    }

    pub fn ended(&self) -> bool {
        self.0.is_empty()
    }
}
