//! Random arrays under random loads, with drives that fail and are rebuilt: each request completes once, in the order of time; what was
//! acknowledged is not lost as long as no more drives are missing than the layout allows; and what is read is what was written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use array::{Array, MemberDrive};
use proptest::collection::vec;
use proptest::prelude::*;
use ssd::{Completion, Drive};
use testing::cases;
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request};

use crate::oracle::{BLOCK, Oracle, Watching};
use crate::server::{Server, config};

/// A random array, its failures and its load.
#[derive(Clone, Debug)]
struct Case {
    layout: (usize, usize, usize, bool),
    spares: usize,
    words: Vec<String>,
    /// Share of reads that drives cannot correct \[%].
    uncorrectable: u64,
    /// Share of reads that drives give up early where they may \[%].
    given_up: u64,
    /// When drives fail \[us], one after another, from the first on.
    failures: Vec<u64>,
    /// Time since the request before \[us], first block, blocks, whether it is written.
    requests: Vec<(u64, u64, u64, bool)>,
    seed: u64,
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let select = prop_oneof![Just("primary"), Just("round-robin"), Just("shortest-queue")];
    let hedge = prop_oneof![Just("none"), Just("delay"), Just("percentile")];
    let link = prop_oneof![Just(("none", "0ns")), Just(("none", "3us")), Just(("500MB/s", "1us"))];
    let scrub = prop_oneof![Just("none"), Just("20MB/s"), Just("400MB/s")];
    let windows = prop_oneof![Just("none"), Just("staggered"), Just("together")];
    let rest = (1..5u16, any::<bool>(), scrub, windows);
    (select, hedge, 0..2u16, link, rest).prop_map(|(select, hedge, extra, link, (depth, repair, scrub, windows))| {
        vec![
            format!("select={select}"),
            format!("hedge={hedge}"),
            "hedge_delay=150us".into(),
            format!("extra_reads={extra}"),
            format!("link_bandwidth={}", link.0),
            format!("link_latency={}", link.1),
            format!("rebuild_depth={depth}"),
            format!("repair={repair}"),
            format!("scrub_rate={scrub}"),
            format!("coordinate={windows}"),
            "window=500us".into(),
            "rebuild_rate=100MB/s".into(),
            "chunk=8KiB".into(),
        ]
    })
}

prop_compose! {
    fn arrays()(
        data in 1..5usize,
        parity in 1..4usize,
        more in 0..4usize,
        declustered: bool,
        spares in 0..3usize,
        words in words(),
        uncorrectable in prop_oneof![3 => Just(0u64), 1 => 1..30u64],
        given_up in prop_oneof![1 => Just(0u64), 1 => 1..60u64],
        failures in vec(0..6_000u64, 0..4),
        requests in vec((0..150u64, any::<u64>(), 1..20u64, any::<bool>()), 1..150),
        seed: u64,
    ) -> Case {
        Case { layout: (data, parity, more, declustered), spares, words, uncorrectable, given_up, failures, requests, seed }
    }
}

/// A case that is played.
struct Played {
    array: Array<Server>,
    oracle: Arc<Mutex<Oracle>>,
    /// By the numbers of requests.
    completions: BTreeMap<u64, Completion>,
    /// Of each request, the versions of its blocks that had been acknowledged when it came.
    acknowledged: Vec<BTreeMap<u64, u64>>,
    requests: Vec<Request>,
}

fn built(case: &Case) -> (Array<Server>, Arc<Mutex<Oracle>>) {
    let (data, parity, more, declustered) = case.layout;
    let width = data + parity;
    let in_use = if declustered { width + more } else { width * (1 + more % 2) };
    let mut words = vec!["layout=erasure".into(), format!("data={data}"), format!("parity={parity}")];
    words.push(format!("placement={}", if declustered { "declustered" } else { "rotated" }));
    words.extend(case.words.iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let member = |index: usize| {
        let random = Stream::new(case.seed, "drive").entity(index as u64);
        let (share, given_up) = (case.uncorrectable, case.given_up);
        let service = move |id, _: &Request| Span(20_000 + random.below(id, 100_000));
        let server = Server::new(Bytes(5 * width as u64 * 8192 + 4096 * index as u64), service);
        MemberDrive {
            name: format!("drive-{index}"),
            drive: server
                .that_fails(move |id| random.below(id + (1 << 40), 100) < share)
                .that_gives_up(move |id| (random.below(id + (1 << 41), 100) < given_up).then_some(0.3)),
            spare: index >= in_use,
            mean_life: None,
            fails_at: case.failures.get(index).map(|us| Span::from_us(*us)),
        }
    };
    let drives: Vec<_> = (0..in_use + case.spares).map(member).collect();
    let count = drives.len();
    let array = Array::new(&config(&words), drives, case.seed).unwrap();
    let oracle = Arc::new(Mutex::new(Oracle::new(array.placement(), count)));
    let chunk = array.placement().chunk;
    let array = array.observed_by(Box::new(Watching { oracle: oracle.clone(), chunk }));
    (array, oracle)
}

fn played(case: &Case) -> Played {
    let (mut array, oracle) = built(case);
    let blocks = array.capacity().0 / BLOCK;
    let mut current: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut completions, mut acknowledged, mut requests) = (BTreeMap::new(), Vec::new(), Vec::<Request>::new());
    let mut last = Time::ZERO;
    let mut book = |array: &mut Array<Server>, requests: &[Request], current: &mut BTreeMap<u64, u64>| {
        for completion in array.take_completions() {
            assert!(completion.finish >= last, "in the order of time");
            last = completion.finish;
            let request = completion.request;
            assert_eq!(request, requests[completion.id as usize]);
            assert!(completions.insert(completion.id, completion).is_none(), "once");
            if request.op == Op::Write && !completion.refused {
                for block in request.offset.0 / BLOCK..(request.offset.0 + request.bytes.0) / BLOCK {
                    let version = current.entry(block).or_default();
                    *version = (*version).max(completion.id + 1);
                }
            }
        }
    };
    array.workload_begins();
    let mut time = 0;
    for (gap, first, count, is_write) in &case.requests {
        time += gap * 1000;
        let count = (*count).min(blocks);
        let first = first % (blocks - count + 1);
        let op = if *is_write { Op::Write } else { Op::Read };
        array.advance(Time(time)).unwrap();
        book(&mut array, &requests, &mut current);
        let request = Request::new(Time(time), op, Bytes(first * BLOCK), Bytes(count * BLOCK));
        requests.push(request);
        acknowledged
            .push((first..first + count).map(|block| (block, current.get(&block).copied().unwrap_or(0))).collect());
        array.submit(request).unwrap();
    }
    while array.advance_to_completion(Time::NEVER).unwrap() {
        book(&mut array, &requests, &mut current);
    }
    book(&mut array, &requests, &mut current);
    array.check_all().unwrap();
    Played { array, oracle, completions, acknowledged, requests }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn nothing_acknowledged_is_lost_while_the_layout_allows_it(case in arrays()) {
        let Played { array, oracle, completions, acknowledged, requests } = played(&case);
        let oracle = oracle.lock().unwrap();
        prop_assert_eq!(completions.len(), requests.len());
        prop_assert_eq!(array.outstanding(), 0);
        let allowed = case.layout.1;
        let is_safe = case.failures.len() <= allowed && case.uncorrectable == 0;
        for completion in completions.values() {
            prop_assert!(!is_safe || !completion.refused && !completion.uncorrectable, "{:?}", completion);
        }
        for ((request, block), version) in &oracle.served {
            let Some(version) = version else {
                prop_assert!(completions[request].uncorrectable);
                continue;
            };
            // The version that was acknowledged when the read came, or a later one of those that had come before it completed.
            let least = acknowledged[*request as usize][block];
            let finish = completions[request].finish;
            let is_sound = *version == 0 || {
                let write = &requests[*version as usize - 1];
                let holds = write.offset.0 / BLOCK <= *block && *block < (write.offset.0 + write.bytes.0) / BLOCK;
                holds && write.op == Op::Write && write.time <= finish
            };
            prop_assert!(*version >= least && is_sound, "request {} read version {} of block {}, and had to read {}", request, version, block, least);
        }
        if is_safe {
            let mut current: BTreeMap<u64, u64> = BTreeMap::new();
            let writes = requests.iter().zip(1..).filter(|(request, _)| request.op == Op::Write);
            for (request, version) in writes {
                let blocks = request.offset.0 / BLOCK..(request.offset.0 + request.bytes.0) / BLOCK;
                current.extend(blocks.map(|block| (block, version)));
            }
            oracle.check(array.placement(), &array.drives_in_place(), &current);
            let failed = case.failures.len();
            let rebuilt: BTreeSet<usize> = array.counters_so_far().rebuilds.iter().filter(|rebuild| rebuild.ended.is_some()).map(|rebuild| rebuild.drive).collect();
            prop_assert_eq!(rebuilt.len(), failed.min(case.spares), "all rebuilds have ended");
        }
    }

    #[test]
    fn the_same_array_does_the_same_twice(case in arrays()) {
        prop_assert_eq!(played(&case).completions, played(&case).completions);
    }
}
