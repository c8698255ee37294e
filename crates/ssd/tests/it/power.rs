//! Power cuts: random devices whose power is cut again and again keep what they promised; mistakes are found out.

use crate::common::{cases, config, devices, living_devices, with_units};
use proptest::prelude::*;
use ssd::stats::Counters;
use ssd::{Bug, Config, Device, RunError};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// A load: reads, writes, trims and flushes of few pages, so that they meet, so many at once.
struct Load {
    draws: Stream,
    requests: u64,
    depth: u64,
    sectors: u64,
}

impl Load {
    fn request(&self, index: u64, time: Time) -> Request {
        let draw = |what: u64, below: u64| self.draws.below(8 * index + what, below);
        let op = match draw(0, 20) {
            0..=2 => Op::Read,
            3 | 4 => Op::Trim,
            5 | 6 => Op::Flush,
            _ => Op::Write,
        };
        let sectors = if draw(1, 2) == 0 { 32 } else { 1 + draw(2, 90) };
        let first = if draw(1, 2) == 0 { draw(3, self.sectors / 32) * 32 } else { draw(3, self.sectors) };
        let bytes = if op == Op::Flush { 0 } else { sectors.min(self.sectors - first) * 512 };
        Request::new(time, op, Bytes(if op == Op::Flush { 0 } else { first * 512 }), Bytes(bytes)).on(index as u16 % 3)
    }
}

/// Plays a load on a device; what it has counted, or why it failed.
fn play(config: &Config, load: &Load, bug: Option<Bug>) -> Result<Counters, RunError> {
    let mut device = Device::new(config, 7)?;
    if let Some(bug) = bug {
        device.plant(bug);
    }
    let broken = RunError::Broken;
    let mut next = 0;
    while next < load.requests {
        while device.outstanding().0 < load.depth && next < load.requests {
            device.submit(load.request(next, device.now()))?;
            next += 1;
        }
        let cuts = device.counters().cuts;
        device.advance_to_completion(Time::NEVER)?;
        device.take_completions();
        if device.counters().cuts > cuts {
            device.check().map_err(broken)?;
            device.check_mapping().map_err(broken)?;
        }
    }
    while device.outstanding().0 > 0 {
        device.advance_to_completion(Time::NEVER)?;
        device.take_completions();
    }
    device.flush()?;
    device.check().map_err(broken)?;
    device.check_mapping().map_err(broken)?;
    Ok(device.counters())
}

/// How a device keeps its map, and when its power is cut.
fn powers() -> impl Strategy<Value = Vec<String>> {
    let map = prop::sample::select(vec!["none", "256KiB", "1MiB"]);
    let cuts = prop::sample::select(vec!["random:6ms", "random:40ms", "[5ms,6ms,9ms,40ms,41ms]", "[op:5,op:40,op:41,op:160]"]);
    (map, any::<bool>(), any::<bool>(), cuts).prop_map(|(checkpoint, journal, plp, cuts)| {
        vec![
            format!("mapping.checkpoint={checkpoint}"),
            format!("mapping.journal={}", journal && checkpoint != "none"),
            format!("power.plp={plp}"),
            format!("power.cut_at={cuts}"),
        ]
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn what_was_promised_survives(
        device in with_units(prop_oneof![devices(), living_devices()]),
        power in powers(),
        (seed, depth, pages) in (any::<u64>(), 1..12u64, 3..200u64),
    ) {
        let config = config(&[device, power].concat());
        prop_assume!(config.plan().is_ok());
        let load = Load { draws: Stream::new(seed, "load"), requests: 300, depth, sectors: pages * 32 };
        match play(&config, &load, None) {
            Ok(_) | Err(RunError::EndOfLife { .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

pub fn try_many(from: u64, to: u64) {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config as C, RngAlgorithm, TestRng, TestRunner};
    let strategy = (with_units(prop_oneof![devices(), living_devices()]), powers(), any::<u64>(), 1..12u64, 3..200u64);
    let (mut ok, mut refused, mut cuts, mut life) = (0, 0, 0, 0);
    for case in from..to {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&case.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(C::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let (device, power, seed, depth, pages) = strategy.new_tree(&mut runner).unwrap().current();
        let words = [device, power].concat();
        let config = config(&words);
        if config.plan().is_err() {
            refused += 1;
            continue;
        }
        let load = Load { draws: Stream::new(seed, "load"), requests: 300, depth, sectors: pages * 32 };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&config, &load, None)));
        match result {
            Ok(Ok(counters)) => {
                ok += 1;
                cuts += counters.cuts;
            }
            Ok(Err(RunError::EndOfLife { .. })) => life += 1,
            Ok(Err(error)) => println!("case {case}: {error}\n {} | {}", words[words.len() - 4..].join(" "), words.iter().filter(|w| w.contains("table") || w.contains("program_unit") || w.contains("mode=") || w.contains("erase_when")|| w.contains("page_size")|| w.contains("mapping.unit")).cloned().collect::<Vec<_>>().join(" ")),
            Err(_) => println!("case {case}: panic {}", words[words.len() - 4..].join(" ")),
        }
    }
    println!("{ok} ok, {refused} refused, {life} died, {cuts} cuts");
}
