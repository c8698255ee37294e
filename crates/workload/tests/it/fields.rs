//! Every column of every format: what it means, and how a faulty one is reported.

use crate::common::{Scratch, drain, read, refused, refused_with};
use proptest::prelude::*;
use units::{Bytes, Time};
use workload::{Op, ReadOptions, Request, Source, TraceFile};

/// Asserts that `line`, as the third line behind two good ones, is reported at that line and `field`.
fn faulty(format: &str, good: &str, line: &str, field: &str, says: &str) {
    let error = refused(format!("{good}\n{good}\n{line}\n"), Some(format));
    let place = if field == "end of line" { field.into() } else { format!("({field})") };
    assert!(error.starts_with("FILE:3: ") && error.contains(&format!("{place}: found ")), "{line}: {error}");
    assert!(error.contains(says) && error.contains("\n  help: "), "{line}: {error}");
}

const MSR: &str = "128166385365934025,web,3,Read,4096,512,1357";

#[test]
fn an_msr_line_is_read() {
    let text = format!("{MSR}\n128166385365934026,,70000,wRITE,0,1,1\n");
    assert_eq!(
        read(text, Some("msr")).unwrap(),
        [
            Request::new(Time(0), Op::Read, Bytes(4096), Bytes(512)).on(3),
            Request::new(Time(100), Op::Write, Bytes(0), Bytes(1)).on(4464),
        ]
    );
}

#[test]
fn each_faulty_msr_column_is_named() {
    let bad = |line: &str, field: &str, says: &str| faulty("msr", MSR, line, field, says);
    bad("x,web,0,Read,4096,512,1", "Timestamp", "found \"x\", expected a whole number of 100-ns ticks");
    bad("-5,web,0,Read,4096,512,1", "Timestamp", "found \"-5\"");
    bad(",web,0,Read,4096,512,1", "Timestamp", "found nothing");
    bad("12.5,web,0,Read,4096,512,1", "Timestamp", "found \"12.5\"");
    bad("184467440737095517,web,0,Read,4096,512,1", "Timestamp", "fits 64 bits");
    bad("99999999999999999999,web,0,Read,4096,512,1", "Timestamp", "fits 64 bits");
    bad("128166385365934025", "Hostname", "column 2 is missing");
    bad("128166385365934025,web", "DiskNumber", "column 3 is missing");
    bad("128166385365934025,web,a,Read,4096,512,1", "DiskNumber", "found \"a\"");
    bad("128166385365934025,web,0", "Type", "missing");
    bad("128166385365934025,web,0,Reads,4096,512,1", "Type", "found \"Reads\", expected Read or Write");
    bad("128166385365934025,web,0,,4096,512,1", "Type", "found nothing");
    bad("128166385365934025,web,0,Read", "Offset", "missing");
    bad("128166385365934025,web,0,Read,0x10,512,1", "Offset", "found \"0x10\"");
    bad("128166385365934025,web,0,Read,18446744073709551616,512,1", "Offset", "fits 64 bits");
    bad("128166385365934025,web,0,Read,18446744073709551615,512,1", "Offset", "end within 64 bits");
    bad("128166385365934025,web,0,Read,4096", "Size", "missing");
    bad("128166385365934025,web,0,Read,4096,,1", "Size", "found nothing");
    bad("128166385365934025,web,0,Read,4096,0,1", "Size", "at least one byte");
    bad("128166385365934025,web,0,Read,4096,1073741825,1", "Size", "at most 1 GiB");
    bad("128166385365934025,web,0,Read,4096,5 12,1", "Size", "found \"5 12\"");
    bad("128166385365934025,web,0,Read,4096,512", "ResponseTime", "missing");
    bad("128166385365934025,web,0,Read,4096,512,", "ResponseTime", "found nothing");
    bad("128166385365934025,web,0,Read,4096,512,soon", "ResponseTime", "found \"soon\", expected a number");
    bad("128166385365934025,web,0,Read,4096,512,1,2", "end of line", "nothing behind them");
}

#[test]
fn a_header_is_no_request() {
    let text = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n{MSR}\r\n");
    assert_eq!(read(text, None).unwrap().len(), 1);
}

const ASCII: &str = "100 4 8 16 1";

#[test]
fn an_ascii_line_is_read_in_its_units() {
    let one = |text: &str, format: &str| {
        let requests = read(text, Some(format)).unwrap();
        let Request { time, offset, bytes, op, queue, .. } = requests[1];
        (time.0, offset.0, bytes.0, op, queue)
    };
    let text = "100 0 0 1 0\n  100.0625\t65537  8 16 1 \n";
    assert_eq!(one(text, "disksim"), (62_500, 4096, 8192, Op::Read, 1));
    assert_eq!(one(text, "disksim:time=s"), (62_500_000, 4096, 8192, Op::Read, 1));
    assert_eq!(one(text, "mqsim:time=us,offset=KiB,size=B"), (62, 8192, 16, Op::Read, 1));
    assert_eq!(one("7 0 0 1 1\n9 2 3 4 0\n", "mqsim"), (2, 1536, 2048, Op::Write, 2));
}

#[test]
fn each_faulty_ascii_column_is_named() {
    for format in ["mqsim", "disksim"] {
        let bad = |line: &str, field: &str, says: &str| faulty(format, ASCII, line, field, says);
        bad("x 4 8 16 1", "time", "found \"x\", expected a number");
        bad("-1 4 8 16 1", "time", "found \"-1\"");
        bad("100.5.5 4 8 16 1", "time", "found \"100.5.5\"");
        bad("99999999999999999999 4 8 16 1", "time", "fits 64 bits");
        bad("100", "device", "column 2 is missing");
        bad("100 a 8 16 1", "device", "found \"a\"");
        bad("100 4", "offset", "missing");
        bad("100 4 8.5 16 1", "offset", "found \"8.5\"");
        bad("100 4 36028797018963968 16 1", "offset", "fits 64 bits");
        bad("100 4 36028797018963967 16 1", "offset", "end within 64 bits");
        bad("100 4 8 ", "size", "missing");
        bad("100 4 8 y 1", "size", "found \"y\"");
        bad("100 4 8 0 1", "size", "at least one byte");
        bad("100 4 8 2097153 1", "size", "at most 1 GiB");
        bad("100 4 8 18446744073709551615 1", "size", "fits 64 bits");
        bad("100 4 8 16", "op", "missing");
        bad("100 4 8 16 R", "op", "found \"R\", expected 1 (read) or 0 (write)");
        bad("100 4 8 16 2", "op", "found \"2\"");
        bad("100 4 8 16 1x", "op", "found \"1x\"");
        bad("100 4 8 16 1 9 9", "end of line", "found \"9 9\"");
    }
    let absurd = refused("0.5 0 0 3000000 1", None);
    assert!(absurd.contains("disksim:time=ms,offset=sector,size=sector"), "{absurd}");
}

#[test]
fn time_that_goes_back_is_refused_with_how_far() {
    let strict = ReadOptions { sort_window: 0, ..ReadOptions::default() };
    let error = refused_with("5.5 0 0 1 1\n7 0 0 1 1\n\n6.999999 0 0 1 1\n", Some("disksim"), strict);
    assert!(
        error.starts_with("FILE:4: column 1 (time): found \"6.999999\", expected it no more than 0 requests too late"),
        "{error}"
    );
    assert!(error.contains("it goes back by 1 ns") && error.contains("--sort-window"), "{error}");
    let earlier = MSR.replace("934025", "934000");
    let error = refused_with(format!("{MSR}\n{earlier}\n"), None, strict);
    assert!(error.starts_with("FILE:2: column 1 (Timestamp): ") && error.contains("2500 ns"), "{error}");
}

#[test]
fn late_lines_are_put_in_order_within_the_window_and_counted() {
    let file = Scratch::new(b"3 0 0 1 1\n1 0 1 1 1\n2 0 2 1 0\n2 0 3 1 0\n9 0 4 1 1\n");
    let two = ReadOptions { sort_window: 2, ..ReadOptions::default() };
    let mut trace = TraceFile::open_with(&file.0, None, two).unwrap();
    let found = drain(&mut trace, 2).unwrap();
    assert_eq!(
        found.iter().map(|r| (r.time.0, r.offset.0 / 512)).collect::<Vec<_>>(),
        [(0, 1), (1, 2), (1, 3), (2, 0), (8, 4)]
    );
    assert_eq!(trace.counts().reordered, 3);
    let none = ReadOptions { sort_window: 0, ..ReadOptions::default() };
    let error = drain(&mut TraceFile::open_with(&file.0, None, none).unwrap(), 1).unwrap_err();
    assert!(error.to_string().contains("widen the window"), "{error}");
}

#[test]
fn bad_lines_are_left_out_up_to_the_bound_and_counted() {
    let text = b"1 0 0 1 1\nx\n2 0 0 1 1\n3 0 0\n4 0 0 1 1\n";
    let file = Scratch::new(text);
    let reading = |bad| ReadOptions { skip_bad_lines: bad, ..ReadOptions::default() };
    let mut trace = TraceFile::open_with(&file.0, None, reading(2)).unwrap();
    assert_eq!((drain(&mut trace, 10).unwrap().len(), trace.counts().bad_lines), (3, 2));
    let mut trace = TraceFile::open_with(&file.0, None, reading(1)).unwrap();
    let mut batch = Vec::new();
    trace.fill(&mut batch, 10).unwrap_err();
    assert_eq!(batch.len(), 2, "what stands before the line is delivered");
}

#[test]
fn the_public_formats_mean_what_their_papers_say() {
    let one = |text: &str, format: &str| {
        let (auto, named) = (read(text, None).unwrap(), read(text, Some(format)).unwrap());
        assert_eq!(auto, named, "{format} is detected");
        named.last().copied().unwrap()
    };
    let request = |time, offset, bytes, op, queue| Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(queue);
    assert_eq!(
        one("419,R,0,512,1577808144360767\n725,W,59110326272,360448,1577808144360937\n", "alibaba"),
        request(170_000, 59_110_326_272, 360_448, Op::Write, 725)
    );
    assert_eq!(
        one(
            "Timestamp,Response,IOType,LUN,Offset,Size\n1455516001.013,,R,1,0,512\n1455516001.5,0.1,W,4,4096,1024\n",
            "systor"
        ),
        request(487_000_000, 4096, 1024, Op::Write, 4)
    );
    assert_eq!(
        one("0,20,8192,W,0.5\n3,21,512,r,0.75,more,columns\n", "spc"),
        request(250_000_000, 21 * 512, 512, Op::Read, 3)
    );
    // The reverse of MQSim's codes.
    assert_eq!(
        one("1538323200,8,8,1,1063\n1538323201,16,4,0,7\n", "tencent"),
        request(1_000_000_000, 8192, 2048, Op::Read, 7)
    );
    assert_eq!(
        one("100 8 4096 0 5.5 5.6 5.7 5.8\n104 8 4096 5 6.5 6.6 6.7 6.8\n", "biotracer"),
        request(1_000_000_000, 104 * 512, 4096, Op::Write, 0)
    );
    let blkparse = "259,2 0 1 0.000000000 4020 Q R 8 + 8 [java]\n259,2 0 2 0.1 4020 G R 8 + 8 [java]\n259,2 0 3 0.000000500 4020 Q WS 16 + 1 [java]\nCPU0 (259,2):\n Reads Queued: 1, 4KiB\t Writes Queued: 1, 512B\n";
    assert_eq!(one(blkparse, "blkparse"), request(500, 8192, 512, Op::Write, 2));
    // The objects lie one behind the other, at multiples of 4 KiB: a grown one again. Other tiers have no addresses.
    let mlperf = |rows: &str| format!("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n{rows}");
    let (a, b) = ("0.000001,Write,5000,Tier-2,a,Evict\n", "0.000002,Write,4096,Tier-2,b,Prefill\n");
    let other = "0.000003,Read,9000,Tier-0,c,Decode\n";
    let read = |time, offset, bytes| request(time, offset, bytes, Op::Read, 0);
    for (last, expected) in [
        ("1.5,Read,5000,Tier-2,a,Decode\n", read(1_499_999_000, 0, 5000)),
        ("1.5,Read,4096,Tier-2,b,Decode\n", read(1_499_999_000, 8192, 4096)),
        ("1.5,Read,9000,Tier-2,a,Decode\n", read(1_499_999_000, 12_288, 9000)),
        ("1.5,Read,1,Tier-2,c,Decode\n", read(1_499_999_000, 12_288, 1)),
    ] {
        assert_eq!(one(&mlperf(&format!("{a}{b}{other}{last}")), "mlperf-kv"), expected);
    }
    let fio2 = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 0 4096\n/dev/b wait 25\n/dev/b write 8192 512\n/dev/b close\n";
    assert_eq!(one(fio2, "fio2"), request(25_000, 8192, 512, Op::Write, 1));
    let fio3 = "fio version 3 iolog\n0 /dev/a add\n3 /dev/a read 0 4096\n5 /dev/a trim 8192 512\n";
    assert_eq!(one(fio3, "fio3"), request(2_000, 8192, 512, Op::Trim, 0));
    // Neither a trim of a whole drive nor a flush has data; a flush is a write by its letters, and has no sectors.
    let blk = |line: &str| format!("259,2 0 1 0.000001 4020 Q R 8 + 8 [fio]\n{line}\n");
    let trim = blk("259,2 0 2 0.000003 4020 Q DS 2048 + 8388480 [fstrim]");
    assert_eq!(one(&trim, "blkparse"), request(2_000, 2048 * 512, 8_388_480 * 512, Op::Trim, 2));
    let flush = blk("259,2 0 2 0.000003 4020 Q FWS [jbd2/nvme0n1-8]");
    assert_eq!(one(&flush, "blkparse"), request(2_000, 0, 0, Op::Flush, 2));
    let declared = "csv:time=us,op,offset=B,size=B";
    let last = |line: &str| crate::common::read(format!("1,R,0,4096\n{line}\n"), Some(declared)).unwrap()[1];
    assert_eq!(last("3,Trim,4096,4096"), request(2_000, 4096, 4096, Op::Trim, 0));
    assert_eq!(last("3,flush,0,0"), request(2_000, 0, 0, Op::Flush, 0));
}

fn vscsi(bytes: u32, command: u16, lbn: u64, us: u64) -> Vec<u8> {
    let parts: [&[u8]; 7] = [
        &1u32.to_le_bytes(),
        &bytes.to_le_bytes(),
        &0u32.to_le_bytes(),
        &command.to_le_bytes(),
        &0x0100u16.to_le_bytes(),
        &lbn.to_le_bytes(),
        &us.to_le_bytes(),
    ];
    parts.concat()
}

fn oracle(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

#[test]
fn binary_records_are_read_and_told_from_text() {
    let request = |time, offset, bytes, op| Request::new(Time(time), op, Bytes(offset), Bytes(bytes));
    let file = [vscsi(4096, 0x28, 8, 1_000), vscsi(0, 0x12, 0, 1_001), vscsi(512, 0x8A, 1 << 30, 1_500)].concat();
    let expected = [request(0, 4096, 4096, Op::Read), request(500_000, 512 << 30, 512, Op::Write)];
    assert_eq!(read(&file, None).unwrap(), expected);
    assert_eq!(read(&file, Some("vscsi")).unwrap(), expected);
    assert_eq!(read(crate::common::gzip(&file), None).unwrap(), expected);
    assert!(refused(&file[..50], None).contains("the last record has 18 bytes of 32\n  help: "));
    assert!(refused(vscsi(0, 0x28, 0, 0), None).contains("length: found nothing, expected at least one byte"));

    let file = [oracle(5, 3, 4096, 2), oracle(7, (1 << 31) + 1, 0, -1)].concat();
    let expected = [request(0, 1536, 4096, Op::Read), request(2_000_000_000, 512, 512, Op::Read)];
    assert_eq!(read(&file, None).unwrap(), expected);
    assert_eq!(read(&file, Some("oracle")).unwrap(), expected);

    let zeros = refused([0; 24 * 100], None);
    assert!(zeros.starts_with("FILE: is no text") && zeros.contains("help: check the file"), "{zeros}");
}

#[test]
fn flashnets_two_layouts_are_read() {
    let expected = |time, bytes, op| Request::new(Time(time), op, Bytes(12_288), Bytes(bytes));
    let found = [expected(0, 4096, Op::Read), expected(1_500, 512, Op::Write)];
    assert_eq!(read("7.000,0,12288,4096,1\n7.0015,0,12288,512,0\n", None).unwrap(), found);
    let log = "7.000,120,1,4096,12288,0.091,4096\n7.0015,97,0,512,12288,0.2,512\n";
    assert_eq!(read(log, None).unwrap(), found);
    assert_eq!(read(log, Some("flashnet-log")).unwrap(), found);
}

#[test]
fn units_may_be_blocks_of_any_size() {
    let found = read("5,r,7,2\n", Some("csv:time=us,op=r/w,offset=4KiB,size=512B")).unwrap();
    assert_eq!((found[0].offset, found[0].bytes), (Bytes(28_672), Bytes(1024)));
    for unit in ["4XiB", "0B", "KiB4", "2GiB", "sectr"] {
        let error = workload::Format::parse(&format!("csv:time,op,offset,size={unit}")).unwrap_err().to_string();
        assert!(error.contains("is not a unit here\n  help: "), "{error}");
    }
    let word = "disksim:time=ms,offset=16KiB,size=B";
    assert_eq!(workload::Format::parse(word).unwrap().to_string(), word);
}

#[test]
fn a_csv_that_is_not_understood_is_answered_with_how_to_declare_it() {
    assert!(refused("1,2,3,4\n", None).contains("help: declare its columns: --format csv:time="));
    let broken = refused("0,20941264,8192,W,0.5\n0,2o,8192,W,0.6\n", Some("spc"));
    assert!(
        broken.starts_with("FILE:2: column 2 (LBA)") && broken.contains("or declare its columns: --format csv:"),
        "{broken}"
    );
    assert!(refused("hello world\n", None).contains("--format blanks:time="));
}

/// What looks wrong about a text, and what it is read as.
fn doubts(text: &str, format: Option<&str>) -> (String, String) {
    let file = Scratch::new(text.as_bytes());
    let format = format.map(|word| workload::Format::parse(word).unwrap());
    let found = workload::inspect(&file.0, format, ReadOptions::default()).unwrap();
    (found.read_as, found.doubts.iter().map(workload::Doubt::text).collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_inspection_says_what_a_trace_is_read_as_and_what_looks_wrong() {
    let lines = |line: &dyn Fn(u64) -> String| (0..200).map(line).collect::<String>();
    // A trace of 2,000 requests a second in us, read as ns.
    let (read_as, found) = doubts(&lines(&|n| format!("{} 0 {} 8 1\n", n * 500, n % 7 * 24)), None);
    assert!(
        read_as.starts_with("MQSim ASCII (time in ns, sectors of 512 B); the file does not tell its units"),
        "{read_as}"
    );
    assert!(found.starts_with("2010050 requests/s") && found.ends_with("--format mqsim:time=us?"), "{found}");
    let right = doubts(&lines(&|n| format!("{} 0 {} 8 1\n", n * 500, n % 7 * 24)), Some("mqsim:time=us"));
    assert_eq!((right.0.ends_with(", as --format says"), right.1.as_str()), (true, ""));
    // Bytes read as sectors, and the other way round.
    let bytes = lines(&|n| format!("{}.5 0 {} 4096 1\n", n * 3, n % 7 * 4096));
    assert!(doubts(&bytes, None).1.ends_with("are multiples of 512: --format disksim:offset=B,size=B?"));
    assert_eq!(doubts(&bytes, Some("disksim:offset=B,size=B")).1, "");
    let sectors = lines(&|n| format!("{},{},8,r\n", n * 500, n % 7 * 24));
    let (_, found) = doubts(&sectors, Some("csv:time=us,offset=B,size=B,op=r/w"));
    assert_eq!(found, "no request reaches 512 bytes, the largest has 8: offset=sector,size=sector in --format?");
    // Jumps of the clock, with their lines.
    let jumps = |n: u64| n * 5_000 + if n >= 100 { 36_000_000_000 } else { 0 } - if n == 150 { 30_005_000 } else { 0 };
    let (_, found) = doubts(&lines(&|n| format!("{},h,0,Read,{},4096,1\n", jumps(n) + 1_000_000_000, n * 4096)), None);
    assert_eq!(found, "the clock jumps ahead by 3600 s at line 101\nthe clock goes back by 3.000 s at line 151");
    // What fits several formats says so.
    let (read_as, _) = doubts(&lines(&|n| format!("{n},0,4096,1,1\n")), None);
    assert!(read_as.contains("Tencent") && read_as.contains("it also fits flashnet"), "{read_as}");
}

#[test]
fn a_declared_column_may_hold_placement_hints() {
    let hints = |text: &str, word: &str| -> Vec<u16> {
        read(text, Some(word)).unwrap().iter().map(|request| request.hint).collect()
    };
    // Modulo 65,536; of reads too.
    let text = "3,5,w,77,5,9\n65538,6,r,78,6,1\n0,7,w,78,6,1\n";
    assert_eq!(hints(text, "csv:hint,time=ms,op=r/w,offset=sector,size=KiB,device"), [3, 2, 0]);
    assert_eq!(hints("5 0 512 9 4\n", "blanks:time,offset,size,op=8/9,hint"), [4]);
    assert_eq!(hints(text, "csv:skip,time=ms,op=r/w,offset=sector,size=KiB"), [0; 3], "not declared");
    let error = workload::Format::parse("csv:time,hint,op,hint,offset,size").unwrap_err().to_string();
    assert!(error.contains("`hint` is given twice"), "{error}");
    let word = "csv:time,offset,size,op=R/W,hint";
    for (line, says) in
        [("1,0,512,W,cold", "found \"cold\""), ("1,0,512,W,", "found nothing"), ("1,0,512,W", "missing")]
    {
        faulty(word, "1,0,512,W,3", line, "hint", says);
    }
}

#[test]
fn columns_can_be_declared() {
    let text = "a;b,r,77,5,9\n,w,78,6,10,x\n".replace("a;b", "zz");
    let found = read(text, Some("csv:skip,op=r/w,time=ms,offset=sector,size=KiB")).unwrap();
    let expected = Request::new(Time(1_000_000), Op::Write, Bytes(3072), Bytes(10_240));
    assert_eq!(found[1], expected);
    let found = read("5 1 0 512 9\n", Some("blanks:time,device,offset,size,op=9/8")).unwrap();
    assert_eq!((found[0].op, found[0].queue), (Op::Read, 1));
    for (word, says) in [
        ("csv:time,op,offset", "no column holds `size`"),
        ("csv:time,time,op,offset,size", "`time` is given twice"),
        ("csv:tmie,op,offset,size", "did you mean `time`?"),
        ("csv:time,op=R,offset,size", "is not two words"),
        ("csv:time=h,op,offset,size", "is not a unit here"),
    ] {
        let error = workload::Format::parse(word).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("help: "), "{error}");
    }
    let error = refused("1,2,3,4\n", Some("csv:time,op=R/W,offset,size"));
    assert!(error.starts_with("FILE:1: column 2 (op): found \"2\""), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        gaps in prop::collection::vec((0u64..10_000_000_000, 0u64..1 << 40, 1u64..1 << 20, any::<bool>(), any::<u16>()), 1..50),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let (mut msr, mut ascii, mut expected) = (String::new(), String::new(), Vec::new());
        let mut time = 0;
        for (i, (gap, offset, bytes, read, queue)) in gaps.into_iter().enumerate() {
            time += if i > 0 { gap * 100 } else { 0 };
            let op = if read { Op::Read } else { Op::Write };
            msr += &format!("{},h,{queue},{op:?},{offset},{bytes},1{end}", 1_000 + time / 100);
            let (whole, part) = (time / 1_000_000, time % 1_000_000);
            ascii += &format!("{}.{part:06} {queue} {offset} {bytes} {}{end}", 77 + whole, u8::from(read));
            expected.push(Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(queue));
        }
        prop_assert_eq!(&read(&msr, None).unwrap(), &expected);
        prop_assert_eq!(&read(&ascii, Some("disksim:offset=B,size=B")).unwrap(), &expected);
    }

    #[test]
    fn no_line_makes_a_reader_panic(line in "[0-9a-zA-Z ,.\t-]{0,60}", format in 0..3usize) {
        let format = ["msr", "mqsim", "disksim"][format];
        let _ = read(&line, Some(format));
        let _ = read(&line, None);
    }
}

#[test]
fn quoted_values_and_decimal_commas_are_read() {
    let plain = read("5.5,R,4096,512\n9.25,W,8192,4096\n", Some("csv:time=us,op=R/W,offset=B,size=B")).unwrap();
    for (text, format) in [
        (
            "\"5.5\",\"R\",\"4096\",\"512\"\n \"9.25\" , \"W\",8192,\"4096\",\"a, \"\"b\"\"\"\n",
            "csv:time=us,op=R/W,offset=B,size=B",
        ),
        ("5,5;R;4096;512\n\"9,25\";W;8192;4096\n", "semicolons:time=us,op=R/W,offset=B,size=B"),
        ("x y\t5,5\tR\t4096\t512\n\t9,25\tW\t8192\t4096\r\n", "tabs:skip,time=us,op=R/W,offset=B,size=B"),
        ("\"x y\" 5,5 R 4096 512\nz 9,25 \"W\" 8192 4096\n", "blanks:skip,time=us,op=R/W,offset=B,size=B"),
        // As pandas writes columns of which a value is missing.
        ("5.5,R,4096.0,512.0\n9.25,W,8192.0,4096.0\n", "csv:time=us,op=R/W,offset=B,size=B"),
        // By the names of the columns.
        ("\"time, us\";\"op\";\"offset [B]\";\"size [B]\"\n\"5,5\";\"R\";\"4096\";\"512\"\n9,25;W;8192,0;4096\n", ""),
        ("\ttime_us\top\toffset_b\tsize_b\n0\t5,5\tR\t4096\t512\n1\t9,25\tW\t8192\t4096\n", ""),
    ] {
        assert_eq!(read(text, Some(format).filter(|format| !format.is_empty())).unwrap(), plain, "{text}");
    }
    // A format that is known by its content stays known in quotes.
    let quoted = "\"419\",\"W\",\"8792731648\",\"16384\",\"1577808144360767\"\n";
    let file = Scratch::new(quoted.as_bytes());
    assert_eq!(TraceFile::open(&file.0, None).unwrap().format().name(), "alibaba");
}

#[test]
fn faulty_quotes_and_marks_are_reported_with_line_and_column() {
    let bad = |format: &str, line: &str, begin: &str, says: &str| {
        let first = if format.starts_with("csv") { "1.5,R,4096,512" } else { "1,5;R;4096;512" };
        let error = refused(format!("{first}\n{line}\n"), Some(&format!("{format}:time=s,op=R/W,offset=B,size=B")));
        assert!(error.starts_with(&format!("FILE:2: {begin}: found ")) && error.contains(says), "{line}: {error}");
    };
    bad("csv", "2,R,\"4096,512", "column 3 (offset)", "quote to be closed on this line");
    bad("csv", "\"2,R,4096,512", "column 1 (time)", "close it, or write a quote inside quotes twice");
    bad("csv", "2,R,\"4,096\",512", "column 3 (offset)", "without marks for thousands");
    bad(
        "csv",
        "\"2,5\",R,4096,512",
        "column 1 (time)",
        "a comma in files whose columns are parted by semicolons or tabs",
    );
    // Which mark a file has is told by its first line.
    bad("semicolons", "1.500;R;4096;512", "column 1 (time)", "with one mark for decimals");
    bad("semicolons", "2;R;4096;5,5", "column 4 (size)", "expected a whole number");
    bad("semicolons", "2;R;4.096;512", "column 3 (offset)", "without marks for thousands");
}
