//! Flash without a drive: its host names the pages that are read and programmed and the blocks that are erased.

use std::ffi::c_char;
use std::ptr;

use ssd::media::{MediaOp, MediaStatus, PageAddress, Rule};
use ssd::policies::Policies;
use ssd::run::{open_media, write_media};
use units::Time;

use crate::drive::{Failure, Handle, guarded};
use crate::{Options, SSDLAB_NEVER, Status, device, opens, owned, settings, status_of, text};

/// Reads a page.
pub const SSDLAB_MEDIA_READ: u8 = 0;
/// Programs the pages of a program command, of which the first is named.
pub const SSDLAB_MEDIA_PROGRAM: u8 = 1;
/// Erases a block, of which page 0 is named.
pub const SSDLAB_MEDIA_ERASE: u8 = 2;

/// It was done.
pub const SSDLAB_MEDIA_SUCCESS: u8 = 0;
/// The page could not be corrected.
pub const SSDLAB_MEDIA_UNCORRECTABLE: u8 = 1;
/// The program failed: its pages hold nothing.
pub const SSDLAB_MEDIA_PROGRAM_FAILED: u8 = 2;
/// The erase failed: nothing can be programmed in the block before an erase that does not.
pub const SSDLAB_MEDIA_ERASE_FAILED: u8 = 3;
/// Not begun: the block is to be erased before the page is programmed.
pub const SSDLAB_MEDIA_ERASE_FIRST: u8 = 4;
/// Not begun: pages of a block are programmed in order, and `next_page` comes next.
pub const SSDLAB_MEDIA_OUT_OF_ORDER: u8 = 5;
/// Not begun: the page holds no data.
pub const SSDLAB_MEDIA_UNWRITTEN: u8 = 6;
/// Not begun: the factory found the block bad.
pub const SSDLAB_MEDIA_FACTORY_BAD: u8 = 7;
/// Another reason, of a later version.
pub const SSDLAB_MEDIA_OTHER: u8 = 255;

/// Flash that its host manages. One call at a time is played: others wait.
pub struct Media(Handle<ssd::Media>);

/// A command to the flash.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct MediaCommand {
    /// When the controller has it [ns]: not before the present, nor before the command before it.
    pub time: u64,
    /// The die, counted over the whole device, channel by channel.
    pub die: u32,
    /// The plane in its die.
    pub plane: u32,
    /// The block in its plane.
    pub block: u32,
    /// The page in its block; 0 of an erase.
    pub page: u32,
    /// Of a read the bytes that are wanted, from the page's first on; 0 is all.
    pub bytes: u32,
    /// SSDLAB_MEDIA_READ, SSDLAB_MEDIA_PROGRAM or SSDLAB_MEDIA_ERASE.
    pub op: u8,
}

/// A command that has ended.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct MediaCompletion {
    /// Its number.
    pub id: u64,
    /// What was asked.
    pub command: MediaCommand,
    /// When it ended [ns].
    pub finish: u64,
    /// With SSDLAB_MEDIA_OUT_OF_ORDER the page that comes next.
    pub next_page: u32,
    /// Of a read, how often its page was sensed again for the controller.
    pub retries: u16,
    /// SSDLAB_MEDIA_SUCCESS or one of the others.
    pub status: u8,
    /// Its data is other data than was programmed, and nothing has noticed.
    pub miscorrected: bool,
}

/// What the flash is made of.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct MediaShape {
    /// Data bytes of a page.
    pub page_size: u64,
    /// Channels.
    pub channels: u32,
    /// Dies, over all channels.
    pub dies: u32,
    /// Planes of a die.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks: u32,
    /// Pages of a block.
    pub pages: u32,
    /// Pages that one program writes.
    pub program_pages: u32,
}

/// Builds the flash of a drive, without host link and FTL, or goes on from a checkpoint of one (`device` is its path).
/// Of the options `warmup`, `requests_out`, `series_out` and `ftl` have no meaning here and are refused. Errors are
/// those of `ssdlab_open`; free it with `ssdlab_media_free`.
///
/// # Safety
/// As `ssdlab_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_open(
    options: *const Options,
    media: *mut *mut Media,
    error: *mut *mut c_char,
) -> Status {
    let make = |opened| Media(Handle::new(opened));
    // SAFETY: by the caller's promise.
    unsafe { opens(media, error, options, |options| open(options), make) }
}

/// # Safety
/// As `ssdlab_open`.
unsafe fn open(options: &Options) -> Result<ssd::Media, Failure> {
    let outs = !options.requests_out.is_null() || !options.series_out.is_null();
    if options.warmup != 0 || outs || !options.ftl.is_null() {
        let problem = "warmup, requests_out, series_out and ftl are of the run of a drive";
        return Err(Failure::input(format!("{problem}\n  help: leave them out")));
    }
    // SAFETY: by the caller's promise.
    let (device, settings) = unsafe { (device(options)?, settings(options)?) };
    // SAFETY: as above.
    let (scheme, age) = unsafe { (text("scheme", options.scheme)?, text("age", options.age)?) };
    Ok(open_media(device, scheme, age, &settings, &Policies::default(), options.seed).map_err(ssd::RunError::from)?)
}

/// Submits `count` commands, in their order: a million in one call are fine. Their numbers follow one another; the
/// first one's is written to `*first`, and to `*submitted` how many were submitted, unless these are null. Where a
/// command is refused, since there is no such page or it comes too late, those before it have been submitted, it and
/// those after it have not; `ssdlab_media_last_error` names it. Commands of one block take effect in their order; what
/// breaks a rule of the chip says so in its completion. Commands of the same time reach their dies together.
///
/// # Safety
/// Pointers are null or valid; `commands` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_submit_many(
    media: *mut Media,
    commands: *const MediaCommand,
    count: usize,
    first: *mut u64,
    submitted: *mut usize,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(media) = (unsafe { media.as_ref() }) else { return Status::NullPointer };
    if commands.is_null() && count > 0 {
        return Status::NullPointer;
    }
    // SAFETY: there are `count` of them, and a slice of none needs no pointer.
    let commands = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(commands, count) } };
    let mut done = 0;
    let begun = media.0.with(|media| {
        for (index, command) in commands.iter().enumerate() {
            let of = |Failure { status, text }| Failure { status, text: format!("commands[{index}]: {text}") };
            let number = in_core(command).and_then(|command| Ok(media.submit(command)?)).map_err(of)?;
            // SAFETY: null or valid, by the caller's promise.
            if let (0, Some(first)) = (done, unsafe { first.as_mut() }) {
                *first = number;
            }
            done += 1;
        }
        Ok(())
    });
    // SAFETY: as above.
    if let Some(submitted) = unsafe { submitted.as_mut() } {
        *submitted = done;
    }
    status_of(begun)
}

fn in_core(command: &MediaCommand) -> Result<ssd::media::MediaCommand, Failure> {
    let MediaCommand { time, die, plane, block, page, bytes, op } = *command;
    let Some(op) = MediaOp::ALL.get(usize::from(op)).copied() else {
        let help = "write SSDLAB_MEDIA_READ, SSDLAB_MEDIA_PROGRAM or SSDLAB_MEDIA_ERASE";
        return Err(Failure::input(format!("op is {op}\n  help: {help}")));
    };
    let at = PageAddress { die, plane, block, page };
    Ok(ssd::media::MediaCommand { time: Time(time), op, at, bytes })
}

/// Plays everything that happens up to and including a time [ns]. Where that lies in the past, nothing happens.
///
/// # Safety
/// The pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_advance(media: *mut Media, to: u64) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(media) = (unsafe { media.as_ref() }) else { return Status::NullPointer };
    status_of(media.0.with(|media| Ok(media.advance(Time(to))?)))
}

/// Plays until a command has ended that was not taken, or up to a time [ns]; SSDLAB_NEVER is no limit. Whether one has
/// is written to `*completed` unless that is null.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_advance_to_completion(
    media: *mut Media,
    limit: u64,
    completed: *mut bool,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(media) = (unsafe { media.as_ref() }) else { return Status::NullPointer };
    let any = media.0.with(|media| Ok(media.advance_to_completion(Time(limit))?));
    // SAFETY: as above.
    status_of(any.map(|any| unsafe { completed.as_mut() }.map_or((), |completed| *completed = any)))
}

/// Takes ended commands, in the order of their ends, into an array of `room`; how many were taken is written to
/// `*taken`. Others wait.
///
/// # Safety
/// Pointers are null or valid; `into` has room for `room` completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_take_completions(
    media: *mut Media,
    into: *mut MediaCompletion,
    room: usize,
    taken: *mut usize,
) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(media), Some(taken)) = (unsafe { media.as_ref() }, unsafe { taken.as_mut() }) else {
        return Status::NullPointer;
    };
    if into.is_null() && room > 0 {
        return Status::NullPointer;
    }
    *taken = 0;
    status_of(media.0.with(|media| {
        for done in media.take_first(room) {
            // SAFETY: `take_first` gives no more than `room`.
            unsafe { into.add(*taken).write(in_c(&done)) };
            *taken += 1;
        }
        Ok(())
    }))
}

fn in_c(done: &ssd::media::MediaCompletion) -> MediaCompletion {
    let ssd::media::MediaCompletion { id, command, finish, status, retries, miscorrected } = *done;
    let ssd::media::MediaCommand { time, op, at: PageAddress { die, plane, block, page }, bytes } = command;
    let op = MediaOp::ALL.into_iter().position(|of| of == op).unwrap_or_default() as u8;
    let (status, next_page) = match status {
        MediaStatus::Success => (SSDLAB_MEDIA_SUCCESS, 0),
        MediaStatus::Uncorrectable => (SSDLAB_MEDIA_UNCORRECTABLE, 0),
        MediaStatus::ProgramFailed => (SSDLAB_MEDIA_PROGRAM_FAILED, 0),
        MediaStatus::EraseFailed => (SSDLAB_MEDIA_ERASE_FAILED, 0),
        MediaStatus::Refused(Rule::EraseFirst) => (SSDLAB_MEDIA_ERASE_FIRST, 0),
        MediaStatus::Refused(Rule::InOrder { next }) => (SSDLAB_MEDIA_OUT_OF_ORDER, next),
        MediaStatus::Refused(Rule::Unwritten) => (SSDLAB_MEDIA_UNWRITTEN, 0),
        MediaStatus::Refused(Rule::FactoryBad) => (SSDLAB_MEDIA_FACTORY_BAD, 0),
        _ => (SSDLAB_MEDIA_OTHER, 0),
    };
    let command = MediaCommand { time: time.0, die, plane, block, page, bytes, op };
    MediaCompletion { id, command, finish: finish.0, next_page, retries, status, miscorrected }
}

/// When something happens next [ns], if nothing is submitted before; SSDLAB_NEVER if nothing does. Nothing ends
/// earlier.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_next_event(media: *const Media, time: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { asked(media, time, |media| media.next_event().map_or(SSDLAB_NEVER, |time| time.0)) }
}

/// The present [ns]: 0 when the flash was opened.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_now(media: *const Media, time: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { asked(media, time, |media| media.now().0) }
}

/// Commands that were submitted and have not ended.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_outstanding(media: *const Media, commands: *mut u64) -> Status {
    // SAFETY: handed on.
    unsafe { asked(media, commands, ssd::Media::outstanding) }
}

/// What the flash is made of.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_shape_of(media: *const Media, shape: *mut MediaShape) -> Status {
    let of = |media: &ssd::Media| {
        let ssd::media::MediaShape { channels, dies, planes, blocks, pages, page_size, program_pages } = media.shape();
        MediaShape { page_size: page_size.0, channels, dies, planes, blocks, pages, program_pages }
    };
    // SAFETY: handed on.
    unsafe { asked(media, shape, of) }
}

/// Writes the whole state to a file, from which `ssdlab_media_open` goes on.
///
/// # Safety
/// Pointers are null or valid, and the path ends with a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_save(media: *const Media, path: *const c_char) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let Some(media) = (unsafe { media.as_ref() }) else { return Status::NullPointer };
    if path.is_null() {
        return Status::NullPointer;
    }
    // SAFETY: it is a string, by the caller's promise.
    status_of(media.0.with(|media| match unsafe { text("path", path)? } {
        Some(path) => Ok(write_media(media, path.as_ref())?),
        None => unreachable!("Invariant: it is not null"),
    }))
}

/// What the last failure was and how to mend it; null if there was none. Free it with `ssdlab_string_free`.
///
/// # Safety
/// The pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_last_error(media: *const Media) -> *mut c_char {
    // SAFETY: null or valid, by the caller's promise.
    let error = unsafe { media.as_ref() }.and_then(|media| media.0.last_error());
    error.map_or(ptr::null_mut(), owned)
}

/// Frees flash; null is passed over.
///
/// # Safety
/// It is null, or was opened, has not been freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_media_free(media: *mut Media) {
    if !media.is_null() {
        // SAFETY: `ssdlab_media_open` made it, and the caller frees it once.
        let media = unsafe { Box::from_raw(media) };
        let _ = guarded(|| {
            drop(media);
            Ok(())
        });
    }
}

/// What is known of flash.
///
/// # Safety
/// Pointers are null or valid.
unsafe fn asked<T>(media: *const Media, into: *mut T, of: impl FnOnce(&ssd::Media) -> T) -> Status {
    // SAFETY: null or valid, by the caller's promise.
    let (Some(media), Some(into)) = (unsafe { media.as_ref() }, unsafe { into.as_mut() }) else {
        return Status::NullPointer;
    };
    status_of(media.0.with(|media| Ok(of(media))).map(|answer| *into = answer))
}
