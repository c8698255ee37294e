//! libssdlab: a simulated SSD in another program. `docs/embedding.md` is the guide; `include/ssdlab.h` is written from
//! this file.
//!
//! Every function but those that free answers with a status, and refuses null pointers where none are allowed. No panic
//! leaves the library. A drive may be used from several threads: its calls are played one after another.

// Its docs are read as comments of the C header: `[ns]` is a unit there, and a backslash before it would show.
#![allow(rustdoc::broken_intra_doc_links)]

mod drive;
mod media;
mod own_ftl;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;

use ssd::Drive as _;
use ssd::policies::Policies;
use ssd::run::{DeviceWord, DriveInputs, Given};
use ssd::zones::ZoneDescriptor;
use units::{Bytes, Time};
use workload::Op;

pub use drive::{Drive, Status};
use drive::{Failure, Handle, Playing, guarded};
pub use media::*;
pub use own_ftl::*;

/// A time that does not come: there is no next event, or no limit.
pub const SSDLAB_NEVER: u64 = u64::MAX;

/// Reads bytes.
pub const SSDLAB_READ: u8 = 0;
/// Writes bytes.
pub const SSDLAB_WRITE: u8 = 1;
/// Deallocates bytes (NVMe Dataset Management, ATA TRIM).
pub const SSDLAB_TRIM: u8 = 2;
/// Puts all data that was acknowledged on flash (NVMe Flush); offset and bytes have no meaning.
pub const SSDLAB_FLUSH: u8 = 3;
/// Writes bytes at the write pointer of the zone that begins at the offset; the completion says where.
pub const SSDLAB_APPEND: u8 = 4;
/// Closes the zones of a range.
pub const SSDLAB_ZONE_CLOSE: u8 = 5;
/// Finishes them.
pub const SSDLAB_ZONE_FINISH: u8 = 6;
/// Opens them.
pub const SSDLAB_ZONE_OPEN: u8 = 7;
/// Resets them.
pub const SSDLAB_ZONE_RESET: u8 = 8;
/// Takes read-only ones offline.
pub const SSDLAB_ZONE_OFFLINE: u8 = 9;
/// Commits what a zone random write area holds up to the end of the range.
pub const SSDLAB_ZONE_FLUSH: u8 = 10;
/// Opens zones with a zone random write area.
pub const SSDLAB_ZONE_OPEN_RANDOM: u8 = 11;
/// Reads descriptors of zones, 64 bytes each.
pub const SSDLAB_ZONE_REPORT: u8 = 12;

/// A drive and its run. Begin with `ssdlab_defaults`; every pointer may be null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    /// A preset's name or the path of a device file; "tlc" if it is null.
    pub device: *const c_char,
    /// The text of a device file (TOML), in place of `device`.
    pub toml: *const c_char,
    /// A named scheme, or choices: "axis=choice,...".
    pub scheme: *const c_char,
    /// The state that the run starts from: "pec=2000,retention=6mo".
    pub age: *const c_char,
    /// Configuration keys, "section.key=value" each.
    pub settings: *const *const c_char,
    /// How many settings there are.
    pub setting_count: usize,
    /// Of all random streams: same inputs, requests and seed, same result.
    pub seed: u64,
    /// Requests at the start that are left out of the statistics.
    pub warmup: u64,
    /// Where a row for each request is written (Parquet).
    pub requests_out: *const c_char,
    /// Where the time series is written when the run is finished (Parquet).
    pub series_out: *const c_char,
    /// An FTL of one's own in place of the drive's; it is copied, and what it points to must stay until the drive is
    /// freed.
    pub ftl: *const Ftl,
}

/// A request.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Request {
    /// When it arrives [ns]: not before the present, nor before the request before it.
    pub time: u64,
    /// First byte.
    pub offset: u64,
    /// Length [B], more than 0 but for a flush.
    pub bytes: u64,
    /// The submission queue, modulo `host.queues`.
    pub queue: u16,
    /// Placement hint (NVMe Flexible Data Placement, Streams); 0 for none.
    pub hint: u16,
    /// SSDLAB_READ, SSDLAB_WRITE and the others.
    pub op: u8,
}

/// A request that has completed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Completion {
    /// Its number.
    pub id: u64,
    /// When it arrived [ns].
    pub time: u64,
    /// When the host saw it complete [ns].
    pub finish: u64,
    /// Some of the data that it asked for could not be corrected.
    pub uncorrectable: bool,
    /// The drive has become read-only at the end of its life and has not done it, or not wholly.
    pub refused: bool,
    /// NVMe's Status Code Type and Status Code: 0 and 0 where it was done.
    pub status_type: u8,
    /// See `status_type`.
    pub status_code: u8,
    /// The first byte that it was done to: of an append where its data is.
    pub offset: u64,
}

/// A zone, as a report of zones has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Zone {
    /// Its first byte.
    pub start: u64,
    /// Bytes that can be written.
    pub capacity: u64,
    /// Where the next write goes [B].
    pub write_pointer: u64,
    /// Its state, as in a zone descriptor of NVMe: 1 empty, 2 implicitly open, 3 explicitly open, 4 closed, 13
    /// read-only, 14 full, 15 offline; 0 is conventional.
    pub state: u8,
}

/// The version of the library; not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The options of a run with nothing given: the preset tlc, seed 1.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_defaults() -> Options {
    Options {
        device: ptr::null(),
        toml: ptr::null(),
        scheme: ptr::null(),
        age: ptr::null(),
        settings: ptr::null(),
        setting_count: 0,
        seed: 1,
        warmup: 0,
        requests_out: ptr::null(),
        series_out: ptr::null(),
        ftl: ptr::null(),
    }
}

/// Builds a drive and brings it into the state that it starts from; free it with `ssdlab_free`. Where that fails
/// `*drive` is null and `*error`, unless `error` is null, says why: free it with `ssdlab_string_free`.
///
/// # Safety
/// Pointers are null or valid, strings end with a null byte, and `settings` points to `setting_count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_open(
    options: *const Options,
    drive: *mut *mut Drive,
    error: *mut *mut c_char,
) -> Status {
    let make = |playing| Drive(Handle::new(playing));
    // SAFETY: by the caller's promise.
    unsafe { opens(drive, error, options, |options| open(options), make) }
}

/// Opens something, and says in `*into` what it is, or in `*error` why it could not be: each is written where it is not
/// null.
///
/// # Safety
/// Pointers are null or valid, and `open` may be called with what `options` points to.
unsafe fn opens<T, H>(
    into: *mut *mut H,
    error: *mut *mut c_char,
    options: *const Options,
    open: impl FnOnce(&Options) -> Result<T, Failure>,
    make: impl FnOnce(T) -> H,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let options = unsafe { options.as_ref() }.filter(|_| !into.is_null());
    let (status, made, text) = match options.map(|options| guarded(|| open(options))) {
        None => (Status::NullPointer, ptr::null_mut(), None),
        Some(Ok(opened)) => (Status::Ok, Box::into_raw(Box::new(make(opened))), None),
        Some(Err(Failure { status, text })) => (status, ptr::null_mut(), Some(text)),
    };
    // SAFETY: each is valid where it is not null.
    unsafe {
        if !into.is_null() {
            into.write(made);
        }
        if !error.is_null() {
            error.write(text.map_or(ptr::null_mut(), owned));
        }
    }
    status
}

/// # Safety
/// As `ssdlab_open`.
unsafe fn open(options: &Options) -> Result<Playing, Failure> {
    // SAFETY: by the caller's promise.
    let (device, settings) = unsafe { (device(options)?, settings(options)?) };
    // SAFETY: each is null or a string, by the promise of `ssdlab_open`.
    let text = |name, pointer| unsafe { text(name, pointer) };
    let mut policies = Policies::default();
    // SAFETY: null or valid, by the caller's promise.
    if let Some(ftl) = unsafe { options.ftl.as_ref() } {
        // SAFETY: its name is a string and its callbacks keep their contract, by the caller's promise.
        policies.ftl = Some(unsafe { stand_in(ftl)? });
    }
    let inputs = DriveInputs {
        version: env!("CARGO_PKG_VERSION"),
        device,
        scheme: text("scheme", options.scheme)?,
        age: text("age", options.age)?,
        settings: &settings,
        options: &[("seed", options.seed), ("warmup", options.warmup)].map(|(name, n)| (name.into(), Given::Number(n))),
        policies: &policies,
        fingerprint: workload::content_hash,
    };
    let requests_out = text("requests_out", options.requests_out)?.map(Path::new);
    let series_out = text("series_out", options.series_out)?.map(Path::new);
    Playing::open(&inputs, requests_out, series_out)
}

/// The drive that options name.
///
/// # Safety
/// As `ssdlab_open`.
unsafe fn device(options: &Options) -> Result<DeviceWord<'_>, Failure> {
    // SAFETY: each is null or a string, by the promise of `ssdlab_open`.
    match unsafe { (text("device", options.device)?, text("toml", options.toml)?) } {
        (Some(_), Some(_)) => Err(Failure::input("device and toml are both given\n  help: give one of them")),
        (None, Some(toml)) => Ok(DeviceWord::Text(toml)),
        (name, None) => Ok(DeviceWord::Named(name.unwrap_or("tlc"))),
    }
}

/// The settings of options.
///
/// # Safety
/// As `ssdlab_open`.
unsafe fn settings(options: &Options) -> Result<Vec<String>, Failure> {
    let null = |text: String| Failure { status: Status::NullPointer, text };
    if options.settings.is_null() && options.setting_count > 0 {
        return Err(null("settings is null\n  help: set setting_count to 0".into()));
    }
    let setting = |index| {
        // SAFETY: there are `setting_count` of them, each null or a string.
        let setting = unsafe { text("settings", *options.settings.add(index))? };
        setting.map(str::to_owned).ok_or_else(|| null(format!("settings[{index}] is null")))
    };
    (0..options.setting_count).map(setting).collect()
}

/// Submits a request; its number, from 0, is written to `*id` unless `id` is null. The first request after the warm-up
/// plays the drive up to its time.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit(drive: *mut Drive, request: *const Request, id: *mut u64) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(drive), Some(request)) = (unsafe { drive.as_ref() }, unsafe { request.as_ref() }) else {
        return Status::NullPointer;
    };
    let submitted = drive.0.with(|playing| Ok(playing.live.submit(in_core(request)?)?));
    // SAFETY: as above.
    status_of(submitted.map(|submitted| unsafe { id.as_mut() }.map_or((), |id| *id = submitted)))
}

/// Submits `count` requests, in their order, as `ssdlab_submit` does one by one: a million in one call are fine. Their
/// numbers follow one another; the first one's is written to `*first`, and to `*submitted` how many were submitted,
/// unless these are null. Where a request is refused, those before it have been submitted, it and those after it have
/// not: `*submitted` is its index, and `ssdlab_last_error` names it.
///
/// # Safety
/// Pointers are null or valid; `requests` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit_many(
    drive: *mut Drive,
    requests: *const Request,
    count: usize,
    first: *mut u64,
    submitted: *mut usize,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(drive) = (unsafe { drive.as_ref() }) else { return Status::NullPointer };
    if requests.is_null() && count > 0 {
        return Status::NullPointer;
    }
    // SAFETY: there are `count` of them, and a slice of none needs no pointer.
    let requests = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(requests, count) } };
    let mut done = 0;
    let begun = drive.0.with(|playing| {
        let from = playing.live.submitted();
        // SAFETY: null or valid, by the caller's promise.
        if let Some(first) = unsafe { first.as_mut() } {
            *first = from;
        }
        let result = submit_many(playing, requests);
        done = (playing.live.submitted() - from) as usize;
        result
    });
    // SAFETY: as above.
    if let Some(submitted) = unsafe { submitted.as_mut() } {
        *submitted = done;
    }
    status_of(begun)
}

/// Submits requests up to the first that cannot be one, or that is refused.
fn submit_many(playing: &mut Playing, requests: &[Request]) -> Result<(), Failure> {
    let mut core = Vec::with_capacity(requests.len());
    let refused = requests.iter().find_map(|request| in_core(request).map(|request| core.push(request)).err());
    playing.live.submit_all(&core)?;
    let of = |Failure { status, text }| Failure { status, text: format!("requests[{}]: {text}", core.len()) };
    refused.map_or(Ok(()), |failure| Err(of(failure)))
}

fn in_core(request: &Request) -> Result<workload::Request, Failure> {
    let Some(op) = Op::ALL.get(usize::from(request.op)).copied() else {
        let help = "write SSDLAB_READ, SSDLAB_WRITE, SSDLAB_TRIM, SSDLAB_FLUSH or one of those of zones";
        return Err(Failure::input(format!("op is {}\n  help: {help}", request.op)));
    };
    let core = workload::Request::new(Time(request.time), op, Bytes(request.offset), Bytes(request.bytes));
    Ok(core.on(request.queue).hinted(request.hint))
}

/// Plays everything that happens up to and including a time [ns]. Where that lies in the past, nothing happens.
///
/// # Safety
/// The pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance(drive: *mut Drive, to: u64) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(drive) = (unsafe { drive.as_ref() }) else { return Status::NullPointer };
    status_of(drive.0.with(|playing| Ok(playing.live.advance(Time(to))?)))
}

/// Plays until a request has completed that was not taken, or up to a time [ns]; SSDLAB_NEVER is no limit. Whether one
/// has is written to `*completed` unless that is null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance_to_completion(drive: *mut Drive, limit: u64, completed: *mut bool) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(drive) = (unsafe { drive.as_ref() }) else { return Status::NullPointer };
    let any = drive.0.with(|playing| Ok(playing.live.advance_to_completion(Time(limit))?));
    // SAFETY: as above.
    status_of(any.map(|any| unsafe { completed.as_mut() }.map_or((), |completed| *completed = any)))
}

/// Takes completed requests, in order of completion, into an array of `room`; how many were taken is written to
/// `*taken`. Others wait.
///
/// # Safety
/// Pointers are null or valid; `into` has room for `room` completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_take_completions(
    drive: *mut Drive,
    into: *mut Completion,
    room: usize,
    taken: *mut usize,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(drive), Some(taken)) = (unsafe { drive.as_ref() }, unsafe { taken.as_mut() }) else {
        return Status::NullPointer;
    };
    if into.is_null() && room > 0 {
        return Status::NullPointer;
    }
    *taken = 0;
    status_of(drive.0.with(|playing| {
        for done in playing.live.take_first(room) {
            let (time, finish) = (done.request.time.0, done.finish.0);
            // What a power cut has ended was not done either.
            let (uncorrectable, refused) = (done.uncorrectable, done.refused || done.aborted);
            let ((status_type, status_code), offset, id) = (done.status.code(), done.at.0, done.id);
            let done = Completion { id, time, finish, uncorrectable, refused, status_type, status_code, offset };
            // SAFETY: `take_first` gives no more than `room`.
            unsafe { into.add(*taken).write(done) };
            *taken += 1;
        }
        Ok(())
    }))
}

/// When something happens next [ns], if nothing is submitted before; SSDLAB_NEVER if nothing does. Nothing completes
/// earlier.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_next_event(drive: *const Drive, time: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { number(drive, time, |playing| playing.live.next_event().map_or(SSDLAB_NEVER, |time| time.0)) }
}

/// The present [ns]: 0 when the drive was opened.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_now(drive: *const Drive, time: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { number(drive, time, |playing| playing.live.now().0) }
}

/// Logical capacity [B].
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_capacity(drive: *const Drive, bytes: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { number(drive, bytes, |playing| playing.live.capacity().0) }
}

/// How many zones the drive has: 0 where it has none (ftl.mapping).
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_zones(drive: *const Drive, zones: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { number(drive, zones, |playing| playing.live.device().zones().map_or(0, |zones| zones.count().into())) }
}

/// What a report of zones says of one, by its number.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_zone(drive: *const Drive, number: u32, zone: *mut Zone) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(drive), Some(zone)) = (unsafe { drive.as_ref() }, unsafe { zone.as_mut() }) else {
        return Status::NullPointer;
    };
    status_of(drive.0.with(|playing| {
        let none =
            || Failure::input(format!("there is no zone {number}\n  help: ssdlab_zones says how many there are"));
        let found = playing.live.device().zones().and_then(|zones| zones.zone(number)).ok_or_else(none)?;
        let ZoneDescriptor { state, start, capacity, write_pointer, .. } = found;
        *zone = Zone { start, capacity, write_pointer, state: state.code() };
        Ok(())
    }))
}

/// Requests that were submitted and have not completed.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_outstanding(drive: *const Drive, requests: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { number(drive, requests, |playing| playing.live.outstanding()) }
}

/// The result up to now as JSON, to the letter as `ssdlab run --json` writes it but for its section `process`. Free it
/// with `ssdlab_string_free`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_result(drive: *const Drive, json: *mut *mut c_char) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(drive), Some(json)) = (unsafe { drive.as_ref() }, unsafe { json.as_mut() }) else {
        return Status::NullPointer;
    };
    *json = ptr::null_mut();
    status_of(drive.0.with(|playing| Ok(playing.result())).map(|text| *json = owned(text)))
}

/// Writes the drive as it stands to a file, a checkpoint, from which `ssdlab_open` goes on (`device` is its path):
/// another run, of the same drive, whose time begins with 0. What is buffered is written to flash first, as at the end
/// of a run. The run goes on afterwards.
///
/// # Safety
/// Pointers are null or valid, and the path ends with a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_save(drive: *mut Drive, path: *const c_char) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(drive) = (unsafe { drive.as_ref() }) else { return Status::NullPointer };
    if path.is_null() {
        return Status::NullPointer;
    }
    // SAFETY: it is a string, by the caller's promise.
    status_of(drive.0.with(|playing| match unsafe { text("path", path)? } {
        Some(path) => Ok(playing.live.save(path.as_ref())?),
        None => unreachable!("Invariant: it is not null"),
    }))
}

/// Ends the run: checks it, and completes the files that were asked for. Only `ssdlab_last_error` and `ssdlab_free` may
/// follow.
///
/// # Safety
/// The pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_finish(drive: *mut Drive) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(drive) = (unsafe { drive.as_ref() }) else { return Status::NullPointer };
    status_of(drive.finish())
}

/// What the drive's last failure was and how to mend it; null if there was none. Free it with `ssdlab_string_free`.
///
/// # Safety
/// The pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_last_error(drive: *const Drive) -> *mut c_char {
    // SAFETY: null or valid, by the caller's promise.
    let error = unsafe { drive.as_ref() }.and_then(|drive| drive.0.last_error());
    error.map_or(ptr::null_mut(), owned)
}

/// Frees a string that the library gave; null is passed over.
///
/// # Safety
/// The string is null, or was given by this library and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_string_free(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: `owned` made it, and the caller frees it once.
        drop(unsafe { CString::from_raw(string) });
    }
}

/// Frees a drive, finished or not; null is passed over.
///
/// # Safety
/// The drive is null, or was opened, has not been freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_free(drive: *mut Drive) {
    if !drive.is_null() {
        // SAFETY: `ssdlab_open` made it, and the caller frees it once.
        let drive = unsafe { Box::from_raw(drive) };
        let _ = guarded(|| {
            drop(drive);
            Ok(())
        });
    }
}

/// A number of a drive.
///
/// # Safety
/// Pointers are null or valid.
unsafe fn number(drive: *const Drive, into: *mut u64, of: impl FnOnce(&Playing) -> u64) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(drive), Some(into)) = (unsafe { drive.as_ref() }, unsafe { into.as_mut() }) else {
        return Status::NullPointer;
    };
    status_of(drive.0.with(|playing| Ok(of(playing))).map(|number| *into = number))
}

/// A string that was given; none if it is null.
///
/// # Safety
/// The pointer is null, or a string that ends with a null byte and outlives `'a`.
unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: it is a string, by the caller's promise.
    let string = unsafe { CStr::from_ptr(pointer) };
    let text =
        string.to_str().map_err(|_| Failure::input(format!("{name} is not valid UTF-8\n  help: write it in UTF-8")))?;
    Ok(Some(text))
}

/// A string that the caller frees.
fn owned(text: String) -> *mut c_char {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default().into_raw()
}

fn status_of(done: Result<(), Status>) -> Status {
    done.map_or_else(|status| status, |()| Status::Ok)
}
