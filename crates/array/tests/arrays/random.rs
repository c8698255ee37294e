//! Random arrays under random loads, with drives that fail and are rebuilt: each request completes once, in the order of time; what was
//! acknowledged is not lost as long as no more drives are missing than the layout allows; and what is read is what was written.

use std::collections::{BTreeMap, BTreeSet};

use array::{Array, Layout, MemberDrive};
use proptest::collection::vec;
use proptest::prelude::*;
use ssd::{Completion, Drive};
use testing::arrays::{BLOCK, Watching, current, reads_of_all};
use testing::cases;
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request};

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
    /// Errors that no read has met: in each row, of how many drives' chunks.
    errors: Vec<usize>,
    /// Time since the request before \[us], first block, blocks, what is asked.
    requests: Vec<(u64, u64, u64, Op)>,
    seed: u64,
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let select = prop_oneof![Just("primary"), Just("round-robin"), Just("shortest-queue")];
    let hedge = prop_oneof![Just("none"), Just("delay"), Just("percentile")];
    let link = prop_oneof![Just(("none", "0ns")), Just(("none", "3us")), Just(("500MB/s", "1us"))];
    let scrub = prop_oneof![Just("none"), Just("20MB/s"), Just("400MB/s")];
    let windows = prop_oneof![Just("none"), Just("staggered"), Just("together")];
    let late = (prop_oneof![Just("40us"), Just("150us")], prop_oneof![Just("50"), Just("95")]);
    let rest = (1..5u16, any::<bool>(), scrub, windows, late);
    (select, hedge, 0..2u16, link, rest).prop_map(|(select, hedge, extra, link, rest)| {
        let (depth, repair, scrub, windows, (delay, percentile)) = rest;
        vec![
            format!("select={select}"),
            format!("hedge={hedge}"),
            format!("hedge_delay={delay}"),
            format!("hedge_percentile={percentile}"),
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
        errors in prop_oneof![1 => Just(Vec::new()), 1 => vec(0..3usize, 5)],
        requests in vec((0..150u64, any::<u64>(), 1..20u64, ops()), 1..150),
        seed: u64,
    ) -> Case {
        Case { layout: (data, parity, more, declustered), spares, words, uncorrectable, given_up, failures, errors, requests, seed }
    }
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![10 => Just(Op::Read), 10 => Just(Op::Write), 2 => Just(Op::Trim), 1 => Just(Op::Flush)]
}

impl Case {
    /// The rows in which a drive has an error in its chunk.
    fn errors_of(&self, drive: usize, in_use: usize) -> BTreeSet<u64> {
        let has = |row: usize, count: usize| (drive + in_use - row * 3 % in_use) % in_use < count.min(in_use);
        let rows = self.errors.iter().enumerate().filter(|(row, count)| drive < in_use && has(*row, **count));
        rows.map(|(row, _)| row as u64).collect()
    }

    /// Most units of a stripe that drives lose, or have lost from the beginning on.
    fn most_lost(&self, layout: &Layout) -> usize {
        let bad: Vec<BTreeSet<u64>> = (0..layout.drives).map(|drive| self.errors_of(drive, layout.drives)).collect();
        let is_bad = |stripe: u64, unit: &usize| {
            let spot = layout.spot(stripe, *unit);
            bad[spot.place].contains(&spot.row)
        };
        let of_stripe = |stripe: u64| (0..layout.code.width()).filter(|unit| is_bad(stripe, unit)).count();
        self.failures.len() + (0..layout.stripes()).map(of_stripe).max().unwrap_or(0)
    }
}

/// A case that is played.
struct Played {
    array: Array<Server>,
    watching: Watching,
    /// By the numbers of requests.
    completions: BTreeMap<u64, Completion>,
    /// Of each request, the versions of its blocks that had been acknowledged when it came.
    acknowledged: Vec<BTreeMap<u64, u64>>,
    requests: Vec<Request>,
    /// How many of them come before all data is read.
    of_case: usize,
}

fn built(case: &Case) -> (Array<Server>, Watching) {
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
                .that_gives_up(move |id| (random.below(id + (1 << 41), 100) < given_up).then_some(0.3))
                .with_errors_at(case.errors_of(index, in_use).into_iter().map(|row| row * 8192).collect()),
            spare: index >= in_use,
            mean_life: None,
            fails_at: case.failures.get(index).map(|us| Span::from_us(*us)),
        }
    };
    let drives: Vec<_> = (0..in_use + case.spares).map(member).collect();
    let count = drives.len();
    let array = Array::new(&config(&words), drives, case.seed).unwrap();
    let watching = Watching::new(array.placement(), count);
    (array.observed_by(Box::new(watching.clone())), watching)
}

fn played(case: &Case) -> Played {
    let (mut array, watching) = built(case);
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
    for (gap, first, count, op) in &case.requests {
        time += gap * 1000;
        let count = (*count).min(blocks);
        let first = first % (blocks - count + 1);
        array.advance(Time(time)).unwrap();
        book(&mut array, &requests, &mut current);
        let (offset, bytes) = if *op == Op::Flush { (0, 0) } else { (first * BLOCK, count * BLOCK) };
        let request = Request::new(Time(time), *op, Bytes(offset), Bytes(bytes));
        requests.push(request);
        acknowledged
            .push((first..first + count).map(|block| (block, current.get(&block).copied().unwrap_or(0))).collect());
        array.submit(request).unwrap();
    }
    // To the end, rebuilds included.
    array.flush().unwrap();
    book(&mut array, &requests, &mut current);
    let of_case = requests.len();
    for request in reads_of_all(&array, case.seed) {
        let request = Request { time: array.now(), ..request };
        requests.push(request);
        array.submit(request).unwrap();
        while array.advance_to_completion(Time::NEVER).unwrap() {
            book(&mut array, &requests, &mut current);
        }
    }
    array.flush().unwrap();
    book(&mut array, &requests, &mut current);
    array.check_all().unwrap();
    Played { array, watching, completions, acknowledged, requests, of_case }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn nothing_acknowledged_is_lost_while_the_layout_allows_it(case in arrays()) {
        let Played { array, watching, completions, acknowledged, requests, of_case } = played(&case);
        let oracle = watching.oracle();
        prop_assert_eq!(completions.len(), requests.len());
        prop_assert_eq!(array.outstanding(), 0);
        let layout = array.placement();
        // What cannot be read is not always the same, so that a repair may come too late.
        let is_clean = case.uncorrectable == 0;
        let is_safe = is_clean && case.most_lost(layout) <= case.layout.1;
        for completion in completions.values() {
            prop_assert!(!is_safe || !completion.refused && !completion.uncorrectable, "{:?}", completion);
        }
        if is_clean && case.errors.iter().all(|count| *count == 0) {
            prop_assert_eq!(&oracle.given_up, &None);
        }
        for ((request, block), version) in &oracle.served {
            let Some(version) = version else {
                prop_assert!(completions[request].uncorrectable);
                continue;
            };
            // The version that was acknowledged when the read came, or a later one of those that had come before it completed.
            let least = acknowledged.get(*request as usize).map_or(0, |acknowledged| acknowledged[block]);
            let finish = completions[request].finish;
            let is_sound = *version == 0 || {
                let write = &requests[*version as usize - 1];
                let holds = write.offset.0 / BLOCK <= *block && *block < (write.offset.0 + write.bytes.0) / BLOCK;
                holds && [Op::Write, Op::Trim].contains(&write.op) && write.time <= finish
            };
            prop_assert!(*version >= least && is_sound, "request {} read version {} of block {}, and had to read {}", request, version, block, least);
        }
        if is_safe || is_clean && case.errors.is_empty() {
            let current = current(layout, &oracle, &requests);
            let there = oracle.check(&array.drives_in_place(), &current);
            prop_assert!(!is_safe || there == layout.stripes());
            // And what the host has read in the end of what is left is just that.
            let is_left = |block: u64| oracle.is_there(layout.locate(block * BLOCK).stripe);
            let last = oracle.served.iter().filter(|((id, block), _)| *id as usize >= of_case && is_left(*block));
            for ((request, block), version) in last {
                let expected = current.get(block).copied().unwrap_or(0);
                prop_assert!(*version == Some(expected), "request {} of block {}", request, block);
            }
        }
        if is_safe {
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
