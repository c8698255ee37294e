//! Every configuration key has an effect: a run with it changed differs from the same run without.

use ssd::stats::energy::Energy;
use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Stream, Time};
use workload::{Op, Request, ZoneAction};

/// What a device is put through.
#[derive(Clone, Copy)]
enum Load {
    /// Random reads and writes of one to three pages, unaligned, many at once.
    Mixed,
    /// Page reads at random.
    Reads,
    /// Page reads at random that the drive may give up.
    Limited,
    /// Page writes at random.
    Writes,
    /// One queue floods, another sends one request now and then.
    Unfair,
    /// Four times as many page writes and some reads on few pages.
    Overwrites,
    /// A page write now and then.
    Spaced,
    /// Reads of a few pages.
    Hot,
    /// What is done to zones.
    Zoned,
}
use Load::{Hot, Limited, Mixed, Overwrites, Reads, Spaced, Unfair, Writes, Zoned};

/// A key, the settings that both runs share, the value that the second run changes, the load, and what the
/// change does to the mean latency: -1 shortens it, 1 lengthens it, 0 whatever.
type Row = (&'static str, &'static [&'static str], &'static str, Load, i8);

const PHASES: &[&str] = &[
    "chip.t_read=none",
    "chip.senses=[2,3,2]",
    "chip.t_pre=24us",
    "chip.t_eval=5us",
    "chip.t_disch=10us",
    "chip.t_prog=none",
    "chip.program_loops=5",
    "chip.t_program_pulse=20us",
    "chip.t_program_verify=8us",
    "chip.t_bers=none",
    "chip.erase_loops=2",
    "chip.t_erase_pulse=1ms",
    "chip.t_erase_verify=100us",
    "buffer.size=192KiB",
];
const SAFE: &[&str] = &[
    "chip.t_bers=none",
    "chip.erase_loops=2",
    "chip.t_erase_pulse=3ms",
    "chip.t_erase_verify=100us",
    "buffer.size=192KiB",
    "schedule.suspend_erase=safe-points",
];
const THROTTLED: &[&str] = &[
    "energy.power_states=[9.0,0.2,0.05]",
    "thermal.time_constant=20ms",
    "thermal.light=35C",
    "thermal.heavy=36C",
    "thermal.hysteresis=1",
];
const HOT: &[&str] = &[
    "energy.power_states=[9.0,0.2,0.05]",
    "thermal.resistance=100",
    "thermal.time_constant=20ms",
    "thermal.light=35C",
    "thermal.heavy=36C",
    "thermal.hysteresis=1",
];
const DISTURBED: &[&str] = &["chip.model=tlc48", "age.pec=1000", "chip.read_disturb=true"];
const RECLAIMED: &[&str] = &[
    "chip.model=tlc48",
    "chip.read_disturb=true",
    "chip.neighbour_disturb=50",
    "geometry.pages=15",
    "refresh.reads=60",
];
/// Programs that are suspended, on a chip whose pages can fail.
const SUSPENDED: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "chip.t_prog=none",
    "chip.program_loops=5",
    "chip.t_program_pulse=200us",
    "chip.t_program_verify=80us",
    "buffer.size=192KiB",
    "chip.cache_program=false",
    "schedule.suspend_program=intra-phase",
];
/// Phases of programs that can be suspended, and reads that take so long that they meet at both dies of a chip.
const SLOW_READS: &[&str] = &[
    "chip.t_read=5ms",
    "chip.t_prog=none",
    "chip.program_loops=5",
    "chip.t_program_pulse=200us",
    "chip.t_program_verify=80us",
    "buffer.size=192KiB",
    "chip.cache_program=false",
    "schedule.suspend_program=intra-phase",
];
/// Blocks that are erased when they have been reclaimed, and suspended.
const ERASED_LATER: &[&str] = &[
    "chip.t_bers=none",
    "chip.erase_loops=2",
    "chip.t_erase_pulse=3ms",
    "chip.t_erase_verify=100us",
    "buffer.size=192KiB",
    "ftl.erase_when=reclaimed",
    "age.precondition=closed-form",
    "age.fill=1.0",
    "schedule.suspend_erase=reset-and-resume",
];
/// Blocks that are erased pulse by pulse and suspended.
const LIVED: &[&str] = &[
    "chip.model=tlc48-reo",
    "age.pec=1000",
    "age.precondition=closed-form",
    "buffer.size=192KiB",
    "erase.pulse=ispe",
    "schedule.suspend_erase=reset-and-resume",
];
/// A chip whose old data needs retries, with the phases of a sense.
const RETRIES: &[&str] = &[
    "chip.model=tlc48",
    "chip.t_read=none",
    "chip.senses=[2,3,2]",
    "chip.t_pre=24us",
    "chip.t_eval=5us",
    "chip.t_disch=10us",
    "age.pec=1000",
    "age.retention=6mo",
    "chip.cache_read=false",
    "read.sensing=adaptive",
];
/// An aged chip model without cache reads, whose first senses are left to decision trees.
const LEARNED: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "age.retention=6mo",
    "chip.cache_read=false",
    "read.pipeline=cache-read-learned",
    "read.trees=(trees)",
];
const OLD_MAP: &[&str] =
    &["chip.model=tlc48", "age.pec=1000", "mapping.table=cached", "mapping.cache=4KiB", "mapping.entry_group=256B"];
const PIPELINED: &[&str] =
    &["chip.model=tlc48", "age.pec=1000", "age.retention=6mo", "chip.cache_read=false", "read.pipeline=cache-read"];
const TRACKED: &[&str] =
    &["chip.model=tlc48", "age.pec=2000", "age.retention=6mo", "read.start=tracked", "read.next=swift"];
const RECORDED: &[&str] = &["chip.model=tlc48", "age.pec=2000", "age.retention=6mo", "read.start=recorded"];
/// Pages near what the code corrects.
const CODED: &[&str] = &[
    "chip.model=tlc48-reo",
    "age.pec=1000",
    "age.retention=uniform:0..30d",
    "ecc.code=qc-ldpc",
    "ecc.t_decode=1us",
    "read.next=swift",
    "read.predictor=on-die",
];
/// Pages that no hard decoding corrects.
const LOST: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "age.retention=uniform:0..30d",
    "ecc.code=qc-ldpc",
    "ecc.t_decode=1us",
    "ecc.strength=0.12",
    "read.next=oracle",
];
const WRONG: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "age.retention=uniform:0..30d",
    "ecc.code=qc-ldpc",
    "ecc.t_decode=1us",
    "ecc.strength=0.12",
    "read.next=oracle",
    "ecc.miscorrection=0.5",
];
const SOFT: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "age.retention=uniform:0..30d",
    "ecc.code=qc-ldpc",
    "ecc.t_decode=1us",
    "ecc.strength=0.1",
    "ecc.soft=progressive",
    "ecc.soft_after=1",
];
const FINE: &[&str] = &[
    "chip.model=tlc48",
    "age.pec=1000",
    "age.retention=uniform:0..30d",
    "ecc.code=qc-ldpc",
    "ecc.t_decode=1us",
    "ecc.strength=0.06",
    "ecc.soft=3-bit",
    "ecc.soft_after=1",
];
/// Blocks that are erased pulse by pulse.
const PULSED: &[&str] =
    &["chip.model=tlc48-reo", "age.precondition=closed-form", "age.pec=2500", "erase.pulse=felp", "erase.margin=ecc"];
const SPENT: &[&str] = &["chip.model=tlc48-reo", "age.precondition=closed-form", "age.pec=9000", "erase.pulse=ispe"];
const HANDLES: &[&str] = &["ftl.hints=2", "ftl.placement=dynamic", "geometry.dies=2", "buffer.size=192KiB"];
const WORN: &[&str] = &["age.precondition=closed-form"];
const SMALL: &[&str] = &["age.precondition=closed-form", "geometry.blocks=28", "geometry.pages=15"];
const SLC: &[&str] =
    &["ftl.slc_cache=static", "slc.blocks=4", "slc.fold_start=2", "slc.fold_idle=1ms", "buffer.size=192KiB"];
const BY_BLOCKS: &[&str] =
    &["ftl.mapping=fast", "ftl.placement=static", "ftl.log_blocks=4", "age.precondition=none", "age.staggered=false"];
const ZONED_RECLAIMED: &[&str] = &[
    "ftl.mapping=zoned",
    "ftl.erase_when=reclaimed",
    "power.plp=true",
    "age.fill=0",
    "zones.dies=1",
    "buffer.size=4MiB",
];
const ZONED: &[&str] = &[
    "ftl.mapping=zoned",
    "power.plp=true",
    "age.fill=0",
    "zones.dies=1",
    "zones.max_open=2",
    "zones.max_active=3",
    "buffer.size=4MiB",
];
const CACHED: &[&str] = &["mapping.table=cached", "mapping.cache=4KiB", "mapping.entry_group=256B"];
const TINY: &[&str] = &["buffer.size=192KiB"];
const SLOW_ECC: &[&str] = &["ecc.t_decode=40us", "ecc.decoders=1", "ecc.buffer=2"];
const PAGES: &[&str] = &["chip.program_unit=page"];
const OVERLAP: &[&str] = &["chip.program_unit=page", "buffer.size=1MiB", "bus.bandwidth=200MB/s"];

const ROWS: &[Row] = &[
    ("geometry.channels", &[], "4", Reads, -1),
    ("geometry.chips", &[], "2", Reads, -1),
    ("geometry.dies", &[], "4", Reads, -1),
    ("geometry.planes", &[], "4", Reads, -1),
    ("geometry.blocks", &[], "30", Reads, 0),
    ("chip.model", &["age.pec=1000", "age.retention=3mo"], "tlc48", Reads, 0),
    ("energy.sense_mw", &[], "100", Reads, 0),
    ("energy.program_mw", &[], "100", Writes, 0),
    ("energy.erase_mw", &[], "100", Overwrites, 0),
    ("energy.transfer_nj", &[], "100", Reads, 0),
    ("energy.decode_nj", &[], "100", Reads, 0),
    ("energy.prediction_nj", CODED, "100", Reads, 0),
    ("energy.idle_mw", &[], "100", Reads, 0),
    ("energy.power_states", &[], "[0.1]", Reads, 1),
    ("energy.power_state", &["energy.power_states=[9.0,0.1]"], "1", Reads, 1),
    ("energy.window", &["energy.power_states=[0.1]"], "0ns", Reads, 1),
    ("thermal.resistance", THROTTLED, "100", Reads, 1),
    ("thermal.time_constant", HOT, "5ms", Reads, 1),
    ("thermal.ambient", HOT, "33C", Reads, 1),
    ("thermal.light", HOT, "35.8C", Reads, -1),
    ("thermal.heavy", HOT, "60C", Reads, -1),
    ("thermal.hysteresis", HOT, "0.2", Reads, 0),
    ("geometry.pages", &[], "90", Reads, 0),
    ("geometry.page_size", &[], "8KiB", Mixed, 0),
    ("geometry.cell", &["chip.program_unit=wordline", "buffer.mode=write-through"], "MLC", Writes, 0),
    ("chip.t_read", &[], "90us", Reads, 1),
    ("chip.senses", PHASES, "[2,9,2]", Reads, 1),
    ("chip.t_pre", PHASES, "30us", Reads, 1),
    ("chip.t_eval", PHASES, "30us", Reads, 1),
    ("chip.t_disch", PHASES, "30us", Reads, 1),
    ("chip.t_prog", TINY, "3ms", Writes, 1),
    ("chip.program_passes", TINY, "2", Writes, 1),
    (
        "chip.pass_order",
        &["chip.program_passes=2", "ftl.allocation=superblock", "buffer.mode=write-through"],
        "interleaved",
        Writes,
        0,
    ),
    ("chip.program_loops", PHASES, "50", Writes, 1),
    ("chip.t_program_pulse", PHASES, "200us", Writes, 1),
    ("chip.t_program_verify", PHASES, "200us", Writes, 1),
    ("chip.t_bers", TINY, "9ms", Writes, 1),
    ("chip.erase_loops", PHASES, "5", Writes, 1),
    ("chip.t_erase_pulse", PHASES, "9ms", Writes, 1),
    ("chip.t_erase_verify", PHASES, "9ms", Writes, 1),
    ("chip.program_unit", &["buffer.mode=write-through"], "page", Writes, 0),
    ("chip.plane_reads", &[], "single", Reads, 1),
    ("chip.plane_programs", &["chip.program_unit=page", "buffer.size=1MiB"], "single", Writes, 1),
    ("chip.cache_read", &[], "false", Reads, 1),
    ("chip.cache_program", OVERLAP, "false", Writes, 1),
    ("chip.read_disturb", &["chip.model=tlc48", "age.pec=1000", "age.reads=5000000"], "true", Reads, 1),
    ("chip.neighbour_disturb", DISTURBED, "1000000", Reads, 0),
    ("bus.bandwidth", &[], "100MB/s", Reads, 1),
    ("bus.t_dma", &["bus.bandwidth=none", "bus.t_dma=16us"], "160us", Reads, 1),
    ("bus.t_command", &[], "20us", Reads, 1),
    ("bus.transfer", &[], "page", Mixed, 1),
    ("bus.die_interleaving", &[], "false", Reads, 1),
    ("ecc.t_decode", &[], "200us", Reads, 1),
    ("ecc.code", CODED, "(a profile)", Reads, 0),
    ("ecc.soft", LOST, "2-bit", Reads, 0),
    ("ecc.soft_after", SOFT, "9", Reads, 1),
    ("ecc.code_2bit", SOFT, "(a profile)", Reads, 0),
    ("ecc.code_3bit", FINE, "(a profile)", Reads, 0),
    ("ecc.strength", CODED, "2", Reads, -1),
    ("ecc.miscorrection", LOST, "0.5", Reads, 0),
    ("ecc.crc", WRONG, "false", Reads, 0),
    ("ecc.t_failed", CODED, "1ms", Reads, 1),
    ("ecc.t_retried", CODED, "90us", Reads, 1),
    ("ecc.decoders", SLOW_ECC, "4", Reads, -1),
    ("ecc.buffer", &["ecc.t_decode=40us", "ecc.decoders=4", "ecc.buffer=1"], "8", Reads, -1),
    ("ecc.codeword", &[], "512B", Mixed, -1),
    ("host.queues", &["host.queue_depth=1"], "1", Reads, 1),
    ("host.queue_depth", &["host.queues=1"], "1", Mixed, 0),
    ("host.commands", &[], "1", Reads, 1),
    (
        "host.arbitration",
        &["host.commands=2", "host.weights=[9,2,1]", "host.priorities=[low,high]"],
        "weighted",
        Unfair,
        0,
    ),
    ("host.priorities", &["host.commands=2", "host.arbitration=weighted"], "[low,urgent]", Unfair, 0),
    (
        "host.weights",
        &["host.commands=2", "host.arbitration=weighted", "host.priorities=[low,high]"],
        "[1,1,9]",
        Unfair,
        0,
    ),
    ("host.arbitration_burst", &["host.commands=2"], "64", Unfair, 0),
    ("host.link_bandwidth", &[], "50MB/s", Reads, 1),
    ("host.t_submit", &[], "100us", Reads, 1),
    ("host.t_firmware", &[], "2us", Reads, 1),
    ("host.cores", &["host.t_firmware=12us"], "2", Reads, -1),
    ("host.t_complete", &[], "100us", Reads, 1),
    ("host.timeout", &[], "10us", Reads, 0),
    ("buffer.size", TINY, "16MiB", Writes, -1),
    ("buffer.mode", &[], "write-through", Writes, 1),
    ("buffer.read_cache", &[], "16MiB", Hot, -1),
    ("buffer.read_through", &["buffer.dram_bandwidth=500MB/s"], "false", Reads, -1),
    ("buffer.dirty_limit", PAGES, "1.0", Mixed, 0),
    ("buffer.dram_bandwidth", &[], "50MB/s", Reads, 1),
    ("ftl.over_provisioning", &[], "3.0", Reads, 0),
    ("ftl.mapping", &["power.plp=true", "age.fill=0"], "zoned", Mixed, 0),
    ("ftl.log_blocks", BY_BLOCKS, "1", Overwrites, 0),
    ("zones.dies", ZONED, "2", Zoned, 0),
    ("zones.blocks", ZONED, "2", Zoned, 0),
    ("zones.size", ZONED, "8MiB", Zoned, 0),
    ("zones.capacity", ZONED, "160KiB", Zoned, 0),
    ("zones.max_open", ZONED, "1", Zoned, 0),
    ("zones.max_active", ZONED, "2", Zoned, 0),
    ("zones.conventional", ZONED, "2", Zoned, 0),
    ("zones.append_limit", ZONED, "16KiB", Zoned, 0),
    ("zones.random_area", ZONED, "64KiB", Zoned, 0),
    ("zones.finish", ZONED, "close", Zoned, 0),
    ("zones.reset_completes", ZONED_RECLAIMED, "erased", Zoned, 0),
    ("zones.read_across", ZONED, "false", Zoned, 0),
    ("ftl.placement", TINY, "static", Writes, 0),
    ("ftl.allocation", WORN, "superblock", Overwrites, 0),
    ("ftl.page_order", &["ftl.placement=static"], "CWDP", Mixed, 0),
    ("ftl.reclaim_groups", HANDLES, "2", Writes, 0),
    ("ftl.erase_when", TINY, "reclaimed", Writes, -1),
    ("ftl.streams", WORN, "1", Overwrites, 0),
    ("ftl.raid", &["age.fill=0"], "parity:4", Writes, 0),
    ("ftl.hints", WORN, "2", Overwrites, 0),
    ("ftl.slc_cache", TINY, "static", Writes, -1),
    ("slc.blocks", SLC, "2", Overwrites, 0),
    ("slc.cell", SLC, "MLC", Overwrites, 0),
    (
        "slc.full",
        &["ftl.slc_cache=static", "slc.blocks=1", "slc.fold_start=1", "buffer.size=192KiB"],
        "wait",
        Writes,
        0,
    ),
    ("slc.fold", SLC, "copyback", Overwrites, 0),
    ("slc.fold_idle", SLC, "none", Spaced, 0),
    ("slc.fold_start", SLC, "4", Overwrites, 0),
    ("slc.convert", &["ftl.slc_cache=static", "slc.blocks=6", "age.fill=0.2"], "hot:20", Hot, 0),
    ("slc.t_read", SLC, "90us", Overwrites, 0),
    ("slc.t_prog", SLC, "900us", Writes, 1),
    ("slc.t_bers", SLC, "9ms", Writes, 1),
    ("slc.wear", SLC, "5", Overwrites, 0),
    ("gc.victim", WORN, "fifo", Overwrites, 0),
    (
        "gc.pacing",
        &["age.precondition=closed-form", "ftl.over_provisioning=0.5", "gc.start=9", "gc.stop=9"],
        "proportional",
        Overwrites,
        0,
    ),
    ("gc.start", &["age.precondition=closed-form", "gc.stop=8"], "8", Overwrites, 0),
    ("gc.stop", WORN, "12", Overwrites, 0),
    ("gc.relocations", WORN, "3", Overwrites, 0),
    ("gc.copyback", WORN, "true", Overwrites, 0),
    ("gc.copyback_limit", &["age.precondition=closed-form", "gc.copyback=true"], "1", Overwrites, 0),
    ("gc.preemptible", WORN, "false", Overwrites, 1),
    ("gc.idle", WORN, "100us", Spaced, 0),
    ("gc.idle_stop", &["age.precondition=closed-form", "gc.idle=100us"], "12", Spaced, 0),
    ("wear.free_block", SMALL, "oldest", Overwrites, 0),
    ("wear.static_spread", SMALL, "1", Overwrites, 0),
    ("wear.factory_bad", WORN, "0.1", Overwrites, 0),
    ("wear.program_fail", WORN, "0.05", Overwrites, 0),
    ("wear.erase_fail", WORN, "0.02", Overwrites, 0),
    (
        "wear.end_of_life",
        &["age.precondition=closed-form", "age.pec=990", "wear.endurance=991"],
        "read-only",
        Overwrites,
        0,
    ),
    ("wear.spare_threshold", WORN, "0.5", Overwrites, 0),
    ("wear.endurance", &["age.precondition=closed-form", "age.pec=990"], "991", Overwrites, 0),
    ("faults.at", &[], "1ms die 1", Mixed, 0),
    ("faults.blocks", WORN, "0.05", Overwrites, 0),
    ("faults.burst", &["age.precondition=closed-form", "faults.blocks=0.05"], "3", Overwrites, 0),
    ("faults.plane", WORN, "0.1", Overwrites, 0),
    ("faults.die", WORN, "0.1", Overwrites, 0),
    ("faults.channel", WORN, "0.1", Overwrites, 0),
    ("faults.growth", &["age.precondition=closed-form", "age.pec=1000", "wear.erase_fail=0.01"], "100", Overwrites, 0),
    ("mapping.unit", &[], "4KiB", Writes, 0),
    ("mapping.table", &["mapping.cache=64KiB"], "cached", Reads, 1),
    (
        "ftl.isolation",
        &["ftl.hints=3", "gc.start=9", "gc.stop=9", "age.precondition=closed-form"],
        "persistent",
        Overwrites,
        0,
    ),
    ("mapping.error", &["mapping.table=learned", "age.fill=0"], "16", Overwrites, 0),
    ("mapping.cache", CACHED, "1MiB", Reads, -1),
    ("mapping.entry_group", CACHED, "64B", Reads, 0),
    ("mapping.entry", CACHED, "16B", Reads, 0),
    ("mapping.sharing", CACHED, "partitioned", Reads, 0),
    (
        "mapping.writes",
        &["mapping.table=cached", "mapping.cache=1KiB", "mapping.entry_group=64B", "mapping.entry=64B"],
        "1",
        Overwrites,
        0,
    ),
    ("refresh.period", &["age.retention=30d", "age.fill=0.02"], "150s", Spaced, 0),
    ("refresh.reclaim", RECLAIMED, "wordline", Hot, 0),
    ("refresh.reads", &["geometry.pages=15"], "60", Hot, 0),
    ("chip.t_set", RETRIES, "20us", Reads, 1),
    ("chip.t_rst", PIPELINED, "30us", Reads, 0),
    ("read.start", RETRIES, "tracked", Reads, -1),
    ("read.tracking", TRACKED, "block", Reads, 1),
    ("read.records", RECORDED, "64B", Reads, 1),
    ("read.record_groups", RECORDED, "1", Reads, 0),
    ("read.next", RETRIES, "oracle", Reads, -1),
    ("read.pipeline", RETRIES, "cache-read", Reads, -1),
    ("read.fail_fast", RETRIES, "1", Limited, -1),
    ("read.fail_busy", PAGES, "collection", Mixed, 0),
    ("read.sensing", RETRIES, "default", Reads, 1),
    ("read.predictor", CODED, "none", Reads, 0),
    ("read.t_pred", CODED, "20us", Reads, 1),
    ("read.prediction_accuracy", CODED, "0.5", Reads, 1),
    ("read.rpt", RETRIES, "(a file)", Reads, 0),
    ("read.trees", LEARNED, "(other trees)", Reads, 0),
    ("read.rpt_error", RETRIES, "2000", Reads, 1),
    ("read.age_error", RETRIES, "3", Reads, 1),
    ("schedule.order", PAGES, "fifo", Mixed, 0),
    ("schedule.suspend_program", SUSPENDED, "none", Overwrites, 0),
    ("schedule.safe_points", SAFE, "2", Overwrites, 0),
    ("schedule.suspend_erase", PHASES, "pulse-boundary", Overwrites, 0),
    ("erase.pulse", SPENT, "felp", Overwrites, 0),
    ("erase.margin", PULSED, "none", Overwrites, 0),
    ("erase.voltage", PULSED, "scaled", Overwrites, 0),
    ("erase.mispredictions", PULSED, "0.5", Overwrites, 0),
    ("erase.requirement", PULSED, "40", Overwrites, 0),
    ("erase.retire", SPENT, "true", Overwrites, 0),
    ("schedule.suspensions", SUSPENDED, "1", Overwrites, 0),
    ("schedule.suspend_erase_for", ERASED_LATER, "reads-and-writes", Overwrites, 0),
    ("schedule.suspend_after", SUSPENDED, "500us", Overwrites, 0),
    ("schedule.suspend_erase_left", ERASED_LATER, "1500us", Overwrites, 0),
    ("schedule.suspend_program_left", SUSPENDED, "900us", Overwrites, 0),
    ("schedule.suspend_progress", SUSPENDED, "300us", Overwrites, 0),
    ("schedule.suspend_budget", SUSPENDED, "100us", Overwrites, 0),
    ("schedule.suspend_one_of_chip", SLOW_READS, "true", Overwrites, 0),
    ("schedule.write_queue", PAGES, "4", Mixed, 0),
    ("chip.suspended_program_errors", SUSPENDED, "30", Overwrites, 0),
    ("chip.suspended_erase_wear", LIVED, "500", Overwrites, 0),
    ("chip.t_voltage_reset", SUSPENDED, "1us", Overwrites, 0),
    ("chip.t_buffer", SUSPENDED, "30us", Overwrites, 0),
    ("chip.shadow_buffer", SUSPENDED, "false", Overwrites, 0),
    ("age.pec", &[], "1000", Reads, 0),
    ("age.retention", &[], "3mo", Reads, 0),
    ("age.map_retention", OLD_MAP, "6mo", Reads, 1),
    ("age.reads", &["chip.model=tlc48", "age.pec=1000", "chip.read_disturb=true"], "5000000", Reads, 1),
    ("age.temperature", &[], "85C", Writes, 0),
    ("age.fill", &[], "0.1", Reads, -1),
    ("age.schedule", &["chip.model=tlc48", "age.pec=1000"], "['30d 40C', '1mo 10C']", Reads, 1),
    ("age.written_at", &["chip.model=tlc48", "age.pec=1000", "age.retention=1mo"], "-40C", Reads, 1),
    ("age.worn_under", PULSED, "ispe", Overwrites, 0),
    ("age.load", WORN, "0.1", Overwrites, 0),
    ("age.staggered", WORN, "false", Overwrites, 0),
    ("age.precondition", &[], "closed-form", Mixed, 0),
    ("mapping.checkpoint", &[], "1MiB", Overwrites, 0),
    ("mapping.journal", &["mapping.checkpoint=1MiB"], "true", Overwrites, 0),
    ("power.cut_at", &[], "[30ms,200ms]", Overwrites, 0),
    ("power.plp", &["power.cut_at=[30ms,200ms]"], "true", Overwrites, 0),
    ("age.invalid", &["chip.t_read=[40us,60us,50us]"], "0.3", Reads, 0),
];

/// The small drive of these tests, with some settings.
fn configured(settings: &[String]) -> Config {
    let mut config = Config::default();
    let base = [
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=60",
        "geometry.pages=60",
        "ftl.over_provisioning=1.0",
        "host.t_submit=1us",
        "age.fill=0.9",
    ];
    base.iter().copied().chain(settings.iter().map(String::as_str)).for_each(|word| config.set(word).unwrap());
    config
}

/// What a run shows: completions, counters, usage, capacity, and the conditions of some pages at its end.
fn play(settings: &[String], load: Load) -> (String, f64) {
    let config = configured(settings);
    let mut device = Device::new(&config, 1).unwrap_or_else(|error| panic!("{error}"));
    // The same addresses whatever the capacity.
    let pages = 1_500u64;
    let random = Stream::new(9, "knobs");
    let (mut text, mut sum, mut count) = (String::new(), 0u64, 0u64);
    let total = if matches!(load, Overwrites) { 4000 } else { 600 };
    for index in 0..total {
        let draw = |what: u64, below: u64| random.below(index * 8 + what, below);
        let (op, offset, bytes, queue) = match load {
            Mixed => {
                let op = if draw(0, 2) == 0 { Op::Read } else { Op::Write };
                (op, draw(1, pages * 16) * 1024, 512 + draw(2, 40_000), draw(3, 8) as u16)
            }
            Reads | Limited => (Op::Read, draw(1, pages) * 16_384, 16_384, draw(3, 8) as u16),
            Writes => (Op::Write, draw(1, pages) * 16_384, 16_384, draw(3, 8) as u16),
            Overwrites => {
                let op = if draw(0, 10) == 0 { Op::Read } else { Op::Write };
                (op, draw(1, pages / 2) * 16_384, 16_384, 0)
            }
            Zoned => {
                let size = device.zones().map_or(16_384, |zones| zones.size());
                let begins = draw(1, 6) * size;
                match draw(0, 20) {
                    0 => (Op::Zone(ZoneAction::Reset), begins, size, 0),
                    1 => (Op::Zone(ZoneAction::Finish), begins, size, 0),
                    2 => (Op::Zone(ZoneAction::OpenRandom), begins, size, 0),
                    3..=7 => (Op::Read, begins + size - 16_384, 32_768, 0),
                    _ => (Op::Append, begins, 4096 * (1 + draw(2, 10)), 0),
                }
            }
            Hot => (Op::Read, draw(1, 16) * 16_384, 16_384, 0),
            Spaced => (Op::Write, draw(1, pages) * 16_384, 16_384, 0),
            Unfair => (Op::Read, draw(1, pages) * 16_384, 16_384, u16::from(index % 10 == 9)),
        };
        let gap = match load {
            Unfair => 100,
            Overwrites => 200_000,
            Spaced => 3_000_000,
            _ => 9_000,
        };
        let time = Time(index * gap);
        let request = Request::new(time, op, Bytes(offset), Bytes(bytes)).on(queue).hinted(index as u16 % 8);
        device.submit(Request { limited: matches!(load, Limited | Mixed), ..request }).unwrap();
    }
    let mut ended = None;
    while device.advance_to_completion(Time::NEVER).unwrap_or_else(|error| {
        ended = Some(error);
        false
    }) {
        for completion in device.take_completions() {
            text.push_str(&format!("{} {} {}\n", completion.id, completion.finish.0, completion.status));
            sum += completion.latency().0;
            count += 1;
        }
    }
    device.check().unwrap();
    device.check_mapping().unwrap();
    assert!(count == total || ended.is_some(), "every request completes");
    let conditions: Vec<_> = (0..pages).step_by(50).map(|lpn| device.conditions_of(Lpn(lpn))).collect();
    let capacity = device.capacity();
    let erases: Vec<u32> = device.erases().collect();
    let energy = Energy::of(device.plan(), &device.counters(), &device.usage());
    text.push_str(&format!("{:?}{:?}{energy:?}", device.counters(), device.usage()));
    text.push_str(&format!("{conditions:?}{capacity}{erases:?}{ended:?}{:?}", device.smart()));
    (text, sum as f64 / count as f64)
}

/// A row's value, where it is a file.
fn written(value: &'static str) -> &'static str {
    match value {
        "(a file)" => testing::measured_rpt(),
        "(a profile)" => testing::weak_code(),
        "(other trees)" => testing::yes_trees(),
        value => value,
    }
}

/// Whether it is said of a key that it has no effect, beside the settings that a drive inherits.
fn is_said_idle(key: &str, inherited: &[String], settings: &[String]) -> bool {
    let inherited = configured(inherited);
    let idle = configured(settings).idle_settings(&inherited, &inherited);
    idle.iter().any(|said| said.split(" without ").next().unwrap().split(", ").any(|of| of == key))
}

#[test]
fn every_key_has_an_effect() {
    let mut failures = String::new();
    for (key, shared, value, load, direction) in ROWS {
        let value = written(value);
        let shared: Vec<String> = shared.iter().map(|word| word.replace("(trees)", testing::trees())).collect();
        let changed: Vec<String> = shared.iter().cloned().chain([format!("{key}={value}")]).collect();
        let ((before, mean_before), (after, mean_after)) = (play(&shared, *load), play(&changed, *load));
        let lengthened = (mean_after > mean_before, mean_after < mean_before);
        if before == after {
            failures.push_str(&format!("{key} = {value} changes nothing\n"));
        } else if !SHOWN.contains(key) && is_said_idle(key, &shared, &changed) {
            failures.push_str(&format!("{key} = {value} is said to have no effect\n"));
        } else if (*direction > 0 && !lengthened.0) || (*direction < 0 && !lengthened.1) {
            failures.push_str(&format!("{key} = {value}: mean latency from {mean_before:.0} to {mean_after:.0} ns\n"));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Drives on which each key is set alone.
const ALONE: &[(&[&str], Load)] = &[
    (&["chip.model=auto", "age.precondition=closed-form"], Overwrites),
    (&["chip.model=tlc48", "age.pec=1000", "age.retention=3mo", "age.precondition=closed-form"], Overwrites),
    (&["chip.model=none", "mapping.table=cached", "mapping.cache=64KiB", "mapping.entry_group=256B"], Mixed),
    (ZONED, Zoned),
];

/// Keys that a drive shows as they are set, in SMART or in the conditions of its pages, whatever else they change.
const SHOWN: &[&str] =
    &["age.pec", "age.reads", "age.retention", "age.schedule", "chip.read_disturb", "wear.spare_threshold"];

#[test]
fn no_key_that_has_an_effect_is_warned_of() {
    let mut wrong = String::new();
    for (number, (shared, load)) in ALONE.iter().enumerate() {
        let shared: Vec<String> = shared.iter().map(|word| (*word).to_owned()).collect();
        let (before, _) = play(&shared, *load);
        for (key, _, value, ..) in ROWS.iter().filter(|(key, ..)| !SHOWN.contains(key)) {
            let changed: Vec<String> = shared.iter().cloned().chain([format!("{key}={}", written(value))]).collect();
            if configured(&changed).plan().is_err() || !is_said_idle(key, &shared, &changed) {
                continue;
            }
            if before != play(&changed, *load).0 {
                wrong.push_str(&format!("drive {number}: {key} has an effect and is warned of\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Keys that change nothing on a drive that is left as it is otherwise, without a chip model.
#[rustfmt::skip]
const NEEDY: &[&str] = &[
    "age.map_retention", "age.pec", "age.written_at", "chip.read_disturb", "chip.shadow_buffer", "chip.t_buffer",
    "chip.t_disch", "chip.t_erase_pulse", "chip.t_erase_verify", "chip.t_eval", "chip.t_pre", "chip.t_program_pulse",
    "chip.t_program_verify", "chip.t_rst", "chip.t_set", "chip.t_voltage_reset", "ecc.code_2bit", "ecc.code_3bit",
    "ecc.miscorrection", "ecc.soft_after", "ecc.strength", "ecc.t_failed", "ecc.t_retried", "energy.prediction_nj",
    "erase.requirement", "faults.burst", "gc.idle_stop", "mapping.cache", "mapping.entry", "mapping.entry_group",
    "mapping.error", "mapping.sharing", "mapping.writes", "read.age_error", "read.next", "read.pipeline",
    "read.prediction_accuracy", "read.record_groups", "read.records", "read.rpt", "read.rpt_error", "read.start", "read.t_pred", "read.tracking", "read.trees", "schedule.safe_points",
    "schedule.suspensions", "slc.blocks", "wear.spare_threshold", "zones.dies",
];

#[test]
fn a_key_that_needs_another_is_warned_of_without_it() {
    let base = vec!["chip.model=none".to_owned()];
    let before = play(&base, Overwrites).0;
    let mut wrong = String::new();
    for needy in NEEDY {
        let (_, _, value, ..) = ROWS.iter().find(|(key, ..)| key == needy).expect("a row");
        let value = if *value == "(trees)" { testing::trees() } else { written(value) };
        let changed = [&base[..], &[format!("{needy}={value}")]].concat();
        if !is_said_idle(needy, &base, &changed) {
            wrong.push_str(&format!("of {needy} = {value} nothing is said\n"));
        }
        if !SHOWN.contains(needy) && before != play(&changed, Overwrites).0 {
            wrong.push_str(&format!("{needy} = {value} has an effect\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_key_of_the_schema_has_a_row() {
    let config = Config::default();
    for section in config.sections() {
        for key in section.keys() {
            let name = format!("{}.{}", section.name(), key.name);
            assert!(ROWS.iter().any(|(row, ..)| *row == name), "{name} needs a row that shows its effect");
        }
    }
}
