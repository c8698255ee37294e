//! Random arrays under random loads, with drives that fail and are rebuilt: each request completes once, in the order
//! of time; what was acknowledged is not lost as long as no more drives are missing than the layout allows; and what is
//! read is what was written.

use std::collections::BTreeSet;

use array::{Array, Layout, MemberDrive};
use proptest::collection::vec;
use proptest::prelude::*;
use ssd::Drive;
use testing::arrays::{BLOCK, Books, Expected, Watching};
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
    /// Writes go to a log.
    log: bool,
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
        Case { layout: (data, parity, more, declustered), spares, words, uncorrectable, given_up, failures, errors, requests, seed, log: false }
    }
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![10 => Just(Op::Read), 10 => Just(Op::Write), 2 => Just(Op::Trim), 1 => Just(Op::Flush)]
}

/// Arrays of which writes go to a log.
fn logs() -> impl Strategy<Value = Case> {
    (arrays(), prop_oneof![Just("0.6"), Just("0.8")], prop_oneof![Just("20us"), Just("300us")]).prop_map(
        |(case, spare, wait)| {
            let (data, parity, more, declustered) = case.layout;
            let mut words = case.words;
            words.extend(["rewrite=log".into(), format!("log_spare={spare}"), format!("log_wait={wait}")]);
            Case { layout: (data.max(2), parity, more, declustered), words, log: true, ..case }
        },
    )
}

impl Case {
    /// Bytes of a chunk: of a log, some slices.
    fn chunk(&self) -> u64 {
        if self.log { 32 << 10 } else { 8 << 10 }
    }

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
    books: Books,
}

fn built(case: &Case) -> (Array<Server>, Watching) {
    let (data, parity, more, declustered) = case.layout;
    let width = data + parity;
    let in_use = if declustered { width + more } else { width * (1 + more % 2) };
    let mut words = vec!["layout=erasure".into(), format!("data={data}"), format!("parity={parity}")];
    words.push(format!("placement={}", if declustered { "declustered" } else { "rotated" }));
    words.push(format!("chunk={}KiB", case.chunk() >> 10));
    words.extend(case.words.iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let member = |index: usize| {
        let random = Stream::new(case.seed, "drive").entity(index as u64);
        let (share, given_up) = (case.uncorrectable, case.given_up);
        let service = move |id, _: &Request| Span(20_000 + random.below(id, 100_000));
        // A wide stripe has so much data that a few are enough.
        let rows = if width > 20 { 2 } else { 5 * width as u64 };
        let server = Server::new(Bytes(rows * case.chunk() + 4096 * index as u64), service);
        MemberDrive {
            name: format!("drive-{index}"),
            drive: Box::new(
                server
                    .that_fails(move |id| random.below(id + (1 << 40), 100) < share)
                    .that_gives_up(move |id| (random.below(id + (1 << 41), 100) < given_up).then_some(0.3))
                    .with_errors_at(case.errors_of(index, in_use).into_iter().map(|row| row * case.chunk()).collect()),
            ),
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
    let mut books = Books::default();
    array.workload_begins();
    let mut time = 0;
    for (gap, first, count, op) in &case.requests {
        time += gap * 1000;
        let count = (*count).min(blocks);
        let first = first % (blocks - count + 1);
        array.advance(Time(time)).unwrap();
        books.take(&mut array);
        let (offset, bytes) = if *op == Op::Flush { (0, 0) } else { (first * BLOCK, count * BLOCK) };
        books.submit(&mut array, Request::new(Time(time), *op, Bytes(offset), Bytes(bytes))).unwrap();
    }
    // Until the last drive has failed.
    array.advance(Time(time.max(6_000_000))).unwrap();
    books.take(&mut array);
    books.play_to_the_end(&mut array, case.seed).unwrap();
    Played { array, watching, books }
}

#[test]
fn the_widest_code_loses_nothing_when_as_many_drives_fail_as_it_allows() {
    let request = |index: u64| (70, index * 97, 1 + index % 19, [Op::Write, Op::Write, Op::Read][index as usize % 3]);
    let case = Case {
        layout: (200, 55, 0, false),
        spares: 0,
        words: Vec::new(),
        uncorrectable: 0,
        given_up: 0,
        // Those whose numbers a word of 64 bits has, and others.
        failures: (0..55).map(|drive| drive * 100).collect(),
        errors: Vec::new(),
        requests: (0..120).map(request).collect(),
        seed: 4,
        log: false,
    };
    let Played { array, watching, books } = played(&case);
    let expected = Expected { nothing_lost: true, exact: true, nothing_given_up: true };
    assert_eq!(books.check(&array, &watching.oracle(), expected), Ok(()));
    let counters = array.counters_so_far();
    assert_eq!(counters.drives_failed, 55);
    assert!(counters.reads_reconstructed > 20, "{counters:?}");
    let (wide, drives) = (config(&["layout=erasure", "parity=56"]), 256);
    let refused = wide.code(drives).unwrap_err().to_string();
    assert!(refused.contains("gives a stripe 256 chunks") && refused.contains("255 at most"), "{refused}");
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn nothing_acknowledged_is_lost_while_the_layout_allows_it(case in prop_oneof![2 => arrays().boxed(), 1 => logs().boxed()]) {
        let Played { array, watching, books } = played(&case);
        // What cannot be read is not always the same, so that a repair may come too late.
        let is_clean = case.uncorrectable == 0;
        let nothing_lost = is_clean && case.most_lost(array.placement()) <= case.layout.1;
        let without_errors = is_clean && case.errors.iter().all(|count| *count == 0);
        let expected = Expected { nothing_lost, exact: nothing_lost || without_errors, nothing_given_up: without_errors };
        let checked = books.check(&array, &watching.oracle(), expected);
        prop_assert_eq!(checked, Ok(()));
        if nothing_lost {
            let failed = case.failures.len();
            let rebuilt: BTreeSet<usize> = array.counters_so_far().rebuilds.iter().filter(|rebuild| rebuild.ended.is_some()).map(|rebuild| rebuild.drive).collect();
            prop_assert_eq!(rebuilt.len(), failed.min(case.spares), "all rebuilds have ended");
        }
    }

    #[test]
    fn the_same_array_does_the_same_twice(case in arrays()) {
        prop_assert_eq!(played(&case).books.completions, played(&case).books.completions);
    }
}
