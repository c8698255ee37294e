//! The generator: every key has its effect, and the statistics are those asked for.

use std::collections::HashMap;

use crate::common::drain;
use proptest::prelude::*;
use units::value::{Scalar, Value};
use units::{Bytes, Document, Fraction, Span, Time};
use workload::{Alignment, Arrivals, Distribution, Generator, Op, Request, Rw, Sizes, Workload, presets};

const CAPACITY: Bytes = Bytes(1 << 30);
/// Room for every preset.
const LARGE: Bytes = Bytes(1 << 37);

fn requests(generator: &Generator, seed: u64) -> Vec<Request> {
    play(&generator.clone().into(), seed)
}

/// The requests of an open loop.
fn play(workload: &Workload, seed: u64) -> Vec<Request> {
    drain(&mut *workload.source(CAPACITY, seed).unwrap(), 4096).unwrap()
}

fn read(text: &str) -> Result<Workload, String> {
    let document = Document::parse(text, "work.toml").unwrap();
    Workload::read(&document, &[], None).map_err(|error| error.to_string())
}

fn plain() -> Generator {
    Generator { requests: 100_000, random_distribution: Distribution::Random, ..Generator::default() }
}

fn mean_gap(requests: &[Request]) -> f64 {
    requests.last().unwrap().time.0 as f64 / (requests.len() - 1) as f64
}

#[test]
fn requests_is_their_number() {
    for count in [1, 2, 777] {
        assert_eq!(requests(&Generator { requests: count, ..plain() }, 1).len(), count as usize);
    }
}

#[test]
fn read_ratio_is_the_share_of_reads() {
    for share in [0.0, 0.1, 0.7, 1.0] {
        let all = requests(&Generator { read_ratio: Fraction(share), ..plain() }, 1);
        let reads = all.iter().filter(|request| request.op == Op::Read).count() as f64 / all.len() as f64;
        assert!((reads - share).abs() < 0.01, "{reads} for {share}");
        assert!(share.fract() != 0.0 || reads == share, "all or none is exact");
    }
}

#[test]
fn random_addresses_cover_the_footprint_evenly() {
    let generator = Generator { align: Alignment::Of(Bytes(16 << 10)), footprint: Some(Bytes(100 << 20)), ..plain() };
    let mut tenths = [0u32; 10];
    for request in requests(&generator, 1) {
        tenths[(request.offset.0 / (10 << 20)) as usize] += 1;
    }
    assert!(tenths.iter().all(|count| (9_600..10_400).contains(count)), "{tenths:?}");
}

#[test]
fn zipf_sets_how_often_the_most_popular_address_is_met() {
    for theta in [0.5, 0.99, 1.0, 1.2] {
        let generator = Generator {
            requests: 1_000_000,
            random_distribution: Distribution::Zipf(theta),
            align: Alignment::Of(Bytes(16 << 10)),
            footprint: Some(Bytes(16 << 20)),
            ..plain()
        };
        let mut counts: HashMap<u64, f64> = HashMap::new();
        requests(&generator, 1).iter().for_each(|request| *counts.entry(request.offset.0).or_default() += 1.0);
        let mut popular: Vec<(u64, f64)> = counts.into_iter().collect();
        popular.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = (1..=1024).map(|k| f64::from(k).powf(-theta)).sum();
        for (rank, (_, count)) in (1..).zip(popular.iter().take(3)) {
            let expected = 1e6 * f64::from(rank).powf(-theta) / total;
            assert!((count / expected - 1.0).abs() < 0.02, "theta {theta}, rank {rank}: {count} for {expected}");
        }
        let span = popular[..20].iter().map(|(offset, _)| offset).max().unwrap();
        assert!(*span > 8 << 20, "popular addresses are scattered");
    }
}

#[test]
fn sequential_requests_follow_each_other_and_wrap() {
    let generator = Generator {
        requests: 1000,
        rw: Rw::Rw,
        bs: Sizes::Fixed(Bytes(6 << 10)),
        footprint: Some(Bytes(1 << 20)),
        ..plain()
    };
    // 6 KiB at multiples of 4 KiB: one request every 8 KiB.
    for (i, request) in requests(&generator, 1).iter().enumerate() {
        assert_eq!(request.offset.0, i as u64 % 128 * 8192);
    }
    let dense = requests(&Generator { align: Alignment::Of(Bytes(1)), ..generator }, 1);
    assert_eq!(dense[7].offset.0, 7 * 6144);
    let ends = dense.iter().map(|request| request.offset.0 + request.bytes.0).max().unwrap();
    assert!(ends <= 1 << 20 && ends > (1 << 20) - 6144);
}

#[test]
fn size_and_align_shape_every_request() {
    for rw in [Rw::RandRw, Rw::Read, Rw::RandTrim] {
        for (size, align) in [(4096, 4096), (512, 8192), (16_384, 4096)] {
            let generator =
                Generator { rw, bs: Sizes::Fixed(Bytes(size)), align: Alignment::Of(Bytes(align)), ..plain() };
            for request in requests(&generator, 1) {
                assert_eq!((request.bytes.0, request.offset.0 % align), (size, 0));
                assert!(request.offset.0 + size <= CAPACITY.0);
            }
        }
        let generator = Generator { rw, bs: Sizes::Fixed(Bytes(1000)), align: Alignment::Of(Bytes(1)), ..plain() };
        let unaligned = requests(&generator, 1).iter().filter(|request| request.offset.0 % 4096 != 0).count();
        assert!(unaligned > 90_000, "{rw:?}: {unaligned}");
    }
}

#[test]
fn footprint_bounds_the_addresses_and_none_is_the_device() {
    let reach = |footprint| {
        let all = requests(&Generator { footprint, ..plain() }, 1);
        all.iter().map(|request| request.offset.0 + request.bytes.0).max().unwrap()
    };
    assert!(reach(None) > CAPACITY.0 * 99 / 100);
    let small = reach(Some(Bytes(3 << 20)));
    assert!(small <= 3 << 20 && small > 2 << 20);
    let all = requests(&Generator { bs: Sizes::Fixed(Bytes(4096)), footprint: Some(Bytes(4096)), ..plain() }, 1);
    assert!(all.iter().all(|request| request.offset.0 == 0));
}

#[test]
fn rate_sets_the_mean_gap_and_none_puts_all_at_time_zero() {
    for rate in [0.3, 1234.5, 40_000.0, 3e6, 7e8] {
        for arrivals in [Arrivals::Poisson, Arrivals::Fixed] {
            let all = requests(&Generator { rate_iops: Some(rate), arrivals, ..plain() }, 1);
            assert_eq!(all[0].time, Time(0));
            assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
            let error = mean_gap(&all) / (1e9 / rate) - 1.0;
            assert!(error.abs() < 0.01, "{rate}/s {arrivals:?}: {error}");
        }
    }
    assert!(requests(&Generator { rate_iops: None, ..plain() }, 1).iter().all(|request| request.time == Time(0)));
}

#[test]
fn fixed_arrivals_have_equal_gaps_that_never_drift() {
    let generator = Generator { rate_iops: Some(3e6), arrivals: Arrivals::Fixed, requests: 3_000_001, ..plain() };
    let all = requests(&generator, 1);
    assert!(all.windows(2).all(|pair| matches!(pair[1].time.0 - pair[0].time.0, 333 | 334)));
    assert!(all[3_000_000].time.0.abs_diff(1_000_000_000) <= 1);
}

#[test]
fn poisson_gaps_are_exponential() {
    let all = requests(&Generator { rate_iops: Some(1e5), ..plain() }, 1);
    let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1].time.0 - pair[0].time.0) as f64).collect();
    let beyond = |gap: f64| gaps.iter().filter(|g| **g > gap).count() as f64 / gaps.len() as f64;
    for means in [0.5f64, 1.0, 2.0, 3.0] {
        assert!((beyond(means * 1e4) - (-means).exp()).abs() < 0.005);
    }
}

#[test]
fn queues_are_dealt_in_turn() {
    for queues in [1, 2, 7] {
        let all = requests(&Generator { queues, ..plain() }, 1);
        assert!(all.iter().enumerate().all(|(i, request)| request.queue == (i % usize::from(queues)) as u16));
    }
}

#[test]
fn the_same_seed_gives_the_same_requests_in_any_batches() {
    // Programs have keys of their own, and what a KV cache asks for depends on what completes.
    for name in presets::names().filter(|name| presets::get(name, &[]).unwrap().program.is_none()) {
        let one_by_one = ["workload.thinktime=0s", "workload.batch=1", "workload.steps=1"];
        let words = [&["workload.requests=20000", "workload.iodepth=none"], one_by_one.as_slice()].concat();
        let mut workload = presets::get(name, &words).unwrap();
        workload.jobs.iter_mut().for_each(|(_, job)| job.iodepth = None);
        let source = |seed| workload.source(LARGE, seed).unwrap();
        let all = drain(&mut *source(5), 4096).unwrap();
        for batch in [1, 7, 20_000, usize::MAX] {
            assert_eq!(drain(&mut *source(5), batch).unwrap(), all, "{name}");
        }
        if !["sequential-read-256k", "llm/weights", "llm/checkpoint"].contains(&name) {
            let other = drain(&mut *source(6), 4096).unwrap();
            assert!(!all.iter().map(|request| request.offset).eq(other.iter().map(|request| request.offset)), "{name}");
        }
    }
}

/// What each file of the preset `lsm` is: a trim, and 64 MiB that are written behind it in order, by level.
#[test]
fn the_files_of_an_lsm_are_trimmed_before_their_place_is_written_again() {
    let words = ["workload.requests=40000", "job.log.requests=100"];
    let mut source = presets::get("lsm", &words).unwrap().source(LARGE, 1).unwrap();
    let mut writes_to: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
    let mut trims = 0;
    for request in drain(&mut *source, 4096).unwrap() {
        let file = request.offset.0 >> 26;
        match request.op {
            Op::Trim => {
                assert_eq!((request.offset.0, request.bytes.0), (file << 26, 1 << 26));
                writes_to.insert(file, file << 26);
                trims += 1;
            }
            Op::Write => {
                let next = writes_to.get_mut(&file).expect("a trim comes first");
                assert_eq!(request.offset.0, *next);
                *next += request.bytes.0;
                assert!((0..=3).contains(&request.hint));
            }
            op => assert_eq!(op, Op::Read),
        }
    }
    assert!(trims > 400, "{trims}");
}

#[test]
fn one_choice_does_not_disturb_the_other_draws() {
    let base = requests(&plain(), 1);
    let closed = requests(&Generator { rate_iops: None, ..plain() }, 1);
    assert!(base.iter().zip(&closed).all(|(a, b)| (a.offset, a.op) == (b.offset, b.op)));
    let writes = requests(&Generator { read_ratio: Fraction(0.0), ..plain() }, 1);
    assert!(base.iter().zip(&writes).all(|(a, b)| (a.offset, a.time) == (b.offset, b.time)));
    let zipf = requests(&Generator { random_distribution: Distribution::Zipf(0.9), ..plain() }, 1);
    assert!(base.iter().zip(&zipf).all(|(a, b)| (a.op, a.time) == (b.op, b.time)));
}

#[test]
fn random_once_accesses_every_block_once_before_any_again() {
    let blocks = 1000;
    let bs = Bytes::from_kib(16);
    let generator = Generator {
        requests: 3 * blocks,
        bs: Sizes::Fixed(bs),
        align: Alignment::Of(bs),
        footprint: Some(Bytes(blocks * bs.0)),
        random_distribution: Distribution::RandomOnce,
        ..plain()
    };
    let all = requests(&generator, 1);
    let passes: Vec<Vec<u64>> =
        all.chunks(blocks as usize).map(|pass| pass.iter().map(|request| request.offset.0 / bs.0).collect()).collect();
    assert_eq!(passes.len(), 3);
    for pass in &passes {
        let mut sorted = pass.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..blocks));
    }
    // No block at the same place in two orders but by chance: one on average.
    let same = passes[0].iter().zip(&passes[1]).filter(|(a, b)| a == b).count();
    assert!(same < 10, "{same}");
    assert_ne!(
        passes[0],
        requests(&generator, 2)[..blocks as usize].iter().map(|r| r.offset.0 / bs.0).collect::<Vec<_>>()
    );
}

#[test]
fn rw_says_what_is_done() {
    for (rw, op, in_sequence) in [
        (Rw::Read, Op::Read, true),
        (Rw::Write, Op::Write, true),
        (Rw::Trim, Op::Trim, true),
        (Rw::RandRead, Op::Read, false),
        (Rw::RandWrite, Op::Write, false),
        (Rw::RandTrim, Op::Trim, false),
    ] {
        let all = requests(&Generator { rw, requests: 1000, ..plain() }, 1);
        assert!(all.iter().all(|request| request.op == op), "{rw:?}");
        let follows = |pair: &[Request]| pair[1].offset.0 == pair[0].offset.0 + pair[0].bytes.0;
        assert_eq!(all.windows(2).all(follows), in_sequence, "{rw:?}");
    }
}

#[test]
fn split_sizes_have_their_shares_and_stay_in_the_footprint() {
    let sizes = Sizes::Split(vec![(Bytes(4096), 60.0), (Bytes(65_536), 30.0), (Bytes(1 << 20), 10.0)]);
    let all = requests(&Generator { bs: sizes, footprint: Some(Bytes(3 << 20)), ..plain() }, 1);
    for (size, share) in [(4096, 0.6), (65_536, 0.3), (1 << 20, 0.1)] {
        let found = all.iter().filter(|request| request.bytes.0 == size).count() as f64 / all.len() as f64;
        assert!((found - share).abs() < 0.01, "{size}: {found}");
    }
    assert!(all.iter().all(|request| request.offset.0 + request.bytes.0 <= 3 << 20 && request.offset.0 % 4096 == 0));
    let sequence =
        Generator { rw: Rw::Write, bs: Sizes::Split(vec![(Bytes(512), 1.0), (Bytes(9000), 1.0)]), ..plain() };
    assert!(requests(&sequence, 1).windows(2).all(|pair| {
        pair[1].offset.0 == (pair[0].offset.0 + pair[0].bytes.0).next_multiple_of(4096) || pair[1].offset.0 == 0
    }));
}

#[test]
fn a_mean_size_is_met_with_multiples_of_the_alignment() {
    for (mean, align) in [(4096, 4096), (9 << 10, 4096), (54 << 10, 4096), (3500, 512), (1 << 20, 4096)] {
        let generator = Generator {
            bs: Sizes::Mean(Bytes(mean)),
            align: Alignment::Of(Bytes(align)),
            requests: 400_000,
            ..plain()
        };
        let all = requests(&generator, 1);
        let found = all.iter().map(|request| request.bytes.0 as f64).sum::<f64>() / all.len() as f64;
        assert!((found / mean as f64 - 1.0).abs() < 0.01, "{found} for {mean}");
        assert!(all.iter().all(|r| r.bytes.0 % align == 0 && r.bytes.0 >= align && r.bytes.0 <= 17 * mean));
        // Geometric: with the mean its only parameter, the share of the smallest size is its inverse in units.
        let least = all.iter().filter(|request| request.bytes.0 == align).count() as f64 / all.len() as f64;
        assert!((least - align as f64 / mean as f64).abs() < 0.005, "{least}");
    }
}

/// How many of the accesses fall into each tenth of the footprint, in address order or by popularity.
fn tenths(distribution: Distribution, by_popularity: bool) -> Vec<f64> {
    let generator = Generator {
        requests: 500_000,
        random_distribution: distribution,
        bs: Sizes::Fixed(Bytes(4096)),
        footprint: Some(Bytes(4_096_000)),
        ..plain()
    };
    let mut counts = vec![0.0; 1000];
    requests(&generator, 1).iter().for_each(|request| counts[(request.offset.0 / 4096) as usize] += 1.0 / 500_000.0);
    if by_popularity {
        counts.sort_by(|a: &f64, b| b.total_cmp(a));
    }
    counts.chunks(100).map(|tenth| tenth.iter().sum()).collect()
}

#[test]
fn pareto_normal_and_zoned_follow_their_laws() {
    // A share h of the addresses gets 1 - h of the accesses: x of them get x^(ln(1-h)/ln h).
    for h in [0.1f64, 0.2, 0.4] {
        let found = tenths(Distribution::Pareto(h), true);
        let power = (1.0 - h).ln() / h.ln();
        for (tenth, share) in found.iter().enumerate() {
            let expected = (tenth as f64 / 10.0 + 0.1).powf(power) - (tenth as f64 / 10.0).powf(power);
            assert!((share - expected).abs() < 0.01, "h {h}, tenth {tenth}: {share} for {expected}");
        }
    }
    let normal = tenths(Distribution::Normal(10.0), false);
    // Between 0 and 1 deviations from the middle: 34.1 %, the next 13.6 %, the third 2.1 %.
    for (tenth, expected) in [(5, 0.3413), (4, 0.3413), (6, 0.1359), (3, 0.1359), (7, 0.0214), (9, 0.0)] {
        assert!((normal[tenth] - expected).abs() < 0.004, "{normal:?}");
    }
    let wide = tenths(Distribution::Normal(100.0), false);
    assert!(wide.iter().all(|share| (share - 0.1).abs() < 0.02), "{wide:?}");
    let zones = Distribution::Zoned(vec![(60.0, 10.0), (30.0, 20.0), (8.0, 30.0), (2.0, 40.0)]);
    let zoned = tenths(zones, false);
    for (tenth, expected) in
        [0.6, 0.15, 0.15, 0.08 / 3.0, 0.08 / 3.0, 0.08 / 3.0, 0.005, 0.005, 0.005, 0.005].iter().enumerate()
    {
        assert!((zoned[tenth] - expected).abs() < 0.003, "{zoned:?}");
    }
}

/// The share of reads none of whose 4-KiB pages is ever written (asplos21 7.1, hpca24 VI).
fn cold_share(all: &[Request]) -> f64 {
    let pages = |request: &Request| request.offset.0 / 4096..=(request.offset.0 + request.bytes.0 - 1) / 4096;
    let of = |op| all.iter().filter(move |request| request.op == op);
    let written: std::collections::HashSet<u64> = of(Op::Write).flat_map(pages).collect();
    let cold = of(Op::Read).filter(|request| pages(request).all(|page| !written.contains(&page))).count();
    cold as f64 / of(Op::Read).count() as f64
}

#[test]
fn the_cold_read_ratio_is_met_whatever_else_is_asked() {
    for (cold, reads) in [(0.0, 0.5), (0.22, 0.36), (0.72, 0.98), (1.0, 0.3), (1.0, 1.0)] {
        for bs in [Sizes::Fixed(Bytes(16 << 10)), Sizes::Mean(Bytes(12 << 10))] {
            for written in [0.1, 0.7] {
                let generator = Generator {
                    cold_read_ratio: Some(Fraction(cold)),
                    read_ratio: Fraction(reads),
                    written: Fraction(written),
                    bs: bs.clone(),
                    random_distribution: Distribution::Zipf(0.9),
                    ..plain()
                };
                let all = requests(&generator, 1);
                let found = cold_share(&all);
                assert!((found - cold).abs() < 0.01, "{found} for {cold} at {reads} reads");
                let edge = (CAPACITY.0 as f64 * written) as u64;
                assert!(all.iter().filter(|r| r.op == Op::Write).all(|r| r.offset.0 + r.bytes.0 <= edge));
            }
        }
    }
}

#[test]
fn bursty_gaps_have_the_variation_asked_for_and_the_same_mean() {
    for c2 in [1.5, 4.0, 20.0] {
        let generator =
            Generator { requests: 2_000_000, arrivals: Arrivals::Bursty(c2), rate_iops: Some(1e4), ..plain() };
        let all = requests(&generator, 1);
        let mean = mean_gap(&all);
        assert!((mean / 1e5 - 1.0).abs() < 0.01, "{mean}");
        let square = |pair: &[Request]| ((pair[1].time.0 - pair[0].time.0) as f64 - mean).powi(2);
        let variance = all.windows(2).map(square).sum::<f64>() / (all.len() - 1) as f64;
        assert!((variance / mean / mean / c2 - 1.0).abs() < 0.03, "{} for {c2}", variance / mean / mean);
    }
}

#[test]
fn batches_come_at_once_and_keep_the_mean_rate() {
    for size in [1.0, 4.0, 50.0] {
        let arrivals = Arrivals::Batches(size, Span(0));
        let generator = Generator { requests: 1_000_000, arrivals, rate_iops: Some(1e4), ..plain() };
        let all = requests(&generator, 1);
        assert!((mean_gap(&all) / 1e5 - 1.0).abs() < 0.025, "{}", mean_gap(&all));
        let gaps = all.windows(2).filter(|pair| pair[1].time > pair[0].time).count() as f64;
        assert!((1e6 / gaps / size - 1.0).abs() < 0.02, "{size}: {}", 1e6 / gaps);
    }
}

#[test]
fn a_batch_with_gaps_has_as_many_requests_and_the_same_mean_rate() {
    // One every 1 us on average in batches of 20, one every 100 us in all: a gap above 20 us lies between two batches.
    let arrivals = Arrivals::Batches(20.0, Span(1_000));
    assert_eq!(arrivals.write(), Scalar::Text("batches:20/1us".into()));
    assert_eq!(Arrivals::read(&arrivals.write()), Some(arrivals));
    let all = requests(&Generator { requests: 1_000_000, arrivals, rate_iops: Some(1e4), ..plain() }, 1);
    assert!((mean_gap(&all) / 1e5 - 1.0).abs() < 0.025, "{}", mean_gap(&all));
    let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1].time.0 - pair[0].time.0).collect();
    let (within, between): (Vec<u64>, Vec<u64>) = gaps.iter().partition(|gap| **gap < 20_000);
    // Of the gaps between batches, with a mean of 1.981 ms, 1 % are below 20 us.
    assert!((1e6 / 20.0 * 0.99 / between.len() as f64 - 1.0).abs() < 0.03, "{}", between.len());
    assert!((within.iter().sum::<u64>() as f64 / within.len() as f64 / 1_000.0 - 1.0).abs() < 0.03);
}

#[test]
fn fios_words_and_those_of_the_tables_set_the_same_keys() {
    let job = |text: &str| read(&format!("[workload]\n{text}\n")).unwrap().jobs.remove(0).1;
    for (word, key) in [
        ("rwmixread = 30", "read_ratio = 0.3"),
        ("rwmixwrite = 70", "read_ratio = \"30%\""),
        ("bssplit = \"4k/60:64k/40\"", "bs = \"4KiB/60:64KiB/40\""),
        ("bs = \"8k\"", "bs = \"8KiB\""),
        ("mean_size = \"54KiB\"", "bs = \"mean:54KiB\""),
        ("blockalign = \"8KiB\"", "align = \"8KiB\""),
        ("number_ios = 5", "requests = 5"),
        ("interarrival = \"16.3ms\"", "rate_iops = 61.34969325153374"),
        ("burstiness = 8", "arrivals = \"bursty:8\""),
        ("burstiness = 1", "arrivals = \"poisson\""),
        ("burstiness = 0", "arrivals = \"fixed\""),
    ] {
        let (one, other) = (job(word), job(key));
        assert_eq!(format!("{one:?}"), format!("{other:?}"), "{word}");
        assert!(one != Generator::default() || word.starts_with("burstiness = 1"), "{word} has an effect");
    }
    let words: Vec<&str> = workload::generator::aliases::ALIASES.iter().map(|alias| alias.name).collect();
    assert_eq!(words.len(), 8);
}

#[test]
fn jobs_have_queues_and_ranges_of_their_own_and_come_in_time_order() {
    let workload = read(
        "[workload]\nrequests = 3000\nrw = \"randwrite\"\nfootprint = \"64MiB\"\n\
         [job.a]\nnumjobs = 2\nqueues = 3\nrate_iops = 1000\n\
         [job.b]\nrequests = 500\nrw = \"read\"\noffset = \"512MiB\"\nbs = \"4KiB\"\n",
    )
    .unwrap();
    let all = play(&workload, 1);
    assert_eq!(all.len(), 6500);
    assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
    for (queues, start, count) in [(0..3, 0, 3000), (3..6, 64 << 20, 3000), (6..7, 512 << 20, 500)] {
        let of: Vec<&Request> = all.iter().filter(|request| queues.contains(&request.queue)).collect();
        assert_eq!(of.len(), count);
        let within =
            |request: &&Request| request.offset.0 >= start && request.offset.0 + request.bytes.0 <= start + (64 << 20);
        assert!(of.iter().all(within));
    }
    let of = |queue| all.iter().filter(move |request| request.queue == queue).map(|request| request.offset.0);
    assert!(!of(0).eq(of(3).map(|offset| offset - (64 << 20))), "copies draw their own numbers");
    // One job among others is what it is alone.
    let alone = play(&Generator { offset: Bytes(512 << 20), ..workload.jobs[1].1.clone() }.into(), 1);
    assert!(alone.iter().map(|request| request.offset).eq(all.iter().filter(|r| r.queue == 6).map(|r| r.offset)));
}

#[test]
fn every_job_has_its_placement_hint() {
    let workload = read(
        "[workload]\nrequests = 50\nhint = 3\nfootprint = \"64MiB\"\n[job.log]\nnumjobs = 2\nqueues = 2\n[job.objects]\nhint = 1\n\
         [job.none]\nhint = 0\n",
    )
    .unwrap();
    let all = play(&workload, 1);
    let hints = [3, 3, 3, 3, 1, 0];
    assert!(all.iter().all(|request| request.hint == hints[usize::from(request.queue)]));
    assert_eq!(all.len(), 200);
    let plain = play(&Generator { requests: 50, ..plain() }.into(), 1);
    let hinted = play(&Generator { requests: 50, hint: 65_535, ..self::plain() }.into(), 1);
    let expected: Vec<Request> = plain.iter().map(|request| request.hinted(65_535)).collect();
    assert_eq!(hinted, expected, "a hint changes nothing else");
    assert!(plain.iter().all(|request| request.hint == 0));
}

#[test]
fn an_iodepth_bounds_what_is_under_way_and_thinktime_spaces_it() {
    let text = "[workload]\nrequests = 8\nrate_iops = \"none\"\niodepth = 2\nthinktime = \"5us\"\nfootprint = \"64MiB\"\n\
                [job.loops]\n[job.timed]\niodepth = \"none\"\nthinktime = 0\nrate_iops = 100000\narrivals = \"fixed\"\noffset = \"64MiB\"\n";
    let mut source = read(text).unwrap().source(CAPACITY, 1).unwrap();
    let mut batch = Vec::new();
    source.fill(&mut batch, 1000).unwrap();
    // The timed job goes on by itself; the other stops at two.
    let of = |batch: &[Request], queue| batch.iter().filter(|r| r.queue == queue).map(|r| r.time.0).collect::<Vec<_>>();
    assert_eq!(of(&batch, 0), [0, 0]);
    assert_eq!(of(&batch, 1), [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000]);
    let source = source.as_mut();
    assert_eq!(source.closed_loop().unwrap().next_time(), None);
    source.closed_loop().unwrap().completed(0, 0, Time(100_000));
    source.closed_loop().unwrap().completed(1, 1, Time(50_000));
    assert_eq!(source.closed_loop().unwrap().next_time(), Some(Time(105_000)));
    batch.clear();
    source.fill(&mut batch, 1000).unwrap();
    assert_eq!(batch.iter().map(|r| (r.queue, r.time.0)).collect::<Vec<_>>(), [(0, 105_000)]);
    // A rate beside the depth: not before the arrival either.
    let text = "[workload]\nrequests = 3\nrate_iops = 1000\narrivals = \"fixed\"\niodepth = 1\n";
    let mut source = read(text).unwrap().source(CAPACITY, 1).unwrap();
    source.fill(&mut batch, 1).unwrap();
    source.closed_loop().unwrap().completed(0, 0, Time(10));
    assert_eq!(source.closed_loop().unwrap().next_time(), Some(Time(1_000_000)));
}

#[test]
fn a_batch_waits_for_all_of_the_last_one_and_a_task_ends_with_its_last_batch() {
    // Two searches at once, of three batches of two reads each, 5 ns of computing between them.
    let text = "[workload]\nrequests = 18\nrate_iops = \"none\"\niodepth = 2\nbatch = 2\nsteps = 3\nthinktime = \"5ns\"\nrw = \"randread\"\n";
    let mut source = read(text).unwrap().source(CAPACITY, 1).unwrap();
    let take = |source: &mut dyn workload::Source| {
        let mut batch = Vec::new();
        source.fill(&mut batch, 100).unwrap();
        batch.iter().map(|request| request.time.0).collect::<Vec<_>>()
    };
    assert_eq!(take(source.as_mut()), [0, 0, 0, 0], "requests 0 and 1 are of one task, 2 and 3 of the other");
    let completed = |source: &mut dyn workload::Source, number, time| {
        let source = source.closed_loop().unwrap();
        source.completed(number, 0, Time(time));
        (source.next_time().map(|time| time.0), source.take_ended())
    };
    let source = source.as_mut();
    assert_eq!(completed(source, 1, 100).0, None, "its batch waits for request 0");
    assert_eq!(completed(source, 2, 150).0, None);
    assert_eq!(completed(source, 0, 200).0, Some(205));
    assert_eq!(take(source), [205, 205]);
    assert_eq!(completed(source, 5, 300).0, None);
    assert_eq!(completed(source, 4, 310).0, Some(315));
    assert_eq!(take(source), [315, 315]);
    assert_eq!(completed(source, 6, 400).0, None);
    let (next, ended) = completed(source, 7, 420);
    assert_eq!(next, Some(425), "another search takes its place");
    assert_eq!(
        ended,
        [workload::TaskEnd { kind: workload::TaskKind::Whole, first: 0, began: Time(0), ended: Time(420) }]
    );
    assert_eq!(take(source), [425, 425]);
    // Without a depth tasks come at the rate of requests over those of a task.
    let text = "[workload]\nrequests = 9\nrate_iops = 300000\narrivals = \"fixed\"\nbatch = 3\nrw = \"randread\"\n";
    let mut source = read(text).unwrap().source(CAPACITY, 1).unwrap();
    assert_eq!(take(source.as_mut()), [0, 0, 0, 10_000, 10_000, 10_000, 20_000, 20_000, 20_000]);
    for (line, key) in [
        ("batch = 0", "workload.batch"),
        ("steps = 2000000", "workload.steps"),
        ("batch = 8\nsteps = 50000", "workload.steps"),
    ] {
        let work = read(&format!("[workload]\n{line}\n")).unwrap();
        let error = work.source(CAPACITY, 1).map(drop).unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
    }
}

/// A twin and what its paper's table says: read ratio, cold-read ratio, mean size [KiB], mean gap [ms].
type Row = (&'static str, f64, Option<f64>, Option<f64>, Option<f64>);
const TABLES: &[Row] = &[
    ("asplos21/stg_0", 0.15, Some(0.38), None, None),
    ("asplos21/hm_0", 0.36, Some(0.22), None, None),
    ("asplos21/prn_1", 0.75, Some(0.72), None, None),
    ("asplos21/proj_1", 0.89, Some(0.96), None, None),
    ("asplos21/mds_1", 0.92, Some(0.98), None, None),
    ("asplos21/usr_1", 0.96, Some(0.73), None, None),
    ("asplos21/YCSB-A", 0.98, Some(0.72), None, None),
    ("asplos21/YCSB-B", 0.99, Some(0.59), None, None),
    ("asplos21/YCSB-C", 0.99, Some(0.60), None, None),
    ("asplos21/YCSB-D", 0.98, Some(0.58), None, None),
    ("asplos21/YCSB-E", 0.99, Some(0.98), None, None),
    ("asplos21/YCSB-F", 0.98, Some(0.87), None, None),
    ("hpca24/Ali_2", 0.27, Some(0.50), None, None),
    ("hpca24/Ali_46", 0.34, Some(0.75), None, None),
    ("hpca24/Ali_81", 0.43, Some(0.74), None, None),
    ("hpca24/Ali_121", 0.92, Some(0.70), None, None),
    ("hpca24/Ali_124", 0.96, Some(0.79), None, None),
    ("hpca24/Ali_295", 0.42, Some(0.73), None, None),
    ("hpca24/Sys_0", 0.70, Some(0.82), None, None),
    ("hpca24/Sys_1", 0.72, Some(0.83), None, None),
    ("electronics25/ali_32", 0.07, None, Some(54.0), Some(16.3)),
    ("electronics25/ali_3", 0.52, None, Some(26.0), Some(111.8)),
    ("electronics25/ali_12", 0.69, None, Some(38.0), Some(57.9)),
    ("electronics25/ali_121", 0.78, None, Some(18.0), Some(13.8)),
    ("electronics25/ali_124", 0.95, None, Some(36.0), Some(5.1)),
    ("electronics25/rsrch_0", 0.09, None, Some(9.0), Some(421.9)),
    ("electronics25/stg_0", 0.15, None, Some(12.0), Some(297.8)),
    ("electronics25/hm_0", 0.36, None, Some(8.0), Some(151.5)),
    ("electronics25/prxy_1", 0.65, None, Some(13.0), Some(3.6)),
    ("electronics25/proj_2", 0.88, None, Some(42.0), Some(20.6)),
    ("electronics25/usr_1", 0.91, None, Some(49.0), Some(13.4)),
];

#[test]
fn twins_have_what_their_papers_tables_say() {
    for (name, reads, cold, size, gap) in TABLES {
        let mut workload = presets::get(name, &[]).unwrap();
        workload.jobs[0].1.iodepth = None;
        let all = drain(&mut *workload.source(LARGE, 1).unwrap(), 4096).unwrap();
        let share = all.iter().filter(|request| request.op == Op::Read).count() as f64 / all.len() as f64;
        assert!((share - reads).abs() < 0.01, "{name}: {share}");
        if let Some(cold) = cold {
            let found = cold_share(&all);
            assert!((found - cold).abs() < 0.01, "{name}: {found}");
        }
        if let Some(size) = size {
            let found = all.iter().map(|request| request.bytes.0 as f64 / 1024.0).sum::<f64>() / all.len() as f64;
            assert!((found / size - 1.0).abs() < 0.01, "{name}: {found}");
        }
        if let Some(gap) = gap {
            let found = mean_gap(&all) / 1e6;
            assert!((found / gap - 1.0).abs() < 0.01, "{name}: {found}");
        }
    }
}

#[test]
fn what_cannot_be_met_is_refused_with_key_and_remedy() {
    let refused = |lines: &str| {
        let workload = read(&format!("[workload]\nrandom_distribution = \"random\"\n{lines}\n")).unwrap();
        let error = workload.source(CAPACITY, 1).map(|_| ()).unwrap_err();
        assert!(!error.remedy.is_empty());
        (error.key.unwrap(), error.problem)
    };
    for (line, key) in [
        ("requests = 0", "requests"),
        ("bs = 0", "bs"),
        ("bs = \"2GiB\"", "bs"),
        ("bs = \"mean:1KiB\"", "bs"),
        ("bs = \"mean:100MiB\"", "bs"),
        ("bs = \"mean:16MiB\"\nfootprint = \"64MiB\"", "bs"),
        ("align = 0", "align"),
        ("rate_iops = 0", "rate_iops"),
        ("rate_iops = -5.0", "rate_iops"),
        ("rate_iops = 1e12", "rate_iops"),
        ("rate_iops = 1e-6", "rate_iops"),
        ("queues = 0", "queues"),
        ("numjobs = 0", "numjobs"),
        ("queues = 65535\nnumjobs = 2", "queues"),
        ("iodepth = 0", "iodepth"),
        ("thinktime = \"1us\"", "thinktime"),
        ("offset = \"2GiB\"", "offset"),
        ("offset = \"900MiB\"\nfootprint = \"200MiB\"", "footprint"),
        ("numjobs = 3\nfootprint = \"400MiB\"", "footprint"),
        ("cold_read_ratio = 0.5\nrw = \"rw\"", "cold_read_ratio"),
        ("cold_read_ratio = 0.5\nrw = \"randread\"", "cold_read_ratio"),
        ("cold_read_ratio = 0.5\nwritten = 0", "written"),
        ("cold_read_ratio = 0.5\nwritten = 1", "written"),
        ("footprint = \"8KiB\"", "bs"),
        ("zone_reset = \"trim\"", "zone_reset"),
        ("zone_size = \"1MiB\"\nzone_reset = \"trim\"\nappend = true", "zone_reset"),
        ("append = true", "append"),
    ] {
        assert_eq!(refused(line).0, format!("workload.{key}"), "{line}");
    }
    assert_eq!(refused("footprint = \"2GiB\"").1, "2 GiB is more than the device's 1 GiB");
    let job = read("[job.x]\nfootprint = \"2GiB\"\n").unwrap().source(CAPACITY, 1).map(|_| ()).unwrap_err();
    assert_eq!(job.key.unwrap(), "job.x.footprint");
    for (text, found) in [
        (
            "[workload]\nrandom_distribution = \"zipf:0\"",
            "work.toml:2: workload.random_distribution: \"zipf:0\" is not accepted",
        ),
        ("[workload]\nrandom_distribution = \"zoned:50/50\"", "adding to 100"),
        ("[workload]\narrivals = \"bursty:1\"", "above 1"),
        ("[workload]\nbssplit = \"4k/0\"", "sizes with their shares"),
        ("[workload]\nrwmixread = 0.7", "a whole number of % from 0 to 100"),
        ("[workload]\nrate_iosp = 7", "did you mean `rate_iops`?"),
        ("[workload]\nrwmixreed = 7", "did you mean `rwmixread`?"),
        ("[job.a]\nbs = 7", "work.toml:2: job.a.bs: 7 is not accepted"),
        ("[job.a]\nbx = 7", "work.toml:2: job.a.bx: unknown key"),
        ("[job]\nbs = \"4KiB\"", "write [job.NAME] on a line of its own"),
        ("[twin.x]\nbs = \"4KiB\"", "twin: unknown section"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(found), "{error}");
    }
    let error = plain();
    assert!(Workload::from(error).source(Bytes(0), 1).is_err());
    let broken = Generator { read_ratio: Fraction(f64::NAN), thinktime: Span(0), ..plain() };
    assert!(Workload::from(broken).source(CAPACITY, 1).is_err());
}

#[test]
fn settings_reach_all_jobs_or_one() {
    let text = "[workload]\nbs = \"4KiB\"\n[job.a]\n[job.b]\nbs = \"8KiB\"\n";
    let document = Document::parse(text, "work.toml").unwrap();
    let sizes = |words: &[&str]| {
        let workload = Workload::read(&document, words, None).map_err(|error| error.to_string())?;
        Ok::<_, String>(workload.jobs.iter().map(|(_, job)| job.bs.clone()).collect::<Vec<_>>())
    };
    let fixed = |kib: &[u64]| kib.iter().map(|kib| Sizes::Fixed(Bytes(kib << 10))).collect::<Vec<_>>();
    assert_eq!(sizes(&[]).unwrap(), fixed(&[4, 8]));
    assert_eq!(sizes(&["workload.bs=16KiB"]).unwrap(), fixed(&[16, 8]));
    assert_eq!(sizes(&["job.a.bs=32KiB", "workload.bs=16KiB"]).unwrap(), fixed(&[32, 8]));
    assert!(sizes(&["job.c.bs=32KiB"]).unwrap_err().contains("its jobs are a, b"));
    assert!(sizes(&["job.a.bz=32KiB"]).unwrap_err().starts_with("--set job.a.bz=32KiB: "));
    assert!(sizes(&["job.a"]).unwrap_err().contains("names no key"));
}

#[test]
fn a_workload_written_as_toml_reads_back() {
    for name in presets::names() {
        let workload = presets::get(name, &[]).unwrap();
        let again = read(&workload.to_toml()).unwrap();
        assert_eq!(workload.jobs, again.jobs, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_stays_within_its_range_and_what_is_not_says_why(
        rw in prop::sample::select(vec!["read", "rw", "randrw", "randread", "trim"]),
        bs in prop::sample::select(vec!["512B", "7B", "16KiB", "1MiB", "4k/1:64k/2:100B/0.5", "mean:9KiB", "mean:4KiB", "mean:1MiB"]),
        law in prop::sample::select(vec!["random", "zipf:0.5", "zipf:1", "pareto:0.01", "pareto:0.9", "normal:3", "zoned:0/50:100/50"]),
        arrivals in prop::sample::select(vec!["poisson", "fixed", "bursty:1.01", "bursty:100000", "batches:9", "batches:4/1us"]),
        (cold, written, reads) in (prop::sample::select(vec!["none", "0", "0.5", "1"]), 0.0..1.0f64, 0.0..1.0f64),
        (align, offset, footprint) in (1..9000u64, 0..3_000_000u64, 1..6_000_000u64),
        (queues, numjobs) in (1..4u16, 1..4u16),
    ) {
        let text = format!(
            "[workload]\nrequests = 300\nrw = \"{rw}\"\nbs = \"{bs}\"\nrandom_distribution = \"{law}\"\narrivals = \"{arrivals}\"\n\
             cold_read_ratio = \"{cold}\"\nwritten = {written}\nread_ratio = {reads}\nalign = \"{align}B\"\noffset = \"{offset}B\"\n\
             footprint = \"{footprint}B\"\nqueues = {queues}\nnumjobs = {numjobs}\n"
        )
        .replace("\"0.5\"", "0.5").replace("\"0\"", "0").replace("\"1\"", "1");
        match read(&text).unwrap().source(Bytes(8_000_000), 1) {
            Err(error) => prop_assert!(error.key.is_some() && !error.remedy.is_empty()),
            Ok(mut source) => {
                let all = drain(&mut *source, 100).unwrap();
                prop_assert_eq!(all.len(), 300 * usize::from(numjobs));
                prop_assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
                for request in all {
                    let start = offset + u64::from(request.queue / queues) * footprint;
                    prop_assert!(request.offset.0 >= start && request.offset.0 + request.bytes.0 <= start + footprint);
                    prop_assert!(request.bytes.0 > 0 && (request.offset.0 - start) % align == 0);
                }
            }
        }
    }

    #[test]
    fn no_word_makes_the_readers_panic(word in "(mean:|zipf:|pareto:|normal:|zoned:|bursty:|batches:)?[0-9a-zA-Z./: -]{0,20}") {
        let scalar = Scalar::Text(word);
        let _ = (Sizes::read(&scalar), Distribution::read(&scalar), Arrivals::read(&scalar));
    }
}

#[test]
fn random_accesses_are_uniform_if_nothing_is_said() {
    for rw in ["randread", "randwrite"] {
        let workload =
            read(&format!("[workload]\nrw = \"{rw}\"\nrequests = 200000\nbs = \"4KiB\"\nfootprint = \"4MiB\"\n"))
                .unwrap();
        let found = drain(workload.source(Bytes(1 << 30), 1).unwrap().as_mut(), 4096).unwrap();
        let mut counts = [0u64; 1024];
        found.iter().for_each(|request| counts[(request.offset.0 / 4096) as usize] += 1);
        // 195 accesses a page on average; Zipf's law would give the hottest 27,000.
        assert!(counts.iter().all(|count| (100..300).contains(count)), "{rw}");
    }
}

#[test]
fn jobs_go_on_where_more_requests_are_asked_for_and_are_limited_in_number() {
    let mut workload = read("[job.a]\nrequests = 10\n[job.b]\nrequests = 20\nnumjobs = 2\n").unwrap();
    let before = workload.clone();
    workload.extend(50);
    assert_eq!((workload.requests(), &workload), (50, &before), "they make that many already");
    workload.extend(51);
    assert_eq!(workload.requests(), 3 * 51);
    let mut first = Vec::new();
    workload.source(Bytes(1 << 40), 1).unwrap().fill(&mut first, 25).unwrap();
    let mut same = Vec::new();
    before.source(Bytes(1 << 40), 1).unwrap().fill(&mut same, 25).unwrap();
    assert_eq!(first, same, "a longer workload begins as the shorter one");
    let many =
        read("[workload]\nnumjobs = 1025\n").unwrap().source(Bytes(1 << 40), 1).map(|_| ()).unwrap_err().to_string();
    assert!(many.contains("workload.numjobs: makes 1025 jobs, and a workload has 1024 at most"), "{many}");
}
