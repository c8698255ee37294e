//! The data of an export: what was written reads back, everything else as zeros.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use units::{Bytes, ConfigError};

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
pub struct Store(Kept);

enum Kept {
    Memory { pages: RwLock<Pages>, most: usize },
    File(File),
}

/// Pages by their number.
type Pages = BTreeMap<u64, Box<[u8]>>;

impl Store {
    /// Keeps up to `most` bytes in memory.
    pub fn in_memory(most: Bytes) -> Store {
        Store(Kept::Memory { pages: RwLock::default(), most: (most.0 / PAGE) as usize })
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
        Ok(Store(Kept::File(file)))
    }

    /// The bytes from `offset` on.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.0 {
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
        match &self.0 {
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
        let end = offset + bytes;
        (offset..end).step_by(ZEROS.len()).try_for_each(|from| {
            let length = (end - from).min(ZEROS.len() as u64);
            self.write(from, &ZEROS[..length as usize])
        })
    }

    /// Makes a range read as zeros, and forgets what it held.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match &self.0 {
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
        matches!(self.0, Kept::File(_))
    }

    /// Has what was written on the machine's disk, as far as there is a file.
    pub fn sync(&self) -> io::Result<()> {
        match &self.0 {
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
            let (hole, until) = match &self.0 {
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

/// Whether a file has a hole at `at`, and where that ends.
fn run_of_file(file: &File, at: u64) -> io::Result<(bool, u64)> {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => Ok((true, data)),
        Ok(_) => Ok((false, seek(file, SeekFrom::Hole(at))?)),
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
    bytes: std::ops::Range<usize>,
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
