//! I/O commands of the NVM command set (NVM Command Set 1.0, 3.2): what a drive does for them, and what becomes of the data.

use std::io::{self, ErrorKind};
use std::ops::Range;

use served::{Did, Failure, Step, Store, Work};
use workload::{Op, ZoneAction};

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::command::{Answer, Command, Lba, nvm};
use crate::fdp;
use crate::limits::{BLOCK_SHIFT, LARGEST_TRANSFER};
use crate::namespace::{Kind, Namespace};
use crate::status::Status;
use crate::zoned::{self, Zoned};

/// Source ranges of a Copy, blocks of one of them, and of all (NVM Command Set 1.0, 4.1.5.1: MSRC, MSSRL, MCL).
pub(crate) const MOST_COPY_RANGES: u32 = 128;
pub(crate) const MOST_COPIED_FROM_ONE: u16 = 2048;
pub(crate) const MOST_COPIED: u32 = 16_384;

/// What a controller has been told that concerns I/O commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Reads of deallocated blocks are errors.
    pub deallocated_is_error: bool,
    /// Writes are done only when they are on flash: the volatile write cache is off.
    pub writes_through: bool,
    /// The Streams directive is on.
    pub streams: bool,
    /// Why no data can be accessed: a sanitize operation is under way, or has failed.
    pub refusal: Option<Status>,
}

/// A command whose fields are valid.
#[derive(Clone, Debug)]
pub struct Planned {
    what: What,
    /// Bytes that the host has for it.
    takes: u32,
    blocks: u64,
    forced: bool,
    /// Limited Retry: the drive need not try everything to read.
    limited: bool,
    hint: u16,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum What {
    Flush,
    Read(Range<u64>),
    Write(Range<u64>),
    Compare(Range<u64>),
    Verify(Range<u64>),
    Zeroes {
        range: Range<u64>,
        deallocates: bool,
    },
    Deallocate {
        does: bool,
    },
    Copy {
        to: u64,
    },
    /// What handles can still write: so many bytes of it.
    Handles {
        length: u32,
    },
    /// Handles are given other reclaim units.
    Update,
    Zoned(Zoned),
}

/// Checks a command. Its data, if it has some, comes later.
pub fn plan(command: &Command, namespace: &Namespace, rules: Rules) -> Result<Planned, Status> {
    let number = command.namespace();
    let flushes_all = command.opcode() == nvm::FLUSH && number == u32::MAX;
    if number != 1 && !flushes_all {
        return Err(Status::INVALID_NAMESPACE);
    }
    if command.0[1] & 3 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    if let Some(status) = rules.refusal {
        return Err(status);
    }
    let blocks = namespace.blocks();
    let twelve = command.dword(12);
    // Dwords 10 to 12: the first block, and how many from 0 (NVM Command Set 1.0, 3.2).
    let range = || within(command.dwords_10_11(), u64::from(twelve & 0xffff) + 1, blocks);
    let short = |range: Range<u64>| {
        if bytes(&range) <= LARGEST_TRANSFER.into() { Ok(range) } else { Err(Status::INVALID_FIELD) }
    };
    let moved = |range: &Range<u64>| bytes(range) as u32;
    let zoned = match &namespace.kind {
        Kind::Nvm => None,
        Kind::Zoned(zones) => zoned::plan(command, zones).transpose()?,
    };
    let (what, takes) = match command.opcode() {
        _ if zoned.is_some() => zoned.map_or((What::Flush, 0), |zoned| {
            let takes = if let Zoned::Append { blocks, .. } = zoned { blocks << BLOCK_SHIFT } else { 0 };
            (What::Zoned(zoned), takes as u32)
        }),
        nvm::FLUSH => (What::Flush, 0),
        nvm::READ => (What::Read(short(range()?)?), 0),
        opcode @ (nvm::WRITE | nvm::COMPARE) => {
            let range = short(range()?)?;
            let takes = moved(&range);
            (if opcode == nvm::WRITE { What::Write(range) } else { What::Compare(range) }, takes)
        }
        nvm::VERIFY => (What::Verify(short(range()?)?), 0),
        // DEAC is bit 25. What zones hold is deallocated by resetting them.
        nvm::WRITE_ZEROES => {
            let deallocates = twelve & 1 << 25 != 0 && namespace.kind == Kind::Nvm;
            (What::Zeroes { range: range()?, deallocates }, 0)
        }
        // Ranges from 0 in bits 7:0, 16 bytes each; AD is bit 2 of dword 11.
        nvm::DATASET_MANAGEMENT => {
            let ranges = (command.dword(10) & 0xff) + 1;
            (What::Deallocate { does: command.dword(11) & 1 << 2 != 0 }, 16 * ranges)
        }
        // Ranges from 0 in bits 7:0, 32 bytes each, of descriptor format 0 (bits 11:8).
        nvm::COPY => {
            let ranges = (twelve & 0xff) + 1;
            if twelve >> 8 & 0xf != 0 {
                return Err(Status::INVALID_FIELD);
            }
            if ranges > MOST_COPY_RANGES {
                return Err(Status::COMMAND_SIZE_LIMIT);
            }
            (What::Copy { to: command.dwords_10_11() }, 32 * ranges)
        }
        _ if namespace.handles > 0 => management(command)?,
        _ => return Err(Status::INVALID_OPCODE),
    };
    let hint = hint(command, namespace, rules)?;
    // FUA is bit 30; it has no meaning for what has no such field.
    let has_fua =
        !matches!(what, What::Flush | What::Deallocate { .. } | What::Zoned(Zoned::Send { .. } | Zoned::Report(_)));
    // LR is bit 31 (NVM Command Set 1.0, 3.2.1, 3.2.4 and 3.2.5: Compare, Read, Verify). Linux sets it where a request may fail fast (REQ_FAILFAST_DEV).
    let limited = matches!(what, What::Read(_) | What::Compare(_) | What::Verify(_)) && twelve & 1 << 31 != 0;
    Ok(Planned { what, takes, blocks, forced: has_fua && twelve & 1 << 30 != 0, limited, hint, rules })
}

/// I/O Management: the operation in dword 10, bits 7:0. Receive has the status of handles, of which so many dwords from 0 in dword 11 are wanted;
/// Send gives handles other reclaim units, so many from 0 in dword 10, bits 31:16 (TP 4146).
fn management(command: &Command) -> Result<(What, u32), Status> {
    const HANDLES: u32 = 1;
    let ten = command.dword(10);
    match (command.opcode(), ten & 0xff) {
        (nvm::IO_MANAGEMENT_RECEIVE, HANDLES) => {
            let length = (u64::from(command.dword(11)) + 1) * 4;
            let length = u32::try_from(length).ok().filter(|length| *length <= LARGEST_TRANSFER);
            Ok((What::Handles { length: length.ok_or(Status::INVALID_FIELD)? }, 0))
        }
        (nvm::IO_MANAGEMENT_SEND, HANDLES) => Ok((What::Update, 2 * ((ten >> 16) + 1))),
        (nvm::IO_MANAGEMENT_RECEIVE | nvm::IO_MANAGEMENT_SEND, _) => Err(Status::INVALID_FIELD),
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// The placement hint of a write or a copy, in dword 13, bits 31:16: a stream or a placement identifier, by the directive type in dword 12,
/// bits 23:20 (Base 2.0, 8.7.3 "Streams"; TP 4146, "Data Placement").
fn hint(command: &Command, namespace: &Namespace, rules: Rules) -> Result<u16, Status> {
    if !matches!(command.opcode(), nvm::WRITE | nvm::COPY) {
        return Ok(0);
    }
    match command.dword(12) >> 20 & 0xf {
        0 => Ok(0),
        1 if rules.streams => Ok((command.dword(13) >> 16) as u16),
        2 if namespace.handles > 0 => Ok((command.dword(13) >> 16) as u16),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// A range of blocks that lies within the namespace.
fn within(first: u64, count: u64, blocks: u64) -> Result<Range<u64>, Status> {
    let end = first.checked_add(count).filter(|end| *end <= blocks).ok_or(Status::LBA_OUT_OF_RANGE)?;
    Ok(first..end)
}

fn bytes(range: &Range<u64>) -> u64 {
    (range.end - range.start) << BLOCK_SHIFT
}

fn step(op: Op, range: &Range<u64>) -> Step {
    Step::new(op, range.start << BLOCK_SHIFT, bytes(range))
}

impl Planned {
    /// Whether it can have so many bytes of data. Ranges may have room behind them: Linux sends as many as there can be at most.
    pub fn fits(&self, length: u32) -> bool {
        match &self.what {
            What::Read(range) => u64::from(length) == bytes(range),
            What::Zoned(Zoned::Report(report)) => length == report.length(),
            What::Handles { length: wanted } => length == *wanted,
            What::Deallocate { .. } | What::Copy { .. } => length >= self.takes,
            _ => length == self.takes,
        }
    }

    /// The command with its data.
    pub fn with(self, mut data: Vec<u8>) -> Result<Io, Status> {
        if data.len() < self.takes as usize {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        data.truncate(self.takes as usize);
        let Planned { what, blocks, forced, limited, hint, rules, .. } = self;
        let does = match what {
            What::Flush => Does::Flush,
            What::Read(range) => Does::Read(range),
            What::Write(range) => Does::Write(range, data),
            What::Compare(range) => Does::Compare(range, data),
            What::Verify(range) => Does::Verify(range),
            What::Zeroes { range, deallocates: true } => Does::Deallocate(vec![range]),
            What::Zeroes { range, deallocates: false } => Does::Zeroes(range),
            What::Deallocate { does } => {
                let ranges = deallocated(&data, blocks)?;
                Does::Deallocate(if does { ranges } else { Vec::new() })
            }
            What::Copy { to } => copied(&data, to, blocks)?,
            What::Handles { length } => Does::Handles { length },
            What::Update => Does::Update(data.chunks_exact(2).map(|handle| u16_at(handle, 0)).collect()),
            What::Zoned(zoned) => Does::Zoned(zoned, data),
        };
        Ok(Io { does, forced, limited, hint, rules })
    }
}

/// The ranges of Dataset Management: attributes, how many blocks, the first one (NVM Command Set 1.0, 3.2.3). Empty ones are left out.
fn deallocated(data: &[u8], blocks: u64) -> Result<Vec<Range<u64>>, Status> {
    let ranges = data.chunks_exact(16).map(|range| within(u64_at(range, 8), u32_at(range, 4).into(), blocks));
    Ok(ranges.collect::<Result<Vec<_>, _>>()?.into_iter().filter(|range| !range.is_empty()).collect())
}

/// The ranges of Copy, in descriptor format 0: the first block at 8, how many from 0 at 16 (NVM Command Set 1.0, 3.2.2).
fn copied(data: &[u8], to: u64, blocks: u64) -> Result<Does, Status> {
    let mut from = Vec::new();
    let mut total = 0;
    for range in data.chunks_exact(32) {
        let count = u64::from(u16_at(range, 16)) + 1;
        if count > MOST_COPIED_FROM_ONE.into() {
            return Err(Status::COMMAND_SIZE_LIMIT);
        }
        from.push(within(u64_at(range, 8), count, blocks)?);
        total += count;
    }
    if total > MOST_COPIED.into() {
        return Err(Status::COMMAND_SIZE_LIMIT);
    }
    Ok(Does::Copy { from, to: within(to, total, blocks)? })
}

/// A command that a drive can begin with.
#[derive(Clone, Debug)]
pub struct Io {
    does: Does,
    forced: bool,
    limited: bool,
    hint: u16,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Does {
    Flush,
    Read(Range<u64>),
    Write(Range<u64>, Vec<u8>),
    Compare(Range<u64>, Vec<u8>),
    Verify(Range<u64>),
    Zeroes(Range<u64>),
    Deallocate(Vec<Range<u64>>),
    Copy {
        from: Vec<Range<u64>>,
        to: Range<u64>,
    },
    Handles {
        length: u32,
    },
    Update(Vec<u16>),
    /// All of the drive holds nothing any more.
    Erase {
        all: Range<u64>,
        zones: bool,
    },
    Zoned(Zoned, Vec<u8>),
}

impl Io {
    /// Everything that a drive holds is deallocated.
    pub(crate) fn erase(namespace: &Namespace) -> Io {
        let zones = matches!(namespace.kind, Kind::Zoned(_));
        let does = Does::Erase { all: 0..namespace.blocks(), zones };
        Io { does, forced: false, limited: false, hint: 0, rules: Rules::default() }
    }

    /// Whether what placement handles can still write is wanted.
    pub fn asks_for_handles(&self) -> bool {
        matches!(self.does, Does::Handles { .. })
    }

    /// What the drive does for it; none where there is nothing to do.
    pub fn work(&self) -> Option<Work> {
        let work = match &self.does {
            Does::Flush => return Some(Work::of(Step::flush())),
            Does::Read(range) | Does::Compare(range, _) | Does::Verify(range) => {
                Work::of(step(Op::Read, range).limited(self.limited))
            }
            Does::Write(range, _) | Does::Zeroes(range) => Work::of(step(Op::Write, range).hinted(self.hint)),
            Does::Handles { .. } => return None,
            Does::Update(handles) => {
                let update = |handle: &u16| Step::new(Op::HandleUpdate, 0, 0).hinted(*handle);
                Work::at_once(handles.iter().map(update).collect())
            }
            Does::Erase { all, zones: true } => Work::of(step(Op::Zone(ZoneAction::Reset), all)),
            Does::Erase { all, zones: false } => Work::of(step(Op::Trim, all)),
            Does::Deallocate(ranges) if ranges.is_empty() => return None,
            Does::Deallocate(ranges) => Work::at_once(ranges.iter().map(|range| step(Op::Trim, range)).collect()),
            Does::Copy { from, to } => Work::at_once(from.iter().map(|range| step(Op::Read, range)).collect())
                .then(step(Op::Write, to).hinted(self.hint)),
            Does::Zoned(zoned, _) => Work::of(match zoned {
                Zoned::Append { zone, blocks } => step(Op::Append, &(*zone..zone + blocks)).hinted(self.hint),
                Zoned::Send { range, action } => step(Op::Zone(*action), range),
                Zoned::Report(report) => report.step(),
            }),
        };
        // As Linux does for drives without FUA.
        Some(if self.is_durable() { work.then(Step::flush()) } else { work })
    }

    /// Whether it changes what the drive holds.
    pub fn changes(&self) -> bool {
        let zoned = matches!(self.does, Does::Zoned(Zoned::Append { .. }, _));
        zoned || matches!(self.does, Does::Write(..) | Does::Zeroes(_) | Does::Deallocate(_) | Does::Copy { .. })
    }

    /// Whether data must be kept for good before it is answered.
    pub fn is_durable(&self) -> bool {
        matches!(self.does, Does::Flush) || (self.changes() && (self.forced || self.rules.writes_through))
    }

    /// Its first block.
    pub fn block(&self) -> Lba {
        Lba(match &self.does {
            Does::Flush | Does::Handles { .. } | Does::Update(_) | Does::Erase { .. } => 0,
            Does::Read(range) | Does::Write(range, _) | Does::Compare(range, _) | Does::Verify(range) => range.start,
            Does::Zeroes(range) | Does::Copy { to: range, .. } => range.start,
            Does::Deallocate(ranges) => ranges.first().map_or(0, |range| range.start),
            Does::Zoned(Zoned::Append { zone, .. }, _) => *zone,
            Does::Zoned(Zoned::Send { range, .. }, _) => range.start,
            Does::Zoned(Zoned::Report(_), _) => 0,
        })
    }

    /// Bytes of data that it holds in memory, or gives the host.
    pub fn bytes(&self) -> u32 {
        match &self.does {
            Does::Read(range) => bytes(range) as u32,
            Does::Write(_, data) | Does::Compare(_, data) | Does::Zoned(_, data) => data.len() as u32,
            _ => 0,
        }
    }

    /// Does to the data what it asks for, as the drive did it; gives what the host gets.
    pub fn carry_out(&self, store: &Store, did: &Did) -> Result<Answer, Status> {
        let mut answer = Answer::default();
        let change = store.by(did.request);
        let done = match &self.does {
            Does::Flush | Does::Update(_) => Ok(()),
            Does::Handles { length } => return Ok(Answer::data(fdp::status(&did.handles, *length as usize))),
            Does::Erase { all, .. } => change.discard(0, bytes(all)).map_err(of_machine),
            Does::Read(range) => return self.read(store, range).map(Answer::data),
            Does::Verify(range) => self.allocated(store, range),
            Does::Compare(range, data) => {
                let same = self.read(store, range)? == *data;
                if same { Ok(()) } else { Err(Status::COMPARE_FAILURE) }
            }
            Does::Write(range, data) => change.write(range.start << BLOCK_SHIFT, data).map_err(of_machine),
            Does::Zeroes(range) => change.write_zeros(range.start << BLOCK_SHIFT, bytes(range)).map_err(of_machine),
            Does::Deallocate(ranges) => {
                // Each is a request of the drive.
                let discard = |(number, range): (u64, &Range<u64>)| {
                    store.by(did.request.map(|first| first + number)).discard(range.start << BLOCK_SHIFT, bytes(range))
                };
                (0..).zip(ranges).try_for_each(discard).map_err(of_machine)
            }
            Does::Copy { from, to } => {
                let parts: Result<Vec<Vec<u8>>, Status> = from.iter().map(|range| self.read(store, range)).collect();
                change.write(to.start << BLOCK_SHIFT, &parts?.concat()).map_err(of_machine)
            }
            Does::Zoned(Zoned::Append { .. }, data) => {
                // Dwords 0 and 1 say where it is (ZNS 1.1, 3.4.1).
                answer.result = did.offset >> BLOCK_SHIFT;
                change.write(did.offset, data).map_err(of_machine)
            }
            Does::Zoned(Zoned::Send { range, action: ZoneAction::Reset | ZoneAction::Offline }, _) => {
                change.discard(range.start << BLOCK_SHIFT, bytes(range)).map_err(of_machine)
            }
            Does::Zoned(Zoned::Send { .. }, _) => Ok(()),
            Does::Zoned(Zoned::Report(report), _) => {
                answer.data = report.data(&did.zones);
                Ok(())
            }
        };
        done?;
        if self.is_durable() {
            store.sync().map_err(of_machine)?;
        }
        Ok(answer)
    }

    fn read(&self, store: &Store, range: &Range<u64>) -> Result<Vec<u8>, Status> {
        self.allocated(store, range)?;
        let mut data = vec![0; bytes(range) as usize];
        store.read(range.start << BLOCK_SHIFT, &mut data).map_err(of_machine)?;
        Ok(data)
    }

    /// Reads of deallocated blocks are errors where the host wants that (NVM Command Set 1.0, 3.2.3.2.1); otherwise they read as zeros.
    fn allocated(&self, store: &Store, range: &Range<u64>) -> Result<(), Status> {
        if !self.rules.deallocated_is_error {
            return Ok(());
        }
        let extents = store.extents(range.start << BLOCK_SHIFT, bytes(range), 2).map_err(of_machine)?;
        if extents.iter().any(|extent| extent.hole) { Err(Status::DEALLOCATED_BLOCK) } else { Ok(()) }
    }
}

/// What a host hears of what the drive has not done. A drive whose medium is read-only refuses writes as to a read-only range (NVM Command
/// Set 1.0, 3.1.2).
pub fn of_drive(failure: Failure) -> Status {
    match failure {
        Failure::Uncorrectable => Status::UNRECOVERED_READ_ERROR,
        Failure::ReadOnly => Status::READ_ONLY_RANGE,
        Failure::PowerCut => Status::ABORTED_POWER_LOSS,
        Failure::Refused(status) => {
            let (kind, code) = status.code();
            Status(u16::from(kind) << 8 | u16::from(code))
        }
        Failure::Failed => Status::INTERNAL_ERROR,
    }
}

/// What a host hears of a failure of the machine.
fn of_machine(error: io::Error) -> Status {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Status::CAPACITY_EXCEEDED,
        _ => Status::INTERNAL_ERROR,
    }
}
