use std::fs;
use std::path::PathBuf;

use units::section::Section;
use units::value::Scalar;
use units::{Bytes, Fraction, Time};

use super::{Kv, Recompute};
use crate::generator::ZoneReset;
use crate::request::{Number, Op, Source, TaskEnd, TaskKind, ZoneAction};

const CAPACITY: Bytes = Bytes::from_mib(1024);
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// A file of prompts, which is removed with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("ssdlab-kv-{name}-{}.jsonl", std::process::id()));
        fs::write(&path, text).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Blocks of 512 tokens and 2 MiB, of which an engine computes two in a second.
fn kv(prompts: &str) -> Kv {
    Kv { prompts: prompts.into(), token_bytes: Bytes::from_kib(4), prefill_rate: 1024.0, ..Kv::default() }
}

/// Prompts that arrive at such times [ms], each with this many tokens and blocks.
fn of(name: &str, prompts: &[(u64, u64, &[u64])]) -> (File, Kv) {
    let line = |(time, tokens, blocks): &(u64, u64, &[u64])| {
        format!(
            "{{\"timestamp\": {time}, \"input_length\": {tokens}, \"output_length\": 1, \"hash_ids\": {blocks:?}}}\n"
        )
    };
    let file = File::new(name, &prompts.iter().map(line).collect::<String>());
    let kv = kv(file.0.to_str().unwrap());
    (file, kv)
}

/// A request: its time \[ms], what it asks, and where \[MiB].
type Asked = (u64, Op, u64);

/// Plays an engine with a drive that serves each request in `took` ns: its requests, and what ended.
fn play(kv: &Kv, took: u64) -> (Vec<Asked>, Vec<TaskEnd>, Box<dyn Source>) {
    let mut source = kv.source(CAPACITY, 1).unwrap();
    let (mut requests, mut under_way, mut now) = (Vec::new(), std::collections::VecDeque::new(), 0);
    loop {
        let next = source.closed_loop().unwrap().next_time().map(|time| time.0);
        let done: Option<(u64, u64)> = under_way.front().copied();
        match (next, done) {
            (Some(next), done) if done.is_none_or(|(_, done)| next < done) => {
                now = now.max(next);
                let mut batch = Vec::new();
                source.fill(&mut batch, 1).unwrap();
                for request in batch {
                    let is_data = matches!(request.op, Op::Read | Op::Write);
                    assert!(request.time.0 <= now && (request.bytes <= kv.bs || !is_data), "{request:?} at {now}");
                    under_way.push_back((requests.len() as u64, now + took));
                    requests.push((now / MS, request.op, request.offset.0 / MIB));
                }
            }
            (_, Some((number, done))) => {
                now = done;
                under_way.pop_front();
                source.closed_loop().unwrap().completed(number, 0, Time(done));
            }
            _ => break,
        }
    }
    let ended = source.closed_loop().unwrap().take_ended();
    (requests, ended, source)
}

fn statistic(source: &dyn Source, name: &str) -> f64 {
    match source.statistics().into_iter().find(|found| found.name == name).unwrap().value {
        Number::Count(count) => count as f64,
        Number::Amount(amount) => amount,
    }
}

#[test]
fn prompts_may_begin_with_a_byte_order_mark() {
    let played = |name: &str, mark: &str| {
        let line = "{\"timestamp\": 5, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [7]}\n";
        let file = File::new(name, &[mark, line].concat());
        let (asked, ..) = play(&kv(file.0.to_str().unwrap()), MS);
        asked
    };
    let plain = played("prompts-plain.jsonl", "");
    assert!(!plain.is_empty());
    assert_eq!(played("prompts-marked.jsonl", "\u{feff}"), plain);
}

#[test]
fn what_is_known_is_read_and_the_rest_computed_and_written() {
    let (_file, kv) = of("exact", &[(0, 1024, &[0, 1]), (1_500, 1536, &[0, 1, 2]), (1_600, 512, &[9])]);
    let (requests, ended, source) = play(&kv, 100 * MS);
    let writes = |time, at: &[u64]| at.iter().map(|at| (time, Op::Write, *at)).collect::<Vec<_>>();
    let mut expected = writes(1_000, &[0, 1, 2, 3]);
    expected.extend([0, 1, 2, 3].map(|at| (1_500, Op::Read, at)));
    // The second prompt has been read at 1.6 s. The third one arrived then, and is computed after it: to 2.1 and 2.6 s.
    expected.extend(writes(2_100, &[4, 5]));
    expected.extend(writes(2_600, &[6, 7]));
    assert_eq!(requests, expected);
    let end = |kind, first, began, ended| TaskEnd { kind, first, began: Time(began * MS), ended: Time(ended * MS) };
    assert_eq!(
        ended,
        [
            end(TaskKind::Whole, 0, 0, 1_000),
            end(TaskKind::Load, 4, 1_500, 1_600),
            end(TaskKind::Whole, 4, 1_500, 2_100),
            end(TaskKind::Whole, 8, 1_600, 2_600),
        ]
    );
    let numbers = ["kv.prompts", "kv.tokens", "kv.tokens_from_drive", "kv.tokens_computed", "kv.written_bytes"];
    let found = numbers.map(|name| statistic(source.as_ref(), name));
    assert_eq!(found, [3.0, 3072.0, 1024.0, 2048.0, (8 * MIB) as f64]);
    assert_eq!(statistic(source.as_ref(), "kv.wait_ns"), 500e6 / 3.0, "the third one waits");
}

#[test]
fn memory_and_what_is_not_written_yet_need_no_reads() {
    // The second prompt comes while the first one is computed, the third one after it.
    let prompts: &[(u64, u64, &[u64])] = &[(0, 1024, &[0, 1]), (500, 1024, &[0, 1]), (5_000, 1024, &[0, 1])];
    let (_file, kv) = of("memory", prompts);
    let reads = |kv: &Kv| play(kv, MS).0.iter().filter(|(_, op, _)| *op == Op::Read).count();
    assert_eq!(reads(&kv), 4);
    assert_eq!(reads(&Kv { memory: Bytes(2 * kv.block_bytes()), ..kv.clone() }), 0);
    assert_eq!(reads(&Kv { memory: Bytes(kv.block_bytes()), ..kv }), 4, "each block pushes the other one out");
}

#[test]
fn the_block_that_was_used_least_recently_makes_way() {
    let blocks: Vec<u64> = (0..16).collect();
    let prompts: &[(u64, u64, &[u64])] =
        &[(0, 8192, &blocks), (20_000, 512, &[0]), (30_000, 512, &[100]), (40_000, 512, &[1]), (50_000, 512, &[0])];
    let (_file, kv) = of("oldest", prompts);
    let kv = Kv { footprint: Some(Bytes(16 * kv.block_bytes())), ..kv };
    let (requests, ..) = play(&kv, MS);
    let since = |time| requests.iter().filter(move |request| request.0 >= time).copied().collect::<Vec<_>>();
    // Block 0 is read, 100 takes the place of 1, which is computed again and takes that of 2; 0 is still there.
    let expected = [(20_000, Op::Read, 0), (20_000, Op::Read, 1), (30_500, Op::Write, 2), (30_500, Op::Write, 3)];
    assert_eq!(since(20_000)[..4], expected);
    assert_eq!(since(40_000)[..2], [(40_500, Op::Write, 4), (40_500, Op::Write, 5)]);
    assert_eq!(since(50_000), [(50_000, Op::Read, 0), (50_000, Op::Read, 1)]);
    let small = Kv { footprint: Some(Bytes(15 * kv.block_bytes())), ..kv };
    assert_eq!(small.source(CAPACITY, 1).err().unwrap().key.as_deref(), Some("kv.footprint"));
}

#[test]
fn blocks_are_computed_where_reading_them_takes_longer() {
    let prompts: &[(u64, u64, &[u64])] = &[(0, 1024, &[0, 1]), (5_000, 1024, &[0, 1]), (20_000, 1024, &[0, 1])];
    let (_file, kv) = of("recompute", prompts);
    let kv = Kv { recompute: Recompute::Faster(16), ..kv };
    let reads = |took| {
        let (requests, _, source) = play(&kv, took);
        let times = requests.iter().filter(|(_, op, _)| *op == Op::Read).map(|request| request.0).collect::<Vec<_>>();
        (times, statistic(source.as_ref(), "kv.tokens_recomputed"))
    };
    assert_eq!(reads(900 * MS), (vec![5_000, 5_000, 5_000, 5_000, 20_000, 20_000, 20_000, 20_000], 0.0));
    // Two blocks are computed in a second. The first load shows that reading takes longer.
    assert_eq!(reads(1_100 * MS), (vec![5_000; 4], 1024.0));
}

#[test]
fn loads_that_were_slow_are_tried_again() {
    // Reading takes 1.1 s and computing 1 s, but for the first load: 2 s.
    let blocks: &[u64] = &[0, 1];
    let prompts: Vec<(u64, u64, &[u64])> = (0..12).map(|n| (10_000 * n, 1024, blocks)).collect();
    let (_file, kv) = of("probe", &prompts);
    let loads = |probe| {
        let (requests, ..) = play(&Kv { recompute: Recompute::Faster(probe), ..kv.clone() }, 1_100 * MS);
        let mut at: Vec<u64> =
            requests.iter().filter(|asked| asked.1 == Op::Read).map(|asked| asked.0 / 10_000).collect();
        at.dedup();
        at
    };
    // The first prompt fills the cache, the second one's load is slow; every few prompts one is loaded all the
    // same.
    assert_eq!(loads(0), [1]);
    assert_eq!(loads(4), [1, 5, 9]);
    assert_eq!(loads(1), (1..12).collect::<Vec<_>>());
}

#[test]
fn the_load_of_the_engines_is_what_prompts_ask_for() {
    // 1,024 tokens a second: four prompts of a second each come in 1.5 s, and with two engines each has half.
    let prompts: &[(u64, u64, &[u64])] =
        &[(0, 1024, &[0]), (500, 1024, &[1]), (1_000, 1024, &[2]), (1_500, 1024, &[3])];
    let (_file, kv) = of("offered", prompts);
    for (engines, load, backlog) in [(1, 2.0, 2.5), (2, 1.0, 0.75)] {
        let (.., source) = play(&Kv { engines, ..kv.clone() }, MS);
        let found = ["kv.engine_load", "kv.backlog"].map(|name| statistic(source.as_ref(), name));
        assert_eq!(found, [load, backlog], "{engines}");
    }
}

#[test]
fn blocks_of_before_the_run_are_read_once_they_are_asked_for() {
    let (_file, kv) = of("stored", &[(0, 2048, &[5, 6, 7, 8]), (9_000, 1024, &[7, 8]), (19_000, 1536, &[5, 6, 9])]);
    let (requests, ended, _) = play(&Kv { stored: Fraction(0.5), ..kv.clone() }, MS);
    let of = |op, time| requests.iter().filter(move |r| r.1 == op && r.0 == time).map(|r| r.2).collect::<Vec<_>>();
    // The first half of the first prompt; of the second one nothing more, which it has met; of the third one what the
    // first one has read.
    assert_eq!(of(Op::Read, 0), [0, 1, 2, 3]);
    assert_eq!(ended[1].ended, Time(1_001 * MS));
    assert_eq!(of(Op::Write, 1_001), [4, 5, 6, 7]);
    assert_eq!(of(Op::Read, 9_000), [4, 5, 6, 7]);
    assert_eq!(of(Op::Read, 19_000), [0, 1, 2, 3]);
    let (_, ended, _) = play(&Kv { stored: Fraction(1.0), ..kv }, MS);
    // All of it is there: the last token is computed, since it leads to the first new one.
    assert_eq!(ended[1].ended.0, MS + 1_000_000_000 / 1024);
}

#[test]
fn a_cache_in_zones_is_written_in_order_and_the_zone_written_first_makes_way_as_a_whole() {
    // A block every second, which an engine has computed after half of it; then one that has made way and one that has
    // not.
    let blocks: Vec<[u64; 1]> = (0..19).map(|block| [block]).collect();
    let mut prompts: Vec<(u64, u64, &[u64])> = blocks.iter().map(|block| (block[0] * 1_000, 512, &block[..])).collect();
    prompts.extend([(30_000, 512, &blocks[0][..]), (31_000, 512, &blocks[6][..])]);
    let (_file, kv) = of("zones", &prompts);
    // Three zones of 14 MiB, of which 13 MiB can be written: six blocks of 2 MiB.
    let sizes = (Some(Bytes(14 * MIB)), Some(Bytes(13 * MIB)), Some(Bytes(45 * MIB)));
    let kv = Kv { zone_size: sizes.0, zone_capacity: sizes.1, footprint: sizes.2, ..kv };
    let reset = |time, at| (time, Op::Zone(ZoneAction::Reset), at);
    let two = |time, op, at| [(time, op, at), (time, op, at + 1)];
    let mut expected = Vec::new();
    for block in 0..19 {
        let (zone, time) = (block / 6 % 3 * 14, block * 1_000 + 500);
        expected.extend((block % 6 == 0).then_some(reset(time, zone)));
        expected.extend(two(time, Op::Write, zone + block % 6 * 2));
    }
    expected.extend(two(30_500, Op::Write, 2));
    expected.extend(two(31_000, Op::Read, 14));
    assert_eq!(play(&kv, MS).0, expected);
    // Trims tell a drive without zones the same.
    let trims = play(&Kv { zone_reset: ZoneReset::Trim, ..kv.clone() }, MS).0;
    assert_eq!(trims.iter().filter(|(_, op, _)| *op == Op::Trim).count(), 4);
    // Of before the run are blocks of the first half of the zones, as many as these have room for; what is new goes
    // behind them.
    let begun = play(&Kv { stored: Fraction(1.0), ..kv.clone() }, MS).0;
    let before: Vec<_> = (0..6).flat_map(|block| two(block * 1_000, Op::Read, block * 2)).collect();
    assert_eq!(begun[..12], before);
    assert_eq!(begun[12..15], [vec![reset(6_500, 14)], two(6_500, Op::Write, 14).to_vec()].concat());
    // A zone that is being read does not make way: the next one does.
    prompts.insert(19, (18_400, 512, &blocks[0][..]));
    let (_file, slow) = of("read", &prompts);
    let slow = Kv { prompts: slow.prompts, ..kv };
    let resets = |kv: &Kv| play(kv, 400 * MS).0.into_iter().filter(|(_, op, _)| !matches!(op, Op::Read | Op::Write));
    assert_eq!(resets(&slow).next_back(), Some(reset(18_500, 14)));
    for (key, broken) in [
        ("zone_size", Kv { zone_size: Some(Bytes(20 * MIB)), ..slow.clone() }),
        ("zone_size", Kv { zone_capacity: Some(Bytes(MIB)), ..slow.clone() }),
        ("offset", Kv { offset: Bytes(MIB), ..slow.clone() }),
    ] {
        let error = broken.source(CAPACITY, 1).err().unwrap();
        assert_eq!(error.key, Some(format!("kv.{key}")), "{error}");
    }
}

#[test]
fn each_knob_does_what_it_says() {
    let (_file, kv) = of("knobs", &[(0, 512, &[0]), (0, 512, &[1]), (4_000, 512, &[0])]);
    let asked = |kv: &Kv| play(kv, MS).0;
    let writes = |time, at| [(time, Op::Write, at), (time, Op::Write, at + 1)];
    let reads = [(4_000, Op::Read, 0), (4_000, Op::Read, 1)];
    assert_eq!(asked(&kv), [writes(500, 0), writes(1_000, 2), reads].concat(), "one engine");
    assert_eq!(asked(&Kv { engines: 2, ..kv.clone() }), [writes(500, 0), writes(500, 2), reads].concat());
    let reads_of = |kv: &Kv| asked(kv).into_iter().filter(|(_, op, _)| *op == Op::Read).collect::<Vec<_>>();
    assert_eq!(reads_of(&Kv { speed: 2.0, ..kv.clone() })[0].0, 2_000);
    assert_eq!(reads_of(&Kv { offset: Bytes(8 * MIB), ..kv.clone() })[0].2, 8);
    let mut source = Kv { hint: 3, queues: 2, ..kv.clone() }.source(CAPACITY, 1).unwrap();
    let mut batch = Vec::new();
    while batch.len() < 4 {
        source.fill(&mut batch, 4).unwrap();
    }
    assert_eq!(
        batch.iter().map(|request| (request.queue, request.hint)).collect::<Vec<_>>(),
        [(0, 3), (1, 3), (0, 3), (1, 3)]
    );
    // A prompt begins as the last one does, or as one of the last thousand.
    let known = |recent| {
        let made = Kv {
            recent,
            number: 500,
            token_bytes: Bytes(8),
            bs: Bytes(MIB),
            memory: Bytes(40_960),
            prefill_rate: 1e9,
            ..Kv::default()
        };
        statistic(play(&made, MS).2.as_ref(), "kv.tokens_from_memory")
    };
    assert!(known(1) > 2.0 * known(1_000), "what was met last is in memory");
}

#[test]
fn generated_prompts_are_like_what_was_asked_for() {
    // Blocks of 4 KiB, for all of which the drive has room.
    let kv = Kv { number: 4_000, prefill_rate: 1e9, token_bytes: Bytes(8), bs: Bytes(4096), ..kv("generated") };
    let (_, ended, source) = play(&kv, MS);
    let number = |name| statistic(source.as_ref(), name);
    let tokens = number("kv.tokens") / 4_000.0;
    assert!((tokens / 7_590.0 - 1.0).abs() < 0.05, "{tokens}");
    let span = ended.iter().map(|end| end.began.0).max().unwrap() as f64 / 1e9;
    assert!((span * 0.5 / 4_000.0 - 1.0).abs() < 0.05, "{span}");
    let known = (number("kv.tokens_from_drive") + number("kv.tokens_from_memory")) / number("kv.tokens");
    assert!((0.35..0.5).contains(&known), "{known} is known: half, as far as earlier prompts reach");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let good = "{\"timestamp\": 5, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [0]}\n";
    let cases = [
        ("{\"timestamp\": 5", "is no JSON object", "remove its last line"),
        ("hello\n", "is no JSON object", "a prompt a line"),
        ("{\"timestamp\": -1, \"input_length\": 1, \"hash_ids\": []}\n", "timestamp is -1", "docs/tier.md"),
        ("{\"timestamp\": 9, \"input_length\": 0, \"hash_ids\": []}\n", "input_length is 0", "docs/tier.md"),
        ("{\"timestamp\": 9, \"input_length\": 9, \"hash_ids\": [\"a\"]}\n", "hash_ids is [\"a\"]", "docs/tier.md"),
        ("{\"timestamp\": 9, \"input_length\": 9}\n", "hash_ids is nothing", "docs/tier.md"),
        ("{\"timestamp\": 4, \"input_length\": 9, \"hash_ids\": [1]}\n", "before that of an earlier line, 5", "sort"),
        (
            "{\"timestamp\": 9, \"input_length\": 600, \"hash_ids\": [1, 2, 3]}\n",
            "600 tokens are 2 blocks of 512",
            "kv.block_tokens",
        ),
    ];
    for (number, (bad, problem, remedy)) in cases.into_iter().enumerate() {
        let file = File::new(&format!("bad{number}"), &format!("{good}\n{bad}"));
        let mut source = kv(file.0.to_str().unwrap()).source(CAPACITY, 1).unwrap();
        let error = source.fill(&mut Vec::new(), 100).unwrap_err();
        assert!(error.line == Some(3) && error.problem.contains(problem) && error.remedy.contains(remedy), "{error}");
    }
    let missing = kv("/nowhere.jsonl").source(CAPACITY, 1).err().unwrap();
    assert!(missing.to_string().contains("/nowhere.jsonl"), "{missing}");
}

#[test]
fn each_key_is_checked() {
    let cases = [
        ("speed", Scalar::Int(0)),
        ("rate", Scalar::Float(-1.0)),
        ("reuse", Scalar::Float(1.5)),
        ("prefill_rate", Scalar::Int(0)),
        ("engines", Scalar::Int(0)),
        ("block_tokens", Scalar::Int(0)),
        ("bs", Scalar::Text("2GiB".into())),
        ("footprint", Scalar::Text("2GiB".into())),
        ("offset", Scalar::Text("2GiB".into())),
        ("token_bytes", Scalar::Text("1MiB".into())),
    ];
    for (key, value) in cases {
        let mut broken = kv("generated");
        if broken.set(key, &value).is_ok() {
            let error = broken.source(CAPACITY, 1).err().unwrap();
            assert_eq!(error.key.as_deref(), Some(format!("kv.{key}").as_str()), "{error}");
        }
    }
}
