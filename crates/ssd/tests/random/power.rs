//! Power cuts: random devices whose power is cut again and again keep what they promised.

use proptest::prelude::*;
use ssd::stats::Counters;
use ssd::{Config, Device, Drive, RunError};
use testing::{cases, config, devices, living_devices, with_units};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

/// A load: reads, writes, trims and flushes of few pages, so that they meet, this many at once.
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
fn play(config: &Config, load: &Load) -> Result<Counters, RunError> {
    let mut device = Device::new(config, 7)?;
    let load = &Load { sectors: load.sectors.min(device.capacity().0 / 512), ..*load };
    let broken = RunError::Broken;
    let mut next = 0;
    while next < load.requests {
        while device.outstanding() < load.depth && next < load.requests {
            device.submit(load.request(next, device.now()))?;
            next += 1;
        }
        let cuts = device.counters().cuts;
        if !device.advance_to_completion(Time::NEVER)? {
            return Err(broken(format!("{:?} requests wait for nothing", device.outstanding())));
        }
        device.take_completions();
        if device.counters().cuts > cuts || next.is_multiple_of(64) {
            device.check().map_err(broken)?;
        }
        if device.counters().cuts > cuts {
            device.check_mapping().map_err(broken)?;
        }
    }
    while device.outstanding() > 0 {
        if !device.advance_to_completion(Time::NEVER)? {
            return Err(broken(format!("{:?} requests wait for nothing", device.outstanding())));
        }
        device.take_completions();
    }
    device.flush()?;
    device.check().map_err(broken)?;
    device.check_mapping().map_err(broken)?;
    Ok(device.counters())
}

/// How a device keeps its map, when its power is cut, and which of its parts break.
fn powers() -> impl Strategy<Value = Vec<String>> {
    let map = prop::sample::select(vec!["none", "256KiB", "1MiB"]);
    let cuts =
        prop::sample::select(vec!["random:6ms", "random:40ms", "[5ms,6ms,9ms,40ms,41ms]", "[op:5,op:40,op:41,op:160]"]);
    let parts = prop::sample::select(vec![
        "faults.at=[]",
        "faults.at=[]",
        "faults.at=[]",
        "faults.at=[3ms block 0:1, 7ms blocks 0:4, 9ms program 0]",
        "faults.at=[4ms plane 0]",
        "faults.at=[1ms erase 0, 30ms die 0]",
        "faults.blocks=0.05",
        "faults.plane=0.02",
    ]);
    (map, any::<bool>(), any::<bool>(), cuts, parts).prop_map(|(checkpoint, journal, plp, cuts, parts)| {
        vec![
            parts.to_owned(),
            format!("mapping.checkpoint={checkpoint}"),
            format!("mapping.journal={}", journal && checkpoint != "none"),
            format!("power.plp={plp}"),
            format!("power.cut_at={cuts}"),
        ]
    })
}

/// Parity over dies, on one device in four.
fn parities() -> impl Strategy<Value = Vec<String>> {
    let drawn = (0..4u32, 2..5u32, prop::sample::select(vec!["0", "0.5", "0.9"]));
    drawn.prop_map(|(which, wide, fill)| {
        if which > 0 {
            return Vec::new();
        }
        let mut settings = ["geometry.dies=3", "gc.copyback=false", "geometry.blocks=60", "age.invalid=0.0"]
            .map(String::from)
            .to_vec();
        settings.extend([
            format!("ftl.raid=parity:{wide}"),
            format!("age.fill={fill}"),
            format!("ftl.over_provisioning={}", 2 * (6 - wide)),
        ]);
        settings
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn what_was_promised_survives(
        device in with_units(prop_oneof![devices(), living_devices()]),
        power in powers(),
        (seed, depth, pages) in (any::<u64>(), 1..12u64, 3..200u64),
        parity in parities(),
    ) {
        let config = config(&[device, power, parity].concat());
        prop_assume!(config.plan().is_ok());
        let load = Load { draws: Stream::new(seed, "load"), requests: 300, depth, sectors: pages * 32 };
        match play(&config, &load) {
            Ok(_) | Err(RunError::EndOfLife { .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

/// A small drive whose blocks are collected under a load of few pages, with settings.
fn small(settings: &[&str]) -> Config {
    let device = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=1",
        "geometry.blocks=24",
        "geometry.pages=24",
        "ftl.over_provisioning=1.5",
        "mapping.entry=64B",
        "buffer.size=512KiB",
        "gc.start=4",
        "gc.stop=5",
        "power.cut_at=random:25ms",
    ];
    let words: Vec<String> = device.iter().chain(settings).map(|word| (*word).to_owned()).collect();
    config(&words)
}

/// How its map is kept.
const KEPT: [&str; 2] = ["mapping.checkpoint=512KiB", "mapping.journal=true"];

/// Plays loads on a small drive with these settings besides, whose power is cut again and again. Which mistakes they
/// find out is in tests/mutants.toml.
fn keeps_its_promises(settings: &[&str], loads: u64) {
    let config = small(&[&KEPT, settings].concat());
    for seed in 0..loads {
        let load = Load { draws: Stream::new(seed, "planted"), requests: 1500, depth: 8, sectors: 60 * 32 };
        if let Err(error) = play(&config, &load) {
            panic!("load {seed}: {error}");
        }
    }
}

#[test]
fn a_small_drive_keeps_its_promises() {
    keeps_its_promises(&[], 40);
}

#[test]
fn a_small_drive_with_capacitors_keeps_its_promises() {
    keeps_its_promises(&["power.plp=true", "buffer.dirty_limit=0.8"], 40);
}

#[test]
fn a_small_drive_that_writes_through_keeps_its_promises() {
    keeps_its_promises(&["buffer.mode=write-through"], 40);
}

#[test]
fn a_small_drive_with_an_slc_cache_keeps_its_promises() {
    let room = ["geometry.blocks=40", "gc.start=6", "gc.stop=7", "ftl.over_provisioning=3.0", "slc.blocks=6"];
    for cache in [
        &["ftl.slc_cache=static", "slc.fold_start=1"][..],
        &["ftl.slc_cache=dynamic", "slc.convert=hot:5", "ftl.erase_when=reclaimed"],
        &["ftl.slc_cache=static", "chip.program_unit=wordline", "slc.full=wait", "slc.fold_start=1", "ftl.hints=2"],
        &["ftl.slc_cache=dynamic", "power.plp=true", "ftl.streams=4", "slc.fold_idle=100us"],
        &["ftl.slc_cache=dynamic", "slc.cell=MLC", "slc.t_read=[25us, 30us]", "chip.program_unit=wordline"],
    ] {
        keeps_its_promises(&[&room, cache].concat(), 12);
    }
}

#[test]
fn a_small_drive_of_interleaved_passes_keeps_its_promises() {
    let passes = [
        "chip.program_unit=wordline",
        "chip.program_passes=2",
        "chip.pass_order=interleaved",
        "ftl.over_provisioning=2.5",
        "geometry.blocks=40",
    ];
    for plp in ["power.plp=false", "power.plp=true"] {
        keeps_its_promises(&[&passes[..], &[plp]].concat(), 20);
        keeps_its_promises(&[&passes[..], &[plp, "gc.preemptible=false", "ftl.streams=1"]].concat(), 10);
    }
}

#[test]
fn a_small_drive_that_is_mapped_by_blocks_keeps_its_promises() {
    let by_blocks = [
        "mapping.checkpoint=none",
        "mapping.journal=false",
        "ftl.mapping=fast",
        "ftl.placement=static",
        "geometry.blocks=40",
        "ftl.over_provisioning=3.0",
    ];
    for more in [
        &["ftl.log_blocks=2", "power.plp=true"][..],
        &["ftl.log_blocks=1", "ftl.erase_when=reclaimed"],
        &["ftl.log_blocks=3", "chip.program_unit=page", "faults.at=[9ms program 0, 20ms block 0:3]"],
    ] {
        keeps_its_promises(&[&by_blocks, more].concat(), 12);
    }
}

/// Three dies whose stripes are found again, and whose blocks are collected meanwhile.
#[test]
fn a_small_drive_with_parity_keeps_its_promises() {
    let room =
        ["geometry.chips=3", "geometry.dies=1", "geometry.pages=12", "geometry.blocks=90", "ftl.over_provisioning=8.0"];
    let kept = ["gc.start=6", "gc.stop=7", "ftl.raid=parity:3"];
    for parity in [
        &["age.fill=0"][..],
        &["age.fill=0.9"],
        &["age.fill=1.0", "power.plp=true", "ftl.streams=4", "ftl.placement=static"],
        &["chip.program_unit=wordline", "ftl.streams=1"],
        &["mapping.unit=8KiB", "ftl.raid=parity:2"],
        &["ftl.slc_cache=static", "slc.blocks=6", "slc.fold_start=1"],
        &["mapping.checkpoint=none", "mapping.journal=false"],
    ] {
        let parity = [&room[..], &kept, parity].concat();
        keeps_its_promises(&parity, 30);
    }
}

#[test]
fn what_recovery_has_found_is_not_looked_for_again() {
    // Nothing is flushed, the power is cut before a page of the journal is full, and no checkpoint begins.
    let config = small(&["mapping.checkpoint=64MiB", "mapping.journal=true", "power.cut_at=random:60ms"]);
    let mut device = Device::new(&config, 7).unwrap();
    let draws = Stream::new(1, "again and again");
    let pages = device.capacity().0 / 16_384;
    let mut reads = vec![0];
    for index in 0..6_000 {
        while device.outstanding() >= 8 {
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            device.take_completions();
        }
        let counters = device.counters();
        if counters.cuts > reads.len() as u64 {
            reads.push(counters.recovery_reads[2]);
        }
        let page = draws.below(index, pages);
        device.submit(Request::new(device.now(), Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
    }
    let each: Vec<u64> = reads.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let half = each.len() / 2;
    let mean = |some: &[u64]| some.iter().sum::<u64>() as f64 / some.len() as f64;
    assert!(each.len() > 20 && mean(&each[half..]) < 1.3 * mean(&each[..half]), "{each:?}");
}
