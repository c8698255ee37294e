//! Random devices that draw every axis of every section, played under random loads and held to every invariant. The
//! tests play some; `make soak N=50000` (examples/soak.rs) plays as many as it is told.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ssd::run::checkpoint::POLICIES;
use ssd::run::{Replay, Run, RunOptions};
use ssd::stats::Counters;
use ssd::{Checker, Completion, Config, DataFrom, Device, Drive, Probe, RunError, SlotId, Unwatched, presets};
use units::{Bytes, Lpn, Ppn, Span, Stream, Time};
use workload::{Op, Request, Source, TraceError, ZoneAction};

use crate::files;
use crate::own::{Chooses, page_mapped};
use crate::watcher::{Watcher, probe};

/// Draws one after another.
pub(crate) struct Dice {
    stream: Stream,
    drawn: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64, name: &str) -> Dice {
        Dice { stream: Stream::new(seed, name), drawn: 0 }
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.stream.below(self.drawn, n)
    }
    pub(crate) fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A device and a load, as the words of a command.
#[derive(Clone, Debug)]
pub struct Case {
    /// Seed of the draws and of the run.
    pub seed: u64,
    /// How many requests are played.
    pub requests: u64,
    /// How many of them at once.
    pub depth: u32,
    /// Settings of the device on top of `tlc-page`.
    pub device: Vec<String>,
    /// Settings of the workload on top of `default`.
    pub workload: Vec<String>,
    /// An FTL of one's own places the data, and chooses which blocks are reclaimed ([`crate::own`]).
    pub own: bool,
}

impl Case {
    /// What a user would run.
    pub fn command(&self) -> String {
        let words = self.workload.iter().chain(&self.device).map(|word| format!(" --set {word}"));
        let own = if self.own { " --policy ftl=(crates/testing/src/own.rs)" } else { "" };
        let words: String = words.collect::<String>() + own;
        format!(
            "ssdlab run -q --device tlc-page --seed {} --requests {} --replay closed:{}{words}",
            self.seed, self.requests, self.depth
        )
    }
}

/// Any device, under any load. Dependent keys are drawn so that more than half of the devices are accepted.
pub fn draw(seed: u64) -> Case {
    let mut dice = Dice { stream: Stream::new(seed, "soak"), drawn: 0 };
    let d = &mut dice;
    let mut device: Vec<String> = Vec::new();
    let mut set = |key: &str, value: &dyn std::fmt::Display| device.push(format!("{key}={value}"));

    // A chip, and the cells that it has.
    let cell = d.one(&["SLC", "MLC", "TLC", "TLC", "TLC", "QLC"]);
    let five = cell == "QLC" && Stream::new(seed, "soak PLC").below(0, 3) == 0;
    let cell = if five { "PLC" } else { cell };
    let bits = match cell {
        "SLC" => 1,
        "MLC" => 2,
        "TLC" => 3,
        "QLC" => 4,
        _ => 5,
    };
    let own = files::chip_file();
    let steps = files::measured_steps();
    let model = match cell {
        "SLC" => d.one(&["none", "slc", steps]),
        "MLC" => d.one(&["none", "mlc", steps]),
        "TLC" => d.one(&["none", "tlc48", "tlc48", "tlc48-reo", "tlc48-reo", own, steps]),
        _ => d.one(&["none", steps]),
    };
    let cells = model != "none" && model != steps;
    let wordline = d.chance(50);
    let unit = if wordline { bits } else { 1 };
    set("geometry.cell", &cell);
    set("chip.model", &model);
    set("chip.program_unit", &if wordline { "wordline" } else { "page" });
    let planes = d.from(1, 4);
    let dies = [d.from(1, 3), d.from(1, 2), d.from(1, 2)];
    for (key, count) in ["channels", "chips", "dies"].into_iter().zip(dies) {
        set(&format!("geometry.{key}"), &count);
    }
    set("geometry.planes", &planes);
    let blocks = d.from(26, 60);
    set("geometry.blocks", &blocks);
    let pages = bits * d.from(4, 24);
    set("geometry.pages", &pages);
    let page_kib = d.one(&[2, 4, 8, 16, 16]);
    set("geometry.page_size", &format!("{page_kib}KiB"));

    // Timings.
    let phases = d.chance(60);
    if phases {
        let senses: Vec<String> = (0..bits).map(|_| d.from(1, 4).to_string()).collect();
        set("chip.t_read", &"none");
        set("chip.senses", &format!("[{}]", senses.join(", ")));
        set("chip.t_pre", &format!("{}us", d.from(5, 30)));
        set("chip.t_eval", &format!("{}us", d.from(1, 8)));
        set("chip.t_disch", &format!("{}us", d.from(0, 12)));
    } else {
        set("chip.t_read", &format!("{}us", d.from(1, 90)));
    }
    let program_loops = d.chance(50);
    if program_loops {
        set("chip.t_prog", &"none");
        set("chip.program_loops", &d.from(1, 12));
        set("chip.t_program_pulse", &format!("{}us", d.from(10, 80)));
        set("chip.t_program_verify", &format!("{}us", d.from(1, 30)));
    } else {
        set("chip.t_prog", &format!("{}us", d.from(50, 1500)));
    }
    let erase_loops = d.chance(50);
    if erase_loops {
        set("chip.t_bers", &"none");
        set("chip.erase_loops", &d.from(1, 5));
        set("chip.t_erase_pulse", &format!("{}us", d.from(300, 3500)));
        set("chip.t_erase_verify", &format!("{}us", d.from(50, 200)));
    } else {
        set("chip.t_bers", &format!("{}us", d.from(500, 9000)));
    }
    set("chip.t_voltage_reset", &format!("{}us", d.from(0, 9)));
    set("chip.t_buffer", &format!("{}us", d.from(0, 9)));
    set("chip.t_set", &format!("{}us", d.from(0, 3)));
    set("chip.t_rst", &format!("{}us", d.from(0, 12)));
    set("chip.shadow_buffer", &d.chance(50));
    set("chip.plane_reads", &d.one(&["single", "lockstep", "independent"]));
    set("chip.plane_programs", &d.one(&["single", "lockstep"]));
    set("chip.cache_read", &d.chance(50));
    set("chip.cache_program", &d.chance(50));
    if d.chance(50) {
        set("bus.bandwidth", &format!("{}MB/s", d.from(100, 2000)));
    } else {
        set("bus.bandwidth", &"none");
        set("bus.t_dma", &format!("{}us", d.from(1, 40)));
    }
    set("bus.t_command", &format!("{}ns", d.from(0, 900)));
    set("bus.transfer", &d.one(&["page", "codeword"]));
    set("bus.die_interleaving", &d.chance(70));

    // Decoding and reading.
    let weak = files::weak_code();
    let code = if cells { d.one(&["none", "qc-ldpc", "qc-ldpc", weak]) } else { "none" };
    set("ecc.code", &code);
    set("ecc.strength", &d.one(&["0.5", "0.8", "1.0", "1.0", "1.5"]));
    set("ecc.t_decode", &format!("{}us", d.from(0, 20)));
    set("ecc.t_failed", &d.one(&["none", "0ns", "8us", "60us"]));
    set("ecc.t_retried", &d.one(&["none", "1us"]));
    set("ecc.decoders", &d.from(1, 4));
    set("ecc.buffer", &d.from(1, 8));
    set("ecc.codeword", &format!("{}KiB", d.one(&[1, 2, 4]).min(page_kib)));
    let next = d.one(&["table", "table", "oracle", "sentinel", "swift"]);
    let accuracy = d.one(&["none", "0.7", "1.0"]);
    let predictor = match next {
        _ if code == "none" && accuracy == "none" => "none",
        "sentinel" => d.one(&["none", "controller"]),
        _ => d.one(&["none", "controller", "on-die"]),
    };
    let adaptive = phases && d.chance(50);
    set("read.start", &d.one(&["default", "tracked"]));
    set("read.tracking", &d.one(&["age", "block"]));
    set("read.next", &next);
    set("read.pipeline", &d.one(&["off", "cache-read"]));
    set("read.sensing", &if adaptive { "adaptive" } else { "default" });
    set("read.predictor", &predictor);
    set("read.prediction_accuracy", &accuracy);
    set("read.t_pred", &format!("{}ns", d.from(0, 9000)));
    // The RPT of a chip takes half a second to profile: presets' are kept, a measured table costs nothing.
    set(
        "read.rpt",
        &if cells && model != own { d.one(&["none", files::measured_rpt()]) } else { files::measured_rpt() },
    );
    set("read.rpt_error", &d.one(&["0.0", "0.0", "-3000.0", "2000.0"]));
    set("read.age_error", &d.one(&["1.0", "1.0", "0.3", "4.0"]));

    // The host and its buffer.
    let host_queues = d.from(1, 6);
    set("host.queues", &host_queues);
    set("host.queue_depth", &d.from(1, 40));
    set("host.commands", &d.from(1, 40));
    set("host.arbitration_burst", &d.from(1, 4));
    set("host.link_bandwidth", &format!("{}MB/s", d.from(200, 9000)));
    set("host.t_submit", &format!("{}ns", d.from(0, 3000)));
    set("host.t_complete", &format!("{}ns", d.from(0, 90_000)));
    set("host.timeout", &d.one(&["10s", "30s"]));
    set("buffer.size", &format!("{}KiB", page_kib * d.from(unit, 40)));
    set("buffer.mode", &d.one(&["write-back", "write-back", "write-through"]));
    set("buffer.dirty_limit", &d.one(&["0.0", "0.0", "0.4", "0.9"]));
    set("buffer.dram_bandwidth", &format!("{}MB/s", d.from(300, 20_000)));

    // The flash translation layer. Streams with open blocks, free ones and failing ones take room.
    let streams = d.from(1, 4);
    let failing = d.chance(20);
    let start = d.from(2, 4) + if streams == 4 { 1 + u64::from(unit > 1) } else { 0 } + u64::from(failing);
    let stop = start + d.below(3);
    set("ftl.placement", &d.one(&["static", "dynamic"]));
    set("ftl.page_order", &d.one(&["CWDP", "PDWC", "DPCW", "WCPD"]));
    set("ftl.erase_when", &d.one(&["reclaimed", "opened"]));
    set("ftl.streams", &streams);
    let (victim, choices) = (d.one(&["greedy", "fifo", "cost-benefit", "d-choices"]), d.from(1, 12));
    set("gc.victim", &if victim == "d-choices" { format!("d-choices:{choices}") } else { victim.to_string() });
    set("gc.start", &start);
    set("gc.stop", &stop);
    set("gc.relocations", &(unit * d.from(2, 6)));
    set("gc.copyback", &d.chance(25));
    set("gc.preemptible", &d.chance(60));
    set("gc.idle", &d.one(&["none", "none", "0ns", "20us", "500us"]));
    set("gc.idle_stop", &(stop + d.below(4)));
    set("wear.free_block", &d.one(&["least-worn", "oldest"]));
    set("wear.static_spread", &d.one(&["none", "none", "0", "1", "5", "20"]));
    set("wear.factory_bad", &d.one(&["0.0", "0.0", "0.0", "0.02"]));
    set("wear.program_fail", &if failing { d.one(&["0.0", "0.001", "0.01"]) } else { "0.0" });
    set("wear.erase_fail", &if failing { d.one(&["0.0", "0.01", "0.1"]) } else { "0.0" });
    set("wear.end_of_life", &d.one(&["stop", "read-only"]));
    set("refresh.period", &d.one(&["none", "none", "none", "60s", "10min"]));
    if d.chance(30) {
        set("refresh.reads", &(4 * pages + d.below(400)));
    } else {
        set("refresh.reads", &"none");
    }
    let cached = d.chance(45);
    let entry = d.one(&[4, 8, 16, 32, 64]);
    let queues = 7; // With one part for each submission queue and one for the drive.
    set("mapping.table", &if cached { "cached" } else { "ideal" });
    let line = d.one(&[64, 128, 256, 1024]);
    set("mapping.entry", &format!("{entry}B"));
    set("mapping.entry_group", &format!("{line}B"));
    set("mapping.cache", &format!("{}B", line * (queues + d.below(60))));
    set("mapping.sharing", &d.one(&["shared", "partitioned"]));
    set("mapping.writes", &d.one(&[1, 2, 4, 23, 64]));

    // Order, suspension and erases.
    let pulsed = cells && d.chance(50);
    set("schedule.order", &d.one(&["fifo", "read-first", "user-first"]));
    set(
        "schedule.suspend_program",
        &if program_loops { d.one(&["none", "inter-phase", "intra-phase"]) } else { "none" },
    );
    set(
        "schedule.suspend_erase",
        &if erase_loops || pulsed { d.one(&["none", "reset-and-resume", "pulse-boundary"]) } else { "none" },
    );
    set("schedule.suspensions", &d.one(&["none", "1", "4"]));
    set("schedule.write_queue", &d.one(&["none", "none", "0", "5", "40"]));
    let pulse = if pulsed { d.one(&["ispe", "i-ispe", "felp", "felp"]) } else { "none" };
    let felp = pulse == "felp";
    let retires = pulsed && failing && d.chance(50);
    set("erase.pulse", &pulse);
    set("erase.margin", &if felp { d.one(&["none", "ecc"]) } else { "none" });
    set("erase.voltage", &if pulsed { d.one(&["nominal", "scaled", "per-wordline"]) } else { "nominal" });
    set("erase.mispredictions", &if felp { d.one(&["0.0", "0.3"]) } else { "0.0" });
    set("erase.requirement", &if pulsed { d.one(&["none", "40.0", "90.0"]) } else { "none" });
    set("erase.retire", &retires);
    for key in ["sense_mw", "program_mw", "erase_mw", "transfer_nj", "decode_nj", "prediction_nj"] {
        set(&format!("energy.{key}"), &format!("{}.0", d.below(200)));
    }

    // The state that it starts from.
    let pec = d.one(&[0, 0, 400, 1500, 2500, 8000]);
    let retention = d.one(&["0ns", "3mo", "6mo", "1y", "uniform:0..30d"]);
    let precondition = d.one(&["none", "none", "closed-form", "closed-form", "write:0.3"]);
    set("wear.endurance", &if failing && d.chance(30) { (pec + d.from(3, 60)).to_string() } else { "none".into() });
    set("age.pec", &pec);
    set("age.retention", &retention);
    set("age.map_retention", &d.one(&["0ns", "1mo"]));
    set("age.temperature", &d.one(&["30C", "55C"]));
    set("age.fill", &d.one(&["0.0", "0.5", "0.9", "1.0", "1.0"]));
    set("age.invalid", &if precondition == "closed-form" { "0.0" } else { d.one(&["0.0", "0.0", "0.1"]) });
    set("age.precondition", &precondition);
    set("age.worn_under", &if pulsed { d.one(&["scheme", "ispe"]) } else { "scheme" });
    set("age.staggered", &d.chance(50));
    // By the seed alone: the other draws stay what they were.
    set("age.load", &["auto", "full", "0.02", "0.3"][(seed / 3 % 4) as usize]);
    // From barely enough to plenty.
    let hints = hints(seed);
    let handles = u64::from(hints == 2 && streams <= 2);
    let kept = stop + streams + handles + 3 + u64::from(failing) + if cached { 1 } else { 0 };
    let least = blocks as f64 / (blocks.saturating_sub(kept).max(4)) as f64 - 1.0;
    let spare = least * (1.0 + d.below(60) as f64 / 100.0) + d.one(&[0.1, 0.3, 0.6, 1.0]);
    set("ftl.over_provisioning", &format!("{spare:.2}"));

    let rw = d.one(&["randrw", "randrw", "randwrite", "randwrite", "rw", "randread", "write"]);
    let mut workload = vec![
        format!("workload.rw={rw}"),
        format!("workload.bs={}", d.one(&["4KiB", "16KiB", "16KiB", "64KiB", "2KiB"])),
        format!("workload.align={}", d.one(&["512B", "4KiB", "16KiB"])),
        format!("workload.queues={}", d.from(1, 4)),
    ];
    if rw.ends_with("rw") {
        workload.push(format!("workload.read_ratio={}%", d.from(10, 90)));
    }
    if rw.starts_with("rand") {
        workload.push(format!("workload.random_distribution={}", d.one(&["random", "zipf:0.99"])));
    }
    let (mut requests, depth) = (d.one(&[100, 300, 300, 1000, 3000]), d.one(&[1, 4, 16, 64]));
    if d.chance(10) {
        // Reclaim comes after the start.
        device.push(format!("age.reads={}", d.one(&[10, 4_000_000])));
        device.push(format!("chip.read_disturb={}", model != steps));
    }
    device.extend(cores_and_dram(seed, page_kib));
    device.extend(map_unit(seed, page_kib));
    device.extend(superblocks(seed));
    device.extend(neighbours(seed));
    if wordline && !program_loops {
        device.extend(passes(seed));
    }
    device.extend(arbitration(seed, host_queues));
    device.push(format!("ftl.hints={hints}"));
    device.push("ftl.mapping=page".into());
    let soft = &mut Dice { stream: Stream::new(seed, "soak soft decoding"), drawn: 0 };
    let stage = if code == "none" { "none" } else { soft.one(&["none", "2-bit", "3-bit", "progressive"]) };
    device.push(format!("ecc.soft={stage}"));
    device.push(format!("ecc.code_2bit={}", soft.one(&["qc-ldpc", files::weak_code()])));
    device.push(format!("ecc.code_3bit={}", soft.one(&["qc-ldpc", files::weak_code()])));
    device.push(format!("ecc.soft_after={}", soft.one(&["none", "0", "1", "4"])));
    if (erase_loops || pulsed) && soft.chance(25) {
        device.push("schedule.suspend_erase=safe-points".to_owned());
    }
    device.push(format!("schedule.safe_points={}", soft.one(&[1, 3, 7])));
    let records = &mut Dice { stream: Stream::new(seed, "soak records"), drawn: 0 };
    if records.chance(30) {
        device.push("read.start=recorded".to_owned());
    }
    if code != "none" && records.chance(25) {
        let by_weight = predictor != "on-die" && records.chance(50);
        device.push(format!("read.next={}", if by_weight { "syndrome" } else { "tailored" }));
    }
    device.push(format!("read.records={}KiB", records.one(&[4, 4, 64])));
    device.push(format!("read.record_groups={}", records.one(&[1, 4, 64])));
    let suspended = &mut Dice { stream: Stream::new(seed, "soak suspended"), drawn: 0 };
    device.push(format!("chip.suspended_program_errors={}", suspended.one(&["0", "0", "0.5", "20"])));
    device.push(format!("chip.suspended_erase_wear={}", suspended.one(&["0", "0", "0.1", "50"])));
    let patience = &mut Dice { stream: Stream::new(seed, "soak patience"), drawn: 0 };
    device.push(format!("schedule.suspend_erase_for={}", patience.one(&["reads", "reads-and-writes"])));
    device.push(format!("schedule.suspend_after={}", patience.one(&["0us", "0us", "50us", "2ms"])));
    device.push(format!("schedule.suspend_erase_left={}", patience.one(&["0us", "0us", "700us"])));
    device.push(format!("schedule.suspend_program_left={}", patience.one(&["0us", "0us", "100us"])));
    device.push(format!("schedule.suspend_progress={}", patience.one(&["0us", "0us", "30us", "500us"])));
    device.push(format!("schedule.suspend_one_of_chip={}", patience.chance(30)));
    let first = &mut Dice { stream: Stream::new(seed, "soak first senses"), drawn: 0 };
    if first.chance(40) {
        device.push(format!("read.pipeline={}", first.one(&["cache-read-likely", "cache-read-first"])));
    }
    let learned = &mut Dice { stream: Stream::new(seed, "soak learned"), drawn: 0 };
    let trees = format!("read.trees={}", learned.one(&[files::trees(), files::trees(), files::yes_trees()]));
    for (choices, may) in [
        (["read.start=learned", "read.start=oracle"], true),
        (["read.pipeline=cache-read-learned", "read.pipeline=cache-read-oracle"], true),
        (["read.sensing=adaptive-learned", "read.sensing=adaptive-oracle"], adaptive && cells),
    ] {
        if learned.chance(15) && may {
            device.extend([learned.one(&choices).to_owned(), trees.clone()]);
        }
    }
    if predictor == "on-die" && first.chance(40) {
        device.push("read.predictor=on-die-again".to_owned());
    }
    if adaptive && cells && first.chance(50) {
        device.push("read.sensing=adaptive-first".to_owned());
    }
    let weights = &mut Dice { stream: Stream::new(seed, "soak weights"), drawn: 0 };
    if adaptive && cells && predictor != "none" && weights.chance(40) {
        device.push("read.sensing=adaptive-weighed".to_owned());
    }
    if predictor == "on-die" && code != "none" && weights.chance(40) {
        let next = weights.one(&["swift", "oracle"]);
        device.extend(["read.predictor=on-die-again".into(), format!("read.next={next}"), "ecc.soft=weighed".into()]);
    }
    if code != "none" && weights.chance(30) {
        device.push("bus.transfer=uncorrected".to_owned());
    }
    if weights.chance(15) {
        device.push("read.pipeline=page-read".to_owned());
    }
    if felp && cells && weights.chance(40) {
        device.push("erase.margin=tracked".to_owned());
    }
    device.push(format!("schedule.suspend_budget={}", weights.one(&["none", "none", "0us", "300us", "5ms"])));
    let pacing = &mut Dice { stream: Stream::new(seed, "soak pacing"), drawn: 0 };
    device.push(format!("gc.pacing={}", pacing.one(&["none", "none", "token", "proportional"])));
    let power = &mut Dice { stream: Stream::new(seed, "soak power"), drawn: 0 };
    let checkpoint = power.one(&["none", "none", "300KiB", "2MiB"]);
    device.push(format!("mapping.checkpoint={checkpoint}"));
    device.push(format!("mapping.journal={}", checkpoint != "none" && power.chance(50)));
    device.push(format!("power.plp={}", power.chance(50)));
    device.push(format!("power.cut_at={}", power.one(&["[]", "[]", "[]", "random:50ms", "[op:7, 30ms, op:90]"])));
    device.extend(faults(seed));
    device.extend(miscorrections(seed));
    device.extend(parity(seed));
    device.extend(power_states(seed));
    device.extend(temperatures(seed));
    if bits >= 4 && model == "none" && Stream::new(seed, "soak qlc").below(1, 2) == 0 {
        device.push("chip.model=auto".to_owned());
    }
    if bits > 1 && !pulsed {
        device.extend(slc_cache(seed));
    }
    if bits > 2 {
        device.extend(cells_of_cache(seed, bits));
    }
    let order = &mut Dice { stream: Stream::new(seed, "soak order of passes"), drawn: 0 };
    if wordline && !program_loops && order.chance(20) {
        let whole = ["chip.program_passes=2", "gc.copyback=false", "slc.fold=controller", "power.cut_at=[]"];
        device.extend(whole.map(String::from));
        device.push("chip.pass_order=interleaved".to_owned());
    } else {
        device.push("chip.pass_order=wordline".to_owned());
    }
    let copies = &mut Dice { stream: Stream::new(seed, "soak copies in a row"), drawn: 0 };
    device.push(format!("gc.copyback_limit={}", copies.one(&["none", "none", "1", "3"])));
    device.extend(copies_within_superblocks(seed, &device));
    let reclaim = &mut Dice { stream: Stream::new(seed, "soak reclaim of caches"), drawn: 0 };
    if device.iter().any(|word| word == "ftl.slc_cache=static" || word == "ftl.slc_cache=dynamic") && reclaim.chance(50)
    {
        device.push("refresh.reclaim=wordline".to_owned());
    }
    // One load in twenty has requests as long as a good part of the drive, of which few are enough.
    let long = &mut Dice { stream: Stream::new(seed, "soak long requests"), drawn: 0 };
    if long.chance(5) {
        let drive = dies.iter().product::<u64>() * planes * blocks * pages * page_kib / 1024;
        let most = (drive / 16).clamp(1, 64);
        let (before, after) = long.one(&[("4KiB/90:", "/10"), ("", "")]);
        workload.push(format!("workload.bs={before}{most}MiB{after}"));
        requests = long.from(2, 12);
    }
    // Of a cached map it is refused; no other map has any.
    if Stream::new(seed, "soak no writes of the map").below(0, 50) == 0 {
        device.push("mapping.writes=0".to_owned());
    }
    let early = &mut Dice { stream: Stream::new(seed, "soak fail fast"), drawn: 0 };
    if early.chance(20) {
        device.push(format!("read.fail_fast={}", early.one(&["1", "3", "8"])));
    }
    let busy = &mut Dice { stream: Stream::new(seed, "soak fail busy"), drawn: 0 };
    device.push(format!("read.fail_busy={}", busy.one(&["none", "none", "erase", "collection"])));
    Case { seed, requests, depth, device, workload, own: false }
}

/// The device of a soak with that number: one in three has features together that were drawn apart once, one in ten
/// zones, one in fifteen a learned mapping table, one in ten an FTL of one's own, and one in twenty several reclaim
/// groups or a mapping by blocks.
pub fn nth(number: u64) -> Case {
    match number {
        _ if number % 10 == 7 => zoned(number),
        _ if number % 20 == 9 => grouped(number),
        _ if number % 20 == 5 => by_blocks(number),
        _ if number.is_multiple_of(3) => joined(number),
        _ if number % 10 == 4 => learned(number),
        _ if number % 10 == 1 => Case { own: true, ..draw(number) },
        _ => draw(number),
    }
}

/// Any device whose mapping table is learned.
pub fn learned(seed: u64) -> Case {
    let mut case = draw(seed);
    let d = &mut Dice { stream: Stream::new(seed, "soak learned"), drawn: 0 };
    let error = d.one(&["0", "1", "4", "16"]);
    case.device.extend(["mapping.table=learned".into(), format!("mapping.error={error}")]);
    case
}

/// A unit of the map that the device's pages allow.
fn unit(case: &Case, d: &mut Dice) -> &'static str {
    let page = case.device.iter().rev().find_map(|word| word.strip_prefix("geometry.page_size=")).unwrap_or("");
    if page == "2KiB" { "page" } else { d.one(&["page", "page", "2KiB"]) }
}

/// Any device that maps blocks, with a log.
pub fn by_blocks(seed: u64) -> Case {
    let mut case = draw(seed);
    let d = &mut Dice { stream: Stream::new(seed, "soak blocks and log"), drawn: 0 };
    let unit = unit(&case, d);
    let fixed = [
        "ftl.mapping=fast",
        "ftl.placement=static",
        "ftl.streams=2",
        "ftl.hints=0",
        "ftl.slc_cache=none",
        "ftl.raid=none",
        "mapping.table=ideal",
        "mapping.checkpoint=none",
        "mapping.journal=false",
        "gc.copyback=false",
        "age.staggered=false",
        "age.invalid=0",
        "geometry.blocks=60",
        "gc.start=5",
        "gc.stop=6",
        "gc.idle_stop=8",
    ];
    case.device.extend(fixed.map(String::from));
    case.device.push(format!("mapping.unit={unit}"));
    case.device.push(format!("ftl.log_blocks={}", d.one(&[1, 2, 4, 8])));
    case.device.push(format!("ftl.over_provisioning={}", d.one(&["1.0", "1.5", "3.0"])));
    case.device.push(format!("age.precondition={}", d.one(&["none", "none", "write:0.3"])));
    case.device.push(format!("power.cut_at={}", d.one(&["[]", "[]", "random:50ms", "[op:7, 30ms, op:90]"])));
    case
}

/// Any device with placement handles in several reclaim groups, of which one gets most of the data.
pub fn grouped(seed: u64) -> Case {
    let mut case = draw(seed);
    let d = &mut Dice { stream: Stream::new(seed, "soak reclaim groups"), drawn: 0 };
    let fixed = [
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.blocks=60",
        "gc.start=8",
        "gc.stop=9",
        "gc.idle_stop=10",
        "ftl.placement=dynamic",
        "ftl.raid=none",
        "ftl.streams=2",
    ];
    case.device.extend(fixed.map(String::from));
    case.device.push(format!("ftl.over_provisioning={}", d.one(&["1.5", "3.0", "6.0"])));
    case.device.push(format!("ftl.hints={}", d.from(1, 2)));
    case.device.push(format!("ftl.reclaim_groups={}", d.one(&["1", "2", "4"])));
    case.device.push(format!("ftl.isolation={}", d.one(&["initial", "persistent"])));
    case.device.push(format!("age.fill={}", d.one(&["0", "0.5", "1"])));
    case.device.push(format!("power.cut_at={}", d.one(&["[]", "[]", "random:50ms", "[op:7, 30ms, op:90]"])));
    case
}

/// Any device with zones, whose requests are those of zones.
pub fn zoned(seed: u64) -> Case {
    let mut case = draw(seed);
    let d = &mut Dice { stream: Stream::new(seed, "soak zones"), drawn: 0 };
    let unit = unit(&case, d);
    let set = |key: &str, value: &str| format!("{key}={value}");
    let fixed = [
        "ftl.mapping=zoned",
        "power.plp=true",
        "age.precondition=none",
        "age.staggered=false",
        "ftl.streams=2",
        "ftl.hints=0",
        "ftl.slc_cache=none",
        "ftl.raid=none",
        "mapping.table=ideal",
        "mapping.checkpoint=none",
        "mapping.journal=false",
        "buffer.mode=write-back",
        "buffer.size=32MiB",
        "gc.start=6",
        "gc.stop=7",
        "gc.idle_stop=8",
    ];
    case.device.extend(fixed.map(String::from));
    let settings = [
        set("mapping.unit", unit),
        set("ftl.over_provisioning", d.one(&["0.6", "1.5", "3.0"])),
        set("ftl.erase_when", d.one(&["reclaimed", "opened"])),
        set("age.fill", d.one(&["0", "0", "0.3", "1"])),
        set("zones.dies", d.one(&["none", "1", "1", "2"])),
        set("zones.blocks", d.one(&["1", "1", "2", "3"])),
        set("zones.size", d.one(&["none", "none", "64MiB"])),
        set("zones.capacity", d.one(&["none", "none", "64KiB"])),
        set("zones.max_open", d.one(&["1", "2", "3"])),
        set("zones.max_active", d.one(&["3", "4", "none"])),
        set("zones.conventional", d.one(&["0", "0", "1", "2"])),
        set("zones.append_limit", d.one(&["256KiB", "none"])),
        set("zones.finish", d.one(&["pad", "close"])),
        set("zones.read_across", d.one(&["true", "false"])),
        set("zones.random_area", d.one(&["0B", "0B", "64KiB"])),
        set("power.cut_at", d.one(&["[]", "[]", "random:20ms", "[op:7, 30ms, op:90]"])),
        set("zones.reset_completes", d.one(&["at-once", "at-once", "erased"])),
    ];
    let waits = settings.iter().any(|word| word == "zones.reset_completes=erased");
    case.device.extend(settings);
    if waits {
        case.device.push("ftl.erase_when=reclaimed".into());
    }
    let parts = &mut Dice { stream: Stream::new(seed, "soak faults of zones"), drawn: 0 };
    if parts.chance(30) {
        let some = ["program 0", "erase 0", "block 0:3", "blocks 0:4", "blocks 0:2", "plane 0", "die 0"];
        let at: Vec<String> =
            (0..parts.from(1, 3)).map(|_| format!("{}us {}", parts.below(60_000), parts.one(&some))).collect();
        case.device.push(format!("faults.at=[{}]", at.join(", ")));
    }
    parity_of_zones(&mut case, seed);
    zones_in_cache(&mut case, seed);
    case
}

/// Zones with parity over dies.
fn parity_of_zones(case: &mut Case, seed: u64) {
    let parity = &mut Dice { stream: Stream::new(seed, "soak parity of zones"), drawn: 0 };
    if parity.chance(40) {
        let wide = parity.from(2, 4);
        let room = ["geometry.dies=2", "gc.copyback=false", "ftl.over_provisioning=4.0", "geometry.blocks=60"]
            .map(String::from);
        let settings = room.into_iter().chain([format!("ftl.raid=parity:{wide}")]);
        case.device.extend(settings);
    }
}

/// Zones that are written by way of an SLC cache.
fn zones_in_cache(case: &mut Case, seed: u64) {
    let d = &mut Dice { stream: Stream::new(seed, "soak SLC cache of zones"), drawn: 0 };
    let has = |word: &str| case.device.iter().rev().any(|given| given == word);
    let dense = case.device.iter().rev().find(|word| word.starts_with("geometry.cell="));
    if !d.chance(40) || dense.is_some_and(|cell| cell.ends_with("SLC")) {
        return;
    }
    let (parity, blocks) = (has("geometry.blocks=60"), d.from(2, 9));
    let fold = if !parity && d.chance(30) { "copyback" } else { "controller" };
    let mut settings = vec![
        format!("ftl.slc_cache={}", d.one(&["static", "dynamic"])),
        format!("slc.blocks={blocks}"),
        d.one(&["slc.full=wait", "slc.full=direct"]).into(),
        format!("slc.fold_start={}", d.from(1, 2)),
        format!("slc.fold_idle={}", d.one(&["none", "0ns", "100us", "5ms"])),
        format!("slc.convert={}", d.one(&["none", "none", "hot:20", "retries:5"])),
        format!("slc.fold={fold}"),
        "geometry.blocks=60".into(),
        "ftl.over_provisioning=4.0".into(),
    ];
    if fold == "copyback" {
        settings.extend(["mapping.unit=page", "chip.program_passes=1"].map(String::from));
    }
    case.device.extend(settings);
}

/// Any device, with features whose combinations `draw` leaves out.
pub fn joined(seed: u64) -> Case {
    let mut case = draw(seed);
    let d = &mut Dice { stream: Stream::new(seed, "soak joined"), drawn: 0 };
    let drawn =
        |key: &str| case.device.iter().rev().find_map(|word| word.strip_prefix(&format!("{key}="))).unwrap_or("");
    let (page, whole) = (drawn("geometry.page_size").to_owned(), drawn("chip.program_unit") == "wordline");
    let dense = drawn("geometry.cell") != "SLC";
    let loops = !drawn("chip.program_loops").is_empty();
    let mut settings: Vec<String> = Vec::new();
    let (cached, parity) = (dense && d.chance(45), d.chance(45));
    // Room for all streams and reserves.
    let room = ["geometry.blocks=60", "gc.start=8", "gc.stop=9", "gc.idle_stop=10"];
    settings.extend(room.map(String::from));
    settings.push(format!("ftl.over_provisioning={}", d.one(&["1.5", "3.0", "6.0"])));
    settings.push(format!("ftl.streams={}", d.from(1, 4)));
    let handles = if cached { d.one(&[0, 0, 1, 2, 4]) } else { d.one(&[0, 0, 3, 5, 8]) };
    settings.push(format!("ftl.hints={handles}"));
    settings.push(format!("gc.pacing={}", d.one(&["none", "token", "proportional"])));
    settings.push(format!("ftl.placement={}", d.one(&["static", "dynamic"])));
    settings.push(format!("power.cut_at={}", d.one(&["[]", "random:50ms", "[op:7, 30ms, op:90]"])));
    if parity {
        settings.push(format!("ftl.raid=parity:{}", d.from(2, 5)));
        settings.push("geometry.dies=3".into());
        settings.extend(["gc.copyback=false", "power.cut_at=[]"].map(String::from));
        let unit = d.one(&["page", "page", "2KiB", "1KiB"]);
        settings.push(format!("mapping.unit={}", if page == "2KiB" { "page" } else { unit }));
    }
    if cached {
        let blocks = handles.max(2) + d.from(1, 4);
        settings.push(format!("ftl.slc_cache={}", d.one(&["static", "dynamic"])));
        settings.push(format!("slc.blocks={blocks}"));
        settings.push(format!("slc.full={}", d.one(&["direct", "wait"])));
        settings.push(format!("slc.fold_start={}", d.from(1, 2)));
        settings.push(format!("slc.fold_idle={}", d.one(&["none", "0ns", "100us", "5ms"])));
        settings.push(format!("slc.convert={}", d.one(&["none", "hot:20", "retries:5"])));
        let copies = !parity && d.chance(30);
        settings.push(format!("slc.fold={}", if copies { "copyback" } else { "controller" }));
        if copies {
            settings.extend(["mapping.unit=page", "ftl.allocation=plane", "chip.program_passes=1"].map(String::from));
        }
        settings.push("refresh.reclaim=block".into());
    } else if whole && !loops && d.chance(50) {
        let passes = ["chip.program_passes=2", "chip.pass_order=interleaved", "gc.copyback=false"];
        settings.extend(passes.map(String::from));
    }
    let cuts = &mut Dice { stream: Stream::new(seed, "soak cuts of parity"), drawn: 0 };
    if parity && cuts.chance(50) {
        settings.push(format!("power.cut_at={}", cuts.one(&["random:50ms", "[op:7, 30ms, op:90]"])));
    }
    let reclaim = &mut Dice { stream: Stream::new(seed, "soak reclaim of joined caches"), drawn: 0 };
    if cached && reclaim.chance(50) {
        settings.push("refresh.reclaim=wordline".into());
    }
    case.device.extend(settings);
    let apart = &mut Dice { stream: Stream::new(seed, "soak isolation"), drawn: 0 };
    let isolation = if apart.chance(30) { "persistent" } else { "initial" };
    case.device.push(format!("ftl.isolation={isolation}"));
    case
}

/// The controller's cores, and what reads have to do with the DRAM: drawn by themselves, so that other draws do not
/// depend on them.
fn cores_and_dram(seed: u64, page_kib: u64) -> [String; 4] {
    let d = &mut Dice { stream: Stream::new(seed, "soak cores and DRAM"), drawn: 0 };
    [
        format!("host.t_firmware={}", d.one(&["0ns", "0ns", "700ns", "6us"])),
        format!("host.cores={}", d.from(1, 4)),
        format!("buffer.read_cache={}KiB", d.one(&[0, 0, 1, 5, 200]) * page_kib),
        format!("buffer.read_through={}", d.chance(70)),
    ]
}

/// An SLC cache, drawn by itself: one device in five has it, with room enough.
fn slc_cache(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak SLC cache"), drawn: 0 };
    if !d.chance(20) {
        return vec!["ftl.slc_cache=none".into()];
    }
    let blocks = d.from(1, 6);
    let full = d.one(&["direct", "direct", "wait"]);
    let forced = d.from(u64::from(full == "wait"), blocks.min(3));
    let settings =
        ["ftl.raid=none", "ftl.hints=0", "ftl.streams=2", "gc.pacing=none", "refresh.reclaim=block", "power.cut_at=[]"];
    let mut settings = settings.map(String::from).to_vec();
    settings.extend([
        format!("ftl.slc_cache={}", d.one(&["static", "dynamic"])),
        format!("slc.blocks={blocks}"),
        format!("slc.full={full}"),
        format!("slc.fold_idle={}", d.one(&["none", "0ns", "100us", "5ms"])),
        format!("slc.fold_start={forced}"),
        format!("slc.t_read={}us", d.from(1, 40)),
        format!("slc.t_prog={}us", d.from(20, 400)),
        format!("slc.t_bers={}us", d.from(500, 6000)),
        format!("slc.wear={}", d.one(&["0", "0.1", "1.5"])),
        format!("ftl.over_provisioning={}", d.one(&["0.7", "1.5", "4.0"])),
        format!("gc.start={}", d.from(4, 5)),
        format!("gc.stop={}", d.from(5, 6)),
        "gc.idle_stop=8".into(),
    ]);
    let convert = if blocks > 1 { d.one(&["none", "none", "hot:20", "hot:200", "retries:5"]) } else { "none" };
    settings.push(format!("slc.convert={convert}"));
    settings.push("slc.fold=controller".into());
    if d.chance(40) {
        let whole = ["slc.fold=copyback", "mapping.unit=page", "ftl.allocation=plane", "chip.program_passes=1"];
        settings.extend(whole.map(String::from));
    }
    settings
}

/// The mode of the SLC cache's blocks, drawn by itself: that of one bit a cell is drawn above.
fn cells_of_cache(seed: u64, bits: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak cells of the cache"), drawn: 0 };
    let (modes, times) = (["MLC", "TLC", "QLC"], [d.from(1, 40), d.from(1, 40), d.from(1, 40), 33]);
    let mode = d.below(bits - 1) as usize;
    if mode == 0 {
        return Vec::new();
    }
    let times: Vec<String> = times[..=mode].iter().map(|us| format!("{us}us")).collect();
    vec![format!("slc.cell={}", modes[mode - 1]), format!("slc.t_read=[{}]", times.join(", "))]
}

/// Parity over dies, drawn by itself: one device in eight has it, on dies enough.
fn parity(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak parity"), drawn: 0 };
    if !d.chance(12) {
        return vec!["ftl.raid=none".into()];
    }
    let wide = d.from(2, 5);
    let settings =
        ["age.fill=0.0", "ftl.placement=dynamic", "gc.copyback=false", "mapping.unit=page", "geometry.dies=3"];
    let mut settings = settings.map(String::from).to_vec();
    settings.push(format!("ftl.raid=parity:{wide}"));
    settings.push(format!("ftl.streams={}", d.from(1, 3)));
    settings.push(format!("ftl.over_provisioning={}", d.one(&["1.8", "3.0", "6.0"])));
    settings
}

/// Miscorrections, drawn by themselves.
fn miscorrections(seed: u64) -> [String; 2] {
    let d = &mut Dice { stream: Stream::new(seed, "soak miscorrections"), drawn: 0 };
    [format!("ecc.miscorrection={}", d.one(&["0.0", "0.0", "0.1", "1.0"])), format!("ecc.crc={}", d.chance(50))]
}

/// Where data was before the run, drawn by themselves.
fn temperatures(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak temperatures"), drawn: 0 };
    let mut keys = vec![format!("age.written_at={}", d.one(&["none", "none", "-20C", "70C"]))];
    if d.chance(15) {
        keys.push("age.retention=0ns".to_owned());
        keys.push(format!("age.schedule={}", d.one(&["['12h 40C']", "['30d 45C', '60d 15C']"])));
    }
    keys
}

/// What the drive may use and how hot it becomes, drawn by themselves: one device in six is limited, and one in six is
/// followed.
fn power_states(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak power states"), drawn: 0 };
    let mut keys = Vec::new();
    if d.chance(17) {
        keys.push(format!("energy.idle_mw={}", d.one(&[0, 0, 500])));
        let (states, state) = d.one(&[("[0.6]", 0), ("[2.0,0.7]", 0), ("[2.0,0.7]", 1), ("[9.0,0.8,0.55]", 1)]);
        keys.push(format!("energy.power_states={states}"));
        keys.push(format!("energy.power_state={state}"));
        keys.push(format!("energy.window={}", d.one(&["0ns", "20us", "1ms", "1s"])));
    }
    if d.chance(17) {
        keys.push(format!("thermal.resistance={}", d.from(1, 200)));
        keys.push(format!("thermal.time_constant={}", d.one(&["100us", "10ms", "60s"])));
        keys.push(format!("thermal.ambient={}C", d.from(0, 20)));
        keys.push(format!("thermal.light={}C", d.one(&[30, 60, 120])));
        keys.push(format!("thermal.heavy={}C", d.one(&[125, 125, 124])));
        keys.push(format!("thermal.hysteresis={}", d.one(&["0.5", "3.0"])));
    }
    keys
}

/// Parts that break, drawn by themselves: one device in six has any.
fn faults(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak faults"), drawn: 0 };
    let some = d.chance(16);
    let mut rate = |key: &str, rates: &[&str]| {
        let drawn = d.one(rates);
        format!("faults.{key}={}", if some { drawn } else { "0.0" })
    };
    let mut settings = vec![
        rate("blocks", &["0.0", "0.01"]),
        rate("plane", &["0.0", "0.0", "0.001"]),
        rate("die", &["0.0", "0.0", "0.001"]),
        rate("channel", &["0.0", "0.0", "0.001"]),
    ];
    let part = |d: &mut Dice| {
        let number = d.below(20);
        match d.one(&["program 0", "erase 0", "block 0:", "blocks 0:", "die 0", "plane 0", "channel 0"]) {
            part if part.ends_with(':') => format!("{part}{number}"),
            part => part.to_owned(),
        }
    };
    let at: Vec<String> = (0..d.below(4)).map(|_| format!("{}us {}", d.below(100_000), part(d))).collect();
    settings.push(format!("faults.at=[{}]", if some { at.join(", ") } else { String::new() }));
    settings.push(format!("wear.spare_threshold={}", d.one(&["0.1", "0.5"])));
    settings.push(format!("faults.burst={}", d.from(1, 4)));
    settings.push(format!("faults.growth={}", d.one(&["none", "none", "500"])));
    settings
}

/// The unit of the map, drawn by itself. Pages that several units share are not copied back.
fn map_unit(seed: u64, page_kib: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak map unit"), drawn: 0 };
    if d.chance(60) {
        return vec!["mapping.unit=page".into()];
    }
    let kib = d.one(&[1, 2, 4, 4, 8, 16, 32]);
    let copyback = (kib < page_kib).then(|| "gc.copyback=false".into());
    copyback.into_iter().chain([format!("mapping.unit={kib}KiB")]).collect()
}

/// Blocks by themselves or in superblocks, drawn by itself. Planes of a superblock are programmed together, and its
/// pages change planes.
fn superblocks(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak superblocks"), drawn: 0 };
    if d.chance(65) {
        return vec!["ftl.allocation=plane".into()];
    }
    let settings = ["ftl.allocation=superblock", "chip.plane_programs=lockstep", "gc.copyback=false"];
    settings.map(String::from).into()
}

/// Data of superblocks that is copied back, drawn by itself, where nothing else is against it.
fn copies_within_superblocks(seed: u64, device: &[String]) -> Vec<String> {
    let drawn =
        |key: &str| device.iter().rev().find_map(|word| word.strip_prefix(&format!("{key}="))).unwrap_or_default();
    let whole = drawn("geometry.page_size") == drawn("mapping.unit") || drawn("mapping.unit") == "page";
    let one_pass = matches!(drawn("chip.program_passes"), "" | "1");
    let joins = drawn("ftl.allocation") == "superblock" && whole && one_pass && drawn("ftl.raid") == "none";
    let d = &mut Dice { stream: Stream::new(seed, "soak copies within superblocks"), drawn: 0 };
    let copies = joins && d.chance(50);
    copies.then(|| "gc.copyback=true".to_owned()).into_iter().collect()
}

/// Passes of a wordline's program, drawn by themselves. What takes its data over the bus again is not copied back.
fn passes(seed: u64) -> Vec<String> {
    let d = &mut Dice { stream: Stream::new(seed, "soak passes"), drawn: 0 };
    let passes = d.from(1, 4);
    let copyback = (passes > 1).then(|| "gc.copyback=false".into());
    copyback.into_iter().chain([format!("chip.program_passes={passes}")]).collect()
}

/// How reads disturb neighbours, and whether wordlines are reclaimed, drawn by itself.
fn neighbours(seed: u64) -> [String; 2] {
    let d = &mut Dice { stream: Stream::new(seed, "soak neighbours"), drawn: 0 };
    [
        format!("chip.neighbour_disturb={}", d.one(&["1.0", "1.0", "3.0", "40.0"])),
        format!("refresh.reclaim={}", d.one(&["block", "wordline"])),
    ]
}

/// Arbitration of the submission queues, drawn by itself.
fn arbitration(seed: u64, queues: u64) -> [String; 3] {
    let d = &mut Dice { stream: Stream::new(seed, "soak arbitration"), drawn: 0 };
    let arbitration = d.one(&["round-robin", "weighted"]);
    let listed = d.from(1, queues);
    let priorities: Vec<&str> = (0..listed).map(|_| d.one(&["urgent", "high", "medium", "low"])).collect();
    let weights = [(); 3].map(|()| d.one(&[1, 2, 5, 256]));
    [
        format!("host.arbitration={arbitration}"),
        format!("host.priorities=[{}]", priorities.join(", ")),
        format!("host.weights={weights:?}"),
    ]
}

/// Placement handles, drawn by themselves: two may take a stream more.
fn hints(seed: u64) -> u64 {
    let d = &mut Dice { stream: Stream::new(seed, "soak hints"), drawn: 0 };
    d.one(&[0, 0, 1, 2, 2])
}

/// The requests of a case. Each has a hint of its own, which no key gives: a command plays them without.
pub fn source(case: &Case, capacity: Bytes) -> Result<Box<dyn Source>, units::ConfigError> {
    let words: Vec<&str> = case.workload.iter().map(String::as_str).collect();
    let requests = workload::presets::get("default", &words)?.source(capacity, case.seed)?;
    if let Some(size) = configuration(case).ok().and_then(|config| config.plan().ok()?.zone_size()) {
        return Ok(Box::new(OfZones::new(requests, case.seed, capacity, size)));
    }
    let groups = configuration(case).map_or(1, |config| config.ftl.reclaim_groups);
    Ok(Box::new(Hinted { requests, hints: Stream::new(case.seed, "soak hints of requests"), taken: 0, groups }))
}

/// Requests with hints, each of which stays with a few requests on end.
struct Hinted {
    requests: Box<dyn Source>,
    hints: Stream,
    taken: u64,
    groups: u16,
}

/// Requests of a host that knows of zones and not of write pointers: most of its writes are appends, to a few zones for
/// a while.
pub(crate) struct OfZones {
    requests: Box<dyn Source>,
    draws: Stream,
    taken: u64,
    capacity: u64,
    size: u64,
}

impl OfZones {
    /// For zones of that size.
    pub(crate) fn new(requests: Box<dyn Source>, seed: u64, capacity: Bytes, size: Bytes) -> OfZones {
        let draws = Stream::new(seed, "soak requests of zones");
        OfZones { requests, draws, taken: 0, capacity: capacity.0, size: size.0 }
    }

    fn of(&mut self, request: Request) -> Request {
        let n = self.taken;
        self.taken += 1;
        let draw = |what: u64, below: u64| self.draws.below(n * 4 + what, below);
        let zones = self.capacity / self.size;
        let zone = (self.draws.below(n / 64 * 4 + 3, zones) + draw(0, 4)) % zones;
        let (begins, whole) = (Bytes(zone * self.size), Bytes(self.size));
        let sectors = Bytes(request.bytes.0.div_ceil(512).clamp(1, 256) * 512);
        let act = |action: ZoneAction, bytes: Bytes| Request { op: Op::Zone(action), offset: begins, bytes, ..request };
        match draw(1, 60) {
            0 => act(ZoneAction::Open, whole),
            1 => act(ZoneAction::OpenRandom, whole),
            2 => act(ZoneAction::Close, whole),
            3 => act(ZoneAction::Finish, whole),
            4 | 5 => act(ZoneAction::Reset, whole),
            6 => act(ZoneAction::Reset, Bytes((self.capacity - begins.0).min(3 * self.size))),
            7 => act(ZoneAction::Flush, Bytes(sectors.0.min(self.size))),
            8 => Request { op: Op::ZoneReport, offset: begins, bytes: sectors, ..request },
            9..=19 => request,
            20..=29 if request.op == Op::Write => {
                let offset = Bytes(begins.0 + 512 * draw(2, 200)).min(Bytes(self.capacity - sectors.0));
                Request { offset, bytes: sectors, ..request }
            }
            // Also larger than its zone, and within the drive.
            _ if request.op == Op::Write => {
                let bytes = sectors.min(Bytes(self.capacity - begins.0));
                Request { op: Op::Append, offset: begins, bytes, ..request }
            }
            _ => request,
        }
    }
}

impl Source for OfZones {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let first = batch.len();
        self.requests.fill(batch, max)?;
        for request in &mut batch[first..] {
            *request = self.of(*request);
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.requests.progress()
    }
}

impl Source for Hinted {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        let first = batch.len();
        self.requests.fill(batch, max)?;
        for request in &mut batch[first..] {
            let handle = self.hints.below(self.taken / 3, 5) as u16;
            // The two bits that name the group of four; of two groups some identifiers name no handle.
            let group = [0, 0, 0, 0, 0, 1, 2, 3][self.hints.entity(1).below(self.taken / 3, 8) as usize];
            *request = request.hinted(if self.groups > 1 { group << 14 | handle } else { handle });
            self.taken += 1;
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.requests.progress()
    }
}

/// The configuration of a case, where it is accepted; otherwise the key that it is refused for.
pub fn configuration(case: &Case) -> Result<Config, String> {
    let key = |error: units::ConfigError| error.key.clone().unwrap_or_else(|| error.to_string());
    let mut config = presets::load("tlc-page").map_err(key)?.config;
    for word in &case.device {
        config.set(word).map_err(key)?;
    }
    if case.own {
        // Those that are saved with requests under way and go on exactly have to save the FTL's state, too.
        config.policies.ftl = Some(page_mapped(Chooses::AtRandom, case.seed, case.seed % 4 != 3));
    }
    config.plan().map_err(key)?;
    Ok(config)
}

/// Which write's data is where: what a read is given must be the newest.
#[derive(Default)]
struct Data {
    slots: HashMap<SlotId, u64>,
    flash: HashMap<u64, u64>,
    /// What each read was given of each page, and what the read cache holds of pages.
    given: HashMap<(u64, u64), u64>,
    cache: HashMap<u64, u64>,
    newest: HashMap<u64, u64>,
    wrong: Option<String>,
    /// The pages that were read since this was asked for.
    read: Vec<u64>,
    /// The power was cut: what reads are given since then, the drive's own oracle says.
    cut: bool,
}

impl Data {
    fn version(&self, lpn: Lpn, from: DataFrom) -> u64 {
        match from {
            DataFrom::Nothing => 0,
            DataFrom::Buffer(slot) | DataFrom::Merged(_, slot) => self.slots[&slot],
            DataFrom::Cache => self.cache[&lpn.0],
            DataFrom::Flash(ppn) => self.flash.get(&ppn.0).copied().unwrap_or(0),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Watch(Rc<RefCell<Data>>);

impl Watch {
    /// What a read was given that was not the newest, if one was.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.0.borrow().wrong.clone()
    }

    /// Whether a page holds something that was written since the drive was built.
    pub(crate) fn holds(&self, page: u64) -> bool {
        self.0.borrow().newest.get(&page).is_some_and(|version| *version > 0)
    }

    /// The pages that the host has read since this was asked.
    pub(crate) fn take_read(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.borrow_mut().read)
    }
}

impl Watcher for Watch {
    fn read(&mut self, time: Time, request: u64, lpn: Lpn, from: DataFrom) {
        let mut data = self.0.borrow_mut();
        if data.cut {
            return;
        }
        data.read.push(lpn.0);
        let found = data.version(lpn, from);
        let newest = data.newest.get(&lpn.0).copied().unwrap_or(0);
        if found != newest {
            let text =
                format!("read {request} of page {} at {} ns is given version {found} of {newest}", lpn.0, time.0);
            data.wrong.get_or_insert(text);
        }
        data.given.insert((request, lpn.0), found);
    }
    fn cut(&mut self, _: Time) {
        self.0.borrow_mut().cut = true;
    }
    fn cached(&mut self, _: Time, request: u64, lpn: Lpn, _: u64) {
        let mut data = self.0.borrow_mut();
        if data.cut {
            return;
        }
        let version = data.given[&(request, lpn.0)];
        data.cache.insert(lpn.0, version);
    }
    fn buffered(&mut self, _: Time, request: u64, lpn: Lpn, slot: SlotId, _: Option<SlotId>) {
        let mut data = self.0.borrow_mut();
        data.slots.insert(slot, request + 1);
        data.newest.insert(lpn.0, request + 1);
    }
    fn trimmed(&mut self, _: Time, _: u64, lpn: Lpn) {
        self.0.borrow_mut().newest.insert(lpn.0, 0);
    }
    fn rescued(&mut self, _: Time, lpn: Lpn, slot: SlotId, from: Ppn) {
        let mut data = self.0.borrow_mut();
        let (newest, held) = (data.newest.get(&lpn.0).copied(), data.flash.get(&from.0).copied());
        // A slot with newer data has lacked a part of the page.
        if newest.is_none() || data.slots.get(&slot).copied() != newest {
            data.slots.insert(slot, held.unwrap_or(0));
        }
    }
    fn joined(&mut self, _: Time, lpn: Lpn, slot: SlotId, from: DataFrom) {
        let mut data = self.0.borrow_mut();
        if data.cut {
            return;
        }
        let version = data.version(lpn, from);
        data.slots.insert(slot, version);
    }
    fn programmed(&mut self, _: Time, _: Lpn, slot: SlotId, ppn: Ppn) {
        let mut data = self.0.borrow_mut();
        if data.cut {
            return;
        }
        let version = data.slots[&slot];
        data.flash.insert(ppn.0, version);
    }
    fn moved(&mut self, _: Time, _: Lpn, from: Ppn, to: Ppn) {
        let mut data = self.0.borrow_mut();
        let version = data.flash.get(&from.0).copied().unwrap_or(0);
        data.flash.insert(to.0, version);
    }
    fn mapped(&mut self, _: Time, _: Lpn, ppn: Ppn) {
        self.0.borrow_mut().flash.insert(ppn.0, 0);
    }
}

/// What comes of a case.
pub enum Verdict {
    /// Every invariant holds.
    Passed,
    /// The configuration is refused: the key at fault.
    Refused(String),
    /// What does not hold.
    Failed(String),
}

/// Plays a case and checks everything that holds for every device.
pub fn verdict(case: &Case) -> Verdict {
    let config = match configuration(case) {
        Ok(config) => config,
        Err(key) => return Verdict::Refused(key),
    };
    judged(|| match play(case, &config) {
        // A slow drive comes through all the same; one that is stuck never does.
        Err(RunError::NoProgress { .. }) => {
            let mut patient = config.clone();
            patient.host.timeout = Some(PATIENCE);
            play(case, &patient)
        }
        played => played,
    })
}

/// How long a drive may work for itself before it counts as stuck (assumed).
const PATIENCE: Span = Span(3600 * 1_000_000_000);

/// What comes of playing something and checking it.
pub(crate) fn judged(play: impl FnOnce() -> Result<(), RunError>) -> Verdict {
    match catch_unwind(AssertUnwindSafe(play)) {
        // The life of a drive may end while it is overwritten before the run.
        Ok(Ok(()) | Err(RunError::EndOfLife { .. })) => Verdict::Passed,
        // Some configurations leave the drive more work of its own than it can do.
        Ok(Err(RunError::Endless { .. })) => Verdict::Refused("work of its own without end".into()),
        // What only shows when the device is built: good blocks are drawn.
        Ok(Err(RunError::Config(error))) => Verdict::Refused(error.key.unwrap_or_default()),
        Ok(Err(error)) => Verdict::Failed(error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Verdict::Failed(format!("panic: {}", text.unwrap_or("?")))
        }
    }
}

/// Simulated time after which no further request is played (assumed): a drive that is busy with itself serves few more.
pub(crate) const LONG_ENOUGH: Time = Time(100 * 1_000_000_000);

fn play(case: &Case, config: &Config) -> Result<(), RunError> {
    let broken = |text: String| RunError::Broken(text);
    let capacity = config.plan()?.capacity();
    let mut totals = Vec::new();
    // One case in eight is played twice: the same comes out.
    for _ in 0..1 + u32::from(case.seed.is_multiple_of(8)) {
        let source = source(case, capacity)?;
        let plan = RunOptions {
            replay: Replay::Closed(case.depth),
            requests: Some(case.requests),
            seed: case.seed,
            ..RunOptions::default()
        };
        let watch = Watch::default();
        let mut run = Run::watched(config, source, plan, None, probe(watch.clone()))?;
        let mut ended = false;
        while !ended && run.device().now() < LONG_ENOUGH {
            ended = run.step(1 + case.requests / 5)?;
            run.device().check().map_err(broken)?;
            run.device().check_mapping().map_err(broken)?;
        }
        let end_of_life = run.end_of_life().is_some();
        let mut device = run.into_device();
        if !end_of_life && let Err(error) = device.flush() {
            if !matches!(error, RunError::EndOfLife { .. }) {
                return Err(error);
            }
        } else if device.end_of_life().is_none() {
            // What makes no program of its zone stays in the buffer.
            let buffered = if device.zones().is_some() { 0 } else { device.buffered_pages() };
            let left = (device.outstanding(), buffered);
            if left != (0, 0) {
                return Err(broken(format!("{left:?} requests and pages are left after a flush")));
            }
            rests(&device)?;
        }
        device.check().map_err(broken)?;
        device.check_mapping().map_err(broken)?;
        if let Some(wrong) = watch.wrong() {
            return Err(broken(wrong));
        }
        totals.push(format!("{:?}{:?}{:?}", device.now(), device.counters(), device.usage()));
    }
    // One in four is saved and loaded, another one is checked after every event, another one goes on under other
    // policies.
    match case.seed % 4 {
        1 => drop(resumed(case, config)?),
        2 => drop(checked(case, config)?),
        3 => drop(resumed_otherwise(case, config)?),
        _ => {}
    }
    totals.dedup();
    if totals.len() == 1 { Ok(()) } else { Err(broken("two runs of the same differ".into())) }
}

/// Plays a case that is checked after every event, and one that is not: the same comes of both. Whether it was played
/// to its end.
pub fn checked(case: &Case, config: &Config) -> Result<bool, RunError> {
    let unchecked = result(case, config, Unwatched);
    let checked = result(case, config, ssd::Watch::checking(Checker::new(&config.plan()?)));
    match checked {
        Err(RunError::Violated(violation)) => Err(RunError::Violated(violation)),
        checked if checked != unchecked => Err(RunError::Broken("a run that is checked differs".into())),
        checked => Ok(checked.is_ok()),
    }
}

/// What comes of a case: its statistics, and the state of the drive.
fn result<P: Probe>(case: &Case, config: &Config, probe: P) -> Result<(String, Vec<u8>), RunError> {
    let options = RunOptions {
        replay: Replay::Closed(case.depth),
        requests: Some(case.requests),
        seed: case.seed,
        ..RunOptions::default()
    };
    let mut run = Run::watched(config, source(case, config.plan()?.capacity())?, options, None, probe)?;
    while !run.step(1 + case.requests / 5)? && run.device().now() < LONG_ENOUGH {}
    let outcome = run.finish()?.unwatched();
    let statistics = outcome.report().0.into_iter().map(|found| format!("{}={}\n", found.name, found.value)).collect();
    if outcome.device.failure().is_some() {
        return Ok((statistics, Vec::new()));
    }
    Ok((statistics, seen(&outcome.device)?.1))
}

/// Requests of a case, this many at once, each handed over when another completes.
pub(crate) struct Player {
    pub(crate) requests: Vec<Request>,
    next: usize,
    depth: u64,
}

impl Player {
    pub(crate) fn new(case: &Case, capacity: Bytes) -> Result<Player, RunError> {
        Player::of(case, source(case, capacity)?)
    }

    /// The requests of a source.
    pub(crate) fn of(case: &Case, mut source: Box<dyn Source>) -> Result<Player, RunError> {
        let mut requests = Vec::new();
        while requests.len() < case.requests as usize {
            let before = requests.len();
            source.fill(&mut requests, case.requests as usize - before)?;
            if requests.len() == before {
                break;
            }
        }
        // Trims and flushes among them.
        let d = &mut Dice { stream: Stream::new(case.seed, "soak trims and flushes"), drawn: 0 };
        for request in &mut requests {
            match d.below(40) {
                0 => *request = Request { op: Op::Flush, offset: Bytes(0), bytes: Bytes(0), ..*request },
                1 | 2 => request.op = Op::Trim,
                _ => {}
            }
        }
        Ok(Player { requests, next: 0, depth: case.depth.into() })
    }

    /// Plays up to `until`, or until this many requests have been handed over and all of them are done; returns what
    /// completed.
    fn play<P: Probe>(
        &mut self,
        device: &mut Device<P>,
        requests: usize,
        until: Time,
    ) -> Result<Vec<Completion>, RunError> {
        let mut completed = Vec::new();
        loop {
            while self.next < requests.min(self.requests.len()) && device.outstanding() < self.depth {
                let request = Request { time: device.now(), ..self.requests[self.next] };
                device.submit(request)?;
                self.next += 1;
            }
            let waits = device.outstanding() > 0 && device.advance_to_completion(until)?;
            completed.extend(device.take_completions());
            if !waits {
                return Ok(completed);
            }
        }
    }
}

/// Everything that can be seen of a device, and all of its state.
fn seen(device: &Device) -> Result<(String, Vec<u8>), RunError> {
    let mut state = Vec::new();
    device.save(&mut state)?;
    let text = format!("{:?}{:?}{:?}", device.counters(), device.usage(), (device.steps(), device.victims()));
    Ok((text, state))
}

/// Saves a device of a case at a random time, whatever is under way, and plays it on; and another one that is loaded:
/// both are the same in all that they do. Returns what was counted from then on, and whether nothing was under way;
/// none where the drive cannot be built or its life ends before.
pub fn resumed(case: &Case, config: &Config) -> Result<Option<(Counters, bool)>, RunError> {
    let d = &mut Dice { stream: Stream::new(case.seed, "soak checkpoints"), drawn: 0 };
    let Ok(mut device) = Device::new(config, case.seed) else { return Ok(None) };
    let mut player = Player::new(case, device.capacity())?;
    let half = d.below(case.requests) as usize;
    let before = player.play(&mut device, half, LONG_ENOUGH);
    // What is under way when the last request has completed, or when others have been worked on for a while.
    let for_ns = d.one(&[0, 1, 20_000, 300_000, 4_000_000]);
    let until = device.now() + Span(d.below(for_ns + 1));
    // What completes in the end is not taken yet.
    let later = until + Span(d.below(for_ns + 1));
    let more = before.and_then(|_| player.play(&mut device, usize::MAX, until)).and_then(|_| device.advance(later));
    if device.failure().is_some() {
        return Ok(None);
    }
    more?;
    let (start, rested) = (device.counters(), device.rests());
    let saved = seen(&device)?;
    let mut loaded = Device::load(config, &mut &saved.1[..])?;
    let differ =
        |what: &str| RunError::Broken(format!("{what} of a device that was saved at {} ns", device_time(&saved)));
    if seen(&loaded)? != saved {
        return Err(differ("another state"));
    }
    let mut other = Player { requests: player.requests.clone(), ..player };
    let mut third = Player { requests: player.requests.clone(), ..player };
    let mut checked =
        Device::load(config, &mut &saved.1[..])?.watched_by(ssd::Watch::checking(Checker::new(&config.plan()?)));
    let (ours, theirs) =
        (player.play(&mut device, usize::MAX, LONG_ENOUGH), other.play(&mut loaded, usize::MAX, LONG_ENOUGH));
    let checked = third.play(&mut checked, usize::MAX, LONG_ENOUGH);
    if ours != theirs || ours != checked {
        return Err(checked.err().filter(|_| ours.is_ok()).unwrap_or_else(|| differ("other completions")));
    }
    if ours.is_ok() && device.failure().is_none() && seen(&device)? != seen(&loaded)? {
        return Err(differ("another end"));
    }
    Ok(Some((device.counters().since(&start), rested)))
}

/// Nothing of a drive is under way after a flush.
fn rests<P: Probe>(device: &Device<P>) -> Result<(), RunError> {
    let broken = || RunError::Broken("after a flush something is under way".into());
    device.rests().then_some(()).ok_or_else(broken)
}

/// Brings a device of a case to rest, saves it, and plays a loaded one on that has the policies of another case;
/// whether these are accepted, and enough life was left.
pub fn resumed_otherwise(case: &Case, config: &Config) -> Result<bool, RunError> {
    let mut changed = config.clone();
    let is_policy = |word: &&String| word.split_once('=').is_some_and(|(key, _)| POLICIES.contains(&key));
    draw(case.seed + 1_000_000).device.iter().filter(is_policy).try_for_each(|word| changed.set(word))?;
    if changed.plan().is_err() {
        return Ok(false);
    }
    let Ok(mut device) = Device::new(config, case.seed) else { return Ok(false) };
    let mut player = Player::new(case, device.capacity())?;
    let before = player.play(&mut device, case.requests as usize / 2, LONG_ENOUGH);
    // Where requests do not end, and in a drive that takes no more data, there is no rest.
    if before.and_then(|_| device.flush()).is_err() || device.outstanding() > 0 || device.end_of_life().is_some() {
        return Ok(false);
    }
    device.take_completions();
    let broken = |text: String| RunError::Broken(text);
    rests(&device)?;
    let mut state = Vec::new();
    device.save(&mut state)?;
    let mut loaded = Device::load(&changed, &mut &state[..])?;
    let played = player.play(&mut loaded, usize::MAX, LONG_ENOUGH).and_then(|_| loaded.flush());
    loaded.check().map_err(broken)?;
    loaded.check_mapping().map_err(broken)?;
    match played {
        Err(RunError::EndOfLife { .. }) => Ok(true),
        played => played.map(|()| true),
    }
}

/// When a device was saved, for a message.
fn device_time((_, state): &(String, Vec<u8>)) -> String {
    let text = String::from_utf8_lossy(&state[..state.len().min(400)]);
    text.split("time_ns\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("?").to_owned()
}

/// The kind of a failure: its text without numbers.
fn kind(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).take(60).collect()
}

/// Leaves out what the failure does not need.
fn shrunk(case: &Case, text: &str) -> Case {
    let fails = |case: &Case| matches!(verdict(case), Verdict::Failed(other) if kind(&other) == kind(text));
    let mut case = case.clone();
    let mut changed = true;
    while changed {
        changed = false;
        for part in [false, true] {
            let len = |case: &Case| if part { case.workload.len() } else { case.device.len() };
            let mut index = len(&case);
            while index > 0 {
                index -= 1;
                let mut less = case.clone();
                if part {
                    less.workload.remove(index)
                } else {
                    less.device.remove(index)
                };
                // A default drive of 1 TiB takes long to check.
                let small = configuration(&less)
                    .is_ok_and(|config| config.plan().is_ok_and(|plan| plan.layout.raw_pages() < 1 << 20));
                if small && fails(&less) {
                    (case, changed) = (less, true);
                }
            }
        }
        let less = Case { requests: case.requests / 2, ..case.clone() };
        if less.requests > 0 && fails(&less) {
            (case, changed) = (less, true);
        }
    }
    case
}

/// Plays these seeds until `wanted` devices were accepted; returns a report and the failures.
pub fn soak(seeds: Seeds, wanted: u64, threads: usize) -> (String, Vec<String>) {
    campaign("devices", seeds, wanted, threads, |number| {
        let case = nth(number);
        let verdict = verdict(&case);
        let how = if let Verdict::Failed(text) = &verdict { shrunk(&case, text).command() } else { String::new() };
        (verdict, how)
    })
}

/// Which seeds are played.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// From one to the next.
    pub step: u64,
}

impl Seeds {
    /// All of them.
    pub const ALL: Seeds = Seeds { first: 1, step: 1 };

    /// Those of devices that have zones ([`nth`]), from `first` on.
    pub fn of_zones(first: u64) -> Seeds {
        Seeds { first: first + (17 - first % 10) % 10, step: 10 }
    }
}

/// Plays what stands under these seeds until `wanted` were accepted; of what fails `verdict` also says how it is
/// played.
pub(crate) fn campaign(
    what: &str,
    seeds: Seeds,
    wanted: u64,
    threads: usize,
    verdict: impl Fn(u64) -> (Verdict, String) + Sync,
) -> (String, Vec<String>) {
    let (next, accepted) = (AtomicU64::new(seeds.first), AtomicU64::new(0));
    let refused: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while accepted.load(Ordering::Relaxed) < wanted {
                    let number = next.fetch_add(seeds.step, Ordering::Relaxed);
                    match verdict(number) {
                        (Verdict::Refused(key), _) => *refused.lock().unwrap().entry(key).or_default() += 1,
                        (Verdict::Passed, _) => {
                            let so_far = accepted.fetch_add(1, Ordering::Relaxed) + 1;
                            if so_far.is_multiple_of(1000) {
                                eprintln!("{so_far} {what} accepted, {} failed", failures.lock().unwrap().len());
                            }
                        }
                        (Verdict::Failed(text), how) => {
                            accepted.fetch_add(1, Ordering::Relaxed);
                            let failure = format!("seed {number}: {text}\n  {how}");
                            eprintln!("{failure}");
                            failures.lock().unwrap().push(failure);
                        }
                    }
                }
            });
        }
    });
    let refused = refused.into_inner().unwrap();
    let (drawn, accepted) = ((next.into_inner() - seeds.first) / seeds.step, accepted.into_inner());
    let reasons: Vec<String> = refused.iter().map(|(key, count)| format!("  {count} for {key}")).collect();
    let share = accepted as f64 / drawn as f64;
    let failures = failures.into_inner().unwrap();
    let report = format!(
        "{drawn} {what} drawn, {accepted} accepted ({:.0} %), {} failed; refused:\n{}",
        100.0 * share,
        failures.len(),
        reasons.join("\n")
    );
    assert!(share > 0.5, "{report}");
    (report, failures)
}
