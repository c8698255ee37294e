//! I/O commands of the NVM command set (NVM Command Set 1.0, 3.2): what a drive does for them, and what becomes of the
//! data.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use served::{Did, Failure, Step, Store, Work};
use workload::{Op, ZoneAction};

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::command::{Answer, Command, Fused, Lba, nvm};
use crate::fdp;
use crate::limits::LARGEST_TRANSFER;
use crate::namespace::{ALL, Namespace};
use crate::status::Status;
use crate::subsystem::Subsystem;
use crate::zoned::{self, Zoned};

/// Source ranges of a Copy, bytes of one of them, and of all (NVM Command Set 1.0, 4.1.5.1: MSRC, MSSRL, MCL).
pub(crate) const MOST_COPY_RANGES: u32 = 128;
pub(crate) const MOST_COPIED_FROM_ONE: u64 = 1 << 20;
pub(crate) const MOST_COPIED: u64 = 8 << 20;

/// What a controller has been told that concerns I/O commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Reads of deallocated blocks are errors.
    pub deallocated_is_error: bool,
    /// Writes are done only when they are on flash: the volatile write cache is off.
    pub writes_through: bool,
    /// The Streams directive is on.
    pub streams: bool,
}

/// A command whose fields are valid.
#[derive(Clone, Debug)]
pub struct Planned {
    what: What,
    /// Bytes that the host has for it.
    takes: u32,
    /// The namespace; none where all are meant.
    namespace: Option<Arc<Namespace>>,
    forced: bool,
    /// Limited Retry: the drive need not try everything to read.
    limited: bool,
    hint: u16,
    rules: Rules,
}

/// What is asked for, in bytes of the drive.
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
    /// What handles can still write: this many bytes of it.
    Handles {
        length: u32,
    },
    /// Handles are given other reclaim units.
    Update,
    Zoned(Zoned),
}

/// A flush of everything.
pub(crate) fn flush_all(rules: Rules) -> Planned {
    Planned { what: What::Flush, takes: 0, namespace: None, forced: false, limited: false, hint: 0, rules }
}

/// Whether a command is a flush of all namespaces.
pub(crate) fn flushes_all(command: &Command) -> bool {
    command.opcode() == nvm::FLUSH && command.namespace() == ALL
}

/// Checks a command for a namespace. Its data, if it has some, comes later.
pub fn plan(command: &Command, namespace: &Arc<Namespace>, rules: Rules) -> Result<Planned, Status> {
    // Compare and Write can be fused (FUSES).
    match (command.fused(), command.opcode()) {
        (Fused::Not, _) | (Fused::First, nvm::COMPARE) | (Fused::Second, nvm::WRITE) => {}
        _ => return Err(Status::INVALID_FIELD),
    }
    let (what, takes) = what(command, namespace)?;
    let hint = hint(command, namespace, rules)?;
    let twelve = command.dword(12);
    // FUA is bit 30; it has no meaning for what has no such field.
    let has_fua =
        !matches!(what, What::Flush | What::Deallocate { .. } | What::Zoned(Zoned::Send { .. } | Zoned::Report(_)));
    // LR is bit 31 (NVM Command Set 1.0, 3.2.1, 3.2.4 and 3.2.5: Compare, Read, Verify). Linux sets it where a request
    // may fail fast (REQ_FAILFAST_DEV).
    let limited = matches!(what, What::Read(_) | What::Compare(_) | What::Verify(_)) && twelve & 1 << 31 != 0;
    let namespace = Some(namespace.clone());
    Ok(Planned { what, takes, namespace, forced: has_fua && twelve & 1 << 30 != 0, limited, hint, rules })
}

/// What a command asks for, and the bytes that the host has for it.
fn what(command: &Command, namespace: &Namespace) -> Result<(What, u32), Status> {
    let twelve = command.dword(12);
    // Dwords 10 to 12: the first block, and how many from 0 (NVM Command Set 1.0, 3.2).
    let range = || namespace.bytes(command.dwords_10_11(), u64::from(twelve & 0xffff) + 1);
    let short = |range: Range<u64>| {
        if bytes(&range) <= LARGEST_TRANSFER.into() { Ok(range) } else { Err(Status::INVALID_FIELD) }
    };
    if let Some(zoned) = namespace.kind.zones().and_then(|zones| zoned::plan(command, namespace, &zones)) {
        let zoned = zoned?;
        let takes = if let Zoned::Append { bytes, .. } = zoned { bytes as u32 } else { 0 };
        return Ok((What::Zoned(zoned), takes));
    }
    Ok(match command.opcode() {
        nvm::FLUSH => (What::Flush, 0),
        nvm::READ => (What::Read(short(range()?)?), 0),
        opcode @ (nvm::WRITE | nvm::COMPARE) => {
            let range = short(range()?)?;
            let takes = bytes(&range) as u32;
            (if opcode == nvm::WRITE { What::Write(range) } else { What::Compare(range) }, takes)
        }
        nvm::VERIFY => (What::Verify(short(range()?)?), 0),
        // DEAC is bit 25. What zones hold is deallocated by resetting them.
        nvm::WRITE_ZEROES => {
            let deallocates = twelve & 1 << 25 != 0 && namespace.kind.zones().is_none();
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
        _ if namespace.has_handles() => management(command)?,
        _ => return Err(Status::INVALID_OPCODE),
    })
}

/// I/O Management: the operation in dword 10, bits 7:0. Receive has the status of handles, of which this many dwords
/// from 0 in dword 11 are wanted; Send gives handles other reclaim units, this many from 0 in dword 10, bits 31:16 (TP
/// 4146).
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

/// The placement hint of a write or a copy, in dword 13, bits 31:16: a stream or a placement identifier, by the
/// directive type in dword 12, bits 23:20 (Base 2.0, 8.7.3 "Streams"; TP 4146, "Data Placement").
fn hint(command: &Command, namespace: &Namespace, rules: Rules) -> Result<u16, Status> {
    if !matches!(command.opcode(), nvm::WRITE | nvm::COPY) {
        return Ok(0);
    }
    match command.dword(12) >> 20 & 0xf {
        0 => Ok(0),
        1 if rules.streams => Ok((command.dword(13) >> 16) as u16),
        2 if namespace.has_handles() => Ok(namespace.placed((command.dword(13) >> 16) as u16)),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn bytes(range: &Range<u64>) -> u64 {
    range.end - range.start
}

fn step(op: Op, range: &Range<u64>) -> Step {
    Step::new(op, range.start, bytes(range))
}

impl Planned {
    /// Whether both are about the same blocks, as two that are fused have to be (NVM Command Set 1.0, 2.1.2).
    pub fn is_beside(&self, other: &Planned) -> bool {
        let same = match (&self.namespace, &other.namespace) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        matches!((&self.what, &other.what), (What::Compare(one), What::Write(other)) if one == other) && same
    }

    /// Whether it can have this many bytes of data. Ranges may have room behind them: Linux sends as many as there can
    /// be at most.
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
        let Planned { what, namespace, forced, limited, hint, rules, .. } = self;
        let of = || namespace.as_deref().expect("Invariant: only a flush is of all namespaces");
        let does = match what {
            What::Flush => Does::Flush,
            What::Read(range) => Does::Read(range),
            What::Write(range) => Does::Write(range, data),
            What::Compare(range) => Does::Compare(range, data),
            What::Verify(range) => Does::Verify(range),
            What::Zeroes { range, deallocates: true } => Does::Deallocate(vec![range]),
            What::Zeroes { range, deallocates: false } => Does::Zeroes(range),
            What::Deallocate { does } => {
                let ranges = deallocated(&data, of())?;
                Does::Deallocate(if does { ranges } else { Vec::new() })
            }
            What::Copy { to } => copied(&data, to, of())?,
            What::Handles { length } => Does::Handles { length },
            What::Update => Does::Update(data.chunks_exact(2).map(|handle| of().placed(u16_at(handle, 0))).collect()),
            What::Zoned(zoned) => Does::Zoned(zoned, data),
        };
        Ok(Io { does, namespace, forced, limited, hint, rules })
    }
}

/// The ranges of Dataset Management: attributes, how many blocks, the first one (NVM Command Set 1.0, 3.2.3). Empty
/// ones are left out.
fn deallocated(data: &[u8], of: &Namespace) -> Result<Vec<Range<u64>>, Status> {
    let ranges = data.chunks_exact(16).map(|range| of.bytes(u64_at(range, 8), u32_at(range, 4).into()));
    Ok(ranges.collect::<Result<Vec<_>, _>>()?.into_iter().filter(|range| !range.is_empty()).collect())
}

/// The ranges of Copy, in descriptor format 0: the first block at 8, how many from 0 at 16 (NVM Command Set 1.0,
/// 3.2.2).
fn copied(data: &[u8], to: u64, of: &Namespace) -> Result<Does, Status> {
    let mut from = Vec::new();
    let mut total = 0;
    for range in data.chunks_exact(32) {
        let count = u64::from(u16_at(range, 16)) + 1;
        if count << of.shift() > MOST_COPIED_FROM_ONE {
            return Err(Status::COMMAND_SIZE_LIMIT);
        }
        from.push(of.bytes(u64_at(range, 8), count)?);
        total += count;
    }
    if total << of.shift() > MOST_COPIED {
        return Err(Status::COMMAND_SIZE_LIMIT);
    }
    Ok(Does::Copy { from, to: of.bytes(to, total)? })
}

/// A command that a drive can begin with.
#[derive(Clone, Debug)]
pub struct Io {
    does: Does,
    /// The namespace; none where it is about all, or about none in particular.
    namespace: Option<Arc<Namespace>>,
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
    /// A write where the data is the expected one.
    CompareAndWrite {
        range: Range<u64>,
        expected: Arc<Vec<u8>>,
        data: Vec<u8>,
        /// The comparison has succeeded.
        same: Arc<AtomicBool>,
    },
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
    /// What lies in these ranges, each of zones or not, is held no more; namespaces that go keep their place until
    /// then.
    Erase {
        parts: Vec<(Range<u64>, bool)>,
        _held: Vec<Arc<Namespace>>,
    },
    Zoned(Zoned, Vec<u8>),
}

impl Io {
    /// Everything that a drive holds is deallocated.
    pub(crate) fn erase(drive: &Subsystem) -> Io {
        let parts = drive.areas.iter().map(|area| (area.range.clone(), area.kind.zones().is_some()));
        Io::erases(parts.collect(), Vec::new())
    }

    /// Everything that namespaces hold is.
    pub(crate) fn empty(namespaces: Vec<Arc<Namespace>>) -> Io {
        let parts = namespaces.iter().map(|of| (of.range.clone(), of.kind.zones().is_some()));
        Io::erases(parts.collect(), namespaces)
    }

    fn erases(parts: Vec<(Range<u64>, bool)>, held: Vec<Arc<Namespace>>) -> Io {
        let does = Does::Erase { parts, _held: held };
        Io { does, namespace: None, forced: false, limited: false, hint: 0, rules: Rules::default() }
    }

    /// Two commands as one; the rest of the second one's fields counts for the write.
    pub fn fused(first: Io, second: Io) -> Result<Io, Status> {
        match (first.does, second.does) {
            (Does::Compare(range, expected), Does::Write(other, data)) if range == other => {
                let (expected, same) = (Arc::new(expected), Arc::default());
                Ok(Io { does: Does::CompareAndWrite { range, expected, data, same }, ..second })
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// What becomes of the two commands that it was made of.
    pub fn of_both(&self, outcome: Result<Answer, Status>) -> [Result<Answer, Status>; 2] {
        let compared = matches!(&self.does, Does::CompareAndWrite { same, .. } if same.load(Ordering::SeqCst));
        match outcome {
            Err(status) if compared && status != Status::COMPARE_FAILURE => [Ok(Answer::default()), Err(status)],
            Err(status) => [Err(status), Err(Status::FAILED_FUSED)],
            done => [Ok(Answer::default()), done],
        }
    }

    /// Whether what placement handles can still write is wanted.
    pub fn asks_for_handles(&self) -> bool {
        matches!(self.does, Does::Handles { .. })
    }

    /// What the drive does for it, whose data is in a store; none where there is nothing to do.
    pub fn work(&self, store: &Arc<Store>) -> Option<Work> {
        let work = match &self.does {
            Does::CompareAndWrite { range, expected, same, .. } => {
                let (store, range_of, expected, same) = (store.clone(), range.clone(), expected.clone(), same.clone());
                let compares = move || {
                    let mut there = vec![0; expected.len()];
                    let is_so = store.read(range_of.start, &mut there).is_ok() && there == *expected;
                    same.store(is_so, Ordering::SeqCst);
                    is_so
                };
                let read = Work::of(step(Op::Read, range));
                read.then_if(compares, step(Op::Write, range).hinted(self.hint))
            }
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
            Does::Erase { parts, .. } => {
                let op = |zones| if zones { Op::Zone(ZoneAction::Reset) } else { Op::Trim };
                Work::at_once(parts.iter().map(|(range, zones)| step(op(*zones), range)).collect())
            }
            Does::Deallocate(ranges) if ranges.is_empty() => return None,
            Does::Deallocate(ranges) => Work::at_once(ranges.iter().map(|range| step(Op::Trim, range)).collect()),
            Does::Copy { from, to } => Work::at_once(from.iter().map(|range| step(Op::Read, range)).collect())
                .then(step(Op::Write, to).hinted(self.hint)),
            Does::Zoned(zoned, _) => Work::of(match zoned {
                Zoned::Append { zone, bytes } => Step::new(Op::Append, *zone, *bytes).hinted(self.hint),
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
        zoned
            || matches!(
                self.does,
                Does::Write(..)
                    | Does::CompareAndWrite { .. }
                    | Does::Zeroes(_)
                    | Does::Deallocate(_)
                    | Does::Copy { .. }
            )
    }

    /// Whether data must be kept for good before it is answered.
    pub fn is_durable(&self) -> bool {
        matches!(self.does, Does::Flush) || (self.changes() && (self.forced || self.rules.writes_through))
    }

    /// Its first block.
    pub fn block(&self) -> Lba {
        Lba(self.namespace.as_ref().zip(self.begin()).map_or(0, |(of, begin)| of.block(begin)))
    }

    /// Where it begins on the drive \[B].
    pub fn begin(&self) -> Option<u64> {
        match &self.does {
            Does::Flush | Does::Handles { .. } | Does::Update(_) | Does::Erase { .. } => None,
            Does::Read(range) | Does::Write(range, _) | Does::Compare(range, _) | Does::Verify(range) => {
                Some(range.start)
            }
            Does::Zeroes(range) | Does::Copy { to: range, .. } | Does::CompareAndWrite { range, .. } => {
                Some(range.start)
            }
            Does::Deallocate(ranges) => ranges.first().map(|range| range.start),
            Does::Zoned(Zoned::Append { zone, .. }, _) => Some(*zone),
            Does::Zoned(Zoned::Send { range, .. }, _) => Some(range.start),
            Does::Zoned(Zoned::Report(report), _) => Some(report.step().offset),
        }
    }

    /// Bytes of data that it holds in memory, or gives the host.
    pub fn bytes(&self) -> u32 {
        match &self.does {
            Does::Read(range) => bytes(range) as u32,
            Does::Write(_, data) | Does::Compare(_, data) | Does::Zoned(_, data) => data.len() as u32,
            Does::CompareAndWrite { data, .. } => 2 * data.len() as u32,
            _ => 0,
        }
    }

    /// Does to the data what it asks for, as the drive did it; gives what the host gets.
    pub fn carry_out(&self, store: &Store, did: &Did) -> Result<Answer, Status> {
        let mut answer = Answer::default();
        let change = store.by(did.request);
        let named = self.namespace.as_deref();
        // It was deleted, or has got another format, since the command came (Base 2.0, 5.23).
        if named.is_some_and(Namespace::is_gone) {
            return Err(Status::INVALID_FIELD);
        }
        // Each is a request of the drive.
        let discard = |(number, range): (u64, &Range<u64>)| {
            store.by(did.request.map(|first| first + number)).discard(range.start, bytes(range))
        };
        let done = match &self.does {
            Does::Flush | Does::Update(_) => Ok(()),
            Does::Handles { length } => {
                let available = named.map_or_else(Vec::new, |of| of.available(&did.handles));
                return Ok(Answer::data(fdp::status(&available, *length as usize, named.map_or(0, Namespace::shift))));
            }
            Does::Erase { parts, .. } => {
                (0..).zip(parts.iter().map(|(range, _)| range)).try_for_each(discard).map_err(of_machine)
            }
            Does::Read(range) => return self.read(store, range).map(Answer::data),
            Does::Verify(range) => self.allocated(store, range),
            Does::Compare(range, data) => {
                let same = self.read(store, range)? == *data;
                if same { Ok(()) } else { Err(Status::COMPARE_FAILURE) }
            }
            Does::CompareAndWrite { range, expected, data, .. } => {
                self.allocated(store, range)?;
                match change.compare_and_write(range.start, expected, data) {
                    Ok(false) => return Err(Status::COMPARE_FAILURE),
                    done => done.map(drop).map_err(of_machine),
                }
            }
            Does::Write(range, data) => change.write(range.start, data).map_err(of_machine),
            Does::Zeroes(range) => change.write_zeros(range.start, bytes(range)).map_err(of_machine),
            Does::Deallocate(ranges) => (0..).zip(ranges).try_for_each(discard).map_err(of_machine),
            Does::Copy { from, to } => {
                let parts: Result<Vec<Vec<u8>>, Status> = from.iter().map(|range| self.read(store, range)).collect();
                change.write(to.start, &parts?.concat()).map_err(of_machine)
            }
            Does::Zoned(Zoned::Append { .. }, data) => {
                // Dwords 0 and 1 say where it is (ZNS 1.1, 3.4.1).
                answer.result = named.map_or(0, |of| of.block(did.offset));
                change.write(did.offset, data).map_err(of_machine)
            }
            // Of several zones those are left alone whose state does not have the action.
            Does::Zoned(Zoned::Send { action, .. }, _) => {
                let size = named.and_then(|of| of.kind.zones()).map_or(0, |zones| zones.size);
                let emptied = zoned::emptied(*action, &did.zones).map(|zone| zone.start..zone.start + size);
                emptied.into_iter().try_for_each(|zone| discard((0, &zone))).map_err(of_machine)
            }
            Does::Zoned(Zoned::Report(report), _) => {
                answer.data = named.map_or_else(Vec::new, |of| report.data(&did.zones, of));
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
        store.read(range.start, &mut data).map_err(of_machine)?;
        Ok(data)
    }

    /// Reads of deallocated blocks are errors where the host wants that (NVM Command Set 1.0, 3.2.3.2.1); otherwise
    /// they read as zeros.
    fn allocated(&self, store: &Store, range: &Range<u64>) -> Result<(), Status> {
        if !self.rules.deallocated_is_error {
            return Ok(());
        }
        let extents = store.extents(range.start, bytes(range), 2).map_err(of_machine)?;
        if extents.iter().any(|extent| extent.hole) { Err(Status::DEALLOCATED_BLOCK) } else { Ok(()) }
    }
}

/// What a host hears of what the drive has not done. A drive whose medium is read-only refuses writes as to a read-only
/// range (NVM Command Set 1.0, 3.1.2).
pub fn of_drive(failure: Failure) -> Status {
    match failure {
        Failure::Uncorrectable => Status::UNRECOVERED_READ_ERROR,
        Failure::ReadOnly => Status::READ_ONLY_RANGE,
        Failure::PowerCut => Status::ABORTED_POWER_LOSS,
        Failure::Unlike => Status::COMPARE_FAILURE,
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
