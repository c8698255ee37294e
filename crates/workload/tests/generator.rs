//! The generator: every key has its effect, and the statistics are those asked for.

mod common;

use std::collections::HashMap;

use common::drain;
use units::section::Section;
use units::value::Scalar;
use units::{Bytes, Fraction, Time};
use workload::{Arrivals, Generator, Op, Pattern, Request, presets};

const CAPACITY: Bytes = Bytes(1 << 30);

fn requests(generator: &Generator, seed: u64) -> Vec<Request> {
    drain(&mut generator.source(CAPACITY, seed).unwrap(), 4096).unwrap()
}

fn plain() -> Generator {
    Generator { requests: 100_000, pattern: Pattern::Random, ..Generator::default() }
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
    let generator = Generator { align: Bytes(16 << 10), footprint: Some(Bytes(100 << 20)), ..plain() };
    let mut tenths = [0u32; 10];
    for request in requests(&generator, 1) {
        tenths[(request.offset.0 / (10 << 20)) as usize] += 1;
    }
    assert!(tenths.iter().all(|count| (9_600..10_400).contains(count)), "{tenths:?}");
}

#[test]
fn zipf_theta_sets_how_often_the_most_popular_address_is_met() {
    for theta in [0.5, 0.99, 1.0, 1.2] {
        let generator = Generator {
            requests: 1_000_000,
            pattern: Pattern::Zipf,
            zipf_theta: theta,
            align: Bytes(16 << 10),
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
        pattern: Pattern::Sequential,
        size: Bytes(6 << 10),
        footprint: Some(Bytes(1 << 20)),
        ..plain()
    };
    // 6 KiB at multiples of 4 KiB: one request every 8 KiB.
    for (i, request) in requests(&generator, 1).iter().enumerate() {
        assert_eq!(request.offset.0, i as u64 % 128 * 8192);
    }
    let dense = requests(&Generator { align: Bytes(1), ..generator }, 1);
    assert_eq!(dense[7].offset.0, 7 * 6144);
    let ends = dense.iter().map(|request| request.offset.0 + request.bytes.0).max().unwrap();
    assert!(ends <= 1 << 20 && ends > (1 << 20) - 6144);
}

#[test]
fn size_and_align_shape_every_request() {
    for pattern in [Pattern::Random, Pattern::Zipf, Pattern::Sequential] {
        for (size, align) in [(4096, 4096), (512, 8192), (16_384, 4096)] {
            let generator = Generator { pattern, size: Bytes(size), align: Bytes(align), ..plain() };
            for request in requests(&generator, 1) {
                assert_eq!((request.bytes.0, request.offset.0 % align), (size, 0));
                assert!(request.offset.0 + size <= CAPACITY.0);
            }
        }
        let generator = Generator { pattern, size: Bytes(1000), align: Bytes(1), ..plain() };
        let unaligned = requests(&generator, 1).iter().filter(|request| request.offset.0 % 4096 != 0).count();
        assert!(unaligned > 90_000, "{pattern:?}: {unaligned}");
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
    let all = requests(&Generator { size: Bytes(4096), footprint: Some(Bytes(4096)), ..plain() }, 1);
    assert!(all.iter().all(|request| request.offset.0 == 0));
}

#[test]
fn rate_sets_the_mean_gap_and_none_puts_all_at_time_zero() {
    for rate in [0.3, 1234.5, 40_000.0, 3e6, 7e8] {
        for arrivals in [Arrivals::Poisson, Arrivals::Fixed] {
            let all = requests(&Generator { rate: Some(rate), arrivals, ..plain() }, 1);
            assert_eq!(all[0].time, Time(0));
            assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
            let error = mean_gap(&all) / (1e9 / rate) - 1.0;
            assert!(error.abs() < 0.01, "{rate}/s {arrivals:?}: {error}");
        }
    }
    assert!(requests(&Generator { rate: None, ..plain() }, 1).iter().all(|request| request.time == Time(0)));
}

#[test]
fn fixed_arrivals_have_equal_gaps_that_never_drift() {
    let generator = Generator { rate: Some(3e6), arrivals: Arrivals::Fixed, requests: 3_000_001, ..plain() };
    let all = requests(&generator, 1);
    assert!(all.windows(2).all(|pair| matches!(pair[1].time.0 - pair[0].time.0, 333 | 334)));
    assert!(all[3_000_000].time.0.abs_diff(1_000_000_000) <= 1);
}

#[test]
fn poisson_gaps_are_exponential() {
    let all = requests(&Generator { rate: Some(1e5), ..plain() }, 1);
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
    for name in presets::names() {
        let generator = Generator { requests: 20_000, ..presets::get(name).unwrap() };
        let all = requests(&generator, 5);
        for batch in [1, 7, 20_000, usize::MAX] {
            assert_eq!(drain(&mut generator.source(CAPACITY, 5).unwrap(), batch).unwrap(), all, "{name}");
        }
        if name != "sequential-read-256k" {
            let other: Vec<_> = requests(&generator, 6).iter().map(|request| request.offset).collect();
            assert!(!all.iter().map(|request| request.offset).eq(other), "{name}");
        }
    }
}

#[test]
fn one_choice_does_not_disturb_the_other_draws() {
    let base = requests(&plain(), 1);
    let closed = requests(&Generator { rate: None, ..plain() }, 1);
    assert!(base.iter().zip(&closed).all(|(a, b)| (a.offset, a.op) == (b.offset, b.op)));
    let writes = requests(&Generator { read_ratio: Fraction(0.0), ..plain() }, 1);
    assert!(base.iter().zip(&writes).all(|(a, b)| (a.offset, a.time) == (b.offset, b.time)));
    let zipf = requests(&Generator { pattern: Pattern::Zipf, ..plain() }, 1);
    assert!(base.iter().zip(&zipf).all(|(a, b)| (a.op, a.time) == (b.op, b.time)));
}

#[test]
fn what_cannot_be_met_is_refused_with_key_and_remedy() {
    let refused = |key: &str, value: Scalar| {
        let mut generator = plain();
        generator.set(key, &value).unwrap();
        let error = generator.source(CAPACITY, 1).map(|_| ()).unwrap_err();
        assert_eq!(error.key, Some(format!("workload.{key}")));
        assert!(!error.remedy.is_empty());
        error.problem
    };
    let text = |word: &str| Scalar::Text(word.into());
    refused("requests", Scalar::Int(0));
    refused("zipf_theta", Scalar::Int(0));
    refused("zipf_theta", Scalar::Float(-1.0));
    refused("zipf_theta", Scalar::Float(1e300));
    refused("size", Scalar::Int(0));
    refused("size", text("2GiB"));
    refused("align", Scalar::Int(0));
    assert_eq!(refused("footprint", text("2GiB")), "2 GiB is more than the device's 1 GiB");
    refused("rate", Scalar::Int(0));
    refused("rate", Scalar::Float(-5.0));
    refused("rate", Scalar::Float(1e12));
    refused("rate", Scalar::Float(1e-6));
    refused("queues", Scalar::Int(0));
    let small = Generator { footprint: Some(Bytes(8192)), ..plain() };
    let error = small.source(CAPACITY, 1).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("workload.size: 16 KiB is more than the footprint of 8 KiB\n  help: "), "{error}");
    assert!(plain().source(Bytes(0), 1).is_err());
    let broken = Generator { read_ratio: Fraction(f64::NAN), ..plain() };
    assert!(broken.source(CAPACITY, 1).is_err());
}
