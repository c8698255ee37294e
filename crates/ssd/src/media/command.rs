//! What a host asks of the flash, and what becomes of it.

use std::fmt;

use units::{Span, Time};

use crate::error::RunError;
use crate::persist::{stored, stored_enum};

/// A page of the flash, as its chips number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddress {
    /// The die, counted over the whole device: channel by channel, then chip by chip.
    pub die: u32,
    /// The plane in its die.
    pub plane: u32,
    /// The block in its plane.
    pub block: u32,
    /// The page in its block.
    pub page: u32,
}

impl fmt::Display for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PageAddress { die, plane, block, page } = self;
        write!(f, "page {page} of block {block} of plane {plane} of die {die}")
    }
}

/// What a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaOp {
    /// Reads a page, up to its data in the controller: with the retries that this takes.
    Read,
    /// Programs the pages of a program command ([`super::MediaShape::program_pages`]), of which the first one is named.
    Program,
    /// Erases a block, of which page 0 is named.
    Erase,
}

impl MediaOp {
    /// All of them, in the order of their numbers in C.
    pub const ALL: [MediaOp; 3] = [MediaOp::Read, MediaOp::Program, MediaOp::Erase];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MediaOp::Read => "read",
            MediaOp::Program => "program",
            MediaOp::Erase => "erase",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<MediaOp> {
        MediaOp::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// A command to the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaCommand {
    /// When the controller has it.
    pub time: Time,
    /// What is asked.
    pub op: MediaOp,
    /// Of what.
    pub at: PageAddress,
    /// Of a read the bytes that are wanted, from the page's first on: with `bus.transfer = "codeword"` no others cross
    /// the bus. 0 is all.
    pub bytes: u32,
}

impl MediaCommand {
    /// A command for whole pages.
    pub fn new(time: Time, op: MediaOp, at: PageAddress) -> MediaCommand {
        MediaCommand { time, op, at, bytes: 0 }
    }
}

/// A batch of which a command was refused: those before it have been submitted, neither it nor those after it have
/// been.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaBatchError {
    /// Which, from 0: this many have been submitted.
    pub index: usize,
    /// Why.
    pub error: RunError,
}

impl fmt::Display for MediaBatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commands[{}]: {}", self.index, self.error)
    }
}

impl std::error::Error for MediaBatchError {}

/// A rule of the chip that a command breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A page is programmed once; before it is again its block is erased.
    EraseFirst,
    /// Pages of a block are programmed in order.
    InOrder {
        /// The page that comes next.
        next: u32,
    },
    /// A page that is read has been programmed.
    Unwritten,
    /// The factory found the block bad.
    FactoryBad,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaStatus {
    /// It was done.
    Success,
    /// The page could not be corrected, with any of the references that the scheme tries.
    Uncorrectable,
    /// The program failed: the pages hold nothing, and the next ones of the block come next.
    ProgramFailed,
    /// The erase failed: nothing can be programmed in the block before an erase that does not.
    EraseFailed,
    /// It would break a rule of the chip, and was not begun.
    Refused(Rule),
}

impl MediaStatus {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MediaStatus::Success => "success",
            MediaStatus::Uncorrectable => "uncorrectable",
            MediaStatus::ProgramFailed => "program-failed",
            MediaStatus::EraseFailed => "erase-failed",
            MediaStatus::Refused(Rule::EraseFirst) => "erase-first",
            MediaStatus::Refused(Rule::InOrder { .. }) => "out-of-order",
            MediaStatus::Refused(Rule::Unwritten) => "unwritten",
            MediaStatus::Refused(Rule::FactoryBad) => "factory-bad",
        }
    }
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaCompletion {
    /// Its number.
    pub id: u64,
    /// What was asked.
    pub command: MediaCommand,
    /// When it ended.
    pub finish: Time,
    /// What became of it.
    pub status: MediaStatus,
    /// Of a read, how often its page was sensed again for the controller. What the die has predicted and sensed again
    /// by itself is not counted.
    pub retries: u16,
    /// Of a read, its data is other data than was programmed, and nothing has noticed (`ecc.miscorrection`).
    pub miscorrected: bool,
}

impl MediaCompletion {
    /// From its time to its end.
    pub fn latency(&self) -> Span {
        self.finish.since(self.command.time)
    }

    /// What went wrong: which page and which rule, and the remedy. None where it was done.
    pub fn problem(&self) -> Option<String> {
        let (op, at) = (self.command.op.name(), self.command.at);
        let why = match self.status {
            MediaStatus::Success => return None,
            MediaStatus::Uncorrectable => {
                return Some(format!("{at} could not be corrected after {} retries", self.retries));
            }
            MediaStatus::ProgramFailed => {
                "the chip reports that the program failed\n  help: write the data elsewhere".into()
            }
            MediaStatus::EraseFailed => {
                "the chip reports that the erase failed\n  help: take the block out of use".into()
            }
            MediaStatus::Refused(rule) => match rule {
                Rule::EraseFirst => "a page is programmed once\n  help: erase its block first".into(),
                Rule::InOrder { next } => {
                    format!("the pages of a block are programmed in order\n  help: program page {next} next")
                }
                Rule::Unwritten => "the page holds no data\n  help: program it first".into(),
                Rule::FactoryBad => "the factory found the block bad\n  help: leave it out (Media.is_bad)".into(),
            },
        };
        Some(format!("{op} of {at}: {why}"))
    }
}

stored! {
    PageAddress { die, plane, block, page }
    MediaCommand { time, op, at, bytes }
    MediaCompletion { id, command, finish, status, retries, miscorrected }
}

stored_enum! {
    MediaOp { 0 = Read, 1 = Program, 2 = Erase, }
    Rule { 0 = EraseFirst, 1 = InOrder { next }, 2 = Unwritten, 3 = FactoryBad, }
    MediaStatus { 0 = Success, 1 = Uncorrectable, 2 = ProgramFailed, 3 = EraseFailed, 4 = Refused(rule), }
}
