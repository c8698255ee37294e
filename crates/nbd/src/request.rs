//! Requests of the transmission phase, and what they are answered with.

use std::io::{self, Read};

use served::{Extent, Step, Work};
use workload::Op;

use crate::handshake::{LARGEST_PAYLOAD, Session};
use crate::wire::{self, Errno, chunk, command, take, violation};

/// A request as it comes.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its flags, as NBD numbers them.
    pub flags: u16,
    /// What is asked for, as NBD numbers it.
    pub kind: u16,
    /// The client's name for it.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

impl Frame {
    /// Reads the next one.
    pub fn read(input: &mut impl Read) -> io::Result<Frame> {
        let bytes: [u8; 28] = take(input)?;
        let (magic, rest) = bytes.split_at(4);
        if magic != wire::REQUEST.to_be_bytes() {
            return Err(violation("a request does not begin as one"));
        }
        let word = |from: usize| u64::from_be_bytes(std::array::from_fn(|index| rest[from + index]));
        Ok(Frame {
            flags: (word(0) >> 48) as u16,
            kind: (word(0) >> 32) as u16,
            cookie: word(4),
            offset: word(12),
            length: (word(16) & u64::from(u32::MAX)) as u32,
        })
    }

    /// Bytes that follow it.
    pub fn payload(&self) -> u32 {
        if self.kind == command::WRITE { self.length } else { 0 }
    }

    /// The request without its data, and whether it can be done.
    pub fn job(&self, session: &Session, size: u64) -> (Job, Result<(), Errno>) {
        let job = |command, length| {
            let durable = self.flags & command::FUA != 0;
            Job { cookie: self.cookie, offset: self.offset, length, command, durable }
        };
        match self.asks(session, size) {
            Ok(command) => (job(command, self.length), Ok(())),
            // Nothing is done for it.
            Err(error) => (job(Command::Flush, 0), Err(error)),
        }
    }

    /// What it asks for, if that can be done.
    fn asks(&self, session: &Session, size: u64) -> Result<Command, Errno> {
        let (asked, flags) = match self.kind {
            command::READ => (Command::Read, command::DF),
            command::WRITE => (Command::Write(Vec::new()), 0),
            command::FLUSH => (Command::Flush, 0),
            command::TRIM => (Command::Trim, 0),
            command::WRITE_ZEROES => {
                (Command::Zero { allocates: self.flags & command::NO_HOLE != 0 }, command::NO_HOLE)
            }
            command::BLOCK_STATUS if session.allocation => {
                (Command::Status { one: self.flags & command::REQ_ONE != 0 }, command::REQ_ONE)
            }
            _ => return Err(Errno::Invalid),
        };
        let unknown = self.flags & !(flags | command::FUA) != 0;
        if unknown || (self.flags & command::DF != 0 && !session.structured) {
            return Err(Errno::Invalid);
        }
        if matches!(asked, Command::Flush) {
            return if self.offset == 0 && self.length == 0 { Ok(asked) } else { Err(Errno::Invalid) };
        }
        let beyond = self.offset.checked_add(self.length.into()).is_none_or(|end| end > size);
        let carries = matches!(asked, Command::Read | Command::Write(_));
        match asked {
            _ if self.length == 0 || (carries && self.length > LARGEST_PAYLOAD) => Err(Errno::Invalid),
            Command::Write(_) | Command::Zero { .. } if beyond => Err(Errno::NoSpace),
            _ if beyond => Err(Errno::Invalid),
            _ => Ok(asked),
        }
    }
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Data.
    Read,
    /// With its data.
    Write(Vec<u8>),
    /// That all data is on flash.
    Flush,
    /// That data is not wanted any more.
    Trim,
    /// Zeros in place of data.
    Zero {
        /// The zeros are written, and do not become a hole.
        allocates: bool,
    },
    /// Which parts hold data.
    Status {
        /// The first extent is enough.
        one: bool,
    },
}

/// A request that can be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// The client's name for it.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// What is done.
    pub command: Command,
    /// What it writes is on flash before it is answered.
    pub durable: bool,
}

impl Job {
    /// Whether data must be kept for good before it is answered.
    pub fn is_durable(&self) -> bool {
        self.durable || matches!(self.command, Command::Flush)
    }

    /// What a drive does for it; none where the data alone answers.
    pub fn work(&self) -> Option<Work> {
        let op = match self.command {
            Command::Flush => return Some(Work::of(Step::flush())),
            Command::Read => Op::Read,
            Command::Write(_) | Command::Zero { allocates: true } => Op::Write,
            Command::Trim | Command::Zero { allocates: false } => Op::Trim,
            Command::Status { .. } => return None,
        };
        let work = Work::of(Step::new(op, self.offset, self.length.into()));
        // As Linux does for drives without FUA.
        Some(if self.durable && op != Op::Read { work.then(Step::flush()) } else { work })
    }

    /// Bytes of data that are held in memory for it.
    pub fn held(&self) -> u32 {
        if matches!(self.command, Command::Read | Command::Write(_)) { self.length } else { 0 }
    }
}

/// What a reply carries.
pub(crate) enum Content {
    None,
    Data(Vec<u8>),
    Extents(Vec<Extent>),
}

/// A reply as it goes.
pub(crate) fn reply(session: &Session, cookie: u64, offset: u64, outcome: Result<Content, Errno>) -> Vec<u8> {
    if !session.structured {
        let error = outcome.as_ref().err().map_or(0, |error| *error as u32);
        let mut message = wire::SIMPLE_REPLY.to_be_bytes().to_vec();
        message.extend(error.to_be_bytes());
        message.extend(cookie.to_be_bytes());
        if let Ok(Content::Data(data)) = outcome {
            message.extend(data);
        }
        return message;
    }
    match outcome {
        Ok(Content::None) => structured(chunk::NONE, cookie, &[]),
        Ok(Content::Data(data)) => structured(chunk::OFFSET_DATA, cookie, &[&offset.to_be_bytes(), &data]),
        Ok(Content::Extents(extents)) => {
            let of_extent = |extent: &Extent| {
                let state = if extent.hole { wire::HOLE } else { 0 };
                [(extent.bytes as u32).to_be_bytes(), state.to_be_bytes()].concat()
            };
            let extents: Vec<u8> = extents.iter().flat_map(of_extent).collect();
            structured(chunk::BLOCK_STATUS, cookie, &[&[0; 4], &extents])
        }
        Err(error) => structured(chunk::ERROR, cookie, &[&(error as u32).to_be_bytes(), &[0; 2]]),
    }
}

/// A reply of one chunk.
fn structured(kind: u16, cookie: u64, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut message = Vec::with_capacity(20 + length);
    message.extend(wire::STRUCTURED_REPLY.to_be_bytes());
    message.extend(chunk::DONE.to_be_bytes());
    message.extend(kind.to_be_bytes());
    message.extend(cookie.to_be_bytes());
    message.extend((length as u32).to_be_bytes());
    parts.iter().for_each(|part| message.extend_from_slice(part));
    message
}
