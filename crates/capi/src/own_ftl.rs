//! An FTL of one's own in C: its callbacks as the trait of the drive.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use ssd::policies::own_ftl::{Address, DriveLayout, NewFtl, OwnFtl, Place, PlaneId};
use ssd::policies::{Answer, Blocks, PolicySource, StandIn};
use units::{Lpn, Ppn};

use crate::drive::{Failure, called};

/// No page, or no block.
pub const SSDLAB_FTL_NONE: u64 = u64::MAX;

/// The drive as an FTL of one's own sees it when it is made. Planes whose blocks make a superblock are one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FtlLayout {
    /// Logical pages (LPN): they are numbered from 0.
    pub logical_pages: u64,
    /// Bytes of a page, as the map knows pages (`mapping.unit`).
    pub page_size: u64,
    /// How far the first pages of a plane and of the next one are apart, as pages of the flash (PPN) are numbered; and
    /// those of blocks. Page `p` of block `b` of plane `l` is l * plane_stride + b * block_stride + p.
    pub plane_stride: u64,
    /// See `plane_stride`.
    pub block_stride: u64,
    /// Planes of the drive: relocated data stays in its plane.
    pub planes: u32,
    /// Planes of a die, which are numbered one after the other.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks: u32,
    /// Pages of a block.
    pub pages: u32,
    /// Streams of host data, numbered from 0: each fills blocks of its own.
    pub streams: u16,
}

/// The full blocks of a plane, while a callback is asked for one.
pub struct FtlBlocks(Blocks);

/// An FTL of one's own: docs/own-ftl.md. What it answers follows from what it has been told and asked, in order; it may
/// not call the library but for what asks about blocks. Callbacks answer 0: anything else ends the run, and its error
/// says so. They come from the thread that calls the drive, one at a time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ftl {
    /// Its name with its version: it tells it from others in manifests and checkpoints.
    pub name: *const c_char,
    /// Given to `create`.
    pub user: *mut c_void,
    /// Makes one for a drive, which is given to the other callbacks; null ends the run. After a power cut another one
    /// is made, and is told where each page is that is not where it was before the run. Drives of several threads may
    /// make theirs at once.
    pub create: Option<unsafe extern "C" fn(user: *mut c_void, layout: *const FtlLayout) -> *mut c_void>,
    /// Frees it. May be null.
    pub destroy: Option<unsafe extern "C" fn(ftl: *mut c_void)>,
    /// A page of host data leaves the write buffer: the plane that it goes to, and its stream, which is 0 unless it is
    /// written. `hint` is its placement handle, or 0; `dealt` the plane that static placement deals it to, on which its
    /// data was before the run, if it had any.
    pub write: Option<
        unsafe extern "C" fn(
            ftl: *mut c_void,
            lpn: u64,
            hint: u16,
            dealt: u32,
            plane: *mut u32,
            stream: *mut u16,
        ) -> i32,
    >,
    /// The newest data of a page is on a page of the flash now; what was there of it before is stale. `moved`: it was
    /// relocated.
    pub placed: Option<unsafe extern "C" fn(ftl: *mut c_void, lpn: u64, ppn: u64, moved: bool) -> i32>,
    /// A page has no data any more.
    pub trimmed: Option<unsafe extern "C" fn(ftl: *mut c_void, lpn: u64) -> i32>,
    /// The page of the flash that has the newest data of a page. SSDLAB_FTL_NONE, which `*ppn` is before, where it was
    /// not told of that page: the data is where it was before the run.
    pub locate: Option<unsafe extern "C" fn(ftl: *mut c_void, lpn: u64, ppn: *mut u64) -> i32>,
    /// A plane has too few free blocks: which of its full blocks is reclaimed next. SSDLAB_FTL_NONE, which `*block` is
    /// before: none now; it is asked again when a page of the plane has become stale.
    pub reclaim:
        Option<unsafe extern "C" fn(ftl: *mut c_void, plane: u32, blocks: *const FtlBlocks, block: *mut u64) -> i32>,
    /// A block of a plane has been erased. May be null.
    pub erased: Option<unsafe extern "C" fn(ftl: *mut c_void, plane: u32, block: u32) -> i32>,
    /// Its state, for a checkpoint: `*size` bytes, written to `into` if there is `room` for them; otherwise it is asked
    /// again with room. May be null, as `load`: whoever goes on from there begins with a new one, as after a power cut.
    pub save: Option<unsafe extern "C" fn(ftl: *mut c_void, into: *mut u8, room: usize, size: *mut usize) -> i32>,
    /// Takes a state that was saved.
    pub load: Option<unsafe extern "C" fn(ftl: *mut c_void, state: *const u8, size: usize) -> i32>,
}

/// How many pages a block has.
///
/// # Safety
/// The blocks are those of a callback that has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_pages(blocks: *const FtlBlocks) -> u32 {
    // SAFETY: null or valid, by the caller's promise.
    unsafe { blocks.as_ref() }.map_or(0, |FtlBlocks(of)| of.candidates.pages())
}

/// A block with this many valid pages or more gains nothing.
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_limit(blocks: *const FtlBlocks) -> u32 {
    // SAFETY: null or valid, by the caller's promise.
    unsafe { blocks.as_ref() }.map_or(0, |FtlBlocks(of)| of.candidates.victim_valid_limit())
}

/// The fewest valid pages that any block has. SSDLAB_FTL_NONE where there is no block, and with gc.victim = "fifo",
/// where the drive keeps the order of filling alone.
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_least_valid(blocks: *const FtlBlocks) -> u64 {
    // SAFETY: handed on.
    unsafe { asked(blocks, |of| if of.by_valid { of.candidates.least_valid() } else { None }) }
}

/// Of the blocks with this many valid pages, the one that has lost none for longest. SSDLAB_FTL_NONE where there is
/// none, and with gc.victim = "fifo".
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_oldest(blocks: *const FtlBlocks, valid: u32) -> u64 {
    // SAFETY: handed on.
    unsafe {
        asked(blocks, |of| {
            let knows = of.by_valid && valid <= of.candidates.pages();
            if knows { of.candidates.oldest(valid) } else { None }
        })
    }
}

/// With gc.victim = "fifo" the block that was filled first; otherwise SSDLAB_FTL_NONE.
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_first_filled(blocks: *const FtlBlocks) -> u64 {
    // SAFETY: handed on.
    unsafe { asked(blocks, |of| if of.by_valid { None } else { of.candidates.first_filled() }) }
}

/// A block at random, by the drive's seed. SSDLAB_FTL_NONE where there is none.
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_random(blocks: *const FtlBlocks) -> u64 {
    // SAFETY: handed on.
    unsafe { asked(blocks, |of| of.candidates.random((of.draw)())) }
}

/// The valid pages of a block, and in `*age`, unless that is null, the pages programmed on the plane since it last lost
/// one. Of what is no full block SSDLAB_FTL_NONE.
///
/// # Safety
/// As `ssdlab_ftl_blocks_pages`; `age` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_ftl_blocks_valid(blocks: *const FtlBlocks, number: u32, age: *mut u32) -> u64 {
    let of_block = |of: &Blocks| {
        let (valid, since) = of.candidates.block(number);
        if valid > of.candidates.pages() {
            return None;
        }
        // SAFETY: null or valid, by the caller's promise.
        if let Some(age) = unsafe { age.as_mut() } {
            *age = since;
        }
        Some(valid)
    };
    // SAFETY: handed on.
    unsafe { asked(blocks, of_block) }
}

/// A block, or a number of pages; SSDLAB_FTL_NONE for none.
///
/// # Safety
/// The pointer is null or valid.
unsafe fn asked(blocks: *const FtlBlocks, ask: impl FnOnce(&Blocks) -> Option<u32>) -> u64 {
    // SAFETY: null or valid, by the caller's promise.
    unsafe { blocks.as_ref() }.and_then(|FtlBlocks(of)| ask(of)).map_or(SSDLAB_FTL_NONE, u64::from)
}

/// The callbacks, none of them missing that must be there.
#[derive(Clone)]
struct Callbacks {
    ftl: Ftl,
    source: PolicySource,
}

// SAFETY: what `user` points to may be used from any thread, by the contract of `Ftl`.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

/// The FTL that is given, as the drive asks it.
///
/// # Safety
/// The name is null or a string that ends with a null byte; the callbacks keep the contract of [`Ftl`] as long as a
/// drive has them.
pub(crate) unsafe fn stand_in(ftl: &Ftl) -> Result<StandIn<NewFtl>, Failure> {
    let missing = [
        ("name", ftl.name.is_null()),
        ("create", ftl.create.is_none()),
        ("write", ftl.write.is_none()),
        ("placed", ftl.placed.is_none()),
        ("trimmed", ftl.trimmed.is_none()),
        ("locate", ftl.locate.is_none()),
        ("reclaim", ftl.reclaim.is_none()),
    ];
    if let Some((name, _)) = missing.into_iter().find(|(_, is_null)| *is_null) {
        return Err(Failure::input(format!("ftl.{name} is null\n  help: only destroy, erased, save and load may be")));
    }
    if ftl.save.is_some() != ftl.load.is_some() {
        let problem = "of ftl.save and ftl.load one is null";
        return Err(Failure::input(format!("{problem}\n  help: give both, or neither")));
    }
    // SAFETY: it is a string, by the caller's promise.
    let name = unsafe { CStr::from_ptr(ftl.name) };
    let name = name.to_str().map_err(|_| Failure::input("ftl.name is not valid UTF-8\n  help: write it in UTF-8"))?;
    let callbacks = Callbacks { ftl: *ftl, source: PolicySource::named(name) };
    Ok(StandIn::named(name, move |drive| Ok(Box::new(callbacks.create(&drive)?) as Box<dyn OwnFtl>)))
}

impl Callbacks {
    fn create(&self, drive: &DriveLayout) -> Answer<Own> {
        let first = |plane, block| drive.page(Address { plane: PlaneId(plane), block, page: 0 }).0;
        let layout = FtlLayout {
            logical_pages: drive.logical_pages,
            page_size: drive.page_size(),
            plane_stride: first(1, 0) - first(0, 0),
            block_stride: first(0, 1) - first(0, 0),
            planes: drive.planes(),
            planes_per_die: drive.planes_per_die(),
            blocks: drive.blocks(),
            pages: drive.pages(),
            streams: drive.streams,
        };
        let last = Address { plane: PlaneId(layout.planes - 1), block: layout.blocks - 1, page: layout.pages - 1 };
        let by_strides = u64::from(last.plane.0) * layout.plane_stride + u64::from(last.block) * layout.block_stride;
        let number = drive.page(last).0;
        assert_eq!(number, by_strides + u64::from(last.page), "Invariant: pages of the flash are numbered by strides");
        let create = self.ftl.create.expect("Invariant: it was asked for");
        // SAFETY: the contract of the callback.
        let own = called(|| unsafe { create(self.ftl.user, &layout) });
        if own.is_null() {
            return Err(self.source.mistake("ftl", "create answered null".into(), "answer an object".into()));
        }
        Ok(Own { callbacks: self.clone(), own })
    }
}

/// One that was made.
struct Own {
    callbacks: Callbacks,
    own: *mut c_void,
}

// SAFETY: it is used by one thread at a time, and from any, by the contract of `Ftl`.
unsafe impl Send for Own {}

impl Own {
    /// Calls back; what is not 0 is a mistake.
    fn ask<F>(&self, name: &str, callback: Option<F>, call: impl FnOnce(F, *mut c_void) -> i32) -> Answer<()> {
        let callback = callback.expect("Invariant: it was asked for");
        match called(|| call(callback, self.own)) {
            0 => Ok(()),
            code => {
                let remedy = "answer 0 where nothing is wrong".into();
                Err(self.callbacks.source.mistake("ftl", format!("{name} returned {code}"), remedy))
            }
        }
    }
}

// SAFETY of the callbacks: pointers are valid for the call, and what they do is the contract of `Ftl`.
impl OwnFtl for Own {
    fn write(&mut self, Lpn(lpn): Lpn, hint: u16, dealt: PlaneId) -> Answer<Place> {
        let (mut plane, mut stream) = (u32::MAX, 0);
        // SAFETY: above.
        self.ask("write", self.callbacks.ftl.write, |write, own| unsafe {
            write(own, lpn, hint, dealt.0, &mut plane, &mut stream)
        })?;
        Ok(Place { plane: PlaneId(plane), stream })
    }

    fn placed(&mut self, Lpn(lpn): Lpn, Ppn(ppn): Ppn, moved: bool) -> Answer<()> {
        // SAFETY: above.
        self.ask("placed", self.callbacks.ftl.placed, |placed, own| unsafe { placed(own, lpn, ppn, moved) })
    }

    fn trimmed(&mut self, Lpn(lpn): Lpn) -> Answer<()> {
        // SAFETY: above.
        self.ask("trimmed", self.callbacks.ftl.trimmed, |trimmed, own| unsafe { trimmed(own, lpn) })
    }

    fn locate(&mut self, Lpn(lpn): Lpn) -> Answer<Option<Ppn>> {
        let mut ppn = SSDLAB_FTL_NONE;
        // SAFETY: above.
        self.ask("locate", self.callbacks.ftl.locate, |locate, own| unsafe { locate(own, lpn, &mut ppn) })?;
        Ok((ppn != SSDLAB_FTL_NONE).then_some(Ppn(ppn)))
    }

    fn reclaim(&mut self, plane: PlaneId, blocks: Blocks) -> Answer<Option<u32>> {
        let (blocks, mut block) = (FtlBlocks(blocks), SSDLAB_FTL_NONE);
        // SAFETY: above.
        self.ask("reclaim", self.callbacks.ftl.reclaim, |reclaim, own| unsafe {
            reclaim(own, plane.0, &blocks, &mut block)
        })?;
        // A number that no block has is refused by who asked, as any other one.
        Ok((block != SSDLAB_FTL_NONE).then(|| u32::try_from(block).unwrap_or(u32::MAX)))
    }

    fn erased(&mut self, plane: PlaneId, number: u32) -> Answer<()> {
        let Some(erased) = self.callbacks.ftl.erased else { return Ok(()) };
        // SAFETY: above.
        self.ask("erased", Some(erased), |erased, own| unsafe { erased(own, plane.0, number) })
    }

    fn save(&self) -> Answer<Option<Vec<u8>>> {
        let Some(save) = self.callbacks.ftl.save else { return Ok(None) };
        let mut size = 0;
        // SAFETY: above; there is no room.
        self.ask("save", Some(save), |save, own| unsafe { save(own, ptr::null_mut(), 0, &mut size) })?;
        let mut state = vec![0; size];
        // SAFETY: above; there is room for this many bytes.
        self.ask("save", Some(save), |save, own| unsafe { save(own, state.as_mut_ptr(), state.len(), &mut size) })?;
        if size != state.len() {
            let problem = format!("save had {} bytes, and then {size}", state.len());
            let remedy = "answer the same size until something is told".into();
            return Err(self.callbacks.source.mistake("ftl", problem, remedy));
        }
        Ok(Some(state))
    }

    fn load(&mut self, state: &[u8]) -> Answer<()> {
        // SAFETY: above.
        self.ask("load", self.callbacks.ftl.load, |load, own| unsafe { load(own, state.as_ptr(), state.len()) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(destroy) = self.callbacks.ftl.destroy {
            // SAFETY: `create` made it, and this is the last that is heard of it.
            called(|| unsafe { destroy(self.own) });
        }
    }
}
