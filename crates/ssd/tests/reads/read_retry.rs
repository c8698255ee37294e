//! Read-retry to the nanosecond: asplos21 Eq. 2 to 5 on a drive in which nothing else takes time, and what must hold of
//! any retry.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ssd::{Checker, Config, Device, Drive, Watch};
use testing::{ROUND_TIMES, one_plane};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
const SENSES: [u64; 3] = [2, 3, 2];
const T_DMA: u64 = 16_000;
const T_ECC: u64 = 20_000;
const T_SET: u64 = 1_000;
const T_RST: u64 = 5_000;
/// 10 of the 24 us of tPRE.
const CUT: u64 = 10_000;

fn tr(kind: usize) -> u64 {
    SENSES[kind] * 39_000
}

fn file(name: &str, text: &str) -> PathBuf {
    // Tests run side by side: each has files of its own.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ssdlab-{}-{count}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// A chip of which every page needs this many steps, of a table of forty.
fn needing(steps: u64) -> String {
    let path =
        file(&format!("steps-{steps}.csv"), &format!("pec,months,steps,pages\n0,0,{steps},1\n90000,1000,40,1\n"));
    format!("chip.model={}", path.display())
}

fn config(settings: &[&str]) -> Config {
    let mut config = one_plane();
    let rpt = file("rpt.csv", &format!("pec,months,cut\n100000,1200,{}\n", CUT as f64 / 24_000.0));
    let rpt = format!("read.rpt={}", rpt.display());
    for word in [
        "geometry.pages=12",
        "ftl.over_provisioning=1.0",
        "chip.t_read=none",
        "chip.senses=[2,3,2]",
        "chip.t_pre=24us",
        "chip.t_eval=5us",
        "chip.t_disch=10us",
        "chip.t_set=1us",
        "chip.t_rst=5us",
        "chip.cache_program=false",
        "age.fill=0.5",
        &rpt,
    ]
    .iter()
    .chain(&ROUND_TIMES)
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

fn scheme(name: &str) -> Vec<String> {
    schemes::presets::words(name).unwrap()
}

fn with(name: &str, settings: &[&str]) -> Config {
    let words = scheme(name);
    let all: Vec<&str> = settings.iter().copied().chain(words.iter().map(String::as_str)).collect();
    config(&all)
}

fn read(time: u64, page: u64) -> Request {
    Request::new(Time(time), Op::Read, Bytes(page * PAGE), Bytes(PAGE))
}

/// Latencies of reads (time, page), in order of submission, and the device afterwards.
fn play(config: &Config, reads: &[(u64, u64)]) -> (Vec<u64>, Device) {
    let mut device = Device::new(config, 1).unwrap();
    for (time, page) in reads {
        device.submit(read(*time, *page)).unwrap();
    }
    let mut found = vec![0; reads.len()];
    while device.advance_to_completion(Time::NEVER).unwrap() {
        for completion in device.take_completions() {
            found[completion.id as usize] = completion.latency().0;
            assert!(!completion.uncorrectable);
        }
        device.check().unwrap();
    }
    device.flush().unwrap();
    device.check().unwrap();
    (found, device)
}

/// What a page takes through DRAM and link: next to nothing.
const MOVE: u64 = 2 * 17;

#[test]
fn lone_reads_take_what_the_equations_say() {
    for steps in 0..=25u64 {
        let model = needing(steps);
        for (kind, senses) in SENSES.into_iter().enumerate() {
            let rest = T_DMA + T_ECC;
            let (full, short) = (tr(kind), tr(kind) - senses * CUT);
            // Eq. 2: tREAD = tR + tDMA + tECC + tRETRY.
            let retry = |name: &str| match (steps, name) {
                (0, _) => 0,
                (n, "baseline") => n * (full + rest), // Eq. 3
                (n, "pr2") => n * full + rest,        // Eq. 4
                // Footnote 10: what follows is sensed while a page is decoded.
                (n, "baseline,pipeline=page-read") => n * (full + T_DMA) + T_ECC,
                (n, "ar2") => T_SET + n * (short + rest), // Eq. 5 without PR2
                (n, "ar2,pipeline=page-read") => T_SET + n * (short + T_DMA) + T_ECC,
                (n, "pnar2") => T_SET + n * short + rest, // Eq. 5
                _ => unreachable!(),
            };
            let mut latencies = Vec::new();
            for name in ["baseline", "pr2", "ar2", "pnar2", "baseline,pipeline=page-read", "ar2,pipeline=page-read"] {
                let (found, device) = play(&with(name, &[&model]), &[(0, kind as u64)]);
                assert_eq!(found[0], full + rest + retry(name) + MOVE, "{name}, {steps} steps, page {kind}");
                assert_eq!(device.counters().retry_steps, steps, "{name}");
                latencies.push(found[0]);
            }
            assert!(latencies[1] <= latencies[4] && latencies[4] <= latencies[0], "{steps} steps");
            assert!(latencies[1] <= latencies[0], "PR2 never makes a lone read slower");
        }
    }
}

/// With PAGE READ a read ends when a page has been decoded, while the next one of its plane, which nobody needs, is
/// sensed, waits in the page register or leaves it, as decodings are longer. Every event is checked.
#[test]
fn a_die_sets_its_timing_back_when_no_page_of_the_read_is_in_its_register() {
    let (leaves, left) = (tr(0) - SENSES[0] * CUT, tr(0) - SENSES[0] * CUT + T_DMA);
    for t_decode in (11..121).step_by(2) {
        let mut config = with("ar2,pipeline=page-read", &[&needing(3)]);
        config.set(&format!("ecc.t_decode={t_decode}us")).unwrap();
        let mut device = Device::watched(&config, 1, Watch::checking(Checker::new(&config.plan().unwrap()))).unwrap();
        for page in [0, 3] {
            device.submit(read(device.now().0, page)).unwrap();
            device.flush().unwrap();
        }
        // For the retries of each read, and back. While the page leaves, that is left to the next sense, if there is
        // one.
        let is_left = (leaves..left).contains(&(t_decode * 1_000));
        assert_eq!(device.counters().set_features, 4 - u64::from(is_left), "{t_decode} us");
    }
}

#[test]
fn retries_follow_the_first_sense_where_they_are_likely() {
    let rest = T_DMA + T_ECC;
    for steps in 0..=25u64 {
        let model = needing(steps);
        // The same page of two blocks, and one of another kind: pages are similar by layer and kind.
        let reads = [(0, 0), (10_000_000, 12), (20_000_000, 1)];
        let after = |kind: usize| if steps == 0 { 0 } else { steps * tr(kind) + rest };
        let at_once = |kind: usize| (steps + 1) * tr(kind) + rest + MOVE;
        let mut config = with("pr2", &[&model]);
        config.set("read.pipeline=cache-read-likely").unwrap();
        let (found, device) = play(&config, &reads);
        let first = |kind: usize| tr(kind) + rest + after(kind) + MOVE;
        assert_eq!(found, [first(0), if steps == 0 { first(0) } else { at_once(0) }, first(1)], "{steps} steps");
        assert_eq!(device.counters().retry_steps, 3 * steps);
        config.set("read.pipeline=cache-read-first").unwrap();
        let (found, device) = play(&config, &reads);
        assert_eq!(found, [at_once(0), at_once(0), at_once(1)], "{steps} steps");
        // The sense in vain, or two with short ones: nothing is known until a page is decoded.
        assert!(device.counters().speculative_senses >= 3, "{steps} steps");
    }
    // Of a page that its first sense reads, a reset keeps the die; the next read of the die waits for that.
    let mut config = with("pr2", &[&needing(0)]);
    config.set("read.pipeline=cache-read-first").unwrap();
    let (found, device) = play(&config, &[(0, 0), (1_000, 3)]);
    let alone = tr(0) + rest;
    assert_eq!(found, [alone + MOVE, 2 * alone + T_RST - 1_000 + MOVE]);
    assert_eq!(device.counters().speculative_senses, 2);
}

#[test]
fn what_waits_for_the_decoder_of_its_read_is_decoded_no_more() {
    // Decodings are so long that the second sense waits behind the first, which reads the page.
    let mut config = with("pr2", &[&needing(0)]);
    ["read.pipeline=cache-read-first", "ecc.t_decode=200us", "ecc.decoders=1", "ecc.buffer=2"]
        .iter()
        .for_each(|word| config.set(word).unwrap());
    let (found, device) = play(&config, &[(0, 0), (10_000_000, 12)]);
    assert_eq!(found, [tr(0) + T_DMA + 200_000 + MOVE; 2]);
    assert_eq!(device.usage().decoders[0].0, 2 * 200_000);
    // Both pages of each read have crossed the bus, one of them for the decoder.
    let counters = device.counters();
    assert_eq!((counters.bytes_read, counters.undecoded_bytes), (4 * PAGE, 2 * PAGE));
}

#[test]
fn first_senses_are_hasty_as_long_as_pages_are_read_so() {
    let rest = T_DMA + T_ECC;
    let hasty = |settings: &[&str]| {
        let mut config = config(&[&["chip.model=tlc48"], settings].concat());
        config.set("read.sensing=adaptive-first").unwrap();
        config
    };
    // A new page leaves room for what a shorter tPRE adds: SET FEATURE once, and nothing sets it back.
    let (found, device) = play(&hasty(&[]), &[(0, 0), (1_000_000, 3), (2_000_000, 1)]);
    let short = |kind: usize| tr(kind) - SENSES[kind] * CUT;
    let alone = |kind: usize| short(kind) + rest + MOVE;
    assert_eq!(found, [T_SET + alone(0), alone(0), alone(1)]);
    let counters = device.counters();
    assert_eq!((counters.first_senses_hastened, counters.first_senses_repeated, counters.set_features), (3, 0, 1));
    // Nine tenths of tPRE are too many: the first sense is repeated, and those of similar pages take the default timing
    // for a while.
    let table = file("hasty.csv", "pec,months,cut\n100000,1200,0.9\n");
    let table = format!("read.rpt={}", table.display());
    let reads: Vec<(u64, u64)> = (0..30).map(|index| (index * 1_000_000, 12 * (index % 3))).collect();
    let (found, device) = play(&hasty(&[&table]), &reads);
    let full = tr(0) + rest + MOVE;
    let failed = T_SET + tr(0) - SENSES[0] * 21_600 + rest + T_SET + full;
    let expected: Vec<u64> = (0..30).map(|index| if index % 21 == 0 { failed } else { full }).collect();
    assert_eq!(found, expected);
    let counters = device.counters();
    assert_eq!((counters.first_senses_hastened, counters.first_senses_repeated), (2, 2));
    assert_eq!((counters.pages_retried, counters.retry_steps), (2, 2));
}

/// An RPT says nothing of what is older than its lines.
#[test]
fn beyond_the_table_nothing_is_hasty_and_no_page_walks_twice() {
    let table = file("young.csv", "pec,months,cut\n0,0,0.4\n");
    let table = format!("read.rpt={}", table.display());
    let reads = [(0, 0), (10_000_000, 12), (20_000_000, 1)];
    for sensing in ["adaptive", "adaptive-first", "adaptive-oracle"] {
        let sensing = format!("read.sensing={sensing}");
        let old = ["chip.model=tlc48", &table, "age.pec=1000", "age.retention=6mo"];
        let (found, device) = play(&config(&[&old[..], &[&sensing]].concat()), &reads);
        assert_eq!(found, play(&config(&old), &reads).0, "{sensing}");
        let counters = device.counters();
        assert!(counters.retry_steps > 20, "{counters:?}");
        assert_eq!((counters.first_senses_hastened, counters.first_senses_repeated, counters.set_features), (0, 0, 0));
        // What no step reads has been sensed with each once.
        let lost = ["chip.model=tlc48", &table, &sensing, "age.pec=3000", "age.retention=150mo"];
        let steps = |settings: &[&str]| {
            let mut device = Device::new(&config(settings), 1).unwrap();
            device.submit(read(0, 0)).unwrap();
            device.flush().unwrap();
            assert!(device.take_completions().all(|done| done.uncorrectable));
            device.counters().retry_steps
        };
        let by_default = [&lost[..], &["read.sensing=default"]].concat();
        assert_eq!(steps(&lost), steps(&by_default), "{sensing}");
    }
}

/// Decision trees in a file: the rows below the names of the columns.
fn trees(rows: &str) -> String {
    let path = file("trees.csv", &format!("question,feature,at_most,otherwise,value\n{rows}"));
    format!("read.trees={}", path.display())
}

#[test]
fn trees_say_how_first_senses_go() {
    let rest = T_DMA + T_ECC;
    // Pages of the first kind in haste, others not: SET FEATURE between them.
    let kinds = trees("haste,kind,0,2,\nhaste,leaf,,,1\nhaste,leaf,,,0\n");
    let hasty = config(&["chip.model=tlc48", "read.sensing=adaptive-learned", &kinds]);
    let (found, device) = play(&hasty, &[(0, 0), (1_000_000, 3), (2_000_000, 1), (3_000_000, 4)]);
    let short = |kind: usize| tr(kind) - SENSES[kind] * CUT + rest + MOVE;
    let full = |kind: usize| tr(kind) + rest + MOVE;
    assert_eq!(found, [T_SET + short(0), short(0), T_SET + full(1), full(1)]);
    let counters = device.counters();
    assert_eq!((counters.first_senses_hastened, counters.trees_asked, counters.tree_comparisons), (2, 4, 4));
    // A tree that explores says yes to about its share of the reads.
    let half = config(&["chip.model=tlc48", "read.sensing=adaptive-learned", &trees("haste,leaf,,,0.5\n")]);
    let reads: Vec<(u64, u64)> = (0..200).map(|index| (index * 1_000_000, index % 12)).collect();
    let hastened = play(&half, &reads).1.counters().first_senses_hastened;
    assert!((70..130).contains(&hastened), "{hastened} of 200");
    // The first retry follows at once where a similar page has been read already; a start that is right needs none.
    let known = trees("pipeline,last,254,2,\npipeline,leaf,,,1\npipeline,leaf,,,0\nstart,leaf,,,6\n");
    let six = needing(6);
    let reads = [(0, 0), (10_000_000, 12), (20_000_000, 1)];
    let at_once = |kind: usize| 7 * tr(kind) + rest + MOVE;
    let later = |kind: usize| tr(kind) + rest + 6 * tr(kind) + rest + MOVE;
    let ahead = with("pr2,pipeline=cache-read-learned", &[&six, &known]);
    assert_eq!(play(&ahead, &reads).0, [later(0), at_once(0), later(1)]);
    let started = with("pr2,start=learned", &[&six, &known]);
    assert_eq!(play(&started, &reads).0, [full(0), full(0), full(1)]);
}

#[test]
fn what_is_learned_needs_its_tree() {
    let refusal = |settings: &[&str]| config(settings).plan().unwrap_err().to_string();
    let error = refusal(&["chip.model=tlc48", "read.start=learned"]);
    assert!(error.contains("read.trees") && error.contains("read.start = \"learned\""), "{error}");
    let error = refusal(&["chip.model=tlc48", "read.sensing=adaptive-learned", &trees("start,leaf,,,3\n")]);
    assert!(error.contains("read.sensing") && error.contains("no tree for haste"), "{error}");
    let error = refusal(&["chip.model=tlc48", "read.start=learned", "read.trees=/nowhere/trees.csv"]);
    assert!(error.contains("read.trees: /nowhere/trees.csv"), "{error}");
}

#[test]
fn trees_know_what_first_senses_have_shown() {
    // Nine tenths of tPRE are too many. Until one sense has failed in haste all are hasty; then those of similar pages
    // are not.
    let rest = T_DMA + T_ECC;
    let table = file("hasty.csv", "pec,months,cut\n100000,1200,0.9\n");
    let table = format!("read.rpt={}", table.display());
    let once = trees("haste,hasty_failed,0,2,\nhaste,leaf,,,1\nhaste,leaf,,,0\n");
    let learned = config(&["chip.model=tlc48", "read.sensing=adaptive-learned", &table, &once]);
    let reads: Vec<(u64, u64)> = (0..6).map(|index| (index * 1_000_000, index % 2)).collect();
    let (found, device) = play(&learned, &reads);
    let full = |kind: usize| tr(kind) + rest + MOVE;
    let failed = |kind: usize| T_SET + tr(kind) - SENSES[kind] * 21_600 + rest + T_SET + full(kind);
    assert_eq!(found, [failed(0), failed(1), full(0), full(1), full(0), full(1)]);
    assert_eq!(device.counters().first_senses_repeated, 2);
    // What is kept of them are the failures that the tree looks at, a byte for each group; no rests of a rule that is
    // not asked.
    assert_eq!(device.state().tracked_bytes, 2);
}

#[test]
fn the_weight_of_a_syndrome_says_how_a_failed_first_sense_is_repeated() {
    const T_PRED: u64 = 2_500;
    let weighed = |predictor: &str, cut: f64, settings: &[&str]| {
        let table = file("weighed.csv", &format!("pec,months,cut\n100000,1200,{cut}\n"));
        let predictor = format!("read.predictor={predictor}");
        let table = format!("read.rpt={}", table.display());
        let all =
            ["chip.model=tlc48", "read.sensing=adaptive-weighed", "read.prediction_accuracy=1", &predictor, &table];
        config(&[&all, settings].concat())
    };
    let rest = T_DMA + T_ECC;
    // Nine tenths of tPRE are too many for a new page, whose own errors are few: the timing was at fault, every time.
    let cut = SENSES[0] * 21_600;
    let reads = [(0, 0), (1_000_000, 12)];
    let repeated = tr(0) - cut + T_PRED + tr(0) + rest + MOVE;
    let (found, device) = play(&weighed("on-die", 0.9, &[]), &reads);
    assert_eq!(found, [T_SET + repeated, repeated]);
    let counters = device.counters();
    assert_eq!((counters.first_senses_hastened, counters.first_senses_repeated, counters.pages_retried), (2, 2, 0));
    // A die that predicts again needs the time for that.
    assert_eq!(play(&weighed("on-die-again", 0.9, &[]), &reads).0, [T_SET + repeated + T_PRED, repeated + T_PRED]);
    // A controller weighs what has crossed the bus, and sets the timing.
    let crossed = T_SET + tr(0) - cut + T_DMA + T_PRED + T_SET + tr(0) + rest + MOVE;
    assert_eq!(play(&weighed("controller", 0.9, &[]), &reads).0, [crossed; 2]);
    // Of an old page the references are far off: other ones follow, in haste.
    let cut = SENSES[0] * CUT;
    let old = ["age.pec=1000", "age.retention=6mo", "read.next=swift"];
    let (found, device) = play(&weighed("on-die", CUT as f64 / 24_000.0, &old), &reads);
    let moved = tr(0) - cut + T_PRED + tr(0) - cut + rest + MOVE;
    assert_eq!(found, [T_SET + moved, moved]);
    assert_eq!(device.counters().first_senses_repeated, 0);
}

#[test]
fn what_nobody_weighs_is_refused() {
    let refusal = |settings: &[&str]| config(settings).plan().unwrap_err().to_string();
    let error = refusal(&["chip.model=tlc48", "read.sensing=adaptive-weighed"]);
    assert!(error.contains("read.sensing") && error.contains("nothing weighs a page"), "{error}");
}

#[test]
fn hindsight_is_right() {
    let rest = T_DMA + T_ECC;
    let full = |kind: usize| tr(kind) + rest + MOVE;
    let reads = [(0, 0), (10_000_000, 12), (20_000_000, 1)];
    // Haste where it is corrected, and never where it is not.
    let sensed = |cut: f64| {
        let table = file("cut.csv", &format!("pec,months,cut\n100000,1200,{cut}\n"));
        let table = format!("read.rpt={}", table.display());
        play(&config(&["chip.model=tlc48", "read.sensing=adaptive-oracle", &table]), &reads)
    };
    let (found, device) = sensed(0.9);
    assert_eq!(found, [full(0), full(0), full(1)]);
    assert_eq!(device.counters().first_senses_hastened, 0);
    let (found, device) = sensed(CUT as f64 / 24_000.0);
    assert_eq!(found, [T_SET + full(0) - SENSES[0] * CUT, full(0) - SENSES[0] * CUT, full(1) - SENSES[1] * CUT]);
    assert_eq!(device.counters().first_senses_hastened, 3);
    // Retries at once where there are any; the right start where it is asked.
    for steps in [0, 3] {
        let at_once = |kind: usize| (steps + 1) * tr(kind) + rest + MOVE;
        let ahead = with("pr2,pipeline=cache-read-oracle", &[&needing(steps)]);
        let (found, device) = play(&ahead, &reads);
        assert_eq!(found, [at_once(0), at_once(0), at_once(1)], "{steps} steps");
        assert_eq!(device.counters().speculative_senses > 0, steps > 0);
        let (found, device) = play(&with("pr2,start=oracle", &[&needing(steps)]), &reads);
        assert_eq!((found, device.counters().retry_steps), (vec![full(0), full(0), full(1)], 0), "{steps} steps");
    }
}

#[test]
fn the_die_is_busy_after_the_data_has_left() {
    let model = needing(5);
    for (name, busy) in [("baseline", 0), ("pr2", T_RST), ("ar2", T_SET), ("pnar2", T_RST + T_SET)] {
        let config = with(name, &[&model]);
        let alone = play(&config, &[(0, 0)]).0[0];
        // A read that comes while the first is retried waits for its end, and for the reset and SET FEATURE.
        let (found, device) = play(&config, &[(0, 0), (300_000, 3)]);
        assert_eq!(found[0], alone, "{name}");
        assert_eq!(300_000 + found[1], (alone - MOVE) + busy + alone, "{name}");
        let counters = device.counters();
        assert_eq!(counters.speculative_senses, if busy >= T_RST { 2 } else { 0 }, "{name}");
        // The sense in vain began when the last step was sensed, and was reset when that was decoded.
        let wasted = 2 * (T_DMA + T_ECC + T_RST);
        assert_eq!(counters.speculative_ns, if busy >= T_RST { wasted } else { 0 }, "{name}");
        assert_eq!(counters.set_features, if name.contains("ar2") { 4 } else { 0 }, "{name}");
    }
}

#[test]
fn a_sense_in_vain_that_ends_before_a_reset_would_is_waited_for_and_then_the_timing_is_set_back() {
    let (model, slow) = (needing(5), "chip.t_rst=1ms");
    for (name, cut, set) in [("pr2", 0, 0), ("pnar2", 2 * CUT, T_SET)] {
        let config = with(name, &[&model, slow]);
        let alone = play(&config, &[(0, 0)]).0[0];
        // The sense in vain began when the last step was sensed.
        let sense = tr(0) - cut;
        let busy = sense - (T_DMA + T_ECC) + set;
        let (found, device) = play(&config, &[(0, 0), (300_000, 3)]);
        assert_eq!((found[0], 300_000 + found[1]), (alone, (alone - MOVE) + busy + alone), "{name}");
        assert_eq!(device.counters().speculative_ns, 2 * sense, "{name}");
        // Of a read that comes later nothing is left to be set back.
        let (found, device) = play(&config, &[(0, 0), (5_000_000, 3)]);
        assert_eq!(found, [alone, alone], "{name}");
        assert_eq!(device.counters().set_features, if set > 0 { 4 } else { 0 }, "{name}");
    }
}

#[test]
fn another_reads_retries_wait_whatever_came_between() {
    // A's first retry begins 114 us after its beginning. At 113 us B's first sense of the plane slips in before it; B's
    // retries begin when A has ended all the same. At 115 us B does not begin before.
    let (steps, page) = (20, tr(0) + T_DMA + T_ECC);
    let model = needing(steps);
    for (name, short, pipelined) in
        [("baseline", 0, false), ("pr2", 0, true), ("ar2", 2 * CUT, false), ("pnar2", 2 * CUT, true)]
    {
        let set = if short > 0 { T_SET } else { 0 };
        let retries = match pipelined {
            false => set + steps * (page - short),
            true => set + steps * (tr(0) - short) + T_DMA + T_ECC,
        };
        let busy = set + if pipelined { T_RST } else { 0 };
        let config = with(name, &[&model]);
        let (found, device) = play(&config, &[(0, 0), (113_000, 3)]);
        // B's page leaves the page register before A's goes on.
        let a = 113_000 + tr(0) + T_DMA + retries;
        // The timing is set back between them; B's first sense has been decoded long since.
        assert_eq!(found, [a + MOVE, a + busy + retries - 113_000 + MOVE], "{name}");
        assert_eq!(device.counters().retry_steps, 2 * steps, "{name}");
        let (found, _) = play(&config, &[(0, 0), (115_000, 3)]);
        let a = page + retries;
        assert_eq!(found, [a + MOVE, a + busy + page + retries - 115_000 + MOVE], "{name}");
    }
}

#[test]
fn a_step_that_cannot_leave_holds_up_the_next() {
    // Decoding takes longer than sensing, and the engine holds one page: steps leave one by one.
    let model = needing(6);
    let slow = ["ecc.t_decode=300us", "ecc.decoders=1", "ecc.buffer=1", model.as_str()];
    let (found, device) = play(&with("pr2", &slow), &[(0, 0)]);
    assert_eq!(found[0], 2 * tr(0) + 7 * (T_DMA + 300_000) + MOVE);
    // One step waited in each register.
    assert_eq!(device.counters().speculative_senses, 2);
}

#[test]
fn an_operation_that_ranks_better_goes_between_the_steps() {
    // Under user-first a host read passes the retries of the drive's own reads; both are read all the same.
    let model = needing(8);
    for name in ["baseline", "pnar2"] {
        let settings = [
            "schedule.order=user-first",
            "age.fill=1.0",
            "age.precondition=closed-form",
            "gc.idle=10us",
            "gc.idle_stop=20",
            &model,
        ];
        let alone = play(&with(name, &[&model]), &[(0, 0)]).0[0];
        let config = with(name, &settings);
        let reads: Vec<(u64, u64)> = (0..200).map(|index| (1_000_000 + index * 4_000_000, index % 300)).collect();
        let (found, device) = play(&config, &reads);
        assert!(device.counters().pages_relocated.iter().sum::<u64>() > 50, "collection goes on");
        // At most a sense, a program or an erase, and both changes of timing lie before each of its steps.
        let worst = *found.iter().max().unwrap();
        assert!(worst < 9 * alone + 3_500_000, "{name}: {worst} for {alone}");
        // Each is read with its eight steps.
        assert_eq!(device.counters().retry_steps, 8 * device.counters().pages_read, "{name}");
    }
}

/// Random reads and writes; what completes, by request, and the device.
fn load(config: &Config, requests: u64, mean_gap: u64) -> (Vec<(u64, u64, bool)>, Device) {
    let mut device = Device::new(config, 1).unwrap();
    let draws = Stream::new(5, "retry load");
    let mut time = 0;
    for index in 0..requests {
        time += draws.below(4 * index, 2 * mean_gap);
        let op = if draws.below(4 * index + 1, 5) == 0 { Op::Write } else { Op::Read };
        let pages = device.capacity().0 / PAGE / 2;
        let offset = Bytes(draws.below(4 * index + 2, pages) * PAGE);
        let bytes = Bytes((1 + draws.below(4 * index + 3, 3)) * PAGE);
        device.submit(Request::new(Time(time), op, offset, bytes)).unwrap();
    }
    device.flush().unwrap();
    device.check().unwrap();
    let mut all: Vec<(u64, u64, bool)> =
        device.take_completions().map(|done| (done.id, done.latency().0, done.uncorrectable)).collect();
    all.sort_unstable();
    assert_eq!(all.len() as u64, requests);
    (all, device)
}

const BUSY: &[&str] = &[
    "geometry.channels=2",
    "geometry.planes=2",
    "chip.plane_reads=lockstep",
    "chip.program_loops=5",
    "chip.t_prog=none",
    "chip.t_program_pulse=60us",
    "chip.t_program_verify=20us",
    "schedule.suspend_program=inter-phase",
    "buffer.size=1MiB",
];
const ALL: [&str; 7] = ["baseline", "pr2", "ar2", "pnar2", "pso", "pso-pnar2", "norr"];

#[test]
fn without_retries_all_schemes_are_one() {
    let first = load(&with("baseline", BUSY), 3_000, 100_000).0;
    for name in ALL {
        assert_eq!(load(&with(name, BUSY), 3_000, 100_000).0, first, "{name}");
    }
    // A fresh chip needs none either.
    let fresh: Vec<&str> = BUSY.iter().copied().chain(["chip.model=tlc48"]).collect();
    for name in ALL {
        assert_eq!(load(&with(name, &fresh), 3_000, 100_000).0, first, "{name}");
    }
}

#[test]
fn schemes_need_the_steps_that_they_should() {
    let aged: Vec<&str> = BUSY
        .iter()
        .copied()
        // A chip whose young pages need no retry: all that are retried are old.
        .chain(["chip.model=tlc48-reo", "age.pec=2000", "age.retention=12mo", "read.rpt=none", "geometry.blocks=256"])
        .collect();
    let mean = |name: &str| {
        let device = load(&with(name, &aged), 6_000, 2_000_000).1;
        let counters = device.counters();
        assert_eq!((counters.pages_unreadable, counters.reads_repeated), (0, 0), "{name}");
        counters.retry_steps as f64 / counters.pages_retried as f64
    };
    let table = mean("baseline");
    assert!((18.5..21.0).contains(&table), "{table}");
    for name in ["pr2", "ar2", "pnar2"] {
        assert!((mean(name) - table).abs() < 0.1, "{name}");
    }
    // PSO: asplos21 section 3.1.
    for name in ["pso", "pso-pnar2"] {
        let saved = 1.0 - mean(name) / table;
        assert!((0.64..0.76).contains(&saved), "{name} saves {saved}");
    }
    assert!((mean("baseline,next=oracle") - 1.0).abs() < 1e-9);
}

#[test]
fn a_retry_that_fails_with_reduced_timing_is_repeated_with_the_default_one() {
    let aged = [
        "chip.model=tlc48",
        "age.pec=2000",
        "age.retention=12mo",
        "read.rpt=none",
        "geometry.pages=576",
        "ftl.over_provisioning=1.0",
    ];
    let wrong: Vec<&str> = aged.iter().copied().chain(["read.rpt_error=-6000"]).collect();
    for name in ["ar2", "pnar2"] {
        let (done, device) = load(&with(name, &wrong), 400, 40_000_000);
        let counters = device.counters();
        assert!(counters.reads_repeated > 100, "{name}: {}", counters.reads_repeated);
        assert!(done.iter().all(|(_, _, uncorrectable)| !uncorrectable));
        let right = load(&with(name, &aged), 400, 40_000_000).1.counters();
        assert_eq!(right.reads_repeated, 0);
        assert!(counters.retry_steps > right.retry_steps + 20 * counters.reads_repeated);
    }
    // By the weights of syndromes as well, which begin again: the table has 40 steps beside the first.
    for first in ["adaptive", "adaptive-weighed,predictor=controller"] {
        let scheme = format!("baseline,next=syndrome,sensing={first}");
        let (done, device) = load(&with(&scheme, &wrong), 400, 40_000_000);
        let counters = device.counters();
        assert!(counters.reads_repeated > 100, "{first}: {}", counters.reads_repeated);
        assert!(done.iter().all(|(_, _, uncorrectable)| !uncorrectable), "{first}");
    }
}

#[test]
fn what_no_step_reads_is_reported() {
    let old = ["chip.model=tlc48", "age.pec=3000", "age.retention=150mo", "read.rpt=none"];
    for name in ["baseline", "pnar2", "pso-pnar2"] {
        let (done, device) = load(&with(name, &old), 200, 40_000_000);
        let counters = device.counters();
        let lost = done.iter().filter(|(_, _, uncorrectable)| *uncorrectable).count() as u64;
        assert!(lost > 50 && lost == counters.requests_uncorrectable, "{name}: {lost}");
        assert!(counters.pages_unreadable >= lost);
    }
}

/// It ends with the step of its number where the host has another way, and is read to its end where it has none.
#[test]
fn a_read_that_may_fail_fast_ends_after_its_steps() {
    let (kind, steps) = (1, 5);
    let rest = T_DMA + T_ECC;
    for name in ["baseline", "pr2", "pnar2"] {
        for limit in 0..=7u64 {
            let limit_word = format!("read.fail_fast={limit}");
            let model = needing(steps);
            let mut device = Device::new(&with(name, &[&model, &limit_word]), 1).unwrap();
            // In turn: one that may fail fast, and one that may not.
            device.submit(read(0, kind).with_limited_retry()).unwrap();
            device.submit(read(1_000_000_000, kind)).unwrap();
            device.flush().unwrap();
            device.check().unwrap();
            let done: Vec<_> = device.take_completions().collect();
            let taken = |steps: u64| {
                let (full, short) = (tr(kind as usize), tr(kind as usize) - SENSES[kind as usize] * CUT);
                let retries = match (steps, name) {
                    (0, _) => 0,
                    (n, "baseline") => n * (full + rest),
                    (n, "pr2") => n * full + rest,
                    (n, _) => T_SET + n * short + rest,
                };
                full + rest + retries
            };
            let gives_up = limit < steps;
            assert_eq!(done[0].latency().0, taken(limit.min(steps)) + MOVE, "{name}, limit {limit}");
            assert_eq!((done[0].gave_up, done[0].uncorrectable), (gives_up, false), "{name}, limit {limit}");
            assert_eq!(done[1].latency().0, taken(steps) + MOVE, "{name}, limit {limit}");
            assert!(!done[1].gave_up && !done[1].uncorrectable);
            let counters = device.counters();
            let given_up = (counters.pages_given_up, counters.requests_given_up);
            assert_eq!(given_up, (gives_up.into(), gives_up.into()), "{name}, limit {limit}");
            assert_eq!((counters.pages_unreadable, counters.host_pages_lost, counters.media_errors), (0, 0, 0));
        }
    }
}

/// What no step reads is lost, and not given up, where the limit allows all steps.
#[test]
fn what_no_step_reads_is_lost_and_not_given_up() {
    for (limit, expected) in [(39, (true, false)), (40, (false, true))] {
        let limit = format!("read.fail_fast={limit}");
        let old = ["chip.model=tlc48", "age.pec=3000", "age.retention=150mo", "read.rpt=none", limit.as_str()];
        let config = with("baseline", &old);
        let mut device = Device::new(&config, 1).unwrap();
        for page in 0..40 {
            device.submit(read(page * 1_000_000_000, page).with_limited_retry()).unwrap();
        }
        device.flush().unwrap();
        let done: Vec<_> = device.take_completions().collect();
        let found = (done.iter().any(|done| done.gave_up), done.iter().any(|done| done.uncorrectable));
        assert_eq!(found, expected);
    }
}

#[test]
fn faster_senses_need_a_table() {
    let refusal = |settings: &[&str]| with("ar2", settings).plan().unwrap_err().to_string();
    let error = refusal(&[&needing(3), "read.rpt=none"]);
    assert!(error.contains("read.rpt") && error.contains("give a table"), "{error}");
    let error = refusal(&["chip.model=tlc48", "read.rpt=/nowhere/rpt.csv"]);
    assert!(error.contains("/nowhere/rpt.csv"), "{error}");
    let error = refusal(&["chip.model=tlc48", "read.age_error=-1"]);
    assert!(error.contains("read.age_error"), "{error}");
}
