//! Files as such: compression, line ends, damage, emptiness, garbage.

use crate::common::{Scratch, drain, gzip, read, refused, zstd};
use proptest::prelude::*;
use workload::{Format, Op, ReadOptions, Source, TraceFile, content_hash};

fn lines(count: u64) -> String {
    (0..count).map(|i| format!("{} 0 {} 8 {}\n", i * 1000, i * 8 % 4096, i % 2)).collect()
}

#[test]
fn plain_and_compressed_files_of_several_members_give_the_same_requests() {
    let text = lines(50_000);
    let plain = read(&text, None).unwrap();
    assert_eq!(plain.len(), 50_000);
    assert_eq!(read(gzip(text.as_bytes()), None).unwrap(), plain);
    let (first, second) = text.split_at(text.len() / 3);
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    assert_eq!(read(members, None).unwrap(), plain);
    let frames = [zstd(first.as_bytes()), zstd(second.as_bytes())].concat();
    assert_eq!(read(frames, None).unwrap(), plain);
}

#[test]
fn damaged_zstd_is_reported_after_the_lines_before_the_damage() {
    let whole = zstd(lines(50_000).as_bytes());
    let error = refused(&whole[..whole.len() / 2], None);
    assert!(error.contains("the zstd data end in the middle: the file is cut short"), "{error}");
    assert!(refused(b"\x28\xb5\x2f\xfd1234", None).contains("zstd data are damaged"));
}

#[test]
fn line_ends_blank_lines_and_marks_do_not_matter() {
    let plain = read("1 0 0 8 1\n2 0 8 8 0\n", None).unwrap();
    for text in [
        "1 0 0 8 1\r\n2 0 8 8 0\r\n",
        "1 0 0 8 1\n2 0 8 8 0",
        "\n  \t\n1 0 0 8 1\n\r\n2 0 8 8 0\n\x1a",
        "\u{feff}1 0 0 8 1\n2 0 8 8 0\n\n\n",
    ] {
        assert_eq!(read(text, None).unwrap(), plain, "{text:?}");
    }
}

#[test]
fn a_file_without_requests_is_an_error() {
    for (text, format) in [("", None), ("", Some("msr")), ("\n \n\x1a\n", None), ("\n\n", Some("mqsim"))] {
        assert!(refused(text, format).starts_with("FILE: holds no requests\n  help: "), "{text:?}");
    }
    assert!(refused(gzip(b""), None).contains("holds no requests"));
    assert!(
        refused("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", None).contains("holds no requests")
    );
}

#[test]
fn damaged_gzip_is_reported_after_the_lines_before_the_damage() {
    let whole = gzip(lines(50_000).as_bytes());
    let file = Scratch::new(&whole[..whole.len() / 2]);
    let mut trace = TraceFile::open(&file.0, None).unwrap();
    let mut batch = Vec::new();
    let error = trace.fill(&mut batch, usize::MAX).unwrap_err();
    assert!(error.to_string().contains("the file is cut short"), "{error}");
    assert!(!batch.is_empty());
    assert_eq!(error.line, Some(batch.len() as u64 + 1));
    assert_eq!(trace.fill(&mut batch, 1).unwrap_err(), error, "the error stays");

    assert!(refused(&whole[..whole.len() - 1], None).contains("cut short"));
    assert!(refused(&whole[..5], None).contains("cut short"));
    let mut bent = whole;
    let end = bent.len() - 6;
    bent[end] ^= 1;
    assert!(refused(bent, None).contains("the gzip data are damaged"));
}

#[test]
fn other_compressions_are_named() {
    assert!(refused(b"PK\x03\x04....", None).contains("is a zip archive"));
}

#[test]
fn a_look_at_a_trace_tells_of_a_last_line_that_is_cut() {
    let told = |text: &str| {
        let file = Scratch::new(text.as_bytes());
        let found = workload::inspect(&file.0, None, ReadOptions::default()).unwrap();
        found.doubts.iter().map(|doubt| doubt.text().to_owned()).collect::<Vec<_>>()
    };
    let lines: String = (0..50).map(|i| format!("{} 0 {} 16 1\n", i * 1000, i * 64)).collect();
    assert_eq!(told(&lines), Vec::<String>::new());
    assert!(told(&format!("{lines}50000 0 64")).iter().any(|text| text.contains("ends within a line")));
}

#[test]
fn an_endless_line_is_refused_at_once() {
    let long = vec![b'7'; 1 << 20];
    assert!(refused(&long, None).starts_with("FILE:1: the line is longer than 4096 bytes"));
    let behind = [lines(10_000).as_bytes(), &long].concat();
    assert!(refused(&behind, None).starts_with("FILE:10001: the line is longer than 4096 bytes"));
    // A small file that unpacks to a gigabyte would take seconds if more than a buffer of it were unpacked.
    let bomb = gzip(&vec![b' '; 64 << 20]).repeat(16);
    let start = std::time::Instant::now();
    assert!(refused(&bomb, Some("msr")).contains("longer than 4096 bytes"));
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn the_longest_line_allowed_is_read() {
    let line = |blanks: usize| format!("1{}0 0 8 1", " ".repeat(blanks));
    let longest = line(4096 - line(0).len());
    for end in ["", "\n", "\r\n"] {
        let text =
            format!("{}{longest}{end}", format!("{longest}{}", if end.is_empty() { "\n" } else { end }).repeat(200));
        assert_eq!(read(&text, None).unwrap().len(), 201, "{end:?}");
        assert!(refused(format!(" {longest}{end}"), None).contains("longer than"), "{end:?}");
    }
}

#[test]
fn a_missing_file_or_a_folder_is_named() {
    let error = TraceFile::open("/no/such/trace.csv".as_ref(), None).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/trace.csv: cannot be opened: "), "{error}");
    assert!(TraceFile::open(&std::env::temp_dir(), None).is_err());
}

#[test]
fn an_unknown_content_lists_the_formats() {
    let error = refused("\nhello world\n", None);
    assert!(error.starts_with("FILE:2: found \"hello world\", which is of no format"), "{error}");
    for name in ["--format", "msr", "mqsim", "disksim"] {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_detected_format_is_noted_and_a_chosen_one_is_not() {
    let file = Scratch::new(b"0.5 0 0 8 1\n");
    let trace = TraceFile::open(&file.0, None).unwrap();
    assert_eq!(trace.format(), Format::parse("disksim").unwrap());
    assert!(trace.note().unwrap().contains("DiskSim ASCII"));
    let trace = TraceFile::open(&file.0, Some(Format::parse("mqsim").unwrap())).unwrap();
    assert_eq!((trace.format().name(), trace.note()), ("mqsim", None));
}

#[test]
fn progress_runs_from_0_to_1_and_batches_do_not_matter() {
    let text = lines(100_000);
    for content in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        let file = Scratch::new(&content);
        let whole = drain(&mut TraceFile::open(&file.0, None).unwrap(), usize::MAX).unwrap();
        let mut trace = TraceFile::open(&file.0, None).unwrap();
        let (mut all, mut last) = (Vec::new(), 0.0);
        loop {
            let before = all.len();
            trace.fill(&mut all, 777).unwrap();
            let progress = trace.progress().unwrap();
            assert!(progress >= last && progress <= 1.0);
            last = progress;
            if all.len() == before {
                break;
            }
        }
        assert_eq!(last, 1.0);
        assert_eq!(all, whole);
    }
    let file = Scratch::new(text.as_bytes());
    let mut trace = TraceFile::open(&file.0, None).unwrap();
    trace.fill(&mut Vec::new(), 50_000).unwrap();
    assert!((trace.progress().unwrap() - 0.5).abs() < 0.05);
}

#[test]
fn the_content_hash_tells_files_apart() {
    let (a, b) = (Scratch::new(b""), Scratch::new(b"a"));
    // Of the official test vectors, the one of no bytes.
    let nothing = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    assert_eq!(content_hash(&a.0).unwrap(), format!("blake3:{nothing}"));
    assert_ne!(content_hash(&a.0).unwrap(), content_hash(&b.0).unwrap());
    assert!(content_hash("/no/such/file".as_ref()).is_err());
}

/// Reads garbage as every format. It may be refused, but in words that a terminal can show.
fn survive(bytes: &[u8]) {
    let declared = ["csv:time,op,offset=sector,size,device", "blanks:op=0/1,time=us,offset,size=KiB"];
    let formats = Format::list().map(|format| format.name).chain(declared);
    for format in [None].into_iter().chain(formats.map(Some)) {
        if let Err(error) = read(bytes, format) {
            let text = error.to_string();
            assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
            assert!(error.found.is_none_or(|found| found.len() <= 60), "{text}");
        }
    }
}

/// What lines are made of: numbers at the edges, words of the formats, separators.
fn pieces() -> impl Strategy<Value = &'static str> {
    let numbers =
        ["0", "1", "7", "512", "4096", "18446744073709551615", "99999999999999999999", "-1", "0.5", "1e9", "1."];
    let words = [
        "R",
        "w",
        "Read",
        "write",
        "trim",
        "wait",
        "add",
        "Q",
        "WS",
        "FN",
        "8,0",
        "+",
        "[java]",
        "Timestamp,",
        "/dev/sda",
    ];
    let parts = [",", ",", " ", " ", "\t", "\n", "\n", "\r\n", ",,", "\0"];
    prop::sample::select([&numbers[..], &words[..], &parts[..]].concat())
}

proptest! {
    #[test]
    fn binary_garbage_is_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        survive(&bytes);
        survive(&gzip(&bytes));
        survive(&[b"\x1f\x8b\x08".as_slice(), &bytes].concat());
    }

    #[test]
    fn pieces_of_lines_in_any_order_are_survived(pieces in prop::collection::vec(pieces(), 0..200)) {
        let text = pieces.concat();
        survive(text.as_bytes());
        survive(format!("fio version 2 iolog\n{text}").as_bytes());
        survive(format!("fio version 3 iolog\n{text}").as_bytes());
        survive(&zstd(text.as_bytes()));
    }

    #[test]
    fn damage_in_a_good_trace_is_survived(at in 0..10_000usize, byte in any::<u8>(), cut in any::<bool>(), packed in any::<bool>()) {
        let mut bytes = lines(300).into_bytes();
        if packed {
            bytes = gzip(&bytes);
        }
        let at = at % bytes.len();
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        survive(&bytes);
    }
}

const DECLARED: &str = "csv:time=us,op=R/W,offset=B,size=B";

/// The requests of a trace and what was left out of it.
fn counted(text: &str, format: Option<&str>) -> Result<(usize, u64, u64), String> {
    let file = Scratch::new(text.as_bytes());
    let format = format.map(|word| Format::parse(word).unwrap());
    let mut trace = TraceFile::open(&file.0, format).map_err(|error| error.to_string())?;
    let requests = drain(&mut trace, 100).map_err(|error| error.to_string())?.len();
    Ok((requests, trace.counts().bad_lines, trace.counts().other_lines))
}

#[test]
fn a_first_line_that_names_the_columns_is_no_request() {
    let two = "1,R,0,4096\n2,W,4096,4096\n";
    for head in
        ["time,op,offset,size", "# Time [us], \"Op\", Offset,Size (B)", "\"ts\",\"kind\",\"lba\",\"bytes\",\"more\""]
    {
        assert_eq!(counted(&format!("{head}\n{two}"), Some(DECLARED)), Ok((2, 0, 1)), "{head}");
        assert_eq!(counted(&format!("\n\r\n{head}\r\n{two}"), Some(DECLARED)), Ok((2, 0, 1)), "{head}");
    }
    let blanks = "# arrival lane offset bytes kind\n1 0 0 8 1\n2 0 8 8 0\n";
    assert_eq!(counted(blanks, Some("mqsim")), Ok((2, 0, 1)));
    // The content shows the format behind it.
    assert_eq!(counted(blanks, None), Ok((2, 0, 1)));
    assert_eq!(counted("ts,lun,off,len,kind\n0.000,0,4923392,4096,1\n0.3,0,13873152,4096,0\n", None), Ok((2, 0, 1)));
    // It is none of the malformed lines that may be left out.
    let reading = ReadOptions { skip_bad_lines: 1, ..ReadOptions::default() };
    let file = Scratch::new(format!("time,op,offset,size\n1,R,0,4096\nx\n{two}").as_bytes());
    let mut trace = TraceFile::open_with(&file.0, Format::parse(DECLARED).ok(), reading).unwrap();
    assert_eq!(drain(&mut trace, 9).unwrap().len(), 3);
    assert_eq!((trace.counts().bad_lines, trace.counts().other_lines), (1, 1));
    // Seven columns whose names say what they are, and a name that tells a write, say more than what lines look like.
    for (text, ops) in [
        ("timestamp,op,offset,size,device,latency,hint\n0,R,4096,4096,0,5,0\n150,W,8192,8192,0,7,0\n", "RW"),
        ("timestamp,device,offset,size,is_write\n0,0,4096,4096,1\n150,0,8192,4096,1\n300,0,16384,4096,0\n", "WWR"),
        ("time device lba sectors is_write\n0 0 8 8 1\n150 0 16 8 0\n", "WR"),
    ] {
        let found = read(text, None).unwrap();
        let letters: String = found.iter().map(|of| if of.op == Op::Write { 'W' } else { 'R' }).collect();
        assert_eq!(letters, ops, "{text}");
    }
    // A number in it, a second one, one behind a request, and fewer columns than a request has.
    for text in [
        format!("time,op,0,size\n{two}"),
        format!("time,op,offset,size\ntime,op,offset,size\n{two}"),
        format!("{two}time,op,offset,size\n{two}"),
        format!("time,op\n{two}"),
    ] {
        let error = counted(&text, Some(DECLARED)).unwrap_err();
        assert!(error.contains(": column 1 (time): found \"time\", expected a number"), "{error}");
        assert!(error.contains("name the file's columns in their order in --format"), "{error}");
        assert!(!error.contains("declare its columns"), "{error}");
    }
    assert!(counted("time,op,offset,size\n", Some(DECLARED)).unwrap_err().contains("holds no requests"));
}

#[test]
fn a_last_line_that_is_cut_short_ends_the_trace() {
    let two = "1,R,0,4096\n2,W,4096,4096\n";
    for cut in ["3", "3,", "3,W,", "3,W,8192", "3,W,8192,", "x"] {
        assert_eq!(counted(&format!("{two}{cut}"), Some(DECLARED)), Ok((2, 1, 0)), "{cut:?}");
        // With an end of its own it is as it was meant.
        assert!(counted(&format!("{two}{cut}\n"), Some(DECLARED)).is_err(), "{cut:?}");
        // Alone it is no trace.
        assert!(counted(cut, Some(DECLARED)).is_err(), "{cut:?}");
    }
    for (whole, format, cut) in [("1 0 0 8 1\n", "mqsim", "2 0 8"), ("1 0 0 8 1\n", "mqsim", "2 0 8 8 ")] {
        assert_eq!(counted(&format!("{whole}{cut}"), Some(format)), Ok((1, 1, 0)), "{cut:?}");
    }
    // What is wrong before the last column was not cut there, nor is a line too long cut short.
    for wrong in ["3,X,8192,4096", "3,W,,4096", "3,W,8192,0", "a,W,8192,4096"] {
        assert!(counted(&format!("{two}{wrong}"), Some(DECLARED)).is_err(), "{wrong:?}");
    }
    assert_eq!(counted(&format!("{two}3,W,8192,4096"), Some(DECLARED)), Ok((3, 0, 0)));
}

#[test]
fn columns_are_read_by_their_names_and_what_is_guessed_is_said() {
    let declared = |text: &str| {
        let file = Scratch::new(text.as_bytes());
        let trace = TraceFile::open(&file.0, None).unwrap();
        (trace.format().to_string(), trace.note().unwrap_or_default().to_owned())
    };
    let requests = read("5,R,4096,512\n9,W,0,8192\n", Some("csv:time=us,op=R/W,offset=B,size=B")).unwrap();
    for text in [
        "time_us,op,offset_bytes,size_bytes\n5,R,4096,512\n9,W,0,8192\n",
        "\u{feff}latency;size;lba;type;timestamp [us]\r\n1,5;512;8;read;5\r\n2,5;8192;0;write;9\r\n",
        "# rw sectors lba time_ns\nR 1 8 5000\nW 16 0 9000\n",
        // Two whole lines, and one at which whatever wrote the file was stopped.
        "time_us,op,offset_bytes,size_bytes\n5,R,4096,512\n9,W,0,8192\n12,W,40",
    ] {
        assert_eq!(read(text, None).unwrap(), requests, "{text}");
    }
    let (format, note) = declared("time_us,op,offset_bytes,size_bytes\n5,R,4096,512\n");
    assert_eq!(format, "csv:time=us,op=R/W,offset=B,size=B");
    assert_eq!(note, "read by the names of its columns: csv:time=us,op=R/W,offset=B,size=B");
    let (_, note) = declared("timestamp,op,offset,size\n5,R,4096,512\n90,W,0,8192\n");
    assert_eq!(
        note,
        "read by the names of its columns; guessed: `size` in bytes, `offset` in bytes, `timestamp` in us; to say \
         otherwise change --format csv:time=us,op=R/W,offset=B,size=B"
    );
    // Lines of a format that is known are of that format, unless the names tell the unit of time.
    let lines = "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360937\n";
    assert_eq!(declared(&format!("device,op,offset,size,time\n{lines}")).0, "alibaba");
    assert_eq!(
        declared(&format!("device,op,offset,size,time_ns\n{lines}")).0,
        "csv:device,op=R/W,offset=B,size=B,time=ns"
    );
    let error = refused("when,op,offset,size\n5,R,0,512\n", None);
    assert!(
        error.starts_with("FILE:1: names its columns, and none of them time\n  help: say in their order"),
        "{error}"
    );
    let error = refused("1;R;0;512\n2;R;0;512\n", None);
    assert!(error.contains("--format semicolons:time=us"), "{error}");
}

#[test]
fn an_inspection_says_what_was_guessed_of_named_columns() {
    let file = Scratch::new(b"timestamp,op,offset,size\n5,R,4096,512\n90,W,0,8192\n");
    let found = workload::inspect(&file.0, None, ReadOptions::default()).unwrap();
    assert!(
        found.read_as.starts_with(
            "csv:time=us,op=R/W,offset=B,size=B; read by the names of its columns; guessed: `size` in bytes"
        ),
        "{}",
        found.read_as
    );
    let named = Scratch::new(b"time (us),op,offset (bytes),size (bytes)\n5,R,4096,512\n90,W,0,8192\n");
    let found = workload::inspect(&named.0, None, ReadOptions::default()).unwrap();
    assert_eq!(found.read_as, "csv:time=us,op=R/W,offset=B,size=B (read by the names of its columns)");
}
