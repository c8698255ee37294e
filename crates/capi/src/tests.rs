//! The interface as a C program calls it. tests/test_embedding.py compiles one.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr::{dangling_mut, from_mut, from_ref, null, null_mut};

use crate::*;

fn string(text: *mut c_char) -> String {
    assert!(!text.is_null());
    // SAFETY: the library gave it.
    unsafe {
        let copy = CStr::from_ptr(text).to_str().unwrap().to_owned();
        ssdlab_string_free(text);
        copy
    }
}

fn opened(options: &Options) -> Result<*mut Drive, (Status, String)> {
    let (mut drive, mut error) = (null_mut(), null_mut());
    // SAFETY: all of them are valid.
    match unsafe { ssdlab_open(options, &mut drive, &mut error) } {
        Status::Ok => {
            assert!(error.is_null());
            Ok(drive)
        }
        status => {
            assert!(drive.is_null());
            Err((status, string(error)))
        }
    }
}

fn read(time: u64, page: u64) -> Request {
    Request { time, offset: page * 4096, bytes: 4096, queue: 0, hint: 0, op: SSDLAB_READ }
}

fn played(drive: *mut Drive, requests: u64) -> String {
    let (mut completed, mut json) = (true, null_mut());
    // SAFETY: the drive is open.
    unsafe {
        for number in 0..requests {
            assert_eq!(ssdlab_submit(drive, &read(number * 3000, number * 7919 % 100_000), null_mut()), Status::Ok);
        }
        while completed {
            let mut done = [Completion::default(); 4];
            let mut taken = 0;
            assert_eq!(ssdlab_advance_to_completion(drive, SSDLAB_NEVER, &mut completed), Status::Ok);
            assert_eq!(ssdlab_take_completions(drive, done.as_mut_ptr(), done.len(), &mut taken), Status::Ok);
            assert_eq!(taken > 0, completed);
        }
        assert_eq!(ssdlab_result(drive, &mut json), Status::Ok);
        assert_eq!(ssdlab_finish(drive), Status::Ok);
        ssdlab_free(drive);
    }
    string(json)
}

#[test]
fn the_header_is_what_cbindgen_makes_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let files = ["src/drive.rs", "src/lib.rs"].map(|file| folder.join(file));
    let source = files.into_iter().fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut made = Vec::new();
    source.generate().unwrap().write(&mut made);
    let (header, made) = (folder.join("include/ssdlab.h"), String::from_utf8(made).unwrap());
    if std::env::var_os("SSDLAB_UPDATE_HEADER").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&header).unwrap_or_default();
    assert!(kept == made, "write include/ssdlab.h again: SSDLAB_UPDATE_HEADER=1 cargo test -p ssdlab-capi header");
}

#[test]
fn null_pointers_are_refused() {
    let drive = opened(&ssdlab_defaults()).unwrap();
    let (mut number, mut taken, mut none) = (0, 0, null_mut());
    let request = read(0, 0);
    let refused = Status::NullPointer;
    // SAFETY: pointers are null or valid.
    unsafe {
        assert_eq!(ssdlab_open(null(), &mut none, null_mut()), refused);
        // What callers have not begun with null is null then.
        let (mut opened, mut media, mut said) = (drive, dangling_mut(), dangling_mut());
        assert_eq!((ssdlab_open(null(), &mut opened, &mut said), opened, said), (refused, null_mut(), null_mut()));
        said = dangling_mut();
        assert_eq!((ssdlab_open(&ssdlab_defaults(), null_mut(), &mut said), said), (refused, null_mut()));
        said = dangling_mut();
        assert_eq!((ssdlab_media_open(null(), &mut media, &mut said), media, said), (refused, null_mut(), null_mut()));
        assert_eq!(ssdlab_open(&Options { setting_count: 1, ..ssdlab_defaults() }, &mut none, null_mut()), refused);
        let settings = [null()];
        let options = Options { settings: settings.as_ptr(), setting_count: 1, ..ssdlab_defaults() };
        assert_eq!(ssdlab_open(&options, &mut none, null_mut()), refused);
        assert_eq!(ssdlab_submit(null_mut(), &request, &mut number), refused);
        assert_eq!(ssdlab_submit(drive, null(), &mut number), refused);
        assert_eq!(ssdlab_advance(null_mut(), 0), refused);
        assert_eq!(ssdlab_advance_to_completion(null_mut(), 0, null_mut()), refused);
        assert_eq!(ssdlab_take_completions(null_mut(), null_mut(), 0, &mut taken), refused);
        assert_eq!(ssdlab_take_completions(drive, null_mut(), 1, &mut taken), refused);
        assert_eq!(ssdlab_take_completions(drive, null_mut(), 0, null_mut()), refused);
        assert_eq!(ssdlab_take_completions(drive, null_mut(), 0, &mut taken), Status::Ok);
        for of in [ssdlab_next_event, ssdlab_now, ssdlab_capacity, ssdlab_outstanding] {
            assert_eq!((of(null(), &mut number), of(drive, null_mut())), (refused, refused));
            assert_eq!(of(drive, &mut number), Status::Ok);
        }
        assert_eq!((ssdlab_result(null(), &mut none.cast()), ssdlab_result(drive, null_mut())), (refused, refused));
        assert_eq!(ssdlab_finish(null_mut()), refused);
        assert!(ssdlab_last_error(null()).is_null() && ssdlab_last_error(drive).is_null());
        ssdlab_string_free(null_mut());
        ssdlab_free(null_mut());
        assert_eq!(ssdlab_submit(drive, &request, null_mut()), Status::Ok, "a null id is not asked for");
        ssdlab_free(drive);
    }
}

#[test]
fn errors_name_what_is_wrong_and_the_drive_goes_on() {
    let toml = CString::new("[geometry]\nchanels = 3\n").unwrap();
    let latin = CString::new(b"\xe9".to_vec()).unwrap();
    let workload = CString::new("workload.bs=4KiB").unwrap();
    let settings = [workload.as_ptr()];
    let base = ssdlab_defaults();
    for (options, parts) in [
        (Options { toml: toml.as_ptr(), ..base }, ["device text:2", "channels"]),
        (Options { toml: toml.as_ptr(), device: toml.as_ptr(), ..base }, ["both given", "give one of them"]),
        (Options { age: latin.as_ptr(), ..base }, ["age is not valid UTF-8", "help:"]),
        (Options { settings: settings.as_ptr(), setting_count: 1, ..base }, ["workload.bs=4KiB", "leave it out"]),
    ] {
        let (status, text) = opened(&options).unwrap_err();
        assert_eq!(status, Status::InvalidInput);
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let drive = opened(&base).unwrap();
    // SAFETY: the drive is open until it is freed.
    unsafe {
        for (request, part) in [
            (Request { bytes: 0, ..read(0, 0) }, "a request of 0 B"),
            (Request { op: 77, ..read(0, 0) }, "op is 77"),
            (read(SSDLAB_NEVER, 0), "lies beyond the longest run"),
        ] {
            assert_eq!(ssdlab_submit(drive, &request, null_mut()), Status::InvalidInput);
            let text = string(ssdlab_last_error(drive));
            assert!(text.contains(part) && text.contains("help:"), "{text}");
        }
        assert_eq!(ssdlab_submit(drive, &read(5, 0), null_mut()), Status::Ok);
        assert_eq!(ssdlab_submit(drive, &read(4, 0), null_mut()), Status::InvalidInput);
        assert_eq!(ssdlab_finish(drive), Status::Ok);
        assert_eq!((ssdlab_advance(drive, 9), ssdlab_finish(drive)), (Status::Finished, Status::Finished));
        ssdlab_free(drive);
    }
}

#[test]
fn a_panic_is_a_status_and_the_drive_stays_broken() {
    let drive = opened(&ssdlab_defaults()).unwrap();
    // SAFETY: the drive is open until it is freed.
    unsafe {
        assert_eq!((*drive).0.with(|_| -> Result<(), Failure> { panic!("of the {}", "test") }), Err(Status::Panic));
        assert!(string(ssdlab_last_error(drive)).starts_with("Invariant: of the test\n  help: "));
        assert_eq!((ssdlab_advance(drive, 9), ssdlab_finish(drive)), (Status::Panic, Status::Panic));
        ssdlab_free(drive);
    }
}

/// A drive that another thread may use.
#[derive(Clone, Copy)]
struct Shared(*mut Drive);
// SAFETY: the drive locks itself.
unsafe impl Send for Shared {}

#[test]
fn threads_have_their_own_drives_or_share_one() {
    let alone = played(opened(&ssdlab_defaults()).unwrap(), 500);
    let both = [(), ()].map(|()| std::thread::spawn(|| played(opened(&ssdlab_defaults()).unwrap(), 500)));
    assert!(both.map(|thread| thread.join().unwrap()).iter().all(|json| *json == alone));
    let drive = Shared(opened(&ssdlab_defaults()).unwrap());
    let threads = [(), ()].map(|()| {
        std::thread::spawn(move || {
            let Shared(drive) = { drive };
            // SAFETY: it is freed when both have ended.
            let submit = |page| unsafe {
                let mut id = SSDLAB_NEVER;
                assert_eq!(ssdlab_submit(drive, &read(0, page), &mut id), Status::Ok);
                assert_eq!(ssdlab_advance(drive, 0), Status::Ok);
                id
            };
            (0..1000).map(submit).collect::<Vec<u64>>()
        })
    });
    let mut ids: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..2000));
    // SAFETY: both threads have ended.
    unsafe { ssdlab_free(drive.0) };
}

#[test]
fn a_batch_is_what_its_requests_are_one_by_one_up_to_the_first_that_is_refused() {
    let requests: Vec<Request> = (0..500).map(|number| read(number * 3000, number * 7919 % 100_000)).collect();
    let (single, batched) = (opened(&ssdlab_defaults()).unwrap(), opened(&ssdlab_defaults()).unwrap());
    let (mut first, mut submitted) = (9, 9);
    // SAFETY: pointers are valid.
    unsafe {
        let many = |from: &[Request], first: &mut u64, submitted: &mut usize| {
            ssdlab_submit_many(batched, from.as_ptr(), from.len(), first, submitted)
        };
        assert_eq!(ssdlab_submit_many(null_mut(), null(), 0, null_mut(), null_mut()), Status::NullPointer);
        assert_eq!(ssdlab_submit_many(batched, null(), 1, null_mut(), null_mut()), Status::NullPointer);
        assert_eq!(ssdlab_submit_many(batched, null(), 0, &mut first, &mut submitted), Status::Ok);
        assert_eq!((first, submitted), (0, 0));
        // The third goes back in time, and in the next batch the second is of no kind.
        let late = [requests[0], requests[1], Request { time: 1, ..requests[2] }, requests[3]];
        assert_eq!(many(&late, &mut first, &mut submitted), Status::InvalidInput);
        assert_eq!((first, submitted), (0, 2));
        assert!(string(ssdlab_last_error(batched)).starts_with("requests[2]: a request at 1 ns came after 3000 ns"));
        let odd = [requests[2], Request { op: 99, ..requests[3] }, requests[4]];
        assert_eq!(many(&odd, &mut first, &mut submitted), Status::InvalidInput);
        assert_eq!((first, submitted), (2, 1));
        assert!(string(ssdlab_last_error(batched)).starts_with("requests[1]: op is 99\n  help: write SSDLAB_READ"));
        assert_eq!(many(&requests[3..], &mut first, &mut submitted), Status::Ok);
        assert_eq!((first, submitted), (3, 497));
        for request in &requests {
            assert_eq!(ssdlab_submit(single, request, null_mut()), Status::Ok);
        }
    }
    assert_eq!(played(batched, 0), played(single, 0));
}

/// Flash of the preset tlc, from options that are changed.
fn flash(change: impl FnOnce(&mut Options)) -> Result<*mut Media, (Status, String)> {
    let (mut options, mut media, mut error) = (ssdlab_defaults(), null_mut(), null_mut());
    change(&mut options);
    // SAFETY: all of them are valid.
    match unsafe { ssdlab_media_open(&options, &mut media, &mut error) } {
        Status::Ok => Ok(media),
        status => Err((status, string(error))),
    }
}

fn media_command(op: u8, block: u32, page: u32) -> MediaCommand {
    MediaCommand { op, block, page, ..MediaCommand::default() }
}

/// All that ends, four at a time.
fn media_played(media: *mut Media) -> Vec<MediaCompletion> {
    let (mut all, mut completed) = (Vec::new(), true);
    while completed {
        let (mut done, mut taken) = ([MediaCompletion::default(); 4], 0);
        // SAFETY: the flash is open, and there is room for four.
        unsafe {
            assert_eq!(ssdlab_media_advance_to_completion(media, SSDLAB_NEVER, &mut completed), Status::Ok);
            assert_eq!(ssdlab_media_take_completions(media, done.as_mut_ptr(), done.len(), &mut taken), Status::Ok);
        }
        all.extend_from_slice(&done[..taken]);
    }
    all
}

#[test]
fn flash_alone_is_driven_as_a_drive_is() {
    let age = CString::new("fill=0.5").unwrap();
    let media = flash(|options| options.age = age.as_ptr()).unwrap();
    let (erase, program, read) = (SSDLAB_MEDIA_ERASE, SSDLAB_MEDIA_PROGRAM, SSDLAB_MEDIA_READ);
    let (mut shape, mut first, mut submitted, mut number) = (MediaShape::default(), 7, 7, 7);
    let path = std::env::temp_dir().join(format!("ssdlab-capi-media-{}.ckpt", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let commands = [
        media_command(erase, 3, 0),
        media_command(program, 3, 0),
        media_command(program, 3, 6),
        media_command(read, 3, 2),
        media_command(read, 3, 5),
        media_command(read, 9, 0),
    ];
    // SAFETY: the flash is open until it is freed.
    let (done, again) = unsafe {
        assert_eq!(ssdlab_media_shape_of(media, &mut shape), Status::Ok);
        assert_eq!((shape.planes, shape.program_pages, shape.page_size), (4, 3, 16_384));
        assert_eq!(ssdlab_media_submit_many(media, commands.as_ptr(), 6, &mut first, &mut submitted), Status::Ok);
        assert_eq!((first, submitted), (0, 6));
        assert_eq!(ssdlab_media_advance(media, 1000), Status::Ok);
        assert_eq!(ssdlab_media_save(media, name.as_ptr()), Status::Ok);
        let again = flash(|options| options.device = name.as_ptr()).unwrap();
        std::fs::remove_file(path).unwrap();
        for media in [media, again] {
            assert_eq!(ssdlab_media_now(media, &mut number), Status::Ok);
            assert_eq!(number, 1000);
            assert_eq!(ssdlab_media_outstanding(media, &mut number), Status::Ok);
            assert_eq!(number, 6);
            assert_eq!(ssdlab_media_next_event(media, &mut number), Status::Ok);
            assert!(number > 1000 && number < SSDLAB_NEVER);
        }
        let both = (media_played(media), media_played(again));
        ssdlab_media_free(again);
        both
    };
    let of = |id: u64| done.iter().find(|done| done.id == id).unwrap();
    let statuses: Vec<u8> = (0..6).map(|id| of(id).status).collect();
    assert_eq!(statuses, [0, 0, SSDLAB_MEDIA_OUT_OF_ORDER, 0, SSDLAB_MEDIA_UNWRITTEN, 0]);
    assert_eq!((of(2).next_page, of(2).command.page, of(3).command.op), (3, 6, read));
    assert!(of(3).finish > of(1).finish && of(1).finish > of(0).finish);
    let ends = |done: &[MediaCompletion]| done.iter().map(|done| (done.id, done.finish)).collect::<Vec<_>>();
    assert_eq!(ends(&done), ends(&again), "the checkpoint goes on as the flash does");
    // Up to what cannot be a command.
    let bad = [media_command(read, 9, 0), MediaCommand { op: 9, ..media_command(read, 9, 0) }];
    let late = MediaCommand { time: SSDLAB_NEVER - 1, ..media_command(read, 9, 0) };
    let now = |command: MediaCommand| MediaCommand { time: command.time.max(of(3).finish), ..command };
    // SAFETY: as above.
    unsafe {
        let bad = bad.map(now);
        assert_eq!(ssdlab_media_submit_many(media, bad.as_ptr(), 2, &mut first, &mut submitted), Status::InvalidInput);
        assert_eq!((first, submitted), (6, 1));
        assert!(
            string(ssdlab_media_last_error(media)).starts_with("commands[1]: op is 9\n  help: write SSDLAB_MEDIA_READ")
        );
        assert_eq!(ssdlab_media_submit_many(media, &late, 1, null_mut(), null_mut()), Status::InvalidInput);
        assert_eq!(ssdlab_media_submit_many(media, null(), 1, null_mut(), null_mut()), Status::NullPointer);
        assert_eq!(ssdlab_media_submit_many(null_mut(), &late, 1, null_mut(), null_mut()), Status::NullPointer);
        assert_eq!(ssdlab_media_save(media, null()), Status::NullPointer);
        ssdlab_media_free(media);
        ssdlab_media_free(null_mut());
    }
    let (status, text) = flash(|options| options.warmup = 5).unwrap_err();
    assert!(status == Status::InvalidInput && text.contains("of the run of a drive"), "{text}");
}

#[test]
fn a_drive_goes_on_from_what_was_saved() {
    let path = std::env::temp_dir().join(format!("ssdlab-capi-{}.ckpt", std::process::id()));
    let word = CString::new(path.to_str().unwrap()).unwrap();
    let writes = |drive: *mut Drive, from: u64, time: u64| {
        let ends = |number: u64| Request {
            op: SSDLAB_WRITE,
            bytes: 16_384,
            offset: number * 16_384,
            ..read(time + number * 20_000, 0)
        };
        let mut found = Vec::new();
        // SAFETY: the drive is open.
        unsafe {
            for number in from..from + 200 {
                assert_eq!(ssdlab_submit(drive, &ends(number), null_mut()), Status::Ok);
            }
            let mut completed = true;
            while completed {
                let mut done = [Completion::default(); 8];
                let mut taken = 0;
                assert_eq!(ssdlab_advance_to_completion(drive, SSDLAB_NEVER, &mut completed), Status::Ok);
                assert_eq!(ssdlab_take_completions(drive, done.as_mut_ptr(), done.len(), &mut taken), Status::Ok);
                found.extend(done[..taken].iter().map(|completion| (completion.time, completion.finish)));
            }
        }
        found
    };
    let defaults = ssdlab_defaults();
    let drive = opened(&defaults).unwrap();
    writes(drive, 0, 0);
    let mut now = 0;
    // SAFETY: the drives are open, and the path is a string.
    unsafe {
        assert_eq!(ssdlab_save(drive, null()), Status::NullPointer);
        assert_eq!(ssdlab_save(drive, word.as_ptr()), Status::Ok);
        assert_eq!(ssdlab_now(drive, &mut now), Status::Ok);
        let again = opened(&Options { device: word.as_ptr(), ..defaults }).unwrap();
        // The time of a run begins with 0.
        let later: Vec<(u64, u64)> =
            writes(again, 200, 1_000).into_iter().map(|(time, finish)| (time + now, finish + now)).collect();
        assert_eq!(later, writes(drive, 200, now + 1_000), "both go on alike");
        ssdlab_free(again);
        ssdlab_free(drive);
    }
    std::fs::remove_file(path).unwrap();
}

/// A page map with greedy collection, and what it does wrongly.
struct Mapped {
    places: Vec<u64>,
    wrong: Wrong,
}

#[derive(Clone, Copy, Default)]
struct Wrong {
    plane: Option<u32>,
    forgets: bool,
    block: Option<u64>,
    fails: bool,
}

/// How many have been made and not destroyed.
static LIVING: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The callbacks of [`own`].
mod mapped {
    use std::ffi::c_void;
    use std::sync::atomic::Ordering;

    use super::*;

    unsafe fn of<'a>(own: *mut c_void) -> &'a mut Mapped {
        // SAFETY: `create` made it.
        unsafe { &mut *own.cast() }
    }
    pub unsafe extern "C" fn create(user: *mut c_void, layout: *const FtlLayout) -> *mut c_void {
        // SAFETY: both are valid.
        let (wrong, layout) = unsafe { (*user.cast::<Wrong>(), &*layout) };
        let places = vec![SSDLAB_FTL_NONE; layout.logical_pages as usize];
        LIVING.fetch_add(1, Ordering::Relaxed);
        Box::into_raw(Box::new(Mapped { places, wrong })).cast()
    }
    pub unsafe extern "C" fn destroy(own: *mut c_void) {
        LIVING.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: `create` made it.
        drop(unsafe { Box::from_raw(own.cast::<Mapped>()) });
    }
    pub unsafe extern "C" fn write(own: *mut c_void, _: u64, _: u16, dealt: u32, plane: *mut u32, _: *mut u16) -> i32 {
        // SAFETY: as above.
        unsafe { *plane = of(own).wrong.plane.unwrap_or(dealt) };
        0
    }
    pub unsafe extern "C" fn placed(own: *mut c_void, page: u64, found: u64, _: bool) -> i32 {
        // SAFETY: as above.
        let of = unsafe { of(own) };
        if !of.wrong.forgets || of.places[page as usize] == SSDLAB_FTL_NONE {
            of.places[page as usize] = found;
        }
        if of.wrong.fails { 5 } else { 0 }
    }
    pub unsafe extern "C" fn trimmed(own: *mut c_void, page: u64) -> i32 {
        // SAFETY: as above.
        unsafe { of(own).places[page as usize] = SSDLAB_FTL_NONE };
        0
    }
    pub unsafe extern "C" fn locate(own: *mut c_void, page: u64, found: *mut u64) -> i32 {
        // SAFETY: as above.
        unsafe { *found = of(own).places[page as usize] };
        0
    }
    pub unsafe extern "C" fn reclaim(own: *mut c_void, _: u32, blocks: *const FtlBlocks, block: *mut u64) -> i32 {
        // SAFETY: the blocks are those of this call.
        unsafe {
            let valid = ssdlab_ftl_blocks_least_valid(blocks);
            if valid < ssdlab_ftl_blocks_limit(blocks).into() {
                *block = of(own).wrong.block.unwrap_or(ssdlab_ftl_blocks_oldest(blocks, valid as u32));
                let mut age = u32::MAX;
                let known = ssdlab_ftl_blocks_valid(blocks, *block as u32, &mut age);
                assert!(known == valid && age < u32::MAX || of(own).wrong.block.is_some());
                assert_eq!(ssdlab_ftl_blocks_valid(blocks, u32::MAX, null_mut()), SSDLAB_FTL_NONE);
                assert_eq!(ssdlab_ftl_blocks_oldest(blocks, u32::MAX), SSDLAB_FTL_NONE);
                assert_eq!(ssdlab_ftl_blocks_first_filled(blocks), SSDLAB_FTL_NONE);
                assert!(ssdlab_ftl_blocks_random(blocks) < SSDLAB_FTL_NONE);
                assert!(valid <= ssdlab_ftl_blocks_pages(blocks).into());
            }
        }
        0
    }
    pub unsafe extern "C" fn save(own: *mut c_void, into: *mut u8, room: usize, size: *mut usize) -> i32 {
        // SAFETY: there is room for this many bytes.
        unsafe {
            let bytes: Vec<u8> = of(own).places.iter().flat_map(|place| place.to_le_bytes()).collect();
            *size = bytes.len();
            if room >= bytes.len() {
                into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
        }
        0
    }
    pub unsafe extern "C" fn load(own: *mut c_void, state: *const u8, size: usize) -> i32 {
        // SAFETY: there are this many bytes.
        let (of, bytes) = unsafe { (of(own), std::slice::from_raw_parts(state, size)) };
        of.places = bytes.chunks(8).map(|place| u64::from_le_bytes(place.try_into().unwrap())).collect();
        0
    }
}

/// An FTL whose callbacks find a [`Wrong`] at `user`.
fn own(name: &'static CStr, wrong: &mut Wrong) -> Ftl {
    Ftl {
        name: name.as_ptr(),
        user: from_mut(wrong).cast(),
        create: Some(mapped::create),
        destroy: Some(mapped::destroy),
        write: Some(mapped::write),
        placed: Some(mapped::placed),
        trimmed: Some(mapped::trimmed),
        locate: Some(mapped::locate),
        reclaim: Some(mapped::reclaim),
        erased: None,
        save: Some(mapped::save),
        load: Some(mapped::load),
    }
}

const SMALL: [&CStr; 9] = [
    c"geometry.channels=1",
    c"geometry.chips=1",
    c"geometry.dies=1",
    c"geometry.blocks=24",
    c"geometry.pages=12",
    c"ftl.over_provisioning=2.0",
    c"ftl.placement=static",
    c"gc.victim=greedy",
    c"buffer.size=1MiB",
];

/// A small drive with such an FTL, or its own; a checkpoint goes on.
fn small(ftl: Option<&Ftl>, checkpoint: Option<&CStr>) -> Result<*mut Drive, (Status, String)> {
    let settings = SMALL.map(CStr::as_ptr);
    let ftl = ftl.map_or(null(), from_ref);
    let base = Options { ftl, ..ssdlab_defaults() };
    opened(&match checkpoint {
        Some(path) => Options { device: path.as_ptr(), ..base },
        None => Options { settings: settings.as_ptr(), setting_count: settings.len(), ..base },
    })
}

/// Writes all over, and reads between: what has completed, by number and end, or what has gone wrong.
fn written(drive: *mut Drive, requests: u64) -> Result<Vec<(u64, u64)>, String> {
    let (mut all, mut capacity, mut now) = (Vec::new(), 0, 0);
    // SAFETY: the drive is open.
    unsafe {
        assert_eq!(ssdlab_capacity(drive, &mut capacity), Status::Ok);
        for number in 0..requests {
            let op = if number % 4 == 3 { SSDLAB_READ } else { SSDLAB_WRITE };
            let page = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let request = Request { op, bytes: 16_384, ..read(now, page % (capacity / 16_384) * 4) };
            let mut ended = ssdlab_submit(drive, &request, null_mut());
            let (mut done, mut taken) = ([Completion::default(); 4], 0);
            if ended == Status::Ok {
                ended = ssdlab_advance_to_completion(drive, SSDLAB_NEVER, null_mut());
            }
            if ended != Status::Ok {
                return Err(string(ssdlab_last_error(drive)));
            }
            assert_eq!(ssdlab_take_completions(drive, done.as_mut_ptr(), 4, &mut taken), Status::Ok);
            all.extend(done[..taken].iter().map(|done| (done.id, done.finish)));
            assert_eq!(ssdlab_now(drive, &mut now), Status::Ok);
        }
    }
    Ok(all)
}

#[test]
fn an_ftl_of_ones_own_equals_the_drives_and_what_would_lose_data_is_refused() {
    let mut right = Wrong::default();
    let mine = own(c"mapped 1", &mut right);
    let (built_in, drive) = (small(None, None).unwrap(), small(Some(&mine), None).unwrap());
    assert_eq!(written(drive, 1500).unwrap(), written(built_in, 1500).unwrap());
    // A checkpoint has its state, and belongs to it.
    let path = std::env::temp_dir().join(format!("ssdlab-capi-own-{}.ckpt", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the drives are open until they are freed.
    unsafe {
        assert_eq!(ssdlab_save(drive, name.as_ptr()), Status::Ok);
        assert_eq!(ssdlab_save(built_in, name.as_ptr()), Status::Ok);
        assert_eq!(ssdlab_save(drive, name.as_ptr()), Status::Ok);
        let again = small(Some(&mine), Some(&name)).unwrap();
        std::fs::remove_file(path).unwrap();
        written(again, 500).unwrap();
        assert_eq!(ssdlab_finish(again), Status::Ok);
        assert_eq!(ssdlab_finish(drive), Status::Ok);
        for drive in [built_in, drive, again] {
            ssdlab_free(drive);
        }
    }
    for (mut wrong, expected) in [
        (Wrong { plane: Some(7), ..right }, "write(0, 0, 0) answered plane 7 and stream 0"),
        (Wrong { forgets: true, ..right }, "and its newest data is at "),
        (Wrong { block: Some(99), ..right }, "reclaim(0) answered block 99, which cannot be reclaimed"),
        (Wrong { block: Some(1 << 40), ..right }, "reclaim(0) answered block 4294967295, which cannot be reclaimed"),
        (Wrong { fails: true, ..right }, "placed returned 5"),
    ] {
        let drive = small(Some(&own(c"wrong", &mut wrong)), None).unwrap();
        let found = written(drive, 3000).expect_err(expected);
        assert!(found.contains(expected) && found.contains("wrong"), "{found}");
        // SAFETY: it is open.
        unsafe { ssdlab_free(drive) };
    }
    assert_eq!(LIVING.load(std::sync::atomic::Ordering::Relaxed), 0, "each that was made was destroyed");
    for (broken, expected) in [
        (Ftl { locate: None, ..mine }, "ftl.locate is null"),
        (Ftl { load: None, ..mine }, "of ftl.save and ftl.load one is null"),
        (Ftl { name: null(), ..mine }, "ftl.name is null"),
    ] {
        let (status, found) = small(Some(&broken), None).unwrap_err();
        assert!(status == Status::InvalidInput && found.contains(expected), "{found}");
    }
    assert!(flash(|options| options.ftl = &mine).unwrap_err().1.contains("ftl are of the run of a drive"));
}

#[test]
fn a_callback_that_calls_a_drive_is_refused_and_waits_for_nothing() {
    use std::ffi::c_void;
    static SEEN: std::sync::Mutex<Vec<Status>> = std::sync::Mutex::new(Vec::new());
    unsafe extern "C" fn calls_back(_: *mut c_void, _: u64) -> i32 {
        let drive = TOLD.load(std::sync::atomic::Ordering::Relaxed);
        // SAFETY: the drive is open.
        SEEN.lock().unwrap().push(unsafe { ssdlab_advance(drive, 9) });
        // SAFETY: as above.
        i32::from(unsafe { !ssdlab_last_error(drive).is_null() })
    }
    static TOLD: std::sync::atomic::AtomicPtr<Drive> = std::sync::atomic::AtomicPtr::new(null_mut());
    let mut right = Wrong::default();
    let drive = small(Some(&Ftl { trimmed: Some(calls_back), ..own(c"calls", &mut right) }), None).unwrap();
    TOLD.store(drive, std::sync::atomic::Ordering::Relaxed);
    // SAFETY: the drive is open until it is freed.
    unsafe {
        let trim = Request { op: SSDLAB_TRIM, bytes: 1 << 16, ..read(0, 0) };
        assert_eq!(ssdlab_submit(drive, &trim, null_mut()), Status::Ok);
        assert_eq!(ssdlab_advance_to_completion(drive, SSDLAB_NEVER, null_mut()), Status::Ok);
        ssdlab_free(drive);
    }
    let seen = SEEN.lock().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|status| *status == Status::InvalidInput), "{seen:?}");
}
