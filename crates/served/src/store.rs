//! The data of an export: what was written reads back, everything else as zeros.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use ssd::Undone;
use units::{Bytes, ConfigError};

use crate::unsettled::{Becomes, Unsettled};

/// Writes zeros to a range, piece by piece.
fn zeros(offset: u64, bytes: u64, write: impl Fn(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let end = offset + bytes;
    (offset..end).step_by(ZEROS.len()).try_for_each(|from| {
        let length = (end - from).min(ZEROS.len() as u64);
        write(from, &ZEROS[..length as usize])
    })
}

/// What is kept in memory as a whole \[B].
const PAGE: u64 = 4096;
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// A part of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length.
    pub bytes: u64,
    /// It holds nothing, and reads as zeros.
    pub hole: bool,
}

/// The data of an export. Ranges that it is asked for lie within its size.
pub struct Store {
    kept: Kept,
    /// Changes may happen beside each other; what compares first is alone.
    alone: RwLock<()>,
    /// What a power cut can still undo, where the drive's power can be cut.
    unsettled: OnceLock<Mutex<Unsettled>>,
}

/// The store as a request of the drive changes it, by its number: power cuts undo what that request has not made
/// durable.
#[derive(Clone, Copy)]
pub struct Changes<'a> {
    store: &'a Store,
    /// None where the drive has no part in it.
    request: Option<u64>,
}

enum Kept {
    Memory { pages: RwLock<Pages>, most: usize },
    File(File),
}

/// Pages by their number.
type Pages = BTreeMap<u64, Box<[u8]>>;

impl Store {
    fn of(kept: Kept) -> Store {
        Store { kept, alone: RwLock::default(), unsettled: OnceLock::new() }
    }

    /// The drive's power can be cut: what it undoes is undone here. Its logical pages have this many bytes.
    pub(crate) fn can_be_cut(&self, page: Bytes) {
        self.unsettled.get_or_init(|| Mutex::new(Unsettled::new(page.0)));
    }

    fn unsettled(&self) -> Option<MutexGuard<'_, Unsettled>> {
        self.unsettled.get().map(|unsettled| unsettled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the drive has done before a request is settled: no power cut undoes it.
    pub(crate) fn settle(&self, first: u64) {
        if let Some(mut unsettled) = self.unsettled() {
            unsettled.settle(first);
        }
    }

    /// A power cut has undone these, and nothing else.
    pub(crate) fn cut(&self, undone: &[Undone]) -> io::Result<()> {
        let Some(mut unsettled) = self.unsettled() else { return Ok(()) };
        unsettled.cut(undone).into_iter().try_for_each(|becomes| self.put(becomes))
    }

    fn put(&self, Becomes { offset, bytes, data }: Becomes) -> io::Result<()> {
        match data {
            Some(data) => self.write(offset, &data),
            None => self.discard(offset, bytes),
        }
    }

    /// The store for the changes of a request of the drive.
    pub fn by(&self, request: Option<u64>) -> Changes<'_> {
        Changes { store: self, request }
    }

    /// Keeps up to `most` bytes in memory.
    pub fn in_memory(most: Bytes) -> Store {
        Store::of(Kept::Memory { pages: RwLock::default(), most: (most.0 / PAGE) as usize })
    }

    /// Keeps the data in a sparse file of `size`; what the file holds already is the export's data.
    pub fn in_file(path: &Path, size: Bytes) -> Result<Store, ConfigError> {
        let refused = |problem: String, remedy: &str| ConfigError {
            origin: format!("--data {}", path.display()),
            line: None,
            key: None,
            problem,
            remedy: remedy.into(),
        };
        let unusable = |error: io::Error| {
            refused(format!("cannot be used: {error}"), "name a file in a folder that can be written")
        };
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused("is in use by another server".into(), "name another file, or end that server"));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let about = file.metadata().map_err(unusable)?;
        if !about.is_file() {
            return Err(refused("is no file".into(), "name a file; it is made where there is none"));
        }
        if about.len() > size.0 {
            let problem = format!("holds {} B, more than the device's {}", about.len(), size.0);
            return Err(refused(problem, "name another file, or choose the device that it was made with"));
        }
        file.set_len(size.0).map_err(unusable)?;
        // A new file is there after a crash of the machine only if its folder is on the disk.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        file.sync_all().and_then(|()| File::open(folder)?.sync_all()).map_err(unusable)?;
        Ok(Store::of(Kept::File(file)))
    }

    /// The bytes from `offset` on.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.kept {
            Kept::File(file) => file.read_exact_at(into, offset),
            Kept::Memory { pages, .. } => {
                let pages = pages.read().unwrap_or_else(PoisonError::into_inner);
                for Part { page, from, bytes } in parts(offset, into.len() as u64) {
                    let into = &mut into[bytes];
                    match pages.get(&page) {
                        Some(kept) => into.copy_from_slice(&kept[from..from + into.len()]),
                        None => into.fill(0),
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes bytes from `offset` on.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match &self.kept {
            Kept::File(file) => file.write_all_at(data, offset),
            Kept::Memory { pages, most } => {
                let mut pages = pages.write().unwrap_or_else(PoisonError::into_inner);
                for Part { page, from, bytes } in parts(offset, data.len() as u64) {
                    let data = &data[bytes];
                    if pages.len() >= *most && !pages.contains_key(&page) {
                        return Err(io::ErrorKind::StorageFull.into());
                    }
                    let kept = pages.entry(page).or_insert_with(|| vec![0; PAGE as usize].into());
                    kept[from..from + data.len()].copy_from_slice(data);
                }
                Ok(())
            }
        }
    }

    /// Writes zeros, which take as much room as other data.
    pub fn write_zeros(&self, offset: u64, bytes: u64) -> io::Result<()> {
        zeros(offset, bytes, |from, data| self.write(from, data))
    }

    /// Makes a range read as zeros, and forgets what it held.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match &self.kept {
            Kept::File(file) => {
                Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)?)
            }
            Kept::Memory { pages, .. } => {
                let mut pages = pages.write().unwrap_or_else(PoisonError::into_inner);
                let (first, end) = (offset.div_ceil(PAGE), (offset + bytes) / PAGE);
                if first < end {
                    pages.extract_if(first..end, |_, _| true).for_each(drop);
                }
                // What is left are the pages that the range begins and ends in.
                for edge in [offset / PAGE, (offset + bytes - 1) / PAGE] {
                    if let Some(kept) = pages.get_mut(&edge) {
                        let from = offset.saturating_sub(edge * PAGE);
                        kept[from as usize..(offset + bytes - edge * PAGE).min(PAGE) as usize].fill(0);
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether [`Store::sync`] takes its time.
    pub fn is_file(&self) -> bool {
        matches!(self.kept, Kept::File(_))
    }

    /// Has what was written on the machine's disk, as far as there is a file.
    pub fn sync(&self) -> io::Result<()> {
        match &self.kept {
            Kept::File(file) => file.sync_data(),
            Kept::Memory { .. } => Ok(()),
        }
    }

    /// Which parts of a range hold data: up to `most` extents from `offset` on, which may end before the range does.
    pub fn extents(&self, offset: u64, bytes: u64, most: usize) -> io::Result<Vec<Extent>> {
        let end = offset + bytes;
        let mut extents: Vec<Extent> = Vec::new();
        let mut at = offset;
        while at < end {
            let (hole, until) = match &self.kept {
                Kept::File(file) => run_of_file(file, at)?,
                Kept::Memory { pages, .. } => {
                    run_of_pages(&pages.read().unwrap_or_else(PoisonError::into_inner), at, end)
                }
            };
            let until = until.min(end);
            if extents.len() == most {
                break;
            }
            extents.push(Extent { bytes: until - at, hole });
            at = until;
        }
        Ok(extents)
    }
}

impl Changes<'_> {
    /// Writes bytes from `offset` on.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let _beside = self.store.alone.read().unwrap_or_else(PoisonError::into_inner);
        self.writes(offset, data)
    }

    /// Writes bytes if those that are there are the expected ones; says whether they were. Nothing is changed in
    /// between.
    pub fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool> {
        let _alone = self.store.alone.write().unwrap_or_else(PoisonError::into_inner);
        let mut there = vec![0; expected.len()];
        self.store.read(offset, &mut there)?;
        if there != expected {
            return Ok(false);
        }
        self.writes(offset, data).map(|()| true)
    }

    fn writes(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (Some(request), Some(mut unsettled)) = (self.request, self.store.unsettled()) else {
            return self.store.write(offset, data);
        };
        let mut rest = data;
        for (unit, range) in unsettled.units_of(offset, data.len() as u64) {
            let (part, behind) = rest.split_at(range.len());
            rest = behind;
            self.change(&mut unsettled, request, unit, range, Some(part.to_vec()))?;
        }
        Ok(())
    }

    /// Writes zeros, which take as much room as other data.
    pub fn write_zeros(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let _beside = self.store.alone.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(request), Some(mut unsettled)) = (self.request, self.store.unsettled()) else {
            return self.store.write_zeros(offset, bytes);
        };
        for (unit, range) in unsettled.units_of(offset, bytes) {
            let data = vec![0; range.len()];
            self.change(&mut unsettled, request, unit, range, Some(data))?;
        }
        Ok(())
    }

    /// Makes a range read as zeros, and forgets what it held.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let _beside = self.store.alone.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(request), Some(mut unsettled)) = (self.request, self.store.unsettled()) else {
            return self.store.discard(offset, bytes);
        };
        let end = offset + bytes;
        let mut at = offset;
        // Holes stay as they are: to the end of a unit that holds something, which has one change.
        while at < end {
            let extent = self.store.extents(at, end - at, 1)?[0];
            let to = at + extent.bytes;
            if extent.hole {
                at = to;
                continue;
            }
            let begin = offset.max(at / unsettled.unit() * unsettled.unit());
            let until = to.next_multiple_of(unsettled.unit()).min(end);
            for (unit, range) in unsettled.units_of(begin, until - begin) {
                self.change(&mut unsettled, request, unit, range, None)?;
            }
            at = until;
        }
        Ok(())
    }

    fn change(
        &self,
        unsettled: &mut Unsettled,
        request: u64,
        unit: u64,
        range: Range<usize>,
        data: Option<Vec<u8>>,
    ) -> io::Result<()> {
        let size = unsettled.unit();
        let before = || {
            let hole =
                self.store.extents(unit * size, size, 1)?.first().is_some_and(|run| run.hole && run.bytes == size);
            let mut held = vec![0; size as usize];
            self.store.read(unit * size, &mut held)?;
            Ok((!hole).then_some(held))
        };
        match unsettled.changes(request, unit, range, data, before)? {
            Some(becomes) => self.store.put(becomes),
            None => Ok(()),
        }
    }
}

/// Whether a file has a hole at `at`, and where that ends.
fn run_of_file(file: &File, at: u64) -> io::Result<(bool, u64)> {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => Ok((true, data)),
        Ok(_) => match seek(file, SeekFrom::Hole(at))? {
            // The data has gone in between.
            hole if hole == at => run_of_file(file, at),
            hole => Ok((false, hole)),
        },
        // There is no data from here on.
        Err(Errno::NXIO) => Ok((true, u64::MAX)),
        Err(error) => Err(error.into()),
    }
}

/// Whether there is no page at `at`, and how far that is so, up to `end`.
fn run_of_pages(pages: &Pages, at: u64, end: u64) -> (bool, u64) {
    let first = at / PAGE;
    let mut kept = pages.range(first..end.div_ceil(PAGE)).map(|(page, _)| *page).peekable();
    if kept.peek() != Some(&first) {
        return (true, kept.next().map_or(u64::MAX, |page| page * PAGE));
    }
    let run = kept.zip(first..).take_while(|(page, expected)| page == expected).count() as u64;
    (false, (first + run) * PAGE)
}

/// A page of a range.
struct Part {
    /// The page's number.
    page: u64,
    /// The first byte in it.
    from: usize,
    /// Which bytes of the range it has.
    bytes: Range<usize>,
}

/// The pages of a range.
fn parts(offset: u64, bytes: u64) -> impl Iterator<Item = Part> {
    let end = offset + bytes;
    (offset / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let from = offset.max(page * PAGE);
        let to = end.min((page + 1) * PAGE);
        let bytes = (from - offset) as usize..(to - offset) as usize;
        Part { page, from: (from - page * PAGE) as usize, bytes }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 10 * PAGE;

    #[derive(Clone, Debug)]
    enum Act {
        Write(u64, u64, u8),
        Discard(u64, u64),
        Zero(u64, u64),
        Read(u64, u64),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let range = (0..SIZE, 1..3 * PAGE).prop_map(|(offset, bytes)| (offset, bytes.min(SIZE - offset)));
        let act = (range, 0..5u8, 1..255u8).prop_map(|((offset, bytes), kind, value)| match kind {
            0 | 1 => Act::Write(offset, bytes, value),
            2 => Act::Discard(offset, bytes),
            3 => Act::Zero(offset, bytes),
            _ => Act::Read(offset, bytes),
        });
        proptest::collection::vec(act, 1..40)
    }

    fn agrees_with_flat_memory(store: &Store, acts: &[Act]) {
        let mut flat = vec![0u8; SIZE as usize];
        for act in acts {
            match *act {
                Act::Write(offset, bytes, value) => {
                    flat[offset as usize..(offset + bytes) as usize].fill(value);
                    store.write(offset, &vec![value; bytes as usize]).unwrap();
                }
                Act::Discard(offset, bytes) => {
                    flat[offset as usize..(offset + bytes) as usize].fill(0);
                    store.discard(offset, bytes).unwrap();
                }
                Act::Zero(offset, bytes) => {
                    flat[offset as usize..(offset + bytes) as usize].fill(0);
                    store.write_zeros(offset, bytes).unwrap();
                    assert!(store.extents(offset, bytes, 2).unwrap().iter().all(|extent| !extent.hole));
                }
                Act::Read(offset, bytes) => {
                    store.sync().unwrap();
                    let mut found = vec![1; bytes as usize];
                    store.read(offset, &mut found).unwrap();
                    assert_eq!(found, flat[offset as usize..(offset + bytes) as usize]);
                    let extents = store.extents(offset, bytes, usize::MAX).unwrap();
                    assert_eq!(extents.iter().map(|extent| extent.bytes).sum::<u64>(), bytes);
                    assert!(extents.windows(2).all(|pair| pair[0].hole != pair[1].hole), "{extents:?}");
                    let mut at = offset as usize;
                    for Extent { bytes, hole } in extents {
                        assert!(!hole || flat[at..at + bytes as usize].iter().all(|byte| *byte == 0));
                        at += bytes as usize;
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_store_reads_as_flat_memory(acts in acts()) {
            agrees_with_flat_memory(&Store::in_memory(Bytes(SIZE)), &acts);
            let folder = std::env::temp_dir().join(format!("ssdlab-store-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            agrees_with_flat_memory(&Store::in_file(&folder.join("data"), Bytes(SIZE)).unwrap(), &acts);
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let store = Store::in_memory(Bytes(2 * PAGE));
        store.write(0, &[1; 2 * PAGE as usize]).unwrap();
        assert_eq!(store.write(5 * PAGE, &[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
        store.discard(1, PAGE * 2 - 1).unwrap();
        store.write(5 * PAGE, &[1]).unwrap();
        assert_eq!(
            store.extents(0, 7 * PAGE, 9).unwrap(),
            [(PAGE, false), (4 * PAGE, true), (PAGE, false), (PAGE, true)].map(|(bytes, hole)| Extent { bytes, hole })
        );
    }
}
