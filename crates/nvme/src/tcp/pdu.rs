//! Protocol data units (TCP Transport 1.0, 3.6 "Transport Protocol Data Units"): read, checked and made.

use std::io::{self, ErrorKind, Read};

use crate::bytes::{Fields, u16_at, u32_at};
use crate::command::CommandId;
use crate::limits::{CAPSULE_DATA, LARGEST_TRANSFER};

/// Types (TCP Transport 1.0, 3.6.1).
mod kind {
    pub const IC_REQ: u8 = 0x00;
    pub const IC_RESP: u8 = 0x01;
    pub const H2C_TERM: u8 = 0x02;
    pub const C2H_TERM: u8 = 0x03;
    pub const CAPSULE_CMD: u8 = 0x04;
    pub const CAPSULE_RESP: u8 = 0x05;
    pub const H2C_DATA: u8 = 0x06;
    pub const C2H_DATA: u8 = 0x07;
    pub const R2T: u8 = 0x09;
}

/// Flags of the common header: a header digest, a data digest, the last of a transfer.
const HEADER_DIGEST: u8 = 1;
const DATA_DIGEST: u8 = 2;
const LAST: u8 = 4;
/// The common header, and the header of all that a host sends but commands and the first \[B].
const COMMON: usize = 8;
const SHORT: u8 = 24;
/// A digest \[B].
const DIGEST: u32 = 4;

/// Why a connection ends: what the controller tells the host (TCP Transport 1.0, 3.6.2.4 "C2HTermReq": FES and FEI).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// Fatal error status.
    pub status: u16,
    /// Which part of the header was wrong: its byte, or the digest.
    pub information: u32,
    /// The header that was wrong.
    pub header: Vec<u8>,
}

/// Fatal error status (TCP Transport 1.0, 3.6.2.4).
#[allow(missing_docs)]
pub mod fatal {
    pub const INVALID_HEADER: u16 = 1;
    pub const SEQUENCE: u16 = 2;
    pub const HEADER_DIGEST: u16 = 3;
    pub const OUT_OF_RANGE: u16 = 4;
    pub const LIMIT_EXCEEDED: u16 = 5;
    pub const UNSUPPORTED: u16 = 6;
}

/// Why nothing more is read.
#[derive(Debug)]
pub enum End {
    /// The host has left, or cannot be heard.
    Gone,
    /// The host breaks the protocol.
    Fatal(Fatal),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Gone
    }
}

/// What a host sends after the first.
#[derive(Debug)]
pub enum Unit {
    /// A command with its data.
    Command {
        /// The header, with the submission queue entry in bytes 71:8.
        header: Vec<u8>,
        /// What came with it.
        data: Vec<u8>,
        /// It came as it was sent.
        whole: bool,
    },
    /// Data that was asked for.
    Data {
        /// The command.
        command: CommandId,
        /// Which transfer.
        transfer: u16,
        /// The first byte.
        offset: u32,
        /// The bytes.
        data: Vec<u8>,
        /// They came as they were sent.
        whole: bool,
        /// No more follow.
        last: bool,
        /// The header, if it turns out to be wrong.
        header: Vec<u8>,
    },
}

/// What was agreed on for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Headers have digests.
    pub header_digest: bool,
    /// Data has digests.
    pub data_digest: bool,
    /// What the host wants the place of data to be a multiple of \[B].
    pub alignment: u32,
}

impl Framing {
    /// Reads the first unit, ICReq (TCP Transport 1.0, 3.6.2.2), and makes what answers it.
    pub fn agree(input: &mut impl Read) -> Result<(Framing, Vec<u8>), End> {
        let mut header = vec![0; 128];
        input.read_exact(&mut header[..COMMON])?;
        let wrong =
            |header: &[u8], status, at| Err(End::Fatal(Fatal { status, information: at, header: header.to_vec() }));
        if header[0] != kind::IC_REQ {
            return wrong(&header[..COMMON], fatal::SEQUENCE, 0);
        }
        if header[2] != 128 || u32_at(&header, 4) != 128 {
            return wrong(&header[..COMMON], fatal::INVALID_HEADER, if header[2] == 128 { 4 } else { 2 });
        }
        input.read_exact(&mut header[COMMON..])?;
        // Format of the protocol; alignment in dwords from 0; digests: header (0) and data (1).
        let (version, alignment, digests) = (u16_at(&header, 8), header[10], header[11]);
        if version != 0 {
            return wrong(&header, fatal::UNSUPPORTED, 8);
        }
        if alignment > 31 {
            return wrong(&header, fatal::INVALID_HEADER, 10);
        }
        let framing = Framing {
            header_digest: digests & 1 != 0,
            data_digest: digests & 2 != 0,
            alignment: (u32::from(alignment) + 1) * 4,
        };
        // ICResp (3.6.2.3): no alignment of what the host sends, the same digests, the most data of a unit.
        let mut fields = Fields::new(128);
        fields.u8(0, kind::IC_RESP).u8(2, 128).u32(4, 128).u8(11, digests & 3).u32(12, LARGEST_TRANSFER);
        Ok((framing, fields.take()))
    }

    /// Reads the next unit.
    pub fn read(&self, input: &mut impl Read) -> Result<Unit, End> {
        let mut header = vec![0; COMMON];
        input.read_exact(&mut header)?;
        let length = match header[0] {
            kind::CAPSULE_CMD => 72,
            kind::H2C_DATA => SHORT,
            kind::H2C_TERM => return Err(End::Gone),
            kind::IC_REQ => return Err(End::Fatal(Fatal { status: fatal::SEQUENCE, information: 0, header })),
            _ => return Err(End::Fatal(Fatal { status: fatal::INVALID_HEADER, information: 0, header })),
        };
        let wrong = |header: &[u8], at| {
            Err(End::Fatal(Fatal { status: fatal::INVALID_HEADER, information: at, header: header.to_vec() }))
        };
        if header[2] != length {
            return wrong(&header, 2);
        }
        // The digests that were agreed on, but no data has none.
        let flags = header[1];
        if (flags & HEADER_DIGEST != 0) != self.header_digest || (flags & DATA_DIGEST != 0 && !self.data_digest) {
            return wrong(&header, 1);
        }
        let (total, place) = (u32_at(&header, 4), u32::from(header[3]));
        let head = u32::from(length) + if self.header_digest { DIGEST } else { 0 };
        let most = if length == SHORT { LARGEST_TRANSFER } else { CAPSULE_DATA };
        let has_data = total > head;
        let after = if has_data && self.data_digest { DIGEST } else { 0 };
        if total < head || (has_data && (place < head || total <= place.saturating_add(after))) {
            return wrong(&header, if total < head { 4 } else { 3 });
        }
        if has_data && (flags & DATA_DIGEST != 0) != self.data_digest {
            return wrong(&header, 1);
        }
        let bytes = if has_data { total - place - after } else { 0 };
        if bytes > most {
            return Err(End::Fatal(Fatal { status: fatal::LIMIT_EXCEEDED, information: 4, header }));
        }
        header.resize(length.into(), 0);
        input.read_exact(&mut header[COMMON..])?;
        if self.header_digest {
            let digest = word(input)?;
            if digest != crc32c::crc32c(&header) {
                return Err(End::Fatal(Fatal { status: fatal::HEADER_DIGEST, information: digest, header }));
            }
        }
        let mut data = Vec::new();
        let mut whole = true;
        if has_data {
            let mut padding = [0; 255];
            input.read_exact(&mut padding[..(place - head) as usize])?;
            // What comes is kept, and not what is promised.
            if input.take(bytes.into()).read_to_end(&mut data)? != bytes as usize {
                return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
            }
            whole = !self.data_digest || word(input)? == crc32c::crc32c(&data);
        }
        if length != SHORT {
            return Ok(Unit::Command { header, data, whole });
        }
        // H2CData (3.6.2.8): the command, the transfer, the offset and the length.
        if u32_at(&header, 16) != bytes {
            return wrong(&header, 16);
        }
        let (command, transfer, offset) = (CommandId(u16_at(&header, 8)), u16_at(&header, 10), u32_at(&header, 12));
        Ok(Unit::Data { command, transfer, offset, data, whole, last: flags & LAST != 0, header })
    }

    /// The header of a unit that a controller sends: its type, flags, and how much data it has. With it the bytes of
    /// padding before the data.
    fn header(&self, kind: u8, flags: u8, data: usize) -> (Fields, usize) {
        let head = u32::from(SHORT) + if self.header_digest { DIGEST } else { 0 };
        let mut fields = Fields::new(SHORT.into());
        let (mut flags, mut place, mut total) = (flags, 0, head);
        if self.header_digest {
            flags |= HEADER_DIGEST;
        }
        if data > 0 {
            place = head.next_multiple_of(self.alignment.max(4));
            total = place + data as u32;
            if self.data_digest {
                flags |= DATA_DIGEST;
                total += DIGEST;
            }
        }
        fields.u8(0, kind).u8(1, flags).u8(2, SHORT).u8(3, place as u8).u32(4, total);
        (fields, place.saturating_sub(head) as usize)
    }

    /// Adds a header, with its digest.
    fn close(&self, mut fields: Fields, into: &mut Vec<u8>) {
        let header = fields.take();
        into.extend(&header);
        if self.header_digest {
            into.extend(crc32c::crc32c(&header).to_le_bytes());
        }
    }

    /// CapsuleResp (3.6.2.6): a completion.
    pub fn completion(&self, entry: &[u8; 16], into: &mut Vec<u8>) {
        let (mut fields, _) = self.header(kind::CAPSULE_RESP, 0, 0);
        fields.bytes(8, entry);
        self.close(fields, into);
    }

    /// C2HData (3.6.2.9): all of a command's data at once, which a completion follows.
    pub fn data(&self, command: CommandId, data: &[u8], into: &mut Vec<u8>) {
        let (mut fields, padding) = self.header(kind::C2H_DATA, LAST, data.len());
        fields.u16(8, command.0).u32(12, 0).u32(16, data.len() as u32);
        into.reserve(64 + padding + data.len());
        self.close(fields, into);
        into.extend(std::iter::repeat_n(0, padding));
        into.extend(data);
        if self.data_digest {
            into.extend(crc32c::crc32c(data).to_le_bytes());
        }
    }

    /// R2T (3.6.2.10): all of a command's data may come.
    pub fn ready(&self, command: CommandId, transfer: u16, length: u32) -> Vec<u8> {
        let (mut fields, _) = self.header(kind::R2T, 0, 0);
        fields.u16(8, command.0).u16(10, transfer).u32(12, 0).u32(16, length);
        let mut unit = Vec::new();
        self.close(fields, &mut unit);
        unit
    }
}

/// C2HTermReq (3.6.2.5), with the header that was wrong; it has no digests.
pub fn terminate(Fatal { status, information, header }: &Fatal) -> Vec<u8> {
    let header = &header[..header.len().min(128)];
    let mut fields = Fields::new(SHORT.into());
    fields.u8(0, kind::C2H_TERM).u8(2, SHORT).u32(4, u32::from(SHORT) + header.len() as u32);
    fields.u16(8, *status).u32(10, *information);
    [&fields.take()[..], header].concat()
}

fn word(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}
