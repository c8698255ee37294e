//! Namespaces: ranges of a drive, each with a format, and which controllers have them (Base 2.0, 5.22, 5.23 and 8.11).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use units::Bytes;

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::command::{Command, ControllerId, Refused};
use crate::fdp::Left;
use crate::limits::{BLOCK_SHIFTS, MOST_NAMESPACES};
use crate::status::Status;
use crate::subsystem::{Area, Kind, Subsystem};

/// The number that stands for all namespaces (Base 2.0, 3.2.1.2).
pub(crate) const ALL: u32 = u32::MAX;

/// A range of a drive's bytes with a format.
#[derive(Debug)]
pub struct Namespace {
    /// Its number, from 1.
    pub number: u32,
    /// What it is.
    pub kind: Kind,
    /// Its bytes of the drive.
    pub range: Range<u64>,
    /// Its size in blocks: no more than the range has room for.
    pub blocks: u64,
    /// Which of the formats it has: what its blocks are.
    pub format: usize,
    /// Identifies it.
    pub uuid: [u8; 16],
    /// Several controllers may have it at once.
    pub shared: bool,
    /// By placement handle: the drive's handle that it is.
    pub handles: Vec<u16>,
    /// What writes had best be multiples of.
    pub preferred: Bytes,
    /// The drive's handles, and bits of a placement identifier that name the reclaim group.
    placement: (u16, u32),
    /// It was deleted, or has another format now: commands that have come before do nothing to it any more.
    gone: AtomicBool,
}

impl Namespace {
    /// The first one of a drive, as it begins.
    pub fn first(drive: &Subsystem) -> Arc<Namespace> {
        Arc::new(Namespace::of(drive, &drive.areas[0], 1, 0))
    }

    /// All of an area, of a number, as the `made`th of the drive.
    fn of(drive: &Subsystem, area: &Area, number: u32, made: u64) -> Namespace {
        Namespace {
            number,
            kind: area.kind,
            range: area.range.clone(),
            blocks: (area.range.end - area.range.start) >> BLOCK_SHIFTS[0],
            format: 0,
            uuid: drive.uuid(made),
            shared: true,
            handles: (0..drive.handles).collect(),
            preferred: drive.preferred,
            placement: (drive.handles, drive.group_bits),
            gone: AtomicBool::new(false),
        }
    }

    /// Bytes of a block, as a power of two.
    pub fn shift(&self) -> u8 {
        BLOCK_SHIFTS[self.format]
    }

    /// The drive's bytes of this many blocks from one on.
    pub(crate) fn bytes(&self, first: u64, count: u64) -> Result<Range<u64>, Status> {
        let end = first.checked_add(count).filter(|end| *end <= self.blocks).ok_or(Status::LBA_OUT_OF_RANGE)?;
        Ok(self.range.start + (first << self.shift())..self.range.start + (end << self.shift()))
    }

    /// All of the drive's bytes that its blocks are.
    pub(crate) fn whole(&self) -> Range<u64> {
        self.range.start..self.range.start + (self.blocks << self.shift())
    }

    /// The block at a byte of the drive.
    pub(crate) fn block(&self, byte: u64) -> u64 {
        byte.saturating_sub(self.range.start) >> self.shift()
    }

    /// It was deleted, or has another format now.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    fn goes(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// Placement handles of hosts: none where the drive has none.
    pub(crate) fn has_handles(&self) -> bool {
        self.placement.0 > 0
    }

    /// The drive's placement identifier for a host's, whose handle is one of the namespace: one that names no handle
    /// stays so.
    pub(crate) fn placed(&self, identifier: u16) -> u16 {
        let (handles, group_bits) = self.placement;
        let below = u16::BITS - group_bits;
        let group = identifier.checked_shr(below).unwrap_or(0).checked_shl(below).unwrap_or(0);
        match self.handles.get(usize::from(identifier - group)) {
            Some(handle) => group | handle,
            None if identifier - group >= handles => identifier,
            None => u16::MAX,
        }
    }

    /// What can still be written by each of its placement identifiers, where the drive says so of its own.
    pub(crate) fn available(&self, of_drive: &[(u16, Bytes)]) -> Vec<Left> {
        let groups = of_drive.len() / usize::from(self.placement.0.max(1));
        let below = u16::BITS - self.placement.1;
        let mut found = Vec::new();
        for group in 0..groups as u16 {
            for (place, handle) in self.handles.iter().enumerate() {
                let identifier = group.checked_shl(below).unwrap_or(0) | place as u16;
                let drives = self.placed(identifier);
                let left = of_drive.iter().find(|(identifier, _)| *identifier == drives);
                found.extend(left.map(|(_, left)| Left { identifier, handle: *handle, bytes: *left }));
            }
        }
        found
    }
}

/// A namespace, and who has it.
#[derive(Debug)]
struct Entry {
    namespace: Arc<Namespace>,
    attached: BTreeSet<ControllerId>,
    /// Controllers of hosts that connect later have it too.
    joins: bool,
}

/// What a controller has not read of changes to its namespaces.
#[derive(Debug, Default)]
struct Changed {
    numbers: BTreeSet<u32>,
    told: bool,
}

/// All namespaces of a drive.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    all: BTreeMap<u32, Entry>,
    /// Deleted ones: while commands hold them, nothing else lies there.
    leaving: Vec<Weak<Namespace>>,
    made: u64,
    changed: BTreeMap<ControllerId, Changed>,
    /// Controllers that were enabled for the NVM command set alone: namespaces of others are not active there.
    nvm_alone: BTreeSet<ControllerId>,
}

/// What a host asks Namespace Management for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Management {
    Create,
    Delete,
}

impl Management {
    /// SEL: dword 10, bits 3:0 (Base 2.0, 5.23).
    pub fn of(command: &Command) -> Result<Management, Status> {
        match command.dword(10) & 0xf {
            0 => Ok(Management::Create),
            1 => Ok(Management::Delete),
            _ => Err(Status::INVALID_FIELD),
        }
    }
}

impl Namespaces {
    /// Those that a drive begins with: each of its parts is one, which every controller has.
    pub fn of(drive: &Subsystem) -> Namespaces {
        let mut begun = Namespaces::default();
        for area in &drive.areas {
            let number = begun.made as u32 + 1;
            let namespace = Arc::new(Namespace::of(drive, area, number, begun.made));
            begun.made += 1;
            begun.all.insert(number, Entry { namespace, attached: BTreeSet::new(), joins: true });
        }
        begun
    }

    /// A controller of a host that has connected.
    pub fn connects(&mut self, controller: ControllerId) {
        for entry in self.all.values_mut() {
            if entry.joins && (entry.namespace.shared || entry.attached.is_empty()) {
                entry.attached.insert(controller);
            }
        }
    }

    /// A controller is enabled: for all command sets, or for the NVM command set alone.
    pub fn enables(&mut self, controller: ControllerId, all_sets: bool) {
        if all_sets {
            self.nvm_alone.remove(&controller);
        } else {
            self.nvm_alone.insert(controller);
        }
    }

    /// Whether a controller is enabled for a command set.
    pub fn takes(&self, set: u8, of: ControllerId) -> bool {
        set == Kind::Nvm.command_set() || !self.nvm_alone.contains(&of)
    }

    /// Whether a controller has a namespace: it is attached, and its command set is enabled.
    fn has(&self, entry: &Entry, controller: ControllerId) -> bool {
        entry.attached.contains(&controller) && self.takes(entry.namespace.kind.command_set(), controller)
    }

    /// A controller is no more.
    pub fn leaves(&mut self, controller: ControllerId) {
        self.changed.remove(&controller);
        self.nvm_alone.remove(&controller);
        for entry in self.all.values_mut() {
            entry.attached.remove(&controller);
        }
    }

    fn entry(&self, number: u32) -> Result<Option<&Entry>, Status> {
        if number == 0 || number > MOST_NAMESPACES {
            return Err(Status::INVALID_NAMESPACE);
        }
        Ok(self.all.get(&number))
    }

    /// The namespace of a number, if there is one, whoever has it.
    pub fn allocated(&self, number: u32) -> Result<Option<&Arc<Namespace>>, Status> {
        Ok(self.entry(number)?.map(|entry| &entry.namespace))
    }

    /// The namespace of a number, if the controller has it.
    pub fn attached(&self, number: u32, to: ControllerId) -> Result<Option<&Arc<Namespace>>, Status> {
        Ok(self.entry(number)?.filter(|entry| self.has(entry, to)).map(|entry| &entry.namespace))
    }

    /// The one that a command names: a number that is not attached is an invalid field (Base 2.0, 3.2.1.5).
    pub fn active(&self, number: u32, of: ControllerId) -> Result<&Arc<Namespace>, Status> {
        self.attached(number, of)?.ok_or(Status::INVALID_FIELD)
    }

    /// All of the controller's, or the one that is named.
    pub fn named(&self, number: u32, of: ControllerId) -> Result<Vec<Arc<Namespace>>, Status> {
        if number == ALL {
            return Ok(self.all_attached(of).cloned().collect());
        }
        Ok(vec![self.active(number, of)?.clone()])
    }

    /// All of the controller's.
    pub fn all_attached(&self, to: ControllerId) -> impl Iterator<Item = &Arc<Namespace>> {
        self.all.values().filter(move |entry| self.has(entry, to)).map(|entry| &entry.namespace)
    }

    /// All that there are.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.all.values().map(|entry| &entry.namespace)
    }

    /// The controllers that have a namespace; all namespaces are none (Base 2.0, 5.17.2.11).
    pub fn controllers(&self, number: u32) -> Result<Vec<ControllerId>, Status> {
        let entry = if number == ALL { None } else { self.entry(number)? }.ok_or(Status::INVALID_FIELD)?;
        Ok(entry.attached.iter().copied().filter(|controller| self.has(entry, *controller)).collect())
    }

    /// Bytes of the drive that no namespace has.
    pub fn unallocated(&self, drive: &Subsystem) -> u64 {
        drive.size() - self.all().map(|namespace| namespace.range.end - namespace.range.start).sum::<u64>()
    }

    /// The first room for this many bytes in an area.
    fn room(&mut self, area: &Area, bytes: u64) -> Option<u64> {
        self.leaving.retain(|namespace| namespace.strong_count() > 0);
        let leaving = self.leaving.iter().filter_map(Weak::upgrade).map(|namespace| namespace.range.clone());
        let mut taken: Vec<Range<u64>> = self.all().map(|namespace| namespace.range.clone()).chain(leaving).collect();
        taken.retain(|range| area.range.contains(&range.start));
        taken.sort_by_key(|range| range.start);
        let mut begin = area.range.start;
        for range in taken {
            if range.start.saturating_sub(begin) >= bytes {
                return Some(begin);
            }
            begin = begin.max(range.end);
        }
        (area.range.end - begin >= bytes).then_some(begin)
    }

    /// Create: the command set in dword 11, bits 31:24; in the data (NVM Command Set 1.0, 5.8 "Host Software Specified
    /// Fields") size, capacity, format, protection, sharing, groups, and placement handles (TP 4146). It is nobody's
    /// yet.
    pub fn create(&mut self, command: &Command, data: &[u8], drive: &Subsystem) -> Result<u32, Refused> {
        if data.len() < 4096 || command.namespace() != 0 {
            return Err(Status::INVALID_FIELD.into());
        }
        let set = (command.dword(11) >> 24) as u8;
        let area = drive.areas.iter().find(|area| area.kind.command_set() == set);
        let area = area.ok_or(Status::COMMAND_SET_NOT_SUPPORTED)?;
        let format = usize::from(data[26] & 0xf);
        if data[26] & 0x70 != 0 || data[29] != 0 {
            return Err(Status::INVALID_FORMAT.into());
        }
        let shift = *BLOCK_SHIFTS.get(format).ok_or(Status::INVALID_FORMAT)?;
        let (blocks, capacity) = (u64_at(data, 0), u64_at(data, 8));
        if blocks != capacity {
            return Err(Status::THIN_PROVISIONING.into());
        }
        // There is one NVM set, one endurance group, and no asymmetric access.
        let groups_are_right = u32_at(data, 92) == 0 && u16_at(data, 100) <= 1 && u16_at(data, 102) <= 1;
        if blocks == 0 || !groups_are_right || data[30] & !1 != 0 {
            return Err(Status::INVALID_FIELD.into());
        }
        let unit = drive.granularity(area);
        let bytes = blocks.checked_mul(1 << shift).and_then(|bytes| bytes.checked_next_multiple_of(unit));
        let bytes = bytes.ok_or(Status::NAMESPACE_CAPACITY)?;
        if area.kind.zones().is_some() && bytes != blocks << shift {
            return Err(Status::INVALID_FIELD.into());
        }
        let handles = placement_handles(data, drive)?;
        let Some(begin) = self.room(area, bytes) else {
            return Err(Status::NAMESPACE_CAPACITY.into());
        };
        let number = (1..=MOST_NAMESPACES).find(|number| !self.all.contains_key(number));
        let number = number.ok_or(Status::NAMESPACE_IDENTIFIER_UNAVAILABLE)?;
        let range = begin..begin + bytes;
        let (shared, of) = (data[30] & 1 != 0, Namespace::of(drive, area, number, self.made));
        let namespace = Arc::new(Namespace { range, blocks, format, shared, handles, ..of });
        self.made += 1;
        self.all.insert(number, Entry { namespace, attached: BTreeSet::new(), joins: false });
        Ok(number)
    }

    /// Delete: one, or all. Whoever has had them hears of it.
    pub fn delete(&mut self, number: u32) -> Result<Vec<Arc<Namespace>>, Status> {
        let numbers: Vec<u32> = match number {
            ALL => self.all.keys().copied().collect(),
            _ => {
                self.entry(number)?.ok_or(Status::INVALID_FIELD)?;
                vec![number]
            }
        };
        let mut deleted = Vec::new();
        for number in numbers {
            let Some(entry) = self.all.remove(&number) else { continue };
            entry.namespace.goes();
            self.leaving.push(Arc::downgrade(&entry.namespace));
            self.changes(number, &entry.attached);
            deleted.push(entry.namespace);
        }
        Ok(deleted)
    }

    /// Namespace Attachment: which controllers, of those that there are, get a namespace or lose it; SEL in dword 10,
    /// bits 3:0 (Base 2.0, 5.22).
    pub fn attach(&mut self, command: &Command, data: &[u8], there: &[ControllerId]) -> Result<(), Status> {
        let number = command.namespace();
        let attaches = match command.dword(10) & 0xf {
            0 => true,
            1 => false,
            _ => return Err(Status::INVALID_FIELD),
        };
        let set = self.entry(number)?.ok_or(Status::INVALID_FIELD)?.namespace.kind.command_set();
        let wanted = listed(data).filter(|wanted| wanted.iter().all(|id| there.contains(id)));
        let wanted = wanted.ok_or(Status::CONTROLLER_LIST_INVALID)?;
        if attaches && !wanted.iter().all(|id| self.takes(set, *id)) {
            return Err(Status::COMMAND_SET_NOT_ENABLED);
        }
        let entry = self.all.get_mut(&number).ok_or(Status::INVALID_FIELD)?;
        let has = |id: &ControllerId| entry.attached.contains(id);
        if attaches {
            if wanted.iter().any(has) {
                return Err(Status::NAMESPACE_ALREADY_ATTACHED);
            }
            if !entry.namespace.shared && entry.attached.len() + wanted.len() > 1 {
                return Err(Status::NAMESPACE_IS_PRIVATE);
            }
            entry.attached.extend(&wanted);
        } else {
            if !wanted.iter().all(has) {
                return Err(Status::NAMESPACE_NOT_ATTACHED);
            }
            entry.attached.retain(|id| !wanted.contains(id));
        }
        entry.joins = attaches;
        self.changes(number, &wanted);
        Ok(())
    }

    /// These get another format, whatever they held.
    pub fn format(&mut self, which: &[Arc<Namespace>], format: usize, drive: &Subsystem) {
        for before in which.iter().filter(|before| before.format != format) {
            let Some(entry) = self.all.get_mut(&before.number) else { continue };
            before.goes();
            let range = before.range.clone();
            let blocks = (range.end - range.start) >> BLOCK_SHIFTS[format];
            let (uuid, shared, handles, kind) = (before.uuid, before.shared, before.handles.clone(), before.kind);
            let of = Namespace::of(drive, &Area { range, kind }, before.number, 0);
            entry.namespace = Arc::new(Namespace { blocks, format, uuid, shared, handles, ..of });
            let attached = entry.attached.clone();
            self.changes(before.number, &attached);
        }
    }

    fn changes(&mut self, number: u32, controllers: &BTreeSet<ControllerId>) {
        for controller in controllers {
            self.changed.entry(*controller).or_default().numbers.insert(number);
        }
    }

    /// Whether a controller's host is to be told that namespaces have changed. Until it reads which, it is not told
    /// again.
    pub fn has_news(&self, of: ControllerId) -> bool {
        self.changed.get(&of).is_some_and(|changed| !changed.numbers.is_empty() && !changed.told)
    }

    /// A controller's host is told so.
    pub fn tells(&mut self, of: ControllerId) {
        self.changed.entry(of).or_default().told = true;
    }

    /// Which namespaces have changed for a controller since its host has read of it.
    pub fn changed(&self, of: ControllerId) -> Vec<u32> {
        self.changed.get(&of).map_or_else(Vec::new, |changed| changed.numbers.iter().copied().collect())
    }

    /// A controller's host has read of it.
    pub fn has_read(&mut self, of: ControllerId) {
        self.changed.remove(&of);
    }
}

/// A controller list: how many, then their numbers in ascending order (Base 2.0, 4.4.1).
fn listed(data: &[u8]) -> Option<BTreeSet<ControllerId>> {
    let count = usize::from(data.get(..2).map(|bytes| u16_at(bytes, 0))?);
    let ids = data.get(2..2 + 2 * count)?.chunks_exact(2).map(|bytes| ControllerId(u16_at(bytes, 0)));
    let found: BTreeSet<ControllerId> = ids.clone().collect();
    ((1..=2047).contains(&count) && ids.is_sorted() && found.len() == count).then_some(found)
}

/// The drive's handles that are a new namespace's: their number at 392, and which from 512 on; without any it has one,
/// the drive's first (TP 4146, "Namespace Management").
fn placement_handles(data: &[u8], drive: &Subsystem) -> Result<Vec<u16>, Status> {
    let count = usize::from(u16_at(data, 392));
    if drive.handles == 0 || count == 0 {
        return Ok((0..drive.handles.min(1)).collect());
    }
    if count > 128 {
        return Err(Status::INVALID_PLACEMENT_LIST);
    }
    let handles: Vec<u16> = data[512..512 + 2 * count].chunks_exact(2).map(|handle| u16_at(handle, 0)).collect();
    let apart: BTreeSet<&u16> = handles.iter().collect();
    let right = apart.len() == count && handles.iter().all(|handle| *handle < drive.handles);
    if right { Ok(handles) } else { Err(Status::INVALID_PLACEMENT_LIST) }
}
