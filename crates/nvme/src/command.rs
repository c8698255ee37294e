//! Commands and completions as they lie in their queues.

use crate::bytes::{Fields, u16_at, u32_at, u64_at};
use crate::status::Status;

/// A submission queue entry (Base 2.0, 3.3.3.1 "Submission Queue Entry").
#[derive(Clone, Copy, Debug)]
pub struct Command(pub [u8; 64]);

/// A host's name for a command of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandId(pub u16);

/// A queue of a controller; its admin queue is number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u16);

impl QueueId {
    /// The admin queue.
    pub const ADMIN: QueueId = QueueId(0);

    /// Whether it is the admin queue.
    pub fn is_admin(self) -> bool {
        self == QueueId::ADMIN
    }
}

/// A controller of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControllerId(pub u16);

/// A logical block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lba(pub u64);

/// Where the data of a command is (Base 2.0, 4.1.2 "Scatter Gather List (SGL)").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the capsule, from an offset on: data block descriptor (0h) with an offset (1h).
    Capsule {
        /// Counted from the begin of the capsule's data.
        offset: u64,
    },
    /// Moved by the transport: transport data block descriptor (5h), transport specific (Ah).
    Transport,
    /// Nothing that this transport has.
    Unknown,
}

impl Command {
    /// What is asked for.
    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Whether it says where its data is by PRP entries, which there are not over Fabrics: 00b in PSDT, bits 7:6 (Base
    /// 2.0, 3.3.3.1 "Command Dword 0").
    pub fn uses_prp(&self) -> bool {
        self.0[1] >> 6 == 0
    }

    /// Which of a fused pair it is: FUSE, bits 1:0.
    pub fn fused(&self) -> Fused {
        match self.0[1] & 3 {
            0 => Fused::Not,
            1 => Fused::First,
            2 => Fused::Second,
            _ => Fused::Reserved,
        }
    }

    /// The host's name for it.
    pub fn id(&self) -> CommandId {
        CommandId(u16_at(&self.0, 2))
    }

    /// The namespace.
    pub fn namespace(&self) -> u32 {
        u32_at(&self.0, 4)
    }

    /// Of a Fabrics command: its type (Base 2.0, 6 "Fabrics Command Set").
    pub fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// A dword, 10 to 15.
    pub fn dword(&self, number: usize) -> u32 {
        u32_at(&self.0, 4 * number)
    }

    /// Dwords 10 and 11: where the first block is.
    pub fn dwords_10_11(&self) -> u64 {
        u64_at(&self.0, 40)
    }

    /// Where its data is.
    pub fn place(&self) -> Place {
        match self.0[39] {
            0x01 => Place::Capsule { offset: u64_at(&self.0, 24) },
            0x5a => Place::Transport,
            _ => Place::Unknown,
        }
    }

    /// How long its data is.
    pub fn length(&self) -> u32 {
        u32_at(&self.0, 32)
    }

    /// Which way its data goes: bits 1:0 of the opcode, or of the type of a Fabrics command (Base 2.0, 3.3.3.1
    /// "Opcode").
    pub fn direction(&self) -> Direction {
        let code = if self.opcode() == FABRICS { self.fabrics_type() } else { self.opcode() };
        match code & 3 {
            0 => Direction::None,
            1 => Direction::FromHost,
            2 => Direction::ToHost,
            _ => Direction::Both,
        }
    }
}

/// Which of two commands one is that are done as one: the second only if the first succeeds (Base 2.0, 8.10 "Fused
/// Operations").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fused {
    /// It is by itself.
    Not,
    /// The one that comes first.
    First,
    /// The one behind it.
    Second,
    /// Nothing that has a meaning.
    Reserved,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// There is none.
    None,
    /// The host has it.
    FromHost,
    /// The host gets it.
    ToHost,
    /// Nothing that is supported.
    Both,
}

/// The opcode of all Fabrics commands (Base 2.0, 6).
pub const FABRICS: u8 = 0x7f;

/// Opcodes of the admin command set (Base 2.0, 5).
#[allow(missing_docs)]
pub mod admin {
    pub const GET_LOG_PAGE: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0a;
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    pub const NAMESPACE_MANAGEMENT: u8 = 0x0d;
    pub const NAMESPACE_ATTACHMENT: u8 = 0x15;
    pub const KEEP_ALIVE: u8 = 0x18;
    pub const DIRECTIVE_SEND: u8 = 0x19;
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    pub const FORMAT: u8 = 0x80;
    pub const SANITIZE: u8 = 0x84;
}

/// Types of Fabrics commands (Base 2.0, 6).
#[allow(missing_docs)]
pub mod fabrics {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const AUTHENTICATION_SEND: u8 = 0x05;
    pub const AUTHENTICATION_RECEIVE: u8 = 0x06;
}

/// Opcodes of the NVM command set (NVM Command Set 1.0, 3.2; Flush: Base 2.0, 7.2; I/O Management: TP 4146).
#[allow(missing_docs)]
pub mod nvm {
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    pub const VERIFY: u8 = 0x0c;
    pub const COPY: u8 = 0x19;
    pub const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
    pub const IO_MANAGEMENT_SEND: u8 = 0x1d;
}

/// Opcodes of the Zoned Namespace command set (ZNS 1.1, 3.4).
#[allow(missing_docs)]
pub mod zones {
    pub const MANAGEMENT_SEND: u8 = 0x79;
    pub const MANAGEMENT_RECEIVE: u8 = 0x7a;
    pub const APPEND: u8 = 0x7d;
}

/// What a command is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Dwords 0 and 1 of the completion.
    pub result: u64,
    /// Data for the host.
    pub data: Vec<u8>,
}

impl Answer {
    /// With data alone.
    pub fn data(data: Vec<u8>) -> Answer {
        Answer { result: 0, data }
    }

    /// With a result alone.
    pub fn result(result: impl Into<u64>) -> Answer {
        Answer { result: result.into(), data: Vec::new() }
    }
}

/// A refusal: the status, and what stands in dword 0 beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub status: Status,
    /// Dword 0 of the completion.
    pub result: u32,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Refused {
        Refused { status, result: 0 }
    }
}

/// What comes of a command.
pub type Outcome = Result<Answer, Refused>;

/// A completion queue entry (Base 2.0, 3.3.3.2 "Common Completion Queue Entry"): the head of the submission queue, the
/// command, the result, and the status field ([`Status::field`], 0 for success). The queue's number is reserved in
/// Fabrics.
pub fn completion(head: u16, command: CommandId, result: u64, status: u16) -> [u8; 16] {
    let mut fields = Fields::new(16);
    fields.u64(0, result).u16(8, head).u16(12, command.0).u16(14, status);
    fields.take().try_into().expect("Invariant: it has 16 bytes")
}
