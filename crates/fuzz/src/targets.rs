//! The targets.

use std::cell::RefCell;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::PathBuf;
use std::sync::LazyLock;

use ecc::Profile;
use nand::VirtualChip;
use nand::model::measured::MeasuredSteps;
use nand::rpt::Rpt;
use nbd::{Command, Frame, Offer, Session, handshake};
use served::Store;
use ssd::run::{Given, OutputOptions, RunOptions, TraceOptions};
use ssd::{Config, Device, Drive, presets};
use units::{Bytes, Document, Time};
use workload::{Format, Op, ReadOptions, Request, Source as _, TraceFile, Workload};

/// Formats that are tried by name; the first byte of an input chooses.
const FORMATS: &[&str] = &[
    "msr",
    "mqsim",
    "disksim:time=ms,offset=B,size=B",
    "alibaba",
    "systor",
    "spc",
    "tencent",
    "flashnet",
    "flashnet-log",
    "biotracer",
    "blkparse",
    "fio2",
    "fio3",
    "vscsi",
    "oracle",
    "csv:time=us,op=R/W,offset=B,size=B",
    "blanks:time=s,skip,op=R/W,offset=512B,size=512B",
    "semicolons:time=us,op=R/W,offset=B,size=B",
    "tabs:time=s,op=R/W,offset=sector,size=KiB,device",
    "mlperf-kv",
];

/// A file in memory that is written again for each input, one a thread.
fn file(name: &str, data: &[u8]) -> PathBuf {
    thread_local! {
        static NUMBER: RefCell<Option<u64>> = const { RefCell::new(None) };
    }
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.with_borrow_mut(|number| {
        *number.get_or_insert_with(|| NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    });
    let folder =
        if fs::exists("/dev/shm").is_ok_and(|exists| exists) { "/dev/shm".into() } else { std::env::temp_dir() };
    let path = folder.join(format!("ssdlab-fuzz-{}-{number}-{name}", std::process::id()));
    fs::write(&path, data).expect("the folder of temporary files can be written");
    path
}

/// See [`crate::TARGETS`].
pub fn trace(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let path = file("trace", data);
    let choice = usize::from(*first) % (FORMATS.len() + 1);
    let format = FORMATS.get(choice).map(|word| Format::parse(word).expect("every format has its name"));
    let reading = ReadOptions { skip_bad_lines: u64::from(*first >> 7) * 3, ..ReadOptions::default() };
    if let Ok(mut trace) = TraceFile::open_with(&path, format, reading) {
        let (mut requests, mut last) = (Vec::new(), Time::ZERO);
        loop {
            requests.clear();
            let read = trace.fill(&mut requests, 64);
            for Request { time, bytes, op, .. } in &requests {
                assert!(*time >= last, "requests are in the order of their times");
                assert!(bytes.0 > 0 || !op.has_address(), "a request has a length");
                last = *time;
            }
            if read.is_err() || requests.is_empty() {
                break;
            }
        }
    }
    drop(fs::remove_file(path));
}

/// See [`crate::TARGETS`].
pub fn prompts(data: &[u8]) {
    let path = file("prompts.jsonl", data);
    let kv = workload::kv::Kv {
        prompts: path.display().to_string(),
        token_bytes: Bytes(64),
        bs: Bytes(4096),
        memory: Bytes(1 << 20),
        stored: units::Fraction(0.5),
        ..Default::default()
    };
    if let Ok(mut source) = Workload::from(workload::Program::Kv(kv)).source(Bytes(64 << 20), 1) {
        let (mut requests, mut last, mut number) = (Vec::new(), Time::ZERO, 0);
        while let Some(time) = source.closed_loop().and_then(|source| source.next_time())
            && number < 100_000
        {
            requests.clear();
            if source.fill(&mut requests, 1).is_err() {
                break;
            }
            last = last.max(time);
            for Request { bytes, offset, .. } in &requests {
                assert!(bytes.0 > 0 && offset.0 + bytes.0 <= 64 << 20, "a request lies within the drive");
                if let Some(source) = source.closed_loop() {
                    source.completed(number, 0, last);
                }
                number += 1;
            }
        }
    }
    drop(fs::remove_file(path));
}

/// See [`crate::TARGETS`].
pub fn format(data: &[u8]) {
    if let Ok(word) = std::str::from_utf8(data) {
        drop(Format::parse(word).map(|format| format.describe()));
    }
}

/// Whether a text names a file, which would be another input.
fn names_files(text: &str) -> bool {
    text.contains('/')
}

/// See [`crate::TARGETS`].
pub fn device(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if names_files(text) {
        return;
    }
    if let Ok(spec) = presets::read(text) {
        plan(spec.config);
    }
}

/// Works a configuration out, without the tables of chips, which take long to make.
fn plan(mut config: Config) {
    for word in ["chip.model=none", "ecc.code=none", "read.rpt=none", "read.trees=none", "erase.pulse=none"] {
        drop(config.set(word));
    }
    if let Ok(plan) = config.plan() {
        assert!(plan.capacity().0 > 0, "a drive holds something");
    }
}

/// See [`crate::TARGETS`].
pub fn setting(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if names_files(text) {
        return;
    }
    let mut config = Config::default();
    text.lines().for_each(|word| drop(config.set(word)));
    plan(config);
    let words: Vec<&str> = text.lines().collect();
    if let Ok(workload) = workload::presets::get("default", &words) {
        first_requests(&workload);
    }
}

/// Draws the first requests of a workload on a small drive.
fn first_requests(workload: &Workload) {
    let capacity = Bytes(1 << 30);
    let Ok(mut source) = workload.source(capacity, 1) else { return };
    let mut requests = Vec::new();
    if source.fill(&mut requests, 64).is_ok() {
        for request in requests {
            let end = request.offset.0.checked_add(request.bytes.0);
            assert!(end.is_some_and(|end| end <= capacity.0), "a generated request lies within the drive");
        }
    }
}

/// See [`crate::TARGETS`].
pub fn workload(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if names_files(text) {
        return;
    }
    let read = Document::parse(text, "text").and_then(|document| Workload::read(&document, &[], None));
    if let Ok(workload) = read {
        first_requests(&workload);
    }
}

/// See [`crate::TARGETS`].
pub fn chip(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(VirtualChip::parse(text, "text"));
    }
}

/// See [`crate::TARGETS`].
pub fn table(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(rpt) = Rpt::parse(text, "text") {
        assert!(rpt.cut(1000, units::Span(1 << 50)).is_finite(), "a cut is a number");
    }
    drop(MeasuredSteps::parse(text, "text"));
    drop(Profile::parse(text, "text"));
}

/// See [`crate::TARGETS`].
pub fn options(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (mut run, mut traces, mut output) = (RunOptions::default(), TraceOptions::default(), OutputOptions::default());
    for line in text.lines() {
        if let Some((name, value)) = line.split_once('=') {
            let given = Given::Text(value.into());
            drop((run.set(name, &given), traces.set(name, &given), output.set(name, &given)));
        }
    }
}

/// The exports of the server that clients talk to.
static OFFERS: LazyLock<[Offer; 2]> = LazyLock::new(|| {
    ["", "other"].map(|name| Offer {
        name: name.into(),
        about: "a drive".into(),
        size: Bytes(1 << 30),
        preferred: 16_384,
    })
});
/// Bytes that a store keeps.
const KEPT: u64 = 1 << 20;

pub use crate::hosts::nvme;

/// See [`crate::TARGETS`].
pub fn nbd(data: &[u8]) {
    let mut input = Cursor::new(data);
    let mut output = Vec::new();
    let agreed = handshake(&mut input, &mut output, &*OFFERS);
    let (session, from) = match agreed {
        Ok(Some((session, _))) => (session, input),
        Ok(None) => return,
        // What follows an option that is none may be a request.
        Err(_) => (Session { export: 0, structured: true, allocation: true }, Cursor::new(data)),
    };
    transmit(session, from);
}

/// Requests as a connection takes them, done on a store.
fn transmit(session: Session, mut input: Cursor<&[u8]>) {
    let store = Store::in_memory(Bytes(KEPT));
    let size = OFFERS[session.export].size.0;
    while let Ok(frame) = Frame::read(&mut input) {
        let (mut job, outcome) = frame.job(&session, size);
        let left = input.get_ref().len() as u64 - input.position();
        let held = job.held();
        assert!(held <= 32 << 20, "a request holds no more memory than requests may carry");
        if u64::from(frame.payload()) > left {
            return;
        }
        let mut payload = vec![0; frame.payload() as usize];
        input.read_exact(&mut payload).expect("as many bytes are left");
        if let Command::Write(data) = &mut job.command {
            *data = payload;
        }
        if outcome.is_err() {
            continue;
        }
        assert!(job.offset + u64::from(job.length) <= size, "a request that is accepted lies within the export");
        let (offset, length) = (job.offset, u64::from(job.length));
        let done = match &job.command {
            Command::Read => store.read(offset, &mut vec![0; job.length.min(1 << 16) as usize]),
            Command::Write(data) => store.write(offset, data),
            Command::Flush => Ok(()),
            Command::Trim => store.discard(offset, length),
            Command::Zero { .. } => store.write_zeros(offset, length),
            Command::Status { one } => store.extents(offset, length, if *one { 1 } else { 64 }).map(|extents| {
                assert!(
                    extents.iter().map(|extent| extent.bytes).sum::<u64>() <= length.max(1),
                    "no extent ends behind"
                );
            }),
        };
        let _: Result<(), std::io::Error> = done;
    }
}

/// The drive that checkpoints are of.
fn small() -> Config {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=32",
        "geometry.pages=9",
        "ftl.over_provisioning=1.5",
        "buffer.size=256KiB",
        "chip.model=none",
        "mapping.table=cached",
        "mapping.cache=16KiB",
    ] {
        config.set(word).expect("every key is known");
    }
    config
}

/// A checkpoint of a drive with requests under way.
pub fn saved() -> Vec<u8> {
    let mut device = Device::new(&small(), 1).expect("the drive is accepted");
    for number in 0..60 {
        let op = if number % 3 == 0 { Op::Read } else { Op::Write };
        let request = Request::new(Time(number * 20_000), op, Bytes(number * 7 % 90 * 16_384), Bytes(16_384));
        device.submit(request).expect("it lies within the drive");
    }
    device.advance(Time(1_000_000)).expect("the drive goes on");
    let mut bytes = Vec::new();
    device.save(&mut bytes).expect("memory takes it");
    bytes
}

/// The state in it.
pub fn saved_state() -> Vec<u8> {
    ssd::run::checkpoint::state_of(&saved()).expect("what was saved is whole")
}

/// See [`crate::TARGETS`].
pub fn checkpoint(data: &[u8]) {
    drop(Device::load(&small(), &mut &*data));
}

/// See [`crate::TARGETS`].
pub fn state(data: &[u8]) {
    static DRIVE: LazyLock<Config> = LazyLock::new(small);
    drop(ssd::run::checkpoint::is_state(&DRIVE, data));
}
