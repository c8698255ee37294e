//! What tests of the drive share: probes that watch it, small drives, random devices and random loads, and the soak.
//!
//! A crate of its own, so that the drive is compiled for these probes once and not by every program of tests
//! (`crates/ssd/tests`).

pub mod arrays;
mod files;
mod log;
pub mod own;
pub mod soak;
mod watcher;

use std::cell::RefCell;
use std::rc::Rc;

use nand::DieId;
use proptest::prelude::*;
use ssd::{Config, Device};
use units::{Bytes, Ppn, Time};
use workload::{Op, Request};

pub use files::{measured_rpt, measured_steps, trees, weak_code, yes_trees};
pub use log::KeptLog;
pub use watcher::{Watched, Watcher, probe};

/// A device that `watcher` watches.
pub fn watched(config: &Config, seed: u64, watcher: impl Watcher + 'static) -> Device<Watched> {
    probed(config, seed, probe(watcher))
}

/// Not generic: it is compiled here.
fn probed(config: &Config, seed: u64, probe: Watched) -> Device<Watched> {
    Device::watched(config, seed, probe).unwrap()
}

/// This many random cases. `PROPTEST_CASES` makes all tests draw more or fewer alike: 256, which is also what proptest
/// draws without it, stands for the whole.
pub fn cases(whole: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = (u64::from(whole) * u64::from(default.cases) / 256).max(1) as u32;
    ProptestConfig { cases, failure_persistence: None, ..default }
}

/// What happens on the die: kind, and two times \[ns].
pub type Entry = (&'static str, u64, u64);

/// Keeps what happens on the dies; an erase's planes come before it.
#[derive(Clone, Default)]
pub struct Watch(pub Rc<RefCell<Vec<Entry>>>);

impl Watcher for Watch {
    fn sense(&mut self, start: Time, end: Time, _: DieId, _: Ppn) {
        self.0.borrow_mut().push(("sense", start.0, end.0));
    }
    fn program(&mut self, start: Time, end: Time, _: DieId, _: u8) {
        self.0.borrow_mut().push(("program", start.0, end.0));
    }
    fn erase(&mut self, start: Time, end: Time, _: DieId, planes: u8) {
        self.0.borrow_mut().push(("planes", planes.into(), 0));
        self.0.borrow_mut().push(("erase", start.0, end.0));
    }
    fn suspend(&mut self, now: Time, _: DieId) {
        self.0.borrow_mut().push(("suspend", now.0, 0));
    }
    fn resume(&mut self, now: Time, end: Time, _: DieId) {
        self.0.borrow_mut().push(("resume", now.0, end.0));
    }
}

/// Round times behind the array of a die: 16 us to cross the bus, 20 to be decoded, and hardly any to reach the host.
pub const ROUND_TIMES: [&str; 11] = [
    "chip.program_unit=page",
    "chip.cache_read=false",
    "bus.bandwidth=none",
    "bus.t_dma=16us",
    "bus.t_command=0us",
    "bus.transfer=page",
    "ecc.t_decode=20us",
    "host.t_submit=0us",
    "host.t_complete=0us",
    "host.link_bandwidth=1000GB/s",
    "buffer.dram_bandwidth=1000GB/s",
];

/// Forty reads of a page each, none of which meets another.
pub fn lone_reads() -> Vec<Request> {
    let read = |page: u64| Request::new(Time(page * 10_000_000), Op::Read, Bytes(page * 16_384), Bytes(16_384));
    (0..40).map(read).collect()
}

/// One plane of 64 blocks, where one thing happens after another.
pub fn one_plane() -> Config {
    let mut config = Config::default();
    let words = ["channels=1", "chips=1", "dies=1", "planes=1", "blocks=64"];
    words.iter().for_each(|word| config.set(&format!("geometry.{word}")).unwrap());
    config
}

/// Eight planes in the middle of their life, small enough that a long run writes every block many times over; with
/// settings.
pub fn eight_planes(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=2",
        "geometry.chips=2",
        "geometry.dies=1",
        "geometry.planes=2",
        "geometry.pages=96",
        "mapping.unit=16KiB",
        "ftl.over_provisioning=0.28",
        "age.precondition=closed-form",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Two dies whose blocks fail so often that the drive soon wears out; with settings.
pub fn worn_out_soon(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.blocks=40",
        "geometry.pages=24",
        "ftl.over_provisioning=0.8",
        "buffer.size=1MiB",
        "age.precondition=closed-form",
        "wear.erase_fail=0.1",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// One plane where a read of a 16-KiB page takes 40 us in the array, 13 us on the bus, its decoding and nothing else,
/// with settings.
pub fn lone_page_reads<'a>(settings: impl IntoIterator<Item = &'a str>) -> Config {
    let mut config = one_plane();
    let words = [
        "ftl.over_provisioning=1.0",
        "chip.t_read=40us",
        "chip.program_unit=page",
        "bus.bandwidth=none",
        "bus.t_dma=13us",
        "bus.t_command=0us",
        "bus.transfer=page",
        "host.t_submit=0us",
        "host.t_complete=0us",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "chip.model=tlc48",
    ];
    words.into_iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// A small device with every policy drawn at random. Its buffer holds a few pages.
pub fn devices() -> BoxedStrategy<Vec<String>> {
    let times = (prop::sample::select(vec!["0ns", "0ns", "3us"]), 1..4u32);
    let read_cache = prop::sample::select(vec!["0B", "0B", "16KiB", "80KiB", "1MiB"]);
    let drawn = (policies(), times, read_cache, any::<bool>());
    let device = drawn.prop_map(|(mut settings, (firmware, cores), read_cache, through)| {
        settings.extend([format!("host.t_firmware={firmware}"), format!("host.cores={cores}")]);
        settings.push(format!("buffer.read_cache={read_cache}"));
        settings.push(format!("buffer.read_through={through}"));
        settings
    });
    device.boxed()
}

/// These devices with blocks by themselves or in superblocks, and mapping units of every kind: a flash page, a part of
/// one, several. A logical page has 16 KiB.
pub fn with_units(devices: impl Strategy<Value = Vec<String>> + 'static) -> BoxedStrategy<Vec<String>> {
    let superblocks = prop::sample::select(vec![false, false, true]);
    let drawn = (with_map_units(devices.boxed()), superblocks, 9..24u32);
    let device = drawn.prop_map(|(mut settings, superblocks, slots)| {
        if superblocks {
            // A buffer holds a program of all planes, of the largest pages.
            settings.extend([
                "ftl.allocation=superblock".into(),
                "chip.plane_programs=lockstep".into(),
                format!("buffer.size={}KiB", slots * 64),
                "ftl.over_provisioning=3.0".into(),
            ]);
        }
        settings
    });
    device.boxed()
}

/// Devices with units of the map of every kind.
fn with_map_units(devices: BoxedStrategy<Vec<String>>) -> impl Strategy<Value = Vec<String>> {
    let kinds = [
        ("16KiB", "page"),
        ("16KiB", "16KiB"),
        ("64KiB", "16KiB"),
        ("32KiB", "16KiB"),
        ("16KiB", "32KiB"),
        ("16KiB", "64KiB"),
    ];
    (devices, prop::sample::select(kinds.to_vec()), 12..24u32).prop_map(|(mut settings, (page, unit), slots)| {
        if unit != "page" {
            // A buffer holds a program of the largest pages; shared pages are not copied back.
            settings.extend([
                format!("geometry.page_size={page}"),
                format!("mapping.unit={unit}"),
                format!("buffer.size={}KiB", slots * 16),
                "gc.copyback=false".into(),
                "ftl.over_provisioning=3.0".into(),
            ]);
        }
        settings
    })
}

/// The policies of a small device.
fn policies() -> impl Strategy<Value = Vec<String>> {
    let geometry = (1..3u32, 1..3u32, 1..3u32, 1..4u32);
    let policies = (
        prop::sample::select(vec!["page", "wordline"]),
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["write-back", "write-through"]),
        prop::sample::select(vec!["independent", "lockstep", "single"]),
        prop::sample::select(vec!["single", "lockstep"]),
        prop::sample::select(vec!["reclaimed", "opened"]),
        prop::sample::select(vec!["fifo", "read-first", "user-first"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW"]),
    );
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let reading = (
        prop::sample::select(vec!["none", "none", "steps"]),
        prop::sample::select(vec!["default", "tracked"]),
        prop::sample::select(vec!["table", "oracle", "sentinel", "swift"]),
        prop::sample::select(vec!["off", "cache-read"]),
        prop::sample::select(vec!["default", "adaptive"]),
        prop::sample::select(vec!["none", "controller", "on-die"]),
    );
    let sizes = (3..12u64, 0..3u32, 1..4u32, 1..4u32, 0..2u32, 1..6u32);
    (geometry, policies, switches, reading, sizes).prop_map(
        |(
            (channels, chips, dies, planes),
            policies,
            (cache_read, cache_program, interleave, codeword),
            reading,
            sizes,
        )| {
            let (unit, placement, mode, reads, programs, erase, order, page_order) = policies;
            let (slots, dirty, decoders, ecc_buffer, queues, commands) = sizes;
            [
                format!("geometry.channels={channels}"),
                format!("geometry.chips={chips}"),
                format!("geometry.dies={dies}"),
                format!("geometry.planes={planes}"),
                "geometry.blocks=40".into(),
                "geometry.pages=30".into(),
                "ftl.over_provisioning=3.0".into(),
                "age.fill=0.7".into(),
                "age.invalid=0.2".into(),
                format!("chip.model={}", if reading.0 == "none" { "none" } else { measured_steps() }),
                format!("read.rpt={}", measured_rpt()),
                format!("read.start={}", reading.1),
                format!("read.next={}", reading.2),
                format!("read.pipeline={}", reading.3),
                format!("read.sensing={}", reading.4),
                // Sentinel cells are evaluated in the controller.
                format!("read.predictor={}", if reading.2 == "sentinel" { "controller" } else { reading.5 }),
                "read.prediction_accuracy=0.7".into(),
                "ecc.t_failed=30us".into(),
                "chip.t_read=none".into(),
                "chip.senses=[4,6,5]".into(),
                "chip.t_pre=6us".into(),
                "chip.t_eval=2us".into(),
                "chip.t_disch=2us".into(),
                format!("chip.program_unit={unit}"),
                format!("ftl.placement={placement}"),
                format!("buffer.mode={mode}"),
                format!("chip.plane_reads={reads}"),
                format!("chip.plane_programs={programs}"),
                format!("ftl.erase_when={erase}"),
                format!("schedule.order={order}"),
                format!("ftl.page_order={page_order}"),
                format!("chip.cache_read={cache_read}"),
                format!("chip.cache_program={cache_program}"),
                format!("bus.die_interleaving={interleave}"),
                format!("bus.transfer={}", if codeword { "codeword" } else { "page" }),
                format!("buffer.size={}KiB", slots * 16),
                format!("buffer.dirty_limit=0.{}", dirty * 4),
                format!("ecc.decoders={decoders}"),
                format!("ecc.buffer={ecc_buffer}"),
                format!("host.queues={}", queues + 1),
                format!("host.commands={}", commands * 3),
                format!("host.queue_depth={}", commands * 4),
            ]
            .into()
        },
    )
}

/// Devices of a few small blocks that collection keeps reclaiming from the first write on, with every mechanism that
/// moves data drawn at random.
pub fn living_devices() -> BoxedStrategy<Vec<String>> {
    let collection = (
        prop::sample::select(vec!["greedy", "fifo", "cost-benefit", "d-choices:3"]),
        1..5u32,
        any::<bool>(),
        any::<bool>(),
        6..14u32,
        prop::sample::select(vec!["none", "20us", "500us"]),
        5..7u32,
    );
    let wear = (
        prop::sample::select(vec!["least-worn", "oldest"]),
        prop::sample::select(vec!["none", "1", "3"]),
        prop::sample::select(vec!["none", "15s", "60s"]),
        prop::sample::select(vec!["none", "72", "90"]),
    );
    let map = (
        prop::sample::select(vec!["ideal", "cached"]),
        prop::sample::select(vec!["shared", "partitioned"]),
        prop::sample::select(vec!["64B", "256B"]),
        1..5u32,
        1..4u32,
    );
    let state =
        (prop::sample::select(vec!["none", "closed-form"]), prop::sample::select(vec!["1.0", "0.8"]), any::<bool>());
    let suspension = (
        prop::sample::select(vec!["none", "inter-phase", "intra-phase"]),
        prop::sample::select(vec!["none", "reset-and-resume", "pulse-boundary"]),
        prop::sample::select(vec!["none", "1", "3"]),
        any::<bool>(),
        prop::sample::select(vec!["none", "0", "5", "40"]),
    );
    let erasing = (
        prop_oneof![9 => Just("none"), 1 => Just("ispe"), 1 => Just("i-ispe"), 2 => Just("felp")],
        prop::sample::select(vec!["nominal", "scaled", "per-wordline"]),
        any::<bool>(),
        prop::sample::select(vec!["0", "400", "2500", "8000"]),
    );
    let drawn = (devices(), collection, wear, map, state, suspension, erasing, 1..4u32);
    let device = drawn.prop_map(|(mut settings, collection, wear, map, state, suspension, erasing, planes)| {
        let (victim, streams, copyback, preemptible, moves, idle, start) = collection;
        let (free_block, spread, period, reads) = wear;
        let (table, sharing, line, lines, writes) = map;
        settings.extend([
            format!("schedule.suspend_program={}", suspension.0),
            format!("schedule.suspend_erase={}", suspension.1),
            format!("schedule.suspensions={}", suspension.2),
            format!("chip.shadow_buffer={}", suspension.3),
            format!("schedule.write_queue={}", suspension.4),
            "chip.t_prog=none".into(),
            "chip.program_loops=7".into(),
            "chip.t_program_pulse=60us".into(),
            "chip.t_program_verify=25us".into(),
            "chip.t_bers=none".into(),
            "chip.erase_loops=2".into(),
            "chip.t_erase_pulse=1ms".into(),
            "chip.t_erase_verify=100us".into(),
            "geometry.channels=1".into(),
            "geometry.chips=1".into(),
            format!("geometry.planes={planes}"),
            "geometry.blocks=32".into(),
            "geometry.pages=18".into(),
            "ftl.over_provisioning=1.8".into(),
            "age.invalid=0.0".into(),
            format!("age.fill={}", state.1),
            format!("age.precondition={}", state.0),
            format!("age.staggered={}", state.2),
            format!("gc.victim={victim}"),
            format!("gc.pacing={}", ["none", "proportional", "token"][moves as usize % 3]),
            format!("ftl.streams={streams}"),
            format!("gc.copyback={copyback}"),
            format!("gc.preemptible={preemptible}"),
            format!("gc.relocations={moves}"),
            format!("gc.idle={idle}"),
            format!("gc.start={start}"),
            format!("gc.stop={start}"),
            format!("wear.free_block={free_block}"),
            format!("wear.static_spread={spread}"),
            format!("refresh.period={period}"),
            "age.retention=1d".into(),
            format!("refresh.reads={reads}"),
            format!("mapping.table={table}"),
            format!("mapping.sharing={sharing}"),
            format!("mapping.entry_group={line}"),
            format!("mapping.cache={}B", lines * 4 * 256),
            "mapping.entry=64B".into(),
            format!("mapping.writes={writes}"),
        ]);
        let (pulse, voltage, flag, pec) = erasing;
        if pulse != "none" {
            settings.extend([
                "chip.model=tlc48-reo".into(),
                format!("age.pec={pec}"),
                format!("erase.pulse={pulse}"),
                format!("erase.margin={}", if pulse == "felp" && flag { "ecc" } else { "none" }),
                format!("erase.voltage={voltage}"),
                format!("erase.mispredictions={}", if pulse == "felp" { "0.3" } else { "0" }),
                format!("age.worn_under={}", if flag { "ispe" } else { "scheme" }),
                format!("erase.retire={}", flag && pec == "0"),
            ]);
        }
        settings
    });
    device.boxed()
}

/// What a load's request is: reads and writes, now and then a trim or a flush.
fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![10 => Just(Op::Read), 10 => Just(Op::Write), 2 => Just(Op::Trim), 1 => Just(Op::Flush)]
}

/// Gap to the request before \[ns], what is asked, 512-B sector, sectors.
pub type Load = Vec<(u64, Op, u64, u64)>;

/// Requests on few pages, so that they meet.
pub fn loads() -> BoxedStrategy<Load> {
    let gap = prop_oneof![Just(0u64), 1..3_000u64, 1_000..400_000u64];
    prop::collection::vec((gap, ops(), 0..40 * 32u64, 1..100u64), 1..120).boxed()
}

/// The requests of a load, on three submission queues in turn.
pub fn requests(load: &[(u64, Op, u64, u64)]) -> Vec<Request> {
    let mut time = 0;
    load.iter()
        .enumerate()
        .map(|(index, &(gap, op, sector, sectors))| {
            time += gap;
            let queue = index as u16 % 3;
            let bytes = if op == Op::Flush { 0 } else { sectors * 512 };
            Request::new(Time(time), op, Bytes(sector * 512), Bytes(bytes)).on(queue)
        })
        .collect()
}

/// The default device with settings.
pub fn config(settings: &[String]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config
}
